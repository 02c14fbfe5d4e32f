//! Changes that no scorer was shown: counterfactuals that differ from their rows only in
//! `to_group`, and moved nothing.

use crate::gate::question::{GateObservation, GateQuestion};
use crate::gate::reason::{GateReason, UnseenPart, UnshownChange};
use crate::metric::catalog::find;
use crate::table::MetricRow;

/// The part of a value that no scorer was shown, where nothing moved either; none where all of it
/// was tested.
pub(super) fn untested(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<GateReason> {
    let [_, attribute, scope, own_from, own_to] = seen.key();
    let mut hidden = question.unshown.iter().filter(|unshown| unshown.attribute == attribute);
    let held = |unshown: &UnshownChange| {
        let Some([from, to]) = &unshown.direction else {
            return nothing_moved(question, attribute, ["total", "", ""], metrics);
        };
        let forth = [from, to] == [own_from, own_to];
        let back = scope == "difference" && [to, from] == [own_from, own_to];
        (forth || back) && nothing_moved(question, attribute, ["direction", from, to], metrics)
    };
    let unshown = hidden.find(|unshown| held(unshown))?.clone();
    Some(GateReason::UnseenChange { part: UnseenPart::Change(unshown) })
}

/// The directions of a total that no scorer was shown, where nothing moved either; none where all
/// were tested.
pub(super) fn untested_directions(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<GateReason> {
    let [_, attribute, scope, ..] = seen.key();
    let of_total = question
        .unshown
        .iter()
        .filter(|unshown| scope == "total" && unshown.attribute == attribute);
    let held = of_total.filter_map(|unshown| {
        let [from, to] = unshown.direction.as_ref()?;
        let place = ["direction", from, to];
        nothing_moved(question, attribute, place, metrics).then(|| [from.clone(), to.clone()])
    });
    let all: Vec<[String; 2]> = held.collect();
    (!all.is_empty()).then_some(GateReason::UnseenChange { part: UnseenPart::Directions(all) })
}

/// Whether the set of a question switched nobody and moved no score in a scope, if that is
/// measured.
fn nothing_moved(
    question: &GateQuestion,
    attribute: &str,
    place: [&str; 3],
    metrics: &[MetricRow],
) -> bool {
    let at = |row: &&MetricRow| row.key.scope_and_groups() == place && row.value.is_some();
    // These tell of every move; where none is measured, rates that are 0 where nobody switches do.
    let all: Vec<&MetricRow> = question.rows(metrics, attribute).filter(at).collect();
    let tells_all = |row: &&&MetricRow| find(&row.metric).is_some_and(|of| of.shows_every_move);
    let whole: Vec<&&MetricRow> = all.iter().filter(tells_all).collect();
    let told: Vec<&&MetricRow> = if whole.is_empty() {
        all.iter().filter(|row| row.ideal == Some(0.0)).collect()
    } else {
        whole
    };
    !told.is_empty() && told.iter().all(|row| row.value == Some(0.0))
}
