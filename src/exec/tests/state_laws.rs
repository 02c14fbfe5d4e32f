//! The laws that every state keeps, and a state as text, as it is passed between processes.

use std::path::Path;

use crate::error::{Error, Result};
use crate::exec::accumulator::{Accumulator, StateType};
use crate::exec::hash::sha256;
use crate::num::seed::RandomStream;

/// A state as its file holds it: a line with name, version and hash, and the state as JSON.
pub(crate) fn state_text<S: Accumulator>(mut state: S) -> Result<String> {
    state.settle();
    let body = serde_json::to_string(&state)
        .map_err(|bug| Error::operator("write", "state", bug, None))?;
    Ok(format!("{}\n{body}", head_of::<S>(&body)))
}

fn head_of<S: StateType>(body: &str) -> String {
    format!("cfaudit-state {} {} {}", S::NAME, S::VERSION, sha256(body.as_bytes()))
}

pub(crate) fn parse_state<S: Accumulator>(text: &str, path: &Path) -> Result<S> {
    let hint = "delete the cache and run again, with one version of cfaudit everywhere";
    let (head, body) = text.split_once('\n').unwrap_or((text, ""));
    let wanted = head_of::<S>(body);
    if head != wanted {
        let cause = format!("it starts with `{head}`; expected `{wanted}`");
        return Err(Error::operator("read", path, cause, hint));
    }
    serde_json::from_str(body).map_err(|cause| Error::operator("read", path, cause, hint))
}

/// What the test of the laws needs of a state: rows that are made up, one per number.
pub(crate) trait SampleState: Accumulator {
    /// A state without rows; each variant has other settings.
    fn sample(variant: u64) -> Self;

    /// Number of variants.
    const VARIANTS: u64 = 1;

    /// Adds the row with this number.
    fn add_sample(&mut self, row: u64);
}

/// Two parts of made-up rows, and both together, each as JSON.
pub(crate) fn two_parts_and_whole<S: SampleState>() -> [String; 3] {
    let state_of = |rows: std::ops::Range<u64>| {
        let mut state = S::sample(0);
        rows.for_each(|row| state.add_sample(row));
        state.settle();
        serde_json::to_string(&state).unwrap()
    };
    [state_of(0..9), state_of(9..40), state_of(0..40)]
}

/// The laws of a state: an empty one is neutral, merging is associative and commutative, what is
/// written is read back, and any random cut of the rows gives the whole.
pub(crate) fn keeps_the_laws<S: SampleState>() {
    const ROWS: u64 = 60;
    let text = |state: S| state_text(state).unwrap();
    for variant in 0..S::VARIANTS {
        let state_of = |rows: &[u64]| {
            let mut state = S::sample(variant);
            rows.iter().for_each(|&row| state.add_sample(row));
            state
        };
        let merged = |mut first: S, second: S| {
            first.merge(second);
            first
        };
        let all: Vec<u64> = (0..ROWS).collect();
        let (a, b, c) = (&all[..7], &all[7..40], &all[40..]);
        let (whole, name) = (text(state_of(&all)), S::NAME);
        assert_ne!(whole, text(state_of(&[])), "{name}: rows leave no trace");
        assert_ne!(text(state_of(a)), text(state_of(b)), "{name}: other rows are no other state");
        assert_eq!(
            text(merged(state_of(&[]), state_of(&all))),
            whole,
            "{name}: an empty state at the left"
        );
        assert_eq!(
            text(merged(state_of(&all), state_of(&[]))),
            whole,
            "{name}: an empty state at the right"
        );
        assert_eq!(
            text(merged(state_of(a), state_of(b))),
            text(merged(state_of(b), state_of(a))),
            "{name}: commutative"
        );
        let left = merged(merged(state_of(a), state_of(b)), state_of(c));
        let right = merged(state_of(a), merged(state_of(b), state_of(c)));
        assert_eq!(text(left), text(right), "{name}: associative");
        let read: S = parse_state(&whole, Path::new("state")).unwrap();
        assert_eq!(text(read), whole, "{name}: written and read back");
        for round in 0..8 {
            let mut stream = RandomStream::new(round, "cuts");
            let n_parts = 1 + (stream.u01() * 6.0) as usize;
            let mut parts: Vec<Vec<u64>> = vec![Vec::new(); n_parts];
            for row in &all {
                parts[(stream.u01() * n_parts as f64) as usize].push(*row);
            }
            // Rows within a part come in any order too, and parts travel as files.
            parts.iter_mut().for_each(|part| part.reverse());
            let travelled = |part: &Vec<u64>| {
                parse_state::<S>(&text(state_of(part)), Path::new("state")).unwrap()
            };
            let sum = parts.iter().map(travelled).reduce(merged).unwrap();
            assert_eq!(text(sum), whole, "{name}: a random cut of the rows");
        }
    }
}
