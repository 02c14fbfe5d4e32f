//! What a gate looks at: the rows of the tables of metrics or of changes that its question is
//! about, in its orientation, with the interval that decides.

use std::collections::BTreeSet;

use super::unmeasured;
use crate::gate::decide_by::GateDecideBy;
use crate::gate::decision::fits_once;
use crate::gate::question::{
    GateBaseline, GateObservation, GateQuantity, GateQuestion, GateSubject, GateTables,
};
use crate::gate::reason::words::sources;
use crate::gate::reason::{GateReason, UncertaintySource};
use crate::metric::MetricFamily;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::swap_effect::SwapEffect;
use crate::table::{AuditKey, ChangeRow, MetricRow, finite};

/// That a value is in no table.
pub(super) const NOT_MEASURED: &str = "not measured";

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
    with_both_harm_parts(question, rows.iter().map(|row| oriented(question, row)).collect())
}

/// Of a gate on harm also the part that no row tells, where one of the two of a group is missing:
/// it cannot be judged, so neither can the gate.
fn with_both_harm_parts(
    question: &GateQuestion,
    mut seen: Vec<GateObservation>,
) -> Vec<GateObservation> {
    let GateSubject::HarmTo(group) = &question.scope else { return seen };
    let others: BTreeSet<(String, String)> = seen
        .iter()
        .map(|s| {
            (s.sensitive.clone(), if s.from == *group { s.to.clone() } else { s.from.clone() })
        })
        .collect();
    for (sensitive, other) in others {
        for (metric, from, to) in [(HARM[0], group, &other), (HARM[1], &other, group)] {
            let part = [metric, sensitive.as_str(), from.as_str(), to.as_str()];
            if !seen.iter().any(|s| [&s.metric, &s.sensitive, &s.from, &s.to] == part) {
                let [metric, sensitive, from, to] = part.map(str::to_owned);
                let (scope, undefined) = ("direction".to_owned(), NOT_MEASURED.to_owned());
                let none = GateObservation::default();
                seen.push(GateObservation {
                    scope,
                    metric,
                    sensitive,
                    from,
                    to,
                    undefined,
                    ..none
                });
            }
        }
    }
    seen
}

/// Why a change cannot be judged.
fn objection_to(row: &ChangeRow, baseline: &GateBaseline<'_>) -> Option<GateReason> {
    match row.status.as_str() {
        "only_new" => Some(GateReason::OnlyInOneRun { new: true }),
        "only_old" => Some(GateReason::OnlyInOneRun { new: false }),
        // The words of a change that is not judged say why, and what helps.
        "refitted" => {
            let why = row.ci_method.trim_start_matches("none: ").to_owned();
            Some(GateReason::Refitted { why })
        }
        "not_comparable" => {
            let definitions = baseline.differing_definitions.clone();
            Some(GateReason::NotComparable { definitions })
        }
        _ => None,
    }
}

/// The rows of the table of changes that the question is about, turned to its orientation.
pub(super) fn changes(
    question: &GateQuestion,
    baseline: &GateBaseline<'_>,
) -> Vec<GateObservation> {
    let rows = baseline
        .changes
        .iter()
        .filter(|row| matches(question, &row.key, [&row.class, &row.metric, &row.family]));
    let seen = rows.map(|row| {
        let change = GateObservation {
            value: row.difference,
            lo: row.lo,
            hi: row.hi,
            level: row.level,
            interval: row.interval.to_string(),
            denominator: row
                .old_denominator
                .zip(row.new_denominator)
                .map(|(old, new)| old.min(new)),
            n_rows: row.old_rows.min(row.new_rows),
            denominator_persons: fewer(row.old_denominator_persons, row.new_denominator_persons),
            persons: fewer(row.old_persons, row.new_persons),
            flags: row.flags.to_string(),
            undefined: row.undefined.to_string(),
            why_no_interval: row.ci_method.to_string(),
            is_change: true,
            baseline: row.old_value,
            old_ends: row.old_least.zip(row.old_most),
            objections: objection_to(row, baseline).into_iter().collect(),
            over: vec![UncertaintySource::People],
            ..about(&row.metric, &row.key)
        };
        in_question_order(question, change)
    });
    with_both_harm_parts(question, seen.collect())
}

/// Adds to the rows of changes that some question is about what the earlier run could have been at
/// least and at most if everybody had been measured there, by its tables.
pub(crate) fn add_old_extremes(
    questions: &[GateQuestion],
    changes: &mut [ChangeRow],
    old: GateTables<'_>,
) {
    for row in changes {
        let asks = |question: &&GateQuestion| {
            question.quantity == GateQuantity::Change
                && matches(question, &row.key, [&row.class, &row.metric, &row.family])
        };
        let (Some(question), Some(value)) = (questions.iter().find(asks), row.old_value) else {
            continue;
        };
        let (value, n_rows) = (Some(value), row.old_rows);
        let seen = GateObservation { value, n_rows, ..about(&row.metric, &row.key) };
        let ends = unmeasured::extremes(question, &seen, old);
        row.old_least = ends.map(|ends| ends.0).and_then(finite);
        row.old_most = ends.map(|ends| ends.1).and_then(finite);
    }
}

/// The fewer persons of two runs; none where in one of them each row is a person.
fn fewer(old: Option<i64>, new: Option<i64>) -> Option<i64> {
    old.zip(new).map(|(old, new)| old.min(new))
}

/// Whether a row of `metrics` or `changes` is one that the question is about, by what it belongs
/// to, its class, its metric and the family of that.
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
                let swap = swap_of(question, scope);
                // Each order of a ratio has its row. Facets do not change places: other neighbours
                // vote, other strata have no share.
                let may_turn =
                    swap.ratio_order().is_none() && family != MetricFamily::Clarify.as_str();
                let [first, second] = swap.row_groups(a, b);
                compared
                    && ((from == first && to == second)
                        || (may_turn && from == second && to == first))
            }
            GateSubject::WorstCase => scope == "worst_case",
        }
}

/// The interval over some sources of uncertainty about a value.
struct SourceInterval {
    ends: Option<(f64, f64)>,
    level: Option<f64>,
    over: Vec<UncertaintySource>,
    /// Why there are no ends.
    why_none: String,
}

impl SourceInterval {
    /// What decides a question about a row.
    fn of(question: &GateQuestion, row: &MetricRow) -> Self {
        match question.decide_by {
            GateDecideBy::Interval | GateDecideBy::Estimate => SourceInterval::of_people(row),
            GateDecideBy::Worlds => SourceInterval::of_graphs(question, row),
            GateDecideBy::Fit => SourceInterval::of_fits(row),
            GateDecideBy::Training => SourceInterval::of_trainings(row),
            GateDecideBy::All => SourceInterval::of_all(question, row),
        }
    }

    fn of_people(row: &MetricRow) -> Self {
        SourceInterval {
            ends: row.lo.zip(row.hi),
            level: row.level,
            over: vec![UncertaintySource::People],
            why_none: row.ci_method.to_string(),
        }
    }

    /// Of graphs that were fitted once there is no interval over refits.
    fn of_graphs(question: &GateQuestion, row: &MetricRow) -> Self {
        SourceInterval {
            ends: row.world_lo.zip(row.world_hi).filter(|_| !fits_once(question)),
            level: row.world_level.filter(|_| !fits_once(question)),
            over: vec![UncertaintySource::Graphs],
            why_none: "fewer than two graphs give a value".to_owned(),
        }
    }

    fn of_fits(row: &MetricRow) -> Self {
        let why_none = [
            "the set was not fitted again: add `doubt: {fit: 20}` to it",
            "fewer than 95 % of the repeats of the fit give a value",
        ];
        let ends = row.fit_lo.zip(row.fit_hi);
        SourceInterval::of_repeats(ends, row.fit_repeats, UncertaintySource::Fits, why_none)
    }

    fn of_trainings(row: &MetricRow) -> Self {
        let why_none = [
            "the value was not measured for other trainings of the model",
            "fewer than 95 % of the trainings give a value",
        ];
        let (ends, repeats) = (row.training_lo.zip(row.training_hi), row.training_repeats);
        SourceInterval::of_repeats(ends, repeats, UncertaintySource::Trainings, why_none)
    }

    /// A range over repeats, with why it is none where there are no repeats, and where too few of
    /// them give a value.
    fn of_repeats(
        ends: Option<(f64, f64)>,
        repeats: Option<i64>,
        source: fn(i64) -> UncertaintySource,
        [none, few]: [&str; 2],
    ) -> Self {
        let why_none = if repeats.is_none() { none } else { few }.to_owned();
        SourceInterval { ends, level: None, over: vec![source(repeats.unwrap_or(0))], why_none }
    }

    /// From the lowest to the highest end of each source that the set has, so that a limit outside
    /// is kept by all of them, or broken by all.
    fn of_all(question: &GateQuestion, row: &MetricRow) -> Self {
        let mut all = vec![SourceInterval::of_people(row)];
        all.extend(row.n_worlds.map(|_| SourceInterval::of_graphs(question, row)));
        all.extend(row.fit_repeats.map(|_| SourceInterval::of_fits(row)));
        all.extend(row.training_repeats.map(|_| SourceInterval::of_trainings(row)));
        let lacks = all.iter().find(|source| source.ends.is_none());
        let why_none = lacks.map_or_else(String::new, |source| {
            format!("none over {}: {}", sources(&source.over), source.why_none)
        });
        let ends = all.iter().map(|source| source.ends).reduce(|a, b| {
            let (a, b) = a.zip(b)?;
            Some((a.0.min(b.0), a.1.max(b.1)))
        });
        let over = all.into_iter().flat_map(|source| source.over).collect();
        SourceInterval { ends: ends.flatten(), level: None, over, why_none }
    }
}

/// What becomes of the values of a gate in a scope where the groups change places. The difference
/// between two directions changes its sign for every metric that is no ratio of them.
fn swap_of(question: &GateQuestion, scope: &str) -> SwapEffect {
    let metric = find(&question.metric).filter(|metric| !metric.is_gap_in(scope));
    metric.map_or(SwapEffect::Negated, SwapEffect::of)
}

fn oriented(question: &GateQuestion, row: &MetricRow) -> GateObservation {
    in_question_order(question, observed(question, row))
}

/// A row as the table has it.
pub(super) fn observed(question: &GateQuestion, row: &MetricRow) -> GateObservation {
    let interval = SourceInterval::of(question, row);
    GateObservation {
        value: row.value,
        lo: interval.ends.map(|ends| ends.0),
        hi: interval.ends.map(|ends| ends.1),
        level: interval.level,
        interval: row.interval.to_string(),
        numerator: row.numerator,
        denominator: row.denominator,
        n_rows: row.n_rows,
        denominator_persons: row.denominator_persons,
        persons: row.n_persons,
        effective: row.n_eff,
        is_weighed: row.weight_denominator.is_some(),
        flags: row.flags.to_string(),
        undefined: row.undefined.to_string(),
        why_no_interval: interval.why_none,
        over: interval.over,
        ..about(&row.metric, &row.key)
    }
}

/// What is known of a value from what it is about alone.
fn about(metric: &str, audit: &AuditKey) -> GateObservation {
    let [scope, from, to] = audit.scope_and_groups().map(str::to_owned);
    let (metric, sensitive) = (metric.to_owned(), audit.sensitive.to_string());
    GateObservation { metric, sensitive, scope, from, to, ..GateObservation::default() }
}

/// The same with the groups of a difference in the order of the question.
fn in_question_order(question: &GateQuestion, mut seen: GateObservation) -> GateObservation {
    let GateSubject::Pair(first, second) = &question.scope else { return seen };
    match swap_of(question, &seen.scope) {
        // Each order of a ratio has its row.
        SwapEffect::Reciprocal(_) => return seen,
        SwapEffect::Negated if seen.from != *first => negate(&mut seen),
        SwapEffect::Negated | SwapEffect::Same => {}
    }
    seen.from.clone_from(first);
    seen.to.clone_from(second);
    seen
}

pub(super) fn negate(seen: &mut GateObservation) {
    // Not `-x`: that would make a zero negative.
    let negated = |x: Option<f64>| x.map(|x| 0.0 - x);
    (seen.value, seen.baseline) = (negated(seen.value), negated(seen.baseline));
    (seen.lo, seen.hi) = (negated(seen.hi), negated(seen.lo));
    seen.old_ends = seen.old_ends.map(|(least, most)| (0.0 - most, 0.0 - least));
}
