//! Which folder may be the cache: a new one, or one that a run made and marked.
//!
//! All files of a cache may be deleted, and no other user may read them. Neither holds for a folder
//! of the user, so a cache never takes one over:
//!
//! | What the path holds | What a run does |
//! | --- | --- |
//! | nothing, or an empty folder | closes it to others (0700) and marks it by the file `cfaudit-cache` |
//! | `outputs/.cache`, the default, without the mark | the same: its place says that it is a cache |
//! | a marked folder that is closed to others | uses it |
//! | a marked folder that is open to others, or that leads elsewhere by links | refuses it |
//! | anything else | refuses it |
//!
//! A refused folder is not changed.

use std::path::{Path, PathBuf};

use super::child::shell::shell_line;
use super::files;
use super::folder::is_output;
use crate::error::{Error, Result};

/// The cache where the command line names none, below the current folder.
pub(crate) const DEFAULT_CACHE: &str = "outputs/.cache";

/// The file that marks a cache.
const MARK: &str = "cfaudit-cache";

const MARK_TEXT: &str = "Results of stages of cfaudit. This folder may be deleted at any time.\n";

/// The folder of the sessions.
pub(super) const SESSIONS: &str = "tmp";

/// The lock of the whole cache.
pub(super) const CACHE_LOCK: &str = "lock";

/// Whether the folder is a marked cache; `false` if a run would make it one.
///
/// Changes nothing.
///
/// # Errors
/// It holds something else, or it is a marked cache that is open to others.
pub(super) fn is_cache(root: &Path) -> Result<bool> {
    if files::metadata_if_there(root)?.is_none() {
        return Ok(false);
    }
    let refuse = |cause: &str, hint: &str| Err(refused(root, cause, hint));
    if is_output(root)? {
        let hint = "name another folder by `--cache`, or leave `--cache` out";
        return refuse("this is an output folder", hint);
    }
    let content = files::list(root)?;
    let is_marked = content.contains(&root.join(MARK));
    if !is_marked && !content.is_empty() && !is_default(root) {
        let hint = "name a new or an empty folder by `--cache`; nothing was changed in this one";
        return refuse("it holds files that are no cache of this version", hint);
    }
    if [SESSIONS, CACHE_LOCK].into_iter().any(|name| root.join(name).is_symlink()) {
        let cause = format!("`{SESSIONS}` or `{CACHE_LOCK}` in it is a link to another place");
        return refuse(&cause, "remove the link, or name another folder by `--cache`");
    }
    if is_marked && files::is_open_to_others(root)? {
        return Err(open_to_others(root));
    }
    Ok(is_marked)
}

/// Makes the folder a cache, unless it is one.
///
/// # Errors
/// As [`is_cache`], or it cannot be made, closed to others, or written.
pub(super) fn claim(root: &Path) -> Result<()> {
    if is_cache(root)? {
        return files::check_writable(root);
    }
    files::check_writable(root)?;
    files::make_private_folder(root)?;
    if files::is_open_to_others(root)? {
        return Err(open_to_others(root));
    }
    // The first file of the folder: another run that finds any file in it finds the mark.
    let mark = root.join(MARK);
    files::write(&mark, MARK_TEXT)?;
    files::protect(&mark)
}

fn is_default(root: &Path) -> bool {
    // A link at this place may lead anywhere; the components end without the slash that follows it.
    let plain: PathBuf = root.components().collect();
    plain.ends_with(DEFAULT_CACHE) && !plain.is_symlink()
}

fn open_to_others(root: &Path) -> Error {
    let chmod = shell_line(&["chmod", "700", &root.to_string_lossy()].map(str::to_owned));
    let hint = format!("close it by `{chmod}`, or name another folder by `--cache`");
    refused(root, "other accounts have access to it, and data about people is in it", &hint)
}

fn refused(root: &Path, cause: &str, hint: &str) -> Error {
    Error::operator("use as cache", root, cause, hint)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::{MARK, claim, is_cache};

    fn mode(folder: &Path) -> u32 {
        fs::metadata(folder).unwrap().permissions().mode() & 0o777
    }

    fn open(folder: &Path) {
        fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    }

    #[track_caller]
    fn refuses(root: &Path, words: &str) {
        for error in [is_cache(root).unwrap_err(), claim(root).unwrap_err()] {
            assert_eq!(error.exit().code(), 5);
            assert!(error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn new_and_empty_folders_are_marked_and_closed() {
        let root = tempfile::tempdir().unwrap();
        let (new, empty) = (root.path().join("a/new"), root.path().join("empty"));
        fs::create_dir(&empty).unwrap();
        open(&empty);
        for folder in [new, empty] {
            assert!(!is_cache(&folder).unwrap() && !folder.join(MARK).exists());
            claim(&folder).unwrap();
            assert_eq!((mode(&folder), is_cache(&folder).unwrap()), (0o700, true));
            claim(&folder).unwrap();
        }
    }

    #[test]
    fn what_holds_something_else_stays_as_it_is() {
        let root = tempfile::tempdir().unwrap();
        let mine = root.path().join("mine");
        fs::create_dir_all(mine.join("tmp/7-0")).unwrap();
        open(&mine);
        refuses(&mine, "no cache of this version");
        assert_eq!((mode(&mine), fs::read_dir(&mine).unwrap().count()), (0o755, 1));
        let file = root.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(is_cache(&file).is_err() && claim(&file).is_err());
    }

    #[test]
    fn the_default_is_ours_unless_it_is_a_link() {
        let root = tempfile::tempdir().unwrap();
        let (usual, mine) = (root.path().join("outputs/.cache"), root.path().join("mine"));
        for folder in [&usual, &mine] {
            fs::create_dir_all(folder.join("jobs")).unwrap();
            open(folder);
        }
        claim(&usual).unwrap();
        assert_eq!((mode(&usual), is_cache(&usual).unwrap()), (0o700, true));
        let linked = root.path().join("other/outputs");
        fs::create_dir_all(&linked).unwrap();
        symlink(&mine, linked.join(".cache")).unwrap();
        for slash in ["", "/"] {
            refuses(&root.path().join(format!("other/outputs/.cache{slash}")), "no cache");
        }
        assert_eq!(mode(&mine), 0o755);
    }

    #[test]
    fn a_marked_folder_that_is_open_or_leads_elsewhere_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let (cache, other) = (root.path().join("the cache"), root.path().join("other"));
        claim(&cache).unwrap();
        for bits in [0o750, 0o701, 0o755] {
            fs::set_permissions(&cache, Permissions::from_mode(bits)).unwrap();
            refuses(&cache, &format!("chmod 700 '{}'", cache.display()));
            assert_eq!(mode(&cache), bits);
        }
        fs::set_permissions(&cache, Permissions::from_mode(0o700)).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(&other, cache.join("tmp")).unwrap();
        refuses(&cache, "is a link to another place");
    }
}
