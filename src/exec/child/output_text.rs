//! What a program wrote to its standard error, fit to be shown: the last lines, without the values
//! of secrets and without characters that hide.

use std::borrow::Cow;
use std::ops::Range;

use super::env_variable::EnvVariable;
use crate::control_characters::is_hidden;

/// Bytes of standard error kept while the program runs.
///
/// More than is shown, so that no value is truncated before it is blanked.
const KEPT: usize = 64 << 10;

/// Largest number of lines (`LINES`) and bytes (`SHOWN`) of standard error in a message.
const LINES: usize = 20;

const SHOWN: usize = 8 << 10;

const LINE: usize = 400;

/// Values shorter than this are not blanked: they would match by chance.
pub(super) const SECRET: usize = 4;

/// The last bytes of what a program wrote.
#[derive(Debug, Default)]
pub(super) struct OutputTail {
    bytes: Vec<u8>,
    cut: bool,
}

impl OutputTail {
    /// Adds what the program wrote next.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
            self.cut = true;
        }
    }

    /// The last lines, fit to be shown.
    ///
    /// If a line was overwritten after carriage returns, only its last state is kept.
    pub(super) fn lines(&self, env: &[EnvVariable]) -> Vec<String> {
        let text = redacted(env, &String::from_utf8_lossy(&self.bytes));
        // A first line without its beginning is dropped; if it is the only one, its end is kept.
        let whole = match text.split_once('\n') {
            Some((_, rest)) if self.cut => rest,
            None if self.cut => {
                text.char_indices().rev().nth(LINE - 1).map_or(text.as_str(), |(at, _)| &text[at..])
            }
            _ => &text,
        };
        let states =
            whole.split('\n').filter_map(|line| line.trim_end_matches('\r').rsplit('\r').next());
        let lines: Vec<String> = states
            .filter(|line| !line.trim().is_empty())
            .map(|line| printable(line.trim_end()))
            .collect();
        let mut shown = lines[lines.len().saturating_sub(LINES)..].to_vec();
        while shown.iter().map(String::len).sum::<usize>() > SHOWN {
            shown.remove(0);
        }
        shown
    }
}

/// Names and values of the secret variables.
pub(super) fn secrets(env: &[EnvVariable]) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    env.iter()
        .filter(|v| v.secret && v.value.len() >= SECRET)
        .map(|v| (v.name.as_str(), v.value.to_string_lossy()))
}

/// The positions of secret values, with the names of their variables.
pub(super) fn occurrences<'a>(env: &'a [EnvVariable], text: &str) -> Vec<(Range<usize>, &'a str)> {
    let mut marks = Vec::new();
    for (name, value) in secrets(env) {
        let mut from = 0;
        // A value may overlap itself or another one.
        while let Some(at) =
            text.get(from..).and_then(|rest| rest.find(value.as_ref())).map(|at| from + at)
        {
            marks.push((at..at + value.len(), name));
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    marks
}

/// The text with a name in place of each mark.
///
/// If marks overlap, the one that begins first wins, then the longest.
pub(super) fn redact(text: &str, mut marks: Vec<(Range<usize>, &str)>) -> String {
    marks.sort_by(|(a, x), (b, y)| (a.start, b.end, x).cmp(&(b.start, a.end, y)));
    let (mut out, mut done) = (String::new(), 0);
    for (mark, name) in marks {
        if mark.start >= done {
            out.push_str(&format!("{}[{name}]", &text[done..mark.start]));
        }
        done = done.max(mark.end);
    }
    out.push_str(&text[done..]);
    out
}

/// The text without secret values.
pub(super) fn redacted(env: &[EnvVariable], text: &str) -> String {
    redact(text, occurrences(env, text))
}

/// At most [`LINE`] characters, with unsafe ones escaped.
pub(super) fn printable(line: &str) -> String {
    let mut text = String::new();
    for (i, c) in line.chars().enumerate() {
        if i == LINE {
            text.push_str("...");
            break;
        }
        if is_hidden(c) { text.extend(c.escape_default()) } else { text.push(c) }
    }
    text
}
