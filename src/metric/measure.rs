//! Turns evidence into values: every metric of the asked families in every scope, with interval, flags and impaired group.
//!
//! Scopes: `group`, `total`, `pair` (A before B in reference order), `direction` (people of A predicted as B), `total` of directions, and
//! `difference` (direction A -> B minus direction B -> A). Which interval a value gets stands in [`interval`](super::interval). Where a
//! person counts more than once (a total of more than two groups, several counterfactuals), rates are no independent cases: their
//! interval is the bootstrap of people too.
//!
//! Streams of chance are named by scope, so that a value does not depend on which other values are asked for.

use std::cell::OnceCell;

use super::counts::{Confusion, CounterfactualCounts, Eccm, FactualCounts};
use super::interval::{Boundary, Interval, Method, katz, newcombe, percentile, resample, wilson, z_of};
use super::patterns::Spread;
use super::shift::{DivergenceSums, Shift, ShiftPass, ShiftSums};
use super::{Family, Impaired, Metric, Rate, Reads, Side, Undefined, Value, Worse, catalog, difference, ratio};
use crate::num::seed::Stream;
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

/// Where a value holds; groups by number, reference first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// One group.
    Group(usize),
    /// All groups, or all directions.
    Total,
    /// Two groups A, B compared.
    Pair(usize, usize),
    /// People of the first group, predicted as the second.
    Direction(usize, usize),
    /// Direction A -> B minus direction B -> A.
    Difference(usize, usize),
}

impl Scope {
    /// The word that tables show.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Group(_) => "group",
            Scope::Total => "total",
            Scope::Pair(..) => "pair",
            Scope::Direction(..) => "direction",
            Scope::Difference(..) => "difference",
        }
    }

    /// The first group: the group itself, A, or where people come from.
    pub fn from_group(self) -> Option<usize> {
        match self {
            Scope::Total => None,
            Scope::Group(from) | Scope::Pair(from, _) | Scope::Direction(from, _) | Scope::Difference(from, _) => Some(from),
        }
    }

    /// The second group: B, or where people are moved to.
    pub fn to_group(self) -> Option<usize> {
        match self {
            Scope::Total | Scope::Group(_) => None,
            Scope::Pair(_, to) | Scope::Direction(_, to) | Scope::Difference(_, to) => Some(to),
        }
    }
}

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
}

/// Values of the families performance and group: each group, all together, and every pair.
pub fn measure_factual(counts: &FactualCounts, settings: &Settings) -> Vec<Measured> {
    let ask = Ask::new(settings);
    let groups: Vec<Drawn<4>> =
        (0..counts.groups.len()).map(|group| Drawn::new(of_one(counts.confusion(group)), format!("bootstrap/group/{group}"))).collect();
    let (all, of_all) = (counts.total(), Drawn::new(of_one(counts.total()), "bootstrap/total".to_owned()));
    let mut out = Vec::new();
    for metric in ask.metrics(Family::Performance) {
        for (group, drawn) in groups.iter().enumerate() {
            out.push(performance(&ask, metric, Scope::Group(group), counts.has_label, &counts.confusion(group), drawn));
        }
        out.push(performance(&ask, metric, Scope::Total, counts.has_label, &all, &of_all));
    }
    for metric in ask.metrics(Family::Group) {
        for (a, of_a) in groups.iter().enumerate() {
            for (b, of_b) in groups.iter().enumerate().skip(a + 1) {
                out.push(pair(&ask, metric, (a, b), counts, of_a, of_b));
            }
        }
    }
    out
}

/// Values of the families ccm, eccm and shift: every direction, the difference of each two, and all together. `second` is the finished
/// second pass over the same people; only the Jensen-Shannon distance reads it.
pub fn measure_counterfactual(counts: &CounterfactualCounts, second: &ShiftPass, settings: &Settings) -> Vec<Measured> {
    let ask = Ask::new(settings);
    let (has_label, spreads) = (counts.has_label(), counts.spreads());
    let mut out = Vec::new();
    let metrics: Vec<&'static Metric> =
        [Family::Ccm, Family::Eccm, Family::Shift].into_iter().flat_map(|family| ask.metrics(family)).collect();
    let direction = |from, to| {
        let stream = format!("bootstrap/direction/{from}/{to}");
        Switches::new(spreads.direction(from, to), stream, counts.shift(from, to).clone(), second.direction(from, to))
    };
    for a in 0..counts.groups() {
        for b in a + 1..counts.groups() {
            let (forth, back) = (direction(a, b), direction(b, a));
            for metric in &metrics {
                let one = switch(&ask, metric, Scope::Direction(a, b), has_label, &forth);
                let other = switch(&ask, metric, Scope::Direction(b, a), has_label, &back);
                out.push(gap(&ask, (a, b), (&one, &forth), (&other, &back)));
                out.extend([one, other]);
            }
        }
    }
    let stream = "bootstrap/counterfactual-total".to_owned();
    let total = Switches::new(spreads.total(), stream, counts.shift_total(), second.total());
    out.extend(metrics.iter().map(|metric| switch(&ask, metric, Scope::Total, has_label, &total)));
    out
}

/// Kinds of people and the worlds drawn from them, once they are asked for.
struct Drawn<const N: usize> {
    kinds: Vec<([u64; N], u64)>,
    stream: String,
    worlds: OnceCell<Vec<[u64; N]>>,
}

impl<const N: usize> Drawn<N> {
    fn new(kinds: Vec<([u64; N], u64)>, stream: String) -> Self {
        Drawn { kinds, stream, worlds: OnceCell::new() }
    }

    fn worlds(&self, ask: &Ask<'_>) -> impl Iterator<Item = [u64; N]> {
        let settings = ask.settings;
        let draw = || resample(&self.kinds, settings.samples.get(), Stream::new(settings.seed.0, &self.stream));
        self.worlds.get_or_init(draw).iter().copied()
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

/// The evidence of one direction or of the total of directions.
struct Switches<'a> {
    drawn: Drawn<8>,
    people: u64,
    repeats: bool,
    eccm: Eccm,
    sums: ShiftSums,
    divergence: &'a DivergenceSums,
}

impl<'a> Switches<'a> {
    fn new(spread: &Spread, stream: String, sums: ShiftSums, divergence: &'a DivergenceSums) -> Self {
        let drawn = Drawn::new(spread.0.clone(), stream);
        Switches { people: spread.people(), repeats: spread.repeats(), eccm: spread.eccm(), drawn, sums, divergence }
    }
}

/// What a value gets as interval.
enum Basis {
    /// This one, or none because a numerator is 0.
    Formula(Option<Interval>),
    /// The percentiles of these replicates.
    Replicates(Result<(Interval, usize), Boundary>),
    /// It does not rest on counts.
    NotCounts,
}

/// The settings, and what follows from them.
struct Ask<'a> {
    settings: &'a Settings,
    z: f64,
}

impl<'a> Ask<'a> {
    fn new(settings: &'a Settings) -> Self {
        Ask { settings, z: settings.level.map_or(0.0, |level| z_of(level.get())) }
    }

    fn metrics(&self, family: Family) -> impl Iterator<Item = &'static Metric> + use<> {
        let asked = self.settings.families.contains(&family);
        catalog().filter(move |metric| asked && metric.family == family)
    }

    fn percentile(&self, replicates: impl Iterator<Item = Value>) -> Basis {
        Basis::Replicates(percentile(replicates, self.settings.level.unwrap_or(Level::DEFAULT).get()))
    }

    /// The interval of a value and its words; `basis` is only asked where an interval is wanted and the value is defined.
    fn interval(&self, value: Value, basis: impl FnOnce() -> Basis) -> (Option<Interval>, String) {
        if self.settings.level.is_none() {
            return (None, "none: not asked for".to_owned());
        }
        if value.is_err() {
            return (None, "none: the value is undefined".to_owned());
        }
        let samples = self.settings.samples.get();
        match basis() {
            Basis::NotCounts => (None, "none: score metrics have no interval from counts".to_owned()),
            Basis::Formula(None) => (None, "boundary: a count above the ratio or below it is 0".to_owned()),
            Basis::Formula(Some(interval)) => (Some(interval), words(interval).to_owned()),
            Basis::Replicates(Ok((interval, 0))) => (Some(interval), format!("{}, {samples} replicates", words(interval))),
            Basis::Replicates(Ok((interval, undefined))) => {
                (Some(interval), format!("{}, {samples} replicates, {undefined} of them undefined", words(interval)))
            }
            Basis::Replicates(Err(Boundary::AllAgree)) => (None, format!("boundary: all {samples} bootstrap replicates agree")),
            Basis::Replicates(Err(Boundary::TooManyUndefined)) => {
                (None, format!("boundary: more than 5 % of {samples} bootstrap replicates are undefined"))
            }
        }
    }

    fn flags(&self, smallest_group: u64, smallest_denominator: Option<u64>) -> Vec<&'static str> {
        let mut flags = Vec::new();
        if smallest_group < self.settings.min_group_size.get() {
            flags.push(SMALL_GROUP);
        }
        if smallest_denominator.is_some_and(|cases| cases < self.settings.min_denominator.get()) {
            flags.push(SMALL_DENOMINATOR);
        }
        flags
    }
}

fn words(interval: Interval) -> &'static str {
    match interval.method {
        Method::Wilson => "Wilson score",
        Method::Newcombe => "Newcombe hybrid score, method 10",
        Method::Katz => "Katz log",
        Method::Bootstrap => "percentile bootstrap of people",
    }
}

/// One metric of one group or of all.
fn performance(ask: &Ask<'_>, metric: &'static Metric, scope: Scope, has_label: bool, c: &Confusion, drawn: &Drawn<4>) -> Measured {
    let asked = |value: Value| if metric.needs_label && !has_label { Err(Undefined::NoLabel) } else { value };
    let (value, rate) = match metric.reads {
        Reads::Rate(rate) => (asked(rate(c).value()), Some(rate(c)).filter(|_| has_label || !metric.needs_label)),
        Reads::Score(score) => (asked(score(c)), None),
        _ => unreachable!("`{}` is no metric of one group", metric.id),
    };
    let (interval, ci_method) = ask.interval(value, || match (metric.reads, rate) {
        (Reads::Score(score), _) => ask.percentile(drawn.worlds(ask).map(|cells| score(&Confusion::from_cells(cells)))),
        (_, rate) => Basis::Formula(rate.and_then(|rate| wilson(rate, ask.z))),
    });
    Measured {
        scope,
        metric,
        value,
        numerator: rate.map(|rate| rate.numerator),
        denominator: rate.map(|rate| rate.denominator),
        n_rows: c.n(),
        interval,
        ci_method,
        ideal: metric.ideal,
        flags: ask.flags(c.n(), rate.map(|rate| rate.denominator)),
        impaired: None,
    }
}

/// One metric of two groups.
fn pair(
    ask: &Ask<'_>,
    metric: &'static Metric,
    (a, b): (usize, usize),
    counts: &FactualCounts,
    of_a: &Drawn<4>,
    of_b: &Drawn<4>,
) -> Measured {
    let (ca, cb) = (counts.confusion(a), counts.confusion(b));
    let favourable = ask.settings.favourable;
    // The rates behind the value, the one on top or in front first.
    let rates = match metric.reads {
        Reads::RateDifference(rate) | Reads::RateRatio(rate) => Some((rate(&ca), rate(&cb))),
        Reads::FavourableRatio => Some((favourable_rate(&cb, favourable), favourable_rate(&ca, favourable))),
        _ => None,
    };
    let value = match (metric.reads, rates) {
        _ if metric.needs_label && !counts.has_label => Err(Undefined::NoLabel),
        (Reads::Pair(of), _) => of(&ca, &cb),
        (Reads::RateDifference(_), Some((x, y))) => difference(x.value(), y.value()),
        (_, Some((x, y))) => ratio(x.value(), y.value()),
        _ => unreachable!("`{}` is no metric of two groups", metric.id),
    };
    let (interval, ci_method) = ask.interval(value, || match (metric.reads, rates) {
        (Reads::Pair(of), _) => {
            let worlds = of_a.worlds(ask).zip(of_b.worlds(ask));
            ask.percentile(worlds.map(|(x, y)| of(&Confusion::from_cells(x), &Confusion::from_cells(y))))
        }
        (Reads::RateDifference(_), Some((x, y))) => Basis::Formula(newcombe(x, y, ask.z)),
        (_, rates) => Basis::Formula(rates.and_then(|(x, y)| katz(x, y, ask.z))),
    });
    let impaired = match metric.impaired {
        Impaired::LowerRate(rate) if value.is_ok() => lower(rate(&ca), rate(&cb), favourable).map(|first| if first { a } else { b }),
        _ => None,
    };
    Measured {
        scope: Scope::Pair(a, b),
        metric,
        value,
        numerator: None,
        denominator: None,
        n_rows: ca.n() + cb.n(),
        interval,
        ci_method,
        ideal: metric.ideal,
        flags: ask.flags(ca.n().min(cb.n()), rates.map(|(x, y)| x.denominator.min(y.denominator))),
        impaired,
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

/// One metric of one direction or of the total of directions.
fn switch(ask: &Ask<'_>, metric: &'static Metric, scope: Scope, has_label: bool, of: &Switches<'_>) -> Measured {
    let asked = !metric.needs_label || has_label;
    let rate = match metric.reads {
        Reads::SwitchRate(rate) if asked => Some(rate(&of.eccm)),
        _ => None,
    };
    let value = match (metric.reads, rate) {
        _ if !asked => Err(Undefined::NoLabel),
        (_, Some(rate)) => rate.value(),
        (Reads::SwitchScore(score), _) => score(&of.eccm),
        (Reads::Shift(shift), _) => shift(&Shift { sums: &of.sums, divergence: of.divergence }),
        _ => unreachable!("`{}` is no metric of a direction", metric.id),
    };
    let (interval, ci_method) = ask.interval(value, || match (of_cells(metric), rate) {
        (None, _) => Basis::NotCounts,
        (_, Some(rate)) if !of.repeats => Basis::Formula(wilson(rate, ask.z)),
        (Some(replicate), _) => ask.percentile(of.drawn.worlds(ask).map(replicate)),
    });
    let impaired = match (metric.impaired, scope, value, metric.ideal) {
        (Impaired::Switch { .. }, Scope::Direction(from, to), Ok(value), Some(ideal)) if value != ideal => {
            side(metric, from, to, ask.settings.favourable)
        }
        _ => None,
    };
    Measured {
        scope,
        metric,
        value,
        numerator: rate.map(|rate| rate.numerator),
        denominator: rate.map(|rate| rate.denominator),
        n_rows: of.people,
        interval,
        ci_method,
        ideal: metric.ideal,
        flags: ask.flags(of.people, rate.map(|rate| rate.denominator)),
        impaired,
    }
}

/// The difference of two directions, from their values.
fn gap(ask: &Ask<'_>, (a, b): (usize, usize), one: (&Measured, &Switches<'_>), other: (&Measured, &Switches<'_>)) -> Measured {
    let ((forth, of_forth), (back, of_back)) = (one, other);
    let metric = forth.metric;
    let value = match (forth.value, back.value) {
        (Err(Undefined::NoLabel), _) => Err(Undefined::NoLabel),
        (x, y) => difference(x, y),
    };
    let (interval, ci_method) = ask.interval(value, || match (metric.reads, of_cells(metric)) {
        (_, None) => Basis::NotCounts,
        (Reads::SwitchRate(rate), _) if !of_forth.repeats && !of_back.repeats => {
            Basis::Formula(newcombe(rate(&of_forth.eccm), rate(&of_back.eccm), ask.z))
        }
        (_, Some(replicate)) => {
            let worlds = of_forth.drawn.worlds(ask).zip(of_back.drawn.worlds(ask));
            ask.percentile(worlds.map(|(x, y)| difference(replicate(x), replicate(y))))
        }
    });
    // The direction with the worse value says who is impaired.
    let impaired = match (metric.impaired, value) {
        (Impaired::Switch { worse, .. }, Ok(value)) if value != 0.0 => {
            let forth_is_worse = (value > 0.0) == (worse == Worse::High);
            let (from, to) = if forth_is_worse { (a, b) } else { (b, a) };
            side(metric, from, to, ask.settings.favourable)
        }
        _ => None,
    };
    let denominator = forth.denominator.zip(back.denominator).map(|(x, y)| x.min(y));
    Measured {
        scope: Scope::Difference(a, b),
        metric,
        value,
        numerator: None,
        denominator: None,
        n_rows: forth.n_rows + back.n_rows,
        interval,
        ci_method,
        ideal: Some(0.0),
        flags: ask.flags(forth.n_rows.min(back.n_rows), denominator),
        impaired,
    }
}

/// The metric as a function of the eight cells; none for score metrics.
fn of_cells(metric: &'static Metric) -> Option<impl Fn([u64; 8]) -> Value> {
    let reads = metric.reads;
    matches!(reads, Reads::SwitchRate(_) | Reads::SwitchScore(_)).then_some(move |cells| match reads {
        Reads::SwitchRate(rate) => rate(&Eccm(cells)).value(),
        Reads::SwitchScore(score) => score(&Eccm(cells)),
        _ => Err(Undefined::OperandUndefined),
    })
}

fn side(metric: &Metric, from: usize, to: usize, favourable: Favourable) -> Option<usize> {
    let Impaired::Switch { if_positive, if_negative, .. } = metric.impaired else { return None };
    let side = match favourable {
        Favourable::Positive => if_positive,
        Favourable::Negative => if_negative,
    };
    Some(match side {
        Side::Original => from,
        Side::New => to,
    })
}
