//! Gates on small tables of metrics worked by hand: the tables and the questions that the files
//! below share.

mod baseline;
mod decision;
mod doubts;
mod hidden_cause;
mod holm;
mod objection;
mod reason;
mod rounding;
mod subjects;
mod unmeasured;

use crate::gate::question::{
    GateBaseline, GateLimit, GateQuantity, GateQuestion, GateResults, GateSubject, GateTables,
};
use crate::gate::reason::GateStatus;
use crate::metric::interval::{wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::metric::value::settings::FavourableClass;
use crate::table::{AuditKey, ChangeRow, MetricRow};

fn judge(
    questions: &[GateQuestion],
    metrics: &[MetricRow],
    baseline: Option<&GateBaseline<'_>>,
) -> GateResults {
    super::judge(questions, GateTables { metrics, ..GateTables::default() }, baseline, &[])
}

struct GateValueRow<'a> {
    scope: &'a str,
    from: &'a str,
    to: &'a str,
    metric: &'a str,
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    denominator: Option<i64>,
}

const NSR: GateValueRow<'static> = GateValueRow {
    scope: "direction",
    from: "Female",
    to: "Male",
    metric: "nsr",
    value: Some(0.131),
    lo: Some(0.082),
    hi: Some(0.202),
    denominator: Some(122),
};

fn metrics(values: &[GateValueRow<'_>]) -> Vec<MetricRow> {
    let row = |v: &GateValueRow<'_>| MetricRow {
        key: AuditKey {
            model: "m".into(),
            counterfactual: if v.scope == "pair" { "" } else { "flip" }.into(),
            sensitive: "sex".into(),
            scope: v.scope.into(),
            from_group: v.from.into(),
            to_group: v.to.into(),
            ..AuditKey::default()
        },
        metric: v.metric.into(),
        value: v.value,
        lo: v.lo,
        hi: v.hi,
        denominator: v.denominator,
        undefined: if v.value.is_none() { "empty_group" } else { "" }.into(),
        n_rows: 200,
        ..MetricRow::default()
    };
    values.iter().map(row).collect()
}

fn question(scope: GateSubject, limit: GateLimit) -> GateQuestion {
    let pair = matches!(scope, GateSubject::Pair(..));
    GateQuestion {
        name: "g".into(),
        metric: if pair { "di".into() } else { "nsr".into() },
        model: "m".into(),
        counterfactual: if pair { String::new() } else { "flip".into() },
        attributes: vec!["sex".into()],
        favourable: Some(FavourableClass::Positive),
        scope,
        limit,
        bootstraps: Some(100),
        min_cases: 10,
        line: 7,
        ..GateQuestion::default()
    }
}

fn direction() -> GateSubject {
    GateSubject::Direction("Female".into(), "Male".into())
}

/// Rates of 200 cases each, with Wilson's interval at 95 %, as the table of metrics has them.
fn rates(counts: &[i64]) -> Vec<MetricRow> {
    let names: Vec<String> = (0..counts.len()).map(|i| format!("g{i}")).collect();
    let values = counts.iter().zip(&names).map(|(&n, name)| {
        let rate = Rate { numerator: n as u64, denominator: 200, empty: Undefined::EmptyGroup };
        let interval = wilson(rate, z_of_level(0.95)).unwrap();
        GateValueRow {
            from: name,
            value: rate.value().ok(),
            lo: Some(interval.lo),
            hi: Some(interval.hi),
            denominator: Some(200),
            ..NSR
        }
    });
    let mut frame = metrics(&values.collect::<Vec<_>>());
    for (row, &n) in frame.iter_mut().zip(counts) {
        (row.numerator, row.level, row.interval) = (Some(n), Some(0.95), "wilson".into());
    }
    frame
}

/// A change of the rate: status, old value, change, its interval, cases in the old run and in the
/// new.
type GateChangeRow<'a> = (&'a str, f64, Option<f64>, Option<(f64, f64)>, [i64; 2]);

fn changes(
    scope: &str,
    [from, to]: [&str; 2],
    metric: &str,
    (status, old, change, interval, cases): GateChangeRow<'_>,
) -> Vec<ChangeRow> {
    vec![ChangeRow {
        key: AuditKey {
            model: "m".into(),
            counterfactual: if scope == "pair" { "" } else { "flip" }.into(),
            sensitive: "sex".into(),
            scope: scope.into(),
            from_group: from.into(),
            to_group: to.into(),
            ..AuditKey::default()
        },
        metric: metric.into(),
        status: status.into(),
        old_value: Some(old),
        difference: change,
        lo: interval.map(|i| i.0),
        hi: interval.map(|i| i.1),
        level: interval.map(|_| 0.95),
        ci_method: "none: not drawn".into(),
        undefined: if change.is_none() { "old: empty_group" } else { "" }.into(),
        old_denominator: Some(cases[0]),
        new_denominator: Some(cases[1]),
        old_rows: cases[0],
        new_rows: cases[1],
        ..ChangeRow::default()
    }]
}

fn baseline_of<'a>(changes: &'a [ChangeRow], differs: &str) -> GateBaseline<'a> {
    GateBaseline { changes, rounded: &[], differing_definitions: differs.to_owned() }
}

fn against(scope: GateSubject, limit: GateLimit) -> GateQuestion {
    GateQuestion { quantity: GateQuantity::Change, ..question(scope, limit) }
}

/// Verdict and reason of the row that decides.
#[track_caller]
fn decided(q: &GateQuestion, table: &[MetricRow]) -> (GateStatus, String) {
    let tables = GateTables { metrics: table, ..GateTables::default() };
    let judged = super::judge(std::slice::from_ref(q), tables, None, &[]);
    let row = judged.table.iter().find(|row| row.decides == 1).expect("a row decides");
    (judged.verdict.expect("it counts"), row.reason.to_string())
}
