//! Recourse within subgroups: is the favourable decision harder to reach for one group than
//! another?
//!
//! A subgroup holds people with the same traits. Source: "Fairness Aware Counterfactuals for
//! Subgroups" (FACTS). Where its text, its authors' code and AIF360's port of it differ, the file
//! that makes the choice says so. The chain, a file each:
//!
//! | file | from | to |
//! | --- | --- | --- |
//! | `knobs` | the block `recourse` of a job | the settings of the engine |
//! | `bins` | numbers of a column | its levels, and the number that represents a bin |
//! | `groups` | declared groups | the pairs of groups that are compared, with the affected and unaffected rows of each |
//! | `subgroups` | affected rows | frequent sets of items: the subgroups |
//! | `candidates` | unaffected rows | frequent sets of items: the levels that actions may lead to |
//! | `steps` | rules and costs of columns | cost of the change of one level to another, if it may be made |
//! | `actions` | subgroups, candidates | the valid actions of each subgroup, and the distinct sets of changes behind them |
//! | `ask` | rows, sets of changes | the model's decisions about changed rows, each queried once |
//! | `effect` | decisions | how many people each action helps; effectiveness by cost |
//! | `definition`, `budget` | effectiveness by cost | value of each group under each definition of fairness |
//! | `rank` | values | scores, direction, ranks |
//! | `chance` | rows that actions help | permutation p-values of the scores, with control of false discoveries |
//! | `overlap` | ranks | which of two subgroups with the same actions is shown |
//! | `sentence`, `overview` | all of these | the actions listed for a subgroup; the tables over all definitions |
//!
//! Terms: an *item* is a column with a level, a *subgroup* `p` a set of items, `G(p, g)` the
//! affected people of group `g` in it and `n(p, g)` their number. An *action* `a` names levels for
//! columns of `p`; those that differ are its *changes*. `k(p, a, g)` people of `G(p, g)` get the
//! favourable decision once the changes are made; *effectiveness* is `k / n`, kept as the pair.
//! *Macro*: one action for all people of the subgroup. *Micro*: each person takes the action that
//! helps.
//!
//! Labels are never used; the sensitive attribute is in no subgroup and no action. Results are
//! decided by whole numbers only: the same bytes for any order of rows, columns and threads. Work
//! runs on the thread pool of the caller. Not done here: reading rows, models, files.

pub mod actions;
pub mod ask;
pub(crate) mod bins;
pub mod budget;
mod candidates;
pub mod chance;
pub mod definition;
pub mod effect;
pub(crate) mod exact;
pub mod feature;
pub mod groups;
pub(crate) mod knobs;
pub mod overlap;
pub mod overview;
pub mod rank;
pub mod sentence;
pub(crate) mod steps;
mod subgroups;

#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::num::decimal::Decimal;
use crate::recourse::feature::RecourseFeature;

/// The rows under audit.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedRows {
    /// The columns that subgroups may use, in any order: no sensitive attribute and nothing derived
    /// from it.
    pub features: Vec<RecourseFeature>,
    /// The group of each row; `None` where it is missing or not declared.
    pub groups: Vec<Option<u16>>,
    /// Whether each row has the favourable decision.
    pub favourable: Vec<bool>,
}

/// A share in (0, 1], as the exact decimal that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DecimalShare(Decimal);

impl DecimalShare {
    /// The share; `None` outside (0, 1].
    pub fn new(share: Decimal) -> Option<DecimalShare> {
        (share.ceil_of(1) == 1).then_some(DecimalShare(share))
    }

    /// The number.
    pub fn get(self) -> Decimal {
        self.0
    }

    /// The smallest count that is at least this share of `n`, and at least 1: the paper's s * N.
    pub(crate) fn min_count(self, n: u64) -> u64 {
        // A share of at most 1 is at most n.
        u64::try_from(self.0.ceil_of(n)).unwrap_or(n).max(1)
    }
}

/// Which columns an action may name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActionMatch {
    /// Exactly the columns of the subgroup, some of them perhaps with the level they have. All
    /// published numbers are computed this way.
    #[default]
    SameFeatures,
    /// Some columns of the subgroup, all of them changed: the literal sentence of the paper.
    SubFeatures,
}

/// How subgroups and actions are searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchSettings {
    /// Smallest share of the affected people of each group in a subgroup.
    pub subgroups: DecimalShare,
    /// Smallest share of the unaffected people that have the levels of an action.
    pub actions: DecimalShare,
    /// Largest number of items of a subgroup.
    pub max_items: Option<usize>,
    /// Which columns an action may name.
    pub matching: ActionMatch,
    /// Largest number of subgroups, of candidates for actions, and of actions of all subgroups.
    ///
    /// More is an error, so that memory stays bounded.
    pub max_results: usize,
}
