//! The settings of decorrelation as a job writes them.

use crate::counterfactual::short_forms::MovableFeatures;
use crate::param::ColumnName;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A sensitive attribute whose counterfactuals are added to the reference, so that it is
/// independent of the features that may not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecorrelateBlock {
    /// The attribute.
    pub sensitive: ColumnName,
    /// The features that may change with it: `all`, or a list. Features that determine the group of
    /// an attribute that the set changes are kept.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
}
