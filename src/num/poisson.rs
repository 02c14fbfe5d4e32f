//! Poisson(1) weights by row and replicate, from hashes: a bootstrap for rows in any order.
//!
//! The partition of the rows does not matter either.
//!
//! Source: Chamandy, Muralidharan, Najmi and Naidu 2012, "Estimating uncertainty for massive data
//! streams": instead of drawing n of n rows, every row has an independent Poisson(1) weight in
//! every replicate. A weight depends only on seed, name, row and replicate.
//!
//! Choice: a weight uses 16 bits, a quarter of a hash, so all probabilities are multiples of 2^-16:
//! mean exactly 1, variance 1.00009, no weight above [`MAX_WEIGHT`], and a total variation distance
//! of 2.6e-5 from the Poisson distribution.
//! Cost: about 1.5 ns per weight.

use crate::num::seed::{named_seed, sm};

/// The largest weight.
const MAX_WEIGHT: u32 = 8;

/// The number of 2^16 draws that give 0, 1, ..., 8: Poisson probabilities rounded to a mean of 1.
const FREQUENCIES: [u16; MAX_WEIGHT as usize + 1] =
    [24_109, 24_110, 12_055, 4018, 1004, 201, 33, 5, 1];

/// The smallest draw of each weight from 1 on.
const THRESHOLDS: [u16; MAX_WEIGHT as usize] = {
    let mut from = [0; MAX_WEIGHT as usize];
    let (mut k, mut sum) = (0, 0);
    while k < from.len() {
        sum += FREQUENCIES[k];
        from[k] = sum;
        k += 1;
    }
    from
};

/// Number of weights computed at a time.
pub(crate) const LANES: usize = 64;

/// Weights of one name under one seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoissonWeights(u64);

impl PoissonWeights {
    /// The weights of this name; weights of other names or seeds are practically independent.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        PoissonWeights(sm(named_seed(seed, name)))
    }

    /// The weights of a row in the replicates from `first` on, a multiple of 4.
    ///
    /// Loops over arrays have a fixed length, here and in the callers, so that the compiler
    /// vectorises them, also in builds that check every step of an iterator.
    pub(crate) fn fill(self, row: u64, first: usize, weights: &mut [[f64; LANES]]) {
        assert!(first.is_multiple_of(4), "a hash holds four replicates, {first} stands inside one");
        // The steps of `h(named_seed(seed, name), row, hash)` that do not depend on the replicate.
        let row = sm(self.0 ^ row);
        let mut hash = first as u64 / 4;
        for weights in weights {
            let mut draws = [0_u16; LANES];
            let mut i = 0;
            while i < LANES {
                let bits = sm(row ^ hash);
                hash = hash.wrapping_add(1);
                draws[i] = bits as u16;
                draws[i + 1] = (bits >> 16) as u16;
                draws[i + 2] = (bits >> 32) as u16;
                draws[i + 3] = (bits >> 48) as u16;
                i += 4;
            }
            let mut i = 0;
            while i < LANES {
                let (mut found, mut k) = (0_u16, 0);
                while k < THRESHOLDS.len() {
                    found = found.wrapping_add((draws[i] >= THRESHOLDS[k]) as u16);
                    k += 1;
                }
                weights[i] = f64::from(found);
                i += 1;
            }
        }
    }

    /// The weight of a row in one replicate.
    pub(crate) fn weight(self, row: u64, replicate: usize) -> f64 {
        let hash = sm(sm(self.0 ^ row) ^ (replicate / 4) as u64);
        let draw = (hash >> (16 * (replicate % 4))) as u16;
        THRESHOLDS.iter().filter(|&&from| draw >= from).count() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{FREQUENCIES, LANES, PoissonWeights, THRESHOLDS};
    use crate::num::seed::{h, named_seed};

    #[test]
    fn the_distribution_is_the_stated_one() {
        let mean_of = |f: &dyn Fn(f64) -> f64| {
            FREQUENCIES.iter().enumerate().map(|(k, &n)| f(k as f64) * f64::from(n)).sum::<f64>()
                / 65536.0
        };
        assert_eq!((mean_of(&|_| 1.0), mean_of(&|k| k)), (1.0, 1.0));
        let variance = mean_of(&|k| (k - 1.0) * (k - 1.0));
        assert!((variance - 1.000_09).abs() < 5e-6, "{variance}");
        let (mut share, mut elsewhere, mut rest) = (libm::exp(-1.0), 0.0, 1.0);
        for (k, &n) in FREQUENCIES.iter().enumerate() {
            elsewhere += (share - f64::from(n) / 65536.0).abs() / 2.0;
            rest -= share;
            share /= k as f64 + 1.0;
        }
        assert!(elsewhere + rest / 2.0 < 2.6e-5, "{elsewhere}");
        assert_eq!(THRESHOLDS[..2], [24_109, 48_219]);
    }

    #[test]
    fn a_weight_depends_on_row_and_replicate_alone() {
        let poisson = PoissonWeights::new(7, "people");
        let (mut all, mut part) = ([[0.0; LANES]; 3], [[0.0; LANES]; 1]);
        poisson.fill(99, 0, &mut all);
        poisson.fill(99, 52, &mut part);
        let all = all.as_flattened();
        assert_eq!(all[52..52 + LANES], part[0]);
        assert!((0..all.len()).all(|r| poisson.weight(99, r) == all[r]));
        assert_eq!(
            (h(named_seed(7, "people"), 99, 5) >> 32) as u16 >= THRESHOLDS[0],
            all[22] >= 1.0
        );
        let mut other = [[0.0; LANES]; 3];
        poisson.fill(98, 0, &mut other);
        assert_ne!(all, other.as_flattened());
    }

    #[test]
    fn weights_have_mean_1_variance_1_and_do_not_go_together() {
        let poisson = PoissonWeights::new(3, "moments");
        let rows = 2000_u64;
        let mut weights = [[0.0; LANES]];
        let (mut sum, mut sq, mut next, mut before) = (0.0, 0.0, 0.0, 0.0);
        for row in 0..rows {
            poisson.fill(row, 0, &mut weights);
            let weights = weights[0];
            for pair in weights.windows(2) {
                next += (pair[0] - 1.0) * (pair[1] - 1.0);
            }
            before += weights.iter().map(|w| w - 1.0).sum::<f64>().powi(2);
            sum += weights.iter().sum::<f64>();
            sq += weights.iter().map(|w| (w - 1.0) * (w - 1.0)).sum::<f64>();
        }
        let n = rows as f64 * LANES as f64;
        let within = 5.0 / n.sqrt();
        assert!((sum / n - 1.0).abs() < within, "{}", sum / n);
        // The fourth central moment is 4, so the sum of squares has variance 3 a draw.
        assert!((sq / n - 1.0).abs() < 1.8 * within, "{}", sq / n);
        assert!((next / n).abs() < within, "{}", next / n);
        assert!((before / n - 1.0).abs() < 5.0 * (2.0 / rows as f64).sqrt(), "{}", before / n);
    }
}
