//! What a pass over rows counts besides the rows: weights, and persons with several rows, whose
//! rows [`person_sums`](super::person_sums) adds up. What intervals take as independent are the
//! [`units`](super::units).

use serde::{Deserialize, Serialize};

/// How a pass counts people in addition to row by row; it decides which sums the evidence carries.
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
    /// Rows by their weights.
    pub(crate) const WEIGHT: CountingUnit = CountingUnit { weighted: true, ..CountingUnit::ROW };
    /// Rows by their weights, each with its person.
    pub(crate) const WEIGHTED_PERSON: CountingUnit =
        CountingUnit { persons: true, ..CountingUnit::WEIGHT };
}
