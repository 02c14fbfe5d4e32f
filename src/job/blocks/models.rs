//! The block `models`: where scores come from, and how they become decisions.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::blocks::onnx::OnnxBlock;
use crate::job::blocks::threshold::ThresholdBlock;
use crate::job::blocks::trained::{BoostingBlock, ForestBlock};
use crate::param::{ColumnName, CommandArgument, Finite, Fraction, TimeLimit, Word};

/// A model to audit: exactly one kind beside the common keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelBlock {
    /// Logistic regression with an L2 penalty, trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logistic: Option<LogisticBlock>,
    /// Gradient boosting, trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boosting: Option<BoostingBlock>,
    /// Random forest, trained here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forest: Option<ForestBlock>,
    /// A model in an ONNX file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onnx: Option<OnnxBlock>,
    /// Scores made elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scores: Option<ScoresBlock>,
    /// Any program: rows in, scores out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandBlock>,
    /// The score from which a prediction is positive: a number, `{column: C}`, or fitted to the
    /// training rows by `{maximise_recall: {...}}`, `{youden: {}}` or `{f_beta: 1}`. Has no part
    /// where the label has `classes`.
    #[serde(default)]
    pub threshold: ThresholdBlock,
    /// `ge`: a score equal to the threshold is positive; `gt`: it is negative.
    #[serde(default)]
    pub threshold_rule: ThresholdRule,
}

/// Logistic regression with an L2 penalty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogisticBlock {
    /// Strength of the penalty on the summed loss (1/C of scikit-learn), 0 or above; the intercept
    /// is free.
    pub l2: Finite,
    /// Columns that the model does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
}

/// Scores made elsewhere: numbers in [0, 1], the probability of the positive class, or of each of
/// several; null where a row cannot be scored. Where a file is not there yet the run writes the
/// rows to score into `to-score/` of the output folder and ends with status 4.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoresBlock {
    /// The scores of the rows as they are.
    pub factual: FactualScores,
    /// The scores of the counterfactuals. Left out: only families without counterfactuals can be
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterfactual: Option<CounterfactualScores>,
    /// Asks for some factual rows again in the file of the counterfactuals, to catch scores of
    /// another model version. Left out: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recheck: Option<RecheckBlock>,
}

/// Factual rows that are scored again with the counterfactuals: in the file they name their own
/// group as `to_group`, with `cf_index` 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecheckBlock {
    /// Share of the audited rows, above 0; drawn by the seed, and at least one row for each
    /// attribute.
    #[serde(default = "one_in_a_hundred")]
    pub share: Fraction,
    /// Largest difference between the two scores of a row, from 0 to below 1.
    #[serde(default = "one_in_a_million")]
    pub tolerance: Finite,
}

fn one_in_a_hundred() -> Fraction {
    Fraction::new(0.01).expect("0.01 is a share")
}

fn one_in_a_million() -> Finite {
    Finite::new(1e-6).expect("1e-6 is finite")
}

/// The scores of the rows as they are: a column of the rows, or a file keyed by `row_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FactualScores {
    /// A Parquet file with the columns `row_id` and `column`, one line for every audited row; left
    /// out: `column` is a column of the rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parquet: Option<String>,
    /// The column that holds the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnName>,
    /// In the place of `column` where `data.label` has `classes`: the column with the score of each
    /// class, `{Low: p_low, High: p_high}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<IndexMap<Word, ColumnName>>,
}

/// The scores of the counterfactuals: a file keyed by `row_id`, `sensitive`, `to_group`,
/// `cf_index`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterfactualScores {
    /// The Parquet file, one line for every counterfactual; `{counterfactual}` stands for the name
    /// of the set.
    pub parquet: String,
    /// The column that holds the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<ColumnName>,
    /// In the place of `column` where `data.label` has `classes`: the column with the score of each
    /// class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<IndexMap<Word, ColumnName>>,
}

/// A program that scores rows, and may train a model first. It sees the features and the sensitive
/// columns under their source names, never the label, and gives one score in [0, 1] per row, in the
/// order of the rows. It runs in the working directory of cfaudit with PATH, HOME, TMPDIR,
/// LANG=C.UTF-8, TZ=UTC and what `pass_env` and `secret_env` name. Every status but 0 ends the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandBlock {
    /// The program that scores, and its arguments. Filled when it starts: `{model}` (the file
    /// below, or what `train` wrote), `{seed}` (run.seed), `{threads}`, `{fold}` (from 0; 0 without
    /// folds), and with `parquet-files` the paths `{rows}` and `{scores}`.
    pub score: Vec<CommandArgument>,
    /// The trained model: a file or folder, hashed like those under `watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The program that trains, in the place of `model`, and its arguments: gets the training rows
    /// with a last column `label` (1 = positive, 0 = negative) and writes a file or folder to
    /// `{model}`. With folds it runs once per fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub train: Option<Vec<CommandArgument>>,
    /// How rows and scores travel.
    #[serde(default)]
    pub stream: StreamFormat,
    /// Files, folders or globs that decide what the program does: when one changes, it runs again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watch: Vec<String>,
    /// Names of further environment variables that the program sees. A changed value runs it again:
    /// the cache keeps a keyed hash of it, and the value is never written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pass_env: Vec<String>,
    /// Names of variables with secrets, such as tokens: the program sees them; their values are
    /// never hashed or written, and a changed one runs nothing again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secret_env: Vec<String>,
    /// How long one run of the program may take.
    #[serde(default = "an_hour")]
    pub time_limit: TimeLimit,
    /// Columns that the program does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omit: Vec<ColumnName>,
}

fn an_hour() -> TimeLimit {
    TimeLimit::seconds(3600).expect("an hour is a time limit")
}

/// How rows and scores travel between cfaudit and a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StreamFormat {
    /// Rows as an Arrow IPC stream on standard input, scores as one with the column `score` on
    /// standard output.
    #[default]
    Arrow,
    /// Rows as the Parquet file `{rows}`, scores as the Parquet file `{scores}` with the column
    /// `score`.
    ParquetFiles,
}

/// What a score equal to the threshold means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThresholdRule {
    /// Positive.
    #[default]
    Ge,
    /// Negative.
    Gt,
}
