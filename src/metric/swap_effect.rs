//! What becomes of a metric of two groups A and B when they change places.

use crate::metric::scope::MetricScope;
use crate::metric::{GapTransform, Metric};

/// Which of two groups A and B is on top of a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RatioOrder {
    /// A over B.
    FirstOverSecond,
    /// B over A.
    SecondOverFirst,
}

/// How the value changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SwapEffect {
    /// A difference changes its sign.
    Negated,
    /// A ratio becomes its reciprocal.
    Reciprocal(RatioOrder),
    /// It treats both groups alike.
    Same,
}

impl SwapEffect {
    /// How the value of a metric of two groups, or of two directions, changes.
    pub(crate) fn of(metric: &Metric) -> SwapEffect {
        match metric.transform() {
            Some(GapTransform::Ratio) => SwapEffect::Reciprocal(RatioOrder::FirstOverSecond),
            Some(GapTransform::Inverse) => SwapEffect::Reciprocal(RatioOrder::SecondOverFirst),
            Some(GapTransform::Widest | GapTransform::SmallerOverLarger) => SwapEffect::Same,
            _ => SwapEffect::Negated,
        }
    }

    /// The scopes that compare two groups by a metric: A with B, and of a ratio also B with A, so
    /// that each order has its row.
    pub(crate) fn pair_scopes(self, a: usize, b: usize) -> Vec<MetricScope> {
        let turned = self.ratio_order().map(|_| MetricScope::Pair(b, a));
        std::iter::once(MetricScope::Pair(a, b)).chain(turned).collect()
    }

    /// The same of a group and all others.
    pub(crate) fn rest_scopes(self, group: usize) -> Vec<MetricScope> {
        let turned = self.ratio_order().map(|_| MetricScope::RestVsOne(group));
        std::iter::once(MetricScope::OneVsRest(group)).chain(turned).collect()
    }

    /// The groups of the row that holds the first group against the second: the first minus the
    /// second, or over it.
    pub(crate) fn row_groups<'a>(self, first: &'a str, second: &'a str) -> [&'a str; 2] {
        match self {
            SwapEffect::Reciprocal(RatioOrder::SecondOverFirst) => [second, first],
            _ => [first, second],
        }
    }

    /// Which group is on top, of a ratio.
    pub(crate) fn ratio_order(self) -> Option<RatioOrder> {
        match self {
            SwapEffect::Reciprocal(order) => Some(order),
            SwapEffect::Negated | SwapEffect::Same => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::metric::Metric;
    use crate::metric::MetricFamily;
    use crate::metric::catalog::catalog;
    use crate::metric::evidence::counts::FactualCounts;
    use crate::metric::evidence::person::Confusion;
    use crate::metric::scope::MetricScope;
    use crate::metric::tests::turned;
    use crate::metric::value::measured::measure_factual;
    use crate::metric::value::settings::FavouredGroups;
    use crate::metric::value::settings::{FavourableClass, MeasureSettings};
    use crate::param::Count;

    /// The same two groups counted in both orders must agree with [`SwapEffect`] for every metric
    /// of the family.
    #[test]
    fn every_metric_of_two_groups_turns_as_stated() {
        let group = |c: Confusion| {
            let mut counts = FactualCounts::new(1);
            for (n, label, predicted) in [
                (c.tp, true, true),
                (c.fp, false, true),
                (c.fn_, true, false),
                (c.tn, false, false),
            ] {
                (0..n).for_each(|_| counts.add((0, 0, 1), Some(label), Some(predicted), false));
            }
            counts.groups[0]
        };
        let a = group(Confusion::labelled(40, 7, 11, 90));
        let b = group(Confusion::labelled(25, 13, 9, 31));
        let count = |n| Count::new(n).expect("a count");
        let settings = MeasureSettings {
            families: vec![MetricFamily::Group],
            favourable: FavourableClass::Positive,
            favourable_stated: true,
            level: None,
            min_group_size: count(1),
            min_denominator: count(1),
            favoured: FavouredGroups::Rest,
        };
        let measured = |first, second| {
            let mut counts = FactualCounts::new(0);
            counts.groups = vec![first, second];
            let measured = measure_factual(&counts, None, &settings);
            measured.into_iter().filter(|m| m.scope == MetricScope::Pair(0, 1)).collect::<Vec<_>>()
        };
        let (there, back) = (measured(a, b), measured(b, a));
        let to_total =
            |m: &Metric| matches!(m.gap_of, Some((_, crate::metric::GapTransform::ToTotal)));
        let of_pairs = catalog().filter(|m| m.family == MetricFamily::Group && !to_total(m));
        assert_eq!(there.len(), of_pairs.count());
        for (x, y) in there.iter().zip(&back) {
            let (x_value, y_value) = (x.value.expect("defined"), y.value.expect("defined"));
            let turned = turned(x.metric, x_value);
            assert!((turned - y_value).abs() < 1e-12, "{}: {turned} and {y_value}", x.metric.id);
        }
    }
}
