//! Reads an output folder: its manifest, and files that must be what the manifest lists.
//!
//! A folder may come from anywhere, so nothing in it is taken on trust: every path that a manifest
//! names goes through [`path_below`], and every file that is used is hashed first. Tables of
//! another version mean something else, so their folder is refused as a whole, here and nowhere
//! else.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::exec::files;
use crate::exec::files::read_json;
use crate::exec::hash::sha256;
use crate::folder::manifest::{Manifest, RunSummary};
use crate::table::TableDef;
use crate::table::file::OTHER_VERSION;
use crate::table::list::{self, TABLES};

/// What a folder says about itself.
pub(crate) const MANIFEST: &str = "manifest.json";

/// The summary of a folder.
pub(crate) const SUMMARY: &str = "summary.json";

/// An error about a file that is not as it was written.
pub(crate) fn damaged(path: &Path, cause: impl Display) -> Error {
    let hint = "the folder was changed after it was written; run the job again, or copy an \
                undamaged version of the whole folder";
    Error::operator("read", path, cause, hint)
}

/// A table whose column does not hold what it must.
pub(crate) fn damaged_column(tables: &Path, table: &TableDef, column: &str) -> Error {
    damaged(&tables.join(table.file()), format!("column `{column}` holds invalid values"))
}

/// The path of a file that the manifest of a folder names.
///
/// # Errors
/// The name is absolute, leads out of the folder, is the manifest itself, or has another form than
/// cfaudit writes.
pub(crate) fn path_below(folder: &Path, name: &str) -> Result<PathBuf> {
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    let plain = !parts.is_empty() && parts.iter().all(|part| matches!(part, Component::Normal(_)));
    if plain && parts.iter().collect::<PathBuf>().as_os_str() == name && name != MANIFEST {
        return Ok(folder.join(name));
    }
    let cause = format!(
        "it lists `{}`, which is not the path of a file inside the folder",
        name.escape_debug()
    );
    Err(damaged(&folder.join(MANIFEST), cause))
}

/// What the manifests of all versions say.
#[derive(Deserialize)]
struct ManifestHead {
    tables: BTreeMap<String, u32>,
    stopped_after: Option<String>,
}

/// The head of a manifest, and its bytes.
fn head(folder: &Path) -> Result<(ManifestHead, Vec<u8>)> {
    let path = folder.join(MANIFEST);
    let hint = "name a finished output folder of `cfaudit run`, such as outputs/demo";
    if !folder.is_dir() {
        return Err(Error::operator("read", folder, "there is no such folder", hint));
    }
    // What is not a regular file may never end.
    let text = match files::metadata(&path) {
        Ok(there) if !there.is_file() => Err("it is not a file".to_owned()),
        _ => files::read(&path).map_err(|e| e.cause()),
    };
    let bytes = text.map_err(|cause| {
        Error::operator("read", folder, format!("it has no readable manifest.json ({cause})"), hint)
    })?;
    let head = serde_json::from_slice(&bytes).map_err(|e| damaged(&path, e))?;
    Ok((head, bytes))
}

/// Whether a folder is one of cfaudit's, of any version.
pub(crate) fn is_output_folder(folder: &Path) -> bool {
    head(folder).is_ok()
}

/// The first table of which a folder has another version than this program, with both versions;
/// none where all are of this program.
pub(crate) fn other_table(versions: &BTreeMap<String, u32>) -> Option<String> {
    let ours = list::versions();
    let mut names = versions.keys().chain(ours.keys());
    let version = |n: Option<&u32>| n.map_or("no version".to_owned(), |v| format!("version {v}"));
    names.find(|name| versions.get(*name) != ours.get(*name)).map(|name| {
        let [there, here] = [versions.get(name), ours.get(name)].map(version);
        let name = name.escape_debug();
        format!("the table `{name}` has {there} there, and {here} in this program")
    })
}

/// The manifest of a folder, whose tables have the versions of this program and whose paths all lie
/// in the folder, and its bytes.
///
/// # Errors
/// The folder is none of cfaudit's, its tables are of another version, or its manifest is not as it
/// was written.
pub(crate) fn manifest(folder: &Path) -> Result<(Manifest, Vec<u8>)> {
    if let Some(cause) = other_table(&head(folder)?.0.tables) {
        return Err(Error::operator("read", folder, cause, OTHER_VERSION));
    }
    manifest_of_any_version(folder)
}

/// The manifest of a folder whose tables may be of another version, and its bytes.
///
/// # Errors
/// As [`manifest`], where the other version has other keys in its manifest.
pub(crate) fn manifest_of_any_version(folder: &Path) -> Result<(Manifest, Vec<u8>)> {
    let (head, bytes) = head(folder)?;
    let manifest: Manifest =
        serde_json::from_slice(&bytes).map_err(|e| match other_table(&head.tables) {
            Some(cause) => Error::operator("read", folder, cause, OTHER_VERSION),
            None => damaged(&folder.join(MANIFEST), e),
        })?;
    manifest.files.keys().try_for_each(|name| path_below(folder, name).map(|_| ()))?;
    Ok((manifest, bytes))
}

/// The manifest of a folder, and its bytes, once each file that is wanted was found to be what the
/// manifest lists. Rows may have been deleted, and a summary may have been left behind.
///
/// # Errors
/// As [`manifest`]; a wanted file is not there or has another content, or there is a table that the
/// manifest does not list.
pub(crate) fn verified(
    folder: &Path,
    wanted: impl Fn(&str) -> bool,
) -> Result<(Manifest, Vec<u8>)> {
    let (manifest, bytes) = manifest(folder)?;
    check_finished(folder, &manifest)?;
    for table in TABLES.iter().map(|table| format!("tables/{}", table.file())) {
        let file = folder.join(&table);
        if wanted(&table) && !manifest.files.contains_key(&table) && file.exists() {
            return Err(damaged(&file, "it exists, but manifest.json does not list it"));
        }
    }
    for (name, sha256) in manifest.files.iter().filter(|(name, _)| wanted(name)) {
        let file = path_below(folder, name)?;
        if (name.starts_with("rows/") || name == SUMMARY) && !file.exists() {
            continue;
        }
        check_hash(&file, sha256)?;
    }
    Ok((manifest, bytes))
}

/// Whether a file is what the manifest lists.
///
/// # Errors
/// It is not there, or its content is another.
pub(crate) fn check_hash(file: &Path, sha256: &str) -> Result<()> {
    if !file.is_file() {
        return Err(damaged(file, "it does not exist, but manifest.json lists it"));
    }
    if files::hash_file(file)?.0 != sha256 {
        return Err(damaged(file, "its content differs from its entry in manifest.json"));
    }
    Ok(())
}

/// SHA-256 of the manifest of a folder that a run is to be compared with.
///
/// # Errors
/// The folder is none of cfaudit's, or holds no numbers.
pub(crate) fn fingerprint(folder: &Path) -> Result<String> {
    let (manifest, bytes) = manifest(folder)?;
    check_measured(folder, &manifest)?;
    Ok(sha256(&bytes))
}

/// Refuses a folder whose run was to stop before it measured anything.
fn check_finished(folder: &Path, manifest: &Manifest) -> Result<()> {
    let Some(stage) = &manifest.stopped_after else { return Ok(()) };
    let cause = format!("its run was to stop after `{stage}`, so it holds rows and no numbers");
    let hint = "name the folder of a finished run, or run the job without `--until`";
    Err(Error::operator("read the results of", folder, cause, hint))
}

/// Refuses a folder that holds an audit, which a run that stops early would replace.
///
/// # Errors
/// There is one.
pub(crate) fn check_no_audit(folder: &Path) -> Result<()> {
    if head(folder).is_ok_and(|(head, _)| head.stopped_after.is_none()) {
        let cause = "it holds a finished audit, and a run with `--until` would leave only rows";
        let hint = "give the rows another folder with `--out`, or add `--replace`";
        return Err(Error::operator("replace", folder, cause, hint));
    }
    Ok(())
}

/// Refuses a folder whose run waits for scores, or that holds no numbers for another reason.
pub(crate) fn check_measured(folder: &Path, manifest: &Manifest) -> Result<()> {
    check_finished(folder, manifest)?;
    if manifest.awaited.is_empty() {
        return Ok(());
    }
    Err(Error::operator(
        "use",
        folder,
        "its run waits for scores, so it does not hold all numbers",
        "run its job again when the scores have arrived, or name the folder of a finished run",
    ))
}

/// Reads the summary of an assembled folder.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_summary(folder: &Path) -> Result<RunSummary> {
    read_json(&folder.join("summary.json"), "report")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::path_below;

    #[test]
    fn names_that_lead_out_of_the_folder_are_refused() {
        let folder = Path::new("out");
        for name in [
            "summary.json",
            "tables/metrics.parquet",
            "to-score/flip/part-00000.parquet",
            "exports/..dot",
        ] {
            assert_eq!(path_below(folder, name).unwrap(), folder.join(name));
        }
        for name in [
            "",
            ".",
            "..",
            "../secret.txt",
            "tables/../../secret.txt",
            "/etc/passwd",
            "./report.html",
            "tables//gates.parquet",
            "tables/",
            "manifest.json",
        ] {
            let error = path_below(folder, name).unwrap_err().to_string();
            assert!(
                error.contains("out/manifest.json") && error.contains("hint: "),
                "{name}: {error}"
            );
        }
    }
}
