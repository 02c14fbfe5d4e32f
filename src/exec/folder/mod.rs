//! The output folder: who may write it, and how a new one atomically replaces the old one.
//!
//! A run claims its folder first and publishes at its end. The claim is a lock next to the folder
//! (`.<name>.lock`) that the kernel releases when the process dies. What may be replaced:
//!
//! | At the path | Claim |
//! | --- | --- |
//! | nothing, or an empty folder | granted |
//! | a folder whose `manifest.json` names the same job | granted |
//! | a folder whose `manifest.json` names another job | refused, unless `replace` |
//! | any other folder, a file | always refused: cfaudit did not write it |
//!
//! Publishing builds `.<name>.new-<pid>` next to the folder, waits until it is on the disk, and
//! exchanges the two by one system call. Where the file system cannot exchange, the old folder is
//! first renamed to `.<name>.old-<pid>`; if the process dies between the two renames, the next
//! claim renames it back.
//!
//! Files that others put into the folder, such as a signed copy of the page, are all those that its
//! manifest does not list: they move into the new folder unchanged. Where one of them conflicts
//! with a new file, nothing is published.
//!
//! Files below `rows/` hold data about single people and are 0600 in a folder 0700; all others
//! follow the umask, because other accounts read them.
//!
//! If all deterministic files exist already with the same bytes, only the extras (`run.json`, logs)
//! are written.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::cancel::CancelFlag;
use super::files::{self, FileBelow};
use super::fingerprint::STAGE_FILE;
use super::lock::{FileLock, holder};
use super::object::refuse_to_write;
use crate::error::{Error, Result};

/// The file in which a folder names its job and its files.
const MANIFEST: &str = "manifest.json";

/// Files of an output folder that differ between runs; its manifest does not list them.
pub(crate) const EXTRAS: [&str; 2] = ["run.json", "logs/run.jsonl"];

/// Files about single people, below an output folder.
const ROWS: &str = "rows/";

/// A claimed output folder; dropping it ends the claim.
#[derive(Debug)]
pub(crate) struct OutputFolder {
    /// The path as the user wrote it, for messages.
    named: PathBuf,
    folder: PathBuf,
    parent: PathBuf,
    name: String,
    job: String,
    replace: bool,
    _lock: FileLock,
}

/// A temporary folder for new content; dropping it removes it.
#[derive(Debug)]
pub(crate) struct ScratchFolder(PathBuf);

impl ScratchFolder {
    /// A new empty folder where the system keeps temporary files, only for this user.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn of_system() -> Result<Self> {
        let root = std::env::temp_dir();
        for n in 0_u32.. {
            let folder = root.join(format!("cfaudit-{}-{n}", std::process::id()));
            if files::make_new_private_folder(&folder)? {
                return Ok(ScratchFolder::at(folder));
            }
        }
        Err(Error::operator(
            "make a folder in",
            &root,
            "all names are taken",
            "remove files there that are no longer used",
        ))
    }

    /// A folder that is there.
    pub(super) fn at(folder: PathBuf) -> Self {
        ScratchFolder(folder)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // It may have become a result. If this fails, or the process is killed before, the next
        // claim or session removes it.
        if let Err(e) = files::remove_folder(&self.0) {
            tracing::warn!("{e}");
        }
    }
}

/// The outcome of publishing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublishOutcome {
    /// The folder holds the new files.
    Published,
    /// The same files were there already; only the extras are new.
    Unchanged,
}

/// What exists at the path of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetState {
    Nothing,
    Empty,
    Results,
}

/// The part of `manifest.json` that identifies the owner.
#[derive(Deserialize)]
struct FolderOwner {
    job: String,
    /// All files that the run wrote, without the manifest and the extras.
    #[serde(default)]
    files: BTreeMap<PathBuf, IgnoredAny>,
}

impl OutputFolder {
    /// Claims `folder` for a job: locks it, repairs what a killed run left and checks that it is
    /// writable.
    ///
    /// Errs with [`Error::Operator`] if another process has claimed it, it holds other things, or
    /// it cannot be created.
    pub(crate) fn claim(folder: &Path, job: &str, replace: bool) -> Result<Self> {
        refuse_to_write(folder)?;
        let (parent, name) = parent_and_name(folder)?;
        let lock_file = parent.join(format!(".{name}.lock"));
        let Some(lock) = FileLock::attempt(&lock_file)? else {
            let who = holder(&lock_file)
                .map_or_else(|| "another process".to_owned(), |pid| format!("process `{pid}`"));
            let hint = "wait until that run ends, or give this run another folder with `--out`";
            return Err(Error::operator("lock", folder, format!("{who} is writing to it"), hint));
        };
        let claimed = OutputFolder {
            named: folder.to_path_buf(),
            folder: parent.join(&name),
            parent,
            name,
            job: job.to_owned(),
            replace,
            _lock: lock,
        };
        claimed.mend()?;
        claimed.target_state()?;
        Ok(claimed)
    }

    /// Removes the leftovers of a killed process next to a folder that no other run writes to. Does
    /// nothing if there are no leftovers, the place is not writable, or another process works
    /// there.
    pub(crate) fn clear_leftovers(folder: &Path, job: &str) {
        let left = parent_and_name(folder).and_then(|(parent, name)| {
            let left = ["old", "new", "scratch"].map(|what| leftovers(&parent, &name, what));
            left.into_iter().try_fold(false, |any, found| Ok(any || !found?.is_empty()))
        });
        if let Err(e) = left.and_then(|left| {
            if left { OutputFolder::claim(folder, job, false).map(|_| ()) } else { Ok(()) }
        }) {
            tracing::debug!("{e}");
        }
    }

    /// A new empty folder next to this one, on the same disk; dropping it removes it.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(crate) fn scratch(&self) -> Result<ScratchFolder> {
        let scratch = self.sibling("scratch");
        files::remove_folder(&scratch)?;
        files::make_folder(&scratch)?;
        Ok(ScratchFolder(scratch))
    }

    /// Puts the files of `content` and the extras in place.
    ///
    /// `content` holds all deterministic files, among them the `manifest.json` of the job; extras
    /// are pairs of path below the folder and bytes. On any error, and when cancelled, the old
    /// folder stays unchanged. `content` may be the folder of a stage: the store's own `stage.json`
    /// is not copied.
    pub(crate) fn publish(
        &self,
        content: &Path,
        extras: &[(String, Vec<u8>)],
        cancel: &CancelFlag,
    ) -> Result<PublishOutcome> {
        if owner(content)?.is_none_or(|owner| owner.job != self.job) {
            let hint = "this is a bug in cfaudit: a stage must write it";
            return Err(Error::operator(
                "publish",
                content,
                format!("it has no `manifest.json` of the job `{}`", self.job),
                hint,
            ));
        }
        for (name, _) in extras {
            if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(Error::operator(
                    "publish",
                    Path::new(name),
                    "it points outside the output folder",
                    "use a plain relative path",
                ));
            }
        }
        let mut files = files::files_below(content)?;
        files.retain(|file| file.name != STAGE_FILE);

        let standing = self.target_state()?;
        if standing == TargetState::Results && self.holds(&files, cancel)? {
            self.renew_extras(extras)?;
            return Ok(PublishOutcome::Unchanged);
        }
        let foreign = if standing == TargetState::Results {
            self.foreign(&files, extras)?
        } else {
            Vec::new()
        };
        let new = self.sibling("new");
        let built =
            build(&new, &files, extras, cancel).and_then(|()| self.carry_over(&foreign, &new));
        let swapped = built.and_then(|()| self.swap(&new, standing));
        let synced = if swapped.is_ok() { files::sync_folder(&self.parent) } else { Ok(()) };
        // `new` is now the half-made folder or the old one. If this fails, the next claim removes
        // it.
        if let Err(e) = synced.and_then(|()| files::remove_folder(&new)) {
            tracing::warn!("{e}");
        }
        swapped?;
        Ok(PublishOutcome::Published)
    }

    /// What exists at the path, or why it may not be replaced.
    fn target_state(&self) -> Result<TargetState> {
        let there = files::metadata_if_there(&self.folder).map_err(|e| self.as_named(e))?;
        if self.folder.is_symlink() || there.as_ref().is_some_and(|there| !there.is_dir()) {
            return Err(Error::operator(
                "write",
                &self.named,
                "a file is in the way",
                "remove it, or give another folder with `--out`",
            ));
        }
        if there.is_none() {
            return Ok(TargetState::Nothing);
        }
        if files::list(&self.folder).map_err(|e| self.as_named(e))?.is_empty() {
            return Ok(TargetState::Empty);
        }
        match owner(&self.folder)? {
            Some(owner) if owner.job == self.job || self.replace => Ok(TargetState::Results),
            Some(FolderOwner { job, .. }) => {
                let hint =
                    "give another folder with `--out`, or `--replace` to delete those results";
                Err(Error::operator(
                    "write",
                    &self.named,
                    format!("it holds the results of the job `{job}`"),
                    hint,
                ))
            }
            None => {
                let hint = "give another folder with `--out`, or empty this folder yourself";
                Err(Error::operator(
                    "write",
                    &self.named,
                    "it is not empty and has no `manifest.json` of cfaudit",
                    hint,
                ))
            }
        }
    }

    /// The files below the folder that no run has written, sorted.
    fn foreign(&self, files: &[FileBelow], extras: &[(String, Vec<u8>)]) -> Result<Vec<PathBuf>> {
        let new: BTreeSet<&Path> = files
            .iter()
            .map(|file| file.name.as_str())
            .chain(extras.iter().map(|e| e.0.as_str()))
            .map(Path::new)
            .collect();
        let mut ours: BTreeSet<PathBuf> =
            EXTRAS.iter().chain(&[MANIFEST]).map(PathBuf::from).collect();
        ours.extend(owner(&self.folder)?.into_iter().flat_map(|owner| owner.files.into_keys()));
        let mut foreign = files::names_below(&self.folder)?;
        foreign.retain(|name| !ours.contains(name));
        // A folder of the user's may have the path of a new file, and the other way round.
        let meets =
            |name: &PathBuf| new.iter().any(|new| new.starts_with(name) || name.starts_with(new));
        if let Some(name) = foreign.iter().find(|name| meets(name)) {
            let cause =
                "it was not written by cfaudit, and the results include a file with that name";
            return Err(Error::operator(
                "replace",
                self.named.join(name),
                cause,
                "move or rename your file, then run again",
            ));
        }
        Ok(foreign)
    }

    /// Makes hard links to files that no run has written in the new folder.
    ///
    /// The old links are removed with the old folder.
    fn carry_over(&self, foreign: &[PathBuf], new: &Path) -> Result<()> {
        for name in foreign {
            let (from, to) = (self.folder.join(name), new.join(name));
            files::make_folder(to.parent().unwrap_or(new))?;
            files::link_foreign(&from, &to).map_err(|e| self.as_named(e))?;
        }
        Ok(())
    }

    /// Removes what a killed run left next to the folder. The lock excludes other writers.
    fn mend(&self) -> Result<()> {
        let leftovers = |what: &str| leftovers(&self.parent, &self.name, what);
        let mut old = leftovers("old")?;
        let there = files::metadata_if_there(&self.folder).map_err(|e| self.as_named(e))?;
        if !old.is_empty() && there.is_none() {
            files::rename(&old.remove(0), &self.folder)?;
        }
        for leftover in old.into_iter().chain(leftovers("new")?).chain(leftovers("scratch")?) {
            files::remove_folder(&leftover)?;
        }
        Ok(())
    }

    /// Whether the folder holds all these files with the same bytes.
    ///
    /// The manifest is among them and lists the others, so with equal manifests the folder holds no
    /// other results.
    fn holds(&self, files: &[FileBelow], cancel: &CancelFlag) -> Result<bool> {
        for file in files {
            cancel.check()?;
            if !files::same_bytes(file, &self.folder.join(&file.name))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn renew_extras(&self, extras: &[(String, Vec<u8>)]) -> Result<()> {
        let scratch = self.sibling("new");
        files::make_folder(&scratch)?;
        for (name, bytes) in extras {
            let target = self.folder.join(name);
            files::make_folder(target.parent().unwrap_or(&self.folder))?;
            files::write_synced(&scratch.join("extra"), bytes)?;
            files::rename(&scratch.join("extra"), &target)?;
        }
        files::remove_folder(&scratch)
    }

    /// Moves `new` to the path of the folder; the old folder, if any, is then at `new`.
    fn swap(&self, new: &Path, standing: TargetState) -> Result<()> {
        let swapped = match standing {
            // A rename also replaces an empty folder.
            TargetState::Nothing | TargetState::Empty => files::take_place(new, &self.folder),
            TargetState::Results => files::exchange(new, &self.folder, &self.sibling("old")),
        };
        swapped.map_err(|e| self.as_named(e))
    }

    /// An error about the folder, or about a file in it, with the path as the user wrote it.
    fn as_named(&self, error: Error) -> Error {
        match error {
            Error::Operator { path, doing, cause, hint } => {
                let path = match path.strip_prefix(&self.folder) {
                    Ok(below) if below.as_os_str().is_empty() => self.named.clone(),
                    Ok(below) => self.named.join(below),
                    Err(_) => path,
                };
                Error::Operator { path, doing, cause, hint }
            }
            other => other,
        }
    }

    fn sibling(&self, what: &str) -> PathBuf {
        self.parent.join(format!(".{}.{what}-{}", self.name, std::process::id()))
    }
}

/// `.<name>.<what>-<digits>` next to the folder, sorted.
fn leftovers(parent: &Path, name: &str, what: &str) -> Result<Vec<PathBuf>> {
    let prefix = format!(".{name}.{what}-");
    let mut found = files::list(parent)?;
    found.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let digits = name.and_then(|name| name.strip_prefix(&prefix)).unwrap_or_default();
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    Ok(found)
}

/// Parent and name of the folder, links resolved, so that two paths to it use one lock.
///
/// Creates the parent.
fn parent_and_name(folder: &Path) -> Result<(PathBuf, String)> {
    let resolved = if let Some(resolved) = files::resolve_if_there(folder)? {
        resolved
    } else {
        let parent = folder
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        files::make_folder(parent)?;
        let parent = files::resolve(parent)?;
        folder.file_name().map_or(parent.clone(), |name| parent.join(name))
    };
    match (resolved.parent(), resolved.file_name().and_then(|name| name.to_str())) {
        (Some(parent), Some(name)) => Ok((parent.to_path_buf(), name.to_owned())),
        _ => Err(Error::operator(
            "write",
            folder,
            "it cannot be an output folder",
            "give `--out` a folder whose name is valid UTF-8",
        )),
    }
}

/// The owner of a folder by its `manifest.json`.
///
/// `None` if there is none, or cfaudit did not write it.
fn owner(folder: &Path) -> Result<Option<FolderOwner>> {
    let text = files::read_if_there(&folder.join(MANIFEST))?;
    Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
}

/// Whether a run has published into the folder.
pub(super) fn is_output(folder: &Path) -> Result<bool> {
    owner(folder).map(|owner| owner.is_some())
}

/// Builds the whole new folder and waits until it is on the disk.
fn build(
    new: &Path,
    files: &[FileBelow],
    extras: &[(String, Vec<u8>)],
    cancel: &CancelFlag,
) -> Result<()> {
    files::remove_folder(new)?;
    files::make_folder(new)?;
    let mut folders = BTreeSet::from([new.to_path_buf()]);
    let mut target = |name: &str| -> Result<PathBuf> {
        let target = new.join(name);
        let folder = target.parent().unwrap_or(new).to_path_buf();
        files::make_folder(&folder)?;
        folders.insert(folder);
        Ok(target)
    };
    for file in files {
        cancel.check()?;
        let target = target(&file.name)?;
        files::copy_synced(&file.path, &target)?;
        if file.name.starts_with(ROWS) {
            target.ancestors().take_while(|there| *there != new).try_for_each(files::protect)?;
        }
    }
    for (name, bytes) in extras {
        files::write_synced(&target(name)?, bytes)?;
    }
    folders.iter().try_for_each(|folder| files::sync_folder(folder))?;
    cancel.check()
}

#[cfg(test)]
mod tests;
