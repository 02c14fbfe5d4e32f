//! No phrase in Rust: what pages, gates, comparisons and explanations say is in templates and texts,
//! and no code searches such a sentence: it reads codes and their arguments. The files that search
//! are listed with their number, which may only shrink.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::work::root;

/// Modules whose words people read on a page or in a table.
const MODULES: [&str; 5] = ["diff", "explain", "gate", "metric", "report"];

/// Further modules whose code could search a sentence: they make tables, and what pages show.
const MAKERS: [&str; 2] = ["stage/report", "table"];

/// Methods that look into a text.
const LOOKING: [&str; 18] = [
    "contains",
    "ends_with",
    "match_indices",
    "replace",
    "replacen",
    "rfind",
    "rsplit",
    "rsplit_once",
    "rsplitn",
    "split",
    "split_once",
    "splitn",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_end_matches",
    "trim_matches",
    "trim_start_matches",
];

/// Filters and tests of templates that do.
const LOOKING_IN_TEMPLATES: [&str; 4] = ["endingwith", "replace", "split", "startingwith"];

/// Code and templates that look for words, blanks or backticks in a text, by file below `src`, how
/// often: in names of slices and of files, in numbers, and in the lists of words that the program
/// carries.
const LOOKS: &[(&str, usize)] = &[
    ("diff/definitions.rs", 1),
    ("gate/reason/words.txt", 1),
    ("metric/catalog/texts.rs", 2),
    ("report/diff.rs", 3),
    ("report/export.rs", 2),
    ("report/page/number.rs", 5),
    ("report/page/report.html", 1),
    ("report/page/voice.html", 1),
    ("report/section/provenance.html", 2),
    ("report/section/slices.rs", 1),
    ("report/section/waiting.html", 1),
    ("stage/report/cases.rs", 1),
];

/// Calls whose text is an error, or is of the program itself.
fn is_of_error(callee: &str) -> bool {
    let last = callee.rsplit("::").next().unwrap_or_default();
    let macros = ["panic", "unreachable", "todo", "unimplemented", "expect", "hint"];
    callee.contains("Error::") || macros.contains(&last) || last.contains("assert")
}

/// A text in code: its line, what it says, and the calls around it, the outermost first.
struct Literal {
    line: usize,
    text: String,
    calls: Vec<String>,
}

/// The literals of a file, without comments, attributes and tests.
fn literals(source: &str) -> Vec<Literal> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let letters: Vec<char> = source.chars().collect();
    let at = |i: usize| letters.get(i).copied().unwrap_or('\0');
    let (mut found, mut calls, mut word) = (Vec::new(), Vec::<String>::new(), String::new());
    let (mut i, mut line) = (0, 1);
    while i < letters.len() {
        let c = at(i);
        if c == '\n' {
            line += 1;
        }
        if c == '/' && at(i + 1) == '/' {
            while i < letters.len() && at(i) != '\n' {
                i += 1;
            }
            continue;
        }
        if c == '#' && at(i + 1) == '[' {
            let mut depth = 0;
            while i < letters.len() {
                match at(i) {
                    '[' => depth += 1,
                    ']' => depth -= 1,
                    '\n' => line += 1,
                    _ => {}
                }
                i += 1;
                if depth == 0 && at(i - 1) == ']' {
                    break;
                }
            }
            continue;
        }
        // A letter, and not a lifetime.
        if c == '\'' && (at(i + 1) == '\\' || at(i + 2) == '\'') {
            // Of one written by a sign or number nothing but blanks are words.
            let text = if at(i + 1) == '\\' { String::new() } else { at(i + 1).to_string() };
            found.push(Literal { line, text, calls: calls.clone() });
            i += if at(i + 1) == '\\' { 3 } else { 2 };
            while i < letters.len() && at(i) != '\'' && at(i - 1) != '\'' {
                i += 1;
            }
            i += usize::from(at(i) == '\'');
            continue;
        }
        let hashes = letters[i.min(letters.len())..].iter().skip(1).take_while(|c| **c == '#');
        let hashes = if c == 'r' { hashes.count() } else { 0 };
        let is_raw = c == 'r' && word.is_empty() && at(i + 1 + hashes) == '"';
        if c == '"' || is_raw {
            let start = line;
            let mut text = String::new();
            i += if is_raw { hashes + 2 } else { 1 };
            let ends = |i: usize| at(i) == '"' && (0..hashes).all(|k| at(i + 1 + k) == '#');
            while i < letters.len() && !(at(i) == '"' && (!is_raw || ends(i))) {
                if at(i) == '\\' && !is_raw {
                    i += 1;
                    if at(i) == 'u' {
                        // Of a sign written by its number only the end stays.
                        while i < letters.len() && at(i) != '}' {
                            i += 1;
                        }
                    }
                    if at(i) == '\n' {
                        // The text goes on at the first letter of the next line.
                        while at(i).is_whitespace() {
                            line += usize::from(at(i) == '\n');
                            i += 1;
                        }
                        continue;
                    }
                }
                line += usize::from(at(i) == '\n');
                text.push(at(i));
                i += 1;
            }
            i += 1 + if is_raw { hashes } else { 0 };
            found.push(Literal { line: start, text, calls: calls.clone() });
            continue;
        }
        let is_constant = word.len() > 1 && !word.contains(|c: char| c.is_lowercase() || c == ' ');
        if is_constant
            && matches!(c, ')' | ',')
            && at((i - 1).saturating_sub(word.chars().count())) == '('
        {
            found.push(Literal { line, text: word.clone(), calls: calls.clone() });
        }
        match c {
            '(' | '[' | '{' => calls.push(std::mem::take(&mut word)),
            ')' | ']' | '}' => _ = calls.pop(),
            _ => {}
        }
        if c.is_alphanumeric() || matches!(c, '_' | ':' | '!') {
            word.push(if c == '!' { ' ' } else { c });
            word = word.trim_end().to_owned();
        } else {
            word.clear();
        }
        i += 1;
    }
    found
}

/// Whether a text is a phrase: two words next to each other, and no markup.
fn is_phrase(text: &str) -> bool {
    let is_word = |word: &str| {
        let word = word.trim_end_matches([',', ';', ':', '.', '?', ')']).trim_start_matches('(');
        word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'')
    };
    let markup = ["=\"", "<", "px", "font:", "@media"].iter().any(|sign| text.contains(sign));
    let words: Vec<&str> = text.split(' ').collect();
    !markup && words.windows(2).any(|pair| is_word(pair[0]) && is_word(pair[1]))
}

/// The phrases of a file that are no error.
fn phrases(source: &str) -> Vec<Literal> {
    let is_shown = |of: &Literal| !of.calls.iter().any(|call| is_of_error(call));
    literals(source).into_iter().filter(|of| is_phrase(&of.text) && is_shown(of)).collect()
}

/// The texts with which code looks into another: what they hold could be a word or part of one.
fn looks(source: &str) -> Vec<Literal> {
    let is_meant = |of: &Literal| {
        let has_words = of.text.contains(|c: char| matches!(c, ' ' | '`') || c.is_alphabetic());
        has_words && of.calls.last().is_some_and(|call| LOOKING.contains(&call.as_str()))
    };
    literals(source).into_iter().filter(is_meant).collect()
}

/// The filters and tests with which a template looks into a text.
fn looks_of_template(source: &str) -> Vec<Literal> {
    let mut found = Vec::new();
    for (text, line) in source.lines().zip(1..) {
        for word in LOOKING_IN_TEMPLATES {
            let used = text.match_indices(word).filter(|(at, _)| {
                let before = text[..*at].trim_end();
                let is_whole = !text[at + word.len()..].starts_with(char::is_alphanumeric);
                is_whole && (before.ends_with(['|', '"']) || before.ends_with(" is"))
            });
            let literal = |_| Literal { line, text: word.to_owned(), calls: Vec::new() };
            found.extend(used.map(literal));
        }
    }
    found
}

/// The files below a folder whose names end in one of these.
fn files_of(folder: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            files_of(&path, ends, found);
        } else if ends.iter().any(|end| path.extension().is_some_and(|of| of == *end)) {
            found.push(path);
        }
    }
}

/// What `read` finds in every file of the modules, by file below `src`.
fn counted(
    modules: &[&str],
    ends: &[&str],
    read: impl Fn(&str) -> Vec<Literal>,
) -> BTreeMap<String, Vec<Literal>> {
    let src = root().join("src");
    let mut files = Vec::new();
    modules.iter().for_each(|module| files_of(&src.join(module), ends, &mut files));
    files.retain(|file| file.iter().all(|part| part != "tests" && part != "tests.rs"));
    let mut counted = BTreeMap::new();
    for file in files {
        let found = read(&fs::read_to_string(&file).unwrap());
        let name = file.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/");
        if !found.is_empty() {
            counted.insert(name, found);
        }
    }
    counted
}

/// A list of files with a number each may only shrink.
fn shrinks(counted: &BTreeMap<String, Vec<Literal>>, list: &[(&str, usize)]) {
    let before: BTreeMap<&str, usize> = list.iter().copied().collect();
    let mut faults = String::new();
    for (file, found) in counted {
        let allowed = before.get(file.as_str()).copied().unwrap_or(0);
        if found.len() > allowed {
            faults += &format!("{file}: {}, {allowed} before\n", found.len());
            found.iter().for_each(|of| faults += &format!("  {}: {:?}\n", of.line, of.text));
        }
    }
    assert!(faults.is_empty(), "phrases belong in templates, codes in tables:\n{faults}");
    let now: Vec<(&str, usize)> =
        counted.iter().map(|(file, found)| (file.as_str(), found.len())).collect();
    let lines: Vec<String> =
        now.iter().map(|(file, n)| format!("    (\"{file}\", {n}),")).collect();
    assert!(now == list, "fewer than before; the list is now\n{}", lines.join("\n"));
}

#[test]
fn sentences_are_in_templates() {
    shrinks(&counted(&MODULES, &["rs"], phrases), &[]);
}

#[test]
fn no_code_looks_into_a_sentence() {
    let modules = [&MODULES[..], &MAKERS].concat();
    let mut all = counted(&modules, &["rs"], looks);
    all.extend(counted(&modules, &["html", "txt"], looks_of_template));
    shrinks(&all, LOOKS);
}

#[test]
fn the_rule_sees_phrases() {
    let source = "//! Two words.\n#[doc = \"Two words\"]\nfn f() {\n    let a = format!(\"{x} of \
                  them is\");\n    Error::operator(format!(\"no such file\"));\n    x.expect(\"is \
                  always there\");\n    g('\"', \"one\", r#\"<a b=\"x\">\"#);\n    \
                  t.strip_prefix(\"the value\");\n}\n#[cfg(test)]\nmod tests {\n    \"two \
                  words\"\n}\n";
    let found = phrases(source);
    let phrases: Vec<(usize, &str)> = found.iter().map(|of| (of.line, of.text.as_str())).collect();
    assert_eq!(phrases, [(4, "{x} of them is"), (8, "the value")]);
    let source = "fn f() {\n    t.split_once(\"; \");\n    t.split(\".\");\n    \
                  t.replace(\"\\u{a0}\", \"\");\n    t.contains(\"pair\");\n    t.find(\"of\");\n    \
                  t.trim_start_matches(\"none: \");\n    t.ends_with(&format!(\"{x} of\"));\n}\n";
    let found = looks(source);
    let phrases: Vec<(usize, &str)> = found.iter().map(|of| (of.line, of.text.as_str())).collect();
    assert_eq!(phrases, [(2, "; "), (5, "pair"), (7, "none: ")]);
    let source = "fn f() {\n    t.split('`');\n    t.split(',');\n    t.strip_prefix(NONE);\n    \
                  ALL.contains(&ONE);\n    t.find('x');\n    t.replace('\\n', \"\");\n}\n";
    let found = looks(source);
    let phrases: Vec<(usize, &str)> = found.iter().map(|of| (of.line, of.text.as_str())).collect();
    assert_eq!(phrases, [(2, "`"), (4, "NONE")]);
    let source = "the split {{ m.split }}\n{{ t|replace(\"a\", \"\") }}{% if t is startingwith(\"x\") \
                  %}\n{{ paths|map(\"split\", \"/\") }}{{ splits|list }}";
    let found = looks_of_template(source);
    let phrases: Vec<(usize, &str)> = found.iter().map(|of| (of.line, of.text.as_str())).collect();
    assert_eq!(phrases, [(2, "replace"), (2, "startingwith"), (3, "split")]);
    assert!(is_phrase("people who switch") && !is_phrase("interval, 5") && !is_phrase("a b"));
}
