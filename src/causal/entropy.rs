//! Frequencies of edges in a bag of DAGs, and the normalised entropies H_G and H_GA.
//!
//! Source: "Counterfactual Fairness with Graph Uncertainty", section 3.1. p_e is the weight of the
//! members that hold the directed edge e divided by the weight of all members; u -> v and v -> u
//! are different edges; E are the edges that occur in any member. H = sum over E of h(p_e) / (|E|
//! ln 2), h(p) = -p ln p - (1 - p) ln(1 - p), h(0) = h(1) = 0, 0 where E is empty. H_GA is the same
//! formula after each member is restricted to the sensitive attribute, its descendants and all
//! edges among these; a member in which the attribute has no descendant stays as a graph without
//! edges. Both lie in [0, 1].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::causal::graph::Dag;
use crate::causal::nodes::NodeSet;

/// One directed edge of a bag.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EdgeShare {
    /// Position of the cause.
    pub from: usize,
    /// Position of the effect.
    pub to: usize,
    /// Members that hold the edge.
    pub count: u64,
    /// The share of the weight of all members, in (0, 1].
    pub share: f64,
}

impl EdgeShare {
    /// The entropy of the edge's presence in bits, in [0, 1].
    pub(crate) fn entropy(&self) -> f64 {
        entropy(self.share)
    }
}

/// The edges of a bag with their shares.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EdgeShares {
    /// Edges that occur, ascending.
    pub edges: Vec<EdgeShare>,
    /// The mean of their entropies; 0 without edges.
    pub entropy: f64,
}

/// Edge shares over (graph, copies, weight of one copy); the order of the input fixes every bit.
pub(crate) fn edge_shares<'a>(members: impl Iterator<Item = (&'a Dag, u64, f64)>) -> EdgeShares {
    let mut sums: BTreeMap<(usize, usize), (u64, f64)> = BTreeMap::new();
    let mut total = 0.0;
    for (dag, copies, weight) in members {
        let weight = copies as f64 * weight;
        total += weight;
        for edge in dag.edges() {
            let sum = sums.entry(edge).or_default();
            sum.0 += copies;
            sum.1 += weight;
        }
    }
    // Rounding must not lift an edge that all members hold above 1.
    let share = |weight: f64| (weight / total).min(1.0);
    let edges: Vec<EdgeShare> = sums
        .into_iter()
        .map(|((from, to), (count, weight))| EdgeShare { from, to, count, share: share(weight) })
        .collect();
    let entropy = if edges.is_empty() {
        0.0
    } else {
        edges.iter().map(EdgeShare::entropy).sum::<f64>() / edges.len() as f64
    };
    EdgeShares { edges, entropy }
}

/// The subgraph on `v` and its descendants; other nodes remain, without edges.
pub(crate) fn descendant_subgraph(dag: &Dag, v: usize) -> Dag {
    let kept = dag.descendants_and_self(v);
    let parents = |u: usize| if kept.contains(u) { dag.parents[u] & kept } else { NodeSet::EMPTY };
    Dag { parents: (0..dag.parents.len()).map(parents).collect() }
}

/// The binary entropy in bits of an event with probability `p`.
fn entropy(p: f64) -> f64 {
    let part = |p: f64| if p > 0.0 && p < 1.0 { -p * libm::log(p) } else { 0.0 };
    (part(p) + part(1.0 - p)) / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::{descendant_subgraph, edge_shares};
    use crate::causal::graph::Dag;

    #[test]
    fn by_hand() {
        let dag = |edges: &[(usize, usize)]| Dag::from_edges(3, edges).expect("acyclic");
        let (one, two, three) = (dag(&[(0, 1), (1, 2)]), dag(&[(1, 0), (1, 2)]), dag(&[(2, 0)]));
        // Of 4: 0->1 in 1, 1->0 in 2, 1->2 in 3, 2->0 in 1. h(1/4) = h(3/4) = 0.8112781...,
        // h(1/2) = 1.
        let shares = edge_shares([(&one, 1, 1.0), (&two, 2, 1.0), (&three, 1, 1.0)].into_iter());
        assert_eq!(
            shares.edges.iter().map(|e| (e.from, e.to, e.count)).collect::<Vec<_>>(),
            [(0, 1, 1), (1, 0, 2), (1, 2, 3), (2, 0, 1)]
        );
        let quarter = 2.0 - 0.75 * 3.0_f64.log2();
        assert!((shares.entropy - (3.0 * quarter + 1.0) / 4.0).abs() < 1e-15, "{shares:?}");
        // Only in the first has node 0 a descendant; the shares are still quarters.
        let cut = [
            descendant_subgraph(&one, 0),
            descendant_subgraph(&two, 0),
            descendant_subgraph(&three, 0),
        ];
        let shares = edge_shares(cut.iter().zip([1, 2, 1]).map(|(dag, copies)| (dag, copies, 1.0)));
        assert!(shares.edges.len() == 2 && (shares.entropy - quarter).abs() < 1e-15);
        // All members agree, or have no edges at all.
        assert_eq!(edge_shares([(&one, 3, 0.1), (&one, 7, 0.1)].into_iter()).entropy, 0.0);
        assert_eq!(edge_shares([(&dag(&[]), 3, 1.0)].into_iter()).entropy, 0.0);
    }
}
