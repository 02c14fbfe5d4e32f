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

impl LearningReference<'_> {
    /// A generator for each fold of what was learnt of the attribute at a position; `external` are
    /// the counterfactuals of an external set.
    pub(crate) fn generators(
        &self,
        plan: &StrategyPlan<'_>,
        learnt: Vec<FittedStrategy>,
        (position, seed): (usize, Seed),
        external: Option<Arc<ExternalRows>>,
    ) -> Result<Vec<Box<dyn Generator>>> {
        let n_folds = learnt.len();
        let of_fold = |(fold, learnt): (usize, FittedStrategy)| {
            let reference = self.rows(fold);
            let samples = self.samples(position, (fold, n_folds));
            let external = external.clone();
            plan.generator(learnt, &FoldRows { reference, samples, position, seed, external })
        };
        learnt.into_iter().enumerate().map(of_fold).collect()
    }

    /// The rows that get counterfactuals in a fold: all, of which those of other folds have no
    /// group.
    fn samples(&self, position: usize, (fold, n_folds): (usize, usize)) -> ReferenceRows<'_> {
        let row_context = self.context;
        let read = move |g: usize| {
            let (mut batch, roles) = row_context.read(g, Projection::ALL)?;
            let of_fold = rows::groups_of_fold(&batch.groups[position], &roles, n_folds, fold);
            let classes = self.classes.of_group(g, &batch)?;
            batch.groups[position] = of_fold;
            let (keys, rows, groups) = (batch.row_key, batch.rows, batch.groups);
            Ok(ReferenceBatch { keys, rows, groups, classes })
        };
        // Generating reports the same rows again.
        let watch = StageWatch { progress: &|_| (), ..row_context.watch };
        ReferenceRows::of_groups(PieceLoop { watch, ..row_context.row_groups() }, Box::new(read))
    }
}
