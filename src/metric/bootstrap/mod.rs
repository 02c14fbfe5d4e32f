//! How sure a value is: intervals, replicates, permutations.

pub mod placebo;
pub mod redraw;
pub mod turn;
