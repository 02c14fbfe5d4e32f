//! Knowledge about the graph before the search: tiers in time, forbidden and required edges.
//!
//! `forbidden(a, b)`, meaning a -> b, is true where the pair is listed, where a is in a later tier
//! than b, or where both are in one tier that forbids edges within. A variable in no tier has no
//! constraint from tiers.
//! Choice: knowledge that contradicts itself, as by a cycle, is refused as a whole, with every
//! contradiction named: a search could only violate part of it silently.

use std::fmt;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::causal::nodes::{MAX_NODES, NodeSet};
use crate::param::ColumnName;

/// Knowledge about the graph.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeScenario {
    /// Groups of variables in order of time: no variable causes one of an earlier tier. A variable
    /// in no tier is free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<KnowledgeTier>,
    /// Edges `[cause, effect]` that must not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<[ColumnName; 2]>,
    /// Edges `[cause, effect]` that must exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<[ColumnName; 2]>,
}

impl KnowledgeScenario {
    /// The number of statements: each border of two tiers, each tier without edges within, and each
    /// edge counts.
    pub fn n_statements(&self) -> usize {
        let closed = self.tiers.iter().filter(|tier| tier.is_closed());
        let borders = self.tiers.len().saturating_sub(1);
        borders + closed.count() + self.forbidden.len() + self.required.len()
    }

    /// The scenario without each of its statements, by the words of the statement: each border of
    /// two tiers, each tier without edges within, each edge.
    pub(crate) fn without_each(&self) -> IndexMap<String, Self> {
        let mut all = IndexMap::new();
        for (t, pair) in self.tiers.windows(2).enumerate() {
            let mut left = self.clone();
            let later = left.tiers.remove(t + 1);
            left.tiers[t].columns.extend(later.columns);
            // Edges that either tier forbids within stay forbidden; edges between the tiers become
            // free.
            left.tiers[t].edges_within = EdgesWithin::Allowed;
            for KnowledgeTier { columns, .. } in pair.iter().filter(|tier| tier.is_closed()) {
                let pairs = columns.iter().flat_map(|a| columns.iter().map(move |b| [a, b]));
                left.forbidden
                    .extend(pairs.filter(|[a, b]| a != b).map(|pair| pair.map(Clone::clone)));
            }
            all.insert(format!("{} before {}", pair[0].names(), pair[1].names()), left);
        }
        for (t, tier) in self.tiers.iter().enumerate() {
            if tier.is_closed() && tier.columns.len() > 1 {
                let mut left = self.clone();
                left.tiers[t].edges_within = EdgesWithin::Allowed;
                all.insert(format!("no effects among {}", tier.names()), left);
            }
        }
        for pair @ [cause, effect] in &self.forbidden {
            let mut left = self.clone();
            left.forbidden.retain(|other| other != pair);
            all.insert(format!("no direct effect of {cause} on {effect}"), left);
        }
        for pair @ [cause, effect] in &self.required {
            let mut left = self.clone();
            left.required.retain(|other| other != pair);
            all.insert(format!("a direct effect of {cause} on {effect}"), left);
        }
        all
    }
}

/// A group of variables of one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnowledgeTier {
    /// The variables.
    pub columns: Vec<ColumnName>,
    /// Whether these may cause each other.
    #[serde(default)]
    pub edges_within: EdgesWithin,
}

impl KnowledgeTier {
    /// Whether its variables may not cause each other.
    fn is_closed(&self) -> bool {
        self.edges_within == EdgesWithin::Forbidden
    }

    /// The names of its variables.
    fn names(&self) -> String {
        self.columns.iter().map(ColumnName::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// Whether variables of a tier may cause each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EdgesWithin {
    /// They may.
    #[default]
    Allowed,
    /// They may not.
    Forbidden,
}

/// Why knowledge contradicts itself or the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contradiction {
    /// A name that is not a variable of the graph.
    UnknownVariable(String),
    /// A variable that is listed in two tiers, or twice in one.
    InTwoTiers(String),
    /// A pair of a variable and itself.
    SelfEdge(String),
    /// A required edge that a list or a tier forbids.
    RequiredForbidden(String, String),
    /// Required edges that form a cycle, as the variables along it.
    RequiredCycle(Vec<String>),
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Contradiction::UnknownVariable(name) => {
                write!(f, "`{name}` is not a variable of the graph")
            }
            Contradiction::InTwoTiers(name) => write!(f, "`{name}` is in more than one tier"),
            Contradiction::SelfEdge(name) => write!(f, "`{name}` cannot be its own cause"),
            Contradiction::RequiredForbidden(cause, effect) => {
                write!(f, "`{cause}` -> `{effect}` is both required and forbidden")
            }
            Contradiction::RequiredCycle(names) => {
                write!(f, "required edges form a cycle: {}", cycle_text(names))
            }
        }
    }
}

/// A cycle as text: `a` -> `b` -> `a`.
pub(super) fn cycle_text(names: &[String]) -> String {
    names
        .iter()
        .chain(names.first())
        .map(|name| format!("`{name}`"))
        .collect::<Vec<_>>()
        .join(" -> ")
}

/// Contradictions with their places.
type PlacedContradictions = Vec<(Contradiction, String)>;

fn refuse(what: Contradiction, place: String, wrong: &mut PlacedContradictions) {
    if wrong.iter().all(|(known, _)| *known != what) {
        wrong.push((what, place));
    }
}

/// Knowledge that does not contradict itself, variables by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    /// The tier of each variable.
    pub(crate) tier: Vec<Option<usize>>,
    /// For each tier whether it forbids edges among its variables.
    pub(super) forbidden_within: Vec<bool>,
    /// The forbidden causes of each effect.
    pub(super) forbidden: Vec<NodeSet>,
    /// The required causes of each effect.
    pub(super) required: Vec<NodeSet>,
}

impl Knowledge {
    /// No knowledge about `n` variables.
    pub fn none(n: usize) -> Self {
        Knowledge {
            tier: vec![None; n],
            forbidden_within: Vec::new(),
            forbidden: vec![NodeSet::EMPTY; n],
            required: vec![NodeSet::EMPTY; n],
        }
    }

    /// Resolves names and checks the knowledge for contradictions.
    ///
    /// `variables` are at most [`MAX_NODES`] different names.
    ///
    /// # Errors
    /// Every contradiction, in the order of tiers, forbidden and required edges, with its place in
    /// the scenario, such as `.tiers[0]`; of equal ones the first.
    pub fn new(
        variables: &[String],
        stated: &KnowledgeScenario,
    ) -> Result<Self, PlacedContradictions> {
        assert!(variables.len() <= MAX_NODES, "too many variables");
        let mut wrong: PlacedContradictions = Vec::new();
        let mut knowledge = Knowledge::none(variables.len());
        let position = |name: &ColumnName, place: String, wrong: &mut PlacedContradictions| {
            let found = variables.iter().position(|v| v == name.as_str());
            if found.is_none() {
                refuse(Contradiction::UnknownVariable(name.to_string()), place, wrong);
            }
            found
        };
        knowledge.forbidden_within = stated.tiers.iter().map(KnowledgeTier::is_closed).collect();
        for (t, tier) in stated.tiers.iter().enumerate() {
            for (i, name) in tier.columns.iter().enumerate() {
                let place = format!(".tiers[{t}].columns[{i}]");
                let Some(v) = position(name, place.clone(), &mut wrong) else { continue };
                if knowledge.tier[v].replace(t).is_some() {
                    refuse(Contradiction::InTwoTiers(name.to_string()), place, &mut wrong);
                }
            }
        }
        let pair =
            |[cause, effect]: &[ColumnName; 2], place: &str, wrong: &mut PlacedContradictions| {
                let a = position(cause, format!("{place}[0]"), wrong);
                let b = position(effect, format!("{place}[1]"), wrong);
                if cause == effect && a.is_some() {
                    refuse(Contradiction::SelfEdge(cause.to_string()), place.to_owned(), wrong);
                    return None;
                }
                a.zip(b)
            };
        for (i, listed) in stated.forbidden.iter().enumerate() {
            if let Some((a, b)) = pair(listed, &format!(".forbidden[{i}]"), &mut wrong) {
                knowledge.forbidden[b].insert(a);
            }
        }
        for b in 0..variables.len() {
            let causes = (0..variables.len()).filter(|&a| knowledge.tiers_forbid(a, b));
            knowledge.forbidden[b] = knowledge.forbidden[b] | causes.collect::<NodeSet>();
        }
        for (i, listed) in stated.required.iter().enumerate() {
            let place = format!(".required[{i}]");
            let Some((a, b)) = pair(listed, &place, &mut wrong) else { continue };
            if knowledge.forbidden(a, b) {
                let [cause, effect] = listed.each_ref().map(ToString::to_string);
                refuse(Contradiction::RequiredForbidden(cause, effect), place, &mut wrong);
            }
            knowledge.required[b].insert(a);
        }
        if let Some(cycle) = find_cycle(&knowledge.required) {
            let names: Vec<String> = cycle.iter().map(|&v| variables[v].clone()).collect();
            let is_in = |name: &ColumnName| names.iter().any(|known| known == name.as_str());
            let first = stated.required.iter().position(|pair| pair.iter().all(is_in));
            let place = first.map_or_else(String::new, |i| format!(".required[{i}]"));
            refuse(Contradiction::RequiredCycle(names), place, &mut wrong);
        }
        if wrong.is_empty() { Ok(knowledge) } else { Err(wrong) }
    }

    /// Whether tiers forbid a -> b.
    pub(super) fn tiers_forbid(&self, a: usize, b: usize) -> bool {
        let (Some(ta), Some(tb)) = (self.tier[a], self.tier[b]) else { return false };
        a != b && (ta > tb || ta == tb && self.forbidden_within[ta])
    }

    /// Whether a -> b must not be an edge.
    pub fn forbidden(&self, a: usize, b: usize) -> bool {
        self.forbidden[b].contains(a)
    }

    /// Whether a -> b must be an edge.
    pub fn required(&self, a: usize, b: usize) -> bool {
        self.required[b].contains(a)
    }

    /// Whether an edge between u and v must point from u to v if there is one.
    pub(super) fn compels(&self, u: usize, v: usize) -> bool {
        self.forbidden(v, u) || self.required(u, v)
    }
}

/// A directed cycle in a graph given by the parents of each node, or `None`.
///
/// Each node of the cycle once, from the lowest on.
pub(super) fn find_cycle(parents: &[NodeSet]) -> Option<Vec<usize>> {
    let mut left = NodeSet::first_n(parents.len());
    while let Some(source) = left.into_iter().find(|&v| (parents[v] & left).is_empty()) {
        left.remove(source);
    }
    // Every remaining node has a remaining parent, so following parents reaches a visited node.
    let mut path = vec![left.lowest()?];
    loop {
        let last = path.last().copied()?;
        let above = (parents[last] & left).lowest()?;
        if let Some(at) = path.iter().position(|&v| v == above) {
            path.drain(..at);
            path.reverse();
            let lowest = path.iter().enumerate().min_by_key(|(_, v)| **v).map_or(0, |(i, _)| i);
            path.rotate_left(lowest);
            return Some(path);
        }
        path.push(above);
    }
}

#[cfg(test)]
mod tests {
    use super::Knowledge;
    use crate::causal::tests::frame::StatedKnowledge;

    fn names() -> Vec<String> {
        ["a", "b", "c", "d"].map(str::to_owned).to_vec()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn tiers_and_lists_forbid() {
        let stated = StatedKnowledge {
            tiers: vec![vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]],
            forbidden_within_tier: vec![0],
            forbidden: pairs(&[("d", "a")]),
            required: pairs(&[("a", "c"), ("c", "d")]),
        };
        let known = Knowledge::new(&names(), &stated.scenario()).expect("holds");
        let forbidden: Vec<(usize, usize)> = (0..4)
            .flat_map(|a| (0..4).map(move |b| (a, b)))
            .filter(|&(a, b)| known.forbidden(a, b))
            .collect();
        assert_eq!(forbidden, [(0, 1), (1, 0), (2, 0), (2, 1), (3, 0)]);
        assert!(known.required(0, 2) && !known.required(2, 0) && known.tier[3].is_none());
    }

    #[test]
    fn contradictions_are_all_named() {
        let check = |stated: StatedKnowledge, expected: &[&str]| {
            let found: Vec<String> = Knowledge::new(&names(), &stated.scenario())
                .expect_err("wrong")
                .iter()
                .map(|(wrong, _)| wrong.to_string())
                .collect();
            assert_eq!(found, expected);
        };
        check(
            StatedKnowledge {
                tiers: vec![
                    vec!["a".to_owned(), "x".to_owned()],
                    vec!["a".to_owned(), "b".to_owned()],
                ],
                forbidden_within_tier: vec![1],
                forbidden: pairs(&[("c", "c")]),
                required: pairs(&[("c", "y")]),
            },
            &[
                "`x` is not a variable of the graph",
                "`a` is in more than one tier",
                "`c` cannot be its own cause",
                "`y` is not a variable of the graph",
            ],
        );
        check(
            StatedKnowledge {
                forbidden: pairs(&[("a", "b")]),
                required: pairs(&[("a", "b")]),
                ..StatedKnowledge::default()
            },
            &["`a` -> `b` is both required and forbidden"],
        );
        check(
            StatedKnowledge {
                required: pairs(&[("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")]),
                ..StatedKnowledge::default()
            },
            &["required edges form a cycle: `a` -> `b` -> `c` -> `a`"],
        );
        let tiers = vec![vec!["a".to_owned()], vec!["b".to_owned()]];
        check(
            StatedKnowledge { tiers, required: pairs(&[("b", "a")]), ..StatedKnowledge::default() },
            &["`b` -> `a` is both required and forbidden"],
        );
    }
}
