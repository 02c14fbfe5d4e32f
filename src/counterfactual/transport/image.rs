//! The image of a row under a transport plan: one of its targets, or their mean.
//!
//! The features that may move are set; a missing value of the row stays missing, and all other
//! columns are copied. The caller sets the column of the sensitive attribute.
//! Choice: in a barycentre an ordinal takes the reference value nearest to the mean (ties to the
//! lower), a whole number is rounded as in generation, floor(x + 0.5 + 1e-9), and of categories
//! with equal mass the first in declared order is taken; so models get values that can occur.

use crate::counterfactual::transport::{
    SolvedProblem, TransportImage, TransportMatches, TransportMatching, TransportProblem,
};
use crate::counterfactual::variable::VariableScale;
use crate::data::FeatureRows;

impl TransportMatching<'_> {
    /// The counterfactuals of all samples that are in a block, and the positions of their rows in
    /// the samples, ascending.
    ///
    /// `solved` holds the solution of each of `blocks`, in the same order.
    pub(crate) fn images(
        &self,
        blocks: &[TransportProblem],
        solved: &[SolvedProblem],
    ) -> (Vec<usize>, FeatureRows) {
        let mut of_sample: Vec<(usize, &TransportMatches)> = Vec::new();
        for (block, solved) in blocks.iter().zip(solved) {
            let matches = solved.point_of.iter().map(|&point| &solved.points[point as usize]);
            of_sample.extend(block.sources.iter().copied().zip(matches));
        }
        of_sample.sort_unstable_by_key(|(sample, _)| *sample);
        let parent: Vec<usize> = of_sample.iter().map(|(sample, _)| *sample).collect();
        let mut rows = self.samples.rows.take(&parent);
        for (k, (_, matches)) in of_sample.iter().enumerate() {
            for (at, variable) in self.distance.variables.iter().enumerate() {
                if !variable.value(&rows, k).is_nan() {
                    variable.set_value(&mut rows, k, self.image(at, matches));
                }
            }
        }
        (parent, rows)
    }

    /// The value of the variable at a position that a source gets from its targets.
    fn image(&self, at: usize, matches: &TransportMatches) -> f64 {
        let variable = &self.distance.variables[at];
        let value = |target: usize| variable.value(self.reference.rows, target);
        let first = value(matches.matches[0].target);
        if self.settings.image == TransportImage::Argmax {
            return first;
        }
        let values = matches.matches.iter().map(|m| (value(m.target), m.mass));
        if let VariableScale::Categorical(_) = variable.scale {
            return heaviest_level(values.collect());
        }
        // Relative to the first value, so that the mean of equal values is exactly that value.
        let part = |(x, mass): (f64, u64)| (x - first) * (mass as f64 / matches.supply as f64);
        let mean = first + values.map(part).sum::<f64>();
        match variable.scale {
            VariableScale::Ordinal {} => self.distance.nearest_value(at, mean),
            VariableScale::Continuous { integer: true } => (mean + 0.5 + 1e-9).floor(),
            _ => mean,
        }
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
