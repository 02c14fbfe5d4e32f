//! The block `lightgbm` of a model: a model file of LightGBM, trained elsewhere and scored here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::contract::ContractTerms;
use crate::model::kind::command::ExternalModel;
use crate::param::{ColumnName, Word};

/// A model file of LightGBM, as `save_model` writes it, with the objective `binary` or
/// `cross_entropy`. It gets the columns that it names, by LightGBM's own rules for categories and
/// missing values; it never sees the label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LightgbmBlock {
    /// The file.
    #[schemars(extend("x-filled" = "name a file", "x-address" = "local", "x-plain" = true))]
    pub file: String,
    /// The columns of a file without names, in order. Default: those of the names that the file
    /// holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub columns: Vec<ColumnName>,
    /// The class whose probability is the score: LightGBM gives that of the class 1, and 0 is the
    /// other one. Default: the one that equals the positive value of a label of 0 and 1; for any
    /// other label the score is that of the positive class.
    pub class: Option<Word>,
}

impl LightgbmBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let terms = ContractTerms::new(&self.columns, self.class.as_ref(), &[]);
        let words = format!("LightGBM file {}", self.file);
        ExternalModel {
            is_asked_twice: false,
            ..ExternalModel::new("a LightGBM file", words, terms)
        }
    }
}
