//! What the tables hold of a label of several classes.

use crate::report::read::panel::{KeyedRow, ReportedValue, ResultKey, is_plain_audit, measure};
use crate::report::read::tally::WeightedCount;
use crate::table::{CountRow, MetricRow, TransitionRow};
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
    /// Values of a class against all others, by class.
    pub(crate) measures: BTreeMap<String, BTreeMap<ResultKey, BTreeMap<String, ReportedValue>>>,
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
        metrics: &[MetricRow],
        counts: &[CountRow],
        transitions: &[TransitionRow],
    ) -> Self {
        let mut all = ClassResults { names, ..ClassResults::default() };
        if all.names.is_empty() {
            return all;
        }
        for row in metrics.iter().filter(is_plain_audit).filter(|row| !row.class.is_empty()) {
            let of_class = all.measures.entry(row.class.to_string()).or_default();
            of_class.entry(row.key()).or_default().insert(row.metric.to_string(), measure(row));
        }
        // Who has no score is in no matrix.
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

    /// Every value of a class against all others, with the class.
    pub(crate) fn measures(
        &self,
    ) -> impl Iterator<Item = (&str, &ResultKey, &BTreeMap<String, ReportedValue>)> + Clone {
        self.measures.iter().flat_map(|(class, keys)| {
            keys.iter().map(move |(key, metrics)| (class.as_str(), key, metrics))
        })
    }

    pub(crate) fn measure(
        &self,
        class: &str,
        key: &ResultKey,
        metric: &str,
    ) -> Option<&ReportedValue> {
        self.measures.get(class)?.get(key)?.get(metric)
    }
}
