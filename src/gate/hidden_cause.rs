//! Passes that a hidden cause would overturn: `withstands` asks how strong it would have to be, and
//! the table `hidden_cause` knows.
//!
//! The same rule as that of the gate, on other numbers, says what a hidden cause makes of a
//! verdict; the stage `hidden` asks it at every strength. A gate reads only the bound for any
//! hidden cause, pushed either way. Only a pass is taken back: if a fail were, a gate could be
//! switched off by a strength that nothing withstands.

use super::observe::{matches, observed};
use super::verdict::decide;
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{GateCase, GateQuantity, GateQuestion, GateSubject};
use crate::gate::reason::{GateReason, GateStatus};
use crate::metric::value::hidden_cause::HIDDEN_RATES;
use crate::table::{ANY_TARGET, HiddenCauseRow, JudgedRateKey, MetricRow};

/// Whether a hidden cause can be asked about for a question on a row of metrics.
pub(crate) fn asks(question: &GateQuestion, row: &MetricRow) -> bool {
    use GateDecideBy::{Estimate, Interval, Worlds};
    use GateSubject::{AnyDirection, Direction, HarmTo};
    let of_direction = matches!(question.scope, Direction(..) | AnyDirection | HarmTo(_));
    let by_known = matches!(question.decide_by, Interval | Worlds | Estimate);
    question.quantity == GateQuantity::Value
        && of_direction
        && by_known
        && !question.holm
        && HIDDEN_RATES.contains(&row.metric.as_str())
        && matches(question, &row.key, [&row.class, &row.metric, &row.family])
}

/// The verdict of the rule of a gate on a row, or on other numbers in its place: the value with the
/// ends of what decides.
pub(crate) fn verdict(
    question: &GateQuestion,
    row: &MetricRow,
    moved: Option<(f64, Option<(f64, f64)>)>,
) -> GateStatus {
    let mut own = observed(question, row);
    if let Some((value, ends)) = moved {
        let (lo, hi) = ends.unzip();
        own.row = MetricRow { value: Some(value), lo, hi, ..own.row };
    }
    decide(question, own).verdict()
}

/// Why a pass does not withstand the hidden cause of its gate; none where it does, or no such cause
/// is stated.
pub(super) fn overturned(case: GateCase<'_>) -> Option<GateReason> {
    let withstands = case.question.withstands?;
    let key = JudgedRateKey::new(&case.observed.row, &case.question.name);
    let of_gate =
        case.tables.hidden.iter().filter(|row| row.target == ANY_TARGET && row.key == key);
    let rows: Vec<&HiddenCauseRow> = of_gate.collect();
    let is_pass = |row: &HiddenCauseRow| row.verdict == GateStatus::Pass.word();
    let passes = rows.iter().filter(|row| row.strength == 0.0 && is_pass(row)).count();
    let first = rows.iter().filter_map(|row| row.turns_at).min_by(f64::total_cmp);
    let (turns_at, undefined) = match rows.iter().find(|row| !row.undefined.is_empty()) {
        Some(unknown) => (None, unknown.undefined.to_string()),
        // Both pushes start from a pass.
        None if passes != 2 => (None, String::new()),
        None => (Some(first.filter(|at| *at <= withstands)?), String::new()),
    };
    Some(GateReason::HiddenCause { turns_at, undefined, withstands })
}
