//! Parts of long tables: rows that a reader asks for, out of tables that are too long to hold; and
//! tables of several stages as one.

use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Float64Type, Int64Type};

use crate::error::Result;
use crate::exec::files;
use crate::table::file::{
    FileOwner, LongWriter, ParquetFile, check_version, columns_of, frame_row, open_table,
};
use crate::table::{TableDef, TableFrame};

/// Rows that are looked at in one go.
const BATCH_ROWS: usize = 16_384;

/// A row of a long table, before anything is copied.
pub struct LongTableRow<'a> {
    def: &'static TableDef,
    columns: &'a [ArrayRef],
    row: usize,
}

impl LongTableRow<'_> {
    fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.def.column(name).map(|i| &self.columns[i]).filter(|array| !array.is_null(self.row))
    }

    /// The text of a column; empty where it is null.
    pub fn text(&self, name: &str) -> &str {
        self.column(name)
            .and_then(|array| array.as_string_opt::<i32>())
            .map_or("", |array| array.value(self.row))
    }

    /// The whole number of a column; none where it is null.
    pub fn int(&self, name: &str) -> Option<i64> {
        self.column(name)
            .and_then(|array| array.as_primitive_opt::<Int64Type>())
            .map(|array| array.value(self.row))
    }

    /// The number of a column; none where it is null.
    pub fn real(&self, name: &str) -> Option<f64> {
        self.column(name)
            .and_then(|array| array.as_primitive_opt::<Float64Type>())
            .map(|array| array.value(self.row))
    }
}

/// Shows `look` every row of `<folder>/<name>.parquet` and keeps those for which it says so, in
/// their order; an absent file is an empty table.
///
/// # Errors
/// A damaged file, or a table of a later version.
pub fn read_matching(
    folder: &Path,
    def: &'static TableDef,
    mut look: impl FnMut(&LongTableRow<'_>) -> bool,
) -> Result<TableFrame> {
    let mut frame = TableFrame::new(def);
    let Some(file) = open_table(folder, def)? else { return Ok(frame) };
    for group in 0..file.n_groups() {
        for batch in file.batches(group, None, None, BATCH_ROWS)? {
            let batch = batch?;
            let columns = columns_of(def, &file, &batch)?;
            for row in 0..batch.num_rows() {
                if look(&LongTableRow { def, columns: &columns, row }) {
                    frame.push(frame_row(def, &columns, row));
                }
            }
        }
    }
    Ok(frame)
}

/// Writes the rows of one table in several folders, one folder after the other, as one table into
/// `out`. The rows of one table are sorted by key if the folders are in the order of their keys.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub fn join_tables(folders: &[&Path], def: &'static TableDef, out: &Path) -> Result<()> {
    let name = def.file();
    if let [only] = folders {
        return files::copy(&only.join(&name), &out.join(&name));
    }
    let mut writer = LongWriter::create(out, def)?;
    for folder in folders {
        let file = ParquetFile::open(&folder.join(&name), FileOwner::Program)?;
        check_version(&file, def)?;
        for group in 0..file.n_groups() {
            for batch in file.batches(group, None, None, BATCH_ROWS)? {
                writer.push_batch(batch?)?;
            }
        }
    }
    writer.finish()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{join_tables, read_matching};
    use crate::table::file::{LongColumn, LongWriter, read_frame};
    use crate::table::{FILTERS, TableCell};

    fn write(folder: &Path, from: i64, n: i64) {
        std::fs::create_dir_all(folder).unwrap();
        let mut writer = LongWriter::create(folder, &FILTERS).unwrap();
        let numbers = || LongColumn::Int((from..from + n).map(Some).collect());
        writer
            .push(
                n as usize,
                vec![numbers(), LongColumn::Constant("step".to_owned()), numbers(), numbers()],
            )
            .unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn rows_are_picked_and_tables_joined() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b, out) =
            (folder.path().join("a"), folder.path().join("b"), folder.path().join("out"));
        write(&a, 0, 40_000);
        write(&b, 40_000, 2);
        std::fs::create_dir_all(&out).unwrap();
        join_tables(&[&a, &b], &FILTERS, &out).unwrap();
        assert_eq!(read_frame(&out, &FILTERS).unwrap().rows.len(), 40_002);
        let picked = read_matching(&out, &FILTERS, |row| {
            row.text("what") == "step" && row.int("step").is_some_and(|i| i % 20_000 == 0)
        })
        .unwrap();
        let steps: Vec<&TableCell> = picked.rows.iter().map(|row| &row[0]).collect();
        assert_eq!(steps, [&TableCell::Int(0), &TableCell::Int(20_000), &TableCell::Int(40_000)]);
        join_tables(&[&b], &FILTERS, &out).unwrap();
        assert_eq!(
            read_matching(&out, &FILTERS, |row| row.real("step").is_none()).unwrap().rows.len(),
            2
        );
        assert!(read_matching(folder.path(), &FILTERS, |_| true).unwrap().rows.is_empty());
    }
}
