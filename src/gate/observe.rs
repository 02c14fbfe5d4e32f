//! What a gate looks at: the rows of the tables of metrics or of changes that its question is
//! about, in its orientation, with the interval that decides.

use std::collections::BTreeSet;

use super::unmeasured;
use crate::gate::decide_by::GateDecideBy;
use crate::gate::question::{
    GateBaseline, GateCase, GateObservation, GateQuantity, GateQuestion, GateSubject, GateTables,
    PossibleValues,
};
use crate::gate::reason::{GateReason, IntervalLack, UncertaintySource};
use crate::gate::verdict::fits_once;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::{GapTransform, Metric, MetricFamily};
use crate::table::{AuditKey, ChangeRow, MetricRow, finite, unsigned};

/// The rows of the table of metrics that the question is about, turned to its orientation.
pub(super) fn observations(question: &GateQuestion, metrics: &[MetricRow]) -> Vec<GateObservation> {
    let mut rows: Vec<&MetricRow> = metrics
        .iter()
        .filter(|row| matches(question, &row.key, [&row.class, &row.metric, &row.family]))
        .collect();
    // A pair that is in both orders is one comparison, and needs no turning.
    let is_direct = |row: &&MetricRow| {
        matches!(&question.scope,
        GateSubject::Pair(a, b) if row.key.from_group == *a && row.key.to_group == *b)
    };
    if rows.iter().any(is_direct) {
        rows.retain(is_direct);
    }
    let rows = rows.into_iter().map(|row| in_question_order(question, observed(question, row)));
    with_both_harm_parts(question, rows.collect())
}

/// For a gate on harm also the part without a row, where one of the two parts of a group is
/// missing: it cannot be judged, so neither can the gate.
fn with_both_harm_parts(
    question: &GateQuestion,
    mut all: Vec<GateObservation>,
) -> Vec<GateObservation> {
    let GateSubject::HarmTo(group) = &question.scope else { return all };
    let other = |AuditKey { sensitive, from_group, to_group, .. }: &AuditKey| {
        (sensitive.clone(), if from_group == group { to_group } else { from_group }.clone())
    };
    let others: BTreeSet<_> = all.iter().map(|part| other(&part.row.key)).collect();
    for (sensitive, other) in &others {
        let (group, other) = (group.as_str(), other.as_str());
        for (metric, from, to) in [(HARM[0], group, other), (HARM[1], other, group)] {
            let part = GateObservation::unmeasured(metric, sensitive, ["direction", from, to]);
            if !all.iter().any(|known| known.key() == part.key()) {
                all.push(part);
            }
        }
    }
    all
}

/// Why a change cannot be judged.
fn objection_to(row: &ChangeRow, baseline: &GateBaseline<'_>) -> Option<GateReason> {
    if let Some(why) = row.refit_reason() {
        return Some(GateReason::Refitted { why });
    }
    match row.status.as_str() {
        "only_new" => Some(GateReason::OnlyInOneRun { new: true }),
        "only_old" => Some(GateReason::OnlyInOneRun { new: false }),
        "not_comparable" => {
            let definitions = baseline.differing_definitions.clone();
            Some(GateReason::NotComparable { definitions })
        }
        _ => None,
    }
}

/// Whether the question is about a row of the table of changes.
fn asks_about(question: &GateQuestion, row: &ChangeRow) -> bool {
    matches(question, &row.key, [&row.class, &row.metric, &row.family])
}

/// The rows of the table of changes that the question is about, turned to its orientation.
pub(super) fn changes(
    question: &GateQuestion,
    baseline: &GateBaseline<'_>,
) -> Vec<GateObservation> {
    // Of two runs the fewer; none where in one of them each row is a person.
    let fewer = |old: Option<i64>, new| old.zip(new).map(|(old, new): (i64, i64)| old.min(new));
    let rows = baseline.changes.iter().filter(|row| asks_about(question, row));
    let all = rows.map(|row| {
        let of_change = MetricRow {
            key: row.key.clone(),
            metric: row.metric.clone(),
            value: row.difference,
            lo: row.lo,
            hi: row.hi,
            level: row.level,
            interval: row.interval.clone(),
            denominator: fewer(row.old_denominator, row.new_denominator),
            n_rows: row.old_rows.min(row.new_rows),
            denominator_persons: fewer(row.old_denominator_persons, row.new_denominator_persons),
            n_persons: fewer(row.old_persons, row.new_persons),
            flags: row.flags.clone(),
            undefined: row.undefined.clone(),
            ..MetricRow::default()
        };
        let change = GateObservation {
            is_change: true,
            baseline: row.old_value,
            old: old_values(row),
            objections: objection_to(row, baseline).into_iter().collect(),
            over: vec![UncertaintySource::People],
            lack: IntervalLack::Table(row.ci_method.to_string()),
            ..of_change.into()
        };
        in_question_order(question, change)
    });
    with_both_harm_parts(question, all.collect())
}

/// The values that the earlier run could have had. The table has no infinite end: one that it lacks
/// is infinite where the metric has no bound there.
fn old_values(row: &ChangeRow) -> Option<PossibleValues> {
    let range = find(&row.metric).map(|metric| metric.range_in(&row.key.scope));
    let (lo, hi) = range.unwrap_or((0.0, 0.0));
    let unbounded = |end: f64| end.is_infinite().then_some(end);
    let (least, most) = (row.old_least.or(unbounded(lo))?, row.old_most.or(unbounded(hi))?);
    Some(PossibleValues { least, most, people: unsigned(row.old_unmeasured?) })
}

/// Adds to the rows of changes that some question is about the smallest and the largest value that
/// the earlier run could have had if everybody had been measured there, by its tables.
pub(crate) fn add_old_extremes(
    questions: &[GateQuestion],
    changes: &mut [ChangeRow],
    old: &GateTables,
) {
    let of_changes = questions.iter().filter(|asked| asked.quantity == GateQuantity::Change);
    for row in changes.iter_mut().filter(|row| row.old_value.is_some()) {
        let Some(question) = of_changes.clone().find(|asked| asks_about(asked, row)) else {
            continue;
        };
        let of_run = MetricRow {
            key: row.key.clone(),
            metric: row.metric.clone(),
            value: row.old_value,
            n_rows: row.old_rows,
            ..MetricRow::default()
        };
        let case = GateCase { question, observed: &of_run.into(), tables: old };
        let could = unmeasured::possible_values(case);
        row.old_least = could.and_then(|could| finite(could.least));
        row.old_most = could.and_then(|could| finite(could.most));
        row.old_unmeasured = could.and_then(|could| i64::try_from(could.people).ok());
    }
}

/// Whether the question is about a row of `metrics` or `changes`, by its key, class, metric and
/// family.
pub(super) fn matches(
    question: &GateQuestion,
    audit: &AuditKey,
    [class, metric, family]: [&str; 3],
) -> bool {
    let same = question.is_about(audit, class)
        && question.attributes.iter().any(|attribute| audit.sensitive == *attribute);
    let [scope, from, to] = audit.scope_and_groups();
    let is_metric = match &question.scope {
        GateSubject::HarmTo(group) => {
            [(HARM[0], from), (HARM[1], to)].contains(&(metric, group.as_str()))
        }
        _ => metric == question.metric,
    };
    same && is_metric
        && match &question.scope {
            GateSubject::Total => scope == "total",
            GateSubject::Group(group) => scope == "group" && from == group,
            GateSubject::Direction(a, b) => scope == "direction" && from == a && to == b,
            GateSubject::AnyDirection | GateSubject::HarmTo(_) => scope == "direction",
            GateSubject::Pair(a, b) => {
                let compared = matches!(scope, "pair" | "difference" | "one_vs_rest");
                let by = transform_in(question, scope);
                // Each order of a ratio has its row. Facets cannot be swapped: other neighbours
                // would vote, other strata would lack a share.
                let may_turn = !by.has_order() && family != MetricFamily::Clarify.as_str();
                let [first, second] = by.row_groups(a, b);
                compared
                    && ((from == first && to == second)
                        || (may_turn && from == second && to == first))
            }
            GateSubject::WorstCase => scope == "worst_case",
        }
}

/// A row as the table has it, with the ends of what decides the question, their level, what they
/// are over, and why there are none. By all sources that the set has they run from the lowest to
/// the highest end, so that a limit outside is kept by all of them, or broken by all.
pub(super) fn observed(question: &GateQuestion, row: &MetricRow) -> GateObservation {
    use GateDecideBy::{All, Estimate, Fit, Interval, Training, Worlds};
    use UncertaintySource::{Fits, Graphs, People, Trainings};
    let (by, fits, trainings) = (question.decide_by, row.fit_repeats, row.training_repeats);
    let lack = |repeats: Option<i64>, few, none| if repeats.is_some() { few } else { none };
    let of_fits = lack(fits, IntervalLack::FewFits, IntervalLack::NotFitted);
    let of_trainings = lack(trainings, IntervalLack::FewTrainings, IntervalLack::NotTrained);
    let of_people = IntervalLack::Table(row.ci_method.to_string());
    // For graphs that were fitted once there is no interval over refits.
    let is_refitted = !fits_once(question);
    let over_graphs = row.world_lo.zip(row.world_hi).filter(|_| is_refitted);
    let (over_fits, over_trainings) =
        (row.fit_lo.zip(row.fit_hi), row.training_lo.zip(row.training_hi));
    let [n_fits, n_trainings] = [fits, trainings].map(|n| n.unwrap_or(0));
    // What decides, whether it is there, its ends, what they are over, and why it has none.
    let sources = [
        (Interval, true, row.lo.zip(row.hi), People, of_people),
        (Worlds, row.n_worlds.is_some(), over_graphs, Graphs, IntervalLack::FewGraphs),
        (Fit, fits.is_some(), over_fits, Fits(n_fits), of_fits),
        (Training, trainings.is_some(), over_trainings, Trainings(n_trainings), of_trainings),
    ];
    let own = sources.into_iter().filter(|(source, is_there, ..)| match by {
        All => *is_there,
        Estimate => *source == Interval,
        own => *source == own,
    });
    let own: Vec<_> = own.collect();
    let ends = own.iter().map(|(_, _, ends, ..)| *ends).reduce(|a, b| {
        let (a, b) = a.zip(b)?;
        Some((a.0.min(b.0), a.1.max(b.1)))
    });
    let over = own.iter().map(|(_, _, _, over, _)| over.clone()).collect();
    let lacks = own.into_iter().find(|(_, _, ends, ..)| by != All || ends.is_none());
    let lack = lacks.map_or_else(IntervalLack::default, |(_, _, _, over, why)| match by {
        All => IntervalLack::Over { sources: vec![over], why: Box::new(why) },
        _ => why,
    });
    let level = match by {
        Interval | Estimate => row.level,
        Worlds => row.world_level.filter(|_| is_refitted),
        Fit | Training | All => None,
    };
    let (lo, hi) = ends.flatten().unzip();
    GateObservation { over, lack, ..MetricRow { lo, hi, level, ..row.clone() }.into() }
}

/// How the values of a gate compare two groups in a scope. Two directions are subtracted for every
/// metric that is no ratio of them.
fn transform_in(question: &GateQuestion, scope: &str) -> GapTransform {
    let metric = find(&question.metric).filter(|metric| !metric.is_gap_in(scope));
    metric.and_then(Metric::transform).unwrap_or(GapTransform::Difference)
}

/// An observation with the groups of a difference in the order of the question.
fn in_question_order(question: &GateQuestion, mut observed: GateObservation) -> GateObservation {
    let GateSubject::Pair(first, second) = &question.scope else { return observed };
    match transform_in(question, &observed.row.key.scope) {
        // Each order of a ratio has its row.
        GapTransform::Ratio | GapTransform::Inverse => return observed,
        GapTransform::Widest | GapTransform::SmallerOverLarger => {}
        _ if observed.row.key.from_group != *first => negate(&mut observed),
        _ => {}
    }
    let AuditKey { from_group, to_group, .. } = &mut observed.row.key;
    (*from_group, *to_group) = (first.into(), second.into());
    observed
}

pub(super) fn negate(observed: &mut GateObservation) {
    // Not `-x`: that would make a zero negative.
    let negated = |x: Option<f64>| x.map(|x| 0.0 - x);
    let row = &mut observed.row;
    (row.value, observed.baseline) = (negated(row.value), negated(observed.baseline));
    let MetricRow { lo, hi, world_lo, world_hi, fit_lo, fit_hi, .. } = row;
    let (training_lo, training_hi) = (&mut row.training_lo, &mut row.training_hi);
    for (lo, hi) in [(lo, hi), (world_lo, world_hi), (fit_lo, fit_hi), (training_lo, training_hi)] {
        (*lo, *hi) = (negated(*hi), negated(*lo));
    }
    if let Some(PossibleValues { least, most, .. }) = &mut observed.old {
        (*least, *most) = (0.0 - *most, 0.0 - *least);
    }
}
