//! Changes that no scorer was shown: counterfactuals that differ from their rows only in
//! `to_group`, and moved nothing.

use crate::gate::question::{GateObservation, GateQuestion, GateReason, UnshownChange};
use crate::metric::catalog::find;
use crate::table::{MetricRow, ReasonCode};

/// Why a value says nothing of a model that was shown no change.
const UNTESTED: &str = "counterfactuals differ from their rows only in \
    `to_group`, and no measured value changed";

/// The part of a value that no scorer was shown, where nothing moved either; none where all of it
/// was tested.
pub(super) fn untested(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<GateReason> {
    let mut hidden = question.unshown.iter().filter(|unshown| unshown.attribute == seen.sensitive);
    let held = |unshown: &UnshownChange| match (&unshown.direction, seen.scope.as_str()) {
        (None, _) => nothing_moved(question, (&seen.sensitive, "total", "", ""), metrics),
        (Some([from, to]), scope) => {
            let forth = (&seen.from, &seen.to) == (from, to);
            let back = scope == "difference" && (&seen.from, &seen.to) == (to, from);
            (forth || back)
                && nothing_moved(question, (&seen.sensitive, "direction", from, to), metrics)
        }
    };
    hidden.find(|unshown| held(unshown)).map(|unshown| {
        let words = format!("no row that was scored shows {}: {UNTESTED}", unshown.words());
        GateReason::new(ReasonCode::UnseenChange, words)
    })
}

/// The directions of a total that no scorer was shown, where nothing moved either, in words; none
/// where all were tested.
pub(super) fn untested_directions(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<GateReason> {
    let of_total = question
        .unshown
        .iter()
        .filter(|unshown| seen.scope == "total" && unshown.attribute == seen.sensitive);
    let held = of_total.filter_map(|unshown| {
        let [from, to] = unshown.direction.as_ref()?;
        let place = (seen.sensitive.as_str(), "direction", from.as_str(), to.as_str());
        nothing_moved(question, place, metrics).then(|| format!("`{from}` to `{to}`"))
    });
    let names: Vec<String> = held.collect();
    let what = if names.len() == 1 { "direction was" } else { "directions were" };
    (!names.is_empty()).then(|| {
        let words =
            format!("{} {what} not measured: {}: {UNTESTED}", names.len(), names.join(", "));
        GateReason::new(ReasonCode::UnseenChange, words)
    })
}

/// Whether the set of a question switched nobody and moved no score in a scope, if that is
/// measured.
fn nothing_moved(
    question: &GateQuestion,
    (attribute, scope, from, to): (&str, &str, &str, &str),
    metrics: &[MetricRow],
) -> bool {
    let mine = |row: &&MetricRow| {
        question.is_about(&row.key, &row.class)
            && row.key.sensitive == *attribute
            && row.key.scope_and_groups() == [scope, from, to]
            && row.value.is_some()
    };
    // These tell of every move; where none is measured, rates that are 0 where nobody switches do.
    let all: Vec<&MetricRow> = metrics.iter().filter(mine).collect();
    let tells_all = |row: &&&MetricRow| find(&row.metric).is_some_and(|of| of.shows_every_move);
    let whole: Vec<&&MetricRow> = all.iter().filter(tells_all).collect();
    let told: Vec<&&MetricRow> = if whole.is_empty() {
        all.iter().filter(|row| row.ideal == Some(0.0)).collect()
    } else {
        whole
    };
    !told.is_empty() && told.iter().all(|row| row.value == Some(0.0))
}
