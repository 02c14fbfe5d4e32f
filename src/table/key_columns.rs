//! The key columns that several tables share.

use crate::table::row_macro::{SharedText, columns};

columns! {
    /// What a number belongs to: whose decisions, of which people. The first columns of the tables
    /// of values, counts and bins.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct AuditKey {
        arm: SharedText,
        model: SharedText,
        counterfactual: SharedText,
        sensitive: SharedText,
        scope: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        slice: SharedText,
    }
}

/// The key of the value of a row, which is about all rows, from the columns of these names: in that
/// table other columns are between them.
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
