//! Metrics of models whose outcome is an amount, such as a premium or a credit line: what groups
//! get, and how it would change in another group.
//!
//! The values are computed by [`amounts`](crate::metric::value::amounts) from the amounts of all
//! people; the records here say what they mean. `denied_by_group` and `favoured_by_group` of the
//! family ccm are also measured of amounts: the share of people whose amount would be better in the
//! other group, and worse, by as much as the job says matters.

use super::place::PagePlace::TablesOnly;
use crate::metric::{AmountSubject, Metric, MetricFamily, MetricUnit, Reads};

/// The quantiles that are measured, with their metric and that of their difference.
pub(crate) const QUANTILES: [(f64, &str, &str); 5] = [
    (0.1, "amount_q10", "amount_q10_difference"),
    (0.25, "amount_q25", "amount_q25_difference"),
    (0.5, "amount_q50", "amount_q50_difference"),
    (0.75, "amount_q75", "amount_q75_difference"),
    (0.9, "amount_q90", "amount_q90_difference"),
];

/// What metrics of one group have in common.
const GROUP: Metric = Metric {
    family: MetricFamily::Amounts,
    range: (f64::NEG_INFINITY, f64::INFINITY),
    reads: Reads::Amount(AmountSubject::Group),
    ..Metric::UNSTATED
};

/// What differences of two groups have in common.
const GAP: Metric = Metric {
    ideal: Some(0.0),
    reads: Reads::Amount(AmountSubject::Gap),
    unit: MetricUnit::Signed,
    ..GROUP
};

/// What changes in the other group have in common.
const CHANGE: Metric = Metric { reads: Reads::Amount(AmountSubject::Change), ..GAP };

/// What shares of people whose amount would change have in common.
const SHARE: Metric = Metric {
    range: (0.0, 1.0),
    reads: Reads::Amount(AmountSubject::Share),
    unit: MetricUnit::Share,
    ..CHANGE
};

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "amount_mean", "AM", shown: at![AmountGroups 1], ..GROUP;
    "amount_mean_difference", "AM_difference", shown: at![AmountGaps 1], ..GAP;
    "amount_mean_ratio", "AM_ratio", reads: Reads::Amount(AmountSubject::Ratio), ideal: Some(1.0),
        range: (0.0, f64::INFINITY), unit: MetricUnit::Times, shown: at![AmountGaps 2], ..GROUP;
    "amount_q10", "A10", shown: at![AmountGroups 2], ..GROUP;
    "amount_q25", "A25", shown: at![AmountGroups 3], ..GROUP;
    "amount_q50", "A50", shown: at![AmountGroups 4], ..GROUP;
    "amount_q75", "A75", shown: at![AmountGroups 5], ..GROUP;
    "amount_q90", "A90", shown: at![AmountGroups 6], ..GROUP;
    "amount_q10_difference", "A10_difference", shown: &[TablesOnly], ..GAP;
    "amount_q25_difference", "A25_difference", shown: &[TablesOnly], ..GAP;
    "amount_q50_difference", "A50_difference", shown: at![AmountGaps 3], ..GAP;
    "amount_q75_difference", "A75_difference", shown: &[TablesOnly], ..GAP;
    "amount_q90_difference", "A90_difference", shown: at![AmountGaps 4], ..GAP;
    "amount_change_mean", "ACM", shown: at![AmountChanges 3], ..CHANGE;
    "amount_change_median", "AC50", shown: at![AmountChanges 4], ..CHANGE;
    "share_more", "SM", shown: at![AmountChanges 1], ..SHARE;
    "share_less", "SL", shown: at![AmountChanges 2], ..SHARE;
    "share_more_or_less", "SCH", shown: &[TablesOnly], ..SHARE;
};
