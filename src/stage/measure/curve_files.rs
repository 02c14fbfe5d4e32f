//! The table of curves. With slices it may be too long for memory, so the rows of each audit are
//! written to a file as they are measured, in the order of the table, and the files are joined.
//!
//! Memory: the rows of [`PARTS_AT_ONCE`] slices in one scope.

use std::path::{Path, PathBuf};

use rayon::prelude::*;

use crate::error::Result;
use crate::exec::files;
use crate::exec::pieces::WorkerPool;
use crate::metric::value::curves::CurveEvidence;
use crate::stage::measure::row_builder::RowBuilder;
use crate::table::file::{RowWriter, write_rows};
use crate::table::merged::join_tables;
use crate::table::{CurveRow, SharedText, TableRow};

/// Slices or classes whose rows are made in parallel.
const PARTS_AT_ONCE: usize = 16;

/// All people, a slice or a class of one audit, with its counts.
pub(crate) type CurvePart<'a, S> = (RowBuilder<'a>, &'a S);

/// The curves of all audits, each in a folder.
pub(crate) struct CurveFiles {
    folder: PathBuf,
    /// Arm, model, set and attribute with the folder of the audit.
    audits: Vec<([SharedText; 4], PathBuf)>,
}

impl CurveFiles {
    /// An empty table; `folder` is removed at the end.
    pub(crate) fn new(folder: PathBuf) -> Self {
        CurveFiles { folder, audits: Vec::new() }
    }

    /// Writes the curves of one audit, if they are requested.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn add<S: CurveEvidence>(
        &mut self,
        workers: &WorkerPool,
        mut parts: Vec<CurvePart<'_, S>>,
    ) -> Result<()> {
        parts.retain(|(_, counts)| counts.score_grid().is_some());
        parts.sort_by(|(a, _), (b, _)| (a.slice, a.class).cmp(&(b.slice, b.class)));
        let Some((first, counts)) = parts.first() else { return Ok(()) };
        let mut scopes = counts.curve_scopes();
        scopes.sort_by_cached_key(|scope| {
            first.key(scope.as_str(), scope.first_group(), scope.second_group())
        });
        let key = first.key("", None, None);
        let folder = self.folder.join(self.audits.len().to_string());
        files::make_folder(&folder)?;
        let mut writer = RowWriter::<CurveRow>::create(&folder)?;
        for scope in scopes {
            let rows_of = |(builder, counts): &CurvePart<'_, S>| {
                let mut curves = counts.curves(&builder.settings, scope);
                curves.sort_by_key(|curve| curve.metric.id);
                let Some(grid) = counts.score_grid() else { return Vec::new() };
                curves.iter().flat_map(|c| builder.curve_rows(grid, c)).collect::<Vec<_>>()
            };
            for parts in parts.chunks(PARTS_AT_ONCE) {
                let rows: Vec<Vec<CurveRow>> =
                    workers.within(|| parts.par_iter().map(rows_of).collect());
                rows.iter().try_for_each(|rows| writer.push(rows))?;
            }
        }
        writer.finish()?;
        self.audits.push(([key.arm, key.model, key.counterfactual, key.sensitive], folder));
        Ok(())
    }

    /// Writes the table.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn finish(mut self, out: &Path) -> Result<()> {
        if self.audits.is_empty() {
            return write_rows::<CurveRow>(out, &[]);
        }
        self.audits.sort();
        let folders: Vec<&Path> = self.audits.iter().map(|(_, folder)| folder.as_path()).collect();
        join_tables(&folders, CurveRow::TABLE, out)?;
        files::remove_folder(&self.folder)
    }
}
