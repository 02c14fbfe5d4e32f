//! The columns whose words are on two sides, once all rows are counted: the label and its classes,
//! and decisions; which words are positive, negative and classes, and what is wrong with them.
//!
//! Decisions are carried like scores: 1 is positive, 0 is not, missing is none. A word counts only
//! where the job lists it or the rows hold it: counterfactual decisions come in the same words, and
//! a misspelt one is no negative decision.

use crate::data::prepare::missing_words::check_words;
use crate::data::prepare::plan::{PreparePlan, SidesPlan};
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{MAX_SHOWN, counted, seen_text};
use crate::data::source::list_words;
use crate::data::{DecisionColumn, LabelDefinition};
use crate::error::{Fault, Result};
use crate::nearest::nearest;
use crate::table::{IssueRow, whole};

/// How the job says that a word belongs to a side.
const DECLARE: &str = "list it under `positive` or `negative`";

/// Largest number of values of a label besides the positive ones.
const MAX_LABELS: usize = 1_000;

pub(super) fn label_of(
    plan: &PreparePlan<'_>,
    label: &SidesPlan,
    tally: &ColumnTally,
    issues: &mut Vec<IssueRow>,
) -> Result<LabelDefinition> {
    let name = plan.name(label.column);
    check_words(plan, label.column, tally, ("label", DECLARE), &|word| label.declares(word))?;
    for written in label.positive.absent(tally) {
        // In a closed list a positive value that does not occur is not a misspelling: a misspelt
        // value would be missing from the list.
        if label.negative.is_none() {
            let what = format!("the positive value `{written}` never occurs in column `{name}`");
            let hint =
                format!("{}; if it may be absent, close the list by `negative`", seen_text(tally));
            return plan.fault("unknown-label-value", label.column, what).fail(hint);
        }
        if label.classes.iter().len() == 0 {
            let text = format!(
                "no row has the positive value `{written}` of `{name}`; {}",
                seen_text(tally)
            );
            issues.push(IssueRow::warning("absent-label", name, 0, text));
        }
    }
    let listed = |wanted: &dyn Fn(&str) -> bool| {
        let words = tally.by_count().into_iter().filter(|(word, _)| wanted(word));
        list_words(words.map(counted), MAX_SHOWN)
    };
    let words = tally.words();
    let negative: Vec<String> =
        words.into_iter().filter(|word| !label.positive.has(word)).map(str::to_owned).collect();
    if let Some(declared) = &label.negative {
        let undeclared: Vec<&String> = negative.iter().filter(|word| !declared.has(word)).collect();
        if let Some(&first) =
            undeclared.iter().min_by_key(|word| tally.occurrences[**word].first_row)
        {
            let (what, rule, mend) = if label.classes.iter().len() == 0 {
                let what = format!(
                    "`{first}` is neither among the positive nor among the negative values of the \
                     label `{name}`"
                );
                (
                    what,
                    "if `negative` is given, the two lists must name every value",
                    "; name it, or leave `negative` out",
                )
            } else {
                let mend = "; name it, or leave such rows out by `data.keep`";
                (
                    format!("`{first}` is not a class of the label `{name}`"),
                    "`classes` must name every value",
                    mend,
                )
            };
            let written = label.positive.iter().chain(declared.iter());
            let written: Vec<&str> = written.map(|(written, _)| written).collect();
            let hint = match nearest(first, written.iter().copied()) {
                Some(near) => format!("did you mean `{near}`? {rule}"),
                None => format!("{rule}{mend}"),
            };
            let rows: u64 = undeclared.iter().map(|word| tally.occurrences[*word].n).sum();
            let others = listed(&|word| undeclared.iter().any(|u| *u == word));
            let what = format!("{what}; {rows} rows have such a value: {others}");
            let at = (label.column, tally.occurrences[first].first_row);
            return plan.fault_in_row("undeclared-label", at, what).fail(hint);
        }
    }
    if negative.len() > MAX_LABELS {
        let what = format!("the label column `{name}` has {} negative values", negative.len());
        let hint = "a label has few values; is this the right column?";
        return plan.fault("too-many-levels", label.column, what).fail(hint);
    }
    if label.negative.is_none() && negative.len() > 1 {
        let rows = negative.iter().map(|word| tally.occurrences[word].n).sum();
        let others = listed(&|word| negative.iter().any(|n| n == word));
        let text = format!(
            "several values of `{name}` count as negative because they are not listed as positive: \
             {others}; list them under `negative`"
        );
        issues.push(IssueRow::warning("unlisted-label", name, whole(rows), text));
    }
    let one_side = match (tally.occurrences.len(), negative.len()) {
        (0, _) => None,
        (all, negative) if all == negative => Some(format!(
            "no label in `{name}` is positive: rates over positive labels are undefined"
        )),
        (_, 0) => Some(format!(
            "every label in `{name}` is positive: rates over negative labels are undefined"
        )),
        _ => None,
    };
    if let Some(text) = one_side {
        let rows = tally.occurrences.values().map(|value| value.n).sum();
        issues.push(IssueRow::warning("one-label-value", name, whole(rows), text));
    }
    if tally.nulls > 0 {
        let text = match tally.occurrences.is_empty() {
            true => {
                format!("nobody has a label in `{name}`: metrics that need labels are undefined")
            }
            false => format!(
                "{} rows have no label: they count only in metrics that need none, and not in sets \
                 that condition on the label",
                tally.nulls
            ),
        };
        issues.push(IssueRow::warning("missing-label", name, whole(tally.nulls), text));
    }
    for written in label.classes.absent(tally) {
        let text = format!(
            "no row has the class `{written}` of `{name}`: rates over its labels are undefined"
        );
        issues.push(IssueRow::warning("absent-class", name, 0, text));
    }
    Ok(LabelDefinition {
        column: name.to_owned(),
        positive: label.positive.written(),
        negative,
        classes: label.classes.written(),
    })
}

/// The words of a column of decisions.
///
/// # Errors
/// A positive word that no row contains, in a list that `negative` does not close; a word that
/// closed lists do not name.
pub(super) fn decision_words(
    plan: &PreparePlan<'_>,
    decision: &SidesPlan,
    tally: &ColumnTally,
    issues: &mut Vec<IssueRow>,
) -> Result<DecisionColumn> {
    let name = plan.name(decision.column);
    let role = ("column of decisions", DECLARE);
    check_words(plan, decision.column, tally, role, &|word| decision.declares(word))?;
    let fault = |what: String| Fault::new("unknown-decision", what).in_column(name);
    let mut warn = |code, n, text| issues.push(IssueRow::warning(code, name, whole(n), text));
    for written in decision.positive.absent(tally) {
        if decision.negative.is_none() {
            let what = format!("the positive decision `{written}` never occurs in `{name}`");
            let hint = format!(
                "{}; where it may be absent, close the list by `negative`",
                seen_text(tally)
            );
            return fault(what).fail(hint);
        }
        let text = format!("no row has the positive decision `{written}` of `{name}`");
        warn("absent-decision", 0, text);
    }
    let positive = decision.positive.values();
    let others = tally.by_count().into_iter().filter(|(word, _)| !decision.positive.has(word));
    let others: Vec<(&str, u64)> = others.collect();
    let negative = match &decision.negative {
        None => {
            if others.len() > 1 {
                let text = format!(
                    "several words of `{name}` count as negative decisions because they are \
                     not listed as positive: {}; list them under `negative`",
                    list_words(others.iter().copied().map(counted), MAX_SHOWN)
                );
                warn("unlisted-decision", others.iter().map(|(_, n)| n).sum(), text);
            }
            others.iter().map(|(word, _)| (*word).to_owned()).collect()
        }
        Some(listed) => {
            let is_unlisted = |(word, _): &&(&str, u64)| !listed.has(word);
            let listed = listed.values();
            if let Some((word, n)) = others.iter().find(is_unlisted) {
                let what = format!(
                    "`{word}` ({n} rows) is neither among the positive nor among the negative \
                     decisions of `{name}`"
                );
                let known: Vec<&str> = positive.iter().chain(&listed).map(String::as_str).collect();
                let rule = "where `negative` is given, the two lists must name every value";
                let hint = match nearest(word, known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`? {rule}"),
                    None => format!("{rule}; name it, or leave `negative` out"),
                };
                return fault(what).fail(hint);
            }
            listed
        }
    };
    Ok(DecisionColumn { column: name.to_owned(), positive, negative })
}
