//! The files that a path of the job represents: a file, a folder, a glob, or the same in an object
//! store, sorted by the bytes of their paths.
//!
//! Files of rows may yet be on their way ([`find_arrived`]): then a run ends with the status of one
//! that waits for scores, whatever part of them is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, Fault, ROWS_AWAITED, Result};
use crate::exec::files;
use crate::exec::object;
use crate::table::file::{FileOwner, ParquetFile};

/// Largest depth of folders in a hive layout.
const MAX_DEPTH: usize = 32;

/// So long a file that cannot be read may yet be written to.
const WRITING_GRACE: Duration = Duration::from_secs(15 * 60);

/// What writers leave in a folder as long as they write to it: names, and beginnings and ends of
/// names. Spark and Hadoop (`_temporary`, and the staging folders of tables), the committer of S3A,
/// Flink, `hdfs dfs -put`.
const WRITERS: [&str; 2] = ["_temporary", "__magic"];
const WRITERS_BEGIN: [&str; 2] = [".spark-staging", ".hive-staging"];
const WRITERS_HOLD: [&str; 2] = [".inprogress", "._COPYING_"];

/// When files of rows are complete, besides that nobody is writing to their folder.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival<'a> {
    /// Whether a pattern that matches nothing is waited for; of Parquet also a young file that
    /// cannot be read.
    pub(crate) wait: bool,
    /// A file that is written last, next to them.
    pub(crate) complete: Option<&'a str>,
}

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
    /// What somebody who is writing to one of the folders has left there.
    writers: Vec<PathBuf>,
}

impl FoundFiles {
    /// Files that are named one by one.
    pub(crate) fn of(files: Vec<PathBuf>) -> Self {
        FoundFiles { files, ..FoundFiles::default() }
    }
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
    let found = search(pattern, extension)?;
    if found.files.is_empty() { Err(nothing_found(pattern, extension)) } else { Ok(found) }
}

/// As [`find_files_once`], of rows that may yet be on their way.
///
/// # Errors
/// As [`find_files`]; and where they are not all there, the fault whose status is that of a run
/// that waits.
pub(crate) fn find_arrived(
    pattern: &str,
    extension: &str,
    arrival: Arrival<'_>,
) -> Result<FoundFiles> {
    let found = search(pattern, Some(extension))?;
    let awaited = |what: String, hint: &str| Err(awaited(what, hint));
    if let Some(writer) = found.writers.first() {
        let writer = writer.display();
        let hint = format!(
            "run again when the files are written; if a writer was ended before it was done, \
             remove `{writer}`"
        );
        return awaited(format!("`{writer}` says that somebody is writing there"), &hint);
    }
    let folders = folders_of(pattern, &found.files);
    if let Some(name) = arrival.complete {
        for folder in &folders {
            check_complete(&folder.join(name))?;
        }
    }
    if found.files.is_empty() {
        return if arrival.wait || arrival.complete.is_some() {
            awaited(format!("no file matches `{pattern}` yet"), "run again when there are some")
        } else {
            Err(nothing_found(pattern, Some(extension)))
        };
    }
    for file in found.files.iter().filter(|_| arrival.wait && extension == "parquet") {
        if !object::is_address(file) && is_half_written(file)? {
            let what = format!("`{}` cannot be read as Parquet yet", file.display());
            let hint = "run again when it is complete; after 15 minutes it counts as damaged";
            return awaited(what, hint);
        }
    }
    Ok(found)
}

/// Checks that a file is there which says that others next to it are complete.
///
/// # Errors
/// It is not there yet.
pub(crate) fn check_complete(file: &Path) -> Result<()> {
    let is_there = match object::is_address(file) {
        true => object::version(file)?.is_some(),
        false => file.try_exists().map_err(|e| Error::io("read", file, &e))?,
    };
    if is_there {
        return Ok(());
    }
    let hint = "run again when the files are written: the job asks for this one by `complete`";
    Err(awaited(format!("there is no file `{}` yet", file.display()), hint))
}

/// The fault of rows that are not all there yet.
pub(crate) fn awaited(what: String, hint: &str) -> Error {
    Fault::new(ROWS_AWAITED, what).hint(hint).into()
}

/// Whether a Parquet file cannot be read and was written to within the last quarter of an hour: its
/// end may yet come.
///
/// # Errors
/// It is not there, or cannot be opened.
pub(crate) fn is_half_written(path: &Path) -> Result<bool> {
    let there = files::metadata(path)?;
    let written = there.modified().map_err(|e| Error::io("read", path, &e))?;
    // Clocks of two machines differ a little, in either direction.
    let age = SystemTime::now().duration_since(written).unwrap_or_else(|ahead| ahead.duration());
    Ok(there.is_file()
        && age < WRITING_GRACE
        && matches!(ParquetFile::open(path, FileOwner::User), Err(Error::Data(_))))
}

/// Whether a name is one that a writer leaves only as long as it writes.
fn is_of_writer(name: &str) -> bool {
    WRITERS.contains(&name)
        || WRITERS_BEGIN.iter().any(|begin| name.starts_with(begin))
        || WRITERS_HOLD.iter().any(|part| name.contains(part))
}

/// The folders that a pattern is about: the folder that it is, or those of the files that it
/// matches; where it matches none, the one that holds them in the end, if its name is known.
fn folders_of(pattern: &str, found: &[PathBuf]) -> BTreeSet<PathBuf> {
    let (path, is_glob) = (Path::new(pattern), pattern.contains(['*', '?', '[']));
    let above = |path: &Path| path.parent().unwrap_or(Path::new("")).to_path_buf();
    if !is_glob {
        let is_one = found.len() == 1 && found[0] == path;
        return BTreeSet::from([if is_one { above(path) } else { path.to_path_buf() }]);
    }
    if found.is_empty() {
        let folder = above(path);
        let known = !folder.to_string_lossy().contains(['*', '?', '[']);
        return known.then_some(folder).into_iter().collect();
    }
    let depth = |path: &Path| path.components().filter(|of| *of != Component::CurDir).count();
    // A glob of folders matches the folders above the files that are found.
    let up = |file: &PathBuf| depth(file).saturating_sub(depth(path)).max(1);
    found.iter().map(|file| file.ancestors().nth(up(file)).unwrap_or(file).to_path_buf()).collect()
}

/// All files that a pattern represents; none is fine.
fn search(pattern: &str, extension: Option<&str>) -> Result<FoundFiles> {
    if object::is_address(pattern) {
        return search_objects(pattern, extension);
    }
    let mut found = FoundFiles::default();
    let mut add = |path: PathBuf| match (path.is_dir(), extension) {
        (true, Some(extension)) => walk(&path, extension, &mut found),
        (true, None) => Ok(()),
        (false, _) => {
            found.files.push(path);
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
        let folders = folders_of(pattern, &found.files);
        for folder in folders.iter().filter(|folder| extension.is_some() && folder.is_dir()) {
            let beside = files::list(folder)?.into_iter();
            found.writers.extend(beside.filter(|path| is_of_writer(&files::name_of(path))));
        }
    }
    found.files = each_once(std::mem::take(&mut found.files), &mut found.repeated);
    let bytes = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
    found.files.sort_by_key(bytes);
    found.repeated.sort();
    found.repeated.dedup();
    found.writers.sort();
    found.writers.dedup();
    Ok(found)
}

/// The fault of a pattern that represents no file.
fn nothing_found(pattern: &str, extension: Option<&str>) -> Error {
    let path = Path::new(pattern);
    let (what, hint) = if object::is_address(pattern) {
        let hint = "correct the address; a store says the same where this account may not look";
        let Some(extension) = extension else { return object::absent(path).into() };
        let what = match pattern.contains(['*', '[']) {
            true => format!("no object matches `{pattern}`"),
            false => {
                format!("there is no object `{pattern}`, and no `.{extension}` object below it")
            }
        };
        (what, hint)
    } else {
        match extension.filter(|_| path.is_dir()) {
            Some(extension) => (
                format!("the folder `{pattern}` holds no `.{extension}` file"),
                "put the files into it, or name another folder",
            ),
            None => (
                format!("no file matches `{pattern}`"),
                "paths are relative to the folder in which cfaudit is started",
            ),
        }
    };
    Fault::new("missing-file", what).hint(hint).into()
}

/// The objects of an address: itself, those that match a glob, or those below it that end in
/// `extension`, sorted by the bytes of their addresses.
fn search_objects(pattern: &str, extension: Option<&str>) -> Result<FoundFiles> {
    let path = Path::new(pattern);
    let mut found = FoundFiles::default();
    if let Some(at) = pattern.find(['*', '[']) {
        let glob = glob::Pattern::new(pattern).map_err(|e| {
            Fault::new("missing-file", format!("`{pattern}` is no glob: {e}"))
                .hint("name an object, a prefix, or a glob such as `s3://lake/loans/*.parquet`")
        })?;
        let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
        let prefix = pattern[..at].rsplit_once('/').map_or(pattern, |(prefix, _)| prefix);
        let listed = object::list(Path::new(prefix))?;
        found.files =
            listed.iter().filter(|path| glob.matches_path_with(path, options)).cloned().collect();
        let folders = folders_of(pattern, &found.files);
        found.writers.extend(listed.into_iter().filter(|object| {
            let is_beside =
                |folder: &PathBuf| first_hidden(object, folder).is_some_and(is_of_writer);
            folders.iter().any(is_beside)
        }));
        return Ok(found);
    }
    if !pattern.ends_with('/') && object::version(path)?.is_some() {
        found.files.push(path.to_path_buf());
        return Ok(found);
    }
    let Some(extension) = extension else { return Ok(found) };
    for object in object::list(path)? {
        match first_hidden(&object, path) {
            Some(name) if is_of_writer(name) => found.writers.push(object),
            None if object.extension().is_some_and(|e| e == extension) => found.files.push(object),
            _ => {}
        }
    }
    Ok(found)
}

/// The first part below a folder, in the path of an object, that begins with `.` or `_` or that a
/// writer left.
fn first_hidden<'p>(object: &'p Path, folder: &Path) -> Option<&'p str> {
    let below = object.strip_prefix(folder).ok()?;
    let mut parts = below.iter().filter_map(|part| part.to_str());
    parts.find(|part| part.starts_with(['.', '_']) || is_of_writer(part))
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
fn walk(root: &Path, extension: &str, found: &mut FoundFiles) -> Result<()> {
    let (mut entered, mut links) = (BTreeMap::new(), Vec::new());
    let mut open = vec![(root.to_path_buf(), MAX_DEPTH)];
    loop {
        while let Some((folder, depth)) = open.pop() {
            let real = files::resolve(&folder)?;
            if let Some(known) = entered.get(&real) {
                found.repeated.push((folder, PathBuf::clone(known)));
                continue;
            }
            entered.insert(real, folder.clone());
            for path in files::list(&folder)? {
                let name = files::name_of(&path);
                if is_of_writer(&name) {
                    found.writers.push(path);
                } else if name.starts_with(['.', '_']) {
                    continue;
                } else if !path.is_dir() {
                    let is_part = path.extension().is_some_and(|e| e == extension);
                    found.files.extend(is_part.then_some(path));
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
