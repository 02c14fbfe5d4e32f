//! The difference of two shares with the same denominator: of the decisions of two models, or of a
//! model and the votes of neighbours.
//!
//! With e = 1, -1 or 0 where a row is a case of only the first, of only the second, or of both or
//! neither: the weighted mean of e, with its design effect as that of a [`share`](super::share) and
//! Student's quantile. Where nobody differs, or everybody in the same way, d ∓ z² / (m + z²), m the
//! effective number of units.

use std::rc::Rc;

use crate::metric::estimate::Estimate;
use crate::metric::estimate::influence::{Influence, UnitInfluence};
use crate::metric::evidence::units::{UnitSums, WeightSums};
use crate::metric::interval::{IntervalProcedure, ValueInterval, z_of_level};
use crate::metric::student_interval::{degrees_of_freedom, student};

impl Estimate {
    /// `of` says what a row of each cell counts, 0 or 1: in the denominator of both shares, as a
    /// case of only the first, and as a case of only the second; none where the denominator is 0.
    pub(crate) fn paired(units: &UnitSums, of: impl Fn(usize) -> [u64; 3]) -> Option<Self> {
        let counted: Vec<[u64; 3]> = (0..units.rows().len()).map(of).collect();
        let sum = |cells: &mut dyn Iterator<Item = (usize, u64)>| {
            let mut sum = [0; 3];
            for (cell, n) in cells {
                sum.iter_mut().zip(counted[cell]).for_each(|(sum, one)| *sum += n * one);
            }
            sum.map(|weight: u64| weight as f64)
        };
        let [all, gained, lost] = sum(&mut units.rows().iter().map(|of| of.sum()).enumerate());
        if all == 0.0 {
            return None;
        }
        let value = (gained - lost) / all;
        let of_row = (gained + lost) / all - value * value;
        let mut rows = WeightSums::default();
        let below = units.rows().iter().zip(&counted).filter(|(_, [below, ..])| *below > 0);
        below.for_each(|(of, _)| rows += *of);
        let (mut each, mut n_units) = (Vec::new(), 0);
        let [mut agree, mut differ] = [0.0; 2];
        for kind in units.kinds() {
            let [below, plus, minus] = sum(&mut kind.cells.iter().copied());
            if below > 0.0 {
                let (adds, squares) = ((plus - minus - value * below) / all, kind.sums.squares());
                n_units += kind.sums.people();
                agree += below * below * squares;
                differ += (plus + minus) * (plus + minus) * squares;
                each.push(UnitInfluence { key: kind.key, adds, squares, n: kind.sums.people() });
            }
        }
        let influence = Influence { units: each, scale: agree / (all * all) };
        let cut =
            |of: ValueInterval| ValueInterval { lo: of.lo.max(-1.0), hi: of.hi.min(1.0), ..of };
        let people = all * (all / agree);
        let spread = influence.squares();
        if of_row <= 1e-15 || n_units < 2 {
            let at = move |level| {
                let sq = z_of_level(level) * z_of_level(level);
                let reach = sq / (people + sq);
                let method = IntervalProcedure::PairedPeople;
                Ok(cut(ValueInterval { lo: value - reach, hi: value + reach, method }))
            };
            return Some(Estimate::other(value, influence, Rc::new(at)));
        }
        let (n, kish) = (n_units as f64, rows.effective());
        let contributing_units = (gained + lost) * (gained + lost) / differ;
        let variance = n / (n - 1.0) * spread;
        let design = (variance * kish / of_row).max(1.0);
        let design = design.max(
            (contributing_units * design + agree / rows.squares()) / (contributing_units + 1.0),
        );
        let df = degrees_of_freedom(n, contributing_units);
        let at = move |level| {
            let of = student(value, of_row * design / kish, df, level);
            Ok(cut(ValueInterval { method: IntervalProcedure::Paired, ..of }))
        };
        Some(Estimate::other(value, influence, Rc::new(at)))
    }
}
