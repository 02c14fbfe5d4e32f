//! Knowledge about the graph before the search: tiers in time, forbidden and required edges.
//!
//! `forbidden(a, b)`, meaning a -> b, is true where the pair is listed, where a is in a later tier
//! than b, or where both are in one tier that forbids edges within. A variable in no tier has no
//! constraint from tiers.
//! Choice: knowledge that contradicts itself, as by a cycle, is refused as a whole, with every
//! contradiction named: a search could only violate part of it silently.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::causal::nodes::{MAX_NODES, NodeSet};

/// Knowledge as the user writes it, variables by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatedKnowledge {
    /// Groups of variables in order of time: no variable causes one of an earlier tier.
    pub tiers: Vec<Vec<String>>,
    /// Positions in `tiers`, from 0, of the tiers whose variables do not cause each other.
    pub forbidden_within_tier: Vec<usize>,
    /// Edges (cause, effect) that must not exist.
    pub forbidden: Vec<(String, String)>,
    /// Edges (cause, effect) that must exist.
    pub required: Vec<(String, String)>,
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

/// Knowledge that does not contradict itself, variables by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Knowledge {
    tier: Vec<Option<usize>>,
    forbidden_within: Vec<bool>,
    /// The forbidden causes of each effect.
    forbidden: Vec<NodeSet>,
    /// The required causes of each effect.
    required: Vec<NodeSet>,
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
    /// Every contradiction, in the order of tiers, forbidden and required edges.
    pub fn new(variables: &[String], stated: &StatedKnowledge) -> Result<Self, Vec<Contradiction>> {
        assert!(variables.len() <= MAX_NODES, "too many variables");
        let mut wrong = Vec::new();
        let mut knowledge = Knowledge::none(variables.len());
        let position = |name: &str, wrong: &mut Vec<Contradiction>| {
            let found = variables.iter().position(|v| v == name);
            if found.is_none() {
                wrong.push(Contradiction::UnknownVariable(name.to_owned()));
            }
            found
        };
        knowledge.forbidden_within = vec![false; stated.tiers.len()];
        for (t, tier) in stated.tiers.iter().enumerate() {
            for name in tier {
                let Some(v) = position(name, &mut wrong) else { continue };
                if knowledge.tier[v].replace(t).is_some() {
                    wrong.push(Contradiction::InTwoTiers(name.clone()));
                }
            }
        }
        stated.forbidden_within_tier.iter().for_each(|&t| knowledge.forbidden_within[t] = true);
        let pair = |(cause, effect): &(String, String), wrong: &mut Vec<Contradiction>| {
            let (a, b) = (position(cause, wrong), position(effect, wrong));
            if cause == effect && a.is_some() {
                wrong.push(Contradiction::SelfEdge(cause.clone()));
                return None;
            }
            a.zip(b)
        };
        for listed in &stated.forbidden {
            if let Some((a, b)) = pair(listed, &mut wrong) {
                knowledge.forbidden[b].insert(a);
            }
        }
        knowledge.forbid_by_tiers();
        for listed in &stated.required {
            let Some((a, b)) = pair(listed, &mut wrong) else { continue };
            if knowledge.forbidden(a, b) {
                wrong.push(Contradiction::RequiredForbidden(listed.0.clone(), listed.1.clone()));
            }
            knowledge.required[b].insert(a);
        }
        if let Some(cycle) = find_cycle(&knowledge.required) {
            wrong.push(Contradiction::RequiredCycle(
                cycle.iter().map(|&v| variables[v].clone()).collect(),
            ));
        }
        if wrong.is_empty() { Ok(knowledge) } else { Err(wrong) }
    }

    fn forbid_by_tiers(&mut self) {
        for b in 0..self.tier.len() {
            for a in 0..self.tier.len() {
                let by_tier = match (self.tier[a], self.tier[b]) {
                    (Some(ta), Some(tb)) => {
                        a != b && (ta > tb || ta == tb && self.forbidden_within[ta])
                    }
                    _ => false,
                };
                if by_tier {
                    self.forbidden[b].insert(a);
                }
            }
        }
    }

    /// Number of variables.
    pub fn n_variables(&self) -> usize {
        self.tier.len()
    }

    /// Whether a -> b must not be an edge.
    pub fn forbidden(&self, a: usize, b: usize) -> bool {
        self.forbidden[b].contains(a)
    }

    /// Whether a -> b must be an edge.
    pub fn required(&self, a: usize, b: usize) -> bool {
        self.required[b].contains(a)
    }

    /// The causes that are forbidden for an effect.
    pub fn forbidden_causes(&self, effect: usize) -> NodeSet {
        self.forbidden[effect]
    }

    /// The causes that are required for an effect.
    pub fn required_causes(&self, effect: usize) -> NodeSet {
        self.required[effect]
    }

    /// The tier of a variable.
    pub fn tier(&self, v: usize) -> Option<usize> {
        self.tier[v]
    }

    /// Number of tiers.
    pub fn n_tiers(&self) -> usize {
        self.forbidden_within.len()
    }

    /// Whether a tier forbids edges among its variables.
    pub fn forbids_within(&self, tier: usize) -> bool {
        self.forbidden_within[tier]
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
    use super::{Contradiction, Knowledge, StatedKnowledge};

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
        let known = Knowledge::new(&names(), &stated).expect("holds");
        let forbidden: Vec<(usize, usize)> = (0..4)
            .flat_map(|a| (0..4).map(move |b| (a, b)))
            .filter(|&(a, b)| known.forbidden(a, b))
            .collect();
        assert_eq!(forbidden, [(0, 1), (1, 0), (2, 0), (2, 1), (3, 0)]);
        assert!(known.required(0, 2) && !known.required(2, 0) && known.tier(3).is_none());
    }

    #[test]
    fn contradictions_are_all_named() {
        let check = |stated: StatedKnowledge, expected: &[&str]| {
            let found: Vec<String> = Knowledge::new(&names(), &stated)
                .expect_err("wrong")
                .iter()
                .map(Contradiction::to_string)
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
