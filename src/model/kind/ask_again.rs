//! The block `recheck` of models that are asked here: how often some rows are scored again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{Count, Fraction};

/// Scores some of the audited rows again and again, to measure how often the model's own decision
/// about the same row switches: the noise floor of its switch rates. Gates on the model are then
/// judged as they are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskAgainBlock {
    /// How often each of these rows is scored again, 1 to 100.
    #[serde(default = "five")]
    pub repeats: Count,
    /// Share of the audited rows, above 0; drawn by the seed, and at least 100 rows.
    #[serde(default = "one_in_twenty")]
    pub share: Fraction,
}

/// The most repeats: each is a separate process where the model is a program.
pub(crate) const MOST_REPEATS: u64 = 100;

fn five() -> Count {
    Count::new(5).expect("5 is a count")
}

fn one_in_twenty() -> Fraction {
    Fraction::new(0.05).expect("0.05 is a share")
}
