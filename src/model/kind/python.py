"""Scores rows for cfaudit by a Python function, or by a model that was pickled or registered with
MLflow; cfaudit starts it once a run.

Standard input holds Arrow IPC streams of rows, one after the other; each is answered by one stream
with the column `score` on standard output. Where the input ends, the program ends. A stream whose
schema asks for a description has no rows: the answer says, in its own schema, which columns,
classes and levels the model knows. The schema of rows to score says which class is asked for.
"""

import argparse
import hashlib
import importlib
import json
import os
import pickle
import re
import sys
import sysconfig
import tempfile
import types

# Only scores go to standard output: what the model prints goes to standard error.
OUTPUT = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)
sys.stdout = sys.stderr
FOLDER = os.getcwd()
sys.path.insert(0, FOLDER)

DESCRIBE, DESCRIPTION, LOADED = b"cfaudit.describe", b"cfaudit.description", b"cfaudit.loaded"
POSITION, MODEL_HASH = b"cfaudit.position", b"cfaudit.sha256"


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


def loaded(path):
    """The model in a file that pickle or joblib wrote, compressed or not."""
    try:
        import joblib
    except ImportError:
        joblib = None
    # What this program defines is not what a model means by a name of `__main__`.
    own, sys.modules["__main__"] = sys.modules["__main__"], types.ModuleType("__main__")
    try:
        if joblib is not None:
            return joblib.load(path)
        with open(path, "rb") as file:
            return pickle.load(file)
    except AttributeError as cause:
        lacking = re.search("attribute '([^']+)'", str(cause))
        if "__main__" not in str(cause) or lacking is None:
            raise
        name = lacking.group(1)
        fail(
            f"{path} needs the name {name} from __main__, the script that pickled it: move {name} "
            f"into a module of its own, such as features.py, import it from there where the model "
            f"is trained (from features import {name}) and pickle the model again, with "
            f"features.py next to the job; or load the model in a function and name it by "
            f'call: "module:function"'
        )
    except (pickle.UnpicklingError, EOFError, UnicodeDecodeError) as cause:
        if joblib is not None:
            fail(f"{path} cannot be loaded: {cause}")
        fail(f"{path} cannot be loaded by pickle ({cause}): where joblib wrote it, pip install joblib")
    finally:
        sys.modules["__main__"] = own


def loaded_files(known, installed=tuple(map(sysconfig.get_path, ("stdlib", "platstdlib")))):
    """SHA-256 of the files of all modules but installed ones, by path from the working directory, as
    each was when it was first seen."""
    # Modules that a library writes there while it runs have another name each time.
    temporary = os.path.join(os.environ.get("TMPDIR") or "/tmp", "")
    for module in list(sys.modules.values()):
        try:
            # A module that is loaded when it is needed stays as it is.
            file = object.__getattribute__(module, "__dict__").get("__file__")
        except AttributeError:
            continue
        if not isinstance(file, str) or file in known:
            continue
        known[file] = None
        path = os.path.join(FOLDER, file)
        folders = path.split(os.sep)
        if "site-packages" in folders or "dist-packages" in folders or path.startswith(installed):
            continue
        if path.startswith(temporary) and not path.startswith(os.path.join(FOLDER, "")):
            continue
        if os.path.isfile(path):
            with open(path, "rb") as content:
                known[file] = hashlib.sha256(content.read()).hexdigest()
    found = {os.path.relpath(os.path.join(FOLDER, of), FOLDER): known[of] for of in known if known[of]}
    return json.dumps(found, sort_keys=True)


def hash_of_files(folder):
    """SHA-256 over the lines that sha256sum writes about the files of a folder, in the order of their
    paths; what MLflow itself notes in a folder that it downloads is left out."""
    paths = [os.path.join(below, name) for below, _, names in os.walk(folder) for name in names]
    lines = []
    for name in sorted(os.path.relpath(path, folder).replace(os.sep, "/") for path in paths):
        if name == "registered_model_meta":
            continue
        of_file = hashlib.sha256()
        with open(os.path.join(folder, name), "rb") as file:
            for part in iter(lambda: file.read(1 << 20), b""):
                of_file.update(part)
        lines.append(f"{of_file.hexdigest()}  {name}\n")
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def registered(address):
    """A registered version of MLflow, and the SHA-256 over its files."""
    # Nothing but the registry is asked, and nothing but scores is written.
    os.environ.update(MLFLOW_DISABLE_TELEMETRY="true", MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR="false")
    try:
        import mlflow
    except ImportError as cause:
        fail(f"the interpreter {sys.executable} has no mlflow ({cause}): pip install mlflow")
    name, version = address[len("models:/") :].split("/")
    client = mlflow.MlflowClient()
    try:
        client.get_model_version(name, version)
    except Exception as cause:
        try:
            held = sorted(int(of.version) for of in client.search_model_versions(f"name = '{name}'"))
        except Exception:
            fail(f"the registry of MLFLOW_TRACKING_URI does not answer: {cause}")
        if not held:
            fail(f"the registry of MLFLOW_TRACKING_URI has no model {name}")
        shown = ", ".join(str(of) for of in held[-20:])
        fail(f"the registry of MLFLOW_TRACKING_URI has no version {version} of {name}: it has {shown}")
    try:
        # A copy, so that what is hashed is what is loaded.
        with tempfile.TemporaryDirectory() as copy:
            folder = mlflow.artifacts.download_artifacts(address, dst_path=copy)
            return mlflow.pyfunc.load_model(folder).get_raw_model(), hash_of_files(folder)
    except Exception as cause:
        fail(f"{address} cannot be loaded: {cause}")


def plain(value):
    """A value as JSON; None for one that is missing."""
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    return None if str(value) in ("nan", "NaT", "<NA>") else str(value)


def picked(columns, names):
    """The columns that a part of a ColumnTransformer names: by name, position, slice or mask."""
    if columns is None:
        return None
    if isinstance(names, slice):
        ends = [columns.index(end) if isinstance(end, str) else end for end in (names.start, names.stop)]
        stop = ends[1] + 1 if isinstance(names.stop, str) else ends[1]
        return columns[slice(ends[0], stop, names.step)]
    names = [names] if isinstance(names, (str, int)) else list(names)
    if names and all(isinstance(plain(name), bool) for name in names):
        return [column for column, keep in zip(columns, names) if keep]
    return [name if isinstance(name, str) else columns[name] for name in names]


def learn(part, columns, levels, filled):
    """Notes the levels that the encoders of a fitted model know, by column; what becomes of the
    columns, or None where they are columns no more. `filled` are those whose missing values are
    filled before they reach an encoder."""
    if isinstance(part, str):
        return columns if part == "passthrough" else []
    if part is None or columns is None:
        return None
    if hasattr(part, "steps"):
        filled = set(filled)
        for _, step in part.steps:
            columns = learn(step, columns, levels, filled)
        return None
    for name in ("transformers_", "transformer_list"):
        for item in getattr(part, name, ()):
            own = picked(columns, item[2]) if name == "transformers_" else columns
            learn(item[1], own, levels, set(filled))
    for name in ("best_estimator_", "estimator_", "_preprocessor"):
        learn(getattr(part, name, None), columns, levels, filled)
    for fitted in getattr(part, "calibrated_classifiers_", ()):
        learn(getattr(fitted, "estimator", None), columns, levels, filled)
    if isinstance(getattr(part, "estimators_", None), list):
        for fitted in part.estimators_:
            learn(fitted, columns, levels, filled)
    known = getattr(part, "categories_", None)
    if known is not None and len(known) == len(columns):
        for column, values in zip(columns, known):
            values = [plain(value) for value in values] + ([None] if column in filled else [])
            old = levels.get(column)
            levels[column] = values if old is None else [v for v in old if v in values]
        return None
    if type(part).__name__ == "SimpleImputer":
        statistics = list(part.statistics_)
        whole = [plain(value) is not None for value in statistics]
        if len(whole) == len(columns):
            filled.update(column for column, there in zip(columns, whole) if there)
            return columns if all(whole) and not part.add_indicator else None
    return None


class Estimator:
    """A model that is asked for the probability of a class; `sha256` is that of a registered one."""

    def __init__(self, model, source, sha256=None):
        self.model, self.source, self.sha256 = model, source, sha256
        if not hasattr(model, "predict_proba"):
            fail(
                f"{source} holds a {type(model).__name__}, which has no predict_proba: write a function "
                'that gives the probability, and name it by python: {call: "module:function"}'
            )
        names = getattr(self.model, "feature_names_in_", None)
        self.names = None if names is None else [str(name) for name in names]
        self.width = getattr(self.model, "n_features_in_", None)

    def description(self):
        classes = getattr(self.model, "classes_", None)
        columns = self.names or (None if self.width is None else list(range(self.width)))
        levels = {}
        try:
            learn(self.model, columns, levels, set())
        except Exception as cause:
            # What a library of another version keeps elsewhere is not known: the scores are.
            print(f"cfaudit: the levels that the model knows cannot be read: {cause!r}", file=sys.stderr)
        table = {
            "name": "",
            "columns": {"named": self.names}
            if self.names is not None
            else "any" if self.width is None else {"unnamed": int(self.width)},
            "kind": "source",
            "missing": "pandas",
            "levels": [levels.get(column) for column in columns or []],
        }
        output = {"unnamed": None} if classes is None else {"classes": [plain(value) for value in classes]}
        # As the contract has them; and the hash of the files of a registered version.
        return [{"inputs": [table], "output": output}, self.sha256, self.threshold()]

    def threshold(self):
        """The probability from which the model's own `predict` is positive, where it has one."""
        if getattr(self.model, "response_method", "auto") == "decision_function":
            return None
        own = getattr(self.model, "best_threshold_", None)
        if own is None and type(self.model).__name__ == "FixedThresholdClassifier":
            own = self.model.threshold
        return float(own) if isinstance(own, (int, float)) else None

    def check(self, sha256):
        """Ends where the files are not those with which the run settled its contract."""
        if self.sha256 != sha256:
            fail(
                f"{self.source} is another model than the one that this job was checked with: its files "
                f"have the SHA-256 {self.sha256}, and those had {sha256}; run again with --force contract"
            )

    def __call__(self, rows, position):
        if self.names is not None and pandas is not None:
            # The columns come in the order of the names, under the names of the job.
            rows = rows.set_axis(self.names, axis=1)
        elif self.width is not None and pandas is not None:
            rows = rows.to_numpy()
        found = self.model.predict_proba(rows)
        width = 1 if len(found) == 0 or not hasattr(found[0], "__len__") else len(found[0])
        position, classes = position or (None, 1)
        if width == 1 and classes is None and len(found) > 0:
            fail("predict_proba gives one column, which is the score of the positive class: remove `class`")
        if width == 1 and getattr(found, "ndim", 1) == 1:
            return [row[0] if hasattr(row, "__len__") else row for row in found]
        if width == 1:
            position = 0
        elif position is None or (position >= width if classes is None else classes != width):
            fail(
                f"predict_proba gives {width} columns, and the job does not say which is the score: name the "
                f"class of the score by `class`, a number from 0 to {width - 1}"
            )
        return [row[position] for row in found] if isinstance(found, list) else found[:, position]


def numbers(scores, n):
    """The scores as floats, one for each row: of 32 bits where the model gives these."""
    if isinstance(scores, pa.ChunkedArray):
        scores = scores.combine_chunks()
    if getattr(scores, "ndim", 1) != 1:
        fail(f"the scores of {n} rows have the shape {scores.shape}: give one number for each row")
    if not isinstance(scores, pa.Array):
        kind = pa.float32() if is_single(scores) else pa.float64()
        scores = pa.array([number(score) for score in scores], kind)
    if len(scores) != n:
        fail(f"{len(scores)} scores came back for {n} rows: give one number for each row")
    return scores if scores.type == pa.float32() else scores.cast(pa.float64())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--call")
    parser.add_argument("--pickle")
    parser.add_argument("--mlflow")
    asked = parser.parse_args()
    if asked.call:
        function = function_of(asked.call)
        score = lambda rows, position: function(rows)
    elif asked.mlflow:
        model, sha256 = registered(asked.mlflow)
        score = Estimator(model, asked.mlflow, sha256)
    else:
        score = Estimator(loaded(asked.pickle), asked.pickle)
    # This program, which libraries also list under other names, is no part of the model.
    known = {__file__: None}
    loaded_files(known)
    # At the end of the input there is nothing to look at.
    while sys.stdin.buffer.peek(1):
        with pa.ipc.open_stream(sys.stdin.buffer) as rows:
            about = rows.schema.metadata or {}
            told = {DESCRIPTION: json.dumps(score.description())} if DESCRIBE in about else {}
            # `1`, or `1 of 2` if it was found among two classes.
            position, _, classes = about.get(POSITION, b"").decode().partition(" of ")
            position = (int(position), int(classes) if classes else None) if position else None
            if MODEL_HASH in about:
                score.check(about[MODEL_HASH].decode())
            out = written = None
            for batch in rows:
                table = pa.Table.from_batches([batch]).replace_schema_metadata()
                given = score(typed(table, about) if pandas is None else frame_of(table, about), position)
                try:
                    found = numbers(in_order(given, batch.num_rows), batch.num_rows)
                except ValueError as cause:
                    fail(cause)
                if written is None:
                    written = pa.schema([("score", found.type)], metadata={LOADED: loaded_files(known)})
                    out = pa.ipc.new_stream(OUTPUT, written)
                if found.type != written.field("score").type:
                    fail("some scores have 32 bits and some 64: give all in one precision")
                out.write_batch(pa.record_batch([found], schema=written))
            if out is None:
                told[LOADED] = loaded_files(known)
                out = pa.ipc.new_stream(OUTPUT, pa.schema([("score", pa.float64())], metadata=told))
            out.close()
        OUTPUT.flush()


if __name__ == "__main__":
    main()
