"""Times what each question after the numbers costs, and the search for patterns next to DivExplorer's, in one run.

Adult (48,842 rows, a third of them audited) and Adult repeated are audited once (`why.yaml`). Then each question is added to a copy of the
cache of that run, so that it alone is computed; what it costs is the CPU seconds of that run less those of a run that finds everything done:

    patterns    who switches: traits of refused women at 2 %, up to three of them (`why-patterns.yaml`)
    six traits  the same with up to six of them, the most that a job may ask for
    DivExplorer the same people, levels and outcomes: all patterns at 2 % with their divergence, of any number of traits; it tests each against
                everybody, without halves, a correction or a second look
    features    through what: 5,000 people at most, and the patterns of the set (`why-features.yaml`)
    fit         `doubt: {fit: 20}`: the set is fitted 20 times on rows drawn again
    training    `doubt: {training: 5}`: the model is trained five times on rows drawn again
    scores      the family `scores` with rates at every threshold: everything is counted again
    power       `cfaudit power` of the finished folder: how many people would decide each gate

The patterns of up to six traits must be as many as those of DivExplorer, else the run fails.

    python3 bench/why.py --data-dir data [--rows 48842 1000000] [--threads 2] [--repeats 3] [--library-repeats 1]
                         [--leave-out divexplorer] [--cfaudit target/debug/cfaudit] [--folder target/bench]

Start and imports of Python count. Runs alternate, the tables show the median and the range. With `--repeats 1` both sizes take about three
minutes on two cores.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import timing
from adult import CONTINUOUS, MISSING, NOMINAL, ORDINAL
from timing import HERE, asked, measured, median
from works import cold

SUPPORT = 0.02
LONGEST = 6
# The job of each question, and what it sets.
QUESTIONS = {
    "patterns": ("why-patterns.yaml", []),
    "six traits": ("why-patterns.yaml", [f"why.patterns.longest={LONGEST}"]),
    "features": ("why-features.yaml", []),
    "fit": ("why.yaml", ["counterfactuals.world.doubt={fit: 20}"]),
    "training": ("why.yaml", ["models.logistic.doubt={training: 5, resample: true}"]),
    "scores": ("why.yaml", ["metrics.families=[performance, group, ccm, scores]"]),
}
PEER = "DivExplorer"


def write_people(rows: Path, out: Path, levels: Path) -> None:
    """The refused women with their levels and whether they switch, as `why` cuts them: quartiles are values of the people themselves."""
    import pandas as pd

    columns = ["row_key", "from_group", "predicted", "predicted_cf", "counterfactual"]
    outcomes = pd.read_parquet(out / "rows/outcomes.parquet", columns=columns)
    women = outcomes[(outcomes["counterfactual"] == "flip") & (outcomes["from_group"] == "Female") & ~outcomes["predicted"].astype(bool)]
    people = pd.read_parquet(rows, columns=[*CONTINUOUS, *ORDINAL, *NOMINAL]).iloc[women["row_key"].to_numpy()].reset_index(drop=True)
    for name in CONTINUOUS:
        known = people[name].dropna().sort_values().to_numpy()
        edges = sorted({known[-(-j * len(known) // 4) - 1] for j in (1, 2, 3)} - {known[-1]})
        people[name] = people[name].map(lambda x, edges=edges: MISSING if x != x else str(sum(edge < x for edge in edges)))
    for name in ORDINAL + NOMINAL:
        people[name] = people[name].astype(object).where(people[name].notna(), MISSING).astype(str)
    # What everybody has is no trait.
    people = people[[name for name in people if people[name].nunique() > 1]]
    people.assign(switched=women["predicted_cf"].astype(int).to_numpy()).to_parquet(levels)


def peer(levels: Path) -> dict:
    """DivExplorer on these people: how many patterns there are, of up to six traits and in all."""
    import pandas as pd
    from divexplorer import DivergenceExplorer

    people = pd.read_parquet(levels)
    # The decimal itself: a share of people just at the support is not lost to rounding.
    least = -(-len(people) * 2 // 100)
    found = DivergenceExplorer(people).get_pattern_divergence(min_support=(least - 0.5) / len(people), boolean_outcomes=["switched"])
    traits = found["itemset"].map(len)
    return {"patterns": int(traits.between(1, LONGEST).sum()), "all": int((traits > 0).sum())}


def searched(out: Path) -> dict:
    """How many patterns were looked at, of how many people."""
    import pandas as pd

    rows = pd.read_parquet(out / "tables/switch_patterns.parquet")
    everybody = rows[rows["pattern"] == ""]
    return {"patterns": int(everybody["searched"].max()), "people": int(everybody["n"].sum())}


def case(args: argparse.Namespace, rows: int) -> None:
    folder = args.folder / "why"
    source = args.folder / "generation" / f"adult-{rows}.parquet"
    # In processes of their own: a child's peak of memory counts from the size of its parent, which therefore stays small.
    subprocess.run([sys.executable, HERE / "generation.py", "--only-write", "--rows", str(rows), "--data-dir", args.data_dir,
                    "--folder", args.folder], check=True)
    sets = ["--set", f"rows={source.resolve()}", "--gates", "report", "--quiet"]
    base, cache, copy, levels = folder / "base", folder / "cache", folder / "copy", folder / "people.parquet"
    with_peer = PEER.lower() not in args.leave_out
    found: dict[str, list[dict]] = {}

    def run(name: str, job: str, out: Path, where: Path, more: list[str]) -> None:
        shutil.rmtree(out, ignore_errors=True)
        flags = [flag for one in more for flag in ("--set", one)]
        found.setdefault(name, []).append(measured(cold(args, job, out, where, *sets, *flags)))

    for turn in range(args.repeats):
        shutil.rmtree(cache, ignore_errors=True)
        run("base", "why.yaml", base, cache, [])
        run("all done", "why.yaml", base, cache, [])
        for name, (job, more) in QUESTIONS.items():
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(cache, copy)
            run(name, job, folder / name.replace(" ", "-"), copy, more)
        found.setdefault("power", []).append(measured([args.cfaudit, "power", str(base)]))
        if with_peer and turn < args.library_repeats:
            subprocess.run([sys.executable, __file__, "--only-people", source, base, levels], check=True)
            found.setdefault(PEER, []).append(measured([sys.executable, __file__, "--peer", str(levels)], log=folder / "log"))
    shutil.rmtree(copy, ignore_errors=True)
    ours = asked([sys.executable, __file__, "--ours", str(folder / "six-traits")])
    few = asked([sys.executable, __file__, "--ours", str(folder / "patterns")])
    audited = json.loads((base / "manifest.json").read_text())["rows"]["audited"]

    done = median(found["all done"], "cpu")
    costs = {name: median(found[name], "cpu") - done for name in QUESTIONS}
    whole = median(found["base"], "cpu")
    for name, runs in found.items():
        own = costs.get(name)
        cost = f"{own:.2f}" if own is not None else ""
        over = f"{own / whole:.2f}" if own is not None else ""
        beside = f"{median(runs, 'cpu') / max(costs['six traits'], 0.005):,.1f}" if name == PEER else ""
        timing.line(name, rows, args.threads, *timing.cells(runs), cost, over, beside)
    notes = [f"{audited:,} rows audited, {ours['people']:,} refused women; {few['patterns']:,} patterns of up to three traits at {SUPPORT:.0%}, "
             f"{ours['patterns']:,} of up to six"]
    if with_peer:
        theirs = json.loads(found[PEER][0]["out"].splitlines()[-1])
        if theirs["patterns"] != ours["patterns"]:
            sys.exit(f"{PEER} finds {theirs['patterns']:,} patterns, cfaudit {ours['patterns']:,}")
        notes.append(f"{PEER} finds as many, and {theirs['all']:,} of any number")
    args.notes.append(f"{rows:,} rows: " + "; ".join(notes))
    sys.stdout.flush()


def main() -> None:
    parser = timing.parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[48_842, 1_000_000])
    parser.add_argument("--library-repeats", type=int, default=1, help="of DivExplorer, which may take minutes")
    parser.add_argument("--leave-out", nargs="+", default=[], choices=[PEER.lower()], metavar="PROGRAM", help="programs not to run")
    parser.add_argument("--only-people", nargs=3, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--peer", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--ours", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_people:
        return write_people(*args.only_people)
    if args.peer:
        return print(json.dumps(peer(args.peer)))
    if args.ours:
        return print(json.dumps(searched(args.ours)))
    args.notes = []
    (args.folder / "why").mkdir(parents=True, exist_ok=True)
    timing.heading(args, f" ({args.library_repeats} of {PEER})")
    print(f"cost: CPU seconds less those of a run that finds all done; over the base: that by the CPU seconds of the whole run; {PEER} over ours: "
          "its CPU seconds by the cost of six traits")
    timing.table(f"run | rows | threads | CPU s | wall s | peak MB | cost, CPU s | over the base | {PEER} over ours")
    for rows in args.rows:
        case(args, rows)
    print("\n" + "\n".join(args.notes))


if __name__ == "__main__":
    main()
