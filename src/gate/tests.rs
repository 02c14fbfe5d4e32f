//! Gates on small tables of metrics worked by hand: the tables and the questions that the files
//! below share.

mod baseline;
mod doubts;
mod hidden_cause;
mod holm;
mod objection;
mod reason;
mod rounding;
mod subjects;
mod unmeasured;
mod verdict;

use crate::gate::question::{
    GateBaseline, GateLimit, GateQuantity, GateQuestion, GateResults, GateSubject, GateTables,
};
use crate::gate::reason::GateStatus;
use crate::metric::interval::{wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::metric::value::settings::FavourableClass;
use crate::table::{ChangeRow, MetricRow};
use crate::tests::TextRow;

fn judge(
    questions: &[GateQuestion],
    metrics: &[MetricRow],
    baseline: Option<&GateBaseline<'_>>,
) -> GateResults {
    super::judge(questions, GateTables { metrics, ..GateTables::default() }, baseline, &[])
}

/// The published rate: 16 of 122 women lose it as men.
fn nsr() -> MetricRow {
    MetricRow::of(
        "model=m, counterfactual=flip, sensitive=sex, scope=direction, from_group=Female, \
         to_group=Male, metric=nsr, value=0.131, lo=0.082, hi=0.202, denominator=122, n_rows=200",
    )
}

/// A value without counterfactuals that is no rate, with its ends.
fn gap(scope: &str, [from, to]: [&str; 2], metric: &str, [value, lo, hi]: [f64; 3]) -> MetricRow {
    nsr().with(&format!(
        "counterfactual=, scope={scope}, from_group={from}, to_group={to}, metric={metric}, \
         value={value}, lo={lo}, hi={hi}, denominator="
    ))
}

/// The same with ends at a hundredth to either side.
fn gap_near(scope: &str, groups: [&str; 2], metric: &str, value: f64) -> MetricRow {
    gap(scope, groups, metric, [value, value - 0.01, value + 0.01])
}

fn question(scope: GateSubject, limit: GateLimit) -> GateQuestion {
    let is_pair = matches!(scope, GateSubject::Pair(..));
    let is_factual = is_pair || matches!(scope, GateSubject::WorstCase | GateSubject::Group(_));
    GateQuestion {
        name: "g".into(),
        metric: if is_pair { "di".into() } else { "nsr".into() },
        model: "m".into(),
        counterfactual: if is_factual { String::new() } else { "flip".into() },
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

/// A question about another metric.
fn asked(metric: &str, scope: GateSubject, limit: GateLimit) -> GateQuestion {
    GateQuestion { metric: metric.into(), ..question(scope, limit) }
}

fn pair(a: &str, b: &str) -> GateSubject {
    GateSubject::Pair(a.into(), b.into())
}

fn direction() -> GateSubject {
    GateSubject::Direction("Female".into(), "Male".into())
}

/// Rates of 200 cases each, with Wilson's interval at 95 %, as the table of metrics has them.
fn rates(counts: &[i64]) -> Vec<MetricRow> {
    let row = |(i, &n): (usize, &i64)| {
        let rate = Rate { numerator: n as u64, denominator: 200, empty: Undefined::EmptyGroup };
        let ends = wilson(rate, z_of_level(0.95)).unwrap();
        let (value, lo, hi) = (rate.value().unwrap(), ends.lo, ends.hi);
        nsr().with(&format!(
            "from_group=g{i}, value={value}, lo={lo}, hi={hi}, numerator={n}, denominator=200, \
             level=0.95, interval=wilson"
        ))
    };
    counts.iter().enumerate().map(row).collect()
}

/// The published change, from 16 of 122 to 35 of 137, with other cells.
fn change(cells: &str) -> ChangeRow {
    let published = ChangeRow::of(
        "model=m, counterfactual=flip, sensitive=sex, scope=direction, from_group=Female, \
         to_group=Male, metric=nsr, status=compared, old_value=0.131, difference=0.124, lo=0.027, \
         hi=0.217, level=0.95, ci_method=none: not drawn, old_denominator=122, \
         new_denominator=137, old_rows=122, new_rows=137",
    );
    published.with(cells)
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
    (judged.verdict().expect("it counts"), row.reason.to_string())
}
