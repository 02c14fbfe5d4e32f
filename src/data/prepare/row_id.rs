//! Row ids: their 64-bit keys, and the exact check that none occurs twice.

use std::collections::HashMap;
use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;

use crate::data::source::ParquetSource;
use crate::data::values::SourceValues;
use crate::error::{Fault, Result};
use crate::exec::pieces::StageWatch;
use crate::num::seed::sm;
use crate::table::file::{FileOwner, ParquetFile};

/// Largest number of keys held at a time, 8 bytes each.
///
/// With more rows the keys are checked in several passes over ranges of them.
const KEYS_AT_ONCE: u64 = 20_000_000;

/// The key of an integer id: the integer itself, in two's complement.
pub fn key_of_integer(id: i64) -> u64 {
    id.cast_unsigned()
}

/// The key of a text id: the xxh3-64 of its UTF-8.
pub fn key_of_text(id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(id.as_bytes())
}

/// Fails where two kept rows share their id.
///
/// Two different texts with the same hash count as the same: later stages could not distinguish
/// their rows, and such a pair takes billions of rows to occur.
///
/// # Errors
/// A row id occurs twice; `rows` cannot be read.
pub(crate) fn check_unique(
    rows: &Path,
    column: &str,
    source: &ParquetSource,
    watch: StageWatch<'_>,
) -> Result<()> {
    let file = ParquetFile::open(rows, FileOwner::Program)?;
    match repeated(&file, KEYS_AT_ONCE, watch)? {
        None => Ok(()),
        Some((first, second)) => {
            let (one, two) = (id_word(&file, first)?, id_word(&file, second)?);
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
                    "row ids must be unique among the kept rows; \
                     leave `row_id` out to use row numbers",
                )
                .into())
        }
    }
}

/// Positions of two rows that share a key; of several pairs the one whose later row comes first.
fn repeated(file: &ParquetFile, at_once: u64, watch: StageWatch<'_>) -> Result<Option<(u64, u64)>> {
    // Files are often sorted by id: strictly ascending keys are unique, which one pass without
    // memory shows.
    let (mut rises, mut last) = (true, None);
    each_key(file, watch, |_, key| {
        rises = last.is_none_or(|last| last < key);
        last = Some(key);
        rises
    })?;
    if rises {
        return Ok(None);
    }
    let passes = file.n_rows().div_ceil(at_once).max(1);
    let mut shared: Vec<u64> = Vec::new();
    for pass in 0..passes {
        let mut keys: Vec<u64> = Vec::new();
        each_key(file, watch, |_, key| {
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
    each_key(file, watch, |position, key| {
        if shared.binary_search(&key).is_ok()
            && let Some(before) = first.insert(key, position)
        {
            pair = Some((before, position));
        }
        pair.is_none()
    })?;
    Ok(pair)
}

/// Calls `visit` with the position and the key of every row in order, until it returns false.
fn each_key(
    file: &ParquetFile,
    watch: StageWatch<'_>,
    mut visit: impl FnMut(u64, u64) -> bool,
) -> Result<()> {
    let mut position = 0;
    for group in 0..file.n_groups() {
        (watch.check)()?;
        let batch = file.read_group(group, Some(&["row_key"]))?;
        for &key in batch.column(0).as_primitive::<UInt64Type>().values() {
            if !visit(position, key) {
                return Ok(());
            }
            position += 1;
        }
    }
    Ok(())
}

/// Row number and row id of the row at this position of `rows.parquet`.
fn id_word(file: &ParquetFile, position: u64) -> Result<(u64, String)> {
    let mut before = 0;
    for group in 0..file.n_groups() {
        let rows = file.group_rows(group);
        if let Some(i) = usize::try_from(position - before).ok().filter(|&i| i < rows) {
            let batch = file.read_group(group, Some(&["row", "row_id"]))?;
            let id = SourceValues::new(batch.column(1))
                .ok()
                .and_then(|v| v.word(i).map(|w| w.into_owned()))
                .unwrap_or_default();
            return Ok((batch.column(0).as_primitive::<UInt64Type>().value(i), id));
        }
        before += rows as u64;
    }
    Ok((position, String::new()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;

    use super::*;

    /// Checks the pair found among keys in row groups of four, with all keys held at once and three
    /// at a time.
    #[track_caller]
    fn check(keys: &[u64], expected: Option<(u64, u64)>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let column: ArrayRef = Arc::new(UInt64Array::from(keys.to_vec()));
        let batch = RecordBatch::try_from_iter([("row_key", column)]).unwrap();
        let small = WriterProperties::builder().set_max_row_group_row_count(Some(4)).build();
        let mut writer =
            ArrowWriter::try_new(file.reopen().unwrap(), batch.schema(), Some(small)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let file = ParquetFile::open(file.path(), FileOwner::Program).unwrap();
        for at_once in [KEYS_AT_ONCE, 3] {
            assert_eq!(
                repeated(&file, at_once, StageWatch::SILENT).unwrap(),
                expected,
                "{at_once} at once"
            );
        }
    }

    #[test]
    fn keys_that_occur_twice() {
        check(&[1, 2, 3, 5, 8, 9, 12], None);
        check(&[9, 1, 3, 2, 8, 5, 12], None);
        check(&[1, 2, 3, 3, 8, 9], Some((2, 3)));
        // The pair whose later row comes first, whichever pass finds it.
        check(&[7, 4, 6, 5, 3, 2, 5, 4, 7, 7], Some((3, 6)));
        check(&[0, u64::MAX, 0, u64::MAX], Some((0, 2)));
    }
}
