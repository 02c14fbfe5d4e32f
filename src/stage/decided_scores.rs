//! Scores of a model and how they become decisions: by the threshold that the job says, a column of
//! the rows, or what was fitted.

use std::ops::Range;
use std::path::Path;

use crate::data::Layout;
use crate::data::rows::aligned::ScoreReader;
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::error::Result;
use crate::exec::internal_error;
use crate::job::{ModelBlock, ThresholdRule};
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::param::Finite;
use crate::stage::count::classes::{ClassScores, class_at};
use crate::stage::count::evidence::label;
use crate::stage::kinds::{ScoreStage, ThresholdStage};
use crate::stage::row_context::{DecisionRule, RowContext, RowThreshold};
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::table::ThresholdRow;
use crate::table::file::read_rows;
use crate::unit::AuditUnit;

/// The scores of the models of an audit: that of the plain audit, or those of an arm in all folds,
/// of which each has those of its own rows.
#[derive(Default)]
pub(crate) struct PooledScores(Vec<StageInput<ScoreStage>>);

impl PooledScores {
    pub(crate) fn need(b: &mut StageBuilder<'_, '_>, unit: &AuditUnit) -> Result<Self> {
        let units = b.plan.pooled_units(unit)?;
        PooledScores::of_units(b, &units)
    }

    fn of_units(b: &mut StageBuilder<'_, '_>, units: &[AuditUnit]) -> Result<Self> {
        let scores = units.iter().map(|unit| b.need::<ScoreStage>(unit));
        Ok(PooledScores(scores.collect::<Result<_>>()?))
    }

    pub(crate) fn open(&self, row_context: RowContext<'_>) -> Result<ScoreReader> {
        if let [stage] = self.0.as_slice() {
            return stage.open(row_context);
        }
        let folders: Vec<&Path> =
            self.0.iter().map(|stage| stage.folder(row_context.ctx)).collect();
        ScoreReader::pooled(&folders)
    }

    /// The scores of each of `n` classes. Arms and worlds have none.
    pub(crate) fn of_classes(&self, row_context: RowContext<'_>, n: usize) -> Result<ClassScores> {
        match self.0.as_slice() {
            [stage] => ClassScores::open(stage.folder(row_context.ctx), row_context, n),
            _ => Err(internal_error("scores of several classes are not pooled".to_owned())),
        }
    }
}

/// The scores of rows by a model and how they become decisions, not yet opened.
pub(crate) struct DecidedScores<'a> {
    pub(crate) scores: PooledScores,
    model: &'a ModelBlock,
    /// The scale of its scores.
    scale: ScoreScale,
    /// The thresholds of the folds; none where the job gives the threshold.
    fitted: Vec<StageInput<ThresholdStage>>,
    /// The amount above which outcomes count as positive, where the family clarify asks.
    above: Option<Finite>,
}

impl<'a> DecidedScores<'a> {
    /// The scores of the unchanged rows of a unit. `several` models are distinguished by their
    /// names in the key.
    pub(crate) fn need(
        b: &mut StageBuilder<'_, 'a>,
        unit: &AuditUnit,
        several: bool,
    ) -> Result<Self> {
        let prefix = if several { format!("models.{}.", unit.model) } else { String::new() };
        let (_, model) = b.plan.model_of(unit)?;
        let units = b.plan.pooled_units(&unit.factual())?;
        DecidedScores::of_units(b, (&prefix, model), &units, &units)
    }

    /// The scores of some units by the thresholds of others, which the key names with a prefix.
    pub(crate) fn of_units(
        b: &mut StageBuilder<'_, 'a>,
        (prefix, model): (&str, &'a ModelBlock),
        scored: &[AuditUnit],
        thresholds: &[AuditUnit],
    ) -> Result<Self> {
        b.value(&format!("{prefix}threshold"), &model.threshold);
        b.value(&format!("{prefix}threshold_rule"), &model.threshold_rule);
        b.value(&format!("{prefix}gives scores"), model.gives_scores());
        b.value(&format!("{prefix}amount"), model.amount());
        let scale = b.value(&format!("{prefix}scale"), b.plan.score_scale(model));
        let scores = PooledScores::of_units(b, scored)?;
        let fitted = thresholds.iter().filter(|_| model.threshold.is_fitted());
        let fitted = fitted.map(|unit| b.need::<ThresholdStage>(unit)).collect::<Result<_>>()?;
        Ok(DecidedScores { scores, model, scale, fitted, above: None })
    }

    /// These scores where amounts count as positive or not, for the family clarify.
    pub(crate) fn cutting_amounts(self, b: &mut StageBuilder<'_, 'a>) -> Self {
        let above = b.plan.job.positive_above(self.model);
        DecidedScores { above: b.value("metrics.clarify.positive_above", above), ..self }
    }

    /// The rule, and the scores.
    pub(crate) fn open(&self, row_context: RowContext<'_>) -> Result<(DecisionRule, ScoreReader)> {
        let mut fitted = Vec::new();
        for stage in &self.fitted {
            let rows = read_rows::<ThresholdRow>(stage.folder(row_context.ctx))?;
            fitted.extend(rows.iter().map(|row| row.threshold));
        }
        let scores = self.scores.open(row_context)?;
        let of = (self.model, self.scale, row_context.rows.layout());
        Ok((rule_of(of, (self.above, fitted), scores.precision()), scores))
    }

    /// What the scores mean.
    pub(crate) fn predictions(&self, row_context: RowContext<'_>) -> Result<Predictions> {
        match row_context.rows.layout().n_classes() {
            0 => self.open(row_context).map(|(rule, scores)| Predictions::Sides(rule, scores)),
            n => self.scores.of_classes(row_context, n).map(Predictions::Classes),
        }
    }
}

/// What a model predicts for rows: one of two sides or of several classes.
#[derive(Debug)]
pub(crate) enum Predictions {
    /// By one score a row, which a rule makes a decision.
    Sides(DecisionRule, ScoreReader),
    /// By a score for each class, of which the highest decides.
    Classes(ClassScores),
}

impl Predictions {
    /// For each row of a row group the predicted class, of two sides 1 for the positive one; none
    /// without a score.
    ///
    /// # Errors
    /// The scores cannot be read.
    pub(crate) fn of_group(
        &self,
        g: usize,
        (batch, roles): (&PreparedBatch, &RowRoles),
    ) -> Result<Vec<Option<u32>>> {
        match self {
            Predictions::Sides(rule, scores) => {
                let decide = |(i, score): (usize, f64)| {
                    rule.decide(batch, roles.audited(i), i, score).map(u32::from)
                };
                Ok(scores.read(g)?.into_iter().enumerate().map(decide).collect())
            }
            Predictions::Classes(scores) => Ok(scores.read(g)?.predicted()),
        }
    }

    /// What is read of the rows.
    pub(crate) fn reads(&self) -> Projection {
        match self {
            Predictions::Sides(rule, _) => rule.reads(),
            Predictions::Classes(_) => Projection::NO_FEATURES,
        }
    }

    /// The class of the label of a row, of two sides 1 for the positive one; none without a label.
    pub(crate) fn label(&self, layout: &Layout, batch: &PreparedBatch, i: usize) -> Option<u32> {
        match self {
            Predictions::Sides(..) => label(layout, batch, i).map(u32::from),
            Predictions::Classes(_) => {
                class_at(batch, i).and_then(|class| u32::try_from(class).ok())
            }
        }
    }

    /// The classes that are measured as the positive one: of two sides only 1.
    pub(crate) fn positive(&self) -> Range<u32> {
        match self {
            Predictions::Sides(..) => 1..2,
            Predictions::Classes(scores) => 0..scores.n_classes(),
        }
    }
}

/// How scores of a precision become decisions: by the threshold of the model, or those `fitted`;
/// amounts are positive `above` a number.
pub(crate) fn rule_of(
    (model, scale, layout): (&ModelBlock, ScoreScale, &Layout),
    (above, fitted): (Option<Finite>, Vec<f64>),
    scores: FloatPrecision,
) -> DecisionRule {
    let mut thresholds = FloatPrecision::Double;
    let mut compared = model.threshold_rule;
    let threshold = match &model.threshold {
        _ if model.amount().is_some() => {
            compared = ThresholdRule::Gt;
            // Otherwise they are compared with nothing, so that there are no decisions.
            RowThreshold::Fixed(above.map_or(f64::NAN, Finite::get))
        }
        ThresholdBlock::Fixed(number) => RowThreshold::Fixed(number.get()),
        ThresholdBlock::Of(ThresholdOf::Column(column)) => {
            thresholds = layout.precision_of_carried(column.as_str());
            let carried = layout.carried.iter().position(|c| c == column.as_str());
            RowThreshold::Carried(carried.unwrap_or(usize::MAX))
        }
        ThresholdBlock::Of(_) => RowThreshold::Folds(fitted),
    };
    let rule = DecisionRule::new(compared, threshold, scale);
    DecisionRule { gives_scores: model.gives_scores(), scores, thresholds, ..rule }
}
