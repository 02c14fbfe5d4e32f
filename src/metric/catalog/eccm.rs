//! Metrics of the extended counterfactual confusion matrix: which right and which wrong predictions
//! switch. They need a label.
//!
//! Source: The Matrix Reloaded and Towards Counterfactual Group Fairness. The journal words TSNR as
//! the share of true positives that switch; that is TPSR, and the formula TSN / (TSN + FSN) holds.

use super::ccm;
use super::place::PageList as L;
use super::place::PagePlace::At;
use crate::metric::evidence::person::Eccm;
use crate::metric::rate::{Rate, Undefined};
use crate::metric::{
    DirectionSide, ImpairedGroupRule, Metric, MetricFamily, MetricUnit, Reads, WorseEnd,
};

const PAPERS: &str = "The Matrix Reloaded; Towards Counterfactual Group Fairness, extended \
    counterfactual confusion matrix";

const fn metric(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    ideal: Option<f64>,
    rate: fn(&Eccm) -> Rate,
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Eccm,
        range: (0.0, 1.0),
        ideal,
        sign: "a share: never negative",
        source: PAPERS,
        needs_label: true,
        reads: Reads::SwitchRate(rate),
        unit: MetricUnit::Share,
        ..Metric::UNSTATED
    }
}

const fn ratio_of_directions(
    base: &'static str,
    names: [&'static str; 4],
    rate: fn(&Eccm) -> Rate,
) -> Metric {
    Metric {
        family: MetricFamily::Eccm,
        needs_label: true,
        ..ccm::ratio_of_directions(base, names, rate)
    }
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        formula: "TSN / (TSN + FSN)",
        undefined_when: "no prediction turns negative",
        shown: &[At(L::SwitchRows, 15)],
        ..metric("tsnr", "TSNR", "true switched negative rate", None, tsnr)
    },
    Metric {
        formula: "FSN / (TSN + FSN)",
        undefined_when: "no prediction turns negative",
        shown: &[At(L::SwitchRows, 16)],
        ..metric("fsnr", "FSNR", "false switched negative rate", None, fsnr)
    },
    Metric {
        formula: "TSP / (TSP + FSP)",
        undefined_when: "no prediction turns positive",
        shown: &[At(L::SwitchRows, 17)],
        ..metric("tspr", "TSPR", "true switched positive rate", None, tspr)
    },
    Metric {
        formula: "FSP / (TSP + FSP)",
        undefined_when: "no prediction turns positive",
        shown: &[At(L::SwitchRows, 18)],
        ..metric("fspr", "FSPR", "false switched positive rate", None, fspr)
    },
    Metric {
        formula: "TSN / TP",
        undefined_when: "there is no true positive",
        impaired: ImpairedGroupRule::Switch {
            worse: WorseEnd::High,
            if_positive: DirectionSide::New,
            if_negative: DirectionSide::New,
        },
        shown: &[
            At(L::SwitchRows, 11),
            At(L::SwitchColumns, 6),
            At(L::SwitchWhiskers, 5),
            At(L::ClassSwitches, 5),
            At(L::ArmSwitches, 4),
        ],
        ..metric("tpsr", "TPSR", "true positive switch rate", Some(0.0), tpsr)
    },
    Metric {
        formula: "FSN / FP",
        undefined_when: "there is no false positive",
        impaired: ImpairedGroupRule::Switch {
            worse: WorseEnd::High,
            if_positive: DirectionSide::Original,
            if_negative: DirectionSide::Original,
        },
        shown: &[
            At(L::SwitchRows, 12),
            At(L::SwitchColumns, 7),
            At(L::SwitchWhiskers, 6),
            At(L::ClassSwitches, 6),
            At(L::ArmSwitches, 5),
        ],
        ..metric("fpsr", "FPSR", "false positive switch rate", Some(0.0), fpsr)
    },
    Metric {
        formula: "TSP / TN",
        undefined_when: "there is no true negative",
        impaired: ImpairedGroupRule::Switch {
            worse: WorseEnd::High,
            if_positive: DirectionSide::New,
            if_negative: DirectionSide::New,
        },
        shown: &[
            At(L::SwitchRows, 13),
            At(L::SwitchColumns, 8),
            At(L::SwitchWhiskers, 7),
            At(L::ArmSwitches, 6),
        ],
        ..metric("tnsr", "TNSR", "true negative switch rate", Some(0.0), tnsr)
    },
    Metric {
        formula: "FSP / FN",
        undefined_when: "there is no false negative",
        impaired: ImpairedGroupRule::Switch {
            worse: WorseEnd::High,
            if_positive: DirectionSide::Original,
            if_negative: DirectionSide::Original,
        },
        shown: &[
            At(L::SwitchRows, 14),
            At(L::SwitchColumns, 9),
            At(L::SwitchWhiskers, 8),
            At(L::ArmSwitches, 7),
        ],
        ..metric("fnsr", "FNSR", "false negative switch rate", Some(0.0), fnsr)
    },
    ratio_of_directions(
        "tsnr",
        [
            "tsnr_ratio",
            "TSNR_ratio",
            "ratio of true switched negative rates",
            "TSNR(A -> B) / TSNR(B -> A)",
        ],
        tsnr,
    ),
    ratio_of_directions(
        "tspr",
        [
            "tspr_ratio",
            "TSPR_ratio",
            "ratio of true switched positive rates",
            "TSPR(A -> B) / TSPR(B -> A)",
        ],
        tspr,
    ),
    ratio_of_directions(
        "tpsr",
        [
            "tpsr_ratio",
            "TPSR_ratio",
            "ratio of true positive switch rates",
            "TPSR(A -> B) / TPSR(B -> A)",
        ],
        tpsr,
    ),
    ratio_of_directions(
        "fpsr",
        [
            "fpsr_ratio",
            "FPSR_ratio",
            "ratio of false positive switch rates",
            "FPSR(A -> B) / FPSR(B -> A)",
        ],
        fpsr,
    ),
    ratio_of_directions(
        "tnsr",
        [
            "tnsr_ratio",
            "TNSR_ratio",
            "ratio of true negative switch rates",
            "TNSR(A -> B) / TNSR(B -> A)",
        ],
        tnsr,
    ),
    ratio_of_directions(
        "fnsr",
        [
            "fnsr_ratio",
            "FNSR_ratio",
            "ratio of false negative switch rates",
            "FNSR(A -> B) / FNSR(B -> A)",
        ],
        fnsr,
    ),
];

fn tsnr(e: &Eccm) -> Rate {
    e.labelled_rate(e.tsn(), e.tsn() + e.fsn(), Undefined::NoSwitchedNegative)
}

fn fsnr(e: &Eccm) -> Rate {
    e.labelled_rate(e.fsn(), e.tsn() + e.fsn(), Undefined::NoSwitchedNegative)
}

fn tspr(e: &Eccm) -> Rate {
    e.labelled_rate(e.tsp(), e.tsp() + e.fsp(), Undefined::NoSwitchedPositive)
}

fn fspr(e: &Eccm) -> Rate {
    e.labelled_rate(e.fsp(), e.tsp() + e.fsp(), Undefined::NoSwitchedPositive)
}

fn tpsr(e: &Eccm) -> Rate {
    e.labelled_rate(e.tsn(), e.tsn() + e.tcp(), Undefined::NoTruePositive)
}

fn fpsr(e: &Eccm) -> Rate {
    e.labelled_rate(e.fsn(), e.fsn() + e.fcp(), Undefined::NoFalsePositive)
}

fn tnsr(e: &Eccm) -> Rate {
    e.labelled_rate(e.tsp(), e.tsp() + e.tcn(), Undefined::NoTrueNegative)
}

fn fnsr(e: &Eccm) -> Rate {
    e.labelled_rate(e.fsp(), e.fsp() + e.fcn(), Undefined::NoFalseNegative)
}

#[cfg(test)]
mod tests {
    use super::METRICS;
    use crate::metric::Reads;
    use crate::metric::evidence::person::Eccm;

    /// The Matrix Reloaded, Figure 3 and Table 1, group S1: TCN, TSP, FSN, FCP, FCN, FSP, TSN, TCP.
    #[test]
    fn published() {
        let e = Eccm::labelled([36, 54, 90, 18, 72, 18, 141, 36]);
        let printed = [
            ("tsnr", 0.61),
            ("tspr", 0.75),
            ("tpsr", 0.80),
            ("fpsr", 0.83),
            ("tnsr", 0.60),
            ("fnsr", 0.20),
        ];
        for (id, printed) in printed {
            let metric = METRICS.iter().find(|metric| metric.id == id).unwrap();
            let Reads::SwitchRate(rate) = metric.reads else { unreachable!() };
            let found = rate(&e).value().unwrap();
            assert!((found - printed).abs() <= 0.005 + 1e-12, "{id}: {found} instead of {printed}");
        }
    }
}
