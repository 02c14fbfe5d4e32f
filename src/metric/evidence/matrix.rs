//! A square of counts: labels against predictions, or predictions against those of counterfactuals.
//!
//! Sources: Gorodkin 2004, Comparing two K-category assignments by a K-category correlation
//! coefficient; for two classes everything here is what [`eccm`](crate::metric::catalog::eccm) and
//! [`performance`](crate::metric::catalog::performance) say.

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

    /// The matrix with these cells, row by row.
    #[cfg(test)]
    pub(in crate::metric) fn from_cells(classes: usize, cells: &[u64]) -> Self {
        ClassMatrix { classes, cells: cells.to_vec() }
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.classes
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

    /// Cases that keep their class.
    fn trace(&self) -> u64 {
        self.rows().enumerate().fold(0, |sum, (class, row)| sum.saturating_add(row[class]))
    }

    fn row_sum(&self, row: usize) -> u64 {
        self.rows().nth(row).map_or(0, |row| row.iter().fold(0, |sum, n| sum.saturating_add(*n)))
    }

    /// Share of cases on the diagonal: CR of predictions, ACC of labels.
    pub(crate) fn agreement(&self) -> Rate {
        Rate { numerator: self.trace(), denominator: self.n(), empty: Undefined::EmptyGroup }
    }

    /// Share of cases off the diagonal: SR. From counts, not as 1 - x.
    pub(crate) fn disagreement(&self) -> Rate {
        Rate {
            numerator: self.n() - self.trace(),
            denominator: self.n(),
            empty: Undefined::EmptyGroup,
        }
    }

    /// Share of the cases of one class that go to another: C_ij / sum over j of C_ij.
    ///
    /// Choice: where nobody is of the class, the reason is that of the same rate with that class
    /// against all others.
    ///
    /// # Panics
    /// Where a class is beyond their number: a bug of the caller.
    pub(crate) fn transition(&self, from: usize, to: usize) -> Rate {
        let empty =
            if self.n() == 0 { Undefined::EmptyGroup } else { Undefined::NoPredictedPositive };
        Rate { numerator: self.at(from, to), denominator: self.row_sum(from), empty }
    }

    /// The correlation of rows and columns: CMCC of predictions, MCC of labels. With c on the
    /// diagonal of s cases, and row and column sums t and p: (c s - sum of t p) / (sqrt(s^2 - sum
    /// of p^2) sqrt(s^2 - sum of t^2)), in [-1, 1]. Undefined where all rows or all columns are one
    /// class.
    pub(crate) fn correlation(&self) -> MetricValue {
        let sum = |cells: &mut dyn Iterator<Item = u64>| cells.map(i128::from).sum::<i128>();
        let total = sum(&mut self.cells.iter().copied());
        // Products must stay below 2^127; only a replicate of weights beyond number is ever cut.
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
    /// [`ClassMatrix::agreement`].
    Agreement,
    /// [`ClassMatrix::disagreement`].
    Disagreement,
    /// [`ClassMatrix::transition`] from one class to another.
    Transition(usize, usize),
}

impl MatrixRate {
    /// The share of a matrix.
    pub(crate) fn of(self, matrix: &ClassMatrix) -> Rate {
        match self {
            MatrixRate::Agreement => matrix.agreement(),
            MatrixRate::Disagreement => matrix.disagreement(),
            MatrixRate::Transition(from, to) => matrix.transition(from, to),
        }
    }

    /// The same of the cells of one person, each with its number of cases.
    pub(crate) fn of_cells(
        self,
        classes: usize,
        cells: impl Iterator<Item = (usize, u64)>,
    ) -> Rate {
        let mut rate = Rate { numerator: 0, denominator: 0, empty: Undefined::EmptyGroup };
        for (cell, n) in cells {
            let (row, column) = (cell / classes, cell % classes);
            let (counts, is_case) = match self {
                MatrixRate::Agreement => (true, row == column),
                MatrixRate::Disagreement => (true, row != column),
                MatrixRate::Transition(from, to) => (row == from, column == to),
            };
            if counts {
                rate.denominator += n;
                rate.numerator += if is_case { n } else { 0 };
            }
        }
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::{ClassMatrix, MatrixRate};
    use crate::metric::rate::Undefined;
    use crate::num::seed::RandomStream;

    #[test]
    fn by_hand() {
        let m = ClassMatrix::from_cells(3, &[5, 1, 0, 2, 3, 0, 0, 0, 0]);
        assert_eq!((m.agreement().numerator, m.disagreement().numerator, m.n()), (8, 3, 11));
        assert_eq!((m.transition(1, 0).numerator, m.transition(1, 0).denominator), (2, 5));
        assert_eq!(m.transition(2, 0).value(), Err(Undefined::NoPredictedPositive));
        // c s - sum of t p = 88 - 42 - 20; s^2 - sum of p^2 = 121 - 65; s^2 - sum of t^2 =
        // 121 - 61.
        assert!((m.correlation().unwrap() - 26.0 / (56.0_f64 * 60.0).sqrt()).abs() < 1e-15);
    }

    /// Cell by cell the shares are those of the whole matrix.
    #[test]
    fn shares_of_cells() {
        let cells = [5, 1, 0, 2, 3, 4, 0, 7, 9];
        let whole = ClassMatrix::from_cells(3, &cells);
        let pairs = (0..9).map(|cell| MatrixRate::Transition(cell / 3, cell % 3));
        for share in pairs.chain([MatrixRate::Agreement, MatrixRate::Disagreement]) {
            let (sum, of) = (share.of_cells(3, cells.into_iter().enumerate()), share.of(&whole));
            assert_eq!(
                (sum.numerator, sum.denominator),
                (of.numerator, of.denominator),
                "{share:?}"
            );
        }
    }

    /// Of two classes it is the correlation of a table of four.
    #[test]
    fn two_classes_are_a_table_of_four() {
        let mut stream = RandomStream::new(4, "two classes");
        for _ in 0..200 {
            let [a, b, c, d] = [0; 4].map(|_: u64| (stream.u01() * stream.u01() * 50.0) as u64);
            let found = ClassMatrix::from_cells(2, &[a, b, c, d]).correlation();
            match (found, crate::metric::phi([a, b, c, d], Undefined::DegenerateMarginal)) {
                (Ok(x), Ok(y)) => assert!((x - y).abs() < 1e-14, "{x} {y}"),
                (x, y) => assert!(x.is_err() && y.is_err(), "{x:?} {y:?}"),
            }
        }
    }

    #[test]
    fn ends_and_reasons() {
        assert_eq!(ClassMatrix::from_cells(3, &[7, 0, 0, 0, 5, 0, 0, 0, 3]).correlation(), Ok(1.0));
        assert_eq!(ClassMatrix::new(3).correlation(), Err(Undefined::EmptyGroup));
        assert_eq!(ClassMatrix::new(3).transition(0, 1).value(), Err(Undefined::EmptyGroup));
        assert_eq!(
            ClassMatrix::from_cells(3, &[0, 4, 0, 0, 0, 0, 0, 2, 0]).correlation(),
            Err(Undefined::DegenerateMarginal)
        );
        let much = 1_u64 << 60;
        assert_eq!(
            ClassMatrix::from_cells(3, &[much, 0, 0, 0, much, 0, 0, 0, much]).correlation(),
            Ok(1.0)
        );
        assert_eq!(ClassMatrix::from_cells(2, &[u64::MAX, 0, 0, u64::MAX]).correlation(), Ok(1.0));
    }
}
