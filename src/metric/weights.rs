//! People who weigh differently: sums of weight by block of people, for values and for their bootstrap.
//!
//! Weights are whole numbers of a unit that the caller chose, so sums are exact and any partition of people gives the same. Values come
//! from these sums; cases, small groups and small denominators are counted in people all the same (see [`counts`](super::counts)).
//!
//! Choice: shares of weight are no shares of independent cases, so no formula gives their interval. People fall into [`BLOCKS`] blocks by
//! the hash of their key; in every replicate a block counts Poisson(1) times, the same number in every group, direction and scope, so that
//! gaps are drawn with the people behind them; then percentiles as in [`interval`](super::interval). The spread of a thousand blocks is
//! that of their people, whatever their number, known to about 2 %. Coverage of 95 % intervals, simulated (see the tests): of 300 people
//! a rate 94.8 %, a gap 94.2 %; of 3000 people 94.3 % and 94.8 %.
//!
//! Memory: 64 bytes a block and direction. Cost: about 30 ms a scope for 2000 replicates, on one thread.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Undefined, Value};
use crate::num::poisson::{LANES, Poisson};
use crate::num::seed::{h, named};
use crate::param::Seed;

/// Blocks of people.
pub const BLOCKS: u32 = 1000;

/// The most units that all people may weigh together; every sum and product of sums that metrics form stays within its type.
pub const MOST: u64 = 1 << 62;

/// Sums of N kinds at several places, by block of people; mergeable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ByBlock<const N: usize> {
    places: usize,
    cut: u64,
    /// Block by block, in each place by place.
    cells: Vec<[u64; N]>,
}

impl<const N: usize> ByBlock<N> {
    /// Nobody yet.
    pub(super) fn new(places: usize, seed: Seed) -> Self {
        ByBlock { places, cut: named(seed.0, "bootstrap/weights/cut"), cells: vec![[0; N]; places * BLOCKS as usize] }
    }

    /// The sums at a place in the block of a person.
    pub(super) fn at(&mut self, key: u64, place: usize) -> &mut [u64; N] {
        let block = ((h(self.cut, key, 0) >> 32) * u64::from(BLOCKS)) >> 32;
        &mut self.cells[block as usize * self.places + place]
    }

    /// Adds other people.
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.cells.as_flattened_mut().iter_mut().zip(other.cells.as_flattened()) {
            *mine += theirs;
        }
    }

    /// The sums over some places, block by block; blocks in which nobody is are left out.
    pub(super) fn blocks(&self, places: impl Iterator<Item = usize> + Clone) -> Vec<(u64, [u64; N])> {
        let sums = (0..u64::from(BLOCKS)).zip(self.cells.chunks_exact(self.places.max(1))).map(|(block, cells)| {
            let mut sum = [0; N];
            places.clone().for_each(|place| add(&mut sum, &cells[place]));
            (block, sum)
        });
        sums.filter(|(_, sum)| *sum != [0; N]).collect()
    }

    /// The sums over some places.
    pub(super) fn sum(&self, places: impl Iterator<Item = usize> + Clone) -> [u64; N] {
        let mut all = [0; N];
        self.blocks(places).iter().for_each(|(_, sum)| add(&mut all, sum));
        all
    }
}

fn add<const N: usize>(sum: &mut [u64; N], other: &[u64; N]) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

/// As it is written: the numbers of all cells in order.
#[derive(Serialize, Deserialize)]
struct Listed {
    places: usize,
    cut: u64,
    cells: Vec<u64>,
}

impl<const N: usize> Serialize for ByBlock<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Listed { places: self.places, cut: self.cut, cells: self.cells.as_flattened().to_vec() }.serialize(serializer)
    }
}

impl<'de, const N: usize> Deserialize<'de> for ByBlock<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Listed { places, cut, cells } = Listed::deserialize(deserializer)?;
        let (cells, rest) = cells.as_chunks::<N>();
        if !rest.is_empty() || cells.len() != places * BLOCKS as usize {
            return Err(D::Error::custom("sums by block are not complete"));
        }
        Ok(ByBlock { places, cut, cells: cells.to_vec() })
    }
}

/// Replicates of the sums of blocks.
pub(super) fn redraw<const N: usize>(blocks: &[(u64, [u64; N])], samples: u64, seed: Seed) -> Vec<[u64; N]> {
    let samples = usize::try_from(samples).unwrap_or(usize::MAX);
    let poisson = Poisson::new(seed.0, "bootstrap/weights");
    let (mut worlds, mut times) = (vec![[0_u64; N]; samples], vec![[0.0; LANES]; samples.div_ceil(LANES)]);
    for (block, sums) in blocks {
        poisson.fill(*block, 0, &mut times);
        for (world, &times) in worlds.iter_mut().zip(times.as_flattened()).filter(|(_, times)| **times > 0.0) {
            // Only where nearly all weight is one block's, of people beyond number, is there anything to be cut.
            world.iter_mut().zip(sums).for_each(|(cell, sum)| *cell = cell.saturating_add(sum.saturating_mul(times as u64)));
        }
    }
    worlds
}

/// A value of sums of weight, with the reason that the people have where there is none: those who could be divided by may be there and
/// weigh nothing.
pub(super) fn by_weight(value: Value, of_people: impl FnOnce() -> Value) -> Value {
    value.or_else(|reason| match reason {
        Undefined::ZeroReferenceRate | Undefined::ZeroNegativeSwitchRate | Undefined::OperandUndefined | Undefined::Infinite => Err(reason),
        _ => of_people().and(Err(Undefined::ZeroWeight)),
    })
}
