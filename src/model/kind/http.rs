//! The block `http` of a model: an endpoint that scores rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::exchange::http::HttpProtocol;
use crate::model::contract::{
    ContractTerms, InputColumns, MissingAs, ModelInput, ModelSignature, ScoreOutput,
};
use crate::model::kind::command::{CommandBlock, ExternalModel, ScoringProgram, without};
use crate::param::{ColumnName, Fraction, TimeLimit, Word, key_word};

/// An HTTP endpoint that scores rows. It gets the features and the sensitive columns under their
/// source names, never the label, in requests of `batch` rows. A request that fails for a reason
/// that may pass is repeated; one that was answered is not, even by a run that goes on after a
/// stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpBlock {
    /// The address, `http://` or `https://`.
    #[schemars(extend("x-plain" = true))]
    pub url: String,
    /// The version of the model that answers: another one asks again.
    #[schemars(extend("x-plain" = true))]
    pub version: Word,
    /// What requests and answers look like.
    pub protocol: HttpProtocol,
    /// Rows of a request, from 1 to 65,536.
    #[serde(default = "number::<500>")]
    #[schemars(extend("minimum" = 1, "maximum" = 65_536,
        "x-range" = "a number from 1 to 65536; 500 is the default"))]
    pub batch: u32,
    /// Requests at once, from 1 to 256.
    #[serde(default = "number::<8>")]
    #[schemars(extend("minimum" = 1, "maximum" = 256,
        "x-range" = "a number from 1 to 256; 8 is the default"))]
    pub parallel: u32,
    /// How often a request is repeated, from 0 to 100, with pauses that double from 0.2 s to 30 s.
    #[serde(default = "number::<5>")]
    #[schemars(extend("minimum" = 0, "maximum" = 100,
        "x-range" = "a number from 0 to 100; 5 is the default"))]
    pub retries: u32,
    /// How long one request may take.
    #[serde(default = "TimeLimit::of::<30>")]
    pub timeout: TimeLimit,
    /// Largest share of rows that may come back without a score.
    #[serde(default = "Fraction::of::<0, 1>")]
    pub missing_at_most: Fraction,
    /// Name of the environment variable with a token, for the header `Authorization: Bearer`. Its
    /// value is never hashed or written.
    #[schemars(extend("x-noun" = "variable"))]
    pub secret_env: Option<String>,
    /// How long the scores of the rows, or of one counterfactual set, may take.
    #[serde(default)]
    pub time_limit: TimeLimit,
    /// The columns that the endpoint gets, in order; required for `sagemaker-csv`, which has no
    /// names. Default: all, sensitive ones first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub columns: Vec<ColumnName>,
    /// The class whose probability is the score, where the endpoint gives a probability for each
    /// class: these are the classes 0, 1, ... in their order. Default: the one that equals the
    /// positive value of a label of such values; one number a row is the score of the positive
    /// class.
    pub class: Option<Word>,
    /// Columns that the endpoint does not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub omit: Vec<ColumnName>,
}

fn number<const N: u32>() -> u32 {
    N
}

impl HttpBlock {
    pub(super) fn external(&self, _: Option<&[Word]>) -> ExternalModel<'_> {
        let (url, version) = (&self.url, self.version.as_str());
        let words =
            format!("scores of the endpoint {url}, version {version}{}", without(&self.omit));
        let terms = ContractTerms::new(&self.columns, self.class.as_ref(), &self.omit);
        let signature = match self.protocol {
            HttpProtocol::SagemakerCsv => {
                let columns = InputColumns::Unnamed(None);
                let input = ModelInput { columns, ..ModelInput::any(MissingAs::EmptyField) };
                ModelSignature { inputs: vec![input], output: ScoreOutput::Single }
            }
            HttpProtocol::Mlflow | HttpProtocol::KserveV2 | HttpProtocol::Json => {
                ModelSignature::by_name(MissingAs::Null, ScoreOutput::Unnamed(None))
            }
        };
        ExternalModel {
            program: Some(self.program()),
            signature: Some(signature),
            ..ExternalModel::new("an HTTP endpoint", words, terms)
        }
    }

    fn program(&self) -> ScoringProgram {
        let score = ["{cfaudit}", "ask-http", "{how}", "--answers={answers}"].map(str::to_owned);
        let words = [
            format!("--url={}", self.url),
            format!("--model-version={}", self.version),
            format!("--protocol={}", key_word(&self.protocol)),
            format!("--missing-at-most={}", self.missing_at_most.get()),
        ];
        let token = self.secret_env.as_deref().unwrap_or_default();
        let seconds = self.timeout.get().as_secs();
        ScoringProgram {
            command: CommandBlock {
                secret_env: self.secret_env.iter().cloned().collect(),
                ..CommandBlock::shipped(score.into_iter().chain(words), self.time_limit)
            },
            how: format!(
                "--how={},{},{},{seconds},{token}",
                self.batch, self.parallel, self.retries
            ),
            may_lack_scores: self.missing_at_most.get() > 0.0,
            is_kept: false,
        }
    }
}
