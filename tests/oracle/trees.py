"""Writes trees.json: what LightGBM predicts with the settings that cfaudit gives it, on a table that the test makes again.

Needs lightgbm (4.7.0) and numpy. Run: python tests/oracle/trees.py > tests/oracle/trees.json
"""

import json

import lightgbm
import numpy as np

N = 400
i = np.arange(N)
columns = [(i % 17) - 0.3 * (i % 5), ((i * 7) % 11).astype(float)]
labels = (((i * 7) % 17 + i % 3) > 9).astype(np.float32)
weights = 1.0 + (i % 4)
# z-scored by the population standard deviation and in single precision, as cfaudit encodes numbers for trees.
X = np.column_stack([(c - c.mean()) / c.std() for c in columns]).astype(np.float32)

COMMON = {
    "num_leaves": 7,
    "min_data_in_leaf": 20,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}
KINDS = {
    "boosting": {**COMMON, "objective": "binary", "learning_rate": 0.1, "lambda_l2": 0.5},
    "sampled": {
        **COMMON,
        "objective": "binary",
        "learning_rate": 0.1,
        "bagging_freq": 1,
        "bagging_fraction": 0.7,
        "feature_fraction": 0.5,
        "seed": 7,
    },
    "forest": {
        **COMMON,
        "objective": "regression",
        "boosting": "rf",
        "bagging_freq": 1,
        "bagging_fraction": 0.632,
        "feature_fraction_bynode": 0.5,
        "seed": 7,
    },
}
found = {}
for kind, parameters in KINDS.items():
    for name, weight in [("plain", None), ("weighted", (weights / weights.mean()).astype(np.float32))]:
        booster = lightgbm.train(parameters, lightgbm.Dataset(X, labels, weight=weight), 10)
        found.setdefault(kind, {})[name] = [float(p) for p in booster.predict(X)[:34]]
print(json.dumps({"lightgbm": lightgbm.__version__, "rows": N, "predictions": found}, indent=1))
