//! What preparing counts: how often each value of a column occurs, which values have no name,
//! which rows no side table knows.
//!
//! The words of a column are numbered in the order in which they occur: their codes in the file,
//! see [`encode`](crate::data::prepare::encode).

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{DictionaryArray, UInt32Array};
use arrow::datatypes::UInt32Type;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::data::source::list_words;
use crate::data::source::side_table::EXAMPLES;
use crate::data::values::SourceValues;
use crate::num::additive::{Additive, additive};
use crate::num::range::ValueRange;
use crate::table::population::STATES;

/// Why a row is left out: the first that applies, in the order of [`STATES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftOut {
    /// A side table that drops such rows does not have its key.
    Unmatched,
    /// A condition of `keep` does not hold.
    Filtered,
    /// It repeats an earlier row that every filter keeps.
    Duplicate,
    /// It lacks the value of a feature.
    Dropped,
}

impl LeftOut {
    /// All of them; each is at the position of its number.
    pub(crate) const ALL: [LeftOut; 4] =
        [LeftOut::Unmatched, LeftOut::Filtered, LeftOut::Duplicate, LeftOut::Dropped];

    /// The word of the table `population`.
    pub(crate) fn word(self) -> &'static str {
        STATES[self as usize]
    }
}

/// Rows whose key a side table lacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UnmatchedRows {
    /// How many they are.
    pub(crate) n: u64,
    /// How many rows were looked at.
    pub(crate) of: u64,
    /// The first of them with their keys; no key is missing too.
    pub(crate) first: Vec<(u64, Option<String>)>,
}

impl Additive for UnmatchedRows {
    fn absorb(&mut self, other: &Self) {
        self.n += other.n;
        self.of += other.of;
        self.first.extend(other.first.iter().cloned());
        self.first.sort();
        self.first.truncate(EXAMPLES);
    }
}

impl UnmatchedRows {
    /// Their keys in words.
    pub(crate) fn keys(&self) -> String {
        let word = |(row, key): &(u64, Option<String>)| match key {
            Some(key) => format!("`{key}` (row {row})"),
            None => format!("none (row {row})"),
        };
        list_words(self.first.iter().map(word), EXAMPLES)
    }
}

/// Rows of a one-hot group without exactly one 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OneHotFaults {
    /// Rows with no 1.
    pub(crate) none: u64,
    /// Rows with several 1.
    pub(crate) several: u64,
}

additive!(OneHotFaults { none, several });

/// How often each value of a column occurs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ColumnTally {
    /// Count and first row by word; 1 + its position is the code of a word.
    pub(crate) occurrences: IndexMap<String, ValueOccurrences>,
    /// Rows without a value.
    pub(crate) nulls: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ValueOccurrences {
    pub(crate) n: u64,
    pub(crate) first_row: u64,
}

impl ColumnTally {
    /// Counts a word; returns its code.
    pub(super) fn add(&mut self, word: &str, seen: ValueOccurrences) -> u32 {
        let code = match self.occurrences.get_full_mut(word) {
            Some((position, _, known)) => {
                known.n += seen.n;
                known.first_row = known.first_row.min(seen.first_row);
                position
            }
            None => self.occurrences.insert_full(word.to_owned(), seen).0,
        };
        code as u32 + 1
    }

    /// Counts the values of some rows; returns their codes, 0 = missing.
    pub(super) fn add_values(
        &mut self,
        values: &SourceValues,
        row: impl Fn(usize) -> u64,
    ) -> ColumnCodes {
        let distinct = values.distinct();
        self.nulls += distinct.counts[0];
        let mut table = vec![0; distinct.counts.len()];
        for &(id, i) in &distinct.first {
            if let Some(word) = values.word(i) {
                let seen = ValueOccurrences { n: distinct.counts[id as usize], first_row: row(i) };
                table[id as usize] = self.add(&word, seen);
            }
        }
        ColumnCodes::new(distinct.ids.into_owned().into(), Arc::new(UInt32Array::from(table)))
    }

    /// Merges other counts; returns the code here of each of their codes.
    pub(super) fn merge(&mut self, other: &ColumnTally) -> Vec<u32> {
        self.nulls += other.nulls;
        let codes = other.occurrences.iter().map(|(word, &seen)| self.add(word, seen));
        [0].into_iter().chain(codes).collect()
    }

    /// The counts after words are replaced by others; a word without a replacement is missing.
    pub(super) fn mapped<'a>(&'a self, of: impl Fn(&'a str) -> Option<Cow<'a, str>>) -> Self {
        let mut mapped = ColumnTally { nulls: self.nulls, ..ColumnTally::default() };
        for (word, &seen) in &self.occurrences {
            match of(word) {
                Some(word) => {
                    mapped.add(&word, seen);
                }
                None => mapped.nulls += seen.n,
            }
        }
        mapped
    }

    /// The words in byte order.
    pub(crate) fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.occurrences.keys().map(String::as_str).collect();
        words.sort_unstable();
        words
    }

    /// Each word with its count, most frequent first.
    pub(crate) fn by_count(&self) -> Vec<(&str, u64)> {
        let mut words: Vec<(&str, u64)> =
            self.occurrences.iter().map(|(word, seen)| (word.as_str(), seen.n)).collect();
        words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        words
    }
}

/// The codes of the values of some rows, each once, and for each row the position of its code.
pub(crate) type ColumnCodes = DictionaryArray<UInt32Type>;

/// Values of the parents of a derived column that have no name in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UnnamedValues {
    /// Rows with such a value.
    pub(crate) n: u64,
    /// The values of a map.
    pub(crate) words: ColumnTally,
    /// Values that a map lacks, with a name or without, and that differ only by case or blanks from
    /// one that it has.
    pub(crate) alike: ColumnTally,
    /// The range of the numbers outside the bins.
    pub(crate) extremes: Option<ValueRange>,
}

impl Additive for ColumnTally {
    fn absorb(&mut self, other: &Self) {
        self.merge(other);
    }
}

additive!(UnnamedValues { n, words, alike, extremes });
