//! The degenerate Gaussian score of a variable given its parents, for numbers and levels alike.
//!
//! Source: Andrews, Ramsey and Cooper 2019, "Learning high-dimensional directed acyclic graphs with
//! mixed data-types". A number is one column; a variable with r levels in the replicate r - 1
//! indicators, the most frequent level dropped. With the columns a_1..a_d of x, m columns of its
//! parents and n draws, s(x | P) = sum over i of [ -n (ln(2 pi v_i) + 1) - c ln(n) (m + i - 1) ],
//! v_i the variance (divisor n - 1) of a_i given the parents' columns and a_1..a_{i-1}, c the
//! penalty discount (the paper's is 2). Higher is better; the scale is 2 log-likelihood minus c k
//! ln n.
//!
//! Exactly dependent columns: Tetrad scores them with the logarithm of rounding errors. Here, on
//! the scale of correlations, a parent's column whose variance given the previous columns is below
//! [`SINGULAR_VARIANCE`] is skipped but still counts in m; such a column of x scores with that
//! bound and is not conditioned on. Choice: a variable with one value in a replicate has no column
//! there: it scores 0 and can only have required edges. Cost: (columns of parents and x)^3 / 6
//! operations; the grow-shrink trees need less. Expected values: Tetrad 7.6, printed with the test
//! data.

use std::ops::Range;

use crate::causal::encoding::{GraphEncoding, VariableForm};
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;

/// Variances below this, of columns scaled to variance 1, are rounding noise.
pub const SINGULAR_VARIANCE: f64 = 1e-10;

/// Scores of one replicate.
#[derive(Debug, Clone)]
pub struct GraphScore {
    /// Penalty for one more coefficient: c ln n.
    pub(super) penalty: f64,
    /// Number of draws, or of independent rows that would be as precise.
    pub(super) n: f64,
    /// The columns of each variable.
    pub(super) columns: Vec<Range<usize>>,
    /// The part of each variable's score that does not depend on its parents.
    pub(super) base: Vec<f64>,
    /// Number of columns.
    pub(super) width: usize,
    /// Correlations, all `width * width`.
    pub(super) correlations: Vec<f64>,
}

/// A score with the number of columns that its parents determine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalScore {
    /// s(x | P).
    pub score: f64,
    /// Columns of x that its parents (and its own earlier columns) determine.
    pub determined: usize,
}

impl GraphScore {
    /// The scores of a replicate under a penalty discount c.
    pub fn new(encoding: &GraphEncoding, moments: &EncodedMoments, discount: f64) -> Self {
        GraphScore::of_effective_rows(encoding, moments, discount, moments.n_draws())
    }

    /// As [`Self::new`], for draws that are as precise as `n` independent rows.
    ///
    /// Choice: if a person has several rows, n is that of `effective_rows` of
    /// [`BootstrapDraws`](crate::causal::bootstrap_draws::BootstrapDraws): the likelihood of
    /// repeated rows would find edges by chance.
    pub(crate) fn of_effective_rows(
        encoding: &GraphEncoding,
        moments: &EncodedMoments,
        discount: f64,
        n: f64,
    ) -> Self {
        let mut shown = Vec::new();
        let mut columns = Vec::new();
        let mut log_units = Vec::new();
        for variable in &encoding.variables {
            let start = shown.len();
            shown.extend(scored_columns(variable.columns.clone(), &variable.form, moments));
            columns.push(start..shown.len());
            // Scores refer to the columns in their own units.
            log_units.push(if let VariableForm::Number { sd, .. } = variable.form {
                2.0 * libm::log(sd)
            } else {
                0.0
            });
        }
        let width = shown.len();
        let variances: Vec<f64> = shown.iter().map(|&c| moments.covariance(c, c)).collect();
        let mut correlations = vec![1.0; width * width];
        for i in 0..width {
            for j in 0..i {
                let r =
                    moments.covariance(shown[i], shown[j]) / (variances[i] * variances[j]).sqrt();
                correlations[i * width + j] = r;
                correlations[j * width + i] = r;
            }
        }
        let penalty = discount * libm::log(n);
        let of_column = |c: usize, unit: f64| {
            -n * (libm::log(2.0 * std::f64::consts::PI * variances[c]) + unit + 1.0)
        };
        let base = columns.iter().zip(&log_units).map(|(range, &unit): (&Range<usize>, _)| {
            let d = range.len() as f64;
            range.clone().map(|c| of_column(c, unit)).sum::<f64>() - penalty * d * (d - 1.0) / 2.0
        });
        let base = base.collect();
        GraphScore { penalty, n, columns, base, width, correlations }
    }

    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.columns.len()
    }

    /// Whether a variable has more than one value in the replicate.
    pub fn varies(&self, v: usize) -> bool {
        !self.columns[v].is_empty()
    }

    /// The score of `x` given `parents`; parents are taken in ascending order.
    pub fn local_score(&self, x: usize, parents: NodeSet) -> LocalScore {
        let order: Vec<usize> =
            parents.into_iter().chain([x]).flat_map(|v| self.columns[v].clone()).collect();
        let given = order.len() - self.columns[x].len();
        let mut rest = vec![0.0; order.len() * order.len()];
        for (row, &i) in rest.chunks_exact_mut(order.len().max(1)).zip(&order) {
            row.iter_mut()
                .zip(&order)
                .for_each(|(cell, &j)| *cell = self.correlations[i * self.width + j]);
        }
        let (log_sum, determined) = sweep(&mut rest, order.len(), given);
        LocalScore { score: self.score_of_log_variances(x, log_sum, given), determined }
    }

    /// The score of `x`, given `m` columns of parents, from the log conditional variances.
    ///
    /// `log_sum` is the sum of the logarithms.
    pub(super) fn score_of_log_variances(&self, x: usize, log_sum: f64, m: usize) -> f64 {
        self.base[x] - self.n * log_sum - self.penalty * (self.columns[x].len() * m) as f64
    }

    /// The sum of s(x | parents) over all variables.
    pub fn total(&self, parents: &[NodeSet]) -> f64 {
        (0..parents.len()).map(|x| self.local_score(x, parents[x]).score).sum()
    }
}

/// The encoded columns that enter the score.
fn scored_columns(
    columns: Range<usize>,
    form: &VariableForm,
    moments: &EncodedMoments,
) -> Vec<usize> {
    match form {
        // The unit is the deviation of all training rows: a column with a smaller variance is
        // constant in the replicate.
        VariableForm::Number { .. } => {
            columns.filter(|&c| moments.covariance(c, c) > 1e-12).collect()
        }
        VariableForm::Levels { .. } if columns.len() == 1 => columns
            .filter(|&c| moments.sum(c) > 0.5 && moments.sum(c) < moments.n_draws() - 0.5)
            .collect(),
        VariableForm::Levels { .. } => {
            let mut present: Vec<usize> = columns.filter(|&c| moments.sum(c) > 0.5).collect();
            let largest = present.iter().map(|&c| moments.sum(c)).fold(0.0, f64::max);
            if let Some(at) = present.iter().position(|&c| moments.sum(c) >= largest) {
                present.remove(at);
            }
            present
        }
    }
}

/// Subtracts a multiple of a row from the same number of cells. There are few cells, so a call of
/// `zip`, which the compiler does not always inline, would take as long as the subtraction.
#[inline(always)]
pub(super) fn subtract_times(cells: &mut [f64], factor: f64, row: &[f64]) {
    let row = &row[..cells.len()];
    for (i, cell) in cells.iter_mut().enumerate() {
        *cell -= factor * row[i];
    }
}

/// Conditions the columns of a correlation matrix on each other in order.
///
/// The matrix is `size * size`, upper triangle. Returns the sum of the logarithms of the variances
/// of the columns from `given` on, and the number of these that previous columns determine.
pub(super) fn sweep(rest: &mut [f64], size: usize, given: usize) -> (f64, usize) {
    let (mut log_sum, mut determined) = (0.0, 0);
    for c in 0..size {
        let v = rest[c * size + c];
        let singular = v < SINGULAR_VARIANCE;
        if c >= given {
            log_sum += libm::log(v.max(SINGULAR_VARIANCE));
            determined += usize::from(singular);
        }
        if singular {
            continue;
        }
        let (above, below) = rest.split_at_mut((c + 1) * size);
        let row = &above[c * size..];
        for (k, lower) in below.chunks_exact_mut(size).enumerate() {
            let i = c + 1 + k;
            let factor = row[i] / v;
            subtract_times(&mut lower[i..], factor, &row[i..size]);
        }
    }
    (log_sum, determined)
}
