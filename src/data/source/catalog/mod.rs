//! Public data sets that cfaudit knows: their addresses, checksums, parse rules and columns.
//!
//! [`download`] looks for the files of a data set in `<data-dir>/<name>/` and fetches what is
//! missing; [`import`] turns the verified files into typed Parquet. Each data set has its own
//! file with its source, its terms and its traps: to add one, write that file and name it in
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
pub(crate) mod data_set;
pub(crate) mod download;
mod german;
mod heart;
mod law;
mod marginals;
pub(crate) mod typed;

use std::path::Path;

pub(crate) use crate::data::source::catalog::data_set::{
    DataSetFile, DataSetOrigin, FileVersion, PublicDataSet,
};
use crate::data::source::recut::RecutWriter;
use crate::error::Result;
use crate::exec::pieces::RowBatching;

/// All data sets, sorted by name.
pub(crate) const DATA_SETS: &[PublicDataSet] =
    &[adult::SET, compas::SET, german::SET, heart::SET, law::SET];

/// The data set of this name.
pub(crate) fn data_set(name: &str) -> Option<&'static PublicDataSet> {
    DATA_SETS.iter().find(|set| set.name == name)
}

/// Writes the rows of an obtained data set to `path` in row groups of `batch_rows`.
///
/// # Errors
/// A file has changed or disappeared since; `path` cannot be written.
pub(crate) fn import(
    set: &PublicDataSet,
    origin: &DataSetOrigin,
    path: &Path,
    RowBatching { batch_rows, workers, watch }: RowBatching<'_>,
) -> Result<()> {
    let batch = match (origin, set.stand_in) {
        (DataSetOrigin::StandIn(_), Some(stand_in)) => stand_in()?,
        (DataSetOrigin::StandIn(why), None) => {
            return Err(download::unreachable_fault(set, Path::new(set.name), why).into());
        }
        (DataSetOrigin::Files(found), _) => {
            let read = |(member, form): (&DataSetFile, &&'static FileVersion)| {
                let forms = std::slice::from_ref(*form);
                download::read_verified(member, forms, &found.folder).map(|(_, bytes)| bytes)
            };
            let files: Vec<Vec<u8>> =
                set.members.iter().zip(&found.versions).map(read).collect::<Result<_>>()?;
            set.rows(&found.folder, &files)?
        }
    };
    (watch.check)()?;
    (watch.progress)(batch.num_rows() as u64);
    let schema = batch.schema().as_ref().clone();
    let mut rows = RecutWriter::create(path, schema, &[], workers, batch_rows)?;
    rows.push(batch)?;
    rows.finish()
}
