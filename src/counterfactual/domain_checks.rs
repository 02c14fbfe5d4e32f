//! Checks of domain knowledge: permitted ranges, and features that may only rise or only fall.
//!
//! DiCE, alibi and CARLA call these permitted ranges and monotone features. A counterfactual that
//! fails a check is marked invalid. Values are never clipped: that could move a row to where the
//! target group has no real row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::GeneratedBatch;
use crate::counterfactual::variable::StrategyVariable;
use crate::data::FeatureRows;
use crate::param::Finite;

/// The least and the largest permitted value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct PermittedRange(pub [Finite; 2]);

/// A direction in which a feature may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermittedDirection {
    /// It may only rise.
    Up,
    /// It may only fall.
    Down,
}

/// Checks, each with the position of its variable.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DomainChecks {
    /// Permitted ranges.
    pub ranges: Vec<(usize, PermittedRange)>,
    /// Permitted directions.
    pub directions: Vec<(usize, PermittedDirection)>,
}

impl DomainChecks {
    /// Marks the counterfactuals that fail a check as invalid; a missing value fails no check.
    pub fn apply(
        &self,
        variables: &[StrategyVariable],
        originals: &FeatureRows,
        generated: &mut GeneratedBatch,
    ) {
        for (j, &parent) in generated.parent.iter().enumerate() {
            let within = |&(v, PermittedRange([least, largest])): &(usize, PermittedRange)| {
                let x = variables[v].number(&generated.rows, j);
                x.is_nan() || (least.get()..=largest.get()).contains(&x)
            };
            let right_way = |&(v, way): &(usize, PermittedDirection)| {
                let (before, after) = (
                    variables[v].number(originals, parent),
                    variables[v].number(&generated.rows, j),
                );
                let rise = after - before;
                rise.is_nan()
                    || if way == PermittedDirection::Up { rise >= 0.0 } else { rise <= 0.0 }
            };
            generated.valid[j] &=
                self.ranges.iter().all(within) && self.directions.iter().all(right_way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counterfactual::variable::VariableScale;
    use crate::counterfactual::{SampleBatch, TargetGroup};
    use crate::data::{Attribute, FeatureColumn};

    #[test]
    fn checks_mark_and_never_clip() {
        let rows = |values: [f64; 4]| FeatureRows::of(vec![FeatureColumn::Number(values.to_vec())]);
        let variables = [StrategyVariable {
            name: "age".into(),
            columns: vec![0],
            scale: VariableScale::Continuous { integer: false },
        }];
        let (before, after) =
            (rows([30.0, 30.0, 30.0, f64::NAN]), rows([31.0, 29.0, 90.0, f64::NAN]));
        let valid = |checks: DomainChecks| {
            let samples = SampleBatch { keys: &[], rows: &after, groups: &[], classes: &[] };
            let attribute = &Attribute::of("sex", &["f", "m"], 1);
            let to = TargetGroup { attribute, group: 0 };
            let mut generated = GeneratedBatch::in_group(&samples, to, vec![0, 1, 2, 3]);
            checks.apply(&variables, &before, &mut generated);
            assert_eq!(generated.rows.numbers(0)[2], 90.0);
            generated.valid
        };
        let bounds = PermittedRange([29.0, 80.0].map(|end| Finite::new(end).unwrap()));
        assert_eq!(
            valid(DomainChecks { ranges: vec![(0, bounds)], directions: vec![] }),
            [true, true, false, true]
        );
        assert_eq!(
            valid(DomainChecks { ranges: vec![], directions: vec![(0, PermittedDirection::Up)] }),
            [true, false, true, true]
        );
        assert_eq!(
            valid(DomainChecks { ranges: vec![], directions: vec![(0, PermittedDirection::Down)] }),
            [false, true, false, true]
        );
    }
}
