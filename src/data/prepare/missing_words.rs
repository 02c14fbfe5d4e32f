//! Words that usually mean missing among the values of a column, such as `nan`; `canonical` has
//! their list.
//!
//! In a label, a sensitive column or a column of decisions such a word would count as a value: as a
//! negative label, as a group of its own, as a refusal. In such a column it ends the run unless the
//! job says what it is. In a feature it is an issue.

use crate::data::FeatureKind;
use crate::data::canonical::means_missing;
use crate::data::prepare::plan::{FeaturePlan, PreparePlan};
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view_issues::{MAX_SHOWN, counted};
use crate::data::source::list_words;
use crate::error::Result;
use crate::table::{IssueRow, whole};

/// The code of the issue and of the fault.
pub(crate) const MISSING_WORD: &str = "missing-word";

/// The words of a column that usually mean missing and are not among the declared ones, with their
/// counts. The names of a derived column are the job's own.
fn undeclared<'t>(
    plan: &PreparePlan<'_>,
    column: usize,
    tally: &'t ColumnTally,
    is_declared: &dyn Fn(&str) -> bool,
) -> Vec<(&'t str, u64)> {
    let is_own = plan.view.derived_at(column).is_some();
    let is_word = |(word, _): &(&str, u64)| !is_own && means_missing(word) && !is_declared(word);
    tally.by_count().into_iter().filter(is_word).collect()
}

/// How the job says that these words mean missing.
fn null_values(name: &str, words: &[(&str, u64)]) -> String {
    let words = words.iter().take(MAX_SHOWN).map(|(word, _)| format!("\"{word}\""));
    let words: Vec<String> = words.collect();
    format!("data.missing.null_values: {{{name}: [{}]}}", words.join(", "))
}

/// Fails where a column of labels, groups or decisions holds a word that usually means missing and
/// that the job does not declare. `role` is what the column is, `declare` how the word is declared.
///
/// # Errors
/// Such a word, with both ways to say what it is.
pub(super) fn check_words(
    plan: &PreparePlan<'_>,
    column: usize,
    tally: &ColumnTally,
    (role, declare): (&str, &str),
    is_declared: &dyn Fn(&str) -> bool,
) -> Result<()> {
    let found = undeclared(plan, column, tally, is_declared);
    let Some((first, _)) = found.first() else { return Ok(()) };
    let (name, n) = (plan.name(column), found.iter().map(|(_, n)| n).sum::<u64>());
    let what = format!(
        "{n} rows have a word in the {role} `{name}` that usually means missing: {}",
        list_words(found.iter().copied().map(counted), MAX_SHOWN)
    );
    let hint = format!(
        "if it means missing, write `{}`; if it is a value, {declare}",
        null_values(name, &found)
    );
    let row = tally.occurrences[*first].first_row;
    plan.fault_in_row(MISSING_WORD, (column, row), what).fail(hint)
}

/// The issue of a feature with such words.
pub(super) fn words_of_feature(
    plan: &PreparePlan<'_>,
    feature: &FeaturePlan,
    tally: &ColumnTally,
) -> Option<IssueRow> {
    if feature.hidden || feature.kind == FeatureKind::Sensitive {
        return None;
    }
    let named = plan.params.named_words.get(&feature.name);
    let is_declared = |word: &str| {
        feature.declared.iter().any(|level| level == word)
            || named.is_some_and(|named| named.iter().any(|known| known == word))
    };
    let found = undeclared(plan, feature.column, tally, &is_declared);
    let n: u64 = found.iter().map(|(_, n)| n).sum();
    let name = &feature.name;
    let text = || {
        format!(
            "{n} rows have a word in the feature `{name}` that usually means missing and counts \
             as a level: {}; if it means missing, write `{}`; if it is a value, say what it means \
             under `data.names.{name}`",
            list_words(found.iter().copied().map(counted), MAX_SHOWN),
            null_values(name, &found)
        )
    };
    (n > 0).then(|| IssueRow::warning(MISSING_WORD, name, whole(n), text()))
}
