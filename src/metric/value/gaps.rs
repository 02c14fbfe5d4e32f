//! Two subjects compared: a pair of groups, a group and all others, or the two facets of Clarify.

use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate};
use crate::metric::scope::MetricScope;
use crate::metric::value::group_reading::{GroupReading, favourable_rate};
use crate::metric::value::interval_choice::{ONE_OF_TWO, is_clear, mean_gap};
use crate::metric::value::largest::{joint_level, largest_gap, smallest_ratio_of_shares};
use crate::metric::value::measured::{FactualMeasurement, FactualSubject, MeasuredValue};
use crate::metric::value::measured_value::{PersonBasis, Subject, SubjectValue, people_of_two};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{Facet, ImpairedGroupRule, Metric, Reads};

impl FactualMeasurement<'_> {
    /// How a metric reads groups.
    pub(crate) fn reading(&self, metric: &'static Metric) -> GroupReading {
        GroupReading::new(metric, self.context.settings.favourable)
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
        let level = self.context.level();
        let (interval, method) = match metric.reads {
            Reads::MeanDifference(mean) => self.context.interval(value, || {
                let [a, b] = subjects.map(|side| side.mean_influences(&|c| mean(&of.seen(c))));
                let ((p, a), (q, b)) = a.zip(b).ok_or(ONE_OF_TWO)?;
                mean_gap(p - q, a.gap(&b), level)
            }),
            // The larger or smaller of several has the interval of that.
            Reads::WidestGap(rates) => self.context.extreme(value, || {
                let apart = |rate: fn(&Confusion) -> Rate| {
                    rate_gap(|c: &Confusion| rate(&of.seen(c)), subjects)
                };
                largest_gap(level, &rates.map(apart))
            }),
            Reads::FavourableMinRatio => self.context.extreme(value, || {
                let shares: Vec<Share> = found.iter().filter_map(|of| of.share.clone()).collect();
                smallest_ratio_of_shares(level, &shares)
            }),
            _ => self
                .context
                .interval(value, || self.context.estimated(gap_estimate(of, subjects, &found))),
        };
        let clear = match metric.reads {
            // It is below 1 by chance too.
            Reads::FavourableMinRatio => {
                self.differ(|c| favourable_rate(c, of.favourable), subjects, 1)
            }
            _ => is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None),
        };
        let first = match metric.impaired {
            _ if !clear => None,
            ImpairedGroupRule::LowerRate(rate) if value.is_ok() => {
                let [a, b] = subjects.map(|side| rate(&of.seen(&side.cells)));
                first_is_lower(a, b, of.favourable)
            }
            impaired => first_is_impaired(impaired, value),
        };
        let impaired =
            first.and_then(|first| if first { scope.first_group() } else { scope.second_group() });
        let [x, y] = found.map(|found| match metric.reads {
            // The smaller over the larger is no ratio of these two.
            Reads::FavourableMinRatio => SubjectValue {
                rate: None,
                basis: found.basis.map(|of| PersonBasis { denominator: None, ..of }),
                ..found
            },
            _ => found,
        });
        let people = people_of_two(of, [(of_a, &x), (of_b, &y)]);
        let is_one = |rate: Rate| rate.numerator > 0 && rate.is_boundary();
        let has_one = [&x, &y].into_iter().any(|side| side.rate.is_some_and(is_one));
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, method), people)
            .with_impaired(impaired)
            .with_score_parts(subjects.map(|side| of.seen(&side.cells)))
            .with_certain_rate(has_one)
    }

    /// Whether the rates of two subjects differ for sure, the two being one of so many pairs: the
    /// interval of their difference leaves out 0 at the level 1 - alpha / pairs.
    pub(crate) fn differ(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        subjects: [&FactualSubject; 2],
        pairs: usize,
    ) -> bool {
        let Some(level) = self.context.settings.level else { return false };
        let interval = rate_gap(rate, subjects)
            .and_then(|gap| gap.interval(joint_level(level.get(), pairs)).ok());
        is_clear(Some(0.0), interval.map(|i| (i.lo, i.hi)), None)
    }
}

/// A difference or ratio of two subjects that has its interval from those of its two parts, which
/// `found` holds.
pub(crate) fn gap_estimate(
    of: GroupReading,
    subjects: [&FactualSubject; 2],
    found: &[SubjectValue; 2],
) -> Option<Estimate> {
    let [a, b] = subjects;
    Some(of.of_two(&a.estimate(of, &found[0])?, &b.estimate(of, &found[1])?))
}

/// The difference of a rate of two subjects; none where one is undefined.
pub(crate) fn rate_gap(
    rate: impl Fn(&Confusion) -> Rate + Copy,
    subjects: [&FactualSubject; 2],
) -> Option<Estimate> {
    let [a, b] = subjects.map(|of| of.share(rate).map(Estimate::from));
    Some(a?.minus(&b?))
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
