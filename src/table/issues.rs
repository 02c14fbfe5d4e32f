//! The tables of issues and of filters.

use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `filters`: one row per step that can lose rows.
    pub struct FilterRow in "filters", version 1, key 1,
    one row per "step that can lose rows", written by "prepare", read by "report" {
        /// position, from 1; 0 = the source itself
        step: i64,
        /// the step, as the job writes it
        what: SharedText,
        /// rows before it
        rows_in: i64,
        /// rows after it
        rows_out: i64,
    }

    /// `issues`: one row per kind of problem met in the data that did not stop the run.
    pub struct IssueRow in "issues", version 4, key 3,
    one row per "kind of problem", written by "prepare, report", read by "gate, report" {
        /// word of a closed list; `cfaudit explain CODE` tells more
        code: SharedText,
        /// info or warning
        severity: SharedText,
        /// column, attribute, model or set
        r#where: SharedText,
        /// how often
        n: i64,
        /// what, in words
        text: SharedText,
        /// of `selective` the state of the people: unmatched, filtered, duplicate, dropped,
        /// other_side, no_group, without_score or without_label; null = another code
        state: Option<SharedText>,
        /// the arguments of the code, as a JSON object: of `selective` its `shares`, each two that
        /// differ, of rows where `of_rows`, and the `model`; of `inverted-scores`,
        /// `not-repeatable`, `one-counterfactual-decision`, `threshold-by-group` and
        /// `unmoved-scores` those of the reason of that code in `gates`; empty = another code
        args: SharedText,
    }
}

/// The severity of what may change the meaning of results, and of what is only worth knowing.
pub(crate) const WARNING: &str = "warning";
pub(crate) const INFO: &str = "info";

impl IssueRow {
    /// Something that may change the meaning of results; `n` is how often, or 0.
    pub(crate) fn warning(code: &str, place: &str, n: i64, text: impl Into<SharedText>) -> Self {
        let (severity, text) = (WARNING.into(), text.into());
        IssueRow {
            code: code.into(),
            severity,
            r#where: place.into(),
            n,
            text,
            ..IssueRow::default()
        }
    }

    /// Something worth knowing; `n` is how often, or 0.
    pub(crate) fn info(code: &str, place: &str, n: i64, text: impl Into<SharedText>) -> Self {
        IssueRow { severity: INFO.into(), ..IssueRow::warning(code, place, n, text) }
    }
}
