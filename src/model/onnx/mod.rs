//! Scores of an ONNX model by the ONNX runtime; its library is loaded only when needed.
//!
//! Rows become the inputs of the model by name: a matrix of several columns, or one column each.
//! Numbers go into inputs of numbers, text into inputs of text; the levels of a coded column are
//! numbers where all of them are. The score is the probability of the positive class: a column of
//! the output (LinearClassifier, TreeEnsembleClassifier), the entry of a map (ZipMap), or the
//! output itself.
//! Choice: each session runs on one thread, and row groups run in parallel in sessions of their
//! own, because the order in which a session adds depends on its threads. Rows go in blocks of
//! 4,096; a single row is sent twice, since the runtime computes one row in another way than
//! several. So a score does not depend on the rows around it.
//! Choice: scores outside of their scale by at most the rounding of single precision, 1e-6 of its
//! width, are clamped.
//! Cost: a session per thread, each with the model in memory.

use std::path::PathBuf;

use crate::data::Feature;
use crate::num::score_scale::ScoreScale;

/// The settings of a model in the job.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OnnxParams {
    /// The file.
    pub path: PathBuf,
    /// Inputs with their columns, where the job names them.
    pub inputs: Vec<(String, Vec<String>)>,
    /// The output, where the job names it.
    pub output: Option<String>,
    /// The positive class, where the job names it.
    pub positive: Option<String>,
    /// The scale of the scores.
    pub scale: ScoreScale,
    /// The features of the rows.
    pub features: Vec<Feature>,
    /// Features that the model must not see.
    pub omit: Vec<String>,
}

#[cfg(feature = "onnx")]
pub(crate) mod library;
pub(crate) mod weight_files;

#[cfg(feature = "onnx")]
mod columns;
#[cfg(feature = "onnx")]
mod runtime;

#[cfg(feature = "onnx")]
pub(crate) use runtime::OnnxScorer;

#[cfg(test)]
#[cfg(feature = "onnx")]
mod tests;
