//! The key `threshold` of a model: a number, a column of the rows, or what a threshold fitted to
//! the training rows is to reach.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{ColumnName, Finite, Fraction};

/// The score from which a prediction is positive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(
    rename = "Threshold",
    extend("x-is" = "a number, `{column: C}`, `{maximise_recall: {tnr_floor: 0.5}}`, \
        `{youden: {}}` or `{f_beta: 1}`")
)]
pub enum ThresholdBlock {
    /// The same for every row.
    Fixed(Finite),
    /// Another for each row, or another for each fold.
    Of(ThresholdOf),
}

/// Where thresholds that are not written in the job come from. The fitted ones are chosen among the
/// scores of the training rows, in each fold for itself, by the model that learned from these very
/// rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdOf {
    /// A column of the rows.
    Column(ColumnName),
    /// Fitted: the smallest that leaves a share of the negative rows below it.
    MaximiseRecall(MaximiseRecall),
    /// Fitted: the largest sum of the shares of positive and of negative rows that are decided
    /// right.
    Youden(Youden),
    /// Fitted: the largest F score; the number, above 0, says how many times as much recall counts
    /// as precision.
    FBeta(
        #[schemars(extend("exclusiveMinimum" = 0, "x-range" = "above 0; 1 weights recall and \
            precision equally, 2 gives recall twice the weight"))]
        Finite,
    ),
}

/// The knob of `maximise_recall`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MaximiseRecall {
    /// Least share of the negative training rows below the threshold.
    #[serde(default = "Fraction::of::<1, 2>")]
    pub tnr_floor: Fraction,
}

/// `youden` has no knobs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Youden {}

impl ThresholdBlock {
    /// The number where the job writes none.
    pub(crate) const DEFAULT: f64 = 0.5;

    /// Whether the job leaves it at its default.
    pub(crate) fn is_default(&self) -> bool {
        matches!(self, ThresholdBlock::Fixed(number) if number.get() == Self::DEFAULT)
    }

    /// The column that holds it, if one does.
    pub fn column(&self) -> Option<&ColumnName> {
        match self {
            ThresholdBlock::Of(ThresholdOf::Column(column)) => Some(column),
            ThresholdBlock::Fixed(_) | ThresholdBlock::Of(_) => None,
        }
    }

    /// Whether it is fitted to the training rows.
    pub fn is_fitted(&self) -> bool {
        matches!(self, ThresholdBlock::Of(of) if !matches!(of, ThresholdOf::Column(_)))
    }
}

impl Default for ThresholdBlock {
    fn default() -> Self {
        ThresholdBlock::Fixed(Finite::new(Self::DEFAULT).expect("a half is finite"))
    }
}
