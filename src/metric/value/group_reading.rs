//! The value of a metric from the confusions of one group or of two, without intervals.
//!
//! Group A is the first. Clarify's metrics are about favourable labels and predictions: where the
//! negative prediction is the favourable one, positive and negative are swapped for them.

use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, GroupValue, Metric, MetricFamily, Reads, combine, difference};

/// A metric of groups as they are, and how it sees the classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupReading {
    pub(crate) metric: &'static Metric,
    /// Which prediction is favourable, by the names that it uses.
    pub(crate) favourable: FavourableClass,
    /// Whether the classes change their names.
    is_turned: bool,
}

/// A gap of two groups, computed again from their confusions.
pub(crate) struct ComputedGap {
    /// Its value.
    pub(crate) value: MetricValue,
    /// The pairs of rates whose differences or ratios it is: one, or two of the widest of two gaps;
    /// none of another value. The one on top or in front first.
    pub(crate) rates: Vec<[Rate; 2]>,
}

impl GroupReading {
    /// The reading of a metric where this prediction is favourable.
    pub(crate) fn new(metric: &'static Metric, favourable: FavourableClass) -> Self {
        let is_turned =
            metric.family == MetricFamily::Clarify && favourable == FavourableClass::Negative;
        let favourable = if is_turned { FavourableClass::Positive } else { favourable };
        GroupReading { metric, favourable, is_turned }
    }

    /// Whether it is the largest of several gaps or the smallest of several ratios, also of two
    /// groups.
    pub(crate) fn is_extreme(&self) -> bool {
        use GapTransform::{SmallerOverLarger, Widest};
        matches!(self.metric.transform(), Some(Widest | SmallerOverLarger))
    }

    /// A confusion under the names that the metric uses.
    pub(crate) fn seen(&self, c: &Confusion) -> Confusion {
        if self.is_turned { c.swap_classes() } else { *c }
    }

    /// The rate of one group that it is or is derived from; none of another value.
    pub(crate) fn rate(&self, c: &Confusion) -> Option<Rate> {
        match self.metric.group_value()? {
            GroupValue::Rate(rate) => Some(rate(&self.seen(c))),
            GroupValue::FavourableRate => Some(favourable_rate(&self.seen(c), self.favourable)),
            _ => None,
        }
    }

    /// The value of a metric that is not a rate.
    pub(crate) fn score(&self, c: &Confusion) -> MetricValue {
        let of = self.metric.group_value();
        of.map_or(Err(Undefined::OperandMissing), |of| of.score(&self.seen(c)))
    }

    /// The value of one group.
    pub(crate) fn one(&self, c: &Confusion) -> MetricValue {
        self.rate(c).map_or_else(|| self.score(c), Rate::value)
    }

    /// The value of two groups.
    pub(crate) fn two(&self, a: &Confusion, b: &Confusion) -> MetricValue {
        match self.metric.reads {
            Reads::Group(GroupValue::TwoRates(of), _) => {
                let (a, b) = (self.seen(a), self.seen(b));
                let [x, y] = of.map(|rate| difference(rate(&a).value(), rate(&b).value()));
                combine(x, y, |x, y| Ok(x.abs().max(y.abs())))
            }
            Reads::Group(_, Some(transform)) => transform.of_values(self.one(a), self.one(b)),
            _ => unreachable!("`{}` is not a metric of two groups", self.metric.id),
        }
    }

    /// The two rates behind a difference or ratio, the one on top or in front first; of the smaller
    /// over the larger that of A.
    fn rates_behind(&self, a: &Confusion, b: &Confusion) -> Option<[Rate; 2]> {
        match self.metric.transform()? {
            GapTransform::Inverse => Some([self.rate(b)?, self.rate(a)?]),
            GapTransform::ToTotal => None,
            _ => Some([self.rate(a)?, self.rate(b)?]),
        }
    }
}

/// The two rates that may be behind a gap of two groups, the one on top or in front first: by
/// which prediction is the favourable one.
pub(crate) fn rates_of_gap(
    metric: &'static Metric,
    a: &Confusion,
    b: &Confusion,
) -> Vec<[Rate; 2]> {
    let has_order = metric.of_favourable() != Some(GapTransform::SmallerOverLarger);
    let of = |favourable| {
        has_order.then(|| GroupReading::new(metric, favourable).rates_behind(a, b)).flatten()
    };
    [FavourableClass::Positive, FavourableClass::Negative].into_iter().filter_map(of).collect()
}

/// A gap of two groups; none of a metric that needs more than their confusions.
pub(crate) fn computed(
    metric: &'static Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> Option<ComputedGap> {
    let of = GroupReading::new(metric, favourable);
    let rates = match metric.reads {
        Reads::Group(GroupValue::TwoRates(rates), _) => {
            rates.map(|rate| [a, b].map(|c| rate(&of.seen(c)))).to_vec()
        }
        Reads::Group(_, Some(transform)) if transform != GapTransform::ToTotal => {
            of.rates_behind(a, b).into_iter().collect()
        }
        _ => return None,
    };
    Some(ComputedGap { value: of.two(a, b), rates })
}

/// The rate of favourable predictions.
pub(crate) fn favourable_rate(c: &Confusion, favourable: FavourableClass) -> Rate {
    Rate::of(c.predicted_as(favourable == FavourableClass::Positive), c.predicted())
}
