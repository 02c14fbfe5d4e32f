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
    let of_direction = matches!(
        question.scope,
        GateSubject::Direction(..) | GateSubject::AnyDirection | GateSubject::HarmTo(_)
    );
    let by_known = matches!(
        question.decide_by,
        GateDecideBy::Interval | GateDecideBy::Worlds | GateDecideBy::Estimate
    );
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
    let reason = |turns_at, undefined: &str| GateReason::HiddenCause {
        turns_at,
        undefined: undefined.to_owned(),
        withstands,
    };
    let rows: Vec<&HiddenCauseRow> = of_gate.collect();
    if let Some(unknown) = rows.iter().find(|row| !row.undefined.is_empty()) {
        return Some(reason(None, &unknown.undefined));
    }
    let passes =
        |row: &&HiddenCauseRow| row.strength == 0.0 && row.verdict == GateStatus::Pass.word();
    // Both pushes start from a pass.
    if rows.iter().copied().filter(passes).count() != 2 {
        return Some(reason(None, ""));
    }
    let first = rows.iter().filter_map(|row| row.turns_at).min_by(f64::total_cmp);
    first.filter(|at| *at <= withstands).map(|at| reason(Some(at), ""))
}
