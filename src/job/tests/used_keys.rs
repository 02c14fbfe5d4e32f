//! Every key, strategy, kind of model, family and word that the schema of jobs has is used in a
//! shipped job or in an example of a document that a test runs or checks. Each job that leaves a
//! key out uses its default.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use crate::job::schema::job_schema;

#[path = "../../../tests/support/fragments.rs"]
mod fragments;

use fragments::FRAGMENTS;

/// Examples that tests of `tests/it` run: the document, the heading, and how many of the blocks
/// below it.
const EXAMPLES: &[(&str, &str, usize)] = &[
    ("counterfactuals.md", "## Exporting counterfactual rows", 1),
    ("counterfactuals.md", "## Importing counterfactuals: external", 1),
    ("graph-uncertainty.md", "### Does the knowledge fit?", 1),
    ("graph-uncertainty.md", "### Graphs of other programs", 1),
    ("jobs.md", "## A whole job", 1),
    ("jobs.md", "## Several rows per person", 1),
    ("jobs.md", "## The words of the page", 1),
    ("metrics.md", "## Clarify's thirteen", 1),
    ("metrics.md", "## Scores as such", 1),
    ("metrics.md", "### Ratios of two directions", 1),
    ("models-and-experiments.md", "## Amounts", 1),
    ("models-and-experiments.md", "## Decisions without a score", 1),
    ("models-and-experiments.md", "## Does the audit score as production does?", 1),
    ("models-and-experiments.md", "## Scores of any scale", 1),
    ("rows.md", "## A snapshot of a table", 1),
    ("rows.md", "## Columns and filters in SQL", 1),
    ("rows.md", "## Columns from another file", 1),
    ("rows.md", "## Consistent spelling", 1),
    ("rows.md", "## Rows from a program", 1),
    ("rows.md", "## Rows in an object store", 1),
    ("why.md", "```yaml", 1),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a kind below a folder.
fn files_below(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}

/// The jobs and examples.
fn jobs() -> Vec<Json> {
    let mut texts: Vec<(String, String)> = files_below(&root().join("jobs"), "yaml")
        .into_iter()
        .map(|file| (file.display().to_string(), fs::read_to_string(&file).unwrap()))
        .filter(|(file, _)| !file.contains("recipes"))
        .collect();
    let fragments = FRAGMENTS.iter().map(|&(document, above)| (document, above, 1));
    for (document, heading, blocks) in EXAMPLES.iter().copied().chain(fragments) {
        let text = fs::read_to_string(root().join("docs").join(document)).unwrap();
        let start = text.find(heading).unwrap_or_else(|| panic!("{document} has no `{heading}`"));
        let examples = text[start..].split("```yaml\n").skip(1).take(blocks);
        texts.extend(examples.map(|block| {
            (document.to_owned(), block.split("```").next().unwrap_or_default().to_owned())
        }));
    }
    let read = |(file, text): (String, String)| {
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}\n{text}"))
    };
    texts.into_iter().map(read).collect()
}

/// The keys and words of the schema, each with its type, and those that jobs use.
struct SchemaWalk {
    schema: Json,
    used: BTreeSet<(String, String)>,
}

impl SchemaWalk {
    /// Every key and word below a part of the schema, which belongs to a type.
    fn all(part: &Json, owner: &str, found: &mut BTreeSet<(String, String)>) {
        let mut add = |word: &str| found.insert((owner.to_owned(), word.to_owned()));
        if let Some(keys) = part.get("properties").and_then(Json::as_object) {
            keys.keys().for_each(|key| _ = add(key));
        }
        let words = part.get("enum").and_then(Json::as_array).into_iter().flatten();
        words.chain(part.get("const")).filter_map(Json::as_str).for_each(|word| _ = add(word));
        match part {
            Json::Array(items) => items.iter().for_each(|item| SchemaWalk::all(item, owner, found)),
            Json::Object(map) => {
                let below = map.iter().filter(|(key, _)| *key != "$defs" && *key != "default");
                below.for_each(|(_, part)| SchemaWalk::all(part, owner, found));
            }
            _ => {}
        }
    }

    /// Notes the words that are the default of a key below a part of the schema.
    fn visit_defaults(&mut self, part: &Json, owner: &str) {
        match part {
            Json::Array(items) => items.iter().for_each(|item| self.visit_defaults(item, owner)),
            Json::Object(map) => {
                if let Some(word @ Json::String(_)) = map.get("default") {
                    self.visit(part, owner, word);
                }
                let below = map.iter().filter(|(key, _)| *key != "$defs" && *key != "default");
                below.for_each(|(_, part)| self.visit_defaults(part, owner));
            }
            _ => {}
        }
    }

    /// Notes what a value of a job uses of a part of the schema.
    fn visit(&mut self, part: &Json, owner: &str, value: &Json) {
        if let Some(target) = part.get("$ref").and_then(Json::as_str) {
            let (name, part) = (target.rsplit('/').next().unwrap(), &target[1..]);
            let part = self.schema.pointer(part).unwrap().clone();
            return self.visit(&part, name, value);
        }
        for forms in ["anyOf", "oneOf", "allOf"] {
            let forms = part.get(forms).and_then(Json::as_array).into_iter().flatten();
            forms.for_each(|form| self.visit(form, owner, value));
        }
        let add =
            |used: &mut BTreeSet<_>, word: &str| used.insert((owner.to_owned(), word.to_owned()));
        match value {
            Json::Object(map) => {
                for (key, value) in map {
                    if let Some(below) = part.get("properties").and_then(|keys| keys.get(key)) {
                        add(&mut self.used, key);
                        self.visit(below, owner, value);
                        continue;
                    }
                    let patterns = part.get("patternProperties").and_then(Json::as_object);
                    let names = patterns.into_iter().flat_map(|patterns| patterns.values());
                    let names = names.chain(part.get("additionalProperties"));
                    names.for_each(|below| self.visit(below, owner, value));
                }
            }
            Json::Array(items) => {
                let places = part.get("prefixItems").and_then(Json::as_array);
                for (i, item) in items.iter().enumerate() {
                    let place = places.and_then(|places| places.get(i));
                    if let Some(below) = place.or(part.get("items")) {
                        self.visit(below, owner, item);
                    }
                }
            }
            Json::String(text) => {
                let words = part.get("enum").and_then(Json::as_array).into_iter().flatten();
                let is_word = words.chain(part.get("const")).any(|word| word == value);
                // A block may be its one key as a bare word.
                if is_word || part.get("properties").is_some_and(|keys| keys.get(text).is_some()) {
                    add(&mut self.used, text);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_key_is_used_in_a_job_or_example_that_is_run() {
    let schema = job_schema();
    let mut all = BTreeSet::new();
    SchemaWalk::all(&schema, "Job", &mut all);
    for (name, part) in schema["$defs"].as_object().unwrap() {
        SchemaWalk::all(part, name, &mut all);
    }
    let mut walk = SchemaWalk { schema: schema.clone(), used: BTreeSet::new() };
    jobs().iter().for_each(|job| walk.visit(&schema, "Job", job));
    walk.visit_defaults(&schema, "Job");
    for (name, part) in schema["$defs"].as_object().unwrap() {
        walk.visit_defaults(part, name);
    }
    let missing: BTreeSet<_> = all.difference(&walk.used).collect();
    assert!(missing.is_empty(), "put these into a job below jobs/, or an example: {missing:?}");
    assert!(all.len() > 500, "the schema has {} keys and words", all.len());
}
