//! Items of columns with levels, and the frequent sets of items: subgroups of recourse, patterns of
//! who switches.
//!
//! Depth-first over columns in order of their names, with one bit set of rows per item (Zaki's
//! Eclat): the sets that extend a prefix are made from pairs of sets that extend it by one item, so
//! few infrequent sets are visited. Rows are in two parts; a set must be frequent in each of them,
//! or in both together.
//!
//! Choice: minimum counts are whole numbers, the share multiplied as a decimal. Libraries behind
//! published results compare single items by `count / n >= s` and longer ones by the next whole
//! number of a product of floats.

use std::ops::Range;

use rayon::prelude::*;

use crate::error::{Fault, Result};
use crate::num::bits;
use crate::num::hash::FastMap;

/// A column whose levels are items.
pub(crate) trait LevelColumn {
    /// Its name.
    fn name(&self) -> &str;

    /// The texts of its levels.
    fn levels(&self) -> &[String];

    /// The level of each row.
    fn codes(&self) -> &[u32];

    /// The levels whose items contain all rows at or above them, if the column has such items.
    /// Lower levels, which would contain all rows, are not items.
    fn at_or_above(&self) -> Option<Range<u32>> {
        None
    }
}

/// The number of rows of a frequent set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeastCounts {
    /// This many in each part.
    Each([u32; 2]),
    /// This many in both parts together.
    Together(u32),
}

impl LeastCounts {
    fn reached(self, n: [u32; 2]) -> bool {
        match self {
            LeastCounts::Each(least) => n[0] >= least[0] && n[1] >= least[1],
            LeastCounts::Together(least) => n[0] + n[1] >= least,
        }
    }

    /// Whether its number in the first part already excludes a set.
    fn ruled_out(self, first: u32) -> bool {
        matches!(self, LeastCounts::Each(least) if first < least[0])
    }
}

/// Numbers the items over all levels of all columns, columns by the bytes of their names.
#[derive(Debug)]
pub(crate) struct ItemIndex<'a, C> {
    /// The columns in this order.
    pub(crate) features: Vec<&'a C>,
    /// The position of each in the input.
    pub(crate) original_positions: Vec<usize>,
    /// The position of each item's column in the order of names.
    of_item: Vec<u32>,
    /// The first item of each column; the last entry is the number of items.
    first: Vec<u32>,
}

impl<'a, C: LevelColumn> ItemIndex<'a, C> {
    /// The items of columns: these by the bytes of their names, each with its levels in order.
    pub(crate) fn new(columns: &'a [C]) -> Self {
        let mut given: Vec<usize> = (0..columns.len()).collect();
        given.sort_by(|&a, &b| columns[a].name().as_bytes().cmp(columns[b].name().as_bytes()));
        let features: Vec<&C> = given.iter().map(|&f| &columns[f]).collect();
        let mut first = vec![0];
        let mut of_item = Vec::new();
        for (f, feature) in (0..).zip(&features) {
            of_item.resize(of_item.len() + feature.levels().len(), f);
            first.push(of_item.len() as u32);
        }
        ItemIndex { features, original_positions: given, of_item, first }
    }

    /// Number of items.
    pub(crate) fn len(&self) -> usize {
        self.of_item.len()
    }

    /// The column of an item.
    pub(crate) fn feature(&self, item: u32) -> u32 {
        self.of_item[item as usize]
    }

    /// The level of an item, by its position in the column.
    pub(crate) fn level(&self, item: u32) -> u32 {
        item - self.first[self.feature(item) as usize]
    }

    /// The items of a column.
    pub(crate) fn items_of_feature(&self, feature: u32) -> Range<u32> {
        self.first[feature as usize]..self.first[feature as usize + 1]
    }

    /// The item of a row in a column.
    pub(crate) fn item_of_row(&self, feature: u32, row: u32) -> u32 {
        self.first[feature as usize] + self.features[feature as usize].codes()[row as usize]
    }

    /// The column of an item.
    pub(crate) fn column(&self, item: u32) -> &'a C {
        self.features[self.feature(item) as usize]
    }

    /// The name of the column of an item, and the text of its level.
    pub(crate) fn column_and_level(&self, item: u32) -> (&'a str, &'a str) {
        let column = self.column(item);
        (column.name(), &column.levels()[self.level(item) as usize])
    }

    /// The item as text: `name = level`, or `name >= level`.
    pub(crate) fn text(&self, item: u32) -> String {
        let (column, level) = self.column_and_level(item);
        let above = self.features[self.feature(item) as usize].at_or_above();
        let relation = match above.is_some_and(|levels| levels.contains(&self.level(item))) {
            true => ">=",
            false => "=",
        };
        format!("{column} {relation} {level}")
    }

    /// The items that hold all rows at or above their level, column by column, each with the items
    /// below them.
    fn at_or_above(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let items = |(feature, &first): (&&C, &u32)| {
            let levels = feature.at_or_above()?;
            let [start, end] = [levels.start, levels.end].map(|level| (first + level) as usize);
            Some((first as usize..start, start..end.max(start)))
        };
        self.features.iter().zip(&self.first).filter_map(items)
    }
}

/// The rows of each single item that is frequent.
#[derive(Debug)]
pub(crate) struct ItemRows {
    pub(crate) words: usize,
    /// The position at which the bits of an item start; `None` for a rare item.
    starts: Vec<Option<usize>>,
    bits: Vec<u64>,
}

impl ItemRows {
    /// The bit sets over these rows of all items that are frequent.
    ///
    /// A gap (`None`) has no bit. An item is frequent if its counts before and from bit `border`
    /// reach the minima.
    pub(crate) fn new<C: LevelColumn>(
        items: &ItemIndex<'_, C>,
        rows: &[Option<u32>],
        border: usize,
        least: LeastCounts,
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
        for (below, above) in items.at_or_above() {
            counts[below].fill([0; 2]);
            let mut sum = [0; 2];
            for n in counts[above].iter_mut().rev() {
                sum = [sum[0] + n[0], sum[1] + n[1]];
                *n = sum;
            }
        }
        let words = rows.len().div_ceil(64);
        let mut end = 0;
        let starts: Vec<Option<usize>> = counts
            .iter()
            .map(|n| {
                least.reached(*n).then(|| {
                    end += words;
                    end - words
                })
            })
            .collect();
        // The rows of a rare level are at or above the last level that is not.
        let mut homes = starts.clone();
        for (_, above) in items.at_or_above() {
            for item in above.skip(1) {
                homes[item] = starts[item].or(homes[item - 1]);
            }
        }
        let mut all = vec![0; end];
        each(&mut |item, i| {
            if let Some(start) = homes[item as usize] {
                bits::set(&mut all[start..start + words], i);
            }
        });
        for (_, above) in items.at_or_above() {
            for item in above.skip(1).rev() {
                if let (Some(lower), Some(upper)) = (starts[item - 1], starts[item]) {
                    let (low, high) = all.split_at_mut(upper);
                    bits::or(&mut low[lower..lower + words], &high[..words]);
                }
            }
        }
        ItemRows { words, starts, bits: all }
    }

    /// The rows with an item; `None` if the item is rare.
    pub(crate) fn rows_with(&self, item: u32) -> Option<&[u64]> {
        self.starts[item as usize].map(|start| &self.bits[start..start + self.words])
    }

    /// Writes the rows with all of these items, none of which is rare, to `into`.
    pub(crate) fn rows_with_all(&self, set: &[u32], into: &mut Vec<u64>) {
        into.clear();
        into.resize(self.words, u64::MAX);
        for rows in set.iter().filter_map(|&item| self.rows_with(item)) {
            bits::and(into, rows);
        }
    }

    /// The items that are not rare, ascending.
    pub(crate) fn frequent(&self) -> Vec<u32> {
        (0..).zip(&self.starts).filter(|(_, start)| start.is_some()).map(|(item, _)| item).collect()
    }
}

/// Items that extend a prefix, with the rows that have both.
#[derive(Default)]
struct PrefixClass {
    items: Vec<u32>,
    bits: Vec<u64>,
}

/// Sets of items, one after the other.
#[derive(Debug, Default)]
pub(crate) struct ItemSets {
    pub(crate) items: Vec<u32>,
    pub(crate) ends: Vec<usize>,
    /// Number of rows of each part that have the items.
    pub(crate) n: Vec<[u32; 2]>,
}

impl ItemSets {
    /// The number of sets.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The items of a set, ascending.
    pub(crate) fn items_of(&self, set: usize) -> &[u32] {
        let start = set.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[set]]
    }

    /// Appends a set with the number of rows of each part that have it.
    pub(crate) fn push(&mut self, items: &[u32], n: [u32; 2]) {
        self.items.extend_from_slice(items);
        self.ends.push(self.items.len());
        self.n.push(n);
    }
}

/// Combinations of columns, as a tree: a path of ascending columns leads to a node.
///
/// The node exists if some set has at least these columns.
#[derive(Debug, Default)]
pub(crate) struct ColumnTree(FastMap<(u32, u32), u32>);

impl ColumnTree {
    const ROOT: u32 = 0;

    /// The columns of sets whose subsets are sets, too, so that every prefix has a node.
    pub(crate) fn from_sets<C: LevelColumn>(sets: &ItemSets, items: &ItemIndex<'_, C>) -> Self {
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
}

/// The error of a search with too many results.
pub(crate) fn too_many(what: &str, at_most: usize) -> crate::error::Error {
    Fault::new("too-many-subgroups", format!("there are more than {at_most} {what}"))
        .hint("raise the support, or limit the number of traits with `longest`")
        .into()
}

/// The inputs of a search for frequent sets.
pub(crate) struct FrequentSearch<'a, C> {
    /// The items.
    pub(crate) items: &'a ItemIndex<'a, C>,
    /// The rows of the sets.
    pub(crate) rows: &'a ItemRows,
    /// Words of the first part.
    pub(crate) border: usize,
    /// Rows of a frequent set.
    pub(crate) least: LeastCounts,
    /// Items of the longest set.
    pub(crate) max_items: usize,
    /// Sets that may be kept.
    pub(crate) max_results: usize,
    /// The combinations of columns that sets may have; none: any.
    pub(crate) within: Option<&'a ColumnTree>,
}

/// An item of a class of which a frequent set is made.
struct Extension {
    /// Its position in the class.
    i: usize,
    /// The combination of columns of the set.
    columns: u32,
    /// The rows of the set in each part.
    n: [u32; 2],
}

impl<C: LevelColumn + Sync> FrequentSearch<'_, C> {
    /// The combination of columns with that of an item as well; none where no set may have it.
    fn columns_with(&self, columns: u32, item: u32) -> Option<u32> {
        let Some(within) = self.within else { return Some(ColumnTree::ROOT) };
        within.0.get(&(columns, self.items.feature(item))).copied()
    }

    /// Adds all frequent extensions of a prefix by an item of a class and by those after it.
    ///
    /// `None` if there are too many results.
    fn extend(
        &self,
        prefix: &mut Vec<u32>,
        class: &PrefixClass,
        Extension { i, columns, n }: Extension,
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
            let mut extensions = Vec::new();
            for (j, &item) in class.items.iter().enumerate().skip(i + 1) {
                if self.items.feature(item) == self.items.feature(class.items[i]) {
                    continue;
                }
                let Some(columns) = self.columns_with(columns, item) else { continue };
                let other = &class.bits[j * words..(j + 1) * words];
                let n0 = bits::count_both(&own[..self.border], &other[..self.border]);
                if self.least.ruled_out(n0) {
                    continue;
                }
                let n1 = bits::count_both(&own[self.border..], &other[self.border..]);
                if self.least.reached([n0, n1]) {
                    inner.items.push(item);
                    inner.bits.extend(own.iter().zip(other).map(|(a, b)| a & b));
                    let i = extensions.len();
                    extensions.push(Extension { i, columns, n: [n0, n1] });
                }
            }
            for extension in extensions {
                self.extend(prefix, &inner, extension, found)?;
            }
        }
        prefix.pop();
        Some(())
    }

    /// The frequent sets of these items, in depth-first order; `what` they are called where there
    /// are too many.
    ///
    /// # Errors
    /// There are more than may be kept.
    pub(crate) fn sets(&self, frequent: &[u32], what: &str) -> Result<ItemSets> {
        let (mut all, mut extensions) = (PrefixClass::default(), Vec::new());
        for &item in frequent {
            let Some(columns) = self.columns_with(ColumnTree::ROOT, item) else { continue };
            let own = self.rows.rows_with(item).unwrap_or_default();
            let n = [bits::count(&own[..self.border]), bits::count(&own[self.border..])];
            extensions.push(Extension { i: all.items.len(), columns, n });
            all.items.push(item);
            all.bits.extend_from_slice(own);
        }
        let branch = |extension| {
            let mut found = ItemSets::default();
            self.extend(&mut Vec::new(), &all, extension, &mut found).map(|()| found)
        };
        let branches: Option<Vec<ItemSets>> = extensions.into_par_iter().map(branch).collect();
        let branches = branches.ok_or_else(|| too_many(what, self.max_results))?;
        let mut found = ItemSets::default();
        for branch in branches {
            (0..branch.len()).for_each(|set| found.push(branch.items_of(set), branch.n[set]));
            if found.len() > self.max_results {
                return Err(too_many(what, self.max_results));
            }
        }
        Ok(found)
    }
}
