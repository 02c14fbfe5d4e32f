//! Changes that no row shows a scorer: counterfactuals that differ from their rows only in
//! `to_group`, and moved nothing.

use crate::gate::question::GateCase;
use crate::gate::reason::{GateReason, UnseenPart, UnshownChange};
use crate::metric::catalog::find;
use crate::table::MetricRow;

/// The part of a value that no scorer was shown, where nothing moved either; none where all of it
/// was tested.
pub(super) fn untested(case: GateCase<'_>) -> Option<GateReason> {
    let [_, attribute, scope, own_from, own_to] = case.observed.key();
    let mut hidden = case.question.unshown.iter().filter(|unshown| unshown.attribute == attribute);
    let held = |unshown: &UnshownChange| {
        let Some([from, to]) = &unshown.direction else {
            return nothing_moved(case, ["total", "", ""]);
        };
        let forth = [from, to] == [own_from, own_to];
        let back = scope == "difference" && [to, from] == [own_from, own_to];
        (forth || back) && nothing_moved(case, ["direction", from, to])
    };
    let unshown = hidden.find(|unshown| held(unshown))?.clone();
    Some(GateReason::UnseenChange { part: UnseenPart::Change(unshown) })
}

/// The directions of a total that no scorer was shown, where nothing moved either; none where all
/// were tested.
pub(super) fn untested_directions(case: GateCase<'_>) -> Option<GateReason> {
    let [_, attribute, scope, ..] = case.observed.key();
    let unshown = case.question.unshown.iter();
    let of_total = unshown.filter(|change| scope == "total" && change.attribute == attribute);
    let held = of_total.filter_map(|unshown| {
        let [from, to] = unshown.direction.as_ref()?;
        nothing_moved(case, ["direction", from, to]).then(|| [from.clone(), to.clone()])
    });
    let all: Vec<[String; 2]> = held.collect();
    (!all.is_empty()).then_some(GateReason::UnseenChange { part: UnseenPart::Directions(all) })
}

/// Whether the set of a question switched nobody and moved no score in a scope, if that is
/// measured.
fn nothing_moved(case: GateCase<'_>, place: [&str; 3]) -> bool {
    let at = |row: &&MetricRow| row.key.scope_and_groups() == place && row.value.is_some();
    // These show every move; where none is measured, the rates that are 0 when nobody switches show
    // it.
    let tells_all =
        |row: &&MetricRow| find(&row.metric).is_some_and(|metric| metric.shows_every_move);
    let (whole, mut told): (Vec<_>, Vec<_>) = case.rows().filter(at).partition(tells_all);
    told.retain(|row| row.ideal == Some(0.0));
    let told = if whole.is_empty() { told } else { whole };
    !told.is_empty() && told.iter().all(|row| row.value == Some(0.0))
}
