//! Quality of counterfactuals: how near to their rows they are, how much changes, and whether they
//! look like the target group.
//!
//! Source: the cosine similarity that "Towards Counterfactual Group Fairness" reports, and what
//! tools for counterfactual explanations call proximity, sparsity and plausibility. Over the valid
//! counterfactuals c of originals o, per ordered pair of groups and in total; z is the z-space of
//! the reference ([`crate::counterfactual::space`]). Per variable and class y the originals and the
//! counterfactuals are compared with the reference rows of (b, y); the distances of the classes are
//! averaged, weighted by the counterfactuals in which the variable is not missing.
//! [`sums::QualitySums`] is an accumulator: batches are added, and merging in any order gives the
//! same state; [`CounterfactualQuality`] is its finished form. Choice: a class that (b, y) lacks
//! enters no distance; where the strategy conditions on nothing there is one class.
//! Cost: the width of the z-space per counterfactual.

pub(crate) mod map;
pub(crate) mod shapes;
pub(crate) mod sums;
mod values;

use crate::counterfactual::conditional::{Conditioning, ReferenceCounts, ReferenceStrata};
use crate::counterfactual::space::ReferenceSpace;
use crate::counterfactual::variable::StrategyVariable;

/// The reference that counterfactuals are measured against.
#[derive(Debug)]
pub(crate) struct QualityReference {
    variables: Vec<StrategyVariable>,
    space: ReferenceSpace,
    strata: ReferenceStrata,
}

impl QualityReference {
    /// The quality reference from the counts of a reference with `n_groups` declared groups.
    pub(crate) fn new(
        variables: Vec<StrategyVariable>,
        counts: &ReferenceCounts,
        n_groups: usize,
        condition: Conditioning,
    ) -> Self {
        let space = ReferenceSpace::from_counts(&variables, counts);
        let strata = ReferenceStrata::new(counts, &variables, n_groups, condition);
        QualityReference { variables, space, strata }
    }
}

/// The quality of the counterfactuals of a pair of groups, or of all.
///
/// What cannot be computed is `None`: there is nothing to average, or the reference does not vary.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CounterfactualQuality {
    /// Counterfactuals before filter and checks.
    pub n_cf: u64,
    /// Distinct pairs of row and target group.
    pub n_pairs: u64,
    /// The number of these with a valid counterfactual; metrics leave the others out.
    pub n_pairs_valid: u64,
    /// Share of the counterfactuals that are not valid.
    pub share_discarded: Option<f64>,
    /// Median cosine of z(o) and z(c), where neither is 0.
    pub cos_median: Option<f64>,
    /// Mean cosine.
    pub cos_mean: Option<f64>,
    /// Mean L1 length of z(c) - z(o).
    pub l1_mean: Option<f64>,
    /// Mean L2 length of z(c) - z(o).
    pub l2_mean: Option<f64>,
    /// Mean number of changed variables.
    pub changed_mean: Option<f64>,
    /// Share of counterfactuals that differ in the sensitive attribute only.
    pub unchanged_share: Option<f64>,
    /// Mean number of clamped values.
    pub clamped_mean: Option<f64>,
    /// Mean number of variables tested without the class.
    pub fallback_mean: Option<f64>,
    /// Mean number of variables that could not be moved.
    pub kept_mean: Option<f64>,
    /// The 5, 50 and 95 % quantiles of the plausibility, where a filter runs.
    pub plausibility: Option<[f64; 3]>,
    /// The same quantiles for the real rows of the target group, each in its own section.
    pub plausibility_real: Option<[f64; 3]>,
    /// The quality of each variable; empty in total.
    pub variables: Vec<VariableQuality>,
}

/// How the counterfactuals of a pair differ in one variable.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct VariableQuality {
    /// The variable.
    pub name: String,
    /// Whether it holds numbers.
    pub is_number: bool,
    /// Whether the variable varies in the reference.
    pub varies: bool,
    /// Counterfactuals with a value.
    pub n: u64,
    /// The number of these whose class the target group has.
    ///
    /// The others enter neither the distances nor the share out of range.
    pub n_compared: u64,
    /// Share of changed values among originals that have one.
    pub share_changed: Option<f64>,
    /// Mean of c - o, in the unit of the variable.
    pub mean_change: Option<f64>,
    /// Mean of |c - o| in standard deviations of the reference.
    pub mean_abs_change_sd: Option<f64>,
    /// Distance of the originals to the target: Kolmogorov-Smirnov for numbers, total variation for
    /// levels.
    pub dist_before: Option<f64>,
    /// Distance of the counterfactuals to the target.
    pub dist_after: Option<f64>,
    /// Wasserstein-1 distance of the originals to the target, in standard deviations of the
    /// reference.
    pub w1_before: Option<f64>,
    /// Wasserstein-1 distance of the counterfactuals to the target.
    pub w1_after: Option<f64>,
    /// Share of counterfactuals outside the target's range, or with a level that the target lacks.
    pub out_of_range: Option<f64>,
}
