"""What a model is asked for: its function, the columns that it reads, and the classes of its answer.

One form for all that Python calls a model: a fitted estimator, a booster of LightGBM or XGBoost, and
any function of a frame.
"""

from __future__ import annotations

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Optional

#: Objectives of boosters whose prediction is the probability of the class 1.
PROBABILITIES = {"binary", "cross_entropy", "xentropy", "binary:logistic", "reg:logistic"}


class AskedModel:
    """A model as a function of a frame.

    The answer is one number for each row, or a column for each of `classes`.
    """

    #: The columns that it reads, in this order; None where it takes all that there are.
    columns: Optional[list[str]]
    #: The classes of its columns; None where it answers with one number for each row.
    classes: Optional[list[Any]]
    #: Whether the number is the probability of the class 1, as its library documents.
    of_one: bool
    #: The library of the frames that it gets; empty where that of the rows of a run decides.
    frames: str

    def __init__(
        self,
        function: Callable[[Any], Any],
        columns: Optional[list[str]] = None,
        classes: Optional[list[Any]] = None,
        of_one: bool = False,
    ) -> None:
        self._function = function
        self.columns, self.classes, self.of_one, self.frames = columns, classes, of_one, ""

    def __call__(self, rows: Any) -> Any:
        return self._function(rows)


def library_of(value: Any) -> str:
    """The library that a value comes from, such as `pandas`."""
    return type(value).__module__.split(".")[0]


def _listed(values: Any) -> Optional[list[Any]]:
    return None if values is None else list(values)


def _read(names: Any, columns: Optional[Sequence[str]]) -> Optional[list[str]]:
    """The columns that a model reads, by the names that it has: LightGBM writes `_` for blanks."""
    if names is None:
        return _listed(columns)
    spelt = {column.replace(" ", "_"): column for column in columns or ()}
    return [spelt.get(name, name) for name in (str(name) for name in names)]


def _estimator(model: Any, columns: Optional[Sequence[str]]) -> AskedModel:
    """A fitted estimator; one that was fitted on an array gets an array of the columns in order."""
    names = _listed(getattr(model, "feature_names_in_", None))
    function = model.predict_proba
    if names is None and columns is not None:

        def function(rows: Any) -> Any:
            return model.predict_proba(rows.to_numpy() if hasattr(rows, "to_numpy") else rows)

    return AskedModel(function, _read(names, columns), _listed(getattr(model, "classes_", None)))


def _pandas(rows: Any) -> Any:
    return rows.to_pandas() if hasattr(rows, "to_pandas") else rows


def _booster(model: Any, columns: Optional[Sequence[str]]) -> AskedModel:
    """A booster, which names its columns unless it was trained on an array."""
    names: Optional[list[str]]
    if library_of(model) == "lightgbm":
        text = model.model_to_string(num_iteration=1)
        lines = [line for line in text.splitlines() if line.startswith("objective=")]
        objective = lines[0][len("objective=") :].split()[0] if lines else "none"
        names = list(model.feature_name())
        if names == [f"Column_{i}" for i in range(len(names))]:
            names = None

        def function(rows: Any) -> Any:
            return model.predict(_pandas(rows))
    else:
        import json

        import xgboost

        config = json.loads(model.save_config())
        objective = config["learner"]["objective"]["name"]
        names = _listed(model.feature_names)

        def function(rows: Any) -> Any:
            return model.predict(xgboost.DMatrix(_pandas(rows), enable_categorical=True))

    if objective not in PROBABILITIES:
        raise ValueError(
            f"the booster has the objective `{objective}`, which gives no probability of a class: "
            f"use one of {', '.join(sorted(PROBABILITIES))}, or a function that gives it"
        )
    return AskedModel(function, _read(names, columns), of_one=True)


def asked_model(model: Any, columns: Optional[Sequence[str]] = None) -> Optional[AskedModel]:
    """A model as it is asked, or None where `model` is no model, such as scores.

    columns    those of the rows on which the model works, in their order; what a model that names
               none gets
    Raises TypeError where it has `predict` and no `predict_proba`, and ValueError where a booster
    gives no probability.
    """
    if isinstance(model, AskedModel):
        return model
    owner = getattr(model, "__self__", None)
    if getattr(model, "__name__", "") == "predict_proba" and hasattr(owner, "predict_proba"):
        return _estimator(owner, columns)
    if type(model).__name__ == "Booster" and library_of(model) in ("lightgbm", "xgboost"):
        return _booster(model, columns)
    if hasattr(model, "predict_proba"):
        return _estimator(model, columns)
    if hasattr(model, "predict"):
        raise TypeError(
            f"{type(model).__name__} has no `predict_proba`: give a function of a frame that gives "
            "the probability of the positive class, one number for each row"
        )
    if callable(model):
        return AskedModel(model, _listed(columns))
    return None
