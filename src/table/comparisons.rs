//! The table of comparisons of two models.

use super::key_columns::{AuditKey, key_about_all_rows};
use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `comparisons`: one row per value of two models on the same people.
    pub struct ComparisonRow in "comparisons", version 5, key 11,
    one row per "two models or arms, key and metric", written by "measure", read by "report" {
        arm: SharedText,
        /// the first model
        model: SharedText,
        /// experiment and arm that the first is compared with; empty for the plain audit
        against_arm: SharedText,
        /// the second model; that of both where arms are compared
        against: SharedText,
        counterfactual: SharedText,
        sensitive: SharedText,
        scope: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        class: SharedText,
        /// id of the metric, of the families performance, group, scores, ccm and eccm
        metric: SharedText,
        /// family of the metric
        family: SharedText,
        /// value of the first model or arm minus value of the second; null = undefined, see
        /// `undefined`
        difference: Option<f64>,
        /// why the difference is null; empty if it is not
        undefined: SharedText,
        /// value of the first model; null = undefined
        model_value: Option<f64>,
        /// value of the second model; null = undefined
        against_value: Option<f64>,
        /// lower end of the interval of the difference; null = none
        lo: Option<f64>,
        /// upper end of the interval of the difference; null = none
        hi: Option<f64>,
        /// level of the interval; null = none
        level: Option<f64>,
        /// method of the interval, a word of `cfaudit explain`, as `wilson`; empty = none
        interval: SharedText,
        /// the method in full, or why there is no interval
        ci_method: SharedText,
        /// lower end of the differences that other trainings give, each training of the first model
        /// or arm minus that of the second with the same seed and the same rows drawn (`doubt` of
        /// both models): quantile at the level of `metrics.interval`, below 40 repeats the
        /// smallest; null = not asked for as often of both, no difference, or fewer than 95 % of
        /// the repeats give one
        training_lo: Option<f64>,
        /// upper end of these differences: quantile or largest; null as training_lo
        training_hi: Option<f64>,
        /// variance of these differences, divisor training_repeats - 1; null as training_lo
        training_var: Option<f64>,
        /// repeats in which there is a difference; null = not asked for as often of both, or not
        /// measured (scores as such)
        training_repeats: Option<i64>,
        /// people behind the value, the fewer of both models
        n_rows: i64,
        /// selective_labels, as in metrics, where it holds of either; empty = none
        flags: SharedText,
    }
}

impl ComparisonRow {
    /// Whose value is the first of the two.
    pub(crate) fn audit_key(&self) -> AuditKey {
        key_about_all_rows!(self)
    }
}
