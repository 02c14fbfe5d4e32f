//! Rows of tables as text, for tests.

use std::iter::once;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array,
};

use crate::table::row_macro::RowColumns;
use crate::table::{ColumnDef, ColumnType};

/// A row that is made of [`cells`](super::cells). An empty value is null where the column may be,
/// and what is not named is as in the default row.
pub(crate) trait TextRow: RowColumns {
    /// A row with these cells.
    #[track_caller]
    fn of(cells: &str) -> Self {
        Self::default().with(cells)
    }

    /// The same row with other cells.
    #[track_caller]
    fn with(&self, cells: &str) -> Self {
        let pairs = super::cells(cells);
        self.with_each(pairs.iter().map(|(name, value)| (*name, value.as_str())))
    }

    /// Whether it holds these cells.
    #[must_use]
    #[track_caller]
    fn holds(&self, cells: &str) -> bool
    where
        Self: PartialEq,
    {
        self.with(cells) == *self
    }

    /// Rows that hold the cells of this one, and those of a line: the first line names the columns.
    #[track_caller]
    fn each(&self, lines: &str) -> Vec<Self> {
        let mut lines = lines.lines().filter(|line| !line.trim().is_empty());
        let names: Vec<&str> = lines.next().expect("names of columns").split('|').collect();
        let row = |line: &str| {
            let values: Vec<&str> = line.split('|').collect();
            assert_eq!(values.len(), names.len(), "{line}");
            self.with_each(names.iter().copied().zip(values.into_iter().map(str::trim)))
        };
        lines.map(row).collect()
    }

    #[track_caller]
    fn with_each<'a>(&self, cells: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut arrays = Self::arrays(once(self), Self::COLUMNS.len());
        for (name, value) in cells {
            let name = name.trim();
            let at = Self::COLUMNS.iter().position(|column| column.name == name);
            let at = at.unwrap_or_else(|| panic!("no column `{name}`"));
            arrays[at] = cell(&Self::COLUMNS[at], value);
        }
        let names = Self::COLUMNS.iter().map(|column| column.name);
        let batch = RecordBatch::try_from_iter(names.zip(arrays)).expect("columns");
        let (columns, mut row) = (Self::columns(&batch).expect("types"), Self::default());
        row.set(&columns, 0).expect("a row");
        row
    }
}

impl<R: RowColumns> TextRow for R {}

/// A column of one cell.
#[track_caller]
fn cell(column: &ColumnDef, text: &str) -> ArrayRef {
    fn number<T: std::str::FromStr>(column: &ColumnDef, text: &str) -> Vec<Option<T>> {
        let number = text.parse().ok();
        assert!(number.is_some() || text.is_empty(), "{}: {text} is no number", column.name);
        vec![number]
    }
    match column.kind {
        ColumnType::Text => {
            let is_null = text.is_empty() && column.nullable;
            Arc::new(StringArray::from(vec![(!is_null).then_some(text)]))
        }
        ColumnType::Int => Arc::new(Int64Array::from(number(column, text))),
        ColumnType::Real => Arc::new(Float64Array::from(number(column, text))),
        ColumnType::Key => Arc::new(UInt64Array::from(number(column, text))),
        ColumnType::Wide => {
            let array = Decimal128Array::from(number(column, text));
            Arc::new(array.with_precision_and_scale(38, 0).expect("38 digits"))
        }
    }
}
