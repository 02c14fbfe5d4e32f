//! Embeds the fingerprint of the tree that is built, which the keys of stages hold, and makes a
//! function of each message of a job file.

#![expect(clippy::disallowed_methods, reason = "the script runs before the program is there")]

use std::fmt::Write as _;
use std::path::Path;

#[expect(dead_code, reason = "the library uses more of it")]
#[path = "src/exec/hash.rs"]
mod hash;
#[expect(unreachable_pub, reason = "the library offers it too")]
#[path = "src/exec/source_fingerprint.rs"]
mod source_fingerprint;

fn main() -> Result<(), String> {
    for path in source_fingerprint::OTHERS.iter().chain(&[source_fingerprint::SOURCES]) {
        println!("cargo::rerun-if-changed={path}");
    }
    let root = std::env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?;
    println!(
        "cargo::rustc-env=CFAUDIT_PROGRAM={}",
        source_fingerprint::fingerprint(&source_fingerprint::files(Path::new(&root))?)
    );
    let out = std::env::var("OUT_DIR").map_err(|e| e.to_string())?;
    let text = std::fs::read_to_string(MESSAGES).map_err(|e| format!("{MESSAGES}: {e}"))?;
    std::fs::write(Path::new(&out).join("messages.rs"), messages(&text)?).map_err(|e| e.to_string())
}

/// The messages of job files.
const MESSAGES: &str = "src/job/messages.txt";

/// A function for each message, which takes what is filled in, in the order of the text; the codes
/// with their meanings; and the messages as they stand in the file. A name that no check says is
/// dead code, and one that is not in the file does not compile.
fn messages(text: &str) -> Result<String, String> {
    let (mut functions, mut codes, mut all) = (String::new(), String::new(), String::new());
    let mut code = "";
    let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("  ") else {
            let (of, meaning) = line.split_once(": ").ok_or(format!("no meaning: {line}"))?;
            code = of;
            write!(codes, "({code:?}, {meaning:?}),").map_err(|e| e.to_string())?;
            continue;
        };
        let (name, reads) = head.split_once(" < ").unwrap_or((head, ""));
        let reads: Vec<&str> = reads.split_whitespace().collect();
        let mut sentence = || lines.next().and_then(|line| line.strip_prefix("    "));
        let (Some(what), Some(hint)) = (sentence(), sentence()) else {
            return Err(format!("the message {name} has no two lines"));
        };
        let hint = if hint == "-" { "" } else { hint };
        let mut filled = Vec::new();
        let (made, help) = (template(what, &mut filled), template(hint, &mut filled));
        let [said, advice] = [&made, &help].map(|text| {
            let filled_in = text.replace("{{", "").replace("}}", "").contains('{');
            if filled_in {
                format!("format!({text:?})")
            } else {
                format!("{:?}.to_owned()", plain(text))
            }
        });
        let [what, hint] = [plain(&made), plain(&help)];
        let takes: String = filled.iter().map(|word| format!("{word}: impl Display,")).collect();
        write!(
            functions,
            "/// {what}\npub(crate) fn {name}({takes}) -> Said {{
                Said {{ code: {code:?}, reads: &{reads:?}, what: {said}, hint: {advice} }}
            }}\n"
        )
        .and_then(|()| write!(all, "({code:?}, {what:?}, {hint:?}),"))
        .map_err(|e| e.to_string())?;
    }
    Ok(format!(
        "{functions}
        /// The codes of problems in job files with their meanings, for `cfaudit explain`.
        pub const CODES: &[(&str, &str)] = &[{codes}];
        /// Every message: its code, what is wrong, and what to do.
        pub(crate) const MESSAGES: &[(&str, &str, &str)] = &[{all}];"
    ))
}

/// A text for `format!` as it reads.
fn plain(text: &str) -> String {
    text.replace("{{", "{").replace("}}", "}")
}

/// A text as `format!` takes it, and the words that are filled in. `{x}` is one, `{{x}}` is not,
/// `{{{x}}}` is one in braces; every other brace is text.
fn template<'a>(text: &'a str, filled: &mut Vec<&'a str>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let opens = rest.bytes().take_while(|b| *b == b'{').count();
        let is_word = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'_';
        let length = rest.bytes().skip(opens).take_while(is_word).count();
        let (word, after) = rest[opens..].split_at(length);
        let closes = after.bytes().take_while(|b| *b == b'}').count();
        let (before, taken) = match (opens, closes) {
            (0, _) | (_, 0) => (None, 0),
            _ if word.is_empty() => (None, 0),
            (2, 2) => (Some((1, false)), 2),
            (3, 3) => (Some((1, true)), 3),
            (n, _) => (Some((n - 1, true)), 1),
        };
        let Some((braces, is_filled)) = before else {
            let (brace, after) = rest.split_at(opens.max(1));
            out.push_str(&brace.replace('{', "{{").replace('}', "}}"));
            rest = after;
            continue;
        };
        out.push_str(&"{{".repeat(braces));
        out.push_str(&if is_filled { format!("{{{word}}}") } else { word.to_owned() });
        if is_filled && !filled.contains(&word) {
            filled.push(word);
        }
        rest = &after[taken..];
        // The braces that close what was opened around the word.
        if taken > 1 {
            out.push_str("}}");
        }
    }
    out + rest
}
