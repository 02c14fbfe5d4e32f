//! Frequent sets of items among the unaffected: the levels that actions may lead to.
//!
//! The search is that for subgroups, restricted to combinations of columns that some subgroup has.
//! The result is a tree, so that a subgroup can walk down along its own columns.

use std::ops::Range;

use crate::error::Result;
use crate::num::itemsets::{ColumnTree, FrequentSearch, ItemRows, ItemSets, LeastCounts};
use crate::recourse::groups::PairPopulation;
use crate::recourse::subgroups::RecourseItems;

/// Nodes that are stored next to each other.
#[derive(Debug, Clone, Copy, Default)]
struct ChildRange {
    start: u32,
    end: u32,
}

/// Candidates for actions, as a tree of items in ascending order; node 0 is the empty set.
#[derive(Debug, Default)]
pub(super) struct CandidateTree {
    /// Items of the nodes; the children of a node are next to each other, ascending.
    items: Vec<u32>,
    children: Vec<ChildRange>,
}

impl CandidateTree {
    /// The node of the candidate without items.
    pub(super) const ROOT: u32 = 0;

    /// The candidates that were found, depth first.
    fn from_sets(sets: &ItemSets) -> CandidateTree {
        // Level by level the children of a node are next to each other.
        let mut order: Vec<usize> = (0..sets.len()).collect();
        order.sort_by_key(|&set| sets.items_of(set).len());
        let mut nodes = vec![CandidateTree::ROOT; sets.len()];
        let mut items = vec![u32::MAX];
        for set in order {
            nodes[set] = items.len() as u32;
            items.extend(sets.items_of(set).last());
        }
        let mut children = vec![ChildRange::default(); items.len()];
        let mut path = Vec::new();
        for (set, &node) in nodes.iter().enumerate() {
            path.truncate(sets.items_of(set).len() - 1);
            let parent = path.last().copied().unwrap_or(CandidateTree::ROOT);
            let below = &mut children[parent as usize];
            below.start = if below.end == 0 { node } else { below.start };
            below.end = node + 1;
            path.push(node);
        }
        CandidateTree { items, children }
    }

    /// The items that the children of a candidate add.
    fn items_below(&self, node: u32) -> &[u32] {
        let below = self.children[node as usize];
        &self.items[below.start as usize..below.end as usize]
    }

    /// The children of a candidate that add an item of a column.
    pub(super) fn with(&self, node: u32, feature: Range<u32>) -> Range<u32> {
        let (start, items) = (self.children[node as usize].start, self.items_below(node));
        let at = |item: u32| start + items.partition_point(|&other| other < item) as u32;
        at(feature.start)..at(feature.end)
    }

    /// The item that a node adds.
    pub(super) fn item(&self, node: u32) -> u32 {
        self.items[node as usize]
    }
}

/// The candidates, in combinations of columns that the subgroups have, and their items.
///
/// # Errors
/// There are more than `max_results`.
pub(super) fn candidates(
    items: &RecourseItems<'_>,
    population: &PairPopulation,
    sets: &ItemSets,
    least: u32,
    max_results: usize,
) -> Result<(CandidateTree, Vec<u32>)> {
    let unaffected: Vec<Option<u32>> = population.unaffected.iter().map(|&row| Some(row)).collect();
    let least = LeastCounts::Each([least, 0]);
    let rows = ItemRows::new(items, &unaffected, usize::MAX, least);
    let columns = ColumnTree::from_sets(sets, items);
    let search = FrequentSearch {
        items,
        rows: &rows,
        border: rows.words,
        least,
        max_items: usize::MAX,
        max_results,
        within: Some(&columns),
    };
    let tree = CandidateTree::from_sets(&search.sets(&rows.frequent(), "candidates for actions")?);
    let single = tree.items_below(CandidateTree::ROOT).to_vec();
    Ok((tree, single))
}
