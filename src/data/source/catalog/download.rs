//! Finds the files of a data set in the data folder; downloads and verifies missing files.
//!
//! A file is read from `<data-dir>/<name>/`, otherwise downloaded and stored there once its
//! checksum is right, each file as soon as it is complete: a rerun continues from there. An
//! existing file with another checksum is an error and is never replaced. Where no source answers,
//! the run ends and the error names each file and its place, unless the job asks for the generated
//! stand-in.
//!
//! Archives are tried first and judged only by their members: an archive may be packed again.

use std::io::{Cursor, Read};
use std::path::Path;
use std::time::Duration;

use super::data_set::{DataSetFile, DataSetOrigin, FileVersion, PublicDataSet, VerifiedFiles};
use crate::error::{Fault, Result};
use crate::exec::files;
use crate::exec::hash::sha256;
use crate::exec::pieces::StageWatch;
use crate::exec::replaced_file::replace;

/// Fetches the bytes at an address, at most this many; the error gives the reason in words.
pub(crate) type FetchBytes<'a> = &'a dyn Fn(&str, u64) -> Result<Vec<u8>, String>;

/// The places that a data set may come from.
#[derive(Clone, Copy)]
pub(crate) struct DataSetAccess<'a> {
    /// The folder of data sets.
    pub data_dir: &'a Path,
    /// Whether to use the stand-in where the data set cannot be obtained.
    pub stand_in: bool,
    /// The download function.
    pub fetch: FetchBytes<'a>,
}

/// Downloads over HTTP and HTTPS without a proxy.
///
/// `connect` limits the time of the connection, `total` that of the whole request.
pub(crate) fn http(
    connect: Duration,
    total: Duration,
) -> impl Fn(&str, u64) -> Result<Vec<u8>, String> {
    let config = ureq::Agent::config_builder()
        .proxy(None)
        .timeout_connect(Some(connect))
        .timeout_global(Some(total))
        .build();
    let agent = ureq::Agent::new_with_config(config);
    move |address, limit| {
        let mut response = agent.get(address).call().map_err(|e| e.to_string())?;
        response.body_mut().with_config().limit(limit).read_to_vec().map_err(|e| e.to_string())
    }
}

/// Looks for a data set in the data folder and downloads nothing; its files, and whether all of
/// them are there: the newest version of each missing member is assumed.
///
/// # Errors
/// A file of the folder has another checksum, or cannot be read.
pub(crate) fn find_in_folder(
    set: &'static PublicDataSet,
    data_dir: &Path,
) -> Result<(VerifiedFiles, bool)> {
    let folder = data_dir.join(set.name);
    let there = versions_in(set, &folder)?;
    let whole = there.iter().all(Option::is_some);
    let forms = there
        .into_iter()
        .zip(set.members)
        .filter_map(|(form, member)| form.or_else(|| member.versions.first()))
        .collect();
    Ok((VerifiedFiles { folder, versions: forms }, whole))
}

/// The version of each member that is in the folder.
fn versions_in(
    set: &'static PublicDataSet,
    folder: &Path,
) -> Result<Vec<Option<&'static FileVersion>>> {
    set.members
        .iter()
        .map(|member| Ok(read_if_there(member, member.versions, folder)?.map(|(form, _)| form)))
        .collect()
}

/// Makes sure that the files of a data set are in the data folder, or chooses the stand-in.
///
/// Downloads missing files.
///
/// # Errors
/// A file of the folder has another checksum; the files cannot be obtained and the job does not ask
/// for a stand-in; a file cannot be written.
pub(crate) fn obtain(
    set: &'static PublicDataSet,
    access: DataSetAccess<'_>,
    watch: StageWatch<'_>,
) -> Result<DataSetOrigin> {
    let folder = access.data_dir.join(set.name);
    let mut forms = versions_in(set, &folder)?;
    let reasons = download(set, &folder, access.fetch, watch, &mut forms)?;
    match forms.into_iter().collect() {
        Some(forms) => Ok(DataSetOrigin::Files(VerifiedFiles { folder, versions: forms })),
        None if access.stand_in && set.stand_in.is_some() => {
            Ok(DataSetOrigin::StandIn(reasons.join("; ")))
        }
        None => Err(unreachable_fault(set, &folder, &reasons.join("; ")).into()),
    }
}

/// Downloads the members without a version and sets it; returns the reason of each failed attempt.
fn download(
    set: &'static PublicDataSet,
    folder: &Path,
    fetch: FetchBytes<'_>,
    watch: StageWatch<'_>,
    forms: &mut [Option<&'static FileVersion>],
) -> Result<Vec<String>> {
    let mut reasons = Vec::new();
    // Text compresses well, so an archive is no larger than its members, except for its directory
    // and files that are not needed.
    let limit = set.members.iter().map(largest).sum::<u64>() + 1_000_000;
    for address in set.archives {
        if forms.iter().all(Option::is_some) {
            return Ok(reasons);
        }
        (watch.check)()?;
        let archive = match fetch(address, limit) {
            Ok(archive) => archive,
            Err(why) => {
                reasons.push(format!("{address}: {why}"));
                continue;
            }
        };
        for (member, form) in set.members.iter().zip(&mut *forms).filter(|(_, form)| form.is_none())
        {
            match store_verified(folder, member, unzip_member(&archive, member))? {
                Ok(found) => *form = Some(found),
                Err(why) => reasons.push(format!("{address}: `{}`: {why}", member.name)),
            }
        }
    }
    for (member, form) in set.members.iter().zip(forms) {
        for address in member.addresses {
            if form.is_some() {
                break;
            }
            (watch.check)()?;
            match store_verified(folder, member, fetch(address, largest(member) + 1))? {
                Ok(found) => *form = Some(found),
                Err(why) => reasons.push(format!("{address}: {why}")),
            }
        }
    }
    Ok(reasons)
}

fn largest(member: &DataSetFile) -> u64 {
    member.versions.iter().map(|form| form.bytes).max().unwrap_or(0)
}

/// The member in the folder with its version; `None` if the folder does not have it.
///
/// # Errors
/// The file has no known version, or cannot be read.
fn read_if_there<'f>(
    member: &DataSetFile,
    forms: &'f [FileVersion],
    folder: &Path,
) -> Result<Option<(&'f FileVersion, Vec<u8>)>> {
    let is_there = files::metadata_if_there(&folder.join(member.name))?.is_some();
    let read = (is_there || folder.is_file()).then(|| read_verified(member, forms, folder));
    read.transpose()
}

/// The member in the folder with its version.
///
/// # Errors
/// The file has no known version, or cannot be read.
pub(super) fn read_verified<'f>(
    member: &DataSetFile,
    forms: &'f [FileVersion],
    folder: &Path,
) -> Result<(&'f FileVersion, Vec<u8>)> {
    let path = folder.join(member.name);
    let bytes = files::read(&path)?;
    let found = sha256(&bytes);
    match forms.iter().find(|form| form.sha256 == found) {
        Some(form) => Ok((form, bytes)),
        None => {
            let expected: Vec<String> =
                forms.iter().map(|form| format!("`{}`", form.sha256)).collect();
            let what = format!(
                "`{}` differs from the file in the catalog: its SHA-256 is `{found}`, expected \
                 is {}",
                path.display(),
                expected.join(" or ")
            );
            let hint = "many altered copies exist; remove it so that it is downloaded, or read it \
                        with `csv`";
            Fault::new("wrong-checksum", what).in_file(path).fail(hint)
        }
    }
}

/// The version of the member that has these bytes.
fn verify(member: &'static DataSetFile, bytes: &[u8]) -> Result<&'static FileVersion, String> {
    let found = sha256(bytes);
    member.versions.iter().find(|form| form.sha256 == found).ok_or_else(|| {
        let expected: Vec<String> = member
            .versions
            .iter()
            .map(|form| format!("{} bytes with `{}`", form.bytes, form.sha256))
            .collect();
        format!(
            "it gave {} bytes with SHA-256 `{found}`, expected are {}",
            bytes.len(),
            expected.join(" or ")
        )
    })
}

fn unzip_member(archive: &[u8], member: &DataSetFile) -> Result<Vec<u8>, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).map_err(|e| e.to_string())?;
    let file = archive.by_name(member.name).map_err(|e| e.to_string())?;
    let mut bytes = Vec::new();
    file.take(largest(member) + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// Stores a member in one step, so that a half-written file never has its name; the inner error
/// says why its bytes are not there or not the right ones.
fn store_verified(
    folder: &Path,
    member: &'static DataSetFile,
    bytes: Result<Vec<u8>, String>,
) -> Result<Result<&'static FileVersion, String>> {
    let verified = bytes.and_then(|bytes| Ok((verify(member, &bytes)?, bytes)));
    Ok(match verified {
        Ok((form, bytes)) => {
            files::make_folder(folder)?;
            replace(&folder.join(member.name), &bytes)?;
            Ok(form)
        }
        Err(why) => Err(why),
    })
}

/// The fault that names each file and the place to put it.
pub(super) fn unreachable_fault(set: &PublicDataSet, folder: &Path, why: &str) -> Fault {
    let file = |member: &DataSetFile| {
        let form = member
            .versions
            .first()
            .map_or_else(String::new, |f| format!("{} bytes, SHA-256 `{}`", f.bytes, f.sha256));
        let address = member
            .addresses
            .first()
            .or(set.archives.first())
            .map_or_else(String::new, |a| format!(", from {a}"));
        format!("`{}` ({form}{address})", folder.join(member.name).display())
    };
    let files: Vec<String> = set.members.iter().map(file).collect();
    let more = if set.stand_in.is_some() {
        "; or set `when_unreachable: stand_in` in the job"
    } else {
        ""
    };
    Fault::new(
        "unreachable-data",
        format!(
            "the data set `{}` is not in `{}` and cannot be downloaded: {why}",
            set.name,
            folder.display()
        ),
    )
    .hint(format!("put these files there yourself: {}{more}", files.join(", ")))
}
