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
        let (of, [of_a, of_b]) = (self.reading(metric), subjects);
        let value = of.two(&of_a.cells, &of_b.cells);
        let found = subjects.map(|subject| subject.read(of));
        let level = self.level();
        let (interval, method) = match metric.reads {
            Reads::Group(GroupValue::MeanOfLabelled(mean), _) => self.interval(value, || {
                let [a, b] = subjects.map(|side| side.mean_influences(&|c| mean(&of.seen(c))));
                let ((p, a), (q, b)) = a.zip(b).ok_or(MissingInterval::OnePersonInGroup)?;
                mean_gap(p - q, a.gap(&b), level)
            }),
            // The larger or smaller of several has the interval of that.
            _ if of.is_extreme() => self.extreme(value, || extreme(of, &both(subjects, &found))),
            _ => self.interval(value, || self.estimated(gap_estimate(of, subjects, &found))),
        };
        let is_smaller = metric.of_favourable() == Some(GapTransform::SmallerOverLarger);
        let people = found.each_ref().map(|found| match is_smaller {
            // The smaller over the larger is no ratio of these two.
            true => found.people.without_rate(),
            false => found.people,
        });
        let people = ValuePeople::of(&people, n_together(of, [of_a, of_b]));
        let is_one = |rate: Rate| rate.numerator > 0 && rate.is_boundary();
        let has_one = found.iter().any(|side| side.rate.is_some_and(is_one));
        let mut measured = self
            .measured_facets(metric, scope, value, people, (interval, method))
            .with_score_parts(subjects.map(|side| of.seen(&side.cells)))
            .with_certain_rate(has_one);
        if let (ImpairedGroupRule::LowerRate(rate), Ok(_)) = (metric.impaired, value) {
            let [a, b] = subjects.map(|side| rate(&of.seen(&side.cells)));
            let clear = match is_smaller {
                // It is below 1 by chance too.
                true => self.differ(|c| favourable_rate(c, of.favourable), subjects, 1),
                false => is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None),
            };
            let first = first_is_lower(a, b, of.favourable).filter(|_| clear);
            measured.impaired = first.and_then(|first| scope.side(first));
        }
        measured
    }

    /// A value of this many people of two facets.
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
        let of = (metric, scope);
        let measured = MeasuredValue::new(self, of, value, (interval, ci_method), people);
        MeasuredValue { impaired, ..measured }
    }

    /// Whether the rates of two subjects clearly differ, the two being one of a number of pairs:
    /// the interval of their difference leaves out 0 at the level 1 - alpha / pairs.
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

/// Two subjects, each with what is read of it.
fn both<'a>(
    [a, b]: [&'a FactualSubject; 2],
    [x, y]: &'a [SubjectValue; 2],
) -> [(&'a FactualSubject, &'a SubjectValue); 2] {
    [(a, x), (b, y)]
}

/// The gaps or ratios of some subjects, each with what is read of it, of which a metric is the
/// largest or the smallest one.
pub(crate) fn extreme(of: GroupReading, read: &[(&FactualSubject, &SubjectValue)]) -> Extreme {
    let transform = of.metric.transform();
    let is_ratio = transform.is_some_and(GapTransform::is_ratio);
    match of.metric.reads {
        Reads::Group(GroupValue::TwoRates(rates), _) => {
            let rates = rates.map(|rate| move |c: &Confusion| rate(&of.seen(c)));
            let has =
                |of: &&FactualSubject| rates.iter().all(|rate| rate(&of.cells).denominator > 0);
            let held: Vec<&FactualSubject> = read.iter().map(|(of, _)| *of).filter(has).collect();
            let gaps = rates.iter().flat_map(|rate| {
                pairs(&held).map(|(a, b)| rate_gap(*rate, [a, b])).collect::<Vec<_>>()
            });
            Extreme::Gaps(gaps.collect())
        }
        Reads::Group(GroupValue::Rate(_) | GroupValue::FavourableRate, _) if is_ratio => {
            Extreme::Shares(read.iter().filter_map(|(_, found)| found.share.clone()).collect())
        }
        _ => {
            let known = read.iter().filter(|(_, found)| found.value.is_ok());
            let each: Vec<Option<Estimate>> =
                known.map(|(subject, found)| subject.estimate(of, found)).collect();
            let of_two = |(a, b): (&Option<Estimate>, &Option<Estimate>)| {
                Some(transform?.of_estimates(a.as_ref()?, b.as_ref()?))
            };
            let all = pairs(&each).map(of_two).collect();
            if is_ratio { Extreme::Ratios(all) } else { Extreme::Gaps(all) }
        }
    }
}

/// A gap of two subjects that has its interval from those of its parts, which `found` holds.
pub(crate) fn gap_estimate(
    of: GroupReading,
    subjects: [&FactualSubject; 2],
    found: &[SubjectValue; 2],
) -> Option<Estimate> {
    if of.is_extreme() {
        return extreme(of, &both(subjects, found)).estimate();
    }
    let [a, b] = subjects;
    let (a, b) = (a.estimate(of, &found[0])?, b.estimate(of, &found[1])?);
    Some(of.metric.transform()?.of_estimates(&a, &b))
}

/// The difference of a rate of two subjects; none where one is undefined.
pub(crate) fn rate_gap(
    rate: impl Fn(&Confusion) -> Rate + Copy,
    subjects: [&FactualSubject; 2],
) -> Option<Estimate> {
    let [a, b] = subjects.map(|of| of.share(rate).map(Estimate::from));
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
