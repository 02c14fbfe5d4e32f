//! Metrics of one group's confusion counts: accuracy, recall, precision and their kin.
//!
//! All are about class 1. Complements are divided from counts, never taken as 1 - x.

use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::{CatalogFamily, ImpairedGroupRule, Metric, Reads, combine, phi};

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
        family: CatalogFamily::Performance,
        formula: "",
        reading: "",
        range: (0.0, 1.0),
        ideal,
        sign: "a share: never negative",
        undefined_when: EMPTY,
        source: FAWCETT,
        needs_label: true,
        reads,
        impaired: ImpairedGroupRule::Unstated,
    }
}

/// The list of this family.
pub const METRICS: &[Metric] = &[
    Metric {
        formula: "(TP + FN) / N",
        reading: "share of people with the positive label",
        ..metric("prev", "PREV", "prevalence", None, Reads::Rate(prev))
    },
    Metric {
        formula: "people predicted positive / people with a prediction",
        reading: "share of people predicted positive; the selection rate",
        needs_label: false,
        ..metric("pprev", "PPREV", "predicted prevalence", None, Reads::Rate(pprev))
    },
    Metric {
        formula: "(TP + TN) / N",
        reading: "share of right predictions",
        ..metric("acc", "ACC", "accuracy", Some(1.0), Reads::Rate(acc))
    },
    Metric {
        formula: "TP / (TP + FN)",
        reading: "share of actual positives predicted positive",
        undefined_when: "nobody has the positive label",
        ..metric("tpr", "TPR", "true positive rate, recall", Some(1.0), Reads::Rate(tpr))
    },
    Metric {
        formula: "FN / (TP + FN)",
        reading: "share of actual positives predicted negative",
        undefined_when: "nobody has the positive label",
        ..metric("fnr", "FNR", "false negative rate", Some(0.0), Reads::Rate(fnr))
    },
    Metric {
        formula: "TN / (TN + FP)",
        reading: "share of actual negatives predicted negative",
        undefined_when: "nobody has the negative label",
        ..metric("tnr", "TNR", "true negative rate, specificity", Some(1.0), Reads::Rate(tnr))
    },
    Metric {
        formula: "FP / (TN + FP)",
        reading: "share of actual negatives predicted positive",
        undefined_when: "nobody has the negative label",
        ..metric("fpr", "FPR", "false positive rate", Some(0.0), Reads::Rate(fpr))
    },
    Metric {
        formula: "TP / (TP + FP)",
        reading: "share of positive predictions that are right",
        undefined_when: "nobody is predicted positive",
        ..metric("ppv", "PPV", "positive predictive value, precision", Some(1.0), Reads::Rate(ppv))
    },
    Metric {
        formula: "FP / (TP + FP)",
        reading: "share of positive predictions that are wrong",
        undefined_when: "nobody is predicted positive",
        ..metric("fdr", "FDR", "false discovery rate", Some(0.0), Reads::Rate(fdr))
    },
    Metric {
        formula: "TN / (TN + FN)",
        reading: "share of negative predictions that are right",
        undefined_when: "nobody is predicted negative",
        ..metric("npv", "NPV", "negative predictive value", Some(1.0), Reads::Rate(npv))
    },
    Metric {
        formula: "FN / (TN + FN)",
        reading: "share of negative predictions that are wrong",
        undefined_when: "nobody is predicted negative",
        ..metric("for", "FOR", "false omission rate", Some(0.0), Reads::Rate(fomr))
    },
    Metric {
        formula: "(TPR + TNR) / 2",
        reading: "accuracy with both labels weighing the same",
        undefined_when: "TPR or TNR is undefined",
        source: "Brodersen et al. 2010, The balanced accuracy and its posterior distribution",
        ..metric("bacc", "BACC", "balanced accuracy", Some(1.0), Reads::Score(bacc))
    },
    Metric {
        formula: "2 TP / (2 TP + FP + FN)",
        reading: "harmonic mean of precision and recall",
        undefined_when: "there is neither a positive label nor a positive prediction",
        source: "van Rijsbergen 1979, Information Retrieval",
        ..metric("f1", "F1", "F1 score", Some(1.0), Reads::Score(f1))
    },
    Metric {
        formula: "(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))",
        reading: "correlation of prediction and label",
        range: (-1.0, 1.0),
        sign: "above 0: better than chance",
        undefined_when: "one label or one prediction does not occur",
        source: "Matthews 1975, Comparison of the predicted and observed secondary structure of T4 \
                 phage lysozyme",
        ..metric("mcc", "MCC", "Matthews correlation coefficient", Some(1.0), Reads::Score(mcc))
    },
];

pub(crate) fn prev(c: &Confusion) -> Rate {
    c.rate(c.actual_positive(), c.n(), Undefined::EmptyGroup)
}

pub(crate) fn pprev(c: &Confusion) -> Rate {
    Rate {
        numerator: c.predicted_as(true),
        denominator: c.predicted(),
        empty: Undefined::EmptyGroup,
    }
}

pub(crate) fn acc(c: &Confusion) -> Rate {
    c.rate(c.tp + c.tn, c.n(), Undefined::EmptyGroup)
}

pub(crate) fn tpr(c: &Confusion) -> Rate {
    c.rate(c.tp, c.actual_positive(), Undefined::NoActualPositive)
}

pub(crate) fn fnr(c: &Confusion) -> Rate {
    c.rate(c.fn_, c.actual_positive(), Undefined::NoActualPositive)
}

pub(crate) fn tnr(c: &Confusion) -> Rate {
    c.rate(c.tn, c.actual_negative(), Undefined::NoActualNegative)
}

pub(crate) fn fpr(c: &Confusion) -> Rate {
    c.rate(c.fp, c.actual_negative(), Undefined::NoActualNegative)
}

pub(crate) fn ppv(c: &Confusion) -> Rate {
    c.rate(c.tp, c.predicted_positive(), Undefined::NoPredictedPositive)
}

pub(crate) fn fdr(c: &Confusion) -> Rate {
    c.rate(c.fp, c.predicted_positive(), Undefined::NoPredictedPositive)
}

pub(crate) fn npv(c: &Confusion) -> Rate {
    c.rate(c.tn, c.predicted_negative(), Undefined::NoPredictedNegative)
}

pub(crate) fn fomr(c: &Confusion) -> Rate {
    c.rate(c.fn_, c.predicted_negative(), Undefined::NoPredictedNegative)
}

pub(crate) fn bacc(c: &Confusion) -> MetricValue {
    combine(tpr(c).value(), tnr(c).value(), |tpr, tnr| Ok(f64::midpoint(tpr, tnr)))
}

pub(crate) fn f1(c: &Confusion) -> MetricValue {
    c.rate(2 * c.tp, 2 * c.tp + c.fp + c.fn_, Undefined::ZeroDenominator).value()
}

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
        assert_eq!(bacc(&negatives), Err(Undefined::OperandUndefined));
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
