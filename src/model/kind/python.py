"""Scores rows for cfaudit by a Python function or a pickled model; cfaudit starts it once a run.

Standard input holds Arrow IPC streams of rows, one after the other; each is answered by one stream
with the column `score` on standard output. Where the input ends, the program ends.
"""

import argparse
import importlib
import os
import pickle
import sys

# Only scores go to standard output: what the model prints goes to standard error.
OUTPUT = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.stdout = sys.stderr
sys.path.insert(0, os.getcwd())


def fail(what):
    sys.exit(f"cfaudit: {what}")


try:
    import pyarrow as pa
except ImportError as cause:
    fail(f"the interpreter {sys.executable} has no pyarrow ({cause}): pip install pyarrow")
try:
    import pandas
except ImportError:
    pandas = None


def function_of(call):
    """The function that `module:function` names."""
    module, name = call.split(":")
    function = importlib.import_module(module)
    for part in name.split("."):
        if not hasattr(function, part):
            fail(f"the module {module} has no {name}")
        function = getattr(function, part)
    return function


def position_of(model, positive):
    """The column of predict_proba that belongs to the positive class."""
    classes = [] if getattr(model, "classes_", None) is None else list(model.classes_)
    if positive is not None:
        found = [i for i, level in enumerate(classes) if str(level) == positive]
        if len(found) != 1:
            fail(f"the model has no class {positive}; its classes are {classes}")
        return found[0]
    if classes and (len(classes) != 2 or not all(a == b for a, b in zip(classes, (0, 1)))):
        fail(f"the classes of the model are {classes}: name the positive one under `positive`")
    return 1


def pickled(path, positive, columns):
    """The function that asks a pickled model for the probability of the positive class."""
    with open(path, "rb") as file:
        model = pickle.load(file)
    if not hasattr(model, "predict_proba"):
        fail(f"{path} holds a {type(model).__name__}, which has no predict_proba")
    position = position_of(model, positive)
    names = getattr(model, "feature_names_in_", None)
    names = columns or (None if names is None else [str(name) for name in names])
    if names is None and hasattr(model, "n_features_in_"):
        fail("the model knows its columns by their position alone: list them under `columns`")

    def scores(rows):
        if names is not None:
            have = rows.column_names if pandas is None else rows.columns
            absent = [name for name in names if name not in have]
            if absent:
                fail(f"the model wants columns that the job does not have: {', '.join(absent)}")
            rows = rows.select(names) if pandas is None else rows[names]
        if columns and pandas is not None and not hasattr(model, "feature_names_in_"):
            rows = rows.to_numpy()
        found = model.predict_proba(rows)
        if len(found) and position >= len(found[0]):
            fail(f"predict_proba gives {len(found[0])} columns, and the positive class has none")
        return [row[position] for row in found] if isinstance(found, list) else found[:, position]

    return scores


def numbers(scores, n):
    """The scores as floats, one for each row: of 32 bits where the model gives these."""
    if isinstance(scores, pa.ChunkedArray):
        scores = scores.combine_chunks()
    if getattr(scores, "ndim", 1) != 1:
        fail(f"the scores of {n} rows have the shape {scores.shape}: give one number for each row")
    if not isinstance(scores, pa.Array):
        of = scores if isinstance(scores, (list, tuple)) else [scores]
        single = {str(getattr(part, "dtype", "")).lower() for part in of} == {"float32"}
        kind = pa.float32() if single else pa.float64()
        scores = pa.array([number(score) for score in scores], kind)
    if len(scores) != n:
        fail(f"{len(scores)} scores came back for {n} rows: give one number for each row")
    return scores if scores.type == pa.float32() else scores.cast(pa.float64())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--call")
    parser.add_argument("--pickle")
    parser.add_argument("--positive")
    parser.add_argument("--column", action="append")
    asked = parser.parse_args()
    if asked.call:
        score = function_of(asked.call)
    else:
        score = pickled(asked.pickle, asked.positive, asked.column)
    # At the end of the input there is nothing to look at.
    while sys.stdin.buffer.peek(1):
        with pa.ipc.open_stream(sys.stdin.buffer) as rows:
            out = written = None
            for batch in rows:
                table = pa.Table.from_batches([batch])
                given = score(table if pandas is None else table.to_pandas())
                try:
                    found = numbers(in_order(given, batch.num_rows), batch.num_rows)
                except ValueError as cause:
                    fail(cause)
                if written is None:
                    written = pa.schema([("score", found.type)])
                    out = pa.ipc.new_stream(OUTPUT, written)
                if found.type != written.field("score").type:
                    fail("some scores have 32 bits and some 64: give all in one precision")
                out.write_batch(pa.record_batch([found], schema=written))
            if out is None:
                out = pa.ipc.new_stream(OUTPUT, pa.schema([("score", pa.float64())]))
            out.close()
        OUTPUT.flush()


if __name__ == "__main__":
    main()
