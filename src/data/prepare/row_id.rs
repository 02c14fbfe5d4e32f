//! The exact check that no row id occurs twice, and the number of different persons.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use serde::{Deserialize, Serialize};

use crate::data::rows::RowsReader;
use crate::data::source::ParquetSource;
use crate::error::{Fault, Result};
use crate::exec::pieces::StageWatch;
use crate::num::hash::FastHasher;
use crate::num::seed::sm;

/// Largest number of keys held at a time, 8 bytes each.
///
/// With more rows the keys are checked in several passes over ranges of them.
const KEYS_AT_ONCE: u64 = 20_000_000;

/// Whether the keys of some rows rise from row to row, which shows that none occurs twice.
///
/// Files are often sorted by id.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeyRun {
    /// The first and the last key; none without rows.
    ends: Option<(u64, u64)>,
    /// Whether some key is not above the one before it.
    broken: bool,
}

impl KeyRun {
    /// The keys of rows that follow each other.
    pub(crate) fn of(mut keys: impl Iterator<Item = u64>) -> Self {
        let Some(first) = keys.next() else { return KeyRun::default() };
        let (mut last, mut broken) = (first, false);
        for key in keys {
            broken |= last >= key;
            last = key;
        }
        KeyRun { ends: Some((first, last)), broken }
    }

    /// Merges the keys of the rows that follow these.
    pub(crate) fn append(&mut self, next: KeyRun) {
        self.broken |= next.broken;
        self.ends = match (self.ends, next.ends) {
            (Some((first, last)), Some((from, to))) => {
                self.broken |= last >= from;
                Some((first, to))
            }
            (ends, None) | (None, ends) => ends,
        };
    }

    /// Whether every key is above the one before it.
    pub(crate) fn rises(&self) -> bool {
        !self.broken
    }
}

/// Ids of the rows of shards, of which none can be compared with all others.
pub(crate) fn unsorted_fault(column: &str) -> Fault {
    let what = "row ids do not rise from row to row and from shard to shard, so nothing tells \
                that none occurs twice";
    let hint = "sort the rows by the id where the files are written, or leave `row_id` out to use \
                row numbers";
    Fault::new("unsorted-row-ids", what).in_column(column).hint(hint)
}

/// Fails where two kept rows share their id.
///
/// Two different texts with the same hash count as the same: later stages could not distinguish
/// their rows, and such a pair takes billions of rows to occur.
///
/// # Errors
/// A row id occurs twice; `rows` cannot be read.
pub(crate) fn check_unique(
    rows: &RowsReader,
    column: &str,
    source: &ParquetSource,
    watch: StageWatch<'_>,
) -> Result<()> {
    let each_key = |visit: &mut dyn FnMut(u64, u64) -> bool| {
        let mut position = 0;
        for group in 0..rows.n_groups() {
            (watch.check)()?;
            for key in rows.read_row_keys(group)? {
                if !visit(position, key) {
                    return Ok(());
                }
                position += 1;
            }
        }
        Ok(())
    };
    match repeated(rows.layout().n_rows, KEYS_AT_ONCE, &each_key)? {
        None => Ok(()),
        Some((first, second)) => {
            let (one, two) = (id_word(rows, first)?, id_word(rows, second)?);
            let what = match one.1 == two.1 {
                true => {
                    format!("the row id `{}` occurs in row {} and in row {}", one.1, one.0, two.0)
                }
                false => format!(
                    "the row ids `{}` (row {}) and `{}` (row {}) have the same 64-bit hash",
                    one.1, one.0, two.1, two.0
                ),
            };
            let fault = Fault::new("duplicate-row-id", what).in_column(column);
            Err(source
                .locate_row(fault, two.0)
                .hint(
                    "row ids must be unique among the kept rows;                      leave \
                     `row_id` out to use row numbers",
                )
                .into())
        }
    }
}

/// Different persons among the rows: as many as there are different keys.
///
/// # Errors
/// `rows` cannot be read.
pub(crate) fn count_persons(rows: &RowsReader, watch: StageWatch<'_>) -> Result<u64> {
    let passes = rows.layout().n_rows.div_ceil(KEYS_AT_ONCE).max(1);
    let mut persons = 0;
    for pass in 0..passes {
        let mut keys: HashSet<u64, BuildHasherDefault<FastHasher>> = HashSet::default();
        for group in 0..rows.n_groups() {
            (watch.check)()?;
            let own = |key: &u64| passes == 1 || sm(*key) % passes == pass;
            keys.extend(rows.read_persons(group)?.into_iter().filter(own));
        }
        persons += keys.len() as u64;
    }
    Ok(persons)
}

/// Calls its argument with the position and the key of every row in order, until it returns false.
type EachKey<'a> = dyn Fn(&mut dyn FnMut(u64, u64) -> bool) -> Result<()> + 'a;

/// Positions of two rows that share a key; of several pairs the one whose later row comes first.
fn repeated(n_rows: u64, at_once: u64, each_key: &EachKey<'_>) -> Result<Option<(u64, u64)>> {
    let passes = n_rows.div_ceil(at_once).max(1);
    let mut shared: Vec<u64> = Vec::new();
    for pass in 0..passes {
        let mut keys: Vec<u64> = Vec::new();
        each_key(&mut |_, key| {
            if passes == 1 || sm(key) % passes == pass {
                keys.push(key);
            }
            true
        })?;
        keys.sort_unstable();
        shared.extend(keys.windows(2).filter(|w| w[0] == w[1]).map(|w| w[0]));
    }
    if shared.is_empty() {
        return Ok(None);
    }
    shared.sort_unstable();
    let (mut first, mut pair) = (HashMap::new(), None);
    each_key(&mut |position, key| {
        if shared.binary_search(&key).is_ok()
            && let Some(before) = first.insert(key, position)
        {
            pair = Some((before, position));
        }
        pair.is_none()
    })?;
    Ok(pair)
}

/// Row number and row id of the row at this position.
fn id_word(rows: &RowsReader, position: u64) -> Result<(u64, String)> {
    let mut before = 0;
    for group in 0..rows.n_groups() {
        let n = rows.file().group_rows(group);
        if let Some(i) = usize::try_from(position - before).ok().filter(|&i| i < n) {
            return Ok((rows.read_keys(group)?.row[i], rows.read_ids(group)?.text(i)));
        }
        before += n as u64;
    }
    Ok((position, String::new()))
}

#[cfg(test)]
mod tests {
    use super::{KEYS_AT_ONCE, KeyRun, repeated};

    /// Checks the pair found among keys, with all keys held at once and three at a time, and
    /// whether they rise, however they are cut.
    #[track_caller]
    fn check(keys: &[u64], expected: Option<(u64, u64)>) {
        let each_key = |visit: &mut dyn FnMut(u64, u64) -> bool| {
            for (position, &key) in (0..).zip(keys) {
                if !visit(position, key) {
                    break;
                }
            }
            Ok(())
        };
        for at_once in [KEYS_AT_ONCE, 3] {
            let found = repeated(keys.len() as u64, at_once, &each_key).unwrap();
            assert_eq!(found, expected, "{at_once} at once");
        }
        for length in 1..=keys.len() {
            let mut run = KeyRun::default();
            for part in keys.chunks(length) {
                run.append(KeyRun::of(part.iter().copied()));
                run.append(KeyRun::default());
            }
            assert_eq!(run, KeyRun::of(keys.iter().copied()));
            assert_eq!(run.rises(), keys.is_sorted_by(|a, b| a < b), "parts of {length}");
        }
    }

    #[test]
    fn keys_that_occur_twice() {
        check(&[], None);
        check(&[5, 5], Some((0, 1)));
        check(&[1, 2, 3, 5, 8, 9, 12], None);
        check(&[9, 1, 3, 2, 8, 5, 12], None);
        check(&[1, 2, 3, 3, 8, 9], Some((2, 3)));
        // The pair whose later row comes first, whichever pass finds it.
        check(&[7, 4, 6, 5, 3, 2, 5, 4, 7, 7], Some((3, 6)));
        check(&[0, u64::MAX, 0, u64::MAX], Some((0, 2)));
    }
}
