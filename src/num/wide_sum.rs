//! Sums of numbers whose sizes differ by many powers of ten, exact whatever their order.
//!
//! A number of 0 or above is added to the bin of its exponent as a whole number, so that nothing is
//! rounded before all are added. Powers of small and large terms need no common scale.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bins: of [`BIN_BITS`] powers of two each.
const BINS: usize = 16;

const BIN_BITS: i32 = 32;

/// The unit of the first bin is 2^-288.
const LOWEST: i32 = -288;

/// The exact sum of numbers from 2^-236 to 2^276: smaller ones count as 0, and larger ones as
/// numbers of that size. Holds 2^44 of them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WideSum([u128; BINS]);

impl WideSum {
    /// Adds a number of 0 or above.
    #[inline]
    pub(crate) fn add(&mut self, term: f64) {
        const LOW: u64 = (1 << 52) - 1;
        debug_assert!(term >= 0.0 && term.is_finite(), "{term} is no term of a sum of powers");
        let bits = term.abs().to_bits();
        // Of the last bit of the number, in units of the first bin.
        let place = (bits >> 52) as i32 - 1075 - LOWEST;
        if place >= 0 {
            let place = place.min(BINS as i32 * BIN_BITS - 1);
            let whole = u128::from((bits & LOW) | (LOW + 1));
            self.0[(place / BIN_BITS) as usize] += whole << (place % BIN_BITS);
        }
    }

    /// Adds another sum.
    pub(crate) fn merge(&mut self, other: &WideSum) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The sum as a number.
    pub(crate) fn to_f64(self) -> f64 {
        let bins = (0..).zip(self.0).filter(|(_, sum)| *sum > 0);
        bins.map(|(bin, sum)| libm::scalbn(sum as f64, LOWEST + bin * BIN_BITS)).sum()
    }
}

impl Serialize for WideSum {
    /// The bins that are not empty, as text: most readers of JSON lose digits beyond 2^53.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bins = self.0.iter().enumerate().filter(|(_, sum)| **sum > 0);
        serializer.collect_seq(bins.map(|(bin, sum)| (bin, sum.to_string())))
    }
}

impl<'de> Deserialize<'de> for WideSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = WideSum::default();
        for (bin, sum) in Vec::<(usize, String)>::deserialize(deserializer)? {
            let place = all.0.get_mut(bin).ok_or_else(|| D::Error::custom("no such bin"))?;
            *place = sum.parse().map_err(D::Error::custom)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::WideSum;
    use crate::num::seed::RandomStream;

    #[test]
    fn terms_of_all_sizes_add_up_in_any_order() {
        let mut stream = RandomStream::new(3, "wide");
        let terms: Vec<f64> = (0..3000)
            .map(|i| stream.u01() * libm::scalbn(1.0, i % 400 - 210))
            .chain([0.0, f64::from_bits(1), 1e-300])
            .collect();
        let of = |terms: &mut dyn Iterator<Item = &f64>| {
            let mut sum = WideSum::default();
            terms.for_each(|&term| sum.add(term));
            sum
        };
        let whole = of(&mut terms.iter());
        let (first, last) = terms.split_at(1234);
        let mut parts = of(&mut last.iter().rev());
        parts.merge(&of(&mut first.iter()));
        assert_eq!(parts, whole);
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<WideSum>(&text).unwrap(), whole);
        assert!(serde_json::from_str::<WideSum>(r#"[[16, "1"]]"#).is_err());
    }

    #[test]
    fn a_sum_is_that_of_its_terms() {
        for scale in [1e-60, 1e-20, 1.0, 1e15, 1e60] {
            let mut sum = WideSum::default();
            (1..=100).for_each(|i| sum.add(f64::from(i) * scale));
            assert!((sum.to_f64() / (5050.0 * scale) - 1.0).abs() < 1e-15, "{scale}");
        }
        let mut sum = WideSum::default();
        [1.0, 1e-30].into_iter().for_each(|term| sum.add(term));
        assert_eq!([WideSum::default().to_f64(), sum.to_f64()], [0.0, 1.0]);
        // Beyond the last bin the size is lost, not the program.
        sum.add(f64::MAX);
        assert!(sum.to_f64() > 1e80);
    }
}
