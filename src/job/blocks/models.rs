//! The block `models`: the list of kinds, where scores come from, and how they become decisions.
//!
//! A row of the list is the key in a job with its description and the block of knobs. A kind that
//! is trained here has all that is its own in a file of `model`, behind [`TrainedKnobs`].

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::blocks::onnx::OnnxBlock;
use crate::job::blocks::threshold::ThresholdBlock;
use crate::model::TrainedKnobs;
use crate::model::boosting::BoostingBlock;
use crate::model::forest::ForestBlock;
use crate::model::logistic::LogisticBlock;
use crate::param::{ColumnName, CommandArgument, Finite, Fraction, TimeLimit, Word};

macro_rules! model_kinds {
    (
        trained {
            $($(#[$about:meta])* $field:ident = $key:tt: $variant:ident($block:ty), $example:tt;)+
        }
        elsewhere {
            $($(#[$other_about:meta])* $other:ident = $other_key:tt:
                $other_variant:ident($other_block:ty);)+
        }
    ) => {
        /// A model to audit: exactly one kind beside the common keys.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct ModelBlock {
            $($(#[$about])*
            #[serde(default, rename = $key, skip_serializing_if = "Option::is_none")]
            $field: Option<$block>,)+
            $($(#[$other_about])*
            #[serde(default, rename = $other_key, skip_serializing_if = "Option::is_none")]
            pub $other: Option<$other_block>,)+
            /// The score from which a prediction is positive: a number, `{column: C}`, or fitted to
            /// the training rows by `{maximise_recall: {...}}`, `{youden: {}}` or `{f_beta: 1}`.
            /// Has no part where the label has `classes`.
            #[serde(default)]
            pub threshold: ThresholdBlock,
            /// `ge`: a score equal to the threshold is positive; `gt`: it is negative.
            #[serde(default)]
            pub threshold_rule: ThresholdRule,
        }

        /// A kind of model with its knobs.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        #[serde(untagged)]
        pub enum ModelKind<'a> {
            $($(#[$about])* $variant(&'a $block),)+
            $($(#[$other_about])* $other_variant(&'a $other_block),)+
        }

        /// The keys of a model that name its kind: exactly one must be there.
        pub const MODEL_KINDS: &[&str] = &[$($key,)+ $($other_key),+];

        /// How a job asks for a model that is trained here, by kind.
        pub const TRAINED_EXAMPLES: &[(&str, &str)] = &[$(($key, $example)),+];

        impl<'a> ModelKind<'a> {
            /// The key in a job.
            pub fn key(self) -> &'static str {
                match self {
                    $(ModelKind::$variant(_) => $key,)+
                    $(ModelKind::$other_variant(_) => $other_key,)+
                }
            }

            /// The knobs, where the run itself fits the model to the training rows.
            pub fn trained_here(self) -> Option<&'a dyn TrainedKnobs> {
                match self {
                    $(ModelKind::$variant(block) => Some(block),)+
                    $(ModelKind::$other_variant(_) => None,)+
                }
            }
        }

        impl ModelBlock {
            /// Its kinds; a checked model has one.
            pub fn kinds(&self) -> Vec<ModelKind<'_>> {
                let all = [
                    $(self.$field.as_ref().map(ModelKind::$variant),)+
                    $(self.$other.as_ref().map(ModelKind::$other_variant),)+
                ];
                all.into_iter().flatten().collect()
            }
        }
    };
}

model_kinds! {
    trained {
        /// Logistic regression with an L2 penalty, trained here.
        logistic = "logistic": Logistic(LogisticBlock), "{l2: 1.0}";
        /// Gradient boosting, trained here.
        boosting = "boosting": Boosting(BoostingBlock), "{}";
        /// Random forest, trained here.
        forest = "forest": Forest(ForestBlock), "{}";
    }
    elsewhere {
        /// A model in an ONNX file.
        onnx = "onnx": Onnx(OnnxBlock);
        /// Scores made elsewhere.
        scores = "scores": Scores(ScoresBlock);
        /// Any program: rows in, scores out.
        command = "command": Command(CommandBlock);
    }
}

impl ModelBlock {
    /// Its kind and its knobs, where the run itself fits it to the training rows.
    pub fn trained_here(&self) -> Option<(ModelKind<'_>, &dyn TrainedKnobs)> {
        self.kinds().into_iter().find_map(|kind| Some((kind, kind.trained_here()?)))
    }

    /// Whether the run itself fits the model to the training rows.
    pub fn is_trained_here(&self) -> bool {
        self.trained_here().is_some()
    }

    /// Whether it is made of trees that the run grows.
    pub fn grows_trees(&self) -> bool {
        self.trained_here().is_some_and(|(_, knobs)| knobs.grows_trees())
    }

    /// The inputs that a model run here does without; `None` for scores made elsewhere, which read
    /// what they like.
    pub fn omitted(&self) -> Option<&[ColumnName]> {
        let trained = self.trained_here().map(|(_, knobs)| knobs.omit());
        let onnx = self.onnx.as_ref().map(|onnx| onnx.omit.as_slice());
        let command = self.command.as_ref().map(|command| command.omit.as_slice());
        trained.or(onnx).or(command)
    }
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
