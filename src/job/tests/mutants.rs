//! Mutated jobs: whatever is done to a shipped job or a refused one, checking it ends, and each
//! refusal says where.

use std::sync::mpsc;
use std::time::Duration;

use super::{Path, PathBuf};
use crate::error::Error;
use crate::job::check::read_text;

/// Mutants of the whole test; `CFAUDIT_MUTANTS` asks for another number.
const MUTANTS: u64 = 40_000;

/// No check of one job takes so long: it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(300);

/// Numbers that fit nowhere.
const NUMBERS: [&str; 9] = [
    "1e999",
    "-1e308",
    "99999999999999999999999",
    "-1",
    "0",
    "0.1e-400",
    ".inf",
    "1_000",
    "0xffffffffffffffffff",
];

/// Texts that YAML, paths or messages may stumble over.
const HOSTILE: [&str; 26] = [
    "\u{0}",
    "\u{feff}",
    "\u{202e}",
    "\u{85}",
    "\t",
    "${",
    "${vars.}",
    "${vars.x}",
    "${vars.a.b}",
    "*a",
    "&a ",
    "&a [*a]",
    "!!map ",
    "<<: *a",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "- ",
    "? ",
    "|",
    "> ",
    "%s {0} {}",
    "👩‍👩‍👧 é\u{301}",
];

/// Numbers by a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n.max(1) as u64).unwrap()
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// The byte ranges of the words of a text.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_part = c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        match (start, is_part) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn mutated(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let words = words(text);
    let replaced =
        |(from, to): (usize, usize), by: &str| format!("{}{by}{}", &text[..from], &text[to..]);
    if lines.is_empty() || words.is_empty() {
        return dice.of(&HOSTILE).to_owned();
    }
    let (line, word) = (dice.below(lines.len()), words[dice.below(words.len())]);
    let other = words[dice.below(words.len())];
    match dice.below(10) {
        0 => drop(lines.remove(line)),
        1 => {
            // Two words change places, if they are not the same.
            let (first, second) = (word.min(other), word.max(other));
            if first.1 <= second.0 {
                let (a, b) = (&text[first.0..first.1], &text[second.0..second.1]);
                let between = &text[first.1..second.0];
                return replaced((first.0, second.1), &format!("{b}{between}{a}"));
            }
        }
        2 => {
            let indent = ["", " ", "  ", "   ", "        ", "\t"][dice.below(6)];
            lines[line] = format!("{indent}{}", lines[line].trim_start());
        }
        3 => lines.insert(line, lines[line].clone()),
        4 => {
            let many = dice.below(12);
            let block = lines[line..(line + many).min(lines.len())].to_vec();
            let at = dice.below(lines.len());
            lines.splice(at..at, block);
        }
        5 => {
            let at = dice.below(lines.len());
            lines.swap(line, at);
        }
        6 => return replaced(word, dice.of(&NUMBERS)),
        7 => return replaced((word.0, word.0), dice.of(&HOSTILE)),
        8 => return replaced(word, &text[other.0..other.1]),
        _ => {
            let long = [dice.of(&HOSTILE), "x", "[", "{a: "][dice.below(4)];
            return replaced(word, &long.repeat(1 << dice.below(13)));
        }
    }
    lines.join("\n") + "\n"
}

/// The shipped and the refused jobs.
fn jobs() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in
        ["jobs", "jobs/base", "jobs/papers", "jobs/recipes", "tests/jobs", "tests/jobs/bad"]
    {
        let entries = root.join(folder).read_dir().unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|e| e == "yaml")));
    }
    files.sort();
    let text = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some((path, text))
    };
    files.into_iter().filter_map(text).collect()
}

#[test]
#[ignore = "slow, `make test-slow` runs it: 40,000 mutated jobs"]
fn mutated_jobs_are_refused_with_a_line() {
    let asked = std::env::var("CFAUDIT_MUTANTS").ok().and_then(|n| n.parse().ok());
    let n: u64 = asked.unwrap_or(MUTANTS);
    let jobs = jobs();
    assert!(jobs.len() > 400);
    let (send, receive) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        for i in 0..n {
            let mut dice = Dice(i.wrapping_mul(0x5851_f42d_4c95_7f2d));
            let (file, text) = &jobs[dice.below(jobs.len())];
            let mut text = text.clone();
            for _ in 0..=dice.below(3) {
                text = mutated(&text, &mut dice);
            }
            let fault = match read_text(file, text.as_bytes()) {
                Ok(_) => None,
                Err(Error::Job(problems)) => problems
                    .iter()
                    .find(|problem| {
                        let line = problem.place.as_ref().map_or(0, |place| place.line);
                        line == 0 && problem.code != "too-many-problems"
                    })
                    .map(|problem| format!("no line: {problem}")),
                Err(other) => Some(format!("not about the job: {other}")),
            };
            let fault = fault.map(|fault| format!("{}: {fault}\n{text}", file.display()));
            send.send((i, fault)).unwrap();
        }
    });
    let mut refused = 0;
    while refused < n {
        match receive.recv_timeout(HANGS_AFTER) {
            Ok((i, fault)) => assert_eq!(fault, None, "mutant {i}"),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("mutant {refused} hangs"),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                panic!("mutant {refused}: {:?}", worker.join().map_err(|_| "a panic, see above"))
            }
        }
        refused += 1;
    }
}
