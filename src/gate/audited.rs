//! What the audited model does, said in the line of a gate on an arm, so that nobody reads the
//! verdict on the arm as one on the model.

use super::judge;
use crate::gate::question::{GateBaseline, GateObservation, GateQuantity, GateQuestion};
use crate::table::digits::{decimals_apart, fixed_digits, interval_digits};
use crate::table::{TableFrame, TableRecord};

/// The question of a gate on an arm asked of the audited model; none of other gates, and of a
/// change without a baseline.
pub(super) fn judged(
    question: &GateQuestion,
    tables: (&TableFrame, &TableFrame),
    baseline: Option<&GateBaseline<'_>>,
) -> Option<TableFrame> {
    let is_asked = question.quantity == GateQuantity::Value || baseline.is_some();
    let plain = GateQuestion { arm: String::new(), ..question.clone() };
    (is_asked && !question.arm.is_empty())
        .then(|| judge(std::slice::from_ref(&plain), tables, baseline, &[]).table)
}

/// What the audited model does for the same metric and groups as one row of the gate. Its furthest
/// groups may be others.
pub(super) fn in_words(
    question: &GateQuestion,
    seen: &GateObservation,
    own: &TableFrame,
) -> String {
    let model = if question.model.is_empty() { "set" } else { "model" };
    let (table, what) = match question.quantity {
        GateQuantity::Value => ("metrics", ""),
        GateQuantity::Change => ("changes", "a change of "),
    };
    let is_same = |row: &TableRecord<'_>| {
        let of = ["metric", "sensitive", "scope"].map(|column| row.text(column))
            == [&seen.metric, &seen.sensitive, &seen.scope];
        of && (seen.scope == "worst_case"
            || [row.text("from_group"), row.text("to_group")] == [&seen.from, &seen.to])
    };
    let Some(row) = own.records().find(is_same) else {
        return format!(
            "the audited {model} itself cannot be judged: the table of {table} has no such row"
        );
    };
    if !row.is_some("value") {
        return format!("the audited {model} itself cannot be judged: {}", row.text("reason"));
    }
    let ends = row.real("lo").zip(row.real("hi"));
    let judged = row.real("value").zip(row.real("limit"));
    let decimals = decimals_apart(&ends.into_iter().chain(judged).collect::<Vec<_>>());
    let ends = ends
        .map_or_else(String::new, |(lo, hi)| format!(" ({})", interval_digits(lo, hi, decimals)));
    let value = row.real("value").map_or_else(String::new, |x| fixed_digits(x, decimals));
    let value = format!("{what}{value}{ends}");
    match row.text("verdict") {
        "pass" => format!("the audited {model} itself keeps the limit: {value}"),
        "fail" => format!("the audited {model} itself breaks the limit: {value}"),
        _ => format!("the audited {model} itself is at {value}: {}", row.text("reason")),
    }
}
