//! One value per causal graph, and the mean over graphs: how far graphs disagree, and how far the
//! value would vary with other people.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.3. Graphs of one
//! bootstrap that give the same counterfactuals are one *world* here, which counts as often as it
//! has graphs. A metric of a counterfactual family has a value in every world. Its value is the
//! mean over the graphs in which it is defined; `spread` holds variance (divisor M - 1) and
//! percentiles of these values, which do not include sampling error. They contain two kinds of
//! uncertainty, because every bootstrap has a graph and coefficients of its own; `spread_parts`
//! distinguishes them with the help of the same graphs fitted on all training rows.
//!
//! A bootstrap with a large class of graphs has more weight than one with a small class; that is
//! the published definition. The mean in which every bootstrap weighs the same is next to it.
//!
//! The interval is one of people: graphs are not drawn, each adds one more row to every person. A
//! rate whose denominator is the same in all graphs is a share of these rows, with Wilson's
//! interval on the effective number ([`cases`]); a difference of two directions has the hybrid of
//! both. A single world is an ordinary set and has the intervals of one. With several worlds,
//! metrics whose denominators differ between graphs, and ratios of two directions, have no
//! interval; nor have metrics of scores, since worlds are kept as sums of everybody. But if no
//! score moves in any graph, the distances have the interval of the share of people who move.
//!
//! Where a person may have several rows, persons are the units, and the tables say how many there
//! are. Which of them are in a denominator that depends on the graph is not known, because memory
//! would grow with persons times graphs: the tables hold a lower bound of their number, so that too
//! few are never taken for enough.
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
/// That is false for race, sex or age, so no group is named as worse off.
pub(crate) const ATTRIBUTE_FOLLOWS: &str = "attribute_follows";

/// Share of graphs from which on a cause of the attribute is reported.
pub(crate) const FOLLOWS_FROM: f64 = 0.05;

/// Bootstraps below which the ends of a 95 % interval are extremes: 2.5 % of 40 is one.
pub(crate) const ENOUGH_BOOTSTRAPS: usize = 40;

/// Bootstraps below which no coefficients are refitted: what one fit gives has no spread.
pub(crate) const LEAST_BOOTSTRAPS: u64 = 2;

/// Whether a mean over graphs lies outside of the percentiles of the same values, by more than
/// rounding.
pub(crate) fn is_outside(mean: f64, (lo, hi): (f64, f64)) -> bool {
    let rounding = 1e-12 * mean.abs().max(lo.abs()).max(hi.abs());
    mean < lo - rounding || mean > hi + rounding
}

/// Pairs of a world that wait for each other at most: there are thousands of worlds.
const WAITING: usize = 1 << 10;

/// What a world is, before anybody is counted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GraphWorld {
    /// The bootstrap that it belongs to.
    pub bootstrap: usize,
    /// Its graphs.
    pub copies: u64,
    /// Position of its graph among those fitted on all training rows.
    pub all_rows: usize,
}

/// Everybody in every world: the evidence of one model and one graph-uncertain set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorldCounts {
    /// The worlds.
    pub worlds: Vec<GraphWorld>,
    groups: usize,
    /// Whether a class of graphs was sampled.
    pub sampled: bool,
    /// The switches of each row over the worlds. None for a single world, which has them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cases: Option<GraphCases>,
    /// The worlds, then their graphs fitted on all training rows.
    of_world: Vec<SetRepeat>,
    /// The same people by only their supported counterfactuals, without scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    supported: Option<Box<WorldCounts>>,
}

/// One metric across worlds.
#[derive(Debug, Clone)]
pub(crate) struct AcrossWorldsValue {
    /// The mean over graphs, with the interval of people.
    pub measured: MeasuredValue,
    /// Variance and percentiles over graphs; none for a single one.
    pub spread: Option<SpreadEstimate>,
    /// Level of all percentiles.
    pub level: Level,
    /// The parts of it between graphs and between refits of a graph; none as `spread`, and none if
    /// a graph fitted on all training rows has no value.
    pub spread_parts: Option<SpreadParts>,
    /// The mean in which every bootstrap weighs the same.
    pub bootstrap_mean: Option<f64>,
    /// Graphs in which the metric has a value.
    pub n_worlds: u64,
    /// Graphs in which it has none.
    pub n_undefined: u64,
    /// The value of each world, with numerator and denominator of a rate.
    pub by_world: Vec<(MetricValue, Option<u64>, Option<u64>)>,
}

/// The two parts of the spread of a metric over graphs and refits. With v the value in a world and
/// u that of its graph fitted on all training rows, v = u + (v - u): variances of both and twice
/// their covariance add up to the variance of v.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SpreadParts {
    /// Of u: what other graphs give, coefficients apart.
    pub between: SpreadEstimate,
    /// Of mean(u) + v - u: what other coefficients give, graphs apart. Ends of a rate may lie
    /// outside [0, 1]. None where all values are of one bootstrap, which refits nothing.
    pub within: Option<SpreadEstimate>,
    /// Twice the covariance of u and v - u, divisor M - 1; none as `within`.
    pub mixed: Option<f64>,
}

impl SpreadParts {
    /// The spread of (world, v, u) for each world with a value; none where a u is missing, or there
    /// are fewer than two graphs.
    fn new(sample: &[(GraphWorld, f64, Option<f64>)], level: f64) -> Option<SpreadParts> {
        // Differences from the first u are summed, so that equal ones do not differ at all.
        let (first, _, start) = sample.first()?;
        let start = (*start)?;
        let is_refitted = sample.iter().any(|(world, ..)| world.bootstrap != first.bootstrap);
        let apart: Vec<(f64, f64, u64)> = sample
            .iter()
            .map(|&(world, v, u)| Some((u? - start, v - u?, world.copies)))
            .collect::<Option<_>>()?;
        let spread = |of: &dyn Fn(&(f64, f64, u64)) -> f64| {
            let weighed =
                |x: &(f64, f64, u64)| WeightedValue { value: of(x), copies: x.2, weight: 1.0 };
            SampleSpread::new(&apart.iter().map(weighed).collect::<Vec<_>>(), level)
        };
        let (graphs, refits) = (spread(&|x| x.0)?, spread(&|x| x.1)?);
        let up = |around: SpreadEstimate, by: f64| SpreadEstimate {
            lo: around.lo + by,
            hi: around.hi + by,
            ..around
        };
        let products = apart
            .iter()
            .map(|x| x.2 as f64 * (x.0 - graphs.mean) * (x.1 - refits.mean))
            .sum::<f64>();
        let graphs_of_all: u64 = apart.iter().map(|x| x.2).sum();
        Some(SpreadParts {
            between: up(graphs.spread?, start),
            within: refits.spread.filter(|_| is_refitted).map(|of| up(of, start + graphs.mean)),
            mixed: is_refitted.then(|| 2.0 * products / graphs_of_all.saturating_sub(1) as f64),
        })
    }
}

impl WorldCounts {
    /// Empty, for these worlds of an attribute with this many groups. `absent` holds for each
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
                let is_seen = |of: &SetRepeat| {
                    !of.without_rows.iter().any(|group| MetricScope::involves(scope, *group))
                };
                let worlds = counts.worlds.iter().zip(&counts.of_world);
                worlds.filter(|(_, of)| is_seen(of)).map(|(world, _)| world.copies).sum()
            };
            GraphCases::new(groups, graphs)
        });
        counts
    }

    /// What only the supported counterfactuals give, while all are supported: nothing of scores.
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

    /// These counts where a person may have several rows.
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
    /// training rows: in every one as many, of the same target groups in the same order and with
    /// the same unsupported values. `key` is the person's own.
    ///
    /// # Panics
    /// Where there are not as many counterfactuals as that: a bug of the caller.
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
        let all = counterfactuals.iter().all(|cf| is_supported(&cf));
        if let Some(part) = self.supported_part(all) {
            let without_score =
                |cf: &_| ScoredCounterfactual { score: None, rounded: false, ..*cf };
            let kept = counterfactuals.iter().filter(is_supported).map(without_score);
            part.add(key, person, &kept.collect::<Vec<_>>());
        }
        for (world, of) in self.of_world.iter_mut().zip(counterfactuals.chunks_exact(targets)) {
            world.counts.add_all(key, person, of, WAITING);
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
        for (w, (world, of)) in worlds {
            let absent = self.of_world[w].without_rows.as_slice();
            let mut any = false;
            for cf in of {
                if absent.contains(&person.group) || absent.contains(&cf.to) {
                    continue;
                }
                // A row without a result in a graph is in no denominator there: then none is a
                // share.
                let Some(moved) = cf.predicted else { return };
                if moved != predicted {
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

    /// Lets nobody wait.
    pub(crate) fn settle(&mut self) {
        self.of_world.iter_mut().for_each(|world| world.counts.settle());
    }

    /// The second pass of every world, empty.
    pub(crate) fn second_pass(&self) -> Vec<ShiftPass> {
        self.of_world.iter().map(|world| world.counts.second_pass()).collect()
    }

    /// Keeps the second pass, without which score metrics are not measured.
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
        .for_each(|(pass, of)| pass.add(key, person, of));
}

/// Every metric of the counterfactual families asked for, in every scope; `level` is that of the
/// percentiles over graphs.
pub(crate) fn measure_worlds(
    counts: &WorldCounts,
    level: Level,
    settings: &MeasureSettings,
) -> Vec<AcrossWorldsValue> {
    let plain = MeasureSettings { level: None, ..settings.clone() };
    if counts.worlds.is_empty() {
        // As an empty one.
        let world = GraphWorld { bootstrap: 0, copies: 0, all_rows: 0 };
        let mut nobody = WorldCounts::new(vec![world], counts.groups, Vec::new(), false);
        nobody.set_second_pass(nobody.second_pass());
        return measure_worlds(&nobody, level, &plain);
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
    let ask = MeasureContext::new(settings);
    let mut members =
        vec![0; counts.worlds.iter().map(|world| world.bootstrap + 1).max().unwrap_or(0)];
    counts.worlds.iter().for_each(|world| members[world.bootstrap] += world.copies);
    let (measured_worlds, on_all_rows) = measured.split_at(counts.worlds.len());
    let over_graphs = OverGraphs::new(counts, measured_worlds, settings);
    let across = |k: usize| -> AcrossWorldsValue {
        let each: Vec<(&GraphWorld, &MeasuredValue)> =
            counts.worlds.iter().zip(measured_worlds.iter().map(|of| &of[k])).collect();
        // A world that saw no row of a group is empty.
        let lead = each.iter().find(|(_, m)| m.value.is_ok()).unwrap_or(&each[0]).1;
        let (metric, scope) = (lead.metric, lead.scope);
        let spread = |weight: &dyn Fn(&GraphWorld) -> f64| {
            let of = |(world, m): &(&GraphWorld, &MeasuredValue)| {
                let (value, copies) = (m.value.ok()?, world.copies);
                Some(WeightedValue { value, copies, weight: weight(world) })
            };
            SampleSpread::new(&each.iter().filter_map(of).collect::<Vec<_>>(), level.get())
        };
        let all = spread(&|_| 1.0);
        let even = spread(&|world| 1.0 / members[world.bootstrap] as f64);
        let pair = |(world, m): &(&GraphWorld, &MeasuredValue)| {
            Some((**world, m.value.ok()?, on_all_rows[world.all_rows][k].value.ok()))
        };
        let parts = each.iter().filter_map(pair).collect::<Vec<_>>();
        let value = all.map_or(each[0].1.value, |all| Ok(all.mean));
        let same = |of: fn(&MeasuredValue) -> Option<u64>| {
            let mut known = each.iter().filter(|(_, m)| m.value.is_ok() || lead.value.is_err());
            of(lead).filter(|first| known.all(|(_, m)| of(m) == Some(*first)))
        };
        let share = over_graphs.share(metric, scope);
        let persons = over_graphs.persons(metric, scope);
        let is_lead = counts.cases.is_none()
            && (lead.interval.is_some() || !matches!(metric.reads, Reads::Shift(_)));
        let (interval, ci_method) = match is_lead && value.is_ok() {
            true => (lead.interval, lead.ci_method.clone()),
            false => ask.interval(value, || over_graphs.interval(metric, scope, &ask)),
        };
        let copies = |is_defined: bool| {
            let each = each.iter().filter(|(_, m)| m.value.is_ok() == is_defined);
            each.map(|(world, _)| world.copies).sum()
        };
        let mut flags: Vec<&'static str> =
            each.iter().flat_map(|(_, m)| m.flags.iter().copied()).collect();
        flags.extend(
            persons
                .iter()
                .flat_map(|(of, _)| ask.flags(of.smallest_group, of.smallest_denominator)),
        );
        flags.sort_unstable_by(|a, b| b.cmp(a));
        flags.dedup();
        flags.extend(counts.sampled.then_some(SAMPLED));
        // A value is clear if it is clear for other people and for other graphs.
        let around = all.and_then(|all| all.spread);
        let is_clear = |ends: Option<(f64, f64)>| is_clear(lead.ideal, ends, None);
        let clear = is_clear(interval.map(|i| (i.lo, i.hi)))
            && around.is_none_or(|around| is_clear(Some((around.lo, around.hi))));
        // The mean over graphs.
        let defined = each.iter().filter(|(_, m)| m.value.is_ok());
        let switched = defined.clone().try_fold((0, 0), |(sum, n), (world, m)| {
            Some((sum + world.copies * m.switched?, n + world.copies))
        });
        let switched = switched.filter(|(_, n)| *n > 0).map(|(sum, n)| sum / n);
        // Of rows only a lower bound of the number of persons is known.
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
            persons: persons.and_then(|(of, _)| of.persons).or(lead.persons),
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

/// The evidence of all worlds together about the people of each scope.
struct OverGraphs<'a> {
    /// Nothing of a single world.
    scopes: BTreeMap<MetricScope, ScopeCases<'a>>,
    /// The values of each world.
    worlds: &'a [Vec<MeasuredValue>],
    /// Where each metric is in them.
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
            places.map(|of| (of.1, cases.of_scope(of, settings))).collect::<BTreeMap<_, _>>()
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

    /// The share that the mean over graphs of a metric of one scope is; none where it is not a
    /// share.
    fn share(&self, metric: &'static Metric, scope: MetricScope) -> Option<Share> {
        let of = self.scopes.get(&scope)?;
        let mut denominators = self.denominators(metric, scope);
        let first = denominators.next()??;
        let same = denominators.all(|other| other == Some(first));
        of.share(metric, first).filter(|_| same)
    }

    /// The interval of a mean over graphs.
    fn interval(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        ask: &MeasureContext<'_>,
    ) -> IntervalOrReason {
        if matches!(metric.reads, Reads::Shift(_)) {
            return self.still(metric, scope, ask.z).ok_or(MissingInterval::SumsOfGraphs);
        }
        let of = |scope| self.share(metric, scope).map(Estimate::from);
        let estimate = match scope {
            // The mean of ratios is no ratio of means.
            MetricScope::Difference(..) if metric.is_of_two_directions() => None,
            MetricScope::Difference(a, b) => of(MetricScope::Direction(a, b))
                .zip(of(MetricScope::Direction(b, a)))
                .map(|(forth, back)| forth.minus(&back)),
            _ => of(scope),
        };
        match estimate {
            Some(_) => ask.estimated(estimate),
            None => Err(MissingInterval::DifferentDenominators),
        }
    }

    /// The interval of a distance where no score moves in any world.
    fn still(&self, metric: &Metric, scope: MetricScope, z: f64) -> Option<ValueInterval> {
        let is_still =
            |m: &MeasuredValue| m.metric.id == "macd" && m.scope == scope && m.value == Ok(0.0);
        let all = self.worlds.iter().all(|world| world.iter().any(is_still));
        self.scopes.get(&scope).filter(|_| all)?.people.unmoved_interval(metric, z)
    }

    /// The persons behind a value, and the most rows that one has; none where each row is a person.
    fn persons(&self, metric: &'static Metric, scope: MetricScope) -> Option<(ValuePeople, u64)> {
        let one = |scope: MetricScope| {
            let (share, least) =
                (self.share(metric, scope), self.denominators(metric, scope).min());
            self.scopes.get(&scope)?.persons(metric, share.as_ref(), least.flatten())
        };
        let MetricScope::Difference(a, b) = scope else {
            return one(scope).map(|(of, most)| (ValuePeople::of(&[of], None), most));
        };
        let scopes = [MetricScope::Direction(a, b), MetricScope::Direction(b, a)];
        let ((x, most), (y, most_back)) = (one(scopes[0])?, one(scopes[1])?);
        let [forth, back] = scopes.map(|scope| &self.scopes[&scope]);
        let all = forth.persons_with(back, metric)?;
        Some((ValuePeople::of(&[x, y], Some(all)), most.max(most_back)))
    }
}

#[cfg(test)]
mod tests;
