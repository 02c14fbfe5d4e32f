//! Linear structural equations of a DAG, fitted on one bootstrap replicate, and how they move a row
//! that keeps its noise. Rows with drawn levels are in `counterfactual/graph_uncertain/rows.rs`.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty", section 3.2. An edge between variables
//! is one between all their encoded columns; columns of one variable are never parents of each
//! other. Every column of a variable with parents is fitted by least squares with intercept,
//! indicators as if they were numbers: coefficients = S_pp^+ S_pv, intercept = mean_v - mean_p .
//! coefficients, S the weighted covariances. K indicators and the intercept are collinear, so the
//! solution of minimum norm is taken: eigenvalues of S_pp below 1e-10 times the largest count as
//! zero.
//! Method: the known null space of S_pp (indicators of one variable sum to one; levels that the
//! replicate lacks) is filled by adding the projection on it, which changes no solution, and a
//! Cholesky factorisation solves the system; eigenvectors are computed only if a pivot is still
//! small. Columns of one variable share the factorisation, and so do DAGs in which it has the same
//! parents. Cost: m^3 / 6 operations for m columns of parents, m^2 for each column.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::causal::encoding::GraphEncoding;
use crate::causal::graph::Dag;
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::num::eigen::shortest_solutions;
use crate::num::linalg::SymmetricMatrix;

/// Eigenvalues below this share of the largest count as zero.
pub(crate) const EIGENVALUE_CUTOFF: f64 = 1e-10;

/// Variances below this, in units of those of all training rows, are rounding errors.
const VARIANCE_NOISE: f64 = 1e-12;

/// Pivots below this share of the largest diagonal entry call for eigenvectors.
const SMALL_PIVOT: f64 = 1e-6;

/// The equations of the columns of one variable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct VariableEquations {
    /// Encoded columns of the parents, ascending.
    pub parents: Vec<usize>,
    /// The intercept and one coefficient per parent column, for each column of the variable.
    pub columns: Vec<(f64, Vec<f64>)>,
}

/// A DAG with the equations of its variables.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CausalModel<'a> {
    /// How rows become encoded columns.
    pub encoding: &'a GraphEncoding,
    /// The graph.
    pub dag: Dag,
    /// The equations of each variable; `None` for a variable without parents.
    pub equations: Vec<Option<Arc<VariableEquations>>>,
}

impl CausalModel<'_> {
    /// How every encoded column moves when the columns of `a` move by `start`; the noise is kept.
    ///
    /// The movement is the sum of coefficient times movement of the parents for descendants of `a`,
    /// 0 elsewhere. The model is linear, so this is abduction, action and prediction for every row
    /// at once.
    pub(crate) fn shift(&self, a: usize, start: &[(usize, f64)]) -> Vec<f64> {
        let mut shift = vec![0.0; self.encoding.width()];
        start.iter().for_each(|&(column, movement)| shift[column] = movement);
        let moved = self.dag.descendants_and_self(a).without(a);
        for v in self.dag.topological_order() {
            let Some(equations) = self.equations[v].as_deref().filter(|_| moved.contains(v)) else {
                continue;
            };
            let columns = self.encoding.variables[v].columns.clone();
            for (c, (_, coefficients)) in columns.zip(&equations.columns) {
                shift[c] =
                    equations.parents.iter().zip(coefficients).map(|(&p, b)| b * shift[p]).sum();
            }
        }
        shift
    }
}

/// The equations of one replicate, each fitted once.
#[derive(Debug)]
pub(crate) struct EquationCache<'a> {
    encoding: &'a GraphEncoding,
    moments: &'a EncodedMoments,
    cache: HashMap<(usize, NodeSet), Arc<VariableEquations>>,
}

impl<'a> EquationCache<'a> {
    /// A cache without any fitted equation.
    pub(crate) fn new(encoding: &'a GraphEncoding, moments: &'a EncodedMoments) -> Self {
        EquationCache { encoding, moments, cache: HashMap::new() }
    }

    /// The equations of variable `v` given its parents; `None` for a variable without parents.
    pub(crate) fn equations(
        &mut self,
        v: usize,
        parents: NodeSet,
    ) -> Option<Arc<VariableEquations>> {
        if !parents.is_empty() && !self.cache.contains_key(&(v, parents)) {
            let fitted = Arc::new(self.fit(v, parents));
            self.cache.insert((v, parents), fitted);
        }
        self.cache.get(&(v, parents)).cloned()
    }

    /// The DAG with its equations.
    pub(crate) fn model(&mut self, dag: &Dag) -> CausalModel<'a> {
        let equations = (0..dag.parents.len()).map(|v| self.equations(v, dag.parents[v])).collect();
        CausalModel { encoding: self.encoding, dag: dag.clone(), equations }
    }

    fn fit(&self, v: usize, parents: NodeSet) -> VariableEquations {
        let (moments, columns) =
            (self.moments, |v: usize| self.encoding.variables[v].columns.clone());
        let given: Vec<usize> = parents.into_iter().flat_map(columns).collect();
        let covariances =
            SymmetricMatrix::of(given.len(), |i, j| moments.covariance(given[i], given[j]));
        let target = |c: usize| given.iter().map(|&p| moments.covariance(p, c)).collect();
        let targets: Vec<Vec<f64>> = columns(v).map(target).collect();
        let solved = minimum_norm(&covariances, &self.null_directions(parents), &targets);
        let equation = |(c, coefficients): (usize, Vec<f64>)| {
            let explained = given.iter().zip(&coefficients).map(|(&p, b)| moments.mean(p) * b);
            (moments.mean(c) - explained.sum::<f64>(), coefficients)
        };
        VariableEquations {
            columns: columns(v).zip(solved).map(equation).collect(),
            parents: given,
        }
    }

    /// Orthonormal directions in which the parents' columns do not vary.
    ///
    /// They are the levels that the replicate lacks, and the sum of the indicators of a variable.
    fn null_directions(&self, parents: NodeSet) -> Vec<Vec<(usize, f64)>> {
        let mut zeros = Vec::new();
        let mut start = 0;
        for p in parents {
            let columns = self.encoding.variables[p].columns.clone();
            let at = |c: usize| start + c - columns.start;
            if columns.len() > 1 {
                let (present, absent): (Vec<usize>, Vec<usize>) =
                    columns.clone().partition(|&c| self.moments.sum(c) > 0.5);
                zeros.extend(absent.into_iter().map(|c| vec![(at(c), 1.0)]));
                let length = (present.len() as f64).sqrt();
                zeros.push(present.into_iter().map(|c| (at(c), 1.0 / length)).collect());
            }
            start += columns.len();
        }
        zeros
    }
}

/// The minimum-norm least-squares solution of A x = b for each right-hand side b.
///
/// A is positive semidefinite and vanishes on `null_directions`.
pub(super) fn minimum_norm(
    a: &SymmetricMatrix,
    zeros: &[Vec<(usize, f64)>],
    targets: &[Vec<f64>],
) -> Vec<Vec<f64>> {
    let largest = (0..a.n).map(|i| a.entry(i, i)).fold(0.0, f64::max);
    let mut filled = a.clone();
    for zero in zeros {
        for (k, &(i, x)) in zero.iter().enumerate() {
            for &(j, y) in &zero[..=k] {
                filled.lower[SymmetricMatrix::at(i.max(j), i.min(j))] += largest * x * y;
            }
        }
    }
    if let Some(factor) = filled.cholesky(SMALL_PIVOT) {
        return targets.iter().map(|b| factor.solve(b)).collect();
    }
    shortest_solutions(a, targets, |largest| (EIGENVALUE_CUTOFF * largest).max(VARIANCE_NOISE))
}

#[cfg(test)]
mod tests {
    use super::minimum_norm;
    use crate::num::linalg::SymmetricMatrix;
    use crate::num::seed::RandomStream;

    /// Covariances of `n` columns, the first three of which sum to one; the solution is checked
    /// against the equations that define it.
    #[test]
    fn the_shortest_solution_is_found_either_way() {
        let mut stream = RandomStream::new(4, "shortest");
        for dependent in [false, true] {
            let n = 6;
            let rows: Vec<Vec<f64>> = (0..40)
                .map(|i| {
                    let mut row = vec![0.0; n];
                    row[i % 3] = 1.0;
                    (3..n).for_each(|c| row[c] = stream.normal());
                    // A second dependency, which the factorisation would not detect.
                    if dependent {
                        row[5] = row[3] - 2.0 * row[4] + row[0];
                    }
                    row
                })
                .collect();
            let target: Vec<f64> =
                rows.iter().map(|row| row[0] + row[3] + stream.normal()).collect();
            let mean = |value: &dyn Fn(usize) -> f64| {
                (0..rows.len()).map(value).sum::<f64>() / rows.len() as f64
            };
            let means: Vec<f64> = (0..n).map(|c| mean(&|i| rows[i][c])).collect();
            let covariance =
                |a: usize, b: usize| mean(&|i| (rows[i][a] - means[a]) * (rows[i][b] - means[b]));
            let lower = (0..n)
                .flat_map(|a| (0..=a).map(move |b| (a, b)))
                .map(|(a, b)| covariance(a, b))
                .collect();
            let matrix = SymmetricMatrix { n, lower };
            let right: Vec<f64> =
                (0..n).map(|c| mean(&|i| (rows[i][c] - means[c]) * target[i])).collect();
            let third = 1.0 / 3.0_f64.sqrt();
            let zeros = vec![(0..3).map(|c| (c, third)).collect()];
            let x = minimum_norm(&matrix, &zeros, std::slice::from_ref(&right)).remove(0);
            let by_eigenvectors =
                minimum_norm(&matrix, &[], std::slice::from_ref(&right)).remove(0);
            for c in 0..n {
                let product: f64 = (0..n).map(|k| covariance(c, k) * x[k]).sum();
                assert!((product - right[c]).abs() < 1e-10, "normal equations {dependent}");
                assert!((x[c] - by_eigenvectors[c]).abs() < 1e-9, "{x:?} {by_eigenvectors:?}");
            }
            assert!((x[0] + x[1] + x[2]).abs() < 1e-10 || dependent, "{x:?}");
        }
    }
}
