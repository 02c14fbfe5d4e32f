//! The stages `fit` and `generate`: what a strategy learns of the reference, and the
//! counterfactuals of every set and attribute.

pub mod basis;
mod forecast;
pub(crate) mod generators;
pub mod placebo;
pub mod refits;
pub mod rows;

use std::collections::BTreeSet;

use crate::counterfactual::Generator;
use crate::counterfactual::conditional::Conditioning;
use crate::counterfactual::fitted::{FittedStrategy, fit_strategy};
use crate::counterfactual::forms::ConditionOn;
use crate::counterfactual::knobs::StrategyBlock;
use crate::counterfactual::naive::NaiveGenerator;
use crate::counterfactual::variable::VariableOptions;
use crate::data::prepare::params::MissingRule;
use crate::data::rows::RowsReader;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::data::rows::split::RolesReader;
use crate::data::{Layout, MISSING_LEVEL};
use crate::error::{Error, Fault, Result};
use crate::exec::{PlannedStage, StageContext, files};
use crate::job::{self, CounterfactualSet};
use crate::param::{ColumnName, Name};
use crate::stage::applied_set::{AppliedSet, canonical_text};
use crate::stage::artifact::{REFERENCE_STAGE, ROLES};
use crate::stage::generate::basis::{LearningReference, RowClasses};
use crate::stage::generate::generators::{FoldGenerators, GeneratorInputs};
use crate::stage::generate::placebo::{PlaceboInputs, PlaceboModel};
use crate::stage::generate::rows::GenerateInputs;
use crate::stage::measure::quality::{QualityInputs, TransportTallies};
use crate::stage::measure::{catalog, examples};
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;

/// File of the stage `fit` for a fold.
pub(crate) fn artifact(fold: usize) -> String {
    format!("learnt-{fold}.json")
}

impl<'a> StagePlan<'a> {
    /// The models whose predictions sets condition on.
    pub(crate) fn conditioning_models(&self) -> BTreeSet<&'a str> {
        let of_set = |set: &'a CounterfactualSet| match set.knobs()?.condition_on() {
            ConditionOn::Prediction(model) => Some(model.as_str()),
            ConditionOn::Label | ConditionOn::RawLabel | ConditionOn::Nothing => None,
        };
        self.job.counterfactuals.values().filter_map(of_set).collect()
    }

    /// The stage that scores the rows by the model that a set conditions on.
    fn conditioning_model(world: &AppliedSet<'a>) -> Option<&'a Name> {
        match world.block.knobs()?.condition_on() {
            ConditionOn::Prediction(model) => Some(model),
            ConditionOn::Label | ConditionOn::RawLabel | ConditionOn::Nothing => None,
        }
    }

    /// What the stages of a world read beside the rows.
    pub(crate) fn set_needs(&self, world: &AppliedSet<'a>) -> Vec<String> {
        let mut needs = vec!["prepare".to_owned(), world.split_id()];
        needs.extend(self.job.data.reference.as_ref().map(|_| REFERENCE_STAGE.to_owned()));
        if let Some(name) = Self::conditioning_model(world) {
            needs.push(Self::score_id(name.as_str()));
            needs.extend(
                self.job
                    .models
                    .get(name)
                    .and_then(|model| Self::threshold_id(name.as_str(), model)),
            );
        }
        needs
    }

    /// What the stages of a world depend on beside what they read.
    pub(crate) fn set_inputs(&self, world: &AppliedSet<'a>) -> Vec<(String, String)> {
        // A placebo changes what is measured, not what is generated; other attributes have stages
        // of their own.
        let graph_uncertain = None;
        let strategy_only = CounterfactualSet {
            placebo: None,
            sensitive: None,
            graph_uncertain,
            ..world.block.clone()
        };
        let mut made_of = vec![
            ("counterfactuals".to_owned(), canonical_text(&strategy_only)),
            ("attribute".to_owned(), world.attribute.to_owned()),
            ("data.missing.nominal".to_owned(), canonical_text(&self.job.data.missing.nominal)),
            ("data.features.onehot".to_owned(), canonical_text(&self.job.data.features.onehot)),
        ];
        if let Some(ConditionOn::Prediction(name)) =
            world.block.knobs().map(StrategyBlock::condition_on)
            && let Some(model) = self.job.models.get(name)
        {
            made_of.extend(Self::rule_inputs(model));
        }
        made_of
    }

    /// The rows that strategies learn from.
    pub(crate) fn learning_reference<'g>(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'g>,
    ) -> Result<LearningReference<'g>> {
        let reference = self
            .job
            .data
            .reference
            .as_ref()
            .map(|_| RowsReader::open(ctx.need(REFERENCE_STAGE)))
            .transpose()?;
        LearningReference::new(ground, reference)
            .map_err(|error| self.with_model_place(error, &["data", "reference"]))
    }

    /// What a set conditions on, open for reading.
    pub(crate) fn row_classes(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        world: &AppliedSet<'a>,
    ) -> Result<RowClasses> {
        let Some(knobs) = world.block.knobs() else { return Ok(RowClasses::Label) };
        match knobs.condition_on() {
            ConditionOn::Label | ConditionOn::Nothing => Ok(RowClasses::Label),
            ConditionOn::RawLabel => {
                let layout = ground.rows.layout();
                // Preparing puts the label as it stands last among the hidden features.
                Ok(layout
                    .hidden
                    .last()
                    .map_or(RowClasses::Label, |&feature| RowClasses::Raw(feature)))
            }
            ConditionOn::Prediction(name) => {
                let Some(model) = self.job.models.get(name) else { return Ok(RowClasses::Label) };
                let scores = ScoreReader::open(ctx.need(&Self::score_id(name.as_str())))?;
                let roles = RolesReader::open(&ctx.need("split").join(ROLES))?;
                Ok(RowClasses::Predicted(
                    Self::decision_rule(ctx, name.as_str(), model, ground)?,
                    scores,
                    roles,
                ))
            }
        }
    }

    /// What the features do not say.
    pub(crate) fn extras(&self, layout: &Layout) -> VariableOptions {
        let level = self.job.data.missing.nominal == MissingRule::Level;
        let positions = |columns: &[ColumnName]| {
            columns.iter().filter_map(|column| layout.feature(column.as_str())).collect()
        };
        let onehot = self
            .job
            .data
            .features
            .onehot
            .iter()
            .map(|(name, columns)| (name.to_string(), positions(columns)));
        VariableOptions {
            missing_level: level.then(|| MISSING_LEVEL.to_owned()),
            onehot: onehot.collect(),
            ..VariableOptions::default()
        }
    }

    /// The stage that learns; none for a strategy that has nothing to learn.
    pub(crate) fn fit_stage(&'a self, world: &AppliedSet<'a>) -> Option<PlannedStage<'a>> {
        let knobs = world.block.knobs()?;
        let (needs, made_of) = (self.set_needs(world), self.set_inputs(world));
        let (id, kind) = (world.id("fit"), world.kind("fit"));
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.with_roles(ctx, &ctx.need(&world.split_id()).join(ROLES), 0, |ground| {
                let (basis, classes) =
                    (self.learning_reference(ctx, ground)?, self.row_classes(ctx, ground, &world)?);
                let mut read = Vec::new();
                for fold in 0..basis.n_folds() {
                    let reference = basis.rows(fold, &classes, None);
                    let learnt = fit_strategy(
                        knobs,
                        ground.rows.layout(),
                        &self.extras(ground.rows.layout()),
                        &reference,
                        world.position,
                    )
                    .map_err(|error| self.with_set_place(error, &world))?;
                    files::write_json(&ctx.out().join(artifact(fold)), &learnt)?;
                    read.push(refits::reference_hash(
                        ground.rows.layout(),
                        &learnt,
                        &classes,
                        &reference,
                        world.position,
                    )?);
                }
                refits::write(ctx.out(), &read)
            })
        };
        Some(self.stage(id, kind, needs, made_of, run))
    }

    /// A fault with the line of the set, or of the counterparts, that asks for what is faulty.
    pub(crate) fn with_set_place(&self, error: Error, world: &AppliedSet<'a>) -> Error {
        let (word, Error::Data(fault)) =
            (world.block.knobs().map_or("naive", StrategyBlock::job_key), &error)
        else {
            return error;
        };
        let column = fault.column.clone().unwrap_or_default();
        let keys = match fault.code {
            "unknown-level" => vec!["counterfactuals", world.set, word, "counterpart", &column],
            _ => vec!["counterfactuals", world.set, word],
        };
        self.with_model_place(error, &keys)
    }

    /// What was learnt, for each fold.
    pub(crate) fn learnt(
        &self,
        ctx: &StageContext<'_>,
        world: &AppliedSet<'a>,
        n_folds: usize,
    ) -> Result<Vec<FittedStrategy>> {
        let stage = world.id("fit");
        (0..n_folds)
            .map(|fold| files::read_json(&ctx.need(&stage).join(artifact(fold)), &stage))
            .collect()
    }

    pub(crate) fn generate_stage(&'a self, world: &AppliedSet<'a>) -> PlannedStage<'a> {
        let knobs = world.block.knobs();
        let mut needs = self.set_needs(world);
        needs.extend(knobs.map(|_| world.id("fit")));
        let mut made_of = self.set_inputs(world);
        made_of.push(("features".to_owned(), self.features.to_string()));
        if let Some(StrategyBlock::Transport(_)) = knobs {
            made_of.push(self.seed_input());
        }
        let (id, kind) = (world.id("generate"), world.kind("generate"));
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.with_roles(ctx, &ctx.need(&world.split_id()).join(ROLES), 1, |ground| {
                self.check_sum_memory(Some(ground.roles.n_audited()))?;
                self.generate_counterfactuals(ctx, ground, &world, |n_folds| {
                    self.learnt(ctx, &world, n_folds)
                })
            })
        };
        self.stage(id, kind, needs, made_of, run)
    }

    /// Writes the counterfactuals of the audited rows of a ground; `learnt` gets the number of
    /// references.
    pub(crate) fn generate_counterfactuals(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        world: &AppliedSet<'a>,
        learnt: impl FnOnce(usize) -> Result<Vec<FittedStrategy>>,
    ) -> Result<()> {
        // Of a set that rests on graphs only the keys are written: its counterfactuals are numbers,
        // not rows.
        let (with_features, knobs) =
            (self.features && world.graphs().is_none(), world.block.knobs());
        let (basis, classes) =
            (self.learning_reference(ctx, ground)?, self.row_classes(ctx, ground, world)?);
        let mut untaught = Vec::new();
        let generators = match knobs {
            None => vec![Box::new(NaiveGenerator) as Box<dyn Generator>],
            Some(knobs) => {
                let learnt = learnt(basis.n_folds())?;
                untaught = learnt.iter().flat_map(FittedStrategy::unlearnt_groups).collect();
                untaught.sort_unstable();
                untaught.dedup();
                check_classes(ground, &classes, &learnt, world.position)
                    .map_err(|e| self.with_set_place(e, world))?;
                let made = GeneratorInputs {
                    context: ground,
                    reference: &basis,
                    classes: &classes,
                    position: world.position,
                    seed: self.job.run.seed,
                    edit: None,
                    groups: None,
                };
                let FoldGenerators { generators, tallies } =
                    made.generators(knobs, learnt).map_err(|e| self.with_set_place(e, world))?;
                if let Some(tallies) = tallies {
                    files::write_json(&ctx.out().join(TALLIES), &tallies)?;
                }
                generators
            }
        };
        let write_backs = if with_features {
            rows::write_backs(ground, &basis, world.position)?
        } else {
            Vec::new()
        };
        let making = GenerateInputs {
            generators: &generators,
            attribute: world.position,
            classes: &classes,
            write_backs: &write_backs,
            with_features,
            judged: knobs.is_some(),
            untaught: &untaught,
        };
        rows::generate(ground, &making, ctx.out())
    }
}

impl<'a> StagePlan<'a> {
    /// Whether the quality of counterfactuals is asked for.
    pub(crate) fn wants_quality(&self) -> bool {
        job::check::families(self.job, &catalog::catalog()).contains(&job::MetricFamily::CfQuality)
    }

    /// The stage that measures the quality of counterfactuals; none for a strategy that moves
    /// nothing.
    pub(crate) fn quality_stage(&'a self, world: &AppliedSet<'a>) -> Option<PlannedStage<'a>> {
        let knobs = world.block.knobs()?;
        let mut needs = self.set_needs(world);
        needs.extend([world.id("fit"), world.id("generate")]);
        let mut made_of = self.set_inputs(world);
        let pairs = self.job.report.example_pairs;
        if pairs > 0 {
            made_of.push(("report.example_pairs".to_owned(), pairs.to_string()));
            made_of.push(self.seed_input());
        }
        let id = world.id("measure");
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                let (basis, classes) =
                    (self.learning_reference(ctx, ground)?, self.row_classes(ctx, ground, &world)?);
                let learnt = self.learnt(ctx, &world, basis.n_folds())?;
                let generate = world.id("generate");
                let folder = ctx.need(&generate);
                let tallies: Option<TransportTallies> = match knobs {
                    StrategyBlock::Transport(_) => {
                        Some(files::read_json(&folder.join(TALLIES), &generate)?)
                    }
                    StrategyBlock::Greedy(_) | StrategyBlock::Plausible(_) => None,
                };
                let judging = QualityInputs {
                    context: ground,
                    reference: &basis,
                    classes: &classes,
                    learnt: &learnt,
                    counterfactuals: &CounterfactualReader::open(folder)?,
                    tallies: tallies.as_ref(),
                    set: world.set,
                    position: world.position,
                    examples: examples::ExampleSettings {
                        pairs: usize::try_from(pairs).unwrap_or(usize::MAX),
                        seed: self.job.run.seed,
                    },
                };
                judging.write(ctx.out())
            })
        };
        Some(self.stage(id, "measure", needs, made_of, run))
    }
}

impl<'a> StagePlan<'a> {
    /// The models that a placebo asks: those that are trained here; `check` lets no others stand
    /// beside one.
    fn placebo_models(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
    ) -> Result<Vec<PlaceboModel>> {
        let trained = self.job.models.iter().filter(|(_, model)| model.is_trained_here());
        let asked = trained.map(|(name, model)| {
            let name = name.to_string();
            let scores = ScoreReader::open(ctx.need(&Self::score_id(&name)))?;
            Ok(PlaceboModel {
                scorers: self.scorers(ctx, &name, model, ground.rows.layout())?,
                rule: Self::decision_rule(ctx, &name, model, ground)?,
                scores,
                name,
            })
        });
        asked.collect()
    }

    /// The stage that repeats a set with shuffled group names; none where the set asks for no
    /// placebo, or has no noise.
    pub(crate) fn placebo_stage(&'a self, world: &AppliedSet<'a>) -> Option<PlannedStage<'a>> {
        let (knobs, placebo) = (world.block.knobs()?, world.block.placebo?);
        let mut needs = self.set_needs(world);
        let mut made_of = self.set_inputs(world);
        for (name, model) in &self.job.models {
            needs.extend([Self::train_id(name.as_str()), Self::score_id(name.as_str())]);
            needs.extend(Self::threshold_id(name.as_str(), model));
            made_of.extend(
                Self::rule_inputs(model)
                    .into_iter()
                    .map(|(key, value)| (format!("models.{name}.{key}"), value)),
            );
        }
        needs.sort();
        needs.dedup();
        made_of.extend([
            ("placebo".to_owned(), canonical_text(&placebo)),
            self.seed_input(),
            ("score metrics".to_owned(), self.wants_shift().to_string()),
        ]);
        let id = world.id("placebo");
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                let (basis, classes) =
                    (self.learning_reference(ctx, ground)?, self.row_classes(ctx, ground, &world)?);
                let placebo = PlaceboInputs {
                    context: ground,
                    reference: &basis,
                    classes: &classes,
                    knobs,
                    extras: self.extras(ground.rows.layout()),
                    position: world.position,
                    models: self.placebo_models(ctx, ground)?,
                    seed: self.job.run.seed,
                    repeats: placebo.repeats,
                    wants_shift: self.wants_shift(),
                };
                placebo.write(ctx.out()).map_err(|error| self.with_set_place(error, &world))
            })
        };
        Some(self.stage(id, "count", needs, made_of, run))
    }
}

/// File of the stage `generate` of a transport.
const TALLIES: &str = "tallies.json";

/// Errs where an audited row has a class that no reference row has: its distributions are unknown,
/// and those without the class would answer another question.
fn check_classes(
    ground: RowContext<'_>,
    classes: &RowClasses,
    learnt: &[FittedStrategy],
    position: usize,
) -> Result<()> {
    let known: Vec<BTreeSet<u32>> =
        learnt.iter().map(|l| l.counts().0.keys().filter_map(|key| key.1).collect()).collect();
    if learnt.iter().all(|l| l.condition() == Conditioning::Nothing) {
        return Ok(());
    }
    let layout = ground.rows.layout();
    let find = |g: usize| {
        (ground.watch.check)()?;
        let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
        let of_rows = classes.of_group(g, &batch)?;
        let unseen = |i: &usize| {
            let fold = roles.audited(*i)?;
            let known = if known.len() == 1 { &known[0] } else { known.get(usize::from(fold))? };
            let class =
                of_rows[*i].filter(|_| batch.groups[position][*i] != crate::data::MISSING_GROUP)?;
            (!known.contains(&class)).then_some((*i, class))
        };
        match (0..batch.row.len()).find_map(|i| unseen(&i)) {
            None => Ok(()),
            Some((i, class)) => {
                let name = match classes {
                    RowClasses::Raw(feature) => layout.features[*feature]
                        .levels
                        .get(class as usize)
                        .cloned()
                        .unwrap_or_default(),
                    RowClasses::Label | RowClasses::Predicted(..) => {
                        (if class == 1 { "positive" } else { "negative" }).to_owned()
                    }
                };
                let what = format!(
                    "a row has the class `{name}`, and no row that the strategy learns from has it"
                );
                Err(Error::from(
                    Fault::new("unseen-class", what).at_row(format!("row {}", batch.row[i])).hint(
                        "leave such rows out by `data.keep`, learn from more rows, or write \
                         `condition_on: none`",
                    ),
                ))
            }
        }
    };
    ground.workers.map(ground.rows.n_groups(), find, |_, ()| Ok(()))
}
