//! The row ids of the source.

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
