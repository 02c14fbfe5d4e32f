//! Verdicts that depend on people whom the reference rows hardly hold, such as women who are
//! husbands: a gate is inconclusive if its verdict for only the supported people is another one.

use super::holm;
use super::objection::MANY_PEOPLE;
use super::observe::observations;
use crate::gate::question::{GateCase, GateObservation, GateQuestion, GateRuling, GateTables};
use crate::gate::reason::{GateFindings, GateReason, GateStatus, MissingRow};
use crate::metric::catalog::ccm::SWITCH_RATE;

/// What prevents a pass of a value that the tables do not have for only the supported people: many
/// of the others, by the switch rate of the same place.
pub(super) fn untold(case: GateCase<'_>) -> Option<GateReason> {
    let GateCase { question, observed, tables } = case;
    let is_told = !observed.is_change && !observations(question, tables.supported).is_empty();
    if is_told || question.counted.is_some() {
        return None;
    }
    let below = |metrics| {
        let case = GateCase { tables: GateTables { metrics, ..tables }, ..case };
        Some(case.row(SWITCH_RATE, observed.place())?.denominator? as f64)
    };
    let share = 1.0 - below(tables.supported)? / below(tables.metrics)?;
    let alone = Box::new(GateFindings::new(GateReason::NotMeasured { row: MissingRow::Metrics }));
    let objection = GateReason::UnsupportedPeople { value: None, of: None, alone };
    (share >= MANY_PEOPLE && !question.accepts(&objection)).then_some(objection)
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
