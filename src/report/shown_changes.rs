//! Which changes between two runs are shown, and in which order: clear ones first, the clearest at
//! the top; what could not be compared last.
//!
//! - Text and Markdown of `cfaudit diff`: clear ones; with `--all` all that have a value in both
//!   runs.
//! - Its JSON: clear ones; with `--all` every row of the table.
//! - Its page, and the annex of a run with `against`: the first clear ones, and in drawings each
//!   direction of which a rate differs.
//! - `report.html` of such a run: rates of harm and accuracy, worse ones first
//!   (`evidence/changes.rs`).

use crate::table::ChangeRow;

/// How far zero lies outside the interval, in halves of its width; below 1 where it lies inside.
pub(crate) fn clearness(difference: Option<f64>, ends: Option<(f64, f64)>) -> f64 {
    match (difference, ends) {
        (Some(0.0), Some(_)) => 0.0,
        (Some(difference), Some((lo, hi))) => {
            let facing = if difference > 0.0 { difference - lo } else { hi - difference };
            if facing > 0.0 { difference.abs() / facing } else { f64::MAX }
        }
        _ => -1.0,
    }
}

/// The changes of two runs in the order in which they are shown.
pub(crate) struct ShownChanges<'a>(Vec<&'a ChangeRow>);

impl<'a> ShownChanges<'a> {
    /// The changes in the rows of a table, the clearest first.
    pub(crate) fn of(changes: &'a [ChangeRow]) -> Self {
        let mut rows: Vec<&ChangeRow> = changes.iter().collect();
        let rank = |row: &&ChangeRow| if row.status == "compared" { row.clearness() } else { -2.0 };
        // The sort is stable, so what is equally clear keeps the order of the table.
        rows.sort_by(|x, y| rank(y).total_cmp(&rank(x)));
        ShownChanges(rows)
    }

    /// Every row.
    pub(crate) fn all(&self) -> impl Iterator<Item = &'a ChangeRow> + Clone {
        self.0.iter().copied()
    }

    /// The clear ones: with `all` also others that have a value in both runs.
    pub(crate) fn printed(&self, all: bool) -> impl Iterator<Item = &'a ChangeRow> {
        let has_both = |row: &ChangeRow| ["compared", "refitted"].contains(&row.status.as_str());
        self.all().filter(move |row| row.is_clear() || all && has_both(row))
    }

    /// The clear ones: with `all` every row.
    pub(crate) fn listed(&self, all: bool) -> impl Iterator<Item = &'a ChangeRow> {
        self.all().filter(move |row| all || row.is_clear())
    }
}

impl ChangeRow {
    /// Whether it is clear.
    pub(crate) fn is_clear(&self) -> bool {
        self.clear == 1
    }

    /// Whether it is known if it is clear.
    pub(crate) fn is_judged(&self) -> bool {
        self.status == "compared" && self.difference.is_some()
    }

    /// How clear it is.
    pub(crate) fn clearness(&self) -> f64 {
        clearness(self.difference, self.lo.zip(self.hi))
    }
}
