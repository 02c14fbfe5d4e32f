"""How the cost of metrics grows: CPU seconds = a + b rows + c pairs + d directions, fitted to runs of many sizes; a pair is a person in another
group, and a direction leads from one group to another: its intervals cost the same for any number of rows.

    python3 bench/growth.py [--rows 1000000 10000000 40000000] [--groups 2 5 10 20] [--at 1000000] [--small 20000 60000 190000] [--repeats 1]

Two groups with each number of rows, each number of groups with `--at` rows, and each number of `--small` rows with the fewest and the most of
these groups, cold. The fit is by least squares of relative errors, small files apart: these cost what starting the program costs. Fails where a
run lies off the fit by more than 15 %, or where more rows of as many groups cost less. Files of 40 million rows take 1.3 GB in the folder.
"""

import sys

import timing
import works

WITHIN = 0.15


def main() -> None:
    flags = timing.parser(__doc__)
    flags.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000, 40_000_000])
    flags.add_argument("--groups", type=int, nargs="+", default=[2, 5, 10, 20])
    flags.add_argument("--at", type=int, default=1_000_000, help="rows of the cases with other groups")
    flags.add_argument("--small", type=int, nargs="*", default=[20_000, 60_000, 190_000], help="rows of the cases that are not fitted")
    args = flags.parse_args()
    floor = timing.executable(args.floor)
    timing.heading(args)
    small = [(rows, groups) for groups in (min(args.groups), max(args.groups)) for rows in args.small]
    cases = list(dict.fromkeys(small + [(rows, 2) for rows in args.rows] + [(args.at, groups) for groups in args.groups]))
    found = []
    for rows, groups in cases:
        work = works.metrics(args, floor, rows, groups)
        found.append([work.pair() for _ in range(args.repeats)])
    # Only now: a child's peak of memory counts from the size of its parent.
    import numpy as np

    cpu = np.array([timing.median([ours for ours, _ in runs], "cpu") for runs in found])
    terms = np.array([[1, rows / 1e6, rows * (groups - 1) / 1e6, groups * (groups - 1) / 1e3] for rows, groups in cases])
    is_fitted = np.array([case not in small for case in cases])
    (a, b, c, d), *_ = np.linalg.lstsq((terms / cpu[:, None])[is_fitted], np.ones(is_fitted.sum()), rcond=None)
    fitted = terms @ [a, b, c, d]
    off = cpu / fitted - 1
    timing.table("rows | groups | pairs | CPU s | wall s | peak MB | floor, CPU s | over the floor | by the fit, CPU s | off the fit")
    for (rows, groups), runs, line, residual in zip(cases, found, fitted, off):
        ours, floors = zip(*runs)
        timing.line(rows, groups, rows * (groups - 1), *timing.cells(ours), timing.span([run["cpu"] for run in floors]),
                    f"{timing.median(ours, 'cpu') / timing.median(floors, 'cpu'):.2f}", f"{line:.2f}", f"{residual:+.1%}")
    largest = max(off[is_fitted], key=abs)
    print(f"CPU s = {a:.3f} + {b:.3f} per million rows + {c:.3f} per million pairs + {d:.1f} ms per direction; largest residual {largest:+.1%}")
    if abs(largest) > WITHIN:
        sys.exit(f"off the fit by more than {WITHIN:.0%}: the cost does not grow with rows, pairs and directions alone")
    by_groups = sorted((groups, rows, seconds) for (rows, groups), seconds in zip(cases, cpu))
    for (groups, rows, seconds), (of, more, less) in zip(by_groups, by_groups[1:]):
        if groups == of and less < seconds:
            sys.exit(f"{more} rows of {groups} groups cost {less:.2f} CPU s, {rows} cost {seconds:.2f}")


if __name__ == "__main__":
    main()
