//! An experiment with what it names: its arms, the models that decide what an arm takes, and the
//! units of its stages.

use crate::augment::ExperimentArm;
use crate::error::Result;
use crate::exec::internal_error;
use crate::job::ModelBlock;
use crate::job::blocks::experiments::{self, ExperimentBlock, PredictionSource};
use crate::param::{Count, Name, key_word, variant_of};
use crate::stage::applied_set::AppliedSet;
use crate::stage::plan::{StagePlan, split_unit};
use crate::unit::AuditUnit;

/// An experiment with what it names.
#[derive(Debug, Clone)]
pub(crate) struct ExperimentPlan<'a> {
    pub(crate) name: &'a str,
    pub(crate) block: &'a ExperimentBlock,
    pub(crate) model: &'a ModelBlock,
    pub(crate) sets: Vec<AppliedSet<'a>>,
    pub(crate) n_folds: usize,
}

impl<'a> StagePlan<'a> {
    /// The experiments of the job.
    pub(crate) fn experiments(&self) -> Vec<ExperimentPlan<'a>> {
        let experiment_plan = |(name, block): (&'a Name, &'a ExperimentBlock)| {
            let own = block.folds.is_some().then_some(name.as_str());
            let n_folds = block.folds.map_or_else(|| self.n_folds(), Count::size);
            Some(ExperimentPlan {
                name: name.as_str(),
                block,
                model: self.job.models.get(&block.model)?,
                sets: self.apply_set(
                    block.from.as_str(),
                    self.job.counterfactuals.get(&block.from)?,
                    own,
                ),
                n_folds,
            })
        };
        self.job.experiments.iter().filter_map(experiment_plan).collect()
    }

    /// The experiment that a unit is about.
    pub(crate) fn experiment_of(&self, unit: &AuditUnit) -> Result<ExperimentPlan<'a>> {
        let found = self
            .experiments()
            .into_iter()
            .find(|experiment_plan| experiment_plan.name == unit.experiment);
        let nothing = || internal_error(format!("the job has no experiment `{}`", unit.experiment));
        found.ok_or_else(nothing)
    }

    /// The units whose models an audit pools: its own in the plain audit, those of all folds in an
    /// arm.
    pub(crate) fn pooled_units(&self, unit: &AuditUnit) -> Result<Vec<AuditUnit>> {
        if unit.experiment.is_empty() {
            return Ok(vec![unit.clone()]);
        }
        let n_folds = self.experiment_of(unit)?.n_folds;
        Ok((0..n_folds).map(|fold| AuditUnit { fold: Some(fold), ..unit.clone() }).collect())
    }

    /// How many folds of an audit are counted separately: all of an arm. The plain audit, and the
    /// audits of further trainings, are counted as one.
    pub(crate) fn counted_folds(&self, unit: &AuditUnit) -> Result<usize> {
        if unit.experiment.is_empty() || unit.repeat.is_some() {
            return Ok(1);
        }
        Ok(self.experiment_of(unit)?.n_folds.max(1))
    }

    /// The sets of experiments that have folds of their own, and so fits of their own.
    pub(crate) fn fold_sets(&self) -> impl Iterator<Item = AppliedSet<'a>> {
        let applied_sets =
            self.experiments().into_iter().flat_map(|experiment_plan| experiment_plan.sets);
        applied_sets.filter(|applied| applied.experiment.is_some())
    }
}

impl<'a> ExperimentPlan<'a> {
    /// The unit of the experiment.
    pub(crate) fn unit(&self) -> AuditUnit {
        AuditUnit {
            experiment: self.name.to_owned(),
            ..AuditUnit::of_model(self.block.model.as_str())
        }
    }

    /// The unit of an arm over all folds.
    pub(crate) fn arm_unit(&self, arm: ExperimentArm) -> AuditUnit {
        AuditUnit { arm: arm.to_string(), ..self.unit() }
    }

    /// The unit of an arm in a fold.
    pub(crate) fn fold_unit(&self, arm: ExperimentArm, fold: usize) -> AuditUnit {
        AuditUnit { fold: Some(fold), ..self.arm_unit(arm) }
    }

    /// The unit of predictions of the training rows for a fold.
    pub(crate) fn predicted_unit(&self, by: PredictionSource, fold: usize) -> AuditUnit {
        AuditUnit { predictions: key_word(&by), fold: Some(fold), ..self.unit() }
    }

    /// The unit of the counterfactuals of the training rows for a fold.
    pub(crate) fn training_set_unit(&self, applied: &AppliedSet<'_>, fold: usize) -> AuditUnit {
        AuditUnit { fold: Some(fold), ..with_set(self.unit(), Some(applied)) }
    }

    /// The name of an arm in tables.
    pub(crate) fn arm_name(&self, arm: ExperimentArm) -> String {
        format!("{}/{arm}", self.name)
    }

    /// The arms, the base first.
    pub(crate) fn arms(&self) -> Vec<ExperimentArm> {
        self.block.arms.named()
    }

    /// The arm whose counterfactuals an arm takes; none where it takes none.
    pub(crate) fn chosen_as(&self, arm: ExperimentArm) -> Option<ExperimentArm> {
        match arm {
            ExperimentArm::Base | ExperimentArm::Adasyn => None,
            ExperimentArm::All
            | ExperimentArm::Switched
            | ExperimentArm::Directed
            | ExperimentArm::Diverse => Some(arm),
            ExperimentArm::CfsAdasyn => {
                let first = self.block.arms.cfs_adasyn.unwrap_or_default().first;
                variant_of(&key_word(&first))
            }
        }
    }

    /// The source of predictions that the choice of an arm needs.
    pub(crate) fn prediction_source(&self, arm: ExperimentArm) -> Option<PredictionSource> {
        match self.chosen_as(arm)? {
            ExperimentArm::Switched => {
                Some(self.block.arms.switched.unwrap_or_default().predictions)
            }
            ExperimentArm::Directed => {
                let directed = self.block.arms.directed.as_ref();
                directed.filter(|of| of.asks_base()).map(|_| PredictionSource::InSample)
            }
            _ => None,
        }
    }

    pub(crate) fn adasyn(&self, arm: ExperimentArm) -> Option<experiments::AdasynArm> {
        match arm {
            ExperimentArm::Adasyn => self.block.arms.adasyn,
            ExperimentArm::CfsAdasyn => self.block.arms.cfs_adasyn.map(|both| both.adasyn()),
            _ => None,
        }
    }

    /// The unit of the split that says which row is audited in which fold.
    pub(crate) fn split_unit(&self) -> AuditUnit {
        split_unit(self.block.folds.map(|_| self.name))
    }
}

/// The name of the arm of a unit in tables; empty in the plain audit.
pub(crate) fn arm_name(unit: &AuditUnit) -> String {
    match unit.experiment.as_str() {
        "" => String::new(),
        experiment => format!("{experiment}/{}", unit.arm),
    }
}

/// A unit on the counterfactuals of a set.
pub(crate) fn with_set(unit: AuditUnit, applied: Option<&AppliedSet<'_>>) -> AuditUnit {
    match applied {
        None => unit,
        Some(applied) => {
            let (set, attribute) = (applied.set.to_owned(), applied.attribute.to_owned());
            AuditUnit { set, attribute, ..unit }
        }
    }
}

/// The arm of a unit; none where it names none.
pub(crate) fn arm_of(unit: &AuditUnit) -> Option<ExperimentArm> {
    variant_of(&unit.arm)
}

/// The source of predictions that a unit names.
pub(crate) fn source_of(unit: &AuditUnit) -> Option<PredictionSource> {
    variant_of(&unit.predictions)
}
