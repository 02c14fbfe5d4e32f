//! The block `scores` of a model: scores computed elsewhere.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::kind::command::{ExternalModel, ONE_SCORE};
use crate::param::{ColumnName, Finite, Fraction, Word};

/// Scores computed elsewhere: probabilities of the positive class, or of each of several, or
/// numbers of the `scale` of the model; null where a row cannot be scored. Where a file is not
/// there yet the run writes the rows to score into `to-score/` of the output folder and ends
/// with status 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoresBlock {
    /// The scores of the rows as they are.
    pub factual: FactualScores,
    /// The scores of the counterfactuals. Default: only families without counterfactuals can be
    /// measured.
    pub counterfactual: Option<CounterfactualScores>,
    /// Asks for some factual rows again in the file of the counterfactuals, to catch scores of
    /// another model version. Default: none.
    pub recheck: Option<RecheckBlock>,
}

/// Factual rows that are scored again with the counterfactuals: in the file they name their own
/// group as `to_group`, with `cf_index` 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecheckBlock {
    /// Share of the audited rows, above 0; drawn by the seed, and at least one row for each
    /// attribute.
    #[serde(default = "Fraction::of::<1, 100>")]
    #[schemars(extend("exclusiveMinimum" = 0,
        "x-range" = "a share above 0; without `recheck` no row is scored twice"))]
    pub share: Fraction,
    /// Largest difference between the two scores of a row, from 0 to below 1.
    #[serde(default = "Finite::of::<1, 1_000_000>")]
    #[schemars(extend("minimum" = 0,
        "x-range" = "0 or more; 1.0e-6 allows for scores in single precision"))]
    pub tolerance: Finite,
}

/// The scores of the rows as they are: a column of the rows, or a file keyed by `row_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactualScores {
    /// A Parquet file with the columns `row_id` and `column`, one line for every audited row;
    /// default: `column` is a column of the rows.
    #[schemars(extend("x-filled" = "name a Parquet file", "x-address" = "object"))]
    pub parquet: Option<String>,
    /// The column that holds the score.
    pub column: Option<ColumnName>,
    /// Instead of `column` where `data.label` has `classes`: the column with the score of each
    /// class, `{Low: p_low, High: p_high}`.
    pub columns: Option<IndexMap<Word, ColumnName>>,
}

/// The scores of the counterfactuals: a file keyed by `row_id`, `sensitive`, `to_group`,
/// `cf_index`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualScores {
    /// The Parquet file, one line for every counterfactual; `{counterfactual}` represents the name
    /// of the set.
    #[schemars(extend("x-filled" = "name a Parquet file", "x-address" = "object"))]
    pub parquet: String,
    /// The column that holds the score.
    pub column: Option<ColumnName>,
    /// Instead of `column` where `data.label` has `classes`: the column with the score of each
    /// class.
    pub columns: Option<IndexMap<Word, ColumnName>>,
}

impl ScoresBlock {
    pub(super) fn external(&self, classes: Option<&[Word]>) -> ExternalModel<'_> {
        let columns = |columns: Vec<&ColumnName>| match columns[..] {
            [column] => format!("column {column}"),
            _ => format!(
                "columns {}",
                columns.into_iter().map(ColumnName::as_str).collect::<Vec<_>>().join(", ")
            ),
        };
        let mine = columns(self.factual.score_columns(classes));
        let factual = match &self.factual.parquet {
            None => format!("{mine} of the rows"),
            Some(path) => format!("{mine} of {path}"),
        };
        let other = self.counterfactual.as_ref().map_or_else(
            || "no scores of counterfactuals".to_owned(),
            |c| format!("{} of {}", columns(c.score_columns(classes)), c.parquet),
        );
        let words = format!("scores computed elsewhere: {factual}; counterfactuals: {other}");
        let answer = match (classes, &self.factual.columns) {
            (Some(classes), Some(_)) => {
                let named: Vec<String> = classes.iter().map(|class| format!("`{class}`")).collect();
                format!("gives a score for each of the classes {} a row", named.join(", "))
            }
            _ => ONE_SCORE.to_owned(),
        };
        ExternalModel::of_outcomes("scores computed elsewhere", words, answer)
    }
}
