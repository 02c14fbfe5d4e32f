//! Directed graphs, the graph of an equivalence class under knowledge, and Meek's rules.
//!
//! Source: Meek 1995, "Causal inference and causal explanation with background knowledge", rules R1
//! to R4. From a DAG: edges of unshielded colliders (a -> b <- c, a and c not adjacent) and edges
//! that the knowledge fixes keep their direction, all others lose it; then the rules close the
//! graph. The result is directed exactly where all DAGs of the class agree. R4 matters only under
//! knowledge. Graphs are bit masks of neighbours, so a rule is a few operations on machine words;
//! closing costs O(edges x neighbours) per round and takes at most as many rounds as there are
//! edges.

use serde::{Deserialize, Serialize};

use crate::causal::knowledge::{Knowledge, find_cycle};
use crate::causal::nodes::NodeSet;

/// A directed acyclic graph: the parents of each node.
///
/// In files: the number of nodes, and the edges (from, to), ascending.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Edges", into = "Edges")]
pub struct Dag {
    /// The parents of each node.
    pub parents: Vec<NodeSet>,
}

/// The stored form of a DAG.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edges {
    n: usize,
    edges: Vec<(usize, usize)>,
}

impl From<Dag> for Edges {
    fn from(dag: Dag) -> Self {
        Edges { n: dag.parents.len(), edges: dag.edges() }
    }
}

impl TryFrom<Edges> for Dag {
    type Error = String;

    fn try_from(Edges { n, edges }: Edges) -> Result<Self, String> {
        Dag::from_edges(n, &edges)
            .ok_or_else(|| "the edges do not form a directed acyclic graph".to_owned())
    }
}

impl Dag {
    /// The graph with these edges (from, to).
    ///
    /// `None` where they form a cycle or a node does not exist.
    pub fn from_edges(n: usize, edges: &[(usize, usize)]) -> Option<Self> {
        let mut parents = vec![NodeSet::EMPTY; n];
        for &(u, v) in edges {
            if u >= n {
                return None;
            }
            parents.get_mut(v)?.insert(u);
        }
        find_cycle(&parents).is_none().then_some(Dag { parents })
    }

    /// The edges (from, to), ascending.
    pub fn edges(&self) -> Vec<(usize, usize)> {
        let mut edges: Vec<(usize, usize)> = (0..self.parents.len())
            .flat_map(|v| self.parents[v].into_iter().map(move |u| (u, v)))
            .collect();
        edges.sort_unstable();
        edges
    }

    /// The nodes, each after its parents; ties go to the lowest node.
    pub fn topological_order(&self) -> Vec<usize> {
        let mut left = NodeSet::first_n(self.parents.len());
        let mut order = Vec::with_capacity(left.len());
        while let Some(next) = left.into_iter().find(|&v| (self.parents[v] & left).is_empty()) {
            left.remove(next);
            order.push(next);
        }
        order
    }

    /// `v` and all its descendants.
    pub fn descendants_and_self(&self, v: usize) -> NodeSet {
        let mut found = NodeSet::single(v);
        for next in self.topological_order() {
            if !(self.parents[next] & found).is_empty() {
                found.insert(next);
            }
        }
        found
    }

    /// Whether the graph has every required edge and no forbidden one.
    pub fn satisfies(&self, knowledge: &Knowledge) -> bool {
        let keeps = |v: usize| {
            (self.parents[v] & knowledge.forbidden[v]).is_empty()
                && knowledge.required[v].is_subset(self.parents[v])
        };
        (0..self.parents.len()).all(keeps)
    }
}

/// A graph with directed and undirected edges.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pdag {
    /// The nodes with an edge into each node.
    pub parents: Vec<NodeSet>,
    /// The nodes that each node has an edge to.
    pub children: Vec<NodeSet>,
    /// The nodes that each node has an undirected edge with.
    pub neighbours: Vec<NodeSet>,
}

impl Pdag {
    /// The graph without edges.
    pub fn empty(n: usize) -> Self {
        Pdag {
            parents: vec![NodeSet::EMPTY; n],
            children: vec![NodeSet::EMPTY; n],
            neighbours: vec![NodeSet::EMPTY; n],
        }
    }

    /// The class of a DAG under knowledge that the DAG satisfies.
    pub fn from_dag(dag: &Dag, knowledge: &Knowledge) -> Self {
        let n = dag.parents.len();
        let mut graph = Pdag::empty(n);
        for (u, v) in dag.edges() {
            graph.parents[v].insert(u);
            graph.children[u].insert(v);
        }
        let stays = |u: usize, v: usize| {
            let collides =
                dag.parents[v].without(u).into_iter().any(|w| !graph.adjacent(u).contains(w));
            collides || knowledge.compels(u, v)
        };
        let loose: Vec<(usize, usize)> =
            dag.edges().into_iter().filter(|&(u, v)| !stays(u, v)).collect();
        for (u, v) in loose {
            graph.remove_edge(u, v);
            graph.add_undirected(u, v);
        }
        graph.apply_meek_rules();
        graph
    }

    /// All nodes adjacent to `v`.
    pub fn adjacent(&self, v: usize) -> NodeSet {
        self.parents[v] | self.children[v] | self.neighbours[v]
    }

    /// The directed edges (from, to), ascending.
    #[cfg(test)]
    pub fn directed(&self) -> Vec<(usize, usize)> {
        (0..self.children.len())
            .flat_map(|u| self.children[u].into_iter().map(move |v| (u, v)))
            .collect()
    }

    /// The undirected edges (lower, higher), ascending.
    #[cfg(test)]
    pub fn undirected(&self) -> Vec<(usize, usize)> {
        (0..self.neighbours.len())
            .flat_map(|u| {
                self.neighbours[u].into_iter().filter(move |&v| u < v).map(move |v| (u, v))
            })
            .collect()
    }

    /// Removes the edge between u and v.
    pub(super) fn remove_edge(&mut self, u: usize, v: usize) {
        for (a, b) in [(u, v), (v, u)] {
            self.parents[a].remove(b);
            self.children[a].remove(b);
            self.neighbours[a].remove(b);
        }
    }

    /// Adds an undirected edge.
    pub(super) fn add_undirected(&mut self, u: usize, v: usize) {
        self.neighbours[u].insert(v);
        self.neighbours[v].insert(u);
    }

    /// Directs the edge between u and v as u -> v.
    pub(super) fn orient(&mut self, u: usize, v: usize) {
        self.remove_edge(u, v);
        self.parents[v].insert(u);
        self.children[u].insert(v);
    }

    /// Applies Meek's rules until none applies any more.
    pub(super) fn apply_meek_rules(&mut self) {
        loop {
            let mut changed = false;
            for a in 0..self.neighbours.len() {
                for b in self.neighbours[a] {
                    if self.neighbours[a].contains(b) && self.meek_orients(a, b) {
                        self.orient(a, b);
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Whether one of the rules turns a - b into a -> b.
    fn meek_orients(&self, a: usize, b: usize) -> bool {
        let beside_b = self.adjacent(b).with(b);
        // R1: c -> a - b, c and b not adjacent.
        if !(self.parents[a] - beside_b).is_empty() {
            return true;
        }
        // R2: a -> c -> b.
        if !(self.children[a] & self.parents[b]).is_empty() {
            return true;
        }
        // R3: a - c -> b and a - d -> b, c and d not adjacent.
        let between = self.neighbours[a] & self.parents[b];
        if between.into_iter().any(|c| !(between.without(c) - self.adjacent(c)).is_empty()) {
            return true;
        }
        // R4: a - d -> c -> b, a and c adjacent, b and d not.
        (self.parents[b] & self.adjacent(a))
            .into_iter()
            .any(|c| !((self.parents[c] & self.neighbours[a]) - beside_b).is_empty())
    }

    /// The DAG with these directed edges; the graph has no undirected edge left.
    pub(super) fn to_dag(&self) -> Dag {
        Dag { parents: self.parents.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dag, Pdag};
    use crate::causal::knowledge::Knowledge;

    #[test]
    fn a_collider_keeps_its_arrows_and_passes_them_on() {
        // 0 -> 2 <- 1, 2 -> 3: R1 fixes the last edge.
        let dag = Dag::from_edges(4, &[(0, 2), (1, 2), (2, 3)]).expect("acyclic");
        let class = Pdag::from_dag(&dag, &Knowledge::none(4));
        assert_eq!((class.directed(), class.undirected()), (vec![(0, 2), (1, 2), (2, 3)], vec![]));
        // A chain has no collider.
        let chain = Dag::from_edges(3, &[(2, 1), (1, 0)]).expect("acyclic");
        let class = Pdag::from_dag(&chain, &Knowledge::none(3));
        assert_eq!((class.directed(), class.undirected()), (vec![], vec![(0, 1), (1, 2)]));
    }

    #[test]
    fn graphs_travel_as_edges() {
        let dag = Dag::from_edges(3, &[(2, 0), (0, 1)]).expect("acyclic");
        let text = serde_json::to_string(&dag).expect("text");
        assert_eq!(text, r#"{"n":3,"edges":[[0,1],[2,0]]}"#);
        assert_eq!(serde_json::from_str::<Dag>(&text).expect("a graph"), dag);
        assert!(serde_json::from_str::<Dag>(r#"{"n":2,"edges":[[0,1],[1,0]]}"#).is_err());
        assert!(serde_json::from_str::<Dag>(r#"{"n":2,"edges":[[0,2]]}"#).is_err());
        assert_eq!(Dag::from_edges(2, &[(0, 0)]), None);
    }

    #[test]
    fn orders_and_descendants() {
        let dag = Dag::from_edges(5, &[(4, 1), (1, 0), (2, 0)]).expect("acyclic");
        assert_eq!(dag.topological_order(), [2, 3, 4, 1, 0]);
        assert_eq!(dag.descendants_and_self(4), [4, 1, 0].into_iter().collect());
        assert_eq!(dag.descendants_and_self(3), [3].into_iter().collect());
    }
}
