//! The bag of DAGs: the DAGs found in all bootstrap replicates, and the agreement of the
//! replicates. `class.rs` lists or draws the DAGs of one class.
//!
//! A replicate gives one equivalence class of DAGs; the bag holds the DAGs of all classes, so a DAG
//! found in two replicates is two members (their equations differ).
//! [`search_replicate`](crate::causal::search::GraphSearch::search_replicate) works on a single
//! replicate; [`BagOfDags::from_replicates`] merges the replicates in their order, so the bag does
//! not depend on the number or the timing of threads. Choice: in a sampled class each drawn DAG is
//! one member, so a class that is too large to list has the weight of its sample.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::causal::class::{DagSampling, ListedDags};
use crate::causal::entropy::{EdgeShares, descendant_subgraph, edge_shares};
use crate::causal::graph::{Dag, Pdag};
use crate::causal::search::{DagLimits, SearchedReplicate};
use crate::error::Result;

/// The weight of a member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MemberWeighting {
    /// Each member the same: a replicate counts by the size of its class. The published definition.
    #[default]
    Dag,
    /// Each replicate the same, its members shares of it.
    Replicate,
}

/// One replicate in a bag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BagReplicate {
    /// Score of its DAGs; `None` if the graphs were given.
    pub score: Option<f64>,
    /// Positions of its members in [`BagOfDags::dags`], in order; a sample may repeat a position.
    pub members: Vec<usize>,
    /// Number of its class, from 0, among the different classes of the bag; 0 if the graphs were
    /// given.
    pub class: usize,
    /// The number of DAGs of the class, if known.
    pub size: Option<u64>,
    /// How its members were chosen.
    pub drawn: DagSampling,
    /// Variables that their parents determine.
    pub determined: Vec<usize>,
}

/// Graphs that were not searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GivenGraphs {
    /// Number of different classes.
    pub n_classes: usize,
    /// The DAGs of all of them, each as often as it counts.
    pub listed: ListedDags,
}

/// The result of a replicate: score and number of its class, its DAGs, the variables that their
/// parents determine.
type BagPart<'a> = ((Option<f64>, usize), &'a ListedDags, Vec<usize>);

/// The graphs of all replicates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BagOfDags {
    /// Names of the variables.
    pub variables: Vec<String>,
    /// Position of the sensitive attribute.
    pub sensitive: usize,
    /// The different DAGs, sorted by their edges.
    pub dags: Vec<Dag>,
    /// Number of different classes.
    pub n_classes: usize,
    /// The replicates in order.
    pub replicates: Vec<BagReplicate>,
}

impl BagOfDags {
    /// Merges the replicates in their order.
    ///
    /// # Errors
    /// There are more members than allowed.
    pub(crate) fn from_replicates(
        variables: Vec<String>,
        sensitive: usize,
        replicates: &[SearchedReplicate],
        limits: &DagLimits,
    ) -> Result<BagOfDags> {
        let classes: BTreeSet<&Pdag> = replicates.iter().map(|r| &r.class).collect();
        let class_at: BTreeMap<&Pdag, usize> =
            classes.iter().enumerate().map(|(i, class)| (*class, i)).collect();
        let part = |r: &'_ SearchedReplicate| (Some(r.score), class_at[&r.class]);
        let parts = replicates.iter().map(|r| (part(r), &r.listed, r.determined.clone()));
        BagOfDags::from_parts(
            (variables, sensitive),
            classes.len(),
            &parts.collect::<Vec<_>>(),
            limits,
        )
    }

    /// The bag in which each of `replicates` replicates has the given graphs.
    ///
    /// Only the equations differ between replicates.
    ///
    /// # Errors
    /// There are more members than allowed.
    pub(crate) fn from_given(
        variables: Vec<String>,
        sensitive: usize,
        given: &GivenGraphs,
        replicates: usize,
        limits: &DagLimits,
    ) -> Result<BagOfDags> {
        let parts = vec![((None, 0), &given.listed, Vec::new()); replicates];
        BagOfDags::from_parts((variables, sensitive), given.n_classes, &parts, limits)
    }

    fn from_parts(
        (variables, sensitive): (Vec<String>, usize),
        n_classes: usize,
        parts: &[BagPart<'_>],
        limits: &DagLimits,
    ) -> Result<BagOfDags> {
        limits.check_total(parts.iter().map(|(_, listed, _)| listed.dags.len()).sum())?;
        let mut positions: BTreeMap<Vec<(usize, usize)>, (usize, &Dag)> = BTreeMap::new();
        for dag in parts.iter().flat_map(|(_, listed, _)| &listed.dags) {
            positions.entry(dag.edges()).or_insert((0, dag));
        }
        positions.values_mut().enumerate().for_each(|(i, (position, _))| *position = i);
        let entry = |((score, class), listed, determined): &BagPart<'_>| BagReplicate {
            score: *score,
            members: listed.dags.iter().map(|dag| positions[&dag.edges()].0).collect(),
            class: *class,
            size: listed.size,
            drawn: listed.drawn,
            determined: determined.clone(),
        };
        let replicates = parts.iter().map(entry).collect();
        let dags = positions.values().map(|(_, dag)| (*dag).clone()).collect();
        Ok(BagOfDags { variables, sensitive, dags, n_classes, replicates })
    }

    /// Number of members: DAGs of all replicates, each as often as it occurs.
    pub(crate) fn len(&self) -> usize {
        self.replicates.iter().map(|r| r.members.len()).sum()
    }

    /// Whether the bag has no member.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Shares of edges over the bag and H_G.
    pub(crate) fn edge_shares(&self, weighting: MemberWeighting) -> EdgeShares {
        self.shares(&self.dags, weighting)
    }

    /// Shares of edges among the sensitive attribute and its descendants, and H_GA.
    pub(crate) fn descendant_edge_shares(&self, weighting: MemberWeighting) -> EdgeShares {
        let cut: Vec<Dag> =
            self.dags.iter().map(|dag| descendant_subgraph(dag, self.sensitive)).collect();
        self.shares(&cut, weighting)
    }

    /// The different graphs on the descendants of the sensitive attribute, each with its members.
    ///
    /// Sorted by their edges; the number counts the members of the bag that have the graph.
    pub(crate) fn descendant_graphs(&self) -> Vec<(Dag, u64)> {
        let mut copies: BTreeMap<Vec<(usize, usize)>, (Dag, u64)> = BTreeMap::new();
        for &member in self.replicates.iter().flat_map(|r| &r.members) {
            let cut = descendant_subgraph(&self.dags[member], self.sensitive);
            copies.entry(cut.edges()).or_insert((cut, 0)).1 += 1;
        }
        copies.into_values().collect()
    }

    fn shares(&self, graphs: &[Dag], weighting: MemberWeighting) -> EdgeShares {
        let members = self.replicates.iter().flat_map(|replicate| {
            let weight = match weighting {
                MemberWeighting::Dag => 1.0,
                MemberWeighting::Replicate => 1.0 / replicate.members.len() as f64,
            };
            replicate.members.iter().map(move |&member| (&graphs[member], 1, weight))
        });
        edge_shares(members)
    }
}
