//! Plain technical English: phrases that are old-fashioned, inverted or private vocabulary occur
//! neither in the documents nor in the messages, comments and pages of the program.

use std::fs;
use std::path::{Path, PathBuf};

use crate::layers::sources;
use crate::work::{root, yaml_files};

/// Phrases that readers stumble over, with what to write instead. Lower case; whole words.
const BANNED: &[(&str, &str)] = &[
    ("a matter of course", "obvious"),
    ("afresh", "again"),
    ("all the same", "anyway, nevertheless"),
    ("alone tells", "shows by itself"),
    ("anew", "again"),
    ("are told", "are reported"),
    ("as far as it is", "if it is"),
    ("attribute alone", "only the attribute"),
    ("beside", "next to, in addition to, compared with"),
    ("chance alone", "chance"),
    ("counterfactuals alone", "only the counterfactuals"),
    ("ensures fairness", "say what was measured"),
    ("fixes the bias", "may help; say what was tried and measured"),
    ("folder alone", "only the folder"),
    ("for want of", "for lack of"),
    ("goes with", "belongs to, is associated with"),
    ("gone through", "read, processed"),
    ("guarantees fairness", "say what was measured"),
    ("had they belonged", "as members of"),
    ("hand on", "copy, pass on"),
    ("handed on", "passed on"),
    ("hands on", "passes on"),
    ("held against", "compared with"),
    ("in the place of", "instead of"),
    ("is told", "is reported"),
    ("its kin", "related to it"),
    ("keys alone", "only the keys"),
    ("knows nothing of", "does not know about"),
    ("made elsewhere", "computed elsewhere"),
    ("makes the model fair", "say which rate became smaller, with its interval"),
    ("name alone", "only the name"),
    ("no matter of course", "not obvious"),
    ("no part in", "not used in"),
    ("nobody who", "no person who"),
    ("nobody yet", "empty"),
    ("noise alone", "noise"),
    ("nowhere to be found", "was not found"),
    ("of nobody", "without people, of an empty set"),
    ("of whom", "use an active construction"),
    ("removes the bias", "say which rate became smaller, with its interval"),
    ("rest on", "depend on, are based on"),
    ("rests on", "depends on, is based on"),
    ("robust to confounding", "say how strong a hidden cause it withstands"),
    ("rows alone", "only the rows"),
    ("rows that train", "training rows"),
    ("said of", "said about"),
    ("say of", "say about"),
    ("says of", "says about"),
    ("scores alone", "only the scores"),
    ("seed alone", "only the seed"),
    ("set side by side", "compared"),
    ("sets side by side", "compares"),
    ("stands above", "is above, is in the numerator"),
    ("stands alone", "is alone"),
    ("stands at", "is at"),
    ("stands behind", "is behind"),
    ("stands below", "is below"),
    ("stands beside", "is next to"),
    ("stands for", "represents"),
    ("stands in", "is in, replaces"),
    ("stands next", "is next"),
    ("stands on", "is on"),
    ("stands there", "is there"),
    ("stands twice", "occurs twice"),
    ("stands under", "is listed under"),
    ("tables alone", "only the tables"),
    ("take it out", "remove it"),
    ("take the file away", "remove the file"),
    ("take them out", "remove them"),
    ("takes the place of", "replaces"),
    ("tell of", "show, report"),
    ("tell them apart", "distinguish them"),
    ("tells of", "shows, reports"),
    ("tells them apart", "distinguishes them"),
    ("their kin", "related ones"),
    ("this room", "this module"),
    ("to be had", "available"),
    ("told apart", "distinguished"),
    ("told by", "reported by"),
    ("took the place of", "replaced"),
    ("values alone", "only the values"),
    ("was told", "was reported"),
    ("whatever it weighs", "regardless of its weight"),
    ("whatever they weigh", "without weights"),
    ("who reads", "readers of"),
    ("whoever", "a person who, anyone who"),
    ("will fix", "try, may help"),
    ("will help", "try, may help"),
    ("will make the model", "try, may help"),
    ("will remove the", "try, may help"),
    ("words of the trade", "common terms"),
    ("worked out by hand", "computed by hand"),
    ("would have got", "would have received"),
];

/// A piece of prose: the line where it begins, and its words with single blanks, in lower case.
struct ProsePiece {
    line: usize,
    words: String,
}

fn piece(line: usize, text: &str) -> ProsePiece {
    let words: Vec<&str> = text.split_whitespace().collect();
    ProsePiece { line, words: words.join(" ").to_lowercase() }
}

/// The comments and strings of Rust source, outside of its test module. Comments on lines that
/// follow each other are one piece.
fn prose(source: &str) -> Vec<ProsePiece> {
    let source = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    // The first line of a comment, its last one, and its text.
    let mut comment = (0, 0, String::new());
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let raw = rest.strip_prefix('r').map(|r| (r.trim_start_matches('#'), r));
        let taken = if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            let text = rest[..end].trim_start_matches(['/', '!']);
            if comment.1 + 1 != line {
                found.push(piece(comment.0, &comment.2));
                comment = (line, line, String::new());
            }
            comment = (comment.0, line, comment.2 + text + "\n");
            end
        } else if let Some((inner, r)) = raw.filter(|(inner, _)| inner.starts_with('"')) {
            let marks = "#".repeat(r.len() - inner.len());
            let end = inner[1..].find(&format!("\"{marks}")).map_or(inner.len(), |at| at + 1);
            found.push(piece(line, &inner[1..end]));
            1 + marks.len() + end + (1 + marks.len()).min(inner.len() - end)
        } else if first == '"' {
            let mut end = 0;
            while end < after.len() && after.as_bytes()[end] != b'"' {
                end += if after.as_bytes()[end] == b'\\' { 2 } else { 1 };
            }
            let text = after[..end].replace("\\\n", "").replace("\\n", " ");
            found.push(piece(line, &text));
            end + 2
        } else if let Some(quoted) =
            ["'\"'", "'\\\"'", "'\\''"].iter().find(|q| rest.starts_with(**q))
        {
            quoted.len()
        } else {
            first.len_utf8()
        };
        line += rest[..taken].matches('\n').count();
        rest = &rest[taken..];
    }
    found.push(piece(comment.0, &comment.2));
    found
}

/// Paragraphs of a document, a page template or a job file: parts between empty lines.
fn paragraphs(text: &str) -> Vec<ProsePiece> {
    let (mut found, mut line) = (Vec::new(), 1);
    for paragraph in text.split("\n\n") {
        let bare: Vec<&str> =
            paragraph.lines().map(|l| l.trim_start().trim_start_matches("# ")).collect();
        found.push(piece(line, &bare.join(" ")));
        line += paragraph.matches('\n').count() + 2;
    }
    found
}

/// Whether a text holds a phrase as whole words.
fn holds(words: &str, phrase: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    // A name of the program, in code letters or as a placeholder, is not prose.
    let before = |c: char| inside(c) || matches!(c, '`' | '{');
    words.match_indices(phrase).any(|(at, _)| {
        !words[..at].ends_with(before) && !words[at + phrase.len()..].starts_with(inside)
    })
}

/// The templates of pages below a folder.
fn templates(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            templates(&path, found);
        } else if path.extension().is_some_and(|e| e == "html") {
            found.push(path);
        }
    }
}

/// What is read: every document, every shipped job, every page template, the messages of job files,
/// and the sources without their tests.
fn texts() -> Vec<PathBuf> {
    let root = root();
    let mut files: Vec<PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "jobs/models/README.md",
        "src/explain/words.txt",
        "src/job/messages.txt",
        "src/metric/catalog/texts.txt",
        "src/metric/interval.txt",
        "src/metric/reading_path.txt",
        "src/metric/undefined.txt",
    ]
    .map(|name| root.join(name))
    .into();
    let entries = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    files.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "md")));
    templates(&root.join("src/report"), &mut files);
    ["jobs", "jobs/papers"].iter().for_each(|folder| files.extend(yaml_files(folder)));
    let mut code = Vec::new();
    sources(&root.join("src"), &mut code);
    code.retain(|file| {
        file.components().all(|part| part.as_os_str() != "tests" && part.as_os_str() != "tests.rs")
    });
    files.extend(code);
    files
}

#[test]
fn banned_phrases_occur_nowhere() {
    let mut met = Vec::new();
    for file in texts() {
        let text = fs::read_to_string(&file).unwrap();
        let rust = file.extension().is_some_and(|e| e == "rs");
        for piece in if rust { prose(&text) } else { paragraphs(&text) } {
            for (phrase, instead) in BANNED.iter().filter(|(p, _)| holds(&piece.words, p)) {
                let file = file.strip_prefix(root()).unwrap().display();
                met.push(format!("{file}:{}: `{phrase}`: write {instead}", piece.line));
            }
        }
    }
    assert!(met.is_empty(), "{} banned phrases:\n{}", met.len(), met.join("\n"));
}

/// Every phrase is found in a comment over two lines, in a string over two lines and in Markdown,
/// and not in code.
#[test]
fn every_banned_phrase_is_found() {
    assert!(BANNED.is_sorted(), "the list is not sorted");
    for (phrase, _) in BANNED {
        let split = |between: &str| phrase.replace(' ', between);
        let comment = format!("let x = 1;\n    // It {} so.\n", split("\n    // "));
        let string = format!("say(\"It {} so\");\n", split(" \\\n        "));
        let raw = format!("say(r#\"It {phrase} so\"#); let c = '\"';\n");
        for source in [&comment, &string, &raw] {
            assert!(prose(source).iter().any(|p| holds(&p.words, phrase)), "{phrase} in {source}");
        }
        let document = format!("One.\n\nIt {} so.\n", split("\n"));
        assert!(paragraphs(&document).iter().any(|p| p.line == 3 && holds(&p.words, phrase)));
        let code = format!("let {} = '\"'; call(a, 'b');\n", split("_"));
        assert!(!prose(&code).iter().any(|p| holds(&p.words, phrase)), "{code}");
    }
}
