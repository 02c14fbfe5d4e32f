"""Makes adult_roles.json: groups and switches of derived attributes on Adult, by scikit-learn and numpy.

Usage: python adult_roles.py FOLDER_OF_ADULT_DATA > adult_roles.json
The job is the one in tests/it/roles.rs: a logistic regression on `adult.data`, audited on `adult.test`. Encoding, bins, groups and what
a counterfactual sets are written here a second time, from their descriptions:
* the encoding: z-scores with mean and population standard deviation of the training rows; one indicator for two levels (the second), K
  for more; `?` is a level of its own called `missing`; age in bins is a feature, race in two groups and its cross with sex are not;
* `race2` sets race, and `trade` occupation, to the most frequent value of the training rows of the target group with the row's label;
  `age_band` sets the bin and leaves the age; `sex_race` sets sex, and race where `race2` changes.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship", "race", "sex",
         "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
CONTINUOUS = ["age", "hours-per-week", "capital-gain", "capital-loss", "education-num"]
NOMINAL = ["workclass", "marital-status", "occupation", "relationship", "race", "native-country", "age_band"]
EDGES = [17, 30, 45, 62, 90]
BANDS = ["[17, 30]", "(30, 45]", "(45, 62]", "(62, 90]"]
CRAFT = ["Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners"]
GROUPS = {
    "sex": ["Male", "Female"],
    "race2": ["White", "Other"],
    "trade": ["Craft", "Rest"],
    "age_band": BANDS,
    "sex_race": [f"{s} & {r}" for s in ["Male", "Female"] for r in ["White", "Other"]],
}


def read(name):
    rows = []
    for line in (Path(sys.argv[1]) / name).read_text().splitlines():
        fields = [f.strip().rstrip(".") if f.strip()[:1] in "<>" else f.strip() for f in line.split(",")]
        if len(fields) == len(NAMES):
            row = dict(zip(NAMES, fields))
            row["age_band"] = BANDS[sum(int(row["age"]) > edge for edge in EDGES[1:-1])]
            rows.append(row)
    return rows


def group(row, attribute):
    race2 = "White" if row["race"] == "White" else "Other"
    trade = None if row["occupation"] == "?" else "Craft" if row["occupation"] in CRAFT else "Rest"
    return {"race2": race2, "trade": trade, "sex_race": f"{row['sex']} & {race2}"}.get(attribute, row.get(attribute))


train, test = read("adult.data"), read("adult.test")
label = lambda row: row["income"] == ">50K"
moments = {name: (np.mean(x), np.std(x)) for name in CONTINUOUS for x in [np.array([float(r[name]) for r in train])]}
text = lambda row, name: "missing" if row[name] == "?" else row[name]
levels = {name: sorted({text(r, name) for r in train}) for name in NOMINAL}


def matrix(rows):
    columns = [np.array([r["sex"] == "Female" for r in rows], float)]
    columns += [(np.array([float(r[name]) for r in rows]) - moments[name][0]) / moments[name][1] for name in CONTINUOUS]
    columns += [np.array([text(r, name) == level for r in rows], float) for name in NOMINAL for level in levels[name]]
    return np.column_stack(columns)


model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(matrix(train), [label(r) for r in train])
score = lambda rows: model.predict_proba(matrix(rows))[:, 1]
RAW = {"race2": "race", "trade": "occupation"}
# The most frequent raw value by group and label; no ties occur.
common = {(g, y): Counter(r[raw] for r in train if group(r, attribute) == g and label(r) == y).most_common(2)
          for attribute, raw in RAW.items() for g in GROUPS[attribute] for y in [False, True]}
assert all(len(c) < 2 or c[0][1] > c[1][1] for c in common.values())


def changed(row, attribute, to):
    row = dict(row)
    if attribute in ("sex", "age_band"):
        row[attribute] = to
        return row
    if attribute == "trade":
        row["occupation"] = common[to, label(row)][0][0]
        return row
    sex, race2 = to.split(" & ") if attribute == "sex_race" else (row["sex"], to)
    row["sex"] = sex
    if group(row, "race2") != race2:
        row["race"] = common[race2, label(row)][0][0]
    return row


before = score(test)
nearest = np.min(np.abs(before - 0.5))
groups, switches = {}, {}
for attribute, names in GROUPS.items():
    own = np.array([group(r, attribute) for r in test])
    groups[attribute] = {g: [int((own == g).sum()), int(sum(label(r) for r, o in zip(test, own) if o == g))] for g in names}
    for to in names:
        after = score([changed(r, attribute, to) for r in test])
        nearest = min(nearest, np.min(np.abs(after - 0.5)))
        for start in names:
            if start != to:
                mine = own == start
                lost, won = mine & (before >= 0.5) & (after < 0.5), mine & (before < 0.5) & (after >= 0.5)
                switches.setdefault(attribute, {})[f"{start} -> {to}"] = [int(lost.sum()), int(won.sum())]
# No score lies so near to the threshold that another solver could put it on the other side.
assert nearest > 1e-7, nearest
json.dump({"scikit-learn": sklearn.__version__, "most_frequent": {f"{g}, {y}": c[0][0] for (g, y), c in common.items()},
           "groups": groups, "switches": switches, "nearest_to_threshold": float(nearest)}, sys.stdout, indent=1)
print()
