//! Reads back the counterfactuals that an output folder keeps: what changed in each.

use std::path::Path;

use crate::data::exchange::to_score::{CHANGED, part_name};
use crate::data::values::SourceValues;
use crate::error::{Error, FOLDER_CHANGED_HINT, Result};
use crate::table::file::{FileOwner, ParquetFile};

/// The columns that are read.
const COLUMNS: [&str; 5] = ["row_id", "sensitive", "to_group", "cf_index", CHANGED];

/// Hands every counterfactual of the folder of a set to `each`: `row_id`, `sensitive`, `to_group`
/// and `cf_index` as texts, then what changed; nothing where the folder is not there.
///
/// # Errors
/// A file is damaged, or lacks a column.
pub(crate) fn each_change(folder: &Path, mut each: impl FnMut([&str; 4], &str)) -> Result<()> {
    for part in 0.. {
        let path = folder.join(part_name(part));
        if !path.exists() {
            break;
        }
        let file = ParquetFile::open(&path, FileOwner::Program)?;
        let lost = |cause: String| Error::operator("read", &path, cause, FOLDER_CHANGED_HINT);
        for group in 0..file.n_groups() {
            let batch = file.read_group(group, Some(&COLUMNS))?;
            let column = |name: &str| {
                let array = batch.column_by_name(name);
                let array = array.ok_or_else(|| lost(format!("it has no column `{name}`")))?;
                SourceValues::new(array).map_err(lost)
            };
            let columns: Vec<SourceValues> =
                COLUMNS.iter().map(|name| column(name)).collect::<Result<_>>()?;
            for row in 0..batch.num_rows() {
                let word = |column: usize| columns[column].word(row).unwrap_or_default();
                let [id, sensitive, to, index, changed] = [0, 1, 2, 3, 4].map(word);
                each([&id, &sensitive, &to, &index], &changed);
            }
        }
    }
    Ok(())
}
