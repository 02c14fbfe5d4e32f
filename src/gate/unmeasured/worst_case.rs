//! What the people who were not measured could make of a value, and how many of them would be
//! enough to break a limit.

use std::collections::BTreeMap;

use crate::gate::question::GateLimit;
use crate::gate::reason::Lack;
use crate::num::first_above;

/// The numbers of people who were not measured, by what they lack; never 0.
pub(super) type LackingPeople = BTreeMap<Lack, u64>;

/// The effect that the people who were not measured could have on a value: the common result of
/// both ways to compute it.
pub(super) struct WorstCase<'a> {
    /// Those who move it to its worst.
    pub(super) lacking: LackingPeople,
    /// Whether a person with a group counts once for each of several counterfactuals.
    pub(super) of_decisions: bool,
    /// The end that a gate judges with a number of them, those first who move it most.
    pub(super) with: Box<dyn Fn(u64) -> Option<f64> + 'a>,
}

impl WorstCase<'_> {
    /// The end that a gate judges, with everybody at worst.
    pub(super) fn end(&self) -> Option<f64> {
        (self.with)(self.people())
    }

    /// The number of those who move it there.
    pub(super) fn people(&self) -> u64 {
        self.lacking.values().sum()
    }

    /// The fewest of all these people who break the limit.
    pub(super) fn enough(&self, limit: GateLimit) -> u64 {
        let breaks = |n: u64| (self.with)(n).is_some_and(|end| !limit.kept_by(end));
        first_above(0, self.people(), breaks)
    }
}
