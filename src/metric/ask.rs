//! Which interval a value gets, in numbers and in words, and which flags.

use std::sync::OnceLock;

use super::interval::{Boundary, Interval, Method, percentile, resample, z_of};
use super::measure::{SMALL_DENOMINATOR, SMALL_GROUP, Settings};
use super::placebo::Band;
use super::redraw::Found;
use super::weights::{BLOCKS, Times, redraw};
use super::{Family, Metric, Value, catalog};
use crate::num::seed::Stream;
use crate::param::Level;

/// People and the worlds drawn from them, once they are asked for.
pub(super) struct Drawn<const N: usize> {
    people: Drawing<N>,
    worlds: OnceLock<Vec<[u64; N]>>,
}

/// What is drawn.
enum Drawing<const N: usize> {
    /// Kinds of people by the cells that one of them fills and their number; the name of the stream.
    Kinds(Vec<([u64; N], u64)>, String),
    /// Blocks of people by what they weigh in each cell.
    Blocks(Vec<(u64, [u64; N])>),
}

impl<const N: usize> Drawn<N> {
    /// Draws blocks of people where they have weights, else kinds of them.
    pub(super) fn new(blocks: Option<Vec<(u64, [u64; N])>>, kinds: impl FnOnce() -> Vec<([u64; N], u64)>, stream: String) -> Self {
        let people = blocks.map_or_else(|| Drawing::Kinds(kinds(), stream), Drawing::Blocks);
        Drawn { people, worlds: OnceLock::new() }
    }

    /// Whether the worlds are sums of weight.
    pub(super) fn is_weighed(&self) -> bool {
        matches!(self.people, Drawing::Blocks(_))
    }

    /// The percentiles of a value over the worlds.
    pub(super) fn percentile(&self, ask: &Ask<'_>, value: impl Fn([u64; N]) -> Value) -> Basis {
        ask.percentile(self.worlds(ask).iter().copied().map(value), self.method())
    }

    /// The same of the worlds of two, drawn together.
    pub(super) fn percentile_of_two(&self, other: &Self, ask: &Ask<'_>, value: impl Fn([u64; N], [u64; N]) -> Value) -> Basis {
        ask.percentile(self.worlds(ask).iter().zip(other.worlds(ask)).map(|(a, b)| value(*a, *b)), self.method())
    }

    /// How they are drawn.
    pub(super) fn method(&self) -> Method {
        match self.people {
            Drawing::Kinds(..) => Method::Bootstrap,
            Drawing::Blocks(_) => Method::Blocks { of: BLOCKS, centred: false },
        }
    }

    /// The worlds, drawn where nobody has asked before.
    pub(super) fn worlds(&self, ask: &Ask<'_>) -> &[[u64; N]] {
        let (seed, samples) = (ask.settings.seed, ask.settings.samples.get());
        let draw = || match &self.people {
            Drawing::Kinds(kinds, stream) => resample(kinds, samples, Stream::new(seed.0, stream)),
            Drawing::Blocks(blocks) => redraw(blocks, ask.times()),
        };
        self.worlds.get_or_init(draw)
    }
}

/// What a value gets as interval.
pub(super) enum Basis {
    /// This one, or none because a numerator is 0.
    Formula(Option<Interval>),
    /// The percentiles of so many replicates.
    Replicates(Found, u64),
    /// None: the evidence came without.
    NotDrawn,
    /// None: of the scores in every graph the evidence keeps sums of everybody, not of people.
    SumsOfGraphs,
}

/// The settings, and what follows from them.
pub(super) struct Ask<'a> {
    pub(super) settings: &'a Settings,
    pub(super) z: f64,
    times: OnceLock<Times>,
}

impl<'a> Ask<'a> {
    pub(super) fn new(settings: &'a Settings) -> Self {
        Ask { settings, z: settings.level.map_or(0.0, |level| z_of(level.get())), times: OnceLock::new() }
    }

    /// How often blocks of people with weights count in each replicate, drawn where nobody has asked before.
    pub(super) fn times(&self) -> &Times {
        self.times.get_or_init(|| Times::new(self.settings.samples.get(), self.settings.seed))
    }

    pub(super) fn metrics(&self, family: Family) -> impl Iterator<Item = &'static Metric> + use<> {
        let asked = self.settings.families.contains(&family);
        catalog().filter(move |metric| asked && metric.family == family)
    }

    /// The percentiles of replicates.
    pub(super) fn percentile(&self, replicates: impl Iterator<Item = Value>, method: Method) -> Basis {
        let level = self.settings.level.unwrap_or(Level::DEFAULT).get();
        Basis::Replicates(percentile(replicates, level, method), self.settings.samples.get())
    }

    /// The interval of a value and its words; `basis` is only asked where an interval is wanted and the value is defined.
    pub(super) fn interval(&self, value: Value, basis: impl FnOnce() -> Basis) -> (Option<Interval>, String) {
        if self.settings.level.is_none() {
            return (None, "none: not asked for".to_owned());
        }
        if value.is_err() {
            return (None, "none: the value is undefined".to_owned());
        }
        let (interval, words) = self.basis_in_words(basis());
        match (interval, value) {
            // Replicates may have a bias of their own.
            (Some(Interval { lo, hi, .. }), Ok(value)) if value < lo || value > hi => {
                (None, "boundary: the value lies outside the percentiles of its replicates".to_owned())
            }
            (interval, _) => (interval, words),
        }
    }

    fn basis_in_words(&self, basis: Basis) -> (Option<Interval>, String) {
        match basis {
            Basis::NotDrawn => (None, "none: no replicate was drawn".to_owned()),
            Basis::SumsOfGraphs => {
                (None, "none: scores in every graph are kept as sums of everybody, from which no people can be drawn".to_owned())
            }
            Basis::Formula(None) => (None, "boundary: a count above the ratio or below it is 0".to_owned()),
            Basis::Formula(Some(interval)) => (Some(interval), words(interval)),
            Basis::Replicates(Ok((interval, 0)), n) => (Some(interval), format!("{}, {n} replicates", words(interval))),
            Basis::Replicates(Ok((interval, undefined)), n) => {
                (Some(interval), format!("{}, {n} replicates, {undefined} of them undefined", words(interval)))
            }
            Basis::Replicates(Err(Boundary::AllAgree), n) => (None, format!("boundary: all {n} bootstrap replicates agree")),
            Basis::Replicates(Err(Boundary::TooManyUndefined), n) => {
                (None, format!("boundary: more than 5 % of {n} bootstrap replicates are undefined"))
            }
        }
    }

    /// The percentiles of replicates at a level of their own.
    pub(super) fn percentile_at(&self, level: f64, replicates: impl Iterator<Item = Value>, method: Method) -> Option<Interval> {
        percentile(replicates, level, method).ok().map(|(interval, _)| interval)
    }

    pub(super) fn flags(&self, smallest_group: u64, smallest_denominator: Option<u64>) -> Vec<&'static str> {
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

/// Whether an interval leaves out the ideal and lies beyond what noise alone gives, so that the value says whom it puts at a disadvantage.
pub(super) fn is_clear(ideal: Option<f64>, ends: Option<(f64, f64)>, noise: Option<Band>) -> bool {
    let (Some(ideal), Some((lo, hi))) = (ideal, ends) else { return false };
    let band = noise.and_then(|noise| noise.ends).unwrap_or((ideal, ideal));
    lo > ideal.max(band.1) || hi < ideal.min(band.0)
}

fn words(interval: Interval) -> String {
    let centred = |centred| if centred { ", centred on the value and cut at the ends of the metric's range" } else { "" };
    match interval.method {
        Method::Wilson => "Wilson score".to_owned(),
        Method::WilsonPeople { weighed: false } => "Wilson score on people, because no case counts or all do".to_owned(),
        Method::WilsonPeople { weighed: true } => {
            "Wilson score on the effective number of people (Kish), because no case counts or all do".to_owned()
        }
        Method::WilsonMoved => "from the Wilson score of the share of people whose score moves, because none does".to_owned(),
        Method::Newcombe => "Newcombe hybrid score, method 10".to_owned(),
        Method::Katz => "Katz log".to_owned(),
        Method::Bootstrap => "percentile bootstrap of people".to_owned(),
        Method::Poisson { centred: c } => format!("percentile bootstrap of people with Poisson weights{}", centred(c)),
        Method::Blocks { of, centred: c } => format!("percentile bootstrap of {of} blocks of people with Poisson weights{}", centred(c)),
    }
}
