//! Cuts pieces of any length into row groups of equal length and encodes them on all threads.
//!
//! The files of the stages are aligned row group by row group, so the groups must not depend on the
//! partition of the source. A piece that is a whole row group is not copied.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;

use crate::error::{Error, Fault, Result};
use crate::exec::pieces::WorkerPool;
use crate::table::file::{GroupEncoder, GroupWriter};

/// Rows that arrive together.
pub(crate) trait RowPiece: Send + Sync {
    /// Number of rows.
    fn n_rows(&self) -> usize;

    /// One batch of ranges of pieces, in this order.
    ///
    /// # Errors
    /// The texts of a column are too long for one batch.
    fn gather(
        schema: &SchemaRef,
        parts: &[(&Self, Range<usize>)],
    ) -> Result<RecordBatch, ArrowError>;
}

impl RowPiece for RecordBatch {
    fn n_rows(&self) -> usize {
        self.num_rows()
    }

    fn gather(
        schema: &SchemaRef,
        parts: &[(&Self, Range<usize>)],
    ) -> Result<RecordBatch, ArrowError> {
        let slices: Vec<RecordBatch> =
            parts.iter().map(|(batch, rows)| batch.slice(rows.start, rows.len())).collect();
        match slices.as_slice() {
            // The schema may say how the columns are written.
            [whole] => RecordBatch::try_new(Arc::clone(schema), whole.columns().to_vec()),
            _ => concat_batches(schema, &slices),
        }
    }
}

/// A Parquet file written from pieces that arrive in order.
pub(crate) struct RecutWriter<'a, P = RecordBatch> {
    encoder: GroupEncoder,
    writer: GroupWriter,
    schema: SchemaRef,
    path: PathBuf,
    workers: &'a WorkerPool,
    group_rows: usize,
    waiting: VecDeque<P>,
    /// Rows of the first waiting piece that are written already.
    n_done: usize,
    /// Rows that wait.
    n_waiting: usize,
}

impl<'a, P: RowPiece> RecutWriter<'a, P> {
    /// Creates the file; every row group but the last will have `group_rows` rows.
    pub(crate) fn create(
        path: &Path,
        schema: Schema,
        workers: &'a WorkerPool,
        group_rows: usize,
    ) -> Result<Self> {
        RecutWriter::with_notes(path, schema, &[], workers, group_rows)
    }

    /// As [`Self::create`], with metadata.
    pub(crate) fn with_notes(
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
            schema: schema.into(),
            path: path.to_path_buf(),
            workers,
            group_rows,
            waiting: VecDeque::new(),
            n_done: 0,
            n_waiting: 0,
        })
    }

    /// Appends a piece; writes as soon as every thread has a row group to encode.
    pub(crate) fn push(&mut self, piece: P) -> Result<()> {
        self.n_waiting += piece.n_rows();
        self.waiting.push_back(piece);
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
        let mut cut: Vec<Vec<(&P, Range<usize>)>> = Vec::with_capacity(groups);
        let (mut piece, mut from) = (0, self.n_done);
        for group in 0..groups {
            let mut missing = self.group_rows.min(self.n_waiting - group * self.group_rows);
            let mut parts = Vec::new();
            while missing > 0 {
                let of = &self.waiting[piece];
                let to = of.n_rows().min(from + missing);
                if from < to {
                    parts.push((of, from..to));
                }
                missing -= to - from;
                (piece, from) = if to == of.n_rows() { (piece + 1, 0) } else { (piece, to) };
            }
            cut.push(parts);
        }
        let (encoder, schema, path) = (&self.encoder, &self.schema, &self.path);
        let encode = |group: usize| {
            let batch =
                P::gather(schema, &cut[group]).map_err(|e| too_long(path, self.group_rows, &e))?;
            encoder.encode(&batch)
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

fn too_long(path: &Path, rows: usize, cause: &ArrowError) -> Error {
    Fault::new("too-much-text", format!("{rows} rows hold more than 2 GiB of text: {cause}"))
        .in_file(path)
        .hint("run with `--batch-rows 1024`")
        .into()
}
