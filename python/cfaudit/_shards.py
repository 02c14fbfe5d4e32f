"""A job in shards, as its driver sees it: plan, merge and run. Who runs the workers is not said here."""

from __future__ import annotations

import os

from cfaudit._audit import Audit
from cfaudit._program import call

# Type checkers take it as true; to import `typing` would take half of the time of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from cfaudit._program import PathLike

#: The passes, in the order in which they follow each other.
PASSES = ("survey", "learn", "count", "shift")


def everywhere(plan: PathLike) -> str:
    """The plan as workers in other folders name it: an absolute path, or an address as it is."""
    name = os.fspath(plan)
    return name if "://" in name else os.path.abspath(name)


def worker(plan: PathLike, name: str, shard: int, threads: int) -> list[str]:
    """The arguments of a worker."""
    words = ["worker", os.fspath(plan), "--pass", name, "--shard", str(shard)]
    return [*words, "--threads", str(threads)]


def merge(plan: PathLike, name: str) -> None:
    """Adds up the states of a pass; raises WaitingError where a shard has none."""
    call(["merge", plan, "--pass", name], results=(0,))


def finish(job: PathLike, plan: PathLike, out: PathLike, flags: list[str]) -> Audit:
    """Makes the output folder of the merged states."""
    call(["run", job, "--from", plan, "--out", out, *flags])
    return Audit(out)
