//! Values of the families ccm, eccm and shift: every direction, the difference of each two, one
//! group and the rest, and all together. A ratio of two directions is in the scope of their
//! difference, in both orders, and in no other.
//!
//! Where people have weights, values are computed from what they weigh. Intervals are those of
//! [`estimate`](crate::metric::estimate) on the units of each scope. Score metrics have the one of
//! [`shift_influence`](crate::metric::evidence::shift_influence), or where nobody's score moves that
//! of the share of people who move.

use rayon::prelude::*;

use crate::metric::catalog::ccm::switch_rate;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::outcome_patterns::{AnySwitch, ScopeCellProfiles};
use crate::metric::evidence::person::Eccm;
use crate::metric::evidence::shift::ScoreShift;
use crate::metric::evidence::shift_pass::{ShiftEvidence, ShiftPass};
use crate::metric::evidence::units::UnitSums;
use crate::metric::noise::placebo::{PlaceboBand, PlaceboEvidence};
use crate::metric::noise::repeats::SetRepeat;
use crate::metric::rate::MetricValue;
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::interval_choice::{IntervalOrReason, MeasureContext, is_clear};
use crate::metric::value::measured_value::{MeasuredValue, Subject, SubjectValue, people_of_two};
use crate::metric::value::scope_people::{ScopePeople, any_groups};
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::metric::{
    DirectionSide, ImpairedGroupRule, Metric, MetricFamily, Reads, WorseEnd, difference, ratio,
};
use crate::param::Count;

/// Values of the counterfactual families that are asked for. `shift` is the second pass over the
/// same people with its intervals; without it the family shift is not measured. `placebo` is what
/// the same set gives where group names mean nothing.
pub(crate) fn measure_counterfactual(
    counts: &CounterfactualCounts,
    shift: Option<&ShiftEvidence>,
    placebo: Option<&PlaceboEvidence>,
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let (places, rows) = (counts.scope_index(), counts.cell_profiles());
    let evidence = ScopeEvidence::new(counts, &rows, shift.map(|shift| &shift.second));
    let audit = SwitchMeasurement {
        context: MeasureContext::new(settings),
        scope_index: places,
        shift,
        noise: PlaceboNoise::new(placebo, &evidence),
    };
    let families = [MetricFamily::Ccm, MetricFamily::Eccm, MetricFamily::Shift]
        .into_iter()
        .filter(|&family| family != MetricFamily::Shift || shift.is_some());
    let metrics: Vec<&'static Metric> =
        families.flat_map(|family| audit.context.metrics(family)).collect();
    let people = |place: usize, scope| {
        let shift = evidence[place].shift.as_deref();
        ScopePeople::new(counts, (place, scope), rows.at(place), shift, settings)
    };
    let both_ways = |(a, b): (usize, usize)| {
        let mut out = Vec::new();
        let scopes = [(a, b), (b, a)];
        let people = scopes
            .map(|(from, to)| people(places.direction(from, to), MetricScope::Direction(from, to)));
        for metric in metrics.iter().filter(|metric| !matches!(metric.reads, Reads::AnySwitch(_))) {
            let [one, other] = [0, 1].map(|side: usize| {
                let (from, to) = scopes[side];
                let found = people[side].read(*metric);
                let scope = (places.direction(from, to), MetricScope::Direction(from, to));
                let measured = audit.switch(metric, scope, &people[side], &found);
                MeasuredDirection { people: &people[side], found, measured }
            });
            out.push(audit.gap((a, b), [&one, &other]));
            if metric.is_of_two_directions() {
                // Each order of a ratio has its row.
                out.push(audit.gap((b, a), [&other, &one]));
            } else {
                out.extend([one.measured, other.measured]);
            }
        }
        out
    };
    let together = |(place, scope): (usize, MetricScope)| {
        let people = people(place, scope);
        let measured = metrics
            .iter()
            .filter(|metric| people.has_any() || !matches!(metric.reads, Reads::AnySwitch(_)))
            .filter(|metric| !metric.is_of_two_directions());
        measured
            .map(|metric| audit.switch(metric, (place, scope), &people, &people.read(*metric)))
            .collect()
    };
    let pairs: Vec<(usize, usize)> = places.directions().filter(|(a, b)| a < b).collect();
    let others: Vec<(usize, MetricScope)> =
        places.scopes().filter(|(_, scope)| !matches!(scope, MetricScope::Direction(..))).collect();
    let mut out: Vec<Vec<MeasuredValue>> = pairs.into_par_iter().map(both_ways).collect();
    out.par_extend(others.into_par_iter().map(together));
    out.into_iter().flatten().collect()
}

/// What the values of one scope are made of, by what people weigh.
struct ScopeEvidence {
    eccm: Eccm,
    /// None where it would say what the extended matrix says, or nothing.
    any: Option<AnySwitch>,
    /// None where the family shift is not asked for.
    shift: Option<Box<ScoreShift>>,
}

impl ScopeEvidence {
    /// That of all scopes by number, the rows of which these are.
    fn new(
        counts: &CounterfactualCounts,
        rows: &ScopeCellProfiles,
        second: Option<&ShiftPass>,
    ) -> Vec<ScopeEvidence> {
        let sums = second.map(|second| (second, counts.shifts_by_scope()));
        let places = rows.scope_index;
        let shift = |place: usize| {
            let (second, sums) = sums.as_ref()?;
            Some(Box::new(second.at(place).score_shift(&sums[place])))
        };
        let of = |place| ScopeEvidence {
            eccm: Eccm(rows.at(place).weight()),
            any: None,
            shift: shift(place),
        };
        let mut all: Vec<ScopeEvidence> = (0..places.len()).map(of).collect();
        let asked = places.scopes().filter(|(_, scope)| any_groups(places, *scope).is_some());
        for (place, _) in asked {
            let any = UnitSums::new(4, false, AnySwitch::units(rows.at(place)), None);
            all[place].any = Some(AnySwitch(any.weight()));
        }
        all
    }

    /// The same people with no score that moves.
    fn unmoved(&self) -> Self {
        ScopeEvidence {
            eccm: self.eccm.without_switches(),
            any: self.any.map(|any| any.without_switches()),
            shift: self.shift.as_ref().map(|shift| Box::new(shift.without_shift())),
        }
    }

    fn value(&self, metric: &Metric, settings: &MeasureSettings) -> MetricValue {
        match (metric.reads, self.any, &self.shift) {
            (Reads::AnySwitch(rate), Some(any), _) => rate(&any).value(),
            (Reads::SwitchScore(score), ..) => score(&self.eccm),
            (Reads::Shift(value), _, Some(shift)) => value(shift),
            _ => match switch_rate(metric, settings) {
                Some(rate) => rate(&self.eccm).value(),
                None => unreachable!("`{}` is not measured in this scope", metric.id),
            },
        }
    }
}

/// What the placebo gives, by scope.
enum PlaceboNoise {
    NotAsked,
    Unmoved(Vec<ScopeEvidence>, Count),
    Repeats(Vec<Vec<ScopeEvidence>>),
}

impl PlaceboNoise {
    fn new(placebo: Option<&PlaceboEvidence>, evidence: &[ScopeEvidence]) -> Self {
        match placebo {
            None => PlaceboNoise::NotAsked,
            Some(PlaceboEvidence::Unmoved(repeats)) => PlaceboNoise::Unmoved(
                evidence.iter().map(ScopeEvidence::unmoved).collect(),
                *repeats,
            ),
            Some(PlaceboEvidence::Repeats(repeats)) => PlaceboNoise::Repeats(
                repeats
                    .iter()
                    .map(|SetRepeat { counts, second, .. }| {
                        ScopeEvidence::new(counts, &counts.cell_profiles(), second.as_ref())
                    })
                    .collect(),
            ),
        }
    }

    fn band(&self, value: impl Fn(&[ScopeEvidence]) -> MetricValue) -> Option<PlaceboBand> {
        match self {
            PlaceboNoise::NotAsked => None,
            PlaceboNoise::Unmoved(evidence, repeats) => {
                Some(PlaceboBand::of_unmoved(value(evidence), *repeats))
            }
            PlaceboNoise::Repeats(repeats) => {
                Some(PlaceboBand::of_values(repeats.iter().map(|evidence| value(evidence))))
            }
        }
    }
}

/// One direction with its value.
struct MeasuredDirection<'a> {
    people: &'a ScopePeople<'a>,
    found: SubjectValue,
    measured: MeasuredValue,
}

/// What all values have in common.
struct SwitchMeasurement<'a> {
    context: MeasureContext<'a>,
    scope_index: ScopeIndex,
    shift: Option<&'a ShiftEvidence>,
    noise: PlaceboNoise,
}

impl SwitchMeasurement<'_> {
    /// The interval of a score metric.
    fn shift_interval(&self, metric: &Metric, scope: MetricScope) -> IntervalOrReason {
        let level = self.context.level();
        let spreads = self.shift.and_then(|shift| shift.spreads.as_ref());
        let found = spreads.and_then(|spreads| spreads.interval(metric, scope, level));
        found.unwrap_or(Err("none: what each person adds was not kept"))
    }

    /// One metric of one scope.
    fn switch(
        &self,
        metric: &'static Metric,
        (place, scope): (usize, MetricScope),
        people: &ScopePeople<'_>,
        found: &SubjectValue,
    ) -> MeasuredValue {
        let settings = self.context.settings;
        let (interval, method) = self.context.interval(found.value, || {
            if !matches!(metric.reads, Reads::Shift(_)) {
                return self.context.estimated(people.estimate(metric, found));
            }
            let still = people.shift.is_some_and(|shift| shift.absolute == 0.0);
            match still.then(|| people.unmoved_interval(metric, self.context.z)).flatten() {
                Some(interval) => Ok(interval),
                None => self.shift_interval(metric, scope),
            }
        });
        let placebo = self.noise.band(|evidence| evidence[place].value(metric, settings));
        let switched = found.value.is_ok().then(|| people.switched(metric)).flatten();
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        let impaired = impaired(metric, scope, (found.value, clear), switched, settings);
        found
            .measured(&self.context, (metric, scope), (interval, method))
            .with_switches(switched, placebo)
            .with_impaired(impaired)
    }

    /// The difference or ratio of two directions, from their values.
    fn gap(
        &self,
        (a, b): (usize, usize),
        [one, other]: [&MeasuredDirection<'_>; 2],
    ) -> MeasuredValue {
        let (forth, back) = (&one.measured, &other.measured);
        let (metric, scope) = (forth.metric, MetricScope::Difference(a, b));
        let (from_a, from_b) = (self.scope_index.direction(a, b), self.scope_index.direction(b, a));
        let is_ratio = metric.is_of_two_directions();
        let of_two =
            |x: MetricValue, y: MetricValue| if is_ratio { ratio(x, y) } else { difference(x, y) };
        let value = of_two(forth.value, back.value);
        let settings = self.context.settings;
        let (interval, method) = self.context.interval(value, || {
            if matches!(metric.reads, Reads::Shift(_)) {
                return self.shift_interval(metric, scope);
            }
            let [x, y] = [one, other].map(|of| of.people.estimate(metric, &of.found));
            let of_two = x.zip(y).map(|(x, y)| if is_ratio { x.over(&y) } else { x.minus(&y) });
            self.context.estimated(of_two)
        });
        let placebo = self.noise.band(|evidence| {
            of_two(
                evidence[from_a].value(metric, settings),
                evidence[from_b].value(metric, settings),
            )
        });
        let switched = value.ok().and_then(|value| {
            if first_is_worse(metric, value)? { forth.switched } else { back.switched }
        });
        let ideal = if is_ratio { metric.ideal } else { Some(0.0) };
        let clear = is_clear(ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        let impaired = impaired(metric, scope, (value, clear), switched, settings);
        let people = people_of_two(metric, [one, other].map(|of| (of.people, &of.found)));
        let has_one = [forth, back].iter().any(|of| of.value == Ok(1.0));
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, method), people)
            .with_switches(switched, placebo)
            .with_impaired(impaired)
            .with_certain_rate(has_one)
    }
}

/// Whether the first of two directions is the worse one, by their difference; none where they are
/// alike, and of what is about no switch.
fn first_is_worse(metric: &Metric, difference: f64) -> Option<bool> {
    let ImpairedGroupRule::Switch { worse, .. } = metric.impaired else { return None };
    (difference != 0.0).then_some((difference > 0.0) == (worse == WorseEnd::High))
}

/// Whom a value puts at a disadvantage, if it is clear, so many people having switched; of a
/// difference the direction with the worse value says so.
pub(crate) fn impaired(
    metric: &Metric,
    scope: MetricScope,
    (value, clear): (MetricValue, bool),
    switched: Option<u64>,
    settings: &MeasureSettings,
) -> Option<usize> {
    let value = value.ok().filter(|_| clear)?;
    if switched? < settings.min_denominator.get() {
        return None;
    }
    let (from, to) = match scope {
        MetricScope::Difference(a, b) if !first_is_worse(metric, value)? => (Some(b), Some(a)),
        _ => (scope.first_group(), scope.second_group()),
    };
    impaired_side(metric, from, to, settings.favourable)
}

/// The impaired one of two groups; none where it is all the others.
fn impaired_side(
    metric: &Metric,
    from: Option<usize>,
    to: Option<usize>,
    favourable: FavourableClass,
) -> Option<usize> {
    let ImpairedGroupRule::Switch { if_positive, if_negative, .. } = metric.impaired else {
        return None;
    };
    let side = match favourable {
        FavourableClass::Positive => if_positive,
        FavourableClass::Negative => if_negative,
    };
    match side {
        DirectionSide::Original => from,
        DirectionSide::New => to,
    }
}
