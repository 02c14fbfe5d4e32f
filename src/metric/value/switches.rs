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
use crate::metric::evidence::outcome_patterns::{
    AnySwitch, CellProfiles, PatternSummand, ScopeCellProfiles,
};
use crate::metric::evidence::person::Eccm;
use crate::metric::evidence::person_sums::distinct;
use crate::metric::evidence::shift::ScoreShift;
use crate::metric::evidence::shift_pass::{ShiftEvidence, ShiftPass};
use crate::metric::noise::placebo::{PlaceboBand, PlaceboEvidence};
use crate::metric::rate::{MetricValue, Rate, by_weight};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::interval_choice::{IntervalOrReason, MeasureContext, is_clear};
use crate::metric::value::measured::{MeasuredValue, ValuePeople};
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
    let (places, spreads, weights) =
        (counts.scope_index(), counts.cell_profiles(), counts.weight_profiles());
    let second = shift.map(|shift| &shift.second);
    let of_people = shifts(counts, second.filter(|_| weights.is_none()));
    let evidence = ScopeEvidence::new(&spreads, of_people);
    let of_weights = |of: &_| ScopeEvidence::new(of, shifts(counts, second));
    let weighed = weights.as_ref().map(of_weights);
    let noise = PlaceboNoise::new(placebo, weighed.as_ref().unwrap_or(&evidence));
    let audit = SwitchMeasurement {
        context: MeasureContext::new(settings),
        scope_index: places,
        evidence,
        weighted: weighed,
        shift,
        noise,
    };
    let families = [MetricFamily::Ccm, MetricFamily::Eccm, MetricFamily::Shift]
        .into_iter()
        .filter(|&family| family != MetricFamily::Shift || shift.is_some());
    let metrics: Vec<&'static Metric> =
        families.flat_map(|family| audit.context.metrics(family)).collect();
    let people = |place: usize, scope| {
        let kinds = (spreads.at(place), weights.as_ref().map(|of| of.at(place)));
        ScopePeople::new(counts, (place, scope), kinds)
    };
    let direction = |from, to| people(places.direction(from, to), MetricScope::Direction(from, to));
    let both_ways = |(a, b): (usize, usize)| {
        let mut out = Vec::new();
        let (forth, back) = (direction(a, b), direction(b, a));
        for metric in metrics.iter().filter(|metric| !matches!(metric.reads, Reads::AnySwitch(_))) {
            let one =
                audit.switch(metric, MetricScope::Direction(a, b), places.direction(a, b), &forth);
            let other =
                audit.switch(metric, MetricScope::Direction(b, a), places.direction(b, a), &back);
            out.push(audit.gap((a, b), (&one, &forth), (&other, &back)));
            if metric.is_of_two_directions() {
                // Each order of a ratio has its row.
                out.push(audit.gap((b, a), (&other, &back), (&one, &forth)));
            } else {
                out.extend([one, other]);
            }
        }
        out
    };
    let together = |(place, scope): (usize, MetricScope)| {
        let people = people(place, scope);
        let any = audit.evidence[place].any.is_some();
        let measured = metrics
            .iter()
            .filter(|metric| any || !matches!(metric.reads, Reads::AnySwitch(_)))
            .filter(|metric| !metric.is_of_two_directions());
        measured.map(|metric| audit.switch(metric, scope, place, &people)).collect()
    };
    let pairs: Vec<(usize, usize)> = places.directions().filter(|(a, b)| a < b).collect();
    let others: Vec<(usize, MetricScope)> =
        places.scopes().filter(|(_, scope)| !matches!(scope, MetricScope::Direction(..))).collect();
    let mut out: Vec<Vec<MeasuredValue>> = pairs.into_par_iter().map(both_ways).collect();
    out.par_extend(others.into_par_iter().map(together));
    out.into_iter().flatten().collect()
}

/// What the values of one scope are made of.
struct ScopeEvidence {
    eccm: Eccm,
    /// None where it would say what the extended matrix says, or nothing.
    any: Option<AnySwitch>,
    /// None where the family shift is not asked for, and of people where they have weights.
    shift: Option<Box<ScoreShift>>,
}

impl ScopeEvidence {
    /// That of all scopes, by people or by what they weigh.
    fn new<T: PatternSummand>(
        scopes: &ScopeCellProfiles<T>,
        shifts: Vec<Option<Box<ScoreShift>>>,
    ) -> Vec<ScopeEvidence> {
        let (places, profiles) = (scopes.scope_index, &scopes.profiles);
        let each = profiles.iter().zip(shifts);
        let of = |(profiles, shift): (&CellProfiles<T>, _)| ScopeEvidence {
            eccm: profiles.eccm(),
            any: None,
            shift,
        };
        let mut all: Vec<ScopeEvidence> = each.map(of).collect();
        for (place, scope) in places.scopes() {
            all[place].any = any_groups(places, scope).map(|_| profiles[place].any_switch());
        }
        all
    }

    /// The evidence that values follow from.
    fn of_values(counts: &CounterfactualCounts, second: Option<&ShiftPass>) -> Vec<ScopeEvidence> {
        let shifts = shifts(counts, second);
        match counts.weight_profiles() {
            Some(weights) => ScopeEvidence::new(&weights, shifts),
            None => ScopeEvidence::new(&counts.cell_profiles(), shifts),
        }
    }

    /// The same people with no score that moves.
    fn unmoved(&self) -> Self {
        ScopeEvidence {
            eccm: self.eccm.without_switches(),
            any: self.any.map(|any| any.without_switches()),
            shift: self.shift.as_ref().map(|shift| Box::new(shift.without_shift())),
        }
    }

    fn rate(&self, metric: &Metric, settings: &MeasureSettings) -> Option<Rate> {
        match (metric.reads, self.any) {
            (Reads::AnySwitch(rate), Some(any)) => Some(rate(&any)),
            _ => switch_rate(metric, settings).map(|rate| rate(&self.eccm)),
        }
    }

    fn value(&self, metric: &Metric, settings: &MeasureSettings) -> MetricValue {
        match (metric.reads, self.rate(metric, settings), &self.shift) {
            (_, Some(rate), _) => rate.value(),
            (Reads::SwitchScore(score), ..) => score(&self.eccm),
            (Reads::Shift(value), _, Some(shift)) => value(shift),
            _ => unreachable!("`{}` is not measured in this scope", metric.id),
        }
    }
}

/// The scores of all scopes by number.
fn shifts(
    counts: &CounterfactualCounts,
    second: Option<&ShiftPass>,
) -> Vec<Option<Box<ScoreShift>>> {
    let Some(second) = second else { return vec![None; counts.scope_index().len()] };
    let sums = counts.shifts_by_scope();
    sums.iter()
        .enumerate()
        .map(|(place, sums)| Some(Box::new(second.at(place).score_shift(sums))))
        .collect()
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
                    .map(|repeat| ScopeEvidence::of_values(&repeat.counts, repeat.second.as_ref()))
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

/// Everything that values are computed from.
struct SwitchMeasurement<'a> {
    context: MeasureContext<'a>,
    scope_index: ScopeIndex,
    /// Of people.
    evidence: Vec<ScopeEvidence>,
    /// In units of weight; none where nobody has a weight.
    weighted: Option<Vec<ScopeEvidence>>,
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
        scope: MetricScope,
        place: usize,
        people: &ScopePeople<'_>,
    ) -> MeasuredValue {
        let of = &self.evidence[place];
        let weighed = self.weighted.as_ref().map(|weighed| &weighed[place]);
        let settings = self.context.settings;
        let (rate, n_rows) = (of.rate(metric, settings), people.n(metric));
        let weights = weighed.and_then(|weighed| weighed.rate(metric, settings));
        let value = match (weighed, metric.reads) {
            (None, _) => of.value(metric, settings),
            // Score metrics tell pairs that weigh nothing from pairs that are not there.
            (Some(weighed), Reads::Shift(_)) => weighed.value(metric, settings),
            (Some(weighed), _) => {
                by_weight(weighed.value(metric, settings), || of.value(metric, settings))
            }
        };
        let shift = weighed.unwrap_or(of).shift.as_deref();
        let share = people.share(metric, settings);
        let (interval, method) = self.context.interval(value, || {
            if !matches!(metric.reads, Reads::Shift(_)) {
                return self.context.estimated(people.estimate(metric, value, settings));
            }
            let still = shift.is_some_and(|shift| shift.absolute == 0.0);
            match still.then(|| people.unmoved_interval(metric, self.context.z)).flatten() {
                Some(interval) => Ok(interval),
                None => self.shift_interval(metric, scope),
            }
        });
        let placebo = self.noise.band(|evidence| evidence[place].value(metric, settings));
        let switched = value.is_ok().then(|| people.switched(metric, settings)).flatten();
        let basis = people.person_basis(metric, share.as_ref(), settings);
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        let impaired = impaired(metric, scope, (value, clear), switched, settings);
        let people = ValuePeople::one(n_rows, rate).with_person_basis(basis);
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, method), people)
            .with_rate(rate, weights)
            .with_size(share.as_ref())
            .with_switches(switched, placebo)
            .with_impaired(impaired)
    }

    /// The difference or ratio of two directions, from their values.
    fn gap(
        &self,
        (a, b): (usize, usize),
        one: (&MeasuredValue, &ScopePeople<'_>),
        other: (&MeasuredValue, &ScopePeople<'_>),
    ) -> MeasuredValue {
        let ((forth, of_forth), (back, of_back)) = (one, other);
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
            let of = |(value, people): (&MeasuredValue, &ScopePeople<'_>)| {
                people.estimate(metric, value.value, settings)
            };
            let of_two = of(one).zip(of(other)).map(|(x, y)| match is_ratio {
                true => x.over(&y),
                false => x.minus(&y),
            });
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
        let denominators = forth.denominator.zip(back.denominator);
        let persons = of_forth.counted_persons(metric).zip(of_back.counted_persons(metric));
        let all = persons.map(|(all, others)| distinct(all.into_iter().chain(others)));
        // Without several rows of a person those of the two groups are different people.
        let all = all.or_else(|| Some(forth.persons?.n + back.persons?.n));
        let people = ValuePeople::two([forth.n_rows, back.n_rows], denominators)
            .with_persons(all, &[forth.persons, back.persons]);
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
