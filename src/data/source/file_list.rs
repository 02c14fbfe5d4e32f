//! Files of rows that a list names: one snapshot of a table whose format cfaudit does not read.
//!
//! A line holds a path; blank lines and lines that begin with `#` are skipped, `file://` before a
//! path is taken off. Relative paths start at the working directory, as all paths of a job do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::data::source::FoundFiles;
use crate::error::{Fault, Result};
use crate::exec::files;

/// The files of a list, sorted by the bytes of their paths.
///
/// # Errors
/// A list that is not there, names no file, one that is not there or of another storage, or one
/// twice.
pub(crate) fn read_list(list: &str) -> Result<FoundFiles> {
    let path = Path::new(list);
    if !path.is_file() {
        return Err(Fault::new("missing-file", format!("there is no list of files at `{list}`"))
            .in_file(path)
            .hint("write a text file with one path a line, and name it here")
            .into());
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
        if file.contains("://") {
            let what = format!("`{entry}` does not lie on this machine");
            let hint = "copy the files of the snapshot to a disk, and list them there";
            return Err(fault("missing-file", what).hint(hint).into());
        }
        let file = PathBuf::from(file);
        if !file.is_file() {
            let what = format!("the list names `{entry}`, which is no file");
            let hint = "write the list anew from the snapshot; relative paths are relative to the \
                        working directory";
            return Err(fault("missing-file", what).hint(hint).into());
        }
        let real = files::resolve(&file)?;
        if let Some((before, _)) = found.insert(real, (line, file)) {
            let what = format!("the list names `{entry}` twice, first on line {before}");
            let hint = "its rows would count twice: take one line out";
            return Err(fault("duplicate-file", what).hint(hint).into());
        }
    }
    if found.is_empty() {
        return Err(Fault::new("missing-file", format!("the list `{list}` names no file"))
            .in_file(path)
            .hint("write one path a line")
            .into());
    }
    let mut files: Vec<PathBuf> = found.into_values().map(|(_, file)| file).collect();
    files.sort_by_key(|path| path.as_os_str().as_encoded_bytes().to_vec());
    Ok(FoundFiles { files, repeated: Vec::new() })
}
