//! Files that are replaced in one step, by way of a temporary file next to them (several machines
//! may do so at the same time), and the removal of temporary files that killed processes left.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::files::{self, File};
use crate::error::{Error, Result};

/// A temporary file of another machine that is older than this is abandoned: writing one takes
/// seconds.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The users who may open a file in a folder on a disk; rights in a store are those of its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// Only its owner.
    Owner,
    /// As the umask says.
    Umask,
}

impl FileAccess {
    fn give(self, file: &Path) -> Result<()> {
        if self == FileAccess::Owner { files::protect(file) } else { Ok(()) }
    }
}

/// The name of this machine.
pub(crate) fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// The separator between the name of a file and the process in the names of its temporary files.
const NEW: &str = ".new-";

/// The name of a temporary file or folder of this process for a file, next to it.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(format!(".{}{NEW}{}-{}", files::name_of(path), host(), std::process::id()))
}

/// Writes a file in one step, so that a reader never sees half of it.
///
/// A path that is not a regular file, such as a pipe, is written to and kept; a link stays a link.
/// Temporary files of killed processes are removed.
///
/// # Errors
/// The disk refuses.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    fill(path, FileAccess::Umask, |file| write_all(file, path, bytes))
}

/// As [`replace`], with a file that only its owner may open.
///
/// # Errors
/// The disk refuses.
pub(crate) fn replace_private(path: &Path, bytes: &[u8]) -> Result<()> {
    fill(path, FileAccess::Owner, |file| write_all(file, path, bytes))
}

/// As [`replace`], with the output of `fill`, which may be longer than the memory.
///
/// # Errors
/// The disk refuses, or `write` errs.
pub(crate) fn replace_with(path: &Path, write: impl FnOnce(File) -> Result<()>) -> Result<()> {
    fill(path, FileAccess::Umask, write)
}

/// Replaces a file by a new one that `write` fills.
fn fill(path: &Path, access: FileAccess, write: impl FnOnce(File) -> Result<()>) -> Result<()> {
    let there = files::metadata_if_there(path)?;
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return write(files::create(path)?);
    }
    let target = if there.is_some() { files::resolve(path)? } else { path.to_path_buf() };
    remove_leftovers(&[&target]);
    replace_as(&target, |new| {
        let file = files::create_for(path, new)?;
        access.give(new)?;
        write(file)
    })
}

fn write_all(mut file: File, path: &Path, bytes: &[u8]) -> Result<()> {
    file.write_all(bytes).map_err(|e| Error::io("write", path, &e))
}

/// Writes a file in one step, after its bytes have reached the disk. Several machines may write the
/// same file at once.
///
/// # Errors
/// The disk refuses.
pub(crate) fn replace_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_as(path, |new| files::write_synced(new, bytes))
}

/// As [`replace_synced`], with a copy of a file.
///
/// # Errors
/// The disk refuses.
pub(crate) fn copy_synced(from: &Path, to: &Path, access: FileAccess) -> Result<()> {
    replace_as(to, |new| {
        files::create(new)?;
        access.give(new)?;
        files::copy_synced(from, new)
    })
}

fn replace_as(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let new = temporary(path);
    let written = write(&new).and_then(|()| files::rename(&new, path));
    if written.is_err() {
        // The first error is reported.
        let _ = files::remove_file(&new);
    }
    written
}

/// Removes the temporary files and folders that dead processes left for files of one folder.
///
/// Files that cannot be removed are kept; they only take some space.
pub(crate) fn remove_leftovers<P: AsRef<Path>>(paths: &[P]) {
    let names: BTreeSet<String> = paths.iter().map(|path| files::name_of(path.as_ref())).collect();
    let folder = paths.first().and_then(|path| path.as_ref().parent());
    let Ok(there) = folder.map_or(Ok(Vec::new()), files::list) else { return };
    for file in there {
        let name = files::name_of(&file);
        let parts = name.strip_prefix('.').and_then(|name| name.split_once(NEW));
        if parts.is_some_and(|(name, writer)| names.contains(name) && is_dead(writer, &file)) {
            let _ =
                if file.is_dir() { files::remove_folder(&file) } else { files::remove_file(&file) };
        }
    }
}

/// Whether the process of a temporary file, `HOST-PID`, is gone; of another machine by the age of
/// the file.
fn is_dead(writer: &str, file: &Path) -> bool {
    let Some((machine, id)) = writer.rsplit_once('-') else { return false };
    let Ok(id) = id.parse::<i32>() else { return false };
    if machine == host() {
        return Pid::from_raw(id).is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH));
    }
    let written = files::metadata(file).ok().and_then(|meta| meta.modified().ok());
    let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    age.is_some_and(|age| age > ABANDONED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Says;

    #[test]
    fn only_what_dead_processes_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let (host, own) = (host(), std::process::id());
        // A process that has ended, and was waited for.
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let dead = format!(".part-1.new-{host}-{}", ended.id());
        let old = ".part-1.new-elsewhere-7".to_owned();
        let stay = [
            format!(".part-1.new-{host}-{own}"),
            ".part-1.new-elsewhere-8".to_owned(),
            format!(".part-2.new-{host}-{}", ended.id()),
            "part-1".to_owned(),
            ".part-1.new-".to_owned(),
        ];
        for name in stay.iter().chain([&dead, &old]) {
            std::fs::write(path(name), "x").unwrap();
        }
        let long_ago = SystemTime::now() - ABANDONED - Duration::from_secs(60);
        let file = std::fs::File::options().write(true).open(path(&old)).unwrap();
        file.set_modified(long_ago).unwrap();
        remove_leftovers(&[path("part-1")]);
        assert!(!path(&dead).exists() && !path(&old).exists());
        assert!(stay.iter().all(|name| path(name).exists()));
        remove_leftovers::<PathBuf>(&[]);
        replace_synced(&path("part-1"), b"y").unwrap();
        assert_eq!(std::fs::read(path("part-1")).unwrap(), b"y");
        // The next write of a file removes what an earlier one left: a file, or a folder.
        let left = path(&format!(".page.new-{host}-{}", ended.id()));
        std::fs::create_dir(&left).unwrap();
        std::fs::write(path(&dead), "x").unwrap();
        replace(&path("page"), b"z").unwrap();
        assert!(!left.exists() && path(&dead).exists(), "another file's affair");
        replace_private(&path("part-1"), b"secret").unwrap();
        assert!(!path(&dead).exists());
        let mode = std::fs::metadata(path("part-1")).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    }

    #[test]
    fn a_link_stays_a_link_and_an_error_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", path("link")).unwrap();
        replace(&path("link"), b"new").unwrap();
        assert_eq!(std::fs::read(path("real")).unwrap(), b"new");
        assert!(path("link").is_symlink());
        let refuse = |_| Err(Error::operator("write", path("real"), "no", "try"));
        assert!(replace_with(&path("real"), refuse).is_err());
        assert_eq!(std::fs::read(path("real")).unwrap(), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        let error = replace(&path("none/file"), b"x").unwrap_err().to_string();
        assert!(error.contains("none/file") && !error.contains(NEW), "{error}");
        error.says(&["hint: make sure that its folder exists"]);
    }
}
