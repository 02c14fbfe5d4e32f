//! Grows trees by LightGBM: gradient boosting (Ke et al. 2017) and random forests (Breiman 2001).
//!
//! They use the one encoding. Boosting minimises the log loss. A forest is LightGBM's `rf` on the
//! squared error of labels 0 and 1, so that a leaf holds the share of its positive training rows,
//! as in scikit-learn; its trees sample rows without replacement, and columns at each split. With
//! the log loss the leaves of `rf` would be one Newton step from the base rate, which is not a
//! share. Weights are divided by their mean over the training rows, so that their unit does not
//! matter; rows of weight 0 are left out. The library runs on one thread with its options for
//! repeatable results (`deterministic`, `force_row_wise`) and gets the rows in the order of the
//! prepared file, so the trees do not depend on threads or batches.
//! Choice: LightGBM drops columns without a usable split point before it reads the smallest leaf
//! size, and assumes 20 for it; so 20 is the smallest leaf size allowed, and where no column passes
//! the training is refused here.
//! Cost: 4 bytes for each training row and encoded column while the library copies them, then 1
//! byte; time is linear in rows, columns and trees. Training cannot be stopped half-way, so it runs
//! on a separate thread: an interrupted run ends at once and abandons that thread.

pub(crate) mod file;

use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::error::{Fault, Result};
use crate::model::TrainerInputs;
use crate::model::encode::FeatureEncoder;
use crate::model::trees::{TreeEnsemble, TreesArtifact, TreesModel, to_single};
use crate::num::fixed::FixedSum;
use crate::num::moments::scale_above;

/// Smallest number of rows on either side of a split point for LightGBM to keep a column.
const MIN_SIDE_ROWS: usize = 20;

/// The settings of trees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TreeSettings {
    /// How the leaves combine to a score.
    pub(crate) ensemble: TreeEnsemble,
    /// Number of trees, at least 1.
    pub trees: u64,
    /// Largest number of leaves of a tree, at least 2.
    pub leaves: u64,
    /// Smallest number of rows in a leaf, at least 20.
    pub smallest_leaf: u64,
    /// Learning rate of boosting: the weight of each new tree, above 0; a forest has none.
    pub learning_rate: f64,
    /// Penalty on the squared values of leaves, 0 or above.
    pub l2: f64,
    /// Share of the rows that each tree samples, in (0, 1]; below 1 for a forest.
    pub row_share: f64,
    /// Share of the encoded columns sampled, in (0, 1]: per tree in boosting, per split in a
    /// forest.
    pub column_share: f64,
}

impl TreeSettings {
    /// Whether rows or columns are drawn at random.
    pub fn draws(&self) -> bool {
        self.ensemble == TreeEnsemble::Forest || self.row_share < 1.0 || self.column_share < 1.0
    }
}

/// The training rows as the library takes them.
#[derive(Default)]
struct LightgbmMatrix {
    /// Row by row.
    values: Vec<f32>,
    labels: Vec<f32>,
    /// Empty where all rows have the same weight.
    weights: Vec<f32>,
    width: usize,
}

impl TreeSettings {
    /// Grows trees.
    ///
    /// # Errors
    /// No training rows, one class only, or no tree that can be split; memory does not suffice; the
    /// run is stopped; this build is without LightGBM.
    pub(crate) fn fit(
        &self,
        inputs: &TrainerInputs,
        rows: &TrainingRows<'_>,
    ) -> Result<TreesModel> {
        rows.check_both_classes()?;
        let encoder = FeatureEncoder::fit(&inputs.features, &inputs.omit, rows)?;
        let matrix = LightgbmMatrix::encode(&encoder, rows)?;
        if !matrix.can_split() {
            let what = format!(
                "none of the {} training rows' columns can be split for trees: no split has \
                 {MIN_SIDE_ROWS} rows on both sides",
                matrix.labels.len()
            );
            let hint = "train on more rows, or on columns that vary; `logistic` needs fewer";
            return Fault::new("undetermined-model", what).fail(hint);
        }
        let text = library::train(matrix, self.parameters(inputs.seed), &|| rows.check_running())?;
        let artifact = TreesArtifact { ensemble: self.ensemble, encoder, lightgbm: text };
        let model = TreesModel::new(artifact).map_err(|why| {
            Fault::new("training-failed", format!("the trees of LightGBM cannot be used: {why}"))
                .hint("this is a bug of cfaudit: please report it with the job")
        })?;
        if model.is_constant() {
            let what = format!(
                "no tree was split: every leaf must hold {} training rows and make the labels \
                 purer",
                self.smallest_leaf
            );
            return Fault::new("undetermined-model", what).fail(
                "give `smallest_leaf` a smaller number or `column_share` a larger one, or \
                     train on more rows",
            );
        }
        let (n, asked) = (model.n_trees(), self.trees);
        if n < asked as usize {
            // A model of the job also gets an issue in the run; for an arm of an experiment this
            // line is the only report.
            tracing::debug!(
                "{n} of {asked} trees: the next trees could not split on the columns that they \
                 drew; use a larger `column_share`"
            );
        }
        Ok(model)
    }

    /// The parameters by LightGBM's names.
    fn parameters(&self, seed: u64) -> serde_json::Value {
        let (objective, boosting, columns) = match self.ensemble {
            TreeEnsemble::Boosting => ("binary", "gbdt", "feature_fraction"),
            TreeEnsemble::Forest => ("regression", "rf", "feature_fraction_bynode"),
        };
        serde_json::json!({
            "objective": objective,
            "boosting": boosting,
            "num_iterations": self.trees,
            "num_leaves": self.leaves,
            "min_data_in_leaf": self.smallest_leaf,
            "learning_rate": self.learning_rate,
            "lambda_l2": self.l2,
            "bagging_freq": u8::from(self.row_share < 1.0),
            "bagging_fraction": self.row_share,
            columns: self.column_share,
            // The library takes a seed of 31 bits.
            "seed": if self.draws() { seed >> 33 } else { 0 },
            "deterministic": true,
            "force_row_wise": true,
            "num_threads": 1,
            "verbosity": -1,
        })
    }
}

impl LightgbmMatrix {
    fn encode(encoder: &FeatureEncoder, rows: &TrainingRows<'_>) -> Result<LightgbmMatrix> {
        let width = encoder.width();
        let (_, n) = rows.count()?;
        let scale = scale_above(rows.largest_weight()?);
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let mut whole = LightgbmMatrix { width, ..LightgbmMatrix::default() };
        if whole.values.try_reserve_exact(n.saturating_mul(width)).is_err() {
            let what = format!(
                "{n} training rows of {width} encoded columns do not fit into memory for LightGBM"
            );
            return Fault::new("too-many-rows", what)
                .fail("train on fewer rows: give `data.split.share.train` a smaller share");
        }
        let mut weights: Vec<f64> = Vec::new();
        let mut total = FixedSum::ZERO;
        rows.fold(
            |group| Self::encode_group(encoder, group),
            |(part, part_weights)| {
                whole.values.extend(part.values);
                whole.labels.extend(part.labels);
                part_weights.iter().for_each(|w| total.add(w / scale));
                weights.extend(part_weights);
            },
        )?;
        let mean = total.to_f64() / weights.len() as f64;
        if weights.iter().any(|&w| w != weights[0]) {
            whole.weights = weights.iter().map(|w| (w / scale / mean) as f32).collect();
        }
        Ok(whole)
    }

    /// The encoded rows of a group with a weight above 0, and their weights.
    ///
    /// The weights are empty where all are 1.
    fn encode_group(encoder: &FeatureEncoder, group: &TrainingBatch) -> (LightgbmMatrix, Vec<f64>) {
        let mut part = LightgbmMatrix { width: encoder.width(), ..LightgbmMatrix::default() };
        let mut weights = Vec::new();
        let mut entries = Vec::new();
        for i in (0..group.rows.n).filter(|&i| group.weight(i) > 0.0) {
            encoder.encode(&group.rows, i, &mut entries);
            let start = part.values.len();
            part.values.resize(start + part.width, 0.0);
            entries
                .iter()
                .for_each(|&(column, value)| part.values[start + column] = to_single(value));
            part.labels.push(f32::from(u8::from(group.labels[i])));
            if !group.weights.is_empty() {
                weights.push(group.weight(i));
            }
        }
        (part, weights)
    }

    /// Whether some column has a split point with 20 rows on either side.
    ///
    /// That is: its 20th smallest value is below its 20th largest.
    fn can_split(&self) -> bool {
        let n = self.labels.len();
        let splits = |column: usize| {
            let mut values: Vec<f32> =
                self.values.iter().skip(column).step_by(self.width).copied().collect();
            let low = *values.select_nth_unstable_by(MIN_SIDE_ROWS - 1, f32::total_cmp).1;
            let high = *values.select_nth_unstable_by(n - MIN_SIDE_ROWS, f32::total_cmp).1;
            low < high
        };
        n >= 2 * MIN_SIDE_ROWS && (0..self.width).any(splits)
    }
}

#[cfg(feature = "lightgbm")]
mod library {
    //! The calls of the library, on a separate thread.

    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    use lightgbm3::{Booster, Dataset};

    use super::LightgbmMatrix;
    use crate::error::{Error, Fault, Result};

    /// How often a training checks whether the run is stopped.
    const CHECK_INTERVAL: Duration = Duration::from_millis(50);

    /// Trains and returns the trees as text.
    pub(super) fn train(
        matrix: LightgbmMatrix,
        parameters: serde_json::Value,
        check: &dyn Fn() -> Result<()>,
    ) -> Result<String> {
        let (sender, receiver) = channel();
        let work = move || {
            // The receiver is gone where the run was stopped.
            let _ = sender.send(grow(matrix, &parameters));
        };
        let thread = std::thread::Builder::new()
            .name("lightgbm".to_owned())
            .spawn(work)
            .map_err(|e| Error::operator("start", "threads", e, None))?;
        let grown = loop {
            match receiver.recv_timeout(CHECK_INTERVAL) {
                Ok(grown) => break grown,
                Err(RecvTimeoutError::Timeout) => check()?,
                Err(RecvTimeoutError::Disconnected) => std::panic::resume_unwind(
                    thread.join().expect_err("a thread that ends in order has sent its trees"),
                ),
            }
        };
        grown.map_err(|e| {
            let hint = "the values, weights or number of the training rows may exceed the limits \
                        of LightGBM: see `cfaudit data`";
            Fault::new("training-failed", format!("LightGBM did not train: {e}")).hint(hint).into()
        })
    }

    fn grow(
        matrix: LightgbmMatrix,
        parameters: &serde_json::Value,
    ) -> Result<String, lightgbm3::Error> {
        let LightgbmMatrix { values, labels, weights, width } = matrix;
        // The library refuses a width beyond this.
        let width = i32::try_from(width).unwrap_or(0);
        let mut rows = Dataset::from_slice(&values, &labels, width, true)?;
        // The library has its own copy.
        drop(values);
        if !weights.is_empty() {
            rows.set_weights(&weights)?;
        }
        Booster::train(rows, parameters)?.save_string()
    }
}

#[cfg(not(feature = "lightgbm"))]
mod library {
    //! Replaces the library in builds without it; `check` has refused jobs that need it.

    use super::LightgbmMatrix;
    use crate::error::{Fault, Result};

    pub(super) fn train(
        matrix: LightgbmMatrix,
        _: serde_json::Value,
        _: &dyn Fn() -> Result<()>,
    ) -> Result<String> {
        drop(matrix.weights);
        Err(Fault::new("training-failed", "this build of cfaudit does not include LightGBM").into())
    }
}

#[cfg(feature = "lightgbm")]
#[cfg(test)]
mod tests;
