//! Greedy: every variable that is related to the pair of groups moves to its equal-probability
//! value in the target group. When one is related says [`crate::counterfactual::relation`].

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
use crate::counterfactual::forms::ConditionOn;
use crate::counterfactual::knobs::{
    self, FlipRulesBlock, KeepWithinBlock, MapFlipBlock, StrategyPreset, map_flip_knobs,
    map_flip_settings,
};
use crate::counterfactual::relation::{RelationSettings, RelationTest};
use crate::counterfactual::variable::VariableOptions;
use crate::data::Layout;
use crate::data::rows::reference::ReferenceRows;
use crate::error::Result;
use crate::num::ecdf::Cdf;
use crate::param::{ColumnName, Count, Fraction, KnobRefusal, Level, Word};

/// What is known of greedy.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`greedy: {condition_on: label}` to move everything that depends on it",
    sentence: "Also moves every feature that differs between the two groups to the value that is \
               equally probable in the target group.",
    sentence_if_derived: None,
};

/// Moves every variable that differs between the groups to its equal-probability value in the
/// target group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GreedyBlock {
    /// What the distributions are conditioned on in addition to the group: `label`, `{label: raw}`,
    /// `{prediction: MODEL}` or `none`.
    pub condition_on: ConditionOn,
    /// Features that stay as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "feature"))]
    pub keep_fixed: Vec<ColumnName>,
    /// When a feature counts as related to the attribute.
    #[serde(default)]
    pub relation: RelationBlock,
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

/// When a feature counts as related to the attribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationBlock {
    /// The test. Default: `ks`; `as_printed`: `none`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<RelationTest>,
    /// Its level. Default: 0.05.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpha: Option<Level>,
    /// The smallest difference of probabilities that counts. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_effect: Option<Fraction>,
}

impl GreedyBlock {
    map_flip_settings!();

    /// The plan with all settings resolved.
    pub fn plan(&self) -> StrategyPlan {
        let (as_printed, relation) = (self.preset == StrategyPreset::AsPrinted, &self.relation);
        let test = if as_printed { RelationTest::None } else { RelationTest::Ks };
        let relation = RelationSettings {
            test: relation.test.unwrap_or(test),
            alpha: relation.alpha.map_or(0.05, Level::get),
            min_effect: relation.min_effect.map_or(0.0, Fraction::get),
        };
        let keep_fixed = self.keep_fixed.clone();
        self.common().plan(MoveRule::Relate { keep_fixed, relation })
    }
}

impl RelationBlock {
    fn resolve(&mut self, relation: &RelationSettings) {
        self.test = Some(relation.test);
        if relation.test == RelationTest::Ks {
            self.alpha = self.alpha.or(Level::new(relation.alpha));
            self.min_effect = self.min_effect.or(Fraction::new(relation.min_effect));
        }
    }
}

impl StrategyKnobs for GreedyBlock {
    fn resolve(&mut self, _graph_columns: Option<Vec<ColumnName>>) {
        if let MoveRule::Relate { relation, .. } = self.plan().move_rule {
            self.relation.resolve(&relation);
        }
        self.resolve_common();
    }

    fn fitted(&self) -> Option<&dyn FittedKnobs> {
        Some(self)
    }
}

impl FittedKnobs for GreedyBlock {
    map_flip_knobs!();

    fn may_move(&self, name: &str) -> bool {
        self.keep_fixed.iter().all(|fixed| fixed.as_str() != name)
    }

    fn named_features(&self) -> Option<(&'static str, &[ColumnName])> {
        (!self.keep_fixed.is_empty()).then_some(("keep_fixed", &self.keep_fixed))
    }

    fn refusals(&self) -> Vec<KnobRefusal> {
        let RelationBlock { test, alpha, min_effect } = self.relation;
        let useless = test == Some(RelationTest::None) && (alpha.is_some() || min_effect.is_some());
        let refusal = useless.then(|| {
            KnobRefusal::new(
                "relation",
                "bad-value",
                "without a test every feature counts as related",
                "take `alpha` and `min_effect` out, or write `test: ks`",
            )
        });
        self.common().refusals().into_iter().chain(refusal).collect()
    }
}
