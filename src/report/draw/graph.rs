//! The graphs of a scenario: a column of variables per tier, edges as wide as the share of graphs
//! that have them.
//!
//! Tiers run from left to right; variables without a tier have their own column before them. Inside
//! a column causes are above effects, according to most graphs: edges are taken by share, the most
//! frequent first, one that would close a cycle is left out, and variables are placed by depth,
//! then in the order of the search. An edge between columns is a curve from side to side. An edge
//! inside a column is an arc: downwards on the right, upwards on the left. So a drawing depends
//! only on the tables, and no arc runs through a box.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::report::draw::svg::{Svg, at};
use crate::report::page::words::cut;
use crate::report::read::graphs::{LEAST, ScenarioGraphs};

/// Height of a box and distance of two rows.
const BOX: f64 = 26.0;
const STEP: f64 = 50.0;

/// Margins to the left and above, and what is left free between the arcs of two columns.
const MARGIN: (f64, f64) = (8.0, 46.0);
const FREE: f64 = 56.0;

/// How far an arc reaches next to the boxes, and by how much farther for every row that it spans.
const ARC: (f64, f64) = (14.0, 15.0);

/// Width of a letter in a box, about, and the letters of a name that a box shows.
const LETTER: f64 = 6.4;
const LETTERS: usize = 20;

/// A variable on the drawing: its column, its row, and the box.
#[derive(Clone, Copy)]
struct VariableBox {
    column: usize,
    row: usize,
    x: f64,
    y: f64,
    width: f64,
}

/// A column: its tier and the variables from top to bottom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct TierColumn {
    tier: Option<i64>,
    variables: Vec<String>,
}

/// The graphs of a scenario as they are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct GraphChart {
    /// Unique on the page: letters, digits and hyphens.
    id: String,
    set: String,
    /// The variable of the attribute.
    own: String,
    /// From left to right.
    columns: Vec<TierColumn>,
    /// Cause, effect and the share of graphs with the edge; the strongest last, which lie on top.
    edges: Vec<(String, String, f64)>,
}

impl GraphChart {
    /// What is drawn of a scenario.
    pub(crate) fn of(scenario: &ScenarioGraphs) -> Self {
        let frequent = scenario.edges.iter().filter(|(_, edge)| edge.frequency >= LEAST);
        let mut edges: Vec<(String, String, f64)> = frequent
            .map(|((cause, effect), edge)| (cause.clone(), effect.clone(), edge.frequency))
            .collect();
        edges.sort_by(|a, b| a.2.total_cmp(&b.2).then((&a.0, &a.1).cmp(&(&b.0, &b.1))));
        GraphChart {
            id: format!("graph{}", scenario.id),
            set: scenario.set.clone(),
            own: scenario.sensitive.clone(),
            columns: columns(scenario),
            edges,
        }
    }

    /// The drawing; `tiers` are the words over a column without a tier, and before the number of one.
    pub(crate) fn drawn(&self, words: (&str, &str), [none, tier]: &[String; 2]) -> String {
        let GraphChart { id, columns, edges, .. } = self;
        let (places, width) = places(columns, edges);
        let height = places.values().map(|p| p.y + BOX).fold(0.0, f64::max);
        let mut svg = Svg::default();
        svg.raw(&format!(
            "<defs><marker id=\"{id}-a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" \
             markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" \
             orient=\"auto\"><path class=\"tip\" d=\"M0 0.5L8 4L0 7.5z\"/></marker></defs>"
        ));
        svg.text("head", MARGIN.0, 14.0, &self.set);
        let has_tiers = columns.iter().any(|column| column.tier.is_some());
        for column in columns.iter().filter(|_| has_tiers) {
            let first = column.variables.first().and_then(|name| places.get(name.as_str()));
            if let Some(place) = first {
                let label =
                    column.tier.map_or_else(|| none.clone(), |n| format!("{tier} {}", n + 1));
                svg.text("mid", place.x + place.width / 2.0, MARGIN.1 - 12.0, &label);
            }
        }
        for (cause, effect, share) in edges {
            if let (Some(a), Some(b)) = (places.get(cause.as_str()), places.get(effect.as_str())) {
                svg.raw(&edge(id, a, b, *share));
            }
        }
        for name in columns.iter().flat_map(|column| &column.variables) {
            let Some(place) = places.get(name.as_str()) else { continue };
            let class = if *name == self.own { "node.own" } else { "node" };
            svg.rect(class, [place.x, place.width], [place.y - BOX / 2.0, BOX]);
            svg.text("name.mid", place.x + place.width / 2.0, place.y + 4.0, &cut(name, LETTERS));
        }
        let attributes = format!("class=\"graph\" width=\"{}\" ", at(width));
        svg.scaled(&attributes, [width, height], id, words)
    }
}

/// The columns from left to right.
fn columns(scenario: &ScenarioGraphs) -> Vec<TierColumn> {
    let variables = scenario.variables();
    let depth = depths(scenario, &variables);
    let mut tiers: Vec<Option<i64>> = variables.iter().map(|v| v.1).collect();
    tiers.sort_unstable();
    tiers.dedup();
    let column = |tier: Option<i64>| {
        let mut members: Vec<usize> =
            (0..variables.len()).filter(|&v| variables[v].1 == tier).collect();
        members.sort_by_key(|&v| (depth[v], v));
        let names = members.into_iter().map(|v| variables[v].0.to_owned());
        TierColumn { tier, variables: names.collect() }
    };
    tiers.into_iter().map(column).collect()
}

/// For each variable the longest path to it inside its column.
fn depths(scenario: &ScenarioGraphs, variables: &[(&str, Option<i64>)]) -> Vec<usize> {
    let position: BTreeMap<&str, usize> =
        variables.iter().enumerate().map(|(v, (name, _))| (*name, v)).collect();
    let mut edges: Vec<(f64, usize, usize)> = Vec::new();
    for ((cause, effect), edge) in &scenario.edges {
        let (Some(&a), Some(&b)) = (position.get(cause.as_str()), position.get(effect.as_str()))
        else {
            continue;
        };
        if edge.frequency >= LEAST && variables[a].1 == variables[b].1 {
            edges.push((edge.frequency, a, b));
        }
    }
    edges.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
    let n = variables.len();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (_, a, b) in edges {
        if !reaches(&children, b, a) {
            children[a].push(b);
        }
    }
    let mut depth = vec![0; n];
    // No path has more than n steps.
    for _ in 0..n {
        for a in 0..n {
            for &b in &children[a] {
                depth[b] = depth[b].max(depth[a] + 1);
            }
        }
    }
    depth
}

fn reaches(children: &[Vec<usize>], from: usize, to: usize) -> bool {
    let (mut open, mut seen) = (vec![from], vec![false; children.len()]);
    while let Some(v) = open.pop() {
        if v == to {
            return true;
        }
        if !std::mem::replace(&mut seen[v], true) {
            open.extend(&children[v]);
        }
    }
    false
}

/// How far an arc over this many rows reaches.
fn reach(rows: usize) -> f64 {
    ARC.0 + ARC.1 * rows as f64
}

/// Where every variable stands, and the width of the whole.
fn places<'a>(
    columns: &'a [TierColumn],
    edges: &[(String, String, f64)],
) -> (BTreeMap<&'a str, VariableBox>, f64) {
    let tallest = columns.iter().map(|c| c.variables.len()).max().unwrap_or(1);
    let mut places = BTreeMap::new();
    let mut x = MARGIN.0;
    for (number, column) in columns.iter().enumerate() {
        let row = |name: &str| column.variables.iter().position(|v| *v == name);
        let rows = edges.iter().filter_map(|(a, b, _)| Some((row(a)?, row(b)?)));
        // A cubic curve goes three quarters of the way to its handles.
        let widest = |up: bool| {
            rows.clone()
                .filter(|(a, b)| (b < a) == up)
                .map(|(a, b)| 0.75 * reach(a.abs_diff(b)))
                .fold(0.0, f64::max)
        };
        let width = column
            .variables
            .iter()
            .map(|name| cut(name, LETTERS).chars().count() as f64 * LETTER + 16.0)
            .fold(0.0, f64::max);
        x += widest(true);
        let spare = (tallest - column.variables.len()) as f64 / 2.0;
        for (row, name) in column.variables.iter().enumerate() {
            let y = MARGIN.1 + BOX / 2.0 + (row as f64 + spare) * STEP;
            places.insert(name.as_str(), VariableBox { column: number, row, x, y, width });
        }
        x += width + widest(false) + if number + 1 < columns.len() { FREE } else { MARGIN.0 };
    }
    (places, x)
}

/// One edge as a curve.
fn edge(id: &str, a: &VariableBox, b: &VariableBox, share: f64) -> String {
    let dash = if share < 0.5 { r#" stroke-dasharray="5 4""# } else { "" };
    let (from, to, handles) = if a.column == b.column {
        // Arcs leave below the middle of a box on the right and enter above it, or the other way
        // round on the left.
        let (x, way) = if b.row > a.row { (a.x + a.width, 1.0) } else { (a.x, -1.0) };
        let out = x + way * reach(a.row.abs_diff(b.row));
        ((x, a.y + way * 5.0), (x + way, b.y - way * 5.0), (out, out))
    } else {
        let is_forward = b.column > a.column;
        let (start, end) = match is_forward {
            true => (a.x + a.width, b.x - 1.0),
            false => (a.x, b.x + b.width + 1.0),
        };
        let half = (end - start) / 2.0;
        ((start, a.y), (end, b.y), (start + half, end - half))
    };
    format!(
        "<path class=\"edge\" d=\"M{} {}C{} {} {} {} {} {}\" stroke-width=\"{}\"{dash} \
         marker-end=\"url(#{id}-a)\"/>",
        at(from.0),
        at(from.1),
        at(handles.0),
        at(from.1),
        at(handles.1),
        at(to.1),
        at(to.0),
        at(to.1),
        at(0.6 + 3.4 * share),
    )
}

#[cfg(test)]
mod tests {
    use super::{GraphChart, columns};
    use crate::report::read::graphs::ScenarioGraphs;
    use crate::table::{EdgeRow, NodeRow};
    use crate::tests::Says;

    fn scenario(edges: &[(&str, &str, f64)], tiers: [Option<i64>; 4]) -> ScenarioGraphs {
        let node = |(name, tier): (&str, Option<i64>)| NodeRow {
            node: name.into(),
            tier,
            ..NodeRow::default()
        };
        ScenarioGraphs {
            set: "graph/<low>".to_owned(),
            sensitive: "a".to_owned(),
            nodes: ["a", "b", "c", "d"].into_iter().zip(tiers).map(node).collect(),
            edges: edges
                .iter()
                .map(|(a, b, share)| {
                    let edge = EdgeRow { frequency: *share, ..EdgeRow::default() };
                    (((*a).to_owned(), (*b).to_owned()), edge)
                })
                .collect(),
            ..ScenarioGraphs::default()
        }
    }

    #[test]
    fn causes_stand_above_effects_as_most_graphs_have_it() {
        let edges = [
            ("b", "c", 0.4),
            ("c", "b", 0.6),
            ("b", "d", 0.9),
            ("d", "c", 0.3),
            ("a", "b", 1.0),
            ("a", "d", 0.01),
        ];
        let free = scenario(&edges, [None; 4]);
        let names = |s: &ScenarioGraphs| {
            columns(s).iter().map(|c| c.variables.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(names(&free), ["a c b d"]);
        let tiers = scenario(&edges, [Some(0), Some(1), Some(1), None]);
        assert_eq!(names(&tiers), ["d", "a", "c b"]);
        let drawn = |of: &ScenarioGraphs| {
            GraphChart::of(of).drawn(("x", ""), &["no tier", "tier"].map(str::to_owned))
        };
        let svg = drawn(&tiers);
        // One edge is too rare; of the others two are below one half.
        assert_eq!(
            (svg.matches(r#"class="edge""#).count(), svg.matches("stroke-dasharray").count()),
            (5, 2)
        );
        assert_eq!(
            (svg.matches("<rect").count(), svg.matches(r#"class="node own""#).count()),
            (4, 1)
        );
        svg.says(&["no tier", "tier 2", "graph/&lt;low&gt;"]);
        svg.lacks(&["<low>"]);
        drawn(&free).lacks(&["tier"]);
    }
}
