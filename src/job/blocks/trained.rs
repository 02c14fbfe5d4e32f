//! The blocks `boosting` and `forest` of a model: trees grown here by LightGBM, with the defaults
//! of that library or of random forests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{ColumnName, Count, Finite, Fraction};

/// Fewest rows in a leaf that can be asked for: below it LightGBM has already set columns aside
/// that could be split.
pub const SMALLEST_LEAF: u64 = 20;

/// Gradient boosting by LightGBM: each tree follows the gradient of the log loss that the trees
/// before it left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoostingBlock {
    /// Number of trees.
    #[serde(default = "hundred")]
    pub trees: Count,
    /// Most leaves of a tree, 2 or more.
    #[serde(default = "thirty_one")]
    #[schemars(range(min = 2))]
    pub leaves: Count,
    /// What each tree adds of its own answer, above 0.
    #[serde(default = "tenth")]
    pub learning_rate: Finite,
    /// Fewest training rows in a leaf, 20 or more.
    #[serde(default = "smallest_leaf")]
    #[schemars(range(min = 20))]
    pub smallest_leaf: Count,
    /// Penalty on the squared values of leaves, 0 or above.
    #[serde(default = "nothing")]
    pub l2: Finite,
    /// Share of the training rows that each tree sees, above 0; below 1 drawn anew for every tree
    /// by the seed.
    #[serde(default = "all")]
    pub row_share: Fraction,
    /// Share of the encoded columns that each tree sees, above 0; below 1 drawn anew for every tree
    /// by the seed.
    #[serde(default = "all")]
    pub column_share: Fraction,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
}

/// Random forest by LightGBM: trees on samples of the rows, each split on a sample of the columns;
/// the score is the share of positive training rows in a person's leaf, averaged over the trees.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForestBlock {
    /// Number of trees.
    #[serde(default = "hundred")]
    pub trees: Count,
    /// Most leaves of a tree, 2 or more.
    #[serde(default = "many_leaves")]
    #[schemars(range(min = 2))]
    pub leaves: Count,
    /// Fewest training rows in a leaf, 20 or more.
    #[serde(default = "smallest_leaf")]
    #[schemars(range(min = 20))]
    pub smallest_leaf: Count,
    /// Share of the training rows that each tree sees, drawn without replacement, above 0 and
    /// below 1. The default is the share of different rows in a bootstrap sample.
    #[serde(default = "bootstrap_share")]
    pub row_share: Fraction,
    /// Share of the encoded columns that each split chooses from, above 0.
    #[serde(default = "three_tenths")]
    pub column_share: Fraction,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
}

fn hundred() -> Count {
    Count::new(100).expect("100 is a count")
}

fn thirty_one() -> Count {
    Count::new(31).expect("31 is a count")
}

fn many_leaves() -> Count {
    Count::new(255).expect("255 is a count")
}

fn smallest_leaf() -> Count {
    Count::new(SMALLEST_LEAF).expect("20 is a count")
}

fn tenth() -> Finite {
    Finite::new(0.1).expect("0.1 is finite")
}

fn nothing() -> Finite {
    Finite::new(0.0).expect("0 is finite")
}

fn all() -> Fraction {
    Fraction::new(1.0).expect("1 is a share")
}

fn bootstrap_share() -> Fraction {
    Fraction::new(0.632).expect("0.632 is a share")
}

fn three_tenths() -> Fraction {
    Fraction::new(0.3).expect("0.3 is a share")
}
