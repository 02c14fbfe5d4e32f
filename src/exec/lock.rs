//! Lock files that a killed process cannot leave locked: the kernel holds the lock.
//!
//! The file only names the holder.

use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::files::{self, File, TryLockError};
use crate::error::{Error, Result};

/// A held lock; dropping it releases the lock and removes its file.
#[derive(Debug)]
pub(super) struct FileLock {
    path: PathBuf,
    /// Closing it releases the lock.
    file: File,
}

impl FileLock {
    /// Takes the lock; `None` if another process holds it.
    pub(super) fn attempt(path: &Path) -> Result<Option<FileLock>> {
        FileLock::take(path, |file| is_free(file.try_lock()))
    }

    /// Waits for the lock.
    pub(super) fn wait(path: &Path) -> Result<FileLock> {
        let lock = |file: &File| match file.lock() {
            Err(e) if e.kind() == ErrorKind::Interrupted => Ok(false),
            locked => locked.map(|()| true),
        };
        loop {
            if let Some(held) = FileLock::take(path, lock)? {
                return Ok(held);
            }
        }
    }

    /// Writes the id of this process into the file that `lock` locks; `None` where it does not.
    fn take(path: &Path, lock: impl Fn(&File) -> io::Result<bool>) -> Result<Option<FileLock>> {
        let fail = |e: io::Error| cannot_lock(path, &e);
        loop {
            let mut file = files::open_to_lock(path)?;
            if !lock(&file).map_err(fail)? {
                return Ok(None);
            }
            // Its last holder may have removed the file after it was opened here.
            if is_there(&file, path)? {
                let written =
                    file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
                return written
                    .map(|()| Some(FileLock { path: path.to_owned(), file }))
                    .map_err(fail);
            }
        }
    }
}

/// Whether a lock was taken, and no other process holds it.
fn is_free(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(e),
        Ok(()) => Ok(true),
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // If the file was removed together with its folder, the path may now be the lock of another
        // process. While the path is our file it is locked, so no other file can be removed. A file
        // that remains does no harm.
        if is_there(&self.file, &self.path).unwrap_or(false) {
            let _ = files::remove_file(&self.path);
        }
    }
}

/// Whether the path leads to this file.
fn is_there(file: &File, path: &Path) -> Result<bool> {
    let ours = file.metadata().map_err(|e| cannot_lock(path, &e))?;
    let there = files::metadata_if_there(path)?;
    Ok(there.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino())))
}

/// Whether a process holds the lock. Changes nothing; without a file no process holds it.
pub(super) fn is_held(path: &Path) -> Result<bool> {
    let Some(file) = files::open_if_there(path)? else { return Ok(false) };
    is_free(file.try_lock_shared()).map(|free| !free).map_err(|e| cannot_lock(path, &e))
}

/// The process id in a lock file.
pub(super) fn holder(path: &Path) -> Option<u32> {
    files::read_text(path).ok()?.trim().parse().ok()
}

fn cannot_lock(path: &Path, cause: &std::io::Error) -> Error {
    if cause.kind() == ErrorKind::Unsupported
        || cause.raw_os_error() == Some(Errno::NOLCK.raw_os_error())
    {
        return Error::operator(
            "lock",
            path,
            cause.to_string(),
            "this file system does not support locks: put output and cache on another disk",
        );
    }
    Error::io("lock", path, cause)
}

#[cfg(test)]
mod tests {
    use super::{FileLock, holder, is_held};

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert!(!is_held(&path).unwrap() && !path.exists());
        let first = FileLock::attempt(&path).unwrap().unwrap();
        assert_eq!(holder(&path), Some(std::process::id()));
        assert!(FileLock::attempt(&path).unwrap().is_none());
        assert!(is_held(&path).unwrap());
        drop(first);
        assert!(!path.exists());
        assert!(FileLock::attempt(&path).unwrap().is_some());
    }

    #[test]
    fn letting_go_leaves_the_lock_of_somebody_else() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("session");
        let path = folder.join("lock");
        std::fs::create_dir(&folder).unwrap();
        let first = FileLock::attempt(&path).unwrap().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let second = FileLock::attempt(&path).unwrap().unwrap();
        drop(first);
        assert!(path.exists() && FileLock::attempt(&path).unwrap().is_none());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_without_a_holder_does_not_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        std::fs::write(&path, "1234567\n").unwrap();
        assert!(!is_held(&path).unwrap());
        assert_eq!(holder(&path), Some(1_234_567));
        let _lock = FileLock::attempt(&path).unwrap().unwrap();
        assert_eq!(holder(&path), Some(std::process::id()));
    }

    #[test]
    fn threads_take_turns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let inside = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let _lock = FileLock::wait(&path).unwrap();
                        assert_eq!(inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                    }
                });
            }
        });
    }
}
