//! Whether the people who were not measured could break a limit that the others keep.
//!
//! Not measured are people without a score, without a valid counterfactual, and without a group,
//! who with the decisions that they have may belong to any group of the gate. Nothing says that
//! they are like the others (C. F. Manski, Nonparametric Bounds on Treatment Effects, 1990), so
//! each of them is taken as the worst case for the limit, or left out if that is worse. The value
//! is computed again from the table of counts with all of them at their worst, weights included,
//! and so is its interval: by the formula, if the formula reproduces the interval of the table of
//! metrics; else by the wider of the formula and the interval moved with the value. A value that
//! counts do not give, such as a mean of scores, moves as if each of these people had the worst
//! number that the metric can have; if its range has no end, or if few people may move it through
//! its whole range, nobody may be missing. An interval of a rate is also computed with everybody at
//! worst.
//!
//! Choice: a person is in one group, so a difference of two groups gets the person on one side; for
//! the groups that are furthest apart, each pair is computed separately. People who have a group
//! that the job does not declare are in no group of the gate. Missing labels are not filled in: the
//! issue `selective` says for whom they are missing more often than for others. For a change both
//! runs are at their worst.
//!
//! How many of these people would be enough is counted by taking those first that move the value
//! most.

mod cells;
mod range;
mod recount;
mod value;
mod worst_case;

use self::range::RangeBound;
use self::worst_case::WorstCase;
use super::people::PeopleTables;
use super::question::{GateCase, GateLimit, GateObservation, GateQuantity, GateQuestion};
use super::reason::{ComparedPart, GateReason};
use crate::gate::decide_by::GateDecideBy;
use crate::metric::catalog::find;
use crate::metric::{Metric, MetricFamily};
use crate::table::finite;

/// The worst case of a value, where the end lies further by `more`: by counts where they give the
/// value, else by the range of the metric; none where neither is known.
fn worst_case<'a>(
    of: &'a PeopleTables<'a>,
    metric: &'static Metric,
    more: f64,
) -> Option<WorstCase<'a>> {
    match recount::recounts(of, metric) {
        Some(all) => recount::worst_case(all, of.case.question.limit, more),
        None => Some(RangeBound::of(of, metric)?.worst_case(more)),
    }
}

/// The metric of a value that people, not graphs, give.
fn metric_of(seen: &GateObservation) -> Option<&'static Metric> {
    find(&seen.row.metric).filter(|metric| metric.family != MetricFamily::Graph)
}

/// The reason that the people who were not measured could break a limit that the others keep, with
/// how many of them would be enough; none where the verdict holds whatever each of them is.
pub(super) fn could_break(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, seen, .. } = case;
    // The earlier run at its other end: the change is larger by as much as that value could have
    // been smaller.
    let old = seen.baseline.zip(seen.old_ends).filter(|_| seen.is_change);
    let of_old = old.map_or(0.0, |(old, (least, most))| old - question.limit.facing((most, least)));
    let of = PeopleTables::new(case);
    let worst = worst_case(&of, metric_of(seen)?, of_old)?;
    let (nobody, limit) = (worst.lacking.values().all(|n| *n == 0), question.limit);
    if limit.kept_by(worst.end) || nobody && of_old == 0.0 {
        return None;
    }
    let what = match question.decide_by {
        GateDecideBy::Estimate if seen.is_change => ComparedPart::Change,
        GateDecideBy::Estimate => ComparedPart::Value,
        _ => ComparedPart::Interval,
    };
    // None where only those of the earlier run count.
    let enough = worst.enough(limit);
    let (decisions, end) = (worst.of_decisions, finite(worst.end));
    let lacking = worst.lacking.into_iter().filter(|(_, n)| *n > 0).collect();
    Some(GateReason::UnmeasuredPeople { lacking, decisions, enough, worst: what, end })
}

/// The smallest and the largest possible value with everybody measured.
pub(super) fn extremes(case: GateCase<'_>) -> Option<(f64, f64)> {
    let metric = metric_of(case.seen)?;
    let [least, most] = [GateLimit::AtLeast(0.0), GateLimit::AtMost(0.0)].map(|limit| {
        let question = GateQuestion {
            limit,
            quantity: GateQuantity::Value,
            decide_by: GateDecideBy::Estimate,
            ..case.question.clone()
        };
        let of = PeopleTables::new(GateCase { question: &question, ..case });
        worst_case(&of, metric, 0.0).map(|worst| worst.end)
    });
    least.zip(most)
}
