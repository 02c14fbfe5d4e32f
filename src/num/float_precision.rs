//! The precision of floating-point numbers that come from outside: 32 or 64 bits.
//!
//! Scores and thresholds of 32 bits are stored in 64 bits without loss. A number of 64 bits is
//! compared with them in 32 bits, as in numpy, pandas and DuckDB: 0.7 in 32 bits reaches 0.7.
//! Values of other columns are stored as their shortest decimals, which rounding to 32 bits
//! restores.

use serde::{Deserialize, Serialize};

/// The number of bits of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FloatPrecision {
    /// 32 bits.
    Single,
    /// 64 bits.
    #[default]
    Double,
}

impl FloatPrecision {
    /// Single where numbers are 32 bits wide, else double.
    pub(crate) fn single_if(single: bool) -> Self {
        if single { FloatPrecision::Single } else { FloatPrecision::Double }
    }

    /// The nearest number of this precision; if two are equally near, the even one. NaN stays NaN.
    #[inline]
    pub(crate) fn round(self, x: f64) -> f64 {
        match self {
            FloatPrecision::Single => f64::from(x as f32),
            FloatPrecision::Double => x,
        }
    }

    /// The smallest number of this precision above one that has it.
    pub(crate) fn next_up(self, x: f64) -> f64 {
        match self {
            FloatPrecision::Single => f64::from((x as f32).next_up()),
            FloatPrecision::Double => x.next_up(),
        }
    }

    /// The one with fewer bits of the two.
    #[inline]
    pub(crate) fn coarser(self, other: Self) -> Self {
        FloatPrecision::single_if(self == FloatPrecision::Single || other == FloatPrecision::Single)
    }

    /// The precision with most bits, which represents the numbers of all.
    pub(crate) fn finer(self, other: Self) -> Self {
        FloatPrecision::single_if(self == other && self == FloatPrecision::Single)
    }

    /// The one with the most bits of all; 64 of none.
    pub(crate) fn finest(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().reduce(FloatPrecision::finer).unwrap_or_default()
    }
}

/// The number of the shortest decimal of a number of 32 bits: 0.7 for the one nearest to 0.7. Whole
/// numbers are unchanged.
pub(crate) fn decimal_of_single(x: f32) -> f64 {
    let exact = f64::from(x);
    if exact.fract() == 0.0 { exact } else { x.to_string().parse().unwrap_or(exact) }
}

#[cfg(test)]
mod tests {
    use super::FloatPrecision::{Double, Single};
    use super::decimal_of_single;

    /// Rounded to 32 bits a decimal is the number that it names.
    #[test]
    fn numbers_of_32_bits_are_read_as_their_decimals() {
        assert_eq!(
            [0.7, 0.1, -2.5e-7, 3e38].map(decimal_of_single),
            [0.7, 0.1, -2.5e-7, f64::from(3e38_f32)]
        );
        assert_eq!(decimal_of_single(123_456_792.0), 123_456_792.0);
        assert!(decimal_of_single(f32::NAN).is_nan());
        assert_eq!(decimal_of_single(f32::NEG_INFINITY), f64::NEG_INFINITY);
        for x in (0..200_000_u32).map(|i| f32::from_bits(i.wrapping_mul(21_474))) {
            let read = decimal_of_single(x);
            assert!(x.is_nan() || Single.round(read) == f64::from(x), "{x:?} as {read:?}");
        }
    }

    #[test]
    fn seven_tenths_in_32_bits_reach_seven_tenths() {
        let single = f64::from(0.7_f32);
        assert!(single < 0.7 && single == Single.round(0.7) && Double.round(0.7) == 0.7);
        assert!(Single.round(f64::NAN).is_nan());
        assert_eq!(Single.next_up(single), f64::from(0.7_f32.next_up()));
        assert_eq!([Single.coarser(Double), Single.finer(Double)], [Single, Double]);
        assert_eq!([Double.coarser(Double), Single.finer(Single)], [Double, Single]);
    }
}
