//! Changing one level of a column to another: whether it may be done, and what it costs.
//!
//! Costs are whole numbers of 1e-9, each change rounded (ties to even) on its own and then added: equal costs are equal in any
//! order of summation, and ties of costs decide about effectiveness by cost.

use crate::error::{Fault, Result};
use crate::recourse::{Feature, Scale};

/// Units of cost in one.
pub const COST_UNIT: u64 = 1_000_000_000;

/// The largest cost of one change: the sum of hundreds of them fits 63 bits of units.
const LARGEST: f64 = 1e7;

/// In which direction a level may move.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// It may not change.
    #[default]
    Never,
    /// Freely.
    Any,
    /// Not to a lower position, or number.
    Up,
    /// Not to a higher position, or number.
    Down,
}

/// Which changes of a column are allowed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MayChange {
    /// In which direction.
    pub direction: Direction,
    /// With `up` and `down`: at most so many positions away (numbers: at most so much).
    pub steps: Option<f64>,
    /// Levels that are no targets, by position.
    pub not_to: Vec<u32>,
}

/// How far apart two levels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// 1 between any two.
    Unit,
    /// Difference of positions in the declared order.
    Positions,
    /// Difference of the numbers over their range among the audited rows; 0 where all are the same.
    RangeShare,
    /// Difference of the numbers.
    Absolute,
}

/// What a change costs: weight times distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// The distance; one of numbers needs a column of numbers, else it counts positions.
    pub distance: Distance,
    /// The weight, at least 0; 1 if the job gives none.
    pub weight: f64,
}

/// The allowed changes of one column.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    feature: &'a Feature,
    /// Largest minus smallest number.
    range: f64,
}

impl<'a> Steps<'a> {
    pub(super) fn new(feature: &'a Feature) -> Self {
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        if let Scale::Numbers(values) = &feature.scale {
            for &code in feature.codes.iter().filter(|&&code| Some(code) != feature.missing) {
                lo = lo.min(values[code as usize]);
                hi = hi.max(values[code as usize]);
            }
        }
        Steps { feature, range: hi - lo }
    }

    /// The place of a level on the scale; `None` without order.
    fn place(&self, level: u32) -> Option<f64> {
        if Some(level) == self.feature.missing {
            return None;
        }
        match &self.feature.scale {
            Scale::Nominal => None,
            Scale::Ordered => Some(f64::from(level)),
            Scale::Numbers(values) => Some(values[level as usize]),
        }
    }

    /// Whether a level may become another one. Choice: what is missing has no position, so it moves neither up nor down.
    fn allowed(&self, from: u32, to: u32) -> bool {
        let rule = &self.feature.may_change;
        if Some(to) == self.feature.missing || rule.not_to.contains(&to) {
            return false;
        }
        let sign = match rule.direction {
            Direction::Never => return false,
            Direction::Any => return true,
            Direction::Up => 1.0,
            Direction::Down => -1.0,
        };
        let (Some(from), Some(to)) = (self.place(from), self.place(to)) else { return false };
        let climb = sign * (to - from);
        // In the units of costs: 0.8 is one step of 0.2 above 0.6, though not to the last bit.
        let units = |x: f64| (x * 1e9).round();
        climb >= 0.0 && rule.steps.is_none_or(|steps| units(climb) <= units(steps))
    }

    /// The cost of a change in units of 1e-9; `None` where it may not be made. Choice: from a missing value there is no distance but the
    /// unit one, so columns that count positions or differences cannot leave it.
    ///
    /// # Errors
    /// The cost does not fit.
    pub(super) fn cost(&self, from: u32, to: u32) -> Result<Option<i64>> {
        if !self.allowed(from, to) {
            return Ok(None);
        }
        let apart = || Some((self.place(to)? - self.place(from)?).abs());
        let distance = match self.feature.cost.distance {
            Distance::Unit => Some(1.0),
            Distance::RangeShare if self.range == 0.0 => apart().map(|_| 0.0),
            Distance::RangeShare => apart().map(|apart| apart / self.range),
            Distance::Positions | Distance::Absolute => apart(),
        };
        let Some(distance) = distance else { return Ok(None) };
        let cost = (self.feature.cost.weight * distance * COST_UNIT as f64).round_ties_even();
        if !(0.0..=LARGEST * COST_UNIT as f64).contains(&cost) {
            let what = format!("a change of `{}` costs {}, more than {LARGEST}", self.feature.name, self.feature.cost.weight * distance);
            return Err(Fault::new("cost-too-large", what)
                .in_column(&self.feature.name)
                .hint("give the column a smaller weight, or measure it as a share of its range")
                .into());
        }
        Ok(Some(cost as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cost, Direction, Distance, MayChange, Steps};
    use crate::recourse::{Feature, Scale};

    /// Costs of all changes of a column whose last level is `missing`; `None` where not allowed.
    fn costs(scale: Scale, direction: Direction, steps: Option<f64>, distance: Distance, weight: f64) -> Vec<Vec<Option<i64>>> {
        let levels: Vec<String> = ["a", "b", "c", "missing"].map(str::to_owned).to_vec();
        let may_change = MayChange { direction, steps, not_to: Vec::new() };
        let cost = Cost { distance, weight };
        let feature =
            Feature { name: "x".to_owned(), levels, scale, missing: Some(3), codes: vec![0, 1, 2, 3], behind: None, may_change, cost };
        let steps = Steps::new(&feature);
        (0..4).map(|from| (0..4).map(|to| steps.cost(from, to).unwrap()).collect()).collect()
    }

    #[test]
    fn directions_follow_the_declared_order() {
        let (yes, no) = (Some(1_000_000_000), None);
        let up = costs(Scale::Ordered, Direction::Up, None, Distance::Unit, 1.0);
        assert_eq!(up, [[yes, yes, yes, no], [no, yes, yes, no], [no, no, yes, no], [no, no, no, no]]);
        let down = costs(Scale::Ordered, Direction::Down, None, Distance::Unit, 1.0);
        assert_eq!(down, [[yes, no, no, no], [yes, yes, no, no], [yes, yes, yes, no], [no, no, no, no]]);
        let one = costs(Scale::Ordered, Direction::Up, Some(1.0), Distance::Unit, 1.0);
        assert_eq!(one[0], [yes, yes, no, no]);
        assert_eq!(costs(Scale::Ordered, Direction::Never, None, Distance::Unit, 1.0), vec![vec![no; 4]; 4]);
        let any = costs(Scale::Nominal, Direction::Any, None, Distance::Unit, 1.0);
        assert_eq!(any[3], [yes, yes, yes, no], "from missing, never to it");
    }

    #[test]
    fn steps_of_numbers_are_differences() {
        let numbers = || Scale::Numbers(vec![1.0, 2.0, 8.0, f64::NAN]);
        let up = costs(numbers(), Direction::Up, Some(2.0), Distance::Absolute, 2.0);
        assert_eq!(up[0], [Some(0), Some(2_000_000_000), None, None]);
        // 0.6 + 0.2 is not 0.8 in binary.
        let decimals = costs(Scale::Numbers(vec![0.6, 0.8, 1.1, f64::NAN]), Direction::Up, Some(0.2), Distance::Absolute, 1.0);
        assert_eq!(decimals[0], [Some(0), Some(200_000_000), None, None]);
        let share = costs(numbers(), Direction::Any, None, Distance::RangeShare, 1.0);
        assert_eq!(share[0], [Some(0), Some(142_857_143), Some(1_000_000_000), None]);
        assert_eq!(share[3], [None; 4], "no distance from what is missing");
        let positions = costs(Scale::Ordered, Direction::Any, None, Distance::Positions, 0.5);
        assert_eq!(positions[2], [Some(1_000_000_000), Some(500_000_000), Some(0), None]);
    }

    #[test]
    fn a_cost_that_does_not_fit_is_an_error() {
        let scale = Scale::Numbers(vec![0.0, 1e9]);
        let may_change = MayChange { direction: Direction::Any, ..MayChange::default() };
        let cost = Cost { distance: Distance::Absolute, weight: 1.0 };
        let levels = vec!["0".to_owned(), "1000000000".to_owned()];
        let feature = Feature { name: "x".to_owned(), levels, scale, missing: None, codes: vec![0, 1], behind: None, may_change, cost };
        assert!(Steps::new(&feature).cost(0, 1).unwrap_err().to_string().contains("cost-too-large"));
    }
}
