//! What a pass over rows sums in addition to rows: weights, and persons with several rows (see
//! [`person_sums`](super::person_sums)). Intervals take the [`units`](super::units) as independent.

use serde::{Deserialize, Serialize};

/// Which sums the evidence of a pass has in addition to the number of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CountingUnit {
    /// Whether rows have weights.
    pub(crate) weighted: bool,
    /// Whether a person may have several rows.
    pub(crate) persons: bool,
}

#[cfg(test)]
impl CountingUnit {
    /// Only the rows.
    pub(crate) const ROW: CountingUnit = CountingUnit { weighted: false, persons: false };
    /// Persons, each with one or several rows.
    pub(crate) const PERSON: CountingUnit = CountingUnit { persons: true, ..CountingUnit::ROW };
    /// Weighted rows.
    pub(crate) const WEIGHT: CountingUnit = CountingUnit { weighted: true, ..CountingUnit::ROW };
    /// Weighted rows, and persons with one or several rows.
    pub(crate) const WEIGHTED_PERSON: CountingUnit =
        CountingUnit { persons: true, ..CountingUnit::WEIGHT };
}
