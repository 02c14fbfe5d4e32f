//! Which rows are added to the training rows before a model is trained again.
//!
//! Source: the augmentation experiments of "Towards Counterfactual Group Fairness", as settled in
//! `generation.md` section 12. An *experiment* trains a model several times on the same training
//! rows R of a fold: once as they are (*base*), and once for each *arm* with rows added. Every
//! model is then measured on the same audited rows and their counterfactuals.
//!
//! | arm | rows added to R |
//! | --- | --- |
//! | `base` | none |
//! | `all` | every valid counterfactual of R |
//! | `switched` | those that the base model of the same fold decides otherwise than their original |
//! | `directed` | those that match a rule, and of each rule's matches a fraction |
//! | `adasyn` | synthetic rows between neighbours of the rarer class |
//! | `cfs_adasyn` | those of another arm, then synthetic rows from the enlarged set |
//!
//! A counterfactual carries the label and the weight of its original. [`choose`] says which
//! counterfactuals are taken, [`adasyn`] makes rows. Both see one row, or rows in memory, at a
//! time; files, folds, models and what becomes of them are left to the stages.

pub mod adasyn;
pub mod choose;

#[cfg(test)]
mod tests;

use std::fmt;

/// What is trained in an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ExperimentArm {
    /// The training rows as they are.
    Base,
    /// With every valid counterfactual.
    All,
    /// With the counterfactuals that the base model decides otherwise than their originals.
    Switched,
    /// With a fraction of the counterfactuals that match a rule.
    Directed,
    /// With synthetic rows of the rarer class.
    Adasyn,
    /// With counterfactuals, then synthetic rows.
    CfsAdasyn,
}

impl ExperimentArm {
    /// All of them, in the order in which they are shown.
    pub const ALL: [ExperimentArm; 6] = [
        ExperimentArm::Base,
        ExperimentArm::All,
        ExperimentArm::Switched,
        ExperimentArm::Directed,
        ExperimentArm::Adasyn,
        ExperimentArm::CfsAdasyn,
    ];

    /// Its name in jobs and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            ExperimentArm::Base => "base",
            ExperimentArm::All => "all",
            ExperimentArm::Switched => "switched",
            ExperimentArm::Directed => "directed",
            ExperimentArm::Adasyn => "adasyn",
            ExperimentArm::CfsAdasyn => "cfs_adasyn",
        }
    }
}

impl fmt::Display for ExperimentArm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
