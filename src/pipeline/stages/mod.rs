//! The stages one by one: what each needs, what makes it stale, and which engine it calls.
//!
//! A stage is a value that [`super::plan`] lists; its builder is a method of the plan here. Nothing
//! here computes a number.

pub mod augment;
pub mod counts;
pub mod graphs;
pub mod models;
pub mod recourse;
pub mod rows;
pub mod tables;
pub mod twice;
pub mod worlds;
