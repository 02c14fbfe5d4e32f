//! The stages `count` and the second pass of `measure`: scored rows become evidence, and outcomes row by row.

use crate::data::aligned::{CounterfactualReader, ScoreReader};
use crate::error::Result;
use crate::exec::files;
use crate::exec::{Stage, StageContext};
use crate::metric::Family;
use crate::metric::classes::SwitchClasses;
use crate::metric::counts::CounterfactualCounts;
use crate::metric::flips::Knobs;
use crate::model::Decision;
use crate::model::threshold::Fitted;
use crate::pipeline::classes::{self, ClassScores, ScoredClasses};
use crate::pipeline::counting::{self, Blocks, Cut, Scored, Threshold};
use crate::pipeline::plan::{Plan, World, text, unique};
use crate::pipeline::worlds::Ground;
use crate::pipeline::{fitting, flipping, measuring, redrawing, slicing};
use crate::spec::threshold::ThresholdOf;
use crate::spec::{self, KeepRows, Model};

/// From this many audited rows on, outcomes are not kept unless the job asks for them.
pub(in crate::pipeline) const KEEP_ROWS_BELOW: u64 = 10_000_000;

pub(in crate::pipeline) const OUTCOMES_STAGE: &str = "count/outcomes";

/// Where the scores of one model over the counterfactuals of one world come from: the stages to read, by id.
struct Sources<'a> {
    name: &'a str,
    model: &'a Model,
    /// Place of the sensitive attribute.
    position: usize,
    generate: String,
    score: String,
    score_cf: String,
}

impl<'a> Sources<'a> {
    fn of(name: &'a str, model: &'a Model, world: &World<'a>) -> Self {
        let (score, score_cf) = (Plan::score_id(name), world.score_id(name));
        Sources { name, model, position: world.position, generate: world.id("generate"), score, score_cf }
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = Plan::ground();
        needs.extend([&self.generate, &self.score, &self.score_cf].map(String::clone));
        needs.extend(Plan::threshold_id(self.name, self.model));
        needs
    }

    /// Hands the opened scores on.
    fn scored<T>(&self, ctx: &StageContext<'_>, ground: Ground<'_>, then: impl FnOnce(Scored<'_>) -> Result<T>) -> Result<T> {
        then(Scored {
            cut: &Plan::cut(ctx, self.name, self.model, ground)?,
            attribute: self.position,
            counterfactuals: &CounterfactualReader::open(ctx.need(&self.generate))?,
            scores: &ScoreReader::open(ctx.need(&self.score))?,
            scores_cf: &ScoreReader::open(ctx.need(&self.score_cf))?,
        })
    }

    /// The same where the scores are those of `n` classes.
    fn classes<T>(&self, ctx: &StageContext<'_>, n: usize, then: impl FnOnce(ScoredClasses<'_>) -> Result<T>) -> Result<T> {
        then(ScoredClasses {
            attribute: self.position,
            counterfactuals: &CounterfactualReader::open(ctx.need(&self.generate))?,
            scores: &ClassScores::open(ctx.need(&self.score), n)?,
            scores_cf: &ClassScores::open(ctx.need(&self.score_cf), n)?,
        })
    }
}

impl<'a> Plan<'a> {
    pub(in crate::pipeline) fn cut_inputs(model: &Model) -> Vec<(String, String)> {
        vec![("threshold".to_owned(), text(&model.threshold)), ("threshold_rule".to_owned(), text(&model.threshold_rule))]
    }

    /// How scores of a model become decisions; reads the stage of [`Plan::threshold_id`] where there is one.
    pub(in crate::pipeline) fn cut(ctx: &StageContext<'_>, name: &str, model: &Model, ground: Ground<'_>) -> Result<Cut> {
        let fitted = match Self::threshold_id(name, model) {
            Some(stage) => fitting::read(ctx.need(&stage))?,
            None => Vec::new(),
        };
        Ok(Self::cut_at(model, ground, &fitted))
    }

    /// The same with the thresholds of the folds at hand; none where the job says the threshold.
    pub(in crate::pipeline) fn cut_at(model: &Model, ground: Ground<'_>, fitted: &[Fitted]) -> Cut {
        let decision = match model.threshold_rule {
            spec::ThresholdRule::Ge => Decision::AtOrAbove,
            spec::ThresholdRule::Gt => Decision::Above,
        };
        let threshold = match &model.threshold {
            spec::threshold::Threshold::Fixed(share) => Threshold::Fixed(share.get()),
            spec::threshold::Threshold::Of(ThresholdOf::Column(column)) => {
                let carried = &ground.rows.layout().carried;
                Threshold::Carried(carried.iter().position(|c| c == column.as_str()).unwrap_or(usize::MAX))
            }
            spec::threshold::Threshold::Of(_) => Threshold::Folds(fitted.iter().map(|fitted| fitted.threshold).collect()),
        };
        Cut { decision, threshold }
    }

    /// What counts depend on beside the scores: the seed cuts people with weights into blocks, and all where the model is compared.
    fn count_inputs(&self, name: &str, model: &Model) -> Vec<(String, String)> {
        let mut inputs = Self::cut_inputs(model);
        let blocks = self.blocks(name);
        if blocks.paired || self.job.data.weight.is_some() {
            inputs.push(self.seed_input());
        }
        inputs.extend(blocks.paired.then(|| ("compared".to_owned(), "yes".to_owned())));
        inputs
    }

    fn blocks(&self, model: &str) -> Blocks {
        let compare = &self.job.metrics.compare;
        let paired = compare.iter().any(|(first, second)| [first, second].iter().any(|name| name.as_str() == model));
        Blocks { seed: self.job.run.seed, paired }
    }

    pub(in crate::pipeline) fn count_stage(&'a self, name: &'a str, model: &'a Model, attribute: &str, position: usize) -> Stage<'a> {
        let score = Self::score_id(name);
        let mut needs = Self::ground();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = self.count_inputs(name, model);
        let blocks = self.blocks(name);
        made_of.push(("attribute".to_owned(), attribute.to_owned()));
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                if let Some(n) = self.n_classes() {
                    let counts = classes::count_rows(ground, &ClassScores::open(ctx.need(&score), n)?, position, blocks.seed)?;
                    return files::write_json(&ctx.out().join(measuring::EVIDENCE), &counts);
                }
                let scores = ScoreReader::open(ctx.need(&score))?;
                let counts = counting::count_rows(ground, &Self::cut(ctx, name, model, ground)?, &scores, position, blocks)?;
                files::write_json(&ctx.out().join(measuring::EVIDENCE), &counts)
            })
        };
        self.stage(Self::count_id(name, attribute), "count", needs, made_of, run)
    }

    /// The flip test of a model over the groups of an attribute; none where the job does not ask for it.
    pub(in crate::pipeline) fn flips_stage(
        &'a self,
        name: &'a str,
        model: &'a Model,
        attribute: &str,
        position: usize,
    ) -> Option<Stage<'a>> {
        let test = self.job.flip_test()?;
        let favoured = self.job.metrics.clarify.as_ref()?.favoured.iter().find(|(name, _)| name.as_str() == attribute).map(|(_, f)| f);
        let score = Self::score_id(name);
        let mut needs = Self::ground();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = Self::cut_inputs(model);
        made_of.extend([
            ("attribute".to_owned(), attribute.to_owned()),
            ("metrics.clarify.flip_test".to_owned(), text(test)),
            ("metrics.clarify.favoured".to_owned(), text(&favoured)),
            self.seed_input(),
        ]);
        let knobs = Knobs { neighbours: test.neighbours?, standard: test.scale == spec::clarify::Scale::Standard, most: test.max_rows };
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 2, |ground| {
                let scores = ScoreReader::open(ctx.need(&score))?;
                let of = &ground.rows.layout().attributes[position];
                let facets = measuring::favoured(self.checked, of).facets(of.groups.len());
                let flips = flipping::flip_test(
                    ground,
                    &Self::cut(ctx, name, model, ground)?,
                    &scores,
                    position,
                    &facets,
                    (&knobs, self.job.run.seed),
                )?;
                files::write_json(&ctx.out().join(measuring::EVIDENCE), &flips)
            })
        };
        Some(self.stage(Self::flips_id(name, attribute), "count", needs, made_of, run))
    }

    pub(in crate::pipeline) fn count_world_stage(&'a self, name: &'a str, model: &'a Model, world: &World<'a>) -> Stage<'a> {
        let sources = Sources::of(name, model, world);
        let needs = sources.needs();
        let blocks = self.blocks(name);
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                if let Some(n) = self.n_classes() {
                    let evidence = sources.classes(ctx, n, |scored| classes::count_counterfactuals(ground, scored, blocks.seed))?;
                    return files::write_json(&ctx.out().join(measuring::EVIDENCE), &evidence);
                }
                let evidence = sources.scored(ctx, ground, |scored| counting::count_counterfactuals(ground, scored, blocks))?;
                files::write_json(&ctx.out().join(measuring::EVIDENCE), &evidence)
            })
        };
        self.stage(world.count_id(name), "count", needs, self.count_inputs(name, model), run)
    }

    /// Whether score metrics are asked for.
    pub(in crate::pipeline) fn wants_shift(&self) -> bool {
        measuring::families(self.checked).contains(&Family::Shift)
    }

    /// The intervals of score metrics; none where the job makes none.
    pub(in crate::pipeline) fn wanted_shift(&self) -> Option<redrawing::Wanted> {
        let metrics = &self.job.metrics;
        (metrics.interval.method == spec::IntervalMethod::Auto).then_some(redrawing::Wanted {
            level: metrics.interval.level,
            samples: metrics.bootstrap.samples,
            seed: self.job.run.seed,
        })
    }

    /// Whether rows may be kept in the output folder.
    pub(in crate::pipeline) fn keeps_rows(&self) -> bool {
        self.job.run.keep_rows != Some(KeepRows::None)
    }

    pub(in crate::pipeline) fn second_stage(&'a self, name: &'a str, model: &'a Model, world: &World<'a>) -> Stage<'a> {
        let sources = Sources::of(name, model, world);
        let count = world.count_id(name);
        let mut needs = sources.needs();
        needs.push(count.clone());
        let (wanted, mut made_of) = (self.wanted_shift(), Self::cut_inputs(model));
        made_of.extend(self.interval_inputs());
        let passes = self.n_classes().unwrap_or(1) as u64;
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, passes, |ground| {
                // The counterfactuals may be those of a run with more memory.
                self.check_room(Some(ground.roles.n_audited()))?;
                let text = files::read_text(&ctx.need(&count).join(measuring::EVIDENCE))?;
                if let Some(n) = self.n_classes() {
                    let counts: SwitchClasses = files::from_json(&text, &count)?;
                    let evidence = sources.classes(ctx, n, |scored| {
                        let of_class = |(class, counts): (usize, &CounterfactualCounts)| {
                            redrawing::second_pass(ground, redrawing::Of::Class(scored, class), counts, wanted)
                        };
                        counts.one_vs_all().iter().enumerate().map(of_class).collect::<Result<Vec<_>>>()
                    })?;
                    return files::write_json(&ctx.out().join(measuring::EVIDENCE), &evidence);
                }
                let counts = files::from_json(&text, &count)?;
                let evidence = sources
                    .scored(ctx, ground, |scored| redrawing::second_pass(ground, redrawing::Of::Positive(scored), &counts, wanted))?;
                files::write_json(&ctx.out().join(measuring::EVIDENCE), &evidence)
            })
        };
        self.stage(world.second(name), "measure", needs, made_of, run)
    }

    fn interval_inputs(&self) -> Vec<(String, String)> {
        let metrics = &self.job.metrics;
        match self.wanted_shift() {
            None => Vec::new(),
            Some(_) => vec![
                ("metrics.interval".to_owned(), text(&metrics.interval)),
                ("metrics.bootstrap".to_owned(), text(&metrics.bootstrap)),
                self.seed_input(),
            ],
        }
    }

    /// The slices of a model's rows by one attribute; none where the job names none.
    pub(in crate::pipeline) fn slice_stage(
        &'a self,
        name: &'a str,
        model: &'a Model,
        attribute: &str,
        position: usize,
    ) -> Option<Stage<'a>> {
        if self.job.metrics.by.is_empty() {
            return None;
        }
        let score = Self::score_id(name);
        let mut needs = Self::ground();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = self.count_inputs(name, model);
        made_of.push(("attribute".to_owned(), attribute.to_owned()));
        let blocks = self.blocks(name);
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1, |ground| {
                let scores = ScoreReader::open(ctx.need(&score))?;
                let slices = slicing::slice_rows(ground, &Self::cut(ctx, name, model, ground)?, &scores, position, blocks)?;
                files::write_json(&ctx.out().join(measuring::EVIDENCE), &slices)
            })
        };
        Some(self.stage(Self::slices_id(name, attribute), "count", needs, made_of, run))
    }

    /// The slices of a model's counterfactuals; none where the job names none.
    pub(in crate::pipeline) fn slice_world_stage(&'a self, name: &'a str, model: &'a Model, world: &World<'a>) -> Option<Stage<'a>> {
        if self.job.metrics.by.is_empty() || world.graphs().is_some() {
            return None;
        }
        let sources = Sources::of(name, model, world);
        let needs = sources.needs();
        let smallest = self.job.metrics.smallest_cell.get();
        let wanted = self.wants_shift().then(|| self.wanted_shift());
        let mut made_of = self.count_inputs(name, model);
        if wanted.is_some() {
            made_of.push(("metrics.smallest_cell".to_owned(), smallest.to_string()));
            made_of.extend(self.interval_inputs());
        }
        let blocks = self.blocks(name);
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 1 + u64::from(wanted.is_some()), |ground| {
                let slices =
                    sources.scored(ctx, ground, |scored| slicing::slice_counterfactuals(ground, scored, blocks, wanted, smallest))?;
                files::write_json(&ctx.out().join(measuring::EVIDENCE), &slices)
            })
        };
        Some(self.stage(world.slices_id(name), "count", needs, unique(made_of), run))
    }

    /// The outcomes of every model that scores counterfactuals; none where the job keeps none.
    pub(in crate::pipeline) fn outcomes_stage(&'a self, worlds: &[World<'a>]) -> Option<Stage<'a>> {
        if self.job.run.keep_rows == Some(KeepRows::None) || self.n_classes().is_some() {
            return None;
        }
        let mut made_of = vec![("run.keep_rows".to_owned(), text(&self.job.run.keep_rows))];
        let mut parts = Vec::new();
        for (name, model) in self.job.models.iter().filter(|(_, m)| Self::scores_worlds(m)) {
            made_of.extend(Self::cut_inputs(model).into_iter().map(|(k, v)| (format!("models.{name}.{k}"), v)));
            parts.extend(worlds.iter().map(|world| (Sources::of(name.as_str(), model, world), world.set)));
        }
        if parts.is_empty() {
            return None;
        }
        // Models and worlds share stages; the executor counts each once.
        let needs = parts.iter().flat_map(|(sources, _)| sources.needs()).collect();
        let always = self.job.run.keep_rows == Some(KeepRows::Outcomes);
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, parts.len() as u64, |ground| {
                if !always && ground.roles.n_audited() >= KEEP_ROWS_BELOW {
                    return Ok(());
                }
                let mut writer = counting::create_outcomes(ctx.out())?;
                for (sources, set) in &parts {
                    sources.scored(ctx, ground, |scored| counting::write_outcomes(ground, scored, sources.name, set, &mut writer))?;
                }
                writer.finish()
            })
        };
        Some(self.stage(OUTCOMES_STAGE.to_owned(), "count", needs, made_of, run))
    }
}
