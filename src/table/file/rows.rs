//! Result tables as files: rows of one type in, sorted by key or in a stream, and out again.

use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{Field, Schema};

use super::write::OpenGroup;
use super::{FileOwner, GroupEncoder, GroupWriter, ParquetFile, READ_ROWS, unreadable};
use crate::error::{Error, Result};
use crate::table::field_marks::direct;
use crate::table::{ColumnType, TableDef, TableRow};

/// Rows of one row group in result tables: the open group is the memory that writing them takes.
const GROUP_ROWS: usize = 245 * ROWS_AT_ONCE;

/// Rows that become columns at a time: as many as a fast cache holds, for each column walks over
/// all of them, and as many as are encoded at a time.
const ROWS_AT_ONCE: usize = 1024;

/// The Arrow schema of a result table.
fn schema_of(def: &TableDef) -> Schema {
    let fields: Vec<Field> = def
        .columns
        .iter()
        .map(|c| {
            let field = Field::new(c.name, c.kind.data_type(), c.nullable);
            if matches!(c.kind, ColumnType::Real | ColumnType::Key) { direct(field) } else { field }
        })
        .collect();
    Schema::new(fields)
}

/// The metadata every result table carries.
fn table_metadata(def: &TableDef) -> Vec<(&'static str, String)> {
    vec![("cfaudit.table", def.name.to_owned()), ("cfaudit.version", def.version.to_string())]
}

/// Writes a small table, sorted by its key, to `<folder>/<name>.parquet`.
///
/// # Errors
/// The disk refuses.
pub(crate) fn write_rows<R: TableRow>(folder: &Path, rows: &[R]) -> Result<()> {
    let mut writer = RowWriter::<R>::create(folder)?;
    for rows in R::sorted(rows.iter().collect()).chunks(ROWS_AT_ONCE) {
        writer.push(rows.iter().copied())?;
    }
    writer.finish()
}

/// Writes a table, rows of one type at a time: also one too long for memory, such as `outcomes`.
pub(crate) struct RowWriter<R> {
    pub(crate) writer: TableWriter,
    rows: PhantomData<fn(R)>,
}

impl<R: TableRow> RowWriter<R> {
    /// Creates `<folder>/<name>.parquet`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        Ok(RowWriter { writer: TableWriter::create(folder, R::TABLE)?, rows: PhantomData })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn push<'a>(
        &mut self,
        rows: impl IntoIterator<Item = &'a R, IntoIter: Clone>,
    ) -> Result<()>
    where
        R: 'a,
    {
        self.writer.push(R::arrays(rows.into_iter(), R::TABLE.columns.len()))
    }

    /// Appends rows that are made as they are written.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn extend(&mut self, mut rows: impl Iterator<Item = R>) -> Result<()> {
        let mut made = Vec::with_capacity(ROWS_AT_ONCE);
        loop {
            made.clear();
            made.extend(rows.by_ref().take(ROWS_AT_ONCE));
            if made.is_empty() {
                return Ok(());
            }
            self.push(&made)?;
        }
    }

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.finish()
    }
}

/// Writes a table by columns. Rows are encoded [`ROWS_AT_ONCE`], so the bytes do not depend on how
/// they arrive; a row group holds [`GROUP_ROWS`].
pub(crate) struct TableWriter {
    encoder: GroupEncoder,
    writer: GroupWriter,
    pending: BatchCoalescer,
    open: OpenGroup,
}

impl TableWriter {
    /// Creates `<folder>/<name>.parquet`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(folder: &Path, def: &TableDef) -> Result<Self> {
        let (path, schema) = (folder.join(def.file()), schema_of(def));
        let (encoder, writer) = GroupWriter::create(&path, &schema, &table_metadata(def))?;
        let pending = BatchCoalescer::new(Arc::new(schema), ROWS_AT_ONCE);
        Ok(TableWriter { encoder, writer, pending, open: OpenGroup::default() })
    }

    /// Appends rows of the same table, by the columns of its definition.
    ///
    /// # Errors
    /// The disk refuses, or the rows are of another table.
    pub(crate) fn push(&mut self, columns: Vec<ArrayRef>) -> Result<()> {
        let batch = RecordBatch::try_new(self.pending.schema(), columns);
        let pushed = batch.and_then(|batch| self.pending.push_batch(batch));
        pushed.map_err(|e| unreadable(&self.encoder.path, FileOwner::Program, e))?;
        self.encode()
    }

    /// Encodes the batches that are complete as the next of the open row group.
    fn encode(&mut self) -> Result<()> {
        while let Some(rows) = self.pending.next_completed_batch() {
            self.encoder.add(&mut self.open, &rows)?;
            if self.open.rows >= GROUP_ROWS {
                self.writer.append(self.encoder.close(std::mem::take(&mut self.open))?)?;
            }
        }
        Ok(())
    }

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn finish(mut self) -> Result<()> {
        let whole = self.pending.finish_buffered_batch();
        whole.map_err(|e| unreadable(&self.encoder.path, FileOwner::Program, e))?;
        self.encode()?;
        if self.open.rows > 0 {
            self.writer.append(self.encoder.close(self.open)?)?;
        }
        self.writer.finish()
    }
}

/// Reads `<folder>/<name>.parquet`, in the order of the file; an absent file is an empty table.
///
/// # Errors
/// A damaged file, or a table of another version.
pub(crate) fn read_rows<R: TableRow>(folder: &Path) -> Result<Vec<R>> {
    read_matching(folder, |_| true)
}

/// Shows `is_kept` every row of `<folder>/<name>.parquet` and keeps those for which it says so, in
/// their order; an absent file is an empty table.
///
/// # Errors
/// A damaged file, or a table of another version.
pub(crate) fn read_matching<R: TableRow>(
    folder: &Path,
    mut is_kept: impl FnMut(&R) -> bool,
) -> Result<Vec<R>> {
    let mut rows = Vec::new();
    each_row(folder, |row| {
        if is_kept(row) {
            rows.push(row.clone());
        }
    })?;
    Ok(rows)
}

/// Hands every row of `<folder>/<name>.parquet` to `each`, in order; an absent file is an empty
/// table.
///
/// # Errors
/// A damaged file, or a table of another version.
pub(crate) fn each_row<R: TableRow>(folder: &Path, each: impl FnMut(&R)) -> Result<()> {
    open_table(folder, R::TABLE)?.map_or(Ok(()), |file| rows_of(file, each))
}

/// Hands every row of the file to `each`, in order.
///
/// # Errors
/// The file is absent or damaged, or holds another table or another version of it.
pub(crate) fn read_file<R: TableRow>(path: &Path, each: impl FnMut(&R)) -> Result<()> {
    let file = ParquetFile::open(path, FileOwner::Program)?;
    check_version(&file, R::TABLE)?;
    rows_of(file, each)
}

/// Hands every row of a file to `each`, in order. Only the columns of these rows are read.
///
/// # Errors
/// The file is damaged: a column is missing, or cannot hold the value there.
fn rows_of<R: TableRow>(file: ParquetFile, mut each: impl FnMut(&R)) -> Result<()> {
    let (file, mut row) = (file.with_coded_texts()?, R::default());
    let damaged = |column: &str| {
        let is_there = file.schema().index_of(column).is_ok();
        let what = if is_there { "holds invalid values" } else { "is missing" };
        unreadable(file.path(), FileOwner::Program, format!("column `{column}` {what}"))
    };
    let names = R::COLUMNS.iter().map(|column| column.name);
    let there: Vec<&str> = names.filter(|name| file.schema().index_of(name).is_ok()).collect();
    for group in 0..file.n_groups() {
        for batch in file.batches(group, Some(&there), None, READ_ROWS)? {
            let batch = batch?;
            let columns = R::columns(&batch).map_err(damaged)?;
            for at in 0..batch.num_rows() {
                row.set(&columns, at).map_err(damaged)?;
                each(&row);
            }
        }
    }
    Ok(())
}

/// Opens a table of this version; none where it is absent.
pub(crate) fn open_table(folder: &Path, def: &TableDef) -> Result<Option<ParquetFile>> {
    let path = folder.join(def.file());
    if !path.exists() {
        return Ok(None);
    }
    let file = ParquetFile::open(&path, FileOwner::Program)?;
    check_version(&file, def)?;
    Ok(Some(file))
}

/// What to do about a folder whose tables are of another version.
pub(crate) const OTHER_VERSION: &str = "run the approved job again with this program";

/// Refuses a file of another version of a table.
pub(crate) fn check_version(file: &ParquetFile, def: &TableDef) -> Result<()> {
    let version: Option<u32> = file.note("cfaudit.version").and_then(|text| text.parse().ok());
    if version == Some(def.version) {
        return Ok(());
    }
    Err(Error::operator(
        "read",
        file.path(),
        format!(
            "it is version {} of table `{}`, this program reads version {}",
            version.map_or("?".to_owned(), |v| v.to_string()),
            def.name,
            def.version
        ),
        OTHER_VERSION,
    ))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int64Array, StringArray};
    use arrow::datatypes::DataType;

    use super::*;
    use crate::table::{CountRow, CurveRow, GroupRow, IssueRow, SelectedRow};
    use crate::tests::{Says, TextRow};

    #[test]
    fn rows_are_read_back_sorted_by_key() {
        let folder = tempfile::tempdir().unwrap();
        let row = |group: &str, weight| GroupRow {
            weight,
            ..GroupRow::of(&format!("model=m, group={group}, n=-3"))
        };
        let rows = [row("b", Some(0.5)), row("", None), row("a", Some(f64::INFINITY))];
        write_rows(folder.path(), &rows).unwrap();
        let [b, all, a] = rows;
        assert_eq!(read_rows::<GroupRow>(folder.path()).unwrap(), [all, a, b]);
        let selected = [true, false].map(|label| SelectedRow {
            row_key: u64::MAX - u64::from(label),
            label,
            predicted: label.then_some(true),
            ..SelectedRow::default()
        });
        write_rows(folder.path(), &selected).unwrap();
        assert_eq!(read_rows::<SelectedRow>(folder.path()).unwrap(), selected);
        assert!(read_rows::<IssueRow>(folder.path()).unwrap().is_empty());
    }

    /// Columns that tables share are like columns of their own: in files, in their order by key, in
    /// JSON.
    #[test]
    fn shared_columns_stand_before_those_of_the_table() {
        let names = |table: &TableDef| -> Vec<&str> {
            table.columns[..table.n_key].iter().map(|column| column.name).collect()
        };
        const KEY: [&str; 8] = [
            "arm",
            "model",
            "counterfactual",
            "sensitive",
            "scope",
            "from_group",
            "to_group",
            "slice",
        ];
        assert_eq!(names(CurveRow::TABLE), [&KEY[..], &["class", "metric", "step"]].concat());
        assert_eq!(names(CountRow::TABLE)[..9], [&KEY[..], &["label"]].concat());
        let row = |slice: &str, class: &str, step| {
            CurveRow::of(&format!("slice={slice}, class={class}, step={step}"))
        };
        let rows = [row("b", "", 0), row("a", "y", 1), row("a", "x", 9), row("a", "x", 2)];
        let folder = tempfile::tempdir().unwrap();
        write_rows(folder.path(), &rows).unwrap();
        let [last, third, second, first] = rows;
        let found = read_rows::<CurveRow>(folder.path()).unwrap();
        assert_eq!(found, [first, second, third, last]);
        // As JSON a row has its columns in their order.
        let json = serde_json::json!(found[1]);
        let names: Vec<&str> = CurveRow::TABLE.columns.iter().map(|column| column.name).collect();
        assert!(json.as_object().unwrap().keys().eq(names));
        assert_eq!([&json["slice"], &json["class"], &json["metric"]], ["a", "x", ""]);
        assert_eq!(json["step"], 9);
    }

    /// The file of `issues` with these columns, and what reading it gives.
    fn read_changed(
        version: u32,
        change: impl Fn(&mut Vec<(&str, ArrayRef)>),
    ) -> Result<Vec<IssueRow>, String> {
        let folder = tempfile::tempdir().unwrap();
        let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
        let mut columns = vec![
            ("code", text("c")),
            ("severity", text("info")),
            ("where", text("w")),
            ("n", Arc::new(Int64Array::from(vec![1])) as _),
            ("text", text("t")),
            ("state", text("s")),
            ("args", text("")),
        ];
        change(&mut columns);
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let mut notes = table_metadata(IssueRow::TABLE);
        notes[1].1 = version.to_string();
        let path = folder.path().join(IssueRow::TABLE.file());
        let (encoder, mut writer) = GroupWriter::create(&path, &batch.schema(), &notes).unwrap();
        writer.append(encoder.encode(&batch).unwrap()).unwrap();
        writer.finish().unwrap();
        read_rows(folder.path()).map_err(|e| e.to_string())
    }

    #[test]
    fn what_a_row_cannot_hold_is_refused() {
        let own = IssueRow::TABLE.version;
        assert_eq!(read_changed(own, |_| ()).unwrap()[0].r#where, "w");
        for version in [own - 1, own + 1] {
            let other = read_changed(version, |_| ()).unwrap_err();
            other.says(&[
                &format!("version {version} of table `issues`, this program reads version {own}"),
                "hint: run the approved job again",
            ]);
        }
        let lacks = read_changed(own, |columns| columns.truncate(6)).unwrap_err();
        lacks.says(&["column `args` is missing"]);
        let real = Arc::new(Float64Array::from(vec![1.0])) as ArrayRef;
        let other = read_changed(own, |columns| columns[3].1 = Arc::clone(&real)).unwrap_err();
        other.says(&["column `n` holds invalid values"]);
        let null = Arc::new(StringArray::from(vec![None::<&str>])) as ArrayRef;
        let empty = read_changed(own, |columns| columns[2].1 = Arc::clone(&null)).unwrap_err();
        empty.says(&["column `where` holds invalid values"]);
    }

    /// A long table has the same bytes however its rows arrive.
    #[test]
    fn rows_that_are_made_are_rows_that_are_pushed() {
        let n = 5 * ROWS_AT_ONCE + 7;
        let row = |i: usize| CurveRow {
            metric: ["a", "b", "c"][i * i % 3].into(),
            step: i as i64,
            ..CurveRow::default()
        };
        let write = |fill: &dyn Fn(&mut RowWriter<CurveRow>)| {
            let folder = tempfile::tempdir().unwrap();
            let mut writer = RowWriter::create(folder.path()).unwrap();
            fill(&mut writer);
            writer.finish().unwrap();
            std::fs::read(folder.path().join(CurveRow::TABLE.file())).unwrap()
        };
        let rows: Vec<CurveRow> = (0..n).map(row).collect();
        let made = write(&|writer| writer.extend((0..n).map(row)).unwrap());
        for at_once in [7, ROWS_AT_ONCE - 1, ROWS_AT_ONCE + 1, n] {
            let pushed = write(&|writer| {
                rows.chunks(at_once).for_each(|part| writer.push(part).unwrap());
            });
            assert!(pushed == made, "{at_once} rows at once");
        }
        let folder = tempfile::tempdir().unwrap();
        write_rows(folder.path(), &rows).unwrap();
        let found = read_rows::<CurveRow>(folder.path()).unwrap();
        assert!(found.len() == n && found.iter().all(|found| *found == row(found.step as usize)));
    }

    /// What fits into the buffer of the writer meets the disk at the end, the rest before.
    #[test]
    fn a_full_disk_is_told_with_a_hint() {
        let full = Path::new("/dev/full");
        if !full.exists() {
            return;
        }
        let schema = Schema::new(vec![Field::new("x", DataType::Float64, false)]);
        for n in [1_u32, 100_000] {
            let (encoder, mut writer) = GroupWriter::create(full, &schema, &[]).unwrap();
            let column: ArrayRef = Arc::new((0..n).map(f64::from).collect::<Float64Array>());
            let batch = RecordBatch::try_new(Arc::new(schema.clone()), vec![column]).unwrap();
            let group = encoder.encode(&batch).unwrap();
            let error = writer.append(group).and_then(|()| writer.finish()).unwrap_err();
            assert_eq!(error.exit().code(), 5);
            let words = error.to_string();
            words.says(&["cannot write `/dev/full`", "hint: free some space"]);
        }
    }
}
