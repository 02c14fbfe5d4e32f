//! The stages of experiments: a model is trained again with rows added, once for each arm and fold,
//! and measured next to the model as it was.
//!
//! Each step of an arm and a fold is a separate stage, so a run that was stopped continues at the
//! arm and fold where it stopped. Models are trained, asked, counted and measured by the stages of
//! the plain audit; this module has what experiments add: their folds, what an arm takes, and the
//! tables of all.

pub(crate) mod added_rows;
pub(crate) mod arm_selection;
pub(crate) mod fold_roles;
pub(crate) mod plan;

use std::path::Path;

use crate::augment::ExperimentArm;
use crate::data::rows::split::{self, RankDraw, RankedSplit, Stratification};
use crate::error::Result;
use crate::exec::internal_error;
use crate::job::blocks::experiments::PredictionSource;
use crate::stage::applied_set::with_watch;
use crate::stage::artifact::{ROLES, keeps_rows};
use crate::stage::experiment::arm_selection::arm_selection;
use crate::stage::experiment::fold_roles::FoldRoles;
use crate::stage::kinds::{MeasureStage, PrepareStage, SelectedStage, SplitStage, TablesStage};
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, StageInput, work};
use crate::table::SelectedRow;
use crate::table::file::RowWriter;
use crate::table::merged::{gather_rows, join_tables};
use crate::table::{
    ArmFoldRow, ArmRow, ComparisonRow, CountRow, CurveRow, MetricRow, ReliabilityRow,
    ScoreShiftRow, TableRow, ThresholdRow,
};
use crate::unit::AuditUnit;

/// Which rows are audited and which train, fold by fold.
pub(crate) fn plan_folds<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
    let plan = b.plan;
    let experiment_plan = plan.experiment_of(unit)?;
    let rows = b.need::<PrepareStage>(unit)?;
    let n_folds = b.value("folds", experiment_plan.n_folds);
    let is_inner =
        |arm| experiment_plan.prediction_source(arm) == Some(PredictionSource::OutOfFold);
    let inner = b.value("inner folds", experiment_plan.arms().into_iter().any(is_inner));
    let own = experiment_plan
        .block
        .folds
        .map(|folds| RankedSplit::Folds(folds.get(), Stratification::LabelAndGroup));
    let of_job = match own {
        Some(_) => None,
        None => Some(b.need::<SplitStage>(&AuditUnit::default())?),
    };
    let seed = (own.is_some() || inner).then(|| b.seed().0);
    let (own, inner) = (own.zip(seed), seed.filter(|_| inner));
    let place = ["experiments", experiment_plan.name];
    work(move |ctx| {
        let rows = rows.open(ctx)?;
        let roles = match (own, &of_job) {
            (_, Some(of_job)) => of_job.open(ctx, &rows)?.all()?,
            (Some((rule, seed)), None) => {
                let roles = with_watch(ctx, |watch| {
                    let draw = RankDraw::new(seed, ctx.out());
                    split::assign_roles(&rows, rule, draw, plan.workers, watch)
                })
                .map_err(|e| plan.with_model_place(e, &place))?;
                roles.write(&ctx.out().join(ROLES), &rows)?;
                roles
            }
            (None, None) => return Err(internal_error("the experiment has no folds".to_owned())),
        };
        let workers = plan.workers;
        with_watch(ctx, |watch| {
            fold_roles::write_folds(&rows, &roles, n_folds, inner, workers, watch, ctx.out())
        })
        .map_err(|e| plan.with_model_place(e, &place))
    })
}

impl Stage for SelectedStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let rows = b.need::<PrepareStage>(&AuditUnit::default())?;
        let keep = b.input("run.keep_rows", |job| job.run.keeps_outcomes());
        let mut parts = Vec::new();
        for experiment_plan in plan.experiments() {
            let by_fold = RowInputs::of_experiment(b, &experiment_plan.unit())?;
            // In the order of the table.
            let mut arms: Vec<ExperimentArm> = experiment_plan
                .arms()
                .into_iter()
                .filter(|&arm| experiment_plan.chosen_as(arm).is_some())
                .collect();
            arms.sort_by_cached_key(ExperimentArm::to_string);
            for arm in arms {
                let name = experiment_plan.arm_name(arm);
                for fold in 0..experiment_plan.n_folds {
                    let prefix = format!("{name}: ");
                    let of = (fold, arm, None);
                    let selection = arm_selection(b, &experiment_plan, of, &prefix)?;
                    let rows = by_fold.in_fold(FoldRoles::Audited, fold);
                    let block = experiment_plan.block;
                    let of = (block.model.as_str(), block.from.as_str(), fold);
                    parts.push((name.clone(), of, rows, selection));
                }
            }
        }
        work(move |ctx| {
            let n_rows = rows.open(ctx)?.layout().n_rows;
            if !keeps_rows(keep, n_rows) {
                return Ok(());
            }
            let mut writer = RowWriter::<SelectedRow>::create(ctx.out())?;
            for (name, of, rows, selection) in &parts {
                rows.with(ctx, 0, |row_context| {
                    let selection = selection(row_context)?;
                    selection.write_selected(row_context, name, *of, &mut writer)
                })?;
            }
            writer.finish()
        })
    }
}

impl Stage for TablesStage {
    fn plan<'a>(_: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let measured = b.need::<MeasureStage>(&AuditUnit::default())?;
        let mut trials = b.plan.experiments();
        // Arms are `NAME/ARM`.
        trials.sort_by_key(|trial| format!("{}/", trial.name));
        let mut tables: Vec<StageInput<MeasureStage>> = Vec::new();
        for trial in &trials {
            tables.extend(b.want_part(|b| b.need::<MeasureStage>(&trial.unit()))?);
        }
        work(move |ctx| {
            let folders: Vec<&Path> = tables.iter().map(|stage| stage.folder(ctx)).collect();
            gather_tables(ctx.out(), measured.folder(ctx), &folders)
        })
    }
}

/// The tables of the plain audit and of all experiments, in the order of their arms, in one.
fn gather_tables(out: &Path, plain: &Path, experiments: &[&Path]) -> Result<()> {
    let all: Vec<&Path> = std::iter::once(plain).chain(experiments.iter().copied()).collect();
    gather_rows::<MetricRow>(out, &all)?;
    gather_rows::<CountRow>(out, &all)?;
    gather_rows::<ScoreShiftRow>(out, &all)?;
    gather_rows::<ComparisonRow>(out, &all)?;
    gather_rows::<ReliabilityRow>(out, &all)?;
    join_tables(&all, CurveRow::TABLE, out)?;
    gather_rows::<ThresholdRow>(out, &all)?;
    gather_rows::<ArmRow>(out, experiments)?;
    gather_rows::<ArmFoldRow>(out, experiments)
}
