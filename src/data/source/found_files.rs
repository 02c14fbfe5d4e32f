//! The files that a path of the job represents: a file, a folder, a glob, or the same in an object
//! store, sorted by the bytes of their paths.
//!
//! Files of rows may still be arriving ([`find_arrived`]): then a run ends with the status of one
//! that waits for scores, whatever part of them is there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::{Error, Fault, ROWS_AWAITED, Result};
use crate::exec::files;
use crate::exec::object;
use crate::table::file::{FileOwner, ParquetFile};

/// Largest depth of folders in a hive layout.
const MAX_DEPTH: usize = 32;

/// For this time a file that cannot be read may still be written to.
const WRITING_GRACE: Duration = Duration::from_secs(15 * 60);

/// What writers leave in a folder as long as they write to it: names, and beginnings and ends of
/// names. Spark and Hadoop (`_temporary`, and the staging folders of tables), the committer of S3A,
/// Flink, `hdfs dfs -put`.
const WRITERS: [&str; 2] = ["_temporary", "__magic"];
const WRITERS_BEGIN: [&str; 2] = [".spark-staging", ".hive-staging"];
const WRITERS_HOLD: [&str; 2] = [".inprogress", "._COPYING_"];

/// When files of rows are complete, in addition to the rule that nobody is writing to their folder.
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
    Fault::new("not-a-file", format!("`{}` is {kind}, not a file", path.display()))
        .in_file(path)
        .fail(hint)
}

/// The files of a path, a folder or a glob.
#[derive(Debug, Default)]
pub(crate) struct FoundFiles {
    /// Each file once, sorted by the bytes of their paths.
    pub(crate) files: Vec<PathBuf>,
    /// Links, or paths through them, to files found already, with their targets.
    pub(crate) repeated: Vec<(PathBuf, PathBuf)>,
    /// The folders that are to be complete: the path itself, or those of a glob ([`GlobFolders`]).
    folders: BTreeSet<PathBuf>,
    /// What somebody who is writing to one of the folders has left there.
    writers: Vec<PathBuf>,
}

impl FoundFiles {
    /// Files that are named one by one.
    pub(crate) fn of(files: Vec<PathBuf>) -> Self {
        FoundFiles { files, ..FoundFiles::default() }
    }

    /// What somebody who is writing to one of the folders has left there; none if nobody is.
    pub(crate) fn writer(&self) -> Option<&Path> {
        self.writers.first().map(PathBuf::as_path)
    }

    /// Adds a path: itself, or the files below it that end in `extension`.
    fn add(&mut self, path: PathBuf, extension: Option<&str>) -> Result<()> {
        match (path.is_dir(), extension) {
            (true, Some(extension)) => walk(&path, extension, self),
            (true, None) => Ok(()),
            (false, _) => {
                self.files.push(path);
                Ok(())
            }
        }
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

/// As [`find_files_once`], for rows that may still be arriving.
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
    if let Some(writer) = found.writer() {
        let writer = writer.display();
        let hint = format!(
            "run again when the files are written; if a writer was ended before it was done, \
             remove `{writer}`"
        );
        return awaited(format!("`{writer}` says that somebody is writing there"), &hint);
    }
    if let Some(name) = arrival.complete {
        for folder in &found.folders {
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
/// end may still come.
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

/// A glob, split at its folders.
struct FolderGlob<'p> {
    /// The folder that the text names, before the first sign of a glob.
    base: PathBuf,
    /// The globs of the folders below it, down to those that hold what the whole glob matches.
    below: Vec<&'p str>,
}

/// The folders of a glob, whether or not they hold anything that it matches.
struct GlobFolders {
    /// All between the one that the text names and what the glob matches.
    ///
    /// A writer to one of them writes files that the glob is to match.
    looked: BTreeSet<PathBuf>,
    /// Those that are to be complete: the folders that the glob matches; those of the files that
    /// it matches; and those that could hold such files and have nothing of it below them yet.
    complete: BTreeSet<PathBuf>,
}

impl<'p> FolderGlob<'p> {
    /// The search for a pattern whose first sign of a glob is at `first`.
    fn new(pattern: &'p str, first: usize) -> Self {
        let base = match pattern[..first].rfind('/') {
            Some(0) => "/",
            Some(end) => &pattern[..end],
            None => "",
        };
        let ends = pattern.match_indices('/').map(|(end, _)| end).filter(|&end| end > first);
        let below = ends.map(|end| &pattern[..end]).collect();
        FolderGlob { base: plain(Path::new(base)), below }
    }

    /// The folders: `matching` gives those that match a glob, `complete` are those that the whole
    /// glob matches and those of its files.
    ///
    /// Folders whose names begin with `.` or `_` count only if files are found there.
    fn folders(
        &self,
        mut complete: BTreeSet<PathBuf>,
        matching: impl Fn(&str) -> Result<Vec<PathBuf>>,
    ) -> Result<GlobFolders> {
        let mut looked = complete.clone();
        looked.insert(self.base.clone());
        // `**` also represents no folder at all: then files are in the folders before it.
        let holds = self.below.iter().rposition(|of| *of != "**" && !of.ends_with("/**"));
        let mut holders = Vec::new();
        if holds.is_none() {
            holders.push(self.base.clone());
        }
        for (at, glob) in self.below.iter().enumerate() {
            for folder in matching(glob)? {
                let folder = plain(&folder);
                if first_hidden(&folder, &self.base).is_some() {
                    continue;
                }
                if holds.is_none_or(|holds| at >= holds) {
                    holders.push(folder.clone());
                }
                looked.insert(folder);
            }
        }
        let above: BTreeSet<&Path> = complete
            .iter()
            .flat_map(|folder| folder.ancestors())
            .chain(holders.iter().flat_map(|folder| folder.ancestors().skip(1)))
            .collect();
        let empty: Vec<PathBuf> =
            holders.iter().filter(|folder| !above.contains(folder.as_path())).cloned().collect();
        complete.extend(empty);
        Ok(GlobFolders { looked, complete })
    }
}

/// A path without `./` before it.
fn plain(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_path_buf()
}

/// The folder of a file; empty for the working directory.
fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(plain).unwrap_or_default()
}

/// The paths that match a glob.
fn matching(pattern: &str) -> Result<Vec<PathBuf>> {
    let paths = glob::glob(pattern).map_err(|e| {
        Fault::new("missing-file", format!("`{pattern}` is neither a file nor a glob: {e}"))
            .hint("name a file, a folder, or a glob such as `lake/*.parquet`")
    })?;
    paths.map(|path| path.map_err(|e| Error::io("read", e.path(), e.error()))).collect()
}

/// All files that a pattern represents; there may be none.
fn search(pattern: &str, extension: Option<&str>) -> Result<FoundFiles> {
    if object::is_address(pattern) {
        return search_objects(pattern, extension);
    }
    let mut found = FoundFiles::default();
    let path = Path::new(pattern);
    if path.exists() {
        found.folders.insert(if path.is_dir() { path.to_path_buf() } else { folder_of(path) });
        found.add(path.to_path_buf(), extension)?;
    } else {
        let paths = matching(pattern)?;
        match pattern.find(['*', '?', '[']) {
            Some(first) if extension.is_some() => {
                let own =
                    |path: &PathBuf| if path.is_dir() { plain(path) } else { folder_of(path) };
                let folders = |glob: &str| -> Result<Vec<PathBuf>> {
                    let mut paths = matching(glob)?;
                    paths.retain(|path| path.is_dir());
                    Ok(paths)
                };
                let glob = FolderGlob::new(pattern, first);
                let counts = |path: &&PathBuf| {
                    !path.is_dir() || first_hidden(&plain(path), &glob.base).is_none()
                };
                let matched = paths.iter().filter(counts).map(own).collect();
                let GlobFolders { looked, complete } = glob.folders(matched, folders)?;
                for folder in looked {
                    let empty = folder.as_os_str().is_empty();
                    let folder = if empty { PathBuf::from(".") } else { folder };
                    if folder.is_dir() {
                        let beside = files::list(&folder)?.into_iter();
                        let left = beside.filter(|path| is_of_writer(&files::name_of(path)));
                        found.writers.extend(left);
                    }
                }
                found.folders = complete;
            }
            Some(_) => {}
            None => {
                found.folders.insert(path.to_path_buf());
            }
        }
        for path in paths {
            found.add(path, extension)?;
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
    if let Some(first) = pattern.find(['*', '[']) {
        let glob_of = |pattern: &str| -> Result<glob::Pattern> {
            glob::Pattern::new(pattern).map_err(|e| {
                Fault::new("missing-file", format!("`{pattern}` is no glob: {e}"))
                    .hint("name an object, a prefix, or a glob such as `s3://lake/loans/*.parquet`")
                    .into()
            })
        };
        let options = glob::MatchOptions { require_literal_separator: true, ..Default::default() };
        let (whole, folders) = (glob_of(pattern)?, FolderGlob::new(pattern, first));
        let base = folders.base.as_path();
        let listed = object::list(base)?;
        found.files =
            listed.iter().filter(|path| whole.matches_path_with(path, options)).cloned().collect();
        // A store has no folders but those in the names of its objects.
        let all: BTreeSet<&Path> = listed
            .iter()
            .flat_map(|path| path.ancestors().skip(1).take_while(|of| *of != base))
            .collect();
        let matching = |pattern: &str| -> Result<Vec<PathBuf>> {
            let glob = glob_of(pattern)?;
            let matched = all.iter().filter(|path| glob.matches_path_with(path, options));
            Ok(matched.map(|path| path.to_path_buf()).collect())
        };
        let own = found.files.iter().map(|file| folder_of(file)).collect();
        let GlobFolders { looked, complete } = folders.folders(own, matching)?;
        let is_left = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(is_of_writer) && path.parent().is_some_and(|of| looked.contains(of))
        };
        found.writers =
            listed.iter().filter(|path| path.ancestors().any(is_left)).cloned().collect();
        found.folders = complete;
        return Ok(found);
    }
    if !pattern.ends_with('/') && object::version(path)?.is_some() {
        found.files.push(path.to_path_buf());
        found.folders.insert(folder_of(path));
        return Ok(found);
    }
    found.folders.insert(path.to_path_buf());
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

/// If several paths lead to one file, keeps the one through the fewest links.
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
