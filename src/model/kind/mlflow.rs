//! The block `mlflow` of a model: a registered version of MLflow, asked by the program that also
//! asks pickled models.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::contract::ContractTerms;
use crate::model::kind::command::{CommandBlock, ExternalModel, ScoringProgram, without};
use crate::param::{ColumnName, TimeLimit, Word};

/// The variable with the address of the registry.
const REGISTRY: &str = "MLFLOW_TRACKING_URI";

/// A version of a model in the registry of MLflow: its address, or a map with `model`. The registry
/// is the one that the environment variable MLFLOW_TRACKING_URI names. The model is loaded, which
/// runs what is in it, by an interpreter with mlflow and pyarrow, and must have `predict_proba`; it
/// sees the features and the sensitive columns under their source names, never the label. The
/// contract in the manifest has the SHA-256 of its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-short" = "model",
    "x-is" = "a version, `\"models:/NAME/VERSION\"`, or a map with `model`"))]
pub struct MlflowBlock {
    /// `models:/NAME/VERSION`, with the number of the version: an alias may name another one
    /// tomorrow.
    #[schemars(extend("x-plain" = true))]
    pub model: String,
    /// The class whose probability is the score, as `classes_` of the model names it. Default: the
    /// one that equals the positive value of the label.
    pub class: Option<Word>,
    /// The columns that it gets, in order; required for a model that knows them by their position
    /// alone. Default: those that it names itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub columns: Vec<ColumnName>,
    /// The interpreter. Default: that of the environment VIRTUAL_ENV, else `python3`.
    #[schemars(extend("x-filled" = "name a file", "x-plain" = true))]
    pub with: Option<String>,
    /// Names of further environment variables that it sees; a changed value runs it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "variable"))]
    pub pass_env: Vec<String>,
    /// Names of variables with secrets that it sees, such as MLFLOW_TRACKING_TOKEN; they are never
    /// hashed or written.
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

impl MlflowBlock {
    /// Whether the address names one version for good: `models:/NAME/VERSION`, with a number.
    pub(crate) fn names_a_version(&self) -> bool {
        let parts = self.model.strip_prefix("models:/").and_then(|rest| rest.split_once('/'));
        parts.is_some_and(|(name, version)| {
            let is_number = version.chars().all(|c| c.is_ascii_digit()) && version.len() <= 9;
            !name.trim().is_empty() && is_number && !version.is_empty() && !version.starts_with('0')
        })
    }
}

impl MlflowBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let words = format!("scores of the registered model {}{}", self.model, without(&self.omit));
        let terms = ContractTerms::new(&self.columns, self.class.as_ref(), &self.omit);
        let command = self.command();
        ExternalModel {
            program: Some(ScoringProgram { is_kept: true, ..command.into() }),
            ..ExternalModel::new("a registered model", words, terms)
        }
    }

    fn command(&self) -> CommandBlock {
        let (mut pass_env, secret_env) = (self.pass_env.clone(), self.secret_env.clone());
        if !pass_env.iter().chain(&secret_env).any(|name| name == REGISTRY) {
            pass_env.push(REGISTRY.to_owned());
        }
        let option = ["--mlflow", &self.model];
        let score = CommandBlock::of_python(self.with.as_deref(), &[option], self.time_limit);
        CommandBlock { pass_env, secret_env, ..score }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::MlflowBlock;

    fn block(value: serde_json::Value) -> MlflowBlock {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_address_names_one_version_by_its_number() {
        for (address, is_one) in [
            ("models:/credit/3", true),
            ("models:/main.risk.credit/12", true),
            ("models:/credit/latest", false),
            ("models:/credit/Production", false),
            ("models:/credit@live", false),
            ("models:/credit", false),
            ("models:/credit/", false),
            ("models:/credit/0", false),
            ("models:/credit/3/4", false),
            ("models://3", false),
            ("runs:/2f/model", false),
            ("credit/3", false),
        ] {
            assert_eq!(block(json!({"model": address})).names_a_version(), is_one, "{address}");
        }
    }

    /// The address of the registry may hold a password: then the job names it among the secrets.
    #[test]
    fn the_registry_is_passed_once() {
        let program = block(json!({"model": "models:/credit/3"})).command();
        assert_eq!(program.pass_env, ["MLFLOW_TRACKING_URI"]);
        let words: Vec<&str> = program.score.iter().map(|word| word.0.as_str()).collect();
        assert_eq!(words, ["{python}", "{script}", "--mlflow", "models:/credit/3"]);
        let secret = json!({"model": "models:/credit/3", "secret_env": ["MLFLOW_TRACKING_URI"]});
        let program = block(secret).command();
        assert!(program.pass_env.is_empty());
        assert_eq!(program.secret_env, ["MLFLOW_TRACKING_URI"]);
    }
}
