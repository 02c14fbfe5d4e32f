//! `cfaudit pack`: one archive of a finished folder without the files below `rows/` and
//! `to-score/`, logs and run times.
//!
//! Cases that the job asks for by `report.cases` are data about single people, and are in the
//! archive: in their table and on the page. The guide gives their number.
//!
//! ```text
//! JOB-RUN/READ-ME.txt             what is here, how to check it, how to go on
//! JOB-RUN/SHA256SUMS              for `sha256sum --check`
//! JOB-RUN/judge.html              judges the gates again without this program
//! JOB-RUN/statement.intoto.json   the verdict on these files, to be signed
//! JOB-RUN/audit/...               the folder: `verify`, `diff`, `gate` and `report` work on it
//! ```
//!
//! The same folder gives the same bytes: names are sorted, entries carry no time and no owner.
//! Tables are compressed already and are stored as they are.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use crate::error::{Error, Result};
use crate::exec::files::{self, File};
use crate::exec::hash;
use crate::exec::replaced_file;
use crate::folder::read::{self, MANIFEST, check_measured};
use crate::proof::guide;
use crate::proof::statement;
use crate::proof::verify::{self, FolderProof, is_removable};
use crate::table::file::read_rows;
use crate::table::{CfExampleRow, CfMapRow, GateRow};

/// The guide to an archive.
pub(crate) const GUIDE: &str = "READ-ME.txt";

/// The hashes of all files, except the guide and this one.
const SUMS: &str = "SHA256SUMS";

/// The page that judges an archive again, with its name in the archive.
const JUDGE: (&str, &str) = ("judge.html", include_str!("judge.html"));

/// The in-toto statement; missing where no gate was judged.
const STATEMENT: &str = "statement.intoto.json";

/// The size from which an entry writes its size in the long form.
const LARGE: usize = 1 << 31;

/// An archive that was written.
#[derive(Debug, Clone)]
pub(crate) struct PackedArchive {
    /// Number of its files.
    pub(crate) n_files: usize,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// Number of cases of single people in it.
    pub(crate) n_cases: usize,
    /// SHA-256 of the archive.
    pub(crate) sha256: String,
}

/// The checks of a folder that is to be packed.
///
/// # Errors
/// The folder is not sound, or holds no numbers.
pub(crate) fn sound(folder: &Path) -> Result<FolderProof> {
    let proof = verify::verify(folder, None)?;
    if let Some(why) = &proof.unchecked {
        let hint = "pack it with the version that wrote it, or run the approved job again";
        return Err(Error::operator("pack", folder, why, hint));
    }
    if let Some(problem) = proof.problems.first() {
        let path = folder.join(&problem.file);
        let hint = "`cfaudit verify` lists all problems; run it again or pack an unchanged copy";
        return Err(Error::operator("pack", path, &problem.what, hint));
    }
    check_measured(folder, &proof.manifest).map_err(|error| {
        Error::operator("pack", folder, error.cause(), "name the folder of a finished run")
    })?;
    Ok(proof)
}

/// Writes the archive of a sound folder to `path`.
///
/// # Errors
/// A file cannot be read or has changed, or the disk refuses.
pub(crate) fn pack(folder: &Path, proof: &FolderProof, path: &Path) -> Result<PackedArchive> {
    let manifest = &proof.manifest;
    let top = proof.archive_name();
    let packed: Vec<(&String, &String)> =
        manifest.files.iter().filter(|(name, _)| !is_removable(name)).collect();
    let mut listed = vec![(format!("audit/{MANIFEST}"), proof.fingerprint.as_str())];
    listed.extend(packed.iter().map(|(name, sha256)| (format!("audit/{name}"), sha256.as_str())));
    let (tables, summary) = (folder.join("tables"), read::read_summary(folder)?);
    let gates = read_rows::<GateRow>(&tables)?;
    let mut texts = vec![(JUDGE.0, JUDGE.1.to_owned())];
    let statement = statement::text(&listed, &summary.verdict, &gates);
    let signed = statement.is_some();
    texts.extend(statement.map(|statement| (STATEMENT, statement)));
    let line = |name: &str, sha256: &str| format!("{sha256}  {name}\n");
    let mut sums: String = listed.iter().map(|(name, sha256)| line(name, sha256)).collect();
    sums.extend(texts.iter().map(|(name, text)| line(name, &hash::sha256(text.as_bytes()))));
    let n_cases = count_cases(&read_rows(&tables)?);
    let n_places = read_rows::<CfMapRow>(&tables)?.iter().filter(|row| row.x.is_some()).count();
    texts.insert(0, (SUMS, sums));
    texts.insert(0, (GUIDE, guide::text(proof, &summary, [n_cases, n_places], signed)));
    replaced_file::replace_with(path, |file| {
        let mut archive = AuditArchive { zip: ZipWriter::new(BufWriter::new(file)), path, top };
        for (name, text) in &texts {
            archive.add(name, text.len(), text.as_bytes())?;
        }
        archive.add_file(folder, MANIFEST, &proof.fingerprint)?;
        for (name, sha256) in &packed {
            archive.add_file(folder, name, sha256)?;
        }
        let written = archive.zip.finish().map_err(io::Error::from);
        written.and_then(|mut file| file.flush()).map_err(|e| Error::io("write", path, &e))
    })?;
    let (sha256, bytes) = files::hash_file(path)?;
    Ok(PackedArchive { n_files: listed.len() + texts.len(), bytes, n_cases, sha256 })
}

/// Number of cases: a person in each model, set and attribute in which the table holds that person.
fn count_cases(rows: &[CfExampleRow]) -> usize {
    let case = |row: &CfExampleRow| {
        let names = [&row.model, &row.counterfactual, &row.sensitive, &row.from_group];
        (names.map(ToString::to_string), row.to_group.to_string(), row.example)
    };
    rows.iter().map(case).collect::<BTreeSet<_>>().len()
}

/// An archive that is being written.
struct AuditArchive<'p> {
    zip: ZipWriter<BufWriter<File>>,
    path: &'p Path,
    /// The folder at its top.
    top: String,
}

impl AuditArchive<'_> {
    /// Adds a file of the folder. It must still be what the manifest lists once it is packed.
    fn add_file(&mut self, folder: &Path, name: &str, sha256: &str) -> Result<()> {
        let path = folder.join(name);
        let bytes = usize::try_from(files::metadata(&path)?.len()).unwrap_or(usize::MAX);
        self.add(&format!("audit/{name}"), bytes, files::open(&path)?)?;
        read::check_hash(&path, sha256)
    }

    fn add(&mut self, name: &str, bytes: usize, mut content: impl Read) -> Result<()> {
        let method = if name.ends_with(".parquet") {
            CompressionMethod::Stored
        } else {
            CompressionMethod::Deflated
        };
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .unix_permissions(0o644)
            .large_file(bytes > LARGE);
        let entry = self.zip.start_file(format!("{}/{name}", self.top), options);
        let written = entry.map_err(io::Error::from);
        let written = written.and_then(|()| io::copy(&mut content, &mut self.zip));
        written.map(|_| ()).map_err(|e| Error::io("write", self.path, &e))
    }
}

#[cfg(test)]
mod tests {
    use super::count_cases;
    use crate::table::CfExampleRow;
    use crate::tests::TextRow;

    #[test]
    fn a_case_has_a_row_for_each_feature() {
        let row = |model: &str, to: &str, example: i64, feature: &str| {
            CfExampleRow::of(&format!(
                "model={model}, to_group={to}, example={example}, feature={feature}"
            ))
        };
        let rows = [
            row("a", "f", 0, "age"),
            row("a", "f", 0, "income"),
            row("a", "f", 1, "age"),
            row("a", "m", 0, "age"),
            row("b", "f", 0, "age"),
            row("b", "f", 0, "income"),
        ];
        assert_eq!([count_cases(&rows), count_cases(&[])], [4, 0]);
    }
}
