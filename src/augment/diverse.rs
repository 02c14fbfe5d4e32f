//! Which counterfactuals resemble the training rows least: those that are farthest from their
//! nearest one.
//!
//! Source: Gower 1971, "A general coefficient of similarity and some of its properties", as
//! "Towards Counterfactual Group Fairness", F.2.3, takes the most diverse counterfactuals. The
//! distance of two rows is the mean over variables of |x - y| / (largest - smallest number of the
//! training rows), or of 1 where levels differ and 0 where they do not; missing against missing is
//! 0, missing against a value 1. A number beyond the training rows may be more than 1 away; one
//! that does not vary there counts as a level.
//!
//! Of m counterfactuals floor(f m + 0.5 + 1e-9) are taken, the largest distance first; ties go by
//! row key, target group, attribute, number of the counterfactual.
//! Cost: each counterfactual is compared with the training rows until one is farther than the
//! nearest so far in a part of its variables; all training rows are in memory.

use std::collections::BTreeSet;

use crate::augment::choose::{CandidateKey, share_of};
use crate::counterfactual::variable::StrategyVariable;
use crate::data::FeatureRows;

/// Training rows to which distances are measured.
pub(crate) struct GowerSpace {
    variables: Vec<StrategyVariable>,
    /// The range of the numbers of each variable; none for levels.
    widths: Vec<Option<f64>>,
    /// The values of all rows, row by row; NaN = missing.
    values: Vec<f64>,
}

impl GowerSpace {
    /// The rows of these variables.
    pub(crate) fn new(variables: Vec<StrategyVariable>, rows: &FeatureRows) -> Self {
        let width = |variable: &StrategyVariable| {
            let numbers = (0..rows.n).map(|i| variable.value(rows, i)).filter(|x| !x.is_nan());
            let (lo, hi) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| {
                (f64::min(lo, x), f64::max(hi, x))
            });
            (variable.levels().is_none() && lo < hi).then_some(hi - lo)
        };
        let widths = variables.iter().map(width).collect();
        let values =
            (0..rows.n).flat_map(|i| variables.iter().map(move |v| v.value(rows, i))).collect();
        GowerSpace { variables, widths, values }
    }

    /// The distance of a row to the nearest of these; infinite if there are none.
    pub(crate) fn nearest(&self, rows: &FeatureRows, i: usize) -> f64 {
        let own: Vec<f64> = self.variables.iter().map(|v| v.value(rows, i)).collect();
        if own.is_empty() {
            return 0.0;
        }
        let mut nearest = f64::INFINITY;
        for other in self.values.chunks_exact(own.len()) {
            let mut sum = 0.0;
            for ((x, y), width) in own.iter().zip(other).zip(&self.widths) {
                sum += apart(*x, *y, *width);
                if sum >= nearest {
                    break;
                }
            }
            nearest = nearest.min(sum);
            if nearest == 0.0 {
                break;
            }
        }
        nearest / own.len() as f64
    }
}

/// The part of one variable in the distance.
fn apart(x: f64, y: f64, width: Option<f64>) -> f64 {
    match (x.is_nan() || y.is_nan(), width) {
        (true, _) => f64::from(u8::from(x.is_nan() != y.is_nan())),
        (false, Some(width)) => (x - y).abs() / width,
        (false, None) => f64::from(u8::from(x != y)),
    }
}

/// The farthest of the counterfactuals: this fraction of them, by their distances.
pub(crate) fn farthest_keys(
    mut distances: Vec<(f64, CandidateKey)>,
    fraction: f64,
) -> BTreeSet<CandidateKey> {
    distances.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    distances.truncate(share_of(fraction, distances.len()));
    distances.into_iter().map(|(_, key)| key).collect()
}
