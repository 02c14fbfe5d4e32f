//! Words, names and blocks of a new job as YAML writes them.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};

use crate::control_characters::is_hidden;
use crate::data::source::csv_import::CsvBlock;
use crate::job::resolve::flat::literal;
use crate::param::Name;

// Writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => { let _ = writeln!($text, $($format)*); };
}

/// A part of a job by its template, in which `<<x>>` is filled in.
///
/// # Panics
/// Never: the templates name only what they are given.
pub(super) fn fill(template: &str, values: Value) -> String {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder()
        .block_delimiters("<%", "%>")
        .variable_delimiters("<<", ">>")
        .comment_delimiters("<#", "#>")
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build();
    environment.set_syntax(syntax.expect("the delimiters differ"));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let text = environment.render_str(template, values);
    text.expect("a template that names what it is given").trim_end().to_owned() + "\n"
}

/// A word as YAML writes it.
pub(super) fn word(text: &str) -> String {
    let reserved = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"]
        .contains(&text.to_ascii_lowercase().as_str());
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "_-. ".contains(c))
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && !text.ends_with(' ');
    if plain && !reserved {
        return text.to_owned();
    }
    let mut quoted = String::new();
    for c in serde_json::Value::from(text).to_string().chars() {
        match c {
            // YAML takes some of them as line ends and refuses others.
            c if is_hidden(c) => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    // What looks like a variable is text here.
    literal(&quoted)
}

/// Words of the data in a comment: on its line.
pub(super) fn comment_text(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}

pub(super) fn words<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(word).collect::<Vec<_>>().join(", ")
}

/// The name of a job from that of its file.
pub(super) fn name(data: &str) -> String {
    let file = data.trim_end_matches(['/', '*']).rsplit('/').next().unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default().to_lowercase();
    let plain = stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let name = plain.collect::<String>();
    let name: String = name.trim_matches('-').chars().take(60).collect();
    if Name::new(&name).is_some() { name } else { "audit".to_owned() }
}

/// The keys of a text file that differ from what is read without them, and what of it was found in
/// the values.
pub(super) fn csv_block(path: &str, csv: &CsvBlock) -> (String, String) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let sign = |sign: char| quoted(&sign.to_string());
    let plain = CsvBlock::at(&csv.path);
    let is_encoded = csv.encoding != plain.encoding;
    let is_other = (csv.decimal, csv.thousands) != (plain.decimal, plain.thousands);
    let nulls: Vec<String> = csv.null_values.iter().map(|null| quoted(null.as_str())).collect();
    let has_nulls = !nulls.is_empty();
    let keys = [
        ("path", Some(path.to_owned())),
        ("delimiter", (csv.delimiter != plain.delimiter).then(|| sign(csv.delimiter))),
        ("encoding", is_encoded.then(|| "windows-1252".to_owned())),
        ("decimal", (csv.decimal != plain.decimal).then(|| sign(csv.decimal))),
        ("thousands", csv.thousands.map(sign)),
        ("null_values", has_nulls.then(|| format!("[{}]", nulls.join(", ")))),
    ];
    let keys = keys.into_iter().filter_map(|(key, value)| Some(format!("{key}: {}", value?)));
    let found = [
        is_encoded.then_some("the file is not valid UTF-8"),
        is_other.then_some("at least one column writes numbers this way: check the values"),
        has_nulls.then_some("words among numbers, treated as missing"),
    ];
    let found: Vec<&str> = found.into_iter().flatten().collect();
    let why = if found.is_empty() { String::new() } else { format!("   # {}", found.join("; ")) };
    (Vec::from_iter(keys).join(", "), why)
}

pub(super) use line;
