//! The number of rows of one group by label and prediction. Rows of weight 0 are only counted
//! separately.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::person::{Confusion, StateCells, answer_state};
use crate::metric::evidence::units::WeightSums;

/// The place of a row in [`StateCells`].
pub(crate) fn state_cell(label: Option<bool>, predicted: Option<bool>) -> usize {
    3 * answer_state(label) + answer_state(predicted)
}

/// The factual rows of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GroupFactualCounts {
    /// By label and prediction, each unknown, no or yes.
    pub(super) cells: [WeightSums; 9],
    /// Rows with a score exactly at the threshold.
    pub(crate) at_threshold: u64,
}

impl GroupFactualCounts {
    /// Adds one row, unless it weighs 0, with its weight (1 without weights), its label and
    /// prediction if known, and whether its score is exactly at the threshold.
    pub(crate) fn add(
        &mut self,
        label: Option<bool>,
        predicted: Option<bool>,
        at_threshold: bool,
        weight: u64,
    ) {
        if weight == 0 {
            return;
        }
        self.cells[state_cell(label, predicted)] += WeightSums::one(weight);
        self.at_threshold += u64::from(at_threshold);
    }

    /// The number of rows by label and prediction.
    pub(crate) fn states(&self) -> StateCells {
        self.cells.map(WeightSums::people)
    }

    /// The weight of the rows by label and prediction, in whole units.
    pub(crate) fn weights(&self) -> StateCells {
        self.cells.map(WeightSums::sum)
    }

    /// The number of rows whose label and prediction satisfy a condition.
    fn of(&self, holds: impl Fn(usize, usize) -> bool) -> u64 {
        let cells = self.cells.iter().enumerate().filter(|(i, _)| holds(i / 3, i % 3));
        cells.map(|(_, sums)| sums.people()).sum()
    }

    /// The number of rows with a positive weight.
    pub(crate) fn n(&self) -> u64 {
        self.of(|_, _| true)
    }

    /// Rows with the positive label.
    pub(crate) fn n_positive(&self) -> u64 {
        self.of(|label, _| label == 2)
    }

    /// Rows with a positive prediction.
    pub(crate) fn n_predicted_positive(&self) -> u64 {
        self.of(|_, predicted| predicted == 2)
    }

    /// Rows without a label.
    pub(crate) fn n_missing_label(&self) -> u64 {
        self.of(|label, _| label == 0)
    }

    /// Rows without a score, so without a prediction.
    pub(crate) fn n_missing_score(&self) -> u64 {
        self.of(|_, predicted| predicted == 0)
    }

    /// The confusion matrix, which metrics read.
    pub(crate) fn confusion(&self) -> Confusion {
        Confusion::from_states(self.states())
    }
}

additive!(GroupFactualCounts { cells, at_threshold });

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
            counts.add(label, predicted, predicted == Some(true), 3);
        }
        assert_eq!((counts.n(), counts.n_positive(), counts.n_predicted_positive()), (5, 2, 2));
        assert_eq!(
            (counts.n_missing_label(), counts.n_missing_score(), counts.at_threshold),
            (2, 2, 2)
        );
        let confusion = counts.confusion();
        assert_eq!((confusion.n(), confusion.predicted()), (2, 3));
        assert_eq!((confusion.predicted_positive(), confusion.predicted_as(true)), (1, 2));
    }
}
