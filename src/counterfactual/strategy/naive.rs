//! Naive: changes the sensitive attribute and nothing else.
//!
//! Source: "The Matrix Reloaded" (2023), section 2.2: the counterfactual of a row of group a in
//! group b is the row with the attribute set to b.
//! Input: any rows; output: one counterfactual per row of another declared group, all other
//! features copied. It shows how the model uses the column itself, not columns that depend on it.
//! It fits nothing and is deterministic.
//! Cost: a copy of the rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::engine::{StrategyEffect, StrategyKnobs, StrategyRecord};
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch, TargetGroup};

/// The properties of the strategy.
pub(super) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::SetsAttribute,
    example: "`naive: {}` to change only the attribute",
    sentence: "Changes the sensitive attribute and nothing else. This test shows direct use of the \
               attribute, not effects through columns that depend on it.",
    sentence_if_derived: Some(
        "Sets only the columns from which the attribute is derived. A group of several values \
         is written as the value that is most frequent among reference rows of that group \
         with the person's label; that value represents the whole group.",
    ),
};

/// Changes the sensitive attribute and nothing else. It has no knobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NaiveBlock {}

impl StrategyKnobs for NaiveBlock {}

/// The naive strategy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct NaiveGenerator;

impl Generator for NaiveGenerator {
    fn generate(&self, samples: &SampleBatch<'_>, to: TargetGroup<'_>) -> GeneratedBatch {
        let others = |&i: &usize| samples.own_group(i, to.group).is_some();
        GeneratedBatch::in_group(samples, to, (0..samples.rows.n).filter(others).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::NaiveGenerator;
    use crate::counterfactual::{Generator, SampleBatch, TargetGroup};
    use crate::data::{Attribute, FeatureColumn, FeatureRows, MISSING_GROUP};

    #[test]
    fn one_column_changes_and_no_other() {
        let rows = FeatureRows::of(vec![
            FeatureColumn::Number(vec![1.0, 2.0, 3.0, 4.0]),
            FeatureColumn::Code(vec![0, 1, 0, 7]),
        ]);
        let attribute = Attribute::of("sex", &["Male", "Female"], 1);
        let samples =
            SampleBatch { keys: &[], rows: &rows, groups: &[0, 1, 0, MISSING_GROUP], classes: &[] };
        let made =
            NaiveGenerator.generate(&samples, TargetGroup { attribute: &attribute, group: 1 });
        assert_eq!(made.parent, [0, 2]);
        assert_eq!(
            made.rows.columns,
            [FeatureColumn::Number(vec![1.0, 3.0]), FeatureColumn::Code(vec![1, 1])]
        );
        assert_eq!((made.valid, made.plausibility), (vec![true; 2], None));
    }
}
