//! Verdicts that depend on people whom the reference rows hardly hold, such as women who are
//! husbands: a gate is inconclusive if its verdict for only the supported people is another one.

use super::holm;
use super::objection::MANY_PEOPLE;
use super::observe::observations;
use crate::gate::question::{GateCase, GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{GateFindings, GateReason, GateStatus, MissingRow};
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::table::MetricRow;

/// What prevents a pass of a value that the tables do not have for only the supported people: many
/// of the others.
pub(super) fn untold(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, observed, tables } = case;
    let is_told = !observed.is_change && !observations(question, &tables.supported).is_empty();
    let is_of_people = question.counted.is_none() && !question.is_of_graphs();
    if is_told || !is_of_people || question.counterfactual.is_empty() {
        return None;
    }
    let share = by_switches(case).unwrap_or_else(|| by_values(case));
    let alone = Box::new(GateFindings::new(GateReason::NotMeasured { row: MissingRow::Metrics }));
    let objection = GateReason::UnsupportedPeople { value: None, of: None, alone };
    (share >= MANY_PEOPLE && !question.accepts(&objection)).then_some(objection)
}

/// The share of the unsupported among the counterfactuals of a value, by the switch rate of the
/// same place; none where it is not measured.
fn by_switches(case: GateCase<'_>) -> Option<f64> {
    let place = case.observed.place();
    let is_rate =
        |row: &&MetricRow| row.metric == *SWITCH_RATE && row.key.scope_and_groups() == place;
    let below = |rows| Some(case.among(rows).find(is_rate)?.denominator? as f64);
    Some(1.0 - below(&case.tables.supported)? / below(&case.tables.metrics)?)
}

/// The least share that they can be: of the people behind a value, those who would hold the most
/// frequent unsupported value of their direction.
fn by_values(case: GateCase<'_>) -> f64 {
    let GateCase { question, observed, tables } = case;
    let sides = observed.sides();
    let is_asked = |from: &str, to: &str| {
        sides.iter().any(|[scope, a, b]| *scope != "direction" || [*a, *b] == [from, to])
    };
    let most_frequent = tables.support.iter().filter(|row| {
        row.rank == 1
            && row.counterfactual == *question.counterfactual
            && row.sensitive == observed.row.key.sensitive
            && is_asked(&row.from_group, &row.to_group)
    });
    let groups = case.groups().filter(|row| !row.group.is_empty());
    let directions = groups.clone().flat_map(|from| groups.clone().map(move |to| (from, to)));
    let directions = directions.filter(|(from, to)| from.group != to.group);
    let all = directions.filter(|(from, to)| is_asked(&from.group, &to.group));
    let all: i64 = all.map(|(from, _)| from.n).sum();
    most_frequent.map(|row| row.people).sum::<i64>() as f64 / all.max(1) as f64
}

/// Withdraws verdicts that are not the same for only the supported people, unless the job accepts
/// that. `supported` are their values; none where the metric has none.
pub(super) fn reconsider(
    question: &GateQuestion,
    rulings: &mut [GateRuling],
    supported: Vec<GateObservation>,
) {
    let verdict_of = |rulings: &[GateRuling]| rulings.iter().map(GateRuling::verdict).max();
    if supported.is_empty() || verdict_of(rulings) == Some(GateStatus::Inconclusive) {
        return;
    }
    let alone = holm::decide_all(question, supported);
    if verdict_of(&alone) == verdict_of(rulings) {
        return;
    }
    for ruling in rulings {
        let is_same = |other: &&GateRuling| other.observation.key() == ruling.observation.key();
        let other = alone.iter().find(is_same);
        let Some(other) = other.filter(|of| of.verdict() != ruling.verdict()) else { continue };
        let objection = GateReason::UnsupportedPeople {
            value: other.observation.row.value,
            of: other.observation.row.denominator,
            alone: Box::new(other.findings.clone()),
        };
        if !question.accepts(&objection) {
            ruling.object(objection);
        }
    }
}
