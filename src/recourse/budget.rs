//! Budgets that fit the data: percentiles of the cost at which half of a subgroup's group is
//! helped.
//!
//! Choice: each subgroup gives one cost per group, as in the authors' code; the text of the paper
//! can also mean one per subgroup. The percentile `q` of `m` sorted costs is at position `(m - 1)
//! q`, with linear interpolation, rounded to units of cost (ties to even). The published tables
//! print rounded budgets and use these.

use crate::num::decimal::Decimal;
use crate::recourse::DecimalShare;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::definition::{RecourseView, cost_of};
use crate::recourse::effect::ActionEffects;
use crate::recourse::exact::half_even;

/// A percentile from 0 to 100, with at most 15 decimal places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentile(Decimal);

impl Percentile {
    /// The percentile, if it is one.
    pub fn new(percent: Decimal) -> Option<Percentile> {
        let (digits, unit) = percent.fraction();
        (unit <= 10_u64.pow(15) && digits <= unit.saturating_mul(100))
            .then_some(Percentile(percent))
    }
}

/// The distinct budgets at these percentiles, ascending, in units of 1e-9.
///
/// Empty where half of no group can be helped. `half` is the share that has to be helped, in the
/// paper one half.
pub fn budgets(
    plan: &RecoursePlan<'_>,
    effects: &ActionEffects,
    percentiles: &[Percentile],
    half: DecimalShare,
) -> Vec<i64> {
    let costs_of = |subgroup| {
        let effect = effects.of_subgroup(plan, subgroup);
        [0, 1].map(|g| cost_of(&effect, RecourseView::Micro, half, g))
    };
    let mut costs: Vec<i64> = (0..plan.n_subgroups()).flat_map(costs_of).flatten().collect();
    costs.sort_unstable();
    let mut budgets: Vec<i64> = percentiles.iter().filter_map(|&q| percentile(&costs, q)).collect();
    budgets.sort_unstable();
    budgets.dedup();
    budgets
}

/// The percentile of sorted costs; `None` without costs.
fn percentile(costs: &[i64], Percentile(q): Percentile) -> Option<i64> {
    let last = costs.len().checked_sub(1)?;
    let (digits, unit) = q.fraction();
    let unit = u128::from(unit) * 100;
    let position = last as u128 * u128::from(digits);
    let (before, rest) = ((position / unit) as usize, position % unit);
    let [low, high] = [before, last.min(before + 1)].map(|i| u128::from(costs[i].unsigned_abs()));
    // Costs have 63 bits and a unit 57.
    i64::try_from(half_even(low * unit + (high - low) * rest, unit)).ok()
}

#[cfg(test)]
mod tests {
    use super::{Percentile, percentile};

    fn at(costs: &[i64], q: &str) -> Option<i64> {
        percentile(costs, Percentile::new(q.parse().unwrap()).unwrap())
    }

    #[test]
    fn percentiles_end_at_a_hundred() {
        let percentile = |text: &str| Percentile::new(text.parse().unwrap());
        assert!(
            percentile("100").is_some()
                && percentile("100.1").is_none()
                && percentile("1.0000000000000001").is_none()
        );
    }

    #[test]
    fn percentiles_lie_between_neighbours() {
        assert_eq!(at(&[], "30"), None);
        assert_eq!(at(&[7], "30"), Some(7));
        assert_eq!(at(&[0, 10, 20, 30], "30"), Some(9));
        assert_eq!(
            [at(&[0, 1], "50"), at(&[1, 2], "50"), at(&[2, 3], "50")],
            [Some(0), Some(2), Some(2)],
            "ties go to even"
        );
        assert_eq!(
            [at(&[3, 8], "0"), at(&[3, 8], "100"), at(&[3, 8], "12.5")],
            [Some(3), Some(8), Some(4)]
        );
    }
}
