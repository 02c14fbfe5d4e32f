//! Public data sets that cfaudit knows: their addresses, checksums, parse rules and columns.
//!
//! [`download`] looks for the files of a data set in `<data-dir>/<name>/` and fetches what is
//! missing; [`import`] turns the verified files into typed Parquet. Each data set has a file of its
//! own with its source, its terms and its traps: to add one, write that file and name it in
//! [`DATA_SETS`].
//!
//! Words. A *member* is a file of a data set. A *version* of a member is one content of it, known
//! by its checksum; most members have one version. A *stand-in* is a data set made by a seeded
//! generator with the columns and levels of a real one, for machines that have the files neither
//! stored nor within reach; no number computed from it is about people.
//!
//! Not done here: the job defines the label, the features and the sensitive columns.

mod adult;
mod compas;
pub mod download;
mod german;
mod heart;
mod law;
mod marginals;
mod typed;

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::data::source::recut::RecutWriter;
use crate::error::{Error, Result};
use crate::exec::pieces::{StageWatch, WorkerPool};

/// A public data set.
#[derive(Debug)]
pub struct PublicDataSet {
    /// Its name in jobs, and of its folder.
    pub name: &'static str,
    /// A description of one line.
    pub title: &'static str,
    /// Its origin and licence terms.
    pub source: &'static str,
    /// Addresses of an archive that holds all members, tried first and in this order.
    pub archives: &'static [&'static str],
    /// Its files.
    pub members: &'static [DataSetFile],
    /// The columns that are imported, in order.
    pub columns: &'static [(&'static str, CatalogType)],
    /// Reads the rows from the members in their order; messages name the folder.
    pub read: fn(&Path, &[Vec<u8>]) -> Result<RecordBatch>,
    /// Generates the rows of the stand-in, if there is one.
    pub stand_in: Option<fn() -> Result<RecordBatch>>,
}

/// A file of a data set.
#[derive(Debug)]
pub struct DataSetFile {
    /// Its name, in the folder and in the archive.
    pub name: &'static str,
    /// Its accepted versions, the published one first.
    pub versions: &'static [FileVersion],
    /// Its own addresses, tried in this order when no archive can be obtained.
    pub addresses: &'static [&'static str],
}

/// One accepted content of a member.
#[derive(Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'static str,
}

/// The type of a column of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogType {
    /// Integers, also where the file writes them as `63.0`.
    Int,
    /// Numbers.
    Float,
    /// Text.
    Text,
    /// Days, written `2013-08-14`.
    Date,
    /// Times without a zone, written `2013-08-13 06:03:42`.
    Time,
}

impl CatalogType {
    /// The name of a value of this type in messages.
    pub fn name(self) -> &'static str {
        match self {
            CatalogType::Int => "integer",
            CatalogType::Float => "number",
            CatalogType::Text => "text",
            CatalogType::Date => "date",
            CatalogType::Time => "time",
        }
    }
}

/// All data sets, sorted by name.
pub const DATA_SETS: &[PublicDataSet] =
    &[adult::SET, compas::SET, german::SET, heart::SET, law::SET];

/// The data set of this name.
pub fn data_set(name: &str) -> Option<&'static PublicDataSet> {
    DATA_SETS.iter().find(|set| set.name == name)
}

/// The origin of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataSetOrigin {
    /// Verified files.
    Files(VerifiedFiles),
    /// Generated rows, with the reason why the files could not be obtained.
    StandIn(String),
}

/// The verified files of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedFiles {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The version of each member, in the order of the members.
    pub versions: Vec<&'static FileVersion>,
}

/// Writes the rows of an obtained data set to `path` in row groups of `batch_rows`.
///
/// # Errors
/// A file has changed or disappeared since; `path` cannot be written.
pub fn import(
    set: &PublicDataSet,
    origin: &DataSetOrigin,
    path: &Path,
    batch_rows: usize,
    workers: &WorkerPool,
    watch: StageWatch<'_>,
) -> Result<()> {
    let batch = match (origin, set.stand_in) {
        (DataSetOrigin::StandIn(_), Some(stand_in)) => stand_in()?,
        (DataSetOrigin::StandIn(why), None) => {
            return Err(download::unreachable_fault(set, Path::new(set.name), why).into());
        }
        (DataSetOrigin::Files(found), _) => {
            let read = |(member, form): (&DataSetFile, &&'static FileVersion)| {
                let gone = || {
                    Error::io(
                        "read",
                        &found.folder.join(member.name),
                        &std::io::ErrorKind::NotFound.into(),
                    )
                };
                download::read_verified(member, std::slice::from_ref(*form), &found.folder)?
                    .map(|(_, bytes)| bytes)
                    .ok_or_else(gone)
            };
            let files: Vec<Vec<u8>> =
                set.members.iter().zip(&found.versions).map(read).collect::<Result<_>>()?;
            (set.read)(&found.folder, &files)?
        }
    };
    (watch.check)()?;
    (watch.progress)(batch.num_rows() as u64);
    let mut rows = RecutWriter::create(path, batch.schema().as_ref().clone(), workers, batch_rows)?;
    rows.push(batch)?;
    rows.finish()
}
