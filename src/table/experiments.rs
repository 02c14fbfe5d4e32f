//! The tables of experiments: what arms were trained on, how their values vary, which
//! counterfactuals they took.

use super::key_columns::AuditKey;
use crate::table::row_macro::{SharedText, tables};

tables! {
    /// What the arms of experiments were trained on.
    pub struct ArmRow in "arms", version 1, key 4,
    one row per "arm of an experiment and fold", written by "augment", read by "gate, report" {
        arm: SharedText,
        model: SharedText,
        counterfactual: SharedText,
        /// fold whose rows are audited by this model; 0 without folds
        fold: i64,
        /// training rows with a label, before any is added; rows of weight 0 are not counted
        n_rows: i64,
        /// those that are positive
        n_positive: i64,
        /// their valid counterfactuals; 0 where the arm adds none
        n_candidates: i64,
        /// counterfactuals that were added
        n_counterfactuals: i64,
        /// synthetic rows that were added
        n_synthetic: i64,
        /// added rows that are positive
        n_added_positive: i64,
    }

    /// How the values of arms vary over folds.
    pub struct ArmFoldRow in "arm_folds", version 1, key 9,
    one row per "arm, key and metric", written by "augment", read by "report" {
        ..key: AuditKey,
        /// id of the metric
        metric: SharedText,
        /// folds in which it has a value
        folds: i64,
        /// folds in which it has none
        folds_undefined: i64,
        /// mean over the folds in which it has a value, each counted once; null = none
        mean: Option<f64>,
        /// standard deviation over these folds, n - 1 below; null = fewer than two
        sd: Option<f64>,
        /// lowest value of a fold; null = none
        lowest: Option<f64>,
        /// highest value of a fold; null = none
        highest: Option<f64>,
    }

    /// The counterfactuals that arms added to their training rows.
    pub struct SelectedRow in "selected", version 1, key 8,
    one row per "counterfactual of a training row that an arm added in a fold",
    written by "augment", read by "users" {
        arm: SharedText,
        model: SharedText,
        counterfactual: SharedText,
        /// fold for whose model it was added; 0 without folds
        fold: i64,
        sensitive: SharedText,
        /// the row number, or the integer row id, or the xxh3-64 of its text
        row_key: u64,
        to_group: SharedText,
        /// number of the counterfactual among those of the row and group
        cf_index: i64,
        /// the factual group
        from_group: SharedText,
        /// label of the row and of the counterfactual: 1 = positive, 0 = negative
        label: bool,
        /// what the base model predicts of the row; null = nobody asked, or no score
        predicted: Option<bool>,
        /// what the base model predicts of the counterfactual; null as predicted
        predicted_cf: Option<bool>,
    }
}
