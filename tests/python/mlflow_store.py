"""`cfaudit.mlflow` with the real MLflow and a store in files, run by tests/it/python_package.rs in a folder of its own with the program on PATH."""

import json
import os
import shlex
import subprocess
import sys

import cfaudit
import cfaudit.mlflow

assert "mlflow" not in sys.modules, "`import cfaudit.mlflow` loads MLflow"

os.environ["MLFLOW_TRACKING_URI"] = f"sqlite:///{os.path.abspath('store.db')}"

import mlflow  # noqa: E402
import numpy  # noqa: E402
import pandas  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402

N = 500
random = numpy.random.default_rng(5)
X = pandas.DataFrame({"age": random.integers(18, 80, N), "sex": random.integers(0, 2, N)})
y = (random.random(N) < 1 / (1 + numpy.exp(-0.05 * (X["age"] - 45) - 1.5 * X["sex"]))).astype(int)
estimator = LogisticRegression().fit(X, y)
NAMED = {"sensitive": "sex", "reference": 1, "favourable": 1, "harm_to": 0, "at_most": 0.05}


def refused(error, does, *words):
    try:
        does()
    except error as what:
        assert all(word in str(what) for word in words), str(what)
        return
    raise AssertionError(f"{error.__name__} expected")


client = mlflow.MlflowClient()
audit = cfaudit.audit(estimator, X, y, **NAMED)
refused(ValueError, lambda: cfaudit.mlflow.log(audit), "no run is active")
with mlflow.start_run() as run:
    mlflow.sklearn.log_model(estimator, name="model", registered_model_name="credit")
    assert cfaudit.mlflow.log(audit) == run.info.run_id

# Page, tables and headline are in the run; rows of people are not.
held = set()
folders = ["cfaudit"]
while folders:
    for entry in client.list_artifacts(run.info.run_id, folders.pop()):
        (folders.append if entry.is_dir else held.add)(entry.path)
assert {f"cfaudit/{name}" for name in cfaudit.mlflow.FILES} <= held, held
tables = {f"cfaudit/tables/{name}" for name in os.listdir(os.path.join(audit.folder, "tables"))}
assert tables <= held and not [path for path in held if "rows" in path or "outcomes" in path], held
page = client.download_artifacts(run.info.run_id, "cfaudit/report.html", ".")
with open(page) as logged, open(audit.page) as there:
    assert logged.read() == there.read()
metrics = client.get_run(run.info.run_id).data.metrics
assert metrics and metrics == {k: v for k, v in audit.summary["headline"].items() if v is not None}

# The version says what the audit found, and where its page is.
expected = {
    "cfaudit.verdict": "fail",
    "cfaudit.fingerprint": audit.fingerprint,
    "cfaudit.run": run.info.run_id,
}
assert client.get_model_version("credit", "1").tags == expected, client.get_model_version("credit", "1")
assert client.get_run(run.info.run_id).data.tags["cfaudit.verdict"] == "fail"

# A version by its address, in a run of its own.
second = client.create_model_version("credit", client.get_model_version("credit", "1").source)
client.set_registered_model_alias("credit", "live", second.version)
other = client.create_run("0")
cfaudit.mlflow.log(audit, other.info.run_id, model="models:/credit@live")
tags = client.get_model_version("credit", second.version).tags
assert tags == {**expected, "cfaudit.run": other.info.run_id}, tags
assert client.get_model_version("credit", "1").tags == expected
refused(ValueError, lambda: cfaudit.mlflow.log(audit, other, model="models:/credit"), "no version")

# A registered model gives the audit of the estimator, byte for byte.
registered = cfaudit.mlflow.model("models:/credit/1")
assert registered.columns == ["age", "sex"] and registered.classes == [0, 1]
assert cfaudit.audit(registered, X, y, **NAMED).fingerprint == audit.fingerprint

# In a job it is a Python function: the numbers are the same.
with open("scoring.py", "w") as file:
    file.write(
        "import cfaudit.mlflow\n\nscore = cfaudit.mlflow.scorer('models:/credit/1', positive=1)\n"
    )
needs = ["MLFLOW_TRACKING_URI", "PYTHONPATH"]
live = {"call": "scoring:score", "with": sys.executable, "pass_env": needs}
job = {
    "cfaudit": 1,
    "name": "live",
    "data": {
        "rows": {"parquet": "outputs/audit.inputs/rows.parquet"},
        "label": {"column": "label", "positive": [1], "favourable": "positive"},
        "sensitive": {"sex": {"groups": [1, 0], "reference": 1}},
        "features": {"continuous": ["age"]},
    },
    "counterfactuals": {"flip": "naive"},
    "models": {"audited": {"python": live}},
}
ran = cfaudit.run(job)
assert ran.summary["headline"] == audit.summary["headline"], (ran.summary, audit.summary)
refused(ValueError, lambda: cfaudit.mlflow.scorer("models:/credit/1", positive=2), "none of the classes")

both = [cfaudit.mlflow.scorer("models:/credit/1", positive=of)(X) for of in (0, 1)]
assert numpy.abs(both[0] + both[1] - 1).max() < 1e-12 and (both[1] == estimator.predict_proba(X)[:, 1]).all()

# As a model of the job by its address: the same numbers, and the hash of the version.
os.environ["VIRTUAL_ENV"] = sys.prefix
del os.environ["PYTHONPATH"]


def registered(address="models:/credit/1", name="registered", **more):
    told = {"model": address, **more} if more else address
    return {**job, "name": name, "models": {"audited": {"mlflow": told}}}


def sha256_of(ran):
    return ran.manifest["models"][0]["contract"]["sha256"]


ran = cfaudit.run(registered())
assert ran.summary["headline"] == audit.summary["headline"], (ran.summary, audit.summary)
place = mlflow.artifacts.download_artifacts("models:/credit/1")
names = "find . -type f ! -name registered_model_meta -printf '%P\\n' | LC_ALL=C sort"
by_hand = f"cd {shlex.quote(place)} && {names} | xargs -d '\\n' sha256sum | sha256sum"
assert subprocess.check_output(by_hand, shell=True, text=True).split()[0] == sha256_of(ran)
assert cfaudit.run(registered()).fingerprint == ran.fingerprint
other_class = cfaudit.run(registered(name="denied", **{"class": 0}))
assert other_class.summary["headline"] != audit.summary["headline"]
refused(cfaudit.DataError, lambda: cfaudit.run(registered("models:/credit/9")), "no version 9", "1, 2")
refused(cfaudit.DataError, lambda: cfaudit.run(registered("models:/debit/1")), "no model debit")
for address in ("models:/credit/latest", "models:/credit@live", "models:/credit"):
    refused(cfaudit.JobError, lambda: cfaudit.run(registered(address)), "bad-value", "number of the version")
refused(cfaudit.CfauditError, lambda: cfaudit.run(registered(**{"with": "./nothing"})), "./nothing")
store = os.environ.pop("MLFLOW_TRACKING_URI")
refused(cfaudit.DataError, lambda: cfaudit.run(registered()), "MLFLOW_TRACKING_URI")
os.environ["MLFLOW_TRACKING_URI"] = store
with open("bare", "w") as file:
    code = "import sys; sys.modules['mlflow'] = None; exec(open(sys.argv.pop(1)).read())"
    file.write(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{code}" "$@"\n')
os.chmod("bare", 0o755)
refused(cfaudit.DataError, lambda: cfaudit.run(registered(**{"with": "./bare"})), "has no mlflow")

# Other files under the same number are found where only the counterfactuals are scored again, and audited when all is asked again.
with open(os.path.join(place, "requirements.txt"), "a") as file:
    file.write("# altered\n")
with open("registered.json", "w") as file:
    json.dump(registered(), file)
again = ["cfaudit", "run", "registered.json", "--force"]
done = subprocess.run([*again, "set=flip"], capture_output=True, text=True)
assert done.returncode == 3 and "another model" in done.stderr, done
assert subprocess.run([*again, "contract"], capture_output=True, text=True).returncode == 0
found = sha256_of(cfaudit.Audit("outputs/registered"))
assert found != sha256_of(other_class), "the hash of altered files"
