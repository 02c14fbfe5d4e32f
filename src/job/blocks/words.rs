//! The words of the page in the job's own terms: what the audit is for, who signs it, what the
//! decision is called, what groups and codes mean. None of them changes a number.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::param::{ColumnName, Word};

/// Words for the report; none of them changes a number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AboutBlock {
    /// The decision that the model makes, as a sentence.
    pub decision: Option<String>,
    /// Who answers for the audit.
    pub owner: Option<String>,
    /// Version of the audited model.
    pub version: Option<String>,
    /// What the audit is for, such as `yearly review before release 2026.11`.
    pub purpose: Option<String>,
    /// The people whom the rows represent, such as `applicants for a loan of up to 5,000`.
    pub population: Option<String>,
    /// The time that the rows cover, such as `October 2026`.
    pub period: Option<String>,
    /// Where the rows come from, such as `application system, monthly extract`.
    pub source: Option<String>,
    /// What the audit does not show and a reader must know, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limitations: Vec<String>,
    /// Conditions under which the model may be used, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<String>,
    /// Who prepared the audit; what is left out is a blank line of the sign-off.
    pub prepared_by: Option<SignerBlock>,
    /// Who reviewed it.
    pub reviewed_by: Option<SignerBlock>,
    /// Who approved it.
    pub approved_by: Option<SignerBlock>,
}

/// Somebody who signs the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SignerBlock {
    /// The role, such as `model validation`.
    pub role: Option<String>,
    /// The name.
    pub name: Option<String>,
    /// The date as the page prints it; the program reads no clock.
    pub date: Option<String>,
}

/// What the two decisions are called, so that the page says `refused women who would be granted the
/// loan` in place of `with the unfavourable decision`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionWordsBlock {
    /// The favourable decision as a participle: `granted`.
    pub favourable: String,
    /// The unfavourable decision as a participle: `refused`.
    pub unfavourable: String,
    /// What is decided about, with its article: `the loan`. Default: the participles are alone.
    pub object: Option<String>,
}

/// What the codes of columns mean: `{credit_history: {A30: no credits taken}}`.
pub type CodeNames = IndexMap<ColumnName, IndexMap<Word, String>>;

/// Whether the folder holds `annex.html`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnnexChoice {
    /// It does: every metric with counts and intervals, method, glossary and provenance.
    #[default]
    File,
    /// It does not, and the page has no links into it.
    None,
}
