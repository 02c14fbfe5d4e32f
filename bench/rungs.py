"""What each step of the metrics costs: a plain loop that does one step more each time (`rungs.rs`), and cfaudit when a job asks for one thing
more each time, on the rows of `metrics.py`, one thread.

    python3 bench/rungs.py [--rows 1000000] [--groups 2 20] [--repeats 3] [--cfaudit target/debug/cfaudit]

The steps of the loop: decode the columns of both files; SHA-256 of both; codes of groups; keys compared; decisions and cells; sums and histograms of
scores; divergences; moments, for intervals. It checks nothing, knows its files, adds floating-point numbers in the order in which they come, and
writes nothing. What cfaudit does besides is what its own steps cost over these: exact sums that do not depend on threads, prepared rows and joined
scores as files that later runs use again, tables and a page.
"""

import shutil
import subprocess
import sys

import timing
import works

STEPS = ["decode", "digest", "codes", "keys", "cells", "sums", "divergences", "moments"]
# What a job asks for, with the steps of the loop that it needs.
ASKED = [
    ("prepared rows", "codes", ["--until", "prepare"]),
    ("joined scores", "keys", ["--until", "score"]),
    ("matrices, tables, page", "cells", ["--set", "metrics.families=[ccm]"]),
    ("scores with intervals", "moments", ["--set", "metrics.families=[ccm, shift]"]),
    ("all of the job", "moments", []),
]


def main() -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--rows", type=int, default=1_000_000)
    flags.add_argument("--groups", type=int, nargs="+", default=[2, 20])
    flags.set_defaults(threads=1)
    args = flags.parse_args()
    rungs = timing.executable(args.floor.replace("floor", "rungs"))
    timing.heading(args)
    for groups in args.groups:
        folder = args.folder / "metrics"
        data, fresh = folder / f"rows-{args.rows}-{groups}", [folder / "out-rungs", folder / "cache-rungs"]
        subprocess.run([sys.executable, timing.HERE / "metrics.py", "--only-write", data, str(args.rows), str(groups)], check=True)
        pairs = args.rows * (groups - 1)
        loop, ours = {step: [] for step in STEPS}, {name: [] for name, _, _ in ASKED}
        for _ in range(args.repeats):
            for step in STEPS:
                command = [rungs, step, f"{data}/people.parquet", f"{data}/moved.parquet", str(groups)]
                loop[step].append(timing.measured(command)["cpu"])
            for name, _, more in ASKED:
                for path in fresh:
                    shutil.rmtree(path, ignore_errors=True)
                command = works.cold(args, "metrics.yaml", *fresh, *works.metrics_sets(data, groups), "--quiet", *more)
                ours[name].append(timing.measured(command)["cpu"])

        def ns(seconds: float) -> str:
            return f"{seconds / pairs * 1e9:,.0f}"

        print(f"\n{args.rows:,} rows, {groups} groups, {pairs:,} pairs\n")
        timing.table("step of the loop | CPU s so far | ns a pair so far | of this step")
        before = 0.0
        for step in STEPS:
            middle = timing.statistics.median(loop[step])
            timing.line(step, timing.span(loop[step]), ns(middle), ns(middle - before))
            before = middle
        print()
        timing.table("cfaudit | CPU s so far | ns a pair so far | of this step | over the loop")
        before = 0.0
        for name, step, _ in ASKED:
            middle = timing.statistics.median(ours[name])
            timing.line(name, timing.span(ours[name]), ns(middle), ns(middle - before), f"{middle / timing.statistics.median(loop[step]):.1f}")
            before = middle


if __name__ == "__main__":
    main()
