//! Derived from a checked job: groups, classes, columns that a model may read.

pub(crate) mod flat;
mod label;
pub(crate) mod roles;
