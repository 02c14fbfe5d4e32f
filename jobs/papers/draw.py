"""Checks lines of docs/papers/*.csv that a seed draws, by another way than the one by which papers.py has written them.

python3 jobs/papers/draw.py [N] [--seed S] [--texts FOLDER]     after `make papers`; needs the packages in tests/requirements/papers.txt

It prints for each line the place in the document, the printed number, ours, and the rows, from 0, of the tables that ours comes from. It fails unless

- the line repeats its line of printed.csv, and with --texts the printed number is in that line of the text FOLDER/SOURCE.txt;
- the value follows from what is counted below it (`counts`, `worlds`, `edges`, `graphs`, `subgroups`, `actions`), equals the cell that states it,
  and is ours. Of score distances (JSCD) and variances over graphs there is only the cell;
- the interval is that of the cell; Wilson's and percentiles over graphs are computed again;
- the word follows by the rule of docs/papers.md.

papers.py says which run, model, set, arm and groups answer an experiment, how FACTS writes columns and values, and where a paper omits signs.
"""

import argparse
import csv
import functools
import math
import random
import re
import statistics
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import papers
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Label, decision and decision in the other group of the cases above and below each rate.
RATES = {
    "acc": ("11.|00.", "..."),
    "tpr": ("11.", "1.."),
    "fnr": ("10.", "1.."),
    "tnr": ("00.", "0.."),
    "fpr": ("01.", "0.."),
    "ppv": ("11.", ".1."),
    "npv": ("00.", ".0."),
    "pprev": (".1.", "..."),
    "cr": (".11|.00", "..."),
    "sr": (".10|.01", "..."),
    "psr": (".01", ".0."),
    "nsr": (".10", ".1."),
    "tpsr": ("110", "11."),
    "fpsr": ("010", "01."),
    "tnsr": ("001", "00."),
    "fnsr": ("101", "10."),
    "tsnr": ("110", ".10"),
    "tspr": ("001", ".01"),
    "accepted": ("1..", ".1."),
    "rejected": ("0..", ".0."),
    "denied": ("10.", "01."),
}
COUNTS = {
    **{"tcp": "111", "tsn": "110", "fsp": "101", "fcn": "100", "fcp": "011", "fsn": "010", "tsp": "001", "tcn": "000"},
    **{"tp": "11.", "fp": "01.", "fn": "10.", "tn": "00.", "n": "...", "n_right": "11.|00."},
    **{"label_positive": "1..", "label_negative": "0..", "pred_positive": ".1.", "pred_negative": ".0."},
}
# Differences of a rate between the first group and the second; with a minus the other way round.
DIFFERENCES = {
    **{"eopp_difference": "tpr", "pred_eq_difference": "fpr", "dppl": "pprev", "dcacc": "accepted", "dcr": "-rejected"},
    **{"dar": "ppv", "drr": "-npv", "ad": "acc", "rd": "tpr", "sd": "-tnr", "te": "-denied"},
}
FACTS_GROUPS = {"facts-compas": {"Black": "African-American", "White": "Caucasian"}}
BUDGET = "equal-effectiveness-within-budget"
NUMBERS = {"inf": math.inf, "Fair": 0, "No recourses": 0, "five": 5, "ten": 10, "eleven": 11}


class Fault(Exception):
    """What does not agree."""


def require(holds, text):
    if not holds:
        raise Fault(text)


def near(a, b):
    """Whether two values are the same but for rounding; nothing equals nothing."""
    if a is None or b is None:
        return a is b
    return a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


@functools.cache
def table(run, name):
    path = papers.OUT / run / "tables" / f"{name}.parquet"
    require(path.exists(), f"{path} is not there: run `make papers`")
    return pq.read_table(path)


def rows(run, name, **wanted):
    """The rows of a table with these values, where a set allows several; `row` is the place."""
    of = table(run, name)
    holds = pa.array([True] * of.num_rows)
    for key, value in wanted.items():
        allowed = pa.array(sorted(value) if isinstance(value, set) else [value], of[key].type)
        holds = pc.and_(holds, pc.is_in(of[key].combine_chunks(), allowed))
    at = pc.indices_nonzero(holds)
    return [{**row, "row": place} for place, row in zip(at.to_pylist(), of.take(at).to_pylist())]


class Found:
    """Our value and interval, and the cells that they come from."""

    def __init__(self, value, cells, low=None, high=None):
        self.value, self.cells, self.low, self.high = value, cells, low, high


def cell(run, name, row):
    return f"{papers.OUT / run}/tables/{name}.parquet row {row}"


def only(run, name, **wanted):
    """The only row with these values, and its place in words."""
    found = rows(run, name, **wanted)
    require(len(found) == 1, f"{len(found)} rows of `{name}` of {run} have {wanted}")
    return found[0], cell(run, name, found[0]["row"])


def people(own, arm, changed, group):
    """People of a group, or of all, by label, decision and decision in the other group; `shift` sums squared changes of their scores."""
    found = Counter()
    wanted = {"arm": arm, "model": own.model, "counterfactual": changed, "scope": "direction" if changed else "group", "slice": ""}
    for row in rows(own.run, "counts", **wanted, **({"from_group": group} if group else {})):
        found["".join(row[key] or "-" for key in ("label", "predicted", "predicted_cf")).ljust(3, "-")] += row["n"]
        found["shift"] += int(row["shift_sq"] or 0)
    return found


def cases(found, pattern):
    return sum(n for cell, n in found.items() if re.fullmatch(pattern, cell))


def correlation(found, first, second):
    """Of two of the three decisions of each person."""
    n = {a + b: sum(n for cell, n in found.items() if cell != "shift" and cell[first] + cell[second] == a + b) for a in "01" for b in "01"}
    below = math.prod(n[a] + n[b] for a, b in (("11", "10"), ("11", "01"), ("00", "10"), ("00", "01")))
    return (n["11"] * n["00"] - n["10"] * n["01"]) / math.sqrt(below) if below else None


def quotient(above, below):
    return None if above is None or not below else above / below


def measure(metric, found):
    """A metric of one group, or of one direction; None if it is not a matter of counts."""
    if metric in RATES:
        return quotient(*(cases(found, pattern) for pattern in RATES[metric]))
    if metric == "p2nr":
        return quotient(measure("psr", found), measure("nsr", found))
    if metric == "rmscd":
        return math.sqrt(found["shift"] * 2.0**-52 / cases(found, "..."))
    return correlation(found, 0, 1) if metric == "mcc" else correlation(found, 1, 2)


def between(metric, a, b):
    """A metric of two groups, or of two directions."""
    if metric == "eodds":
        return max(abs(between(of, a, b)) for of in ("tpr", "fpr"))
    rate = DIFFERENCES.get(metric, metric.removesuffix("_difference")) if metric not in ("di", "demp_ratio") else "pprev"
    first, second = (measure(rate.removeprefix("-"), found) for found in (a, b))
    if metric == "demp_ratio":
        return quotient(first, second)
    if metric == "di":
        return quotient(second, first)
    if first is None or second is None:
        return None
    return second - first if rate.startswith("-") else first - second


def wilson(k, n, level):
    z = statistics.NormalDist().inv_cdf((1 + level) / 2)
    middle, half = (k + z * z / 2) / (n + z * z), z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return max(middle - half, 0.0), min(middle + half, 1.0)


def over_graphs(run, row):
    """Mean and interval of a metric over the graphs of a set."""
    keys = ("model", "counterfactual", "sensitive", "scope", "from_group", "to_group", "metric")
    found = rows(run, "worlds", **{key: row[key] for key in keys})
    values = sorted(world["value"] for world in found if world["value"] is not None for _ in range(world["copies"]))

    def quantile(share):
        at = share * (len(values) - 1)
        low = math.floor(at)
        return values[low] + (at - low) * (values[min(low + 1, len(values) - 1)] - values[low])

    tail = (1 - row["world_level"]) / 2
    return math.fsum(values) / len(values), quantile(tail), quantile(1 - tail)


def graph_number(own, metric, changed):
    """What `graphs` and `edges` say about the graphs of a set."""
    graphs = rows(own.run, "graphs", counterfactual=changed)
    total = sum(row["graphs"] for row in graphs)
    if metric == "n_graphs":
        return total
    if metric == "n_classes":
        return len({row["class"] for row in graphs})
    edges = rows(own.run, "edges", counterfactual=changed)
    shares = [row["count"] / total if metric == "h_g" else row["below_sensitive"] for row in edges]
    return statistics.mean(sum(-p * math.log2(p) for p in (share, 1 - share) if p > 0) for share in shares if share > 0)


def counted(own, r):
    """A number of people of the same input."""
    found = people(own, own.arms[r["arm"]], own.changed(r), r["from_group"])
    return Found(cases(found, COUNTS[r["metric"]]), f"{papers.OUT / own.run}/tables/counts.parquet rows {COUNTS[r['metric']]} of {r['from_group']}")


def stated(own, r):
    """A number of the table `metrics`."""
    metric, scope, changed, arm = r["metric"], r["scope"], own.changed(r), own.arms[r["arm"]]
    a, b = (own.groups.get(r[key], r[key]) for key in ("from_group", "to_group"))
    wanted = {"arm": arm, "counterfactual": changed, "scope": scope, "slice": "", "class": "", "support": {"all", ""}, "metric": metric}
    ends = {(row["from_group"], row["to_group"]) for row in rows(own.run, "metrics", scope=scope, metric=metric)}
    turned = scope in ("pair", "difference") and (a, b) not in ends
    wanted["from_group"], wanted["to_group"] = (b, a) if turned else (a, b)
    row, cells = only(own.run, "metrics", model={own.model, ""}, **wanted)
    value, low, high = row["value"], row["lo"], row["hi"]
    if row["world_lo"] is not None:
        low, high = row["world_lo"], row["world_hi"]
        again = over_graphs(own.run, row)
        require(all(map(near, again, (value, low, high))), f"`worlds` gives {again}, `metrics` {value}, {low}, {high}")
    elif row["family"] == "graph":
        again = graph_number(own, metric, changed)
        require(near(again, value), f"`graphs` and `edges` give {again}, `metrics` {value}")
    elif metric != "jscd":
        sides = [people(own, arm, changed, group) for group in (row["from_group"], row["to_group"])]
        again = between(metric, *sides) if scope in ("pair", "difference") else measure(metric, sides[0])
        require(near(again, value), f"`counts` gives {again}, `metrics` {value}")
    if row["interval"] == "wilson" and row["numerator"] is not None:
        again = wilson(row["numerator"], row["denominator"], row["level"])
        require(near(again[0], row["lo"]) and near(again[1], row["hi"]), f"Wilson's interval is {again}, in `metrics` {row['lo']}, {row['hi']}")
        cells += f", {row['numerator']} of {row['denominator']}"
    if turned and value is not None:
        require(r["unit"] != "ratio" or scope == "difference", "a ratio of the groups the other way round")
        value, low, high = -value, *(None if end is None else -end for end in (high, low))
    return Found(value, cells, low, high)


def graph_cells(own, r):
    """Variances over graphs."""
    changed = own.changed(r)
    if r["metric"] == "move_var":
        row, cells = only(own.run, "nodes", counterfactual=changed, node={"X1": "first", "X2": "second"}[r["subject"]])
        return Found(row["move_var"], cells)
    found = rows(own.run, "world_people", counterfactual=changed, model=own.model)
    value = statistics.fmean([row["variance_mean"] for row in found], [row["n"] for row in found])
    return Found(value, cell(own.run, "world_people", ", ".join(str(row["row"]) for row in found)))


def definition(run, r, name, parameter, view):
    """The key of a definition in our tables: budgets by their order, and the only or usual view where the paper names none."""
    if name == BUDGET:
        theirs = {float(o["parameter"]) for o in papers.PRINTED if (o["experiment"], o["definition"]) == (r["experiment"], BUDGET) and o["parameter"]}
        ours = {row["parameter"] for row in rows(run, "ranking_analysis", definition=BUDGET)}
        require(len(theirs) == len(ours), f"{len(theirs)} budgets are printed, ours are {len(ours)}")
        parameter = dict(zip(sorted(theirs), sorted(ours, key=float)))[float(parameter)]
    views = {row["view"] for row in rows(run, "ranking_analysis", definition=name, parameter=parameter)}
    view = view or (next(iter(views)) if len(views) == 1 else "macro")
    return {"definition": name, "parameter": parameter, "view": view}


def facts(own, r):
    """A number of FACTS."""
    run, metric = own.run, r["metric"]
    block, cells = only(run, "recourse")
    if metric == "affected":
        return Found(block["affected_0"] + block["affected_1"], cells)
    if metric == "subgroups_with_actions":
        again = pc.count_distinct(table(run, "actions")["subgroup"]).as_py()
        require(again == block[metric], f"`actions` has {again} subgroups, `recourse` {block[metric]}")
        return Found(again, cells)
    key = definition(run, r, r["definition"], r["parameter"], r["view"])
    if r["scope"] in ("subgroup", "action"):
        return named(own, r, key)
    subgroups = rows(run, "subgroups", **key)
    if metric == "aggregated_rank":
        name, *rest = r["subject"].removeprefix("by ").split(":")
        view = rest.pop() if rest and rest[-1] in ("macro", "micro") else ""
        other = definition(run, r, name, rest[0] if rest else "", view)
        row, cells = only(run, "aggregated_rankings", **key, **{f"by_{part}": value for part, value in other.items()})
        ranks = {row["subgroup"]: row["rank"] for row in rows(run, "subgroups", **other)}
        last = 1 + max(rank for rank in ranks.values() if rank)
        again = statistics.fmean(ranks[row["subgroup"]] or last for row in subgroups if row["rank"] == 1) / last
        require(near(again, row["value"]), f"`subgroups` gives {again}, `aggregated_rankings` {row['value']}")
        return Found(again, cells)
    row, cells = only(run, "ranking_analysis", **key)
    if metric == "rank_1":
        column, again = metric, sum(one["rank"] == 1 for one in subgroups)
    else:
        group = FACTS_GROUPS.get(r["experiment"], {}).get(r["against"], r["against"])
        unfair = sorted((one for one in subgroups if one["rank"]), key=lambda one: (one["rank"], one["subgroup"]))
        column, again = "top_0" if group == row["group_0"] else "top_1", sum(one["against"] == group for one in unfair[: len(unfair) // 10])
    require(again == row[column], f"`subgroups` gives {again}, `ranking_analysis` {row[column]}")
    return Found(again, cells)


def named(own, r, key):
    """A number about a subgroup that a figure describes; `-` if our run has no such subgroup or action."""
    run, metric, groups = own.run, r["metric"], FACTS_GROUPS.get(r["experiment"], {})
    number, _, changes = r["subject"].partition(": ")
    described = {papers.traits(o["subject"].partition(": ")[2]) for o in papers.PRINTED
                 if (o["experiment"], o["metric"], o["subject"].partition(": ")[0]) == (r["experiment"], "coverage", number)}  # fmt: skip
    require(len(described) == 1, f"{number} has {len(described)} descriptions")
    (described,) = described
    if not rows(run, "subgroups", traits=described):
        return Found("-", f"{papers.OUT / run}/tables/subgroups.parquet has no {described}")
    row, cells = only(run, "subgroups", **key, traits=described)
    side = None if not r["from_group"] else "0" if groups.get(r["from_group"], r["from_group"]) == row["group_0"] else "1"
    if metric == "rank":
        scores = {one["score"] for one in rows(run, "subgroups", **key) if one["score"] is not None}
        again = 1 + sum(score > row["score"] for score in scores) if row["score"] else None
        require(again == row["rank"], f"{again} by the scores, in `subgroups` {row['rank']}")
        return Found("Fair" if row["score"] == 0 else "-" if again is None else again, cells)
    if metric == "score":
        ends = row["value_0"], row["value_1"]
        if row["score"] is not None and all(map(math.isfinite, ends)):
            require(near(abs(ends[0] - ends[1]), row["score"]), f"{ends} are not {row['score']} apart")
        is_other = r["against"] and row["against"] and row["against"] != groups.get(r["against"], r["against"])
        return Found("-" if row["score"] is None else -row["score"] if is_other else row["score"], cells)
    if metric == "coverage":
        again = row["n_" + side] / only(run, "recourse")[0]["affected_" + side]
        require(near(again, row["coverage_" + side]), f"{again} of the affected people, in `subgroups` {row['coverage_' + side]}")
        return Found(again, cells)
    if metric == "n_actions":
        return Found(0 if row["value_" + side] in (None, math.inf) else "-", cells)
    found = rows(run, "actions", subgroup=row["subgroup"], changes=papers.traits(changes))
    if not found:
        return Found("-", f"{papers.OUT / run}/tables/actions.parquet has no {changes} of subgroup {row['subgroup']}")
    require(len(found) == 1 and found[0]["n_" + side] == row["n_" + side], "`actions` and `subgroups` do not agree")
    return Found(found[0]["worked_" + side] / row["n_" + side], cells + f", action {found[0]['action']}")


def ours(line, r):
    """Our number in the unit of the paper."""
    if line["input"] == "same":
        own = papers.same_input()[r["experiment"], r["arm"]]
    else:
        own = next(own for own in papers.owns()[r["experiment"]] if not r["model"] or own.printed_model in ("", r["model"]))
    require(r["source"] == "facts" or (r["arm"] in own.arms and own.changed(r) is not None), "no arm or set of the run answers the line")
    is_graph = r["metric"] in ("move_var", "variance_mean")
    way = counted if r["unit"] == "count" and line["input"] == "same" else facts if r["source"] == "facts" else graph_cells if is_graph else stated
    found = way(own, r)
    if not isinstance(found.value, str) and found.value is not None:
        ends = [found.value, found.low, found.high]
        if found.value < 0 and papers.unsigned(r):
            ends = [None if end is None else -end for end in (found.value, found.high, found.low)]
        scale = 100 if r["unit"] in ("percent", "points") else 1
        found.value, found.low, found.high = (None if end is None else end * scale for end in ends)
    if line["input"] == "same":
        found.low = found.high = None
    return found


def read(text):
    """A printed number, or one of a table; None for a dash or nothing."""
    if text in NUMBERS:
        return NUMBERS[text]
    text = text.replace(",", "")
    return float(Fraction(text)) if re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?(/[0-9]+)?", text) else None


def is_written(text, value):
    """Whether a field holds a value, which it has to six digits."""
    if value is None or isinstance(value, str):
        return text == (value or "")
    # Sums in another order may round to the next digit.
    return text in {f"{value * by:.6g}" for by in (1 - 1e-12, 1, 1 + 1e-12)} or read(text) == value


def word(line, r, table):
    """The word that follows from the fields of the line."""
    fixed = {"not-a-result": "no result", "misprint": "misprint", "ambiguous": "ambiguous"}
    if r["status"] != "ok":
        return fixed[r["status"]]
    if line["input"] == "none":
        return "data not public" if r["experiment"] in papers.PRIVATE else "not run"
    theirs, own, low, high = (read(line[key]) for key in ("printed", "ours", "low", "high"))
    if theirs is None or own is None:
        return "equal" if theirs is None and line["ours"] == "-" else "differs"
    unit = 2e-6 if "/" in r["printed"] else 10.0 ** -int(r["decimals"] or 0)
    if theirs == own or abs(theirs - own) <= unit / 2 + 1e-9:
        return "equal"
    if low is not None and high is not None and low - unit / 2 <= theirs <= high + unit / 2:
        return "inside our interval"
    as_printed = set()
    for by in line["order"].split():
        other = table.get((by, line["input"])) if by not in ("0", "1") else {"printed": by, "ours": by}
        pair = [read(other[key]) for key in ("printed", "ours")] if other else [None]
        if None not in pair and theirs != pair[0]:
            as_printed.add((theirs > pair[0]) == (own > pair[1]) and own != pair[1])
    return {frozenset([True]): "same sign and order", frozenset([False]): "other direction"}.get(frozenset(as_printed), "differs")


def check(line, r, table, texts):
    """What ours comes from; a fault if anything does not agree."""
    for key in ("experiment", "place", "model", "arm", "set", "from_group", "to_group", "metric", "printed", "unit"):
        require(line[key] == r[key], f"{key} is {line[key]!r}, in printed.csv {r[key]!r}")
    if texts:
        text = re.sub("[\xa0\u2009\u202f\u2004]", " ", (texts / f"{r['source']}.txt").read_text(encoding="utf-8")).split("\n")[int(r["line"]) - 1]
        require(r["printed"] in text or r["printed"].replace("-", "- ") in text, f"{r['printed']} is not in line {r['line']} of the text: {text}")
    cells = "nothing of ours: " + line["why"]
    if line["input"] == "none":
        require(not line["ours"] + line["low"] + line["high"], "a number of ours without an input")
    else:
        found = ours(line, r)
        cells = found.cells
        require(is_written(line["ours"], "-" if found.value is None else found.value), f"ours is {found.value} in {cells}")
        for key in ("low", "high"):
            require(is_written(line[key], getattr(found, key)), f"{key} is {getattr(found, key)} in {cells}")
    require(line["word"] == word(line, r, table), f"the word is {word(line, r, table)}")
    return cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("n", nargs="?", type=int, default=40, help="how many lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--texts", type=Path, help="folder with the texts of the sources")
    arguments = parser.parse_args()
    lines = []
    for source in papers.SOURCES:
        with open(papers.ROOT / "docs" / "papers" / f"{source}.csv", encoding="utf-8", newline="") as file:
            lines += csv.DictReader(file)
    table = {(line["id"], line["input"]): line for line in lines}
    printed = {row["id"]: row for row in papers.PRINTED}
    drawn = random.Random(arguments.seed).sample(lines, min(arguments.n, len(lines)))
    faults = 0
    for line in drawn:
        r = printed[line["id"]]
        interval = f" ({line['low']} to {line['high']})" if line["low"] else ""
        about = " ".join(filter(None, (line[key] for key in ("experiment", "model", "arm", "set", "from_group", "to_group", "metric", "subject"))))
        print(f"{line['id']} {papers.SOURCES[r['source']]}, {r['place']}, line {r['line']}: {about}")
        print(f"  printed {line['printed']} {line['unit']}, ours {line['ours'] or 'none'}{interval}: {line['word']}")
        try:
            print(f"  {check(line, r, table, arguments.texts)}")
        except Fault as fault:
            faults += 1
            print(f"  FAULT: {fault}")
    print(f"{len(drawn)} lines of {len(lines)}, seed {arguments.seed}: {faults} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
