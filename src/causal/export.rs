//! The edges of a bag as a graph that other programs draw: DOT (Graphviz) and GML (Gephi, yEd,
//! networkx).
//!
//! Both hold every variable as a node and every directed edge that occurs, with the share of graphs
//! that have it; the sensitive attribute is marked. Edges are in the order of their variables, so
//! equal bags give equal bytes.

use std::fmt::Write as _;

use crate::causal::entropy::EdgeShares;

/// The edges of a bag with the names that a drawing needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GraphExport<'a> {
    /// Name of the graph.
    pub name: &'a str,
    /// Names of the variables.
    pub variables: &'a [String],
    /// Position of the sensitive attribute.
    pub sensitive: usize,
    /// The edges.
    pub edges: &'a EdgeShares,
}

impl GraphExport<'_> {
    /// As DOT: width of a line by share, dashed below one half.
    pub(crate) fn to_dot(self) -> String {
        let mut text = format!("digraph \"{}\" {{\n", quoted(self.name));
        for (v, name) in self.variables.iter().enumerate() {
            let mark = if v == self.sensitive { ", peripheries=2" } else { "" };
            let _ = writeln!(text, "  v{v} [label=\"{}\"{mark}];", quoted(name));
        }
        for edge in &self.edges.edges {
            let style = if edge.share < 0.5 { "dashed" } else { "solid" };
            let width = 0.5 + 2.5 * edge.share;
            let _ = writeln!(
                text,
                "  v{} -> v{} [label=\"{:.3}\", penwidth={width:.2}, style={style}, share={}, \
                 count={}];",
                edge.from, edge.to, edge.share, edge.share, edge.count
            );
        }
        text + "}\n"
    }

    /// As GML: the share is the `weight` of an edge.
    pub(crate) fn to_gml(self) -> String {
        let mut text = format!("graph [\n  directed 1\n  label \"{}\"\n", entity(self.name));
        for (v, name) in self.variables.iter().enumerate() {
            let _ = writeln!(
                text,
                "  node [ id {v} label \"{}\" sensitive {} ]",
                entity(name),
                u8::from(v == self.sensitive)
            );
        }
        for edge in &self.edges.edges {
            let _ = writeln!(
                text,
                "  edge [ source {} target {} weight {:?} count {} ]",
                edge.from, edge.to, edge.share, edge.count
            );
        }
        text + "]\n"
    }
}

/// Text between quotes in DOT.
fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}

/// Text between quotes in GML: ASCII with numbered entities.
fn entity(text: &str) -> String {
    text.chars().fold(String::new(), |mut made, c| {
        match c {
            '"' | '&' | '\u{7f}'.. | '\0'..'\u{20}' => made.push_str(&format!("&#{};", c as u32)),
            _ => made.push(c),
        }
        made
    })
}

#[cfg(test)]
mod tests {
    use super::GraphExport;
    use crate::causal::entropy::edge_shares;
    use crate::causal::graph::Dag;

    #[test]
    fn every_variable_and_edge_is_there() {
        let variables = ["sex", "a \"b\"", "größe"].map(str::to_owned);
        let dags = [
            Dag::from_edges(3, &[(0, 1)]).expect("acyclic"),
            Dag::from_edges(3, &[(0, 1), (1, 2)]).expect("acyclic"),
        ];
        let edges = edge_shares([(&dags[0], 3, 1.0), (&dags[1], 1, 1.0)].into_iter());
        let drawing =
            GraphExport { name: "low", variables: &variables, sensitive: 0, edges: &edges };
        let dot = "digraph \"low\" {\n  v0 [label=\"sex\", peripheries=2];\n  v1 [label=\"a \
                   \\\"b\\\"\"];\n  v2 [label=\"größe\"];\n  v0 -> v1 [label=\"1.000\", \
                   penwidth=3.00, style=solid, share=1, count=4];\n  v1 -> v2 [label=\"0.250\", \
                   penwidth=1.12, style=dashed, share=0.25, count=1];\n}\n";
        assert_eq!(drawing.to_dot(), dot);
        let gml = "graph [\n  directed 1\n  label \"low\"\n  node [ id 0 label \"sex\" sensitive 1 \
                   ]\n  node [ id 1 label \"a &#34;b&#34;\" sensitive 0 ]\n  node [ id 2 label \
                   \"gr&#246;&#223;e\" sensitive 0 ]\n  edge [ source 0 target 1 weight 1.0 count \
                   4 ]\n  edge [ source 1 target 2 weight 0.25 count 1 ]\n]\n";
        assert_eq!(drawing.to_gml(), gml);
    }
}
