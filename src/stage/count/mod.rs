//! The stages `count` and the second pass of `measure`: scored rows become evidence, and outcomes
//! row by row.

pub mod classes;
pub mod evidence;
pub mod flip_test;
pub(crate) mod slices;

use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::error::Result;
use crate::exec::{PlannedStage, StageContext, files};
use crate::job::blocks::threshold::ThresholdOf;
use crate::job::{self, KeepRows, ModelBlock};
use crate::metric::CatalogFamily;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::flip_test::FlipTestSettings;
use crate::metric::value::classes::SwitchClassCounts;
use crate::model::ThresholdComparison;
use crate::model::threshold::FittedThreshold;
use crate::stage::applied_set::{AppliedSet, canonical_text};
use crate::stage::artifact::EVIDENCE;
use crate::stage::count::classes::{ClassCountInputs, ClassScores};
use crate::stage::count::evidence::{BlockSettings, CountInputs};
use crate::stage::measure::{self, catalog, score_shift};
use crate::stage::plan::{StagePlan, unique_inputs};
use crate::stage::row_context::RowContext;
use crate::stage::row_context::{DecisionRule, RowThreshold};
use crate::stage::score::threshold;

/// From this many audited rows on, outcomes are not kept unless the job asks for them.
pub(crate) const KEEP_ROWS_BELOW: u64 = 10_000_000;

pub(crate) const OUTCOMES_STAGE: &str = "count/outcomes";

/// Where the scores of one model over the counterfactuals of one world come from: the stages to
/// read, by id.
struct ScoreStages<'a> {
    name: &'a str,
    model: &'a ModelBlock,
    /// Place of the sensitive attribute.
    position: usize,
    generate: String,
    score: String,
    score_cf: String,
}

impl<'a> ScoreStages<'a> {
    fn of(name: &'a str, model: &'a ModelBlock, world: &AppliedSet<'a>) -> Self {
        let (score, score_cf) = (StagePlan::score_id(name), world.score_id(name));
        ScoreStages {
            name,
            model,
            position: world.position,
            generate: world.id("generate"),
            score,
            score_cf,
        }
    }

    fn needs(&self) -> Vec<String> {
        let mut needs = StagePlan::context_needs();
        needs.extend([&self.generate, &self.score, &self.score_cf].map(String::clone));
        needs.extend(StagePlan::threshold_id(self.name, self.model));
        needs
    }

    /// Hands the opened scores on.
    fn with_scores<T>(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        then: impl FnOnce(CountInputs<'_>) -> Result<T>,
    ) -> Result<T> {
        then(CountInputs {
            rule: &StagePlan::decision_rule(ctx, self.name, self.model, ground)?,
            attribute: self.position,
            counterfactuals: &CounterfactualReader::open(ctx.need(&self.generate))?,
            scores: &ScoreReader::open(ctx.need(&self.score))?,
            scores_cf: &ScoreReader::open(ctx.need(&self.score_cf))?,
        })
    }

    /// The same where the scores are those of `n` classes.
    fn with_class_scores<T>(
        &self,
        ctx: &StageContext<'_>,
        n: usize,
        then: impl FnOnce(ClassCountInputs<'_>) -> Result<T>,
    ) -> Result<T> {
        then(ClassCountInputs {
            attribute: self.position,
            counterfactuals: &CounterfactualReader::open(ctx.need(&self.generate))?,
            scores: &ClassScores::open(ctx.need(&self.score), n)?,
            scores_cf: &ClassScores::open(ctx.need(&self.score_cf), n)?,
        })
    }
}

impl<'a> StagePlan<'a> {
    pub(crate) fn rule_inputs(model: &ModelBlock) -> Vec<(String, String)> {
        vec![
            ("threshold".to_owned(), canonical_text(&model.threshold)),
            ("threshold_rule".to_owned(), canonical_text(&model.threshold_rule)),
        ]
    }

    /// How scores of a model become decisions; reads the stage of [`StagePlan::threshold_id`] where
    /// there is one.
    pub(crate) fn decision_rule(
        ctx: &StageContext<'_>,
        name: &str,
        model: &ModelBlock,
        ground: RowContext<'_>,
    ) -> Result<DecisionRule> {
        let fitted = match Self::threshold_id(name, model) {
            Some(stage) => threshold::read(ctx.need(&stage))?,
            None => Vec::new(),
        };
        Ok(Self::rule_from_fitted(model, ground, &fitted))
    }

    /// The same with the thresholds of the folds at hand; none where the job says the threshold.
    pub(crate) fn rule_from_fitted(
        model: &ModelBlock,
        ground: RowContext<'_>,
        fitted: &[FittedThreshold],
    ) -> DecisionRule {
        let decision = match model.threshold_rule {
            job::ThresholdRule::Ge => ThresholdComparison::AtOrAbove,
            job::ThresholdRule::Gt => ThresholdComparison::Above,
        };
        let threshold = match &model.threshold {
            crate::job::blocks::threshold::ThresholdBlock::Fixed(share) => {
                RowThreshold::Fixed(share.get())
            }
            crate::job::blocks::threshold::ThresholdBlock::Of(ThresholdOf::Column(column)) => {
                let carried = &ground.rows.layout().carried;
                RowThreshold::Carried(
                    carried.iter().position(|c| c == column.as_str()).unwrap_or(usize::MAX),
                )
            }
            crate::job::blocks::threshold::ThresholdBlock::Of(_) => {
                RowThreshold::Folds(fitted.iter().map(|fitted| fitted.threshold).collect())
            }
        };
        DecisionRule { decision, threshold }
    }

    /// What counts depend on beside the scores: the seed cuts people with weights into blocks, and
    /// all where the model is compared.
    fn count_inputs(&self, name: &str, model: &ModelBlock) -> Vec<(String, String)> {
        let mut inputs = Self::rule_inputs(model);
        let blocks = self.blocks(name);
        if blocks.paired || self.job.data.weight.is_some() {
            inputs.push(self.seed_input());
        }
        inputs.extend(blocks.paired.then(|| ("compared".to_owned(), "yes".to_owned())));
        inputs
    }

    fn blocks(&self, model: &str) -> BlockSettings {
        let compare = &self.job.metrics.compare;
        let paired = compare
            .iter()
            .any(|(first, second)| [first, second].iter().any(|name| name.as_str() == model));
        BlockSettings { seed: self.job.run.seed, paired }
    }

    pub(crate) fn count_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        attribute: &str,
        position: usize,
    ) -> PlannedStage<'a> {
        let score = Self::score_id(name);
        let mut needs = Self::context_needs();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = self.count_inputs(name, model);
        let blocks = self.blocks(name);
        made_of.push(("attribute".to_owned(), attribute.to_owned()));
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                if let Some(n) = self.n_classes() {
                    let counts = classes::count_rows(
                        ground,
                        &ClassScores::open(ctx.need(&score), n)?,
                        position,
                        blocks.seed,
                    )?;
                    return files::write_json(&ctx.out().join(EVIDENCE), &counts);
                }
                let scores = ScoreReader::open(ctx.need(&score))?;
                let counts = evidence::count_rows(
                    ground,
                    &Self::decision_rule(ctx, name, model, ground)?,
                    &scores,
                    position,
                    blocks,
                )?;
                files::write_json(&ctx.out().join(EVIDENCE), &counts)
            })
        };
        self.stage(Self::count_id(name, attribute), "count", needs, made_of, run)
    }

    /// The flip test of a model over the groups of an attribute; none where the job does not ask
    /// for it.
    pub(crate) fn flips_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        attribute: &str,
        position: usize,
    ) -> Option<PlannedStage<'a>> {
        let test = self.job.flip_test()?;
        let favoured = self
            .job
            .metrics
            .clarify
            .as_ref()?
            .favoured
            .iter()
            .find(|(name, _)| name.as_str() == attribute)
            .map(|(_, f)| f);
        let score = Self::score_id(name);
        let mut needs = Self::context_needs();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = Self::rule_inputs(model);
        made_of.extend([
            ("attribute".to_owned(), attribute.to_owned()),
            ("metrics.clarify.flip_test".to_owned(), canonical_text(test)),
            ("metrics.clarify.favoured".to_owned(), canonical_text(&favoured)),
            self.seed_input(),
        ]);
        let knobs = FlipTestSettings {
            neighbours: test.neighbours?,
            standardise: test.scale == crate::job::blocks::clarify::FeatureScale::Standard,
            max_people: test.max_rows,
        };
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 2, |ground| {
                let scores = ScoreReader::open(ctx.need(&score))?;
                let of = &ground.rows.layout().attributes[position];
                let facets = measure::favoured(self.checked, of).facets(of.groups.len());
                let flips = flip_test::flip_test(
                    ground,
                    &Self::decision_rule(ctx, name, model, ground)?,
                    &scores,
                    position,
                    &facets,
                    (&knobs, self.job.run.seed),
                )?;
                files::write_json(&ctx.out().join(EVIDENCE), &flips)
            })
        };
        Some(self.stage(Self::flips_id(name, attribute), "count", needs, made_of, run))
    }

    pub(crate) fn count_set_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        world: &AppliedSet<'a>,
    ) -> PlannedStage<'a> {
        let sources = ScoreStages::of(name, model, world);
        let needs = sources.needs();
        let blocks = self.blocks(name);
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                if let Some(n) = self.n_classes() {
                    let evidence = sources.with_class_scores(ctx, n, |scored| {
                        classes::count_counterfactuals(ground, scored, blocks.seed)
                    })?;
                    return files::write_json(&ctx.out().join(EVIDENCE), &evidence);
                }
                let evidence = sources.with_scores(ctx, ground, |scored| {
                    evidence::count_counterfactuals(ground, scored, blocks)
                })?;
                files::write_json(&ctx.out().join(EVIDENCE), &evidence)
            })
        };
        self.stage(world.count_id(name), "count", needs, self.count_inputs(name, model), run)
    }

    /// Whether score metrics are asked for.
    pub(crate) fn wants_shift(&self) -> bool {
        catalog::families(self.checked).contains(&CatalogFamily::Shift)
    }

    /// The intervals of score metrics; none where the job makes none.
    pub(crate) fn shift_intervals(&self) -> Option<score_shift::IntervalSettings> {
        let metrics = &self.job.metrics;
        (metrics.interval.method == job::IntervalMethod::Auto).then_some(
            score_shift::IntervalSettings {
                level: metrics.interval.level,
                samples: metrics.bootstrap.samples,
                seed: self.job.run.seed,
            },
        )
    }

    /// Whether rows may be kept in the output folder.
    pub(crate) fn keeps_rows(&self) -> bool {
        self.job.run.keep_rows != Some(KeepRows::None)
    }

    pub(crate) fn second_pass_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        world: &AppliedSet<'a>,
    ) -> PlannedStage<'a> {
        let sources = ScoreStages::of(name, model, world);
        let count = world.count_id(name);
        let mut needs = sources.needs();
        needs.push(count.clone());
        let (wanted, mut made_of) = (self.shift_intervals(), Self::rule_inputs(model));
        made_of.extend(self.interval_inputs());
        let passes = self.n_classes().unwrap_or(1) as u64;
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, passes, |ground| {
                // The counterfactuals may be those of a run with more memory.
                self.check_sum_memory(Some(ground.roles.n_audited()))?;
                let text = files::read_text(&ctx.need(&count).join(EVIDENCE))?;
                if let Some(n) = self.n_classes() {
                    let counts: SwitchClassCounts = files::from_json(&text, &count)?;
                    let evidence = sources.with_class_scores(ctx, n, |scored| {
                        let of_class = |(class, counts): (usize, &CounterfactualCounts)| {
                            score_shift::second_pass(
                                ground,
                                score_shift::ShiftSource::Class(scored, class),
                                counts,
                                wanted,
                            )
                        };
                        counts
                            .one_vs_rest()
                            .iter()
                            .enumerate()
                            .map(of_class)
                            .collect::<Result<Vec<_>>>()
                    })?;
                    return files::write_json(&ctx.out().join(EVIDENCE), &evidence);
                }
                let counts = files::from_json(&text, &count)?;
                let evidence = sources.with_scores(ctx, ground, |scored| {
                    score_shift::second_pass(
                        ground,
                        score_shift::ShiftSource::Positive(scored),
                        &counts,
                        wanted,
                    )
                })?;
                files::write_json(&ctx.out().join(EVIDENCE), &evidence)
            })
        };
        self.stage(world.second_pass_id(name), "measure", needs, made_of, run)
    }

    fn interval_inputs(&self) -> Vec<(String, String)> {
        let metrics = &self.job.metrics;
        match self.shift_intervals() {
            None => Vec::new(),
            Some(_) => vec![
                ("metrics.interval".to_owned(), canonical_text(&metrics.interval)),
                ("metrics.bootstrap".to_owned(), canonical_text(&metrics.bootstrap)),
                self.seed_input(),
            ],
        }
    }

    /// The slices of a model's rows by one attribute; none where the job names none.
    pub(crate) fn slice_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        attribute: &str,
        position: usize,
    ) -> Option<PlannedStage<'a>> {
        if self.job.metrics.by.is_empty() {
            return None;
        }
        let score = Self::score_id(name);
        let mut needs = Self::context_needs();
        needs.push(score.clone());
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = self.count_inputs(name, model);
        made_of.push(("attribute".to_owned(), attribute.to_owned()));
        let blocks = self.blocks(name);
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1, |ground| {
                let scores = ScoreReader::open(ctx.need(&score))?;
                let slices = slices::slice_rows(
                    ground,
                    &Self::decision_rule(ctx, name, model, ground)?,
                    &scores,
                    position,
                    blocks,
                )?;
                files::write_json(&ctx.out().join(EVIDENCE), &slices)
            })
        };
        Some(self.stage(Self::slices_id(name, attribute), "count", needs, made_of, run))
    }

    /// The slices of a model's counterfactuals; none where the job names none.
    pub(crate) fn slice_set_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        world: &AppliedSet<'a>,
    ) -> Option<PlannedStage<'a>> {
        if self.job.metrics.by.is_empty() || world.graphs().is_some() {
            return None;
        }
        let sources = ScoreStages::of(name, model, world);
        let needs = sources.needs();
        let smallest = self.job.metrics.smallest_cell.get();
        let wanted = self.wants_shift().then(|| self.shift_intervals());
        let mut made_of = self.count_inputs(name, model);
        if wanted.is_some() {
            made_of.push(("metrics.smallest_cell".to_owned(), smallest.to_string()));
            made_of.extend(self.interval_inputs());
        }
        let blocks = self.blocks(name);
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 1 + u64::from(wanted.is_some()), |ground| {
                let slices = sources.with_scores(ctx, ground, |scored| {
                    slices::slice_counterfactuals(ground, scored, blocks, wanted, smallest)
                })?;
                files::write_json(&ctx.out().join(EVIDENCE), &slices)
            })
        };
        Some(self.stage(world.slices_id(name), "count", needs, unique_inputs(made_of), run))
    }

    /// The outcomes of every model that scores counterfactuals; none where the job keeps none.
    pub(crate) fn outcomes_stage(&'a self, worlds: &[AppliedSet<'a>]) -> Option<PlannedStage<'a>> {
        if self.job.run.keep_rows == Some(KeepRows::None) || self.n_classes().is_some() {
            return None;
        }
        let mut made_of =
            vec![("run.keep_rows".to_owned(), canonical_text(&self.job.run.keep_rows))];
        let mut parts = Vec::new();
        for (name, model) in self.job.models.iter().filter(|(_, m)| Self::scores_counterfactuals(m))
        {
            made_of.extend(
                Self::rule_inputs(model)
                    .into_iter()
                    .map(|(k, v)| (format!("models.{name}.{k}"), v)),
            );
            parts.extend(
                worlds
                    .iter()
                    .map(|world| (ScoreStages::of(name.as_str(), model, world), world.set)),
            );
        }
        if parts.is_empty() {
            return None;
        }
        // Models and worlds share stages; the executor counts each once.
        let needs = parts.iter().flat_map(|(sources, _)| sources.needs()).collect();
        let always = self.job.run.keep_rows == Some(KeepRows::Outcomes);
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, parts.len() as u64, |ground| {
                if !always && ground.roles.n_audited() >= KEEP_ROWS_BELOW {
                    return Ok(());
                }
                let mut writer = evidence::create_outcomes(ctx.out())?;
                for (sources, set) in &parts {
                    sources.with_scores(ctx, ground, |scored| {
                        evidence::write_outcomes(ground, scored, sources.name, set, &mut writer)
                    })?;
                }
                writer.finish()
            })
        };
        Some(self.stage(OUTCOMES_STAGE.to_owned(), "count", needs, made_of, run))
    }
}
