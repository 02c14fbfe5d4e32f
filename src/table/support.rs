//! The tables of support: values of counterfactuals that the reference rows of the target group
//! hardly hold, and how the people who would hold them are counted.

use crate::table::row_macro::{SharedText, tables};

/// The word of the column `support` of the table `metrics` for all people.
pub(crate) const ALL: &str = "all";

/// The word for people with a supported counterfactual.
pub(crate) const SUPPORTED: &str = "supported";

/// Flag of a value that the [`SUPPORTED`] people by themselves might not confirm.
pub(crate) const UNSUPPORTED: &str = "unsupported";

/// Whether this many of these people are reported: ten, or a hundredth of them.
pub(crate) fn is_told(people: i64, of: i64) -> bool {
    people >= 10 || people > 0 && 100 * people >= of
}

tables! {
    /// `support`: one row per value that counterfactuals of a direction hold and that the reference
    /// rows of the target group hardly do: a level of at most 1 % of them, of at most a twentieth
    /// of its share in the own group, where three rows or more would be expected; a number outside
    /// of their range by more than a tenth of its width.
    pub struct SupportRow in "support", version 1, key 5,
    one row per "set, direction and unsupported value", written by "measure",
    read by "gate, report" {
        counterfactual: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        /// place by people, from 1
        rank: i64,
        /// the feature, or the one-hot group
        feature: SharedText,
        /// the level; null = a number outside of the range of the target group, or a one-hot group
        /// of which none or several columns are set
        level: Option<SharedText>,
        /// audited people of from_group whose counterfactual holds it; with causal graphs in half
        /// of these or more
        people: i64,
        /// all audited people of from_group with a counterfactual in to_group
        of_people: i64,
        /// reference rows of to_group that hold it; 0 without a level
        in_reference: i64,
        /// reference rows of all groups that hold it; 0 without a level
        level_in_reference: i64,
    }

    /// `support_counts`: the counterfactuals with an unsupported value by the cell of the matrix
    /// that they fill, of the plain audit and a label of two sides. A counterfactual with two such
    /// values is in the rows of both. The values of a direction behind the 63rd have no rows.
    pub struct SupportCountRow in "support_counts", version 1, key 9,
    one row per "model, set, direction, unsupported value and cell", written by "measure",
    read by "report" {
        model: SharedText,
        counterfactual: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        /// place of the value in the table `support`
        rank: i64,
        /// 1, 0; empty = no label
        label: SharedText,
        /// the decision about the person: 1, 0
        predicted: SharedText,
        /// the decision about the counterfactual: 1, 0
        predicted_cf: SharedText,
        /// counterfactuals
        n: i64,
    }
}
