//! Are scores calibrated? Intercept and slope on the log-odds, and the cumulative difference of
//! labels and scores.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::student_interval::{GroupTerms, Spread, UnitTerm};
use crate::metric::value::scores::influence::added;
use crate::num::brownian_range::exceeds_range;

/// Shares are cut to this distance from 0 and 1, where the log-odds end.
pub(super) const CUT_AT: f64 = 1e-6;

/// A step below this ends the fit.
const SMALLEST_STEP: f64 = 1e-12;

/// Share of a likelihood that rounding may lose.
const ROUNDING: f64 = 1e-12;

/// A Newton step, or a part of one, that moves no log-odds by more than this does not lose
/// likelihood: with D the largest move, the likelihood gains at least 1 - (e^D - D - 1) / D^2 times
/// the square of the Newton decrement (Bach 2010, Electronic Journal of Statistics 4, proposition
/// 1), which is 0.12 at 1.5.
const SAFE_MOVE: f64 = 1.5;

/// Steps at most; a fit that exists needs about ten.
const STEPS_AT_MOST: usize = 200;

/// People with their scores as log-odds.
#[derive(Debug, Clone)]
pub(super) struct LogOddsRows<'a> {
    rows: &'a [RankedScore],
    log_odds: Vec<f64>,
    /// Rows whose share was cut.
    pub(super) n_cut: u64,
}

/// A fitted coefficient with what its standard error comes from.
#[derive(Debug, Clone)]
pub(super) struct FittedCoefficient {
    pub(super) value: f64,
    /// From the inverse of the information.
    information: f64,
    /// What each row adds by unit of weight.
    by_weight: Vec<f64>,
}

impl FittedCoefficient {
    /// Its variance: of people without weights from the information, else from influences.
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

    /// What each row adds.
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
    /// For rows whose place is their log-odds, or whose share gives them.
    pub(super) fn new(rows: &'a [RankedScore], places_are_log_odds: bool) -> Self {
        let cut = |row: &RankedScore| row.share.clamp(CUT_AT, 1.0 - CUT_AT);
        let of = |row: &RankedScore| match (places_are_log_odds, cut(row)) {
            (true, _) => row.place,
            (false, share) => libm::log(share) - libm::log(1.0 - share),
        };
        let is_cut = |row: &&RankedScore| !places_are_log_odds && cut(row) != row.share;
        LogOddsRows {
            rows,
            log_odds: rows.iter().map(of).collect(),
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
        let own = self.rows.iter().zip(&self.log_odds);
        let each = own.map(|(row, &x)| {
            let (w, z) = (row.weight as f64, a + b * x);
            // ln(1 + e^z) without overflow.
            let softplus = z.max(0.0) + libm::log1p(libm::exp(-z.abs()));
            w * (f64::from(u8::from(row.positive)) * z - softplus)
        });
        each.sum()
    }

    /// Maximum likelihood by Newton's steps from (0, 1); a step that loses likelihood is halved.
    fn fit(&self, free_slope: bool) -> Result<([f64; 2], LogisticSums), Undefined> {
        let mut at = [0.0, 1.0];
        let mut sums = self.sums(at);
        let farthest = self.log_odds.iter().fold(0.0_f64, |far, x| far.max(x.abs()));
        for _ in 0..STEPS_AT_MOST {
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
                    let here = self.likelihood(at);
                    self.likelihood(next) >= here - ROUNDING * (1.0 + here.abs())
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
            let own = self.rows.iter().zip(&self.log_odds);
            let own = own.filter(|(row, _)| row.positive == positive).map(|(_, x)| *x);
            own.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)))
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
    /// Its range: largest minus smallest.
    pub(super) range: f64,
    /// Its largest distance from 0.
    pub(super) distance: f64,
    /// Standard deviation of its end if all scores are right.
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

    /// How likely scores that are right reach this range.
    pub(super) fn p(&self) -> MetricValue {
        if self.sigma == 0.0 {
            return Err(Undefined::ZeroSigma);
        }
        Ok(exceeds_range(self.range / self.sigma))
    }
}
