//! The block `decision` of a model: decisions without a score.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::data::prepare::params::carried_decision;
use crate::data::source::list_words;
use crate::model::kind::command::BroughtKnobs;
use crate::model::kind::scores::{CounterfactualScores, FactualScores, ScoresBlock};
use crate::param::{ColumnName, Word};

/// Words of the positive decision that are named.
const POSITIVE_NAMED: usize = 5;

/// Decisions without a score: words in a column of the rows; null means that there is no decision.
/// Metrics that need a score are undefined.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionKnobs {
    /// The column of the rows that holds the decisions.
    pub column: ColumnName,
    /// The words of the positive decision: that of the positive label, where the job has one.
    pub positive: Vec<Word>,
    /// The words of the negative decision. Default: all other words of the column. If given, any
    /// other word is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negative: Option<Vec<Word>>,
    /// The decisions about the counterfactuals, in the same words. Default: only families without
    /// counterfactuals can be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<CounterfactualDecisions>,
}

/// The decisions about the counterfactuals: a file keyed by `row_id`, `sensitive`, `to_group`,
/// `cf_index`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualDecisions {
    /// The Parquet file, one line for every counterfactual; `{counterfactual}` is replaced by the
    /// name of the set.
    pub parquet: String,
    /// The column with the decision. Default: the same name as in the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnName>,
}

/// The knobs, and the same as scores computed elsewhere: 1 is the positive decision, 0 the negative
/// one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "DecisionKnobs", into = "DecisionKnobs")]
pub struct DecisionBlock {
    knobs: DecisionKnobs,
    scores: ScoresBlock,
}

impl From<DecisionKnobs> for DecisionBlock {
    fn from(knobs: DecisionKnobs) -> Self {
        let carried = ColumnName::new(carried_decision(knobs.column.as_str()));
        let counterfactual = knobs.counterfactual.as_ref().map(|file| CounterfactualScores {
            parquet: file.parquet.clone(),
            column: Some(file.column.clone().unwrap_or_else(|| knobs.column.clone())),
            columns: None,
        });
        let factual = FactualScores { parquet: None, column: carried, columns: None };
        DecisionBlock { knobs, scores: ScoresBlock { factual, counterfactual, recheck: None } }
    }
}

impl From<DecisionBlock> for DecisionKnobs {
    fn from(block: DecisionBlock) -> Self {
        block.knobs
    }
}

impl JsonSchema for DecisionBlock {
    fn schema_name() -> Cow<'static, str> {
        "DecisionBlock".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DecisionKnobs::json_schema(generator)
    }
}

impl DecisionBlock {
    /// What the job says.
    pub(crate) fn knobs(&self) -> &DecisionKnobs {
        &self.knobs
    }

    /// The same as scores computed elsewhere.
    pub(crate) fn scores(&self) -> &ScoresBlock {
        &self.scores
    }

    /// The words of the positive decision.
    pub(crate) fn positive_in_words(&self) -> String {
        list_words(self.knobs.positive.iter().map(|word| format!("`{word}`")), POSITIVE_NAMED)
    }
}

impl BroughtKnobs for DecisionBlock {
    fn omit(&self) -> Option<&[ColumnName]> {
        None
    }

    fn noun(&self) -> &'static str {
        "decisions computed elsewhere"
    }

    fn words(&self, _: Option<&[Word]>) -> String {
        let column = &self.knobs.column;
        let other = self.knobs.counterfactual.as_ref().map_or_else(
            || "no decisions about counterfactuals".to_owned(),
            |file| format!("column {} of {}", file.column.as_ref().unwrap_or(column), file.parquet),
        );
        format!(
            "decisions without scores: column {column} of the rows; \
             counterfactuals: {other}"
        )
    }

    fn is_asked_twice(&self) -> bool {
        false
    }
}
