//! Logistic regression as a job asks for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::kind::trained::TrainerRecipe;
use crate::param::{ColumnName, Finite};

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

impl LogisticBlock {
    pub(super) fn recipe(&self) -> TrainerRecipe {
        TrainerRecipe::Logistic(self.l2.get())
    }
}
