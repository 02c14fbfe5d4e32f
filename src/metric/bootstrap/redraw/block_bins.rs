//! The histogram of scores of one block: 32 bits a bin, and 64 only where a bin outgrows them.
//!
//! Histograms of all blocks and directions are most of the memory that score metrics of many
//! groups take, and a bin of one block hardly ever has four billion people or units of weight.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::shift::SCORE_BINS;

/// Sums by bin; in files a list of whole numbers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct BlockBins {
    low: [u32; SCORE_BINS],
    /// Multiples of 2^32; none while no bin has reached that.
    high: Option<Box<[u32; SCORE_BINS]>>,
}

impl Default for BlockBins {
    fn default() -> Self {
        BlockBins { low: [0; SCORE_BINS], high: None }
    }
}

impl BlockBins {
    /// Adds to a bin.
    #[inline]
    pub(super) fn add(&mut self, bin: usize, weight: u64) {
        let sum = u64::from(self.low[bin]) + weight;
        self.low[bin] = sum as u32;
        if sum >> 32 > 0 {
            self.carry(bin, (sum >> 32) as u32);
        }
    }

    #[cold]
    fn carry(&mut self, bin: usize, multiples: u32) {
        self.high.get_or_insert_with(|| Box::new([0; SCORE_BINS]))[bin] += multiples;
    }

    /// Adds another histogram.
    pub(super) fn merge(&mut self, other: &BlockBins) {
        (0..SCORE_BINS).for_each(|bin| self.add(bin, other.get(bin)));
    }

    /// The sum of a bin.
    #[inline]
    pub(super) fn get(&self, bin: usize) -> u64 {
        let high = self.high.as_ref().map_or(0, |high| u64::from(high[bin]) << 32);
        high + u64::from(self.low[bin])
    }

    /// All bins.
    pub(super) fn sums(&self) -> [u64; SCORE_BINS] {
        std::array::from_fn(|bin| self.get(bin))
    }
}

impl Serialize for BlockBins {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.sums())
    }
}

impl<'de> Deserialize<'de> for BlockBins {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sums = Vec::<u64>::deserialize(deserializer)?;
        if sums.len() != SCORE_BINS {
            return Err(D::Error::custom("a histogram is not complete"));
        }
        let mut bins = BlockBins::default();
        sums.into_iter().enumerate().for_each(|(bin, sum)| bins.add(bin, sum));
        Ok(bins)
    }
}

#[cfg(test)]
mod tests {
    use super::BlockBins;

    #[test]
    fn a_bin_beyond_32_bits_keeps_its_sum_in_memory_in_files_and_merged() {
        let mut bins = BlockBins::default();
        let large = u64::from(u32::MAX);
        bins.add(3, large);
        assert!(bins.high.is_none());
        bins.add(3, 2);
        bins.add(49, 7 << 40);
        bins.add(0, 1);
        let is_right = |bins: &BlockBins, times: u64| {
            assert_eq!(bins.get(3), times * (large + 2));
            assert_eq!(bins.get(49), times * (7 << 40));
            assert_eq!(bins.sums().iter().sum::<u64>(), times * (large + 3 + (7 << 40)));
        };
        is_right(&bins, 1);
        let text = serde_json::to_string(&bins).unwrap();
        let read: BlockBins = serde_json::from_str(&text).unwrap();
        assert_eq!(read, bins);
        let mut twice = read;
        twice.merge(&bins);
        is_right(&twice, 2);
        assert!(serde_json::from_str::<BlockBins>("[1, 2]").is_err());
    }
}
