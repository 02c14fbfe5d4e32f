//! What noise would give, next to a value: placebos, and repeats of fits and trainings.

pub(crate) mod placebo;
pub(crate) mod repeats;
