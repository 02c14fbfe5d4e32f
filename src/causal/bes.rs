//! Backward equivalence search: removes edges from a class as long as that raises the score.
//!
//! Source: Chickering 2002, "Optimal structure identification with greedy search", operator Delete.
//! The option of this name in Tetrad 7.6 has no effect: it prunes before parent sets are updated.
//! An edge x -> y or x - y that is not required may be removed: NA are the undirected neighbours of
//! y next to x, C a part of NA all adjacent to each other; gain = s(y | C + Pa(y) - x) - s(y | C +
//! Pa(y) + x). Candidates with gain above 1e-9 are tried, highest gain first (ties: x, y, then the
//! nodes of NA outside C); for each h in NA but not in C, y -> h is directed, and x -> h if there
//! is an edge x - h. The remaining graph must extend to a DAG within knowledge (Dor and Tarsi 1992)
//! whose score is higher by more than 1e-6.
//! Choice: an edge whose NA has more than [`MAX_SHARED_NEIGHBOURS`] variables is kept (there would
//! be more than 2^16 sets C to try).

use crate::causal::graph::{Dag, Pdag};
use crate::causal::knowledge::Knowledge;
use crate::causal::nodes::NodeSet;
use crate::causal::score::GraphScore;

/// Largest number of neighbours shared by both ends of an edge at which its removal is tried.
pub(crate) const MAX_SHARED_NEIGHBOURS: usize = 16;

/// One removal: the edge from x to y, and in `unoriented` the shared neighbours whose edges lose
/// their direction with it.
struct EdgeRemoval {
    gain: f64,
    x: usize,
    y: usize,
    unoriented: Vec<usize>,
}

/// Backward search from the class of `dag`: a DAG of the resulting class, and how many removals.
pub(crate) fn bes(score: &GraphScore, knowledge: &Knowledge, dag: Dag) -> (Dag, usize) {
    let (mut dag, mut removed) = (dag, 0);
    while let Some(next) = remove_best(score, knowledge, &dag) {
        dag = next;
        removed += 1;
    }
    (dag, removed)
}

/// The DAG after the removal that raises the score most; `None` if none raises it.
fn remove_best(score: &GraphScore, knowledge: &Knowledge, dag: &Dag) -> Option<Dag> {
    let class = Pdag::from_dag(dag, knowledge);
    let before = score.total(&dag.parents);
    let mut removals = removals(score, knowledge, &class);
    removals.sort_by(|a, b| {
        b.gain
            .total_cmp(&a.gain)
            .then_with(|| (a.x, a.y, &a.unoriented).cmp(&(b.x, b.y, &b.unoriented)))
    });
    removals.into_iter().find_map(|removal| {
        let next = extend(apply(&class, &removal), knowledge)?;
        (next.satisfies(knowledge) && score.total(&next.parents) > before + 1e-6).then_some(next)
    })
}

fn removals(score: &GraphScore, knowledge: &Knowledge, class: &Pdag) -> Vec<EdgeRemoval> {
    let n = class.parents.len();
    let mut found = Vec::new();
    for x in 0..n {
        for y in class.children[x] | class.neighbours[x] {
            if knowledge.required(x, y) || knowledge.required(y, x) {
                continue;
            }
            let beside: Vec<usize> =
                (class.neighbours[y] & class.adjacent(x)).into_iter().collect();
            if beside.len() > MAX_SHARED_NEIGHBOURS {
                continue;
            }
            for choice in 0..1_u32 << beside.len() {
                let chosen: NodeSet =
                    (0..beside.len()).filter(|k| choice >> k & 1 == 1).map(|k| beside[k]).collect();
                if chosen.into_iter().any(|v| !chosen.without(v).is_subset(class.adjacent(v))) {
                    continue;
                }
                let given = (chosen | class.parents[y]).without(x);
                let gain =
                    score.local_score(y, given).score - score.local_score(y, given.with(x)).score;
                if gain > 1e-9 {
                    found.push(EdgeRemoval {
                        gain,
                        x,
                        y,
                        unoriented: beside
                            .iter()
                            .copied()
                            .filter(|&h| !chosen.contains(h))
                            .collect(),
                    });
                }
            }
        }
    }
    found
}

fn apply(class: &Pdag, removal: &EdgeRemoval) -> Pdag {
    let mut graph = class.clone();
    graph.remove_edge(removal.x, removal.y);
    for &h in &removal.unoriented {
        graph.orient(removal.y, h);
        if graph.neighbours[removal.x].contains(h) {
            graph.orient(removal.x, h);
        }
    }
    graph
}

/// Extends a graph to a DAG (Dor and Tarsi 1992); `None` if this is not possible.
///
/// Directed edges are kept; the DAG has no new unshielded collider and no direction that the
/// knowledge excludes. Repeatedly takes the lowest node that can be a sink and directs its edges
/// into it.
fn extend(graph: Pdag, knowledge: &Knowledge) -> Option<Dag> {
    let n = graph.parents.len();
    let mut dag = graph.clone();
    let mut graph = graph;
    let mut left = NodeSet::first_n(n);
    while !left.is_empty() {
        let last = left.into_iter().find(|&v| {
            let shielded = |u: usize| graph.adjacent(v).without(u).is_subset(graph.adjacent(u));
            let allowed = |u: usize| !knowledge.compels(v, u);
            graph.children[v].is_empty()
                && graph.neighbours[v].into_iter().all(|u| shielded(u) && allowed(u))
        })?;
        for u in graph.neighbours[last] {
            dag.orient(u, last);
        }
        for u in graph.adjacent(last) {
            graph.remove_edge(u, last);
        }
        left.remove(last);
    }
    Some(dag.to_dag())
}
