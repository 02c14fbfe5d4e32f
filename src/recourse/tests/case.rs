//! A folder of the oracle as an audit: its rows, rules, costs and model.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value as Json;

use super::recourse::AuditedRows;
use super::recourse::ask::LevelChange;
use super::recourse::groups::GroupPair;
use crate::recourse::feature::{AllowedChanges, ChangeCost, ChangeDirection, LevelDistance};
use crate::recourse::feature::{LevelScale, RecourseFeature};

/// The columns of a small file, in its order: numbers (NaN as missing) or texts (nulls as empty
/// texts).
pub(crate) enum RecourseOracleColumn {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

impl RecourseOracleColumn {
    pub(crate) fn numbers(&self) -> &[f64] {
        let RecourseOracleColumn::Numbers(values) = self else { panic!("texts") };
        values
    }

    pub(crate) fn texts(&self) -> &[String] {
        let RecourseOracleColumn::Texts(values) = self else { panic!("numbers") };
        values
    }
}

pub(crate) fn parquet(path: &Path) -> BTreeMap<String, RecourseOracleColumn> {
    let mut columns = BTreeMap::new();
    let file = std::fs::File::open(path).unwrap();
    for batch in ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap() {
        let batch = batch.unwrap();
        for (field, array) in batch.schema().fields().iter().zip(batch.columns()) {
            if matches!(field.data_type(), DataType::List(_)) {
                continue;
            }
            if field.data_type().is_numeric() || field.data_type() == &DataType::Boolean {
                let array = cast(array, &DataType::Float64).unwrap();
                let RecourseOracleColumn::Numbers(own) = columns
                    .entry(field.name().clone())
                    .or_insert(RecourseOracleColumn::Numbers(Vec::new()))
                else {
                    panic!()
                };
                own.extend(
                    array.as_primitive::<Float64Type>().iter().map(|x| x.unwrap_or(f64::NAN)),
                );
            } else {
                let array = cast(array, &DataType::Utf8).unwrap();
                let RecourseOracleColumn::Texts(own) = columns
                    .entry(field.name().clone())
                    .or_insert(RecourseOracleColumn::Texts(Vec::new()))
                else {
                    panic!()
                };
                own.extend(
                    array.as_string::<i32>().iter().map(|x| x.unwrap_or_default().to_owned()),
                );
            }
        }
    }
    columns
}

pub(crate) fn json(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// A case: what the engine takes.
pub(crate) struct RecourseOracleCase {
    pub(crate) config: Json,
    pub(crate) audited: AuditedRows,
    pub(crate) pair: GroupPair,
    pub(crate) model: RecourseOracleModel,
}

impl RecourseOracleCase {
    pub(crate) fn read(folder: &Path) -> RecourseOracleCase {
        let config = json(&folder.join("config.json"));
        let rows = parquet(&folder.join("rows.parquet"));
        let protected = config["protected"].as_str().unwrap();
        let groups = [config["group_0"].as_str().unwrap(), config["group_1"].as_str().unwrap()];
        let group = |text: &String| groups.iter().position(|group| group == text).map(|g| g as u16);
        let favourable: Vec<bool> = rows["__pred"].numbers().iter().map(|&y| y == 1.0).collect();
        let of_rows: Vec<Option<u16>> = rows[protected].texts().iter().map(group).collect();
        let columns = rows
            .iter()
            .filter(|(name, _)| !name.starts_with("__") && *name != "row_id" && *name != protected);
        let features: Vec<RecourseFeature> =
            columns.map(|(name, column)| feature(name, column, &config)).collect();
        let model = RecourseOracleModel::new(
            &json(&folder.join("model.json")),
            &features,
            protected,
            &groups,
        );
        let audited = AuditedRows { features, groups: of_rows, favourable };
        let pair = GroupPair { names: groups.map(str::to_owned), members: [vec![0], vec![1]] };
        let model = RecourseOracleModel {
            codes: audited.features.iter().map(|f| f.codes.clone()).collect(),
            groups: audited.groups.clone(),
            ..model
        };
        RecourseOracleCase { config, audited, pair, model }
    }
}

fn feature(name: &str, column: &RecourseOracleColumn, config: &Json) -> RecourseFeature {
    let cost = &config["cost"][name];
    let rules = &config["feasibility"];
    let order =
        [&cost["order"], &rules["non_decreasing"][name]].into_iter().find_map(Json::as_array);
    let (levels, scale, codes) = match (column, order) {
        (RecourseOracleColumn::Numbers(values), _) => {
            let mut distinct = values.clone();
            distinct.sort_by(f64::total_cmp);
            distinct.dedup();
            let codes = values
                .iter()
                .map(|x| distinct.iter().position(|y| x == y).unwrap() as u32)
                .collect();
            (distinct.iter().map(f64::to_string).collect(), LevelScale::Numbers(distinct), codes)
        }
        (RecourseOracleColumn::Texts(values), order) => {
            let levels: Vec<String> = match order {
                Some(order) => {
                    order.iter().map(|level| level.as_str().unwrap().to_owned()).collect()
                }
                None => values
                    .iter()
                    .cloned()
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .collect(),
            };
            let codes =
                values.iter().map(|x| levels.iter().position(|y| x == y).unwrap() as u32).collect();
            (levels, if order.is_some() { LevelScale::Ordered } else { LevelScale::Nominal }, codes)
        }
    };
    let frozen = rules["frozen"].as_array().unwrap().iter().any(|f| f == name);
    let direction = match (frozen, rules["non_decreasing"].get(name)) {
        (true, _) => ChangeDirection::Never,
        (false, Some(_)) => ChangeDirection::Up,
        (false, None) => ChangeDirection::Any,
    };
    let forbidden = rules["forbidden_targets"][name].as_array().into_iter().flatten();
    let not_to = forbidden
        .filter_map(|level| levels.iter().position(|own| level == own))
        .map(|level| level as u32)
        .collect();
    let distance = match (cost["type"].as_str().unwrap(), cost["normalise"].as_bool()) {
        ("categorical", _) => LevelDistance::Unit,
        ("ordinal", _) => LevelDistance::Positions,
        (_, Some(true)) => LevelDistance::RangeShare,
        _ => LevelDistance::Absolute,
    };
    RecourseFeature {
        name: name.to_owned(),
        levels,
        scale,
        codes,
        may_change: AllowedChanges {
            direction,
            steps: rules["max_step_up"][name].as_f64(),
            not_to,
        },
        cost: ChangeCost { distance, weight: cost["weight"].as_f64().unwrap() },
        ..RecourseFeature::default()
    }
}

/// A model of the oracle: what each level of each column adds, and trees.
pub(crate) struct RecourseOracleModel {
    intercept: f64,
    linear: Vec<Vec<f64>>,
    of_group: Vec<f64>,
    trees: Vec<Vec<RecourseOracleNode>>,
    codes: Vec<Vec<u32>>,
    groups: Vec<Option<u16>>,
}

enum RecourseOracleNode {
    Leaf(f64),
    /// Column (the protected one comes last), whether each level goes to `yes`, and the two child
    /// nodes.
    Test(usize, Vec<bool>, [usize; 2]),
}

impl RecourseOracleModel {
    fn new(
        json: &Json,
        features: &[RecourseFeature],
        protected: &str,
        groups: &[&str; 2],
    ) -> RecourseOracleModel {
        let weight = |column: &Json, level: &str| match column["type"].as_str() {
            Some("categorical") => column["weights"][level].as_f64().unwrap_or(0.0),
            Some(_) => column["weight"].as_f64().unwrap() * level.parse::<f64>().unwrap(),
            None => 0.0,
        };
        let column = |name: &str| &json["features"][name];
        let linear = features
            .iter()
            .map(|f| f.levels.iter().map(|level| weight(column(&f.name), level)).collect())
            .collect();
        let of_group = groups.iter().map(|group| weight(column(protected), group)).collect();
        let node = |node: &Json| {
            if let Some(leaf) = node["leaf"].as_f64() {
                return RecourseOracleNode::Leaf(leaf);
            }
            let name = node["feature"].as_str().unwrap();
            let f = features.iter().position(|f| f.name == name).unwrap_or(features.len());
            let levels: Vec<&str> = features
                .get(f)
                .map_or(groups.to_vec(), |f| f.levels.iter().map(String::as_str).collect());
            let yes = |level: &&str| match (node["eq"].as_str(), node["le"].as_f64()) {
                (Some(eq), _) => eq == *level,
                (_, le) => level.parse::<f64>().unwrap() <= le.unwrap(),
            };
            let next = |key: &str| node[key].as_u64().unwrap() as usize;
            RecourseOracleNode::Test(f, levels.iter().map(yes).collect(), [next("yes"), next("no")])
        };
        let trees = json["trees"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|tree| tree.as_array().unwrap().iter().map(node).collect())
            .collect();
        let intercept = json["intercept"].as_f64().unwrap();
        RecourseOracleModel {
            intercept,
            linear,
            of_group,
            trees,
            codes: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// The score of a row with these levels.
    fn score(&self, levels: &[u32], group: usize) -> f64 {
        let mut score = self.intercept + self.of_group[group];
        score += levels
            .iter()
            .zip(&self.linear)
            .map(|(&level, weights)| weights[level as usize])
            .sum::<f64>();
        for tree in &self.trees {
            let mut at = 0;
            score += loop {
                match &tree[at] {
                    RecourseOracleNode::Leaf(leaf) => break *leaf,
                    RecourseOracleNode::Test(f, yes, next) => {
                        let level = levels.get(*f).map_or(group, |level| *level as usize);
                        at = next[usize::from(!yes[level])];
                    }
                }
            };
        }
        score
    }

    /// The score of an audited row after the changes.
    pub(crate) fn changed(&self, row: u32, changes: &[LevelChange]) -> f64 {
        let mut levels: Vec<u32> = self.codes.iter().map(|codes| codes[row as usize]).collect();
        changes.iter().for_each(|change| levels[change.feature] = change.level);
        self.score(&levels, self.groups[row as usize].map_or(0, usize::from))
    }
}
