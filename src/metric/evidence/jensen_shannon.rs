//! The Jensen-Shannon divergence of paired scores: its sums, and how they follow the scores when
//! people weigh more or less.
//!
//! Source: Lin 1991, "Divergence measures based on the Shannon entropy"; paired by person as
//! [`shift`](crate::metric::catalog::shift) says. With p = s/S, q = c/C and the side of the larger
//! sum scaled down so that both sum to the same A = min(S, C), the divergence is sum j(a, b) / (2
//! A), j(a, b) = a ln(2a/(a+b)) + b ln(2b/(a+b)). No term is negative, so nothing cancels where
//! scores hardly move.
//!
//! S and C must be known before the first term: [`ShiftPass`](crate::metric::evidence::shift_pass)
//! is a second pass over the people. So that none is needed, the ratio of S and C is estimated
//! first from some of the people (see [`redraw`](crate::metric::bootstrap::redraw)); and a
//! bootstrap would need one for every replicate, because its ratio of sums differs. For both j is
//! expanded in v, the change of the logarithm of that ratio: with x = b e^v, dj/dv = x
//! ln(2x/(a+x)), whose series follows from those of e^v and of ln(a + x); the latter has the
//! cumulants of a yes-no variable with probability t = b/(a+b) as coefficients. The series of j
//! converges for |v| < pi. Kept are powers up to 6: the error of the divergence is below 1e-12
//! for |v| up to [`EXACT_STEP`], below 2e-8 for |v| up to [`MAX_STEP`].

use serde::{Deserialize, Serialize};

/// Up to this change of the logarithm of the ratio of sums the expansion represents the exact
/// value.
pub(crate) const EXACT_STEP: f64 = 0.05;

/// Beyond this change it represents nothing.
pub(crate) const MAX_STEP: f64 = 0.25;

/// Coefficients of the expansion: powers 0 to 6.
pub(crate) const ORDER: usize = 7;

/// Squares of (a - b)/(a + b) below it are those of scores that hardly move.
pub(crate) const NEAR_SQUARE: f64 = 1.0 / 64.0;

/// What makes the two sums of scores equal: one side is scaled down, the other stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreBalance {
    /// Factor of factual scores, min(1, C/S); 0 where a sum is 0.
    scale: f64,
    /// Factor of counterfactual scores, min(1, S/C).
    scale_cf: f64,
}

impl ScoreBalance {
    /// Of these sums; none balances where one is 0, and then there is no divergence.
    pub(crate) fn new(score: f64, score_cf: f64) -> Self {
        if score > 0.0 && score_cf > 0.0 {
            ScoreBalance {
                scale: (score_cf / score).min(1.0),
                scale_cf: (score / score_cf).min(1.0),
            }
        } else {
            ScoreBalance { scale: 0.0, scale_cf: 0.0 }
        }
    }

    /// Whether both sums are above 0.
    pub(crate) fn exists(self) -> bool {
        self.scale > 0.0 && self.scale_cf > 0.0
    }

    /// Whether factual scores stay as they are.
    pub(crate) fn factual_stays(self) -> bool {
        self.scale == 1.0
    }

    /// The factor of the side that does not stay as it is.
    pub(crate) fn scale_of_moving(self) -> f64 {
        if self.factual_stays() { self.scale_cf } else { self.scale }
    }

    /// The term of a pair.
    pub(crate) fn term(self, score: f64, score_cf: f64) -> f64 {
        term(score * self.scale, score_cf * self.scale_cf)
    }

    /// The coefficients of a pair; the variable is [`ScoreBalance::step`].
    pub(crate) fn series(self, score: f64, score_cf: f64) -> [f64; ORDER] {
        if self.factual_stays() {
            series(score, score_cf * self.scale_cf)
        } else {
            series(score_cf, score * self.scale)
        }
    }

    /// How far the logarithm of the ratio of these sums, both above 0, lies from that of the
    /// balanced ones.
    pub(crate) fn step(self, score: f64, score_cf: f64) -> f64 {
        if self.factual_stays() {
            libm::log(score / score_cf / self.scale_cf)
        } else {
            libm::log(score_cf / score / self.scale)
        }
    }

    /// The divergence of a replicate: its sums of scores, and its sum of terms, which is that of
    /// the side that stays.
    pub(crate) fn divergence(self, score: f64, score_cf: f64, terms: f64) -> f64 {
        let stays = if self.factual_stays() { score } else { score_cf };
        (terms / (2.0 * stays)).max(0.0)
    }
}

/// j(a, b), symmetric and never negative. With m = a + b and x = (a - b)/m it is m/2 [(1 + x)
/// ln(1 + x) + (1 - x) ln(1 - x)].
pub(crate) fn term(a: f64, b: f64) -> f64 {
    let both = a + b;
    if both == 0.0 {
        return 0.0;
    }
    let x = (a - b) / both;
    let sq = x * x;
    let shape = if sq < NEAR_SQUARE {
        term_shape(sq)
    } else {
        let entropy = |y: f64| if y > 0.0 { y * libm::log(y) } else { 0.0 };
        entropy(1.0 + x) + entropy(1.0 - x)
    };
    0.5 * both * shape
}

/// The shape of a term by the square of x, where it is small: x^2k / (k (2k - 1)). What is left out
/// is below 3e-17 of the sum.
#[inline(always)]
pub(crate) fn term_shape(sq: f64) -> f64 {
    const C: [f64; 8] =
        [1.0 / 120.0, 1.0 / 91.0, 1.0 / 66.0, 1.0 / 45.0, 1.0 / 28.0, 1.0 / 15.0, 1.0 / 6.0, 1.0];
    sq * C.iter().fold(0.0, |sum, c| sum * sq + c)
}

/// The coefficients of j(a, b e^v) by powers of v.
pub(crate) fn series(a: f64, b: f64) -> [f64; ORDER] {
    let mut coefficients = [0.0; ORDER];
    coefficients[0] = term(a, b);
    let t = b / (a + b);
    // Nothing moves with v where b is 0, or so small compared with a that its share is lost.
    if b == 0.0 || t == 0.0 {
        return coefficients;
    }
    coefficients[1..].copy_from_slice(&power_series(b, t, libm::log(2.0 * t)));
    coefficients
}

/// The coefficients of powers of v from the first on, by b, t = b/(a + b) and ln 2t.
#[inline(always)]
pub(crate) fn power_series(b: f64, t: f64, log_2t: f64) -> [f64; ORDER - 1] {
    let k2 = t * (1.0 - t);
    let k3 = k2 * (1.0 - 2.0 * t);
    // ln(2x/(a+x)) = ln 2t + v minus the cumulants of a yes-no variable over factorials: t v + k2
    // v^2/2 + k3 v^3/6 + ...
    let log = [
        log_2t,
        1.0 - t,
        -k2 / 2.0,
        -k3 / 6.0,
        -k2 * (1.0 - 6.0 * k2) / 24.0,
        -k3 * (1.0 - 12.0 * k2) / 120.0,
    ];
    const EXP: [f64; ORDER - 1] = [1.0, 1.0, 0.5, 1.0 / 6.0, 1.0 / 24.0, 1.0 / 120.0];
    let mut coefficients = [0.0; ORDER - 1];
    let mut power = 1;
    while power < ORDER {
        let (mut product, mut i) = (0.0, 0);
        while i < power {
            product += log[i] * EXP[power - 1 - i];
            i += 1;
        }
        coefficients[power - 1] = b * product / power as f64;
        power += 1;
    }
    coefficients
}

/// The value of an expansion at v.
pub(crate) fn evaluate_series(coefficients: impl DoubleEndedIterator<Item = f64>, v: f64) -> f64 {
    coefficients.rev().fold(0.0, |sum, c| sum * v + c)
}

#[cfg(test)]
mod tests {
    use super::{EXACT_STEP, MAX_STEP, ScoreBalance, evaluate_series, series, term};
    use crate::num::seed::RandomStream;

    #[test]
    fn terms_agree_with_their_definition() {
        let plain = |a: f64, b: f64| {
            let part = |x: f64| if x > 0.0 { x * libm::log(2.0 * x / (a + b)) } else { 0.0 };
            part(a) + part(b)
        };
        let mut stream = RandomStream::new(1, "terms");
        for _ in 0..1000 {
            let (a, b) = (stream.u01(), stream.u01());
            assert!((term(a, b) - plain(a, b)).abs() < 1e-15, "{a} {b}");
            assert_eq!(term(a, b), term(b, a));
        }
        assert_eq!([term(0.0, 0.0), term(0.5, 0.5)], [0.0; 2]);
        assert!((term(0.0, 1.0) - libm::log(2.0)).abs() < 1e-16);
        // Both formulas at the place where they meet.
        let x = 0.125;
        let (inside, outside) = (term(1.0 + x - 1e-14, 1.0 - x), term(1.0 + x + 1e-14, 1.0 - x));
        assert!((inside - outside).abs() < 1e-14, "{inside} {outside}");
    }

    /// The bounds that the head of this file states, over pairs of all kinds.
    #[test]
    fn the_expansion_keeps_its_word() {
        let mut stream = RandomStream::new(2, "expansion");
        for (reach, bound) in [(EXACT_STEP, 2e-13), (MAX_STEP, 2e-8)] {
            for _ in 0..2000 {
                let cubed = |u: f64| u * u * u;
                let (a, b) = (cubed(stream.u01()), cubed(stream.u01()));
                for v in [-reach, -reach / 3.0, 0.0, reach] {
                    let (exact, found) =
                        (term(a, b * libm::exp(v)), evaluate_series(series(a, b).into_iter(), v));
                    assert!(
                        (exact - found).abs() <= bound * a.max(b) + 1e-17,
                        "{a} {b} {v}: {found} instead of {exact}"
                    );
                }
            }
        }
        let ends = [
            series(0.0, 0.0),
            series(0.3, 0.0),
            series(0.0, 0.3),
            series(1.0, f64::from_bits(1)),
            series(f64::from_bits(1), 1.0),
        ];
        assert!(ends.as_flattened().iter().all(|c| c.is_finite()), "{ends:?}");
    }

    /// Whichever side is the larger, replicates come out as their own balance gives them.
    #[test]
    fn a_step_leads_from_one_balance_to_another() {
        let pairs = [(0.2, 0.25), (0.7, 0.5), (0.4, 0.8), (0.1, 0.1)];
        for swap in [false, true] {
            let pairs = pairs.map(|(s, c)| if swap { (c, s) } else { (s, c) });
            let sums = |weights: [f64; 4]| {
                let of = |side: fn((f64, f64)) -> f64| {
                    pairs.iter().zip(weights).map(|(&pair, w)| w * side(pair)).sum::<f64>()
                };
                (of(|p| p.0), of(|p| p.1))
            };
            let (weights, (score, score_cf)) = ([1.0, 1.1, 0.95, 1.0], sums([1.0; 4]));
            let first = ScoreBalance::new(score, score_cf);
            let (score, score_cf) = sums(weights);
            let own = ScoreBalance::new(score, score_cf);
            let total = |f: &dyn Fn(f64, f64) -> f64| {
                pairs.iter().zip(weights).map(|(&(s, c), w)| w * f(s, c)).sum::<f64>()
            };
            let exact = own.divergence(score, score_cf, total(&|s, c| own.term(s, c)));
            let v = first.step(score, score_cf);
            let expanded = first.divergence(
                score,
                score_cf,
                total(&|s, c| evaluate_series(first.series(s, c).into_iter(), v)),
            );
            assert!(v != 0.0 && v.abs() < EXACT_STEP, "{v}");
            assert!((exact - expanded).abs() < 1e-14, "{exact} {expanded}");
        }
    }
}
