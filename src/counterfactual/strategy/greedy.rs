//! Greedy: every variable that is related to the pair of groups moves to its equal-probability
//! value in the target group. [`crate::counterfactual::relation`] defines when one is related.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::engine::{StrategyEffect, StrategyKnobs, StrategyRecord};
use crate::counterfactual::knobs::{self, StrategyPreset, map_flip_block};
use crate::counterfactual::plan::StrategyPlan;
use crate::counterfactual::relation::{RelationSettings, RelationTest};
use crate::counterfactual::short_forms::{ConditionOn, MovableFeatures};
use crate::param::{ColumnName, Fraction, KnobRefusal, Level};

/// The properties of the strategy.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::MovesFeatures,
    example: "`greedy: {condition_on: label}` to move everything that depends on it",
    sentence: "Also moves every feature that differs between the two groups to the value that is \
               equally probable in the target group.",
    sentence_if_derived: None,
};

map_flip_block! {
/// Moves every variable that differs between the groups to its equal-probability value in the
/// target group.
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
}
}

/// When a feature counts as related to the attribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RelationBlock {
    /// The test. Default: `ks`; `as_printed`: `none`.
    pub test: Option<RelationTest>,
    /// Its level. Default: 0.05.
    pub alpha: Option<Level>,
    /// The smallest difference of probabilities that counts. Default: 0.
    pub min_effect: Option<Fraction>,
}

impl GreedyBlock {
    fn relation(&self) -> RelationSettings {
        let (as_printed, relation) = (self.preset == StrategyPreset::AsPrinted, &self.relation);
        let test = if as_printed { RelationTest::None } else { RelationTest::Ks };
        RelationSettings {
            test: relation.test.unwrap_or(test),
            alpha: relation.alpha.map_or(0.05, Level::get),
            min_effect: relation.min_effect.map_or(0.0, Fraction::get),
        }
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
        self.relation.resolve(&self.relation());
        self.resolve_common();
    }

    fn plan(&self) -> Option<StrategyPlan<'_>> {
        let (keep_fixed, relation) = (self.keep_fixed.as_slice(), Some(self.relation()));
        Some(StrategyPlan { keep_fixed, relation, ..self.plan_of(&knobs::ALL) })
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
        self.common_refusals().into_iter().chain(refusal).collect()
    }
}
