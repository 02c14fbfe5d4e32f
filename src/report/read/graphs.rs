//! The tables `edges`, `nodes`, `graphs` and `world_people` as the section reads them.

use std::collections::{BTreeMap, BTreeSet};

use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::Manifest;
use crate::metric::value::worlds::FOLLOWS_FROM;
use crate::table::{EdgeRow, GraphRow, NodeRow, SharedText, WorldPeopleRow};
use crate::text::fact;

/// Edges, variables and bootstraps of every scenario.
#[derive(Debug, Clone, Default)]
pub(crate) struct GraphEvidence {
    pub(crate) scenarios: Vec<ScenarioGraphs>,
}

/// One set with the graphs of an attribute.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScenarioGraphs {
    /// Number on the page, for anchors.
    pub(crate) id: usize,
    /// The set, `graph/low`.
    pub(crate) set: String,
    /// The attribute.
    pub(crate) attribute: String,
    /// Its variable.
    pub(crate) sensitive: String,
    /// The pair of groups whose movements are reported, the first in declared order.
    pub(crate) groups: (String, String),
    /// Values that cells of levels and bins, cells of levels, and equations gave.
    pub(crate) steps: [i64; 3],
    /// Edges by cause and effect.
    pub(crate) edges: BTreeMap<(String, String), EdgeRow>,
    /// Encoded columns in the order of the variables.
    pub(crate) nodes: Vec<NodeRow>,
    /// The bootstraps.
    pub(crate) bootstraps: Vec<GraphRow>,
    /// How far the scores of people vary over the graphs, by model and direction.
    pub(crate) people: Vec<WorldPeopleRow>,
}

impl GraphEvidence {
    pub(in crate::report) fn of(
        (edges, nodes, graphs): (Vec<EdgeRow>, Vec<NodeRow>, Vec<GraphRow>),
        people: Vec<WorldPeopleRow>,
        manifest: &Manifest,
    ) -> Self {
        // Every set has the movement from the first declared group to the second; sets of rows have
        // the reverse too.
        let first = |sensitive: &str| match manifest.attribute(sensitive)?.groups.as_slice() {
            [first, second, ..] => Some((first.clone(), second.clone())),
            _ => None,
        };
        let mut found: BTreeMap<(String, String), ScenarioGraphs> = BTreeMap::new();
        let mut counted = BTreeSet::new();
        for row in nodes {
            let key = (row.sensitive.to_string(), row.counterfactual.to_string());
            let scenario = found.entry(key.clone()).or_insert_with(|| ScenarioGraphs {
                attribute: key.0.clone(),
                set: key.1.clone(),
                groups: first(&key.0).unwrap_or_default(),
                ..ScenarioGraphs::default()
            });
            let pair = (row.from_group.to_string(), row.to_group.to_string());
            // A variable with several columns has the same counts in each.
            let is_first = counted.insert((key, pair.clone(), row.position));
            let steps = [row.by_cells, row.by_levels, row.by_equation];
            for (sum, n) in scenario.steps.iter_mut().zip(steps).filter(|_| is_first) {
                *sum += n.unwrap_or(0);
            }
            if scenario.groups == pair {
                scenario.nodes.push(row);
            }
        }
        let at =
            |attribute: &SharedText, set: &SharedText| (attribute.to_string(), set.to_string());
        for row in edges {
            if let Some(scenario) = found.get_mut(&at(&row.sensitive, &row.counterfactual)) {
                scenario.edges.insert((row.cause.to_string(), row.effect.to_string()), row);
            }
        }
        for row in graphs {
            if let Some(scenario) = found.get_mut(&at(&row.sensitive, &row.counterfactual)) {
                scenario.bootstraps.push(row);
            }
        }
        for row in people {
            if let Some(scenario) = found.get_mut(&at(&row.sensitive, &row.counterfactual)) {
                scenario.people.push(row);
            }
        }
        let mut scenarios: Vec<ScenarioGraphs> = found.into_values().collect();
        for scenario in &mut scenarios {
            scenario.nodes.sort_by(|a, b| (a.position, &a.level).cmp(&(b.position, &b.level)));
            // The attribute itself moves from one group to the other in every graph.
            let own = scenario.nodes.iter().find(|n| {
                n.below_sensitive == 1.0 && n.r#move == 1.0 && n.level == scenario.groups.1
            });
            scenario.sensitive = own.map(|n| n.node.to_string()).unwrap_or_default();
        }
        // The sort is stable: of a set in the order of the names of attributes.
        let sets = || manifest.counterfactuals.iter().map(|set| &set.name);
        scenarios.sort_by_key(|of| sets().position(|name| *name == of.set).unwrap_or(usize::MAX));
        scenarios.iter_mut().enumerate().for_each(|(id, of)| of.id = id);
        GraphEvidence { scenarios }
    }
}

/// What the range of a movement over graphs and refits shows: `most` where a few graphs differ from
/// the rest.
pub(crate) fn ends_kind(node: &NodeRow) -> Option<&'static str> {
    node.move_lo.zip(node.move_hi).map(|(lo, hi)| match (lo, hi) {
        (0.0, 0.0) if node.r#move != 0.0 => "still",
        _ if node.r#move < lo || node.r#move > hi => "most",
        _ => "all",
    })
}

/// An edge by cause and effect with its shares in two scenarios.
pub(crate) type EdgeShift = ((String, String), f64, f64);

impl ScenarioGraphs {
    /// What the attribute follows from, where it follows from any other variable in
    /// [`FOLLOWS_FROM`] of the graphs or more.
    pub(crate) fn causes_of_the_attribute(&self) -> Option<Value> {
        let all = self.edges.iter().filter(|((_, effect), _)| *effect == self.sensitive);
        let mut each: Vec<(&str, f64)> =
            all.map(|((cause, _), edge)| (cause.as_str(), edge.frequency)).collect();
        // Stable: of equals the order of the names.
        each.sort_by(|a, b| b.1.total_cmp(&a.1));
        each.retain(|(_, share)| *share >= FOLLOWS_FROM);
        let following: i64 = self.bootstraps.iter().map(|b| b.attribute_follows).sum();
        let graphs: i64 = self.bootstraps.iter().map(|b| b.graphs).sum();
        let share = if graphs > 0 { following as f64 / graphs as f64 } else { 0.0 };
        let set = self.set.as_str();
        let scenario = set.split_once('/').map_or(set, |(_, name)| name);
        let attribute = self.sensitive.as_str();
        let each = fact(&each);
        (share >= FOLLOWS_FROM).then(|| context!(set, scenario, attribute, share, each))
    }

    /// Whether a variable is in a tier.
    pub(crate) fn has_tiers(&self) -> bool {
        self.nodes.iter().any(|node| node.tier.is_some())
    }

    /// The variables in order, each with its tier.
    pub(crate) fn variables(&self) -> Vec<(&str, Option<i64>)> {
        let mut variables: Vec<(&str, Option<i64>)> =
            self.nodes.iter().map(|n| (n.node.as_str(), n.tier)).collect();
        variables.dedup();
        variables
    }

    /// Edges whose shares differ from another scenario's by a hundredth or more, the largest
    /// difference first, with both shares.
    pub(crate) fn moved(&self, other: &ScenarioGraphs) -> Vec<EdgeShift> {
        let share = |of: &ScenarioGraphs, edge: &(String, String)| {
            of.edges.get(edge).map_or(0.0, |e| e.frequency)
        };
        let mut edges: Vec<&(String, String)> =
            self.edges.keys().chain(other.edges.keys()).collect();
        edges.sort();
        edges.dedup();
        let mut moved: Vec<EdgeShift> = edges
            .into_iter()
            .map(|edge| (edge.clone(), share(self, edge), share(other, edge)))
            .collect();
        moved.retain(|(_, before, after)| (after - before).abs() >= 0.01);
        moved.sort_by(|a, b| {
            (b.2 - b.1).abs().total_cmp(&(a.2 - a.1).abs()).then_with(|| a.0.cmp(&b.0))
        });
        moved
    }
}

/// Edges in a smaller share of graphs are not drawn.
pub(crate) const LEAST: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::manifest::AttributeWords;
    use crate::tests::TextRow;

    /// Sets of rows move people both ways; next to sets that move levels one way, all show the same
    /// way, that of the declared groups.
    #[test]
    fn movements_of_all_sets_have_one_direction() {
        let row = |set: &str, (from, to): (&str, &str), movement: f64| {
            NodeRow::of(&format!(
                "counterfactual={set}, sensitive=race, node=priors, from_group={from}, \
                 to_group={to}, move={movement}"
            ))
        };
        let (forth, back) = (("white", "black"), ("black", "white"));
        let rows =
            vec![row("expected", forth, 2.0), row("rows", back, -1.9), row("rows", forth, 2.2)];
        let groups = ["white", "black"].map(ToString::to_string).to_vec();
        let race = AttributeWords { name: "race".to_owned(), groups, ..AttributeWords::default() };
        let manifest = Manifest { attributes: vec![race], ..Manifest::default() };
        let found = GraphEvidence::of((Vec::new(), rows, Vec::new()), Vec::new(), &manifest);
        let movements: Vec<f64> =
            found.scenarios.iter().flat_map(|of| &of.nodes).map(|node| node.r#move).collect();
        assert_eq!(movements, [2.0, 2.2]);
    }
}
