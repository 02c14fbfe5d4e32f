//! The noise floor: what a strategy gives where group names mean nothing, as a band next to each
//! value.
//!
//! A placebo repeats the strategy with group names permuted inside the strata of the label, for
//! reference and samples alike, and measures the same model. Whatever moves then moves by sampling
//! noise. The band of a value is the range of the values of the repeats.
//!
//! Choice: the band runs from the 2.5 % to the 97.5 % quantile, with few repeats from the smallest
//! to the largest value ([`ends_of_repeats`]). Repeats in which the metric is undefined are left
//! out; where it is undefined in all of them there is no band. A strategy that learns from no
//! sample (naive) has no noise: with group names permuted its counterfactuals contain nothing that
//! was estimated, so its band is the value of the metric where nothing moves, and there is none
//! where that value is undefined.

use crate::metric::noise::repeats::{SetRepeat, ends_of_repeats};
use crate::metric::rate::MetricValue;
use crate::param::Count;

/// The result of a set with permuted group names.
#[derive(Debug, Clone)]
pub(crate) enum PlaceboEvidence {
    /// The strategy draws on no sample: in none of these repeats does anything move.
    Unmoved(Count),
    /// The evidence of every repeat.
    Repeats(Vec<SetRepeat>),
}

/// The band of one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlaceboBand {
    /// Its ends; none where the metric is undefined in every repeat.
    pub ends: Option<(f64, f64)>,
    /// Repeats asked for.
    pub repeats: u64,
}

impl PlaceboBand {
    /// The band of the values of the repeats, or of the one value that all of them give.
    pub(crate) fn of_values(repeats: u64, values: impl Iterator<Item = MetricValue>) -> Self {
        let mut defined: Vec<f64> = values.filter_map(Result::ok).collect();
        defined.sort_unstable_by(f64::total_cmp);
        PlaceboBand { ends: ends_of_repeats(&defined, 0.025), repeats }
    }
}

#[cfg(test)]
mod tests {
    use super::PlaceboBand;
    use crate::metric::rate::Undefined;

    #[test]
    fn tails_are_cut_where_there_are_many_repeats() {
        let values = |n: u32| (0..n).rev().map(|i| Ok(f64::from(i)));
        let of = |n: u32| PlaceboBand::of_values(n.into(), values(n)).ends;
        assert_eq!([of(0), of(1), of(39)], [None, Some((0.0, 0.0)), Some((0.0, 38.0))]);
        assert_eq!(of(41), Some((1.0, 39.0)));
    }

    #[test]
    fn undefined_repeats_leave_no_value() {
        let none = Err(Undefined::EmptyGroup);
        assert_eq!(
            PlaceboBand::of_values(4, [none, Ok(0.25), none, Ok(0.125)].into_iter()),
            PlaceboBand { ends: Some((0.125, 0.25)), repeats: 4 }
        );
        assert_eq!(
            PlaceboBand::of_values(3, [none; 3].into_iter()),
            PlaceboBand { ends: None, repeats: 3 }
        );
    }
}
