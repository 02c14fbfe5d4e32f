//! Frequent sets of items among the unaffected: the levels that actions may lead to.
//!
//! The search is that for subgroups, restricted to combinations of columns that some subgroup has.
//! The result is a tree, so that a subgroup can walk down along its own columns.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::num::bits;
use crate::num::hash::FastMap;
use crate::num::itemsets::{ItemRows, ItemSets, LeastCounts, PrefixClass, too_many};
use crate::recourse::groups::PairPopulation;
use crate::recourse::subgroups::RecourseItems;

/// Combinations of columns, as a tree: a path of ascending columns leads to a node.
///
/// The node exists if some subgroup has at least these columns.
#[derive(Debug, Default)]
struct ColumnTree(FastMap<(u32, u32), u32>);

impl ColumnTree {
    const ROOT: u32 = 0;

    /// Subsets of a subgroup are subgroups, so every prefix has a node too.
    fn from_sets(sets: &ItemSets, items: &RecourseItems<'_>) -> ColumnTree {
        let mut tree = FastMap::default();
        for set in 0..sets.len() {
            let mut node = ColumnTree::ROOT;
            for &item in sets.items_of(set) {
                let next = tree.len() as u32 + 1;
                node = *tree.entry((node, items.feature(item))).or_insert(next);
            }
        }
        ColumnTree(tree)
    }

    fn below(&self, node: u32, feature: u32) -> Option<u32> {
        self.0.get(&(node, feature)).copied()
    }
}

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

    /// The children of a candidate that add an item of a column.
    pub(super) fn with(&self, node: u32, feature: Range<u32>) -> Range<u32> {
        let below = self.children[node as usize];
        let items = &self.items[below.start as usize..below.end as usize];
        let at = |item: u32| below.start + items.partition_point(|&other| other < item) as u32;
        at(feature.start)..at(feature.end)
    }

    /// The item that a node adds.
    pub(super) fn item(&self, node: u32) -> u32 {
        self.items[node as usize]
    }
}

/// The inputs of a search for candidates.
struct CandidateSearch<'a> {
    items: &'a RecourseItems<'a>,
    columns: &'a ColumnTree,
    words: usize,
    min_count: u32,
    max_results: usize,
}

impl CandidateSearch<'_> {
    /// Adds the subtree of a node, whose item is number `i` of its class.
    ///
    /// `None` if there are too many results.
    fn extend(
        &self,
        tree: &mut CandidateTree,
        node: u32,
        class: &PrefixClass,
        i: usize,
        at: u32,
    ) -> Option<()> {
        let own = &class.bits[i * self.words..(i + 1) * self.words];
        let mut inner = PrefixClass::default();
        let mut combinations = Vec::new();
        for (j, &item) in class.items.iter().enumerate().skip(i + 1) {
            let feature = self.items.feature(item);
            if feature == self.items.feature(class.items[i]) {
                continue;
            }
            let Some(below) = self.columns.below(at, feature) else { continue };
            let other = &class.bits[j * self.words..(j + 1) * self.words];
            if bits::count_both(own, other) >= self.min_count {
                inner.items.push(item);
                inner.bits.extend(own.iter().zip(other).map(|(a, b)| a & b));
                combinations.push(below);
            }
        }
        let start = tree.items.len() as u32;
        tree.items.extend_from_slice(&inner.items);
        tree.children.resize(tree.items.len(), ChildRange::default());
        tree.children[node as usize] = ChildRange { start, end: tree.items.len() as u32 };
        if tree.items.len() > self.max_results {
            return None;
        }
        for (k, &below) in combinations.iter().enumerate() {
            self.extend(tree, start + k as u32, &inner, k, below)?;
        }
        Some(())
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
    at_most: usize,
) -> Result<(CandidateTree, Vec<u32>)> {
    let unaffected: Vec<Option<u32>> = population.unaffected.iter().map(|&row| Some(row)).collect();
    let rows = ItemRows::new(items, &unaffected, usize::MAX, LeastCounts::Each([least, 0]));
    let columns = ColumnTree::from_sets(sets, items);
    let frequent: Vec<u32> = rows
        .frequent()
        .into_iter()
        .filter(|&item| columns.below(ColumnTree::ROOT, items.feature(item)).is_some())
        .collect();
    let all = PrefixClass::from_items(&rows, &frequent);
    let search = CandidateSearch {
        items,
        columns: &columns,
        words: rows.words,
        min_count: least,
        max_results: at_most,
    };
    let branch = |i: usize| {
        let at = columns.below(ColumnTree::ROOT, items.feature(frequent[i]))?;
        let mut tree =
            CandidateTree { items: vec![frequent[i]], children: vec![ChildRange::default()] };
        search.extend(&mut tree, 0, &all, i, at).map(|()| tree)
    };
    let branches: Option<Vec<CandidateTree>> =
        (0..frequent.len()).into_par_iter().map(branch).collect();
    let branches = branches.ok_or_else(|| too_many("candidates for actions", at_most))?;
    // The root and its items first, then the subtree of each: node 0 of a branch is an item of the
    // root.
    let top = frequent.len() as u32;
    let mut tree = CandidateTree {
        items: vec![u32::MAX],
        children: vec![ChildRange { start: 1, end: top + 1 }],
    };
    tree.items.extend_from_slice(&frequent);
    tree.children.resize(tree.items.len(), ChildRange::default());
    for (i, branch) in branches.iter().enumerate() {
        // Node k > 0 of the branch becomes node k + shift.
        let shift = tree.items.len() as u32 - 1;
        let mut moved = branch
            .children
            .iter()
            .map(|span| ChildRange { start: span.start + shift, end: span.end + shift });
        tree.children[i + 1] = moved.next().unwrap_or_default();
        tree.children.extend(moved);
        tree.items.extend_from_slice(&branch.items[1..]);
        if tree.items.len() > at_most {
            return Err(too_many("candidates for actions", at_most));
        }
    }
    Ok((tree, frequent))
}
