//! The arms of an experiment, and what a job says about ADASYN.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{Count, Finite, Fraction, key_word};

/// An arm of an experiment: the rows that a model is trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExperimentArm {
    /// Only the training rows.
    Base,
    /// With every valid counterfactual.
    All,
    /// With the counterfactuals for which the base model decides otherwise than for their
    /// originals.
    Switched,
    /// With a fraction of the counterfactuals that match a rule.
    Directed,
    /// With the counterfactuals that are farthest from the training rows.
    Diverse,
    /// With synthetic rows of the rarer class.
    Adasyn,
    /// With counterfactuals, then synthetic rows.
    CfsAdasyn,
}

impl fmt::Display for ExperimentArm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&key_word(self))
    }
}

/// ADASYN: synthetic rows of the rarer class of the label, more of them where rows of the other
/// class are near.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AdasynArm {
    /// Neighbours that are looked at (K).
    #[schemars(extend("maximum" = 1000,
        "x-range" = "a number of neighbours up to 1000; 5 is usual"))]
    pub neighbours: Count,
    /// Share of the difference between the classes that is made up for, above 0.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100,
        "x-range" = "above 0 and at most 100; 1.0 makes up for all of the difference"))]
    pub beta: Finite,
    /// Nothing is made where the rarer class is at least this share of the other (d_th), above 0,
    /// at most 1.
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a share above 0; 1.0 makes rows wherever one class is rarer"))]
    pub ratio: Fraction,
}

impl Default for AdasynArm {
    fn default() -> Self {
        AdasynArm {
            neighbours: Count::of::<5>(),
            beta: Finite::new(1.0).expect("1 is finite"),
            ratio: Fraction::new(1.0).expect("1 is a share"),
        }
    }
}
