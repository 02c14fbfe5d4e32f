//! The words of columns of decisions, once all rows are counted.
//!
//! Decisions are carried like scores: 1 is positive, 0 is not, missing is none. A word counts only
//! where the job lists it or the rows hold it: counterfactual decisions come in the same words, and
//! a misspelt one is no negative decision.

use crate::data::DecisionColumn;
use crate::data::prepare::plan::SidesPlan;
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{MAX_SHOWN, counted, seen_text};
use crate::data::source::list_words;
use crate::error::{Fault, Result};
use crate::nearest::nearest;
use crate::table::{IssueRow, whole};

/// The words of a column of decisions.
///
/// # Errors
/// A positive word that no row contains, in a list that `negative` does not close; a word that
/// closed lists do not name.
pub(crate) fn decision_words(
    decision: &SidesPlan,
    name: &str,
    tally: &ColumnTally,
    issues: &mut Vec<IssueRow>,
) -> Result<DecisionColumn> {
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
