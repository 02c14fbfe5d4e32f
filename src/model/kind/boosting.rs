//! Boosting as a job asks for it: gradient boosting, trained here by LightGBM.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::kind::trained::TrainerRecipe;
use crate::model::lightgbm::TreeSettings;
use crate::model::trees::TreeEnsemble;
use crate::param::{ColumnName, Count, Finite, Fraction};

/// Gradient boosting by LightGBM: each tree follows the gradient of the log loss that the trees
/// before it left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoostingBlock {
    /// Number of trees.
    #[serde(default = "Count::of::<100>")]
    #[schemars(extend("maximum" = 100_000,
        "x-range" = "a number of trees up to 100000; 100 are usual"))]
    pub trees: Count,
    /// Most leaves of a tree, 2 or more.
    #[serde(default = "Count::of::<31>")]
    #[schemars(extend("minimum" = 2, "maximum" = 131_072,
        "x-range" = "a number of leaves from 2 to 131072; 31 are usual"))]
    pub leaves: Count,
    /// What each tree adds of its own answer, above 0.
    #[serde(default = "Finite::of::<1, 10>")]
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a number above 0; 0.1 is usual, smaller ones need more trees"))]
    pub learning_rate: Finite,
    /// Fewest training rows in a leaf, 20 or more.
    #[serde(default = "Count::of::<20>")]
    #[schemars(extend("minimum" = 20, "maximum" = i32::MAX,
        "x-range" = "a number of rows from 20 to 2147483647; write 20, the default, or more"))]
    pub smallest_leaf: Count,
    /// Penalty on the squared values of leaves, 0 or above.
    #[serde(default = "Finite::of::<0, 1>")]
    #[schemars(extend("minimum" = 0, "x-range" = "0 or more; 0 is LightGBM's default"))]
    pub l2: Finite,
    /// Share of the training rows that each tree sees, above 0; below 1 drawn again for every tree
    /// by the seed.
    #[serde(default = "Fraction::of::<1, 1>")]
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a share above 0; a share of 0 leaves a tree no data"))]
    pub row_share: Fraction,
    /// Share of the encoded columns that each tree sees, above 0; below 1 drawn again for every
    /// tree by the seed.
    #[serde(default = "Fraction::of::<1, 1>")]
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a share above 0; a share of 0 leaves a tree no data"))]
    pub column_share: Fraction,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

impl BoostingBlock {
    pub(super) fn recipe(&self) -> TrainerRecipe {
        TrainerRecipe::Trees(TreeSettings {
            ensemble: TreeEnsemble::Boosting,
            trees: self.trees.get(),
            leaves: self.leaves.get(),
            smallest_leaf: self.smallest_leaf.get(),
            learning_rate: self.learning_rate.get(),
            l2: self.l2.get(),
            row_share: self.row_share.get(),
            column_share: self.column_share.get(),
        })
    }
}
