//! What counts as one observation beyond the plain row: a weight, a person with several rows, or a
//! block that two models share.

/// How a pass counts people in addition to row by row; it decides which sums the evidence carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CountingUnit {
    /// Rows alone.
    Row,
    /// Rows, cut into blocks so that models can be compared on the same people.
    PairedRow,
    /// Persons, each with one or several rows.
    Person,
    /// Rows by their weights, cut into blocks.
    Weight,
}

impl CountingUnit {
    /// The unit for rows with these columns. `paired`: whether models are compared.
    pub(crate) fn of(has_weight: bool, has_person: bool, paired: bool) -> Self {
        match (has_weight, has_person, paired) {
            (true, _, _) => CountingUnit::Weight,
            (false, true, _) => CountingUnit::Person,
            (false, false, true) => CountingUnit::PairedRow,
            (false, false, false) => CountingUnit::Row,
        }
    }
}
