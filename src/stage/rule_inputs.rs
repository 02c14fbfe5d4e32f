//! How scores of a model become decisions: the threshold that the job says, a column of the rows,
//! or what was fitted.

use crate::data::rows::aligned::ScoreReader;
use crate::error::Result;
use crate::exec::StageContext;
use crate::job::{ModelBlock, ThresholdRule};
use crate::model::fitted_threshold::FittedThreshold;
use crate::model::kind::threshold_key::{ThresholdBlock, ThresholdOf};
use crate::num::float_precision::FloatPrecision;
use crate::num::score_scale::ScoreScale;
use crate::param::Finite;
use crate::stage::kinds::ThresholdStage;
use crate::stage::row_context::{DecisionRule, RowContext, RowThreshold};
use crate::stage::score::fit_threshold;
use crate::stage::stage_builder::{StageBuilder, StageInput};
use crate::unit::AuditUnit;

impl StageInput<ThresholdStage> {
    /// The thresholds, fold by fold.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<Vec<FittedThreshold>> {
        self.read(ctx, fit_threshold::FITTED)
    }
}

/// How scores of a model become decisions, to be opened.
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
        let layout = row_context.rows.layout();
        let mut thresholds = FloatPrecision::Double;
        let mut compared = self.model.threshold_rule;
        let threshold = match &self.model.threshold {
            _ if self.model.amount().is_some() => {
                compared = ThresholdRule::Gt;
                // Otherwise they are compared with nothing, so that nobody is decided about.
                RowThreshold::Fixed(self.above.map_or(f64::NAN, Finite::get))
            }
            ThresholdBlock::Fixed(number) => RowThreshold::Fixed(number.get()),
            ThresholdBlock::Of(ThresholdOf::Column(column)) => {
                thresholds = layout.precision_of_carried(column.as_str());
                let carried = &layout.carried;
                RowThreshold::Carried(
                    carried.iter().position(|c| c == column.as_str()).unwrap_or(usize::MAX),
                )
            }
            ThresholdBlock::Of(_) => {
                let fitted = self.fitted.iter().map(|stage| stage.open(ctx));
                let fitted = fitted.collect::<Result<Vec<_>>>()?.concat();
                RowThreshold::Folds(fitted.iter().map(|fitted| fitted.threshold).collect())
            }
        };
        let rule = DecisionRule::new(compared, threshold, self.scale);
        let (gives_scores, scores) = (self.model.gives_scores(), scores.precision());
        Ok(DecisionRule { gives_scores, scores, thresholds, ..rule })
    }
}
