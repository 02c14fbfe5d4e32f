//! The file of states: a line with its format, a line of JSON that says what it is, and the states
//! as JSON lines, compressed.
//!
//! Every state has two lines: what it is ([`StateLabel`]), and the state. `tail -n +3 FILE |
//! zstd -dc | jq` shows them.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::exec::hash::sha256;
use crate::exec::shared_folder::SharedFolder;
use crate::stage::settings::CODE;
use crate::stage::sharding::share::{LabelledState, StateLabel};

/// The first line.
const FORMAT: &str = "cfaudit-state 1";

/// How hard states are compressed: counts shrink to a tenth at once.
const LEVEL: i32 = 3;

/// Largest size of the states of a file as text, in bytes: what a header says is not believed
/// beyond it.
const LARGEST: u64 = 16 << 30;

/// What a file of states is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateHeader {
    /// Id of the plan.
    pub(crate) plan: String,
    /// Fingerprint of the program that wrote it.
    pub(crate) code: String,
    /// The pass.
    pub(crate) pass: String,
    /// Number of the shard; none for the merged states of all.
    pub(crate) shard: Option<usize>,
    /// Number of shards.
    pub(crate) of: usize,
    /// Number of the first row in the source.
    pub(crate) first_row: u64,
    /// Rows of the source.
    pub(crate) rows: u64,
    /// Size of the states as text.
    bytes: u64,
    /// Their SHA-256.
    pub(crate) sha256: String,
}

impl StateHeader {
    /// The header of states that this program writes.
    pub(crate) fn new(
        plan: &str,
        pass: &str,
        (shard, of): (Option<usize>, usize),
        (first_row, rows): (u64, u64),
    ) -> Self {
        StateHeader {
            plan: plan.to_owned(),
            code: CODE.to_owned(),
            pass: pass.to_owned(),
            shard,
            of,
            first_row,
            rows,
            bytes: 0,
            sha256: String::new(),
        }
    }
}

/// The bytes of a file of states.
///
/// # Errors
/// The states cannot be compressed.
pub(crate) fn encoded(header: StateHeader, states: &[u8]) -> Result<Vec<u8>> {
    let header = StateHeader { bytes: states.len() as u64, sha256: sha256(states), ..header };
    let fail = |cause: String| Error::operator("write", "states", cause, None);
    let line = serde_json::to_string(&header).map_err(|bug| fail(bug.to_string()))?;
    let body = zstd::bulk::compress(states, LEVEL).map_err(|cause| fail(cause.to_string()))?;
    let mut bytes = format!("{FORMAT}\n{line}\n").into_bytes();
    bytes.extend(body);
    Ok(bytes)
}

/// States read from a file.
#[derive(Debug)]
pub(crate) struct ReadStates {
    /// What they are.
    pub(crate) header: StateHeader,
    /// The states.
    pub(crate) text: String,
    /// Bytes of the file.
    pub(crate) bytes: u64,
}

/// Reads a file of states; none where there is no such file.
///
/// # Errors
/// It is cut off, altered, or of another format; it cannot be read.
pub(crate) fn read(folder: &SharedFolder, name: &str) -> Result<Option<ReadStates>> {
    let Some(bytes) = folder.read(name)? else { return Ok(None) };
    decoded(&bytes, &folder.path(name)).map(Some)
}

/// The states in the bytes of a file.
fn decoded(bytes: &[u8], path: &Path) -> Result<ReadStates> {
    let damaged = |what: &str| {
        let hint = "remove the file and run the worker or the merge that makes it once more";
        Error::operator("use", path, what, hint)
    };
    let mut parts = bytes.splitn(3, |&byte| byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    if part() != FORMAT.as_bytes() {
        return Err(damaged(&format!("it does not begin with `{FORMAT}`")));
    }
    let header: StateHeader =
        serde_json::from_slice(part()).map_err(|_| damaged("its header cannot be read"))?;
    if header.bytes > LARGEST {
        return Err(damaged("its header names an impossible size"));
    }
    let size = usize::try_from(header.bytes).unwrap_or(usize::MAX);
    let body = zstd::bulk::decompress(part(), size);
    let body = body.map_err(|_| damaged("its states are cut off or altered"))?;
    if body.len() != size || sha256(&body) != header.sha256 {
        return Err(damaged("its states are not those that were written"));
    }
    let text = String::from_utf8(body).map_err(|_| damaged("its states are no text"))?;
    Ok(ReadStates { header, text, bytes: bytes.len() as u64 })
}

/// The states of a text, each with what it is.
///
/// # Errors
/// A line is not what it should be, which the hash of the file would have told.
pub(crate) fn labelled(text: &str, path: &Path) -> Result<Vec<LabelledState>> {
    let mut lines = text.lines();
    let mut states = Vec::new();
    while let Some(line) = lines.next() {
        let label: Option<StateLabel> = serde_json::from_str(line).ok();
        let (Some(label), Some(state)) = (label, lines.next()) else {
            let hint = "plan again, with one version of cfaudit everywhere";
            return Err(Error::operator("use", path, "its states cannot be read", hint));
        };
        states.push((label, state.to_owned()));
    }
    Ok(states)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{StateHeader, decoded, encoded, labelled, sha256};
    use crate::tests::Says;

    const STATES: &str =
        "{\"stage\":\"count\",\"number\":7,\"state\":\"s\",\"version\":1}\n[1,2]\n";

    #[test]
    fn what_is_written_is_read_back_and_damage_is_found() {
        let path = Path::new("part-00000.state");
        let header = StateHeader::new("p", "count", (Some(3), 7), (0, 0));
        let whole = encoded(header.clone(), STATES.as_bytes()).unwrap();
        let found = decoded(&whole, path).unwrap();
        let (bytes, sha256) = (STATES.len() as u64, sha256(STATES.as_bytes()));
        let written = StateHeader { bytes, sha256, ..header };
        assert_eq!((&found.header, found.text.as_str()), (&written, STATES));
        assert_eq!(found.bytes, whole.len() as u64);
        let states = labelled(&found.text, path).unwrap();
        assert_eq!((states[0].0.number, states[0].1.as_str()), (7, "[1,2]"));
        let mut altered = whole.clone();
        *altered.last_mut().unwrap() ^= 1;
        let head = String::from_utf8_lossy(&whole).find("count").unwrap();
        let mut other_format = whole.clone();
        other_format[14] = b'2';
        for bytes in [&whole[..whole.len() - 1], &altered, &other_format, &whole[..head], b""] {
            let refused = decoded(bytes, path).unwrap_err().to_string();
            refused.says(&["part-00000.state", "once more"]);
        }
    }
}
