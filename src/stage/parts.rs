//! Rows of a folder part by part: written in the order of the row groups, and put into another
//! folder.

use std::path::Path;

use crate::data::exchange::to_score::{PartsWriter, RowsBatch, part_name};
use crate::error::Result;
use crate::exec::files::{link, make_folder};
use crate::stage::row_context::RowContext;

/// Writes rows part by part, in the order of the row groups; the number of parts.
pub(crate) fn write_parts(
    row_context: RowContext<'_>,
    mut parts: PartsWriter<'_>,
    part: impl Fn(usize) -> Result<RowsBatch> + Sync,
) -> Result<usize> {
    let counted = |g| {
        let batch = part(g)?;
        Ok((batch.num_rows() as u64, batch))
    };
    row_context.row_groups().in_order(counted, |_, batch| parts.push(&batch))?;
    parts.finish()
}

/// Puts the parts of one folder into another.
pub(crate) fn link_parts(from: &Path, parts: usize, to: &Path) -> Result<()> {
    make_folder(to)?;
    (0..parts).map(part_name).try_for_each(|name| link(&from.join(&name), &to.join(&name)))
}
