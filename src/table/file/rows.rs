//! Result tables as files: rows of one type in, sorted by key or in a stream, and out again.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Field, Schema};
use parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};

use super::{
    EncodedGroup, FileOwner, GroupEncoder, GroupWriter, ParquetFile, READ_ROWS, unreadable,
};
use crate::error::{Error, Result};
use crate::table::field_marks::distinct;
use crate::table::{ColumnDef, ColumnType, TableDef, TableRow};

/// Rows of one row group in result tables.
const TABLE_GROUP_ROWS: usize = 1_000_000;

/// Rows of one row group in long tables: the open group is the memory that writing them takes.
const LONG_GROUP_ROWS: usize = 245 * ROWS_AT_ONCE;

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
            if matches!(c.kind, ColumnType::Real | ColumnType::Key) {
                distinct(field)
            } else {
                field
            }
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
    let rows = sorted(rows);
    let path = folder.join(R::TABLE.file());
    let (encoder, mut writer) =
        GroupWriter::create(&path, &schema_of(R::TABLE), &table_metadata(R::TABLE))?;
    for rows in rows.chunks(TABLE_GROUP_ROWS) {
        let parts = rows.chunks(ROWS_AT_ONCE).map(|rows| batch_of(rows.iter().copied(), &path));
        writer.append(encoder.encode_parts(&parts.collect::<Result<Vec<_>>>()?)?)?;
    }
    writer.finish()
}

/// Rows in the order of their keys; those of equal keys in the order in which they come.
fn sorted<R: TableRow>(rows: &[R]) -> Vec<&R> {
    let keys: Vec<Vec<u8>> = rows.iter().map(TableRow::sort_key).collect();
    // Most keys begin alike; what comes next decides most comparisons without a look at the rest.
    let alike = |key: &[u8]| key.iter().zip(&keys[0]).take_while(|(a, b)| a == b).count();
    let shared = keys.iter().map(|key| alike(key)).min().unwrap_or(0);
    let next = |key: &[u8]| {
        let mut head = [0; 16];
        head.iter_mut().zip(&key[shared..]).for_each(|(head, byte)| *head = *byte);
        u128::from_be_bytes(head)
    };
    let mut order: Vec<_> = keys.iter().map(|key| (next(key), key)).zip(rows).collect();
    order.sort_by_key(|(key, _)| *key);
    order.into_iter().map(|(_, row)| row).collect()
}

fn batch_of<'a, R: TableRow + 'a>(
    rows: impl Iterator<Item = &'a R> + Clone,
    path: &Path,
) -> Result<RecordBatch> {
    RecordBatch::try_new(Arc::new(schema_of(R::TABLE)), R::arrays(rows))
        .map_err(|e| unreadable(path, FileOwner::Program, e))
}

/// Writes a table too long for memory, such as `outcomes`, rows of one type at a time.
pub(crate) struct RowWriter<R> {
    pub(crate) writer: LongWriter,
    rows: PhantomData<fn(R)>,
}

impl<R: TableRow> RowWriter<R> {
    /// Creates `<folder>/<name>.parquet`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        Ok(RowWriter { writer: LongWriter::create(folder, R::TABLE)?, rows: PhantomData })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn push(&mut self, rows: &[R]) -> Result<()> {
        let batch = batch_of(rows.iter(), &self.writer.path)?;
        self.writer.push_batch(batch)
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

/// Writes a long table. Rows are encoded [`ROWS_AT_ONCE`], so the bytes do not depend on how they
/// arrive; a row group holds [`LONG_GROUP_ROWS`].
pub(crate) struct LongWriter {
    encoder: GroupEncoder,
    writer: GroupWriter,
    def: &'static TableDef,
    path: PathBuf,
    open: Option<OpenGroup>,
    /// Fewer rows than are encoded at once.
    pending: Vec<RecordBatch>,
    n_pending: usize,
}

struct OpenGroup {
    columns: Vec<ArrowColumnWriter>,
    rows: usize,
}

impl LongWriter {
    /// Creates `<folder>/<name>.parquet`.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn create(folder: &Path, def: &'static TableDef) -> Result<Self> {
        let path = folder.join(def.file());
        let (encoder, writer) = GroupWriter::create(&path, &schema_of(def), &table_metadata(def))?;
        Ok(LongWriter { encoder, writer, def, path, open: None, pending: Vec::new(), n_pending: 0 })
    }

    /// Appends rows of the same table.
    ///
    /// # Errors
    /// The disk refuses, or the rows are of another table.
    pub(crate) fn push_batch(&mut self, batch: RecordBatch) -> Result<()> {
        self.n_pending += batch.num_rows();
        self.pending.push(batch);
        if self.n_pending < ROWS_AT_ONCE {
            return Ok(());
        }
        let batch = self.take_pending()?;
        let whole = batch.num_rows() - batch.num_rows() % ROWS_AT_ONCE;
        for at in (0..whole).step_by(ROWS_AT_ONCE) {
            self.encode(&batch.slice(at, ROWS_AT_ONCE))?;
        }
        self.n_pending = batch.num_rows() - whole;
        self.pending = vec![batch.slice(whole, self.n_pending)];
        Ok(())
    }

    fn take_pending(&mut self) -> Result<RecordBatch> {
        self.n_pending = 0;
        match (self.pending.pop(), self.pending.is_empty()) {
            (Some(only), true) => Ok(only),
            (last, _) => {
                self.pending.extend(last);
                concat_batches(&Arc::new(schema_of(self.def)), &std::mem::take(&mut self.pending))
                    .map_err(|e| unreadable(&self.path, FileOwner::Program, e))
            }
        }
    }

    /// Encodes rows as the next of the open row group.
    fn encode(&mut self, rows: &RecordBatch) -> Result<()> {
        let fail = |e: &dyn std::fmt::Display| unreadable(&self.path, FileOwner::Program, e);
        let mut open = match self.open.take() {
            Some(open) => open,
            None => OpenGroup {
                columns: self.encoder.factory.create_column_writers(0).map_err(|e| fail(&e))?,
                rows: 0,
            },
        };
        let mut writers = open.columns.iter_mut();
        for (field, column) in self.encoder.schema.fields().iter().zip(rows.columns()) {
            for leaf in compute_leaves(field, column).map_err(|e| fail(&e))? {
                if let Some(writer) = writers.next() {
                    writer.write(&leaf).map_err(|e| fail(&e))?;
                }
            }
        }
        open.rows += rows.num_rows();
        if open.rows >= LONG_GROUP_ROWS {
            return self.close(open);
        }
        self.open = Some(open);
        Ok(())
    }

    fn close(&mut self, open: OpenGroup) -> Result<()> {
        let chunks =
            open.columns.into_iter().map(ArrowColumnWriter::close).collect::<Result<Vec<_>, _>>();
        self.writer.append(EncodedGroup(
            chunks.map_err(|e| unreadable(&self.path, FileOwner::Program, e))?,
        ))
    }

    /// Writes what is left and the footer.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn finish(mut self) -> Result<()> {
        if self.n_pending > 0 {
            let rest = self.take_pending()?;
            self.encode(&rest)?;
        }
        if let Some(open) = self.open.take() {
            self.close(open)?;
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

/// Hands every row of a file to `each`, in order.
///
/// # Errors
/// The file is damaged: a column is missing, or cannot hold the value there.
fn rows_of<R: TableRow>(file: ParquetFile, mut each: impl FnMut(&R)) -> Result<()> {
    let (file, mut row) = (file.with_coded_texts()?, R::default());
    let damaged = |column: &str| {
        let what = format!("column `{column}` holds invalid values");
        unreadable(file.path(), FileOwner::Program, what)
    };
    for group in 0..file.n_groups() {
        for batch in file.batches(group, None, None, READ_ROWS)? {
            let batch = batch?;
            let arrays = columns_of(R::TABLE, &file, &batch)?;
            let columns = R::columns(&mut arrays.iter()).map_err(damaged)?;
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

/// The columns of a table in the order of `def`.
fn columns_of(def: &TableDef, file: &ParquetFile, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let column = |column: &ColumnDef| {
        batch.column_by_name(column.name).cloned().ok_or_else(|| {
            let what = format!("column `{}` is missing", column.name);
            unreadable(file.path(), FileOwner::Program, what)
        })
    };
    def.columns.iter().map(column).collect()
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
