//! Weighted sums of products of encoded columns, one matrix per bootstrap replicate: all that
//! search and equations need of the rows.
//!
//! Sums run in f64 in the order of the rows inside a block and in fixed point over blocks, so they
//! are the same for any number of threads and any size of row groups; sums of indicators are exact.
//! Cost: for a row with p variables p^2 / 2 additions per replicate that holds it; memory
//! (columns^2 / 2) x 16 bytes per replicate and thread. Indicators that are 0 take no time.

use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::encoding::{GraphEncoding, TrainingBlocks};
use crate::data::rows::training::{TrainingBatch, TrainingRows};
use crate::error::Result;
use crate::num::additive::{Additive, additive};
use crate::num::fixed::FixedSum;
use crate::num::linalg::SymmetricMatrix;

/// Sums of one replicate over a constant 1 (position 0) and the encoded columns (from 1 on).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedMoments {
    sums: Vec<FixedSum>,
}

impl EncodedMoments {
    /// The sums of every replicate.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn for_replicates(
        encoding: &GraphEncoding,
        blocks: &TrainingBlocks,
        rows: &TrainingRows<'_>,
        draws: &BootstrapDraws,
    ) -> Result<Vec<EncodedMoments>> {
        let mut all = vec![EncodedMoments::zero(encoding); draws.n_replicates()];
        rows.fold(|group| group_moments(encoding, blocks, group, draws), |part| all.absorb(&part))?;
        Ok(all)
    }

    fn zero(encoding: &GraphEncoding) -> Self {
        EncodedMoments { sums: vec![FixedSum::ZERO; SymmetricMatrix::at(encoding.width() + 1, 0)] }
    }

    /// Number of draws: the sum of the multiplicities of the rows.
    pub fn n_draws(&self) -> f64 {
        self.sums[0].to_f64()
    }

    /// The sum of an encoded column; for an indicator the number of draws with its level.
    pub fn sum(&self, column: usize) -> f64 {
        self.sums[SymmetricMatrix::at(column + 1, 0)].to_f64()
    }

    /// The mean of an encoded column.
    pub fn mean(&self, column: usize) -> f64 {
        self.sum(column) / self.n_draws()
    }

    /// The covariance of two encoded columns, divisor n - 1.
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        let product = self.sums[SymmetricMatrix::at(i.max(j) + 1, i.min(j) + 1)].to_f64();
        (product - self.sum(i) * self.mean(j)) / (self.n_draws() - 1.0)
    }
}

additive!(EncodedMoments { sums });

/// The sums of a row group, for each replicate.
fn group_moments(
    encoding: &GraphEncoding,
    blocks: &TrainingBlocks,
    group: &TrainingBatch,
    draws: &BootstrapDraws,
) -> Vec<EncodedMoments> {
    let mut all = vec![EncodedMoments::zero(encoding); draws.n_replicates()];
    let length = SymmetricMatrix::at(encoding.width() + 1, 0);
    let mut entries = Vec::new();
    let mut products: Vec<(usize, f64)> = Vec::new();
    for (number, members, strata) in blocks.group_blocks(encoding, group) {
        let times: Vec<Vec<u32>> =
            (0..all.len()).map(|b| draws.multiplicities(b, number, &strata)).collect();
        let mut sums = vec![0.0; length * all.len()];
        for (m, &i) in members.iter().enumerate() {
            encoding.encode(&group.rows, i, &mut entries);
            products.clear();
            products.push((0, 1.0));
            for (k, &(row, x)) in entries.iter().enumerate() {
                products.push((SymmetricMatrix::at(row + 1, 0), x));
                products.extend(
                    entries[..=k]
                        .iter()
                        .map(|&(column, y)| (SymmetricMatrix::at(row + 1, column + 1), x * y)),
                );
            }
            for (times, sums) in times.iter().zip(sums.chunks_exact_mut(length)) {
                if times[m] > 0 {
                    let weight = f64::from(times[m]);
                    products.iter().for_each(|&(at, product)| sums[at] += weight * product);
                }
            }
        }
        for (whole, sums) in all.iter_mut().zip(sums.chunks_exact(length)) {
            for (whole, &sum) in whole.sums.iter_mut().zip(sums).filter(|(_, sum)| **sum != 0.0) {
                if sum.abs() < 2048.0 { whole.add(sum) } else { whole.add_wide(sum) }
            }
        }
    }
    all
}
