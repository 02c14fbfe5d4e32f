//! Gates on small tables of metrics made by hand: the tables and the questions that the submodules
//! share.

/// Tables of these names; the others are empty.
macro_rules! tables {
    ($($table:ident),+) => {
        GateTables { $($table: $table.to_vec(),)+ ..GateTables::default() }
    };
}

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

use crate::gate::judge;
use crate::gate::question::{
    GateBaseline, GateLimit, GateQuantity, GateQuestion, GateSubject, GateTables,
};
use crate::gate::reason::{GateReason, GateStatus};
use crate::metric::catalog::ccm::HARM;
use crate::metric::interval::{wilson, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::metric::value::settings::FavourableClass;
use crate::table::{ChangeRow, CountRow, GateRow, MetricRow};
use crate::tests::{Says, TextRow};

/// What a gate is judged by: tables, and an earlier run.
type TablesBy<'a> = (GateTables, Option<&'a GateBaseline<'a>>);

/// The table of metrics alone.
fn by(metrics: &[MetricRow]) -> TablesBy<'static> {
    (tables!(metrics), None)
}

/// The rows of a gate.
fn judged(q: &GateQuestion, (tables, baseline): &TablesBy<'_>) -> Vec<GateRow> {
    super::judge(std::slice::from_ref(q), tables, *baseline).table
}

/// Judges a gate by other rules: a line has the rule, such as `<= 0.1, estimate`, what the row that
/// decides holds (its verdict, or its cells), and what its reason says. A rule that is left out is
/// that of the line before, at first that of the question.
#[track_caller]
fn check(q: &GateQuestion, by: TablesBy<'_>, lines: &str) {
    let mut asked = q.clone();
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let mut parts = line.splitn(3, '|').map(str::trim);
        let [rule, held, says] = [0, 1, 2].map(|_| parts.next().unwrap_or_default());
        if !rule.is_empty() {
            asked = asked_by(q, rule);
        }
        let rows = judged(&asked, &by);
        check_row(rows.iter().find(|row| row.decides == 1).expect("a row decides"), held, says);
    }
}

/// The same question with the limit and what decides, as `<= 0.1, interval holm`.
fn asked_by(q: &GateQuestion, rule: &str) -> GateQuestion {
    let (limit, decides) = rule.split_once(", ").unwrap_or((rule, ""));
    let (bound, number) = limit.split_once(' ').expect("`<= 0.1` or `>= 0.1`");
    let number = number.parse().expect("a number");
    let limit = if bound == "<=" { GateLimit::AtMost(number) } else { GateLimit::AtLeast(number) };
    let mut asked = GateQuestion { limit, ..q.clone() };
    for word in decides.split_whitespace() {
        match word {
            "holm" => asked.holm = true,
            by => asked.decide_by = serde_json::from_value(by.into()).expect("what decides"),
        }
    }
    asked
}

/// Checks each row of a gate by a line: what it holds, and what its reason says.
#[track_caller]
fn check_rows(q: &GateQuestion, by: TablesBy<'_>, lines: &str) {
    let rows = judged(q, &by);
    let lines: Vec<&str> = lines.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(rows.len(), lines.len(), "{rows:?}");
    for (row, line) in rows.iter().zip(lines) {
        let (held, says) = line.split_once('|').unwrap_or((line, ""));
        check_row(row, held.trim(), says.trim());
    }
}

/// What a row holds: its verdict or cells; and the whole of its reason behind `=`, or parts of it
/// with ` .. ` between them, the last of which ends it before a `$`.
#[track_caller]
fn check_row(row: &GateRow, held: &str, says: &str) {
    let reason = row.reason.as_str();
    let cells = if held.contains('=') { held.to_owned() } else { format!("verdict={held}") };
    assert!(row.holds(&cells), "{cells}: {} {reason}", row.verdict);
    match (says.strip_prefix('='), says.strip_suffix('$')) {
        (Some(all), _) => assert_eq!(reason, all),
        (None, Some(end)) => assert!(reason.ends_with(end), "{reason}"),
        (None, None) => reason.says(&says.split(" .. ").collect::<Vec<_>>()),
    }
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

/// A question about the rate of the table, or about the ratio of a pair.
fn question(scope: GateSubject) -> GateQuestion {
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
        bootstraps: Some(100),
        min_cases: 10,
        line: 7,
        ..GateQuestion::default()
    }
}

/// A question about another metric.
fn asked(metric: &str, scope: GateSubject) -> GateQuestion {
    GateQuestion { metric: metric.into(), ..question(scope) }
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

/// A question about the change of the rate.
fn against(scope: GateSubject) -> GateQuestion {
    GateQuestion { quantity: GateQuantity::Change, ..question(scope) }
}
