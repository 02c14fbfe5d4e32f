//! The architecture as a test: a module imports only what its row allows, and a large dependency
//! only what its row of `CRATES` allows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Module, and the modules of this crate that it may name (besides `error`). The lower ones may
/// name only the parts of `exec` that read files and compute hashes; `diff` and `report` only the
/// lists of strategies and of kinds of models; `job` only types of parameters: those of rows in
/// `data`, the settings in `counterfactual`, `model`, `recourse` and `augment`, what decides in
/// `gate`, and families, metrics and the favourable side in `metric`.
const LAYERS: &str = "
error:
param:
unit: param
control_characters:
nearest:
text: control_characters
num:
exec: control_characters
table: param exec::files exec::object
folder: param num table exec::files exec::hash
data: param nearest num table exec::files exec::object exec::hash exec::replaced_file exec::pieces
data: exec::accumulator exec::buckets
causal: param num data
counterfactual: param num data causal exec::accumulator
model: param num data exec::files
metric: param text num exec::accumulator
augment: param num data counterfactual
recourse: param num data
why: param num table data metric
gate: param text num table folder metric
diff: param text num table folder metric counterfactual::strategy model::kind
job: param control_characters nearest data counterfactual model metric recourse why::knobs augment::knobs gate::decide_by
job: exec::files exec::object exec::hash
report: param control_characters text num::short_number table folder metric counterfactual::strategy model::kind
report: gate::reason
report: exec::files exec::hash
explain: text num::short_number table folder metric job data
stage: param unit control_characters num table folder data causal counterfactual model augment metric recourse why
stage: gate diff job exec report explain
rejudge: table folder gate diff job exec report stage
proof: text table folder exec report stage rejudge
cli: control_characters nearest text table folder data job exec report explain stage rejudge proof";

/// Crate, and the modules that may name it.
const CRATES: &str = "
polars: data table stage
arrow: data table
parquet: data table
sqlparser: data
serde_yaml: job
granit_parser: job
minijinja: text report job gate diff explain
object_store: exec
tokio: exec
futures_util: exec
ureq: data
zip: data proof
clap: cli
clap_complete: cli
clap_mangen: cli
indicatif: cli
tracing_subscriber: cli
signal_hook: cli";

/// The rows of such a table; several of one name are one.
fn rows(table: &'static str) -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut rows: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (name, words) in table.lines().filter_map(|line| line.split_once(':')) {
        rows.entry(name).or_default().extend(words.split_whitespace());
    }
    rows
}

/// The files of `src` by their names below it, and their texts.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let text = |file: PathBuf| {
        let name = file.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
        (name, fs::read_to_string(&file).expect("a source file"))
    };
    files.into_iter().map(text).collect()
}

/// Whether a file below `src` holds tests only.
fn is_test(name: &str) -> bool {
    name.split('/').any(|part| part == "tests" || part == "tests.rs")
}

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

/// The code of a file without comments and without what only its tests have.
pub(crate) fn code(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut all = text.lines().enumerate();
    while let Some((i, line)) = all.next() {
        let indent = line.len() - line.trim_start().len();
        if line[indent..].starts_with("#[cfg(test)]") {
            // Up to the end of the item, which is no deeper than its attribute.
            all.by_ref().find(|(_, line)| {
                let starts = line.len() - line.trim_start().len();
                starts == indent && line.ends_with([';', '}'])
            });
            continue;
        }
        let line = line.split("//").next().unwrap_or_default();
        lines.push((i + 1, line.to_owned()));
    }
    lines
}

/// Whether `name` is in `line` as the head of a path: `name::`.
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
    let (layers, crates) = (rows(LAYERS), rows(CRATES));
    let mut faults = Vec::new();
    for (name, text) in texts() {
        let module = name.split('/').next().expect("a part").trim_end_matches(".rs");
        if module == "lib" || is_test(&name) {
            continue;
        }
        assert!(text.starts_with("//! "), "{name} must open by saying what it is for");
        for (number, line) in code(&text) {
            let mut fault = |what: &str| {
                faults.push(format!("src/{name}:{number}: {module} must not name {what}"))
            };
            if let Some(allowed) = layers.get(module) {
                for other in layers.keys() {
                    let part = |part: &&&str| {
                        part.starts_with(&format!("{other}::")) && names(&line, "crate::", part)
                    };
                    let own = [module, "error"].contains(other)
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
            for (name, users) in &crates {
                if !users.contains(&module) && names(&line, "", name) {
                    fault(name);
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

/// What sums numbers over blocks of rows, whose bytes depend on where the first block begins. No
/// stage that runs in shards may: a shard begins at any row. The blocks of training rows; sizes of
/// row groups, which are multiples of a block; training, and what learns from training rows, which
/// are refused in shards; training rows as a file for a program that trains.
const BY_BLOCKS: &str = "
data/rows/training.rs
table/file/mod.rs stage/plan.rs cli/args.rs
model/lightgbm/mod.rs model/logistic.rs causal/encoding.rs causal/moments.rs causal/person_units.rs
counterfactual/graph_uncertain/rows.rs stage/experiment/added_rows.rs
stage/score/command.rs";

/// A separate test proves that no state depends on where its rows were cut.
#[test]
fn only_training_goes_by_blocks_of_rows() {
    let texts = texts();
    let by_blocks = |(name, text): &&(String, String)| {
        let lines = code(text);
        // Constants of this name that a file has of its own are sizes of buffers.
        let own = lines.iter().any(|(_, line)| line.starts_with("const BLOCK_ROWS"));
        let says = |word: &str| lines.iter().any(|(_, line)| line.contains(word));
        !is_test(name) && (says("TrainingBatch") || !own && says("BLOCK_ROWS"))
    };
    let found = texts.iter().filter(by_blocks).map(|(name, _)| name.as_str());
    let expected: BTreeSet<&str> = BY_BLOCKS.split_whitespace().collect();
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}

#[test]
fn code_goes_on_behind_what_only_tests_have() {
    let text = "a;\n#[cfg(test)]\nmod tests;\nb; // c\n#[cfg(test)]\nmod tests {\n    d;\n}\ne;\n\
                #[cfg(test)]\nuse f::{\n    g,\n};\nh;";
    let lines: Vec<(usize, String)> = code(text);
    let found: Vec<(usize, &str)> = lines.iter().map(|(i, line)| (*i, line.trim())).collect();
    assert_eq!(found, [(1, "a;"), (4, "b;"), (9, "e;"), (14, "h;")]);
}

#[test]
fn the_rule_itself_catches_a_forbidden_import() {
    assert!(names("use crate::model::Scorer;", "crate::", "model"));
    assert!(names("    let x = polars::prelude::lit(1);", "", "polars"));
    assert!(!names("use crate::modelling::X;", "crate::", "model"));
    assert!(names("use crate::exec::files::{self, File};", "crate::", "exec::files"));
    assert!(!names("use crate::exec::result_store::Store;", "crate::", "exec::files"));
    assert!(!names("let polarsish = 1;", "", "polars"));
}

/// The names that a line of code declares as types, without associated types.
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
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in texts() {
        for name in text.lines().filter_map(declared) {
            types.entry(name.to_owned()).or_default().push(file.clone());
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
    let (mut lines, mut long) = (0, Vec::new());
    for (file, text) in texts() {
        lines += text.lines().count();
        let is_long = |(_, line): &(usize, &str)| line.chars().count() > 100;
        let found = (1..).zip(text.lines()).filter(is_long);
        long.extend(found.map(|(number, _)| format!("{file}:{number}")));
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
        let is_code = |line: &&&str| !line.trim_start().starts_with(['/', '#']);
        let mut words: Vec<String> = body
            .iter()
            .filter(is_code)
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
    let mut enums: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (_, text) in texts() {
        for (name, words) in plain_enums(&text) {
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

/// The paths of a `use` tree: `a::{b, c::{d, e}}` is `a::b`, `a::c::d`, `a::c::e`.
fn leaves(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default().trim();
        return vec![path.trim_end_matches("::self").to_owned()];
    };
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inside.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match parts.last_mut() {
            Some(part) if c != ',' || depth > 0 => part.push(c),
            _ => parts.push(String::new()),
        }
    }
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    parts.flat_map(|part| leaves(&format!("{}{part}", head.trim()))).collect()
}

/// The paths of a text that begin at `crate`, `self` or `super`, in `use` lines and in between.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for head in ["crate::", "self::", "super::"] {
        for (at, _) in text.match_indices(head) {
            let before = text[..at].trim_end_matches(char::is_whitespace);
            let rest = &text[at..];
            if before.ends_with("pub(in") {
                continue;
            }
            if before.ends_with("use") {
                found.extend(leaves(rest.split(';').next().unwrap_or_default()));
            } else if !text[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c)) {
                let in_path = |c: char| c.is_alphanumeric() || "_:".contains(c);
                let end = rest.find(|c| !in_path(c)).unwrap_or(rest.len());
                found.push(rest[..end].trim_end_matches(':').to_owned());
            }
        }
    }
    found
}

/// The code of a file by the module that it stands in: that of the file, or one inside it.
fn by_module(text: &str) -> BTreeMap<Option<String>, String> {
    let (mut found, mut inner) = (BTreeMap::<Option<String>, String>::new(), None);
    for (_, line) in code(text) {
        if !line.starts_with(' ')
            && let Some((_, name)) = line.trim_end_matches(" {").rsplit_once("mod ")
            && line.ends_with('{')
        {
            inner = Some(name.to_owned());
        } else if line == "}" {
            inner = None;
        }
        let of = found.entry(inner.clone()).or_default();
        of.push_str(&line);
        of.push(' ');
    }
    found
}

/// The files below `src` that a file names by `crate`, `self` and `super`.
fn named_files(root: &Path, file: &Path, text: &str) -> BTreeSet<PathBuf> {
    let below = file.strip_prefix(root).expect("below src").with_extension("");
    let mut module: Vec<String> =
        below.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    let mut found = BTreeSet::new();
    for (inner, text) in by_module(text) {
        for named in paths(&text) {
            let mut path: Vec<String> = module.iter().cloned().chain(inner.clone()).collect();
            for (i, part) in named.split("::").enumerate() {
                match part {
                    "crate" if i == 0 => path.clear(),
                    "self" => {}
                    "super" => _ = path.pop(),
                    name => path.push(name.to_owned()),
                }
            }
            let holder = (1..=path.len()).rev().find_map(|n| {
                let stem = root.join(path[..n].join("/"));
                let both = [stem.with_extension("rs"), stem.join("mod.rs")];
                both.into_iter().find(|file| file.is_file())
            });
            found.extend(holder.filter(|holder| holder != file));
        }
    }
    found
}

/// The files that a file leads to, itself only by a circle.
fn reached<'a>(
    uses: &'a BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    from: &'a PathBuf,
) -> BTreeSet<&'a PathBuf> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(uses.get(file).into_iter().flatten().filter(|of| reached.insert(*of)));
    }
    reached
}

#[test]
fn no_circle_of_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut uses: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    for (name, text) in texts().iter().filter(|(name, _)| !is_test(name) && name != "lib.rs") {
        let file = root.join(name);
        uses.insert(file.clone(), named_files(&root, &file, text));
    }
    let files: Vec<&PathBuf> = uses.keys().collect();
    assert!(uses.values().map(BTreeSet::len).sum::<usize>() > 1000, "the imports are read");
    let all: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        files.iter().map(|file| (*file, reached(&uses, file))).collect();
    let mut circles: BTreeSet<BTreeSet<&PathBuf>> = BTreeSet::new();
    for file in files.iter().filter(|file| all[*file].contains(*file)) {
        let both = files.iter().filter(|of| all[file].contains(*of) && all[*of].contains(file));
        circles.insert(both.copied().collect());
    }
    assert!(circles.is_empty(), "files that name each other in a circle: {circles:?}");
}

#[test]
fn the_rule_on_circles_sees_what_a_file_names() {
    assert_eq!(
        leaves("crate::a::{self, B, c::{D, e as f}}"),
        ["crate::a", "crate::a::B", "crate::a::c::D", "crate::a::c::e"]
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let text = "//! Text.\nuse super::read;\nuse crate::{\n    error::Result,\n};\n\
                fn f() { super::history::g(crate::unit::h) }\n\
                pub(in crate::table) mod inner {\n    use super::x;\n}\n";
    let found = named_files(&root, &root.join("folder/manifest.rs"), text);
    let wanted =
        ["error.rs", "folder/history.rs", "folder/read.rs", "unit.rs"].map(|file| root.join(file));
    assert_eq!(found, BTreeSet::from(wanted));
}
