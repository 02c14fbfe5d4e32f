//! Values that are not shares: functions of the four cells of a table, with their derivatives.

use std::rc::Rc;

use crate::metric::estimate::Estimate;
use crate::metric::estimate::dual::Dual;
use crate::metric::estimate::influence::Influence;
use crate::metric::evidence::units::{UnitKind, UnitSums};
use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_share, z_of_level};
use crate::metric::missing_interval::MissingInterval;
use crate::metric::student_interval::{degrees_of_freedom, log_student};

/// A function of the four cells of a table, of degree 0: twice as many rows of each kind give the
/// same value.
#[derive(Debug, Clone, Copy)]
pub enum CellFunction {
    /// The correlation of two yes-no variables, for the matrix a b / c d.
    Correlation,
    /// A value above 0.
    Positive(fn([Dual; 4]) -> Dual),
}

/// Units that each margin must hold for an interval.
const LEAST_OF_MARGIN: u64 = 5;

impl Estimate {
    /// A function of a table whose cells are mapped from the cells of some units. The caller gives
    /// the value.
    pub(crate) fn of_cells(
        value: f64,
        units: &UnitSums,
        table: impl Fn(usize) -> Option<usize>,
        function: CellFunction,
    ) -> Self {
        let units = units.mapped(4, table);
        match function {
            CellFunction::Correlation => Estimate::correlation(value, 2, units.kinds()),
            CellFunction::Positive(function) => {
                let (cells, kinds) =
                    (units.weight::<4>().map(|weight| weight as f64), units.kinds());
                let n_units = units.n_units(|_| true) as f64;
                let gradient = function(Dual::cells(cells)).gradient;
                let own = Influence::of_kinds(kinds, &gradient);
                let sum = own.squares();
                if value <= 0.0 || n_units < 2.0 || sum <= 1e-24 * value * value {
                    return Estimate::other(
                        value,
                        own,
                        Rc::new(|_| Err(MissingInterval::NoSpread)),
                    );
                }
                let most: f64 = (0..4).map(|i| gradient[i].abs() * cells[i]).sum();
                let size = Influence::of_kinds(kinds, &gradient.map(f64::abs)).squares();
                let df = degrees_of_freedom(n_units, most * most / size);
                let variance = n_units / (n_units - 1.0) * sum;
                let at = move |level| Ok(log_student(value, variance, df, level));
                Estimate::other(value, own, Rc::new(at))
            }
        }
    }

    /// The correlation of two variables of several classes, from the cells of the matrix that the
    /// units of each kind fill, ascending by key. The caller gives the value.
    pub(crate) fn correlation(value: f64, classes: usize, kinds: &[UnitKind]) -> Self {
        let square = classes * classes;
        let (mut cells, mut units) = (vec![0.0; square], vec![[0_u64; 2]; classes]);
        let mut n_units = 0;
        for UnitKind { cells: filled, sums, .. } in kinds {
            let mut held = vec![[false; 2]; classes];
            for &(cell, n) in filled {
                cells[cell] += n as f64 * sums.sum() as f64;
                held[cell / classes][0] = true;
                held[cell % classes][1] = true;
            }
            for (margin, held) in units.iter_mut().zip(held) {
                margin.iter_mut().zip(held).for_each(|(n, held)| {
                    *n += if held { sums.people() } else { 0 };
                });
            }
            n_units += sums.people();
        }
        let own = Influence::of_kinds(kinds, &correlation_gradient(classes, &cells));
        let held = units.iter().flatten().filter(|n| **n > 0);
        if held.min().is_none_or(|n| *n < LEAST_OF_MARGIN) {
            return Estimate::other(value, own, Rc::new(|_| Err(MissingInterval::FewInMargin)));
        }
        // With two more units of mean weight, spread evenly over the cells.
        let (total, n) = (cells.iter().sum::<f64>(), n_units as f64);
        let (mean, each) = (total / n, 2.0 / square as f64);
        let drawn: Vec<f64> = cells.iter().map(|cell| cell + each * mean).collect();
        let gradient = correlation_gradient(classes, &drawn);
        let added = each * mean * mean * gradient.iter().map(|by| by * by).sum::<f64>();
        let sum = Influence::of_kinds(kinds, &gradient).squares() + added;
        let variance = n / (n - 1.0) * (n + 2.0) / n * sum;
        let share = f64::midpoint(value, 1.0);
        let size = if share <= 0.0 || share >= 1.0 || variance <= 0.0 {
            total * total / Influence::of_kinds(kinds, &vec![1.0; square]).squares()
        } else {
            4.0 * share * (1.0 - share) / variance
        };
        let at = move |level| {
            let method = IntervalProcedure::Score;
            let of = wilson_of_share(share, size, z_of_level(level), method);
            Ok(ValueInterval { lo: 2.0 * of.lo - 1.0, hi: 2.0 * of.hi - 1.0, method })
        };
        Estimate::other(value, own, Rc::new(at))
    }
}

/// The derivatives of the correlation (Gorodkin 2004) by the cells of the matrix, row by row.
fn correlation_gradient(classes: usize, cells: &[f64]) -> Vec<f64> {
    let total: f64 = cells.iter().sum();
    let right: f64 = (0..classes).map(|class| cells[class * classes + class]).sum();
    let row = |i: usize| cells[i * classes..][..classes].iter().sum::<f64>();
    let column = |j: usize| (0..classes).map(|i| cells[i * classes + j]).sum::<f64>();
    let rows: Vec<f64> = (0..classes).map(row).collect();
    let columns: Vec<f64> = (0..classes).map(column).collect();
    let above = right * total - rows.iter().zip(&columns).map(|(t, p)| t * p).sum::<f64>();
    let of_rows = total * total - rows.iter().map(|t| t * t).sum::<f64>();
    let of_columns = total * total - columns.iter().map(|p| p * p).sum::<f64>();
    let below = of_rows.sqrt() * of_columns.sqrt();
    let by = |cell: usize| {
        let (i, j) = (cell / classes, cell % classes);
        let own = if i == j { total } else { 0.0 };
        let by_above = own + right - columns[i] - rows[j];
        let by_below = (total - rows[i]) / of_rows + (total - columns[j]) / of_columns;
        (by_above - above * by_below) / below
    };
    (0..cells.len()).map(by).collect()
}
