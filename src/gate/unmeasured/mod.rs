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
//! runs are at their worst, and its interval is wider by that of the share of these people.
//!
//! How many of these people would be enough is counted by taking those first that move the value
//! most. A search among people, for unfair subgroups or patterns, may find more among those whom
//! it did not look at: a limit on what it finds is never surely kept while there are any.

mod range;
mod recount;
mod value;
mod worst_case;

use self::range::RangeBound;
use self::worst_case::WorstCase;
use super::people::PeopleTables;
use super::question::{
    GateCase, GateLimit, GateObservation, GateQuantity, GateQuestion, PossibleValues,
};
use super::reason::{ComparedPart, GateReason};
use crate::gate::decide_by::GateDecideBy;
use crate::metric::catalog::find;
use crate::metric::{Metric, MetricFamily};
use crate::table::finite;

/// The worst case of a value: by counts where they give the value, else by the range of the metric;
/// none where neither is known.
fn worst_case<'a>(people: &'a PeopleTables<'a>, metric: &'static Metric) -> Option<WorstCase<'a>> {
    match recount::recounts(people, metric) {
        Some(all) => recount::worst_case(all, metric),
        None => Some(RangeBound::of(people, metric)?.worst_case()),
    }
}

/// The metric of a value that people, not graphs, give.
fn metric_of(observed: &GateObservation) -> Option<&'static Metric> {
    find(&observed.row.metric).filter(|metric| metric.family != MetricFamily::Graph)
}

/// The reason that the people who were not measured could break a limit that the others keep, with
/// how many of them would be enough; none where the verdict holds whatever each of them is.
pub(super) fn could_break(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, observed, .. } = case;
    let people = PeopleTables::new(case);
    let mut worst = worst_case(&people, metric_of(observed)?)?;
    let old = observed.old.filter(|old| observed.is_change && old.people > 0);
    let limit = question.limit;
    if old.is_none() && worst.people() == 0 {
        return None;
    }
    if observed.is_change {
        worst = in_both_runs(&people, worst, old.unwrap_or_default())?;
    }
    let end = worst.end()?;
    if limit.kept_by(end) {
        return None;
    }
    // None where those of the earlier run count, too, or one may stand for all.
    let is_uncounted = observed.is_change && (old.is_some() || people.are_unequal());
    Some(GateReason::UnmeasuredPeople {
        enough: if is_uncounted { 0 } else { worst.enough(limit) },
        end: finite(end),
        of_rows: observed.row.n_persons.is_some(),
        decisions: worst.of_decisions,
        lacking: worst.lacking.into_iter().collect(),
        worst: match question.decide_by {
            GateDecideBy::Estimate if observed.is_change => ComparedPart::Change,
            GateDecideBy::Estimate => ComparedPart::Value,
            _ => ComparedPart::Interval,
        },
    })
}

/// The people whom a search did not look at, among whom there may be what it looks for; those
/// without a label are not asked about where it needs one.
pub(super) fn not_looked_at(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, tables, .. } = case;
    question.counted.as_ref()?;
    let people = PeopleTables::new(case);
    let lacking = range::lacking(&people, question.counts_labels(), false);
    (!lacking.is_empty()).then(|| GateReason::UnmeasuredPeople {
        lacking: lacking.into_iter().collect(),
        of_rows: tables.metrics.iter().any(|row| row.n_persons.is_some()),
        decisions: false,
        enough: 0,
        worst: ComparedPart::Search,
        end: None,
    })
}

/// The worst case of a change, with the earlier run at its other end: the change is larger by as
/// much as that value could have been smaller.
fn in_both_runs<'a>(
    people: &PeopleTables<'a>,
    worst: WorstCase<'a>,
    old: PossibleValues,
) -> Option<WorstCase<'a>> {
    let GateCase { question, observed, .. } = people.case;
    let (limit, value) = (question.limit, observed.row.value?);
    let new = possible_values(people.case)?;
    let by_new = limit.facing((new.least, new.most)) - value;
    let by_old = match old.people {
        0 => 0.0,
        _ => observed.baseline? - limit.facing((old.most, old.least)),
    };
    let ends = observed.ends().filter(|_| question.decide_by != GateDecideBy::Estimate);
    let width = ends.map(|ends| (limit.facing(ends) - value).abs());
    let (is_one, z) = (people.are_unequal(), observed.z());
    let further = move |end: f64, n: u64| {
        let wider = width.map_or(0.0, |width| {
            let of_new = new.doubt(n, is_one, z, by_new);
            width.hypot(of_new).hypot(old.doubt(old.people, is_one, z, by_old)) - width
        });
        end + by_old + limit.facing((-wider, wider))
    };
    let with = worst.with;
    let with = Box::new(move |n| Some(further(with(n)?, n)));
    Some(WorstCase { with, ..worst })
}

impl PossibleValues {
    /// What this many of the people add to half the width of an interval, with z standard deviations
    /// on either side, where they move the value by `moved`: each may have moved it by as much as a
    /// case moves a share, so it is the upper half of Wilson's interval of their share among many
    /// others, of which a value moves the whole span. With persons or weights they may be one unit.
    fn doubt(self, n: u64, is_one: bool, z: f64, moved: f64) -> f64 {
        let n = n.min(self.people);
        if n == 0 {
            return 0.0;
        }
        let span = self.most - self.least;
        let span = if span.is_finite() { span } else { moved.abs() };
        let units = if is_one { 1.0 } else { n as f64 };
        let of_each = (z * z / 2.0 + z * (units + z * z / 4.0).sqrt()) / units;
        span * n as f64 / self.people as f64 * of_each
    }
}

/// The smallest and the largest possible value with everybody measured.
pub(super) fn possible_values(case: GateCase<'_>) -> Option<PossibleValues> {
    let metric = metric_of(case.observed)?;
    let [least, most] = [GateLimit::AtLeast(0.0), GateLimit::AtMost(0.0)].map(|limit| {
        let question = GateQuestion {
            limit,
            quantity: GateQuantity::Value,
            decide_by: GateDecideBy::Estimate,
            ..case.question.clone()
        };
        let people = PeopleTables::new(GateCase { question: &question, ..case });
        worst_case(&people, metric).and_then(|worst| Some((worst.end()?, worst.people())))
    });
    let ((least, below), (most, above)) = least.zip(most)?;
    Some(PossibleValues { least, most, people: below.max(above) })
}
