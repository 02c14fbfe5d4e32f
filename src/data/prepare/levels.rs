//! The levels of coded columns: of features, and of columns that divide the rows into strata or
//! slices.

use crate::data::prepare::params::MissingRule;
use crate::data::prepare::plan::{FeaturePlan, PreparePlan};
use crate::data::prepare::tally::ColumnTally;
use crate::data::{FeatureKind, MISSING_LEVEL, StrataColumn};
use crate::error::Result;
use crate::nearest::nearest;
use crate::table::{IssueRow, whole};

/// Largest number of strata of a column.
const MAX_STRATA: usize = 1_000;

pub(super) fn levels_of(
    plan: &PreparePlan<'_>,
    feature: &FeaturePlan,
    tally: &ColumnTally,
) -> Result<Vec<String>> {
    let mut others: Vec<&str> = tally
        .words()
        .into_iter()
        .filter(|word| feature.declared.iter().all(|d| d != word))
        .collect();
    if let (FeatureKind::OrdinalLevel, Some(first)) =
        (&feature.kind, others.iter().min_by_key(|word| tally.occurrences[**word].first_row))
    {
        let what =
            format!("`{first}` is not among the levels of the ordinal column `{}`", feature.name);
        let at = (feature.column, tally.occurrences[*first].first_row);
        let declared: Vec<&str> = feature.declared.iter().map(String::as_str).collect();
        let near = nearest(first, declared.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
        let hint = format!("{near}the order of an ordinal column must name every level");
        return plan.fault_in_row("undeclared-level", at, what).fail(hint);
    }
    let elsewhere = feature
        .known
        .iter()
        .map(String::as_str)
        .filter(|level| feature.declared.iter().all(|d| d != level));
    others.extend(elsewhere);
    others.sort_unstable();
    others.dedup();
    if feature.rule == MissingRule::Level
        && tally.nulls > 0
        && let Some(there) = tally.occurrences.get(MISSING_LEVEL)
    {
        let what = format!(
            "column `{}` has no value in {} rows and the value `{MISSING_LEVEL}` in {}, and \
             `missing: level` would merge them into one level",
            feature.name, tally.nulls, there.n
        );
        let hint = format!(
            "if the word means missing, list it: `missing: {{null_values: {{{}: \
             [{MISSING_LEVEL}]}}}}`; otherwise rename the value by `derive` with `map`, \
             or write `keep` or `drop-row` instead of `level`",
            feature.name
        );
        let at = (feature.column, there.first_row);
        return plan.fault_in_row("ambiguous-missing", at, what).fail(hint);
    }
    let wanted = feature.rule == MissingRule::Level
        && tally.nulls > 0
        && feature.declared.iter().all(|d| d != MISSING_LEVEL);
    if let (true, Err(position)) = (wanted, others.binary_search(&MISSING_LEVEL)) {
        others.insert(position, MISSING_LEVEL);
    }
    Ok(feature.declared.iter().map(String::as_str).chain(others).map(str::to_owned).collect())
}

/// The levels of a column of strata or slices.
///
/// `lacking` is the code of the issue about rows without a value, and their treatment in words.
pub(super) fn partition_levels(
    plan: &PreparePlan<'_>,
    strata: &FeaturePlan,
    tally: &ColumnTally,
    lacking: (&'static str, &str),
    issues: &mut Vec<IssueRow>,
) -> Result<StrataColumn> {
    let levels = levels_of(plan, strata, tally)?;
    if levels.len() > MAX_STRATA {
        let what = format!(
            "the column `{}` divides the rows into {} parts; {MAX_STRATA} are allowed",
            strata.name,
            levels.len()
        );
        let hint =
            "merge values by `data.derive` with `map` or `bins`, and name the derived column";
        return plan.fault("too-many-levels", strata.column, what).fail(hint);
    }
    if tally.nulls > 0 && strata.rule != MissingRule::Level {
        let text =
            format!("{} rows have no value of `{}`: they {}", tally.nulls, strata.name, lacking.1);
        issues.push(IssueRow::info(lacking.0, &strata.name, whole(tally.nulls), text));
    }
    Ok(StrataColumn { column: strata.name.clone(), levels })
}
