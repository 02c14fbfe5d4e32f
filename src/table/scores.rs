//! The tables of scores and amounts as such: rates at every threshold, bins of scores, how many
//! people have an amount.

use crate::table::key_columns::AuditKey;
use crate::table::row_macro::{SharedText, tables};

/// The step of the threshold of the job, behind those of the grid.
pub(crate) const JOB_STEP: i64 = 1025;

tables! {
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

    /// `reliability`: people in up to ten bins of as many people each, by their scores, with the
    /// share of them who have the positive label. Equal scores stay in one bin; bins without
    /// people have no row. Only of jobs that ask for the family `scores`.
    pub struct ReliabilityRow in "reliability", version 1, key 7,
    one row per "model, attribute, group, slice, class and bin", written by "measure",
    read by "report, users" {
        arm: SharedText,
        model: SharedText,
        sensitive: SharedText,
        /// group; empty = all
        group: SharedText,
        slice: SharedText,
        class: SharedText,
        /// number of the bin, 0 to 9, from the lowest scores to the highest
        bin: i64,
        /// rows with a label, a score and a weight above 0
        n: i64,
        /// lowest score as a share of its scale; from 200,000 rows on that of a cell
        score_lo: f64,
        /// highest score as a share of its scale; from 200,000 rows on that of a cell
        score_hi: f64,
        /// mean score as a share of its scale, by weight
        mean_score: f64,
        /// rows with the positive label
        positives: i64,
        /// share with the positive label, by weight
        observed: f64,
        /// lower end of Wilson's interval of that share, on the effective number of people where
        /// these have weights or several rows; null = not requested
        lo: Option<f64>,
        /// upper end; null as lo
        hi: Option<f64>,
    }

    /// `curves`: rates if scores became positive predictions at another threshold than that of the
    /// job, on all rows and in every slice that is measured; of several classes each against all
    /// others. Only of jobs that ask for the family `scores`, and not of sets that depend on causal
    /// graphs.
    pub struct CurveRow in "curves", version 1, key 11,
    one row per "key, metric and step", written by "measure", read by "report, users" {
        ..key: AuditKey,
        class: SharedText,
        /// id of the metric: pprev, tpr, fpr, di, sr, psr, nsr, denied_by_group, favoured_by_group
        metric: SharedText,
        /// 0 to 1024: the threshold is this share of the scale times 1,024, from the end that means
        /// the negative prediction; 1025: the threshold of the job, as in `metrics`, of classes the
        /// decisions for the highest score
        step: i64,
        /// the threshold in the numbers of the scores; null = an end of log-odds, rows with
        /// thresholds of their own, or several classes at step 1025
        threshold: Option<f64>,
        /// the metric if the scores are compared with this threshold by the model's rule; null =
        /// undefined, see `undefined`
        value: Option<f64>,
        /// why the value is null; empty if it is not
        undefined: SharedText,
        /// cases on top of the rate, without weights; null of `di`, and where the value is
        /// undefined because nothing could be learnt of a group
        numerator: Option<i64>,
        /// cases below the rate, without weights; of `di` those of the group with fewer; null as
        /// numerator, but for `di`
        denominator: Option<i64>,
        /// lower end of the pointwise interval; null = not requested, the value is undefined, or
        /// the design effect is not known
        lo: Option<f64>,
        /// upper end; null as lo
        hi: Option<f64>,
    }
}
