//! The only access to files: reads, writes, hashes, copies and renames; errors name the path.
//!
//! No other file of the library calls `std::fs` (`source_fingerprint.rs` does, because the build
//! script compiles it separately). Choose a writer by its guarantee:
//!
//! | Function | Replaces a file | A reader sees half of it | On the disk when it returns |
//! | --- | --- | --- | --- |
//! | [`write`], [`create`], [`copy`] | yes | yes | no |
//! | [`write_synced`], [`copy_synced`] | yes | yes | yes |
//! | [`write_by_rename`] | yes | no | yes |
//! | [`replaced_file`](super::replaced_file): `replace`, `replace_private`, `replace_with` | yes; a pipe is written to, a link stays a link | no | no |
//! | [`write_new`] | never | yes | no |
//! | [`write_private`] | never; mode 0600 | yes | yes |

#![expect(clippy::disallowed_methods, reason = "the only access to files")]

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Access, CWD, OFlags, RenameFlags, access, renameat_with};
use rustix::io::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::hash::hex;
use crate::error::{Error, Result};

pub(crate) use std::fs::{File, Metadata, TryLockError};

/// One file below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileBelow {
    /// Path below the folder, with `/` between its parts.
    pub(crate) name: String,
    /// The path to open.
    pub(crate) path: PathBuf,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

/// Modes of files with data about single people: the cache, and rows of an output folder.
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Number of bytes hashed or compared at a time.
const PIECE: usize = 1 << 18;

/// The error of a system call.
fn failed(doing: &'static str, path: &Path) -> impl Fn(io::Error) -> Error {
    move |cause| Error::io(doing, path, &cause)
}

/// What was found; `None` if the path does not exist.
fn if_there<T>(found: io::Result<T>, doing: &'static str, path: &Path) -> Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io(doing, path, &e)),
    }
}

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(failed("open", path))
}

/// Opens a file to read it; `None` if it does not exist.
pub(super) fn open_if_there(path: &Path) -> Result<Option<File>> {
    if_there(File::open(path), "open", path)
}

/// The bytes of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(failed("read", path))
}

/// The first bytes of a file, at most `limit`.
pub(crate) fn read_start(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes));
    file.map(|_| bytes).map_err(failed("read", path))
}

/// The text of a file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(failed("read", path))
}

/// The bytes of a file; `None` if it does not exist.
pub(crate) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    if_there(fs::read(path), "read", path)
}

/// Parses a value from the JSON of a stage.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str, stage: &str) -> Result<T> {
    parsed(serde_json::from_str(text), stage)
}

/// What was parsed from the JSON of a stage.
pub(crate) fn parsed<T>(value: serde_json::Result<T>, stage: &str) -> Result<T> {
    value.map_err(|e| failed("read the result of", Path::new(stage))(e.into()))
}

/// Reads the value in a JSON file of a stage.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path, stage: &str) -> Result<T> {
    from_json(&read_text(path)?, stage)
}

/// The metadata of a file; links are followed.
pub(crate) fn metadata(path: &Path) -> Result<Metadata> {
    fs::metadata(path).map_err(failed("read", path))
}

/// The metadata of a file; `None` if it does not exist.
pub(crate) fn metadata_if_there(path: &Path) -> Result<Option<Metadata>> {
    if_there(fs::metadata(path), "read", path)
}

/// The path with its links resolved; all of it must exist.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(failed("read", path))
}

/// As [`resolve`]; `None` if the file or folder does not exist.
///
/// A file in place of a folder of the path is an error.
pub(super) fn resolve_if_there(path: &Path) -> Result<Option<PathBuf>> {
    match fs::canonicalize(path) {
        Ok(resolved) => Ok(Some(resolved)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io("read", path, &e)),
    }
}

/// The last part of a path, as text; empty where there is none.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The paths of all entries of a folder, sorted.
pub(crate) fn list(folder: &Path) -> Result<Vec<PathBuf>> {
    let paths = fs::read_dir(folder).and_then(|all| all.map(|one| Ok(one?.path())).collect());
    let mut paths: Vec<PathBuf> = paths.map_err(failed("list", folder))?;
    paths.sort();
    Ok(paths)
}

/// Creates a folder and its parents.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(failed("make the folder", path))
}

/// Creates a folder that only its owner may open, for any umask; false if the name is taken.
pub(super) fn make_new_private_folder(path: &Path) -> Result<bool> {
    match DirBuilder::new().mode(PRIVATE_FOLDER).create(path) {
        Ok(()) => protect(path).map(|()| true),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(Error::io("make the folder", path, &e)),
    }
}

/// Creates a folder that only its owner may open, for any umask, and its parents by the umask.
///
/// An existing folder is closed to other accounts if it is ours.
pub(super) fn make_private_folder(path: &Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folder(parent)?;
    }
    // The target of a link is another folder.
    if !make_new_private_folder(path)?
        && is_open_to_others(path)?
        && !path.is_symlink()
        && let Err(e) = protect(path)
    {
        tracing::debug!("{e}");
    }
    Ok(())
}

/// Whether other accounts than the owner may list, open or change something in a folder.
pub(super) fn is_open_to_others(folder: &Path) -> Result<bool> {
    Ok(metadata(folder)?.permissions().mode() & 0o077 != 0)
}

/// Whether the path is a folder, and not a link to one.
pub(super) fn is_real_folder(path: &Path) -> bool {
    path.is_dir() && !path.is_symlink()
}

/// Checks that this user may write to a folder, or make it where it does not exist.
///
/// # Errors
/// The folder, or the one below which it would be made, is read-only for this user.
pub(crate) fn check_writable(folder: &Path) -> Result<()> {
    let mut above = folder.ancestors().map(|path| match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    });
    let Some(there) = above.find(|path| path.is_dir()) else { return Ok(()) };
    match access(there, Access::WRITE_OK | Access::EXEC_OK) {
        Err(cause @ (Errno::ACCESS | Errno::ROFS)) => {
            let hint = "give this user access to it, or name folders elsewhere: for the results \
                        by `--out`, for the cache by `--cache`";
            Err(Error::operator("write to", folder, io::Error::from(cause), hint))
        }
        _ => Ok(()),
    }
}

/// Removes the access of all but the owner of a file or folder, for any umask.
pub(super) fn protect(path: &Path) -> Result<()> {
    let mode = |is_dir| Permissions::from_mode(if is_dir { PRIVATE_FOLDER } else { PRIVATE_FILE });
    let closed = fs::metadata(path).and_then(|meta| fs::set_permissions(path, mode(meta.is_dir())));
    closed.map_err(failed("set the mode of", path))
}

/// Creates a file for writing, or truncates an existing one.
pub(crate) fn create(path: &Path) -> Result<File> {
    File::create(path).map_err(failed("create", path))
}

/// Opens a file for appending; creates it if it does not exist.
pub(crate) fn append(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).open(path).map_err(failed("open the log file", path))
}

/// Makes an empty file, or gives an existing one the present time as that of its modification.
pub(super) fn touch(path: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true).mode(PRIVATE_FILE);
    let touched = options.open(path).and_then(|file| file.set_modified(SystemTime::now()));
    touched.map_err(failed("write", path))
}

/// Opens a file for locking; creates it if it does not exist. A link is not followed.
pub(super) fn open_to_lock(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options.open(path).map_err(failed("lock", path))
}

/// Writes a file.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, bytes).map_err(failed("write", path))
}

/// Writes a value as JSON.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value);
    write(path, text.map_err(|e| failed("write", path)(e.into()))? + "\n")
}

/// Writes a value as JSON on one line: lists of numbers are long.
pub(crate) fn write_compact(path: &Path, value: &impl Serialize) -> Result<()> {
    write(path, serde_json::to_vec(value).map_err(|e| failed("write", path)(e.into()))?)
}

/// Writes a file that must not exist; `hint` is the hint of the error if it does.
pub(crate) fn write_new(path: &Path, bytes: &[u8], hint: &str) -> Result<()> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(bytes));
    written.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Error::operator("write", path, "the file already exists", hint),
        _ => Error::io("write", path, &e),
    })
}

/// Writes a file that must not exist and that only its owner may open, and waits for the disk.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(path);
    file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(failed("write", path))?;
    protect(path)
}

/// Writes a file and waits for the disk. Not atomic: for files in folders that are not read yet.
pub(super) fn write_synced(path: &Path, bytes: &[u8]) -> Result<()> {
    let file = File::create(path);
    file.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(failed("write", path))
}

/// As [`create`], for a temporary file: an error names the file that it will replace.
pub(super) fn create_for(path: &Path, temporary: &Path) -> Result<File> {
    File::create(temporary).map_err(failed("write", path))
}

/// Renames a file or folder.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(failed("write", to))
}

/// Renames a folder; false if another folder that is not empty has the name.
pub(super) fn rename_to_free(from: &Path, to: &Path) -> Result<bool> {
    match fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(e) if matches!(e.kind(), ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists) => {
            Ok(false)
        }
        Err(e) => Err(Error::io("write", to, &e)),
    }
}

/// Removes a folder that other processes may read: one step renames it to `aside`, then all is
/// deleted.
///
/// A missing folder is not an error.
pub(super) fn remove_at_once(folder: &Path, aside: &Path) -> Result<()> {
    match fs::rename(folder, aside) {
        Ok(()) => remove_folder(aside),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Error::io("remove", folder, &e)),
    }
}

/// Renames the folder `new` to `place`, which does not exist or is an empty folder.
pub(super) fn take_place(new: &Path, place: &Path) -> Result<()> {
    fs::rename(new, place).map_err(not_replaced(place))
}

/// Exchanges the folders `new` and `place` by one system call, or else by renames over `aside`.
///
/// If the process dies between two renames, `aside` holds the old folder.
pub(super) fn exchange(new: &Path, place: &Path, aside: &Path) -> Result<()> {
    match renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            exchange_in_steps(new, place, aside).map_err(not_replaced(place))
        }
        Err(e) => Err(not_replaced(place)(e.into())),
    }
}

/// As [`exchange`], for file systems without such a call.
pub(super) fn exchange_in_steps(new: &Path, place: &Path, aside: &Path) -> io::Result<()> {
    fs::rename(place, aside)?;
    if let Err(e) = fs::rename(new, place) {
        fs::rename(aside, place)?;
        return Err(e);
    }
    if let Err(e) = fs::rename(aside, new) {
        // The new folder is in place; the next claim removes the old one.
        tracing::warn!("cannot remove `{}`: {e}", aside.display());
    }
    Ok(())
}

fn not_replaced(place: &Path) -> impl Fn(io::Error) -> Error {
    move |cause| match cause.kind() {
        ErrorKind::ResourceBusy | ErrorKind::CrossesDevices => {
            let hint = "if it is a mount point, give a folder inside it with `--out`";
            Error::operator("replace", place, cause, hint)
        }
        _ => Error::io("replace", place, &cause),
    }
}

/// Removes a folder and all below it; a missing folder is fine.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, &e)),
        _ => Ok(()),
    }
}

/// Removes a folder and all below it, or a file. For a link, the link itself.
pub(super) fn remove_any(path: &Path) -> Result<()> {
    if is_real_folder(path) { remove_folder(path) } else { remove_file(path) }
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> Result<()> {
    fs::remove_file(path).map_err(failed("remove", path))
}

/// Waits until the entries of a folder are on the disk, where the file system supports that.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    match File::open(path).and_then(|folder| folder.sync_all()) {
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Err(Error::io("write", path, &e))
        }
        _ => Ok(()),
    }
}

/// Copies a file with its mode.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(|_| ()).map_err(failed("copy", from))
}

/// Copies the contents of a file, not a link, with the mode of the umask, and waits for the disk.
pub(super) fn copy_synced(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(failed("read", from))?;
    let mut target = File::create(to).map_err(failed("write", to))?;
    let copied = io::copy(&mut source, &mut target).and_then(|_| target.sync_all());
    copied.map_err(failed("write", to))
}

/// Makes a hard link to a large file that does not change, or a copy where links are not supported.
pub(crate) fn link(from: &Path, to: &Path) -> Result<()> {
    fs::hard_link(from, to).or_else(|_| copy(from, to))
}

/// Whether two paths are one file: links to the same content.
///
/// # Errors
/// One of them cannot be looked at.
pub(super) fn is_same_file(a: &Path, b: &Path) -> Result<bool> {
    let place =
        |path: &Path| metadata_if_there(path).map(|found| found.map(|m| (m.dev(), m.ino())));
    let found = place(a)?;
    Ok(found.is_some() && found == place(b)?)
}

/// Makes a hard link to an entry that a run has not written.
///
/// Where the file system or the owner of the file does not allow that: the same symbolic link, or a
/// copy.
pub(super) fn link_foreign(from: &Path, to: &Path) -> Result<()> {
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let linked = if from.is_symlink() {
        fs::read_link(from).and_then(|target| symlink(target, to))
    } else if from.is_file() {
        fs::copy(from, to).map(|_| ())
    } else {
        let cause = "it is neither a file nor a folder, and cannot be moved into the new folder";
        return Err(Error::operator("replace", from, cause, "move it elsewhere, then run again"));
    };
    linked.map_err(failed("move into the new folder", from))
}

/// Waits until a file is on the disk and returns its SHA-256 in hex.
pub(super) fn sync_and_hash(path: &Path) -> Result<String> {
    let file = open(path)?;
    file.sync_all().map_err(failed("write", path))?;
    hash_of(path, file, &mut || Ok(())).map(|(hash, _)| hash)
}

/// The SHA-256 of a file in hex, and its size in bytes.
pub(crate) fn hash_file(path: &Path) -> Result<(String, u64)> {
    hash_unless(path, &mut || Ok(()))
}

/// As [`hash_file`]; calls `check` between pieces and stops if it errs.
pub(crate) fn hash_unless(
    path: &Path,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<(String, u64)> {
    hash_of(path, open(path)?, check)
}

fn hash_of(
    path: &Path,
    mut file: File,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<(String, u64)> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    let mut buffer = vec![0; PIECE];
    loop {
        check()?;
        let n = read_some(&mut file, &mut buffer).map_err(failed("read", path))?;
        if n == 0 {
            return Ok((hex(&hasher.finalize()), bytes));
        }
        hasher.update(&buffer[..n]);
        bytes += n as u64;
    }
}

/// Whether `b` is a file with the same bytes as the file `a`.
pub(super) fn same_bytes(a: &FileBelow, b: &Path) -> Result<bool> {
    if metadata_if_there(b)?.is_none_or(|meta| !meta.is_file() || meta.len() != a.bytes) {
        return Ok(false);
    }
    let (mut left, mut right) = (open(&a.path)?, open(b)?);
    let (mut x, mut y) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let n = read_some(&mut left, &mut x).map_err(failed("read", &a.path))?;
        let m = read_some(&mut right, &mut y).map_err(failed("read", b))?;
        if x[..n] != y[..m] {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

/// All files below a folder, sorted by name.
///
/// A link or device among them is an error: results are regular files.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<FileBelow>> {
    let mut found = Vec::new();
    for below in names_below(folder)? {
        let path = folder.join(&below);
        let meta = fs::symlink_metadata(&path).map_err(failed("read", &path))?;
        if !meta.is_file() {
            return Err(Error::operator(
                "use",
                &path,
                "it is neither a file nor a folder",
                "remove it",
            ));
        }
        let Ok(name) = below.into_os_string().into_string() else {
            return Err(Error::operator("use", &path, "its name is not UTF-8", "rename it"));
        };
        found.push(FileBelow { name, path, bytes: meta.len() });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The paths below a folder of everything but folders, sorted. Links are listed, not followed.
pub(crate) fn names_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let here = folder.join(&below);
        for entry in fs::read_dir(&here).map_err(failed("list", &here))? {
            let entry = entry.map_err(failed("list", &here))?;
            let kind = entry.file_type().map_err(failed("read", &entry.path()))?;
            let name = below.join(entry.file_name());
            if kind.is_dir() { folders.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    Ok(found)
}

/// Fills the buffer, or reads to the end of the file.
fn read_some(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::hash::sha256;
    use crate::tests::Says;

    #[test]
    fn hashes_cover_files_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        for bytes in [0, PIECE - 1, PIECE, PIECE + 1] {
            std::fs::write(&path, vec![7; bytes]).unwrap();
            let hash = sha256(&vec![7; bytes]);
            assert_eq!(sync_and_hash(&path).unwrap(), hash);
            assert_eq!(hash_file(&path).unwrap(), (hash, bytes as u64));
        }
        let mut asked = 0;
        let mut stop = || {
            if {
                asked += 1;
                asked
            } < 2
            {
                Ok(())
            } else {
                Err(Error::operator("go on with", &path, "stop", ""))
            }
        };
        assert!(hash_unless(&path, &mut stop).is_err());
    }

    #[test]
    fn every_error_names_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let (gone, there) = (folder.path().join("gone/file"), folder.path().join("there"));
        write(&there, "1").unwrap();
        let errors = [
            open(&gone).map(|_| ()),
            read(&gone).map(|_| ()),
            read_start(&gone, 1).map(|_| ()),
            read_text(&gone).map(|_| ()),
            read_json::<u8>(&gone, "stage").map(|_| ()),
            metadata(&gone).map(|_| ()),
            resolve(&gone).map(|_| ()),
            list(&gone).map(|_| ()),
            files_below(&gone).map(|_| ()),
            hash_file(&gone).map(|_| ()),
            create(&gone).map(|_| ()),
            append(&gone).map(|_| ()),
            open_to_lock(&gone).map(|_| ()),
            write(&gone, "1"),
            write_json(&gone, &1),
            write_compact(&gone, &1),
            write_new(&gone, b"1", "hint"),
            write_private(&gone, b"1"),
            write_synced(&gone, b"1"),
            rename(&there, &gone),
            rename_to_free(&there, &gone).map(|_| ()),
            take_place(&there, &gone),
            remove_file(&gone),
            sync_folder(&gone),
            copy(&gone, &there),
            copy_synced(&there, &gone),
            link(&gone, &there.with_file_name("other")),
        ];
        for error in errors {
            let error = error.unwrap_err().to_string();
            assert!(error.contains(&gone.display().to_string()), "{error}");
            error.says(&["hint: make sure that its folder exists"]);
        }
        assert_eq!(
            (read_if_there(&gone).unwrap(), metadata_if_there(&gone).unwrap().is_none()),
            (None, true)
        );
        remove_folder(&gone).unwrap();
        let refused = write_new(&there, b"2", "name a new file").unwrap_err().to_string();
        assert_eq!(read_text(&there).unwrap(), "1");
        refused.says(&["already exists\n  hint: name a new file"]);
        assert!(write_private(&there, b"2").is_err() && read_text(&there).unwrap() == "1");
    }

    #[test]
    fn files_are_listed_by_name_and_compared_by_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("b")).unwrap();
        let long = vec![7_u8; 300_000];
        let mut other = long.clone();
        other[290_000] = 8;
        for (name, bytes) in [("b/2", &long), ("b/1", &long), ("a", &other)] {
            std::fs::write(at(name), bytes).unwrap();
        }
        let files = files_below(folder.path()).unwrap();
        assert_eq!(files.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a", "b/1", "b/2"]);
        assert!(same_bytes(&files[1], &at("b/2")).unwrap());
        assert!(!same_bytes(&files[1], &at("a")).unwrap());
        assert!(!same_bytes(&files[1], &at("gone")).unwrap());
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        files_below(folder.path()).unwrap_err().to_string().says(&["neither a file nor a folder"]);
    }
}
