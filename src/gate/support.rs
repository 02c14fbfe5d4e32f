//! Verdicts that depend on people whom the reference rows hardly hold, such as women who are
//! husbands: a gate whose verdict among the supported people alone is another one is inconclusive.

use super::holm;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{GateReason, GateStatus};

/// Takes verdicts back that the supported people alone do not support, unless the job accepts it.
/// `supported` are their values; none where the metric has none.
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
        let Some(other) = alone.iter().find(is_same) else { continue };
        if other.verdict() == ruling.verdict() {
            continue;
        }
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
