//! The key `accept` of a model: objections to it in spite of which gates on it are decided.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An objection to a model that leaves gates on it inconclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptedOfModel {
    /// It does not know values that many audited people have.
    UnknownLevels,
    /// Its scores or decisions are lower for people with a positive label than for others.
    InvertedScores,
    /// It scores the same rows differently when it is asked twice.
    NotRepeatable,
    /// It decides alike about all counterfactuals of a set, and not about their rows.
    OneCounterfactualDecision,
    /// Its thresholds, a column of the rows, follow the groups.
    ThresholdByGroup,
    /// Its scores, from a file, are the same for all counterfactuals of a set that moved features.
    UnmovedScores,
}
