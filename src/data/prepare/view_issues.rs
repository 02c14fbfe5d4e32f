//! Issues about the values of the view: those that count as missing, that no side table, map or bin
//! knows, and that differ only by their spelling.

use crate::data::prepare::derive::DerivationRule;
use crate::data::prepare::plan::PreparePlan;
use crate::data::prepare::survey::SourceSurvey;
use crate::data::prepare::tally::ColumnTally;
use crate::data::prepare::view::DerivedColumn;
use crate::data::source::list_words;
use crate::data::source::side_table::UnmatchedRule;
use crate::data::spelling::{self, Spelling};
use crate::data::values::float_text;
use crate::num::range::ValueRange;
use crate::table::{IssueRow, whole};

/// Number of values that a message lists.
pub(super) const MAX_SHOWN: usize = 10;

/// Issues: values that `null_values` made missing, and values without a name in a derived column.
pub(super) fn issues_of_view(plan: &PreparePlan<'_>, survey: &SourceSurvey) -> Vec<IssueRow> {
    let mut issues = Vec::new();
    for (null, &n) in plan.view.nulls.iter().zip(&survey.rows.made_null) {
        let name = plan.name(null.column);
        let text = format!(
            "{n} rows of the source have a value of `{name}` that means missing; it is treated as \
             missing"
        );
        issues.push(IssueRow::info("null-value", name, whole(n), text));
    }
    let tables = plan.view.source.joined().iter();
    for (table, unmatched) in tables.zip(&survey.rows.unmatched).filter(|(_, of)| of.n > 0) {
        let then = match table.join.missing {
            UnmatchedRule::Drop => "they are dropped",
            _ => "they have no value in its columns",
        };
        let text = format!(
            "{} of {} rows have a key `{}` that the side table `{}` lacks, such as {}: {then}",
            unmatched.n,
            unmatched.of,
            table.join.on,
            table.name,
            unmatched.keys()
        );
        let on = table.join.on.as_str();
        issues.push(IssueRow::warning("unmatched-rows", on, whole(unmatched.n), text));
    }
    for (&column, &n) in plan.view.spelt.iter().zip(&survey.rows.respelt) {
        let name = plan.name(column);
        let text = format!(
            "{n} rows of the source have a value of `{name}` in another spelling: the job says \
             `{}`",
            plan.view.columns[column].spelling.in_a_job()
        );
        issues.push(IssueRow::info("respelt-value", name, whole(n), text));
    }
    for ((column, _), &n) in
        plan.view.derived().zip(&survey.rows.not_finite).filter(|(_, n)| **n > 0)
    {
        let name = plan.name(column);
        let text = format!(
            "{n} rows have no finite number in `{name}`, as after a division by 0: \
             it is missing there"
        );
        issues.push(IssueRow::warning("not-finite", name, whole(n), text));
    }
    for ((column, derived), nameless) in plan.view.derived().zip(&survey.nameless) {
        issues.extend(alike_in_map(plan, column, derived, &nameless.alike));
    }
    let by_groups: Vec<usize> =
        plan.attributes.iter().map(|of| plan.features[of.feature].column).collect();
    for &column in &plan.coded {
        // Values of an attribute are compared with its groups.
        if !by_groups.contains(&column) && plan.view.derived_at(column).is_none() {
            issues.extend(alike_values(plan.name(column), &survey.tally(plan, column)));
        }
    }
    for ((column, derived), nameless) in
        plan.view.derived().zip(&survey.nameless).filter(|(_, nameless)| nameless.n > 0)
    {
        let (name, n) = (plan.name(column), nameless.n);
        let parent = plan.name(derived.parents[0]);
        let (code, text) = match (&derived.rule, nameless.extremes) {
            (DerivationRule::Bins(_), Some(ValueRange(lo, hi))) => {
                let (lo, hi) = (float_text(lo), float_text(hi));
                let where_ =
                    if lo == hi { format!("`{lo}`") } else { format!("from `{lo}` to `{hi}`") };
                (
                    "outside-bins",
                    format!(
                        "{n} rows have a value of `{parent}` outside the bins of `{name}`: \
                         {where_}; `{name}` is missing there"
                    ),
                )
            }
            _ => {
                let list = list_words(
                    nameless
                        .words
                        .by_count()
                        .into_iter()
                        .map(|(word, n)| format!("`{word}` ({n})")),
                    MAX_SHOWN,
                );
                (
                    "unmapped-value",
                    format!(
                        "{n} rows have a value of `{parent}` that the map of `{name}` lacks: \
                         {list}; `{name}` is missing there"
                    ),
                )
            }
        };
        issues.push(IssueRow::warning(code, name, whole(n), text));
    }
    issues
}

/// Values of a column that are one value in some spelling.
fn alike_values(name: &str, tally: &ColumnTally) -> Option<IssueRow> {
    let (groups, spelling) =
        spelling::alike(tally.occurrences.iter().map(|(word, seen)| (word.as_str(), seen.n)))?;
    let n = groups.iter().flat_map(|group| &group[1..]).map(|(_, n)| n).sum();
    let one = |group: &Vec<(&str, u64)>| {
        let words: Vec<String> = group.iter().copied().map(counted).collect();
        words.join(" and ")
    };
    let text = format!(
        "values of `{name}` differ only by {}, and count as values of their own: {}; where they \
         mean the same write `data.columns.{name}: {}`",
        difference(spelling),
        list_words(groups.iter().map(one), MAX_SHOWN),
        spelling.in_a_job()
    );
    Some(IssueRow::warning("similar-values", name, whole(n), text))
}

/// Values of the column of a map that differ only by case or blanks from one that the map has.
fn alike_in_map(
    plan: &PreparePlan<'_>,
    column: usize,
    derived: &DerivedColumn,
    alike: &ColumnTally,
) -> Option<IssueRow> {
    let DerivationRule::Map { names, otherwise } = &derived.rule else { return None };
    let (name, parent) = (plan.name(column), plan.name(*derived.parents.first()?));
    let mut spelling = Spelling::default();
    let one = |(word, n): (&str, u64)| {
        let of = |known: &String| Some((known.clone(), Spelling::joining(word, known)?));
        let (known, joining) = names.keys().find_map(of)?;
        spelling = spelling.and(joining);
        Some(format!("`{word}` ({n}; the map has `{known}`)"))
    };
    let words: Vec<String> = alike.by_count().into_iter().filter_map(one).collect();
    let n = alike.occurrences.values().map(|seen| seen.n).sum();
    let then = match otherwise {
        Some(otherwise) => format!("they count as `{otherwise}`"),
        None => format!("`{name}` is missing there"),
    };
    let text = format!(
        "{n} rows have a value of `{parent}` that differs only by {} from one in the map of \
         `{name}`: {}; {then}; where they mean the same write `data.columns.{parent}: {}`",
        difference(spelling),
        list_words(words, MAX_SHOWN),
        spelling.in_a_job()
    );
    (n > 0).then(|| IssueRow::warning("similar-values", parent, whole(n), text))
}

/// What a spelling ignores.
fn difference(spelling: Spelling) -> &'static str {
    match (spelling.trim, spelling.case.is_kept()) {
        (true, true) => "blanks",
        (false, _) => "case",
        (true, false) => "case and blanks",
    }
}

pub(super) fn counted((word, n): (&str, u64)) -> String {
    format!("`{word}` ({n})")
}

/// The values seen, most frequent first.
pub(super) fn seen_text(tally: &ColumnTally) -> String {
    match tally.occurrences.is_empty() {
        true => "the column has no values".to_owned(),
        false => format!(
            "the values seen are {}",
            list_words(tally.by_count().into_iter().map(counted), MAX_SHOWN)
        ),
    }
}
