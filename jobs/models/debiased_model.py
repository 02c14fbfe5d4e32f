"""Trains and applies a small network by adversarial debiasing (Zhang, Lemoine and Mitchell 2018), in numpy.

python3 debiased_model.py train --out MODEL.json --protect sex --seed 1 [--strength 5] [--rate 0.01] [--batch 256] [--see]
                                             rows with a last column `label` on standard input
python3 debiased_model.py score MODEL.json   rows on standard input, scores on standard output

A predictor with one hidden layer learns the label. An adversary tries to tell the group (the first level of the protected column against
all others) from the predictor's log odds and the label, so that it is equalised odds that it watches. The predictor goes down its own
gradient without the part that would help the adversary, and away from the adversary by `strength` (section 3 of the paper); with strength 0
there is no debiasing. The protected column is an input of the predictor only with `--see`. Needs the packages in requirements-debiased.txt.
"""

import argparse
import json
import sys

import numpy as np
import pyarrow as pa

HIDDEN, EPOCHS = 16, 40


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def learned(table, hidden):
    """How the columns become numbers, those in `hidden` apart: mean and deviation, or levels."""
    columns = {}
    for name in table.schema.names:
        values = [v for v in table.column(name).to_pylist() if v is not None]
        if name in hidden:
            continue
        if values and isinstance(values[0], (int, float)) and not isinstance(values[0], bool):
            columns[name] = {"mean": float(np.mean(values)), "sd": float(np.std(values)) or 1.0}
        else:
            columns[name] = {"levels": sorted({str(v) for v in values})}
    return columns


def matrix(table, columns):
    found = []
    for name, column in columns.items():
        values = table.column(name).to_pylist()
        if "levels" in column:
            found += [[float(v is not None and str(v) == level) for v in values] for level in column["levels"]]
        else:
            found.append([0.0 if v is None else (v - column["mean"]) / column["sd"] for v in values])
    return np.array(found).T.reshape(table.num_rows, -1)


def forward(weights, x):
    hidden = np.tanh(x @ weights["w1"] + weights["b1"])
    return hidden, hidden @ weights["w2"] + weights["b2"]


def gradient(weights, x, hidden, slope):
    """The gradient of a loss whose slope in the log odds is `slope`."""
    back = np.outer(slope, weights["w2"]) * (1 - hidden**2)
    return {"w1": x.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ slope, "b2": slope.sum()}


class Adam:
    """Kingma and Ba 2015, with the usual constants."""

    def __init__(self, rate):
        self.rate, self.first, self.second, self.step = rate, {}, {}, 0

    def go(self, weights, slopes):
        self.step += 1
        for name, slope in slopes.items():
            self.first[name] = 0.9 * self.first.get(name, 0.0) + 0.1 * slope
            self.second[name] = 0.999 * self.second.get(name, 0.0) + 0.001 * slope**2
            first, second = self.first[name] / (1 - 0.9**self.step), self.second[name] / (1 - 0.999**self.step)
            weights[name] = weights[name] - self.rate * first / (np.sqrt(second) + 1e-8)


def train(arguments):
    with pa.ipc.open_stream(sys.stdin.buffer) as stream:
        table = stream.read_all()
    if arguments.protect not in table.schema.names:
        sys.exit(f"the rows lack the protected column {arguments.protect}")
    columns = learned(table, ["label"] if arguments.see else ["label", arguments.protect])
    x, y = matrix(table, columns), np.array(table.column("label").to_pylist(), dtype=float)
    groups = [str(v) for v in table.column(arguments.protect).to_pylist()]
    z = np.array([float(group == sorted(set(groups))[0]) for group in groups])
    draw = np.random.default_rng(arguments.seed)
    weights = {
        "w1": draw.normal(0, 1 / np.sqrt(x.shape[1]), (x.shape[1], HIDDEN)),
        "b1": np.zeros(HIDDEN),
        "w2": draw.normal(0, 1 / np.sqrt(HIDDEN), HIDDEN),
        "b2": np.zeros(()),
    }
    adversary = {"odds": np.zeros(()), "by label": np.zeros(()), "label": np.zeros(()), "bias": np.zeros(())}
    predictor_steps, adversary_steps = Adam(arguments.rate), Adam(arguments.rate)
    for _ in range(EPOCHS):
        order = draw.permutation(len(y))
        for start in range(0, len(y), arguments.batch):
            rows = order[start : start + arguments.batch]
            hidden, odds = forward(weights, x[rows])
            n = len(rows)
            own = gradient(weights, x[rows], hidden, (sigmoid(odds) - y[rows]) / n)
            seen = adversary["odds"] * odds + adversary["by label"] * odds * y[rows] + adversary["label"] * y[rows] + adversary["bias"]
            miss = (sigmoid(seen) - z[rows]) / n
            of_odds = miss * (adversary["odds"] + adversary["by label"] * y[rows])
            others = gradient(weights, x[rows], hidden, of_odds)
            flat = lambda slopes: np.concatenate([np.ravel(slopes[name]) for name in weights])
            theirs = flat(others)
            share = arguments.strength and float(flat(own) @ theirs) / max(float(theirs @ theirs), 1e-12)
            # Without the part along the adversary's gradient, and up that gradient by the strength.
            combined = {name: own[name] - share * others[name] - arguments.strength * others[name] for name in weights}
            predictor_steps.go(weights, combined)
            adversary_steps.go(
                adversary,
                {"odds": miss @ odds, "by label": miss @ (odds * y[rows]), "label": miss @ y[rows], "bias": miss.sum()},
            )
    with open(arguments.out, "w", encoding="utf-8") as file:
        json.dump({"columns": columns, "weights": {name: value.tolist() for name, value in weights.items()}}, file)


def score(arguments):
    with open(arguments.model, encoding="utf-8") as file:
        model = json.load(file)
    weights = {name: np.array(value) for name, value in model["weights"].items()}
    written = pa.schema([("score", pa.float64())])
    with pa.ipc.open_stream(sys.stdin.buffer) as rows, pa.ipc.new_stream(sys.stdout.buffer, written) as scores:
        for batch in rows:
            odds = forward(weights, matrix(pa.Table.from_batches([batch]), model["columns"]))[1]
            scores.write_batch(pa.record_batch([pa.array(sigmoid(odds), pa.float64())], schema=written))


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    trains = verbs.add_parser("train")
    trains.add_argument("--out", required=True)
    trains.add_argument("--protect", required=True, help="the column that predictions are not to betray")
    trains.add_argument("--see", action="store_true", help="the predictor reads the protected column too")
    trains.add_argument("--strength", type=float, default=5.0)
    trains.add_argument("--rate", type=float, default=0.01, help="the size of a step")
    trains.add_argument("--batch", type=int, default=256, help="rows of a step")
    trains.add_argument("--seed", type=int, default=0)
    trains.set_defaults(run=train)
    scores = verbs.add_parser("score")
    scores.add_argument("model")
    scores.set_defaults(run=score)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
