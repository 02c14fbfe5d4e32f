//! How much an unrecorded cause can bias the expected change of a linear score when the attribute
//! changes.
//!
//! Source: Frisch, Waugh and Lovell: the effect of the attribute A on a column is its coefficient
//! next to N, the variables that cannot follow from it; Cinelli and Hazlett 2020, "Making sense of
//! sensitivity", equation 6: an unrecorded U that explains the share r_a of the residual of A given
//! N, and the share r_y of the residual of a target y given A and N, biases that coefficient by at
//! most sqrt(r_y r_a / (1 - r_a)) sd(y residual) / sd(A residual). With several columns of A and a
//! contrast d, 1 / sd(A residual) is sqrt(q), q = d' S(A|N)^+ d. So with the same share s of both,
//! the bias is g(s) *unit*, g(s) = s / sqrt(1 - s), and only the unit depends on the world:
//!
//! - target *any*: sqrt(w_D' S(D|A,N) w_D q), w the weights of the score. It holds for every U,
//!   regardless of the columns that U affects; D are the variables that may follow from A.
//! - target *v*, one variable of D: sqrt(k' S(v|pa(v),A,N) k q), k the change of the score per unit
//!   of each column of v, carried down the fitted equations of D.
//!
//! S is the covariance of the encoded columns of one replicate, S(Y|X) = S_YY - S_YX S_XX^+ S_XY,
//! 0 where its trace is at most 1e-10 of that of S_YY; equations and inverses are those of `scm`.
//! *Benchmarks* are the same two shares of a recorded variable j of N, made into a bound on a U as
//! strong as j (Cinelli and Hazlett, section 4.4, k = 1), and the one share s with the same bias.
//! Choice: if j determines the target or the attribute, the bound is 1; if the target has no
//! residual variance, it is 0. Cost: one factorisation per set of conditioning variables, all
//! columns at once; members of one replicate share them. Expected values in the tests come from a
//! numpy program, checked there with PySensemakr 0.0.8.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::causal::encoding::GraphEncoding;
use crate::causal::graph::Dag;
use crate::causal::knowledge::Knowledge;
use crate::causal::moments::EncodedMoments;
use crate::causal::nodes::NodeSet;
use crate::causal::scm::minimum_norm;
use crate::num::eigen::dot;
use crate::num::linalg::SymmetricMatrix;

/// A remainder below this share of the whole counts as 0.
const NOTHING_LEFT: f64 = 1e-10;

/// What a hidden cause affects in addition to the attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HiddenTarget {
    /// Any of the variables that may follow from the attribute, in any proportion.
    Any,
    /// Only this variable.
    Variable(usize),
}

/// The strength of a recorded variable, as the bound for a hidden cause of the same strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CauseBenchmark {
    /// The variable.
    pub variable: usize,
    /// Share of the attribute that such a cause explains, 0 to 1.
    pub attribute: f64,
    /// Share of the target, 0 to 1.
    pub target: f64,
    /// The one share of both with the same bias, 0 to 1.
    pub equal: f64,
}

/// The bias of a hidden cause through one target.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TargetReach {
    /// The target.
    pub target: HiddenTarget,
    /// Bias of the score's change at g = 1, in units of the score, 0 or above.
    pub unit: f64,
    /// Each variable that cannot follow from the attribute; empty if benchmarks are not requested.
    pub benchmarks: Vec<CauseBenchmark>,
}

/// The bias of a hidden cause in one graph.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HiddenReach {
    /// The change of the score by the regression of everything that may follow on the attribute
    /// and on what cannot follow, without the edges that the graph leaves out.
    pub regression: f64,
    /// Any, then each variable that may follow, ascending.
    pub targets: Vec<TargetReach>,
}

/// A change of the attribute, and the score whose change is examined.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScoredChange {
    /// Position of the attribute.
    pub attribute: usize,
    /// How its encoded columns change.
    pub contrast: Vec<f64>,
    /// The change of the score per unit of each encoded column of the graph.
    pub weights: Vec<f64>,
}

/// The variables that may follow from the attribute: none of its causes in the graph, and none that
/// knowledge keeps from following (`never`).
pub(crate) fn may_follow(dag: &Dag, attribute: usize, never: NodeSet) -> NodeSet {
    let mut causes = NodeSet::EMPTY;
    for v in dag.topological_order().into_iter().rev() {
        if v == attribute || causes.contains(v) {
            causes = causes | dag.parents[v];
        }
    }
    NodeSet::first_n(dag.parents.len()).without(attribute) - causes - never
}

/// The variables that cannot follow from another one by knowledge: variables of earlier tiers, and
/// of the same tier if edges within it are forbidden.
pub(crate) fn never_follow(knowledge: &Knowledge, attribute: usize) -> NodeSet {
    (0..knowledge.tier.len()).filter(|&v| knowledge.tiers_forbid(attribute, v)).collect()
}

/// The covariances of a replicate, and those conditional on sets of its variables.
pub(crate) struct ConditionalCovariance {
    columns: Vec<Range<usize>>,
    covariance: SymmetricMatrix,
    /// The coefficients of every column on the columns of a set, for each set.
    known: HashMap<NodeSet, Rc<Vec<Vec<f64>>>>,
}

impl ConditionalCovariance {
    /// The covariances of encoded columns; `columns` are those of each variable.
    pub(crate) fn new(columns: Vec<Range<usize>>, covariance: SymmetricMatrix) -> Self {
        ConditionalCovariance { columns, covariance, known: HashMap::new() }
    }

    /// From the moments of a replicate.
    pub(crate) fn of_moments(encoding: &GraphEncoding, moments: &EncodedMoments) -> Self {
        let columns = encoding.variables.iter().map(|variable| variable.columns.clone()).collect();
        let covariance = SymmetricMatrix::of(encoding.width(), |i, j| moments.covariance(i, j));
        ConditionalCovariance::new(columns, covariance)
    }

    fn columns_of(&self, variables: NodeSet) -> Vec<usize> {
        variables.into_iter().flat_map(|v| self.columns[v].clone()).collect()
    }

    /// The coefficients of every column on the columns of these variables.
    fn coefficients(&mut self, given: NodeSet) -> Rc<Vec<Vec<f64>>> {
        if let Some(known) = self.known.get(&given) {
            return Rc::clone(known);
        }
        let on = self.columns_of(given);
        let entry = |i, j| self.covariance.entry(i, j);
        let sides: Vec<Vec<f64>> = (0..self.covariance.n)
            .map(|column| on.iter().map(|&p| entry(p, column)).collect())
            .collect();
        let among = SymmetricMatrix::of(on.len(), |i, j| entry(on[i], on[j]));
        let found = Rc::new(minimum_norm(&among, &[], &sides));
        self.known.insert(given, Rc::clone(&found));
        found
    }

    /// The covariances of these rows with these columns, conditional on variables.
    fn left(&mut self, rows: &[usize], columns: &[usize], given: NodeSet) -> Vec<Vec<f64>> {
        let (on, coefficients) = (self.columns_of(given), self.coefficients(given));
        let entry = |&i: &usize, &j: &usize| {
            let of = on.iter().zip(&coefficients[j]);
            let explained: f64 = of.map(|(&p, b)| self.covariance.entry(i, p) * b).sum();
            self.covariance.entry(i, j) - explained
        };
        rows.iter().map(|i| columns.iter().map(|j| entry(i, j)).collect()).collect()
    }

    /// S(Y|X); 0 if there is no residual variance.
    fn left_of(&mut self, columns: &[usize], given: NodeSet) -> Vec<Vec<f64>> {
        let mut left = self.left(columns, columns, given);
        let before: f64 = columns.iter().map(|&c| self.covariance.entry(c, c)).sum();
        let after: f64 = (0..columns.len()).map(|i| left[i][i]).sum();
        if after <= NOTHING_LEFT * before {
            left.iter_mut().for_each(|row| row.fill(0.0));
        }
        left
    }

    /// The bias of a hidden cause on the change of a score in one graph; none if variables that
    /// cannot follow determine the attribute. With `benchmarked` also the strengths of recorded
    /// variables.
    pub(crate) fn reach(
        &mut self,
        dag: &Dag,
        follow: NodeSet,
        change: &ScoredChange,
        benchmarked: bool,
    ) -> Option<HiddenReach> {
        let variables = NodeSet::first_n(self.columns.len());
        let recorded = variables.without(change.attribute) - follow;
        let given_all = recorded.with(change.attribute);
        let attribute = self.columns_of(NodeSet::single(change.attribute));
        let following = self.columns_of(follow);
        let left = self.left_of(&attribute, recorded);
        if left.iter().enumerate().all(|(i, row)| row[i] == 0.0) {
            return None;
        }
        let left = SymmetricMatrix::of(attribute.len(), |i, j| left[i][j]);
        // S(A|N)^+ d.
        let along = minimum_norm(&left, &[], std::slice::from_ref(&change.contrast)).remove(0);
        let q = dot(&along, &change.contrast);
        let weight = |columns: &[usize]| -> Vec<f64> {
            columns.iter().map(|&column| change.weights[column]).collect()
        };
        let moved = self.left(&following, &attribute, recorded);
        let moved: Vec<f64> = moved.iter().map(|row| dot(row, &along)).collect();
        let regression =
            dot(&weight(&attribute), &change.contrast) + dot(&weight(&following), &moved);
        let mut targets = Vec::new();
        for target in
            std::iter::once(HiddenTarget::Any).chain(follow.into_iter().map(HiddenTarget::Variable))
        {
            let (columns, per_unit, given) = match target {
                HiddenTarget::Any => (following.clone(), weight(&following), given_all),
                HiddenTarget::Variable(v) => (
                    self.columns_of(NodeSet::single(v)),
                    self.carried(dag, follow, v, &change.weights),
                    given_all | dag.parents[v],
                ),
            };
            let unit_squared = (quadratic(&self.left_of(&columns, given), &per_unit) * q).max(0.0);
            let benchmarks = match benchmarked {
                false => Vec::new(),
                true => {
                    let benchmark = |j| {
                        let asked = (columns.as_slice(), per_unit.as_slice(), unit_squared);
                        self.benchmark(j, (recorded, change.attribute), (&along, q), asked)
                    };
                    recorded.into_iter().map(benchmark).collect()
                }
            };
            targets.push(TargetReach { target, unit: unit_squared.sqrt(), benchmarks });
        }
        Some(HiddenReach { regression, targets })
    }

    /// The change of the score per unit of each column of a variable, propagated through the fitted
    /// equations of the variables that may follow from the attribute.
    fn carried(&mut self, dag: &Dag, follow: NodeSet, v: usize, weights: &[f64]) -> Vec<f64> {
        let below: Vec<usize> = dag
            .topological_order()
            .into_iter()
            .filter(|&u| u != v && follow.contains(u) && !dag.parents[u].is_empty())
            .collect();
        let mut found = Vec::new();
        for column in self.columns[v].clone() {
            let mut change = vec![0.0; self.covariance.n];
            change[column] = 1.0;
            for &u in &below {
                let on = self.columns_of(dag.parents[u]);
                if on.iter().all(|&p| change[p] == 0.0) {
                    continue;
                }
                let coefficients = self.coefficients(dag.parents[u]);
                for c in self.columns[u].clone() {
                    change[c] = on.iter().zip(&coefficients[c]).map(|(&p, b)| b * change[p]).sum();
                }
            }
            found.push(dot(&change, weights));
        }
        found
    }

    /// The strength of a recorded variable: `along` is S(A|N)^+ d, and `asked` has the columns of
    /// the target, the change of the score per unit of each, and the square of the target's unit.
    fn benchmark(
        &mut self,
        j: usize,
        (recorded, attribute): (NodeSet, usize),
        (along, q): (&[f64], f64),
        (columns, per_unit, unit_squared): (&[usize], &[f64], f64),
    ) -> CauseBenchmark {
        let of_attribute = self.columns_of(NodeSet::single(attribute));
        let others = recorded.without(j);
        let share =
            |without: f64, with: f64| if without > 0.0 { 1.0 - with / without } else { 0.0 };
        let without = quadratic(&self.left_of(&of_attribute, others), along);
        let with = quadratic(&self.left_of(&of_attribute, recorded), along);
        let of_a = share(without, with);
        let without = quadratic(&self.left_of(columns, others.with(attribute)), per_unit);
        let left = quadratic(&self.left_of(columns, recorded.with(attribute)), per_unit);
        let of_y = share(without, left);
        let bound = of_a / (1.0 - of_a);
        if of_a >= 1.0 || of_y >= 1.0 || bound >= 1.0 {
            return CauseBenchmark { variable: j, attribute: 1.0, target: 1.0, equal: 1.0 };
        }
        let root = bound; // The root of r_z = r_d^2 / (1 - r_d)^2.
        let most = (1.0 + root) * (1.0 + root) / (1.0 - root * root);
        let target = (most * of_y / (1.0 - of_y)).min(1.0);
        let squared = target * bound / (1.0 - bound) * left * q;
        let equal = match (squared > 0.0, unit_squared > 0.0) {
            (false, _) => 0.0,
            (true, false) => 1.0,
            (true, true) => {
                let t = squared / unit_squared;
                0.5 * ((t * t + 4.0 * t).sqrt() - t)
            }
        };
        CauseBenchmark { variable: j, attribute: bound, target, equal }
    }
}

/// x' M x.
fn quadratic(matrix: &[Vec<f64>], x: &[f64]) -> f64 {
    matrix.iter().zip(x).map(|(row, x_i)| x_i * dot(row, x)).sum()
}
