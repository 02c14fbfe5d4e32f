"""Times the metrics of cfaudit compared with those of polars, duckdb, fairlearn, aif360 and smclarify on the same rows, in one run.

The rows are generated: a group, a label, a score, four numbers and a nominal column; and a second file with the score of every row in each
other group. So twenty groups mean 19 counterfactual scores a row. Each program runs in a process of its own:

    cfaudit      `metrics.yaml`, cold: performance, group, ccm, eccm and shift with all intervals
    cfaudit, Clarify    `metrics-clarify.yaml`, cold: what smclarify computes, with all intervals; two groups only
    cfaudit, FT  `metrics-flip.yaml`, cold: the flip test of everybody on four columns, and the line above but for CDDPL; two groups only
    floor        the Parquet crate reads the columns of both files that the job reads, and does nothing with them (`floor.rs`)
    polars       one query: join of the two files, counts of the extended matrix of each direction, and by them the confusion counts
    duckdb       the same
    fairlearn    MetricFrame: ten metrics of each group, differences and ratios; no counterfactuals, no intervals
    aif360       ClassificationMetric on the same; two groups only
    smclarify    all metrics after training but the flip test (FT); two groups only
    smclarify FT the flip test on four columns of the first 20,000 rows; the line that is marked so is extrapolated from it in proportion
                 to all rows, which is rather too little, as the tree that is searched grows (beyond 15 columns scikit-learn compares all
                 pairs, and the time would grow with the square)

What is shared must be equal, counts exactly and values to 1e-12, else the run fails; not so the flip test, whose ties smclarify leaves to
chance. A library that would need more than `--most` seconds, going by the smaller case before, is left out, and a note says so.

    python3 bench/metrics.py [--rows 1000000 10000000] [--groups 2 20] [--threads 2] [--repeats 3] [--library-repeats 1]
                             [--most 1800] [--leave-out fairlearn ...] [--cfaudit target/debug/cfaudit] [--folder target/bench]

Start and imports of Python count. Runs alternate, the tables show the median and the range.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import timing
from timing import measured, span
from works import cold, group_names, metrics_sets, read_floor

# The jobs of cfaudit; all but the first for two groups only.
JOBS = {"cfaudit": "metrics.yaml", "cfaudit, Clarify": "metrics-clarify.yaml", "cfaudit, FT": "metrics-flip.yaml"}
ROWS_AT_ONCE = 250_000
FT_ROWS = 20_000
FT_COLUMNS = ["age", "income", "employment_years", "utilisation"]
TOLERANCE = 1e-12


def write_files(folder: Path, rows: int, groups: int) -> None:
    """Two Parquet files from a seeded generator, written chunk by chunk: people, and their scores in each other group."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    if (folder / "ready").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    names = pa.array(group_names(groups))
    # Groups of unequal size, each with its own effect on the score and a smaller one on the label.
    share = 1 / (np.arange(groups) + 3)
    share /= share.sum()
    effect = np.linspace(0, -0.6, groups)
    others = np.array([[g for g in range(groups) if g != own] for own in range(groups)])
    regions = ["east", "north", "south", "west"]
    people = moved = None

    def words(codes, values):
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), values).cast(pa.string())

    for start in range(0, rows, ROWS_AT_ONCE):
        n = min(ROWS_AT_ONCE, rows - start)
        draw = np.random.default_rng([20261121, groups, start])
        group = draw.choice(groups, n, p=share)
        age = draw.integers(18, 80, n)
        income = np.round(draw.lognormal(10.3, 0.5, n), 2)
        years = np.minimum(draw.poisson(6, n), age - 18)
        utilisation = np.round(draw.beta(2, 4, n), 4)
        risk = 0.6 + 0.02 * (age - 45) + 0.6 * (np.log(income) - 10.3) + 0.05 * years - 1.5 * utilisation
        label = draw.random(n) < 1 / (1 + np.exp(-(risk + effect[group] / 3)))
        risk += draw.normal(0, 0.3, n)
        ids = np.arange(start, start + n, dtype=np.int64)
        to = others[group].ravel()
        table = pa.table({
            "id": ids, "group": words(group, names), "label": label.astype(np.int64),
            "age": age, "income": income, "employment_years": years, "utilisation": utilisation,
            "region": words(draw.integers(0, len(regions), n), pa.array(regions)),
            "score": 1 / (1 + np.exp(-(risk + effect[group]))),
        })
        other = pa.table({
            "row_id": np.repeat(ids, groups - 1), "to_group": words(to, names),
            "score": 1 / (1 + np.exp(-(np.repeat(risk, groups - 1) + effect[to]))),
        })
        people = people or pq.ParquetWriter(folder / "people.parquet", table.schema, compression="zstd")
        moved = moved or pq.ParquetWriter(folder / "moved.parquet", other.schema, compression="zstd")
        people.write_table(table, row_group_size=ROWS_AT_ONCE)
        moved.write_table(other, row_group_size=ROWS_AT_ONCE)
    people.close()
    moved.close()
    (folder / "ready").touch()


# The other programs: each gets the folder of the two files, threads and groups, and returns what it found: `counts` of cells,
# `values` of metrics, both by keys as in `ours`.


def key(*parts) -> str:
    return " ".join(str(int(part)) if isinstance(part, bool) else str(part) for part in parts)


def connection(threads: int):
    import duckdb

    opened = duckdb.connect(config={"threads": threads})
    opened.execute("set enable_progress_bar = false")  # it would go to stdout
    return opened


def cells(rows: list[tuple], groups: int) -> dict:
    """Counts of the extended matrix, and by those of one target of each group its confusion counts."""
    counts: dict[str, int] = {}
    for own, to, label, predicted, predicted_cf, n in rows:
        counts[key(own, to, label, predicted, predicted_cf)] = n
        if to == group_names(groups)[1 if own == group_names(groups)[0] else 0]:
            cell = key(own, label, predicted)
            counts[cell] = counts.get(cell, 0) + n
    return {"counts": counts}


def peer_polars(folder: Path, threads: int, groups: int) -> dict:
    import polars as pl

    people = pl.scan_parquet(folder / "people.parquet").select("id", "group", "label", (pl.col("score") >= 0.5).alias("predicted"))
    moved = pl.scan_parquet(folder / "moved.parquet").select("row_id", "to_group", (pl.col("score") >= 0.5).alias("predicted_cf"))
    query = (moved.join(people, left_on="row_id", right_on="id")
             .group_by("group", "to_group", "label", "predicted", "predicted_cf").len())
    return cells(query.collect(engine="streaming").rows(), groups)


def peer_duckdb(folder: Path, threads: int, groups: int) -> dict:
    query = """
        select p."group", m.to_group, p.label, p.score >= 0.5 as predicted, m.score >= 0.5 as predicted_cf, count(*)
        from read_parquet(?) m join read_parquet(?) p on m.row_id = p.id group by all"""
    return cells(connection(threads).execute(query, [str(folder / "moved.parquet"), str(folder / "people.parquet")]).fetchall(), groups)


def frame(folder: Path, columns: list[str], rows: int | None = None):
    """The people as a pandas frame; `predicted` in place of the score."""
    import pyarrow.parquet as pq

    file = pq.ParquetFile(folder / "people.parquet")
    table = file.read(columns=columns) if rows is None else next(file.iter_batches(batch_size=rows, columns=columns))
    people = table.to_pandas()
    people["predicted"] = (people.pop("score") >= 0.5).astype("int64")
    return people


def peer_fairlearn(folder: Path, threads: int, groups: int) -> dict:
    from fairlearn import metrics as fair
    from sklearn import metrics as scores

    functions = {
        "acc": scores.accuracy_score, "bacc": scores.balanced_accuracy_score, "f1": scores.f1_score, "mcc": scores.matthews_corrcoef,
        "ppv": scores.precision_score, "pprev": fair.selection_rate, "tpr": fair.true_positive_rate, "tnr": fair.true_negative_rate,
        "fpr": fair.false_positive_rate, "fnr": fair.false_negative_rate,
    }
    people = frame(folder, ["group", "label", "score"])
    found = fair.MetricFrame(metrics=functions, y_true=people["label"], y_pred=people["predicted"], sensitive_features=people["group"])
    difference, ratio = found.difference(), found.ratio()
    values = {key("group", name, group): float(found.by_group.loc[group, name]) for name in functions for group in group_names(groups)}
    values |= {key("total", name): float(found.overall[name]) for name in functions}
    # The largest difference and the smallest ratio of all pairs of groups.
    values |= {key("widest", f"{name}_difference"): float(difference[name]) for name in functions}
    values[key("widest", "eodds")] = float(max(difference["tpr"], difference["fpr"]))
    values[key("narrowest", "demp_min_ratio")] = float(ratio["pprev"])
    return {"values": values}


def peer_aif360(folder: Path, threads: int, groups: int) -> dict:
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import ClassificationMetric

    people = frame(folder, ["group", "label", "score"])
    reference, other = group_names(groups)
    people["group"] = (people["group"] == reference).astype("int64")
    predicted = people.pop("predicted").to_numpy(dtype=float).reshape(-1, 1)
    truth = BinaryLabelDataset(df=people, label_names=["label"], protected_attribute_names=["group"], favorable_label=1, unfavorable_label=0)
    said = truth.copy()
    said.labels = predicted
    found = ClassificationMetric(truth, said, unprivileged_groups=[{"group": 0}], privileged_groups=[{"group": 1}])
    functions = {
        "acc": found.accuracy, "ppv": found.positive_predictive_value, "npv": found.negative_predictive_value, "pprev": found.selection_rate,
        "tpr": found.true_positive_rate, "tnr": found.true_negative_rate, "fpr": found.false_positive_rate, "fnr": found.false_negative_rate,
        "fdr": found.false_discovery_rate, "for": found.false_omission_rate,
    }
    values = {key("total", name): function() for name, function in functions.items()}
    for group, privileged in ((reference, True), (other, False)):
        values |= {key("group", name, group): function(privileged=privileged) for name, function in functions.items()}
    # aif360 subtracts the privileged group, cfaudit starts from it.
    differences = {
        "demp_difference": found.statistical_parity_difference, "eopp_difference": found.equal_opportunity_difference,
        "aod": found.average_odds_difference, "fpr_difference": found.false_positive_rate_difference,
        "fnr_difference": found.false_negative_rate_difference, "fdr_difference": found.false_discovery_rate_difference,
        "for_difference": found.false_omission_rate_difference,
    }
    values |= {key("pair", name, reference, other): -function() for name, function in differences.items()}
    values[key("pair", "di", reference, other)] = found.disparate_impact()
    values[key("pair", "eodds", reference, other)] = found.equalized_odds_difference()
    return {"values": values}


def clarify(people, other: str, metrics: list[str], strata) -> dict[str, float]:
    from smclarify.bias import report

    people = people.assign(group=people["group"].astype("category"))  # it does not know the texts of pandas 3
    label = report.LabelColumn("label", people["label"], [1])
    predicted = report.LabelColumn("predicted", people["predicted"], [1])
    (facet,) = report.bias_report(people, report.FacetColumn("group", [other]), label, report.StageType.POST_TRAINING, predicted,
                                  metrics=metrics, group_variable=strata)
    failed = {metric["name"]: metric["error"] for metric in facet["metrics"] if "error" in metric}
    if failed:
        sys.exit(f"smclarify: {failed}")
    return {metric["name"]: metric["value"] for metric in facet["metrics"]}


def peer_smclarify(folder: Path, threads: int, groups: int) -> dict:
    reference, other = group_names(groups)
    people = frame(folder, ["group", "label", "region", "score"])
    strata = people.pop("region")
    found = clarify(people, other, ["AD", "CDDPL", "DAR", "DCA", "DCR", "DI", "DPPL", "DRR", "GE", "RD", "SD", "TE"], strata)
    total = found.pop("GE")
    names = {"DCA": "dcacc"}
    values = {key("pair", names.get(name, name.lower()), reference, other): value for name, value in found.items()}
    return {"values": values | {key("total", "ge"): total}}


def peer_smclarify_ft(folder: Path, threads: int, groups: int) -> dict:
    import smclarify.bias.report  # noqa: F401, so that the time below has no import in it

    people = frame(folder, ["group", "label", *FT_COLUMNS, "score"], FT_ROWS)
    start = time.process_time()
    value = clarify(people, group_names(groups)[1], ["FT"], None)["FT"]
    return {"ft": value, "ft_rows": len(people), "ft_cpu": time.process_time() - start}


PEERS = {
    "polars": peer_polars, "duckdb": peer_duckdb, "fairlearn": peer_fairlearn, "aif360": peer_aif360, "smclarify": peer_smclarify,
    "smclarify FT": peer_smclarify_ft,
}
LIBRARIES = ["fairlearn", "aif360", "smclarify", "smclarify FT"]
TWO_GROUPS = ["aif360", "smclarify", "smclarify FT"]
# Whose CPU seconds are the ratio's one, if it is not the whole audit.
BESIDE = {"smclarify": "cfaudit, Clarify"}


def ours(out: Path) -> dict:
    """What cfaudit found, from its tables."""
    import pyarrow.parquet as pq

    counts, values, intervals = {}, {}, 0
    found = out / "tables" / "counts.parquet"
    for row in pq.read_table(found).to_pylist() if found.exists() else []:
        if row["scope"] == "direction":
            counts[key(row["from_group"], row["to_group"], row["label"], row["predicted"], row["predicted_cf"])] = row["n"]
        elif row["scope"] == "group":
            counts[key(row["from_group"], row["label"], row["predicted"])] = row["n"]
    for row in pq.read_table(out / "tables" / "metrics.parquet").to_pylist():
        intervals += row["lo"] is not None
        name, value = row["metric"], row["value"]
        if row["family"] not in ("performance", "group", "clarify") or value is None:
            continue
        values[" ".join(filter(None, (row["scope"], name, row["from_group"], row["to_group"])))] = value
        if row["scope"] == "pair":
            widest, narrowest = key("widest", name), key("narrowest", name)
            values[widest] = max(values.get(widest, 0.0), abs(value))
            values[narrowest] = min(values.get(narrowest, value), value)
    return {"counts": counts, "values": values, "intervals": intervals}


def compare(name: str, theirs: dict, mine: dict) -> int:
    """Fails unless what both have is equal; how many numbers that were."""
    counts, values = theirs.get("counts", {}), theirs.get("values", {})
    # An empty cell is in no answer to a query.
    wrong = {cell: (mine["counts"].get(cell, 0), counts.get(cell, 0)) for cell in counts.keys() | mine["counts"].keys()
             if counts and mine["counts"].get(cell, 0) != counts.get(cell, 0)}
    # Written so that NaN is not equal to anything.
    wrong |= {metric: (mine["values"].get(metric), value) for metric, value in values.items()
              if metric not in mine["values"] or not abs(mine["values"][metric] - value) <= TOLERANCE}
    if wrong:
        sys.exit(f"{name} and cfaudit differ in {len(wrong)} numbers (cfaudit first): {dict(sorted(wrong.items())[:20])}")
    return len(counts) + len(values)


def case(args: argparse.Namespace, rows: int, groups: int) -> None:
    """One file: runs, checks, prints the lines of the table."""
    folder = args.folder / "metrics"
    data, cache, log = folder / f"rows-{rows}-{groups}", folder / "cache", folder / "libraries.log"
    # In a process of its own: a child's peak of memory counts from the size of its parent, which therefore stays small.
    subprocess.run([sys.executable, __file__, "--only-write", str(data), str(rows), str(groups)], check=True)
    threads = str(args.threads)
    # The threads of a BLAS wait for each other by spinning, which would be counted as CPU time where cores are busy.
    environment = {"POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": "1"}
    names = [name for name in PEERS if name not in args.leave_out and (groups == 2 or name not in TWO_GROUPS)]
    expected = {name: wall * rows / before for name in names for before, wall in [args.walls.get((name, groups), (rows, 0.0))]}
    slow = [name for name in names if name != "smclarify FT" and expected[name] > args.most]
    names = [name for name in names if name not in slow]
    outs = {name: folder / f"out-{job}" for name, job in JOBS.items() if groups == 2 or name == "cfaudit"}
    sets = {name: metrics_sets(data, groups) if name == "cfaudit" else ["--set", f"folder={data}"] for name in outs}
    runs = {name: cold(args, JOBS[name], out, cache, *sets[name], "--quiet") for name, out in outs.items()}
    runs["floor"] = read_floor(args.floor_program, data, args.threads)
    runs |= {name: [sys.executable, __file__, "--peer", name, str(data), threads, str(groups)] for name in names}
    found: dict[str, list[dict]] = {name: [] for name in runs}
    for turn in range(args.repeats):
        for name, command in runs.items():
            if name in LIBRARIES and turn >= args.library_repeats:
                continue
            if name in outs:
                # A cold run each time: nothing of the run before may be taken from the cache.
                shutil.rmtree(cache, ignore_errors=True)
                shutil.rmtree(outs[name], ignore_errors=True)
            # Libraries write pages of warnings; those of others are seen.
            found[name].append(measured(command, environment, log=log if name in LIBRARIES else None))
    phases = json.loads((outs["cfaudit"] / "run.json").read_text())["stages"]
    tables = [timing.asked([sys.executable, __file__, "--ours", str(out)]) for out in outs.values()]
    mine = {part: {k: v for table in tables for k, v in table[part].items()} for part in ("counts", "values")}
    intervals = tables[0]["intervals"]
    # Libraries write notes to stdout as well; the result is in the last line.
    answers = {name: json.loads(found[name][0]["out"].splitlines()[-1]) for name in names}
    equal = {name: compare(name, answer, mine) for name, answer in answers.items()}
    args.walls |= {(name, groups): (rows, timing.median(found[name], "wall")) for name in names if name in LIBRARIES}

    cpu = {name: timing.median(runs_of, "cpu") for name, runs_of in found.items()}
    for name, runs_of in found.items():
        few = name == "smclarify FT"
        # Of fewer rows no ratio: it would compare different work.
        peer = "" if few or name in outs else f"{cpu[name] / cpu[BESIDE.get(name, 'cfaudit')]:.2f}"
        above = "" if few else f"{cpu[name] / cpu['floor']:.2f}"
        timing.line(name, FT_ROWS if few else rows, groups, args.threads, *timing.cells(runs_of), peer, above)
        if few:
            per_row = answers[name]["ft_cpu"] / answers[name]["ft_rows"]
            timing.line(f"{name}, extrapolated", rows, groups, args.threads, f"{per_row * rows:,.0f}", "", "", "", "")
    notes = [f"{rows * (groups - 1):,} counterfactual scores; {intervals:,} intervals"]
    notes.append(f"cfaudit beyond the floor: {cpu['cfaudit'] - cpu['floor']:+.2f} CPU s")
    if "smclarify FT" in answers:
        ft = answers["smclarify FT"]
        theirs, own = ft["ft_rows"] / ft["ft_cpu"], rows / cpu["cfaudit, FT"]
        value = -mine["values"][key("pair", "ft", *group_names(groups))]  # the library has the opposite sign
        notes.append(f"FT of smclarify {ft['ft']:.4f}, {theirs:,.0f} rows per CPU s without imports; of cfaudit {value:.4f}, {own:,.0f} rows "
                     f"per CPU s with everything from reading to the report, {own / theirs:.1f} times as many")
    notes += [f"{name} left out: by the smaller case it would need {expected[name] / 60:,.0f} minutes" for name in slow]
    notes.append("equal to cfaudit: " + ", ".join(f"{name} {n}" for name, n in equal.items() if n))
    notes.append("stages of the last run, ms: " + ", ".join(f"{stage['id']} {stage['ms']}" for stage in phases))
    args.notes.append(f"{rows:,} rows, {groups} groups: " + "; ".join(notes))
    sys.stdout.flush()


def main() -> None:
    parser = timing.parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 20])
    parser.add_argument("--library-repeats", type=int, default=1, help="of fairlearn, aif360 and smclarify, which may take minutes")
    parser.add_argument("--most", type=float, default=1800, help="seconds that a library may be expected to need")
    parser.add_argument("--leave-out", nargs="+", default=[], choices=list(PEERS), metavar="PROGRAM", help="programs not to run")
    parser.add_argument("--only-write", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--peer", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--ours", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only_write:
        folder, rows, groups = args.only_write
        return write_files(Path(folder), int(rows), int(groups))
    if args.peer:
        name, folder, threads, groups = args.peer
        return print(json.dumps(PEERS[name](Path(folder), int(threads), int(groups))))
    if args.ours:
        return print(json.dumps(ours(args.ours)))
    args.notes, args.walls = [], {}
    (args.folder / "metrics").mkdir(parents=True, exist_ok=True)
    args.floor_program = timing.executable(args.floor)
    timing.heading(args, f" ({args.library_repeats} of the libraries)")
    print("over cfaudit: CPU seconds over those of cfaudit, of smclarify over those of cfaudit, Clarify")
    timing.table("program | rows | groups | threads | CPU s | wall s | peak MB | over cfaudit | over the floor")
    for rows in args.rows:
        for groups in args.groups:
            case(args, rows, groups)
    print("\n" + "\n".join(args.notes))


if __name__ == "__main__":
    main()
