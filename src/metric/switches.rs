//! Values of the families ccm, eccm and shift: every direction, the difference of each two, one group and the rest, and all together.
//!
//! Where a person counts more than once (one group to the rest, the total of more than two groups, several counterfactuals), rates are no
//! independent cases: their interval is the bootstrap of people. Where people have weights, values are made of what they weigh. Score metrics always have the one of [`redraw`](super::redraw).

use std::ops::Range;

use rayon::prelude::*;

use super::ask::{Ask, Basis, Drawn, is_clear};
use super::ccm::switch_rate;
use super::counts::{CounterfactualCounts, Eccm};
use super::divergence::ShiftPass;
use super::interval::{newcombe, wilson};
use super::measure::{Favourable, Measured, Settings};
use super::patterns::{AnySwitch, Spread, Spreads};
use super::placebo::{Band, Placebo};
use super::redraw::ShiftEvidence;
use super::scope::{Places, Scope};
use super::shift::Shift;
use super::weights::by_weight;
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
    let (places, spreads, has_label) = (counts.places(), counts.spreads(), counts.has_label());
    let second = shift.map(|shift| &shift.second);
    let evidence = Evidence::of(counts, &spreads, second);
    let weighed = Evidence::weighed(counts, second);
    let noise = Noise::of(placebo, weighed.as_ref().unwrap_or(&evidence));
    let audit = Audit { ask: Ask::new(settings), has_label, places, evidence, weighed, shift, noise };
    let families = [Family::Ccm, Family::Eccm, Family::Shift].into_iter().filter(|&family| family != Family::Shift || shift.is_some());
    let metrics: Vec<&'static Metric> = families.flat_map(|family| audit.ask.metrics(family)).collect();
    let direction = |from, to| {
        let place = places.direction(from, to);
        People::new(counts, (place, Scope::Direction(from, to)), spreads.at(place), format!("bootstrap/direction/{from}/{to}"))
    };
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
        let people = People::new(counts, (place, scope), spreads.at(place), stream);
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
            let mut all = AnySwitch::default();
            for from in 0..places.groups {
                all.merge(spreads.any(from));
                any[places.one_to_rest(from)] = Some(*spreads.any(from));
            }
            any[places.total()] = Some(all);
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
    n: u64,
    /// Kinds of people by the cells that one of them fills, and their number.
    kinds: &'a [([u64; 8], u64)],
    repeats: bool,
    drawn: Drawn<8>,
    /// By whether anything switches; only where people have weights.
    any: Option<Drawn<4>>,
}

impl<'a> People<'a> {
    fn new(counts: &CounterfactualCounts, (place, scope): (usize, Scope), spread: &'a Spread, stream: String) -> Self {
        let any = any_groups(counts.places(), scope).and_then(|groups| counts.any_blocks(groups));
        People {
            n: spread.people(),
            kinds: &spread.0,
            repeats: spread.repeats(),
            drawn: Drawn::new(counts.blocks(place), || spread.0.clone(), stream),
            any: any.map(|blocks| Drawn::new(Some(blocks), Vec::new, String::new())),
        }
    }

    /// People whose prediction switches: those that a switch rate counts, or that a rate of consistency lacks. None of what names nobody.
    fn switched(&self, metric: &Metric, settings: &Settings) -> Option<u64> {
        let Impaired::Switch { worse, .. } = metric.impaired else { return None };
        let counts = |cells: &[u64; 8]| {
            let e = Eccm(*cells);
            match (switch_rate(metric, settings).map(|rate| rate(&e)), worse) {
                (None, _) => e.sp() + e.sn() > 0,
                (Some(rate), Worse::High) => rate.numerator > 0,
                (Some(rate), Worse::Low) => rate.numerator < rate.denominator,
            }
        };
        Some(self.kinds.iter().filter(|(cells, _)| counts(cells)).map(|(_, people)| people).sum())
    }

    /// Whether a rate is one of independent cases.
    fn is_plain(&self) -> bool {
        !self.repeats && !self.drawn.is_weighed()
    }
}

/// Everything that values are made of.
struct Audit<'a> {
    ask: Ask<'a>,
    has_label: bool,
    places: Places,
    /// Of people.
    evidence: Vec<Evidence>,
    /// In units of weight; none where nobody has a weight.
    weighed: Option<Vec<Evidence>>,
    shift: Option<&'a ShiftEvidence>,
    noise: Noise,
}

impl Audit<'_> {
    /// A value of evidence by scope, or none where it needs a label that the job does not have.
    fn labelled(&self, metric: &Metric, value: impl FnOnce() -> Value) -> Value {
        if metric.needs_label && !self.has_label { Err(Undefined::NoLabel) } else { value() }
    }

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
        let rate_of = |of: &Evidence| of.rate(metric, settings).filter(|_| !metric.needs_label || self.has_label);
        let rate = rate_of(of);
        let value = self.labelled(metric, || match (weighed, metric.reads) {
            (None, _) => of.value(metric, settings),
            // Score metrics tell pairs that weigh nothing from pairs that are not there.
            (Some(weighed), Reads::Shift(_)) => weighed.value(metric, settings),
            (Some(weighed), _) => by_weight(weighed.value(metric, settings), || of.value(metric, settings)),
        });
        let (interval, ci_method) = self.ask.interval(value, || match (metric.reads, rate, of_cells(metric, settings)) {
            (Reads::AnySwitch(of), Some(rate), _) => match &people.any {
                Some(drawn) => drawn.percentile(&self.ask, |cells| of(&AnySwitch::from_cells(cells)).value()),
                None => Basis::Formula(wilson(rate, self.ask.z)),
            },
            (_, Some(rate), _) if people.is_plain() => Basis::Formula(wilson(rate, self.ask.z)),
            (_, _, Some(replicate)) => people.drawn.percentile(&self.ask, replicate),
            _ => self.shift_interval(metric, scope),
        });
        let placebo = self.noise.band(|evidence| self.labelled(metric, || evidence[place].value(metric, settings)));
        let switched = value.is_ok().then(|| people.switched(metric, settings)).flatten();
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), placebo);
        Measured {
            scope,
            metric,
            value,
            numerator: rate.map(|rate| rate.numerator),
            denominator: rate.map(|rate| rate.denominator),
            weights: weighed.and_then(rate_of).map(|rate| (rate.numerator, rate.denominator)),
            n_rows: people.n,
            interval,
            ci_method,
            ideal: metric.ideal,
            flags: self.ask.flags(people.n, rate.map(|rate| rate.denominator)),
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
        let value = self.labelled(metric, || difference(forth.value, back.value));
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
        let placebo = self.noise.band(|evidence| {
            self.labelled(metric, || difference(evidence[from_a].value(metric, settings), evidence[from_b].value(metric, settings)))
        });
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
pub(super) fn of_cells(metric: &'static Metric, settings: &Settings) -> Option<impl Fn([u64; 8]) -> Value + use<>> {
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
