//! What is counted of people: accumulators that merge.

pub(crate) mod chunk;
pub mod class_counts;
pub mod counts;
pub mod divergence;
pub mod flip_test;
pub mod labels;
pub(crate) mod matrix;
pub mod patterns;
pub mod person;
pub mod shift;
pub mod strata;
pub mod weights;
