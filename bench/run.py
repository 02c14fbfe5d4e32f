"""Times cfaudit compared with polars and duckdb on the same file, in one run, each in a process of its own.

The peers compute the confusion counts of each group and nothing else; cfaudit reads the same file and a second one, joins the
counterfactual scores by key, and computes every metric with its interval. So the ratio says what the whole audit costs on top of the one
query that any tool must make.

    python3 bench/run.py [--rows 10000000] [--threads 2] [--repeats 3] [--cfaudit target/debug/cfaudit] [--folder target/bench]

The floor is the Parquet crate reading the columns of both files, and nothing else. Runs alternate (cfaudit, polars, duckdb, cfaudit, ...), the table shows the median and the range.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import timing

ROWS_AT_ONCE = 1_000_000

POLARS = """
import sys, polars as pl
rows = pl.scan_parquet(sys.argv[1])
counts = (rows.select("sex", "repaid", (pl.col("score") >= 0.5).alias("predicted"))
          .group_by("sex", "repaid", "predicted").len().sort("sex", "repaid", "predicted").collect(engine="streaming"))
print(counts.rows())
"""

DUCKDB = """
import sys, duckdb
connection = duckdb.connect(config={"threads": int(sys.argv[2])})
connection.execute("set enable_progress_bar = false")   # it would go to stdout
query = '''select sex, repaid, score >= 0.5 as predicted, count(*) from read_parquet(?) group by all order by all'''
print(connection.execute(query, [sys.argv[1]]).fetchall())
"""


def write_files(folder: Path, rows: int) -> None:
    """Two Parquet files from a seeded generator: people with 15 columns, and the scores of their counterfactuals."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    mark = folder / f"rows-{rows}"
    if mark.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    words = {
        "region": ["east", "north", "south", "west"],
        "channel": ["branch", "broker", "web"],
        "purpose": ["car", "education", "home", "other", "renovation"],
    }
    people = moved = None
    for start in range(0, rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, rows - start)
        draw = np.random.default_rng([20261121, start])
        female = draw.random(n) < 0.45
        age = draw.integers(18, 80, n)
        income = np.round(draw.lognormal(10.3, 0.5, n), 2)
        years = np.minimum(draw.poisson(6, n), age - 18)
        utilisation = np.round(draw.beta(2, 4, n), 4)
        risk = -0.4 + 0.02 * (age - 45) + 0.6 * (np.log(income) - 10.3) + 0.05 * years - 1.5 * utilisation
        repaid = draw.random(n) < 1 / (1 + np.exp(-(risk + 0.8)))
        noise = draw.normal(0, 0.3, n)
        score = 1 / (1 + np.exp(-(risk + 0.6 - 0.3 * female + noise)))
        score_moved = 1 / (1 + np.exp(-(risk + 0.6 - 0.3 * ~female + noise)))
        ids = np.arange(start, start + n, dtype=np.int64)

        def coded(name):
            return pa.DictionaryArray.from_arrays(pa.array(draw.integers(0, len(words[name]), n, dtype=np.int32)), words[name]).cast(pa.string())

        table = pa.table({
            "id": ids,
            "sex": pa.DictionaryArray.from_arrays(pa.array(female.astype(np.int32)), ["male", "female"]).cast(pa.string()),
            "repaid": repaid.astype(np.int64),
            "age": age, "income": income, "employment_years": years, "utilisation": utilisation,
            "open_accounts": draw.poisson(4, n), "balance": np.round(draw.gamma(2, 900, n), 2), "inquiries": draw.poisson(1, n),
            "region": coded("region"), "channel": coded("channel"), "purpose": coded("purpose"),
            "version": np.full(n, 7, dtype=np.int64),
            "score": score,
        })
        other = pa.table({
            "row_id": ids,
            "to_group": pa.DictionaryArray.from_arrays(pa.array((~female).astype(np.int32)), ["male", "female"]).cast(pa.string()),
            "score": score_moved,
        })
        people = people or pq.ParquetWriter(folder / "people.parquet", table.schema, compression="zstd")
        moved = moved or pq.ParquetWriter(folder / "moved.parquet", other.schema, compression="zstd")
        people.write_table(table, row_group_size=250_000)
        moved.write_table(other, row_group_size=250_000)
    people.close()
    moved.close()
    mark.touch()


def main() -> None:
    parser = timing.parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--job", type=Path, default=timing.HERE / "scores.yaml")
    parser.add_argument("--only-write", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    data = args.folder / "data"
    if args.only_write:
        return write_files(data, args.rows)
    # In a process of its own: a child's peak of memory counts from the size of its parent, which therefore stays small.
    subprocess.run([sys.executable, __file__, "--only-write", "--rows", str(args.rows), "--folder", str(args.folder)], check=True)
    people, threads = str(data / "people.parquet"), str(args.threads)
    out, cache = args.folder / "out", args.folder / "cache"
    columns = ["id,sex,repaid,score,age,income,employment_years,utilisation,open_accounts,balance,inquiries,region,channel,purpose",
               "row_id,to_group,score"]
    runs = {
        "cfaudit": ([args.cfaudit, "run", str(args.job), "--set", f"folder={data}", "--out", str(out), "--cache", str(cache),
                     "--threads", threads, "--quiet"], {}),
        "floor": ([timing.executable(args.floor), "read", threads, f"{people}={columns[0]}", f"{data}/moved.parquet={columns[1]}"], {}),
        "polars": ([sys.executable, "-c", POLARS, people], {"POLARS_MAX_THREADS": threads}),
        "duckdb": ([sys.executable, "-c", DUCKDB, people, threads], {}),
    }
    found: dict[str, list[dict]] = {name: [] for name in runs}
    for _ in range(args.repeats):
        for name, (command, environment) in runs.items():
            # A cold run each time: nothing of the run before may be taken from the cache.
            shutil.rmtree(cache, ignore_errors=True)
            shutil.rmtree(out, ignore_errors=True)
            found[name].append(timing.measured(command, environment))
            if name == "cfaudit":
                phases = json.loads((out / "run.json").read_text())
    answers = {name: found[name][0]["out"].strip() for name in ("polars", "duckdb")}
    if len(set(answers.values())) > 1:
        sys.exit(f"the peers disagree: {answers}")
    timing.heading(args)
    timing.table("program | rows | threads | CPU s | wall s | peak MB | cfaudit over it, CPU | wall | memory")
    for name, others in found.items():
        ratios = [f"{timing.median(found['cfaudit'], part) / timing.median(others, part):.2f}" for part in ("cpu", "wall", "memory")]
        timing.line(name, args.rows, args.threads, *timing.cells(others), *ratios)
    print("stages of the last run, ms: " + ", ".join(f"{s['id']} {s['ms']}" for s in phases["stages"]))


if __name__ == "__main__":
    main()
