//! Public data sets that cfaudit knows: their addresses, checksums and parse rules; finds, downloads, verifies and keeps them.
//!
//! A file is looked for in `<data-dir>/<name>/`, else downloaded and kept there once its checksum is right. A file that is there with
//! another checksum is an error, never replaced. Where nothing is to be had the run ends and says which file to put where, unless the
//! job asks for the generated stand-in.

#![expect(clippy::disallowed_methods, reason = "every call names its path in the error")]

use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow::array::RecordBatch;
use sha2::{Digest, Sha256};

use crate::data::adult;
use crate::data::recut::Recut;
use crate::error::{Error, Fault, Result};
use crate::table::ordered::{Watch, Workers};

/// A public data set.
#[derive(Debug)]
pub struct DataSet {
    /// Its name in jobs, and of its folder.
    pub name: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// Where it comes from and under which terms.
    pub source: &'static str,
    /// The address of an archive that holds all members, asked first.
    pub archive: Option<&'static str>,
    /// Its files.
    pub members: &'static [Member],
    /// Whether there is a stand-in.
    pub stand_in: bool,
}

/// A file of a data set.
#[derive(Debug)]
pub struct Member {
    /// Its name, in the folder and in the archive.
    pub name: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'static str,
    /// Its own address, asked when the archive cannot be had.
    pub address: &'static str,
}

/// All data sets.
pub const DATA_SETS: &[DataSet] = &[DataSet {
    name: "adult",
    title: "Adult (Census Income): 48,842 people, is the yearly income above 50,000 dollars?",
    source: "UCI Machine Learning Repository, DOI 10.24432/C5XW20, CC BY 4.0; cite Kohavi and Becker 1996",
    archive: Some("https://archive.ics.uci.edu/static/public/2/adult.zip"),
    members: &[
        Member {
            name: "adult.data",
            bytes: 3_974_305,
            sha256: "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
            address: "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.data",
        },
        Member {
            name: "adult.test",
            bytes: 2_003_153,
            sha256: "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
            address: "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/adult.test",
        },
    ],
    stand_in: true,
}];

/// The data set of this name.
pub fn data_set(name: &str) -> Option<&'static DataSet> {
    DATA_SETS.iter().find(|set| set.name == name)
}

/// Gets the bytes at an address, at most so many; the error says why not, in words.
pub type Fetch<'a> = &'a dyn Fn(&str, u64) -> Result<Vec<u8>, String>;

/// Where a data set may come from.
#[derive(Clone, Copy)]
pub struct Access<'a> {
    /// The folder of data sets.
    pub data_dir: &'a Path,
    /// Go on with the stand-in where the data set cannot be had.
    pub stand_in: bool,
    /// How to download.
    pub fetch: Fetch<'a>,
}

/// What the rows are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The verified files of this folder.
    Files(PathBuf),
    /// Generated rows, because the files could not be had, for this reason.
    StandIn(String),
}

/// Downloads over HTTP and HTTPS without a proxy. `connect` bounds the connection, `total` the whole request.
pub fn http(connect: Duration, total: Duration) -> impl Fn(&str, u64) -> Result<Vec<u8>, String> {
    let config = ureq::Agent::config_builder().proxy(None).timeout_connect(Some(connect)).timeout_global(Some(total)).build();
    let agent = ureq::Agent::new_with_config(config);
    move |address, limit| {
        let mut response = agent.get(address).call().map_err(|e| e.to_string())?;
        response.body_mut().with_config().limit(limit).read_to_vec().map_err(|e| e.to_string())
    }
}

/// Makes sure that the files of a data set are in the data folder, downloading what is missing, or settles on the stand-in.
///
/// # Errors
/// A file of the folder has another checksum; the files cannot be had and no stand-in is asked for; the disk refuses.
pub fn obtain(set: &DataSet, access: Access<'_>, watch: Watch<'_>) -> Result<Origin> {
    let folder = access.data_dir.join(set.name);
    match download_missing(set, &folder, access.fetch, watch)? {
        None => Ok(Origin::Files(folder)),
        Some(why) if access.stand_in && set.stand_in => Ok(Origin::StandIn(why)),
        Some(why) => Err(unreachable_fault(set, &folder, &why).into()),
    }
}

/// Writes the rows of a data set that was obtained to `path` in row groups of `batch_rows`.
///
/// # Errors
/// A file was changed or taken away since; the disk refuses.
pub fn import(set: &DataSet, origin: &Origin, path: &Path, batch_rows: usize, workers: &Workers, watch: Watch<'_>) -> Result<()> {
    let batch = match origin {
        Origin::StandIn(_) => stand_in(set)?,
        Origin::Files(folder) => {
            let gone = |m: &Member| Error::io("read", &folder.join(m.name), &std::io::ErrorKind::NotFound.into());
            let files: Vec<Vec<u8>> = set.members.iter().map(|m| kept(m, folder)?.ok_or_else(|| gone(m))).collect::<Result<_>>()?;
            parse(set, folder, &files)?
        }
    };
    (watch.check)()?;
    (watch.progress)(batch.num_rows() as u64);
    let mut rows = Recut::create(path, batch.schema().as_ref().clone(), workers, batch_rows)?;
    rows.push(batch)?;
    rows.finish()
}

fn parse(set: &DataSet, folder: &Path, files: &[Vec<u8>]) -> Result<RecordBatch> {
    match (set.name, files) {
        ("adult", [data, test]) => adult::read(folder, data, test),
        _ => Err(unknown(set)),
    }
}

fn stand_in(set: &DataSet) -> Result<RecordBatch> {
    match set.name {
        "adult" => adult::stand_in(),
        _ => Err(unknown(set)),
    }
}

fn unknown(set: &DataSet) -> Error {
    Fault::new("unknown-data-set", format!("the catalog has no rules for `{}`", set.name)).into()
}

/// Downloads the members that the folder lacks and keeps each as soon as it is verified, so that a rerun goes on from there; what is
/// returned says why a member cannot be had.
fn download_missing(set: &DataSet, folder: &Path, fetch: Fetch<'_>, watch: Watch<'_>) -> Result<Option<String>> {
    let mut missing = Vec::new();
    for member in set.members {
        if kept(member, folder)?.is_none() {
            missing.push(member);
        }
    }
    let mut reasons = Vec::new();
    if let Some(address) = set.archive.filter(|_| !missing.is_empty()) {
        (watch.check)()?;
        // Text packs well, so an archive is no larger than what it holds, but for its directory.
        let limit = set.members.iter().map(|m| m.bytes).sum::<u64>() + 1_000_000;
        match fetch(address, limit) {
            Err(why) => reasons.push(format!("{address}: {why}")),
            Ok(archive) => {
                let mut left = Vec::new();
                for member in missing {
                    match unzipped(&archive, member).and_then(|bytes| verified(member, bytes)) {
                        Ok(bytes) => keep(folder, member, &bytes)?,
                        Err(why) => {
                            reasons.push(format!("{address}: `{}`: {why}", member.name));
                            left.push(member);
                        }
                    }
                }
                missing = left;
            }
        }
    }
    let mut failed = false;
    for member in missing {
        (watch.check)()?;
        match fetch(member.address, member.bytes + 1).and_then(|bytes| verified(member, bytes)) {
            Ok(bytes) => keep(folder, member, &bytes)?,
            Err(why) => {
                reasons.push(format!("{}: {why}", member.address));
                failed = true;
            }
        }
    }
    Ok(failed.then(|| reasons.join("; ")))
}

/// The member as it lies in the folder, if it does.
fn kept(member: &Member, folder: &Path) -> Result<Option<Vec<u8>>> {
    let path = folder.join(member.name);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Error::io("read", &path, &e)),
    };
    let found = hex(&Sha256::digest(&bytes));
    if found != member.sha256 {
        let what = format!(
            "`{}` is not the file that the catalog knows: its SHA-256 is `{found}`, expected is `{}`",
            path.display(),
            member.sha256
        );
        return Err(Fault::new("wrong-checksum", what)
            .in_file(path)
            .hint("many altered copies are about; remove it to have it downloaded, or name it by `csv`")
            .into());
    }
    Ok(Some(bytes))
}

fn verified(member: &Member, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let found = hex(&Sha256::digest(&bytes));
    match found == member.sha256 {
        true => Ok(bytes),
        false => Err(format!(
            "it gave {} bytes with SHA-256 `{found}`, expected are {} bytes with `{}`",
            bytes.len(),
            member.bytes,
            member.sha256
        )),
    }
}

fn unzipped(archive: &[u8], member: &Member) -> Result<Vec<u8>, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).map_err(|e| e.to_string())?;
    let file = archive.by_name(member.name).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(member.bytes + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores a verified member: written beside and renamed, so that a half-written file never has its name.
fn keep(folder: &Path, member: &Member, bytes: &[u8]) -> Result<()> {
    let path = folder.join(member.name);
    if path.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))?;
    let beside = folder.join(format!(".{}.{}", member.name, std::process::id()));
    let write = || {
        std::fs::write(&beside, bytes)?;
        std::fs::rename(&beside, &path)
    };
    write().map_err(|e| {
        // The first failure is the one worth telling.
        let _ = std::fs::remove_file(&beside);
        Error::io("write", &path, &e)
    })
}

fn unreachable_fault(set: &DataSet, folder: &Path, why: &str) -> Fault {
    let files: Vec<String> = set
        .members
        .iter()
        .map(|m| format!("`{}` ({} bytes, SHA-256 `{}`, from {})", folder.join(m.name).display(), m.bytes, m.sha256, m.address))
        .collect();
    let more = if set.stand_in { "; or let the job say `when_unreachable: stand_in`" } else { "" };
    Fault::new("unreachable-data", format!("the data set `{}` is not in `{}` and cannot be downloaded: {why}", set.name, folder.display()))
        .hint(format!("put these files there by hand: {}{more}", files.join(", ")))
}
