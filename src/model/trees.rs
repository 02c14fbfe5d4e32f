//! Gradient boosting and random forests: the score of a row from the trees.
//!
//! Trees are grown by LightGBM (`lightgbm`) on the one encoding of rows (`encode`) and stored in
//! its text format. They are evaluated here and not by the library: its handle of a model cannot be
//! shared by threads, and its probabilities come from the `exp` of the C library, which differs in
//! the last bit from machine to machine. Each inner node tests whether an encoded value, in single
//! precision as in training, is at most its threshold. Boosting sums the leaves in the order of the
//! trees and gives 1 / (1 + exp(-sum)); a forest gives the mean of the leaves, each the share of
//! positive training rows in it.
//! Rows go through a tree in blocks, while it is in the processor's cache. In a tree of few leaves
//! every node tests all rows of the block, which the processor does several rows at a time, and
//! removes the leaves on its other side; one is left. In larger trees rows walk down.
//! Cost: a row costs the nodes of each small tree, the depth of each large one. Expected values of
//! the tests come from LightGBM's own predictions.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::data::FeatureRows;
use crate::error::Result;
use crate::model::encode::FeatureEncoder;
use crate::model::logistic::sigmoid;
use crate::model::{Scorer, TrainedModel};

/// Rows that go through a tree together.
const BLOCK_ROWS: usize = 64;

/// How the leaves of the trees combine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TreeEnsemble {
    /// Log odds: the sum of the leaves.
    Boosting,
    /// A probability: the mean of the leaves.
    Forest,
}

/// The artifact: what is needed to build the model again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TreesArtifact {
    pub(super) ensemble: TreeEnsemble,
    pub(super) encoder: FeatureEncoder,
    /// The trees as LightGBM writes them; `Column_k` is the k-th encoded column.
    pub(super) lightgbm: String,
}

/// Trained trees.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TreesModel {
    artifact: TreesArtifact,
    trees: Vec<DecisionTree>,
}

#[derive(Debug, Clone, PartialEq)]
struct DecisionTree {
    nodes: Vec<DecisionNode>,
    leaves: Vec<f64>,
    /// For each node the leaves, as bits, that are still possible for rows that are at most the
    /// threshold, and for the others. Empty where the leaves are more than the bits.
    possible: Vec<[u32; 2]>,
}

/// An inner node: 16 bytes. A child below 0 is the leaf `-1 - child`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct DecisionNode {
    threshold: f32,
    column: u32,
    /// The child of rows that are at most the threshold, and that of the others.
    children: [i32; 2],
}

impl TreesModel {
    /// Reads the artifact back.
    ///
    /// # Errors
    /// The text is no such artifact; the error says why.
    pub(crate) fn from_json(text: &str) -> Result<TreesModel, String> {
        let artifact: TreesArtifact = serde_json::from_str(text).map_err(|e| e.to_string())?;
        TreesModel::new(artifact)
    }

    /// The model of LightGBM's text.
    ///
    /// # Errors
    /// The text is not what LightGBM writes for such a model; the error says why.
    pub(super) fn new(artifact: TreesArtifact) -> Result<TreesModel, String> {
        let mut trees = parse_trees(&artifact.lightgbm, artifact.encoder.width())?;
        if trees.is_empty() {
            return Err("the text of LightGBM holds no tree".to_owned());
        }
        // LightGBM puts the threshold of a 0/1 column just above 0. For a row that equals one half;
        // for a counterfactual whose indicator is 0.01 it does not.
        let indicators = artifact.encoder.indicators();
        for node in trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
            if indicators[node.column as usize] && (0.0..1.0).contains(&node.threshold) {
                node.threshold = 0.5;
            }
        }
        // A forest's tree without any split holds no share of positive rows, so it is dropped.
        if artifact.ensemble == TreeEnsemble::Forest
            && trees.iter().any(|tree| !tree.nodes.is_empty())
        {
            trees.retain(|tree| !tree.nodes.is_empty());
        }
        Ok(TreesModel { artifact, trees })
    }

    /// Number of trees, at most the number asked for.
    ///
    /// Where none of the columns that a tree drew can be split, boosting ends, and a forest drops
    /// the tree.
    pub(crate) fn n_trees(&self) -> usize {
        self.trees.len()
    }

    /// Whether every row gets the same score.
    pub(crate) fn is_constant(&self) -> bool {
        self.trees.iter().all(|tree| tree.nodes.is_empty())
    }

    /// The probabilities of at most [`BLOCK_ROWS`] encoded rows, given column by column.
    fn probabilities(&self, rows: &[f32], n: usize) -> impl Iterator<Item = f64> {
        let mut sums = [0.0; BLOCK_ROWS];
        for tree in &self.trees {
            tree.add_leaves(rows, &mut sums[..n]);
        }
        let probability = |sum: f64| match self.artifact.ensemble {
            TreeEnsemble::Boosting => sigmoid(sum),
            // Rounding may put the mean of shares slightly above 1.
            TreeEnsemble::Forest => (sum / self.trees.len() as f64).clamp(0.0, 1.0),
        };
        sums.into_iter().take(n).map(probability)
    }
}

impl Scorer for TreesModel {
    fn score(&self, rows: &FeatureRows, scores: &mut Vec<f64>) -> Result<()> {
        let width = self.encoder().width();
        let mut block = vec![0.0_f32; BLOCK_ROWS * width];
        for first in (0..rows.n).step_by(BLOCK_ROWS) {
            let n = BLOCK_ROWS.min(rows.n - first);
            block.fill(0.0);
            self.encoder().each_entry(rows, first..first + n, |k, column, value| {
                block[column * n + k] = to_single(value);
            });
            scores.extend(self.probabilities(&block, n));
        }
        Ok(())
    }
}

impl TrainedModel for TreesModel {
    fn encoder(&self) -> &FeatureEncoder {
        &self.artifact.encoder
    }

    fn score_encoded(&self, encoded: &[f64]) -> f64 {
        let row: Vec<f32> = encoded.iter().map(|&value| to_single(value)).collect();
        self.probabilities(&row, 1).next().unwrap_or(f64::NAN)
    }

    fn to_json(&self) -> serde_json::Value {
        json!(self.artifact)
    }
}

/// The single precision in which trees read encoded values, in training as in scoring.
pub(super) fn to_single(value: f64) -> f32 {
    (value as f32).clamp(f32::MIN, f32::MAX)
}

/// The largest number in single precision that is not above a threshold: a value in single
/// precision is at most the one where it is at most the other.
fn threshold_below(threshold: f64) -> f32 {
    let near = threshold as f32;
    if f64::from(near) <= threshold { near } else { near.next_down() }
}

impl DecisionTree {
    /// Adds the leaf of each row to its sum; `rows` holds column after column.
    fn add_leaves(&self, rows: &[f32], sums: &mut [f64]) {
        let n = sums.len();
        if self.nodes.is_empty() {
            sums.iter_mut().for_each(|sum| *sum += self.leaves[0]);
            return;
        }
        if n > 1 && !self.possible.is_empty() {
            let mut possible = [u32::MAX; BLOCK_ROWS];
            let possible = &mut possible[..n];
            for (node, &[below, above]) in self.nodes.iter().zip(&self.possible) {
                let threshold = node.threshold;
                let values = &rows[node.column as usize * n..][..n];
                for (possible, &value) in possible.iter_mut().zip(values) {
                    *possible &= if value <= threshold { below } else { above };
                }
            }
            for (sum, possible) in sums.iter_mut().zip(&*possible) {
                *sum += self.leaves[possible.trailing_zeros() as usize];
            }
            return;
        }
        // All rows go down together: the steps of one do not wait for those of another.
        let mut at = [0_i32; BLOCK_ROWS];
        let at = &mut at[..n];
        let mut any_inside = true;
        while any_inside {
            any_inside = false;
            for (k, at) in at.iter_mut().enumerate() {
                if let Ok(inside) = usize::try_from(*at) {
                    let node = &self.nodes[inside];
                    let is_below = rows[node.column as usize * n + k] <= node.threshold;
                    *at = node.children[usize::from(!is_below)];
                    any_inside = true;
                }
            }
        }
        for (sum, &at) in sums.iter_mut().zip(&*at) {
            // A child below 0 is the leaf of the opposite number, less one.
            *sum += self.leaves[!at as usize];
        }
    }
}

/// Parses LightGBM's text format, version 4.
///
/// Each tree is a block that begins with `DecisionTree=k`, with one `key=value` per line.
fn parse_trees(text: &str, width: usize) -> Result<Vec<DecisionTree>, String> {
    if !text.starts_with("tree\nversion=v4\n") {
        return Err("not LightGBM's text of version v4".to_owned());
    }
    let (Some(start), Some(end)) = (text.find("\nTree="), text.find("\nend of trees")) else {
        return Err("LightGBM's text holds no trees".to_owned());
    };
    let blocks = text.get(start..end).unwrap_or_default().split("\nTree=").skip(1).enumerate();
    blocks
        .map(|(k, block)| parse_tree(block, width).map_err(|why| format!("tree {k}: {why}")))
        .collect()
}

fn parse_tree(block: &str, width: usize) -> Result<DecisionTree, String> {
    let leaves: Vec<f64> = numbers(block, "leaf_value")?;
    let thresholds: Vec<f64> =
        if leaves.len() > 1 { numbers(block, "threshold")? } else { Vec::new() };
    let n = thresholds.len();
    let mut nodes = Vec::with_capacity(n);
    if n > 0 {
        let columns: Vec<usize> = numbers(block, "split_feature")?;
        let decisions: Vec<u8> = numbers(block, "decision_type")?;
        let (left, right): (Vec<i64>, Vec<i64>) =
            (numbers(block, "left_child")?, numbers(block, "right_child")?);
        if [columns.len(), decisions.len(), left.len(), right.len()] != [n; 4] {
            return Err("its lists have different lengths".to_owned());
        }
        // Bit 0 is a split by category, bits 2 and 3 the treatment of missing values: the encoding
        // has neither.
        if decisions.iter().any(|d| d & 0b1101 != 0) {
            return Err("splits by category or by missing values".to_owned());
        }
        if columns.iter().any(|&c| c >= width) {
            return Err(format!("splits on a column that the {width} encoded columns do not have"));
        }
        let child = |child: i64| i32::try_from(child).map_err(|_| "too many nodes".to_owned());
        for k in 0..n {
            nodes.push(DecisionNode {
                threshold: threshold_below(thresholds[k]),
                column: u32::try_from(columns[k]).map_err(|_| "too many columns".to_owned())?,
                children: [child(left[k])?, child(right[k])?],
            });
        }
    }
    // LightGBM numbers a node after its parent, so a walk always ends.
    let sound = |k: usize, child: i32| match usize::try_from(child) {
        Ok(node) => node > k && node < n,
        Err(_) => (!child as usize) < leaves.len(),
    };
    let children: BTreeSet<i32> = nodes.iter().flat_map(|node| node.children).collect();
    if leaves.len() != n + 1
        || children.len() != 2 * n
        || !nodes.iter().enumerate().all(|(k, n)| n.children.iter().all(|&child| sound(k, child)))
    {
        return Err("its nodes do not make a tree".to_owned());
    }
    if leaves.iter().chain(&thresholds).any(|x| x.is_nan())
        || leaves.iter().any(|x| x.is_infinite())
    {
        return Err("a leaf or threshold is not a number".to_owned());
    }
    Ok(DecisionTree { possible: possible_leaves(&nodes), nodes, leaves })
}

/// For each node the leaves that are possible on either side of its threshold; empty where there
/// are more than 32.
fn possible_leaves(nodes: &[DecisionNode]) -> Vec<[u32; 2]> {
    if nodes.len() >= u32::BITS as usize {
        return Vec::new();
    }
    // The leaves below each node, from the last one, whose children are leaves.
    let mut below = vec![[0_u32; 2]; nodes.len()];
    for (k, node) in nodes.iter().enumerate().rev() {
        below[k] = node.children.map(|child| match usize::try_from(child) {
            Ok(node) => below[node][0] | below[node][1],
            Err(_) => 1 << !child,
        });
    }
    below.iter().map(|[left, right]| [!right, !left]).collect()
}

/// The numbers of a line `key=...`.
fn numbers<T: std::str::FromStr>(block: &str, key: &str) -> Result<Vec<T>, String> {
    let mut lines = block.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let line = lines.next().ok_or_else(|| format!("lacks `{key}`"))?;
    line.split_ascii_whitespace()
        .map(|word| word.parse().map_err(|_| format!("`{word}` in `{key}` is not a number")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_ROWS, DecisionTree, parse_trees, threshold_below, to_single};
    use crate::tests::Says;

    const HEAD: &str = "tree\nversion=v4\nnum_class=1\n";

    fn tree(left: &str, right: &str) -> String {
        format!(
            "{HEAD}\nTree=0\nnum_leaves=3\nsplit_feature=1 0\nthreshold=0.5 -1\ndecision_type=2 2\n\
             left_child={left}\nright_child={right}\n\
             leaf_value=0.1 0.2 0.3\n\n\nend of trees\n"
        )
    }

    #[test]
    fn a_tree_is_walked_to_its_leaf() {
        let trees = parse_trees(&tree("1 -1", "-2 -3"), 2).unwrap();
        let leaves = |tree: &DecisionTree, rows: &[[f32; 2]]| {
            let mut sums = vec![1.0; rows.len()];
            let columns = [0, 1].map(|column| rows.iter().map(move |row| row[column]));
            let columns: Vec<f32> = columns.into_iter().flatten().collect();
            tree.add_leaves(&columns, &mut sums);
            sums
        };
        let rows = [[0.0, 0.6], [-1.0, 0.5], [-0.9, 0.5], [f32::NAN, 0.5], [0.0, f32::NAN]];
        let expected = [0.2, 0.1, 0.3, 0.3, 0.2].map(|leaf| 1.0 + leaf);
        assert_eq!(leaves(&trees[0], &rows), expected);
        let many: Vec<[f32; 2]> = rows.iter().copied().cycle().take(BLOCK_ROWS).collect();
        assert!(leaves(&trees[0], &many).chunks(5).all(|part| part == &expected[..part.len()]));
        let alone: Vec<f64> = rows.iter().flat_map(|row| leaves(&trees[0], &[*row])).collect();
        assert_eq!(alone, expected, "a row alone walks down");
        let stump = parse_trees(
            &format!("{HEAD}\nTree=0\nnum_leaves=1\nleaf_value=0.7\n\nend of trees"),
            2,
        )
        .unwrap();
        assert_eq!(leaves(&stump[0], &rows[..2]), [1.7, 1.7]);
    }

    /// Comparing in single precision decides as comparing in double precision does.
    #[test]
    fn a_threshold_in_single_precision_decides_the_same() {
        for threshold in
            [0.0, -0.0, 0.1, -0.1, 0.5, 1e-50, -1e-50, 1e300, -1e300, 16_777_217.0, f64::INFINITY]
        {
            let single = threshold_below(threshold);
            let near = threshold as f32;
            for x in [
                near,
                near.next_up(),
                near.next_down(),
                0.0,
                f32::MIN_POSITIVE,
                -f32::MIN_POSITIVE,
                f32::MAX,
                f32::MIN,
            ] {
                assert_eq!(x <= single, f64::from(x) <= threshold, "{x} {threshold}");
            }
        }
        assert_eq!(size_of::<super::DecisionNode>(), 16);
    }

    /// For any damaged artifact scoring must end and stay within the arrays.
    #[test]
    fn damaged_trees_are_refused() {
        let sound = tree("1 -1", "-2 -3");
        let refused = |text: &str| parse_trees(text, 2).expect_err("is refused");
        assert!(
            refused(&tree("0 -1", "-2 -3")).contains("do not make a tree"),
            "a node below itself"
        );
        assert!(refused(&tree("1 -1", "-2 -4")).contains("do not make a tree"), "no such leaf");
        assert!(refused(&tree("1 -1", "-2 -2")).contains("do not make a tree"), "a leaf twice");
        assert!(refused(&tree("2 -1", "-2 -3")).contains("do not make a tree"), "no such node");
        refused(&tree("1", "-2 -3")).says(&["different lengths"]);
        refused(&sound.replace("split_feature=1 0", "split_feature=2 0"))
            .says(&["2 encoded columns"]);
        refused(&sound.replace("decision_type=2 2", "decision_type=3 2")).says(&["category"]);
        refused(&sound.replace("decision_type=2 2", "decision_type=10 2")).says(&["missing"]);
        refused(&sound.replace("0.2", "nan")).says(&["not a number"]);
        refused(&sound.replace("0.2", "x")).says(&["`x` in `leaf_value`"]);
        refused(&sound.replace("leaf_value", "leaf")).says(&["lacks `leaf_value`"]);
        refused("tree\nversion=v3\n").says(&["v4"]);
        refused(HEAD).says(&["no trees"]);
    }

    #[test]
    fn values_beyond_single_precision_are_its_ends() {
        assert_eq!(
            [to_single(1e300), to_single(-1e300), to_single(0.1)],
            [f32::MAX, f32::MIN, 0.1]
        );
    }
}
