//! The key columns that several tables share, and what they mean.

use crate::table::row_macro::{SharedText, columns};

pub(crate) const ARM: &str = "experiment and arm, such as `augment/all`; empty for the plain audit";
pub(crate) const MODEL: &str = "name of the model";
pub(crate) const COUNTERFACTUAL: &str =
    "name of the counterfactual set; empty where none is involved";
pub(crate) const SENSITIVE: &str = "name of the sensitive attribute";
pub(crate) const SCOPE: &str = "group, total, pair, one_vs_rest, worst_case, direction, \
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

impl AuditKey {
    /// That of a value about all rows, of the texts of the first columns but for the slice.
    pub(crate) fn of_all_rows(texts: [&SharedText; 7]) -> Self {
        let [arm, model, counterfactual, sensitive, scope, from_group, to_group] =
            texts.map(SharedText::clone);
        let slice = SharedText::default();
        AuditKey { arm, model, counterfactual, sensitive, scope, from_group, to_group, slice }
    }

    /// What the groups mean, the first and the second: `["direction", "Female", "Male"]`.
    pub(crate) fn scope_and_groups(&self) -> [&str; 3] {
        [&self.scope, &self.from_group, &self.to_group]
    }
}
