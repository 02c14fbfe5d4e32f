//! Files of stages and of output folders: written, read, copied and hashed so that every failure names its path.

#![expect(clippy::disallowed_methods, reason = "every call names its path in the error")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::table::folder::{MANIFEST, hash_file};

/// Writes a value as JSON.
///
/// # Errors
/// The disk refuses.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_string_pretty(value).map_err(|e| Error::io("write", path, &e.into()))?;
    text.push('\n');
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// Writes a value as JSON in one line: lists of numbers are long.
///
/// # Errors
/// The disk refuses.
pub fn write_compact(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(value).map_err(|e| Error::io("write", path, &e.into()))?;
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// Reads a text file of a stage.
///
/// # Errors
/// It cannot be read.
pub fn read_text(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))
}

/// Reads a value from the JSON of a stage.
///
/// # Errors
/// The text is not what the stage writes.
pub fn from_json<T: DeserializeOwned>(text: &str, stage: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| Error::io("read the result of", Path::new(stage), &e.into()))
}

/// The value in a JSON file of a stage.
///
/// # Errors
/// It cannot be read, or holds something else.
pub fn read_json<T: DeserializeOwned>(path: &Path, stage: &str) -> Result<T> {
    from_json(&read_text(path)?, stage)
}

/// Writes a file beside and renames it, so that a reader never sees half of it.
///
/// # Errors
/// The disk refuses.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let io = |doing: &str, e: &std::io::Error| Error::io(doing, path, e);
    // What is no file, such as a pipe, is written to and stays what it is; a link stays a link.
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return fs::write(path, bytes).map_err(|e| io("write", &e));
    }
    let target = if path.exists() { fs::canonicalize(path).map_err(|e| io("write", &e))? } else { path.to_path_buf() };
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let new = target.with_file_name(format!(".{name}.new-{}", std::process::id()));
    let done = fs::write(&new, bytes).map_err(|e| io("write", &e)).and_then(|()| fs::rename(&new, &target).map_err(|e| io("replace", &e)));
    if done.is_err() {
        // What was begun goes; where even that fails the first error is the one to tell.
        let _ = fs::remove_file(&new);
    }
    done
}

/// Makes a folder and those above it.
///
/// # Errors
/// The disk refuses.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|e| Error::io("create", path, &e))
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map_err(|e| Error::io("copy", from, &e)).map(|_| ())
}

/// A second name for a large file that nobody changes, or a copy where the file system has no such thing.
///
/// # Errors
/// The disk refuses.
pub fn link(from: &Path, to: &Path) -> Result<()> {
    fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(|_| ())).map_err(|e| Error::io("copy", from, &e))
}

/// Writes a text file.
///
/// # Errors
/// The disk refuses.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::io("write", path, &e))
}

/// Path below the folder and hash of every file but the manifest.
pub(super) fn hashes(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut hashes = BTreeMap::new();
    let mut open = vec![String::new()];
    while let Some(below) = open.pop() {
        let here = folder.join(&below);
        for entry in fs::read_dir(&here).map_err(|e| Error::io("read", &here, &e))? {
            let entry = entry.map_err(|e| Error::io("read", &here, &e))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if below.is_empty() { name } else { format!("{below}/{name}") };
            if entry.path().is_dir() {
                open.push(path);
            } else if path != MANIFEST {
                hashes.insert(path, hash_file(&entry.path())?.0);
            }
        }
    }
    Ok(hashes)
}
