//! What a job may ask a metric for: which people, which families, by which keys.

use crate::metric::{AmountSubject, GapTransform, Metric, MetricFamily, Reads, ScoreReading};

/// What a gate asks a metric of, and the key that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateScope {
    /// All rows of an attribute: no key.
    Total,
    /// One group: `group`.
    Group,
    /// One group against another, or against all others: `between`.
    Pair,
    /// The groups that are furthest apart: `between: worst_case`.
    WorstCase,
    /// From one group to another: `direction`.
    Direction,
}

impl Metric {
    /// What it can be asked of, at least one.
    pub(crate) fn scopes(&self) -> &'static [GateScope] {
        use GateScope::{Direction, Group, Pair, Total, WorstCase};
        match self.reads {
            Reads::AnySwitch(_) => &[Total],
            Reads::Group(_, None) if self.family == MetricFamily::Clarify => &[Total],
            Reads::SwitchRatio(_) => &[Pair],
            Reads::Group(_, Some(GapTransform::ToTotal)) => &[WorstCase],
            Reads::Amount(AmountSubject::Group) => &[Group],
            Reads::Amount(AmountSubject::Gap | AmountSubject::Ratio) => &[Pair],
            Reads::Scored(ScoreReading::CrossAuc, None) => &[Direction],
            Reads::Scored(_, Some(_)) => &[Pair],
            _ => match self.family {
                MetricFamily::Performance | MetricFamily::Scores => &[Total, Group],
                MetricFamily::Group => &[Pair, WorstCase],
                MetricFamily::Clarify => &[Pair],
                // Over all directions changes up and down would cancel.
                MetricFamily::Shift if self.is_signed() => &[Direction, Pair],
                MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift => {
                    &[Total, Direction, Pair]
                }
                MetricFamily::Amounts => &[Direction],
                MetricFamily::Graph => &[Total],
                MetricFamily::CfQuality => &[],
            },
        }
    }

    /// The range of the values that a gate judges in a scope, and the ideal one; none where no value
    /// is stated as such.
    pub(crate) fn judged_in(&self, scope: GateScope) -> ((f64, f64), Option<f64>) {
        let (least, most) = self.range;
        match scope {
            // For a metric of directions, the value of a pair is the difference between its two
            // directions.
            GateScope::Pair if self.scopes().contains(&GateScope::Direction) => {
                ((least - most, most - least), Some(0.0))
            }
            // The two furthest groups are ordered so that a difference is not below 0 and a ratio
            // not above 1.
            GateScope::WorstCase if (least, most) == (0.0, f64::INFINITY) => {
                ((0.0, 1.0), self.ideal)
            }
            GateScope::WorstCase => ((least.max(0.0), most), self.ideal),
            _ => ((least, most), self.ideal),
        }
    }

    /// Another family that measures it: Clarify's disparate impact is that of the family group.
    pub(crate) fn also(&self) -> Option<MetricFamily> {
        (self.of_favourable() == Some(GapTransform::Inverse)).then_some(MetricFamily::Clarify)
    }

    /// The key of `metrics.clarify` without which it is not measured.
    pub(crate) fn asked_by(&self) -> Option<&'static str> {
        match self.reads {
            Reads::Strata(_) | Reads::StrataRate(_) => Some("strata"),
            Reads::Flips => Some("flip_test"),
            _ => None,
        }
    }

    /// Whether its values ever have an interval over people.
    pub(crate) fn has_interval(&self) -> bool {
        !matches!(
            self.reads,
            Reads::Scored(ScoreReading::Ecce | ScoreReading::EcceDistance | ScoreReading::EcceP, _)
        )
    }

    /// Whether it is measured for other trainings of the model too.
    pub(crate) fn is_measured_again(&self) -> bool {
        self.family != MetricFamily::Scores && !matches!(self.reads, Reads::Flips)
    }

    /// Whether it needs a counterfactual set.
    pub(crate) fn needs_counterfactual(&self) -> bool {
        matches!(
            self.family,
            MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift | MetricFamily::Graph
        ) || matches!(self.reads, Reads::Amount(AmountSubject::Change | AmountSubject::Share))
    }

    /// The fewest groups of an attribute that it is measured for.
    pub(crate) fn min_groups(&self) -> usize {
        if matches!(self.reads, Reads::AnySwitch(_)) { 3 } else { 2 }
    }

    /// Whether it depends on the prediction that people want, so that the job must say which.
    pub(crate) fn is_by_favourable(&self) -> bool {
        matches!(self.reads, Reads::SwitchByFavour { .. })
    }
}
