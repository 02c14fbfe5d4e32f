//! One value per causal graph, and what they say together: the mean, how far graphs disagree, and
//! how far other people would.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty" (CF-GU), section 3.3. Graphs of one
//! bootstrap that give the same counterfactuals are one *world* here, which counts as often as it
//! has graphs. A metric of a counterfactual family has a value in every world. Its value is the
//! mean over the graphs in which it is defined; `spread` holds variance (divisor M - 1) and
//! percentiles of these values, which do not include sampling error. They contain two kinds of
//! uncertainty, because every bootstrap has a graph and coefficients of its own; `spread_parts`
//! distinguishes them with the help of the same graphs fitted on all training rows. The interval is
//! the bootstrap of people of that mean: in every replicate people count equally often in all
//! worlds.
//!
//! A bootstrap with a large class of graphs has more weight than one with a small class; that is
//! the published definition. The mean in which every bootstrap weighs the same is next to it.
//!
//! Choice: people fall into [`WORLD_BLOCKS`] blocks by the hash of their key, and in every
//! replicate a block counts Poisson(1) times, as in
//! [`block_bootstrap`](crate::metric::evidence::block_bootstrap):
//! a world then is a few numbers, regardless of the number of people. The spread of 200 blocks is
//! that of their people, known to about 5 %. Where all replicates agree, because nobody switches in
//! any graph or everybody does, a rate has Wilson's interval. Metrics of scores have none, since
//! their worlds are kept as sums of everybody; but where no score moves in any graph, the distances
//! have that of the share of people who move. Where a person may have several rows, persons fall
//! into the blocks, and [`persons`] says how many they are.
//!
//! Memory: 17 kilobytes a world with two groups, 5 more for each further direction; cost of the
//! intervals: worlds x replicates x (blocks x 8 + metrics x scopes) steps.

mod persons;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::scope_people::unmoved;
use super::switches::{impaired, measure_counterfactual, value_of_cells};
use crate::exec::accumulator::Accumulator;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{
    ECCM_CELLS, ScoredCounterfactual, ScoredPerson, SwitchCells,
};
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::shift_pass::{ShiftEvidence, ShiftPass};
use crate::metric::evidence::supported::SupportedOnly;
use crate::metric::interval::{
    IntervalProcedure, NoIntervalReason, ReplicateSource, ValueInterval, percentile, wilson,
    wilson_of_people,
};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{MetricScope, ScopeIndex};
use crate::metric::value::interval_choice::{IntervalBasis, MeasureContext, is_clear};
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, MetricFamily, difference, ratio};
use crate::num::poisson::{LANES, PoissonWeights};
use crate::num::seed::{h, named_seed};
use crate::num::summary::{SampleSpread, SpreadEstimate, WeightedValue};
use crate::param::{Level, Seed};

/// Blocks of people.
pub(crate) const WORLD_BLOCKS: usize = 200;

/// Flag: a class of graphs was too large to list and was sampled.
pub(crate) const SAMPLED: &str = "sampled";

/// Flag: the attribute follows from another variable in [`FOLLOWS_FROM`] of the graphs or more. Of
/// race, sex or age that is false, so no group is named at a disadvantage.
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

/// People of one block and group, or switches of one block and direction, by label (no, yes, not
/// known) and prediction: at 2 label + prediction.
const KINDS: usize = 6;

/// Parts into which worlds are shared out among threads, regardless of the number of threads.
const CHUNKS: usize = 16;

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
    /// For each world, then each graph fitted on all training rows, the groups, reference first,
    /// of which it saw no row: nothing is defined there that involves them.
    absent: Vec<Vec<usize>>,
    /// Whether a class of graphs was sampled.
    pub sampled: bool,
    cut: u64,
    /// People of each block, group and kind: block by block, then group by group.
    people: Vec<u64>,
    /// The same rows by person and group. None where each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<KINDS>>,
    /// The worlds, then their graphs fitted on all training rows.
    of_world: Vec<WorldSwitchCounts>,
    /// The same people by their supported counterfactuals alone, without scores.
    #[serde(default, skip_serializing_if = "SupportedOnly::is_all")]
    supported: SupportedOnly<WorldCounts>,
}

/// What is counted in one world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WorldSwitchCounts {
    counts: CounterfactualCounts,
    /// People of each block, direction and kind whose prediction switches; empty where all training
    /// rows were fitted, of which there is no interval.
    switched: Vec<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    second: Option<ShiftPass>,
}

/// One metric across worlds.
#[derive(Debug, Clone)]
pub(crate) struct AcrossWorldsValue {
    /// The mean over graphs, with the interval of people.
    pub measured: MeasuredValue,
    /// Variance and percentiles over graphs; none of a single one.
    pub spread: Option<SpreadEstimate>,
    /// Level of all percentiles.
    pub level: Level,
    /// What of it graphs differ by and what refits of them; none as `spread`, and where a graph
    /// fitted on all training rows has no value.
    pub spread_parts: Option<SpreadParts>,
    /// The mean in which every bootstrap weighs the same.
    pub bootstrap_mean: Option<f64>,
    /// Graphs in which the metric has a value.
    pub n_worlds: u64,
    /// Graphs in which it has none.
    pub n_undefined: u64,
    /// The value of each world, with counts on top of a rate and below it.
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
    /// Of (world, v, u) for each world with a value; none where a u is missing, or there are fewer
    /// than two graphs.
    fn new(sample: &[(GraphWorld, f64, Option<f64>)], level: f64) -> Option<SpreadParts> {
        // From the first u on, so that equal ones differ by nothing at all.
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
    /// Nobody yet, in these worlds of an attribute with so many groups. `absent` holds for each
    /// world, then for each graph fitted on all training rows, the groups without a row.
    pub(crate) fn new(
        worlds: Vec<GraphWorld>,
        groups: usize,
        absent: Vec<Vec<usize>>,
        sampled: bool,
        seed: Seed,
    ) -> Self {
        let nobody = |of: usize| WorldSwitchCounts {
            counts: CounterfactualCounts::new(groups),
            switched: vec![0; of],
            second: None,
        };
        let on_all_rows = worlds.iter().map(|world| world.all_rows + 1).max().unwrap_or(0);
        let directions = groups * groups.saturating_sub(1);
        let mut of_world = vec![nobody(WORLD_BLOCKS * directions * KINDS); worlds.len()];
        of_world.extend(vec![nobody(0); on_all_rows]);
        let cut = named_seed(seed.0, "bootstrap/worlds/cut");
        let people = vec![0; WORLD_BLOCKS * groups * KINDS];
        let (persons, supported) = (None, SupportedOnly::default());
        WorldCounts { worlds, groups, absent, sampled, cut, people, persons, of_world, supported }
    }

    /// The same people by their supported counterfactuals alone; none where all are supported.
    pub(crate) fn supported(&self) -> Option<&WorldCounts> {
        self.supported.get()
    }

    /// What supported counterfactuals alone give while all are supported: nothing of scores.
    fn without_scores(&self) -> WorldCounts {
        let of_world = self.of_world.iter().map(|world| WorldSwitchCounts {
            counts: world.counts.without_scores(),
            switched: world.switched.clone(),
            second: None,
        });
        WorldCounts {
            worlds: self.worlds.clone(),
            absent: self.absent.clone(),
            people: self.people.clone(),
            persons: self.persons.clone(),
            of_world: of_world.collect(),
            supported: SupportedOnly::default(),
            ..*self
        }
    }

    /// The same where a person may have several rows.
    #[must_use]
    pub(crate) fn with_persons(self) -> Self {
        WorldCounts { persons: Some(PersonCells::new()), ..self }
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
        let mut supported = std::mem::take(&mut self.supported);
        if let Some(part) = supported.part(all, || self.without_scores()) {
            let without_score =
                |cf: &_| ScoredCounterfactual { score: None, rounded: false, ..*cf };
            let kept = counterfactuals.iter().filter(is_supported).map(without_score);
            part.add(key, person, &kept.collect::<Vec<_>>());
        }
        self.supported = supported;
        let block =
            usize::try_from(((h(self.cut, key, 0) >> 32) * WORLD_BLOCKS as u64) >> 32).unwrap_or(0);
        let label = person.label.map_or(2, usize::from);
        // In every world that saw the groups the same people have a counterfactual.
        let is_absent = |world: usize, to: usize| {
            self.absent
                .get(world)
                .is_some_and(|absent| absent.contains(&to) || absent.contains(&person.group))
        };
        let has_all = counterfactuals.chunks_exact(targets).enumerate().all(|(world, of)| {
            of.iter().all(|cf| cf.predicted.is_some() || is_absent(world, cf.to))
        });
        let kind = person.predicted.filter(|_| has_all);
        let kind = kind.map(|predicted| 2 * label + usize::from(predicted));
        if let Some(kind) = kind {
            self.people[(block * self.groups + person.group) * KINDS + kind] += 1;
            if let Some(persons) = &mut self.persons {
                persons.at(key, person.group)[kind] += 1;
            }
        }
        let (from, groups) = (person.group, self.groups);
        let directions = groups * groups.saturating_sub(1);
        for (world, of) in self.of_world.iter_mut().zip(counterfactuals.chunks_exact(targets)) {
            world.counts.add(person, of);
            let Some(kind) = kind else { continue };
            for cf in of.iter().filter(|cf| cf.predicted.is_some()) {
                let at = (block * directions + direction(groups, from, cf.to)) * KINDS + kind;
                if cf.predicted != person.predicted
                    && let Some(switched) = world.switched.get_mut(at)
                {
                    *switched += 1;
                }
            }
        }
    }

    /// Whether a world, or a graph fitted on all training rows, says nothing in a scope, because it
    /// saw no row of a group there.
    fn is_unseen(&self, world: usize, scope: MetricScope) -> bool {
        let absent = self.absent.get(world);
        absent.is_some_and(|absent| absent.iter().any(|&group| scope.involves(group)))
    }

    /// The second pass of every world, of nobody yet.
    pub(crate) fn second_pass(&self) -> Vec<ShiftPass> {
        self.of_world.iter().map(|world| world.counts.second_pass()).collect()
    }

    /// Keeps the second pass, without which score metrics are not measured.
    pub(crate) fn set_second_pass(&mut self, second: Vec<ShiftPass>) {
        self.of_world
            .iter_mut()
            .zip(second)
            .for_each(|(world, second)| world.second = Some(second));
    }
}

impl Accumulator for WorldCounts {
    fn merge(&mut self, mut other: Self) {
        let theirs = std::mem::take(&mut other.supported);
        let mut supported = std::mem::take(&mut self.supported);
        supported.merge(theirs, || self.without_scores(), || other.without_scores());
        self.supported = supported;
        self.people.iter_mut().zip(&other.people).for_each(|(mine, theirs)| *mine += theirs);
        if let (Some(mine), Some(theirs)) = (&mut self.persons, &other.persons) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.of_world.iter_mut().zip(other.of_world) {
            mine.counts.merge(theirs.counts);
            mine.switched
                .iter_mut()
                .zip(&theirs.switched)
                .for_each(|(mine, theirs)| *mine += theirs);
        }
    }
}

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
        return measure_no_worlds(counts.groups, level, &plain);
    }
    let of_world = |(w, world): (usize, &WorldSwitchCounts)| {
        let second = world.second.clone().map(|second| ShiftEvidence { second, spreads: None });
        let mut measured = measure_counterfactual(&world.counts, second.as_ref(), None, &plain);
        for m in measured.iter_mut().filter(|m| counts.is_unseen(w, m.scope)) {
            m.value = Err(Undefined::NoTrainingRows);
            (m.numerator, m.denominator, m.switched) = (None, None, None);
        }
        measured
    };
    let measured: Vec<Vec<MeasuredValue>> =
        counts.of_world.par_iter().enumerate().map(of_world).collect();
    let Some(first) = measured.first() else { return Vec::new() };
    let ask = MeasureContext::new(settings);
    let drawn = settings.level.map(|_| WorldBootstrap::new(counts, &ask, first));
    let mut members =
        vec![0; counts.worlds.iter().map(|world| world.bootstrap + 1).max().unwrap_or(0)];
    counts.worlds.iter().for_each(|world| members[world.bootstrap] += world.copies);
    let (measured_worlds, on_all_rows) = measured.split_at(counts.worlds.len());
    let persons = counts.scope_persons(first, measured_worlds, settings);
    let across = |k: usize| -> AcrossWorldsValue {
        let each: Vec<&MeasuredValue> =
            measured_worlds.iter().map(|of_world| &of_world[k]).collect();
        // A world that saw no row of a group has nobody.
        let lead = each.iter().copied().find(|m| m.value.is_ok()).unwrap_or(each[0]);
        let spread = |even: bool| {
            let weight =
                |world: &GraphWorld| if even { 1.0 / members[world.bootstrap] as f64 } else { 1.0 };
            let of = |(world, m): (&GraphWorld, &&MeasuredValue)| {
                Some(WeightedValue {
                    value: m.value.ok()?,
                    copies: world.copies,
                    weight: weight(world),
                })
            };
            let sample: Vec<WeightedValue> =
                counts.worlds.iter().zip(&each).filter_map(of).collect();
            SampleSpread::new(&sample, level.get())
        };
        let all = spread(false);
        let pair = |(world, m): (&GraphWorld, &&MeasuredValue)| {
            Some((*world, m.value.ok()?, on_all_rows[world.all_rows][k].value.ok()))
        };
        let parts = SpreadParts::new(
            &counts.worlds.iter().zip(&each).filter_map(pair).collect::<Vec<_>>(),
            level.get(),
        );
        let value = all.map_or(each[0].value, |all| Ok(all.mean));
        let same = |of: fn(&MeasuredValue) -> Option<u64>| {
            let told = each.iter().filter(|m| m.value.is_ok() || lead.value.is_err());
            of(lead).filter(|first| told.clone().all(|m| of(m) == Some(*first)))
        };
        let counts_of_all = same(|m| m.numerator).zip(same(|m| m.denominator));
        let persons = persons.as_ref().map(|persons| &persons[k]);
        let n_drawn = persons.map(|persons| persons.smallest_group);
        let (interval, ci_method) = ask.interval(value, || {
            match drawn.as_ref().map(|drawn| drawn.interval(k, settings.samples.get(), n_drawn)) {
                None => IntervalBasis::NotDrawn,
                // Nobody switches, or everybody does: in every graph it is the same rate, which has
                // a formula.
                Some(IntervalBasis::Replicates(Err(NoIntervalReason::AllAgree), n)) => {
                    match counts_of_all {
                        Some((numerator, denominator)) => IntervalBasis::Formula(match persons {
                            Some(persons) => persons.boundary(numerator > 0, ask.z),
                            None => {
                                let cases = cases_of_person(each[0].scope, counts.groups);
                                boundary(numerator, denominator, cases, ask.z)
                            }
                        }),
                        None => IntervalBasis::Replicates(Err(NoIntervalReason::AllAgree), n),
                    }
                }
                Some(IntervalBasis::SumsOfGraphs)
                    if nobody_moves(measured_worlds, each[0].scope) =>
                {
                    let people = persons.map_or(lead.n_rows as f64, |of| of.effective_all);
                    unmoved(lead.metric, people, ask.z)
                        .map_or(IntervalBasis::SumsOfGraphs, |interval| {
                            IntervalBasis::Formula(Some(interval))
                        })
                }
                Some(basis) => basis,
            }
        });
        let n_worlds = counts
            .worlds
            .iter()
            .zip(&each)
            .filter(|(_, m)| m.value.is_ok())
            .map(|(world, _)| world.copies)
            .sum();
        let n_undefined = counts
            .worlds
            .iter()
            .zip(&each)
            .filter(|(_, m)| m.value.is_err())
            .map(|(world, _)| world.copies)
            .sum();
        let mut flags: Vec<&'static str> =
            each.iter().flat_map(|m| m.flags.iter().copied()).collect();
        flags.extend(persons.iter().flat_map(|persons| persons.flags(&ask)));
        flags.sort_unstable_by(|a, b| b.cmp(a));
        flags.dedup();
        flags.extend(counts.sampled.then_some(SAMPLED));
        // Clear is what both other people and other graphs leave clear.
        let around = all.and_then(|all| all.spread);
        let is_clear = |ends: Option<(f64, f64)>| is_clear(each[0].ideal, ends, None);
        let clear = is_clear(interval.map(|i| (i.lo, i.hi)))
            && around.is_none_or(|around| is_clear(Some((around.lo, around.hi))));
        // The mean over graphs.
        let switched = counts.worlds.iter().zip(&each).try_fold((0, 0), |(sum, n), (world, m)| {
            match (m.value, m.switched) {
                (Err(_), _) => Some((sum, n)),
                (Ok(_), switched) => Some((sum + world.copies * switched?, n + world.copies)),
            }
        });
        let switched = switched.filter(|(_, n)| *n > 0).map(|(sum, n)| sum / n);
        // Of rows no more is known than how many persons they are at least.
        let switched = switched.map(|rows| persons.map_or(rows, |of| rows / of.most_rows));
        let named = value.ok().filter(|_| clear);
        let impaired = named
            .and_then(|value| impaired(each[0].metric, each[0].scope, value, switched, settings));
        let measured = MeasuredValue {
            switched,
            value,
            numerator: same(|m| m.numerator),
            denominator: same(|m| m.denominator),
            interval,
            ci_method,
            flags,
            impaired,
            persons: persons.map(|persons| persons.basis),
            ..lead.clone()
        };
        let each = each.iter().map(|m| (m.value, m.numerator, m.denominator)).collect();
        AcrossWorldsValue {
            measured,
            spread: around,
            level,
            spread_parts: parts,
            bootstrap_mean: spread(true).map(|even| even.mean),
            n_worlds,
            n_undefined,
            by_world: each,
        }
    };
    (0..first.len()).into_par_iter().map(across).collect()
}

/// Whether no score moves in any world, for a scope of people with one counterfactual each.
fn nobody_moves(worlds: &[Vec<MeasuredValue>], scope: MetricScope) -> bool {
    let is_still =
        |m: &MeasuredValue| m.metric.id == "macd" && m.scope == scope && m.value == Ok(0.0);
    matches!(scope, MetricScope::Direction(..) | MetricScope::Total)
        && worlds.iter().all(|world| world.iter().any(is_still))
}

/// The number of a direction among those of so many groups.
fn direction(groups: usize, from: usize, to: usize) -> usize {
    from * (groups - 1) + to - usize::from(to > from)
}

/// How often a person counts in a scope.
fn cases_of_person(scope: MetricScope, groups: usize) -> u64 {
    match scope {
        MetricScope::OneToRest(_) | MetricScope::Total => groups.saturating_sub(1).max(1) as u64,
        _ => 1,
    }
}

/// The interval of a rate that is the same in every world and replicate, of people who count so
/// often each.
fn boundary(numerator: u64, denominator: u64, cases: u64, z: f64) -> Option<ValueInterval> {
    if cases == 1 {
        return wilson(Rate { numerator, denominator, empty: Undefined::OperandMissing }, z);
    }
    let people = denominator as f64 / cases as f64;
    let method = IntervalProcedure::WilsonPeople;
    wilson_of_people(numerator > 0, people, z, method)
}

/// Every metric without a value: there is no world.
fn measure_no_worlds(
    groups: usize,
    level: Level,
    plain: &MeasureSettings,
) -> Vec<AcrossWorldsValue> {
    let nobody = CounterfactualCounts::new(groups);
    let second = ShiftEvidence { second: nobody.second_pass(), spreads: None };
    let across = |measured| AcrossWorldsValue {
        measured,
        spread: None,
        level,
        spread_parts: None,
        bootstrap_mean: None,
        n_worlds: 0,
        n_undefined: 0,
        by_world: Vec::new(),
    };
    measure_counterfactual(&nobody, Some(&second), None, plain).into_iter().map(across).collect()
}

/// The mean over worlds in every replicate, for every metric of cells in every scope.
struct WorldBootstrap {
    level: Level,
    /// For each value its replicates; none for metrics of scores.
    replicates: Vec<Option<Vec<MetricValue>>>,
}

/// A metric as a function of the cells of the directions of a scope.
type CellsToValue = Box<dyn Fn(SwitchCells) -> MetricValue + Sync>;

/// How a value follows from those of [`RedrawnMetrics::values`].
#[derive(Clone, Copy)]
enum RedrawnValue {
    Same(usize),
    Difference(usize, usize),
    Ratio(usize, usize),
}

/// What a replicate computes: the cells of each scope once, and each metric of them once.
#[derive(Default)]
struct RedrawnMetrics {
    /// The directions whose cells a scope adds up.
    scopes: Vec<Vec<usize>>,
    /// Metrics of the cells of one of the scopes.
    values: Vec<(&'static str, usize, CellsToValue)>,
}

impl RedrawnMetrics {
    /// A metric of a scope; none where it reads anything but cells.
    fn push(
        &mut self,
        measured: &MeasuredValue,
        groups: usize,
        settings: &MeasureSettings,
    ) -> Option<RedrawnValue> {
        let metric: &'static Metric = measured.metric;
        debug_assert!(
            matches!(metric.family, MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift),
            "a metric of counterfactuals"
        );
        let of = value_of_cells(metric, settings)?;
        let all = || ScopeIndex::new(groups).directions();
        let mut of_scope = |directions: Vec<(usize, usize)>| {
            let at = |&(from, to): &(usize, usize)| direction(groups, from, to);
            let held: Vec<usize> = directions.iter().map(at).collect();
            let known = self.scopes.iter().position(|scope| *scope == held);
            let scope = known.unwrap_or_else(|| {
                self.scopes.push(held);
                self.scopes.len() - 1
            });
            let mut values = self.values.iter();
            values.position(|known| (known.0, known.1) == (metric.id, scope)).unwrap_or_else(|| {
                self.values.push((metric.id, scope, Box::new(of)));
                self.values.len() - 1
            })
        };
        Some(match measured.scope {
            MetricScope::Difference(a, b) => {
                let (forth, back) = (of_scope(vec![(a, b)]), of_scope(vec![(b, a)]));
                if metric.is_of_two_directions() {
                    RedrawnValue::Ratio(forth, back)
                } else {
                    RedrawnValue::Difference(forth, back)
                }
            }
            MetricScope::Direction(from, to) => RedrawnValue::Same(of_scope(vec![(from, to)])),
            MetricScope::OneToRest(one) => {
                RedrawnValue::Same(of_scope(all().filter(|&(from, _)| from == one).collect()))
            }
            MetricScope::RestToOne(one) => {
                RedrawnValue::Same(of_scope(all().filter(|&(_, to)| to == one).collect()))
            }
            MetricScope::Total => RedrawnValue::Same(of_scope(all().collect())),
            _ => return None,
        })
    }

    /// All values of one replicate.
    fn compute(&self, cells: &[SwitchCells], scopes: &mut Vec<SwitchCells>) -> Vec<MetricValue> {
        scopes.clear();
        scopes.extend(self.scopes.iter().map(|held| {
            let mut sum = [0; ECCM_CELLS];
            for &direction in held {
                sum.iter_mut().zip(cells[direction]).for_each(|(sum, n)| *sum += n);
            }
            sum
        }));
        self.values.iter().map(|(_, scope, of)| of(scopes[*scope])).collect()
    }
}

impl WorldBootstrap {
    fn new(counts: &WorldCounts, ask: &MeasureContext<'_>, measured: &[MeasuredValue]) -> Self {
        let samples = usize::try_from(ask.settings.samples.get()).unwrap_or(usize::MAX);
        let mut metrics = RedrawnMetrics::default();
        let values: Vec<Option<RedrawnValue>> =
            measured.iter().map(|m| metrics.push(m, counts.groups, ask.settings)).collect();
        let asked: Vec<RedrawnValue> = values.iter().copied().flatten().collect();
        let poisson = PoissonWeights::new(ask.settings.seed.0, "bootstrap/worlds");
        let lanes = samples.div_ceil(LANES);
        // Block by block, how often it counts in each replicate.
        let times: Vec<Vec<[f64; LANES]>> = (0..WORLD_BLOCKS)
            .map(|block| {
                let mut times = vec![[0.0; LANES]; lanes];
                poisson.fill(block as u64, 0, &mut times);
                times
            })
            .collect();
        // For each of so many numbers of a block its sum in every replicate.
        let sums = |width: usize, of: &dyn Fn(usize) -> f64| -> Vec<Vec<f64>> {
            let kind = |kind: usize| {
                let mut sums = vec![[0.0; LANES]; lanes];
                for (block, times) in times.iter().enumerate() {
                    let n = of(width * block + kind);
                    if n > 0.0 {
                        for (sum, times) in sums.iter_mut().zip(times) {
                            sum.iter_mut().zip(times).for_each(|(sum, times)| *sum += n * times);
                        }
                    }
                }
                sums.as_flattened()[..samples].to_vec()
            };
            (0..width).map(kind).collect()
        };
        let groups = counts.groups;
        let directions: Vec<(usize, usize)> = ScopeIndex::new(groups).directions().collect();
        let people = sums(groups * KINDS, &|at| counts.people[at] as f64);
        let part = |part: usize| {
            let mut means = vec![(0.0, 0_u64); asked.len() * samples];
            let size = counts.worlds.len().div_ceil(CHUNKS);
            let range = (part * size).min(counts.worlds.len())
                ..((part + 1) * size).min(counts.worlds.len());
            for w in range {
                let (world, of_world) = (&counts.worlds[w], &counts.of_world[w]);
                let scopes = measured.iter().zip(&values).filter(|(_, value)| value.is_some());
                let unseen: Vec<bool> = scopes.map(|(m, _)| counts.is_unseen(w, m.scope)).collect();
                let width = directions.len() * KINDS;
                let switched = sums(width, &|at| f64::from(of_world.switched[at]));
                let mut cells = vec![[0; ECCM_CELLS]; directions.len()];
                let mut of_scopes = Vec::new();
                for r in 0..samples {
                    for (d, &(from, _)) in directions.iter().enumerate() {
                        for kind in 0..KINDS {
                            let (label, predicted) = (kind / 2, kind % 2);
                            let all = people[from * KINDS + kind][r];
                            let moved = switched[d * KINDS + kind][r];
                            let at = 4 * label + 2 * predicted;
                            cells[d][at + predicted] = (all - moved) as u64;
                            cells[d][at + 1 - predicted] = moved as u64;
                        }
                    }
                    let found = metrics.compute(&cells, &mut of_scopes);
                    let asked = asked.iter().zip(&unseen).zip(means.chunks_exact_mut(samples));
                    for ((value, _), means) in asked.filter(|((_, unseen), _)| !**unseen) {
                        let value = match *value {
                            RedrawnValue::Same(of) => found[of],
                            RedrawnValue::Difference(a, b) => difference(found[a], found[b]),
                            RedrawnValue::Ratio(a, b) => ratio(found[a], found[b]),
                        };
                        if let Ok(value) = value {
                            means[r].0 += world.copies as f64 * value;
                            means[r].1 += world.copies;
                        }
                    }
                }
            }
            means
        };
        let parts: Vec<Vec<(f64, u64)>> = (0..CHUNKS).into_par_iter().map(part).collect();
        let mut next = 0;
        let replicates = values.iter().map(|value| {
            value.as_ref()?;
            let at = next * samples;
            next += 1;
            let mean = |r: usize| {
                let (sum, n) = parts
                    .iter()
                    .fold((0.0, 0), |(sum, n), part| (sum + part[at + r].0, n + part[at + r].1));
                if n > 0 { Ok(sum / n as f64) } else { Err(Undefined::OperandMissing) }
            };
            Some((0..samples).map(mean).collect())
        });
        let replicates = replicates.collect();
        WorldBootstrap { level: ask.settings.level.unwrap_or(Level::DEFAULT), replicates }
    }

    fn interval(&self, k: usize, samples: u64, persons: Option<u64>) -> IntervalBasis {
        let Some(replicates) = &self.replicates[k] else { return IntervalBasis::SumsOfGraphs };
        let method = IntervalProcedure::Blocks { of: WORLD_BLOCKS as u32, centred: false };
        let source = ReplicateSource { method, persons };
        let found: Result<(ValueInterval, usize), _> =
            percentile(replicates.iter().copied(), self.level.get(), source);
        IntervalBasis::Replicates(found, samples)
    }
}

#[cfg(test)]
mod tests;
