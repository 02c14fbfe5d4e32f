"""Runs a job: on the rows of a frame, and with models that are functions of this process.

What exists only in Python is written next to the output folder, into `<out>.inputs`, readable
only by this account: `rows.parquet`, `job.yaml` where the job is a mapping, and for each scorer
the files of its scores. The manifest names these files with their hashes, so that its command
gives the same folder again; so does a job that is a mapping, which names them itself unless
there are `settings`. They hold rows of people; remove them when that is not needed.
"""

from __future__ import annotations

import os

from cfaudit._answers import frame_of, in_order, is_single, number, typed
from cfaudit._audit import Audit
from cfaudit._models import AskedModel, asked_model, library_of
from cfaudit._program import DataError, WaitingError, call, errors_of, set_flags
from cfaudit._yaml import placed, yaml_of

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Union

    import pyarrow

    from cfaudit._program import PathLike

    Scorer = Callable[[Any], Any]
    Job = Union[PathLike, Mapping[str, Any]]

#: Rows that a scorer gets at once.
BATCH = 65_536

#: One in so many rows is scored a second time, and at least so many rows.
AGAIN_ONE_IN, AGAIN_AT_LEAST = 100, 100

#: Scores that differ by more than this share of the larger one, or of 1, are not the same.
TOLERANCE = 1e-6


#: Name of the folder that holds the output of a run as long as it waits for scores.
WAITING = ".waiting"


def _remove_folder(path: str) -> None:
    import shutil

    shutil.rmtree(path, ignore_errors=True)


class _Files:
    """Files of people that only this account can read, written so that they can be undone."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}
        self._folders: list[str] = []

    def folder(self, path: str) -> str:
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o700)
            self._folders.append(path)
        for name in os.listdir(path):
            # Of a call that was killed, or of one that goes on under another number.
            kind, _, process = name.rpartition("-")
            left = kind.endswith((".new", ".kept", WAITING)) and process.isdigit()
            if left and not self._goes_on(int(process)):
                if kind == WAITING:
                    _remove_folder(os.path.join(path, name))
                else:
                    os.remove(os.path.join(path, name))
        return path

    @staticmethod
    def _goes_on(process: int) -> bool:
        """Whether a process is still there."""
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except OSError:
            # It belongs to another account.
            pass
        return True

    def write(self, path: str, data: bytes) -> None:
        """Writes a file; the same bytes leave it untouched."""
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read() == data:
                    return
        self.remove(path)
        new = f"{path}.new-{os.getpid()}"
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
            os.replace(new, path)
        except BaseException:
            if os.path.isfile(new):
                os.remove(new)
            raise

    def remove(self, path: str) -> None:
        """Removes a file, if there is one; the first version is kept until `settle`."""
        if path in self._kept:
            if os.path.isfile(path):
                os.remove(path)
            return
        kept = f"{path}.kept-{os.getpid()}" if os.path.isfile(path) else ""
        if kept:
            os.replace(path, kept)
        self._kept[path] = kept

    def settle(self, *, undo: bool) -> None:
        """Removes the first versions, or brings them back."""
        for path, kept in self._kept.items():
            if undo and kept:
                os.replace(kept, path)
            elif undo and os.path.isfile(path):
                os.remove(path)
            elif kept:
                os.remove(kept)
        for path in reversed(self._folders if undo else []):
            if os.path.isdir(path) and not os.listdir(path):
                os.rmdir(path)
        self._kept, self._folders = {}, []


def table_of(rows: Any) -> pyarrow.Table:
    """Rows as an Arrow table without what only pandas reads."""
    import pyarrow

    if library_of(rows) == "pandas":
        table = pyarrow.Table.from_pandas(rows, preserve_index=False)
    elif isinstance(rows, pyarrow.Table):
        table = rows
    elif library_of(rows) == "polars" and hasattr(rows, "collect"):
        table = rows.collect().to_arrow()
    elif hasattr(rows, "to_arrow"):
        table = rows.to_arrow()
    elif hasattr(rows, "__arrow_c_stream__"):
        table = pyarrow.table(rows)
    else:
        raise TypeError(
            f"rows must be a frame of pandas or polars, or an Arrow table, not {type(rows)!r}"
        )
    return table.replace_schema_metadata(None)


def _parquet(table: pyarrow.Table) -> bytes:
    import io

    import pyarrow.parquet

    file = io.BytesIO()
    # Plain types: a large text is a text for every reader. Categories stay categories.
    coded = any(pyarrow.types.is_dictionary(kind) for kind in table.schema.types)
    if coded:
        plain = {pyarrow.large_string(): pyarrow.string()}
        fields = [field.with_type(plain.get(field.type, field.type)) for field in table.schema]
        table = table.cast(pyarrow.schema(fields))
    pyarrow.parquet.write_table(table, file, compression="zstd", store_schema=coded)
    return file.getvalue()


def frames_for(rows: Any) -> str:
    """The library whose frames a scorer gets: that of the rows, else pandas where it imports."""
    for library in ("numpy", "polars", "pyarrow"):
        if rows is not None and library_of(rows) == library:
            return library
    try:
        import pandas  # noqa: F401
    except ImportError:
        return "pyarrow"
    return "pandas"


def text_of(level: Any) -> str:
    """A class of a model in the spelling of a job."""
    if hasattr(level, "item"):
        level = level.item()
    if isinstance(level, bool):
        return str(level).lower()
    if isinstance(level, float) and level.is_integer():
        return str(int(level))
    return str(level)


def _same_class(a: str, b: str) -> bool:
    """Whether two texts of classes are one class: a boolean is also 1 or 0."""
    flags = {"true": "1", "false": "0"}
    return flags.get(a.lower(), a) == flags.get(b.lower(), b)


def places_of(classes: Iterable[Any], positive: Iterable[str]) -> list[int]:
    """Which of the classes of a model are among the positive values of a job."""
    wanted = list(positive)
    texts = [text_of(level) for level in classes]
    return [i for i, text in enumerate(texts) if any(_same_class(text, p) for p in wanted)]


def _numbers(model: AskedModel, found: Any, n: int, positive: list[str]) -> pyarrow.Array:
    """The scores of the positive class, one for each row, in the precision of the scorer."""
    import pyarrow

    found = in_order(found, n)
    if getattr(found, "ndim", 1) == 2:
        if model.classes is None:
            raise ValueError(
                f"the answer has {found.shape[1]} columns, and there are no classes: give one "
                "number for each row"
            )
        places = places_of(model.classes, positive)
        if len(places) != 1:
            raise ValueError(
                f"the classes are {[text_of(level) for level in model.classes]}, and the job's "
                f"positive values are {positive}: give one number for each row"
            )
        found = found[:, places[0]]
    precision = pyarrow.float32() if is_single(found) else pyarrow.float64()
    if hasattr(found, "to_pylist"):
        found = found.to_pylist()
    scores = [number(score) for score in found]
    if len(scores) != n:
        raise ValueError(f"it gave {len(scores)} numbers for {n} rows")
    return pyarrow.array(scores, precision, from_pandas=True)


def _ask(
    name: str, model: AskedModel, table: pyarrow.Table, kind: str, positive: list[str]
) -> pyarrow.Array:
    """The scores of rows; a model that names its columns gets these, in its own order."""
    if model.columns is not None:
        absent = [column for column in model.columns if column not in table.column_names]
        if absent:
            raise DataError(
                3,
                f"error[model-columns]: scorer {name!r} wants columns that the job does not have: "
                f"{', '.join(absent)}",
            )
        table = table.select(model.columns)
    frame: Any = typed(table, table.schema.metadata)
    for column in table.column_names:
        if frame[column].null_count > table[column].null_count:
            raise DataError(
                3,
                f"error[model-columns]: scorer {name!r}: column {column!r} holds values that are no "
                "category of the rows: add them to its categories, or give the column as texts",
            )
    kind = model.frames or kind
    if kind == "pandas":
        frame = frame_of(frame, table.schema.metadata)
    elif kind == "numpy":
        import numpy

        frame = numpy.column_stack([column.to_numpy() for column in frame.columns])
    elif kind == "polars":
        import polars

        frame = polars.from_arrow(frame)
    found = model(frame)
    try:
        return _numbers(model, found, table.num_rows, positive)
    except ValueError as cause:
        raise DataError(3, f"error[bad-scores]: scorer {name!r}: {cause}") from cause


def _score(
    files: _Files, audit: Audit, awaited: Mapping[str, Any], scorer: AskedModel, kind: str
) -> None:
    """Writes a file of scores that a run waits for."""
    import pyarrow
    import pyarrow.parquet

    name = awaited["model"]
    label = audit.manifest.get("label") or {}
    positive = [str(value) for value in label.get("positive", [])]
    below = os.path.join(audit.folder, awaited["to_score"])
    parts = sorted(part for part in os.listdir(below) if part.endswith(".parquet"))
    keys = [*awaited["columns"][:-1], "from_group", "request"]
    readers = [pyarrow.parquet.ParquetFile(os.path.join(below, part)) for part in parts]
    n_rows = sum(reader.metadata.num_rows for reader in readers)
    step = max(1, n_rows // max(n_rows // AGAIN_ONE_IN, AGAIN_AT_LEAST))
    answers, scores, drawn, first, n_asked = [], [], [], [], 0
    for reader in readers:
        for batch in reader.iter_batches(BATCH):
            rows = pyarrow.Table.from_batches([batch])
            features = rows.select([c for c in rows.column_names if c not in keys])
            scores.append(_ask(name, scorer, features, kind, positive))
            answers.append(rows.select([key for key in keys if key != "from_group"]))
            places = pyarrow.array(range(-n_asked % step, len(scores[-1]), step), pyarrow.int64())
            drawn.append(features.take(places))
            first += scores[-1].take(places).to_pylist()
            n_asked += len(scores[-1])
    # In another order, so that each row stands elsewhere in the frame.
    again = pyarrow.concat_tables(drawn).take(pyarrow.array(range(len(first))[::-1], pyarrow.int64()))
    second = []
    for at in range(0, len(first), BATCH):
        second += _ask(name, scorer, again.slice(at, BATCH), kind, positive).to_pylist()
    differ = [pair for pair in zip(first[::-1], second) if not _is_same(*pair)]
    if differ:
        raise DataError(
            3,
            f"error[not-repeatable]: scorer {name!r} was asked again about {len(first)} rows in "
            f"another order, and {len(differ)} have another score (one {differ[0][0]!r}, then {differ[0][1]!r}): its "
            "numbers are not in the order of the rows of the frame, depend on other rows of it, or "
            "vary from call to call",
        )
    single = all(part.type == pyarrow.float32() for part in scores)
    precision = pyarrow.float32() if single else pyarrow.float64()
    column = pyarrow.chunked_array([part.cast(precision) for part in scores], precision)
    answer = pyarrow.concat_tables(answers).append_column(awaited["columns"][-1], column)
    files.write(awaited["path"], _parquet(answer))


def _is_same(first: float | None, second: float | None) -> bool:
    """Whether two scores of a row agree; missing ones do."""
    if first is None or second is None:
        return first is second
    return abs(first - second) <= TOLERANCE * max(1.0, abs(first), abs(second))


def _answer(
    files: _Files,
    command: list[PathLike],
    waiting: str,
    scorers: Mapping[str, AskedModel],
    kind: str,
) -> None:
    """Writes all scores that a run waits for, which publishes into the folder `waiting` meanwhile."""
    # A set that follows the decisions of a model is asked for after these.
    for _ in range(20):
        elsewhere = os.path.join(files.folder(waiting), "out")
        status, text, _ = call([*command, "--out", elsewhere], results=(0, 1, 4))
        if status != 4:
            return
        audit = Audit(_folder(text))
        for awaited in audit.manifest["awaited"]:
            if awaited["model"] not in scorers:
                raise WaitingError(4, f"the run waits for scores: {awaited['path']}")
            _score(files, audit, awaited, scorers[awaited["model"]], kind)
    raise WaitingError(4, "the run asks for scores again and again")


def run(
    job: Job,
    rows: Any = None,
    scorers: Mapping[str, Scorer] | None = None,
    *,
    out: PathLike | None = None,
    settings: Mapping[str, Any] | None = None,
    baseline: PathLike | None = None,
    history: Iterable[PathLike] = (),
    arguments: Iterable[PathLike] = (),
) -> Audit:
    """Runs a job and opens its output folder.

    job        path of a job file, or the job as a mapping
    rows       frame of pandas or polars, or Arrow table, instead of `data.rows`
    scorers    models or functions that give the scores of models of the job: a function gets a frame of
               features and gives the probability of the positive class, one number for each row, or
               what `predict_proba` gives; in the job such a model has its threshold and no kind
    out        output folder; `outputs/<name of the job>` where left out
    settings   values by their full path, as `--set` of the command line
    baseline   an earlier audit, for gates `against: baseline`
    history    earlier audits, oldest first
    arguments  further arguments of `cfaudit run`, such as `["--threads", "2"]`

    A failed gate is a result: see `verdict` and `exit` of the audit. A run that ends without results
    raises a `CfauditError` with the text of the program.
    """
    asked = {name: _scorer(name, scorer) for name, scorer in (scorers or {}).items()}
    files = _Files()
    if isinstance(job, (str, os.PathLike)):
        file = os.fspath(job)
        name = _name_of(file)
    else:
        name = str(job["name"])
    target = os.path.join("outputs", name) if out is None else os.fspath(out)
    inputs = target.rstrip("/") + ".inputs"
    waiting = os.path.join(inputs, f"{WAITING}-{os.getpid()}")
    published = False
    try:
        # What exists only in Python, by the places of the job that name it.
        given: dict[tuple[str, ...], Any] = {}
        if rows is not None:
            path = os.path.join(files.folder(inputs), "rows.parquet")
            files.write(path, _parquet(table_of(rows)))
            given["data", "rows"] = {"parquet": path}
        for model in asked:
            below = files.folder(os.path.join(files.folder(inputs), model))
            # Yesterday's scores never answer for today's function.
            for old in os.listdir(below):
                files.remove(os.path.join(below, old))
            given["models", model, "scores"] = {
                "factual": {"parquet": os.path.join(below, "factual.parquet"), "column": "score"},
                "counterfactual": {
                    "parquet": os.path.join(below, "set-{counterfactual}.parquet"),
                    "column": "score",
                },
            }
        sets = dict(settings or {})
        if isinstance(job, (str, os.PathLike)) or sets:
            sets.update({_path(*names): value for names, value in given.items()})
        else:
            for names, value in given.items():
                job = placed(job, names, value)
        if not isinstance(job, (str, os.PathLike)):
            file = os.path.join(files.folder(inputs), "job.yaml")
            files.write(file, yaml_of(job).encode())
        command: list[PathLike] = ["run", file, "--log", "json"]
        if baseline is not None:
            command += ["--baseline", baseline]
        earlier = list(history)
        if earlier:
            command += ["--history", *earlier]
        command += [*set_flags(sets), *arguments]
        # A run asks elsewhere than in `out`, which keeps the audit before until there is another.
        if asked:
            _answer(files, command, waiting, asked, frames_for(rows))
        if out is not None:
            command += ["--out", target]
        status, text, said = call(command, results=(0, 1, 4))
        published = True
        if status == 4:
            raise WaitingError(4, errors_of(said) or "the run waits for scores")
        return Audit(_folder(text))
    finally:
        _remove_folder(waiting)
        # Where nothing was published, the folder is that of the audit before, with its inputs.
        files.settle(undo=not published)


def _path(*names: str) -> str:
    """The path of a value for `--set`; the names of models may hold dots."""
    return ".".join(f'"{name}"' if "." in name else name for name in names)


def _scorer(name: str, scorer: Any) -> AskedModel:
    found = asked_model(scorer)
    if found is None:
        raise TypeError(f"scorer {name!r} is a {type(scorer).__name__}: give a function or a model")
    return found


def _folder(printed: str) -> str:
    """The output folder that a run names in what it prints."""
    import json

    return str(json.loads(printed.splitlines()[-1])["out"])


def _name_of(file: str) -> str:
    """The name of a job, which names its output folder; that of the file where it has none."""
    import re

    stem = os.path.splitext(os.path.basename(file))[0]
    if not os.path.isfile(file):
        return stem
    with open(file, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = re.match(r"""name\s*:\s*(["']?)([\w.-]+)\1\s*(#.*)?$""", line)
            if found:
                return found[2]
    return stem


def new(
    rows: Any,
    *,
    label: str,
    sensitive: str | Iterable[str],
    file: PathLike,
    positive: str | None = None,
    favourable: str | None = None,
    reference: str | None = None,
    score: str | None = None,
) -> str:
    """Writes a first, commented job from the columns of a frame; gives the guesses to look at.

    Its `data.rows` names `<file without ending>.parquet`, where the rows are written to.
    """
    path = os.path.splitext(os.fspath(file))[0] + ".parquet"
    files = _Files()
    files.write(path, _parquet(table_of(rows)))
    files.settle(undo=False)
    command: list[PathLike] = ["new", path, "--label", label, "--out", file]
    for column in [sensitive] if isinstance(sensitive, str) else sensitive:
        command += ["--sensitive", column]
    options = {
        "--positive": positive,
        "--favourable": favourable,
        "--reference": reference,
        "--score": score,
    }
    for option, value in options.items():
        if value is not None:
            command += [option, value]
    return call(command)[2]
