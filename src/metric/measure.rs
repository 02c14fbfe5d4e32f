//! Turns evidence into values: every metric of the asked families in every scope, with interval, flags and impaired group.
//!
//! Here: groups as they are, in the scopes `group`, `total`, `pair` (A before B in reference order; for [`clarify`](super::clarify) the
//! favoured facet first), `worst_case` and, with more than two groups, `one_vs_rest`. The families with counterfactuals are in
//! [`switches`](super::switches). Which interval a value gets stands in [`interval`](super::interval).
//!
//! Where people have weights, values are made of what they weigh; flags and cases are about people all the same.
//!
//! Streams of chance are named by scope, so that a value does not depend on which other values are asked for, nor on the thread that makes
//! it: work is shared among the threads of the pool that the caller stands in, and values keep their order.

use rayon::prelude::*;

use super::ask::{Ask, Basis, Drawn};
use super::clarify::Favoured;
use super::counts::{CONFUSION_CELLS, Cells, Confusion, FactualCounts};
use super::flips::Flips;
use super::interval::{Interval, Method, wilson, wilson_of_people};
use super::placebo::Band;
use super::scope::{Scope, Who};
use super::weights::{WeightSums, by_weight};
pub use super::worst::Furthest;
use super::{Family, Metric, Rate, Reads, Value};
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
    /// Which prediction people want; it decides impaired groups, `di`, `denied_by_group`, `favoured_by_group` and the family clarify, no
    /// other value.
    pub favourable: Favourable,
    /// Whether the job says so; without, nobody is called impaired, and values that go by the wanted prediction are undefined, but for `di`.
    pub says_favourable: bool,
    /// Which groups of the attribute are favoured; only the family clarify asks.
    pub favoured: Favoured,
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
    /// The group at a disadvantage, where the sources say and the numbers are clear: the interval leaves out the ideal; of switches also,
    /// at least as many people switch as a denominator is to have, and the interval lies beyond the band of the placebo.
    pub impaired: Option<usize>,
    /// People whose prediction switches, of a rate those it counts, of a difference those of the worse direction; none of what is about no
    /// switch.
    pub switched: Option<u64>,
    /// What noise alone gives; none where no placebo was asked for.
    pub placebo: Option<Band>,
    /// Who holds a value of the scope `worst_case`; none in every other scope.
    pub furthest: Option<Furthest>,
}

/// Values of the families performance, group and clarify: each group, all together, every comparison. `flips` is what the flip test
/// found; without it its metrics are not measured.
pub fn measure_factual(counts: &FactualCounts, flips: Option<&Flips>, settings: &Settings) -> Vec<Measured> {
    let audit = Audit { ask: Ask::new(settings) };
    let n_groups = counts.groups.len();
    let groups: Vec<Subject> = (0..n_groups).map(|group| Subject::new(counts, Who::One(group))).collect();
    // Of two groups the rest is the other.
    let rests: Vec<Subject> = (0..n_groups).map(|group| Subject::new(counts, Who::Rest(group))).collect();
    let all = Subject::new(counts, Who::All);
    // Metrics are independent of each other; what they draw is drawn once, by the first that asks.
    let performance = |metric: &'static Metric| {
        let mut out = Vec::new();
        for (group, subject) in groups.iter().enumerate() {
            out.push(audit.performance(metric, Scope::Group(group), subject));
        }
        out.push(audit.performance(metric, Scope::Total, &all));
        out
    };
    let gaps = |metric: &'static Metric| {
        let mut out = Vec::new();
        if n_groups > 1 {
            out.push(audit.worst(metric, &groups));
        }
        if matches!(metric.reads, Reads::RateToTotal(_) | Reads::ScoreToTotal(_)) {
            return out;
        }
        for (a, of_a) in groups.iter().enumerate() {
            for (b, of_b) in groups.iter().enumerate().skip(a + 1) {
                out.push(audit.gap(metric, Scope::Pair(a, b), of_a, of_b));
            }
            if n_groups > 2 {
                out.push(audit.gap(metric, Scope::OneVsRest(a), of_a, &rests[a]));
            }
        }
        out
    };
    let of_family = |family: Family, of: &(dyn Fn(&'static Metric) -> Vec<Measured> + Sync)| {
        let metrics: Vec<&'static Metric> = audit.ask.metrics(family).collect();
        metrics.into_par_iter().map(of).collect::<Vec<_>>().into_iter().flatten().collect::<Vec<Measured>>()
    };
    let mut out = of_family(Family::Performance, &performance);
    out.extend(of_family(Family::Group, &gaps));
    if settings.families.contains(&Family::Clarify) {
        out.extend(audit.clarify(counts, flips, (&groups, &rests, &all)));
    }
    out
}

/// What all values have in common.
pub(super) struct Audit<'a> {
    pub(super) ask: Ask<'a>,
}

/// One group, all others, or all.
pub(super) struct Subject {
    /// Its people.
    pub(super) people: Confusion,
    /// What they weigh; none where nobody has a weight.
    pub(super) weight: Option<Confusion>,
    /// The same by the cell that each fills, with the squares.
    weight_sums: Option<Vec<(Cells, WeightSums)>>,
    pub(super) drawn: Drawn<CONFUSION_CELLS>,
}

impl Subject {
    fn new(counts: &FactualCounts, who: Who) -> Self {
        let people = counts.confusion(who);
        let drawn = Drawn::new(counts.blocks(who), || of_one(people), stream(who));
        Subject { people, weight: counts.weight_confusion(who), weight_sums: counts.weight_sums(who), drawn }
    }

    /// The interval of a rate of weight of which no case counts, or all do; none without weights and for every other rate.
    fn at_an_end(&self, of: impl Fn(&Confusion) -> Option<Rate>, z: f64) -> Option<Interval> {
        let rate = of(&self.weight?).filter(|rate| rate.is_at_an_end())?;
        let mut below = WeightSums::default();
        let counts = |cells: &Cells| of(&Confusion::from_cells(*cells)).is_some_and(|rate| rate.denominator > 0);
        self.weight_sums.iter().flatten().filter(|(cells, _)| counts(cells)).for_each(|(_, sums)| below += *sums);
        wilson_of_people(rate.numerator > 0, below.effective(), z, Method::WilsonPeople { weighed: true })
    }

    /// What values are made of.
    pub(super) fn cells(&self) -> &Confusion {
        self.weight.as_ref().unwrap_or(&self.people)
    }
}

/// The name of the chance of some people.
pub(super) fn stream(who: Who) -> String {
    match who {
        Who::One(group) => format!("bootstrap/group/{group}"),
        Who::Rest(group) => format!("bootstrap/rest/{group}"),
        Who::All => "bootstrap/total".to_owned(),
    }
}

/// A confusion as kinds of people: each fills one cell.
fn of_one(confusion: Confusion) -> Vec<(Cells, u64)> {
    let kinds = confusion.to_cells().into_iter().enumerate().map(|(i, people)| {
        let mut cells = [0; CONFUSION_CELLS];
        cells[i] = 1;
        (cells, people)
    });
    kinds.filter(|(_, people)| *people > 0).collect()
}

impl Audit<'_> {
    /// One metric of one group or of all.
    pub(super) fn performance(&self, metric: &'static Metric, scope: Scope, subject: &Subject) -> Measured {
        let (_, seen) = self.sight(metric);
        let of = |c: &Confusion| match metric.reads {
            Reads::Rate(rate) => rate(&seen(c)).value(),
            Reads::Score(score) | Reads::Benefit(score) => score(&seen(c)),
            _ => unreachable!("`{}` is no metric of one group", metric.id),
        };
        let value = match subject.weight {
            None => of(&subject.people),
            Some(weight) => by_weight(of(&weight), || of(&subject.people)),
        };
        let rate = |c: &Confusion| match metric.reads {
            Reads::Rate(rate) => Some(rate(&seen(c))),
            _ => None,
        };
        let (people, n_rows) = (rate(&subject.people), subject.people.people(metric.needs_label));
        let (interval, ci_method) = self.ask.interval(value, || match metric.reads {
            Reads::Rate(_) if subject.weight.is_none() => Basis::Formula(people.and_then(|rate| wilson(rate, self.ask.z))),
            _ => match subject.at_an_end(rate, self.ask.z) {
                Some(interval) => Basis::Formula(Some(interval)),
                None => subject.drawn.percentile(&self.ask, |cells| of(&Confusion::from_cells(cells))),
            },
        });
        Measured {
            scope,
            metric,
            value,
            numerator: people.map(|rate| rate.numerator),
            denominator: people.map(|rate| rate.denominator),
            weights: subject.weight.as_ref().and_then(rate).map(|rate| (rate.numerator, rate.denominator)),
            n_rows,
            interval,
            ci_method,
            ideal: metric.ideal,
            flags: self.ask.flags(n_rows, people.map(|rate| rate.denominator)),
            impaired: None,
            switched: None,
            placebo: None,
            furthest: None,
        }
    }
}
