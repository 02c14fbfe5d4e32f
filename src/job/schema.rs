//! JSON Schema of job files, made from the types that read them, for editors and for programs that
//! write jobs.
//!
//! Choice: the schema is a little wider than the reader. It takes `${vars.x}` wherever a number, a
//! word of a list or a boolean is due, the bare word of a variant without required knobs, and
//! nothing at all where an empty map is meant; what only `check` can see (names, sums, columns with
//! two roles) is left to `check`.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::counterfactual::strategy;
use crate::job::Job;
use crate::job::blocks::data::ROW_SOURCES;
use crate::model::kind::MODEL_KINDS;

/// Names the schema and the format number.
const ID: &str = "urn:cfaudit:job:1";

/// Keys of a set, a model or the rows that name its strategy, kind or source: exactly one must be
/// there.
const ONE_OF: &[(&str, &[&str])] = &[
    ("CounterfactualSet", strategy::KEYS),
    ("ModelBlock", MODEL_KINDS),
    ("RowsBlock", ROW_SOURCES),
];

/// The schema that the types make of themselves, by which jobs are read: `x-` keys included, an
/// optional key left out and not null, blocks that may be a bare word marked by `x-bare`.
pub(in crate::job) fn types_schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Job>();
        let mut root = schema.to_value();
        each_map(&mut root, &mut without_null);
        for (name, _) in ONE_OF {
            root["$defs"][*name]["x-bare"] = json!(true);
        }
        root
    })
}

/// Visits every map of a value, those inside of another first.
pub(in crate::job) fn each_map(node: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match node {
        Value::Array(items) => items.iter_mut().for_each(|item| each_map(item, visit)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| each_map(value, visit));
            visit(map);
        }
        _ => {}
    }
}

/// Takes out what is said to the reader of jobs.
fn without_own_keys(root: &mut Value) {
    each_map(root, &mut |map| map.retain(|key, _| !key.starts_with("x-")));
}

/// The schema of job files (draft 2020-12).
pub(crate) fn job_schema() -> Value {
    let mut root = types_schema().clone();
    for definition in root["$defs"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        with_short_form(definition);
    }
    without_own_keys(&mut root);
    let free = free_blocks(&root);
    for (name, keys) in ONE_OF {
        let definition = &mut root["$defs"][*name];
        *definition = exactly_one(definition.take(), keys, &free);
    }
    let free = free_blocks(&root);
    widen(&mut root, false, &free);
    if let Some(map) = root.as_object_mut() {
        let mut head = Map::new();
        head.insert("$schema".to_owned(), map.remove("$schema").unwrap_or_default());
        head.insert("$id".to_owned(), json!(ID));
        head.insert("title".to_owned(), json!("Job of cfaudit"));
        map.remove("title");
        head.append(map);
        *map = head;
    }
    root
}

/// The schema as it is in `schemas/job.schema.json`.
///
/// # Panics
/// Never: a JSON value can always be written.
pub(crate) fn job_schema_text() -> String {
    serde_json::to_string_pretty(&job_schema()).expect("a JSON value") + "\n"
}

/// Allows the value of the one key to replace a block that takes it.
fn with_short_form(definition: &mut Value) {
    let Some(short) = definition["x-short"].as_str().map(str::to_owned) else { return };
    let mut key = definition["properties"][&short].clone();
    let description = definition.as_object_mut().and_then(|map| map.remove("description"));
    key.as_object_mut().map(|map| map.remove("description"));
    *definition = json!({"description": description, "anyOf": [key, definition.take()]});
}

/// References to the blocks that need no key.
fn free_blocks(root: &Value) -> BTreeSet<String> {
    let is_free = |block: &Value| {
        block.get("type") == Some(&json!("object")) && block.get("required").is_none()
    };
    let blocks = root["$defs"].as_object().into_iter().flatten();
    blocks.filter(|(_, b)| is_free(b)).map(|(name, _)| format!("#/$defs/{name}")).collect()
}

/// Whether it is a reference to one of these blocks.
fn is_one_of(content: &Value, free: &BTreeSet<String>) -> bool {
    content.get("$ref").and_then(Value::as_str).is_some_and(|block| free.contains(block))
}

/// A block of which exactly one of some keys must be there; what needs no key of its own may be a
/// bare word.
fn exactly_one(mut definition: Value, keys: &[&str], free: &BTreeSet<String>) -> Value {
    let is_bare = |key: &&&str| is_one_of(&definition["properties"][**key], free);
    let bare: Vec<&&str> = keys.iter().filter(is_bare).collect();
    let description = definition.as_object_mut().and_then(|map| map.remove("description"));
    let one: Vec<Value> = keys.iter().map(|key| json!({"required": [key]})).collect();
    definition["oneOf"] = json!(one);
    let mut out = match bare.as_slice() {
        [] => definition,
        words => json!({"anyOf": [definition, {"enum": words}]}),
    };
    if let Some(description) = description {
        out["description"] = description;
    }
    out
}

/// An optional key is left out, not set to null: the reader complains about empty values.
fn without_null(map: &mut Map<String, Value>) {
    map.retain(|_, value| !value.is_null());
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            map.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(mut branches)) = map.remove("anyOf") {
        branches.retain(|branch| branch != &json!({"type": "null"}));
        match branches.as_mut_slice() {
            [Value::Object(only)] => map.append(only),
            _ => drop(map.insert("anyOf".to_owned(), Value::Array(branches))),
        }
    }
}

/// Allows what the reader allows beyond the types: variables in place of scalars, empty values in
/// place of maps, bare words. `branch` is true for one of several alternatives: the variable then
/// is next to them all.
fn widen(node: &mut Value, branch: bool, free: &BTreeSet<String>) {
    let variable = || json!({"type": "string", "pattern": r"^\$\{vars\."});
    let is_word = |node: &Value| {
        node.get("const").is_some()
            || (node.get("enum").is_some() && node.get("type") == Some(&json!("string")))
    };
    let word = is_word(node);
    let map = match node {
        Value::Object(map) => map,
        Value::Array(items) => return items.iter_mut().for_each(|item| widen(item, false, free)),
        _ => return,
    };
    for (key, value) in map.iter_mut() {
        match value {
            Value::Array(branches) if matches!(key.as_str(), "oneOf" | "anyOf") => {
                let words = branches.iter().any(is_word);
                branches.iter_mut().for_each(|branch| widen(branch, true, free));
                branches.extend(words.then(variable));
            }
            _ => widen(value, false, free),
        }
    }
    // Two branches that both take a variable must not exclude each other.
    if let Some(Value::Array(branches)) = map.get("oneOf")
        && !branches
            .iter()
            .all(|b| b.as_object().is_some_and(|b| b.len() == 1 && b.contains_key("required")))
        && let Some(branches) = map.remove("oneOf")
    {
        map.insert("anyOf".to_owned(), branches);
    }
    let wider = match map.get("type").and_then(Value::as_str) {
        Some("integer" | "number" | "boolean") => Some(variable()),
        _ if word && !branch => Some(variable()),
        Some("object") if is_variant(map) => bare_variant(map, free),
        Some("object") if !map.contains_key("required") && !map.contains_key("oneOf") => {
            Some(json!({"type": "null"}))
        }
        _ => None,
    };
    if let Some(wider) = wider {
        let mut outer = Map::new();
        for key in ["description", "default"] {
            if let Some(value) = map.remove(key) {
                outer.insert(key.to_owned(), value);
            }
        }
        outer.insert("anyOf".to_owned(), json!([Value::Object(std::mem::take(map)), wider]));
        *map = outer;
    }
}

/// Whether it is one variant: a map with one key, which must be there.
fn is_variant(map: &Map<String, Value>) -> bool {
    map.get("required").and_then(Value::as_array).is_some_and(|r| r.len() == 1)
        && map.get("properties").and_then(Value::as_object).is_some_and(|p| p.len() == 1)
        && map.get("additionalProperties") == Some(&json!(false))
        && !map.contains_key("title")
}

/// The bare word of a variant whose content needs no key.
fn bare_variant(map: &Map<String, Value>, free: &BTreeSet<String>) -> Option<Value> {
    let (word, content) = map.get("properties")?.as_object()?.iter().next()?;
    // `widen` has been here already: a map without required keys is `anyOf: [map, null]`.
    let empty = content.pointer("/anyOf/1/type") == Some(&json!("null"))
        && content.pointer("/anyOf/0/type") == Some(&json!("object"));
    (empty || is_one_of(content, free)).then(|| json!({"const": word}))
}

/// The JSON Schema of a file that cfaudit writes, as text.
pub(crate) fn schema_text<T: JsonSchema>() -> String {
    let mut schema = schemars::schema_for!(T).to_value();
    without_own_keys(&mut schema);
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}
