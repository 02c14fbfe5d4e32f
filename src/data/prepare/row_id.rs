//! The exact check that no row id occurs twice, and the number of different persons.

use std::borrow::Cow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use crate::data::RowIdKind;
use crate::data::prepare::repeated::repeated_rows;
use crate::data::rows::{Projection, RowsReader};
use crate::data::source::ParquetSource;
use crate::error::{Fault, Result};
use crate::exec::accumulator::PieceLoop;
use crate::exec::buckets::MOST_WAITING;
use crate::exec::pieces::{StageWatch, WorkerPool};
use crate::num::hash::FastMap;
use crate::num::seed::sm;

/// The temporary file of ids that are being compared.
const IDS: &str = "ids.tmp";

/// A row id, in the order by which files are sorted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum OrderedId {
    Integer(i64),
    Text(String),
}

impl From<i64> for OrderedId {
    fn from(id: i64) -> Self {
        OrderedId::Integer(id)
    }
}

impl From<Cow<'_, str>> for OrderedId {
    fn from(id: Cow<'_, str>) -> Self {
        OrderedId::Text(id.into_owned())
    }
}

/// Whether the ids of some rows rise from row to row, texts by their bytes, which shows that none
/// occurs twice.
///
/// Files are often sorted by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IdRun {
    /// The first and the last id; none without rows.
    ends: Option<(OrderedId, OrderedId)>,
    /// Whether some id is not above the one before it.
    broken: bool,
}

impl IdRun {
    /// The ids of rows that follow each other.
    pub(crate) fn of<T: Clone + PartialOrd + Into<OrderedId>>(
        mut ids: impl Iterator<Item = T>,
    ) -> Self {
        let Some(first) = ids.next() else { return IdRun::default() };
        let (mut last, mut broken) = (first.clone(), false);
        for id in ids {
            broken |= last >= id;
            last = id;
        }
        IdRun { ends: Some((first.into(), last.into())), broken }
    }

    /// Merges the ids of the rows that follow these.
    pub(crate) fn append(&mut self, next: IdRun) {
        self.broken |= next.broken;
        self.ends = match (self.ends.take(), next.ends) {
            (Some((first, last)), Some((from, to))) => {
                self.broken |= last >= from;
                Some((first, to))
            }
            (ends, None) | (None, ends) => ends,
        };
    }

    /// Whether every id is above the one before it.
    pub(crate) fn rises(&self) -> bool {
        !self.broken
    }
}

/// Ids of the rows of shards, of which none can be compared with all others.
pub(crate) fn unsorted_fault(column: &str) -> Fault {
    let what = "row ids do not rise from row to row and from shard to shard, so nothing tells \
                that none occurs twice";
    let hint = "sort the rows by the id where the files or streams are written; rows in files can \
                also be identified by their numbers, without `row_id`";
    Fault::new("unsorted-row-ids", what).in_column(column).hint(hint)
}

/// Fails where two kept rows share their id; of texts 128 bits of hash are compared, by which two
/// of 10^12 texts are taken for one with a probability of 10^-15. Where files are joined `by_key`
/// two texts must not share their 64 bits either: nothing would distinguish their entries.
///
/// `scratch` is a folder for a temporary file of 24 bytes a row, where there are many rows.
///
/// # Errors
/// A row id occurs twice; `rows` cannot be read; the disk refuses.
pub(crate) fn check_unique(
    rows: &RowsReader,
    column: &str,
    source: &ParquetSource,
    (scratch, by_key): (&Path, bool),
    (workers, watch): (&WorkerPool, StageWatch<'_>),
) -> Result<()> {
    let keys = |group: usize| {
        let ids: Vec<[u64; 2]> = match rows.layout().row_id {
            RowIdKind::Text if !by_key => {
                let ids = rows.read_ids(group)?;
                let words = (0..ids.n_rows()).filter_map(|i| ids.word(i));
                words.map(|id| halves_of_text(&id)).collect()
            }
            _ => {
                let keys = rows.read(group, Projection::KEYS)?.row_key;
                keys.into_iter().map(|key| [sm(key), key]).collect()
            }
        };
        let numbered = ids.into_iter().zip(rows.first_row(group) as u64..);
        Ok((0, numbered.map(|([hash, rest], n)| [hash, rest, n]).collect()))
    };
    // The rows were counted when they were prepared.
    let quiet = StageWatch { check: watch.check, progress: &|_| () };
    let row_groups = PieceLoop { workers, watch: quiet, n: rows.n_groups() };
    let file = (scratch.join(IDS), MOST_WAITING);
    // The pair whose later row comes first.
    let pairs = repeated_rows(row_groups, file, keys, |pairs| pairs.min())?;
    match pairs.into_iter().flatten().min() {
        None => Ok(()),
        Some((second, first)) => {
            let (one, two) = (id_word(rows, first)?, id_word(rows, second)?);
            let what = match one.1 == two.1 {
                true => {
                    format!("the row id `{}` occurs in row {} and in row {}", one.1, one.0, two.0)
                }
                false => format!(
                    "the row ids `{}` (row {}) and `{}` (row {}) have the same 64-bit hash, by \
                     which files are joined",
                    one.1, one.0, two.1, two.0
                ),
            };
            let fault = Fault::new("duplicate-row-id", what).in_column(column);
            let hint = "row ids must be unique among the kept rows; leave `row_id` out to use row \
                        numbers";
            source.locate_row(fault, two.0).fail(hint)
        }
    }
}

/// A hash of 128 bits.
fn halves_of_text(id: &str) -> [u64; 2] {
    let hash = xxhash_rust::xxh3::xxh3_128(id.as_bytes());
    [(hash >> 64) as u64, hash as u64]
}

/// Different persons among the rows: as many as there are different keys.
///
/// # Errors
/// `rows` cannot be read, or the disk refuses.
pub(crate) fn count_persons(
    rows: &RowsReader,
    scratch: &Path,
    (workers, watch): (&WorkerPool, StageWatch<'_>),
) -> Result<u64> {
    // Once in each row group, so that a person with any number of rows takes no more memory.
    let listed = AtomicU64::new(0);
    let keys = |group: usize| {
        let batch = rows.read(group, Projection::KEYS)?;
        let keys = batch.person_keys().iter().map(|&key| (key, ()));
        let persons: FastMap<u64, ()> = keys.collect();
        listed.fetch_add(persons.len() as u64, Ordering::Relaxed);
        Ok((0, persons.into_keys().map(|key| [sm(key), key, group as u64]).collect()))
    };
    let quiet = StageWatch { check: watch.check, progress: &|_| () };
    let row_groups = PieceLoop { workers, watch: quiet, n: rows.n_groups() };
    let file = (scratch.join(IDS), MOST_WAITING);
    let repeated = repeated_rows(row_groups, file, keys, |pairs| pairs.count() as u64)?;
    Ok(listed.into_inner() - repeated.into_iter().sum::<u64>())
}

/// Row number and row id of the row at this position; all row groups but the last are as long as
/// the first.
fn id_word(rows: &RowsReader, position: u64) -> Result<(u64, String)> {
    let length = rows.file().group_rows(0).max(1) as u64;
    let (group, i) = ((position / length) as usize, (position % length) as usize);
    Ok((rows.read(group, Projection::NO_FEATURES)?.row[i], rows.read_ids(group)?.text(i)))
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::{IdRun, halves_of_text};
    use crate::data::prepare::repeated::repeated_rows;
    use crate::exec::accumulator::PieceLoop;
    use crate::exec::pieces::{StageWatch, WorkerPool};
    use crate::num::seed::sm;

    /// Checks the pair found among ids, with all of them in memory and with three, and whether they
    /// rise, as numbers and as texts, however they are cut.
    #[track_caller]
    fn check(ids: &[i64], expected: Option<(u64, u64)>) {
        let (folder, workers) = (tempfile::tempdir().unwrap(), WorkerPool::new(2).unwrap());
        for (by_text, most) in [(false, 1000), (false, 3), (true, 1000), (true, 3)] {
            let halves = |id: &i64| match by_text {
                true => halves_of_text(&id.to_string()),
                false => [sm(id.cast_unsigned()), id.cast_unsigned()],
            };
            let keys = |i: usize| {
                let [hash, rest] = halves(&ids[i]);
                Ok((1, vec![[hash, rest, i as u64]]))
            };
            let each = PieceLoop { workers: &workers, watch: StageWatch::SILENT, n: ids.len() };
            let file = (folder.path().join("ids"), most);
            let pairs = repeated_rows(each, file, keys, |pairs| pairs.min()).unwrap();
            let found = pairs.into_iter().flatten().min();
            assert_eq!(found, expected.map(|(a, b)| (b, a)), "{most} at once");
        }
        for length in 1..=ids.len() {
            let [mut run, mut texts] = [IdRun::default(), IdRun::default()];
            let text = |id: &i64| -> Cow<'_, str> { format!("{:02}", id).into() };
            for part in ids.chunks(length) {
                run.append(IdRun::of(part.iter().copied()));
                run.append(IdRun::default());
                texts.append(IdRun::of(part.iter().map(text)));
            }
            assert_eq!(run, IdRun::of(ids.iter().copied()));
            let rises = ids.is_sorted_by(|a, b| a < b);
            assert_eq!(run.rises(), rises, "parts of {length}");
            assert_eq!(texts.rises(), ids.iter().map(text).is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn ids_that_occur_twice() {
        check(&[], None);
        check(&[5, 5], Some((0, 1)));
        check(&[1, 2, 3, 5, 8, 9, 12], None);
        check(&[-9, -1, 0, 7], None);
        check(&[9, 1, 3, 2, 8, 5, 12], None);
        check(&[1, 2, 3, 3, 8, 9], Some((2, 3)));
        // The pair whose later row comes first.
        check(&[7, 4, 6, 5, 3, 2, 5, 4, 7, 7], Some((3, 6)));
        check(&[0, i64::MAX, 0, i64::MAX], Some((0, 2)));
    }
}
