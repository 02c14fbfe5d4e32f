//! Transport as a strategy: the plans that are made of its fitted state once samples are known.
//!
//! Plans depend on all samples together, so [`match_samples`] takes them, with the rows of the
//! reference as targets, and gives a generator that holds the image of every sample by its key.
//! Samples and targets are held in memory, with the columns of the variables that move only.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::generate::FittedStrategy;
use crate::counterfactual::transport::cost::TransportPopulation;
use crate::counterfactual::transport::distance::TransportDistance;
use crate::counterfactual::transport::image::{TransportImages, images};
use crate::counterfactual::transport::{
    SolvedProblem, TransportProblem, TransportSettings, solve, transport_problems,
};
use crate::counterfactual::variable::StrategyVariable;
use crate::counterfactual::{GeneratedBatch, Generator, SampleBatch, set_group};
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::data::{Attribute, FeatureColumn, FeatureRows, MISSING_GROUP};
use crate::error::{Error, Result};
use crate::param::Seed;

/// Rows with the columns that transport uses, and their keys, groups and classes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TransportRows {
    keys: Vec<u64>,
    groups: Vec<u16>,
    classes: Vec<Option<u32>>,
    /// For each column of the variables that move.
    columns: Vec<FeatureColumn>,
}

impl TransportRows {
    /// The rows of a batch that are matched, of the reference or of the samples: those that have a
    /// group.
    pub(crate) fn matched(
        fitted: &FittedStrategy,
        group: &ReferenceBatch,
        position: usize,
    ) -> Self {
        let samples = SampleBatch::of_reference(group, position);
        let chosen: Vec<usize> =
            (0..samples.rows.n).filter(|&i| samples.groups[i] != MISSING_GROUP).collect();
        let condition = fitted.rules.condition;
        TransportRows::from_chosen(&fitted.moving(), condition, &samples, &chosen)
    }

    fn from_chosen(
        variables: &[&StrategyVariable],
        condition: Conditioning,
        samples: &SampleBatch<'_>,
        chosen: &[usize],
    ) -> Self {
        let class = |i: usize| {
            if condition == Conditioning::Nothing { Some(0) } else { samples.classes[i] }
        };
        let column = |&column: &usize| samples.rows.columns[column].take(chosen);
        TransportRows {
            keys: chosen.iter().map(|&i| samples.keys[i]).collect(),
            groups: chosen.iter().map(|&i| samples.groups[i]).collect(),
            classes: chosen.iter().map(|&i| class(i)).collect(),
            columns: variables.iter().flat_map(|variable| &variable.columns).map(column).collect(),
        }
    }

    /// Appends the rows of a later batch.
    pub(crate) fn append(&mut self, other: TransportRows) {
        self.keys.extend(other.keys);
        self.groups.extend(other.groups);
        self.classes.extend(other.classes);
        if self.columns.is_empty() {
            self.columns = other.columns;
            return;
        }
        let columns = self.columns.iter_mut().zip(other.columns);
        columns.for_each(|(mine, theirs)| mine.append(theirs));
    }

    /// Only the features, without keys, groups and classes.
    pub(crate) fn to_rows(&self) -> FeatureRows {
        FeatureRows { n: self.keys.len(), columns: self.columns.clone(), source: Vec::new() }
    }
}

/// The distance over the variables that may change, in the units of all reference rows.
///
/// # Errors
/// The rows cannot be read, or the run is stopped.
pub(crate) fn reference_distance(
    fitted: &FittedStrategy,
    reference: &ReferenceRows<'_>,
    position: usize,
) -> Result<TransportDistance> {
    let (movers, mut all) = (fitted.moving(), TransportRows::default());
    let take = |group: &ReferenceBatch| {
        let samples = SampleBatch::of_reference(group, position);
        let chosen: Vec<usize> = (0..samples.rows.n).collect();
        TransportRows::from_chosen(&movers, Conditioning::Nothing, &samples, &chosen)
    };
    reference.fold(take, |rows| all.append(rows))?;
    let mut next = 0;
    let renumbered = |variable: &&StrategyVariable| {
        let from = next;
        next += variable.columns.len();
        StrategyVariable { columns: (from..next).collect(), ..(*variable).clone() }
    };
    Ok(TransportDistance::new(movers.iter().map(renumbered).collect(), &all.to_rows()))
}

/// Solves the problem of a number.
pub(crate) type ProblemTask<'a> = dyn Fn(usize) -> Result<SolvedProblem> + Sync + 'a;

/// Runs independent tasks on any thread and returns the results in order.
pub(crate) type ProblemSolver<'a> =
    dyn Fn(usize, &ProblemTask<'_>) -> Result<Vec<SolvedProblem>> + 'a;

/// The outcome of matching the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TransportTally {
    /// Samples that were matched.
    pub n: u64,
    /// The number of these in strata that were solved in blocks.
    pub n_approximate: u64,
    /// Samples with a group and a class for which the reference has no target.
    pub n_without_target: u64,
    /// Sum of the costs of all matched samples, in squared standard deviations.
    pub cost: f64,
}

/// What became of the samples, by own and target group.
pub(crate) type TransportTallies = Vec<(usize, usize, TransportTally)>;

/// Matches all samples with the reference, for every target group.
///
/// # Errors
/// A problem cannot be solved (the message names it), or the run is stopped.
pub(crate) fn match_samples(
    mut fitted: FittedStrategy,
    settings: TransportSettings,
    seed: Seed,
    (samples, reference): (TransportRows, TransportRows),
    spread: &ProblemSolver<'_>,
) -> Result<TransportGenerator> {
    let (sample_rows, reference_rows) = (samples.to_rows(), reference.to_rows());
    fn population<'a>(crowd: &'a TransportRows, rows: &'a FeatureRows) -> TransportPopulation<'a> {
        TransportPopulation {
            rows,
            row_key: &crowd.keys,
            groups: &crowd.groups,
            classes: &crowd.classes,
        }
    }
    let (sources, targets) =
        (population(&samples, &sample_rows), population(&reference, &reference_rows));
    let no_distance = || Error::operator("match", "samples", "no distance was learnt", None);
    let distance = fitted.distance.take().ok_or_else(no_distance)?;
    let n_groups = fitted.n_groups;
    let (images_by_key, values, tallies) = (HashMap::new(), Vec::new(), HashMap::new());
    let mut carrier = TransportGenerator { fitted, images: images_by_key, values, tallies };
    for to in 0..u16::try_from(n_groups).unwrap_or(MISSING_GROUP) {
        let made = transport_problems(&settings, &distance, seed, &sources, &targets, to);
        let work = |k: usize| solve(&settings, &distance, &sources, &targets, &made.problems[k]);
        let solved = spread(made.problems.len(), &work)?;
        carrier.count_matches(to, &made.problems, &solved, &samples, &made.without_target);
        let images = images(settings.image, &distance, &sources, &targets, &made.problems, &solved);
        carrier.store_images(to, &samples, &images, &distance);
    }
    Ok(carrier)
}

/// Generates the counterfactuals of matched samples.
#[derive(Debug)]
pub(crate) struct TransportGenerator {
    fitted: FittedStrategy,
    /// By key of the row and target group: the position of its values.
    images: HashMap<(u64, u16), u32>,
    /// For each image a value per variable that moves.
    values: Vec<f64>,
    tallies: HashMap<(u16, u16), TransportTally>,
}

impl TransportGenerator {
    fn store_images(
        &mut self,
        to: u16,
        samples: &TransportRows,
        images: &TransportImages,
        distance: &TransportDistance,
    ) {
        let width = distance.variables().len();
        for (k, &parent) in images.parent.iter().enumerate() {
            let at = u32::try_from(self.values.len() / width.max(1)).unwrap_or(u32::MAX);
            self.images.insert((samples.keys[parent], to), at);
            self.values.extend(
                distance.variables().iter().map(|variable| variable.value(&images.rows, k)),
            );
        }
    }

    fn count_matches(
        &mut self,
        to: u16,
        blocks: &[TransportProblem],
        solved: &[SolvedProblem],
        samples: &TransportRows,
        without_target: &[usize],
    ) {
        for (block, solved) in blocks.iter().zip(solved) {
            let n = block.sources.len() as u64;
            let tally = self.tallies.entry((block.from, to)).or_default();
            tally.n += n;
            tally.n_approximate += if block.approximate { n } else { 0 };
            tally.cost += solved.cost * n as f64;
        }
        for &sample in without_target {
            self.tallies.entry((samples.groups[sample], to)).or_default().n_without_target += 1;
        }
    }

    /// The outcome of matching the samples of group `from` in group `to`.
    pub(crate) fn tally(&self, from: usize, to: usize) -> TransportTally {
        let key = (
            u16::try_from(from).unwrap_or(MISSING_GROUP),
            u16::try_from(to).unwrap_or(MISSING_GROUP),
        );
        self.tallies.get(&key).copied().unwrap_or_default()
    }
}

impl Generator for TransportGenerator {
    fn generate(
        &self,
        samples: &SampleBatch<'_>,
        attribute: &Attribute,
        to: usize,
    ) -> GeneratedBatch {
        let group = u16::try_from(to).unwrap_or(MISSING_GROUP);
        let lacks = |group: usize| self.fitted.counts.lacks(group);
        let untaught: Vec<bool> =
            (0..self.fitted.n_groups).map(|own| lacks(own) || lacks(to)).collect();
        let own =
            |i: usize| samples.own_group(i, to).filter(|&own| untaught.get(own) == Some(&false));
        let image =
            |i: usize| own(i).and_then(|_| self.images.get(&(samples.keys[i], group)).copied());
        let (parent, at): (Vec<usize>, Vec<u32>) =
            (0..samples.rows.n).filter_map(|i| Some((i, image(i)?))).unzip();
        let mut rows = samples.rows.take(&parent);
        set_group(&mut rows, attribute, to);
        let mut made = GeneratedBatch::unchanged(rows, parent);
        let movers = self.fitted.moving();
        for (j, &at) in at.iter().enumerate() {
            let values = &self.values[at as usize * movers.len()..][..movers.len()];
            for (variable, &value) in movers.iter().zip(values) {
                let before = variable.value(&made.rows, j);
                if before.is_nan() || value.is_nan() {
                    continue;
                }
                made.counters[j].n_changed +=
                    u32::from((value - before).abs() > 1e-9 * before.abs().max(1.0));
                variable.set_value(&mut made.rows, j, value);
            }
        }
        self.fitted.judge(samples, to, &mut made);
        made
    }
}
