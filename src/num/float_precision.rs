//! The precision of floating-point numbers that come from outside: 32 or 64 bits.
//!
//! Numbers of 32 bits are kept in 64, which holds each of them. A number of 64 bits is compared
//! with them in 32, as numpy, pandas and DuckDB do: 0.7 in 32 bits reaches 0.7.

use serde::{Deserialize, Serialize};

/// How many bits a number has.
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

    /// The one with more bits of the two, which holds the numbers of both.
    pub(crate) fn finer(self, other: Self) -> Self {
        FloatPrecision::single_if(self == other && self == FloatPrecision::Single)
    }

    /// The one with the most bits of all; 64 of none.
    pub(crate) fn finest(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().reduce(FloatPrecision::finer).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::FloatPrecision::{Double, Single};

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
