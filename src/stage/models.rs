//! The models of a job for the stages that train and query them: how many there are in the plain
//! audit, in an arm of an experiment and in inner folds, and the rows that they learn from.

use crate::augment::ExperimentArm;
use crate::data::Layout;
use crate::data::rows::training::{DrawnTraining, TrainingRows};
use crate::error::{Error, Fault, Result};
use crate::exec::internal_error;
use crate::exec::{StageContext, files};
use crate::job::blocks::experiments::PredictionSource;
use crate::job::{self, ModelBlock};
use crate::model::contract::ModelContract;
use crate::model::kind::MODEL_KINDS;
use crate::model::kind::trained::ModelTrainer;
use crate::model::model_file::ModelFile;
use crate::model::{Scorer, TrainedModel};
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::param::{ColumnName, Seed};
use crate::stage::experiment::fold_roles::{FoldRoles, INNER_FOLDS};
use crate::stage::experiment::plan::{arm_of, source_of};
use crate::stage::input::model_what;
use crate::stage::kinds::{ContractStage, TrainStage};
use crate::stage::memory;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::score::asked_rows::AskedRows;
use crate::stage::score::command::{CommandCall, ModelFolds, ProgramFiles};
use crate::stage::score::rows::{score_by_fold, trained_groups};
use crate::stage::stage_builder::{Opens, StageBuilder, StageInput};
use crate::stage::train::repeat::TrainingRepeat;
use crate::unit::AuditUnit;

/// The file of a model, by its number.
fn artifact(fold: usize) -> String {
    format!("model-{fold}.json")
}

impl<'a> StagePlan<'a> {
    /// The trainer of a model, if there is enough memory for it; none for a model that is not
    /// trained here.
    pub(crate) fn trainer(
        &self,
        name: &str,
        model: &ModelBlock,
        layout: &Layout,
        (n_training, seed): (u64, Seed),
    ) -> Result<Option<ModelTrainer>> {
        let Some((_, knobs)) = model.trained_here() else { return Ok(None) };
        let omitted = knobs.omit.iter().map(ColumnName::as_str);
        let hidden = layout.hidden.iter().map(|&f| layout.features[f].name.as_str());
        let omit = omitted.chain(hidden).map(str::to_owned).collect();
        let trainer = knobs.trainer(layout.features.clone(), omit, seed);
        let (threads, allowed) = (self.settings.threads, memory::allowed(self.settings));
        memory::check_memory(&trainer, layout, n_training, threads, allowed)
            .map_err(|e| self.with_model_place(e, &["models", name]))?;
        Ok(Some(trainer))
    }

    /// The scale of the scores of a model.
    pub(crate) fn score_scale(&self, model: &ModelBlock) -> ScoreScale {
        model.score_scale(self.job.data.favours_positive())
    }

    /// The model as a command, if it is one.
    pub(crate) fn call(&'a self, name: &'a str, model: &'a ModelBlock) -> Option<CommandCall<'a>> {
        let (program, kept) = self.programs.get(name)?;
        Some(CommandCall {
            plan: self,
            model: name,
            key: model.kinds().first()?.key(),
            program,
            kept: program.is_kept.then_some(kept),
            scale: self.score_scale(model),
            folds: ModelFolds { n: self.n_folds(), first: 0, arm: None },
            seed: self.job.run.seed,
        })
    }

    /// A fault with the line of the key that asks for what is faulty.
    pub(crate) fn with_model_place(&self, error: Error, keys: &[&str]) -> Error {
        error.asked_at(self.checked.places.at(&job::check::path(keys)).filter(|p| p.line > 0))
    }

    /// The model from its file, by its contract; none for one that is not a file.
    pub(crate) fn load_scorer(
        &self,
        name: &str,
        model: &ModelBlock,
        layout: &Layout,
        contract: &ModelContract,
    ) -> Result<Option<Box<dyn Scorer>>> {
        let file = ModelFile::of(model, self.score_scale(model), &layout.features);
        let key = model.kinds().first().map_or("", |kind| kind.key());
        let loaded = file.map(|file| file.load(contract)).transpose();
        loaded.map_err(|e| self.with_model_place(e, &["models", name, key]))
    }
}

impl StageInput<TrainStage> {
    /// The models that were trained here, `n` of them, for callers that score rows in the models'
    /// own encoding.
    pub(crate) fn models(
        &self,
        ctx: &StageContext<'_>,
        model: &ModelBlock,
        n: usize,
    ) -> Result<Vec<Box<dyn TrainedModel>>> {
        let read = |json: &str| match model.trained_here() {
            Some((_, knobs)) => knobs.read(json),
            None => Err("the job trains no such model".to_owned()),
        };
        (0..n).map(|fold| self.read_artifact(ctx, fold, read)).collect()
    }

    fn read_artifact<T>(
        &self,
        ctx: &StageContext<'_>,
        fold: usize,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T> {
        let path = self.folder(ctx).join(artifact(fold));
        let json = files::read_text(&path)?;
        read(&json).map_err(|cause| {
            Error::operator("read", &path, cause, "delete the cache and run again")
        })
    }
}

/// The models of a unit: how many there are, the rows that they learn from, and how they are asked.
/// The plain audit has one for each fold, an arm of an experiment one in each of its stages.
pub(crate) struct UnitModels<'a> {
    plan: &'a StagePlan<'a>,
    name: &'a str,
    block: &'a ModelBlock,
    /// The unit of the stage that trains them.
    unit: AuditUnit,
    /// The rows that they learn from, with one fold of roles for each model.
    pub(crate) rows: RowInputs<'a>,
    /// Their folds.
    pub(crate) folds: ModelFolds,
    /// Which further training made them; none of the audited ones.
    again: Option<TrainingRepeat>,
    /// The contract with a model that is trained elsewhere and asked in the run.
    contract: Option<StageInput<ContractStage>>,
}

impl<'a> UnitModels<'a> {
    /// The models of a unit. A unit that names a source of predictions has the models that predict
    /// the rows which train for its fold: the base model, or those of inner folds.
    pub(crate) fn of(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let plan = b.plan;
        let (name, block) = plan.model_of(unit)?;
        let (again, repeat) = (TrainingRepeat::of(unit, plan)?, unit.repeat);
        let is_asked = block.external().is_some() && block.given_scores().is_none();
        let contract = || b.need::<ContractStage>(&AuditUnit::of_model(name));
        let contract = is_asked.then(contract).transpose()?;
        let of = |unit, rows, n, first, arm| {
            let (unit, folds) = (AuditUnit { repeat, ..unit }, ModelFolds { n, first, arm });
            UnitModels { plan, name, block, unit, rows, folds, again, contract }
        };
        if unit.experiment.is_empty() {
            let (own, rows) = (AuditUnit::of_model(name), RowInputs::of_job(b)?);
            return Ok(of(own, rows, plan.n_folds(), 0, None));
        }
        let experiment = plan.experiment_of(unit)?;
        let source = source_of(unit);
        let arm = if source.is_some() { Some(ExperimentArm::Base) } else { arm_of(unit) };
        let Some((arm, fold)) = arm.zip(unit.fold) else {
            return Err(internal_error(format!("no arm and fold of `{}`", unit.experiment)));
        };
        let rows = RowInputs::of_experiment(b, unit)?;
        Ok(match source {
            Some(by @ PredictionSource::OutOfFold) => {
                let (own, rows) =
                    (experiment.predicted_unit(by, fold), rows.in_fold(FoldRoles::Inner, fold));
                of(own, rows, usize::from(INNER_FOLDS), 0, Some((arm, ", out of fold")))
            }
            Some(PredictionSource::InSample) | None => {
                let rows = rows.in_fold(FoldRoles::Audited, fold);
                of(experiment.fold_unit(arm, fold), rows, 1, fold, Some((arm, "")))
            }
        })
    }

    /// The rows that a unit of these models scores: those that are audited, or for predictions in
    /// sample those that train.
    pub(crate) fn scored_rows(&self, unit: &AuditUnit) -> RowInputs<'a> {
        match (source_of(unit), unit.fold) {
            (Some(PredictionSource::InSample), Some(fold)) => {
                self.rows.in_fold(FoldRoles::Training, fold)
            }
            _ => self.rows.clone(),
        }
    }

    /// The model as a command, if it is one.
    pub(crate) fn call(&self) -> Option<CommandCall<'a>> {
        let call = self.plan.call(self.name, self.block)?;
        // Libraries take seeds of 31 bits.
        let seed = self.again.map_or(call.seed, |again| Seed(again.seed.0 >> 33));
        Some(CommandCall { folds: self.folds, seed, ..call })
    }

    /// How the training rows are drawn again; none where they are not.
    pub(crate) fn draw(&self) -> Option<DrawnTraining> {
        self.again?.draw
    }

    /// Puts what makes trained models stale into the key, in addition to their rows.
    ///
    /// # Errors
    /// A part of it cannot be written.
    pub(crate) fn training_inputs(&self, b: &mut StageBuilder<'_, 'a>) -> Result<()> {
        b.texts(self.again.iter().flat_map(TrainingRepeat::inputs));
        match self.call() {
            Some(call) => {
                b.texts(call.model_inputs()?);
                model_files(b, self.name);
            }
            None => {
                if let Some((kind, knobs)) = self.block.trained_here() {
                    b.value(kind.key(), &kind);
                    // The seed only where training uses random numbers.
                    if knobs.draws() {
                        b.seed();
                    }
                }
                b.value("folds", self.folds.n);
            }
        }
        Ok(())
    }

    /// Trains one of them on this number of rows, into the folder of the stage.
    pub(crate) fn train_on(
        &self,
        ctx: &StageContext<'_>,
        layout: &Layout,
        (rows, n_rows): (&TrainingRows<'_>, u64),
        number: usize,
    ) -> Result<()> {
        let seed = self.again.map_or(self.plan.job.run.seed, |again| again.seed);
        let of = (n_rows, seed);
        if let Some(trainer) = self.plan.trainer(self.name, self.block, layout, of)? {
            let path = ctx.out().join(artifact(number));
            return files::write_json(&path, &trainer.fit(rows)?.to_json());
        }
        let Some(call) = self.call() else {
            let what = format!("the model `{}` cannot be trained", self.name);
            return Err(Fault::new("no-training", what).into());
        };
        let trained = call.train_on(ctx, layout, rows, (number, &self.contract(ctx)?));
        trained.map_err(|error| call.with_place(error, "train"))
    }
}

impl UnitModels<'_> {
    /// The contract with a model that is trained elsewhere and asked in the run.
    pub(crate) fn contract(&self, ctx: &StageContext<'_>) -> Result<ModelContract> {
        match &self.contract {
            Some(contract) => contract.open(ctx),
            None => Err(internal_error(format!("no contract with the model `{}`", self.name))),
        }
    }
}

/// Models that are asked for scores, not yet opened.
pub(crate) struct AskedModels<'a> {
    pub(crate) models: UnitModels<'a>,
    train: Option<StageInput<TrainStage>>,
}

impl<'a> AskedModels<'a> {
    /// The models of a unit, trained or as their files say.
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>, unit: &AuditUnit) -> Result<Self> {
        let models = UnitModels::of(unit, b)?;
        let block = models.block;
        let train = block.is_trained().then(|| b.need::<TrainStage>(&models.unit)).transpose()?;
        b.value("scale", models.plan.score_scale(block));
        answer_inputs(b, (models.name, block), models.call())?;
        Ok(AskedModels { models, train })
    }

    /// The scorer of each fold, or one for all folds: trained here, or an ONNX file.
    pub(crate) fn scorers(&self, row_context: RowContext<'_>) -> Result<Vec<Box<dyn Scorer>>> {
        let (ctx, layout) = (row_context.ctx, row_context.rows.layout());
        if self.train.is_some() {
            let trained = self.trained_here(ctx)?.into_iter();
            return Ok(trained.map(|model| model as Box<dyn Scorer>).collect());
        }
        let UnitModels { plan, name, block, .. } = &self.models;
        let contract = self.models.contract(ctx)?;
        let loaded = plan.load_scorer(name, block, layout, &contract)?;
        let lacks = || internal_error(format!("the model `{name}` cannot score rows"));
        loaded.map(|loaded| vec![loaded]).ok_or_else(lacks)
    }

    /// Opens them to be asked for scores.
    pub(crate) fn open<'o>(&'o self, row_context: RowContext<'o>) -> Result<OpenModels<'o>> {
        let Some(call) = self.models.call() else {
            return self.scorers(row_context).map(OpenModels::Here);
        };
        let trained = self.train.as_ref().map(|train| train.folder(row_context.ctx));
        let contract = Box::new(self.models.contract(row_context.ctx)?);
        Ok(OpenModels::Program(call, ProgramFiles { trained, contract }))
    }

    /// The models that were trained here, for what asks them in their own encoding; none where the
    /// model is trained elsewhere.
    pub(crate) fn trained_here(
        &self,
        ctx: &StageContext<'_>,
    ) -> Result<Vec<Box<dyn TrainedModel>>> {
        let UnitModels { block, folds, .. } = &self.models;
        let train = self.train.as_ref().filter(|_| block.is_trained_here());
        train.map_or_else(|| Ok(Vec::new()), |train| train.models(ctx, block, folds.n))
    }

    /// For each of them the groups of an attribute that it knows, by the rows that it was trained
    /// on. What a model trained elsewhere has learned is not known here.
    pub(crate) fn known_groups(
        &self,
        row_context: RowContext<'_>,
        attribute: usize,
    ) -> Result<Vec<Vec<bool>>> {
        if !self.models.block.is_trained_here() {
            let groups = &row_context.rows.layout().attributes[attribute].groups;
            return Ok(vec![vec![true; groups.len()]]);
        }
        let n = self.models.folds.n;
        self.models.rows.with(row_context.ctx, 0, |rows| trained_groups(rows, attribute, n))
    }
}

/// Models that are asked for scores.
pub(crate) enum OpenModels<'a> {
    /// They run here: one for each fold, or one for all.
    Here(Vec<Box<dyn Scorer>>),
    /// A program, with its files.
    Program(CommandCall<'a>, ProgramFiles<'a>),
}

impl OpenModels<'_> {
    /// Hands what `make` makes of the scores of some rows to `take`, block by block: on all threads
    /// where the models run here. Of several classes the scores of a row follow each other; rows
    /// that are not asked for have none. In how many bits they are given.
    ///
    /// # Errors
    /// The rows cannot be read, the model fails, or the run is to stop.
    pub(crate) fn score_blocks<T: Send>(
        &self,
        row_context: RowContext<'_>,
        scored: &dyn AskedRows,
        make: &(dyn Fn(usize, Vec<f64>) -> Result<T> + Sync),
        take: &mut dyn FnMut(T) -> Result<()>,
    ) -> Result<FloatPrecision> {
        let scorers = match self {
            OpenModels::Program(call, files) => {
                let mut blocks = 0..;
                let mut take = |scores| take(make(blocks.next().unwrap_or_default(), scores)?);
                let scored = call.score_into(row_context, scored, files, &mut take);
                return scored.map_err(|error| call.with_place(error, "score"));
            }
            OpenModels::Here(scorers) => scorers,
        };
        let block = |g: usize| {
            let folds = scored.folds(g)?;
            let scores = if folds.iter().all(Option::is_none) {
                let width = scorers.first().map_or(1, |scorer| scorer.width());
                vec![f64::NAN; folds.len() * width]
            } else {
                score_by_fold(scorers, &scored.rows(g)?, |i| folds[i])?
            };
            Ok((folds.len() as u64, make(g, scores)?))
        };
        let blocks = row_context.pieces(scored.n_blocks());
        blocks.in_order(block, |_, made| take(made))?;
        Ok(FloatPrecision::finest(scorers.iter().map(|of| of.precision())))
    }
}

/// Puts what makes the answers of a model stale into the key, in addition to what it is asked.
///
/// # Errors
/// A part of it cannot be written.
pub(crate) fn answer_inputs(
    b: &mut StageBuilder<'_, '_>,
    (name, block): (&str, &ModelBlock),
    call: Option<CommandCall<'_>>,
) -> Result<()> {
    if let Some(onnx) = &block.onnx {
        b.value("onnx", (&onnx.output, &onnx.missing_text));
    }
    if let Some(call) = call {
        b.texts(call.score_inputs()?);
    }
    model_files(b, name);
    Ok(())
}

/// The files on which the scores of a model depend, for every kind of model but `scores`.
fn model_files(b: &mut StageBuilder<'_, '_>, model: &str) {
    let kinds = MODEL_KINDS.iter().filter(|kind| **kind != "scores");
    kinds.for_each(|kind| b.files(&model_what(kind, model)));
}

/// A model, and for its fold with the fewest trees how many it has and how many it was to have.
pub(crate) type FewerTrees<'a> = (&'a str, u64, u64);

/// The models trained here whose growth of trees ended early.
pub(crate) fn short_of_trees<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, Vec<FewerTrees<'a>>>> {
    let n_folds = b.plan.n_folds();
    let models = b.plan.job.models.iter().filter(|(_, model)| model.grows_trees());
    let trees = models.map(|of| (of, AuditUnit::of_model(of.0.as_str())));
    let trees = b.need_each::<TrainStage, _>(trees)?;
    Ok(Box::new(move |ctx| {
        let mut all = Vec::new();
        for ((name, model), trained) in &trees {
            let read = |json: &str| {
                model.trained_here().map_or(Ok(None), |(_, knobs)| knobs.missing_trees(json))
            };
            let found = (0..n_folds).map(|fold| trained.read_artifact(ctx, fold, read));
            let fewest = found.collect::<Result<Vec<_>>>()?.into_iter().flatten().min();
            all.extend(fewest.map(|(grown, asked)| (name.as_str(), grown, asked)));
        }
        Ok(all)
    }))
}
