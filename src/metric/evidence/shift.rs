//! Sums and histograms of scores and of their changes.

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::jensen_shannon::NEAR_SQUARE;
use crate::metric::evidence::person::ECCM_CELLS;
use crate::metric::rate::{MetricValue, Undefined};
use crate::num::fixed::FixedSum;
use serde::{Deserialize, Serialize};

/// Bins of the histograms of scores: edges i/50.
pub(crate) const SCORE_BINS: usize = 50;

/// Bins of the histogram of changes: edges (i - 40)/40.
pub(crate) const CHANGE_BINS: usize = 80;

/// Scores up to 2^-80 add nothing to a divergence: their term rounds to zero units, regardless of
/// the other score.
pub(crate) const NEGLIGIBLE: f64 = 1.0 / (1_u128 << 80) as f64;

/// The weighted sums over the pairs of one direction in the first pass; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShiftSums {
    /// The number of pairs, without weights.
    pub(crate) n: u64,
    pub(super) score: FixedSum,
    pub(super) score_cf: FixedSum,
    pub(super) absolute: FixedSum,
    /// Sums of squared changes by cell, in the order of
    /// [`CELLS`](crate::metric::evidence::person::CELLS).
    pub(crate) squared: [FixedSum; ECCM_CELLS],
    /// Sum of s ln(s/c) where both are above 0.
    pub(super) divergence: FixedSum,
    /// Weight of pairs with s > 0 and c = 0.
    pub(super) infinite: u64,
    /// Histogram of the factual scores, [`SCORE_EDGES`].
    pub(crate) before: Vec<u64>,
    /// Histogram of the counterfactual scores, [`SCORE_EDGES`].
    pub(crate) after: Vec<u64>,
    /// Histogram of counterfactual minus factual score, [`CHANGE_EDGES`].
    pub(crate) change: Vec<u64>,
}

impl Default for ShiftSums {
    fn default() -> Self {
        ShiftSums {
            n: 0,
            score: FixedSum::ZERO,
            score_cf: FixedSum::ZERO,
            absolute: FixedSum::ZERO,
            squared: [FixedSum::ZERO; ECCM_CELLS],
            divergence: FixedSum::ZERO,
            infinite: 0,
            before: vec![0; SCORE_BINS],
            after: vec![0; SCORE_BINS],
            change: vec![0; CHANGE_BINS],
        }
    }
}

impl ShiftSums {
    /// Adds a pair of scores of [0, 1] in a cell of the extended matrix, with the same formulas as
    /// chunks of pairs.
    #[cfg(test)]
    pub(crate) fn add(&mut self, cell: usize, score: f64, score_cf: f64, weight: u64) {
        let change = score_cf - score;
        self.n += 1;
        self.score.add_times(score, weight);
        self.score_cf.add_times(score_cf, weight);
        self.absolute.add_times(change.abs(), weight);
        self.squared[cell].add_times(change * change, weight);
        self.infinite += if score > 0.0 && score_cf == 0.0 { weight } else { 0 };
        self.divergence.add_times(kl_term(score, score_cf), weight);
        self.before[score_bin(score)] += weight;
        self.after[score_bin(score_cf)] += weight;
        self.change[change_bin(change)] += weight;
    }

    /// The weight of the pairs in units.
    pub(crate) fn weight(&self) -> u64 {
        self.before.iter().sum()
    }

    /// The sums of the factual and of the counterfactual scores.
    pub(crate) fn scores(&self) -> (f64, f64) {
        (self.score.to_f64(), self.score_cf.to_f64())
    }
}

additive!(ShiftSums {
    n,
    score,
    score_cf,
    absolute,
    squared,
    divergence,
    infinite,
    before,
    after,
    change
});

/// The scores of one scope as metrics read them.
#[derive(Debug, Clone)]
pub struct ScoreShift {
    /// The number of pairs, without weights.
    pub(crate) pairs: f64,
    /// The weight of the pairs; their number without weights.
    pub(crate) n: f64,
    /// Sum of s.
    pub(crate) score: f64,
    /// Sum of c.
    pub(crate) score_cf: f64,
    /// Sum of c - s.
    pub(crate) change: f64,
    /// Sum of |c - s|.
    pub(crate) absolute: f64,
    /// Sum of (c - s)^2.
    pub(crate) squared: f64,
    /// Sum of s ln(s/c) where both are above 0.
    pub(crate) divergence: f64,
    /// Pairs with s > 0 and c = 0.
    pub(crate) infinite: f64,
    /// The Jensen-Shannon divergence in nats, if both sums of scores are above 0.
    pub(crate) jensen_shannon: MetricValue,
    /// Histogram of s.
    pub(crate) before: [f64; SCORE_BINS],
    /// Histogram of c.
    pub(crate) after: [f64; SCORE_BINS],
}

impl ScoreShift {
    /// The scores of one scope, from the sums of the first pass and the Jensen-Shannon divergence
    /// of the second, in nats; the divergence has no meaning if a sum of scores is 0.
    pub(crate) fn from_sums(sums: &ShiftSums, divergence: f64) -> Self {
        let mut squared = FixedSum::ZERO;
        sums.squared.iter().for_each(|sum| squared.merge(*sum));
        let (score, score_cf) = sums.scores();
        let mut shift = ScoreShift {
            pairs: sums.n as f64,
            n: sums.weight() as f64,
            score,
            score_cf,
            change: (sums.score_cf - sums.score).to_f64(),
            absolute: sums.absolute.to_f64(),
            squared: squared.to_f64(),
            divergence: sums.divergence.to_f64(),
            infinite: sums.infinite as f64,
            jensen_shannon: Err(Undefined::ZeroScoreSum),
            before: [0.0; SCORE_BINS],
            after: [0.0; SCORE_BINS],
        };
        if score > 0.0 && score_cf > 0.0 {
            shift.jensen_shannon = Ok(divergence);
        }
        for (bins, counts) in [(&mut shift.before, &sums.before), (&mut shift.after, &sums.after)] {
            bins.iter_mut().zip(counts).for_each(|(bin, &count)| *bin = count as f64);
        }
        shift
    }

    /// People with every counterfactual score equal to the factual one.
    pub(crate) fn without_shift(&self) -> Self {
        ScoreShift {
            score_cf: self.score,
            change: 0.0,
            absolute: 0.0,
            squared: 0.0,
            divergence: 0.0,
            infinite: 0.0,
            jensen_shannon: Ok(0.0),
            after: self.before,
            ..self.clone()
        }
    }
}

/// Edges of the bins of scores, from 0 to 1.
pub(crate) const SCORE_EDGES: [f64; SCORE_BINS + 1] = edges(0.0, SCORE_BINS as f64);

/// Edges of the bins of changes, from -1 to 1; 0 is one of them.
pub(crate) const CHANGE_EDGES: [f64; CHANGE_BINS + 1] =
    edges((CHANGE_BINS / 2) as f64, (CHANGE_BINS / 2) as f64);

/// (i - first) / unit.
pub(crate) const fn edges<const N: usize>(first: f64, unit: f64) -> [f64; N] {
    let mut edges = [0.0; N];
    let mut i = 0;
    while i < N {
        edges[i] = (i as f64 - first) / unit;
        i += 1;
    }
    edges
}

/// The last bin whose lower edge is not above the score; the upper end belongs to the last bin.
#[cfg(test)]
pub(crate) fn score_bin(score: f64) -> usize {
    last_edge((score * SCORE_BINS as f64) as usize, score, &SCORE_EDGES)
}

/// The last bin whose lower edge is not above the change; the upper end belongs to the last bin.
#[cfg(test)]
pub(crate) fn change_bin(change: f64) -> usize {
    last_edge(((change + 1.0) * (CHANGE_BINS / 2) as f64) as usize, change, &CHANGE_EDGES)
}

/// The guess may be one bin off because of rounding: the edges decide.
#[cfg(test)]
pub(crate) fn last_edge<const N: usize>(guess: usize, value: f64, edges: &[f64; N]) -> usize {
    let guess = guess.min(N - 2);
    let up = usize::from(guess + 2 < N && value >= edges[guess + 1]);
    let down = usize::from(guess > 0 && value < edges[guess]);
    guess + up - down
}

/// s ln(s/c), the term of a pair in the Kullback-Leibler divergence; 0 if either score is 0 or the
/// term rounds to zero units.
pub(crate) fn kl_term(score: f64, score_cf: f64) -> f64 {
    if score_cf > 0.0 && score > NEGLIGIBLE { score * log_ratio(score, score_cf) } else { 0.0 }
}

/// ln(a/b) of positive numbers, also where the quotient overflows.
pub(crate) fn log_ratio(a: f64, b: f64) -> f64 {
    let x = (a - b) / (a + b);
    if x * x < NEAR_SQUARE {
        return ratio_series(x);
    }
    let quotient = a / b;
    if quotient.is_finite() { libm::log(quotient) } else { libm::log(a) - libm::log(b) }
}

/// ln(a/b) as a function of x = (a - b)/(a + b), for scores that are almost equal: twice the series
/// of the inverse hyperbolic tangent, whose next term is below 2e-16 of the sum.
#[inline(always)]
pub(crate) fn ratio_series(x: f64) -> f64 {
    let sq = x * x;
    let odd =
        ((((((sq / 15.0 + 1.0 / 13.0) * sq + 1.0 / 11.0) * sq + 1.0 / 9.0) * sq + 1.0 / 7.0) * sq
            + 0.2)
            * sq
            + 1.0 / 3.0)
            * sq;
    2.0 * x * (1.0 + odd)
}

/// The weight of the pairs, above 0.
pub(crate) fn total_weight(shift: &ScoreShift) -> MetricValue {
    match shift.n {
        0.0 if shift.pairs == 0.0 => Err(Undefined::EmptyGroup),
        0.0 => Err(Undefined::ZeroWeight),
        n => Ok(n),
    }
}

/// The weight of the scores before and after, bin by bin.
pub(crate) fn bins(shift: &ScoreShift) -> Result<impl Iterator<Item = (f64, f64)>, Undefined> {
    total_weight(shift).map(|_| shift.before.into_iter().zip(shift.after))
}
