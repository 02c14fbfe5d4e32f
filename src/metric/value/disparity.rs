//! The interval of conditional demographic disparity (CDDPL) of two facets.
//!
//! Student's interval from the influences of the cells of all strata, which are the derivatives of
//! the value. For P units it uses P - 1 - (number of strata) instead of P - 1, because every
//! stratum has a separate share.

use std::rc::Rc;

use crate::metric::estimate::influence::Influence;
use crate::metric::estimate::{Dual, Estimate};
use crate::metric::evidence::strata::FacetStratum;
use crate::metric::evidence::units::UnitSums;
use crate::metric::interval::ValueInterval;
use crate::metric::missing_interval::MissingInterval;
use crate::metric::student_interval::{degrees_of_freedom, student};

/// The CDDPL of a comparison with its interval, from its value, the strata and the units of the
/// compared people. `swapped` says that the negative prediction is the favourable one,
/// `all_strata` that strata without one of the two predictions count. `place` gives for a cell of
/// the units its stratum and whether it belongs to the second facet; even cells are negative
/// predictions.
pub(crate) fn cddpl(
    (strata, units): (&[FacetStratum], &UnitSums),
    place: impl Fn(usize) -> (usize, bool),
    value: f64,
    (swapped, all_strata): (bool, bool),
) -> Estimate {
    let oriented = |s: FacetStratum| if swapped { s.swap_classes() } else { s };
    let counted = |s: &FacetStratum| s.n() > 0 && (all_strata || !s.is_undefined());
    let n: u64 = strata.iter().filter(|s| counted(s)).map(FacetStratum::n).sum();
    let gradients: Vec<Option<[f64; 4]>> = strata
        .iter()
        .map(|&s| {
            let gradient = counted(&s).then(|| term(&oriented(s)).gradient)?;
            Some(gradient.map(|by| (by - value) / n as f64))
        })
        .collect();
    let n_strata = gradients.iter().flatten().count() as f64;
    // The influence of a row in a cell; none if its stratum does not count.
    let added = |cell: usize| -> Option<f64> {
        let (stratum, is_second) = place(cell);
        Some(gradients[stratum]?[2 * usize::from(is_second) + ((cell % 2) ^ usize::from(swapped))])
    };
    let cells = units.rows().len();
    let units = units.mapped(cells, |cell| added(cell).map(|_| cell));
    let gradient: Vec<f64> = (0..cells).map(|cell| added(cell).unwrap_or(0.0)).collect();
    let influence = Influence::of_kinds(units.kinds(), &gradient);
    let size: f64 = units
        .kinds()
        .iter()
        .map(|kind| {
            let each = kind.cells.iter().map(|&(cell, n)| gradient[cell].abs() * n as f64);
            each.sum::<f64>() * kind.sums.sum() as f64
        })
        .sum();
    let n_units = units.n_units(|_| true) as f64;
    let (sum, left, scale) = (influence.squares(), n_units - n_strata, influence.scale);
    if left < 2.0 || sum <= 1e-24 * scale {
        return Estimate::other(value, influence, Rc::new(|_| Err(MissingInterval::NoSpread)));
    }
    let df = degrees_of_freedom(left, size * size / scale);
    let variance = n_units / (left - 1.0) * sum;
    let at = move |level| {
        let ends = student(value, variance, df, level);
        Ok(ValueInterval { lo: ends.lo.max(-1.0), hi: ends.hi.min(1.0), ..ends })
    };
    Estimate::other(value, influence, Rc::new(at))
}

/// The number of rows of a stratum times the difference of its two shares, with the derivatives by
/// the four cells: facet a negative and positive, facet d negative and positive.
fn term(stratum: &FacetStratum) -> Dual {
    let cells = [stratum.a[0], stratum.a[1], stratum.d[0], stratum.d[1]];
    let [a0, a1, d0, d1] = Dual::cells(cells.map(|cell| cell as f64));
    // A share that does not exist is 0.
    let share = |part: Dual, whole: Dual| {
        if whole.value == 0.0 { Dual::constant(0.0) } else { part / whole }
    };
    (a0 + a1 + d0 + d1) * (share(d0, a0 + d0) - share(d1, a1 + d1))
}
