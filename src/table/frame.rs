//! Rows of small tables in memory: cells, and records that are read by column name.

use super::TableDef;

/// One value of a small table.
#[derive(Debug, Clone, PartialEq)]
pub enum TableCell {
    /// Null.
    Null,
    /// Text.
    Text(String),
    /// Integer.
    Int(i64),
    /// Float.
    Real(f64),
    /// Wide integer.
    Wide(i128),
    /// Unsigned integer.
    Key(u64),
}

impl From<&str> for TableCell {
    fn from(value: &str) -> Self {
        TableCell::Text(value.to_owned())
    }
}

impl From<String> for TableCell {
    fn from(value: String) -> Self {
        TableCell::Text(value)
    }
}

impl From<i64> for TableCell {
    fn from(value: i64) -> Self {
        TableCell::Int(value)
    }
}

impl From<u64> for TableCell {
    /// Counts of rows fit an `i64`; anything larger is pinned to its end.
    fn from(value: u64) -> Self {
        TableCell::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for TableCell {
    /// A number that is not finite has no place in a table: it becomes null.
    fn from(value: f64) -> Self {
        if value.is_finite() { TableCell::Real(value) } else { TableCell::Null }
    }
}

impl<T: Into<TableCell>> From<Option<T>> for TableCell {
    fn from(value: Option<T>) -> Self {
        value.map_or(TableCell::Null, Into::into)
    }
}

impl TableCell {
    fn rank(&self) -> u8 {
        match self {
            TableCell::Null => 0,
            TableCell::Text(_) => 1,
            TableCell::Int(_) => 2,
            TableCell::Real(_) => 3,
            TableCell::Wide(_) => 4,
            TableCell::Key(_) => 5,
        }
    }

    /// Order of cells of one column: text by bytes, numbers by size, null first.
    pub fn order(&self, other: &TableCell) -> std::cmp::Ordering {
        match (self, other) {
            (TableCell::Text(a), TableCell::Text(b)) => a.cmp(b),
            (TableCell::Int(a), TableCell::Int(b)) => a.cmp(b),
            (TableCell::Real(a), TableCell::Real(b)) => a.total_cmp(b),
            (TableCell::Wide(a), TableCell::Wide(b)) => a.cmp(b),
            (TableCell::Key(a), TableCell::Key(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// A small table in memory: what the stages after counting write and the report reads.
#[derive(Debug, Clone)]
pub struct TableFrame {
    /// What it is.
    pub def: &'static TableDef,
    /// Its rows; every row has one cell per column of `def`.
    pub rows: Vec<Vec<TableCell>>,
}

impl TableFrame {
    /// An empty table.
    pub fn new(def: &'static TableDef) -> Self {
        TableFrame { def, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// Where the row does not have one cell per column: a bug of the writer, never of the input.
    pub fn push(&mut self, row: Vec<TableCell>) {
        assert_eq!(
            row.len(),
            self.def.columns.len(),
            "a row of `{}` needs one cell per column",
            self.def.name
        );
        self.rows.push(row);
    }

    /// Sorts the rows by key.
    pub fn sort(&mut self) {
        let n_key = self.def.n_key;
        self.rows.sort_by(|a, b| {
            a[..n_key]
                .iter()
                .zip(&b[..n_key])
                .map(|(x, y)| x.order(y))
                .find(|o| o.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
    }

    /// The rows with access by column name.
    pub fn records(&self) -> impl Iterator<Item = TableRecord<'_>> {
        self.rows.iter().map(|cells| TableRecord { def: self.def, cells })
    }
}

/// One row of a [`TableFrame`], read by column name. A name that the table does not have reads as
/// null.
#[derive(Debug, Clone, Copy)]
pub struct TableRecord<'a> {
    def: &'static TableDef,
    cells: &'a [TableCell],
}

impl<'a> TableRecord<'a> {
    /// The cell of a column.
    pub fn cell(&self, column: &str) -> &'a TableCell {
        self.def.column(column).map_or(&TableCell::Null, |i| &self.cells[i])
    }

    /// The text of a column; empty where it is null.
    pub fn text(&self, column: &str) -> &'a str {
        match self.cell(column) {
            TableCell::Text(value) => value,
            _ => "",
        }
    }

    /// Whether a column holds anything but null.
    pub fn is_some(&self, column: &str) -> bool {
        *self.cell(column) != TableCell::Null
    }

    /// The number of a column; none where it is null.
    pub fn real(&self, column: &str) -> Option<f64> {
        match self.cell(column) {
            TableCell::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number of a column; none where it is null.
    pub fn int(&self, column: &str) -> Option<i64> {
        match self.cell(column) {
            TableCell::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The wide whole number of a column; none where it is null.
    pub fn wide(&self, column: &str) -> Option<i128> {
        match self.cell(column) {
            TableCell::Wide(value) => Some(*value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TableCell, TableFrame};
    use crate::table::GROUPS;

    #[test]
    fn rows_sort_by_key() {
        let row = |group: &str| {
            let mut cells = vec![
                TableCell::from("m"),
                TableCell::from("sex"),
                TableCell::from(group),
                TableCell::from(""),
            ];
            cells.extend((0..9).map(|_| TableCell::Int(0)));
            cells
        };
        let mut frame = TableFrame::new(&GROUPS);
        for group in ["b", "", "a"] {
            frame.push(row(group));
        }
        frame.sort();
        let groups: Vec<&str> = frame.records().map(|r| r.text("group")).collect();
        assert_eq!(groups, ["", "a", "b"]);
    }
}
