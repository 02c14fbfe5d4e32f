//! The table of amounts: means, quantiles and their gaps.

use crate::table::key_columns::{COUNTERFACTUAL, FROM_GROUP, MODEL, SENSITIVE, TO_GROUP};
use crate::table::row_macro::{SharedText, table};

table! {
    /// `amounts`: how many people have an amount. Only of jobs whose outcomes are amounts.
    pub struct AmountRow in "amounts", version 1, key 5,
    one row per "model and group; with counterfactuals also model, set and direction",
    written by "measure", read by "report, users" {
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        /// people with an amount and a weight above 0; of a direction counterfactuals with both
        /// amounts
        n: i64,
        /// people without an amount; of a direction counterfactuals without one of the two
        n_missing: i64,
        /// amounts of 0 among them; of a direction counterfactual amounts
        n_zero: i64,
        /// amounts below 0 among them; of a direction counterfactual amounts
        n_negative: i64,
    }
}
