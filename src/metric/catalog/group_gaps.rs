//! Gaps between groups: parity, odds, opportunity, predictive parity.
//!
//! A is the reference group or the earlier declared one, B the other, or all others together. Every
//! performance metric says which gaps are derived from it; they are made here from the metric and a
//! transform: the difference A - B, the ratio A / B, the distance to all. The parities of the
//! papers are such gaps under their own names. Signs are kept: the absolute value is for the
//! reader. How the values are made, also over more than two groups at once, is in
//! [`gaps`](crate::metric::value::gaps) and [`worst`](crate::metric::value::worst).
//!
//! Choice: a gap with an undefined part is undefined itself; so is equalized odds, where a maximum
//! over the defined parts would look fair.

use std::sync::LazyLock;

use super::performance as p;
use super::place::PagePlace;
use crate::metric::{
    GapTransform, GroupValue, ImpairedGroupRule, Metric, MetricFamily, MetricGaps, MetricUnit,
    Reads,
};

/// What gaps of two groups have in common.
const PAIR: Metric = Metric {
    family: MetricFamily::Group,
    range: (-1.0, 1.0),
    ideal: Some(0.0),
    needs_label: true,
    unit: MetricUnit::Points,
    ..Metric::UNSTATED
};

/// Comparisons of the rates of favourable predictions of two groups.
const FAVOURABLE: Metric = Metric {
    range: (0.0, f64::INFINITY),
    ideal: Some(1.0),
    needs_label: false,
    reads: Reads::Group(GroupValue::FavourableRate, Some(GapTransform::Inverse)),
    impaired: ImpairedGroupRule::LowerRate(p::pprev),
    unit: MetricUnit::Times,
    ..PAIR
};

/// The parities: those with `gap_of` are the gap of that metric, except for the fields given here.
const PARITIES: &[Metric] = records! {
    "demp_difference", "DemP_difference", gap_of: Some(("pprev", GapTransform::Difference)),
        shown: at![PairGaps 2, WidestGaps 2, Slices 1, ArmGaps 2], ..Metric::UNSTATED;
    "demp_ratio", "DemP_ratio", gap_of: Some(("pprev", GapTransform::Ratio)),
        shown: at![PairGaps 3], ..Metric::UNSTATED;
    "demp_min_ratio", "DemP_min_ratio",
        reads: Reads::Group(GroupValue::FavourableRate, Some(GapTransform::SmallerOverLarger)),
        range: (0.0, 1.0), shown: at![PairGaps 4, WidestGaps 3], ..FAVOURABLE;
    "di", "DI", has_curve: true, shown: at![PairGaps 1, WidestGaps 1, ClarifyOutcomes 2, ArmGaps 1],
        ..FAVOURABLE;
    "eopp_difference", "EOpp_difference", gap_of: Some(("tpr", GapTransform::Difference)),
        shown: at![PairGaps 5, WidestGaps 4, ArmGaps 3], ..Metric::UNSTATED;
    "pred_eq_difference", "PredEq_difference", gap_of: Some(("fpr", GapTransform::Difference)),
        shown: at![PairGaps 6, WidestGaps 5, ArmGaps 4], ..Metric::UNSTATED;
    "pred_p_difference", "PredP_difference", gap_of: Some(("ppv", GapTransform::Difference)),
        shown: at![PairGaps 9, WidestGaps 8, ArmGaps 6], ..Metric::UNSTATED;
    "eodds", "EOdds",
        reads: Reads::Group(GroupValue::TwoRates([p::tpr, p::fpr]), Some(GapTransform::Widest)),
        range: (0.0, 1.0), unit: MetricUnit::Distance,
        shown: at![PairGaps 7, WidestGaps 6, ArmGaps 5], ..PAIR;
    "aod", "AOD", reads: Reads::Group(ODDS, Some(GapTransform::Difference)),
        shown: at![PairGaps 8, WidestGaps 7], ..PAIR;
};

/// A gap of a metric of one group; none for a metric without `gaps`.
fn gap(base: &Metric, transform: GapTransform, shown: &'static [PagePlace]) -> Option<Metric> {
    let MetricGaps { impaired, .. } = base.gaps?;
    let Reads::Group(value, None) = base.reads else { return None };
    // Computed once: the catalog lives as long as the program.
    let text = |text: String| -> &'static str { text.leak() };
    let (symbol, (lo, hi)) = (base.symbol, base.range);
    let width = hi - lo;
    let is_share = base.unit == MetricUnit::Share;
    let id = transform.id(base.id);
    let common = Metric {
        symbol: text(format!("{symbol}{}", &id[base.id.len()..])),
        id: text(id),
        needs_label: base.needs_label,
        reads: Reads::Group(value, Some(transform)),
        gap_of: Some((base.id, transform)),
        shown,
        ..PAIR
    };
    Some(match transform {
        GapTransform::Difference => Metric {
            range: (-width, width),
            impaired,
            unit: if is_share { MetricUnit::Points } else { MetricUnit::Signed },
            ..common
        },
        GapTransform::Ratio => Metric {
            range: (if lo < 0.0 { f64::NEG_INFINITY } else { 0.0 }, f64::INFINITY),
            ideal: Some(1.0),
            impaired,
            unit: MetricUnit::Times,
            ..common
        },
        GapTransform::ToTotal => Metric {
            range: (0.0, width),
            unit: if is_share { MetricUnit::Distance } else { MetricUnit::Number },
            ..common
        },
        _ => return None,
    })
}

/// The whole record of one of [`PARITIES`].
fn parity(own: &Metric) -> Option<Metric> {
    let Some((base, transform)) = own.gap_of else { return Some(*own) };
    let base = p::METRICS.iter().find(|metric| metric.id == base)?;
    let gap = gap(base, transform, own.shown)?;
    Some(Metric { id: own.id, symbol: own.symbol, ..gap })
}

/// The list of this family: the parities, then of each metric of one group its gaps of two groups,
/// then the distances to all.
pub(crate) static METRICS: LazyLock<Vec<Metric>> = LazyLock::new(|| {
    let made = |to_total: bool| {
        p::METRICS.iter().flat_map(move |base| {
            let each = base.gaps.iter().flat_map(MetricGaps::each);
            each.filter(move |(transform, _)| (*transform == GapTransform::ToTotal) == to_total)
                .filter_map(move |(transform, shown)| gap(base, transform, shown))
        })
    };
    PARITIES.iter().filter_map(parity).chain(made(false)).chain(made(true)).collect()
});

/// The mean of TPR and FPR, of which the average odds difference is the gap.
const ODDS: GroupValue = GroupValue::MeanOfRates([p::tpr, p::fpr]);
