//! Ratios with a rate of 1, which Katz's interval takes as certain.
//!
//! The variance of the logarithm of a rate is (1 - p) / (p n), which is 0 at p = 1: 80 of 80 over
//! 500 of 500 has the interval 1 to 1, as if no further person could ever be refused. A gate on
//! such a ratio decides only if the interval that includes the uncertainty of that rate decides
//! alike: the hybrid of Wilson's intervals of both rates (MOVER-R, Donner and Zou 2012), here 0.95
//! to 1.01.
//!
//! The table of metrics keeps Katz's interval and flags the value; the rates come from the tables
//! of counts and metrics. If they are missing, the gate is inconclusive.

use super::decide_by::GateDecideBy;
use super::evidence::GateEvidence;
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

/// Takes a verdict back that depends on a rate of 1 being certain.
pub(super) fn reconsider(question: &GateQuestion, ruling: &mut GateRuling, tables: GateTables<'_>) {
    let observed = &ruling.observation;
    let by_people = matches!(question.decide_by, GateDecideBy::Interval | GateDecideBy::All);
    let is_flagged = !observed.is_change && has_flag(&observed.row.flags, RATE_OF_ONE);
    if !ruling.is_decided() || !by_people || !is_flagged {
        return;
    }
    let kept = ruling.verdict() == GateStatus::Pass;
    let limit = question.limit;
    let ends = match ends_of_both(GateCase { question, observed, tables }) {
        Some((lo, hi)) if limit.kept_by(lo) == kept && limit.kept_by(hi) == kept => return,
        ends => ends.map(|(lo, hi)| [lo, hi].map(finite)),
    };
    ruling.object(GateReason::RateOfOne { ends });
}
