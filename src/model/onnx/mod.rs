//! Scores of an ONNX model by the ONNX runtime; its library is loaded only when needed.
//!
//! Which columns an input gets and which class is the score is settled by the contract
//! ([`crate::model::contract`]), for which the file describes itself here: its inputs and outputs
//! by the runtime, its classes and levels by its graph. Values are those of the source
//! ([`crate::data::source_view`]): numbers in inputs of numbers, where a boolean is 1 or 0 and a
//! missing value NaN; in an input of texts what Python's `str` writes (`True`, `1`, `1.0`,
//! `1e-05`), and for a missing value the empty text or that of the job. The score is a column of
//! the output (LinearClassifier, TreeEnsembleClassifier), the entry of a map (ZipMap), or the
//! output itself.
//! Choice: each session runs on one thread, and row groups run in parallel in sessions of their
//! own, because the order in which a session adds depends on its threads. Rows go in blocks of
//! 4,096; a single row is sent twice, since the runtime computes one row in another way than
//! several. So a score does not depend on the rows around it. A file with a fixed number of rows
//! gets as many, the last one repeated.
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
    /// The output, where the job names it.
    pub output: Option<String>,
    /// What a missing value is in an input of text.
    pub missing_text: String,
    /// The scale of the scores.
    pub scale: ScoreScale,
    /// The features of the rows.
    pub features: Vec<Feature>,
}

#[cfg(feature = "onnx")]
pub(crate) mod library;
mod protobuf;
pub(crate) mod weight_files;

#[cfg(feature = "onnx")]
mod graph;
#[cfg(feature = "onnx")]
mod input_values;
#[cfg(feature = "onnx")]
mod runtime;

#[cfg(feature = "onnx")]
pub(crate) use runtime::OnnxScorer;

#[cfg(feature = "onnx")]
#[cfg(test)]
mod tests;
