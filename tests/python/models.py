"""`cfaudit.audit` with the real scikit-learn, LightGBM and XGBoost: the scores are those that each library gives. Run by tests/it/python_package.rs."""

import cfaudit
import lightgbm
import numpy
import pandas
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

N = 600
random = numpy.random.default_rng(3)
X = pandas.DataFrame(
    {
        "income in k": random.normal(30, 8, N),
        "sex": pandas.Categorical(random.choice(["m", "f"], N)),
        "age": random.integers(18, 80, N),
        "job": pandas.Categorical(random.choice(["cook", "clerk"], N), ["cook", "clerk", "carer"]),
    }
)
X.loc[::17, "income in k"] = numpy.nan
shift = 0.1 * (X["income in k"].fillna(30) - 30) - 1.2 * (X["sex"] == "f")
y = (random.random(N) < 1 / (1 + numpy.exp(-shift))).astype(int)
other = X.assign(sex=X["sex"].map({"m": "f", "f": "m"}).astype(X["sex"].dtype))
NAMED = {"sensitive": "sex", "reference": "m", "favourable": 1, "job": {"metrics": {"families": ["ccm"]}}}


def refused(error, does, *words):
    try:
        does()
    except error as what:
        assert all(word in str(what) for word in words), str(what)
        return
    raise AssertionError(f"{error.__name__} expected")


def assert_scores(name, model, before, after, rows=X, tolerance=1e-12, **named):
    """An audit of the model has these scores."""
    audit = cfaudit.audit(model, rows, y, name=name, **{**NAMED, **named})
    found = audit.pandas("outcomes").sort_values("row_key")
    for column, expected in (("score", before), ("score_cf", after)):
        assert len(found) == N and numpy.isfinite(expected).all(), name
        assert numpy.abs(found[column].to_numpy() - expected).max() <= tolerance, (name, column)
    return audit


def both(function):
    return [numpy.asarray(function(rows), float) for rows in (X, other)]


# A pipeline, its columns in another order than those of `X`; the class is found by its value.
columns = make_column_transformer(
    (OneHotEncoder(), ["job", "sex"]), ("passthrough", ["age"]), verbose_feature_names_out=False
)
order = ["job", "age", "sex"]
pipeline = make_pipeline(columns, RandomForestClassifier(10, random_state=1)).fit(X[order], y)
positive = both(lambda rows: pipeline.predict_proba(rows[order])[:, 1])
assert_scores("pipeline", pipeline, *positive)
assert_scores("method", pipeline.predict_proba, *positive)
negative = both(lambda rows: pipeline.predict_proba(rows[order])[:, 0])
zero = assert_scores("zero", pipeline, *negative, favourable=0)
assert zero.manifest["label"]["positive"] == ["0"], zero.manifest["label"]

# One of three classes.
three = numpy.where(X["age"] > 60, "high", numpy.where(y == 1, "mid", "low"))
classes = make_pipeline(columns, LogisticRegression(max_iter=3000)).fit(X[order], three)
low = list(classes.classes_).index("low")
audit = cfaudit.audit(classes, X, three, name="classes", **{**NAMED, "favourable": "low"})
scores = audit.pandas("outcomes").sort_values("row_key")["score"].to_numpy()
assert numpy.abs(scores - classes.predict_proba(X[order])[:, low]).max() <= 1e-12
refused(
    ValueError,
    lambda: cfaudit.audit(classes, X, three, **{**NAMED, "favourable": "none"}),
    "`favourable='none'` is none of the classes",
)

# An estimator that was fitted on an array: the columns of `X`, in their order.
numbers = pandas.DataFrame({"age": X["age"], "sex": (X["sex"] == "m").astype(int)})
on_array = LogisticRegression().fit(numbers.to_numpy(), y)
flipped = numbers.assign(sex=1 - numbers["sex"])
expected = [on_array.predict_proba(rows.to_numpy())[:, 1] for rows in (numbers, flipped)]
assert_scores("array", on_array, *expected, rows=numbers, reference=1)
assert_scores(
    "matrix", on_array, *expected, rows=numbers.to_numpy(), reference=1, sensitive="x1"
)

# Boosters, and the estimators of their libraries; XGBoost gives 32 bits.
light = lightgbm.LGBMClassifier(n_estimators=8, verbose=-1).fit(X, y)
assert_scores("light", light, *both(lambda rows: light.predict_proba(rows)[:, 1]))
booster = light.booster_
assert_scores("light-booster", booster, *both(booster.predict))
shuffled = X[["job", "sex", "age", "income in k"]]
assert_scores("light-names", booster, *both(booster.predict), rows=shuffled)
extreme = xgboost.XGBClassifier(n_estimators=8, enable_categorical=True).fit(X, y)
proba = both(lambda rows: extreme.predict_proba(rows)[:, 1])
single = assert_scores("extreme", extreme, *proba)
assert single.arrow("outcomes").num_rows == N
assert_scores("extreme-booster", extreme.get_booster(), *proba, rows=shuffled)
least = lightgbm.train({"objective": "l2", "verbose": -1}, lightgbm.Dataset(X, y), 2)
refused(ValueError, lambda: cfaudit.audit(least, X, y, **NAMED), "`regression`", "no probability")
logits = xgboost.train(
    {"objective": "binary:logitraw"}, xgboost.DMatrix(X, y, enable_categorical=True), 2
)
refused(ValueError, lambda: cfaudit.audit(logits, X, y, **NAMED), "`binary:logitraw`")
margins = LinearSVC().fit(numbers, y)
refused(TypeError, lambda: cfaudit.audit(margins, numbers, y, **NAMED), "no `predict_proba`")
job = {**cfaudit.audit(booster, X, y, **NAMED).manifest, "name": "scorers"}
refused(TypeError, lambda: cfaudit.run(job, rows=X, scorers={"mine": [0.5]}), "'mine'", "list")
