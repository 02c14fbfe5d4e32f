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
//! [`weights`](crate::metric::evidence::block_bootstrap):
//! a world then is a few numbers, regardless of the number of people. The spread of 200 blocks is
//! that of their people, known to about 5 %. Where all replicates agree, because nobody switches in
//! any graph or everybody does, a rate has Wilson's interval. Metrics of scores have none, since
//! their worlds are kept as sums of everybody; but where no score moves in any graph, the distances
//! have that of the share of people who move.
//!
//! Memory: 17 kilobytes a world; cost of the intervals: worlds x replicates x (blocks x 8 + metrics
//! x scopes) steps.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ask::{IntervalBasis, MeasureContext, is_clear};
use super::switches::{impaired, measure_counterfactual, unmoved, value_of_cells};
use crate::exec::accumulator::Accumulator;
use crate::metric::bootstrap::redraw::ShiftEvidence;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::person::{
    ECCM_CELLS, ScoredCounterfactual, ScoredPerson, SwitchCells,
};
use crate::metric::evidence::shift_pass::ShiftPass;
use crate::metric::interval::{
    IntervalProcedure, NoIntervalReason, ValueInterval, percentile, wilson,
};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::measured::MeasuredValue;
use crate::metric::value::settings::MeasureSettings;
use crate::metric::{Metric, MetricFamily, difference};
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

/// People of one block by label (no, yes, not known) and prediction, for each of the two groups: at
/// 6 group + 2 label + prediction.
const KINDS: usize = 12;

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
    /// Whether a class of graphs was sampled.
    pub sampled: bool,
    cut: u64,
    /// People of each block by [`KINDS`], block by block.
    people: Vec<u64>,
    /// The worlds, then their graphs fitted on all training rows.
    of_world: Vec<WorldSwitchCounts>,
}

/// What is counted in one world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WorldSwitchCounts {
    counts: CounterfactualCounts,
    /// Those of `people` whose prediction switches; empty where all training rows were fitted, of
    /// which there is no interval.
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
    /// Nobody yet, in these worlds of an attribute with two groups.
    pub(crate) fn new(worlds: Vec<GraphWorld>, sampled: bool, seed: Seed) -> Self {
        let nobody = |of: usize| WorldSwitchCounts {
            counts: CounterfactualCounts::new(2),
            switched: vec![0; of],
            second: None,
        };
        let on_all_rows = worlds.iter().map(|world| world.all_rows + 1).max().unwrap_or(0);
        let mut of_world = vec![nobody(WORLD_BLOCKS * KINDS); worlds.len()];
        of_world.extend(vec![nobody(0); on_all_rows]);
        let cut = named_seed(seed.0, "bootstrap/worlds/cut");
        WorldCounts { worlds, sampled, cut, people: vec![0; WORLD_BLOCKS * KINDS], of_world }
    }

    /// Adds a person with the counterfactual of each world, then of each graph fitted on all
    /// training rows. `key` is the person's own.
    ///
    /// # Panics
    /// Where there are not as many counterfactuals as that: a bug of the caller.
    pub(crate) fn add(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        assert_eq!(
            counterfactuals.len(),
            self.of_world.len(),
            "a counterfactual per world and graph"
        );
        let block =
            usize::try_from(((h(self.cut, key, 0) >> 32) * WORLD_BLOCKS as u64) >> 32).unwrap_or(0);
        let label = person.label.map_or(2, usize::from);
        let at = person
            .predicted
            .map(|predicted| KINDS * block + 6 * person.group + 2 * label + usize::from(predicted));
        // In every world the same people have a counterfactual.
        let at = at.filter(|_| {
            counterfactuals.iter().all(|counterfactual| counterfactual.predicted.is_some())
        });
        if let Some(at) = at {
            self.people[at] += 1;
        }
        for (world, counterfactual) in self.of_world.iter_mut().zip(counterfactuals) {
            world.counts.add(person, std::slice::from_ref(counterfactual));
            if let Some(switched) = at
                .filter(|_| counterfactual.predicted != person.predicted)
                .and_then(|at| world.switched.get_mut(at))
            {
                *switched += 1;
            }
        }
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
    fn merge(&mut self, other: Self) {
        self.people.iter_mut().zip(&other.people).for_each(|(mine, theirs)| *mine += theirs);
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
    person: &ScoredPerson,
    counterfactuals: &[ScoredCounterfactual],
) {
    second
        .iter_mut()
        .zip(counterfactuals)
        .for_each(|(pass, counterfactual)| pass.add(person, std::slice::from_ref(counterfactual)));
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
        return measure_no_worlds(level, &plain);
    }
    let of_world = |world: &WorldSwitchCounts| {
        let second = world.second.clone().map(|second| ShiftEvidence { second, intervals: None });
        measure_counterfactual(&world.counts, second.as_ref(), None, &plain)
    };
    let measured: Vec<Vec<MeasuredValue>> = counts.of_world.par_iter().map(of_world).collect();
    let Some(first) = measured.first() else { return Vec::new() };
    let ask = MeasureContext::new(settings);
    let drawn = settings.level.map(|_| WorldBootstrap::new(counts, &ask, first));
    let mut members =
        vec![0; counts.worlds.iter().map(|world| world.bootstrap + 1).max().unwrap_or(0)];
    counts.worlds.iter().for_each(|world| members[world.bootstrap] += world.copies);
    let (measured_worlds, on_all_rows) = measured.split_at(counts.worlds.len());
    let across = |k: usize| -> AcrossWorldsValue {
        let each: Vec<&MeasuredValue> =
            measured_worlds.iter().map(|of_world| &of_world[k]).collect();
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
            of(each[0]).filter(|first| each.iter().all(|m| of(m) == Some(*first)))
        };
        let counts_of_all = same(|m| m.numerator).zip(same(|m| m.denominator));
        let (interval, ci_method) = ask.interval(value, || {
            match drawn.as_ref().map(|drawn| drawn.interval(k, settings.samples.get())) {
                None => IntervalBasis::NotDrawn,
                // Nobody switches, or everybody does: in every graph it is the same rate, which has
                // a formula.
                Some(IntervalBasis::Replicates(Err(NoIntervalReason::AllAgree), n)) => {
                    match counts_of_all {
                        Some((numerator, denominator)) => IntervalBasis::Formula(wilson(
                            Rate { numerator, denominator, empty: Undefined::OperandMissing },
                            ask.z,
                        )),
                        None => IntervalBasis::Replicates(Err(NoIntervalReason::AllAgree), n),
                    }
                }
                Some(IntervalBasis::SumsOfGraphs)
                    if nobody_moves(measured_worlds, each[0].scope) =>
                {
                    unmoved(each[0].metric, each[0].n_rows as f64, ask.z)
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
            ..each[0].clone()
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

/// Every metric without a value: there is no world.
fn measure_no_worlds(level: Level, plain: &MeasureSettings) -> Vec<AcrossWorldsValue> {
    let nobody = CounterfactualCounts::new(2);
    let second = ShiftEvidence { second: nobody.second_pass(), intervals: None };
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

/// A value to be redrawn.
type CellsToValue = Box<dyn Fn(&[SwitchCells; 2]) -> MetricValue + Sync>;

impl WorldBootstrap {
    fn new(counts: &WorldCounts, ask: &MeasureContext<'_>, measured: &[MeasuredValue]) -> Self {
        let samples = usize::try_from(ask.settings.samples.get()).unwrap_or(usize::MAX);
        let values: Vec<Option<CellsToValue>> =
            measured.iter().map(|m| value_of(m, ask.settings)).collect();
        let asked: Vec<&CellsToValue> = values.iter().flatten().collect();
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
        let sums = |of: &dyn Fn(usize) -> f64| -> Vec<Vec<f64>> {
            let kind = |kind: usize| {
                let mut sums = vec![[0.0; LANES]; lanes];
                for (block, times) in times.iter().enumerate() {
                    let n = of(KINDS * block + kind);
                    if n > 0.0 {
                        for (sum, times) in sums.iter_mut().zip(times) {
                            sum.iter_mut().zip(times).for_each(|(sum, times)| *sum += n * times);
                        }
                    }
                }
                sums.as_flattened()[..samples].to_vec()
            };
            (0..KINDS).map(kind).collect()
        };
        let people = sums(&|at| counts.people[at] as f64);
        let part = |part: usize| {
            let mut means = vec![(0.0, 0_u64); asked.len() * samples];
            let size = counts.worlds.len().div_ceil(CHUNKS);
            let range = (part * size).min(counts.worlds.len())
                ..((part + 1) * size).min(counts.worlds.len());
            for (world, of_world) in
                counts.worlds[range.clone()].iter().zip(&counts.of_world[range])
            {
                let switched = sums(&|at| f64::from(of_world.switched[at]));
                for r in 0..samples {
                    let mut cells = [[0; ECCM_CELLS]; 2];
                    for kind in 0..KINDS {
                        let (group, label, predicted) = (kind / 6, kind / 2 % 3, kind % 2);
                        let (all, moved) = (people[kind][r], switched[kind][r]);
                        cells[group][4 * label + 2 * predicted + predicted] = (all - moved) as u64;
                        cells[group][4 * label + 2 * predicted + (1 - predicted)] = moved as u64;
                    }
                    for (value, means) in asked.iter().zip(means.chunks_exact_mut(samples)) {
                        if let Ok(value) = value(&cells) {
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

    fn interval(&self, k: usize, samples: u64) -> IntervalBasis {
        let Some(replicates) = &self.replicates[k] else { return IntervalBasis::SumsOfGraphs };
        let method = IntervalProcedure::Blocks { of: WORLD_BLOCKS as u32, centred: false };
        let found: Result<(ValueInterval, usize), _> =
            percentile(replicates.iter().copied(), self.level.get(), method);
        IntervalBasis::Replicates(found, samples)
    }
}

/// A metric of a scope as a function of the cells of both directions; none where it reads scores.
fn value_of(measured: &MeasuredValue, settings: &MeasureSettings) -> Option<CellsToValue> {
    let metric: &'static Metric = measured.metric;
    debug_assert!(
        matches!(metric.family, MetricFamily::Ccm | MetricFamily::Eccm | MetricFamily::Shift),
        "a metric of counterfactuals"
    );
    let of = value_of_cells(metric, settings)?;
    Some(match measured.scope {
        MetricScope::Direction(from, _) => Box::new(move |cells| of(cells[from])),
        MetricScope::Difference(a, b) => {
            Box::new(move |cells| difference(of(cells[a]), of(cells[b])))
        }
        MetricScope::Total => {
            Box::new(move |cells| of(std::array::from_fn(|i| cells[0][i] + cells[1][i])))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
