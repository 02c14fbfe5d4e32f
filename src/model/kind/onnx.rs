//! The block `onnx` of a model: a file of the ONNX format, trained elsewhere and scored here.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::kind::ask_again::AskAgainBlock;
use crate::model::kind::command::{BroughtKnobs, without};
use crate::param::{ColumnName, Word};

/// A model file of the ONNX format, scored by the ONNX runtime, which is searched in
/// ORT_DYLIB_PATH, the system, and the Python package onnxruntime. It sees the features and the
/// sensitive columns as they are in the data, never the label. A missing number is NaN, a missing
/// text is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnnxBlock {
    /// The file.
    pub model: String,
    /// Which columns an input of the model gets, in order: `{X: [age, income]}`. Default: an input
    /// with the name of a column gets that column, and the only input of a model gets all columns,
    /// in the order of `data.sensitive` and `data.features`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub inputs: IndexMap<String, Vec<ColumnName>>,
    /// The output that holds the probabilities. Default: the one with `prob` in its name, or the
    /// only one that holds numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The positive class: its position in a table of probabilities, from 0, or its name in a map
    /// (ZipMap). Default: 1, which is the positive one of the classes 0 and 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive: Option<Word>,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
    /// Scores some rows again. Default: one in a hundred, once, and where the answers differ gates
    /// on the model are inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<AskAgainBlock>,
}

impl BroughtKnobs for OnnxBlock {
    fn omit(&self) -> Option<&[ColumnName]> {
        Some(&self.omit)
    }

    fn noun(&self) -> &'static str {
        "an ONNX file"
    }

    fn words(&self, _: Option<&[Word]>) -> String {
        format!("ONNX file {}{}", self.model, without(&self.omit))
    }

    fn is_asked_twice(&self) -> bool {
        true
    }
}
