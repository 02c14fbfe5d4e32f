//! Files that one stage writes and another one reads, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::folder::manifest::{GateTally, WorstGate};
use crate::table::{CfDistributionRow, CfFeatureRow, CfQualityRow, TableDef, TableRow};

/// What the stage `gate` writes next to its table.
pub(crate) const GATE_OUTCOME: &str = "outcome.json";

/// How the gates came out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct GateOutcome {
    /// pass, warn, fail, inconclusive, or done where no gate was judged.
    pub verdict: String,
    /// The exit status.
    pub exit: u8,
    /// Number of gates by verdict.
    pub tally: GateTally,
    /// The worst gate.
    pub worst: Option<WorstGate>,
}

/// File of the stage `contract`.
pub(crate) const CONTRACT: &str = "contract.json";

/// File of the stage `count`.
pub(crate) const EVIDENCE: &str = "evidence.json";

/// File of the stage `count` that says whether scores and decisions of a model go with the labels;
/// only of the first attribute.
pub(crate) const SANITY: &str = "sanity.json";

/// File of the stage `count` with score metrics; absent where they are not asked for.
pub(crate) const SHIFT_EVIDENCE: &str = "shift.json";

/// File of the stage `count` with the slices; absent where the job names none.
pub(crate) const SLICE_EVIDENCE: &str = "slices.json";

/// File of the stage `count` of an arm: what was counted in each fold.
pub(crate) const FOLD_EVIDENCE: &str = "folds.json";

/// File of the slices that were not measured because too few people are in them.
pub(crate) const SMALL_SLICES: &str = "small-slices.json";

/// File of the groups that lack labels more often than others.
pub(crate) const LABELS: &str = "selective-labels.json";

/// For each attribute the slices of too few people, and how many people these have in the largest
/// count.
pub(crate) type SmallSlices = BTreeMap<String, BTreeMap<String, u64>>;

/// The tables of quality.
pub(crate) const QUALITY: [&TableDef; 3] =
    [CfQualityRow::TABLE, CfFeatureRow::TABLE, CfDistributionRow::TABLE];

/// File of the stage `split`.
pub(crate) const ROLES: &str = "roles.parquet";

/// From this many audited rows on, outcomes are not kept unless the job asks for them.
const KEEP_ROWS_BELOW: u64 = 10_000_000;

/// Whether rows of single people are kept: as the job `asked`, or by their number.
pub(crate) fn keeps_rows(asked: Option<bool>, n: u64) -> bool {
    asked.unwrap_or(n < KEEP_ROWS_BELOW)
}
