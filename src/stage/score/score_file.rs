//! A file of scores computed elsewhere, read in step with the rows: each wanted key gets its score.
//!
//! The file is read once from front to back, its row groups decoded on all threads. Where its next
//! entries are the wanted keys, they are compared column by column, and nothing is looked up.
//! Entries read before their row are kept in memory, so a file in the order of the rows needs
//! memory for some of its row groups, and a file in another order, or one that lacks a row, up to
//! about 50 bytes an entry. Every entry must belong to a row: a duplicate key, an unknown row and a
//! wrong own group are faults, never skipped. The rows of a shard are somewhere in the file, in
//! their order.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::data::RowIdKind;
use crate::data::exchange::keyed::{KeyedFile, ScoreColumns, ScoreEntry, ScoreKey};
use crate::error::{Error, Fault, Result};
use crate::stage::row_context::RowContext;

/// A key that is wanted.
pub(super) struct WantedKey {
    pub(super) key: ScoreKey,
    /// The row's own group, of a counterfactual.
    pub(super) own: Option<u16>,
}

impl WantedKey {
    /// Whether a file states another group as the row's own.
    fn is_contradicted(&self, stated: Option<u16>) -> bool {
        stated.zip(self.own).is_some_and(|(stated, own)| stated != own)
    }
}

/// A file of scores, read in step with the rows.
pub(super) struct ScoreFile<'a> {
    file: &'a KeyedFile,
    context: RowContext<'a>,
    /// The next row group that is to be decoded.
    next_group: usize,
    /// Decoded row groups; a fault is reported when it is their turn.
    ready: VecDeque<Result<ScoreColumns>>,
    current: Option<ScoreColumns>,
    /// Entries of the current row group that are used.
    taken: usize,
    /// Entries that no row has asked for yet.
    waiting: HashMap<ScoreKey, ScoreEntry>,
    /// Whether the first wanted key is still to be looked for: in a shard, whose entries are
    /// somewhere in the file.
    seeks: bool,
}

/// Why an entry of a score file was not requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeftoverScore {
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
pub(super) const SCORE_KEY_HINT: &str = "the key of a score is row_id, for a \
    counterfactual also sensitive, to_group and cf_index";

impl<'a> ScoreFile<'a> {
    /// The file from its front, for these rows.
    pub(super) fn new(file: &'a KeyedFile, context: RowContext<'a>) -> Self {
        ScoreFile {
            file,
            context,
            next_group: 0,
            ready: VecDeque::new(),
            current: None,
            taken: 0,
            waiting: HashMap::new(),
            seeks: context.rows.are_of_shard(),
        }
    }

    /// Moves to the next row group, decoding as many together as there are threads; false at the
    /// end of the file.
    fn read_on(&mut self) -> Result<bool> {
        if self.ready.is_empty() && self.next_group < self.file.n_groups() {
            let (first, file, ready) = (self.next_group, self.file, &mut self.ready);
            let n = self.context.workers.threads().min(file.n_groups() - first);
            let decode = |i: usize| Ok::<_, Error>(file.read(first + i));
            self.context.workers.map(n, decode, |_, columns| {
                ready.push_back(columns);
                Ok(())
            })?;
            self.next_group += n;
        }
        let Some(columns) = self.ready.pop_front() else { return Ok(false) };
        (self.current, self.taken) = (Some(columns?), 0);
        Ok(true)
    }

    /// The next entry of the current row group.
    fn next(&self) -> Option<ScoreEntry> {
        self.current.as_ref()?.get(self.taken)
    }

    /// Goes to the first entry of a row. Numbers rise through the file, so a few row groups show
    /// where it is; the keys of texts do not, and are read from the beginning.
    fn seek(&mut self, row_key: u64) -> Result<()> {
        let by_text = self.context.rows.layout().row_id == RowIdKind::Text;
        let is_before = |key: u64| match by_text {
            true => key != row_key,
            false => key.cast_signed() < row_key.cast_signed(),
        };
        let (mut from, mut to) = (0, if by_text { 0 } else { self.file.n_groups() });
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            let first = self.file.read(middle).ok().and_then(|c| c.row_key.first().copied());
            if first.is_some_and(is_before) { from = middle } else { to = middle }
        }
        self.next_group = from;
        loop {
            match self.next() {
                Some(entry) if is_before(entry.key.row_key) => self.taken += 1,
                Some(_) => return Ok(()),
                None if self.read_on()? => {}
                None => return Ok(()),
            }
        }
    }

    /// The scores of wanted keys, NaN where they are missing; `lacks` gets the positions of keys
    /// that the file does not have.
    ///
    /// # Errors
    /// A damaged file, a duplicate key, a score outside of its scale, or an own group that differs
    /// from the row's; of a shard, keys that are not the next entries.
    pub(super) fn take(
        &mut self,
        wanted: &[WantedKey],
        mut lacks: impl FnMut(usize),
    ) -> Result<Vec<f64>> {
        if let Some(first) = wanted.first().filter(|_| self.seeks) {
            self.seeks = false;
            self.seek(first.key.row_key)?;
        }
        let mut scores = Vec::with_capacity(wanted.len());
        while let Some(next) = wanted.get(scores.len()) {
            let k = scores.len();
            if self.waiting.is_empty() {
                if self.next().is_none() && self.read_on()? {
                    continue;
                }
                if let Some(found) = &self.current {
                    // Files are mostly in the order in which their rows are wanted.
                    let is_next = |(i, wanted): &(usize, &WantedKey)| {
                        found.key(*i) == Some(wanted.key)
                            && !wanted.is_contradicted(found.stated_group(*i))
                    };
                    let n = (self.taken..).zip(&wanted[k..]).take_while(is_next).count();
                    scores.extend_from_slice(&found.score[self.taken..self.taken + n]);
                    self.taken += n;
                    if n > 0 {
                        continue;
                    }
                }
            }
            if self.context.rows.are_of_shard() {
                let what = "the file does not hold the keys of the rows of a shard in their order";
                let hint = "sort the file by row_id, then in the order of the rows to score, and \
                            let it hold every row that is asked for; without shards any order does";
                let fault = Fault::new("unsorted-scores", what).in_file(&self.file.path);
                return fault.fail(hint);
            }
            let found = self.find(next.key)?;
            match &found {
                Some(entry) => self.check_own(entry, next)?,
                None => lacks(k),
            }
            scores.push(found.map_or(f64::NAN, |entry| entry.score));
        }
        Ok(scores)
    }

    /// Fails where an entry names another group as the row's own.
    fn check_own(&self, entry: &ScoreEntry, wanted: &WantedKey) -> Result<()> {
        if !wanted.is_contradicted(entry.from_group) {
            return Ok(());
        }
        let name = |group: Option<u16>| group.map_or("", |group| self.file.group_name(group));
        let what = format!(
            "the counterfactual names `{}` as the row's own group, which is `{}`",
            name(entry.from_group),
            name(wanted.own)
        );
        Fault::new("bad-scores", what)
            .in_file(&self.file.path)
            .at_row(self.file.describe_row(entry.file_row))
            .in_column("from_group")
            .fail(format!("the scores were computed from other data; {STALE_SCORES_HINT}"))
    }

    /// The entry of a key; none where the file lacks it.
    fn find(&mut self, key: ScoreKey) -> Result<Option<ScoreEntry>> {
        loop {
            let next = self.next();
            if let Some(entry) = next.filter(|entry| entry.key == key) {
                self.taken += 1;
                return match self.waiting.get(&key) {
                    Some(first) => Err(self.duplicate(first.file_row, entry.file_row)),
                    None => Ok(Some(entry)),
                };
            }
            if let Some(entry) = self.waiting.remove(&key) {
                return Ok(Some(entry));
            }
            if next.is_some() {
                self.set_aside()?;
            } else if !self.read_on()? {
                return Ok(None);
            }
        }
    }

    /// Keeps the entries of the current row group: they are not in the order of the rows.
    fn set_aside(&mut self) -> Result<()> {
        while let Some(entry) = self.next() {
            self.taken += 1;
            match self.waiting.entry(entry.key) {
                Entry::Occupied(first) => {
                    let first = first.get().file_row;
                    return Err(self.duplicate(first, entry.file_row));
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
    pub(super) fn read_rest(&mut self) -> Result<usize> {
        self.set_aside()?;
        while self.read_on()? {
            self.set_aside()?;
        }
        Ok(self.waiting.len())
    }

    /// The keys that were read and not yet requested.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &ScoreKey> {
        self.waiting.keys()
    }

    /// Classifies the entries that were not requested, after [`ScoreFile::read_rest`].
    ///
    /// # Errors
    /// An entry that is a duplicate or belongs to no row; of several the first in the file.
    pub(super) fn finish(self, judge: impl Fn(&ScoreKey) -> LeftoverScore) -> Result<()> {
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
                .in_file(&self.file.path)
                .at_row(self.file.describe_row(entry.file_row))
                .in_column("row_id")
                .into());
        }
        Ok(())
    }

    fn duplicate(&self, first: u64, second: u64) -> Error {
        Fault::new("duplicate-key", "the same key occurs twice in the score file")
            .in_file(&self.file.path)
            .at_row(format!("row {first} and again in {}", self.file.describe_row(second)))
            .hint(SCORE_KEY_HINT)
            .into()
    }
}
