//! Whom a value did not see: a gate passes only on people that it saw.

use std::collections::BTreeSet;

use crate::gate::question::{
    GateObservation, GateQuestion, GateReason, GateSubject, UnshownChange,
};
use crate::metric::Reads;
use crate::metric::catalog::ccm::SWITCH_RATE;
use crate::metric::catalog::find;
use crate::metric::rate::Undefined;
use crate::table::{GroupRow, MetricRow, ReasonCode};

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

/// The rows of the table of groups under the model of a question, that of all groups among them.
pub(super) fn of_groups<'a>(
    question: &GateQuestion,
    attribute: &str,
    groups: &'a [GroupRow],
) -> Vec<&'a GroupRow> {
    let mine = |row: &&GroupRow| row.model == question.model && row.sensitive.as_str() == attribute;
    groups.iter().filter(|row| mine(row) && row.slice.is_empty()).collect()
}

/// Whether a row of the table of metrics is of the model, set, class and arm of a question, of all
/// people together, and of an attribute in a scope.
pub(super) fn is_like(
    question: &GateQuestion,
    sensitive: &str,
    row: &MetricRow,
    scope: &str,
) -> bool {
    question.is_about(&row.key, &row.class)
        && row.key.sensitive == *sensitive
        && row.key.scope == *scope
}

/// The people whom a set that conditions on the label gives no counterfactual, in words; none where
/// everybody has a label.
fn unlabelled(
    question: &GateQuestion,
    seen: &GateObservation,
    groups: &[GroupRow],
) -> Option<String> {
    let from = match seen.scope.as_str() {
        "direction" => vec![seen.from.as_str()],
        "difference" => vec![seen.from.as_str(), seen.to.as_str()],
        _ => vec![""],
    };
    let rows = of_groups(question, &seen.sensitive, groups)
        .into_iter()
        .filter(|row| from.contains(&row.group.as_str()));
    let n: i64 = rows.map(|row| row.n_missing_label).sum();
    (question.by_label && n > 0).then(|| {
        let people =
            if n == 1 { "person without a label has" } else { "people without a label have" };
        format!(
            "{n} {people} no counterfactual in `{}`, which conditions on the label",
            question.counterfactual
        )
    })
}

/// Who of a value that keeps its limit was not seen: groups without a value or without a score,
/// directions without a valid counterfactual, those that no row shows, and people without a label
/// in a set that conditions on it. None where everybody was.
pub(super) fn unseen(
    question: &GateQuestion,
    seen: &GateObservation,
    (metrics, groups): (&[MetricRow], &[GroupRow]),
) -> Option<GateReason> {
    if let Some(unlabelled) = unlabelled(question, seen, groups) {
        return Some(GateReason::new(ReasonCode::UnlabelledPeople, unlabelled));
    }
    let groups = unmeasured_groups(question, seen, (metrics, groups));
    groups.map(|words| GateReason::new(ReasonCode::UnmeasuredGroups, words))
}

/// The groups and directions that have no value, in words; none where all have one.
fn unmeasured_groups(
    question: &GateQuestion,
    seen: &GateObservation,
    (metrics, groups): (&[MetricRow], &[GroupRow]),
) -> Option<String> {
    let like = |row: &&MetricRow, scope: &str| is_like(question, &seen.sensitive, row, scope);
    let listed = |names: &[String]| names.join(", ");
    if question.scope == GateSubject::WorstCase {
        let mut worst =
            metrics.iter().filter(|row| row.metric == question.metric && like(row, "worst_case"));
        let n = worst.find_map(|row| row.groups_undefined).filter(|n| *n > 0)?;
        // A group is named where it has no value of its own, or of no pair that it is in.
        let base = question.metric.strip_suffix("_to_total").unwrap_or(&question.metric);
        let mut of_group: Vec<(String, bool)> = Vec::new();
        for row in metrics.iter() {
            let (metric, scope) = (row.metric.as_str(), row.key.scope.as_str());
            let ends = match scope {
                "group" if metric == base => vec![row.key.from_group.as_str()],
                "pair" if metric == question.metric => {
                    vec![row.key.from_group.as_str(), row.key.to_group.as_str()]
                }
                _ => continue,
            };
            if like(&row, scope) {
                let without = row.value.is_none()
                    && row.undefined.as_str() != Undefined::ZeroReferenceRate.code();
                for end in ends {
                    match of_group.iter_mut().find(|(group, _)| group == end) {
                        Some((_, all)) => *all &= without,
                        None => of_group.push((end.to_owned(), without)),
                    }
                }
            }
        }
        let names: Vec<String> = of_group
            .into_iter()
            .filter(|(_, without)| *without)
            .map(|(group, _)| format!("`{group}`"))
            .collect();
        let which = if names.is_empty() { String::new() } else { format!(": {}", listed(&names)) };
        return Some(format!(
            "{n} {} no value and {} not measured{which}",
            if n == 1 { "group has" } else { "groups have" },
            was(n)
        ));
    }
    let groups = of_groups(question, &seen.sensitive, groups);
    let empty = |row: &&MetricRow| row.undefined.as_str() == Undefined::EmptyGroup.code();
    // Where nobody is in a group, nobody is missing.
    let has_nobody =
        |group: &str| groups.iter().any(|row| row.group.as_str() == group && row.n == 0);
    if question.counterfactual.is_empty() && ["total", "one_vs_rest"].contains(&seen.scope.as_str())
    {
        let own =
            |row: &&MetricRow| row.metric == question.metric && like(row, "group") && empty(row);
        let mut names: BTreeSet<&str> = BTreeSet::new();
        if seen.scope == "total" {
            let without = metrics.iter().filter(own).map(|row| row.key.from_group.as_str());
            names.extend(without.filter(|group| !has_nobody(group)));
        }
        let unscored = |row: &&&GroupRow| row.n != 0 && row.n_missing_score == row.n;
        names.extend(
            groups
                .iter()
                .filter(unscored)
                .map(|row| row.group.as_str())
                .filter(|group| !group.is_empty()),
        );
        let names: Vec<String> = names.into_iter().map(|group| format!("`{group}`")).collect();
        let n = names.len() as i64;
        let what = if n == 1 {
            "group has no person who counts"
        } else {
            "groups have no person who counts"
        };
        return (n > 0)
            .then(|| format!("{n} {what} and {} not measured: {}", was(n), listed(&names)));
    }
    if seen.scope != "total" {
        return None;
    }
    // A switch in any direction has no rows of directions: those of all switches tell who is
    // missing.
    let of_any =
        find(&question.metric).is_some_and(|metric| matches!(metric.reads, Reads::AnySwitch(_)));
    let told_by = if of_any { SWITCH_RATE } else { question.metric.as_str() };
    let mut names: Vec<String> = Vec::new();
    for row in metrics.iter().filter(|row| row.metric.as_str() == told_by && like(row, "direction"))
    {
        let (from, to) = (row.key.from_group.as_str(), row.key.to_group.as_str());
        let hidden = || {
            let is_hidden = |u: &&UnshownChange| {
                u.attribute == seen.sensitive
                    && u.direction == Some([from.to_owned(), to.to_owned()])
            };
            question.unshown.iter().any(|u| is_hidden(&u))
                && nothing_moved(question, (&seen.sensitive, "direction", from, to), metrics)
        };
        if empty(&row) && !has_nobody(from) || hidden() {
            names.push(format!("`{from}` to `{to}`"));
        }
    }
    let n = names.len() as i64;
    let what = if n == 1 { "direction" } else { "directions" };
    (n > 0).then(|| format!("{n} {what} {} not measured: {}", was(n), listed(&names)))
}

fn was(n: i64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// Whether the set of a question switched nobody and moved no score in a scope, if that is
/// measured.
fn nothing_moved(
    question: &GateQuestion,
    (attribute, scope, from, to): (&str, &str, &str, &str),
    metrics: &[MetricRow],
) -> bool {
    let mine = |row: &&MetricRow| {
        is_like(question, attribute, row, scope)
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
