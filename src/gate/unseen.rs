//! Whom a value did not see: a gate passes only on people that it saw.

use std::collections::BTreeSet;

use crate::gate::question::{GateObservation, GateQuestion, GateSubject, UnshownChange};
use crate::metric::Reads;
use crate::metric::catalog::find;
use crate::metric::rate::Undefined;
use crate::table::{TableFrame, TableRecord};

/// Why a value says nothing of a model that was shown no change.
pub(super) const UNTESTED: &str = "counterfactuals differ from their rows in `to_group` alone, and \
    nothing that is measured of them moved";

/// What of a value nobody who scores was shown, where nothing moved either; none where all of it
/// was tested.
pub(super) fn untested(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &TableFrame,
) -> Option<String> {
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
    hidden.find(|unshown| held(unshown)).map(|unshown| unshown.words())
}

/// The rows of the table of groups under the model of a question, that of all groups among them.
fn of_groups<'a>(
    question: &GateQuestion,
    attribute: &str,
    groups: &'a TableFrame,
) -> Vec<TableRecord<'a>> {
    let mine = |row: &TableRecord<'_>| {
        row.text("model") == question.model && row.text("sensitive") == attribute
    };
    groups.records().filter(|row| mine(row) && row.text("slice").is_empty()).collect()
}

/// The people whom a set that conditions on the label gives no counterfactual, in words; none where
/// everybody has a label.
fn unlabelled(
    question: &GateQuestion,
    seen: &GateObservation,
    groups: &TableFrame,
) -> Option<String> {
    let from = match seen.scope.as_str() {
        "direction" => vec![seen.from.as_str()],
        "difference" => vec![seen.from.as_str(), seen.to.as_str()],
        _ => vec![""],
    };
    let rows = of_groups(question, &seen.sensitive, groups)
        .into_iter()
        .filter(|row| from.contains(&row.text("group")));
    let n: i64 = rows.filter_map(|row| row.int("n_missing_label")).sum();
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
    (metrics, groups): (&TableFrame, &TableFrame),
) -> Option<String> {
    if let Some(unlabelled) = unlabelled(question, seen, groups) {
        return Some(unlabelled);
    }
    let like = |row: &TableRecord<'_>, scope: &str| {
        let plain = row.text("class") == question.class
            && row.text("arm") == question.arm
            && row.text("slice").is_empty();
        let same = row.text("model") == question.model
            && row.text("counterfactual") == question.counterfactual;
        same && plain && row.text("sensitive") == seen.sensitive && row.text("scope") == scope
    };
    let listed = |names: &[String]| names.join(", ");
    if question.scope == GateSubject::WorstCase {
        let mut worst = metrics
            .records()
            .filter(|row| row.text("metric") == question.metric && like(row, "worst_case"));
        let n = worst.find_map(|row| row.int("groups_undefined")).filter(|n| *n > 0)?;
        // A group is named where it has no value of its own, or of no pair that it is in.
        let base = question.metric.strip_suffix("_to_total").unwrap_or(&question.metric);
        let mut of_group: Vec<(String, bool)> = Vec::new();
        for row in metrics.records() {
            let (metric, scope) = (row.text("metric"), row.text("scope"));
            let ends = match scope {
                "group" if metric == base => vec![row.text("from_group")],
                "pair" if metric == question.metric => {
                    vec![row.text("from_group"), row.text("to_group")]
                }
                _ => continue,
            };
            if like(&row, scope) {
                let without = !row.is_some("value")
                    && row.text("undefined") != Undefined::ZeroReferenceRate.code();
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
            "{n} {} no value and {} not seen{which}",
            if n == 1 { "group has" } else { "groups have" },
            was(n)
        ));
    }
    let groups = of_groups(question, &seen.sensitive, groups);
    let empty = |row: &TableRecord<'_>| row.text("undefined") == Undefined::EmptyGroup.code();
    // Where nobody is in a group, nobody is missing.
    let has_nobody = |group: &str| {
        groups.iter().any(|row| row.text("group") == group && row.int("n") == Some(0))
    };
    if question.counterfactual.is_empty() && ["total", "one_vs_rest"].contains(&seen.scope.as_str())
    {
        let own = |row: &TableRecord<'_>| {
            row.text("metric") == question.metric && like(row, "group") && empty(row)
        };
        let mut names: BTreeSet<&str> = BTreeSet::new();
        if seen.scope == "total" {
            let without = metrics.records().filter(own).map(|row| row.text("from_group"));
            names.extend(without.filter(|group| !has_nobody(group)));
        }
        let unscored = |row: &&TableRecord<'_>| {
            row.int("n") != Some(0) && row.int("n_missing_score") == row.int("n")
        };
        names.extend(
            groups
                .iter()
                .filter(unscored)
                .map(|row| row.text("group"))
                .filter(|group| !group.is_empty()),
        );
        let names: Vec<String> = names.into_iter().map(|group| format!("`{group}`")).collect();
        let n = names.len() as i64;
        let what =
            if n == 1 { "group has nobody who counts" } else { "groups have nobody who counts" };
        return (n > 0).then(|| format!("{n} {what} and {} not seen: {}", was(n), listed(&names)));
    }
    if seen.scope != "total" {
        return None;
    }
    // A switch in any direction has no rows of directions: those of all switches tell who is
    // missing.
    let of_any =
        find(&question.metric).is_some_and(|metric| matches!(metric.reads, Reads::AnySwitch(_)));
    let told_by = if of_any { "sr" } else { question.metric.as_str() };
    let mut names: Vec<String> = Vec::new();
    for row in
        metrics.records().filter(|row| row.text("metric") == told_by && like(row, "direction"))
    {
        let (from, to) = (row.text("from_group"), row.text("to_group"));
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
    (n > 0).then(|| format!("{n} {what} {} not seen: {}", was(n), listed(&names)))
}

fn was(n: i64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// Whether the set of a question switched nobody and moved no score in a scope, as far as that is
/// measured.
fn nothing_moved(
    question: &GateQuestion,
    (attribute, scope, from, to): (&str, &str, &str, &str),
    metrics: &TableFrame,
) -> bool {
    let mine = |row: &TableRecord<'_>| {
        let same = row.text("model") == question.model
            && row.text("counterfactual") == question.counterfactual;
        let plain = row.text("class") == question.class
            && row.text("arm") == question.arm
            && row.text("slice").is_empty();
        let there = row.text("scope") == scope
            && row.text("from_group") == from
            && row.text("to_group") == to;
        same && plain && row.text("sensitive") == attribute && there && row.is_some("value")
    };
    // These tell of every move; where none is measured, rates that are 0 where nobody switches do.
    let all: Vec<TableRecord<'_>> = metrics.records().filter(mine).collect();
    let whole: Vec<&TableRecord<'_>> =
        all.iter().filter(|row| ["sr", "rmscd", "macd"].contains(&row.text("metric"))).collect();
    let told: Vec<&TableRecord<'_>> = if whole.is_empty() {
        all.iter().filter(|row| row.real("ideal") == Some(0.0)).collect()
    } else {
        whole
    };
    !told.is_empty() && told.iter().all(|row| row.real("value") == Some(0.0))
}
