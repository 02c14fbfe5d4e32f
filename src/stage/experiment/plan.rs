//! An experiment with what it names: its arms, whom their choices ask, and the ids of its stages.

use crate::augment::ExperimentArm;
use crate::job::ModelBlock;
use crate::job::blocks::experiments::{
    self, DirectedArm, ExperimentBlock, FirstArm, PredictionSource,
};
use crate::stage::applied_set::AppliedSet;
use crate::stage::experiment::arms::ExperimentContext;
use crate::stage::experiment::folds::INNER_FOLDS;
use crate::stage::id::id_part;

/// An experiment with what it names.
#[derive(Debug, Clone)]
pub(crate) struct ExperimentPlan<'a> {
    pub(super) name: &'a str,
    pub(super) block: &'a ExperimentBlock,
    pub(super) model: &'a ModelBlock,
    pub(super) sets: Vec<AppliedSet<'a>>,
    pub(super) n_folds: usize,
}

/// Models that a stage trained, or is to train.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArmModels {
    /// How many, each for rows of its own.
    pub(super) n: usize,
    /// What `{fold}` is for the first of them.
    pub(super) first_fold: usize,
    /// What messages call them.
    pub(super) arm: &'static str,
}

impl ArmModels {
    /// The model of an arm in a fold.
    pub(super) fn of(arm: ExperimentArm, fold: usize) -> Self {
        ArmModels { n: 1, first_fold: fold, arm: arm.as_str() }
    }

    /// The models of inner folds.
    pub(super) fn inner() -> Self {
        ArmModels { n: usize::from(INNER_FOLDS), first_fold: 0, arm: "base, out of fold" }
    }
}

impl ExperimentPlan<'_> {
    pub(super) fn id(&self, rest: &str) -> String {
        format!("augment/{}/{rest}", self.name)
    }

    pub(super) fn fold_id(&self, fold: usize, rest: &str) -> String {
        self.id(&format!("fold-{fold}/{rest}"))
    }

    pub(super) fn train_id(&self, fold: usize, arm: ExperimentArm) -> String {
        self.fold_id(fold, &format!("{arm}/train"))
    }

    /// The stage that fits the threshold of an arm in a fold; none where the job says it.
    pub(super) fn threshold_id(&self, fold: usize, arm: ExperimentArm) -> Option<String> {
        self.model.threshold.is_fitted().then(|| self.fold_id(fold, &format!("{arm}/threshold")))
    }

    /// The stage that scores the audited rows of a fold, or their counterfactuals in an attribute.
    pub(super) fn score_id(
        &self,
        fold: usize,
        arm: ExperimentArm,
        world: Option<&AppliedSet<'_>>,
    ) -> String {
        self.fold_id(fold, &format!("{arm}/score{}", attribute_suffix(world)))
    }

    /// The stage that scores the rows that train, or their counterfactuals.
    pub(super) fn predict_id(
        &self,
        fold: usize,
        by: PredictionSource,
        world: Option<&AppliedSet<'_>>,
    ) -> String {
        let inner = if by == PredictionSource::OutOfFold { "inner/" } else { "" };
        self.fold_id(fold, &format!("{inner}predict{}", attribute_suffix(world)))
    }

    /// The stage that makes counterfactuals of the rows that train.
    pub(super) fn generate_id(&self, fold: usize, world: &AppliedSet<'_>) -> String {
        self.fold_id(fold, &format!("worlds{}", attribute_suffix(Some(world))))
    }

    /// The name of an arm in tables.
    pub(super) fn arm_name(&self, arm: ExperimentArm) -> String {
        format!("{}/{arm}", self.name)
    }

    /// The arms, the base first.
    pub(super) fn arms(&self) -> Vec<ExperimentArm> {
        let names = self.block.arms.names();
        ExperimentArm::ALL
            .into_iter()
            .filter(|arm| *arm == ExperimentArm::Base || names.contains(&arm.as_str()))
            .collect()
    }

    /// The arm whose counterfactuals an arm takes; none where it takes none.
    pub(super) fn chosen_as(&self, arm: ExperimentArm) -> Option<ExperimentArm> {
        match arm {
            ExperimentArm::Base | ExperimentArm::Adasyn => None,
            ExperimentArm::All | ExperimentArm::Switched | ExperimentArm::Directed => Some(arm),
            ExperimentArm::CfsAdasyn => {
                Some(match self.block.arms.cfs_adasyn.map_or(FirstArm::All, |both| both.first) {
                    FirstArm::All => ExperimentArm::All,
                    FirstArm::Switched => ExperimentArm::Switched,
                    FirstArm::Directed => ExperimentArm::Directed,
                })
            }
        }
    }

    /// Whose predictions the choice of an arm asks for.
    pub(super) fn prediction_source(&self, arm: ExperimentArm) -> Option<PredictionSource> {
        match self.chosen_as(arm)? {
            ExperimentArm::Switched => {
                Some(self.block.arms.switched.unwrap_or_default().predictions)
            }
            ExperimentArm::Directed => self
                .directed()
                .filter(|directed| directed.asks_base())
                .map(|_| PredictionSource::InSample),
            _ => None,
        }
    }

    pub(super) fn directed(&self) -> Option<&DirectedArm> {
        self.block.arms.directed.as_ref()
    }

    pub(super) fn adasyn(&self, arm: ExperimentArm) -> Option<experiments::AdasynArm> {
        match arm {
            ExperimentArm::Adasyn => self.block.arms.adasyn,
            ExperimentArm::CfsAdasyn => self.block.arms.cfs_adasyn.map(|both| both.adasyn()),
            _ => None,
        }
    }

    /// Whose predictions any arm asks for.
    pub(super) fn prediction_sources(&self) -> Vec<PredictionSource> {
        let asked: Vec<PredictionSource> =
            self.arms().into_iter().filter_map(|arm| self.prediction_source(arm)).collect();
        [PredictionSource::InSample, PredictionSource::OutOfFold]
            .into_iter()
            .filter(|by| asked.contains(by))
            .collect()
    }

    /// The stage that says which row is audited in which fold.
    pub(super) fn split_id(&self) -> String {
        if self.block.folds.is_some() { self.id("split") } else { "split".to_owned() }
    }

    pub(super) fn context<'t>(
        &'t self,
        changed: &'t [usize],
        untaught: &'t [Vec<usize>],
    ) -> ExperimentContext<'t> {
        // All worlds of an experiment are of one set.
        let by_label = self.sets.first().is_some_and(|world| world.block.conditions_on_label());
        ExperimentContext {
            model: self.block.model.as_str(),
            set: self.block.from.as_str(),
            changed,
            untaught,
            by_label,
        }
    }
}

/// The attribute of a world as the last part of an id; empty without a world.
fn attribute_suffix(world: Option<&AppliedSet<'_>>) -> String {
    world.map_or_else(String::new, |world| format!("/{}", id_part(world.attribute)))
}
