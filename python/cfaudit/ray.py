"""Runs a job in shards on Ray: one task for each shard; the program reads the rows itself.

The wheel of cfaudit is needed on every node, and the folder of the plan and the data at the same
paths. `import cfaudit.ray` does not load Ray.
"""

from __future__ import annotations

from cfaudit._audit import Audit
from cfaudit._program import DataError, JobError, call, error_of, set_flags
from cfaudit._shards import PASSES, everywhere, finish, merge, worker

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from cfaudit._program import PathLike


def _attempt(arguments: list[str]) -> tuple[int, str] | None:
    """Runs a worker: status and text of an error that another attempt would end with too."""
    try:
        call(arguments, results=(0,))
    except (JobError, DataError) as error:
        return error.status, str(error)
    return None


def audit(
    job: PathLike,
    plan: PathLike,
    shards: int,
    out: PathLike,
    *,
    settings: Mapping[str, Any] | None = None,
    threads: int = 1,
) -> Audit:
    """Runs a job file in shards and opens its output folder.

    plan       folder of the plan, which all nodes can read and write, or an address such as
               `s3://BUCKET/KEY`
    shards     how many tasks each pass has
    settings   values by their full path, as `--set` of the command line
    threads    threads of a worker, and CPUs that Ray gives it
    """
    import ray

    flags = set_flags(settings)
    call(["plan", job, "--shards", str(shards), "--to", plan, *flags], results=(0,))
    # A worker that is killed, or lost with its node, is started again.
    task = ray.remote(num_cpus=threads, max_retries=3, retry_exceptions=True)(_attempt)
    for name in PASSES:
        words = [worker(everywhere(plan), name, shard, threads) for shard in range(shards)]
        for error in ray.get([task.remote(arguments) for arguments in words]):
            if error is not None:
                raise error_of(*error)
        merge(plan, name)
    return finish(job, plan, out, flags)
