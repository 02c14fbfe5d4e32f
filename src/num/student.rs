//! Quantiles of Student's t distribution, also for degrees of freedom that are not whole numbers.
//!
//! The quantile solves I(x; df / 2, 1 / 2) = 2 (1 - p) for x = df / (df + t^2), I the regularised
//! incomplete beta function (its continued fraction: Lentz's method, Press et al. 2007, section
//! 6.4), by bisection and secant steps. From [`MANY`] degrees of freedom on the expansion around
//! the normal quantile (Abramowitz and Stegun 26.7.5) is exact to the last digits.

use crate::num::summary::normal_quantile;

/// Degrees of freedom from which on the expansion is used.
const MANY: f64 = 2000.0;

/// Steps of the continued fraction at most; it needs about the square root of the larger parameter.
const FRACTION_STEPS: usize = 500;

/// The quantile `p`, from 1/2 to below 1, for `df` degrees of freedom above 0; NaN otherwise.
pub(crate) fn student_quantile(p: f64, df: f64) -> f64 {
    if !(df > 0.0 && (0.5..1.0).contains(&p)) {
        return f64::NAN;
    }
    if p == 0.5 {
        return 0.0;
    }
    let z = normal_quantile(p);
    if df >= MANY {
        return around_normal(z, df);
    }
    let outside = 2.0 * (1.0 - p);
    let (mut lo, mut hi) = (0.0, z.max(1.0));
    while both_tails(hi, df) > outside && hi < f64::MAX / 4.0 {
        (lo, hi) = (hi, hi * 2.0);
    }
    // Each step halves the bracket at least; 200 steps end it wherever it began.
    for _ in 0..200 {
        let middle = f64::midpoint(lo, hi);
        if middle <= lo || middle >= hi {
            break;
        }
        if both_tails(middle, df) > outside { lo = middle } else { hi = middle }
    }
    f64::midpoint(lo, hi)
}

/// Satterthwaite's degrees of freedom of a variance: its square over the sum of v^2 / df of those
/// of its parts v that are estimated. For two means these are Welch's.
pub(crate) fn satterthwaite(variance: f64, estimated: &[(f64, f64)]) -> f64 {
    variance * variance / estimated.iter().map(|(v, df)| v * v / df).sum::<f64>()
}

/// Cornish and Fisher's expansion in 1 / df.
fn around_normal(z: f64, df: f64) -> f64 {
    let sq = z * z;
    let terms = [
        (sq + 1.0) / 4.0,
        ((5.0 * sq + 16.0) * sq + 3.0) / 96.0,
        (((3.0 * sq + 19.0) * sq + 17.0) * sq - 15.0) / 384.0,
        ((((79.0 * sq + 776.0) * sq + 1482.0) * sq - 1920.0) * sq - 945.0) / 92_160.0,
    ];
    z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / df))
}

/// The share beyond t on both sides, for t of 0 or above.
fn both_tails(t: f64, df: f64) -> f64 {
    let below = df + t * t;
    incomplete_beta(df / 2.0, 0.5, df / below, t * t / below)
}

/// The regularised incomplete beta function of x, with y = 1 - x.
pub(crate) fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return f64::from(u8::from(y <= 0.0));
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log(y);
    let front = libm::exp(front);
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, y) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut all = d;
    for step in 1..=FRACTION_STEPS {
        let m = step as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        all *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        all *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{MANY, around_normal, student_quantile};
    use crate::num::summary::normal_quantile;

    /// One degree of freedom: tan(pi (p - 1/2)); two: (2 p - 1) sqrt(2 / (4 p (1 - p))). The others
    /// are printed in tables of the distribution to the digits given.
    #[test]
    fn quantiles() {
        for p in [0.6, 0.75, 0.9, 0.975, 0.995, 0.9999] {
            let one = libm::tan(std::f64::consts::PI * (p - 0.5));
            let two = (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt();
            for (df, expected) in [(1.0, one), (2.0, two)] {
                let found = student_quantile(p, df);
                assert!((found - expected).abs() < 1e-10 * expected, "{p} {df}: {found}");
            }
        }
        for (p, df, expected) in [
            (0.975, 3.0, 3.182_446),
            (0.975, 10.0, 2.228_139),
            (0.975, 30.0, 2.042_272),
            (0.975, 120.0, 1.979_930),
            (0.995, 5.0, 4.032_143),
            (0.95, 7.0, 1.894_579),
        ] {
            let found = student_quantile(p, df);
            assert!((found - expected).abs() < 1e-6, "{p} {df}: {found}");
        }
    }

    #[test]
    fn the_expansion_meets_the_fraction() {
        for p in [0.6, 0.9, 0.975, 0.9995] {
            let df = MANY.next_down();
            let (found, expected) =
                (student_quantile(p, df), around_normal(normal_quantile(p), df));
            assert!((found - expected).abs() < 1e-11 * expected, "{p}: {found}, {expected}");
        }
        assert!(student_quantile(0.975, 1e12) - normal_quantile(0.975) < 1e-9);
    }

    #[test]
    fn what_has_no_quantile() {
        assert_eq!(student_quantile(0.5, 4.0), 0.0);
        for (p, df) in [(0.4, 3.0), (1.0, 3.0), (0.9, 0.0), (0.9, -1.0), (f64::NAN, 3.0)] {
            assert!(student_quantile(p, df).is_nan());
        }
    }
}
