"""Makes the models of this case with the libraries at hand, and what they say about the rows as
`pandas.read_csv` reads them: a pickled pipeline, an ONNX graph of the same pipeline, written by
hand, and trees of LightGBM."""

import pickle
import struct

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

NUMBERS = ["age", "income"]
LEVELS = ["sex", "zip", "flag", "member", "employer", "country", "region", "grade"]

rows = pd.read_csv("people.csv")
read = rows[NUMBERS + LEVELS]
numbers = make_pipeline(SimpleImputer(), StandardScaler())
model = make_pipeline(
    ColumnTransformer([("n", numbers, NUMBERS), ("l", OneHotEncoder(handle_unknown="ignore"), LEVELS)]),
    LogisticRegression(max_iter=2000, C=3.0),
)
model.fit(read, rows.y)
with open("model.pkl", "wb") as file:
    pickle.dump(model, file)


def told(name, scores):
    pd.DataFrame({"id": rows.id, "truth": scores}).to_csv(name, index=False, float_format="%.17g")


told("truth.csv", model.predict_proba(read)[:, 1])


# The same pipeline as an ONNX graph: fields of protocol buffers, a number and bytes.
def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    if isinstance(value, int):
        return data(1, name) + number(3, value) + number(20, 2)
    if isinstance(value, float):
        return data(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, str):
        return data(1, name) + data(4, value) + number(20, 3)
    if all(isinstance(x, str) for x in value):
        return data(1, name) + b"".join(data(9, x) for x in value) + number(20, 8)
    if all(isinstance(x, int) for x in value):
        return data(1, name) + b"".join(number(8, x) for x in value) + number(20, 7)
    floats = b"".join(varint(7 << 3 | 5) + struct.pack("<f", x) for x in value)
    return data(1, name) + floats + number(20, 6)


def node(kind, inputs, outputs, domain="", **attributes):
    made = b"".join(data(1, x) for x in inputs) + b"".join(data(2, x) for x in outputs)
    made += data(4, kind) + (data(7, domain) if domain else b"")
    return data(1, made + b"".join(data(5, attribute(*item)) for item in attributes.items()))


def value(field, name, element, width):
    shape = data(2, data(1, data(2, "n")) + data(1, number(1, width)))
    return data(field, data(1, name) + data(2, data(1, number(1, element) + shape)))


FLOAT, INTEGER, TEXT, ML = 1, 7, 8, "ai.onnx.ml"
imputer, scaler = model[0].named_transformers_["n"]
encoder, regression = model[0].named_transformers_["l"], model[1]
nodes, inputs, parts = b"", b"", []
for k, name in enumerate(NUMBERS):
    inputs += value(11, name, FLOAT, 1)
    filled = dict(imputed_value_floats=[float(imputer.statistics_[k])], replaced_value_float=float("nan"))
    nodes += node("Imputer", [name], [f"{name}.filled"], ML, **filled)
    scaling = dict(offset=[float(scaler.mean_[k])], scale=[float(1 / scaler.scale_[k])])
    nodes += node("Scaler", [f"{name}.filled"], [f"{name}.part"], ML, **scaling)
    parts.append(f"{name}.part")
for name, known in zip(LEVELS, encoder.categories_):
    if known.dtype == np.int64:
        kind, cats = INTEGER, dict(cats_int64s=[int(x) for x in known])
    else:
        # What Python's str writes; a missing value is the empty text.
        kind, cats = TEXT, dict(cats_strings=["" if x != x else str(x) for x in known])
    inputs += value(11, name, kind, 1)
    nodes += node("OneHotEncoder", [name], [f"{name}.hot"], ML, zeros=1, **cats)
    nodes += node("Flatten", [f"{name}.hot"], [f"{name}.part"], axis=1)
    parts.append(f"{name}.part")
nodes += node("Concat", parts, ["all"], axis=1)
weights = [float(x) for x in regression.coef_[0]]
linear = dict(
    coefficients=[-x for x in weights] + weights,
    intercepts=[float(-regression.intercept_[0]), float(regression.intercept_[0])],
    classlabels_ints=[0, 1],
    multi_class=0,
    post_transform="LOGISTIC",
)
nodes += node("LinearClassifier", ["all"], ["label", "probabilities"], ML, **linear)
graph = nodes + data(2, "pipeline") + inputs
graph += value(12, "label", INTEGER, 1) + value(12, "probabilities", FLOAT, 2)
opsets = data(8, data(1, "") + number(2, 17)) + data(8, data(1, ML) + number(2, 3))
with open("model.onnx", "wb") as file:
    file.write(number(1, 8) + opsets + data(7, graph))

# Trees that know the levels as categories.
categories = read.assign(**{name: read[name].astype("category") for name in LEVELS})
settings = dict(objective="binary", verbosity=-1, num_leaves=7, min_data_per_group=1, cat_smooth=1.0, seed=3)
settings["num_threads"] = 1
trees = lightgbm.train(settings, lightgbm.Dataset(categories, rows.y), num_boost_round=20)
trees.save_model("trees.txt")
told("trees.csv", trees.predict(categories))
