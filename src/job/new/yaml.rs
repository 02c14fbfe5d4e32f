//! Words, names and blocks of a new job as YAML writes them.

use std::fmt::Write as _;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, UndefinedBehavior};

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
            // YAML takes some for ends of a line and refuses others.
            c if is_hidden(c) => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    // What looks like a variable is text here.
    literal(&quoted)
}

/// Whether a character is not a letter: control characters, ends of lines, marks of direction; all
/// of them have four hex digits.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
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
    let stem = data
        .trim_end_matches(['/', '*'])
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .split('.')
        .next()
        .unwrap_or_default();
    let mut name: String = stem
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    name = name.trim_matches('-').chars().take(60).collect();
    if Name::new(&name).is_some() { name } else { "audit".to_owned() }
}

/// The keys of a text file that differ from what is read without them, and what of it was found in
/// the values.
pub(super) fn csv_block(path: &str, csv: &CsvBlock) -> (String, String) {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let plain = CsvBlock::at(&csv.path);
    let mut keys = format!("path: {path}");
    let mut found = Vec::new();
    if csv.delimiter != plain.delimiter {
        let _ = write!(keys, ", delimiter: {}", quoted(&csv.delimiter.to_string()));
    }
    if csv.encoding != plain.encoding {
        let _ = write!(keys, ", encoding: windows-1252");
        found.push("the file is not valid UTF-8");
    }
    if csv.decimal != plain.decimal {
        let _ = write!(keys, ", decimal: {}", quoted(&csv.decimal.to_string()));
    }
    if let Some(sign) = csv.thousands {
        let _ = write!(keys, ", thousands: {}", quoted(&sign.to_string()));
    }
    if (csv.decimal, csv.thousands) != (plain.decimal, plain.thousands) {
        found.push("at least one column writes numbers this way: check the values");
    }
    if !csv.null_values.is_empty() {
        let words: Vec<String> = csv.null_values.iter().map(|null| quoted(null.as_str())).collect();
        let _ = write!(keys, ", null_values: [{}]", words.join(", "));
        found.push("words among numbers, treated as missing");
    }
    let why = if found.is_empty() { String::new() } else { format!("   # {}", found.join("; ")) };
    (keys, why)
}

pub(super) use line;
