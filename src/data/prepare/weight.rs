//! Weights as whole numbers of one unit for the whole job, so that sums are exact in any order.
//!
//! The unit is the greatest common divisor of all weights (of whole numbers, quarters, equal
//! weights), where the largest weight is at most 2^32 units; else that of the weights as decimals
//! (of hundredths, say), under the same condition. Otherwise it is the power of two for which the
//! largest weight is more than 2^31 and at most 2^32 units, and weights are rounded to the nearest
//! whole number of units: each is off by less than 2^-32 of the largest, so one of at least a
//! ten-thousandth of the largest by less than 2.4e-6 of itself, and one below 2^-33 of the largest
//! may round to 0. With more than 2^30 rows and counterfactuals the largest weight has fewer units,
//! so that the sum of all stays below 2^62: with 2^34 of them 2^28 units, of which one is 3.8e-9 of
//! the largest.
//!
//! Choice: the unit depends only on the kept rows and the number of groups, whether rows train or
//! are audited, and not on their order.

use serde::{Deserialize, Serialize};

use crate::data::values::EXACT;
use crate::num::{MAX_TOTAL_WEIGHT, common_divisor};

/// Largest number of units of one weight.
pub(crate) const MAX_UNITS: u64 = 1 << 32;

/// The column of weights, and the unit in which they are counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WeightColumn {
    /// The column.
    pub column: String,
    /// The unit.
    pub unit: WeightUnit,
    /// Number of units of the largest weight: at most [`MAX_UNITS`].
    pub largest: u64,
}

/// A unit of weight: a whole number times a power of two, or over a power of ten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightUnit {
    times: u64,
    exponent: i32,
    decimals: usize,
}

impl WeightUnit {
    /// The unit as a number.
    pub fn value(self) -> f64 {
        let ten = TENS.get(self.decimals).copied().unwrap_or(1.0);
        libm::scalbn(self.times as f64, self.exponent) / ten
    }

    /// A weight in units, rounded to the nearest whole number, ties to even.
    ///
    /// The weight is at least 0 and at most the largest.
    pub fn units_of(self, weight: f64) -> u64 {
        (weight / self.value()).round_ties_even() as u64
    }
}

/// A mergeable summary of the weights of some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct WeightSummary {
    /// The largest weight; 0 where all weights are 0.
    pub(crate) largest: f64,
    /// The smallest above 0; 0 where there is none.
    smallest: f64,
    /// The greatest common divisor of the weights above 0: an odd number times a power of two.
    ///
    /// 0 where there is none.
    odd: u64,
    exponent: i32,
    /// That of the weights as decimals.
    decimal: DecimalDivisor,
}

/// Powers of ten that a number holds exactly; no weight may have more decimals.
const TENS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The greatest common divisor of weights that are decimals, in units of the last decimal that one
/// of them has: a weight is one if it is the number nearest to its decimals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum DecimalDivisor {
    /// In units of 10 to the minus `decimals`; 0 without weights.
    Of { units: u64, decimals: usize },
    /// Some weight has too many digits.
    None,
}

impl Default for DecimalDivisor {
    fn default() -> Self {
        DecimalDivisor::Of { units: 0, decimals: 0 }
    }
}

impl DecimalDivisor {
    /// A weight above 0 in units of its last decimal, which is this one or a later one.
    fn of_weight(weight: f64, from: usize) -> Self {
        for (decimals, ten) in TENS.iter().enumerate().skip(from) {
            let units = (weight * ten).round_ties_even();
            if units >= MOST_DECIMAL_UNITS {
                break;
            }
            if units / ten == weight {
                return DecimalDivisor::Of { units: units as u64, decimals };
            }
        }
        DecimalDivisor::None
    }

    /// The common divisor of two, where the largest weight is this.
    fn with(self, other: Self, largest: f64) -> Self {
        let (
            DecimalDivisor::Of { units: a, decimals: m },
            DecimalDivisor::Of { units: b, decimals: n },
        ) = (self, other)
        else {
            return DecimalDivisor::None;
        };
        let decimals = m.max(n);
        if largest * TENS[decimals] >= MOST_DECIMAL_UNITS {
            return DecimalDivisor::None;
        }
        // A divisor is at most the largest weight, so this is exact.
        let scaled = |units: u64, from: usize| units * TENS[decimals - from] as u64;
        DecimalDivisor::Of { units: common_divisor(scaled(a, m), scaled(b, n)), decimals }
    }
}

/// From here on a float does not hold every whole number of units.
const MOST_DECIMAL_UNITS: f64 = EXACT;

impl WeightSummary {
    /// Adds a finite weight of 0 or more.
    pub(crate) fn add(&mut self, weight: f64) {
        if weight > 0.0 {
            let (odd, exponent) = odd_and_exponent(weight);
            let decimal = match self.decimal {
                DecimalDivisor::Of { decimals, .. } => DecimalDivisor::of_weight(weight, decimals),
                DecimalDivisor::None => DecimalDivisor::None,
            };
            let (largest, smallest) = (weight, weight);
            self.merge(WeightSummary { largest, smallest, odd, exponent, decimal });
        }
    }

    /// Merges the summary of other rows.
    pub(crate) fn merge(&mut self, other: WeightSummary) {
        self.largest = self.largest.max(other.largest);
        if other.smallest > 0.0 {
            self.smallest = if self.smallest > 0.0 {
                self.smallest.min(other.smallest)
            } else {
                other.smallest
            };
        }
        self.divide(other.odd, other.exponent);
        self.decimal = self.decimal.with(other.decimal, self.largest);
    }

    /// The smallest weight above 0, and its value after rounding to whole units.
    ///
    /// `None` where rounding changes it by at most a millionth.
    pub(crate) fn rounding_loss(&self, counted: u64) -> Option<(f64, f64)> {
        if self.largest == 0.0 {
            return None;
        }
        let unit = self.unit(counted);
        let rounded = unit.units_of(self.smallest) as f64 * unit.value();
        ((rounded - self.smallest).abs() > 1e-6 * self.smallest).then_some((self.smallest, rounded))
    }

    fn divide(&mut self, odd: u64, exponent: i32) {
        if odd == 0 {
            return;
        }
        self.exponent = if self.odd == 0 { exponent } else { self.exponent.min(exponent) };
        // A divisor of an odd number is odd, so the powers of two are handled separately.
        self.odd = common_divisor(odd, self.odd);
    }

    /// The unit for this number of summed rows or counterfactuals; some weight must be above 0.
    pub(crate) fn unit(&self, counted: u64) -> WeightUnit {
        // How many units the largest weight may be: a power of two.
        let counted = counted.max(1).next_power_of_two().ilog2();
        let most = MAX_UNITS.min(1 << MAX_TOTAL_WEIGHT.ilog2().saturating_sub(counted));
        let divisor = WeightUnit { times: self.odd, exponent: self.exponent, decimals: 0 };
        // Where this quotient is not exact it is far above the bound.
        if self.largest / divisor.value() <= most as f64 {
            return divisor;
        }
        if let DecimalDivisor::Of { units, decimals } = self.decimal
            && self.largest * TENS[decimals] / units as f64 <= most as f64
        {
            return WeightUnit { times: units, exponent: 0, decimals };
        }
        let (odd, exponent) = odd_and_exponent(self.largest);
        let ceiling = exponent + if odd == 1 { 0 } else { 64 - odd.leading_zeros().cast_signed() };
        let exponent = ceiling - most.trailing_zeros().cast_signed();
        WeightUnit { times: 1, exponent, decimals: 0 }
    }
}

/// A finite number above 0 as an odd number times a power of two.
fn odd_and_exponent(x: f64) -> (u64, i32) {
    let (exponent, fraction) = ((x.to_bits() >> 52) as i32, x.to_bits() & ((1 << 52) - 1));
    let (whole, exponent) =
        if exponent == 0 { (fraction, -1074) } else { (fraction | 1 << 52, exponent - 1075) };
    let zeros = whole.trailing_zeros();
    (whole >> zeros, exponent + zeros.cast_signed())
}

#[cfg(test)]
mod tests {
    use super::{MAX_TOTAL_WEIGHT, MAX_UNITS, WeightSummary, WeightUnit};
    use crate::num::seed::RandomStream;

    fn of(weights: &[f64]) -> WeightUnit {
        let mut all = WeightSummary::default();
        weights.iter().for_each(|&w| all.add(w));
        all.unit(weights.len() as u64)
    }

    #[test]
    fn what_has_a_common_measure_is_exact() {
        for (weights, unit) in [
            (&[1.0, 2.0, 7.0][..], 1.0),
            (&[0.0, 6.0, 10.0], 2.0),
            (&[0.25, 1.5, 3.0], 0.25),
            (&[0.1, 0.1, 0.0, 0.1], 0.1),
            (&[1e300, 1e300], 1e300),
            (&[4_294_967_296.0, 1.0], 1.0),
            (&[f64::from_bits(1), f64::from_bits(3)], f64::from_bits(1)),
            (&[f64::MAX], f64::MAX),
        ] {
            let found = of(weights);
            assert_eq!(found.value(), unit, "{weights:?}");
            assert!(weights.iter().all(|&w| found.units_of(w) as f64 * unit == w), "{weights:?}");
        }
    }

    /// Hundredths are as exact as the same weights in whole numbers.
    #[test]
    fn decimals_are_exact() {
        for (weights, unit) in [
            (&[0.1, 0.3, 1.7][..], 0.1),
            (&[12.35, 0.05, 100.0], 0.05),
            (&[0.29, 3.0, 57.12], 0.01),
            (&[2.5e-7, 1e-7, 0.0], 5e-8),
        ] {
            let found = of(weights);
            assert!((found.value() / unit - 1.0).abs() < 1e-15, "{weights:?}: {}", found.value());
            for &w in weights {
                let whole = (w / unit).round();
                assert_eq!(found.units_of(w) as f64, whole, "{w} of {weights:?}");
            }
        }
        // Any order gives the same, also where decimals have too many digits in the end.
        for weights in [[0.5, 1.25, 3.0, 0.001], [1e9, 0.125, 1e-9, 0.3]] {
            let mut orders = Vec::new();
            for start in 0..weights.len() {
                let mut all = WeightSummary::default();
                let mut rest = WeightSummary::default();
                for i in 0..weights.len() {
                    let w = weights[(start + i) % weights.len()];
                    if i % 2 == 0 { all.add(w) } else { rest.add(w) }
                }
                all.merge(rest);
                orders.push(all);
            }
            assert!(orders.iter().all(|one| *one == orders[0]), "{orders:?}");
        }
    }

    #[test]
    fn what_has_none_is_rounded_by_the_stated_bound() {
        let mut stream = RandomStream::new(1, "weights");
        for scale in [1e-300, 0.3, 1.0, 1e12, 1e307] {
            let weights: Vec<f64> = (0..500).map(|_| stream.u01() * scale).collect();
            let (unit, largest) = (of(&weights), weights.iter().copied().fold(0.0, f64::max));
            assert!((MAX_UNITS / 2..=MAX_UNITS).contains(&unit.units_of(largest)), "{scale}");
            for w in weights {
                let off = (unit.units_of(w) as f64 * unit.value() - w).abs();
                assert!(off < largest / MAX_UNITS as f64, "{w}");
                assert!(w < largest / 1e4 || off < 2.4e-6 * w, "{w}");
            }
        }
        // One above the bound, and a largest weight that is a power of two.
        assert_eq!(of(&[4_294_967_297.0, 1.0]).value(), 2.0);
        let mut coarse = WeightSummary::default();
        [1.0, 1e-7 / 3.0, 3.0].into_iter().for_each(|w| coarse.add(w));
        let (smallest, left) = coarse.rounding_loss(3).unwrap();
        assert!(smallest == 1e-7 / 3.0 && (left - smallest).abs() > 1e-13, "{left}");
        let mut exact = WeightSummary::default();
        [0.5, 7.0].into_iter().for_each(|w| exact.add(w));
        assert_eq!(exact.rounding_loss(2), None);
        let tiny = of(&[1.0, 1e-20]);
        assert_eq!((tiny.units_of(1.0), tiny.units_of(1e-20)), (MAX_UNITS, 0));
    }

    /// However many there are, their sum fits; up to 2^30 the unit is the finest.
    #[test]
    fn more_people_have_a_coarser_unit() {
        let mut summary = WeightSummary::default();
        [1.0 / 3.0, 1.0, 2.7].into_iter().for_each(|w| summary.add(w));
        let finest = summary.unit(3);
        for (counted, times) in
            [(1 << 30, 1), ((1 << 30) + 1, 2), (1 << 34, 16), (1 << 62, 1_u64 << 32)]
        {
            let unit = summary.unit(counted);
            assert_eq!(unit.value() / finest.value(), times as f64, "{counted}");
            let sum = u128::from(counted) * u128::from(unit.units_of(2.7));
            assert!(sum <= u128::from(MAX_TOTAL_WEIGHT), "{counted}");
        }
        // What has a common measure stays exact as long as it fits.
        let mut whole = WeightSummary::default();
        [1.0, 7.0].into_iter().for_each(|w| whole.add(w));
        assert_eq!([whole.unit(1 << 40), whole.unit(1 << 59)].map(WeightUnit::value), [1.0, 1.0]);
    }

    #[test]
    fn any_partition_gives_the_same_unit() {
        let weights: Vec<f64> = (1..400).map(|i| f64::from(i * i % 997) * 0.75).collect();
        let (mut whole, mut parts) = (WeightSummary::default(), [WeightSummary::default(); 5]);
        for (i, &w) in weights.iter().enumerate() {
            whole.add(w);
            parts[i * i % 5].add(w);
        }
        let mut merged = WeightSummary::default();
        parts.iter().rev().for_each(|part| merged.merge(*part));
        assert_eq!((merged, merged.unit(400).value()), (whole, 0.75));
    }
}
