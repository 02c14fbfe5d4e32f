//! Tables as their users read them: from the file, by the names of columns. A name that the file
//! does not have, and a column of another type, end the test.

#[path = "../support/cells.rs"]
mod cells;

use std::borrow::Cow;
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use cells::cells;

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TableCell {
    Null,
    Text(String),
    Int(i64),
    Real(f64),
    Wide(i128),
    Key(u64),
}

impl TableCell {
    /// As a text file would write it.
    fn shown(&self) -> Cow<'_, str> {
        match self {
            TableCell::Null => "".into(),
            TableCell::Text(value) => value.into(),
            TableCell::Int(value) => value.to_string().into(),
            TableCell::Real(value) => value.to_string().into(),
            TableCell::Wide(value) => value.to_string().into(),
            TableCell::Key(value) => value.to_string().into(),
        }
    }
}

/// A table in memory, in the order of its file.
#[derive(Debug, Clone)]
pub(crate) struct TableFrame {
    columns: Vec<(String, DataType)>,
    pub(crate) rows: Vec<Vec<TableCell>>,
}

/// Reads `<folder>/<name>.parquet`; of `metrics` the values of all people.
#[track_caller]
pub(crate) fn read_frame(folder: &Path, name: &str) -> TableFrame {
    let mut frame = read_whole(folder, name);
    if let Some(support) = frame.place("support") {
        let all = TableCell::Text("all".to_owned());
        frame.rows.retain(|row| row[support] == all);
    }
    frame
}

/// The same with the values of the supported people, too.
#[track_caller]
pub(crate) fn read_whole(folder: &Path, name: &str) -> TableFrame {
    let path = folder.join(format!("{name}.parquet"));
    let file = std::fs::File::open(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    let fields = reader.schema().fields().clone();
    let columns = fields.iter().map(|f| (f.name().clone(), f.data_type().clone())).collect();
    let mut rows = Vec::new();
    for batch in reader.build().unwrap() {
        let batch = batch.unwrap();
        let row = |i: usize| batch.columns().iter().map(|array| cell(array, i)).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    TableFrame { columns, rows }
}

fn cell(array: &ArrayRef, row: usize) -> TableCell {
    match array.data_type() {
        _ if array.is_null(row) => TableCell::Null,
        DataType::Utf8 => TableCell::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Int64 => TableCell::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => TableCell::Real(array.as_primitive::<Float64Type>().value(row)),
        DataType::UInt64 => TableCell::Key(array.as_primitive::<UInt64Type>().value(row)),
        _ => TableCell::Wide(array.as_primitive::<Decimal128Type>().value(row)),
    }
}

impl TableFrame {
    /// Position of a column.
    #[track_caller]
    pub(crate) fn column(&self, name: &str) -> usize {
        self.place(name).unwrap_or_else(|| panic!("no column `{name}`"))
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|(column, _)| column == name)
    }

    /// The rows that hold these cells, as text: `metric=sr, scope=total, flags!=`; `!=` are those
    /// that hold another, and a null is an empty text.
    #[track_caller]
    pub(crate) fn of<'a>(&'a self, cells: &str) -> impl Iterator<Item = TableRecord<'a>> + use<'a> {
        let cells = self.cells(cells);
        self.records().filter(move |row| cells.iter().all(|cell| cell.is_in(row)))
    }

    #[track_caller]
    fn cells(&self, text: &str) -> Vec<WantedCell> {
        let wanted = |(name, value): (&str, String)| {
            let other = name.strip_suffix('!');
            WantedCell { at: self.column(other.unwrap_or(name)), value, same: other.is_none() }
        };
        cells(text).into_iter().map(wanted).collect()
    }

    /// The first of these rows.
    #[track_caller]
    pub(crate) fn at(&self, cells: &str) -> TableRecord<'_> {
        self.of(cells).next().unwrap_or_else(|| panic!("no row with {cells}"))
    }

    #[track_caller]
    pub(crate) fn has(&self, cells: &str) -> bool {
        self.of(cells).next().is_some()
    }

    /// What these rows hold in some columns, each as [`TableRecord::told`]; all rows where no cell
    /// is named.
    #[track_caller]
    pub(crate) fn list(&self, cells: &str, columns: &str) -> Vec<String> {
        let wanted = self.cells(cells);
        let rows = self.records().filter(|row| wanted.iter().all(|cell| cell.is_in(row)));
        rows.map(|row| row.joined(columns)).collect()
    }

    /// The rows with access by column name.
    pub(crate) fn records(&self) -> impl Iterator<Item = TableRecord<'_>> {
        self.rows.iter().map(|cells| TableRecord { frame: self, cells })
    }
}

/// What a row must hold.
struct WantedCell {
    at: usize,
    value: String,
    /// Whether it must hold the value, or must hold another.
    same: bool,
}

impl WantedCell {
    fn is_in(&self, row: &TableRecord<'_>) -> bool {
        (row.cells[self.at].shown() == self.value) == self.same
    }
}

/// One row, read by column name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableRecord<'a> {
    frame: &'a TableFrame,
    cells: &'a [TableCell],
}

impl<'a> TableRecord<'a> {
    #[track_caller]
    fn typed(&self, name: &str, kind: &DataType) -> &'a TableCell {
        let at = self.frame.column(name);
        let found = &self.frame.columns[at].1;
        assert_eq!(found, kind, "column `{name}`");
        &self.cells[at]
    }

    /// Asserts that it holds these cells, as in [`TableFrame::of`].
    #[track_caller]
    pub(crate) fn holds(&self, cells: &str) {
        for cell in self.frame.cells(cells) {
            let name = &self.frame.columns[cell.at].0;
            assert!(cell.is_in(self), "`{name}` is {:?}, not {cells}", self.cells[cell.at]);
        }
    }

    /// The text of a column; empty where it is null.
    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> &'a str {
        match self.typed(name, &DataType::Utf8) {
            TableCell::Text(value) => value,
            _ => "",
        }
    }

    /// Whether a column holds anything but null.
    #[track_caller]
    pub(crate) fn is_some(&self, name: &str) -> bool {
        self.cells[self.frame.column(name)] != TableCell::Null
    }

    /// Whatever a column holds, as a text file would write it; empty where it is null.
    #[track_caller]
    pub(crate) fn shown(&self, name: &str) -> String {
        self.cells[self.frame.column(name)].shown().into_owned()
    }

    /// What it holds in some columns, named with blanks between.
    #[track_caller]
    pub(crate) fn joined(&self, columns: &str) -> String {
        columns.split(' ').map(|name| self.shown(name)).collect::<Vec<_>>().join(" | ")
    }

    /// The number of a column; none where it is null.
    #[track_caller]
    pub(crate) fn real(&self, name: &str) -> Option<f64> {
        match self.typed(name, &DataType::Float64) {
            TableCell::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number of a column; none where it is null.
    #[track_caller]
    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        match self.typed(name, &DataType::Int64) {
            TableCell::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The key of a row; none where it is null.
    #[track_caller]
    pub(crate) fn key(&self, name: &str) -> Option<u64> {
        match self.typed(name, &DataType::UInt64) {
            TableCell::Key(value) => Some(*value),
            _ => None,
        }
    }
}
