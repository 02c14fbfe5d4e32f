//! Transport: gives the rows of one group the values of real rows of another, with the smallest
//! total cost.
//!
//! Source: Black, Yeom and Fredrikson 2020, "FlipTest: Fairness Testing via Optimal Transport";
//! they solve the same linear program with equal group sizes, 1,000 rows a group, and no condition
//! on the label. Here: for a pair of groups (a, b) and a class y the sources are the samples (a,
//! y), the targets the rows of the reference (b, y) without a missing value in the features that
//! may move. Every source has the weight 1/n, every target 1/m; the plan x >= 0 with these row and
//! column sums minimises the sum of cost(source, target) * x, exactly ([`crate::num::transport`]).
//! The cost is a squared distance in standard deviations of the reference ([`distance`]); the row
//! that a source becomes is its image ([`image`]).
//!
//! Unlike in other strategies a counterfactual depends on all samples of its stratum, not only on
//! its row: all samples must be known first. The work is divided into independent
//! [`TransportProblem`]s: [`problems`](TransportMatching::problems), then
//! [`solve`](TransportMatching::solve) for each of them on any thread and in any order, then
//! [`images`](TransportMatching::images).
//!
//! Rows with the same values in those features become one point with their number as its weight,
//! which makes problems smaller and gives equal rows equal counterfactuals. Choice: the row with
//! the lowest key represents a point. As separate points, equal rows would have different targets
//! only because of the hashes of their keys. Choice: costs get 1e-6 * u01(h(0, i, j)) for the row
//! keys i, j, which makes the optimum unique except for coincidences; reported costs and ties
//! exclude it. Choice: a stratum with more than `max_rows` points on a side is solved
//! approximately. Sources: in ascending order of h(seed, i, 0), divided into ceil(n / max_rows)
//! blocks whose sizes differ by at most one row, so that no block is too small to represent its
//! stratum. Targets: for block k the `max_rows` rows with the smallest h(seed, j, k + 1). A side
//! that is small enough is used whole. Time: about n^2.5 for n points a side, see
//! [`crate::num::transport`]; memory: 8 bytes per pair of a block.

pub(crate) mod distance;
mod image;
pub(crate) mod matching;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::SampleBatch;
use crate::data::MISSING_GROUP;
use crate::error::{Fault, Result};
use crate::num::common_divisor;
use crate::num::seed::{h, u01};
use crate::num::transport::{CostMatrix, TransportError, solve as cheapest};
use crate::param::{Count, Seed};
use distance::{TransportCost, TransportDistance, WeightedPoints};

/// Settings of the transport plans.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TransportSettings {
    /// What a row becomes.
    pub image: TransportImage,
    /// The distance of two rows.
    pub cost: TransportCost,
    /// Largest number of distinct rows a side that are matched exactly.
    ///
    /// Larger strata are cut into blocks.
    pub max_rows: Count,
}

/// What a row becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportImage {
    /// The target with the most mass; of equals the cheapest, then the lowest row key.
    #[default]
    Argmax,
    /// The mean of its targets, weighted by mass.
    Barycentre,
}

/// One transport problem: source rows of one group and class, and target rows of another group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransportProblem {
    /// The group of the sources.
    pub from: u16,
    /// The group of the targets.
    pub to: u16,
    /// The class of both.
    pub class: u32,
    /// Positions in the samples, ascending.
    pub sources: Vec<usize>,
    /// Positions in the reference, ascending.
    pub targets: Vec<usize>,
    /// Whether it is one block of a stratum that was too large to be solved whole.
    pub approximate: bool,
}

/// The problems of all strata with one target group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TransportProblems {
    /// Ascending by group and class of the sources, then by block of the stratum.
    pub problems: Vec<TransportProblem>,
    /// Positions of the samples with a group and a class for which the reference has no target.
    pub without_target: Vec<usize>,
}

/// Samples (the sources) and reference rows (the targets). Distinct rows have distinct keys;
/// without a condition all rows have the same class.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransportMatching<'a> {
    /// The settings of the matching.
    pub settings: TransportSettings,
    /// The distance of two rows.
    pub distance: &'a TransportDistance,
    /// Seed of the job, by which large strata are cut.
    pub seed: Seed,
    /// The sources.
    pub samples: SampleBatch<'a>,
    /// The targets.
    pub reference: SampleBatch<'a>,
}

impl TransportMatching<'_> {
    /// The strata of all samples outside group `to`, cut into blocks above `max_rows`.
    ///
    /// Samples without a group or a class are in none.
    pub(crate) fn problems(&self, to: u16) -> TransportProblems {
        let strata = |side: &SampleBatch<'_>, takes_part: &dyn Fn(u16, usize) -> bool| {
            let mut strata: BTreeMap<(u16, u32), Vec<usize>> = BTreeMap::new();
            for (i, (&group, class)) in side.groups.iter().zip(side.classes).enumerate() {
                if let (true, &Some(class)) = (takes_part(group, i), class) {
                    strata.entry((group, class)).or_default().push(i);
                }
            }
            strata
        };
        let is_target =
            |group: u16, j: usize| group == to && self.distance.is_complete(self.reference.rows, j);
        let sources = strata(&self.samples, &|group, _| group != to && group != MISSING_GROUP);
        let targets = strata(&self.reference, &is_target);
        let mut made = TransportProblems { problems: Vec::new(), without_target: Vec::new() };
        for ((from, class), sources) in sources {
            match targets.get(&(to, class)) {
                None => made.without_target.extend(sources),
                Some(targets) => {
                    let (targets, approximate) = (targets.clone(), false);
                    let whole = TransportProblem { from, to, class, sources, targets, approximate };
                    self.split(whole, &mut made.problems);
                }
            }
        }
        made
    }

    fn split(&self, whole: TransportProblem, made: &mut Vec<TransportProblem>) {
        let most = self.settings.max_rows.size();
        let is_cut = |side: &SampleBatch<'_>, at: &[usize]| {
            at.len() > most && WeightedPoints::from_rows(self.distance, side, at).len() > most
        };
        let cut_sources = is_cut(&self.samples, &whole.sources);
        let cut_targets = is_cut(&self.reference, &whole.targets);
        if !cut_sources && !cut_targets {
            made.push(whole);
            return;
        }
        // Sorted by hash; equal hashes by key.
        let hashed =
            |side: &SampleBatch<'_>, at: &[usize], stream: u64| -> Vec<(u64, u64, usize)> {
                let hash = |key: u64| h(self.seed.0, key, stream);
                at.iter().map(|&i| (hash(side.keys[i]), side.keys[i], i)).collect()
            };
        let mut sources = hashed(&self.samples, &whole.sources, 0);
        sources.sort_unstable();
        let n_blocks = if cut_sources { sources.len().div_ceil(most) } else { 1 };
        for k in 0..n_blocks {
            let part = &sources[sources.len() * k / n_blocks..sources.len() * (k + 1) / n_blocks];
            let mut targets = whole.targets.clone();
            if cut_targets {
                let mut drawn = hashed(&self.reference, &targets, k as u64 + 1);
                drawn.select_nth_unstable(most);
                targets = ascending(&drawn[..most]);
            }
            let (sources, approximate) = (ascending(part), true);
            made.push(TransportProblem { sources, targets, approximate, ..whole });
        }
    }
}

fn ascending(part: &[(u64, u64, usize)]) -> Vec<usize> {
    let mut at: Vec<usize> = part.iter().map(|&(.., i)| i).collect();
    at.sort_unstable();
    at
}

/// One target of a source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TransportMatch {
    /// Position in the reference of the row with the lowest key among the rows with these values.
    pub target: usize,
    /// The mass that moves from the source to this target, in units of
    /// [`TransportMatches::supply`].
    pub mass: u64,
    /// The cost of one unit of mass, without the perturbation that makes the optimum unique.
    pub cost: f64,
}

/// The targets of a source, most mass first; ties go to the cheapest, then to the lowest row key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransportMatches {
    /// The targets; at least one.
    pub matches: Vec<TransportMatch>,
    /// The sum of their masses.
    pub supply: u64,
}

/// The optimal plan of a block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SolvedProblem {
    /// The position in `points` of each source of the block.
    pub point_of: Vec<u32>,
    /// The targets of each point.
    pub points: Vec<TransportMatches>,
    /// The mean cost of a source in squared standard deviations, without the perturbation.
    pub cost: f64,
}

impl TransportMatching<'_> {
    /// Solves a block optimally. Blocks are independent: any order, any thread.
    ///
    /// # Errors
    /// The costs do not fit into memory, or a distance is beyond the range of numbers.
    pub(crate) fn solve(&self, block: &TransportProblem) -> Result<SolvedProblem> {
        self.solve_exactly(block).map_err(|why| {
            let (n, m) = (block.sources.len(), block.targets.len());
            let fault = Fault::new(
                "no-transport",
                format!("no optimal transport of {n} rows to {m} rows: {why}"),
            );
            let hint = match why {
                TransportError::TooLarge => "lower `max_rows`",
                _ => "look for meaningless values larger than 1e150",
            };
            fault.hint(hint).into()
        })
    }

    fn solve_exactly(&self, block: &TransportProblem) -> Result<SolvedProblem, TransportError> {
        let (cost, distance) = (self.settings.cost, self.distance);
        let (samples, reference) = (&self.samples, &self.reference);
        let sources = WeightedPoints::from_rows(distance, samples, &block.sources);
        let targets = WeightedPoints::from_rows(distance, reference, &block.targets);
        let costs = CostMatrix::new(sources.len(), targets.len(), |i, row| {
            distance.costs(cost, &sources, i, &targets, 0, row);
            let key = samples.keys[sources.first_row[i]];
            for (cost, &first) in row.iter_mut().zip(&targets.first_row) {
                *cost += 1e-6 * u01(h(0, key, reference.keys[first]));
            }
        })?;
        // A row of n sources has m units, one of m targets n units, both divided by their greatest
        // common divisor.
        let (n, m) = (block.sources.len() as u64, block.targets.len() as u64);
        let common = common_divisor(n, m);
        let weights = |points: &WeightedPoints, unit: u64| -> Result<Vec<u64>, TransportError> {
            points
                .weight
                .iter()
                .map(|w| w.checked_mul(unit).ok_or(TransportError::TooLarge))
                .collect()
        };
        let (supply, demand) = (weights(&sources, m / common)?, weights(&targets, n / common)?);
        let plan = cheapest(&costs, &supply, &demand)?;
        let mut points: Vec<TransportMatches> =
            supply.iter().map(|&supply| TransportMatches { matches: Vec::new(), supply }).collect();
        let mut total = 0.0;
        for flow in &plan.flows {
            let (source, target) = (flow.source as usize, flow.target as usize);
            let mut of_pair = [0.0];
            distance.costs(cost, &sources, source, &targets, target, &mut of_pair);
            total += of_pair[0] * flow.amount as f64;
            points[source].matches.push(TransportMatch {
                target: targets.first_row[target],
                mass: flow.amount,
                cost: of_pair[0],
            });
        }
        for point in &mut points {
            let rank = |m: &TransportMatch| reference.keys[m.target];
            point.matches.sort_by(|a, b| {
                b.mass.cmp(&a.mass).then(a.cost.total_cmp(&b.cost)).then(rank(a).cmp(&rank(b)))
            });
        }
        Ok(SolvedProblem {
            point_of: sources.point_of,
            points,
            cost: total / supply.iter().sum::<u64>() as f64,
        })
    }
}

#[cfg(test)]
mod tests;
