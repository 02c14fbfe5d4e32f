//! Metrics of the clarify family: measured by facets, strata and flip tests.

use crate::metric::catalog::clarify::{SAMPLED, swap_reason};
use crate::metric::catalog::find;
use crate::metric::estimate::Estimate;
use crate::metric::evidence::counts::FactualCounts;
use crate::metric::evidence::flip_test::{FlipSearch, FlipTestResult, facets_of};
use crate::metric::evidence::strata::{FacetStratum, Strata};
use crate::metric::evidence::units::{WeightSums, alone};
use crate::metric::interval::ValueInterval;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::{GroupSelection, MetricScope};
use crate::metric::value::disparity::cddpl;
use crate::metric::value::gaps::first_is_impaired;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::is_clear;
use crate::metric::value::measured::{FactualMeasurement, FactualSubject};
use crate::metric::value::measured_value::{MeasuredValue, ValuePeople};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{Metric, MetricFamily, Reads};
use rayon::prelude::*;

impl FactualMeasurement<'_> {
    /// The whole family. `subjects` are the groups, the others of each, and all.
    pub(crate) fn clarify(
        &self,
        counts: &FactualCounts,
        flips: Option<&FlipTestResult>,
        subjects: &GroupSubjects<FactualSubject>,
    ) -> Vec<MeasuredValue> {
        let n_groups = subjects.groups.len();
        let families = &self.context.settings.families;
        let compare = |scope: MetricScope| {
            let mut out = Vec::new();
            let (a, d) = facets_of(scope);
            let [of_a, of_d] = [a, d].map(|who| subjects.of(who));
            // The family group has measured ratios in both orders, against all others where these
            // are not one group.
            let known = families.contains(&MetricFamily::Group)
                && (matches!(scope, MetricScope::Pair(..)) || n_groups > 2);
            let turned = match scope {
                MetricScope::RestVsOne(group) => MetricScope::OneVsRest(group),
                MetricScope::Pair(a, d) => MetricScope::Pair(d, a),
                scope => scope,
            };
            out.extend(find("di").filter(|_| !known).into_iter().flat_map(|di| {
                [self.gap(di, scope, [of_a, of_d]), self.gap(di, turned, [of_d, of_a])]
            }));
            for metric in self.context.metrics(MetricFamily::Clarify) {
                match metric.reads {
                    Reads::Benefit(_) => {}
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
        let facets = self.context.settings.favoured.facets(n_groups);
        let mut out: Vec<MeasuredValue> = facets.into_par_iter().flat_map_iter(compare).collect();
        let benefits = self.context.metrics(MetricFamily::Clarify);
        let benefits = benefits.filter(|metric| matches!(metric.reads, Reads::Benefit(_)));
        out.extend(
            benefits.map(|metric| self.performance(metric, MetricScope::Total, &subjects.all)),
        );
        out
    }

    /// One metric of the strata of two facets.
    fn disparity(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        strata: &Strata,
    ) -> MeasuredValue {
        let (a, d) = facets_of(scope);
        let turn = self.context.settings.favourable == FavourableClass::Negative;
        let seen = |strata: Vec<FacetStratum>| {
            if turn { strata.into_iter().map(FacetStratum::swap_classes).collect() } else { strata }
        };
        let holds =
            |who: GroupSelection, group| who.groups(strata.n_groups()).any(|of| of == group);
        let units = strata.units(|group| holds(a, group) || holds(d, group));
        let is_second = |cell| holds(d, strata.group_of(cell));
        let [people, cells] = [WeightSums::people, WeightSums::sum]
            .map(|number: fn(WeightSums) -> u64| seen(strata.facets(number, a, d)));
        let rate = |strata: &[FacetStratum]| match metric.reads {
            Reads::StrataRate(rate) => Some(rate(strata)),
            _ => None,
        };
        let of = |strata: &[FacetStratum]| match metric.reads {
            Reads::Strata(value) => {
                value(strata).map_err(|reason| if turn { swap_reason(reason) } else { reason })
            }
            _ => rate(strata).map_or(Err(Undefined::OperandMissing), Rate::value),
        };
        let value = if strata.are_groups { Err(Undefined::StratumIsGroup) } else { of(&cells) };
        let all = match metric.id {
            "cddpl" => Some(true),
            "cddpl_defined_strata_only" => Some(false),
            _ => None,
        };
        let (interval, ci_method) = match all {
            None => (None, "none: it describes these people".to_owned()),
            Some(all) => self.context.interval(value, || {
                let place = |cell| (strata.stratum_of(cell), is_second(cell));
                let of = value.ok().map(|value| {
                    let facets = strata.facets(WeightSums::sum, a, d);
                    cddpl((&facets, &units), place, value, (turn, all))
                });
                self.context.estimated(of)
            }),
        };
        let sum = |side: fn(&FacetStratum) -> [u64; 2]| people.iter().flat_map(side).sum::<u64>();
        let (n_a, n_d) = (sum(|s| s.a), sum(|s| s.d));
        let counted = rate(&people).filter(|_| !strata.are_groups);
        let carriers = (!units.is_plain()).then(|| {
            let n = |held: &dyn Fn(bool) -> bool| units.n_units(|cell| held(is_second(cell)));
            [n(&|second| !second), n(&|second| second), n(&|_| true)]
        });
        let people = ValuePeople::two([n_a, n_d], None).with_carriers(carriers);
        self.measured_facets(metric, scope, value, people, (interval, ci_method))
            .with_rate(counted, rate(&cells).filter(|_| units.are_weighted()))
    }

    /// The flip test of two facets.
    fn flip(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        flips: &FlipTestResult,
    ) -> Option<MeasuredValue> {
        let (facet, units) = flips.facet(scope)?;
        let better = self.context.settings.favourable == FavourableClass::Positive;
        // All, those who would get the favourable prediction, and those who would lose it.
        let counted = move |[to_positive, to_negative, same]: [u64; 3]| {
            let all = to_positive + to_negative + same;
            if better { [all, to_positive, to_negative] } else { [all, to_negative, to_positive] }
        };
        let of = move |cells: [u64; 3]| match counted(cells) {
            [n, plus, minus] if facet.n_a > 0 && n > 0 => {
                Ok((plus as f64 - minus as f64) / n as f64)
            }
            _ => Err(Undefined::EmptyGroup),
        };
        let value = match flips.is_weighted() {
            true => of(units.weight()).map_err(|_| {
                // Who could be looked at may be there and weigh nothing.
                of(facet.cells()).err().unwrap_or(Undefined::ZeroWeight)
            }),
            false => of(facet.cells()),
        };
        let (interval, mut ci_method) = self.context.interval(value, || {
            self.context.estimated(Estimate::paired(&units, |cell| counted(alone(cell))))
        });
        if interval.is_some() {
            ci_method.push_str(", their neighbours fixed");
        }
        let mut measured = self.measured_facets(
            metric,
            scope,
            value,
            ValuePeople::two([facet.n_a, facet.n_d], None).with_carriers(facet.persons),
            (interval, ci_method),
        );
        let FlipTestResult { eligible, looked_at, missing, .. } = *flips;
        let neighbours = facet.neighbours;
        measured.flips = Some(FlipSearch { eligible, looked_at, missing, neighbours });
        measured.flags.extend((looked_at < eligible).then_some(SAMPLED));
        Some(measured)
    }

    /// A value of so many people of two facets.
    fn measured_facets(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        value: MetricValue,
        people: ValuePeople,
        (interval, ci_method): (Option<ValueInterval>, String),
    ) -> MeasuredValue {
        let clear = is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None);
        let first = first_is_impaired(metric.impaired, value).filter(|_| clear);
        let impaired =
            first.and_then(|first| if first { scope.first_group() } else { scope.second_group() });
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, ci_method), people)
            .with_impaired(impaired)
    }
}
