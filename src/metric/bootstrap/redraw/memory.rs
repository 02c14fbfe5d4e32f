//! What the sums over directions of groups take of memory, told before any of it is taken.
//!
//! A set of G groups has G (G - 1) directions. Every thread has counts of all of them; the
//! bootstrap of score metrics keeps a value per scope, metric and replicate, or, of more than
//! [`MAX_SINGLE_PEOPLE`] people, sums per block of people and direction once per thread. Numbers of
//! people and of slices do not take part in it but for that choice.

use super::sums::{ColumnSums, Histogram};
use super::tile::{COLUMNS, REPLICATES_PER_BLOCK_TILE, REPLICATES_PER_PEOPLE_TILE, ScopeSums};
use super::units::ShiftBlock;
use super::{BLOCK_REPLICATES, MAX_SINGLE_PEOPLE};
use crate::metric::bootstrap::redraw::units::SHIFT_BLOCKS;
use crate::metric::catalog::shift::METRICS;
use crate::metric::evidence::score_bins;
use crate::metric::evidence::shift::{CHANGE_BINS, SCORE_BINS, ShiftSums};
use crate::metric::scope::ScopeIndex;
use crate::num::poisson::LANES;

/// A number, and why there is none.
const BYTES_PER_VALUE: u64 = 9;

/// What is asked of the counterfactuals of one attribute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DirectionMemory {
    /// Its groups.
    pub groups: usize,
    /// Threads that work at once.
    pub threads: usize,
    /// Classes of the label that are counted one against all; 1 for a label of two sides.
    pub classes: usize,
    /// Whether people have weights.
    pub weighted: bool,
    /// Replicates of score metrics; none where no interval of them is asked for.
    pub samples: Option<u64>,
}

impl DirectionMemory {
    /// Bytes at the height of the work; `people` are those who are audited, none where they are not
    /// known yet: then it is the least that any number of people takes.
    pub(crate) fn bytes(self, people: Option<u64>) -> u64 {
        let redrawn = self.samples.map_or(0, |samples| match people {
            None => self.people(samples).min(self.blocks()),
            Some(n) if n <= MAX_SINGLE_PEOPLE => self.people(samples),
            Some(_) => self.blocks(),
        });
        self.counts() + redrawn
    }

    fn scopes(self) -> u64 {
        ScopeIndex { groups: self.groups }.len() as u64
    }

    fn directions(self) -> u64 {
        (self.groups * self.groups) as u64
    }

    /// One for each thread, and the whole.
    fn parts(self) -> u64 {
        self.threads as u64 + 1
    }

    fn counts(self) -> u64 {
        let histograms = (2 * SCORE_BINS + CHANGE_BINS) * size_of::<u64>();
        // Score sums of everybody are in a block.
        let direction = size_of::<ShiftSums>() + histograms + size_of::<ShiftBlock>();
        let drawn = score_bins::bytes(self.groups) as u64 * (1 + u64::from(self.weighted));
        (self.directions() * direction as u64 + drawn) * self.parts() * self.classes as u64
    }

    /// Values of all replicates of a tile size, kept until the last is there.
    fn values(self, replicates: u64, tile: usize) -> u64 {
        let tiles = replicates.div_ceil(tile as u64);
        self.scopes() * METRICS.len() as u64 * tiles * tile as u64 * BYTES_PER_VALUE
    }

    fn people(self, samples: u64) -> u64 {
        let lanes = REPLICATES_PER_PEOPLE_TILE / LANES;
        let open = ColumnSums::<COLUMNS>::bytes(lanes) + 2 * Histogram::bytes(lanes);
        let a_thread =
            (self.groups * open + (2 * self.groups + 1) * ScopeSums::bytes(lanes)) as u64;
        let at_once =
            (self.threads as u64).min(samples.div_ceil(REPLICATES_PER_PEOPLE_TILE as u64));
        self.values(samples, REPLICATES_PER_PEOPLE_TILE) + at_once * a_thread
    }

    fn blocks(self) -> u64 {
        let a_part = SHIFT_BLOCKS as u64 * self.directions() * size_of::<ShiftBlock>() as u64;
        let wider = (2 * self.groups + 1) as u64
            * ScopeSums::bytes(REPLICATES_PER_BLOCK_TILE / LANES) as u64
            * self.threads as u64;
        a_part * self.parts()
            + wider
            + self.values(BLOCK_REPLICATES as u64, REPLICATES_PER_BLOCK_TILE)
    }
}

#[cfg(test)]
mod tests {
    use super::DirectionMemory;

    #[test]
    fn memory_grows_with_the_square_of_the_groups() {
        let room = |groups| DirectionMemory {
            groups,
            threads: 2,
            classes: 1,
            weighted: false,
            samples: Some(2000),
        };
        // Two groups are nothing, 150 groups gigabytes: 22,651 scopes of eight metrics in 2,048
        // replicates are 3.3 GB alone.
        assert!(room(2).bytes(Some(1000)) < 20 << 20, "{}", room(2).bytes(Some(1000)));
        let of_150 = room(150).bytes(Some(100_000));
        assert!((3_300_000_000..4_500_000_000).contains(&of_150), "{of_150}");
        // Of many people 200 blocks of 22,500 directions, 0.6 kilobytes each, in three parts: 8.5
        // GB.
        let of_many = room(150).bytes(Some(200_001));
        assert!((8_400_000_000..10_000_000_000).contains(&of_many), "{of_many}");
        assert_eq!(room(150).bytes(None), of_150, "the least of both");
        let without = DirectionMemory { samples: None, ..room(150) };
        assert!(without.bytes(None) < 200_000_000, "{}", without.bytes(None));
        assert!(DirectionMemory { weighted: true, ..without }.bytes(None) > without.bytes(None));
        assert!(DirectionMemory { threads: 8, ..room(150) }.bytes(None) > of_150);
        assert_eq!(DirectionMemory { classes: 5, ..without }.bytes(None), 5 * without.bytes(None));
    }
}
