//! Metrics of the extended counterfactual confusion matrix: which right and which wrong predictions
//! switch. They need a label.
//!
//! Source: The Matrix Reloaded and Towards Counterfactual Group Fairness. The journal words TSNR as
//! the share of true positives that switch; that is TPSR, and the formula TSN / (TSN + FSN) holds.

use super::ccm::{self, switch};
use crate::metric::DirectionSide::{New, Original};
use crate::metric::evidence::person::Eccm;
use crate::metric::{GapTransform, Metric, MetricFamily, MetricUnit, Reads, WorseEnd};

/// What rates of one direction by label have in common.
const RATE: Metric = Metric {
    family: MetricFamily::Eccm,
    needs_label: true,
    unit: MetricUnit::Share,
    ..Metric::UNSTATED
};

/// What ratios of such rates of two directions have in common.
const RATIO: Metric = Metric { family: MetricFamily::Eccm, needs_label: true, ..ccm::RATIO };

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "tsnr", "TSNR", reads: Reads::SwitchRate(tsnr), shown: at![SwitchRows 15], ..RATE;
    "fsnr", "FSNR", reads: Reads::SwitchRate(fsnr), shown: at![SwitchRows 16], ..RATE;
    "tspr", "TSPR", reads: Reads::SwitchRate(tspr), shown: at![SwitchRows 17], ..RATE;
    "fspr", "FSPR", reads: Reads::SwitchRate(fspr), shown: at![SwitchRows 18], ..RATE;
    "tpsr", "TPSR", reads: Reads::SwitchRate(tpsr), ideal: Some(0.0),
        impaired: switch(WorseEnd::High, New, New),
        shown: at![SwitchRows 11, SwitchColumns 6, SwitchWhiskers 5, ClassSwitches 5, ArmSwitches
            4], ..RATE;
    "fpsr", "FPSR", reads: Reads::SwitchRate(fpsr), ideal: Some(0.0),
        impaired: switch(WorseEnd::High, Original, Original),
        shown: at![SwitchRows 12, SwitchColumns 7, SwitchWhiskers 6, ClassSwitches 6, ArmSwitches
            5], ..RATE;
    "tnsr", "TNSR", reads: Reads::SwitchRate(tnsr), ideal: Some(0.0),
        impaired: switch(WorseEnd::High, New, New),
        shown: at![SwitchRows 13, SwitchColumns 8, SwitchWhiskers 7, ArmSwitches 6], ..RATE;
    "fnsr", "FNSR", reads: Reads::SwitchRate(fnsr), ideal: Some(0.0),
        impaired: switch(WorseEnd::High, Original, Original),
        shown: at![SwitchRows 14, SwitchColumns 9, SwitchWhiskers 8, ArmSwitches 7], ..RATE;
    "tsnr_ratio", "TSNR_ratio", reads: Reads::SwitchRatio(tsnr),
        gap_of: Some(("tsnr", GapTransform::Ratio)), ..RATIO;
    "tspr_ratio", "TSPR_ratio", reads: Reads::SwitchRatio(tspr),
        gap_of: Some(("tspr", GapTransform::Ratio)), ..RATIO;
    "tpsr_ratio", "TPSR_ratio", reads: Reads::SwitchRatio(tpsr),
        gap_of: Some(("tpsr", GapTransform::Ratio)), ..RATIO;
    "fpsr_ratio", "FPSR_ratio", reads: Reads::SwitchRatio(fpsr),
        gap_of: Some(("fpsr", GapTransform::Ratio)), ..RATIO;
    "tnsr_ratio", "TNSR_ratio", reads: Reads::SwitchRatio(tnsr),
        gap_of: Some(("tnsr", GapTransform::Ratio)), ..RATIO;
    "fnsr_ratio", "FNSR_ratio", reads: Reads::SwitchRatio(fnsr),
        gap_of: Some(("fnsr", GapTransform::Ratio)), ..RATIO;
};

rates! { Eccm labelled_rate {
    tsnr(e): e.tsn(), e.tsn() + e.fsn(), NoSwitchedNegative;
    fsnr(e): e.fsn(), e.tsn() + e.fsn(), NoSwitchedNegative;
    tspr(e): e.tsp(), e.tsp() + e.fsp(), NoSwitchedPositive;
    fspr(e): e.fsp(), e.tsp() + e.fsp(), NoSwitchedPositive;
    tpsr(e): e.tsn(), e.tsn() + e.tcp(), NoTruePositive;
    fpsr(e): e.fsn(), e.fsn() + e.fcp(), NoFalsePositive;
    tnsr(e): e.tsp(), e.tsp() + e.tcn(), NoTrueNegative;
    fnsr(e): e.fsp(), e.fsp() + e.fcn(), NoFalseNegative;
} }

#[cfg(test)]
mod tests {
    use super::*;

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
