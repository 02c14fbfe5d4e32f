//! What counts as one observation beyond the plain row: a weight, a person with several rows, or a
//! block that two models share.

use serde::{Deserialize, Serialize};

use crate::param::Seed;

/// Whether the rows of a sample are persons that count alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SampleBasis {
    /// Whether people have weights.
    pub(crate) weighted: bool,
    /// Whether a person may have several rows, or a row several counterfactuals.
    pub(crate) persons: bool,
}

/// How a pass counts people in addition to row by row; it decides which sums the evidence carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountingUnit {
    /// Only the rows.
    Row,
    /// Rows, cut into blocks so that models can be compared on the same people.
    PairedRow,
    /// Persons, each with one or several rows.
    Person,
    /// Rows by their weights, cut into blocks.
    Weight,
    /// Rows by their weights, each with its person; persons are cut into blocks.
    WeightedPerson,
}

impl CountingUnit {
    /// The unit for rows with these columns. `paired`: whether models are compared.
    pub(crate) fn of(has_weight: bool, has_person: bool, paired: bool) -> Self {
        match (has_weight, has_person, paired) {
            (true, true, _) => CountingUnit::WeightedPerson,
            (true, false, _) => CountingUnit::Weight,
            (false, true, _) => CountingUnit::Person,
            (false, false, true) => CountingUnit::PairedRow,
            (false, false, false) => CountingUnit::Row,
        }
    }
}

/// Evidence that counts by a unit in addition to row by row.
pub(crate) trait UnitEvidence: Sized {
    /// The same where people have weights; the seed cuts them into blocks.
    #[must_use]
    fn with_weights(self, seed: Seed) -> Self;

    /// The same where people have no weights and models are compared; the seed cuts people into
    /// blocks.
    #[must_use]
    fn with_pairing(self, seed: Seed) -> Self;

    /// The same where a person may have several rows; the seed cuts persons into blocks.
    #[must_use]
    fn with_persons(self, seed: Seed) -> Self;

    /// The same where a person may have several rows, each with its weight.
    #[must_use]
    fn with_weighed_persons(self, seed: Seed) -> Self;

    /// The same, counted by this unit too.
    #[must_use]
    fn counted_by(self, unit: CountingUnit, seed: Seed) -> Self {
        match unit {
            CountingUnit::Row => self,
            CountingUnit::PairedRow => self.with_pairing(seed),
            CountingUnit::Person => self.with_persons(seed),
            CountingUnit::Weight => self.with_weights(seed),
            CountingUnit::WeightedPerson => self.with_weighed_persons(seed),
        }
    }
}
