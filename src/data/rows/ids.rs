//! The 64-bit keys of row ids.

use crate::data::values::SourceValues;

/// The key of an integer id: the integer itself, in two's complement.
pub(crate) fn key_of_integer(id: i64) -> u64 {
    id.cast_unsigned()
}

/// The key of a text id: the xxh3-64 of its UTF-8.
pub(crate) fn key_of_text(id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(id.as_bytes())
}

/// The keys of the ids of rows or persons; where there is none, that of 0 or of the empty text.
pub(crate) fn keys_of(ids: &SourceValues, n: usize) -> Vec<u64> {
    match ids {
        SourceValues::Int(ids) => ids.values().iter().map(|&id| key_of_integer(id)).collect(),
        _ => (0..n).map(|i| key_of_text(&ids.word(i).unwrap_or_default())).collect(),
    }
}
