//! The key `expect` of a model: the scores that it is known to give.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{ColumnName, Finite};

/// Scores that the model gave elsewhere, such as in production: a run whose own scores of the
/// audited rows differ from them in more than `at_most` rows ends with status 3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpectBlock {
    /// The column of the rows that holds them, in the numbers of the model's scale; rows without a
    /// value are not compared.
    pub column: ColumnName,
    /// Largest difference that is none, 0 or above, in the numbers of the scale.
    #[serde(default = "Finite::of::<1, 1_000_000>")]
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; 1.0e-6 allows for scores in single precision"))]
    pub tolerance: Finite,
    /// So many rows may differ; the page says how many do.
    #[serde(default)]
    pub at_most: u64,
}
