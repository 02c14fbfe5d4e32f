//! What is drawn: pairs of scores with the person they belong to, or blocks of people with their
//! sums.

use std::ops::Range;

use pulp::Arch;
use serde::{Deserialize, Serialize};

use super::block_bins::BlockBins;
use crate::exec::accumulator::merge_present;
use crate::metric::evidence::chunk::{CHUNK, ChunkTerms, PLAIN_SUMS, PairChunk};
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::jensen_shannon::{EXACT_STEP, evaluate_series};
use crate::metric::evidence::jensen_shannon::{ORDER, ScoreBalance};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::metric::evidence::score_bins::PARTS;
use crate::metric::evidence::shift::{ShiftSums, kl_term, score_bin};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::interval::IntervalProcedure;
use crate::metric::scope::{MAX_SCOPES_PER_DIRECTION, ScopeIndex};
use crate::num::fixed::FixedSum;
use crate::num::seed::{h, named_seed};
use crate::param::Seed;

/// The pairs of scores of people, by direction; mergeable.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ScorePairs {
    pub(crate) is_weighted: bool,
    scope_index: ScopeIndex,
    /// By group: everybody who has a pair.
    people: Vec<Vec<WeightedPerson>>,
    /// By direction, ascending by person.
    by_direction: Vec<Vec<ScorePair>>,
}

/// A person, whose pairs weigh alike.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct WeightedPerson {
    pub(crate) key: u64,
    /// Whole units that the person weighs.
    pub(crate) weight: u64,
}

/// A pair of scores.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct ScorePair {
    /// Position among the people of the group.
    pub(crate) person: usize,
    pub(crate) score: f64,
    pub(crate) score_cf: f64,
}

/// What a pair adds.
#[derive(Debug)]
pub(crate) struct PairTerms {
    pub(crate) linear: [f64; LINEAR],
    /// In each scope that holds the direction.
    pub(crate) series: [[f64; ORDER]; MAX_SCOPES_PER_DIRECTION],
    /// The bin of each score, and what it gets.
    pub(crate) bins: (usize, usize),
    pub(crate) weight: f64,
}

impl ScorePairs {
    /// No pair yet; groups and label are those of the first pass.
    pub(crate) fn new(counts: &CounterfactualCounts) -> Self {
        let places = counts.scope_index();
        ScorePairs {
            is_weighted: counts.is_weighted(),
            scope_index: places,
            people: vec![Vec::new(); places.groups],
            by_direction: vec![Vec::new(); places.groups * places.groups],
        }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's
    /// own: all pairs of a key weigh alike.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let people = &mut self.people[person.group];
        let (number, mut has_pair) = (people.len(), false);
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = scored_pair(person, counterfactual) {
                let pair = ScorePair { person: number, score, score_cf };
                self.by_direction[self.scope_index.direction(person.group, counterfactual.to)]
                    .push(pair);
                has_pair = true;
            }
        }
        if has_pair {
            people.push(WeightedPerson { key, weight: person.weight });
        }
    }

    /// People who have a pair.
    pub(crate) fn n_people(&self) -> u64 {
        self.people.iter().map(|people| people.len() as u64).sum()
    }

    /// Puts people in the order of their keys, so that parts of them give the same list in any
    /// order of merging.
    pub(crate) fn sort(&mut self) {
        for (from, people) in self.people.iter_mut().enumerate() {
            let mut order: Vec<usize> = (0..people.len()).collect();
            order.sort_by_key(|&person| (people[person].key, people[person].weight));
            let mut numbers = vec![0; people.len()];
            order.iter().enumerate().for_each(|(number, &person)| numbers[person] = number);
            *people = order.iter().map(|&person| people[person]).collect();
            let first = self.scope_index.direction(from, 0);
            for pairs in &mut self.by_direction[first..first + self.scope_index.groups] {
                pairs.iter_mut().for_each(|pair| pair.person = numbers[pair.person]);
                pairs.sort_by_key(|pair| pair.person);
            }
        }
    }

    /// Adds the people of another batch.
    pub(crate) fn merge(&mut self, other: ScorePairs) {
        for (from, to) in self.scope_index.directions() {
            let (before, direction) =
                (self.people[from].len(), self.scope_index.direction(from, to));
            let theirs = other.by_direction[direction].iter();
            self.by_direction[direction]
                .extend(theirs.map(|pair| ScorePair { person: before + pair.person, ..*pair }));
        }
        for (mine, mut theirs) in self.people.iter_mut().zip(other.people) {
            mine.append(&mut theirs);
        }
    }

    /// The second pass over these pairs, the same that [`CounterfactualCounts::second_pass`]
    /// begins.
    pub(crate) fn second_pass(&self, counts: &CounterfactualCounts) -> ShiftPass {
        let mut second = counts.second_pass();
        for (from, to) in self.scope_index.directions() {
            for (person, pair) in self.pairs_of(from, to) {
                second.add_pair((from, to), (pair.score, pair.score_cf), person.weight);
            }
        }
        second
    }

    /// The people of a group.
    pub(crate) fn people(&self, group: usize) -> &[WeightedPerson] {
        &self.people[group]
    }

    /// The pairs of a direction, each with the person.
    pub(crate) fn pairs_of(
        &self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (&WeightedPerson, &ScorePair)> {
        self.by_direction[self.scope_index.direction(from, to)]
            .iter()
            .map(move |pair| (&self.people[from][pair.person], pair))
    }

    /// Calls `work` with what every pair of some people of a group adds to a direction, and the
    /// position of the person.
    pub(crate) fn terms(
        &self,
        second: &ShiftPass,
        (from, to): (usize, usize),
        people: Range<usize>,
        mut work: impl FnMut(usize, &PairTerms),
    ) {
        let mut balances = [ScoreBalance::new(0.0, 0.0); MAX_SCOPES_PER_DIRECTION];
        balances
            .iter_mut()
            .zip(self.scope_index.scopes_of(from, to))
            .for_each(|(balance, place)| *balance = second.at(place).balance());
        let pairs = &self.by_direction[self.scope_index.direction(from, to)];
        let [first, last] =
            [people.start, people.end].map(|end| pairs.partition_point(|pair| pair.person < end));
        for &ScorePair { person, score, score_cf } in &pairs[first..last] {
            let mut series =
                balances.map(|b| if b.exists() { b.series(score, score_cf) } else { [0.0; ORDER] });
            let mut linear = linear_terms(score, score_cf);
            let weight = self.people[from][person].weight as f64;
            if self.is_weighted {
                linear.iter_mut().chain(series.as_flattened_mut()).for_each(|term| *term *= weight);
                linear[0] = 1.0;
            }
            work(
                person,
                &PairTerms {
                    linear,
                    series,
                    bins: (score_bin(score), score_bin(score_cf)),
                    weight,
                },
            );
        }
    }
}

/// Sums over the pairs of a block in one direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftBlock {
    /// Pairs, counted without weights.
    pairs: u64,
    /// What they weigh, and those with s > 0 and c = 0.
    n: u64,
    infinite: u64,
    /// s, c, |c - s|, (c - s)^2, s ln(s/c).
    sums: [FixedSum; PLAIN_SUMS],
    /// The coefficients of the divergence in the direction itself.
    pub(crate) series: [FixedSum; ORDER],
    pub(super) before: BlockBins,
    pub(super) after: BlockBins,
}

/// The sums of blocks of people, by direction; mergeable.
///
/// The divergence is expanded about a balance that was known before the first pair. Where that is
/// the balance of these very people, its value is the sum of terms; where it was estimated from
/// some of them, the value is the series at the step between the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftBlocks {
    is_weighted: bool,
    scope_index: ScopeIndex,
    /// By scope; none where no divergence is asked for.
    balances: Vec<ScoreBalance>,
    block_seed: u64,
    n_blocks: usize,
    /// By group and number of the block: the directions from that group, together, as people
    /// fill them together.
    blocks: Vec<Option<Box<[ShiftBlock]>>>,
    /// The coefficients of the divergence in the scopes of several directions: by scope and number
    /// of the block.
    combined: Vec<[FixedSum; ORDER]>,
}

impl ShiftBlocks {
    /// Nobody yet; groups, label and sums of scores are those of the first pass.
    pub(crate) fn new(counts: &CounterfactualCounts, seed: Seed) -> Self {
        let balances = counts.second_pass().balances();
        ShiftBlocks::with_balances(counts, balances, (SHIFT_BLOCKS, seed))
    }

    /// Nobody yet, in so many blocks that the seed cuts; groups and label are those of the counts,
    /// balances by scope, or none where no divergence is asked for.
    pub(crate) fn with_balances(
        counts: &CounterfactualCounts,
        balances: Vec<ScoreBalance>,
        (n_blocks, seed): (usize, Seed),
    ) -> Self {
        let places = counts.scope_index();
        let wider = if balances.is_empty() { 0 } else { places.combined().len() };
        ShiftBlocks {
            is_weighted: counts.is_weighted(),
            scope_index: places,
            balances,
            block_seed: named_seed(seed.0, "bootstrap/shift/cut"),
            n_blocks,
            blocks: vec![None; places.groups * n_blocks],
            combined: vec![[FixedSum::ZERO; ORDER]; wider * n_blocks],
        }
    }

    /// The blocks of people who are kept one by one; `counts` are those of the same people.
    pub(crate) fn of_pairs(pairs: &ScorePairs, counts: &CounterfactualCounts, seed: Seed) -> Self {
        let mut blocks = ShiftBlocks::new(counts, seed);
        let (mut chunk, mut terms, arch) = (PairChunk::new(), ChunkTerms::new(), Arch::new());
        let mut order: Vec<(u32, usize)> = Vec::new();
        for (from, to) in pairs.scope_index.directions() {
            let people = &pairs.people[from];
            let of_direction = &pairs.by_direction[pairs.scope_index.direction(from, to)];
            // Pairs of a block together.
            let block = |pair: &ScorePair| blocks.block_of(people[pair.person].key) as u32;
            order.clear();
            order.extend(of_direction.iter().map(block).zip(0..));
            order.sort_unstable();
            for (n, &(block, position)) in (1..).zip(&order) {
                let ScorePair { person, score, score_cf } = of_direction[position];
                // The counts know the cells.
                let is_full = chunk.push(block, (score, score_cf), 0, people[person].weight);
                if is_full || n == order.len() {
                    terms.compute_plain(arch, &chunk);
                    blocks.add_chunk((from, to), &chunk, &mut terms, arch);
                    chunk.clear();
                }
            }
        }
        blocks
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's
    /// own and decides the block.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let (number, from, places) = (self.block_of(key) as usize, person.group, self.scope_index);
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = scored_pair(person, counterfactual) {
                let block = block_mut(&mut self.blocks, from * self.n_blocks + number, places);
                let block = &mut block[counterfactual.to];
                block.add((score, score_cf), person.weight);
                for place in places.scopes_of(from, counterfactual.to) {
                    let sums = match place.checked_sub(places.combined().start) {
                        Some(wider) => &mut self.combined[wider * self.n_blocks + number],
                        None => &mut block.series,
                    };
                    let balance = self.balances[place];
                    if balance.exists() {
                        add_series(sums, balance.series(score, score_cf), person.weight);
                    }
                }
            }
        }
    }

    /// Adds the pairs of a chunk, in which blocks follow one another, to a direction; the terms of
    /// the chunk that do not depend on a balance are computed.
    pub(crate) fn add_chunk(
        &mut self,
        (from, to): (usize, usize),
        chunk: &PairChunk,
        terms: &mut ChunkTerms,
        arch: Arch,
    ) {
        let places = self.scope_index;
        let weights = self.is_weighted.then_some(&chunk.weight);
        for (number, pairs) in chunk.runs() {
            let place = from * self.n_blocks + number as usize;
            block_mut(&mut self.blocks, place, places)[to].add_run(chunk, terms, pairs, weights);
        }
        if self.balances.is_empty() {
            return;
        }
        for place in places.scopes_of(from, to) {
            let balance = self.balances[place];
            if !balance.exists() {
                continue;
            }
            terms.compute_series(arch, chunk, &balance);
            for (number, pairs) in chunk.runs() {
                let number = number as usize;
                let sums = match place.checked_sub(places.combined().start) {
                    Some(wider) => &mut self.combined[wider * self.n_blocks + number],
                    None => {
                        let place = from * self.n_blocks + number;
                        &mut block_mut(&mut self.blocks, place, places)[to].series
                    }
                };
                let more = terms.series_sums(pairs, weights);
                sums.iter_mut().zip(more).for_each(|(sum, more)| sum.merge(more));
            }
        }
    }

    /// The block of a person.
    #[inline]
    pub(crate) fn block_of(&self, key: u64) -> u64 {
        match self.n_blocks {
            1 => 0,
            n => ((h(self.block_seed, key, 0) >> 32) * n as u64) >> 32,
        }
    }

    /// Blocks of a group.
    pub(crate) fn n_blocks(&self) -> usize {
        self.n_blocks
    }

    /// Adds the people of another batch of the same pass.
    pub(crate) fn merge(&mut self, other: ShiftBlocks) {
        merge_present(&mut self.blocks, other.blocks, |mine, theirs| {
            mine.iter_mut().zip(&theirs).for_each(|(mine, theirs)| mine.merge(theirs));
        });
        self.combined
            .as_flattened_mut()
            .iter_mut()
            .zip(other.combined.as_flattened())
            .for_each(|(mine, theirs)| mine.merge(*theirs));
    }

    /// Adds the sums of scores to the counts of the same people.
    pub(crate) fn add_to(&self, counts: &mut CounterfactualCounts) {
        for (from, to) in self.scope_index.directions() {
            let (people, weighed) = counts.shift_sums_mut(self.scope_index.direction(from, to));
            let sums = weighed.unwrap_or(people);
            self.blocks_of(from, to).for_each(|(_, block)| block.add_to(sums));
        }
    }

    /// The second pass over the same people, which the blocks hold; none where a balance was
    /// estimated so far from that of all people that the series does not represent the value, or
    /// was not estimated at all.
    pub(crate) fn second_pass(&self, counts: &CounterfactualCounts) -> Option<ShiftPass> {
        let places = self.scope_index;
        let mut second = ShiftPass::with_balances(places, &self.balances);
        let mut pairs = vec![0; places.len()];
        let mut series = vec![[FixedSum::ZERO; ORDER]; places.len()];
        let mut add = |place: usize, n: u64, more: &[FixedSum; ORDER]| {
            pairs[place] += n;
            series[place].iter_mut().zip(more).for_each(|(sum, more)| sum.merge(*more));
        };
        for (from, to) in places.directions() {
            for (_, block) in self.blocks_of(from, to) {
                for place in places.scopes_of(from, to) {
                    let own = place == places.direction(from, to);
                    let none = [FixedSum::ZERO; ORDER];
                    add(place, block.pairs, if own { &block.series } else { &none });
                }
            }
        }
        for place in places.combined() {
            self.combined(place).iter().for_each(|series| add(place, 0, series));
        }
        for (place, sums) in counts.shifts_by_scope().iter().enumerate() {
            let (score, score_cf) = sums.scores();
            let (balance, exact) = (self.balances[place], ScoreBalance::new(score, score_cf));
            let terms = match () {
                () if balance == exact || !exact.exists() => series[place][0],
                () if !balance.exists() => return None,
                () => {
                    let step = balance.step(score, score_cf);
                    if step.is_nan() || step.abs() > EXACT_STEP {
                        return None;
                    }
                    let coefficients = series[place].iter().map(|sum| sum.to_f64());
                    FixedSum::from_f64(evaluate_series(coefficients, step))
                }
            };
            second.add_sum(place, pairs[place], terms);
        }
        Some(second)
    }

    /// The blocks of a direction in which somebody is, with their numbers.
    pub(crate) fn blocks_of(
        &self,
        from: usize,
        to: usize,
    ) -> impl Iterator<Item = (usize, &ShiftBlock)> {
        let blocks = &self.blocks[from * self.n_blocks..(from + 1) * self.n_blocks];
        let blocks = blocks.iter().enumerate();
        blocks
            .filter_map(move |(number, blocks)| Some((number, &blocks.as_ref()?[to])))
            .filter(|(_, block)| block.pairs > 0)
    }

    /// The coefficients of a scope of several directions, block by block.
    pub(crate) fn combined(&self, place: usize) -> &[[FixedSum; ORDER]] {
        let first = (place - self.scope_index.combined().start) * self.n_blocks;
        &self.combined[first..first + self.n_blocks]
    }

    /// Whether people have weights.
    pub(crate) fn is_weighted(&self) -> bool {
        self.is_weighted
    }

    /// The terms of a block.
    pub(crate) fn linear(&self, block: &ShiftBlock) -> [f64; LINEAR] {
        let [score, score_cf, absolute, squared, divergence] = block.sums.map(FixedSum::to_f64);
        let pairs = if self.is_weighted { block.pairs as f64 } else { 0.0 };
        [
            pairs,
            block.n as f64,
            block.infinite as f64,
            score,
            score_cf,
            absolute,
            squared,
            divergence,
        ]
    }
}

/// The blocks of a group with one number, of the directions from it.
fn block_mut(
    blocks: &mut [Option<Box<[ShiftBlock]>>],
    place: usize,
    places: ScopeIndex,
) -> &mut [ShiftBlock] {
    blocks[place].get_or_insert_with(|| vec![ShiftBlock::default(); places.groups].into())
}

impl ShiftBlock {
    /// Adds a pair, but for its coefficients.
    fn add(&mut self, (score, score_cf): (f64, f64), weight: u64) {
        let [_, n, infinite, terms @ ..] = linear_terms(score, score_cf);
        self.pairs += 1;
        self.n += n as u64 * weight;
        self.infinite += infinite as u64 * weight;
        let mut k = 0;
        while k < terms.len() {
            self.sums[k].add_times(terms[k], weight);
            k += 1;
        }
        self.before.add(score_bin(score), weight);
        self.after.add(score_bin(score_cf), weight);
    }

    /// Adds some pairs of a chunk, but for their coefficients; each weighs 1 where `weights` are
    /// none.
    pub(crate) fn add_run(
        &mut self,
        chunk: &PairChunk,
        terms: &ChunkTerms,
        pairs: Range<usize>,
        weights: Option<&[u64; CHUNK]>,
    ) {
        self.pairs += pairs.len() as u64;
        let more = terms.plain_sums(pairs.clone(), weights);
        self.sums.iter_mut().zip(more).for_each(|(sum, more)| sum.merge(more));
        let [before, after, _] = terms.parts(pairs.end);
        for i in pairs {
            let (score, score_cf) = (chunk.score[i], chunk.score_cf[i]);
            let weight = weights.map_or(1, |weights| weights[i]);
            self.n += weight;
            self.infinite += if score > 0.0 && score_cf == 0.0 { weight } else { 0 };
            self.before.add(usize::from(before[i]) / PARTS, weight);
            self.after.add(usize::from(after[i]) / PARTS, weight);
        }
    }

    /// Adds the block to the sums of its direction.
    pub(crate) fn add_to(&self, sums: &mut ShiftSums) {
        let [score, score_cf, absolute, _, divergence] = self.sums;
        sums.add_scores(
            (self.pairs, self.infinite),
            [score, score_cf, absolute, divergence],
            (&self.before.sums(), &self.after.sums()),
        );
    }

    fn merge(&mut self, other: &ShiftBlock) {
        self.pairs += other.pairs;
        self.n += other.n;
        self.infinite += other.infinite;
        let mine = self.sums.iter_mut().chain(&mut self.series);
        mine.zip(other.sums.iter().chain(&other.series))
            .for_each(|(mine, theirs)| mine.merge(*theirs));
        self.before.merge(&other.before);
        self.after.merge(&other.after);
    }
}

fn add_series(sums: &mut [FixedSum; ORDER], series: [f64; ORDER], weight: u64) {
    let mut k = 0;
    while k < ORDER {
        sums[k].add_times(series[k], weight);
        k += 1;
    }
}

/// Sums that are weighted alike in every scope: pairs counted without weights (0 where nobody has a
/// weight: it is the next one), what pairs weigh, what those with s > 0 and c = 0 weigh, and the
/// weighted s, c, |c - s|, (c - s)^2, s ln(s/c).
pub(crate) const LINEAR: usize = 8;

/// The terms of a pair of weight 1.
fn linear_terms(score: f64, score_cf: f64) -> [f64; LINEAR] {
    let change = score_cf - score;
    let infinite = f64::from(u8::from(score > 0.0 && score_cf == 0.0));
    [0.0, 1.0, infinite, score, score_cf, change.abs(), change * change, kl_term(score, score_cf)]
}

/// Blocks of people beyond.
pub(crate) const SHIFT_BLOCKS: usize = 200;

/// What is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ShiftUnits<'a> {
    People(&'a ScorePairs),
    Blocks(&'a ShiftBlocks),
}

impl ShiftUnits<'_> {
    /// The procedure of their intervals, which the table names; `centred` where percentiles are
    /// moved so that their mean is the value.
    pub(crate) fn method(self, centred: bool) -> IntervalProcedure {
        match self {
            ShiftUnits::People(_) => IntervalProcedure::Poisson { centred },
            ShiftUnits::Blocks(_) => IntervalProcedure::Blocks { of: SHIFT_BLOCKS as u32, centred },
        }
    }

    /// How many keys, or blocks, have a pair in some directions.
    pub(crate) fn n_drawn(self, directions: impl Iterator<Item = (usize, usize)>) -> u64 {
        let keys = directions.flat_map(|(from, to)| -> Vec<u64> {
            match self {
                ShiftUnits::People(pairs) => {
                    pairs.pairs_of(from, to).map(|(person, _)| person.key).collect()
                }
                ShiftUnits::Blocks(blocks) => {
                    blocks.blocks_of(from, to).map(|(number, _)| number as u64).collect()
                }
            }
        });
        let mut keys: Vec<u64> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        keys.len() as u64
    }
}
