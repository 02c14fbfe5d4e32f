//! What the stages of one job share.

use std::collections::BTreeMap;

use crate::data::prepare::params::PrepareParams;
use crate::error::Result;
use crate::exec::ExecSettings;
use crate::exec::child::KeptProgram;
use crate::exec::internal_error;
use crate::exec::pieces::WorkerPool;
use crate::exec::result_store::StoreView;
use crate::folder::read;
use crate::job::check::CheckedJob;
use crate::job::{CounterfactualSet, Job, ModelBlock};
use crate::model::kind::command::ScoringProgram;
use crate::param::{ColumnName, Count, Name};
use crate::stage::applied_set::AppliedSet;
use crate::stage::input::JobInputs;
use crate::stage::input::answer::{self, AnswerMemory};
use crate::stage::params::prepare_params;
use crate::stage::settings::{KINDS, RunSettings};
use crate::stage::sharding::share::RowShare;
use crate::table::file::{BLOCK_ROWS, ROW_GROUP_ROWS};
use crate::unit::{AuditUnit, StageKind, is_forced};

/// The models that are programs, each with the process that serves the whole run where one does.
fn programs_of(job: &Job) -> BTreeMap<&str, (ScoringProgram, KeptProgram)> {
    let program = |model: &ModelBlock| model.external()?.1.program;
    let models = job.models.iter();
    let program = |(name, model)| Some((name, (program(model)?, KeptProgram::default())));
    models.filter_map(|(name, model)| program((name.as_str(), model))).collect()
}

/// Everything the stages of one job share.
pub(crate) struct StagePlan<'a> {
    pub(crate) checked: &'a CheckedJob,
    pub(crate) job: &'a Job,
    pub(crate) settings: &'a RunSettings,
    pub(crate) input: &'a JobInputs,
    pub(crate) workers: &'a WorkerPool,
    pub(crate) run_id: &'a str,
    /// Which rows the run goes over.
    pub(crate) share: &'a RowShare,
    pub(crate) batch_rows: usize,
    /// SHA-256 of the manifest of the baseline, where one is named.
    pub(crate) baseline: Option<String>,
    /// SHA-256 of the manifest of each folder of the history.
    pub(crate) history: Vec<String>,
    /// Whether features travel with the rows and their counterfactuals.
    pub(crate) features: bool,
    /// The key that values of variables are hashed with.
    pub(crate) secret: Option<Vec<u8>>,
    /// Which requests files of scores were taken for.
    pub(crate) memory: AnswerMemory,
    /// The models that are programs, with the processes that serve the whole run.
    pub(crate) programs: BTreeMap<&'a str, (ScoringProgram, KeptProgram)>,
}

impl<'a> StagePlan<'a> {
    pub(crate) fn new(
        checked: &'a CheckedJob,
        settings: &'a RunSettings,
        input: &'a JobInputs,
        workers: &'a WorkerPool,
        run_id: &'a str,
        entries: &StoreView,
        share: &'a RowShare,
    ) -> Result<Self> {
        let job = &checked.job;
        let batch_rows = settings.batch_rows.unwrap_or_else(|| default_batch_rows(job, settings));
        let baseline = settings.baseline.as_deref().map(read::fingerprint).transpose()?;
        let history = settings.history.iter().map(|folder| read::fingerprint(folder));
        let history = history.collect::<Result<_>>()?;
        let (memory, secret) = (AnswerMemory::load(job, settings), entries.secret()?);
        let features = true;
        let mut plan = StagePlan {
            checked,
            job,
            settings,
            input,
            workers,
            run_id,
            share,
            batch_rows,
            baseline,
            history,
            features,
            memory,
            secret,
            programs: programs_of(job),
        };
        plan.features = reads_features(job) || plan.has_features(entries)?;
        Ok(plan)
    }

    /// Whether rows and counterfactuals with their features are in the cache. The verb `data` has
    /// left them there: a run continues from them rather than writing the rows again without
    /// features. No result depends on which of the two is read.
    fn has_features(&self, entries: &StoreView) -> Result<bool> {
        let planned = crate::exec::plan(
            &self.stages()?.stages,
            entries,
            &ExecSettings { until: Some("generate"), ..self.exec_settings() },
        )?;
        Ok(planned.iter().all(|stage| stage.cached))
    }

    pub(crate) fn exec_settings(&self) -> ExecSettings<'a> {
        ExecSettings {
            job: self.job.name.as_str(),
            kinds: &KINDS,
            // A run that publishes rows has no later stage but its report.
            until: self
                .settings
                .until
                .as_deref()
                .filter(|_| !publishes_rows(self.job, self.settings)),
            force: None,
            takes: is_forced,
            published: Some("report"),
            parallel_kind: Some("augment"),
            max_parallel: parallel_arms(self.job, self.settings, self.batch_rows),
        }
    }

    /// What preparing needs to know of the job.
    pub(crate) fn prepare_params(&self) -> PrepareParams {
        prepare_params(self.job, self.features)
    }

    pub(crate) fn applied_sets(&self) -> Vec<AppliedSet<'a>> {
        let of_key = |(name, key): &'a (String, Name)| {
            self.job.counterfactuals.get(key).map(|block| self.apply_set(name, block, None))
        };
        self.checked.set_names.iter().filter_map(of_key).flatten().collect()
    }

    /// Every model with every set on an attribute whose counterfactuals it scores.
    pub(crate) fn scored_sets(
        &self,
    ) -> impl Iterator<Item = (&'a Name, &'a ModelBlock, AppliedSet<'a>)> + use<'a> {
        let sets = self.applied_sets();
        let scoring = self.job.models.iter().filter(|(_, model)| model.scores_counterfactuals());
        scoring.flat_map(move |(name, model)| {
            let asked = sets.iter().filter(|applied| applied.block.asks(name));
            asked.cloned().map(|applied| (name, model, applied)).collect::<Vec<_>>()
        })
    }

    /// A set on every attribute that it changes.
    pub(crate) fn apply_set(
        &self,
        set: &'a str,
        block: &'a CounterfactualSet,
        experiment: Option<&'a str>,
    ) -> Vec<AppliedSet<'a>> {
        let attributes = self.job.data.sensitive.keys().enumerate();
        let changed = attributes.filter(|(_, attribute)| block.changes(attribute));
        let applied = |(position, attribute): (usize, &'a ColumnName)| AppliedSet {
            set,
            block,
            attribute: attribute.as_str(),
            position,
            experiment,
        };
        changed.map(applied).collect()
    }

    pub(crate) fn is_written_back(&self, applied: &AppliedSet<'_>) -> bool {
        ColumnName::new(applied.attribute).is_some_and(|name| self.job.data.is_written_back(&name))
    }

    pub(crate) fn n_folds(&self) -> usize {
        self.job.data.split.as_ref().and_then(|s| s.folds).map_or(1, Count::size)
    }

    /// The model that a unit is about.
    pub(crate) fn model_of(&self, unit: &AuditUnit) -> Result<(&'a str, &'a ModelBlock)> {
        let found = self.job.models.iter().find(|(name, _)| name.as_str() == unit.model);
        let found = found.map(|(name, model)| (name.as_str(), model));
        found.ok_or_else(|| internal_error(format!("the job has no model `{}`", unit.model)))
    }

    /// The attribute that a unit is about, with its position.
    pub(crate) fn attribute_of(&self, unit: &AuditUnit) -> Result<(usize, &'a ColumnName)> {
        let mut attributes = self.job.data.sensitive.keys().enumerate();
        let found = attributes.find(|(_, name)| name.as_str() == unit.attribute);
        found
            .ok_or_else(|| internal_error(format!("the job has no attribute `{}`", unit.attribute)))
    }

    /// The set on the attribute that a unit is about; with an experiment that of the experiment.
    pub(crate) fn set_of(&self, unit: &AuditUnit) -> Result<AppliedSet<'a>> {
        let sets = match unit.experiment.as_str() {
            "" => self.applied_sets(),
            _ => self.experiment_of(unit)?.sets,
        };
        let mut sets = sets.into_iter();
        let found = sets.find(|of| of.set == unit.set && of.attribute == unit.attribute);
        found.ok_or_else(|| {
            internal_error(format!("the job has no set `{}` on `{}`", unit.set, unit.attribute))
        })
    }
}

impl<'a> AppliedSet<'a> {
    /// The unit of its counterfactuals.
    pub(crate) fn unit(&self) -> AuditUnit {
        AuditUnit {
            set: self.set.to_owned(),
            attribute: self.attribute.to_owned(),
            experiment: self.experiment.unwrap_or_default().to_owned(),
            ..AuditUnit::default()
        }
    }

    /// The unit that finds the graphs of the set.
    pub(crate) fn graphs_unit(&self) -> AuditUnit {
        AuditUnit { set: self.scenario().0.to_owned(), ..AuditUnit::default() }
    }

    /// The unit that finds the graphs without each statement of the scenario.
    pub(crate) fn needed_unit(&self) -> AuditUnit {
        AuditUnit { block: self.scenario().1.to_owned(), ..self.graphs_unit() }
    }

    /// The unit of what a model says about them.
    pub(crate) fn unit_of(&self, model: &str) -> AuditUnit {
        AuditUnit { model: model.to_owned(), ..self.unit() }
    }

    /// The unit of the split that says which rows are reference and which get counterfactuals.
    pub(crate) fn split_unit(&self) -> AuditUnit {
        split_unit(self.experiment)
    }

    /// The set and the scenario that the name of a graph-uncertain set is derived from.
    pub(crate) fn scenario(&self) -> (&'a str, &'a str) {
        self.set.split_once('/').unwrap_or((self.set, ""))
    }
}

/// The unit of the split of an experiment, or of the job.
pub(crate) fn split_unit(experiment: Option<&str>) -> AuditUnit {
    AuditUnit { experiment: experiment.unwrap_or_default().to_owned(), ..AuditUnit::default() }
}

/// Whether a run ends with counterfactuals, which it publishes.
pub(crate) fn publishes_rows(job: &Job, settings: &RunSettings) -> bool {
    settings.until.as_deref() == Some(StageKind::Generate.word())
        && settings.out.is_some()
        && job.run.keeps_counterfactuals()
}

/// Whether anybody reads features: the job keeps counterfactuals, a strategy that moves them, a
/// model that is run here, a platform that scores the rows (they are part of its request), an
/// attribute whose groups are written back to columns, recourse, patterns of who switches, people
/// who are shown, the test of counterfactuals by the reference rows, or the flip test.
pub(crate) fn reads_features(job: &Job) -> bool {
    let models = job.models.values().any(|m| m.omitted().is_some());
    let written_back = job.data.sensitive.keys().any(|name| job.data.is_written_back(name));
    models
        || job.run.keeps_counterfactuals()
        || answer::awaits_files(job) != (false, false)
        || written_back
        || !job.recourse.is_empty()
        || !job.why.is_empty()
        || job.report.cases > 0
        || job.has_fitted_sets()
        || job.counterfactuals.values().any(|set| set.graphs().is_some())
        // Counterfactuals are tested by the reference rows, on the features that the job lists.
        || !job.counterfactuals.is_empty() && job.data.listed_features().next().is_some()
        || job.flip_test().is_some()
}

/// Row groups are cut smaller where a row has many counterfactuals, and where `--memory` asks for
/// less.
fn default_batch_rows(job: &Job, settings: &RunSettings) -> usize {
    let mut rows = ROW_GROUP_ROWS / counterfactuals_of_a_row(job);
    if let Some(budget) = row_budget(settings) {
        rows = rows.min(budget / (bytes_of_a_row(job) * (settings.threads + 1)));
    }
    (rows / BLOCK_ROWS).max(1) * BLOCK_ROWS
}

/// How many stages of experiments run in parallel: as many as there are threads, with `--memory`
/// as many as it holds row groups for.
fn parallel_arms(job: &Job, settings: &RunSettings, batch_rows: usize) -> usize {
    let threads = settings.threads.max(1);
    let room =
        |budget: usize| budget / (bytes_of_a_row(job) * (settings.threads + 1) * batch_rows).max(1);
    row_budget(settings).map_or(threads, |budget| room(budget).clamp(1, threads))
}

fn counterfactuals_of_a_row(job: &Job) -> usize {
    let groups = job.data.sensitive.values().map(|s| s.groups.len()).max().unwrap_or(2);
    let several = job
        .counterfactuals
        .values()
        .filter_map(|set| match set.graphs() {
            // A person has at most one row for each world, and far fewer different ones.
            Some(graphs) if graphs.makes_rows() => {
                usize::try_from(graphs.n_bootstraps().clamp(1, 32)).ok()
            }
            _ => Some(set.knobs()?.max_counterfactuals()),
        })
        .max()
        .unwrap_or(1);
    groups.saturating_sub(1).max(1) * several
}

/// Rows in flight are held about four times: read, decoded, worked on, encoded.
fn bytes_of_a_row(job: &Job) -> usize {
    let columns = 8 + job.data.listed_features().count() + job.data.sensitive.len();
    columns * 8 * 4 * counterfactuals_of_a_row(job)
}

/// The memory that rows may take; a fifth of the whole is left for the rest.
fn row_budget(settings: &RunSettings) -> Option<usize> {
    settings.memory.map(|memory| {
        usize::try_from(memory / 5 * 4).unwrap_or(usize::MAX).saturating_sub(48 << 20)
    })
}
