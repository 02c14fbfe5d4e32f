//! What the audited model does, said in the line of a gate on an arm, so that nobody reads the
//! verdict on the arm as one on the model.

use crate::gate::question::{GateObservation, GateQuantity, GateQuestion};
use crate::table::GateRow;
use crate::table::deciding_range::DecidingRange;
use crate::table::digits::{decimals_apart, end_pairs, fixed_digits, interval_digits};

/// The question of a gate on an arm asked of the audited model; none of other gates, and of a
/// change without a baseline.
pub(super) fn question_of_model(
    question: &GateQuestion,
    has_baseline: bool,
) -> Option<GateQuestion> {
    let is_asked = question.quantity == GateQuantity::Value || has_baseline;
    (is_asked && !question.arm.is_empty())
        .then(|| GateQuestion { arm: String::new(), ..question.clone() })
}

/// What the audited model does for the same metric and groups as one row of the gate. Its furthest
/// groups may be others.
pub(super) fn in_words(question: &GateQuestion, seen: &GateObservation, own: &[GateRow]) -> String {
    let model = if question.model.is_empty() { "set" } else { "model" };
    let (table, what) = match question.quantity {
        GateQuantity::Value => ("metrics", ""),
        GateQuantity::Change => ("changes", "a change of "),
    };
    let is_same = |row: &&GateRow| {
        let of = [&row.metric, &row.sensitive, &row.scope].map(|text| text.as_str())
            == [&seen.metric, &seen.sensitive, &seen.scope];
        of && (seen.scope == "worst_case"
            || [row.from_group.as_str(), row.to_group.as_str()] == [&seen.from, &seen.to])
    };
    let Some(row) = own.iter().find(is_same) else {
        return format!(
            "the audited {model} itself cannot be judged: the table of {table} has no such row"
        );
    };
    if row.value.is_none() {
        return format!("the audited {model} itself cannot be judged: {}", row.reason.as_str());
    }
    let ends = row.lo.zip(row.hi);
    let judged = row.value.zip(Some(row.limit));
    let decimals = decimals_apart(&end_pairs(ends).chain(judged).collect::<Vec<_>>());
    let over = DecidingRange::before_ends(row.rule_words().1);
    let ends = ends.map_or_else(String::new, |(lo, hi)| {
        format!(" ({over}{})", interval_digits(lo, hi, decimals))
    });
    let value = row.value.map_or_else(String::new, |x| fixed_digits(x, decimals));
    let value = format!("{what}{value}{ends}");
    match row.verdict.as_str() {
        "pass" => format!("the audited {model} itself keeps the limit: {value}"),
        "fail" => format!("the audited {model} itself breaks the limit: {value}"),
        _ => format!("the audited {model} itself is at {value}: {}", row.reason.as_str()),
    }
}
