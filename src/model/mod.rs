//! Scorers: rows in, one score in [0, 1] per row out, or one for each of several classes.
//!
//! A [`ModelTrainer`](kind::trained::ModelTrainer) is fitted on training rows and gives a
//! [`TrainedModel`], a [`Scorer`] that can be serialised: two types, so that an untrained model
//! cannot score. Scores computed elsewhere have no scorer, and those of a program are kept in order
//! by `score_spool`. The inputs and outputs of a model that is trained elsewhere are fixed by its
//! [`contract`]. How a score is compared with the threshold is said by
//! [`ThresholdRule`](kind::ThresholdRule), the same for the factual and the counterfactual row.
//! Strategies and metrics are unknown here.

pub(crate) mod contract;
pub(crate) mod encode;
pub(crate) mod fitted_threshold;
pub(crate) mod kind;
pub(crate) mod lightgbm;
pub(crate) mod logistic;
pub(crate) mod model_file;
pub(crate) mod onnx;
pub(crate) mod score_spool;
pub(crate) mod trees;

use crate::data::{Feature, FeatureRows};
use crate::error::Result;
use crate::model::encode::FeatureEncoder;
use crate::num::float_precision::FloatPrecision;

/// The inputs of a training, in addition to the rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TrainerInputs {
    /// The features of the rows.
    pub features: Vec<Feature>,
    /// Features that the model must not see.
    pub omit: Vec<String>,
    /// Seed of all random draws.
    pub seed: u64,
}

/// A model that can score: trained here, or trained elsewhere and read from a file.
pub trait Scorer: Send + Sync {
    /// Appends one score in [0, 1], the probability of the positive class, per row; of a label of
    /// several classes [`Self::width`] scores, in the order of the classes.
    ///
    /// # Errors
    /// An external model fails, or gives no probabilities.
    fn score(&self, rows: &FeatureRows, scores: &mut Vec<f64>) -> Result<()>;

    /// Number of scores of a row.
    fn width(&self) -> usize {
        1
    }

    /// The precision of the model's scores.
    fn precision(&self) -> FloatPrecision {
        FloatPrecision::Double
    }
}

/// A model that was trained here: it exposes its encoding, and can score any encoded vector.
pub trait TrainedModel: Scorer {
    /// The encoding of rows.
    fn encoder(&self) -> &FeatureEncoder;

    /// The score of one encoded row, all its columns in order.
    ///
    /// Indicators may lie between 0 and 1, or outside: sets of graphs with `levels: expected`.
    fn score_encoded(&self, encoded: &[f64]) -> f64;

    /// The log odds as a linear function of encoded columns, where they are one: the intercept, and
    /// one coefficient per column.
    fn log_odds(&self) -> Option<(f64, &[f64])> {
        None
    }

    /// The model as JSON: the artifact of its stage, read back by the function of its kind.
    fn to_json(&self) -> serde_json::Value;
}
