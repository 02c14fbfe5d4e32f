//! Rows for a program of the user's: as an Arrow IPC stream, or as a Parquet file.
//!
//! Both hold the features in the source view ([`raw`]) without the omitted ones, and for
//! training a last column `label` (Int64: 1 = positive, 0 = negative) and, where rows have
//! different weights, after it `weight` (Float64). The stream begins with its schema, before any
//! row, so that a program can refuse early; it ends with the end-of-stream mark.
//! Choice: batches (of the file: row groups) hold 65,536 rows except the last, however the rows
//! arrive. So a program whose scores depend on its batches gets the same batches with any
//! `--batch-rows` and any number of threads. Memory: two batches.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::StreamWriter;

use crate::data::exchange::raw;
use crate::data::{FeatureRows, Layout};
use crate::error::{Error, Fault, Result};
use crate::table::file::GroupWriter;

/// Rows of a batch.
pub(crate) const BATCH_ROWS: usize = 65_536;

/// The name of the label's column in training rows.
pub(crate) const LABEL: &str = "label";

/// The name of the column of weights in training rows.
pub(crate) const WEIGHT: &str = "weight";

/// What the schema of rows to score says: the [`ClassPosition`] of the score.
pub(crate) const POSITION: &str = "cfaudit.position";

/// What the schema of rows to score says: the SHA-256 of the registered model that is to score.
pub(crate) const MODEL_HASH: &str = "cfaudit.sha256";

/// Which number of a row is the score, where a model gives one for each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClassPosition {
    /// The position of the class, from 0.
    pub at: usize,
    /// The number of classes among which it was found; none where the job names the class of a
    /// model that may have more.
    pub among: Option<usize>,
}

impl ClassPosition {
    /// The position of the score among the numbers of a row; none where these are of other classes.
    ///
    /// A single number is the score of the positive class, so that it is of no class that the job
    /// names.
    pub(crate) fn in_row(class: Option<Self>, width: usize) -> Option<usize> {
        match class {
            None | Some(ClassPosition { among: Some(_), .. }) if width == 1 => Some(0),
            Some(ClassPosition { at, among: Some(classes) }) => (classes == width).then_some(at),
            Some(ClassPosition { at, among: None }) => (at < width && width > 1).then_some(at),
            None => None,
        }
    }

    /// What is wrong where a row of this many numbers has no score.
    pub(crate) fn refusal(width: usize) -> String {
        match width {
            1 => "gives one number for a row, which is the score of the positive class: remove \
                  `class` of the block"
                .to_owned(),
            n => format!(
                "gives {n} numbers for a row: these are the probabilities of the classes 0 to {}, \
                 and `class` of the block names the one that is the score",
                n.saturating_sub(1)
            ),
        }
    }

    /// As the schema of rows says it: `1`, or `1 of 2`.
    pub(crate) fn text(self) -> String {
        self.among.map_or(self.at.to_string(), |classes| format!("{} of {classes}", self.at))
    }

    /// The position of [`ClassPosition::text`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (at, among) = text.split_once(" of ").map_or((text, None), |(at, n)| (at, Some(n)));
        let among = among.map(str::parse).transpose().ok()?;
        Some(ClassPosition { at: at.parse().ok()?, among })
    }
}

/// What the schema of a stream without rows says: the program is to describe its model.
pub(crate) const DESCRIBE: &str = "cfaudit.describe";

/// Under which key the schema of the answer has the description.
pub(crate) const DESCRIPTION: &str = "cfaudit.description";

/// The columns that a program gets.
#[derive(Debug, Clone)]
pub(crate) struct RawColumns {
    layout: Layout,
    visible: Vec<usize>,
    pub(crate) schema: SchemaRef,
}

impl RawColumns {
    /// The features of these names, in their order.
    ///
    /// With `labelled` also the label, and the weight where the job names one. `about` is what the
    /// schema says about the rows, next to where they come from.
    pub(crate) fn new(
        layout: &Layout,
        names: &[&str],
        labelled: bool,
        about: HashMap<String, String>,
    ) -> Self {
        let visible: Vec<usize> = names.iter().filter_map(|name| layout.feature(name)).collect();
        let mut fields: Vec<Field> =
            visible.iter().map(|&f| raw::raw_field(&layout.features[f])).collect();
        if labelled {
            fields.push(Field::new(LABEL, DataType::Int64, false));
            let weight = layout.weight.as_ref();
            fields.extend(weight.map(|_| Field::new(WEIGHT, DataType::Float64, false)));
        }
        let mut notes = about;
        notes.extend(raw::source_note(&layout.features));
        let schema = Arc::new(Schema::new_with_metadata(fields, notes));
        RawColumns { layout: layout.clone(), visible, schema }
    }

    /// Rows to score: no label is among the columns.
    ///
    /// # Errors
    /// As [`raw::raw_arrays`].
    pub(crate) fn batch(&self, rows: &FeatureRows) -> Result<RecordBatch> {
        self.batch_with(rows, Vec::new())
    }

    /// Rows to train on; `labels` has one entry per row, and `weight` gives the weight of each.
    ///
    /// # Errors
    /// As [`raw::raw_arrays`].
    pub(crate) fn training_batch(
        &self,
        rows: &FeatureRows,
        labels: &[bool],
        weight: impl Fn(usize) -> f64,
    ) -> Result<RecordBatch> {
        let labels = labels.iter().map(|&y| i64::from(y));
        let mut others: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(labels))];
        if self.layout.weight.is_some() {
            others.push(Arc::new(Float64Array::from_iter_values((0..rows.n).map(weight))));
        }
        self.batch_with(rows, others)
    }

    fn batch_with(&self, rows: &FeatureRows, others: Vec<ArrayRef>) -> Result<RecordBatch> {
        let features =
            self.visible.iter().map(|&f| raw::raw_array(&self.layout.features[f], f, rows));
        let mut arrays = features.collect::<Result<Vec<ArrayRef>>>()?;
        arrays.extend(others);
        let hint = "this is a bug in cfaudit: a column has another length or type than its field";
        RecordBatch::try_new(Arc::clone(&self.schema), arrays)
            .map_err(|e| Error::operator("write", "rows of a command", e, hint))
    }
}

/// Writes a batch, or without one the end.
type WriteBatch<'a> = Box<dyn FnMut(Option<&RecordBatch>) -> Result<()> + 'a>;

/// A destination of rows for a program, which get there in batches of one length.
pub(crate) struct RowSink<'a> {
    write: WriteBatch<'a>,
    waiting: BatchCoalescer,
}

impl<'a> RowSink<'a> {
    /// Starts a stream: the schema is written and flushed.
    ///
    /// # Errors
    /// The sink cannot be written.
    pub(crate) fn stream(sink: impl Write + 'a, schema: &Schema) -> Result<Self> {
        let buffered = BufWriter::with_capacity(1 << 16, sink);
        let mut writer = StreamWriter::try_new(buffered, schema).map_err(broken)?;
        writer.get_mut().flush().map_err(|e| broken(e.into()))?;
        Ok(RowSink::new(schema, move |batch| match batch {
            Some(batch) => writer.write(batch).map_err(broken),
            None => {
                writer.finish().map_err(broken)?;
                writer.get_mut().flush().map_err(|e| broken(e.into()))
            }
        }))
    }

    /// Creates a Parquet file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn file(path: &Path, schema: &Schema) -> Result<Self> {
        let (encoder, writer) = GroupWriter::create(path, schema, &[])?;
        let mut open = Some(writer);
        Ok(RowSink::new(schema, move |batch| match (batch, &mut open) {
            (Some(batch), Some(writer)) => writer.append(encoder.encode(batch)?),
            (_, open) => open.take().map_or(Ok(()), GroupWriter::finish),
        }))
    }

    fn new(schema: &Schema, write: impl FnMut(Option<&RecordBatch>) -> Result<()> + 'a) -> Self {
        let waiting = BatchCoalescer::new(Arc::new(schema.clone()), BATCH_ROWS);
        RowSink { write: Box::new(write), waiting }
    }

    /// Appends rows; an incomplete batch is kept for the next call.
    ///
    /// # Errors
    /// The rows cannot be written.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        for from in (0..batch.num_rows()).step_by(BATCH_ROWS) {
            let part = batch.slice(from, BATCH_ROWS.min(batch.num_rows() - from));
            self.waiting.push_batch(part).map_err(too_long)?;
            self.write_whole()?;
        }
        Ok(())
    }

    /// Writes the incomplete batch and the end mark.
    ///
    /// # Errors
    /// As [`RowSink::push`].
    pub(crate) fn finish(mut self) -> Result<()> {
        self.waiting.finish_buffered_batch().map_err(too_long)?;
        self.write_whole()?;
        (self.write)(None)
    }

    /// Writes the batches that are complete.
    fn write_whole(&mut self) -> Result<()> {
        while let Some(batch) = self.waiting.next_completed_batch() {
            (self.write)(Some(&batch))?;
        }
        Ok(())
    }
}

fn too_long(cause: ArrowError) -> Fault {
    let what = format!("{BATCH_ROWS} rows hold more than 2 GiB of text in a column: {cause}");
    Fault::new("too-much-text", what).hint("leave the column out with `omit`")
}

/// Asks a program for a description of its model: a stream without rows whose schema says so.
///
/// # Errors
/// The sink cannot be written.
pub(crate) fn ask_description(sink: impl Write) -> Result<()> {
    let about = HashMap::from([(DESCRIBE.to_owned(), String::new())]);
    let schema = Schema::new_with_metadata(Vec::<Field>::new(), about);
    RowSink::stream(sink, &schema)?.finish()
}

fn broken(cause: ArrowError) -> Error {
    Error::operator("write rows to", "standard input", cause, None)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::array::AsArray;
    use arrow::datatypes::{Float64Type, Int64Type};
    use arrow::ipc::reader::StreamReader;

    use super::{BATCH_ROWS, ClassPosition, DESCRIBE, RawColumns, RowSink, ask_description};
    use crate::data::{Feature, FeatureColumn, FeatureKind, FeatureRows, Layout};
    use crate::table::file::{FileOwner, ParquetFile};

    #[test]
    fn the_position_of_a_class_is_written_and_read_back() {
        for (at, among, text, in_rows) in [
            (1, Some(2), "1 of 2", [Some(0), Some(1), None]),
            (1, None, "1", [None, Some(1), Some(1)]),
            (0, None, "0", [None, Some(0), Some(0)]),
        ] {
            let position = ClassPosition { at, among };
            assert_eq!(
                (position.text().as_str(), ClassPosition::parse(text)),
                (text, Some(position))
            );
            let in_row = |width| ClassPosition::in_row(Some(position), width);
            assert_eq!([1, 2, 3].map(in_row), in_rows, "{text}");
        }
        assert_eq!(["", "of 2", "1 of ", "-1"].map(ClassPosition::parse), [None; 4]);
        assert_eq!([1, 2].map(|width| ClassPosition::in_row(None, width)), [Some(0), None]);
    }

    fn layout() -> Layout {
        let feature = |name| Feature::of(name, FeatureKind::REAL, &[]);
        Layout::of(vec![], vec![feature("a"), feature("secret"), feature("b")])
    }

    fn rows(from: usize, n: usize) -> FeatureRows {
        let column = |shift: f64| {
            FeatureColumn::Number((from..from + n).map(|i| i as f64 + shift).collect())
        };
        FeatureRows::of(vec![column(0.0), column(0.25), column(0.5)])
    }

    /// Pushes 150,000 rows in uneven parts.
    fn fill(sink: &mut RowSink<'_>, columns: &RawColumns) {
        let mut from = 0;
        for n in [1, 0, 70_000, 3, 79_996] {
            let labels: Vec<bool> = (from..from + n).map(|i| i % 3 == 0).collect();
            sink.push(columns.training_batch(&rows(from, n), &labels, |_| 1.0).unwrap()).unwrap();
            from += n;
        }
    }

    #[test]
    fn batches_do_not_depend_on_how_rows_arrive() {
        let columns = RawColumns::new(&layout(), &["a", "b"], true, HashMap::new());
        let mut bytes = Vec::new();
        let mut stream = RowSink::stream(&mut bytes, &columns.schema).unwrap();
        fill(&mut stream, &columns);
        stream.finish().unwrap();
        let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
        let names: Vec<String> =
            reader.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["a", "b", "label"]);
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(
            batches.iter().map(|b| b.num_rows()).collect::<Vec<_>>(),
            [BATCH_ROWS, BATCH_ROWS, 150_000 - 2 * BATCH_ROWS]
        );
        let b = batches[2].column(1).as_primitive::<Float64Type>();
        assert_eq!(b.value(b.len() - 1), 149_999.5);
        assert_eq!(
            batches[1].column(2).as_primitive::<Int64Type>().value(0),
            i64::from(BATCH_ROWS.is_multiple_of(3))
        );

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let mut file = RowSink::file(&path, &columns.schema).unwrap();
        fill(&mut file, &columns);
        file.finish().unwrap();
        let file = ParquetFile::open(&path, FileOwner::User).unwrap();
        assert_eq!((file.n_groups(), file.n_rows()), (3, 150_000));
        assert_eq!(file.read_group(2, None).unwrap(), batches[2]);
    }

    #[test]
    fn a_stream_without_rows_has_its_schema() {
        let columns = RawColumns::new(&layout(), &["secret", "a"], false, HashMap::new());
        let mut bytes = Vec::new();
        RowSink::stream(&mut bytes, &columns.schema).unwrap().finish().unwrap();
        let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
        let names: Vec<String> =
            reader.schema().fields().iter().map(|f| f.name().clone()).collect();
        assert_eq!(names, ["secret", "a"], "in the order that is asked for");
        assert_eq!(reader.count(), 0);
    }

    #[test]
    fn a_question_about_a_model_has_no_rows() {
        let mut bytes = Vec::new();
        ask_description(&mut bytes).unwrap();
        let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
        assert!(reader.schema().metadata().contains_key(DESCRIBE));
        assert_eq!((reader.schema().fields().len(), reader.count()), (0, 0));
    }
}
