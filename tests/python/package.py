"""The Python package, run by tests/it/python_package.rs in a folder of its own with the program on PATH."""

import sys
import time

began = time.process_time()
import cfaudit  # noqa: E402

took = time.process_time() - began
heavy = {"pyarrow", "pandas", "polars", "numpy", "json", "subprocess"} & set(sys.modules)
assert not heavy, f"`import cfaudit` loads {heavy}"
assert took < 0.05, f"`import cfaudit` takes {took * 1000:.0f} ms of CPU time"

import importlib.util  # noqa: E402
import os  # noqa: E402
import random  # noqa: E402
import stat  # noqa: E402

import pandas  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402

N = 400
frame = pandas.DataFrame(
    {
        "id": range(5000, 5000 + N),
        "sex": pandas.Categorical(["f" if i % 5 < 2 else "m" for i in range(N)]),
        "age": [18 + i * 7 % 60 for i in range(N)],
        "income": [None if i % 11 == 0 else 900.0 + i * 37 % 4000 / 3 for i in range(N)],
        "repaid": [int(i * 7 % 60 + i % 5 * 9 > 40) for i in range(N)],
    },
    index=range(N, 2 * N),
)


class Model:
    """Looks like a fitted model of scikit-learn, and says what it was asked."""

    classes_ = [1.0, 0.0]
    feature_names_in_ = ["income", "sex", "age"]

    def __init__(self, bonus):
        self.bonus, self.asked = bonus, []

    def predict_proba(self, rows):
        import numpy

        assert list(rows.columns) == self.feature_names_in_, list(rows.columns)
        self.asked.append((type(rows).__module__.split(".")[0], len(rows)))
        score = 0.2 + rows["age"] / 200 + self.bonus * (rows["sex"] == "m")
        score += rows["income"].fillna(1000) / 20000
        return numpy.column_stack([score, 1 - score])


def refused(error, does, *words):
    try:
        does()
    except error as what:
        assert all(word in str(what) for word in words), str(what)
        return what
    raise AssertionError(f"{error.__name__} expected")


# A frame and a model of this process.
model = Model(0.2)
audit = cfaudit.run("job.yaml", rows=frame, scorers={"mine": model.predict_proba}, out="out")
assert (audit.verdict, audit.exit) == ("fail", 1), audit
# Each of the two requests once, and a hundred of its rows again.
assert model.asked == [("pandas", N), ("pandas", 100)] * 2, model.asked
assert stat.S_IMODE(os.stat("out.inputs/rows.parquet").st_mode) == 0o600
assert stat.S_IMODE(os.stat("out.inputs").st_mode) == 0o700
kinds = {given["what"] for given in audit.manifest["inputs"]}
assert kinds == {"data", "scores mine", "scores mine/flip"}, kinds

# A run that ends without results leaves the inputs of the audit before.
def files_of(folder):
    found = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return {name: open(name, "rb").read() for name in found}


inputs, before = files_of("out.inputs"), files_of("out")
less = frame.drop(columns="income")
mine = {"mine": model.predict_proba}
refused(cfaudit.DataError, lambda: cfaudit.run("job.yaml", rows=less, scorers=mine, out="out"), "income")
assert files_of("out.inputs") == inputs and len(inputs) == 3, list(inputs)
refused(cfaudit.DataError, lambda: cfaudit.run("job.yaml", rows=less, scorers=mine, out="no"), "income")
refused(cfaudit.DataError, lambda: cfaudit.run("job.yaml", rows=less, scorers=mine), "income")
assert not os.path.exists("no.inputs") and not os.path.exists("outputs/loans.inputs")

# So does one whose scorer fails, at whichever call; the audit stays too.
def raises(rows):
    raise ZeroDivisionError


def second_call_raises():
    calls = []

    def score(rows):
        calls.append(len(rows))
        return [0.5] * len(rows) if len(calls) < 3 else raises(rows)

    return score


for scorer, error, words in [
    (raises, ZeroDivisionError, []),
    (second_call_raises(), ZeroDivisionError, []),
    (lambda rows: [0.5] * (len(rows) - 1), cfaudit.DataError, ["error[bad-scores]", "gave 399 numbers for 400 rows"]),
    (lambda rows: None, cfaudit.DataError, ["'mine'", "is `None`", "one number for each row"]),
    (lambda rows: 0.5, cfaudit.DataError, ["'mine'", "is `0.5`", "one number for each row"]),
    (lambda rows: ["high"] * len(rows), cfaudit.DataError, ["error[bad-scores]", "a score is `'high'`"]),
    (lambda rows: [2.0] * len(rows), cfaudit.DataError, []),
    (lambda rows: [float("nan")] * len(rows), cfaudit.DataError, []),
]:
    refused(
        error,
        lambda scorer=scorer: cfaudit.run("job.yaml", rows=frame, scorers={"mine": scorer}, out="out"),
        *words,
    )
    assert files_of("out") == before and files_of("out.inputs") == inputs, words

# Numbers with an index are of the rows that the index names.
def scored(rows):
    return 0.2 + rows["age"] / 200 + 0.2 * (rows["sex"] == "m") + rows["income"].fillna(1000) / 20000


def by_part(rows):
    parts = [scored(part) for _, part in rows.groupby(rows["age"] % 3)]
    return pandas.concat(parts)


def numbers_of(scorer, out="parts"):
    return cfaudit.run("job.yaml", rows=frame, scorers={"mine": scorer}, out=out).summary["headline"]


whole = numbers_of(scored)
assert whole == audit.summary["headline"]
assert numbers_of(by_part) == whole
assert numbers_of(lambda rows: scored(rows).sort_values()) == whole
assert numbers_of(lambda rows: pandas.DataFrame({0: scored(rows).sort_values()})[0]) == whole
for index in [lambda n: [0] * n, lambda n: range(1, n + 1), lambda n: [str(i) for i in range(n)]]:
    strange = lambda rows: scored(rows).set_axis(index(len(rows)))  # noqa: E731
    refused(cfaudit.DataError, lambda: numbers_of(strange), "another index than the frame")

# Numbers without one are asked for again, in another order.
def shuffled(rows):
    return scored(rows).sample(frac=1, random_state=len(rows)).to_numpy()


for scorer in [
    lambda rows: sorted(scored(rows)),
    lambda rows: by_part(rows).to_numpy(),
    shuffled,
    lambda rows: [random.random() for _ in range(len(rows))],
    lambda rows: [i % 2 for i in range(len(rows))],
    lambda rows: [None if i % 2 else 0.5 for i in range(len(rows))],
]:
    varies = refused(cfaudit.DataError, lambda of=scorer: numbers_of(of), "'mine'", "in another order")
    assert varies.code == "not-repeatable"
assert numbers_of(scored) == whole
assert not [name for name in os.listdir("parts.inputs") if name.startswith(".")]

# What a switch is, by hand.
sees = frame.assign(sex=frame["sex"].astype(str))[Model.feature_names_in_]
other = sees.assign(sex=sees["sex"].map({"f": "m", "m": "f"}))
granted, after = (Model(0.2).predict_proba(rows)[:, 0] >= 0.6 for rows in (sees, other))
women = (sees["sex"] == "f").to_numpy()
metrics = audit.pandas("metrics")
row = metrics[
    (metrics["metric"] == "denied_by_group")
    & (metrics["from_group"] == "f")
    & (metrics["to_group"] == "m")
    & (metrics["scope"] == "direction")
].iloc[0]
assert row["denominator"] == (women & ~granted).sum(), row
assert row["numerator"] == (women & ~granted & after).sum() > 0, row

# Tables.
table = audit.arrow("gates")
assert isinstance(table, pyarrow.Table) and "gates" in audit.tables and "outcomes" in audit.tables
assert str(audit.pandas("gates")["n_needed_80"].dtype) == "Int64"
assert audit.pandas().shape == (audit.arrow().num_rows, audit.arrow().num_columns)
refused(KeyError, lambda: audit.arrow("nothing"), "no table 'nothing'", "metrics")

# Pages.
page, brief = open("out/report.html").read(), audit._repr_html_()
assert "id=&quot;verdict&quot;" in brief and "id=&quot;sign&quot;" in brief
assert 'class="evidence"' in page and "class=&quot;evidence&quot;" not in brief

# Verbs.
assert audit.verify()["sound"] and audit.verify(audit.fingerprint)["sound"]
assert not audit.verify("0" * 64)["sound"]
assert audit.pack("out.zip") == "out.zip" and os.path.getsize("out.zip") > 10_000
assert audit.export("model-card").startswith("{")

# Another model: its scores replace the old ones, and the change is clear.
again = cfaudit.run(
    "job.yaml", rows=frame, scorers={"mine": Model(0.0).predict_proba}, out="fair", baseline=audit
)
assert again.verdict == "pass", again
changed = cfaudit.diff(audit, again)
assert changed.comparable and changed.changes.num_rows == len(changed.data["changes"]) > 20
assert any(change["metric"] == "denied_by_group" for change in changed.clear), changed
assert "srcdoc" in changed._repr_html_()
same = cfaudit.diff("out", cfaudit.Audit("out"))
assert not same.clear and repr(same).endswith("clear=0)"), same

# A job as a mapping, Arrow in place of pandas, and a function of numbers.
job = {
    "cfaudit": 1,
    "name": "mapping",
    "data": {
        "row_id": "id",
        "label": {"column": "repaid", "positive": [1], "favourable": "positive"},
        "sensitive": {"sex": {"groups": ["m", "f"], "reference": "m"}},
        "features": {"continuous": ["age"]},
    },
    "counterfactuals": {"flip": "naive"},
    "models": {"mine": {"threshold": 0.5}},
    "metrics": {"families": ["ccm"], "bootstrap": {"samples": 20}},
}


def by_age(rows):
    assert isinstance(rows, pyarrow.Table) and rows.column_names == ["sex", "age"], (
        rows.column_names
    )
    return pyarrow.compute.divide(rows["age"].cast("float64"), 80.0)


arrow = pyarrow.Table.from_pandas(frame, preserve_index=False)
audit = cfaudit.run(job, rows=arrow, scorers={"mine": by_age})
assert audit.folder == "outputs/mapping" and audit.verdict == "done", audit
by_arrow = audit.summary["headline"]
assert by_arrow["mine.flip.sex.sr"] == 0.0

# What is wrong is said by the program, as an exception of its own kind.
bad = refused(cfaudit.JobError, lambda: cfaudit.run({**job, "gates": 1}, rows=arrow), "`gates`")
# Without a scorer the model of the job has no kind, which is said first.
assert (bad.status, bad.code) == (2, "one-of"), bad.code
refused(cfaudit.JobError, lambda: cfaudit.run("none.yaml"), "none.yaml")
refused(
    cfaudit.DataError,
    lambda: cfaudit.run(job, rows=arrow, scorers={"mine": lambda rows: [2.0] * len(rows)}),
)
refused(
    cfaudit.DataError,
    lambda: cfaudit.run(job, rows=arrow, scorers={"mine": lambda rows: [0.5]}),
    "gave 1 numbers",
)
refused(
    cfaudit.DataError,
    lambda: cfaudit.run(job, rows=arrow, scorers={"mine": Model(0).predict_proba}),
    "error[model-columns]",
    "income",
)
refused(cfaudit.OperatorError, lambda: cfaudit.diff("out", "out.inputs"), "manifest.json")
refused(TypeError, lambda: cfaudit.run(job, rows=[1, 2]), "rows must be a frame")
refused(FileNotFoundError, lambda: cfaudit.Audit("out.inputs"), "not an output folder")

# Rows that are not there yet.
later = {**job, "data": {**job["data"], "rows": {"parquet": "later.parquet", "wait": True}}}
refused(cfaudit.WaitingError, lambda: cfaudit.run(later, scorers={"mine": by_age}), "later.parquet")

# A first job from a frame.
guessed = cfaudit.new(frame, label="repaid", sensitive="sex", file="first.yaml")
audit = cfaudit.run("first.yaml")
assert "guessed" in guessed and audit.summary["rows"] > 0
# The model that it trains gives way to one of this process.
mine = cfaudit.run(
    "first.yaml",
    out="mine",
    settings={"models.trained": {"threshold": 0.5}},
    scorers={"trained": Model(0.3).predict_proba},
)
assert {"logistic", "scores"} == {model["kind"] for model in mine.manifest["models"]}
assert cfaudit.diff(audit, mine, force=True).clear

if importlib.util.find_spec("polars"):
    import polars

    rows = polars.from_pandas(frame)

    def of_polars(rows):
        assert isinstance(rows, polars.DataFrame)
        return rows["age"] / 80

    audit = cfaudit.run(job, rows=rows, scorers={"mine": of_polars}, out="polars")
    assert isinstance(audit.polars("metrics"), polars.DataFrame)
    assert audit.summary["headline"] == by_arrow
    audit = cfaudit.run(job, rows=rows.lazy(), scorers={"mine": of_polars}, out="polars")
else:
    print("without polars")
