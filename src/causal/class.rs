//! The DAGs of an equivalence class: their number, all of them, or a sample.
//!
//! Definition: all ways to direct the undirected edges without a cycle, without a new unshielded
//! collider and without contradicting the knowledge; the directed edges already contain the edges
//! that the knowledge fixes. The graph is closed under Meek's rules, so either direction of any
//! undirected edge leads to at least one DAG: take the first such edge, orient it in each
//! direction, close again and continue. Each DAG is found once. The list is sorted by edge lists.
//!
//! Counting uses the same steps, but chain components (nodes connected by undirected edges) are
//! counted separately and multiplied, and the count of each component is cached. So classes
//! can be counted that are far too large to list: a path of 50 nodes, five complete graphs of 4.
//! Choice: counting gives up after [`MAX_COUNT_STEPS`] steps, or where a component has more than
//! `MAX_COMPONENT_EDGES` undirected edges (counting under knowledge is hard in general); a list
//! then stops at the limit.
//! Choice: a sample is drawn with replacement, each direction in proportion to the number of DAGs
//! that have it, so that every DAG is equally likely; where the class could not be counted, both
//! directions are equally likely, and [`ListedDags::drawn`] records that.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::causal::graph::{Dag, Pdag};
use crate::causal::nodes::NodeSet;
use crate::num::seed::RandomStream;

/// Counting stops after this number of steps: about a tenth of a second and at most 40 MB.
pub(crate) const MAX_COUNT_STEPS: usize = 20_000;

/// Largest number of undirected edges of a counted component: each may add one level of recursion.
const MAX_COMPONENT_EDGES: usize = 1_000;

/// How the listed DAGs of a class were chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DagSampling {
    /// All of them.
    All,
    /// A sample in which each DAG is equally likely.
    Evenly,
    /// A sample in which DAGs are not equally likely, because the class has too many to count.
    ByDirections,
}

/// DAGs of a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListedDags {
    /// Number of DAGs of the class; `None` where that is not known or above 2^64.
    pub size: Option<u64>,
    /// The DAGs, sorted by their edges; a sample may hold one more than once.
    pub dags: Vec<Dag>,
    /// How they were chosen.
    pub drawn: DagSampling,
}

/// Lists the DAGs of a closed graph: all if there are at most `limit`, else that many, drawn.
///
/// The graph must be closed: it comes from [`Pdag::from_dag`], or was given and then closed.
pub(crate) fn list_or_sample(class: &Pdag, limit: usize, stream: &mut RandomStream) -> ListedDags {
    let mut counter = DagCounter::default();
    let size = counter.count(class);
    if size.is_none_or(|size| size <= limit as u64) {
        let mut dags = Vec::new();
        if enumerate_dags(class.clone(), limit, &mut dags) {
            dags.sort_by_cached_key(Dag::edges);
            return ListedDags { size: Some(dags.len() as u64), dags, drawn: DagSampling::All };
        }
    }
    let evenly = size.is_some();
    let mut draw = || counter.sample_dag(class.clone(), evenly, stream);
    let mut dags: Vec<Dag> = (0..limit).map(|_| draw()).collect();
    dags.sort_by_cached_key(Dag::edges);
    let drawn = if evenly { DagSampling::Evenly } else { DagSampling::ByDirections };
    ListedDags { size, dags, drawn }
}

/// Adds the DAGs of a closed graph; returns false where there would be more than `limit`.
fn enumerate_dags(class: Pdag, limit: usize, found: &mut Vec<Dag>) -> bool {
    let mut left = vec![class];
    while let Some(graph) = left.pop() {
        match orient_first_edge(&graph) {
            Some(directions) => left.extend(directions),
            None if found.len() == limit => return false,
            None => found.push(graph.to_dag()),
        }
    }
    true
}

/// The graph with its first undirected edge in either direction, closed; `None` where it has none.
pub(super) fn orient_first_edge(graph: &Pdag) -> Option<[Pdag; 2]> {
    let u = (0..graph.neighbours.len()).find(|&u| !graph.neighbours[u].is_empty())?;
    let v = graph.neighbours[u].lowest()?;
    Some([(u, v), (v, u)].map(|(from, to)| {
        let mut next = graph.clone();
        next.orient(from, to);
        next.apply_meek_rules();
        next
    }))
}

/// A chain component: nodes connected by undirected edges, with their parents and neighbours in it.
///
/// Nodes outside the component do not matter: the graph is closed, and every rule that a new arrow
/// triggers needs that arrow.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ChainComponent(Vec<(usize, NodeSet, NodeSet)>);

impl ChainComponent {
    fn to_pdag(&self, n: usize) -> Pdag {
        let mut graph = Pdag::empty(n);
        for &(v, parents, neighbours) in &self.0 {
            graph.parents[v] = parents;
            graph.neighbours[v] = neighbours;
            for u in parents {
                graph.children[u].insert(v);
            }
        }
        graph
    }
}

/// The chain components of a graph, in order of their lowest nodes.
fn chain_components(graph: &Pdag) -> Vec<ChainComponent> {
    let n = graph.neighbours.len();
    let mut left: NodeSet = (0..n).filter(|&v| !graph.neighbours[v].is_empty()).collect();
    let mut parts = Vec::new();
    while let Some(first) = left.lowest() {
        let mut part = NodeSet::single(first);
        let mut edge = part;
        while !edge.is_empty() {
            let reached = edge.into_iter().fold(NodeSet::EMPTY, |all, v| all | graph.neighbours[v]);
            edge = reached - part;
            part = part | edge;
        }
        left = left - part;
        parts.push(ChainComponent(
            part.into_iter().map(|v| (v, graph.parents[v] & part, graph.neighbours[v])).collect(),
        ));
    }
    parts
}

#[derive(Default)]
struct DagCounter {
    cache: HashMap<ChainComponent, Option<u64>>,
    steps: usize,
}

impl DagCounter {
    fn count(&mut self, graph: &Pdag) -> Option<u64> {
        chain_components(graph).into_iter().try_fold(1_u64, |product, part| {
            product.checked_mul(self.count_component(part, graph.parents.len())?)
        })
    }

    fn count_component(&mut self, part: ChainComponent, n: usize) -> Option<u64> {
        if let Some(&known) = self.cache.get(&part) {
            return known;
        }
        self.steps += 1;
        let ends: usize = part.0.iter().map(|(_, _, neighbours)| neighbours.len()).sum();
        if self.steps > MAX_COUNT_STEPS || ends > 2 * MAX_COMPONENT_EDGES {
            return None;
        }
        let sum = match orient_first_edge(&part.to_pdag(n)) {
            None => Some(1),
            Some([one, other]) => self.count(&one).and_then(|a| a.checked_add(self.count(&other)?)),
        };
        self.cache.insert(part, sum);
        sum
    }

    /// Draws one DAG of the class.
    fn sample_dag(&mut self, mut graph: Pdag, evenly: bool, stream: &mut RandomStream) -> Dag {
        while let Some([one, other]) = orient_first_edge(&graph) {
            let share = match (evenly, self.count(&one), self.count(&other)) {
                (true, Some(a), Some(b)) => a as f64 / (a as f64 + b as f64),
                _ => 0.5,
            };
            graph = if stream.u01() < share { one } else { other };
        }
        graph.to_dag()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn complete(n: usize) -> Pdag {
        let mut graph = Pdag::empty(n);
        (0..n).for_each(|v| (0..v).for_each(|u| graph.add_undirected(u, v)));
        graph
    }

    /// Number of DAGs, of which none may be listed.
    fn count_dags(class: &Pdag) -> Option<u64> {
        let mut stream = RandomStream::new(1, "");
        list_or_sample(class, 0, &mut stream).size
    }

    #[test]
    fn classes_are_counted_without_being_listed() {
        // K_n has one DAG per order of its nodes; a path one per root.
        assert_eq!(
            (0..9).map(|n| count_dags(&complete(n))).collect::<Vec<_>>(),
            [1, 1, 2, 6, 24, 120, 720, 5040, 40320].map(Some)
        );
        let mut path = Pdag::empty(50);
        (1..50).for_each(|v| path.add_undirected(v - 1, v));
        assert_eq!(count_dags(&path), Some(50));
        assert_eq!(count_dags(&complete(40)), None);
    }

    #[test]
    fn a_class_beyond_the_limit_is_sampled() {
        let stream = || RandomStream::new(1, "sample");
        let all = list_or_sample(&complete(4), 24, &mut stream());
        assert_eq!((all.dags.len(), all.size, all.drawn), (24, Some(24), DagSampling::All));
        let mut copies = BTreeMap::new();
        for seed in 0..1000 {
            let some = list_or_sample(&complete(4), 23, &mut RandomStream::new(seed, "sample"));
            assert_eq!((some.size, some.drawn), (Some(24), DagSampling::Evenly));
            some.dags.into_iter().for_each(|dag| *copies.entry(dag).or_insert(0_i64) += 1);
        }
        // 958 each on average, standard deviation 30.
        assert!(copies.len() == 24 && copies.values().all(|n| (n - 958).abs() < 150), "{copies:?}");
        let huge = list_or_sample(&complete(40), 3, &mut stream());
        assert_eq!((huge.size, huge.drawn, huge.dags.len()), (None, DagSampling::ByDirections, 3));
        assert!(
            huge.dags
                .iter()
                .all(|dag| dag.edges().len() == 780 && dag.topological_order().len() == 40)
        );
    }
}
