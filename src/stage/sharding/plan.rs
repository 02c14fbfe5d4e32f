//! The plan of a job in shards: which pieces of the source each shard has, or how many rows of an
//! engine, the hashes of all input files, and the tasks. It depends only on the job, the files and
//! the number of shards; its SHA-256 is its id, which every state carries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::source::ParquetSource;
use crate::error::{Error, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::files;
use crate::exec::hash::sha256;
use crate::exec::result_store::StoreView;
use crate::exec::shared_folder::{LocalFile, SharedFolder};
use crate::job::check::{self, CheckedJob, to_yaml};
use crate::stage::input::copied_rows::CopiedRows;
use crate::stage::input::digest::{InputDigests, PlannedFile, PlannedHash};
use crate::stage::input::{self, AbsentDataSet, JobInputs, grows_with_rows};
use crate::stage::job_place::{job_error, with_place};
use crate::stage::plan::StagePlan;
use crate::stage::run_resources::open_workers;
use crate::stage::settings::{CODE, RunSettings};
use crate::stage::sharding::refused::{NOT_IN_SHARDS, refusals, runs_in_shards};
use crate::stage::sharding::share::{MergedStates, RowShare, ShardPass};
use crate::stage::sharding::state;
use crate::unit::StageUnit;

/// Form of `plan.json`.
const FORMAT: u32 = 1;

/// File of the plan.
const PLAN: &str = "plan.json";

/// File of the job, resolved: what workers read.
const JOB: &str = "job.resolved.yaml";

/// File of the columns of rows that come as streams: without rows.
const COLUMNS: &str = "columns.parquet";

/// How many shards are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShardCount {
    /// This many.
    Shards(usize),
    /// As many shards as needed for about this number of rows each.
    Rows(u64),
    /// One for each part of an engine's rows, in the order of the row ids.
    Parts(StreamedParts),
}

/// The parts in which an engine passes its rows on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamedParts {
    /// A file with the columns of the rows.
    pub(crate) columns: PathBuf,
    /// Rows of each part.
    pub(crate) rows: Vec<u64>,
}

/// One shard: a range of the pieces of the source, or a part of an engine's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlannedShard {
    /// Number of the first row in the source.
    pub(crate) first_row: u64,
    /// Rows of the source.
    pub(crate) rows: u64,
    /// The first piece; 0 of an engine's rows.
    pub(crate) first_piece: usize,
    /// Number of pieces; 0 of an engine's rows.
    pub(crate) pieces: usize,
}

/// `plan.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShardPlan {
    /// Form of this file.
    cfaudit_plan: u32,
    /// Fingerprint of the program.
    pub(crate) code: String,
    /// Name of the job.
    pub(crate) name: String,
    /// SHA-256 of the resolved job.
    pub(crate) job: String,
    /// Rows of the source.
    pub(crate) rows: u64,
    /// The passes, in order.
    pub(crate) passes: Vec<String>,
    /// For rows that come as streams, the SHA-256 of the file of their columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    columns: Option<String>,
    /// The shards, in the order of the rows.
    pub(crate) shards: Vec<PlannedShard>,
    /// The input files.
    pub(crate) files: Vec<PlannedFile>,
}

/// A plan in its folder.
#[derive(Debug)]
pub(crate) struct OpenPlan {
    /// The folder.
    pub(crate) folder: SharedFolder,
    /// SHA-256 of `plan.json`.
    pub(crate) id: String,
    /// The plan.
    pub(crate) plan: ShardPlan,
    /// The text of the job that workers read.
    job: String,
    /// Of rows that come as streams the file of their columns, which has no rows.
    columns: Option<LocalFile>,
}

/// One task of a plan, for schedulers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ShardTaskLine {
    /// The pass.
    pub(crate) pass: String,
    /// The shard; none for the merge of the pass.
    pub(crate) shard: Option<usize>,
    /// What to run.
    pub(crate) command: Vec<String>,
    /// What it reads of the plan.
    pub(crate) reads: Vec<String>,
    /// What it writes.
    pub(crate) writes: String,
}

impl OpenPlan {
    /// Opens a plan that this program made.
    ///
    /// # Errors
    /// There is none, it is damaged, or another program made it.
    pub(crate) fn open(path: &Path, cancel: &CancelFlag) -> Result<Self> {
        OpenPlan::of(SharedFolder::new(path, cancel)?)
    }

    fn of(folder: SharedFolder) -> Result<Self> {
        let path = folder.path(PLAN);
        let Some(text) = folder.read(PLAN)? else {
            let hint =
                "make the plan by `cfaudit plan JOB --shards N --to PLAN`, or correct its name";
            return Err(Error::operator("read", &path, "there is no such plan", hint));
        };
        let again = "plan again, or use one program everywhere";
        let plan: ShardPlan = serde_json::from_slice(&text)
            .map_err(|cause| Error::operator("read", &path, cause, again))?;
        if plan.cfaudit_plan != FORMAT || plan.code != CODE {
            let cause = format!(
                "the program with the fingerprint {} made it, and this one has {CODE}",
                plan.code
            );
            return Err(Error::operator("use", &path, cause, again));
        }
        let job = String::from_utf8(folder.need(JOB)?).unwrap_or_default();
        if sha256(job.as_bytes()) != plan.job {
            let cause = "it is not the job that was planned";
            return Err(Error::operator("use", folder.path(JOB), cause, "plan again"));
        }
        let mut columns = None;
        if plan.columns.is_some() {
            let bytes = folder.read(COLUMNS)?.unwrap_or_default();
            if Some(sha256(&bytes)) != plan.columns {
                let cause = "it does not hold the columns that were planned";
                return Err(Error::operator("use", folder.path(COLUMNS), cause, "plan again"));
            }
            columns = Some(folder.local(COLUMNS, &bytes)?);
        }
        Ok(OpenPlan { folder, id: sha256(&text), plan, job, columns })
    }

    /// The job that workers read, and how messages call its file.
    ///
    /// # Errors
    /// Another version of the program wrote it.
    pub(crate) fn job(&self) -> Result<(CheckedJob, String)> {
        let file = self.folder.path(JOB);
        let checked = check::read_text(&file, self.job.as_bytes())?;
        Ok((checked, file.to_string_lossy().into_owned()))
    }

    /// The file of the columns of rows that come as streams, which has no rows.
    pub(crate) fn columns(&self) -> Option<CopiedRows> {
        let columns = self.columns.as_ref()?;
        Some(CopiedRows { path: columns.path().to_path_buf(), first_row: 0 })
    }

    /// A shard.
    ///
    /// # Errors
    /// The plan has no shard of that number.
    pub(crate) fn shard(&self, shard: usize) -> Result<&PlannedShard> {
        self.plan.shards.get(shard).ok_or_else(|| {
            let cause = format!(
                "it has {} shards, numbered from 0, and none has the number {shard}",
                self.plan.shards.len()
            );
            Error::operator("use", self.folder.root(), cause, "correct `--shard`")
        })
    }

    /// The file of the states of a shard, below the folder.
    pub(crate) fn part_file(&self, pass: ShardPass, shard: usize) -> String {
        format!("{}/{}", pass.word(), part_name(shard))
    }

    /// The file of the merged states of a pass, below the folder.
    pub(crate) fn merged_file(&self, pass: ShardPass) -> String {
        format!("{}/{MERGED}", pass.word())
    }

    /// Fails where a file of states is of another plan, program, pass or shard.
    pub(crate) fn check_header(
        &self,
        path: &Path,
        found: &state::StateHeader,
        (pass, shard): (ShardPass, Option<usize>),
    ) -> Result<()> {
        let wanted = self.header(pass, shard);
        let number = |shard: Option<usize>| shard.map_or("all".to_owned(), |n| n.to_string());
        let pairs = [
            ("plan", wanted.plan, found.plan.clone()),
            ("program", wanted.code, found.code.clone()),
            ("pass", wanted.pass, found.pass.clone()),
            ("shard", number(wanted.shard), number(found.shard)),
            ("number of shards", wanted.of.to_string(), found.of.to_string()),
            ("first row", wanted.first_row.to_string(), found.first_row.to_string()),
            ("number of rows", wanted.rows.to_string(), found.rows.to_string()),
        ];
        match pairs.into_iter().find(|(_, wanted, found)| wanted != found) {
            None => Ok(()),
            Some((what, wanted, found)) => {
                let cause = format!("its {what} is {found}, and that of the plan is {wanted}");
                let hint = "plan again, or use one program everywhere";
                Err(Error::operator("use", path, cause, hint))
            }
        }
    }

    /// The header of the states of a shard, or of all.
    pub(crate) fn header(&self, pass: ShardPass, shard: Option<usize>) -> state::StateHeader {
        let of = shard.and_then(|shard| self.plan.shards.get(shard));
        let rows = of.map_or((0, self.plan.rows), |of| (of.first_row, of.rows));
        state::StateHeader::new(&self.id, pass.word(), (shard, self.plan.shards.len()), rows)
    }

    /// The merged states of the passes before one, or of all passes.
    ///
    /// # Errors
    /// A file is damaged, or of another plan.
    pub(crate) fn merged_before(&self, pass: Option<ShardPass>) -> Result<MergedStates> {
        let mut merged = MergedStates::default();
        for &earlier in ShardPass::ALL.iter().filter(|of| pass.is_none_or(|pass| **of < pass)) {
            let name = self.merged_file(earlier);
            if let Some(read) = state::read(&self.folder, &name)? {
                let path = self.folder.path(&name);
                self.check_header(&path, &read.header, (earlier, None))?;
                let states = state::labelled(&read.text, &path)?;
                merged.add(earlier, read.header.sha256, states);
            }
        }
        Ok(merged)
    }

    /// The hashes of input files, as far as they are known to a run over a share of the rows.
    ///
    /// # Errors
    /// The merged states are not those of this program.
    pub(crate) fn digests(&self, share: &RowShare) -> Result<InputDigests> {
        let found = share.merged().map(MergedStates::file_hashes).transpose()?;
        Ok(InputDigests::planned(&self.plan.files, found.unwrap_or_default()))
    }

    /// Every task, in an order in which they may run one after the other.
    pub(crate) fn tasks(&self) -> Vec<ShardTaskLine> {
        let folder = self.folder.root().display().to_string();
        let command = |verb: &str, pass: ShardPass, shard: Option<usize>| {
            let mut words = vec!["cfaudit".to_owned(), verb.to_owned(), folder.clone()];
            words.extend(["--pass".to_owned(), pass.word().to_owned()]);
            words.extend(shard.iter().flat_map(|n| ["--shard".to_owned(), n.to_string()]));
            let streams = shard.is_some() && self.plan.columns.is_some();
            words.extend(streams.then(|| "--stream".to_owned()));
            words
        };
        let text = |name: String| self.folder.path(&name).display().to_string();
        let mut tasks = Vec::new();
        for &pass in ShardPass::ALL {
            let earlier = ShardPass::ALL.iter().filter(|of| **of < pass);
            let merged: Vec<String> = earlier.map(|of| text(self.merged_file(*of))).collect();
            let shards = 0..self.plan.shards.len();
            tasks.extend(shards.clone().map(|shard| ShardTaskLine {
                pass: pass.word().to_owned(),
                shard: Some(shard),
                command: command("worker", pass, Some(shard)),
                reads: merged.clone(),
                writes: text(self.part_file(pass, shard)),
            }));
            tasks.push(ShardTaskLine {
                pass: pass.word().to_owned(),
                shard: None,
                command: command("merge", pass, None),
                reads: shards.map(|shard| text(self.part_file(pass, shard))).collect(),
                writes: text(self.merged_file(pass)),
            });
        }
        tasks
    }
}

/// File of the merged states of a pass.
const MERGED: &str = "merged.state";

/// File of the states of a shard.
pub(crate) fn part_name(shard: usize) -> String {
    format!("part-{shard:05}.state")
}

/// Cuts the pieces of a source into shards of about the same number of rows: a piece belongs to the
/// shard in whose share of the rows it begins, so some shards may be empty.
fn cut(pieces: &[u64], count: &ShardCount) -> Vec<PlannedShard> {
    let rows: u64 = pieces.iter().sum();
    let (mut shards, mut piece, mut first_row) = (Vec::new(), 0, 0);
    let n = match count {
        ShardCount::Shards(n) => (*n).max(1) as u64,
        ShardCount::Rows(each) => rows.div_ceil((*each).max(1)).max(1),
        ShardCount::Parts(parts) => {
            for &rows in &parts.rows {
                shards.push(PlannedShard { first_row, rows, first_piece: 0, pieces: 0 });
                first_row += rows;
            }
            return shards;
        }
    };
    for shard in 1..=n {
        // Rows times shards fit easily: 2^64 is 10^19.
        let end = u64::try_from(u128::from(rows) * u128::from(shard) / u128::from(n));
        let end = end.unwrap_or(u64::MAX);
        let mut own = PlannedShard { first_row, rows: 0, first_piece: piece, pieces: 0 };
        while piece < pieces.len() && first_row < end {
            own.rows += pieces[piece];
            own.pieces += 1;
            first_row += pieces[piece];
            piece += 1;
        }
        shards.push(own);
    }
    shards
}

/// Plans a job in shards and writes the plan into a folder.
///
/// # Errors
/// The job cannot be run in shards: every reason; an input file cannot be read; the folder holds
/// another plan.
pub(crate) fn make(
    checked: &CheckedJob,
    settings: &RunSettings,
    count: ShardCount,
    folder: &Path,
    cancel: &CancelFlag,
) -> Result<OpenPlan> {
    let folder = SharedFolder::new(folder, cancel)?;
    let parts = match &count {
        ShardCount::Parts(parts) => Some(parts),
        ShardCount::Shards(_) | ShardCount::Rows(_) => None,
    };
    let refused = refusals(checked, parts.is_some());
    if !refused.is_empty() {
        return Err(Error::Job(refused));
    }
    let columns = parts.map(|parts| files::read(&parts.columns)).transpose()?;
    let plan = planned(checked, settings, &count, cancel).map_err(|e| with_place(e, checked))?;
    let plan = ShardPlan { columns: columns.as_ref().map(|bytes| sha256(bytes)), ..plan };
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default() + "\n";
    if folder.read(PLAN)?.is_some_and(|there| there != text.as_bytes()) {
        let cause =
            "another plan is there: of another job, other rows or shards, or another program";
        let hint = "name a new folder by `--to`, or remove this one";
        return Err(Error::operator("write", folder.path(PLAN), cause, hint));
    }
    folder.write(JOB, to_yaml(&checked.job).into_bytes())?;
    columns.map_or(Ok(()), |bytes| folder.write(COLUMNS, bytes))?;
    folder.write(PLAN, text.into_bytes())?;
    for pass in ShardPass::ALL {
        folder.make(pass.word())?;
    }
    OpenPlan::of(folder)
}

fn planned(
    checked: &CheckedJob,
    settings: &RunSettings,
    count: &ShardCount,
    cancel: &CancelFlag,
) -> Result<ShardPlan> {
    let entries = StoreView::of(settings.cache.clone());
    let workers = open_workers(settings)?;
    let digests = InputDigests::load(&entries, settings.rehash).only_small();
    let absent = AbsentDataSet::AssumeAvailable;
    let columns = match count {
        ShardCount::Parts(parts) => Some(CopiedRows { path: parts.columns.clone(), first_row: 0 }),
        ShardCount::Shards(_) | ShardCount::Rows(_) => None,
    };
    let absent = (absent, columns.as_ref());
    let input = input::locate(checked, settings, absent, (digests, &workers), cancel)?;
    let stages = StagePlan::new(checked, settings, &input, &workers, "", &entries, &RowShare::All)?;
    check_units(&stages, columns.is_some())?;
    // The columns of a stream are known here, so that no worker has to find out which are missing.
    let params = stages.prepare_params();
    let needed = if columns.is_some() { params.columns() } else { Vec::new() };
    let source = input.open_rows(&needed, &params.declared)?;
    let pieces: Vec<u64> = source.pieces().iter().map(|piece| piece.rows as u64).collect();
    let shards = cut(&pieces, count);
    Ok(ShardPlan {
        cfaudit_plan: FORMAT,
        code: CODE.to_owned(),
        name: checked.job.name.to_string(),
        job: checked.hash.clone(),
        rows: shards.iter().map(|shard| shard.rows).sum(),
        columns: None,
        passes: ShardPass::ALL.iter().map(|pass| pass.word().to_owned()).collect(),
        files: planned_files(&input, &source, &shards),
        shards,
    })
}

/// Every file with its last write and its hash. Files of rows are hashed by the shard that has
/// their first row, right before it reads them, and files of scores by one shard after the other.
fn planned_files(
    input: &JobInputs,
    source: &ParquetSource,
    shards: &[PlannedShard],
) -> Vec<PlannedFile> {
    let mut files: Vec<PlannedFile> = Vec::new();
    let first_pieces = source.first_pieces();
    let mut by_path = BTreeMap::new();
    for file in &input.files {
        by_path.entry(file.path.as_str()).or_insert(file);
    }
    let mut n_others = 0;
    for stamp in &input.stamps {
        let path = stamp.path.to_string_lossy();
        let Some(file) = by_path.get(path.as_ref()) else { continue };
        let hash = if let Some(etag) = stamp.etag() {
            PlannedHash::Etag(etag.to_owned())
        } else if grows_with_rows(&file.what) {
            // The last shard that begins no later; empty ones before it begin there too.
            let of_rows = first_pieces.get(stamp.path.as_path()).and_then(|&piece| {
                shards.partition_point(|shard| shard.first_piece <= piece).checked_sub(1)
            });
            n_others += usize::from(of_rows.is_none());
            PlannedHash::ByShard(of_rows.unwrap_or(n_others % shards.len().max(1)))
        } else {
            PlannedHash::Sha256(file.sha256.clone())
        };
        files.push(PlannedFile::new(stamp, hash));
    }
    files.sort();
    files.dedup();
    files
}

/// Fails where the job has a stage that is not known to run in shards, for a reason that no block
/// of the job told.
fn check_units(plan: &StagePlan<'_>, streams: bool) -> Result<()> {
    let stages = plan.stages()?.stages;
    let unit = |id: &str| StageUnit::parse(id);
    let other = stages.iter().find(|stage| {
        unit(&stage.id)
            .is_none_or(|u| !runs_in_shards(u.kind(), streams) || !u.fields().experiment.is_empty())
    });
    let Some(stage) = other else { return Ok(()) };
    let (why, hint) = match streams {
        false => ("takes all rows", "without `--shards` the job runs as it is"),
        true => ("hands rows out", "let the engine add the scores to its rows, or call a model"),
    };
    let what = format!("the job cannot be run in shards: its stage `{}` {why}", stage.id);
    let told = (what, hint.to_owned());
    Err(job_error(plan.checked, NOT_IN_SHARDS, "models".to_owned(), told))
}

#[cfg(test)]
mod tests {
    use super::{ShardCount, StreamedParts, cut};

    #[test]
    fn pieces_are_cut_into_shards_without_loss() {
        for pieces in [vec![], vec![5], vec![1, 1, 1, 300, 2, 40], vec![10; 20]] {
            for count in [1, 2, 3, 7, 30].map(ShardCount::Shards) {
                let shards = cut(&pieces, &count);
                let (mut row, mut piece) = (0, 0);
                for shard in &shards {
                    assert_eq!((shard.first_row, shard.first_piece), (row, piece));
                    row += shard.rows;
                    piece += shard.pieces;
                }
                assert_eq!((row, piece), (pieces.iter().sum(), pieces.len()), "{count:?}");
            }
        }
        let rows: Vec<u64> = cut(&[10; 6], &ShardCount::Rows(20)).iter().map(|s| s.rows).collect();
        assert_eq!(rows, [20, 20, 20]);
        let parts = StreamedParts { columns: "".into(), rows: vec![7, 0, 5] };
        let shards = cut(&[], &ShardCount::Parts(parts));
        let ranges: Vec<(u64, u64)> = shards.iter().map(|s| (s.first_row, s.rows)).collect();
        assert_eq!(ranges, [(0, 7), (7, 0), (7, 5)]);
    }
}
