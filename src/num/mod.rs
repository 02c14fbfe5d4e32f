//! Small numerical routines with no knowledge of fairness.
//!
//! Exact sums, distributions, hashes and named random streams, quantiles, transport. Everything
//! here gives the same bits on every machine: elementary functions come from the `libm` crate, and
//! sums that decide results are whole numbers. No code here reads files or depends on groups.

pub(crate) mod additive;
pub(crate) mod binomial_draws;
pub(crate) mod binomial_mass;
pub(crate) mod bits;
pub(crate) mod brownian_range;
pub(crate) mod decimal;
pub(crate) mod ecdf;
pub(crate) mod eigen;
pub(crate) mod fisher;
pub(crate) mod fixed;
pub mod float_precision;
pub(crate) mod hash;
pub(crate) mod itemsets;
pub(crate) mod linalg;
pub(crate) mod moments;
pub(crate) mod neighbours;
pub(crate) mod one_row_each;
pub(crate) mod poisson;
pub(crate) mod range;
pub mod score_scale;
pub mod seed;
pub(crate) mod short_number;
pub(crate) mod student;
pub(crate) mod summary;
pub(crate) mod transport;
pub(crate) mod vectors;
pub(crate) mod wide_sum;

/// The largest total weight of all people in units. Below it, no sum and no product of sums in
/// metrics overflows its type.
pub(crate) const MAX_TOTAL_WEIGHT: u64 = 1 << 62;

/// The smallest number above `low` that holds a condition, up to `high`, which is taken to hold it;
/// all above one that holds it do.
pub(crate) fn first_above(mut low: u64, mut high: u64, holds: impl Fn(u64) -> bool) -> u64 {
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The greatest common divisor; of 0 and another number that number.
pub(crate) fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
