"""Trains and applies a random forest of scikit-learn on any columns.

python3 sklearn_model.py train --out MODEL --seed 1     rows with a last column `label` on standard input
python3 sklearn_model.py score MODEL                    rows on standard input, scores on standard output

Words become indicators, words that training did not see become none; missing numbers become the median with an indicator of their own.
Needs the packages in requirements-sklearn.txt.
"""

import argparse
import pickle
import sys

import pyarrow as pa
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


def train(arguments):
    with pa.ipc.open_stream(sys.stdin.buffer) as stream:
        rows = stream.read_pandas()
    labels = rows.pop("label")
    columns = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), make_column_selector(dtype_include="number")),
            ("words", OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        ]
    )
    # One thread, so that every machine trains the same model.
    forest = RandomForestClassifier(100, min_samples_leaf=10, random_state=arguments.seed, n_jobs=1)
    model = make_pipeline(columns, forest).fit(rows, labels)
    with open(arguments.out, "wb") as file:
        pickle.dump(model, file)


def score(arguments):
    with open(arguments.model, "rb") as file:
        model = pickle.load(file)
    written = pa.schema([("score", pa.float64())])
    with pa.ipc.open_stream(sys.stdin.buffer) as rows, pa.ipc.new_stream(sys.stdout.buffer, written) as scores:
        for batch in rows:
            probabilities = model.predict_proba(batch.to_pandas())[:, 1]
            scores.write_batch(pa.record_batch([pa.array(probabilities, pa.float64())], schema=written))


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    trains = verbs.add_parser("train")
    trains.add_argument("--out", required=True)
    trains.add_argument("--seed", type=int, default=0)
    trains.set_defaults(run=train)
    scores = verbs.add_parser("score")
    scores.add_argument("model")
    scores.set_defaults(run=score)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
