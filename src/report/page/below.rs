//! What is below the values of a table.

use serde::Serialize;

use crate::report::read::panel::ReportedValue;

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
    /// Of a table that shows these.
    pub(crate) fn of<'a>(measures: impl IntoIterator<Item = &'a ReportedValue>) -> Self {
        let mut below = Below::default();
        for measure in measures {
            if measure.placebo.is_some_and(|(lo, hi)| lo < hi) {
                below.repeats = below.repeats.max(measure.repeats);
            }
            if measure.value.is_some() {
                below.weighted |= measure.weights.is_some();
                below.counted |= measure.counts.is_some();
                below.levels.extend(measure.level.filter(|_| measure.interval.is_some()));
            }
        }
        below.levels.sort_by(f64::total_cmp);
        below.levels.dedup();
        below
    }
}
