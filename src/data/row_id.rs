//! Row ids: their 64-bit keys, and the exact check that none occurs twice.

use std::path::Path;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;

use crate::data::source::Source;
use crate::data::values::Values;
use crate::error::{Fault, Result};
use crate::num::seed::sm;
use crate::table::io::{Owner, ParquetFile};
use crate::table::ordered::Watch;

/// Keys held at once, 16 bytes each; with more rows the keys are checked in several passes over parts of them.
const KEYS_AT_ONCE: u64 = 50_000_000;

/// The key of an integer id: the integer itself, in two's complement.
pub fn key_of_integer(id: i64) -> u64 {
    id.cast_unsigned()
}

/// The key of a text id: the xxh3-64 of its UTF-8.
pub fn key_of_text(id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(id.as_bytes())
}

/// Fails where two kept rows share their id. Two different texts with the same hash count as the same: their rows could not be told
/// apart later, and it takes billions of rows to meet such a pair.
///
/// # Errors
/// A row id occurs twice; `rows` cannot be read.
pub(super) fn check_unique(rows: &Path, column: &str, source: &Source, watch: Watch<'_>) -> Result<()> {
    let file = ParquetFile::open(rows, Owner::Ours)?;
    match repeated(&file, KEYS_AT_ONCE, watch)? {
        None => Ok(()),
        Some((first, second)) => {
            let (one, two) = (word(&file, first)?, word(&file, second)?);
            let what = match one.1 == two.1 {
                true => format!("the row id `{}` occurs in row {} and in row {}", one.1, one.0, two.0),
                false => format!("the row ids `{}` (row {}) and `{}` (row {}) have the same 64-bit hash", one.1, one.0, two.1, two.0),
            };
            let fault = Fault::new("duplicate-row-id", what).in_column(column);
            Err(source.at(fault, two.0).hint("row ids must be unique among the kept rows; leave `row_id` out to use row numbers").into())
        }
    }
}

/// Positions of the two rows that share a key; of several pairs the one whose later row comes first.
fn repeated(file: &ParquetFile, at_once: u64, watch: Watch<'_>) -> Result<Option<(u64, u64)>> {
    let passes = file.n_rows().div_ceil(at_once).max(1);
    let mut found: Option<(u64, u64)> = None;
    for pass in 0..passes {
        let mut keys: Vec<(u64, u64)> = Vec::new();
        let mut position = 0;
        for group in 0..file.n_groups() {
            (watch.check)()?;
            let batch = file.read_group(group, Some(&["row_key"]))?;
            for &key in batch.column(0).as_primitive::<UInt64Type>().values() {
                if passes == 1 || sm(key) % passes == pass {
                    keys.push((key, position));
                }
                position += 1;
            }
        }
        keys.sort_unstable();
        let pairs = keys.windows(2).filter(|w| w[0].0 == w[1].0).map(|w| (w[0].1, w[1].1));
        found = found.into_iter().chain(pairs).min_by_key(|&(_, later)| later);
    }
    Ok(found)
}

/// Row number and row id of the row at this position of `rows.parquet`.
fn word(file: &ParquetFile, position: u64) -> Result<(u64, String)> {
    let mut before = 0;
    for group in 0..file.n_groups() {
        let rows = file.group_rows(group);
        if let Some(i) = usize::try_from(position - before).ok().filter(|&i| i < rows) {
            let batch = file.read_group(group, Some(&["row", "row_id"]))?;
            let id = Values::new(batch.column(1)).ok().and_then(|v| v.word(i).map(|w| w.into_owned())).unwrap_or_default();
            return Ok((batch.column(0).as_primitive::<UInt64Type>().value(i), id));
        }
        before += rows as u64;
    }
    Ok((position, String::new()))
}
