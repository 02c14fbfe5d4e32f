//! The knobs of decorrelation.

use crate::counterfactual::forms::MovableFeatures;
use crate::param::ColumnName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sensitive attribute whose counterfactuals join the reference, so that it is independent of
/// what may not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecorrelateBlock {
    /// The attribute.
    pub sensitive: ColumnName,
    /// The features that may change with it: `all`, or a list. What tells the group of an attribute
    /// that the set changes stays.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
}
