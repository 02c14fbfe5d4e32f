//! What a job says about ADASYN.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{Count, Finite, Fraction};

/// ADASYN: synthetic rows of the rarer class of the label, more of them where rows of the other
/// class are near.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdasynArm {
    /// Neighbours that are looked at (K).
    #[serde(default = "five")]
    pub neighbours: Count,
    /// Share of the difference between the classes that is made up for, above 0.
    #[serde(default = "one")]
    pub beta: Finite,
    /// Nothing is made where the rarer class is at least this share of the other (d_th), above 0,
    /// at most 1.
    #[serde(default = "whole")]
    pub ratio: Fraction,
}

impl Default for AdasynArm {
    fn default() -> Self {
        AdasynArm { neighbours: five(), beta: one(), ratio: whole() }
    }
}

fn five() -> Count {
    Count::new(5).expect("5 is a count")
}

fn one() -> Finite {
    Finite::new(1.0).expect("1 is finite")
}

fn whole() -> Fraction {
    Fraction::new(1.0).expect("1 is a share")
}
