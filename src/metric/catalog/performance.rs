//! Metrics of one group's confusion counts: accuracy, recall, precision and related rates.
//!
//! All are about class 1. Complements are computed from counts, never as 1 - x.

use super::place::PageList as L;
use super::place::PagePlace::{self, At, BesideBase, BesideWidest, TablesOnly};
use crate::metric::ImpairedGroupRule::{self, LowerRate, Unstated};
use crate::metric::estimate::curve::CellFunction;
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::{
    GroupValue, Metric, MetricFamily, MetricGaps, MetricUnit, RateOfGroup, Reads, phi,
};

/// What rates of one group have in common.
const RATE: Metric = Metric {
    family: MetricFamily::Performance,
    needs_label: true,
    unit: MetricUnit::Share,
    ..Metric::UNSTATED
};

const fn gaps(impaired: ImpairedGroupRule, shown: [&'static [PagePlace]; 3]) -> Option<MetricGaps> {
    Some(MetricGaps { impaired, shown })
}

/// A difference and a ratio in the row of the metric, and no distance to all.
const GAPS: [&[PagePlace]; 3] = [&[BesideBase], &[BesideBase], &[TablesOnly]];

/// As [`GAPS`], with the distance to all in the row of the widest gap, and more places of the
/// difference.
const fn widest(difference: &'static [PagePlace]) -> [&'static [PagePlace]; 3] {
    [difference, &[BesideBase], &[BesideWidest]]
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "prev", "PREV", reads: rate(prev), gaps: gaps(Unstated, GAPS),
        shown: at![GroupRows 2, GroupColumns 2, ClassGroups 1], ..RATE;
    "pprev", "PPREV", reads: rate(pprev), needs_label: false,
        gaps: gaps(LowerRate(pprev), widest(&[BesideBase])),
        shown: at![GroupRows 1, GroupColumns 1, ClassGroups 2, ArmPerformance 8], has_curve: true,
        ..RATE;
    "acc", "ACC", reads: rate(acc), ideal: Some(1.0),
        gaps: gaps(Unstated, widest(&[BesideBase, At(L::PairGaps, 10), At(L::WidestGaps, 9),
            At(L::ArmGaps, 7)])),
        shown: at![GroupRows 3, GroupColumns 3, Slices 2, ArmPerformance 1, ArmFolds 1], ..RATE;
    "tpr", "TPR", reads: rate(tpr), ideal: Some(1.0),
        gaps: gaps(LowerRate(tpr), widest(&[BesideBase])),
        shown: at![GroupRows 5, GroupColumns 4, ClassGroups 3, ArmPerformance 3, ArmFolds 2],
        has_curve: true, ..RATE;
    "fnr", "FNR", reads: rate(fnr), ideal: Some(0.0), gaps: gaps(LowerRate(tpr), GAPS),
        shown: at![GroupRows 6], ..RATE;
    "tnr", "TNR", reads: rate(tnr), ideal: Some(1.0), gaps: gaps(LowerRate(fpr), GAPS),
        shown: at![GroupRows 7, ArmPerformance 4, ArmFolds 3], ..RATE;
    "fpr", "FPR", reads: rate(fpr), ideal: Some(0.0),
        gaps: gaps(LowerRate(fpr), widest(&[BesideBase])),
        shown: at![GroupRows 8, GroupColumns 5, ClassGroups 4], has_curve: true, ..RATE;
    "ppv", "PPV", reads: rate(ppv), ideal: Some(1.0), gaps: gaps(Unstated, widest(&[BesideBase])),
        shown: at![GroupRows 9, GroupColumns 6, ClassGroups 5, ArmPerformance 5], ..RATE;
    "fdr", "FDR", reads: rate(fdr), ideal: Some(0.0), gaps: gaps(Unstated, GAPS),
        shown: at![GroupRows 10], ..RATE;
    "npv", "NPV", reads: rate(npv), ideal: Some(1.0), gaps: gaps(Unstated, GAPS),
        shown: at![GroupRows 11, GroupColumns 7], ..RATE;
    "for", "FOR", reads: rate(fomr), ideal: Some(0.0), gaps: gaps(Unstated, GAPS),
        shown: at![GroupRows 12], ..RATE;
    "bacc", "BACC", reads: BACC, ideal: Some(1.0), gaps: gaps(Unstated, GAPS),
        shown: at![GroupRows 4, ArmPerformance 2], ..RATE;
    "f1", "F1", reads: F1, ideal: Some(1.0), unit: MetricUnit::Number,
        gaps: gaps(Unstated, widest(&[BesideBase, At(L::WidestGaps, 10)])),
        shown: at![GroupRows 13, GroupColumns 8, ClassGroups 6, ArmPerformance 6], ..RATE;
    "mcc", "MCC", reads: MCC, ideal: Some(1.0), range: (-1.0, 1.0), unit: MetricUnit::Number,
        gaps: gaps(Unstated, widest(&[BesideBase, At(L::WidestGaps, 11)])),
        shown: at![GroupRows 14, GroupColumns 9, ClassGroups 7, ArmPerformance 7], ..RATE;
};

/// The share of people with a prediction who are predicted positive; needs no label.
pub(crate) fn pprev(c: &Confusion) -> Rate {
    Rate::of(c.predicted_as(true), c.predicted())
}

rates! { Confusion rate {
    prev(c): c.actual_positive(), c.n(), EmptyGroup;
    acc(c): c.tp + c.tn, c.n(), EmptyGroup;
    tpr(c): c.tp, c.actual_positive(), NoActualPositive;
    fnr(c): c.fn_, c.actual_positive(), NoActualPositive;
    tnr(c): c.tn, c.actual_negative(), NoActualNegative;
    fpr(c): c.fp, c.actual_negative(), NoActualNegative;
    ppv(c): c.tp, c.predicted_positive(), NoPredictedPositive;
    fdr(c): c.fp, c.predicted_positive(), NoPredictedPositive;
    npv(c): c.tn, c.predicted_negative(), NoPredictedNegative;
    fomr(c): c.fn_, c.predicted_negative(), NoPredictedNegative;
    /// TP / (TP + FP + FN), of which F1 is a function: 2 J / (1 + J).
    jaccard(c): c.tp, c.tp + c.fp + c.fn_, ZeroDenominator;
} }

const fn rate(of: RateOfGroup) -> Reads {
    Reads::Group(GroupValue::Rate(of), None)
}

const BACC: Reads = Reads::Group(GroupValue::MeanOfRates([tpr, tnr]), None);
const F1: Reads = Reads::Group(GroupValue::OfRate(f1, jaccard, |j| 2.0 * j / (1.0 + j)), None);
const MCC: Reads = Reads::Group(GroupValue::OfCells(mcc, CellFunction::Correlation), None);

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
    use super::*;

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
                Reads::Group(GroupValue::Rate(rate), None) => rate(&c).value(),
                Reads::Group(of, None) => of.score(&c),
                _ => unreachable!(),
            };
            assert_eq!(metric.id, id);
            assert!((found.unwrap() - value).abs() < 1e-15, "{id}");
        }
    }

    #[test]
    fn reasons() {
        let none = Confusion::default();
        let bacc = |c: &Confusion| GroupValue::MeanOfRates([tpr, tnr]).score(c);
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
