//! How likely the range of Brownian motion exceeds a number.
//!
//! Feller 1951, The asymptotic distribution of the range of sums of independent random variables,
//! in two series that agree to 1e-16 from 0.3 to 6: one for large ranges, its dual for small ones.

use std::f64::consts::PI;

use crate::num::summary::upper_tail;

/// Below this range the probability rounds to 1.
const SMALLEST: f64 = 0.1;

/// P(range of standard Brownian motion on [0, 1] > r), for r of 0 or above.
pub(crate) fn exceeds_range(r: f64) -> f64 {
    if r < SMALLEST {
        return 1.0;
    }
    if r < 2.0 {
        let term = |j: u32| {
            let q = f64::from(2 * j + 1) * PI;
            (1.0 / (r * r) + 1.0 / (q * q)) * libm::exp(-q * q / (2.0 * r * r))
        };
        return 1.0 - 8.0 * (0..8).map(term).sum::<f64>();
    }
    let term = |k: u32| {
        let (sign, k) = (if k.is_multiple_of(2) { -1.0 } else { 1.0 }, f64::from(k));
        sign * k * upper_tail(k * r)
    };
    8.0 * (1..=11).map(term).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::exceeds_range;

    /// The mean of the range is sqrt(8 / pi), its mean square 4 ln 2 (Feller 1951): integrals of P
    /// and of 2 r P.
    #[test]
    fn mean_and_mean_square_are_those_of_the_range() {
        let steps = 40_000;
        let (mut mean, mut square) = (0.0, 0.0);
        for i in 0..steps {
            let r = 10.0 * (f64::from(i) + 0.5) / f64::from(steps);
            mean += exceeds_range(r);
            square += 2.0 * r * exceeds_range(r);
        }
        let width = 10.0 / f64::from(steps);
        let expected = (8.0 / std::f64::consts::PI).sqrt();
        assert!((mean * width - expected).abs() < 1e-8, "{}", mean * width);
        let expected = 4.0 * std::f64::consts::LN_2;
        assert!((square * width - expected).abs() < 1e-7, "{}", square * width);
    }

    #[test]
    fn it_falls_and_both_series_meet() {
        assert_eq!(exceeds_range(0.0), 1.0);
        let two = [exceeds_range(2.0_f64.next_down()), exceeds_range(2.0)];
        assert!((two[0] - two[1]).abs() < 1e-14);
        let all: Vec<f64> = (0..60).map(|i| exceeds_range(f64::from(i) / 5.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] >= pair[1]) && all.iter().all(|p| *p >= 0.0));
    }
}
