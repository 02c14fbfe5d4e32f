//! Rows that an output folder holds, where the job runs in shards: each shard leaves its own next
//! to its state, and the run from merged states puts them together in the order of the rows.
//!
//! A stage writes lists of rows, such as the outcomes of each model and set. A worker writes each
//! list of its shard into a file of the plan, `count/part-SHARD.STAGE.LIST.parquet` with a hash of
//! the id of the stage, and its state holds the hashes of these files.

use std::path::{Path, PathBuf};

use crate::data::exchange::to_score::RowsBatch;
use crate::error::{Error, Result};
use crate::exec::hash::sha256;
use crate::exec::replaced_file::FileAccess;
use crate::exec::shared_folder::SharedFolder;
use crate::exec::{StageContext, StageRecord, files, internal_error};
use crate::stage::input::digest::FileHashes;
use crate::stage::sharding::plan::part_name;
use crate::stage::sharding::share::{RowShare, ShardPass};
use crate::table::file::{FileOwner, ParquetFile};

/// The pass in which rows are written.
const PASS: ShardPass = ShardPass::Count;

/// The folder of a stage with a folder for each list.
const LISTS: &str = "shard-rows";

/// Digits of the hash of a stage's id in the name of a file.
const DIGITS: usize = 12;

/// Where the rows of the lists of a stage are: by list the files of the shards, in the order of the
/// rows; none where the run makes them itself.
#[derive(Debug)]
pub(crate) struct RowLists(Option<Vec<Vec<PathBuf>>>);

impl RowLists {
    /// The files of a list; none where the run makes the rows itself.
    pub(crate) fn files(&self, list: usize) -> Option<&[PathBuf]> {
        self.0.as_ref().map(|lists| lists.get(list).map(Vec::as_slice).unwrap_or_default())
    }
}

/// Passes the rows of files on, in their order.
///
/// # Errors
/// A file cannot be read, or the error of `take`.
pub(crate) fn each_batch(
    files: &[PathBuf],
    mut take: impl FnMut(RowsBatch) -> Result<()>,
) -> Result<()> {
    for path in files {
        let file = ParquetFile::open(path, FileOwner::Program)?;
        (0..file.n_groups()).try_for_each(|group| take(file.read_group(group, None)?))?;
    }
    Ok(())
}

/// The key of the hash of a file: sorted, the shards of a list follow each other.
fn key_of(list: usize, shard: usize) -> String {
    format!("{list:05}/{shard:05}")
}

/// The file of a list of a shard, below the plan.
fn name_of(stage: &str, list: usize, shard: usize) -> String {
    let hash: String = sha256(stage.as_bytes()).chars().take(DIGITS).collect();
    format!("{}/part-{shard:05}.{hash}.{list:05}.parquet", PASS.word())
}

impl RowShare {
    /// Where the rows of this many lists are; none where the stage ends here: in a shard, for which
    /// `write` writes each list as the only file of a folder.
    ///
    /// # Errors
    /// Those of `write`; a file of a shard is lost or altered; the states are not merged yet.
    pub(crate) fn row_lists(
        &self,
        ctx: &StageContext<'_>,
        lists: usize,
        mut write: impl FnMut(usize, &Path) -> Result<()>,
    ) -> Result<Option<RowLists>> {
        let gather = || {
            let mut hashes = FileHashes::default();
            if let RowShare::Shard(task) = self {
                for list in 0..lists {
                    let folder = ctx.out().join(LISTS).join(format!("{list:05}"));
                    files::make_folder(&folder)?;
                    write(list, &folder)?;
                    let (sha256, _) =
                        files::hash_unless(&only_file(&folder)?, &mut || ctx.check())?;
                    hashes.0.insert(key_of(list, task.shard), sha256);
                }
            }
            Ok(vec![(0, hashes)])
        };
        let Some(hashes) = self.gather::<FileHashes>(ctx, PASS, gather)? else { return Ok(None) };
        let RowShare::Merged(run) = self else {
            return Ok((!self.is_shard()).then_some(RowLists(None)));
        };
        let mut found = vec![Vec::new(); lists];
        for (key, sha256) in hashes.iter().flat_map(|(_, hashes)| &hashes.0) {
            let parts = key.split_once('/').and_then(|(list, shard)| {
                Some((list.parse::<usize>().ok()?, shard.parse::<usize>().ok()?))
            });
            let (list, shard) = parts
                .filter(|(list, _)| *list < lists)
                .ok_or_else(|| internal_error(format!("`{}` has no list `{key}`", ctx.stage())))?;
            let name = name_of(ctx.stage(), list, shard);
            let path = run.folder.path(&name);
            if run.folder.hash(&name, &mut || ctx.check())?.as_ref() != Some(sha256) {
                let cause = "it is lost, or not as the worker of its shard wrote it";
                let state = run.folder.path(&format!("{}/{}", PASS.word(), part_name(shard)));
                let hint = format!("remove `{}` and run that worker again", state.display());
                return Err(Error::operator("use", &path, cause, hint.as_str()));
            }
            found[list].push(path);
        }
        Ok(Some(RowLists(Some(found))))
    }
}

/// The only file of a folder.
fn only_file(folder: &Path) -> Result<PathBuf> {
    match files::list(folder)?.as_slice() {
        [file] => Ok(file.clone()),
        found => Err(internal_error(format!("`{}` has {} files", folder.display(), found.len()))),
    }
}

/// Puts the lists that stages wrote in a shard next to its state.
///
/// # Errors
/// The disk or the store refuses.
pub(crate) fn keep(records: &[StageRecord], shard: usize, plan: &SharedFolder) -> Result<()> {
    for record in records {
        let lists = record.folder.join(LISTS);
        if files::metadata_if_there(&lists)?.is_none() {
            continue;
        }
        let mut written = Vec::new();
        for (list, folder) in files::list(&lists)?.iter().enumerate() {
            let name = name_of(&record.id, list, shard);
            plan.put(&name, &only_file(folder)?, FileAccess::Owner)?;
            written.push(name);
        }
        plan.tidy(&written);
    }
    Ok(())
}
