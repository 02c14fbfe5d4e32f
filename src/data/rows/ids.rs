//! The row ids of the source, and their 64-bit keys.

/// The row ids of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowIds {
    /// Row numbers or integers of the row id column.
    Integer(Vec<i64>),
    /// Texts of the row id column.
    Text(Vec<String>),
}

impl RowIds {
    /// An id as text; empty if there is none.
    pub fn text(&self, i: usize) -> String {
        match self {
            RowIds::Integer(ids) => ids.get(i).map(ToString::to_string),
            RowIds::Text(ids) => ids.get(i).cloned(),
        }
        .unwrap_or_default()
    }
}

/// The key of an integer id: the integer itself, in two's complement.
pub(crate) fn key_of_integer(id: i64) -> u64 {
    id.cast_unsigned()
}

/// The key of a text id: the xxh3-64 of its UTF-8.
pub(crate) fn key_of_text(id: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(id.as_bytes())
}
