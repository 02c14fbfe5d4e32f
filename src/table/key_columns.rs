//! The key columns that several tables share, and what they mean.

use crate::table::row_macro::{SharedText, columns};

pub(crate) const ARM: &str = "experiment and arm, such as `augment/all`; empty for the plain audit";
pub(crate) const MODEL: &str = "name of the model";
pub(crate) const COUNTERFACTUAL: &str =
    "name of the counterfactual set; empty where none is involved";
pub(crate) const SENSITIVE: &str = "name of the sensitive attribute";
pub(crate) const SCOPE: &str = "group, total, no_group, pair, one_vs_rest, worst_case, direction, \
    difference, one_to_rest, rest_to_one: what the groups mean";
pub(crate) const FROM_GROUP: &str = "the group itself; of a pair or of one_vs_rest the first (A); \
    of a direction or of one_to_rest the factual group; empty = all (others)";
pub(crate) const TO_GROUP: &str = "of a pair or of one_vs_rest the second (B); of a direction or \
    of rest_to_one the counterfactual group; empty = all (others)";
pub(crate) const SLICE: &str = "slice: `region=north`, or `region=north & channel=web`, of the \
    columns of `metrics.by`; empty = all rows";
pub(crate) const CLASS: &str = "of a label of several classes the one that counts as positive \
    against all others; empty = all, and a label of two sides";

columns! {
    /// What a number belongs to: whose decisions, of which people. The first columns of the tables
    /// of values, counts and bins.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct AuditKey {
        [meaning ARM]
        arm: SharedText,
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning SCOPE]
        scope: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        [meaning SLICE]
        slice: SharedText,
    }
}

/// The key of the value that a row is about, which is one about all rows, from the columns of the
/// same names: other columns stand between them there.
macro_rules! key_about_all_rows {
    ($row:expr) => {
        $crate::table::key_columns::AuditKey {
            arm: $row.arm.clone(),
            model: $row.model.clone(),
            counterfactual: $row.counterfactual.clone(),
            sensitive: $row.sensitive.clone(),
            scope: $row.scope.clone(),
            from_group: $row.from_group.clone(),
            to_group: $row.to_group.clone(),
            slice: Default::default(),
        }
    };
}
pub(super) use key_about_all_rows;

impl AuditKey {
    /// What the groups mean, the first and the second: `["direction", "Female", "Male"]`.
    pub(crate) fn scope_and_groups(&self) -> [&str; 3] {
        [&self.scope, &self.from_group, &self.to_group]
    }
}
