//! Backward equivalence search: removes edges from a class as long as that raises the score.
//!
//! Source: Chickering 2002, "Optimal structure identification with greedy search", operator Delete; CF-GU specification section 6, which
//! says why the switch of this name in Tetrad has no effect. An edge x -> y or x - y that is not required may go:
//! NA are the undirected neighbours of y next to x, C a part of NA all adjacent to each other;
//!   gain = s(y | C + Pa(y) - x) - s(y | C + Pa(y) + x).
//! Candidates with gain above 1e-9 are tried, highest gain first (ties: x, y, then what of NA is not in C); for each h of NA without C,
//! y -> h, and x -> h where x - h. The rest must extend to a DAG within knowledge (Dor and Tarsi 1992) whose score is higher by more than
//! 1e-6.
//! Choice: an edge whose NA has more than [`MOST_BESIDE`] variables stays (there would be more than 2^16 parts C to try).

use crate::causal::graph::{Dag, Pdag};
use crate::causal::knowledge::Knowledge;
use crate::causal::nodes::Nodes;
use crate::causal::score::Score;

/// Neighbours shared by both ends of an edge beyond which its removal is not tried.
pub const MOST_BESIDE: usize = 16;

/// One edge that may go: from x to y, `loose` the shared neighbours that lose their direction with it.
struct Removal {
    gain: f64,
    x: usize,
    y: usize,
    loose: Vec<usize>,
}

/// A DAG of the class that backward search ends with, from that of `dag`; and how many edges were removed.
pub fn bes(score: &Score, knowledge: &Knowledge, dag: Dag) -> (Dag, usize) {
    let (mut dag, mut removed) = (dag, 0);
    while let Some(next) = step(score, knowledge, &dag) {
        dag = next;
        removed += 1;
    }
    (dag, removed)
}

/// The DAG after the best removal, if there is one.
fn step(score: &Score, knowledge: &Knowledge, dag: &Dag) -> Option<Dag> {
    let class = Pdag::of_dag(dag, knowledge);
    let before = score.total(&dag.parents);
    let mut removals = removals(score, knowledge, &class);
    removals.sort_by(|a, b| b.gain.total_cmp(&a.gain).then_with(|| (a.x, a.y, &a.loose).cmp(&(b.x, b.y, &b.loose))));
    removals.into_iter().find_map(|removal| {
        let next = extend(apply(&class, &removal), knowledge)?;
        (next.keeps(knowledge) && score.total(&next.parents) > before + 1e-6).then_some(next)
    })
}

fn removals(score: &Score, knowledge: &Knowledge, class: &Pdag) -> Vec<Removal> {
    let n = class.parents.len();
    let mut found = Vec::new();
    for x in 0..n {
        for y in class.children[x] | class.neighbours[x] {
            if knowledge.required(x, y) || knowledge.required(y, x) {
                continue;
            }
            let beside: Vec<usize> = (class.neighbours[y] & class.adjacent(x)).into_iter().collect();
            if beside.len() > MOST_BESIDE {
                continue;
            }
            for choice in 0..1_u32 << beside.len() {
                let chosen: Nodes = (0..beside.len()).filter(|k| choice >> k & 1 == 1).map(|k| beside[k]).collect();
                if chosen.into_iter().any(|v| !chosen.without(v).within(class.adjacent(v))) {
                    continue;
                }
                let given = (chosen | class.parents[y]).without(x);
                let gain = score.local(y, given).score - score.local(y, given.with(x)).score;
                if gain > 1e-9 {
                    found.push(Removal { gain, x, y, loose: beside.iter().copied().filter(|&h| !chosen.has(h)).collect() });
                }
            }
        }
    }
    found
}

fn apply(class: &Pdag, removal: &Removal) -> Pdag {
    let mut graph = class.clone();
    graph.cut(removal.x, removal.y);
    for &h in &removal.loose {
        graph.orient(removal.y, h);
        if graph.neighbours[removal.x].has(h) {
            graph.orient(removal.x, h);
        }
    }
    graph
}

/// A DAG with these edges, the directed ones as they are, no new unshielded collider and no direction that the knowledge excludes: again
/// and again the lowest node that can be last is made so. `None` where there is none.
fn extend(graph: Pdag, knowledge: &Knowledge) -> Option<Dag> {
    let n = graph.parents.len();
    let mut dag = graph.clone();
    let mut graph = graph;
    let mut left = Nodes::first(n);
    while !left.is_empty() {
        let last = left.into_iter().find(|&v| {
            let shielded = |u: usize| graph.adjacent(v).without(u).within(graph.adjacent(u));
            let allowed = |u: usize| !knowledge.fixes(v, u);
            graph.children[v].is_empty() && graph.neighbours[v].into_iter().all(|u| shielded(u) && allowed(u))
        })?;
        for u in graph.neighbours[last] {
            dag.orient(u, last);
        }
        for u in graph.adjacent(last) {
            graph.cut(u, last);
        }
        left.remove(last);
    }
    Some(dag.to_dag())
}
