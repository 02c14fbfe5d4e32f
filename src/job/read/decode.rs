//! Turns a tree into the job's types and finds every problem on the way, each with its place.
//!
//! serde stops at the first error. So an error is recorded, the value it is about becomes a
//! [`YamlValue::Hole`] (an unknown key is removed, a missing key is filled with a hole), and the
//! tree is read again until nothing new turns up. A hole reads as the requested type, so a value
//! is complained about once, and what is right can still be checked; `damaged` names what cannot.
//!
//! Rules: a text takes any scalar as it is written; numbers and booleans are YAML 1.2 core,
//! unquoted and finite; an empty value is an empty map where a map is expected, else an error; a
//! variant is a map with one key, or its bare word where it needs no knob.

use serde::de::DeserializeOwned;

use crate::error::{FilePlace, JobProblem};
use crate::job::read::nearest::{all, list, nearest, suggest};
use crate::job::read::reader::{NodeReader, SHAPES, WrongValue};
use crate::job::read::tree::{
    PathStep, YamlMapKey, YamlNode, YamlScalar, YamlValue, dotted, shorten,
};

/// Problems of one job after which reading stops.
pub(crate) const MAX_PROBLEMS: usize = 50;

/// What reading a tree gave.
#[derive(Debug, Clone)]
pub(crate) struct DecodedTree<T> {
    /// The value, if one could be made; without meaning at the damaged places.
    pub value: Option<T>,
    /// Everything that is wrong, in the order in which it was found.
    pub problems: Vec<JobProblem>,
    /// Dotted paths of values that were wrong or missing and of keys that were removed.
    pub damaged: Vec<String>,
}

/// Reads a tree as `T`. `root` keeps its holes.
pub(crate) fn decode<T: DeserializeOwned>(root: &mut YamlNode) -> DecodedTree<T> {
    let mut out = DecodedTree { value: None, problems: Vec::new(), damaged: Vec::new() };
    // Each turn adds a problem, or tries the next shape of a hole.
    for _ in 0..MAX_PROBLEMS * usize::from(SHAPES) {
        let error = match T::deserialize(NodeReader { node: root, owner: &root.place }) {
            Ok(value) => {
                out.value = Some(value);
                return out;
            }
            Err(error) => *error.0,
        };
        let mut steps = error.steps;
        steps.reverse();
        // What does not fit a hole is no news: another shape may.
        if let Some(shape) = hole_at(root, &steps) {
            *shape += 1;
            if *shape >= SHAPES {
                return out;
            }
            continue;
        }
        if let WrongValue::Missing(field) = &error.wrong {
            steps.push(PathStep::Key((*field).to_owned()));
        }
        let path = dotted(&steps);
        let repaired = match &error.wrong {
            WrongValue::UnknownKey { key, known } => {
                remove(root, &steps) && presume_key(root, &steps, key, known)
            }
            WrongValue::Key(_) => remove(root, &steps),
            _ => make_hole(root, &steps),
        };
        out.problems.push(problem(&error.wrong, &steps, error.place));
        out.damaged.push(path);
        if !repaired || out.problems.len() >= MAX_PROBLEMS {
            return out;
        }
    }
    out
}

/// Makes a hole where the steps lead; what is missing on the way becomes a map.
pub(crate) fn make_hole(root: &mut YamlNode, steps: &[PathStep]) -> bool {
    let mut node = root;
    for step in steps {
        let place = node.place.clone();
        if let YamlValue::Scalar(scalar) = &node.value {
            let word = (!scalar.is_null()).then(|| scalar.text.clone());
            let nothing = || YamlNode {
                value: YamlValue::Scalar(YamlScalar { text: String::new(), quoted: false }),
                place: place.clone(),
            };
            node.value = YamlValue::Map(
                word.map(|text| (YamlMapKey { text, place: place.clone() }, nothing()))
                    .into_iter()
                    .collect(),
            );
        }
        node = match (&mut node.value, step) {
            (YamlValue::Seq(items), PathStep::Index(i)) => match items.get_mut(*i) {
                Some(item) => item,
                None => return false,
            },
            (YamlValue::Map(entries), PathStep::Key(key)) => {
                let i = match entries.iter().position(|(k, _)| k.text == *key) {
                    Some(i) => i,
                    None => {
                        entries.push((
                            YamlMapKey { text: key.clone(), place: place.clone() },
                            YamlNode { value: YamlValue::Hole(0), place },
                        ));
                        entries.len() - 1
                    }
                };
                &mut entries[i].1
            }
            _ => return false,
        };
    }
    let dug = !matches!(node.value, YamlValue::Hole(n) if n > 0);
    node.value = YamlValue::Hole(0);
    dug
}

fn walk<'a>(root: &'a mut YamlNode, steps: &[PathStep]) -> Option<&'a mut YamlNode> {
    steps.iter().try_fold(root, |node, step| match (&mut node.value, step) {
        (YamlValue::Seq(items), PathStep::Index(i)) => items.get_mut(*i),
        (YamlValue::Map(entries), PathStep::Key(key)) => {
            entries.iter_mut().find(|(k, _)| k.text == *key).map(|(_, node)| node)
        }
        _ => None,
    })
}

fn remove(root: &mut YamlNode, steps: &[PathStep]) -> bool {
    let Some((PathStep::Key(key), parents)) = steps.split_last() else { return false };
    match walk(root, parents) {
        Some(YamlNode { value: YamlValue::Map(entries), .. }) => {
            let before = entries.len();
            entries.retain(|(k, _)| k.text != *key);
            entries.len() < before
        }
        // The bare word of a variant that does not exist.
        Some(node) => {
            node.value = YamlValue::Hole(0);
            true
        }
        None => false,
    }
}

/// The key that an unknown one was probably meant to be is there, with a value that cannot be
/// known: it is not missing as well.
fn presume_key(root: &mut YamlNode, steps: &[PathStep], key: &str, known: &[&str]) -> bool {
    let Some((guess, (_, parents))) = nearest(key, known.iter().copied()).zip(steps.split_last())
    else {
        return true;
    };
    if walk(root, parents)
        .is_some_and(|node| matches!(node.value, YamlValue::Map(_)) && node.get(guess).is_none())
    {
        make_hole(root, &[parents, &[PathStep::Key(guess.to_owned())]].concat());
    }
    true
}

fn hole_at<'a>(root: &'a mut YamlNode, steps: &[PathStep]) -> Option<&'a mut u8> {
    let end = (0..=steps.len()).find(|&end| {
        matches!(walk(root, &steps[..end]), Some(YamlNode { value: YamlValue::Hole(_), .. }))
    })?;
    match walk(root, &steps[..end]) {
        Some(YamlNode { value: YamlValue::Hole(shape), .. }) => Some(shape),
        _ => None,
    }
}

/// Keys of earlier versions: the key, a key that only their block has, and what to write instead.
const RENAMED: &[(&str, &str, &str)] = &[(
    "positive",
    "class",
    "write `class: VALUE`, the class whose probability is the score, as the model writes it; a \
     position is not meant",
)];

/// What to write instead of a key of an earlier version.
fn renamed_hint(key: &str, known: &[&str]) -> Option<&'static str> {
    let renamed = RENAMED.iter().find(|(old, new, _)| *old == key && known.contains(new));
    renamed.map(|(.., hint)| *hint)
}

fn problem(wrong: &WrongValue, steps: &[PathStep], place: Option<FilePlace>) -> JobProblem {
    let path = dotted(steps);
    let block = match steps.split_last() {
        Some((_, [])) | None => "the job".to_owned(),
        Some((_, parents)) => format!("`{}`", dotted(parents)),
    };
    let (code, what, hint) = match wrong {
        WrongValue::UnknownKey { key, known } => (
            "unknown-key",
            format!("unknown key `{}` in {block}", shorten(key)),
            Some(match renamed_hint(key, known) {
                Some(hint) => hint.to_owned(),
                None => suggest(key, "known keys", known.iter().copied()),
            }),
        ),
        WrongValue::UnknownVariant { word, known } => {
            let hint = suggest(word, "known words", known.iter().copied());
            ("unknown-word", format!("`{path}` cannot be `{}`", shorten(word)), Some(hint))
        }
        WrongValue::Missing(field) => {
            ("missing-key", format!("{block} has no `{field}`"), Some(missing_hint(field)))
        }
        WrongValue::Type { expected, found, hint } => (
            "wrong-type",
            format!("`{path}` must be {expected}, found {found}"),
            hint.map(str::to_owned).or_else(|| type_hint(expected)),
        ),
        WrongValue::Value(message) => {
            let share = message.contains("from 0 to 1") || message.contains("between 0 and 1");
            (
                "bad-value",
                format!("`{path}`: {message}"),
                share.then(|| "a percentage is divided by 100: 95 % is 0.95".to_owned()),
            )
        }
        WrongValue::Key(message) => ("bad-value", format!("{message}, as a key of {block}"), None),
        WrongValue::Empty { expected } => {
            let hint = "write the value, or leave the key out; the text `null` needs quotes";
            (
                "empty-value",
                format!("`{path}` is empty, it must be {expected}"),
                Some(hint.to_owned()),
            )
        }
        WrongValue::Variants { found, known } => {
            let found = if found.is_empty() { "none".to_owned() } else { all(found) };
            (
                "one-of",
                format!("`{path}` takes exactly one key, found {found}"),
                Some(format!("choose one of {}", list(known))),
            )
        }
        WrongValue::Bare { word, expected } => (
            "wrong-type",
            format!("`{word}` in {block} needs a value, {expected}"),
            Some(format!("write `{{{word}: ...}}`")),
        ),
    };
    JobProblem { code, path, place, what, hint }
}

fn type_hint(expected: &str) -> Option<String> {
    match expected {
        "a map" => Some("write names with their values, such as `{NAME: ...}`".to_owned()),
        "`true` or `false`" => Some("`yes`, `no`, `on` and `off` are texts in YAML 1.2".to_owned()),
        "a finite number" => Some(
            "write it in digits, such as `0.1` for 10 %; for an open end use a number beyond all \
             values, because `.inf` and `.nan` are refused"
                .to_owned(),
        ),
        "a list" => Some("put the value into brackets, such as `[a, b]`".to_owned()),
        "a text" => {
            Some("write one text; quote it if it holds `: ` or starts with a bracket".to_owned())
        }
        _ => None,
    }
}

/// What to write where a required key is missing.
fn missing_hint(field: &str) -> String {
    let example = match field {
        "cfaudit" => "cfaudit: 1",
        "name" => "name: adult-sex",
        "data" => "data: {rows: ..., label: ..., sensitive: ...}",
        "models" => "models: {my-model: {scores: {factual: {column: score}}}}",
        "rows" => "rows: {parquet: PATH}",
        "label" => "label: {column: C, positive: [...], favourable: positive}` or `label: none",
        "sensitive" => "sensitive: {sex: {groups: [Male, Female], reference: Male}}",
        "positive" => {
            "positive: [...]`, the values that count as positive; add \
             `positive: [\">50K\"]"
        }
        "favourable" => "favourable: positive` or `favourable: negative",
        "groups" => "groups: [...]",
        "reference" => "reference: GROUP",
        "metric" => "metric: ID",
        "model" => "model: NAME",
        "l2" => "l2: 1.0",
        "factual" => "factual: {column: score}",
        "train" => "train: 0.8",
        "audit" => "audit: 0.2",
        "noise" => "noise: {normal: {sd: 1}}",
        _ => return format!("add `{field}: ...`"),
    };
    format!("add `{example}`")
}
