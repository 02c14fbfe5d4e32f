//! Which rows are added to the training rows before a model is trained again.
//!
//! Source: the augmentation experiments of "Towards Counterfactual Group Fairness". An *experiment*
//! trains a model several times on the same training rows R of a fold: once without additions
//! (*base*), and once for each *arm* with rows added. Every model is then measured on the same
//! audited rows and their counterfactuals.
//!
//! | arm | rows added to R |
//! | --- | --- |
//! | `base` | none |
//! | `all` | every valid counterfactual of R |
//! | `switched` | the counterfactuals with another decision of the fold's base model |
//! | `directed` | of each rule, a fraction of the counterfactuals that match it |
//! | `diverse` | the fraction of the counterfactuals that is farthest from its nearest row of R |
//! | `adasyn` | synthetic rows between neighbours of the rarer class |
//! | `cfs_adasyn` | the counterfactuals of another arm, then synthetic rows from the enlarged set |
//!
//! A counterfactual has the label and the weight of its original. [`choose`] selects
//! counterfactuals, [`diverse`] measures their distance to R, [`adasyn`] generates rows. All work
//! on one row at a time, or on rows in memory; stages handle files, folds and models.

pub(crate) mod adasyn;
pub(crate) mod choose;
pub(crate) mod diverse;
pub(crate) mod knobs;

#[cfg(test)]
mod tests;

pub(crate) use self::knobs::ExperimentArm;
