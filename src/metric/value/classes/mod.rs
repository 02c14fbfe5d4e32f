//! Labels of more than two classes: K x K matrices, and every class against the rest.
//!
//! Source: the multi-class forms follow from the papers' matrices. Rows of the counterfactual
//! matrix are the factual predictions, columns the counterfactual ones; the extended matrix has one
//! such matrix per label. CR is the share on the diagonal, SR the share off the diagonal, CMCC the
//! multi-class correlation; ACC and MCC are the same for the matrix of labels against predictions.
//!
//! One against the rest: class k is positive, all others are negative, the score is that of class
//! k. Every other metric of this crate reads such evidence of two classes:
//! [`FactualClassCounts::one_vs_rest`] and, counted separately,
//! [`CounterfactualCounts`](crate::metric::evidence::counts::CounterfactualCounts). The rate at
//! which class k is left is the `nsr` of class k, the rate at which it is joined its `psr`.
//!
//! Evidence is gathered in one pass and merges
//! ([`class_counts`](crate::metric::evidence::class_counts)); [`measure`] makes values with
//! intervals. If people have weights, they are still counted, and their weights are summed
//! separately; so are the rows of each person, where one may have several.
//!
//! Memory: without weights a number per kind of people, at most K + 1 kinds per label, prediction
//! and target; with weights at most 24 bytes per block, direction and cell of the extended matrix;
//! with several rows per person an entry for each person, direction and cell that holds a row of
//! the person. The K classes against the rest take K times the memory of two classes.

pub(crate) mod measure;

pub(crate) use crate::metric::evidence::class_counts::{FactualClassCounts, SwitchClassCounts};

/// The class with the highest score, the first of equals; none if there is no class or a score is
/// missing.
///
/// Choice: ties go to the class that the job names first.
pub(crate) fn most_likely_class(scores: &[Option<f64>]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (class, score) in scores.iter().enumerate() {
        let score = (*score)?;
        if best.is_none_or(|(_, highest)| score > highest) {
            best = Some((class, score));
        }
    }
    best.map(|(class, _)| class)
}
