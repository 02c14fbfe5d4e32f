//! Plausible: the variables that the job allows move to their equal-probability values in the
//! target group, the others stay. How it learns is described in [`crate::counterfactual::fit`].

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::domain_checks::{PermittedDirection, PermittedRange};
use crate::counterfactual::engine::{
    FittedKnobs, LearntStrategy, StrategyEffect, StrategyKnobs, StrategyRecord,
};
use crate::counterfactual::fit::{MoveRule, StrategyPlan};
use crate::counterfactual::flip::{CounterfactualsPerRow, NewLevelRule};
use crate::counterfactual::forms::{ConditionOn, MovableFeatures};
use crate::counterfactual::knobs::{
    self, FlipRulesBlock, KeepWithinBlock, MapFlipBlock, StrategyPreset, map_flip_knobs,
    map_flip_settings,
};
use crate::counterfactual::variable::VariableOptions;
use crate::data::Layout;
use crate::data::rows::reference::ReferenceRows;
use crate::error::Result;
use crate::num::ecdf::Cdf;
use crate::param::{ColumnName, Count, Fraction, KnobRefusal, Word};

/// What is known of plausible.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`plausible: {move: [...], condition_on: label}` to move the features that you name",
    sentence: "Moves the features that the job allows to the value that is equally probable in \
               the target group; the other features stay.",
    sentence_if_derived: None,
};

/// Moves the allowed variables to their equal-probability values in the target group, and keeps the
/// others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlausibleBlock {
    /// The features that may change: `all`, or a list. All others keep their values.
    #[serde(rename = "move")]
    pub moves: MovableFeatures,
    /// What the distributions are conditioned on in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// The source of settings that are left out.
    #[serde(default)]
    pub preset: StrategyPreset,
    /// Threshold of equations 3 and 4: a level is left where its probability in the target group is
    /// lower by this. Default: 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Fraction>,
    /// Levels of tests for flips: 0 none, 1 equation 3 only, 2 one conditional level (equation 4),
    /// and so on. Default: 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// The rule for tied numbers. Default: `midrank`; `as_printed`: `weak`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cdf: Option<Cdf>,
    /// Smallest number of values in each of the two strata of a feature; with fewer the class is
    /// dropped, then the change. Default: 10; `as_printed`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_stratum: Option<Count>,
    /// The tests of flips.
    #[serde(default)]
    pub flip: FlipRulesBlock,
    /// The new level of a nominal feature: the one that agrees best with the rest of the row
    /// (`likely`), or the most frequent (`mode`). Default: `likely`; `as_printed`: `mode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_value: Option<NewLevelRule>,
    /// For a feature, levels and the level that takes their place wherever the target group has it:
    /// `relationship: {Husband: Wife}`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub counterpart: IndexMap<ColumnName, IndexMap<Word, Word>>,
    /// One counterfactual per row and group (`single`), or also one per change at the root
    /// (`multiple`).
    #[serde(default)]
    pub cfs: CounterfactualsPerRow,
    /// At most this many per row and group with `cfs: multiple`. Default: 8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maximum" = 1000,
        "x-range" = "a number of counterfactuals up to 1000; 8 is usual"))]
    pub max_cfs: Option<Count>,
    /// Counterfactuals too far from the centroid of their target group and class are not valid.
    /// Default: no filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_within: Option<KeepWithinBlock>,
    /// Sensitive attributes whose counterfactuals are added to the reference first, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decorrelate: Vec<DecorrelateBlock>,
    /// For a feature, its permitted range; a counterfactual outside is not valid. Values are never
    /// clipped.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub range: IndexMap<ColumnName, PermittedRange>,
    /// For a feature, the only direction in which it may change; a counterfactual that goes the
    /// other way is not valid.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub direction: IndexMap<ColumnName, PermittedDirection>,
}

impl PlausibleBlock {
    map_flip_settings!();

    /// The plan with all settings resolved.
    pub fn plan(&self) -> StrategyPlan {
        self.common().plan(MoveRule::Move(self.moves.clone()))
    }
}

impl StrategyKnobs for PlausibleBlock {
    fn resolve(&mut self, _graph_columns: Option<Vec<ColumnName>>) {
        self.resolve_common();
    }

    fn fitted(&self) -> Option<&dyn FittedKnobs> {
        Some(self)
    }
}

impl FittedKnobs for PlausibleBlock {
    map_flip_knobs!();

    fn may_move(&self, name: &str) -> bool {
        self.moves.contains(name)
    }

    fn named_features(&self) -> Option<(&'static str, &[ColumnName])> {
        self.moves.named().map(|names| ("move", names))
    }

    fn refusals(&self) -> Vec<KnobRefusal> {
        self.common().refusals()
    }
}
