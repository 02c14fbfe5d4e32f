//! Mean and standard deviation, with the same result for any order and any unit of the values.

use crate::num::fixed::FixedSum;

/// A power of two above `x`; 1 for 0.
///
/// The largest finite numbers have none: their scale is the largest power of two.
pub(crate) fn scale_above(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { libm::exp2(libm::floor(libm::log2(x)).clamp(-1022.0, 1022.0) + 1.0) }
}

/// The mean and the population standard deviation (divisor n) of the values, without NaN.
///
/// `None` where every value is NaN. Sums are taken of x / scale, a power of two above all |x|, so
/// that they are exact to the last bits in every unit of x; squares of the distances from the mean
/// have their own scale, so that values far from zero and close together, such as times, keep
/// their precision.
pub(crate) fn mean_and_sd(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, f64)> {
    let values = values.filter(|x| !x.is_nan());
    let scale = scale_above(values.clone().fold(0.0, |largest: f64, x| largest.max(x.abs())));
    let mut sum = FixedSum::ZERO;
    let mut n = 0_u64;
    for x in values.clone() {
        sum.add(x / scale);
        n += 1;
    }
    if n == 0 {
        return None;
    }
    let mean = sum.to_f64() / n as f64;
    let off = values.map(|x| x / scale - mean);
    let near = scale_above(off.clone().fold(0.0, |largest: f64, x| largest.max(x.abs())));
    let (mut rest, mut squares) = (FixedSum::ZERO, FixedSum::ZERO);
    for x in off {
        rest.add(x / near);
        squares.add(x / near * (x / near));
    }
    // The rounding error of the mean.
    let rest = rest.to_f64() / n as f64;
    let variance = (squares.to_f64() / n as f64 - rest * rest).max(0.0);
    Some((scale * (mean + near * rest), scale * (near * variance.sqrt())))
}

#[cfg(test)]
mod tests {
    use super::mean_and_sd;

    #[test]
    fn by_hand() {
        let found = |values: &[f64]| mean_and_sd(values.iter().copied());
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[f64::NAN]), None);
        assert_eq!(found(&[7.0]), Some((7.0, 0.0)));
        assert_eq!(found(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some((5.0, 2.0)));
        assert_eq!(found(&[1.0, f64::NAN, 3.0]), Some((2.0, 1.0)));
        let (mean, sd) = found(&[1e-300, 3e-300]).unwrap();
        assert!((mean / 2e-300 - 1.0).abs() < 1e-12 && (sd / 1e-300 - 1.0).abs() < 1e-12);
        // Seconds since 1970, a quarter apart; the largest finite numbers.
        let (mean, sd) = found(&[1.7e9, 1.7e9 + 0.25, 1.7e9 + 0.5]).unwrap();
        assert!(mean == 1.7e9 + 0.25 && (sd - 0.25 * (2.0_f64 / 3.0).sqrt()).abs() < 1e-15, "{sd}");
        assert_eq!(found(&[f64::MAX, -f64::MAX]), Some((0.0, f64::MAX)));
        assert_eq!(found(&[0.1; 7]), Some((0.1, 0.0)));
    }
}
