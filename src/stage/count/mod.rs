//! The stages `count`, `flips`, `slice`, `shift` and `outcomes`: scored rows become evidence, and
//! outcomes row by row.

pub mod classes;
pub mod evidence;
pub mod flip_test;
pub(crate) mod slices;

use crate::error::Result;
use crate::exec::misfit;
use crate::exec::{StageContext, files};
use crate::job::{self, Job, KeepRows, ModelBlock};
use crate::metric::MetricFamily;
use crate::metric::evidence::counts::CounterfactualCounts;
use crate::metric::evidence::flip_test::FlipTestSettings;
use crate::metric::value::classes::SwitchClassCounts;
use crate::param::Name;
use crate::stage::artifact::EVIDENCE;
use crate::stage::count::classes::ClassCountInputs;
use crate::stage::count::evidence::{BlockSettings, CountInputs};
use crate::stage::experiment;
use crate::stage::generate::GenerateStage;
use crate::stage::measure::{self, catalog, score_shift};
use crate::stage::plan::StagePlan;
use crate::stage::planner::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::stage::prepare::RowInputs;
use crate::stage::row_context::RowContext;
use crate::stage::score::{RuleInputs, ScoreStage};
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// From this many audited rows on, outcomes are not kept unless the job asks for them.
pub(crate) const KEEP_ROWS_BELOW: u64 = 10_000_000;

/// Evidence of an audit; of an experiment that of an arm.
pub(crate) struct CountStage;

/// The flip test.
pub(crate) struct FlipsStage;

/// Evidence of slices.
pub(crate) struct SliceStage;

/// Distances of scores with their intervals.
pub(crate) struct ShiftStage;

/// Outcomes row by row.
pub(crate) struct OutcomesStage;

/// The scores of the rows as they are by one model.
struct RowScoreInputs<'a> {
    rows: RowInputs<'a>,
    scores: StageInput<ScoreStage>,
    rule: RuleInputs<'a>,
    /// Place of the sensitive attribute.
    position: usize,
}

impl<'a> RowScoreInputs<'a> {
    fn need(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let (name, model) = b.plan.model_of(unit)?;
        let (position, _) = b.plan.attribute_of(unit)?;
        let rows = RowInputs::of_job(b)?;
        let scores = b.need::<ScoreStage>(&AuditUnit::of_model(name))?;
        Ok(RowScoreInputs { rows, scores, rule: RuleInputs::need(b, name, model)?, position })
    }
}

/// The scores of one model over the counterfactuals of one set.
struct SetScoreInputs<'a> {
    rows: RowInputs<'a>,
    made: StageInput<GenerateStage>,
    scores: StageInput<ScoreStage>,
    scores_cf: StageInput<ScoreStage>,
    rule: RuleInputs<'a>,
    /// Place of the sensitive attribute.
    position: usize,
}

impl<'a> SetScoreInputs<'a> {
    /// Those of a unit. `several` models are told apart by their names in the key.
    fn need(unit: &AuditUnit, several: bool, b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let (name, model) = b.plan.model_of(unit)?;
        let (position, _) = b.plan.attribute_of(unit)?;
        let (rows, made) = (RowInputs::of_job(b)?, b.need::<GenerateStage>(unit)?);
        let scores = b.need::<ScoreStage>(&AuditUnit::of_model(name))?;
        let scores_cf = b.need::<ScoreStage>(unit)?;
        let rule = match several {
            true => RuleInputs::of_several(b, name, model)?,
            false => RuleInputs::need(b, name, model)?,
        };
        Ok(SetScoreInputs { rows, made, scores, scores_cf, rule, position })
    }

    /// Hands the opened scores on.
    fn with_scores<T>(
        &self,
        ctx: &StageContext<'_>,
        ground: RowContext<'_>,
        then: impl FnOnce(CountInputs<'_>) -> Result<T>,
    ) -> Result<T> {
        then(CountInputs {
            rule: &self.rule.open(ctx, ground)?,
            attribute: self.position,
            counterfactuals: &self.made.open(ctx)?,
            scores: &self.scores.open(ctx)?,
            scores_cf: &self.scores_cf.open(ctx)?,
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
            counterfactuals: &self.made.open(ctx)?,
            scores: &self.scores.of_classes(ctx, n)?,
            scores_cf: &self.scores_cf.of_classes(ctx, n)?,
        })
    }
}

/// How people are cut into blocks: by the seed where they have weights, and all where the model is
/// compared.
fn block_settings(unit: &AuditUnit, b: &mut StageBuilder<'_, '_>) -> BlockSettings {
    let (job, model) = (b.plan.job, &unit.model);
    let names = |of: &Name| of.as_str() == model;
    let paired = job.metrics.compare.iter().any(|(a, other)| names(a) || names(other));
    if paired || job.data.weight.is_some() {
        b.seed();
    }
    if paired {
        b.texts([("compared".to_owned(), "yes".to_owned())]);
    }
    BlockSettings { seed: job.run.seed, paired }
}

/// How intervals of score metrics are made; none where the job makes none.
fn interval_settings(b: &mut StageBuilder<'_, '_>) -> Option<score_shift::IntervalSettings> {
    let wanted = b.plan.shift_intervals()?;
    b.input("metrics.interval", |job| &job.metrics.interval);
    b.input("metrics.bootstrap", |job| &job.metrics.bootstrap);
    b.seed();
    Some(wanted)
}

impl StagePlan<'_> {
    /// Whether score metrics are asked for.
    pub(crate) fn wants_shift(&self) -> bool {
        catalog::families(self.checked).contains(&MetricFamily::Shift)
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
}

impl Stage for CountStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Count;
    const FIELDS: &'static [UnitField] = &[
        UnitField::Model,
        UnitField::Set,
        UnitField::Attribute,
        UnitField::Experiment,
        UnitField::Arm,
    ];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        if !unit.experiment.is_empty() {
            return experiment::plan_count(unit, b);
        }
        if !unit.set.is_empty() {
            let sources = SetScoreInputs::need(unit, false, b)?;
            let blocks = block_settings(unit, b);
            return work(move |ctx| {
                sources.rows.with(ctx, 1, |ground| {
                    if let Some(n) = plan.n_classes() {
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
            });
        }
        let sources = RowScoreInputs::need(unit, b)?;
        let blocks = block_settings(unit, b);
        work(move |ctx| {
            let RowScoreInputs { rows, scores, rule, position } = &sources;
            rows.with(ctx, 1, |ground| {
                let out = ctx.out().join(EVIDENCE);
                if let Some(n) = plan.n_classes() {
                    let scores = scores.of_classes(ctx, n)?;
                    let counts = classes::count_rows(ground, &scores, *position, blocks.seed)?;
                    return files::write_json(&out, &counts);
                }
                let (rule, scores) = (rule.open(ctx, ground)?, scores.open(ctx)?);
                let counts = evidence::count_rows(ground, &rule, &scores, *position, blocks)?;
                files::write_json(&out, &counts)
            })
        })
    }
}

impl Stage for FlipsStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Flips;
    const FIELDS: &'static [UnitField] = &[UnitField::Model, UnitField::Attribute];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let sources = RowScoreInputs::need(unit, b)?;
        let test = b.input("metrics.clarify.flip_test", Job::flip_test);
        b.input("metrics.clarify.favoured", |job| {
            let mut favoured = job.metrics.clarify.iter().flat_map(|of| &of.favoured);
            favoured.find(|(name, _)| name.as_str() == unit.attribute).map(|(_, of)| of)
        });
        let seed = b.seed();
        let knobs = test.and_then(|test| {
            Some(FlipTestSettings {
                neighbours: test.neighbours?,
                standardise: test.scale == crate::job::blocks::clarify::FeatureScale::Standard,
                max_people: test.max_rows,
            })
        });
        let Some(knobs) = knobs else {
            return Err(misfit("the job asks for no flip test".to_owned()));
        };
        work(move |ctx| {
            let RowScoreInputs { rows, scores, rule, position } = &sources;
            rows.with(ctx, 2, |ground| {
                let scores = scores.open(ctx)?;
                let of = &ground.rows.layout().attributes[*position];
                let facets = measure::favoured(plan.checked, of).facets(of.groups.len());
                let flips = flip_test::flip_test(
                    ground,
                    &rule.open(ctx, ground)?,
                    &scores,
                    *position,
                    &facets,
                    (&knobs, seed),
                )?;
                files::write_json(&ctx.out().join(EVIDENCE), &flips)
            })
        })
    }
}

impl Stage for ShiftStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Shift;
    const FIELDS: &'static [UnitField] = &[UnitField::Model, UnitField::Set, UnitField::Attribute];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let sources = SetScoreInputs::need(unit, false, b)?;
        let count = b.need::<CountStage>(unit)?;
        let wanted = interval_settings(b);
        let passes = plan.n_classes().unwrap_or(1) as u64;
        work(move |ctx| {
            sources.rows.with(ctx, passes, |ground| {
                // The counterfactuals may be those of a run with more memory.
                plan.check_sum_memory(Some(ground.roles.n_audited()))?;
                if let Some(n) = plan.n_classes() {
                    let counts: SwitchClassCounts = count.read(ctx, EVIDENCE)?;
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
                let counts = count.read(ctx, EVIDENCE)?;
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
        })
    }
}

impl Stage for SliceStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Slice;
    const FIELDS: &'static [UnitField] = &[UnitField::Model, UnitField::Set, UnitField::Attribute];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        if unit.set.is_empty() {
            let sources = RowScoreInputs::need(unit, b)?;
            let blocks = block_settings(unit, b);
            return work(move |ctx| {
                let RowScoreInputs { rows, scores, rule, position } = &sources;
                rows.with(ctx, 1, |ground| {
                    let (rule, scores) = (rule.open(ctx, ground)?, scores.open(ctx)?);
                    let slices = slices::slice_rows(ground, &rule, &scores, *position, blocks)?;
                    files::write_json(&ctx.out().join(EVIDENCE), &slices)
                })
            });
        }
        let plan = b.plan;
        let sources = SetScoreInputs::need(unit, false, b)?;
        let blocks = block_settings(unit, b);
        let smallest = plan.job.metrics.smallest_cell.get();
        let wanted = plan.wants_shift().then(|| {
            b.value("metrics.smallest_cell", smallest);
            interval_settings(b)
        });
        work(move |ctx| {
            sources.rows.with(ctx, 1 + u64::from(wanted.is_some()), |ground| {
                let slices = sources.with_scores(ctx, ground, |scored| {
                    slices::slice_counterfactuals(ground, scored, blocks, wanted, smallest)
                })?;
                files::write_json(&ctx.out().join(EVIDENCE), &slices)
            })
        })
    }
}

impl StageInput<OutcomesStage> {
    /// The outcomes of every model that scores counterfactuals; none where the job keeps none.
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>) -> Result<Option<Self>> {
        let plan = b.plan;
        let models = plan.job.models.values();
        let scored = models.into_iter().any(StagePlan::scores_counterfactuals);
        let kept = plan.keeps_rows() && plan.n_classes().is_none();
        let has_rows = kept && scored && !plan.applied_sets().is_empty();
        has_rows.then(|| b.need::<OutcomesStage>(&AuditUnit::default())).transpose()
    }
}

impl Stage for OutcomesStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Outcomes;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let keep = b.input("run.keep_rows", |job| job.run.keep_rows);
        let (rows, mut parts) = (RowInputs::of_job(b)?, Vec::new());
        let worlds = plan.applied_sets();
        let scoring = |(_, model): &(&Name, &ModelBlock)| StagePlan::scores_counterfactuals(model);
        for (name, _) in plan.job.models.iter().filter(scoring) {
            for world in &worlds {
                let sources = SetScoreInputs::need(&world.unit_of(name.as_str()), true, b)?;
                parts.push((name.as_str(), world.set, sources));
            }
        }
        let always = keep == Some(KeepRows::Outcomes);
        work(move |ctx| {
            rows.with(ctx, parts.len() as u64, |ground| {
                if !always && ground.roles.n_audited() >= KEEP_ROWS_BELOW {
                    return Ok(());
                }
                let mut writer = evidence::create_outcomes(ctx.out())?;
                for (name, set, sources) in &parts {
                    sources.with_scores(ctx, ground, |scored| {
                        evidence::write_outcomes(ground, scored, name, set, &mut writer)
                    })?;
                }
                writer.finish()
            })
        })
    }
}
