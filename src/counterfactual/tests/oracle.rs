//! What two other programs generated from the same rows: examples computed by hand, COMPAS, heart
//! disease, and a table with columns of every kind.

use std::path::{Path, PathBuf};

use serde_json::{Map, json};

use super::*;
use crate::counterfactual::map_flip::FittedStrategy;
use crate::counterfactual::quality::sums::QualitySums;
use crate::counterfactual::quality::{CounterfactualQuality, QualityReference};
use crate::counterfactual::strategy::naive::NaiveGenerator;
use crate::exec::accumulator::Accumulator;
use crate::tests::json_frame::{self as frame, JsonFrame};
use crate::tests::{expected, json};

fn list(value: &Json) -> &[Json] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A value as a level or group calls it.
fn word(value: &Json) -> Option<String> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn words(values: &[Json]) -> Vec<String> {
    values.iter().filter_map(word).collect()
}

fn name(entry: &Json) -> &str {
    entry["name"].as_str().unwrap()
}

/// Rows of a list of objects, column by column.
fn frame_of(rows: &Json) -> JsonFrame {
    let mut frame = JsonFrame::new();
    for (i, row) in list(rows).iter().enumerate() {
        for (key, value) in row.as_object().unwrap() {
            let column = frame.entry(key.clone()).or_default();
            column.resize(i, Json::Null);
            column.push(value.clone());
        }
    }
    frame
}

/// A case: what the rows are, and how they are read.
struct OracleCase<'a> {
    config: &'a Json,
    layout: Layout,
    extras: VariableOptions,
    labels: Vec<String>,
}

impl<'a> OracleCase<'a> {
    fn new(config: &'a Json, frames: &[&JsonFrame]) -> Self {
        let words_of = |column: &str| {
            let values = frames.iter().filter_map(|f| f.get(column)).flatten();
            let mut words: Vec<String> = values.filter_map(word).collect();
            words.sort();
            words.dedup();
            words
        };
        let entries = std::iter::once(&config["sensitive"])
            .chain(list(&config["decorrelate"]).iter().map(|entry| &entry["sensitive"]));
        let sensitive: Vec<(&str, Vec<String>)> = entries
            .map(|entry| (entry["column"].as_str().unwrap(), words(list(&entry["groups"]))))
            .collect();
        let mut features = Vec::new();
        let mut extras = VariableOptions::default();
        let mut push = |name: &str, kind: FeatureKind, levels: Vec<String>| {
            let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
            features.push(Feature::of(name, kind, &levels));
        };
        let with_rest = |column: &str, mut levels: Vec<String>| {
            levels.extend(
                words_of(column)
                    .into_iter()
                    .filter(|word| !levels.contains(word))
                    .collect::<Vec<_>>(),
            );
            levels
        };
        push(
            sensitive[0].0,
            FeatureKind::Sensitive,
            with_rest(sensitive[0].0, sensitive[0].1.clone()),
        );
        let mut position = 1;
        for feature in list(&config["features"]) {
            let name = name(feature);
            let integer = feature["integer"] == json!(true);
            match feature["kind"].as_str().unwrap() {
                "continuous" => push(name, FeatureKind::Continuous { integer }, vec![]),
                "ordinal" if feature["order"].is_array() => {
                    push(name, FeatureKind::OrdinalLevel, words(list(&feature["order"])))
                }
                "ordinal" => push(name, FeatureKind::OrdinalNumber, vec![]),
                "onehot" => {
                    let columns = words(list(&feature["columns"]));
                    extras
                        .onehot
                        .push((name.to_owned(), (position..position + columns.len()).collect()));
                    position += columns.len() - 1;
                    columns.iter().for_each(|column| push(column, FeatureKind::WHOLE, vec![]));
                }
                _ => push(name, FeatureKind::Nominal, words(list(&feature["values"]))),
            }
            position += 1;
        }
        let attribute = |(column, groups): &(&str, Vec<String>)| {
            let feature = features.iter().position(|f| f.name == *column).unwrap();
            let level = |group: &String| {
                u32::try_from(features[feature].levels.iter().position(|l| l == group).unwrap())
                    .unwrap()
            };
            Attribute {
                groups: groups.clone(),
                level_of_group: groups.iter().map(level).collect(),
                ..Attribute::of(column, &[], feature)
            }
        };
        let attributes = sensitive.iter().map(attribute).collect();
        let layout = Layout::of(attributes, features);
        OracleCase {
            config,
            layout,
            extras,
            labels: words_of(config["label"]["column"].as_str().unwrap()),
        }
    }

    fn rows(&self, frame: &JsonFrame, n: usize) -> ReferenceBatch {
        let values =
            |column: &str| frame.get(column).cloned().unwrap_or_else(|| vec![Json::Null; n]);
        let column = |feature: &Feature| {
            let words: Vec<_> = values(&feature.name).iter().map(word).collect();
            feature.column(words.iter().map(Option::as_deref))
        };
        let groups = |attribute: &Attribute| {
            let position = |value: &Json| {
                word(value)
                    .and_then(|word| attribute.groups.iter().position(|group| *group == word))
            };
            values(&attribute.name)
                .iter()
                .map(|v| position(v).map_or(MISSING_GROUP, |g| u16::try_from(g).unwrap()))
                .collect()
        };
        let class = |value: &Json| {
            word(value)
                .and_then(|word| self.labels.iter().position(|l| *l == word))
                .map(|c| u32::try_from(c).unwrap())
        };
        let rows = FeatureRows::of(self.layout.features.iter().map(column).collect());
        let classes =
            values(self.config["label"]["column"].as_str().unwrap()).iter().map(class).collect();
        ReferenceBatch {
            keys: vec![],
            rows,
            groups: self.layout.attributes.iter().map(groups).collect(),
            classes,
        }
    }

    /// The settings as a job writes them.
    fn knobs(&self) -> Json {
        let config = self.config;
        let flip = &config["flip"];
        let or =
            |value: &Json, word: &str| if value.is_null() { json!(word) } else { value.clone() };
        let mut counterpart = Map::new();
        for feature in list(&config["features"]) {
            if feature["counterpart"].is_object() {
                counterpart.insert(name(feature).to_owned(), feature["counterpart"].clone());
            }
        }
        let entry = |entry: &Json| {
            json!({"sensitive": entry["sensitive"]["column"],
            "move": or(&entry["allow"], "all")})
        };
        let mut knobs = json!({
            "condition_on": if config["label_mode"] == "pooled" { "none" } else { "label" },
            "threshold": flip["tau"],
            "depth": flip["max_depth"],
            "cdf": config["cdf"],
            "min_stratum": config["min_stratum"],
            "flip": {
                "rule": flip["rule"],
                "min_support": flip["min_support"],
                "impossible": flip["impossible"],
                "impossible_ratio": or(&flip["impossible_ratio"], "none"),
                "min_expected": flip["min_expected"],
                "impossible_scope": flip["impossible_scope"],
            },
            "new_value": config["new_value"],
            "counterpart": counterpart,
            "cfs": config["cfs"],
            "max_cfs": config["max_cfs"],
            "decorrelate": list(&config["decorrelate"]).iter().map(entry).collect::<Vec<_>>(),
        });
        if let Some(filter) = config["filter"].as_object() {
            knobs["keep_within"] = json!({
                "centroid_sd": filter["k"], "explained": filter["explained"],
                "max_components": filter["max_components"],
            });
        }
        if config["strategy"] == "greedy" {
            knobs["keep_fixed"] = or(&config["fixed"], "[]");
            knobs["relation"] = config["relation"].clone();
        } else {
            knobs["move"] = or(&config["allow"], "all");
        }
        knobs
    }

    fn generator(&self, reference: ReferenceBatch) -> Box<dyn Generator> {
        let plan = match self.config["strategy"].as_str().unwrap() {
            "naive" => return Box::new(NaiveGenerator),
            "greedy" => plan_of::<GreedyBlock>(&self.knobs().to_string()),
            _ => plan_of::<PlausibleBlock>(&self.knobs().to_string()),
        };
        let reference = ReferenceRows::in_memory(vec![reference]);
        let fitted = plan.fit(moved(&self.layout, &self.extras), &reference).unwrap();
        // The tested strategy has been written and read back.
        let text = serde_json::to_string(&fitted).unwrap();
        let read = serde_json::from_str::<FittedStrategy>(&text).unwrap();
        assert_eq!(read, fitted);
        Box::new(MapFlipGenerator::new(read))
    }

    /// The value of a column of a counterfactual row.
    fn value(&self, feature: usize, rows: &FeatureRows, j: usize) -> Json {
        match &rows.columns[feature] {
            FeatureColumn::Number(values) => json!(values[j]),
            FeatureColumn::Code(codes) if codes[j] == MISSING => Json::Null,
            FeatureColumn::Code(codes) => {
                json!(self.layout.features[feature].levels[codes[j] as usize])
            }
        }
    }
}

/// Positions of the rows that a config selects.
fn selected(frame: &JsonFrame, by: &Json, n: usize) -> Vec<usize> {
    match by["column"].as_str() {
        None => (0..n).collect(),
        Some(column) => {
            (0..n).filter(|&i| list(&by["values"]).contains(&frame[column][i])).collect()
        }
    }
}

fn taken(frame: &JsonFrame, positions: &[usize]) -> JsonFrame {
    frame
        .iter()
        .map(|(name, values)| {
            (name.clone(), positions.iter().map(|&i| values[i].clone()).collect())
        })
        .collect()
}

fn n_rows(frame: &JsonFrame) -> usize {
    frame.values().map(Vec::len).max().unwrap_or(0)
}

/// Whether a value is the expected one: numbers to 1e-9 of max(1, |expected|), everything else
/// exactly.
fn same(found: &Json, expected: &Json) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(x), Some(y)) => (x - y).abs() <= 1e-9 * y.abs().max(1.0),
        _ => found.is_null() && expected.is_null() || word(found) == word(expected),
    }
}

/// Compares all counterfactuals, in the order of the expected rows: row, target, index within its
/// batch.
fn check(
    case: &OracleCase<'_>,
    reference: ReferenceBatch,
    samples: &ReferenceBatch,
    row_ids: &[usize],
    expected: &JsonFrame,
    what: &str,
) -> usize {
    let generator = case.generator(reference);
    let attribute = &case.layout.attributes[0];
    let samples = SampleBatch {
        keys: &[],
        rows: &samples.rows,
        groups: &samples.groups[0],
        classes: &samples.classes,
    };
    let made: Vec<GeneratedBatch> = (0..attribute.groups.len())
        .map(|group| generator.generate(&samples, TargetGroup { attribute, group }))
        .collect();
    let mut order: Vec<(usize, usize, u16, usize)> = Vec::new();
    for (to, generated) in made.iter().enumerate() {
        order.extend(
            generated
                .parent
                .iter()
                .zip(&generated.cf_index)
                .enumerate()
                .map(|(j, (&parent, &k))| (parent, to, k, j)),
        );
    }
    order.sort_unstable();
    let mut faults = Vec::new();
    for (e, &(parent, to, cf_index, j)) in order.iter().enumerate() {
        let generated = &made[to];
        let counters = &generated.counters[j];
        let own = usize::from(samples.groups[parent]);
        let mut found = vec![
            ("row_id".to_owned(), json!(row_ids[parent])),
            ("source_group".to_owned(), json!(attribute.groups[own])),
            ("target_group".to_owned(), json!(attribute.groups[to])),
            ("cf_index".to_owned(), json!(cf_index)),
            ("n_changed".to_owned(), json!(counters.n_changed)),
            ("n_impossible".to_owned(), json!(counters.n_impossible)),
            ("n_clamped".to_owned(), json!(counters.n_clamped)),
            ("n_fallback".to_owned(), json!(counters.n_fallback)),
            ("n_kept".to_owned(), json!(counters.n_kept)),
            ("plausibility".to_owned(), json!(generated.plausibility.as_ref().and_then(|p| p[j]))),
            ("valid".to_owned(), json!(generated.valid[j])),
        ];
        found
            .extend((0..case.layout.features.len()).map(|f| {
                (case.layout.features[f].name.clone(), case.value(f, &generated.rows, j))
            }));
        for (name, column) in expected {
            let (_, value) = found
                .iter()
                .find(|(known, _)| known == name)
                .unwrap_or_else(|| panic!("{what}: {name} is not compared"));
            let wanted = column.get(e).unwrap_or(&Json::Null);
            if !same(value, wanted) {
                faults.push(format!(
                    "{what}: row {} to {}, {cf_index}: {name} is {value}, expected {wanted}",
                    row_ids[parent], attribute.groups[to]
                ));
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults[..faults.len().min(20)].join("\n")
    );
    assert_eq!(order.len(), n_rows(expected), "{what}");
    order.len()
}

/// The hand-worked examples by their ids.
#[test]
fn worked_examples() {
    let examples = json(expected("generation/micro_generation.json"));
    for example in list(&examples) {
        let (reference, samples) = (frame_of(&example["reference"]), frame_of(&example["samples"]));
        let case = OracleCase::new(&example["config"], &[&reference, &samples]);
        let n = n_rows(&samples);
        let row_ids: Vec<usize> = (0..n).collect();
        let made = case.rows(&samples, n);
        check(
            &case,
            case.rows(&reference, n_rows(&reference)),
            &made,
            &row_ids,
            &frame_of(&example["expected"]),
            &example["id"].to_string(),
        );
    }
    assert_eq!(list(&examples).len(), 45);
}

/// The values of a quality that exist, under the names of the oracle.
fn values(quality: &CounterfactualQuality) -> Map<String, Json> {
    let is_told = |(name, _): &&(&str, Option<f64>)| {
        !name.starts_with("plausibility")
            && !["n_pairs_valid", "n_values", "n_compared", "unknown_share"].contains(name)
    };
    let number = |&(name, value): &(&str, Option<f64>)| match name.starts_with("n_") {
        true => (name.to_owned(), json!(value.map(|n| n as u64))),
        false => (name.to_owned(), json!(value)),
    };
    let mut map: Map<String, Json> = quality.values.iter().filter(is_told).map(number).collect();
    let mut features = Map::new();
    for v in &quality.variables {
        let numbers = v.values.iter().filter(is_told);
        let there = numbers.filter(|(_, value)| value.is_some());
        features.insert(v.name.clone(), there.map(number).collect());
    }
    if !features.is_empty() {
        map.insert("features".to_owned(), Json::Object(features));
    }
    map
}

/// Compares two trees of numbers; notes where they differ.
fn compare(found: &Json, expected: &Json, path: &str, faults: &mut Vec<String>) {
    match (found.as_object(), expected.as_object()) {
        (Some(found), Some(expected)) => {
            for key in found.keys().chain(expected.keys()) {
                let value = |map: &Map<String, Json>| map.get(key).cloned().unwrap_or(Json::Null);
                compare(&value(found), &value(expected), &format!("{path}.{key}"), faults);
            }
        }
        _ if same(found, expected) => {}
        _ => faults.push(format!("{path} is {found}, expected {expected}")),
    }
}

/// The quality of a filtered case, gathered in two parts that are merged in the wrong order.
fn check_quality(
    case: &OracleCase<'_>,
    reference: ReferenceBatch,
    samples: &ReferenceBatch,
    expected: &Json,
    what: &str,
) {
    let plan = plan_of::<PlausibleBlock>(&case.knobs().to_string());
    let fitted = plan
        .fit(moved(&case.layout, &case.extras), &ReferenceRows::in_memory(vec![reference.clone()]))
        .unwrap();
    let filter = fitted.filter.clone().unwrap();
    assert_eq!(json!(filter.n_components), expected["components"], "{what}");
    let attribute = &case.layout.attributes[0];
    let yardstick = QualityReference::new(
        fitted.variables.clone(),
        &fitted.counts,
        attribute.groups.len(),
        fitted.rules.condition,
    );
    let rules = fitted.rules.clone();
    let mover = MapFlipGenerator::new(fitted);
    let mut parts = Vec::new();
    for half in [0, 1] {
        let positions: Vec<usize> = (0..samples.rows.n).filter(|i| i % 2 == half).collect();
        let (groups, classes): (Vec<u16>, Vec<Option<u32>>) =
            positions.iter().map(|&i| (samples.groups[0][i], samples.classes[i])).unzip();
        let rows = samples.rows.take(&positions);
        let batch = SampleBatch { keys: &[], rows: &rows, groups: &groups, classes: &classes };
        parts.extend((0..attribute.groups.len()).map(|group| {
            let made = mover.generate(&batch, TargetGroup { attribute, group });
            yardstick.counterfactual_sums(&batch, &made, group)
        }));
    }
    let mut sums = QualitySums::default();
    parts.into_iter().rev().for_each(|part| sums.merge(part));
    let reference = SampleBatch {
        keys: &[],
        rows: &reference.rows,
        groups: &reference.groups[0],
        classes: &reference.classes,
    };
    sums.merge(yardstick.reference_sums(&filter, &reference));
    let (pairs, total) = yardstick.quality(&sums, &rules, false);
    let mut faults = Vec::new();
    for wanted in list(&expected["pairs"]) {
        // Groups that are whole numbers have a decimal point here.
        let side = |key: &str| {
            let group = wanted[key]
                .as_f64()
                .map_or_else(|| word(&wanted[key]), |number| Some(number.to_string()));
            group.map(|group| attribute.groups.iter().position(|g| *g == group).unwrap())
        };
        let quality = match (side("source"), side("target")) {
            (Some(own), Some(to)) => &pairs[&(own, to)],
            _ => &total,
        };
        let mut wanted = wanted.clone();
        let map = wanted.as_object_mut().unwrap();
        map.remove("source");
        map.remove("target");
        compare(&Json::Object(values(quality)), &wanted, what, &mut faults);
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults[..faults.len().min(30)].join("\n")
    );
    assert_eq!(list(&expected["pairs"]).len(), pairs.len() + 1);
    // Real rows are much nearer to the centroid of their section than the filter requires.
    assert!(
        pairs
            .values()
            .flat_map(|quality| &quality.values)
            .filter(|(name, _)| *name == "plausibility_real_50")
            .all(|(_, value)| value.is_some_and(|median| median > 0.3 && median < 1.3))
    );
}

fn full(folder: &Path) -> usize {
    let input = frame::read(&folder.join("input.parquet"));
    let n = n_rows(&input);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| {
        file.extension().is_some_and(|e| e == "json")
            && !file.to_string_lossy().ends_with(".metrics.json")
    });
    files.sort();
    let mut total = 0;
    for file in &files {
        let described = json(file);
        let config = &described["config"];
        let case = OracleCase::new(config, &[&input]);
        let rows_of = |by: &Json| {
            let positions = selected(&input, by, n);
            (case.rows(&taken(&input, &positions), positions.len()), positions)
        };
        let ((reference, _), (samples, row_ids)) =
            (rows_of(&config["reference"]), rows_of(&config["samples"]));
        let expected = frame::read(&folder.join(described["expected"].as_str().unwrap()));
        let metrics = file.with_extension("metrics.json");
        if metrics.exists() {
            check_quality(
                &case,
                reference.clone(),
                &samples,
                &json(&metrics),
                described["case"].as_str().unwrap(),
            );
        }
        total += check(
            &case,
            reference,
            &samples,
            &row_ids,
            &expected,
            described["case"].as_str().unwrap(),
        );
    }
    total
}

#[test]
fn compas() {
    let Some(folder) = shared("expected/generation/compas") else { return };
    assert_eq!(full(&folder), 72_010);
}

#[test]
fn heart() {
    let Some(folder) = shared("expected/generation/heart") else { return };
    assert_eq!(full(&folder), 8790);
}

#[test]
fn every_kind() {
    assert_eq!(full(&expected("generation/synthetic")), 10_266);
}
