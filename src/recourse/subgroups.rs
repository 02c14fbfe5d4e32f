//! The subgroups: frequent sets of items among the affected.
//!
//! A subgroup must be frequent in each group: so one search gives the intersection of the two
//! searches in the paper. The search is in [`itemsets`](crate::num::itemsets).

use std::ops::Range;

use crate::error::Result;
use crate::num::itemsets::{
    FrequentSearch, ItemIndex, ItemRows, ItemSets, LeastCounts, LevelColumn,
};
use crate::recourse::feature::{RecourseFeature, TraitPredicate};
use crate::recourse::groups::PairPopulation;

/// The items of the columns of an audit.
pub(super) type RecourseItems<'a> = ItemIndex<'a, RecourseFeature>;

impl LevelColumn for RecourseFeature {
    fn name(&self) -> &str {
        &self.name
    }

    fn levels(&self) -> &[String] {
        &self.levels
    }

    fn codes(&self) -> &[u32] {
        &self.codes
    }

    fn at_or_above(&self) -> Option<Range<u32>> {
        let n = self.missing.unwrap_or(self.levels.len() as u32);
        (self.predicate == TraitPredicate::AtLeast).then_some(1..n)
    }
}

/// The subgroups of a population, in depth-first order, and the affected rows of their items.
///
/// # Errors
/// There are more than `max_results`.
pub(super) fn subgroups(
    items: &RecourseItems<'_>,
    population: &PairPopulation,
    least: [u32; 2],
    longest: Option<usize>,
    max_results: usize,
) -> Result<(ItemSets, ItemRows)> {
    let least = LeastCounts::Each(least);
    let rows = ItemRows::new(items, &population.affected, population.border * 64, least);
    let search = FrequentSearch {
        items,
        rows: &rows,
        border: population.border,
        least,
        max_items: longest.unwrap_or(usize::MAX).max(1),
        max_results,
        within: None,
    };
    let found = search.sets(&rows.frequent(), "subgroups")?;
    Ok((found, rows))
}
