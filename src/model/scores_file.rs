//! Scores computed elsewhere: joined to the rows by key, in the order of the rows.
//!
//! The file is read once from front to back, in step with the rows. Where it has the order of the
//! rows, the next entry is always the requested one, and nothing is looked up. Entries read before
//! their row are kept in memory, so a file in the order of the rows needs memory for one of its row
//! groups, and a file in another order, or one that lacks a row, up to about 50 bytes an entry.
//! Every entry must belong to a row: a duplicate key, an unknown row and a wrong own group are
//! faults, never skipped.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::data::exchange::keyed::{KeyedFile, ScoreEntry, ScoreKey};
use crate::error::{Fault, Result};

/// Looks up the scores of a file by key.
#[derive(Debug)]
pub(crate) struct ScoreJoin<'a> {
    file: &'a KeyedFile,
    next_group: usize,
    /// The current row group; entries before `next` are already used.
    current: Vec<ScoreEntry>,
    next: usize,
    waiting: HashMap<ScoreKey, ScoreEntry>,
}

/// Why an entry of a score file was not requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeftoverScore {
    /// The row is known but was not requested.
    ///
    /// It is not audited, not of a declared group, or requested for another model.
    NotAsked,
    /// The key was requested before: the file holds it twice.
    Duplicate,
    /// A counterfactual in the row's own group, which was not requested for a recheck.
    OwnGroup,
    /// The row exists but has no such counterfactual.
    NoCounterfactual,
    /// The data do not have the row.
    Unknown,
}

/// What to do about a file that answers another request than the present job would make.
pub(crate) const STALE_SCORES_HINT: &str = "if data, features, the set, `run.seed` or the share \
    of `recheck` have changed since the rows to score were written, remove the file (or name \
    another one in the job) and run again: the rows to score are then written again";

/// The parts of a key.
pub(crate) const SCORE_KEY_HINT: &str = "the key of a score is row_id, for a \
    counterfactual also sensitive, to_group and cf_index";

impl<'a> ScoreJoin<'a> {
    /// A join that starts at the front of the file.
    pub(crate) fn new(file: &'a KeyedFile) -> Self {
        ScoreJoin { file, next_group: 0, current: Vec::new(), next: 0, waiting: HashMap::new() }
    }

    /// The score of a key; `None` where the file lacks the key, NaN where its score is missing.
    ///
    /// `own` is the row's own group.
    ///
    /// # Errors
    /// A damaged file, a duplicate key, a score outside of its scale, or an own group that differs
    /// from the row's.
    pub(crate) fn take(&mut self, key: ScoreKey, own: Option<u16>) -> Result<Option<f64>> {
        let Some(entry) = self.find(key)? else { return Ok(None) };
        if let (Some(stated), Some(own)) = (entry.from_group, own)
            && stated != own
        {
            let name = |group: u16| self.file.group_name(group);
            let what = format!(
                "the counterfactual names `{}` as the row's own group, which is `{}`",
                name(stated),
                name(own)
            );
            return Fault::new("bad-scores", what)
                .in_file(self.file.path())
                .at_row(self.file.describe_row(entry.file_row))
                .in_column("from_group")
                .fail(format!("the scores were computed from other data; {STALE_SCORES_HINT}"));
        }
        Ok(Some(entry.score))
    }

    fn find(&mut self, key: ScoreKey) -> Result<Option<ScoreEntry>> {
        loop {
            if let Some(&entry) = self.current.get(self.next).filter(|entry| entry.key == key) {
                self.next += 1;
                return match self.waiting.get(&key) {
                    Some(first) => {
                        Err(duplicate_fault(self.file, first.file_row, entry.file_row).into())
                    }
                    None => Ok(Some(entry)),
                };
            }
            if let Some(entry) = self.waiting.remove(&key) {
                return Ok(Some(entry));
            }
            if self.next < self.current.len() {
                self.set_aside()?;
            } else if self.next_group < self.file.n_groups() {
                self.read_next_group()?;
            } else {
                return Ok(None);
            }
        }
    }

    fn read_next_group(&mut self) -> Result<()> {
        self.current = self.file.read(self.next_group)?;
        self.next = 0;
        self.next_group += 1;
        Ok(())
    }

    /// Keeps the entries of the current row group: they are not in the order of the rows.
    fn set_aside(&mut self) -> Result<()> {
        for entry in self.current.drain(self.next..) {
            match self.waiting.entry(entry.key) {
                Entry::Occupied(first) => {
                    return Err(
                        duplicate_fault(self.file, first.get().file_row, entry.file_row).into()
                    );
                }
                Entry::Vacant(place) => {
                    place.insert(entry);
                }
            }
        }
        Ok(())
    }

    /// Reads the rest of the file and returns the number of entries that were not requested.
    ///
    /// # Errors
    /// A damaged file, or a duplicate key.
    pub(crate) fn read_rest(&mut self) -> Result<usize> {
        self.set_aside()?;
        while self.next_group < self.file.n_groups() {
            self.read_next_group()?;
            self.set_aside()?;
        }
        Ok(self.waiting.len())
    }

    /// The keys that were read and not yet requested.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &ScoreKey> {
        self.waiting.keys()
    }

    /// Classifies the entries that were not requested, after [`ScoreJoin::read_rest`].
    ///
    /// # Errors
    /// An entry that is a duplicate or belongs to no row; of several the first in the file.
    pub(crate) fn finish(self, judge: impl Fn(&ScoreKey) -> LeftoverScore) -> Result<()> {
        let mut left: Vec<&ScoreEntry> = self.waiting.values().collect();
        left.sort_by_key(|entry| entry.file_row);
        for entry in left {
            let unknown = |what: &str, hint: String| Fault::new("unknown-key", what).hint(hint);
            let fault = match judge(&entry.key) {
                LeftoverScore::NotAsked => continue,
                LeftoverScore::Duplicate => Fault::new(
                    "duplicate-key",
                    "the key of this entry occurs twice in the score file",
                )
                .hint(SCORE_KEY_HINT),
                LeftoverScore::OwnGroup => unknown(
                    "this entry has the row's own group, but the row was not to be scored again",
                    format!(
                        "`recheck` samples the rows that are scored again; {STALE_SCORES_HINT}; \
                         otherwise leave such lines out"
                    ),
                ),
                LeftoverScore::NoCounterfactual => unknown(
                    "the row exists, but this job has no such counterfactual of it",
                    format!("{SCORE_KEY_HINT}; {STALE_SCORES_HINT}"),
                ),
                LeftoverScore::Unknown => unknown(
                    "no row kept by this job has this row_id",
                    format!(
                        "row_id must be the column in `data.row_id` (without it: the row number \
                         from 0); `cfaudit data` shows which step drops rows: leave out their \
                         scores too; {STALE_SCORES_HINT}"
                    ),
                ),
            };
            return Err(fault
                .in_file(self.file.path())
                .at_row(self.file.describe_row(entry.file_row))
                .in_column("row_id")
                .into());
        }
        Ok(())
    }
}

fn duplicate_fault(file: &KeyedFile, first: u64, second: u64) -> Fault {
    Fault::new("duplicate-key", "the same key occurs twice in the score file")
        .in_file(file.path())
        .at_row(format!("row {first} and again in {}", file.describe_row(second)))
        .hint(SCORE_KEY_HINT)
}
