//! The interface of a strategy to the rest of the program: its block in a job, its properties that
//! do not depend on its settings, and its two steps.
//!
//! The block of a [`StrategyKnobs`] gives a [`StrategyPlan`]. The plan learns from reference rows
//! ([`StrategyPlan::learn`]), which gives the [`FittedStrategy`] that artifacts store, and makes a
//! [`Generator`] from it for the rows of a fold ([`StrategyPlan::generator`]). The list of
//! strategies is [`strategy`](crate::counterfactual::strategy); no other code names single
//! strategies.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::counterfactual::Generator;
use crate::counterfactual::external::ExternalGenerator;
use crate::counterfactual::map_flip::{FittedStrategy, MapFlipGenerator};
use crate::counterfactual::plan::{MovedRows, StrategyEngine, StrategyPlan, check_reference};
use crate::counterfactual::transport::matching::{
    ProblemTask, TransportRows, match_samples, reference_distance,
};
use crate::data::exchange::external::ExternalRows;
use crate::data::rows::reference::ReferenceRows;
use crate::error::{Error, Result};
use crate::param::{ColumnName, KnobRefusal, Seed};

/// What a strategy does to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrategyEffect {
    /// It sets the attribute and nothing else.
    SetsAttribute,
    /// It also moves features, by distributions of reference rows.
    MovesFeatures,
    /// It moves what follows from the attribute in causal graphs.
    FollowsGraphs,
}

/// The properties of a strategy that do not depend on its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StrategyRecord {
    /// What it does to a row.
    pub effect: StrategyEffect,
    /// The shortest form in a job, and its purpose: a part of a hint.
    pub example: &'static str,
    /// What it does, as a sentence for the page.
    pub sentence: &'static str,
    /// The same for an attribute that is derived from other columns, where that is something else.
    pub sentence_if_derived: Option<&'static str>,
}

impl StrategyRecord {
    /// Whether it sets only the attribute, so that it learns from no sample.
    pub(crate) fn sets_attribute_only(&self) -> bool {
        self.effect == StrategyEffect::SetsAttribute
    }

    /// Whether its counterfactuals follow causal graphs.
    pub(crate) fn follows_graphs(&self) -> bool {
        self.effect == StrategyEffect::FollowsGraphs
    }
}

/// The block of a strategy in a job.
pub trait StrategyKnobs {
    /// Fills the settings that are left out with the values of presets and defaults.
    ///
    /// `graph_columns` are the columns of a causal graph whose settings name none; `None` unless
    /// the set changes a single attribute.
    fn resolve(&mut self, _graph_columns: Option<Vec<ColumnName>>) {}

    /// The plan of a strategy that moves features by reference rows, with all settings resolved.
    fn plan(&self) -> Option<StrategyPlan<'_>> {
        None
    }

    /// The errors in the settings that can be found without the rest of the job.
    fn refusals(&self) -> Vec<KnobRefusal> {
        Vec::new()
    }
}

impl StrategyPlan<'_> {
    /// Learns from the reference rows how to change the attribute.
    ///
    /// # Errors
    /// The reference cannot be read, or lacks what the strategy needs.
    pub fn learn(&self, of: MovedRows<'_>, rows: &ReferenceRows<'_>) -> Result<FittedStrategy> {
        let mut fitted = self.fit(of, rows)?;
        if !self.takes_what_is_given() {
            check_reference(of.layout, &fitted, self)?;
        }
        if self.matches_samples() {
            fitted.distance = Some(reference_distance(&fitted, rows)?);
        }
        Ok(fitted)
    }

    /// Whether the counterfactuals are external.
    fn takes_what_is_given(&self) -> bool {
        matches!(self.engine, StrategyEngine::External(_))
    }

    /// The declared groups without training rows: no row is moved out of them or into them.
    pub fn groups_without_rows(&self, fitted: &[FittedStrategy]) -> Vec<usize> {
        // External counterfactuals need no rows to learn from.
        let learnt = fitted.iter().filter(|_| !self.takes_what_is_given());
        let lacking = |strategy: &FittedStrategy| (0..).zip(strategy.groups_with_rows());
        let lacking = learnt.flat_map(lacking).filter(|(_, has_rows)| !has_rows);
        lacking.map(|(group, _)| group).collect::<BTreeSet<usize>>().into_iter().collect()
    }

    /// The generator for the rows of a fold.
    ///
    /// # Errors
    /// The rows cannot be read or matched, or the run is stopped.
    pub fn generator(
        &self,
        fitted: FittedStrategy,
        rows: &FoldRows<'_>,
    ) -> Result<Box<dyn Generator>> {
        Ok(match self.engine {
            StrategyEngine::MapFlip => Box::new(MapFlipGenerator::new(fitted)),
            StrategyEngine::External(_) => {
                let absent = || {
                    let hint = "this is a bug in cfaudit: the stage must read the file";
                    Error::operator("take", "counterfactuals", "no file of them was read", hint)
                };
                let given = rows.external.clone().ok_or_else(absent)?;
                Box::new(ExternalGenerator { fitted, given })
            }
            StrategyEngine::Transport(settings) => {
                let (mut targets, mut sources) =
                    (TransportRows::default(), TransportRows::default());
                let take = |group: &_| TransportRows::matched(&fitted, group, rows.position);
                rows.reference.fold(take, |part| targets.append(part))?;
                rows.samples.fold(take, |part| sources.append(part))?;
                let spread = |n: usize, task: &ProblemTask<'_>| rows.samples.spread(n, task);
                let sides = (&sources, &targets);
                Box::new(match_samples(fitted, settings, rows.seed, sides, &spread)?)
            }
        })
    }
}

/// The rows of a fold, for a strategy that needs all of them before it generates.
pub struct FoldRows<'a> {
    /// The reference rows that it learnt from.
    pub reference: ReferenceRows<'a>,
    /// The rows that get counterfactuals; rows of other folds have no group of the attribute.
    pub samples: ReferenceRows<'a>,
    /// Position of the attribute.
    pub position: usize,
    /// Seed of the job.
    pub seed: Seed,
    /// The external counterfactuals of the attribute, where the knobs name a file.
    pub external: Option<Arc<ExternalRows>>,
}
