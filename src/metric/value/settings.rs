//! The settings of a measurement: level, families, the favourable side, limits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::MetricFamily;
use crate::metric::scope::MetricScope;
use crate::param::{Count, Level};

/// Which side people want.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FavourableClass {
    /// The positive prediction is the one people want.
    Positive,
    /// The negative prediction is the one people want.
    Negative,
}

/// How to measure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MeasureSettings {
    /// The requested families.
    pub families: Vec<MetricFamily>,
    /// Which prediction is favourable. This affects impaired groups, `di`, `demp_min_ratio`,
    /// `denied_by_group`, `favoured_by_group` and the family clarify, no other value.
    pub favourable: FavourableClass,
    /// Whether the job states the favourable prediction. Otherwise no group is called worse off,
    /// and values that depend on it are undefined, except `di` and `demp_min_ratio`.
    pub favourable_stated: bool,
    /// Which groups of the attribute are favoured; only the family clarify uses this.
    pub favoured: FavouredGroups<usize>,
    /// Level of the intervals; none: no intervals.
    pub level: Option<Level>,
    /// A group with fewer people is flagged [`SMALL_GROUP`].
    pub min_group_size: Count,
    /// A rate with fewer cases in its denominator is flagged [`SMALL_DENOMINATOR`].
    pub min_denominator: Count,
}

/// Flag: a group behind the value has fewer people than `min_group_size`.
pub(crate) const SMALL_GROUP: &str = "small_group";

/// Flag: a rate behind the value has fewer cases in its denominator than `min_denominator`.
pub(crate) const SMALL_DENOMINATOR: &str = "small_denominator";

/// The flags of values that depend on few people, in the order of tables.
pub(crate) const SMALL: [&str; 2] = [SMALL_GROUP, SMALL_DENOMINATOR];

/// Flag: a ratio has a rate of 1, which its interval takes as certain.
pub(crate) const RATE_OF_ONE: &str = "rate_of_one";

/// Flag: a ratio has a negative part, so that it cannot be read as a multiple.
pub(crate) const NEGATIVE_PART: &str = "negative_part";

/// The favoured groups of an attribute: words in a job, positions where values are measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Favoured", extend("x-is" = "`rest`, or the list of the favoured groups"))]
pub enum FavouredGroups<G> {
    /// All others together, against every group.
    Rest,
    /// Each of these groups, against every group that is none of them; positions in reference
    /// order.
    #[serde(untagged)]
    Groups(#[schemars(extend("minItems" = 1, "x-noun" = "group, or write `rest`"))] Vec<G>),
}

impl FavouredGroups<usize> {
    /// The comparisons among `n` groups.
    pub fn facets(&self, groups: usize) -> Vec<MetricScope> {
        match self {
            FavouredGroups::Groups(favoured) => {
                let others = || (0..groups).filter(|group| !favoured.contains(group));
                favoured
                    .iter()
                    .flat_map(|&a| others().map(move |d| MetricScope::Pair(a, d)))
                    .collect()
            }
            FavouredGroups::Rest if groups < 2 => Vec::new(),
            FavouredGroups::Rest => (0..groups).map(MetricScope::RestVsOne).collect(),
        }
    }
}

/// The groups that hold an extreme value, and the number of groups without a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FurthestGroups {
    /// The group with the highest value, or the group with the largest distance to all people.
    pub highest: Option<usize>,
    /// The group with the lowest value; none for a distance to all people.
    pub lowest: Option<usize>,
    /// The number of groups in which the metric is undefined.
    pub n_undefined: u64,
}
