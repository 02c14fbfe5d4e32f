//! Reasons for the value of a metric: which people switch, and which features make them switch.
//!
//! [`patterns`] finds traits whose people switch more often than the others, on one half of the
//! people, and confirms them on the other half; [`levels`] divides columns into levels. [`draw`]
//! chooses the people who are explained, [`shapley`] computes the contribution of each feature for
//! a person, [`features`] the means over people. [`knobs`] is the block of a job. Patterns depend
//! on whole numbers and intervals of counts, people and orders on hashes, so the result does not
//! depend on the order of rows or on threads.
//!
//! Not done here: reading rows, models, files.

pub(crate) mod draw;
pub(crate) mod features;
pub(crate) mod knobs;
pub(crate) mod levels;
pub(crate) mod patterns;
pub(crate) mod shapley;

use crate::num::seed::h;

/// Whether a person is of the second half, by the seed of the stream `why/half` and the key.
pub(crate) fn is_second_half(seed: u64, key: u64) -> bool {
    h(seed, key, 0) >> 63 == 1
}

#[cfg(test)]
mod tests;
