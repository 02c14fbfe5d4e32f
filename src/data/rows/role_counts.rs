//! Roles that depend only on the row: how many rows have which, and the share that is drawn by the
//! hashes of rows.

use serde::{Deserialize, Serialize};

use crate::num::additive::additive;
use crate::num::seed::{h, u01};
use crate::param::Fraction;

/// How many rows have which role.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoleCounts {
    /// Rows that are audited.
    pub(crate) audited: u64,
    /// Training rows; with folds in some fold.
    pub(crate) trained: u64,
}

additive!(RoleCounts { audited, trained });

/// A share that is drawn by the hashes of rows: one is audited iff `u01(h(seed, key, 0))` is below
/// the share, else it trains. The key is that of the row, or of its person where persons may have
/// several rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct HashSplit {
    /// The share that is audited.
    pub(crate) audit: Fraction,
    /// The seed of the job.
    pub(crate) seed: u64,
}

impl HashSplit {
    /// Whether a row with this key is audited.
    #[inline]
    pub(crate) fn audits(self, key: u64) -> bool {
        u01(h(self.seed, key, 0)) < self.audit.get()
    }
}
