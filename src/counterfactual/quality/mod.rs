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
//! same state; [`CounterfactualQuality`] is its finished form. Choice: a class without reference
//! rows in group b is left out of distances; if the strategy conditions on nothing, there is one
//! class.
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
    /// The variables.
    pub(crate) variables: Vec<StrategyVariable>,
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

/// Values by the names of their measures; none if there is nothing to average, the reference does
/// not vary, or no filter runs.
pub(crate) type QualityFigures = Vec<(&'static str, Option<f64>)>;

/// The quality of the counterfactuals of a pair of groups, or of all.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CounterfactualQuality {
    /// Its values.
    pub values: QualityFigures,
    /// The quality of each variable; empty in total.
    pub variables: Vec<VariableQuality>,
}

/// How the counterfactuals of a pair differ in one variable.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VariableQuality {
    /// The variable.
    pub name: String,
    /// Whether it holds numbers.
    pub is_number: bool,
    /// Whether the variable varies in the reference.
    pub varies: bool,
    /// Its values.
    pub values: QualityFigures,
}

impl VariableQuality {
    /// The value of a measure.
    pub(crate) fn value(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(known, _)| *known == name)?.1
    }
}
