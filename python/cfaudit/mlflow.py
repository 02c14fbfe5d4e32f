"""Audits and the model registry of MLflow: an audit is logged to a run, a registered model is audited.

`import cfaudit.mlflow` does not load MLflow.
"""

from __future__ import annotations

import os

from cfaudit._models import AskedModel, asked_model

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Optional

    from cfaudit._audit import Audit

#: What is logged of an output folder; rows of people stay where they are.
FILES = ("report.html", "annex.html", "summary.json", "manifest.json", "job.resolved.yaml")

#: The folder of the artefacts of a run.
BELOW = "cfaudit"


def log(audit: Audit, run: Any = None, *, model: Optional[str] = None) -> str:
    """Logs an audit to a run of MLflow: pages, tables and the headline, and tags of the verdict.

    run     a run or its id; left out, the active one
    model   the registered version that was audited, `models:/NAME/VERSION` or `models:/NAME@ALIAS`;
            left out, all versions that this run has registered

    The tags `cfaudit.verdict`, `cfaudit.fingerprint` and `cfaudit.run` of each version name the
    verdict, the SHA-256 of `manifest.json`, and the run that holds the page. Gives the id of the run.
    Raises ValueError where there is no run, or `model` is no version.
    """
    import mlflow
    from mlflow.entities import Metric

    client = mlflow.MlflowClient()
    if run is None:
        run = mlflow.active_run()
    if run is None:
        raise ValueError("no run is active: start one, or name it")
    run_id = run if isinstance(run, str) else str(run.info.run_id)
    if model is None:
        versions = list(client.search_model_versions(f"run_id = '{run_id}'"))
    else:
        versions = [_version(client, model)]
    for name in FILES:
        path = os.path.join(audit.folder, name)
        if os.path.isfile(path):
            client.log_artifact(run_id, path, BELOW)
    client.log_artifacts(run_id, os.path.join(audit.folder, "tables"), f"{BELOW}/tables")
    headline = audit.summary["headline"].items()
    client.log_batch(
        run_id, metrics=[Metric(key, value, 0, 0) for key, value in headline if value is not None]
    )
    tags = {"cfaudit.verdict": audit.verdict, "cfaudit.fingerprint": audit.fingerprint}
    for key, value in tags.items():
        client.set_tag(run_id, key, value)
    for version in versions:
        for key, value in {**tags, "cfaudit.run": run_id}.items():
            client.set_model_version_tag(version.name, version.version, key, value)
    return run_id


def _version(client: Any, model: str) -> Any:
    """The registered version that an address names."""
    name, _, version = model.partition("models:/")[2].partition("/")
    if version.isdigit():
        return client.get_model_version(name, version)
    name, _, alias = name.partition("@")
    if not name or not alias:
        raise ValueError(f"`{model}` is no version: write models:/NAME/VERSION or models:/NAME@ALIAS")
    return client.get_model_version_by_alias(name, alias)


def model(uri: str) -> AskedModel:
    """A model that MLflow holds, such as `models:/credit/3`, for `cfaudit.audit` and scorers.

    An estimator with `predict_proba`, or a booster, as it was logged: loading it runs its code.
    Raises TypeError where the model gives no probabilities.
    """
    import mlflow

    found = asked_model(mlflow.pyfunc.load_model(uri).get_raw_model())
    if found is None:
        raise TypeError(f"{uri} is no estimator or booster: write a function that asks it")
    return found


def scorer(uri: str, positive: Any) -> Callable[[Any], Any]:
    """A function for a job, `python: {call: "MODULE:NAME"}`: the probability of the class `positive`.

    ::

        # scoring.py, named by the job as {python: {call: "scoring:score"}}
        import cfaudit.mlflow

        score = cfaudit.mlflow.scorer("models:/credit/3", positive=1)

    Raises ValueError where `positive` is none of the classes of the model; those of a booster are 0
    and 1, and its probability is that of 1.
    """
    from cfaudit._run import places_of, text_of

    asked = model(uri)
    classes = [0, 1] if asked.classes is None else asked.classes
    places = places_of(classes, [text_of(positive)])
    if len(places) != 1:
        raise ValueError(f"`positive={positive!r}` is none of the classes of {uri}: {classes}")

    def score(rows: Any) -> Any:
        found = asked(rows if asked.columns is None else rows[asked.columns])
        if asked.classes is None:
            return found if places == [1] else 1 - found
        return found[:, places[0]]

    return score
