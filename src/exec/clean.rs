//! Removes results that are no longer needed from the store, the least recently used first.
//!
//! Every run leaves a mark for each result that it makes or finds: the empty file
//! `used/<job>/<key>`, whose time of modification is that of the last use. A result without a mark
//! was last used when it was made. Results that a current run may read are kept: nothing is removed
//! that was used since the oldest live session of another process began.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::result_store::{
    COPIED_ROWS, ResultStore, StoreView, entry_folders, oldest_session, stage_of,
};
use super::{cancel::CancelFlag, files};
use crate::error::Result;

/// Which results are removed. All conditions that are given must hold.
#[derive(Debug, Clone, Default)]
pub struct CleanRules {
    /// Not used for so long.
    pub older: Option<Duration>,
    /// Not among this many results of its stage that the job used last.
    pub keep_last: Option<usize>,
    /// Used only by this job.
    pub job: Option<String>,
}

/// The results that were removed, or would be, and those that are left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CleanOutcome {
    /// Results that were removed.
    pub removed: u64,
    /// Their bytes.
    pub removed_bytes: u64,
    /// Results that are left.
    pub left: u64,
    /// Their bytes.
    pub left_bytes: u64,
    /// Results that are left only because a current run may read them.
    pub in_use: u64,
}

/// A result with the data that decide whether it is kept.
struct StoredResult {
    key: String,
    folder: PathBuf,
    /// The id of its stage; empty where its description cannot be read.
    stage: String,
    bytes: u64,
    used: SystemTime,
    /// When each job used it last.
    by_job: BTreeMap<String, SystemTime>,
}

impl ResultStore {
    /// Notes that a job uses a result now.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub(super) fn mark_used(&self, job: &str, key: &str) -> Result<()> {
        files::touch(&marks(self.root(), job).join(key))
    }

    /// Makes the folder of a job's marks.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(super) fn make_marks(&self, job: &str) -> Result<()> {
        files::make_private_folder(&self.root().join(USED))?;
        files::make_private_folder(&marks(self.root(), job))
    }

    /// Removes results by rules.
    ///
    /// # Errors
    /// The store cannot be read, a result cannot be removed, or the work is to stop.
    pub fn clean(&self, rules: &CleanRules, cancel: &CancelFlag) -> Result<CleanOutcome> {
        let found = results(self.root())?;
        self.remove(&found, rules.choose(&found), cancel)
    }

    /// Removes the results that were used the longest ago until at most this many bytes are left.
    ///
    /// # Errors
    /// As [`ResultStore::clean`].
    pub fn keep_within(&self, bytes: u64, cancel: &CancelFlag) -> Result<CleanOutcome> {
        let found = results(self.root())?;
        let mut left = found.iter().fold(0_u64, |sum, result| sum.saturating_add(result.bytes));
        let mut by_use: Vec<&StoredResult> = found.iter().collect();
        by_use.sort_by_key(|result| (result.used, &result.key));
        let goes = |result: &&StoredResult| {
            let too_much = left > bytes;
            left = left.saturating_sub(if too_much { result.bytes } else { 0 });
            too_much
        };
        self.remove(&found, by_use.into_iter().take_while(goes).collect(), cancel)
    }

    fn remove(
        &self,
        found: &[StoredResult],
        chosen: Vec<&StoredResult>,
        cancel: &CancelFlag,
    ) -> Result<CleanOutcome> {
        let (free, outcome) = free_results(found, chosen, self.oldest_other_session()?);
        for result in free {
            cancel.check()?;
            self.remove_result(&result.folder)?;
            for job in result.by_job.keys() {
                files::remove_file(&marks(self.root(), job).join(&result.key))?;
            }
        }
        Ok(outcome)
    }
}

impl StoreView {
    /// What [`ResultStore::clean`] would remove. Changes nothing.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn would_clean(&self, rules: &CleanRules) -> Result<CleanOutcome> {
        let Some(root) = self.root() else { return Ok(CleanOutcome::default()) };
        let found = results(root)?;
        Ok(free_results(&found, rules.choose(&found), oldest_session(root, None)?).1)
    }
}

impl CleanRules {
    /// The results that the rules remove.
    fn choose<'a>(&self, found: &'a [StoredResult]) -> Vec<&'a StoredResult> {
        let now = SystemTime::now();
        let last = self.keep_last.map(|n| used_last(found, n));
        let goes = |result: &&StoredResult| {
            let age = now.duration_since(result.used).unwrap_or_default();
            let of_job = self.job.as_ref().is_none_or(|job| result.by_job.keys().eq([job]));
            of_job
                && self.older.is_none_or(|older| age >= older)
                && last.as_ref().is_none_or(|last| !last.contains(&result.key))
        };
        found.iter().filter(goes).collect()
    }
}

/// The chosen results that no run since `session` reads, and what is removed with them.
fn free_results<'a>(
    found: &[StoredResult],
    chosen: Vec<&'a StoredResult>,
    session: Option<SystemTime>,
) -> (Vec<&'a StoredResult>, CleanOutcome) {
    let is_free = |result: &&StoredResult| session.is_none_or(|began| result.used < began);
    let (free, in_use): (Vec<_>, Vec<_>) = chosen.into_iter().partition(is_free);
    let bytes = |results: &mut dyn Iterator<Item = &StoredResult>| {
        results.fold(0_u64, |sum, result| sum.saturating_add(result.bytes))
    };
    let removed_bytes = bytes(&mut free.iter().copied());
    let outcome = CleanOutcome {
        removed: free.len() as u64,
        removed_bytes,
        left: (found.len() - free.len()) as u64,
        left_bytes: bytes(&mut found.iter()).saturating_sub(removed_bytes),
        in_use: in_use.len() as u64,
    };
    (free, outcome)
}

/// The folder of the marks of all jobs.
const USED: &str = "used";

fn marks(root: &Path, job: &str) -> PathBuf {
    root.join(USED).join(job)
}

/// All results of a store, in the order of their keys.
fn results(root: &Path) -> Result<Vec<StoredResult>> {
    let mut uses: BTreeMap<String, BTreeMap<String, SystemTime>> = BTreeMap::new();
    for job in list_if_there(&root.join(USED))? {
        for mark in files::list(&job)? {
            let Some(meta) = files::metadata_if_there(&mark)? else { continue };
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            uses.entry(files::name_of(&mark)).or_default().insert(files::name_of(&job), used);
        }
    }
    let mut found = Vec::new();
    // Answers of endpoints are there only while their stage is not done; a copy of the rows that a
    // program wrote is used until the next one.
    let (unfinished, copied) =
        (list_if_there(&root.join("http"))?, list_if_there(&root.join(COPIED_ROWS))?);
    for folder in entry_folders(root)?.into_iter().chain(unfinished).chain(copied) {
        let Some(meta) = files::metadata_if_there(&folder)? else { continue };
        let made = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let key = files::name_of(&folder);
        let by_job = uses.remove(&key).unwrap_or_default();
        let bytes = files::files_below(&folder)?.iter().map(|file| file.bytes).sum();
        let stage = stage_of(&folder).unwrap_or_default();
        let used = by_job.values().copied().max().unwrap_or(made);
        found.push(StoredResult { key, folder, stage, bytes, used, by_job });
    }
    Ok(found)
}

fn list_if_there(folder: &Path) -> Result<Vec<PathBuf>> {
    if files::metadata_if_there(folder)?.is_none() { Ok(Vec::new()) } else { files::list(folder) }
}

/// The keys of the `n` results of each stage that each job used last. A result that no job has
/// marked counts as that of a separate job.
fn used_last(found: &[StoredResult], n: usize) -> BTreeSet<String> {
    let mut of_stage: BTreeMap<(&str, &str), Vec<(SystemTime, &str)>> = BTreeMap::new();
    for result in found {
        let unmarked = result.by_job.is_empty().then_some(("", result.used));
        let marked = result.by_job.iter().map(|(job, used)| (job.as_str(), *used));
        for (job, used) in marked.chain(unmarked) {
            of_stage.entry((job, &result.stage)).or_default().push((used, &result.key));
        }
    }
    let mut kept = BTreeSet::new();
    for mut uses in of_stage.into_values() {
        uses.sort_unstable_by_key(|use_| Reverse(*use_));
        kept.extend(uses.into_iter().take(n).map(|(_, key)| key.to_owned()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::exec::fingerprint::StageFingerprint;
    use crate::exec::result_store::{PresentEntry, StoreLookup};

    /// A result of a stage with this many bytes, which a job used this many days ago.
    fn add(
        store: &ResultStore,
        stage: &str,
        seed: &str,
        bytes: usize,
        uses: &[(&str, u64)],
    ) -> String {
        let inputs = IndexMap::from([("seed".to_owned(), seed.to_owned())]);
        let fingerprint = StageFingerprint {
            id: stage.to_owned(),
            kind: "train".to_owned(),
            code: "1".to_owned(),
            inputs,
            needs: IndexMap::new(),
        };
        let draft = store.draft().unwrap();
        std::fs::write(draft.path().join("rows"), vec![0; bytes]).unwrap();
        store.commit(draft, &fingerprint, &[], 1, PresentEntry::Keep).unwrap();
        let key = fingerprint.key();
        for (job, days) in uses {
            store.make_marks(job).unwrap();
            store.mark_used(job, &key).unwrap();
            let mark =
                std::fs::File::options().write(true).open(marks(store.root(), job).join(&key));
            let used = SystemTime::now() - Duration::from_secs(days * 86_400);
            mark.unwrap().set_modified(used).unwrap();
        }
        key
    }

    fn there(store: &ResultStore, keys: &[&String]) -> Vec<bool> {
        let sound =
            |key: &&String| matches!(store.view().look(key).unwrap(), StoreLookup::Sound(_));
        keys.iter().map(sound).collect()
    }

    #[test]
    fn rules_say_what_goes() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let old = add(&store, "prepare", "1", 1000, &[("loans", 40)]);
        let shared = add(&store, "prepare", "2", 1000, &[("loans", 35), ("cards", 2)]);
        let new = add(&store, "prepare", "3", 1000, &[("loans", 1)]);
        let other = add(&store, "train", "1", 1000, &[("cards", 50)]);
        let all = [&old, &shared, &new, &other];
        let cancel = CancelFlag::default();
        let month = Some(Duration::from_secs(30 * 86_400));
        let rules = CleanRules { older: month, ..CleanRules::default() };
        let looked = store.view().would_clean(&rules).unwrap();
        assert_eq!((looked.removed, looked.left, looked.in_use), (2, 2, 0));
        assert!(looked.removed_bytes > 2000 && looked.left_bytes > 2000);
        assert_eq!(there(&store, &all), [true; 4]);
        // Only what no other job has used.
        let rules = CleanRules { job: Some("loans".to_owned()), ..rules };
        assert_eq!(store.clean(&rules, &cancel).unwrap().removed, 1);
        assert_eq!(there(&store, &all), [false, true, true, true]);
        assert!(!marks(root.path(), "loans").join(&old).exists());
        // The last of each stage and job: `shared` is the last of `cards`, `new` that of `loans`.
        let rules = CleanRules { keep_last: Some(1), ..CleanRules::default() };
        assert_eq!(store.clean(&rules, &cancel).unwrap().removed, 0);
        let newer = add(&store, "prepare", "4", 1000, &[("cards", 0)]);
        assert_eq!(store.clean(&rules, &cancel).unwrap().removed, 1);
        assert_eq!(there(&store, &[&shared, &new, &other, &newer]), [false, true, true, true]);
        let rules = CleanRules { keep_last: Some(0), older: month, job: None };
        assert_eq!(store.clean(&rules, &cancel).unwrap().removed, 1);
        assert_eq!(there(&store, &[&new, &other, &newer]), [true, false, true]);
    }

    #[test]
    fn the_least_recently_used_go_first_and_what_others_read_stays() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let a = add(&store, "train", "a", 4000, &[("loans", 3)]);
        let b = add(&store, "train", "b", 4000, &[("loans", 5), ("cards", 1)]);
        let c = add(&store, "train", "c", 4000, &[("loans", 2)]);
        let cancel = CancelFlag::default();
        assert_eq!(store.keep_within(1 << 20, &cancel).unwrap().removed, 0);
        assert_eq!(store.keep_within(10_000, &cancel).unwrap().removed, 1);
        assert_eq!(there(&store, &[&a, &b, &c]), [false, true, true]);
        // Another run began before this result was used.
        let other = ResultStore::open(root.path()).unwrap();
        let d = add(&store, "train", "d", 4000, &[("loans", 0)]);
        store.mark_used("loans", &d).unwrap();
        let outcome = store.keep_within(0, &cancel).unwrap();
        assert_eq!((outcome.removed, outcome.in_use, outcome.left), (2, 1, 1));
        assert_eq!(there(&store, &[&b, &c, &d]), [false, false, true]);
        drop(other);
        assert_eq!(store.keep_within(0, &cancel).unwrap().removed, 1);
    }
}
