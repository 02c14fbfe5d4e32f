//! The repeats of a set with one thing changed, and how far the values of a metric differ between
//! them.
//!
//! Choice: from [`MIN_REPEATS_FOR_TAILS`] repeats on the ends are quantiles (linear interpolation),
//! with fewer the smallest and the largest value.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::rate::MetricValue;
use crate::num::summary::quantile;
use crate::param::Level;

/// Repeats from which the tails are cut.
pub(crate) const MIN_REPEATS_FOR_TAILS: usize = 40;

/// One in this number of repeats may lack a value; with more without one there are no ends.
const REPEATS_FOR_ONE_WITHOUT: usize = 20;

/// One repeat of a set, or one of the graphs that it depends on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetRepeat {
    /// The first pass.
    pub counts: CounterfactualCounts,
    /// The second pass; none where score metrics are not asked for.
    pub second: Option<ShiftPass>,
    /// Groups without a row to learn from, by position in reference-first order: values about them
    /// are undefined.
    pub without_rows: Vec<usize>,
}

additive!(SetRepeat { counts });

/// The ends of ascending values of repeats: without the lower and the upper `tail`, with few values
/// all of them; none without a value.
pub(crate) fn ends_of_repeats(ascending: &[f64], tail: f64) -> Option<(f64, f64)> {
    let tail = if ascending.len() < MIN_REPEATS_FOR_TAILS { 0.0 } else { tail };
    quantile(ascending, tail).zip(quantile(ascending, 1.0 - tail))
}

/// How far a value differs between repeats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RepeatSpread {
    /// Repeats in which it is defined.
    pub repeats: u64,
    /// Its lower and upper end and its variance, divisor `repeats` - 1; none where fewer than two
    /// repeats, or fewer than 95 % of them, give a value.
    pub spread: Option<(f64, f64, f64)>,
}

impl RepeatSpread {
    /// The spread of the values of all repeats, with ends at a level.
    pub(crate) fn of_values(values: &[MetricValue], level: Level) -> Self {
        let mut defined: Vec<f64> = values.iter().filter_map(|value| value.ok()).collect();
        defined.sort_unstable_by(f64::total_cmp);
        let n = defined.len();
        let enough = n > 1 && REPEATS_FOR_ONE_WITHOUT * (values.len() - n) <= values.len();
        let ends = ends_of_repeats(&defined, (1.0 - level.get()) / 2.0).filter(|_| enough);
        let spread = ends.map(|(lo, hi)| {
            // Differences from the first value are summed: so equal values have no variance at all.
            let apart: Vec<f64> = defined.iter().map(|value| value - defined[0]).collect();
            let mean = apart.iter().sum::<f64>() / n as f64;
            let squares: f64 = apart.iter().map(|x| (x - mean) * (x - mean)).sum();
            (lo, hi, squares / (n - 1) as f64)
        });
        RepeatSpread { repeats: n as u64, spread }
    }
}

#[cfg(test)]
mod tests {
    use super::RepeatSpread;
    use crate::metric::rate::{MetricValue, Undefined};
    use crate::param::Level;

    fn of(values: &[MetricValue]) -> RepeatSpread {
        RepeatSpread::of_values(values, Level::DEFAULT)
    }

    #[test]
    fn few_repeats_have_extremes_and_many_have_quantiles() {
        let upto = |n: u32| of(&(0..n).rev().map(|i| Ok(f64::from(i))).collect::<Vec<_>>());
        assert_eq!(upto(1), RepeatSpread { repeats: 1, spread: None });
        // 0, 1, 2, 3: variance 5 / 3.
        assert_eq!(upto(4), RepeatSpread { repeats: 4, spread: Some((0.0, 3.0, 5.0 / 3.0)) });
        assert_eq!(upto(39).spread.map(|s| (s.0, s.1)), Some((0.0, 38.0)));
        let (lo, hi, _) = upto(41).spread.unwrap();
        assert!((lo - 1.0).abs() < 1e-12 && (hi - 39.0).abs() < 1e-12, "{lo} {hi}");
        assert_eq!(of(&[Ok(0.1); 30]).spread, Some((0.1, 0.1, 0.0)));
    }

    #[test]
    fn a_value_that_many_repeats_lack_has_no_ends() {
        let none = Err(Undefined::EmptyGroup);
        let mut values = vec![Ok(0.25); 19];
        values.push(none);
        assert_eq!(of(&values), RepeatSpread { repeats: 19, spread: Some((0.25, 0.25, 0.0)) });
        values.push(none);
        assert_eq!(of(&values), RepeatSpread { repeats: 19, spread: None });
    }
}
