//! The generators of a fold and what they are made from.

use crate::counterfactual::fitted::FittedStrategy;
use crate::counterfactual::generate::MapFlipGenerator;
use crate::counterfactual::knobs::StrategyBlock;
use crate::counterfactual::transport::matching::{
    FittedTransport, TransportGenerator, TransportRows,
};
use crate::counterfactual::{Generator, SampleBatch};
use crate::error::{Fault, Result};
use crate::stage::generate::basis::{LearningReference, ReferenceEdit, RowClasses};

use crate::stage::generate::rows;
use crate::stage::measure::quality::{self, TransportTallies};
use crate::stage::row_context::RowContext;
use std::sync::Mutex;

/// Generators, ready for the rows.
pub(crate) struct FoldGenerators {
    /// One per fold, or one for all.
    pub(crate) generators: Vec<Box<dyn Generator>>,
    /// Of a transport what became of the samples.
    pub(crate) tallies: Option<TransportTallies>,
}

/// Makes generators of what was learnt.
pub(crate) struct GeneratorInputs<'a> {
    pub(crate) context: RowContext<'a>,
    pub(crate) reference: &'a LearningReference<'a>,
    pub(crate) classes: &'a RowClasses,
    pub(crate) position: usize,
    pub(crate) seed: crate::param::Seed,
    /// A change of the reference on reading.
    pub(crate) edit: Option<&'a ReferenceEdit<'a>>,
    /// The groups of the rows, where they are not what the rows say.
    pub(crate) groups: Option<&'a RowGroupLabels>,
}

impl GeneratorInputs<'_> {
    /// A generator for each fold.
    pub(crate) fn generators(
        &self,
        knobs: StrategyBlock<'_>,
        learnt: Vec<FittedStrategy>,
    ) -> Result<FoldGenerators> {
        let n_folds = learnt.len();
        let n_groups = self.context.rows.layout().attributes[self.position].groups.len();
        let mut generators: Vec<Box<dyn Generator>> = Vec::new();
        let mut tallies = Vec::new();
        for (fold, learnt) in learnt.into_iter().enumerate() {
            match (learnt, knobs) {
                (FittedStrategy::Carrying(carriage), StrategyBlock::Transport(transport)) => {
                    let carrier = self.carrier(&carriage, &transport.settings(), fold, n_folds)?;
                    let pairs = (0..n_groups).flat_map(|from| {
                        (0..n_groups).filter(move |&to| to != from).map(move |to| (from, to))
                    });
                    tallies.push(
                        pairs
                            .map(|(from, to)| (from, to, carrier.tally(from, to)))
                            .collect::<TransportTallies>(),
                    );
                    generators.push(Box::new(carrier));
                }
                (FittedStrategy::Moving(fitted), _) => {
                    generators.push(Box::new(MapFlipGenerator::new(*fitted)))
                }
                (FittedStrategy::Carrying(_), _) => {
                    return Err(Fault::new(
                        "no-transport",
                        "what was learnt is of another strategy",
                    )
                    .into());
                }
            }
        }
        let tallies = (!tallies.is_empty()).then(|| quality::merge_folds(tallies.into_iter()));
        Ok(FoldGenerators { generators, tallies })
    }

    fn carrier(
        &self,
        carriage: &FittedTransport,
        settings: &crate::counterfactual::transport::TransportSettings,
        fold: usize,
        n_folds: usize,
    ) -> Result<TransportGenerator> {
        let ground = self.context;
        let (mut targets, mut sources) = (TransportRows::default(), TransportRows::default());
        let reference = self.reference.rows(fold, self.classes, self.edit);
        reference
            .fold(|group| carriage.targets(group, self.position), |part| targets.append(part))?;
        let read = |g: usize| {
            let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
            let own = self.groups.map_or(&batch.groups[self.position], |groups| &groups[g]);
            let groups = rows::groups_of_fold(own, &roles, n_folds, fold);
            let classes = self.classes.of_group(g, &batch)?;
            let samples = SampleBatch {
                keys: &batch.row_key,
                rows: &batch.rows,
                groups: &groups,
                classes: &classes,
            };
            Ok((0, carriage.sources(&samples)))
        };
        ground.row_groups().in_order(read, |_, part| {
            sources.append(part);
            Ok(())
        })?;
        let spread = |n: usize,
                      work: &(
                           dyn Fn(usize) -> Result<crate::counterfactual::transport::SolvedProblem>
                               + Sync
                       )| {
            let solved = Mutex::new(Vec::with_capacity(n));
            ground.pieces(n).in_order(
                |k| Ok((0, work(k)?)),
                |_, plan| {
                    solved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(plan);
                    Ok(())
                },
            )?;
            Ok(solved.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        };
        carriage.match_samples(settings, self.seed, sources, targets, &spread)
    }
}

/// The groups of all rows, by row group.
pub(crate) type RowGroupLabels = Vec<Vec<u16>>;
