//! The table of everybody: in which state each row of the source is, and who lacks what.

use crate::table::row_macro::{SharedText, tables, unsigned};

/// The states of rows in the order of the steps that decide them: the first that applies.
pub(crate) const STATES: [&str; 6] =
    ["unmatched", "filtered", "duplicate", "dropped", "other_side", AUDITED];

/// The state of audited rows.
pub(crate) const AUDITED: &str = "audited";

tables! {
    /// `population`: one row per state, attribute and group, and of the audited rows per model and
    /// set.
    ///
    /// For each attribute the rows without a model add up to the rows of the source.
    pub struct PopulationRow in "population", version 1, key 6,
    one row per "state, attribute and group, model and set",
    written by "population, measure", read by "gate, report" {
        /// unmatched (no key in a side table with `missing: drop`), filtered (by `keep`), duplicate
        /// (by `duplicates`, of an earlier row that `keep` leaves), dropped (by `missing`),
        /// other_side (of the split, or on neither side), audited: the first that applies
        state: SharedText,
        sensitive: SharedText,
        /// the group before `keep`; null = none; the empty text = all undeclared groups after the
        /// first hundred in byte order
        group: Option<SharedText>,
        /// 1 = the job declares the group, 0 = it does not, or there is none
        declared: bool,
        /// name of the model; null = whatever the model
        model: Option<SharedText>,
        /// name of the counterfactual set; null = the rows as they are
        counterfactual: Option<SharedText>,
        /// rows; of a model those of a weight above 0
        rows: i64,
        /// persons whose rows these are; null = no `data.person` in the job, a row of a model, or
        /// rows that a side table, `keep`, `duplicates` or `missing` left out
        persons: Option<i64>,
        /// what the rows weigh together; null = no weights in the job, or a row of a model
        weight: Option<f64>,
        /// of the rows those without a label; null = no label in the job, or the row of a set
        without_label: Option<i64>,
        /// of the rows those without a score or decision of the model; null = no model, or the row
        /// of a set
        without_score: Option<i64>,
        /// of the rows those without a valid counterfactual with a score, in the direction in which
        /// most have none; null = no set
        without_counterfactual: Option<i64>,
        /// of the rows those with a positive decision, or one of the positive classes; null = no
        /// model, or the row of a set
        positive: Option<i64>,
        /// of the rows those with a favourable decision; null as positive, or the job does not say
        /// which decision people want
        favourable: Option<i64>,
    }
}

impl PopulationRow {
    /// Whether it counts rows whatever the model.
    pub(crate) fn is_of_rows(&self) -> bool {
        self.model.is_none()
    }

    /// Rows without a score; 0 where no model is asked.
    pub(crate) fn unscored(&self) -> u64 {
        self.without_score.map_or(0, unsigned)
    }

    /// Whether it counts the decisions of a model about the rows as they are.
    pub(crate) fn is_of_model(&self, model: &str) -> bool {
        self.model.as_ref().is_some_and(|of| of == model) && self.counterfactual.is_none()
    }
}
