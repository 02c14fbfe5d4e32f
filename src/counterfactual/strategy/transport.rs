//! The settings of the strategy transport.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::engine::{StrategyEffect, StrategyKnobs, StrategyRecord};
use crate::counterfactual::knobs::plain_plan;
use crate::counterfactual::plan::{
    PermittedDirections, PermittedRanges, StrategyEngine, StrategyPlan,
};
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::transport::distance::TransportCost;
use crate::counterfactual::transport::{TransportImage, TransportSettings};
use crate::param::Count;

/// The most rows a side of one problem: its costs take 3.2 GB.
const MOST_MATCHED: u64 = 20_000;

/// The properties of the strategy.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`transport: {move: all, condition_on: label}`",
    sentence: "Gives the rows of a group the values of real rows of the other group, matched so \
               that the total distance is smallest (optimal transport).",
    sentence_if_derived: None,
};

/// Gives the rows of a group the values of real rows of the other group, all of them together at
/// the least total distance. Rows of a group and class are held in memory together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransportBlock {
    /// The features that may change: `all`, or a list. All others keep their values and do not
    /// enter the distance.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
    /// What rows are matched within, in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// What a row becomes: `argmax` the real row that most of it goes to, `barycentre` the mean of
    /// the rows it goes to.
    #[serde(default)]
    pub image: TransportImage,
    /// The distance of two rows: `l2_squared` the sum of squared differences in standard
    /// deviations, `l1_squared` the square of the sum of absolute differences, as FlipTest has it.
    /// A category that differs counts 1.
    #[serde(default)]
    pub cost: TransportCost,
    /// The most distinct rows a side that are matched exactly, 1 to 20,000; larger strata are
    /// matched in blocks, and flagged. Memory grows with its square, 8 bytes each, for every
    /// thread.
    #[serde(default = "Count::of::<4000>")]
    #[schemars(extend("maximum" = MOST_MATCHED,
        "x-range" = "a number of rows up to 20000; 4000 is usual"))]
    pub max_rows: Count,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: PermittedRanges,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: PermittedDirections,
}

impl StrategyKnobs for TransportBlock {
    fn plan(&self) -> Option<StrategyPlan<'_>> {
        let (image, cost, max_rows) = (self.image, self.cost, self.max_rows);
        Some(StrategyPlan {
            range: self.range.as_slice(),
            direction: self.direction.as_slice(),
            engine: StrategyEngine::Transport(TransportSettings { image, cost, max_rows }),
            ..plain_plan(&self.condition_on, &self.moves)
        })
    }
}
