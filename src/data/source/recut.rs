//! Cuts batches of any length into row groups of equal length and encodes them on all threads.
//!
//! The files of the stages are aligned row group by row group, so the groups must not depend on the
//! partition of the source.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};

use crate::error::{Fault, Result};
use crate::exec::pieces::WorkerPool;
use crate::table::file::{GroupEncoder, GroupWriter};

/// A Parquet file written from batches that arrive in order.
pub(crate) struct RecutWriter<'a> {
    encoder: GroupEncoder,
    writer: GroupWriter,
    schema: SchemaRef,
    path: PathBuf,
    workers: &'a WorkerPool,
    group_rows: usize,
    waiting: Vec<RecordBatch>,
    n_waiting: usize,
}

impl<'a> RecutWriter<'a> {
    /// Creates the file; every row group but the last will have `group_rows` rows.
    pub(crate) fn create(
        path: &Path,
        schema: Schema,
        workers: &'a WorkerPool,
        group_rows: usize,
    ) -> Result<Self> {
        RecutWriter::with_notes(path, schema, &[], workers, group_rows)
    }

    /// The same with metadata.
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
            waiting: Vec::new(),
            n_waiting: 0,
        })
    }

    /// Appends a batch; writes as soon as every thread has a row group to encode.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        self.n_waiting += batch.num_rows();
        self.waiting.push(batch);
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

    fn write(&mut self, groups: usize) -> Result<()> {
        let too_long = |e: arrow::error::ArrowError| {
            Fault::new(
                "too-much-text",
                format!("{} rows hold more than 2 GiB of text: {e}", self.group_rows),
            )
            .in_file(&self.path)
            .hint("run with a smaller --batch-rows")
        };
        let all = concat_batches(&self.schema, &self.waiting).map_err(too_long)?;
        let (rows, step) = (all.num_rows(), self.group_rows);
        let (encoder, writer) = (&self.encoder, &mut self.writer);
        let encode =
            |group: usize| encoder.encode(&all.slice(group * step, step.min(rows - group * step)));
        self.workers.map(groups, encode, |_, encoded| writer.append(encoded))?;
        let done = rows.min(groups * step);
        self.waiting.clear();
        if done < rows {
            self.waiting.push(all.slice(done, rows - done));
        }
        self.n_waiting = rows - done;
        Ok(())
    }
}
