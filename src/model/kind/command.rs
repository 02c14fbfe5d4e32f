//! The block `command` of a model: any program; and the properties that the rest of the program
//! reads of every kind of external model, some of which are run as programs.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::contract::{ContractTerms, MissingAs, ModelSignature, ScoreOutput};
use crate::param::{ColumnName, CommandArgument, TimeLimit, Word};

/// A program that scores rows, and may train a model first. It sees the features and the sensitive
/// columns under their source names, never the label, and gives one score in [0, 1] per row, in the
/// order of the rows; of several classes one for each. It runs in the working directory of cfaudit with PATH, HOME, TMPDIR,
/// LANG=C.UTF-8, TZ=UTC and what `pass_env` and `secret_env` name. Every status but 0 ends the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandBlock {
    /// The program that scores, and its arguments. Filled when it starts: `{model}` (the file
    /// below, or what `train` wrote), `{seed}` (run.seed), `{threads}`, `{fold}` (from 0; 0 without
    /// folds), and with `parquet-files` the paths `{rows}` and `{scores}`.
    pub score: Vec<CommandArgument>,
    /// The trained model: a file or folder, hashed like those under `watch`.
    #[schemars(extend("x-filled" = "name the file or folder of the model", "x-plain" = true))]
    pub model: Option<String>,
    /// The program that trains, instead of `model`, and its arguments: gets the training rows
    /// with a last column `label` (1 = positive, 0 = negative) and writes a file or folder to
    /// `{model}`. With folds it runs once per fold.
    pub train: Option<Vec<CommandArgument>>,
    /// How rows and scores travel.
    #[serde(default)]
    pub stream: StreamFormat,
    /// Files, folders or globs that decide what the program does: when one changes, it runs again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "file", "x-filled" = "name a file, a folder or a glob"))]
    pub watch: Vec<String>,
    /// Names of further environment variables that the program sees. A changed value runs it again:
    /// the cache keeps a keyed hash of it, and the value is never written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub pass_env: Vec<String>,
    /// Names of variables with secrets, such as tokens: the program sees them; their values are
    /// never hashed or written, and a changed one runs nothing again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub secret_env: Vec<String>,
    /// How long one run of the program may take.
    #[serde(default)]
    pub time_limit: TimeLimit,
    /// Where `data.label` has `classes`: the column of the answer with the score of each class,
    /// `{Low: p_low, High: p_high}`. The answer has these columns and no others.
    pub classes: Option<IndexMap<Word, Word>>,
    /// The columns that the program gets, in order. Default: all, sensitive ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub columns: Vec<ColumnName>,
    /// Columns that the program does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

impl CommandBlock {
    /// A program that ships with cfaudit, for a block with a contract of its own: which columns it
    /// gets that block says.
    pub(super) fn shipped(score: impl IntoIterator<Item = String>, time_limit: TimeLimit) -> Self {
        CommandBlock {
            score: score.into_iter().map(CommandArgument).collect(),
            time_limit,
            ..CommandBlock::default()
        }
    }

    /// The program that asks Python models, with these options, by this interpreter or the default.
    pub(super) fn of_python(
        with: Option<&str>,
        options: &[[&str; 2]],
        time_limit: TimeLimit,
    ) -> Self {
        let start = [with.unwrap_or("{python}"), "{script}"];
        let words = start.into_iter().chain(options.iter().flatten().copied());
        CommandBlock::shipped(words.map(str::to_owned), time_limit)
    }
}

/// What a model gives that names no classes.
pub(crate) const ONE_SCORE: &str =
    "gives one number a row, which is the score of the positive class";

/// An external model, which is trained elsewhere: what the rest of the program reads of its block
/// in a job.
#[derive(Debug, Clone, PartialEq)]
pub struct ExternalModel<'a> {
    /// What messages call it: "an ONNX file".
    pub noun: &'static str,
    /// What it is, for the report.
    pub words: String,
    /// What it gives for a row, after "it", where it names no class of its own.
    pub answer: String,
    /// Whether it is asked for the scores of some rows a second time.
    pub is_asked_twice: bool,
    /// The program that scores, where it is one.
    pub program: Option<ScoringProgram>,
    /// What the job says about the contract with it.
    pub terms: ContractTerms<'a>,
    /// What it says about itself, where that is known without asking it.
    pub signature: Option<ModelSignature>,
}

impl<'a> ExternalModel<'a> {
    /// A model that is shown rows.
    pub(super) fn new(noun: &'static str, words: String, terms: ContractTerms<'a>) -> Self {
        ExternalModel {
            noun,
            words,
            answer: ONE_SCORE.to_owned(),
            is_asked_twice: true,
            program: None,
            terms,
            signature: None,
        }
    }

    /// Outcomes that the job brings with it.
    pub(super) fn of_outcomes(noun: &'static str, words: String, answer: String) -> Self {
        let signature = ModelSignature { inputs: Vec::new(), output: ScoreOutput::Single };
        ExternalModel {
            answer,
            is_asked_twice: false,
            signature: Some(signature),
            ..ExternalModel::new(noun, words, ContractTerms::default())
        }
    }
}

/// A program that scores for a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoringProgram {
    /// How it is started.
    pub command: CommandBlock,
    /// How it is asked, for `{how}`: what changes no score.
    pub how: String,
    /// Whether it may leave rows without a score.
    pub may_lack_scores: bool,
    /// Whether one process of it serves the whole run.
    pub is_kept: bool,
}

impl From<CommandBlock> for ScoringProgram {
    fn from(command: CommandBlock) -> Self {
        ScoringProgram { command, how: String::new(), may_lack_scores: false, is_kept: false }
    }
}

/// The end of a sentence about a model: the columns that it does not see.
pub(crate) fn without(omit: &[ColumnName]) -> String {
    let names: Vec<&str> = omit.iter().map(ColumnName::as_str).collect();
    if names.is_empty() { String::new() } else { format!(", without {}", names.join(", ")) }
}

impl CommandBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let line = |arguments: &[CommandArgument]| {
            arguments.iter().map(|a| a.0.as_str()).collect::<Vec<_>>().join(" ")
        };
        let how = match (&self.train, &self.model) {
            (Some(train), _) => format!(", trained in this run by `{}`", line(train)),
            (None, Some(model)) => format!(", model file {model}"),
            (None, None) => String::new(),
        };
        let words =
            format!("scores of a program: `{}`{how}{}", line(&self.score), without(&self.omit));
        let terms = ContractTerms::new(&self.columns, None, &self.omit);
        let terms = ContractTerms { classes: self.classes.as_ref(), ..terms };
        let output = match &self.classes {
            None => ScoreOutput::Single,
            Some(named) => {
                ScoreOutput::Classes(named.values().map(|name| name.0.as_str().into()).collect())
            }
        };
        ExternalModel {
            program: Some(self.clone().into()),
            signature: Some(ModelSignature::by_name(MissingAs::Null, output)),
            ..ExternalModel::new("a command", words, terms)
        }
    }
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
