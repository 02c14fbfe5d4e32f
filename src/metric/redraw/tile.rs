//! A tile of replicates: all weighted sums of all scopes, and the values that follow.
//!
//! Replicates lie side by side in memory, one row of them per sum, so that a unit with its weights w adds w x to the row of each sum.

use std::ops::Range;

use super::super::divergence::{Balance, FAR, ORDER, REACH, ShiftPass, at};
use super::super::scope::{MOST_PLACES, Scope};
use super::super::shift::{METRICS, SCORE_BINS, Shift};
use super::super::{Reads, Undefined, Value};
use super::units::{Bins, LINEAR, Unit};
use super::{Drawn, Redraw};
use crate::num::fixed::Fixed;
use crate::num::poisson::{LANES, MOST, Poisson};

/// Replicates of a tile.
pub(super) const TILE: usize = 256;

/// The values of some replicates.
#[derive(Debug, Clone)]
pub struct Tile(Vec<Vec<Value>>);

impl Tile {
    /// The values of a metric, by its position in the list of the family, in a scope by its number.
    pub(super) fn values(&self, place: usize, metric: usize) -> impl Iterator<Item = Value> {
        self.0[place * METRICS.len() + metric].iter().copied()
    }
}

/// Powers of two of which everything that is summed becomes a whole multiple, by scope. A sum of so many terms, each with the largest
/// weight, has 53 bits.
#[derive(Debug)]
pub(super) struct Quanta {
    linear: Vec<[f64; LINEAR]>,
    /// Of the histograms: 1 but for heavy people beyond number, so that counts stay counts.
    bins: Vec<f64>,
    series: Vec<[f64; ORDER]>,
}

impl Quanta {
    pub(super) fn of(drawn: Drawn<'_>, second: &ShiftPass) -> Self {
        let places = second.places();
        let mut units = vec![0_u64; places.len()];
        let mut quanta =
            Quanta { linear: vec![[0.0; LINEAR]; places.len()], bins: vec![0.0; places.len()], series: vec![[0.0; ORDER]; places.len()] };
        for (from, to) in places.directions() {
            drawn.units(places, second, (from, to), |unit| {
                let raise = |largest: &mut f64, x: f64| *largest = largest.max(x.abs());
                let linear = &mut quanta.linear[places.direction(from, to)];
                linear.iter_mut().zip(unit.linear).for_each(|(largest, x)| raise(largest, x));
                // No bin holds more than all pairs weigh.
                raise(&mut quanta.bins[places.direction(from, to)], unit.linear[1]);
                for (place, series) in places.holding(from, to).zip(unit.series) {
                    units[place] += 1;
                    quanta.series[place].iter_mut().zip(series).for_each(|(largest, x)| raise(largest, x));
                }
            });
        }
        for (place, &units) in units.iter().enumerate() {
            // Scores of both sides share one, so that their difference is exact.
            let linear = &mut quanta.linear[place];
            let larger = linear[3].max(linear[4]);
            linear[3..5].fill(larger);
            quanta.bins[place] = quantum(quanta.bins[place], units).max(1.0);
            linear.iter_mut().chain(&mut quanta.series[place]).for_each(|largest| *largest = quantum(*largest, units));
        }
        quanta
    }
}

/// The power of two q for which `units` terms of at most `largest`, each taken [`MOST`] times, sum to at most 2^53 q.
fn quantum(largest: f64, units: u64) -> f64 {
    let bits = |x: f64| ((x.to_bits() >> 52) & 0x7ff) as i64 - 1022;
    let exponent = bits(largest) + bits(units as f64 * f64::from(MOST)) - 53;
    f64::from_bits(((exponent.clamp(-900, 900) + 1023) as u64) << 52)
}

/// Rows of sums, one sum per replicate in each; the last lane may hold more replicates than are wanted.
struct Rows<const N: usize> {
    lanes: usize,
    sums: Vec<[f64; LANES]>,
}

impl<const N: usize> Rows<N> {
    fn new(lanes: usize) -> Self {
        Rows { lanes, sums: vec![[0.0; LANES]; N * lanes] }
    }

    fn row(&mut self, n: usize) -> &mut [[f64; LANES]] {
        &mut self.sums[n * self.lanes..(n + 1) * self.lanes]
    }

    fn add(&mut self, n: usize, weights: &[[f64; LANES]], term: f64) {
        if term != 0.0 {
            for (sums, weights) in self.row(n).iter_mut().zip(weights) {
                let mut i = 0;
                while i < LANES {
                    sums[i] += weights[i] * term;
                    i += 1;
                }
            }
        }
    }

    fn add_all(&mut self, weights: &[[f64; LANES]], terms: [f64; N], quanta: &[f64; N]) {
        for (n, (term, quantum)) in terms.into_iter().zip(quanta).enumerate() {
            self.add(n, weights, whole(term / quantum));
        }
    }

    fn scale(&mut self, quanta: &[f64; N]) {
        for (n, quantum) in quanta.iter().enumerate() {
            self.row(n).as_flattened_mut().iter_mut().for_each(|sum| *sum *= quantum);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.sums.as_flattened_mut().iter_mut().zip(other.sums.as_flattened()).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn of(&self, replicate: usize) -> [f64; N] {
        std::array::from_fn(|n| self.sums[n * self.lanes + replicate / LANES][replicate % LANES])
    }
}

/// The nearest whole number of a number below 2^51 in size.
fn whole(x: f64) -> f64 {
    const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;
    (x + SHIFT) - SHIFT
}

/// The sums of one scope.
struct Sums {
    linear: Rows<LINEAR>,
    before: Rows<SCORE_BINS>,
    after: Rows<SCORE_BINS>,
    series: Rows<ORDER>,
}

impl Sums {
    fn new(lanes: usize) -> Self {
        Sums { linear: Rows::new(lanes), before: Rows::new(lanes), after: Rows::new(lanes), series: Rows::new(lanes) }
    }

    fn add(&mut self, unit: &Unit<'_>, weights: &[[f64; LANES]], quanta: &[f64; LINEAR], quantum: f64) {
        self.linear.add_all(weights, unit.linear, quanta);
        let times = |weight: f64| whole(weight / quantum) * quantum;
        match unit.bins {
            Bins::One(before, after, weight) => {
                self.before.add(before, weights, times(weight));
                self.after.add(after, weights, times(weight));
            }
            Bins::Many(before, after) => {
                for bin in 0..SCORE_BINS {
                    self.before.add(bin, weights, times(before[bin] as f64));
                    self.after.add(bin, weights, times(after[bin] as f64));
                }
            }
        }
    }

    /// Adds a direction to a scope that holds it, but for the expansion, which every scope has of its own.
    fn merge(&mut self, direction: &Sums) {
        self.linear.merge(&direction.linear);
        self.before.merge(&direction.before);
        self.after.merge(&direction.after);
    }
}

impl Redraw<'_> {
    /// The values of the replicates of one tile.
    pub fn tile(&self, number: usize) -> Tile {
        let first = number * TILE;
        let len = TILE.min(self.replicates - first);
        let lanes = len.div_ceil(LANES);
        let places = self.places;
        let poisson = match self.drawn {
            Drawn::People(_) => Poisson::new(self.seed.0, "bootstrap/shift"),
            Drawn::Blocks(_) => Poisson::new(self.seed.0, "bootstrap/shift/blocks"),
        };
        let mut weights = vec![[0.0; LANES]; lanes];
        let mut wider: Vec<Option<Sums>> = (0..places.len()).map(|_| None).collect();
        for (place, _) in places.scopes().filter(|(_, scope)| !matches!(scope, Scope::Direction(..))) {
            wider[place] = Some(Sums::new(lanes));
        }
        let mut tile = Tile(vec![Vec::new(); places.len() * METRICS.len()]);
        for (from, to) in places.directions() {
            let mut own = Sums::new(lanes);
            let place = places.direction(from, to);
            let holding: Vec<usize> = places.holding(from, to).skip(1).collect();
            self.drawn.units(places, self.second, (from, to), |unit| {
                poisson.fill(unit.key, first, &mut weights);
                own.add(unit, &weights, &self.quanta.linear[place], self.quanta.bins[place]);
                own.series.add_all(&weights, unit.series[0], &self.quanta.series[place]);
                for (&wide, series) in holding.iter().zip(&unit.series[1..MOST_PLACES]) {
                    if let Some(sums) = &mut wider[wide] {
                        sums.series.add_all(&weights, *series, &self.quanta.series[wide]);
                    }
                }
            });
            own.linear.scale(&self.quanta.linear[place]);
            for &wide in &holding {
                if let Some(sums) = &mut wider[wide] {
                    sums.merge(&own);
                }
            }
            self.finish(place, first..first + len, own, &poisson, &mut tile);
        }
        for (place, sums) in wider.into_iter().enumerate() {
            if let Some(sums) = sums {
                self.finish(place, first..first + len, sums, &poisson, &mut tile);
            }
        }
        tile
    }

    /// The values of one scope from its sums.
    fn finish(&self, place: usize, replicates: Range<usize>, mut sums: Sums, poisson: &Poisson, tile: &mut Tile) {
        sums.series.scale(&self.quanta.series[place]);
        let weighed = self.drawn.is_weighed();
        for (replicate, number) in replicates.enumerate() {
            let [pairs, n, infinite, score, score_cf, absolute, squared, divergence] = sums.linear.of(replicate);
            let mut shift = Shift {
                pairs: if weighed { pairs } else { n },
                n,
                score,
                score_cf,
                change: score_cf - score,
                absolute,
                squared,
                divergence,
                infinite,
                jensen_shannon: Err(Undefined::ZeroScoreSum),
                before: sums.before.of(replicate),
                after: sums.after.of(replicate),
            };
            if score > 0.0 && score_cf > 0.0 {
                let series = sums.series.of(replicate);
                shift.jensen_shannon = self.jensen_shannon(place, (score, score_cf), series, (poisson, number));
            }
            for (m, metric) in METRICS.iter().enumerate() {
                if let Reads::Shift(value) = metric.reads {
                    tile.0[place * METRICS.len() + m].push(value(&shift));
                }
            }
        }
    }

    fn jensen_shannon(
        &self,
        place: usize,
        (score, score_cf): (f64, f64),
        series: [f64; ORDER],
        (poisson, replicate): (&Poisson, usize),
    ) -> Value {
        let balance = self.second.at(place).balance();
        let step = balance.step(score, score_cf);
        let expanded = || balance.divergence(score, score_cf, at(series.into_iter(), step));
        match self.drawn {
            _ if step.abs() <= REACH => Ok(expanded()),
            Drawn::People(pairs) => {
                let own = Balance::of(score, score_cf);
                let mut terms = Fixed::ZERO;
                for (from, to) in self.places.held(place) {
                    for pair in pairs.of(from, to) {
                        terms.add_times(poisson.weight(pair.key, replicate) * own.term(pair.score, pair.score_cf), pair.weight);
                    }
                }
                Ok(own.divergence(score, score_cf, terms.to_f64()))
            }
            Drawn::Blocks(_) if step.abs() <= FAR => Ok(expanded()),
            Drawn::Blocks(_) => Err(Undefined::OperandUndefined),
        }
    }
}
