//! Values of the family clarify, from facets, strata and flip tests.

use crate::metric::catalog::clarify::{SAMPLED, swap_reason};
use crate::metric::catalog::find;
use crate::metric::estimate::Estimate;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::flip_test::{FlipSearch, FlipTestResult};
use crate::metric::evidence::strata::{FacetStratum, Strata};
use crate::metric::evidence::units::{WeightSums, alone};
use crate::metric::interval::note;
use crate::metric::missing_interval::MissingInterval;
use crate::metric::rate::{Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::disparity::cddpl;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::measured::FactualSubject;
use crate::metric::value::measured_value::{MeasuredValue, Subject, ValuePeople};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{Metric, MetricFamily, Reads};
use rayon::prelude::*;

impl MeasureContext<'_> {
    /// The whole family. `subjects` are the groups, the others of each, and all.
    pub(crate) fn clarify(
        &self,
        counts: &FactualCounts,
        flips: Option<&FlipTestResult>,
        subjects: &GroupSubjects<FactualSubject>,
    ) -> Vec<MeasuredValue> {
        let n_groups = subjects.groups.len();
        let families = &self.settings.families;
        let compare = |scope: MetricScope| {
            let mut out = Vec::new();
            let [of_a, of_d] = subjects.compared(scope);
            // The family group has measured ratios in both orders, and against all others if these
            // are several groups.
            let known = families.contains(&MetricFamily::Group)
                && (matches!(scope, MetricScope::Pair(..)) || n_groups > 2);
            out.extend(find("di").filter(|_| !known).into_iter().flat_map(|di| {
                let turned = self.gap(di, scope.turned(), [of_d, of_a]);
                [self.gap(di, scope, [of_a, of_d]), turned]
            }));
            for metric in self.metrics(MetricFamily::Clarify) {
                match metric.reads {
                    Reads::Group(_, None) => {}
                    Reads::Strata(_) | Reads::StrataRate(_) => {
                        out.extend(
                            counts
                                .strata
                                .as_ref()
                                .map(|strata| self.disparity(metric, scope, strata)),
                        );
                    }
                    Reads::Flips => {
                        out.extend(flips.and_then(|flips| self.flip(metric, scope, flips)));
                    }
                    _ => out.push(self.gap(metric, scope, [of_a, of_d])),
                }
            }
            out
        };
        let facets = self.settings.favoured.facets(n_groups);
        let mut out: Vec<MeasuredValue> = facets.into_par_iter().flat_map_iter(compare).collect();
        let benefits = self.metrics(MetricFamily::Clarify);
        let benefits = benefits.filter(|metric| matches!(metric.reads, Reads::Group(_, None)));
        out.extend(benefits.map(|metric| {
            let reading = self.reading(metric);
            subjects.all.measured(reading, self, (metric, MetricScope::Total))
        }));
        out
    }

    /// One metric of the strata of two facets.
    fn disparity(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        strata: &Strata,
    ) -> MeasuredValue {
        let [a, d] = scope.sides();
        let turn = self.settings.favourable == FavourableClass::Negative;
        let oriented = |strata: Vec<FacetStratum>| {
            if turn { strata.into_iter().map(FacetStratum::swap_classes).collect() } else { strata }
        };
        let units = strata.units(|group| a.holds(group) || d.holds(group));
        let is_second = |cell| d.holds(strata.group_of(cell));
        let [people, cells] = [WeightSums::people, WeightSums::sum]
            .map(|number: fn(WeightSums) -> u64| oriented(strata.facets(number, a, d)));
        let rate = |strata: &[FacetStratum]| match metric.reads {
            Reads::StrataRate(rate) => Some(rate(strata)),
            _ => None,
        };
        let value_of = |strata: &[FacetStratum]| match metric.reads {
            Reads::Strata(value) => {
                value(strata).map_err(|reason| if turn { swap_reason(reason) } else { reason })
            }
            _ => rate(strata).map_or(Err(Undefined::OperandMissing), Rate::value),
        };
        let value =
            if strata.are_groups { Err(Undefined::StratumIsGroup) } else { value_of(&cells) };
        let all_strata = match metric.id {
            "cddpl" => Some(true),
            "cddpl_defined_strata_only" => Some(false),
            _ => None,
        };
        let (interval, ci_method) = match all_strata {
            None => (None, MissingInterval::ThesePeople.words().to_owned()),
            Some(all_strata) => self.interval(value, || {
                let place = |cell| (strata.stratum_of(cell), is_second(cell));
                let estimate = value.ok().map(|value| {
                    let facets = strata.facets(WeightSums::sum, a, d);
                    cddpl((&facets, &units), place, value, (turn, all_strata))
                });
                self.estimated(estimate)
            }),
        };
        let sum = |side: fn(&FacetStratum) -> [u64; 2]| people.iter().flat_map(side).sum::<u64>();
        let (n_a, n_d) = (sum(|s| s.a), sum(|s| s.d));
        let counted = rate(&people).filter(|_| !strata.are_groups);
        let persons = (!units.is_plain()).then(|| {
            let n = |held: &dyn Fn(bool) -> bool| units.n_units(|cell| held(is_second(cell)));
            [n(&|second| !second), n(&|second| second), n(&|_| true)]
        });
        let people = ValuePeople::of_facets([n_a, n_d], persons);
        self.measured_facets(metric, scope, value, people, (interval, ci_method))
            .with_rate(counted, rate(&cells).filter(|_| units.weighted))
    }

    /// The flip test of two facets.
    fn flip(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        flips: &FlipTestResult,
    ) -> Option<MeasuredValue> {
        let (facet, units) = flips.facet(scope)?;
        let better = self.settings.favourable == FavourableClass::Positive;
        // The numbers of all people, of those with a vote for the favourable prediction instead of
        // the unfavourable one, and of those with the reverse.
        let counted = move |[to_positive, to_negative, same]: [u64; 3]| {
            let n = to_positive + to_negative + same;
            if better { [n, to_positive, to_negative] } else { [n, to_negative, to_positive] }
        };
        let value_of = move |cells: [u64; 3]| match counted(cells) {
            [n, plus, minus] if facet.n_a > 0 && n > 0 => {
                Ok((plus as f64 - minus as f64) / n as f64)
            }
            _ => Err(Undefined::EmptyGroup),
        };
        let value = match flips.weighted {
            true => value_of(units.weight()).map_err(|_| {
                // All people may have weight 0.
                value_of(facet.cells()).err().unwrap_or(Undefined::ZeroWeight)
            }),
            false => value_of(facet.cells()),
        };
        let (interval, mut ci_method) = self.interval(value, || {
            self.estimated(Estimate::paired(&units, |cell| counted(alone(cell))))
        });
        if interval.is_some() {
            ci_method += &note("neighbours_fixed", &[]);
        }
        let mut measured = self.measured_facets(
            metric,
            scope,
            value,
            ValuePeople::of_facets([facet.n_a, facet.n_d], facet.persons),
            (interval, ci_method),
        );
        let search = FlipSearch { neighbours: facet.neighbours, ..flips.search };
        measured.flips = Some(search);
        measured.flags.extend((search.looked_at < search.eligible).then_some(SAMPLED));
        Some(measured)
    }
}
