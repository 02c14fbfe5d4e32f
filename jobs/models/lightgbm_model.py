"""Trains and applies gradient boosting of LightGBM, or of FairGBM where a column is named whose groups are to get equal error rates.

python3 lightgbm_model.py train --out MODEL --seed 1 [--fair COLUMN]    rows with a last column `label` on standard input
python3 lightgbm_model.py score MODEL                                   rows on standard input, scores on standard output

Words become categories; LightGBM deals with missing values itself. With `--fair` the training keeps the false positive and false negative
rates of the groups of that column within 5 points of each other (Cruz et al. 2023); that needs the packages in requirements-fair.txt, otherwise
those in requirements-lightgbm.txt are sufficient.
"""

import argparse
import os
import pickle
import sys

import pyarrow as pa
from pandas.api.types import is_numeric_dtype

# The libraries print to standard output, where only scores belong: their messages go to standard error.
OUTPUT = os.fdopen(os.dup(1), "wb")
os.dup2(2, 1)


def categories(rows):
    """The words of each column, in byte order."""
    return {name: sorted(rows[name].dropna().unique()) for name in rows.columns if not is_numeric_dtype(rows[name])}


def coded(rows, levels):
    """Words as numbers, unknown and missing ones as NaN."""
    rows = rows.copy()
    for name, known in levels.items():
        rows[name] = rows[name].map({word: float(code) for code, word in enumerate(known)}).astype(float)
    return rows.astype(float)


def train(arguments):
    with pa.ipc.open_stream(sys.stdin.buffer) as stream:
        rows = stream.read_pandas()
    labels = rows.pop("label")
    levels = categories(rows)
    settings = {"n_estimators": 100, "num_leaves": 15, "random_state": arguments.seed, "n_jobs": 1}
    matrix = coded(rows, levels)
    if arguments.fair:
        from fairgbm import FairGBMClassifier

        groups = matrix[arguments.fair].fillna(-1).astype("category").cat.codes.to_numpy()
        model = FairGBMClassifier(
            constraint_type="FPR,FNR", constraint_fpr_tolerance=0.05, constraint_fnr_tolerance=0.05, multiplier_learning_rate=0.1, **settings
        ).fit(matrix.to_numpy(), labels.to_numpy(), constraint_group=groups)
    else:
        from lightgbm import LGBMClassifier

        places = [matrix.columns.get_loc(name) for name in levels]
        model = LGBMClassifier(deterministic=True, force_row_wise=True, verbosity=-1, **settings)
        model.fit(matrix.to_numpy(), labels.to_numpy(), categorical_feature=places or "auto")
    with open(arguments.out, "wb") as file:
        pickle.dump((list(rows.columns), levels, model), file)


def score(arguments):
    with open(arguments.model, "rb") as file:
        columns, levels, model = pickle.load(file)
    written = pa.schema([("score", pa.float64())])
    with pa.ipc.open_stream(sys.stdin.buffer) as rows, pa.ipc.new_stream(OUTPUT, written) as scores:
        for batch in rows:
            matrix = coded(batch.to_pandas()[columns], levels)
            probabilities = model.predict_proba(matrix.to_numpy())[:, 1]
            scores.write_batch(pa.record_batch([pa.array(probabilities, pa.float64())], schema=written))


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    trains = verbs.add_parser("train")
    trains.add_argument("--out", required=True)
    trains.add_argument("--seed", type=int, default=0)
    trains.add_argument("--fair", help="the column whose groups are to get equal error rates")
    trains.set_defaults(run=train)
    scores = verbs.add_parser("score")
    scores.add_argument("model")
    scores.set_defaults(run=score)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
