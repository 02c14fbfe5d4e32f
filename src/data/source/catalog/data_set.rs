//! What a public data set is: its files with their checksums, its columns, and how rows come of
//! them.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;

use crate::error::Result;

/// A public data set.
#[derive(Debug)]
pub(crate) struct PublicDataSet {
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
pub(crate) struct DataSetFile {
    /// Its name, in the folder and in the archive.
    pub name: &'static str,
    /// Its accepted versions, the published one first.
    pub versions: &'static [FileVersion],
    /// Its own addresses, tried in this order when no archive can be obtained.
    pub addresses: &'static [&'static str],
}

/// One accepted content of a member.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'static str,
}

/// The type of a column of a data set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CatalogType {
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
    pub(crate) fn name(self) -> &'static str {
        match self {
            CatalogType::Int => "integer",
            CatalogType::Float => "number",
            CatalogType::Text => "text",
            CatalogType::Date => "date",
            CatalogType::Time => "time",
        }
    }
}

/// The origin of the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DataSetOrigin {
    /// Verified files.
    Files(VerifiedFiles),
    /// Generated rows, with the reason why the files could not be obtained.
    StandIn(String),
}

/// The verified files of a data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VerifiedFiles {
    /// The folder of the files.
    pub folder: PathBuf,
    /// The version of each member, in the order of the members.
    pub versions: Vec<&'static FileVersion>,
}
