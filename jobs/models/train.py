"""Learns a scorecard for score.py. Rows with a last column `label` (0 or 1) come as an Arrow stream on standard input.

python3 train.py --out SCORECARD.json

The points of a level are its log odds against those of all rows (weight of evidence, the naive Bayes model); numbers are cut into
five intervals that hold about as many rows each. Half a row of either label is added to every count, so that none is infinite.
"""

import argparse
import json
import math
import sys
from bisect import bisect_right

import pyarrow as pa

INTERVALS = 5


def weights(groups, labels, n_groups):
    """Log odds of each group against all rows."""
    counts = [[0.5, 0.5] for _ in range(n_groups)]
    for group, label in zip(groups, labels):
        counts[group][label] += 1
    negative, positive = (sum(c[label] for c in counts) for label in (0, 1))
    return [round(math.log((c[1] / positive) / (c[0] / negative)), 6) for c in counts]


def learned(values, labels):
    known = [v for v in values if v is not None]
    if known and not isinstance(known[0], (str, bool)):
        ordered = sorted(known)
        edges = sorted({ordered[len(ordered) * k // INTERVALS] for k in range(1, INTERVALS)})
        groups = [len(edges) + 1 if v is None else bisect_right(edges, v) for v in values]
        *found, missing = weights(groups, labels, len(edges) + 2)
        return {"edges": edges, "points": found, "missing": missing}
    levels = sorted(set(known))
    position = {level: i for i, level in enumerate(levels)}
    groups = [len(levels) if v is None else position[v] for v in values]
    *found, missing = weights(groups, labels, len(levels) + 1)
    return {"levels": dict(zip(levels, found)), "missing": missing}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    with pa.ipc.open_stream(sys.stdin.buffer) as stream:
        rows = stream.read_all()
    labels = rows.column("label").to_pylist()
    if len(set(labels)) < 2:
        sys.exit("the training rows must have both labels")
    positive = sum(labels)
    card = {
        "intercept": round(math.log(positive / (len(labels) - positive)), 6),
        "columns": {name: learned(rows.column(name).to_pylist(), labels) for name in rows.schema.names[:-1]},
    }
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump(card, file, indent=1)


if __name__ == "__main__":
    main()
