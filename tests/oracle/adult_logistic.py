"""Makes adult_logistic.json: scikit-learn's logistic regression on the encoded matrix of jobs/adult.yaml.

Usage: python adult_logistic.py FOLDER_OF_ADULT_DATA > adult_logistic.json
The encoding is written here a second time, from its description: z-scores with mean and population standard deviation of the
training rows; one indicator for two levels (the second), K for more; `?` is a level of its own called `missing`. Husbands and wives
are one level of `household`, as in the job.
"""

import json
import sys
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race", "sex",
         "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
CONTINUOUS = ["age", "hours-per-week", "capital-gain", "capital-loss", "education-num"]
NOMINAL = ["workclass", "marital-status", "occupation", "household", "race", "native-country"]

rows = []
for line in (Path(sys.argv[1]) / "adult.data").read_text().splitlines():
    fields = [f.strip() for f in line.split(",")]
    if len(fields) == len(NAMES):
        rows.append(dict(zip(NAMES, fields)))
        relationship = rows[-1]["relationship"]
        rows[-1]["household"] = "Married" if relationship in ("Husband", "Wife") else relationship

columns, matrix = ["sex=Female"], [np.array([r["sex"] == "Female" for r in rows], float)]
for name in CONTINUOUS:
    x = np.array([float(r[name]) for r in rows])
    columns.append(name)
    matrix.append((x - x.mean()) / x.std())
for name in NOMINAL:
    values = ["missing" if r[name] == "?" else r[name] for r in rows]
    for level in sorted(set(values)):
        columns.append(f"{name}={level}")
        matrix.append(np.array([v == level for v in values], float))
x = np.column_stack(matrix)
y = np.array([r["income"] == ">50K" for r in rows])
model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(x, y)
json.dump({"scikit-learn": sklearn.__version__, "rows": len(rows), "intercept": model.intercept_[0],
           "coefficients": dict(zip(columns, model.coef_[0]))}, sys.stdout, indent=1)
print()
