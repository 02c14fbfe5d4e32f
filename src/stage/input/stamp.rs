//! Tells whether a file that was hashed is still the one that a stage has read.
//!
//! Files are hashed once and opened again by their path later. A file that somebody replaces or
//! writes to meanwhile would give numbers under the hash of another file, and the cache would keep
//! them. So what the file system says of every file is noted when it is hashed and compared when a
//! stage has ended: a result of other bytes is not kept.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{Fault, Result};
use crate::exec::files::{self, Metadata};

/// What the file system says of a file: which one it is, its size, and when it was last written to
/// and renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp {
    path: PathBuf,
    /// Device and number of the file.
    file: (u64, u64),
    bytes: u64,
    /// Seconds and nanoseconds.
    written: (i64, i64),
}

impl FileStamp {
    /// The stamp of a file as it is now.
    ///
    /// # Errors
    /// The file system does not tell.
    pub fn of(path: &Path) -> Result<Self> {
        Ok(FileStamp::from(path, &files::metadata(path)?))
    }

    fn from(path: &Path, metadata: &Metadata) -> Self {
        FileStamp {
            path: path.to_path_buf(),
            file: (metadata.dev(), metadata.ino()),
            bytes: metadata.len(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Fails where the file is no longer the one that was seen.
    ///
    /// # Errors
    /// It was replaced, written to or taken away.
    pub fn check(&self) -> Result<()> {
        if files::metadata(&self.path).is_ok_and(|now| FileStamp::from(&self.path, &now) == *self) {
            return Ok(());
        }
        let path = self.path.display();
        Err(Fault::new(
            "input-changed",
            format!("`{path}` was replaced, written to or taken away while the run read it"),
        )
        .in_file(&self.path)
        .hint("nothing of it was kept; run again once the file is whole and stays")
        .into())
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
}
