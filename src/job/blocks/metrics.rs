//! The block `metrics`: what is measured, and how sure it is to be.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::blocks::clarify::ClarifyBlock;
pub use crate::metric::MetricFamily;
use crate::param::{ColumnName, Count, Level, Name};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsBlock {
    /// Families of metrics. Default: all that the label and the sets allow, but for
    /// clarify and scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<MetricFamily>>,
    /// Intervals.
    #[serde(default)]
    pub interval: IntervalBlock,
    /// The bootstrap behind the intervals of what each feature adds (`why`); no other is drawn.
    #[serde(default)]
    pub bootstrap: BootstrapBlock,
    /// Intervals across the graphs of graph-uncertain sets.
    #[serde(default)]
    pub worlds: WorldsBlock,
    /// A group with fewer people is flagged `small_group`. Here and below, people are persons where
    /// `data.person` gives one several rows.
    #[serde(default = "thirty")]
    pub min_group_size: Count,
    /// A rate with fewer cases below it is flagged `small_denominator`.
    #[serde(default = "ten")]
    pub min_denominator: Count,
    /// Columns inside whose values all is measured once more, and where two of them meet: slices,
    /// `region=north` and `region=north & channel=web`. Not in slices: the flip test, the placebo,
    /// `compare` and experiments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<ColumnName>,
    /// A slice with fewer people who count is counted and named, and not measured.
    #[serde(default = "thirty")]
    pub smallest_cell: Count,
    /// How the family clarify is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarify: Option<ClarifyBlock>,
    /// Models compared on the same people, `{challenger: current}`: what a model's values are minus
    /// those of another, with paired intervals. Of the families performance, group, ccm and eccm.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub compare: IndexMap<Name, Name>,
}

fn thirty() -> Count {
    Count::new(30).expect("30 is a count")
}

pub(crate) fn ten() -> Count {
    Count::new(10).expect("10 is a count")
}

impl Default for MetricsBlock {
    fn default() -> Self {
        MetricsBlock {
            families: None,
            interval: IntervalBlock::default(),
            bootstrap: BootstrapBlock::default(),
            worlds: WorldsBlock::default(),
            min_group_size: thirty(),
            min_denominator: ten(),
            by: Vec::new(),
            smallest_cell: thirty(),
            clarify: None,
            compare: IndexMap::new(),
        }
    }
}

/// Intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntervalBlock {
    /// Their level.
    #[serde(default = "level")]
    pub level: Level,
    /// `auto`: the method that fits each metric (Wilson for shares, Newcombe for differences, Katz
    /// for ratios, Student for means).
    #[serde(default)]
    pub method: IntervalMethod,
}

fn level() -> Level {
    Level::DEFAULT
}

impl Default for IntervalBlock {
    fn default() -> Self {
        IntervalBlock { level: Level::DEFAULT, method: IntervalMethod::Auto }
    }
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntervalMethod {
    /// The method that fits each metric.
    #[default]
    Auto,
    /// No intervals.
    None,
}

/// The bootstrap behind the intervals of what each feature adds (`why`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootstrapBlock {
    /// Number of replicates.
    #[serde(default = "two_thousand")]
    pub samples: Count,
}

fn two_thousand() -> Count {
    Count::new(2000).expect("2000 is a count")
}

impl Default for BootstrapBlock {
    fn default() -> Self {
        BootstrapBlock { samples: two_thousand() }
    }
}

/// Intervals across the graphs of graph-uncertain sets: percentiles of the values of all graphs,
/// apart from sampling error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorldsBlock {
    /// Their level.
    #[serde(default = "level")]
    pub level: Level,
}

impl Default for WorldsBlock {
    fn default() -> Self {
        WorldsBlock { level: Level::DEFAULT }
    }
}
