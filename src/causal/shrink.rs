//! The second half of grow-shrink: removes parents one by one while that raises the score.
//!
//! Source: Andrews et al. 2023, algorithms 1 and 2. Of all parents that are not required, the one
//! whose removal gives the highest score is removed, if that score is strictly above the present
//! one; the first of equal removals is taken. If x and all parents are single columns, one inverse
//! gives all removals, with m^3 operations and m^2 for each removal; otherwise each is scored
//! again, with m^3 / 6 for each parent and removal.

use crate::causal::nodes::NodeSet;
use crate::causal::score::{GraphScore, SINGULAR_VARIANCE};

/// Pivots below this make an inverse too inaccurate to read removals off it.
const MIN_PIVOT: f64 = 1e-7;

/// The score of `x` and its parents after all removals, the best first; `now` is the score given
/// `path`.
pub(super) fn shrink(
    score: &GraphScore,
    x: usize,
    (path, now): (NodeSet, f64),
    required: NodeSet,
) -> (f64, NodeSet) {
    if let Some(inverse) = CorrelationInverse::new(score, x, path) {
        return inverse.shrink(score, now, required);
    }
    // Otherwise each removal is scored again.
    let (mut best, mut parents) = (now, path);
    loop {
        let mut removed = None;
        for y in parents - required {
            let without = score.local_score(x, parents.without(y)).score;
            if without > best {
                (best, removed) = (without, Some(y));
            }
        }
        match removed {
            Some(y) => parents.remove(y),
            None => return (best, parents),
        }
    }
}

/// The inverse of the correlations of x and its parents, all of one column: the variance of x given
/// all of them but y is 1 / (k_xx - k_xy^2 / k_yy).
struct CorrelationInverse {
    x: usize,
    parents: NodeSet,
    /// The variables in the order of the rows, x last.
    order: Vec<usize>,
    k: Vec<f64>,
}

impl CorrelationInverse {
    /// `None` where a variable has several columns or the parents nearly determine each other or x.
    fn new(score: &GraphScore, x: usize, parents: NodeSet) -> Option<Self> {
        let order: Vec<usize> = parents.into_iter().chain([x]).collect();
        if order.iter().any(|&v| score.columns[v].len() != 1) {
            return None;
        }
        let size = order.len();
        let mut k = vec![0.0; size * size];
        for (row, &u) in k.chunks_exact_mut(size).zip(&order) {
            let from = score.columns[u].start * score.width;
            row.iter_mut()
                .zip(&order)
                .for_each(|(cell, &v)| *cell = score.correlations[from + score.columns[v].start]);
        }
        // Sweeps of every pivot turn the matrix into minus its inverse.
        for p in 0..size {
            let pivot = k[p * size + p];
            if pivot < MIN_PIVOT {
                return None;
            }
            let row: Vec<f64> = k[p * size..(p + 1) * size].iter().map(|x| x / pivot).collect();
            for (_, cells) in k.chunks_exact_mut(size).enumerate().filter(|(i, _)| *i != p) {
                let factor = cells[p];
                cells.iter_mut().zip(&row).for_each(|(cell, x)| *cell -= factor * x);
                cells[p] = factor / pivot;
            }
            k[p * size..(p + 1) * size].copy_from_slice(&row);
            k[p * size + p] = -1.0 / pivot;
        }
        k.iter_mut().for_each(|cell| *cell = -*cell);
        Some(CorrelationInverse { x, parents, order, k })
    }

    fn shrink(mut self, score: &GraphScore, now: f64, required: NodeSet) -> (f64, NodeSet) {
        let size = self.order.len();
        let (last, mut best) = (size - 1, now);
        loop {
            let mut smallest: Option<(f64, usize)> = None;
            for i in 0..last {
                if !self.parents.contains(self.order[i]) || required.contains(self.order[i]) {
                    continue;
                }
                let (own, cross) = (self.k[i * size + i], self.k[last * size + i]);
                let variance = 1.0 / (self.k[last * size + last] - cross * cross / own);
                if smallest.is_none_or(|(found, _)| variance < found) {
                    smallest = Some((variance, i));
                }
            }
            let Some((variance, i)) = smallest else { return (best, self.parents) };
            let without = score.score_of_log_variances(
                self.x,
                libm::log(variance.max(SINGULAR_VARIANCE)),
                self.parents.len() - 1,
            );
            if without <= best {
                return (best, self.parents);
            }
            best = without;
            self.parents.remove(self.order[i]);
            let row: Vec<f64> = self.k[i * size..(i + 1) * size].to_vec();
            for (j, cells) in self.k.chunks_exact_mut(size).enumerate() {
                let factor = row[j] / row[i];
                cells.iter_mut().zip(&row).for_each(|(cell, x)| *cell -= factor * x);
            }
        }
    }
}
