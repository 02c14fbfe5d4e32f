//! The generators of the folds of a set and what they are made from.

use std::sync::Arc;

use crate::counterfactual::Generator;
use crate::counterfactual::engine::FoldRows;
use crate::counterfactual::map_flip::FittedStrategy;
use crate::counterfactual::plan::StrategyPlan;
use crate::data::exchange::external::ExternalRows;
use crate::data::rows::Projection;
use crate::data::rows::reference::{ReferenceBatch, ReferenceRows};
use crate::error::Result;
use crate::exec::accumulator::PieceLoop;
use crate::exec::pieces::StageWatch;
use crate::param::Seed;
use crate::stage::generate::basis::LearningReference;
use crate::stage::generate::rows;

/// Makes generators from what was learnt.
pub(crate) struct GeneratorInputs<'a> {
    pub(crate) reference: &'a LearningReference<'a>,
    pub(crate) position: usize,
    pub(crate) seed: Seed,
    /// External counterfactuals, where the set has them.
    pub(crate) external: Option<Arc<ExternalRows>>,
}

impl GeneratorInputs<'_> {
    /// A generator for each fold.
    pub(crate) fn generators(
        &self,
        plan: &StrategyPlan<'_>,
        learnt: Vec<FittedStrategy>,
    ) -> Result<Vec<Box<dyn Generator>>> {
        let n_folds = learnt.len();
        let of_fold = |(fold, learnt): (usize, FittedStrategy)| {
            let rows = FoldRows {
                reference: self.reference.rows(fold),
                samples: self.samples(fold, n_folds),
                position: self.position,
                seed: self.seed,
                external: self.external.clone(),
            };
            plan.generator(learnt, &rows)
        };
        learnt.into_iter().enumerate().map(of_fold).collect()
    }

    /// The rows that get counterfactuals in a fold: all, of which those of other folds have no
    /// group.
    fn samples(&self, fold: usize, n_folds: usize) -> ReferenceRows<'_> {
        let row_context = self.reference.context;
        let read = move |g: usize| {
            let (mut batch, roles) = row_context.read(g, Projection::ALL)?;
            let own = &batch.groups[self.position];
            let of_fold = rows::groups_of_fold(own, &roles, n_folds, fold);
            let classes = self.reference.classes.of_group(g, &batch)?;
            batch.groups[self.position] = of_fold;
            let (keys, rows, groups) = (batch.row_key, batch.rows, batch.groups);
            Ok(ReferenceBatch { keys, rows, groups, classes })
        };
        // Generating reports the same rows again.
        let watch = StageWatch { progress: &|_| (), ..row_context.watch };
        ReferenceRows::of_groups(PieceLoop { watch, ..row_context.row_groups() }, Box::new(read))
    }
}
