//! How scores of a model become decisions: the threshold that the job says, a column of the rows,
//! or what was fitted.

use crate::data::Layout;
use crate::data::rows::aligned::ScoreReader;
use crate::error::Result;
use crate::exec::StageContext;
use crate::job::{ModelBlock, ThresholdRule};
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::param::Finite;
use crate::stage::kinds::ThresholdStage;
use crate::stage::row_context::{DecisionRule, RowContext, RowThreshold};
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::table::ThresholdRow;
use crate::table::file::read_rows;
use crate::unit::AuditUnit;

/// How scores of a model become decisions, not yet opened.
pub(crate) struct RuleInputs<'a> {
    model: &'a ModelBlock,
    /// The scale of its scores.
    scale: ScoreScale,
    /// The thresholds of the folds; none where the job says the threshold.
    fitted: Vec<StageInput<ThresholdStage>>,
    /// The amount above which outcomes count as positive, where the family clarify asks.
    above: Option<Finite>,
}

impl<'a> RuleInputs<'a> {
    /// The rule of a model in the plain audit.
    pub(crate) fn need(
        b: &mut StageBuilder<'_, 'a>,
        name: &str,
        model: &'a ModelBlock,
    ) -> Result<Self> {
        RuleInputs::of_units(b, "", model, [AuditUnit::of_model(name)])
    }

    /// The same for a stage of several models.
    pub(crate) fn of_several(
        b: &mut StageBuilder<'_, 'a>,
        name: &str,
        model: &'a ModelBlock,
    ) -> Result<Self> {
        RuleInputs::of_units(b, &format!("models.{name}."), model, [AuditUnit::of_model(name)])
    }

    /// The rule by the thresholds of some units, which the key names with this prefix.
    pub(crate) fn of_units(
        b: &mut StageBuilder<'_, 'a>,
        prefix: &str,
        model: &'a ModelBlock,
        units: impl IntoIterator<Item = AuditUnit>,
    ) -> Result<Self> {
        b.value(&format!("{prefix}threshold"), &model.threshold);
        b.value(&format!("{prefix}threshold_rule"), &model.threshold_rule);
        b.value(&format!("{prefix}gives scores"), model.gives_scores());
        b.value(&format!("{prefix}amount"), model.amount());
        let scale = b.value(&format!("{prefix}scale"), b.plan.score_scale(model));
        let units = units.into_iter().filter(|_| model.threshold.is_fitted());
        let fitted = units.map(|unit| b.need::<ThresholdStage>(&unit)).collect::<Result<_>>()?;
        Ok(RuleInputs { model, scale, fitted, above: None })
    }

    /// The same where amounts count as positive or not, for the family clarify.
    pub(crate) fn cutting_amounts(self, b: &mut StageBuilder<'_, 'a>) -> Self {
        let above = b.plan.job.positive_above(self.model);
        RuleInputs { above: b.value("metrics.clarify.positive_above", above), ..self }
    }

    /// The rule for these scores.
    pub(crate) fn open(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
        scores: &ScoreReader,
    ) -> Result<DecisionRule> {
        let mut fitted = Vec::new();
        for stage in &self.fitted {
            let rows = read_rows::<ThresholdRow>(stage.folder(ctx))?;
            fitted.extend(rows.iter().map(|row| row.threshold));
        }
        let of = (self.model, self.scale, row_context.rows.layout());
        Ok(rule_of(of, (self.above, fitted), scores.precision()))
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
