//! Weighted counts and bins of histograms as the tables hold them.

use serde::{Deserialize, Serialize};

/// Cases, and what they weigh: their number where the job has no weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WeightedCount {
    /// The number.
    pub(crate) n: i64,
    /// The weight.
    pub(crate) weight: f64,
}

impl WeightedCount {
    /// Cases with what they weigh in a table; once each where it says nothing.
    pub(crate) fn new(n: i64, weight: Option<f64>) -> Self {
        let n = n.max(0);
        WeightedCount { n, weight: weight.unwrap_or(n as f64).max(0.0) }
    }

    /// The sum of these cases and others.
    #[must_use]
    pub(crate) fn plus(self, other: WeightedCount) -> Self {
        WeightedCount { n: self.n.saturating_add(other.n), weight: self.weight + other.weight }
    }

    /// The share of a whole that these weigh; none where the whole weighs nothing.
    pub(crate) fn part_of(self, whole: WeightedCount) -> Option<f64> {
        (whole.weight > 0.0).then(|| self.weight / whole.weight)
    }
}

/// One bin of a histogram: edges and what lies in it.
pub(crate) type HistogramBin = (f64, f64, WeightedCount);
