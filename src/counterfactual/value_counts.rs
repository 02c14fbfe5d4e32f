//! Rows by the values of one variable and by group; merge in any order.
//!
//! Levels are counted one by one, and so are numbers while there are few different ones; beyond
//! that each group keeps only the range.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::num::additive::{Additive, absorb_map};
use crate::num::ecdf::{number_of_bits, ordered_bits};
use crate::num::hash::FastMap;
use crate::num::range::ValueRange;

/// A value that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CountedValue {
    /// A level, by its code.
    Level(u32),
    /// A number, by its order.
    Number(u64),
}

impl CountedValue {
    /// A number.
    pub(super) fn of_number(x: f64) -> Self {
        CountedValue::Number(ordered_bits(x))
    }
}

/// Rows by value and group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct ValueCounts {
    groups: usize,
    /// The most different numbers that are counted.
    most: usize,
    by: RowsByValue,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RowsByValue {
    /// At group * levels + level.
    Levels(Vec<u64>),
    /// The rows of each group, by number.
    #[serde(with = "map_as_list")]
    Numbers(BTreeMap<u64, Vec<u64>>),
    /// The range of each group; none where no row has a number.
    Ranges(Vec<Option<ValueRange>>),
}

impl ValueCounts {
    /// Empty, for a number of groups and of levels.
    pub(super) fn of_levels(groups: usize, levels: usize) -> Self {
        ValueCounts { groups, most: 0, by: RowsByValue::Levels(vec![0; groups * levels]) }
    }

    /// Empty; beyond a number of different values only ranges are kept.
    pub(super) fn of_numbers(groups: usize, most: usize) -> Self {
        ValueCounts { groups, most, by: RowsByValue::Numbers(BTreeMap::new()) }
    }

    /// Counts rows with a level and a group; other values, such as
    /// [`MISSING`](crate::data::MISSING), are ignored.
    pub(super) fn add_levels(&mut self, values: impl Iterator<Item = (u32, usize)>) {
        let RowsByValue::Levels(rows) = &mut self.by else { return };
        let n = rows.len() / self.groups.max(1);
        for (level, group) in values.filter(|(level, _)| (*level as usize) < n) {
            rows[group * n + level as usize] += 1;
        }
    }

    /// Counts rows with a number and a group; NaN is ignored.
    pub(super) fn add_numbers(&mut self, values: impl Iterator<Item = (f64, usize)>) {
        let mut values = values.filter(|(x, _)| !x.is_nan());
        if let RowsByValue::Numbers(rows) = &mut self.by {
            let mut found: FastMap<u64, Vec<u64>> = FastMap::default();
            for (x, group) in values.by_ref() {
                let counts = found.entry(ordered_bits(x)).or_insert_with(|| vec![0; self.groups]);
                counts[group] += 1;
                if found.len() > self.most {
                    break;
                }
            }
            absorb_map(rows, found);
            self.keep_few();
        }
        if let RowsByValue::Ranges(ranges) = &mut self.by {
            values.for_each(|(x, group)| ranges[group].absorb(&Some(ValueRange(x, x))));
        }
    }

    /// The range of each group, where there were too many different numbers.
    pub(super) fn ranges(&self) -> Option<&[Option<ValueRange>]> {
        match &self.by {
            RowsByValue::Ranges(ranges) => Some(ranges),
            _ => None,
        }
    }

    /// The values that are counted, ascending: all levels, or the numbers that rows have.
    pub(super) fn values(&self) -> Vec<CountedValue> {
        match &self.by {
            RowsByValue::Levels(rows) => {
                let n = rows.len() / self.groups.max(1);
                (0..n as u32).map(CountedValue::Level).collect()
            }
            RowsByValue::Numbers(rows) => rows.keys().copied().map(CountedValue::Number).collect(),
            RowsByValue::Ranges(_) => Vec::new(),
        }
    }

    /// Rows of a group with a value.
    pub(super) fn rows(&self, value: CountedValue, group: usize) -> u64 {
        match (&self.by, value) {
            (RowsByValue::Levels(rows), CountedValue::Level(level)) => {
                rows[group * (rows.len() / self.groups.max(1)) + level as usize]
            }
            (RowsByValue::Numbers(rows), CountedValue::Number(key)) => {
                rows.get(&key).map_or(0, |rows| rows[group])
            }
            _ => 0,
        }
    }

    /// Rows of a group with any value; 0 where only ranges are known.
    pub(super) fn rows_with_any(&self, group: usize) -> u64 {
        match &self.by {
            RowsByValue::Levels(rows) => {
                let n = rows.len() / self.groups.max(1);
                rows[group * n..(group + 1) * n].iter().sum()
            }
            RowsByValue::Numbers(rows) => rows.values().map(|rows| rows[group]).sum(),
            RowsByValue::Ranges(_) => 0,
        }
    }

    /// Merges the counts of other rows.
    pub(super) fn merge(&mut self, mut other: ValueCounts) {
        if self.ranges().is_some() {
            other.keep_ranges();
        } else if other.ranges().is_some() {
            self.keep_ranges();
        }
        match (&mut self.by, other.by) {
            (RowsByValue::Levels(mine), RowsByValue::Levels(theirs)) => mine.absorb(&theirs),
            (RowsByValue::Numbers(mine), RowsByValue::Numbers(theirs)) => absorb_map(mine, theirs),
            (RowsByValue::Ranges(mine), RowsByValue::Ranges(theirs)) => mine.absorb(&theirs),
            _ => {}
        }
        self.keep_few();
    }

    fn keep_few(&mut self) {
        if matches!(&self.by, RowsByValue::Numbers(rows) if rows.len() > self.most) {
            self.keep_ranges();
        }
    }

    fn keep_ranges(&mut self) {
        let RowsByValue::Numbers(rows) = &self.by else { return };
        let mut ranges = vec![None; self.groups];
        for (&key, rows) in rows {
            let x = number_of_bits(key);
            let held = ranges.iter_mut().zip(rows).filter(|(_, n)| **n > 0);
            held.for_each(|(range, _)| range.absorb(&Some(ValueRange(x, x))));
        }
        self.by = RowsByValue::Ranges(ranges);
    }
}
