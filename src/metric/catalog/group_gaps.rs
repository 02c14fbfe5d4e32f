//! Gaps between groups: parity, odds, opportunity, predictive parity.
//!
//! A is the reference group or the earlier declared one, B the other, or all others together. Every
//! performance metric says which gaps exist of it; here they are made, as a metric and what makes a
//! gap of it: the difference A - B, the ratio A / B, the distance to all. The parities of the
//! papers are such gaps under their own names. Signs are kept: the absolute value is for the
//! reader. How the values are made, also over more than two groups at once, is in
//! [`gaps`](crate::metric::value::gaps) and [`worst`](crate::metric::value::worst).
//!
//! Choice: a gap whose part is undefined is undefined itself, also equalized odds, where a maximum
//! over missing parts would look fair.

use std::sync::LazyLock;

use super::performance as p;
use super::place::PageList as L;
use super::place::PagePlace::{self, At};
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::MetricValue;
use crate::metric::{
    GapTransform, ImpairedGroupRule, Metric, MetricFamily, MetricGaps, MetricUnit, Reads, combine,
};

const DEFINED_HERE: &str = "the same metric of two groups, compared";
const JOURNAL: &str = "Towards Counterfactual Group Fairness, Table 1";
const DIFFERENCE_SIGN: &str = "A minus B: above 0 the value of A is larger";
const RATIO_SIGN: &str = "A over B: above 1 the value of A is larger";
const UNDEFINED: &str = "the metric is undefined in one of the groups";
const RATIO_UNDEFINED: &str = "the metric is undefined in one of the groups, or 0 in B";

/// What gaps of two groups have in common.
const fn pair(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
    shown: &'static [PagePlace],
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Group,
        formula,
        range: (-1.0, 1.0),
        ideal: Some(0.0),
        sign: DIFFERENCE_SIGN,
        undefined_when: UNDEFINED,
        source: DEFINED_HERE,
        needs_label: true,
        reads: Reads::FavourableRatio,
        unit: MetricUnit::Points,
        shown,
        ..Metric::UNSTATED
    }
}

/// A gap of a metric of one group; none of a metric that says nothing of its gaps.
fn gap(base: &Metric, transform: GapTransform, shown: &'static [PagePlace]) -> Option<Metric> {
    let MetricGaps { called, impaired, .. } = base.gaps?;
    // Once in the life of the program, which the catalog lives as long as.
    let text = |text: String| -> &'static str { text.leak() };
    let (symbol, (lo, hi)) = (base.symbol, base.range);
    let width = hi - lo;
    let is_share = base.unit == MetricUnit::Share;
    let id = transform.id(base.id);
    let common = Metric {
        symbol: text(format!("{symbol}{}", &id[base.id.len()..])),
        id: text(id),
        needs_label: base.needs_label,
        gap_of: Some((base.id, transform)),
        ..pair("", "", "", "", shown)
    };
    Some(match transform {
        GapTransform::Difference => Metric {
            name: text(format!("difference in {called}")),
            formula: text(format!("{symbol}_A - {symbol}_B")),
            range: (-width, width),
            reads: match base.reads {
                Reads::Rate(rate) => Reads::RateDifference(rate),
                Reads::Score(score) => Reads::ScoreDifference(score),
                _ => return None,
            },
            impaired,
            unit: if is_share { MetricUnit::Points } else { MetricUnit::Signed },
            ..common
        },
        GapTransform::Ratio => Metric {
            name: text(format!("ratio of {called}")),
            formula: text(format!("{symbol}_A / {symbol}_B")),
            range: (if lo < 0.0 { f64::NEG_INFINITY } else { 0.0 }, f64::INFINITY),
            ideal: Some(1.0),
            sign: RATIO_SIGN,
            undefined_when: RATIO_UNDEFINED,
            reads: match base.reads {
                Reads::Rate(rate) => Reads::RateRatio(rate),
                Reads::Score(score) => Reads::ScoreRatio(score),
                _ => return None,
            },
            impaired,
            unit: MetricUnit::Times,
            ..common
        },
        GapTransform::ToTotal => Metric {
            name: text(format!("distance to all in {called}")),
            formula: text(format!("max |{symbol}_group - {symbol}_all|")),
            range: (0.0, width),
            sign: "a distance: never negative",
            undefined_when: "the metric is undefined for all groups together, or in each of them",
            source: "the same metric of each group and of all, compared",
            reads: match base.reads {
                Reads::Rate(rate) => Reads::RateToTotal(rate),
                Reads::Score(score) => Reads::ScoreToTotal(score),
                _ => return None,
            },
            unit: if is_share { MetricUnit::Distance } else { MetricUnit::Number },
            ..common
        },
    })
}

/// The parities that are a gap of one metric, under their own names: what is derived from what, and
/// what its record says in place of the gap's.
fn parities() -> impl Iterator<Item = Metric> {
    use GapTransform::{Difference, Ratio};
    let named = |base: &Metric, transform, named: fn(Metric) -> Metric| {
        gap(base, transform, &[]).map(named)
    };
    [
        named(&p::PPREV, Difference, |gap| Metric {
            id: "demp_difference",
            symbol: "DemP_difference",
            name: "demographic parity difference",
            source: JOURNAL,
            shown: &[At(L::PairGaps, 2), At(L::WidestGaps, 2), At(L::Slices, 1), At(L::ArmGaps, 2)],
            ..gap
        }),
        named(&p::PPREV, Ratio, |gap| Metric {
            id: "demp_ratio",
            symbol: "DemP_ratio",
            name: "demographic parity ratio",
            source: "The Matrix Reloaded, section 3.2.2",
            shown: &[At(L::PairGaps, 3)],
            ..gap
        }),
        Some(Metric {
            range: (0.0, 1.0),
            ideal: Some(1.0),
            sign: "without direction: smaller over larger rate",
            undefined_when: "a group is empty, or nobody gets the favourable prediction in either",
            source: "Uniform Guidelines on Employee Selection Procedures 1978, 29 CFR 1607.4 D; \
                     fairlearn's demographic_parity_ratio",
            needs_label: false,
            reads: Reads::FavourableMinRatio,
            impaired: ImpairedGroupRule::LowerRate(p::pprev),
            unit: MetricUnit::Times,
            ..pair(
                "demp_min_ratio",
                "DemP_min_ratio",
                "demographic parity, smaller over larger",
                "the smaller of favourable predictions / N of A and of B, over the larger",
                &[At(L::PairGaps, 4), At(L::WidestGaps, 3)],
            )
        }),
        Some(Metric {
            range: (0.0, f64::INFINITY),
            ideal: Some(1.0),
            sign: "B over A: below 1 people of B get the favourable prediction less often",
            undefined_when: "a group is empty, or nobody in A gets the favourable prediction",
            source: "Amazon SageMaker Clarify, post-training bias metrics, DI",
            needs_label: false,
            impaired: ImpairedGroupRule::LowerRate(p::pprev),
            unit: MetricUnit::Times,
            has_curve: true,
            ..pair(
                "di",
                "DI",
                "disparate impact",
                "favourable predictions / N of B, over the same of A",
                &[
                    At(L::PairGaps, 1),
                    At(L::WidestGaps, 1),
                    At(L::ClarifyOutcomes, 2),
                    At(L::ArmGaps, 1),
                ],
            )
        }),
        named(&p::TPR, Difference, |gap| Metric {
            id: "eopp_difference",
            symbol: "EOpp_difference",
            name: "equal opportunity difference",
            undefined_when: "nobody has the positive label in one of the groups",
            source: JOURNAL,
            shown: &[At(L::PairGaps, 5), At(L::WidestGaps, 4), At(L::ArmGaps, 3)],
            ..gap
        }),
        named(&p::FPR, Difference, |gap| Metric {
            id: "pred_eq_difference",
            symbol: "PredEq_difference",
            name: "predictive equality difference",
            undefined_when: "nobody has the negative label in one of the groups",
            source: JOURNAL,
            shown: &[At(L::PairGaps, 6), At(L::WidestGaps, 5), At(L::ArmGaps, 4)],
            ..gap
        }),
        named(&p::PPV, Difference, |gap| Metric {
            id: "pred_p_difference",
            symbol: "PredP_difference",
            name: "predictive parity difference",
            undefined_when: "nobody is predicted positive in one of the groups",
            source: JOURNAL,
            shown: &[At(L::PairGaps, 9), At(L::WidestGaps, 8), At(L::ArmGaps, 6)],
            ..gap
        }),
        Some(Metric {
            range: (0.0, 1.0),
            sign: "a maximum of absolute gaps: never negative",
            undefined_when: "TPR or FPR is undefined in one of the groups",
            source: JOURNAL,
            reads: Reads::WidestGap([p::tpr, p::fpr]),
            unit: MetricUnit::Distance,
            ..pair(
                "eodds",
                "EOdds",
                "equalized odds difference",
                "max(|TPR_A - TPR_B|, |FPR_A - FPR_B|)",
                &[At(L::PairGaps, 7), At(L::WidestGaps, 6), At(L::ArmGaps, 5)],
            )
        }),
        Some(Metric {
            undefined_when: "TPR or FPR is undefined in one of the groups",
            source: "Bellamy et al. 2018, AI Fairness 360",
            reads: Reads::ScoreDifference(mean_odds),
            ..pair(
                "aod",
                "AOD",
                "average odds difference",
                "((TPR_A - TPR_B) + (FPR_A - FPR_B)) / 2",
                &[At(L::PairGaps, 8), At(L::WidestGaps, 7)],
            )
        }),
    ]
    .into_iter()
    .flatten()
}

/// The list of this family: the parities, then of each metric of one group its gaps of two groups,
/// then the distances to all.
pub(crate) static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let made = |to_total: bool| {
        p::METRICS.iter().flat_map(move |base| {
            let each = base.gaps.map_or(&[][..], |gaps| gaps.each);
            each.iter()
                .filter(move |(transform, _)| (*transform == GapTransform::ToTotal) == to_total)
                .filter_map(move |(transform, shown)| gap(base, *transform, shown))
        })
    };
    parities().chain(made(false)).chain(made(true)).collect()
});

/// The mean of TPR and FPR, of which the average odds difference is the gap; see
/// [`p::score_shape`].
fn mean_odds(c: &Confusion) -> MetricValue {
    combine(p::tpr(c).value(), p::fpr(c).value(), |tpr, fpr| Ok(f64::midpoint(tpr, fpr)))
}
