//! What a strategy is to the rest of the program: the traits of its block in a job and of what it
//! learnt, and what is known of it regardless of its knobs.
//!
//! Three steps: the block of a [`StrategyKnobs`] says what a job asks for; a [`FittedKnobs`] learns
//! from reference rows and gives a [`LearntStrategy`], which artifacts store; that gives a
//! [`Generator`] for the rows of a fold. The list of strategies is
//! [`strategy`](crate::counterfactual::strategy); nobody else names them one by one.

use std::sync::Arc;

use indexmap::IndexMap;

use crate::counterfactual::Generator;
use crate::counterfactual::conditional::{Conditioning, ReferenceCounts};
use crate::counterfactual::decorrelate_knobs::DecorrelateBlock;
use crate::counterfactual::domain_checks::{PermittedDirection, PermittedRange};
use crate::counterfactual::fit::StrategyPlan;
use crate::counterfactual::forms::ConditionOn;
use crate::counterfactual::plausibility_filter::PlausibilityFilter;
use crate::counterfactual::transport::matching::TransportTallies;
use crate::counterfactual::variable::{StrategyVariable, VariableOptions};
use crate::data::Layout;
use crate::data::exchange::external::ExternalRows;
use crate::data::rows::reference::ReferenceRows;
use crate::data::source::row_program::RowProgramBlock;
use crate::error::Result;
use crate::param::{ColumnName, KnobRefusal, Seed, Word};

/// What a strategy does to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StrategyEffect {
    /// It sets the attribute and nothing else.
    SetsAttribute,
    /// It also moves features, as reference rows say.
    MovesFeatures,
    /// It moves what follows from the attribute in causal graphs.
    FollowsGraphs,
}

/// What is known of a strategy regardless of its knobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StrategyRecord {
    /// What it does to a row.
    pub effect: StrategyEffect,
    /// How a job asks for it in the shortest way, and what for: a part of a hint.
    pub example: &'static str,
    /// What it does, as a sentence for the page.
    pub sentence: &'static str,
    /// The same for an attribute that is derived from other columns, where that is something else.
    pub sentence_if_derived: Option<&'static str>,
}

impl StrategyRecord {
    /// Whether it sets the attribute and nothing else, so that it draws on no sample.
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
    /// Writes what presets and defaults give into the knobs that are left out.
    ///
    /// `graph_columns` are those of a causal graph for which the knobs name none; `None` unless the
    /// set changes a single attribute.
    fn resolve(&mut self, _graph_columns: Option<Vec<ColumnName>>) {}

    /// The knobs of a strategy that moves features as reference rows say.
    fn fitted(&self) -> Option<&dyn FittedKnobs> {
        None
    }
}

/// Where counterfactuals come from that somebody else makes.
#[derive(Debug, Clone, Copy)]
pub enum ExternalSource<'a> {
    /// A Parquet file.
    File(&'a str),
    /// A program that writes them.
    Program(&'a RowProgramBlock),
}

/// The knobs of a strategy that is fitted on reference rows and moves features.
pub trait FittedKnobs: Sync {
    /// What distributions are conditioned on in addition to the group.
    fn condition_on(&self) -> &ConditionOn;

    /// Whether a feature of this name may change.
    fn may_move(&self, name: &str) -> bool;

    /// The list of named features, and its key: those that may change, or those that may not.
    fn named_features(&self) -> Option<(&'static str, &[ColumnName])>;

    /// Permitted ranges.
    fn range(&self) -> &IndexMap<ColumnName, PermittedRange>;

    /// Permitted directions.
    fn direction(&self) -> &IndexMap<ColumnName, PermittedDirection>;

    /// Declared counterparts of levels, by feature; `None` where the strategy has none.
    fn counterpart(&self) -> Option<&IndexMap<ColumnName, IndexMap<Word, Word>>> {
        None
    }

    /// The entries whose counterfactuals are appended to the reference first.
    fn decorrelate(&self) -> &[DecorrelateBlock] {
        &[]
    }

    /// The largest number of counterfactuals of a row in one group.
    fn max_counterfactuals(&self) -> usize {
        1
    }

    /// Whether all samples are matched together, by the seed where there are many.
    fn matches_samples(&self) -> bool {
        false
    }

    /// Where counterfactuals come from that somebody else makes; none where the strategy does.
    fn external(&self) -> Option<ExternalSource<'_>> {
        None
    }

    /// What is wrong with the knobs by themselves.
    fn refusals(&self) -> Vec<KnobRefusal> {
        Vec::new()
    }

    /// The plan with all settings resolved.
    fn plan(&self) -> StrategyPlan;

    /// What it reads of a reference row, when the attribute at `position` is changed: the
    /// variables, and whether the class.
    fn learns_from(
        &self,
        layout: &Layout,
        extras: &VariableOptions,
        position: usize,
    ) -> (Vec<StrategyVariable>, Conditioning) {
        let plan = self.plan();
        (plan.variables(layout, extras, position), plan.condition)
    }

    /// Learns from the reference rows how to change the attribute at `position`.
    ///
    /// # Errors
    /// The reference cannot be read, or lacks what the strategy needs.
    fn fit(
        &self,
        layout: &Layout,
        extras: &VariableOptions,
        reference: &ReferenceRows<'_>,
        position: usize,
    ) -> Result<Box<dyn LearntStrategy>>;

    /// Reads back what was learnt from its JSON.
    ///
    /// # Errors
    /// The text is not what this strategy writes.
    fn read(&self, json: &str) -> serde_json::Result<Box<dyn LearntStrategy>>;
}

/// What a strategy learnt; it can generate from rows of any origin.
pub trait LearntStrategy: Send + Sync {
    /// The variables that may change, and on which quality is measured.
    fn variables(&self) -> &[StrategyVariable];

    /// Number of declared groups of the attribute.
    fn n_groups(&self) -> usize;

    /// The counts of the reference.
    fn counts(&self) -> &ReferenceCounts;

    /// What the strategy conditions on.
    fn condition(&self) -> Conditioning;

    /// The filter, if there is one.
    fn filter(&self) -> Option<&PlausibilityFilter> {
        None
    }

    /// The declared groups without a row to learn from: no row is moved out of them or into them.
    fn unlearnt_groups(&self) -> Vec<usize> {
        (0..self.n_groups()).filter(|&group| self.counts().lacks(group)).collect()
    }

    /// What [`FittedKnobs::read`] reads back.
    ///
    /// # Errors
    /// It holds what JSON cannot.
    fn to_json(&self) -> serde_json::Result<String>;

    /// The generator for the rows of a fold.
    ///
    /// # Errors
    /// The rows cannot be read or matched, or the run is stopped.
    fn generator(self: Box<Self>, rows: &FoldRows<'_>) -> Result<FoldGenerator>;
}

/// The rows of a fold, for a strategy that needs all of them before it generates.
pub struct FoldRows<'a> {
    /// Those that it learnt from.
    pub reference: ReferenceRows<'a>,
    /// Those that get counterfactuals; rows of other folds have no group of the attribute.
    pub samples: ReferenceRows<'a>,
    /// Position of the attribute.
    pub position: usize,
    /// Seed of the job.
    pub seed: Seed,
    /// The counterfactuals of the attribute that somebody else made, where the knobs name a file.
    pub external: Option<Arc<ExternalRows>>,
}

/// A generator, ready for the rows.
pub struct FoldGenerator {
    /// It.
    pub generator: Box<dyn Generator>,
    /// Where all samples are matched together, what became of them.
    pub tallies: Option<TransportTallies>,
}
