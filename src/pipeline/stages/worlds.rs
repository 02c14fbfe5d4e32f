//! The stages `fit` and `generate`: what a strategy learns of the reference, and the counterfactuals of every set and attribute.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::counterfactual::Generator;
use crate::counterfactual::Samples;
use crate::counterfactual::conditional::Condition;
use crate::counterfactual::forms::ConditionOn;
use crate::counterfactual::generate::Mover;
use crate::counterfactual::knobs::Knobs;
use crate::counterfactual::learnt::{Learnt, learn};
use crate::counterfactual::naive::Naive;
use crate::counterfactual::transport::carry::{Carriage, Carrier, Crowd};
use crate::counterfactual::variable::Extras;
use crate::data::aligned::{CounterfactualReader, ScoreReader};
use crate::data::prepare::MissingRule;
use crate::data::rows::RowsReader;
use crate::data::split::RolesReader;
use crate::data::{Layout, MISSING_LEVEL};
use crate::error::{Error, Fault, Result};
use crate::exec::files;
use crate::exec::{Stage, StageContext};
use crate::param::{ColumnName, Name};
use crate::pipeline::basis::{Basis, Classes, Edit};
use crate::pipeline::examples;
use crate::pipeline::judging::{self, Judging, Tallies};
use crate::pipeline::plan::{Plan, World, text};
use crate::pipeline::shuffling::{Asked, Groups, Placebo};
use crate::pipeline::stages::rows::{REFERENCE_STAGE, ROLES};
use crate::pipeline::worlds::{self, Ground, Making};
use crate::pipeline::{measuring, refits};
use crate::spec::{self, CounterfactualSet};

/// File of the stage `fit` for a fold.
pub(in crate::pipeline) fn artifact(fold: usize) -> String {
    format!("learnt-{fold}.json")
}

impl<'a> Plan<'a> {
    /// The models whose predictions sets condition on.
    pub(in crate::pipeline) fn predicting(&self) -> BTreeSet<&'a str> {
        let of_set = |set: &'a CounterfactualSet| match set.knobs()?.condition_on() {
            ConditionOn::Prediction(model) => Some(model.as_str()),
            ConditionOn::Label | ConditionOn::RawLabel | ConditionOn::Nothing => None,
        };
        self.job.counterfactuals.values().filter_map(of_set).collect()
    }

    /// The stage that scores the rows by the model that a set conditions on.
    fn prediction_of(world: &World<'a>) -> Option<&'a Name> {
        match world.block.knobs()?.condition_on() {
            ConditionOn::Prediction(model) => Some(model),
            ConditionOn::Label | ConditionOn::RawLabel | ConditionOn::Nothing => None,
        }
    }

    /// What the stages of a world read beside the rows.
    pub(in crate::pipeline) fn needs_of(&self, world: &World<'a>) -> Vec<String> {
        let mut needs = vec!["prepare".to_owned(), world.split()];
        needs.extend(self.job.data.reference.as_ref().map(|_| REFERENCE_STAGE.to_owned()));
        if let Some(name) = Self::prediction_of(world) {
            needs.push(Self::score_id(name.as_str()));
            needs.extend(self.job.models.get(name).and_then(|model| Self::threshold_id(name.as_str(), model)));
        }
        needs
    }

    /// What the stages of a world depend on beside what they read.
    pub(in crate::pipeline) fn made_of(&self, world: &World<'a>) -> Vec<(String, String)> {
        // A placebo changes what is measured, not what is generated; other attributes have stages of their own.
        let graph_uncertain = None;
        let strategy_only = CounterfactualSet { placebo: None, sensitive: None, graph_uncertain, ..world.block.clone() };
        let mut made_of = vec![
            ("counterfactuals".to_owned(), text(&strategy_only)),
            ("attribute".to_owned(), world.attribute.to_owned()),
            ("data.missing.nominal".to_owned(), text(&self.job.data.missing.nominal)),
            ("data.features.onehot".to_owned(), text(&self.job.data.features.onehot)),
        ];
        if let Some(ConditionOn::Prediction(name)) = world.block.knobs().map(Knobs::condition_on)
            && let Some(model) = self.job.models.get(name)
        {
            made_of.extend(Self::cut_inputs(model));
        }
        made_of
    }

    /// The rows that strategies learn from.
    pub(in crate::pipeline) fn basis<'g>(&self, ctx: &StageContext<'_>, ground: Ground<'g>) -> Result<Basis<'g>> {
        let reference = self.job.data.reference.as_ref().map(|_| RowsReader::open(ctx.need(REFERENCE_STAGE))).transpose()?;
        Basis::new(ground, reference).map_err(|error| self.asked_by(error, &["data", "reference"]))
    }

    /// What a set conditions on, open for reading.
    pub(in crate::pipeline) fn classes(&self, ctx: &StageContext<'_>, ground: Ground<'_>, world: &World<'a>) -> Result<Classes> {
        let Some(knobs) = world.block.knobs() else { return Ok(Classes::Label) };
        match knobs.condition_on() {
            ConditionOn::Label | ConditionOn::Nothing => Ok(Classes::Label),
            ConditionOn::RawLabel => {
                let layout = ground.rows.layout();
                // Preparing puts the label as it stands last among the hidden features.
                Ok(layout.hidden.last().map_or(Classes::Label, |&feature| Classes::Raw(feature)))
            }
            ConditionOn::Prediction(name) => {
                let Some(model) = self.job.models.get(name) else { return Ok(Classes::Label) };
                let scores = ScoreReader::open(ctx.need(&Self::score_id(name.as_str())))?;
                let roles = RolesReader::open(&ctx.need("split").join(ROLES))?;
                Ok(Classes::Predicted(Self::cut(ctx, name.as_str(), model, ground)?, scores, roles))
            }
        }
    }

    /// What the features do not say.
    pub(in crate::pipeline) fn extras(&self, layout: &Layout) -> Extras {
        let level = self.job.data.missing.nominal == MissingRule::Level;
        let positions = |columns: &[ColumnName]| columns.iter().filter_map(|column| layout.feature(column.as_str())).collect();
        let onehot = self.job.data.features.onehot.iter().map(|(name, columns)| (name.to_string(), positions(columns)));
        Extras { missing_level: level.then(|| MISSING_LEVEL.to_owned()), onehot: onehot.collect(), ..Extras::default() }
    }

    /// The stage that learns; none for a strategy that has nothing to learn.
    pub(in crate::pipeline) fn fit_stage(&'a self, world: &World<'a>) -> Option<Stage<'a>> {
        let knobs = world.block.knobs()?;
        let (needs, made_of) = (self.needs_of(world), self.made_of(world));
        let (id, kind) = (world.id("fit"), world.kind("fit"));
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.on_roles(ctx, &ctx.need(&world.split()).join(ROLES), 0, |ground| {
                let (basis, classes) = (self.basis(ctx, ground)?, self.classes(ctx, ground, &world)?);
                let mut read = Vec::new();
                for fold in 0..basis.n_folds() {
                    let reference = basis.rows(fold, &classes, None);
                    let learnt = learn(knobs, ground.rows.layout(), &self.extras(ground.rows.layout()), &reference, world.position)
                        .map_err(|error| self.asked_by_set(error, &world))?;
                    files::write_json(&ctx.out().join(artifact(fold)), &learnt)?;
                    read.push(refits::read_by(ground.rows.layout(), &learnt, &classes, &reference, world.position)?);
                }
                refits::write(ctx.out(), &read)
            })
        };
        Some(self.stage(id, kind, needs, made_of, run))
    }

    /// A fault with the line of the set, or of the counterparts, that asks for what is faulty.
    pub(in crate::pipeline) fn asked_by_set(&self, error: Error, world: &World<'a>) -> Error {
        let (word, Error::Data(fault)) = (world.block.knobs().map_or("naive", Knobs::word), &error) else { return error };
        let column = fault.column.clone().unwrap_or_default();
        let keys = match fault.code {
            "unknown-level" => vec!["counterfactuals", world.set, word, "counterpart", &column],
            _ => vec!["counterfactuals", world.set, word],
        };
        self.asked_by(error, &keys)
    }

    /// What was learnt, for each fold.
    pub(in crate::pipeline) fn learnt(&self, ctx: &StageContext<'_>, world: &World<'a>, n_folds: usize) -> Result<Vec<Learnt>> {
        let stage = world.id("fit");
        (0..n_folds).map(|fold| files::read_json(&ctx.need(&stage).join(artifact(fold)), &stage)).collect()
    }

    pub(in crate::pipeline) fn generate_stage(&'a self, world: &World<'a>) -> Stage<'a> {
        let knobs = world.block.knobs();
        let mut needs = self.needs_of(world);
        needs.extend(knobs.map(|_| world.id("fit")));
        let mut made_of = self.made_of(world);
        made_of.push(("features".to_owned(), self.features.to_string()));
        if let Some(Knobs::Transport(_)) = knobs {
            made_of.push(self.seed_input());
        }
        let (id, kind) = (world.id("generate"), world.kind("generate"));
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.on_roles(ctx, &ctx.need(&world.split()).join(ROLES), 1, |ground| {
                self.check_room(Some(ground.roles.n_audited()))?;
                self.generate_world(ctx, ground, &world, |n_folds| self.learnt(ctx, &world, n_folds))
            })
        };
        self.stage(id, kind, needs, made_of, run)
    }

    /// Writes the counterfactuals of the audited rows of a ground; `learnt` gets the number of references.
    pub(in crate::pipeline) fn generate_world(
        &self,
        ctx: &StageContext<'_>,
        ground: Ground<'_>,
        world: &World<'a>,
        learnt: impl FnOnce(usize) -> Result<Vec<Learnt>>,
    ) -> Result<()> {
        // Of a set that rests on graphs only the keys are written: its counterfactuals are numbers, not rows.
        let (with_features, knobs) = (self.features && world.graphs().is_none(), world.block.knobs());
        let (basis, classes) = (self.basis(ctx, ground)?, self.classes(ctx, ground, world)?);
        let mut untaught = Vec::new();
        let generators = match knobs {
            None => vec![Box::new(Naive) as Box<dyn Generator>],
            Some(knobs) => {
                let learnt = learnt(basis.n_folds())?;
                untaught = learnt.iter().flat_map(Learnt::untaught).collect();
                untaught.sort_unstable();
                untaught.dedup();
                check_classes(ground, &classes, &learnt, world.position).map_err(|e| self.asked_by_set(e, world))?;
                let made = Drafting {
                    ground,
                    basis: &basis,
                    classes: &classes,
                    position: world.position,
                    seed: self.job.run.seed,
                    edit: None,
                    groups: None,
                };
                let Drafted { generators, tallies } = made.generators(knobs, learnt).map_err(|e| self.asked_by_set(e, world))?;
                if let Some(tallies) = tallies {
                    files::write_json(&ctx.out().join(TALLIES), &tallies)?;
                }
                generators
            }
        };
        let write_backs = if with_features { worlds::write_backs(ground, &basis, world.position)? } else { Vec::new() };
        let making = Making {
            generators: &generators,
            attribute: world.position,
            classes: &classes,
            write_backs: &write_backs,
            with_features,
            judged: knobs.is_some(),
            untaught: &untaught,
        };
        worlds::generate(ground, &making, ctx.out())
    }
}

impl<'a> Plan<'a> {
    /// Whether the quality of counterfactuals is asked for.
    pub(in crate::pipeline) fn wants_quality(&self) -> bool {
        spec::check::families(self.job, &measuring::catalog()).contains(&spec::Family::CfQuality)
    }

    /// The stage that measures the quality of counterfactuals; none for a strategy that moves nothing.
    pub(in crate::pipeline) fn quality_stage(&'a self, world: &World<'a>) -> Option<Stage<'a>> {
        let knobs = world.block.knobs()?;
        let mut needs = self.needs_of(world);
        needs.extend([world.id("fit"), world.id("generate")]);
        let mut made_of = self.made_of(world);
        let pairs = self.job.report.example_pairs;
        if pairs > 0 {
            made_of.push(("report.example_pairs".to_owned(), pairs.to_string()));
            made_of.push(self.seed_input());
        }
        let id = world.id("measure");
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let (basis, classes) = (self.basis(ctx, ground)?, self.classes(ctx, ground, &world)?);
                let learnt = self.learnt(ctx, &world, basis.n_folds())?;
                let generate = world.id("generate");
                let folder = ctx.need(&generate);
                let tallies: Option<Tallies> = match knobs {
                    Knobs::Transport(_) => Some(files::read_json(&folder.join(TALLIES), &generate)?),
                    Knobs::Greedy(_) | Knobs::Plausible(_) => None,
                };
                let judging = Judging {
                    ground,
                    basis: &basis,
                    classes: &classes,
                    learnt: &learnt,
                    counterfactuals: &CounterfactualReader::open(folder)?,
                    tallies: tallies.as_ref(),
                    set: world.set,
                    position: world.position,
                    examples: examples::Asked { pairs: usize::try_from(pairs).unwrap_or(usize::MAX), seed: self.job.run.seed },
                };
                judging.write(ctx.out())
            })
        };
        Some(self.stage(id, "measure", needs, made_of, run))
    }
}

impl<'a> Plan<'a> {
    /// The models that a placebo asks: those that are trained here; `check` lets no others stand beside one.
    fn asked(&self, ctx: &StageContext<'_>, ground: Ground<'_>) -> Result<Vec<Asked>> {
        let trained = self.job.models.iter().filter(|(_, model)| model.is_trained_here());
        let asked = trained.map(|(name, model)| {
            let name = name.to_string();
            let scores = ScoreReader::open(ctx.need(&Self::score_id(&name)))?;
            Ok(Asked {
                scorers: self.scorers(ctx, &name, model, ground.rows.layout())?,
                cut: Self::cut(ctx, &name, model, ground)?,
                scores,
                name,
            })
        });
        asked.collect()
    }

    /// The stage that repeats a set with shuffled group names; none where the set asks for no placebo, or has no noise.
    pub(in crate::pipeline) fn placebo_stage(&'a self, world: &World<'a>) -> Option<Stage<'a>> {
        let (knobs, placebo) = (world.block.knobs()?, world.block.placebo?);
        let mut needs = self.needs_of(world);
        let mut made_of = self.made_of(world);
        for (name, model) in &self.job.models {
            needs.extend([Self::train_id(name.as_str()), Self::score_id(name.as_str())]);
            needs.extend(Self::threshold_id(name.as_str(), model));
            made_of.extend(Self::cut_inputs(model).into_iter().map(|(key, value)| (format!("models.{name}.{key}"), value)));
        }
        needs.sort();
        needs.dedup();
        made_of.extend([
            ("placebo".to_owned(), text(&placebo)),
            self.seed_input(),
            ("score metrics".to_owned(), self.wants_shift().to_string()),
        ]);
        let id = world.id("placebo");
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 0, |ground| {
                let (basis, classes) = (self.basis(ctx, ground)?, self.classes(ctx, ground, &world)?);
                let placebo = Placebo {
                    ground,
                    basis: &basis,
                    classes: &classes,
                    knobs,
                    extras: self.extras(ground.rows.layout()),
                    position: world.position,
                    models: self.asked(ctx, ground)?,
                    seed: self.job.run.seed,
                    repeats: placebo.repeats,
                    wants_shift: self.wants_shift(),
                };
                placebo.write(ctx.out()).map_err(|error| self.asked_by_set(error, &world))
            })
        };
        Some(self.stage(id, "count", needs, made_of, run))
    }
}

/// File of the stage `generate` of a transport.
const TALLIES: &str = "tallies.json";

/// Errs where an audited row has a class that no reference row has: its distributions are unknown, and those without the class would
/// answer another question.
fn check_classes(ground: Ground<'_>, classes: &Classes, learnt: &[Learnt], position: usize) -> Result<()> {
    let known: Vec<BTreeSet<u32>> = learnt.iter().map(|l| l.counts().0.keys().filter_map(|key| key.1).collect()).collect();
    if learnt.iter().all(|l| l.condition() == Condition::Nothing) {
        return Ok(());
    }
    let layout = ground.rows.layout();
    let find = |g: usize| {
        (ground.watch.check)()?;
        let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
        let of_rows = classes.of(g, &batch)?;
        let unseen = |i: &usize| {
            let fold = roles.audited(*i)?;
            let known = if known.len() == 1 { &known[0] } else { known.get(usize::from(fold))? };
            let class = of_rows[*i].filter(|_| batch.groups[position][*i] != crate::data::MISSING_GROUP)?;
            (!known.contains(&class)).then_some((*i, class))
        };
        match (0..batch.row.len()).find_map(|i| unseen(&i)) {
            None => Ok(()),
            Some((i, class)) => {
                let name = match classes {
                    Classes::Raw(feature) => layout.features[*feature].levels.get(class as usize).cloned().unwrap_or_default(),
                    Classes::Label | Classes::Predicted(..) => (if class == 1 { "positive" } else { "negative" }).to_owned(),
                };
                let what = format!("a row has the class `{name}`, and no row that the strategy learns from has it");
                Err(Error::from(
                    Fault::new("unseen-class", what)
                        .at_row(format!("row {}", batch.row[i]))
                        .hint("leave such rows out by `data.keep`, learn from more rows, or write `condition_on: none`"),
                ))
            }
        }
    };
    ground.workers.map(ground.rows.n_groups(), find, |_, ()| Ok(()))
}

/// Generators, ready for the rows.
pub(in crate::pipeline) struct Drafted {
    /// One per fold, or one for all.
    pub(in crate::pipeline) generators: Vec<Box<dyn Generator>>,
    /// Of a transport what became of the samples.
    pub(in crate::pipeline) tallies: Option<Tallies>,
}

/// Makes generators of what was learnt.
pub(in crate::pipeline) struct Drafting<'a> {
    pub(in crate::pipeline) ground: Ground<'a>,
    pub(in crate::pipeline) basis: &'a Basis<'a>,
    pub(in crate::pipeline) classes: &'a Classes,
    pub(in crate::pipeline) position: usize,
    pub(in crate::pipeline) seed: crate::param::Seed,
    /// A change of the reference on reading.
    pub(in crate::pipeline) edit: Option<&'a Edit<'a>>,
    /// The groups of the rows, where they are not what the rows say.
    pub(in crate::pipeline) groups: Option<&'a Groups>,
}

impl Drafting<'_> {
    /// A generator for each fold.
    pub(in crate::pipeline) fn generators(&self, knobs: Knobs<'_>, learnt: Vec<Learnt>) -> Result<Drafted> {
        let n_folds = learnt.len();
        let n_groups = self.ground.rows.layout().attributes[self.position].groups.len();
        let mut generators: Vec<Box<dyn Generator>> = Vec::new();
        let mut tallies = Vec::new();
        for (fold, learnt) in learnt.into_iter().enumerate() {
            match (learnt, knobs) {
                (Learnt::Carrying(carriage), Knobs::Transport(transport)) => {
                    let carrier = self.carrier(&carriage, &transport.settings(), fold, n_folds)?;
                    let pairs = (0..n_groups).flat_map(|from| (0..n_groups).filter(move |&to| to != from).map(move |to| (from, to)));
                    tallies.push(pairs.map(|(from, to)| (from, to, carrier.tally(from, to))).collect::<Tallies>());
                    generators.push(Box::new(carrier));
                }
                (Learnt::Moving(fitted), _) => generators.push(Box::new(Mover::new(*fitted))),
                (Learnt::Carrying(_), _) => return Err(Fault::new("no-transport", "what was learnt is of another strategy").into()),
            }
        }
        let tallies = (!tallies.is_empty()).then(|| judging::merged(tallies.into_iter()));
        Ok(Drafted { generators, tallies })
    }

    fn carrier(
        &self,
        carriage: &Carriage,
        settings: &crate::counterfactual::transport::Settings,
        fold: usize,
        n_folds: usize,
    ) -> Result<Carrier> {
        let ground = self.ground;
        let (mut targets, mut sources) = (Crowd::default(), Crowd::default());
        let reference = self.basis.rows(fold, self.classes, self.edit);
        reference.fold(|group| carriage.targets(group, self.position), |part| targets.push(part))?;
        let read = |g: usize| {
            (ground.watch.check)()?;
            let (batch, roles) = (ground.rows.read(g)?, ground.roles.read(g)?);
            let own = self.groups.map_or(&batch.groups[self.position], |groups| &groups[g]);
            let groups = worlds::groups_of_fold(own, &roles, n_folds, fold);
            let classes = self.classes.of(g, &batch)?;
            Ok::<_, Error>(carriage.sources(&Samples { keys: &batch.row_key, rows: &batch.rows, groups: &groups, classes: &classes }))
        };
        ground.workers.map(ground.rows.n_groups(), read, |_, part| {
            sources.push(part);
            Ok::<_, Error>(())
        })?;
        let spread = |n: usize, work: &(dyn Fn(usize) -> Result<crate::counterfactual::transport::Solved> + Sync)| {
            let solved = Mutex::new(Vec::with_capacity(n));
            let one = |k: usize| {
                (ground.watch.check)()?;
                work(k)
            };
            ground.workers.map(n, one, |_, plan| {
                solved.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(plan);
                Ok::<_, Error>(())
            })?;
            Ok(solved.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
        };
        carriage.carry(settings, self.seed, sources, targets, &spread)
    }
}
