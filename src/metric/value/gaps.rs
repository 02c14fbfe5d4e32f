//! Two subjects compared: a pair of groups, a group and all others, or the two facets of Clarify.

use crate::metric::estimate::Estimate;
use crate::metric::evidence::person::Confusion;
use crate::metric::interval::ValueInterval;
use crate::metric::missing_interval::MissingInterval;
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::scope::MetricScope;
use crate::metric::value::group_reading::{GroupReading, favourable_rate};
use crate::metric::value::interval_choice::{MeasureContext, is_clear, mean_gap};
use crate::metric::value::largest::{Extreme, joint_level, pairs};
use crate::metric::value::measured::{FactualSubject, MeasuredValue};
use crate::metric::value::measured_value::{Subject, SubjectValue, ValuePeople, n_together};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{Facet, GapTransform, GroupValue, ImpairedGroupRule, Metric, Reads};

impl MeasureContext<'_> {
    /// How a metric reads groups.
    pub(crate) fn reading(&self, metric: &'static Metric) -> GroupReading {
        GroupReading::new(metric, self.settings.favourable)
    }

    /// One metric of two subjects.
    pub(crate) fn gap(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        subjects: [&FactualSubject; 2],
    ) -> MeasuredValue {
        let (reading, [a, b]) = (self.reading(metric), subjects);
        let value = reading.two(&a.cells, &b.cells);
        let found = subjects.map(|subject| subject.read(reading));
        let level = self.level();
        let (interval, method) = match metric.reads {
            Reads::Group(GroupValue::MeanOfLabelled(mean), _) => self.interval(value, || {
                let [a, b] =
                    subjects.map(|side| side.mean_influences(&|c| mean(&reading.oriented(c))));
                let ((p, a), (q, b)) = a.zip(b).ok_or(MissingInterval::OnePersonInGroup)?;
                mean_gap(p - q, a.gap(&b), level)
            }),
            _ if reading.is_extreme() => {
                self.extreme(value, || extreme(reading, &with_values(subjects, &found)))
            }
            _ => self.interval(value, || self.estimated(gap_estimate(reading, subjects, &found))),
        };
        let is_smaller = metric.of_favourable() == Some(GapTransform::SmallerOverLarger);
        let people = found.each_ref().map(|found| match is_smaller {
            // The ratio of the smaller to the larger rate has no fixed numerator and denominator.
            true => found.people.without_rate(),
            false => found.people,
        });
        let people = ValuePeople::of(&people, n_together(reading, [a, b]));
        let is_one = |rate: Rate| rate.numerator > 0 && rate.is_boundary();
        let has_one = found.iter().any(|side| side.rate.is_some_and(is_one));
        let mut measured = self
            .measured_facets(metric, scope, value, people, (interval, method))
            .with_score_parts(subjects.map(|side| reading.oriented(&side.cells)))
            .with_certain_rate(has_one);
        if let (ImpairedGroupRule::LowerRate(rate), Ok(_)) = (metric.impaired, value) {
            let [a, b] = subjects.map(|side| rate(&reading.oriented(&side.cells)));
            let clear = match is_smaller {
                // This ratio is never above 1, also by chance, so the difference is tested.
                true => self.differ(|c| favourable_rate(c, reading.favourable), subjects, 1),
                false => is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None),
            };
            let first = first_is_lower(a, b, reading.favourable).filter(|_| clear);
            measured.impaired = first.and_then(|first| scope.side(first));
        }
        measured
    }

    /// A value of two facets.
    pub(crate) fn measured_facets(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        value: MetricValue,
        people: ValuePeople,
        (interval, ci_method): (Option<ValueInterval>, String),
    ) -> MeasuredValue {
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None);
        let first = first_is_impaired(metric.impaired, value).filter(|_| clear);
        let impaired = first.and_then(|first| scope.side(first));
        let metric_and_scope = (metric, scope);
        let measured =
            MeasuredValue::new(self, metric_and_scope, value, (interval, ci_method), people);
        MeasuredValue { impaired, ..measured }
    }

    /// Whether the rates of two subjects, which are one of `pairs` pairs, clearly differ: the
    /// interval of their difference leaves out 0 at the level 1 - alpha / pairs.
    pub(crate) fn differ(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        subjects: [&FactualSubject; 2],
        pairs: usize,
    ) -> bool {
        let Some(level) = self.settings.level else { return false };
        let interval = rate_gap(rate, subjects)
            .and_then(|gap| gap.interval(joint_level(level.get(), pairs)).ok());
        is_clear(Some(0.0), interval.map(|i| (i.lo, i.hi)), None)
    }
}

/// Two subjects, each with its value.
fn with_values<'a>(
    [a, b]: [&'a FactualSubject; 2],
    [x, y]: &'a [SubjectValue; 2],
) -> [(&'a FactualSubject, &'a SubjectValue); 2] {
    [(a, x), (b, y)]
}

/// The gaps or ratios of some subjects with their values; the metric is the largest or the smallest
/// of these.
pub(crate) fn extreme(reading: GroupReading, read: &[(&FactualSubject, &SubjectValue)]) -> Extreme {
    let transform = reading.metric.transform();
    let is_ratio = transform.is_some_and(GapTransform::is_ratio);
    match reading.metric.reads {
        Reads::Group(GroupValue::TwoRates(rates), _) => {
            let rates = rates.map(|rate| move |c: &Confusion| rate(&reading.oriented(c)));
            let has_rates =
                |s: &&FactualSubject| rates.iter().all(|rate| rate(&s.cells).denominator > 0);
            let with_rates: Vec<&FactualSubject> =
                read.iter().map(|(subject, _)| *subject).filter(has_rates).collect();
            let gaps = rates.iter().flat_map(|rate| {
                pairs(&with_rates).map(|(a, b)| rate_gap(*rate, [a, b])).collect::<Vec<_>>()
            });
            Extreme::Gaps(gaps.collect())
        }
        Reads::Group(GroupValue::Rate(_) | GroupValue::FavourableRate, _) if is_ratio => {
            Extreme::Shares(read.iter().filter_map(|(_, found)| found.share.clone()).collect())
        }
        _ => {
            let known = read.iter().filter(|(_, found)| found.value.is_ok());
            let each: Vec<Option<Estimate>> =
                known.map(|(subject, found)| subject.estimate(reading, found)).collect();
            let of_two = |(a, b): (&Option<Estimate>, &Option<Estimate>)| {
                Some(transform?.of_estimates(a.as_ref()?, b.as_ref()?))
            };
            let estimates = pairs(&each).map(of_two).collect();
            if is_ratio { Extreme::Ratios(estimates) } else { Extreme::Gaps(estimates) }
        }
    }
}

/// The estimate of a gap of two subjects, from the estimates of both; `found` are their values.
pub(crate) fn gap_estimate(
    reading: GroupReading,
    subjects: [&FactualSubject; 2],
    found: &[SubjectValue; 2],
) -> Option<Estimate> {
    if reading.is_extreme() {
        return extreme(reading, &with_values(subjects, found)).estimate();
    }
    let [a, b] = subjects;
    let (a, b) = (a.estimate(reading, &found[0])?, b.estimate(reading, &found[1])?);
    Some(reading.metric.transform()?.of_estimates(&a, &b))
}

/// The difference of a rate of two subjects; none if one of the rates is undefined.
pub(crate) fn rate_gap(
    rate: impl Fn(&Confusion) -> Rate + Copy,
    subjects: [&FactualSubject; 2],
) -> Option<Estimate> {
    let [a, b] = subjects.map(|subject| subject.share(rate).map(Estimate::from));
    Some(a?.minus(&b?))
}

/// Whether the sign of a value says that the first of two facets is worse off.
fn first_is_impaired(impaired: ImpairedGroupRule, value: MetricValue) -> Option<bool> {
    match (impaired, value) {
        (ImpairedGroupRule::AboveZero(facet), Ok(value)) if value != 0.0 => {
            Some((facet == Facet::First) == (value > 0.0))
        }
        _ => None,
    }
}

/// Whether the first of two rates of positive predictions means fewer favourable predictions; none
/// if they are equal or undefined.
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
