//! The block `decision` of a model: decisions without a score.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::prepare::params::carried_decision;
use crate::data::source::list_words;
use crate::model::kind::amount_key::{AmountBlock, MattersFrom};
use crate::model::kind::command::ExternalModel;
use crate::model::kind::scale_key::BetterEnd;
use crate::model::kind::scores::{CounterfactualScores, FactualScores, RecheckBlock, ScoresBlock};
use crate::param::{ColumnName, Word};

/// Words of a decision that are named.
const WORDS_NAMED: usize = 5;

/// Decisions without a score: words in a column of the rows, or amounts such as premiums; null
/// means that there is no decision. For words, metrics that need a score are undefined; for amounts
/// the family `amounts` is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionBlock {
    /// The column of the rows that holds the decisions, as words, truth values or whole numbers.
    pub column: Option<ColumnName>,
    /// The words of the positive decision: that of the positive label, where the job has one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "word"))]
    pub positive: Vec<Word>,
    /// The words of the negative decision. Default: all other words of the column. If given, any
    /// other word is an error.
    #[schemars(extend("minItems" = 1, "x-noun" = "word"))]
    pub negative: Option<Vec<Word>>,
    /// Instead of `column`: the column of the rows with amounts, any finite numbers.
    pub amount: Option<ColumnName>,
    /// For amounts: which end people want, `lower` or `higher`.
    pub better: Option<BetterEnd>,
    /// For amounts: the least change that matters to a person, a share of the amount as it is,
    /// `5%`, or an amount, `100`.
    pub matters_from: Option<MattersFrom>,
    /// The decisions about the counterfactuals, in the same words or unit. Default: only families
    /// without counterfactuals can be measured.
    pub counterfactual: Option<CounterfactualDecisions>,
    /// Asks for the decisions about some rows again in the file of the counterfactuals, to catch
    /// another version of the model. Default: none.
    pub recheck: Option<RecheckBlock>,
}

/// The decisions about the counterfactuals: a file keyed by `row_id`, `sensitive`, `to_group`,
/// `cf_index`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualDecisions {
    /// The Parquet file, one line for every counterfactual; `{counterfactual}` is replaced by the
    /// name of the set.
    #[schemars(extend("x-filled" = "name a Parquet file", "x-address" = "object"))]
    pub parquet: String,
    /// The column with the decision. Default: the same name as in the rows.
    pub column: Option<ColumnName>,
}

impl DecisionBlock {
    /// These decisions as given scores: 1 is the positive decision, 0 the negative one.
    pub(crate) fn scores(&self) -> ScoresBlock {
        let made = self.amount.as_ref().or(self.column.as_ref());
        let decided = self.column.as_ref().map(|column| carried_decision(column.as_str()));
        let carried = self.amount.clone().or(decided.and_then(ColumnName::new));
        let counterfactual = self.counterfactual.as_ref().map(|file| CounterfactualScores {
            parquet: file.parquet.clone(),
            column: file.column.as_ref().or(made).cloned(),
            columns: None,
        });
        let factual = FactualScores { parquet: None, column: carried, columns: None };
        ScoresBlock { factual, counterfactual, recheck: self.recheck }
    }

    /// What the job says about amounts; none for words, and if it does not say everything.
    pub(crate) fn amount(&self) -> Option<AmountBlock> {
        self.amount.as_ref()?;
        Some(AmountBlock { better: self.better?, matters_from: self.matters_from? })
    }

    /// The words of the positive decision.
    pub(crate) fn positive_in_words(&self) -> String {
        in_words(&self.positive)
    }
}

/// A list of words of the job.
fn in_words(words: &[Word]) -> String {
    list_words(words.iter().map(|word| format!("`{word}`")), WORDS_NAMED)
}

impl DecisionBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let DecisionBlock { column, amount, negative, better, counterfactual, .. } = self;
        let name = |column: Option<&ColumnName>| column.map_or("", ColumnName::as_str).to_owned();
        let made = amount.as_ref().or(column.as_ref());
        let (noun, what) = match amount {
            Some(_) => ("amounts computed elsewhere", "amounts computed elsewhere"),
            None => ("decisions computed elsewhere", "decisions without scores"),
        };
        let other = counterfactual.as_ref().map_or_else(
            || "none".to_owned(),
            |file| format!("column {} of {}", name(file.column.as_ref().or(made)), file.parquet),
        );
        let made = name(made);
        let words = format!("{what}: column {made} of the rows; counterfactuals: {other}");
        if amount.is_some() {
            let end = if *better == Some(BetterEnd::Higher) { "higher" } else { "lower" };
            let answer = format!("gives an amount a row, in column `{made}`: {end} is better");
            return ExternalModel::of_outcomes(noun, words, answer);
        }
        let positive = self.positive_in_words();
        let negative = negative.as_ref().map_or("any other word".to_owned(), |v| in_words(v));
        let answer = format!(
            "gives a decision a row, in column `{made}`: {positive} is positive, {negative} is \
             negative"
        );
        ExternalModel::of_outcomes(noun, words, answer)
    }
}
