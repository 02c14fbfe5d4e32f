//! Percentile intervals of replicated means; of persons with several rows the expanded ones.

use crate::num::student::student_quantile;
use crate::num::summary::quantile;

/// The reasons why replicates give no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPercentilesReason {
    /// More than 5 % of the replicates have no mean.
    TooManyUndefined,
    /// All replicates agree.
    AllAgree,
    /// So few persons were drawn that even the range of all replicates contains the mean of all
    /// people less often than the level requires.
    FewPersons,
}

/// The share of replicates beyond each end. Rows that are persons: (1 - level) / 2. Of P persons
/// with several rows: the normal share beyond t(P - 1) sqrt(P / (P - 1)), the expanded percentile
/// interval (Hesterberg 2015, The American Statistician 69, 371-386, section 4.2), because
/// replicates of few persons vary too little by that root, and their variance is not known well.
///
/// None where 2^(1 - P) > 1 - level: no mean of P persons lies between the smallest and the largest
/// of them in more than 1 - 2^(1 - P) of samples of a symmetric distribution.
fn outside(persons: Option<u64>, level: f64) -> Result<f64, NoPercentilesReason> {
    let Some(persons) = persons else { return Ok((1.0 - level) / 2.0) };
    let n = persons as f64;
    if persons < 2 || libm::exp2(1.0 - n) > 1.0 - level {
        return Err(NoPercentilesReason::FewPersons);
    }
    let quantile = student_quantile(f64::midpoint(1.0, level), n - 1.0);
    Ok(libm::erfc(quantile * (n / (n - 1.0)).sqrt() / std::f64::consts::SQRT_2) / 2.0)
}

/// The ends of the percentile interval of replicated means at a level, by linear interpolation at
/// position (m - 1) q of the m that exist; `persons` are those behind them, none where each row is
/// a person.
pub(super) fn percentiles(
    replicates: impl Iterator<Item = Option<f64>>,
    level: f64,
    persons: Option<u64>,
) -> Result<(f64, f64), NoPercentilesReason> {
    let outside = outside(persons, level)?;
    let all: Vec<Option<f64>> = replicates.collect();
    let mut values: Vec<f64> = all.iter().flatten().copied().collect();
    if (all.len() - values.len()) * 20 > all.len() {
        return Err(NoPercentilesReason::TooManyUndefined);
    }
    // With few persons the ends would be the smallest and the largest replicate.
    if persons.is_some() && outside * (all.len() as f64) < 1.0 {
        return Err(NoPercentilesReason::FewPersons);
    }
    values.sort_unstable_by(f64::total_cmp);
    let end = |q| quantile(&values, q).ok_or(NoPercentilesReason::TooManyUndefined);
    if end(0.0)? == end(1.0)? {
        return Err(NoPercentilesReason::AllAgree);
    }
    Ok((end(outside)?, end(1.0 - outside)?))
}

#[cfg(test)]
mod tests {
    use super::{NoPercentilesReason, outside, percentiles};

    /// By hand: t(0.975) of 9 degrees of freedom is 2.262157; times the root of
    /// 10 / 9 it is 2.384524, beyond which lies 0.855 % of a normal distribution.
    #[test]
    fn ends_of_few_persons_are_further_out() {
        let near = |persons, level: f64, expected: f64| {
            let found = outside(persons, level).unwrap();
            assert!((found - expected).abs() < 5e-7, "{persons:?} {level}: {found}");
        };
        near(None, 0.95, 0.025);
        near(Some(10), 0.95, 0.008_551);
        near(Some(6), 0.95, 0.002_432);
        near(Some(1_000_000), 0.95, 0.025);
        let refused = Err(NoPercentilesReason::FewPersons);
        // 1 - 2^-4 is 93.75 %, 1 - 2^-3 is 87.5 %.
        assert_eq!(outside(Some(5), 0.95), refused);
        assert_eq!(outside(Some(4), 0.9), refused);
        assert!(outside(Some(5), 0.9).is_ok());
        assert!([0, 1].iter().all(|&n| outside(Some(n), 0.01) == refused));
        let replicates = || (0..2001).map(|i| Some(f64::from(i) / 2000.0));
        let (lo, hi) = percentiles(replicates(), 0.95, Some(10)).unwrap();
        assert!((lo - 0.008_551).abs() < 5e-7 && (hi - 0.991_449).abs() < 5e-7);
        let of_three = percentiles(replicates(), 0.95, Some(3));
        assert_eq!(of_three, Err(NoPercentilesReason::FewPersons));
    }

    #[test]
    fn boundaries() {
        let undefined = |share: usize| (0..100).map(move |i| (i >= share).then_some(i as f64));
        let found = |share| percentiles(undefined(share), 0.95, None);
        assert!(found(5).is_ok());
        assert_eq!(found(6), Err(NoPercentilesReason::TooManyUndefined));
        let alike = percentiles((0..100).map(|_| Some(0.5)), 0.95, None);
        assert_eq!(alike, Err(NoPercentilesReason::AllAgree));
        let nothing = percentiles(std::iter::empty(), 0.95, None);
        assert_eq!(nothing, Err(NoPercentilesReason::TooManyUndefined));
    }
}
