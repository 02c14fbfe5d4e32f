//! Pages of hand-made folders: what must be on them, what must not, how large they may be.
//!
//! The counts of the two-group folder are the published LightGBM counts of the income data (16 of
//! 122 female approvals lost);
//! other folders are filled by a small fixed rule. `CFAUDIT_PAGES=<folder>` keeps the pages, to be
//! looked at.

mod brief;
mod changed_tables;
mod plausibility;
mod recourse;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::folder::manifest::{
    AttributeWords, AwaitedScores, InputFile, LabelWords, Manifest, ModelWords, PolicyVersions,
    RecheckWords, ReportWords, RowCounts, SetWords,
};
use crate::report::page::glossary::GlossaryEntry;
use crate::report::render;
use crate::table::file::write_rows;
use crate::table::{
    AuditKey, CountRow, FilterRow, GateRow, GroupRow, IssueRow, MetricRow, ScoreShiftRow, TableRow,
};

/// Cells of one direction by label (negative, positive), factual and counterfactual prediction.
type EccmSample = [[[i64; 2]; 2]; 2];

/// One gate: name, verdict, level, metric, direction, decides.
type GateSample =
    (&'static str, &'static str, &'static str, &'static str, Option<(usize, usize)>, i64);

/// A folder to be written.
struct FolderSample {
    groups: Vec<String>,
    sets: Vec<(&'static str, &'static str)>,
    models: Vec<&'static str>,
    labelled: bool,
    favourable_is_positive: bool,
    stand_in: bool,
    gates: Vec<GateSample>,
    left_out: bool,
    /// Whether people have weights: 2 for those on top of a rate, for those who switch and for
    /// those who fall; 1 for others.
    weighted: bool,
    /// Whether Clarify's metrics are measured, and if so whether against the rest.
    clarify: Option<bool>,
    /// What the tables of quality hold; none = there are none.
    quality: Option<plausibility::QualitySample>,
    /// Cells of the direction between two groups in a set.
    cells: fn(set: usize, from: usize, to: usize) -> EccmSample,
}

/// Published: 122 of 1042 women approved, 16 of them lost as men; other cells plausible.
fn published(set: usize, from: usize, _: usize) -> EccmSample {
    match (set, from) {
        (0, 0) => [[[700, 12], [5, 18]], [[105, 21], [8, 160]]],
        (0, _) => [[[760, 9], [9, 25]], [[110, 16], [7, 81]]],
        (_, 0) => [[[690, 22], [6, 17]], [[98, 28], [9, 159]]],
        _ => [[[750, 19], [14, 20]], [[101, 25], [18, 70]]],
    }
}

fn spread(set: usize, from: usize, to: usize) -> EccmSample {
    let n = |i: usize| i64::try_from((from * 37 + to * 61 + set * 17 + i * 29) % 41).unwrap_or(0);
    [
        [[300 + 3 * n(0), n(1)], [n(2) / 2, 40 + n(3)]],
        [[50 + n(4), n(5) / 3], [n(6) / 2, 120 + n(7)]],
    ]
}

fn still(_: usize, from: usize, _: usize) -> EccmSample {
    let n = i64::try_from(from).unwrap_or(0);
    [[[300 + n, 0], [0, 40]], [[50, 0], [0, 120 + n]]]
}

/// Nobody in the second group is predicted positive; the first has few.
fn thin(_: usize, from: usize, _: usize) -> EccmSample {
    if from == 0 {
        [[[20, 1], [0, 2]], [[3, 0], [3, 2]]]
    } else {
        [[[25, 1], [0, 0]], [[3, 0], [0, 0]]]
    }
}

fn names(groups: &[&str]) -> Vec<String> {
    groups.iter().map(|g| (*g).to_owned()).collect()
}

fn two_groups() -> FolderSample {
    FolderSample {
        groups: names(&["Male", "Female"]),
        sets: vec![("flip", "naive"), ("world", "greedy")],
        models: vec!["gbm"],
        labelled: true,
        favourable_is_positive: true,
        stand_in: false,
        gates: vec![
            ("women-keep-approvals", "inconclusive", "fail", "nsr", Some((1, 0)), 1),
            ("four-fifths", "fail", "warn", "di", Some((0, 1)), 1),
            ("any-group-loses", "pass", "fail", "nsr", Some((0, 1)), 1),
            ("any-group-loses", "pass", "fail", "nsr", Some((1, 0)), 0),
            ("no-worse-than-last", "skipped", "fail", "sr", None, 1),
        ],
        left_out: true,
        weighted: false,
        clarify: Some(false),
        quality: None,
        cells: published,
    }
}

fn wilson(part: i64, whole: i64) -> Option<(f64, f64)> {
    let (x, n, z) = (part as f64, whole as f64, 1.959_963_984_540_054f64);
    let middle = (x + z * z / 2.0) / (n + z * z);
    let half = z / (n + z * z) * (x * (n - x) / n + z * z / 4.0).sqrt();
    (whole > 0).then_some((
        if part == 0 { 0.0 } else { middle - half },
        if part == whole { 1.0 } else { middle + half },
    ))
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct ValuePlace<'a> {
    model: &'a str,
    set: &'a str,
    scope: &'a str,
    from: &'a str,
    to: &'a str,
}

impl ValuePlace<'_> {
    fn metric(&self) -> MetricRow {
        MetricRow {
            key: AuditKey {
                model: self.model.into(),
                counterfactual: self.set.into(),
                sensitive: "group of people".into(),
                scope: self.scope.into(),
                from_group: self.from.into(),
                to_group: self.to.into(),
                ..AuditKey::default()
            },
            ..MetricRow::default()
        }
    }

    fn count(&self) -> CountRow {
        CountRow { key: self.metric().key, ..CountRow::default() }
    }

    fn bin(&self) -> ScoreShiftRow {
        ScoreShiftRow { key: self.metric().key, ..ScoreShiftRow::default() }
    }
}

/// What a test writes as a value.
enum SampleValue {
    Rate(i64, i64, &'static str),
    Number(f64),
    None(&'static str),
}

fn push(
    frame: &mut Vec<MetricRow>,
    at: ValuePlace<'_>,
    metric: &str,
    family: &str,
    value: &SampleValue,
    n_rows: i64,
    impaired: &str,
) {
    let method = match (value, family) {
        (SampleValue::Rate(..), _) => "wilson",
        (_, "shift") => "poisson-bootstrap",
        _ => "bootstrap",
    };
    let (number, undefined, part, whole, interval, flags) = match value {
        SampleValue::Rate(_, 0, reason) => (None, *reason, Some(0), Some(0), None, ""),
        SampleValue::Rate(part, whole, _) => {
            let flags = if *whole < 10 { "small_denominator" } else { "" };
            (
                Some(*part as f64 / *whole as f64),
                "",
                Some(*part),
                Some(*whole),
                wilson(*part, *whole),
                flags,
            )
        }
        SampleValue::Number(value) => {
            (Some(*value), "", None, None, Some((value - 0.03, value + 0.03)), "")
        }
        SampleValue::None(reason) => (None, *reason, None, None, None, ""),
    };
    // As sets with a placebo have it: naive ones have no noise, the others some.
    let (placebo, repeats) = match at.set {
        "flip" => (Some((0.0, 0.0)), Some(20)),
        "world" => (Some((0.011, 0.042)), Some(20)),
        _ => (None, None),
    };
    frame.push(MetricRow {
        metric: metric.into(),
        family: family.into(),
        value: number,
        undefined: undefined.into(),
        numerator: part,
        denominator: whole,
        n_rows,
        lo: interval.map(|i| i.0),
        hi: interval.map(|i| i.1),
        level: interval.map(|_| 0.95),
        interval: method.into(),
        ci_method: format!("{method} in full").into(),
        placebo_lo: placebo.map(|ends| ends.0),
        placebo_hi: placebo.map(|ends| ends.1),
        placebo_repeats: repeats,
        ideal: Some(0.0),
        flags: flags.into(),
        impaired_group: impaired.into(),
        ..at.metric()
    });
}

fn measure_switches(frame: &mut Vec<MetricRow>, at: ValuePlace<'_>, cells: &EccmSample) {
    let sum = |f: usize, c: usize| cells[0][f][c] + cells[1][f][c];
    let (cn, sp, sn, cp) = (sum(0, 0), sum(0, 1), sum(1, 0), sum(1, 1));
    let n = cn + sp + sn + cp;
    let rate = SampleValue::Rate;
    let [[[tcn, tsp], [fsn, fcp]], [[fcn, fsp], [tsn, tcp]]] = *cells;
    let none = "no_predicted_positive";
    for (metric, value) in [
        ("sr", rate(sp + sn, n, "empty_group")),
        ("cr", rate(cp + cn, n, "empty_group")),
        ("psr", rate(sp, sp + cn, "no_predicted_negative")),
        ("ncr", rate(cn, sp + cn, "no_predicted_negative")),
        ("nsr", rate(sn, sn + cp, none)),
        ("pcr", rate(cp, sn + cp, none)),
        ("pcp", rate(cp, cp + sp, "no_counterfactual_predicted_positive")),
        ("psdr", rate(sp, cp + sp, "no_counterfactual_predicted_positive")),
        (
            "cmcc",
            if sn + cp > 0 {
                SampleValue::Number(1.0 - 2.0 * (sp + sn) as f64 / n as f64)
            } else {
                SampleValue::None("degenerate_marginal")
            },
        ),
        (
            "p2nr",
            if sn > 0 {
                SampleValue::Number((sp * (sn + cp)) as f64 / (sn * (sp + cn)) as f64)
            } else {
                SampleValue::None("zero_negative_switch_rate")
            },
        ),
    ] {
        let impaired = match metric {
            "nsr" => at.to,
            "psr" => at.from,
            _ => "",
        };
        push(frame, at, metric, "ccm", &value, n, impaired);
    }
    for (metric, value) in [
        ("tpsr", rate(tsn, tsn + tcp, "no_true_positive")),
        ("fpsr", rate(fsn, fsn + fcp, "no_false_positive")),
        ("tnsr", rate(tsp, tsp + tcn, "no_true_negative")),
        ("fnsr", rate(fsp, fsp + fcn, "no_false_negative")),
    ] {
        push(frame, at, metric, "eccm", &value, n, "");
    }
    for (metric, value) in [
        ("rmscd", 0.0588),
        ("mcd", -0.0123),
        ("macd", 0.0311),
        ("jscd", 0.131),
        ("kld", 0.0171),
        ("jsd_hist", 0.0402),
    ] {
        push(frame, at, metric, "shift", &SampleValue::Number(value), n, "");
    }
}

fn count_cells(frame: &mut Vec<CountRow>, at: ValuePlace<'_>, cells: &EccmSample, labelled: bool) {
    for (label, rows) in cells.iter().enumerate() {
        for (predicted, row) in rows.iter().enumerate() {
            for (cf, n) in row.iter().enumerate() {
                let n =
                    if labelled { *n } else { cells[0][predicted][cf] + cells[1][predicted][cf] };
                let label = if labelled { label.to_string() } else { String::new() };
                frame.push(CountRow {
                    label: label.into(),
                    predicted: predicted.to_string().into(),
                    predicted_cf: cf.to_string().into(),
                    n,
                    shift_sq: Some(0),
                    ..at.count()
                });
            }
        }
        if !labelled {
            return;
        }
    }
}

/// Clarify's metrics of one comparison.
fn write_facets(metrics: &mut Vec<MetricRow>, at: ValuePlace<'_>) {
    for (metric, value) in [
        ("dppl", 0.162),
        ("rd", 0.081),
        ("cddpl", 0.07),
        ("ft", -0.012),
        ("dcacc", -0.4),
        ("undefined_strata", 2.0),
    ]
    .map(|(m, v)| (m, SampleValue::Number(v)))
    {
        push(metrics, at, metric, "clarify", &value, 800, if metric == "rd" { at.to } else { "" });
    }
    let row = metrics.iter_mut().rev().find(|row| row.metric == "ft").unwrap();
    row.ci_method = "percentile bootstrap of people, their neighbours fixed; 5 neighbours".into();
    push(metrics, at, "te", "clarify", &SampleValue::None("operand_undefined"), 800, "");
}

fn shift(frame: &mut Vec<ScoreShiftRow>, at: ValuePlace<'_>, n: i64) {
    let mut bins = |side: &str, count: i32, lo: f64, width: f64, height: &dyn Fn(f64) -> f64| {
        for i in 0..count {
            let left = lo + f64::from(i) * width;
            let n = (n as f64 * height(left + width / 2.0)) as i64;
            frame.push(ScoreShiftRow {
                side: side.into(),
                bin_lo: left,
                bin_hi: left + width,
                n,
                ..at.bin()
            });
        }
    };
    bins("original", 50, 0.0, 0.02, &|x| 0.08 * (1.0 - x) * (1.0 - x) + 0.012 * x);
    bins("counterfactual", 50, 0.0, 0.02, &|x| 0.07 * (1.0 - x) * (1.0 - x) + 0.017 * x);
    bins("change", 80, -1.0, 0.025, &|x| {
        if x.abs() < 0.33 { 0.21 / (1.0 + 150.0 * (x + 0.04) * (x + 0.04)) } else { 0.0 }
    });
}

/// Fills the columns of weights.
fn weigh(
    metrics: &mut [MetricRow],
    counts: &mut [CountRow],
    shifts: &mut [ScoreShiftRow],
    groups: &mut [GroupRow],
) {
    for row in metrics {
        let Some((part, whole)) = row.numerator.zip(row.denominator) else { continue };
        let (part, whole) = (2.0 * part as f64, (whole + part) as f64);
        if whole > 0.0 {
            (row.weight_numerator, row.weight_denominator) = (Some(part), Some(whole));
            (row.value, row.interval) = (Some(part / whole), "block-bootstrap".into());
        }
    }
    let weight = |n: i64, twice: bool| Some(n as f64 * if twice { 2.0 } else { 1.0 });
    for row in counts {
        row.weight = weight(row.n, row.predicted != row.predicted_cf);
    }
    for row in shifts {
        row.weight = weight(row.n, row.bin_hi <= 0.0);
    }
    for row in groups {
        row.weight = weight(row.n, false);
    }
}

impl FolderSample {
    fn write(&self, folder: &Path) {
        let tables = folder.join("tables");
        fs::create_dir_all(&tables).unwrap();
        let (mut metrics, mut counts, mut shifts, mut groups) = (
            Vec::<MetricRow>::new(),
            Vec::<CountRow>::new(),
            Vec::<ScoreShiftRow>::new(),
            Vec::<GroupRow>::new(),
        );
        for model in &self.models {
            for (s, (set, _)) in self.sets.iter().enumerate() {
                let mut total = EccmSample::default();
                for (f, from) in self.groups.iter().enumerate() {
                    for (t, to) in self.groups.iter().enumerate().filter(|(t, _)| *t != f) {
                        let cells = (self.cells)(s, f, t);
                        let at = ValuePlace { model, set, scope: "direction", from, to };
                        measure_switches(&mut metrics, at, &cells);
                        count_cells(&mut counts, at, &cells, self.labelled);
                        shift(&mut shifts, at, cells.iter().flatten().flatten().sum());
                        for (l, f, c) in (0..8).map(|i| (i / 4, i / 2 % 2, i % 2)) {
                            total[l][f][c] += cells[l][f][c];
                        }
                        if f < t {
                            for metric in ["sr", "nsr", "psr", "cmcc"] {
                                let at = ValuePlace { scope: "difference", ..at };
                                push(
                                    &mut metrics,
                                    at,
                                    metric,
                                    "ccm",
                                    &SampleValue::Number(-0.0421),
                                    10,
                                    to,
                                );
                            }
                            push(
                                &mut metrics,
                                ValuePlace { scope: "difference", ..at },
                                "rmscd",
                                "shift",
                                &SampleValue::Number(0.0213),
                                10,
                                "",
                            );
                        }
                    }
                    if self.groups.len() > 2 {
                        self.write_rests(
                            ValuePlace { model, set, scope: "", from, to: "" },
                            s,
                            f,
                            &mut metrics,
                        );
                    }
                }
                let at = ValuePlace { model, set, scope: "total", from: "", to: "" };
                measure_switches(&mut metrics, at, &total);
                count_cells(&mut counts, at, &total, self.labelled);
            }
            self.write_groups(model, &mut metrics, &mut groups);
        }
        if self.weighted {
            weigh(&mut metrics, &mut counts, &mut shifts, &mut groups);
        }
        write_rows(&tables, &metrics).unwrap();
        write_rows(&tables, &counts).unwrap();
        write_rows(&tables, &shifts).unwrap();
        write_rows(&tables, &groups).unwrap();
        write_rows(&tables, &self.gates()).unwrap();
        if let Some(worlds) = &self.quality {
            worlds.write(self, &tables);
        }
        if self.left_out {
            write_rows(&tables, &filters()).unwrap();
            write_rows(&tables, &issues()).unwrap();
        }
        let manifest = serde_json::to_string_pretty(&self.manifest()).unwrap();
        fs::write(folder.join("manifest.json"), manifest).unwrap();
        fs::write(
            folder.join("job.resolved.yaml"),
            "cfaudit: 1\nname: adult-sex\n\
             data:\n  rows: {catalog: adult}\n  label: {column: income, positive: [\">50K\"], \
             favourable: positive}\n",
        )
        .unwrap();
    }

    /// One group against the rest: the directions added up.
    fn write_rests(&self, at: ValuePlace<'_>, s: usize, f: usize, metrics: &mut Vec<MetricRow>) {
        let (mut to_rest, mut from_rest) = (EccmSample::default(), EccmSample::default());
        for other in (0..self.groups.len()).filter(|other| *other != f) {
            for (l, p, c) in (0..8).map(|i| (i / 4, i / 2 % 2, i % 2)) {
                to_rest[l][p][c] += (self.cells)(s, f, other)[l][p][c];
                from_rest[l][p][c] += (self.cells)(s, other, f)[l][p][c];
            }
        }
        let scope = ValuePlace { scope: "one_to_rest", ..at };
        measure_switches(metrics, scope, &to_rest);
        for (metric, part) in [("sr_any", 31), ("psr_any", 12), ("nsr_any", 19)] {
            push(
                metrics,
                scope,
                metric,
                "ccm",
                &SampleValue::Rate(part + f as i64, 200, ""),
                200,
                "",
            );
        }
        measure_switches(
            metrics,
            ValuePlace { scope: "rest_to_one", from: "", to: at.from, ..at },
            &from_rest,
        );
    }

    fn write_groups(&self, model: &str, metrics: &mut Vec<MetricRow>, groups: &mut Vec<GroupRow>) {
        for (f, group) in self.groups.iter().enumerate() {
            let cells = (self.cells)(0, f, usize::from(f == 0));
            let of = |l: usize, p: usize| cells[l][p][0] + cells[l][p][1];
            let (tn, fp, fn_, tp) = (of(0, 0), of(0, 1), of(1, 0), of(1, 1));
            let n = tn + fp + fn_ + tp;
            let at = ValuePlace { model, set: "", scope: "group", from: group, to: "" };
            let mut rates = vec![("pprev", tp + fp, n, "empty_group")];
            if self.labelled {
                rates.extend([
                    ("prev", tp + fn_, n, "empty_group"),
                    ("acc", tp + tn, n, "empty_group"),
                    ("tpr", tp, tp + fn_, "no_actual_positive"),
                ]);
                rates.extend([
                    ("tnr", tn, tn + fp, "no_actual_negative"),
                    ("fpr", fp, tn + fp, "no_actual_negative"),
                    ("ppv", tp, tp + fp, "no_predicted_positive"),
                ]);
                push(metrics, at, "f1", "performance", &SampleValue::Number(0.712), n, "");
                push(metrics, at, "mcc", "performance", &SampleValue::Number(0.61), n, "");
            }
            for (metric, part, whole, reason) in rates {
                push(
                    metrics,
                    at,
                    metric,
                    "performance",
                    &SampleValue::Rate(part, whole, reason),
                    n,
                    "",
                );
            }
            groups.push(GroupRow {
                model: model.into(),
                sensitive: "group of people".into(),
                group: group.into(),
                n,
                n_positive: Some(tp + fn_),
                n_predicted_positive: tp + fp,
                n_missing_counterfactual_score: i64::from(self.left_out) * 3,
                n_missing_stratum: self.clarify.map(|_| 4),
                ..GroupRow::default()
            });
            for (t, to) in self.groups.iter().enumerate().skip(f + 1) {
                let at = ValuePlace { scope: "pair", to, ..at };
                let gap = (t as f64 - f as f64) / 40.0 + 0.02;
                for (metric, value) in [
                    ("demp_difference", gap),
                    ("di", 1.0 - gap),
                    ("eodds", gap / 2.0),
                    ("pprev_difference", gap),
                    ("pprev_ratio", 1.0 + gap),
                    ("f1_difference", -gap),
                ] {
                    push(metrics, at, metric, "group", &SampleValue::Number(value), n, to);
                }
            }
            if self.groups.len() > 2 {
                push(
                    metrics,
                    ValuePlace { scope: "one_vs_rest", ..at },
                    "demp_difference",
                    "group",
                    &SampleValue::Number(0.031),
                    n,
                    "",
                );
            }
            match self.clarify {
                Some(false) if f == 0 => {
                    for to in &self.groups[1..] {
                        write_facets(metrics, ValuePlace { scope: "pair", to, ..at });
                    }
                }
                Some(true) => write_facets(
                    metrics,
                    ValuePlace { scope: "one_vs_rest", from: "", to: group, ..at },
                ),
                _ => {}
            }
        }
        let all = ValuePlace { model, set: "", scope: "worst_case", from: "", to: "" };
        for (metric, value) in
            [("demp_difference", 0.123), ("eopp_difference", 0.2), ("pprev_to_total", 0.07)]
        {
            push(metrics, all, metric, "group", &SampleValue::Number(value), 900, "");
            let row = metrics.last_mut().unwrap();
            row.highest_group = self.groups[1].as_str().into();
            row.lowest_group = self.groups[0].as_str().into();
            row.groups_undefined = Some(1);
        }
        if self.clarify.is_some() {
            push(
                metrics,
                ValuePlace { scope: "total", ..all },
                "ge",
                "clarify",
                &SampleValue::Number(0.132),
                900,
                "",
            );
        }
    }

    fn gates(&self) -> Vec<GateRow> {
        let mut frame = Vec::new();
        for (gate, verdict, level, metric, direction, decides) in &self.gates {
            let (from, to) = direction.map_or((String::new(), String::new()), |(f, t)| {
                (self.groups[f].clone(), self.groups[t].clone())
            });
            let set = if *metric == "di" { "" } else { "flip" };
            let skipped = *verdict == "skipped";
            let number = |x: f64| (!skipped).then_some(x);
            let cases = |n: i64| (!skipped).then_some(n);
            frame.push(GateRow {
                gate: (*gate).into(),
                sensitive: "group of people".into(),
                from_group: from.into(),
                to_group: to.into(),
                scope: if *metric == "di" { "pair" } else { "direction" }.into(),
                verdict: (*verdict).into(),
                level: (*level).into(),
                metric: (*metric).into(),
                model: "gbm".into(),
                counterfactual: set.into(),
                value: number(0.131),
                lo: number(0.082),
                hi: number(0.202),
                limit: 0.1,
                rule: "at_most, interval".into(),
                numerator: cases(16),
                denominator: cases(122),
                enough: 50,
                reason: if skipped {
                    "there is no baseline"
                } else {
                    "the limit lies inside the interval"
                }
                .into(),
                job_line: 88,
                decides: *decides,
                ..GateRow::default()
            });
        }
        frame
    }

    fn manifest(&self) -> Manifest {
        let set = |(name, strategy): &(&str, &str)| SetWords {
            name: (*name).to_owned(),
            strategy: (*strategy).to_owned(),
            knobs: if *strategy == "greedy" {
                vec!["condition_on: label".to_owned()]
            } else {
                Vec::new()
            },
            attributes: vec!["group of people".to_owned()],
            placebo: Some(20),
            ..SetWords::default()
        };
        Manifest {
            baseline: None,
            stopped_after: None,
            history: Vec::new(),
            answers: Vec::new(),
            cfaudit: 1,
            program: "0.1.0".to_owned(),
            job: "adult-sex".to_owned(),
            run: "7d0c1f".to_owned(),
            job_hash: "ab".repeat(32),
            stand_in: self.stand_in.then(|| "adult".to_owned()),
            favourable_without_label: None,
            words: ReportWords {
                title: "Counterfactual fairness of the income model".to_owned(),
                decision: Some(
                    "Grant a loan to people predicted to earn more than 50 000 a year".to_owned(),
                ),
                owner: Some("credit-risk@example.org".to_owned()),
                version: Some("2026.11".to_owned()),
                rows_shown: 20,
                gate_notes: BTreeMap::from([(
                    "four-fifths".to_owned(),
                    "a screening ratio".to_owned(),
                )]),
                ..ReportWords::default()
            },
            label: self.labelled.then(|| LabelWords {
                column: "income".to_owned(),
                positive: vec![">50K".to_owned()],
                negative: vec!["<=50K".to_owned()],
                classes: Vec::new(),
                favourable_is_positive: self.favourable_is_positive,
                words: None,
            }),
            attributes: vec![AttributeWords {
                name: "group of people".to_owned(),
                groups: self.groups.clone(),
                reference: self.groups[0].clone(),
                made_of: None,
                ..AttributeWords::default()
            }],
            names: BTreeMap::new(),
            counterfactuals: self.sets.iter().map(set).collect(),
            experiments: Vec::new(),
            models: self
                .models
                .iter()
                .map(|name| ModelWords {
                    name: (*name).to_owned(),
                    kind: "logistic".to_owned(),
                    words: "Logistic regression on 12 columns, L2 penalty 1".to_owned(),
                    threshold: "0.5".to_owned(),
                    threshold_rule: "ge".to_owned(),
                    scale: None,
                    amount: None,
                    recheck: None,
                    expect: None,
                })
                .collect(),
            families: Vec::new(),
            level: Some(0.95),
            bootstrap_samples: 2000,
            seed: 20_231_107,
            rows: RowCounts { source: 48_842, kept: 45_222, trained: 30_162, audited: 16_281 },
            row_id: "row number".to_owned(),
            person: None,
            weight: self.weighted.then(|| "fnlwgt".to_owned()),
            split: "column `split`: train trains, test is audited".to_owned(),
            inputs: vec![InputFile {
                what: "data".to_owned(),
                path: "data/adult/adult.data".to_owned(),
                sha256: "cd".repeat(32),
                etag: None,
                bytes: 3_974_305,
            }],
            sets: vec!["model_version=2026.11".to_owned()],
            command: "cfaudit run jobs/adult.yaml --set model_version=2026.11".to_owned(),
            tables: BTreeMap::from([("metrics".to_owned(), 1)]),
            policies: PolicyVersions::default(),
            files: BTreeMap::from([("tables/metrics.parquet".to_owned(), "ef".repeat(32))]),
            awaited: Vec::new(),
        }
    }
}

fn filters() -> Vec<FilterRow> {
    vec![
        FilterRow {
            step: 1,
            what: "keep: hours-per-week above 0".into(),
            rows_in: 48_842,
            rows_out: 48_842,
        },
        FilterRow {
            step: 2,
            what: "missing: drop rows without occupation".into(),
            rows_in: 48_842,
            rows_out: 45_222,
        },
    ]
}

fn issues() -> Vec<IssueRow> {
    vec![IssueRow {
        code: "unknown-group".into(),
        severity: "warning".into(),
        r#where: "sex".into(),
        n: 7,
        text: "7 of 16192 rows of groups that the job does not name are left out".into(),
    }]
}

fn glossary(id: &str) -> Option<GlossaryEntry> {
    let (symbol, name, formula) = match id {
        "sr" => ("SR", "switch rate", "(SP + SN) / N"),
        "nsr" => ("NSR", "negative switch rate", "SN / (SN + CP)"),
        "psr" => ("PSR", "positive switch rate", "SP / (SP + CN)"),
        "di" => ("DI", "disparate impact", "PPREV_B / PPREV_A"),
        "pprev" => ("PPREV", "predicted prevalence", "PP / N"),
        "demp_difference" => ("DemP", "demographic parity difference", "PPREV_A - PPREV_B"),
        "rmscd" => ("RMSCD", "root mean square counterfactual difference", "sqrt(mean((c - s)^2))"),
        "unheard_of" => return None,
        other => {
            return Some(GlossaryEntry {
                symbol: other.to_uppercase(),
                name: format!("metric {other}"),
                formula: "a / b".to_owned(),
                ..GlossaryEntry::default()
            });
        }
    };
    Some(GlossaryEntry {
        id: id.to_owned(),
        symbol: symbol.to_owned(),
        name: name.to_owned(),
        family: "ccm".to_owned(),
        formula: formula.to_owned(),
        reading: "Share of predictions that are otherwise in the counterfactual world.".to_owned(),
        range: "0 to 1".to_owned(),
        ideal: "0".to_owned(),
        undefined_when: "nobody is counted".to_owned(),
        source: "Towards Counterfactual Group Fairness, section 2.3".to_owned(),
    })
}

/// The annex of a folder.
fn annex(folder: &Path) -> String {
    render(folder, None, &glossary).unwrap().annex.unwrap()
}

/// The annex of a sample; it must hold what every page holds. Thin spaces are plain ones in the
/// result.
fn page(name: &str, sample: &FolderSample) -> String {
    let folder = tempfile::tempdir().unwrap();
    sample.write(folder.path());
    let html = annex(folder.path());
    assert_eq!(html, annex(folder.path()), "same folder, same bytes");
    if let Some(pages) = std::env::var_os("CFAUDIT_PAGES") {
        fs::write(Path::new(&pages).join(format!("{name}.html")), &html).unwrap();
    }
    well_formed(&html);
    assert!(!html.contains("NaN") && !html.contains("not finite"), "{name}");
    assert!(html.len() < 1_000_000, "{name}: {} bytes", html.len());
    let findings =
        &html[html.find(r#"id="findings""#).unwrap()..html.find(r#"id="left-out""#).unwrap()];
    let findings = &findings[..findings.find("</section>").unwrap()];
    assert!(findings.matches("<li>").count() <= 7, "at most seven findings");
    for word in ["significant", "bias", "caused", "discriminat"] {
        assert!(!findings.contains(word), "{word}");
    }
    html.replace('\u{202f}', " ")
}

/// Tags close in order, ids are unique, links lead somewhere, headings go down step by step,
/// nothing runs and nothing is fetched.
fn well_formed(html: &str) {
    check_tags(html, "report.html");
    assert_eq!(html.matches("<table").count(), html.matches("<caption").count());
    assert!(html.contains(r##"class="skip" href="#main""##));
}

/// The same of any page, which may lead to one other file; gives its anchors and the addresses in
/// the other file.
fn check_tags<'h>(html: &'h str, other: &str) -> (BTreeSet<&'h str>, Vec<&'h str>) {
    let mut outside = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let (mut ids, mut links, mut labels, mut last_heading) =
        (BTreeSet::new(), Vec::new(), Vec::new(), 0);
    for piece in html.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "closing tags match");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        assert!(!["script", "img", "link", "iframe", "object"].contains(&name), "{tag}");
        if let Some(level) = name.strip_prefix('h').and_then(|l| l.parse::<u8>().ok()) {
            assert!(level <= last_heading + 1, "heading {level} after {last_heading}");
            last_heading = level;
        }
        for attribute in tag.split('"').collect::<Vec<_>>().chunks(2) {
            let [key, value] = attribute else { continue };
            match key.trim_start_matches(name).trim().trim_end_matches('=') {
                "id" => assert!(
                    !value.is_empty() && ids.insert(*value),
                    "id `{value}` is empty or stands twice"
                ),
                "href" => match value.strip_prefix(other) {
                    Some(address) => outside.push(address),
                    None => links.push(value.strip_prefix('#').expect("links stay in the folder")),
                },
                "aria-labelledby" => labels.extend(value.split(' ')),
                key => assert!(!key.starts_with("on") && key != "src" && key != "style", "{key}"),
            }
        }
        if !tag.ends_with('/') && !["meta", "br", "wbr", "col"].contains(&name) {
            open.push(name);
        }
        assert!(name != "table" || piece.starts_with("table"), "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
    for target in links.into_iter().chain(labels) {
        assert!(ids.contains(target), "nothing has the id {target}");
    }
    assert_eq!(html.matches("<h1>").count(), 1);
    for piece in html.split("<svg").skip(1) {
        let tag = piece.split_once('>').map_or(piece, |(tag, _)| tag);
        assert!(
            tag.contains(r#"role="img""#) || tag.contains(r#"aria-hidden="true""#),
            "a drawing is told or hidden: {tag}"
        );
    }
    for text in ["<main", "<nav", "<header", "<footer", r#"lang="en""#, r##"class="skip" href="#"##]
    {
        assert!(html.contains(text), "{text}");
    }
    (ids, outside)
}

/// The words of a piece of the page, without tags.
fn words(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
        if !["bdi", "code", "a", "b", "span", "wbr"].contains(&name) {
            text.push(' ');
        }
        text.push_str(words);
    }
    text.replace("&gt;", ">")
        .replace("&#x2f;", "/")
        .replace("&#x27;", "'")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

fn section(html: &str, id: &str) -> String {
    let start =
        html.find(&format!(r#"<section id="{id}""#)).unwrap_or_else(|| panic!("no section {id}"));
    let end = html[start..].find("</section>").expect("the section ends");
    words(&html[start..start + end])
}

/// Shares are weighted and say so, counts are people: 16 of 122 weigh 32 of 138.
#[test]
fn weights_are_told_apart_from_people() {
    let html = page("weights", &FolderSample { weighted: true, ..two_groups() });
    let note = "Shares are weighted by fnlwgt; counts are people.";
    for id in ["verdict", "findings", "method"] {
        assert_eq!(section(&html, id).matches(note).count(), 1, "{id}");
    }
    let findings = section(&html, "findings");
    assert!(
        findings.contains(
            "Of 122 people in group Female with the favourable decision, 16 \
             (weighted 23.2 %; 95 % interval 8.2 to 20.2) would lose it if the record said Male"
        ),
        "{findings}"
    );
    assert!(
        !findings.contains("13.1 %") && findings.matches("weighted ").count() >= 5,
        "{findings}"
    );
    let switches = section(&html, "switches");
    assert!(switches.contains("SN 16 23.2 %") && switches.contains("16 of 122"), "{switches}");
    assert!(
        switches.contains("41 switch (weighted 7.75 %)")
            && switches.contains("their shares are weighted, and so is the shade"),
        "{switches}"
    );
    assert!(
        switches.contains(
            "shares are weighted, with the number of cases and its 95 % interval below each value"
        ),
        "{switches}"
    );
    let scores = section(&html, "scores");
    assert!(
        scores.contains("cross the threshold")
            && scores.contains("of zero, ")
            && scores.contains("(weighted "),
        "{scores}"
    );
    assert!(section(&html, "groups").contains("shares are weighted"));
    let method = section(&html, "method");
    assert!(
        method.contains("1000 blocks of people")
            && !method.contains("200 blocks")
            && method.contains("2000 bootstrap replicates"),
        "{method}"
    );
    // Without weights no word of them.
    assert!(!words(&page("two-groups", &two_groups())).contains("eighted "));
}

#[test]
fn two_groups_in_words_and_numbers() {
    let html = page("two-groups", &two_groups());
    let verdict = section(&html, "verdict");
    assert!(
        verdict.contains(
            "Fail 1 of 4 limits is broken. It is set as a warning. 1 of 4 limits cannot be \
             decided. 1 of 4 is not checked."
        ),
        "{verdict}"
    );
    assert!(
        verdict.find("women-keep-approvals") < verdict.find("four-fifths")
            && verdict.contains("13.1 % 8.2 to 20.2")
    );
    assert!(verdict.contains("negative switch rate NSR, Female → Male"), "{verdict}");
    let findings = section(&html, "findings");
    assert!(
        findings.contains(
            "Of 122 people in group Female with the favourable decision, 16 (13.1 %; \
             95 % interval 8.2 to 20.2) would lose it if the record said Male (set flip (naive), \
             model gbm). By this measure the group at a disadvantage is Male."
        ),
        "{findings}"
    );
    // Of a set that moves more than the entry only a comparison is said, and no group is said to be
    // treated worse.
    let compared = "Compared with similar people in group Female, of 838 people in group Male \
                    without the favourable decision, 50 (5.97 %; 95 % interval 4.55 to 7.78; noise \
                    1.10 to 4.20 %) would gain it (set world (greedy), model gbm).";
    assert!(findings.contains(compared), "{findings}");
    assert!(!findings.contains("had they been") && !findings.contains("treat"), "{findings}");
    // What the gates depend on explains the verdict, and is reported once.
    assert!(
        verdict.contains("four-fifths: disparate impact DI, Male over Female")
            && verdict.contains("The job says: a screening ratio"),
        "{verdict}"
    );
    let told = "The gate women-keep-approvals is inconclusive: the limit is at most 10.0 %; the \
                limit lies inside the interval.";
    assert!(findings.contains(told), "{findings}");
    let failed = "The gate four-fifths failed: disparate impact DI, Male over Female, attribute \
                  group of people, model gbm is 0.131 (interval 0.082 to 0.202; 122 cases), \
                  limit at most 0.100; the limit lies inside the interval.";
    assert!(findings.contains(failed), "{findings}");
    assert_eq!(
        findings.matches("Of 122 people in group Female with the favourable decision, 16 ").count(),
        1,
        "{findings}"
    );
    // Then those first that harm most people, the way back in the same line: 0.0455 x 838, 0.0282 x
    // 838, 0.015 x 1017.
    let back = "Also, compared with similar people in group Male, of 122 people in group Female \
                with the favourable decision, 32 (26.2 %";
    let steps = ["50 (5.97 %", back, "33 (3.94 %", "6.57 points apart"];
    let places: Vec<usize> = steps
        .iter()
        .map(|said| findings.find(said).unwrap_or_else(|| panic!("{said}: {findings}")))
        .collect();
    assert!(places.is_sorted(), "{findings}");
    let switches = section(&html, "switches");
    assert!(switches.contains(
        "This test shows direct use of the attribute, not effects through \
         columns that depend on it"
    ));
    assert!(switches.contains("TSN 7 7.95 %") && switches.contains("SN 16 13.1 %"), "{switches}");
    assert!(switches.contains("a naive set uses no sample: its noise floor is zero"), "{switches}");
    assert!(
        switches.contains("16 of 122 8.2 to 20.2 noise 0 %")
            && switches.contains("noise 1.1 to 4.2 %"),
        "{switches}"
    );
    let scores = section(&html, "scores");
    assert!(
        scores.contains("below each value its 95 % interval")
            && scores.contains("0.0588 0.0288 to 0.0888"),
        "{scores}"
    );
    assert!(scores.contains("Male → Female minus Female → Male +0.0213"), "{scores}");
    let method = section(&html, "method");
    for words in [
        "Wilson's score interval",
        "Percentiles of the bootstrap of people, for",
        "with Poisson weights",
        "2000 bootstrap replicates",
    ] {
        assert!(method.contains(words), "{words}: {method}");
    }
    let left_out = section(&html, "left-out");
    assert!(
        left_out.contains("missing: drop rows without occupation 48 842 45 222 3620 (7.41 %)")
            && left_out.contains("unknown-group warning sex 7 7 of 16 192 rows of groups"),
        "{left_out}"
    );
    let groups = section(&html, "groups");
    for said in [
        "Clarify's metrics, the favoured facet first: Male and Female",
        "metric rd RD +8.10 points +5.10 to +11.10 Female",
        "metric ft FT −1.20 points −4.20 to +1.80 5 neighbours –",
        "metric te TE undefined a value on which it depends is undefined –",
        "metric undefined_strata UNDEFINED_STRATA 2.00",
        "metric ge GE, everybody 0.132",
    ] {
        assert!(groups.contains(said), "{said}\n{groups}");
    }
    assert!(!groups.contains("furthest apart"), "of two groups the pair says it");
    assert!(section(&html, "left-out").contains("No stratum"));
    assert!(section(&html, "method").contains("negative switch rate NSR SN / (SN + CP)"));
    assert!(html.contains(r#"<span class="number">8</span> Provenance"#));
    assert!(!html.contains("tand-in data"));
}

/// Three groups, the first the reference: gains of 4 % towards it, and of more between the others.
fn less_than_twice(_: usize, from: usize, to: usize) -> EccmSample {
    let gain = match (from, to) {
        (1, 0) => 40,
        (2, 1) => 70,
        _ => 0,
    };
    [[[1000 - gain, gain], [0, 100]], [[0, 0], [0, 0]]]
}

fn more_than_twice(_: usize, from: usize, to: usize) -> EccmSample {
    let gain = match (from, to) {
        (1, 0) => 40,
        (2, 1) => 150,
        _ => 0,
    };
    [[[1000 - gain, gain], [0, 100]], [[0, 0], [0, 0]]]
}

#[test]
fn one_finding_of_each_comparison_and_that_of_the_reference_unless_others_harm_twice_as_many() {
    let of = |cells| FolderSample {
        groups: names(&["a", "b", "c"]),
        sets: vec![("flip", "naive")],
        gates: Vec::new(),
        cells,
        ..two_groups()
    };
    let findings = |name: &str, cells| section(&page(name, &of(cells)), "findings");
    let (less, more) = (
        findings("less", less_than_twice as fn(usize, usize, usize) -> EccmSample),
        findings("more", more_than_twice),
    );
    assert!(
        less.contains("Of 1000 people in group b without the favourable decision, 40 (4.00 %")
            && !less.contains("70 (7.00 %"),
        "{less}"
    );
    assert!(
        more.contains("Of 1000 people in group c without the favourable decision, 150 (15.0 %")
            && !more.contains("40 (4.00 %"),
        "{more}"
    );
    assert_eq!(
        [&less, &more].map(|told| told.matches("(set flip (naive), model gbm)").count()),
        [1, 1]
    );
    // A finding looks for its way back among the directions of its own comparison.
    let both = FolderSample { models: vec!["gbm", "tree"], ..of(less_than_twice) };
    assert_eq!(section(&page("both", &both), "findings").matches("40 (4.00 %").count(), 2);
}

/// Of groups as they are the pair that harms most people is reported, not the two that are furthest
/// apart, and the reference pair before it.
#[test]
fn the_gap_that_harms_most_is_told() {
    fn shares(_: usize, from: usize, _: usize) -> EccmSample {
        let (n, positive) = [(3000, 1800), (2400, 960), (100, 20), (100, 59)][from];
        [[[n - positive, 0], [positive, 0]], [[0, 0], [0, 0]]]
    }
    let sample = FolderSample {
        groups: names(&["a", "b", "c"]),
        sets: Vec::new(),
        gates: Vec::new(),
        cells: shares,
        ..two_groups()
    };
    // The pairs of hand-made tables are 4.5 % (a, b and b, c) and 7 % (a, c) apart, each by 3 %
    // more or less: b to a harms at least 36 people.
    let findings = section(&page("gaps", &sample), "findings");
    assert!(
        findings.contains("in group b get the favourable decision, and ")
            && findings.contains("in group a: "),
        "{findings}"
    );
    assert!(!findings.contains("in group c get the favourable decision"), "{findings}");
    assert_eq!(findings.matches("In the data, ").count(), 1);
    // Between b and d 96 people at least are harmed: more than twice as many.
    let more = FolderSample {
        groups: names(&["a", "b", "c", "d"]),
        sets: Vec::new(),
        gates: Vec::new(),
        cells: shares,
        ..two_groups()
    };
    let findings = section(&page("gaps-of-others", &more), "findings");
    assert!(
        findings.contains("in group b get the favourable decision, and ")
            && findings.contains("in group d: "),
        "{findings}"
    );
    let both = FolderSample { models: vec!["gbm", "tree"], ..sample };
    assert_eq!(
        section(&page("gaps-of-two", &both), "findings").matches("In the data, ").count(),
        2,
        "one of each model"
    );
}

/// Both parts of a gate on harm stand together, and one verdict is counted.
#[test]
fn a_gate_on_harm_shows_both_parts() {
    let gates = vec![
        ("no-harm", "fail", "fail", "favoured_by_group", Some((0, 1)), 1),
        ("no-harm", "pass", "fail", "denied_by_group", Some((1, 0)), 0),
    ];
    let html = page("harm", &FolderSample { gates, ..two_groups() });
    let verdict = section(&html, "verdict");
    assert!(verdict.contains("Fail The only limit is broken."), "{verdict}");
    let parts = [
        "FAVOURED_BY_GROUP, Male",
        "this part decides",
        "DENIED_BY_GROUP, Female",
        "does not decide",
    ]
    .map(|text| verdict.find(text));
    let plain = "(people of Male with the favourable decision who would lose it as Female)";
    assert!(
        verdict.contains(plain) && verdict.contains("Harm to a group has two parts"),
        "{verdict}"
    );
    assert!(parts[0].is_some() && parts.is_sorted(), "{verdict}");
    assert!(!html.contains("Directions that did not decide"), "{verdict}");
    // What the favourable side makes of it is reported as a finding.
    let findings = section(&html, "findings");
    assert!(
        findings.contains("with the favourable decision, 13 (6.81 %")
            && findings.contains("The gate no-harm failed"),
        "{findings}"
    );
}

/// Against several groups the two parts about one pair of groups are in the table, those about
/// other pairs below it.
#[test]
fn a_gate_on_harm_against_several_groups_shows_two_parts() {
    let part = |metric, ends: (usize, usize), decides: i64| {
        ("no-harm", if decides == 1 { "fail" } else { "pass" }, "warn", metric, Some(ends), decides)
    };
    let gates = vec![
        part("favoured_by_group", (1, 0), 0),
        part("denied_by_group", (0, 1), 0),
        part("favoured_by_group", (2, 0), 1),
        part("denied_by_group", (0, 2), 0),
    ];
    let html = page(
        "harm-of-three",
        &FolderSample { groups: names(&["a", "b", "c"]), cells: spread, gates, ..two_groups() },
    );
    let verdict = section(&html, "verdict");
    let (table, folded) =
        verdict.split_once("Directions that did not decide a gate ").expect("both");
    let rows = |text: &str| text.matches("no-harm: ").count();
    assert_eq!([rows(table), rows(folded)], [2, 2], "{verdict}");
    assert!(
        table.contains("DENIED_BY_GROUP, a \u{2192} c")
            && folded.contains("DENIED_BY_GROUP, a \u{2192} b"),
        "{verdict}"
    );
}

#[test]
fn favourable_words_turn_with_the_label() {
    let html = page(
        "favourable-negative",
        &FolderSample { favourable_is_positive: false, ..two_groups() },
    );
    let findings = section(&html, "findings");
    assert!(
        findings.contains("Favourable means predicted negative, that is, not: income is >50K."),
        "{findings}"
    );
    assert!(
        findings.contains(
            "with the favourable decision, 50 (5.97 %; 95 % interval 4.55 to 7.78; noise \
             1.10 to 4.20 %) would lose it"
        ),
        "{findings}"
    );
    assert!(findings.contains("without the favourable decision"), "{findings}");
}

#[test]
fn without_labels_words_are_neutral() {
    let html = page("no-label", &FolderSample { labelled: false, clarify: None, ..two_groups() });
    let findings = section(&html, "findings");
    assert!(
        findings.contains("Of 122 people in group Female predicted positive, 16")
            && findings.contains("would be predicted negative if"),
        "{findings}"
    );
    assert!(!findings.contains("favourable"));
    assert!(!html.contains("ECCM: split"));
}

#[test]
fn no_gate_asked_and_nothing_left_out() {
    let html = page(
        "no-gates",
        &FolderSample { gates: Vec::new(), left_out: false, clarify: None, ..two_groups() },
    );
    assert!(section(&html, "verdict").contains("No limit The job sets no limit: this page"));
    assert!(section(&html, "left-out").contains("Nothing: no row was dropped"));
}

#[test]
fn verdicts() {
    let gate = |verdict, level| ("g", verdict, level, "nsr", None, 1);
    for (gates, word) in [
        (vec![gate("pass", "fail")], "Pass"),
        (vec![gate("fail", "fail")], "Fail"),
        (vec![gate("fail", "warn")], "Fail"),
        (vec![gate("inconclusive", "fail")], "Cannot tell"),
        (vec![gate("skipped", "fail")], "Not checked"),
        (
            vec![
                ("a", "pass", "fail", "nsr", None, 1),
                ("b", "inconclusive", "fail", "nsr", None, 1),
                ("c", "fail", "fail", "nsr", None, 1),
            ],
            "Fail",
        ),
    ] {
        let html = page("verdict", &FolderSample { gates, ..two_groups() });
        assert!(html.contains(&format!("<p><strong>{word}</strong>")), "{word}");
    }
}

/// Two gates over one value tell its people once; of gates that failed alike those farther beyond
/// the limit come first.
#[test]
fn gates_over_one_value() {
    let gates = vec![
        ("soft", "inconclusive", "warn", "nsr", Some((1, 0)), 1),
        ("hard", "fail", "fail", "nsr", Some((1, 0)), 1),
    ];
    let findings =
        section(&page("gates-twice", &FolderSample { gates, ..two_groups() }), "findings");
    assert_eq!(
        findings.matches("Of 122 people in group Female with the favourable decision, 16 ").count(),
        1,
        "{findings}"
    );
    let (hard, soft) = (
        findings.find("The gate hard failed: the limit is at most"),
        findings.find("The gate soft is inconclusive: negative switch rate"),
    );
    assert!(hard.is_some() && hard < soft, "{findings}");
}

#[test]
fn nothing_switches() {
    let html = page("still", &FolderSample { cells: still, gates: Vec::new(), ..two_groups() });
    let findings = section(&html, "findings");
    assert!(
        findings.contains(
            "No decision changed in any of the 2 comparisons of set, model and \
             attribute: 0 of 2044 counterfactuals"
        ),
        "{findings}"
    );
    assert!(!findings.contains("would lose"));
}

#[test]
fn few_cases_and_undefined_values_are_said() {
    let html = page("thin", &FolderSample { cells: thin, ..two_groups() });
    let findings = section(&html, "findings");
    assert!(
        findings.contains(
            "Too few to tell: 3 of 7 people in group Male with the favourable \
             decision would lose it"
        ),
        "{findings}"
    );
    let method = section(&html, "method");
    let few = "Few cases marks a value of a group with fewer people than the job's min_group_size, \
               or a rate with fewer cases below it than its min_denominator";
    assert!(method.contains(few), "{method}");
    assert!(
        findings.contains(
            "Not defined: how many people with the favourable decision would \
             lose it for Female → Male, because nobody is predicted positive"
        ),
        "{findings}"
    );
    let left_out = section(&html, "left-out");
    assert!(
        left_out.contains("negative switch rate NSR nobody is predicted positive 2 Female → Male"),
        "{left_out}"
    );
    assert!(!html.contains("NaN"));
}

#[test]
fn stand_in_data_are_marked_in_every_section() {
    let html = page("stand-in", &FolderSample { stand_in: true, ..two_groups() });
    assert_eq!(
        html.matches("Stand-in data: not about real people").count(),
        html.matches("<section").count() + 1
    );
}

#[test]
fn five_groups() {
    let sample = FolderSample {
        groups: names(&["White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]),
        cells: spread,
        ..two_groups()
    };
    let html = page("five-groups", &sample);
    let groups = section(&html, "groups");
    for said in [
        "White and Black +16.2 points +13.2 to +19.2 0.955 0.925 to 0.985 +7.00 points",
        "−1.20 points −4.20 to +1.80 5 neighbours",
        "undefined a value on which it depends is undefined",
        "metric ge GE of everybody: 0.132 (0.102 to 0.162).",
        "The groups that are furthest apart: highest minus lowest, lowest over highest",
        "12.3 points 9.3 to 15.3 1 group without a value Black White 7.00 points 4.00 to 10.00 \
         Black",
        "Each group against all others together",
    ] {
        assert!(groups.contains(said), "{said}\n{groups}");
    }
    let rest = section(
        &page("five-groups-rest", &FolderSample { clarify: Some(true), ..sample }),
        "groups",
    );
    assert!(rest.contains("all others and White +16.2 points"), "{rest}");
    assert_eq!(
        html.matches(r#"<div class="direction""#).count(),
        40,
        "20 directions in each of two sets"
    );
    let switches = section(&html, "switches");
    assert!(switches.contains("from the group of the row to the group of the column's number"));
    // The groups with the highest any switch rate first.
    let table = switches.split("People whom any other group would switch").nth(1).unwrap();
    assert!(
        table.find("Other").unwrap() < table.find("White").unwrap() && table.contains("35 of 200"),
        "{table}"
    );
    assert!(table.contains("SR from all others") && table.contains("All groups"), "{table}");
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 380 directions"]
fn twenty_groups_stay_below_a_megabyte() {
    let groups = (0..20).map(|i| format!("{i:02}{}", "x".repeat(198))).collect();
    let sets = vec![("flip", "naive"), ("typical", "greedy"), ("world", "plausible")];
    let html = page(
        "twenty-wide",
        &FolderSample {
            groups,
            sets,
            cells: spread,
            models: vec!["gbm", "logistic", "forest"],
            ..two_groups()
        },
    );
    assert!(
        section(&html, "switches")
            .contains("of 380 ordered pairs of groups with the highest switch rates")
    );
    let few = page(
        "twenty-short",
        &FolderSample {
            groups: (1..=20).map(|i| format!("g{i}")).collect(),
            sets: vec![("flip", "naive")],
            cells: spread,
            ..two_groups()
        },
    );
    assert!(section(&few, "switches").contains("Shown are the 20 of 380 ordered pairs"));
}

#[test]
fn hostile_text_is_only_text() {
    let groups =
        names(&["<script>alert(1)</script>", "\"' onload=x \u{202e}elaM\u{0}", "{{ 7 * 7 }}", ""]);
    let groups =
        groups.into_iter().map(|g| if g.is_empty() { "é".repeat(200) } else { g }).collect();
    let folder = tempfile::tempdir().unwrap();
    let sample = FolderSample {
        groups,
        cells: spread,
        gates: vec![("<b>gate</b>", "fail", "fail", "unheard_of", Some((0, 1)), 1)],
        ..two_groups()
    };
    sample.write(folder.path());
    let evil = |id: &str| {
        glossary(id).map(|e| GlossaryEntry {
            name: "</dt><script>".to_owned(),
            formula: "a < b & c".to_owned(),
            ..e
        })
    };
    let html = render(folder.path(), Some("</title><script>alert(2)</script>\u{1b}"), &evil)
        .unwrap()
        .annex
        .unwrap();
    well_formed(&html);
    if let Some(pages) = std::env::var_os("CFAUDIT_PAGES") {
        fs::write(Path::new(&pages).join("hostile.html"), &html).unwrap();
    }
    assert!(
        !html.contains("<script")
            && !html.contains("\u{202e}")
            && !html.contains('\u{0}')
            && !html.contains('\u{1b}')
    );
    assert!(
        html.contains("&lt;script&gt;alert(1)")
            && html.contains("[U+202E]elaM\u{2400}")
            && html.contains("{{ 7 * 7 }}")
    );
    let cut = format!("{}\u{2026}{}", "é".repeat(40), "é".repeat(20));
    assert!(
        html.contains(&cut) && !html.contains(&"é".repeat(41)),
        "very long names lose their middle, here as in the drawings"
    );
    assert!(html.contains("unheard_of"), "a metric without an entry is called by its id");
}

#[test]
fn the_page_does_not_depend_on_files_written_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let sample = two_groups();
    sample.write(folder.path());
    let before = annex(folder.path());
    let mut manifest = sample.manifest();
    for file in ["report.html", "summary.json", "rows/outcomes.parquet", "exports/junit.xml"] {
        manifest.files.insert(file.to_owned(), "12".repeat(32));
    }
    fs::write(folder.path().join("manifest.json"), serde_json::to_string(&manifest).unwrap())
        .unwrap();
    assert_eq!(before, annex(folder.path()));
}

#[test]
fn a_folder_without_numbers_still_gives_a_page() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(
        folder.path().join("manifest.json"),
        serde_json::to_string(&Manifest::default()).unwrap(),
    )
    .unwrap();
    fs::write(folder.path().join("job.resolved.yaml"), "").unwrap();
    let html = annex(folder.path());
    well_formed(&html);
    assert!(section(&html, "findings").contains("There are no findings"));
    assert!(
        html.contains(r#"<span class="number">5</span> Provenance"#),
        "headings are numbered by what is there"
    );
}

#[test]
fn a_run_that_waits_says_what_is_awaited_and_shows_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let sample = FolderSample { models: vec!["live", "gbm"], ..two_groups() };
    fs::create_dir(folder.path().join("tables")).unwrap();
    write_rows(&folder.path().join("tables"), &filters()).unwrap();
    let file = |counterfactual: &str, path: &str, again| AwaitedScores {
        model: "live".to_owned(),
        counterfactual: counterfactual.to_owned(),
        path: path.to_owned(),
        columns: ["row_id", "sensitive", "to_group", "cf_index", "p"].map(str::to_owned).to_vec(),
        to_score: format!("to-score/{counterfactual}"),
        request: "ab".repeat(32),
        rows: 16_281,
        again,
    };
    let awaited =
        vec![file("flip", "lake/<flip>.parquet", 163), file("world", "lake/world.parquet", 0)];
    let manifest = Manifest { awaited, ..sample.manifest() };
    fs::write(folder.path().join("manifest.json"), serde_json::to_string(&manifest).unwrap())
        .unwrap();
    fs::write(folder.path().join("job.resolved.yaml"), "cfaudit: 1\n").unwrap();
    let html = annex(folder.path());
    if let Some(pages) = std::env::var_os("CFAUDIT_PAGES") {
        fs::write(Path::new(&pages).join("waiting.html"), &html).unwrap();
    }
    well_formed(&html);
    let html = html.replace('\u{202f}', " ");
    let waiting = section(&html, "waiting");
    for said in [
        "Waiting for scores 2 files of scores are missing. Nothing was measured, and no gate \
         was judged.",
        "lake/&lt;flip>.parquet live counterfactual set flip 16 281 163 of them unchanged, to \
         compare to-score/flip row_id, sensitive, to_group, cf_index, p",
        "run the same command again",
        "Lines whose from_group equals to_group are rows as they are.",
        "compared with the others when all scores have arrived: gbm.",
    ] {
        assert!(waiting.contains(said), "{said}\n{waiting}");
    }
    assert!(section(&html, "left-out").contains("Rows dropped by each step"));
    for absent in ["metrics.parquet", "id=\"verdict\"", "id=\"findings\"", "interval"] {
        assert!(!html[html.find("<main").unwrap()..].contains(absent), "{absent}");
    }
}

#[test]
fn rows_scored_again_are_told_in_the_method() {
    let folder = tempfile::tempdir().unwrap();
    two_groups().write(folder.path());
    let mut manifest = two_groups().manifest();
    "scores".clone_into(&mut manifest.models[0].kind);
    manifest.models[0].recheck =
        Some(RecheckWords { rows: 163, differ: 0, largest: 4.2e-8, switches: None });
    fs::write(folder.path().join("manifest.json"), serde_json::to_string(&manifest).unwrap())
        .unwrap();
    let html = annex(folder.path());
    well_formed(&html);
    let method = section(&html, "method");
    let said = "model gbm scored 163 rows again together with the counterfactuals; the largest \
                difference from their factual scores is 4.20 × 10⁻⁸.";
    assert!(method.contains(said), "{method}");
}

#[test]
fn damaged_folders_are_errors_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let message = |folder: &Path| render(folder, None, &glossary).unwrap_err().to_string();
    assert!(
        message(folder.path()).contains("hint: name a finished output folder of `cfaudit run`")
    );
    fs::write(folder.path().join("manifest.json"), "{\"cfaudit\": 1").unwrap();
    assert!(message(folder.path()).contains("hint: the folder was changed"));
    two_groups().write(folder.path());
    fs::write(folder.path().join("tables").join(MetricRow::TABLE.file()), "not parquet").unwrap();
    assert!(message(folder.path()).contains("metrics.parquet"));
}
