//! An experiment with what it names: its arms, whom their choices ask, and the ids of its stages.

use crate::augment::Arm;
use crate::pipeline::arms::About;
use crate::pipeline::augmenting::INNER_FOLDS;
use crate::pipeline::ids::part;
use crate::pipeline::plan::World;
use crate::spec::Model;
use crate::spec::experiments::{self, Directed, Experiment, First, Predictions};

/// An experiment with what it names.
#[derive(Debug, Clone)]
pub(in crate::pipeline) struct Trial<'a> {
    pub(super) name: &'a str,
    pub(super) block: &'a Experiment,
    pub(super) model: &'a Model,
    pub(super) worlds: Vec<World<'a>>,
    pub(super) n_folds: usize,
}

/// Models that a stage trained, or is to train.
#[derive(Debug, Clone, Copy)]
pub(super) struct Models {
    /// How many, each for rows of its own.
    pub(super) n: usize,
    /// What `{fold}` is for the first of them.
    pub(super) first_fold: usize,
    /// What messages call them.
    pub(super) arm: &'static str,
}

impl Models {
    /// The model of an arm in a fold.
    pub(super) fn of(arm: Arm, fold: usize) -> Self {
        Models { n: 1, first_fold: fold, arm: arm.as_str() }
    }

    /// The models of inner folds.
    pub(super) fn inner() -> Self {
        Models { n: usize::from(INNER_FOLDS), first_fold: 0, arm: "base, out of fold" }
    }
}

impl Trial<'_> {
    pub(super) fn id(&self, rest: &str) -> String {
        format!("augment/{}/{rest}", self.name)
    }

    pub(super) fn fold(&self, fold: usize, rest: &str) -> String {
        self.id(&format!("fold-{fold}/{rest}"))
    }

    pub(super) fn train(&self, fold: usize, arm: Arm) -> String {
        self.fold(fold, &format!("{arm}/train"))
    }

    /// The stage that fits the threshold of an arm in a fold; none where the job says it.
    pub(super) fn threshold(&self, fold: usize, arm: Arm) -> Option<String> {
        self.model.threshold.is_fitted().then(|| self.fold(fold, &format!("{arm}/threshold")))
    }

    /// The stage that scores the audited rows of a fold, or their counterfactuals in an attribute.
    pub(super) fn score(&self, fold: usize, arm: Arm, world: Option<&World<'_>>) -> String {
        self.fold(fold, &format!("{arm}/score{}", below(world)))
    }

    /// The stage that scores the rows that train, or their counterfactuals.
    pub(super) fn predict(&self, fold: usize, by: Predictions, world: Option<&World<'_>>) -> String {
        let inner = if by == Predictions::OutOfFold { "inner/" } else { "" };
        self.fold(fold, &format!("{inner}predict{}", below(world)))
    }

    /// The stage that makes counterfactuals of the rows that train.
    pub(super) fn world(&self, fold: usize, world: &World<'_>) -> String {
        self.fold(fold, &format!("worlds{}", below(Some(world))))
    }

    /// The name of an arm in tables.
    pub(super) fn arm(&self, arm: Arm) -> String {
        format!("{}/{arm}", self.name)
    }

    /// The arms, the base first.
    pub(super) fn arms(&self) -> Vec<Arm> {
        let names = self.block.arms.names();
        Arm::ALL.into_iter().filter(|arm| *arm == Arm::Base || names.contains(&arm.as_str())).collect()
    }

    /// The arm whose counterfactuals an arm takes; none where it takes none.
    pub(super) fn chosen_as(&self, arm: Arm) -> Option<Arm> {
        match arm {
            Arm::Base | Arm::Adasyn => None,
            Arm::All | Arm::Switched | Arm::Directed => Some(arm),
            Arm::CfsAdasyn => Some(match self.block.arms.cfs_adasyn.map_or(First::All, |both| both.first) {
                First::All => Arm::All,
                First::Switched => Arm::Switched,
                First::Directed => Arm::Directed,
            }),
        }
    }

    /// Whose predictions the choice of an arm asks for.
    pub(super) fn asks(&self, arm: Arm) -> Option<Predictions> {
        match self.chosen_as(arm)? {
            Arm::Switched => Some(self.block.arms.switched.unwrap_or_default().predictions),
            Arm::Directed => self.directed().filter(|directed| directed.asks_base()).map(|_| Predictions::InSample),
            _ => None,
        }
    }

    pub(super) fn directed(&self) -> Option<&Directed> {
        self.block.arms.directed.as_ref()
    }

    pub(super) fn adasyn(&self, arm: Arm) -> Option<experiments::Adasyn> {
        match arm {
            Arm::Adasyn => self.block.arms.adasyn,
            Arm::CfsAdasyn => self.block.arms.cfs_adasyn.map(|both| both.adasyn()),
            _ => None,
        }
    }

    /// Whose predictions any arm asks for.
    pub(super) fn all_asked(&self) -> Vec<Predictions> {
        let asked: Vec<Predictions> = self.arms().into_iter().filter_map(|arm| self.asks(arm)).collect();
        [Predictions::InSample, Predictions::OutOfFold].into_iter().filter(|by| asked.contains(by)).collect()
    }

    /// The stage that says which row is audited in which fold.
    pub(super) fn split(&self) -> String {
        if self.block.folds.is_some() { self.id("split") } else { "split".to_owned() }
    }

    pub(super) fn about<'t>(&'t self, changed: &'t [usize], untaught: &'t [Vec<usize>]) -> About<'t> {
        // All worlds of an experiment are of one set.
        let by_label = self.worlds.first().is_some_and(|world| world.block.conditions_on_label());
        About { model: self.block.model.as_str(), set: self.block.from.as_str(), changed, untaught, by_label }
    }
}

/// The attribute of a world as the last part of an id; empty without a world.
fn below(world: Option<&World<'_>>) -> String {
    world.map_or_else(String::new, |world| format!("/{}", part(world.attribute)))
}
