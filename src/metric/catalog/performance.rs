//! Metrics of one group's confusion counts: accuracy, recall, precision and their kin.
//!
//! All are about class 1. Complements are divided from counts, never taken as 1 - x.

use super::place::PageList as L;
use super::place::PagePlace::{self, At, BesideBase, BesideWidest, TablesOnly};
use crate::metric::estimate::Dual;
use crate::metric::estimate::curve::CellFunction;
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::{
    GapTransform, ImpairedGroupRule, Metric, MetricFamily, MetricGaps, MetricUnit, Reads, combine,
    phi,
};

const FAWCETT: &str = "Fawcett 2006, An introduction to ROC analysis";
const EMPTY: &str = "the group is empty";

const fn metric(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    ideal: Option<f64>,
    reads: Reads,
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Performance,
        range: (0.0, 1.0),
        ideal,
        sign: "a share: never negative",
        undefined_when: EMPTY,
        source: FAWCETT,
        needs_label: true,
        reads,
        unit: MetricUnit::Share,
        ..Metric::UNSTATED
    }
}

const fn gaps(
    called: &'static str,
    impaired: ImpairedGroupRule,
    each: &'static [(GapTransform, &'static [PagePlace])],
) -> Option<MetricGaps> {
    Some(MetricGaps { called, impaired, each })
}

/// A difference and a ratio in the row of the metric.
const GAPS: &[(GapTransform, &[PagePlace])] = &[
    (GapTransform::Difference, &[BesideBase]),
    (GapTransform::Ratio, &[BesideBase]),
    (GapTransform::ToTotal, &[TablesOnly]),
];

/// The same with the distance to all in the row of the widest gap.
const GAPS_AND_DISTANCE: &[(GapTransform, &[PagePlace])] = &[
    (GapTransform::Difference, &[BesideBase]),
    (GapTransform::Ratio, &[BesideBase]),
    (GapTransform::ToTotal, &[BesideWidest]),
];

const GAPS_OF_ACC: &[(GapTransform, &[PagePlace])] = &[
    (
        GapTransform::Difference,
        &[BesideBase, At(L::PairGaps, 10), At(L::WidestGaps, 9), At(L::ArmGaps, 7)],
    ),
    (GapTransform::Ratio, &[BesideBase]),
    (GapTransform::ToTotal, &[BesideWidest]),
];

const GAPS_OF_F1: &[(GapTransform, &[PagePlace])] = &[
    (GapTransform::Difference, &[BesideBase, At(L::WidestGaps, 10)]),
    (GapTransform::Ratio, &[BesideBase]),
    (GapTransform::ToTotal, &[BesideWidest]),
];

const GAPS_OF_MCC: &[(GapTransform, &[PagePlace])] = &[
    (GapTransform::Difference, &[BesideBase, At(L::WidestGaps, 11)]),
    (GapTransform::Ratio, &[BesideBase]),
    (GapTransform::ToTotal, &[BesideWidest]),
];

/// Of which demographic parity is the gap.
pub(super) const PPREV: Metric = Metric {
    formula: "people predicted positive / people with a prediction",
    needs_label: false,
    shown: &[
        At(L::GroupRows, 1),
        At(L::GroupColumns, 1),
        At(L::ClassGroups, 2),
        At(L::ArmPerformance, 8),
    ],
    gaps: gaps("predicted prevalence", ImpairedGroupRule::LowerRate(pprev), GAPS_AND_DISTANCE),
    has_curve: true,
    ..metric("pprev", "PPREV", "predicted prevalence", None, Reads::Rate(pprev))
};

/// Of which equal opportunity is the gap.
pub(super) const TPR: Metric = Metric {
    formula: "TP / (TP + FN)",
    undefined_when: "nobody has the positive label",
    shown: &[
        At(L::GroupRows, 5),
        At(L::GroupColumns, 4),
        At(L::ClassGroups, 3),
        At(L::ArmPerformance, 3),
        At(L::ArmFolds, 2),
    ],
    gaps: gaps("true positive rate", ImpairedGroupRule::LowerRate(tpr), GAPS_AND_DISTANCE),
    has_curve: true,
    ..metric("tpr", "TPR", "true positive rate, recall", Some(1.0), Reads::Rate(tpr))
};

/// Of which predictive equality is the gap.
pub(super) const FPR: Metric = Metric {
    formula: "FP / (TN + FP)",
    undefined_when: "nobody has the negative label",
    shown: &[At(L::GroupRows, 8), At(L::GroupColumns, 5), At(L::ClassGroups, 4)],
    gaps: gaps("false positive rate", ImpairedGroupRule::LowerRate(fpr), GAPS_AND_DISTANCE),
    has_curve: true,
    ..metric("fpr", "FPR", "false positive rate", Some(0.0), Reads::Rate(fpr))
};

/// Of which predictive parity is the gap.
pub(super) const PPV: Metric = Metric {
    formula: "TP / (TP + FP)",
    undefined_when: "nobody is predicted positive",
    shown: &[
        At(L::GroupRows, 9),
        At(L::GroupColumns, 6),
        At(L::ClassGroups, 5),
        At(L::ArmPerformance, 5),
    ],
    gaps: gaps("precision", ImpairedGroupRule::Unstated, GAPS_AND_DISTANCE),
    ..metric("ppv", "PPV", "positive predictive value, precision", Some(1.0), Reads::Rate(ppv))
};

/// The list of this family.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        formula: "(TP + FN) / N",
        shown: &[At(L::GroupRows, 2), At(L::GroupColumns, 2), At(L::ClassGroups, 1)],
        gaps: gaps("prevalence", ImpairedGroupRule::Unstated, GAPS),
        ..metric("prev", "PREV", "prevalence", None, Reads::Rate(prev))
    },
    PPREV,
    Metric {
        formula: "(TP + TN) / N",
        shown: &[
            At(L::GroupRows, 3),
            At(L::GroupColumns, 3),
            At(L::Slices, 2),
            At(L::ArmPerformance, 1),
            At(L::ArmFolds, 1),
        ],
        gaps: gaps("accuracy", ImpairedGroupRule::Unstated, GAPS_OF_ACC),
        ..metric("acc", "ACC", "accuracy", Some(1.0), Reads::Rate(acc))
    },
    TPR,
    Metric {
        formula: "FN / (TP + FN)",
        undefined_when: "nobody has the positive label",
        shown: &[At(L::GroupRows, 6)],
        gaps: gaps("false negative rate", ImpairedGroupRule::LowerRate(tpr), GAPS),
        ..metric("fnr", "FNR", "false negative rate", Some(0.0), Reads::Rate(fnr))
    },
    Metric {
        formula: "TN / (TN + FP)",
        undefined_when: "nobody has the negative label",
        shown: &[At(L::GroupRows, 7), At(L::ArmPerformance, 4), At(L::ArmFolds, 3)],
        gaps: gaps("true negative rate", ImpairedGroupRule::LowerRate(fpr), GAPS),
        ..metric("tnr", "TNR", "true negative rate, specificity", Some(1.0), Reads::Rate(tnr))
    },
    FPR,
    PPV,
    Metric {
        formula: "FP / (TP + FP)",
        undefined_when: "nobody is predicted positive",
        shown: &[At(L::GroupRows, 10)],
        gaps: gaps("false discovery rate", ImpairedGroupRule::Unstated, GAPS),
        ..metric("fdr", "FDR", "false discovery rate", Some(0.0), Reads::Rate(fdr))
    },
    Metric {
        formula: "TN / (TN + FN)",
        undefined_when: "nobody is predicted negative",
        shown: &[At(L::GroupRows, 11), At(L::GroupColumns, 7)],
        gaps: gaps("negative predictive value", ImpairedGroupRule::Unstated, GAPS),
        ..metric("npv", "NPV", "negative predictive value", Some(1.0), Reads::Rate(npv))
    },
    Metric {
        formula: "FN / (TN + FN)",
        undefined_when: "nobody is predicted negative",
        shown: &[At(L::GroupRows, 12)],
        gaps: gaps("false omission rate", ImpairedGroupRule::Unstated, GAPS),
        ..metric("for", "FOR", "false omission rate", Some(0.0), Reads::Rate(fomr))
    },
    Metric {
        formula: "(TPR + TNR) / 2",
        undefined_when: "TPR or TNR is undefined",
        source: "Brodersen et al. 2010, The balanced accuracy and its posterior distribution",
        shown: &[At(L::GroupRows, 4), At(L::ArmPerformance, 2)],
        gaps: gaps("balanced accuracy", ImpairedGroupRule::Unstated, GAPS),
        ..metric("bacc", "BACC", "balanced accuracy", Some(1.0), Reads::Score(bacc))
    },
    Metric {
        formula: "2 TP / (2 TP + FP + FN)",
        undefined_when: "there is neither a positive label nor a positive prediction",
        source: "van Rijsbergen 1979, Information Retrieval",
        unit: MetricUnit::Number,
        shown: &[
            At(L::GroupRows, 13),
            At(L::GroupColumns, 8),
            At(L::ClassGroups, 6),
            At(L::ArmPerformance, 6),
        ],
        gaps: gaps("F1 score", ImpairedGroupRule::Unstated, GAPS_OF_F1),
        ..metric("f1", "F1", "F1 score", Some(1.0), Reads::Score(f1))
    },
    Metric {
        formula: "(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))",
        range: (-1.0, 1.0),
        sign: "above 0: better than chance",
        undefined_when: "one label or one prediction does not occur",
        source: "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 \
                 phage lysozyme",
        unit: MetricUnit::Number,
        shown: &[
            At(L::GroupRows, 14),
            At(L::GroupColumns, 9),
            At(L::ClassGroups, 7),
            At(L::ArmPerformance, 7),
        ],
        gaps: gaps("Matthews correlation", ImpairedGroupRule::Unstated, GAPS_OF_MCC),
        ..metric("mcc", "MCC", "Matthews correlation coefficient", Some(1.0), Reads::Score(mcc))
    },
];

/// (TP + FN) / n.
pub(crate) fn prev(c: &Confusion) -> Rate {
    c.rate(c.actual_positive(), c.n(), Undefined::EmptyGroup)
}

/// The share of people with a prediction who are predicted positive; needs no label.
pub(crate) fn pprev(c: &Confusion) -> Rate {
    Rate {
        numerator: c.predicted_as(true),
        denominator: c.predicted(),
        empty: Undefined::EmptyGroup,
    }
}

/// (TP + TN) / n.
pub(crate) fn acc(c: &Confusion) -> Rate {
    c.rate(c.tp + c.tn, c.n(), Undefined::EmptyGroup)
}

/// TP / (TP + FN).
pub(crate) fn tpr(c: &Confusion) -> Rate {
    c.rate(c.tp, c.actual_positive(), Undefined::NoActualPositive)
}

/// FN / (TP + FN).
pub(crate) fn fnr(c: &Confusion) -> Rate {
    c.rate(c.fn_, c.actual_positive(), Undefined::NoActualPositive)
}

/// TN / (TN + FP).
pub(crate) fn tnr(c: &Confusion) -> Rate {
    c.rate(c.tn, c.actual_negative(), Undefined::NoActualNegative)
}

/// FP / (TN + FP).
pub(crate) fn fpr(c: &Confusion) -> Rate {
    c.rate(c.fp, c.actual_negative(), Undefined::NoActualNegative)
}

/// TP / (TP + FP).
pub(crate) fn ppv(c: &Confusion) -> Rate {
    c.rate(c.tp, c.predicted_positive(), Undefined::NoPredictedPositive)
}

/// FP / (TP + FP).
pub(crate) fn fdr(c: &Confusion) -> Rate {
    c.rate(c.fp, c.predicted_positive(), Undefined::NoPredictedPositive)
}

/// TN / (TN + FN).
pub(crate) fn npv(c: &Confusion) -> Rate {
    c.rate(c.tn, c.predicted_negative(), Undefined::NoPredictedNegative)
}

/// FN / (TN + FN).
pub(crate) fn fomr(c: &Confusion) -> Rate {
    c.rate(c.fn_, c.predicted_negative(), Undefined::NoPredictedNegative)
}

/// (TPR + TNR) / 2; undefined where one of both is.
pub(crate) fn bacc(c: &Confusion) -> MetricValue {
    combine(tpr(c).value(), tnr(c).value(), |tpr, tnr| Ok(f64::midpoint(tpr, tnr)))
}

/// A rate of one group.
type RateOfGroup = fn(&Confusion) -> Rate;

/// How a metric of one group that is no rate follows from its cells, which gives it its interval.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ScoreShape {
    /// The mean of two rates.
    MeanOfRates([RateOfGroup; 2]),
    /// A function of a rate that rises.
    OfRate(RateOfGroup, fn(f64) -> f64),
    /// A function of TP, FP, FN and TN.
    OfCells(CellFunction),
}

/// How a metric of one group, or the metric behind a gap, follows from its cells; none of rates and
/// of what needs more than cells.
pub(crate) fn score_shape(metric: &Metric) -> Option<ScoreShape> {
    use ScoreShape::{MeanOfRates, OfCells, OfRate};
    let positive = |of| Some(OfCells(CellFunction::Positive(of)));
    match metric.gap_of.map_or(metric.id, |(base, _)| base) {
        "bacc" => Some(MeanOfRates([tpr, tnr])),
        "aod" => Some(MeanOfRates([tpr, fpr])),
        "f1" => Some(OfRate(jaccard, |jaccard| 2.0 * jaccard / (1.0 + jaccard))),
        "mcc" => Some(OfCells(CellFunction::Correlation)),
        "dcacc" => positive(|[tp, fp, fn_, _]| (tp + fn_) / (tp + fp)),
        "dcr" => positive(|[_, fp, fn_, tn]| (tn + fp) / (tn + fn_)),
        "te" => positive(|[_, fp, fn_, _]| fn_ / fp),
        "ge" => positive(|[tp, fp, fn_, tn]| {
            let benefit = tp + tn + 2.0 * fp;
            let squares = (tp + fp + fn_ + tn) * (tp + tn + 4.0 * fp);
            0.5 * (squares / (benefit * benefit) - Dual::constant(1.0))
        }),
        _ => None,
    }
}

/// TP / (TP + FP + FN), of which F1 is a function: 2 J / (1 + J).
fn jaccard(c: &Confusion) -> Rate {
    c.rate(c.tp, c.tp + c.fp + c.fn_, Undefined::ZeroDenominator)
}

/// 2 TP / (2 TP + FP + FN).
pub(crate) fn f1(c: &Confusion) -> MetricValue {
    c.rate(2 * c.tp, 2 * c.tp + c.fp + c.fn_, Undefined::ZeroDenominator).value()
}

/// The Matthews correlation coefficient, from -1 to 1; undefined where a row or a column of the
/// matrix is empty.
pub(crate) fn mcc(c: &Confusion) -> MetricValue {
    phi([c.tp, c.fp, c.fn_, c.tn], c.or_empty(Undefined::DegenerateMarginal))
}

#[cfg(test)]
mod tests {
    use super::{METRICS, bacc, f1, mcc};
    use crate::metric::Reads;
    use crate::metric::evidence::person::Confusion;
    use crate::metric::rate::Undefined;

    #[test]
    fn by_hand() {
        let c = Confusion::labelled(3, 1, 2, 4);
        let expected = [
            ("prev", 0.5),
            ("pprev", 0.4),
            ("acc", 0.7),
            ("tpr", 0.6),
            ("fnr", 0.4),
            ("tnr", 0.8),
            ("fpr", 0.2),
            ("ppv", 0.75),
            ("fdr", 0.25),
            ("npv", 4.0 / 6.0),
            ("for", 2.0 / 6.0),
            ("bacc", 0.7),
            ("f1", 6.0 / 9.0),
            ("mcc", 10.0 / 600.0_f64.sqrt()),
        ];
        for (metric, (id, value)) in METRICS.iter().zip(expected) {
            let found = match metric.reads {
                Reads::Rate(rate) => rate(&c).value(),
                Reads::Score(score) => score(&c),
                _ => unreachable!(),
            };
            assert_eq!(metric.id, id);
            assert!((found.unwrap() - value).abs() < 1e-15, "{id}");
        }
    }

    #[test]
    fn reasons() {
        let none = Confusion::default();
        assert_eq!([bacc(&none), f1(&none), mcc(&none)], [Err(Undefined::EmptyGroup); 3]);
        let negatives = Confusion { tn: 5, ..none };
        assert_eq!(bacc(&negatives), Err(Undefined::OperandMissing));
        assert_eq!(f1(&negatives), Err(Undefined::ZeroDenominator));
        assert_eq!(mcc(&negatives), Err(Undefined::DegenerateMarginal));
    }

    #[test]
    fn mcc_of_ten_billion_rows_does_not_overflow() {
        let n = 5_000_000_000;
        let found = mcc(&Confusion::labelled(n, 0, 0, n)).unwrap();
        assert!((found - 1.0).abs() < 1e-15, "{found}");
    }
}
