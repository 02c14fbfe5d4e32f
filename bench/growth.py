"""How the cost of metrics grows: CPU seconds = a + b rows + c pairs + d directions, fitted to runs of many sizes; a pair is a person in another
group, and a direction leads from one group to another: its intervals cost the same for any number of rows.

    python3 bench/growth.py [--rows 1000000 10000000 40000000] [--groups 2 5 10 20] [--at 1000000] [--repeats 1]

Two groups with each number of rows, and each number of groups with `--at` rows, cold; more than 200,000 rows each, below which people are drawn one
by one. The fit is by least squares of relative errors. Fails where a run lies off it by more than 15 %. Files of 40 million rows take 1.3 GB in the folder.
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
    args = flags.parse_args()
    floor = timing.executable(args.floor)
    timing.heading(args)
    cases = list(dict.fromkeys([(rows, 2) for rows in args.rows] + [(args.at, groups) for groups in args.groups]))
    found = []
    for rows, groups in cases:
        work = works.metrics(args, floor, rows, groups)
        found.append([work.pair() for _ in range(args.repeats)])
    # Only now: a child's peak of memory counts from the size of its parent.
    import numpy as np

    cpu = np.array([timing.median([ours for ours, _ in runs], "cpu") for runs in found])
    terms = np.array([[1, rows / 1e6, rows * (groups - 1) / 1e6, groups * (groups - 1) / 1e3] for rows, groups in cases])
    (a, b, c, d), *_ = np.linalg.lstsq(terms / cpu[:, None], np.ones(len(cpu)), rcond=None)
    fitted = terms @ [a, b, c, d]
    off = cpu / fitted - 1
    timing.table("rows | groups | pairs | CPU s | wall s | peak MB | floor, CPU s | over the floor | by the fit, CPU s | off the fit")
    for (rows, groups), runs, line, residual in zip(cases, found, fitted, off):
        ours, floors = zip(*runs)
        timing.line(rows, groups, rows * (groups - 1), *timing.cells(ours), timing.span([run["cpu"] for run in floors]),
                    f"{timing.median(ours, 'cpu') / timing.median(floors, 'cpu'):.2f}", f"{line:.2f}", f"{residual:+.1%}")
    print(f"CPU s = {a:.3f} + {b:.3f} per million rows + {c:.3f} per million pairs + {d:.1f} ms per direction; largest residual {max(off, key=abs):+.1%}")
    if max(abs(off)) > WITHIN:
        sys.exit(f"off the fit by more than {WITHIN:.0%}: the cost does not grow with rows, pairs and directions alone")


if __name__ == "__main__":
    main()
