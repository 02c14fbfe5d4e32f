//! Turns evidence into values: every metric of the asked families in every scope, with interval, flags and impaired group.
//!
//! Here: groups as they are, in the scopes `group`, `total` and `pair` (A before B in reference order). The families with counterfactuals
//! are in [`switches`](super::switches). Which interval a value gets stands in [`interval`](super::interval).
//!
//! Where people have weights, values are made of what they weigh; flags and cases are about people all the same.
//!
//! Streams of chance are named by scope, so that a value does not depend on which other values are asked for.

use super::ask::{Ask, Basis, Drawn};
use super::counts::{Confusion, FactualCounts};
use super::interval::{Interval, katz, newcombe, wilson};
use super::placebo::Band;
use super::scope::Scope;
use super::weights::by_weight;
use super::{Family, Impaired, Metric, Rate, Reads, Undefined, Value, difference, ratio};
use crate::param::{Count, Level, Seed};

/// The prediction that people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Favourable {
    /// Class 1.
    Positive,
    /// Class 0.
    Negative,
}

/// How to measure.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The families asked for.
    pub families: Vec<Family>,
    /// Which prediction people want; it decides impaired groups and `di`, no other value.
    pub favourable: Favourable,
    /// Level of the intervals; none: no intervals.
    pub level: Option<Level>,
    /// Bootstrap replicates.
    pub samples: Count,
    /// Seed of the job.
    pub seed: Seed,
    /// A group with fewer people is flagged [`SMALL_GROUP`].
    pub min_group_size: Count,
    /// A rate with fewer cases below it is flagged [`SMALL_DENOMINATOR`].
    pub min_denominator: Count,
}

/// Flag: a group behind the value has fewer people than asked for.
pub const SMALL_GROUP: &str = "small_group";

/// Flag: a rate behind the value has fewer cases below it than asked for.
pub const SMALL_DENOMINATOR: &str = "small_denominator";

/// One value with everything that a table says about it.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Where it holds.
    pub scope: Scope,
    /// What it is.
    pub metric: &'static Metric,
    /// The value, or why there is none.
    pub value: Value,
    /// Count on top of a rate; none where the value is no rate of counts.
    pub numerator: Option<u64>,
    /// Count below a rate.
    pub denominator: Option<u64>,
    /// What those on top of a rate and those below it weigh in whole units, which the value is made of; none where nobody has a weight.
    pub weights: Option<(u64, u64)>,
    /// People behind it.
    pub n_rows: u64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// The method of the interval in full, or why there is none.
    pub ci_method: String,
    /// The value without disparity in this scope: of a difference 0, whatever the metric's own is.
    pub ideal: Option<f64>,
    /// [`SMALL_GROUP`], [`SMALL_DENOMINATOR`].
    pub flags: Vec<&'static str>,
    /// The group at a disadvantage, where the sources say.
    pub impaired: Option<usize>,
    /// What noise alone gives; none where no placebo was asked for.
    pub placebo: Option<Band>,
}

/// Values of the families performance and group: each group, all together, and every pair.
pub fn measure_factual(counts: &FactualCounts, settings: &Settings) -> Vec<Measured> {
    let ask = Ask::new(settings);
    let groups: Vec<Subject> =
        (0..counts.groups.len()).map(|group| Subject::new(counts, Some(group), format!("bootstrap/group/{group}"))).collect();
    let all = Subject::new(counts, None, "bootstrap/total".to_owned());
    let mut out = Vec::new();
    for metric in ask.metrics(Family::Performance) {
        for (group, subject) in groups.iter().enumerate() {
            out.push(performance(&ask, metric, Scope::Group(group), counts.has_label, subject));
        }
        out.push(performance(&ask, metric, Scope::Total, counts.has_label, &all));
    }
    for metric in ask.metrics(Family::Group) {
        for (a, of_a) in groups.iter().enumerate() {
            for (b, of_b) in groups.iter().enumerate().skip(a + 1) {
                out.push(pair(&ask, metric, (a, b), counts.has_label, of_a, of_b));
            }
        }
    }
    out
}

/// One group, or all.
struct Subject {
    /// Its people.
    people: Confusion,
    /// What they weigh; none where nobody has a weight.
    weight: Option<Confusion>,
    drawn: Drawn<4>,
}

impl Subject {
    fn new(counts: &FactualCounts, group: Option<usize>, stream: String) -> Self {
        let people = group.map_or_else(|| counts.total(), |group| counts.confusion(group));
        let drawn = Drawn::new(counts.blocks(group), || of_one(people), stream);
        Subject { people, weight: counts.weight_confusion(group), drawn }
    }

    /// What values are made of.
    fn cells(&self) -> &Confusion {
        self.weight.as_ref().unwrap_or(&self.people)
    }
}

/// A confusion as kinds of people: each fills one cell.
fn of_one(confusion: Confusion) -> Vec<([u64; 4], u64)> {
    let kinds = confusion.to_cells().into_iter().enumerate().map(|(i, people)| {
        let mut cells = [0; 4];
        cells[i] = 1;
        (cells, people)
    });
    kinds.filter(|(_, people)| *people > 0).collect()
}

/// One metric of one group or of all.
fn performance(ask: &Ask<'_>, metric: &'static Metric, scope: Scope, has_label: bool, subject: &Subject) -> Measured {
    let of = |c: &Confusion| match metric.reads {
        Reads::Rate(rate) => rate(c).value(),
        Reads::Score(score) => score(c),
        _ => unreachable!("`{}` is no metric of one group", metric.id),
    };
    let asked = has_label || !metric.needs_label;
    let value = match subject.weight {
        _ if !asked => Err(Undefined::NoLabel),
        None => of(&subject.people),
        Some(weight) => by_weight(of(&weight), || of(&subject.people)),
    };
    let rate = |c: &Confusion| match metric.reads {
        Reads::Rate(rate) if asked => Some(rate(c)),
        _ => None,
    };
    let people = rate(&subject.people);
    let (interval, ci_method) = ask.interval(value, || match metric.reads {
        Reads::Rate(_) if subject.weight.is_none() => Basis::Formula(people.and_then(|rate| wilson(rate, ask.z))),
        _ => subject.drawn.percentile(ask, |cells| of(&Confusion::from_cells(cells))),
    });
    Measured {
        scope,
        metric,
        value,
        numerator: people.map(|rate| rate.numerator),
        denominator: people.map(|rate| rate.denominator),
        weights: subject.weight.as_ref().and_then(rate).map(|rate| (rate.numerator, rate.denominator)),
        n_rows: subject.people.n(),
        interval,
        ci_method,
        ideal: metric.ideal,
        flags: ask.flags(subject.people.n(), people.map(|rate| rate.denominator)),
        impaired: None,
        placebo: None,
    }
}

/// One metric of two groups.
fn pair(ask: &Ask<'_>, metric: &'static Metric, (a, b): (usize, usize), has_label: bool, of_a: &Subject, of_b: &Subject) -> Measured {
    let favourable = ask.settings.favourable;
    // The rates behind the value, the one on top or in front first.
    let rates = |ca: &Confusion, cb: &Confusion| match metric.reads {
        Reads::RateDifference(rate) | Reads::RateRatio(rate) => Some((rate(ca), rate(cb))),
        Reads::FavourableRatio => Some((favourable_rate(cb, favourable), favourable_rate(ca, favourable))),
        _ => None,
    };
    let of = |ca: &Confusion, cb: &Confusion| match (metric.reads, rates(ca, cb)) {
        (Reads::Pair(of), _) => of(ca, cb),
        (Reads::RateDifference(_), Some((x, y))) => difference(x.value(), y.value()),
        (_, Some((x, y))) => ratio(x.value(), y.value()),
        _ => unreachable!("`{}` is no metric of two groups", metric.id),
    };
    let weighed = of_a.weight.is_some();
    let of_people = || of(&of_a.people, &of_b.people);
    let value = match weighed {
        _ if metric.needs_label && !has_label => Err(Undefined::NoLabel),
        false => of_people(),
        true => by_weight(of(of_a.cells(), of_b.cells()), of_people),
    };
    let people = rates(&of_a.people, &of_b.people);
    let (interval, ci_method) = ask.interval(value, || match (metric.reads, people) {
        (Reads::RateDifference(_), Some((x, y))) if !weighed => Basis::Formula(newcombe(x, y, ask.z)),
        (_, Some((x, y))) if !weighed => Basis::Formula(katz(x, y, ask.z)),
        _ => of_a.drawn.percentile_of_two(&of_b.drawn, ask, |x, y| of(&Confusion::from_cells(x), &Confusion::from_cells(y))),
    });
    let impaired = match metric.impaired {
        Impaired::LowerRate(rate) if value.is_ok() => {
            lower(rate(of_a.cells()), rate(of_b.cells()), favourable).map(|first| if first { a } else { b })
        }
        _ => None,
    };
    let (of_a, of_b) = (of_a.people.n(), of_b.people.n());
    Measured {
        scope: Scope::Pair(a, b),
        metric,
        value,
        numerator: None,
        denominator: None,
        weights: None,
        n_rows: of_a + of_b,
        interval,
        ci_method,
        ideal: metric.ideal,
        flags: ask.flags(of_a.min(of_b), people.map(|(x, y)| x.denominator.min(y.denominator))),
        impaired,
        placebo: None,
    }
}

fn favourable_rate(c: &Confusion, favourable: Favourable) -> Rate {
    let favoured = match favourable {
        Favourable::Positive => c.predicted_positive(),
        Favourable::Negative => c.predicted_negative(),
    };
    c.rate(favoured, c.n(), Undefined::EmptyGroup)
}

/// Whether the first of two rates of positive predictions means fewer favourable ones; none where they are equal or undefined.
fn lower(first: Rate, second: Rate, favourable: Favourable) -> Option<bool> {
    if first.denominator == 0 || second.denominator == 0 {
        return None;
    }
    let cross = |x: Rate, y: Rate| u128::from(x.numerator) * u128::from(y.denominator);
    let (a, b) = (cross(first, second), cross(second, first));
    (a != b).then_some((a < b) == (favourable == Favourable::Positive))
}
