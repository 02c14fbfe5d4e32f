//! One value per causal graph, and the mean over graphs: how much graphs disagree, and how much the
//! value would vary with other people.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.3. Graphs of one
//! bootstrap that give the same counterfactuals are one *world* here, which counts as often as it
//! has graphs. A metric of a counterfactual family has a value in every world. The reported value
//! is the mean over the graphs in which it is defined; `spread` holds the variance (divisor M - 1)
//! and percentiles of these values, which do not include sampling error. They contain two kinds of
//! uncertainty, because every bootstrap has a different graph and different coefficients;
//! `spread_parts` separates them with the help of the same graphs fitted on all training rows.
//!
//! A bootstrap with a large class of graphs has more weight than one with a small class; that is
//! the published definition. The mean with equal weights of all bootstraps is reported next to it.
//!
//! The interval is one of people: graphs are not drawn, each adds one more row to every person. A
//! rate whose denominator is the same in all graphs is a share of these rows, with Wilson's
//! interval on the effective number ([`cases`]); a difference of two directions has the hybrid of
//! both. A single world is an ordinary set and has the intervals of one. With several worlds,
//! metrics whose denominators differ between graphs, and ratios of two directions, have no
//! interval; nor have metrics of scores, since worlds are kept as sums over all people. But if no
//! score changes in any graph, the distances have the interval of the share of people whose score
//! changes.
//!
//! If a person may have several rows, persons are the units, and the tables hold their number. The
//! number of persons in a denominator that depends on the graph is unknown, because memory would
//! grow with persons times graphs: the tables hold a lower bound, so that too few persons are never
//! taken for enough.
//!
//! Memory: the counts of an ordinary set for each world, regardless of the number of people.

mod cases;

use std::collections::BTreeMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use self::cases::{GraphCases, ScopeCases, TargetSwitches};
use super::switches::{impaired, measure_counterfactual, undefined_without_rows};
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, cell_index};
use crate::metric::evidence::shift_pass::{ShiftEvidence, ShiftPass};
use crate::metric::interval::ValueInterval;
use crate::metric::missing_interval::{IntervalOrReason, MissingInterval};
use crate::metric::noise::repeats::SetRepeat;
use crate::metric::rate::MetricValue;
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::interval_choice::{MeasureContext, is_clear};
use crate::metric::value::measured_value::{MeasuredValue, ValuePeople};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, Reads};
use crate::num::additive::Additive;
use crate::num::summary::{SampleSpread, SpreadEstimate, WeightedValue};
use crate::param::Level;

/// Flag: a class of graphs was too large to list and was sampled.
pub(crate) const SAMPLED: &str = "sampled";

/// Flag: the attribute follows from another variable in [`FOLLOWS_FROM`] of the graphs or more.
/// That is false for race, sex or age, so no group is called worse off.
pub(crate) const ATTRIBUTE_FOLLOWS: &str = "attribute_follows";

/// A cause of the attribute is reported from this share of graphs on.
pub(crate) const FOLLOWS_FROM: f64 = 0.05;

/// With fewer bootstraps the ends of a 95 % interval are the extremes: 2.5 % of 40 is one.
pub(crate) const ENOUGH_BOOTSTRAPS: usize = 40;

/// With fewer bootstraps no coefficients are refitted, because one fit has no spread.
pub(crate) const LEAST_BOOTSTRAPS: u64 = 2;

/// Whether a mean over graphs lies outside of the percentiles of the same values, by more than
/// rounding.
pub(crate) fn is_outside(mean: f64, (lo, hi): (f64, f64)) -> bool {
    let rounding = 1e-12 * mean.abs().max(lo.abs()).max(hi.abs());
    mean < lo - rounding || mean > hi + rounding
}

/// The largest number of buffered pairs of a world: there are thousands of worlds.
const WAITING: usize = 1 << 10;

/// The properties of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GraphWorld {
    /// The bootstrap of the world.
    pub bootstrap: usize,
    /// The number of its graphs.
    pub copies: u64,
    /// Position of its graph among those fitted on all training rows.
    pub all_rows: usize,
}

/// All people in every world: the evidence of one model and one graph-uncertain set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorldCounts {
    /// The worlds.
    pub worlds: Vec<GraphWorld>,
    groups: usize,
    /// Whether a class of graphs was sampled.
    pub sampled: bool,
    /// The switches of each row over the worlds. None for a single world, whose counts hold them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cases: Option<GraphCases>,
    /// The counts of the worlds, then those of their graphs fitted on all training rows.
    of_world: Vec<SetRepeat>,
    /// The same people by only their supported counterfactuals, without scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supported: Option<Box<WorldCounts>>,
}

/// One metric across worlds.
#[derive(Debug, Clone)]
pub(crate) struct AcrossWorldsValue {
    /// The mean over graphs, with the interval over people.
    pub measured: MeasuredValue,
    /// Variance and percentiles over graphs; none for a single graph.
    pub spread: Option<SpreadEstimate>,
    /// Level of all percentiles.
    pub level: Level,
    /// The parts of the spread between graphs and between refits of a graph; none if `spread` is
    /// none, or if a graph fitted on all training rows has no value.
    pub spread_parts: Option<SpreadParts>,
    /// The mean with equal weights of all bootstraps.
    pub bootstrap_mean: Option<f64>,
    /// The number of graphs in which the metric has a value.
    pub n_worlds: u64,
    /// The number of graphs in which it has none.
    pub n_undefined: u64,
    /// The value of each world, with numerator and denominator of a rate.
    pub by_world: Vec<(MetricValue, Option<u64>, Option<u64>)>,
}

/// The two parts of the spread of a metric over graphs and refits. With v the value in a world and
/// u that of its graph fitted on all training rows, v = u + (v - u): variances of both and twice
/// their covariance add up to the variance of v.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SpreadParts {
    /// The spread of u: the effect of other graphs, without that of coefficients.
    pub between: SpreadEstimate,
    /// The spread of mean(u) + v - u: the effect of other coefficients, without that of graphs.
    /// Ends of a rate may lie outside [0, 1]. None if all values come from one bootstrap.
    pub within: Option<SpreadEstimate>,
    /// Twice the covariance of u and v - u, divisor M - 1; none if `within` is none.
    pub mixed: Option<f64>,
}

impl SpreadParts {
    /// The spread of (world, v, u) for each world with a value; none if a u is missing, or there
    /// are fewer than two graphs.
    fn new(sample: &[(GraphWorld, f64, Option<f64>)], level: f64) -> Option<SpreadParts> {
        // Differences from the first u are summed, so that equal values have a spread of exactly 0.
        let (first, _, start) = sample.first()?;
        let start = (*start)?;
        let is_refitted = sample.iter().any(|(world, ..)| world.bootstrap != first.bootstrap);
        let differences: Vec<(f64, f64, u64)> = sample
            .iter()
            .map(|&(world, v, u)| Some((u? - start, v - u?, world.copies)))
            .collect::<Option<_>>()?;
        let spread = |part: &dyn Fn(&(f64, f64, u64)) -> f64| {
            let weighed =
                |x: &(f64, f64, u64)| WeightedValue { value: part(x), copies: x.2, weight: 1.0 };
            SampleSpread::new(&differences.iter().map(weighed).collect::<Vec<_>>(), level)
        };
        let (graphs, refits) = (spread(&|x| x.0)?, spread(&|x| x.1)?);
        let up = |around: SpreadEstimate, by: f64| SpreadEstimate {
            lo: around.lo + by,
            hi: around.hi + by,
            ..around
        };
        let products = differences
            .iter()
            .map(|x| x.2 as f64 * (x.0 - graphs.mean) * (x.1 - refits.mean))
            .sum::<f64>();
        let graphs_of_all: u64 = differences.iter().map(|x| x.2).sum();
        Some(SpreadParts {
            between: up(graphs.spread?, start),
            within: refits.spread.filter(|_| is_refitted).map(|ends| up(ends, start + graphs.mean)),
            mixed: is_refitted.then(|| 2.0 * products / graphs_of_all.saturating_sub(1) as f64),
        })
    }
}

impl WorldCounts {
    /// Empty counts for the worlds of an attribute with a number of groups. `absent` holds for each
    /// world, then for each graph fitted on all training rows, the groups without a row.
    pub(crate) fn new(
        worlds: Vec<GraphWorld>,
        groups: usize,
        absent: Vec<Vec<usize>>,
        sampled: bool,
    ) -> Self {
        let on_all_rows = worlds.iter().map(|world| world.all_rows + 1).max().unwrap_or(0);
        let empty = |w: usize| SetRepeat {
            counts: CounterfactualCounts::new(groups),
            second: None,
            without_rows: absent.get(w).cloned().unwrap_or_default(),
        };
        let of_world = (0..worlds.len() + on_all_rows).map(empty).collect();
        let (cases, supported) = (None, None);
        let mut counts = WorldCounts { worlds, groups, sampled, cases, of_world, supported };
        counts.cases = (counts.worlds.len() > 1).then(|| {
            let graphs = |scope| {
                let has_rows = |world: &SetRepeat| {
                    !world.without_rows.iter().any(|group| MetricScope::involves(scope, *group))
                };
                let worlds = counts.worlds.iter().zip(&counts.of_world);
                worlds.filter(|(_, counts)| has_rows(counts)).map(|(world, _)| world.copies).sum()
            };
            GraphCases::new(groups, graphs)
        });
        counts
    }

    /// The sums over the supported counterfactuals, while all are supported, without scores.
    fn without_scores(&self) -> WorldCounts {
        let of_world = self.of_world.iter().map(|world| SetRepeat {
            counts: world.counts.without_scores(),
            second: None,
            without_rows: world.without_rows.clone(),
        });
        WorldCounts {
            worlds: self.worlds.clone(),
            cases: self.cases.clone(),
            of_world: of_world.collect(),
            supported: None,
            ..*self
        }
    }

    /// The same counts with sums by person.
    #[must_use]
    pub(crate) fn with_persons(mut self) -> Self {
        self.cases = self.cases.map(GraphCases::with_persons);
        if let ([_], [of_world, ..]) = (self.worlds.as_slice(), self.of_world.as_mut_slice()) {
            let unit = CountingUnit { weighted: false, persons: true };
            of_world.counts = CounterfactualCounts::new(self.groups).counted_by(unit);
        }
        self
    }

    /// Adds a person with the counterfactuals of each world, then of each graph fitted on all
    /// training rows. All have the same number of counterfactuals, with the same target groups in
    /// the same order and the same unsupported values. `key` is the key of the person.
    ///
    /// # Panics
    /// If the number of counterfactuals differs: a bug of the caller.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let targets = counterfactuals.len() / self.of_world.len().max(1);
        assert_eq!(
            counterfactuals.len(),
            targets * self.of_world.len(),
            "as many counterfactuals in every world and graph"
        );
        if targets == 0 {
            return;
        }
        let is_supported = |cf: &&ScoredCounterfactual| cf.unsupported == 0;
        let all_supported = counterfactuals.iter().all(|cf| is_supported(&cf));
        if let Some(part) = self.supported_part(all_supported) {
            let without_score =
                |cf: &_| ScoredCounterfactual { score: None, rounded: false, ..*cf };
            let kept = counterfactuals.iter().filter(is_supported).map(without_score);
            part.add(key, person, &kept.collect::<Vec<_>>());
        }
        for (world, cfs) in self.of_world.iter_mut().zip(counterfactuals.chunks_exact(targets)) {
            world.counts.add_all(key, person, cfs, WAITING);
        }
        self.add_cases(key, person, (targets, counterfactuals));
    }

    /// Adds the switches of a row with this many counterfactuals in every world.
    fn add_cases(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        (targets, counterfactuals): (usize, &[ScoredCounterfactual]),
    ) {
        let (Some(cases), Some(predicted)) = (&mut self.cases, person.predicted) else { return };
        let (mut row, mut any_in_all) = (vec![TargetSwitches::default(); self.groups], 0);
        counterfactuals[..targets].iter().for_each(|cf| row[cf.to].n += 1);
        let worlds = self.worlds.iter().zip(counterfactuals.chunks_exact(targets)).enumerate();
        for (w, (world, cfs)) in worlds {
            let absent = self.of_world[w].without_rows.as_slice();
            let mut any = false;
            for cf in cfs {
                if absent.contains(&person.group) || absent.contains(&cf.to) {
                    continue;
                }
                // A row without a prediction in a graph is not in the denominator there, so its
                // mean over graphs is not a share.
                let Some(predicted_cf) = cf.predicted else { return };
                if predicted_cf != predicted {
                    any = true;
                    row[cf.to].in_both += world.copies;
                    row[cf.to].in_all += if absent.is_empty() { world.copies } else { 0 };
                }
            }
            any_in_all += if any && absent.is_empty() { world.copies } else { 0 };
        }
        let kind = cell_index(person.label, predicted, predicted);
        cases.add((key, person.group, kind), &row, any_in_all);
    }

    /// Adds the pairs that are still buffered.
    pub(crate) fn settle(&mut self) {
        self.of_world.iter_mut().for_each(|world| world.counts.settle());
    }

    /// An empty second pass of every world.
    pub(crate) fn second_pass(&self) -> Vec<ShiftPass> {
        self.of_world.iter().map(|world| world.counts.second_pass()).collect()
    }

    /// Stores the second pass; without it score metrics are not measured.
    pub(crate) fn set_second_pass(&mut self, second: Vec<ShiftPass>) {
        self.of_world
            .iter_mut()
            .zip(second)
            .for_each(|(world, second)| world.second = Some(second.settled()));
    }
}

additive!(supported WorldCounts { cases, of_world } or without_scores);

additive!(settled WorldCounts);

/// Adds a person to the second pass of every world.
pub(crate) fn add_second(
    second: &mut [ShiftPass],
    key: u64,
    person: &ScoredPerson,
    counterfactuals: &[ScoredCounterfactual],
) {
    let targets = (counterfactuals.len() / second.len().max(1)).max(1);
    second
        .iter_mut()
        .zip(counterfactuals.chunks_exact(targets))
        .for_each(|(pass, cfs)| pass.add(key, person, cfs));
}

/// Every metric of the requested counterfactual families, in every scope; `level` is that of the
/// percentiles over graphs.
pub(crate) fn measure_worlds(
    counts: &WorldCounts,
    level: Level,
    settings: &MeasureSettings,
) -> Vec<AcrossWorldsValue> {
    let plain = MeasureSettings { level: None, ..settings.clone() };
    if counts.worlds.is_empty() {
        // Measured like a single empty world.
        let world = GraphWorld { bootstrap: 0, copies: 0, all_rows: 0 };
        let mut empty = WorldCounts::new(vec![world], counts.groups, Vec::new(), false);
        empty.set_second_pass(empty.second_pass());
        return measure_worlds(&empty, level, &plain);
    }
    let of_world = |(w, world): (usize, &SetRepeat)| {
        let second = world.second.clone().map(|second| ShiftEvidence { second, spreads: None });
        let settings = if counts.cases.is_some() || w > 0 { &plain } else { settings };
        let measured = measure_counterfactual(&world.counts, second.as_ref(), None, settings);
        undefined_without_rows(measured, &world.without_rows)
    };
    let measured: Vec<Vec<MeasuredValue>> =
        counts.of_world.par_iter().enumerate().map(of_world).collect();
    let Some(first) = measured.first() else { return Vec::new() };
    let context = MeasureContext::new(settings);
    let mut members =
        vec![0; counts.worlds.iter().map(|world| world.bootstrap + 1).max().unwrap_or(0)];
    counts.worlds.iter().for_each(|world| members[world.bootstrap] += world.copies);
    let (measured_worlds, on_all_rows) = measured.split_at(counts.worlds.len());
    let over_graphs = OverGraphs::new(counts, measured_worlds, settings);
    let across = |k: usize| -> AcrossWorldsValue {
        let each: Vec<(&GraphWorld, &MeasuredValue)> =
            counts.worlds.iter().zip(measured_worlds.iter().map(|values| &values[k])).collect();
        // A world whose bootstrap has no row of a group has no value.
        let lead = each.iter().find(|(_, m)| m.value.is_ok()).unwrap_or(&each[0]).1;
        let (metric, scope) = (lead.metric, lead.scope);
        let spread = |weight: &dyn Fn(&GraphWorld) -> f64| {
            let weighted = |(world, m): &(&GraphWorld, &MeasuredValue)| {
                let (value, copies) = (m.value.ok()?, world.copies);
                Some(WeightedValue { value, copies, weight: weight(world) })
            };
            SampleSpread::new(&each.iter().filter_map(weighted).collect::<Vec<_>>(), level.get())
        };
        let graph_spread = spread(&|_| 1.0);
        let even = spread(&|world| 1.0 / members[world.bootstrap] as f64);
        let pair = |(world, m): &(&GraphWorld, &MeasuredValue)| {
            Some((**world, m.value.ok()?, on_all_rows[world.all_rows][k].value.ok()))
        };
        let parts = each.iter().filter_map(pair).collect::<Vec<_>>();
        let value = graph_spread.map_or(each[0].1.value, |spread| Ok(spread.mean));
        let same = |number: fn(&MeasuredValue) -> Option<u64>| {
            let mut known = each.iter().filter(|(_, m)| m.value.is_ok() || lead.value.is_err());
            number(lead).filter(|first| known.all(|(_, m)| number(m) == Some(*first)))
        };
        let share = over_graphs.share(metric, scope);
        let persons = over_graphs.persons(metric, scope);
        let is_lead = counts.cases.is_none()
            && (lead.interval.is_some() || !matches!(metric.reads, Reads::Shift(_)));
        let (interval, ci_method) = match is_lead && value.is_ok() {
            true => (lead.interval, lead.ci_method.clone()),
            false => context.interval(value, || over_graphs.interval(metric, scope, &context)),
        };
        let copies = |is_defined: bool| {
            let each = each.iter().filter(|(_, m)| m.value.is_ok() == is_defined);
            each.map(|(world, _)| world.copies).sum()
        };
        let mut flags: Vec<&'static str> =
            each.iter().flat_map(|(_, m)| m.flags.iter().copied()).collect();
        flags.extend(persons.iter().flat_map(|(people, _)| {
            context.flags(people.smallest_group, people.smallest_denominator)
        }));
        flags.sort_unstable_by(|a, b| b.cmp(a));
        flags.dedup();
        flags.extend(counts.sampled.then_some(SAMPLED));
        // A value is clear if its intervals over people and over graphs are clear.
        let around = graph_spread.and_then(|spread| spread.spread);
        let is_clear = |ends: Option<(f64, f64)>| is_clear(lead.ideal, ends, None);
        let clear = is_clear(interval.map(|i| (i.lo, i.hi)))
            && around.is_none_or(|around| is_clear(Some((around.lo, around.hi))));
        // The mean over graphs.
        let defined = each.iter().filter(|(_, m)| m.value.is_ok());
        let switched = defined.clone().try_fold((0, 0), |(sum, n), (world, m)| {
            Some((sum + world.copies * m.switched?, n + world.copies))
        });
        let switched = switched.filter(|(_, n)| *n > 0).map(|(sum, n)| sum / n);
        // Rows give only a lower bound of the number of persons.
        let switched = switched.map(|rows| persons.map_or(rows, |(_, most)| rows / most));
        let impaired = impaired(metric, scope, (value, clear), switched, settings);
        let measured = MeasuredValue {
            switched,
            value,
            numerator: same(|m| m.numerator),
            denominator: same(|m| m.denominator),
            interval,
            ci_method,
            flags,
            impaired,
            persons: persons.and_then(|(people, _)| people.persons).or(lead.persons),
            effective: share.map(|share| share.size).or(lead.effective),
            ..lead.clone()
        };
        let by_world = each.iter().map(|(_, m)| (m.value, m.numerator, m.denominator));
        AcrossWorldsValue {
            measured,
            spread: around,
            level,
            spread_parts: SpreadParts::new(&parts, level.get()),
            bootstrap_mean: even.map(|even| even.mean),
            n_worlds: copies(true),
            n_undefined: copies(false),
            by_world: by_world.collect(),
        }
    };
    (0..first.len()).into_par_iter().map(across).collect()
}

/// The evidence of all worlds about the people of each scope.
struct OverGraphs<'a> {
    /// Empty for a single world.
    scopes: BTreeMap<MetricScope, ScopeCases<'a>>,
    /// The values of each world.
    worlds: &'a [Vec<MeasuredValue>],
    /// The position of each metric in these values.
    at: BTreeMap<(&'static str, MetricScope), usize>,
}

impl<'a> OverGraphs<'a> {
    fn new(
        counts: &WorldCounts,
        worlds: &'a [Vec<MeasuredValue>],
        settings: &'a MeasureSettings,
    ) -> Self {
        let of_scope = |cases: &'_ GraphCases| {
            let places = ScopeIndex { groups: counts.groups }.scopes();
            places
                .map(|place| (place.1, cases.of_scope(place, settings)))
                .collect::<BTreeMap<_, _>>()
        };
        let at = worlds.first().into_iter().flatten().enumerate();
        OverGraphs {
            scopes: counts.cases.as_ref().map(of_scope).unwrap_or_default(),
            worlds,
            at: at.map(|(k, m)| ((m.metric.id, m.scope), k)).collect(),
        }
    }

    /// The denominators of a metric in each world where it is defined, or of the rate behind a
    /// ratio of two directions.
    fn denominators(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
    ) -> impl Iterator<Item = Option<u64>> {
        let id = metric.gap_of.map_or(metric.id, |(base, _)| base);
        let at = self.at.get(&(id, scope)).copied();
        let each = at.into_iter().flat_map(|at| self.worlds.iter().map(move |world| &world[at]));
        each.filter(|m| m.value.is_ok()).map(|m| m.denominator)
    }

    /// The mean over graphs of a metric of one scope as a share; none if it is not a share.
    fn share(&self, metric: &'static Metric, scope: MetricScope) -> Option<Share> {
        let cases = self.scopes.get(&scope)?;
        let mut denominators = self.denominators(metric, scope);
        let first = denominators.next()??;
        let same = denominators.all(|other| other == Some(first));
        cases.share(metric, first).filter(|_| same)
    }

    /// The interval of a mean over graphs.
    fn interval(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        ask: &MeasureContext<'_>,
    ) -> IntervalOrReason {
        if matches!(metric.reads, Reads::Shift(_)) {
            return self
                .unmoved_interval(metric, scope, ask.z)
                .ok_or(MissingInterval::SumsOfGraphs);
        }
        let share = |scope| self.share(metric, scope).map(Estimate::from);
        let estimate = match scope {
            // The mean of ratios is not the ratio of means.
            MetricScope::Difference(..) if metric.is_of_two_directions() => None,
            MetricScope::Difference(a, b) => share(MetricScope::Direction(a, b))
                .zip(share(MetricScope::Direction(b, a)))
                .map(|(forth, back)| forth.minus(&back)),
            _ => share(scope),
        };
        match estimate {
            Some(_) => ask.estimated(estimate),
            None => Err(MissingInterval::DifferentDenominators),
        }
    }

    /// The interval of a distance if no score changes in any world.
    fn unmoved_interval(
        &self,
        metric: &Metric,
        scope: MetricScope,
        z: f64,
    ) -> Option<ValueInterval> {
        let is_unmoved =
            |m: &MeasuredValue| m.metric.id == "macd" && m.scope == scope && m.value == Ok(0.0);
        let all_unmoved = self.worlds.iter().all(|world| world.iter().any(is_unmoved));
        self.scopes.get(&scope).filter(|_| all_unmoved)?.people.unmoved_interval(metric, z)
    }

    /// The persons behind a value, and the largest number of rows of one person; none if each row
    /// is a person.
    fn persons(&self, metric: &'static Metric, scope: MetricScope) -> Option<(ValuePeople, u64)> {
        let in_scope = |scope: MetricScope| {
            let (share, smallest) =
                (self.share(metric, scope), self.denominators(metric, scope).min());
            self.scopes.get(&scope)?.persons(metric, share.as_ref(), smallest.flatten())
        };
        let MetricScope::Difference(a, b) = scope else {
            return in_scope(scope).map(|(people, most)| (ValuePeople::of(&[people], None), most));
        };
        let scopes = [MetricScope::Direction(a, b), MetricScope::Direction(b, a)];
        let ((x, most), (y, most_back)) = (in_scope(scopes[0])?, in_scope(scopes[1])?);
        let [forth, back] = scopes.map(|scope| &self.scopes[&scope]);
        let n_together = forth.persons_with(back, metric)?;
        Some((ValuePeople::of(&[x, y], Some(n_together)), most.max(most_back)))
    }
}

#[cfg(test)]
mod tests;
