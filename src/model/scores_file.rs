//! Scores made elsewhere: joined to the rows by key, in the order of the rows.
//!
//! The file is read once from front to back while the rows go by. Entries that are not wanted yet wait in memory, so a file in the order
//! of the rows needs memory for one of its row groups, and a file in another order, or one that lacks a row, up to about 50 bytes an
//! entry. Every entry must belong to a row: a key that stands twice, an unknown row and a wrong own group are faults, never skipped.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::data::keyed::{KeyedScores, ScoreEntry, ScoreKey};
use crate::error::{Fault, Result};

/// Hands out the scores of a file by key.
#[derive(Debug)]
pub struct ScoreJoin<'a> {
    file: &'a KeyedScores,
    next_group: usize,
    waiting: HashMap<ScoreKey, ScoreEntry>,
}

/// What a score file holds beside what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// The row is known and is not scored here: it is not audited, or not of a declared group.
    NotAudited,
    /// The key was asked for before: it stands twice in the file.
    Twice,
    /// The data have no such row, or no such counterfactual of it.
    Unknown,
}

impl<'a> ScoreJoin<'a> {
    /// Starts at the front of the file.
    pub fn new(file: &'a KeyedScores) -> Self {
        ScoreJoin { file, next_group: 0, waiting: HashMap::new() }
    }

    /// The score of a key; none where the file does not have it, NaN where it has it without a score. `own` is the row's own group.
    ///
    /// # Errors
    /// A damaged file, a key that stands twice, a score outside [0, 1], an own group that is not the row's.
    pub fn take(&mut self, key: ScoreKey, own: Option<u16>) -> Result<Option<f64>> {
        loop {
            if let Some(entry) = self.waiting.remove(&key) {
                if let (Some(stated), Some(own)) = (entry.from_group, own)
                    && stated != own
                {
                    return Err(Fault::new("bad-scores", "the counterfactual names another own group than the row has")
                        .in_file(self.file.path())
                        .at_row(format!("row {}", entry.file_row))
                        .in_column("from_group")
                        .hint("the scores were made from other data; make them again from the rows of this job")
                        .into());
                }
                return Ok(Some(entry.score));
            }
            if self.next_group == self.file.n_groups() {
                return Ok(None);
            }
            self.read_on()?;
        }
    }

    fn read_on(&mut self) -> Result<()> {
        for entry in self.file.read(self.next_group)? {
            match self.waiting.entry(entry.key) {
                Entry::Occupied(first) => return Err(twice(self.file, first.get().file_row, entry.file_row).into()),
                Entry::Vacant(place) => {
                    place.insert(entry);
                }
            }
        }
        self.next_group += 1;
        Ok(())
    }

    /// Reads the rest of the file; the number of entries that nobody asked for.
    ///
    /// # Errors
    /// A damaged file, or a key that stands twice.
    pub fn read_rest(&mut self) -> Result<usize> {
        while self.next_group < self.file.n_groups() {
            self.read_on()?;
        }
        Ok(self.waiting.len())
    }

    /// Whether an entry with this key was read and nobody asked for it yet.
    pub fn is_waiting(&self, key: &ScoreKey) -> bool {
        self.waiting.contains_key(key)
    }

    /// Judges what nobody asked for, after [`ScoreJoin::read_rest`].
    ///
    /// # Errors
    /// An entry that stands twice or belongs to no row; of several the first in the file.
    pub fn finish(self, judge: impl Fn(&ScoreKey) -> Leftover) -> Result<()> {
        let mut left: Vec<&ScoreEntry> = self.waiting.values().collect();
        left.sort_by_key(|entry| entry.file_row);
        for entry in left {
            let fault = match judge(&entry.key) {
                Leftover::NotAudited => continue,
                Leftover::Twice => Fault::new("duplicate-key", "the key of this entry stands twice in the score file")
                    .hint("a score is identified by row_id, and that of a counterfactual also by sensitive, to_group and cf_index"),
                Leftover::Unknown => Fault::new("unknown-key", "the data of this job have no such row or counterfactual")
                    .hint("the scores were made from other data, or their row_id is not what `data.row_id` names (without it: the row number from 0)"),
            };
            return Err(fault.in_file(self.file.path()).at_row(format!("row {}", entry.file_row)).in_column("row_id").into());
        }
        Ok(())
    }
}

fn twice(file: &KeyedScores, first: u64, second: u64) -> Fault {
    Fault::new("duplicate-key", "the same key stands twice in the score file")
        .in_file(file.path())
        .at_row(format!("rows {first} and {second}"))
        .hint("a score is identified by row_id, and that of a counterfactual also by sensitive, to_group and cf_index")
}
