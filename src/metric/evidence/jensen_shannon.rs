//! The Jensen-Shannon divergence of paired scores: the terms of its sums.
//!
//! Source: Lin 1991, "Divergence measures based on the Shannon entropy"; paired by person as
//! [`shift`](crate::metric::catalog::shift) says. With p = s/S, q = c/C and the side of the larger
//! sum scaled down so that both sum to the same M = min(S, C), the divergence is sum j(a, b) / (2
//! M), j(a, b) = a ln(2a/(a+b)) + b ln(2b/(a+b)). No term is negative, so nothing cancels if scores
//! change very little.
//!
//! S and C must be known before the first term: [`ShiftPass`](crate::metric::evidence::shift_pass)
//! is a second pass over the people. Its interval needs the means of both parts of j,
//! `a ln(2a/(a+b))` and `b ln(2b/(a+b))`, whose difference is a - b and a small rest, the *skew*;
//! as the sums of a and b are the same, the sums of j and of the skew give both.

use serde::{Deserialize, Serialize};

/// If the square of (a - b)/(a + b) is below this, the two scores are almost equal.
pub(crate) const NEAR_SQUARE: f64 = 1.0 / 64.0;

/// The factors that make the two sums of scores equal: one side is scaled down, the other stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScoreBalance {
    /// Factor of factual scores, min(1, C/S); 0 if a sum is 0.
    scale: f64,
    /// Factor of counterfactual scores, min(1, S/C).
    scale_cf: f64,
}

impl ScoreBalance {
    /// The balance of two sums. If one of them is 0, they cannot be balanced, and there is no
    /// divergence.
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

    /// The factors of factual and of counterfactual scores.
    pub(super) fn factors(self) -> (f64, f64) {
        (self.scale, self.scale_cf)
    }

    /// The sum of both sides after scaling, from the sums before.
    pub(crate) fn balanced_sum(self, score: f64, score_cf: f64) -> f64 {
        if self.scale == 1.0 { score } else { score_cf }
    }

    /// The divergence, from the sums of scores and of terms.
    pub(crate) fn divergence(self, score: f64, score_cf: f64, terms: f64) -> f64 {
        (terms / (2.0 * self.balanced_sum(score, score_cf))).max(0.0)
    }
}

/// The shape of a term as a function of the square of x, if that is small: the sum of
/// x^2k / (k (2k - 1)), with an error below 3e-17 of the sum. With m = a + b and x = (a - b)/m the
/// term is m/2 times the sum of (1 + x) ln(1 + x) and (1 - x) ln(1 - x), and the skew is m/2 times
/// their difference minus 2x. The term is symmetric and never negative; the skew changes its sign
/// if the sides are exchanged.
#[inline(always)]
pub(crate) fn term_shape(sq: f64) -> f64 {
    const C: [f64; 8] =
        [1.0 / 120.0, 1.0 / 91.0, 1.0 / 66.0, 1.0 / 45.0, 1.0 / 28.0, 1.0 / 15.0, 1.0 / 6.0, 1.0];
    sq * C.iter().fold(0.0, |sum, c| sum * sq + c)
}

/// The shape of the skew divided by x: minus the sum of x^2k / (k (2k + 1)), with an error below
/// 5e-17 of the sum.
#[inline(always)]
pub(crate) fn skew_shape(sq: f64) -> f64 {
    const C: [f64; 7] =
        [1.0 / 105.0, 1.0 / 78.0, 1.0 / 55.0, 1.0 / 36.0, 1.0 / 21.0, 1.0 / 10.0, 1.0 / 3.0];
    -sq * C.iter().fold(0.0, |sum, c| sum * sq + c)
}

#[cfg(test)]
mod tests {
    use super::ScoreBalance;

    #[test]
    fn both_sides_sum_to_the_smaller_sum() {
        for (score, score_cf) in [(2.0, 3.0), (3.0, 2.0), (1.5, 1.5)] {
            let balance = ScoreBalance::new(score, score_cf);
            let (scale, scale_cf) = balance.factors();
            assert!((score * scale - score_cf * scale_cf).abs() < 1e-15, "{balance:?}");
            assert_eq!(balance.balanced_sum(score, score_cf), score.min(score_cf));
        }
        assert_eq!(ScoreBalance::new(0.0, 1.0).factors(), (0.0, 0.0));
    }
}
