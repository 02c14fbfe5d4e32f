//! A bag of causal graphs that any other program found, read from GML or JSON.
//!
//! JSON: `{"graphs": [{"edges": [["sex", "job"]], "undirected": [], "count": 1}]}`; keys other than
//! `graphs` are ignored, so that the exports of another run can be read. GML: as many blocks
//! `graph [ ... ]` as there are graphs, each with `directed 1`, or with `directed 0`, whose edges
//! may point either way; nodes are called by `label`, or by `name`.
//!
//! The content of such files is not trusted: their size is limited, nothing is read by recursion,
//! and every error names its line.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde::Deserialize;

use crate::causal::bag::GivenGraphs;
use crate::causal::class::{DagSampling, ListedDags, list_or_sample};
use crate::causal::given::{GivenGraphError, given_class};
use crate::causal::knowledge::Knowledge;
use crate::causal::search::DagLimits;
use crate::error::{Fault, Result};
use crate::num::seed::RandomStream;
use crate::param::Count;

/// Bytes of the largest file.
pub(crate) const MAX_BYTES: u64 = 32 << 20;

/// A graph of the file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BagGraph {
    /// Edges, cause first.
    edges: Vec<(String, String)>,
    /// Edges of which the direction is open.
    #[serde(default)]
    undirected: Vec<(String, String)>,
    /// The number of times that the graph counts.
    #[serde(default = "Count::of::<1>")]
    count: Count,
}

/// The content of a JSON file.
#[derive(Deserialize)]
struct GraphFile {
    graphs: Vec<BagGraph>,
}

/// The graphs of a file, of which these are the bytes; GML unless it is called `.json`.
///
/// # Errors
/// The file is too large, contains no graph, or does not have the format of its name.
pub(crate) fn read_bag(path: &Path, bytes: &[u8]) -> Result<Vec<BagGraph>> {
    let fault = |what: String| Fault::new("bad-graphs", what).in_file(path);
    if bytes.len() as u64 > MAX_BYTES {
        let what = format!("the file of graphs has more than {} MiB", MAX_BYTES >> 20);
        return fault(what).fail("keep edges and names of variables alone");
    }
    let text = std::str::from_utf8(bytes).map_err(|_| {
        fault("the file of graphs is not text in UTF-8".to_owned()).hint("write it as GML or JSON")
    })?;
    let json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    let found = if json {
        let file = serde_json::from_str::<GraphFile>(text);
        file.map(|file| file.graphs).map_err(|cause| {
            let hint = "write `{\"graphs\": [{\"edges\": [[\"CAUSE\", \"EFFECT\"]]}]}`";
            fault(format!("the file holds no graphs in JSON: {cause}")).hint(hint)
        })?
    } else {
        GmlReader { text, at: 0, line: 1 }.graphs().map_err(|GmlError { line, what }| {
            let hint = "write `graph [ directed 1 node [ id 0 label \"CAUSE\" ] node [ id 1 label \
                        \"EFFECT\" ] edge [ source 0 target 1 ] ]`, one after the other";
            fault(format!("the file holds no graphs in GML: {what}"))
                .at_row(format!("line {line}"))
                .hint(hint)
        })?
    };
    if found.is_empty() {
        return fault("the file holds no graph".to_owned()).fail("write at least one");
    }
    Ok(found)
}

/// The DAGs of all graphs of a file, each as often as it counts.
///
/// # Errors
/// A graph is impossible over these variables, it contradicts the knowledge, or there are more than
/// allowed.
pub(crate) fn given_graphs(
    path: &Path,
    graphs: &[BagGraph],
    (variables, knowledge): (&[String], &Knowledge),
    limits: &DagLimits,
    stream: &mut RandomStream,
) -> Result<GivenGraphs> {
    let mut classes: BTreeMap<_, ListedDags> = BTreeMap::new();
    let mut all = ListedDags { size: Some(0), dags: Vec::new(), drawn: DagSampling::All };
    for (i, graph) in graphs.iter().enumerate() {
        let class = given_class(variables, &graph.edges, &graph.undirected, knowledge);
        let class = class.map_err(|bad| {
            let hint = match bad {
                GivenGraphError::UnknownVariable(_) => {
                    format!("the variables of the set are: {}", variables.join(", "))
                }
                GivenGraphError::ContradictsKnowledge(..) => {
                    "correct the knowledge, or leave the graph out".to_owned()
                }
                _ => "each graph must be acyclic, with one edge between two variables".to_owned(),
            };
            let what = format!("graph {} of the file is not valid: {bad}", i + 1);
            Fault::new("impossible-graph", what).in_file(path).hint(hint)
        })?;
        let listed = classes
            .entry(class)
            .or_insert_with_key(|class| list_or_sample(class, limits.per_class, stream));
        let times = graph.count.size();
        limits
            .check_total(all.dags.len().saturating_add(listed.dags.len().saturating_mul(times)))?;
        for _ in 0..times {
            all.dags.extend_from_slice(&listed.dags);
        }
        if listed.drawn != DagSampling::All {
            (all.size, all.drawn) = (None, listed.drawn);
        }
    }
    all.size = all.size.map(|_| all.dags.len() as u64);
    all.dags.sort_by_cached_key(crate::causal::graph::Dag::edges);
    Ok(GivenGraphs { n_classes: classes.len(), listed: all })
}

/// The error of a GML text.
struct GmlError {
    line: usize,
    what: String,
}

/// A token of GML.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GmlToken<'t> {
    /// A key, a number, or a text without quotes.
    Word(&'t str),
    /// A text between quotes, with its entities.
    Quoted(&'t str),
    Open,
    Close,
}

/// Reads GML from left to right.
struct GmlReader<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> GmlReader<'t> {
    fn wrong<T>(&self, what: impl Into<String>) -> Result<T, GmlError> {
        Err(GmlError { line: self.line, what: what.into() })
    }

    /// The next token; none at the end.
    fn token(&mut self) -> Result<Option<GmlToken<'t>>, GmlError> {
        loop {
            let rest = &self.text[self.at..];
            let Some(c) = rest.chars().next() else { return Ok(None) };
            let length = match c {
                '\n' => {
                    self.line += 1;
                    1
                }
                '#' => rest.find('\n').unwrap_or(rest.len()),
                c if c.is_whitespace() => c.len_utf8(),
                '[' | ']' => {
                    self.at += 1;
                    return Ok(Some(if c == '[' { GmlToken::Open } else { GmlToken::Close }));
                }
                '"' => {
                    let Some(end) = rest[1..].find('"') else {
                        return self.wrong("a text has no end");
                    };
                    self.at += end + 2;
                    let inside = &rest[1..=end];
                    self.line += inside.matches('\n').count();
                    return Ok(Some(GmlToken::Quoted(inside)));
                }
                _ => {
                    let ends = |c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"' | '#');
                    let word = &rest[..rest.find(ends).unwrap_or(rest.len())];
                    self.at += word.len();
                    return Ok(Some(GmlToken::Word(word)));
                }
            };
            self.at += length;
        }
    }

    /// The next key of a list; none at its end, or at the end of the text outside of all lists.
    fn key(&mut self, outside: bool) -> Result<Option<&'t str>, GmlError> {
        match self.token()? {
            Some(GmlToken::Word(key)) => Ok(Some(key)),
            Some(GmlToken::Close) if !outside => Ok(None),
            None if outside => Ok(None),
            None => self.wrong("a list has no end"),
            Some(_) => self.wrong("a key such as `graph`, `node` or `edge` is due"),
        }
    }

    fn open(&mut self, key: &str) -> Result<(), GmlError> {
        match self.token()? {
            Some(GmlToken::Open) => Ok(()),
            _ => self.wrong(format!("`[` is due after `{key}`")),
        }
    }

    /// A text or number.
    fn scalar(&mut self, key: &str) -> Result<String, GmlError> {
        match self.token()? {
            Some(GmlToken::Word(word)) => Ok(word.to_owned()),
            Some(GmlToken::Quoted(text)) => Ok(without_entities(text)),
            _ => self.wrong(format!("a value is due after `{key}`")),
        }
    }

    /// Passes over the value of a key, however deep its lists are.
    fn skip(&mut self, key: &str) -> Result<(), GmlError> {
        let mut depth = 0_usize;
        loop {
            match self.token()? {
                None => return self.wrong(format!("the value of `{key}` has no end")),
                Some(GmlToken::Open) => depth += 1,
                Some(GmlToken::Close) if depth == 0 => {
                    return self.wrong(format!("a value is due after `{key}`"));
                }
                Some(GmlToken::Close) => depth -= 1,
                Some(_) => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn graphs(mut self) -> Result<Vec<BagGraph>, GmlError> {
        let mut found = Vec::new();
        while let Some(key) = self.key(true)? {
            match key {
                "graph" => {
                    self.open(key)?;
                    found.push(self.graph()?);
                }
                _ => self.skip(key)?,
            }
        }
        Ok(found)
    }

    fn graph(&mut self) -> Result<BagGraph, GmlError> {
        let (mut directed, mut names, mut ends) = (None, HashMap::new(), Vec::new());
        while let Some(key) = self.key(false)? {
            match key {
                "directed" => {
                    directed = match self.scalar(key)?.as_str() {
                        "1" => Some(true),
                        "0" => Some(false),
                        other => return self.wrong(format!("`directed {other}` is not 0 or 1")),
                    };
                }
                "node" => {
                    let [id, label, name] = self.values(key, ["id", "label", "name"])?;
                    let (Some(id), Some(name)) = (id, label.or(name)) else {
                        return self.wrong("a node needs `id` and `label`");
                    };
                    if names.insert(id.clone(), name).is_some() {
                        return self.wrong(format!("two nodes have the id `{id}`"));
                    }
                }
                "edge" => {
                    let [source, target] = self.values(key, ["source", "target"])?;
                    let (Some(source), Some(target)) = (source, target) else {
                        return self.wrong("an edge needs `source` and `target`");
                    };
                    ends.push((self.line, source, target));
                }
                _ => self.skip(key)?,
            }
        }
        let Some(directed) = directed else {
            return self.wrong("a graph does not say whether its edges point: `directed 1` or 0");
        };
        let mut edges = Vec::with_capacity(ends.len());
        for (line, source, target) in ends {
            let name = |id: String| {
                let what = format!("no node has the id `{id}`");
                names.get(&id).cloned().ok_or(GmlError { line, what })
            };
            edges.push((name(source)?, name(target)?));
        }
        let (edges, undirected) = if directed { (edges, Vec::new()) } else { (Vec::new(), edges) };
        Ok(BagGraph { edges, undirected, count: Count::of::<1>() })
    }

    /// The values of these keys in the list of a key.
    fn values<const N: usize>(
        &mut self,
        list: &str,
        wanted: [&str; N],
    ) -> Result<[Option<String>; N], GmlError> {
        let mut found = [const { None }; N];
        self.open(list)?;
        while let Some(key) = self.key(false)? {
            match wanted.iter().position(|wanted| *wanted == key) {
                Some(at) => found[at] = Some(self.scalar(key)?),
                None => self.skip(key)?,
            }
        }
        Ok(found)
    }
}

/// A text of GML with its entities replaced by characters; an unknown entity is kept.
fn without_entities(text: &str) -> String {
    let (mut made, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('&') {
        made.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest.find(';').map(|end| &rest[1..end]);
        let is = |entity: &str| match entity {
            "quot" => Some('"'),
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "apos" => Some('\''),
            number => char::from_u32(number.strip_prefix('#')?.parse().ok()?),
        };
        match entity.and_then(|entity| Some((is(entity)?, entity.len() + 2))) {
            Some((character, length)) => {
                made.push(character);
                rest = &rest[length..];
            }
            None => {
                made.push('&');
                rest = &rest[1..];
            }
        }
    }
    made + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causal::tests::frame::StatedKnowledge;
    use crate::tests::Says;

    const GML: &str = "Creator \"any\"\n# two graphs\ngraph [\n  directed 1\n  node [ id 0 label \
                       \"sex\" graphics [ x 1.5 fill [ c \"]\" ] ] ]\n  node [ id 7 name \
                       \"gr&#246;&#223;e &amp; &x;\" ]\n  edge [ source 0 target 7 weight 0.5 ]\n]\n\
                       graph [ directed 0 node [ id 0 label a ] node [ id 1 label b ]\nedge [ \
                       target 1 source 0 ] ]";

    fn bag(name: &str, text: &str) -> Result<Vec<BagGraph>, String> {
        read_bag(Path::new(name), text.as_bytes()).map_err(|error| error.to_string())
    }

    fn pairs(edges: &[(&str, &str)]) -> Vec<(String, String)> {
        edges.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn graphs_are_read_in_both_forms() {
        let graph = |edges, undirected, count| BagGraph {
            edges: pairs(edges),
            undirected: pairs(undirected),
            count,
        };
        let expected = [
            graph(&[("sex", "größe & &x;")], &[], Count::ONE),
            graph(&[], &[("a", "b")], Count::ONE),
        ];
        assert_eq!(bag("bag.gml", GML).unwrap(), expected);
        let json = r#"{"name": "x", "graphs": [{"edges": [["a", "b"]], "count": 3},
                       {"edges": [], "undirected": [["b", "c"]]}]}"#;
        let three = Count::new(3).unwrap();
        let expected = [graph(&[("a", "b")], &[], three), graph(&[], &[("b", "c")], Count::ONE)];
        assert_eq!(bag("bag.JSON", json).unwrap(), expected);
    }

    #[test]
    fn hostile_files_are_refused_with_their_line() {
        let node = "graph [ directed 1 node [ id 0 label \"a\" ]";
        for (text, words) in [
            ("", "holds no graph"),
            ("graph", "`[` is due after `graph`"),
            ("graph [", "a list has no end"),
            ("graph [ node", "`[` is due after `node`"),
            ("]", "a key such as"),
            ("graph [ directed 2 ]", "`directed 2` is not 0 or 1"),
            ("graph [ directed [ ] ]", "a value is due after `directed`"),
            ("graph [ ]", "`directed 1` or 0"),
            ("graph [ directed 1 node [ id 0 ] ]", "`id` and `label`"),
            ("graph [ directed 1 node [ id 0 label \"a ] ]", "a text has no end"),
            ("graph [ directed 1\n\nedge [ source 0 ] ]", "line 3"),
            ("graph [ directed 1 edge [ source 0 target 1 ] ]", "no node has the id `0`"),
            ("graph [ x ]", "a value is due after `x`"),
            ("graph [ x [ [ [ ] ]", "no end"),
        ] {
            let said = bag("bag.gml", text).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
            said.says(&["error[bad-graphs]", "`bag.gml`"]);
        }
        let twice = format!("{node} node [ id 0 label \"b\" ] ]");
        bag("bag.gml", &twice).unwrap_err().says(&["two nodes have the id `0`"]);
        // Deep lists do not cause deep recursion.
        let deep = format!("x {}", "[ y ".repeat(300_000));
        bag("bag.gml", &deep).unwrap_err().says(&["no end"]);
        for text in ["", "[]", "{\"graphs\": [{}]}", "{\"graphs\": [{\"edges\": [[\"a\"]]}]}"] {
            let said = bag("bag.json", text).unwrap_err();
            said.says(&["no graphs in JSON", "line 1"]);
        }
        let said = bag("bag.json", &"[".repeat(300_000)).unwrap_err();
        said.says(&["error[bad-graphs]"]);
        let said = read_bag(Path::new("bag.gml"), b"graph [ \xff ]").unwrap_err().to_string();
        said.says(&["UTF-8"]);
        // Cut anywhere, a file is read or refused.
        for end in (0..=GML.len()).filter(|&end| GML.is_char_boundary(end)) {
            let _ = bag("bag.gml", &GML[..end]);
        }
    }

    #[test]
    fn each_graph_counts_with_all_its_directions() {
        let variables = ["a", "b", "c"].map(str::to_owned);
        let free = Knowledge::new(&variables, &StatedKnowledge::default().scenario()).unwrap();
        let forbidden = StatedKnowledge { forbidden: pairs(&[("a", "b")]), ..Default::default() };
        let forbidden = Knowledge::new(&variables, &forbidden.scenario()).unwrap();
        let limits = |total| DagLimits { per_class: 10, total };
        let graphs_of = |text: &str, knowledge: &Knowledge, total: usize| {
            let (path, graphs) = (Path::new("bag.json"), bag("bag.json", text).unwrap());
            let mut stream = RandomStream::new(1, "bag");
            given_graphs(path, &graphs, (&variables, knowledge), &limits(total), &mut stream)
                .map_err(|error| error.to_string())
        };
        // a - b - c has three DAGs: all but the collider.
        let text = r#"{"graphs": [{"edges": [["a", "b"]], "count": 2},
                       {"edges": [], "undirected": [["a", "b"], ["b", "c"]]},
                       {"edges": [["a", "b"]]}]}"#;
        let found = graphs_of(text, &free, 6).unwrap();
        assert_eq!((found.n_classes, found.listed.dags.len()), (2, 6));
        assert_eq!(found.listed.size, Some(6));
        graphs_of(text, &free, 5).unwrap_err().says(&["error[too-many-graphs]"]);
        let huge = r#"{"graphs": [{"edges": [], "count": 18446744073709551615}]}"#;
        graphs_of(huge, &free, 5).unwrap_err().says(&["error[too-many-graphs]"]);
        graphs_of(text, &forbidden, 6).unwrap_err().says(&["graph 1 of the file"]);
        let cycle = r#"{"graphs": [{"edges": []}, {"edges": [["a", "b"], ["b", "a"]]}]}"#;
        let said = graphs_of(cycle, &free, 6).unwrap_err();
        said.says(&["graph 2 of the file is not valid: there is more than one"]);
        let other = r#"{"graphs": [{"edges": [["a", "x"]]}]}"#;
        let said = graphs_of(other, &free, 6).unwrap_err();
        said.says(&["`x` is not a variable", "a, b, c"]);
    }
}
