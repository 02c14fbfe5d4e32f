//! Gaps between groups: parity, odds, opportunity, predictive parity.
//!
//! A is the reference group or the earlier declared one, B the other, or all others together. Every performance metric has a difference
//! A - B and a ratio A / B; the parities of the papers stand beside them under their own names. Signs are kept: the absolute value is for
//! the reader. How the values are made, also over more than two groups at once, stands in [`gaps`](super::gaps) and
//! [`worst`](super::worst).
//!
//! Choice: a gap whose part is undefined is undefined itself, also equalized odds, where a maximum over missing parts would look fair.

use super::counts::Confusion;
use super::performance as p;
use super::{Family, Impaired, Metric, Rate, Reads, Value, both};

const DEFINED_HERE: &str = "the same metric of two groups, compared";
const JOURNAL: &str = "Towards Counterfactual Group Fairness, Table 1";
const DIFFERENCE_SIGN: &str = "A minus B: above 0 the value of A is larger";
const RATIO_SIGN: &str = "A over B: above 1 the value of A is larger";
const UNDEFINED: &str = "the metric is undefined in one of the groups";
const RATIO_UNDEFINED: &str = "the metric is undefined in one of the groups, or 0 in B";

const fn pair(id: &'static str, symbol: &'static str, name: &'static str, formula: &'static str) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: Family::Group,
        formula,
        reading: "how much larger the value of A is",
        range: (-1.0, 1.0),
        ideal: Some(0.0),
        sign: DIFFERENCE_SIGN,
        undefined_when: UNDEFINED,
        source: DEFINED_HERE,
        needs_label: true,
        reads: Reads::FavourableRatio,
        impaired: Impaired::Unstated,
    }
}

const fn difference(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
    rate: fn(&Confusion) -> Rate,
    impaired: Impaired,
    needs_label: bool,
) -> Metric {
    Metric { reads: Reads::RateDifference(rate), impaired, needs_label, ..pair(id, symbol, name, formula) }
}

const fn ratio(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
    rate: fn(&Confusion) -> Rate,
    impaired: Impaired,
    needs_label: bool,
) -> Metric {
    Metric {
        reading: "how many times as large the value of A is",
        range: (0.0, f64::INFINITY),
        ideal: Some(1.0),
        sign: RATIO_SIGN,
        undefined_when: RATIO_UNDEFINED,
        reads: Reads::RateRatio(rate),
        impaired,
        needs_label,
        ..pair(id, symbol, name, formula)
    }
}

const fn to_total(id: &'static str, symbol: &'static str, name: &'static str, formula: &'static str, reads: Reads) -> Metric {
    Metric {
        reading: "how far the group that is furthest from everybody together is from them",
        range: (0.0, 1.0),
        sign: "a distance: never negative",
        undefined_when: "the metric is undefined for all groups together, or in each of them",
        source: "the same metric of each group and of all, compared",
        reads,
        ..pair(id, symbol, name, formula)
    }
}

/// The list of this family.
pub const METRICS: &[Metric] = &[
    Metric {
        reading: "demographic parity: how much more often people of A are predicted positive",
        source: JOURNAL,
        ..difference(
            "demp_difference",
            "DemP_difference",
            "demographic parity difference",
            "PPREV_A - PPREV_B",
            p::pprev,
            Impaired::LowerRate(p::pprev),
            false,
        )
    },
    Metric {
        reading: "demographic parity: how many times as often people of A are predicted positive",
        source: "The Matrix Reloaded, section 3.2.2",
        ..ratio("demp_ratio", "DemP_ratio", "demographic parity ratio", "PPREV_A / PPREV_B", p::pprev, Impaired::LowerRate(p::pprev), false)
    },
    Metric {
        reading: "the four-fifths form of demographic parity: smaller over larger rate of positive predictions",
        range: (0.0, 1.0),
        ideal: Some(1.0),
        sign: "without direction: the smaller rate stands above",
        undefined_when: "a group is empty, or nobody is predicted positive in either",
        source: "Uniform Guidelines on Employee Selection Procedures 1978, 29 CFR 1607.4 D; fairlearn's demographic_parity_ratio",
        needs_label: false,
        reads: Reads::RateMinRatio(p::pprev),
        impaired: Impaired::LowerRate(p::pprev),
        ..pair(
            "demp_min_ratio",
            "DemP_min_ratio",
            "demographic parity, smaller over larger",
            "min(PPREV_A, PPREV_B) / max(PPREV_A, PPREV_B)",
        )
    },
    Metric {
        reading: "disparate impact: how many times as often people of B get the favourable prediction",
        range: (0.0, f64::INFINITY),
        ideal: Some(1.0),
        sign: "B over A: below 1 people of B get the favourable prediction less often",
        undefined_when: "a group is empty, or nobody in A gets the favourable prediction",
        source: "Amazon SageMaker Clarify, post-training bias metrics, DI",
        needs_label: false,
        impaired: Impaired::LowerRate(p::pprev),
        ..pair("di", "DI", "disparate impact", "favourable predictions / N of B, over the same of A")
    },
    Metric {
        reading: "equal opportunity: how much more often actual positives of A are predicted positive",
        undefined_when: "nobody has the positive label in one of the groups",
        source: JOURNAL,
        ..difference(
            "eopp_difference",
            "EOpp_difference",
            "equal opportunity difference",
            "TPR_A - TPR_B",
            p::tpr,
            Impaired::LowerRate(p::tpr),
            true,
        )
    },
    Metric {
        reading: "predictive equality: how much more often actual negatives of A are predicted positive",
        undefined_when: "nobody has the negative label in one of the groups",
        source: JOURNAL,
        ..difference(
            "pred_eq_difference",
            "PredEq_difference",
            "predictive equality difference",
            "FPR_A - FPR_B",
            p::fpr,
            Impaired::LowerRate(p::fpr),
            true,
        )
    },
    Metric {
        reading: "predictive parity: how much more often a positive prediction is right in A",
        undefined_when: "nobody is predicted positive in one of the groups",
        source: JOURNAL,
        ..difference(
            "pred_p_difference",
            "PredP_difference",
            "predictive parity difference",
            "PPV_A - PPV_B",
            p::ppv,
            Impaired::Unstated,
            true,
        )
    },
    Metric {
        reading: "equalized odds: the larger of the gaps in TPR and FPR",
        range: (0.0, 1.0),
        sign: "a maximum of absolute gaps: never negative",
        undefined_when: "TPR or FPR is undefined in one of the groups",
        source: JOURNAL,
        reads: Reads::WidestGap([p::tpr, p::fpr]),
        ..pair("eodds", "EOdds", "equalized odds difference", "max(|TPR_A - TPR_B|, |FPR_A - FPR_B|)")
    },
    Metric {
        reading: "average of the gaps in TPR and FPR; gaps of opposite sign cancel",
        undefined_when: "TPR or FPR is undefined in one of the groups",
        source: "Bellamy et al. 2018, AI Fairness 360",
        reads: Reads::ScoreDifference(mean_odds),
        ..pair("aod", "AOD", "average odds difference", "((TPR_A - TPR_B) + (FPR_A - FPR_B)) / 2")
    },
    difference("prev_difference", "PREV_difference", "difference in prevalence", "PREV_A - PREV_B", p::prev, Impaired::Unstated, true),
    ratio("prev_ratio", "PREV_ratio", "ratio of prevalence", "PREV_A / PREV_B", p::prev, Impaired::Unstated, true),
    difference(
        "pprev_difference",
        "PPREV_difference",
        "difference in predicted prevalence",
        "PPREV_A - PPREV_B",
        p::pprev,
        Impaired::LowerRate(p::pprev),
        false,
    ),
    ratio(
        "pprev_ratio",
        "PPREV_ratio",
        "ratio of predicted prevalence",
        "PPREV_A / PPREV_B",
        p::pprev,
        Impaired::LowerRate(p::pprev),
        false,
    ),
    difference("acc_difference", "ACC_difference", "difference in accuracy", "ACC_A - ACC_B", p::acc, Impaired::Unstated, true),
    ratio("acc_ratio", "ACC_ratio", "ratio of accuracy", "ACC_A / ACC_B", p::acc, Impaired::Unstated, true),
    difference(
        "tpr_difference",
        "TPR_difference",
        "difference in true positive rate",
        "TPR_A - TPR_B",
        p::tpr,
        Impaired::LowerRate(p::tpr),
        true,
    ),
    ratio("tpr_ratio", "TPR_ratio", "ratio of true positive rate", "TPR_A / TPR_B", p::tpr, Impaired::LowerRate(p::tpr), true),
    difference(
        "fnr_difference",
        "FNR_difference",
        "difference in false negative rate",
        "FNR_A - FNR_B",
        p::fnr,
        Impaired::LowerRate(p::tpr),
        true,
    ),
    ratio("fnr_ratio", "FNR_ratio", "ratio of false negative rate", "FNR_A / FNR_B", p::fnr, Impaired::LowerRate(p::tpr), true),
    difference(
        "tnr_difference",
        "TNR_difference",
        "difference in true negative rate",
        "TNR_A - TNR_B",
        p::tnr,
        Impaired::LowerRate(p::fpr),
        true,
    ),
    ratio("tnr_ratio", "TNR_ratio", "ratio of true negative rate", "TNR_A / TNR_B", p::tnr, Impaired::LowerRate(p::fpr), true),
    difference(
        "fpr_difference",
        "FPR_difference",
        "difference in false positive rate",
        "FPR_A - FPR_B",
        p::fpr,
        Impaired::LowerRate(p::fpr),
        true,
    ),
    ratio("fpr_ratio", "FPR_ratio", "ratio of false positive rate", "FPR_A / FPR_B", p::fpr, Impaired::LowerRate(p::fpr), true),
    difference("ppv_difference", "PPV_difference", "difference in precision", "PPV_A - PPV_B", p::ppv, Impaired::Unstated, true),
    ratio("ppv_ratio", "PPV_ratio", "ratio of precision", "PPV_A / PPV_B", p::ppv, Impaired::Unstated, true),
    difference("fdr_difference", "FDR_difference", "difference in false discovery rate", "FDR_A - FDR_B", p::fdr, Impaired::Unstated, true),
    ratio("fdr_ratio", "FDR_ratio", "ratio of false discovery rate", "FDR_A / FDR_B", p::fdr, Impaired::Unstated, true),
    difference(
        "npv_difference",
        "NPV_difference",
        "difference in negative predictive value",
        "NPV_A - NPV_B",
        p::npv,
        Impaired::Unstated,
        true,
    ),
    ratio("npv_ratio", "NPV_ratio", "ratio of negative predictive value", "NPV_A / NPV_B", p::npv, Impaired::Unstated, true),
    difference("for_difference", "FOR_difference", "difference in false omission rate", "FOR_A - FOR_B", p::fomr, Impaired::Unstated, true),
    ratio("for_ratio", "FOR_ratio", "ratio of false omission rate", "FOR_A / FOR_B", p::fomr, Impaired::Unstated, true),
    Metric {
        range: (-1.0, 1.0),
        reads: Reads::ScoreDifference(p::bacc),
        ..pair("bacc_difference", "BACC_difference", "difference in balanced accuracy", "BACC_A - BACC_B")
    },
    Metric {
        range: (0.0, f64::INFINITY),
        ideal: Some(1.0),
        sign: RATIO_SIGN,
        undefined_when: RATIO_UNDEFINED,
        reading: "how many times as large the value of A is",
        reads: Reads::ScoreRatio(p::bacc),
        ..pair("bacc_ratio", "BACC_ratio", "ratio of balanced accuracy", "BACC_A / BACC_B")
    },
    Metric {
        range: (-1.0, 1.0),
        reads: Reads::ScoreDifference(p::f1),
        ..pair("f1_difference", "F1_difference", "difference in F1 score", "F1_A - F1_B")
    },
    Metric {
        range: (0.0, f64::INFINITY),
        ideal: Some(1.0),
        sign: RATIO_SIGN,
        undefined_when: RATIO_UNDEFINED,
        reading: "how many times as large the value of A is",
        reads: Reads::ScoreRatio(p::f1),
        ..pair("f1_ratio", "F1_ratio", "ratio of F1 score", "F1_A / F1_B")
    },
    Metric {
        range: (-2.0, 2.0),
        reads: Reads::ScoreDifference(p::mcc),
        ..pair("mcc_difference", "MCC_difference", "difference in Matthews correlation", "MCC_A - MCC_B")
    },
    Metric {
        range: (f64::NEG_INFINITY, f64::INFINITY),
        ideal: Some(1.0),
        sign: RATIO_SIGN,
        undefined_when: RATIO_UNDEFINED,
        reading: "how many times as large the value of A is",
        reads: Reads::ScoreRatio(p::mcc),
        ..pair("mcc_ratio", "MCC_ratio", "ratio of Matthews correlation", "MCC_A / MCC_B")
    },
    to_total("prev_to_total", "PREV_to_total", "distance to all in prevalence", "max |PREV_group - PREV_all|", Reads::RateToTotal(p::prev)),
    Metric {
        needs_label: false,
        ..to_total(
            "pprev_to_total",
            "PPREV_to_total",
            "distance to all in predicted prevalence",
            "max |PPREV_group - PPREV_all|",
            Reads::RateToTotal(p::pprev),
        )
    },
    to_total("acc_to_total", "ACC_to_total", "distance to all in accuracy", "max |ACC_group - ACC_all|", Reads::RateToTotal(p::acc)),
    to_total(
        "tpr_to_total",
        "TPR_to_total",
        "distance to all in true positive rate",
        "max |TPR_group - TPR_all|",
        Reads::RateToTotal(p::tpr),
    ),
    to_total(
        "fnr_to_total",
        "FNR_to_total",
        "distance to all in false negative rate",
        "max |FNR_group - FNR_all|",
        Reads::RateToTotal(p::fnr),
    ),
    to_total(
        "tnr_to_total",
        "TNR_to_total",
        "distance to all in true negative rate",
        "max |TNR_group - TNR_all|",
        Reads::RateToTotal(p::tnr),
    ),
    to_total(
        "fpr_to_total",
        "FPR_to_total",
        "distance to all in false positive rate",
        "max |FPR_group - FPR_all|",
        Reads::RateToTotal(p::fpr),
    ),
    to_total("ppv_to_total", "PPV_to_total", "distance to all in precision", "max |PPV_group - PPV_all|", Reads::RateToTotal(p::ppv)),
    to_total(
        "fdr_to_total",
        "FDR_to_total",
        "distance to all in false discovery rate",
        "max |FDR_group - FDR_all|",
        Reads::RateToTotal(p::fdr),
    ),
    to_total(
        "npv_to_total",
        "NPV_to_total",
        "distance to all in negative predictive value",
        "max |NPV_group - NPV_all|",
        Reads::RateToTotal(p::npv),
    ),
    to_total(
        "for_to_total",
        "FOR_to_total",
        "distance to all in false omission rate",
        "max |FOR_group - FOR_all|",
        Reads::RateToTotal(p::fomr),
    ),
    to_total(
        "bacc_to_total",
        "BACC_to_total",
        "distance to all in balanced accuracy",
        "max |BACC_group - BACC_all|",
        Reads::ScoreToTotal(p::bacc),
    ),
    to_total("f1_to_total", "F1_to_total", "distance to all in F1 score", "max |F1_group - F1_all|", Reads::ScoreToTotal(p::f1)),
    Metric {
        range: (0.0, 2.0),
        ..to_total(
            "mcc_to_total",
            "MCC_to_total",
            "distance to all in Matthews correlation",
            "max |MCC_group - MCC_all|",
            Reads::ScoreToTotal(p::mcc),
        )
    },
];

/// The mean of TPR and FPR, of which the average odds difference is the gap.
fn mean_odds(c: &Confusion) -> Value {
    both(p::tpr(c).value(), p::fpr(c).value(), |tpr, fpr| Ok(f64::midpoint(tpr, fpr)))
}
