"""Makes weights.json: metrics of Adult where every person weighs `fnlwgt`, by scikit-learn and numpy.

Usage: python weights.py FOLDER_OF_ADULT_DATA > weights.json
Audited are the rows of `adult.test`, with scores of no model but of a sum of points, so that they are exact in any language:
points = 3 * education-num + hours-per-week // 3 + age // 6, and 10 more for Married-civ-spouse; score = points / 100, at most 1;
positive from 0.6 on. The counterfactual of a woman has age % 5 points more, that of a man hours-per-week % 7 points fewer.
The test in tests/it/weights.rs makes the same scores from the same files. Values named after counts of people are counts of people.
"""

import json
import sys
from pathlib import Path

import numpy as np
import sklearn
from sklearn import metrics as sk

rows = [[f.strip().rstrip(".") for f in line.split(",")] for line in (Path(sys.argv[1]) / "adult.test").read_text().splitlines()]
rows = [r for r in rows if len(r) == 15]
column = lambda i: np.array([int(r[i]) for r in rows])
age, weight, education, hours = column(0), column(2).astype(float), column(4), column(12)
female = np.array([r[9] == "Female" for r in rows])
married = np.array([r[5] == "Married-civ-spouse" for r in rows])
y = np.array([r[14] == ">50K" for r in rows])
raw = 3 * education + hours // 3 + age // 6 + 10 * married
points = np.clip(raw, 0, 100)
points_cf = np.clip(np.where(female, raw + age % 5, raw - hours % 7), 0, 100)
predicted, predicted_cf = points >= 60, points_cf >= 60


def group(mask):
    t, p, w = y[mask], predicted[mask], weight[mask]
    return {
        "n": int(mask.sum()),
        "n_tpr": [int((t & p).sum()), int(t.sum())],
        "prev": np.average(t, weights=w),
        "pprev": np.average(p, weights=w),
        "acc": sk.accuracy_score(t, p, sample_weight=w),
        "bacc": sk.balanced_accuracy_score(t, p, sample_weight=w),
        "tpr": sk.recall_score(t, p, sample_weight=w),
        "fpr": 1 - sk.recall_score(~t, ~p, sample_weight=w),
        "ppv": sk.precision_score(t, p, sample_weight=w),
        "npv": sk.precision_score(~t, ~p, sample_weight=w),
        "f1": sk.f1_score(t, p, sample_weight=w),
        "mcc": sk.matthews_corrcoef(t, p, sample_weight=w),
    }


def direction(mask):
    t, p, q, w = y[mask], predicted[mask], predicted_cf[mask], weight[mask]
    rate = lambda part, whole: w[part & whole].sum() / w[whole].sum()
    s, c = points[mask] / 100, points_cf[mask] / 100
    terms = lambda a, b: np.sum(np.where(a > 0, a * np.log(np.where(a > 0, a, 1) / np.where(b > 0, b, 1)), 0))
    # Shares of the weighted scores: a person of weight w is w people with the same score each.
    x, z = s / (w * s).sum(), c / (w * c).sum()
    m = (x + z) / 2
    log = lambda a, b: np.log(np.where(a > 0, a, 1) / np.where(a > 0, b, 1))
    before = np.bincount(np.minimum(points[mask] // 2, 49), weights=w, minlength=50)
    after = np.bincount(np.minimum(points_cf[mask] // 2, 49), weights=w, minlength=50)
    middle = (before + after) / 2
    total, half = w.sum(), 0.5 * w.sum() / len(w)
    smooth = lambda bins: (bins + half) / (total + 50 * half)
    return {
        "n": int(mask.sum()),
        "n_nsr": [int((p & ~q).sum()), int(p.sum())],
        "sr": rate(p != q, np.ones_like(p)),
        "nsr": rate(~q, p),
        "psr": rate(q, ~p),
        "pcp": rate(p, q),
        "cmcc": sk.matthews_corrcoef(p, q, sample_weight=w),
        "tpsr": rate(~q, t & p),
        "fpsr": rate(~q, ~t & p),
        "tnsr": rate(q, ~t & ~p),
        "fnsr": rate(q, t & ~p),
        "rmscd": np.sqrt(np.average((c - s) ** 2, weights=w)),
        "mcd": np.average(c - s, weights=w),
        "macd": np.average(abs(c - s), weights=w),
        "kld": np.sum(w * x * log(x, z)),
        "jscd": np.sqrt((np.sum(w * x * log(x, m)) + np.sum(w * z * log(z, m))) / 2),
        "jsd_hist": (terms(before / total, middle / total) + terms(after / total, middle / total)) / 2 / np.log(2),
        "kld_hist_smoothed": terms(smooth(before), smooth(after)),
    }


everybody = np.ones_like(female)
f, m = group(female), group(~female)
json.dump({
    "scikit-learn": sklearn.__version__,
    "weight": {"Female": weight[female].sum(), "Male": weight[~female].sum(), "": weight.sum()},
    "group": {"Female": f, "Male": m},
    "total": group(everybody),
    "pair": {"di": f["pprev"] / m["pprev"], "demp_difference": m["pprev"] - f["pprev"], "eopp_difference": m["tpr"] - f["tpr"],
             "eodds": max(abs(m["tpr"] - f["tpr"]), abs(m["fpr"] - f["fpr"])), "mcc_difference": m["mcc"] - f["mcc"]},
    "direction": {"Female": direction(female), "Male": direction(~female)},
    "counterfactual total": direction(everybody),
}, sys.stdout, indent=1)
print()
