//! Values at an end, which an interval takes as more certain than they are.
//!
//! The variance of the logarithm of a rate is (1 - p) / (p n), which is 0 at p = 1: 80 of 80 over
//! 500 of 500 has the interval 1 to 1, as if no further person could ever be refused. A gate on
//! such a ratio decides only if the interval that includes the uncertainty of that rate decides
//! alike: the hybrid of Wilson's intervals of both rates (MOVER-R, Donner and Zou 2012), here 0.95
//! to 1.01.
//!
//! The table of metrics keeps Katz's interval and flags the value; the rates come from the tables
//! of counts and metrics. If they are missing, the gate is inconclusive.
//!
//! A correlation of 1 or -1 (MCC, CMCC) has the interval of as many people as there are, though
//! with five positive ones among a thousand the next one may halve it: in 600 samples of 500 people
//! with 10 positive ones the intervals of such values held the true one in 54 to 59 of 100. So a
//! gate on it decides only if the people of the smaller side alone would decide it alike.

use super::decide_by::GateDecideBy;
use super::evidence::{GateEvidence, SureRate};
use super::people::{PeopleTables, numbers, switch_cell};
use crate::gate::question::{GateCase, GateQuestion, GateRuling, GateTables};
use crate::gate::reason::{GateReason, GateStatus};
use crate::metric::value::settings::RATE_OF_ONE;
use crate::table::{finite, has_flag};

/// The ends of the interval that decides with the doubt about both rates; none where that is not
/// known.
fn ends_of_both(case: GateCase<'_>) -> Option<(f64, f64)> {
    let (lo, hi) = case.observed.ends()?;
    case.observed.row.level?;
    let GateEvidence::Pair { is_ratio: true, rates } = GateEvidence::of_rates(case)? else {
        return None;
    };
    let [p, q] = rates.map(|rate| rate.sure());
    let wide = p.over(q, case.observed.z());
    Some((lo.min(wide.0), hi.max(wide.1)))
}

/// The same of a correlation of 1 or -1, by the people of the smaller side of its table alone; none
/// where the tables do not tell them, as of all classes together.
fn ends_of_smaller_side(case: GateCase<'_>) -> Option<(f64, f64)> {
    let place = case.observed.place();
    let people = PeopleTables::new(case);
    // The sides of the table are the two decisions about people as they are.
    let (sides, rate) = match (place[0], case.question.counterfactual.is_empty()) {
        ("group" | "total", true) => {
            let states = numbers(&people.side(place[1], "")?);
            ([1, 2].map(|label| states[3 * label + 1] + states[3 * label + 2]), "acc")
        }
        ("direction" | "total", false) => {
            let cells = numbers(&people.moved(place)?);
            let of = |before: bool, after: bool| {
                (0..3).map(|label| cells[switch_cell(label, before, after)]).sum::<u64>()
            };
            ([false, true].map(|before| of(before, false) + of(before, true)), "sr")
        }
        _ => return None,
    };
    let n = sides[0].min(sides[1]) as f64 * people.precision(rate, place)?;
    let (least, _) =
        SureRate { rate: 1.0, people: n.max(f64::MIN_POSITIVE) }.ends(case.observed.z());
    let least = 2.0 * least - 1.0;
    Some(if case.observed.row.value? > 0.0 { (least, 1.0) } else { (-1.0, -least) })
}

/// Takes a verdict back that depends on a rate of 1, or on a correlation of 1 or -1, being certain.
pub(super) fn reconsider(question: &GateQuestion, ruling: &mut GateRuling, tables: &GateTables) {
    let observed = &ruling.observation;
    let by_people = matches!(question.decide_by, GateDecideBy::Interval | GateDecideBy::All);
    // A correlation of 1 or -1.
    let of_correlation = ["mcc", "cmcc"].contains(&observed.row.metric.as_str())
        && observed.row.value.is_some_and(|value| value.abs() > 1.0 - 1e-9);
    let is_at_an_end = of_correlation || has_flag(&observed.row.flags, RATE_OF_ONE);
    if !ruling.is_decided() || !by_people || observed.is_change || !is_at_an_end {
        return;
    }
    let kept = ruling.verdict() == GateStatus::Pass;
    let limit = question.limit;
    let case = GateCase { question, observed, tables };
    let ends = if of_correlation { ends_of_smaller_side(case) } else { ends_of_both(case) };
    let ends = match ends {
        None if of_correlation => return,
        Some((lo, hi)) if limit.kept_by(lo) == kept && limit.kept_by(hi) == kept => return,
        ends => ends.map(|(lo, hi)| [lo, hi].map(finite)),
    };
    ruling.object(GateReason::RateOfOne { of_correlation, ends });
}
