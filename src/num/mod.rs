//! Small numerical routines with no knowledge of fairness.
//!
//! Exact sums, distributions, hashes and named random streams, quantiles, transport. Everything
//! here gives the same bits on every machine: elementary functions come from the `libm` crate, sums
//! that decide results are whole numbers. Not done here: anything that reads a file or knows what a
//! group is.

pub mod binomial_draws;
pub mod decimal;
pub mod ecdf;
pub mod eigen;
pub mod fixed;
pub mod hash;
pub mod linalg;
pub mod moments;
pub mod neighbours;
pub mod poisson;
pub mod seed;
pub mod summary;
pub mod transport;
