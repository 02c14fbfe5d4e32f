//! The table of curves: rates at every threshold.

use crate::table::key_columns::AuditKey;
use crate::table::row_macro::{SharedText, table};

/// The step of the threshold of the job, behind those of the grid.
pub(crate) const JOB_STEP: i64 = 1025;

table! {
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
