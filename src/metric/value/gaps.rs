//! Two subjects compared: a pair of groups, a group and all others, or the two facets of Clarify.
//!
//! A is first. Clarify's metrics are about favourable labels and predictions: where the
//! negative prediction is the favourable one they see both classes under each other's names.

use std::rc::Rc;

use crate::metric::catalog::performance::rates_of_mean;
use crate::metric::evidence::block_bootstrap::by_weight;
use crate::metric::evidence::person::{Confusion, ConfusionCells};
use crate::metric::interval::{
    IntervalProcedure, ValueInterval, katz, mover_ratio, newcombe, newcombe_of, wilson, z_of_level,
};
use crate::metric::person_interval::{PersonRate, katz_of_persons, newcombe_of_persons};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::interval_choice::{IntervalBasis, is_clear};
use crate::metric::value::largest::{
    IntervalAt, joint_level, largest_gap, smallest_ratio_of_shares,
};
use crate::metric::value::mean_gap::mean_gap;
use crate::metric::value::measured::{
    FactualMeasurement, FactualSubject, MeasuredValue, ValuePeople, all_persons,
};
use crate::metric::value::settings::FavourableClass;
use crate::metric::{
    Facet, ImpairedGroupRule, Metric, MetricFamily, Reads, combine, difference, ratio,
};

/// The value of a metric of two confusions.
pub(crate) fn value(
    metric: &Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> MetricValue {
    match (metric.reads, rates_behind(metric, favourable, a, b)) {
        (Reads::RateDifference(_), Some((x, y))) => difference(x.value(), y.value()),
        (Reads::RateRatio(_) | Reads::FavourableRatio, Some((x, y))) => ratio(x.value(), y.value()),
        (Reads::FavourableMinRatio, _) => {
            let [x, y] = [a, b].map(|c| favourable_rate(c, favourable).value());
            combine(x, y, |x, y| ratio(Ok(x.min(y)), Ok(x.max(y))))
        }
        (Reads::ScoreDifference(score) | Reads::MeanDifference(score), _) => {
            difference(score(a), score(b))
        }
        (Reads::ScoreRise(score), _) => difference(score(b), score(a)),
        (Reads::ScoreRatio(score), _) => ratio(score(a), score(b)),
        (Reads::WidestGap(of), _) => {
            let [x, y] = of.map(|rate| difference(rate(a).value(), rate(b).value()));
            combine(x, y, |x, y| Ok(x.abs().max(y.abs())))
        }
        _ => unreachable!("`{}` is not a metric of two groups", metric.id),
    }
}

/// The two rates behind a value, the one on top or in front first.
fn rates_behind(
    metric: &Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> Option<(Rate, Rate)> {
    match metric.reads {
        Reads::RateDifference(rate) | Reads::RateRatio(rate) => Some((rate(a), rate(b))),
        Reads::FavourableRatio => {
            Some((favourable_rate(b, favourable), favourable_rate(a, favourable)))
        }
        _ => None,
    }
}

/// The two rates that may be behind a gap of two groups, the one on top or in front first: by
/// which prediction is the favourable one.
pub(crate) fn rates_of_gap(metric: &Metric, a: &Confusion, b: &Confusion) -> Vec<[Rate; 2]> {
    let of = |favourable| {
        let (favourable, is_turned) = classes_seen(metric, favourable);
        let seen = |c: &Confusion| if is_turned { c.swap_classes() } else { *c };
        rates_behind(metric, favourable, &seen(a), &seen(b)).map(|(x, y)| [x, y])
    };
    [FavourableClass::Positive, FavourableClass::Negative].into_iter().filter_map(of).collect()
}

/// A gap of two groups, computed again from their confusions.
pub(crate) struct ComputedGap {
    /// Its value.
    pub(crate) value: MetricValue,
    /// The pairs of rates whose differences or ratios it is: one, or two of the widest of two gaps;
    /// none of another value. The one on top or in front first.
    pub(crate) rates: Vec<[Rate; 2]>,
}

/// A gap of two groups; none of a metric that needs more than their confusions.
pub(crate) fn computed(
    metric: &Metric,
    favourable: FavourableClass,
    a: &Confusion,
    b: &Confusion,
) -> Option<ComputedGap> {
    let (favourable, is_turned) = classes_seen(metric, favourable);
    let seen = |c: &Confusion| if is_turned { c.swap_classes() } else { *c };
    let (a, b) = (seen(a), seen(b));
    let rates = match metric.reads {
        Reads::FavourableMinRatio => {
            vec![[favourable_rate(&a, favourable), favourable_rate(&b, favourable)]]
        }
        Reads::WidestGap(of) => of.map(|rate| [rate(&a), rate(&b)]).to_vec(),
        Reads::ScoreDifference(_)
        | Reads::ScoreRise(_)
        | Reads::ScoreRatio(_)
        | Reads::MeanDifference(_) => Vec::new(),
        _ => {
            let (x, y) = rates_behind(metric, favourable, &a, &b)?;
            vec![[x, y]]
        }
    };
    Some(ComputedGap { value: value(metric, favourable, &a, &b), rates })
}

/// How a metric sees the classes: which prediction is favourable, and whether they change names.
fn classes_seen(metric: &Metric, favourable: FavourableClass) -> (FavourableClass, bool) {
    let turned = metric.family == MetricFamily::Clarify && favourable == FavourableClass::Negative;
    (if turned { FavourableClass::Positive } else { favourable }, turned)
}

/// The rate of favourable predictions.
pub(crate) fn favourable_rate(c: &Confusion, favourable: FavourableClass) -> Rate {
    let numerator = c.predicted_as(favourable == FavourableClass::Positive);
    Rate { numerator, denominator: c.predicted(), empty: Undefined::EmptyGroup }
}

impl FactualMeasurement<'_> {
    /// How a metric sees the classes: which prediction is favourable, and the confusion under the
    /// names it uses.
    pub(crate) fn orientation(
        &self,
        metric: &Metric,
    ) -> (FavourableClass, impl Fn(&Confusion) -> Confusion + Copy + use<>) {
        let (favourable, turned) = classes_seen(metric, self.context.settings.favourable);
        (favourable, move |c: &Confusion| if turned { c.swap_classes() } else { *c })
    }

    /// One metric of two subjects.
    pub(crate) fn gap(
        &self,
        metric: &'static Metric,
        scope: MetricScope,
        of_a: &FactualSubject,
        of_b: &FactualSubject,
    ) -> MeasuredValue {
        let (favourable, seen) = self.orientation(metric);
        let of = |a: &Confusion, b: &Confusion| value(metric, favourable, &seen(a), &seen(b));
        let weighed = of_a.weight.is_some();
        let of_people = || of(&of_a.people, &of_b.people);
        let value = match weighed {
            false => of_people(),
            true => by_weight(of(of_a.cells(), of_b.cells()), of_people),
        };
        let people = rates_behind(metric, favourable, &seen(&of_a.people), &seen(&of_b.people));
        let of_persons = match metric.reads {
            Reads::RateDifference(rate) | Reads::RateRatio(rate) => {
                of_a.person_rate(|c| rate(&seen(c))).zip(of_b.person_rate(|c| rate(&seen(c))))
            }
            Reads::FavourableRatio => {
                let rate = |c: &Confusion| favourable_rate(&seen(c), favourable);
                of_b.person_rate(rate).zip(of_a.person_rate(rate))
            }
            _ => None,
        };
        let is_difference = matches!(metric.reads, Reads::RateDifference(_));
        // The replicates of a rate of 0 or 1 are all equal, as if it were known for certain.
        let at_end = |rate: &fn(&Confusion) -> Rate| {
            [of_a, of_b].iter().any(|of| rate(&seen(of.cells())).is_boundary())
        };
        let is_one = |rate: Rate| rate.numerator > 0 && rate.is_boundary();
        // A ratio to or of a rate of 0 has no interval.
        let at_one = |rate: &dyn Fn(&Confusion) -> Rate| {
            let rates = [of_a, of_b].map(|of| rate(&seen(of.cells())));
            rates.iter().any(|rate| is_one(*rate)) && rates.iter().all(|rate| rate.numerator > 0)
        };
        let level = self.context.settings.level.map_or(0.0, |level| level.get());
        let apart = |rate: fn(&Confusion) -> Rate| {
            self.rate_gap(|c: &Confusion| rate(&seen(c)), of_a, of_b)
        };
        let hybrid = || match metric.reads {
            Reads::RateDifference(rate) if at_end(&rate) => Some(apart(rate)(level)),
            Reads::RateRatio(rate) if at_one(&rate) => {
                Some(self.rate_ratio(|c: &Confusion| rate(&seen(c)), of_a, of_b, level))
            }
            Reads::FavourableRatio if at_one(&|c| favourable_rate(c, favourable)) => {
                let rate = |c: &Confusion| favourable_rate(&seen(c), favourable);
                Some(self.rate_ratio(rate, of_b, of_a, level))
            }
            Reads::ScoreDifference(_) | Reads::ScoreRatio(_) => {
                self.gap_of_means(metric, of_a, of_b).map(|at| at(level))
            }
            _ => None,
        };
        // The larger or smaller of several has the interval of that.
        let extreme = || match metric.reads {
            Reads::WidestGap(rates) => Some(largest_gap(level, &rates.map(apart))),
            Reads::FavourableMinRatio => {
                let share = |of| self.rate_part(|c| favourable_rate(c, favourable), of);
                let shares: Vec<IntervalPart> =
                    [of_a, of_b].into_iter().filter_map(share).collect();
                Some(smallest_ratio_of_shares(level, &shares))
            }
            _ => None,
        };
        let z = self.context.z;
        let basis = || match (&of_persons, people) {
            (Some((x, y)), _) if !weighed => {
                let of = if is_difference { newcombe_of_persons } else { katz_of_persons };
                IntervalBasis::Formula(of(x, y, x.correlation(y), z))
            }
            (None, Some((x, y))) if !weighed => {
                IntervalBasis::Formula(if is_difference { newcombe } else { katz }(x, y, z))
            }
            _ => match hybrid() {
                Some(interval) => IntervalBasis::Hybrid(interval),
                None => of_a.bootstrap.joint_percentile(
                    &of_b.bootstrap,
                    &self.context,
                    metric.needs_label,
                    |x, y| of(&Confusion::from_cells(x), &Confusion::from_cells(y)),
                ),
            },
        };
        let (interval, method) = self.context.interval(value, || match metric.reads {
            Reads::MeanDifference(mean) => {
                let [a, b] = [of_a, of_b].map(|of| of.mean_influences(&|c| mean(&seen(c))));
                let level = self.context.settings.level.map_or(0.0, |level| level.get());
                mean_gap(a, b, of_a.is_plain(), level)
            }
            _ => extreme().map_or_else(basis, IntervalBasis::Extreme),
        });
        let clear = match metric.reads {
            // It is below 1 by chance too.
            Reads::FavourableMinRatio => {
                self.differ(|c| favourable_rate(c, favourable), of_a, of_b, 1)
            }
            _ => is_clear(metric.ideal, interval.map(|i| (i.lo, i.hi)), None),
        };
        let first = match metric.impaired {
            _ if !clear => None,
            ImpairedGroupRule::LowerRate(rate) if value.is_ok() => {
                first_is_lower(rate(&seen(of_a.cells())), rate(&seen(of_b.cells())), favourable)
            }
            impaired => first_is_impaired(impaired, value),
        };
        let (n_a, n_b) =
            (of_a.people.people(metric.needs_label), of_b.people.people(metric.needs_label));
        let denominators = people.map(|(x, y)| (x.denominator, y.denominator));
        let below = |c: &Confusion| {
            let rates = rates_behind(metric, favourable, &seen(c), &seen(c));
            rates.map_or(0, |(rate, _)| rate.denominator)
        };
        let basis = |of: &FactualSubject, rate: Option<&PersonRate>| {
            of.person_basis(metric.needs_label, rate, people.is_some().then_some(&below))
        };
        let (x, y) = of_persons.as_ref().map_or((None, None), |(x, y)| (Some(x), Some(y)));
        let carriers = [basis(of_a, x), basis(of_b, y)];
        let people = ValuePeople::two([n_a, n_b], denominators)
            .with_persons(all_persons([of_a, of_b].into_iter(), metric.needs_label), &carriers);
        let impaired =
            first.and_then(|first| if first { scope.first_group() } else { scope.second_group() });
        let has_one = [of_a, of_b].iter().any(|of| {
            let rates = rates_behind(metric, favourable, &seen(&of.people), &seen(&of.people));
            rates.is_some_and(|(rate, _)| is_one(rate))
        });
        MeasuredValue::new(&self.context, (metric, scope), value, (interval, method), people)
            .with_impaired(impaired)
            .with_score_parts([of_a, of_b].map(|of| seen(of.cells())))
            .with_certain_rate(has_one)
    }

    /// Whether the rates of two subjects differ for sure, the two being one of so many pairs: the
    /// interval of their difference leaves out 0 at the level 1 - alpha / pairs.
    pub(crate) fn differ(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        of_a: &FactualSubject,
        of_b: &FactualSubject,
        pairs: usize,
    ) -> bool {
        let Some(level) = self.context.settings.level else { return false };
        let interval = self.rate_gap(rate, of_a, of_b)(joint_level(level.get(), pairs));
        is_clear(Some(0.0), interval.map(|i| (i.lo, i.hi)), None)
    }

    /// The interval of a rate of one subject.
    fn rate_interval(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        of: &FactualSubject,
    ) -> IntervalAt {
        if of.weight.is_none() {
            let people = rate(&of.people);
            return match of.person_rate(rate) {
                Some(by_person) => Rc::new(move |level| by_person.wilson(z_of_level(level))),
                None => Rc::new(move |level| wilson(people, z_of_level(level))),
            };
        }
        if let Some(own) = of.boundary_interval(rate) {
            return own;
        }
        let value = |cells: &ConfusionCells| rate(&Confusion::from_cells(*cells)).value();
        let replicates = of.bootstrap.replicates(&self.context).iter();
        let own = rate(of.cells()).value().unwrap_or(f64::NAN);
        self.context.percentile_at(own, (0.0, 1.0), replicates.map(value), of.source_of(rate))
    }

    /// A rate of one subject with its interval; none of an undefined rate.
    pub(crate) fn rate_part(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        of: &FactualSubject,
    ) -> Option<IntervalPart> {
        Some((rate(of.cells()).value().ok()?, self.rate_interval(rate, of)))
    }

    /// The mean of two rates of one subject, which are of different people, and its interval: the
    /// hybrid of theirs.
    pub(crate) fn mean_part(
        &self,
        rates: [fn(&Confusion) -> Rate; 2],
        of: &FactualSubject,
    ) -> Option<IntervalPart> {
        let [part, other] = rates.map(|rate| self.rate_part(rate, of));
        let ((p, of_p), (q, of_q)) = (part?, other?);
        let mean = f64::midpoint(p, q);
        let at = move |level| {
            let (of_p, of_q) = (of_p(level)?, of_q(level)?);
            Some(ValueInterval {
                lo: mean - libm::hypot(p - of_p.lo, q - of_q.lo) / 2.0,
                hi: mean + libm::hypot(of_p.hi - p, of_q.hi - q) / 2.0,
                method: IntervalProcedure::Mover,
            })
        };
        Some((mean, Rc::new(at)))
    }

    /// The interval of the ratio of a rate of two subjects at a level, from those of both.
    fn rate_ratio(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        top: &FactualSubject,
        bottom: &FactualSubject,
        level: f64,
    ) -> Option<ValueInterval> {
        ratio_of_parts(&self.rate_part(rate, top)?, &self.rate_part(rate, bottom)?, level)
    }

    /// The interval of the difference of a rate of two subjects.
    pub(crate) fn rate_gap(
        &self,
        rate: impl Fn(&Confusion) -> Rate + Copy,
        of_a: &FactualSubject,
        of_b: &FactualSubject,
    ) -> IntervalAt {
        if of_a.weight.is_none() {
            let (a, b) = (rate(&of_a.people), rate(&of_b.people));
            return match of_a.person_rate(rate).zip(of_b.person_rate(rate)) {
                Some((a, b)) => {
                    let together = a.correlation(&b);
                    Rc::new(move |level| newcombe_of_persons(&a, &b, together, z_of_level(level)))
                }
                None => Rc::new(move |level| newcombe(a, b, z_of_level(level))),
            };
        }
        let (a, b) = (rate(of_a.cells()), rate(of_b.cells()));
        if a.is_boundary() || b.is_boundary() {
            return difference_of_parts(self.rate_part(rate, of_a), self.rate_part(rate, of_b));
        }
        let value = |cells: &ConfusionCells| rate(&Confusion::from_cells(*cells)).value();
        let replicates = of_a
            .bootstrap
            .replicates(&self.context)
            .iter()
            .zip(of_b.bootstrap.replicates(&self.context));
        self.context.percentile_at(
            difference(a.value(), b.value()).unwrap_or(f64::NAN),
            (-1.0, 1.0),
            replicates.map(|(a, b)| difference(value(a), value(b))),
            of_a.source_of(rate).with(of_b.source_of(rate)),
        )
    }

    /// The interval of the difference or ratio of a mean of two rates of two subjects, where one of
    /// the rates is 0 or 1, so that no replicate of it differs; none of other metrics and rates.
    fn gap_of_means(
        &self,
        metric: &Metric,
        of_a: &FactualSubject,
        of_b: &FactualSubject,
    ) -> Option<IntervalAt> {
        let (_, seen) = self.orientation(metric);
        let at_end = |rate: &fn(&Confusion) -> Rate| {
            [of_a, of_b].iter().any(|of| rate(&seen(of.cells())).is_boundary())
        };
        let rates = rates_of_mean(metric).filter(|rates| rates.iter().any(at_end))?;
        let [a, b] = [of_a, of_b].map(|of| self.mean_part(rates, of));
        if !matches!(metric.reads, Reads::ScoreRatio(_)) {
            return Some(difference_of_parts(a, b));
        }
        let both = a.zip(b);
        Some(Rc::new(move |level| {
            let (a, b) = both.as_ref()?;
            ratio_of_parts(a, b, level)
        }))
    }

    /// The interval of the difference or ratio of a value of two subjects that is no rate.
    pub(crate) fn score_gap(
        &self,
        metric: &Metric,
        of_a: &FactualSubject,
        of_b: &FactualSubject,
    ) -> IntervalAt {
        if let Some(of_means) = self.gap_of_means(metric, of_a, of_b) {
            return of_means;
        }
        let (favourable, _) = self.orientation(metric);
        let of = |a: &Confusion, b: &Confusion| value(metric, favourable, a, b);
        let replicates = of_a
            .bootstrap
            .replicates(&self.context)
            .iter()
            .zip(of_b.bootstrap.replicates(&self.context));
        let source = |of: &FactualSubject| of.bootstrap.source(metric.needs_label);
        self.context.percentile_at(
            of(of_a.cells(), of_b.cells()).unwrap_or(f64::NAN),
            metric.range,
            replicates.map(|(a, b)| of(&Confusion::from_cells(*a), &Confusion::from_cells(*b))),
            source(of_a).with(source(of_b)),
        )
    }
}

/// A value with its interval.
pub(crate) type IntervalPart = (f64, IntervalAt);

/// The hybrid interval of the difference of two values; none where one is undefined.
fn difference_of_parts(a: Option<IntervalPart>, b: Option<IntervalPart>) -> IntervalAt {
    Rc::new(move |level| {
        let ((p, of_p), (q, of_q)) = (a.as_ref()?, b.as_ref()?);
        let ends = (of_p(level)?, of_q(level)?);
        Some(newcombe_of((*p, *q), ends, 0.0, IntervalProcedure::Mover))
    })
}

/// The hybrid interval of a ratio of two values above 0; none of others, and where it has no end.
fn ratio_of_parts(
    (p, of_p): &IntervalPart,
    (q, of_q): &IntervalPart,
    level: f64,
) -> Option<ValueInterval> {
    if *p <= 0.0 || *q <= 0.0 {
        return None;
    }
    let found = mover_ratio((*p, *q), (of_p(level)?, of_q(level)?));
    found.hi.is_finite().then_some(found)
}

/// Whether the sign of a value says that the first of two facets is at a disadvantage.
pub(crate) fn first_is_impaired(impaired: ImpairedGroupRule, value: MetricValue) -> Option<bool> {
    match (impaired, value) {
        (ImpairedGroupRule::AboveZero(facet), Ok(value)) if value != 0.0 => {
            Some((facet == Facet::First) == (value > 0.0))
        }
        _ => None,
    }
}

/// Whether the first of two rates of positive predictions means fewer favourable ones; none where
/// they are equal or undefined.
pub(crate) fn first_is_lower(
    first: Rate,
    second: Rate,
    favourable: FavourableClass,
) -> Option<bool> {
    if first.denominator == 0 || second.denominator == 0 {
        return None;
    }
    let cross = |x: Rate, y: Rate| u128::from(x.numerator) * u128::from(y.denominator);
    let (a, b) = (cross(first, second), cross(second, first));
    (a != b).then_some((a < b) == (favourable == FavourableClass::Positive))
}

#[cfg(test)]
mod tests {
    use super::value;
    use crate::metric::catalog::find;
    use crate::metric::evidence::person::Confusion;
    use crate::metric::rate::Undefined;
    use crate::metric::value::settings::FavourableClass;

    #[test]
    fn by_hand() {
        let a = Confusion::labelled(3, 1, 1, 3);
        let b = Confusion::labelled(1, 1, 1, 1);
        let of = |id: &str, a: &Confusion, b: &Confusion| {
            value(find(id).unwrap(), FavourableClass::Positive, a, b)
        };
        assert_eq!(
            ["eodds", "aod", "demp_min_ratio"].map(|id| of(id, &a, &b)),
            [Ok(0.25), Ok(0.0), Ok(1.0)]
        );
        // Nobody of c is positive: one gap is undefined, and a maximum must not hide it.
        let c = Confusion { tp: 0, fn_: 0, ..a };
        assert_eq!([of("eodds", &a, &c), of("aod", &c, &a)], [Err(Undefined::OperandMissing); 2]);
        assert_eq!(of("eodds", &a, &Confusion::default()), Err(Undefined::EmptyGroup));
        let none = Confusion { tn: 9, ..Confusion::default() };
        assert_eq!(of("demp_min_ratio", &none, &none), Err(Undefined::ZeroReferenceRate));
        assert_eq!(of("di", &none, &a), Err(Undefined::ZeroReferenceRate));
    }
}
