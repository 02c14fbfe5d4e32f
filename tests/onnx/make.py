"""Makes the small models of this folder and expected.json, what Python's onnxruntime says of them.

Needs numpy, scikit-learn, skl2onnx, onnxmltools, lightgbm, onnx, onnxruntime (made with 2.4.6, 1.9.1, 1.20.0, 1.16.0, 4.7.0,
1.23.2, 1.31.1).
Run: python tests/onnx/make.py. The rows are made again by src/model/onnx/tests.rs, by the same formulas.
"""

import json
from pathlib import Path

import numpy as np
import onnxruntime
from lightgbm import LGBMClassifier
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType as LightgbmFloats
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

FOLDER = Path(__file__).parent
N = 300
i = np.arange(N)
age = 20.0 + (i * 7) % 41
income = 10.0 + ((i * 13) % 57) / 2.0
job = np.array(["clerk", "nurse", "pilot"])[(i * 5) % 3]
labels = ((age - 20.0) / 40.0 + (income - 10.0) / 28.0 + 0.3 * (job == "pilot") + 0.2 * (i % 4 == 0) > 1.1).astype(int)
X = np.column_stack([age, income]).astype(np.float32)
floats = [("X", FloatTensorType([None, 2]))]
OPSETS = {"": 17, "ai.onnx.ml": 3}


def save(name, model):
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())


linear = LogisticRegression().fit(X, labels)
save("linear", to_onnx(linear, initial_types=floats, options={"zipmap": False}, target_opset=OPSETS))
trees = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X, labels)
save("trees", to_onnx(trees, initial_types=floats, options={"zipmap": False}, target_opset=OPSETS))
words = np.where(labels == 1, "good", "bad")
zipmap = GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0).fit(X, words)
save("zipmap", to_onnx(zipmap, initial_types=floats, target_opset=OPSETS))
lightgbm = LGBMClassifier(n_estimators=5, num_leaves=5, verbosity=-1).fit(X, labels)
save("lightgbm", convert_lightgbm(lightgbm, initial_types=[("X", LightgbmFloats([None, 2]))], target_opset=15))

import pandas as pd  # noqa: E402  (named columns of several types)

table = pd.DataFrame({"age": X[:, 0], "income": X[:, 1], "job": job})
named = make_pipeline(
    make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), LogisticRegression(max_iter=1000)
).fit(table, labels)
types = [("age", FloatTensorType([None, 1])), ("income", FloatTensorType([None, 1])), ("job", StringTensorType([None, 1]))]
save("named", to_onnx(named, initial_types=types, options={"zipmap": False}, target_opset=OPSETS))

# Graphs by hand, which no classifier of a library is behind: `decides` gives classes alone, `three` a
# probability for each of three classes without names, `open` as many, but does not say how many, and
# `whole` takes whole numbers.
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def by_hand(name, nodes, output, kind=TensorProto.FLOAT):
    weights = numpy_helper.from_array(np.array([[0.1, 0.02, -0.1], [-0.05, 0.04, 0.1]], np.float32), "weights")
    graph = helper.make_graph(
        [helper.make_node(*node, **more) for *node, more in nodes],
        name,
        [helper.make_tensor_value_info("X", kind, [None, 2])],
        [output],
        [weights],
    )
    opsets = [helper.make_opsetid("", 17)]
    save(name, helper.make_model(graph, opset_imports=opsets, ir_version=8))


def softmax(source, to):
    return [("MatMul", [source, "weights"], ["sums"], {}), ("Softmax", ["sums"], [to], {"axis": 1})]


label = helper.make_tensor_value_info("label", TensorProto.INT64, [None])
by_hand("decides", [*softmax("X", "p"), ("ArgMax", ["p"], ["label"], {"axis": 1, "keepdims": 0})], label)
three = helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, 3])
by_hand("three", softmax("X", "scores"), three)
by_hand("open", softmax("X", "scores"), helper.make_tensor_value_info("scores", TensorProto.FLOAT, [None, None]))
cast = ("Cast", ["X"], ["numbers"], {"to": TensorProto.FLOAT})
by_hand("whole", [cast, *softmax("numbers", "scores")], three, TensorProto.INT64)

expected = {}
for name in ["linear", "trees", "zipmap", "lightgbm", "named"]:
    session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])
    if name == "named":
        feed = {"age": X[:, :1], "income": X[:, 1:], "job": job.astype(object)[:, None]}
    else:
        feed = {"X": X}
    scores = session.run(None, feed)[1]
    key = {"zipmap": "good", "lightgbm": 1}.get(name)
    expected[name] = [float(row[1 if key is None else key]) for row in scores][:40]
(FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
