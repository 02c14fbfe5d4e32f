//! Transport as a strategy: the plans that are made from its fitted state once the samples are
//! known.
//!
//! Plans depend on all samples together, so [`match_samples`] takes them, with the rows of the
//! reference as targets, and gives a generator that holds the image of every sample by its key.
//! Samples and targets are kept in memory, only with the columns of the variables that move.

use std::collections::{BTreeMap, HashMap};

use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::map_flip::FittedStrategy;
use crate::counterfactual::transport::distance::TransportDistance;
use crate::counterfactual::transport::{
    SolvedProblem, TransportMatching, TransportProblems, TransportSettings,
};
use crate::counterfactual::variable::StrategyVariable;
use crate::counterfactual::{
    GeneratedBatch, Generator, SampleBatch, TargetGroup, TransportTallies, TransportTally, differs,
};
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::data::{FeatureRows, MISSING_GROUP};
use crate::error::{Error, Result};
use crate::param::Seed;

/// Rows with the columns of the variables that move, and their keys, groups and classes.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TransportRows {
    keys: Vec<u64>,
    groups: Vec<u16>,
    classes: Vec<Option<u32>>,
    rows: FeatureRows,
}

impl TransportRows {
    /// The rows of a batch that are matched, of the reference or of the samples: rows with a group.
    pub(crate) fn matched(
        fitted: &FittedStrategy,
        group: &ReferenceBatch,
        position: usize,
    ) -> Self {
        let samples = SampleBatch::of_reference(group, position);
        let chosen: Vec<usize> =
            (0..samples.rows.n).filter(|&i| samples.groups[i] != MISSING_GROUP).collect();
        let class = |i: usize| match fitted.rules.condition {
            Conditioning::Nothing => Some(0),
            Conditioning::Class => samples.classes[i],
        };
        TransportRows {
            keys: chosen.iter().map(|&i| samples.keys[i]).collect(),
            groups: chosen.iter().map(|&i| samples.groups[i]).collect(),
            classes: chosen.iter().map(|&i| class(i)).collect(),
            rows: moving_columns(fitted, samples.rows, &chosen),
        }
    }

    /// Appends the rows of a later batch.
    pub(crate) fn append(&mut self, other: TransportRows) {
        self.keys.extend(other.keys);
        self.groups.extend(other.groups);
        self.classes.extend(other.classes);
        self.rows.append(other.rows);
    }

    fn batch(&self) -> SampleBatch<'_> {
        let TransportRows { keys, groups, classes, rows } = self;
        SampleBatch { keys, rows, groups, classes }
    }
}

/// The columns of the variables that move, of these rows.
fn moving_columns(fitted: &FittedStrategy, rows: &FeatureRows, chosen: &[usize]) -> FeatureRows {
    let columns = fitted.moving().into_iter().flat_map(|variable| &variable.columns);
    let columns = columns.map(|&column| rows.columns[column].take(chosen)).collect();
    FeatureRows { n: chosen.len(), columns, source: Vec::new() }
}

/// The distance over the variables that may change, in the units of all reference rows.
///
/// # Errors
/// The rows cannot be read, or the run is stopped.
pub(crate) fn reference_distance(
    fitted: &FittedStrategy,
    reference: &ReferenceRows<'_>,
) -> Result<TransportDistance> {
    let (movers, mut all) = (fitted.moving(), FeatureRows::default());
    let take = |group: &ReferenceBatch| {
        moving_columns(fitted, &group.rows, &(0..group.rows.n).collect::<Vec<_>>())
    };
    reference.fold(take, |rows| all.append(rows))?;
    let mut next = 0;
    let renumbered = |variable: &&StrategyVariable| {
        let from = next;
        next += variable.columns.len();
        StrategyVariable { columns: (from..next).collect(), ..(*variable).clone() }
    };
    Ok(TransportDistance::new(movers.iter().map(renumbered).collect(), &all))
}

/// Solves the problem of a number.
pub(crate) type ProblemTask<'a> = dyn Fn(usize) -> Result<SolvedProblem> + Sync + 'a;

/// Runs independent tasks on any thread and returns the results in order.
pub(crate) type ProblemSolver<'a> =
    dyn Fn(usize, &ProblemTask<'_>) -> Result<Vec<SolvedProblem>> + 'a;

/// Matches all samples with the reference, for every target group.
///
/// # Errors
/// A problem cannot be solved (the message names it), or the run is stopped.
pub(crate) fn match_samples(
    mut fitted: FittedStrategy,
    settings: TransportSettings,
    seed: Seed,
    (samples, reference): (&TransportRows, &TransportRows),
    spread: &ProblemSolver<'_>,
) -> Result<TransportGenerator> {
    let no_distance = || Error::operator("match", "samples", "no distance was learnt", None);
    let distance = &fitted.distance.take().ok_or_else(no_distance)?;
    let groups = fitted.n_groups;
    let pairs = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
    let pairs = pairs.filter(|(from, to)| from != to);
    let mut tallies: BTreeMap<(usize, usize), TransportTally> =
        pairs.map(|pair| (pair, TransportTally::default())).collect();
    let (samples, reference) = (samples.batch(), reference.batch());
    let matching = TransportMatching { settings, distance, seed, samples, reference };
    let (images, values) = (HashMap::new(), Vec::new());
    let mut made = TransportGenerator { fitted, images, values, tallies: Vec::new() };
    for to in 0..u16::try_from(groups).unwrap_or(MISSING_GROUP) {
        let TransportProblems { problems, without_target } = matching.problems(to);
        let solved = spread(problems.len(), &|k| matching.solve(&problems[k]))?;
        for (block, solved) in problems.iter().zip(&solved) {
            let n = block.sources.len() as u64;
            let tally = tallies.entry((usize::from(block.from), usize::from(to))).or_default();
            tally.n += n;
            tally.n_approximate += if block.approximate { n } else { 0 };
            tally.cost += solved.cost * n as f64;
        }
        for sample in without_target {
            let from = usize::from(samples.groups[sample]);
            tallies.entry((from, usize::from(to))).or_default().n_without_target += 1;
        }
        let (parent, rows) = matching.images(&problems, &solved);
        let variables = &distance.variables;
        for (k, parent) in parent.into_iter().enumerate() {
            let at = u32::try_from(made.values.len() / variables.len().max(1)).unwrap_or(u32::MAX);
            made.images.insert((samples.keys[parent], to), at);
            made.values.extend(variables.iter().map(|variable| variable.value(&rows, k)));
        }
    }
    made.tallies = tallies.into_iter().map(|((from, to), tally)| (from, to, tally)).collect();
    Ok(made)
}

/// Generates the counterfactuals of matched samples.
#[derive(Debug)]
pub(crate) struct TransportGenerator {
    fitted: FittedStrategy,
    /// The position of the values, by key of the row and target group.
    images: HashMap<(u64, u16), u32>,
    /// The values of each image, one per variable that moves.
    values: Vec<f64>,
    tallies: TransportTallies,
}

impl Generator for TransportGenerator {
    fn tallies(&self) -> Option<&TransportTallies> {
        Some(&self.tallies)
    }

    fn generate(&self, samples: &SampleBatch<'_>, to: TargetGroup<'_>) -> GeneratedBatch {
        let group = u16::try_from(to.group).unwrap_or(MISSING_GROUP);
        let has_rows = self.fitted.groups_with_rows();
        let image = |i: usize| {
            let own = samples.own_group(i, to.group).filter(|_| has_rows[to.group]);
            own.filter(|&own| has_rows.get(own) == Some(&true))?;
            self.images.get(&(samples.keys[i], group)).copied()
        };
        let (parent, at): (Vec<usize>, Vec<u32>) =
            (0..samples.rows.n).filter_map(|i| Some((i, image(i)?))).unzip();
        let mut made = GeneratedBatch::in_group(samples, to, parent);
        let movers = self.fitted.moving();
        for (j, &at) in at.iter().enumerate() {
            let values = &self.values[at as usize * movers.len()..][..movers.len()];
            for (variable, &value) in movers.iter().zip(values) {
                let before = variable.value(&made.rows, j);
                if before.is_nan() || value.is_nan() {
                    continue;
                }
                made.counters[j].n_changed += u32::from(differs(before, value));
                variable.set_value(&mut made.rows, j, value);
            }
        }
        self.fitted.judge(samples, to.group, &mut made);
        made
    }
}
