//! Stage results by key: complete entries, checked when found, shared by jobs, safe to delete.
//!
//! ```text
//! <root>/                         0700 and its files 0600, regardless of the umask: rows of
//!                                 people are in it
//! <root>/cfaudit-cache            marks the folder as ours, see [`super::cache_folder`]
//! <root>/lock                     held while a session folder is made, ended or removed
//! <root>/key                      32 random bytes as hex, only for this user: values that must not
//!                                 be found out are hashed with it
//! <root>/tmp/<pid>-<n>/           session of one process, locked as long as it lives; results are
//!                                 made here
//! <root>/<first 2 hex>/<key>/     one entry: the files of the stage and stage.json
//! <root>/answered/<job>/<sha256>/ by set, the rows that a file of scores was first taken for; not
//!                                 of the store
//! <root>/used/<job>/<key>         empty; its time is that at which the job last used the result,
//!                                 see [`super::clean`]
//! <root>/jobs/<job>.json          fingerprints of the job's last run, for the reasons alone
//! <root>/inputs                   hashes of input files, see `stage/input/digest.rs`
//! ```
//!
//! An entry is made in the session, its files and `stage.json` are synced to the disk, and then the
//! folder is renamed: a killed run leaves only a session whose lock is free, and the next run
//! removes it. The kernel's lock decides, not the process id: containers that share a store may all
//! have process id 1.
//!
//! Two runs may make the same entry at the same time. Both are right, the first is kept.
//!
//! A look-up reads `stage.json` and compares the size of every file. Entries whose files are read
//! or published in this run are hashed again as well ([`StoreEntry::damage`]); hashing all entries
//! would cost a pass over all data on every run.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::cache_folder::{self, CACHE_LOCK, SESSIONS};
use super::files::{self, FileBelow};
use super::fingerprint::{STAGE_FILE, StageFingerprint};
use super::folder::ScratchFolder;
use super::hash::{hash_parts, hex};
use super::lock::{FileLock, is_held};
use crate::error::{Error, Result};

/// Folder of rows that programs wrote, below the root: one folder for each program.
pub(crate) const COPIED_ROWS: &str = "rows";

/// Name of the lock of a session, in its folder.
const SESSION_LOCK: &str = "lock";

/// Name of the file with the key of the store.
const KEY: &str = "key";

/// A store of stage results, open for this process.
///
/// Dropping it ends the session and removes unfinished results.
#[derive(Debug)]
pub struct ResultStore {
    /// Holds the entries and `jobs/`.
    root: PathBuf,
    session: PathBuf,
    /// Held while sessions are made or removed.
    sweep_lock: PathBuf,
    next: AtomicU64,
    /// Shows other processes that the session is in use.
    _lock: FileLock,
}

/// A read-only view of a store: it creates no folder, removes nothing and takes no lock.
#[derive(Debug, Clone)]
pub struct StoreView {
    /// The store; `None`: no results.
    root: Option<PathBuf>,
}

/// One result in the store.
#[derive(Debug, Clone)]
pub(super) struct StoreEntry {
    /// The folder of its files.
    pub(super) folder: PathBuf,
    record: EntryRecord,
}

/// The outcome of looking for a key.
#[derive(Debug)]
pub(super) enum StoreLookup {
    Missing,
    Damaged { file: String, what: String },
    Sound(Box<StoreEntry>),
}

/// What becomes of an existing entry after its stage has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PresentEntry {
    /// It is kept: another run was faster, and both are right.
    Keep,
    /// It is kept only if its bytes are those that were written: it was found damaged.
    KeepIfSame,
    /// It is replaced if it differs, by its description or by its bytes.
    Replace,
}

/// Fingerprints of a job's stages when they were last run or found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FingerprintMemory(pub(super) BTreeMap<String, StageFingerprint>);

/// Content of `stage.json`. No times: equal work gives equal bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct EntryRecord {
    key: String,
    #[serde(flatten)]
    fingerprint: StageFingerprint,
    /// Hash of what each needed stage had written, in the order of `needs`.
    need_outputs: Vec<String>,
    #[serde(flatten)]
    done: StageDone,
    files: BTreeMap<String, FileMark>,
}

/// What a stage says about its work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageDone {
    /// Rows that it counted.
    pub(super) rows: u64,
    /// SHA-256 of the files that it found, by path: no key holds them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) loaded: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileMark {
    bytes: u64,
    sha256: String,
}

impl ResultStore {
    /// Opens the store below `root`, creating it if necessary.
    ///
    /// Removes the sessions of dead processes.
    ///
    /// # Errors
    /// The folder holds something else than a cache, is open to others, cannot be created, or
    /// cannot be written.
    pub fn open(root: &Path) -> Result<Self> {
        cache_folder::claim(root)?;
        let tmp = root.join(SESSIONS);
        files::make_private_folder(&tmp)?;
        let turn = root.join(CACHE_LOCK);
        let _turn = FileLock::wait(&turn)?;
        sweep(root)?;
        let (session, lock) = begin_session(&tmp)?;
        Ok(ResultStore {
            root: root.to_path_buf(),
            session,
            sweep_lock: turn,
            next: AtomicU64::new(0),
            _lock: lock,
        })
    }

    /// Creates the key of the store, if it has none.
    ///
    /// # Errors
    /// The file cannot be written, or the system gives no random bytes.
    pub fn make_secret(&self) -> Result<()> {
        let (path, random) = (self.root.join(KEY), Path::new("/dev/urandom"));
        let _turn = FileLock::wait(&self.sweep_lock)?;
        if files::metadata_if_there(&path)?.is_some() {
            return Ok(());
        }
        let mut bytes = [0; 32];
        files::open(random)?.read_exact(&mut bytes).map_err(|e| Error::io("read", random, &e))?;
        self.replace(&path, hex(&bytes).as_bytes())
    }

    /// A read-only view of its results.
    pub fn view(&self) -> StoreView {
        StoreView { root: Some(self.root.clone()) }
    }

    /// The folder of the store.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// When the oldest session of another process that lives began.
    pub(super) fn oldest_other_session(&self) -> Result<Option<SystemTime>> {
        let _turn = FileLock::wait(&self.sweep_lock)?;
        oldest_session(&self.root, Some(&self.session))
    }

    /// Removes a result; one that is not there is no error.
    pub(super) fn remove_result(&self, folder: &Path) -> Result<()> {
        files::remove_at_once(folder, &self.scratch())
    }

    /// An empty folder for a new result.
    pub(super) fn draft(&self) -> Result<ScratchFolder> {
        let folder = self.scratch();
        files::make_private_folder(&folder)?;
        Ok(ScratchFolder::at(folder))
    }

    /// Turns a draft into the result of its stage; `there` decides about an existing entry.
    pub(super) fn commit(
        &self,
        draft: ScratchFolder,
        fingerprint: &StageFingerprint,
        needs: &[&StoreEntry],
        done: StageDone,
        there: PresentEntry,
    ) -> Result<StoreEntry> {
        let mut files = BTreeMap::new();
        for FileBelow { name, path, bytes } in files::files_below(draft.path())? {
            for closed in path.ancestors().take_while(|folder| *folder != draft.path()) {
                files::protect(closed)?;
            }
            let known = needs.iter().find_map(|need| need.mark_of_link(&name, &path));
            let sha256 = known.map_or_else(|| files::sync_and_hash(&path), Ok)?;
            files.insert(name, FileMark { bytes, sha256 });
        }
        let key = fingerprint.key();
        let need_outputs = needs.iter().map(|need| need.output()).collect();
        let about = EntryRecord {
            key: key.clone(),
            fingerprint: fingerprint.clone(),
            need_outputs,
            done,
            files,
        };
        let text = serde_json::to_vec_pretty(&about).expect("texts and numbers serialize");
        files::write_private(&draft.path().join(STAGE_FILE), &text)?;
        files::sync_folder(draft.path())?;

        let folder = entry_folder(&self.root, &key);
        let shelf = folder.parent().unwrap_or(&self.root);
        files::make_private_folder(shelf)?;
        loop {
            match look(&self.root, &key)? {
                StoreLookup::Sound(old)
                    if (old.record == about
                        || (there != PresentEntry::Replace
                            && old.record.need_outputs == about.need_outputs
                            && old.record.done.loaded == about.done.loaded))
                        && (there == PresentEntry::Keep
                            || old.damage(&mut || Ok(()))?.is_none()) =>
                {
                    return Ok(*old);
                }
                StoreLookup::Missing => {}
                StoreLookup::Sound(_) | StoreLookup::Damaged { .. } => {
                    files::remove_at_once(&folder, &self.scratch())?
                }
            }
            // Another run was faster: look again.
            if files::rename_to_free(draft.path(), &folder)? {
                break;
            }
        }
        files::sync_folder(shelf)?;
        Ok(StoreEntry { folder, record: about })
    }

    pub(super) fn remember(&self, job: &str, memory: &FingerprintMemory) -> Result<()> {
        let file = memory_file(&self.root, job);
        files::make_private_folder(&self.root.join("jobs"))?;
        self.replace(&file, &serde_json::to_vec_pretty(memory).expect("texts serialize"))
    }

    /// Replaces a small file at the root, given its bytes; runs at once take turns.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_note(
        &self,
        name: &str,
        new: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>,
    ) -> Result<()> {
        let _turn = FileLock::wait(&self.sweep_lock)?;
        self.replace(&self.root.join(name), &new(self.view().note(name)))
    }

    /// Writes a file of the store in one step.
    fn replace(&self, file: &Path, bytes: &[u8]) -> Result<()> {
        let scratch = self.scratch();
        files::write_private(&scratch, bytes)?;
        files::rename(&scratch, file)
    }

    /// Makes a folder at this path below the root, and closes it to others.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub(crate) fn private_folder(&self, below: &str) -> Result<PathBuf> {
        let mut folder = self.root.clone();
        for part in Path::new(below) {
            folder.push(part);
            files::make_private_folder(&folder)?;
        }
        Ok(folder)
    }

    /// An unused path in the session.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.session.join(self.next.fetch_add(1, Ordering::Relaxed).to_string())
    }
}

impl Drop for ResultStore {
    fn drop(&mut self) {
        // Under the lock, because the name is free as soon as the folder is removed: a store opened
        // at that moment, in this process or in another container with the same process id, would
        // lose the folder it has created. On a full disk the lock cannot be taken, and the space
        // must be freed nevertheless.
        let _turn = FileLock::wait(&self.sweep_lock).ok();
        if let Err(e) = remove_session(&self.session) {
            tracing::warn!("{e}");
        }
    }
}

impl StoreView {
    /// The results in the cache `root`.
    ///
    /// # Errors
    /// The folder holds something else than a cache, or is open to others.
    pub fn of_cache(root: &Path) -> Result<Self> {
        cache_folder::is_cache(root)?;
        Ok(StoreView::of(Some(root.to_path_buf())))
    }

    /// The folder of the store; `None`: there is none.
    pub(super) fn root(&self) -> Option<&Path> {
        self.root.as_deref()
    }

    /// The results below `root`; none where there is no such folder, or none is named, as by
    /// `--cache off`.
    pub fn of(root: Option<PathBuf>) -> Self {
        StoreView { root }
    }

    /// The key of the store; `None` if it has none.
    ///
    /// # Errors
    /// The key cannot be read.
    pub fn secret(&self) -> Result<Option<Vec<u8>>> {
        self.root.as_ref().map_or(Ok(None), |root| files::read_if_there(&root.join(KEY)))
    }

    /// A small file at the root; `None` if there is none, or it cannot be read.
    pub(crate) fn note(&self, name: &str) -> Option<Vec<u8>> {
        let path = self.root.as_ref()?.join(name);
        files::read_if_there(&path).unwrap_or_else(|e| {
            tracing::debug!("{e}");
            None
        })
    }

    /// A file at this path below the root, where it is there.
    pub(crate) fn file(&self, below: &str) -> Option<PathBuf> {
        self.root.as_ref().map(|root| root.join(below)).filter(|file| file.is_file())
    }

    pub(super) fn look(&self, key: &str) -> Result<StoreLookup> {
        self.root.as_ref().map_or(Ok(StoreLookup::Missing), |root| look(root, key))
    }

    /// The fingerprints of a job's last run.
    ///
    /// Empty if they cannot be read, since only the words of reasons depend on them.
    pub(super) fn memory(&self, job: &str) -> Result<FingerprintMemory> {
        let file = self.root.as_ref().map(|root| memory_file(root, job));
        let text = file.map_or(Ok(None), |file| files::read_if_there(&file))?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default())
    }
}

fn look(root: &Path, key: &str) -> Result<StoreLookup> {
    let folder = entry_folder(root, key);
    let damaged = |file: &str, what: &str| {
        Ok(StoreLookup::Damaged { file: file.to_owned(), what: what.to_owned() })
    };
    if files::metadata_if_there(&folder)?.is_none() {
        return Ok(StoreLookup::Missing);
    }
    let Some(text) = files::read_if_there(&folder.join(STAGE_FILE))? else {
        return damaged(STAGE_FILE, "is missing");
    };
    let Ok(about) = serde_json::from_slice::<EntryRecord>(&text) else {
        return damaged(STAGE_FILE, "cannot be read");
    };
    if about.key != key || about.fingerprint.key() != key {
        return damaged(STAGE_FILE, "describes another stage");
    }
    for (name, mark) in &about.files {
        let path = folder.join(name);
        match files::metadata_if_there(&path)? {
            Some(meta) if meta.is_file() && meta.len() == mark.bytes => {}
            Some(meta) => {
                return damaged(
                    name,
                    &format!("has {} bytes instead of {}", meta.len(), mark.bytes),
                );
            }
            None => return damaged(name, "is missing"),
        }
    }
    Ok(StoreLookup::Sound(Box::new(StoreEntry { folder, record: about })))
}

fn entry_folder(root: &Path, key: &str) -> PathBuf {
    root.join(key.get(..2).unwrap_or(key)).join(key)
}

/// The folders of all entries, in the order of their keys.
pub(super) fn entry_folders(root: &Path) -> Result<Vec<PathBuf>> {
    let is_hex = |path: &Path, n: usize| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.len() == n && name.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let mut found = Vec::new();
    for shelf in files::list(root)?.into_iter().filter(|path| is_hex(path, 2) && path.is_dir()) {
        found.extend(files::list(&shelf)?.into_iter().filter(|path| is_hex(path, 64)));
    }
    Ok(found)
}

/// The id of the stage that made an entry; `None` if its description cannot be read.
pub(super) fn stage_of(folder: &Path) -> Option<String> {
    let text = files::read_if_there(&folder.join(STAGE_FILE)).ok()??;
    Some(serde_json::from_slice::<EntryRecord>(&text).ok()?.fingerprint.id)
}

fn memory_file(root: &Path, job: &str) -> PathBuf {
    root.join("jobs").join(format!("{job}.json"))
}

impl StoreEntry {
    /// Hash of names and contents of its files.
    pub(super) fn output(&self) -> String {
        hash_parts(
            self.record.files.iter().flat_map(|(name, mark)| [name.as_str(), mark.sha256.as_str()]),
        )
    }

    /// The hash of the file of this name, where another path is a link to it.
    fn mark_of_link(&self, name: &str, path: &Path) -> Option<String> {
        let mark = self.record.files.get(name)?;
        let same = files::is_same_file(&self.folder.join(name), path).unwrap_or(false);
        same.then(|| mark.sha256.clone())
    }

    /// The first needed stage whose result differs from the one that this entry was made from.
    ///
    /// Stages that are not given count as unchanged.
    pub(super) fn outdated_need(&self, needs: &BTreeMap<&str, StoreEntry>) -> Option<String> {
        let ids = self.record.fingerprint.needs.keys();
        let changed = |id: &String, output: &String| {
            needs.get(id.as_str()).is_some_and(|need| need.output() != *output)
        };
        ids.zip(&self.record.need_outputs)
            .find(|(id, output)| changed(id, output))
            .map(|(id, _)| id.clone())
    }

    /// The first of the files that the stage itself found which is another now, with the hash that
    /// it had, and has.
    pub(super) fn changed_file(&self) -> Option<(String, [Option<String>; 2])> {
        self.record.done.loaded.iter().find_map(|(path, was)| {
            let is = files::hash_file(Path::new(path)).ok().map(|(sha256, _)| sha256);
            (is.as_ref() != Some(was)).then(|| (path.clone(), [Some(was.clone()), is]))
        })
    }

    /// The first file whose bytes are not those that were written, and the damage.
    ///
    /// `check` is called between pieces; its error ends the check.
    pub(super) fn damage(
        &self,
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<(String, String)>> {
        for (name, mark) in &self.record.files {
            if files::hash_unless(&self.folder.join(name), check)?.0 != mark.sha256 {
                return Ok(Some((
                    name.clone(),
                    "does not have the bytes that were written".to_owned(),
                )));
            }
        }
        Ok(None)
    }

    /// Rows that the stage counted.
    pub(super) fn rows(&self) -> u64 {
        self.record.done.rows
    }

    /// Size of all its files.
    pub(super) fn bytes(&self) -> u64 {
        self.record.files.values().fold(0, |sum, mark| sum.saturating_add(mark.bytes))
    }
}

/// The folders of sessions below the root: real folders named as sessions are, with a lock.
fn sessions(root: &Path) -> Result<Vec<PathBuf>> {
    let tmp = root.join(SESSIONS);
    if !files::is_real_folder(&tmp) {
        return Ok(Vec::new());
    }
    let mut found = files::list(&tmp)?;
    found.retain(|session| {
        is_session_name(&files::name_of(session))
            && files::is_real_folder(session)
            && session.join(SESSION_LOCK).is_file()
    });
    Ok(found)
}

/// Whether the name has the form `<pid>-<n>`.
fn is_session_name(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    name.split_once('-').is_some_and(|(pid, n)| is_number(pid) && is_number(n))
}

/// When the oldest living session below the root but this one began.
pub(super) fn oldest_session(root: &Path, own: Option<&Path>) -> Result<Option<SystemTime>> {
    let mut oldest: Option<SystemTime> = None;
    for session in sessions(root)?.into_iter().filter(|session| Some(session.as_path()) != own) {
        let lock = session.join(SESSION_LOCK);
        // A session that ends at this moment needs nothing any more.
        let Some(meta) = files::metadata_if_there(&lock)? else { continue };
        if is_held(&lock)? {
            let began = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            oldest = Some(oldest.map_or(began, |oldest| oldest.min(began)));
        }
    }
    Ok(oldest)
}

/// Removes the sessions whose lock is free.
///
/// The caller holds the store's lock, so no session is being made.
fn sweep(root: &Path) -> Result<()> {
    for session in sessions(root)? {
        // Leftovers that cannot be removed, such as another user's, do not concern this run.
        let swept = match FileLock::attempt(&session.join(SESSION_LOCK)) {
            Ok(Some(lock)) => {
                let removed = remove_session(&session);
                drop(lock);
                removed
            }
            Ok(None) => Ok(()),
            Err(e) => Err(e),
        };
        if let Err(e) = swept {
            tracing::warn!("{e}");
        }
    }
    Ok(())
}

/// Removes a session, its lock last: what a killed process leaves of it is swept later.
fn remove_session(session: &Path) -> Result<()> {
    if !files::is_real_folder(session) {
        return Ok(());
    }
    let lock = session.join(SESSION_LOCK);
    for path in files::list(session)?.into_iter().filter(|path| *path != lock) {
        files::remove_any(&path)?;
    }
    files::remove_folder(session)
}

/// Creates a session folder of this process and locks it.
///
/// A process with the same id in another container may have taken a name.
fn begin_session(tmp: &Path) -> Result<(PathBuf, FileLock)> {
    for n in 0_u64.. {
        let session = tmp.join(format!("{}-{n}", std::process::id()));
        if files::make_new_private_folder(&session)?
            && let Some(lock) = FileLock::attempt(&session.join(SESSION_LOCK))?
        {
            return Ok((session, lock));
        }
    }
    unreachable!("2^64 names are not all taken")
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;

    fn fingerprint(id: &str) -> StageFingerprint {
        let inputs = IndexMap::from([("seed".to_owned(), "42".to_owned())]);
        StageFingerprint {
            id: id.to_owned(),
            kind: "train".to_owned(),
            code: "1".to_owned(),
            inputs,
            needs: IndexMap::new(),
        }
    }

    fn fill(store: &ResultStore, id: &str, text: &str, there: PresentEntry) -> StoreEntry {
        let draft = store.draft().unwrap();
        std::fs::create_dir(draft.path().join("part")).unwrap();
        std::fs::write(draft.path().join("part/0"), text).unwrap();
        let done = StageDone { rows: 3, ..StageDone::default() };
        store.commit(draft, &fingerprint(id), &[], done, there).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn kept_and_found_again() {
        let root = tempfile::tempdir().unwrap();
        let key = fingerprint("a").key();
        let store = ResultStore::open(root.path()).unwrap();
        assert!(matches!(store.view().look(&key).unwrap(), StoreLookup::Missing));
        let entry = fill(&store, "a", "rows", PresentEntry::Keep);
        assert_eq!((entry.rows(), entry.bytes()), (3, 4));
        drop(store);
        assert!(names(&root.path().join("tmp")).is_empty());
        let StoreLookup::Sound(found) =
            ResultStore::open(root.path()).unwrap().view().look(&key).unwrap()
        else {
            panic!("not found")
        };
        assert_eq!(found.output(), entry.output());
        assert_eq!(found.folder, root.path().join(&key[..2]).join(&key));
    }

    #[test]
    fn damage_is_named_and_mended() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let entry = fill(&store, "a", "rows", PresentEntry::Keep);
        let key = fingerprint("a").key();
        let check = |damage: &dyn Fn(), file: &str, words: &str| {
            damage();
            match store.view().look(&key).unwrap() {
                StoreLookup::Damaged { file: named, what } => {
                    assert_eq!((named.as_str(), what.as_str()), (file, words))
                }
                other => panic!("{other:?}"),
            }
            fill(&store, "a", "rows", PresentEntry::Keep);
            assert!(matches!(store.view().look(&key).unwrap(), StoreLookup::Sound(_)));
        };
        let (part, about) = (entry.folder.join("part/0"), entry.folder.join(STAGE_FILE));
        check(&|| std::fs::write(&part, "row").unwrap(), "part/0", "has 3 bytes instead of 4");
        check(
            &|| std::fs::remove_dir_all(entry.folder.join("part")).unwrap(),
            "part/0",
            "is missing",
        );
        check(&|| std::fs::remove_file(&about).unwrap(), STAGE_FILE, "is missing");
        check(&|| std::fs::write(&about, "{").unwrap(), STAGE_FILE, "cannot be read");
        let other = std::fs::read_to_string(
            fill(&store, "b", "rows", PresentEntry::Keep).folder.join(STAGE_FILE),
        )
        .unwrap();
        check(&|| std::fs::write(&about, &other).unwrap(), STAGE_FILE, "describes another stage");
    }

    #[test]
    fn bytes_that_changed_are_found_and_not_kept() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let entry = fill(&store, "a", "rows", PresentEntry::Keep);
        assert_eq!(entry.damage(&mut || Ok(())).unwrap(), None);
        let part = entry.folder.join("part/0");
        std::fs::write(&part, "sore").unwrap();
        assert_eq!(entry.damage(&mut || Ok(())).unwrap().unwrap().0, "part/0");
        // Its size is unchanged; only a caller that knows of the damage compares bytes.
        fill(&store, "a", "rows", PresentEntry::Keep);
        assert_eq!(std::fs::read_to_string(&part).unwrap(), "sore");
        let new = fill(&store, "a", "rows", PresentEntry::KeepIfSame);
        assert_eq!(std::fs::read_to_string(&part).unwrap(), "rows");
        assert_eq!(new.damage(&mut || Ok(())).unwrap(), None);
    }

    #[test]
    fn the_first_entry_stays_unless_replaced() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let first = fill(&store, "a", "one", PresentEntry::Keep);
        assert_eq!(fill(&store, "a", "two", PresentEntry::Keep).output(), first.output());
        let second = fill(&store, "a", "two", PresentEntry::Replace);
        assert_ne!(second.output(), first.output());
        assert_eq!(std::fs::read_to_string(first.folder.join("part/0")).unwrap(), "two");
        assert_eq!(names(&store.session), ["lock"]);
    }

    #[test]
    fn the_key_is_made_once_and_for_this_user_alone() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        assert_eq!(store.view().secret().unwrap(), None);
        store.make_secret().unwrap();
        let key = store.view().secret().unwrap().unwrap();
        assert_eq!(key.len(), 64);
        let mode = std::fs::metadata(root.path().join("key")).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
        ResultStore::open(root.path()).unwrap().make_secret().unwrap();
        assert_eq!(store.view().secret().unwrap(), Some(key));
    }

    #[test]
    fn dead_sessions_are_swept_and_all_else_stays() {
        let root = tempfile::tempdir().unwrap();
        let first = ResultStore::open(root.path()).unwrap();
        let tmp = root.path().join("tmp");
        let other = root.path().join("other");
        for folder in
            ["1-0", "2-0", "3-x", "project"].map(|name| tmp.join(name)).iter().chain([&other])
        {
            std::fs::create_dir_all(folder.join("7")).unwrap();
            std::fs::write(folder.join("7/half.parquet"), "half").unwrap();
            if !folder.ends_with("2-0") {
                std::fs::write(folder.join("lock"), "1\n").unwrap();
            }
        }
        std::os::unix::fs::symlink(&other, tmp.join("4-0")).unwrap();
        std::os::unix::fs::symlink(&other, tmp.join("1-0/link")).unwrap();
        let draft = first.draft().unwrap();
        let second = ResultStore::open(root.path()).unwrap();
        assert!(draft.path().exists());
        assert_ne!(first.session, second.session);
        let name = |store: &ResultStore| crate::exec::files::name_of(&store.session);
        let mut left = ["2-0", "3-x", "4-0", "project"].map(str::to_owned).to_vec();
        left.extend([name(&first), name(&second)]);
        left.sort();
        assert_eq!(names(&tmp), left);
        assert_eq!(names(&other), ["7", "lock"]);
        assert_eq!(names(&other.join("7")), ["half.parquet"]);
    }

    #[test]
    fn stores_that_open_and_end_at_once() {
        let root = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        let store = ResultStore::open(root.path()).unwrap();
                        assert!(store.draft().is_ok());
                    }
                });
            }
        });
        assert!(names(&root.path().join("tmp")).is_empty());
    }

    #[test]
    fn many_writers_of_one_entry() {
        let root = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        fill(
                            &ResultStore::open(root.path()).unwrap(),
                            "a",
                            "rows",
                            PresentEntry::Replace,
                        );
                    }
                });
            }
        });
        let store = ResultStore::open(root.path()).unwrap();
        assert!(matches!(
            store.view().look(&fingerprint("a").key()).unwrap(),
            StoreLookup::Sound(_)
        ));
        assert_eq!(names(&store.root.join("tmp")).len(), 1);
    }

    #[test]
    fn memory_survives_and_damage_to_it_is_harmless() {
        let root = tempfile::tempdir().unwrap();
        let store = ResultStore::open(root.path()).unwrap();
        let mut memory = store.view().memory("job").unwrap();
        assert_eq!(memory, FingerprintMemory::default());
        memory.0.insert("a".to_owned(), fingerprint("a"));
        store.remember("job", &memory).unwrap();
        assert_eq!(store.view().memory("job").unwrap(), memory);
        std::fs::write(root.path().join("jobs/job.json"), "[").unwrap();
        assert_eq!(store.view().memory("job").unwrap(), FingerprintMemory::default());
    }
}
