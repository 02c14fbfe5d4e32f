//! Reads the classes of an ONNX model and the levels that it knows from its graph.
//!
//! Classes are those of the classifier, or of the ZipMap, that an output comes from; in models
//! whose classifier is made of plain operators, those that its label is looked up in. Levels are
//! those of the encoders that a column of an input reaches unchanged: through joins, selections,
//! changes of shape and casts. If a column is changed by a computation before that, nothing is
//! known about it.
//! Source: onnx.proto of ONNX 1.18; the operators of `ai.onnx.ml` (OneHotEncoder, LabelEncoder,
//! CategoryMapper, ArrayFeatureExtractor, ZipMap, the classifiers).

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use serde_json::Value;

use super::protobuf::{ProtobufFile, ProtobufValue};

/// Most nodes of a graph that is read.
const MAX_NODES: usize = 1 << 20;

/// Largest tensor that is read, in bytes: a list of positions or classes.
const MAX_TENSOR: u64 = 1 << 20;

/// The attributes that are read.
const READ: &str = "\
    axis cats_int64s cats_strings classlabels_int64s classlabels_ints classlabels_strings \
    keys_floats keys_int64s keys_strings keys_tensor split value";

fn is_read(attribute: &str) -> bool {
    READ.split(' ').any(|name| name == attribute)
}

/// A list of values: of an attribute or of a tensor.
#[derive(Debug, Clone, Default, PartialEq)]
struct OnnxList {
    integers: Vec<i64>,
    floats: Vec<f32>,
    texts: Vec<String>,
}

impl OnnxList {
    fn values(&self) -> Vec<Value> {
        let integers = self.integers.iter().map(|&x| Value::from(x));
        let floats = self.floats.iter().map(|&x| Value::from(f64::from(x)));
        let texts = self.texts.iter().map(|x| Value::from(x.as_str()));
        integers.chain(floats).chain(texts).collect()
    }
}

/// An operation with what of it is read.
#[derive(Debug, Clone, Default, PartialEq)]
struct OnnxNode {
    operator: String,
    inputs: Vec<String>,
    outputs: Vec<String>,
    attributes: BTreeMap<String, OnnxList>,
}

impl OnnxNode {
    fn attribute(&self, names: &[&str]) -> Option<&OnnxList> {
        names.iter().find_map(|name| self.attributes.get(*name))
    }

    fn axis(&self) -> i64 {
        self.attribute(&["axis"]).and_then(|axis| axis.integers.first()).copied().unwrap_or(0)
    }

    /// Whether it works along the columns of a table.
    fn is_along_columns(&self) -> bool {
        matches!(self.axis(), 1 | -1)
    }

    /// Whether it puts tables next to each other.
    fn joins_columns(&self) -> bool {
        self.operator == "FeatureVectorizer" || self.is_along_columns()
    }
}

/// A column of an input: the name of the input, and the position.
pub(super) type InputColumn = (String, usize);

/// The main graph of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OnnxGraph {
    nodes: Vec<OnnxNode>,
    constants: BTreeMap<String, OnnxList>,
}

impl OnnxGraph {
    /// Reads it.
    ///
    /// # Errors
    /// The file cannot be read, or is not the protobuf of a model; in words.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let (mut file, end) = ProtobufFile::open(path)?;
        let mut graph = OnnxGraph::default();
        file.fields(end, |file, number, value| match (number, value) {
            (7, ProtobufValue::Bytes(end)) => graph.add(file, end),
            _ => Ok(()),
        })?;
        Ok(graph)
    }

    fn add(&mut self, file: &mut ProtobufFile, end: u64) -> Result<(), String> {
        file.fields(end, |file, number, value| match (number, value) {
            (1, ProtobufValue::Bytes(end)) => {
                if self.nodes.len() == MAX_NODES {
                    return Err("it has too many nodes".to_owned());
                }
                let node = node(file, end)?;
                if let ("Constant", [name], Some(value)) =
                    (node.operator.as_str(), &node.outputs[..], node.attribute(&["value"]))
                {
                    self.constants.insert(name.clone(), value.clone());
                }
                self.nodes.push(node);
                Ok(())
            }
            (5, ProtobufValue::Bytes(end)) => {
                let (name, list) = tensor(file, end)?;
                if list != OnnxList::default() {
                    self.constants.insert(name, list);
                }
                Ok(())
            }
            _ => Ok(()),
        })
    }

    /// The nodes that a value depends on, the nearest first.
    fn behind(&self, name: &str) -> Vec<&OnnxNode> {
        let by_output: BTreeMap<&str, usize> = self
            .nodes
            .iter()
            .enumerate()
            .flat_map(|(at, node)| node.outputs.iter().map(move |output| (output.as_str(), at)))
            .collect();
        let (mut done, mut open, mut found) = (BTreeSet::new(), VecDeque::from([name]), Vec::new());
        while let Some(value) = open.pop_front() {
            let Some(&at) = by_output.get(value) else { continue };
            if done.insert(at) {
                found.push(&self.nodes[at]);
                open.extend(self.nodes[at].inputs.iter().map(String::as_str));
            }
        }
        found
    }

    /// The classes of an output in the order of its columns, of which there are `width` where that
    /// is known; none where the file names none. Labels are looked up in constants: `others` are
    /// the other outputs, among which the label is.
    pub(super) fn classes(
        &self,
        output: &str,
        width: Option<usize>,
        others: &[&str],
    ) -> Option<Vec<Value>> {
        const LABELS: [&str; 3] = ["classlabels_strings", "classlabels_int64s", "classlabels_ints"];
        let fits =
            |classes: &Vec<Value>| width.map_or(classes.len() > 1, |width| classes.len() == width);
        let own = self.behind(output);
        let named =
            own.iter().find_map(|node| Some(node.attribute(&LABELS)?.values()).filter(fits));
        let looked_up = || {
            others.iter().flat_map(|other| self.behind(other)).find_map(|node| {
                let is_lookup =
                    matches!(node.operator.as_str(), "ArrayFeatureExtractor" | "Gather");
                let name = node.inputs.first().filter(|_| is_lookup)?;
                Some(self.constants.get(name)?.values()).filter(fits)
            })
        };
        named.or_else(looked_up)
    }

    /// The levels that encoders know, by the column of an input that reaches them. `widths` has the
    /// number of columns of each input.
    pub(super) fn levels(&self, widths: &[(&str, usize)]) -> BTreeMap<InputColumn, Vec<Value>> {
        let columns = |(name, width): &(&str, usize)| {
            (0..*width).map(|at| Some(((*name).to_owned(), at))).collect()
        };
        let mut known: BTreeMap<String, Vec<Option<InputColumn>>> =
            widths.iter().map(|input| (input.0.to_owned(), columns(input))).collect();
        let mut levels: BTreeMap<InputColumn, Vec<Value>> = BTreeMap::new();
        // Nodes are in the order in which they are computed.
        for node in &self.nodes {
            let input = |at: usize| node.inputs.get(at).and_then(|name| known.get(name)).cloned();
            let encoder = match node.operator.as_str() {
                "OneHotEncoder" => node.attribute(&["cats_strings", "cats_int64s"]),
                "LabelEncoder" => {
                    node.attribute(&["keys_strings", "keys_int64s", "keys_floats", "keys_tensor"])
                }
                "CategoryMapper" => node.attribute(&["cats_strings"]),
                _ => None,
            };
            if let Some(list) = encoder {
                if let Some([Some(column)]) = input(0).as_deref() {
                    let found = list.values();
                    levels
                        .entry(column.clone())
                        .and_modify(|levels| levels.retain(|level| found.contains(level)))
                        .or_insert(found);
                }
                continue;
            }
            let mut outputs: Vec<Vec<Option<InputColumn>>> = Vec::new();
            match node.operator.as_str() {
                "Identity" | "Cast" | "Flatten" => outputs.extend(input(0)),
                "Reshape" | "Squeeze" | "Unsqueeze" => {
                    outputs.extend(input(0).filter(|columns| columns.len() == 1));
                }
                "Concat" | "FeatureVectorizer" if node.joins_columns() => {
                    let parts: Option<Vec<_>> = (0..node.inputs.len()).map(input).collect();
                    outputs.extend(parts.map(|parts| parts.concat()));
                }
                "ArrayFeatureExtractor" => outputs.extend(self.selected(node, input(0))),
                "Gather" if node.is_along_columns() => {
                    outputs.extend(self.selected(node, input(0)));
                }
                "Split" if node.is_along_columns() => {
                    outputs = input(0).and_then(|all| self.split(node, &all)).unwrap_or_default();
                }
                _ => {}
            }
            for (name, columns) in node.outputs.iter().zip(outputs) {
                known.insert(name.clone(), columns);
            }
        }
        levels
    }

    /// The columns that a constant list of positions selects.
    fn selected(
        &self,
        node: &OnnxNode,
        columns: Option<Vec<Option<InputColumn>>>,
    ) -> Option<Vec<Option<InputColumn>>> {
        let (columns, positions) = (columns?, self.constants.get(node.inputs.get(1)?)?);
        let column = |&at: &i64| {
            let n = i64::try_from(columns.len()).ok()?;
            columns.get(usize::try_from(if at < 0 { at + n } else { at }).ok()?).cloned()
        };
        positions.integers.iter().map(column).collect()
    }

    /// The parts that a table is cut into.
    fn split(
        &self,
        node: &OnnxNode,
        columns: &[Option<InputColumn>],
    ) -> Option<Vec<Vec<Option<InputColumn>>>> {
        let named = node.inputs.get(1).and_then(|name| self.constants.get(name));
        let sizes: Vec<usize> = match named.or_else(|| node.attribute(&["split"])) {
            Some(list) => {
                list.integers.iter().map(|&n| usize::try_from(n).ok()).collect::<Option<_>>()?
            }
            None => {
                let n = node.outputs.len().max(1);
                vec![columns.len().is_multiple_of(n).then_some(columns.len() / n)?; n]
            }
        };
        let (mut rest, mut parts) = (columns, Vec::new());
        for size in sizes {
            let (part, after) = rest.split_at_checked(size)?;
            parts.push(part.to_vec());
            rest = after;
        }
        Some(parts)
    }
}

fn node(file: &mut ProtobufFile, end: u64) -> Result<OnnxNode, String> {
    let mut node = OnnxNode::default();
    file.fields(end, |file, number, value| {
        let ProtobufValue::Bytes(end) = value else { return Ok(()) };
        match number {
            1 => node.inputs.push(file.text(end)?),
            2 => node.outputs.push(file.text(end)?),
            4 => node.operator = file.text(end)?,
            5 => {
                if let Some((name, list)) = attribute(file, end)? {
                    node.attributes.insert(name, list);
                }
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(node)
}

/// An attribute, if it is one that is read: its name comes first.
fn attribute(file: &mut ProtobufFile, end: u64) -> Result<Option<(String, OnnxList)>, String> {
    let (mut name, mut list) = (String::new(), OnnxList::default());
    file.fields(end, |file, number, value| {
        match (number, value) {
            (1, ProtobufValue::Bytes(end)) => name = file.text(end)?,
            _ if !is_read(&name) => {}
            (3, ProtobufValue::Varint(value)) => list.integers.push(value.cast_signed()),
            (5, ProtobufValue::Bytes(end)) => list = tensor(file, end)?.1,
            (7, value) => file.floats(value, &mut list.floats)?,
            (8, value) => file.integers(value, &mut list.integers)?,
            (9, ProtobufValue::Bytes(end)) => list.texts.push(file.text(end)?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(is_read(&name).then_some((name, list)))
}

/// The name of a tensor and its values, if they are whole numbers or texts that are in the file.
fn tensor(file: &mut ProtobufFile, end: u64) -> Result<(String, OnnxList), String> {
    const INT64: u64 = 7;
    const TEXT: u64 = 8;
    let (mut name, mut kind, mut list) = (String::new(), 0, OnnxList::default());
    file.fields(end, |file, number, value| {
        match (number, value) {
            (2, ProtobufValue::Varint(value)) => kind = value,
            (6, ProtobufValue::Bytes(end)) if kind == TEXT => list.texts.push(file.text(end)?),
            (7, value) if kind == INT64 => file.integers(value, &mut list.integers)?,
            (8, ProtobufValue::Bytes(end)) => name = file.text(end)?,
            (9, ProtobufValue::Bytes(end)) if kind == INT64 && file.left(end) <= MAX_TENSOR => {
                let bytes = file.bytes(end)?;
                let numbers = bytes
                    .chunks_exact(8)
                    .map(|part| i64::from_le_bytes(part.try_into().unwrap_or_default()));
                list.integers.extend(numbers);
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok((name, list))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{OnnxGraph, OnnxList, OnnxNode};

    fn node(operator: &str, inputs: &[&str], outputs: &[&str]) -> OnnxNode {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        OnnxNode {
            operator: operator.to_owned(),
            inputs: owned(inputs),
            outputs: owned(outputs),
            ..OnnxNode::default()
        }
    }

    fn with(mut node: OnnxNode, name: &str, list: OnnxList) -> OnnxNode {
        node.attributes.insert(name.to_owned(), list);
        node
    }

    fn integers(integers: &[i64]) -> OnnxList {
        OnnxList { integers: integers.to_vec(), ..OnnxList::default() }
    }

    fn texts(texts: &[&str]) -> OnnxList {
        OnnxList { texts: texts.iter().map(|&t| t.to_owned()).collect(), ..OnnxList::default() }
    }

    /// Columns keep their names through joins, selections and changes of shape, and lose them where
    /// they are computed with.
    #[test]
    fn levels_belong_to_the_columns_that_reach_an_encoder() {
        let along = integers(&[1]);
        let mut graph = OnnxGraph {
            nodes: vec![
                with(node("Concat", &["a", "b"], &["all"]), "axis", along.clone()),
                node("ArrayFeatureExtractor", &["all", "last"], &["b2"]),
                node("Reshape", &["b2", "shape"], &["b3"]),
                with(node("OneHotEncoder", &["b3"], &["hot"]), "cats_strings", texts(&["x", "y"])),
                with(node("Split", &["t"], &["t1", "t2"]), "axis", along),
                with(node("LabelEncoder", &["t2"], &["code"]), "keys_int64s", integers(&[3, 5])),
                node("StringNormalizer", &["a"], &["small"]),
                with(node("OneHotEncoder", &["small"], &["hot2"]), "cats_strings", texts(&["z"])),
            ],
            ..OnnxGraph::default()
        };
        graph.constants.insert("last".to_owned(), integers(&[1]));
        let found = graph.levels(&[("a", 1), ("b", 1), ("t", 4)]);
        // A label encoder of two columns says nothing about one.
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("b".to_owned(), 0)], [json!("x"), json!("y")]);
        let found = graph.levels(&[("a", 1), ("b", 1), ("t", 2)]);
        assert_eq!(found[&("t".to_owned(), 1)], [json!(3), json!(5)]);
    }

    #[test]
    fn classes_are_those_that_the_output_comes_from() {
        let classifier = with(
            node("LinearClassifier", &["x"], &["label", "p"]),
            "classlabels_ints",
            integers(&[1, 2]),
        );
        let zip = with(node("ZipMap", &["p"], &["map"]), "classlabels_strings", texts(&["n", "y"]));
        let graph = OnnxGraph { nodes: vec![classifier, zip], ..OnnxGraph::default() };
        let classes = |graph: &OnnxGraph, output: &str| -> Option<Vec<Value>> {
            graph.classes(output, Some(2), &["label"])
        };
        assert_eq!(classes(&graph, "map"), Some(vec![json!("n"), json!("y")]));
        assert_eq!(classes(&graph, "p"), Some(vec![json!(1), json!(2)]));
        assert_eq!(graph.classes("p", Some(3), &["label"]), None, "not of so many columns");
        assert_eq!(graph.classes("other", None, &[]), None);
        // A classifier of plain operators: its label is looked up in a list.
        let mut plain = OnnxGraph {
            nodes: vec![
                node("Softmax", &["x"], &["p"]),
                node("ArgMax", &["p"], &["best"]),
                node("ArrayFeatureExtractor", &["classes", "best"], &["label"]),
            ],
            ..OnnxGraph::default()
        };
        plain.constants.insert("classes".to_owned(), texts(&["lost", "repaid"]));
        assert_eq!(classes(&plain, "p"), Some(vec![json!("lost"), json!("repaid")]));
    }
}
