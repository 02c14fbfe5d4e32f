//! Items and the frequent sets of items among the affected: the subgroups.
//!
//! Depth-first over columns in order of their names, on one bit set of rows per item (Zaki's
//! Eclat): the sets that extend a prefix are made from the pairs of those that extended it by one
//! item, so that hardly any infrequent set is visited. A subgroup must be frequent in each group:
//! one search then gives the intersection of the two searches in the paper.
//!
//! Choice: minimum counts are whole numbers, the share multiplied as a decimal. The library behind
//! the published results compares single items by `count / n >= s` and longer ones by the next
//! whole number of a product of floats.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Fault, Result};
use crate::recourse::AuditedRows;
use crate::recourse::bits;
use crate::recourse::feature::RecourseFeature;
use crate::recourse::groups::PairPopulation;

/// Numbers the items over all levels of all columns, columns by the bytes of their names.
#[derive(Debug)]
pub(super) struct ItemIndex<'a> {
    /// The columns in this order.
    pub(super) features: Vec<&'a RecourseFeature>,
    /// The position of each in [`AuditedRows::features`].
    pub(super) original_positions: Vec<usize>,
    /// For each item the position of its column in the order of names.
    of_item: Vec<u32>,
    /// The first item of each column; the last entry is the number of items.
    first: Vec<u32>,
}

impl<'a> ItemIndex<'a> {
    pub(super) fn new(audited: &'a AuditedRows) -> Self {
        let mut given: Vec<usize> = (0..audited.features.len()).collect();
        given.sort_by(|&a, &b| {
            audited.features[a].name.as_bytes().cmp(audited.features[b].name.as_bytes())
        });
        let features: Vec<&RecourseFeature> = given.iter().map(|&f| &audited.features[f]).collect();
        let mut first = vec![0];
        let mut of_item = Vec::new();
        for (f, feature) in (0..).zip(&features) {
            of_item.resize(of_item.len() + feature.levels.len(), f);
            first.push(of_item.len() as u32);
        }
        ItemIndex { features, original_positions: given, of_item, first }
    }

    /// Number of items.
    pub(super) fn len(&self) -> usize {
        self.of_item.len()
    }

    /// The column of an item.
    pub(super) fn feature(&self, item: u32) -> u32 {
        self.of_item[item as usize]
    }

    /// The level of an item, by its position in the column.
    pub(super) fn level(&self, item: u32) -> u32 {
        item - self.first[self.feature(item) as usize]
    }

    /// The items of a column.
    pub(super) fn items_of_feature(&self, feature: u32) -> Range<u32> {
        self.first[feature as usize]..self.first[feature as usize + 1]
    }

    /// The item of a row in a column.
    pub(super) fn item_of_row(&self, feature: u32, row: u32) -> u32 {
        self.first[feature as usize] + self.features[feature as usize].codes[row as usize]
    }

    /// The item as text: `name = level`.
    pub(super) fn text(&self, item: u32) -> String {
        let feature = self.features[self.feature(item) as usize];
        format!("{} = {}", feature.name, feature.levels[self.level(item) as usize])
    }
}

/// The rows of each item that is frequent by itself.
#[derive(Debug)]
pub(super) struct ItemRows {
    pub(super) words: usize,
    /// The position at which the bits of an item start; `None` for a rare item.
    starts: Vec<Option<usize>>,
    bits: Vec<u64>,
}

impl ItemRows {
    /// The bit sets over these rows of all items that are frequent in both groups.
    ///
    /// A gap (`None`) has no bit. An item is frequent if its counts before and from bit `border`
    /// reach the minima.
    pub(super) fn new(
        items: &ItemIndex<'_>,
        rows: &[Option<u32>],
        border: usize,
        least: [u32; 2],
    ) -> ItemRows {
        let n_features = items.features.len() as u32;
        let mut counts = vec![[0_u32; 2]; items.len()];
        let each = |visit: &mut dyn FnMut(u32, usize)| {
            for f in 0..n_features {
                for (i, row) in rows.iter().enumerate() {
                    if let Some(row) = *row {
                        visit(items.item_of_row(f, row), i);
                    }
                }
            }
        };
        each(&mut |item, i| counts[item as usize][usize::from(i >= border)] += 1);
        let words = rows.len().div_ceil(64);
        let mut end = 0;
        let starts: Vec<Option<usize>> = counts
            .iter()
            .map(|n| {
                (n[0] >= least[0] && n[1] >= least[1]).then(|| {
                    end += words;
                    end - words
                })
            })
            .collect();
        let mut all = vec![0; end];
        each(&mut |item, i| {
            if let Some(start) = starts[item as usize] {
                bits::set(&mut all[start..start + words], i);
            }
        });
        ItemRows { words, starts, bits: all }
    }

    /// The rows with an item; `None` if the item is rare.
    pub(super) fn rows_with(&self, item: u32) -> Option<&[u64]> {
        self.starts[item as usize].map(|start| &self.bits[start..start + self.words])
    }

    /// Writes the rows with all of these items, none of which is rare, to `into`.
    pub(super) fn rows_with_all(&self, set: &[u32], into: &mut Vec<u64>) {
        into.clear();
        into.resize(self.words, u64::MAX);
        for rows in set.iter().filter_map(|&item| self.rows_with(item)) {
            bits::and(into, rows);
        }
    }

    /// The items that are not rare, ascending.
    pub(super) fn frequent(&self) -> Vec<u32> {
        (0..).zip(&self.starts).filter(|(_, start)| start.is_some()).map(|(item, _)| item).collect()
    }
}

/// Items that extend a prefix, with the rows that have both.
#[derive(Default)]
pub(super) struct PrefixClass {
    pub(super) items: Vec<u32>,
    pub(super) bits: Vec<u64>,
}

impl PrefixClass {
    /// These items, none of which is rare, as extensions of the empty set.
    pub(super) fn from_items(rows: &ItemRows, items: &[u32]) -> PrefixClass {
        let bits =
            items.iter().filter_map(|&item| rows.rows_with(item)).flatten().copied().collect();
        PrefixClass { items: items.to_vec(), bits }
    }
}

/// Sets of items, one after the other.
#[derive(Debug, Default)]
pub(super) struct ItemSets {
    pub(super) items: Vec<u32>,
    pub(super) ends: Vec<usize>,
    /// Number of rows of each group that have the items.
    pub(super) n: Vec<[u32; 2]>,
}

impl ItemSets {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn items_of(&self, set: usize) -> &[u32] {
        let start = set.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[set]]
    }

    pub(super) fn push(&mut self, items: &[u32], n: [u32; 2]) {
        self.items.extend_from_slice(items);
        self.ends.push(self.items.len());
        self.n.push(n);
    }
}

/// The error of a search with too many results.
pub(super) fn too_many(what: &str, at_most: usize) -> crate::error::Error {
    Fault::new("too-many-subgroups", format!("there are more than {at_most} {what}"))
        .hint("raise the support, or limit the number of traits with `longest`")
        .into()
}

/// The inputs of a search for subgroups.
struct SubgroupSearch<'a> {
    items: &'a ItemIndex<'a>,
    rows: &'a ItemRows,
    border: usize,
    min_counts: [u32; 2],
    max_items: usize,
    max_results: usize,
}

impl SubgroupSearch<'_> {
    /// Adds all frequent extensions of a prefix by items of a class from position `i` on.
    ///
    /// `None` if there are too many results.
    fn extend(
        &self,
        prefix: &mut Vec<u32>,
        class: &PrefixClass,
        i: usize,
        n: [u32; 2],
        found: &mut ItemSets,
    ) -> Option<()> {
        let words = self.rows.words;
        prefix.push(class.items[i]);
        found.push(prefix, n);
        if found.len() > self.max_results {
            return None;
        }
        if prefix.len() < self.max_items {
            let own = &class.bits[i * words..(i + 1) * words];
            let mut inner = PrefixClass::default();
            let mut counts = Vec::new();
            for (j, &item) in class.items.iter().enumerate().skip(i + 1) {
                if self.items.feature(item) == self.items.feature(class.items[i]) {
                    continue;
                }
                let other = &class.bits[j * words..(j + 1) * words];
                let n0 = bits::count_both(&own[..self.border], &other[..self.border]);
                if n0 < self.min_counts[0] {
                    continue;
                }
                let n1 = bits::count_both(&own[self.border..], &other[self.border..]);
                if n1 >= self.min_counts[1] {
                    inner.items.push(item);
                    inner.bits.extend(own.iter().zip(other).map(|(a, b)| a & b));
                    counts.push([n0, n1]);
                }
            }
            for (k, &n) in counts.iter().enumerate() {
                self.extend(prefix, &inner, k, n, found)?;
            }
        }
        prefix.pop();
        Some(())
    }
}

/// The subgroups of a population, in depth-first order, and the affected rows of their items.
///
/// # Errors
/// There are more than `max_results`.
pub(super) fn subgroups(
    items: &ItemIndex<'_>,
    population: &PairPopulation,
    least: [u32; 2],
    longest: Option<usize>,
    at_most: usize,
) -> Result<(ItemSets, ItemRows)> {
    let rows = ItemRows::new(items, &population.affected, population.border * 64, least);
    let frequent = rows.frequent();
    let all = PrefixClass::from_items(&rows, &frequent);
    let longest = longest.unwrap_or(usize::MAX).max(1);
    let search = SubgroupSearch {
        items,
        rows: &rows,
        border: population.border,
        min_counts: least,
        max_items: longest,
        max_results: at_most,
    };
    let branch = |i: usize| {
        let own = rows.rows_with(frequent[i]).unwrap_or_default();
        let n = [bits::count(&own[..population.border]), bits::count(&own[population.border..])];
        let mut found = ItemSets::default();
        search.extend(&mut Vec::new(), &all, i, n, &mut found).map(|()| found)
    };
    let branches: Option<Vec<ItemSets>> = (0..frequent.len()).into_par_iter().map(branch).collect();
    let branches = branches.ok_or_else(|| too_many("subgroups", at_most))?;
    let mut found = ItemSets::default();
    for branch in branches {
        (0..branch.len()).for_each(|set| found.push(branch.items_of(set), branch.n[set]));
        if found.len() > at_most {
            return Err(too_many("subgroups", at_most));
        }
    }
    Ok((found, rows))
}
