//! The difference of the means of two groups by what each unit adds to them.
//!
//! A unit is a row, or a person with several rows. With m the mean of a group and W what its rows
//! weigh, a row adds w (x - m) / W, and a person the sum over the own rows. People who are all
//! different and count alike: the variance of each mean is P / (P - 1) times the sum of the squares
//! over its P units, with Welch's degrees of freedom. Otherwise what a person adds to both groups
//! is subtracted first, and the degrees of freedom are one less than the units of the smaller
//! group.

use crate::metric::interval::{IntervalProcedure, ValueInterval};
use crate::metric::value::interval_choice::IntervalBasis;
use crate::num::student::{satterthwaite, student_quantile};

/// Why the difference of two means has no interval.
pub(crate) const ONE_OF_TWO: &str = "boundary: a group of one person tells nothing of others";

/// What the units of one group add to its mean.
pub(crate) enum MeanInfluences {
    /// Each person, ascending by key.
    Persons(Vec<(u64, f64)>),
    /// The number of rows, and the sum of the squares of what they add.
    Rows(f64, f64),
}

impl MeanInfluences {
    fn units(&self) -> f64 {
        match self {
            MeanInfluences::Persons(each) => each.len() as f64,
            MeanInfluences::Rows(n, _) => *n,
        }
    }
}

/// Variance and degrees of freedom of the difference of two means; none where a group has fewer
/// than two units. `is_plain` says that each row is a person who counts as one.
pub(crate) fn spread_of_gap(
    a: &MeanInfluences,
    b: &MeanInfluences,
    is_plain: bool,
) -> Option<(f64, f64)> {
    let (n, m) = (a.units(), b.units());
    if n.min(m) < 2.0 {
        return None;
    }
    let share = |n: f64| n / (n - 1.0);
    let (all, sum) = match (a, b) {
        (MeanInfluences::Rows(_, x), MeanInfluences::Rows(_, y)) if is_plain => {
            let (v, w) = (share(n) * x, share(m) * y);
            let variance = v + w;
            return Some((variance, satterthwaite(variance, &[(v, n - 1.0), (w, m - 1.0)])));
        }
        (MeanInfluences::Rows(_, x), MeanInfluences::Rows(_, y)) => (n + m, x + y),
        (MeanInfluences::Persons(a), MeanInfluences::Persons(b)) => differences(a, b),
        _ => return None,
    };
    Some((share(all) * sum, n.min(m) - 1.0))
}

/// Half of the width of Student's interval; none where nothing varies.
pub(crate) fn half_width(variance: f64, df: f64, level: f64) -> Option<f64> {
    (variance > 0.0 && df > 0.0)
        .then(|| student_quantile(f64::midpoint(1.0, level), df) * variance.sqrt())
}

/// How many persons stand in one of two lists ascending by key, and the sum of the squares of the
/// differences of what they add to both.
fn differences(a: &[(u64, f64)], b: &[(u64, f64)]) -> (f64, f64) {
    let (mut n, mut sum, mut others) = (0.0, 0.0, b.iter().peekable());
    let mut add = |x: f64| {
        n += 1.0;
        sum += x * x;
    };
    for &(key, x) in a {
        while let Some(&(_, y)) = others.next_if(|(other, _)| *other < key) {
            add(y);
        }
        let y = others.next_if(|(other, _)| *other == key).map_or(0.0, |&(_, y)| y);
        add(x - y);
    }
    for &(_, y) in others {
        add(y);
    }
    (n, sum)
}

/// The interval at a level of the difference of the means of two groups, each with what its units
/// add to it; without persons and weights (`is_plain`) Welch's.
pub(crate) fn mean_gap(
    of_a: Option<(f64, MeanInfluences)>,
    of_b: Option<(f64, MeanInfluences)>,
    is_plain: bool,
    level: f64,
) -> IntervalBasis {
    const ALIKE: &str = "boundary: all people of both groups have the same number";
    let (Some((p, of_p)), Some((q, of_q))) = (of_a, of_b) else {
        return IntervalBasis::NotFormed(ONE_OF_TWO);
    };
    let method = if is_plain { IntervalProcedure::Welch } else { IntervalProcedure::InfluenceGap };
    let Some((variance, df)) = spread_of_gap(&of_p, &of_q, is_plain) else {
        return IntervalBasis::NotFormed(ONE_OF_TWO);
    };
    let around = |half: f64| ValueInterval { lo: p - q - half, hi: p - q + half, method };
    match half_width(variance, df, level) {
        Some(half) => IntervalBasis::Formula(Some(around(half))),
        None => IntervalBasis::NotFormed(ALIKE),
    }
}
