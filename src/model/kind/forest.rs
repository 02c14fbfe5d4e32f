//! Forests as a job asks for them: random forests, trained here by LightGBM.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::kind::trained::TrainerRecipe;
use crate::model::lightgbm::TreeSettings;
use crate::model::trees::TreeEnsemble;
use crate::param::{ColumnName, Count, Fraction};

/// Random forest by LightGBM: trees on samples of the rows, each split on a sample of the columns;
/// the score is the share of positive training rows in a person's leaf, averaged over the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForestBlock {
    /// Number of trees.
    #[serde(default = "Count::of::<100>")]
    #[schemars(extend("maximum" = 100_000,
        "x-range" = "a number of trees up to 100000; 100 are usual"))]
    pub trees: Count,
    /// Most leaves of a tree, 2 or more.
    #[serde(default = "Count::of::<255>")]
    #[schemars(extend("minimum" = 2, "maximum" = 131_072,
        "x-range" = "a number of leaves from 2 to 131072; 255 are the default"))]
    pub leaves: Count,
    /// Fewest training rows in a leaf, 20 or more.
    #[serde(default = "Count::of::<20>")]
    #[schemars(extend("minimum" = 20, "maximum" = i32::MAX,
        "x-range" = "a number of rows from 20 to 2147483647; write 20, the default, or more"))]
    pub smallest_leaf: Count,
    /// Share of the training rows that each tree sees, drawn without replacement, above 0 and
    /// below 1. The default is the share of different rows in a bootstrap sample.
    #[serde(default = "Fraction::of::<632, 1000>")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1,
        "x-range" = "a share above 0 and below 1; 0.632 is what a bootstrap sample holds"))]
    pub row_share: Fraction,
    /// Share of the encoded columns that each split chooses from, above 0.
    #[serde(default = "Fraction::of::<3, 10>")]
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a share above 0; a share of 0 leaves a tree no data"))]
    pub column_share: Fraction,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

impl ForestBlock {
    pub(super) fn recipe(&self) -> TrainerRecipe {
        TrainerRecipe::Trees(TreeSettings {
            ensemble: TreeEnsemble::Forest,
            trees: self.trees.get(),
            leaves: self.leaves.get(),
            smallest_leaf: self.smallest_leaf.get(),
            learning_rate: 1.0,
            l2: 0.0,
            row_share: self.row_share.get(),
            column_share: self.column_share.get(),
        })
    }
}
