//! Values of the families ccm, eccm and shift: every direction, the difference of each two, one group and the rest, and all together.
//!
//! Where a person counts more than once (one group to the rest, the total of more than two groups, several counterfactuals), rates are no
//! independent cases: their interval is the bootstrap of people, or Wilson's on people where no case counts or all do. Where people have
//! weights, values are made of what they weigh. Score metrics have the one of [`redraw`](super::redraw), or where nobody's score moves that
//! of the share of people who move.

use std::ops::Range;

use rayon::prelude::*;

use super::ask::{Ask, Basis, Drawn, is_clear};
use super::ccm::switch_rate;
use super::counts::{CounterfactualCounts, ECCM_CELLS, Eccm, SwitchCells};
use super::divergence::ShiftPass;
use super::interval::{Interval, Method, newcombe, wilson, wilson_of_people};
use super::measure::{Favourable, Measured, Settings};
use super::patterns::{AnySwitch, Spread, Spreads};
use super::placebo::{Band, Placebo};
use super::redraw::ShiftEvidence;
use super::scope::{Places, Scope};
use super::shift::Shift;
use super::weights::{WeightSums, by_weight};
use super::{Family, Impaired, Metric, Rate, Reads, Side, Undefined, Value, Worse, difference};
use crate::param::Count;

/// Values of the counterfactual families that are asked for. `shift` is the second pass over the same people with its intervals; without
/// it the family shift is not measured. `placebo` is what the same set gives where group names mean nothing.
pub fn measure_counterfactual(
    counts: &CounterfactualCounts,
    shift: Option<&ShiftEvidence>,
    placebo: Option<&Placebo>,
    settings: &Settings,
) -> Vec<Measured> {
    let (places, spreads, weights) = (counts.places(), counts.spreads(), counts.weight_spreads());
    let second = shift.map(|shift| &shift.second);
    let evidence = Evidence::of(counts, &spreads, second);
    let weighed = Evidence::weighed(counts, second);
    let noise = Noise::of(placebo, weighed.as_ref().unwrap_or(&evidence));
    let audit = Audit { ask: Ask::new(settings), places, evidence, weighed, shift, noise };
    let families = [Family::Ccm, Family::Eccm, Family::Shift].into_iter().filter(|&family| family != Family::Shift || shift.is_some());
    let metrics: Vec<&'static Metric> = families.flat_map(|family| audit.ask.metrics(family)).collect();
    let people = |place: usize, scope, stream| {
        People::new(counts, (place, scope), (spreads.at(place), weights.as_ref().map(|of| &of[place])), stream)
    };
    let direction = |from, to| people(places.direction(from, to), Scope::Direction(from, to), format!("bootstrap/direction/{from}/{to}"));
    let both_ways = |(a, b): (usize, usize)| {
        let mut out = Vec::new();
        let (forth, back) = (direction(a, b), direction(b, a));
        for metric in metrics.iter().filter(|metric| !matches!(metric.reads, Reads::AnySwitch(_))) {
            let one = audit.switch(metric, Scope::Direction(a, b), places.direction(a, b), &forth);
            let other = audit.switch(metric, Scope::Direction(b, a), places.direction(b, a), &back);
            out.push(audit.gap((a, b), (&one, &forth), (&other, &back)));
            out.extend([one, other]);
        }
        out
    };
    let together = |(place, scope): (usize, Scope)| {
        let stream = match scope {
            Scope::OneToRest(from) => format!("bootstrap/one-to-rest/{from}"),
            Scope::RestToOne(to) => format!("bootstrap/rest-to-one/{to}"),
            _ => "bootstrap/counterfactual-total".to_owned(),
        };
        let people = people(place, scope, stream);
        let any = audit.evidence[place].any.is_some();
        let measured = metrics.iter().filter(|metric| any || !matches!(metric.reads, Reads::AnySwitch(_)));
        measured.map(|metric| audit.switch(metric, scope, place, &people)).collect()
    };
    let pairs: Vec<(usize, usize)> = places.directions().filter(|(a, b)| a < b).collect();
    let others: Vec<(usize, Scope)> = places.scopes().filter(|(_, scope)| !matches!(scope, Scope::Direction(..))).collect();
    let mut out: Vec<Vec<Measured>> = pairs.into_par_iter().map(both_ways).collect();
    out.par_extend(others.into_par_iter().map(together));
    out.into_iter().flatten().collect()
}

/// What the values of one scope are made of.
struct Evidence {
    eccm: Eccm,
    /// None where it would say what the extended matrix says, or nothing.
    any: Option<AnySwitch>,
    /// None where the family shift is not asked for, and of people where they have weights.
    shift: Option<Box<Shift>>,
}

impl Evidence {
    /// The evidence of all scopes by number.
    fn of(counts: &CounterfactualCounts, spreads: &Spreads, second: Option<&ShiftPass>) -> Vec<Evidence> {
        let places = counts.places();
        let mut any = vec![None; places.len()];
        if places.rests() {
            for place in (0..places.groups).map(|from| places.one_to_rest(from)).chain([places.total()]) {
                any[place] = Some(spreads.at(place).any());
            }
        }
        let shifts = shifts(counts, second.filter(|_| !counts.is_weighed()));
        let evidence = any.into_iter().zip(shifts).enumerate();
        evidence.map(|(place, (any, shift))| Evidence { eccm: spreads.at(place).eccm(), any, shift }).collect()
    }

    /// The same in units of weight; none where nobody has a weight.
    fn weighed(counts: &CounterfactualCounts, second: Option<&ShiftPass>) -> Option<Vec<Evidence>> {
        let places = counts.places();
        let mut any = vec![None; places.len()];
        for (place, scope) in places.scopes() {
            let blocks = any_groups(places, scope).and_then(|groups| counts.any_blocks(groups));
            any[place] = blocks.map(|blocks| {
                let mut all = AnySwitch::default();
                blocks.iter().for_each(|(_, cells)| all.merge(&AnySwitch::from_cells(*cells)));
                all
            });
        }
        let evidence = any.into_iter().zip(shifts(counts, second)).enumerate();
        evidence.map(|(place, (any, shift))| Some(Evidence { eccm: counts.weight_eccm(place)?, any, shift })).collect()
    }

    /// The evidence that values are made of.
    fn of_values(counts: &CounterfactualCounts, second: Option<&ShiftPass>) -> Vec<Evidence> {
        Evidence::weighed(counts, second).unwrap_or_else(|| Evidence::of(counts, &counts.spreads(), second))
    }

    /// The same people, of whom nothing moves.
    fn still(&self) -> Self {
        Evidence {
            eccm: self.eccm.still(),
            any: self.any.map(|any| any.still()),
            shift: self.shift.as_ref().map(|shift| Box::new(shift.still())),
        }
    }

    fn rate(&self, metric: &Metric, settings: &Settings) -> Option<Rate> {
        match (metric.reads, self.any) {
            (Reads::AnySwitch(rate), Some(any)) => Some(rate(&any)),
            _ => switch_rate(metric, settings).map(|rate| rate(&self.eccm)),
        }
    }

    fn value(&self, metric: &Metric, settings: &Settings) -> Value {
        match (metric.reads, self.rate(metric, settings), &self.shift) {
            (_, Some(rate), _) => rate.value(),
            (Reads::SwitchScore(score), ..) => score(&self.eccm),
            (Reads::Shift(value), _, Some(shift)) => value(shift),
            _ => unreachable!("`{}` is not measured in this scope", metric.id),
        }
    }
}

/// The scores of all scopes by number.
fn shifts(counts: &CounterfactualCounts, second: Option<&ShiftPass>) -> Vec<Option<Box<Shift>>> {
    let Some(second) = second else { return vec![None; counts.places().len()] };
    let sums = counts.shift_places();
    sums.iter().enumerate().map(|(place, sums)| Some(Box::new(Shift::of(sums, second.at(place))))).collect()
}

/// The groups whose people are asked whether anything switches; none where the extended matrix says the same.
fn any_groups(places: Places, scope: Scope) -> Option<Range<usize>> {
    match scope {
        Scope::OneToRest(from) => Some(from..from + 1),
        Scope::Total if places.rests() => Some(0..places.groups),
        _ => None,
    }
}

/// What the placebo gives, by scope.
enum Noise {
    NotAsked,
    Still(Vec<Evidence>, Count),
    Repeats(Vec<Vec<Evidence>>),
}

impl Noise {
    fn of(placebo: Option<&Placebo>, evidence: &[Evidence]) -> Self {
        match placebo {
            None => Noise::NotAsked,
            Some(Placebo::Still(repeats)) => Noise::Still(evidence.iter().map(Evidence::still).collect(), *repeats),
            Some(Placebo::Repeats(repeats)) => {
                Noise::Repeats(repeats.iter().map(|repeat| Evidence::of_values(&repeat.counts, repeat.second.as_ref())).collect())
            }
        }
    }

    fn band(&self, value: impl Fn(&[Evidence]) -> Value) -> Option<Band> {
        match self {
            Noise::NotAsked => None,
            Noise::Still(evidence, repeats) => Some(Band::still(value(evidence), *repeats)),
            Noise::Repeats(repeats) => Some(Band::of(repeats.iter().map(|evidence| value(evidence)))),
        }
    }
}

/// The people of one scope, and the worlds drawn from them.
struct People<'a> {
    spread: &'a Spread,
    /// What they weigh; none where nobody has a weight.
    weights: Option<&'a Spread<WeightSums>>,
    repeats: bool,
    drawn: Drawn<ECCM_CELLS>,
    /// By whether anything switches; only where people have weights.
    any: Option<Drawn<4>>,
}

impl<'a> People<'a> {
    fn new(
        counts: &CounterfactualCounts,
        (place, scope): (usize, Scope),
        (spread, weights): (&'a Spread, Option<&'a Spread<WeightSums>>),
        stream: String,
    ) -> Self {
        let any = any_groups(counts.places(), scope).and_then(|groups| counts.any_blocks(groups));
        People {
            spread,
            weights,
            repeats: spread.repeats(),
            drawn: Drawn::new(counts.blocks(place), || spread.0.clone(), stream),
            any: any.map(|blocks| Drawn::new(Some(blocks), Vec::new, String::new())),
        }
    }

    /// People whose prediction switches: those that a switch rate counts, or that a rate of consistency lacks. None of what names nobody.
    fn switched(&self, metric: &Metric, settings: &Settings) -> Option<u64> {
        let Impaired::Switch { worse, .. } = metric.impaired else { return None };
        let counts = |cells: &SwitchCells| {
            let e = Eccm(*cells);
            match (switch_rate(metric, settings).map(|rate| rate(&e)), worse) {
                (None, _) => e.sp() + e.sn() > 0,
                (Some(rate), Worse::High) => rate.numerator > 0,
                (Some(rate), Worse::Low) => rate.numerator < rate.denominator,
            }
        };
        Some(self.spread.0.iter().filter(|(cells, _)| counts(cells)).map(|(_, people)| people).sum())
    }

    /// People whom a metric counts.
    fn n(&self, metric: &Metric) -> u64 {
        self.spread.counted(metric.needs_label)
    }

    /// How many people stand below a rate: their effective number where they weigh differently.
    fn below(&self, rate: impl Fn(&SwitchCells) -> Rate) -> f64 {
        match self.weights {
            None => self.spread.below(rate) as f64,
            Some(weights) => weights.below(rate).effective(),
        }
    }

    /// The interval of a rate of which no case counts, or all do.
    fn at_an_end(&self, everybody: bool, rate: impl Fn(&SwitchCells) -> Rate, z: f64) -> Option<Interval> {
        wilson_of_people(everybody, self.below(rate), z, Method::WilsonPeople { weighed: self.weights.is_some() })
    }

    /// The interval of a distance where nobody's score moves; none of a metric that says no distance.
    fn unmoved(&self, metric: &Metric, z: f64) -> Option<Interval> {
        let pairs = |kind: &SwitchCells| Eccm(*kind).rate(0, Eccm(*kind).n(), Undefined::EmptyGroup);
        unmoved(metric, self.below(pairs), z)
    }

    /// Whether a rate is one of independent cases.
    fn is_plain(&self) -> bool {
        !self.repeats && !self.drawn.is_weighed()
    }
}

/// The interval of a distance where the score of none of so many people moves; none of a metric that says no distance.
pub(super) fn unmoved(metric: &Metric, people: f64, z: f64) -> Option<Interval> {
    let moved = wilson_of_people(false, people, z, Method::WilsonMoved)?;
    match metric.id {
        "macd" => Some(moved),
        "rmscd" => Some(Interval { hi: moved.hi.sqrt(), ..moved }),
        "mcd" => Some(Interval { lo: -moved.hi, ..moved }),
        _ => None,
    }
}

/// Everything that values are made of.
struct Audit<'a> {
    ask: Ask<'a>,
    places: Places,
    /// Of people.
    evidence: Vec<Evidence>,
    /// In units of weight; none where nobody has a weight.
    weighed: Option<Vec<Evidence>>,
    shift: Option<&'a ShiftEvidence>,
    noise: Noise,
}

impl Audit<'_> {
    /// The drawn interval of a score metric.
    fn shift_interval(&self, metric: &Metric, scope: Scope) -> Basis {
        let found = self.shift.and_then(|shift| shift.intervals.as_ref()).and_then(|i| Some((i.get(scope, metric.id)?, i.replicates())));
        found.map_or(Basis::NotDrawn, |(found, replicates)| Basis::Replicates(found, replicates))
    }

    /// One metric of one scope.
    fn switch(&self, metric: &'static Metric, scope: Scope, place: usize, people: &People<'_>) -> Measured {
        let of = &self.evidence[place];
        let weighed = self.weighed.as_ref().map(|weighed| &weighed[place]);
        let settings = self.ask.settings;
        let (rate, n_rows) = (of.rate(metric, settings), people.n(metric));
        let weights = weighed.and_then(|weighed| weighed.rate(metric, settings));
        let value = match (weighed, metric.reads) {
            (None, _) => of.value(metric, settings),
            // Score metrics tell pairs that weigh nothing from pairs that are not there.
            (Some(weighed), Reads::Shift(_)) => weighed.value(metric, settings),
            (Some(weighed), _) => by_weight(weighed.value(metric, settings), || of.value(metric, settings)),
        };
        let z = self.ask.z;
        let at_an_end = weights.or(rate).is_some_and(Rate::is_at_an_end);
        let everybody = value.is_ok_and(|value| value > 0.0);
        let shift = weighed.unwrap_or(of).shift.as_deref();
        let of_kind = switch_rate(metric, settings);
        let (interval, ci_method) = self.ask.interval(value, || match (metric.reads, rate, of_cells(metric, settings)) {
            (Reads::AnySwitch(_), Some(rate), _) if people.any.is_none() => Basis::Formula(wilson(rate, z)),
            (Reads::AnySwitch(of), ..) if at_an_end => {
                let one = |kind: &SwitchCells| {
                    let at = AnySwitch::index_of(kind);
                    of(&AnySwitch::from_cells(std::array::from_fn(|i| u64::from(i == at))))
                };
                Basis::Formula(people.at_an_end(everybody, one, z))
            }
            (Reads::AnySwitch(of), ..) => people
                .any
                .as_ref()
                .map_or(Basis::NotDrawn, |drawn| drawn.percentile(&self.ask, |cells| of(&AnySwitch::from_cells(cells)).value())),
            (_, Some(rate), _) if people.is_plain() => Basis::Formula(wilson(rate, z)),
            (_, Some(_), Some(replicate)) => match of_kind.filter(|_| at_an_end) {
                Some(of) => Basis::Formula(people.at_an_end(everybody, |kind| of(&Eccm(*kind)), z)),
                None => people.drawn.percentile(&self.ask, replicate),
            },
            (_, _, Some(replicate)) => people.drawn.percentile(&self.ask, replicate),
            _ => match shift.filter(|shift| shift.absolute == 0.0).and_then(|_| people.unmoved(metric, z)) {
                Some(interval) => Basis::Formula(Some(interval)),
                None => self.shift_interval(metric, scope),
            },
        });
        let placebo = self.noise.band(|evidence| evidence[place].value(metric, settings));
        let switched = value.is_ok().then(|| people.switched(metric, settings)).flatten();
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        Measured {
            scope,
            metric,
            value,
            numerator: rate.map(|rate| rate.numerator),
            denominator: rate.map(|rate| rate.denominator),
            weights: weights.map(|rate| (rate.numerator, rate.denominator)),
            n_rows,
            interval,
            ci_method,
            ideal: metric.ideal,
            flags: self.ask.flags(n_rows, rate.map(|rate| rate.denominator)),
            impaired: value.ok().filter(|_| clear).and_then(|value| impaired(metric, scope, value, switched, settings)),
            switched,
            placebo,
            furthest: None,
        }
    }

    /// The difference of two directions, from their values.
    fn gap(&self, (a, b): (usize, usize), one: (&Measured, &People<'_>), other: (&Measured, &People<'_>)) -> Measured {
        let ((forth, of_forth), (back, of_back)) = (one, other);
        let (metric, scope) = (forth.metric, Scope::Difference(a, b));
        let (from_a, from_b) = (self.places.direction(a, b), self.places.direction(b, a));
        let value = difference(forth.value, back.value);
        let settings = self.ask.settings;
        let (interval, ci_method) = self.ask.interval(value, || match (switch_rate(metric, settings), of_cells(metric, settings)) {
            (Some(rate), _) if of_forth.is_plain() && of_back.is_plain() => {
                Basis::Formula(newcombe(rate(&self.evidence[from_a].eccm), rate(&self.evidence[from_b].eccm), self.ask.z))
            }
            (_, Some(replicate)) => {
                of_forth.drawn.percentile_of_two(&of_back.drawn, &self.ask, |x, y| difference(replicate(x), replicate(y)))
            }
            _ => self.shift_interval(metric, scope),
        });
        let denominator = forth.denominator.zip(back.denominator).map(|(x, y)| x.min(y));
        let placebo =
            self.noise.band(|evidence| difference(evidence[from_a].value(metric, settings), evidence[from_b].value(metric, settings)));
        let switched = value.ok().and_then(|value| if forth_is_worse(metric, value)? { forth.switched } else { back.switched });
        let clear = is_clear(Some(0.0), interval.map(|i| (i.lo, i.hi)), placebo);
        Measured {
            scope,
            metric,
            value,
            numerator: None,
            denominator: None,
            weights: None,
            n_rows: forth.n_rows + back.n_rows,
            interval,
            ci_method,
            ideal: Some(0.0),
            flags: self.ask.flags(forth.n_rows.min(back.n_rows), denominator),
            impaired: value.ok().filter(|_| clear).and_then(|value| impaired(metric, scope, value, switched, settings)),
            switched,
            placebo,
            furthest: None,
        }
    }
}

/// The metric as a function of the eight cells; none for metrics that read something else.
pub(super) fn of_cells(metric: &'static Metric, settings: &Settings) -> Option<impl Fn(SwitchCells) -> Value + use<>> {
    let (rate, reads) = (switch_rate(metric, settings), metric.reads);
    (rate.is_some() || matches!(reads, Reads::SwitchScore(_))).then_some(move |cells| match (rate, reads) {
        (Some(rate), _) => rate(&Eccm(cells)).value(),
        (None, Reads::SwitchScore(score)) => score(&Eccm(cells)),
        _ => Err(Undefined::OperandUndefined),
    })
}

/// Whether the first of two directions is the worse one, by their difference; none where they are alike, and of what is about no switch.
fn forth_is_worse(metric: &Metric, difference: f64) -> Option<bool> {
    let Impaired::Switch { worse, .. } = metric.impaired else { return None };
    (difference != 0.0).then_some((difference > 0.0) == (worse == Worse::High))
}

/// Whom a clear value puts at a disadvantage, so many people having switched; of a difference the direction with the worse value says so.
pub(super) fn impaired(metric: &Metric, scope: Scope, value: f64, switched: Option<u64>, settings: &Settings) -> Option<usize> {
    if switched? < settings.min_denominator.get() {
        return None;
    }
    let (from, to) = match scope {
        Scope::Difference(a, b) if !forth_is_worse(metric, value)? => (Some(b), Some(a)),
        _ => (scope.from_group(), scope.to_group()),
    };
    side(metric, from, to, settings.favourable)
}

/// The impaired one of two groups; none where it is all the others.
fn side(metric: &Metric, from: Option<usize>, to: Option<usize>, favourable: Favourable) -> Option<usize> {
    let Impaired::Switch { if_positive, if_negative, .. } = metric.impaired else { return None };
    let side = match favourable {
        Favourable::Positive => if_positive,
        Favourable::Negative => if_negative,
    };
    match side {
        Side::Original => from,
        Side::New => to,
    }
}
