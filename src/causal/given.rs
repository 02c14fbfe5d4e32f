//! A graph that a person drew: directed and undirected edges by name, checked and completed.
//!
//! Source: CF-GU specification section 14, the case in which the graph is not searched for. Undirected edges may be directed either way
//! without a cycle and without a new collider; directions that follow from the rest (Meek's rules) and from knowledge are added.

use std::collections::BTreeSet;
use std::fmt;

use crate::causal::graph::Pdag;
use crate::causal::knowledge::{Knowledge, cycle, round};
use crate::causal::nodes::Nodes;

/// Why a graph given by a person cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadGraph {
    /// A name that is no variable of the graph.
    UnknownVariable(String),
    /// An edge from a variable to itself, or an edge that stands twice, or in both directions.
    Twice(String, String),
    /// Directed edges that lead back to where they start, as the variables on the way.
    Cycle(Vec<String>),
    /// No DAG has these edges: every choice of directions makes a cycle, or a collider that is not drawn.
    NoDag,
    /// An edge that the knowledge forbids, or one that it requires and that is not there.
    AgainstKnowledge(String, String),
}

impl fmt::Display for BadGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadGraph::UnknownVariable(name) => write!(f, "`{name}` is no variable of the graph"),
            BadGraph::Twice(a, b) if a == b => write!(f, "`{a}` cannot be its own cause"),
            BadGraph::Twice(a, b) => write!(f, "there is more than one edge between `{a}` and `{b}`"),
            BadGraph::Cycle(names) => write!(f, "the edges form a cycle: {}", round(names)),
            BadGraph::NoDag => write!(f, "the undirected edges cannot be directed without a cycle or a collider that is not drawn"),
            BadGraph::AgainstKnowledge(a, b) => write!(f, "the knowledge speaks against the graph at `{a}` -> `{b}`"),
        }
    }
}

/// The class that a person drew: directed edges (cause, effect) and undirected ones. Directions that follow from the rest are added.
///
/// # Errors
/// A name is unknown, an edge stands twice, the edges form a cycle, or no DAG agrees with them.
pub fn given(
    variables: &[String],
    directed: &[(String, String)],
    undirected: &[(String, String)],
    knowledge: &Knowledge,
) -> Result<Pdag, BadGraph> {
    let position = |name: &String| variables.iter().position(|v| v == name).ok_or_else(|| BadGraph::UnknownVariable(name.clone()));
    let mut graph = Pdag::empty(variables.len());
    for (arrow, (a, b)) in directed.iter().map(|e| (true, e)).chain(undirected.iter().map(|e| (false, e))) {
        let (u, v) = (position(a)?, position(b)?);
        if u == v || graph.adjacent(u).has(v) {
            return Err(BadGraph::Twice(a.clone(), b.clone()));
        }
        if arrow { graph.orient(u, v) } else { graph.link(u, v) }
    }
    if let Some(cycle) = cycle(&graph.parents) {
        return Err(BadGraph::Cycle(cycle.iter().map(|&v| variables[v].clone()).collect()));
    }
    for v in 0..variables.len() {
        for u in graph.neighbours[v] {
            if knowledge.fixes(u, v) {
                graph.orient(u, v);
            }
        }
    }
    let against = |u: usize, v: usize| BadGraph::AgainstKnowledge(variables[u].clone(), variables[v].clone());
    for v in 0..variables.len() {
        if let Some(u) = (graph.parents[v] & knowledge.forbidden_causes(v)).lowest() {
            return Err(against(u, v));
        }
        if let Some(u) = (knowledge.required_causes(v) - graph.parents[v]).lowest() {
            return Err(against(u, v));
        }
    }
    // Of a graph that no rule says more of and that has a DAG, every DAG has the same class: one is enough to make sure.
    let colliders = |parents: &[Nodes]| {
        let mut found = BTreeSet::new();
        for (v, &above) in parents.iter().enumerate() {
            for a in above {
                found.extend(above.into_iter().filter(|&b| a < b && !graph.adjacent(a).has(b)).map(|b| (a, v, b)));
            }
        }
        found
    };
    let drawn = colliders(&graph.parents);
    let mut closed = graph.clone();
    closed.close();
    let mut one = closed.clone();
    while let Some(&(u, v)) = one.undirected().first() {
        one.orient(u, v);
        one.close();
    }
    if !one.is_acyclic() || colliders(&one.parents) != drawn {
        return Err(BadGraph::NoDag);
    }
    Ok(closed)
}
