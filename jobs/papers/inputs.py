"""Writes rows that the jobs of this folder read and that no catalog holds.

python3 jobs/papers/inputs.py FOLDER DATA      needs the packages in tests/requirements/papers.txt

- one row for each person of each printed matrix, and of each matrix that published rates determine, with the decision in the other group;
- one row for each person of Clarify's worked examples, which are printed as counts. Counts that a page leaves open are filled with zeros
  or small numbers that its metric does not read;
- Adult and COMPAS as the authors of FACTS prepare and split them, with the logistic regression of scikit-learn that they audit, from
  DATA/adult/adult.data and adult.test and DATA/compas/compas-scores-two-years.csv.
"""

import csv
import json
import pickle
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

EXPECTED = Path(__file__).resolve().parents[2] / "tests" / "expected"

# Label, decision and decision in the other group of the cells of a matrix.
CELLS = {
    "tcp": (1, 1, 1),
    "tsn": (1, 1, 0),
    "fsp": (1, 0, 1),
    "fcn": (1, 0, 0),
    "fcp": (0, 1, 1),
    "fsn": (0, 1, 0),
    "tsp": (0, 0, 1),
    "tcn": (0, 0, 0),
}

# Matrices that are not printed: published rates determine them.
RECONSTRUCTED = {
    "001-t11-ours-all": "heart-plausible-all",
    "001-t11-ours-switched": "heart-plausible-switched",
    "001-t11-gan-all": "heart-gan-all",
    "001-t11-gan-switched": "heart-gan-switched",
    "001-t15-base": "heart-ecg-base",
    "001-t15-all": "heart-ecg-all",
    "001-t15-switched": "heart-ecg-switched",
}


def printed_rows():
    with open(EXPECTED / "papers" / "printed.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def matrices():
    """Counts by matrix, group and cell."""
    found = {}
    for row in printed_rows():
        if row["metric"] in CELLS:
            groups = found.setdefault(f"{row['experiment']}-{row['arm']}", {})
            groups.setdefault(row["from_group"], {})[row["metric"]] = int(row["printed"])
    published = json.loads((EXPECTED / "metrics" / "published.json").read_text(encoding="utf-8"))
    names = {"F": "Female", "M": "Male"}
    for case in published["cases"]:
        if case["id"] in RECONSTRUCTED:
            found[RECONSTRUCTED[case["id"]]] = {
                names[group]: {cell: counts[cell.upper()] for cell in CELLS}
                for group, counts in case["cells"].items()
                if group in names
            }
    return found


def by_labels(positive_labels, positive_decisions, people):
    """Counts (tp, fp, fn, tn) with as many right decisions as the margins allow."""
    both = min(positive_labels, positive_decisions)
    return both, positive_decisions - both, positive_labels - both, people - max(positive_labels, positive_decisions)


def by_refusals(negative_labels, negative_decisions, people):
    return tuple(reversed(by_labels(negative_labels, negative_decisions, people)))


# Counts (tp, fp, fn, tn) of the facets a and d.
EXAMPLES = {
    "clarify-dppl-di": ((60, 0, 0, 40), (50, 0, 0, 50)),
    "clarify-dcacc-1": (by_labels(70, 60, 100), by_labels(20, 30, 50)),
    "clarify-dcacc-2": (by_labels(50, 60, 100), by_labels(40, 30, 50)),
    "clarify-dcr-1": (by_refusals(50, 60, 100), by_refusals(40, 30, 50)),
    "clarify-dcr-2": (by_refusals(70, 60, 100), by_refusals(20, 30, 50)),
    "clarify-sd-rd": ((65, 10, 5, 20), (20, 5, 7, 18)),
    "clarify-dar": ((35, 35, 3, 10), (40, 60, 3, 10)),
    "clarify-drr": ((10, 3, 20, 80), (10, 3, 10, 40)),
    "clarify-ad": ((60, 10, 20, 10), (40, 10, 40, 10)),
    "clarify-te": ((40, 6, 8, 46), (20, 2, 5, 23)),
}


# The columns of adult.data.
ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain capital-loss hours-per-week "
    "native-country income"
).split()


def adult(folder):
    """Complete rows of both files with the bins of the authors."""
    parts = [
        pd.read_csv(folder / name, names=ADULT, skipinitialspace=True, na_values="?", comment="|") for name in ("adult.data", "adult.test")
    ]
    rows = pd.concat(parts, ignore_index=True).dropna().reset_index(drop=True)
    ages, hours = [17, 26, 34, 41, 50, 90], [0, 25, 39, 40, 55, 100]
    rows["age_class"] = pd.cut(rows["age"], ages, include_lowest=True, labels=["a0", "a1", "a2", "a3", "a4"])
    rows["hours"] = pd.cut(rows["hours-per-week"], hours, labels=["PartTime", "MidTime", "FullTime", "OverTime", "BrainDrain"])
    rows["household"] = rows["relationship"].replace({"Husband": "Married", "Wife": "Married"})
    rows["race2"] = rows["race"].where(rows["race"] == "White", "Non-White")
    rows["label"] = rows["income"].str.startswith(">50K").astype(int)
    return rows


def compas(folder):
    """The rows of AIF360 of two races, without names."""
    read = [
        "id", "sex", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count", "c_charge_degree",
        "days_b_screening_arrest", "two_year_recid",
    ]  # fmt: skip
    rows = pd.read_csv(folder / "compas-scores-two-years.csv", usecols=lambda name: name in read)
    rows = rows[rows["race"].isin(["African-American", "Caucasian"]) & rows["days_b_screening_arrest"].between(-30, 30)]
    rows = rows.reset_index(drop=True)
    edges = [-0.1, 1, 5, 10, 15, 38]
    rows["priors"] = pd.cut(rows["priors_count"], edges, labels=["0 to 1", "2 to 5", "6 to 10", "11 to 15", "16 to 38"])
    rows["label"] = rows["two_year_recid"]
    return rows


def facts(rows, numbers, words, attribute, path):
    """Rows with their side of the authors' split and the attribute as `group`, and the authors' model as a pickle.

    The order of the columns is that of the source: the regression stops before it has converged, so that the order matters.
    """
    chosen = rows[numbers + words].rename(columns={attribute: "group"})
    words = ["group" if name == attribute else name for name in words]
    for name in words:
        chosen[name] = chosen[name].astype(str)
    train, test = train_test_split(np.arange(len(rows)), train_size=0.7, random_state=131313, stratify=rows["label"])
    columns = ColumnTransformer([("words", OneHotEncoder(handle_unknown="ignore"), words)], remainder="passthrough")
    model = make_pipeline(columns, LogisticRegression()).fit(chosen.iloc[train], rows["label"].iloc[train])
    path.with_suffix(".pkl").write_bytes(pickle.dumps(model))
    chosen["label"], chosen["side"], chosen["id"] = rows["label"], "train", np.arange(len(rows))
    chosen.loc[test, "side"] = "test"
    chosen.to_parquet(path)


def write(path, rows):
    pq.write_table(pa.Table.from_pylist(rows), path)


def main():
    folder, data = Path(sys.argv[1]), Path(sys.argv[2])
    warnings.simplefilter("ignore", ConvergenceWarning)  # as published
    folder.mkdir(parents=True, exist_ok=True)
    words = ("negative", "positive")
    for name, groups in matrices().items():
        people, others = [], []
        for group, counts in groups.items():
            other = next(g for g in groups if g != group)
            for cell, (label, decision, moved) in CELLS.items():
                for _ in range(counts[cell]):
                    key = len(people)
                    people.append({"id": key, "group": group, "label": label, "decision": words[decision]})
                    others.append({"row_id": key, "sensitive": "group", "to_group": other, "cf_index": 0, "decision": words[moved]})
        write(folder / f"{name}.parquet", people)
        write(folder / f"{name}-counterfactual.parquet", others)
    for name, facets in EXAMPLES.items():
        people = []
        for facet, (tp, fp, fn, tn) in zip("ad", facets):
            for count, label, decision in ((tp, 1, 1), (fp, 0, 1), (fn, 1, 0), (tn, 0, 0)):
                people += [{"group": facet, "label": label, "decision": words[decision]}] * count
        write(folder / f"{name}.parquet", [{"id": key, **person} for key, person in enumerate(people)])
    numbers = ["education-num", "capital-gain", "capital-loss"]
    before, after = ["age_class", "workclass", "marital-status", "occupation", "household"], ["sex", "hours", "native-country"]
    people = adult(data / "adult")
    facts(people, numbers, [*before, "race", *after], "sex", folder / "facts-adult-sex.parquet")
    facts(people, numbers, [*before, "race2", *after], "race2", folder / "facts-adult-race.parquet")
    counts = ["juv_fel_count", "juv_misd_count", "juv_other_count"]
    facts(compas(data / "compas"), counts, ["sex", "age_cat", "race", "priors", "c_charge_degree"], "race", folder / "facts-compas.parquet")


if __name__ == "__main__":
    main()
