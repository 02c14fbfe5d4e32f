//! How much memory the sums over directions of groups take, computed before any of it is taken.
//!
//! A set of G groups has G (G - 1) directions. Every thread has counts for all of them; if score
//! metrics have intervals, it also has sums of powers of what people add to each scope.

use crate::metric::evidence::jensen_shannon_sums::DivergenceSums;
use crate::metric::evidence::score_bins;
use crate::metric::evidence::shift::{CHANGE_BINS, SCORE_BINS, ShiftSums};
use crate::metric::evidence::shift_influence::ShiftInfluences;
use crate::metric::scope::ScopeIndex;

/// What is measured from the counterfactuals of one attribute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectionMemory {
    /// The number of groups.
    pub groups: usize,
    /// The number of threads.
    pub threads: usize,
    /// The number of classes that are counted against the rest; 1 for a label of two sides.
    pub classes: usize,
    /// Whether people have weights.
    pub weighted: bool,
    /// Whether score metrics have intervals.
    pub influences: bool,
}

impl DirectionMemory {
    /// Bytes at the peak of the work.
    pub(crate) fn bytes(self) -> u64 {
        let directions = (self.groups * self.groups) as u64;
        let histograms = (2 * SCORE_BINS + CHANGE_BINS) * size_of::<u64>();
        let direction = size_of::<ShiftSums>() + histograms;
        let influences = if self.influences { ShiftInfluences::BYTES_PER_SCOPE } else { 0 };
        let scope = size_of::<DivergenceSums>() + influences;
        let scopes = ScopeIndex { groups: self.groups }.len() as u64;
        let drawn = score_bins::bytes(self.groups) as u64 * (1 + u64::from(self.weighted));
        // One for each thread, and the whole.
        let parts = (self.threads as u64 + 1) * self.classes as u64;
        (directions * direction as u64 + scopes * scope as u64 + drawn) * parts
    }
}

#[cfg(test)]
mod tests {
    use super::DirectionMemory;

    #[test]
    fn memory_grows_with_the_square_of_the_groups() {
        let memory = |groups| DirectionMemory {
            groups,
            threads: 2,
            classes: 1,
            weighted: false,
            influences: true,
        };
        // Two groups are nothing; 150 groups have 22,651 scopes of 2.4 kilobytes in three parts.
        assert!(memory(2).bytes() < 4 << 20, "{}", memory(2).bytes());
        let of_150 = memory(150).bytes();
        assert!((200_000_000..350_000_000).contains(&of_150), "{of_150}");
        let without = DirectionMemory { influences: false, ..memory(150) };
        assert!(without.bytes() < 200_000_000, "{}", without.bytes());
        // The cells that the page draws are kept only if there are few groups.
        assert!(DirectionMemory { weighted: true, ..memory(5) }.bytes() > memory(5).bytes());
        assert!(DirectionMemory { threads: 8, ..memory(150) }.bytes() > of_150);
        assert_eq!(DirectionMemory { classes: 5, ..without }.bytes(), 5 * without.bytes());
    }
}
