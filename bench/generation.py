"""Times the making of counterfactuals beside two scripts and beside the mere reading and writing of files, in one run.

Adult (48,842 rows) and Adult repeated go from Parquet to Parquet through greedy and plausible, each program in a process of its own:

    cfaudit     `run --until generate`, cold: preparing the rows, learning, making counterfactuals
    numpy       `vectorised.py`: a script by columns, written from the specification of the strategies; holds all rows in memory
    pandas      `rowwise.py`: a script row by row, 200 seeded rows of Adult, from which the time for all rows is extrapolated
    copy        pyarrow reads the columns of the rows and writes them again: what any program from file to file has to do
    all files   pyarrow reads the rows, and reads and writes the two large files that cfaudit leaves: its prepared rows and its counterfactuals

The counterfactuals of both scripts are compared with those of cfaudit cell by cell; the run fails where they differ. Beside this the figures in
memory: what making the counterfactuals costs with rows and learnt state at hand, no file read or written (`memory.rs`, and the same section of
`vectorised.py`).

    python3 bench/generation.py --data-dir data [--rows 10000000] [--threads 2] [--repeats 3] [--cfaudit target/debug/cfaudit]
                                [--folder target/bench] [--memory "cargo bench --profile dev --bench memory --"]

Wall and CPU seconds and the peak of resident memory are those that the kernel counts for the finished process (`wait4`). Runs alternate, the
tables show the median and the range.
"""

import argparse
import json
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from run import measured

HERE = Path(__file__).parent
STRATEGIES = ["greedy", "plausible"]
ROWS_BY_ROW = 200
ROWS_AT_ONCE = 250_000

# Texts are read and written as positions, without which pyarrow would need several times as long.
COPY = """
import sys, pyarrow.parquet as pq
sys.path.insert(0, sys.argv[1])
from adult import COLUMNS, LABEL, NOMINAL, SENSITIVE

def copy(source, out, columns=None, texts=None):
    file = pq.ParquetFile(source, read_dictionary=texts)
    writer = None
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=columns)
        if out:
            writer = writer or pq.ParquetWriter(out, table.schema, compression="zstd")
            writer.write_table(table)
    if writer:
        writer.close()

source, out, files = sys.argv[2], sys.argv[3], sys.argv[4:]
copy(source, None if files else out, COLUMNS, [SENSITIVE, *NOMINAL, LABEL])
for file in files:
    copy(file, out)
"""


def write_rows(source: Path, out: Path, rows: int) -> None:
    """Adult again and again, up to a number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if out.exists():
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    adult = pq.read_table(source)
    # A slice from any row of Adult on is within so many copies.
    copies = pa.concat_tables([adult] * (ROWS_AT_ONCE // adult.num_rows + 2)).combine_chunks()
    unfinished = out.with_suffix(".part")
    with pq.ParquetWriter(unfinished, adult.schema, compression="zstd") as writer:
        for start in range(0, rows, ROWS_AT_ONCE):
            writer.write_table(copies.slice(start % adult.num_rows, min(ROWS_AT_ONCE, rows - start)), row_group_size=ROWS_AT_ONCE)
    unfinished.rename(out)


def stage(cache: Path, kind: str) -> Path:
    """The folder of the one stage of a kind in a cache that was empty before the run."""
    (found,) = [path.parent for path in cache.glob("*/*/stage.json") if json.loads(path.read_text())["kind"] == kind]
    return found


def asked(command: list[str]) -> dict:
    """What a program that is not timed from outside prints as JSON."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def same(cache: Path, script: Path) -> str:
    """Fails unless the script made what cfaudit made."""
    found = asked([sys.executable, str(HERE / "same.py"), str(stage(cache, "prepare")), str(stage(cache, "generate")), str(script)])
    if found["differing"]:
        sys.exit(f"{script} and cfaudit differ: cells by column {found['differing']}")
    return f"{found['cells']:,} cells of {found['rows']:,} rows"


def cell(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def compare(args: argparse.Namespace, strategy: str, source: Path, rows: int, by_row: bool) -> None:
    """One strategy on one file: runs, checks, prints the tables."""
    folder = args.folder / "generation"
    cache, out, copied = folder / "cache", folder / "numpy.parquet", folder / "copy.parquet"
    few = folder / "pandas.parquet"
    # The threads of a BLAS wait for each other by spinning, which would be counted as CPU time of numpy where cores are busy.
    threads = {"OMP_NUM_THREADS": str(args.threads), "OPENBLAS_NUM_THREADS": "1"}
    log = folder / "log.json"
    runs = {
        "cfaudit": lambda: [args.cfaudit, "run", str(HERE / f"generation-{strategy}.yaml"), "--set", f"rows={source}", "--until", "generate",
                            "--out", str(folder / "out"), "--cache", str(cache), "--threads", str(args.threads), "--log", "json"],
        "numpy": lambda: [sys.executable, str(HERE / "vectorised.py"), strategy, str(source), str(out)],
        "copy": lambda: [sys.executable, "-c", COPY, str(HERE), str(source), str(copied)],
        "all files": lambda: [sys.executable, "-c", COPY, str(HERE), str(source), str(copied), str(stage(cache, "prepare") / "rows.parquet"),
                              str(stage(cache, "generate") / "counterfactuals.parquet")],
    }
    found: dict[str, list[dict]] = {name: [] for name in runs}
    memory: list[dict] = []
    for _ in range(args.repeats):
        shutil.rmtree(cache, ignore_errors=True)
        for name, command in runs.items():
            found[name].append(measured(command(), threads, log=log if name == "cfaudit" else None))
        if args.memory:
            memory.append(asked([*shlex.split(args.memory), str(stage(cache, "prepare")), str(stage(cache, "fit")), str(rows)]))
    checked = [f"numpy {same(cache, out)}"]
    if by_row:
        found["pandas"] = [measured([sys.executable, str(HERE / "rowwise.py"), strategy, str(source), str(few), str(ROWS_BY_ROW)], threads)]
        checked.append(f"pandas {same(cache, few)}")

    print(f"\n{strategy}, {rows:,} rows\n| program | counterfactuals per CPU s | CPU s | wall s | peak MB |\n| --- | --- | --- | --- | --- |")
    cpu = {name: statistics.median(run["cpu"] for run in runs_of) for name, runs_of in found.items()}
    for name, runs_of in found.items():
        if name == "pandas":
            inside = json.loads(runs_of[0]["out"])
            per_row = inside["rows"] / inside["n"]
            print(f"| pandas, extrapolated from {inside['n']} rows | {1 / per_row:,.0f} | {inside['learnt'] + per_row * rows:,.0f} | | "
                  f"{runs_of[0]['memory']:,.0f} |")
            continue
        wall, memory_peak = ([run[key] for run in runs_of] for key in ("wall", "memory"))
        print(f"| {name} | {rows / cpu[name]:,.0f} | {cell([run['cpu'] for run in runs_of])} | {cell(wall)} | {cell(memory_peak, 0)} |")
    rates = {"numpy": [run["n"] / run["made"] for run in (json.loads(run["out"]) for run in found["numpy"])]}
    if memory:
        rates = {"cfaudit": [run["made"] / run["cpu"] for run in memory], **rates}
    print("in memory, counterfactuals per CPU s: " + "; ".join(f"{name} {cell(values, 0)}" for name, values in rates.items()))
    print(f"cfaudit over numpy: {cpu['numpy'] / cpu['cfaudit']:.2f} times as fast from file to file"
          + (f", {statistics.median(rates['cfaudit']) / statistics.median(rates['numpy']):.2f} times in memory" if memory else ""))
    ends = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "stage.end"]
    print("stages of the last run of cfaudit, ms: " + ", ".join(f"{line['stage']} {line['ms']}" for line in ends))
    print("equal cell by cell: " + "; ".join(checked), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=Path("data"), help="folder of public data sets; adult/adult.parquet is read")
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of Adult repeated; 0 for Adult alone")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cfaudit", default="target/debug/cfaudit")
    parser.add_argument("--memory", default="", help="the command that takes the figure in memory; none where left out")
    parser.add_argument("--folder", type=Path, default=Path("target/bench"))
    parser.add_argument("--only-write", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    source = args.data_dir / "adult" / "adult.parquet"
    if not source.exists():
        sys.exit(f"{source} is absent: --data-dir names the folder that has adult/adult.parquet")
    many = args.folder / "generation" / f"adult-{args.rows}.parquet"
    if args.only_write:
        return write_rows(source, many, args.rows)
    (args.folder / "generation").mkdir(parents=True, exist_ok=True)
    version = subprocess.run([args.cfaudit, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    print(f"{args.threads} threads, {args.repeats} runs each, {version}, {platform.machine()}, {os.cpu_count()} cores; median (least to most)")
    n_adult = asked([sys.executable, "-c", "import sys, pyarrow.parquet as pq; print(pq.read_metadata(sys.argv[1]).num_rows)", str(source)])
    for strategy in STRATEGIES:
        compare(args, strategy, source.resolve(), n_adult, by_row=True)
    if args.rows:
        # In a process of its own: a child's peak of memory counts from the size of its parent, which therefore stays small.
        subprocess.run([sys.executable, __file__, "--only-write", "--rows", str(args.rows), "--data-dir", str(args.data_dir),
                        "--folder", str(args.folder)], check=True)
        for strategy in STRATEGIES:
            compare(args, strategy, many.resolve(), args.rows, by_row=False)


if __name__ == "__main__":
    main()
