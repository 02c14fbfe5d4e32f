"""Times the generation of counterfactuals compared with two scripts and with only reading and writing the files, in one run.

Adult (48,842 rows) and Adult repeated go from Parquet to Parquet through greedy and plausible, each program in a process of its own:

    cfaudit     `run --until generate`, cold: preparing the rows, learning, making counterfactuals
    numpy       `vectorised.py`: a script by columns, written from the rules of the strategies; holds all rows in memory
    pandas      `rowwise.py`: a script row by row, 200 seeded rows of Adult, from which the time for all rows is extrapolated
    floor       the Parquet crate reads the columns of the rows, and reads and writes the two large files that cfaudit leaves: its prepared rows
                and its counterfactuals (`floor.rs`)

The counterfactuals of both scripts are compared with those of cfaudit cell by cell; the run fails where they differ. Also the figures in
memory: what making the counterfactuals costs with rows and learnt state at hand, no file read or written (`memory.rs`, and the same section of
`vectorised.py`).

    python3 bench/generation.py --data-dir data [--rows 10000000] [--threads 2] [--repeats 3] [--cfaudit target/debug/cfaudit]
                                [--folder target/bench] [--memory "cargo bench --profile dev --bench memory --"]

Runs alternate, the tables show the median and the range.
"""

import argparse
import json
import shlex
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import timing
from timing import HERE, asked, measured, span
from works import cold, copy_floor, stage

STRATEGIES = ["greedy", "plausible"]
ROWS_BY_ROW = 200
ROWS_AT_ONCE = 250_000


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


def same(cache: Path, script: Path) -> str:
    """Fails unless the script made what cfaudit made."""
    found = asked([sys.executable, str(HERE / "same.py"), str(stage(cache, "prepare")), str(stage(cache, "generate")), str(script)])
    if found["differing"]:
        sys.exit(f"{script} and cfaudit differ: cells by column {found['differing']}")
    return f"{found['cells']:,} cells of {found['rows']:,} rows"


def compare(args: argparse.Namespace, strategy: str, source: Path, rows: int, by_row: bool) -> None:
    """One strategy on one file: runs, checks, prints the tables."""
    folder = args.folder / "generation"
    cache, out, copied = folder / "cache", folder / "numpy.parquet", folder / "copy.parquet"
    few = folder / "pandas.parquet"
    # The threads of a BLAS wait for each other by spinning, which would be counted as CPU time of numpy where cores are busy.
    threads = {"OMP_NUM_THREADS": str(args.threads), "OPENBLAS_NUM_THREADS": "1"}
    log = folder / "log.json"
    runs = {
        "cfaudit": lambda: cold(args, f"generation-{strategy}.yaml", folder / "out", cache, "--set", f"rows={source}", "--until", "generate", "--log",
                        "json"),
        "floor": lambda: copy_floor(args.floor_program, source, cache, copied),
        "numpy": lambda: [sys.executable, str(HERE / "vectorised.py"), strategy, str(source), str(out)],
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

    print(f"\n{strategy}")
    timing.table("program | rows | threads | counterfactuals per CPU s | CPU s | wall s | peak MB | over the floor")
    cpu = {name: timing.median(runs_of, "cpu") for name, runs_of in found.items()}
    for name, runs_of in found.items():
        if name == "pandas":
            inside = json.loads(runs_of[0]["out"])
            per_row = inside["rows"] / inside["n"]
            timing.line(f"pandas, extrapolated from {inside['n']} rows", rows, args.threads, f"{1 / per_row:,.0f}",
                        f"{inside['learnt'] + per_row * rows:,.0f}", "", f"{runs_of[0]['memory']:,.0f}", "")
            continue
        timing.line(name, rows, args.threads, f"{rows / cpu[name]:,.0f}", *timing.cells(runs_of), f"{cpu[name] / cpu['floor']:.2f}")
    rates = {"numpy": [run["n"] / run["made"] for run in (json.loads(run["out"]) for run in found["numpy"])]}
    if memory:
        rates = {"cfaudit": [run["made"] / run["cpu"] for run in memory], **rates}
    print("in memory, counterfactuals per CPU s: " + "; ".join(f"{name} {span(values, 0)}" for name, values in rates.items()))
    print(f"cfaudit over numpy: {cpu['numpy'] / cpu['cfaudit']:.2f} times as fast from file to file"
          + (f", {statistics.median(rates['cfaudit']) / statistics.median(rates['numpy']):.2f} times in memory" if memory else ""))
    ends = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "stage.end"]
    print("stages of the last run of cfaudit, ms: " + ", ".join(f"{line['stage']} {line['ms']}" for line in ends))
    print("equal cell by cell: " + "; ".join(checked), flush=True)


def main() -> None:
    parser = timing.parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of Adult repeated; 0 for Adult alone")
    parser.add_argument("--memory", default="", help="the command that takes the figure in memory; none where left out")
    parser.add_argument("--only-write", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    source = args.data_dir / "adult" / "adult.parquet"
    if not source.exists():
        sys.exit(f"{source} is absent: --data-dir names the folder that has adult/adult.parquet")
    many = args.folder / "generation" / f"adult-{args.rows}.parquet"
    if args.only_write:
        return write_rows(source, many, args.rows)
    (args.folder / "generation").mkdir(parents=True, exist_ok=True)
    args.floor_program = timing.executable(args.floor)
    timing.heading(args)
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
