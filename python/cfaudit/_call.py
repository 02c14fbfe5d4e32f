"""One call: the audit of a model on rows in memory, whose job is written here.

Whatever changes a verdict is an argument: the favourable class, the reference group, the group that
must not be harmed, the limit. What is missing raises before anything runs.
"""

from __future__ import annotations

import os

from cfaudit._audit import Audit
from cfaudit._models import AskedModel, asked_model, library_of
from cfaudit._run import frames_for, places_of, run, table_of, text_of
from cfaudit._yaml import merged

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, Optional, Union

    import pyarrow

    from cfaudit._program import PathLike

#: What the job calls the audited model, its counterfactual set, its label and its scores.
MODEL, SET, LABEL, SCORE = "audited", "flip", "label", "score"


def _checked(condition: Any, what: str) -> None:
    if not condition:
        raise ValueError(what)


def _features(X: Any) -> pyarrow.Table:
    """The rows as an Arrow table; the columns of an array of numbers are `x0`, `x1`, ..."""
    import pyarrow

    if library_of(X) == "numpy" and getattr(X, "ndim", 0) == 2:
        return pyarrow.table({f"x{i}": X[:, i] for i in range(X.shape[1])})
    if library_of(X) == "pandas":
        names = [name for name in X.columns if not isinstance(name, str)]
        _checked(not names, f"names of columns are texts: `X` has {names[:3]}")
    return table_of(X)


def _column(what: str, values: Any, X: Any, n: int) -> Any:
    """Values in the order of the rows; those with an index have that of `X`."""
    import pyarrow

    if library_of(values) == "pandas" and hasattr(values, "index"):
        if library_of(X) == "pandas":
            _checked(
                values.index.equals(X.index),
                f"`{what}` has another index than `X`: give it that of `X`, or give its "
                "`to_numpy()` in the order of the rows",
            )
        found = pyarrow.Array.from_pandas(values)
    elif hasattr(values, "to_arrow"):
        found = values.to_arrow()
    elif isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
        found = values
    else:
        found = pyarrow.array(values, from_pandas=True)
    _checked(len(found) == n, f"`{what}` has {len(found)} values for {n} rows")
    return found


def _levels(column: Any) -> list[Any]:
    """The values of a column of Arrow that are there, each once, in ascending order."""
    values = {value for value in column.to_pylist() if value is not None}
    return sorted(values, key=lambda value: (isinstance(value, str), value))


def _groups(sensitive: str, column: Any, reference: Any, groups: Optional[Sequence[Any]]) -> list[Any]:
    """The groups to compare, the reference group first."""
    if groups is None:
        found = _levels(column)
        listed = ", ".join(repr(value) for value in found[:20])
        _checked(
            len(found) == 2,
            f"`{sensitive}` has {len(found)} values: name those to compare, "
            f"`groups=[{listed}{', ...' if len(found) > 20 else ''}]`",
        )
    else:
        found = list(groups)
    place = places_of(found, [text_of(reference)])
    _checked(place, f"`reference={reference!r}` is none of the groups of `{sensitive}`: {found}")
    first = found.pop(place[0])
    return [first, *found]


def _kinds(table: pyarrow.Table, sensitive: str) -> dict[str, Any]:
    """The features by their kinds: numbers are continuous, ordered categories ordinal, else nominal."""
    import pyarrow

    numbers, ordered, levels = [], {}, []
    for field in table.schema:
        if field.name == sensitive:
            continue
        kind = field.type
        if pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind):
            numbers.append(field.name)
        elif pyarrow.types.is_dictionary(kind) and kind.ordered:
            column = table.column(field.name).combine_chunks()
            ordered[field.name] = column.dictionary.to_pylist()
        elif pyarrow.types.is_temporal(kind) or pyarrow.types.is_nested(kind):
            raise TypeError(f"the feature `{field.name}` is of type {kind}: give numbers or texts")
        else:
            levels.append(field.name)
    kinds = {"continuous": numbers, "ordinal": ordered, "nominal": levels}
    return {kind: names for kind, names in kinds.items() if names}


def _positive(
    model: Optional[AskedModel], labels: list[Any], favourable: Any, positive: Any
) -> Any:
    """The class whose probability is the score."""
    if positive is None and model is not None and model.classes is not None:
        positive = favourable
        _checked(
            len(places_of(model.classes, [text_of(positive)])) == 1,
            f"`favourable={favourable!r}` is none of the classes of the model: {model.classes}",
        )
    if positive is None:
        zero_one = {text_of(label).lower() for label in labels} <= {"0", "1", "false", "true"}
        _checked(
            zero_one or (model is not None and model.of_one),
            f"the labels are {labels[:10]}: say by `positive=` of which one the scores are the "
            "probability",
        )
        positive = next((label for label in labels if places_of([label], ["1"])), 1)
    for name, value in (("favourable", favourable), ("positive", positive)):
        _checked(
            places_of(labels, [text_of(value)]),
            f"`{name}={value!r}` is none of the labels of `y`: {labels[:10]}",
        )
    return positive


def audit(
    model: Any,
    X: Any,
    y: Any,
    *,
    sensitive: str,
    reference: Any,
    favourable: Any,
    positive: Any = None,
    groups: Optional[Sequence[Any]] = None,
    harm_to: Any = None,
    at_most: Optional[float] = None,
    threshold: Optional[float] = None,
    counterfactual: Union[str, Mapping[str, Any]] = "naive",
    others: Optional[Mapping[str, Any]] = None,
    gates: Optional[Mapping[str, Any]] = None,
    job: Optional[Mapping[str, Any]] = None,
    name: str = "audit",
    out: Optional[PathLike] = None,
    baseline: Optional[PathLike] = None,
    history: Iterable[PathLike] = (),
    arguments: Iterable[PathLike] = (),
) -> Audit:
    """Audits a model on these rows; `job` of the result is the job that was run.

    model           a fitted estimator with `predict_proba`, a booster of LightGBM or XGBoost, a
                    function of a frame that gives one number for each row, or the scores themselves
    X               frame of pandas or polars, or Arrow table, of what the model reads; an array of
                    numbers has the columns `x0`, `x1`, ...
    y               the labels, one for each row
    sensitive       the sensitive attribute: a column of `X`, or of `others`
    reference       the group with which others are compared
    favourable      the label that people want to be predicted
    positive        the label of which the scores are the probability. Left out, it is `favourable`
                    for a model with `classes_`, and 1 for boosters and for labels of 0 and 1
    groups          the groups to compare; left out, the two that there are
    harm_to         the group that must not be harmed, with `at_most`, the largest share of people
                    who may be decided otherwise as members of another group
    threshold       the score from which a prediction is positive; left out, 0.5
    counterfactual  the strategy, as a job has it: `naive` changes only the sensitive attribute
    others          columns that the model does not read, such as an attribute, by name
    gates           further gates, as a job has them; their model is the audited one
    job             further blocks of a job, merged into what is written here: words of the page,
                    `{"data": {"weight": "w"}}`, `{"run": {"seed": 1}}`
    name, out       names of the job, and of the output folder (`outputs/NAME`)
    baseline, history, arguments   as for `run`

    Returns the audit, whatever its verdict. Raises ValueError or TypeError where an argument is
    missing or contradicts the rows, and a `CfauditError` with a `code` where the program refuses the
    job, the rows or the scores.
    """
    table = _features(X)
    columns = list(table.column_names)
    n = table.num_rows
    asked = asked_model(model, columns)
    for other, values in (others or {}).items():
        _checked(other not in columns, f"`{other}` is a column of `X` and one of `others`")
        table = table.append_column(other, _column(f"others[{other!r}]", values, X, n))
    _checked(sensitive in table.column_names, f"neither `X` nor `others` has a column `{sensitive}`")
    own = [column for column in (LABEL, SCORE) if column in table.column_names]
    _checked(not own, f"columns cannot be called {', '.join(f'`{column}`' for column in own)}")
    labels = _column("y", y, X, n)
    _checked(labels.null_count == 0, f"`y` has {labels.null_count} missing values")
    table = table.append_column(LABEL, labels)
    known = _levels(labels)
    score_of = _positive(asked, known, favourable, positive)
    is_favourable = text_of(score_of) == text_of(favourable)
    others_than = [label for label in known if text_of(label) != text_of(score_of)]
    _checked(
        is_favourable or len(others_than) == 1,
        f"the scores are those of {score_of!r}, and {favourable!r} is one of several other labels: "
        "give the scores of the favourable one",
    )
    limits = _gates(asked, harm_to, at_most, sensitive, gates)
    whole: dict[str, Any] = {
        "cfaudit": 1,
        "name": name,
        "data": {
            "label": {
                "column": LABEL,
                "positive": [text_of(score_of)],
                "favourable": "positive" if is_favourable else "negative",
            },
            "sensitive": {
                sensitive: {
                    "groups": [
                        text_of(group)
                        for group in _groups(
                            sensitive, table.column(sensitive), reference, groups
                        )
                    ],
                    "reference": text_of(reference),
                }
            },
        },
        "models": {MODEL: {} if threshold is None else {"threshold": threshold}},
    }
    if asked is None:
        table = table.append_column(SCORE, _column("model", model, X, n))
        whole["models"][MODEL]["scores"] = {"factual": {"column": SCORE}}
    else:
        asked.frames = frames_for(X)
        _checked(
            sensitive in columns or "naive" not in counterfactual,
            f"the model does not read `{sensitive}`, so that changing only its entry changes no "
            "score: name another strategy, such as "
            '`counterfactual={"greedy": {"condition_on": "label"}}`',
        )
        whole["data"]["features"] = _kinds(table.select(columns), sensitive)
        whole["counterfactuals"] = {SET: counterfactual}
    if limits:
        whole["gates"] = limits
    return run(
        merged(whole, job or {}),
        rows=table,
        scorers={} if asked is None else {MODEL: asked},
        out=os.path.join("outputs", name) if out is None else out,
        baseline=baseline,
        history=history,
        arguments=arguments,
    )


def _gates(
    model: Optional[AskedModel],
    harm_to: Any,
    at_most: Optional[float],
    sensitive: str,
    gates: Optional[Mapping[str, Any]],
) -> dict[str, Any]:
    """The gates of the job: the one on harm first."""
    found: dict[str, Any] = {}
    if harm_to is not None or at_most is not None:
        if harm_to is None or at_most is None:
            raise TypeError("`harm_to` names the group, and `at_most` the limit: give both or none")
        _checked(
            model is not None,
            "scores do not say what people would get as members of another group: give the model, or "
            'limit a gap, `gates={"gap": {"metric": "demp_difference", "between": "worst_case", '
            '"at_most": 0.1}}`',
        )
        harm = {"harm_to": {sensitive: text_of(harm_to)}, "counterfactual": SET}
        found["harm"] = {**harm, "model": MODEL, "at_most": at_most}
    for name, gate in (gates or {}).items():
        _checked(name not in found, f"`{name}` is the gate of `harm_to`: call yours otherwise")
        found[name] = {"model": MODEL, **gate}
    return found


def assert_fair(model: Any, X: Any, y: Any, *, inconclusive: str = "fail", **arguments: Any) -> Audit:
    """Audits a model as `audit` does, and passes only if its gates pass.

    inconclusive   what becomes of gates that cannot be decided, such as those with too few people:
                   `fail` or `skip`
    arguments      those of `audit`, with a limit: `harm_to` and `at_most`, or `gates`

    Returns the audit. Raises AssertionError with the lines of the gates and the path of the page, and
    `unittest.SkipTest` with the same text, by which a test of pytest or unittest is skipped.
    """
    __tracebackhide__ = True
    if inconclusive not in ("fail", "skip"):
        raise ValueError(f"`inconclusive` is `fail` or `skip`, not {inconclusive!r}")
    limited = any(arguments.get(limit) is not None for limit in ("harm_to", "at_most", "gates"))
    if not limited and not (arguments.get("job") or {}).get("gates"):
        raise TypeError("there is no limit: give `harm_to` and `at_most`, or `gates`")
    found = audit(model, X, y, **arguments)
    verdict = found.verdict
    if verdict not in ("fail", "inconclusive"):
        return found
    lines = [gate["line"] for gate in found.gates if gate["verdict"] in ("fail", "inconclusive")]
    text = "\n".join([f"verdict {verdict}", *lines, f"page: {found.page}"])
    if verdict == "inconclusive" and inconclusive == "skip":
        import unittest

        raise unittest.SkipTest(text)
    raise AssertionError(text)
