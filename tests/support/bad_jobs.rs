//! The refused jobs of `tests/jobs/bad`: each is a patch of a sound job, with what is wrong in it.
//!
//! A file holds the cases of one subject, with blank lines between them. A case is a title, `==
//! NAME`, the patch, and the problems. It changes `base/BASE.yaml` of the last `base: BASE` above:
//!
//! - `~LINE` takes the place of the next line with the same key, and of what is indented below it;
//! - `-START` removes the next line that starts so, and what is indented below it; `-` alone, all;
//! - `@START` goes behind the next line that starts so, `@` alone behind the last line;
//! - `+LINE` is put where the patch stands, which is at first behind the last line.
//!
//! A problem is `LINE:COLUMN CODE: what`, and `hint: what to do` below it where it has one.
//! `CFAUDIT_BLESS=1` writes the problems again.

use std::fs;
use std::path::{Path, PathBuf};

/// A refused job.
pub(crate) struct BadJob<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: String,
    /// The lines of its problems.
    pub(crate) expected: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jobs/bad")
}

/// The files of cases with their texts, sorted.
pub(crate) fn subjects() -> Vec<(PathBuf, String)> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// Every refused job.
pub(crate) fn each_bad_job(mut look: impl FnMut(&BadJob<'_>)) {
    for (_, cases) in subjects() {
        rewritten(&cases, |job| {
            look(job);
            String::new()
        });
    }
}

/// A file of cases with other problems.
pub(crate) fn rewritten(cases: &str, mut problems: impl FnMut(&BadJob<'_>) -> String) -> String {
    let mut base = String::new();
    let mut parts = Vec::new();
    for part in cases.trim_end().split("\n\n") {
        if let Some(name) = part.strip_prefix("base: ") {
            base = fs::read_to_string(folder().join(format!("base/{name}.yaml"))).unwrap();
        }
        let Some(name) = part.strip_prefix("== ").and_then(|case| case.lines().next()) else {
            assert!(part.starts_with("# ") || part.starts_with("base: "), "no case: {part}");
            parts.push(part.to_owned());
            continue;
        };
        let steps = part.lines().skip(1).take_while(|line| line.starts_with(['~', '-', '@', '+']));
        let steps: Vec<&str> = steps.collect();
        let expected = part.lines().skip(1 + steps.len()).map(|line| format!("{line}\n")).collect();
        let job = BadJob { name, text: patched(&base, &steps.join("\n")), expected };
        let head: String =
            part.lines().take(1 + steps.len()).map(|line| format!("{line}\n")).collect();
        parts.push((head + &problems(&job)).trim_end().to_owned());
    }
    parts.join("\n\n") + "\n"
}

/// A job after the steps of a patch.
#[track_caller]
pub(crate) fn patched(base: &str, steps: &str) -> String {
    let mut lines: Vec<&str> = base.lines().collect();
    let mut here = None;
    for step in steps.lines() {
        let (sign, text) = step.split_at(1);
        if sign == "+" {
            let at = here.unwrap_or(lines.len());
            lines.insert(at, text);
            here = Some(at + 1);
            continue;
        }
        if text.is_empty() {
            lines.truncate(if sign == "-" { 0 } else { lines.len() });
            here = Some(lines.len());
            continue;
        }
        let key = text.find(':').map_or(text, |colon| &text[..=colon]);
        let start = if sign == "~" { key } else { text };
        let from = here.unwrap_or(0);
        let next = lines[from..].iter().position(|line| line.starts_with(start));
        let at = from + next.unwrap_or_else(|| panic!("no line starts with `{start}`"));
        if sign == "@" {
            here = Some(at + 1);
            continue;
        }
        let indent = |line: &str| line.len() - line.trim_start().len();
        let is_below = |line: &&&str| indent(line) > indent(lines[at]);
        let below = lines[at + 1..].iter().take_while(is_below).count();
        lines.splice(at..=at + below, (sign == "~").then_some(text));
        here = Some(at + usize::from(sign == "~"));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
