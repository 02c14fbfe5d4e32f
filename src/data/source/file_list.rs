//! Files of rows that a list names: one snapshot of a table whose format cfaudit does not read.
//!
//! A line holds a path, or the address of an object; blank lines and lines that begin with `#` are
//! skipped, `file://` before a path is taken off. Relative paths start at the working directory, as
//! all paths of a job do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::data::source::found_files::{Arrival, FoundFiles, awaited, check_complete};
use crate::error::{Fault, Result};
use crate::exec::files;
use crate::exec::object;

/// The files of a list, sorted by the bytes of their paths.
///
/// # Errors
/// A list that is not there, names no file, one that is not there, or one twice; the fault of one
/// that waits where the list may yet come.
pub(crate) fn find_listed(list: &str, arrival: Arrival<'_>) -> Result<FoundFiles> {
    let path = Path::new(list);
    if let Some(name) = arrival.complete {
        check_complete(&path.with_file_name(name))?;
    }
    if !path.is_file() {
        if arrival.wait {
            let what = format!("there is no list of files at `{list}` yet");
            return Err(awaited(what, "run again when it is there"));
        }
        return Fault::new("missing-file", format!("there is no list of files at `{list}`"))
            .in_file(path)
            .fail("write a text file with one path a line, and name it here");
    }
    let text = files::read_text(path)?;
    let mut found: BTreeMap<PathBuf, (usize, PathBuf)> = BTreeMap::new();
    for (line, entry) in (1..).zip(text.lines()) {
        let entry = entry.trim();
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        let fault = |code, what: String| {
            Fault::new(code, what).in_file(path).at_row(format!("line {line}"))
        };
        let file = entry.strip_prefix("file://").unwrap_or(entry);
        let file = PathBuf::from(file);
        // An entry is repeated in messages once it is known to hold no secret.
        if let Some(problem) = object::problem_of(&file) {
            return fault("bad-address", problem.what).fail(problem.hint);
        }
        if !object::is_address(&file) && !file.is_file() {
            let what = format!("the list names `{entry}`, which is no file");
            let hint = "write the list again from the snapshot; relative paths are relative to the \
                        working directory";
            return fault("missing-file", what).fail(hint);
        }
        let real = if object::is_address(&file) { file.clone() } else { files::resolve(&file)? };
        if let Some((before, _)) = found.insert(real, (line, file)) {
            let what = format!("the list names `{entry}` twice, first on line {before}");
            let hint = "its rows would count twice: take one line out";
            return fault("duplicate-file", what).fail(hint);
        }
    }
    if found.is_empty() {
        return Fault::new("missing-file", format!("the list `{list}` names no file"))
            .in_file(path)
            .fail("write one path a line");
    }
    let objects: Vec<&(usize, PathBuf)> =
        found.values().filter(|(_, file)| object::is_address(file)).collect();
    let addresses: Vec<PathBuf> = objects.iter().map(|(_, file)| file.clone()).collect();
    for ((line, file), version) in objects.iter().zip(object::versions(&addresses)?) {
        if version.is_none() {
            return Err(object::absent(file).in_file(path).at_row(format!("line {line}")).into());
        }
    }
    let mut files: Vec<PathBuf> = found.into_values().map(|(_, file)| file).collect();
    files.sort_by_key(|path| path.as_os_str().as_encoded_bytes().to_vec());
    Ok(FoundFiles::of(files))
}
