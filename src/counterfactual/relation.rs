//! Which variables are related to a pair of groups, so that greedy moves them.
//!
//! Source: the greedy strategy of "Towards Counterfactual Group Fairness", which moves all features
//! related to the sensitive attribute and does not define this relation. Choice: a two-sample test.
//! D is the Kolmogorov-Smirnov statistic for numbers and the largest difference of shares for
//! levels; a variable is related if for at least one class with enough values on both sides D >
//! sqrt(-ln(alpha / 2) / 2) sqrt((n_a + n_b) / (n_a n_b)) and D >= min_effect.
//! Reason: a map between two samples of the same distribution moves values by 0.34 standard
//! deviations (30 rows per group), 0.105 (300), 0.05 (1,000): noise to which a model may react with
//! switches.
//! Cost: linear in the distinct values of the strata, once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counterfactual::conditional::ReferenceStrata;
use crate::counterfactual::joint::share_gaps;
use crate::counterfactual::variable::{StrategyVariable, in_kinds};
use crate::num::ecdf::distances;

/// The two-sample test of greedy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelationTest {
    /// The test of Kolmogorov and Smirnov; for levels the largest difference of shares, at the same
    /// limit.
    #[default]
    Ks,
    /// None: every variable counts as related.
    None,
}

/// When a variable is related to a pair of groups.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationSettings {
    /// The test.
    pub test: RelationTest,
    /// Its significance level, in (0, 1).
    pub alpha: f64,
    /// The smallest difference of probabilities that counts, in [0, 1].
    pub min_effect: f64,
}

impl RelationSettings {
    /// Whether each variable is related to a pair of groups.
    pub fn related(
        &self,
        strata: &ReferenceStrata,
        variables: &[StrategyVariable],
        a: usize,
        b: usize,
        min_stratum: u64,
    ) -> Vec<bool> {
        // Without classes the pooled stratum is the only one.
        let slots = strata.pooled_slot().max(1);
        let of_variable = |(j, variable): (usize, &StrategyVariable)| {
            self.test == RelationTest::None
                || (0..slots).any(|slot| {
                    let (of_a, of_b) = (strata.table(a, slot), strata.table(b, slot));
                    let (n_a, n_b, difference) = if variable.levels().is_none() {
                        let (x, y) = (&of_a.values[j], &of_b.values[j]);
                        (x.n_rows(), y.n_rows(), distances(x, y).map(|d| d.0))
                    } else {
                        let (x, y) = (&of_a.levels[j], &of_b.levels[j]);
                        (x.n, y.n, share_gaps(x, y).map(|gaps| gaps.fold(0.0, f64::max)))
                    };
                    let limit = |d: f64| {
                        let (n_a, n_b) = (n_a as f64, n_b as f64);
                        let factor = (-libm::log(self.alpha / 2.0) / 2.0).sqrt();
                        d > factor * ((n_a + n_b) / (n_a * n_b)).sqrt() && d >= self.min_effect
                    };
                    n_a.min(n_b) >= min_stratum.max(1) && difference.is_some_and(limit)
                })
        };
        in_kinds(variables).map(of_variable).collect()
    }
}
