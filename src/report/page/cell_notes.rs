//! The notes below the values of a table.

use serde::Serialize;

use crate::table::MetricRow;

/// What is below the values of a table: counts, intervals and their level, if there are any.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Below {
    levels: Vec<f64>,
    counted: bool,
    weighted: bool,
    /// Repeats of the placebo.
    repeats: Option<i64>,
}

impl Below {
    /// The notes for a cell that shows this measure.
    pub(crate) fn of(measure: &MetricRow) -> Self {
        let is_there = measure.value.is_some();
        let level = measure.level.filter(|_| is_there && measure.ends().is_some());
        Below {
            levels: level.into_iter().collect(),
            counted: is_there && measure.counts().is_some(),
            weighted: is_there && measure.is_weighted(),
            repeats: measure
                .placebo_repeats
                .filter(|_| measure.placebo().is_some_and(|(lo, hi)| lo < hi)),
        }
    }

    /// The notes of two cells together.
    pub(crate) fn and(mut self, other: &Below) -> Self {
        self.levels.extend(&other.levels);
        self.levels.sort_by(f64::total_cmp);
        self.levels.dedup();
        Below {
            levels: self.levels,
            counted: self.counted || other.counted,
            weighted: self.weighted || other.weighted,
            repeats: self.repeats.max(other.repeats),
        }
    }
}
