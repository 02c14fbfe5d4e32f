//! Empirical distributions: mergeable counts of values, and the maps from value to rank and back.
//!
//! [`ValueTally`] is the accumulator. It is exact up to 65,536 distinct values; with more, values
//! that differ only in the lowest `shift` bits share a cell, where `shift` is the smallest number
//! that leaves at most 65,536 cells. Both the cells and `shift` depend only on the multiset of
//! values, so any partition and any order of merging give the same state.
//! [`Ecdf`] is the finished form that answers queries. For a tally that is not exact it holds
//! 16,384 quantiles at (i + 0.5) / 16,384, linear inside a cell; the first and the last are the
//! smallest and the largest value.
//!
//! Ranks are in rows: weak, the number of values up to x; midrank, half of those below x plus half
//! of those up to x.
//! Source: weak is the empirical distribution function itself; midrank is the mid-distribution
//! function of Parzen 2004 ("Quantile probability and statistical data modeling").
//! Cost: a tally sorts each batch; a query is a binary search, guided by 4,096 equal steps where
//! there are many values.

use std::cmp::Ordering;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of distinct values at which a tally is exact.
pub(crate) const EXACT_VALUES: usize = 65_536;

/// Number of quantiles that represent a tally that is not exact.
pub(crate) const QUANTILES: usize = 16_384;

/// How a value that occurs several times has a rank.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cdf {
    /// The middle of the jump: a tie gets the mean of its ranks.
    #[default]
    Midrank,
    /// The top of the jump: the share of values up to x, as equations 1 and 2 are printed.
    Weak,
}

/// Values that share a cell: the least, the largest, their number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct ValueCell(f64, f64, u64);

/// Counts of values, mergeable in any order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueTally {
    shift: u32,
    cells: Vec<ValueCell>,
}

/// The number of the cell of a value.
///
/// It is the value's bits as a whole number that increases with the value, without the lowest
/// `shift` bits.
fn cell_of(x: f64, shift: u32) -> u64 {
    ordered_bits(x).checked_shr(shift).unwrap_or(0)
}

/// The bits of a number, in the order of numbers; the two zeros are one.
pub(crate) fn ordered_bits(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The number of [`ordered_bits`].
pub(crate) fn number_of_bits(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 1 { ordered & !(1 << 63) } else { !ordered })
}

impl ValueTally {
    /// The counts of some values, in any order; NaN is left out, -0 counts as 0.
    pub fn from_values(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> =
            values.into_iter().filter(|x| !x.is_nan()).map(|x| x + 0.0).collect();
        if let Some(tally) = ValueTally::from_whole_values(&sorted) {
            return tally;
        }
        sorted.sort_unstable_by(f64::total_cmp);
        let mut tally = ValueTally::default();
        for x in sorted {
            tally.push(ValueCell(x, x, 1));
        }
        tally.coarsen(EXACT_VALUES);
        tally
    }

    /// As [`Self::from_values`], for whole numbers in a small range, without sorting; `None` for
    /// other values.
    fn from_whole_values(values: &[f64]) -> Option<Self> {
        let ends = |(least, largest): (f64, f64), &x: &f64| (least.min(x), largest.max(x));
        let (least, largest) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), ends);
        // Such numbers are exact in 64-bit floats, and an exact tally has room for all of them.
        if !(least.abs() < 1e15 && largest - least < EXACT_VALUES.min(4 * values.len()) as f64)
            || values.iter().any(|&x| x as i64 as f64 != x)
        {
            return None;
        }
        let mut counts = vec![0_u64; (largest - least) as usize + 1];
        values.iter().for_each(|x| counts[(x - least) as usize] += 1);
        Some(ValueTally::from_cells(least, &counts))
    }

    /// The counts of whole numbers from `first` on, below 2^53 in magnitude.
    pub fn from_cells(first: f64, counts: &[u64]) -> Self {
        let cell = |(step, &n): (usize, &u64)| {
            (n > 0).then_some(ValueCell(first + step as f64, first + step as f64, n))
        };
        let mut tally =
            ValueTally { shift: 0, cells: counts.iter().enumerate().filter_map(cell).collect() };
        tally.coarsen(EXACT_VALUES);
        tally
    }

    /// Merges another tally.
    pub fn merge(&mut self, other: &ValueTally) {
        self.merge_within(other, EXACT_VALUES);
    }

    fn merge_within(&mut self, other: &ValueTally, limit: usize) {
        let mut merged = ValueTally {
            shift: self.shift.max(other.shift),
            cells: Vec::with_capacity(self.cells.len() + other.cells.len()),
        };
        let (mut ours, mut theirs) = (self.cells.iter().peekable(), other.cells.iter().peekable());
        loop {
            let next = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) if a.0.total_cmp(&b.0) == Ordering::Greater => theirs.next(),
                (Some(_), _) => ours.next(),
                (None, _) => theirs.next(),
            };
            match next {
                Some(&cell) => merged.push(cell),
                None => break,
            }
        }
        merged.coarsen(limit);
        *self = merged;
    }

    /// Appends a cell that is not below the last one, or merges the two if they are the same cell.
    fn push(&mut self, cell: ValueCell) {
        match self.cells.last_mut() {
            Some(last) if cell_of(last.0, self.shift) == cell_of(cell.0, self.shift) => {
                *last = ValueCell(last.0, last.1.max(cell.1), last.2 + cell.2);
            }
            _ => self.cells.push(cell),
        }
    }

    fn coarsen(&mut self, limit: usize) {
        while self.cells.len() > limit.max(1) {
            let coarser =
                ValueTally { shift: self.shift + 1, cells: Vec::with_capacity(self.cells.len()) };
            let finer = std::mem::replace(self, coarser);
            finer.cells.into_iter().for_each(|cell| self.push(cell));
        }
    }

    /// Number of values.
    pub fn n(&self) -> u64 {
        self.cells.iter().map(|cell| cell.2).sum()
    }

    /// Whether each distinct value has its own count.
    pub fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// Whether every value is known to be a whole number.
    pub fn is_whole(&self) -> bool {
        self.is_exact() && self.cells.iter().all(|cell| cell.0.fract() == 0.0)
    }

    /// The least and the largest value; `None` without values.
    pub fn ends(&self) -> Option<(f64, f64)> {
        Some((self.cells.first()?.0, self.cells.last()?.1))
    }

    /// Mean and population standard deviation, both 0 without values.
    ///
    /// Accurate to the width of a cell where the tally is not exact.
    pub fn moments(&self) -> (f64, f64) {
        let n = self.n();
        let Some((least, largest)) = self.ends().filter(|ends| ends.0 < ends.1) else {
            return (self.ends().map_or(0.0, |ends| ends.0), 0.0);
        };
        // Sums of values divided by the largest magnitude, so that nothing overflows and small
        // units keep their precision.
        let size = least.abs().max(largest.abs());
        let middle = |cell: &ValueCell| 0.5 * (cell.0 / size) + 0.5 * (cell.1 / size);
        let mean =
            self.cells.iter().map(|cell| middle(cell) * cell.2 as f64).sum::<f64>() / n as f64;
        let square =
            |cell: &ValueCell| (middle(cell) - mean) * (middle(cell) - mean) * cell.2 as f64;
        let variance = self.cells.iter().map(square).sum::<f64>() / n as f64;
        (size * mean, size * variance.sqrt())
    }

    /// The finished distribution.
    pub fn ecdf(&self) -> Ecdf {
        self.ecdf_of(QUANTILES)
    }

    fn ecdf_of(&self, quantiles: usize) -> Ecdf {
        let n = self.n();
        let (by_value, by_rank) = (SearchGuide::default(), SearchGuide::default());
        let mut ecdf = Ecdf {
            values: Vec::new(),
            cumulative: Vec::new(),
            n_rows: n,
            is_exact: self.is_exact(),
            by_value,
            by_rank,
        };
        if self.is_exact() {
            self.cells.iter().for_each(|cell| ecdf.push(cell.0, cell.2));
            return ecdf.guided();
        }
        let Some((first, last)) = self.ends() else { return ecdf };
        let (mut cells, mut below) = (self.cells.iter().peekable(), 0);
        for i in 0..quantiles {
            let rank = (i as f64 + 0.5) / quantiles as f64 * n as f64;
            while let Some(cell) = cells.peek()
                && (below + cell.2) as f64 <= rank
                && below + cell.2 < n
            {
                below += cell.2;
                cells.next();
            }
            if let Some(&&ValueCell(least, largest, count)) = cells.peek() {
                let value = match i {
                    0 => first,
                    _ if i + 1 == quantiles => last,
                    _ => interpolate(
                        least,
                        largest,
                        ((rank - below as f64) / count as f64).clamp(0.0, 1.0),
                    ),
                };
                ecdf.push(value, 1);
            }
        }
        ecdf.guided()
    }
}

/// An index into an ascending list of numbers: equal steps, and where each step begins.
#[derive(Debug, Clone, Default, PartialEq)]
struct SearchGuide {
    first: f64,
    steps_per_unit: f64,
    starts: Vec<u32>,
}

impl SearchGuide {
    /// The guide of `n` ascending numbers; empty and unused for few.
    fn new(n: usize, key: impl Fn(usize) -> f64) -> Self {
        let n_steps = (n / 4).min(4096);
        if n_steps < 16 {
            return SearchGuide::default();
        }
        let mut guide = SearchGuide {
            first: key(0),
            steps_per_unit: n_steps as f64 / (key(n - 1) - key(0)),
            starts: Vec::new(),
        };
        let mut starts = vec![0; n_steps + 1];
        for j in 0..n {
            starts[guide.step(key(j)).min(n_steps - 1) + 1] =
                u32::try_from(j + 1).unwrap_or(u32::MAX);
        }
        (1..=n_steps).for_each(|step| starts[step] = starts[step].max(starts[step - 1]));
        guide.starts = starts;
        guide
    }

    /// The step of a number; it never decreases as the number rises.
    fn step(&self, x: f64) -> usize {
        ((x - self.first) * self.steps_per_unit) as usize
    }

    /// The number of the first `n` positions for which `is_before` is true, all of them before `x`.
    fn search(&self, n: usize, x: f64, is_before: impl Fn(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, n);
        if let Some(last) = self.starts.len().checked_sub(2) {
            // One step to either side, in case rounding put a number into the neighbouring step.
            let step = self.step(x).min(last);
            low = self.starts[step.saturating_sub(1)] as usize;
            high = self.starts[(step + 2).min(last + 1)] as usize;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// A finished distribution that is queried for ranks and values.
#[derive(Debug, Clone, PartialEq)]
pub struct Ecdf {
    values: Vec<f64>,
    /// The number of values up to each value.
    cumulative: Vec<u64>,
    n_rows: u64,
    is_exact: bool,
    by_value: SearchGuide,
    by_rank: SearchGuide,
}

impl Ecdf {
    fn guided(mut self) -> Self {
        self.by_value = SearchGuide::new(self.values.len(), |j| self.values[j]);
        self.by_rank = SearchGuide::new(self.cumulative.len(), |j| self.cumulative[j] as f64);
        self
    }

    /// Number of distinct values below `x`.
    fn n_below(&self, x: f64) -> usize {
        self.by_value.search(self.values.len(), x, |j| self.values[j] < x)
    }

    fn push(&mut self, value: f64, count: u64) {
        let total = self.total() + count;
        match (self.values.last(), self.cumulative.last_mut()) {
            (Some(&last), Some(end)) if last == value => *end = total,
            _ => {
                self.values.push(value);
                self.cumulative.push(total);
            }
        }
    }

    /// Number of rows behind the distribution.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// Whether the values are those of the rows, not quantiles.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The distinct values, ascending.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of values that ranks count: rows where exact, else quantiles.
    pub fn total(&self) -> u64 {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// The least and the largest value; `None` without rows.
    pub fn ends(&self) -> Option<(f64, f64)> {
        Some((*self.values.first()?, *self.values.last()?))
    }

    /// The number of values up to the value at this position; 0 before the first.
    fn up_to(&self, position: Option<usize>) -> u64 {
        position.map_or(0, |j| self.cumulative[j])
    }

    /// Number of values up to the distinct one at position `j`.
    pub fn cumulative(&self, j: usize) -> u64 {
        self.cumulative[j]
    }

    /// Position of the first distinct value whose cumulative count satisfies `enough`.
    ///
    /// The number of distinct values where none does.
    pub fn first_position(&self, enough: impl Fn(u64) -> bool) -> usize {
        self.cumulative.partition_point(|&end| !enough(end))
    }

    /// The number of values below `x`, and the number not above it.
    pub fn around(&self, x: f64) -> (u64, u64) {
        let j = self.n_below(x);
        let below = self.up_to(j.checked_sub(1));
        if self.values.get(j) == Some(&x) { (below, self.cumulative[j]) } else { (below, below) }
    }

    fn rank_at(&self, j: usize, cdf: Cdf) -> f64 {
        match cdf {
            Cdf::Weak => self.cumulative[j] as f64,
            Cdf::Midrank => (self.up_to(j.checked_sub(1)) + self.cumulative[j]) as f64 / 2.0,
        }
    }

    /// The rank of `x`, in values: linear between known values; outside the rank of the nearest
    /// end.
    ///
    /// NaN without values.
    pub fn rank(&self, x: f64, cdf: Cdf) -> f64 {
        let j = self.n_below(x);
        match (j.checked_sub(1), self.values.get(j)) {
            (None, None) => f64::NAN,
            (Some(before), None) => self.rank_at(before, cdf),
            (None, Some(_)) => self.rank_at(0, cdf),
            (Some(_), Some(&at)) if at == x => self.rank_at(j, cdf),
            (Some(before), Some(&after)) => {
                let (low, high) = (self.rank_at(before, cdf), self.rank_at(j, cdf));
                low + (high - low) * fraction_between(self.values[before], after, x)
            }
        }
    }

    /// The value at a rank, in values: linear between neighbouring ranks, the nearest end outside.
    ///
    /// NaN without values. Weak: value j has the rank C_j. Midrank: it has every rank from C_(j-1)
    /// + 0.5 to C_j - 0.5.
    pub fn value(&self, rank: f64, cdf: Cdf) -> f64 {
        let half = if cdf == Cdf::Weak { 0.0 } else { 0.5 };
        let j = self
            .by_rank
            .search(self.cumulative.len(), rank, |j| self.cumulative[j] as f64 - half < rank);
        let Some(&value) = self.values.get(j) else {
            return self.values.last().copied().unwrap_or(f64::NAN);
        };
        let end_before = self.up_to(j.checked_sub(1)) as f64;
        let first = if cdf == Cdf::Weak { self.cumulative[j] as f64 } else { end_before + 0.5 };
        match j.checked_sub(1) {
            Some(before) if rank < first => interpolate(
                self.values[before],
                value,
                (rank - (end_before - half)) / (first - (end_before - half)),
            ),
            _ => value,
        }
    }

    /// The quantile `q` in [0, 1] of m values: linear interpolation at position (m - 1) q.
    ///
    /// The same as [`quantile`](crate::num::summary::quantile) of all values; `None` without
    /// values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let last = self.total().checked_sub(1)?;
        let position = last as f64 * q.clamp(0.0, 1.0);
        let below = (position as u64).min(last);
        let value = |i: u64| self.values[self.first_position(|end| end > i)];
        Some(interpolate(value(below), value((below + 1).min(last)), position - below as f64))
    }
}

/// The fraction of the way from a to b at which x lies, a < b.
fn fraction_between(a: f64, b: f64, x: f64) -> f64 {
    if (b - a).is_finite() { (x - a) / (b - a) } else { (x / 2.0 - a / 2.0) / (b / 2.0 - a / 2.0) }
}

/// The value at this fraction of the way from a to b.
fn interpolate(a: f64, b: f64, share: f64) -> f64 {
    if (b - a).is_finite() { a + (b - a) * share } else { a * (1.0 - share) + b * share }
}

/// The Kolmogorov-Smirnov and Wasserstein distances of two distributions.
///
/// The first is the largest difference of the distribution functions, the second (order 1) the area
/// between them, in the unit of the values. `None` where either has no values.
pub(crate) fn distances(a: &Ecdf, b: &Ecdf) -> Option<(f64, f64)> {
    if a.values.is_empty() || b.values.is_empty() {
        return None;
    }
    let (mut i, mut j, mut largest, mut area) = (0, 0, 0.0_f64, 0.0);
    loop {
        let (x, y) = (a.values.get(i), b.values.get(j));
        let Some(at) = [x, y].into_iter().flatten().copied().reduce(f64::min) else {
            return Some((largest, area));
        };
        i += usize::from(x == Some(&at));
        j += usize::from(y == Some(&at));
        let share = |ecdf: &Ecdf, position: usize| {
            ecdf.up_to(position.checked_sub(1)) as f64 / ecdf.total() as f64
        };
        let gap = (share(a, i) - share(b, j)).abs();
        largest = largest.max(gap);
        if let Some(next) =
            [a.values.get(i), b.values.get(j)].into_iter().flatten().copied().reduce(f64::min)
        {
            area += gap * (next - at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cdf, Ecdf, ValueTally, cell_of, distances};
    use crate::num::seed::RandomStream;
    use crate::num::summary::quantile;

    fn ecdf(values: &[f64]) -> Ecdf {
        ValueTally::from_values(values.iter().copied()).ecdf()
    }

    #[test]
    fn cells_grow_with_the_values() {
        let ascending =
            [f64::NEG_INFINITY, -1e300, -2.0, -1.0, -1e-300, 0.0, 1e-300, 1.0, 1.5, 1e300];
        assert!(ascending.map(|x| cell_of(x, 0)).is_sorted());
        assert_eq!(cell_of(3.0, 64), 0);
        assert_eq!(
            ValueTally::from_values([0.0, -0.0, f64::NAN]),
            ValueTally::from_values([0.0, 0.0])
        );
    }

    /// 1, 2, 2, 5: ranks and values by hand.
    #[test]
    fn ranks_and_values() {
        let four = ecdf(&[2.0, 5.0, 1.0, 2.0]);
        assert_eq!(
            [0.0, 1.0, 2.0, 3.5, 5.0, 9.0].map(|x| four.rank(x, Cdf::Weak)),
            [1.0, 1.0, 3.0, 3.5, 4.0, 4.0]
        );
        assert_eq!(
            [0.0, 1.0, 1.5, 2.0, 3.5, 5.0, 9.0].map(|x| four.rank(x, Cdf::Midrank)),
            [0.5, 0.5, 1.25, 2.0, 2.75, 3.5, 3.5]
        );
        assert_eq!(
            [0.0, 1.0, 2.0, 3.0, 3.5, 4.0].map(|r| four.value(r, Cdf::Weak)),
            [1.0, 1.0, 1.5, 2.0, 3.5, 5.0]
        );
        assert_eq!(
            [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 3.5, 4.0].map(|r| four.value(r, Cdf::Midrank)),
            [1.0, 1.0, 1.5, 2.0, 2.0, 3.5, 5.0, 5.0]
        );
        assert_eq!(
            [four.around(2.0), four.around(3.0), four.around(0.0)],
            [(1, 3), (3, 3), (0, 0)]
        );
    }

    /// Guided and plain searches agree, also where most values fall into one step.
    #[test]
    fn guides_lead_to_the_same_place() {
        let mut stream = RandomStream::new(7, "guide");
        let heavy: Vec<f64> = (0..5000).map(|_| libm::exp(6.0 * stream.normal())).collect();
        let whole: Vec<f64> = (0..5000).map(|k| f64::from(k % 700)).collect();
        let wide = (0..500).map(|k| f64::from(k) * 3e305 - 1.7e308).chain([1.7e308]).collect();
        for values in [heavy, whole, wide] {
            let ecdf = ecdf(&values);
            assert!(!ecdf.by_value.starts.is_empty());
            for &x in values.iter().take(1000) {
                for near in [x, x.next_up(), x.next_down(), x * 0.99, -x, f64::INFINITY] {
                    assert_eq!(
                        ecdf.n_below(near),
                        ecdf.values.partition_point(|&value| value < near)
                    );
                }
            }
            for k in 0..20_100 {
                let rank = f64::from(k) / 4.0 - 10.0;
                for rank in [rank, rank.next_up(), rank.next_down()] {
                    for half in [0.0, 0.5] {
                        let before = |j: usize| ecdf.cumulative[j] as f64 - half < rank;
                        let plain =
                            ecdf.cumulative.partition_point(|&end| end as f64 - half < rank);
                        assert_eq!(ecdf.by_rank.search(ecdf.cumulative.len(), rank, before), plain);
                    }
                }
            }
        }
    }

    #[test]
    fn quantiles_are_those_of_all_values() {
        let values = [0.0, 1.0, 1.0, 1.0, 4.0, 8.0];
        for q in [0.0, 0.1, 0.5, 0.7, 0.95, 1.0] {
            assert_eq!(ecdf(&values).quantile(q), quantile(&values, q), "{q}");
        }
        assert_eq!(ecdf(&[]).quantile(0.5), None);
    }

    #[test]
    fn extreme_values_stay_finite() {
        let wide = ecdf(&[-1.7e308, 1.7e308]);
        assert_eq!(wide.rank(0.0, Cdf::Midrank), 1.0);
        assert_eq!(wide.value(1.0, Cdf::Midrank), 0.0);
        assert_eq!(ValueTally::from_values([1e300, -1e300]).moments(), (0.0, 1e300));
    }

    #[test]
    fn no_values_have_no_rank() {
        let none = ecdf(&[]);
        assert!(none.rank(1.0, Cdf::Weak).is_nan() && none.value(1.0, Cdf::Midrank).is_nan());
        assert_eq!((none.ends(), distances(&none, &ecdf(&[1.0]))), (None, None));
        assert_eq!(ValueTally::default().moments(), (0.0, 0.0));
    }

    /// F(x) of 0, 1 and of 0, 2, 2: 1/2, 1, 1 against 1/3, 1/3, 1.
    #[test]
    fn distances_by_hand() {
        let (ks, w1) = distances(&ecdf(&[0.0, 1.0]), &ecdf(&[0.0, 2.0, 2.0])).unwrap();
        assert!(
            (ks - 2.0 / 3.0).abs() < 1e-15 && (w1 - (1.0 / 6.0 + 2.0 / 3.0)).abs() < 1e-15,
            "{ks} {w1}"
        );
    }

    #[test]
    fn moments_of_few_values() {
        let (mean, sd) =
            ValueTally::from_values([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).moments();
        assert!((mean - 5.0).abs() < 1e-14 && (sd - 2.0).abs() < 1e-14);
        assert_eq!(ValueTally::from_values([0.1, 0.1, 0.1]).moments(), (0.1, 0.0));
    }

    /// Below, at and beyond the limit, the state does not depend on the partition or the order of
    /// merging.
    #[test]
    fn any_partition_gives_the_same_tally() {
        let mut stream = RandomStream::new(5, "tally");
        let values: Vec<f64> = (0..4000).map(|_| stream.normal() * 100.0).collect();
        let whole = |limit| {
            let mut tally = ValueTally::default();
            tally.merge_within(&ValueTally::from_values(values.iter().copied()), limit);
            tally
        };
        for (limit, exact) in [(10_000, true), (500, false), (7, false)] {
            let expected = whole(limit);
            assert_eq!(expected.is_exact(), exact);
            assert!(expected.cells.len() <= limit && expected.n() == 4000);
            for parts in [2, 13, 1000] {
                let mut merged = ValueTally::default();
                for k in (0..parts).rev() {
                    let mut part = ValueTally::default();
                    values
                        .iter()
                        .skip(k)
                        .step_by(parts)
                        .for_each(|&x| part.merge_within(&ValueTally::from_values([x]), limit));
                    merged.merge_within(&part, limit);
                }
                assert_eq!(merged, expected, "{parts} parts, limit {limit}");
            }
        }
    }

    /// Quantiles of a tally that is not exact are off by less than the width of a cell; the ends
    /// are exact.
    #[test]
    fn quantiles_of_many_values() {
        let mut stream = RandomStream::new(6, "quantiles");
        let values: Vec<f64> = (0..50_000).map(|_| stream.normal()).collect();
        let exact = ecdf(&values);
        let mut coarse = ValueTally::default();
        coarse.merge_within(&ValueTally::from_values(values.iter().copied()), 4000);
        let coarse = coarse.ecdf_of(1000);
        assert!(!coarse.is_exact() && (coarse.total(), coarse.n_rows()) == (1000, 50_000));
        assert_eq!(coarse.ends(), exact.ends());
        for i in 1..100 {
            let p = f64::from(i) / 100.0;
            let (x, y) =
                (exact.value(p * 50_000.0, Cdf::Midrank), coarse.value(p * 1000.0, Cdf::Midrank));
            assert!((x - y).abs() < 0.01, "{p}: {x} {y}");
        }
    }
}
