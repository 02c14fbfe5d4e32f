//! A change of one level of a column to another: whether it is allowed, and its cost.
//!
//! Costs are whole numbers of 1e-9, each change rounded (ties to even) separately and then added:
//! equal costs are equal in any order of summation, and effectiveness by cost depends on ties of
//! costs.

use crate::error::{Fault, Result};
use crate::recourse::feature::{ChangeDirection, LevelDistance, LevelScale, RecourseFeature};

/// Units in a cost of 1.
pub(crate) const COST_UNIT: u64 = 1_000_000_000;

/// The largest cost of one change: the sum of hundreds of such costs fits 63 bits of units.
const MAX_CHANGE_COST: f64 = 1e7;

/// The allowed changes of one column.
#[derive(Debug)]
pub(super) struct FeatureChanges<'a> {
    feature: &'a RecourseFeature,
    /// Largest minus smallest number.
    range: f64,
}

impl<'a> FeatureChanges<'a> {
    /// The steps of a column; its range is that of the levels that occur.
    pub(super) fn new(feature: &'a RecourseFeature) -> Self {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        if let LevelScale::Numbers(values) = &feature.scale {
            for &code in feature.codes.iter().filter(|&&code| Some(code) != feature.missing) {
                lo = lo.min(values[code as usize]);
                hi = hi.max(values[code as usize]);
            }
        }
        FeatureChanges { feature, range: hi - lo }
    }

    /// The position of a level on the scale; `None` without order.
    fn position(&self, level: u32) -> Option<f64> {
        if Some(level) == self.feature.missing {
            return None;
        }
        match &self.feature.scale {
            LevelScale::Nominal => None,
            LevelScale::Ordered => Some(f64::from(level)),
            LevelScale::Numbers(values) => Some(values[level as usize]),
        }
    }

    /// Whether a level may change to another one.
    ///
    /// Choice: a missing value has no position, so it moves neither up nor down.
    fn allowed(&self, from: u32, to: u32) -> bool {
        let rule = &self.feature.may_change;
        if Some(to) == self.feature.missing || rule.not_to.contains(&to) {
            return false;
        }
        let sign = match rule.direction {
            ChangeDirection::Never => return false,
            ChangeDirection::Any => return true,
            ChangeDirection::Up => 1.0,
            ChangeDirection::Down => -1.0,
        };
        let (Some(from), Some(to)) = (self.position(from), self.position(to)) else { return false };
        let climb = sign * (to - from);
        // In units of costs: 0.8 is one step of 0.2 above 0.6, apart from rounding.
        let units = |x: f64| (x * 1e9).round();
        climb >= 0.0 && rule.steps.is_none_or(|steps| units(climb) <= units(steps))
    }

    /// The cost of a change in units of 1e-9; `None` if it is not allowed.
    ///
    /// Choice: from a missing value only the unit distance is defined, so columns that count
    /// positions or differences cannot leave it.
    ///
    /// # Errors
    /// The cost does not fit.
    pub(super) fn cost(&self, from: u32, to: u32) -> Result<Option<i64>> {
        if !self.allowed(from, to) {
            return Ok(None);
        }
        let apart = || Some((self.position(to)? - self.position(from)?).abs());
        let distance = match self.feature.cost.distance {
            LevelDistance::Unit => Some(1.0),
            LevelDistance::RangeShare if self.range == 0.0 => apart().map(|_| 0.0),
            LevelDistance::RangeShare => apart().map(|apart| apart / self.range),
            LevelDistance::Positions | LevelDistance::Absolute => apart(),
        };
        let Some(distance) = distance else { return Ok(None) };
        let cost = (self.feature.cost.weight * distance * COST_UNIT as f64).round_ties_even();
        if !(0.0..=MAX_CHANGE_COST * COST_UNIT as f64).contains(&cost) {
            let what = format!(
                "a change of `{}` costs {}, more than {MAX_CHANGE_COST}",
                self.feature.name,
                self.feature.cost.weight * distance
            );
            return Fault::new("cost-too-large", what)
                .in_column(&self.feature.name)
                .fail("give the column a smaller weight, or measure it as a share of its range");
        }
        Ok(Some(cost as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::FeatureChanges;
    use crate::recourse::feature::{AllowedChanges, ChangeCost, ChangeDirection, LevelDistance};
    use crate::recourse::feature::{LevelScale, RecourseFeature};
    use crate::tests::Says;

    /// Costs of all changes of a column whose last level is `missing`; `None` where not allowed.
    fn costs(
        scale: LevelScale,
        direction: ChangeDirection,
        steps: Option<f64>,
        distance: LevelDistance,
        weight: f64,
    ) -> Vec<Vec<Option<i64>>> {
        let levels: Vec<String> = ["a", "b", "c", "missing"].map(str::to_owned).to_vec();
        let may_change = AllowedChanges { direction, steps, not_to: Vec::new() };
        let cost = ChangeCost { distance, weight };
        let feature = RecourseFeature {
            name: "x".to_owned(),
            levels,
            scale,
            missing: Some(3),
            codes: vec![0, 1, 2, 3],
            may_change,
            cost,
            ..RecourseFeature::default()
        };
        let steps = FeatureChanges::new(&feature);
        (0..4).map(|from| (0..4).map(|to| steps.cost(from, to).unwrap()).collect()).collect()
    }

    #[test]
    fn directions_follow_the_declared_order() {
        let (yes, no) = (Some(1_000_000_000), None);
        let up = costs(LevelScale::Ordered, ChangeDirection::Up, None, LevelDistance::Unit, 1.0);
        assert_eq!(
            up,
            [[yes, yes, yes, no], [no, yes, yes, no], [no, no, yes, no], [no, no, no, no]]
        );
        let down =
            costs(LevelScale::Ordered, ChangeDirection::Down, None, LevelDistance::Unit, 1.0);
        assert_eq!(
            down,
            [[yes, no, no, no], [yes, yes, no, no], [yes, yes, yes, no], [no, no, no, no]]
        );
        let one =
            costs(LevelScale::Ordered, ChangeDirection::Up, Some(1.0), LevelDistance::Unit, 1.0);
        assert_eq!(one[0], [yes, yes, no, no]);
        assert_eq!(
            costs(LevelScale::Ordered, ChangeDirection::Never, None, LevelDistance::Unit, 1.0),
            vec![vec![no; 4]; 4]
        );
        let any = costs(LevelScale::Nominal, ChangeDirection::Any, None, LevelDistance::Unit, 1.0);
        assert_eq!(any[3], [yes, yes, yes, no], "from missing, never to it");
    }

    #[test]
    fn steps_of_numbers_are_differences() {
        let numbers = || LevelScale::Numbers(vec![1.0, 2.0, 8.0, f64::NAN]);
        let up = costs(numbers(), ChangeDirection::Up, Some(2.0), LevelDistance::Absolute, 2.0);
        assert_eq!(up[0], [Some(0), Some(2_000_000_000), None, None]);
        // 0.6 + 0.2 is not 0.8 in binary.
        let decimals = costs(
            LevelScale::Numbers(vec![0.6, 0.8, 1.1, f64::NAN]),
            ChangeDirection::Up,
            Some(0.2),
            LevelDistance::Absolute,
            1.0,
        );
        assert_eq!(decimals[0], [Some(0), Some(200_000_000), None, None]);
        let share = costs(numbers(), ChangeDirection::Any, None, LevelDistance::RangeShare, 1.0);
        assert_eq!(share[0], [Some(0), Some(142_857_143), Some(1_000_000_000), None]);
        assert_eq!(share[3], [None; 4], "no distance from what is missing");
        let positions =
            costs(LevelScale::Ordered, ChangeDirection::Any, None, LevelDistance::Positions, 0.5);
        assert_eq!(positions[2], [Some(1_000_000_000), Some(500_000_000), Some(0), None]);
    }

    #[test]
    fn a_cost_that_does_not_fit_is_an_error() {
        let scale = LevelScale::Numbers(vec![0.0, 1e9]);
        let may_change =
            AllowedChanges { direction: ChangeDirection::Any, ..AllowedChanges::default() };
        let cost = ChangeCost { distance: LevelDistance::Absolute, weight: 1.0 };
        let levels = vec!["0".to_owned(), "1000000000".to_owned()];
        let feature = RecourseFeature {
            name: "x".to_owned(),
            levels,
            scale,
            codes: vec![0, 1],
            may_change,
            cost,
            ..RecourseFeature::default()
        };
        FeatureChanges::new(&feature).cost(0, 1).unwrap_err().to_string().says(&["cost-too-large"]);
    }
}
