//! Weighted sums of products of encoded columns, one matrix per bootstrap replicate: all that search and equations need of the rows.
//!
//! Sums run in f64 in the order of the rows inside a block and in fixed point over blocks, so they are the same for any threads and any
//! size of row groups; sums of indicators are exact anyway. Cost: for a row with p variables p^2 / 2 additions per replicate that holds it;
//! memory (columns^2 / 2) x 16 bytes per replicate and thread. Indicators that are 0 cost nothing.

use crate::causal::draw::Draws;
use crate::causal::encoding::{Blocks, Encoding};
use crate::data::training::{TrainingGroup, TrainingRows};
use crate::error::Result;
use crate::num::fixed::Fixed;
use crate::num::linalg::Symmetric;

/// Sums of one replicate over a constant 1 (position 0) and the encoded columns (from 1 on).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moments {
    sums: Vec<Fixed>,
}

impl Moments {
    /// The sums of every replicate.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn of_replicates(encoding: &Encoding, blocks: &Blocks, rows: &TrainingRows<'_>, draws: &Draws) -> Result<Vec<Moments>> {
        let mut all = vec![Moments::zero(encoding); draws.replicates()];
        rows.fold(
            |group| of_group(encoding, blocks, group, draws),
            |part| all.iter_mut().zip(&part).for_each(|(whole, part)| whole.merge(part)),
        )?;
        Ok(all)
    }

    fn zero(encoding: &Encoding) -> Self {
        Moments { sums: vec![Fixed::ZERO; Symmetric::at(encoding.width() + 1, 0)] }
    }

    fn merge(&mut self, other: &Moments) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| a.merge(*b));
    }

    /// Number of draws, each row as often as it stands in the replicate.
    pub fn n(&self) -> f64 {
        self.sums[0].to_f64()
    }

    /// The sum of an encoded column; for an indicator how often its level occurs.
    pub fn sum(&self, column: usize) -> f64 {
        self.sums[Symmetric::at(column + 1, 0)].to_f64()
    }

    /// The mean of an encoded column.
    pub fn mean(&self, column: usize) -> f64 {
        self.sum(column) / self.n()
    }

    /// The covariance of two encoded columns, divisor n - 1.
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        let product = self.sums[Symmetric::at(i.max(j) + 1, i.min(j) + 1)].to_f64();
        (product - self.sum(i) * self.mean(j)) / (self.n() - 1.0)
    }
}

/// The sums of a row group, for each replicate.
fn of_group(encoding: &Encoding, blocks: &Blocks, group: &TrainingGroup, draws: &Draws) -> Vec<Moments> {
    let mut all = vec![Moments::zero(encoding); draws.replicates()];
    let length = Symmetric::at(encoding.width() + 1, 0);
    let mut entries = Vec::new();
    let mut products: Vec<(usize, f64)> = Vec::new();
    for (number, members, strata) in blocks.of_group(encoding, group) {
        let times: Vec<Vec<u32>> = (0..all.len()).map(|b| draws.of_block(b, number, &strata)).collect();
        let mut sums = vec![0.0; length * all.len()];
        for (m, &i) in members.iter().enumerate() {
            encoding.encode(&group.rows, i, &mut entries);
            products.clear();
            products.push((0, 1.0));
            for (k, &(row, x)) in entries.iter().enumerate() {
                products.push((Symmetric::at(row + 1, 0), x));
                products.extend(entries[..=k].iter().map(|&(column, y)| (Symmetric::at(row + 1, column + 1), x * y)));
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
