//! The spine: turns a checked job into stages; each reads files, calls one engine, writes files.
//!
//! The stages of a job, in order (`--until`, `--force` take their kinds):
//!
//! | kind | ids | what it writes |
//! | --- | --- | --- |
//! | prepare | `prepare/source` (CSV, catalog, synthetic), `prepare/reference`, `prepare` | rows as numbers, their description, filters, issues |
//! | split | `split` | which rows train, which are audited |
//! | discover | `discover/SET` | the causal graphs of every scenario of a set, and how each moves a row |
//! | train | `train/MODEL` | one artifact per fold |
//! | fit | `fit/SET/ATTRIBUTE` | what a strategy learnt, one artifact per fold |
//! | generate | `generate/SET/ATTRIBUTE` | counterfactuals |
//! | score | `request/factual`, `request/SET` (where scores come in files) | which rows such a file answers |
//! | score | `threshold/MODEL` (where the job asks for one), `score/MODEL`, `score/MODEL/SET/ATTRIBUTE` | fitted thresholds, one score per row and per counterfactual |
//! | count | `placebo/SET/ATTRIBUTE`, `count/MODEL/ATTRIBUTE`, `flips/MODEL/ATTRIBUTE`, `slice/MODEL/ATTRIBUTE`, `count/MODEL/SET/ATTRIBUTE`, `slice/MODEL/SET/ATTRIBUTE`, `count/outcomes` | evidence, outcomes |
//! | measure | `measure/SET/ATTRIBUTE` (quality), `measure/MODEL/SET/ATTRIBUTE` (score metrics), `measure` | distances of scores with their intervals, the tables |
//! | augment | `augment/NAME/split`, `augment/NAME/fit/ATTRIBUTE`, `augment/NAME/generate/ATTRIBUTE` | roles and counterfactuals of an experiment |
//! | augment | `augment/NAME/fold-K/worlds/ATTRIBUTE` | counterfactuals of the rows that train for a fold |
//! | augment | `augment/NAME/fold-K/ARM/train`, `.../score`, `.../score/ATTRIBUTE` | a model and its scores |
//! | augment | `augment/NAME/fold-K/predict`, `.../inner`, `.../inner/predict` | what the base model says of the rows that train |
//! | augment | `augment/NAME/ARM`, `augment/NAME`, `selected`, `augment` | evidence of an arm, tables of an experiment, rows that were chosen, all tables |
//! | recourse | `recourse/ATTRIBUTE` | subgroups and what they would have to change, with the tables of it |
//! | gate | `gate/baseline` (with a baseline), `gate` | changes, verdicts |
//! | report | `report` | the whole output folder but for what varies between runs |
//!
//! A run that waits for scores has other stages after `generate`: see [`waiting`].
//!
//! [`plan`] lists the stages of a job, the file or folder of its kind builds each of them; what
//! makes one stale is listed where it is built, as names and values, so that a rerun can say its
//! reason. Nothing here computes a number: formulas live in the engines.

mod advice;
pub mod count;
pub mod discover;
pub mod experiment;
pub(crate) mod gate;
pub mod generate;
mod id;
pub mod input;
pub mod measure;
mod memory;
pub mod plan;
pub mod prepare;
pub mod preview;
pub mod recourse;
pub mod report;
pub mod results;
pub mod score;
pub mod train;
pub mod waiting;

use std::path::{Path, PathBuf};

use crate::data::prepare::derive::Derivation;
use crate::error::{Error, Exit, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::event::{Event, Observer};
use crate::exec::folder::{OutputFolder, PublishOutcome, ScratchFolder};
use crate::exec::pieces::WorkerPool;
use crate::exec::store::ResultStore;
use crate::exec::{ExecSettings, StageRecord};
use crate::folder::manifest::RunSummary;
use crate::job::check::CheckedJob;
use crate::job::{self, Job};
use crate::param::ColumnName;
use crate::stage::input::{AbsentDataSet, AwaitedFile};
use crate::stage::plan::StagePlan;

/// All kinds of stages, in order; engines that come later keep their place in it.
pub const KINDS: &[&str] = &[
    "prepare", "split", "discover", "train", "fit", "generate", "score", "count", "measure",
    "augment", "recourse", "gate", "report",
];

/// The fingerprint of the program ([`crate::exec::program`]): results of another one are never
/// read, so nobody has to remember to raise a version. It stands in the keys of stages and in
/// `run.json`, and in no other file of an output folder.
pub const CODE: &str = env!("CFAUDIT_PROGRAM");

/// How a job is run; nothing here changes a number.
#[derive(Debug, Clone)]
pub struct RunSettings {
    /// The job file as the user named it.
    pub job_file: String,
    /// The output folder; none: `outputs/<name of the job>`.
    pub out: Option<PathBuf>,
    /// The cache; none: a temporary one.
    pub cache: Option<PathBuf>,
    /// Where public data sets are looked for and kept.
    pub data_dir: PathBuf,
    /// Number of threads.
    pub threads: usize,
    /// Memory to stay within, in bytes; none: rows in flight are not cut down, and training may
    /// take half of what there is.
    pub memory: Option<u64>,
    /// Rows of a row group, a multiple of [`crate::table::file::BLOCK_ROWS`].
    pub batch_rows: Option<usize>,
    /// Stop after stages of this kind.
    pub until: Option<String>,
    /// Run this stage again.
    pub force: Option<String>,
    /// The output folder of an earlier run that this one is compared with.
    pub baseline: Option<PathBuf>,
    /// Whether the exit status is 0 whatever the gates say.
    pub gates_report_only: bool,
    /// Whether a folder of another job may be replaced.
    pub replace: bool,
}

/// What a run did.
#[derive(Debug, Clone)]
pub struct FinishedRun {
    /// The summary, with `out`.
    pub summary: RunSummary,
    /// What publishing did; none where the run stopped before the report.
    pub published: Option<PublishOutcome>,
    /// The stages.
    pub stages: Vec<StageRecord>,
    /// The files of scores that were not there; nothing was measured where there is one.
    pub awaited: Vec<AwaitedFile>,
}

/// What varies between runs and lands in the output folder all the same.
pub trait RunRecord {
    /// Names job and run for the log lines from here on.
    fn identify(&self, job: &str, run: &str);

    /// The lines of `logs/run.jsonl` so far.
    fn log_lines(&self) -> Vec<u8>;
}

/// Runs a job from its checked form to the published folder.
///
/// # Errors
/// Everything that can be wrong with data, scores, disks; the output folder is then as it was
/// before.
pub fn run(
    checked: &CheckedJob,
    settings: &RunSettings,
    observer: &dyn Observer,
    record: &dyn RunRecord,
    cancel: &CancelFlag,
) -> Result<FinishedRun> {
    run_stages(checked, settings, observer, record, cancel)
        .map_err(|error| with_place(error, checked))
}

fn run_stages(
    checked: &CheckedJob,
    settings: &RunSettings,
    observer: &dyn Observer,
    record: &dyn RunRecord,
    cancel: &CancelFlag,
) -> Result<FinishedRun> {
    let job = &checked.job;
    let out = settings.out.clone().unwrap_or_else(|| default_folder(job));
    let claimed = OutputFolder::claim(&out, job.name.as_str(), settings.replace)?;
    // On the disk of the results there is room for them.
    let scratch = settings.cache.is_none().then(|| claimed.scratch()).transpose()?;
    let (store, workers) = (open_store(job, settings, scratch.as_ref())?, open_workers(settings)?);
    let input = input::locate(checked, settings, AbsentDataSet::Download, cancel)?;
    let run_id = report::run_id(checked, &input);
    record.identify(job.name.as_str(), &run_id);
    let plan = StagePlan::new(checked, settings, &input, &workers, &run_id, &store.view())?;
    plan.check_sum_memory(None)?;
    let stages = plan.stages();
    observer.on(&Event::RunStart {
        job: job.name.to_string(),
        run: run_id.clone(),
        total: stages.len() as u64,
    });
    if let Some(set) = &input.stand_in {
        observer.on(&Event::Problem {
            code: "stand-in".to_owned(),
            path: set.clone(),
            line: None,
            text: format!(
                "stand-in data: `{set}` is not to be had, its generated stand-in takes its place; \
                 no number is about real people"
            ),
        });
    }
    input.file_events().iter().for_each(|event| observer.on(event));
    for (model, file) in &input.unwatched {
        let hint =
            format!("list it under `{}`", job::check::path(&["models", model, "command", "watch"]));
        observer.on(&Event::Problem {
            code: "unwatched".to_owned(),
            path: file.clone(),
            line: None,
            text: format!(
                "the command of model `{model}` names `{file}`, and a change of that \
                 file will not run it again: {hint}"
            ),
        });
    }
    let options = ExecSettings { force: plan.force(), ..plan.exec_settings() };
    let stages = crate::exec::run(&stages, &store, &options, observer, cancel)?;
    let Some(last) = stages.last().filter(|s| s.kind == "report") else {
        let summary = report::unfinished_summary(job, &run_id, &input);
        return Ok(FinishedRun {
            summary,
            published: None,
            stages,
            awaited: input.awaited.clone(),
        });
    };
    let mut summary = report::read_summary(&last.folder)?;
    for event in
        report::warning_events(&last.folder)?.iter().chain(&report::gate_events(&last.folder)?)
    {
        observer.on(event);
    }
    let extras = report::extras(&stages, settings, record);
    let published = claimed.publish(&last.folder, &extras, cancel)?;
    // That scores are awaited is no verdict of a gate.
    if settings.gates_report_only && summary.exit == Exit::GateCrossed.code() {
        summary.exit = Exit::Done.code();
    }
    summary.out = Some(out.to_string_lossy().into_owned());
    Ok(FinishedRun { summary, published: Some(published), stages, awaited: input.awaited.clone() })
}

/// A fault of the data with the line of the job that asks for the column or file it is about.
fn with_place(error: Error, checked: &CheckedJob) -> Error {
    let Error::Data(fault) = &error else { return error };
    let path = match (fault.code, &fault.column) {
        ("hidden-column", Some(column)) => derivation_path(&checked.job, column),
        ("missing-scores", _) => Some("models".to_owned()),
        (_, Some(column)) => column_path(&checked.job, column),
        ("no-rows", None) => Some("data.keep".to_owned()),
        ("no-audit-rows" | "too-many-folds" | "one-class", None) => Some("data.split".to_owned()),
        (_, None) => Some("data.rows".to_owned()),
    };
    error.asked_at(path.and_then(|p| checked.places.at(&p)).filter(|p| p.line > 0))
}

/// The path of a derived column.
fn derivation_path(job: &Job, column: &str) -> Option<String> {
    let declared = job.data.derive.keys().any(|name| name.as_str() == column);
    Some(job::check::path(&["data", if declared { "derive" } else { "sensitive" }, column]))
}

/// The path of the first part of the job that names a column of the rows.
fn column_path(job: &Job, column: &str) -> Option<String> {
    let data = &job.data;
    let is = |name: &ColumnName| name.as_str() == column;
    let path = |keys: &[&str]| Some(job::check::path(keys));
    if data.row_id.as_ref().is_some_and(is) {
        return path(&["data", "row_id"]);
    }
    if data.label.column().is_some_and(|l| is(&l.column)) {
        return path(&["data", "label", "column"]);
    }
    if data.weight.as_ref().is_some_and(is) {
        return path(&["data", "weight"]);
    }
    if let Some((name, _)) = data
        .sensitive
        .iter()
        .find(|(name, s)| is(data.column_of(name)) || s.from.as_ref().is_some_and(is))
    {
        return path(&["data", "sensitive", name.as_str()]);
    }
    let made_of = |d: &Derivation| d.from.iter().chain(d.cross.iter().flatten()).any(is);
    if let Some((name, _)) =
        data.derive.iter().find(|(name, derivation)| is(name) || made_of(derivation))
    {
        return path(&["data", "derive", name.as_str()]);
    }
    let features = &data.features;
    for (kind, names) in [("continuous", &features.continuous), ("nominal", &features.nominal)] {
        if let Some(i) = names.iter().position(is) {
            return path(&["data", "features", kind]).map(|p| format!("{p}[{i}]"));
        }
    }
    if let Some((name, _)) = features.onehot.iter().find(|(_, columns)| columns.iter().any(is)) {
        return path(&["data", "features", "onehot", name.as_str()]);
    }
    if features.ordinal.keys().any(is) {
        return path(&["data", "features", "ordinal", column]);
    }
    if let Some(i) = data.keep.iter().position(|step| step.keys().any(is)) {
        return Some(format!("data.keep[{i}]"));
    }
    if data.split.as_ref().and_then(|s| s.column.as_ref()).is_some_and(is) {
        return path(&["data", "split", "column"]);
    }
    if job.strata().is_some_and(is) {
        return path(&["metrics", "clarify", "strata"]);
    }
    if let Some(i) = job.metrics.by.iter().position(is) {
        return Some(format!("metrics.by[{i}]"));
    }
    job.models.iter().find_map(|(name, model)| match (model.threshold.column(), &model.scores) {
        (Some(column), _) if is(column) => path(&["models", name.as_str(), "threshold"]),
        (_, Some(_)) => path(&["models", name.as_str(), "scores"]),
        _ => None,
    })
}

/// The output folder of a job that is given no other.
pub fn default_folder(job: &Job) -> PathBuf {
    Path::new("outputs").join(job.name.as_str())
}

/// The cache, or with `--cache off` a store in a folder that goes when the run ends.
fn open_store(
    job: &Job,
    settings: &RunSettings,
    scratch: Option<&ScratchFolder>,
) -> Result<ResultStore> {
    let root = settings.cache.as_deref().or(scratch.map(ScratchFolder::path));
    let store = ResultStore::open(root.unwrap_or(Path::new("outputs/.cache")))?;
    if job
        .models
        .values()
        .filter_map(|model| model.command.as_ref())
        .any(|command| !command.pass_env.is_empty())
    {
        store.make_secret()?;
    }
    Ok(store)
}

fn open_workers(settings: &RunSettings) -> Result<WorkerPool> {
    WorkerPool::new(settings.threads)
        .map_err(|cause| Error::operator("start", "threads", cause, "ask for fewer with --threads"))
}
