//! The stages of experiments: a model is trained again with rows added, once for each arm and fold, and measured beside the model as it was.
//!
//! Everything of an arm and a fold is a stage of its own, so a run that was stopped goes on at the arm and fold where it stopped.

mod trial;

use std::ops::Range;
use std::path::Path;

use crate::augment::Arm;
use crate::augment::adasyn::Adasyn;
use crate::augment::choose::{Choice, Rule};
use crate::data::Layout;
use crate::data::aligned::{CounterfactualReader, ScoreReader};
use crate::data::rows::RowsReader;
use crate::data::split::{self, RolesReader, Rule as SplitRule, Stratify};
use crate::data::training::TrainingRows;
use crate::error::{Error, Fault, Result};
use crate::exec::files;
use crate::exec::{Stage, StageContext};
use crate::param::{Name, Word};
use crate::pipeline::arms::{self, ArmFolder, RowsEvidence, WorldEvidence};
use crate::pipeline::augmenting::{self, ADDED, AddedRows, INNER_FOLDS, Pool, Predicting, Selection, Side};
use crate::pipeline::commands::{self, Call};
use crate::pipeline::counting::{self, Blocks, Cut, Scored};
use crate::pipeline::plan::{Plan, World, text, unique, watched};
use crate::pipeline::stages::counts::KEEP_ROWS_BELOW;
use crate::pipeline::stages::models::artifact;
use crate::pipeline::stages::rows::ROLES;
use crate::pipeline::stages::worlds::artifact as learnt_artifact;
use crate::pipeline::worlds::{self, Followed, Ground};
use crate::pipeline::{fitting, measuring, redrawing, training};
use crate::spec::KeepRows;
use crate::spec::experiments::{self, Class, Experiment, Predictions};
use crate::table::io::write_frame;
use crate::table::{Frame, THRESHOLDS};

use trial::{Models, Trial};

/// The stage with the tables of the audit and of all experiments.
pub(in crate::pipeline) const AUGMENT: &str = "augment";

/// The stage with the rows that arms chose. `augment/selected` would be the stage of an experiment of that name.
pub(in crate::pipeline) const SELECTED_STAGE: &str = "selected";

const KIND: &str = "augment";

impl<'a> Plan<'a> {
    /// The experiments of the job.
    pub(in crate::pipeline) fn trials(&self) -> Vec<Trial<'a>> {
        let trial = |(name, block): (&'a Name, &'a Experiment)| {
            let own = block.folds.is_some().then_some(name.as_str());
            let n_folds = block.folds.map_or_else(|| self.n_folds(), |folds| usize::try_from(folds.get()).unwrap_or(usize::MAX));
            Some(Trial {
                name: name.as_str(),
                block,
                model: self.job.models.get(&block.model)?,
                worlds: self.worlds_of(block.from.as_str(), self.job.counterfactuals.get(&block.from)?, own),
                n_folds,
            })
        };
        self.job.experiments.iter().filter_map(trial).collect()
    }

    /// The sets of experiments that have folds of their own, and so fits of their own.
    pub(in crate::pipeline) fn worlds_of_folds(&self) -> impl Iterator<Item = World<'a>> {
        let worlds = self.trials().into_iter().flat_map(|trial| trial.worlds);
        worlds.filter(|world| world.experiment.is_some())
    }

    /// The stages of all experiments; none without.
    pub(in crate::pipeline) fn augment_stages(&'a self) -> Vec<Stage<'a>> {
        let trials = self.trials();
        let mut stages = Vec::new();
        for trial in &trials {
            let (arms, worlds) = (trial.arms(), &trial.worlds);
            let folds = || 0..trial.n_folds;
            stages.push(self.folds_stage(trial));
            // Step by step over all folds and arms, so that stages that do not need each other follow each other.
            let own = || worlds.iter().filter(|world| world.experiment.is_some());
            stages.extend(own().filter_map(|world| self.fit_stage(world)));
            stages.extend(own().map(|world| self.generate_stage(world)));
            if arms.iter().any(|&arm| trial.chosen_as(arm).is_some()) {
                stages.extend(folds().flat_map(|fold| worlds.iter().map(move |world| self.training_world_stage(trial, fold, world))));
            }
            stages.extend(folds().map(|fold| self.train_arm_stage(trial, fold, Arm::Base)));
            stages.extend(folds().filter_map(|fold| self.threshold_arm_stage(trial, fold, Arm::Base)));
            let asked = trial.all_asked();
            if asked.contains(&Predictions::OutOfFold) {
                stages.extend(folds().map(|fold| self.inner_stage(trial, fold)));
            }
            for by in asked {
                stages.extend(folds().map(|fold| self.predict_stage(trial, fold, by, None)));
                stages.extend(folds().flat_map(|fold| worlds.iter().map(move |world| self.predict_stage(trial, fold, by, Some(world)))));
            }
            let others = arms.iter().copied().filter(|&arm| arm != Arm::Base);
            stages.extend(others.clone().flat_map(|arm| folds().map(move |fold| self.train_arm_stage(trial, fold, arm))));
            stages.extend(others.flat_map(|arm| folds().filter_map(move |fold| self.threshold_arm_stage(trial, fold, arm))));
            for &arm in &arms {
                stages.extend(folds().map(|fold| self.score_arm_stage(trial, fold, arm, None)));
                stages.extend(folds().flat_map(|fold| worlds.iter().map(move |world| self.score_arm_stage(trial, fold, arm, Some(world)))));
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
    fn folds_stage(&'a self, trial: &Trial<'a>) -> Stage<'a> {
        let inner = trial.all_asked().contains(&Predictions::OutOfFold);
        let seed = self.job.run.seed.0;
        let mut needs = vec!["prepare".to_owned()];
        let mut made_of = vec![("folds".to_owned(), trial.n_folds.to_string()), ("inner folds".to_owned(), inner.to_string())];
        let own = trial.block.folds.map(|folds| SplitRule::Folds(folds.get(), Stratify::LabelAndGroup));
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
                    let roles =
                        watched(ctx, |watch| split::roles(&rows, rule, seed, self.workers, watch)).map_err(|e| self.asked_by(e, &place))?;
                    roles.write(&ctx.out().join(ROLES), &rows)?;
                    roles
                }
                None => RolesReader::open(&ctx.need("split").join(ROLES))?.all()?,
            };
            let inner = inner.then_some(seed);
            watched(ctx, |watch| augmenting::write_folds(&rows, &roles, n_folds, inner, self.workers, watch, ctx.out()))
                .map_err(|e| self.asked_by(e, &place))
        };
        self.stage(trial.id("split"), KIND, needs, made_of, run)
    }

    /// The counterfactuals of the rows that train for a fold.
    fn training_world_stage(&'a self, trial: &Trial<'a>, fold: usize, world: &World<'a>) -> Stage<'a> {
        let mut needs = vec!["prepare".to_owned(), trial.id("split")];
        needs.extend(self.needs_of(world).into_iter().filter(|need| need.starts_with("prepare/")));
        let fit = world.block.knobs().map(|_| world.id("fit"));
        needs.extend(fit.clone());
        let mut made_of = self.made_of(world);
        made_of.push(self.seed_input());
        let (id, split, world) = (trial.world(fold, world), trial.id("split"), world.clone());
        let run = move |ctx: &StageContext<'_>| {
            self.on_roles(ctx, &ctx.need(&split).join(Side::Training.file(fold)), 1, |ground| {
                let learnt = |_| {
                    let Some(fit) = &fit else { return Ok(Vec::new()) };
                    // A reference in a file of its own is the same for all folds.
                    let own = if self.job.data.reference.is_some() { 0 } else { fold };
                    files::read_json(&ctx.need(fit).join(learnt_artifact(own)), fit).map(|learnt| vec![learnt])
                };
                self.generate_world(ctx, ground, &world, learnt)
            })
        };
        self.stage(id, KIND, needs, made_of, run)
    }

    /// Trains model number `m` of some on rows, into the folder of the stage.
    fn train_on(
        &'a self,
        ctx: &StageContext<'_>,
        trial: &Trial<'a>,
        layout: &Layout,
        rows: &TrainingRows<'_>,
        (models, m): (Models, usize),
    ) -> Result<()> {
        let (_, n) = rows.count()?;
        if let Some(trainer) = self.trainer(trial.block.model.as_str(), trial.model, layout, n)? {
            return files::write_json(&ctx.out().join(artifact(m)), &trainer.fit(rows)?.to_json());
        }
        match self.arm_call(trial, models) {
            Some(call) => call.train_on(ctx, layout, rows, m),
            None => Err(Fault::new("no-training", format!("the model `{}` cannot be trained", trial.block.model)).into()),
        }
    }

    /// The command of an experiment's model.
    fn arm_call(&'a self, trial: &Trial<'a>, models: Models) -> Option<Call<'a>> {
        let call = self.call(trial.block.model.as_str(), trial.model)?;
        Some(Call { n_folds: models.n, first_fold: models.first_fold, arm: Some(models.arm), ..call })
    }

    /// What makes a trained model stale, beside its rows.
    fn made_of_training(&'a self, trial: &Trial<'a>, models: Models) -> Vec<(String, String)> {
        match self.arm_call(trial, models) {
            Some(call) => call.made_of_model().into_iter().chain(self.input.files_of_model(call.model)).collect(),
            None => training::made_of(trial.model, self.job.run.seed),
        }
    }

    /// What makes scores stale, beside rows and model.
    fn made_of_scoring(&'a self, trial: &Trial<'a>, models: Models) -> Vec<(String, String)> {
        let call = self.arm_call(trial, models);
        call.map_or_else(Vec::new, |call| call.made_of_scores().into_iter().chain(self.input.files_of_model(call.model)).collect())
    }

    /// Scores the audited rows of a ground, or their counterfactuals, by models in a folder. `known` says for each model which groups it knows.
    fn score_on(
        &'a self,
        ctx: &StageContext<'_>,
        trial: &Trial<'a>,
        ground: Ground<'_>,
        (folder, models): (&Path, Models),
        of: Option<(&World<'a>, &CounterfactualReader, &[Vec<bool>])>,
    ) -> Result<()> {
        match (self.arm_call(trial, models), of) {
            (Some(call), None) => call.score(ctx, ground, commands::Scored::Rows, Some(folder)),
            (Some(call), Some((world, counterfactuals, _))) => {
                let attribute = &ground.rows.layout().attributes[world.position];
                call.score(ctx, ground, commands::Scored::Counterfactuals(counterfactuals, attribute), Some(folder))
            }
            (None, None) => worlds::score_rows(ground, &Self::scorers_in(folder, trial.model, models.n)?, ctx.out()),
            (None, Some((_, counterfactuals, known))) => {
                worlds::score_counterfactuals(ground, &Self::scorers_in(folder, trial.model, models.n)?, counterfactuals, known, ctx.out())
            }
        }
    }

    /// The stages whose files [`Plan::selection`] reads.
    fn needs_of_selection(trial: &Trial<'a>, fold: usize, arm: Arm) -> Vec<String> {
        let mut needs = Vec::new();
        if trial.chosen_as(arm).is_some() {
            needs.extend(trial.worlds.iter().map(|world| trial.world(fold, world)));
        }
        if let Some(by) = trial.asks(arm) {
            needs.push(trial.predict(fold, by, None));
            needs.extend(trial.worlds.iter().map(|world| trial.predict(fold, by, Some(world))));
            needs.extend(trial.threshold(fold, Arm::Base));
        }
        needs
    }

    /// What a selection depends on beside what it reads.
    fn made_of_selection(&self, trial: &Trial<'a>, arm: Arm) -> Vec<(String, String)> {
        let mut made_of = vec![("arm".to_owned(), arm.to_string())];
        let adasyn = trial.adasyn(arm);
        made_of.extend(adasyn.map(|adasyn| ("adasyn".to_owned(), text(&adasyn))));
        if adasyn.is_some() {
            let data = &self.job.data;
            made_of.extend([
                ("data.features.onehot".to_owned(), text(&data.features.onehot)),
                ("data.missing.nominal".to_owned(), text(&data.missing.nominal)),
            ]);
        }
        let chosen = trial.chosen_as(arm);
        made_of.extend(chosen.map(|chosen| ("counterfactuals".to_owned(), chosen.to_string())));
        let directed = trial.directed().filter(|_| chosen == Some(Arm::Directed));
        made_of.extend(directed.map(|directed| ("directed".to_owned(), text(directed))));
        if directed.is_some() || adasyn.is_some() {
            made_of.push(self.seed_input());
        }
        if trial.asks(arm).is_some() {
            made_of.extend(Self::cut_inputs(trial.model));
        }
        made_of
    }

    /// What an arm adds to the rows that train for a fold.
    fn selection(&self, ctx: &StageContext<'_>, trial: &Trial<'a>, ground: Ground<'_>, fold: usize, arm: Arm) -> Result<Selection> {
        let seed = self.job.run.seed.0;
        let chosen = trial.chosen_as(arm);
        let by = trial.asks(arm);
        let pool = |world: &World<'a>| {
            let scores = |of: Option<&World<'a>>, by| ScoreReader::open(ctx.need(&trial.predict(fold, by, of)));
            let predicting = |by| {
                let cut = Self::arm_cut(ctx, trial, ground, fold..fold + 1, Arm::Base)?;
                Ok::<_, Error>(Predicting { scores: scores(None, by)?, scores_cf: scores(Some(world), by)?, cut })
            };
            Ok(Pool {
                attribute: world.position,
                counterfactuals: CounterfactualReader::open(ctx.need(&trial.world(fold, world)))?,
                base: by.map(predicting).transpose()?,
            })
        };
        let pools: Vec<Pool> = trial.worlds.iter().filter(|_| chosen.is_some()).map(pool).collect::<Result<_>>()?;
        let choice = match (chosen, trial.directed()) {
            (Some(Arm::Switched), _) => Choice::Switched,
            (Some(Arm::Directed), Some(directed)) => {
                let rules: Vec<Rule> = directed.rules.values().map(|rule| engine_rule(rule, ground.rows.layout(), &trial.worlds)).collect();
                Choice::Drawn(augmenting::matches(ground, &pools, &rules, seed)?.draw(directed.fraction.get()))
            }
            _ => Choice::All,
        };
        let adasyn = trial.adasyn(arm).map(|knobs| Adasyn {
            neighbours: usize::try_from(knobs.neighbours.get()).unwrap_or(usize::MAX),
            beta: knobs.beta.get(),
            threshold: knobs.ratio.get(),
            seed,
        });
        Ok(Selection { pools, choice, adasyn })
    }

    /// Trains the model of an arm on the rows that train for a fold, and on what the arm adds.
    fn train_arm_stage(&'a self, trial: &Trial<'a>, fold: usize, arm: Arm) -> Stage<'a> {
        let models = Models::of(arm, fold);
        let split = trial.id("split");
        let mut needs = vec!["prepare".to_owned(), split.clone()];
        needs.extend(Self::needs_of_selection(trial, fold, arm));
        let mut made_of = self.made_of_selection(trial, arm);
        made_of.extend(self.made_of_training(trial, models));
        let trial_of_run = trial.clone();
        let run = move |ctx: &StageContext<'_>| {
            let trial = &trial_of_run;
            let work = |ground: Ground<'_>| {
                let layout = ground.rows.layout();
                let selection = self.selection(ctx, trial, ground, fold, arm)?;
                selection.with_rows(ground, &self.extras(layout), |rows, added| {
                    self.train_on(ctx, trial, layout, rows, (models, 0))?;
                    files::write_json(&ctx.out().join(ADDED), &added)
                })
            };
            self.on_roles(ctx, &ctx.need(&split).join(Side::Audited.file(fold)), 0, work)
                .map_err(|e| self.asked_by(e, &["experiments", trial.name]))
        };
        self.stage(trial.train(fold, arm), KIND, needs, unique(made_of), run)
    }

    /// Fits the threshold of an arm's model in a fold to its scores of the rows that train for the fold, without those that the arm adds:
    /// a threshold is a rule for people, and these are the same in all arms.
    fn threshold_arm_stage(&'a self, trial: &Trial<'a>, fold: usize, arm: Arm) -> Option<Stage<'a>> {
        let (id, objective) = (trial.threshold(fold, arm)?, fitting::objective(&trial.model.threshold)?);
        let models = Models::of(arm, fold);
        let (split, train) = (trial.id("split"), trial.train(fold, arm));
        let needs = vec!["prepare".to_owned(), split.clone(), train.clone()];
        let mut made_of = vec![("threshold".to_owned(), text(&trial.model.threshold))];
        made_of.extend(self.made_of_scoring(trial, models));
        let trial = trial.clone();
        let run = move |ctx: &StageContext<'_>| {
            let work = |ground: Ground<'_>| {
                let trained = ctx.need(&train);
                let fitted = match self.arm_call(&trial, models) {
                    Some(call) => Self::fit_by_command(ctx, ground, &call, objective, Some(trained))?,
                    None => fitting::fit_scored(ground, objective, &Self::scorers_in(trained, trial.model, models.n)?)?,
                };
                fitting::write(ctx.out(), &fitted)
            };
            self.on_roles(ctx, &ctx.need(&split).join(Side::Audited.file(fold)), 0, work)
                .map_err(|e| self.asked_by(e, &["models", trial.block.model.as_str(), "threshold"]))
        };
        Some(self.stage(id, KIND, needs, made_of, run))
    }

    /// How the scores of an arm become decisions, by the thresholds of some folds.
    fn arm_cut(ctx: &StageContext<'_>, trial: &Trial<'a>, ground: Ground<'_>, folds: Range<usize>, arm: Arm) -> Result<Cut> {
        let fitted = |fold: usize| match trial.threshold(fold, arm) {
            Some(stage) => fitting::read(ctx.need(&stage)),
            None => Ok(Vec::new()),
        };
        let fitted = folds.map(fitted).collect::<Result<Vec<_>>>()?.concat();
        Ok(Self::cut_at(trial.model, ground, &fitted))
    }

    /// Scores the audited rows of a fold, or their counterfactuals.
    fn score_arm_stage(&'a self, trial: &Trial<'a>, fold: usize, arm: Arm, world: Option<&World<'a>>) -> Stage<'a> {
        let models = Models::of(arm, fold);
        let (split, train) = (trial.id("split"), trial.train(fold, arm));
        let mut needs = vec!["prepare".to_owned(), split.clone(), train.clone()];
        needs.extend(world.map(|world| world.id("generate")));
        let (id, world, trial_of_run) = (trial.score(fold, arm, world), world.cloned(), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let work = |ground: Ground<'_>| {
                let trained = (ctx.need(&train), models);
                let Some(world) = &world else { return self.score_on(ctx, &trial_of_run, ground, trained, None) };
                let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                let known = worlds::trained_groups(ground, world.position, models.n)?;
                self.score_on(ctx, &trial_of_run, ground, trained, Some((world, &counterfactuals, &known)))
            };
            self.on_roles(ctx, &ctx.need(&split).join(Side::Audited.file(fold)), 1, work)
        };
        self.stage(id, KIND, needs, self.made_of_scoring(trial, models), run)
    }

    /// Trains the base model of inner folds.
    fn inner_stage(&'a self, trial: &Trial<'a>, fold: usize) -> Stage<'a> {
        let models = Models::inner();
        let split = trial.id("split");
        let needs = vec!["prepare".to_owned(), split.clone()];
        let (id, trial_of_run) = (trial.fold(fold, "inner"), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let work = |ground: Ground<'_>| {
                (0..INNER_FOLDS).try_for_each(|inner| {
                    let rows = TrainingRows::of_fold(ground.rows, ground.roles, inner, ground.workers, ground.watch);
                    self.train_on(ctx, &trial_of_run, ground.rows.layout(), &rows, (models, usize::from(inner)))
                })
            };
            self.on_roles(ctx, &ctx.need(&split).join(Side::Inner.file(fold)), 0, work)
                .map_err(|e| self.asked_by(e, &["experiments", trial_of_run.name]))
        };
        self.stage(id, KIND, needs, self.made_of_training(trial, models), run)
    }

    /// Scores the rows that train for a fold, or their counterfactuals, by the base model or those of inner folds.
    fn predict_stage(&'a self, trial: &Trial<'a>, fold: usize, by: Predictions, world: Option<&World<'a>>) -> Stage<'a> {
        let (models, side, trained) = match by {
            Predictions::InSample => (Models::of(Arm::Base, fold), Side::Training, trial.train(fold, Arm::Base)),
            Predictions::OutOfFold => (Models::inner(), Side::Inner, trial.fold(fold, "inner")),
        };
        let split = trial.id("split");
        let mut needs = vec!["prepare".to_owned(), split.clone(), trained.clone()];
        let made = world.map(|world| (world.clone(), trial.world(fold, world)));
        needs.extend(made.iter().map(|(_, stage)| stage.clone()));
        let (id, trial_of_run) = (trial.predict(fold, by, world), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let folder = ctx.need(&split);
            // Groups are known to a model by the rows that it was trained on.
            let known = |world: &World<'a>| {
                let side = if side == Side::Inner { Side::Inner } else { Side::Audited };
                self.on_roles(ctx, &folder.join(side.file(fold)), 0, |ground| worlds::trained_groups(ground, world.position, models.n))
            };
            let known = made.as_ref().map(|(world, _)| known(world)).transpose()?.unwrap_or_default();
            self.on_roles(ctx, &folder.join(side.file(fold)), 1, |ground| {
                let trained = (ctx.need(&trained), models);
                let Some((world, stage)) = &made else { return self.score_on(ctx, &trial_of_run, ground, trained, None) };
                let counterfactuals = CounterfactualReader::open(ctx.need(stage))?;
                self.score_on(ctx, &trial_of_run, ground, trained, Some((world, &counterfactuals, &known)))
            })
        };
        self.stage(id, KIND, needs, self.made_of_scoring(trial, models), run)
    }

    /// Counts what an arm's models say of the rows of all folds and of their counterfactuals.
    fn count_arm_stage(&'a self, trial: &Trial<'a>, arm: Arm) -> Stage<'a> {
        let (split, of_all) = (trial.id("split"), trial.split());
        let mut needs = vec!["prepare".to_owned(), split.clone()];
        needs.extend((of_all != split).then(|| of_all.clone()));
        for fold in 0..trial.n_folds {
            needs.push(trial.score(fold, arm, None));
            needs.extend(trial.worlds.iter().map(|world| trial.score(fold, arm, Some(world))));
            needs.extend(trial.threshold(fold, arm));
        }
        needs.extend(trial.worlds.iter().map(|world| world.id("generate")));
        let wanted = self.wanted_shift();
        let mut made_of = Self::cut_inputs(trial.model);
        made_of.extend([
            self.seed_input(),
            ("score metrics".to_owned(), self.wants_shift().to_string()),
            ("metrics.interval".to_owned(), text(&self.job.metrics.interval)),
            ("metrics.bootstrap".to_owned(), text(&self.job.metrics.bootstrap)),
        ]);
        let (id, trial_of_run) = (trial.id(arm.as_str()), trial.clone());
        let run = move |ctx: &StageContext<'_>| {
            let trial = &trial_of_run;
            let pooled = |world: Option<&World<'a>>| {
                let folders: Vec<&Path> = (0..trial.n_folds).map(|fold| ctx.need(&trial.score(fold, arm, world))).collect();
                ScoreReader::pooled(&folders)
            };
            let blocks = |paired| Blocks { seed: self.job.run.seed, paired };
            let in_fold = |fold: usize| ctx.need(&split).join(Side::Audited.file(fold));
            let scores = pooled(None)?;
            self.on_roles(ctx, &ctx.need(&of_all).join(ROLES), 0, |ground| {
                let cut = &Self::arm_cut(ctx, trial, ground, 0..trial.n_folds, arm)?;
                let cut_of = |ground: Ground<'_>, fold: usize| Self::arm_cut(ctx, trial, ground, fold..fold + 1, arm);
                for attribute in 0..ground.rows.layout().attributes.len() {
                    let count = |fold: usize| {
                        let count =
                            |ground: Ground<'_>| counting::count_anybody(ground, &cut_of(ground, fold)?, &scores, attribute, blocks(false));
                        self.on_roles(ctx, &in_fold(fold), 0, count)
                    };
                    let whole = counting::count_rows(ground, cut, &scores, attribute, blocks(true))?;
                    let folds = (0..trial.n_folds).map(count).collect::<Result<_>>()?;
                    files::write_json(&ctx.out().join(arms::rows_file(attribute)), &RowsEvidence { whole, folds })?;
                }
                for world in &trial.worlds {
                    let counterfactuals = CounterfactualReader::open(ctx.need(&world.id("generate")))?;
                    let scores_cf = pooled(Some(world))?;
                    let scored = Scored {
                        cut,
                        attribute: world.position,
                        counterfactuals: &counterfactuals,
                        scores: &scores,
                        scores_cf: &scores_cf,
                    };
                    let whole = counting::count_counterfactuals(ground, scored, blocks(true))?;
                    let count = |fold: usize| {
                        let count = |ground: Ground<'_>| {
                            counting::count_counterfactuals(ground, Scored { cut: &cut_of(ground, fold)?, ..scored }, blocks(false))
                        };
                        self.on_roles(ctx, &in_fold(fold), 0, count)
                    };
                    let folds = (0..trial.n_folds).map(count).collect::<Result<_>>()?;
                    let shift = self
                        .wants_shift()
                        .then(|| redrawing::second_pass(ground, redrawing::Of::Positive(scored), &whole, wanted))
                        .transpose()?;
                    files::write_json(&ctx.out().join(arms::world_file(world.position)), &WorldEvidence { whole, folds, shift })?;
                }
                Ok(())
            })
        };
        self.stage(id, KIND, needs, made_of, run)
    }

    /// The tables of an experiment.
    fn experiment_stage(&'a self, trial: &Trial<'a>) -> Stage<'a> {
        let of_all = trial.split();
        let mut needs = vec!["prepare".to_owned(), of_all.clone()];
        let arms = trial.arms();
        needs.extend(arms.iter().map(|arm| trial.id(arm.as_str())));
        needs.extend(trial.worlds.iter().map(|world| world.id("generate")));
        let trained = |fold: usize| arms.iter().map(move |&arm| (arm, fold));
        let trained: Vec<(Arm, usize)> = (0..trial.n_folds).flat_map(trained).collect();
        needs.extend(trained.iter().map(|&(arm, fold)| trial.train(fold, arm)));
        needs.extend(trained.iter().filter_map(|&(arm, fold)| trial.threshold(fold, arm)));
        let made_of = vec![
            ("metrics".to_owned(), text(&self.job.metrics)),
            ("data.label".to_owned(), text(&self.job.data.label)),
            ("data.favourable".to_owned(), text(&self.job.data.favourable)),
            self.seed_input(),
            ("threshold".to_owned(), text(&trial.model.threshold)),
        ];
        let id = format!("augment/{}", trial.name);
        let trial = trial.clone();
        let run = move |ctx: &StageContext<'_>| {
            let changed: Vec<usize> = trial.worlds.iter().map(|world| world.position).collect();
            let untaught: Vec<Vec<usize>> = trial
                .worlds
                .iter()
                .map(|world| {
                    let rows = RowsReader::open(ctx.need("prepare"))?;
                    let attribute = &rows.layout().attributes[world.position];
                    Ok(measuring::untaught(attribute, &Followed::read(ctx, &world.id("generate"))?.untaught))
                })
                .collect::<Result<_>>()?;
            let about = trial.about(&changed, &untaught);
            let names: Vec<(Arm, String)> = arms.iter().map(|&arm| (arm, trial.arm(arm))).collect();
            let folders: Vec<ArmFolder<'_>> =
                names.iter().map(|(arm, name)| ArmFolder { arm: name, folder: ctx.need(&trial.id(arm.as_str())) }).collect();
            let added = |&(arm, fold): &(Arm, usize)| {
                let stage = trial.train(fold, arm);
                let added: AddedRows = files::read_json(&ctx.need(&stage).join(ADDED), &stage)?;
                let name = names.iter().find(|(of, _)| *of == arm).map_or("", |(_, name)| name.as_str());
                Ok((name, fold, added))
            };
            let added: Vec<(&str, usize, AddedRows)> = trained.iter().map(added).collect::<Result<_>>()?;
            arms::write_added(ctx.out(), about, &added)?;
            let mut thresholds = Frame::new(&THRESHOLDS);
            for &(arm, fold) in &trained {
                let Some(stage) = trial.threshold(fold, arm) else { continue };
                let fitted = fitting::read(ctx.need(&stage))?;
                fitting::tell(&mut thresholds, (&trial.arm(arm), about.model), &trial.model.threshold, (fold, &fitted));
            }
            write_frame(ctx.out(), &thresholds)?;
            self.on_roles(ctx, &ctx.need(&of_all).join(ROLES), 0, |ground| arms::measure(ctx, self.checked, ground, about, &folders))
        };
        self.stage(id, KIND, needs, made_of, run)
    }

    /// The counterfactuals that arms added, row by row.
    fn selected_stage(&'a self, trials: &[Trial<'a>]) -> Stage<'a> {
        let mut needs = vec!["prepare".to_owned()];
        let mut made_of = vec![("run.keep_rows".to_owned(), text(&self.job.run.keep_rows))];
        let mut parts = Vec::new();
        for trial in trials {
            needs.push(trial.id("split"));
            // In the order of the table.
            let mut arms: Vec<Arm> = trial.arms().into_iter().filter(|&arm| trial.chosen_as(arm).is_some()).collect();
            arms.sort_by_key(|arm| arm.as_str());
            for arm in arms {
                let inputs = self.made_of_selection(trial, arm).into_iter();
                made_of.extend(inputs.map(|(key, value)| (format!("{}: {key}", trial.arm(arm)), value)));
                for fold in 0..trial.n_folds {
                    needs.extend(Self::needs_of_selection(trial, fold, arm));
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
            let mut writer = augmenting::create_selected(ctx.out())?;
            for (trial, arm, fold) in &parts {
                let roles = ctx.need(&trial.id("split")).join(Side::Audited.file(*fold));
                self.on_roles(ctx, &roles, 0, |ground| {
                    let of = (trial.block.model.as_str(), trial.block.from.as_str(), *fold);
                    self.selection(ctx, trial, ground, *fold, *arm)?.write(ground, &trial.arm(*arm), of, &mut writer)
                })?;
            }
            writer.finish()
        };
        self.stage(SELECTED_STAGE.to_owned(), KIND, needs, unique(made_of), run)
    }

    /// The tables of the audit and of all experiments.
    fn all_tables_stage(&'a self, trials: &[Trial<'a>]) -> Stage<'a> {
        let experiments: Vec<String> = trials.iter().map(|trial| format!("augment/{}", trial.name)).collect();
        let mut needs = vec!["measure".to_owned()];
        needs.extend(experiments.iter().cloned());
        let run = move |ctx: &StageContext<'_>| {
            let folders: Vec<&Path> = experiments.iter().map(|stage| ctx.need(stage)).collect();
            arms::gather(ctx.out(), ctx.need("measure"), &folders)
        };
        self.stage(AUGMENT.to_owned(), KIND, needs, Vec::new(), run)
    }
}

/// A rule of the job by positions. Where it names no attribute and the set changes one, it is that one.
fn engine_rule(rule: &experiments::Rule, layout: &Layout, worlds: &[World<'_>]) -> Rule {
    let named = rule.sensitive.as_ref().and_then(|name| layout.attribute(name.as_str()));
    let only = if let [world] = worlds { Some(world.position) } else { None };
    let attribute = named.or(only);
    let group = |name: &Option<Word>| {
        let groups = &layout.attributes[attribute?].groups;
        let place = groups.iter().position(|group| name.as_ref().is_some_and(|name| group == name.as_str()))?;
        u16::try_from(place).ok()
    };
    let is = |class: Option<Class>| class.map(|class| class == Class::Positive);
    Rule {
        attribute,
        from: group(&rule.source_group),
        to: group(&rule.target_group),
        label: is(rule.label),
        predicted: is(rule.original_prediction),
        predicted_cf: is(rule.cf_prediction),
    }
}
