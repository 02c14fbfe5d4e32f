"""The works whose cost is followed, each with its floor: the same files read, or copied, by the Parquet crate and nothing else (`floor.rs`).

    metrics     rows and the scores of their counterfactuals, cold, to all metrics with their intervals; floor: both files are read
    greedy      Adult repeated, cold, from the source to the file of counterfactuals; floor: the source is read, the two large files that
                cfaudit leaves (prepared rows, counterfactuals) are read and written again
    plausible   the same, with the filter
"""

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from adult import COLUMNS
from timing import HERE, measured

# The columns that the job reads, the text second.
PEOPLE = ["id", "group", "label", "score"]
MOVED = ["row_id", "to_group", "score"]


class Work(NamedTuple):
    cfaudit: list[str]
    floor: Callable[[], list[str]]
    """The command, asked once cfaudit has run."""
    fresh: list[Path]
    """What a cold run has not."""

    def pair(self) -> tuple[dict, dict]:
        """One cold run of cfaudit and one of its floor."""
        for folder in self.fresh:
            shutil.rmtree(folder, ignore_errors=True)
        return measured(self.cfaudit), measured(self.floor())


def group_names(groups: int) -> list[str]:
    return [f"g{i:02}" for i in range(1, groups + 1)]


def read_floor(floor: str, data: Path, threads: int) -> list[str]:
    return [floor, "read", str(threads), f"{data}/people.parquet={','.join(PEOPLE)}", f"{data}/moved.parquet={','.join(MOVED)}"]


def copy_floor(floor: str, source: Path, cache: Path, out: Path) -> list[str]:
    left = [stage(cache, "prepare") / "rows.parquet", stage(cache, "generate") / "counterfactuals.parquet"]
    return [floor, "copy", str(out), f"{source}={','.join(COLUMNS)}", *map(str, left)]


def stage(cache: Path, kind: str) -> Path:
    """The folder of the one stage of a kind in a cache that was empty before the run."""
    (found,) = [path.parent for path in cache.glob("*/*/stage.json") if json.loads(path.read_text())["kind"] == kind]
    return found


def cold(args: argparse.Namespace, job: str, out: Path, cache: Path, *more: str) -> list[str]:
    """The command of a run of a job of this folder."""
    return [args.cfaudit, "run", str(HERE / job), "--out", str(out), "--cache", str(cache), "--threads", str(args.threads), *more]


def metrics(args: argparse.Namespace, floor: str, rows: int, groups: int) -> Work:
    folder = args.folder / "metrics"
    data, out, cache = folder / f"rows-{rows}-{groups}", folder / "out-metrics", folder / "cache"
    # In a process of its own: a child's peak of memory counts from the size of its parent, which therefore stays small.
    subprocess.run([sys.executable, HERE / "metrics.py", "--only-write", data, str(rows), str(groups)], check=True)
    return Work(cold(args, "metrics.yaml", out, cache, *metrics_sets(data, groups), "--quiet"),
                lambda: read_floor(floor, data, args.threads), [out, cache])


def metrics_sets(data: Path, groups: int) -> list[str]:
    return ["--set", f"folder={data}", "--set", f"data.sensitive.group.groups=[{','.join(group_names(groups))}]"]


def generation(args: argparse.Namespace, floor: str, strategy: str, rows: int) -> Work:
    folder = args.folder / "generation"
    source, cache = folder / f"adult-{rows}.parquet", folder / "cache"
    subprocess.run([sys.executable, HERE / "generation.py", "--only-write", "--rows", str(rows), "--data-dir", args.data_dir,
                    "--folder", args.folder], check=True)
    command = cold(args, f"generation-{strategy}.yaml", folder / "out", cache, "--set", f"rows={source.resolve()}", "--until", "generate", "--quiet")
    return Work(command, lambda: copy_floor(floor, source, cache, folder / "copy.parquet"), [cache])


def work(args: argparse.Namespace, floor: str, name: str, rows: int) -> Work:
    """A work by its name in `ratios.toml`."""
    kind, _, groups = name.partition("-")
    return metrics(args, floor, rows, int(groups)) if kind == "metrics" else generation(args, floor, kind, rows)
