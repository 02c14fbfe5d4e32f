//! Gaps between groups: parity, odds, opportunity, predictive parity.
//!
//! A is the reference group or the earlier declared one, B the other, or all others together. Every
//! performance metric has a difference A - B and a ratio A / B; the parities of the papers stand
//! beside them under their own names. Signs are kept: the absolute value is for the reader. How the
//! values are made, also over more than two groups at once, stands in
//! [`gaps`](crate::metric::value::gaps) and [`worst`](crate::metric::value::worst).
//!
//! Choice: a gap whose part is undefined is undefined itself, also equalized odds, where a maximum
//! over missing parts would look fair.

use super::performance as p;
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::MetricValue;
use crate::metric::{CatalogFamily, ImpairedGroupRule, Metric, Reads, combine};

const DEFINED_HERE: &str = "the same metric of two groups, compared";
const JOURNAL: &str = "Towards Counterfactual Group Fairness, Table 1";
const DIFFERENCE_SIGN: &str = "A minus B: above 0 the value of A is larger";
const RATIO_SIGN: &str = "A over B: above 1 the value of A is larger";
const UNDEFINED: &str = "the metric is undefined in one of the groups";
const RATIO_UNDEFINED: &str = "the metric is undefined in one of the groups, or 0 in B";

const fn pair(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: CatalogFamily::Group,
        formula,
        reading: "how much larger the value of A is",
        range: (-1.0, 1.0),
        ideal: Some(0.0),
        sign: DIFFERENCE_SIGN,
        undefined_when: UNDEFINED,
        source: DEFINED_HERE,
        needs_label: true,
        reads: Reads::FavourableRatio,
        impaired: ImpairedGroupRule::Unstated,
    }
}

const fn ratio(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
) -> Metric {
    Metric {
        reading: "how many times as large the value of A is",
        range: (0.0, f64::INFINITY),
        ideal: Some(1.0),
        sign: RATIO_SIGN,
        undefined_when: RATIO_UNDEFINED,
        ..pair(id, symbol, name, formula)
    }
}

const fn to_total(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
) -> Metric {
    Metric {
        reading: "how far the group that is furthest from everybody together is from them",
        range: (0.0, 1.0),
        sign: "a distance: never negative",
        undefined_when: "the metric is undefined for all groups together, or in each of them",
        source: "the same metric of each group and of all, compared",
        ..pair(id, symbol, name, formula)
    }
}

/// Of a performance metric its difference, its ratio or its distance to all.
macro_rules! gap {
    (difference, $id:literal, $symbol:literal, $name:literal) => {
        pair(
            concat!($id, "_difference"),
            concat!($symbol, "_difference"),
            concat!("difference in ", $name),
            concat!($symbol, "_A - ", $symbol, "_B"),
        )
    };
    (ratio, $id:literal, $symbol:literal, $name:literal) => {
        ratio(
            concat!($id, "_ratio"),
            concat!($symbol, "_ratio"),
            concat!("ratio of ", $name),
            concat!($symbol, "_A / ", $symbol, "_B"),
        )
    };
    (to_total, $id:literal, $symbol:literal, $name:literal) => {
        to_total(
            concat!($id, "_to_total"),
            concat!($symbol, "_to_total"),
            concat!("distance to all in ", $name),
            concat!("max |", $symbol, "_group - ", $symbol, "_all|"),
        )
    };
}

/// The parities, then for each rate and each other value of [`performance`](super::performance) a
/// difference and a ratio, then their distances to all. A rate says whom its gap impairs and
/// whether it needs the label; another value how far apart two of it may be, and the smallest
/// ratio.
macro_rules! metrics {
    (
        parities: [$($parity:expr),* $(,)?],
        rates: [$(($id:literal, $symbol:literal, $name:literal, $rate:expr, $impaired:expr,
            $label:literal)),* $(,)?],
        scores: [$(($of:literal, $sign:literal, $called:literal, $score:expr, $most:literal,
            $least:expr)),* $(,)?] $(,)?
    ) => {
        &[
            $($parity,)*
            $(
                Metric {
                    reads: Reads::RateDifference($rate),
                    impaired: $impaired,
                    needs_label: $label,
                    ..gap!(difference, $id, $symbol, $name)
                },
                Metric { reads: Reads::RateRatio($rate), impaired: $impaired, needs_label: $label,
                    ..gap!(ratio, $id, $symbol, $name) },
            )*
            $(
                Metric { range: (-$most, $most), reads: Reads::ScoreDifference($score),
                    ..gap!(difference, $of, $sign, $called) },
                Metric { range: ($least, f64::INFINITY), reads: Reads::ScoreRatio($score),
                    ..gap!(ratio, $of, $sign, $called) },
            )*
            $(Metric { reads: Reads::RateToTotal($rate), needs_label: $label,
                ..gap!(to_total, $id, $symbol, $name) },)*
            $(Metric { range: (0.0, $most), reads: Reads::ScoreToTotal($score),
                ..gap!(to_total, $of, $sign, $called) },)*
        ]
    };
}

/// The list of this family.
pub const METRICS: &[Metric] = metrics! {
    parities: [
    Metric {
        reading: "demographic parity: how much more often people of A are predicted positive",
        source: JOURNAL,
        reads: Reads::RateDifference(p::pprev),
        impaired: ImpairedGroupRule::LowerRate(p::pprev),
        needs_label: false,
        ..pair("demp_difference", "DemP_difference", "demographic parity difference", "PPREV_A - \
            PPREV_B")
    },
    Metric {
        reading: "demographic parity: how many times as often people of A are predicted positive",
        source: "The Matrix Reloaded, section 3.2.2",
        reads: Reads::RateRatio(p::pprev),
        impaired: ImpairedGroupRule::LowerRate(p::pprev),
        needs_label: false,
        ..ratio("demp_ratio", "DemP_ratio", "demographic parity ratio", "PPREV_A / PPREV_B")
    },
    Metric {
        reading: "the four-fifths form of demographic parity: smaller over larger rate of positive \
                  predictions",
        range: (0.0, 1.0),
        ideal: Some(1.0),
        sign: "without direction: the smaller rate stands above",
        undefined_when: "a group is empty, or nobody is predicted positive in either",
        source: "Uniform Guidelines on Employee Selection Procedures 1978, 29 CFR 1607.4 D; \
                 fairlearn's demographic_parity_ratio",
        needs_label: false,
        reads: Reads::RateMinRatio(p::pprev),
        impaired: ImpairedGroupRule::LowerRate(p::pprev),
        ..pair(
            "demp_min_ratio",
            "DemP_min_ratio",
            "demographic parity, smaller over larger",
            "min(PPREV_A, PPREV_B) / max(PPREV_A, PPREV_B)",
        )
    },
    Metric {
        reading: "disparate impact: how many times as often people of B get the favourable \
                  prediction",
        range: (0.0, f64::INFINITY),
        ideal: Some(1.0),
        sign: "B over A: below 1 people of B get the favourable prediction less often",
        undefined_when: "a group is empty, or nobody in A gets the favourable prediction",
        source: "Amazon SageMaker Clarify, post-training bias metrics, DI",
        needs_label: false,
        impaired: ImpairedGroupRule::LowerRate(p::pprev),
        ..pair("di", "DI", "disparate impact", "favourable predictions / N of B, over the same of \
            A")
    },
    Metric {
        reading: "equal opportunity: how much more often actual positives of A are predicted \
                  positive",
        undefined_when: "nobody has the positive label in one of the groups",
        source: JOURNAL,
        reads: Reads::RateDifference(p::tpr),
        impaired: ImpairedGroupRule::LowerRate(p::tpr),
        ..pair("eopp_difference", "EOpp_difference", "equal opportunity difference", "TPR_A - \
            TPR_B")
    },
    Metric {
        reading: "predictive equality: how much more often actual negatives of A are predicted \
                  positive",
        undefined_when: "nobody has the negative label in one of the groups",
        source: JOURNAL,
        reads: Reads::RateDifference(p::fpr),
        impaired: ImpairedGroupRule::LowerRate(p::fpr),
        ..pair("pred_eq_difference", "PredEq_difference", "predictive equality difference", "FPR_A \
            - FPR_B")
    },
    Metric {
        reading: "predictive parity: how much more often a positive prediction is right in A",
        undefined_when: "nobody is predicted positive in one of the groups",
        source: JOURNAL,
        reads: Reads::RateDifference(p::ppv),
        impaired: ImpairedGroupRule::Unstated,
        ..pair("pred_p_difference", "PredP_difference", "predictive parity difference", "PPV_A - \
            PPV_B")
    },
    Metric {
        reading: "equalized odds: the larger of the gaps in TPR and FPR",
        range: (0.0, 1.0),
        sign: "a maximum of absolute gaps: never negative",
        undefined_when: "TPR or FPR is undefined in one of the groups",
        source: JOURNAL,
        reads: Reads::WidestGap([p::tpr, p::fpr]),
        ..pair("eodds", "EOdds", "equalized odds difference", "max(|TPR_A - TPR_B|, |FPR_A - \
            FPR_B|)")
    },
    Metric {
        reading: "average of the gaps in TPR and FPR; gaps of opposite sign cancel",
        undefined_when: "TPR or FPR is undefined in one of the groups",
        source: "Bellamy et al. 2018, AI Fairness 360",
        reads: Reads::ScoreDifference(mean_odds),
        ..pair("aod", "AOD", "average odds difference", "((TPR_A - TPR_B) + (FPR_A - FPR_B)) / 2")
    },
    ],
    rates: [
        ("prev", "PREV", "prevalence", p::prev, ImpairedGroupRule::Unstated, true),
        ("pprev", "PPREV", "predicted prevalence", p::pprev, ImpairedGroupRule::LowerRate(p::pprev),
            false),
        ("acc", "ACC", "accuracy", p::acc, ImpairedGroupRule::Unstated, true),
        ("tpr", "TPR", "true positive rate", p::tpr, ImpairedGroupRule::LowerRate(p::tpr), true),
        ("fnr", "FNR", "false negative rate", p::fnr, ImpairedGroupRule::LowerRate(p::tpr), true),
        ("tnr", "TNR", "true negative rate", p::tnr, ImpairedGroupRule::LowerRate(p::fpr), true),
        ("fpr", "FPR", "false positive rate", p::fpr, ImpairedGroupRule::LowerRate(p::fpr), true),
        ("ppv", "PPV", "precision", p::ppv, ImpairedGroupRule::Unstated, true),
        ("fdr", "FDR", "false discovery rate", p::fdr, ImpairedGroupRule::Unstated, true),
        ("npv", "NPV", "negative predictive value", p::npv, ImpairedGroupRule::Unstated, true),
        ("for", "FOR", "false omission rate", p::fomr, ImpairedGroupRule::Unstated, true),
    ],
    scores: [
        ("bacc", "BACC", "balanced accuracy", p::bacc, 1.0, 0.0),
        ("f1", "F1", "F1 score", p::f1, 1.0, 0.0),
        ("mcc", "MCC", "Matthews correlation", p::mcc, 2.0, f64::NEG_INFINITY),
    ],
};

/// The mean of TPR and FPR, of which the average odds difference is the gap.
fn mean_odds(c: &Confusion) -> MetricValue {
    combine(p::tpr(c).value(), p::fpr(c).value(), |tpr, fpr| Ok(f64::midpoint(tpr, fpr)))
}
