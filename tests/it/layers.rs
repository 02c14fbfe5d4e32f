//! The architecture as a test: a module imports only what its row allows, and big dependencies stay
//! behind their doors.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Module, and the modules of this crate that it may name (besides `error`); of `exec` the lower
/// ones get the doors to files and hashes alone.
const LAYERS: &[(&str, &[&str])] = &[
    ("error", &[]),
    ("param", &[]),
    ("unit", &[]),
    ("num", &[]),
    ("exec", &[]),
    ("table", &["exec::files"]),
    ("folder", &["table", "exec::files", "exec::hash"]),
    ("data", &["param", "num", "table", "exec::files", "exec::hash", "exec::pieces"]),
    ("causal", &["num", "data"]),
    ("counterfactual", &["param", "num", "data", "causal"]),
    ("model", &["num", "data", "exec::files"]),
    ("metric", &["param", "num"]),
    ("augment", &["param", "num", "data", "counterfactual"]),
    ("recourse", &["param", "num", "data"]),
    ("gate", &["table", "folder", "metric"]),
    ("diff", &["param", "num", "table", "folder", "metric"]),
    // Only parameter types of the engines: `data` offers those of rows, `counterfactual` the knobs
    // of strategies, `recourse` and `augment` their own, `gate` what decides; `metric` has the
    // families and the favourable side, and a new job also names the metrics that it measures.
    (
        "job",
        &[
            "param",
            "data",
            "counterfactual",
            "metric",
            "recourse",
            "augment::knobs",
            "gate::decide_by",
            "exec::files",
            "exec::hash",
        ],
    ),
    ("report", &["table", "folder", "metric", "exec::files"]),
    ("explain", &["table", "folder", "metric", "job", "data"]),
    (
        "stage",
        &[
            "param",
            "unit",
            "num",
            "table",
            "folder",
            "data",
            "causal",
            "counterfactual",
            "model",
            "augment",
            "metric",
            "recourse",
            "gate",
            "diff",
            "job",
            "exec",
            "report",
            "explain",
        ],
    ),
    ("rejudge", &["table", "folder", "gate", "diff", "job", "exec", "report", "stage"]),
    ("cli", &["table", "folder", "data", "job", "exec", "report", "explain", "stage", "rejudge"]),
];

/// Crate, and the modules that may name it.
const DOORS: &[(&str, &[&str])] = &[
    ("polars", &["data", "table", "stage"]),
    ("arrow", &["data", "table"]),
    ("parquet", &["data", "table"]),
    ("serde_yaml", &["job"]),
    ("granit_parser", &["job"]),
    ("minijinja", &["report"]),
    ("ureq", &["data"]),
    ("zip", &["data"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["cli"]),
    ("tracing_subscriber", &["cli"]),
    ("signal_hook", &["cli"]),
];

pub(crate) fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder of sources")
        .map(|e| e.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without comments and without its test modules.
pub(crate) fn code(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            break;
        }
        let line = line.split("//").next().unwrap_or_default();
        lines.push((i + 1, line.to_owned()));
    }
    lines
}

/// Whether `name` stands in `line` as the head of a path: `name::`.
fn names(line: &str, prefix: &str, name: &str) -> bool {
    let wanted = format!("{prefix}{name}");
    line.match_indices(&wanted).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = &line[at + wanted.len()..];
        let ends = after.starts_with("::")
            || after.starts_with([';', ',', '}', ' ']) && !prefix.is_empty();
        ends && !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

#[test]
fn modules_import_only_what_their_row_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let mut faults = Vec::new();
    for file in &files {
        let relative = file.strip_prefix(&root).expect("below src");
        let first = relative
            .components()
            .next()
            .expect("a part")
            .as_os_str()
            .to_string_lossy()
            .into_owned();
        let module = first.trim_end_matches(".rs").to_owned();
        let is_test = relative.file_name().is_some_and(|n| n == "tests.rs")
            || relative.components().any(|c| c.as_os_str() == "tests");
        if module == "lib" || is_test {
            continue;
        }
        let text = fs::read_to_string(file).expect("a source file");
        assert!(
            text.starts_with("//! "),
            "{} must open by saying what it is for",
            relative.display()
        );
        for (number, line) in code(&text) {
            let mut fault = |what: &str| {
                faults.push(format!(
                    "src/{}:{number}: {module} must not name {what}",
                    relative.display()
                ))
            };
            if let Some(allowed) = layers.get(module.as_str()) {
                for (other, _) in LAYERS {
                    let part = |part: &&&str| {
                        part.starts_with(&format!("{other}::")) && names(&line, "crate::", part)
                    };
                    let own = *other == module
                        || *other == "error"
                        || allowed.contains(other)
                        || allowed.iter().any(|p| part(&p));
                    if !own && names(&line, "crate::", other) {
                        fault(other);
                    }
                }
            } else {
                assert_eq!(module, "bin", "give `{module}` a row in LAYERS");
                if line.contains("::")
                    && !line.contains("std::")
                    && !line.contains("cfaudit::cli::")
                {
                    fault("anything but `cfaudit::cli`");
                }
            }
            for (door, keepers) in DOORS {
                if !keepers.contains(&module.as_str()) && names(&line, "", door) {
                    fault(door);
                }
            }
            if module != "cli"
                && ["println!", "eprintln!", "print!", "eprint!"].iter().any(|p| line.contains(p))
            {
                fault("the terminal");
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_rule_itself_catches_a_forbidden_import() {
    assert!(names("use crate::model::Scorer;", "crate::", "model"));
    assert!(names("    let x = polars::prelude::lit(1);", "", "polars"));
    assert!(!names("use crate::modelling::X;", "crate::", "model"));
    assert!(names("use crate::exec::files::{self, File};", "crate::", "exec::files"));
    assert!(!names("use crate::exec::store::Store;", "crate::", "exec::files"));
    assert!(!names("let polarsish = 1;", "", "polars"));
}

/// The names that a line of code declares as types, those of associated types apart.
fn declared(line: &str) -> Option<&str> {
    let bare = line.trim_start();
    let inside = line.starts_with(' ');
    let bare = bare.strip_prefix("pub").map_or(bare, |rest| match rest.strip_prefix('(') {
        Some(rest) => rest.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    });
    let (keyword, rest) = bare.trim_start().split_once(' ')?;
    let types = ["struct", "enum", "trait", "union"].contains(&keyword);
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let declares = types || keyword == "type" && !inside;
    (declares && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn the_name_of_a_type_is_unique() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &files {
        let text = fs::read_to_string(file).expect("a source file");
        let place = file.strip_prefix(&root).expect("below src").display().to_string();
        for name in text.lines().filter_map(declared) {
            types.entry(name.to_owned()).or_default().push(place.clone());
        }
    }
    assert!(types.len() > 500, "the names of types are found: {}", types.len());
    // Two of one name in one file are one type behind two features.
    let shared = types.iter().filter(|(_, files)| files.iter().any(|file| *file != files[0]));
    let shared: Vec<String> =
        shared.map(|(name, files)| format!("{name}: {}", files.join(", "))).collect();
    assert!(shared.is_empty(), "types that share their name:\n{}", shared.join("\n"));
}

#[test]
fn the_rule_on_names_sees_what_declares_a_type() {
    assert_eq!(declared("pub(crate) struct Row<'a> {"), Some("Row"));
    assert_eq!(declared("    enum Kind {"), Some("Kind"));
    assert_eq!(declared("type Found = Vec<u8>;"), Some("Found"));
    assert_eq!(declared("    type Error = String;"), None);
    assert_eq!(declared("let structure = 1;"), None);
}

#[test]
fn lines_keep_to_a_hundred_columns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    let (mut lines, mut long) = (0, Vec::new());
    for file in &files {
        let text = fs::read_to_string(file).expect("a source file");
        for (i, line) in text.lines().enumerate() {
            lines += 1;
            if line.chars().count() > 100 {
                let place = file.strip_prefix(root).expect("below the root");
                long.push(format!("{}:{}", place.display(), i + 1));
            }
        }
    }
    // What cannot be broken, such as a long link, may stay: 3 lines of 1,000.
    assert!(long.len() * 1000 <= lines * 3, "{} of {lines}: {}", long.len(), long.join(", "));
}

/// Enums of plain words that have the same words and mean different things.
const ALIKE: &[[&str; 2]] = &[
    // Whether a gate counts, and what an inconclusive one does.
    ["GateLevel", "OnInconclusive"],
    // A label or a prediction of a person, and the prediction that people want.
    ["FavourableClass", "LabelSide"],
];

/// Enums without fields at the left margin of a file, with their sorted variants.
fn plain_enums(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((_, rest)) = line.split_once("enum ").filter(|(before, _)| {
            !line.starts_with(' ') && (before.is_empty() || before.starts_with("pub"))
        }) else {
            continue;
        };
        let name = rest.trim_end_matches(" {").to_owned();
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
        let told = |line: &&&str| !line.trim_start().starts_with(['/', '#']);
        let mut words: Vec<String> = body
            .iter()
            .filter(told)
            .map(|line| line.trim().trim_end_matches(',').to_owned())
            .collect();
        words.sort();
        let plain = |word: &String| word.chars().all(char::is_alphanumeric);
        if words.len() > 1 && words.iter().all(plain) {
            found.push((name, words));
        }
    }
    found
}

/// A word of the job is the engine's type: an enum that only repeats another, to be translated
/// variant by variant, is a second name for one thing.
#[test]
fn no_enum_repeats_another() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut enums: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for file in &files {
        for (name, words) in plain_enums(&fs::read_to_string(file).expect("a source file")) {
            enums.entry(words).or_default().push(name);
        }
    }
    assert!(enums.len() > 50, "enums are found: {}", enums.len());
    let mut alike: Vec<Vec<String>> = enums.into_values().filter(|names| names.len() > 1).collect();
    alike.iter_mut().for_each(|names| names.sort());
    alike.retain(|names| !ALIKE.iter().any(|pair| names == pair));
    assert!(alike.is_empty(), "one type serves: {alike:?}");
    let text = "pub enum A {\n    /// X.\n    X,\n    #[default]\n    Y,\n}\n\
                enum B {\n    X(u8),\n    Y,\n}\n";
    assert_eq!(plain_enums(text), [("A".to_owned(), vec!["X".to_owned(), "Y".to_owned()])]);
}
