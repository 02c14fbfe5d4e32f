//! Quantiles of samples and the normal distribution; location and spread of weighted samples.

/// The numbers in ascending order, without NaN.
pub(crate) fn ascending(numbers: &[f64]) -> Vec<f64> {
    let mut known: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
    known.sort_by(f64::total_cmp);
    known
}

/// The inner edges of `bins` bins of as many values each: values of the sample at equal steps,
/// equal ones once, the largest value never.
pub(crate) fn equal_cuts(sorted: &[f64], bins: usize) -> Vec<f64> {
    let n = sorted.len();
    let mut cuts: Vec<f64> = Vec::new();
    for j in 1..bins {
        let Some(&cut) = (j * n).div_ceil(bins).checked_sub(1).and_then(|at| sorted.get(at)) else {
            continue;
        };
        if cuts.last() != Some(&cut) && sorted.last() != Some(&cut) {
            cuts.push(cut);
        }
    }
    cuts
}

/// The quantile `q` in [0, 1] of an ascending sample: linear interpolation at position (m - 1) q.
///
/// `m` is the size of the sample; `None` where it is empty.
pub(crate) fn quantile(ascending: &[f64], q: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let position = last as f64 * q.clamp(0.0, 1.0);
    let below = (position as usize).min(last);
    let (lo, hi) = (ascending[below], ascending[(below + 1).min(last)]);
    Some(lo + (hi - lo) * (position - below as f64))
}

/// The quantile `q` of values with their weights, ascending: the weighted form of linear
/// interpolation between order statistics (Akinshin 2023, "Weighted quantile estimators", type 7).
/// `weight` is the sum of the weights, `squares` that of their squares.
///
/// NaN if there is no value.
pub(crate) fn weighted_quantile(
    ascending: impl Iterator<Item = (f64, f64)>,
    (weight, squares): (f64, f64),
    q: f64,
) -> f64 {
    // The effective sample size: the number of equal weights with the same precision.
    let position = (weight * weight / squares - 1.0) * q;
    let (mut upto, mut below, mut sum) = (0.0, 0.0, 0.0);
    let (mut lowest, mut highest) = (f64::NAN, f64::NAN);
    for (value, own) in ascending {
        upto += own;
        let share = (upto * weight / squares - position).clamp(0.0, 1.0);
        sum += (share - below) * value;
        below = share;
        lowest = if lowest.is_nan() { value } else { lowest };
        highest = value;
    }
    if lowest.is_nan() {
        return f64::NAN;
    }
    // A weighted mean of these values; rounding must not put it outside their range.
    sum.clamp(lowest, highest)
}

/// One value of a weighted sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct WeightedValue {
    /// The value.
    pub value: f64,
    /// Number of members of the sample with this value, at least 1.
    pub copies: u64,
    /// The weight of each copy, above 0.
    pub weight: f64,
}

/// Location and spread of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SampleSpread {
    /// Mean.
    pub mean: f64,
    /// Variance, and the quantiles (1 - level) / 2 and (1 + level) / 2; `None` for a sample of one.
    pub spread: Option<SpreadEstimate>,
}

/// Variance and interval of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SpreadEstimate {
    /// Unbiased variance: divisor M - 1 for equal weights, in general W - sum of w^2 / W.
    ///
    /// W is the sum of the weights.
    pub variance: f64,
    /// Lower end of the interval.
    pub lo: f64,
    /// Upper end of the interval.
    pub hi: f64,
}

impl SampleSpread {
    /// Mean, variance and the interval that holds the middle `level` of the sample.
    ///
    /// `None` where it is empty. Sums run in the order given. Quantiles are the weighted form of
    /// linear interpolation between order statistics (Akinshin 2023, "Weighted quantile
    /// estimators", type 7): for equal weights position (M - 1) q.
    pub(crate) fn new(sample: &[WeightedValue], level: f64) -> Option<SampleSpread> {
        let sum = |term: &dyn Fn(&WeightedValue) -> f64| {
            sample.iter().map(|x| x.copies as f64 * term(x)).sum::<f64>()
        };
        let weight = sum(&|x| x.weight);
        if weight.is_nan() || weight <= 0.0 {
            return None;
        }
        let mean = sum(&|x| x.weight * x.value) / weight;
        let squares = sum(&|x| x.weight * x.weight);
        if sample.iter().map(|x| x.copies).sum::<u64>() < 2 {
            return Some(SampleSpread { mean, spread: None });
        }
        let variance =
            sum(&|x| x.weight * (x.value - mean) * (x.value - mean)) / (weight - squares / weight);
        let mut ascending = sample.to_vec();
        ascending.sort_by(|a, b| a.value.total_cmp(&b.value));
        let quantile = |q: f64| {
            let weighed = ascending.iter().map(|x| (x.value, x.copies as f64 * x.weight));
            weighted_quantile(weighed, (weight, squares), q)
        };
        Some(SampleSpread {
            mean,
            spread: Some(SpreadEstimate {
                variance,
                lo: quantile((1.0 - level) / 2.0),
                hi: quantile((1.0 + level) / 2.0),
            }),
        })
    }
}

/// The share of a standard normal distribution above x.
pub(crate) fn upper_tail(x: f64) -> f64 {
    libm::erfc(x / std::f64::consts::SQRT_2) / 2.0
}

/// The quantile `p` of the standard normal distribution; infinite at 0 and 1, NaN outside [0, 1].
///
/// Source: Wichura 1988, algorithm AS 241, PPND16; relative error about 1e-16.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 8] = [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ];
    const B: [f64; 8] = [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ];
    const C: [f64; 8] = [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        0.000_774_545_014_278_341_4,
    ];
    const D: [f64; 8] = [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        0.000_547_593_808_499_534_5,
        1.050_750_071_644_416_9e-9,
    ];
    const E: [f64; 8] = [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ];
    const F: [f64; 8] = [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        0.000_786_869_131_145_613_3,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_7e-15,
    ];

    let ratio = |r: f64, top: &[f64; 8], bottom: &[f64; 8]| horner(top, r) / horner(bottom, r);
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * ratio(0.180_625 - q * q, &A, &B);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 || tail.is_nan() {
        return if tail == 0.0 { f64::INFINITY.copysign(q) } else { f64::NAN };
    }
    let r = (-libm::log(tail)).sqrt();
    let size = if r <= 5.0 { ratio(r - 1.6, &C, &D) } else { ratio(r - 5.0, &E, &F) };
    size.copysign(q)
}

fn horner(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

#[cfg(test)]
mod tests {
    use super::{SampleSpread, WeightedValue, normal_quantile, quantile};

    #[test]
    fn spreads() {
        let plain = |values: &[f64]| {
            values
                .iter()
                .map(|&value| WeightedValue { value, copies: 1, weight: 1.0 })
                .collect::<Vec<_>>()
        };
        assert_eq!(SampleSpread::new(&[], 0.95), None);
        assert_eq!(
            SampleSpread::new(&plain(&[3.0]), 0.95),
            Some(SampleSpread { mean: 3.0, spread: None })
        );
        let spread = SampleSpread::new(&plain(&[8.0, 0.0, 2.0, 4.0, 1.0]), 0.95).unwrap();
        let around = spread.spread.unwrap();
        let sorted = [0.0, 1.0, 2.0, 4.0, 8.0];
        assert_eq!((spread.mean, around.variance), (3.0, 10.0));
        assert!((around.lo - quantile(&sorted, 0.025).unwrap()).abs() < 1e-12);
        assert!((around.hi - quantile(&sorted, 0.975).unwrap()).abs() < 1e-12);
        // A copy is a separate member, and only the ratio of weights has an effect.
        let copies = [
            WeightedValue { value: 1.0, copies: 3, weight: 0.1 },
            WeightedValue { value: 5.0, copies: 1, weight: 0.1 },
        ];
        let (a, b) = (
            SampleSpread::new(&copies, 0.5).unwrap(),
            SampleSpread::new(&plain(&[1.0, 1.0, 1.0, 5.0]), 0.5).unwrap(),
        );
        let (x, y) = (a.spread.unwrap(), b.spread.unwrap());
        let gaps = [a.mean - b.mean, x.variance - y.variance, x.lo - y.lo, x.hi - y.hi];
        assert!(gaps.iter().all(|gap| gap.abs() < 1e-12), "{a:?} {b:?}");
        // A member of weight 2 and two of weight 1: mean (2 * 0 + 4 + 8) / 4, variance (18 +
        // 1 + 25) / (4 - 6 / 4).
        let uneven = [(0.0, 2.0), (4.0, 1.0), (8.0, 1.0)].map(|(value, weight)| WeightedValue {
            value,
            copies: 1,
            weight,
        });
        let spread = SampleSpread::new(&uneven, 0.9).unwrap();
        assert_eq!((spread.mean, spread.spread.unwrap().variance), (3.0, 44.0 / 2.5));
    }

    #[test]
    fn sample_quantiles_interpolate() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.9), Some(3.0));
        assert_eq!(quantile(&[0.0, 1.0, 2.0, 4.0], 0.5), Some(1.5));
        assert_eq!(quantile(&[0.0, 1.0, 2.0, 4.0], 1.0), Some(4.0));
        assert_eq!(quantile(&[0.0, 1.0, 2.0, 4.0, 8.0], 0.975), Some(7.6));
    }

    /// Expected values: the series of the normal distribution in decimals of 80 digits, inverted by
    /// Newton steps.
    #[test]
    fn normal_quantiles() {
        for (p, z) in [
            (0.975, 1.9599639845400538),
            (0.95, 1.6448536269514722),
            (0.995, 2.5758293035489004),
            (0.6, 0.2533471031357997),
            (0.9, 1.2815515655446006),
            (0.0001, -3.7190164854556804),
            (1e-10, -6.361340902404057),
            (1e-25, -10.420452200803098),
            (0.05, -1.6448536269514726),
            (0.9999999, 5.199337582290661),
        ] {
            let found = normal_quantile(p);
            assert!((found - z).abs() <= 1e-15 * z.abs(), "{p}: {found} instead of {z}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert_eq!(
            (normal_quantile(0.0), normal_quantile(1.0)),
            (f64::NEG_INFINITY, f64::INFINITY)
        );
        assert!(normal_quantile(-0.1).is_nan() && normal_quantile(f64::NAN).is_nan());
    }
}
