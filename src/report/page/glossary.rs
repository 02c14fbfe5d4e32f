//! What the page says about a metric.

use serde::Serialize;

/// What the page says about a metric; the stage `report` fills it from the catalog of metrics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GlossaryEntry {
    /// The id in tables: `nsr`.
    pub id: String,
    /// The symbol of the papers: `NSR`; empty where they have none.
    pub symbol: String,
    /// The name in words: `negative switch rate`.
    pub name: String,
    /// The family: performance, group, ccm, eccm, shift, clarify, cf_quality.
    pub family: String,
    /// The formula in plain text.
    pub formula: String,
    /// The question that it answers, or what a value says.
    pub reading: String,
    /// The other parts of its meaning, each with what is written before it.
    pub meaning: Vec<(&'static str, String)>,
    /// The range, such as `0 to 1`.
    pub range: String,
    /// The value without any disparity, or `none`.
    pub ideal: String,
    /// When it is undefined.
    pub undefined_when: String,
    /// Where it comes from.
    pub source: String,
}
