//! Merges the tables of several stages into one.

use std::path::Path;

use crate::error::Result;
use crate::exec::files;
use crate::table::file::{
    FileOwner, ParquetFile, READ_ROWS, TableWriter, check_version, read_rows, write_rows,
};
use crate::table::{TableDef, TableRow};

/// Writes the rows of one table in several folders, one folder after the other, as one table into
/// `out`. The rows of one table are sorted by key if the folders are in the order of their keys.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub(crate) fn join_tables(folders: &[&Path], def: &'static TableDef, out: &Path) -> Result<()> {
    let name = def.file();
    if let [only] = folders {
        return files::copy(&only.join(&name), &out.join(&name));
    }
    let mut writer = TableWriter::create(out, def)?;
    for folder in folders {
        let file = ParquetFile::open(&folder.join(&name), FileOwner::Program)?;
        check_version(&file, def)?;
        for group in 0..file.n_groups() {
            for batch in file.batches(group, None, None, READ_ROWS)? {
                writer.push(batch?.columns().to_vec())?;
            }
        }
    }
    writer.finish()
}

/// Writes the rows of a short table in several folders as one table into `out`, sorted by key.
///
/// # Errors
/// A table cannot be read, or the disk refuses.
pub(crate) fn gather_rows<R: TableRow>(out: &Path, folders: &[&Path]) -> Result<()> {
    let mut rows: Vec<R> = Vec::new();
    for folder in folders {
        rows.extend(read_rows(folder)?);
    }
    write_rows(out, &rows)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::join_tables;
    use crate::table::file::{RowWriter, read_matching, read_rows};
    use crate::table::{FilterRow, TableRow};
    use crate::tests::TextRow;

    fn write(folder: &Path, from: i64, n: i64) {
        std::fs::create_dir_all(folder).unwrap();
        let mut writer = RowWriter::create(folder).unwrap();
        let row =
            |i: i64| FilterRow::of(&format!("step={i}, what=step, rows_in={i}, rows_out={i}"));
        writer.push(&(from..from + n).map(row).collect::<Vec<_>>()).unwrap();
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
        join_tables(&[&a, &b], FilterRow::TABLE, &out).unwrap();
        assert_eq!(read_rows::<FilterRow>(&out).unwrap().len(), 40_002);
        let picked =
            read_matching(&out, |row: &FilterRow| row.what == "step" && row.step % 20_000 == 0);
        let steps: Vec<i64> = picked.unwrap().iter().map(|row| row.step).collect();
        assert_eq!(steps, [0, 20_000, 40_000]);
        join_tables(&[&b], FilterRow::TABLE, &out).unwrap();
        assert_eq!(read_rows::<FilterRow>(&out).unwrap().len(), 2);
        assert!(read_rows::<FilterRow>(folder.path()).unwrap().is_empty());
    }
}
