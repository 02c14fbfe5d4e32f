//! A share of rows with its effective size: how many independent rows would be as precise.
//!
//! With W what the rows below the share weigh, Q the sum of the squares of their weights, P the
//! units (persons, or rows) with a row below it, and M(f, g) the sum over units of f g:
//!
//! - Each unit has one row, and all weigh the same: the number of rows. These are the formulas of
//!   counts, to the digit.
//! - No case counts, or all do, or there is one unit: W^2 / M(1, 1), the number of units (Kish
//!   1965).
//! - Else Kish's number of rows W^2 / Q over the design effect D of Rao and Scott (1992): with r
//!   what the cases of a unit weigh minus the share of all its rows, v = P / (P - 1) M(r, r) / W^2,
//!   over p (1 - p) Q / W^2, and at least 1: weights may make a share less sure than Kish says,
//!   never surer.
//! - Choice: D is shrunk towards K = M(1, 1) / Q, the design effect if all rows of a unit agree, as
//!   if there were one more such unit: max(D, (c D + K) / (c + 1)), where c = (sum y)^2 / sum y^2
//!   is the number of units on the rarer side, y being the weight of a unit's rows there. This
//!   replaces Student's quantile, because with few units v itself is not known well. With one row
//!   per unit K is 1.

use crate::metric::estimate::influence::{Influence, UnitInfluence};
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_share};
use crate::metric::rate::Rate;

/// A share that has a value.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    /// The share, by one division.
    pub(crate) value: f64,
    /// The effective size.
    pub(crate) size: f64,
    /// Kish's number of rows.
    kish: f64,
    /// Whether the formulas are those of counts.
    pub(crate) is_plain: bool,
    /// Whether no case counts, or all do.
    pub(crate) is_boundary: bool,
    /// Rows below it.
    pub(crate) n_rows: u64,
    /// Units with a row below it.
    pub(crate) n_units: u64,
    /// What each unit adds.
    pub(crate) influence: Influence,
}

/// The rows below a share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsBelow {
    /// How many they are.
    pub(crate) n: u64,
    /// How many rows of equal weight would be as precise (Kish).
    pub(crate) kish: f64,
    /// Whether they all weigh the same.
    pub(crate) are_even: bool,
}

impl From<WeightSums> for RowsBelow {
    fn from(rows: WeightSums) -> Self {
        RowsBelow { n: rows.people(), kish: rows.effective(), are_even: rows.is_even() }
    }
}

impl Share {
    /// The share where `of` says what a row of each cell counts, 0 or 1, in the numerator and in
    /// the denominator; none if the denominator is 0.
    pub(crate) fn new(units: &UnitSums, of: impl Fn(usize) -> Rate) -> Option<Self> {
        let each: Vec<Rate> = (0..units.rows().len()).map(of).collect();
        let mut below = WeightSums::default();
        let counted = units.rows().iter().zip(&each).filter(|(_, of)| of.denominator > 0);
        counted.for_each(|(rows, _)| below += *rows);
        let sum = |cells: &mut dyn Iterator<Item = (usize, u64)>| {
            cells.fold(Rate::of(0, 0), |sum, (cell, n)| {
                let (cases, all) = (n * each[cell].numerator, n * each[cell].denominator);
                Rate::of(sum.numerator + cases, sum.denominator + all)
            })
        };
        let all = sum(&mut units.rows().iter().map(|rows| rows.sum()).enumerate());
        let kinds = units.kinds().iter();
        let kinds = kinds.map(|of| (of.key, sum(&mut of.cells.iter().copied()), of.sums));
        Share::of_units(all, below.into(), kinds)
    }

    /// The share `rate` of these rows, and what each kind of units has in its numerator and
    /// denominator, ascending by key; none if the denominator is 0.
    pub(crate) fn of_units(
        rate: Rate,
        rows: RowsBelow,
        units: impl Iterator<Item = (u64, Rate, WeightSums)>,
    ) -> Option<Self> {
        let value = rate.value().ok()?;
        let (is_boundary, weight) = (rate.is_boundary(), rate.denominator as f64);
        let mut n_units = 0;
        let [mut agree, mut spread, mut rarer, mut rarer_squares] = [0.0; 4];
        let mut each = Vec::new();
        for (key, own, sums) in units.filter(|(_, own, _)| own.denominator > 0) {
            let (cases, all) = (own.numerator as f64, own.denominator as f64);
            let squares = sums.squares();
            let adds = cases - value * all;
            let rare = if value <= 0.5 { cases } else { all - cases };
            n_units += sums.people();
            agree += all * all * squares;
            spread += adds * adds * squares;
            rarer += rare * sums.sum() as f64;
            rarer_squares += rare * rare * squares;
            each.push(UnitInfluence { key, adds: adds / weight, squares, n: sums.people() });
        }
        let kish = rows.kish;
        let is_plain = rows.n == n_units && rows.are_even;
        let size = if is_plain {
            n_units as f64
        } else if is_boundary || n_units == 1 {
            weight * (weight / agree)
        } else {
            let units = n_units as f64;
            let variance = units / (units - 1.0) * spread / (weight * weight);
            let design = (variance * kish / (value * (1.0 - value))).max(1.0);
            let contributing_units = rarer * rarer / rarer_squares;
            let together = agree / weight * (kish / weight);
            kish / design.max((contributing_units * design + together) / (contributing_units + 1.0))
        };
        let influence = Influence { units: each, scale: agree / (weight * weight) };
        Some(Share { value, size, kish, n_rows: rows.n, is_plain, is_boundary, n_units, influence })
    }

    /// How many rows carry as much information as one independent row: the design effect.
    pub(crate) fn design(&self) -> f64 {
        if self.is_plain { 1.0 } else { self.kish / self.size }
    }

    /// Wilson's interval on the effective size.
    pub(crate) fn wilson(&self, z: f64) -> ValueInterval {
        let method = match (self.is_plain, self.is_boundary) {
            (true, _) => IntervalProcedure::Wilson,
            (_, true) => IntervalProcedure::WilsonPeople,
            _ => IntervalProcedure::WilsonEffective,
        };
        wilson_of_share(self.value, self.size, z, method)
    }
}
