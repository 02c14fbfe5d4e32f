//! Reads, writes, hashes, copies and renames files so that every failure names its path.

#![expect(clippy::disallowed_methods, reason = "every call names its path in the error")]

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// One file below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileBelow {
    /// Path below the folder, with `/` between its parts.
    pub(super) name: String,
    /// The path to open.
    pub(super) path: PathBuf,
    /// Size in bytes.
    pub(super) bytes: u64,
}

/// Modes of what is about single people: the cache, and rows of an output folder.
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// An operator's error that no system call reported.
pub(super) fn refuse(doing: &str, path: &Path, cause: impl Into<String>, hint: impl Into<String>) -> Error {
    Error::operator(doing, path, cause.into(), hint.into().as_str())
}

/// The bytes of a file, or nothing if there is no such file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io("read", path, &e)),
    }
}

/// Makes a folder and those above it.
pub(super) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io("make the folder", path, &e))
}

/// Makes a folder that only its owner may open, whatever the umask, and those above it as the umask
/// says. One that is there is closed to others, if it is ours to close.
pub(super) fn make_private_folder(path: &Path) -> Result<()> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folder(parent)?;
    }
    match DirBuilder::new().mode(PRIVATE_FOLDER).create(path) {
        Ok(()) => protect(path),
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            // Of a cache that another account has made the owner decides.
            let mode = fs::metadata(path).map_err(|e| Error::io("read", path, &e))?.permissions().mode();
            if mode & 0o777 != PRIVATE_FOLDER
                && let Err(e) = protect(path)
            {
                tracing::debug!("{e}");
            }
            Ok(())
        }
        Err(e) => Err(Error::io("make the folder", path, &e)),
    }
}

/// Closes a file or folder to all but its owner, whatever the umask.
pub(super) fn protect(path: &Path) -> Result<()> {
    let mode = |is_dir| Permissions::from_mode(if is_dir { PRIVATE_FOLDER } else { PRIVATE_FILE });
    let closed = fs::metadata(path).and_then(|meta| fs::set_permissions(path, mode(meta.is_dir())));
    closed.map_err(|e| Error::io("set the mode of", path, &e))
}

/// Writes a file and waits until it is on the disk. Not atomic: for files in folders that nobody reads yet.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = File::create(path).map_err(|e| Error::io("write", path, &e))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| Error::io("write", path, &e))
}

/// Writes a file in one step as seen by others: first as `scratch` (on the same disk), then renamed to `path`.
pub(super) fn write_by_rename(scratch: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    write(scratch, bytes)?;
    rename(scratch, path)
}

/// Renames a file or folder.
pub(super) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(|e| Error::io("write", to, &e))
}

/// Removes a folder and all below it; a missing folder is fine.
pub(super) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Err(Error::io("remove", path, &e)),
        _ => Ok(()),
    }
}

/// Waits until the entries of a folder are on the disk; file systems that cannot do that for folders are left alone.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    match File::open(path).and_then(|folder| folder.sync_all()) {
        Err(e) if !matches!(e.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Err(Error::io("write", path, &e)),
        _ => Ok(()),
    }
}

/// Copies a file, as bytes and not as a link, and waits until the copy is on the disk.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(|e| Error::io("read", from, &e))?;
    let mut target = File::create(to).map_err(|e| Error::io("write", to, &e))?;
    std::io::copy(&mut source, &mut target).and_then(|_| target.sync_all()).map_err(|e| Error::io("write", to, &e))
}

/// Waits until a file is on the disk and gives its SHA-256 in hex.
pub(super) fn sync_and_hash(path: &Path) -> Result<String> {
    let file = File::open(path).map_err(|e| Error::io("read", path, &e))?;
    file.sync_all().map_err(|e| Error::io("write", path, &e))?;
    hash_of(path, file, &mut || Ok(()))
}

/// The SHA-256 of a file in hex; `check` is asked between its pieces whether to go on.
pub(super) fn hash(path: &Path, check: &mut dyn FnMut() -> Result<()>) -> Result<String> {
    hash_of(path, File::open(path).map_err(|e| Error::io("read", path, &e))?, check)
}

fn hash_of(path: &Path, mut file: File, check: &mut dyn FnMut() -> Result<()>) -> Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        check()?;
        let n = read_some(&mut file, &mut buffer).map_err(|e| Error::io("read", path, &e))?;
        if n == 0 {
            return Ok(hex(&hasher.finalize()));
        }
        hasher.update(&buffer[..n]);
    }
}

/// Whether `b` is a file with the same bytes as the file `a`.
pub(super) fn same_bytes(a: &FileBelow, b: &Path) -> Result<bool> {
    match fs::metadata(b) {
        Ok(meta) if meta.is_file() && meta.len() == a.bytes => {}
        Ok(_) => return Ok(false),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(false),
        Err(e) => return Err(Error::io("read", b, &e)),
    }
    let (mut left, mut right) =
        (File::open(&a.path).map_err(|e| Error::io("read", &a.path, &e))?, File::open(b).map_err(|e| Error::io("read", b, &e))?);
    let (mut x, mut y) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let n = read_some(&mut left, &mut x).map_err(|e| Error::io("read", &a.path, &e))?;
        let m = read_some(&mut right, &mut y).map_err(|e| Error::io("read", b, &e))?;
        if x[..n] != y[..m] {
            return Ok(false);
        }
        if n == 0 {
            return Ok(true);
        }
    }
}

/// All files below a folder, sorted by name. A link or device among them is an error: results are plain files.
pub(super) fn files_below(folder: &Path) -> Result<Vec<FileBelow>> {
    let mut found = Vec::new();
    let mut folders = vec![(String::new(), folder.to_path_buf())];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| Error::io("list", &folder, &e))? {
            let entry = entry.map_err(|e| Error::io("list", &folder, &e))?;
            let path = entry.path();
            let meta = entry.metadata().map_err(|e| Error::io("read", &path, &e))?;
            let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}")) else {
                return Err(refuse("use", &path, "its name is not UTF-8", "rename it"));
            };
            if meta.is_dir() {
                folders.push((format!("{name}/"), path));
            } else if meta.is_file() {
                found.push(FileBelow { name, path, bytes: meta.len() });
            } else {
                return Err(refuse("use", &path, "it is neither a file nor a folder", "remove it"));
            }
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The paths below a folder of all that is no folder, sorted. Links are named, not followed.
pub(super) fn names_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let here = folder.join(&below);
        for entry in fs::read_dir(&here).map_err(|e| Error::io("list", &here, &e))? {
            let entry = entry.map_err(|e| Error::io("list", &here, &e))?;
            let kind = entry.file_type().map_err(|e| Error::io("read", &entry.path(), &e))?;
            let name = below.join(entry.file_name());
            if kind.is_dir() { folders.push(name) } else { found.push(name) }
        }
    }
    found.sort();
    Ok(found)
}

/// SHA-256, in hex, of a list of texts; each goes in with its length, so that no two lists meet.
pub(super) fn hash_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text);
    }
    hex(&hasher.finalize())
}

/// Fills the buffer as far as the file reaches.
fn read_some(file: &mut File, buffer: &mut [u8]) -> std::io::Result<usize> {
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

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|b| [DIGITS[usize::from(b >> 4)] as char, DIGITS[usize::from(b & 15)] as char]).collect()
}

#[cfg(test)]
mod tests {
    use super::{files_below, hash_texts, same_bytes, sync_and_hash};

    #[test]
    fn hashes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        std::fs::write(&path, "abc").unwrap();
        // FIPS 180-2, appendix B.1.
        assert_eq!(sync_and_hash(&path).unwrap(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_ne!(hash_texts(["a", "bc"]), hash_texts(["ab", "c"]));
        assert_ne!(hash_texts(["a"]), hash_texts(["a", ""]));
    }

    #[test]
    fn files_are_listed_by_name_and_compared_by_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("b")).unwrap();
        let long = vec![7_u8; 200_000];
        let mut other = long.clone();
        other[150_000] = 8;
        for (name, bytes) in [("b/2", &long), ("b/1", &long), ("a", &other)] {
            std::fs::write(at(name), bytes).unwrap();
        }
        let files = files_below(folder.path()).unwrap();
        assert_eq!(files.iter().map(|f| f.name.as_str()).collect::<Vec<_>>(), ["a", "b/1", "b/2"]);
        assert!(same_bytes(&files[1], &at("b/2")).unwrap());
        assert!(!same_bytes(&files[1], &at("a")).unwrap());
        assert!(!same_bytes(&files[1], &at("gone")).unwrap());
        std::os::unix::fs::symlink("a", at("link")).unwrap();
        assert!(files_below(folder.path()).unwrap_err().to_string().contains("neither a file nor a folder"));
    }
}
