//! The image of a row under a transport plan: one of its targets, their mean, or all of them.
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
use crate::error::{Fault, Result};

/// The counterfactuals of all blocks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TransportImages {
    /// For each counterfactual the position of its row in the samples, ascending.
    pub parent: Vec<usize>,
    /// Its number among the counterfactuals of the row, from 0.
    ///
    /// With [`TransportImage::All`] in descending order of mass.
    pub cf_index: Vec<u16>,
    /// Its share of the row: 1, or with [`TransportImage::All`] shares that sum to 1 per row.
    pub weight: Vec<f64>,
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
///
/// # Errors
/// A row has more counterfactuals than `cf_index` can number.
pub(crate) fn images(
    image: TransportImage,
    distance: &TransportDistance,
    samples: &TransportPopulation<'_>,
    reference: &TransportPopulation<'_>,
    blocks: &[TransportProblem],
    solved: &[SolvedProblem],
) -> Result<TransportImages> {
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
    let n = if image == TransportImage::All {
        of_sample.iter().map(|(_, of, _)| of.matches.len()).sum()
    } else {
        of_sample.len()
    };
    let mut made = TransportImages {
        parent: Vec::with_capacity(n),
        cf_index: Vec::with_capacity(n),
        weight: Vec::with_capacity(n),
        target: Vec::with_capacity(n),
        approximate: Vec::with_capacity(n),
        rows: FeatureRows { n: 0, columns: Vec::new(), source: Vec::new() },
    };
    // For each counterfactual the targets of its row.
    let mut goes_to = Vec::with_capacity(n);
    for (sample, of, approximate) in of_sample {
        let mut push = |k: usize, weight: f64, target: Option<usize>| -> Result<()> {
            made.cf_index.push(u16::try_from(k).map_err(|_| too_many(of))?);
            made.parent.push(sample);
            made.weight.push(weight);
            made.target.push(target);
            made.approximate.push(approximate);
            goes_to.push(of);
            Ok(())
        };
        match image {
            TransportImage::Argmax => push(0, 1.0, Some(of.matches[0].target))?,
            TransportImage::All => {
                for (k, one) in of.matches.iter().enumerate() {
                    push(k, one.mass as f64 / of.supply as f64, Some(one.target))?;
                }
            }
            TransportImage::Barycentre => push(0, 1.0, None)?,
        }
    }
    made.rows = samples.rows.take(&made.parent);
    for (k, (of, &target)) in goes_to.into_iter().zip(&made.target).enumerate() {
        for (at, variable) in distance.variables().iter().enumerate() {
            if variable.value(&made.rows, k).is_nan() {
                continue;
            }
            let value = match target {
                Some(target) => variable.value(reference.rows, target),
                None => barycentre(distance, at, variable, of, reference.rows),
            };
            variable.set_value(&mut made.rows, k, value);
        }
    }
    Ok(made)
}

fn too_many(of: &TransportMatches) -> Fault {
    let what = format!(
        "a row goes to {} rows, and at most 65536 counterfactuals of a row can be numbered",
        of.matches.len()
    );
    Fault::new("no-transport", what).hint("lower `max_rows`, or use `image: argmax`")
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
