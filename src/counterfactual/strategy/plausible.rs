//! Plausible: the variables that the job allows move to their equal-probability values in the
//! target group, the others keep their values. [`crate::counterfactual::plan`] describes learning.

use crate::counterfactual::engine::{StrategyEffect, StrategyKnobs, StrategyRecord};
use crate::counterfactual::knobs::{self, map_flip_block};
use crate::counterfactual::plan::StrategyPlan;
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures};
use crate::param::{ColumnName, KnobRefusal};

/// The properties of the strategy.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`plausible: {move: [...], condition_on: label}` to move the features that you name",
    sentence: "Moves the features that the job allows to the value that is equally probable in \
               the target group; the other features stay.",
    sentence_if_derived: None,
};

map_flip_block! {
/// Moves the allowed variables to their equal-probability values in the target group, and keeps the
/// others.
pub struct PlausibleBlock {
    /// The features that may change: `all`, or a list. All others keep their values.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
    /// What the distributions are conditioned on in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
}
}

impl StrategyKnobs for PlausibleBlock {
    fn resolve(&mut self, _graph_columns: Option<Vec<ColumnName>>) {
        self.resolve_common();
    }

    fn plan(&self) -> Option<StrategyPlan<'_>> {
        Some(self.plan_of(&self.moves))
    }

    fn refusals(&self) -> Vec<KnobRefusal> {
        self.common_refusals()
    }
}
