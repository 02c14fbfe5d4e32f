//! Metrics of models whose outcome is an amount, such as a premium or a credit line: what groups
//! get, and how it would change in another group.
//!
//! The values are computed by [`amounts`](crate::metric::value::amounts) from the amounts of all
//! people; the records here say what they mean. `denied_by_group` and `favoured_by_group` of the
//! family ccm are also measured of amounts: the share of people whose amount would be better in the
//! other group, and worse, by as much as the job says matters.

use super::place::PagePlace::TablesOnly;
use crate::metric::{AmountSubject, Metric, MetricFamily, MetricUnit, Reads};

const WOODRUFF: &str = "an addition of cfaudit; interval: Woodruff 1952, Confidence intervals for \
    medians and other position measures";

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
    sign: "in the unit of the amount",
    undefined_when: "nobody in the group has an amount",
    source: "an addition of cfaudit for outcomes that are amounts",
    reads: Reads::Amount(AmountSubject::Group),
    ..Metric::UNSTATED
};

/// What differences of two groups have in common.
const GAP: Metric = Metric {
    ideal: Some(0.0),
    sign: "A minus B: above 0 the amount is higher in group A",
    reads: Reads::Amount(AmountSubject::Gap),
    unit: MetricUnit::Signed,
    ..GROUP
};

/// What changes in the other group have in common.
const CHANGE: Metric = Metric {
    sign: "counterfactual minus factual: above 0 the amount would be higher in the other group",
    undefined_when: "nobody has both amounts",
    reads: Reads::Amount(AmountSubject::Change),
    ..GAP
};

/// What shares of people whose amount would change have in common.
const SHARE: Metric = Metric {
    range: (0.0, 1.0),
    sign: "a share: never negative",
    reads: Reads::Amount(AmountSubject::Share),
    unit: MetricUnit::Share,
    ..CHANGE
};

const QUANTILE: &str = "linear interpolation at position (n - 1) q of the sorted amounts, counted \
    from 0; with weights Akinshin's weighted form of it";

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "amount_mean", "AM", "mean amount", "sum w x / sum w", shown: at![AmountGroups 1], ..GROUP;
    "amount_mean_difference", "AM_difference", "difference of mean amounts",
        "amount_mean(A) - amount_mean(B)", shown: at![AmountGaps 1], ..GAP;
    "amount_mean_ratio", "AM_ratio", "ratio of mean amounts", "amount_mean(A) / amount_mean(B)",
        reads: Reads::Amount(AmountSubject::Ratio), ideal: Some(1.0), range: (0.0, f64::INFINITY),
        unit: MetricUnit::Times, sign: "A over B: above 1 the mean is higher in group A",
        undefined_when: "a mean is not above 0", shown: at![AmountGaps 2], ..GROUP;
    "amount_q10", "A10", "0.1 quantile of amounts", QUANTILE, source: WOODRUFF,
        shown: at![AmountGroups 2], ..GROUP;
    "amount_q25", "A25", "0.25 quantile of amounts", QUANTILE, source: WOODRUFF,
        shown: at![AmountGroups 3], ..GROUP;
    "amount_q50", "A50", "median amount", QUANTILE, source: WOODRUFF, shown: at![AmountGroups 4],
        ..GROUP;
    "amount_q75", "A75", "0.75 quantile of amounts", QUANTILE, source: WOODRUFF,
        shown: at![AmountGroups 5], ..GROUP;
    "amount_q90", "A90", "0.9 quantile of amounts", QUANTILE, source: WOODRUFF,
        shown: at![AmountGroups 6], ..GROUP;
    "amount_q10_difference", "A10_difference", "difference of 0.1 quantiles of amounts",
        "amount_q10(A) - amount_q10(B)", source: WOODRUFF, shown: &[TablesOnly], ..GAP;
    "amount_q25_difference", "A25_difference", "difference of 0.25 quantiles of amounts",
        "amount_q25(A) - amount_q25(B)", source: WOODRUFF, shown: &[TablesOnly], ..GAP;
    "amount_q50_difference", "A50_difference", "difference of median amounts",
        "amount_q50(A) - amount_q50(B)", source: WOODRUFF, shown: at![AmountGaps 3], ..GAP;
    "amount_q75_difference", "A75_difference", "difference of 0.75 quantiles of amounts",
        "amount_q75(A) - amount_q75(B)", source: WOODRUFF, shown: &[TablesOnly], ..GAP;
    "amount_q90_difference", "A90_difference", "difference of 0.9 quantiles of amounts",
        "amount_q90(A) - amount_q90(B)", source: WOODRUFF, shown: at![AmountGaps 4], ..GAP;
    "amount_change_mean", "ACM", "mean change of the amount", "sum w (c - x) / sum w",
        shown: at![AmountChanges 3], ..CHANGE;
    "amount_change_median", "AC50", "median change of the amount", "the median of c - x",
        source: WOODRUFF, shown: at![AmountChanges 4], ..CHANGE;
    "share_more", "SM", "share with a higher amount", "share of people with c > x and c - x >= m \
            (1 - 1e-9), m what matters to the job: an amount, or a share of |x|",
        shown: at![AmountChanges 1], ..SHARE;
    "share_less", "SL", "share with a lower amount",
        "share of people with c < x and x - c >= m (1 - 1e-9), m as for share_more",
        shown: at![AmountChanges 2], ..SHARE;
    "share_more_or_less", "SCH", "share with another amount", "share_more + share_less",
        shown: &[TablesOnly], ..SHARE;
};
