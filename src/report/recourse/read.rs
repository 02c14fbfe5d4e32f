//! What the page reads of the tables of recourse: all of the small ones, and of the long ones the subgroups that are shown.

use std::collections::BTreeSet;
use std::path::Path;

use crate::error::Result;
use crate::table::io::read_frame;
use crate::table::picked::read_picked;
use crate::table::recourse::{ACTIONS, AGGREGATED_RANKINGS, COMPARATIVES, ECD, RANKING_ANALYSIS, RECOURSE, RECOURSE_COLUMNS, SUBGROUPS};
use crate::table::{Frame, Record};

/// The tables of recourse as the page needs them.
pub(in crate::report) struct Tables {
    /// `recourse`.
    pub(super) comparisons: Frame,
    /// `recourse_columns`.
    pub(super) columns: Frame,
    /// `ranking_analysis`.
    pub(super) analysis: Frame,
    /// `aggregated_rankings`.
    pub(super) rankings: Frame,
    /// The rows of `subgroups` that have a place.
    pub(super) subgroups: Frame,
    /// `comparatives`.
    pub(super) comparatives: Frame,
    /// The rows of `actions` that these list.
    pub(super) actions: Frame,
    /// The rows of `ecd` of the subgroups that have a place.
    pub(super) ecd: Frame,
}

/// Whether a row is of a comparison.
pub(super) fn of(row: &Record<'_>, comparison: &Record<'_>) -> bool {
    ["recourse", "group_0", "group_1"].into_iter().all(|key| row.text(key) == comparison.text(key))
}

/// Definition, parameter and view of a row.
pub(super) fn question<'a>(row: &Record<'a>) -> [&'a str; 3] {
    [row.text("definition"), row.text("parameter"), row.text("view")]
}

impl Tables {
    /// Reads them.
    ///
    /// # Errors
    /// A table is damaged or of another version.
    pub(in crate::report) fn read(folder: &Path) -> Result<Tables> {
        let subgroups = read_picked(folder, &SUBGROUPS, |row| row.int("place").is_some())?;
        let comparatives = read_frame(folder, &COMPARATIVES)?;
        let shown: BTreeSet<i64> = subgroups.records().filter_map(|row| row.int("subgroup")).collect();
        let listed: BTreeSet<(i64, i64)> = comparatives.records().filter_map(|row| row.int("subgroup").zip(row.int("action"))).collect();
        // Of several comparisons some rows too many may be picked: whoever looks one up names the comparison.
        let is_listed = |row: &crate::table::picked::Looked<'_>| {
            row.int("subgroup").zip(row.int("action")).is_some_and(|key| shown.contains(&key.0) && listed.contains(&key))
        };
        Ok(Tables {
            comparisons: read_frame(folder, &RECOURSE)?,
            columns: read_frame(folder, &RECOURSE_COLUMNS)?,
            analysis: read_frame(folder, &RANKING_ANALYSIS)?,
            rankings: read_frame(folder, &AGGREGATED_RANKINGS)?,
            actions: read_picked(folder, &ACTIONS, is_listed)?,
            ecd: read_picked(folder, &ECD, |row| row.int("subgroup").is_some_and(|subgroup| shown.contains(&subgroup)))?,
            subgroups,
            comparatives,
        })
    }
}
