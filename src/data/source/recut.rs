//! Cuts pieces of any length into row groups of equal length and encodes them on all threads.
//!
//! The files of the stages are aligned row group by row group, so the groups must not depend on the
//! partition of the source. A column of a piece that is a whole row group is not copied.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;

use crate::error::{Error, Fault, Result};
use crate::exec::pieces::WorkerPool;
use crate::table::file::{GroupEncoder, GroupWriter};

/// A Parquet file written from pieces that arrive in order.
pub(crate) struct RecutWriter<'a> {
    encoder: GroupEncoder,
    writer: GroupWriter,
    workers: &'a WorkerPool,
    group_rows: usize,
    /// The columns of each waiting piece, and its rows.
    waiting: VecDeque<(Vec<ArrayRef>, usize)>,
    /// Rows of the first waiting piece that are written already.
    n_done: usize,
    /// Rows that wait.
    n_waiting: usize,
}

impl<'a> RecutWriter<'a> {
    /// Creates the file, with metadata; every row group but the last will have `group_rows` rows.
    pub(crate) fn create(
        path: &Path,
        schema: Schema,
        notes: &[(&str, String)],
        workers: &'a WorkerPool,
        group_rows: usize,
    ) -> Result<Self> {
        let (encoder, writer) = GroupWriter::create(path, &schema, notes)?;
        let group_rows = group_rows.max(1);
        Ok(RecutWriter {
            encoder,
            writer,
            workers,
            group_rows,
            waiting: VecDeque::new(),
            n_done: 0,
            n_waiting: 0,
        })
    }

    /// Appends rows.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let (_, columns, n) = batch.into_parts();
        self.push_columns(columns, n)
    }

    /// Appends a number of rows, whose columns may be lists of values and positions in these;
    /// writes as soon as every thread has a row group to encode.
    pub(crate) fn push_columns(&mut self, columns: Vec<ArrayRef>, n: usize) -> Result<()> {
        self.n_waiting += n;
        self.waiting.push_back((columns, n));
        if self.n_waiting >= self.group_rows * self.workers.threads() {
            self.write(self.n_waiting / self.group_rows)
        } else {
            Ok(())
        }
    }

    /// Writes the remaining rows and the footer.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.write(self.n_waiting.div_ceil(self.group_rows))?;
        self.writer.finish()
    }

    /// Writes the first waiting rows as this number of row groups.
    fn write(&mut self, groups: usize) -> Result<()> {
        let mut cut: Vec<Vec<PieceRows<'_>>> = Vec::with_capacity(groups);
        let (mut piece, mut from) = (0, self.n_done);
        for group in 0..groups {
            let mut missing = self.group_rows.min(self.n_waiting - group * self.group_rows);
            let mut parts = Vec::new();
            while missing > 0 {
                let (of, n) = &self.waiting[piece];
                let to = (*n).min(from + missing);
                if from < to {
                    parts.push((of.as_slice(), from..to));
                }
                missing -= to - from;
                (piece, from) = if to == *n { (piece + 1, 0) } else { (piece, to) };
            }
            cut.push(parts);
        }
        let encoder = &self.encoder;
        let encode = |group: usize| {
            let batch = gathered(&encoder.schema, &cut[group]);
            encoder.encode(&batch.map_err(|e| too_long(&encoder.path, self.group_rows, &e))?)
        };
        let writer = &mut self.writer;
        self.workers.map(groups, encode, |_, encoded| writer.append(encoded))?;
        drop(cut);
        self.waiting.drain(..piece);
        self.n_done = from;
        self.n_waiting -= self.n_waiting.min(groups * self.group_rows);
        Ok(())
    }
}

/// Some rows of a piece, given by its columns.
type PieceRows<'p> = (&'p [ArrayRef], Range<usize>);

/// One batch of rows of pieces, in this order, in the types of the file.
fn gathered(schema: &SchemaRef, parts: &[PieceRows<'_>]) -> Result<RecordBatch, ArrowError> {
    let column = |(c, field): (usize, &FieldRef)| {
        let typed = |(columns, rows): &PieceRows<'_>| {
            let values = columns[c].slice(rows.start, rows.len());
            match values.data_type() {
                DataType::Dictionary(..) => cast(&values, field.data_type()),
                _ => Ok(values),
            }
        };
        let typed = parts.iter().map(typed).collect::<Result<Vec<_>, _>>()?;
        concat(&typed.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<_, _>>()?;
    // There may be no column; the rows still count.
    let n = parts.iter().map(|(_, rows)| rows.len()).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(n));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn too_long(path: &Path, rows: usize, cause: &ArrowError) -> Error {
    Fault::new("too-much-text", format!("{rows} rows hold more than 2 GiB of text: {cause}"))
        .in_file(path)
        .hint("run with `--batch-rows 1024`")
        .into()
}
