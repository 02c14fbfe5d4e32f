//! The keys `scale` and `better` of a model: what the numbers of its scores are, and which end of
//! them people want.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::num::score_scale::ScaleNumbers;
use crate::param::Finite;

/// What the numbers of scores are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Scale", extend("x-is" = "`{from: 300, to: 850}` or `log-odds`"))]
pub enum ScaleBlock {
    /// Logarithms of odds.
    LogOdds,
    /// Numbers between two ends.
    #[serde(untagged)]
    Range(ScaleEnds),
}

/// The ends of a scale, both included: `{from: 300, to: 850}`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaleEnds {
    /// The lowest score that there can be.
    pub from: Finite,
    /// The highest, above the lowest.
    pub to: Finite,
}

/// Which end of the scale people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BetterEnd {
    /// High scores are good for people.
    Higher,
    /// Low scores are.
    Lower,
}

impl ScaleBlock {
    /// What its numbers are.
    pub(crate) fn numbers(self) -> ScaleNumbers {
        match self {
            ScaleBlock::Range(ends) => {
                ScaleNumbers::Range { from: ends.from.get(), to: ends.to.get() }
            }
            ScaleBlock::LogOdds => ScaleNumbers::LogOdds,
        }
    }
}
