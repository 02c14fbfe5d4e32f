//! Two subjects compared: a pair of groups, a group and all others, or the two facets of Clarify.
//!
//! A is first. Clarify's metrics are about favourable labels and predictions: where the
//! negative prediction is the favourable one they see both classes under each other's names.

use crate::metric::catalog::performance::score_shape;
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined, by_weight};
use crate::metric::scope::MetricScope;
use crate::metric::value::interval_choice::{ONE_OF_TWO, is_clear, mean_gap};
use crate::metric::value::largest::{joint_level, largest_gap, smallest_ratio_of_shares};
use crate::metric::value::measured::{
    FactualMeasurement, FactualSubject, MeasuredValue, ValuePeople, all_persons,
};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{
    Facet, ImpairedGroupRule, Metric, MetricFamily, Reads, combine, difference, ratio,
};

/// The value of a metric of two confusions.
pub(crate) fn value(
    metric: &Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> MetricValue {
    match (metric.reads, rates_behind(metric, favourable, a, b)) {
        (Reads::RateDifference(_), Some((x, y))) => difference(x.value(), y.value()),
        (Reads::RateRatio(_) | Reads::FavourableRatio, Some((x, y))) => ratio(x.value(), y.value()),
        (Reads::FavourableMinRatio, _) => {
            let [x, y] = [a, b].map(|c| favourable_rate(c, favourable).value());
            combine(x, y, |x, y| ratio(Ok(x.min(y)), Ok(x.max(y))))
        }
        (Reads::ScoreDifference(score) | Reads::MeanDifference(score), _) => {
            difference(score(a), score(b))
        }
        (Reads::ScoreRise(score), _) => difference(score(b), score(a)),
        (Reads::ScoreRatio(score), _) => ratio(score(a), score(b)),
        (Reads::WidestGap(of), _) => {
            let [x, y] = of.map(|rate| difference(rate(a).value(), rate(b).value()));
            combine(x, y, |x, y| Ok(x.abs().max(y.abs())))
        }
        _ => unreachable!("`{}` is not a metric of two groups", metric.id),
    }
}

/// The two rates behind a value, the one on top or in front first.
fn rates_behind(
    metric: &Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> Option<(Rate, Rate)> {
    match metric.reads {
        Reads::RateDifference(rate) | Reads::RateRatio(rate) => Some((rate(a), rate(b))),
        Reads::FavourableRatio => {
            Some((favourable_rate(b, favourable), favourable_rate(a, favourable)))
        }
        _ => None,
    }
}

/// The two rates that may be behind a gap of two groups, the one on top or in front first: by
/// which prediction is the favourable one.
pub(crate) fn rates_of_gap(metric: &Metric, a: &Confusion, b: &Confusion) -> Vec<[Rate; 2]> {
    let of = |favourable| {
        let (favourable, is_turned) = classes_seen(metric, favourable);
        let seen = |c: &Confusion| if is_turned { c.swap_classes() } else { *c };
        rates_behind(metric, favourable, &seen(a), &seen(b)).map(|(x, y)| [x, y])
    };
    [FavourableClass::Positive, FavourableClass::Negative].into_iter().filter_map(of).collect()
}

/// A gap of two groups, computed again from their confusions.
pub(crate) struct ComputedGap {
    /// Its value.
    pub(crate) value: MetricValue,
    /// The pairs of rates whose differences or ratios it is: one, or two of the widest of two gaps;
    /// none of another value. The one on top or in front first.
    pub(crate) rates: Vec<[Rate; 2]>,
}

/// A gap of two groups; none of a metric that needs more than their confusions.
pub(crate) fn computed(
    metric: &Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> Option<ComputedGap> {
    let (favourable, is_turned) = classes_seen(metric, favourable);
    let seen = |c: &Confusion| if is_turned { c.swap_classes() } else { *c };
    let (a, b) = (seen(a), seen(b));
    let rates = match metric.reads {
        Reads::FavourableMinRatio => {
            vec![[favourable_rate(&a, favourable), favourable_rate(&b, favourable)]]
        }
        Reads::WidestGap(of) => of.map(|rate| [rate(&a), rate(&b)]).to_vec(),
        Reads::ScoreDifference(_)
        | Reads::ScoreRise(_)
        | Reads::ScoreRatio(_)
        | Reads::MeanDifference(_) => Vec::new(),
        _ => {
            let (x, y) = rates_behind(metric, favourable, &a, &b)?;
            vec![[x, y]]
        }
    };
    Some(ComputedGap { value: value(metric, favourable, &a, &b), rates })
}

/// How a metric sees the classes: which prediction is favourable, and whether they change names.
fn classes_seen(metric: &Metric, favourable: FavourableClass) -> (FavourableClass, bool) {
    let turned = metric.family == MetricFamily::Clarify && favourable == FavourableClass::Negative;
    (if turned { FavourableClass::Positive } else { favourable }, turned)
}

/// The rate of favourable predictions.
pub(crate) fn favourable_rate(c: &Confusion, favourable: FavourableClass) -> Rate {
    let numerator = c.predicted_as(favourable == FavourableClass::Positive);
    Rate { numerator, denominator: c.predicted(), empty: Undefined::EmptyGroup }
}

impl FactualMeasurement<'_> {
    /// How a metric sees the classes: which prediction is favourable, and the confusion under the
    /// names it uses.
    pub(crate) fn orientation(
        &self,
        metric: &Metric,
    ) -> (FavourableClass, impl Fn(&Confusion) -> Confusion + Copy + use<>) {
        let (favourable, turned) = classes_seen(metric, self.context.settings.favourable);
        (favourable, move |c: &Confusion| if turned { c.swap_classes() } else { *c })
    }

    /// One metric of two subjects.
    pub(crate) fn gap(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        [of_a, of_b]: [&FactualSubject; 2],
    ) -> MeasuredValue {
        let (favourable, seen) = self.orientation(metric);
        let of = |a: &Confusion, b: &Confusion| value(metric, favourable, &seen(a), &seen(b));
        let weighed = of_a.weight.is_some();
        let of_people = || of(&of_a.people, &of_b.people);
        let value = match weighed {
            false => of_people(),
            true => by_weight(of(of_a.cells(), of_b.cells()), of_people),
        };
        let people = rates_behind(metric, favourable, &seen(&of_a.people), &seen(&of_b.people));
        let shares = shares_of_gap(metric, favourable, [of_a, of_b], seen);
        let is_one = |rate: Rate| rate.numerator > 0 && rate.is_boundary();
        let level = self.context.level();
        let estimate = || gap_estimate(metric, (of_a, of_b), shares.clone(), seen);
        let (interval, method) = match metric.reads {
            Reads::MeanDifference(mean) => self.context.interval(value, || {
                let [a, b] = [of_a, of_b].map(|of| of.mean_influences(&|c| mean(&seen(c))));
                let ((p, a), (q, b)) = a.zip(b).ok_or(ONE_OF_TWO)?;
                mean_gap(p - q, a.gap(&b), level)
            }),
            // The larger or smaller of several has the interval of that.
            Reads::WidestGap(rates) => self.context.extreme(value, || {
                let apart = |rate: fn(&Confusion) -> Rate| {
                    rate_gap(|c: &Confusion| rate(&seen(c)), of_a, of_b)
                };
                largest_gap(level, &rates.map(apart))
            }),
            Reads::FavourableMinRatio => self.context.extreme(value, || {
                let share = |of: &FactualSubject| of.share(|c| favourable_rate(c, favourable));
                let shares: Vec<Share> = [of_a, of_b].into_iter().filter_map(share).collect();
                smallest_ratio_of_shares(level, &shares)
            }),
            _ => self.context.interval(value, || self.context.estimated(estimate())),
        };
        let clear = match metric.reads {
            // It is below 1 by chance too.
            Reads::FavourableMinRatio => {
                self.differ(|c| favourable_rate(c, favourable), of_a, of_b, 1)
            }
            _ => is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None),
        };
        let first = match metric.impaired {
            _ if !clear => None,
            ImpairedGroupRule::LowerRate(rate) if value.is_ok() => {
                first_is_lower(rate(&seen(of_a.cells())), rate(&seen(of_b.cells())), favourable)
            }
            impaired => first_is_impaired(impaired, value),
        };
        let (n_a, n_b) =
            (of_a.people.people(metric.needs_label), of_b.people.people(metric.needs_label));
        let denominators = people.map(|(x, y)| (x.denominator, y.denominator));
        // The share of a favourable ratio on top is that of the second group.
        let [x, y] = match metric.reads {
            Reads::FavourableRatio => [&shares[1], &shares[0]],
            _ => [&shares[0], &shares[1]],
        };
        let carriers = [
            of_a.person_basis(metric.needs_label, people.is_some().then_some(x.as_ref())),
            of_b.person_basis(metric.needs_label, people.is_some().then_some(y.as_ref())),
        ];
        let people = ValuePeople::two([n_a, n_b], denominators)
            .with_persons(all_persons([of_a, of_b].into_iter(), metric.needs_label), &carriers);
        let impaired =
            first.and_then(|first| if first { scope.first_group() } else { scope.second_group() });
        let has_one = [of_a, of_b].iter().any(|of| {
            let rates = rates_behind(metric, favourable, &seen(&of.people), &seen(&of.people));
            rates.is_some_and(|(rate, _)| is_one(rate))
        });
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, method), people)
            .with_impaired(impaired)
            .with_score_parts([of_a, of_b].map(|of| seen(of.cells())))
            .with_certain_rate(has_one)
    }

    /// Whether the rates of two subjects differ for sure, the two being one of so many pairs: the
    /// interval of their difference leaves out 0 at the level 1 - alpha / pairs.
    pub(crate) fn differ(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        of_a: &FactualSubject,
        of_b: &FactualSubject,
        pairs: usize,
    ) -> bool {
        let Some(level) = self.context.settings.level else { return false };
        let gap = rate_gap(rate, of_a, of_b);
        let interval = gap.and_then(|gap| gap.interval(joint_level(level.get(), pairs)).ok());
        is_clear(Some(0.0), interval.map(|i| (i.lo, i.hi)), None)
    }
}

/// The two shares behind a gap of two subjects, the one on top or in front first; none of another
/// gap, and where nothing is below one of them.
pub(crate) fn shares_of_gap(
    metric: &Metric,
    favourable: FavourableClass,
    [of_a, of_b]: [&FactualSubject; 2],
    seen: impl Fn(&Confusion) -> Confusion + Copy,
) -> [Option<Share>; 2] {
    match metric.reads {
        Reads::RateDifference(rate) | Reads::RateRatio(rate) => {
            [of_a, of_b].map(|of| of.share(|c| rate(&seen(c))))
        }
        Reads::FavourableRatio => {
            [of_b, of_a].map(|of| of.share(|c| favourable_rate(&seen(c), favourable)))
        }
        _ => [None, None],
    }
}

/// A difference or ratio of two subjects that has its interval from those of its two parts;
/// `shares` are the two of [`shares_of_gap`].
pub(crate) fn gap_estimate(
    metric: &Metric,
    (of_a, of_b): (&FactualSubject, &FactualSubject),
    shares: [Option<Share>; 2],
    seen: impl Fn(&Confusion) -> Confusion + Copy,
) -> Option<Estimate> {
    let scores = || {
        let shape = score_shape(metric)?;
        let score = |of: &FactualSubject| of.score(shape, score_of(metric, of, seen), seen);
        Some((score(of_a)?, score(of_b)?))
    };
    let rates = || {
        let [x, y] = shares;
        Some((Estimate::from(x?), Estimate::from(y?)))
    };
    Some(match metric.reads {
        Reads::RateDifference(_) => rates().map(|(x, y)| x.minus(&y))?,
        Reads::RateRatio(_) | Reads::FavourableRatio => rates().map(|(x, y)| x.over(&y))?,
        Reads::ScoreDifference(_) => scores().map(|(x, y)| x.minus(&y))?,
        Reads::ScoreRise(_) => scores().map(|(x, y)| y.minus(&x))?,
        _ => scores().map(|(x, y)| x.over(&y))?,
    })
}

/// The difference of a rate of two subjects; none where one is undefined.
pub(crate) fn rate_gap(
    rate: impl Fn(&Confusion) -> Rate + Copy,
    of_a: &FactualSubject,
    of_b: &FactualSubject,
) -> Option<Estimate> {
    let [a, b] = [of_a, of_b].map(|of| of.share(rate).map(Estimate::from));
    Some(a?.minus(&b?))
}

/// The value of the metric behind a gap, of one subject.
pub(crate) fn score_of(
    metric: &Metric,
    of: &FactualSubject,
    seen: impl Fn(&Confusion) -> Confusion,
) -> MetricValue {
    match metric.reads {
        Reads::ScoreDifference(score)
        | Reads::ScoreRise(score)
        | Reads::ScoreRatio(score)
        | Reads::ScoreToTotal(score) => score(&seen(of.cells())),
        _ => Err(Undefined::OperandMissing),
    }
}

/// Whether the sign of a value says that the first of two facets is at a disadvantage.
pub(crate) fn first_is_impaired(impaired: ImpairedGroupRule, value: MetricValue) -> Option<bool> {
    match (impaired, value) {
        (ImpairedGroupRule::AboveZero(facet), Ok(value)) if value != 0.0 => {
            Some((facet == Facet::First) == (value > 0.0))
        }
        _ => None,
    }
}

/// Whether the first of two rates of positive predictions means fewer favourable ones; none where
/// they are equal or undefined.
pub(crate) fn first_is_lower(
    first: Rate,
    second: Rate,
    favourable: FavourableClass,
) -> Option<bool> {
    if first.denominator == 0 || second.denominator == 0 {
        return None;
    }
    let cross = |x: Rate, y: Rate| u128::from(x.numerator) * u128::from(y.denominator);
    let (a, b) = (cross(first, second), cross(second, first));
    (a != b).then_some((a < b) == (favourable == FavourableClass::Positive))
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::metric::catalog::find;
    use crate::metric::evidence::person::Confusion;
    use crate::metric::rate::Undefined;
    use crate::metric::value::settings::FavourableClass;

    #[test]
    fn by_hand() {
        let a = Confusion::labelled(3, 1, 1, 3);
        let b = Confusion::labelled(1, 1, 1, 1);
        let of = |id: &str, a: &Confusion, b: &Confusion| {
            value(find(id).unwrap(), FavourableClass::Positive, a, b)
        };
        assert_eq!(
            ["eodds", "aod", "demp_min_ratio"].map(|id| of(id, &a, &b)),
            [Ok(0.25), Ok(0.0), Ok(1.0)]
        );
        // Nobody of c is positive: one gap is undefined, and a maximum must not hide it.
        let c = Confusion { tp: 0, fn_: 0, ..a };
        assert_eq!([of("eodds", &a, &c), of("aod", &c, &a)], [Err(Undefined::OperandMissing); 2]);
        assert_eq!(of("eodds", &a, &Confusion::default()), Err(Undefined::EmptyGroup));
        let none = Confusion { tn: 9, ..Confusion::default() };
        assert_eq!(of("demp_min_ratio", &none, &none), Err(Undefined::ZeroReferenceRate));
        assert_eq!(of("di", &none, &a), Err(Undefined::ZeroReferenceRate));
    }
}
