"""The types of rows for Python and the precision of its answers, run by tests/it/python_package.rs with the package on its path."""

import importlib.util
import io
import json

import numpy
import pandas
import pyarrow
import pyarrow.parquet
from cfaudit import _run
from cfaudit._answers import frame_of, in_order, is_single, number
from cfaudit._models import asked_model

HALF, NAN = numpy.float32(0.7), float("nan")
VALUES = [HALF, numpy.float32(0.2), HALF]


def objects(values):
    array = numpy.empty(len(values), dtype=object)
    array[:] = values
    return array


singles = {
    "array": numpy.array(VALUES),
    "list": VALUES,
    "tuple": tuple(VALUES),
    "object array": objects(VALUES),
    "object Series": pandas.Series(VALUES, dtype=object),
    "generator": (value for value in VALUES),
    "map": map(numpy.float32, VALUES),
    "values of a dict": dict(enumerate(VALUES)).values(),
    "None among them": [HALF, None, HALF],
    "None in an object array": objects([HALF, None, HALF]),
    "NaN among them": [HALF, NAN, HALF],
    "NA in an object Series": pandas.Series([HALF, pandas.NA, HALF], dtype=object),
    "Float32": pandas.array(VALUES, dtype="Float32"),
    "Series of Float32": pandas.Series(VALUES, dtype="Float32"),
    "Series of Float32 with NA": pandas.Series([HALF, None, HALF], dtype="Float32"),
    "Series of Arrow": pandas.Series(VALUES, dtype="float[pyarrow]"),
    "Series of Arrow with NA": pandas.Series([HALF, None, HALF], dtype="float[pyarrow]"),
    "Arrow": pyarrow.array(VALUES, pyarrow.float32()),
    "Arrow in chunks": pyarrow.chunked_array([pyarrow.array(VALUES, pyarrow.float32())]),
}
doubles = {
    "array": numpy.array([0.7, 0.2, 0.7]),
    "object array": objects([0.7, 0.2, 0.7]),
    "numbers of Python": [0.7, 0.2, 0.7],
    "one of 64 bits": [HALF, numpy.float64(0.2), HALF],
    "one of Python in an object array": objects([HALF, 0.2, HALF]),
    "generator": (value for value in [0.7, 0.2, 0.7]),
    "Series of Float64 with NA": pandas.Series([0.7, None, 0.7], dtype="Float64"),
    "integers": objects([1, 0, 1]),
    "16 bits": numpy.array(VALUES, dtype="float16"),
    "nothing but None": [None, None, None],
}


class Tensor(list):
    """Names its type as torch does."""

    def __init__(self, values, dtype):
        super().__init__(values)
        self.dtype = dtype


singles["tensor"] = Tensor([0.5, 0.2, 0.5], "torch.float32")
doubles["tensor"] = Tensor([0.7, 0.2, 0.7], "torch.float64")

if importlib.util.find_spec("polars"):
    import polars

    singles["polars"] = polars.Series(VALUES, dtype=polars.Float32)
    singles["objects of polars"] = polars.Series(VALUES, dtype=polars.Object)
    doubles["polars"] = polars.Series([0.7, 0.2, 0.7])

for expected, answers in [(True, singles), (False, doubles)]:
    for name, answer in answers.items():
        found = in_order(answer, 3)
        assert is_single(found) == expected, (name, expected)
        found = found.to_pylist() if hasattr(found, "to_pylist") else found
        found = [number(value) for value in found]
        assert len(found) == 3, (name, found)

for answer in [None, 0.5, numpy.array(0.5)]:
    try:
        in_order(answer, 3)
    except ValueError as cause:
        assert "give one number for each row" in str(cause), cause
    else:
        raise AssertionError(f"{answer!r} is no sequence")

# Rows have the types that `read_parquet` gives.
town = pandas.Categorical(["b", None, "a", "b"], categories=["z", "b", "a", "q"], ordered=True)
frame = pandas.DataFrame({"town": town, "n": pandas.Series([1, 2, 3, 4], dtype="int32"), "x": 0.5})
file = io.BytesIO()
frame.to_parquet(file)
read = pandas.read_parquet(file)
category = {"categories": list(town.categories), "ordered": True}
about = {"town": {"category": category}, "n": {"integer": "int32"}, "elsewhere": {"integer": "int8"}}
sent = pyarrow.table({"town": ["b", None, "a", "b"], "n": [1, 2, 3, 4], "x": [0.5] * 4})
found = frame_of(sent, {b"cfaudit.types": json.dumps(about).encode()})
pandas.testing.assert_frame_equal(found, read)
assert list(found["town"].cat.categories) == ["z", "b", "a", "q"]
# What is no category is missing, as in pandas; rows without such types stay as they are.
other = sent.set_column(0, "town", pyarrow.array(["b", "new", None, "a"]))
missing = frame_of(other, {b"cfaudit.types": json.dumps(about).encode()})["town"].isna()
assert list(missing) == [False, True, True, False]
assert frame_of(sent, None)["n"].dtype == "int64"


# The class 1 of a label may be true to a model, as to the program.
class Model:
    """Looks like a fitted model of scikit-learn."""

    def __init__(self, classes):
        self.classes_ = classes

    def predict_proba(self, rows):
        return numpy.array([[0.2, 0.8], [0.4, 0.6]])


for classes, positive in [([False, True], "1"), ([False, True], "true"), ([0, 1], "True")]:
    asked = asked_model(Model(numpy.array(classes)).predict_proba)
    assert _run._numbers(asked, asked(None), 2, [positive]).to_pylist() == [0.8, 0.6]
