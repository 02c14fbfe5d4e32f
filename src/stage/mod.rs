//! Turns a checked job into stages; each reads files, calls one engine, writes files.
//!
//! The stages of a job, in order (`--until`, `--force` take their kinds; `--force` takes any part
//! of an id as well, such as `set=flip`):
//!
//! | kind | ids | what it writes |
//! | --- | --- | --- |
//! | prepare | `source` (CSV, catalog, synthetic), `reference`, `prepare` | rows as numbers, their description, filters, issues |
//! | split | `split` | which rows train, which are audited |
//! | split | `support` (where sets are) | the reference rows by group and value |
//! | split | `labels` (for `check` and `data`) | labels and decisions by group, if the rows show them |
//! | discover | `discover/set=` | the causal graphs of every scenario of a set, and how each moves a row |
//! | train | `train/model=` | one artifact per fold |
//! | fit | `fit/set=/attribute=` | what a strategy learnt, one artifact per fold |
//! | generate | `external/set=/attribute=` (where a program makes them), `generate/set=/attribute=` | counterfactuals |
//! | generate | `kept/set=` (where the job keeps such rows) | the counterfactuals of a set in the user's own terms |
//! | score | `request`, `request/set=` (where scores come in files), `to-score` (where one waits for them) | which rows such a file answers, and these rows |
//! | score | `threshold/model=` (where the job asks for one), `score/model=`, `score/model=/set=/attribute=`, `recheck/model=` | fitted thresholds, one score per row and per counterfactual, rows scored twice |
//! | count | `placebo/set=/attribute=`, `doubt/set=/attribute=`, `count/model=/attribute=`, `flips/model=/attribute=`, `count/model=/set=/attribute=`, `pair` as `count` (where models are compared), `outcomes` | evidence with slices, score metrics and their intervals, outcomes |
//! | measure | `quality/set=/attribute=`, `measure` | quality, the tables |
//! | train, score, count, augment | `train`, `score`, `worlds` and `count` with `repeat=` | a further training of a model, and what is counted by it |
//! | augment | `split/experiment=`, `fit/set=/attribute=/experiment=`, `support/experiment=`, `generate/set=/attribute=/experiment=` | roles and counterfactuals of an experiment |
//! | augment | `generate/set=/attribute=/experiment=/fold=` | counterfactuals of the training rows for a fold |
//! | augment | `train`, `threshold` and `score` with `experiment=/arm=/fold=` | a model and its scores |
//! | augment | `train` and `score` with `experiment=/fold=/predictions=` | what the base model says about the training rows |
//! | augment | `count` and `pair` as above, with `experiment=/arm=` | evidence of an arm, of all folds and of each, and of an arm with the base |
//! | augment | `measure/experiment=`, `selected`, `tables` | tables of an experiment, rows that were chosen, all tables |
//! | recourse | `recourse/attribute=` | subgroups and what they would have to change, with the tables of it |
//! | why | `why/block=` | patterns of who switches |
//! | gate | `hidden/model=/set=/attribute=` (where a set has `sensitivity`), `needed/model=/set=/attribute=` (where it has `necessary`), `baseline` (with a baseline), `gate` | what a hidden cause could do, what rates are without a statement, changes, verdicts |
//! | report | `report` | the whole output folder but for what varies between runs |
//!
//! Each of the [`kinds`] says what it needs and what it is derived from ([`stage_builder`]), so the
//! list of a job grows backwards from `report`. An arm of an experiment is planned by the same
//! stages as the plain audit, in the fields `experiment`, `arm` and `fold` of its unit. A run that
//! waits for scores has the same `report`, which then needs other stages: see [`waiting`]; so has
//! one that ends with counterfactuals and publishes them: see [`rows_only`]. Everything that can
//! make a stage stale is given to its builder as names and values, so that a rerun can say its
//! reason. Nothing here computes a number: formulas live in the engines.

pub(crate) mod applied_set;
pub(crate) mod artifact;
pub(crate) mod count;
pub(crate) mod decided_scores;
pub(crate) mod discover;
pub(crate) mod experiment;
pub(crate) mod gate;
pub(crate) mod generate;
pub(crate) mod hidden_cause;
pub(crate) mod input;
pub(crate) mod job_place;
pub(crate) mod job_warnings;
pub(crate) mod kept_rows;
pub(crate) mod kinds;
mod linear_rates;
pub mod measure;
mod memory;
pub(crate) mod models;
pub(crate) mod necessary_statements;
pub(crate) mod params;
mod pass;
pub(crate) mod plan;
pub(crate) mod population;
pub(crate) mod prepare;
pub(crate) mod preview;
pub(crate) mod program;
pub(crate) mod recourse;
pub(crate) mod report;
pub(crate) mod row_context;
pub(crate) mod row_features;
pub(crate) mod row_inputs;
pub(crate) mod row_parts;
pub(crate) mod rows_only;
pub(crate) mod run_resources;
pub(crate) mod score;
pub(crate) mod selective;
pub mod settings;
pub(crate) mod sharding;
mod stage_builder;
pub(crate) mod train;
pub(crate) mod waiting;
pub(crate) mod why;

use crate::error::{Exit, Result};
use crate::exec::cancel::CancelFlag;
use crate::exec::clean::CleanOutcome;
use crate::exec::event::{Event, Observer};
use crate::exec::folder::{OutputFolder, PublishOutcome};
use crate::exec::result_store::ResultStore;
use crate::exec::{ExecSettings, StageRecord, files};
use crate::folder::manifest::RunSummary;
use crate::folder::read;
use crate::job::check::CheckedJob;
use crate::stage::input::digest::InputDigests;
use crate::stage::input::score_files::AwaitedFile;
use crate::stage::input::{AbsentDataSet, copied_rows};
use crate::stage::job_place::with_place;
use crate::stage::plan::{StagePlan, publishes_rows};
use crate::stage::run_resources::{open_store, open_workers};
use crate::stage::settings::{RunSettings, default_folder};
use crate::stage::sharding::plan::OpenPlan;
use crate::stage::sharding::share::RowShare;
use crate::stage::sharding::work;
use crate::unit::StageKind;

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
    /// What the cache gave up to stay within its limit; none without a limit.
    pub trimmed: Option<CleanOutcome>,
}

/// What varies between runs and lands in the output folder anyway.
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

/// Keeps the cache within its limit. The run has done its work: what goes wrong here is not a
/// failure of it.
fn trim_cache(
    store: &ResultStore,
    settings: &RunSettings,
    cancel: &CancelFlag,
) -> Option<CleanOutcome> {
    settings.cache.as_ref()?;
    let trimmed = store.keep_within(settings.cache_limit?, cancel);
    trimmed.inspect_err(|e| tracing::warn!("{e}")).ok()
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
    files::check_writable(out.parent().unwrap_or(&out))?;
    let claimed = OutputFolder::claim(&out, job.name.as_str(), settings.replace)?;
    // Once the claim has put back what a killed run had moved away.
    settings.baseline.as_deref().map_or(Ok(()), |old| gate::baseline::check_other(old, &out))?;
    if publishes_rows(job, settings) && !settings.replace {
        read::check_no_audit(&out)?;
    }
    // On the disk of the results there is room for them.
    let scratch = settings.cache.is_none().then(|| claimed.scratch()).transpose()?;
    let (store, workers) = (open_store(job, settings, scratch.as_ref())?, open_workers(settings)?);
    let shards = settings.from.as_deref().map(|plan| OpenPlan::open(plan, cancel)).transpose()?;
    let share = match &shards {
        None => RowShare::All,
        Some(shards) => work::merged_run(shards, checked)?,
    };
    let digests = match &shards {
        None => InputDigests::load(&store.view(), settings.rehash),
        Some(shards) => shards.digests(&share)?,
    };
    let columns = shards.as_ref().and_then(OpenPlan::columns);
    let copy = copied_rows::copy_rows(checked, settings, &store, observer, cancel)?.or(columns);
    let absent = (AbsentDataSet::Download, copy.as_ref());
    let input = input::locate(checked, settings, absent, (digests, &workers), cancel)?;
    input.digests.save(&store);
    let run_id = report::run_id(checked, &input);
    record.identify(job.name.as_str(), &run_id);
    let plan = StagePlan::new(checked, settings, &input, &workers, &run_id, &store.view(), &share)?;
    plan.check_sum_memory()?;
    let planned = plan.stages()?;
    let stages = &planned.stages;
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
                "stand-in data: `{set}` cannot be obtained; a generated stand-in takes its place; \
                 no number is about real people"
            ),
        });
    }
    input.file_events().iter().for_each(|event| observer.on(event));
    for (at, file) in &input.unwatched {
        observer.on(&Event::Problem {
            code: "unwatched".to_owned(),
            path: file.clone(),
            line: None,
            text: format!(
                "the command `{at}` names `{file}`, but a change of that file will not run it \
                 again: list it under `{at}.watch`"
            ),
        });
    }
    let force = planned.force(settings.force.as_deref());
    let options = ExecSettings { force, ..plan.exec_settings() };
    let stages = crate::exec::run(stages, &store, &options, observer, cancel)?;
    let Some(last) = stages.last().filter(|s| s.kind == StageKind::Report.word()) else {
        let summary = report::unfinished_summary(job, &run_id, &input);
        return Ok(FinishedRun {
            summary,
            published: None,
            stages,
            awaited: input.awaited.clone(),
            trimmed: trim_cache(&store, settings, cancel),
        });
    };
    waiting::hand_out(&stages, job, cancel)?;
    let mut summary = read::read_summary(&last.folder)?;
    for event in
        report::warning_events(&last.folder)?.iter().chain(&report::gate_events(&last.folder)?)
    {
        observer.on(event);
    }
    let extras = report::extras(&stages, settings, record);
    let published = claimed.publish(&last.folder, &extras, cancel)?;
    // That scores are awaited is not a verdict of a gate.
    if settings.gates_report_only && summary.exit == Exit::GateFailed.code() {
        summary.exit = Exit::Done.code();
    }
    summary.out = Some(out.to_string_lossy().into_owned());
    let (awaited, trimmed) = (input.awaited.clone(), trim_cache(&store, settings, cancel));
    Ok(FinishedRun { summary, published: Some(published), stages, awaited, trimmed })
}
