//! Metrics of the counterfactual confusion matrix: which predictions stay and which switch. They
//! need no label.
//!
//! Source: The Matrix Reloaded and Towards Counterfactual Group Fairness. In a direction A -> B the
//! people of A are predicted as they are and as if they belonged to B. With more than two groups a
//! person has several counterfactuals: the metrics named `..._any` ask whether any of them
//! switches.

use super::place::PagePlace::TablesOnly;
use crate::metric::DirectionSide::{self, New, Original};
use crate::metric::evidence::person::Eccm;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::metric::{
    GapTransform, ImpairedGroupRule, Metric, MetricFamily, MetricUnit, Reads, WorseEnd, combine,
    phi,
};

/// The metric that counts everybody whose decision switches.
pub(crate) const SWITCH_RATE: &str = "sr";

/// The two metrics of harm to a group: of the people of the group, and of those of every other.
pub(crate) const HARM: [&str; 2] = ["denied_by_group", "favoured_by_group"];

/// What rates of one direction have in common.
const RATE: Metric =
    Metric { family: MetricFamily::Ccm, unit: MetricUnit::Share, ..Metric::UNSTATED };

/// What ratios of a rate of the direction A -> B to that of B -> A have in common.
pub(super) const RATIO: Metric = Metric {
    range: (0.0, f64::INFINITY),
    ideal: Some(1.0),
    unit: MetricUnit::Times,
    shown: &[TablesOnly],
    ..RATE
};

/// Who is harmed where the positive prediction is favourable, and where the negative one is.
pub(super) const fn switch(
    worse: WorseEnd,
    if_positive: DirectionSide,
    if_negative: DirectionSide,
) -> ImpairedGroupRule {
    ImpairedGroupRule::Switch { worse, if_positive, if_negative }
}

/// Positive predictions that get lost: where they are favourable, the new group does not get them.
const fn positives(worse: WorseEnd) -> ImpairedGroupRule {
    switch(worse, New, Original)
}

/// Negative predictions that get lost: where the positive ones are favourable, the original group
/// did not get them.
const fn negatives(worse: WorseEnd) -> ImpairedGroupRule {
    switch(worse, Original, New)
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "cr", "CR", reads: Reads::SwitchRate(cr), ideal: Some(1.0),
        impaired: switch(WorseEnd::Low, New, New), shown: at![SwitchRows 2], ..RATE;
    SWITCH_RATE, "SR", reads: Reads::SwitchRate(sr), ideal: Some(0.0),
        impaired: switch(WorseEnd::High, New, New),
        shown: at![SwitchRows 1, SwitchColumns 1, SwitchWhiskers 1, GraphRates 3, Slices 3,
            ArmSwitches 1, ArmSwitchesOfMany 1, ArmFolds 4, ComparedRates 3],
        shows_every_move: true, has_curve: true, ..RATE;
    "psr", "PSR", reads: Reads::SwitchRate(psr), ideal: Some(0.0),
        impaired: negatives(WorseEnd::High),
        shown: at![SwitchRows 3, SwitchColumns 2, SwitchWhiskers 2, GraphRates 1, ClassSwitches 2,
            Slices 5, ArmSwitches 2, ArmSwitchesOfMany 2, ArmFolds 5, ComparedRates 2],
        has_curve: true, ..RATE;
    "ncr", "NCR", reads: Reads::SwitchRate(ncr), ideal: Some(1.0),
        impaired: negatives(WorseEnd::Low), shown: at![SwitchRows 4], ..RATE;
    "nsr", "NSR", reads: Reads::SwitchRate(nsr), ideal: Some(0.0),
        impaired: positives(WorseEnd::High),
        shown: at![SwitchRows 5, SwitchColumns 3, SwitchWhiskers 3, GraphRates 2, ClassSwitches 1,
            Slices 4, ArmSwitches 3, ArmSwitchesOfMany 3, ArmFolds 6, ComparedRates 1],
        has_curve: true, ..RATE;
    "pcr", "PCR", reads: Reads::SwitchRate(pcr), ideal: Some(1.0),
        impaired: positives(WorseEnd::Low), shown: at![SwitchRows 6], ..RATE;
    "pcp", "PCP", reads: Reads::SwitchRate(pcp), ideal: Some(1.0),
        impaired: negatives(WorseEnd::Low), shown: at![SwitchRows 7], ..RATE;
    "psdr", "PSDR", reads: Reads::SwitchRate(psdr), ideal: Some(0.0),
        impaired: negatives(WorseEnd::High), shown: at![SwitchRows 8, SwitchWhiskers 4], ..RATE;
    HARM[0], "", reads: DENIED, ideal: Some(0.0),
        impaired: switch(WorseEnd::High, Original, Original), shown: &[TablesOnly], has_curve: true,
        ..RATE;
    HARM[1], "", reads: FAVOURED, ideal: Some(0.0),
        impaired: switch(WorseEnd::High, New, New), shown: &[TablesOnly], has_curve: true, ..RATE;
    "p2nr", "P2NR", reads: Reads::SwitchScore(p2nr), ideal: Some(1.0), range: (0.0, f64::INFINITY),
        unit: MetricUnit::Times, shown: at![SwitchRows 9, SwitchColumns 4, ClassSwitches 3], ..RATE;
    "cmcc", "CMCC", reads: Reads::SwitchScore(cmcc), ideal: Some(1.0), range: (-1.0, 1.0),
        unit: MetricUnit::Number, impaired: switch(WorseEnd::Low, New, New),
        shown: at![SwitchRows 10, SwitchColumns 5, ClassSwitches 4], ..RATE;
    "sr_any", "SR_any", reads: Reads::AnySwitch(sr), ideal: Some(0.0), shown: at![AnySwitches 1],
        ..RATE;
    "psr_any", "PSR_any", reads: Reads::AnySwitch(psr), ideal: Some(0.0), shown: at![AnySwitches 2],
        ..RATE;
    "nsr_any", "NSR_any", reads: Reads::AnySwitch(nsr), ideal: Some(0.0), shown: at![AnySwitches 3],
        ..RATE;
    "sr_ratio", "SR_ratio", reads: Reads::SwitchRatio(sr),
        gap_of: Some((SWITCH_RATE, GapTransform::Ratio)), ..RATIO;
    "psr_ratio", "PSR_ratio", reads: Reads::SwitchRatio(psr),
        gap_of: Some(("psr", GapTransform::Ratio)), ..RATIO;
    "nsr_ratio", "NSR_ratio", reads: Reads::SwitchRatio(nsr),
        gap_of: Some(("nsr", GapTransform::Ratio)), ..RATIO;
};

const DENIED: Reads = Reads::SwitchByFavour { if_positive: psr, if_negative: nsr };
const FAVOURED: Reads = Reads::SwitchByFavour { if_positive: nsr, if_negative: psr };

/// The rate of one direction that a metric is, or whose two directions it compares; none where
/// there is no such rate.
pub(crate) fn switch_rate(
    metric: &Metric,
    settings: &MeasureSettings,
) -> Option<fn(&Eccm) -> Rate> {
    switch_rate_by(metric, settings.favourable_stated.then_some(settings.favourable))
}

/// As [`switch_rate`], by the favourable prediction, where it is stated.
pub(crate) fn switch_rate_by(
    metric: &Metric,
    favourable: Option<FavourableClass>,
) -> Option<fn(&Eccm) -> Rate> {
    match metric.reads {
        Reads::SwitchRate(rate) | Reads::SwitchRatio(rate) => Some(rate),
        Reads::SwitchByFavour { if_positive, if_negative } => Some(match favourable {
            None => of_no_side,
            Some(FavourableClass::Positive) => if_positive,
            Some(FavourableClass::Negative) => if_negative,
        }),
        _ => None,
    }
}

/// Whether a rate that counts one kind of switch shows harm to the group that people belong to,
/// else to the one they are moved to; none where it counts both kinds, or is no such rate.
pub(crate) fn harmed(metric: &Metric, favourable: FavourableClass) -> Option<bool> {
    let ImpairedGroupRule::Switch { if_positive, if_negative, .. } = metric.impaired else {
        return None;
    };
    let side = if favourable == FavourableClass::Positive { if_positive } else { if_negative };
    let one_kind =
        if_positive != if_negative || matches!(metric.reads, Reads::SwitchByFavour { .. });
    one_kind.then_some(side == DirectionSide::Original)
}

rates! { Eccm rate {
    cr(e): e.cp() + e.cn(), e.n(), EmptyGroup;
    sr(e): e.sp() + e.sn(), e.n(), EmptyGroup;
    psr(e): e.sp(), e.sp() + e.cn(), NoPredictedNegative;
    ncr(e): e.cn(), e.sp() + e.cn(), NoPredictedNegative;
    nsr(e): e.sn(), e.sn() + e.cp(), NoPredictedPositive;
    pcr(e): e.cp(), e.sn() + e.cp(), NoPredictedPositive;
    pcp(e): e.cp(), e.cp() + e.sp(), NoCounterfactualPredictedPositive;
    psdr(e): e.sp(), e.cp() + e.sp(), NoCounterfactualPredictedPositive;
    of_no_side(e): 0, 0, NoFavourableSide;
} }

fn p2nr(e: &Eccm) -> MetricValue {
    combine(psr(e).value(), nsr(e).value(), |psr, nsr| {
        if nsr == 0.0 { Err(Undefined::ZeroNegativeSwitchRate) } else { Ok(psr / nsr) }
    })
}

fn cmcc(e: &Eccm) -> MetricValue {
    phi([e.cp(), e.sp(), e.sn(), e.cn()], e.or_empty(Undefined::DegenerateMarginal))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Matrix Reloaded, Figure 3, group S1: TCN, TSP, FSN, FCP, FCN, FSP, TSN, TCP.
    #[test]
    fn published() {
        let e = Eccm::labelled([36, 54, 90, 18, 72, 18, 141, 36]);
        let near = |found: f64, printed: f64| {
            assert!((found - printed).abs() <= 0.005, "{found} instead of {printed}")
        };
        near(sr(&e).value().unwrap(), 0.65);
        near(psr(&e).value().unwrap(), 0.40);
        near(nsr(&e).value().unwrap(), 0.81);
        near(p2nr(&e).unwrap(), 0.49);
        near(cmcc(&e).unwrap(), -0.23);
    }

    #[test]
    fn reasons() {
        let stays = Eccm::labelled([3, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!((p2nr(&stays), cmcc(&stays)), (Err(Undefined::ZeroNegativeSwitchRate), Ok(1.0)));
        let negative = Eccm::labelled([3, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            (p2nr(&negative), cmcc(&negative)),
            (Err(Undefined::OperandMissing), Err(Undefined::DegenerateMarginal))
        );
        assert_eq!(p2nr(&Eccm::default()), Err(Undefined::EmptyGroup));
    }
}
