//! Calibration of scores: intercept and slope on the log-odds, and the cumulative difference of
//! labels and scores.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::student_interval::{GroupTerms, Spread, UnitTerm};
use crate::metric::value::scores::influence::added;
use crate::num::brownian_range::exceeds_range;

/// Shares are limited to this distance from 0 and 1, where the log-odds are infinite.
pub(super) const CUT_AT: f64 = 1e-6;

/// The fit ends with a step below this.
const SMALLEST_STEP: f64 = 1e-12;

/// The share of a likelihood that can be lost by rounding.
const ROUNDING: f64 = 1e-12;

/// A Newton step, or a part of one, that moves no log-odds by more than this does not decrease the
/// likelihood: if D is the largest move, it gains at least 1 - (e^D - D - 1) / D^2 times
/// the square of the Newton decrement (Bach 2010, Electronic Journal of Statistics 4, proposition
/// 1), which is 0.12 at 1.5.
const SAFE_MOVE: f64 = 1.5;

/// The largest number of steps; a fit that exists needs about ten.
const MAX_STEPS: usize = 200;

/// People with their scores as log-odds.
#[derive(Debug, Clone)]
pub(super) struct LogOddsRows<'a> {
    rows: &'a [RankedScore],
    log_odds: Vec<f64>,
    /// The number of rows whose share was limited.
    pub(super) n_cut: u64,
}

/// A fitted coefficient with the basis of its standard error.
#[derive(Debug, Clone)]
pub(super) struct FittedCoefficient {
    pub(super) value: f64,
    /// From the inverse of the information.
    information: f64,
    /// The influence of each row per unit of weight.
    by_weight: Vec<f64>,
}

impl FittedCoefficient {
    /// The variance: for people without weights from the information, else from influences.
    pub(super) fn spread(
        &self,
        rows: &LogOddsRows<'_>,
        (plain, by_person): (bool, bool),
    ) -> Option<Spread> {
        if plain {
            return Some(Spread { variance: self.information, df: f64::INFINITY });
        }
        GroupTerms::new(self.influences(rows), by_person).spread
    }

    /// The influence of each row.
    pub(super) fn influences(&self, rows: &LogOddsRows<'_>) -> Vec<UnitTerm> {
        let each = rows.rows.iter().zip(&self.by_weight);
        each.map(|(row, each)| added(row, *each)).collect()
    }
}

/// Gradient and information at an intercept and a slope.
#[derive(Default)]
struct LogisticSums {
    gradient: [f64; 2],
    information: [f64; 3],
}

impl<'a> LogOddsRows<'a> {
    /// Log-odds of rows: the rank itself if ranks are log-odds, else from the share.
    pub(super) fn new(rows: &'a [RankedScore], places_are_log_odds: bool) -> Self {
        let limited = |row: &RankedScore| row.share.clamp(CUT_AT, 1.0 - CUT_AT);
        let log_odds = |row: &RankedScore| match (places_are_log_odds, limited(row)) {
            (true, _) => row.place,
            (false, share) => libm::log(share) - libm::log(1.0 - share),
        };
        let is_cut = |row: &&RankedScore| !places_are_log_odds && limited(row) != row.share;
        LogOddsRows {
            rows,
            log_odds: rows.iter().map(log_odds).collect(),
            n_cut: rows.iter().filter(is_cut).map(|row| row.n).sum(),
        }
    }

    fn probability(z: f64) -> f64 {
        1.0 / (1.0 + libm::exp(-z))
    }

    fn sums(&self, [a, b]: [f64; 2]) -> LogisticSums {
        let mut sums = LogisticSums::default();
        for (row, &x) in self.rows.iter().zip(&self.log_odds) {
            let (w, z) = (row.weight as f64, a + b * x);
            let p = Self::probability(z);
            let y = f64::from(u8::from(row.positive));
            let (error, spread) = (w * (y - p), w * p * (1.0 - p));
            sums.gradient[0] += error;
            sums.gradient[1] += error * x;
            sums.information[0] += spread;
            sums.information[1] += spread * x;
            sums.information[2] += spread * x * x;
        }
        sums
    }

    fn likelihood(&self, [a, b]: [f64; 2]) -> f64 {
        let rows = self.rows.iter().zip(&self.log_odds);
        let each = rows.map(|(row, &x)| {
            let (w, z) = (row.weight as f64, a + b * x);
            // ln(1 + e^z) without overflow.
            let softplus = z.max(0.0) + libm::log1p(libm::exp(-z.abs()));
            w * (f64::from(u8::from(row.positive)) * z - softplus)
        });
        each.sum()
    }

    /// Maximum likelihood by Newton's steps from (0, 1); a step that decreases it is halved.
    fn fit(&self, free_slope: bool) -> Result<([f64; 2], LogisticSums), Undefined> {
        let mut at = [0.0, 1.0];
        let mut sums = self.sums(at);
        let farthest = self.log_odds.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
        for _ in 0..MAX_STEPS {
            let ([g0, g1], [h0, h1, h2]) = (sums.gradient, sums.information);
            let mut step = if free_slope {
                let det = h0 * h2 - h1 * h1;
                [(h2 * g0 - h1 * g1) / det, (h0 * g1 - h1 * g0) / det]
            } else {
                [g0 / h0, 0.0]
            };
            if !step.iter().all(|s| s.is_finite()) {
                return Err(Undefined::NoConvergence);
            }
            loop {
                if step[0].abs().max(step[1].abs()) < SMALLEST_STEP {
                    return Ok((at, sums));
                }
                let next = [at[0] + step[0], at[1] + step[1]];
                let gains = || {
                    let current = self.likelihood(at);
                    self.likelihood(next) >= current - ROUNDING * (1.0 + current.abs())
                };
                if step[0].abs() + step[1].abs() * farthest <= SAFE_MOVE || gains() {
                    (at, sums) = (next, self.sums(next));
                    break;
                }
                step = step.map(|s| s / 2.0);
            }
        }
        Err(Undefined::NoConvergence)
    }

    fn residuals(&self, [a, b]: [f64; 2]) -> impl Iterator<Item = (f64, f64)> {
        self.rows.iter().zip(&self.log_odds).map(move |(row, &x)| {
            (x, f64::from(u8::from(row.positive)) - Self::probability(a + b * x))
        })
    }

    /// The intercept with slope 1.
    pub(super) fn intercept(&self) -> Result<FittedCoefficient, Undefined> {
        let (at, sums) = self.fit(false)?;
        let h0 = sums.information[0];
        Ok(FittedCoefficient {
            value: at[0],
            information: 1.0 / h0,
            by_weight: self.residuals(at).map(|(_, error)| error / h0).collect(),
        })
    }

    /// The slope with a free intercept.
    pub(super) fn slope(&self) -> Result<FittedCoefficient, Undefined> {
        let ends = |positive: bool| {
            let rows = self.rows.iter().zip(&self.log_odds);
            let rows = rows.filter(|(row, _)| row.positive == positive).map(|(_, x)| *x);
            rows.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)))
        };
        let (above, below) = (ends(true), ends(false));
        if above.0.min(below.0) == above.1.max(below.1) {
            return Err(Undefined::ConstantScore);
        }
        if above.1 <= below.0 || below.1 <= above.0 {
            return Err(Undefined::Separated);
        }
        let (at, sums) = self.fit(true)?;
        let [h0, h1, h2] = sums.information;
        let det = h0 * h2 - h1 * h1;
        Ok(FittedCoefficient {
            value: at[1],
            information: h0 / det,
            by_weight: self.residuals(at).map(|(x, e)| e * (h0 * x - h1) / det).collect(),
        })
    }
}

/// The cumulative difference of labels and scores.
#[derive(Debug, Clone, Copy)]
pub(super) struct CumulativeDifference {
    /// The range: largest minus smallest value.
    pub(super) range: f64,
    /// The largest distance from 0.
    pub(super) distance: f64,
    /// The standard deviation of the last value if all scores are calibrated.
    sigma: f64,
}

impl CumulativeDifference {
    /// For rows in ascending order; ties are added together.
    pub(super) fn new(rows: &[RankedScore]) -> Self {
        let weight: f64 = rows.iter().map(|row| row.weight as f64).sum();
        let (mut sum, mut lowest, mut highest) = (0.0_f64, 0.0_f64, 0.0_f64);
        for ties in rows.chunk_by(|a, b| a.place == b.place) {
            let excess = |row: &RankedScore| {
                row.weight as f64 * (f64::from(u8::from(row.positive)) - row.share)
            };
            sum += ties.iter().map(excess).sum::<f64>();
            (lowest, highest) = (lowest.min(sum), highest.max(sum));
        }
        let spread = |row: &RankedScore| row.squares * row.share * (1.0 - row.share);
        CumulativeDifference {
            range: (highest - lowest) / weight,
            distance: highest.max(-lowest) / weight,
            sigma: rows.iter().map(spread).sum::<f64>().sqrt() / weight,
        }
    }

    /// The probability that calibrated scores reach this range.
    pub(super) fn p(&self) -> MetricValue {
        if self.sigma == 0.0 {
            return Err(Undefined::ZeroSigma);
        }
        Ok(exceeds_range(self.range / self.sigma))
    }
}
