//! What decides a gate: its value, or an interval. A job writes it, and judging reads it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What decides a gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateDecideBy {
    /// Pass where the whole interval keeps the limit, fail where all of it breaks it, else
    /// inconclusive.
    #[default]
    Interval,
    /// The same with the interval over the graphs of a graph-uncertain set and refits of their
    /// coefficients; what other people would give does not take part in it.
    Worlds,
    /// The same with the range over fits of a set on rows drawn again (`doubt` of the set); what
    /// other people would give does not take part in it.
    Fit,
    /// The same with the range over trainings of the model (`doubt` of the model).
    Training,
    /// Each of these that the value has: pass if all of them keep the limit as a whole, fail if all
    /// of them break it as a whole, else inconclusive.
    All,
    /// Only the value: pass or fail.
    Estimate,
}

impl GateDecideBy {
    /// What decides, in the word of a gate's row, where no number of people would; none where the
    /// interval over people decides.
    pub(crate) fn beyond_people(self) -> Option<&'static str> {
        match self {
            GateDecideBy::Interval => None,
            GateDecideBy::Worlds => Some("by_worlds"),
            GateDecideBy::Fit => Some("by_fit"),
            GateDecideBy::Training => Some("by_training"),
            GateDecideBy::All => Some("by_all"),
            GateDecideBy::Estimate => Some("by_estimate"),
        }
    }
}
