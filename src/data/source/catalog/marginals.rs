//! Shared by the stand-ins: exact counts, and draws from published counts by hashes.

use serde::Deserialize;

use crate::num::seed::h;

/// How often each value occurs in each stratum.
#[derive(Debug, Deserialize)]
pub(super) struct MarginalCounts<T> {
    /// The values.
    pub(super) values: Vec<T>,
    /// For each stratum, one count per value.
    pub(super) counts: Vec<Vec<u64>>,
}

impl<T> MarginalCounts<T> {
    /// The value whose interval contains `u`, a number in [0, 1).
    ///
    /// The values of a stratum lie next to each other, each with a width in proportion to its
    /// count.
    pub(super) fn draw(&self, stratum: usize, u: f64) -> &T {
        let counts = &self.counts[stratum];
        let target = (u * counts.iter().sum::<u64>() as f64) as u64;
        let mut sum = 0;
        let position = counts.iter().position(|&n| {
            sum += n;
            target < sum
        });
        &self.values[position.unwrap_or(0)]
    }
}

/// The value at `u`, a number in [0, 1), between quantiles at equal steps from 0 to 1.
pub(super) fn interpolate_quantiles(quantiles: &[i64], u: f64) -> f64 {
    let at = u * (quantiles.len() - 1) as f64;
    let (below, share) = (at as usize, at.fract());
    quantiles[below] as f64 + share * (quantiles[below + 1] - quantiles[below]) as f64
}

/// The cell of each of the rows `first ..`, with `sizes` rows per cell.
///
/// Cells are assigned in the order of the rows' hashes.
pub(super) fn assign_cells(sizes: &[usize], seed: u64, first: usize) -> Vec<usize> {
    let n = sizes.iter().sum();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by_key(|&i| (h(seed, (first + i) as u64, 0), i));
    let mut cells = vec![0; n];
    let dealt = sizes.iter().enumerate().flat_map(|(cell, &n)| std::iter::repeat_n(cell, n));
    order.into_iter().zip(dealt).for_each(|(i, cell)| cells[i] = cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::{MarginalCounts, assign_cells, interpolate_quantiles};

    #[test]
    fn draws_follow_the_counts() {
        let counts = MarginalCounts { values: vec!['a', 'b', 'c'], counts: vec![vec![1, 0, 3]] };
        assert_eq!([0.0, 0.24, 0.25, 0.999].map(|u| *counts.draw(0, u)), ['a', 'a', 'c', 'c']);
        assert_eq!(
            [0.0, 0.25, 0.75].map(|u| interpolate_quantiles(&[0, 10, 30], u)),
            [0.0, 5.0, 20.0]
        );
    }

    #[test]
    fn cells_keep_their_sizes() {
        let cells = assign_cells(&[3, 0, 5], 7, 100);
        assert_eq!([0, 1, 2].map(|c| cells.iter().filter(|&&x| x == c).count()), [3, 0, 5]);
        assert_ne!(cells, assign_cells(&[3, 0, 5], 8, 100));
    }
}
