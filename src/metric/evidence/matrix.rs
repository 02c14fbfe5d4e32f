//! A square of counts: labels against predictions, or factual against counterfactual predictions.
//! The number of a cell is row times the number of classes, plus column.
//!
//! Sources: Gorodkin 2004, Comparing two K-category assignments by a K-category correlation
//! coefficient; for two classes the values are those of [`eccm`](crate::metric::catalog::eccm) and
//! [`performance`](crate::metric::catalog::performance).

use crate::metric::rate::{MetricValue, Rate, Undefined};

/// A value of a matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MatrixReading {
    /// The share of cases on the diagonal: CR of predictions, ACC of labels.
    Agreement,
    /// The share of cases off the diagonal: SR. From counts, not as 1 - x.
    Disagreement,
    /// The share of the cases of one class that go to another: C_ij / sum over j of C_ij.
    Transition(usize, usize),
    /// The correlation of rows and columns.
    Correlation,
}

impl MatrixReading {
    /// The share from the cells of a matrix of `classes` classes; none if the value is not a share.
    ///
    /// Choice: if no case has the class, the reason is the same as for this rate of the class
    /// against the rest.
    pub(crate) fn share(self, classes: usize, cells: &[u64]) -> Option<Rate> {
        let of_class = matches!(self, MatrixReading::Transition(..));
        let empty = match of_class && cells.iter().any(|n| *n > 0) {
            true => Undefined::NoPredictedPositive,
            false => Undefined::EmptyGroup,
        };
        let mut sum = Rate { numerator: 0, denominator: 0, empty };
        for (cell, n) in cells.iter().enumerate() {
            let of_cell = self.of_cell(classes, cell)?;
            sum.numerator = sum.numerator.saturating_add(n * of_cell.numerator);
            sum.denominator = sum.denominator.saturating_add(n * of_cell.denominator);
        }
        Some(sum)
    }

    /// What a case in one cell adds to the share.
    pub(crate) fn of_cell(self, classes: usize, cell: usize) -> Option<Rate> {
        let (row, column) = (cell / classes, cell % classes);
        let (counts, is_case) = match self {
            MatrixReading::Agreement => (true, row == column),
            MatrixReading::Disagreement => (true, row != column),
            MatrixReading::Transition(from, to) => (row == from, row == from && column == to),
            MatrixReading::Correlation => return None,
        };
        let [numerator, denominator] = [is_case, counts].map(u64::from);
        Some(Rate::of(numerator, denominator))
    }
}

/// The correlation of rows and columns: CMCC of predictions, MCC of labels. With c on the diagonal
/// of s cases, and row and column sums t and p: (c s - sum of t p) / (sqrt(s^2 - sum of p^2)
/// sqrt(s^2 - sum of t^2)), in [-1, 1]. Undefined where all rows or all columns are one class.
pub(crate) fn correlation(classes: usize, cells: &[u64]) -> MetricValue {
    let sum = |cells: &mut dyn Iterator<Item = u64>| cells.map(i128::from).sum::<i128>();
    let total = sum(&mut cells.iter().copied());
    // Products must stay below 2^127. Only extremely large weights lose bits.
    let lost_bits = (128 - total.leading_zeros()).saturating_sub(62);
    let cells = || cells.iter().map(move |cell| cell >> lost_bits.min(63));
    let sum_where = |belongs: &dyn Fn(usize) -> bool| {
        sum(&mut cells().enumerate().filter(|(i, _)| belongs(*i)).map(|(_, n)| n))
    };
    let k = classes.max(1);
    let (s, c) = (sum_where(&|_| true), sum_where(&|i| i / k == i % k));
    if s == 0 {
        return Err(Undefined::EmptyGroup);
    }
    let margins: Vec<(i128, i128)> = (0..k)
        .map(|class| (sum_where(&|i| i / k == class), sum_where(&|i| i % k == class)))
        .collect();
    let numerator = c * s - margins.iter().map(|(t, p)| t * p).sum::<i128>();
    let spread_rows = s * s - margins.iter().map(|(t, _)| t * t).sum::<i128>();
    let spread_columns = s * s - margins.iter().map(|(_, p)| p * p).sum::<i128>();
    if spread_rows == 0 || spread_columns == 0 {
        return Err(Undefined::DegenerateMarginal);
    }
    // Perfect agreement is exactly 1.
    let denominator = if spread_rows == spread_columns {
        spread_rows as f64
    } else {
        (spread_rows as f64).sqrt() * (spread_columns as f64).sqrt()
    };
    Ok((numerator as f64 / denominator).clamp(-1.0, 1.0))
}
