//! How sure a value is: intervals, replicates, permutations.

pub(crate) mod placebo;
pub(crate) mod repeats;
