//! Values of the families ccm, eccm and shift: every direction, the difference of each two, one
//! group and the rest, and all together. A ratio of two directions is in the scope of their
//! difference, in both orders, and in no other.
//!
//! If people have weights, values are computed from the weights. Intervals are those of
//! [`estimate`](crate::metric::estimate) on the units of each scope. Score metrics have the
//! interval of [`shift_influence`](crate::metric::evidence::shift_influence) or, if no score
//! changes, that of the share of people whose score changes.

use rayon::prelude::*;

use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::shift_pass::ShiftEvidence;
use crate::metric::missing_interval::{IntervalOrReason, MissingInterval};
use crate::metric::noise::placebo::{PlaceboBand, PlaceboEvidence};
use crate::metric::noise::repeats::SetRepeat;
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::interval_choice::{MeasureContext, is_clear};
use crate::metric::value::measured_value::{MeasuredValue, Subject, SubjectValue, people_of_two};
use crate::metric::value::scope_people::{PeopleByScope, ScopePeople};
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::metric::{
    DirectionSide, GapTransform, ImpairedGroupRule, Metric, MetricFamily, Reads, WorseEnd,
};

/// Values of the requested counterfactual families. `shift` is the second pass over the same people
/// with its intervals; without it the family shift is not measured. `placebo` is the evidence of
/// the same set with meaningless groups.
pub(crate) fn measure_counterfactual(
    counts: &CounterfactualCounts,
    shift: Option<&ShiftEvidence>,
    placebo: Option<&PlaceboEvidence>,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let places = counts.scope_index();
    let people_by_scope = ScopePeople::by_scope(counts, shift.map(|shift| &shift.second), settings);
    let noise = placebo.map(|placebo| placebo_people(placebo, &people_by_scope, settings));
    let audit = SwitchMeasurement { context: MeasureContext::new(settings), shift, noise };
    let families = [MetricFamily::Ccm, MetricFamily::Eccm, MetricFamily::Shift]
        .into_iter()
        .filter(|&family| family != MetricFamily::Shift || shift.is_some());
    let metrics: Vec<&'static Metric> =
        families.flat_map(|family| audit.context.metrics(family)).collect();
    let people = |place: usize, scope| people_by_scope[&scope].with_persons(counts, (place, scope));
    let both_ways = |(a, b): (usize, usize)| {
        let mut out = Vec::new();
        let scopes = [(a, b), (b, a)];
        let people = scopes
            .map(|(from, to)| people(places.direction(from, to), MetricScope::Direction(from, to)));
        for metric in metrics.iter().filter(|metric| !matches!(metric.reads, Reads::AnySwitch(_))) {
            let [first, second] = [0, 1].map(|side: usize| {
                let (from, to) = scopes[side];
                let found = people[side].read(*metric);
                let scope = MetricScope::Direction(from, to);
                let measured = audit.switch(metric, scope, &people[side], &found);
                MeasuredDirection { people: &people[side], found, measured }
            });
            out.push(audit.gap((a, b), [&first, &second]));
            if metric.is_of_two_directions() {
                // A ratio has a row in each order.
                out.push(audit.gap((b, a), [&second, &first]));
            } else {
                out.extend([first.measured, second.measured]);
            }
        }
        out
    };
    let together = |(place, scope): (usize, MetricScope)| {
        let people = people(place, scope);
        let measured = metrics
            .iter()
            .filter(|metric| people.any.is_some() || !matches!(metric.reads, Reads::AnySwitch(_)))
            .filter(|metric| !metric.is_of_two_directions());
        measured.map(|metric| audit.switch(metric, scope, &people, &people.read(*metric))).collect()
    };
    let pairs: Vec<(usize, usize)> = places.directions().filter(|(a, b)| a < b).collect();
    let others: Vec<(usize, MetricScope)> =
        places.scopes().filter(|(_, scope)| !matches!(scope, MetricScope::Direction(..))).collect();
    let mut out: Vec<Vec<MeasuredValue>> = pairs.into_par_iter().map(both_ways).collect();
    out.par_extend(others.into_par_iter().map(together));
    out.into_iter().flatten().collect()
}

/// The values of a repeat that could learn nothing about some groups: values about these groups are
/// undefined.
pub(crate) fn undefined_without_rows(
    mut measured: Vec<MeasuredValue>,
    without_rows: &[usize],
) -> Vec<MeasuredValue> {
    let lacks_rows =
        |value: &MeasuredValue| without_rows.iter().any(|group| value.scope.involves(*group));
    for value in measured.iter_mut().filter(|value| lacks_rows(value)) {
        value.value = Err(Undefined::NoTrainingRows);
        (value.numerator, value.denominator, value.switched) = (None, None, None);
    }
    measured
}

/// The number of repeats of a placebo, and its people by scope: for each repeat, or once for all.
type PlaceboPeople<'a> = (u64, Vec<PeopleByScope<'a>>);

/// The people of a placebo; `people` are those of the set.
fn placebo_people<'a>(
    placebo: &PlaceboEvidence,
    people: &PeopleByScope<'a>,
    settings: &'a MeasureSettings,
) -> PlaceboPeople<'a> {
    match placebo {
        PlaceboEvidence::Unmoved(repeats) => {
            let unmoved = people.iter().map(|(scope, people)| (*scope, people.without_moves()));
            (repeats.get(), vec![unmoved.collect()])
        }
        PlaceboEvidence::Repeats(repeats) => {
            let by_scope = |SetRepeat { counts, second, .. }: &SetRepeat| {
                ScopePeople::by_scope(counts, second.as_ref(), settings)
            };
            (repeats.len() as u64, repeats.iter().map(by_scope).collect())
        }
    }
}

/// One direction with its value.
struct MeasuredDirection<'a> {
    people: &'a ScopePeople<'a>,
    found: SubjectValue,
    measured: MeasuredValue,
}

/// The inputs that all values share.
struct SwitchMeasurement<'a> {
    context: MeasureContext<'a>,
    shift: Option<&'a ShiftEvidence>,
    /// The people of the placebo, if one was requested.
    noise: Option<PlaceboPeople<'a>>,
}

impl SwitchMeasurement<'_> {
    /// The value of the placebo.
    fn band(&self, value: impl Fn(&PeopleByScope<'_>) -> MetricValue) -> Option<PlaceboBand> {
        let (repeats, people) = self.noise.as_ref()?;
        Some(PlaceboBand::of_values(*repeats, people.iter().map(value)))
    }

    /// The interval of a score metric.
    fn shift_interval(&self, metric: &Metric, scope: MetricScope) -> IntervalOrReason {
        let level = self.context.level();
        let spreads = self.shift.and_then(|shift| shift.spreads.as_ref());
        let found = spreads.and_then(|spreads| spreads.interval(metric, scope, level));
        found.unwrap_or(Err(MissingInterval::NotKept))
    }

    /// One metric of one scope.
    fn switch(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        people: &ScopePeople<'_>,
        found: &SubjectValue,
    ) -> MeasuredValue {
        let settings = self.context.settings;
        let (interval, method) = self.context.interval(found.value, || {
            if !matches!(metric.reads, Reads::Shift(_)) {
                return self.context.estimated(people.estimate(metric, found));
            }
            let is_unmoved = people.shift.as_ref().is_some_and(|shift| shift.absolute == 0.0);
            match is_unmoved.then(|| people.unmoved_interval(metric, self.context.z)).flatten() {
                Some(interval) => Ok(interval),
                None => self.shift_interval(metric, scope),
            }
        });
        let placebo = self.band(|people| people[&scope].value(metric));
        let switched = found.value.is_ok().then(|| people.switched(metric)).flatten();
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        let impaired = impaired(metric, scope, (found.value, clear), switched, settings);
        let measured = found.measured(&self.context, (metric, scope), (interval, method));
        MeasuredValue { switched, placebo, impaired, ..measured }
    }

    /// The difference or ratio of two directions, from their values.
    fn gap(
        &self,
        (a, b): (usize, usize),
        [first, second]: [&MeasuredDirection<'_>; 2],
    ) -> MeasuredValue {
        let (forth, back) = (&first.measured, &second.measured);
        let (metric, scope) = (forth.metric, MetricScope::Difference(a, b));
        let transform = metric.transform().unwrap_or(GapTransform::Difference);
        let value = transform.of_values(forth.value, back.value);
        let settings = self.context.settings;
        let (interval, method) = self.context.interval(value, || {
            if matches!(metric.reads, Reads::Shift(_)) {
                return self.shift_interval(metric, scope);
            }
            let [x, y] = [first, second]
                .map(|direction| direction.people.estimate(metric, &direction.found));
            self.context.estimated(x.zip(y).map(|(x, y)| transform.of_estimates(&x, &y)))
        });
        let placebo = self.band(|people| {
            let [forth, back] = [(a, b), (b, a)]
                .map(|(from, to)| people[&MetricScope::Direction(from, to)].value(metric));
            transform.of_values(forth, back)
        });
        let switched = value.ok().and_then(|value| {
            if first_is_worse(metric, value)? { forth.switched } else { back.switched }
        });
        let ideal = if transform.is_ratio() { metric.ideal } else { Some(0.0) };
        let clear = is_clear(ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        let impaired = impaired(metric, scope, (value, clear), switched, settings);
        let people = people_of_two(metric, [first, second].map(|d| (d.people, &d.found)));
        let has_one = [forth, back].iter().any(|measured| measured.value == Ok(1.0));
        let (place, interval) = ((metric, scope), (interval, method));
        let measured = MeasuredValue::new(&self.context, place, value, interval, people);
        MeasuredValue { switched, placebo, impaired, ..measured }.with_certain_rate(has_one)
    }
}

/// Whether the first of two directions is the worse one, by their difference; none if they are
/// equal, or for a metric that is not about switches.
fn first_is_worse(metric: &Metric, difference: f64) -> Option<bool> {
    let ImpairedGroupRule::Switch { worse, .. } = metric.impaired else { return None };
    (difference != 0.0).then_some((difference > 0.0) == (worse == WorseEnd::High))
}

/// The group that a value shows as worse off, if the value is clear and enough people switch; for
/// a difference it is the group of the direction with the worse value.
pub(crate) fn impaired(
    metric: &Metric,
    scope: MetricScope,
    (value, clear): (MetricValue, bool),
    switched: Option<u64>,
    settings: &MeasureSettings,
) -> Option<usize> {
    let ImpairedGroupRule::Switch { if_positive, if_negative, .. } = metric.impaired else {
        return None;
    };
    let value = value.ok().filter(|_| clear)?;
    if switched? < settings.min_denominator.get() {
        return None;
    }
    let scope = match scope {
        MetricScope::Difference(a, b) if !first_is_worse(metric, value)? => {
            MetricScope::Direction(b, a)
        }
        scope => scope,
    };
    let side = match settings.favourable {
        FavourableClass::Positive => if_positive,
        FavourableClass::Negative => if_negative,
    };
    // No group if the side is the others of a group.
    scope.side(side == DirectionSide::Original)
}
