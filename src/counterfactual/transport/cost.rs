//! The cost of transport, and the populations between which rows are matched.

use crate::data::FeatureRows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The distance of two rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransportCost {
    /// The sum over features of the squared difference in standard deviations, or 1 for a category
    /// that differs.
    #[default]
    L2Squared,
    /// The square of the sum over features of the absolute difference in standard deviations, or 1
    /// for a category that differs.
    L1Squared,
}

/// Rows with the keys, groups and classes that transport needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TransportPopulation<'a> {
    /// The features.
    pub rows: &'a FeatureRows,
    /// For each row the key that enters the hashes; distinct for distinct rows.
    pub row_key: &'a [u64],
    /// For each row its group of the attribute; [`crate::data::MISSING_GROUP`] = none.
    pub groups: &'a [u16],
    /// For each row its class; `None` = none. One class for all rows where nothing is conditioned
    /// on.
    pub classes: &'a [Option<u32>],
}
