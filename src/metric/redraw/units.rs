//! What is drawn: pairs of scores with the person they belong to, or blocks of people with their sums.

use std::ops::Range;

use super::super::counts::{Counterfactual, CounterfactualCounts, Person, pair};
use super::super::divergence::{Balance, ORDER, ShiftPass};
use super::super::scope::{MOST_PLACES, Places};
use super::super::shift::{SCORE_BINS, kl_term, score_bin};
use super::BLOCKS;
use crate::num::fixed::Fixed;
use crate::num::seed::{h, named};
use crate::param::Seed;

/// The pairs of scores of people, by direction; mergeable.
#[derive(Debug, Clone)]
pub struct Pairs {
    pub(super) weighed: bool,
    places: Places,
    /// By group: everybody who has a pair.
    people: Vec<Vec<Drawn>>,
    /// By direction, ascending by person.
    by_direction: Vec<Vec<Pair>>,
}

/// A person, whose pairs weigh alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub(super) key: u64,
    /// Whole units that the person weighs.
    pub(super) weight: u64,
}

/// A pair of scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    /// Position among the people of the group.
    pub(super) person: usize,
    pub(super) score: f64,
    pub(super) score_cf: f64,
}

/// What a pair adds.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) linear: [f64; LINEAR],
    /// In each scope that holds the direction.
    pub(super) series: [[f64; ORDER]; MOST_PLACES],
    /// The bin of each score, and what it gets.
    pub(super) bins: (usize, usize),
    pub(super) weight: f64,
}

impl Pairs {
    /// No pair yet; groups and label are those of the first pass.
    pub fn new(counts: &CounterfactualCounts) -> Self {
        let places = counts.places();
        Pairs {
            weighed: counts.is_weighed(),
            places,
            people: vec![Vec::new(); places.groups],
            by_direction: vec![Vec::new(); places.groups * places.groups],
        }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's own: all pairs of a key weigh alike.
    pub fn add(&mut self, key: u64, person: &Person, counterfactuals: &[Counterfactual]) {
        let people = &mut self.people[person.group];
        let (number, mut has_pair) = (people.len(), false);
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = pair(person, counterfactual) {
                let pair = Pair { person: number, score, score_cf };
                self.by_direction[self.places.direction(person.group, counterfactual.to)].push(pair);
                has_pair = true;
            }
        }
        if has_pair {
            people.push(Drawn { key, weight: person.weight });
        }
    }

    /// Adds the people of another batch.
    pub fn merge(&mut self, other: Pairs) {
        for (from, to) in self.places.directions() {
            let (before, direction) = (self.people[from].len(), self.places.direction(from, to));
            let theirs = other.by_direction[direction].iter();
            self.by_direction[direction].extend(theirs.map(|pair| Pair { person: before + pair.person, ..*pair }));
        }
        for (mine, mut theirs) in self.people.iter_mut().zip(other.people) {
            mine.append(&mut theirs);
        }
    }

    /// The second pass over these pairs, the same that [`CounterfactualCounts::second_pass`] begins.
    pub fn second_pass(&self, counts: &CounterfactualCounts) -> ShiftPass {
        let mut second = counts.second_pass();
        for (from, to) in self.places.directions() {
            for (person, pair) in self.of(from, to) {
                second.add_pair((from, to), (pair.score, pair.score_cf), person.weight);
            }
        }
        second
    }

    /// The people of a group.
    pub(super) fn people(&self, group: usize) -> &[Drawn] {
        &self.people[group]
    }

    /// The pairs of a direction, each with the person.
    pub(super) fn of(&self, from: usize, to: usize) -> impl Iterator<Item = (&Drawn, &Pair)> {
        self.by_direction[self.places.direction(from, to)].iter().map(move |pair| (&self.people[from][pair.person], pair))
    }

    /// Calls `work` with what every pair of some people of a group adds to a direction, and the position of the person.
    pub(super) fn terms(&self, second: &ShiftPass, (from, to): (usize, usize), people: Range<usize>, mut work: impl FnMut(usize, &Terms)) {
        let mut balances = [Balance::of(0.0, 0.0); MOST_PLACES];
        balances.iter_mut().zip(self.places.holding(from, to)).for_each(|(balance, place)| *balance = second.at(place).balance());
        let pairs = &self.by_direction[self.places.direction(from, to)];
        let [first, last] = [people.start, people.end].map(|end| pairs.partition_point(|pair| pair.person < end));
        for &Pair { person, score, score_cf } in &pairs[first..last] {
            let mut series = balances.map(|b| if b.exists() { b.series(score, score_cf) } else { [0.0; ORDER] });
            let mut linear = linear(score, score_cf);
            let weight = self.people[from][person].weight as f64;
            if self.weighed {
                linear.iter_mut().chain(series.as_flattened_mut()).for_each(|term| *term *= weight);
                linear[0] = 1.0;
            }
            work(person, &Terms { linear, series, bins: (score_bin(score), score_bin(score_cf)), weight });
        }
    }
}

/// Sums over the pairs of a block in one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    /// Pairs, counted without weights.
    pairs: u64,
    /// What they weigh, and those with s > 0 and c = 0.
    n: u64,
    infinite: u64,
    /// s, c, |c - s|, (c - s)^2, s ln(s/c).
    sums: [Fixed; 5],
    /// The coefficients of the divergence in the direction itself.
    pub(super) series: [Fixed; ORDER],
    pub(super) before: [u64; SCORE_BINS],
    pub(super) after: [u64; SCORE_BINS],
}

/// The sums of blocks of people, by direction; mergeable.
#[derive(Debug, Clone)]
pub struct Blocks {
    weighed: bool,
    places: Places,
    balances: Vec<Balance>,
    cut: u64,
    /// By group and number of the block: the directions from that group, side by side, as people fill them together.
    blocks: Vec<Option<Box<[Block]>>>,
    /// The coefficients of the divergence in the scopes of several directions: by scope and number of the block.
    wider: Vec<[Fixed; ORDER]>,
}

impl Blocks {
    /// Nobody yet; groups, label and sums of scores are those of the first pass.
    pub fn new(counts: &CounterfactualCounts, seed: Seed) -> Self {
        let (places, second) = (counts.places(), counts.second_pass());
        Blocks {
            weighed: counts.is_weighed(),
            places,
            balances: (0..places.len()).map(|place| second.at(place).balance()).collect(),
            cut: named(seed.0, "bootstrap/shift/cut"),
            blocks: vec![None; places.groups * BLOCKS],
            wider: vec![[Fixed::ZERO; ORDER]; (places.len() - places.wider().start) * BLOCKS],
        }
    }

    /// Adds one person with all their counterfactuals, as in the first pass. `key` is the person's own and decides the block.
    pub fn add(&mut self, key: u64, person: &Person, counterfactuals: &[Counterfactual]) {
        let (number, from, places) = (self.block_of(key) as usize, person.group, self.places);
        let blocks = &mut self.blocks[from * BLOCKS + number];
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = pair(person, counterfactual) {
                let blocks = blocks.get_or_insert_with(|| vec![Block::default(); places.groups].into_boxed_slice());
                let block = &mut blocks[counterfactual.to];
                block.add((score, score_cf), person.weight);
                for place in places.holding(from, counterfactual.to) {
                    let sums = match place.checked_sub(places.wider().start) {
                        Some(wider) => &mut self.wider[wider * BLOCKS + number],
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

    /// The block of a person.
    pub(super) fn block_of(&self, key: u64) -> u64 {
        ((h(self.cut, key, 0) >> 32) * BLOCKS as u64) >> 32
    }

    /// Adds the people of another batch of the same pass.
    pub fn merge(&mut self, other: Blocks) {
        for (mine, theirs) in self.blocks.iter_mut().zip(other.blocks) {
            match (mine, theirs) {
                (_, None) => {}
                (Some(mine), Some(theirs)) => mine.iter_mut().zip(&theirs).for_each(|(mine, theirs)| mine.merge(theirs)),
                (mine @ None, theirs) => *mine = theirs,
            }
        }
        self.wider.as_flattened_mut().iter_mut().zip(other.wider.as_flattened()).for_each(|(mine, theirs)| mine.merge(*theirs));
    }

    /// The second pass over the same people, which the blocks hold.
    pub fn second_pass(&self, counts: &CounterfactualCounts) -> ShiftPass {
        let mut second = counts.second_pass();
        for (from, to) in self.places.directions() {
            for (_, block) in self.of(from, to) {
                for place in self.places.holding(from, to) {
                    let own = place == self.places.direction(from, to);
                    second.add_sum(place, block.pairs, if own { block.series[0] } else { Fixed::ZERO });
                }
            }
        }
        for place in self.places.wider() {
            self.wider(place).iter().for_each(|series| second.add_sum(place, 0, series[0]));
        }
        second
    }

    /// The blocks of a direction in which somebody is, with their numbers.
    pub(super) fn of(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, &Block)> {
        let blocks = self.blocks[from * BLOCKS..(from + 1) * BLOCKS].iter().enumerate();
        blocks.filter_map(move |(number, blocks)| Some((number, &blocks.as_ref()?[to]))).filter(|(_, block)| block.pairs > 0)
    }

    /// The coefficients of a scope of several directions, block by block.
    pub(super) fn wider(&self, place: usize) -> &[[Fixed; ORDER]] {
        let first = (place - self.places.wider().start) * BLOCKS;
        &self.wider[first..first + BLOCKS]
    }

    /// Whether people have weights.
    pub(super) fn is_weighed(&self) -> bool {
        self.weighed
    }

    /// The terms of a block.
    pub(super) fn linear(&self, block: &Block) -> [f64; LINEAR] {
        let [score, score_cf, absolute, squared, divergence] = block.sums.map(Fixed::to_f64);
        let pairs = if self.weighed { block.pairs as f64 } else { 0.0 };
        [pairs, block.n as f64, block.infinite as f64, score, score_cf, absolute, squared, divergence]
    }
}

impl Default for Block {
    fn default() -> Self {
        Block {
            pairs: 0,
            n: 0,
            infinite: 0,
            sums: [Fixed::ZERO; 5],
            series: [Fixed::ZERO; ORDER],
            before: [0; SCORE_BINS],
            after: [0; SCORE_BINS],
        }
    }
}

impl Block {
    /// Adds a pair, but for its coefficients.
    fn add(&mut self, (score, score_cf): (f64, f64), weight: u64) {
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
    }

    fn merge(&mut self, other: &Block) {
        self.pairs += other.pairs;
        self.n += other.n;
        self.infinite += other.infinite;
        let mine = self.sums.iter_mut().chain(&mut self.series);
        mine.zip(other.sums.iter().chain(&other.series)).for_each(|(mine, theirs)| mine.merge(*theirs));
        let mine = self.before.iter_mut().chain(&mut self.after);
        mine.zip(other.before.iter().chain(&other.after)).for_each(|(mine, theirs)| *mine += theirs);
    }
}

fn add_series(sums: &mut [Fixed; ORDER], series: [f64; ORDER], weight: u64) {
    let mut k = 0;
    while k < ORDER {
        sums[k].add_times(series[k], weight);
        k += 1;
    }
}

/// Sums that are weighted alike in every scope: pairs counted without weights (0 where nobody has a weight: it is the next one), what pairs
/// weigh, what those with s > 0 and c = 0 weigh, and the weighted s, c, |c - s|, (c - s)^2, s ln(s/c).
pub(super) const LINEAR: usize = 8;

/// The terms of a pair of weight 1.
fn linear(score: f64, score_cf: f64) -> [f64; LINEAR] {
    let change = score_cf - score;
    let infinite = f64::from(u8::from(score > 0.0 && score_cf == 0.0));
    [0.0, 1.0, infinite, score, score_cf, change.abs(), change * change, kl_term(score, score_cf)]
}
