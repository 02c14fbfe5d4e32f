//! The block `onnx` of a model: a file of the ONNX format, trained elsewhere and scored here.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::contract::ContractTerms;
use crate::model::kind::command::{ExternalModel, without};
use crate::param::{ColumnName, Word};

/// A model file of the ONNX format, scored by the ONNX runtime, which is searched in
/// ORT_DYLIB_PATH, the system, and the Python package onnxruntime. It sees the features and the
/// sensitive columns as they are in the data, never the label. A missing number is NaN, a missing
/// text is empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnnxBlock {
    /// The file.
    #[schemars(extend("x-filled" = "name an ONNX file", "x-address" = "local"))]
    pub model: String,
    /// The columns of the only input, in order; by name where it is one column. Required where it
    /// is a table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub columns: Vec<ColumnName>,
    /// Instead of `columns` where there are several inputs: which columns each gets, in order,
    /// `{X: [age, income]}`. Default: an input with the name of a column gets that column.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub inputs: IndexMap<String, Vec<ColumnName>>,
    /// The output that holds the probabilities. Default: the one with `prob` in its name, or the
    /// only one that holds numbers.
    pub output: Option<String>,
    /// The class whose probability is the score, as the file writes it. Default: the one that
    /// equals the positive value of the label; an output of one column is the score of the
    /// positive class.
    pub class: Option<Word>,
    /// Instead of `class` where `data.label` has `classes`: what the file calls each class,
    /// `{Low: 0, High: 1}`. An output whose classes the file does not name has the classes 0, 1, ...
    pub classes: Option<IndexMap<Word, Word>>,
    /// What a missing value is in an input of text. Default: the empty text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub missing_text: String,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

impl OnnxBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let terms = ContractTerms::new(&self.columns, self.class.as_ref(), &self.omit);
        let terms =
            ContractTerms { inputs: Some(&self.inputs), classes: self.classes.as_ref(), ..terms };
        let words = format!("ONNX file {}{}", self.model, without(&self.omit));
        ExternalModel::new("an ONNX file", words, terms)
    }
}
