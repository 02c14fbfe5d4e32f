"""What a job in shards costs: next to one run, to merge, to plan, and by streams; and what once was slow in one run of many rows.

    python3 bench/scale.py [--rows 20000000] [--shards 5] [--files 10000] [--counts 1000] [--learns 200]
        [--split-rows 4000000] [--slice-rows 2000000] [--only shards merges plans streams split slices]

One LightGBM file, naive counterfactuals, all metrics of switches and scores; a cold run next to its shards, CPU seconds of all processes
together, with a shared cache. States are merged as often as the flags say, each with the body of a real one. Needs pyarrow; 1.5 GB in the
folder for 20 million rows. `--only shards --rows 100000000` compares five shards of 20 million rows with one run; the split once grew with
the square of the rows: `--only split --split-rows 16000000`. Prints one table with the goals, deletes its files, and fails where a goal is
missed, unless `--rows` is below 20 million: the start of a process then counts.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import timing
from timing import measured

GOAL_ROWS = 20_000_000

# Three columns; the first is the attribute.
MODEL = (timing.HERE.parent / "tests/jobs/boosting.txt").read_text().replace("=a income", "=region income").replace("[1:3]", "[1:2]")

JOB = """cfaudit: 1
name: scale
data:
  rows: {rows}
  row_id: id
  label: {{column: repaid, positive: [1], favourable: positive}}
  sensitive:
    region: {{groups: [1, 2], reference: 1}}
  features:
    continuous: [income, age]
    nominal: [channel]
counterfactuals:
  flip: {{naive: {{}}}}
models:
  bought:
    lightgbm: {{file: model.txt, columns: [region, income, age]}}
    threshold: 0.5
metrics: {{families: [performance, group, ccm, eccm, shift]{more}}}
run: {{seed: 5, keep_rows: none}}
"""

# A split that ranks all rows, and slices by two columns.
SPLIT = JOB.replace("counterfactuals:", "  split: {{share: {{train: 0.5, audit: 0.5}}}}\ncounterfactuals:")
SLICES = JOB.replace("    nominal: [channel]", "    nominal: [channel, area]")


def batch(first: int, n: int, area: bool = False):
    """Rows with these numbers: ids that rise, two groups, two features, one of words; with `area` one more of words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def draw(seed: int, least: float, most: float):
        return pc.floor(pc.add(pc.multiply(pc.random(n, initializer=7 * first + seed), most - least), least))

    columns = {
        "id": pc.multiply(pa.array(range(first, first + n)), 3),
        "region": pc.cast(draw(1, 1, 3), pa.int64()),
        "income": pc.divide(draw(2, 50, 900), 10),
        "age": draw(3, 18, 76),
        "channel": pc.take(pa.array(["branch", "phone", "web"]), pc.cast(draw(4, 0, 3), pa.int32())),
        "repaid": pc.cast(draw(5, 0, 2), pa.int64()),
    }
    if area:
        columns["area"] = pc.take(pa.array(["north", "east", "south", "west"]), pc.cast(draw(6, 0, 4), pa.int32()))
    return pa.RecordBatch.from_pydict(columns)


def write(path: str, first: int, rows: int, area: bool = False) -> None:
    """Rows from this number on: a Parquet file in row groups of a million, or an Arrow stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema, parquet = batch(0, 1, area).schema, path.endswith(".parquet")
    step = 1_000_000 if parquet else 100_000
    with pq.ParquetWriter(path, schema, compression="zstd") if parquet else pa.ipc.new_stream(path, schema) as file:
        for at in range(0, rows, step):
            file.write_batch(batch(first + at, min(step, rows - at), area))


def made(*files: tuple) -> None:
    """Writes files in a process of their own: a child's peak of memory counts from the size of its parent."""
    wanted = json.dumps([[str(path), *rest] for path, *rest in files])
    subprocess.run([sys.executable, "-B", __file__, "--make", wanted], check=True)


class Bench:
    def __init__(self, args, name: str = "scale") -> None:
        self.folder = (args.folder / name).resolve()
        self.program = str(Path(args.cfaudit).resolve())
        self.threads = str(args.threads)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "model.txt").write_text(MODEL)

    def job(self, name: str, rows: str, more: str = "", text: str = JOB) -> None:
        (self.folder / f"{name}.yaml").write_text(text.format(rows=rows, more=more))

    def cfaudit(self, *words: object, redirect: str = "") -> dict:
        """One process of cfaudit in the folder, with files for its streams where `redirect` names them."""
        command = [self.program, "-C", str(self.folder), *map(str, words), "--quiet"]
        return measured(["sh", "-c", f'exec "$@" {redirect}', "sh", *command])

    def passes(self, plan: str, shards: int, passes=("survey", "learn", "count", "shift")) -> tuple[float, float]:
        """Does passes: CPU seconds of all workers and merges, and the peak of a worker in MB."""
        cpu, memory = 0.0, 0.0
        for name in passes:
            for shard in range(shards):
                ran = self.cfaudit("worker", plan, "--pass", name, "--shard", shard, "--threads", self.threads, "--cache", "cache")
                cpu, memory = cpu + ran["cpu"], max(memory, ran["memory"])
            cpu += self.cfaudit("merge", plan, "--pass", name)["cpu"]
        return cpu, memory

    def copies(self, source: str, name: str, job: str, n: int) -> tuple[dict, int]:
        """Merges a state of a pass n times, as the states of a plan with n shards; and its size."""
        _, _, body = (self.folder / source / name / "part-00000.state").read_bytes().split(b"\n", 2)
        head = json.loads((self.folder / source / name / "part-00000.state").read_bytes().split(b"\n", 2)[1])
        plan = f"{source}-{n}"
        self.cfaudit("plan", f"{job}.yaml", "--shards", n, "--to", plan, "--cache", "off")
        text = (self.folder / plan / "plan.json").read_bytes()
        shards = json.loads(text)["shards"]
        for shard, of in enumerate(shards):
            own = {**head, "plan": hashlib.sha256(text).hexdigest(), "shard": shard, "of": n, "first_row": of["first_row"], "rows": of["rows"]}
            path = self.folder / plan / name / f"part-{shard:05}.state"
            path.write_bytes(b"cfaudit-state 1\n" + json.dumps(own).encode() + b"\n" + body)
        return self.cfaudit("merge", plan, "--pass", name), head["bytes"]


class Results:
    """Lines of the table, and what missed its goal."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def row(self, what: str, value: float, unit: str, goal: float, more: str = "") -> None:
        met = value <= goal
        if not met:
            self.missed.append(what)
        timing.line(what, f"{value:,.2f} {unit}{more}", f"at most {goal:,.2f} {unit}", "yes" if met else "no")


def merge_goal(size: float) -> float:
    """Seconds for a thousand states of the pass `count`: 1 of 20 KB, 30 of 2 MB, and in between in proportion."""
    return 1 + 29 * min(max(size - 20e3, 0) / 1.98e6, 1)


def parts(bench: Bench, args) -> None:
    """One file for each shard, and their job."""
    if (bench.folder / "rows").exists():
        return
    (bench.folder / "rows").mkdir()
    each = args.rows // args.shards
    made(*[(bench.folder / f"rows/part-{shard:05}.parquet", shard * each, each) for shard in range(args.shards)])
    bench.job("files", "{parquet: rows}")


def one_plan(bench: Bench, args) -> tuple[float, float]:
    """All passes of the plan of `parts`: CPU seconds without the last command, and the peak of a worker in MB."""
    parts(bench, args)
    planned = bench.cfaudit("plan", "files.yaml", "--shards", args.shards, "--to", "plan", "--cache", "off")
    cpu, memory = bench.passes("plan", args.shards)
    return planned["cpu"] + cpu, memory


def shards(bench: Bench, args, results: Results) -> None:
    """All shards with a shared cache next to one run without one."""
    parts(bench, args)
    one = bench.cfaudit("run", "files.yaml", "--out", "one", "--cache", "off", "--threads", args.threads)
    cpu, memory = one_plan(bench, args)
    last = bench.cfaudit("run", "files.yaml", "--from", "plan", "--out", "merged", "--cache", "off", "--threads", args.threads)
    shutil.rmtree(bench.folder / "cache", ignore_errors=True)
    for table in sorted((bench.folder / "one/tables").iterdir()):
        if table.read_bytes() != (bench.folder / "merged/tables" / table.name).read_bytes():
            sys.exit(f"`{table.name}` of the shards is another one")
    cpu += last["cpu"]
    results.row("CPU of all shards, over that of one run", cpu / one["cpu"], "times", 1.15, f" ({cpu:,.1f} s over {one['cpu']:,.1f} s)")
    results.row("peak of a worker", memory, "MB", 200)


def merges(bench: Bench, args, results: Results) -> None:
    """Merging many states of the passes `count` and `learn`."""
    if not (bench.folder / "plan").exists():
        one_plan(bench, args)
    merged, size = bench.copies("plan", "count", "files", args.counts)
    goal = merge_goal(size) * args.counts / 1000
    results.row(f"merge of {args.counts:,} states of the pass `count`", merged["wall"], "s", goal, f", {size / 1000:,.0f} KB each")
    results.row("its peak", merged["memory"], "MB", 300)
    bench.job("learning", "{parquet: rows/part-00000.parquet}")
    bench.cfaudit("plan", "learning.yaml", "--shards", 1, "--to", "learning", "--cache", "off")
    bench.passes("learning", 1, ("survey", "learn"))
    merged, size = bench.copies("learning", "learn", "learning", args.learns)
    results.row(f"merge of {args.learns:,} states of the pass `learn`", merged["wall"], "s", 60, f", {size / 1000:,.0f} KB each")
    results.row("its peak", merged["memory"], "MB", 600)


def plans(bench: Bench, args, results: Results) -> None:
    """A plan over many small files."""
    (bench.folder / "small").mkdir()
    made((bench.folder / "small.parquet", 0, 100))
    for file in range(args.files):
        shutil.copyfile(bench.folder / "small.parquet", bench.folder / f"small/{file:05}.parquet")
    bench.job("small", "{parquet: small}")
    plan = bench.cfaudit("plan", "small.yaml", "--shards", 100, "--to", "small-plan", "--cache", "off")
    results.row(f"plan over {args.files:,} files", plan["wall"], "s", 10)
    shutil.rmtree(bench.folder / "small")


def streams(bench: Bench, args, results: Results) -> None:
    """A part that an engine hands over."""
    each = args.rows // args.shards
    bench.job("streams", "{stream: the same rows}")
    (bench.folder / "parts.txt").write_text(f"{each}\n")
    made((bench.folder / "columns", 0, 0), (bench.folder / "part", 0, each))
    bench.cfaudit("plan", "streams.yaml", "--stream", "parts.txt", "--to", "streams", "--cache", "off", redirect=f"< {bench.folder}/columns")
    for name in ("survey", "learn", "count"):
        state = f"streams/{name}/part-00000.state"
        words = ["worker", "streams", "--pass", name, "--shard", 0, "--stream", "--threads", args.threads]
        worker = bench.cfaudit(*words, redirect=f"< {bench.folder}/part > {bench.folder}/{state}")
        more = f", peak {worker['memory']:,.0f} MB"
        results.row(f"worker of a stream, pass `{name}`, CPU a row", worker["cpu"] / each * 1e6, "µs", 0.8, more)
        bench.cfaudit("merge", "streams", "--pass", name)


def split(bench: Bench, args, results: Results) -> None:
    """A share of many rows."""
    made((bench.folder / "split.parquet", 0, args.split_rows))
    bench.job("split", "{parquet: split.parquet}", text=SPLIT)
    until = {
        kind: bench.cfaudit("run", "split.yaml", "--until", kind, "--out", kind, "--cache", "off", "--threads", args.threads)
        for kind in ("prepare", "split")
    }
    more = f" ({until['split']['cpu']:,.1f} s over {until['prepare']['cpu']:,.1f} s, {args.split_rows:,} rows)"
    results.row("CPU of preparing and a split by share, over preparing", until["split"]["cpu"] / until["prepare"]["cpu"], "times", 1.3, more)
    (bench.folder / "split.parquet").unlink()


def slices(bench: Bench, args, results: Results) -> None:
    """A run with slices by two columns."""
    made((bench.folder / "slices.parquet", 0, args.slice_rows, True))
    bench.job("slices", "{parquet: slices.parquet}", ", by: [channel, area]", SLICES)
    ran = bench.cfaudit("run", "slices.yaml", "--out", "slices", "--cache", "off", "--threads", args.threads)
    # The goal is that of two million rows.
    goal = 3 * max(args.slice_rows / 2e6, 1)
    results.row("CPU of a run with slices by two columns", ran["cpu"], "s", goal, f", {args.slice_rows:,} rows")


CASES = {case.__name__: case for case in (shards, merges, plans, streams, split, slices)}


def main() -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--rows", type=int, default=GOAL_ROWS)
    flags.add_argument("--shards", type=int, default=5)
    flags.add_argument("--files", type=int, default=10_000, help="small files of the case `plans`")
    flags.add_argument("--counts", type=int, default=1000, help="states of the pass `count` to merge")
    flags.add_argument("--learns", type=int, default=200, help="states of the pass `learn` to merge")
    flags.add_argument("--split-rows", type=int, default=4_000_000, help="rows of which a share is split off")
    flags.add_argument("--slice-rows", type=int, default=2_000_000, help="rows with slices by two columns")
    flags.add_argument("--only", nargs="+", choices=CASES, default=list(CASES), help="these cases alone")
    flags.add_argument("--make", type=json.loads, help="files to write, and nothing else")
    args = flags.parse_args()
    if args.make is not None:
        for file in args.make:
            write(*file)
        return
    args.repeats = 1
    bench, results = Bench(args), Results()
    timing.heading(args, f", {args.rows:,} rows in {args.shards} shards")
    timing.table("what | measured | goal | met")
    try:
        for case in args.only:
            CASES[case](bench, args, results)
    finally:
        shutil.rmtree(bench.folder)
    if results.missed and args.rows >= GOAL_ROWS:
        sys.exit(f"missed: {', '.join(results.missed)}")


if __name__ == "__main__":
    main()
