//! The block `metrics`: what is measured, and the levels of its intervals.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::blocks::clarify::ClarifyBlock;
pub use crate::metric::MetricFamily;
use crate::param::{ColumnName, Count, Level, Name};

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MetricsBlock {
    /// Families of metrics. Default: all that the label and the sets allow, but for
    /// clarify and scores.
    #[schemars(extend("minItems" = 1,
        "x-noun" = "family, or remove the key to use all that the job allows"))]
    pub families: Option<Vec<MetricFamily>>,
    /// Intervals over people, by the method that fits each metric: Wilson for shares, Newcombe for
    /// differences, Katz for ratios, Student for means.
    pub interval: IntervalBlock,
    /// The bootstrap behind the intervals of what each feature adds (`why`); no other is drawn.
    pub bootstrap: BootstrapBlock,
    /// Intervals across the graphs of graph-uncertain sets: percentiles of the values of all
    /// graphs, apart from sampling error.
    pub worlds: IntervalBlock,
    /// A group with fewer people is flagged `small_group`. Here and below, people are persons where
    /// `data.person` gives one several rows.
    pub min_group_size: Count,
    /// A rate with fewer cases below it is flagged `small_denominator`.
    pub min_denominator: Count,
    /// Columns inside whose values all is measured once more, and where two of them meet: slices,
    /// `region=north` and `region=north & channel=web`. Not in slices: the flip test, the placebo,
    /// `compare` and experiments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-noun" = "column"))]
    pub by: Vec<ColumnName>,
    /// A slice with fewer people who count is counted and named, and not measured.
    pub smallest_cell: Count,
    /// How the family clarify is measured.
    pub clarify: Option<ClarifyBlock>,
    /// Models compared on the same people, `{challenger: current}`: what a model's values are minus
    /// those of another, with paired intervals. Of the families performance, group, ccm and eccm.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub compare: IndexMap<Name, Name>,
}

impl Default for MetricsBlock {
    fn default() -> Self {
        MetricsBlock {
            families: None,
            interval: IntervalBlock::default(),
            bootstrap: BootstrapBlock::default(),
            worlds: IntervalBlock::default(),
            min_group_size: Count::of::<30>(),
            min_denominator: Count::of::<10>(),
            by: Vec::new(),
            smallest_cell: Count::of::<30>(),
            clarify: None,
            compare: IndexMap::new(),
        }
    }
}

/// Intervals of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IntervalBlock {
    /// Their level; an error rate such as 0.05 is none.
    #[schemars(extend("minimum" = 0.5,
        "x-range" = "a level from 0.5 to below 1, such as 0.95"))]
    pub level: Level,
}

/// The bootstrap behind the intervals of what each feature adds (`why`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BootstrapBlock {
    /// Number of replicates.
    #[schemars(extend("maximum" = 1_000_000,
        "x-range" = "a number of replicates up to 1000000; 2000 is usual"))]
    pub samples: Count,
}

impl Default for BootstrapBlock {
    fn default() -> Self {
        BootstrapBlock { samples: Count::of::<2000>() }
    }
}
