"""Scores rows with a scorecard. Rows come as an Arrow stream on standard input, scores go as one to standard output.

python3 score.py SCORECARD.json

The scorecard gives points for every column, and the score is 1 / (1 + exp(-(intercept + sum of points))). Numbers get the points of
the interval between two edges that they fall into, an edge belongs to the interval above it; words get the points of their level:

{"intercept": -0.5, "columns": {"income": {"edges": [25, 35], "points": [-1, 0, 1], "missing": 0},
                                "sex": {"levels": {"Male": 0, "Female": -0.25}, "missing": 0}}}
"""

import json
import math
import sys
from bisect import bisect_right

import pyarrow as pa


def points(column, value):
    if value is None:
        return column["missing"]
    if "edges" in column:
        return column["points"][bisect_right(column["edges"], value)]
    return column["levels"].get(value, column["missing"])


def probability(odds):
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        card = json.load(file)
    written = pa.schema([("score", pa.float64())])
    with pa.ipc.open_stream(sys.stdin.buffer) as rows:
        # The schema comes before any row: what does not fit is refused at once.
        absent = [name for name in card["columns"] if name not in rows.schema.names]
        if absent:
            sys.exit(f"the rows lack columns of the scorecard: {', '.join(absent)}")
        with pa.ipc.new_stream(sys.stdout.buffer, written) as scores:
            for batch in rows:
                odds = [card["intercept"]] * batch.num_rows
                for name, column in card["columns"].items():
                    for i, value in enumerate(batch.column(name).to_pylist()):
                        odds[i] += points(column, value)
                score = pa.array([probability(o) for o in odds], pa.float64())
                scores.write_batch(pa.record_batch([score], schema=written))


if __name__ == "__main__":
    main()
