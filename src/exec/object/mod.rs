//! The only access to object stores: addresses such as `s3://BUCKET/KEY` in place of paths.
//! Inputs are read there; [`crate::exec::shared_folder`] also writes.
//!
//! `s3://` is Amazon S3 and what speaks its protocol, `gs://` Google Cloud Storage, `az://` Azure
//! Blob Storage. An address is carried as a path, so that everything above names one thing.
//!
//! A process reads one version of each object: its ETag and size are noted when it is first seen,
//! every later read asks for this version (`If-Match`) and compares the ETag of the answer. An
//! object that was replaced meanwhile ends the run (`input-changed`).
//!
//! Credentials come from the environment, the files of the provider or the machine
//! ([`store`]), never from an address: one with a user, a password or a query is refused, and no
//! message repeats it. The feature `cloud` brings the crates that speak to the stores.

#[cfg(feature = "cloud")]
mod failure;
#[cfg(feature = "cloud")]
mod profile;
#[cfg(feature = "cloud")]
mod store;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};

use bytes::Bytes;

use super::cancel::CancelFlag;
use crate::error::{Error, Fault, Result};

/// Bytes at the end of an object that are fetched when it is opened: the footers of most files.
const TAIL: u64 = 1 << 16;

/// Objects that are opened at the same time; their tails are in memory.
pub(crate) const OPENED_AT_ONCE: usize = 64;

/// Bytes of one part of an object that is written: even over a slow line they arrive within the
/// time limit of a request (30 seconds unless the environment says otherwise).
pub(crate) const PART: usize = 1 << 23;

/// How often an object is read again because another process has replaced it.
const REPLACED_AT_MOST: usize = 3;

/// The smallest and the largest number of bytes that are held of the objects that one thread reads.
const HELD_AT_LEAST: u64 = 1 << 20;
const HELD_AT_MOST: u64 = 1 << 26;

/// The schemes, with the word for what holds the objects.
const SCHEMES: [(&str, &str); 3] = [("s3", "BUCKET"), ("gs", "BUCKET"), ("az", "CONTAINER")];

/// What to do in a build without the feature.
pub(crate) const REBUILD: &str = "build it with `cargo build --features cloud` (the packages of \
    `make dist` have it), or copy the files to this machine";

/// The problem of an address, and what to do about it; neither repeats the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddressProblem {
    pub(crate) what: String,
    pub(crate) hint: String,
}

/// An object, or a prefix of several, in a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ObjectAddress {
    scheme: &'static str,
    bucket: String,
    /// Without a slash at its ends.
    key: String,
}

/// One version of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ObjectVersion {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Its ETag, without quotes.
    pub(crate) etag: String,
}

/// An object opened for reading, in one version.
#[derive(Debug, Clone)]
pub(crate) struct ObjectFile {
    address: ObjectAddress,
    version: ObjectVersion,
}

/// An opened object with its last bytes.
#[derive(Debug)]
pub(crate) struct OpenedObject {
    /// The object.
    pub(crate) file: ObjectFile,
    /// Its last bytes.
    pub(crate) tail: Bytes,
}

/// The state and the limits of the process.
#[derive(Debug)]
struct ObjectSession {
    /// The versions that are read, by address.
    versions: BTreeMap<ObjectAddress, ObjectVersion>,
    /// Stops waiting for a store.
    cancel: CancelFlag,
    /// Bytes that each thread may hold.
    held: u64,
}

static SESSION: LazyLock<Mutex<ObjectSession>> = LazyLock::new(|| {
    let (versions, cancel) = (BTreeMap::new(), CancelFlag::default());
    Mutex::new(ObjectSession { versions, cancel, held: HELD_AT_MOST / 4 })
});

fn session<T>(with: impl FnOnce(&mut ObjectSession) -> T) -> T {
    with(&mut SESSION.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Says how waiting for a store is stopped, and how much memory the run may take with this many
/// threads: an eighth of it holds bytes of objects.
pub(crate) fn prepare(cancel: &CancelFlag, memory: u64, threads: usize) {
    let held = memory / 8 / threads.max(1) as u64;
    session(|session| {
        session.cancel = cancel.clone();
        session.held = held.clamp(HELD_AT_LEAST, HELD_AT_MOST);
    });
}

/// Says how waiting for a store is stopped, where no run is prepared.
pub(crate) fn stop_by(cancel: &CancelFlag) {
    session(|session| session.cancel = cancel.clone());
}

/// Bytes of objects that one thread may hold, from 1 MiB to 64 MiB.
pub(crate) fn held_per_thread() -> u64 {
    session(|session| session.held)
}

/// Whether a path is an address: it begins with a scheme, known or not.
pub(crate) fn is_address(path: impl AsRef<Path>) -> bool {
    path.as_ref().to_str().is_some_and(|text| scheme_of(text).is_some())
}

/// The scheme of an address. Paths of this machine have none, and lists take `file://` off.
fn scheme_of(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    is_scheme.then_some(scheme)
}

/// The forms of addresses, for hints.
fn forms() -> String {
    let form = |(scheme, holder): (&str, &str)| format!("`{scheme}://{holder}/KEY`");
    SCHEMES.map(form).join(", ")
}

/// The problem of a path that is an address; none for a valid address or another path.
pub(crate) fn problem_of(path: &Path) -> Option<AddressProblem> {
    let text = path.to_str().filter(|text| scheme_of(text).is_some())?;
    ObjectAddress::parse(text).err()
}

/// Refuses an address where the run writes: a folder called `s3:` would be made.
///
/// # Errors
/// The path is an address.
pub(crate) fn refuse_to_write(path: &Path) -> Result<()> {
    if !is_address(path) {
        return Ok(());
    }
    // The path is not repeated: it may hold a secret.
    let cause = "of what a run writes only plans and rows to score may be in object stores, \
                 nothing else is written there";
    let hint = "name a folder of this machine, and copy it afterwards";
    Err(Error::operator("write to", Path::new("an object store"), cause, hint))
}

impl ObjectAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// Another scheme; a user, a password or a query in it; a bucket or key that no store has.
    pub(crate) fn parse(text: &str) -> Result<Self, AddressProblem> {
        let wrong = |what: String, hint: String| Err(AddressProblem { what, hint });
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let Some((scheme, holder)) = SCHEMES.into_iter().find(|(known, _)| *known == scheme) else {
            // The part before `://` consists of letters; otherwise the text is not an address.
            let what = match scheme_of(text) {
                Some(scheme) => format!("`{scheme}://` addresses are not read"),
                None => "this is no address".to_owned(),
            };
            return wrong(what, format!("write {}, or a path of this machine", forms()));
        };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        let own = format!("write `{scheme}://{holder}/KEY`");
        if rest.contains(['@', '?', '#']) {
            let what = "an address must not hold a user, a password or a query".to_owned();
            let hint = format!(
                "{own}; credentials come from the environment or the files of the provider, never \
                 from a job"
            );
            return wrong(what, hint);
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if bucket.is_empty() || !bucket.chars().all(is_name) {
            let word = holder.to_lowercase();
            let what = format!("an address must name a {word} after `{scheme}://`");
            return wrong(what, format!("{own}; the name has letters, digits, `.`, `-` and `_`"));
        }
        let key = key.strip_suffix('/').unwrap_or(key);
        let is_step = |step: &str| matches!(step, "" | "." | "..");
        if !key.is_empty() && key.split('/').any(is_step) || key.contains(char::is_control) {
            let what = "the key of an address has an empty part, `.`, `..` or a control character";
            return wrong(what.to_owned(), own);
        }
        Ok(ObjectAddress { scheme, bucket: bucket.to_owned(), key: key.to_owned() })
    }

    /// The address of a path.
    ///
    /// # Errors
    /// As [`ObjectAddress::parse`], as a fault of the data.
    fn of(path: &Path) -> Result<Self> {
        ObjectAddress::parse(&path.to_string_lossy())
            .map_err(|problem| Fault::new("bad-address", problem.what).hint(problem.hint).into())
    }

    /// The address as a path.
    fn path(&self) -> PathBuf {
        let ObjectAddress { scheme, bucket, key } = self;
        match key.as_str() {
            "" => PathBuf::from(format!("{scheme}://{bucket}")),
            key => PathBuf::from(format!("{scheme}://{bucket}/{key}")),
        }
    }

    /// Another object of the same bucket.
    #[cfg(feature = "cloud")]
    fn with_key(&self, key: &str) -> Self {
        ObjectAddress { key: key.to_owned(), ..self.clone() }
    }
}

/// Notes a version of an object, unless another one is read already.
fn note(address: ObjectAddress, version: ObjectVersion) -> ObjectVersion {
    session(|session| session.versions.entry(address).or_insert(version).clone())
}

/// The versions of objects that this process reads, as each was first read; none if there is no
/// such object.
///
/// # Errors
/// A malformed address, or a store that does not answer as it should.
pub(crate) fn versions(paths: &[PathBuf]) -> Result<Vec<Option<ObjectVersion>>> {
    let addresses: Vec<ObjectAddress> =
        paths.iter().map(|path| ObjectAddress::of(path)).collect::<Result<_>>()?;
    let known = |address: &ObjectAddress| session(|session| session.versions.get(address).cloned());
    let unknown: Vec<ObjectAddress> =
        addresses.iter().filter(|address| known(address).is_none()).cloned().collect();
    for (address, version) in unknown.iter().zip(store::heads(&unknown)?) {
        if let Some(version) = version {
            note(address.clone(), version);
        }
    }
    Ok(addresses.iter().map(known).collect())
}

/// The version of an object that this process reads; none if there is no such object.
///
/// # Errors
/// As [`versions`].
pub(crate) fn version(path: &Path) -> Result<Option<ObjectVersion>> {
    Ok(versions(&[path.to_path_buf()])?.pop().flatten())
}

/// The objects below a prefix, at any depth, sorted by the bytes of their addresses.
///
/// # Errors
/// As [`versions`].
pub(crate) fn list(prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for (address, version) in store::list(&ObjectAddress::of(prefix)?)? {
        found.push(address.path());
        note(address, version);
    }
    found.sort_by(|a, b| a.as_os_str().as_encoded_bytes().cmp(b.as_os_str().as_encoded_bytes()));
    Ok(found)
}

/// The names of the objects below a prefix, at any depth, without the prefix, as they are now.
///
/// # Errors
/// As [`versions`].
pub(crate) fn names(prefix: &Path) -> Result<Vec<String>> {
    let prefix = ObjectAddress::of(prefix)?;
    let own = if prefix.key.is_empty() { 0 } else { prefix.key.len() + 1 };
    let found = store::list(&prefix)?.into_iter();
    Ok(found.filter_map(|(address, _)| address.key.get(own..).map(str::to_owned)).collect())
}

/// The bytes of an object as it is now, of a file that several processes write; none where there is
/// no such object.
///
/// # Errors
/// As [`versions`]; the object is replaced again and again.
pub(crate) fn read_now(path: &Path) -> Result<Option<Bytes>> {
    let address = ObjectAddress::of(path)?;
    for further in (0..REPLACED_AT_MOST).rev() {
        match store::get(&address) {
            Err(Error::Data(_)) if further > 0 => {}
            done => return done,
        }
    }
    Ok(None)
}

/// Writes an object in one step: no reader sees a part of it. `next` gives its bytes in parts, each
/// of [`PART`] bytes except the last one.
///
/// # Errors
/// Those of `next`; the store refuses, or does not answer as it should.
pub(crate) fn write(path: &Path, next: &mut dyn FnMut() -> Result<Option<Bytes>>) -> Result<()> {
    let address = ObjectAddress::of(path)?;
    let written = store::put(&address, next);
    session(|session| session.versions.remove(&address));
    written
}

/// Opens the objects among these paths, and fetches their last bytes; none for a path of this
/// machine. At most [`OPENED_AT_ONCE`] paths.
///
/// # Errors
/// As [`versions`]; an object that is not there.
pub(crate) fn open(paths: &[PathBuf]) -> Result<Vec<Option<OpenedObject>>> {
    let objects: Vec<PathBuf> = paths.iter().filter(|path| is_address(path)).cloned().collect();
    if objects.is_empty() {
        return Ok(paths.iter().map(|_| None).collect());
    }
    let mut opened = Vec::new();
    for (path, version) in objects.iter().zip(versions(&objects)?) {
        let address = ObjectAddress::of(path)?;
        let Some(version) = version else { return Err(absent(path).into()) };
        opened.push(ObjectFile { address, version });
    }
    let tail = |file: &ObjectFile| {
        let bytes = file.version.bytes;
        let ranges: Vec<Range<u64>> = std::iter::once(bytes.saturating_sub(TAIL)..bytes).collect();
        (file.clone(), ranges)
    };
    let tails = store::read(opened.iter().map(tail).collect())?;
    let mut both = opened.into_iter().zip(tails.into_iter().map(|mut tail| tail.pop()));
    let next = |path: &PathBuf| {
        let (file, tail) = is_address(path).then(|| both.next()).flatten()?;
        Some(OpenedObject { file, tail: tail.unwrap_or_default() })
    };
    Ok(paths.iter().map(next).collect())
}

/// The fault of an address without an object.
pub(crate) fn absent(path: &Path) -> Fault {
    let what = format!("there is no object `{}`", path.display());
    let hint = "correct the address; a store says the same where this account may not look";
    Fault::new("missing-file", what).in_file(path).hint(hint)
}

impl ObjectFile {
    /// Its address, as a path.
    pub(crate) fn path(&self) -> PathBuf {
        self.address.path()
    }

    /// Its size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.version.bytes
    }

    /// Fetches ranges of its bytes, some at the same time.
    ///
    /// # Errors
    /// The object was replaced, or the store does not answer as it should.
    pub(crate) fn read(&self, ranges: Vec<Range<u64>>) -> Result<Vec<Bytes>> {
        let mut read = store::read(vec![(self.clone(), ranges)])?;
        Ok(read.pop().unwrap_or_default())
    }
}

/// The stores of a build without the feature: none.
#[cfg(not(feature = "cloud"))]
mod store {
    use super::{Bytes, Error, ObjectAddress, ObjectFile, ObjectVersion, Range, Result};

    fn not_built(address: Option<&ObjectAddress>) -> Error {
        let path = address.map(ObjectAddress::path).unwrap_or_default();
        let cause = "this build of cfaudit does not read object stores";
        Error::operator("read", path, cause, super::REBUILD)
    }

    pub(super) fn get(address: &ObjectAddress) -> Result<Option<Bytes>> {
        Err(not_built(Some(address)))
    }

    pub(super) fn put(
        address: &ObjectAddress,
        _: &mut dyn FnMut() -> Result<Option<Bytes>>,
    ) -> Result<()> {
        let cause = "this build of cfaudit does not write to object stores";
        Err(Error::operator("write", address.path(), cause, super::REBUILD))
    }

    pub(super) fn heads(addresses: &[ObjectAddress]) -> Result<Vec<Option<ObjectVersion>>> {
        if addresses.is_empty() { Ok(Vec::new()) } else { Err(not_built(addresses.first())) }
    }

    pub(super) fn list(prefix: &ObjectAddress) -> Result<Vec<(ObjectAddress, ObjectVersion)>> {
        Err(not_built(Some(prefix)))
    }

    pub(super) fn read(files: Vec<(ObjectFile, Vec<Range<u64>>)>) -> Result<Vec<Vec<Bytes>>> {
        Err(not_built(files.first().map(|(file, _)| &file.address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Says;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| ObjectAddress::parse(text).unwrap();
        for (text, scheme, bucket, key) in [
            (
                "s3://lake/loans/dt=2026-11-20/a b.parquet",
                "s3",
                "lake",
                "loans/dt=2026-11-20/a b.parquet",
            ),
            ("gs://lake.eu/x", "gs", "lake.eu", "x"),
            ("az://rows/2026/", "az", "rows", "2026"),
            ("s3://lake", "s3", "lake", ""),
            ("s3://lake/", "s3", "lake", ""),
        ] {
            let found = read(text);
            assert_eq!(
                (found.scheme, found.bucket.as_str(), found.key.as_str()),
                (scheme, bucket, key)
            );
            assert!(is_address(text));
            assert_eq!(found.path(), PathBuf::from(text.trim_end_matches('/')));
        }
    }

    /// Neither the message nor its hint repeats what may be a secret.
    #[test]
    fn addresses_with_secrets_are_refused_and_not_repeated() {
        for text in [
            "s3://AKIA:hunter2@lake/rows.parquet",
            "s3://hunter2@lake/rows.parquet",
            "https://lake.s3.amazonaws.com/rows.parquet?X-Amz-Signature=hunter2",
            "s3://lake/rows.parquet?X-Amz-Signature=hunter2",
            "az://rows/a.parquet?sig=hunter2",
            "s3://lake/rows.parquet#hunter2",
            "s3://hunter2:/x",
        ] {
            let problem = ObjectAddress::parse(text).unwrap_err();
            let error = ObjectAddress::of(Path::new(text)).unwrap_err().to_string();
            for words in [problem.what, problem.hint, error] {
                words.lacks(&["hunter2"]);
            }
        }
    }

    #[test]
    fn what_no_store_has_is_refused() {
        for (text, word) in [
            ("s3a://lake/x", "`s3a://` addresses are not read"),
            ("file:///x", "`file://` addresses are not read"),
            ("s3://", "must name a bucket"),
            ("az:///x", "must name a container"),
            ("s3://la ke/x", "must name a bucket"),
            ("s3://lake//x", "an empty part"),
            ("s3://lake/a/../x", "`..`"),
            ("s3://lake/a\nb", "a control character"),
        ] {
            let problem = ObjectAddress::parse(text).unwrap_err();
            assert!(problem.what.contains(word), "{text}: {}", problem.what);
        }
        for path in ["rows.parquet", "a/b://c", "://x", "/s3/x", "1s3://x", "C:\\x"] {
            assert!(!is_address(path), "{path}");
        }
    }

    #[test]
    fn nothing_is_written_to_a_store() {
        assert!(refuse_to_write(Path::new("outputs/s3")).is_ok());
        let error = refuse_to_write(Path::new("s3://hunter2@lake/out")).unwrap_err();
        assert!(error.exit().code() == 5 && !error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn the_first_version_stays() {
        let address = ObjectAddress::parse("s3://the-first-version-stays/x").unwrap();
        let version = |etag: &str| ObjectVersion { bytes: 1, etag: etag.to_owned() };
        assert_eq!(note(address.clone(), version("a")), version("a"));
        assert_eq!(note(address.clone(), version("b")), version("a"));
        assert_eq!(super::version(&address.path()).unwrap(), Some(version("a")));
    }

    #[test]
    fn memory_is_shared_by_the_threads() {
        let cancel = CancelFlag::default();
        for (memory, threads, held) in
            [(u64::MAX, 1, 1 << 26), (1 << 30, 8, 1 << 24), (1 << 24, 64, 1 << 20), (0, 0, 1 << 20)]
        {
            prepare(&cancel, memory, threads);
            assert_eq!(held_per_thread(), held);
        }
    }
}
