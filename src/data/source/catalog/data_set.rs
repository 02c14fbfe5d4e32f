//! What a public data set is: its files with their checksums, its columns, and how its rows are
//! read.

use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use serde::Serialize;

use super::typed::TypedTable;
use crate::data::source::field_builder::FieldType;
use crate::error::Result;

/// The columns of a data set by their types, in order: `Int: "age"; Text: "sex" "race";`.
macro_rules! catalog_columns {
    ($($holds:ident: $($name:literal)+;)+) => {
        &[$($(($name, $crate::data::source::field_builder::FieldType::$holds),)+)+]
    };
}

/// A file of a data set: its name, its versions (bytes and SHA-256), its own addresses.
macro_rules! catalog_file {
    ($name:literal: $($bytes:literal $sha256:literal),+; $($address:literal),* $(,)?) => {
        super::data_set::DataSetFile {
            name: $name,
            versions: &[$(super::data_set::FileVersion {
                bytes: $bytes,
                sha256: $sha256,
            }),+],
            addresses: &[$($address),*],
        }
    };
}

pub(super) use {catalog_columns, catalog_file};

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
    pub columns: &'static [(&'static str, FieldType)],
    /// Appends the rows of the member at a position, given its path for messages and its bytes.
    pub push_member: fn(&mut TypedTable, usize, &Path, &[u8]) -> Result<()>,
    /// Generates the rows of the stand-in, if there is one.
    pub stand_in: Option<fn() -> Result<RecordBatch>>,
}

impl PublicDataSet {
    /// The rows of its members, in their order; messages name the folder.
    ///
    /// # Errors
    /// A line of a member does not fit the columns.
    pub(crate) fn rows(&self, folder: &Path, members: &[Vec<u8>]) -> Result<RecordBatch> {
        let mut rows = TypedTable::new(self.columns);
        for (i, (member, bytes)) in self.members.iter().zip(members).enumerate() {
            (self.push_member)(&mut rows, i, &folder.join(member.name), bytes)?;
        }
        rows.finish()
    }
}

/// A file of a data set.
#[derive(Debug, Serialize)]
pub(crate) struct DataSetFile {
    /// Its name, in the folder and in the archive.
    pub name: &'static str,
    /// Its accepted versions, the published one first.
    pub versions: &'static [FileVersion],
    /// Its own addresses, tried in this order when no archive can be obtained.
    pub addresses: &'static [&'static str],
}

/// One accepted content of a member.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileVersion {
    /// Its size in bytes.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: &'static str,
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
