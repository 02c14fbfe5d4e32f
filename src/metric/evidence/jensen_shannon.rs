//! The Jensen-Shannon divergence of paired scores: the terms of its sums.
//!
//! Source: Lin 1991, "Divergence measures based on the Shannon entropy"; paired by person as
//! [`shift`](crate::metric::catalog::shift) says. With p = s/S, q = c/C and the side of the larger
//! sum scaled down so that both sum to the same M = min(S, C), the divergence is sum j(a, b) / (2
//! M), j(a, b) = a ln(2a/(a+b)) + b ln(2b/(a+b)). No term is negative, so nothing cancels where
//! scores hardly move.
//!
//! S and C must be known before the first term: [`ShiftPass`](crate::metric::evidence::shift_pass)
//! is a second pass over the people. Its interval needs the means of both parts of j, `a ln(2a/(a+b))`
//! and `b ln(2b/(a+b))`, whose difference is a - b and a small rest, the *skew*; as the sums of a
//! and b are the same, the sums of j and of the skew give both.

use serde::{Deserialize, Serialize};

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

    /// A pair with its terms; nothing where the balance does not exist.
    pub(crate) fn pair(self, score: f64, score_cf: f64) -> BalancedPair {
        let (a, b) = (score * self.scale, score_cf * self.scale_cf);
        let (term, skew) = terms(a, b);
        BalancedPair { scale: self.scale, a, b, term, skew }
    }

    /// What both sides sum to, the sums of the scores as they are being these.
    pub(crate) fn balanced_sum(self, score: f64, score_cf: f64) -> f64 {
        if self.scale == 1.0 { score } else { score_cf }
    }

    /// The divergence by the sums of scores and of terms.
    pub(crate) fn divergence(self, score: f64, score_cf: f64, terms: f64) -> f64 {
        (terms / (2.0 * self.balanced_sum(score, score_cf))).max(0.0)
    }
}

/// A pair of scores under a balance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct BalancedPair {
    /// The factor of the factual score.
    pub(crate) scale: f64,
    pub(crate) a: f64,
    pub(crate) b: f64,
    /// j(a, b).
    pub(crate) term: f64,
    /// What the two parts of j differ by beyond a - b.
    pub(crate) skew: f64,
}

/// j(a, b), symmetric and never negative, and the skew, whose sign changes with the sides. With m =
/// a + b and x = (a - b)/m they are m/2 times the sum and the difference of (1 + x) ln(1 + x) and
/// (1 - x) ln(1 - x), of the latter without 2x.
fn terms(a: f64, b: f64) -> (f64, f64) {
    let both = a + b;
    if both == 0.0 {
        return (0.0, 0.0);
    }
    let x = (a - b) / both;
    let sq = x * x;
    let (shape, skew) = if sq < NEAR_SQUARE {
        (term_shape(sq), x * skew_shape(sq))
    } else {
        let entropy = |y: f64| if y > 0.0 { y * libm::log(y) } else { 0.0 };
        let (up, down) = (entropy(1.0 + x), entropy(1.0 - x));
        (up + down, up - down - 2.0 * x)
    };
    (0.5 * both * shape, 0.5 * both * skew)
}

/// The shape of a term by the square of x, where it is small: x^2k / (k (2k - 1)). What is left out
/// is below 3e-17 of the sum.
#[inline(always)]
pub(crate) fn term_shape(sq: f64) -> f64 {
    const C: [f64; 8] =
        [1.0 / 120.0, 1.0 / 91.0, 1.0 / 66.0, 1.0 / 45.0, 1.0 / 28.0, 1.0 / 15.0, 1.0 / 6.0, 1.0];
    sq * C.iter().fold(0.0, |sum, c| sum * sq + c)
}

/// The shape of the skew, over x: minus the sum of x^2k / (k (2k + 1)). What is left out is below
/// 5e-17 of the sum.
fn skew_shape(sq: f64) -> f64 {
    const C: [f64; 7] =
        [1.0 / 105.0, 1.0 / 78.0, 1.0 / 55.0, 1.0 / 36.0, 1.0 / 21.0, 1.0 / 10.0, 1.0 / 3.0];
    -sq * C.iter().fold(0.0, |sum, c| sum * sq + c)
}

#[cfg(test)]
mod tests {
    use super::{ScoreBalance, terms};
    use crate::num::seed::RandomStream;

    #[test]
    fn terms_agree_with_their_definition() {
        let plain = |a: f64, b: f64| {
            let part = |x: f64| if x > 0.0 { x * libm::log(2.0 * x / (a + b)) } else { 0.0 };
            (part(a), part(b))
        };
        let mut stream = RandomStream::new(1, "terms");
        for _ in 0..1000 {
            let (a, b) = (stream.u01(), stream.u01());
            let ((of_a, of_b), (term, skew)) = (plain(a, b), terms(a, b));
            assert!((term - of_a - of_b).abs() < 1e-15, "{a} {b}");
            assert!((skew - (of_a - of_b - (a - b))).abs() < 1e-15, "{a} {b}");
            assert_eq!(terms(b, a), (term, -skew));
        }
        assert_eq!([terms(0.0, 0.0), terms(0.5, 0.5)], [(0.0, 0.0); 2]);
        assert!((terms(0.0, 1.0).0 - libm::log(2.0)).abs() < 1e-16);
        // Both formulas at the place where they meet.
        let x = 0.125;
        let (inside, outside) = (terms(1.0 + x - 1e-14, 1.0 - x), terms(1.0 + x + 1e-14, 1.0 - x));
        assert!((inside.0 - outside.0).abs() < 1e-14, "{inside:?} {outside:?}");
        assert!((inside.1 - outside.1).abs() < 1e-14, "{inside:?} {outside:?}");
    }

    #[test]
    fn both_sides_sum_to_the_smaller_sum() {
        for (score, score_cf) in [(2.0, 3.0), (3.0, 2.0), (1.5, 1.5)] {
            let balance = ScoreBalance::new(score, score_cf);
            let pair = balance.pair(score, score_cf);
            assert!((pair.a - pair.b).abs() < 1e-15 && pair.term < 1e-15, "{pair:?}");
            assert_eq!(balance.balanced_sum(score, score_cf), score.min(score_cf));
        }
        assert_eq!(ScoreBalance::new(0.0, 1.0).pair(0.0, 0.5).term, 0.0);
    }
}
