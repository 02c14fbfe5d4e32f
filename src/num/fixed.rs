//! Sums as whole multiples of 2^-52: any order and any partition of the terms give the same bits.
//!
//! Choice: a term is rounded to the nearest multiple, ties to even, before it is added. Scores in
//! [0.5, 1] lose at most their last bit; a term below 2^-53 counts as zero. The error of a sum of n
//! terms is at most n * 2^-53.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A sum in units of 2^-52. Holds more than 2^63 terms of the largest allowed size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FixedSum(i128);

impl Serialize for FixedSum {
    /// Text, because most readers of JSON lose digits beyond 2^53.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for FixedSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(FixedSum).map_err(D::Error::custom)
    }
}

/// Units in one: 2^52.
const UNITS: f64 = (1_u64 << 52) as f64;

/// Units below this fit 64 bits.
const NARROW_LIMIT: f64 = (1_u64 << 63) as f64;

/// The nearest whole number, ties to even.
///
/// The method of the standard library calls the C library unless the target processor is known to
/// have a rounding instruction, and this is the innermost step of counting.
#[inline]
fn nearest(x: f64) -> f64 {
    // From 2^52 on every number is whole; below, adding 2^52 rounds to a whole number.
    if x.abs() < UNITS {
        let whole = UNITS.copysign(x);
        (x + whole) - whole
    } else {
        x
    }
}

impl FixedSum {
    /// The empty sum.
    pub(crate) const ZERO: FixedSum = FixedSum(0);

    /// Adds a term.
    ///
    /// # Panics
    /// Unless it is finite and below 2^11 = 2048 in magnitude, so that it fits 64 bits.
    pub(crate) fn add(&mut self, term: f64) {
        assert!(term.abs() < 2048.0, "{term} is out of range");
        self.0 += i128::from(nearest(term * UNITS) as i64);
    }

    /// Adds a term as [`FixedSum::add`] does, `times` times.
    ///
    /// # Panics
    /// As [`FixedSum::add`], and above 2^32 times; up to there this equals repeated addition.
    #[inline]
    pub(crate) fn add_times(&mut self, term: f64, times: u64) {
        assert!(term.abs() < 2048.0 && times <= 1 << 32, "{times} times {term} is out of range");
        self.0 += i128::from(nearest(term * UNITS) as i64) * i128::from(times);
    }

    /// A finite term of any magnitude, for [`FixedSum::add_term`]; one beyond 2^74 counts as 2^74.
    #[inline]
    pub(crate) fn from_f64(term: f64) -> FixedSum {
        let units = nearest(term * UNITS);
        // The 128-bit conversion is a function call, which few terms need.
        FixedSum(if units.abs() < NARROW_LIMIT { i128::from(units as i64) } else { units as i128 })
    }

    /// Adds a term that is already rounded.
    #[inline]
    pub(crate) fn add_term(&mut self, term: FixedSum) {
        self.0 = self.0.saturating_add(term.0);
    }

    /// Adds a sum of terms that are rounded to units of 2^-52, in these units.
    #[inline]
    pub(crate) fn add_units(&mut self, units: i128) {
        self.add_term(FixedSum(units));
    }

    /// Adds a finite term of any magnitude; one beyond 2^74 counts as 2^74.
    ///
    /// Slower than [`FixedSum::add`].
    #[inline]
    pub(crate) fn add_wide(&mut self, term: f64) {
        self.add_term(FixedSum::from_f64(term));
    }

    /// Merges another sum. Only a sum of terms of any magnitude can exceed 2^75: it is limited to
    /// that.
    #[inline]
    pub(crate) fn merge(&mut self, other: FixedSum) {
        self.add_term(other);
    }

    /// The sum as a number, rounded once.
    pub(crate) fn to_f64(self) -> f64 {
        self.0 as f64 / UNITS
    }

    /// A sum in units of 2^-52.
    pub(crate) fn from_units(units: i128) -> FixedSum {
        FixedSum(units)
    }

    /// The sum in units of 2^-52, as tables store it.
    pub(crate) fn units(self) -> i128 {
        self.0
    }
}

impl std::ops::AddAssign for FixedSum {
    fn add_assign(&mut self, other: FixedSum) {
        self.merge(other);
    }
}

impl std::ops::Sub for FixedSum {
    type Output = FixedSum;

    fn sub(self, other: FixedSum) -> FixedSum {
        FixedSum(self.0.saturating_sub(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::{FixedSum, UNITS, nearest};
    use crate::num::seed::RandomStream;

    fn one(term: f64) -> i128 {
        let mut sum = FixedSum::ZERO;
        sum.add(term);
        sum.units()
    }

    #[test]
    fn terms_round_half_to_even() {
        let unit = 1.0 / UNITS;
        assert_eq!(
            [one(0.5 * unit), one(1.5 * unit), one(2.5 * unit), one(-0.5 * unit), one(-1.5 * unit)],
            [0, 2, 2, 0, -2]
        );
        assert_eq!([one(1.0), one(-1.0), one(2047.0)], [1 << 52, -(1 << 52), 2047 << 52]);
    }

    #[test]
    fn rounding_is_that_of_the_standard_library() {
        let mut stream = RandomStream::new(4, "nearest");
        for _ in 0..10_000 {
            let x = (stream.u01() - 0.5)
                * f64::from(1 << (stream.u64() % 31))
                * f64::from(1 << (stream.u64() % 31));
            assert_eq!(nearest(x), x.round_ties_even(), "{x}");
        }
        for half in [
            0.5,
            1.5,
            2.5,
            UNITS / 2.0 + 0.5,
            UNITS / 2.0 + 1.5,
            UNITS - 0.5,
            UNITS,
            UNITS + 1.0,
            1e300,
        ] {
            assert_eq!(
                (nearest(half), nearest(-half)),
                (half.round_ties_even(), (-half).round_ties_even())
            );
        }
    }

    #[test]
    fn wide_terms_are_terms() {
        let mut stream = RandomStream::new(5, "wide");
        for shift in 0..74 {
            let term = (stream.u01() - 0.5) * (1_u128 << shift) as f64;
            assert_eq!(FixedSum::from_f64(term).units(), nearest(term * UNITS) as i128, "{term}");
        }
        assert_eq!(
            [FixedSum::from_f64(2048.0), FixedSum::from_f64(-2048.0)].map(FixedSum::units),
            [1 << 63, -(1 << 63)]
        );
        assert_eq!(
            [FixedSum::from_f64(1e300), FixedSum::from_f64(-1e300)].map(FixedSum::units),
            [i128::MAX, i128::MIN]
        );
    }

    #[test]
    fn a_sum_that_is_full_stays_full() {
        let (mut sum, mut other) = (FixedSum::ZERO, FixedSum::ZERO);
        sum.add_wide(1e300);
        other.add(1.0);
        sum.merge(other);
        assert_eq!(sum.units(), i128::MAX);
        assert_eq!((FixedSum(i128::MIN) - other).units(), i128::MIN);
    }

    /// Also in builds without overflow checks: a wrapped sum would be a wrong number.
    #[test]
    fn terms_out_of_range_are_refused() {
        let refused = |add: fn(&mut FixedSum, f64, u64), term: f64, times: u64| {
            std::panic::catch_unwind(|| add(&mut FixedSum::default(), term, times)).is_err()
        };
        let once: fn(&mut FixedSum, f64, u64) = |sum, term, _| sum.add(term);
        for term in [2048.0, -2048.0, f64::INFINITY, f64::NAN] {
            assert!(refused(once, term, 1) && refused(FixedSum::add_times, term, 1), "{term}");
        }
        assert!(refused(FixedSum::add_times, 1.0, (1 << 32) + 1));
        assert!(!refused(FixedSum::add_times, 1.0, 1 << 32));
    }

    #[test]
    fn times_are_terms() {
        let (mut once, mut times) = (FixedSum::ZERO, FixedSum::ZERO);
        (0..1000).for_each(|_| once.add(-0.1));
        times.add_times(-0.1, 1000);
        assert_eq!(once, times);
        times.add_times(2047.9, 1 << 32);
        assert!((times.to_f64() - 2047.9 * 4_294_967_296.0 + 100.0).abs() < 0.01);
    }

    #[test]
    fn any_order_gives_the_same_sum() {
        let mut stream = RandomStream::new(2, "order");
        let terms: Vec<f64> = (0..1000).map(|_| stream.u01() * 3.0 - 1.5).collect();
        let (mut forward, mut parts) = (FixedSum::ZERO, [FixedSum::ZERO; 7]);
        for (i, &term) in terms.iter().enumerate() {
            forward.add(term);
            parts[i % 7].add(term);
        }
        let mut merged = FixedSum::ZERO;
        for part in parts.iter().rev() {
            merged.merge(*part);
        }
        assert_eq!(forward, merged);
        assert!((forward.to_f64() - terms.iter().sum::<f64>()).abs() < 1e-12);
    }
}
