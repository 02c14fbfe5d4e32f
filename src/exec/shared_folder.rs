//! A folder that several machines read and write: on a disk that they share, or below an address of
//! an object store. Every file is written in one step; its users do not see which of the two it is.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::cancel::CancelFlag;
use super::files::{self, File};
use super::folder::ScratchFolder;
use super::hash::hex;
use super::object;
use super::replaced_file::{FileAccess, copy_synced, remove_leftovers, replace_synced};
use crate::error::{Error, Result};

/// A folder of files that several machines read and write.
#[derive(Debug, Clone)]
pub(crate) struct SharedFolder(PathBuf);

/// A file on this machine: of a folder on a disk itself, of a store a temporary copy.
#[derive(Debug)]
pub(crate) struct LocalFile {
    path: PathBuf,
    _copy: Option<ScratchFolder>,
}

impl LocalFile {
    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl SharedFolder {
    /// A folder by its path or address. It need not exist. `cancel` stops waiting for a store.
    ///
    /// # Errors
    /// An address that is malformed or holds a secret; it is not repeated.
    pub(crate) fn new(path: &Path, cancel: &CancelFlag) -> Result<Self> {
        if let Some(problem) = object::problem_of(path) {
            let at = Path::new("the address of a folder");
            return Err(Error::operator("use", at, problem.what, problem.hint.as_str()));
        }
        object::stop_by(cancel);
        Ok(SharedFolder(path.to_path_buf()))
    }

    /// The folder itself.
    pub(crate) fn root(&self) -> &Path {
        &self.0
    }

    /// The path or address of a file.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn is_store(&self) -> bool {
        object::is_address(&self.0)
    }

    /// The bytes of a file as it is now; none where there is no such file.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self.is_store() {
            true => Ok(object::read_now(&self.path(name))?.map(Vec::from)),
            false => files::read_if_there(&self.path(name)),
        }
    }

    /// The bytes of a file.
    ///
    /// # Errors
    /// There is no such file, or it cannot be read.
    pub(crate) fn need(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.path(name);
        match self.is_store() {
            true => self.read(name)?.ok_or_else(|| {
                let cause = "there is no such object, or this account may not look";
                Error::operator("read", &path, cause, "correct the address of the folder")
            }),
            false => files::read(&path),
        }
    }

    /// The names of the files in a folder below; none where there is no such folder.
    ///
    /// # Errors
    /// It cannot be listed.
    pub(crate) fn names(&self, below: &str) -> Result<BTreeSet<String>> {
        let folder = self.path(below);
        if self.is_store() {
            return Ok(object::names(&folder)?.into_iter().collect());
        }
        if files::metadata_if_there(&folder)?.is_none() {
            return Ok(BTreeSet::new());
        }
        let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        Ok(files::list(&folder)?.into_iter().filter_map(name).collect())
    }

    /// Makes a folder below, where folders are made.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn make(&self, below: &str) -> Result<()> {
        if self.is_store() { Ok(()) } else { files::make_folder(&self.path(below)) }
    }

    /// Removes what killed processes left of files of one folder below.
    pub(crate) fn tidy(&self, names: &[String]) {
        if !self.is_store() {
            let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
            remove_leftovers(&paths);
        }
    }

    /// The path of a file, whose folder is made.
    fn made_for(&self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        files::make_folder(path.parent().unwrap_or(&self.0))?;
        Ok(path)
    }

    /// Writes a file in one step, over an old one. Several machines may write the same file.
    ///
    /// # Errors
    /// The disk or the store refuses.
    pub(crate) fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        if !self.is_store() {
            return replace_synced(&self.made_for(name)?, &bytes);
        }
        let mut rest = Bytes::from(bytes);
        object::write(&self.path(name), &mut || {
            let part = rest.split_to(rest.len().min(object::PART));
            Ok((!part.is_empty()).then_some(part))
        })
    }

    /// As [`SharedFolder::write`], with the bytes of a file of this machine.
    ///
    /// # Errors
    /// As [`SharedFolder::write`]; the file cannot be read.
    pub(crate) fn put(&self, name: &str, from: &Path, access: FileAccess) -> Result<()> {
        if !self.is_store() {
            return copy_synced(from, &self.made_for(name)?, access);
        }
        let mut file = files::open(from)?;
        object::write(&self.path(name), &mut || next_part(&mut file, from))
    }

    /// The SHA-256 of a file in hex; none where there is no such file. Calls `check` between
    /// pieces and stops if it errs.
    ///
    /// # Errors
    /// It cannot be read, or the error of `check`.
    pub(crate) fn hash(
        &self,
        name: &str,
        check: &mut dyn FnMut() -> Result<()>,
    ) -> Result<Option<String>> {
        let path = self.path(name);
        if !self.is_store() {
            let there = files::metadata_if_there(&path)?;
            return there.map(|_| Ok(files::hash_unless(&path, check)?.0)).transpose();
        }
        if object::version(&path)?.is_none() {
            return Ok(None);
        }
        let opened = object::open(&[path])?.pop().flatten();
        let Some(file) = opened.map(|opened| opened.file) else { return Ok(None) };
        let (mut hasher, mut at) = (Sha256::new(), 0);
        while at < file.bytes() {
            check()?;
            let end = file.bytes().min(at + object::PART as u64);
            let read = file.read(std::iter::once(at..end).collect())?;
            read.iter().for_each(|bytes| hasher.update(bytes));
            at = end;
        }
        Ok(Some(hex(&hasher.finalize())))
    }

    /// A file with these bytes, which are those of it, on this machine.
    ///
    /// # Errors
    /// The disk refuses.
    pub(crate) fn local(&self, name: &str, bytes: &[u8]) -> Result<LocalFile> {
        if !self.is_store() {
            return Ok(LocalFile { path: self.path(name), _copy: None });
        }
        let copy = ScratchFolder::of_system()?;
        let path = copy.path().join(name);
        files::write(&path, bytes)?;
        Ok(LocalFile { path, _copy: Some(copy) })
    }
}

/// The next bytes of a file, as many as a part has; none at its end.
fn next_part(file: &mut File, from: &Path) -> Result<Option<Bytes>> {
    let mut bytes = Vec::new();
    let read = file.take(object::PART as u64).read_to_end(&mut bytes);
    read.map_err(|cause| Error::io("read", from, &cause))?;
    Ok((!bytes.is_empty()).then(|| bytes.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::hash::sha256;
    use crate::tests::Says;

    #[test]
    fn a_folder_on_a_disk() {
        let work = tempfile::tempdir().unwrap();
        let root = work.path().join("plan");
        let folder = SharedFolder::new(&root, &CancelFlag::default()).unwrap();
        assert_eq!(folder.read("count/a").unwrap(), None);
        assert!(folder.names("count").unwrap().is_empty());
        folder.need("count/a").unwrap_err().to_string().says(&["count/a"]);
        folder.write("count/a", b"one".to_vec()).unwrap();
        folder.write("count/a", b"two".to_vec()).unwrap();
        assert_eq!(folder.need("count/a").unwrap(), b"two");
        folder.put("count/b", &folder.path("count/a"), FileAccess::Owner).unwrap();
        folder.put("count/c", &folder.path("count/a"), FileAccess::Umask).unwrap();
        let names: Vec<String> = folder.names("count").unwrap().into_iter().collect();
        assert_eq!(names, ["a", "b", "c"]);
        let hash = |name: &str| folder.hash(name, &mut || Ok(())).unwrap();
        assert_eq!(hash("count/b"), Some(sha256(b"two")));
        assert_eq!(hash("count/d"), None);
        assert_eq!(folder.local("count/a", b"two").unwrap().path(), folder.path("count/a"));
    }

    #[test]
    fn an_address_with_a_secret_is_not_repeated() {
        for text in ["s3://me:hunter2@lake/plan", "https://lake.example/plan?sig=hunter2"] {
            let refused = SharedFolder::new(Path::new(text), &CancelFlag::default()).unwrap_err();
            assert_eq!(refused.exit().code(), 5);
            refused.to_string().lacks(&["hunter2"]);
        }
    }

    #[test]
    fn files_are_sent_in_parts() {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("rows");
        for size in [0, 5, object::PART, object::PART + 5] {
            std::fs::write(&path, vec![7; size]).unwrap();
            let mut file = files::open(&path).unwrap();
            let mut sizes = Vec::new();
            while let Some(part) = next_part(&mut file, &path).unwrap() {
                sizes.push(part.len());
            }
            let full = vec![object::PART; size / object::PART];
            let rest = Some(size % object::PART).filter(|&rest| rest > 0);
            assert_eq!(sizes, full.into_iter().chain(rest).collect::<Vec<_>>());
        }
    }
}
