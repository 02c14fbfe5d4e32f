//! The stages of experiments: a model is trained again with rows added, once for each arm and fold,
//! and measured beside the model as it was.
//!
//! Everything of an arm and a fold is a stage of its own, so a run that was stopped goes on at the
//! arm and fold where it stopped.

pub mod arms;
pub mod folds;
mod plan;

use std::ops::Range;
use std::path::Path;

use crate::augment::ExperimentArm;
use crate::augment::adasyn::AdasynSettings;
use crate::augment::choose::{CounterfactualSelection, SelectionRule};
use crate::data::Layout;
use crate::data::rows::RowsReader;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::data::rows::split::{self, RolesReader, SplitMethod as SplitRule, Stratification};
use crate::data::rows::training::TrainingRows;
use crate::error::{Error, Fault, Result};
use crate::exec::{PlannedStage, StageContext, files};
use crate::job::KeepRows;
use crate::job::blocks::experiments::{self, ExperimentBlock, LabelSide, PredictionSource};
use crate::param::{Name, Word};
use crate::stage::applied_set::{AppliedSet, canonical_text, with_watch};
use crate::stage::artifact::ROLES;
use crate::stage::count::KEEP_ROWS_BELOW;
use crate::stage::count::evidence::{self, BlockSettings, CountInputs};
use crate::stage::experiment::arms::{ArmFactualEvidence, ArmFolder, ArmShiftEvidence};
use crate::stage::experiment::folds::{
    ADDED, AddedRows, ArmSelection, CandidatePool, CandidateScores, FoldRoles, INNER_FOLDS,
};
use crate::stage::generate::artifact as learnt_artifact;
use crate::stage::generate::rows::{self, GeneratedEffects};
use crate::stage::measure::{counted_audit, score_shift};
use crate::stage::plan::{StagePlan, unique_inputs};
use crate::stage::row_context::DecisionRule;
use crate::stage::row_context::RowContext;
use crate::stage::score::command::{self, CommandCall};
use crate::stage::score::{artifact, threshold};
use crate::stage::train;
use crate::table::file::write_frame;
use crate::table::{THRESHOLDS, TableFrame};

use self::plan::{ArmModels, ExperimentPlan};

/// The stage with the tables of the audit and of all experiments.
pub(crate) const AUGMENT: &str = "augment";

/// The stage with the rows that arms chose. `augment/selected` would be the stage of an experiment
/// of that name.
pub(crate) const SELECTED_STAGE: &str = "selected";

const KIND: &str = "augment";

impl<'a> StagePlan<'a> {
    /// The experiments of the job.
    pub(crate) fn experiments(&self) -> Vec<ExperimentPlan<'a>> {
        let trial = |(name, block): (&'a Name, &'a ExperimentBlock)| {
            let own = block.folds.is_some().then_some(name.as_str());
            let n_folds = block.folds.map_or_else(
                || self.n_folds(),
                |folds| usize::try_from(folds.get()).unwrap_or(usize::MAX),
            );
            Some(ExperimentPlan {
                name: name.as_str(),
                block,
                model: self.job.models.get(&block.model)?,
                sets: self.apply_set(
                    block.from.as_str(),
                    self.job.counterfactuals.get(&block.from)?,
                    own,
                ),
                n_folds,
            })
        };
        self.job.experiments.iter().filter_map(trial).collect()
    }

    /// The sets of experiments that have folds of their own, and so fits of their own.
    pub(crate) fn fold_sets(&self) -> impl Iterator<Item = AppliedSet<'a>> {
        let worlds = self.experiments().into_iter().flat_map(|trial| trial.sets);
        worlds.filter(|world| world.experiment.is_some())
    }

    /// The stages of all experiments; none without.
    pub(crate) fn augment_stages(&'a self) -> Vec<PlannedStage<'a>> {
        let trials = self.experiments();
        let mut stages = Vec::new();
        for trial in &trials {
            let (arms, worlds) = (trial.arms(), &trial.sets);
            let folds = || 0..trial.n_folds;
            stages.push(self.folds_stage(trial));
            // Step by step over all folds and arms, so that stages that do not need each other
            // follow each other.
            let own = || worlds.iter().filter(|world| world.experiment.is_some());
            stages.extend(own().filter_map(|world| self.fit_stage(world)));
            stages.extend(own().map(|world| self.generate_stage(world)));
            if arms.iter().any(|&arm| trial.chosen_as(arm).is_some()) {
                stages.extend(folds().flat_map(|fold| {
                    worlds.iter().map(move |world| self.training_set_stage(trial, fold, world))
                }));
            }
            stages
                .extend(folds().map(|fold| self.train_arm_stage(trial, fold, ExperimentArm::Base)));
            stages.extend(
                folds()
                    .filter_map(|fold| self.threshold_arm_stage(trial, fold, ExperimentArm::Base)),
            );
            let asked = trial.prediction_sources();
            if asked.contains(&PredictionSource::OutOfFold) {
                stages.extend(folds().map(|fold| self.inner_stage(trial, fold)));
            }
            for by in asked {
                stages.extend(folds().map(|fold| self.predict_stage(trial, fold, by, None)));
                stages.extend(folds().flat_map(|fold| {
                    worlds.iter().map(move |world| self.predict_stage(trial, fold, by, Some(world)))
                }));
            }
            let others = arms.iter().copied().filter(|&arm| arm != ExperimentArm::Base);
            stages.extend(
                others.clone().flat_map(|arm| {
                    folds().map(move |fold| self.train_arm_stage(trial, fold, arm))
                }),
            );
            stages.extend(others.flat_map(|arm| {
                folds().filter_map(move |fold| self.threshold_arm_stage(trial, fold, arm))
            }));
            for &arm in &arms {
                stages.extend(folds().map(|fold| self.score_arm_stage(trial, fold, arm, None)));
                stages.extend(folds().flat_map(|fold| {
                    worlds
                        .iter()
                        .map(move |world| self.score_arm_stage(trial, fold, arm, Some(world)))
                }));
            }
            stages.extend(arms.iter().map(|&arm| self.count_arm_stage(trial, arm)));
            stages.push(self.experiment_stage(trial));
        }
        if !trials.is_empty() {
            stages.extend(self.keeps_rows().then(|| self.selected_stage(&trials)));
            stages.push(self.all_tables_stage(&trials));
        }
        stages
    }

    /// Which rows are audited and which train, fold by fold.
    fn folds_stage(&'a self, trial: &ExperimentPlan<'a>) -> PlannedStage<'a> {
        let inner = trial.prediction_sources().contains(&PredictionSource::OutOfFold);
        let seed = self.job.run.seed.0;
        let mut needs = vec!["prepare".to_owned()];
        let mut made_of = vec![
            ("folds".to_owned(), trial.n_folds.to_string()),
            ("inner folds".to_owned(), inner.to_string()),
        ];
        let own = trial
            .block
            .folds
            .map(|folds| SplitRule::Folds(folds.get(), Stratification::LabelAndGroup));
        if own.is_none() {
            needs.push("split".to_owned());
        }
        made_of.extend((own.is_some() || inner).then(|| self.seed_input()));
        let n_folds = trial.n_folds;
        let place = ["experiments", trial.name];
        let run = move |ctx: &StageContext<'_>| {
            let rows = RowsReader::open(ctx.need("prepare"))?;
            let roles = match own {
                Some(rule) => {
                    let roles = with_watch(ctx, |watch| {
                        split::assign_roles(&rows, rule, seed, self.workers, watch)
                    })
                    .map_err(|e| self.with_model_place(e, &place))?;
                    roles.write(&ctx.out().join(ROLES), &rows)?;
                    roles
                }
                None => RolesReader::open(&ctx.need("split").join(ROLES))?.all()?,
            };
            let inner = inner.then_some(seed);
            with_watch(ctx, |watch| {
                folds::write_folds(&rows, &roles, n_folds, inner, self.workers, watch, ctx.out())
            })
            .map_err(|e| self.with_model_place(e, &place))
        };
        self.stage(trial.id("split"), KIND, needs, made_of, run)
    }

    /// The counterfactuals of the rows that train for a fold.
    fn training_set_stage(
        &'a self,
        trial: &ExperimentPlan<'a>,
        fold: usize,
        world: &AppliedSet<'a>,
    ) -> PlannedStage<'a> {
        let mut needs = vec!["prepare".to_owned(), trial.id("split")];
        needs.extend(self.set_needs(world).into_iter().filter(|need| need.starts_with("prepare/")));
        let fit = world.block.knobs().map(|_| world.id("fit"));
        needs.extend(fit.clone());
        let mut made_of = self.set_inputs(world);
        made_of.push(self.seed_input());
        let (id, split, world) = (trial.generate_id(fold, world), trial.id("split"), world.clone());
        let run = move |ctx: &StageContext<'_>| {
            self.with_roles(
                ctx,
                &ctx.need(&split).join(FoldRoles::Training.file(fold)),
                1,
                |ground| {
                    let learnt = |_| {
                        let Some(fit) = &fit else { return Ok(Vec::new()) };
                        // A reference in a file of its own is the same for all folds.
                        let own = if self.job.data.reference.is_some() { 0 } else { fold };
                        files::read_json(&ctx.need(fit).join(learnt_artifact(own)), fit)
                            .map(|learnt| vec![learnt])
                    };
                    self.generate_counterfactuals(ctx, ground, &world, learnt)
                },
            )
        };
        self.stage(id, KIND, needs, made_of, run)
    }

    /// Trains model number `m` of some on rows, into the folder of the stage.
    fn train_on(
        &'a self,
        ctx: &StageContext<'_>,
        trial: &ExperimentPlan<'a>,
        layout: &Layout,
        rows: &TrainingRows<'_>,
        (models, m): (ArmModels, usize),
    ) -> Result<()> {
        let (_, n) = rows.count()?;
        if let Some(trainer) = self.trainer(trial.block.model.as_str(), trial.model, layout, n)? {
            return files::write_json(&ctx.out().join(artifact(m)), &trainer.fit(rows)?.to_json());
        }
        match self.arm_call(trial, models) {
            Some(call) => call.train_on(ctx, layout, rows, m),
            None => Err(Fault::new(
                "no-training",
                format!("the model `{}` cannot be trained", trial.block.model),
            )
            .into()),
        }
    }

    /// The command of an experiment's model.
    fn arm_call(
        &'a self,
        trial: &ExperimentPlan<'a>,
        models: ArmModels,
    ) -> Option<CommandCall<'a>> {
        let call = self.call(trial.block.model.as_str(), trial.model)?;
        Some(CommandCall {
            n_folds: models.n,
            first_fold: models.first_fold,
            arm: Some(models.arm),
            ..call
        })
    }

    /// What makes a trained model stale, beside its rows.
    fn training_inputs(
        &'a self,
        trial: &ExperimentPlan<'a>,
        models: ArmModels,
    ) -> Vec<(String, String)> {
        match self.arm_call(trial, models) {
            Some(call) => call
                .model_inputs()
                .into_iter()
                .chain(self.input.files_of_model(call.model))
                .collect(),
            None => train::model_inputs(trial.model, self.job.run.seed),
        }
    }

    /// What makes scores stale, beside rows and model.
    fn scoring_inputs(
        &'a self,
        trial: &ExperimentPlan<'a>,
        models: ArmModels,
    ) -> Vec<(String, String)> {
        let call = self.arm_call(trial, models);
        call.map_or_else(Vec::new, |call| {
            call.score_inputs().into_iter().chain(self.input.files_of_model(call.model)).collect()
        })
    }

    /// Scores the audited rows of a ground, or their counterfactuals, by models in a folder.
    /// `known` says for each model which groups it knows.
    fn score_on(
        &'a self,
        ctx: &StageContext<'_>,
        trial: &ExperimentPlan<'a>,
        ground: RowContext<'_>,
        (folder, models): (&Path, ArmModels),
        of: Option<(&AppliedSet<'a>, &CounterfactualReader, &[Vec<bool>])>,
    ) -> Result<()> {
        match (self.arm_call(trial, models), of) {
            (Some(call), None) => call.score(ctx, ground, command::CommandRows::Rows, Some(folder)),
            (Some(call), Some((world, counterfactuals, _))) => {
                let attribute = &ground.rows.layout().attributes[world.position];
                call.score(
                    ctx,
                    ground,
                    command::CommandRows::Counterfactuals(counterfactuals, attribute),
                    Some(folder),
                )
            }
            (None, None) => rows::score_rows(
                ground,
                &Self::scorers_in(folder, trial.model, models.n)?,
                ctx.out(),
            ),
            (None, Some((_, counterfactuals, known))) => rows::score_counterfactuals(
                ground,
                &Self::scorers_in(folder, trial.model, models.n)?,
                counterfactuals,
                known,
                ctx.out(),
            ),
        }
    }

    /// The stages whose files [`StagePlan::selection`] reads.
    fn selection_needs(trial: &ExperimentPlan<'a>, fold: usize, arm: ExperimentArm) -> Vec<String> {
        let mut needs = Vec::new();
        if trial.chosen_as(arm).is_some() {
            needs.extend(trial.sets.iter().map(|world| trial.generate_id(fold, world)));
        }
        if let Some(by) = trial.prediction_source(arm) {
            needs.push(trial.predict_id(fold, by, None));
            needs.extend(trial.sets.iter().map(|world| trial.predict_id(fold, by, Some(world))));
            needs.extend(trial.threshold_id(fold, ExperimentArm::Base));
        }
        needs
    }

    /// What a selection depends on beside what it reads.
    fn selection_inputs(
        &self,
        trial: &ExperimentPlan<'a>,
        arm: ExperimentArm,
    ) -> Vec<(String, String)> {
        let mut made_of = vec![("arm".to_owned(), arm.to_string())];
        let adasyn = trial.adasyn(arm);
        made_of.extend(adasyn.map(|adasyn| ("adasyn".to_owned(), canonical_text(&adasyn))));
        if adasyn.is_some() {
            let data = &self.job.data;
            made_of.extend([
                ("data.features.onehot".to_owned(), canonical_text(&data.features.onehot)),
                ("data.missing.nominal".to_owned(), canonical_text(&data.missing.nominal)),
            ]);
        }
        let chosen = trial.chosen_as(arm);
        made_of.extend(chosen.map(|chosen| ("counterfactuals".to_owned(), chosen.to_string())));
        let directed = trial.directed().filter(|_| chosen == Some(ExperimentArm::Directed));
        made_of.extend(directed.map(|directed| ("directed".to_owned(), canonical_text(directed))));
        if directed.is_some() || adasyn.is_some() {
            made_of.push(self.seed_input());
        }
        if trial.prediction_source(arm).is_some() {
            made_of.extend(Self::rule_inputs(trial.model));
        }
        made_of
    }

    /// What an arm adds to the rows that train for a fold.
    fn selection(
        &self,
        ctx: &StageContext<'_>,
        trial: &ExperimentPlan<'a>,
        ground: RowContext<'_>,
        fold: usize,
        arm: ExperimentArm,
    ) -> Result<ArmSelection> {
        let seed = self.job.run.seed.0;
        let chosen = trial.chosen_as(arm);
        let by = trial.prediction_source(arm);
        let pool = |world: &AppliedSet<'a>| {
            let scores = |of: Option<&AppliedSet<'a>>, by| {
                ScoreReader::open(ctx.need(&trial.predict_id(fold, by, of)))
            };
            let predicting = |by| {
                let cut = Self::arm_rule(ctx, trial, ground, fold..fold + 1, ExperimentArm::Base)?;
                Ok::<_, Error>(CandidateScores {
                    scores: scores(None, by)?,
                    scores_cf: scores(Some(world), by)?,
                    rule: cut,
                })
            };
            Ok(CandidatePool {
                attribute: world.position,
                counterfactuals: CounterfactualReader::open(
                    ctx.need(&trial.generate_id(fold, world)),
                )?,
                base: by.map(predicting).transpose()?,
            })
        };
        let pools: Vec<CandidatePool> =
            trial.sets.iter().filter(|_| chosen.is_some()).map(pool).collect::<Result<_>>()?;
        let choice = match (chosen, trial.directed()) {
            (Some(ExperimentArm::Switched), _) => CounterfactualSelection::Switched,
            (Some(ExperimentArm::Directed), Some(directed)) => {
                let rules: Vec<SelectionRule> = directed
                    .rules
                    .values()
                    .map(|rule| engine_rule(rule, ground.rows.layout(), &trial.sets))
                    .collect();
                CounterfactualSelection::Drawn(
                    folds::rule_matches(ground, &pools, &rules, seed)?
                        .draw(directed.fraction.get()),
                )
            }
            _ => CounterfactualSelection::All,
        };
        let adasyn = trial.adasyn(arm).map(|knobs| AdasynSettings {
            neighbours: usize::try_from(knobs.neighbours.get()).unwrap_or(usize::MAX),
            beta: knobs.beta.get(),
            threshold: knobs.ratio.get(),
            seed,
        });
        Ok(ArmSelection { pools, choice, adasyn })
    }

    /// Trains the model of an arm on the rows that train for a fold, and on what the arm adds.
    fn train_arm_stage(
        &'a self,
        trial: &ExperimentPlan<'a>,
        fold: usize,
        arm: ExperimentArm,
    ) -> PlannedStage<'a> {
        let models = ArmModels::of(arm, fold);
        let split = trial.id("split");
        let mut needs = vec!["prepare".to_owned(), split.clone()];
        needs.extend(Self::selection_needs(trial, fold, arm));
        let mut made_of = self.selection_inputs(trial, arm);
        made_of.extend(self.training_inputs(trial, models));
        let trial_of_run = trial.clone();
        let run = move |ctx: &StageContext<'_>| {
            let trial = &trial_of_run;
            let work = |ground: RowContext<'_>| {
                let layout = ground.rows.layout();
                let selection = self.selection(ctx, trial, ground, fold, arm)?;
                selection.with_training_rows(ground, &self.extras(layout), |rows, added| {
                    self.train_on(ctx, trial, layout, rows, (models, 0))?;
                    files::write_json(&ctx.out().join(ADDED), &added)
                })
            };
            self.with_roles(ctx, &ctx.need(&split).join(FoldRoles::Audited.file(fold)), 0, work)
                .map_err(|e| self.with_model_place(e, &["experiments", trial.name]))
        };
        self.stage(trial.train_id(fold, arm), KIND, needs, unique_inputs(made_of), run)
    }

    /// Fits the threshold of an arm's model in a fold to its scores of the rows that train for the
    /// fold, without those that the arm adds: a threshold is a rule for people, and these are the
    /// same in all arms.
    fn threshold_arm_stage(
        &'a self,
        trial: &ExperimentPlan<'a>,
        fold: usize,
        arm: ExperimentArm,
    ) -> Option<PlannedStage<'a>> {
        let (id, objective) =
            (trial.threshold_id(fold, arm)?, threshold::objective(&trial.model.threshold)?);
        let models = ArmModels::of(arm, fold);
        let (split, train) = (trial.id("split"), trial.train_id(fold, arm));
        let needs = vec!["prepare".to_owned(), split.clone(), train.clone()];
        let mut made_of = vec![("threshold".to_owned(), canonical_text(&trial.model.threshold))];
        made_of.extend(self.scoring_inputs(trial, models));
        let trial = trial.clone();
        let run = move |ctx: &StageContext<'_>| {
            let work = |ground: RowContext<'_>| {
                let trained = ctx.need(&train);
                let fitted = match self.arm_call(&trial, models) {
                    Some(call) => {
                        Self::fit_by_command(ctx, ground, &call, objective, Some(trained))?
                    }
                    None => threshold::fit_scored(
                        ground,
                        objective,
                        &Self::scorers_in(trained, trial.model, models.n)?,
                    )?,
                };
                threshold::write(ctx.out(), &fitted)
            };
            self.with_roles(ctx, &ctx.need(&split).join(FoldRoles::Audited.file(fold)), 0, work)
                .map_err(|e| {
                    self.with_model_place(e, &["models", trial.block.model.as_str(), "threshold"])
                })
        };
        Some(self.stage(id, KIND, needs, made_of, run))
    }

    /// How the scores of an arm become decisions, by the thresholds of some folds.
    fn arm_rule(
        ctx: &StageContext<'_>,
        trial: &ExperimentPlan<'a>,
        ground: RowContext<'_>,
        folds: Range<usize>,
        arm: ExperimentArm,
    ) -> Result<DecisionRule> {
        let fitted = |fold: usize| match trial.threshold_id(fold, arm) {
            Some(stage) => threshold::read(ctx.need(&stage)),
            None => Ok(Vec::new()),
        };
        let fitted = folds.map(fitted).collect::<Result<Vec<_>>>()?.concat();
        Ok(Self::rule_from_fitted(trial.model, ground, &fitted))
    }

    /// Scores the audited rows of a fold, or their counterfactuals.
    fn score_arm_stage(
        &'a self,
        trial: &ExperimentPlan<'a>,
        fold: usize,
        arm: ExperimentArm,
        world: Option<&AppliedSet<'a>>,
    ) -> PlannedStage<'a> {
        let models = ArmModels::of(arm, fold);
        let (split, train) = (trial.id("split"), trial.train_id(fold, arm));
        let mut needs = vec!["prepare".to_owned(), split.clone(), train.clone()];
        needs.extend(world.map(|world| world.id("generate")));
        let (id, world, trial_of_run) =
            (trial.score_id(fold, arm, world), world.cloned(), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let work = |ground: RowContext<'_>| {
                let trained = (ctx.need(&train), models);
                let Some(world) = &world else {
                    return self.score_on(ctx, &trial_of_run, ground, trained, None);
                };
                let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                let known = rows::trained_groups(ground, world.position, models.n)?;
                self.score_on(
                    ctx,
                    &trial_of_run,
                    ground,
                    trained,
                    Some((world, &counterfactuals, &known)),
                )
            };
            self.with_roles(ctx, &ctx.need(&split).join(FoldRoles::Audited.file(fold)), 1, work)
        };
        self.stage(id, KIND, needs, self.scoring_inputs(trial, models), run)
    }

    /// Trains the base model of inner folds.
    fn inner_stage(&'a self, trial: &ExperimentPlan<'a>, fold: usize) -> PlannedStage<'a> {
        let models = ArmModels::inner();
        let split = trial.id("split");
        let needs = vec!["prepare".to_owned(), split.clone()];
        let (id, trial_of_run) = (trial.fold_id(fold, "inner"), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let work = |ground: RowContext<'_>| {
                (0..INNER_FOLDS).try_for_each(|inner| {
                    let rows = TrainingRows::of_fold(
                        ground.rows,
                        ground.roles,
                        inner,
                        ground.workers,
                        ground.watch,
                    );
                    self.train_on(
                        ctx,
                        &trial_of_run,
                        ground.rows.layout(),
                        &rows,
                        (models, usize::from(inner)),
                    )
                })
            };
            self.with_roles(ctx, &ctx.need(&split).join(FoldRoles::Inner.file(fold)), 0, work)
                .map_err(|e| self.with_model_place(e, &["experiments", trial_of_run.name]))
        };
        self.stage(id, KIND, needs, self.training_inputs(trial, models), run)
    }

    /// Scores the rows that train for a fold, or their counterfactuals, by the base model or those
    /// of inner folds.
    fn predict_stage(
        &'a self,
        trial: &ExperimentPlan<'a>,
        fold: usize,
        by: PredictionSource,
        world: Option<&AppliedSet<'a>>,
    ) -> PlannedStage<'a> {
        let (models, side, trained) = match by {
            PredictionSource::InSample => (
                ArmModels::of(ExperimentArm::Base, fold),
                FoldRoles::Training,
                trial.train_id(fold, ExperimentArm::Base),
            ),
            PredictionSource::OutOfFold => {
                (ArmModels::inner(), FoldRoles::Inner, trial.fold_id(fold, "inner"))
            }
        };
        let split = trial.id("split");
        let mut needs = vec!["prepare".to_owned(), split.clone(), trained.clone()];
        let made = world.map(|world| (world.clone(), trial.generate_id(fold, world)));
        needs.extend(made.iter().map(|(_, stage)| stage.clone()));
        let (id, trial_of_run) = (trial.predict_id(fold, by, world), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let folder = ctx.need(&split);
            // Groups are known to a model by the rows that it was trained on.
            let known = |world: &AppliedSet<'a>| {
                let side =
                    if side == FoldRoles::Inner { FoldRoles::Inner } else { FoldRoles::Audited };
                self.with_roles(ctx, &folder.join(side.file(fold)), 0, |ground| {
                    rows::trained_groups(ground, world.position, models.n)
                })
            };
            let known =
                made.as_ref().map(|(world, _)| known(world)).transpose()?.unwrap_or_default();
            self.with_roles(ctx, &folder.join(side.file(fold)), 1, |ground| {
                let trained = (ctx.need(&trained), models);
                let Some((world, stage)) = &made else {
                    return self.score_on(ctx, &trial_of_run, ground, trained, None);
                };
                let counterfactuals = CounterfactualReader::open(ctx.need(stage))?;
                self.score_on(
                    ctx,
                    &trial_of_run,
                    ground,
                    trained,
                    Some((world, &counterfactuals, &known)),
                )
            })
        };
        self.stage(id, KIND, needs, self.scoring_inputs(trial, models), run)
    }

    /// Counts what an arm's models say of the rows of all folds and of their counterfactuals.
    fn count_arm_stage(
        &'a self,
        trial: &ExperimentPlan<'a>,
        arm: ExperimentArm,
    ) -> PlannedStage<'a> {
        let (split, of_all) = (trial.id("split"), trial.split_id());
        let mut needs = vec!["prepare".to_owned(), split.clone()];
        needs.extend((of_all != split).then(|| of_all.clone()));
        for fold in 0..trial.n_folds {
            needs.push(trial.score_id(fold, arm, None));
            needs.extend(trial.sets.iter().map(|world| trial.score_id(fold, arm, Some(world))));
            needs.extend(trial.threshold_id(fold, arm));
        }
        needs.extend(trial.sets.iter().map(|world| world.id("generate")));
        let wanted = self.shift_intervals();
        let mut made_of = Self::rule_inputs(trial.model);
        made_of.extend([
            self.seed_input(),
            ("score metrics".to_owned(), self.wants_shift().to_string()),
            ("metrics.interval".to_owned(), canonical_text(&self.job.metrics.interval)),
            ("metrics.bootstrap".to_owned(), canonical_text(&self.job.metrics.bootstrap)),
        ]);
        let (id, trial_of_run) = (trial.id(arm.as_str()), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let trial = &trial_of_run;
            let pooled = |world: Option<&AppliedSet<'a>>| {
                let folders: Vec<&Path> = (0..trial.n_folds)
                    .map(|fold| ctx.need(&trial.score_id(fold, arm, world)))
                    .collect();
                ScoreReader::pooled(&folders)
            };
            let blocks = |paired| BlockSettings { seed: self.job.run.seed, paired };
            let in_fold = |fold: usize| ctx.need(&split).join(FoldRoles::Audited.file(fold));
            let scores = pooled(None)?;
            self.with_roles(ctx, &ctx.need(&of_all).join(ROLES), 0, |ground| {
                let cut = &Self::arm_rule(ctx, trial, ground, 0..trial.n_folds, arm)?;
                let cut_of = |ground: RowContext<'_>, fold: usize| {
                    Self::arm_rule(ctx, trial, ground, fold..fold + 1, arm)
                };
                for attribute in 0..ground.rows.layout().attributes.len() {
                    let count = |fold: usize| {
                        let count = |ground: RowContext<'_>| {
                            evidence::count_rows_or_empty(
                                ground,
                                &cut_of(ground, fold)?,
                                &scores,
                                attribute,
                                blocks(false),
                            )
                        };
                        self.with_roles(ctx, &in_fold(fold), 0, count)
                    };
                    let whole =
                        evidence::count_rows(ground, cut, &scores, attribute, blocks(true))?;
                    let folds = (0..trial.n_folds).map(count).collect::<Result<_>>()?;
                    files::write_json(
                        &ctx.out().join(arms::factual_file(attribute)),
                        &ArmFactualEvidence { whole, folds },
                    )?;
                }
                for world in &trial.sets {
                    let counterfactuals =
                        CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                    let scores_cf = pooled(Some(world))?;
                    let scored = CountInputs {
                        rule: cut,
                        attribute: world.position,
                        counterfactuals: &counterfactuals,
                        scores: &scores,
                        scores_cf: &scores_cf,
                    };
                    let whole = evidence::count_counterfactuals(ground, scored, blocks(true))?;
                    let count = |fold: usize| {
                        let count = |ground: RowContext<'_>| {
                            evidence::count_counterfactuals(
                                ground,
                                CountInputs { rule: &cut_of(ground, fold)?, ..scored },
                                blocks(false),
                            )
                        };
                        self.with_roles(ctx, &in_fold(fold), 0, count)
                    };
                    let folds = (0..trial.n_folds).map(count).collect::<Result<_>>()?;
                    let shift = self
                        .wants_shift()
                        .then(|| {
                            score_shift::second_pass(
                                ground,
                                score_shift::ShiftSource::Positive(scored),
                                &whole,
                                wanted,
                            )
                        })
                        .transpose()?;
                    files::write_json(
                        &ctx.out().join(arms::counterfactual_file(world.position)),
                        &ArmShiftEvidence { whole, folds, shift },
                    )?;
                }
                Ok(())
            })
        };
        self.stage(id, KIND, needs, made_of, run)
    }

    /// The tables of an experiment.
    fn experiment_stage(&'a self, trial: &ExperimentPlan<'a>) -> PlannedStage<'a> {
        let of_all = trial.split_id();
        let mut needs = vec!["prepare".to_owned(), of_all.clone()];
        let arms = trial.arms();
        needs.extend(arms.iter().map(|arm| trial.id(arm.as_str())));
        needs.extend(trial.sets.iter().map(|world| world.id("generate")));
        let trained = |fold: usize| arms.iter().map(move |&arm| (arm, fold));
        let trained: Vec<(ExperimentArm, usize)> = (0..trial.n_folds).flat_map(trained).collect();
        needs.extend(trained.iter().map(|&(arm, fold)| trial.train_id(fold, arm)));
        needs.extend(trained.iter().filter_map(|&(arm, fold)| trial.threshold_id(fold, arm)));
        let made_of = vec![
            ("metrics".to_owned(), canonical_text(&self.job.metrics)),
            ("data.label".to_owned(), canonical_text(&self.job.data.label)),
            ("data.favourable".to_owned(), canonical_text(&self.job.data.favourable)),
            self.seed_input(),
            ("threshold".to_owned(), canonical_text(&trial.model.threshold)),
        ];
        let id = format!("augment/{}", trial.name);
        let trial = trial.clone();
        let run = move |ctx: &StageContext<'_>| {
            let changed: Vec<usize> = trial.sets.iter().map(|world| world.position).collect();
            let untaught: Vec<Vec<usize>> = trial
                .sets
                .iter()
                .map(|world| {
                    let rows = RowsReader::open(ctx.need("prepare"))?;
                    let attribute = &rows.layout().attributes[world.position];
                    Ok(counted_audit::untaught_ranks(
                        attribute,
                        &GeneratedEffects::read(ctx, &world.id("generate"))?.untaught,
                    ))
                })
                .collect::<Result<_>>()?;
            let about = trial.context(&changed, &untaught);
            let names: Vec<(ExperimentArm, String)> =
                arms.iter().map(|&arm| (arm, trial.arm_name(arm))).collect();
            let folders: Vec<ArmFolder<'_>> = names
                .iter()
                .map(|(arm, name)| ArmFolder {
                    arm: name,
                    folder: ctx.need(&trial.id(arm.as_str())),
                })
                .collect();
            let added = |&(arm, fold): &(ExperimentArm, usize)| {
                let stage = trial.train_id(fold, arm);
                let added: AddedRows = files::read_json(&ctx.need(&stage).join(ADDED), &stage)?;
                let name =
                    names.iter().find(|(of, _)| *of == arm).map_or("", |(_, name)| name.as_str());
                Ok((name, fold, added))
            };
            let added: Vec<(&str, usize, AddedRows)> =
                trained.iter().map(added).collect::<Result<_>>()?;
            arms::write_added(ctx.out(), about, &added)?;
            let mut thresholds = TableFrame::new(&THRESHOLDS);
            for &(arm, fold) in &trained {
                let Some(stage) = trial.threshold_id(fold, arm) else { continue };
                let fitted = threshold::read(ctx.need(&stage))?;
                threshold::push_thresholds(
                    &mut thresholds,
                    (&trial.arm_name(arm), about.model),
                    &trial.model.threshold,
                    (fold, &fitted),
                );
            }
            write_frame(ctx.out(), &thresholds)?;
            self.with_roles(ctx, &ctx.need(&of_all).join(ROLES), 0, |ground| {
                arms::measure(ctx, self.checked, ground, about, &folders)
            })
        };
        self.stage(id, KIND, needs, made_of, run)
    }

    /// The counterfactuals that arms added, row by row.
    fn selected_stage(&'a self, trials: &[ExperimentPlan<'a>]) -> PlannedStage<'a> {
        let mut needs = vec!["prepare".to_owned()];
        let mut made_of =
            vec![("run.keep_rows".to_owned(), canonical_text(&self.job.run.keep_rows))];
        let mut parts = Vec::new();
        for trial in trials {
            needs.push(trial.id("split"));
            // In the order of the table.
            let mut arms: Vec<ExperimentArm> =
                trial.arms().into_iter().filter(|&arm| trial.chosen_as(arm).is_some()).collect();
            arms.sort_by_key(|arm| arm.as_str());
            for arm in arms {
                let inputs = self.selection_inputs(trial, arm).into_iter();
                made_of.extend(
                    inputs.map(|(key, value)| (format!("{}: {key}", trial.arm_name(arm)), value)),
                );
                for fold in 0..trial.n_folds {
                    needs.extend(Self::selection_needs(trial, fold, arm));
                    parts.push((trial.clone(), arm, fold));
                }
            }
        }
        needs.sort();
        needs.dedup();
        let always = self.job.run.keep_rows == Some(KeepRows::Outcomes);
        let run = move |ctx: &StageContext<'_>| {
            let n_rows = RowsReader::open(ctx.need("prepare"))?.layout().n_rows;
            if !always && n_rows >= KEEP_ROWS_BELOW {
                return Ok(());
            }
            let mut writer = folds::create_selected(ctx.out())?;
            for (trial, arm, fold) in &parts {
                let roles = ctx.need(&trial.id("split")).join(FoldRoles::Audited.file(*fold));
                self.with_roles(ctx, &roles, 0, |ground| {
                    let of = (trial.block.model.as_str(), trial.block.from.as_str(), *fold);
                    self.selection(ctx, trial, ground, *fold, *arm)?.write_selected(
                        ground,
                        &trial.arm_name(*arm),
                        of,
                        &mut writer,
                    )
                })?;
            }
            writer.finish()
        };
        self.stage(SELECTED_STAGE.to_owned(), KIND, needs, unique_inputs(made_of), run)
    }

    /// The tables of the audit and of all experiments.
    fn all_tables_stage(&'a self, trials: &[ExperimentPlan<'a>]) -> PlannedStage<'a> {
        let experiments: Vec<String> =
            trials.iter().map(|trial| format!("augment/{}", trial.name)).collect();
        let mut needs = vec!["measure".to_owned()];
        needs.extend(experiments.iter().cloned());
        let run = move |ctx: &StageContext<'_>| {
            let folders: Vec<&Path> = experiments.iter().map(|stage| ctx.need(stage)).collect();
            arms::gather_tables(ctx.out(), ctx.need("measure"), &folders)
        };
        self.stage(AUGMENT.to_owned(), KIND, needs, Vec::new(), run)
    }
}

/// A rule of the job by positions. Where it names no attribute and the set changes one, it is that
/// one.
fn engine_rule(
    rule: &experiments::DirectedRule,
    layout: &Layout,
    worlds: &[AppliedSet<'_>],
) -> SelectionRule {
    let named = rule.sensitive.as_ref().and_then(|name| layout.attribute(name.as_str()));
    let only = if let [world] = worlds { Some(world.position) } else { None };
    let attribute = named.or(only);
    let group = |name: &Option<Word>| {
        let groups = &layout.attributes[attribute?].groups;
        let place = groups
            .iter()
            .position(|group| name.as_ref().is_some_and(|name| group == name.as_str()))?;
        u16::try_from(place).ok()
    };
    let is = |class: Option<LabelSide>| class.map(|class| class == LabelSide::Positive);
    SelectionRule {
        attribute,
        from: group(&rule.source_group),
        to: group(&rule.target_group),
        label: is(rule.label),
        predicted: is(rule.original_prediction),
        predicted_cf: is(rule.cf_prediction),
    }
}
