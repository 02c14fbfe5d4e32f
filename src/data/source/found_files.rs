//! The files that a path of the job represents: a file, a folder, a glob, or the same in an object
//! store, sorted by the bytes of their paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Error, Fault, Result};
use crate::exec::files;
use crate::exec::object;

/// Largest depth of folders in a hive layout.
const MAX_DEPTH: usize = 32;

/// Refuses paths that are neither a regular file nor a link to one.
///
/// A pipe or device may never end, and cannot be read twice.
///
/// # Errors
/// A folder, pipe, socket or device.
pub(crate) fn check_regular(path: &Path) -> Result<()> {
    let meta = files::metadata(path)?;
    if meta.is_file() {
        return Ok(());
    }
    let kind = if meta.is_dir() { "a folder" } else { "a pipe, socket or device" };
    let hint = "files are read more than once, so the path must name a regular file or a link to \
                one; write the data to a file first";
    Err(Fault::new("not-a-file", format!("`{}` is {kind}, not a file", path.display()))
        .in_file(path)
        .hint(hint)
        .into())
}

/// The files of a path, a folder or a glob.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles {
    /// Each file once, sorted by the bytes of their paths.
    pub(crate) files: Vec<PathBuf>,
    /// Links, or paths through them, to files found already, with their targets.
    pub(crate) repeated: Vec<(PathBuf, PathBuf)>,
}

/// The files of a path, a folder or a glob, sorted by the bytes of their paths, each once.
///
/// A folder represents the files below it that end in `extension`, without names that begin with
/// `.` or `_`; so does a prefix of an object store.
///
/// # Errors
/// No such file, a malformed glob, or a folder that cannot be read.
pub(crate) fn find_files(pattern: &str, extension: Option<&str>) -> Result<Vec<PathBuf>> {
    Ok(find_files_once(pattern, extension)?.files)
}

/// As [`find_files`], with the paths left out as other names of a file or folder.
///
/// Such as the link `latest -> dt=2026-11-20`.
///
/// # Errors
/// As [`find_files`].
pub(crate) fn find_files_once(pattern: &str, extension: Option<&str>) -> Result<FoundFiles> {
    if object::is_address(pattern) {
        let files = find_objects(pattern, extension)?;
        return Ok(FoundFiles { files, repeated: Vec::new() });
    }
    let (mut files, mut repeated) = (Vec::new(), Vec::new());
    let mut add = |path: PathBuf| match (path.is_dir(), extension) {
        (true, Some(extension)) => walk(&path, extension, &mut files, &mut repeated),
        (true, None) => Ok(()),
        (false, _) => {
            files.push(path);
            Ok(())
        }
    };
    if Path::new(pattern).exists() {
        add(PathBuf::from(pattern))?;
    } else {
        let paths = glob::glob(pattern).map_err(|e| {
            Fault::new("missing-file", format!("`{pattern}` is neither a file nor a glob: {e}"))
                .hint("name a file, a folder, or a glob such as `lake/*.parquet`")
        })?;
        for path in paths {
            add(path.map_err(|e| Error::io("read", e.path(), e.error()))?)?;
        }
    }
    let mut files = each_once(files, &mut repeated);
    let bytes = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
    files.sort_by_key(bytes);
    repeated.sort();
    repeated.dedup();
    if files.is_empty() {
        let (what, hint) = match extension.filter(|_| Path::new(pattern).is_dir()) {
            Some(extension) => (
                format!("the folder `{pattern}` holds no `.{extension}` file"),
                "put the files into it, or name another folder",
            ),
            None => (
                format!("no file matches `{pattern}`"),
                "paths are relative to the folder in which cfaudit is started",
            ),
        };
        return Err(Fault::new("missing-file", what).hint(hint).into());
    }
    Ok(FoundFiles { files, repeated })
}

/// The objects of an address: itself, those that match a glob, or those below it that end in
/// `extension`, sorted by the bytes of their addresses.
fn find_objects(pattern: &str, extension: Option<&str>) -> Result<Vec<PathBuf>> {
    let path = Path::new(pattern);
    let missing =
        |what: String, hint: &str| Err(Fault::new("missing-file", what).hint(hint).into());
    if let Some(at) = pattern.find(['*', '[']) {
        let glob = glob::Pattern::new(pattern).map_err(|e| {
            Fault::new("missing-file", format!("`{pattern}` is no glob: {e}"))
                .hint("name an object, a prefix, or a glob such as `s3://lake/loans/*.parquet`")
        })?;
        let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
        let prefix = pattern[..at].rsplit_once('/').map_or(pattern, |(prefix, _)| prefix);
        let mut found = object::list(Path::new(prefix))?;
        found.retain(|path| glob.matches_path_with(path, options));
        if found.is_empty() {
            let hint = "correct the address; a store says the same where this account may not look";
            return missing(format!("no object matches `{pattern}`"), hint);
        }
        return Ok(found);
    }
    if !pattern.ends_with('/') && object::version(path)?.is_some() {
        return Ok(vec![path.to_path_buf()]);
    }
    let Some(extension) = extension else { return Err(object::absent(path).into()) };
    let mut found = object::list(path)?;
    found.retain(|object| {
        let below = object.strip_prefix(path).unwrap_or(object);
        let is_hidden = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with(['.', '_']);
        !below.iter().any(is_hidden) && object.extension().is_some_and(|e| e == extension)
    });
    if found.is_empty() {
        let what = format!("there is no object `{pattern}`, and no `.{extension}` object below it");
        return missing(
            what,
            "correct the address; a store says the same where this account may not look",
        );
    }
    Ok(found)
}

/// Of several paths to one file keeps the one through the fewest links.
///
/// Its folders are those that hold the file, and their names may be keys.
fn each_once(paths: Vec<PathBuf>, repeated: &mut Vec<(PathBuf, PathBuf)>) -> Vec<PathBuf> {
    let mut by_file: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for path in paths {
        // A path that is not a file is reported when it is read.
        let file = files::resolve(&path).unwrap_or_else(|_| path.clone());
        by_file.entry(file).or_default().push(path);
    }
    let mut files = Vec::new();
    for (file, mut paths) in by_file {
        let common = |path: &PathBuf| {
            path.components().rev().zip(file.components().rev()).take_while(|(a, b)| a == b).count()
        };
        paths.sort_by_key(|path| (std::cmp::Reverse(common(path)), path.clone()));
        paths.dedup();
        let mut paths = paths.into_iter();
        let Some(first) = paths.next() else { continue };
        repeated.extend(paths.map(|path| (path, first.clone())));
        files.push(first);
    }
    files
}

/// Adds the files below a folder that end in `extension`.
///
/// Each folder is entered once, by its own path rather than by a link.
fn walk(
    root: &Path,
    extension: &str,
    found: &mut Vec<PathBuf>,
    repeated: &mut Vec<(PathBuf, PathBuf)>,
) -> Result<()> {
    let (mut entered, mut links) = (BTreeMap::new(), Vec::new());
    let mut open = vec![(root.to_path_buf(), MAX_DEPTH)];
    loop {
        while let Some((folder, depth)) = open.pop() {
            let real = files::resolve(&folder)?;
            if let Some(known) = entered.get(&real) {
                repeated.push((folder, PathBuf::clone(known)));
                continue;
            }
            entered.insert(real, folder.clone());
            for path in files::list(&folder)? {
                if path.file_name().unwrap_or_default().to_string_lossy().starts_with(['.', '_']) {
                    continue;
                }
                if !path.is_dir() {
                    found.extend(path.extension().is_some_and(|e| e == extension).then_some(path));
                } else if depth > 0 {
                    if path.is_symlink() {
                        links.push((path, depth - 1))
                    } else {
                        open.push((path, depth - 1))
                    }
                }
            }
        }
        // Links are followed only after every folder was entered by its own path.
        links.sort();
        match links.pop() {
            Some(link) => open.push(link),
            None => return Ok(()),
        }
    }
}
