//! A square of counts: labels against predictions, or predictions against those of counterfactuals.
//!
//! Sources: Gorodkin 2004, Comparing two K-category assignments by a K-category correlation
//! coefficient; for two classes everything here is what [`eccm`](crate::metric::catalog::eccm) and
//! [`performance`](crate::metric::catalog::performance) say.

use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::rate::{MetricValue, Rate, Undefined};

/// Counts by class before (rows) and after (columns), or by label (rows) and prediction (columns);
/// of people or of units of weight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClassMatrix {
    classes: usize,
    /// Row by row.
    cells: Vec<u64>,
}

impl ClassMatrix {
    /// Nobody yet.
    pub(crate) fn new(classes: usize) -> Self {
        ClassMatrix { classes, cells: vec![0; classes * classes] }
    }

    /// What the rows of some units give, by number or by what they weigh.
    pub(crate) fn of_units(
        classes: usize,
        units: &UnitSums,
        number: fn(WeightSums) -> u64,
    ) -> Self {
        let cells = units.rows().iter().map(|sums| number(*sums));
        ClassMatrix { classes, cells: cells.collect() }
    }

    /// The matrix with these cells, row by row.
    #[cfg(test)]
    pub(in crate::metric) fn from_cells(classes: usize, cells: &[u64]) -> Self {
        ClassMatrix { classes, cells: cells.to_vec() }
    }

    /// One cell.
    ///
    /// # Panics
    /// Where a class is beyond their number: a bug of the caller.
    pub(crate) fn at(&self, row: usize, column: usize) -> u64 {
        self.rows().nth(row).expect("a class of the matrix")[column]
    }

    /// The rows in order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[u64]> {
        self.cells.chunks_exact(self.classes.max(1))
    }

    /// Adds cases to a cell: row times the number of classes, plus column.
    pub(crate) fn add(&mut self, cell: usize, count: u64) {
        self.cells[cell] += count;
    }

    /// Cases in all.
    pub(crate) fn n(&self) -> u64 {
        self.cells.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The correlation of rows and columns: CMCC of predictions, MCC of labels. With c on the
    /// diagonal of s cases, and row and column sums t and p: (c s - sum of t p) / (sqrt(s^2 - sum
    /// of p^2) sqrt(s^2 - sum of t^2)), in [-1, 1]. Undefined where all rows or all columns are one
    /// class.
    pub(crate) fn correlation(&self) -> MetricValue {
        let sum = |cells: &mut dyn Iterator<Item = u64>| cells.map(i128::from).sum::<i128>();
        let total = sum(&mut self.cells.iter().copied());
        // Products must stay below 2^127; only weights beyond number are ever cut.
        let cut = (128 - total.leading_zeros()).saturating_sub(62);
        let cells = || self.cells.iter().map(move |cell| cell >> cut.min(63));
        let of = |belongs: &dyn Fn(usize) -> bool| {
            sum(&mut cells().enumerate().filter(|(i, _)| belongs(*i)).map(|(_, n)| n))
        };
        let k = self.classes.max(1);
        let (s, c) = (of(&|_| true), of(&|i| i / k == i % k));
        if s == 0 {
            return Err(Undefined::EmptyGroup);
        }
        let margins: Vec<(i128, i128)> =
            (0..k).map(|class| (of(&|i| i / k == class), of(&|i| i % k == class))).collect();
        let above = c * s - margins.iter().map(|(t, p)| t * p).sum::<i128>();
        let spread_rows = s * s - margins.iter().map(|(t, _)| t * t).sum::<i128>();
        let spread_columns = s * s - margins.iter().map(|(_, p)| p * p).sum::<i128>();
        if spread_rows == 0 || spread_columns == 0 {
            return Err(Undefined::DegenerateMarginal);
        }
        // Perfect agreement is exactly 1.
        let below = if spread_rows == spread_columns {
            spread_rows as f64
        } else {
            (spread_rows as f64).sqrt() * (spread_columns as f64).sqrt()
        };
        Ok((above as f64 / below).clamp(-1.0, 1.0))
    }
}

/// A share of the cases of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatrixRate {
    /// Of cases on the diagonal: CR of predictions, ACC of labels.
    Agreement,
    /// Of cases off the diagonal: SR. From counts, not as 1 - x.
    Disagreement,
    /// Of the cases of one class those that go to another: C_ij / sum over j of C_ij.
    Transition(usize, usize),
}

impl MatrixRate {
    /// The share of a matrix.
    ///
    /// Choice: where nobody is of a class, the reason is that of the same rate with that class
    /// against all others.
    pub(crate) fn of(self, matrix: &ClassMatrix) -> Rate {
        let of_class = matches!(self, MatrixRate::Transition(..)) && matrix.n() > 0;
        let empty = if of_class { Undefined::NoPredictedPositive } else { Undefined::EmptyGroup };
        let mut sum = Rate { numerator: 0, denominator: 0, empty };
        for (cell, n) in matrix.cells.iter().enumerate() {
            let one = self.of_cell(matrix.classes, cell);
            sum.numerator = sum.numerator.saturating_add(n * one.numerator);
            sum.denominator = sum.denominator.saturating_add(n * one.denominator);
        }
        sum
    }

    /// What a case of one cell of so many classes counts.
    pub(crate) fn of_cell(self, classes: usize, cell: usize) -> Rate {
        let (row, column) = (cell / classes, cell % classes);
        let (counts, is_case) = match self {
            MatrixRate::Agreement => (true, row == column),
            MatrixRate::Disagreement => (true, row != column),
            MatrixRate::Transition(from, to) => (row == from, row == from && column == to),
        };
        let [numerator, denominator] = [is_case, counts].map(u64::from);
        Rate { numerator, denominator, empty: Undefined::EmptyGroup }
    }
}
