//! Rows of a folder part by part: written in the order of the row groups, and put into another
//! folder.

use std::path::{Path, PathBuf};

use crate::data::exchange::row_stream::{RawBatch, RowFile, RowSink};
use crate::data::exchange::to_score::{PartsWriter, RowsBatch, part_name};
use crate::error::Result;
use crate::exec::files::{link, make_folder};
use crate::stage::row_context::RowContext;
use crate::stage::sharding::shard_rows::each_batch;

/// The file of the rows of a shard.
const SHARD: &str = "rows.parquet";

/// Writes rows part by part, in the order of the row groups: those that `part` makes, or those that
/// shards have left in `files`. The number of parts.
pub(crate) fn write_parts(
    row_context: RowContext<'_>,
    mut parts: PartsWriter<'_>,
    files: Option<&[PathBuf]>,
    part: impl Fn(usize) -> Result<RowsBatch> + Sync,
) -> Result<usize> {
    match files {
        None => each_part(row_context, part, |batch| parts.push(&batch))?,
        Some(files) => each_batch(files, |batch| parts.push(&batch))?,
    }
    parts.finish()
}

/// The file of the rows of a shard in a folder.
pub(crate) fn shard_file(folder: &Path) -> PathBuf {
    folder.join(SHARD)
}

/// Writes the rows of a shard, which later become parts.
pub(crate) fn write_shard(
    row_context: RowContext<'_>,
    file: RowFile,
    part: impl Fn(usize) -> Result<RowsBatch> + Sync,
) -> Result<()> {
    let mut file = Box::new(file);
    each_part(row_context, part, |batch| file.push(RawBatch::of(batch)))?;
    file.finish()
}

fn each_part(
    row_context: RowContext<'_>,
    part: impl Fn(usize) -> Result<RowsBatch> + Sync,
    mut take: impl FnMut(RowsBatch) -> Result<()>,
) -> Result<()> {
    let counted = |g| {
        let batch = part(g)?;
        Ok((batch.num_rows() as u64, batch))
    };
    row_context.row_groups().in_order(counted, |_, batch| take(batch))
}

/// Puts the parts of one folder into another.
pub(crate) fn link_parts(from: &Path, parts: usize, to: &Path) -> Result<()> {
    make_folder(to)?;
    (0..parts).map(part_name).try_for_each(|name| link(&from.join(&name), &to.join(&name)))
}
