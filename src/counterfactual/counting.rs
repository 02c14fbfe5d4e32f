//! Counts of reference rows on one thread, in dense arrays; merged into [`ReferenceCounts`].
//!
//! Whole numbers in a range that is not too wide are counted in an array, others are gathered and
//! sorted. Combinations of levels are counted by their number, with sums of numbers if these are
//! needed; levels, joint counts and moments are computed from them, so a row costs one look-up
//! regardless of the number of pairs of variables. The merged counts depend only on the rows, not
//! on how these are divided.

use crate::counterfactual::SampleBatch;
use crate::counterfactual::combinations::CombinationIndex;
use crate::counterfactual::conditional::{
    ReferenceCounts, SMALL_KEYS, StratumCounts, StratumKey, small_key,
};
use crate::counterfactual::moments::{MomentFrame, MomentSums, NumberParts, ReferenceMoments};
use crate::counterfactual::variable::StrategyVariable;
use crate::exec::accumulator::Accumulator;
use crate::num::additive::Additive;
use crate::num::ecdf::ValueTally;
use crate::num::hash::FastMap;

/// Largest range of whole numbers that are counted in an array.
const MAX_RANGE: usize = 1 << 18;

/// Cells that the arrays of a thread have together: 32 MB.
const MAX_CELLS: usize = 1 << 22;

/// Numbers that wait for being sorted on a thread, together: 8 MB.
const MAX_WAITING: usize = 1 << 20;

/// Least and largest number of values that are sorted at a time.
const SORTED_AT_ONCE: [usize; 2] = [4096, 65_536];

/// Numbers that are kept for combinations before these are added up: 16 MB.
const MAX_HELD: usize = 1 << 20;

/// Counts of the values of one number in one stratum.
#[derive(Default)]
struct ValueCounter {
    /// The number of the first cell.
    first: i64,
    cells: Vec<u64>,
    waiting: Vec<f64>,
    tally: ValueTally,
}

impl ValueCounter {
    /// Counts a number that is not missing.
    #[inline]
    fn add(&mut self, x: f64, free: &mut usize, at_once: usize) {
        let whole = x as i64;
        match self.cells.get_mut(whole.wrapping_sub(self.first) as usize) {
            Some(cell) if whole as f64 == x => *cell += 1,
            _ => self.add_outside(x, free, at_once),
        }
    }

    fn add_outside(&mut self, x: f64, free: &mut usize, at_once: usize) {
        let whole = x as i64;
        if whole as f64 == x && whole.unsigned_abs() < 1 << 48 && self.reach(whole, free) {
            self.cells[(whole - self.first) as usize] += 1;
            return;
        }
        self.waiting.push(x);
        if self.waiting.len() >= at_once {
            self.sort();
        }
    }

    /// Enlarges the array to hold a whole number; false where it would be too large.
    fn reach(&mut self, whole: i64, free: &mut usize) -> bool {
        let (first, end) = match self.cells.len() {
            0 => (whole, whole + 1),
            n => (self.first.min(whole), (self.first + n as i64).max(whole + 1)),
        };
        let needed = (end - first) as usize;
        // Reserves space on the side that grows, so that rising values do not copy the array each
        // time.
        let length = needed.next_power_of_two().clamp(64, MAX_RANGE);
        if needed > length || length - self.cells.len() > *free {
            return false;
        }
        let first =
            if first < self.first && !self.cells.is_empty() { end - length as i64 } else { first };
        let mut cells = vec![0; length];
        if !self.cells.is_empty() {
            let shift = (self.first - first) as usize;
            cells[shift..shift + self.cells.len()].copy_from_slice(&self.cells);
        }
        *free -= length - self.cells.len();
        (self.first, self.cells) = (first, cells);
        true
    }

    fn sort(&mut self) {
        self.tally.merge(&ValueTally::from_values(self.waiting.drain(..)));
    }

    fn finish(mut self) -> ValueTally {
        self.sort();
        self.tally.merge(&ValueTally::from_cells(self.first as f64, &self.cells));
        self.tally
    }
}

/// The counts of one stratum.
struct StratumCounter {
    key: StratumKey,
    counts: StratumCounts,
    values: Vec<ValueCounter>,
}

/// Counts reference rows batch by batch.
pub(crate) struct ReferenceCounter<'a> {
    variables: &'a [StrategyVariable],
    frame: Option<&'a MomentFrame>,
    /// Positions of the variables without levels.
    numbers: Vec<usize>,
    strata: Vec<StratumCounter>,
    known: FastMap<StratumKey, u32>,
    /// The same for low groups and classes.
    places: Vec<Option<u32>>,
    /// The moments of each stratum, or one of all rows where that would be too much.
    moments: Vec<MomentSums>,
    /// Whether there is only one.
    joined: bool,
    /// Cells that may still be taken.
    free: usize,
    index: CombinationIndex,
    /// The stratum and the levels of each combination.
    combinations: Vec<(u32, Vec<u32>)>,
    /// The number of rows of each combination.
    rows: Vec<u64>,
    /// The sums of each number, for each combination.
    sums: Vec<NumberParts>,
    /// The counts of other threads.
    merged: CountedReference,
}

/// Counts of reference rows, with their moments if there is a frame.
pub(crate) type CountedReference = (ReferenceCounts, ReferenceMoments);

impl<'a> ReferenceCounter<'a> {
    /// Empty; with a frame the moments of the rows are also summed.
    pub(crate) fn new(variables: &'a [StrategyVariable], frame: Option<&'a MomentFrame>) -> Self {
        ReferenceCounter {
            variables,
            frame,
            numbers: (0..variables.len()).filter(|&v| variables[v].levels().is_none()).collect(),
            strata: Vec::new(),
            known: FastMap::default(),
            places: vec![None; SMALL_KEYS],
            moments: Vec::new(),
            joined: false,
            free: MAX_CELLS,
            index: CombinationIndex::new(variables),
            combinations: Vec::new(),
            rows: Vec::new(),
            sums: Vec::new(),
            merged: CountedReference::default(),
        }
    }

    /// Counts a batch of rows.
    pub(crate) fn add(&mut self, samples: &SampleBatch<'_>) {
        let rows = samples.rows;
        let strata = self.strata_of(samples);
        for (&i, j) in self.numbers.iter().zip(0..) {
            let n_counters = self.strata.len() * self.numbers.len();
            let at_once =
                (MAX_WAITING / n_counters.max(1)).clamp(SORTED_AT_ONCE[0], SORTED_AT_ONCE[1]);
            let mut count = |stratum: u32, x: f64| {
                if !x.is_nan() {
                    let values = &mut self.strata[stratum as usize].values[j];
                    values.add(x, &mut self.free, at_once);
                }
            };
            let numbers = self.variables[i].numbers(rows);
            strata.iter().zip(&*numbers).for_each(|(&s, &x)| count(s, x));
        }
        let digits = self.index.digits(self.variables, rows);
        let mut new = Vec::new();
        let numbers = self.index.of_rows(|i| strata[i], &digits, rows.n, |i| new.push(i));
        for i in new {
            self.combinations.push((strata[i], self.index.levels(&digits, i)));
        }
        self.rows.resize(self.combinations.len(), 0);
        numbers.iter().for_each(|&number| self.rows[number as usize] += 1);
        if let Some(frame) = self.frame {
            let parts = self.combinations.len() * self.numbers.len();
            self.sums.resize(parts, NumberParts::default());
            let columns = frame.columns(self.variables, rows);
            for (i, &number) in numbers.iter().enumerate() {
                let first = number as usize * columns.len();
                let sums = &mut self.sums[first..first + columns.len()];
                sums.iter_mut().zip(&columns).for_each(|(sum, column)| sum.add(column[i]));
            }
            let one = vec![0; if self.joined { rows.n } else { 0 }];
            let sections = if self.joined { &one } else { &strata };
            frame.add_products(&columns, sections, &mut self.moments);
        }
        if self.combinations.len() * (1 + self.numbers.len()) > MAX_HELD {
            self.add_up();
        }
    }

    /// The position of each row's stratum.
    fn strata_of(&mut self, samples: &SampleBatch<'_>) -> Vec<u32> {
        let of_row = |i: usize| {
            let key = samples.stratum_key(i);
            let known = small_key(key).and_then(|place| self.places[place]);
            known.unwrap_or_else(|| self.stratum(key))
        };
        (0..samples.rows.n).map(of_row).collect()
    }

    /// The position of a stratum.
    fn stratum(&mut self, key: StratumKey) -> u32 {
        if let Some(&at) = self.known.get(&key) {
            return at;
        }
        let at = self.strata.len() as u32;
        self.known.insert(key, at);
        small_key(key).into_iter().for_each(|place| self.places[place] = Some(at));
        self.strata.push(StratumCounter {
            key,
            counts: StratumCounts::new(self.variables),
            values: self.numbers.iter().map(|_| ValueCounter::default()).collect(),
        });
        self.add_section();
        at
    }

    /// Makes room for the moments of one more stratum.
    fn add_section(&mut self) {
        let Some(frame) = self.frame else { return };
        if !self.joined && frame.fits(self.strata.len()) {
            self.moments.push(frame.empty());
        } else if !self.joined {
            let mut all = frame.empty();
            self.moments.drain(..).for_each(|sums| all.absorb(&sums));
            (self.moments, self.joined) = (vec![all], true);
        }
    }

    /// Adds the combinations up.
    fn add_up(&mut self) {
        let n_numbers = self.numbers.len();
        let combinations = self.combinations.drain(..).zip(self.rows.drain(..));
        for (c, ((position, levels), n)) in combinations.enumerate() {
            let stratum = &mut self.strata[position as usize];
            stratum.counts.rows += n;
            for (counts, &level) in stratum.counts.levels.iter_mut().zip(&levels) {
                if let Some(count) = counts.get_mut(level as usize) {
                    *count += n;
                }
            }
            // Rows without a group are used for single variables only.
            if stratum.key.0.is_some() {
                stratum.counts.joint.add(&levels, n);
            }
            if let Some(frame) = self.frame {
                let moments = &mut self.moments[if self.joined { 0 } else { position as usize }];
                let sums = &self.sums[c * n_numbers..(c + 1) * n_numbers];
                frame.add_combination(moments, &levels, n, sums);
            }
        }
        self.sums.clear();
        self.index.clear();
    }

    /// Merges the counts of other rows.
    pub(crate) fn merge(&mut self, other: ReferenceCounter<'_>) {
        let (counts, moments) = other.finish();
        self.merged.0.merge(counts);
        self.merged.1.merge(moments);
    }

    /// The counts.
    pub(crate) fn finish(mut self) -> CountedReference {
        self.add_up();
        let mut moments = ReferenceMoments::default();
        let keys = self.strata.iter().map(|stratum| stratum.key);
        let all = self.joined.then_some((None, None));
        for (key, sums) in all.into_iter().chain(keys).zip(self.moments) {
            moments.merge_section(key, sums);
        }
        if self.joined {
            moments.join();
        }
        let strata = self.strata.into_iter().map(|stratum| {
            let mut counts = stratum.counts;
            counts.values = stratum.values.into_iter().map(ValueCounter::finish).collect();
            (stratum.key, counts)
        });
        let (mut counts, mut of_all) = self.merged;
        counts.merge(ReferenceCounts(strata.collect()));
        of_all.merge(moments);
        (counts, of_all)
    }
}

/// The counts of a batch of reference rows.
pub(crate) fn counts_of(
    variables: &[StrategyVariable],
    samples: &SampleBatch<'_>,
) -> ReferenceCounts {
    let mut counter = ReferenceCounter::new(variables, None);
    counter.add(samples);
    counter.finish().0
}
