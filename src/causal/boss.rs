//! Best order score search: an order of the variables that no single move improves, and its DAG.
//!
//! Source: Andrews et al. 2023, "Fast scalable and accurate discovery of DAGs using the best order
//! score search and grow-shrink trees", algorithm 3. Points that the paper leaves open follow
//! Tetrad 7.6: start from the order of the variables, moves in that order, ties within
//! [`TIE_TOLERANCE`] to the earlier place, tier by tier where every variable has a tier. The score
//! of an order is the sum, over its variables, of the scores that their grow-shrink trees trace
//! given the variables before them; the DAG consists of the traced parents. Choice: a required edge
//! is in the graph from the start, regardless of the chain of required edges that contains it
//! (moving causes forward is repeated until nothing moves). Further starts are random orders from
//! the given stream; a later start replaces the result only if it is strictly better.
//!
//! Cost: a sweep queries each tree about m^2 times for m variables; trees answer from their cache,
//! so new scores are rare after the first sweep.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causal::graph::Dag;
use crate::causal::grow_shrink::GrowShrinkForest;
use crate::causal::knowledge::Knowledge;
use crate::causal::nodes::NodeSet;
use crate::causal::score::GraphScore;
use crate::num::seed::RandomStream;
use crate::param::{Count, Finite};

/// Scores closer than this are equal.
pub const TIE_TOLERANCE: f64 = 1e-6;

/// Best order score search with the degenerate Gaussian score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BossBlock {
    /// The score.
    #[serde(default)]
    pub score: GraphScoreKind,
    /// Penalty discount of the score, above 0: the larger, the fewer edges. The paper's is 2, on
    /// the scale 2 log-likelihood.
    #[serde(default = "Finite::of::<2, 1>")]
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a number above 0; the penalty of the paper is 2"))]
    pub penalty: Finite,
    /// Starts of the search, 1 to 1000: the order of the variables, then random ones. The more, the
    /// more bootstraps end at their best graphs; published figures of the method have one.
    #[serde(default = "Count::of::<10>")]
    #[schemars(extend("maximum" = 1000,
        "x-range" = "a number of starts up to 1000; 10 is the default, 30 is thorough"))]
    pub starts: Count,
    /// Whether edges are removed afterwards by backward equivalence search. The paper's search does
    /// not.
    #[serde(default)]
    pub bes: bool,
    /// A variable that is an exact function of its parents: `clamp` scores it by a stated
    /// convention and names it, `error` ends the run.
    #[serde(default)]
    pub singular: SingularRule,
}

/// The score of the search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphScoreKind {
    /// Degenerate Gaussian BIC, for numbers and levels alike.
    #[default]
    DegenerateGaussian,
}

/// What to do with a variable that its parents determine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SingularRule {
    /// Score it by a stated convention, and name it in the results.
    #[default]
    Clamp,
    /// End the run.
    Error,
}

/// The result of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct BossOutcome {
    /// The variables in the order found: parents before children.
    pub order: Vec<usize>,
    /// The parents of each.
    pub dag: Dag,
}

/// Version of the rule for the number of starts of a job that names none; raise it with the rule.
pub const STARTS_POLICY: u32 = 2;

/// Searches from `starts` orders; `stream` gives the random ones.
pub fn boss(
    score: &GraphScore,
    knowledge: &Knowledge,
    starts: usize,
    stream: &mut RandomStream,
) -> BossOutcome {
    let n = score.n_variables();
    let mut found =
        BossOutcome { order: Vec::with_capacity(n), dag: Dag { parents: vec![NodeSet::EMPTY; n] } };
    for (before, sub) in search_parts(knowledge) {
        let (order, parents) = search(score, knowledge, before, &sub, starts, stream);
        order.iter().zip(parents).for_each(|(&v, parents)| found.dag.parents[v] = parents);
        found.order.extend(order);
    }
    found
}

/// The successive searches: for each the variables that precede all others, and the list to order.
fn search_parts(knowledge: &Knowledge) -> Vec<(NodeSet, Vec<usize>)> {
    let n = knowledge.tier.len();
    if n == 0 || (0..n).any(|v| knowledge.tier[v].is_none()) {
        return vec![(NodeSet::EMPTY, (0..n).collect())];
    }
    let mut before = NodeSet::EMPTY;
    let mut parts = Vec::new();
    for t in 0..knowledge.forbidden_within.len() {
        let tier: Vec<usize> = (0..n).filter(|&v| knowledge.tier[v] == Some(t)).collect();
        let all = tier.iter().copied().collect::<NodeSet>();
        if knowledge.forbidden_within[t] {
            parts.extend(tier.into_iter().map(|v| (before, vec![v])));
        } else {
            parts.push((before, tier));
        }
        before = before | all;
    }
    parts
}

/// The best order of `sub` over all starts, and the parents of each of its variables.
fn search(
    score: &GraphScore,
    knowledge: &Knowledge,
    before: NodeSet,
    sub: &[usize],
    starts: usize,
    stream: &mut RandomStream,
) -> (Vec<usize>, Vec<NodeSet>) {
    let all = sub.iter().fold(before, |all, &v| all.with(v));
    let mut best: Option<(f64, Vec<usize>, Vec<NodeSet>)> = None;
    for start in 0..starts.max(1) {
        let mut order = sub.to_vec();
        if start > 0 {
            (1..order.len()).rev().for_each(|i| order.swap(i, stream.below(i + 1)));
        }
        respect_knowledge(&mut order, knowledge);
        let mut trees = GrowShrinkForest::new(score, knowledge, all);
        loop {
            let mut improved = false;
            for x in order.clone() {
                improved |= best_move(x, &mut order, before, knowledge, &mut trees);
            }
            if !improved {
                break;
            }
        }
        let mut ahead = before;
        let mut total = 0.0;
        let parents = order.iter().map(|&v| {
            let (score, parents) = trees.best_parents(v, ahead);
            total += score;
            ahead.insert(v);
            parents
        });
        let parents: Vec<NodeSet> = parents.collect();
        if best.as_ref().is_none_or(|(score, ..)| total > *score) {
            best = Some((total, order, parents));
        }
    }
    best.map(|(_, order, parents)| (order, parents)).unwrap_or_default()
}

/// Puts variables without a tier first, then tier by tier, and required causes before effects.
fn respect_knowledge(order: &mut [usize], knowledge: &Knowledge) {
    order.sort_by_key(|&v| knowledge.tier[v]);
    // Required edges form no cycle, so this ends.
    loop {
        let mut moved = false;
        for i in 1..order.len() {
            if let Some(j) = (0..i).find(|&j| knowledge.required(order[i], order[j])) {
                order[j..=i].rotate_right(1);
                moved = true;
            }
        }
        if !moved {
            return;
        }
    }
}

/// Moves `x` to its best place and returns whether it moved.
fn best_move(
    x: usize,
    order: &mut Vec<usize>,
    before: NodeSet,
    knowledge: &Knowledge,
    trees: &mut GrowShrinkForest<'_>,
) -> bool {
    // scores[i] is the score of x at place i plus the scores of the variables before it; the walk
    // back adds the scores of the variables after it.
    let mut scores = Vec::with_capacity(order.len() + 1);
    let (mut ahead, mut sum, mut now) = (before, 0.0, 0);
    let mut visited = 0;
    for &z in order.iter() {
        if knowledge.required(x, z) {
            break;
        }
        scores.push(trees.best_parents(x, ahead).0 + sum);
        visited += 1;
        if z == x {
            now = visited - 1;
        } else {
            sum += trees.best_parents(z, ahead).0;
            ahead.insert(z);
        }
    }
    scores.push(trees.best_parents(x, ahead).0 + sum);
    let mut best = visited;
    ahead.insert(x);
    sum = 0.0;
    for i in (0..visited).rev() {
        let z = order[i];
        if knowledge.required(z, x) {
            break;
        }
        if z != x {
            ahead.remove(z);
            sum += trees.best_parents(z, ahead).0;
        }
        scores[i] += sum;
        if scores[i] + TIE_TOLERANCE > scores[best] {
            best = i;
        }
    }
    if scores[now] + TIE_TOLERANCE > scores[best] {
        return false;
    }
    let place = if best > now { best - 1 } else { best };
    let taken = order.remove(now);
    order.insert(place, taken);
    true
}
