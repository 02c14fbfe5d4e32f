"""Fails where a work has become slower against its floor than `ratios.toml` says.

A work fails where its CPU seconds over those of its floor are worse than recorded by more than 15 % in each of three paired runs: noise that hits
one pair does not hit all three, and what slows the machine slows the floor too.

    python3 bench/guard.py [WORK ...] [--write] [--data-dir data] [--repeats 3]

`--write` records the medians of this run; do so on an idle machine, after a change that was meant.
"""

import sys
import tomllib

import timing
import works

RATIOS = timing.HERE / "ratios.toml"
WORSE = 0.15
HEAD = """# CPU seconds of each work over those of its floor, the same files read or copied by the Parquet crate (bench/works.py), cold, on two
# threads. `make bench-guard` fails where one is worse by more than 15 % in three paired runs; ARGS=--write records them again.
"""


def main() -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("works", nargs="*", metavar="WORK", help="names in ratios.toml; all where left out")
    flags.add_argument("--write", action="store_true", help="record the ratios of this run")
    args = flags.parse_args()
    recorded = tomllib.loads(RATIOS.read_text())
    if unknown := set(args.works) - set(recorded):
        sys.exit(f"ratios.toml has no {', '.join(sorted(unknown))}; it has {', '.join(recorded)}")
    floor = timing.executable(args.floor)
    timing.heading(args)
    timing.table("work | rows | threads | cfaudit, CPU s | peak MB | floor, CPU s | ratio | recorded | ")
    slower = []
    for name in args.works or recorded:
        rows, limit = recorded[name]["rows"], recorded[name]["ratio"] * (1 + WORSE)
        work = works.work(args, floor, name, rows)
        ours, floors = zip(*(work.pair() for _ in range(args.repeats)))
        ratios = [run["cpu"] / below["cpu"] for run, below in zip(ours, floors)]
        if min(ratios) > limit:
            slower.append(name)
        timing.line(name, rows, args.threads, timing.span([run["cpu"] for run in ours]), timing.span([run["memory"] for run in ours], 0),
                    timing.span([run["cpu"] for run in floors]), timing.span(ratios), recorded[name]["ratio"],
                    "slower" if name in slower else "as recorded")
        if args.write:
            recorded[name]["ratio"] = round(timing.statistics.median(ratios), 2)
    if args.write:
        works_of = (f"\n[{name}]\nrows = {of['rows']}\nratio = {of['ratio']}\n" for name, of in recorded.items())
        RATIOS.write_text(HEAD + "".join(works_of))
    elif slower:
        sys.exit(f"slower against the floor by more than {WORSE:.0%} in {args.repeats} of {args.repeats} runs: {', '.join(slower)}")


if __name__ == "__main__":
    main()
