//! How far scores move between the factual and the counterfactual world: RMSCD, Kullback-Leibler, Jensen-Shannon.
//!
//! Source: Towards Counterfactual Group Fairness, eq. 6 and Tables 2, 12 and 13, for RMSCD and JSCD; MCD, MACD and the histogram
//! measures are additions. Input: pairs of a factual score s and a counterfactual score c of [0, 1]; a total takes the pairs of all
//! directions together.
//!
//! Choice: the papers leave binning, base and root of JSCD open. It is the Jensen-Shannon *distance* (square root, natural logarithm)
//! between the two vectors of scores, each scaled to sum 1, paired by person: the only reading that reproduces the published tables.
//! It ignores a common factor, and a total is no mean of its directions.
//!
//! Every term is rounded to a multiple of 2^-52 and added as a whole number, so that any partition of the pairs gives the same bits.
//! Kullback-Leibler needs one pass: sum p ln(p/q) = (sum s ln(s/c)) / S + ln(C/S), with S and C the sums of s and c. Jensen-Shannon
//! needs S and C first: with m = (p + q)/2, p/m = 2s / (s + cS/C), so [`ShiftPass`] sums s ln(2s / (s + cS/C)) and its mirror image.

use serde::{Deserialize, Serialize};

use super::counts::{Counterfactual, Person, pair};
use super::{Family, Impaired, Metric, Reads, Undefined, Value};
use crate::num::fixed::Fixed;

/// Bins of the histograms of scores: edges i/50.
pub const SCORE_BINS: usize = 50;

/// Bins of the histogram of changes: edges (i - 40)/40.
pub const CHANGE_BINS: usize = 80;

/// Scores up to 2^-80 add nothing to a divergence: their term rounds to zero units, whatever the other score is.
const NEGLIGIBLE: f64 = 1.0 / (1_u128 << 80) as f64;

/// What is summed over the pairs of one direction in the first pass; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShiftSums {
    n: u64,
    score: Fixed,
    score_cf: Fixed,
    absolute: Fixed,
    squared: [Fixed; 8],
    /// Sum of s ln(s/c) where both are above 0.
    divergence: Fixed,
    /// Pairs with s > 0 and c = 0.
    infinite: u64,
    /// [`SCORE_BINS`] bins.
    before: Vec<u64>,
    /// [`SCORE_BINS`] bins.
    after: Vec<u64>,
    /// [`CHANGE_BINS`] bins.
    change: Vec<u64>,
}

impl Default for ShiftSums {
    fn default() -> Self {
        ShiftSums {
            n: 0,
            score: Fixed::ZERO,
            score_cf: Fixed::ZERO,
            absolute: Fixed::ZERO,
            squared: [Fixed::ZERO; 8],
            divergence: Fixed::ZERO,
            infinite: 0,
            before: vec![0; SCORE_BINS],
            after: vec![0; SCORE_BINS],
            change: vec![0; CHANGE_BINS],
        }
    }
}

impl ShiftSums {
    /// Adds a pair of scores of [0, 1] that fills this cell of the extended matrix.
    pub(super) fn add(&mut self, cell: usize, score: f64, score_cf: f64) {
        let change = score_cf - score;
        self.n += 1;
        self.score.add(score);
        self.score_cf.add(score_cf);
        self.absolute.add(change.abs());
        self.squared[cell].add(change * change);
        if score_cf == 0.0 {
            self.infinite += u64::from(score > 0.0);
        } else if score > NEGLIGIBLE {
            self.divergence.add(score * log_ratio(score, score_cf));
        }
        self.before[score_bin(score)] += 1;
        self.after[score_bin(score_cf)] += 1;
        self.change[change_bin(change)] += 1;
    }

    /// Adds the pairs of another batch or direction.
    pub fn merge(&mut self, other: &ShiftSums) {
        self.n += other.n;
        self.score.merge(other.score);
        self.score_cf.merge(other.score_cf);
        self.absolute.merge(other.absolute);
        self.infinite += other.infinite;
        self.divergence.merge(other.divergence);
        for (mine, theirs) in self.squared.iter_mut().zip(other.squared) {
            mine.merge(theirs);
        }
        let mine = self.before.iter_mut().chain(&mut self.after).chain(&mut self.change);
        for (mine, theirs) in mine.zip(other.before.iter().chain(&other.after).chain(&other.change)) {
            *mine += theirs;
        }
    }

    /// Pairs.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Sums of squared changes by cell, in the order of [`CELLS`](super::counts::CELLS).
    pub fn squared(&self) -> &[Fixed; 8] {
        &self.squared
    }

    /// Histogram of the factual scores; see [`score_edge`].
    pub fn before(&self) -> &[u64] {
        &self.before
    }

    /// Histogram of the counterfactual scores; see [`score_edge`].
    pub fn after(&self) -> &[u64] {
        &self.after
    }

    /// Histogram of counterfactual minus factual score; see [`change_edge`].
    pub fn change(&self) -> &[u64] {
        &self.change
    }
}

/// What is summed over the pairs of one direction, or of the total, in the second pass; mergeable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DivergenceSums {
    n: u64,
    /// C/S, from the first pass; 0 where one of the sums is 0. Sums are multiples of 2^-52, so it is finite.
    scale: f64,
    /// S/C.
    scale_cf: f64,
    /// Sum of s ln(2s / (s + cS/C)).
    before: Fixed,
    /// Sum of c ln(2c / (c + sC/S)).
    after: Fixed,
}

impl DivergenceSums {
    fn new(sums: &ShiftSums) -> Self {
        let (scale, scale_cf) = score_sums(sums).map_or((0.0, 0.0), |(score, score_cf)| (score_cf / score, score / score_cf));
        DivergenceSums { n: 0, scale, scale_cf, before: Fixed::ZERO, after: Fixed::ZERO }
    }

    fn add(&mut self, score: f64, score_cf: f64) {
        self.n += 1;
        if self.scale == 0.0 {
            return;
        }
        if score > NEGLIGIBLE {
            self.before.add(score * libm::log(2.0 * score / (score + score_cf * self.scale_cf)));
        }
        if score_cf > NEGLIGIBLE {
            self.after.add(score_cf * libm::log(2.0 * score_cf / (score_cf + score * self.scale)));
        }
    }

    fn merge(&mut self, other: &DivergenceSums) {
        self.n += other.n;
        self.before.merge(other.before);
        self.after.merge(other.after);
    }
}

/// The second pass: the same people once more, now that the sums of all scores are known. Mergeable across batches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShiftPass {
    has_label: bool,
    groups: usize,
    directions: Vec<DivergenceSums>,
    total: DivergenceSums,
}

impl ShiftPass {
    pub(super) fn new(groups: usize, has_label: bool, shifts: &[ShiftSums]) -> Self {
        let mut total = ShiftSums::default();
        for sums in shifts {
            total.merge(sums);
        }
        let directions = shifts.iter().map(DivergenceSums::new).collect();
        ShiftPass { has_label, groups, directions, total: DivergenceSums::new(&total) }
    }

    /// Adds one person with all their counterfactuals, as in the first pass.
    pub fn add(&mut self, person: &Person, counterfactuals: &[Counterfactual]) {
        for counterfactual in counterfactuals {
            if let Some((_, score, score_cf)) = pair(person, counterfactual, self.has_label) {
                self.directions[person.group * self.groups + counterfactual.to].add(score, score_cf);
                self.total.add(score, score_cf);
            }
        }
    }

    /// Adds the people of another batch of the same second pass.
    pub fn merge(&mut self, other: &ShiftPass) {
        for (mine, theirs) in self.directions.iter_mut().zip(&other.directions) {
            mine.merge(theirs);
        }
        self.total.merge(&other.total);
    }

    pub(super) fn direction(&self, from: usize, to: usize) -> &DivergenceSums {
        &self.directions[from * self.groups + to]
    }

    pub(super) fn total(&self) -> &DivergenceSums {
        &self.total
    }
}

/// Both passes of one direction or of the total: what shift metrics read.
#[derive(Debug, Clone, Copy)]
pub struct Shift<'a> {
    /// First pass.
    pub sums: &'a ShiftSums,
    /// Second pass.
    pub divergence: &'a DivergenceSums,
}

/// Lower edge of a bin of scores, or the upper edge of the one before: i/50.
pub fn score_edge(i: usize) -> f64 {
    i as f64 / SCORE_BINS as f64
}

/// Lower edge of a bin of changes, or the upper edge of the one before: (i - 40)/40.
pub fn change_edge(i: usize) -> f64 {
    (i as f64 - (CHANGE_BINS / 2) as f64) / (CHANGE_BINS / 2) as f64
}

/// The last bin whose lower edge is not above the score; the upper end belongs to the last bin.
fn score_bin(score: f64) -> usize {
    last_edge((score * SCORE_BINS as f64) as usize, SCORE_BINS, score, score_edge)
}

fn change_bin(change: f64) -> usize {
    last_edge(((change + 1.0) * (CHANGE_BINS / 2) as f64) as usize, CHANGE_BINS, change, change_edge)
}

/// Rounding may put the guess one bin away: the edges themselves decide.
fn last_edge(guess: usize, bins: usize, value: f64, edge: impl Fn(usize) -> f64) -> usize {
    let guess = guess.min(bins - 1);
    let up = usize::from(guess + 1 < bins && value >= edge(guess + 1));
    let down = usize::from(guess > 0 && value < edge(guess));
    guess + up - down
}

/// ln(a/b) of positive numbers, also where the quotient overflows.
fn log_ratio(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if quotient.is_finite() { libm::log(quotient) } else { libm::log(a) - libm::log(b) }
}

/// The square root of ln 2.
const JSCD_MAX: f64 = 0.832_554_611_157_697_8;

const TABLES: &str = "Towards Counterfactual Group Fairness, eq. 6 and Table 2";
const ADDED: &str = "an addition of cfaudit, printed beside JSCD because JSCD ignores a common factor of all scores";
const NO_PAIR: &str = "there is no pair of scores";

const fn metric(id: &'static str, symbol: &'static str, name: &'static str, range: (f64, f64), value: fn(&Shift<'_>) -> Value) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: Family::Shift,
        formula: "",
        reading: "",
        range,
        ideal: Some(0.0),
        sign: "a distance: never negative",
        undefined_when: NO_PAIR,
        source: ADDED,
        needs_label: false,
        reads: Reads::Shift(value),
        impaired: Impaired::Unstated,
    }
}

/// The list of this family.
pub const METRICS: &[Metric] = &[
    Metric {
        formula: "sqrt(mean (c - s)^2)",
        reading: "how far a score typically moves, large moves weighing more",
        source: TABLES,
        ..metric("rmscd", "RMSCD", "root mean squared counterfactual difference", (0.0, 1.0), rmscd)
    },
    Metric {
        formula: "mean (c - s)",
        reading: "where scores move on average",
        sign: "counterfactual minus factual: above 0 scores rise in the other group",
        ..metric("mcd", "MCD", "mean counterfactual difference", (-1.0, 1.0), mcd)
    },
    Metric {
        formula: "mean |c - s|",
        reading: "how far a score moves on average, either way",
        ..metric("macd", "MACD", "mean absolute counterfactual difference", (0.0, 1.0), macd)
    },
    Metric {
        formula: "sum p ln(p/q), p = s / sum s, q = c / sum c, over the pairs",
        reading: "divergence of the scores, shared out over people, in nats",
        undefined_when: "there is no pair, all scores of one side are 0, or a score falls to 0",
        source: "Kullback and Leibler 1951, On information and sufficiency; paired as JSCD",
        ..metric("kld", "KLD", "Kullback-Leibler divergence", (0.0, f64::INFINITY), kld)
    },
    Metric {
        formula: "sqrt(sum p ln(p/m) / 2 + sum q ln(q/m) / 2), m = (p + q) / 2, p = s / sum s, q = c / sum c, over the pairs",
        reading: "distance of the scores, shared out over people; a common factor of all scores does not show, and a total is no mean of its directions",
        undefined_when: "there is no pair, or all scores of one side are 0",
        source: TABLES,
        ..metric("jscd", "JSCD", "Jensen-Shannon counterfactual distance", (0.0, JSCD_MAX), jscd)
    },
    Metric {
        formula: "sum p log2(p/m) / 2 + sum q log2(q/m) / 2 over the shares p, q of 50 equal bins, m = (p + q) / 2",
        reading: "divergence of the two histograms of scores, in bits; who moved where does not show",
        ..metric("jsd_hist", "JSD_hist", "Jensen-Shannon divergence of histograms", (0.0, 1.0), jsd_hist)
    },
    Metric {
        formula: "sum p ln(p/q) over the shares p, q of 50 equal bins",
        reading: "divergence of the two histograms of scores, in nats",
        undefined_when: "there is no pair, or a bin empties",
        ..metric("kld_hist", "KLD_hist", "Kullback-Leibler divergence of histograms", (0.0, f64::INFINITY), kld_hist)
    },
    Metric {
        formula: "sum p ln(p/q) over the shares p, q of 50 equal bins, each with 1/2 added to its count",
        reading: "as kld_hist, but defined also where a bin empties",
        ..metric(
            "kld_hist_smoothed",
            "KLD_hist_smoothed",
            "smoothed Kullback-Leibler divergence of histograms",
            (0.0, f64::INFINITY),
            kld_hist_smoothed,
        )
    },
];

fn mean(sums: &ShiftSums, sum: Fixed) -> Value {
    if sums.n == 0 { Err(Undefined::EmptyGroup) } else { Ok(sum.to_f64() / sums.n as f64) }
}

fn rmscd(shift: &Shift<'_>) -> Value {
    let mut squared = Fixed::ZERO;
    shift.sums.squared.iter().for_each(|sum| squared.merge(*sum));
    mean(shift.sums, squared).map(f64::sqrt)
}

fn mcd(shift: &Shift<'_>) -> Value {
    mean(shift.sums, shift.sums.score_cf - shift.sums.score)
}

fn macd(shift: &Shift<'_>) -> Value {
    mean(shift.sums, shift.sums.absolute)
}

fn score_sums(sums: &ShiftSums) -> Result<(f64, f64), Undefined> {
    let (score, score_cf) = (sums.score.to_f64(), sums.score_cf.to_f64());
    match sums.n {
        0 => Err(Undefined::EmptyGroup),
        _ if score == 0.0 || score_cf == 0.0 => Err(Undefined::ZeroScoreSum),
        _ => Ok((score, score_cf)),
    }
}

fn kld(shift: &Shift<'_>) -> Value {
    let (score, score_cf) = score_sums(shift.sums)?;
    if shift.sums.infinite > 0 {
        return Err(Undefined::Infinite);
    }
    Ok((shift.sums.divergence.to_f64() / score + log_ratio(score_cf, score)).max(0.0))
}

fn jscd(shift: &Shift<'_>) -> Value {
    let (score, score_cf) = score_sums(shift.sums)?;
    debug_assert_eq!(shift.divergence.n, shift.sums.n, "the second pass saw other pairs than the first");
    let divergence = f64::midpoint(shift.divergence.before.to_f64() / score, shift.divergence.after.to_f64() / score_cf);
    Ok(divergence.max(0.0).sqrt().min(JSCD_MAX))
}

/// Σ p ln(p/q) over bins with p > 0, in order of the bins.
fn bin_divergence(bins: impl Iterator<Item = (f64, f64)>) -> f64 {
    bins.filter(|(p, _)| *p > 0.0).map(|(p, q)| p * libm::log(p / q)).sum::<f64>().max(0.0)
}

fn jsd_hist(shift: &Shift<'_>) -> Value {
    let ShiftSums { n, before, after, .. } = shift.sums;
    if *n == 0 {
        return Err(Undefined::EmptyGroup);
    }
    let n = *n as f64;
    let to_middle = |from: &[u64], to: &[u64]| {
        bin_divergence(from.iter().zip(to).map(|(&p, &q)| (p as f64 / n, f64::midpoint(p as f64 / n, q as f64 / n))))
    };
    let nats = f64::midpoint(to_middle(before, after), to_middle(after, before));
    Ok((nats / std::f64::consts::LN_2).min(1.0))
}

fn kld_hist(shift: &Shift<'_>) -> Value {
    let ShiftSums { n, before, after, .. } = shift.sums;
    if *n == 0 {
        return Err(Undefined::EmptyGroup);
    }
    if before.iter().zip(after).any(|(&p, &q)| p > 0 && q == 0) {
        return Err(Undefined::Infinite);
    }
    Ok(bin_divergence(before.iter().zip(after).map(|(&p, &q)| (p as f64 / *n as f64, q as f64 / *n as f64))))
}

fn kld_hist_smoothed(shift: &Shift<'_>) -> Value {
    let ShiftSums { n, before, after, .. } = shift.sums;
    if *n == 0 {
        return Err(Undefined::EmptyGroup);
    }
    let n = *n as f64 + SCORE_BINS as f64 / 2.0;
    Ok(bin_divergence(before.iter().zip(after).map(|(&p, &q)| ((p as f64 + 0.5) / n, (q as f64 + 0.5) / n))))
}

#[cfg(test)]
mod tests {
    use super::{CHANGE_BINS, DivergenceSums, METRICS, SCORE_BINS, Shift, ShiftSums, change_bin, change_edge, score_bin, score_edge};
    use crate::metric::{Reads, Undefined, Value};

    fn values(pairs: &[(f64, f64)]) -> Vec<Value> {
        let mut sums = ShiftSums::default();
        pairs.iter().for_each(|&(s, c)| sums.add(0, s, c));
        let mut divergence = DivergenceSums::new(&sums);
        pairs.iter().for_each(|&(s, c)| divergence.add(s, c));
        let shift = Shift { sums: &sums, divergence: &divergence };
        let value = |reads: &Reads| if let Reads::Shift(value) = reads { value(&shift) } else { unreachable!() };
        METRICS.iter().map(|metric| value(&metric.reads)).collect()
    }

    #[test]
    fn bins_are_closed_on_the_left() {
        for i in 0..=SCORE_BINS {
            assert_eq!(score_bin(score_edge(i)), i.min(SCORE_BINS - 1));
            if i > 0 {
                assert_eq!(score_bin(score_edge(i).next_down()), i - 1);
            }
        }
        for i in 0..=CHANGE_BINS {
            assert_eq!(change_bin(change_edge(i)), i.min(CHANGE_BINS - 1));
            if i > 0 {
                assert_eq!(change_bin(change_edge(i).next_down()), i - 1);
            }
        }
    }

    #[test]
    fn by_hand() {
        // p = (1/4, 3/4), q = (1/2, 1/2), m = (3/8, 5/8).
        let found = values(&[(0.25, 0.5), (0.75, 0.5)]);
        let ln = f64::ln;
        let js = (0.25 * ln(2.0 / 3.0) + 0.75 * ln(1.2) + 0.5 * ln(4.0 / 3.0) + 0.5 * ln(0.8)) / 2.0;
        let expected = [0.25, 0.0, 0.25, 0.25 * ln(0.5) + 0.75 * ln(1.5), js.sqrt(), 1.0];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-15, "{found:?} instead of {expected}");
        }
        assert_eq!(found[6], Err(Undefined::Infinite));
    }

    #[test]
    fn what_does_not_move_is_at_distance_zero() {
        assert_eq!(values(&[(0.1, 0.1), (0.7, 0.7), (0.0, 0.0), (1.0, 1.0)])[..7], [Ok(0.0); 7]);
    }

    #[test]
    fn odd_scores_stay_finite() {
        let tiny = f64::from_bits(1);
        for pairs in
            [&[(1.0, tiny), (0.5, 1.0)][..], &[(tiny, 1.0), (1.0, 1.0)], &[(1.0, tiny)], &[(tiny, tiny)], &[(1e-16, 1.0), (1e-16, 1e-30)]]
        {
            for (metric, value) in METRICS.iter().zip(values(pairs)) {
                let fine = value.map_or(true, |v| v.is_finite() && v >= metric.range.0 && v <= metric.range.1);
                assert!(fine, "{} of {pairs:?}: {value:?}", metric.id);
            }
        }
    }

    #[test]
    fn reasons() {
        assert_eq!(values(&[]), [Err(Undefined::EmptyGroup); 8]);
        let zero = values(&[(0.0, 0.5), (0.0, 0.25)]);
        assert_eq!([zero[3], zero[4]], [Err(Undefined::ZeroScoreSum); 2]);
        let falls = values(&[(0.5, 0.0), (0.5, 0.5)]);
        assert_eq!(falls[3], Err(Undefined::Infinite));
        assert!(falls[4].is_ok());
    }
}
