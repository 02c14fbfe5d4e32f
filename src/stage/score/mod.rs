//! The stages `train` and `score`: models trained here, commands, and scores made elsewhere.

pub mod changed_rows;
pub mod command;
pub mod graph_scoring;
pub mod join;
pub mod recheck;
pub mod threshold;

use std::path::{Path, PathBuf};

use crate::data::Layout;
use crate::data::exchange::keyed::KeyedScores;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader, create_scores};
use crate::data::rows::training::TrainingRows;
use crate::data::source::ParquetSource;
use crate::error::{Error, Fault, Result};
use crate::exec::{PlannedStage, StageContext, files};
use crate::job::{self, ModelBlock};
use crate::model::onnx::OnnxParams;
#[cfg(feature = "onnx")]
use crate::model::onnx::library;
use crate::model::threshold::{FittedThreshold, ThresholdObjective};
use crate::model::{ModelTrainer, Scorer, TrainedModel};
use crate::stage::applied_set::{AppliedSet, canonical_text};
use crate::stage::count::classes;
use crate::stage::generate::rows;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;
use crate::stage::score::command::CommandCall;
use crate::stage::score::join::{RecheckAgainst, RecheckResult};
use crate::stage::{input, memory, train};

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

    pub(crate) fn train_stage(&'a self, name: &'a str, model: &'a ModelBlock) -> PlannedStage<'a> {
        let mut made_of = train::model_inputs(model, self.job.run.seed);
        made_of.push(("folds".to_owned(), self.n_folds().to_string()));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                for fold in 0..self.n_folds() {
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
                        self.trainer(name, model, ground.rows.layout(), n_training)?
                    else {
                        continue;
                    };
                    let fitted = trainer.fit(&rows)?;
                    files::write_json(&ctx.out().join(artifact(fold)), &fitted.to_json())?;
                }
                Ok(())
            })
        };
        self.stage(Self::train_id(name), "train", Self::context_needs(), made_of, run)
    }

    /// The stage that fits the threshold of a model to its training rows; none where the job says
    /// it.
    pub(crate) fn threshold_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
    ) -> Option<PlannedStage<'a>> {
        let (id, objective) =
            (Self::threshold_id(name, model)?, threshold::objective(&model.threshold)?);
        let mut needs = Self::context_needs();
        let call = self.call(name, model);
        let train = self.train_stage_of(name, model).map(|_| Self::train_id(name));
        needs.extend(train.clone());
        let mut made_of = vec![("threshold".to_owned(), canonical_text(&model.threshold))];
        made_of.extend(
            model
                .scores
                .as_ref()
                .map(|scores| ("scores".to_owned(), canonical_text(&scores.factual))),
        );
        made_of.extend(model.onnx.as_ref().map(|onnx| ("onnx".to_owned(), canonical_text(onnx))));
        made_of.extend(call.iter().flat_map(CommandCall::score_inputs));
        made_of.extend(self.input.files_of_model(name));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                let fitted = match (&call, &model.scores) {
                    (Some(call), _) => Self::fit_by_command(
                        ctx,
                        ground,
                        call,
                        objective,
                        train.as_deref().map(|id| ctx.need(id)),
                    )?,
                    (None, Some(scores)) => {
                        let column =
                            scores.factual.column.as_ref().map_or("", |column| column.as_str());
                        let carried = Self::carried_column(ground, column)?;
                        threshold::fit_carried(ground, objective, carried)?
                    }
                    (None, None) => threshold::fit_scored(
                        ground,
                        objective,
                        &self.scorers(ctx, name, model, ground.rows.layout())?,
                    )?,
                };
                threshold::write(ctx.out(), &fitted)
            })
            .map_err(|e| self.with_model_place(e, &["models", name, "threshold"]))
        };
        Some(self.stage(id, "score", needs, made_of, run))
    }

    /// Asks a command for the scores of the training rows, fold after fold. `trained` is the folder
    /// of the models that it trained.
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
            readers.push(ScoreReader::open(&out)?);
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

    pub(crate) fn train_command_stage(&'a self, call: CommandCall<'a>) -> PlannedStage<'a> {
        let mut made_of = call.model_inputs();
        made_of.extend(self.input.files_of_model(call.model));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| call.train(ctx, ground))
        };
        self.stage(Self::train_id(call.model), "train", Self::context_needs(), made_of, run)
    }

    fn score_command_stage(
        &'a self,
        call: CommandCall<'a>,
        world: Option<&AppliedSet<'a>>,
    ) -> PlannedStage<'a> {
        let mut needs = Self::context_needs();
        let train = call.command.train.as_ref().map(|_| Self::train_id(call.model));
        needs.extend(train.clone());
        needs.extend(world.map(|w| w.id("generate")));
        let mut made_of = call.score_inputs();
        made_of.extend(self.input.files_of_model(call.model));
        let id =
            world.map_or_else(|| Self::score_id(call.model), |world| world.score_id(call.model));
        let world = world.cloned();
        let run = move |ctx: &StageContext<'_>| {
            let trained = train.as_ref().map(|id| ctx.need(id));
            self.with_context(ctx, 1, |ground| match &world {
                None => call.score(ctx, ground, command::CommandRows::Rows, trained),
                Some(world) => {
                    let counterfactuals =
                        CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                    let attribute = &ground.rows.layout().attributes[world.position];
                    call.score(
                        ctx,
                        ground,
                        command::CommandRows::Counterfactuals(&counterfactuals, attribute),
                        trained,
                    )
                }
            })
        };
        self.stage(id, "score", needs, made_of, run)
    }

    pub(crate) fn score_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        world: Option<&AppliedSet<'a>>,
    ) -> PlannedStage<'a> {
        if let Some(call) = self.call(name, model) {
            return self.score_command_stage(call, world);
        }
        if let Some((world, graphs)) = world.and_then(|world| Some((world, world.graphs()?))) {
            return self.graph_score_stage(name, model, world, graphs);
        }
        let mut needs = Self::context_needs();
        let mut made_of = Vec::new();
        if let Some(onnx) = &model.onnx {
            made_of.push(("onnx".to_owned(), canonical_text(onnx)));
            made_of.extend(self.input.files_of_model(name));
        }
        if model.is_trained_here() {
            needs.push(Self::train_id(name));
        }
        if let Some(scores) = &model.scores {
            made_of.push(("scores".to_owned(), canonical_text(scores)));
            made_of.extend(
                self.job
                    .data
                    .label
                    .classes()
                    .map(|classes| ("data.label.classes".to_owned(), canonical_text(&classes))),
            );
            let set = world.map(|w| w.set);
            let is_file = set.is_some() || scores.factual.parquet.is_some();
            needs.extend(is_file.then(|| Self::request_id(set)));
            made_of.extend(
                self.input
                    .scores_of(name, set)
                    .map(|f| (format!("file {}", f.path), f.sha256.clone())),
            );
        }
        let mut id = Self::score_id(name);
        if let Some(world) = world {
            if let Some(scores) = &model.scores {
                made_of.extend(self.recheck_inputs());
                needs.extend(scores.recheck.map(|_| id.clone()));
            }
            id = world.score_id(name);
            needs.push(world.id("generate"));
        }
        let (name, world) = (name.to_owned(), world.cloned());
        let passes = self.n_classes().unwrap_or(1) as u64;
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, passes, |ground| match (&model.scores, &world) {
                (None, None) => rows::score_rows(
                    ground,
                    &self.scorers(ctx, &name, model, ground.rows.layout())?,
                    ctx.out(),
                ),
                (None, Some(world)) => {
                    let counterfactuals =
                        CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                    let scorers = self.scorers(ctx, &name, model, ground.rows.layout())?;
                    // What a model made elsewhere has learned is not known here.
                    let known = match model.is_trained_here() {
                        true => rows::trained_groups(ground, world.position, scorers.len())?,
                        false => {
                            vec![vec![
                                true;
                                ground.rows.layout().attributes[world.position].groups.len()
                            ]]
                        }
                    };
                    rows::score_counterfactuals(
                        ground,
                        &scorers,
                        &counterfactuals,
                        &known,
                        ctx.out(),
                    )
                }
                (Some(scores), None) => self
                    .factual_scores(ctx, ground, &name, scores)
                    .map_err(|e| self.with_model_place(e, &["models", &name, "scores", "factual"])),
                (Some(scores), Some(world)) => {
                    self.counterfactual_scores(ground, &name, scores, world, ctx).map_err(|e| {
                        self.with_model_place(e, &["models", &name, "scores", "counterfactual"])
                    })
                }
            })
        };
        self.stage(id, "score", needs, made_of, run)
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

    /// The models of all folds, or the one for all: trained here, or an ONNX file.
    pub(crate) fn scorers(
        &self,
        ctx: &StageContext<'_>,
        name: &str,
        model: &ModelBlock,
        layout: &Layout,
    ) -> Result<Vec<Box<dyn Scorer>>> {
        if let Some(onnx) = &model.onnx {
            let params = train::onnx_params(onnx, layout);
            return self
                .load_onnx(params)
                .map(|scorer| vec![scorer])
                .map_err(|e| self.with_model_place(e, &["models", name, "onnx"]));
        }
        Self::scorers_in(ctx.need(&Self::train_id(name)), model, self.n_folds())
    }

    /// The models of so many folds that a stage trained here.
    pub(crate) fn scorers_in(
        folder: &Path,
        model: &ModelBlock,
        n_folds: usize,
    ) -> Result<Vec<Box<dyn Scorer>>> {
        Ok(Self::trained_in(folder, model, n_folds)?
            .into_iter()
            .map(|model| model as Box<dyn Scorer>)
            .collect())
    }

    /// As [`StagePlan::scorers_in`], for what asks them in their own encoding.
    pub(crate) fn trained_in(
        folder: &Path,
        model: &ModelBlock,
        n_folds: usize,
    ) -> Result<Vec<Box<dyn TrainedModel>>> {
        (0..n_folds)
            .map(|fold| Self::read_artifact(folder, fold, |json| train::trained(model, json)))
            .collect()
    }

    /// The models trained here whose growth ended early: the name, and of the fold with the fewest
    /// trees how many it has and was to have.
    pub(crate) fn short_of_trees(
        &self,
        ctx: &StageContext<'_>,
    ) -> Result<Vec<(&'a str, u64, u64)>> {
        let mut all = Vec::new();
        for (name, model) in self.job.models.iter().filter(|(_, model)| model.grows_trees()) {
            let folder = ctx.need(&Self::train_id(name.as_str()));
            let found: Vec<Option<(u64, u64)>> = (0..self.n_folds())
                .map(|fold| {
                    Self::read_artifact(folder, fold, |json| train::missing_trees(model, json))
                })
                .collect::<Result<_>>()?;
            all.extend(
                found
                    .into_iter()
                    .flatten()
                    .min()
                    .map(|(grown, asked)| (name.as_str(), grown, asked)),
            );
        }
        Ok(all)
    }

    fn read_artifact<T>(
        folder: &Path,
        fold: usize,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T> {
        let path = folder.join(artifact(fold));
        let json = files::read_text(&path)?;
        read(&json).map_err(|cause| {
            Error::operator("read", &path, cause, "delete the cache and run again")
        })
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

    /// Scores of several classes stand in a folder each; one score a row stands in the folder of
    /// the stage.
    fn score_folder(&self, out: &Path, class: usize) -> Result<PathBuf> {
        let Some(_) = self.n_classes() else { return Ok(out.to_path_buf()) };
        let folder = classes::folder_of(out, class);
        files::make_folder(&folder)?;
        Ok(folder)
    }

    fn factual_scores(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        model: &str,
        scores: &job::ScoresBlock,
    ) -> Result<()> {
        let layout = ground.rows.layout();
        let columns = scores.factual.score_columns(self.job.data.label.classes());
        let Some(path) = &scores.factual.parquet else {
            return columns.into_iter().enumerate().try_for_each(|(class, column)| {
                let carried = (Self::carried_column(ground, column.as_str())?, column.as_str());
                rows::copy_scores(
                    ground,
                    carried,
                    &|fault, row| self.with_source_row(fault, row),
                    &self.score_folder(ctx.out(), class)?,
                )
            });
        };
        let open = |column: &str| {
            KeyedScores::open(Path::new(path), column, layout.row_id, None, &layout.attributes)
        };
        let Some(first) = columns.first() else { return Ok(()) };
        self.join_answer(ctx, &open(first.as_str())?, (model, None), || {
            columns.iter().enumerate().try_for_each(|(class, column)| {
                join::join_rows(
                    ground,
                    &open(column.as_str())?,
                    &self.score_folder(ctx.out(), class)?,
                )
            })
        })
    }

    fn counterfactual_scores(
        &self,
        ground: RowContext<'_>,
        model: &str,
        scores: &job::ScoresBlock,
        world: &AppliedSet<'_>,
        ctx: &StageContext<'_>,
    ) -> Result<()> {
        let Some(file) = &scores.counterfactual else {
            return Err(
                Fault::new("missing-scores", "the model has no scores of counterfactuals").into()
            );
        };
        let layout = ground.rows.layout();
        let attribute = &layout.attributes[world.position];
        let path = input::scores_path(&file.parquet, world.set);
        let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
        let again = self.recheck_sample(ground, world.position)?;
        let columns = file.score_columns(self.job.data.label.classes());
        let open = |column: &str| {
            KeyedScores::open(
                Path::new(&path),
                column,
                layout.row_id,
                Some(attribute),
                &layout.attributes,
            )
        };
        let join = |class: usize, column: &str| {
            let file = open(column)?;
            let factual = match scores.recheck {
                None => None,
                Some(recheck) => {
                    let folder = ctx.need(&Self::score_id(model));
                    let folder = if self.n_classes().is_some() {
                        classes::folder_of(folder, class)
                    } else {
                        folder.to_path_buf()
                    };
                    Some((ScoreReader::open(&folder)?, recheck.tolerance.get()))
                }
            };
            let factual = factual.as_ref().map(|(scores, tolerance)| (scores, *tolerance));
            let recheck = again.as_ref().map(|again| RecheckAgainst { sample: again, factual });
            let out = self.score_folder(ctx.out(), class)?;
            join::join_counterfactuals(
                ground,
                &file,
                &counterfactuals,
                world.position,
                recheck,
                &out,
            )
        };
        let Some(first) = columns.first() else { return Ok(()) };
        let rechecked =
            self.join_answer(ctx, &open(first.as_str())?, (model, Some(world.set)), || {
                columns.iter().enumerate().try_fold(
                    RecheckResult::default(),
                    |all, (class, column)| {
                        let one = join(class, column.as_str())?;
                        // The same rows for every class.
                        Ok(RecheckResult { largest: all.largest.max(one.largest), ..one })
                    },
                )
            })?;
        if scores.recheck.is_some() {
            files::write_json(&ctx.out().join(join::RECHECKED), &rechecked)?;
        }
        Ok(())
    }
}

pub(crate) fn artifact(fold: usize) -> String {
    format!("model-{fold}.json")
}
