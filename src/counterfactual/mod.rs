//! Strategies: fitted on reference rows, they give every row its counterfactuals in another group.
//!
//! Terms: a row's *own group* a, the *target group* b; a *counterfactual* is identified by (row,
//! attribute, b, `cf_index`). The *reference* R is the rows whose distributions a strategy learns,
//! the *samples* S are the rows that get counterfactuals; they may be the same. A *class* y forms
//! strata in addition to the group: the label of a row, a model's prediction for it, or nothing. A
//! *variable* can be changed by a strategy: a feature other than the sensitive attribute, or a
//! group of one-hot columns.
//!
//! [`strategy`] lists the strategies, [`engine`] is their interface to the rest of the program.
//! Fitting and generating have separate types: a plan learns, which gives a
//! [`map_flip::FittedStrategy`], and a [`Generator`] is built from it. So an unfitted strategy
//! cannot generate, and rows of production can be generated from a training reference. Every
//! decision for a row depends on that row and the fitted state only, so rows can be processed in
//! any order and in parallel; the exception is transport, whose plans depend on all rows together.
//! Models, scores and metrics are unknown here.
//!
//! [`strategy::naive`] changes only the attribute. Greedy and plausible also move variables to
//! equal-probability values in the target group: numbers to the same quantile by [`quantile_map`],
//! levels by [`flip`], both from the counts of [`conditional`]. Plausible moves those that the job
//! allows, greedy those that are related to the pair of groups ([`relation`]). [`transport`] gives
//! the rows of a group the values of real rows of another. [`plausibility_filter`] and
//! [`domain_checks`] decide which counterfactuals are valid; [`quality`] measures them, and
//! [`support`] finds those with values that are rare in the target group.
//!
//! A strategy sets the column of the attribute and moves features of the source. It does not move
//! columns that are derived from these, or that the attribute is derived from: [`write_back`]
//! updates them for every strategy.

pub(crate) mod absence;
mod combinations;
pub(crate) mod conditional;
pub(crate) mod counting;
pub(crate) mod decorrelate;
pub(crate) mod decorrelate_knobs;
pub(crate) mod domain_checks;
pub(crate) mod engine;
pub(crate) mod external;
pub(crate) mod flip;
pub(crate) mod graph_uncertain;
pub(crate) mod joint;
pub(crate) mod knobs;
pub mod map_flip;
pub(crate) mod moments;
pub(crate) mod plan;
pub(crate) mod plausibility_filter;
pub(crate) mod plausibility_fit;
pub(crate) mod quality;
pub(crate) mod quantile_map;
pub(crate) mod relation;
pub(crate) mod short_forms;
pub(crate) mod space;
pub(crate) mod strategy;
pub(crate) mod support;
pub(crate) mod transport;
mod value_counts;
pub(crate) mod variable;
pub(crate) mod write_back;

use serde::{Deserialize, Serialize};

use crate::data::rows::reference::ReferenceBatch;
use crate::data::{Attribute, FeatureColumn, FeatureRows, MISSING_GROUP};

/// The outcome of matching the samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TransportTally {
    /// Samples that were matched.
    pub n: u64,
    /// The number of these in strata that were solved in blocks.
    pub n_approximate: u64,
    /// Samples with a group and a class for which the reference has no target.
    pub n_without_target: u64,
    /// Sum of the costs of all matched samples, in squared standard deviations.
    pub cost: f64,
}

/// The outcome for the samples, by own and target group.
pub(crate) type TransportTallies = Vec<(usize, usize, TransportTally)>;

/// The group that counterfactuals are set to.
#[derive(Debug, Clone, Copy)]
pub struct TargetGroup<'a> {
    /// The attribute that is changed.
    pub attribute: &'a Attribute,
    /// The position of the group.
    pub group: usize,
}

/// A fitted strategy.
pub trait Generator: Send + Sync {
    /// The counterfactuals of these rows in a group.
    ///
    /// Each row of another declared group has any number of them, rows in order, `cf_index`
    /// ascending. Rows of the group itself, rows without a group, and rows without a class where
    /// the strategy needs one, have none.
    fn generate(&self, samples: &SampleBatch<'_>, to: TargetGroup<'_>) -> GeneratedBatch;

    /// The outcome of matching, if all samples are matched together.
    fn tallies(&self) -> Option<&TransportTallies> {
        None
    }
}

/// A batch of rows with their groups and classes; all fields have the same length.
#[derive(Debug, Clone, Copy)]
pub struct SampleBatch<'a> {
    /// The keys of the rows; empty where the strategy needs none.
    pub keys: &'a [u64],
    /// The features.
    pub rows: &'a FeatureRows,
    /// The group of each row in the attribute that is changed; [`MISSING_GROUP`] = none.
    ///
    /// A row that is left out has none either.
    pub groups: &'a [u16],
    /// The class of each row; `None` = missing.
    pub classes: &'a [Option<u32>],
}

impl<'a> SampleBatch<'a> {
    /// Reference rows, with their groups in the attribute at `position`.
    pub(crate) fn of_reference(batch: &'a ReferenceBatch, position: usize) -> Self {
        SampleBatch {
            keys: &batch.keys,
            rows: &batch.rows,
            groups: &batch.groups[position],
            classes: &batch.classes,
        }
    }

    /// Group and class of a row.
    fn stratum_key(&self, i: usize) -> conditional::StratumKey {
        (
            self.groups.get(i).copied().filter(|&group| group != MISSING_GROUP),
            self.classes.get(i).copied().flatten(),
        )
    }

    /// The group of row `i`; `None` where it is `to` itself or missing.
    fn own_group(&self, i: usize, to: usize) -> Option<usize> {
        self.stratum_key(i).0.map(usize::from).filter(|&own| own != to)
    }
}

/// Counterfactuals of a batch of rows in one group.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneratedBatch {
    /// The position of each counterfactual's row in the batch.
    pub parent: Vec<usize>,
    /// The number of each counterfactual among those of the row and group, from 0.
    pub cf_index: Vec<u16>,
    /// The counterfactual rows.
    pub rows: FeatureRows,
    /// The changes of each counterfactual.
    pub counters: Vec<ChangeCounters>,
    /// The plausibility of each counterfactual, if the strategy filters by distance.
    ///
    /// It is the distance to the centroid of the target section, in units of the section's own root
    /// mean square distance; `None` = the section is too small for a verdict.
    pub plausibility: Option<Vec<Option<f64>>>,
    /// Whether each passed all filters and checks. Metrics and augmentation use only these.
    pub valid: Vec<bool>,
}

/// Counts of the changes to the variables of one counterfactual.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangeCounters {
    /// Variables whose value differs from that of the row; numbers have to differ by more than 1e-9
    /// max(1, |v|).
    pub n_changed: u32,
    /// Levels changed because the target group does not have them.
    pub n_impossible: u32,
    /// Numbers and ordered levels outside the range of their own stratum; they are treated as its
    /// nearest end.
    pub n_clamped: u32,
    /// Variables tested without the class, because a stratum was too small.
    pub n_fallback: u32,
    /// Variables that kept their value, because even the whole groups were too small.
    pub n_kept: u32,
}

impl GeneratedBatch {
    /// Copies of these rows in another group, with zero counters and all valid; rows without
    /// columns stay as they are.
    fn in_group(samples: &SampleBatch<'_>, to: TargetGroup<'_>, parent: Vec<usize>) -> Self {
        let (n, mut rows) = (parent.len(), samples.rows.take(&parent));
        if let Some(column) = rows.columns.get_mut(to.attribute.feature) {
            *column = FeatureColumn::Code(vec![to.attribute.level_of_group[to.group]; n]);
        }
        GeneratedBatch {
            parent,
            cf_index: vec![0; n],
            rows,
            counters: vec![ChangeCounters::default(); n],
            plausibility: None,
            valid: vec![true; n],
        }
    }
}

/// Whether a number differs from that of the row by more than rounding.
fn differs(before: f64, after: f64) -> bool {
    (after - before).abs() > 1e-9 * before.abs().max(1.0)
}

#[cfg(test)]
pub(crate) mod tests;
