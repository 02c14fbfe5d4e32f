//! The spine: turns a checked job into stages; each reads files, calls one engine, writes files.
//!
//! The stages of a job, in order (`--until`, `--force` take their kinds):
//!
//! | kind | ids | what it writes |
//! | --- | --- | --- |
//! | prepare | `prepare/source` (CSV, catalog, synthetic), `prepare` | rows as numbers, their description, filters, issues |
//! | split | `split` | which rows train, which are audited |
//! | train | `train/MODEL` | one artifact per fold |
//! | generate | `generate/SET/ATTRIBUTE` | counterfactuals |
//! | score | `score/MODEL`, `score/MODEL/SET/ATTRIBUTE` | one score per row and per counterfactual |
//! | count | `count/MODEL/ATTRIBUTE`, `count/MODEL/SET/ATTRIBUTE`, `count/outcomes` | evidence, outcomes |
//! | measure | `measure/MODEL/SET/ATTRIBUTE` (score metrics), `measure` | distances of scores with their intervals, the tables |
//! | gate | `gate` | verdicts |
//! | report | `report` | the whole output folder but for what varies between runs |
//!
//! A run that waits for scores has other stages after `generate`: see [`waiting`].
//!
//! What makes a stage stale is listed where it is built, as names and values, so that a rerun can say its reason. Nothing here
//! computes a number: formulas live in the engines.

pub mod commands;
pub mod counting;
pub mod folder;
pub mod inputs;
pub mod joining;
pub mod look;
pub mod measuring;
pub mod redrawing;
pub mod stamp;
pub mod waiting;
pub mod worlds;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::counterfactual::naive::Naive;
use crate::counterfactual::{Generator, Strategy};
use crate::data::aligned::{CounterfactualReader, ScoreReader};
use crate::data::derive::Derivation;
use crate::data::import;
use crate::data::keyed::KeyedScores;
use crate::data::prepare::{Duplicates, LabelParams, MissingRule, PrepareParams, SensitiveParams, SplitColumn, prepare};
use crate::data::rows::RowsReader;
use crate::data::source::{Source, hides};
use crate::data::split::{self, RolesReader, Rule, Stratify};
use crate::data::training::TrainingRows;
use crate::error::{Error, Exit, Fault, Result};
use crate::exec::cancel::Cancel;
use crate::exec::event::{Event, Observer};
use crate::exec::folder::{OutputFolder, Published};
use crate::exec::store::{Entries, Store};
use crate::exec::{Options, Stage, StageContext, StageRecord, State};
use crate::metric::Family;
use crate::model::logistic::{LogisticModel, LogisticTrainer};
use crate::model::{Decision, Scorer, Trainer};
use crate::param::{ColumnName, Word};
use crate::pipeline::commands::Call;
use crate::pipeline::counting::{Cut, Scored, Threshold};
use crate::pipeline::inputs::{Absent, Awaited, Import, Input};
use crate::pipeline::joining::Recheck;
use crate::pipeline::worlds::Ground;
use crate::spec::check::CheckedJob;
use crate::spec::{self, CounterfactualSet, Job, KeepRows, Model};
use crate::table::io::{BATCH_ROWS, BLOCK_ROWS};
use crate::table::manifest::Summary;
use crate::table::ordered::{Watch, Workers};

/// All kinds of stages, in order; engines that come later keep their place in it.
pub const KINDS: &[&str] = &["prepare", "split", "train", "generate", "score", "count", "measure", "gate", "report"];

/// Raised whenever a stage of this program writes other bytes for the same inputs.
const CODE: &str = concat!("cfaudit ", env!("CARGO_PKG_VERSION"), " stages 6");

/// From this many audited rows on, outcomes are not kept unless the job asks for them.
const KEEP_ROWS_BELOW: u64 = 10_000_000;

/// How a job is run; nothing here changes a number.
#[derive(Debug, Clone)]
pub struct Settings {
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
    /// Memory to stay within, in bytes.
    pub memory: Option<u64>,
    /// Rows of a row group, a multiple of [`BLOCK_ROWS`].
    pub batch_rows: Option<usize>,
    /// Stop after stages of this kind.
    pub until: Option<String>,
    /// Run this stage again.
    pub force: Option<String>,
    /// Whether the exit status is 0 whatever the gates say.
    pub gates_report_only: bool,
    /// Whether a folder of another job may be replaced.
    pub replace: bool,
}

/// What a run did.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The summary, with `out`.
    pub summary: Summary,
    /// What publishing did; none where the run stopped before the report.
    pub published: Option<Published>,
    /// The stages.
    pub stages: Vec<StageRecord>,
    /// The files of scores that were not there; nothing was measured where there is one.
    pub awaited: Vec<Awaited>,
}

/// What varies between runs and lands in the output folder all the same.
pub trait Record {
    /// Names job and run for the log lines from here on.
    fn identify(&self, job: &str, run: &str);

    /// The lines of `logs/run.jsonl` so far.
    fn log_lines(&self) -> Vec<u8>;
}

/// Runs a job from its checked form to the published folder.
///
/// # Errors
/// Everything that can be wrong with data, scores, disks; the output folder is then as it was before.
pub fn run(checked: &CheckedJob, settings: &Settings, observer: &dyn Observer, record: &dyn Record, cancel: &Cancel) -> Result<Finished> {
    run_stages(checked, settings, observer, record, cancel).map_err(|error| with_place(error, checked))
}

fn run_stages(
    checked: &CheckedJob,
    settings: &Settings,
    observer: &dyn Observer,
    record: &dyn Record,
    cancel: &Cancel,
) -> Result<Finished> {
    let job = &checked.job;
    let out = settings.out.clone().unwrap_or_else(|| Path::new("outputs").join(job.name.as_str()));
    let claimed = OutputFolder::claim(&out, job.name.as_str(), settings.replace)?;
    let (store, workers) = (open_store(settings)?, open_workers(settings)?);
    let input = inputs::locate(checked, settings, Absent::Get, cancel)?;
    let run_id = folder::run_id(checked, &input);
    record.identify(job.name.as_str(), &run_id);
    let plan = Plan::new(checked, settings, &input, &workers, &run_id, &store.entries())?;
    let stages = plan.stages();
    observer.on(&Event::RunStart { job: job.name.to_string(), run: run_id.clone(), total: stages.len() as u64 });
    if let Some(set) = &input.stand_in {
        observer.on(&Event::Problem {
            code: "stand-in".to_owned(),
            path: set.clone(),
            line: None,
            text: format!(
                "stand-in data: `{set}` is not to be had, its generated stand-in takes its place; no number is about real people"
            ),
        });
    }
    for (model, file) in &input.unwatched {
        let hint = format!("list it under `models.{model}.command.watch`");
        observer.on(&Event::Problem {
            code: "unwatched".to_owned(),
            path: file.clone(),
            line: None,
            text: format!("the command of model `{model}` names `{file}`, and a change of that file will not run it again: {hint}"),
        });
    }
    let options = Options { force: plan.force(), ..plan.options() };
    let stages = crate::exec::run(&stages, &store, &options, observer, cancel)?;
    let Some(last) = stages.last().filter(|s| s.kind == "report") else {
        let summary = folder::unfinished(job, &run_id, &input);
        return Ok(Finished { summary, published: None, stages, awaited: input.awaited.clone() });
    };
    let mut summary = folder::read_summary(&last.folder)?;
    for event in folder::gate_events(&last.folder)? {
        observer.on(&event);
    }
    let extras = folder::extras(&stages, settings, record);
    let published = claimed.publish(&last.folder, &extras, cancel)?;
    // That scores are awaited is no verdict of a gate.
    if settings.gates_report_only && summary.exit == Exit::GateCrossed.code() {
        summary.exit = Exit::Done.code();
    }
    summary.out = Some(out.to_string_lossy().into_owned());
    Ok(Finished { summary, published: Some(published), stages, awaited: input.awaited.clone() })
}

/// A fault of the data with the line of the job that asks for the column or file it is about.
fn with_place(error: Error, checked: &CheckedJob) -> Error {
    let Error::Data(mut fault) = error else { return error };
    if fault.place.is_none() {
        let path = match (fault.code, &fault.column) {
            ("hidden-column", Some(column)) => deriving(&checked.job, column),
            ("missing-scores", _) => Some("models".to_owned()),
            (_, Some(column)) => asking_for(&checked.job, column),
            ("no-rows", None) => Some("data.keep".to_owned()),
            ("no-audit-rows" | "too-many-folds" | "one-class", None) => Some("data.split".to_owned()),
            (_, None) => Some("data.rows".to_owned()),
        };
        fault.place = path.and_then(|p| checked.places.at(&p).cloned()).filter(|p| p.line > 0);
    }
    Error::Data(fault)
}

/// The path of a derived column.
fn deriving(job: &Job, column: &str) -> Option<String> {
    let declared = job.data.derive.keys().any(|name| name.as_str() == column);
    Some(spec::check::path(&["data", if declared { "derive" } else { "sensitive" }, column]))
}

/// The path of the first part of the job that names a column of the rows.
fn asking_for(job: &Job, column: &str) -> Option<String> {
    let data = &job.data;
    let is = |name: &ColumnName| name.as_str() == column;
    let path = |keys: &[&str]| Some(spec::check::path(keys));
    if data.row_id.as_ref().is_some_and(is) {
        return path(&["data", "row_id"]);
    }
    if data.label.column().is_some_and(|l| is(&l.column)) {
        return path(&["data", "label", "column"]);
    }
    if data.weight.as_ref().is_some_and(is) {
        return path(&["data", "weight"]);
    }
    if let Some((name, _)) = data.sensitive.iter().find(|(name, s)| is(data.column_of(name)) || s.from.as_ref().is_some_and(is)) {
        return path(&["data", "sensitive", name.as_str()]);
    }
    let made_of = |d: &Derivation| d.from.iter().chain(d.cross.iter().flatten()).any(is);
    if let Some((name, _)) = data.derive.iter().find(|(name, derivation)| is(name) || made_of(derivation)) {
        return path(&["data", "derive", name.as_str()]);
    }
    let features = &data.features;
    for (kind, names) in [("continuous", &features.continuous), ("nominal", &features.nominal)] {
        if let Some(i) = names.iter().position(is) {
            return path(&["data", "features", kind]).map(|p| format!("{p}[{i}]"));
        }
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
    job.models.iter().find_map(|(name, model)| match (&model.threshold, &model.scores) {
        (spec::Threshold::Column { column }, _) if is(column) => path(&["models", name.as_str(), "threshold"]),
        (_, Some(_)) => path(&["models", name.as_str(), "scores"]),
        _ => None,
    })
}

fn open_store(settings: &Settings) -> Result<Store> {
    match &settings.cache {
        Some(root) => Store::open(root),
        None => Store::temporary(Path::new("outputs/.cache")),
    }
}

fn open_workers(settings: &Settings) -> Result<Workers> {
    Workers::new(settings.threads).map_err(|cause| Error::Operator {
        path: PathBuf::from("threads"),
        doing: "start".to_owned(),
        cause,
        hint: Some("ask for fewer with --threads".to_owned()),
    })
}

/// Everything the stages of one job share.
struct Plan<'a> {
    checked: &'a CheckedJob,
    job: &'a Job,
    settings: &'a Settings,
    input: &'a Input,
    workers: &'a Workers,
    run_id: &'a str,
    batch_rows: usize,
    /// Whether features travel with the rows and their counterfactuals.
    features: bool,
}

/// One counterfactual set applied to one attribute.
#[derive(Debug, Clone)]
struct World<'a> {
    set: &'a str,
    block: &'a CounterfactualSet,
    attribute: &'a str,
    position: usize,
}

/// The canonical text of a part of the job, for fingerprints.
fn text(part: &impl Serialize) -> String {
    serde_json::to_string(part).unwrap_or_default()
}

impl<'a> Plan<'a> {
    fn new(
        checked: &'a CheckedJob,
        settings: &'a Settings,
        input: &'a Input,
        workers: &'a Workers,
        run_id: &'a str,
        entries: &Entries,
    ) -> Result<Self> {
        let job = &checked.job;
        let batch_rows = settings.batch_rows.unwrap_or_else(|| default_batch_rows(job, settings));
        let mut plan = Plan { checked, job, settings, input, workers, run_id, batch_rows, features: true };
        plan.features = reads_features(job, input) || plan.has_features(entries)?;
        Ok(plan)
    }

    /// Whether rows and counterfactuals with their features are in the cache. A run that waited for scores has left them there: the next
    /// one goes on from them rather than write the rows again without. No result depends on which of the two is read.
    fn has_features(&self, entries: &Entries) -> Result<bool> {
        let planned = crate::exec::plan(&self.measuring_stages(), entries, &Options { until: Some("generate"), ..self.options() })?;
        Ok(planned.iter().all(|stage| matches!(stage.state, State::Cached { .. })))
    }

    fn options(&self) -> Options<'a> {
        Options { job: self.job.name.as_str(), kinds: KINDS, until: self.settings.until.as_deref(), force: None, published: Some("report") }
    }

    /// What preparing needs to know of the job.
    fn prepare_params(&self) -> PrepareParams {
        prepare_params(self.job, self.features)
    }

    fn stage(
        &self,
        id: String,
        kind: &'static str,
        needs: Vec<String>,
        inputs: Vec<(String, String)>,
        run: impl Fn(&StageContext<'_>) -> Result<()> + 'a,
    ) -> Stage<'a> {
        let input = self.input;
        let run = move |ctx: &StageContext<'_>| {
            let done = run(ctx);
            // A file that changed says more than what was wrong with its bytes.
            if matches!(done, Ok(()) | Err(Error::Data(_))) {
                input.unchanged()?;
            }
            done
        };
        Stage { id, kind, code: CODE.to_owned(), needs, inputs, run: Box::new(run) }
    }

    fn worlds(&self) -> Vec<World<'a>> {
        let mut worlds = Vec::new();
        for (name, block) in &self.job.counterfactuals {
            for (position, attribute) in self.job.data.sensitive.keys().enumerate() {
                if block.sensitive.as_ref().is_none_or(|only| only.contains(attribute)) {
                    worlds.push(World { set: name.as_str(), block, attribute: attribute.as_str(), position });
                }
            }
        }
        worlds
    }

    /// Whether a model can score counterfactuals at all: trained ones can, scores made elsewhere where their file is named.
    fn scores_worlds(model: &Model) -> bool {
        model.scores.as_ref().is_none_or(|scores| scores.counterfactual.is_some())
    }

    fn is_written_back(&self, world: &World<'_>) -> bool {
        ColumnName::new(world.attribute).is_some_and(|name| self.job.data.is_written_back(&name))
    }

    fn n_folds(&self) -> usize {
        self.job.data.split.as_ref().and_then(|s| s.folds).map_or(1, |folds| usize::try_from(folds.get()).unwrap_or(usize::MAX))
    }

    /// The stages of this call, in order.
    fn stages(&'a self) -> Vec<Stage<'a>> {
        if self.input.awaited.is_empty() { self.measuring_stages() } else { self.waiting_stages() }
    }

    /// The stage or kind that is to run again. What a run has only once its scores are there is no mistake in one that waits.
    fn force(&self) -> Option<&'a str> {
        let force = self.settings.force.as_deref()?;
        let is = |stage: &Stage<'_>| stage.id == force || stage.kind == force;
        let later = !self.input.awaited.is_empty() && self.measuring_stages().iter().any(is) && !self.stages().iter().any(is);
        (!later).then_some(force)
    }

    /// The stages of a job whose scores are all there.
    fn measuring_stages(&'a self) -> Vec<Stage<'a>> {
        let mut stages = Vec::new();
        let mut evidence = Vec::new();
        stages.extend(self.source_stage());
        stages.push(self.prepare_stage());
        stages.push(self.split_stage());
        for (name, model) in &self.job.models {
            if model.logistic.is_some() {
                stages.push(self.train_stage(name.as_str(), model));
            }
            if let Some(call) = self.call(name.as_str(), model).filter(|c| c.command.train.is_some()) {
                stages.push(self.train_command_stage(call));
            }
        }
        let worlds = self.worlds();
        for world in &worlds {
            stages.push(self.generate_stage(world));
        }
        for (name, model) in &self.job.models {
            stages.push(self.score_stage(name.as_str(), model, None));
            for world in worlds.iter().filter(|_| Self::scores_worlds(model)) {
                stages.push(self.score_stage(name.as_str(), model, Some(world)));
            }
        }
        for (name, model) in &self.job.models {
            for (position, attribute) in self.job.data.sensitive.keys().enumerate() {
                stages.push(self.count_stage(name.as_str(), model, attribute.as_str(), position));
                evidence.push(format!("count/{name}/{attribute}"));
            }
            for world in worlds.iter().filter(|_| Self::scores_worlds(model)) {
                stages.push(self.count_world_stage(name.as_str(), model, world));
                evidence.push(format!("count/{name}/{}/{}", world.set, world.attribute));
            }
        }
        for (name, model) in self.job.models.iter().filter(|(_, m)| self.wants_shift() && Self::scores_worlds(m)) {
            for world in &worlds {
                stages.push(self.second_stage(name.as_str(), model, world));
                evidence.push(world.second(name.as_str()));
            }
        }
        let outcomes = self.outcomes_stage(&worlds);
        let keeps_outcomes = outcomes.is_some();
        stages.extend(outcomes);
        stages.push(self.measure_stage(&evidence));
        stages.push(self.gate_stage());
        stages.push(self.report_stage(keeps_outcomes));
        stages
    }

    fn source_stage(&'a self) -> Option<Stage<'a>> {
        let import = self.input.import.as_ref()?;
        let params = self.prepare_params();
        let made_of = import.fingerprint(&params.columns());
        let run = move |ctx: &StageContext<'_>| {
            let (check, progress) = (|| ctx.check(), |rows| ctx.progress(rows));
            let watch = Watch { check: &check, progress: &progress };
            import.write(&params.columns(), &ctx.out().join(inputs::SOURCE), self.batch_rows, self.workers, watch)
        };
        Some(self.stage("prepare/source".to_owned(), "prepare", Vec::new(), made_of, run))
    }

    fn prepare_stage(&'a self) -> Stage<'a> {
        let params = self.prepare_params();
        let data = &self.job.data;
        let mut made_of = vec![
            ("data.row_id".to_owned(), text(&data.row_id)),
            ("data.keep".to_owned(), text(&data.keep)),
            ("data.derive".to_owned(), text(&params.derive)),
            ("data.duplicates".to_owned(), text(&params.drop_duplicates)),
            ("data.weight".to_owned(), text(&data.weight)),
            ("data.label".to_owned(), text(&data.label)),
            ("data.sensitive".to_owned(), text(&data.sensitive)),
            ("data.features".to_owned(), text(&(&params.continuous, &params.ordinal, &params.nominal))),
            ("data.missing".to_owned(), text(&data.missing)),
            ("data.split".to_owned(), text(&params.split.as_ref().map(|s| (&s.column, &s.train, &s.audit)))),
            ("columns of models".to_owned(), text(&params.carry)),
        ];
        let needs = if self.input.import.is_some() {
            vec!["prepare/source".to_owned()]
        } else {
            let rows = self.input.files.iter().filter(|f| f.what == inputs::DATA);
            made_of.extend(rows.map(|f| (format!("file {}", f.path), f.sha256.clone())));
            Vec::new()
        };
        let run = move |ctx: &StageContext<'_>| {
            let columns = params.columns();
            if let Some(Import::Csv { csv, .. }) = &self.input.import {
                // The imported file lacks what nobody reads.
                for (name, _) in params.derived() {
                    if let Some(file) = import::csv_file_with(csv, name.as_str())? {
                        return Err(hides(name.as_str(), &file).into());
                    }
                }
            }
            let source = match (&self.input.import, &self.input.pattern) {
                (Some(import), _) => Source::imported(&ctx.need("prepare/source").join(inputs::SOURCE), &import.shown_as(), &columns),
                (None, pattern) => Source::parquet(pattern, &columns),
            }?;
            ctx.set_total(params.passes(source.n_rows()) * source.n_rows());
            let (check, progress) = (|| ctx.check(), |rows| ctx.progress(rows));
            let watch = Watch { check: &check, progress: &progress };
            let prepared = prepare(&source, &params, ctx.out(), self.batch_rows, self.workers, watch)?;
            measuring::write_prepared(ctx.out(), &prepared, source.n_rows())
        };
        self.stage("prepare".to_owned(), "prepare", needs, made_of, run)
    }

    fn split_stage(&'a self) -> Stage<'a> {
        let rule = self.split_rule();
        let seeded = matches!(rule, Rule::Share(..) | Rule::Folds(..));
        let seed = self.job.run.seed.0;
        let mut made_of = vec![("data.split".to_owned(), format!("{rule:?}"))];
        if seeded {
            made_of.push(("run.seed".to_owned(), seed.to_string()));
        }
        let run = move |ctx: &StageContext<'_>| {
            let rows = RowsReader::open(ctx.need("prepare"))?;
            let (check, progress) = (|| ctx.check(), |rows| ctx.progress(rows));
            let watch = Watch { check: &check, progress: &progress };
            let roles = split::roles(&rows, rule, seed, self.workers, watch)?;
            roles.write(&ctx.out().join(ROLES), &rows)
        };
        self.stage("split".to_owned(), "split", vec!["prepare".to_owned()], made_of, run)
    }

    fn split_rule(&self) -> Rule {
        let Some(split) = &self.job.data.split else { return Rule::All };
        let by = match split.stratify {
            Some(by) => by,
            None if self.job.data.label.column().is_some() => Stratify::LabelAndGroup,
            None => Stratify::None,
        };
        match (&split.share, split.folds) {
            (Some(share), _) => Rule::Share(share.audit, by),
            (None, Some(folds)) => Rule::Folds(folds.get(), by),
            (None, None) => Rule::Column,
        }
    }

    /// Opens what nearly every stage after the split reads, and hands it to `work`.
    fn on_ground<T>(&self, ctx: &StageContext<'_>, passes: u64, work: impl FnOnce(Ground<'_>) -> Result<T>) -> Result<T> {
        let rows = RowsReader::open(ctx.need("prepare"))?;
        let roles = RolesReader::open(&ctx.need("split").join(ROLES))?;
        ctx.set_total(passes * rows.layout().n_rows);
        let (check, progress) = (|| ctx.check(), |rows| ctx.progress(rows));
        work(Ground { rows: &rows, roles: &roles, workers: self.workers, watch: Watch { check: &check, progress: &progress } })
    }

    fn ground() -> Vec<String> {
        vec!["prepare".to_owned(), "split".to_owned()]
    }

    fn train_stage(&'a self, name: &str, model: &'a Model) -> Stage<'a> {
        let made_of = vec![("logistic".to_owned(), text(&model.logistic)), ("folds".to_owned(), self.n_folds().to_string())];
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 0, |ground| {
                for fold in 0..self.n_folds() {
                    let fold_number = u8::try_from(fold).unwrap_or(u8::MAX);
                    let rows = TrainingRows::of_fold(ground.rows, ground.roles, fold_number, ground.workers, ground.watch);
                    let layout = ground.rows.layout();
                    let trainer = LogisticTrainer {
                        features: layout.features.clone(),
                        omit: model
                            .omitted()
                            .into_iter()
                            .flatten()
                            .map(|c| c.as_str())
                            .chain(layout.hidden_names())
                            .map(str::to_owned)
                            .collect(),
                        l2: model.logistic.as_ref().map_or(0.0, |l| l.l2.get()),
                    };
                    let fitted = trainer.fit(&rows)?;
                    folder::write_json(&ctx.out().join(artifact(fold)), &fitted.to_json())?;
                }
                Ok(())
            })
        };
        self.stage(format!("train/{name}"), "train", Self::ground(), made_of, run)
    }

    /// The model as a command, if it is one.
    fn call(&'a self, name: &'a str, model: &'a Model) -> Option<Call<'a>> {
        let command = model.command.as_ref()?;
        Some(Call { model: name, command, checked: self.checked, n_folds: self.n_folds(), threads: self.settings.threads })
    }

    fn train_command_stage(&'a self, call: Call<'a>) -> Stage<'a> {
        let mut made_of = call.made_of_model();
        made_of.extend(self.input.files_of_command(call.model));
        let run = move |ctx: &StageContext<'_>| self.on_ground(ctx, 0, |ground| call.train(ctx, ground));
        self.stage(format!("train/{}", call.model), "train", Self::ground(), made_of, run)
    }

    fn score_command_stage(&'a self, call: Call<'a>, world: Option<&World<'a>>) -> Stage<'a> {
        let mut needs = Self::ground();
        let train = call.command.train.as_ref().map(|_| format!("train/{}", call.model));
        needs.extend(train.clone());
        needs.extend(world.map(|w| w.id("generate")));
        let mut made_of = call.made_of_scores();
        made_of.extend(self.input.files_of_command(call.model));
        let id = match world {
            None => format!("score/{}", call.model),
            Some(world) => format!("score/{}/{}/{}", call.model, world.set, world.attribute),
        };
        let world = world.cloned();
        let run = move |ctx: &StageContext<'_>| {
            let trained = train.as_ref().map(|id| ctx.need(id));
            self.on_ground(ctx, 1, |ground| match &world {
                None => call.score(ctx, ground, commands::Scored::Rows, trained),
                Some(world) => {
                    let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                    let attribute = &ground.rows.layout().attributes[world.position];
                    call.score(ctx, ground, commands::Scored::Counterfactuals(&counterfactuals, attribute), trained)
                }
            })
        };
        self.stage(id, "score", needs, made_of, run)
    }

    fn generate_stage(&'a self, world: &World<'a>) -> Stage<'a> {
        let (set, position) = (world.block, world.position);
        let with_features = self.features;
        // A placebo changes what is measured, not what is generated.
        let strategy_only = CounterfactualSet { placebo: None, ..set.clone() };
        let made_of = vec![
            ("counterfactuals".to_owned(), text(&strategy_only)),
            ("attribute".to_owned(), world.attribute.to_owned()),
            ("features".to_owned(), with_features.to_string()),
        ];
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let strategy = strategy(set);
                let folds = if strategy.needs_reference() { self.n_folds() } else { 1 };
                let generators = (0..folds)
                    .map(|fold| {
                        let fold = u8::try_from(fold).unwrap_or(u8::MAX);
                        strategy.fit(&TrainingRows::of_fold(ground.rows, ground.roles, fold, ground.workers, ground.watch))
                    })
                    .collect::<Result<Vec<Box<dyn Generator>>>>()?;
                worlds::generate(ground, &generators, position, with_features, ctx.out())
            })
        };
        self.stage(world.id("generate"), "generate", Self::ground(), made_of, run)
    }

    fn score_stage(&'a self, name: &'a str, model: &'a Model, world: Option<&World<'a>>) -> Stage<'a> {
        if let Some(call) = self.call(name, model) {
            return self.score_command_stage(call, world);
        }
        let mut needs = Self::ground();
        let mut made_of = Vec::new();
        if model.logistic.is_some() {
            needs.push(format!("train/{name}"));
        }
        if let Some(scores) = &model.scores {
            made_of.push(("scores".to_owned(), text(scores)));
            let set = world.map(|w| w.set);
            made_of.extend(self.input.scores_of(name, set).map(|f| (format!("file {}", f.path), f.sha256.clone())));
        }
        let mut id = format!("score/{name}");
        if let Some(world) = world {
            if let Some(scores) = &model.scores {
                made_of.extend(self.recheck_inputs());
                needs.extend(scores.recheck.map(|_| id.clone()));
            }
            id = format!("{id}/{}/{}", world.set, world.attribute);
            needs.push(world.id("generate"));
        }
        let (name, world) = (name.to_owned(), world.cloned());
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| match (&model.scores, &world) {
                (None, None) => worlds::score_rows(ground, &self.scorers(ctx, &name)?, ctx.out()),
                (None, Some(world)) => {
                    let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                    worlds::score_counterfactuals(ground, &self.scorers(ctx, &name)?, &counterfactuals, world.position, ctx.out())
                }
                (Some(scores), None) => {
                    self.factual_scores(ground, scores, ctx.out()).map_err(|e| self.asked_by(e, &["models", &name, "scores", "factual"]))
                }
                (Some(scores), Some(world)) => self
                    .counterfactual_scores(ground, &name, scores, world, ctx)
                    .map_err(|e| self.asked_by(e, &["models", &name, "scores", "counterfactual"])),
            })
        };
        self.stage(id, "score", needs, made_of, run)
    }

    /// A fault with the line of the key that asks for what is faulty.
    fn asked_by(&self, error: Error, keys: &[&str]) -> Error {
        match error {
            Error::Data(mut fault) if fault.place.is_none() => {
                fault.place = self.checked.places.at(&spec::check::path(keys)).cloned().filter(|p| p.line > 0);
                Error::Data(fault)
            }
            other => other,
        }
    }

    fn scorers(&self, ctx: &StageContext<'_>, model: &str) -> Result<Vec<Box<dyn Scorer>>> {
        let folder = ctx.need(&format!("train/{model}"));
        (0..self.n_folds())
            .map(|fold| {
                let path = folder.join(artifact(fold));
                let json = folder::read_text(&path)?;
                let fail = |cause| Error::Operator {
                    path: path.clone(),
                    doing: "read".to_owned(),
                    cause,
                    hint: Some("delete the cache and run again".to_owned()),
                };
                LogisticModel::from_json(&json).map(|m| Box::new(m) as Box<dyn Scorer>).map_err(fail)
            })
            .collect()
    }

    fn factual_scores(&self, ground: Ground<'_>, scores: &spec::Scores, out: &Path) -> Result<()> {
        let layout = ground.rows.layout();
        let column = scores.factual.column.as_str();
        match &scores.factual.parquet {
            None => {
                let carried = layout.carried.iter().position(|c| c == column);
                let carried = carried.ok_or_else(|| Fault::new("missing-column", format!("the rows have no column `{column}`")))?;
                worlds::copy_scores(ground, carried, column, out)
            }
            Some(path) => {
                let file = KeyedScores::open(Path::new(path), column, layout.row_id, None, &layout.attributes)?;
                joining::join_rows(ground, &file, out)
            }
        }
    }

    fn counterfactual_scores(
        &self,
        ground: Ground<'_>,
        model: &str,
        scores: &spec::Scores,
        world: &World<'_>,
        ctx: &StageContext<'_>,
    ) -> Result<()> {
        let Some(file) = &scores.counterfactual else {
            return Err(Fault::new("missing-scores", "the model has no scores of counterfactuals").into());
        };
        let layout = ground.rows.layout();
        let attribute = &layout.attributes[world.position];
        let path = inputs::scores_path(&file.parquet, world.set);
        let file = KeyedScores::open(Path::new(&path), file.column.as_str(), layout.row_id, Some(attribute), &layout.attributes)?;
        let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
        let again = self.again(ground, world.position)?;
        let factual = match scores.recheck {
            None => None,
            Some(recheck) => Some((ScoreReader::open(ctx.need(&format!("score/{model}")))?, recheck.tolerance.get())),
        };
        let factual = factual.as_ref().map(|(scores, tolerance)| (scores, *tolerance));
        let recheck = again.as_ref().map(|again| Recheck { again, factual });
        let rechecked = joining::join_counterfactuals(ground, &file, &counterfactuals, world.position, recheck, ctx.out())?;
        if scores.recheck.is_some() {
            folder::write_json(&ctx.out().join(joining::RECHECKED), &rechecked)?;
        }
        Ok(())
    }

    fn cut_inputs(model: &Model) -> Vec<(String, String)> {
        vec![("threshold".to_owned(), text(&model.threshold)), ("threshold_rule".to_owned(), text(&model.threshold_rule))]
    }

    fn cut(model: &Model, ground: Ground<'_>) -> Cut {
        let decision = match model.threshold_rule {
            spec::ThresholdRule::Ge => Decision::AtOrAbove,
            spec::ThresholdRule::Gt => Decision::Above,
        };
        let threshold = match &model.threshold {
            spec::Threshold::Fixed(share) => Threshold::Fixed(share.get()),
            spec::Threshold::Column { column } => {
                let carried = &ground.rows.layout().carried;
                Threshold::Carried(carried.iter().position(|c| c == column.as_str()).unwrap_or(usize::MAX))
            }
        };
        Cut { decision, threshold }
    }

    /// What counts depend on beside the scores: the seed cuts people with weights into blocks.
    fn count_inputs(&self, model: &Model) -> Vec<(String, String)> {
        let mut inputs = Self::cut_inputs(model);
        inputs.extend(self.job.data.weight.as_ref().map(|_| ("run.seed".to_owned(), self.job.run.seed.0.to_string())));
        inputs
    }

    fn count_stage(&'a self, name: &str, model: &'a Model, attribute: &str, position: usize) -> Stage<'a> {
        let score = format!("score/{name}");
        let mut needs = Self::ground();
        needs.push(score.clone());
        let mut made_of = self.count_inputs(model);
        made_of.push(("attribute".to_owned(), attribute.to_owned()));
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let scores = ScoreReader::open(ctx.need(&score))?;
                let counts = counting::count_rows(ground, Self::cut(model, ground), &scores, position, self.job.run.seed)?;
                folder::write_json(&ctx.out().join(measuring::EVIDENCE), &counts)
            })
        };
        self.stage(format!("count/{name}/{attribute}"), "count", needs, made_of, run)
    }

    fn count_world_stage(&'a self, name: &str, model: &'a Model, world: &World<'a>) -> Stage<'a> {
        let (score, score_cf, generate) =
            (format!("score/{name}"), format!("score/{name}/{}/{}", world.set, world.attribute), world.id("generate"));
        let mut needs = Self::ground();
        needs.extend([generate.clone(), score.clone(), score_cf.clone()]);
        let position = world.position;
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let scored = Scored {
                    cut: Self::cut(model, ground),
                    attribute: position,
                    counterfactuals: &CounterfactualReader::open(ctx.need(&generate))?,
                    scores: &ScoreReader::open(ctx.need(&score))?,
                    scores_cf: &ScoreReader::open(ctx.need(&score_cf))?,
                };
                let evidence = counting::count_counterfactuals(ground, scored, self.job.run.seed)?;
                folder::write_json(&ctx.out().join(measuring::EVIDENCE), &evidence)
            })
        };
        self.stage(format!("count/{name}/{}/{}", world.set, world.attribute), "count", needs, self.count_inputs(model), run)
    }

    /// Whether score metrics are asked for.
    fn wants_shift(&self) -> bool {
        measuring::families(self.checked).contains(&Family::Shift)
    }

    fn second_stage(&'a self, name: &str, model: &'a Model, world: &World<'a>) -> Stage<'a> {
        let (score, score_cf, generate) =
            (format!("score/{name}"), format!("score/{name}/{}/{}", world.set, world.attribute), world.id("generate"));
        let count = format!("count/{name}/{}/{}", world.set, world.attribute);
        let mut needs = Self::ground();
        needs.extend([generate.clone(), score.clone(), score_cf.clone(), count.clone()]);
        let metrics = &self.job.metrics;
        let wanted = (metrics.interval.method == spec::IntervalMethod::Auto).then_some(redrawing::Wanted {
            level: metrics.interval.level,
            samples: metrics.bootstrap.samples,
            seed: self.job.run.seed,
        });
        let mut made_of = Self::cut_inputs(model);
        if wanted.is_some() {
            made_of.extend([
                ("metrics.interval".to_owned(), text(&metrics.interval)),
                ("metrics.bootstrap".to_owned(), text(&metrics.bootstrap)),
                ("run.seed".to_owned(), self.job.run.seed.0.to_string()),
            ]);
        }
        let position = world.position;
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let scored = Scored {
                    cut: Self::cut(model, ground),
                    attribute: position,
                    counterfactuals: &CounterfactualReader::open(ctx.need(&generate))?,
                    scores: &ScoreReader::open(ctx.need(&score))?,
                    scores_cf: &ScoreReader::open(ctx.need(&score_cf))?,
                };
                let counts = folder::from_json(&folder::read_text(&ctx.need(&count).join(measuring::EVIDENCE))?, &count)?;
                let evidence = redrawing::second_pass(ground, scored, &counts, wanted)?;
                folder::write_json(&ctx.out().join(measuring::EVIDENCE), &evidence)
            })
        };
        self.stage(world.second(name), "measure", needs, made_of, run)
    }

    /// The outcomes of every model that scores counterfactuals; none where the job keeps none.
    fn outcomes_stage(&'a self, worlds: &[World<'a>]) -> Option<Stage<'a>> {
        if self.job.run.keep_rows == Some(KeepRows::None) {
            return None;
        }
        let mut needs = Self::ground();
        let mut made_of = vec![("run.keep_rows".to_owned(), text(&self.job.run.keep_rows))];
        let mut parts = Vec::new();
        for (name, model) in self.job.models.iter().filter(|(_, m)| Self::scores_worlds(m)) {
            needs.push(format!("score/{name}"));
            made_of.extend(Self::cut_inputs(model).into_iter().map(|(k, v)| (format!("models.{name}.{k}"), v)));
            for world in worlds {
                needs.push(format!("score/{name}/{}/{}", world.set, world.attribute));
                parts.push((name.as_str(), model, world.clone()));
            }
        }
        if parts.is_empty() {
            return None;
        }
        needs.extend(worlds.iter().map(|w| w.id("generate")));
        let always = self.job.run.keep_rows == Some(KeepRows::Outcomes);
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, parts.len() as u64, |ground| {
                if !always && ground.roles.n_audited() >= KEEP_ROWS_BELOW {
                    return Ok(());
                }
                let mut writer = counting::create_outcomes(ctx.out())?;
                for (name, model, world) in &parts {
                    let scored = Scored {
                        cut: Self::cut(model, ground),
                        attribute: world.position,
                        counterfactuals: &CounterfactualReader::open(ctx.need(&world.id("generate")))?,
                        scores: &ScoreReader::open(ctx.need(&format!("score/{name}")))?,
                        scores_cf: &ScoreReader::open(ctx.need(&format!("score/{name}/{}/{}", world.set, world.attribute)))?,
                    };
                    counting::write_outcomes(ground, scored, name, world.set, &mut writer)?;
                }
                writer.finish()
            })
        };
        Some(self.stage(OUTCOMES_STAGE.to_owned(), "count", needs, made_of, run))
    }

    fn measure_stage(&'a self, evidence: &[String]) -> Stage<'a> {
        let mut needs = Self::ground();
        needs.extend(evidence.iter().cloned());
        let made_of = vec![
            ("metrics".to_owned(), text(&self.job.metrics)),
            ("data.label".to_owned(), text(&self.job.data.label)),
            ("run.seed".to_owned(), self.job.run.seed.0.to_string()),
            (
                "placebo".to_owned(),
                text(&self.job.counterfactuals.iter().filter_map(|(name, set)| Some((name, set.placebo?))).collect::<Vec<_>>()),
            ),
        ];
        let parts = self.parts();
        let run = move |ctx: &StageContext<'_>| self.on_ground(ctx, 0, |ground| measuring::measure(ctx, self.checked, ground, &parts));
        self.stage("measure".to_owned(), "measure", needs, made_of, run)
    }

    /// What there is to measure: model, set (none for the rows as they are), attribute, and the stage that counted it.
    fn parts(&self) -> Vec<measuring::Part> {
        let mut parts = Vec::new();
        for (name, model) in &self.job.models {
            for (position, attribute) in self.job.data.sensitive.keys().enumerate() {
                parts.push(measuring::Part {
                    model: name.to_string(),
                    set: None,
                    attribute: position,
                    stage: format!("count/{name}/{attribute}"),
                    second: None,
                    placebo: None,
                });
            }
            for world in self.worlds().into_iter().filter(|_| Self::scores_worlds(model)) {
                parts.push(measuring::Part {
                    model: name.to_string(),
                    set: Some(world.set.to_owned()),
                    attribute: world.position,
                    stage: format!("count/{name}/{}/{}", world.set, world.attribute),
                    second: self.wants_shift().then(|| world.second(name.as_str())),
                    // What is written for a group of a derived attribute rests on reference rows, so its noise is not that of naive.
                    placebo: world.block.placebo.filter(|_| !self.is_written_back(&world)).map(|placebo| placebo.repeats),
                });
            }
        }
        parts
    }

    fn gate_stage(&'a self) -> Stage<'a> {
        let made_of = vec![
            ("gates".to_owned(), text(&self.job.gates)),
            ("on_inconclusive".to_owned(), text(&self.job.on_inconclusive)),
            ("lines of the gates".to_owned(), text(&measuring::questions(self.checked).iter().map(|q| q.line).collect::<Vec<_>>())),
        ];
        let run = move |ctx: &StageContext<'_>| measuring::judge(ctx, self.checked);
        self.stage("gate".to_owned(), "gate", vec!["measure".to_owned()], made_of, run)
    }

    fn report_stage(&'a self, keeps_outcomes: bool) -> Stage<'a> {
        let mut needs = Self::ground();
        needs.extend(["measure".to_owned(), "gate".to_owned()]);
        if keeps_outcomes {
            needs.push(OUTCOMES_STAGE.to_owned());
        }
        let rechecks = self.rechecks();
        needs.extend(rechecks.iter().map(|(_, stage)| stage.clone()));
        let worlds: Vec<(String, String, String)> =
            self.worlds().iter().map(|w| (w.set.to_owned(), w.attribute.to_owned(), w.id("generate"))).collect();
        needs.extend(worlds.iter().map(|(.., stage)| stage.clone()));
        let run = move |ctx: &StageContext<'_>| {
            let outcomes = keeps_outcomes.then(|| ctx.need(OUTCOMES_STAGE));
            self.on_ground(ctx, 0, |ground| {
                self.with_origins(ground, |origins| folder::assemble(ctx, origins, outcomes, &rechecks, &worlds))
            })
        };
        self.stage("report".to_owned(), "report", needs, self.folder_inputs(), run)
    }

    /// What makes an output folder stale beside what it is made of.
    fn folder_inputs(&self) -> Vec<(String, String)> {
        vec![
            ("job".to_owned(), self.checked.hash.clone()),
            ("run".to_owned(), self.run_id.to_owned()),
            ("--set".to_owned(), text(&self.checked.sets)),
            ("job file".to_owned(), self.settings.job_file.clone()),
            ("inputs".to_owned(), text(&self.input.files)),
        ]
    }

    /// Tells `work` where a folder comes from.
    fn with_origins<T>(&self, ground: Ground<'_>, work: impl FnOnce(&folder::Origins<'_>) -> T) -> T {
        let params = prepare_params(self.job, reads_features(self.job, self.input));
        work(&folder::Origins {
            checked: self.checked,
            settings: self.settings,
            input: self.input,
            run: self.run_id,
            ground,
            params: &params,
        })
    }
}

/// What preparing needs to know of the job. Without `features` those are left out that no rule for missing values needs: which rows are
/// audited must not depend on who reads the features.
fn prepare_params(job: &Job, features: bool) -> PrepareParams {
    let data = &job.data;
    let mut carry: Vec<ColumnName> = job.models.values().flat_map(Model::columns).cloned().collect();
    carry.sort();
    carry.dedup();
    let decides = |rule: MissingRule| features || matches!(rule, MissingRule::DropRow | MissingRule::Error);
    let mut features = data.features.clone();
    if !decides(data.missing.continuous) {
        features.continuous.clear();
    }
    if !decides(data.missing.ordinal) {
        features.ordinal.clear();
    }
    if !decides(data.missing.nominal) {
        features.nominal.clear();
    }
    PrepareParams {
        derive: data.derived(),
        row_id: data.row_id.clone(),
        keep: data.keep.clone(),
        label: data.label.column().map(|l| LabelParams { column: l.column.clone(), positive: l.positive.clone() }),
        sensitive: data
            .sensitive
            .keys()
            .map(|name| SensitiveParams {
                name: name.clone(),
                column: data.column_of(name).clone(),
                groups: data.groups_of(name),
                // `check` refuses an attribute without a reference; preparing would refuse the empty one.
                reference: data.reference_of(name).unwrap_or_else(|| Word(String::new())),
            })
            .collect(),
        continuous: features.continuous,
        ordinal: features.ordinal.into_iter().collect(),
        nominal: features.nominal,
        missing: data.missing.clone(),
        weight: data.weight.clone(),
        drop_duplicates: (data.duplicates == Duplicates::DropExact).then(|| data.compared(&carry)),
        carry,
        split: data
            .split
            .as_ref()
            .and_then(|s| Some(SplitColumn { column: s.column.clone()?, train: s.train.clone()?, audit: s.audit.clone()? })),
    }
}

/// Whether anybody reads features: a model that is trained here, a command, a platform that is to score the rows, or an attribute whose
/// groups are written back to columns.
fn reads_features(job: &Job, input: &Input) -> bool {
    let models = job.models.values().any(|m| m.logistic.is_some() || m.command.is_some());
    models || !input.awaited.is_empty() || job.data.sensitive.keys().any(|name| job.data.is_written_back(name))
}

const ROLES: &str = "roles.parquet";
const OUTCOMES_STAGE: &str = "count/outcomes";

fn artifact(fold: usize) -> String {
    format!("model-{fold}.json")
}

/// The strategy of a set; `check` made sure that there is exactly one.
fn strategy(_set: &CounterfactualSet) -> Box<dyn Strategy> {
    Box::new(Naive)
}

impl World<'_> {
    /// The stage of the second pass over the scores of a model.
    fn second(&self, model: &str) -> String {
        format!("measure/{model}/{}/{}", self.set, self.attribute)
    }

    fn id(&self, kind: &str) -> String {
        format!("{kind}/{}/{}", self.set, self.attribute)
    }
}

/// Row groups are cut smaller where a row has many counterfactuals, and where `--memory` asks for less.
fn default_batch_rows(job: &Job, settings: &Settings) -> usize {
    let groups = job.data.sensitive.values().map(|s| s.groups.len()).max().unwrap_or(2);
    let mut rows = BATCH_ROWS / groups.saturating_sub(1).max(1);
    if let Some(memory) = settings.memory {
        let features = &job.data.features;
        let columns = 8 + features.continuous.len() + features.ordinal.len() + features.nominal.len() + job.data.sensitive.len();
        // Rows in flight are held about four times: read, decoded, worked on, encoded. A fifth of the memory is left for the rest.
        let bytes_per_row = columns * 8 * 4 * groups.saturating_sub(1).max(1);
        let budget = usize::try_from(memory / 5 * 4).unwrap_or(usize::MAX).saturating_sub(48 << 20);
        rows = rows.min(budget / (bytes_per_row * (settings.threads + 1)));
    }
    (rows / BLOCK_ROWS).max(1) * BLOCK_ROWS
}
