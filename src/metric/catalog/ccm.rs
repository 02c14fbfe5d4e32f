//! Metrics of the counterfactual confusion matrix: which predictions stay and which switch. They
//! need no label.
//!
//! Source: The Matrix Reloaded and Towards Counterfactual Group Fairness. In a direction A -> B the
//! people of A are predicted as they are and as if they belonged to B. With more than two groups a
//! person has several counterfactuals: the metrics named `..._any` ask whether any of them
//! switches.

use super::place::PageList as L;
use super::place::PagePlace::{At, TablesOnly};
use crate::metric::evidence::outcome_patterns::AnySwitch;
use crate::metric::evidence::person::Eccm;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::value::settings::{FavourableClass, MeasureSettings};
use crate::metric::{
    DirectionSide, GapTransform, ImpairedGroupRule, Metric, MetricFamily, MetricUnit, Reads,
    WorseEnd, combine, phi,
};

const ADDED: &str = "an addition of cfaudit for more than two groups: each person counts once";
const PAPERS: &str =
    "The Matrix Reloaded; Towards Counterfactual Group Fairness, counterfactual confusion matrix";
const BY_SIDE: &str =
    "an addition of cfaudit: PSR or NSR, chosen by the prediction that people want";

/// The metric that counts everybody whose decision switches.
pub(crate) const SWITCH_RATE: &str = "sr";

/// The two metrics of harm to a group: of the people of the group, and of those of every other.
pub(crate) const HARM: [&str; 2] = ["denied_by_group", "favoured_by_group"];

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
        family: MetricFamily::Ccm,
        range: (0.0, 1.0),
        ideal,
        sign: "a share: never negative",
        undefined_when: "there is no counterfactual",
        source: PAPERS,
        needs_label: false,
        reads,
        unit: MetricUnit::Share,
        ..Metric::UNSTATED
    }
}

/// The ratio of a rate of the direction A -> B to that of B -> A; `base` is the id of that rate.
pub(super) const fn ratio_of_directions(
    base: &'static str,
    [id, symbol, name, formula]: [&'static str; 4],
    rate: fn(&Eccm) -> Rate,
) -> Metric {
    Metric {
        formula,
        range: (0.0, f64::INFINITY),
        sign: "A -> B over B -> A: above 1 the rate of A -> B is larger",
        undefined_when: "the rate is undefined in a direction, or 0 in B -> A",
        source: "the same rate of both directions, compared",
        unit: MetricUnit::Times,
        shown: &[TablesOnly],
        gap_of: Some((base, GapTransform::Ratio)),
        ..metric(id, symbol, name, Some(1.0), Reads::SwitchRatio(rate))
    }
}

const fn new(worse: WorseEnd) -> ImpairedGroupRule {
    ImpairedGroupRule::Switch {
        worse,
        if_positive: DirectionSide::New,
        if_negative: DirectionSide::New,
    }
}

/// Positive predictions that get lost: where they are favourable, the new group does not get them.
const fn positives(worse: WorseEnd) -> ImpairedGroupRule {
    ImpairedGroupRule::Switch {
        worse,
        if_positive: DirectionSide::New,
        if_negative: DirectionSide::Original,
    }
}

/// Negative predictions that get lost: where the positive ones are favourable, the original group
/// did not get them.
const fn negatives(worse: WorseEnd) -> ImpairedGroupRule {
    ImpairedGroupRule::Switch {
        worse,
        if_positive: DirectionSide::Original,
        if_negative: DirectionSide::New,
    }
}

/// A switch whose harmed group is the same whichever prediction is favourable.
const fn harms(side: DirectionSide) -> ImpairedGroupRule {
    ImpairedGroupRule::Switch { worse: WorseEnd::High, if_positive: side, if_negative: side }
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        formula: "(CP + CN) / N",
        impaired: new(WorseEnd::Low),
        shown: &[At(L::SwitchRows, 2)],
        ..metric("cr", "CR", "consistency rate", Some(1.0), Reads::SwitchRate(cr))
    },
    Metric {
        formula: "(SP + SN) / N",
        impaired: new(WorseEnd::High),
        shown: &[
            At(L::SwitchRows, 1),
            At(L::SwitchColumns, 1),
            At(L::SwitchWhiskers, 1),
            At(L::GraphRates, 3),
            At(L::Slices, 3),
            At(L::ArmSwitches, 1),
            At(L::ArmSwitchesOfMany, 1),
            At(L::ArmFolds, 4),
            At(L::ComparedRates, 3),
        ],
        shows_every_move: true,
        has_curve: true,
        ..metric(SWITCH_RATE, "SR", "switch rate", Some(0.0), Reads::SwitchRate(sr))
    },
    Metric {
        formula: "SP / (SP + CN)",
        undefined_when: "nobody is predicted negative",
        impaired: negatives(WorseEnd::High),
        shown: &[
            At(L::SwitchRows, 3),
            At(L::SwitchColumns, 2),
            At(L::SwitchWhiskers, 2),
            At(L::GraphRates, 1),
            At(L::ClassSwitches, 2),
            At(L::Slices, 5),
            At(L::ArmSwitches, 2),
            At(L::ArmSwitchesOfMany, 2),
            At(L::ArmFolds, 5),
            At(L::ComparedRates, 2),
        ],
        has_curve: true,
        ..metric("psr", "PSR", "positive switch rate", Some(0.0), Reads::SwitchRate(psr))
    },
    Metric {
        formula: "CN / (SP + CN)",
        undefined_when: "nobody is predicted negative",
        impaired: negatives(WorseEnd::Low),
        shown: &[At(L::SwitchRows, 4)],
        ..metric("ncr", "NCR", "negative consistency rate", Some(1.0), Reads::SwitchRate(ncr))
    },
    Metric {
        formula: "SN / (SN + CP)",
        undefined_when: "nobody is predicted positive",
        impaired: positives(WorseEnd::High),
        shown: &[
            At(L::SwitchRows, 5),
            At(L::SwitchColumns, 3),
            At(L::SwitchWhiskers, 3),
            At(L::GraphRates, 2),
            At(L::ClassSwitches, 1),
            At(L::Slices, 4),
            At(L::ArmSwitches, 3),
            At(L::ArmSwitchesOfMany, 3),
            At(L::ArmFolds, 6),
            At(L::ComparedRates, 1),
        ],
        has_curve: true,
        ..metric("nsr", "NSR", "negative switch rate", Some(0.0), Reads::SwitchRate(nsr))
    },
    Metric {
        formula: "CP / (SN + CP)",
        undefined_when: "nobody is predicted positive",
        impaired: positives(WorseEnd::Low),
        shown: &[At(L::SwitchRows, 6)],
        ..metric("pcr", "PCR", "positive consistency rate", Some(1.0), Reads::SwitchRate(pcr))
    },
    Metric {
        formula: "CP / (CP + SP)",
        undefined_when: "no counterfactual is predicted positive",
        impaired: negatives(WorseEnd::Low),
        shown: &[At(L::SwitchRows, 7)],
        ..metric("pcp", "PCP", "positive consistency precision", Some(1.0), Reads::SwitchRate(pcp))
    },
    Metric {
        formula: "SP / (CP + SP)",
        undefined_when: "no counterfactual is predicted positive",
        impaired: negatives(WorseEnd::High),
        shown: &[At(L::SwitchRows, 8), At(L::SwitchWhiskers, 4)],
        ..metric(
            "psdr",
            "PSDR",
            "positive switch discovery rate",
            Some(0.0),
            Reads::SwitchRate(psdr),
        )
    },
    Metric {
        formula: "PSR where the positive prediction is favourable, else NSR",
        undefined_when: "nobody has the unfavourable decision, or the job names no favourable side",
        source: BY_SIDE,
        impaired: harms(DirectionSide::Original),
        shown: &[TablesOnly],
        has_curve: true,
        ..metric(HARM[0], "denied by group", "denied by group", Some(0.0), DENIED)
    },
    Metric {
        formula: "NSR where the positive prediction is favourable, else PSR",
        undefined_when: "nobody has the favourable decision, or the job names no favourable side",
        source: BY_SIDE,
        impaired: harms(DirectionSide::New),
        shown: &[TablesOnly],
        has_curve: true,
        ..metric(HARM[1], "favoured by group", "favoured by group", Some(0.0), FAVOURED)
    },
    Metric {
        formula: "PSR / NSR",
        range: (0.0, f64::INFINITY),
        sign: "above 1: leans to positive switches",
        undefined_when: "PSR or NSR is undefined, or NSR is 0",
        source: "The Matrix Reloaded",
        unit: MetricUnit::Times,
        shown: &[At(L::SwitchRows, 9), At(L::SwitchColumns, 4), At(L::ClassSwitches, 3)],
        ..metric(
            "p2nr",
            "P2NR",
            "positive to negative switch ratio",
            Some(1.0),
            Reads::SwitchScore(p2nr),
        )
    },
    Metric {
        formula: "(CP CN - SP SN) / sqrt((CP + SP)(CP + SN)(CN + SP)(CN + SN))",
        range: (-1.0, 1.0),
        sign: "below 0: more predictions switch than stay",
        undefined_when: "all factual or all counterfactual predictions are the same, even if \
                         nothing switched",
        impaired: new(WorseEnd::Low),
        unit: MetricUnit::Number,
        shown: &[At(L::SwitchRows, 10), At(L::SwitchColumns, 5), At(L::ClassSwitches, 4)],
        ..metric(
            "cmcc",
            "CMCC",
            "counterfactual Matthews correlation coefficient",
            Some(1.0),
            Reads::SwitchScore(cmcc),
        )
    },
    Metric {
        formula: "people with a counterfactual whose prediction differs / people with a \
                  counterfactual",
        source: ADDED,
        shown: &[At(L::AnySwitches, 1)],
        ..metric("sr_any", "SR_any", "any switch rate", Some(0.0), Reads::AnySwitch(sr_any))
    },
    Metric {
        formula: "people predicted negative with a counterfactual predicted positive / people \
                  predicted negative",
        undefined_when: "nobody is predicted negative",
        source: ADDED,
        shown: &[At(L::AnySwitches, 2)],
        ..metric(
            "psr_any",
            "PSR_any",
            "any positive switch rate",
            Some(0.0),
            Reads::AnySwitch(psr_any),
        )
    },
    Metric {
        formula: "people predicted positive with a counterfactual predicted negative / people \
                  predicted positive",
        undefined_when: "nobody is predicted positive",
        source: ADDED,
        shown: &[At(L::AnySwitches, 3)],
        ..metric(
            "nsr_any",
            "NSR_any",
            "any negative switch rate",
            Some(0.0),
            Reads::AnySwitch(nsr_any),
        )
    },
    ratio_of_directions(
        SWITCH_RATE,
        ["sr_ratio", "SR_ratio", "ratio of switch rates", "SR(A -> B) / SR(B -> A)"],
        sr,
    ),
    ratio_of_directions(
        "psr",
        ["psr_ratio", "PSR_ratio", "ratio of positive switch rates", "PSR(A -> B) / PSR(B -> A)"],
        psr,
    ),
    ratio_of_directions(
        "nsr",
        ["nsr_ratio", "NSR_ratio", "ratio of negative switch rates", "NSR(A -> B) / NSR(B -> A)"],
        nsr,
    ),
];

const DENIED: Reads = Reads::SwitchByFavour { if_positive: psr, if_negative: nsr };
const FAVOURED: Reads = Reads::SwitchByFavour { if_positive: nsr, if_negative: psr };

/// The rate of one direction that a metric is, or whose values of two directions it compares; none
/// where there is no such rate.
pub(crate) fn switch_rate(
    metric: &Metric,
    settings: &MeasureSettings,
) -> Option<fn(&Eccm) -> Rate> {
    switch_rate_by(metric, settings.favourable_stated.then_some(settings.favourable))
}

/// The same by the favourable prediction, where it is stated.
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

/// Whether a rate that counts one kind of switch tells of harm to the group that people belong to,
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

fn of_no_side(e: &Eccm) -> Rate {
    e.rate(0, 0, Undefined::NoFavourableSide)
}

fn cr(e: &Eccm) -> Rate {
    e.rate(e.cp() + e.cn(), e.n(), Undefined::EmptyGroup)
}

fn sr(e: &Eccm) -> Rate {
    e.rate(e.sp() + e.sn(), e.n(), Undefined::EmptyGroup)
}

pub(crate) fn psr(e: &Eccm) -> Rate {
    e.rate(e.sp(), e.sp() + e.cn(), Undefined::NoPredictedNegative)
}

fn ncr(e: &Eccm) -> Rate {
    e.rate(e.cn(), e.sp() + e.cn(), Undefined::NoPredictedNegative)
}

pub(crate) fn nsr(e: &Eccm) -> Rate {
    e.rate(e.sn(), e.sn() + e.cp(), Undefined::NoPredictedPositive)
}

fn pcr(e: &Eccm) -> Rate {
    e.rate(e.cp(), e.sn() + e.cp(), Undefined::NoPredictedPositive)
}

fn pcp(e: &Eccm) -> Rate {
    e.rate(e.cp(), e.cp() + e.sp(), Undefined::NoCounterfactualPredictedPositive)
}

fn psdr(e: &Eccm) -> Rate {
    e.rate(e.sp(), e.cp() + e.sp(), Undefined::NoCounterfactualPredictedPositive)
}

fn sr_any(any: &AnySwitch) -> Rate {
    any.rate(any.negative_switches + any.positive_switches, any.n(), Undefined::EmptyGroup)
}

fn psr_any(any: &AnySwitch) -> Rate {
    any.rate(
        any.negative_switches,
        any.negative_switches + any.negative_stays,
        Undefined::NoPredictedNegative,
    )
}

fn nsr_any(any: &AnySwitch) -> Rate {
    any.rate(
        any.positive_switches,
        any.positive_switches + any.positive_stays,
        Undefined::NoPredictedPositive,
    )
}

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
    use super::{cmcc, nsr, p2nr, psr, sr};
    use crate::metric::evidence::person::Eccm;
    use crate::metric::rate::Undefined;

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
