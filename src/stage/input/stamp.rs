//! Checks whether a file that was hashed is still the one that a stage has read.
//!
//! Files are hashed once and opened again by their path later. A file that somebody replaces or
//! writes to meanwhile would give numbers under the hash of another file, and the cache would keep
//! them. So what the file system says about every file is noted when it is hashed and compared when
//! a stage has ended: a result computed from other bytes is not kept. For an object in a store the
//! ETag is noted, and every read asks for the object with this ETag ([`crate::exec::object`]).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::error::{Fault, Result};
use crate::exec::files;
use crate::exec::object::{self, ObjectVersion};

/// A file must be older than this for its times to distinguish it from later versions; the clocks
/// of file systems tick at least that often.
pub(super) const SETTLED: Duration = Duration::from_secs(2);

/// A file and its state when it was hashed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) path: PathBuf,
    state: InputState,
}

/// What distinguishes one version of an input from others.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InputState {
    /// For a file of this machine.
    File(FileState),
    /// For an object in a store.
    Object(ObjectVersion),
}

/// What the file system says about a file: which one it is, its size, and when it was last written
/// to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileState {
    device: u64,
    inode: u64,
    pub(super) bytes: u64,
    /// Last write (mtime), in seconds and nanoseconds. Any program may set it.
    written: (i64, i64),
    /// Last change of bytes, mode, name or links (ctime). No program can set it.
    changed: (i64, i64),
}

impl FileState {
    /// The state of a file now.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let metadata = files::metadata(path)?;
        Ok(FileState {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    /// Whether neither time is later than `age` before `now`.
    pub(super) fn is_older_than(&self, age: Duration, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(UNIX_EPOCH) else { return false };
        [self.written, self.changed].iter().all(|&(seconds, nanoseconds)| {
            // Before 1970: old enough.
            let seconds = u64::try_from(seconds).unwrap_or(0);
            let nanoseconds = u32::try_from(nanoseconds).unwrap_or(0);
            now.checked_sub(age).is_some_and(|limit| Duration::new(seconds, nanoseconds) <= limit)
        })
    }
}

impl FileStamp {
    /// The stamp of a file as it is now, or of an object as it was first seen.
    ///
    /// # Errors
    /// The file system or the store does not tell.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        if !object::is_address(path) {
            return Ok(FileStamp::of_file(path, FileState::of(path)?));
        }
        let version = object::version(path)?.ok_or_else(|| object::absent(path))?;
        Ok(FileStamp { path: path.to_path_buf(), state: InputState::Object(version) })
    }

    /// The stamp of a file of this machine in this state.
    pub(super) fn of_file(path: &Path, state: FileState) -> Self {
        FileStamp { path: path.to_path_buf(), state: InputState::File(state) }
    }

    /// What the file system says; none of an object.
    fn file_state(&self) -> Option<&FileState> {
        match &self.state {
            InputState::File(state) => Some(state),
            InputState::Object(_) => None,
        }
    }

    /// The ETag of an object; none of a file.
    pub(crate) fn etag(&self) -> Option<&str> {
        match &self.state {
            InputState::File(_) => None,
            InputState::Object(version) => Some(&version.etag),
        }
    }

    /// When it was last written to, in seconds and nanoseconds; 0 for an object, which its ETag
    /// identifies.
    pub(super) fn written(&self) -> (i64, i64) {
        self.file_state().map_or((0, 0), |state| state.written)
    }

    /// Size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        match &self.state {
            InputState::File(state) => state.bytes,
            InputState::Object(version) => version.bytes,
        }
    }

    /// What distinguishes this version from all others that are or were at this path, without
    /// reading the bytes: a name for what was read of the file and has to be found again.
    ///
    /// For a file its inode, size and both times. A copy in its place has another inode or ctime,
    /// even where `cp -p` keeps size and mtime, and so may the same file on another machine. A
    /// write may follow at once and leave the times of a file that is younger than [`SETTLED`], so
    /// the version of such a file is new each time.
    pub(crate) fn version(&self) -> String {
        self.version_at(SystemTime::now())
    }

    fn version_at(&self, now: SystemTime) -> String {
        match &self.state {
            InputState::File(state) => {
                let FileState { device: _, inode, bytes, written, changed } = state;
                let version = format!("{inode} {bytes} {written:?} {changed:?}");
                if state.is_older_than(SETTLED, now) {
                    return version;
                }
                let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
                format!("{version} young at {now}")
            }
            InputState::Object(ObjectVersion { etag, bytes, .. }) => format!("{etag} {bytes}"),
        }
    }

    /// Fails where the file is no longer the one that was seen.
    ///
    /// Only a new mode, name or link is not a change: a backup may do that while a run reads.
    ///
    /// # Errors
    /// It was replaced, written to or taken away.
    pub(crate) fn check(&self) -> Result<()> {
        // Reading an object that was replaced fails.
        let Some(state) = self.file_state() else { return Ok(()) };
        let same = |now: FileState| FileState { changed: state.changed, ..now } == *state;
        if FileState::of(&self.path).is_ok_and(same) {
            return Ok(());
        }
        let path = self.path.display();
        Fault::new(
            "input-changed",
            format!("`{path}` was replaced, changed or removed while the run read it"),
        )
        .in_file(&self.path)
        .fail(
            "no result of it was stored; run again when the file is complete and no longer changes",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_file_that_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) =
            (folder.path().join("scores.parquet"), folder.path().join("other.parquet"));
        std::fs::write(&path, "1234").unwrap();
        let stamp = FileStamp::of(&path).unwrap();
        stamp.check().unwrap();
        // Replaced by a file of the same size and age.
        std::fs::write(&other, "4321").unwrap();
        let age = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::File::options().write(true).open(&other).unwrap().set_modified(age).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let Err(Error::Data(fault)) = stamp.check() else {
            panic!("the file of other bytes was taken for the same")
        };
        assert_eq!(fault.code, "input-changed");
        let stamp = FileStamp::of(&path).unwrap();
        std::fs::write(&path, "12345").unwrap();
        assert!(stamp.check().is_err());
        std::fs::remove_file(&path).unwrap();
        assert!(stamp.check().is_err() && FileStamp::of(&path).is_err());
    }

    #[test]
    fn another_link_to_the_file_is_no_change_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        std::fs::write(&path, "1234").unwrap();
        let stamp = FileStamp::of(&path).unwrap();
        std::fs::hard_link(&path, folder.path().join("backup.parquet")).unwrap();
        stamp.check().unwrap();
    }

    #[test]
    fn another_file_of_the_same_size_and_age_has_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) =
            (folder.path().join("rows.parquet"), folder.path().join("other.parquet"));
        std::fs::write(&path, "1234").unwrap();
        let now = || FileStamp::of(&path).unwrap();
        let later = SystemTime::now() + Duration::from_secs(3600);
        let first = now().version_at(later);
        assert_eq!(now().version_at(later), first, "nobody touched it");
        let age = std::fs::metadata(&path).unwrap().modified().unwrap();
        let set_age = |path: &Path| {
            std::fs::File::options().write(true).open(path).unwrap().set_modified(age).unwrap();
        };
        // Written to in place.
        std::thread::sleep(Duration::from_millis(20));
        std::fs::write(&path, "4321").unwrap();
        set_age(&path);
        let second = now().version_at(later);
        assert_eq!(now().written(), age_of(age), "the same size and mtime");
        assert_ne!(second, first);
        // Replaced.
        std::fs::write(&other, "5678").unwrap();
        set_age(&other);
        std::fs::rename(&other, &path).unwrap();
        assert_ne!(now().version_at(later), second);
    }

    /// Seconds and nanoseconds.
    fn age_of(time: SystemTime) -> (i64, i64) {
        let age = time.duration_since(UNIX_EPOCH).unwrap();
        (age.as_secs() as i64, i64::from(age.subsec_nanos()))
    }

    /// Two writes may have the same ctime where they follow each other at once.
    #[test]
    fn no_two_versions_of_a_young_file_are_equal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        std::fs::write(&path, "1234").unwrap();
        let (stamp, now) = (FileStamp::of(&path).unwrap(), SystemTime::now());
        let after = |ms: u64| stamp.version_at(now + Duration::from_millis(ms));
        assert_ne!(after(1), after(2));
        assert_eq!(after(5000), after(6000));
    }

    #[test]
    fn both_times_decide_about_the_age() {
        let at = |seconds: u64| UNIX_EPOCH + Duration::from_secs(seconds);
        let state = |written: (i64, i64), changed: (i64, i64)| FileState {
            device: 1,
            inode: 2,
            bytes: 3,
            written,
            changed,
        };
        let old = |state: FileState| state.is_older_than(Duration::from_secs(2), at(100));
        assert!(old(state((98, 0), (98, 0))) && old(state((-5, 0), (0, 0))));
        assert!(!old(state((98, 1), (50, 0))) && !old(state((50, 0), (98, 1))));
        // Ahead of the clock.
        assert!(!old(state((500, 0), (50, 0))));
        assert!(!state((0, 0), (0, 0)).is_older_than(Duration::from_secs(2), at(1)));
    }
}
