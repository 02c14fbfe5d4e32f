//! Verdicts that depend on people whom the reference rows hardly hold, such as women who are
//! husbands: a gate is inconclusive if its verdict for only the supported people is another one.

use super::holm;
use crate::gate::question::{GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{GateReason, GateStatus};

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
