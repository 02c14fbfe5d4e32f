//! The stages `measure`, `baseline`, `gate` and `report`: evidence becomes tables, verdicts and the
//! output folder.

use crate::diff::compared_run::ComparedRun;
use crate::error::Result;
use crate::exec::StageContext;
use crate::exec::misfit;
use crate::job::ModelBlock;
use crate::stage::applied_set::{AppliedSet, canonical_text};
use crate::stage::count::{CountStage, FlipsStage, OutcomesStage};
use crate::stage::discover::GraphSetInputs;
use crate::stage::experiment::{self, SelectedStage, TablesStage};
use crate::stage::gate::baseline;
use crate::stage::generate::refits::FitInputs;
use crate::stage::generate::{GenerateStage, PlaceboStage, QualityStage};
use crate::stage::input::request::AnswerInputs;
use crate::stage::measure::counted_audit::{AuditInputs, CountedAudit};
use crate::stage::params::prepare_params;
use crate::stage::plan::{StagePlan, reads_features};
use crate::stage::planner::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::stage::prepare::RowInputs;
use crate::stage::recourse::stage::RecourseFolders;
use crate::stage::report::origins::FolderOrigins;
use crate::stage::report::{self, FolderInputs};
use crate::stage::score::recheck::RecheckInputs;
use crate::stage::score::{ScoreStage, ThresholdStage, TreeInputs};
use crate::stage::{measure, waiting};
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// The tables of the audit, or of an experiment.
pub(crate) struct MeasureStage;

/// The comparison with an earlier run.
pub(crate) struct BaselineStage;

/// Verdicts.
pub(crate) struct GateStage;

/// The output folder but for what varies between runs.
pub(crate) struct ReportStage;

impl AuditInputs {
    /// What the plain audit counts of the rows by an attribute.
    fn of_rows(unit: &AuditUnit, b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let (position, _) = b.plan.attribute_of(unit)?;
        let job = b.plan.job;
        let flips = job.flip_test().map(|_| b.need::<FlipsStage>(unit)).transpose()?;
        let audit = CountedAudit {
            model: unit.model.clone(),
            attribute: position,
            ..CountedAudit::default()
        };
        Ok(AuditInputs {
            audit,
            count: b.need::<CountStage>(unit)?,
            has_shift: false,
            placebo: None,
            placebo_stage: None,
            has_slices: !job.metrics.by.is_empty(),
            flips,
            graph_scores: None,
            generate: None,
        })
    }

    /// What it counts of the counterfactuals of a set.
    fn of_set(
        world: &AppliedSet<'_>,
        unit: &AuditUnit,
        b: &mut StageBuilder<'_, '_>,
    ) -> Result<Self> {
        let (plan, block) = (b.plan, world.block);
        let graphs = world.graphs().is_some();
        let shift = plan.wants_shift() && !graphs;
        let sliced = !plan.job.metrics.by.is_empty() && !graphs;
        let repeated = block.placebo.and(block.knobs()).is_some();
        let audit = CountedAudit {
            model: unit.model.clone(),
            set: Some(world.set.to_owned()),
            attribute: world.position,
            by_label: block.conditions_on_label(),
            ..CountedAudit::default()
        };
        Ok(AuditInputs {
            audit,
            count: b.need::<CountStage>(unit)?,
            has_shift: shift,
            // What is written for a group of a derived attribute rests on reference rows, so its
            // noise is not that of naive.
            placebo: block
                .placebo
                .filter(|_| block.knobs().is_some() || !plan.is_written_back(world))
                .map(|placebo| placebo.repeats),
            placebo_stage: repeated.then(|| b.need::<PlaceboStage>(unit)).transpose()?,
            has_slices: sliced,
            flips: None,
            graph_scores: graphs.then(|| b.need::<ScoreStage>(unit)).transpose()?,
            generate: Some(b.need::<GenerateStage>(unit)?),
        })
    }

    /// All that there is to measure: every model on the rows by every attribute, and on every set.
    fn of_job(b: &mut StageBuilder<'_, '_>) -> Result<Vec<Self>> {
        let (plan, mut audits) = (b.plan, Vec::new());
        for (name, model) in &plan.job.models {
            for attribute in plan.job.data.sensitive.keys() {
                let attribute = attribute.to_string();
                let unit = AuditUnit { attribute, ..AuditUnit::of_model(name.as_str()) };
                audits.push(AuditInputs::of_rows(&unit, b)?);
            }
            let worlds = plan.applied_sets().into_iter();
            for world in worlds.filter(|_| StagePlan::scores_counterfactuals(model)) {
                audits.push(AuditInputs::of_set(&world, &world.unit_of(name.as_str()), b)?);
            }
        }
        Ok(audits)
    }
}

impl Stage for MeasureStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Measure;
    const FIELDS: &'static [UnitField] = &[UnitField::Experiment];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        if !unit.experiment.is_empty() {
            return experiment::plan_measure(unit, b);
        }
        let plan = b.plan;
        let rows = RowInputs::of_job(b)?;
        let audits = AuditInputs::of_job(b)?;
        let graphs = GraphSetInputs::need(b)?;
        let moved = plan.applied_sets().into_iter().filter(|world| world.block.knobs().is_some());
        let judged = moved.filter(|_| plan.wants_quality());
        let quality = judged.map(|world| b.need::<QualityStage>(&world.unit()));
        let quality: Vec<StageInput<QualityStage>> = quality.collect::<Result<_>>()?;
        b.input("metrics", |job| &job.metrics);
        let mut thresholds: Vec<(&'a str, &'a ModelBlock, StageInput<ThresholdStage>)> = Vec::new();
        for (name, model) in plan.job.models.iter().filter(|(_, m)| m.threshold.is_fitted()) {
            let fitted = b.need::<ThresholdStage>(&AuditUnit::of_model(name.as_str()))?;
            thresholds.push((name.as_str(), model, fitted));
        }
        let told: Vec<_> =
            thresholds.iter().map(|(name, model, _)| (name, &model.threshold)).collect();
        b.value("thresholds", &told);
        b.input("data.label", |job| &job.data.label);
        b.input("data.favourable", |job| &job.data.favourable);
        b.seed();
        b.input("placebo", |job| {
            let sets = job.counterfactuals.iter();
            sets.filter_map(|(name, set)| Some((name, set.placebo?))).collect::<Vec<_>>()
        });
        work(move |ctx| {
            rows.with(ctx, 0, |ground| {
                if plan.wants_quality() {
                    measure::gather_quality(ctx, &quality)?;
                }
                let graphs = graphs.open(ctx)?;
                measure::measure(ctx, plan.checked, ground, &audits, &graphs, &thresholds)
            })
        })
    }
}

/// The tables of everything that is measured, and those of the plain audit.
#[derive(Clone)]
pub(crate) struct MeasuredTables {
    pub(crate) all: StageInput<MeasureStage>,
    pub(crate) plain: StageInput<MeasureStage>,
}

impl MeasuredTables {
    fn need(b: &mut StageBuilder<'_, '_>) -> Result<Self> {
        let plain = b.need::<MeasureStage>(&AuditUnit::default())?;
        let all = match b.plan.job.experiments.is_empty() {
            true => plain.clone(),
            false => b.need::<TablesStage>(&AuditUnit::default())?,
        };
        Ok(MeasuredTables { all, plain })
    }
}

/// The comparison with the baseline, where one is named.
fn need_baseline(b: &mut StageBuilder<'_, '_>) -> Result<Option<StageInput<BaselineStage>>> {
    let named = b.plan.baseline.is_some();
    named.then(|| b.need::<BaselineStage>(&AuditUnit::default())).transpose()
}

impl Stage for BaselineStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Baseline;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let named = plan.baseline.clone().zip(plan.settings.baseline.as_deref());
        let Some((fingerprint, folder)) = named else {
            return Err(misfit("the run has no baseline".to_owned()));
        };
        let rows = RowInputs::of_job(b)?;
        let measured = MeasuredTables::need(b)?;
        let (fits, outcomes) = (FitInputs::need(b)?, StageInput::<OutcomesStage>::need(b)?);
        b.texts([("baseline".to_owned(), fingerprint)]);
        // The job says what differs; what varies besides does not.
        b.texts(
            folder_inputs(plan)
                .into_iter()
                .filter(|(what, _)| ["job", "run", "inputs"].contains(&what.as_str())),
        );
        work(move |ctx| {
            rows.with(ctx, 0, |ground| {
                let new = baseline::running_side(
                    plan.checked,
                    plan.input,
                    ground,
                    plan.run_id,
                    [measured.all.folder(ctx), measured.plain.folder(ctx)],
                    outcomes.as_ref().map(|stage| stage.folder(ctx)),
                )?;
                let new = ComparedRun { fitted_on: fits.open(ctx)?, ..new };
                baseline::compare(ctx, ground, folder, &new)
            })
        })
    }
}

impl Stage for GateStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Gate;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        b.input("gates", |job| &job.gates);
        b.input("on_inconclusive", |job| &job.on_inconclusive);
        b.value("lines of the gates", gate_lines(plan));
        let (measured, baseline) = (MeasuredTables::need(b)?, need_baseline(b)?);
        let (recourse, asked) = (RecourseFolders::need(b)?, RecheckInputs::need(b)?);
        work(move |ctx| {
            measure::judge(
                ctx,
                plan.checked,
                &measured,
                baseline.as_ref(),
                &recourse.open(ctx),
                &asked.unsteady(ctx)?,
            )
        })
    }
}

fn gate_lines(plan: &StagePlan<'_>) -> Vec<u64> {
    let of_metrics = measure::questions(plan.checked).into_iter().map(|question| question.line);
    let of_recourse = measure::recourse_questions(plan.checked).into_iter();
    of_metrics.chain(of_recourse.map(|question| question.line)).collect()
}

impl<'a> FolderInputs<'a> {
    /// All that the folder of a run is put together from.
    fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let plan = b.plan;
        let origins = OriginInputs::need(b)?;
        let measured = MeasuredTables::need(b)?;
        let gate = b.need::<GateStage>(&AuditUnit::default())?;
        let has_chosen = plan.keeps_rows() && !plan.job.experiments.is_empty();
        let selected =
            has_chosen.then(|| b.need::<SelectedStage>(&AuditUnit::default())).transpose()?;
        let outcomes = StageInput::<OutcomesStage>::need(b)?;
        let (baseline, recourse) = (need_baseline(b)?, RecourseFolders::need(b)?);
        let mut rechecks_of_files = Vec::new();
        let checks =
            |model: &ModelBlock| model.scores.as_ref().is_some_and(|s| s.recheck.is_some());
        for (name, _) in plan.job.models.iter().filter(|(_, model)| checks(model)) {
            for world in plan.applied_sets() {
                let scored = b.need::<ScoreStage>(&world.unit_of(name.as_str()))?;
                rechecks_of_files.push((name.to_string(), scored));
            }
        }
        let rechecks = RecheckInputs::need(b)?;
        let mut sets = Vec::new();
        for world in plan.applied_sets() {
            let made = b.need::<GenerateStage>(&world.unit())?;
            sets.push((world.set.to_owned(), world.attribute.to_owned(), made));
        }
        Ok(FolderInputs {
            origins,
            measured,
            gate,
            selected,
            outcomes,
            baseline,
            recourse,
            rechecks_of_files,
            rechecks,
            sets,
            graphs: GraphSetInputs::need(b)?,
            fits: FitInputs::need(b)?,
            answers: AnswerInputs::need(b)?,
            trees: TreeInputs::need(b)?,
            n_folds: plan.n_folds(),
        })
    }
}

impl Stage for ReportStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Report;
    const FIELDS: &'static [UnitField] = &[];

    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let Some(made) = b.want(FolderInputs::need)? else { return waiting::plan_report(b) };
        work(move |ctx| made.origins.with(ctx, |origins| report::assemble(ctx, origins, &made)))
    }
}

/// What makes an output folder stale beside what it is made of.
fn folder_inputs(plan: &StagePlan<'_>) -> Vec<(String, String)> {
    vec![
        ("job".to_owned(), plan.checked.hash.clone()),
        ("run".to_owned(), plan.run_id.to_owned()),
        ("--set".to_owned(), canonical_text(&plan.checked.sets)),
        ("job file".to_owned(), plan.settings.job_file.clone()),
        ("inputs".to_owned(), canonical_text(&plan.input.files)),
    ]
}

/// Where a folder comes from, to be opened.
pub(crate) struct OriginInputs<'a> {
    plan: &'a StagePlan<'a>,
    rows: RowInputs<'a>,
}

impl<'a> OriginInputs<'a> {
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let plan = b.plan;
        b.texts(folder_inputs(plan));
        Ok(OriginInputs { plan, rows: RowInputs::of_job(b)? })
    }

    /// Tells `work` where the folder comes from.
    pub(crate) fn with<T>(
        &self,
        ctx: &StageContext<'_>,
        work: impl FnOnce(&FolderOrigins<'_>) -> Result<T>,
    ) -> Result<T> {
        let plan = self.plan;
        let params = prepare_params(plan.job, reads_features(plan.job));
        self.rows.with(ctx, 0, |ground| {
            work(&FolderOrigins {
                checked: plan.checked,
                settings: plan.settings,
                input: plan.input,
                run: plan.run_id,
                context: ground,
                params: &params,
                prepared: self.rows.prepared().folder(ctx),
            })
        })
    }
}
