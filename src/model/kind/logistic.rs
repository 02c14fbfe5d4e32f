//! Logistic regression as a job asks for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::Feature;
use crate::model::logistic::{LogisticModel, LogisticTrainer};
use crate::model::{ModelTrainer, TrainedKnobs, TrainedModel};
use crate::param::{ColumnName, Finite, Seed};

/// Logistic regression with an L2 penalty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogisticBlock {
    /// Strength of the penalty on the summed loss (1/C of scikit-learn), 0 or above; the intercept
    /// is free.
    #[schemars(extend("minimum" = 0, "x-range" = "0 or more; 1.0 is scikit-learn's default"))]
    pub l2: Finite,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

impl TrainedKnobs for LogisticBlock {
    fn omit(&self) -> &[ColumnName] {
        &self.omit
    }

    fn words(&self) -> String {
        format!("logistic regression trained here, L2 penalty {} on the summed loss", self.l2.get())
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn trainer(
        &self,
        features: Vec<Feature>,
        omit: Vec<String>,
        _seed: Seed,
    ) -> Box<dyn ModelTrainer> {
        Box::new(LogisticTrainer { features, omit, l2: self.l2.get() })
    }

    fn read(&self, json: &str) -> Result<Box<dyn TrainedModel>, String> {
        Ok(Box::new(LogisticModel::from_json(json)?))
    }
}
