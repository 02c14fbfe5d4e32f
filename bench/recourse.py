"""Times the fairness of recourse for subgroups, compared with the detector of AIF360 and over several supports.

Makes rows and a model from the public data (COMPAS by race, German Credit by sex, Adult by sex), in the layout of the oracles, and gives the same
rows and the same model to both programs: ours is `bench/recourse.rs`, which judges all definitions in both views, ranks, merges, tabulates
and words them; AIF360 runs `FACTS.fit` and one `bias_scan` per definition and view that it has. The preparation is that of the paper: rows with
missing values dropped, numbers in bins, 30 % of the rows audited, a logistic regression on one-hot levels and plain numbers. Its constants are
rounded to multiples of 2^-20, so that scores are exact in any order of summation.

    python3 bench/recourse.py --program "cargo bench --profile dev --bench recourse --" --data-dir data [--folder target/bench/recourse] [--peer]

`--peer` runs AIF360 too (minutes per case): it needs what `requirements.txt` pins. CPU seconds are those of all threads; `scoring` is the model,
all else is the audit. What the job, the tables and the page cost in addition is shown by the stages of `cfaudit run jobs/adult-recourse.yaml`.
"""

import argparse
import json
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

SUPPORTS = ["0.1", "0.05", "0.02", "0.01", "0.005"]
UNIT = 2**20
HOURS = {"PartTime": 25, "MidTime": 39, "FullTime": 40, "OverTime": 60, "BrainDrain": 100}
# Audited, support, whether AIF360 runs: on Adult 1 % it takes about an hour.
CASES = [("compas", "0.01", True), ("german", "0.1", True), ("adult", "0.05", True), ("adult", "0.01", False)]
PEER = [
    ("equal-effectiveness", ["macro", "micro"]),
    ("equal-choice-for-recourse", ["macro"]),
    ("equal-effectiveness-within-budget", ["macro", "micro"]),
    ("equal-cost-of-effectiveness", ["macro", "micro"]),
    ("equal-mean-recourse", ["micro"]),
    ("fair-tradeoff", ["macro", "micro"]),
]


def adult(data):
    rows = pd.read_parquet(data / "adult/adult.parquet").drop(columns=["fnlwgt", "education", "split"]).replace("?", np.nan).dropna()
    rows["age"] = pd.cut(rows["age"], [16.999, 26, 34, 41, 50, 90])
    rows["hours-per-week"] = pd.cut(rows["hours-per-week"], [0, *HOURS.values()], labels=list(HOURS)).astype(str)
    label = rows.pop("income").str.startswith(">50K").astype(int)
    return rows, label, "sex", ("Female", "Male"), {"education-num": 3}, ["race"]


def compas(data):
    rows = pd.read_parquet(data / "compas/compas.parquet")
    rows = rows[rows["race"].isin(["African-American", "Caucasian"]) & rows["days_b_screening_arrest"].between(-30, 30)]
    label = 1 - rows["two_year_recid"].astype(int)
    counts = ["juv_fel_count", "juv_misd_count", "juv_other_count"]
    rows = rows[["sex", "age", "race", *counts, "priors_count", "c_charge_degree"]].copy()
    rows["age"] = pd.cut(rows["age"], [0, 24, 45, 100])
    rows["priors_count"] = pd.cut(rows["priors_count"], [-0.1, 1, 5, 10, 15, 38]).astype(str)
    return rows, label, "race", ("African-American", "Caucasian"), {"age": 10}, ["sex"]


def german(data):
    rows = pd.read_parquet(data / "german/german.parquet")
    label = (rows.pop("class").astype(str) == "1").astype(int)
    rows["sex"] = np.where(rows.pop("personal_status_sex") == "A92", "Female", "Male")
    rows["age"] = pd.cut(rows["age"], [18, 25, 35, 45, 75])
    rows["duration"] = pd.cut(rows["duration"], [0, 12, 24, 36, 72]).astype(str)
    rows["credit_amount"] = pd.cut(rows["credit_amount"], [0, 1500, 3000, 6000, 20000]).astype(str)
    return rows, label, "sex", ("Female", "Male"), {"age": 10}, ["foreign_worker"]


def rounded(value):
    return float(np.round(value * UNIT) / UNIT)


def case(name, data, folder):
    """Writes rows.parquet, model.json and config.json in the layout of the oracles."""
    rows, label, protected, groups, weights, frozen = {"adult": adult, "compas": compas, "german": german}[name](data)
    rows = rows.dropna()
    label = label.loc[rows.index]
    ages = [str(interval) for interval in rows["age"].cat.categories]
    rows["age"] = rows["age"].astype(str)
    train, audit, target, _ = train_test_split(rows, label, train_size=0.7, random_state=131313, stratify=label)
    numbers = [column for column in rows if pd.api.types.is_numeric_dtype(rows[column])]
    levels = {column: sorted(train[column].unique()) for column in rows if column not in numbers}
    encoded = [(train[column] == level).astype(float) for column in levels for level in levels[column]]
    encoded += [train[column].astype(float) for column in numbers]
    fitted = LogisticRegression(max_iter=1500).fit(np.column_stack(encoded), target)

    constants, intercept = iter(fitted.coef_[0]), rounded(fitted.intercept_[0])
    features = {c: {"type": "categorical", "weights": {level: rounded(next(constants)) for level in levels[c]}} for c in levels}
    features |= {column: {"type": "numeric", "weight": rounded(next(constants))} for column in numbers}
    audit = audit.reset_index(drop=True)
    score = scores(audit, features, intercept)
    audit = audit.assign(__score=score, __pred=(score > 0).astype("int8"))
    cost = {column: {"type": "categorical", "weight": weights.get(column, 1)} for column in levels}
    cost |= {column: {"type": "numeric", "weight": weights.get(column, 1), "normalise": False} for column in numbers}
    rules = {"non_decreasing": {"age": ages}, "max_step_up": {"age": 2}, "frozen": frozen, "forbidden_targets": {}}
    if "education-num" in rows:
        rules["non_decreasing"]["education-num"], rules["max_step_up"]["education-num"] = "numeric", 2
    config = {"protected": protected, "group_0": groups[0], "group_1": groups[1], "cost": cost, "feasibility": rules}
    folder.mkdir(parents=True, exist_ok=True)
    audit.to_parquet(folder / "rows.parquet")
    (folder / "model.json").write_text(json.dumps({"kind": "linear", "intercept": intercept, "features": features}))
    (folder / "config.json").write_text(json.dumps(config))


def scores(rows, features, intercept):
    score = np.full(len(rows), intercept)
    for column, feature in features.items():
        if feature["type"] == "categorical":
            score += rows[column].astype(str).map(feature["weights"]).fillna(0.0).to_numpy(dtype=float)
        else:
            score += feature["weight"] * rows[column].to_numpy(dtype=float)
    return score


class Model:
    """The model of a case, as AIF360 asks it."""

    def __init__(self, folder):
        model = json.loads((folder / "model.json").read_text())
        self.features, self.intercept = model["features"], model["intercept"]

    def predict(self, rows):
        return (scores(rows, self.features, self.intercept) > 0).astype(int)


def peer(folder, support):
    """Runs AIF360 on a case, in a process of its own, and prints CPU seconds and the highest memory."""
    from aif360.sklearn.detectors import FACTS

    config = json.loads((folder / "config.json").read_text())
    rows = pd.read_parquet(folder / "rows.parquet").drop(columns=["__score", "__pred"])
    # AIF360 compares the left edges of a column that must be called `age`.
    intervals = {text: pd.Interval(*(float(edge) for edge in text.strip("(]").split(", "))) for text in rows["age"].unique()}
    rows["age"] = rows["age"].map(intervals)
    texts = [column for column in rows if not pd.api.types.is_numeric_dtype(rows[column])]
    for column in texts:
        if column != "age":
            rows[column] = rows[column].astype(object)
    weights = {column: cost["weight"] for column, cost in config["cost"].items()}
    start = time.process_time()
    detector = FACTS(
        clf=Model(folder),
        prot_attr=config["protected"],
        categorical_features=texts,
        freq_itemset_min_supp=float(support),
        feature_weights=weights,
        feats_not_allowed_to_change=config["feasibility"]["frozen"],
    ).fit(rows, verbose=False)
    fitted = time.process_time()
    for metric, views in PEER:
        for view in views:
            detector.bias_scan(metric=metric, viewpoint=view, top_count=20, phi=0.7, c=4.0, filter_sequence=["remove-contained"])
    subgroups = len(detector.rules_by_if)
    found = {"subgroups": subgroups, "fit": fitted - start, "scan": time.process_time() - fitted}
    found["mb_peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def last_json(command):
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    if ran.returncode != 0:
        return {"error": (ran.stderr.strip().splitlines() or ["?"])[-1][:120]}
    return json.loads(ran.stdout.strip().splitlines()[-1])


def ours(program, folder, support):
    found = last_json([*shlex.split(program), str(folder.resolve()), support])
    cpu = found["cpu"]
    audit = sum(cpu[phase] for phase in ["plan", "needed", "effects", "judged", "tables", "sentences"])
    counts = [f"{found[key]:,}" for key in ["subgroups", "actions", "questions"]]
    return counts, audit, cpu["scoring"], cpu["chance"], found["mb_peak"]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--program", default="cargo bench --profile dev --bench recourse --")
    arguments.add_argument("--data-dir", type=Path, default=Path("data"))
    arguments.add_argument("--folder", type=Path, default=Path("target/bench/recourse"))
    arguments.add_argument("--peer", action="store_true")
    arguments.add_argument("--one-peer", nargs=2, metavar=("FOLDER", "SUPPORT"), help=argparse.SUPPRESS)
    arguments = arguments.parse_args()
    if arguments.one_peer:
        peer(Path(arguments.one_peer[0]), arguments.one_peer[1])
        return
    for name in ["compas", "german", "adult"]:
        if not (arguments.folder / name / "config.json").exists():
            case(name, arguments.data_dir, arguments.folder / name)
    print("| case | support | ours: audit, CPU s | scoring, CPU s | peak MB | AIF360: fit, CPU s | scans, CPU s | peak MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, support, beside in CASES:
        folder = arguments.folder / name
        _, audit, scoring, _, peak = ours(arguments.program, folder, support)
        cells = [name, f"{float(support):.1%}", f"{audit:.3f}", f"{scoring:.3f}", f"{peak:.0f}"]
        if arguments.peer and beside:
            found = last_json([sys.executable, "-W", "ignore", __file__, "--one-peer", str(folder), support])
            cells += [found["error"], "", ""] if "error" in found else [f"{found['fit']:.1f}", f"{found['scan']:.1f}", f"{found['mb_peak']:.0f}"]
        else:
            cells += ["not run", "", ""]
        print("|", " | ".join(cells), "|", flush=True)
    print()
    print("| Adult, support | subgroups | actions | asked | audit, CPU s | scoring, CPU s | p-values, CPU s | peak MB |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for support in SUPPORTS:
        counts, audit, scoring, chance, peak = ours(arguments.program, arguments.folder / "adult", support)
        times = [f"{seconds:.3f}" for seconds in [audit, scoring, chance]]
        print("|", " | ".join([f"{float(support):.1%}", *counts, *times, f"{peak:.0f}"]), "|", flush=True)


if __name__ == "__main__":
    main()
