//! The list of stages of one job, in order, and what they share.

use std::collections::BTreeSet;
use std::path::Path;

use crate::data::prepare::params::PrepareParams;
use crate::data::rows::RowsReader;
use crate::data::rows::split::RolesReader;
use crate::error::{Error, Result};
use crate::exec::pieces::WorkerPool;
use crate::exec::store::StoreView;
use crate::exec::{ExecSettings, PlannedStage, ResultState, StageContext};
use crate::folder::read;
use crate::job::check::CheckedJob;
use crate::job::{CounterfactualSet, Job, ModelBlock};
use crate::param::{ColumnName, Name};
use crate::stage::applied_set::{AppliedSet, with_watch};
use crate::stage::artifact::ROLES;
use crate::stage::input::answer::AnswerMemory;
use crate::stage::input::{JobInputs, answer};
use crate::stage::params::prepare_params;
use crate::stage::row_context::RowContext;
use crate::stage::settings::{CODE, KINDS, RunSettings};
use crate::table::file::{BATCH_ROWS, BLOCK_ROWS};

/// Everything the stages of one job share.
pub(crate) struct StagePlan<'a> {
    pub(crate) checked: &'a CheckedJob,
    pub(crate) job: &'a Job,
    pub(crate) settings: &'a RunSettings,
    pub(crate) input: &'a JobInputs,
    pub(crate) workers: &'a WorkerPool,
    pub(crate) run_id: &'a str,
    pub(crate) batch_rows: usize,
    /// SHA-256 of the manifest of the baseline, where one is named.
    pub(crate) baseline: Option<String>,
    /// Whether features travel with the rows and their counterfactuals.
    pub(crate) features: bool,
    /// The key that values of variables are hashed with.
    pub(crate) secret: Option<Vec<u8>>,
    /// Which requests files of scores were taken for.
    pub(crate) memory: AnswerMemory,
}

/// Inputs that two parts of a stage name both, once.
pub(crate) fn unique_inputs(mut inputs: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut seen = BTreeSet::new();
    inputs.retain(|(name, _)| seen.insert(name.clone()));
    inputs
}

impl<'a> StagePlan<'a> {
    pub(crate) fn new(
        checked: &'a CheckedJob,
        settings: &'a RunSettings,
        input: &'a JobInputs,
        workers: &'a WorkerPool,
        run_id: &'a str,
        entries: &StoreView,
    ) -> Result<Self> {
        let job = &checked.job;
        let batch_rows = settings.batch_rows.unwrap_or_else(|| default_batch_rows(job, settings));
        let baseline = settings.baseline.as_deref().map(read::fingerprint).transpose()?;
        let (memory, secret) = (AnswerMemory::load(job, settings), entries.secret()?);
        let features = true;
        let mut plan = StagePlan {
            checked,
            job,
            settings,
            input,
            workers,
            run_id,
            batch_rows,
            baseline,
            features,
            memory,
            secret,
        };
        plan.features = reads_features(job) || plan.has_features(entries)?;
        Ok(plan)
    }

    /// Whether rows and counterfactuals with their features are in the cache. The verb `data` has
    /// left them there: a run goes on from them rather than write the rows again without. No result
    /// depends on which of the two is read.
    fn has_features(&self, entries: &StoreView) -> Result<bool> {
        let planned = crate::exec::plan(
            &self.measuring_stages(),
            entries,
            &ExecSettings { until: Some("generate"), ..self.exec_settings() },
        )?;
        Ok(planned.iter().all(|stage| matches!(stage.state, ResultState::Cached { .. })))
    }

    pub(crate) fn exec_settings(&self) -> ExecSettings<'a> {
        ExecSettings {
            job: self.job.name.as_str(),
            kinds: KINDS,
            until: self.settings.until.as_deref(),
            force: None,
            published: Some("report"),
            parallel_kind: Some("augment"),
            max_parallel: parallel_arms(self.job, self.settings, self.batch_rows),
        }
    }

    /// What preparing needs to know of the job.
    pub(crate) fn prepare_params(&self) -> PrepareParams {
        prepare_params(self.job, self.features)
    }

    pub(crate) fn stage(
        &self,
        id: String,
        kind: &'static str,
        needs: Vec<String>,
        inputs: Vec<(String, String)>,
        run: impl Fn(&StageContext<'_>) -> Result<()> + Sync + 'a,
    ) -> PlannedStage<'a> {
        let input = self.input;
        let run = move |ctx: &StageContext<'_>| {
            let done = run(ctx);
            // A file that changed says more than what was wrong with its bytes.
            if matches!(done, Ok(()) | Err(Error::Data(_))) {
                input.unchanged()?;
            }
            done
        };
        PlannedStage { id, kind, code: CODE.to_owned(), needs, inputs, run: Box::new(run) }
    }

    /// The seed as an input of a stage that uses chance.
    pub(crate) fn seed_input(&self) -> (String, String) {
        ("run.seed".to_owned(), self.job.run.seed.0.to_string())
    }

    pub(crate) fn applied_sets(&self) -> Vec<AppliedSet<'a>> {
        let of_key = |(name, key): &'a (String, Name)| {
            self.job.counterfactuals.get(key).map(|block| self.apply_set(name, block, None))
        };
        self.checked.set_names.iter().filter_map(of_key).flatten().collect()
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
        let world = |(position, attribute): (usize, &'a ColumnName)| AppliedSet {
            set,
            block,
            attribute: attribute.as_str(),
            position,
            experiment,
        };
        changed.map(world).collect()
    }

    /// Whether a model can score counterfactuals at all: trained ones can, scores made elsewhere
    /// where their file is named.
    pub(crate) fn scores_counterfactuals(model: &ModelBlock) -> bool {
        model.scores.as_ref().is_none_or(|scores| scores.counterfactual.is_some())
    }

    pub(crate) fn is_written_back(&self, world: &AppliedSet<'_>) -> bool {
        ColumnName::new(world.attribute).is_some_and(|name| self.job.data.is_written_back(&name))
    }

    pub(crate) fn n_folds(&self) -> usize {
        self.job
            .data
            .split
            .as_ref()
            .and_then(|s| s.folds)
            .map_or(1, |folds| usize::try_from(folds.get()).unwrap_or(usize::MAX))
    }

    /// The stages of this call, in order.
    pub(crate) fn stages(&'a self) -> Vec<PlannedStage<'a>> {
        if self.input.awaited.is_empty() { self.measuring_stages() } else { self.waiting_stages() }
    }

    /// The stage or kind that is to run again. What a run has only once its scores are there is no
    /// mistake in one that waits.
    pub(crate) fn force(&self) -> Option<&'a str> {
        let force = self.settings.force.as_deref()?;
        let is = |stage: &PlannedStage<'_>| stage.id == force || stage.kind == force;
        let later = !self.input.awaited.is_empty()
            && self.measuring_stages().iter().any(is)
            && !self.stages().iter().any(is);
        (!later).then_some(force)
    }

    /// The stage that trains a model, if one does.
    pub(crate) fn train_stage_of(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
    ) -> Option<PlannedStage<'a>> {
        if model.is_trained_here() {
            return Some(self.train_stage(name, model));
        }
        let call = self.call(name, model).filter(|c| c.command.train.is_some())?;
        Some(self.train_command_stage(call))
    }

    /// The stages of a job whose scores are all there.
    fn measuring_stages(&'a self) -> Vec<PlannedStage<'a>> {
        let mut stages = Vec::new();
        stages.extend(self.source_stage());
        stages.extend(self.reference_stage());
        stages.push(self.prepare_stage());
        stages.push(self.split_stage());
        stages.extend(self.factual_request_stage());
        for (name, model) in &self.job.models {
            stages.extend(self.train_stage_of(name.as_str(), model));
        }
        let worlds = self.applied_sets();
        stages.extend(self.discover_stages(&worlds));
        // Predictions that a set conditions on come before it.
        let predicting = self.conditioning_models();
        let (first, later): (Vec<_>, Vec<_>) =
            self.job.models.iter().partition(|(name, _)| predicting.contains(name.as_str()));
        for (name, model) in first {
            stages.extend(self.threshold_stage(name.as_str(), model));
            stages.push(self.score_stage(name.as_str(), model, None));
        }
        stages.extend(worlds.iter().filter_map(|world| self.fit_stage(world)));
        for world in &worlds {
            stages.push(self.generate_stage(world));
        }
        stages.extend(self.set_request_stages(&worlds));
        for (name, model) in later {
            stages.extend(self.threshold_stage(name.as_str(), model));
            stages.push(self.score_stage(name.as_str(), model, None));
        }
        for (name, model) in &self.job.models {
            for world in worlds.iter().filter(|_| Self::scores_counterfactuals(model)) {
                stages.push(self.score_stage(name.as_str(), model, Some(world)));
            }
        }
        stages.extend(self.recheck_stages());
        for (name, model) in &self.job.models {
            let name = name.as_str();
            for (position, attribute) in self.job.data.sensitive.keys().enumerate() {
                stages.push(self.count_stage(name, model, attribute.as_str(), position));
                stages.extend(self.flips_stage(name, model, attribute.as_str(), position));
                stages.extend(self.slice_stage(name, model, attribute.as_str(), position));
            }
            for world in worlds.iter().filter(|_| Self::scores_counterfactuals(model)) {
                stages.push(self.count_set_stage(name, model, world));
                stages.extend(self.slice_set_stage(name, model, world));
            }
        }
        for (name, model) in self
            .job
            .models
            .iter()
            .filter(|(_, m)| self.wants_shift() && Self::scores_counterfactuals(m))
        {
            let plain = worlds.iter().filter(|world| world.graphs().is_none());
            stages.extend(plain.map(|world| self.second_pass_stage(name.as_str(), model, world)));
        }
        stages.extend(worlds.iter().filter_map(|world| self.placebo_stage(world)));
        let outcomes = self.outcomes_stage(&worlds);
        let keeps_outcomes = outcomes.is_some();
        stages.extend(outcomes);
        let quality: Vec<PlannedStage<'a>> = worlds
            .iter()
            .filter(|_| self.wants_quality())
            .filter_map(|world| self.quality_stage(world))
            .collect();
        let ids = quality.iter().map(|stage| stage.id.clone()).collect();
        stages.extend(quality);
        stages.push(self.measure_stage(ids));
        stages.extend(self.augment_stages());
        stages.extend(self.recourse_stages());
        stages.extend(self.baseline_stage(keeps_outcomes));
        stages.push(self.gate_stage());
        stages.push(self.report_stage(keeps_outcomes));
        stages
    }

    /// Opens what nearly every stage after the split reads, and hands it to `work`.
    pub(crate) fn with_context<T>(
        &self,
        ctx: &StageContext<'_>,
        passes: u64,
        work: impl FnOnce(RowContext<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_roles(ctx, &ctx.need("split").join(ROLES), passes, work)
    }

    /// The same with other roles.
    pub(crate) fn with_roles<T>(
        &self,
        ctx: &StageContext<'_>,
        roles: &Path,
        passes: u64,
        work: impl FnOnce(RowContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let rows = RowsReader::open(ctx.need("prepare"))?;
        let roles = RolesReader::open(roles)?;
        ctx.set_total(passes * rows.layout().n_rows);
        with_watch(ctx, |watch| {
            work(RowContext { rows: &rows, roles: &roles, workers: self.workers, watch })
        })
    }

    pub(crate) fn context_needs() -> Vec<String> {
        vec!["prepare".to_owned(), "split".to_owned()]
    }
}

/// Whether anybody reads features: a strategy that moves them, a model that is trained here, a
/// command, a platform that scores the rows (they are part of its request), an attribute whose
/// groups are written back to columns, or the flip test.
pub(crate) fn reads_features(job: &Job) -> bool {
    let models =
        job.models.values().any(|m| m.is_trained_here() || m.onnx.is_some() || m.command.is_some());
    let written_back = job.data.sensitive.keys().any(|name| job.data.is_written_back(name));
    models
        || answer::awaits_files(job) != (false, false)
        || written_back
        || !job.recourse.is_empty()
        || job.has_fitted_sets()
        || job.has_graph_sets()
        || job.flip_test().is_some()
}

/// Row groups are cut smaller where a row has many counterfactuals, and where `--memory` asks for
/// less.
fn default_batch_rows(job: &Job, settings: &RunSettings) -> usize {
    let mut rows = BATCH_ROWS / counterfactuals_of_a_row(job);
    if let Some(budget) = row_budget(settings) {
        rows = rows.min(budget / (bytes_of_a_row(job) * (settings.threads + 1)));
    }
    (rows / BLOCK_ROWS).max(1) * BLOCK_ROWS
}

/// How many stages of experiments run side by side: as many as there are threads, with `--memory`
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
        .filter_map(|set| Some(set.knobs()?.max_counterfactuals()))
        .max()
        .unwrap_or(1);
    groups.saturating_sub(1).max(1) * several
}

/// Rows in flight are held about four times: read, decoded, worked on, encoded.
fn bytes_of_a_row(job: &Job) -> usize {
    let columns = 8 + job.data.listed_features().count() + job.data.sensitive.len();
    columns * 8 * 4 * counterfactuals_of_a_row(job)
}

/// What rows may take; a fifth of the memory is left for the rest.
fn row_budget(settings: &RunSettings) -> Option<usize> {
    settings.memory.map(|memory| {
        usize::try_from(memory / 5 * 4).unwrap_or(usize::MAX).saturating_sub(48 << 20)
    })
}
