"""What all benchmarks share: a process timed from outside, medians with their range, the line that says on what it ran.

Wall and CPU seconds and the peak of resident memory are those that the kernel counts for the finished process (`wait4`): its start counts.
"""

import argparse
import contextlib
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def measured(command: list[str], environment: dict | None = None, log: Path | None = None) -> dict:
    """Runs a command to its end: wall and CPU seconds, peak resident memory in MB, what it printed. Its stderr goes to `log`, where given."""
    start = time.monotonic()
    with open(log, "w") if log else contextlib.nullcontext() as stderr:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, env={**os.environ, **(environment or {})})
        out = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"`{shlex.join(command)}` ended with status {child.returncode}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss / 1024, "out": out.decode()}


def asked(command: list[str]) -> dict:
    """What a program that is not timed prints as JSON. It may need much memory: a child's peak counts from the size of its parent."""
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout or "{}")


def median(runs: list[dict], part: str) -> float:
    return statistics.median(run[part] for run in runs)


def span(values: list[float], digits: int = 2) -> str:
    """The median, and from least to most where there are several."""
    middle = f"{statistics.median(values):,.{digits}f}"
    return middle if len(values) == 1 else f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def cells(runs: list[dict]) -> list[str]:
    """CPU seconds, wall seconds and peak MB of runs, as cells of a table."""
    return [span([run[part] for run in runs], digits) for part, digits in (("cpu", 2), ("wall", 2), ("memory", 0))]


def table(head: str) -> None:
    """The first two lines of a table."""
    print(f"| {head} |\n|{' --- |' * (head.count('|') + 1)}", flush=True)


def line(*parts: object) -> None:
    print("|", " | ".join(f"{part:,}" if isinstance(part, int) else str(part) for part in parts), "|", flush=True)


def executable(command: str) -> str:
    """The program that `cargo bench ... --bench NAME` would start, built first: cargo itself is not timed."""
    built = subprocess.run([*shlex.split(command), "--no-run", "--message-format", "json"], stdout=subprocess.PIPE, text=True, check=True)
    # Cargo names the program of the package too, in any order.
    made = [found for text in built.stdout.splitlines() if (found := json.loads(text)).get("executable")]
    return next(found["executable"] for found in made if "bench" in found["target"]["kind"])


def parser(about: str) -> argparse.ArgumentParser:
    """The flags of every benchmark."""
    flags = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--threads", type=int, default=os.cpu_count())
    flags.add_argument("--repeats", type=int, default=3)
    flags.add_argument("--cfaudit", default="target/debug/cfaudit")
    flags.add_argument("--folder", type=Path, default=Path("target/bench"))
    flags.add_argument("--floor", default="cargo bench --locked --quiet --profile dev --bench floor", help="the command that starts bench/floor.rs")
    flags.add_argument("--data-dir", type=Path, default=Path("data"), help="folder of public data sets; adult/adult.parquet is read")
    return flags


def heading(args: argparse.Namespace, more: str = "") -> None:
    """What ran where."""
    version = subprocess.run([args.cfaudit, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{args.threads} threads, {args.repeats} runs each{more}, {version}, {platform.machine()}, {os.cpu_count()} cores; median (least to most)")
