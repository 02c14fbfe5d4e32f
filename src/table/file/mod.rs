//! Streams record batches into and out of Parquet files, a row group at a time; reads and writes
//! the small result tables.
//!
//! Every file between the stages is cut into row groups of the same number of rows, so that several
//! files of one run (rows, roles, scores) line up group by group and a stage reads them together. A
//! row group is the unit of memory and of parallel work: memory is bounded by its number of rows,
//! and by 2 GiB for the texts of one column of it. Results are compressed with zstd; files between
//! the stages, which are read soon and thrown away, with lz4 or, where that saves little, not at
//! all. All have a fixed `created_by` and no times, so equal contents are equal bytes.

mod byte_source;
pub(crate) mod folder_keys;
mod footer;
mod open;
mod rows;
mod write;

use std::path::Path;

use crate::error::{Error, Fault};

pub(crate) use open::ParquetFile;
pub(crate) use rows::{
    OTHER_VERSION, RowWriter, TableWriter, check_version, each_row, open_table, read_file,
    read_matching, read_rows, write_rows,
};
pub(crate) use write::{EncodedGroup, GroupEncoder, GroupWriter};

/// Rows of one row group unless `--batch-rows` says otherwise.
pub(crate) const ROW_GROUP_ROWS: usize = 65_536;

/// Row groups hold a multiple of this many rows, so that sums over fixed blocks of rows do not
/// depend on `--batch-rows`.
pub(crate) const BLOCK_ROWS: usize = 1024;

/// Rows of a table that are decoded at once.
pub(crate) const READ_ROWS: usize = 16_384;

/// Whose file it is: decides who must act when it cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// The user's data or scores: status 3.
    User,
    /// A file that cfaudit wrote itself: status 5.
    Program,
}

fn unreadable(path: &Path, owner: FileOwner, cause: impl std::fmt::Display) -> Error {
    match owner {
        FileOwner::User => Fault::new(
            "unreadable-file",
            format!("`{}` cannot be read as Parquet: {cause}", path.display()),
        )
        .in_file(path)
        .hint(if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("csv")) {
            "scores are read only from Parquet, rows also with `csv:`; convert it, for example \
             by `duckdb -c \"copy 'A.csv' to 'A.parquet'\"`"
        } else {
            "the file is truncated, damaged or not a Parquet file; write it again"
        })
        .into(),
        FileOwner::Program => Error::operator(
            "read",
            path,
            cause,
            "the file was damaged after it was written; run the job again (a damaged entry of the \
             cache must be deleted first)",
        ),
    }
}
