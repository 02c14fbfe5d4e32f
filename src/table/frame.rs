//! Rows of small tables in memory: cells, and records that are read by column name.

use super::TableDef;

/// One value of a small table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
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

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Cell::Text(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<u64> for Cell {
    /// Counts of rows fit an `i64`; anything larger is pinned to its end.
    fn from(value: u64) -> Self {
        Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Cell {
    /// A number that is not finite has no place in a table: it becomes null.
    fn from(value: f64) -> Self {
        if value.is_finite() { Cell::Real(value) } else { Cell::Null }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl Cell {
    fn rank(&self) -> u8 {
        match self {
            Cell::Null => 0,
            Cell::Text(_) => 1,
            Cell::Int(_) => 2,
            Cell::Real(_) => 3,
            Cell::Wide(_) => 4,
            Cell::Key(_) => 5,
        }
    }

    /// Order of cells of one column: text by bytes, numbers by size, null first.
    pub fn order(&self, other: &Cell) -> std::cmp::Ordering {
        match (self, other) {
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (Cell::Int(a), Cell::Int(b)) => a.cmp(b),
            (Cell::Real(a), Cell::Real(b)) => a.total_cmp(b),
            (Cell::Wide(a), Cell::Wide(b)) => a.cmp(b),
            (Cell::Key(a), Cell::Key(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// A small table in memory: what the stages after counting write and the report reads.
#[derive(Debug, Clone)]
pub struct Frame {
    /// What it is.
    pub def: &'static TableDef,
    /// Its rows; every row has one cell per column of `def`.
    pub rows: Vec<Vec<Cell>>,
}

impl Frame {
    /// An empty table.
    pub fn new(def: &'static TableDef) -> Self {
        Frame { def, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// Where the row does not have one cell per column: a bug of the writer, never of the input.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.def.columns.len(), "a row of `{}` needs one cell per column", self.def.name);
        self.rows.push(row);
    }

    /// Sorts the rows by key.
    pub fn sort(&mut self) {
        let n_key = self.def.n_key;
        self.rows.sort_by(|a, b| {
            a[..n_key].iter().zip(&b[..n_key]).map(|(x, y)| x.order(y)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }

    /// The rows with access by column name.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().map(|cells| Record { def: self.def, cells })
    }
}

/// One row of a [`Frame`], read by column name. A name that the table does not have reads as null.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    def: &'static TableDef,
    cells: &'a [Cell],
}

impl<'a> Record<'a> {
    /// The cell of a column.
    pub fn cell(&self, column: &str) -> &'a Cell {
        self.def.column(column).map_or(&Cell::Null, |i| &self.cells[i])
    }

    /// The text of a column; empty where it is null.
    pub fn text(&self, column: &str) -> &'a str {
        match self.cell(column) {
            Cell::Text(value) => value,
            _ => "",
        }
    }

    /// Whether a column holds anything but null.
    pub fn is_some(&self, column: &str) -> bool {
        *self.cell(column) != Cell::Null
    }

    /// The number of a column; none where it is null.
    pub fn real(&self, column: &str) -> Option<f64> {
        match self.cell(column) {
            Cell::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number of a column; none where it is null.
    pub fn int(&self, column: &str) -> Option<i64> {
        match self.cell(column) {
            Cell::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The wide whole number of a column; none where it is null.
    pub fn wide(&self, column: &str) -> Option<i128> {
        match self.cell(column) {
            Cell::Wide(value) => Some(*value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Frame};
    use crate::table::GROUPS;

    #[test]
    fn rows_sort_by_key() {
        let row = |group: &str| {
            let mut cells = vec![Cell::from("m"), Cell::from("sex"), Cell::from(group), Cell::from("")];
            cells.extend((0..9).map(|_| Cell::Int(0)));
            cells
        };
        let mut frame = Frame::new(&GROUPS);
        for group in ["b", "", "a"] {
            frame.push(row(group));
        }
        frame.sort();
        let groups: Vec<&str> = frame.records().map(|r| r.text("group")).collect();
        assert_eq!(groups, ["", "a", "b"]);
    }
}
