//! The table of amounts: means, quantiles and their gaps.

use crate::table::row_macro::{SharedText, table};

table! {
    /// `amounts`: how many people have an amount. Only of jobs whose outcomes are amounts.
    pub struct AmountRow in "amounts", version 1, key 5,
    one row per "model and group; with counterfactuals also model, set and direction",
    written by "measure", read by "report, users" {
        model: SharedText,
        counterfactual: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
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
