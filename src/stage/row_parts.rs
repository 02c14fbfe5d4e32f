//! Rows in files of several parts: written in the order of the row groups, and copied into another
//! folder.

use std::path::Path;

use crate::data::exchange::row_stream::RowSink;
use crate::data::exchange::to_score::{PartsWriter, RowsBatch, part_name};
use crate::error::Result;
use crate::exec::files::{link, make_folder};
use crate::stage::row_context::RowContext;
use crate::stage::sharding::shard_rows::each_batch;
use crate::stage::sharding::share::RowShare;

/// The file of the rows of a shard.
const SHARD: &str = "rows.parquet";

/// Writes this many lists of rows part by part, in the order of the row groups: what `part` makes
/// of a list and a row group, or what shards have left. The numbers of parts; none where the stage
/// ends here: in a shard, whose rows go into a file of its own, which `create` makes.
pub(crate) fn write_lists<'w>(
    (passes, row_context): (&RowShare, RowContext<'_>),
    lists: usize,
    create: impl Fn(usize, &Path) -> Result<RowSink<'static>>,
    writer: impl Fn(usize) -> Result<PartsWriter<'w>>,
    part: impl Fn(usize, usize) -> Result<RowsBatch> + Sync,
) -> Result<Option<Vec<usize>>> {
    let of_shards = passes.row_lists(row_context.ctx, lists, |list, folder| {
        let mut file = create(list, &folder.join(SHARD))?;
        let part = |g: usize| part(list, g);
        each_part(row_context, part, |batch| file.push(batch))?;
        file.finish()
    })?;
    let Some(of_shards) = of_shards else { return Ok(None) };
    let parts = |list: usize| {
        let mut parts = writer(list)?;
        match of_shards.files(list) {
            None => each_part(row_context, |g| part(list, g), |batch| parts.push(&batch))?,
            Some(files) => each_batch(files, |batch| parts.push(&batch))?,
        }
        parts.finish()
    };
    (0..lists).map(parts).collect::<Result<_>>().map(Some)
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
