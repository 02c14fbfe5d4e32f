"""Runs the jobs of this folder and writes docs/papers/*.csv: every number that the papers print next to ours.

python3 jobs/papers/papers.py --cfaudit PROGRAM [--doubt] [--only NAME ...]     needs the packages in tests/requirements/papers.txt
python3 jobs/papers/papers.py                                                   writes the tables again from finished runs

A line of a table is a line of tests/expected/papers/printed.csv, once for each `input` that answers it:

- `same`: cfaudit got the printed matrix, or the printed counts, row by row;
- `own`: a job of this folder, with rows and a model of its own;
- `none`: nothing answers it, and `why` says why.

`word` says how the two numbers agree; docs/papers.md explains the words, and tests/it/papers.rs computes each again. `low` and `high` are our interval:
over people, or over graphs and refits in experiments on graphs. `order` names what the direction of a number is judged by: other lines, or a number
that the value lies above or below. With --doubt networks and trees are trained five more times, and only docs/papers/training.csv is written: the
ranges of their switch rates.
"""

import argparse
import collections
import csv
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
OUT = Path("outputs/papers")
CELLS = {"tcp": "111", "tsn": "110", "fsp": "101", "fcn": "100", "fcp": "011", "fsn": "010", "tsp": "001", "tcn": "000"}
QUADRANTS = {"tp": "11", "fp": "01", "fn": "10", "tn": "00"}
SEXES = {"Female": "0", "Male": "1"}
RACES = {"White": "White", "Other": "Other"}

MATRICES = {
    "synthetic-1": ("S1", "S2"),
    "synthetic-2": ("S1", "S2"),
    "adult-lgbm-ws": ("Male", "Female"),
    "adult-fairgbm-ws": ("Male", "Female"),
    "compas-base": ("White", "Other"),
    "compas-debiased": ("White", "Other"),
    "heart-plausible": ("Male", "Female"),
    "heart-gan": ("Male", "Female"),
    "heart-ecg": ("Male", "Female"),
}
ARMS = {"heart-plausible": ["base", "all", "switched"], "heart-gan": ["base", "all", "switched"], "heart-ecg": ["base", "all", "switched"]}
EXAMPLES = [f"clarify-{name}" for name in "dppl-di dcacc-1 dcacc-2 dcr-1 dcr-2 sd-rd dar drr ad te".split()]
SEEDS = [7, 1, 2, 3, 4]


class Run:
    """A job, what is set in it, and which models may be trained again (none with a threshold fitted to scores)."""

    def __init__(self, job, sets=(), doubts=()):
        self.job, self.sets, self.doubts = job, list(sets), list(doubts)


def runs():
    found = {}
    for experiment, (a, b) in MATRICES.items():
        for arm in ARMS.get(experiment, ["base"]):
            name = f"{experiment}-{arm}"
            if experiment.startswith("synthetic"):
                found[name] = Run(experiment)
                continue
            wanted = "negative" if experiment.startswith("compas") else "positive"
            found[name] = Run("matrix", [f"matrix={name}", f"a={a}", f"b={b}", f"favourable={wanted}"])
    for name in EXAMPLES:
        found[name] = Run("clarify-example", [f"example={name}"])
    found["adult-lgbm"] = Run("adult-lgbm", doubts=["income"])
    found["adult-fairgbm"] = Run("adult-fairgbm", doubts=["fair", "native"])
    for seed in SEEDS:
        found[f"compas-{seed}"] = Run("compas", [f"run.seed={seed}"], ["network", "debiased"])
    found["heart"] = Run("heart")
    for job in ["cfgu-synthetic", "cfgu-compas", "cfgu-adult"]:
        found[job] = Run(job, doubts=["trees", "forest"])
    for job in ["facts-compas", "facts-adult-sex", "facts-adult-race", "facts-ssl", "facts-ad-campaign"]:
        found[job] = Run(job)
    for job in ["clarify-adult", "clarify-compas", "cardiofollow-smoking", "cardiofollow-sex"]:
        found[job] = Run(job)
    return found


class Own:
    """Which rows of which run answer an experiment: model, name of the set, names of arms and groups, and why numbers differ."""

    def __init__(self, run, model, why, sets=None, arms=None, groups=None, printed_model=""):
        self.run, self.model, self.why = run, model, why
        self.sets, self.arms, self.groups = sets or {}, arms or {"base": ""}, groups or {}
        self.printed_model = printed_model

    def changed(self, printed):
        """The set of counterfactuals, empty for numbers without any; None if no set is like the printed one."""
        return self.sets.get(printed["set"], self.sets.get("any")) if printed["set"] else ""


SETTINGS = "the settings of the library, the split and the rows are not stated exactly"
NETWORK = "features, width and steps of the network are not stated, and its seed turns the direction"
HEART = "other people and columns: 920 public people with 14 columns, the paper has 880 with 38"
FIGURE = "the coefficients of the two features are printed only in a figure; ours are inferred, and the forest has no printed settings"
SPLIT = "the split, the bootstraps and the seed of the forest are not stated"
NOISE = "in the paper both education columns are in the graphs, so that its search ranks rounding noise"
FACTS = "the stored model of the paper is not available: the regression has not converged, and where it stops depends on the version of scikit-learn"


def arms(name, *others):
    return {arm: f"{name}/{arm}" for arm in ("base", *others)}


def owns():
    found = {
        "adult-lgbm-ws": [Own("adult-lgbm", "income", SETTINGS, {"naive": "flip"})],
        "adult-lgbm": [Own("adult-lgbm", "income", SETTINGS, {"naive": "flip"}, arms("augment", "all", "switched"))],
        "adult-fairgbm-ws": [Own("adult-fairgbm", "fair", SETTINGS, {"naive": "flip"})],
        "adult-fairgbm": [Own("adult-fairgbm", "fair", SETTINGS, {"naive": "flip"}, arms("fair", "all", "switched"))],
        "compas-base": [Own("compas-7", "network", NETWORK, {"naive": "flip"})],
        "compas-debiased": [Own("compas-7", "debiased", NETWORK, {"naive": "flip"})],
        "heart-plausible": [Own("heart", "disease", HEART, {"plausible": "world"}, arms("augment", "all", "switched"), SEXES)],
        "heart-gan": [Own("heart", "disease", HEART, {"gan": "gaussian"}, arms("gaussian", "all", "switched"), SEXES)],
        "heart-ecg": [Own("heart", "disease", HEART, {"plausible": "ecg"}, arms("ecg", "all", "switched"), SEXES)],
        "facts-adult-sex": [Own("facts-adult-sex", "logistic", FACTS)],
        "facts-adult-race": [Own("facts-adult-race", "logistic", FACTS)],
        "facts-compas": [Own("facts-compas", "logistic", FACTS)],
    }
    models = {"logistic": "logistic regression", "trees": "gradient boosting", "forest": "random forest"}

    def graphs(experiment, run, scenario, why, groups):
        sets, both = {"graph-uncertain": f"graph/{scenario}"}, {"base": "", "": ""}
        found[experiment] = [Own(run, model, why, sets, both, groups, printed) for model, printed in models.items()]

    scenarios = {"low": "low", "medium": "medium", "high": "high", "forbid-x1": "forbid-first", "forbid-x2": "forbid-second"}
    for printed, ours in scenarios.items():
        graphs(f"cfgu-synthetic-{printed}", "cfgu-synthetic", ours, FIGURE, {"0": "a0", "1": "a1"})
    for scenario in ["low", "high"]:
        graphs(f"cfgu-compas-{scenario}", "cfgu-compas", scenario, SPLIT, {})
        graphs(f"cfgu-adult-{scenario}", "cfgu-adult", scenario, NOISE, {})
    return found


def same_input():
    """The runs that got a printed matrix or printed counts, by experiment and arm."""
    found = {}
    for experiment in MATRICES:
        for arm in ARMS.get(experiment, ["base"]):
            found[experiment, arm] = Own(f"{experiment}-{arm}", "decided", "", {"any": "flip"}, {arm: ""})
    for name in EXAMPLES:
        found[name, ""] = Own(name, "decided", "", None, {"": ""})
    return found


PRIVATE = {
    "cardiofollow-smoking": "the patients are not public; a twin shows the pattern",
    "cardiofollow-sex": "the patients are not public; a twin shows the pattern",
    "facts-ssl": "the file is not public any more; a twin shows the pattern",
    "facts-ad-campaign": "the file is not in the catalog; a twin shows the pattern",
    "heart-generators": "the GAN is not published, and the times are those of one laptop",
    "facts-example": "only a drawing of its ten people is printed",
}
# Why nothing answers a number of public data.
UNANSWERED = {
    "person": "one person computed by hand; the product fits coefficients and takes none",
    "clarify-ge": "a setting of an example by hand, which has no rows",
}
UNANSWERED_OTHER = "no table of the product holds this figure"


def table(run, name):
    path = OUT / run / "tables" / f"{name}.parquet"
    return pq.read_table(path).to_pylist() if path.exists() else []


class Results:
    """What a run found, by the keys of printed numbers."""

    def __init__(self, run):
        self.run = run
        self.metrics = {}
        for row in table(run, "metrics"):
            if row["slice"] == "" and row["support"] in ("all", ""):
                key = tuple(row[k] for k in ("arm", "model", "counterfactual", "scope", "from_group", "to_group", "metric"))
                self.metrics[key] = row
        self.counts = collections.Counter()
        for row in table(run, "counts"):
            if row["slice"] == "":
                cell = str(row["label"]) + str(row["predicted"]) + str(row["predicted_cf"])
                self.counts[row["arm"], row["model"], row["counterfactual"], row["from_group"], cell] += row["n"]

    def metric(self, own, printed):
        """Value and interval, in units of 1; None if there is no such value."""
        arm = own.arms.get(printed["arm"])
        changed = own.changed(printed)
        if arm is None or changed is None:
            return None
        a, b = (own.groups.get(printed[k], printed[k]) for k in ("from_group", "to_group"))
        start = [(arm, model, changed, printed["scope"]) for model in (own.model, "")]
        for head in start:
            for first, second, sign in ((a, b, 1), (b, a, -1)):
                row = self.metrics.get((*head, first, second, printed["metric"]))
                if row is not None and (sign == 1 or printed["scope"] in ("pair", "difference")):
                    ends = ("lo", "hi") if row["world_lo"] is None else ("world_lo", "world_hi")
                    low, high = (row[end] for end in ends)
                    value = row["value"]
                    if sign == -1 and value is not None:
                        value, low, high = -value, negative(high), negative(low)
                    return value, low, high
        return None

    def count(self, own, printed):
        """A number of people of the same input."""
        group = printed["from_group"]
        if printed["metric"] in CELLS:
            return self.counts["", own.model, own.changed(printed), group, CELLS[printed["metric"]]]
        of = {q: self.counts["", own.model, "", group, cell] for q, cell in QUADRANTS.items()}
        sums = {
            **of,
            "n": sum(of.values()),
            "n_right": of["tp"] + of["tn"],
            "label_positive": of["tp"] + of["fn"],
            "label_negative": of["fp"] + of["tn"],
            "pred_positive": of["tp"] + of["fp"],
            "pred_negative": of["fn"] + of["tn"],
        }
        return sums.get(printed["metric"])


def negative(x):
    return None if x is None else -x


# How the figures of FACTS write columns and values, and how our rows do.
COLUMN_NAMES = {
    "age": "age_class",
    "hours-per-week": "hours",
    "Workclass": "workclass",
    "Workclas": "workclass",
    "worklass": "workclass",
    "relationship": "household",
    "marital-statu": "marital-status",
    "priors_count": "priors",
}
VALUES = {
    "(-0.1, 1.0]": "0 to 1",
    "(1.0, 5.0]": "2 to 5",
    "(5.0, 10.0]": "6 to 10",
    "(10.0, 15.0]": "11 to 15",
    "(34.0, 41.0]": "a2",
    "(41.0, 50.0]": "a3",
    "(50.0, 90.0]": "a4",
    "Overtime": "OverTime",
    "Self-emp-in": "Self-emp-inc",
}


def traits(text):
    """The traits of a subgroup, or the changes of an action, as our tables write them."""
    found = {}
    for part in re.split(r",\s*(?![^(]*\])", text):
        name, value = (x.strip() for x in re.split(r"=| ", part.strip(), maxsplit=1) if x)
        value = value.removeprefix("=").strip()
        found[COLUMN_NAMES.get(name, name)] = VALUES.get(value, value)
    return ", ".join(f"{name} = {value}" for name, value in sorted(found.items()))


@functools.cache
def subgroups(run):
    """The rows of the table `subgroups` by traits and definition, and the actions by subgroup and changes."""
    rows = {(r["traits"], r["definition"], r["parameter"], r["view"]): r for r in table(run, "subgroups")}
    return rows, {(r["subgroup"], r["changes"]): r for r in table(run, "actions")}


def named_subgroup(run, printed, key):
    """A number about a subgroup that a figure names; `-` if the run has no such subgroup, or no such action."""
    name, _, described = printed["subject"].partition(": ")
    known = {
        r["subject"].partition(": ")[0]: r["subject"].partition(": ")[2]
        for r in PRINTED
        if r["experiment"] == printed["experiment"] and r["metric"] == "coverage"
    }
    if name not in known:
        return None
    rows, actions = subgroups(run)
    row = rows.get((traits(known[name]), *key))
    if row is None:
        return "-"
    groups = {"Black": "African-American", "White": "Caucasian"} if "compas" in run else {}

    def side(group):
        return "0" if groups.get(group, group) == row["group_0"] else "1"

    metric = printed["metric"]
    if metric == "rank":
        return "Fair" if row["score"] == 0 else row["rank"] if row["rank"] is not None else "-"
    if metric == "score":
        if row["score"] is None:
            return "-"
        opposite = printed["against"] and row["against"] and row["against"] != groups.get(printed["against"], printed["against"])
        return -row["score"] if opposite else row["score"]
    if metric == "coverage":
        return row["coverage_" + side(printed["from_group"])]
    if metric == "n_actions":
        value = row["value_" + side(printed["from_group"])]
        return 0.0 if value in (None, float("inf")) else "-"
    if metric == "effectiveness":
        action = actions.get((row["subgroup"], traits(described)))
        end = side(printed["from_group"])
        return action["worked_" + end] / action["n_" + end] if action else "-"
    return None


@functools.cache
def facts_tables(run):
    return {name: table(run, name) for name in ("recourse", "ranking_analysis", "aggregated_rankings")}


def facts(run, printed):
    """A number of the tables of FACTS; `-` if the run has no such number."""
    recourse, analysis, aggregated = facts_tables(run).values()
    if not recourse:
        return None
    recourse = recourse[0]
    if printed["metric"] == "subgroups_with_actions":
        return recourse["subgroups_with_actions"]
    if printed["metric"] == "affected":
        return recourse["affected_0"] + recourse["affected_1"]
    budgets = "equal-effectiveness-within-budget"
    ours = {row["parameter"] for row in analysis if row["definition"] == budgets}
    wanted = {"experiment": printed["experiment"], "definition": budgets, "metric": "rank_1"}
    theirs = {float(r["parameter"]) for r in PRINTED if wanted.items() <= r.items()}  # printed as 5 and as 5.0
    budget = dict(zip(sorted(theirs), sorted(ours, key=float)))

    def key(definition, parameter, view):
        view = view or ("micro" if definition == "equal-conditional-mean-recourse" else "macro")
        return definition, budget[float(parameter)] if definition == budgets else parameter, view

    wanted = key(printed["definition"], printed["parameter"], printed["view"])
    if printed["scope"] in ("subgroup", "action"):
        return named_subgroup(run, printed, wanted)
    if printed["metric"] in ("rank_1", "top"):
        for row in analysis:
            if (row["definition"], row["parameter"], row["view"]) == wanted:
                if printed["metric"] == "rank_1":
                    return row["rank_1"]
                names = {"Black": "African-American", "White": "Caucasian"} if "compas" in run else {}
                against = names.get(printed["against"], printed["against"])
                return row["top_0"] if against == recourse["group_0"] else row["top_1"] if against == recourse["group_1"] else None
    if printed["metric"] == "aggregated_rank":
        definition, parameter, view = (printed["subject"].removeprefix("by ").split(":") + ["", ""])[:3]
        if parameter in ("macro", "micro"):
            parameter, view = "", parameter
        by = key(definition, parameter, view)
        for row in aggregated:
            if (row["definition"], row["parameter"], row["view"], row["by_definition"], row["by_parameter"], row["by_view"]) == (*wanted, *by):
                return row["value"]
    return None


def graphs(own, printed):
    """Numbers of experiments on graphs that are not in the table `metrics`."""
    changed = own.sets["graph-uncertain"]
    if printed["metric"] == "move_var":
        name = {"X1": "first", "X2": "second"}.get(printed["subject"])
        found = [r["move_var"] for r in table(own.run, "nodes") if r["counterfactual"] == changed and r["node"] == name]
        return found[0] if found else None
    if printed["metric"] == "variance_mean":
        found = [r for r in table(own.run, "world_people") if r["counterfactual"] == changed and r["model"] == own.model]
        people = sum(r["n"] for r in found)
        return sum(r["variance_mean"] * r["n"] for r in found) / people if people else None
    return None


def number(text):
    """A printed number; None for a dash or a word."""
    words = {"inf": float("inf"), "Fair": 0.0, "No recourses": 0.0, "five": 5.0, "ten": 10.0, "eleven": 11.0}
    if text in words:
        return words[text]
    top, slash, bottom = text.replace(",", "").partition("/")
    try:
        return float(top) / float(bottom) if slash else float(top)
    except ValueError:
        return None


def half_unit(printed):
    return 0.5 * 10 ** -int(printed["decimals"] or 0) if "/" not in printed["printed"] else 1e-6


def ordinal(line):
    """Lines, or a number, by which the direction of a number is judged."""
    r = line["printed_row"]
    if r["scope"] in ("pair", "difference"):
        if r["printed"] in ("-", "inf") or unsigned(r):
            return []
        return ["1"] if r["unit"] == "ratio" and r["scope"] == "pair" else ["0"]
    if r["metric"] == "p2nr":
        return ["1"]
    found = []
    if r["metric"] == "score" and r["against"]:
        return ["0"]
    if r["metric"] in ("rank_1", "aggregated_rank"):
        return neighbour(r)
    alike = BY_KEY[key_of(r)]
    if r["scope"] in ("group", "direction") or r["against"]:
        others = [o for o in alike if o["arm"] == r["arm"] and o["place"] == r["place"]]
        found += [o["id"] for o in others if (o["from_group"], o["against"]) != (r["from_group"], r["against"])][:1]
    if r["arm"] not in ("base", ""):
        found += [o["id"] for o in alike if o["arm"] == "base" and o["from_group"] == r["from_group"]][:1]
    if r["source"] == "cf-gu" and not r["experiment"].endswith("-low"):
        low = re.sub("(medium|high|forbid-x1|forbid-x2)$", "low", r["experiment"])
        found += [o["id"] for o in BY_KEY[low, *key_of(r)[1:]] if o["from_group"] == r["from_group"]][:1]
    return found


def key_of(r):
    """What lines that differ only in group, arm and place have in common."""
    return tuple(r[k] for k in "experiment model metric scope set unit subject definition parameter view".split())


def neighbour(r):
    """The number before this one, or behind the first, in the same row of a table of definitions."""
    columns = ("experiment", "place", "metric") + (("definition", "parameter", "view") if r["metric"] == "aggregated_rank" else ())
    row = [o["id"] for o in PRINTED if all(o[k] == r[k] for k in columns)]
    at = row.index(r["id"])
    return [row[at - 1] if at else row[1]]


def unsigned(r):
    """Whether a difference is printed without its sign."""
    return r["scope"] == "pair" and ("parity" in r["note"] or r["unit"] == "points" or r["metric"] in ("eopp_difference", "pred_eq_difference", "eodds"))


def shown(x):
    if isinstance(x, str):
        return x
    return "" if x is None else f"{x:.6g}"


def sides(line, by):
    """Where the printed number and ours lie, compared with a line or a number: -1, 0 or 1 each; None if either is unknown."""
    p, o = number(line["printed"]), number(line["ours"])
    if by in ("0", "1"):
        q = s = float(by)
    else:
        other = BY_ID.get((by, line["input"]))
        if other is None:
            return None
        q, s = number(other["printed"]), number(other["ours"])
    if None in (p, o, q, s):
        return None
    return (p > q) - (p < q), (o > s) - (o < s)


def word(line):
    """How a printed number and ours agree; tests/it/papers.rs follows the same rule."""
    r = line["printed_row"]
    fixed = {"not-a-result": "no result", "ambiguous": "ambiguous", "misprint": "misprint"}
    if r["status"] in fixed:
        return fixed[r["status"]]
    if line["input"] == "none":
        return "data not public" if r["experiment"] in PRIVATE else "not run"
    p, o = number(line["printed"]), number(line["ours"])
    half = half_unit(r)
    if p is None or o is None:
        return "equal" if p is None and line["ours"] == "-" else "differs"
    if p == o or abs(o - p) <= half + 1e-9:
        return "equal"
    low, high = number(line["low"]), number(line["high"])
    if low is not None and high is not None and low - half <= p <= high + half:
        return "inside our interval"
    found = [found for found in (sides(line, by) for by in line["order"].split()) if found and found[0] != 0]
    agree = [a == b for a, b in found]
    if agree and all(agree):
        return "same sign and order"
    if agree and not any(agree):
        return "other direction"
    return "differs"


def lines():
    """All lines of all tables."""
    results, found, same, own_runs = {}, [], same_input(), owns()

    def of(run):
        return results.setdefault(run, Results(run))

    for r in PRINTED:
        scale = 100.0 if r["unit"] in ("percent", "points") else 1.0
        answers = []
        own = same.get((r["experiment"], r["arm"]))
        if own and r["status"] not in ("not-a-result", "ambiguous"):
            value = of(own.run).count(own, r) if r["unit"] == "count" else None
            answers.append(("same", own, (value, None, None) if value is not None else of(own.run).metric(own, r)))
        if r["status"] == "ok":
            for own in own_runs.get(r["experiment"], []):
                if own.printed_model and r["model"] and own.printed_model != r["model"]:
                    continue
                if r["source"] == "facts":
                    value = facts(own.run, r)
                    answers.append(("own", own, None if value is None else (value, None, None)))
                elif r["metric"] not in CELLS and r["metric"] != "n":
                    value = graphs(own, r) if own.printed_model else None
                    answers.append(("own", own, (value, None, None) if value is not None else of(own.run).metric(own, r)))
                if own.printed_model and not r["model"]:
                    break
        answers = [(kind, own, value) for kind, own, value in answers if value is not None]
        for kind, own, (value, low, high) in answers or [("none", None, (None, None, None))]:
            value, low, high = (x * scale if isinstance(x, (int, float)) else x for x in (value, low, high))
            if isinstance(value, float) and value < 0 and unsigned(r):
                value, low, high = -value, negative(high), negative(low)
            if kind == "same":
                low = high = None
            line = {
                "id": r["id"],
                "experiment": r["experiment"],
                "place": r["place"],
                "model": r["model"],
                "arm": r["arm"],
                "set": r["set"],
                "from_group": r["from_group"],
                "to_group": r["to_group"],
                "metric": r["metric"],
                "subject": " ".join(x for x in (r["subject"], r["definition"], r["parameter"], r["view"], r["against"]) if x),
                "printed": r["printed"],
                "unit": r["unit"],
                "ours": shown(value) if value is not None or kind == "none" else "-",
                "low": shown(low),
                "high": shown(high),
                "input": kind,
                "printed_row": r,
                "reason": own.why if own else "",
            }
            found.append(line)
            BY_ID[line["id"], kind] = line
    for line in found:
        r = line["printed_row"]
        line["order"] = " ".join(ordinal(line)) if line["input"] == "own" else ""
        line["word"] = word(line)
        line["why"] = why(line, r)
    return found


# Reasons that are closer than that of the experiment.
OF_METRIC = {
    "affected": "the paper counts people by their label, the product by the decision",
    "n_classes": "the coefficients of the two features are inferred: 93 of 100 bootstraps find the chain, in the paper 91",
}
OF_ARM = {("adult-fairgbm", "switched"): "training on those who switch removes only a part of what the constraint adds; in the paper nearly all of it"}


def why(line, r):
    if line["word"] in ("no result", "ambiguous"):
        return r["note"]
    if line["word"] == "misprint":
        return r["note"] + (f" (exact: {r['exact']})" if r["exact"] else "")
    if line["word"] == "data not public":
        return PRIVATE[r["experiment"]]
    if line["word"] == "not run":
        return UNANSWERED.get(r["experiment"], UNANSWERED.get(r["scope"], UNANSWERED_OTHER))
    if line["word"] not in ("differs", "other direction"):
        return ""
    if line["ours"] == "-":
        return "our run has no such subgroup or action, or the value is undefined"
    if r["experiment"].startswith("cfgu-synthetic") and r["metric"] in OF_METRIC or r["metric"] == "affected":
        return OF_METRIC[r["metric"]]
    return OF_ARM.get((r["experiment"], r["arm"]), line["reason"])


COLUMNS = "id experiment place model arm set from_group to_group metric subject printed unit ours low high input order word why".split()
WORDS = [
    "equal",
    "inside our interval",
    "same sign and order",
    "other direction",
    "differs",
    "misprint",
    "ambiguous",
    "no result",
    "data not public",
    "not run",
]
SOURCES = {
    "matrix-workshop": "The Matrix Reloaded",
    "matrix-journal": "Towards Counterfactual Group Fairness",
    "clarify": "SageMaker Clarify",
    "cf-gu": "Counterfactual Fairness with Graph Uncertainty",
    "facts": "FACTS",
}
BEGIN, END = "<!-- written by jobs/papers/papers.py -->\n", "<!-- end -->\n"


def write_tables(found):
    folder = ROOT / "docs" / "papers"
    folder.mkdir(exist_ok=True)
    for source in SOURCES:
        with open(folder / f"{source}.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
            writer.writeheader()
            writer.writerows(line for line in found if line["printed_row"]["source"] == source)
    counts = collections.Counter()
    for line in found:
        counts[line["word"], line["input"]] += 1
    text = "| Word | Same input | Own run | Without a figure of ours |\n| --- | --- | --- | --- |\n"
    for name in WORDS:
        text += f"| {name} | " + " | ".join(str(counts[name, kind] or "") for kind in ("same", "own", "none")) + " |\n"
    totals = [sum(n for (_, k), n in counts.items() if k == kind) for kind in ("same", "own", "none")]
    text += "| all | " + " | ".join(map(str, totals)) + " |\n"
    page = ROOT / "docs" / "papers.md"
    whole = page.read_text(encoding="utf-8")
    before, rest = whole.split(BEGIN)
    page.write_text(before + BEGIN + text + END + rest.split(END, 1)[1], encoding="utf-8")
    print(text)


def write_seeds():
    """The switch rates of both networks on COMPAS by seed."""
    found = []
    for seed in SEEDS:
        for (arm, model, changed, scope, a, _, metric), row in sorted(Results(f"compas-{seed}").metrics.items()):
            if scope == "direction" and changed == "flip" and metric in ("psr", "nsr"):
                found.append([seed, model, a, metric, *(shown(row[k]) for k in ("value", "lo", "hi"))])
    with open(ROOT / "docs" / "papers" / "compas-seeds.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([["seed", "model", "from_group", "metric", "value", "low", "high"], *found])


def training(names):
    """The ranges over trainings of the switch rates of the runs that were asked for them, on COMPAS also of their difference between the directions."""
    path = ROOT / "docs" / "papers" / "training.csv"
    columns = ["run", "model", "arm", "set", "from_group", "to_group", "metric", "value", "training_lo", "training_hi", "trainings"]
    found = []
    for name in names:
        for row in table(f"doubt/{name}", "metrics"):
            scopes = ["direction", "difference"] if name.startswith("compas") else ["direction"]
            is_rate = row["metric"] in ("psr", "nsr") and row["scope"] in scopes
            if is_rate and row["slice"] == "" and row["support"] == "all" and row["training_repeats"]:
                values = [row["arm"], row["counterfactual"], row["from_group"], row["to_group"]]
                values.append(row["metric"] + ("_difference" if row["scope"] == "difference" else ""))
                found.append([name, row["model"], *values, *(shown(row[k]) for k in ("value", "training_lo", "training_hi")), row["training_repeats"]])
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cfaudit", help="the program; without it nothing runs")
    parser.add_argument("--threads", default="", help="threads of each run")
    parser.add_argument("--doubt", action="store_true", help="train networks and trees five more times")
    parser.add_argument("--only", nargs="*", default=[], help="names of runs")
    arguments = parser.parse_args()
    chosen = {name: run for name, run in runs().items() if not arguments.only or name in arguments.only}
    if arguments.doubt:
        chosen = {name: run for name, run in chosen.items() if run.doubts}
    if arguments.cfaudit:
        for job in ["adult-lgbm", "clarify-compas"]:  # downloads what is not there
            subprocess.run([arguments.cfaudit, "data", f"jobs/papers/{job}.yaml", "--quiet"], check=True, stdout=subprocess.DEVNULL)
        data = os.environ.get("CFAUDIT_DATA", "data")
        subprocess.run([sys.executable, ROOT / "jobs/papers/inputs.py", OUT / "inputs", data], check=True)
        for name, run in chosen.items():
            folder = (OUT / "doubt" if arguments.doubt else OUT) / name
            command = [arguments.cfaudit, "run", f"jobs/papers/{run.job}.yaml", "--out", folder, "--gates", "report", "--quiet"]
            command += ["--threads", arguments.threads] if arguments.threads else []
            doubts = [f"models.{model}.doubt={{training: 5, resample: true}}" for model in run.doubts] if arguments.doubt else []
            command += [f"--set={text}" for text in run.sets + doubts]
            print(f"{name}: jobs/papers/{run.job}.yaml", file=sys.stderr)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if arguments.doubt:
        training(chosen)
        return
    missing = [name for name in runs() if not (OUT / name / "summary.json").exists()]
    if missing:
        sys.exit(f"no tables are written, because these runs are not there: {', '.join(missing)}")
    write_tables(lines())
    write_seeds()


with open(ROOT / "tests/expected/papers/printed.csv", encoding="utf-8") as printed_file:
    PRINTED = list(csv.DictReader(printed_file))
BY_KEY = collections.defaultdict(list)
for printed_number in PRINTED:
    BY_KEY[key_of(printed_number)].append(printed_number)
BY_ID = {}

if __name__ == "__main__":
    main()
