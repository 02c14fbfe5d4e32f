//! The SHA-256 of input files, remembered in the cache: a file that has not changed is not read
//! again to be hashed.
//!
//! A hash is taken from memory, as the index of git does, where path (links resolved), size, both
//! times, device and inode are those of the file that was hashed. A write to a file changes its
//! ctime, which no program can set back without setting the clock. A write that follows a hash at
//! once may fall into the same tick of the file system's clock, so a file that is younger than
//! [`SETTLED`] when it is hashed is not remembered.
//!
//! The file holds the SHA-256 of its JSON on the first line: one that is damaged is ignored, and
//! written again with the next hash. It forgets files that are gone or have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::exec::accumulator::Accumulator;
use crate::exec::cancel::CancelFlag;
use crate::exec::files;
use crate::exec::hash::{hash_parts, sha256};
use crate::exec::result_store::{ResultStore, StoreView};
use crate::stage::input::stamp::{FileStamp, FileState, SETTLED};

/// Name of the file in the cache.
const DIGESTS: &str = "inputs";

/// Hashes by path with links resolved.
type DigestList = BTreeMap<String, RememberedDigest>;

/// What is remembered of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RememberedDigest {
    state: FileState,
    sha256: String,
}

/// A file as a plan in shards has seen it. Other machines see the same file by another device and
/// inode, so size and last write decide whether it is the same; an object has its ETag instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedFile {
    path: String,
    bytes: u64,
    /// In seconds and nanoseconds; 0 of an object.
    written: (i64, i64),
    hash: PlannedHash,
}

/// The hash of a planned file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PlannedHash {
    /// Its SHA-256 in hex.
    Sha256(String),
    /// None: an object, which its ETag identifies.
    Etag(String),
    /// The worker of this shard computes it in the first pass: a plan reads no large file.
    ByShard(usize),
}

/// What replaces a path for the rows that a part of a stream has.
pub(crate) fn part_of_stream(name: &str, part: usize) -> String {
    format!("{name}: part {part:05}")
}

/// The SHA-256 of files by path, which the shards of a plan have found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileHashes(pub(crate) BTreeMap<String, String>);

impl Accumulator for FileHashes {
    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

impl PlannedFile {
    /// A file as it is now.
    pub(crate) fn new(stamp: &FileStamp, hash: PlannedHash) -> Self {
        PlannedFile {
            path: stamp.path.to_string_lossy().into_owned(),
            bytes: stamp.bytes(),
            written: stamp.written(),
            hash,
        }
    }

    /// Its path and its hash, if it is the work of a shard to find it.
    ///
    /// # Errors
    /// It was written to after the plan; it cannot be read; the run is to stop.
    pub(crate) fn hash_in(&self, shard: usize, cancel: &CancelFlag) -> Result<FileHashes> {
        if self.hash != PlannedHash::ByShard(shard) {
            return Ok(FileHashes::default());
        }
        let path = Path::new(&self.path);
        let stamp = self.stamp(path)?;
        let (sha256, _) = files::hash_unless(path, &mut || cancel.check())?;
        stamp.check()?;
        Ok(FileHashes([(self.path.clone(), sha256)].into()))
    }

    /// Its hash, where the file is still the one that was planned; for one that is not hashed yet,
    /// what distinguishes it from other versions of it.
    fn digest(&self, path: &Path, hashes: &FileHashes) -> Result<FileDigest> {
        let stamp = self.stamp(path)?;
        let sha256 = match (&self.hash, hashes.0.get(&self.path)) {
            (PlannedHash::Sha256(sha256), _) | (_, Some(sha256)) => sha256.clone(),
            (PlannedHash::Etag(_), None) => String::new(),
            (PlannedHash::ByShard(_), None) => stand_in(&stamp),
        };
        Ok(FileDigest { stamp, sha256, new: None })
    }

    /// What the file system says about it, which is what the plan says.
    fn stamp(&self, path: &Path) -> Result<FileStamp> {
        let stamp = FileStamp::of(path)?;
        let etag = match &self.hash {
            PlannedHash::Etag(etag) => Some(etag.as_str()),
            PlannedHash::Sha256(_) | PlannedHash::ByShard(_) => None,
        };
        let planned = (self.bytes, self.written, etag);
        if (stamp.bytes(), stamp.written(), stamp.etag()) == planned {
            return Ok(stamp);
        }
        let what =
            format!("`{}` was replaced or written to after the plan was made", path.display());
        let hint = "plan again once the file is whole and stays; copies of a file must keep its \
                    time of writing, as `cp -p` does";
        Fault::new("input-changed", what).in_file(path).fail(hint)
    }
}

/// The fault of a job in shards whose files are not those of its plan.
fn other_files(path: &Path, what: String) -> Fault {
    let hint = "plan again, into a new folder, when all files are there and no longer change";
    Fault::new("input-changed", what).in_file(path).hint(hint)
}

/// What replaces a hash that is not known yet.
fn stand_in(stamp: &FileStamp) -> String {
    sha256(format!("not hashed: {} {}", stamp.path.display(), stamp.version()).as_bytes())
}

/// The remembered hashes, and those of this run that are worth remembering.
#[derive(Debug, Default)]
pub(crate) struct InputDigests {
    known: DigestList,
    new: DigestList,
    /// In a run in shards, the files of its plan, by path.
    planned: BTreeMap<String, PlannedFile>,
    /// What its shards have found.
    found: FileHashes,
    /// Whether files that grow with the rows are not hashed: by a plan in shards.
    only_small: bool,
}

/// The hash of a file.
#[derive(Debug)]
pub(super) struct FileDigest {
    /// What the file looked like.
    pub(super) stamp: FileStamp,
    /// In hex; empty for an object, which is not read as a whole.
    pub(super) sha256: String,
    /// What to remember of it; none where it is known already, or not to be trusted later.
    new: Option<(String, RememberedDigest)>,
}

impl InputDigests {
    /// What a cache remembers; nothing where all is to be hashed again.
    pub(crate) fn load(cache: &StoreView, rehash: bool) -> Self {
        let text = if rehash { None } else { cache.note(DIGESTS) };
        InputDigests { known: parse(text), ..InputDigests::default() }
    }

    /// The hashes that a plan in shards holds and its shards have found: no file of it is read
    /// again to be hashed.
    pub(crate) fn planned(files: &[PlannedFile], found: FileHashes) -> Self {
        let planned = files.iter().map(|file| (file.path.clone(), file.clone())).collect();
        InputDigests { planned, found, ..InputDigests::default() }
    }

    /// These hashes without files that grow with the rows: only their stamps are read.
    pub(crate) fn only_small(self) -> Self {
        InputDigests { only_small: true, ..self }
    }

    /// The hash of a file: remembered, or computed; `grows` says whether its size grows with the
    /// rows.
    ///
    /// # Errors
    /// The file cannot be read or changes meanwhile, or the run is to stop.
    pub(super) fn of(&self, path: &Path, grows: bool, cancel: &CancelFlag) -> Result<FileDigest> {
        cancel.check()?;
        if let Some(planned) = self.planned.get(path.to_string_lossy().as_ref()) {
            return planned.digest(path, &self.found);
        }
        if !self.planned.is_empty() {
            let what = format!("`{}` was not there when the plan was made", path.display());
            return Err(other_files(path, what).into());
        }
        let stamp = FileStamp::of(path)?;
        if stamp.etag().is_some() {
            return Ok(FileDigest { stamp, sha256: String::new(), new: None });
        }
        if self.only_small && grows {
            return Ok(FileDigest { sha256: stand_in(&stamp), stamp, new: None });
        }
        self.of_hashed_by(path, || files::hash_unless(path, &mut || cancel.check()))
    }

    /// The hash of the rows of a stream: of the hashes of its parts in their order, as far as these
    /// are known.
    pub(crate) fn stream_hash(&self, name: &str) -> String {
        let parts = (0..).map_while(|part| self.found.0.get(&part_of_stream(name, part)));
        hash_parts(parts.map(String::as_str))
    }

    /// Fails where a file of a plan in shards is not among those that are there: the pieces of the
    /// rows are counted over all files in their order.
    ///
    /// # Errors
    /// It was taken away after the plan.
    pub(super) fn check_planned<'p>(&self, found: impl Iterator<Item = &'p Path>) -> Result<()> {
        if self.planned.is_empty() {
            return Ok(());
        }
        let found: BTreeSet<String> =
            found.map(|path| path.to_string_lossy().into_owned()).collect();
        match self.planned.keys().find(|path| !found.contains(*path)) {
            None => Ok(()),
            Some(path) => {
                let what = format!("`{path}` was taken away after the plan was made");
                Err(other_files(Path::new(path), what).into())
            }
        }
    }

    fn of_hashed_by(
        &self,
        path: &Path,
        hash: impl FnOnce() -> Result<(String, u64)>,
    ) -> Result<FileDigest> {
        let (state, resolved) = (FileState::of(path)?, files::resolve(path)?.into_os_string());
        let stamp = FileStamp::of_file(path, state.clone());
        // A path that is not valid UTF-8 is not remembered.
        let name = resolved.into_string().ok();
        let known = name.as_ref().and_then(|name| self.known.get(name));
        if let Some(known) = known.filter(|known| known.state == state) {
            return Ok(FileDigest { stamp, sha256: known.sha256.clone(), new: None });
        }
        let begun = SystemTime::now();
        let (sha256, bytes) = hash()?;
        stamp.check()?;
        let lasts = state.bytes == bytes
            && state.is_older_than(SETTLED, begun)
            && FileState::of(path)? == state;
        let new = name
            .filter(|_| lasts)
            .map(|name| (name, RememberedDigest { state, sha256: sha256.clone() }));
        Ok(FileDigest { stamp, sha256, new })
    }

    /// Keeps what is to be remembered of a hash.
    pub(super) fn take(&mut self, digest: FileDigest) -> FileStamp {
        self.new.extend(digest.new);
        digest.stamp
    }

    /// Writes what this run hashed into the cache, next to what others remember.
    ///
    /// A cache that cannot be written to costs a hash the next time, and no more.
    pub(crate) fn save(&self, cache: &ResultStore) {
        if self.new.is_empty() {
            return;
        }
        let merged = |there: Option<Vec<u8>>| {
            let mut all = parse(there);
            all.extend(self.new.clone());
            all.retain(|path, digest| {
                FileState::of(Path::new(path)).is_ok_and(|state| state == digest.state)
            });
            text(&all)
        };
        if let Err(e) = cache.write_note(DIGESTS, merged) {
            tracing::warn!("the cache does not remember the hashes of input files: {}", e.cause());
        }
    }
}

fn text(all: &DigestList) -> Vec<u8> {
    let json = serde_json::to_string(all).expect("texts and numbers serialize");
    format!("{}\n{json}\n", sha256(json.as_bytes())).into_bytes()
}

/// The list in a text; empty if there is none, or if it is damaged.
fn parse(text: Option<Vec<u8>>) -> DigestList {
    let list = |text: &[u8]| {
        let (hash, json) = std::str::from_utf8(text).ok()?.strip_suffix('\n')?.split_once('\n')?;
        if sha256(json.as_bytes()) != hash {
            return None;
        }
        serde_json::from_str(json).ok()
    };
    text.and_then(|text| list(&text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;
    use crate::error::{Error, StopSignal};
    use crate::exec::tests::state_laws::SampleState;
    use crate::tests::Says;

    /// A cache and a file that was last written to a while ago.
    struct Place {
        folder: tempfile::TempDir,
        store: ResultStore,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = ResultStore::open(&folder.path().join("cache")).unwrap();
            let place = Place { folder, store };
            std::fs::write(place.file(), "1234").unwrap();
            place
        }

        fn file(&self) -> PathBuf {
            self.folder.path().join("rows.csv")
        }

        fn note(&self) -> PathBuf {
            self.folder.path().join("cache").join(DIGESTS)
        }

        /// Remembers the hash of other bytes for the file as it is now: who gets it has asked the
        /// memory.
        fn plant(&self) {
            let state = FileState::of(&self.file()).unwrap();
            let name = self.file().canonicalize().unwrap().into_os_string().into_string().unwrap();
            let digest = RememberedDigest { state, sha256: "planted".to_owned() };
            let new = DigestList::from([(name, digest)]);
            InputDigests { new, ..InputDigests::default() }.save(&self.store);
        }

        fn digests(&self) -> InputDigests {
            InputDigests::load(&self.store.view(), false)
        }

        fn hash(&self) -> String {
            self.digests().of(&self.file(), true, &CancelFlag::default()).unwrap().sha256
        }
    }

    #[test]
    fn a_file_that_nobody_touched_is_not_read_again() {
        let place = Place::new();
        assert_eq!(place.hash(), sha256(b"1234"));
        place.plant();
        assert_eq!(place.hash(), "planted");
        // By another name.
        let link = place.folder.path().join("link.csv");
        std::os::unix::fs::symlink("rows.csv", &link).unwrap();
        let linked = place.digests().of(&link, true, &CancelFlag::default()).unwrap();
        assert_eq!((linked.sha256.as_str(), linked.new.is_none()), ("planted", true));
        let again = InputDigests::load(&place.store.view(), true);
        let again = again.of(&place.file(), true, &CancelFlag::default()).unwrap();
        assert_eq!(again.sha256, sha256(b"1234"));
    }

    impl SampleState for FileHashes {
        fn sample(_: u64) -> Self {
            FileHashes::default()
        }

        fn add_sample(&mut self, row: u64) {
            self.merge(FileHashes([(format!("part-{row}"), sha256(&[row as u8]))].into()));
        }
    }

    /// A plan looks at the rows, a shard hashes them, and all others have its hash.
    #[test]
    fn files_of_a_plan_are_hashed_once_by_a_shard() {
        let (place, cancel) = (Place::new(), CancelFlag::default());
        let plan = place.digests().only_small();
        let looked = |grows: bool| plan.of(&place.file(), grows, &cancel).unwrap();
        assert_eq!(looked(false).sha256, sha256(b"1234"));
        let seen = looked(true);
        assert_ne!(seen.sha256, sha256(b"1234"));
        let file = PlannedFile::new(&seen.stamp, PlannedHash::ByShard(2));
        assert_eq!(file.hash_in(1, &cancel).unwrap(), FileHashes::default());
        let found = file.hash_in(2, &cancel).unwrap();
        let of = |found: FileHashes| {
            let digests = InputDigests::planned(std::slice::from_ref(&file), found);
            digests.of(&place.file(), true, &cancel).unwrap().sha256
        };
        assert_eq!(of(found), sha256(b"1234"));
        assert_ne!(of(FileHashes::default()), sha256(b"1234"), "not hashed yet");
        std::fs::write(place.file(), "12345").unwrap();
        file.hash_in(2, &cancel).unwrap_err().to_string().says(&["input-changed"]);
    }

    #[test]
    fn other_bytes_of_the_same_size_and_age_are_seen() {
        let place = Place::new();
        let age = std::fs::metadata(place.file()).unwrap().modified().unwrap();
        place.plant();
        std::fs::write(place.file(), "4321").unwrap();
        let file = std::fs::File::options().write(true).open(place.file()).unwrap();
        file.set_modified(age).unwrap();
        assert_eq!(std::fs::metadata(place.file()).unwrap().modified().unwrap(), age);
        assert_eq!(place.hash(), sha256(b"4321"));
    }

    #[test]
    fn a_file_is_remembered_once_it_has_settled() {
        let place = Place::new();
        let mut digests = place.digests();
        assert!(digests.of(&place.file(), true, &CancelFlag::default()).unwrap().new.is_none());
        std::thread::sleep(SETTLED + Duration::from_millis(50));
        let found = digests.of(&place.file(), true, &CancelFlag::default()).unwrap();
        digests.take(found);
        digests.save(&place.store);
        let (known, name) = (place.digests().known, place.file().canonicalize().unwrap());
        assert_eq!(known[name.to_str().unwrap()].sha256, sha256(b"1234"));
        assert!(
            place.digests().of(&place.file(), true, &CancelFlag::default()).unwrap().new.is_none()
        );
    }

    #[test]
    fn a_damaged_memory_is_ignored_and_written_anew() {
        let place = Place::new();
        place.plant();
        let sound = std::fs::read_to_string(place.note()).unwrap();
        let flipped = sound.replace("planted", "plantee");
        for damaged in ["", "\n", "{}", &sound[..sound.len() / 2], &flipped, "\u{0}\u{0}"] {
            std::fs::write(place.note(), damaged).unwrap();
            assert_eq!(place.hash(), sha256(b"1234"), "{damaged}");
            place.plant();
            assert_eq!(std::fs::read_to_string(place.note()).unwrap(), sound);
        }
        std::fs::write(place.note(), [0xff, 0xfe]).unwrap();
        assert_eq!(place.hash(), sha256(b"1234"));
    }

    #[test]
    fn files_that_are_gone_are_forgotten_and_those_of_others_stay() {
        let place = Place::new();
        let mut digests = InputDigests::default();
        for (name, keep) in [("a", true), ("b", false), ("c", true)] {
            let path = place.folder.path().join(name);
            std::fs::write(&path, name).unwrap();
            let state = FileState::of(&path).unwrap();
            let path = path.canonicalize().unwrap();
            let digest = RememberedDigest { state, sha256: name.to_owned() };
            digests.new = DigestList::from([(path.to_str().unwrap().to_owned(), digest)]);
            digests.save(&place.store);
            if !keep {
                std::fs::remove_file(&path).unwrap();
            }
        }
        let known = place.digests().known;
        assert_eq!(
            known.values().map(|known| known.sha256.as_str()).collect::<Vec<_>>(),
            ["a", "c"]
        );
    }

    #[test]
    fn runs_at_once_leave_a_sound_memory() {
        let place = Place::new();
        let root = place.folder.path().join("cache");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (root, path) = (&root, place.folder.path().join(writer.to_string()));
                scope.spawn(move || {
                    std::fs::write(&path, "1").unwrap();
                    let state = FileState::of(&path).unwrap();
                    let name = path.to_str().unwrap().to_owned();
                    let store = ResultStore::open(root).unwrap();
                    for turn in 0..20 {
                        let digest =
                            RememberedDigest { state: state.clone(), sha256: turn.to_string() };
                        let new = DigestList::from([(name.clone(), digest)]);
                        InputDigests { new, ..InputDigests::default() }.save(&store);
                    }
                });
            }
        });
        // Nothing of any of them is lost.
        let known = place.digests().known;
        assert_eq!(known.len(), 4);
        assert!(known.values().all(|known| known.sha256 == "19"));
    }

    #[test]
    fn a_file_that_changes_while_it_is_read() {
        let place = Place::new();
        let digests = InputDigests::default();
        std::thread::sleep(SETTLED + Duration::from_millis(50));
        let hash_then = |then: &dyn Fn()| {
            digests.of_hashed_by(&place.file(), || {
                let hash = files::hash_file(&place.file());
                then();
                hash
            })
        };
        assert!(hash_then(&|| ()).unwrap().new.is_some());
        // Only its name: the hash is right, but a write may be hidden behind the new ctime.
        let link = place.folder.path().join("backup.csv");
        let linked = hash_then(&|| std::fs::hard_link(place.file(), &link).unwrap()).unwrap();
        assert_eq!((linked.sha256, linked.new.is_none()), (sha256(b"1234"), true));
        let Err(Error::Data(fault)) = hash_then(&|| std::fs::write(place.file(), "12").unwrap())
        else {
            panic!("half of the bytes are hashed")
        };
        assert_eq!(fault.code, "input-changed");
    }

    #[test]
    fn a_memory_that_cannot_be_used_stops_nothing() {
        let place = Place::new();
        std::fs::create_dir(place.note()).unwrap();
        place.plant();
        assert_eq!(place.hash(), sha256(b"1234"));
        let stopped = CancelFlag::default();
        stopped.raise(StopSignal::Interrupt);
        assert!(place.digests().of(&place.file(), true, &stopped).is_err());
    }
}
