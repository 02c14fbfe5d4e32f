//! Metrics of models whose outcome is an amount, such as a premium or a credit line: what groups
//! get, and how it would change in another group.
//!
//! The values are made by [`amounts`](crate::metric::value::amounts) from the amounts of all
//! people; the records here say what they mean. `denied_by_group` and `favoured_by_group` of the
//! family ccm are also measured of amounts: the share of people whose amount would be better in the
//! other group, and worse, by as much as the job says matters.

use super::place::PageList as L;
use super::place::PagePlace::{At, TablesOnly};
use crate::metric::{AmountSubject, Metric, MetricFamily, MetricUnit, Reads};

const ADDED: &str = "an addition of cfaudit for outcomes that are amounts";
const WOODRUFF: &str = "an addition of cfaudit; interval: Woodruff 1952, Confidence intervals for \
    medians and other position measures";
const INFINITY: f64 = f64::INFINITY;
const NOBODY: &str = "nobody in the group has an amount";
const NO_CHANGE: &str = "nobody has both amounts";
const UNSIGNED: &str = "in the unit of the amount";
const GAP: &str = "A minus B: above 0 the amount is higher in group A";
const CHANGE: &str =
    "counterfactual minus factual: above 0 the amount would be higher in the other group";

/// The quantiles that are measured, with their metric and that of their difference.
pub(crate) const QUANTILES: [(f64, &str, &str); 5] = [
    (0.1, "amount_q10", "amount_q10_difference"),
    (0.25, "amount_q25", "amount_q25_difference"),
    (0.5, "amount_q50", "amount_q50_difference"),
    (0.75, "amount_q75", "amount_q75_difference"),
    (0.9, "amount_q90", "amount_q90_difference"),
];

const fn metric(
    (id, symbol): (&'static str, &'static str),
    name: &'static str,
    subject: AmountSubject,
    shown: &'static [super::place::PagePlace],
) -> Metric {
    let (sign, undefined_when, unit) = match subject {
        AmountSubject::Group => (UNSIGNED, NOBODY, MetricUnit::Number),
        AmountSubject::Gap => (GAP, NOBODY, MetricUnit::Signed),
        AmountSubject::Ratio => {
            ("A over B: above 1 the mean is higher in group A", NOBODY, MetricUnit::Times)
        }
        AmountSubject::Change => (CHANGE, NO_CHANGE, MetricUnit::Signed),
        AmountSubject::Share => ("a share: never negative", NO_CHANGE, MetricUnit::Share),
    };
    let range = match subject {
        AmountSubject::Share => (0.0, 1.0),
        AmountSubject::Ratio => (0.0, INFINITY),
        _ => (-INFINITY, INFINITY),
    };
    let ideal = match subject {
        AmountSubject::Group => None,
        AmountSubject::Ratio => Some(1.0),
        _ => Some(0.0),
    };
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Amounts,
        range,
        ideal,
        sign,
        undefined_when,
        source: ADDED,
        needs_label: false,
        reads: Reads::Amount(subject),
        unit,
        shown,
        ..Metric::UNSTATED
    }
}

const fn quantile(
    ids: (&'static str, &'static str),
    name: &'static str,
    formula: &'static str,
    shown: &'static [super::place::PagePlace],
) -> Metric {
    Metric { formula, source: WOODRUFF, ..metric(ids, name, AmountSubject::Group, shown) }
}

const fn quantile_gap(
    ids: (&'static str, &'static str),
    name: &'static str,
    formula: &'static str,
    shown: &'static [super::place::PagePlace],
) -> Metric {
    Metric { formula, source: WOODRUFF, ..metric(ids, name, AmountSubject::Gap, shown) }
}

const QUANTILE: &str = "linear interpolation at position (n - 1) q of the sorted amounts, counted \
    from 0; with weights Akinshin's weighted form of it";

/// The list of this family.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        formula: "sum w x / sum w",
        ..metric(
            ("amount_mean", "AM"),
            "mean amount",
            AmountSubject::Group,
            &[At(L::AmountGroups, 1)],
        )
    },
    Metric {
        formula: "amount_mean(A) - amount_mean(B)",
        ..metric(
            ("amount_mean_difference", "AM_difference"),
            "difference of mean amounts",
            AmountSubject::Gap,
            &[At(L::AmountGaps, 1)],
        )
    },
    Metric {
        formula: "amount_mean(A) / amount_mean(B)",
        undefined_when: "a mean is not above 0",
        ..metric(
            ("amount_mean_ratio", "AM_ratio"),
            "ratio of mean amounts",
            AmountSubject::Ratio,
            &[At(L::AmountGaps, 2)],
        )
    },
    quantile(("amount_q10", "A10"), "0.1 quantile of amounts", QUANTILE, &[At(L::AmountGroups, 2)]),
    quantile(
        ("amount_q25", "A25"),
        "0.25 quantile of amounts",
        QUANTILE,
        &[At(L::AmountGroups, 3)],
    ),
    quantile(("amount_q50", "A50"), "median amount", QUANTILE, &[At(L::AmountGroups, 4)]),
    quantile(
        ("amount_q75", "A75"),
        "0.75 quantile of amounts",
        QUANTILE,
        &[At(L::AmountGroups, 5)],
    ),
    quantile(("amount_q90", "A90"), "0.9 quantile of amounts", QUANTILE, &[At(L::AmountGroups, 6)]),
    quantile_gap(
        ("amount_q10_difference", "A10_difference"),
        "difference of 0.1 quantiles of amounts",
        "amount_q10(A) - amount_q10(B)",
        &[TablesOnly],
    ),
    quantile_gap(
        ("amount_q25_difference", "A25_difference"),
        "difference of 0.25 quantiles of amounts",
        "amount_q25(A) - amount_q25(B)",
        &[TablesOnly],
    ),
    quantile_gap(
        ("amount_q50_difference", "A50_difference"),
        "difference of median amounts",
        "amount_q50(A) - amount_q50(B)",
        &[At(L::AmountGaps, 3)],
    ),
    quantile_gap(
        ("amount_q75_difference", "A75_difference"),
        "difference of 0.75 quantiles of amounts",
        "amount_q75(A) - amount_q75(B)",
        &[TablesOnly],
    ),
    quantile_gap(
        ("amount_q90_difference", "A90_difference"),
        "difference of 0.9 quantiles of amounts",
        "amount_q90(A) - amount_q90(B)",
        &[At(L::AmountGaps, 4)],
    ),
    Metric {
        formula: "sum w (c - x) / sum w",
        ..metric(
            ("amount_change_mean", "ACM"),
            "mean change of the amount",
            AmountSubject::Change,
            &[At(L::AmountChanges, 3)],
        )
    },
    Metric {
        formula: "the median of c - x",
        source: WOODRUFF,
        ..metric(
            ("amount_change_median", "AC50"),
            "median change of the amount",
            AmountSubject::Change,
            &[At(L::AmountChanges, 4)],
        )
    },
    Metric {
        formula: "share of people with c > x and c - x >= m (1 - 1e-9), m what matters to the job: \
                  an amount, or a share of |x|",
        ..metric(
            ("share_more", "SM"),
            "share with a higher amount",
            AmountSubject::Share,
            &[At(L::AmountChanges, 1)],
        )
    },
    Metric {
        formula: "share of people with c < x and x - c >= m (1 - 1e-9), m as for share_more",
        ..metric(
            ("share_less", "SL"),
            "share with a lower amount",
            AmountSubject::Share,
            &[At(L::AmountChanges, 2)],
        )
    },
    Metric {
        formula: "share_more + share_less",
        ..metric(
            ("share_more_or_less", "SCH"),
            "share with another amount",
            AmountSubject::Share,
            &[TablesOnly],
        )
    },
];

/// The record of an id of this family.
pub(crate) fn of(id: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.id == id)
}
