//! A folder of results that is made by hand: its groups, counts, metrics and gates.

use super::*;
use crate::folder::manifest::{
    AttributeWords, InputFile, LabelWords, ModelWords, ReportWords, RowCounts, SetKnob, SetWords,
};
use crate::param::Level;
use crate::table::{AuditKey, CountRow, FilterRow, ScoreShiftRow};

/// Cells of one direction by label (negative, positive), factual and counterfactual prediction.
pub(super) type EccmSample = [[[i64; 2]; 2]; 2];

/// One gate: name, verdict, level, metric, direction, decides.
pub(super) type GateSample =
    (&'static str, &'static str, &'static str, &'static str, Option<(usize, usize)>, i64);

/// A folder to be written.
pub(super) struct FolderSample {
    pub(super) groups: Vec<String>,
    pub(super) sets: Vec<(&'static str, &'static str)>,
    pub(super) models: Vec<&'static str>,
    pub(super) labelled: bool,
    pub(super) favourable_is_positive: bool,
    pub(super) stand_in: bool,
    pub(super) gates: Vec<GateSample>,
    pub(super) left_out: bool,
    /// Whether people have weights: 2 for those on top of a rate, for those who switch and for
    /// those who fall; 1 for others.
    pub(super) weighted: bool,
    /// Whether Clarify's metrics are measured, and if so whether against the rest.
    pub(super) clarify: Option<bool>,
    /// What the tables of quality hold; none = there are none.
    pub(super) quality: Option<plausibility::QualitySample>,
    /// Cells of the direction between two groups in a set.
    pub(super) cells: fn(set: usize, from: usize, to: usize) -> EccmSample,
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

pub(super) fn spread(set: usize, from: usize, to: usize) -> EccmSample {
    let n = |i: usize| i64::try_from((from * 37 + to * 61 + set * 17 + i * 29) % 41).unwrap_or(0);
    [
        [[300 + 3 * n(0), n(1)], [n(2) / 2, 40 + n(3)]],
        [[50 + n(4), n(5) / 3], [n(6) / 2, 120 + n(7)]],
    ]
}

pub(super) fn still(_: usize, from: usize, _: usize) -> EccmSample {
    let n = i64::try_from(from).unwrap_or(0);
    [[[300 + n, 0], [0, 40]], [[50, 0], [0, 120 + n]]]
}

/// Nobody in the second group is predicted positive; the first has few.
pub(super) fn thin(_: usize, from: usize, _: usize) -> EccmSample {
    if from == 0 {
        [[[20, 1], [0, 2]], [[3, 0], [3, 2]]]
    } else {
        [[[25, 1], [0, 0]], [[3, 0], [0, 0]]]
    }
}

pub(super) fn names(groups: &[&str]) -> Vec<String> {
    groups.iter().map(|g| (*g).to_owned()).collect()
}

pub(super) fn two_groups() -> FolderSample {
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
pub(super) struct ValuePlace<'a> {
    pub(super) model: &'a str,
    pub(super) set: &'a str,
    pub(super) scope: &'a str,
    pub(super) from: &'a str,
    pub(super) to: &'a str,
}

impl ValuePlace<'_> {
    /// Rows are many, so they are made field by field.
    pub(super) fn key(&self) -> AuditKey {
        AuditKey {
            model: self.model.into(),
            counterfactual: self.set.into(),
            sensitive: "group of people".into(),
            scope: self.scope.into(),
            from_group: self.from.into(),
            to_group: self.to.into(),
            ..AuditKey::default()
        }
    }
}

/// What a test writes as a value.
pub(super) enum SampleValue {
    Rate(i64, i64, &'static str),
    Number(f64),
    None(&'static str),
}

pub(super) fn push(
    frame: &mut Vec<MetricRow>,
    at: ValuePlace<'_>,
    [metric, family, impaired]: [&str; 3],
    value: &SampleValue,
    n_rows: i64,
) {
    let method = match (value, family) {
        (SampleValue::Rate(..), _) => "wilson",
        (_, "shift") => "log-student",
        _ => "mover",
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
        key: at.key(),
        metric: metric.into(),
        family: family.into(),
        value: number,
        undefined: undefined.into(),
        numerator: part,
        denominator: whole,
        lo: interval.map(|i| i.0),
        hi: interval.map(|i| i.1),
        level: interval.map(|_| 0.95),
        ci_method: format!("{method} in full").into(),
        placebo_lo: placebo.map(|ends| ends.0),
        placebo_hi: placebo.map(|ends| ends.1),
        placebo_repeats: repeats,
        n_rows,
        interval: method.into(),
        ideal: Some(0.0),
        flags: flags.into(),
        impaired_group: impaired.into(),
        ..MetricRow::default()
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
        push(frame, at, [metric, "ccm", impaired], &value, n);
    }
    for (metric, value) in [
        ("tpsr", rate(tsn, tsn + tcp, "no_true_positive")),
        ("fpsr", rate(fsn, fsn + fcp, "no_false_positive")),
        ("tnsr", rate(tsp, tsp + tcn, "no_true_negative")),
        ("fnsr", rate(fsp, fsp + fcn, "no_false_negative")),
    ] {
        push(frame, at, [metric, "eccm", ""], &value, n);
    }
    for (metric, value) in [
        ("rmscd", 0.0588),
        ("mcd", -0.0123),
        ("macd", 0.0311),
        ("jscd", 0.131),
        ("kld", 0.0171),
        ("jsd_hist", 0.0402),
    ] {
        push(frame, at, [metric, "shift", ""], &SampleValue::Number(value), n);
    }
}

fn count_cells(frame: &mut Vec<CountRow>, at: ValuePlace<'_>, cells: &EccmSample, labelled: bool) {
    for (label, rows) in cells.iter().enumerate() {
        for (predicted, row) in rows.iter().enumerate() {
            for (cf, n) in row.iter().enumerate() {
                let n =
                    if labelled { *n } else { cells[0][predicted][cf] + cells[1][predicted][cf] };
                frame.push(CountRow {
                    key: at.key(),
                    label: if labelled { label.to_string() } else { String::new() }.into(),
                    predicted: predicted.to_string().into(),
                    predicted_cf: cf.to_string().into(),
                    n,
                    shift_sq: Some(0),
                    ..CountRow::default()
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
        push(
            metrics,
            at,
            [metric, "clarify", if metric == "rd" { at.to } else { "" }],
            &value,
            800,
        );
    }
    let row = metrics.iter_mut().rev().find(|row| row.metric == "ft").unwrap();
    row.args = r#"{"eligible":9,"looked_at":9,"missing":0,"neighbours":5}"#.into();
    push(metrics, at, ["te", "clarify", ""], &SampleValue::None("operand_undefined"), 800);
}

fn shift(frame: &mut Vec<ScoreShiftRow>, at: ValuePlace<'_>, n: i64) {
    let mut bins = |side: &str, count: i32, lo: f64, width: f64, height: &dyn Fn(f64) -> f64| {
        for i in 0..count {
            let left = lo + f64::from(i) * width;
            let n = (n as f64 * height(left + width / 2.0)) as i64;
            frame.push(ScoreShiftRow {
                key: at.key(),
                side: side.into(),
                bin_lo: left,
                bin_hi: left + width,
                n,
                ..ScoreShiftRow::default()
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
            (row.value, row.interval) = (Some(part / whole), "wilson-eff".into());
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
    /// A folder of its own.
    pub(super) fn folder(&self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        self.write(folder.path());
        folder
    }

    pub(super) fn write(&self, folder: &Path) {
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
                                    [metric, "ccm", to],
                                    &SampleValue::Number(-0.0421),
                                    10,
                                );
                            }
                            push(
                                &mut metrics,
                                ValuePlace { scope: "difference", ..at },
                                ["rmscd", "shift", ""],
                                &SampleValue::Number(0.0213),
                                10,
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
    pub(super) fn write_rests(
        &self,
        at: ValuePlace<'_>,
        s: usize,
        f: usize,
        metrics: &mut Vec<MetricRow>,
    ) {
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
                [metric, "ccm", ""],
                &SampleValue::Rate(part + f as i64, 200, ""),
                200,
            );
        }
        measure_switches(
            metrics,
            ValuePlace { scope: "rest_to_one", from: "", to: at.from, ..at },
            &from_rest,
        );
    }

    pub(super) fn write_groups(
        &self,
        model: &str,
        metrics: &mut Vec<MetricRow>,
        groups: &mut Vec<GroupRow>,
    ) {
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
                push(metrics, at, ["f1", "performance", ""], &SampleValue::Number(0.712), n);
                push(metrics, at, ["mcc", "performance", ""], &SampleValue::Number(0.61), n);
            }
            for (metric, part, whole, reason) in rates {
                push(
                    metrics,
                    at,
                    [metric, "performance", ""],
                    &SampleValue::Rate(part, whole, reason),
                    n,
                );
            }
            groups.push(GroupRow {
                n_positive: Some(tp + fn_),
                n_predicted_positive: tp + fp,
                n_missing_counterfactual_score: i64::from(self.left_out) * 3,
                n_missing_stratum: self.clarify.map(|_| 4),
                ..GroupRow::of(&format!(
                    "model={model}, sensitive=group of people, group={group}, n={n}"
                ))
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
                    push(metrics, at, [metric, "group", to], &SampleValue::Number(value), n);
                }
            }
            if self.groups.len() > 2 {
                push(
                    metrics,
                    ValuePlace { scope: "one_vs_rest", ..at },
                    ["demp_difference", "group", ""],
                    &SampleValue::Number(0.031),
                    n,
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
            push(metrics, all, [metric, "group", ""], &SampleValue::Number(value), 900);
            let row = metrics.last_mut().unwrap();
            row.highest_group = self.groups[1].as_str().into();
            row.lowest_group = self.groups[0].as_str().into();
            row.groups_undefined = Some(1);
        }
        if self.clarify.is_some() {
            push(
                metrics,
                ValuePlace { scope: "total", ..all },
                ["ge", "clarify", ""],
                &SampleValue::Number(0.132),
                900,
            );
        }
    }

    pub(super) fn gates(&self) -> Vec<GateRow> {
        let mut frame = Vec::new();
        for (gate, verdict, level, metric, direction, decides) in &self.gates {
            let (from, to) = direction.map_or((String::new(), String::new()), |(f, t)| {
                (self.groups[f].clone(), self.groups[t].clone())
            });
            let set = if *metric == "di" { "" } else { "flip" };
            let scope = if *metric == "di" { "pair" } else { "direction" };
            let found = if *verdict == "skipped" {
                "reason=there is no baseline, reason_code=no-baseline, reason_args={}"
            } else {
                "value=0.131, lo=0.082, hi=0.202, numerator=16, denominator=122, \
                 reason=the limit lies inside the interval, reason_code=limit-inside, \
                 reason_args={\"judged\":\"interval\"}"
            };
            frame.push(GateRow::of(&format!(
                "gate={gate}, scope={scope}, verdict={verdict}, level={level}, metric={metric}, \
                 rule=at_most, interval, decides={decides}, sensitive=group of people, \
                 from_group={from}, to_group={to}, model=gbm, counterfactual={set}, limit=0.1, \
                 enough=50, job_line=88, {found}"
            )));
        }
        frame
    }

    pub(super) fn manifest(&self) -> Manifest {
        let set = |(name, strategy): &(&str, &str)| SetWords {
            name: (*name).to_owned(),
            strategy: (*strategy).to_owned(),
            knobs: if *strategy == "greedy" {
                vec![SetKnob { name: "condition_on".to_owned(), value: "label".into() }]
            } else {
                Vec::new()
            },
            attributes: vec!["group of people".to_owned()],
            placebo: Some(20),
            ..SetWords::default()
        };
        Manifest {
            cfaudit: 1,
            program: "0.1.0".to_owned(),
            job: "adult-sex".to_owned(),
            run: "7d0c1f".to_owned(),
            job_hash: "ab".repeat(32),
            stand_in: self.stand_in.then(|| "adult".to_owned()),
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
                favourable_is_positive: self.favourable_is_positive,
                ..LabelWords::default()
            }),
            attributes: vec![AttributeWords {
                name: "group of people".to_owned(),
                groups: self.groups.clone(),
                reference: self.groups[0].clone(),
                ..AttributeWords::default()
            }],
            counterfactuals: self.sets.iter().map(set).collect(),
            models: self
                .models
                .iter()
                .map(|name| ModelWords {
                    name: (*name).to_owned(),
                    kind: "logistic".to_owned(),
                    words: "Logistic regression on 12 columns, L2 penalty 1".to_owned(),
                    threshold: "0.5".to_owned(),
                    threshold_rule: "ge".to_owned(),
                    ..ModelWords::default()
                })
                .collect(),
            level: Level::DEFAULT,
            seed: 20_231_107,
            rows: RowCounts { source: 48_842, kept: 45_222, trained: 30_162, audited: 16_281 },
            row_id: "row number".to_owned(),
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
            tables: versions(),
            files: BTreeMap::from([("tables/metrics.parquet".to_owned(), "ef".repeat(32))]),
            ..Manifest::default()
        }
    }
}

pub(super) fn filters() -> Vec<FilterRow> {
    vec![
        FilterRow::of("step=1, what=keep: hours-per-week above 0, rows_in=48842, rows_out=48842"),
        FilterRow::of(
            "step=2, what=missing: drop rows without occupation, rows_in=48842, rows_out=45222",
        ),
    ]
}

fn issues() -> Vec<IssueRow> {
    vec![IssueRow::of(
        "code=unknown-group, severity=warning, where=sex, n=7, \
         text=7 of 16192 rows of groups that the job does not name are left out",
    )]
}

pub(super) fn glossary(id: &str) -> Option<GlossaryEntry> {
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
        meaning: vec![("does not say", "which decisions change".to_owned())],
        range: "0 to 1".to_owned(),
        ideal: "0".to_owned(),
        undefined_when: "nobody is counted".to_owned(),
        source: "Towards Counterfactual Group Fairness, section 2.3".to_owned(),
    })
}
