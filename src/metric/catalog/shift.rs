//! How far scores move between the factual and the counterfactual world: RMSCD, Kullback-Leibler,
//! Jensen-Shannon.
//!
//! Source: Towards Counterfactual Group Fairness, eq. 6 and Tables 2, 12 and 13, for RMSCD and
//! JSCD; MCD, MACD and the histogram measures are additions. Input: pairs of a factual score s and
//! a counterfactual score c of [0, 1]; a total takes the pairs of all directions together.
//!
//! Choice: the papers leave binning, base and root of JSCD open. It is the Jensen-Shannon
//! *distance* (square root, natural logarithm) between the two vectors of scores, each scaled to
//! sum 1, paired by person: the only reading that reproduces the published tables. It ignores a
//! common factor, and a total is no mean of its directions.
//!
//! Every term is rounded to a multiple of 2^-52 and added as a whole number, so that any partition
//! of the pairs gives the same bits. Kullback-Leibler needs one pass: sum p ln(p/q) = (sum s
//! ln(s/c)) / S + ln(C/S), with S and C the sums of s and c. Jensen-Shannon needs S and C first,
//! hence the second pass of [`divergence`](crate::metric::evidence::divergence).

use serde::{Deserialize, Serialize};

use crate::metric::evidence::counts::ECCM_CELLS;
use crate::metric::evidence::divergence::DivergenceSums;
use crate::metric::{CatalogFamily, ImpairedGroupRule, Metric, MetricValue, Reads, Undefined};
use crate::num::fixed::FixedSum;

/// Bins of the histograms of scores: edges i/50.
pub const SCORE_BINS: usize = 50;

/// Bins of the histogram of changes: edges (i - 40)/40.
pub const CHANGE_BINS: usize = 80;

/// Scores up to 2^-80 add nothing to a divergence: their term rounds to zero units, whatever the
/// other score is.
const NEGLIGIBLE: f64 = 1.0 / (1_u128 << 80) as f64;

/// What is summed over the pairs of one direction in the first pass, each as often as the person
/// weighs; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShiftSums {
    n: u64,
    score: FixedSum,
    score_cf: FixedSum,
    absolute: FixedSum,
    squared: [FixedSum; ECCM_CELLS],
    /// Sum of s ln(s/c) where both are above 0.
    divergence: FixedSum,
    /// Weight of pairs with s > 0 and c = 0.
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
    /// Adds a pair of scores of [0, 1] that fills this cell of the extended matrix.
    #[inline]
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
        for (mine, theirs) in mine.zip(other.before.iter().chain(&other.after).chain(&other.change))
        {
            *mine += theirs;
        }
    }

    /// Pairs, counted without weights.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Units that the pairs weigh.
    pub(crate) fn weight(&self) -> u64 {
        self.before.iter().sum()
    }

    /// The sums of the factual and of the counterfactual scores.
    pub(crate) fn scores(&self) -> (f64, f64) {
        (self.score.to_f64(), self.score_cf.to_f64())
    }

    /// Sums of squared changes by cell, in the order of
    /// [`CELLS`](crate::metric::evidence::counts::CELLS).
    pub fn squared(&self) -> &[FixedSum; ECCM_CELLS] {
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

/// The scores of one scope as metrics read them, of everybody or of a replicate in which people
/// have weights.
#[derive(Debug, Clone)]
pub struct ScoreShift {
    /// Pairs, counted without weights.
    pub(crate) pairs: f64,
    /// What the pairs weigh: their number where nobody has a weight.
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
    /// The Jensen-Shannon divergence in nats, where both sums of scores are above 0.
    pub(crate) jensen_shannon: MetricValue,
    /// Histogram of s.
    pub(crate) before: [f64; SCORE_BINS],
    /// Histogram of c.
    pub(crate) after: [f64; SCORE_BINS],
}

impl ScoreShift {
    /// Both passes over one scope.
    pub(crate) fn from_sums(sums: &ShiftSums, second: &DivergenceSums) -> Self {
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
            shift.jensen_shannon = Ok(second.value(sums));
        }
        for (bins, counts) in [(&mut shift.before, &sums.before), (&mut shift.after, &sums.after)] {
            bins.iter_mut().zip(counts).for_each(|(bin, &count)| *bin = count as f64);
        }
        shift
    }

    /// The same people with every counterfactual score equal to the factual one.
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

const SCORE_EDGES: [f64; SCORE_BINS + 1] = edges(0.0, SCORE_BINS as f64);
const CHANGE_EDGES: [f64; CHANGE_BINS + 1] =
    edges((CHANGE_BINS / 2) as f64, (CHANGE_BINS / 2) as f64);

/// (i - first) / unit.
const fn edges<const N: usize>(first: f64, unit: f64) -> [f64; N] {
    let mut edges = [0.0; N];
    let mut i = 0;
    while i < N {
        edges[i] = (i as f64 - first) / unit;
        i += 1;
    }
    edges
}

/// Lower edge of a bin of scores, or the upper edge of the one before: i/50.
///
/// # Panics
/// Beyond the last edge, [`SCORE_BINS`].
pub fn score_edge(i: usize) -> f64 {
    SCORE_EDGES[i]
}

/// Lower edge of a bin of changes, or the upper edge of the one before: (i - 40)/40.
///
/// # Panics
/// Beyond the last edge, [`CHANGE_BINS`].
pub fn change_edge(i: usize) -> f64 {
    CHANGE_EDGES[i]
}

/// The last bin whose lower edge is not above the score; the upper end belongs to the last bin.
pub(crate) fn score_bin(score: f64) -> usize {
    last_edge((score * SCORE_BINS as f64) as usize, score, &SCORE_EDGES)
}

fn change_bin(change: f64) -> usize {
    last_edge(((change + 1.0) * (CHANGE_BINS / 2) as f64) as usize, change, &CHANGE_EDGES)
}

/// Rounding may put the guess one bin away: the edges themselves decide.
fn last_edge<const N: usize>(guess: usize, value: f64, edges: &[f64; N]) -> usize {
    let guess = guess.min(N - 2);
    let up = usize::from(guess + 2 < N && value >= edges[guess + 1]);
    let down = usize::from(guess > 0 && value < edges[guess]);
    guess + up - down
}

/// s ln(s/c), the term of a pair in the Kullback-Leibler divergence; 0 where either score is 0 or
/// the term adds nothing.
pub(crate) fn kl_term(score: f64, score_cf: f64) -> f64 {
    if score_cf > 0.0 && score > NEGLIGIBLE { score * log_ratio(score, score_cf) } else { 0.0 }
}

/// ln(a/b) of positive numbers, also where the quotient overflows.
fn log_ratio(a: f64, b: f64) -> f64 {
    // Scores that hardly move are the rule: twice the inverse hyperbolic tangent, whose next term
    // is below 2e-16 of the sum.
    let x = (a - b) / (a + b);
    let sq = x * x;
    if sq < 1.0 / 64.0 {
        let odd = ((((((sq / 15.0 + 1.0 / 13.0) * sq + 1.0 / 11.0) * sq + 1.0 / 9.0) * sq
            + 1.0 / 7.0)
            * sq
            + 0.2)
            * sq
            + 1.0 / 3.0)
            * sq;
        return 2.0 * x * (1.0 + odd);
    }
    let quotient = a / b;
    if quotient.is_finite() { libm::log(quotient) } else { libm::log(a) - libm::log(b) }
}

/// The square root of ln 2.
const JSCD_MAX: f64 = 0.832_554_611_157_697_8;

const JOURNAL_TABLES: &str = "Towards Counterfactual Group Fairness, eq. 6 and Table 2";
const ADDED: &str = "an addition of cfaudit, printed beside JSCD because JSCD ignores a common \
    factor of all scores";
const NO_PAIR: &str = "there is no pair of scores";

const fn metric(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    range: (f64, f64),
    value: fn(&ScoreShift) -> MetricValue,
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: CatalogFamily::Shift,
        formula: "",
        reading: "",
        range,
        ideal: Some(0.0),
        sign: "a distance: never negative",
        undefined_when: NO_PAIR,
        source: ADDED,
        needs_label: false,
        reads: Reads::Shift(value),
        impaired: ImpairedGroupRule::Unstated,
    }
}

/// The list of this family.
pub const METRICS: &[Metric] = &[
    Metric {
        formula: "sqrt(mean (c - s)^2)",
        reading: "how far a score typically moves, large moves weighing more",
        source: JOURNAL_TABLES,
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
        formula: "sqrt(sum p ln(p/m) / 2 + sum q ln(q/m) / 2), m = (p + q) / 2, p = s / sum s, q = \
                  c / sum c, over the pairs",
        reading: "distance of the scores, shared out over people; a common factor of all scores \
                  does not show, and a total is no mean of its directions",
        undefined_when: "there is no pair, or all scores of one side are 0",
        source: JOURNAL_TABLES,
        ..metric("jscd", "JSCD", "Jensen-Shannon counterfactual distance", (0.0, JSCD_MAX), jscd)
    },
    Metric {
        formula: "sum p log2(p/m) / 2 + sum q log2(q/m) / 2 over the shares p, q of 50 equal bins, \
                  m = (p + q) / 2",
        reading: "divergence of the two histograms of scores, in bits; who moved where does not \
                  show",
        ..metric(
            "jsd_hist",
            "JSD_hist",
            "Jensen-Shannon divergence of histograms",
            (0.0, 1.0),
            jsd_hist,
        )
    },
    Metric {
        formula: "sum p ln(p/q) over the shares p, q of 50 equal bins",
        reading: "divergence of the two histograms of scores, in nats",
        undefined_when: "there is no pair, or a bin empties",
        ..metric(
            "kld_hist",
            "KLD_hist",
            "Kullback-Leibler divergence of histograms",
            (0.0, f64::INFINITY),
            kld_hist,
        )
    },
    Metric {
        formula: "sum p ln(p/q) over the shares p, q of 50 equal bins, each with 1/2 added to its \
                  count (with weights: half the mean weight)",
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

/// What the pairs weigh, above 0.
fn total_weight(shift: &ScoreShift) -> MetricValue {
    match shift.n {
        0.0 if shift.pairs == 0.0 => Err(Undefined::EmptyGroup),
        0.0 => Err(Undefined::ZeroWeight),
        n => Ok(n),
    }
}

fn mean(shift: &ScoreShift, sum: f64) -> MetricValue {
    total_weight(shift).map(|n| sum / n)
}

fn rmscd(shift: &ScoreShift) -> MetricValue {
    mean(shift, shift.squared).map(f64::sqrt)
}

fn mcd(shift: &ScoreShift) -> MetricValue {
    mean(shift, shift.change)
}

fn macd(shift: &ScoreShift) -> MetricValue {
    mean(shift, shift.absolute)
}

fn score_sums(shift: &ScoreShift) -> Result<(f64, f64), Undefined> {
    total_weight(shift)?;
    match *shift {
        ScoreShift { score, score_cf, .. } if score <= 0.0 || score_cf <= 0.0 => {
            Err(Undefined::ZeroScoreSum)
        }
        ScoreShift { score, score_cf, .. } => Ok((score, score_cf)),
    }
}

fn kld(shift: &ScoreShift) -> MetricValue {
    let (score, score_cf) = score_sums(shift)?;
    if shift.infinite > 0.0 {
        return Err(Undefined::Infinite);
    }
    Ok((shift.divergence / score + log_ratio(score_cf, score)).max(0.0))
}

fn jscd(shift: &ScoreShift) -> MetricValue {
    score_sums(shift)?;
    shift.jensen_shannon.map(|divergence| divergence.sqrt().min(JSCD_MAX))
}

/// The metrics that read the two histograms: resampling roughens these, so that replicates lie
/// above the value.
pub(crate) const HISTOGRAM_METRICS: [&str; 3] = ["jsd_hist", "kld_hist", "kld_hist_smoothed"];

/// Σ p ln(p/q) over bins with p > 0, in order of the bins.
fn bin_divergence(bins: impl Iterator<Item = (f64, f64)>) -> f64 {
    bins.filter(|(p, _)| *p > 0.0).map(|(p, q)| p * libm::log(p / q)).sum::<f64>().max(0.0)
}

fn bins(shift: &ScoreShift) -> Result<impl Iterator<Item = (f64, f64)>, Undefined> {
    total_weight(shift).map(|_| shift.before.into_iter().zip(shift.after))
}

fn jsd_hist(shift: &ScoreShift) -> MetricValue {
    let n = shift.n;
    let before = bin_divergence(bins(shift)?.map(|(p, q)| (p / n, f64::midpoint(p, q) / n)));
    let after = bin_divergence(bins(shift)?.map(|(p, q)| (q / n, f64::midpoint(p, q) / n)));
    Ok((f64::midpoint(before, after) / std::f64::consts::LN_2).min(1.0))
}

fn kld_hist(shift: &ScoreShift) -> MetricValue {
    let n = shift.n;
    if bins(shift)?.any(|(before, after)| before > 0.0 && after == 0.0) {
        return Err(Undefined::Infinite);
    }
    Ok(bin_divergence(bins(shift)?.map(|(before, after)| (before / n, after / n))))
}

fn kld_hist_smoothed(shift: &ScoreShift) -> MetricValue {
    // Half of what one of them weighs on average: another unit of the weights changes nothing.
    let half = 0.5 * (total_weight(shift)? / shift.pairs);
    let n = shift.n + SCORE_BINS as f64 * half;
    Ok(bin_divergence(
        bins(shift)?.map(|(before, after)| ((before + half) / n, (after + half) / n)),
    ))
}

#[cfg(test)]
mod tests {
    use super::{
        CHANGE_BINS, METRICS, SCORE_BINS, ScoreShift, ShiftSums, change_bin, change_edge,
        log_ratio, score_bin, score_edge,
    };
    use crate::metric::evidence::divergence::DivergenceSums;
    use crate::metric::{MetricValue, Reads, Undefined};

    fn values(pairs: &[(f64, f64)]) -> Vec<MetricValue> {
        let mut sums = ShiftSums::default();
        pairs.iter().for_each(|&(s, c)| sums.add(0, s, c, 1));
        let mut divergence = DivergenceSums::new(&sums);
        pairs.iter().for_each(|&(s, c)| divergence.add(s, c, 1));
        let shift = ScoreShift::from_sums(&sums, &divergence);
        let value = |reads: &Reads| {
            if let Reads::Shift(value) = reads { value(&shift) } else { unreachable!() }
        };
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
        let js =
            (0.25 * ln(2.0 / 3.0) + 0.75 * ln(1.2) + 0.5 * ln(4.0 / 3.0) + 0.5 * ln(0.8)) / 2.0;
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
    fn both_formulas_of_the_logarithm_agree() {
        for i in 1..2000 {
            let (a, b) = (f64::from(i) / 2000.0, 0.3);
            let (found, expected) = (log_ratio(a, b), libm::log(a) - libm::log(b));
            assert!(
                (found - expected).abs() < 1e-15 * expected.abs().max(1.0),
                "{a}: {found} instead of {expected}"
            );
        }
    }

    #[test]
    fn odd_scores_stay_finite() {
        let tiny = f64::from_bits(1);
        for pairs in [
            &[(1.0, tiny), (0.5, 1.0)][..],
            &[(tiny, 1.0), (1.0, 1.0)],
            &[(1.0, tiny)],
            &[(tiny, tiny)],
            &[(1e-16, 1.0), (1e-16, 1e-30)],
        ] {
            for (metric, value) in METRICS.iter().zip(values(pairs)) {
                let fine = value
                    .map_or(true, |v| v.is_finite() && v >= metric.range.0 && v <= metric.range.1);
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
