//! The value of a metric from the confusion matrices of one group or of two, without intervals.
//!
//! Group A is the first. Clarify's metrics are about favourable labels and predictions: if the
//! negative prediction is the favourable one, positive and negative are swapped for them.

use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{GapTransform, GroupValue, Metric, MetricFamily, Reads, combine, difference};

/// A metric of groups of factual rows, and which class it treats as positive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupReading {
    pub(crate) metric: &'static Metric,
    /// Which prediction is favourable, after the swap if there is one.
    pub(crate) favourable: FavourableClass,
    /// Whether positive and negative are swapped.
    is_turned: bool,
}

/// A gap of two groups, computed again from their confusion matrices.
pub(crate) struct ComputedGap {
    pub(crate) value: MetricValue,
    /// The pairs of rates of its differences or ratios: one pair, or two for the widest of two
    /// gaps; empty for other values. First the numerator or minuend.
    pub(crate) rates: Vec<[Rate; 2]>,
}

impl GroupReading {
    /// The reading of a metric with this favourable prediction.
    pub(crate) fn new(metric: &'static Metric, favourable: FavourableClass) -> Self {
        let is_turned =
            metric.family == MetricFamily::Clarify && favourable == FavourableClass::Negative;
        let favourable = if is_turned { FavourableClass::Positive } else { favourable };
        GroupReading { metric, favourable, is_turned }
    }

    /// Whether the metric is the largest of several gaps or the smallest of several ratios, even
    /// with two groups.
    pub(crate) fn is_extreme(&self) -> bool {
        use GapTransform::{SmallerOverLarger, Widest};
        matches!(self.metric.transform(), Some(Widest | SmallerOverLarger))
    }

    /// A confusion matrix with positive and negative swapped if the metric needs it.
    pub(crate) fn oriented(&self, c: &Confusion) -> Confusion {
        if self.is_turned { c.swap_classes() } else { *c }
    }

    /// The rate of one group that the value is or is derived from; none for other values.
    pub(crate) fn rate(&self, c: &Confusion) -> Option<Rate> {
        match self.metric.group_value()? {
            GroupValue::Rate(rate) => Some(rate(&self.oriented(c))),
            GroupValue::FavourableRate => Some(favourable_rate(&self.oriented(c), self.favourable)),
            _ => None,
        }
    }

    /// The value of a metric that is not a rate.
    pub(crate) fn score(&self, c: &Confusion) -> MetricValue {
        let value = self.metric.group_value();
        value.map_or(Err(Undefined::OperandMissing), |value| value.score(&self.oriented(c)))
    }

    /// The value of one group.
    pub(crate) fn one(&self, c: &Confusion) -> MetricValue {
        self.rate(c).map_or_else(|| self.score(c), Rate::value)
    }

    /// The value of two groups.
    pub(crate) fn two(&self, a: &Confusion, b: &Confusion) -> MetricValue {
        match self.metric.reads {
            Reads::Group(GroupValue::TwoRates(rates), _) => {
                let (a, b) = (self.oriented(a), self.oriented(b));
                let [x, y] = rates.map(|rate| difference(rate(&a).value(), rate(&b).value()));
                combine(x, y, |x, y| Ok(x.abs().max(y.abs())))
            }
            Reads::Group(_, Some(transform)) => transform.of_values(self.one(a), self.one(b)),
            _ => unreachable!("`{}` is not a metric of two groups", self.metric.id),
        }
    }

    /// The two rates of a difference or ratio, first the minuend or numerator; for the ratio of the
    /// smaller to the larger first the rate of A.
    fn rates_behind(&self, a: &Confusion, b: &Confusion) -> Option<[Rate; 2]> {
        match self.metric.transform()? {
            GapTransform::Inverse => Some([self.rate(b)?, self.rate(a)?]),
            GapTransform::ToTotal => None,
            _ => Some([self.rate(a)?, self.rate(b)?]),
        }
    }
}

/// The two rates of a gap of two groups, first the minuend or numerator, for each choice of the
/// favourable prediction.
pub(crate) fn rates_of_gap(
    metric: &'static Metric,
    a: &Confusion,
    b: &Confusion,
) -> Vec<[Rate; 2]> {
    let has_order = metric.of_favourable() != Some(GapTransform::SmallerOverLarger);
    let rates = |favourable| {
        has_order.then(|| GroupReading::new(metric, favourable).rates_behind(a, b)).flatten()
    };
    [FavourableClass::Positive, FavourableClass::Negative].into_iter().filter_map(rates).collect()
}

/// A gap of two groups; none if the metric needs more than their confusion matrices.
pub(crate) fn computed(
    metric: &'static Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> Option<ComputedGap> {
    let reading = GroupReading::new(metric, favourable);
    let rates = match metric.reads {
        Reads::Group(GroupValue::TwoRates(rates), _) => {
            rates.map(|rate| [a, b].map(|c| rate(&reading.oriented(c)))).to_vec()
        }
        Reads::Group(_, Some(transform)) if transform != GapTransform::ToTotal => {
            reading.rates_behind(a, b).into_iter().collect()
        }
        _ => return None,
    };
    Some(ComputedGap { value: reading.two(a, b), rates })
}

/// The rate of favourable predictions.
pub(crate) fn favourable_rate(c: &Confusion, favourable: FavourableClass) -> Rate {
    Rate::of(c.predicted_as(favourable == FavourableClass::Positive), c.predicted())
}
