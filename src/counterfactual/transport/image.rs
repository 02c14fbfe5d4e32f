//! The image of a row under a transport plan: one of its targets, or their mean.
//!
//! The features that may move are set; a value that is missing in the row stays missing, all other
//! columns are copied. The caller sets the column of the sensitive attribute.
//! Choice: in a barycentre an ordinal takes the reference value nearest to the mean (ties to the
//! lower), a whole number is rounded as in generation, floor(x + 0.5 + 1e-9), and of categories
//! with equal mass the first in declared order is taken; so models get values that can occur.

use crate::counterfactual::transport::cost::TransportPopulation;
use crate::counterfactual::transport::distance::TransportDistance;
use crate::counterfactual::transport::{
    SolvedProblem, TransportImage, TransportMatches, TransportProblem,
};
use crate::counterfactual::variable::{StrategyVariable, VariableScale};
use crate::data::FeatureRows;

/// The counterfactuals of all blocks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransportImages {
    /// For each counterfactual the position of its row in the samples, ascending.
    pub parent: Vec<usize>,
    /// The position in the reference of the row whose values it has; `None` for a barycentre.
    pub target: Vec<Option<usize>>,
    /// Whether its stratum was solved in blocks.
    pub approximate: Vec<bool>,
    /// The rows.
    pub rows: FeatureRows,
}

/// The counterfactuals of all samples that are in a block, in the order of the samples.
///
/// `solved` holds the solution of each of `blocks`, in the same order.
pub(crate) fn images(
    image: TransportImage,
    distance: &TransportDistance,
    samples: &TransportPopulation<'_>,
    reference: &TransportPopulation<'_>,
    blocks: &[TransportProblem],
    solved: &[SolvedProblem],
) -> TransportImages {
    let mut of_sample: Vec<(usize, &TransportMatches, bool)> = Vec::new();
    for (block, solved) in blocks.iter().zip(solved) {
        let matches = solved.point_of.iter().map(|&point| &solved.points[point as usize]);
        of_sample.extend(
            block
                .sources
                .iter()
                .zip(matches)
                .map(|(&sample, matches)| (sample, matches, block.approximate)),
        );
    }
    of_sample.sort_unstable_by_key(|(sample, ..)| *sample);
    let target_of = |of: &TransportMatches| match image {
        TransportImage::Argmax => Some(of.matches[0].target),
        TransportImage::Barycentre => None,
    };
    let parent: Vec<usize> = of_sample.iter().map(|(sample, ..)| *sample).collect();
    let mut rows = samples.rows.take(&parent);
    let target: Vec<Option<usize>> = of_sample.iter().map(|&(_, of, _)| target_of(of)).collect();
    for (k, (&(_, of, _), &target)) in of_sample.iter().zip(&target).enumerate() {
        for (at, variable) in distance.variables().iter().enumerate() {
            if variable.value(&rows, k).is_nan() {
                continue;
            }
            let value = match target {
                Some(target) => variable.value(reference.rows, target),
                None => barycentre(distance, at, variable, of, reference.rows),
            };
            variable.set_value(&mut rows, k, value);
        }
    }
    let approximate = of_sample.iter().map(|(.., approximate)| *approximate).collect();
    TransportImages { parent, target, approximate, rows }
}

fn barycentre(
    distance: &TransportDistance,
    at: usize,
    variable: &StrategyVariable,
    of: &TransportMatches,
    reference: &FeatureRows,
) -> f64 {
    let values = of.matches.iter().map(|m| (variable.value(reference, m.target), m.mass));
    if let VariableScale::Categorical(_) = variable.scale {
        return heaviest_level(values.collect());
    }
    // Relative to the first value, so that the mean of equal values is exactly that value.
    let first = variable.value(reference, of.matches[0].target);
    let mean =
        first + values.map(|(x, mass)| (x - first) * (mass as f64 / of.supply as f64)).sum::<f64>();
    match variable.scale {
        VariableScale::Ordinal {} => distance.nearest_value(at, mean),
        VariableScale::Continuous { integer: true } => (mean + 0.5 + 1e-9).floor(),
        _ => mean,
    }
}

/// The level with the most mass; ties go to the lowest.
fn heaviest_level(mut levels: Vec<(f64, u64)>) -> f64 {
    levels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut best = (f64::NAN, 0);
    for group in levels.chunk_by(|a, b| a.0 == b.0) {
        let mass: u64 = group.iter().map(|(_, mass)| mass).sum();
        if mass > best.1 {
            best = (group[0].0, mass);
        }
    }
    best.0
}
