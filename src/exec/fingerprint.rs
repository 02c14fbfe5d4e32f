//! The key of a stage: the table of everything that is hashed, and what differs from the last run.
//!
//! The key of a stage is the SHA-256 of the parts below, each with its length. Equal keys mean
//! equal results, on any machine.
//!
//! | Part | In the key | Why |
//! | --- | --- | --- |
//! | format of the store | yes | an entry of an older layout is never read |
//! | `code` of the stage | yes | another build of cfaudit may compute otherwise: the hash of its sources |
//! | kind and id | yes | tables carry the names of models and sets; two equal models must not share rows that name one of them |
//! | inputs, names and values, in order | yes | settings as canonical text, user files as content hashes |
//! | keys of the needed stages, in order | yes | so a change anywhere above reaches every stage below |
//! | contents of the needed stages | no | compared separately (below), so that all keys are known before anything runs |
//! | times of files | no | a copied or touched file has the same rows |
//! | absolute paths, name of the job | no | another folder, machine or job shares the result; pipelines give paths as written, or not at all |
//! | threads, batch size, memory limit | no | they cannot change a byte |
//!
//! In addition to its key an entry holds the hash of the files of each needed stage. If a program
//! of the user gives another result on a forced run, its key is the same, and that hash shows the
//! change: stages that depend on the old result run again; if the result is the same, no stage
//! does.
//!
//! Choice: a stage names the first difference in the order code, inputs, needs; one reason is
//! enough for a reader to act on.

use std::fmt;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::hash::hash_parts;

/// Layout of the store; raise it when `stage.json` or the key changes meaning.
pub(super) const STORE_FORMAT: u32 = 1;

/// The file of a result that holds its key and its fingerprint; no stage writes a file of this
/// name.
pub(super) const STAGE_FILE: &str = "stage.json";

/// Everything that goes into the key of one stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageFingerprint {
    /// Id of the stage.
    pub(super) id: String,
    /// Kind of the stage.
    pub(super) kind: String,
    /// Fingerprint of the program behind it.
    pub(super) code: String,
    /// Its inputs other than needed stages: name to value.
    pub(super) inputs: IndexMap<String, String>,
    /// The stages it needs: id to key.
    pub(super) needs: IndexMap<String, String>,
}

impl StageFingerprint {
    /// The key: 64 hex digits.
    pub(super) fn key(&self) -> String {
        let (format, n_inputs, n_needs) =
            (STORE_FORMAT.to_string(), self.inputs.len().to_string(), self.needs.len().to_string());
        let head = ["cfaudit-stage", &format, &self.code, &self.kind, &self.id, &n_inputs];
        let inputs = self.inputs.iter().flat_map(|(name, value)| [name.as_str(), value.as_str()]);
        hash_parts(
            head.into_iter()
                .chain(inputs)
                .chain([n_needs.as_str()])
                .chain(self.needs.values().map(String::as_str)),
        )
    }

    /// Why a stage with this fingerprint has no result, given that of the job's last run.
    pub(super) fn reason(&self, last: Option<&StageFingerprint>) -> StaleReason {
        let Some(last) = last else { return StaleReason::NeverRun };
        if self.code != last.code {
            return StaleReason::CodeChanged { old: last.code.clone(), new: self.code.clone() };
        }
        let mut inputs = self.inputs.keys().chain(last.inputs.keys());
        if let Some(name) = inputs.find(|name| self.inputs.get(*name) != last.inputs.get(*name)) {
            let [old, new] = [last, self].map(|entry| entry.inputs.get(name).cloned());
            return StaleReason::InputChanged { name: name.clone(), old, new };
        }
        let mut needs = self.needs.keys().chain(last.needs.keys());
        if let Some(id) = needs.find(|id| self.needs.get(*id) != last.needs.get(*id)).cloned() {
            return match [last, self].map(|entry| entry.needs.contains_key(&id)) {
                [false, _] => StaleReason::NeedAdded { id },
                [_, false] => StaleReason::NeedRemoved { id },
                [true, true] => StaleReason::NeedReran { id },
            };
        }
        // The content is equal: the order changed, or the result was removed from the store.
        StaleReason::EntryMissing
    }
}

/// Why a stage runs; `Display` gives it in words, with the old and the new value shortened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StaleReason {
    /// No earlier run of this job had the stage.
    NeverRun,
    /// Another program computed the result.
    CodeChanged {
        /// Its fingerprint.
        old: String,
        /// The fingerprint of this program.
        new: String,
    },
    /// An input has another value, is new or is gone.
    InputChanged {
        /// Its name.
        name: String,
        /// Its value before; none for a new one.
        old: Option<String>,
        /// Its value now; none for a removed one.
        new: Option<String>,
    },
    /// It needs a stage that it did not need before.
    NeedAdded {
        /// The needed stage.
        id: String,
    },
    /// It no longer needs a stage.
    NeedRemoved {
        /// The stage.
        id: String,
    },
    /// A needed stage ran, or will run, with another result.
    NeedReran {
        /// The needed stage.
        id: String,
    },
    /// Nothing changed, but its result is no longer in the store.
    EntryMissing,
    /// Its result in the store is damaged.
    EntryDamaged {
        /// The file, relative to the entry.
        file: String,
        /// The damage.
        what: String,
    },
    /// The user forced the stage.
    Forced,
}

impl fmt::Display for StaleReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StaleReason::NeverRun => write!(f, "never run"),
            StaleReason::CodeChanged { old, new } => {
                write!(
                    f,
                    "made by another program (sources `{}`, now `{}`)",
                    shorten(old, 0),
                    shorten(new, 0)
                )
            }
            StaleReason::InputChanged { name, old: None, new } => {
                write!(f, "`{name}` is new: `{}`", shorten(new.as_deref().unwrap_or_default(), 0))
            }
            StaleReason::InputChanged { name, old: Some(old), new: None } => {
                write!(f, "`{name}` was removed, it was `{}`", shorten(old, 0))
            }
            StaleReason::InputChanged { name, old: Some(old), new: Some(new) } => {
                let (old, new) = shorten_pair(old, new);
                write!(f, "`{name}` changed from `{old}` to `{new}`")
            }
            StaleReason::NeedAdded { id } => write!(f, "now depends on `{id}`"),
            StaleReason::NeedRemoved { id } => write!(f, "no longer depends on `{id}`"),
            StaleReason::NeedReran { id } => write!(f, "depends on `{id}`, which changed"),
            StaleReason::EntryMissing => write!(f, "its result is no longer in the cache"),
            StaleReason::EntryDamaged { file, what } => {
                write!(f, "its result in the cache is damaged: `{file}` {what}")
            }
            StaleReason::Forced => write!(f, "forced"),
        }
    }
}

/// Number of characters of a value that a reason shows.
const SHOWN: usize = 60;

/// Both values, from shortly before their first difference on.
fn shorten_pair(old: &str, new: &str) -> (String, String) {
    if old.chars().count().max(new.chars().count()) <= SHOWN || is_hash(old) || is_hash(new) {
        return (shorten(old, 0), shorten(new, 0));
    }
    let common = old.chars().zip(new.chars()).take_while(|(a, b)| a == b).count();
    let from = common.saturating_sub(SHOWN / 3);
    (shorten(old, from), shorten(new, from))
}

/// One line of at most [`SHOWN`] characters from character `from` on.
///
/// The first 12 digits of a hash.
fn shorten(value: &str, from: usize) -> String {
    if is_hash(value) {
        return value.chars().take(12).collect();
    }
    let mut rest = value.chars().skip(from).map(|c| if c.is_control() { ' ' } else { c });
    let mut text = if from > 0 { "...".to_owned() } else { String::new() };
    text.extend(rest.by_ref().take(SHOWN));
    if rest.next().is_some() {
        text.push_str("...");
    }
    text
}

fn is_hash(value: &str) -> bool {
    value.len() == 64 && value.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{StageFingerprint, StaleReason};

    fn fingerprint(
        code: &str,
        inputs: &[(&str, &str)],
        needs: &[(&str, &str)],
    ) -> StageFingerprint {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
        };
        StageFingerprint {
            id: "train/a".to_owned(),
            kind: "train".to_owned(),
            code: code.to_owned(),
            inputs: map(inputs),
            needs: map(needs),
        }
    }

    #[test]
    fn every_part_moves_the_key() {
        let base = fingerprint("1", &[("l2", "1"), ("seed", "42")], &[("split", "k")]);
        let mut keys = vec![base.key()];
        for changed in [
            fingerprint("2", &[("l2", "1"), ("seed", "42")], &[("split", "k")]),
            fingerprint("1", &[("l2", "2"), ("seed", "42")], &[("split", "k")]),
            fingerprint("1", &[("seed", "42"), ("l2", "1")], &[("split", "k")]),
            fingerprint("1", &[("l2", "1")], &[("split", "k")]),
            fingerprint("1", &[("l2", "1"), ("seed", "42")], &[("split", "m")]),
            fingerprint("1", &[("l2", "1"), ("seed", "42")], &[]),
            StageFingerprint { id: "train/b".to_owned(), ..base.clone() },
            StageFingerprint { kind: "fit".to_owned(), ..base.clone() },
        ] {
            keys.push(changed.key());
        }
        let n = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), n);
        assert_eq!(base.key(), base.clone().key());
    }

    #[test]
    fn reasons_in_words() {
        let last = fingerprint("1", &[("l2", "1"), ("seed", "42")], &[("split", "k")]);
        let check = |now: StageFingerprint, words: &str| {
            assert_eq!(now.reason(Some(&last)).to_string(), words)
        };
        check(fingerprint("2", &[], &[]), "made by another program (sources `1`, now `2`)");
        check(
            fingerprint("1", &[("l2", "0.5"), ("seed", "42")], &[("split", "k")]),
            "`l2` changed from `1` to `0.5`",
        );
        check(fingerprint("1", &[("omit", "race")], &[]), "`omit` is new: `race`");
        check(fingerprint("1", &[("l2", "1")], &[]), "`seed` was removed, it was `42`");
        check(
            fingerprint("1", &[("l2", "1"), ("seed", "42")], &[("split", "m")]),
            "depends on `split`, which changed",
        );
        check(
            fingerprint("1", &[("l2", "1"), ("seed", "42")], &[("prepare", "k")]),
            "now depends on `prepare`",
        );
        check(
            fingerprint("1", &[("l2", "1"), ("seed", "42")], &[]),
            "no longer depends on `split`",
        );
        check(last.clone(), "its result is no longer in the cache");
        assert_eq!(last.reason(None), StaleReason::NeverRun);
    }

    #[test]
    fn long_values_show_where_they_differ() {
        let old = format!("{}é{}", "a".repeat(100), "b".repeat(100));
        let new = format!("{}ü{}", "a".repeat(100), "b".repeat(100));
        let changed = |name: &str, old: String, new: String| {
            let (name, old, new) = (name.to_owned(), Some(old), Some(new));
            StaleReason::InputChanged { name, old, new }.to_string()
        };
        let text = changed("rows", old, new);
        assert!(text.contains('é') && text.contains('ü') && text.chars().count() < 180, "{text}");
        let (old, new) = ("0".repeat(64), "1".repeat(64));
        let text = changed("file", old, new);
        assert_eq!(text, "`file` changed from `000000000000` to `111111111111`");
    }
}
