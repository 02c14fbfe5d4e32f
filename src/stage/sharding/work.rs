//! `cfaudit worker`: the stages of a run over the rows of one shard, up to the states of one pass.

use crate::error::{Error, Result};
use crate::exec::accumulator::Accumulator;
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer};
use crate::exec::folder::ScratchFolder;
use crate::exec::{ExecSettings, StageRecord, files};
use crate::job::check::CheckedJob;
use crate::stage::input::digest::{FileHashes, PlannedFile};
use crate::stage::input::{self, AbsentDataSet};
use crate::stage::open::{open_store, open_workers, with_place};
use crate::stage::plan::StagePlan;
use crate::stage::settings::RunSettings;
use crate::stage::sharding::plan::OpenPlan;
use crate::stage::sharding::share::{
    INPUTS, MergedRun, PassQuestion, RowShare, ShardPass, ShardTask, states_text,
};
use crate::stage::sharding::state::{self, StateHeader};

/// What a worker did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkOutcome {
    /// It wrote the states of the shard.
    Written,
    /// They were there already, and sound.
    AlreadyThere,
    /// No stage asks for the pass: the states are empty.
    NothingToDo,
}

impl WorkOutcome {
    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            WorkOutcome::Written => "written",
            WorkOutcome::AlreadyThere => "already there",
            WorkOutcome::NothingToDo => "nothing to do",
        }
    }
}

/// Nobody listens to the stages of a worker: its scheduler reads one line at the end.
struct SilentObserver;

impl Observer for SilentObserver {
    fn on(&self, _: &Event) {}
}

/// Gathers the states of a shard in a pass.
///
/// # Errors
/// As those of a run; an earlier pass is not merged; the plan has no such shard.
pub(crate) fn work(
    plan: &OpenPlan,
    checked: &CheckedJob,
    settings: &RunSettings,
    (pass, shard): (ShardPass, usize),
    cancel: &CancelFlag,
) -> Result<WorkOutcome> {
    let Some(of) = plan.plan.shards.get(shard) else {
        let cause = format!(
            "it has {} shards, numbered from 0, and none has the number {shard}",
            plan.plan.shards.len()
        );
        return Err(Error::operator("use", &plan.folder, cause, "correct `--shard`"));
    };
    let path = plan.part_file(pass, shard);
    if let Ok(Some((header, _))) = state::read(&path)
        && plan.check_header(&path, &header, (pass, Some(shard))).is_ok()
    {
        return Ok(WorkOutcome::AlreadyThere);
    }
    let run = |share: RowShare| run_pass(plan, checked, settings, &share, pass, cancel);
    let mut header = StateHeader::new(&plan.id, pass.word(), (Some(shard), plan.plan.shards.len()));
    (header.first_row, header.rows) = plan.rows_of(Some(shard));
    files::make_folder(path.parent().unwrap_or(&plan.folder))?;
    if !pass.is_always_asked() && !is_asked(plan, pass, &run)? {
        state::write(&path, header, &[])?;
        return Ok(WorkOutcome::NothingToDo);
    }
    let task = ShardTask {
        plan: plan.id.clone(),
        shard,
        pieces: of.first_piece..of.first_piece + of.pieces,
        pass,
        merged: plan.merged_before(Some(pass))?,
    };
    let mut states = String::new();
    if pass == ShardPass::Survey {
        let hashes = hash_files(&plan.plan.files, shard, settings, cancel)?;
        states = states_text(INPUTS, vec![(0, hashes)])?;
    }
    states.push_str(&run(RowShare::Shard(task))?.0);
    state::write(&path, header, states.as_bytes())?;
    Ok(WorkOutcome::Written)
}

/// The hashes of the files that are a shard's to find.
fn hash_files(
    files: &[PlannedFile],
    shard: usize,
    settings: &RunSettings,
    cancel: &CancelFlag,
) -> Result<FileHashes> {
    let mut found = FileHashes::default();
    let hash = |i: usize| files[i].hash_in(shard, cancel);
    open_workers(settings)?.map(files.len(), hash, |_, hashes| {
        found.merge(hashes);
        Ok::<_, Error>(())
    })?;
    Ok(found)
}

/// What a run over a share of the rows gave: the states of the pass, and whether a stage asked for
/// it where that was the question.
type PassRun = (String, bool);

/// Whether any stage asks for a pass, as far as the states of earlier passes tell.
fn is_asked(
    plan: &OpenPlan,
    pass: ShardPass,
    run: &dyn Fn(RowShare) -> Result<PassRun>,
) -> Result<bool> {
    let share = RowShare::Merged(MergedRun {
        plan: plan.id.clone(),
        merged: plan.merged_before(Some(pass))?,
        question: Some(PassQuestion::new(pass)),
    });
    run(share).map(|(_, asked)| asked)
}

/// Runs the stages of a pass over a share of the rows.
fn run_pass(
    plan: &OpenPlan,
    checked: &CheckedJob,
    settings: &RunSettings,
    share: &RowShare,
    pass: ShardPass,
    cancel: &CancelFlag,
) -> Result<PassRun> {
    let look = || {
        let scratch = settings.cache.is_none().then(ScratchFolder::of_system).transpose()?;
        let (store, workers) =
            (open_store(&checked.job, settings, scratch.as_ref())?, open_workers(settings)?);
        let found = (plan.digests(share)?, &workers);
        let absent = (AbsentDataSet::Download, None);
        let input = input::locate(checked, settings, absent, found, cancel)?;
        let stages = StagePlan::new(checked, settings, &input, &workers, "", &store.view(), share)?;
        stages.check_sum_memory(None)?;
        let options = ExecSettings { until: Some(pass.until().word()), ..stages.exec_settings() };
        let planned = stages.stages()?;
        let records = crate::exec::run(&planned.stages, &store, &options, &SilentObserver, cancel)?;
        let asked = match share {
            RowShare::Merged(run) => run.question.as_ref().is_some_and(PassQuestion::is_asked),
            RowShare::All | RowShare::Shard(_) => true,
        };
        Ok((states_of(&records, pass)?, asked))
    };
    look().map_err(|error| with_place(error, checked))
}

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
        return Err(Error::operator("use", &plan.folder, cause, hint));
    }
    for &pass in ShardPass::ALL.iter().filter(|pass| pass.is_always_asked()) {
        let path = plan.merged_file(pass);
        if !path.exists() {
            let hint = format!("run `cfaudit merge` of the pass `{}` first", pass.word());
            return Err(Error::operator("read", &path, "it is not there", hint.as_str()));
        }
    }
    let merged = plan.merged_before(None)?;
    let (plan, question) = (plan.id.clone(), None);
    Ok(RowShare::Merged(MergedRun { plan, merged, question }))
}
