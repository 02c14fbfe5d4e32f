//! The interval of conditional demographic disparity (CDDPL) of two facets.
//!
//! Student's from the influences of the cells of all strata, which follow from the derivatives of
//! the value, with P - 1 - (number of strata) in place of P - 1 of P units: every stratum has a
//! share of its own.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::metric::estimate::influence::{Influence, UnitInfluence};
use crate::metric::estimate::{Dual, Estimate, NO_SPREAD};
use crate::metric::evidence::strata::{FacetStratum, Strata};
use crate::metric::interval::ValueInterval;
use crate::metric::scope::GroupSelection;
use crate::metric::student_interval::{degrees_of_freedom, student};

/// CDDPL of a comparison, its value being known, with its interval; `swapped` says that the
/// negative prediction is the favourable one, `all` that strata that lack one of the two
/// predictions count.
pub(crate) fn cddpl(
    strata: &Strata,
    (a, d): (GroupSelection, GroupSelection),
    value: f64,
    swapped: bool,
    all: bool,
) -> Estimate {
    let facets = strata.sums(a, d);
    let seen = |s: FacetStratum| if swapped { s.swap_classes() } else { s };
    let counted = |s: &FacetStratum| s.n() > 0 && (all || !s.is_undefined());
    let n: u64 = facets.iter().filter(|s| counted(s)).map(FacetStratum::n).sum();
    let gradients: Vec<Option<[f64; 4]>> = facets
        .iter()
        .map(|&s| {
            let gradient = counted(&s).then(|| term(&seen(s)).gradient)?;
            Some(gradient.map(|by| (by - value) / n as f64))
        })
        .collect();
    let n_strata = gradients.iter().flatten().count() as f64;
    // What a row of a place adds, by its prediction; none of a place outside.
    let of_place = |place: usize| -> Option<[f64; 2]> {
        let (stratum, group) = (place / strata.n_groups(), place % strata.n_groups());
        let [a0, a1, d0, d1] = gradients[stratum]?;
        let is_in = |of: GroupSelection| of.groups(strata.n_groups()).any(|held| held == group);
        let [x, y] = match (is_in(a), is_in(d)) {
            (true, _) => [a0, a1],
            (_, true) => [d0, d1],
            _ => return None,
        };
        Some(if swapped { [y, x] } else { [x, y] })
    };
    let (mut units, mut size, mut most) = (Vec::new(), 0.0, 0.0);
    match strata.persons() {
        None => {
            let places = strata.cells().iter().enumerate();
            for (place, cells) in places {
                let Some(gradient) = of_place(place) else { continue };
                for (cell, sums) in cells.iter().enumerate().filter(|(_, s)| s.people() > 0) {
                    let (adds, squares) = (gradient[cell], sums.squares());
                    size += adds.abs() * sums.sum() as f64;
                    most += adds * adds * squares;
                    let (key, n) = ((2 * place + cell) as u64, sums.people());
                    units.push(UnitInfluence { key, adds, squares, n });
                }
            }
        }
        Some(persons) => {
            let mut each: BTreeMap<u64, [f64; 2]> = BTreeMap::new();
            persons.each(|(key, place), cells| {
                let Some(gradient) = of_place(place) else { return };
                let sum = each.entry(key).or_default();
                for (by, weight) in gradient.iter().zip(cells) {
                    sum[0] += by * *weight as f64;
                    sum[1] += by.abs() * *weight as f64;
                }
            });
            for (key, [adds, absolute]) in each {
                size += absolute;
                most += absolute * absolute;
                units.push(UnitInfluence { key, adds, squares: 1.0, n: 1 });
            }
        }
    }
    let n_units = units.iter().map(|of| of.n).sum::<u64>() as f64;
    let influence = Influence { units, scale: most };
    let (sum, left) = (influence.squares(), n_units - n_strata);
    if left < 2.0 || sum <= 1e-24 * most {
        return Estimate::other(value, influence, Rc::new(|_| Err(NO_SPREAD)));
    }
    let df = degrees_of_freedom(left, size * size / most);
    let variance = n_units / (left - 1.0) * sum;
    let at = move |level| {
        let of = student(value, variance, df, level);
        Ok(ValueInterval { lo: of.lo.max(-1.0), hi: of.hi.min(1.0), ..of })
    };
    Estimate::other(value, influence, Rc::new(at))
}

/// The rows of a stratum times the difference of its two shares, with the derivatives by the four cells: of
/// a negative and positive, of d negative and positive.
fn term(stratum: &FacetStratum) -> Dual {
    let cells = [stratum.a[0], stratum.a[1], stratum.d[0], stratum.d[1]];
    let [a0, a1, d0, d1] = Dual::cells(cells.map(|cell| cell as f64));
    // A share that does not exist is 0.
    let share = |part: Dual, all: Dual| {
        if all.value == 0.0 { Dual::constant(0.0) } else { part / all }
    };
    (a0 + a1 + d0 + d1) * (share(d0, a0 + d0) - share(d1, a1 + d1))
}
