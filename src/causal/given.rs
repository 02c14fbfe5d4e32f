//! A graph given by the user: directed and undirected edges by name, checked (a cycle is named with
//! its edges) and completed.
//!
//! Undirected edges may be directed either way without a cycle and without a new collider;
//! directions that follow from the others (Meek's rules) and from knowledge are added.

use std::collections::BTreeSet;
use std::fmt;

use crate::causal::class::orient_first_edge;
use crate::causal::graph::Pdag;
use crate::causal::knowledge::{Knowledge, cycle_text, find_cycle};
use crate::causal::nodes::NodeSet;

/// The reason why a given graph is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GivenGraphError {
    /// A name that is not a variable of the graph.
    UnknownVariable(String),
    /// An edge from a variable to itself, or an edge that is listed twice or in both directions.
    DuplicateEdge(String, String),
    /// Directed edges that form a cycle, as the variables along it.
    Cycle(Vec<String>),
    /// No DAG has these edges: every choice of directions makes a cycle or a collider that is not
    /// in the graph.
    NoConsistentDag,
    /// An edge that the knowledge forbids, or a required edge that the graph lacks.
    ContradictsKnowledge(String, String),
}

impl fmt::Display for GivenGraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GivenGraphError::UnknownVariable(name) => {
                write!(f, "`{name}` is not a variable of the graph")
            }
            GivenGraphError::DuplicateEdge(a, b) if a == b => {
                write!(f, "`{a}` cannot be its own cause")
            }
            GivenGraphError::DuplicateEdge(a, b) => {
                write!(f, "there is more than one edge between `{a}` and `{b}`")
            }
            GivenGraphError::Cycle(names) => {
                write!(f, "the edges form a cycle: {}", cycle_text(names))
            }
            GivenGraphError::NoConsistentDag => write!(
                f,
                "the undirected edges cannot be directed without a cycle or an additional \
                 collider"
            ),
            GivenGraphError::ContradictsKnowledge(a, b) => {
                write!(f, "the knowledge contradicts the graph at `{a}` -> `{b}`")
            }
        }
    }
}

/// The class of a graph with these directed edges (cause, effect) and undirected edges.
///
/// Directions that follow from the others are added.
///
/// # Errors
/// A name is unknown, an edge is listed twice, the edges form a cycle, or no DAG agrees with them.
pub(crate) fn given_class(
    variables: &[String],
    directed: &[(String, String)],
    undirected: &[(String, String)],
    knowledge: &Knowledge,
) -> Result<Pdag, GivenGraphError> {
    let position = |name: &String| {
        variables
            .iter()
            .position(|v| v == name)
            .ok_or_else(|| GivenGraphError::UnknownVariable(name.clone()))
    };
    let mut graph = Pdag::empty(variables.len());
    for (arrow, (a, b)) in
        directed.iter().map(|e| (true, e)).chain(undirected.iter().map(|e| (false, e)))
    {
        let (u, v) = (position(a)?, position(b)?);
        if u == v || graph.adjacent(u).contains(v) {
            return Err(GivenGraphError::DuplicateEdge(a.clone(), b.clone()));
        }
        if arrow { graph.orient(u, v) } else { graph.add_undirected(u, v) }
    }
    if let Some(cycle) = find_cycle(&graph.parents) {
        return Err(GivenGraphError::Cycle(cycle.iter().map(|&v| variables[v].clone()).collect()));
    }
    for v in 0..variables.len() {
        for u in graph.neighbours[v] {
            if knowledge.compels(u, v) {
                graph.orient(u, v);
            }
        }
    }
    for (v, &above) in graph.parents.iter().enumerate() {
        let lacking = || (knowledge.required[v] - above).lowest();
        if let Some(u) = (above & knowledge.forbidden[v]).lowest().or_else(lacking) {
            let [u, v] = [u, v].map(|v| variables[v].clone());
            return Err(GivenGraphError::ContradictsKnowledge(u, v));
        }
    }
    // If a graph closed under Meek's rules has a DAG, all its DAGs are of one class: checking one
    // is enough.
    let colliders = |parents: &[NodeSet]| {
        let mut found = BTreeSet::new();
        for (v, &above) in parents.iter().enumerate() {
            for a in above {
                found.extend(
                    above
                        .into_iter()
                        .filter(|&b| a < b && !graph.adjacent(a).contains(b))
                        .map(|b| (a, v, b)),
                );
            }
        }
        found
    };
    let drawn = colliders(&graph.parents);
    let mut closed = graph.clone();
    closed.apply_meek_rules();
    let mut one = closed.clone();
    while let Some([next, _]) = orient_first_edge(&one) {
        one = next;
    }
    if find_cycle(&one.parents).is_some() || colliders(&one.parents) != drawn {
        return Err(GivenGraphError::NoConsistentDag);
    }
    Ok(closed)
}
