//! Graphs as tables and as files for other programs: edges, nodes, bootstraps, graphs below the
//! attribute; DOT, GML, JSON.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use crate::causal::bag::MemberWeighting;
use crate::causal::class::DagSampling;
use crate::causal::encoding::{EncodedVariable, VariableForm};
use crate::causal::entropy::EdgeShares;
use crate::causal::export::GraphExport;
use crate::counterfactual::graph_uncertain::rows::StepCounts;
use crate::data::{Attribute, Layout};
use crate::error::Result;
use crate::exec::files;
use crate::metric;
use crate::metric::catalog::graph::{FIT_WORSE, METRICS};
use crate::metric::rate::{MetricValue, Undefined};
use crate::num::summary::{SampleSpread, SpreadEstimate};
use crate::param::Level;
use crate::stage::discover::knowledge_fit::KnowledgeFit;
use crate::stage::discover::scenarios::DiscoveredScenario;
use crate::stage::generate::world_rows::PairMovement;
use crate::table::file::write_rows;
use crate::table::{
    EdgeRow, GraphRow, KnowledgeFitRow, NodeRow, SharedText, SubgraphRow, TableDef, TableRow,
    WorldPeopleRow, WorldRow, finite, whole,
};

/// The tables of graph-uncertain sets.
pub(crate) const TABLES: [&TableDef; 7] = [
    WorldRow::TABLE,
    WorldPeopleRow::TABLE,
    EdgeRow::TABLE,
    NodeRow::TABLE,
    GraphRow::TABLE,
    SubgraphRow::TABLE,
    KnowledgeFitRow::TABLE,
];

/// A scenario of a set with what was found.
#[derive(Debug, Clone)]
pub(crate) struct GraphSetScenario {
    /// `SET/SCENARIO`.
    pub name: String,
    /// Position of the attribute.
    pub position: usize,
    /// What was found.
    pub discovered: DiscoveredScenario,
    /// For a set that makes rows, how they moved, by pair of declared groups.
    pub rows: Option<Vec<PairMovement>>,
}

impl GraphSetScenario {
    /// For each bootstrap the score of its best graphs; none where a search was impossible, as for
    /// a group without training rows, or where the graph was given.
    pub(crate) fn scores(&self) -> Option<Vec<f64>> {
        let replicates = self.discovered.worlds.bag.replicates.iter();
        let scores: Vec<f64> = replicates.map(|of| of.score).collect::<Option<_>>()?;
        (!scores.is_empty()).then_some(scores)
    }

    /// For each bootstrap in how many of its graphs the attribute follows from another variable.
    fn following(&self) -> Vec<u64> {
        let bag = &self.discovered.worlds.bag;
        let follows = |member: &&usize| {
            bag.dags[**member].edges().iter().any(|&(_, effect)| effect == bag.sensitive)
        };
        bag.replicates
            .iter()
            .map(|replicate| replicate.members.iter().filter(follows).count() as u64)
            .collect()
    }

    /// The pairs of groups whose movements are reported: with expected levels a pair moves back as
    /// it moved.
    fn node_pairs(&self, groups: usize) -> Vec<(usize, usize)> {
        let pairs = (0..groups).flat_map(|from| (0..groups).map(move |to| (from, to)));
        let both_ways = self.rows.is_some();
        pairs.filter(|(from, to)| from < to || (both_ways && from > to)).collect()
    }

    /// For each encoded column the spread over graphs of its movement from one group to another,
    /// and of rows which steps gave the values.
    fn movements(
        &self,
        attribute: &Attribute,
        (from, to): (usize, usize),
        level: Level,
    ) -> (Vec<Option<SampleSpread>>, Option<&StepCounts>) {
        let worlds = &self.discovered.worlds;
        let codes = &attribute.level_of_group;
        let Some(rows) = &self.rows else {
            let pair = (codes[from], codes[to]);
            return (worlds.shift_spreads(level.get(), pair), None);
        };
        let pair = &rows[from * codes.len() + to];
        let saw: Vec<bool> =
            worlds.saw(codes[from]).zip(worlds.saw(codes[to])).map(|(a, b)| a && b).collect();
        let width = worlds.encoding.width();
        let mean = |w: usize, column: usize| pair.mean(w * width + column).filter(|_| saw[w]);
        let spread = |column: usize| worlds.spread(level.get(), |w| mean(w, column));
        ((0..width).map(spread).collect(), Some(&pair.steps))
    }

    /// Whether the attribute follows from another variable in so many graphs that no group is named
    /// as worse off.
    pub(crate) fn attribute_follows(&self) -> bool {
        let following: u64 = self.following().iter().sum();
        let all = self.discovered.worlds.bag.len() as f64;
        all > 0.0 && following as f64 / all >= crate::metric::value::worlds::FOLLOWS_FROM
    }
}

/// The tables while they grow.
#[derive(Default)]
pub(crate) struct GraphTables {
    edges: Vec<EdgeRow>,
    nodes: Vec<NodeRow>,
    graphs: Vec<GraphRow>,
    subgraphs: Vec<SubgraphRow>,
    fits: Vec<KnowledgeFitRow>,
}

impl GraphTables {
    /// Adds a scenario, unless it has no graphs; `level` is that of intervals over graphs.
    pub(crate) fn add(&mut self, set: &GraphSetScenario, layout: &Layout, level: Level) {
        if set.discovered.worlds.bag.is_empty() {
            return;
        }
        let attribute = &layout.attributes[set.position];
        let [counterfactual, sensitive] =
            [&set.name, &attribute.name].map(|name| SharedText::from(name.as_str()));
        let (worlds, bag) = (&set.discovered.worlds, &set.discovered.worlds.bag);
        let all = bag.edge_shares(MemberWeighting::Dag);
        let even = by_edge(&bag.edge_shares(MemberWeighting::Replicate));
        let below = by_edge(&bag.descendant_edge_shares(MemberWeighting::Dag));
        for edge in &all.edges {
            let at = (edge.from, edge.to);
            self.edges.push(EdgeRow {
                counterfactual: counterfactual.clone(),
                sensitive: sensitive.clone(),
                cause: bag.variables[edge.from].as_str().into(),
                effect: bag.variables[edge.to].as_str().into(),
                count: whole(edge.count),
                frequency: edge.share,
                frequency_even: even.get(&at).copied().unwrap_or(0.0),
                entropy: edge.entropy(),
                below_sensitive: below.get(&at).copied().unwrap_or(0.0),
            });
        }
        let followers = descendant_shares(set);
        for (from, to) in set.node_pairs(attribute.groups.len()) {
            let (movements, steps) = set.movements(attribute, (from, to), level);
            for (v, variable) in worlds.encoding.variables.iter().enumerate() {
                let step = |k: usize| steps.map(|steps| whole(steps[v][k]));
                for (k, column) in variable.columns.clone().enumerate() {
                    let unit = unit(variable);
                    let around: Option<SpreadEstimate> =
                        movements[column].and_then(|spread| spread.spread);
                    self.nodes.push(NodeRow {
                        counterfactual: counterfactual.clone(),
                        sensitive: sensitive.clone(),
                        node: variable.name.as_str().into(),
                        level: level_of(layout, variable, k).into(),
                        from_group: attribute.groups[from].as_str().into(),
                        to_group: attribute.groups[to].as_str().into(),
                        position: whole(v as u64),
                        tier: set.discovered.tiers[v].map(|tier| whole(tier as u64)),
                        below_sensitive: followers[v],
                        r#move: movements[column].map_or(0.0, |spread| spread.mean) * unit,
                        move_var: around.and_then(|a| finite(a.variance * unit * unit)),
                        move_lo: around.and_then(|a| finite(a.lo * unit)),
                        move_hi: around.and_then(|a| finite(a.hi * unit)),
                        by_cells: step(0),
                        by_levels: step(1),
                        by_equation: step(2),
                    });
                }
            }
        }
        let following = set.following();
        for (b, replicate) in bag.replicates.iter().enumerate() {
            let drawn = match replicate.drawn {
                DagSampling::All => "all",
                DagSampling::Evenly => "evenly",
                DagSampling::ByDirections => "by_directions",
            };
            let determined: Vec<&str> =
                replicate.determined.iter().map(|&v| bag.variables[v].as_str()).collect();
            self.graphs.push(GraphRow {
                counterfactual: counterfactual.clone(),
                sensitive: sensitive.clone(),
                bootstrap: whole(b as u64),
                score: replicate.score.and_then(finite),
                class: whole(replicate.class as u64),
                graphs: whole(replicate.members.len() as u64),
                class_size: replicate.size.map(whole),
                drawn: drawn.into(),
                determined: determined.join(",").into(),
                attribute_follows: whole(following[b]),
            });
        }
        for (graph, count) in bag.descendant_graphs() {
            let edges: Vec<String> = graph
                .edges()
                .iter()
                .map(|&(u, v)| format!("{} -> {}", bag.variables[u], bag.variables[v]))
                .collect();
            self.subgraphs.push(SubgraphRow {
                counterfactual: counterfactual.clone(),
                sensitive: sensitive.clone(),
                edges: edges.join("; ").into(),
                count: whole(count),
                share: count as f64 / bag.len() as f64,
            });
        }
    }

    /// Writes them.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn write(self, out: &Path) -> Result<()> {
        write_rows(out, &self.edges)?;
        write_rows(out, &self.nodes)?;
        write_rows(out, &self.graphs)?;
        write_rows(out, &self.subgraphs)?;
        write_rows(out, &self.fits)
    }

    /// Adds how well the knowledge of a scenario fits.
    pub(crate) fn add_fit(
        &mut self,
        set: &GraphSetScenario,
        layout: &Layout,
        (fit, level): (&KnowledgeFit, Level),
    ) {
        let ends = fit.interval(level);
        let (name, scenario) = set.name.split_once('/').unwrap_or((set.name.as_str(), ""));
        self.fits.push(KnowledgeFitRow {
            counterfactual: name.into(),
            sensitive: layout.attributes[set.position].name.as_str().into(),
            scenario: scenario.into(),
            against: fit.against.as_str().into(),
            difference: fit.mean(),
            lo: ends.and_then(|ends| finite(ends.0)),
            hi: ends.and_then(|ends| finite(ends.1)),
            level: level.get(),
            worse_in: whole(fit.worse),
            bootstraps: whole(fit.bootstraps()),
        });
    }
}

/// The metrics of a scenario's graphs, in the order of the catalog; undefined where there are none.
/// That of the fit only where it is compared.
pub(crate) fn graph_metrics(
    set: &GraphSetScenario,
    fit: Option<&KnowledgeFit>,
) -> Vec<(&'static metric::Metric, MetricValue)> {
    let bag = &set.discovered.worlds.bag;
    let value = |id: &str| match id {
        _ if bag.is_empty() => Err(Undefined::NoTrainingRows),
        "h_g" => Ok(bag.edge_shares(MemberWeighting::Dag).entropy),
        "h_ga" => Ok(bag.descendant_edge_shares(MemberWeighting::Dag).entropy),
        "n_graphs" => Ok(bag.len() as f64),
        "n_graphs_distinct" => Ok(bag.dags.len() as f64),
        FIT_WORSE => Ok(fit.map_or(0.0, KnowledgeFit::share_worse)),
        _ => Ok(bag.n_classes as f64),
    };
    let measured = METRICS.iter().filter(|metric| metric.id != FIT_WORSE || fit.is_some());
    measured.map(|metric| (metric, value(metric.id))).collect()
}

/// Writes the graphs of a scenario, if it has any, for other programs: `SET.SCENARIO.dot`, `.gml`
/// and `.json`.
///
/// # Errors
/// The disk refuses.
pub(crate) fn export(set: &GraphSetScenario, folder: &Path) -> Result<()> {
    let bag = &set.discovered.worlds.bag;
    if bag.is_empty() {
        return Ok(());
    }
    let edges = bag.edge_shares(MemberWeighting::Dag);
    let drawing = GraphExport {
        name: &set.name,
        variables: &bag.variables,
        sensitive: bag.sensitive,
        edges: &edges,
    };
    let file = |ending: &str| folder.join(format!("{}.{ending}", set.name.replace('/', ".")));
    files::write(&file("dot"), drawing.to_dot())?;
    files::write(&file("gml"), drawing.to_gml())?;
    let mut copies = vec![0_u64; bag.dags.len()];
    bag.replicates.iter().flat_map(|r| &r.members).for_each(|&member| copies[member] += 1);
    let names = |list: Vec<(usize, usize)>| -> Vec<[&str; 2]> {
        list.into_iter()
            .map(|(u, v)| [bag.variables[u].as_str(), bag.variables[v].as_str()])
            .collect()
    };
    let graphs: Vec<_> = bag
        .dags
        .iter()
        .zip(&copies)
        .map(|(dag, n)| json!({"count": n, "edges": names(dag.edges())}))
        .collect();
    let shares: Vec<_> = edges
        .edges
        .iter()
        .map(|e| {
            json!({"cause": bag.variables[e.from], "effect": bag.variables[e.to],
            "share": e.share, "count": e.count})
        })
        .collect();
    let whole = json!({
        "name": set.name,
        "variables": bag.variables,
        "tiers": set.discovered.tiers,
        "sensitive": bag.variables[bag.sensitive],
        "edges": shares,
        "graphs": graphs,
    });
    files::write_json(&file("json"), &whole)
}

/// For each variable the share of graphs in which it is the attribute or follows from it.
fn descendant_shares(set: &GraphSetScenario) -> Vec<f64> {
    let bag = &set.discovered.worlds.bag;
    let mut counts = vec![0_u64; bag.variables.len()];
    let below: Vec<_> =
        bag.dags.iter().map(|dag| dag.descendants_and_self(bag.sensitive)).collect();
    for &member in bag.replicates.iter().flat_map(|r| &r.members) {
        below[member].into_iter().for_each(|v| counts[v] += 1);
    }
    counts.into_iter().map(|n| n as f64 / bag.len() as f64).collect()
}

fn by_edge(shares: &EdgeShares) -> BTreeMap<(usize, usize), f64> {
    shares.edges.iter().map(|edge| ((edge.from, edge.to), edge.share)).collect()
}

/// What a movement of 1 in an encoded column is in the column's own unit.
fn unit(variable: &EncodedVariable) -> f64 {
    match variable.form {
        VariableForm::Number { sd, .. } => sd,
        VariableForm::Levels { .. } => 1.0,
    }
}

/// The name of the level behind a column; empty for a number.
fn level_of(layout: &Layout, variable: &EncodedVariable, k: usize) -> String {
    let code = variable.indicator_levels().map(|shown| shown[k] as usize);
    code.and_then(|code| layout.features[variable.feature].levels.get(code).cloned())
        .unwrap_or_default()
}
