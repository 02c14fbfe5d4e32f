//! What the tables hold of a label of several classes.

use crate::report::read::panel::{KeyedRow, ResultKey, is_plain_audit};
use crate::report::read::tally::WeightedCount;
use crate::table::{CountRow, TransitionRow};
use std::collections::BTreeMap;

/// The class before and the class after, or the label and the prediction.
pub(crate) type ClassPair = (String, String);

/// Counts by two classes.
pub(crate) type ClassTallies = BTreeMap<ClassPair, WeightedCount>;

/// What the tables hold of a label of several classes.
#[derive(Default)]
pub(crate) struct ClassResults {
    /// Their names, in the order of the job; empty where the label has two sides.
    pub(crate) names: Vec<String>,
    /// By factual and counterfactual prediction, or by label and prediction where no set is
    /// involved.
    pub(crate) matrices: BTreeMap<ResultKey, ClassTallies>,
    /// Intervals of the shares of rows, by class before and after.
    pub(crate) transitions: BTreeMap<ResultKey, BTreeMap<ClassPair, (f64, f64)>>,
}

impl ClassResults {
    /// Reads the tables; nothing where the label has two sides.
    pub(crate) fn of(
        names: Vec<String>,
        counts: &[CountRow],
        transitions: &[TransitionRow],
    ) -> Self {
        let mut all = ClassResults { names, ..ClassResults::default() };
        if all.names.is_empty() {
            return all;
        }
        // People without a score are in no matrix.
        let is_scored = |row: &&CountRow| !row.predicted.is_empty();
        for row in counts.iter().filter(is_plain_audit).filter(is_scored) {
            let sides = if row.key.counterfactual.is_empty() {
                (row.label.to_string(), row.predicted.to_string())
            } else {
                (row.predicted.to_string(), row.predicted_cf.to_string())
            };
            let matrix = all.matrices.entry(row.key()).or_default();
            let tally = matrix.entry(sides).or_default();
            *tally = tally.plus(WeightedCount::new(row.n, row.weight));
        }
        for row in transitions.iter().filter(is_plain_audit) {
            if let Some(interval) = row.lo.zip(row.hi) {
                let of_key = all.transitions.entry(row.key()).or_default();
                of_key.insert((row.from_class.to_string(), row.to_class.to_string()), interval);
            }
        }
        all
    }

    /// Whether the label has several classes.
    pub(crate) fn are_there(&self) -> bool {
        !self.names.is_empty()
    }
}
