//! The post-training bias metrics that SageMaker Clarify defines, with the signs of its text.
//!
//! Source: Amazon SageMaker Clarify, post-training bias metrics. Two facets are compared: a, the
//! favoured one, and d. All counts are those of favourable labels and predictions: where the
//! negative prediction is the favourable one both classes change their names first.
//! [`FavouredGroups`] says which groups are favoured; every comparison is a pair (a, d), or d and
//! all others together. `di` belongs to the family group and is measured here too; DPPL, RD, SD,
//! DAR and AD are its named gaps under Clarify's names, seen from the favourable side.
//!
//! Where the text and the library (smclarify 0.5) disagree, or either slips: the text lists
//! thirteen metrics and calls them eleven; it calls TN + FN of DRR observed negatives, and TP + FP
//! of DAR observed positives: both are predicted ones. Its range of GE, (0, 0.5), does not hold:
//! one true positive and nine false negatives give 4.5. The library returns 0 for every share of
//! nobody, and FT with the opposite sign. See [`strata`](crate::metric::evidence::strata) for CDDPL
//! and [`flips`](crate::metric::evidence::flip_test) for FT.

use rayon::prelude::*;

use super::performance as p;
use super::place::PageList as L;
use super::place::PagePlace::At;
use crate::metric::bootstrap::interval::{IntervalProcedure, ValueInterval};
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::flip_test::{FlipTestResult, facets_of};
use crate::metric::evidence::person::Confusion;
use crate::metric::evidence::strata::{self, FacetStratum, Strata};
use crate::metric::evidence::weights::{PEOPLE_BLOCKS, by_weight};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::ask::{CellBootstrap, is_clear};
use crate::metric::value::gaps::first_is_impaired;
use crate::metric::value::measured::{
    FactualMeasurement, FactualSubject, MeasuredValue, ValuePeople, stream_name,
};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{Facet, ImpairedGroupRule, Metric, MetricFamily, MetricUnit, Reads, find};

const DOCUMENT: &str = "Amazon SageMaker Clarify, post-training bias metrics";

const fn facets(
    id: &'static str,
    symbol: &'static str,
    name: &'static str,
    formula: &'static str,
    reads: Reads,
) -> Metric {
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Clarify,
        formula,
        reading: "",
        range: (-1.0, 1.0),
        ideal: Some(0.0),
        sign: "above 0 the disfavoured facet d is worse off",
        undefined_when: "",
        source: DOCUMENT,
        needs_label: true,
        reads,
        impaired: ImpairedGroupRule::AboveZero(Facet::Second),
        unit: MetricUnit::Points,
        shown: &[],
        gaps: None,
        gap_of: None,
    }
}

/// The list of this family.
pub const METRICS: &[Metric] = &[
    Metric {
        reading: "how much more often the favoured facet gets the favourable prediction",
        undefined_when: "a facet is empty",
        needs_label: false,
        shown: &[At(L::ClarifyOutcomes, 1)],
        ..facets(
            "dppl",
            "DPPL",
            "difference in positive proportions in predicted labels",
            "favourable predictions / N of a, minus the same of d",
            Reads::RateDifference(p::pprev),
        )
    },
    Metric {
        reading: "whether deserving people of the favoured facet get fewer favourable predictions \
                  than deserved, compared with d",
        range: (f64::NEG_INFINITY, f64::INFINITY),
        sign: "above 0 qualified people of the favoured facet are turned down more",
        undefined_when: "nobody of a facet gets the favourable prediction",
        impaired: ImpairedGroupRule::AboveZero(Facet::First),
        unit: MetricUnit::Signed,
        shown: &[At(L::ClarifyDeserts, 1)],
        ..facets(
            "dcacc",
            "DCAcc",
            "difference in conditional acceptance",
            "favourable labels / favourable predictions of a, minus the same of d",
            Reads::ScoreDifference(acceptance),
        )
    },
    Metric {
        reading: "whether people of the favoured facet get more unfavourable predictions than \
                  deserved, compared with d",
        range: (f64::NEG_INFINITY, f64::INFINITY),
        sign: "above 0 people of the favoured facet are turned down more than they deserve",
        undefined_when: "nobody of a facet gets the unfavourable prediction",
        impaired: ImpairedGroupRule::AboveZero(Facet::First),
        unit: MetricUnit::Signed,
        shown: &[At(L::ClarifyDeserts, 2)],
        ..facets(
            "dcr",
            "DCR",
            "difference in conditional rejection",
            "unfavourable labels / unfavourable predictions of d, minus the same of a",
            Reads::ScoreRise(rejection),
        )
    },
    Metric {
        reading: "how much more often deserving people of the favoured facet get the favourable \
                  prediction",
        undefined_when: "nobody of a facet has the favourable label",
        shown: &[At(L::ClarifyDeserts, 3)],
        ..facets("rd", "RD", "recall difference", "TPR_a - TPR_d", Reads::RateDifference(p::tpr))
    },
    Metric {
        reading: "how much more often undeserving people of d are told so",
        undefined_when: "nobody of a facet has the unfavourable label",
        shown: &[At(L::ClarifyDeserts, 4)],
        ..facets(
            "sd",
            "SD",
            "specificity difference",
            "TNR_d - TNR_a",
            Reads::RateDifference(p::fpr),
        )
    },
    Metric {
        reading: "how much more often a favourable prediction is right in the favoured facet",
        undefined_when: "nobody of a facet gets the favourable prediction",
        shown: &[At(L::ClarifyDeserts, 5)],
        ..facets(
            "dar",
            "DAR",
            "difference in acceptance rates",
            "PPV_a - PPV_d",
            Reads::RateDifference(p::ppv),
        )
    },
    Metric {
        reading: "how much more often an unfavourable prediction is right in d",
        sign: "above 0 the favoured facet is worse off",
        undefined_when: "nobody of a facet gets the unfavourable prediction",
        impaired: ImpairedGroupRule::AboveZero(Facet::First),
        shown: &[At(L::ClarifyDeserts, 6)],
        ..facets(
            "drr",
            "DRR",
            "difference in rejection rates",
            "NPV_d - NPV_a",
            Reads::RateDifference(p::fomr),
        )
    },
    Metric {
        reading: "how much more often predictions are right in the favoured facet",
        undefined_when: "a facet is empty",
        shown: &[At(L::ClarifyDeserts, 7)],
        ..facets("ad", "AD", "accuracy difference", "ACC_a - ACC_d", Reads::RateDifference(p::acc))
    },
    Metric {
        reading: "how the two kinds of error are mixed: wrongly denied per wrongly granted",
        range: (f64::NEG_INFINITY, f64::INFINITY),
        sign: "above 0 errors in d are more often denials; which error weighs more is for the \
               reader",
        undefined_when: "nobody of a facet is wrongly granted the favourable prediction",
        impaired: ImpairedGroupRule::Unstated,
        unit: MetricUnit::Signed,
        shown: &[At(L::ClarifyDeserts, 8)],
        ..facets(
            "te",
            "TE",
            "treatment equality",
            "FN_d / FP_d - FN_a / FP_a",
            Reads::ScoreRise(errors),
        )
    },
    Metric {
        reading: "whether d has a larger share among those denied than among those granted, \
                  averaged over strata",
        undefined_when: "a facet has nobody with a stratum, or all predictions are alike",
        needs_label: false,
        shown: &[At(L::ClarifyOutcomes, 3)],
        ..facets(
            "cddpl",
            "CDDPL",
            "conditional demographic disparity in predicted labels",
            "sum over strata k of n_k / n (d_k0 / n_k0 - d_k1 / n_k1); a share of nobody counts as \
             0",
            Reads::Strata(strata::cddpl),
        )
    },
    Metric {
        reading: "the same over the strata in which both outcomes occur",
        undefined_when: "a facet has nobody with a stratum, or no stratum has both outcomes",
        source: "CDDPL over the strata where its shares exist",
        needs_label: false,
        shown: &[At(L::ClarifyOutcomes, 4)],
        ..facets(
            "cddpl_defined_strata_only",
            "CDDPL_defined_strata_only",
            "conditional demographic disparity, defined strata only",
            "sum over strata k with both outcomes of n_k / n (d_k0 / n_k0 - d_k1 / n_k1)",
            Reads::Strata(strata::cddpl_defined),
        )
    },
    Metric {
        reading: "strata in which one of the shares of CDDPL does not exist",
        range: (0.0, f64::INFINITY),
        sign: "a number: never negative",
        undefined_when: "a facet has nobody with a stratum, or all predictions are alike",
        source: "counted beside CDDPL",
        needs_label: false,
        impaired: ImpairedGroupRule::Unstated,
        unit: MetricUnit::Count,
        shown: &[At(L::ClarifyNotes, 1)],
        ..facets(
            "undefined_strata",
            "undefined_strata",
            "strata without one of the outcomes",
            "number of strata k with n_k0 = 0 or n_k1 = 0",
            Reads::Strata(strata::undefined_strata),
        )
    },
    Metric {
        reading: "people in such strata",
        range: (0.0, 1.0),
        sign: "a share: never negative",
        undefined_when: "nobody has a stratum",
        source: "counted beside CDDPL",
        needs_label: false,
        impaired: ImpairedGroupRule::Unstated,
        unit: MetricUnit::Share,
        shown: &[At(L::ClarifyNotes, 2)],
        ..facets(
            "undefined_strata_share",
            "undefined_strata_share",
            "share of people in strata without one of the outcomes",
            "sum of n_k over strata k with n_k0 = 0 or n_k1 = 0, over n",
            Reads::StrataRate(strata::undefined_rows),
        )
    },
    Metric {
        reading: "whether people of d would be predicted favourably more often if predicted as the \
                  people of a most like them",
        undefined_when: "a facet is empty",
        needs_label: false,
        shown: &[At(L::ClarifyOutcomes, 5)],
        ..facets("ft", "FT", "flip test", "(F+ - F-) / n_d", Reads::Flips { reversed: false })
    },
    Metric {
        reading: "the flip test with the sign that the library smclarify 0.5 returns",
        sign: "below 0 the disfavoured facet d is worse off",
        undefined_when: "a facet is empty",
        source: "smclarify 0.5, whose sign is the opposite of the text's",
        needs_label: false,
        impaired: ImpairedGroupRule::AboveZero(Facet::First),
        shown: &[At(L::ClarifyNotes, 3)],
        ..facets(
            "ft_library_sign",
            "FT_library_sign",
            "flip test, sign of the library",
            "(F- - F+) / n_d",
            Reads::Flips { reversed: true },
        )
    },
    Metric {
        reading: "how unequally benefits b = prediction - label + 1 are spread over all people",
        range: (0.0, f64::INFINITY),
        sign: "never negative; 0 where all have the same benefit",
        undefined_when: "everybody deserves the favourable prediction and is denied it, or there \
                         is nobody",
        source: "Amazon SageMaker Clarify, post-training bias metrics, GE; Speicher et al. 2018",
        impaired: ImpairedGroupRule::Unstated,
        unit: MetricUnit::Number,
        shown: &[At(L::ClarifyTotals, 1)],
        ..facets(
            "ge",
            "GE",
            "generalized entropy",
            "(N (TP + TN + 4 FP) / (TP + TN + 2 FP)^2 - 1) / 2",
            Reads::Benefit(generalized_entropy),
        )
    },
];

fn quotient_of_counts(c: &Confusion, above: u64, below: u64, empty: Undefined) -> MetricValue {
    if below == 0 { Err(c.or_empty(empty)) } else { Ok(above as f64 / below as f64) }
}

fn acceptance(c: &Confusion) -> MetricValue {
    quotient_of_counts(
        c,
        c.actual_positive(),
        c.predicted_positive(),
        Undefined::NoPredictedPositive,
    )
}

fn rejection(c: &Confusion) -> MetricValue {
    quotient_of_counts(
        c,
        c.actual_negative(),
        c.predicted_negative(),
        Undefined::NoPredictedNegative,
    )
}

/// FN / FP.
pub(crate) fn errors(c: &Confusion) -> MetricValue {
    quotient_of_counts(c, c.fn_, c.fp, Undefined::NoFalsePositive)
}

pub(crate) fn generalized_entropy(c: &Confusion) -> MetricValue {
    let (right, granted) = (c.tp as f64 + c.tn as f64, c.fp as f64);
    let sum = right + 2.0 * granted;
    if sum == 0.0 {
        return Err(c.or_empty(Undefined::AllFalseNegative));
    }
    Ok((0.5 * (c.n() as f64 * (right + 4.0 * granted) / (sum * sum) - 1.0)).max(0.0))
}

/// A reason in the words of the other naming of the classes.
fn swap_reason(reason: Undefined) -> Undefined {
    match reason {
        Undefined::NoPredictedPositive => Undefined::NoPredictedNegative,
        Undefined::NoPredictedNegative => Undefined::NoPredictedPositive,
        other => other,
    }
}

impl FactualMeasurement<'_> {
    /// The whole family. `subjects` are the groups, the others of each, and all.
    pub(crate) fn clarify(
        &self,
        counts: &FactualCounts,
        flips: Option<&FlipTestResult>,
        (groups, rests, all): (&[FactualSubject], &[FactualSubject], &FactualSubject),
    ) -> Vec<MeasuredValue> {
        let of = |who: GroupSelection| match who {
            GroupSelection::One(group) => &groups[group],
            GroupSelection::Rest(group) => &rests[group],
            GroupSelection::All => all,
        };
        let families = &self.context.settings.families;
        let compare = |scope: MetricScope| {
            let mut out = Vec::new();
            let (a, d) = facets_of(scope);
            let (of_a, of_d) = (of(a), of(d));
            // The family group has measured the pairs that stand in reference order.
            let known = families.contains(&MetricFamily::Group)
                && matches!(scope, MetricScope::Pair(a, d) if a < d);
            out.extend(find("di").filter(|_| !known).map(|di| self.gap(di, scope, of_a, of_d)));
            let mut replicates = None;
            for metric in self.context.metrics(MetricFamily::Clarify) {
                match metric.reads {
                    Reads::Benefit(_) => {}
                    Reads::Strata(_) | Reads::StrataRate(_) => {
                        out.extend(
                            counts.strata.as_ref().map(|strata| {
                                self.disparity(metric, scope, strata, &mut replicates)
                            }),
                        );
                    }
                    Reads::Flips { reversed } => out
                        .extend(flips.and_then(|flips| self.flip(metric, scope, flips, reversed))),
                    _ => out.push(self.gap(metric, scope, of_a, of_d)),
                }
            }
            out
        };
        let compared: Vec<Vec<MeasuredValue>> = self
            .context
            .settings
            .favoured
            .facets(groups.len())
            .into_par_iter()
            .map(compare)
            .collect();
        let mut out: Vec<MeasuredValue> = compared.into_iter().flatten().collect();
        let benefits = self
            .context
            .metrics(MetricFamily::Clarify)
            .filter(|metric| matches!(metric.reads, Reads::Benefit(_)));
        out.extend(benefits.map(|metric| self.performance(metric, MetricScope::Total, all)));
        out
    }

    /// One metric of the strata of two facets. `replicates` are those of both disparities, made
    /// once.
    fn disparity(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        strata: &Strata,
        replicates: &mut Option<Vec<[MetricValue; 2]>>,
    ) -> MeasuredValue {
        let (a, d) = facets_of(scope);
        let turn = self.context.settings.favourable == FavourableClass::Negative;
        let seen = |strata: Vec<FacetStratum>| {
            if turn { strata.into_iter().map(FacetStratum::swap_classes).collect() } else { strata }
        };
        let (people, weights) = (seen(strata.facets(a, d)), strata.weighted_facets(a, d).map(seen));
        let rate = |strata: &[FacetStratum]| match metric.reads {
            Reads::StrataRate(rate) => Some(rate(strata)),
            _ => None,
        };
        let of = |strata: &[FacetStratum]| match metric.reads {
            Reads::Strata(value) => {
                value(strata).map_err(|reason| if turn { swap_reason(reason) } else { reason })
            }
            _ => rate(strata).map_or(Err(Undefined::OperandUndefined), Rate::value),
        };
        let value = match &weights {
            _ if strata.are_groups => Err(Undefined::StratumIsGroup),
            None => of(&people),
            Some(weights) => by_weight(of(weights), || of(&people)),
        };
        let (interval, ci_method) =
            match [metric.id == "cddpl", metric.id == "cddpl_defined_strata_only"]
                .iter()
                .position(|is| *is)
            {
                None => (None, "none: it describes these people".to_owned()),
                Some(which) => self.context.interval(value, || {
                    let settings = self.context.settings;
                    let draw = || {
                        let [of_a, of_d] = [a, d].map(|who| format!("{}/strata", stream_name(who)));
                        let both = |world: &[FacetStratum]| {
                            let world = seen(world.to_vec());
                            [strata::cddpl(&world), strata::cddpl_defined(&world)]
                        };
                        strata.replicates(
                            (a, d),
                            [&of_a, &of_d],
                            (settings.samples.get(), settings.seed),
                            || self.context.block_multiplicities(),
                            both,
                        )
                    };
                    let method = if weights.is_some() {
                        IntervalProcedure::Blocks { of: PEOPLE_BLOCKS, centred: false }
                    } else {
                        IntervalProcedure::Bootstrap
                    };
                    self.context.percentile(
                        replicates.get_or_insert_with(draw).iter().map(|both| both[which]),
                        method,
                    )
                }),
            };
        let sum = |side: fn(&FacetStratum) -> [u64; 2]| people.iter().flat_map(side).sum::<u64>();
        let (n_a, n_d) = (sum(|s| s.a), sum(|s| s.d));
        let counted = rate(&people).filter(|_| !strata.are_groups);
        self.measured_facets(metric, scope, value, (n_a, n_d), (interval, ci_method))
            .with_rate(counted, weights.as_deref().and_then(rate))
    }

    /// The flip test of two facets.
    fn flip(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        flips: &FlipTestResult,
        reversed: bool,
    ) -> Option<MeasuredValue> {
        let (facet, blocks) = flips.facet(scope)?;
        let better = self.context.settings.favourable == FavourableClass::Positive;
        let of = move |[to_positive, to_negative, same]: [u64; 3]| {
            let (plus, minus) = if better != reversed {
                (to_positive, to_negative)
            } else {
                (to_negative, to_positive)
            };
            match to_positive + to_negative + same {
                _ if facet.n_a == 0 => Err(Undefined::EmptyGroup),
                0 => Err(Undefined::EmptyGroup),
                n => Ok((plus as f64 - minus as f64) / n as f64),
            }
        };
        let weights = blocks.as_ref().map(|blocks| {
            blocks.iter().fold([0; 3], |sum, (_, cells)| std::array::from_fn(|i| sum[i] + cells[i]))
        });
        let value = weights.map_or_else(
            || of(facet.cells()),
            |weights| by_weight(of(weights), || of(facet.cells())),
        );
        let kinds = || {
            [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
                .into_iter()
                .zip(facet.cells())
                .filter(|(_, n)| *n > 0)
                .collect()
        };
        let drawn =
            CellBootstrap::new(blocks, kinds, format!("{}/flips", stream_name(facets_of(scope).1)));
        let (interval, mut ci_method) =
            self.context.interval(value, || drawn.percentile(&self.context, of));
        if interval.is_some() {
            ci_method.push_str(", their neighbours as they are");
        }
        let neighbours = if facet.neighbours == 1 {
            "1 neighbour".to_owned()
        } else {
            format!("{} neighbours", facet.neighbours)
        };
        ci_method.push_str(&format!("; {neighbours}"));
        let sampled = flips.looked_at < flips.eligible;
        if sampled {
            ci_method.push_str(&format!(
                " among a sample of {} of {} people",
                flips.looked_at, flips.eligible
            ));
        }
        if flips.missing > 0 {
            ci_method.push_str(&format!(
                "; {} people without a value of some feature are left out",
                flips.missing
            ));
        }
        let mut measured = self.measured_facets(
            metric,
            scope,
            value,
            (facet.n_a, facet.n_d),
            (interval, ci_method),
        );
        measured.flags.extend(sampled.then_some(SAMPLED));
        Some(measured)
    }

    /// A value of so many people of two facets.
    fn measured_facets(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        value: MetricValue,
        (n_a, n_d): (u64, u64),
        (interval, ci_method): (Option<ValueInterval>, String),
    ) -> MeasuredValue {
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None);
        let first = first_is_impaired(metric.impaired, value).filter(|_| clear);
        let impaired =
            first.and_then(|first| if first { scope.from_group() } else { scope.to_group() });
        let people = ValuePeople::two([n_a, n_d], None);
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, ci_method), people)
            .with_impaired(impaired)
    }
}

/// Flag: the value rests on a sample of the people.
pub const SAMPLED: &str = "sampled";

#[cfg(test)]
mod tests {
    use super::{acceptance, errors, generalized_entropy, rejection};
    use crate::metric::evidence::person::Confusion;
    use crate::metric::rate::Undefined;
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
    fn benefits_of_many_people_do_not_overflow() {
        let all = 1_u64 << 60;
        let found = generalized_entropy(&Confusion::labelled(all, all, all, all)).unwrap();
        assert_eq!(found, 0.5 * (4.0 * 6.0 / 16.0 - 1.0));
    }
}
