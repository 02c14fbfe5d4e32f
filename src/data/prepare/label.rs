//! The label of the prepared rows: which of its values are positive, negative and classes, and what
//! is wrong with them.

use crate::data::LabelDefinition;
use crate::data::prepare::missing_words::check_words;
use crate::data::prepare::plan::{PreparePlan, SidesPlan};
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{MAX_SHOWN, counted, seen_text};
use crate::data::source::list_words;
use crate::error::Result;
use crate::nearest::nearest;
use crate::table::{IssueRow, whole};

/// Largest number of values of a label besides the positive ones.
const MAX_LABELS: usize = 1_000;

pub(super) fn label_of(
    plan: &PreparePlan<'_>,
    label: &SidesPlan,
    tally: &ColumnTally,
    issues: &mut Vec<IssueRow>,
) -> Result<LabelDefinition> {
    let name = plan.name(label.column);
    let is_declared = |word: &str| label.declares(word);
    let declare = "list it under `positive` or `negative`";
    check_words(plan, label.column, tally, ("label", declare), &is_declared)?;
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
