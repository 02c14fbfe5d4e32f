//! The block `python` of a model: a function or a pickled model of Python, asked by a program that
//! ships with cfaudit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::contract::{ContractTerms, MissingAs, ModelSignature, ScoreOutput};
use crate::model::kind::command::{CommandBlock, ExternalModel, ScoringProgram, without};
use crate::param::{ColumnName, TimeLimit, Word};

/// The program that asks the function or the pickled model, for `{script}`, after what the package
/// `cfaudit` says about answers.
pub(crate) const SCRIPT: &str =
    concat!(include_str!("../../../python/cfaudit/_answers.py"), include_str!("python.py"));

/// A Python function or pickled model that scores rows, by an interpreter with pyarrow. It sees the
/// features and the sensitive columns under their source names, never the label. One process serves
/// a whole run: the module is imported, or the model loaded, once. What it sees of the environment
/// is what a `command` sees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PythonBlock {
    /// `module:function`. The module is a file below the working directory, which is hashed. The
    /// function gets a pandas frame (a pyarrow table where there is no pandas) of at most 65,536
    /// rows and returns one number in [0, 1] for each, the probability of the positive class.
    pub call: Option<String>,
    /// Instead of `call`: a model with `predict_proba`, such as a scikit-learn pipeline, that was
    /// written by pickle or joblib. Loading it runs what is in it.
    #[schemars(extend("x-filled" = "name a file", "x-plain" = true))]
    pub pickle: Option<String>,
    /// The class of a pickled model whose probability is the score, as its `classes_` name it.
    /// Default: the one that equals the positive value of the label.
    pub class: Option<Word>,
    /// The columns that it gets, in order; required for a pickled model that knows them by their
    /// position alone. Default: those that it names itself, or all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub columns: Vec<ColumnName>,
    /// The interpreter. Default: that of the environment VIRTUAL_ENV, else `python3`.
    #[schemars(extend("x-filled" = "name a file", "x-plain" = true))]
    pub with: Option<String>,
    /// Further files, folders or globs that decide the scores: when one changes, it runs again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "file", "x-filled" = "name a file, a folder or a glob"))]
    pub watch: Vec<String>,
    /// Names of further environment variables that it sees; a changed value runs it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub pass_env: Vec<String>,
    /// Names of variables with secrets that it sees; they are never hashed or written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub secret_env: Vec<String>,
    /// How long the scores of the rows, or of one counterfactual set, may take.
    #[serde(default)]
    pub time_limit: TimeLimit,
    /// Columns that it does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

impl PythonBlock {
    /// The name of the module, where a function is called.
    pub fn module(&self) -> Option<&str> {
        self.call.as_deref().and_then(|call| call.split(':').next())
    }
}

impl PythonBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let what = match (&self.call, &self.pickle) {
            (Some(call), _) => format!("scores of the Python function `{call}`"),
            (None, pickle) => {
                format!("scores of the pickled model {}", pickle.as_deref().unwrap_or_default())
            }
        };
        let words = format!("{what}{}", without(&self.omit));
        let call = self.call.as_deref().map(|call| ["--call", call]);
        let pickle = self.pickle.as_ref().map(|_| ["--pickle", "{model}"]);
        let options: Vec<[&str; 2]> = call.into_iter().chain(pickle).collect();
        let command = CommandBlock {
            model: self.pickle.clone(),
            watch: self.watch.clone(),
            pass_env: self.pass_env.clone(),
            secret_env: self.secret_env.clone(),
            ..CommandBlock::of_python(self.with.as_deref(), &options, self.time_limit)
        };
        let function = ModelSignature::by_name(MissingAs::Pandas, ScoreOutput::Single);
        let terms = ContractTerms::new(&self.columns, self.class.as_ref(), &self.omit);
        ExternalModel {
            program: Some(ScoringProgram { is_kept: true, ..command.into() }),
            signature: self.call.as_ref().map(|_| function),
            ..ExternalModel::new("a Python model", words, terms)
        }
    }
}
