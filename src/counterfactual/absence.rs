//! When a level is absent from a group. The first step of flips and the test of support share it.

use serde::{Deserialize, Serialize};

/// Probabilities that agree to this are equal: shares of counts, computed in different ways.
pub(crate) const TOLERANCE: f64 = 1e-12;

/// When a level counts as absent from a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbsenceRule {
    /// The largest share of an absent level in the group.
    pub share: f64,
    /// And at most this many times its share in the other group; none: no guard.
    pub ratio: Option<f64>,
    /// And the group would be expected to have at least this many rows with it.
    pub min_expected: f64,
}

impl AbsenceRule {
    /// The default of flips, and the rule of support.
    pub(crate) const DEFAULT: AbsenceRule =
        AbsenceRule { share: 0.01, ratio: Some(0.05), min_expected: 3.0 };

    /// Whether a level is absent from a group, from the number of its rows with the level and of
    /// its rows with any value; `own` is the share of the level in the other group. False
    /// for a group without values.
    pub(crate) fn holds(self, own: f64, (rows, of): (u64, u64)) -> bool {
        let share = rows as f64 / of as f64;
        of > 0
            && share <= self.share + TOLERANCE
            && self.ratio.is_none_or(|ratio| share <= ratio * own + TOLERANCE)
            && of as f64 * own >= self.min_expected - TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::AbsenceRule;

    /// The edges of the three conditions; whole examples are among the tests of flips.
    #[test]
    fn a_level_is_absent_by_three_conditions() {
        let holds = |own, target| AbsenceRule::DEFAULT.holds(own, target);
        assert!(holds(0.5, (1, 100)) && !holds(0.5, (2, 100)));
        // 0.01 is more than 0.05 times 0.19.
        assert!(holds(0.2, (1, 100)) && !holds(0.19, (1, 100)));
        assert!(holds(0.03, (0, 100)) && !holds(0.02, (0, 100)));
        assert!(!holds(1.0, (0, 0)));
    }
}
