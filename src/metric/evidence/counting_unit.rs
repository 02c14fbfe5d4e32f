//! What counts as one observation beyond the plain row: a weight, a person with several rows, or a
//! block that two models share.

use serde::{Deserialize, Serialize};

/// Whether the rows of a sample are persons that count alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SampleBasis {
    /// Whether people have weights.
    pub(crate) weighted: bool,
    /// Whether a person may have several rows, or a row several counterfactuals.
    pub(crate) persons: bool,
}

/// How a pass counts people in addition to row by row; it decides which sums the evidence carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CountingUnit {
    /// Whether rows have weights.
    pub(crate) weighted: bool,
    /// Whether a person may have several rows.
    pub(crate) persons: bool,
    /// Whether people are cut into blocks, so that models can be compared on the same people.
    pub(crate) paired: bool,
}

#[cfg(test)]
impl CountingUnit {
    /// Only the rows.
    pub(crate) const ROW: CountingUnit =
        CountingUnit { weighted: false, persons: false, paired: false };
    /// Rows, to be compared between models.
    pub(crate) const PAIRED: CountingUnit = CountingUnit { paired: true, ..CountingUnit::ROW };
    /// Persons, each with one or several rows.
    pub(crate) const PERSON: CountingUnit = CountingUnit { persons: true, ..CountingUnit::ROW };
    /// Rows by their weights.
    pub(crate) const WEIGHT: CountingUnit = CountingUnit { weighted: true, ..CountingUnit::ROW };
    /// Rows by their weights, each with its person.
    pub(crate) const WEIGHTED_PERSON: CountingUnit =
        CountingUnit { persons: true, ..CountingUnit::WEIGHT };
}
