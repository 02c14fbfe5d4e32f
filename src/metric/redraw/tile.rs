//! A tile of replicates: all weighted sums of all scopes, and the values that follow.
//!
//! Replicates lie side by side in memory, one row of them per sum, so that a unit with its weights w adds w x to the row of each sum. People,
//! of whom there are many, are added by [`sums`](super::sums).

use std::ops::Range;

use super::super::divergence::{Balance, FAR, ORDER, REACH, ShiftPass, at};
use super::super::shift::{METRICS, SCORE_BINS, Shift};
use super::super::{Reads, Undefined, Value};
use super::sums::{BATCH, Columns, Histogram, Weights};
use super::units::{Block, Blocks, LINEAR, Pairs};
use super::{BLOCKS, Drawn, Redraw};
use crate::num::fixed::Fixed;
use crate::num::poisson::{LANES, MOST, Poisson};

/// The values of some replicates: of all scopes and replicates together they are what takes most memory.
#[derive(Debug, Clone)]
pub struct Tile(Vec<OfReplicates>);

/// The values of a metric in a scope, at most nine bytes each.
#[derive(Debug, Clone, Default)]
struct OfReplicates {
    /// 0 where there is none.
    values: Vec<f64>,
    /// Why there is none; ends with the last that has none.
    undefined: Vec<Option<Undefined>>,
}

impl OfReplicates {
    fn push(&mut self, value: Value) {
        if let Err(reason) = value {
            self.undefined.resize(self.values.len(), None);
            self.undefined.push(Some(reason));
        }
        self.values.push(value.unwrap_or(0.0));
    }

    fn iter(&self) -> impl Iterator<Item = Value> {
        let reasons = self.undefined.iter().copied().chain(std::iter::repeat(None));
        self.values.iter().zip(reasons).map(|(&value, reason)| reason.map_or(Ok(value), Err))
    }
}

/// Replicates of a tile of people. Lists of sums of people are worth their making where many replicates read them.
pub(super) const TILE_OF_PEOPLE: usize = 8 * LANES;

/// Replicates of a tile of blocks.
pub(super) const TILE_OF_BLOCKS: usize = LANES;

impl Tile {
    /// The values of a metric, by its position in the list of the family, in a scope by its number.
    pub(super) fn values(&self, place: usize, metric: usize) -> impl Iterator<Item = Value> {
        self.0[place * METRICS.len() + metric].iter()
    }
}

impl Drawn<'_> {
    /// Replicates of a tile.
    pub(super) fn tile(self) -> usize {
        match self {
            Drawn::People(_) => TILE_OF_PEOPLE,
            Drawn::Blocks(_) => TILE_OF_BLOCKS,
        }
    }

    /// Whether people have weights.
    fn is_weighed(self) -> bool {
        match self {
            Drawn::People(pairs) => pairs.weighed,
            Drawn::Blocks(blocks) => blocks.is_weighed(),
        }
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
    /// Terms of each scope.
    units: Vec<u64>,
}

impl Quanta {
    pub(super) fn of(drawn: Drawn<'_>, second: &ShiftPass) -> Self {
        let places = second.places();
        let n = places.len();
        let mut quanta = Quanta { linear: vec![[0.0; LINEAR]; n], bins: vec![0.0; n], series: vec![[0.0; ORDER]; n], units: vec![0; n] };
        for (from, to) in places.directions() {
            let own = places.direction(from, to);
            match drawn {
                Drawn::People(pairs) => pairs.terms(second, (from, to), 0..usize::MAX, |_, terms| {
                    quanta.raise_linear(own, &terms.linear);
                    for (place, series) in places.holding(from, to).zip(&terms.series) {
                        quanta.raise_series(place, series);
                    }
                }),
                Drawn::Blocks(blocks) => {
                    for (_, block) in blocks.of(from, to) {
                        quanta.raise_linear(own, &blocks.linear(block));
                        quanta.raise_series(own, &block.series.map(Fixed::to_f64));
                    }
                }
            }
        }
        if let Drawn::Blocks(blocks) = drawn {
            for place in places.wider() {
                blocks.wider(place).iter().for_each(|series| quanta.raise_series(place, &series.map(Fixed::to_f64)));
            }
        }
        for (place, &units) in quanta.units.iter().enumerate() {
            // Scores of both sides share one, so that their difference is exact.
            let linear = &mut quanta.linear[place];
            let larger = linear[3].max(linear[4]);
            linear[3..5].fill(larger);
            quanta.bins[place] = quantum(quanta.bins[place], units).max(1.0);
            linear.iter_mut().chain(&mut quanta.series[place]).for_each(|largest| *largest = quantum(*largest, units));
        }
        quanta
    }

    fn raise_linear(&mut self, place: usize, terms: &[f64; LINEAR]) {
        self.linear[place].iter_mut().zip(terms).for_each(|(largest, x)| *largest = largest.max(x.abs()));
        // No bin holds more than all pairs weigh.
        self.bins[place] = self.bins[place].max(terms[1]);
    }

    fn raise_series(&mut self, place: usize, terms: &[f64; ORDER]) {
        self.units[place] += 1;
        self.series[place].iter_mut().zip(terms).for_each(|(largest, x)| *largest = largest.max(x.abs()));
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

    /// Adds N of the columns of a table with a row per replicate, from a column on.
    fn put<const M: usize>(&mut self, rows: &[[f64; M]], column: usize) {
        for n in 0..N {
            self.row(n).as_flattened_mut().iter_mut().zip(rows).for_each(|(sum, row)| *sum += row[column + n]);
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
pub(super) struct Sums {
    linear: Rows<LINEAR>,
    before: Rows<SCORE_BINS>,
    after: Rows<SCORE_BINS>,
    series: Rows<ORDER>,
}

impl Sums {
    /// What they take.
    pub(super) const fn bytes(lanes: usize) -> usize {
        (LINEAR + 2 * SCORE_BINS + ORDER) * lanes * size_of::<[f64; LANES]>()
    }

    fn new(lanes: usize) -> Self {
        Sums { linear: Rows::new(lanes), before: Rows::new(lanes), after: Rows::new(lanes), series: Rows::new(lanes) }
    }

    /// Adds a block to a direction.
    fn add(&mut self, block: &Block, linear: [f64; LINEAR], weights: &[[f64; LANES]], quanta: &[f64; LINEAR], quantum: f64) {
        self.linear.add_all(weights, linear, quanta);
        let times = |weight: u64| whole(weight as f64 / quantum) * quantum;
        for bin in 0..SCORE_BINS {
            self.before.add(bin, weights, times(block.before[bin]));
            self.after.add(bin, weights, times(block.after[bin]));
        }
    }

    /// Adds a direction to a scope that holds it, but for the expansion, which every scope has of its own.
    fn merge(&mut self, direction: &Sums) {
        self.linear.merge(&direction.linear);
        self.before.merge(&direction.before);
        self.after.merge(&direction.after);
    }
}

/// Columns of a direction: the linear terms, its own series, and that of one of the scopes that hold it.
pub(super) const COLUMNS: usize = LINEAR + 2 * ORDER;

/// The series of pairs that are the same person's in every direction: in all together, and in one moved to the rest.
const SHARED: usize = 2 * ORDER;

/// The sums of one direction of people in the making.
struct Open {
    columns: Columns<COLUMNS>,
    before: Histogram,
    after: Histogram,
}

/// Writes terms as whole multiples of their quanta.
fn put(into: &mut [f64], terms: &[f64], quanta: &[f64]) {
    into.iter_mut().zip(terms.iter().zip(quanta)).for_each(|(into, (term, quantum))| *into += whole(term / quantum));
}

impl Redraw<'_> {
    /// The values of the replicates of one tile.
    pub fn tile(&self, number: usize) -> Tile {
        let width = self.drawn.tile();
        let first = number * width;
        let replicates = first..self.replicates.min(first + width);
        let mut tile = Tile(vec![OfReplicates::default(); self.places.len() * METRICS.len()]);
        match self.drawn {
            Drawn::People(pairs) => self.tile_of_people(pairs, replicates, &mut tile),
            Drawn::Blocks(blocks) => self.tile_of_blocks(blocks, replicates, &mut tile),
        }
        tile
    }

    /// The weights of a person follow for all directions from one draw, so people are taken group by group.
    fn tile_of_people(&self, pairs: &Pairs, replicates: Range<usize>, tile: &mut Tile) {
        let (places, quanta) = (self.places, &self.quanta);
        let lanes = replicates.len().div_ceil(LANES);
        let poisson = Poisson::new(self.seed.0, "bootstrap/shift");
        let mut wider = self.wider(lanes);
        let mut weights = Weights::new(lanes);
        let mut terms = vec![[0.0; COLUMNS]; BATCH];
        let mut shared_terms = vec![[0.0; SHARED]; BATCH];
        for from in 0..places.groups {
            let open = || Open { columns: Columns::new(lanes), before: Histogram::new(lanes), after: Histogram::new(lanes) };
            let mut directions: Vec<(usize, Open)> = (0..places.groups).filter(|&to| to != from).map(|to| (to, open())).collect();
            let mut shared = Columns::<SHARED>::new(lanes);
            let people = pairs.people(from);
            for (start, batch) in (0..).step_by(BATCH).zip(people.chunks(BATCH)) {
                weights.draw(&poisson, batch.iter().map(|person| person.key), replicates.start);
                shared_terms.fill([0.0; SHARED]);
                for (to, open) in &mut directions {
                    let own = places.direction(from, *to);
                    let holding: Vec<usize> = places.holding(from, *to).collect();
                    terms.fill([0.0; COLUMNS]);
                    pairs.terms(self.second, (from, *to), start..start + batch.len(), |person, pair| {
                        let person = person - start;
                        let (linear, series) = terms[person].split_at_mut(LINEAR);
                        put(linear, &pair.linear, &quanta.linear[own]);
                        let (mine, last) = series.split_at_mut(ORDER);
                        put(mine, &pair.series[0], &quanta.series[own]);
                        let end = holding.len() - 1;
                        put(last, &pair.series[end], &quanta.series[holding[end]]);
                        for (n, into) in shared_terms[person].chunks_exact_mut(ORDER).enumerate().take(end - 1) {
                            put(into, &pair.series[1 + n], &quanta.series[holding[1 + n]]);
                        }
                        let quantum = quanta.bins[own];
                        let weight = whole(pair.weight / quantum) * quantum;
                        open.before.add(pair.bins.0, &weights, person, weight);
                        open.after.add(pair.bins.1, &weights, person, weight);
                    });
                    open.columns.add(&weights, &terms[..batch.len()]);
                }
                if places.rests() {
                    shared.add(&weights, &shared_terms[..batch.len()]);
                }
            }
            for (to, open) in directions {
                let own = places.direction(from, to);
                let mut sums = Sums::new(lanes);
                sums.linear.put(open.columns.rows(), 0);
                sums.series.put(open.columns.rows(), LINEAR);
                (sums.before.sums, sums.after.sums) = (open.before.into_sums(), open.after.into_sums());
                sums.linear.scale(&quanta.linear[own]);
                for place in places.holding(from, to).skip(1) {
                    wider[place - places.wider().start].merge(&sums);
                }
                if let Some(last) = places.holding(from, to).last() {
                    wider[last - places.wider().start].series.put(open.columns.rows(), LINEAR + ORDER);
                }
                self.finish(own, replicates.clone(), sums, &poisson, tile);
            }
            if places.rests() {
                wider[places.total() - places.wider().start].series.put(shared.rows(), 0);
                wider[places.one_to_rest(from) - places.wider().start].series.put(shared.rows(), ORDER);
            }
        }
        for (place, sums) in places.wider().zip(wider) {
            self.finish(place, replicates.clone(), sums, &poisson, tile);
        }
    }

    fn tile_of_blocks(&self, blocks: &Blocks, replicates: Range<usize>, tile: &mut Tile) {
        let (places, quanta) = (self.places, &self.quanta);
        let lanes = replicates.len().div_ceil(LANES);
        let poisson = Poisson::new(self.seed.0, "bootstrap/shift/blocks");
        let mut weights = vec![[0.0; LANES]; BLOCKS * lanes];
        for (number, weights) in weights.chunks_exact_mut(lanes).enumerate() {
            poisson.fill(number as u64, replicates.start, weights);
        }
        let weights = |number: usize| &weights[number * lanes..(number + 1) * lanes];
        let mut wider = self.wider(lanes);
        for (from, to) in places.directions() {
            let own = places.direction(from, to);
            let mut sums = Sums::new(lanes);
            for (number, block) in blocks.of(from, to) {
                sums.add(block, blocks.linear(block), weights(number), &quanta.linear[own], quanta.bins[own]);
                sums.series.add_all(weights(number), block.series.map(Fixed::to_f64), &quanta.series[own]);
            }
            sums.linear.scale(&quanta.linear[own]);
            for place in places.holding(from, to).skip(1) {
                wider[place - places.wider().start].merge(&sums);
            }
            self.finish(own, replicates.clone(), sums, &poisson, tile);
        }
        for (place, mut sums) in places.wider().zip(wider) {
            for (number, series) in blocks.wider(place).iter().enumerate() {
                sums.series.add_all(weights(number), series.map(Fixed::to_f64), &quanta.series[place]);
            }
            self.finish(place, replicates.clone(), sums, &poisson, tile);
        }
    }

    /// The sums of the scopes of several directions, empty.
    fn wider(&self, lanes: usize) -> Vec<Sums> {
        self.places.wider().map(|_| Sums::new(lanes)).collect()
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
                    for (person, pair) in pairs.of(from, to) {
                        terms.add_times(poisson.weight(person.key, replicate) * own.term(pair.score, pair.score_cf), person.weight);
                    }
                }
                Ok(own.divergence(score, score_cf, terms.to_f64()))
            }
            Drawn::Blocks(_) if step.abs() <= FAR => Ok(expanded()),
            Drawn::Blocks(_) => Err(Undefined::OperandUndefined),
        }
    }
}
