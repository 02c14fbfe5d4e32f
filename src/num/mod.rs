//! Small numerical routines with no knowledge of fairness: exact sums, hashes and named random streams, quantiles.
//!
//! Everything here gives the same bits on every machine: elementary functions come from the `libm` crate, sums that decide results
//! are whole numbers. What is not done here: anything that reads a file or knows what a group is.

pub mod binomial;
pub mod fixed;
pub mod linalg;
pub mod poisson;
pub mod seed;
pub mod summary;
