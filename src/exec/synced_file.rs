//! Files that several machines may write at the same time: each in one step, by way of a temporary
//! file next to it, and what killed processes left of these.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::files;
use crate::error::Result;

/// A temporary file of another machine that is older than this belongs to nobody: writing one takes
/// seconds.
const ABANDONED: Duration = Duration::from_secs(60 * 60);

/// The name of this machine.
fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What stands between the name of a file and the process in the names of its temporary files.
const NEW: &str = ".new-";

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Writes a file in one step, after its bytes have reached the disk. Several machines may write the
/// same file at once.
///
/// # Errors
/// The disk refuses.
pub(crate) fn replace_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_as_host(path, |scratch| files::write_synced(scratch, bytes))
}

/// The same with a copy of a file, which only its owner may open.
///
/// # Errors
/// The disk refuses.
pub(crate) fn copy_private(from: &Path, to: &Path) -> Result<()> {
    replace_as_host(to, |scratch| {
        files::create(scratch).and_then(|_| files::protect(scratch))?;
        files::copy_synced(from, scratch)
    })
}

/// The same with the mode of the umask.
///
/// # Errors
/// The disk refuses.
pub(crate) fn copy_shared(from: &Path, to: &Path) -> Result<()> {
    replace_as_host(to, |scratch| files::copy_synced(from, scratch))
}

fn replace_as_host(path: &Path, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let own = format!(".{}{NEW}{}-{}", name_of(path), host(), std::process::id());
    let scratch = path.with_file_name(own);
    let written = write(&scratch).and_then(|()| files::rename(&scratch, path));
    if written.is_err() {
        // The first error is reported.
        let _ = files::remove_file(&scratch);
    }
    written
}

/// Removes the temporary files that dead processes left for files of one folder.
///
/// A file that cannot be removed stays: it takes some space, and no more.
pub(crate) fn remove_leftovers<P: AsRef<Path>>(of: &[P]) {
    let names: BTreeSet<String> = of.iter().map(|path| name_of(path.as_ref())).collect();
    let folder = of.first().and_then(|path| path.as_ref().parent());
    let Ok(there) = folder.map_or(Ok(Vec::new()), files::list) else { return };
    for file in there {
        let name = name_of(&file);
        let parts = name.strip_prefix('.').and_then(|name| name.split_once(NEW));
        if parts.is_some_and(|(name, writer)| names.contains(name) && is_dead(writer, &file)) {
            let _ = files::remove_file(&file);
        }
    }
}

/// Whether the process of a temporary file, `HOST-PID`, is gone.
fn is_dead(writer: &str, file: &Path) -> bool {
    let Some((machine, id)) = writer.rsplit_once('-') else { return false };
    if machine == host() {
        let id = id.parse().ok().and_then(Pid::from_raw);
        return id.is_some_and(|id| test_kill_process(id) == Err(Errno::SRCH));
    }
    let written = files::metadata(file).ok().and_then(|meta| meta.modified().ok());
    let age = written.and_then(|written| SystemTime::now().duration_since(written).ok());
    age.is_some_and(|age| age > ABANDONED)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

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
    }
}
