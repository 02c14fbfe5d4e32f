//! Mean and deviation of columns of training rows, and which levels these have: what the encodings
//! of models and of causal graphs learn.
//!
//! Sums are taken of x / scale, a power of two above all |x|, so that they are exact to the last
//! bits in every unit of x.

use crate::data::rows::training::TrainingRows;
use crate::data::{FeatureColumn, FeatureRows};
use crate::error::Result;
use crate::num::additive::{Additive, additive};
use crate::num::fixed::FixedSum;
use crate::num::moments::scale_above;
use crate::num::range::ValueRange;

/// What rows hold in a column.
#[derive(Debug, Clone)]
pub(crate) struct TrainingTally {
    /// Position of the column.
    feature: usize,
    /// Whether its values are numbers; the positions of ordered levels are, too.
    is_number: bool,
    /// Rows with a number.
    pub(crate) n: u64,
    /// Rows without one.
    pub(crate) n_missing: u64,
    /// The range of the numbers; none without one.
    pub(crate) range: Option<ValueRange>,
    /// Rows of each level.
    pub(crate) levels: Vec<u64>,
}

impl TrainingTally {
    /// Without rows; `levels` is the number of codes of a column of levels, none of one of numbers.
    pub(crate) fn new(feature: usize, levels: Option<usize>) -> Self {
        TrainingTally {
            feature,
            is_number: levels.is_none(),
            n: 0,
            n_missing: 0,
            range: None,
            levels: vec![0; levels.unwrap_or(0)],
        }
    }

    /// Adds the rows that count.
    pub(crate) fn add(&mut self, rows: &FeatureRows, counts: impl Fn(usize) -> bool) {
        let column = &rows.columns[self.feature];
        for i in (0..rows.n).filter(|&i| counts(i)) {
            match column {
                FeatureColumn::Code(codes) if !self.is_number => {
                    if let Some(n) = self.levels.get_mut(codes[i] as usize) {
                        *n += 1;
                    }
                }
                column if column.number(i).is_nan() => self.n_missing += 1,
                column => {
                    let x = column.number(i);
                    self.n += 1;
                    self.range.absorb(&Some(ValueRange(x, x)));
                }
            }
        }
    }
}

additive!(TrainingTally { n, n_missing, range, levels });

/// For each column the mean and the population standard deviation of its numbers in the rows that
/// count; 0 where there are none.
///
/// # Errors
/// The rows cannot be read, or the run is to stop.
pub(crate) fn means_and_deviations(
    rows: &TrainingRows<'_>,
    columns: &[TrainingTally],
    counts: &(dyn Fn(&FeatureRows, usize) -> bool + Sync),
) -> Result<Vec<(f64, f64)>> {
    let largest = |of: &TrainingTally| of.range.map_or(0.0, |range| range.1.max(-range.0));
    let scales: Vec<f64> = columns.iter().map(|of| scale_above(largest(of))).collect();
    let mean_of = |term: &(dyn Fn(usize, f64) -> f64 + Sync)| -> Result<Vec<f64>> {
        let mut sums = vec![FixedSum::ZERO; columns.len()];
        rows.fold(
            |group| {
                let mut part = vec![FixedSum::ZERO; columns.len()];
                for i in (0..group.rows.n).filter(|&i| counts(&group.rows, i)) {
                    let of = columns.iter().zip(&mut part).enumerate();
                    for (c, (column, sum)) in of.filter(|(_, (column, _))| column.is_number) {
                        let x = group.rows.columns[column.feature].number(i);
                        if !x.is_nan() {
                            sum.add(term(c, x / scales[c]));
                        }
                    }
                }
                part
            },
            |part| sums.iter_mut().zip(part).for_each(|(whole, part)| whole.merge(part)),
        )?;
        let mean = |(sum, of): (&FixedSum, &TrainingTally)| match of.n {
            0 => 0.0,
            n => sum.to_f64() / n as f64,
        };
        Ok(sums.iter().zip(columns).map(mean).collect())
    };
    let means = mean_of(&|_, x| x)?;
    let variances = mean_of(&|c, x| (x - means[c]) * (x - means[c]))?;
    let of = scales.iter().zip(means.iter().zip(variances));
    Ok(of.map(|(scale, (mean, variance))| (scale * mean, scale * variance.sqrt())).collect())
}
