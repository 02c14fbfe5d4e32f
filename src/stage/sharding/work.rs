//! `cfaudit worker`: runs the stages over the rows of one shard, from files or a stream, up to the
//! states of one pass.

use std::io::Read;

use crate::error::{Error, Result};
use crate::exec::accumulator::Accumulator;
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer};
use crate::exec::folder::ScratchFolder;
use crate::exec::pieces::keep_freed_memory;
use crate::exec::{ExecSettings, StageRecord, files};
use crate::job::check::CheckedJob;
use crate::param::worded_enum;
use crate::stage::input::copied_rows::CopiedRows;
use crate::stage::input::digest::{FileHashes, part_of_stream};
use crate::stage::input::{self, AbsentDataSet};
use crate::stage::job_place::with_place;
use crate::stage::plan::StagePlan;
use crate::stage::run_resources::{open_store, open_workers};
use crate::stage::settings::RunSettings;
use crate::stage::sharding::plan::OpenPlan;
use crate::stage::sharding::shard_rows;
use crate::stage::sharding::share::{
    INPUTS, MergedRun, MergedStates, RowShare, ShardPass, ShardTask, is_asked, states_text,
};
use crate::stage::sharding::state;
use crate::stage::sharding::stream::StreamCopy;
use crate::unit::StageKind;

worded_enum! {
    /// What a worker did.
    WorkOutcome {
        /// It wrote the states of the shard.
        Written = "written",
        /// They existed already, and are valid.
        AlreadyThere = "already there",
        /// No stage asks for the pass, or not for the rows of the shard: the states are empty.
        NothingToDo = "nothing to do",
    }
}

/// There is no observer of the stages of a worker: its scheduler reads one line at the end.
struct SilentObserver;

impl Observer for SilentObserver {
    fn on(&self, _: &Event) {}
}

/// One run of a worker: a pass over a shard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PassOfShard<'a> {
    /// The plan.
    pub(crate) plan: &'a OpenPlan,
    /// Its job.
    pub(crate) checked: &'a CheckedJob,
    /// How the worker runs.
    pub(crate) settings: &'a RunSettings,
    /// The pass.
    pub(crate) pass: ShardPass,
    /// The number of the shard.
    pub(crate) shard: usize,
    /// Tells the worker to stop.
    pub(crate) cancel: &'a CancelFlag,
}

/// Gathers the states of a shard in a pass, and writes them into the plan. What it did, and the
/// bytes of the file of states.
///
/// # Errors
/// As those of a run; an earlier pass is not merged; the plan has no such shard, or is one of
/// streams.
pub(crate) fn work(task: PassOfShard<'_>) -> Result<(WorkOutcome, u64)> {
    let PassOfShard { plan, pass, shard, .. } = task;
    task.check(false)?;
    let name = plan.part_file(pass, shard);
    if let Ok(Some(read)) = state::read(&plan.folder, &name)
        && plan.check_header(&plan.folder.path(&name), &read.header, (pass, Some(shard))).is_ok()
    {
        return Ok((WorkOutcome::AlreadyThere, read.bytes));
    }
    plan.folder.tidy(std::slice::from_ref(&name));
    let found = task.states(None)?;
    let states = found.as_deref().unwrap_or_default().as_bytes();
    let bytes = state::encoded(plan.header(pass, Some(shard)), states)?;
    let size = bytes.len() as u64;
    plan.folder.write(&name, bytes)?;
    let done = if found.is_some() { WorkOutcome::Written } else { WorkOutcome::NothingToDo };
    Ok((done, size))
}

/// As [`work`], for rows that an engine passes on; returns the bytes of the file of states, which
/// the engine carries to the plan. Where no stage asks for the pass, no row is read.
///
/// # Errors
/// As [`work`]; the stream is not what the plan says.
pub(crate) fn work_on_stream(task: PassOfShard<'_>, source: &mut dyn Read) -> Result<Vec<u8>> {
    let plan = task.plan;
    task.check(true)?;
    let states = task.states(Some(source))?.unwrap_or_default();
    let header = plan.header(task.pass, Some(task.shard));
    state::encoded(header, states.as_bytes())
}

impl PassOfShard<'_> {
    /// Fails where the plan has no such shard, or its rows come in another way.
    fn check(&self, streams: bool) -> Result<()> {
        self.plan.shard(self.shard)?;
        let (cause, hint) = match (self.plan.columns().is_some(), streams) {
            (true, false) => (
                "its rows come as streams",
                "pass the rows of the shard to standard input, with `--stream`",
            ),
            (false, true) => ("its rows are in files", "leave out `--stream`"),
            _ => return Ok(()),
        };
        Err(Error::operator("use", self.plan.folder.root(), cause, hint))
    }

    /// The states; none where no stage asks for the pass.
    fn states(&self, stream: Option<&mut dyn Read>) -> Result<Option<String>> {
        let PassOfShard { plan, pass, shard, .. } = *self;
        let until = if pass.is_always_asked() { Some(pass.until()) } else { self.asked_until()? };
        let Some(until) = until else { return Ok(None) };
        let (of, merged) = (plan.shard(shard)?, plan.merged_before(Some(pass))?);
        let copy = stream.map(|source| self.copied(source, &merged)).transpose()?;
        let mut states = String::new();
        if pass == ShardPass::Survey {
            let mut hashes = self.hash_files()?;
            if let Some(copy) = &copy {
                let part = part_of_stream(self.stream_name(), shard);
                hashes.0.insert(part, copy.sha256.clone());
            }
            states = states_text(INPUTS, vec![(0, hashes)])?;
        }
        let pieces = match &copy {
            Some(_) => 0..usize::MAX,
            None => of.first_piece..of.first_piece + of.pieces,
        };
        let task = ShardTask { plan: plan.id.clone(), shard, pieces, pass, merged };
        let rows =
            copy.as_ref().map(|copy| CopiedRows { path: copy.path(), first_row: of.first_row });
        keep_freed_memory();
        states.push_str(&self.run((&RowShare::Shard(task), until), rows.as_ref())?.0);
        Ok(Some(states))
    }

    /// What the manifest calls rows that come as streams.
    fn stream_name(&self) -> &str {
        self.checked.job.data.rows.stream.as_deref().unwrap_or_default()
    }

    /// The rows of a stream, which are those of the plan and of earlier passes.
    fn copied(&self, source: &mut dyn Read, merged: &MergedStates) -> Result<StreamCopy> {
        let name = format!("part {} of `{}`", self.shard, self.stream_name());
        let copy = StreamCopy::take(source, &name, self.settings, self.cancel)?;
        let columns = self.plan.columns().map(|columns| columns.path).unwrap_or_default();
        let surveyed = match self.pass {
            ShardPass::Survey => None,
            _ => merged.file_hashes()?.0.remove(&part_of_stream(self.stream_name(), self.shard)),
        };
        let planned = (columns.as_path(), self.plan.shard(self.shard)?.rows);
        copy.check(&name, planned, surveyed.as_ref())?;
        Ok(copy)
    }

    /// The hashes of the files that are the shard's to find.
    fn hash_files(&self) -> Result<FileHashes> {
        let (files, mut found) = (&self.plan.plan.files, FileHashes::default());
        let hash = |i: usize| files[i].hash_in(self.shard, self.cancel);
        open_workers(self.settings)?.map(files.len(), hash, |_, hashes| {
            found.merge(hashes);
            Ok::<_, Error>(())
        })?;
        Ok(found)
    }

    /// The last kind of stage that asks for the pass, as far as the states of earlier passes show;
    /// none where no stage does.
    fn asked_until(&self) -> Result<Option<StageKind>> {
        let share = RowShare::Merged(MergedRun {
            plan: self.plan.id.clone(),
            folder: self.plan.folder.clone(),
            merged: self.plan.merged_before(Some(self.pass))?,
            question: Some(self.pass),
        });
        let of = (&share, self.pass.until());
        self.run(of, self.plan.columns().as_ref()).map(|(_, asked)| asked)
    }

    /// Runs the stages of the pass up to a kind over a share of the rows.
    fn run(
        &self,
        (share, until): (&RowShare, StageKind),
        rows: Option<&CopiedRows>,
    ) -> Result<PassRun> {
        let PassOfShard { plan, checked, settings, pass, cancel, .. } = *self;
        let look = || {
            let scratch = settings.cache.is_none().then(ScratchFolder::of_system).transpose()?;
            let (store, workers) =
                (open_store(&checked.job, settings, scratch.as_ref())?, open_workers(settings)?);
            let found = (plan.digests(share)?, &workers);
            let absent = (AbsentDataSet::Download, rows);
            let input = input::locate(checked, settings, absent, found, cancel)?;
            let stages =
                StagePlan::new(checked, settings, &input, &workers, "", &store.view(), share)?;
            stages.check_sum_memory()?;
            let options = ExecSettings { until: Some(until.word()), ..stages.exec_settings() };
            let planned = stages.stages()?;
            let records =
                crate::exec::run(&planned.stages, &store, &options, &SilentObserver, cancel)?;
            if let RowShare::Shard(task) = share {
                shard_rows::keep(&records, task.shard, &plan.folder)?;
            }
            let asked = records.iter().filter(|record| is_asked(&record.folder));
            let asked = asked.filter_map(|record| record.kind.parse().ok()).max();
            Ok((states_of(&records, pass)?, asked))
        };
        look().map_err(|error| with_place(error, checked))
    }
}

/// What a run over a share of the rows gave: the states of the pass, and the last kind of stage
/// that asked for it where that was the question.
type PassRun = (String, Option<StageKind>);

/// The states that stages left for a pass.
fn states_of(records: &[StageRecord], pass: ShardPass) -> Result<String> {
    let mut text = String::new();
    for record in records {
        let path = record.folder.join(pass.file());
        if path.exists() {
            text.push_str(&files::read_text(&path)?);
        }
    }
    Ok(text)
}

/// The share of a run that is made from the merged states of a plan.
///
/// # Errors
/// The plan is of another job; a pass that every job has is not merged.
pub(crate) fn merged_run(plan: &OpenPlan, checked: &CheckedJob) -> Result<RowShare> {
    if plan.plan.job != checked.hash {
        let cause = format!(
            "it was made for another job: the hash of the resolved job is {}, and that of the \
             plan {}",
            checked.hash, plan.plan.job
        );
        let hint = "name the job that was planned, with the same `--set`, or plan again";
        return Err(Error::operator("use", plan.folder.root(), cause, hint));
    }
    let merged = plan.merged_before(None)?;
    for &pass in ShardPass::ALL.iter().filter(|pass| pass.is_always_asked()) {
        if !merged.has(pass) {
            let path = plan.folder.path(&plan.merged_file(pass));
            let hint = format!("run `cfaudit merge` of the pass `{}` first", pass.word());
            return Err(Error::operator("read", &path, "it is not there", hint.as_str()));
        }
    }
    let (folder, plan, question) = (plan.folder.clone(), plan.id.clone(), None);
    Ok(RowShare::Merged(MergedRun { plan, folder, merged, question }))
}
