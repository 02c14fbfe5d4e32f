"""Makes components.json: rows on the first two principal components of their standardised columns, by numpy's singular value decomposition.

Usage: python components.py > components.json
Columns as cfaudit has them: a number is one column, two levels are the indicator of the second, more are one indicator each; mean and population
standard deviation are those of the known values, a missing value is 0 afterwards, a column that does not vary is left out. The mean of the rows is
at 0. A component has the sign that makes its largest entry positive, of entries that tie the first.
"""

import json

import numpy as np

random = np.random.default_rng(20261129)


def z_columns(column):
    values = np.array([np.nan if v is None else float(v) for v in column["values"]])
    n = column.get("levels")
    if n is None:
        raw = [values]
    else:
        raw = [np.where(np.isnan(values), np.nan, values == level) for level in range(1 if n == 2 else 0, n)]
    for x in raw:
        sd = np.nanstd(x)
        if sd > 0:
            yield np.where(np.isnan(x), 0.0, (x - np.nanmean(x)) / sd)


def case(name, columns):
    of = {"name": name, "columns": columns}
    z = np.array([c for column in columns for c in z_columns(column)]).T
    if z.ndim < 2 or np.linalg.matrix_rank(z - z.mean(axis=0)) < 2:
        return {**of, "undefined": "few_components"}
    z = z - z.mean(axis=0)
    _, s, axes = np.linalg.svd(z, full_matrices=False)
    axes = [a * np.sign(a[np.flatnonzero(abs(a) > abs(a).max() - 1e-9)[0]]) for a in axes[:2]]
    variance = s**2 / (s**2).sum()
    tied = variance[0] - variance[1] < 1e-9 or (len(variance) > 2 and variance[1] - variance[2] < 1e-9)
    places = None if tied else np.column_stack([z @ a for a in axes]).tolist()
    return {**of, "shares": variance[:2].tolist(), "tied": bool(tied), "places": places}


def missing(values, share):
    return [None if random.random() < share else v for v in values]


n = 24
income = np.round(random.normal(3000, 900, n), 2)
hours = np.round(0.004 * income + random.normal(20, 6, n))
number = {"values": missing(income.tolist(), 0.1)}
whole = {"values": hours.tolist()}
branch = {"levels": 3, "values": missing(random.integers(0, 3, n).tolist(), 0.15)}
smoker = {"levels": 2, "values": random.integers(0, 2, n).tolist()}
same = {"values": [7.0] * n}
cases = [
    case("numbers and levels, some missing, one the same for all", [number, whole, same, branch, smoker]),
    case("two numbers", [{"values": income.tolist()}, whole]),
    case("far from 0", [{"values": (1e6 + hours).tolist()}, {"values": (income * 1e-9).tolist()}, smoker]),
    case("one column that varies", [whole, same]),
    case("two columns that say the same", [whole, {"values": (2 * hours + 1).tolist()}]),
    case("columns without a correlation, as which one is first is arbitrary", [{"values": [i >> k & 1 for i in range(8)]} for k in range(3)]),
    case("three levels alone", [{"levels": 3, "values": [0, 0, 0, 0, 0, 1, 1, 1, 2, 2]}]),
]
print('{"about": "made by tests/oracle/components.py, numpy ' + np.__version__ + '", "cases": [')
print(",\n".join(json.dumps(c) for c in cases), "]}", sep="")
