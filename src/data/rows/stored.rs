//! How the prepared rows are stored in their file: a column of codes for each source column with
//! words, and what the codes mean.
//!
//! Preparing reads the source once, so it numbers the words of a column as they come: 0 is a
//! missing value, 1 the first word that occurs. The order of levels, groups and classes is known
//! only at the end; it goes into a table from code to meaning. Several meanings, such as level and
//! group, share one column.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::data::rows::role_counts::RoleCounts;
use crate::data::{Attribute, Feature, StrataColumn};

/// The file of [`StoredRows`], next to `rows.parquet`.
pub(crate) const STORED: &str = "codes.json";

/// The name of the role of a row under the split.
pub(crate) const ROLE: &str = "role";

/// The name of the label: 1 = positive.
pub(crate) const LABEL: &str = "label";

/// The name of the class of a label with more than two.
pub(crate) const CLASS: &str = "class";

/// The name of the stratum.
pub(crate) const STRATUM: &str = "stratum";

/// The name of the group of an attribute.
pub(crate) fn group_name(attribute: &Attribute) -> String {
    format!("group.{}", attribute.name)
}

/// The name of the level of an attribute, declared as a group or not.
pub(crate) fn level_name(attribute: &Attribute) -> String {
    format!("level.{}", attribute.name)
}

/// The name of a feature.
pub(crate) fn feature_name(feature: &Feature) -> String {
    format!("x.{}", feature.name)
}

/// The name of what the source holds of a feature, where its prepared values do not determine it.
pub(crate) fn source_name(feature: &Feature) -> String {
    format!("source.{}", feature.name)
}

/// The name of a column of slices.
pub(crate) fn slice_name(slices: &StrataColumn) -> String {
    format!("slice.{}", slices.column)
}

/// How the prepared rows are stored in `rows.parquet`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredRows {
    /// Whether every row of the source is kept, so that a row number is the position of its row
    /// relative to the first one.
    pub(crate) rows_follow: bool,
    /// Number of the first row of the source that was read.
    pub(crate) first_row: u64,
    /// The roles of the rows of all shards, as far as each row has its own.
    pub(crate) roles: RoleCounts,
    /// Whether these are the rows of one shard of a plan.
    pub(crate) is_shard: bool,
    /// Whether the rows are in the shards of a plan, and none of them here.
    pub(crate) elsewhere: bool,
    /// By name the meaning of a column of codes.
    pub(crate) tables: IndexMap<String, CodeTable>,
}

/// What the codes of a column mean.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodeTable {
    /// The column of codes.
    pub(crate) column: String,
    /// By code the meaning: a level, a group, a class or a role; [`crate::data::MISSING`] = none.
    pub(crate) codes: Vec<u32>,
}
