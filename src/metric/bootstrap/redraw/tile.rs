//! A tile of replicates: all weighted sums of all scopes, and the values that follow.
//!
//! Replicates are adjacent in memory, one row of them per sum, so that a unit with its weights
//! w adds w x to the row of each sum. [`sums`](super::sums) adds people, since there are many.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::sums::{BATCH, BatchWeights, ColumnSums, Histogram};
use super::units::{LINEAR, ScorePairs, ShiftBlocks};
use crate::metric::bootstrap::redraw::units::SHIFT_BLOCKS;
use crate::metric::bootstrap::redraw::units::ShiftUnits;

use crate::metric::bootstrap::redraw::{
    BLOCK_REPLICATES, BootstrapInterval, ShiftIntervals, centre,
};
use crate::metric::catalog::shift::{HISTOGRAM_METRICS, METRICS};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::jensen_shannon::{EXACT_STEP, MAX_STEP, evaluate_series};
use crate::metric::evidence::jensen_shannon::{ORDER, ScoreBalance};
use crate::metric::evidence::shift::{SCORE_BINS, ScoreShift};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::interval::{ReplicateSource, fewest, percentile};
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::{Reads, difference};
use crate::num::fixed::FixedSum;
use crate::num::poisson::{LANES, MAX_WEIGHT, PoissonWeights};
use crate::param::{Count, Level, Seed};

/// The values of some replicates: of all scopes and replicates together they are what takes most
/// memory.
#[derive(Debug, Clone)]
pub(crate) struct ReplicateTile(Vec<ReplicateValues>);

/// The values of a metric in a scope, at most nine bytes each.
#[derive(Debug, Clone, Default)]
struct ReplicateValues {
    /// 0 where there is none.
    values: Vec<f64>,
    /// Why there is none; ends with the last that has none.
    undefined: Vec<Option<Undefined>>,
}

impl ReplicateValues {
    fn push(&mut self, value: MetricValue) {
        if let Err(reason) = value {
            self.undefined.resize(self.values.len(), None);
            self.undefined.push(Some(reason));
        }
        self.values.push(value.unwrap_or(0.0));
    }

    fn iter(&self) -> impl Iterator<Item = MetricValue> {
        let reasons = self.undefined.iter().copied().chain(std::iter::repeat(None));
        self.values.iter().zip(reasons).map(|(&value, reason)| reason.map_or(Ok(value), Err))
    }
}

/// Replicates of a tile of people. Lists of sums of people are worth their making where many
/// replicates read them.
pub(crate) const REPLICATES_PER_PEOPLE_TILE: usize = 8 * LANES;

/// Replicates of a tile of blocks.
pub(crate) const REPLICATES_PER_BLOCK_TILE: usize = LANES;

impl ReplicateTile {
    /// The values of a metric, by its position in the list of the family, in a scope by its number.
    pub(crate) fn values(&self, place: usize, metric: usize) -> impl Iterator<Item = MetricValue> {
        self.0[place * METRICS.len() + metric].iter()
    }
}

impl ShiftUnits<'_> {
    /// Replicates of a tile.
    pub(crate) fn replicates_per_tile(self) -> usize {
        match self {
            ShiftUnits::People(_) => REPLICATES_PER_PEOPLE_TILE,
            ShiftUnits::Blocks(_) => REPLICATES_PER_BLOCK_TILE,
        }
    }

    /// Whether people have weights.
    fn is_weighted(self) -> bool {
        match self {
            ShiftUnits::People(pairs) => pairs.is_weighted,
            ShiftUnits::Blocks(blocks) => blocks.is_weighted(),
        }
    }
}

/// Powers of two of which everything that is summed becomes a whole multiple, by scope. A sum of so
/// many terms, each with the largest weight, has 53 bits.
#[derive(Debug)]
pub(crate) struct SumQuanta {
    linear: Vec<[f64; LINEAR]>,
    /// Of the histograms: 1 but for heavy people beyond number, so that counts stay counts.
    bins: Vec<f64>,
    series: Vec<[f64; ORDER]>,
    /// Terms of each scope.
    units: Vec<u64>,
}

impl SumQuanta {
    /// The rounding units of the sums of every scope, from the largest that a sum can become.
    pub(crate) fn new(drawn: ShiftUnits<'_>, second: &ShiftPass) -> Self {
        let places = second.scope_index();
        let n = places.len();
        let mut quanta = SumQuanta {
            linear: vec![[0.0; LINEAR]; n],
            bins: vec![0.0; n],
            series: vec![[0.0; ORDER]; n],
            units: vec![0; n],
        };
        for (from, to) in places.directions() {
            let own = places.direction(from, to);
            match drawn {
                ShiftUnits::People(pairs) => {
                    pairs.terms(second, (from, to), 0..usize::MAX, |_, terms| {
                        quanta.raise_linear(own, &terms.linear);
                        for (place, series) in places.scopes_of(from, to).zip(&terms.series) {
                            quanta.raise_series(place, series);
                        }
                    })
                }
                ShiftUnits::Blocks(blocks) => {
                    for (_, block) in blocks.blocks_of(from, to) {
                        quanta.raise_linear(own, &blocks.linear(block));
                        quanta.raise_series(own, &block.series.map(FixedSum::to_f64));
                    }
                }
            }
        }
        if let ShiftUnits::Blocks(blocks) = drawn {
            for place in places.combined() {
                blocks
                    .combined(place)
                    .iter()
                    .for_each(|series| quanta.raise_series(place, &series.map(FixedSum::to_f64)));
            }
        }
        for (place, &units) in quanta.units.iter().enumerate() {
            // Scores of both sides share one, so that their difference is exact.
            let linear = &mut quanta.linear[place];
            let larger = linear[3].max(linear[4]);
            linear[3..5].fill(larger);
            quanta.bins[place] = quantum(quanta.bins[place], units).max(1.0);
            linear
                .iter_mut()
                .chain(&mut quanta.series[place])
                .for_each(|largest| *largest = quantum(*largest, units));
        }
        quanta
    }

    fn raise_linear(&mut self, place: usize, terms: &[f64; LINEAR]) {
        self.linear[place]
            .iter_mut()
            .zip(terms)
            .for_each(|(largest, x)| *largest = largest.max(x.abs()));
        // No bin holds more than all pairs weigh.
        self.bins[place] = self.bins[place].max(terms[1]);
    }

    fn raise_series(&mut self, place: usize, terms: &[f64; ORDER]) {
        self.units[place] += 1;
        self.series[place]
            .iter_mut()
            .zip(terms)
            .for_each(|(largest, x)| *largest = largest.max(x.abs()));
    }
}

/// The power of two q for which `units` terms of at most `largest`, each taken [`MAX_WEIGHT`]
/// times, sum to at most 2^53 q.
fn quantum(largest: f64, units: u64) -> f64 {
    let bits = |x: f64| ((x.to_bits() >> 52) & 0x7ff) as i64 - 1022;
    let exponent = bits(largest) + bits(units as f64 * f64::from(MAX_WEIGHT)) - 53;
    f64::from_bits(((exponent.clamp(-900, 900) + 1023) as u64) << 52)
}

/// Rows of sums, one sum per replicate in each; the last lane may hold more replicates than are
/// wanted.
struct ReplicateRows<const N: usize> {
    lanes: usize,
    sums: Vec<[f64; LANES]>,
}

impl<const N: usize> ReplicateRows<N> {
    fn new(lanes: usize) -> Self {
        ReplicateRows { lanes, sums: vec![[0.0; LANES]; N * lanes] }
    }

    #[inline(always)]
    fn row(&mut self, n: usize) -> &mut [[f64; LANES]] {
        &mut self.sums[n * self.lanes..(n + 1) * self.lanes]
    }

    #[inline(always)]
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

    #[inline(always)]
    fn add_all(&mut self, weights: &[[f64; LANES]], terms: [f64; N], quanta: &[f64; N]) {
        for (n, (term, quantum)) in terms.into_iter().zip(quanta).enumerate() {
            self.add(n, weights, nearest_whole(term / quantum));
        }
    }

    /// Adds N of the columns of a table with a row per replicate, from a column on.
    fn add_columns<const M: usize>(&mut self, rows: &[[f64; M]], column: usize) {
        for n in 0..N {
            self.row(n)
                .as_flattened_mut()
                .iter_mut()
                .zip(rows)
                .for_each(|(sum, row)| *sum += row[column + n]);
        }
    }

    fn scale(&mut self, quanta: &[f64; N]) {
        for (n, quantum) in quanta.iter().enumerate() {
            self.row(n).as_flattened_mut().iter_mut().for_each(|sum| *sum *= quantum);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.sums
            .as_flattened_mut()
            .iter_mut()
            .zip(other.sums.as_flattened())
            .for_each(|(mine, theirs)| *mine += theirs);
    }

    fn sums_of(&self, replicate: usize) -> [f64; N] {
        std::array::from_fn(|n| self.sums[n * self.lanes + replicate / LANES][replicate % LANES])
    }
}

/// The nearest whole number of a number below 2^51 in size.
#[inline(always)]
fn nearest_whole(x: f64) -> f64 {
    const SHIFT: f64 = 1.5 * (1_u64 << 52) as f64;
    (x + SHIFT) - SHIFT
}

/// The sums of one scope.
pub(crate) struct ScopeSums {
    linear: ReplicateRows<LINEAR>,
    before: ReplicateRows<SCORE_BINS>,
    after: ReplicateRows<SCORE_BINS>,
    series: ReplicateRows<ORDER>,
}

impl ScopeSums {
    /// What they take.
    pub(crate) const fn bytes(lanes: usize) -> usize {
        (LINEAR + 2 * SCORE_BINS + ORDER) * lanes * size_of::<[f64; LANES]>()
    }

    fn new(lanes: usize) -> Self {
        ScopeSums {
            linear: ReplicateRows::new(lanes),
            before: ReplicateRows::new(lanes),
            after: ReplicateRows::new(lanes),
            series: ReplicateRows::new(lanes),
        }
    }

    /// Adds a direction to a scope that holds it, but for the expansion, which every scope has of
    /// its own.
    fn merge(&mut self, direction: &ScopeSums) {
        self.linear.merge(&direction.linear);
        self.before.merge(&direction.before);
        self.after.merge(&direction.after);
    }
}

/// The weights of a block in all replicates.
#[inline(always)]
fn weights_of(weights: &[[f64; LANES]], number: usize, lanes: usize) -> &[[f64; LANES]] {
    &weights[number * lanes..(number + 1) * lanes]
}

/// The sums of a direction of blocks, with the widest vectors of the processor: no bit depends on
/// them, because the compiler never joins a product and a sum.
struct DirectionJob<'a> {
    /// The blocks and the groups of the direction.
    blocks: (&'a ShiftBlocks, (usize, usize)),
    /// Of each block the weights in all replicates.
    weights: &'a [[f64; LANES]],
    lanes: usize,
    /// The place of the direction among scopes.
    own: usize,
    quanta: &'a SumQuanta,
}

impl WithSimd for DirectionJob<'_> {
    type Output = ScopeSums;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> ScopeSums {
        let DirectionJob { blocks: (blocks, (from, to)), weights, lanes, own, quanta } = self;
        let quantum = quanta.bins[own];
        let mut sums = ScopeSums::new(lanes);
        for (number, block) in blocks.blocks_of(from, to) {
            let weights = weights_of(weights, number, lanes);
            sums.linear.add_all(weights, blocks.linear(block), &quanta.linear[own]);
            for bin in 0..SCORE_BINS {
                let weigh = |n: u64| nearest_whole(n as f64 / quantum) * quantum;
                sums.before.add(bin, weights, weigh(block.before.get(bin)));
                sums.after.add(bin, weights, weigh(block.after.get(bin)));
            }
            let series = block.series.map(FixedSum::to_f64);
            sums.series.add_all(weights, series, &quanta.series[own]);
        }
        sums
    }
}

/// Columns of a direction: the linear terms, its own series, and that of one of the scopes that
/// hold it.
pub(crate) const COLUMNS: usize = LINEAR + 2 * ORDER;

/// The series of pairs that are the same person's in every direction: in all together, and in one
/// moved to the rest.
const SHARED: usize = 2 * ORDER;

/// The sums of one direction of people in the making.
struct DirectionSums {
    columns: ColumnSums<COLUMNS>,
    before: Histogram,
    after: Histogram,
}

/// Writes terms as whole multiples of their quanta.
fn write_quantised(into: &mut [f64], terms: &[f64], quanta: &[f64]) {
    into.iter_mut()
        .zip(terms.iter().zip(quanta))
        .for_each(|(into, (term, quantum))| *into += nearest_whole(term / quantum));
}

impl ShiftBootstrap<'_> {
    /// The values of the replicates of one tile.
    pub(crate) fn tile(&self, number: usize) -> ReplicateTile {
        let width = self.units.replicates_per_tile();
        let first = number * width;
        let replicates = first..self.replicates.min(first + width);
        let mut tile =
            ReplicateTile(vec![ReplicateValues::default(); self.scope_index.len() * METRICS.len()]);
        match self.units {
            ShiftUnits::People(pairs) => self.tile_of_people(pairs, replicates, &mut tile),
            ShiftUnits::Blocks(blocks) => self.tile_of_blocks(blocks, replicates, &mut tile),
        }
        tile
    }

    /// The weights of a person follow for all directions from one draw, so people are taken group
    /// by group.
    fn tile_of_people(
        &self,
        pairs: &ScorePairs,
        replicates: Range<usize>,
        tile: &mut ReplicateTile,
    ) {
        let (places, quanta) = (self.scope_index, &self.quanta);
        let lanes = replicates.len().div_ceil(LANES);
        let poisson = PoissonWeights::new(self.seed.0, "bootstrap/shift");
        let mut wider = self.combined_sums(lanes);
        let mut weights = BatchWeights::new(lanes);
        let mut terms = vec![[0.0; COLUMNS]; BATCH];
        let mut shared_terms = vec![[0.0; SHARED]; BATCH];
        for from in 0..places.groups {
            let open = || DirectionSums {
                columns: ColumnSums::new(lanes),
                before: Histogram::new(lanes),
                after: Histogram::new(lanes),
            };
            let mut directions: Vec<(usize, DirectionSums)> =
                (0..places.groups).filter(|&to| to != from).map(|to| (to, open())).collect();
            let mut shared = ColumnSums::<SHARED>::new(lanes);
            let people = pairs.people(from);
            for (start, batch) in (0..).step_by(BATCH).zip(people.chunks(BATCH)) {
                weights.draw(&poisson, batch.iter().map(|person| person.key), replicates.start);
                shared_terms.fill([0.0; SHARED]);
                for (to, open) in &mut directions {
                    let own = places.direction(from, *to);
                    let holding: Vec<usize> = places.scopes_of(from, *to).collect();
                    terms.fill([0.0; COLUMNS]);
                    pairs.terms(
                        self.second,
                        (from, *to),
                        start..start + batch.len(),
                        |person, pair| {
                            let person = person - start;
                            let (linear, series) = terms[person].split_at_mut(LINEAR);
                            write_quantised(linear, &pair.linear, &quanta.linear[own]);
                            let (mine, last) = series.split_at_mut(ORDER);
                            write_quantised(mine, &pair.series[0], &quanta.series[own]);
                            let end = holding.len() - 1;
                            write_quantised(last, &pair.series[end], &quanta.series[holding[end]]);
                            for (n, into) in shared_terms[person]
                                .chunks_exact_mut(ORDER)
                                .enumerate()
                                .take(end - 1)
                            {
                                write_quantised(
                                    into,
                                    &pair.series[1 + n],
                                    &quanta.series[holding[1 + n]],
                                );
                            }
                            let quantum = quanta.bins[own];
                            let weight = nearest_whole(pair.weight / quantum) * quantum;
                            open.before.add(pair.bins.0, &weights, person, weight);
                            open.after.add(pair.bins.1, &weights, person, weight);
                        },
                    );
                    open.columns.add(&weights, &terms[..batch.len()]);
                }
                if places.has_rest() {
                    shared.add(&weights, &shared_terms[..batch.len()]);
                }
            }
            for (to, open) in directions {
                let own = places.direction(from, to);
                let mut sums = ScopeSums::new(lanes);
                sums.linear.add_columns(open.columns.rows(), 0);
                sums.series.add_columns(open.columns.rows(), LINEAR);
                (sums.before.sums, sums.after.sums) =
                    (open.before.into_sums(), open.after.into_sums());
                sums.linear.scale(&quanta.linear[own]);
                for place in places.scopes_of(from, to).skip(1) {
                    wider[place - places.combined().start].merge(&sums);
                }
                if let Some(last) = places.scopes_of(from, to).last() {
                    wider[last - places.combined().start]
                        .series
                        .add_columns(open.columns.rows(), LINEAR + ORDER);
                }
                self.finish(own, replicates.clone(), sums, &poisson, tile);
            }
            if places.has_rest() {
                wider[places.total() - places.combined().start]
                    .series
                    .add_columns(shared.rows(), 0);
                wider[places.one_to_rest(from) - places.combined().start]
                    .series
                    .add_columns(shared.rows(), ORDER);
            }
        }
        for (place, sums) in places.combined().zip(wider) {
            self.finish(place, replicates.clone(), sums, &poisson, tile);
        }
    }

    fn tile_of_blocks(
        &self,
        blocks: &ShiftBlocks,
        replicates: Range<usize>,
        tile: &mut ReplicateTile,
    ) {
        let (places, quanta) = (self.scope_index, &self.quanta);
        let lanes = replicates.len().div_ceil(LANES);
        let poisson = PoissonWeights::new(self.seed.0, "bootstrap/shift/blocks");
        let mut weights = vec![[0.0; LANES]; SHIFT_BLOCKS * lanes];
        for (number, weights) in weights.chunks_exact_mut(lanes).enumerate() {
            poisson.fill(number as u64, replicates.start, weights);
        }
        let arch = Arch::new();
        let mut wider = self.combined_sums(lanes);
        for (from, to) in places.directions() {
            let own = places.direction(from, to);
            let (blocks, weights) = ((blocks, (from, to)), weights.as_slice());
            let mut sums = arch.dispatch(DirectionJob { blocks, weights, lanes, own, quanta });
            sums.linear.scale(&quanta.linear[own]);
            for place in places.scopes_of(from, to).skip(1) {
                wider[place - places.combined().start].merge(&sums);
            }
            self.finish(own, replicates.clone(), sums, &poisson, tile);
        }
        for (place, mut sums) in places.combined().zip(wider) {
            for (number, series) in blocks.combined(place).iter().enumerate() {
                sums.series.add_all(
                    weights_of(&weights, number, lanes),
                    series.map(FixedSum::to_f64),
                    &quanta.series[place],
                );
            }
            self.finish(place, replicates.clone(), sums, &poisson, tile);
        }
    }

    /// The sums of the scopes of several directions, empty.
    fn combined_sums(&self, lanes: usize) -> Vec<ScopeSums> {
        self.scope_index.combined().map(|_| ScopeSums::new(lanes)).collect()
    }

    /// The values of one scope from its sums.
    fn finish(
        &self,
        place: usize,
        replicates: Range<usize>,
        mut sums: ScopeSums,
        poisson: &PoissonWeights,
        tile: &mut ReplicateTile,
    ) {
        sums.series.scale(&self.quanta.series[place]);
        let weighed = self.units.is_weighted();
        for (replicate, number) in replicates.enumerate() {
            let [pairs, n, infinite, score, score_cf, absolute, squared, divergence] =
                sums.linear.sums_of(replicate);
            let mut shift = ScoreShift {
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
                before: sums.before.sums_of(replicate),
                after: sums.after.sums_of(replicate),
            };
            if score > 0.0 && score_cf > 0.0 {
                let series = sums.series.sums_of(replicate);
                shift.jensen_shannon =
                    self.jensen_shannon(place, (score, score_cf), series, (poisson, number));
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
        (poisson, replicate): (&PoissonWeights, usize),
    ) -> MetricValue {
        let balance = self.second.at(place).balance();
        let step = balance.step(score, score_cf);
        let expanded =
            || balance.divergence(score, score_cf, evaluate_series(series.into_iter(), step));
        match self.units {
            _ if step.abs() <= EXACT_STEP => Ok(expanded()),
            ShiftUnits::People(pairs) => {
                let own = ScoreBalance::new(score, score_cf);
                let mut terms = FixedSum::ZERO;
                for (from, to) in self.scope_index.directions_of(place) {
                    for (person, pair) in pairs.pairs_of(from, to) {
                        terms.add_times(
                            poisson.weight(person.key, replicate)
                                * own.term(pair.score, pair.score_cf),
                            person.weight,
                        );
                    }
                }
                Ok(own.divergence(score, score_cf, terms.to_f64()))
            }
            ShiftUnits::Blocks(_) if step.abs() <= MAX_STEP => Ok(expanded()),
            ShiftUnits::Blocks(_) => Err(Undefined::OperandMissing),
        }
    }
}

/// A bootstrap ready to be computed, a tile of replicates at a time, in any order and on any
/// thread.
#[derive(Debug)]
pub(crate) struct ShiftBootstrap<'a> {
    pub(crate) units: ShiftUnits<'a>,
    pub(crate) second: &'a ShiftPass,
    pub(crate) scope_index: ScopeIndex,
    pub(crate) seed: Seed,
    pub(crate) replicates: usize,
    quanta: SumQuanta,
}

impl<'a> ShiftBootstrap<'a> {
    /// Draws people. `second` is the second pass over the same pairs.
    pub(crate) fn of_people(
        pairs: &'a ScorePairs,
        second: &'a ShiftPass,
        samples: Count,
        seed: Seed,
    ) -> Self {
        Self::new(
            ShiftUnits::People(pairs),
            second,
            usize::try_from(samples.get()).unwrap_or(usize::MAX),
            seed,
        )
    }

    /// Draws blocks of people. `second` is the second pass of these blocks.
    pub(crate) fn of_blocks(blocks: &'a ShiftBlocks, second: &'a ShiftPass, seed: Seed) -> Self {
        Self::new(ShiftUnits::Blocks(blocks), second, BLOCK_REPLICATES, seed)
    }

    fn new(drawn: ShiftUnits<'a>, second: &'a ShiftPass, replicates: usize, seed: Seed) -> Self {
        let quanta = SumQuanta::new(drawn, second);
        ShiftBootstrap {
            units: drawn,
            second,
            scope_index: second.scope_index(),
            seed,
            replicates,
            quanta,
        }
    }

    /// Number of tiles.
    pub(crate) fn n_tiles(&self) -> usize {
        self.replicates.div_ceil(self.units.replicates_per_tile())
    }

    /// For each place the number of persons, or blocks of them, that are drawn; none where each row
    /// is a person. `counts` is the first pass over the same people.
    pub(crate) fn persons(&self, counts: &CounterfactualCounts) -> Vec<Option<u64>> {
        let drawn = |place| self.units.n_drawn(self.scope_index.directions_of(place));
        let has_persons = counts.has_persons();
        (0..self.scope_index.len()).map(|place| has_persons.then(|| drawn(place))).collect()
    }

    /// The intervals at a level from all tiles in order. `counts` is the first pass over the same
    /// people.
    pub(crate) fn intervals(
        &self,
        tiles: &[ReplicateTile],
        counts: &CounterfactualCounts,
        level: Level,
    ) -> ShiftIntervals {
        let sums = counts.shifts_by_scope();
        let shifts: Vec<ScoreShift> = sums
            .iter()
            .enumerate()
            .map(|(place, sums)| self.second.at(place).score_shift(sums))
            .collect();
        let persons = self.persons(counts);
        let mut found = Vec::new();
        for (m, metric) in METRICS.iter().enumerate() {
            let Reads::Shift(value) = metric.reads else { continue };
            let centred = HISTOGRAM_METRICS.contains(&metric.id);
            let method = self.units.method(centred);
            let (least, most) = metric.range;
            let ends = |replicates: Vec<MetricValue>,
                        (value, persons): (MetricValue, Option<u64>),
                        range: (f64, f64)|
             -> BootstrapInterval {
                let source = ReplicateSource { method, persons };
                let (interval, undefined) =
                    percentile(replicates.iter().copied(), level.get(), source)?;
                Ok((
                    if centred { centre(interval, &replicates, value, range) } else { interval },
                    undefined,
                ))
            };
            let replicates =
                |place: usize| tiles.iter().flat_map(move |tile| tile.values(place, m));
            for (place, scope) in self.scope_index.scopes() {
                let own = (value(&shifts[place]), persons[place]);
                let interval = ends(replicates(place).collect(), own, metric.range);
                found.push((scope, metric.id.to_owned(), interval));
            }
            for (a, b) in self.scope_index.directions().filter(|(a, b)| a < b) {
                let (forth, back) =
                    (self.scope_index.direction(a, b), self.scope_index.direction(b, a));
                let gaps = replicates(forth)
                    .zip(replicates(back))
                    .map(|(x, y)| difference(x, y))
                    .collect();
                let gap = difference(value(&shifts[forth]), value(&shifts[back]));
                let fewest = fewest(persons[forth], persons[back]);
                let interval = ends(gaps, (gap, fewest), (least - most, most - least));
                found.push((MetricScope::Difference(a, b), metric.id.to_owned(), interval));
            }
        }
        found.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        ShiftIntervals { replicates: self.replicates as u64, found }
    }
}
