//! The block `command` of a model: any program; and what the rest asks of the kinds of models that
//! are trained elsewhere, which may be programs underneath.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::contract::{ContractTerms, MissingAs, ModelSignature, ScoreOutput};
use crate::param::{ColumnName, CommandArgument, TimeLimit, Word};

/// A program that scores rows, and may train a model first. It sees the features and the sensitive
/// columns under their source names, never the label, and gives one score in [0, 1] per row, in the
/// order of the rows. It runs in the working directory of cfaudit with PATH, HOME, TMPDIR,
/// LANG=C.UTF-8, TZ=UTC and what `pass_env` and `secret_env` name. Every status but 0 ends the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandBlock {
    /// The program that scores, and its arguments. Filled when it starts: `{model}` (the file
    /// below, or what `train` wrote), `{seed}` (run.seed), `{threads}`, `{fold}` (from 0; 0 without
    /// folds), and with `parquet-files` the paths `{rows}` and `{scores}`.
    pub score: Vec<CommandArgument>,
    /// The trained model: a file or folder, hashed like those under `watch`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-filled" = "name the file or folder of the model", "x-plain" = true))]
    pub model: Option<String>,
    /// The program that trains, instead of `model`, and its arguments: gets the training rows
    /// with a last column `label` (1 = positive, 0 = negative) and writes a file or folder to
    /// `{model}`. With folds it runs once per fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    #[serde(default = "TimeLimit::an_hour")]
    pub time_limit: TimeLimit,
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
            model: None,
            train: None,
            stream: StreamFormat::Arrow,
            watch: Vec::new(),
            pass_env: Vec::new(),
            secret_env: Vec::new(),
            time_limit,
            columns: Vec::new(),
            omit: Vec::new(),
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

/// The block of a model in a job that is trained elsewhere: what the rest of the program asks of
/// its kind.
pub trait BroughtKnobs {
    /// Columns that the model does not see; none for scores, which read what they like.
    fn omit(&self) -> Option<&[ColumnName]> {
        Some(self.terms().omit)
    }

    /// What messages call it: "an ONNX file".
    fn noun(&self) -> &'static str;

    /// What it is, for the report; `classes` are those of a label that has several.
    fn words(&self, classes: Option<&[Word]>) -> String;

    /// What it gives for a row, after "it", where it names no class of its own; `classes` as above.
    fn answer(&self, _: Option<&[Word]>) -> String {
        ONE_SCORE.to_owned()
    }

    /// Whether it is asked for the scores of some rows a second time.
    fn is_asked_twice(&self) -> bool {
        true
    }

    /// The program that scores, where it is one.
    fn program(&self) -> Option<CommandBlock> {
        None
    }

    /// How that program is asked, for `{how}`: what changes no score.
    fn how(&self) -> String {
        String::new()
    }

    /// Whether that program may leave rows without a score.
    fn may_lack_scores(&self) -> bool {
        false
    }

    /// Whether one process of that program serves the whole run.
    fn is_kept(&self) -> bool {
        false
    }

    /// What the job says about the contract with it.
    fn terms(&self) -> ContractTerms<'_> {
        ContractTerms::default()
    }

    /// What it says about itself, where that is known without asking it.
    fn signature(&self) -> Option<ModelSignature> {
        None
    }
}

/// The end of a sentence about a model: the columns that it does not see.
pub(crate) fn without(omit: &[ColumnName]) -> String {
    let names: Vec<&str> = omit.iter().map(ColumnName::as_str).collect();
    if names.is_empty() { String::new() } else { format!(", without {}", names.join(", ")) }
}

impl BroughtKnobs for CommandBlock {
    fn noun(&self) -> &'static str {
        "a command"
    }

    fn words(&self, _: Option<&[Word]>) -> String {
        let line = |arguments: &[CommandArgument]| {
            arguments.iter().map(|a| a.0.as_str()).collect::<Vec<_>>().join(" ")
        };
        let how = match (&self.train, &self.model) {
            (Some(train), _) => format!(", trained in this run by `{}`", line(train)),
            (None, Some(model)) => format!(", model file {model}"),
            (None, None) => String::new(),
        };
        format!("scores of a program: `{}`{how}{}", line(&self.score), without(&self.omit))
    }

    fn program(&self) -> Option<CommandBlock> {
        Some(self.clone())
    }

    fn terms(&self) -> ContractTerms<'_> {
        let (columns, omit) = (self.columns.as_slice(), self.omit.as_slice());
        ContractTerms { columns, omit, ..ContractTerms::default() }
    }

    fn signature(&self) -> Option<ModelSignature> {
        Some(ModelSignature::by_name(MissingAs::Null, ScoreOutput::Single))
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
