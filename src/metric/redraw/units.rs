//! What is drawn: pairs of scores with the person they belong to, or blocks of people with their sums.

use super::super::counts::{Counterfactual, CounterfactualCounts, Person, pair};
use super::super::divergence::{Balance, ORDER, ShiftPass};
use super::super::scope::{MOST_PLACES, Places};
use super::super::shift::{SCORE_BINS, kl_term, score_bin};
use super::{BLOCKS, Drawn};
use crate::num::fixed::Fixed;
use crate::num::seed::{h, named};
use crate::param::Seed;

/// The pairs of scores of people, by direction; mergeable.
#[derive(Debug, Clone)]
pub struct Pairs {
    has_label: bool,
    weighed: bool,
    places: Places,
    by_direction: Vec<Vec<Pair>>,
}

/// A pair of scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub(super) key: u64,
    pub(super) score: f64,
    pub(super) score_cf: f64,
    /// Whole units that the person weighs.
    pub(super) weight: u64,
}

impl Pairs {
    /// No pair yet; groups and label are those of the first pass.
    pub fn new(counts: &CounterfactualCounts) -> Self {
        let places = counts.places();
        Pairs {
            has_label: counts.has_label(),
            weighed: counts.is_weighed(),
            places,
            by_direction: vec![Vec::new(); places.groups * places.groups],
        }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's own: all pairs of a key weigh alike.
    pub fn add(&mut self, key: u64, person: &Person, counterfactuals: &[Counterfactual]) {
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = pair(person, counterfactual, self.has_label) {
                self.by_direction[self.places.direction(person.group, counterfactual.to)].push(Pair {
                    key,
                    score,
                    score_cf,
                    weight: person.weight,
                });
            }
        }
    }

    /// Adds the people of another batch.
    pub fn merge(&mut self, other: Pairs) {
        for (mine, mut theirs) in self.by_direction.iter_mut().zip(other.by_direction) {
            mine.append(&mut theirs);
        }
    }

    /// The second pass over these pairs, the same that [`CounterfactualCounts::second_pass`] begins.
    pub fn second_pass(&self, counts: &CounterfactualCounts) -> ShiftPass {
        let mut second = counts.second_pass();
        for (from, to) in self.places.directions() {
            for pair in self.of(from, to) {
                second.add_pair((from, to), (pair.score, pair.score_cf), pair.weight);
            }
        }
        second
    }

    pub(super) fn of(&self, from: usize, to: usize) -> &[Pair] {
        &self.by_direction[self.places.direction(from, to)]
    }
}

/// Sums over the pairs of a block in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    /// Pairs, whatever they weigh.
    pairs: u64,
    /// What they weigh, and those with s > 0 and c = 0.
    n: u64,
    infinite: u64,
    /// s, c, |c - s|, (c - s)^2, s ln(s/c).
    sums: [Fixed; 5],
    before: [u64; SCORE_BINS],
    after: [u64; SCORE_BINS],
    /// The coefficients of the divergence in each scope that holds the direction.
    series: [[Fixed; ORDER]; MOST_PLACES],
}

/// The sums of blocks of people, by direction; mergeable.
#[derive(Debug, Clone)]
pub struct Blocks {
    has_label: bool,
    weighed: bool,
    places: Places,
    balances: Vec<Balance>,
    cut: u64,
    blocks: Vec<Option<Box<Block>>>,
}

impl Blocks {
    /// Nobody yet; groups, label and sums of scores are those of the first pass.
    pub fn new(counts: &CounterfactualCounts, seed: Seed) -> Self {
        let (places, second) = (counts.places(), counts.second_pass());
        Blocks {
            has_label: counts.has_label(),
            weighed: counts.is_weighed(),
            places,
            balances: (0..places.len()).map(|place| second.at(place).balance()).collect(),
            cut: named(seed.0, "bootstrap/shift/cut"),
            blocks: vec![None; places.groups * places.groups * BLOCKS],
        }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's own and decides the block.
    pub fn add(&mut self, key: u64, person: &Person, counterfactuals: &[Counterfactual]) {
        let number = self.block_of(key);
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = pair(person, counterfactual, self.has_label) {
                let (from, to) = (person.group, counterfactual.to);
                let at = self.places.direction(from, to) * BLOCKS + number as usize;
                let balances = self.places.holding(from, to).map(|place| self.balances[place]);
                self.blocks[at].get_or_insert_with(Box::default).add((score, score_cf), person.weight, balances);
            }
        }
    }

    /// The block of a person.
    pub(super) fn block_of(&self, key: u64) -> u64 {
        ((h(self.cut, key, 0) >> 32) * BLOCKS as u64) >> 32
    }

    /// Adds the people of another batch of the same pass.
    pub fn merge(&mut self, other: &Blocks) {
        for (mine, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            if let Some(theirs) = theirs {
                mine.get_or_insert_with(Box::default).merge(theirs);
            }
        }
    }

    /// The second pass over the same people, which the blocks hold.
    pub fn second_pass(&self, counts: &CounterfactualCounts) -> ShiftPass {
        let mut second = counts.second_pass();
        for (from, to) in self.places.directions() {
            for (_, block) in self.of(from, to) {
                for (place, series) in self.places.holding(from, to).zip(block.series) {
                    second.add_sum(place, block.pairs, series[0]);
                }
            }
        }
        second
    }

    fn of(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, &Block)> {
        let first = self.places.direction(from, to) * BLOCKS;
        self.blocks[first..first + BLOCKS].iter().enumerate().filter_map(|(number, block)| Some((number, block.as_deref()?)))
    }
}

impl Default for Block {
    fn default() -> Self {
        Block {
            pairs: 0,
            n: 0,
            infinite: 0,
            sums: [Fixed::ZERO; 5],
            before: [0; SCORE_BINS],
            after: [0; SCORE_BINS],
            series: [[Fixed::ZERO; ORDER]; MOST_PLACES],
        }
    }
}

impl Block {
    fn add(&mut self, (score, score_cf): (f64, f64), weight: u64, balances: impl Iterator<Item = Balance>) {
        let [_, n, infinite, terms @ ..] = linear(score, score_cf);
        self.pairs += 1;
        self.n += n as u64 * weight;
        self.infinite += infinite as u64 * weight;
        let mut k = 0;
        while k < terms.len() {
            self.sums[k].add_times(terms[k], weight);
            k += 1;
        }
        self.before[score_bin(score)] += weight;
        self.after[score_bin(score_cf)] += weight;
        for (sums, balance) in self.series.iter_mut().zip(balances) {
            if balance.exists() {
                let series = balance.series(score, score_cf);
                let mut k = 0;
                while k < ORDER {
                    sums[k].add_times(series[k], weight);
                    k += 1;
                }
            }
        }
    }

    fn merge(&mut self, other: &Block) {
        self.pairs += other.pairs;
        self.n += other.n;
        self.infinite += other.infinite;
        let mine = self.sums.iter_mut().chain(self.series.as_flattened_mut());
        mine.zip(other.sums.iter().chain(other.series.as_flattened())).for_each(|(mine, theirs)| mine.merge(*theirs));
        let mine = self.before.iter_mut().chain(&mut self.after);
        mine.zip(other.before.iter().chain(&other.after)).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// Sums that are weighted alike in every scope: pairs whatever they weigh (0 where nobody has a weight: it is the next one), what pairs
/// weigh, what those with s > 0 and c = 0 weigh, and the weighted s, c, |c - s|, (c - s)^2, s ln(s/c).
pub(super) const LINEAR: usize = 8;

/// The terms of a pair of weight 1.
fn linear(score: f64, score_cf: f64) -> [f64; LINEAR] {
    let change = score_cf - score;
    let infinite = f64::from(u8::from(score > 0.0 && score_cf == 0.0));
    [0.0, 1.0, infinite, score, score_cf, change.abs(), change * change, kl_term(score, score_cf)]
}

/// What has one weight in a replicate, in one direction: a pair of a person, or a block.
#[derive(Debug)]
pub(super) struct Unit<'a> {
    /// What the weight follows from.
    pub(super) key: u64,
    pub(super) linear: [f64; LINEAR],
    /// In each scope that holds the direction; only its own where the expansion is not wanted.
    pub(super) series: [[f64; ORDER]; MOST_PLACES],
    pub(super) bins: Bins<'a>,
}

/// What a unit adds to the histograms.
#[derive(Debug)]
pub(super) enum Bins<'a> {
    /// One score in each, and what it weighs.
    One(usize, usize, f64),
    /// Weights before and after.
    Many(&'a [u64; SCORE_BINS], &'a [u64; SCORE_BINS]),
}

impl Drawn<'_> {
    /// Whether people have weights.
    pub(super) fn is_weighed(self) -> bool {
        match self {
            Drawn::People(pairs) => pairs.weighed,
            Drawn::Blocks(blocks) => blocks.weighed,
        }
    }

    /// Calls `work` with every unit of a direction.
    pub(super) fn units(self, places: Places, second: &ShiftPass, (from, to): (usize, usize), mut work: impl FnMut(&Unit<'_>)) {
        match self {
            Drawn::People(pairs) => {
                let mut balances = [Balance::of(0.0, 0.0); MOST_PLACES];
                balances.iter_mut().zip(places.holding(from, to)).for_each(|(balance, place)| *balance = second.at(place).balance());
                for &Pair { key, score, score_cf, weight } in pairs.of(from, to) {
                    let mut series = balances.map(|b| if b.exists() { b.series(score, score_cf) } else { [0.0; ORDER] });
                    let mut linear = linear(score, score_cf);
                    let times = weight as f64;
                    if pairs.weighed {
                        linear.iter_mut().chain(series.as_flattened_mut()).for_each(|term| *term *= times);
                        linear[0] = 1.0;
                    }
                    work(&Unit { key, linear, series, bins: Bins::One(score_bin(score), score_bin(score_cf), times) });
                }
            }
            Drawn::Blocks(blocks) => {
                for (number, block) in blocks.of(from, to) {
                    let sums = block.sums.map(Fixed::to_f64);
                    let pairs = if blocks.weighed { block.pairs as f64 } else { 0.0 };
                    let mut linear = [pairs, block.n as f64, block.infinite as f64, 0.0, 0.0, 0.0, 0.0, 0.0];
                    linear[3..].copy_from_slice(&sums);
                    let series = block.series.map(|series| series.map(Fixed::to_f64));
                    work(&Unit { key: number as u64, linear, series, bins: Bins::Many(&block.before, &block.after) });
                }
            }
        }
    }
}
