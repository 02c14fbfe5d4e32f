//! How many rows of one group there are, by label and prediction. Rows of weight 0 count for
//! nothing: only how many they are is known.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::person::{Confusion, StateCells, answer_state};

/// The factual rows of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupFactualCounts {
    /// By label and prediction, each unknown, no or yes.
    cells: [[u64; 3]; 3],
    at_threshold: u64,
    /// Rows of weight 0, in no cell.
    #[serde(default)]
    weightless: u64,
}

impl GroupFactualCounts {
    /// Adds one row: its label and prediction where known, and whether its score lies exactly at
    /// the threshold.
    pub(crate) fn add(&mut self, label: Option<bool>, predicted: Option<bool>, at_threshold: bool) {
        self.cells[answer_state(label)][answer_state(predicted)] += 1;
        self.at_threshold += u64::from(at_threshold);
    }

    /// Adds a row of weight 0.
    pub(crate) fn add_weightless(&mut self) {
        self.weightless += 1;
    }

    /// All rows, also those of weight 0.
    pub(crate) fn rows(&self) -> u64 {
        self.n() + self.weightless
    }

    /// By label and prediction, each unknown, no or yes.
    pub(crate) fn states(&self) -> StateCells {
        let mut all = [0; 9];
        all.copy_from_slice(self.cells.as_flattened());
        all
    }

    /// Rows that count.
    pub(crate) fn n(&self) -> u64 {
        self.cells.as_flattened().iter().sum()
    }

    /// Rows with the positive label.
    pub(crate) fn n_positive(&self) -> u64 {
        self.cells[2].iter().sum()
    }

    /// Rows with a positive prediction.
    pub(crate) fn n_predicted_positive(&self) -> u64 {
        self.cells.iter().map(|row| row[2]).sum()
    }

    /// Rows without a label.
    pub(crate) fn n_missing_label(&self) -> u64 {
        self.cells[0].iter().sum()
    }

    /// Rows without a score, so without a prediction.
    pub(crate) fn n_missing_score(&self) -> u64 {
        self.cells.iter().map(|row| row[0]).sum()
    }

    /// Rows with a score exactly at the threshold.
    pub(crate) fn n_at_threshold(&self) -> u64 {
        self.at_threshold
    }

    /// What metrics read.
    pub(crate) fn confusion(&self) -> Confusion {
        Confusion::from_states(self.states())
    }
}

additive!(GroupFactualCounts { cells, at_threshold, weightless });

#[cfg(test)]
mod tests {
    use super::GroupFactualCounts;

    #[test]
    fn missing_values_are_counted() {
        let mut counts = GroupFactualCounts::default();
        for (label, predicted) in [
            (Some(true), Some(true)),
            (Some(false), None),
            (None, Some(true)),
            (None, None),
            (Some(true), Some(false)),
        ] {
            counts.add(label, predicted, predicted == Some(true));
        }
        assert_eq!((counts.n(), counts.n_positive(), counts.n_predicted_positive()), (5, 2, 2));
        assert_eq!(
            (counts.n_missing_label(), counts.n_missing_score(), counts.n_at_threshold()),
            (2, 2, 2)
        );
        let confusion = counts.confusion();
        assert_eq!((confusion.n(), confusion.predicted()), (2, 3));
        assert_eq!((confusion.predicted_positive(), confusion.predicted_as(true)), (1, 2));
    }
}
