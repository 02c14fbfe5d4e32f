//! What follows from a checked job: groups, classes, columns that a model may read.

pub(crate) mod clarify;
mod classes;
pub(crate) mod experiments;
pub(crate) mod flat;
pub(crate) mod roles;
