//! The stages `train`, `threshold` and `score`: models trained here, commands, and scores made
//! elsewhere.

pub mod changed_rows;
pub mod command;
pub mod graph_scoring;
pub mod join;
pub mod recheck;
pub mod threshold;

use std::path::{Path, PathBuf};

use crate::data::Layout;
use crate::data::exchange::keyed::KeyedScores;
use crate::data::rows::aligned::{ScoreReader, create_scores};
use crate::data::rows::training::TrainingRows;
use crate::data::source::ParquetSource;
use crate::error::{Error, Fault, Result};
use crate::exec::misfit;
use crate::exec::{StageContext, files};
use crate::job::blocks::threshold::{ThresholdBlock, ThresholdOf};
use crate::job::{self, ModelBlock};
use crate::model::onnx::OnnxParams;
#[cfg(feature = "onnx")]
use crate::model::onnx::library;
use crate::model::threshold::{FittedThreshold, ThresholdObjective};
use crate::model::{ModelTrainer, Scorer, ThresholdComparison, TrainedModel};
use crate::stage::applied_set::AppliedSet;
use crate::stage::count::classes::{self, ClassScores};
use crate::stage::generate::{GenerateStage, rows};
use crate::stage::input::request::ScoreAnswers;
use crate::stage::plan::StagePlan;
use crate::stage::planner::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::stage::prepare::RowInputs;
use crate::stage::row_context::{DecisionRule, RowContext, RowThreshold};
use crate::stage::score::command::{CommandCall, CommandRows};
use crate::stage::score::join::{RecheckAgainst, RecheckResult};
use crate::stage::{discover, experiment, memory, train, waiting};
use crate::unit::{AuditUnit, UnitField, UnitKind};

impl<'a> StagePlan<'a> {
    /// The trainer of a model, where there is memory enough for it; none for a model that is not
    /// trained here.
    pub(crate) fn trainer(
        &self,
        name: &str,
        model: &ModelBlock,
        layout: &Layout,
        n_training: u64,
    ) -> Result<Option<Box<dyn ModelTrainer>>> {
        let Some(trainer) = train::trainer(model, layout, self.job.run.seed) else {
            return Ok(None);
        };
        let (threads, allowed) = (self.settings.threads, memory::allowed(self.settings));
        train::check_memory(trainer.as_ref(), layout, n_training, threads, allowed)
            .map_err(|e| self.with_model_place(e, &["models", name]))?;
        Ok(Some(trainer))
    }

    /// The model as a command, if it is one.
    pub(crate) fn call(&'a self, name: &'a str, model: &'a ModelBlock) -> Option<CommandCall<'a>> {
        let (n_folds, threads, secret) =
            (self.n_folds(), self.settings.threads, self.secret.as_deref());
        Some(CommandCall {
            model: name,
            command: model.command.as_ref()?,
            checked: self.checked,
            n_folds,
            first_fold: 0,
            arm: None,
            threads,
            secret,
        })
    }

    /// A fault with the line of the key that asks for what is faulty.
    pub(crate) fn with_model_place(&self, error: Error, keys: &[&str]) -> Error {
        error.asked_at(self.checked.places.at(&job::check::path(keys)).filter(|p| p.line > 0))
    }

    #[cfg(feature = "onnx")]
    fn load_onnx(&self, params: OnnxParams) -> Result<Box<dyn Scorer>> {
        Ok(Box::new(crate::model::onnx::OnnxScorer::load(params, &library::libraries())?))
    }

    /// `check` has refused jobs with such models.
    #[cfg(not(feature = "onnx"))]
    fn load_onnx(&self, _: OnnxParams) -> Result<Box<dyn Scorer>> {
        Err(Fault::new("no-runtime", "this build of cfaudit does without ONNX models").into())
    }

    /// A fault with the file and the row of the source that it was found in.
    fn with_source_row(&self, fault: Fault, row: u64) -> Fault {
        match &self.input.import {
            Some(import) => {
                fault.in_file(Path::new(&import.display_path())).at_row(format!("row {row}"))
            }
            // The file was read before; where it has gone since, its row is all that can be said.
            None => match ParquetSource::parquet(&self.input.pattern, &[]) {
                Ok(source) => source.locate_row(fault, row),
                Err(_) => fault.at_row(format!("row {row}")),
            },
        }
    }

    /// Number of classes of the label; none where it has two sides.
    pub(crate) fn n_classes(&self) -> Option<usize> {
        self.job.data.label.classes().map(<[_]>::len)
    }
}

pub(crate) fn artifact(fold: usize) -> String {
    format!("model-{fold}.json")
}

/// The models of all folds, or those of an arm.
pub(crate) struct TrainStage;

/// The thresholds of a model, fitted to its training rows.
pub(crate) struct ThresholdStage;

/// Scores of rows, or of the counterfactuals of a set.
pub(crate) struct ScoreStage;

impl StageInput<TrainStage> {
    /// So many models that were trained here, for what asks them in their own encoding.
    pub(crate) fn models(
        &self,
        ctx: &StageContext<'_>,
        model: &ModelBlock,
        n: usize,
    ) -> Result<Vec<Box<dyn TrainedModel>>> {
        (0..n)
            .map(|fold| self.read_artifact(ctx, fold, |json| train::trained(model, json)))
            .collect()
    }

    /// The same as scorers.
    pub(crate) fn scorers(
        &self,
        ctx: &StageContext<'_>,
        model: &ModelBlock,
        n: usize,
    ) -> Result<Vec<Box<dyn Scorer>>> {
        let models = self.models(ctx, model, n)?.into_iter();
        Ok(models.map(|model| model as Box<dyn Scorer>).collect())
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

impl StageInput<ScoreStage> {
    /// The scores.
    pub(crate) fn open(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
    ) -> Result<ScoreReader> {
        ScoreReader::open(self.folder(ctx), ground.rows, ground.roles)
    }

    /// The scores of each of `n` classes.
    pub(crate) fn of_classes(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        n: usize,
    ) -> Result<ClassScores> {
        ClassScores::open(self.folder(ctx), ground, n)
    }

    /// The folder of the scores of a class; of a label of two sides that of the stage.
    fn class_folder(&self, ctx: &StageContext<'_>, class: Option<usize>) -> PathBuf {
        let folder = self.folder(ctx);
        class.map_or_else(|| folder.to_path_buf(), |class| classes::folder_of(folder, class))
    }

    /// What scoring rows again gave, in a file made elsewhere.
    pub(crate) fn rechecked(&self, ctx: &StageContext<'_>) -> Result<RecheckResult> {
        self.read(ctx, join::RECHECKED)
    }
}

impl StageInput<ThresholdStage> {
    /// The thresholds, fold by fold.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<Vec<FittedThreshold>> {
        threshold::read(self.folder(ctx))
    }
}

/// A model that is asked for scores, to be opened.
pub(crate) struct AskedModel<'a> {
    plan: &'a StagePlan<'a>,
    name: &'a str,
    model: &'a ModelBlock,
    call: Option<CommandCall<'a>>,
    train: Option<StageInput<TrainStage>>,
}

impl<'a> AskedModel<'a> {
    /// The model, trained or as its files say.
    pub(crate) fn need(
        b: &mut StageBuilder<'_, 'a>,
        name: &'a str,
        model: &'a ModelBlock,
    ) -> Result<Self> {
        let plan = b.plan;
        let call = plan.call(name, model);
        let trains = model.is_trained();
        let train = trains.then(|| b.need::<TrainStage>(&AuditUnit::of_model(name))).transpose()?;
        if let Some(onnx) = &model.onnx {
            b.value("onnx", onnx);
        }
        b.texts(call.iter().flat_map(CommandCall::score_inputs));
        model_files(b, name);
        Ok(AskedModel { plan, name, model, call, train })
    }

    /// The model as a command, if it is one.
    pub(crate) fn call(&self) -> Option<&CommandCall<'a>> {
        self.call.as_ref()
    }

    /// The folder of the models that a command trained.
    pub(crate) fn trained<'c>(&self, ctx: &'c StageContext<'_>) -> Option<&'c Path> {
        self.train.as_ref().map(|train| train.folder(ctx))
    }

    /// The models of all folds, or the one for all: trained here, or an ONNX file.
    pub(crate) fn scorers(
        &self,
        ctx: &StageContext<'_>,
        layout: &Layout,
    ) -> Result<Vec<Box<dyn Scorer>>> {
        if let Some(onnx) = &self.model.onnx {
            let params = train::onnx_params(onnx, layout);
            let plan = self.plan;
            let loaded = plan.load_onnx(params).map(|scorer| vec![scorer]);
            return loaded.map_err(|e| plan.with_model_place(e, &["models", self.name, "onnx"]));
        }
        match &self.train {
            Some(train) => train.scorers(ctx, self.model, self.plan.n_folds()),
            None => Err(misfit(format!("the model `{}` cannot be asked", self.name))),
        }
    }
}

/// The files that decide what the command or the ONNX file of a model says.
pub(crate) fn model_files(b: &mut StageBuilder<'_, '_>, model: &str) {
    let files = b.plan.input.files_of_model(model);
    files.for_each(|file| {
        b.file(file);
    });
}

/// How scores of a model become decisions, to be opened.
pub(crate) struct RuleInputs<'a> {
    model: &'a ModelBlock,
    /// The thresholds of the folds; none where the job says the threshold.
    fitted: Vec<StageInput<ThresholdStage>>,
}

impl<'a> RuleInputs<'a> {
    /// The rule of a model in the plain audit.
    pub(crate) fn need(
        b: &mut StageBuilder<'_, 'a>,
        name: &str,
        model: &'a ModelBlock,
    ) -> Result<Self> {
        RuleInputs::of_units(b, "", model, [AuditUnit::of_model(name)])
    }

    /// The same for a stage of several models.
    pub(crate) fn of_several(
        b: &mut StageBuilder<'_, 'a>,
        name: &str,
        model: &'a ModelBlock,
    ) -> Result<Self> {
        RuleInputs::of_units(b, &format!("models.{name}."), model, [AuditUnit::of_model(name)])
    }

    /// The rule by the thresholds of some units, which the key names with this prefix.
    pub(crate) fn of_units(
        b: &mut StageBuilder<'_, 'a>,
        prefix: &str,
        model: &'a ModelBlock,
        units: impl IntoIterator<Item = AuditUnit>,
    ) -> Result<Self> {
        b.value(&format!("{prefix}threshold"), &model.threshold);
        b.value(&format!("{prefix}threshold_rule"), &model.threshold_rule);
        let units = units.into_iter().filter(|_| model.threshold.is_fitted());
        let fitted = units.map(|unit| b.need::<ThresholdStage>(&unit)).collect::<Result<_>>()?;
        Ok(RuleInputs { model, fitted })
    }

    /// The rule.
    pub(crate) fn open(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
    ) -> Result<DecisionRule> {
        let decision = match self.model.threshold_rule {
            job::ThresholdRule::Ge => ThresholdComparison::AtOrAbove,
            job::ThresholdRule::Gt => ThresholdComparison::Above,
        };
        let threshold = match &self.model.threshold {
            ThresholdBlock::Fixed(share) => RowThreshold::Fixed(share.get()),
            ThresholdBlock::Of(ThresholdOf::Column(column)) => {
                let carried = &ground.rows.layout().carried;
                RowThreshold::Carried(
                    carried.iter().position(|c| c == column.as_str()).unwrap_or(usize::MAX),
                )
            }
            ThresholdBlock::Of(_) => {
                let fitted = self.fitted.iter().map(|stage| stage.open(ctx));
                let fitted = fitted.collect::<Result<Vec<_>>>()?.concat();
                RowThreshold::Folds(fitted.iter().map(|fitted| fitted.threshold).collect())
            }
        };
        Ok(DecisionRule { decision, threshold })
    }
}

/// The models trained here that grow trees, to be opened.
pub(crate) struct TreeInputs<'a>(Vec<(&'a str, &'a ModelBlock, StageInput<TrainStage>)>);

impl<'a> TreeInputs<'a> {
    /// Those of the job.
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let models = b.plan.job.models.iter().filter(|(_, model)| model.grows_trees());
        let trees = models.map(|(name, model)| {
            let trained = b.need::<TrainStage>(&AuditUnit::of_model(name.as_str()))?;
            Ok((name.as_str(), model, trained))
        });
        Ok(TreeInputs(trees.collect::<Result<_>>()?))
    }

    /// Those whose growth ended early: the name, and of the fold with the fewest trees how many it
    /// has and was to have.
    pub(crate) fn short_of_trees(
        &self,
        ctx: &StageContext<'_>,
        n_folds: usize,
    ) -> Result<Vec<(&'a str, u64, u64)>> {
        let mut all = Vec::new();
        for (name, model, trained) in &self.0 {
            let found: Vec<Option<(u64, u64)>> = (0..n_folds)
                .map(|fold| {
                    trained.read_artifact(ctx, fold, |json| train::missing_trees(model, json))
                })
                .collect::<Result<_>>()?;
            let fewest = found.into_iter().flatten().min();
            all.extend(fewest.map(|(grown, asked)| (*name, grown, asked)));
        }
        Ok(all)
    }
}

impl Stage for TrainStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Train;
    const FIELDS: &'static [UnitField] = &[
        UnitField::Model,
        UnitField::Experiment,
        UnitField::Arm,
        UnitField::Fold,
        UnitField::Predictions,
    ];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        if !unit.experiment.is_empty() {
            return experiment::plan_train(unit, b);
        }
        let plan = b.plan;
        let (name, model) = plan.model_of(unit)?;
        let rows = RowInputs::of_job(b)?;
        if let Some(call) = plan.call(name, model) {
            b.texts(call.model_inputs());
            model_files(b, name);
            return work(move |ctx| rows.with(ctx, 0, |ground| call.train(ctx, ground)));
        }
        b.texts(train::model_inputs(model, plan.job.run.seed));
        let n_folds = b.value("folds", plan.n_folds());
        work(move |ctx| {
            rows.with(ctx, 0, |ground| {
                for fold in 0..n_folds {
                    let fold_number = u8::try_from(fold).unwrap_or(u8::MAX);
                    let rows = TrainingRows::of_fold(
                        ground.rows,
                        ground.roles,
                        fold_number,
                        ground.workers,
                        ground.watch,
                    );
                    let n_training = ground.roles.n_trained();
                    let Some(trainer) =
                        plan.trainer(name, model, ground.rows.layout(), n_training)?
                    else {
                        continue;
                    };
                    let fitted = trainer.fit(&rows)?;
                    files::write_json(&ctx.out().join(artifact(fold)), &fitted.to_json())?;
                }
                Ok(())
            })
        })
    }
}

impl Stage for ThresholdStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Threshold;
    const FIELDS: &'static [UnitField] =
        &[UnitField::Model, UnitField::Experiment, UnitField::Arm, UnitField::Fold];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        if !unit.experiment.is_empty() {
            return experiment::plan_threshold(unit, b);
        }
        let plan = b.plan;
        let (name, model) = plan.model_of(unit)?;
        let objective = fitted_objective(name, model)?;
        let rows = RowInputs::of_job(b)?;
        b.value("threshold", &model.threshold);
        if let Some(scores) = &model.scores {
            b.value("scores", &scores.factual);
        }
        let asked = AskedModel::need(b, name, model)?;
        work(move |ctx| {
            rows.with(ctx, 0, |ground| {
                let fitted = match (asked.call(), &model.scores) {
                    (Some(call), _) => {
                        fit_by_command(ctx, ground, call, objective, asked.trained(ctx))?
                    }
                    (None, Some(scores)) => {
                        let column =
                            scores.factual.column.as_ref().map_or("", |column| column.as_str());
                        let carried = carried_column(ground, column)?;
                        threshold::fit_carried(ground, objective, carried)?
                    }
                    (None, None) => threshold::fit_scored(
                        ground,
                        objective,
                        &asked.scorers(ctx, ground.rows.layout())?,
                    )?,
                };
                threshold::write(ctx.out(), &fitted)
            })
            .map_err(|e| plan.with_model_place(e, &["models", name, "threshold"]))
        })
    }
}

/// What the threshold of a model is fitted for.
pub(crate) fn fitted_objective(name: &str, model: &ModelBlock) -> Result<ThresholdObjective> {
    threshold::objective(&model.threshold)
        .ok_or_else(|| misfit(format!("the threshold of `{name}` is not fitted")))
}

/// Asks a command for the scores of the training rows, fold after fold. `trained` is the folder of
/// the models that it trained.
pub(crate) fn fit_by_command(
    ctx: &StageContext<'_>,
    ground: RowContext<'_>,
    call: &CommandCall<'_>,
    objective: ThresholdObjective,
    trained: Option<&Path>,
) -> Result<Vec<FittedThreshold>> {
    let mut readers = Vec::new();
    for fold in 0..ground.roles.n_folds() {
        let scored = command::CommandRows::Training(u8::try_from(fold).unwrap_or(u8::MAX));
        let out = ctx.out().join(format!("fold-{fold}"));
        files::make_folder(&out)?;
        let (encoder, mut writer) = create_scores(&out)?;
        call.score_into(ctx, ground, scored, trained, &mut |scores| {
            writer.append(encoder.encode(&scores)?)
        })?;
        writer.finish()?;
        readers.push(ScoreReader::pooled(&[out.as_path()])?);
    }
    threshold::fit(ground, objective, |g, fold, _, mine| {
        let scores = readers[fold].read(g)?;
        Ok(mine.iter().map(|&i| scores[i]).collect())
    })
}

fn carried_column(ground: RowContext<'_>, column: &str) -> Result<usize> {
    let position = ground.rows.layout().carried.iter().position(|c| c == column);
    position.ok_or_else(|| {
        Fault::new("missing-column", format!("the rows have no column `{column}`")).into()
    })
}

impl Stage for ScoreStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Score;
    const FIELDS: &'static [UnitField] = UnitField::ALL;

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        if !unit.experiment.is_empty() {
            return experiment::plan_score(unit, b);
        }
        let plan = b.plan;
        let (name, model) = plan.model_of(unit)?;
        let world = (!unit.set.is_empty()).then(|| plan.set_of(unit)).transpose()?;
        if let Some((world, graphs)) = world.as_ref().and_then(|w| Some((w, w.graphs()?)))
            && model.command.is_none()
        {
            return discover::plan_graph_score(unit, world, graphs, b);
        }
        if let Some(scores) = &model.scores {
            return plan_made_elsewhere(unit, scores, world, b);
        }
        let rows = RowInputs::of_job(b)?;
        let asked = AskedModel::need(b, name, model)?;
        let made = match world {
            None => None,
            Some(world) => Some((b.need::<GenerateStage>(unit)?, world.position)),
        };
        let passes = plan.n_classes().unwrap_or(1) as u64;
        work(move |ctx| {
            let passes = if asked.call().is_some() { 1 } else { passes };
            rows.with(ctx, passes, |ground| {
                let layout = ground.rows.layout();
                match (asked.call(), &made) {
                    (Some(call), None) => {
                        call.score(ctx, ground, CommandRows::Rows, asked.trained(ctx))
                    }
                    (Some(call), Some((made, position))) => {
                        let (made, attribute) =
                            (made.open(ctx, ground)?, &layout.attributes[*position]);
                        let rows = CommandRows::Counterfactuals(&made, attribute);
                        call.score(ctx, ground, rows, asked.trained(ctx))
                    }
                    (None, None) => {
                        rows::score_rows(ground, &asked.scorers(ctx, layout)?, ctx.out())
                    }
                    (None, Some((made, position))) => {
                        let scorers = asked.scorers(ctx, layout)?;
                        // What a model made elsewhere has learned is not known here.
                        let known = match model.is_trained_here() {
                            true => rows::trained_groups(ground, *position, scorers.len())?,
                            false => vec![vec![true; layout.attributes[*position].groups.len()]],
                        };
                        rows::score_counterfactuals(
                            ground,
                            &scorers,
                            &made.open(ctx, ground)?,
                            &known,
                            ctx.out(),
                        )
                    }
                }
            })
        })
    }
}

/// Scores in a column of the rows or in a file; waits for a file that is not there.
fn plan_made_elsewhere<'a>(
    unit: &AuditUnit,
    scores: &'a job::ScoresBlock,
    world: Option<AppliedSet<'a>>,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let (name, _) = plan.model_of(unit)?;
    let set = world.as_ref().map(|world| world.set);
    let rows = RowInputs::of_job(b)?;
    b.value("scores", scores);
    if let Some(classes) = plan.job.data.label.classes() {
        b.value("data.label.classes", classes);
    }
    let mut answer = None;
    if set.is_some() || scores.factual.parquet.is_some() {
        answer = ScoreAnswers::need(b, name, set)?;
        if answer.is_none() {
            return b.wait();
        }
    }
    let passes = plan.n_classes().unwrap_or(1) as u64;
    let Some(world) = world else {
        return work(move |ctx| {
            rows.with(ctx, passes, |ground| {
                factual_scores(plan, ctx, ground, scores, answer.as_ref())
                    .map_err(|e| plan.with_model_place(e, &["models", name, "scores", "factual"]))
            })
        });
    };
    let Some((answer, file)) = answer.zip(scores.counterfactual.as_ref()) else {
        return Err(misfit(format!("the model `{name}` has no scores of counterfactuals")));
    };
    waiting::recheck_inputs(b);
    let again = match scores.recheck {
        None => None,
        Some(recheck) => {
            Some((b.need::<ScoreStage>(&AuditUnit::of_model(name))?, recheck.tolerance.get()))
        }
    };
    let joined =
        JoinedSet { plan, answer, file, again, made: b.need::<GenerateStage>(unit)?, world };
    work(move |ctx| {
        rows.with(ctx, passes, |ground| {
            joined.write(ctx, ground).map_err(|e| {
                plan.with_model_place(e, &["models", name, "scores", "counterfactual"])
            })
        })
    })
}

/// Scores of several classes stand in a folder each; one score a row stands in the folder of the
/// stage.
fn score_folder(plan: &StagePlan<'_>, out: &Path, class: usize) -> Result<PathBuf> {
    let Some(_) = plan.n_classes() else { return Ok(out.to_path_buf()) };
    let folder = classes::folder_of(out, class);
    files::make_folder(&folder)?;
    Ok(folder)
}

fn factual_scores(
    plan: &StagePlan<'_>,
    ctx: &StageContext<'_>,
    ground: RowContext<'_>,
    scores: &job::ScoresBlock,
    answer: Option<&ScoreAnswers<'_>>,
) -> Result<()> {
    let layout = ground.rows.layout();
    let columns = scores.factual.score_columns(plan.job.data.label.classes());
    let Some(answer) = answer else {
        return columns.into_iter().enumerate().try_for_each(|(class, column)| {
            let carried = (carried_column(ground, column.as_str())?, column.as_str());
            rows::check_carried(
                ground,
                carried,
                &|fault, row| plan.with_source_row(fault, row),
                &score_folder(plan, ctx.out(), class)?,
            )
        });
    };
    let open = |column: &str| {
        KeyedScores::open(answer.path, column, layout.row_id, None, &layout.attributes)
    };
    let Some(first) = columns.first() else { return Ok(()) };
    answer.join(plan, ctx, &open(first.as_str())?, || {
        columns.iter().enumerate().try_for_each(|(class, column)| {
            join::join_rows(ground, &open(column.as_str())?, &score_folder(plan, ctx.out(), class)?)
        })
    })
}

/// Scores of the counterfactuals of a set, in a file made elsewhere.
struct JoinedSet<'a> {
    plan: &'a StagePlan<'a>,
    answer: ScoreAnswers<'a>,
    file: &'a job::CounterfactualScores,
    /// The scores of the rows as they are, and how far those that come again may differ.
    again: Option<(StageInput<ScoreStage>, f64)>,
    made: StageInput<GenerateStage>,
    world: AppliedSet<'a>,
}

impl JoinedSet<'_> {
    fn write(&self, ctx: &StageContext<'_>, ground: RowContext<'_>) -> Result<()> {
        let (plan, position) = (self.plan, self.world.position);
        let layout = ground.rows.layout();
        let counterfactuals = self.made.open(ctx, ground)?;
        let sample = plan.recheck_sample(ground, position)?;
        let columns = self.file.score_columns(plan.job.data.label.classes());
        let open = |column: &str| {
            let attribute = Some(&layout.attributes[position]);
            KeyedScores::open(
                self.answer.path,
                column,
                layout.row_id,
                attribute,
                &layout.attributes,
            )
        };
        let join = |class: usize, column: &str| {
            let file = open(column)?;
            let factual = match &self.again {
                None => None,
                Some((scores, tolerance)) => {
                    let class = plan.n_classes().map(|_| class);
                    let folder = scores.class_folder(ctx, class);
                    Some((ScoreReader::open(&folder, ground.rows, ground.roles)?, *tolerance))
                }
            };
            let factual = factual.as_ref().map(|(scores, tolerance)| (scores, *tolerance));
            let recheck = sample.as_ref().map(|sample| RecheckAgainst { sample, factual });
            let out = score_folder(plan, ctx.out(), class)?;
            join::join_counterfactuals(ground, &file, &counterfactuals, position, recheck, &out)
        };
        let Some(first) = columns.first() else { return Ok(()) };
        let rechecked = self.answer.join(plan, ctx, &open(first.as_str())?, || {
            columns.iter().enumerate().try_fold(RecheckResult::default(), |all, (class, column)| {
                let one = join(class, column.as_str())?;
                // The same rows for every class.
                Ok(RecheckResult { largest: all.largest.max(one.largest), ..one })
            })
        })?;
        if self.again.is_some() {
            files::write_json(&ctx.out().join(join::RECHECKED), &rechecked)?;
        }
        Ok(())
    }
}
