//! The post-training bias metrics that SageMaker Clarify defines, with the signs of its text.
//!
//! Source: Amazon SageMaker Clarify, post-training bias metrics. Two facets are compared: a, the
//! favoured one, and d. All counts are those of favourable labels and predictions: where the
//! negative prediction is the favourable one both classes change their names first.
//! [`FavouredGroups`] says which groups are favoured; every comparison is a pair (a, d), or d and
//! all others together. `di` belongs to the family group and is measured here too; DPPL, RD, SD,
//! DAR and AD are its named gaps under Clarify's names, seen from the favourable side. DPL is DPPL
//! of the labels, one of Clarify's metrics before training; what predictions add to it is
//! [`BiasChange`].
//!
//! Where the text and the library (smclarify 0.5) disagree, or either slips: the text lists
//! thirteen metrics and calls them eleven; it calls TN + FN of DRR observed negatives, and TP + FP
//! of DAR observed positives: both are predicted ones. Its range of GE, (0, 0.5), does not hold:
//! one true positive and nine false negatives give 4.5. The library returns 0 for every share of an
//! empty set, and FT with the opposite sign. See [`strata`](crate::metric::evidence::strata) for
//! CDDPL and [`flips`](crate::metric::evidence::flip_test) for FT.

use super::performance as p;
use crate::metric::GapTransform::{self, Difference, Rise};
use crate::metric::estimate::Dual;
use crate::metric::estimate::curve::CellFunction;
use crate::metric::evidence::person::Confusion;
use crate::metric::evidence::strata::{self};
use crate::metric::rate::{MetricValue, Undefined};
use crate::metric::{
    Facet, GroupValue, ImpairedGroupRule, Metric, MetricFamily, MetricUnit, RateOfGroup, Reads,
    ScoreOfGroup,
};

/// What comparisons of two facets have in common.
const FACETS: Metric = Metric {
    family: MetricFamily::Clarify,
    range: (-1.0, 1.0),
    ideal: Some(0.0),
    needs_label: true,
    impaired: ImpairedGroupRule::AboveZero(Facet::Second),
    unit: MetricUnit::Points,
    ..Metric::UNSTATED
};

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "dppl", "DPPL", reads: of_rate(p::pprev), needs_label: false, shown: at![ClarifyOutcomes 1],
        ..FACETS;
    "dcacc", "DCAcc",
        reads: positive(acceptance, |[tp, fp, fn_, _]| (tp + fn_) / (tp + fp), Some(Difference)),
        range: (f64::NEG_INFINITY, f64::INFINITY), unit: MetricUnit::Signed,
        impaired: ImpairedGroupRule::AboveZero(Facet::First), shown: at![ClarifyDeserts 1],
        ..FACETS;
    "dcr", "DCR", reads: positive(rejection, |[_, fp, fn_, tn]| (tn + fp) / (tn + fn_), Some(Rise)),
        range: (f64::NEG_INFINITY, f64::INFINITY), unit: MetricUnit::Signed,
        impaired: ImpairedGroupRule::AboveZero(Facet::First), shown: at![ClarifyDeserts 2],
        ..FACETS;
    "rd", "RD", reads: of_rate(p::tpr), shown: at![ClarifyDeserts 3], ..FACETS;
    "sd", "SD", reads: of_rate(p::fpr), shown: at![ClarifyDeserts 4], ..FACETS;
    "dar", "DAR", reads: of_rate(p::ppv), shown: at![ClarifyDeserts 5], ..FACETS;
    "drr", "DRR", reads: of_rate(p::fomr), impaired: ImpairedGroupRule::AboveZero(Facet::First),
        shown: at![ClarifyDeserts 6], ..FACETS;
    "ad", "AD", reads: of_rate(p::acc), shown: at![ClarifyDeserts 7], ..FACETS;
    "te", "TE", reads: positive(errors, |[_, fp, fn_, _]| fn_ / fp, Some(Rise)),
        range: (f64::NEG_INFINITY, f64::INFINITY), unit: MetricUnit::Signed,
        impaired: ImpairedGroupRule::Unstated, shown: at![ClarifyDeserts 8], ..FACETS;
    "cddpl", "CDDPL", reads: Reads::Strata(strata::cddpl), needs_label: false,
        shown: at![ClarifyOutcomes 3], ..FACETS;
    "cddpl_defined_strata_only", "CDDPL_defined_strata_only",
        reads: Reads::Strata(strata::cddpl_defined), needs_label: false,
        shown: at![ClarifyOutcomes 4], ..FACETS;
    "undefined_strata", "undefined_strata", reads: Reads::Strata(strata::undefined_strata),
        range: (0.0, f64::INFINITY), unit: MetricUnit::Count, needs_label: false,
        impaired: ImpairedGroupRule::Unstated, shown: at![ClarifyNotes 1], ..FACETS;
    "undefined_strata_share", "undefined_strata_share",
        reads: Reads::StrataRate(strata::undefined_rows), range: (0.0, 1.0),
        unit: MetricUnit::Share, needs_label: false, impaired: ImpairedGroupRule::Unstated,
        shown: at![ClarifyNotes 2], ..FACETS;
    "ft", "FT", reads: Reads::Flips, needs_label: false, shown: at![ClarifyOutcomes 5], ..FACETS;
    "dpl", "DPL", reads: of_rate(p::prev), shown: at![ClarifyDeserts 9], ..FACETS;
    "bias_change", "bias_change",
        reads: Reads::Group(GroupValue::MeanOfLabelled(lift), Some(Difference)), range: (-2.0, 2.0),
        impaired: ImpairedGroupRule::Unstated, shown: at![ClarifyDeserts 10], ..FACETS;
    "ge", "GE", reads: positive(generalized_entropy, entropy_of_cells, None),
        range: (0.0, f64::INFINITY), unit: MetricUnit::Number,
        impaired: ImpairedGroupRule::Unstated, shown: at![ClarifyTotals 1], ..FACETS;
};

const fn of_rate(of: RateOfGroup) -> Reads {
    Reads::Group(GroupValue::Rate(of), Some(Difference))
}

/// A value above 0, also as a function of TP, FP, FN and TN.
const fn positive(
    of: ScoreOfGroup,
    cells: fn([Dual; 4]) -> Dual,
    transform: Option<GapTransform>,
) -> Reads {
    Reads::Group(GroupValue::OfCells(of, CellFunction::Positive(cells)), transform)
}

fn entropy_of_cells([tp, fp, fn_, tn]: [Dual; 4]) -> Dual {
    let benefit = tp + tn + 2.0 * fp;
    let squares = (tp + fp + fn_ + tn) * (tp + tn + 4.0 * fp);
    0.5 * (squares / (benefit * benefit) - Dual::constant(1.0))
}

/// The mean of prediction - label over the people with a label.
fn lift(c: &Confusion) -> MetricValue {
    match c.n() {
        0 => Err(c.or_empty(Undefined::NoLabel)),
        n => Ok((c.fp as f64 - c.fn_ as f64) / n as f64),
    }
}

/// Whether predictions enlarge or reduce the difference of the labels of two facets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BiasChange {
    /// The difference is larger in the predictions than in the labels.
    Amplified,
    /// It is smaller, or reversed.
    Reduced,
    /// The interval of the change holds both.
    NotDistinguishable,
}

impl BiasChange {
    /// The amplification, from DPL with its interval and the interval of the change. None where the
    /// interval of DPL holds 0, so that there is nothing to amplify, and where one has no interval.
    pub(crate) fn new(
        dpl: f64,
        of_dpl: Option<(f64, f64)>,
        of_change: Option<(f64, f64)>,
    ) -> Option<Self> {
        let ((least, most), (lo, hi)) = of_dpl.zip(of_change)?;
        if least <= 0.0 && most >= 0.0 {
            return None;
        }
        let (lo, hi) = if dpl > 0.0 { (lo, hi) } else { (-hi, -lo) };
        Some(match (lo > 0.0, hi < 0.0) {
            (true, _) => BiasChange::Amplified,
            (_, true) => BiasChange::Reduced,
            _ => BiasChange::NotDistinguishable,
        })
    }
}

fn acceptance(c: &Confusion) -> MetricValue {
    c.rate(c.actual_positive(), c.predicted_positive(), Undefined::NoPredictedPositive).value()
}

fn rejection(c: &Confusion) -> MetricValue {
    c.rate(c.actual_negative(), c.predicted_negative(), Undefined::NoPredictedNegative).value()
}

/// FN / FP.
pub(crate) fn errors(c: &Confusion) -> MetricValue {
    c.rate(c.fn_, c.fp, Undefined::NoFalsePositive).value()
}

/// The generalised entropy of the benefits b = prediction - label + 1 with alpha = 2: the mean of
/// ((b / mean)^2 - 1) / 2, at least 0; undefined where all benefits are 0.
pub(crate) fn generalized_entropy(c: &Confusion) -> MetricValue {
    let (right, granted) = (c.tp as f64 + c.tn as f64, c.fp as f64);
    let sum = right + 2.0 * granted;
    if sum == 0.0 {
        return Err(c.or_empty(Undefined::AllFalseNegative));
    }
    Ok((0.5 * (c.n() as f64 * (right + 4.0 * granted) / (sum * sum) - 1.0)).max(0.0))
}

/// A reason, with the names of the two classes swapped.
pub(crate) fn swap_reason(reason: Undefined) -> Undefined {
    match reason {
        Undefined::NoPredictedPositive => Undefined::NoPredictedNegative,
        Undefined::NoPredictedNegative => Undefined::NoPredictedPositive,
        other => other,
    }
}

/// Flag: the value depends on a sample of the people.
pub(crate) const SAMPLED: &str = "sampled";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::scope::MetricScope;
    use crate::metric::value::settings::FavouredGroups;

    #[test]
    fn facets() {
        let some = |groups: &[usize]| FavouredGroups::Groups(groups.to_vec()).facets(3);
        assert_eq!(some(&[0]), [MetricScope::Pair(0, 1), MetricScope::Pair(0, 2)]);
        assert_eq!(some(&[1, 2]), [MetricScope::Pair(1, 0), MetricScope::Pair(2, 0)]);
        assert_eq!(
            FavouredGroups::Rest.facets(3),
            [MetricScope::RestVsOne(0), MetricScope::RestVsOne(1), MetricScope::RestVsOne(2)]
        );
        assert!(some(&[0, 1, 2]).is_empty() && FavouredGroups::Rest.facets(1).is_empty());
    }

    #[test]
    fn quotients_of_nobody() {
        let none = Confusion::default();
        assert_eq!(
            [acceptance, rejection, errors, generalized_entropy].map(|of| of(&none)),
            [Err(Undefined::EmptyGroup); 4]
        );
        let denied = Confusion { fn_: 5, ..none };
        assert_eq!(acceptance(&denied), Err(Undefined::NoPredictedPositive));
        assert_eq!(errors(&denied), Err(Undefined::NoFalsePositive));
        assert_eq!(generalized_entropy(&denied), Err(Undefined::AllFalseNegative));
        assert_eq!(rejection(&Confusion { tp: 5, ..none }), Err(Undefined::NoPredictedNegative));
    }

    #[test]
    fn predictions_amplify_or_reduce_only_what_is_there() {
        use BiasChange::{Amplified, NotDistinguishable, Reduced};
        let of = |dpl: f64, of_dpl, change| BiasChange::new(dpl, Some(of_dpl), Some(change));
        assert_eq!(of(0.2, (0.1, 0.3), (0.05, 0.4)), Some(Amplified));
        assert_eq!(of(0.2, (0.1, 0.3), (-0.4, -0.05)), Some(Reduced));
        assert_eq!(of(0.2, (0.1, 0.3), (-0.1, 0.2)), Some(NotDistinguishable));
        // The same with the facets exchanged.
        assert_eq!(of(-0.2, (-0.3, -0.1), (-0.4, -0.05)), Some(Amplified));
        assert_eq!(of(-0.2, (-0.3, -0.1), (0.05, 0.4)), Some(Reduced));
        assert_eq!(of(0.05, (-0.1, 0.2), (0.05, 0.4)), None);
        assert_eq!(of(0.05, (0.0, 0.2), (0.05, 0.4)), None);
        assert_eq!(BiasChange::new(0.2, Some((0.1, 0.3)), None), None);
        assert_eq!(BiasChange::new(0.2, None, Some((0.1, 0.3))), None);
    }

    #[test]
    fn benefits_of_many_people_do_not_overflow() {
        let all = 1_u64 << 60;
        let found = generalized_entropy(&Confusion::labelled(all, all, all, all)).unwrap();
        assert_eq!(found, 0.5 * (4.0 * 6.0 / 16.0 - 1.0));
    }
}
