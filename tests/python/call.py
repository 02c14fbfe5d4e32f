"""`cfaudit.audit` and `assert_fair`, run by tests/it/python_package.rs in a folder of its own with the program on PATH."""

import importlib.util
import os
import pickle
import unittest

import cfaudit
import numpy
import pandas
import pyarrow
from cfaudit._yaml import merged, placed, yaml_of

N = 900
random = numpy.random.default_rng(7)
X = pandas.DataFrame(
    {
        "income": random.normal(30, 8, N),
        "sex": random.choice(["m", "f"], N),
        "age": random.integers(18, 80, N).astype("int32"),
        "job": pandas.Categorical(random.choice(["cook", "clerk"], N), ["cook", "clerk", "carer"]),
        "own": random.random(N) < 0.5,
        "grade": pandas.Categorical(random.choice(["low", "high"], N), ["low", "high"], ordered=True),
    },
    index=range(N, 2 * N),
)
shift = 0.1 * (X["income"] - 30) - 1.2 * (X["sex"] == "f")
y = (random.random(N) < 1 / (1 + numpy.exp(-shift))).astype(int)
NAMED = {"sensitive": "sex", "reference": "m", "favourable": 1}
LIMIT = {"harm_to": "f", "at_most": 0.05}


def refused(error, does, *words):
    try:
        does()
    except error as what:
        assert all(word in str(what) for word in words), str(what)
        return what
    raise AssertionError(f"{error.__name__} expected")


def by_hand(rows):
    return 1 / (1 + numpy.exp(-(0.1 * (rows["income"] - 30) - 1.2 * (rows["sex"] == "f"))))


def blind(rows):
    return 1 / (1 + numpy.exp(-0.1 * (rows["income"] - 30)))


def scores_of(audit):
    return audit.pandas("outcomes").sort_values("row_key")


def assert_scores(audit, before, after, tolerance=1e-12):
    """The scores of an audit are these, of the rows as they are and with the other entry for sex."""
    found = scores_of(audit)
    assert len(found) == N, found
    assert numpy.abs(found["score"].to_numpy() - before).max() <= tolerance
    assert numpy.abs(found["score_cf"].to_numpy() - after).max() <= tolerance


other = X.assign(sex=X["sex"].map({"m": "f", "f": "m"}))

# A function of a frame: its rows have the columns of `X`, in their order and with their types.
asked = []


def of_frame(rows):
    assert list(rows.columns) == list(X.columns), list(rows.columns)
    assert rows.dtypes.equals(X.dtypes), rows.dtypes
    assert rows["job"].cat.categories.equals(X["job"].cat.categories)
    asked.append(len(rows))
    return by_hand(rows)


audit = cfaudit.audit(of_frame, X, y, **NAMED, **LIMIT)
assert audit.folder == "outputs/audit" and audit.verdict == "fail" and asked == [N, 100] * 2, asked
assert_scores(audit, by_hand(X), by_hand(other))
assert {"continuous: [income, age]", "ordinal:", "nominal: [job, own]"} <= {
    part for line in audit.job.splitlines() for part in (line.strip(), line.strip()[:8])
}, audit.job

audit_job = audit.job

# The job that it shows, run by hand, gives the same folder: the same fingerprint.
with open("shown.yaml", "w") as file:
    file.write(audit.job)
with open("outputs/audit.inputs/job.yaml") as file:
    assert file.read() == audit.job
again = cfaudit.run("outputs/audit.inputs/job.yaml", out="by-hand")
assert again.fingerprint == audit.fingerprint, "the job gives other bytes"
assert "--set" not in audit.manifest["command"], audit.manifest["command"]
shown = cfaudit.run("shown.yaml", out="shown")
assert shown.arrow("metrics").equals(audit.arrow("metrics"))
assert again.job.startswith("cfaudit: 1\n") and "audited" in again.job
# A later run of a file into the same folder is not that job any more.
copied = cfaudit.run("shown.yaml", out="outputs/audit", arguments=["--replace"])
assert copied.job != audit_job and "duplicates: keep" in copied.job, copied.job
audit = cfaudit.audit(of_frame, X, y, **NAMED, **LIMIT)
assert audit.job == audit_job

# What a page says, in other forms.
gate = audit.gates[0]
assert (gate["gate"], gate["verdict"]) == ("harm", "fail"), gate
assert gate["line"].startswith("gates.harm: fail: ") and "limit 0.0500" in gate["line"], gate
assert audit.verify(again.fingerprint)["sound"], "to read the gates changes nothing"
text = audit.markdown()
assert text.startswith("# audit\n\n**Fail** The only limit is broken.\n"), text
assert "| | People | Value | Verdict |\n| --- |" in text and "## What this audit does not" in text
switched = scores_of(audit)
denied = (switched["from_group"] == "m") & (switched["score"] >= 0.5) & (switched["score_cf"] < 0.5)
granted = (switched["from_group"] == "m") & (switched["score"] >= 0.5)
assert f"**{denied.sum()} of {granted.sum()} " in text, text
assert f"| {denied.sum()} of {granted.sum()} | **" in text, text
assert not set(text) & set("<>"), text
chart = audit.plot()
assert chart.save("chart.html") == "chart.html" and "<iframe" in chart._repr_html_()
drawn = open("chart.html").read()
assert "<figure" in drawn and drawn.count("<svg") >= 2 and 'id="limits"' not in drawn
assert "SP / (SP + CN)" in audit.explain("psr") and "audited" in audit.explain("psr")
assert "gate" in audit.explain("harm")
assert refused(cfaudit.JobError, lambda: audit.explain("no such word")).status == 2
assert audit.page == os.path.abspath("outputs/audit/report.html")

# `fair` of the plain form: a text for a person, with the line of the gate and the page.
what = refused(AssertionError, lambda: cfaudit.assert_fair(of_frame, X, y, **NAMED, **LIMIT))
assert str(what).splitlines() == ["verdict fail", gate["line"], f"page: {audit.page}"], str(what)
assert cfaudit.assert_fair(blind, X, y, **NAMED, **LIMIT).verdict == "pass"
few = {"X": X[:12], "y": y[:12], **NAMED, **LIMIT}
refused(AssertionError, lambda: cfaudit.assert_fair(blind, **few), "inconclusive", "page: ")
skip = {"inconclusive": "skip", **few}
refused(unittest.SkipTest, lambda: cfaudit.assert_fair(blind, **skip), "inconclusive", "page: ")
refused(ValueError, lambda: cfaudit.assert_fair(blind, inconclusive="pass", **few), "`inconclusive`")
refused(TypeError, lambda: cfaudit.assert_fair(blind, X, y, **NAMED), "no limit")

# Nothing is guessed.
refused(TypeError, lambda: cfaudit.audit(of_frame, X, y, sensitive="sex"), "favourable", "reference")
refused(TypeError, lambda: cfaudit.audit(blind, X, y, **NAMED, at_most=0.1), "`harm_to`")
refused(TypeError, lambda: cfaudit.audit(blind, X, y, **NAMED, harm_to="f"), "`at_most`")
words = y.map({1: "good", 0: "bad"})
good = {**NAMED, "favourable": "good"}
refused(ValueError, lambda: cfaudit.audit(blind, X, words, **good), "positive=", "'bad', 'good'")
refused(ValueError, lambda: cfaudit.audit(blind, X, y, **good), "`favourable='good'`", "[0, 1]")
refused(ValueError, lambda: cfaudit.audit(blind, X, y, **{**NAMED, "reference": "x"}), "['f', 'm']")
refused(ValueError, lambda: cfaudit.audit(blind, X, y, **{**NAMED, "sensitive": "race"}), "`race`")
refused(ValueError, lambda: cfaudit.audit(blind, X, y.reset_index(drop=True), **NAMED), "index")
refused(ValueError, lambda: cfaudit.audit(blind, X, y[:-1].to_numpy(), **NAMED), "899 values for 900")
missing = y.astype("Int64").mask(y.index == N)
refused(ValueError, lambda: cfaudit.audit(blind, X, missing, **NAMED), "1 missing")
three = X.assign(sex=random.choice(["m", "f", "d"], N))
refused(ValueError, lambda: cfaudit.audit(blind, three, y, **NAMED), "groups=['d', 'f', 'm']")
dated = X.assign(age=pandas.Timestamp("2026-01-01"))
refused(TypeError, lambda: cfaudit.audit(blind, dated, y, **NAMED), "`age`", "timestamp")
refused(ValueError, lambda: cfaudit.audit(blind, X.rename(columns={"own": 7}), y, **NAMED), "[7]")
refused(ValueError, lambda: cfaudit.audit(blind, X.assign(label=1), y, **NAMED), "`label`")

# What the program refuses has a code, also after it went to another process.
bad = {**NAMED, "harm_to": "x", "at_most": 0.05}
what = refused(cfaudit.JobError, lambda: cfaudit.audit(blind, X, y, **bad), "`x`")
assert what.code == "unknown-group" and what.status == 2, what.code
same = pickle.loads(pickle.dumps(what))
assert (type(same), same.code, str(same)) == (cfaudit.JobError, what.code, str(what))
assert cfaudit.CfauditError(101, "no error of the program").code == ""

# The favourable class decides whose decision is worse, not the order of labels.
first = scores_of(cfaudit.audit(blind, X, words, **good, positive="good", out="good"))
assert first["score"].equals(scores_of(cfaudit.audit(blind, X, y, **NAMED, out="one"))["score"])
bad = {**NAMED, "favourable": 0}
of_one = cfaudit.audit(by_hand, X, y, **bad, out="zero")
assert of_one.manifest["label"]["positive"] == ["1"], of_one.manifest["label"]
assert of_one.manifest["label"]["favourable_is_positive"] is False

# Three groups, an attribute that the model does not read, words and weights by further blocks.
race = random.choice(["a", "b", "c"], N)
moved = cfaudit.audit(
    blind,
    X,
    y.to_numpy(),
    sensitive="race",
    reference="b",
    groups=["a", "b", "c"],
    favourable=1,
    counterfactual={"greedy": {"condition_on": "label"}},
    others={"race": race, "weight": [1.0 + i % 3 for i in range(N)]},
    gates={"gap": {"metric": "demp_difference", "between": "worst_case", "at_most": 0.9}},
    job={"data": {"weight": "weight"}, "about": {"decision": "Grant: a loan"}},
    name="race",
)
assert moved.folder == "outputs/race" and moved.verdict == "pass", moved
assert moved.manifest["attributes"][0]["groups"] == ["b", "a", "c"], moved.manifest["attributes"]
assert 'decision: "Grant: a loan"' in moved.job and "Grant: a loan" in moved.markdown() + moved.job
unread = {**NAMED, "sensitive": "race", "reference": "a", "groups": ["a", "b"]}
refused(ValueError, lambda: cfaudit.audit(blind, X, y, **unread, others={"race": race}), "does not read")

# Scores without a model: gaps, and no word on other groups.
gap = {"gap": {"metric": "demp_difference", "between": "worst_case", "at_most": 0.05}}
scored = cfaudit.audit(by_hand(X), X, y, **NAMED, gates=gap, out="scored")
assert scored.verdict == "fail" and scored.gates[0]["gate"] == "gap", scored.gates
drawn = scored.plot()._page
assert "Share with the favourable decision" in drawn and drawn.count("<svg") >= 3, drawn
granted = (by_hand(X) >= 0.5)[X["sex"] == "m"]
assert f"| m | {granted.sum()} of {len(granted)} | **" in scored.markdown(), scored.markdown()
refused(ValueError, lambda: cfaudit.audit(by_hand(X), X, y, **NAMED, **LIMIT), "give the model")
short = by_hand(X).to_numpy()[:-1]
refused(ValueError, lambda: cfaudit.audit(short, X, y, **NAMED), "`model` has 899 values for 900")

# Other frames.
arrow = pyarrow.Table.from_pandas(X, preserve_index=False)
numbers = numpy.column_stack([X["income"], X["sex"] == "m", X["age"]])
of_array = cfaudit.audit(
    lambda rows: 1 / (1 + numpy.exp(-0.1 * (rows[:, 0] - 30) - rows[:, 1])),
    numbers,
    y.to_numpy(),
    sensitive="x1",
    reference=1,
    favourable=1,
    out="array",
)
swapped = numbers * [1, 0, 1] + [0, 1, 0] - numbers * [0, 1, 0]
sigmoid = lambda rows: 1 / (1 + numpy.exp(-0.1 * (rows[:, 0] - 30) - rows[:, 1]))  # noqa: E731
assert_scores(of_array, sigmoid(numbers), sigmoid(swapped))


def of_arrow(rows):
    assert isinstance(rows, pyarrow.Table) and rows.column_names == list(X.columns)
    return rows["age"].to_numpy() / 100


assert_scores(cfaudit.audit(of_arrow, arrow, y, **NAMED, out="arrow"), X["age"] / 100, X["age"] / 100)

if importlib.util.find_spec("polars"):
    import polars

    of_polars = polars.from_arrow(arrow)

    def by_age(rows):
        assert isinstance(rows, polars.DataFrame) and rows.columns == list(X.columns)
        return rows["age"] / 100

    labels = polars.Series(y.to_numpy())
    found = cfaudit.audit(by_age, of_polars, labels, **NAMED, out="polars")
    assert_scores(found, X["age"] / 100, X["age"] / 100)

# Jobs as text: what a reader of YAML could take for another value is quoted.
texts = {"a": "yes", "b c": "1", "no": [1, "x: y", True, None, 0.05], "d": {}, "e": {"f": {"g": "é"}}}
assert yaml_of(texts) == (
    'a: "yes"\nb c: "1"\n"no": [1, "x: y", true, null, 0.05]\nd: {}\ne:\n  f: {g: "é"}\n'
), yaml_of(texts)
assert placed({"a": {"b": 1}}, ["a", "c", "d"], 2) == {"a": {"b": 1, "c": {"d": 2}}}
assert merged({"a": {"b": 1}, "c": [1]}, {"a": {"b": 2}, "c": []}) == {"a": {"b": 2}, "c": []}
