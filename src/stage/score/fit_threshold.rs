//! The stages `threshold/MODEL`, which are of the kind `score`: fits the threshold of a model to
//! the scores of its training rows, one for each fold.
//!
//! The rows of a fold are those that train in it and have a label; they are scored by the model of
//! the fold, which has learned from them. In an arm of an experiment these are the same rows,
//! without those that the arm adds: a threshold is a rule for people, and the people are the same
//! in all arms. The stage `measure` gathers the tables of all.

use crate::data::rows::{PreparedBatch, Projection};
use crate::error::Result;
use crate::exec::internal_error;
use crate::model::fitted_threshold::{FittedThreshold, ScoredTrainingRow};
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::stage::count::evidence::{check_weight_total, weight_units};
use crate::stage::experiment::plan::arm_name;
use crate::stage::kinds::ThresholdStage;
use crate::stage::models::AskedModels;
use crate::stage::row_context::RowContext;
use crate::stage::score::asked_rows::PreparedRows;
use crate::stage::score::rows::{carried_column, off_scale, training_rows};
use crate::stage::stage_builder::{Planned, Stage, StageBuilder, work};
use crate::table::file::write_rows;
use crate::table::{ThresholdRow, whole};
use crate::unit::AuditUnit;

impl Stage for ThresholdStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let (name, model) = plan.model_of(unit)?;
        let ThresholdBlock::Of(fitted) = &model.threshold else {
            return Err(internal_error(format!("the threshold of `{name}` is not fitted")));
        };
        let objective = (fitted, plan.score_scale(model));
        b.value("scale", objective.1);
        b.value("threshold", &model.threshold);
        if let Some(scores) = &model.scores {
            b.value("scores", &scores.factual);
        }
        let asked = AskedModels::need(b, unit)?;
        let (arm, first) = (arm_name(unit), unit.fold.unwrap_or(0));
        work(move |ctx| {
            asked
                .models
                .rows
                .with(ctx, 0, |row_context| {
                    let fitted = match &model.scores {
                        None => fit_asked(row_context, objective, &asked)?,
                        Some(scores) => {
                            let column =
                                scores.factual.column.as_ref().map_or("", |column| column.as_str());
                            fit_carried(row_context, objective, column)?
                        }
                    };
                    write_rows(ctx.out(), &rows_of((&arm, name), &model.threshold, (first, fitted)))
                })
                .map_err(|e| plan.with_model_place(e, &["models", name, "threshold"]))
        })
    }
}

/// Asks a model for the scores of the training rows, fold after fold.
fn fit_asked(
    row_context: RowContext<'_>,
    objective: (&ThresholdOf, ScoreScale),
    asked: &AskedModels<'_>,
) -> Result<Vec<FittedThreshold>> {
    let models = asked.open(row_context)?;
    fit_folds(row_context, objective, |fold| {
        let of_block = |g: usize, scores: Vec<f64>| {
            cases_of(row_context, (objective.1, fold), g, |_, i| Ok(scores[i]))
        };
        let mut cases = Vec::new();
        let take = &mut |part| {
            cases.extend(part);
            Ok(())
        };
        let scored = PreparedRows { context: row_context, training: Some(fold) };
        let precision = models.score_blocks(row_context, &scored, &of_block, take)?;
        Ok((cases, precision))
    })
}

/// On a turned scale the highest score is the lowest number.
fn ascending(scale: ScoreScale, score: f64) -> f64 {
    if scale.turned { -score } else { score }
}

/// Fits the threshold of each fold to its cases, which have scores of a precision.
///
/// # Errors
/// The cases of a fold have one class only; weights outgrow their sums; the error of `cases`.
fn fit_folds(
    row_context: RowContext<'_>,
    (objective, scale): (&ThresholdOf, ScoreScale),
    cases: impl Fn(u8) -> Result<(Vec<ScoredTrainingRow>, FloatPrecision)>,
) -> Result<Vec<FittedThreshold>> {
    let layout = row_context.rows.layout();
    check_weight_total(layout, layout.n_rows)?;
    let fit = |fold: usize| {
        let (cases, precision) = cases(u8::try_from(fold).unwrap_or(u8::MAX))?;
        let fitted = objective.fit(cases, precision)?;
        Ok(FittedThreshold { threshold: ascending(scale, fitted.threshold), ..fitted })
    };
    (0..row_context.roles.n_folds()).map(fit).collect()
}

/// The cases of a row group that train in a fold and have a score, which `score` gives for the row
/// at a position.
fn cases_of(
    row_context: RowContext<'_>,
    (scale, fold): (ScoreScale, u8),
    g: usize,
    score: impl Fn(&PreparedBatch, usize) -> Result<f64>,
) -> Result<Vec<ScoredTrainingRow>> {
    let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
    let mut cases = Vec::new();
    for i in training_rows(&batch, &roles, fold) {
        let score = score(&batch, i)?;
        let weight = weight_units(row_context.rows.layout(), &batch, i);
        // A row of weight 0 counts for nothing, and its score separates nothing.
        if !score.is_nan() && weight > 0 {
            let positive = batch.label[i] == Some(true);
            cases.push(ScoredTrainingRow { score: ascending(scale, score), positive, weight });
        }
    }
    Ok(cases)
}

/// Fits the thresholds of scores that the rows carry.
///
/// # Errors
/// As for a fold, and where a score is not one of its scale.
pub(crate) fn fit_carried(
    row_context: RowContext<'_>,
    objective: (&ThresholdOf, ScoreScale),
    column: &str,
) -> Result<Vec<FittedThreshold>> {
    let carried = carried_column(row_context, column)?;
    let precision = row_context.rows.layout().precision_of_carried(column);
    let score = |batch: &PreparedBatch, i: usize| {
        let score = batch.carried[carried][i];
        if score.is_nan() || objective.1.contains(score) {
            return Ok(score);
        }
        let fault = off_scale(score, objective.1, column);
        Err(fault.at_row(format!("row {}", batch.row[i])).into())
    };
    fit_folds(row_context, objective, |fold| {
        let mut cases = Vec::new();
        let part = |g: usize| {
            let part = cases_of(row_context, (objective.1, fold), g, score)?;
            Ok((part.len() as u64, part))
        };
        row_context.row_groups().in_turn(part, |part| cases.extend(part))?;
        Ok((cases, precision))
    })
}

/// The thresholds of a model, fold after fold from the first one, as rows of the table.
fn rows_of(
    (arm, model): (&str, &str),
    threshold: &ThresholdBlock,
    (first_fold, fitted): (usize, Vec<FittedThreshold>),
) -> Vec<ThresholdRow> {
    let objective = serde_json::to_string(threshold)
        .unwrap_or_default()
        .replace(['"', '{', '}'], "")
        .replace(':', ": ");
    let objective = objective.trim_end_matches([':', ' ']);
    let row = |(fold, fitted): (u64, FittedThreshold)| ThresholdRow {
        arm: arm.into(),
        model: model.into(),
        fold: whole(fold),
        objective: objective.into(),
        threshold: fitted.threshold,
        n_rows: whole(fitted.n_rows),
        n_positive: whole(fitted.n_positive),
        tpr: fitted.tpr,
        tnr: fitted.tnr,
    };
    (first_fold as u64..).zip(fitted).map(row).collect()
}
