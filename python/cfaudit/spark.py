"""Runs a job in shards on Spark.

Without `rows` Spark only schedules the workers, and the program reads the Parquet files of the job
itself: that is the fast way. With `rows`, a frame of a table that only Spark may read, Spark passes
each part to a worker as an Arrow stream; the job says `data.rows: {stream: NAME}` and names its
`data.row_id`, and the state of each worker comes back through Spark, so executors need no shared
folder to write to.

The wheel of cfaudit, pyarrow and pandas are needed on driver and executors (`mapInArrow` asks for
pandas), and the other files of the job at the same paths. `import cfaudit.spark` does not load Spark.
"""

from __future__ import annotations

import os

from cfaudit._audit import Audit
from cfaudit._program import CfauditError, call, error_of, program, set_flags
from cfaudit._shards import PASSES, everywhere, finish, merge, worker

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    import pyarrow

    from cfaudit._program import PathLike

    Task = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]

#: What a task tells the driver.
ENDED = "part int, status int, state binary, said string"


def audit(
    spark: Any,
    job: PathLike,
    plan: PathLike,
    shards: int,
    out: PathLike,
    *,
    rows: Any = None,
    row_id: str | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> Audit:
    """Runs a job file in shards and opens its output folder.

    plan       folder of the plan; without `rows` all executors read and write it, and it may be an
               address such as `s3://BUCKET/KEY`; with `rows` only the driver does
    shards     how many tasks each pass has
    rows       frame of the rows, in place of files; read one version of the table in all passes
    row_id     column of unique ids of `rows`, `data.row_id` of the job
    settings   values by their full path, as `--set` of the command line
    threads    threads of a worker
    """
    flags = set_flags(settings)
    if rows is not None:
        if row_id is None:
            raise TypeError("rows need `row_id`, the column of their unique ids")
        if "://" in os.fspath(plan):
            raise TypeError("with `rows` the plan is a folder of the driver, not an address")
        _streamed(job, plan, shards, rows, row_id, flags, threads)
        return finish(job, plan, out, flags)
    call(["plan", job, "--shards", str(shards), "--to", plan, *flags], results=(0,))
    for name in PASSES:
        numbers = spark.range(shards).repartition(shards)
        task = _scheduled(everywhere(plan), name, threads)
        _ended(numbers.mapInArrow(task, ENDED).collect())
        merge(plan, name)
    return finish(job, plan, out, flags)


def _told(part: int, status: int, state: bytes, said: str) -> pyarrow.RecordBatch:
    import pyarrow

    columns = [
        pyarrow.array([part], pyarrow.int32()),
        pyarrow.array([status], pyarrow.int32()),
        pyarrow.array([state], pyarrow.binary()),
        pyarrow.array([said], pyarrow.string()),
    ]
    return pyarrow.RecordBatch.from_arrays(columns, ["part", "status", "state", "said"])


def _ended(told: Iterable[Any]) -> dict[int, bytes]:
    """The states by part; raises the error of a worker that another attempt would end like."""
    states = {}
    for part, status, state, said in told:
        if status != 0:
            raise error_of(status, f"the worker of part {part} failed: {said}")
        states[part] = bytes(state)
    return states


def _scheduled(plan: str, name: str, threads: int) -> Task:
    """A task that starts the workers of the shards whose numbers it gets."""

    def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for shard in batch.column(0).to_pylist():
                try:
                    call(worker(plan, name, shard, threads), results=(0,))
                except CfauditError as error:
                    # Spark starts a task that fails again: with these another one ends as well.
                    if error.status not in (2, 3):
                        raise
                    yield _told(shard, error.status, b"", str(error))
                else:
                    yield _told(shard, 0, b"", "")

    return run


def _feed(
    plan: PathLike,
    arguments: tuple[str, int, int],
    schema: pyarrow.Schema,
    batches: Iterable[pyarrow.RecordBatch],
) -> tuple[int, bytes, str]:
    """Passes rows to the worker of a part: its status, its state, and what it said."""
    import subprocess
    import tempfile

    import pyarrow

    command = [program(), *worker(plan, *arguments), "--stream"]
    with tempfile.TemporaryFile() as state, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=state, stderr=said)
        assert process.stdin is not None
        try:
            with process.stdin, pyarrow.ipc.new_stream(process.stdin, schema) as stream:
                for batch in batches:
                    stream.write_batch(batch)
        except BrokenPipeError:
            # A worker that has nothing to do reads no row; of one that failed its status tells.
            pass
        except BaseException:
            # The rows could not be read to their end.
            process.kill()
            process.wait()
            raise
        status = process.wait()
        state.seek(0)
        said.seek(0)
        return status, state.read(), said.read().decode("utf-8", "replace").strip()


def _streaming(files: dict[str, bytes], schema: bytes, name: str, parts: int, threads: int) -> Task:
    """A task that passes the rows of its part to a worker."""

    def run(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import tempfile

        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        if part >= parts:
            return
        columns = pyarrow.ipc.read_schema(pyarrow.py_buffer(schema))
        with tempfile.TemporaryDirectory() as plan:
            for below, data in files.items():
                path = os.path.join(plan, below)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as file:
                    file.write(data)
            status, state, said = _feed(plan, (name, part, threads), columns, batches)
        if status not in (0, 2, 3):
            raise error_of(status, said)
        yield _told(part, status, state, said)

    return run


def _first_schema(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
    """The columns as Spark passes them on."""
    import pyarrow

    for batch in batches:
        schema = pyarrow.array([batch.schema.serialize().to_pybytes()], pyarrow.binary())
        yield pyarrow.RecordBatch.from_arrays([schema], ["schema"])
        return


def _schema(rows: Any) -> bytes:
    found = rows.limit(1).mapInArrow(_first_schema, "schema binary").collect()
    if found:
        return bytes(found[0][0])
    from pyspark.sql.pandas.types import to_arrow_schema

    return bytes(to_arrow_schema(rows.schema).serialize().to_pybytes())


def _plan_files(plan: PathLike) -> dict[str, bytes]:
    """What a worker reads of a plan."""
    found = {}
    states = [os.path.join(name, "merged.state") for name in PASSES]
    for below in ["plan.json", "job.resolved.yaml", "columns.parquet", *states]:
        path = os.path.join(plan, below)
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[below] = file.read()
    return found


def _streamed(
    job: PathLike,
    plan: PathLike,
    shards: int,
    rows: Any,
    row_id: str,
    flags: list[str],
    threads: int,
) -> None:
    import subprocess
    import tempfile

    import pyarrow
    from pyspark.sql.functions import spark_partition_id

    # Ids rise within a part and from one to the next, so that none occurs twice unseen; kept, so that
    # every pass gets the same parts.
    rows = rows.repartitionByRange(shards, row_id).sortWithinPartitions(row_id).persist()
    try:
        numbered = rows.groupBy(spark_partition_id().alias("part")).count().collect()
        counts = {part: count for part, count in numbered}
        parts = max(counts, default=0) + 1
        schema = _schema(rows)
        columns = pyarrow.ipc.read_schema(pyarrow.py_buffer(schema))
        with tempfile.TemporaryDirectory() as folder:
            listed, empty = os.path.join(folder, "parts.txt"), os.path.join(folder, "columns")
            with open(listed, "w", encoding="utf-8") as file:
                file.writelines(f"{counts.get(part, 0)}\n" for part in range(parts))
            with open(empty, "wb") as sink, pyarrow.ipc.new_stream(sink, columns):
                pass
            command = [program(), "plan", job, "--stream", listed, "--to", plan, *flags]
            with open(empty, "rb") as source:
                done = subprocess.run(
                    [os.fspath(word) for word in command],
                    stdin=source,
                    capture_output=True,
                    encoding="utf-8",
                    errors="replace",
                    check=False,
                )
            if done.returncode != 0:
                raise error_of(done.returncode, done.stderr.strip())
        for name in PASSES:
            task = _streaming(_plan_files(plan), schema, name, parts, threads)
            states = _ended(rows.mapInArrow(task, ENDED).collect())
            for part in range(parts):
                if part not in states:
                    # Spark starts no task for a part without rows.
                    ended = _feed(plan, (name, part, threads), columns, ())
                    states.update(_ended([(part, ended[0], ended[1], ended[2])]))
                path = os.path.join(plan, name, f"part-{part:05}.state")
                with open(path + ".new", "wb") as file:
                    file.write(states[part])
                os.replace(path + ".new", path)
            merge(plan, name)
    finally:
        rows.unpersist()
