//! What follows from a checked job: groups, classes, columns that a model may read.

mod classes;
pub mod flat;
pub mod roles;
