"""Made compas-scorecard.onnx, which jobs/compas-graph-rows.yaml audits: a scorecard made by hand as an ONNX file with an input per column.

python3 jobs/models/make_compas_onnx.py      needs onnx (made with 1.23.2)
"""

from pathlib import Path

from onnx import TensorProto, checker, helper

# Points for a unit of each number and for each word.
NUMBERS = {"age": -0.045, "juv_fel_count": 0.3, "juv_misd_count": 0.25, "juv_other_count": 0.2, "priors_count": 0.16}
WORDS = {"sex": {"Male": 0.1, "Female": -0.2}, "c_charge_degree": {"F": 0.1, "M": -0.1}}
INTERCEPT = 0.8


def number(name, value):
    return helper.make_tensor(name, TensorProto.FLOAT, [1], [value])


inputs, nodes, weights, terms = [], [], [number("intercept", INTERCEPT), number("one", 1.0)], ["intercept"]
for column, points in NUMBERS.items():
    inputs.append(helper.make_tensor_value_info(column, TensorProto.FLOAT, [None, 1]))
    weights.append(number(f"{column}_points", points))
    nodes.append(helper.make_node("Mul", [column, f"{column}_points"], [f"{column}_term"]))
    terms.append(f"{column}_term")
for column, points in WORDS.items():
    inputs.append(helper.make_tensor_value_info(column, TensorProto.STRING, [None, 1]))
    # A word without points has none.
    nodes.append(helper.make_node("LabelEncoder", [column], [f"{column}_term"], domain="ai.onnx.ml", keys_strings=list(points),
                                  values_floats=list(points.values()), default_float=0.0))
    terms.append(f"{column}_term")
nodes.append(helper.make_node("Sum", terms, ["odds"]))
nodes.append(helper.make_node("Sigmoid", ["odds"], ["positive"]))
nodes.append(helper.make_node("Sub", ["one", "positive"], ["negative"]))
nodes.append(helper.make_node("Concat", ["negative", "positive"], ["probabilities"], axis=1))
outputs = [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, [None, 2])]
graph = helper.make_graph(nodes, "compas-scorecard", inputs, outputs, weights)
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
checker.check_model(model, full_check=True)
(Path(__file__).parent / "compas-scorecard.onnx").write_bytes(model.SerializeToString())
