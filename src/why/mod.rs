//! Why a metric is what it is: who switches.
//!
//! [`patterns`] finds traits whose people switch more often than the others, on one half of the
//! people, and confirms them on the other half; [`levels`] cuts columns into levels; [`knobs`] is
//! the block of a job. Everything that decides is a whole number or an interval of counts, so the
//! result does not depend on the order of rows or on threads.
//!
//! Not done here: reading rows, models, files.

pub(crate) mod knobs;
pub(crate) mod levels;
pub(crate) mod patterns;

use crate::num::seed::h;

/// Whether a person is of the second half, by the seed of the stream `why/half` and the key.
pub(crate) fn is_second_half(seed: u64, key: u64) -> bool {
    h(seed, key, 0) >> 63 == 1
}

#[cfg(test)]
mod tests;
