//! Sums of numbers whose sizes differ by many powers of ten, exact whatever their order.
//!
//! The sum is a whole number of 640 bits in units of 2^-288, so that nothing is rounded before all
//! terms are added: powers of small and large terms need no common scale. A column of terms is
//! added in rounds: each round separates the upper 43 bits of all terms by adding and subtracting a
//! power of two, and sums them without rounding; the next round continues with the remainders.
//! These loops use vector instructions.
//!
//! Source of the cut: Demmel and Nguyen 2015, "Parallel Reproducible Summation", section 3.

use pulp::Simd;
use pulp::bytemuck;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::num::additive::Additive;

/// Parts of the whole number, the lowest first.
const LIMBS: usize = 10;

/// The unit is 2^-288.
const LOWEST: i32 = -288;

/// The unit of a round is at most this power of two: the number holds its sums.
const HIGHEST: i32 = LOWEST + 64 * (LIMBS as i32 - 1) - 1;

/// The largest number of terms of a column.
pub(crate) const MAX_TERMS: usize = 512;

/// A column is filled up with terms of 0 to a multiple of this.
pub(crate) const LANES: usize = 8;

/// Bits of the largest term below its first that a round takes: the sums of [`MAX_TERMS`] terms of
/// a round have 53 bits.
const ROUND_BITS: i32 = 43;

/// The exact sum of numbers up to 2^330, each rounded to a multiple of 2^-288, ties to even: no
/// order changes it. What is larger counts as a number of about that size.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct WideSum([u64; LIMBS]);

/// A power of two.
#[inline(always)]
fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Whether any bit is set.
#[inline(always)]
fn is_some<S: Simd>(bits: S::u64s) -> bool {
    let bits: &[u64] = bytemuck::cast_slice(std::slice::from_ref(&bits));
    bits.iter().fold(0, |all, bits| all | bits) > 0
}

/// A round of cuts at multiples of a power of two.
#[derive(Clone, Copy)]
struct Round<S: Simd> {
    simd: S,
    unit: i32,
    /// The sum of a term and this number is a multiple of the unit.
    cut: S::f64s,
}

impl<S: Simd> Round<S> {
    #[inline(always)]
    fn new(simd: S, unit: i32) -> Self {
        Round { simd, unit, cut: simd.splat_f64s(1.5 * power(52 + unit)) }
    }

    /// The next one: what is left of a term is at most half a unit.
    #[inline(always)]
    fn next(self) -> Self {
        Round::new(self.simd, (self.unit - ROUND_BITS - 1).max(LOWEST))
    }

    /// Adds the upper part of the terms to the sums; what is left of them.
    #[inline(always)]
    fn cut(self, terms: S::f64s, sums: &mut S::f64s) -> S::f64s {
        let simd = self.simd;
        let part = simd.sub_f64s(simd.add_f64s(terms, self.cut), self.cut);
        *sums = simd.add_f64s(*sums, part);
        simd.sub_f64s(terms, part)
    }
}

impl WideSum {
    /// Adds the products of numbers of 0 and above, none of which exceeds a bound, vector by
    /// vector: at most [`MAX_TERMS`] of them. `left` has room for them.
    #[inline(always)]
    pub(crate) fn add_products<S: Simd>(
        &mut self,
        simd: S,
        bound: f64,
        (one, other): (&[S::f64s], &[S::f64s]),
        left: &mut [S::f64s],
    ) {
        debug_assert!(left.len() * S::F64_LANES <= MAX_TERMS);
        if bound == 0.0 {
            return;
        }
        let exponent = (bound.to_bits() >> 52) as i32 - 1023;
        let first = Round::new(simd, (exponent - ROUND_BITS).clamp(LOWEST, HIGHEST));
        let mut round = first.next();
        let (mut first_sum, mut sum) = (simd.splat_f64s(0.0), simd.splat_f64s(0.0));
        let mut bits = simd.splat_u64s(0);
        for ((one, other), left) in one.iter().zip(other).zip(&mut *left) {
            let rest = first.cut(simd.mul_f64s(*one, *other), &mut first_sum);
            *left = round.cut(rest, &mut sum);
            bits = simd.or_u64s(bits, simd.transmute_u64s_f64s(*left));
        }
        self.add_round(first, first_sum);
        self.add_round(round, sum);
        while round.unit > LOWEST && is_some::<S>(bits) {
            round = round.next();
            (sum, bits) = (simd.splat_f64s(0.0), simd.splat_u64s(0));
            for left in &mut *left {
                *left = round.cut(*left, &mut sum);
                bits = simd.or_u64s(bits, simd.transmute_u64s_f64s(*left));
            }
            self.add_round(round, sum);
        }
    }

    #[inline(always)]
    fn add_round<S: Simd>(&mut self, round: Round<S>, sum: S::f64s) {
        let whole = round.simd.reduce_sum_f64s(sum) * power(-round.unit);
        self.add_units(whole as i64, (round.unit - LOWEST) as usize);
    }

    /// Adds a whole number times a power of two in units of 2^-288.
    #[inline]
    fn add_units(&mut self, whole: i64, shift: usize) {
        let whole = i128::from(whole) << (shift % 64);
        let sign = (whole >> 127) as u64;
        let parts = [whole as u64, (whole >> 64) as u64].into_iter().chain(std::iter::repeat(sign));
        add_limbs(&mut self.0[shift / 64..], parts);
    }

    /// The sum as a number, rounded once.
    pub(crate) fn to_f64(self) -> f64 {
        let Some(top) = (1..LIMBS).rev().find(|&limb| self.0[limb] > 0) else {
            return libm::scalbn(self.0[0] as f64, LOWEST);
        };
        let upper = u128::from(self.0[top]) << 64 | u128::from(self.0[top - 1]);
        let rest = self.0[..top - 1].iter().any(|limb| *limb > 0);
        libm::scalbn((upper | u128::from(rest)) as f64, LOWEST + 64 * (top as i32 - 1))
    }
}

impl Additive for WideSum {
    fn absorb(&mut self, other: &Self) {
        add_limbs(&mut self.0, other.0.into_iter());
    }
}

/// Adds a whole number to another, part by part, the lowest first.
#[inline]
fn add_limbs(mine: &mut [u64], parts: impl Iterator<Item = u64>) {
    let mut carry = false;
    for (mine, part) in mine.iter_mut().zip(parts) {
        let (sum, first) = mine.overflowing_add(part);
        let (sum, second) = sum.overflowing_add(u64::from(carry));
        (*mine, carry) = (sum, first || second);
    }
}

impl Serialize for WideSum {
    /// The parts above 0, as text: most readers of JSON lose digits beyond 2^53.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let limbs = self.0.iter().enumerate().filter(|(_, limb)| **limb > 0);
        serializer.collect_seq(limbs.map(|(at, limb)| (at, limb.to_string())))
    }
}

impl<'de> Deserialize<'de> for WideSum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = WideSum::default();
        for (at, limb) in Vec::<(usize, String)>::deserialize(deserializer)? {
            let place = all.0.get_mut(at).ok_or_else(|| D::Error::custom("no such part"))?;
            *place = limb.parse().map_err(D::Error::custom)?;
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, Simd};

    use super::{LANES, MAX_TERMS, WideSum};
    use crate::num::additive::Additive;
    use crate::num::seed::RandomStream;
    use crate::num::vectors::{VectorJob, run_with_vectors};

    impl VectorJob for (&mut WideSum, &[f64]) {
        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let (sum, terms) = self;
            let bound = terms.iter().copied().fold(0.0, f64::max);
            let (terms, _) = S::as_simd_f64s(terms);
            let (ones, mut left) = (vec![simd.splat_f64s(1.0); terms.len()], terms.to_vec());
            sum.add_products(simd, bound, (terms, &ones), &mut left);
        }
    }

    /// The sum of terms in columns of this length.
    fn sum_of(terms: &[f64], column: usize, arch: Arch) -> WideSum {
        let mut sum = WideSum::default();
        for part in terms.chunks(column) {
            let mut part = part.to_vec();
            part.resize(part.len().next_multiple_of(LANES), 0.0);
            run_with_vectors(arch, (&mut sum, part.as_slice()));
        }
        sum
    }

    /// In any order, in columns of any length, with and without vector instructions, and after the
    /// sum is written and read.
    #[test]
    fn terms_of_all_sizes_add_up_in_any_order() {
        let mut stream = RandomStream::new(3, "wide");
        let mut terms: Vec<f64> = (0..3000)
            .map(|i| stream.u01() * libm::scalbn(1.0, i % 500 - 250))
            .chain([0.0, f64::from_bits(1), 1e-300])
            .collect();
        let whole = sum_of(&terms, MAX_TERMS, Arch::new());
        terms.reverse();
        for (column, arch) in [(1, Arch::Scalar), (7, Arch::new()), (500, Arch::Scalar)] {
            let (first, last) = terms.split_at(1234);
            let mut parts = sum_of(last, column, arch);
            parts.absorb(&sum_of(first, column, arch));
            assert_eq!(parts, whole);
        }
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<WideSum>(&text).unwrap(), whole);
        assert!(serde_json::from_str::<WideSum>(r#"[[10, "1"]]"#).is_err());
    }

    #[test]
    fn a_sum_is_that_of_its_terms() {
        let sum_of = |terms: &[f64]| sum_of(terms, MAX_TERMS, Arch::new());
        let mut stream = RandomStream::new(5, "whole");
        for exponent in [-220, -100, -1, 0, 70, 250] {
            // Whole numbers, whose sum integers know.
            let whole: Vec<u64> =
                (0..2000).map(|_| stream.u64() >> 11 >> (stream.u64() % 50)).collect();
            let terms = whole.iter().map(|&n| libm::scalbn(n as f64, exponent));
            let sum: u128 = whole.iter().map(|&n| u128::from(n)).sum();
            let found = sum_of(&terms.collect::<Vec<_>>()).to_f64();
            assert_eq!(found, libm::scalbn(sum as f64, exponent), "{exponent}");
        }
        assert_eq!([sum_of(&[]).to_f64(), sum_of(&[1.0, 1e-30]).to_f64()], [0.0, 1.0]);
        assert_eq!(sum_of(&[1.0, f64::EPSILON / 2.0, 1e-60]).to_f64(), 1.0 + f64::EPSILON);
        assert_eq!(
            sum_of(&vec![1.0 / 3.0; 3 << 12]).to_f64(),
            (1.0_f64 / 3.0) * f64::from(3 << 12)
        );
        // A sum without a valid size does not panic.
        for large in [1e200, f64::MAX, f64::INFINITY] {
            assert!(sum_of(&[large, 1.0]).to_f64() >= 1.0);
        }
    }
}
