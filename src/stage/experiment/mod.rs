//! The stages of experiments: a model is trained again with rows added, once for each arm and fold,
//! and measured beside the model as it was.
//!
//! Everything of an arm and a fold is a stage of its own, so a run that was stopped goes on at the
//! arm and fold where it stopped. The kinds are those of the plain audit, which call the functions
//! here for a unit of an experiment.

pub mod arms;
pub mod folds;
mod plan;

use std::path::Path;

use self::plan::{ArmModels, ExperimentPlan, arm_of, source_of, with_set};
use crate::augment::ExperimentArm;
use crate::augment::adasyn::AdasynSettings;
use crate::augment::choose::{CounterfactualSelection, SelectionRule};
use crate::data::Layout;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::data::rows::split::{self, SplitMethod as SplitRule, Stratification};
use crate::data::rows::training::TrainingRows;
use crate::error::{Fault, Result};
use crate::exec::{StageContext, files, misfit};
use crate::job::KeepRows;
use crate::job::blocks::experiments::{self, ExperimentBlock, LabelSide, PredictionSource};
use crate::param::{Name, Word};
use crate::stage::applied_set::{AppliedSet, with_watch};
use crate::stage::artifact::ROLES;
use crate::stage::count::evidence::{self, BlockSettings, CountInputs};
use crate::stage::count::switches::{self, ShiftSettings};
use crate::stage::count::{CountStage, KEEP_ROWS_BELOW};
use crate::stage::experiment::arms::{ArmFactualEvidence, ArmFolder, ArmShiftEvidence};
use crate::stage::experiment::folds::{
    ADDED, AddedRows, ArmSelection, CandidatePool, CandidateScores, FoldRoles, INNER_FOLDS,
};
use crate::stage::generate::{FitStage, GenerateStage, SetInputs, rows};
use crate::stage::measure::counted_audit::untaught_ranks;
use crate::stage::plan::StagePlan;
use crate::stage::planner::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::stage::prepare::{PrepareStage, RowInputs, SplitStage};
use crate::stage::results::MeasureStage;
use crate::stage::row_context::RowContext;
use crate::stage::score::command::{CommandCall, CommandRows};
use crate::stage::score::{
    RuleInputs, ScoreStage, ThresholdStage, TrainStage, artifact, fit_by_command, fitted_objective,
    model_files, threshold,
};
use crate::stage::train;
use crate::table::ThresholdRow;
use crate::table::file::write_rows;
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// The rows that arms added.
pub(crate) struct SelectedStage;

/// The tables of the audit and of all experiments.
pub(crate) struct TablesStage;

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

    /// The experiment that a unit is about.
    pub(crate) fn experiment_of(&self, unit: &AuditUnit) -> Result<ExperimentPlan<'a>> {
        let found = self.experiments().into_iter().find(|trial| trial.name == unit.experiment);
        let nothing = || misfit(format!("the job has no experiment `{}`", unit.experiment));
        found.ok_or_else(nothing)
    }

    /// The sets of experiments that have folds of their own, and so fits of their own.
    pub(crate) fn fold_sets(&self) -> impl Iterator<Item = AppliedSet<'a>> {
        let worlds = self.experiments().into_iter().flat_map(|trial| trial.sets);
        worlds.filter(|world| world.experiment.is_some())
    }
}

/// The fold of a unit, and its arm.
fn arm_and_fold(unit: &AuditUnit) -> Result<(ExperimentArm, usize)> {
    let found = arm_of(unit).zip(unit.fold);
    found.ok_or_else(|| misfit(format!("no arm and fold of `{}`", unit.experiment)))
}

/// The rows of an experiment with their roles fold by fold.
fn fold_rows<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<RowInputs<'a>> {
    let experiment = unit.experiment.clone();
    RowInputs::need(b, &AuditUnit { experiment, ..AuditUnit::default() })
}

/// Which rows are audited and which train, fold by fold.
pub(crate) fn plan_folds<'a>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let trial = plan.experiment_of(unit)?;
    let rows = b.need::<PrepareStage>(unit)?;
    let n_folds = b.value("folds", trial.n_folds);
    let asked = trial.prediction_sources().contains(&PredictionSource::OutOfFold);
    let inner = b.value("inner folds", asked);
    let own =
        trial.block.folds.map(|folds| SplitRule::Folds(folds.get(), Stratification::LabelAndGroup));
    let of_job = match own {
        Some(_) => None,
        None => Some(b.need::<SplitStage>(&AuditUnit::default())?),
    };
    if own.is_some() || inner {
        b.seed();
    }
    let (seed, place) = (plan.job.run.seed.0, ["experiments", trial.name]);
    work(move |ctx| {
        let rows = rows.open(ctx)?;
        let roles = match (own, &of_job) {
            (_, Some(of_job)) => of_job.open(ctx)?.all()?,
            (Some(rule), None) => {
                let roles = with_watch(ctx, |watch| {
                    split::assign_roles(&rows, rule, seed, plan.workers, watch)
                })
                .map_err(|e| plan.with_model_place(e, &place))?;
                roles.write(&ctx.out().join(ROLES), &rows)?;
                roles
            }
            (None, None) => return Err(misfit("the experiment has no folds".to_owned())),
        };
        let (inner, workers) = (inner.then_some(seed), plan.workers);
        with_watch(ctx, |watch| {
            folds::write_folds(&rows, &roles, n_folds, inner, workers, watch, ctx.out())
        })
        .map_err(|e| plan.with_model_place(e, &place))
    })
}

/// The counterfactuals of the rows that train for a fold.
pub(crate) fn plan_training_set<'a>(
    unit: &AuditUnit,
    fold: usize,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let world = b.plan.set_of(unit)?;
    let rows = fold_rows(unit, b)?.in_fold(FoldRoles::Training, fold);
    let of_set = SetInputs::on_rows(b, &world, rows)?;
    let knobs = world.block.knobs();
    let fit = knobs.map(|_| b.need::<FitStage>(&world.unit())).transpose()?;
    b.seed();
    // A reference in a file of its own is the same for all folds.
    let learnt_in = if b.plan.job.data.reference.is_some() { 0 } else { fold };
    work(move |ctx| {
        of_set.rows().with(ctx, 1, |ground| {
            of_set.generate(ctx, ground, |_| match &fit {
                None => Ok(Vec::new()),
                Some(fit) => Ok(vec![fit.learnt_in(ctx, learnt_in)?]),
            })
        })
    })
}

/// How the model of an experiment is trained and asked.
struct ArmModel<'a> {
    plan: &'a StagePlan<'a>,
    trial: ExperimentPlan<'a>,
    models: ArmModels,
}

impl<'a> ArmModel<'a> {
    fn new(plan: &'a StagePlan<'a>, trial: &ExperimentPlan<'a>, models: ArmModels) -> Self {
        ArmModel { plan, trial: trial.clone(), models }
    }

    /// The model as a command, if it is one.
    fn call(&self) -> Option<CommandCall<'a>> {
        let name: &'a str = self.trial.block.model.as_str();
        let call = self.plan.call(name, self.trial.model)?;
        Some(CommandCall {
            n_folds: self.models.n,
            first_fold: self.models.first_fold,
            arm: Some(self.models.arm),
            ..call
        })
    }

    /// What makes a trained model stale, beside its rows.
    fn training_inputs(&self, b: &mut StageBuilder<'_, 'a>) {
        match self.call() {
            Some(call) => {
                b.texts(call.model_inputs());
                model_files(b, call.model);
            }
            None => b.texts(train::model_inputs(self.trial.model, self.plan.job.run.seed)),
        }
    }

    /// What makes scores stale, beside rows and model.
    fn scoring_inputs(&self, b: &mut StageBuilder<'_, 'a>) {
        if let Some(call) = self.call() {
            b.texts(call.score_inputs());
            model_files(b, call.model);
        }
    }

    /// Trains model number `m` on rows, into the folder of the stage.
    fn train_on(
        &self,
        ctx: &StageContext<'_>,
        layout: &Layout,
        rows: &TrainingRows<'_>,
        m: usize,
    ) -> Result<()> {
        let (_, n) = rows.count()?;
        let (name, model) = (self.trial.block.model.as_str(), self.trial.model);
        if let Some(trainer) = self.plan.trainer(name, model, layout, n)? {
            return files::write_json(&ctx.out().join(artifact(m)), &trainer.fit(rows)?.to_json());
        }
        match self.call() {
            Some(call) => call.train_on(ctx, layout, rows, m),
            None => {
                let what = format!("the model `{name}` cannot be trained");
                Err(Fault::new("no-training", what).into())
            }
        }
    }

    /// Scores the audited rows of a ground, or their counterfactuals in the attribute at a
    /// position, by trained models. `known` says for each model which groups it knows.
    fn score_on(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        trained: &StageInput<TrainStage>,
        of: Option<(usize, &CounterfactualReader, &[Vec<bool>])>,
    ) -> Result<()> {
        if let Some(call) = self.call() {
            let rows = of.map_or(CommandRows::Rows, |(position, made, _)| {
                CommandRows::Counterfactuals(made, &ground.rows.layout().attributes[position])
            });
            return call.score(ctx, ground, rows, Some(trained.folder(ctx)));
        }
        let scorers = trained.scorers(ctx, self.trial.model, self.models.n)?;
        match of {
            None => rows::score_rows(ground, &scorers, ctx.out()),
            Some((_, made, known)) => {
                rows::score_counterfactuals(ground, &scorers, made, known, ctx.out())
            }
        }
    }
}

/// The counterfactuals that an arm may add in one attribute, to be opened.
struct PoolInputs {
    position: usize,
    made: StageInput<GenerateStage>,
    /// Where predictions are asked for those of the rows and of the counterfactuals.
    base: Option<(StageInput<ScoreStage>, StageInput<ScoreStage>)>,
}

/// What an arm adds to the rows that train for a fold, to be opened.
struct SelectionInputs<'a> {
    plan: &'a StagePlan<'a>,
    trial: ExperimentPlan<'a>,
    arm: ExperimentArm,
    pools: Vec<PoolInputs>,
    /// How the base decides, where predictions are asked for.
    rule: Option<RuleInputs<'a>>,
}

impl<'a> SelectionInputs<'a> {
    fn need(
        b: &mut StageBuilder<'_, 'a>,
        trial: &ExperimentPlan<'a>,
        fold: usize,
        arm: ExperimentArm,
        prefix: &str,
    ) -> Result<Self> {
        let plan = b.plan;
        let named = |key: &str| format!("{prefix}{key}");
        b.texts([(named("arm"), arm.to_string())]);
        let adasyn = trial.adasyn(arm);
        if let Some(adasyn) = &adasyn {
            b.value(&named("adasyn"), adasyn);
            b.input(&named("data.features.onehot"), |job| &job.data.features.onehot);
            b.input(&named("data.missing.nominal"), |job| job.data.missing.nominal);
        }
        let chosen = trial.chosen_as(arm);
        b.texts(chosen.map(|chosen| (named("counterfactuals"), chosen.to_string())));
        let directed = trial.directed().filter(|_| chosen == Some(ExperimentArm::Directed));
        if let Some(directed) = directed {
            b.value(&named("directed"), directed);
        }
        if directed.is_some() || adasyn.is_some() {
            b.value(&named("run.seed"), plan.job.run.seed.0);
        }
        let by = trial.prediction_source(arm);
        let mut pools = Vec::new();
        for world in trial.sets.iter().filter(|_| chosen.is_some()) {
            let made = b.need::<GenerateStage>(&trial.training_set_unit(world, fold))?;
            let base = match by.map(|by| trial.predicted_unit(by, fold)) {
                None => None,
                Some(unit) => {
                    let rows = b.need::<ScoreStage>(&unit)?;
                    Some((rows, b.need::<ScoreStage>(&with_set(unit, Some(world)))?))
                }
            };
            pools.push(PoolInputs { position: world.position, made, base });
        }
        let base = [trial.fold_unit(ExperimentArm::Base, fold)];
        let rule = by.map(|_| RuleInputs::of_units(b, prefix, trial.model, base)).transpose()?;
        Ok(SelectionInputs { plan, trial: trial.clone(), arm, pools, rule })
    }

    fn open(&self, ctx: &StageContext<'_>, ground: RowContext<'_>) -> Result<ArmSelection> {
        let seed = self.plan.job.run.seed.0;
        let pool = |pool: &PoolInputs| {
            let base = match (&pool.base, &self.rule) {
                (Some((scores, scores_cf)), Some(rule)) => Some(CandidateScores {
                    scores: scores.open(ctx, ground)?,
                    scores_cf: scores_cf.open(ctx, ground)?,
                    rule: rule.open(ctx, ground)?,
                }),
                _ => None,
            };
            let counterfactuals = pool.made.open(ctx, ground)?;
            Ok(CandidatePool { attribute: pool.position, counterfactuals, base })
        };
        let pools: Vec<CandidatePool> = self.pools.iter().map(pool).collect::<Result<_>>()?;
        let choice = match (self.trial.chosen_as(self.arm), self.trial.directed()) {
            (Some(ExperimentArm::Switched), _) => CounterfactualSelection::Switched,
            (Some(ExperimentArm::Directed), Some(directed)) => {
                let rules: Vec<SelectionRule> = directed
                    .rules
                    .values()
                    .map(|rule| engine_rule(rule, ground.rows.layout(), &self.trial.sets))
                    .collect();
                CounterfactualSelection::Drawn(
                    folds::rule_matches(ground, &pools, &rules, seed)?
                        .draw(directed.fraction.get()),
                )
            }
            _ => CounterfactualSelection::All,
        };
        let adasyn = self.trial.adasyn(self.arm).map(|arm| AdasynSettings { arm, seed });
        Ok(ArmSelection { pools, choice, adasyn })
    }
}

/// Trains the model of an arm on the rows that train for a fold, and on what the arm adds; without
/// an arm the base model of inner folds.
pub(crate) fn plan_train<'a>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let trial = plan.experiment_of(unit)?;
    let rows = fold_rows(unit, b)?;
    if let (Some(PredictionSource::OutOfFold), Some(fold)) = (source_of(unit), unit.fold) {
        return plan_inner(&trial, rows.in_fold(FoldRoles::Inner, fold), b);
    }
    let (arm, fold) = arm_and_fold(unit)?;
    let selection = SelectionInputs::need(b, &trial, fold, arm, "")?;
    let model = ArmModel::new(plan, &trial, ArmModels::of(arm, fold));
    model.training_inputs(b);
    let rows = rows.in_fold(FoldRoles::Audited, fold);
    work(move |ctx| {
        rows.with(ctx, 0, |ground| {
            let layout = ground.rows.layout();
            let selection = selection.open(ctx, ground)?;
            selection.with_training_rows(ground, &plan.extras(layout), |rows, added| {
                model.train_on(ctx, layout, rows, 0)?;
                files::write_json(&ctx.out().join(ADDED), &added)
            })
        })
        .map_err(|e| plan.with_model_place(e, &["experiments", trial.name]))
    })
}

/// Trains the base model of inner folds.
fn plan_inner<'a>(
    trial: &ExperimentPlan<'a>,
    rows: RowInputs<'a>,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let (plan, name) = (b.plan, trial.name);
    let model = ArmModel::new(plan, trial, ArmModels::inner());
    model.training_inputs(b);
    work(move |ctx| {
        rows.with(ctx, 0, |ground| {
            (0..INNER_FOLDS).try_for_each(|inner| {
                let rows = TrainingRows::of_fold(
                    ground.rows,
                    ground.roles,
                    inner,
                    ground.workers,
                    ground.watch,
                );
                model.train_on(ctx, ground.rows.layout(), &rows, usize::from(inner))
            })
        })
        .map_err(|e| plan.with_model_place(e, &["experiments", name]))
    })
}

impl StageInput<TrainStage> {
    /// What an arm added.
    fn added(&self, ctx: &StageContext<'_>) -> Result<AddedRows> {
        self.read(ctx, ADDED)
    }
}

/// Fits the threshold of an arm's model in a fold to its scores of the rows that train for the
/// fold, without those that the arm adds: a threshold is a rule for people, and these are the same
/// in all arms.
pub(crate) fn plan_threshold<'a>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let trial = plan.experiment_of(unit)?;
    let (arm, fold) = arm_and_fold(unit)?;
    let name: &'a str = trial.block.model.as_str();
    let objective = fitted_objective(name, trial.model)?;
    let rows = fold_rows(unit, b)?.in_fold(FoldRoles::Audited, fold);
    let trained = b.need::<TrainStage>(unit)?;
    b.value("threshold", &trial.model.threshold);
    let model = ArmModel::new(plan, &trial, ArmModels::of(arm, fold));
    model.scoring_inputs(b);
    work(move |ctx| {
        rows.with(ctx, 0, |ground| {
            let fitted = match model.call() {
                Some(call) => {
                    let trained = Some(trained.folder(ctx));
                    fit_by_command(ctx, ground, &call, objective, trained)?
                }
                None => {
                    let scorers = trained.scorers(ctx, trial.model, model.models.n)?;
                    threshold::fit_scored(ground, objective, &scorers)?
                }
            };
            threshold::write(ctx.out(), &fitted)
        })
        .map_err(|e| plan.with_model_place(e, &["models", name, "threshold"]))
    })
}

/// Scores the audited rows of a fold, or their counterfactuals, by the model of an arm; without an
/// arm the rows that train for it, by the base model or those of inner folds.
pub(crate) fn plan_score<'a>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let trial = plan.experiment_of(unit)?;
    let world = (!unit.set.is_empty()).then(|| plan.set_of(unit)).transpose()?;
    let rows = fold_rows(unit, b)?;
    let predicting = source_of(unit).zip(unit.fold);
    // Groups are known to a model by the rows that it was trained on.
    let (models, train, fold, of_rows, of_known) = match predicting {
        Some((PredictionSource::InSample, fold)) => {
            let arm = ExperimentArm::Base;
            let (scored, known) = (FoldRoles::Training, FoldRoles::Audited);
            (ArmModels::of(arm, fold), trial.fold_unit(arm, fold), fold, scored, known)
        }
        Some((by @ PredictionSource::OutOfFold, fold)) => {
            let inner = FoldRoles::Inner;
            (ArmModels::inner(), trial.predicted_unit(by, fold), fold, inner, inner)
        }
        None => {
            let (arm, fold) = arm_and_fold(unit)?;
            let audited = FoldRoles::Audited;
            (ArmModels::of(arm, fold), trial.fold_unit(arm, fold), fold, audited, audited)
        }
    };
    let trained = b.need::<TrainStage>(&train)?;
    let made = match &world {
        None => None,
        Some(world) => {
            let made = match predicting {
                Some(_) => trial.training_set_unit(world, fold),
                None => world.unit(),
            };
            Some((world.position, b.need::<GenerateStage>(&made)?))
        }
    };
    let model = ArmModel::new(plan, &trial, models);
    model.scoring_inputs(b);
    let (scored, known) = (rows.in_fold(of_rows, fold), rows.in_fold(of_known, fold));
    work(move |ctx| {
        let Some((position, made)) = &made else {
            return scored.with(ctx, 1, |ground| model.score_on(ctx, ground, &trained, None));
        };
        let known =
            known.with(ctx, 0, |ground| rows::trained_groups(ground, *position, model.models.n))?;
        scored.with(ctx, 1, |ground| {
            model.score_on(ctx, ground, &trained, Some((*position, &made.open(ctx, ground)?, &known)))
        })
    })
}

/// The scores of an arm in all folds, to be opened.
struct PooledScores(Vec<StageInput<ScoreStage>>);

impl PooledScores {
    fn need(
        b: &mut StageBuilder<'_, '_>,
        trial: &ExperimentPlan<'_>,
        arm: ExperimentArm,
        world: Option<&AppliedSet<'_>>,
    ) -> Result<Self> {
        let unit = |fold| with_set(trial.fold_unit(arm, fold), world);
        let scores = (0..trial.n_folds).map(|fold| b.need::<ScoreStage>(&unit(fold)));
        Ok(PooledScores(scores.collect::<Result<_>>()?))
    }

    fn open(&self, ctx: &StageContext<'_>) -> Result<ScoreReader> {
        let folders: Vec<&Path> = self.0.iter().map(|stage| stage.folder(ctx)).collect();
        ScoreReader::pooled(&folders)
    }
}

/// Counts what an arm's models say of the rows of all folds and of their counterfactuals.
pub(crate) fn plan_count<'a>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let trial = plan.experiment_of(unit)?;
    let Some(arm) = arm_of(unit) else {
        return Err(misfit(format!("`{}` has no arm `{}`", unit.experiment, unit.arm)));
    };
    let of_all = RowInputs::need(b, &trial.split_unit())?;
    let by_fold = fold_rows(unit, b)?;
    let scores = PooledScores::need(b, &trial, arm, None)?;
    let mut sets = Vec::new();
    for world in &trial.sets {
        let scores_cf = PooledScores::need(b, &trial, arm, Some(world))?;
        sets.push((world.position, scores_cf, b.need::<GenerateStage>(&world.unit())?));
    }
    let mut rule_of = |folds: std::ops::Range<usize>| {
        let units = folds.map(|fold| trial.fold_unit(arm, fold));
        RuleInputs::of_units(b, "", trial.model, units)
    };
    let rule = rule_of(0..trial.n_folds)?;
    let rules: Vec<RuleInputs<'a>> =
        (0..trial.n_folds).map(|fold| rule_of(fold..fold + 1)).collect::<Result<_>>()?;
    let seed = b.seed();
    let wants_shift = b.value("score metrics", plan.wants_shift());
    b.input("metrics.interval", |job| &job.metrics.interval);
    b.input("metrics.bootstrap", |job| &job.metrics.bootstrap);
    let wanted = plan.shift_intervals();
    work(move |ctx| {
        let blocks = |paired| BlockSettings { seed, paired };
        let scores = scores.open(ctx)?;
        let in_fold = |fold: usize| by_fold.in_fold(FoldRoles::Audited, fold);
        of_all.with(ctx, 0, |ground| {
            let cut = &rule.open(ctx, ground)?;
            for attribute in 0..ground.rows.layout().attributes.len() {
                let count = |(fold, rule): (usize, &RuleInputs<'_>)| {
                    in_fold(fold).with(ctx, 0, |ground| {
                        evidence::count_rows_or_empty(
                            ground,
                            &rule.open(ctx, ground)?,
                            &scores,
                            attribute,
                            blocks(false),
                        )
                    })
                };
                let whole = evidence::count_rows(ground, cut, &scores, attribute, blocks(true))?;
                let folds = rules.iter().enumerate().map(count).collect::<Result<_>>()?;
                files::write_json(
                    &ctx.out().join(arms::factual_file(attribute)),
                    &ArmFactualEvidence { whole, folds },
                )?;
            }
            for (position, scores_cf, made) in &sets {
                let (counterfactuals, scores_cf) = (made.open(ctx, ground)?, scores_cf.open(ctx)?);
                let scored = CountInputs {
                    rule: cut,
                    attribute: *position,
                    counterfactuals: &counterfactuals,
                    scores: &scores,
                    scores_cf: &scores_cf,
                };
                let whole = switches::count_counterfactuals(ground, scored, blocks(true))?;
                let count = |(fold, rule): (usize, &RuleInputs<'_>)| {
                    in_fold(fold).with(ctx, 0, |ground| {
                        switches::count_counterfactuals(
                            ground,
                            CountInputs { rule: &rule.open(ctx, ground)?, ..scored },
                            blocks(false),
                        )
                    })
                };
                let folds = rules.iter().enumerate().map(count).collect::<Result<_>>()?;
                let shift = wants_shift
                    .then(|| {
                        let wanted = ShiftSettings { intervals: wanted };
                        switches::shift_evidence(ground, scored, &whole, wanted)
                    })
                    .transpose()?;
                files::write_json(
                    &ctx.out().join(arms::counterfactual_file(*position)),
                    &ArmShiftEvidence { whole, folds, shift },
                )?;
            }
            Ok(())
        })
    })
}

/// An arm in a fold, as the tables of an experiment read it.
struct TrainedArm {
    arm: ExperimentArm,
    fold: usize,
    train: StageInput<TrainStage>,
    threshold: Option<StageInput<ThresholdStage>>,
}

/// The tables of an experiment.
pub(crate) fn plan_measure<'a>(
    unit: &AuditUnit,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let trial = plan.experiment_of(unit)?;
    let rows = RowInputs::need(b, &trial.split_unit())?;
    let mut counted = Vec::new();
    for arm in trial.arms() {
        counted.push((arm, trial.arm_name(arm), b.need::<CountStage>(&trial.arm_unit(arm))?));
    }
    let mut sets = Vec::new();
    for world in &trial.sets {
        sets.push((world.position, b.need::<GenerateStage>(&world.unit())?));
    }
    let mut trained = Vec::new();
    for fold in 0..trial.n_folds {
        for arm in trial.arms() {
            let unit = trial.fold_unit(arm, fold);
            let fitted = trial.model.threshold.is_fitted();
            let threshold = fitted.then(|| b.need::<ThresholdStage>(&unit)).transpose()?;
            trained.push(TrainedArm { arm, fold, train: b.need::<TrainStage>(&unit)?, threshold });
        }
    }
    b.input("metrics", |job| &job.metrics);
    b.input("data.label", |job| &job.data.label);
    b.input("data.favourable", |job| &job.data.favourable);
    b.seed();
    b.value("threshold", &trial.model.threshold);
    work(move |ctx| {
        let layout = rows.prepared().open(ctx)?;
        let changed: Vec<usize> = sets.iter().map(|(position, _)| *position).collect();
        let untaught = |(position, made): &(usize, StageInput<GenerateStage>)| {
            let attribute = &layout.layout().attributes[*position];
            Ok(untaught_ranks(attribute, &made.effects(ctx)?.untaught))
        };
        let untaught: Vec<Vec<usize>> = sets.iter().map(untaught).collect::<Result<_>>()?;
        let about = trial.context(&changed, &untaught);
        let folders: Vec<ArmFolder<'_>> = counted
            .iter()
            .map(|(_, name, stage)| ArmFolder { arm: name, folder: stage.folder(ctx) })
            .collect();
        let named = |arm| {
            let found = counted.iter().find(|(of, ..)| *of == arm);
            found.map_or("", |(_, name, _)| name.as_str())
        };
        let added = |of: &TrainedArm| Ok((named(of.arm), of.fold, of.train.added(ctx)?));
        let added: Vec<(&str, usize, AddedRows)> =
            trained.iter().map(added).collect::<Result<_>>()?;
        arms::write_added(ctx.out(), about, &added)?;
        let mut thresholds = Vec::<ThresholdRow>::new();
        for of in &trained {
            let Some(stage) = &of.threshold else { continue };
            threshold::push_thresholds(
                &mut thresholds,
                (named(of.arm), about.model),
                &trial.model.threshold,
                (of.fold, &stage.open(ctx)?),
            );
        }
        write_rows(ctx.out(), &thresholds)?;
        rows.with(ctx, 0, |ground| arms::measure(ctx, plan.checked, ground, about, &folders))
    })
}

impl Stage for SelectedStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Selected;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let rows = b.need::<PrepareStage>(&AuditUnit::default())?;
        let keep = b.input("run.keep_rows", |job| job.run.keep_rows);
        let mut parts = Vec::new();
        for trial in plan.experiments() {
            let by_fold = fold_rows(&trial.unit(), b)?;
            // In the order of the table.
            let mut arms: Vec<ExperimentArm> =
                trial.arms().into_iter().filter(|&arm| trial.chosen_as(arm).is_some()).collect();
            arms.sort_by_key(|arm| arm.as_str());
            for arm in arms {
                let name = trial.arm_name(arm);
                for fold in 0..trial.n_folds {
                    let prefix = format!("{name}: ");
                    let selection = SelectionInputs::need(b, &trial, fold, arm, &prefix)?;
                    let rows = by_fold.in_fold(FoldRoles::Audited, fold);
                    parts.push((name.clone(), fold, rows, selection));
                }
            }
        }
        let always = keep == Some(KeepRows::Outcomes);
        work(move |ctx| {
            let n_rows = rows.open(ctx)?.layout().n_rows;
            if !always && n_rows >= KEEP_ROWS_BELOW {
                return Ok(());
            }
            let mut writer = folds::create_selected(ctx.out())?;
            for (name, fold, rows, selection) in &parts {
                rows.with(ctx, 0, |ground| {
                    let block = selection.trial.block;
                    let of = (block.model.as_str(), block.from.as_str(), *fold);
                    selection.open(ctx, ground)?.write_selected(ground, name, of, &mut writer)
                })?;
            }
            writer.finish()
        })
    }
}

impl Stage for TablesStage {
    type Output = MeasureStage;
    const KIND: UnitKind = UnitKind::Tables;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let measured = b.need::<MeasureStage>(&AuditUnit::default())?;
        let trials = b.plan.experiments();
        let tables = trials.iter().map(|trial| b.need::<MeasureStage>(&trial.unit()));
        let tables: Vec<StageInput<MeasureStage>> = tables.collect::<Result<_>>()?;
        work(move |ctx| {
            let folders: Vec<&Path> = tables.iter().map(|stage| stage.folder(ctx)).collect();
            arms::gather_tables(ctx.out(), measured.folder(ctx), &folders)
        })
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
