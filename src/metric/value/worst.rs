//! The groups that are furthest apart, metric by metric.
//!
//! A difference is that of the highest and the lowest value of all groups; a ratio the lowest over
//! the highest; equalized odds the wider of its two spreads; a distance to all the largest |value
//! of a group - value of all|. With two groups these are the gap of the pair without its sign.
//!
//! Choice: groups in which the metric is undefined are left out and counted; where fewer than two
//! are left there is no difference, no ratio and no distance (a single group does not prove
//! parity). Of several groups with the same value the first holds it; where all have the same none
//! does. Flags are those of the two groups that hold the value: a small one may hold it by chance.
//! The interval is the percentile bootstrap of all groups, each with its number of people; the
//! groups that hold the value may be others in every replicate, so its ends lie high where groups
//! are small.

use super::gaps::{favourable_rate, first_is_lower, largest_distance};
use crate::metric::evidence::block_bootstrap::by_weight;
use crate::metric::evidence::person::{Confusion, ConfusionCells};
use crate::metric::interval::{ReplicateSource, ValueInterval};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::interval_choice::IntervalBasis;
use crate::metric::value::measured::{
    FactualMeasurement, FactualSubject, MeasuredValue, PersonBasis, ValuePeople, all_persons,
};
use crate::metric::value::settings::{FavourableClass, FurthestGroups};
use crate::metric::{ImpairedGroupRule, Metric, Reads};

/// The values of some groups: the highest and the lowest with their groups.
#[derive(Debug, Clone, Copy)]
struct GroupSpread {
    highest: (f64, usize),
    lowest: (f64, usize),
}

impl GroupSpread {
    fn gap(&self) -> f64 {
        self.highest.0 - self.lowest.0
    }
}

/// What the groups give.
struct WorstValue {
    value: MetricValue,
    furthest: FurthestGroups,
}

impl WorstValue {
    /// No value, with the reason that these values of groups give: nobody is in any, or nobody in
    /// any has a label.
    fn none(values: &[MetricValue]) -> Self {
        let all = |reasons: &[Undefined]| {
            values.iter().all(|value| value.is_err_and(|reason| reasons.contains(&reason)))
        };
        let reason = if all(&[Undefined::EmptyGroup]) {
            Undefined::EmptyGroup
        } else if all(&[Undefined::EmptyGroup, Undefined::NoLabel]) {
            Undefined::NoLabel
        } else {
            Undefined::OperandMissing
        };
        let n_undefined = values.iter().filter(|value| value.is_err()).count() as u64;
        WorstValue {
            value: Err(reason),
            furthest: FurthestGroups { highest: None, lowest: None, n_undefined },
        }
    }
}

/// The spread of the values of groups that have one; none where fewer than two have one.
fn spread(values: &[MetricValue]) -> Option<GroupSpread> {
    let (mut found, mut defined) = (None::<GroupSpread>, 0);
    for (group, value) in
        values.iter().enumerate().filter_map(|(group, value)| Some((group, (*value).ok()?)))
    {
        defined += 1;
        let spread =
            found.get_or_insert(GroupSpread { highest: (value, group), lowest: (value, group) });
        if value > spread.highest.0 {
            spread.highest = (value, group);
        }
        if value < spread.lowest.0 {
            spread.lowest = (value, group);
        }
    }
    found.filter(|_| defined > 1)
}

/// A value of the spread, with the groups that hold it.
fn furthest_value(
    groups: &[Confusion],
    of: impl Fn(&Confusion) -> MetricValue,
    value: impl Fn(&GroupSpread) -> MetricValue,
) -> WorstValue {
    let values: Vec<MetricValue> = groups.iter().map(of).collect();
    let none = WorstValue::none(&values);
    let Some(spread) = spread(&values) else { return none };
    let n_undefined = none.furthest.n_undefined;
    let apart = spread.gap() > 0.0;
    let holder = |group: usize| Some(group).filter(|_| apart);
    let furthest = FurthestGroups {
        highest: holder(spread.highest.1),
        lowest: holder(spread.lowest.1),
        n_undefined,
    };
    WorstValue { value: value(&spread), furthest }
}

fn difference(spread: &GroupSpread) -> MetricValue {
    Ok(spread.gap())
}

fn ratio(spread: &GroupSpread) -> MetricValue {
    if spread.highest.0 == 0.0 {
        Err(Undefined::ZeroReferenceRate)
    } else {
        Ok(spread.lowest.0 / spread.highest.0)
    }
}

fn widest(groups: &[Confusion], of: [fn(&Confusion) -> Rate; 2]) -> WorstValue {
    // A group that lacks one of the two rates is excluded from both.
    let both = |c: &Confusion| of[0](c).value().and(of[1](c).value());
    let [x, y] =
        of.map(|rate| furthest_value(groups, |c| both(c).and(rate(c).value()), difference));
    match (x.value, y.value) {
        (Ok(a), Ok(b)) if b > a => y,
        _ => x,
    }
}

fn furthest_from_total(groups: &[Confusion], of: impl Fn(&Confusion) -> MetricValue) -> WorstValue {
    let mut all = Confusion::default();
    groups.iter().for_each(|c| all.merge(c));
    let values: Vec<MetricValue> = groups.iter().map(&of).collect();
    let none = WorstValue::none(&values);
    let Ok(all) = of(&all) else { return none };
    let (mut found, mut defined) = (None::<(f64, usize)>, 0);
    for (group, value) in
        values.iter().enumerate().filter_map(|(group, value)| Some((group, (*value).ok()?)))
    {
        defined += 1;
        let distance = (value - all).abs();
        if found.is_none_or(|(largest, _)| distance > largest) {
            found = Some((distance, group));
        }
    }
    let Some((distance, group)) = found.filter(|_| defined > 1) else { return none };
    let furthest = FurthestGroups {
        highest: Some(group),
        lowest: None,
        n_undefined: none.furthest.n_undefined,
    };
    WorstValue { value: Ok(distance), furthest }
}

fn find(metric: &Metric, favourable: FavourableClass, groups: &[Confusion]) -> WorstValue {
    match metric.reads {
        Reads::RateDifference(rate) => furthest_value(groups, |c| rate(c).value(), difference),
        Reads::ScoreDifference(score) | Reads::ScoreRise(score) => {
            furthest_value(groups, score, difference)
        }
        Reads::RateRatio(rate) | Reads::RateMinRatio(rate) => {
            furthest_value(groups, |c| rate(c).value(), ratio)
        }
        Reads::FavourableRatio => {
            furthest_value(groups, |c| favourable_rate(c, favourable).value(), ratio)
        }
        Reads::ScoreRatio(score) => furthest_value(groups, score, ratio),
        Reads::WidestGap(of) => widest(groups, of),
        Reads::RateToTotal(rate) => furthest_from_total(groups, |c| rate(c).value()),
        Reads::ScoreToTotal(score) => furthest_from_total(groups, score),
        _ => unreachable!("`{}` is not a metric of groups", metric.id),
    }
}

/// The rate behind a metric that is derived from one.
fn rate(metric: &Metric, favourable: FavourableClass, c: &Confusion) -> Option<Rate> {
    match metric.reads {
        Reads::RateDifference(rate)
        | Reads::RateRatio(rate)
        | Reads::RateMinRatio(rate)
        | Reads::RateToTotal(rate) => Some(rate(c)),
        Reads::FavourableRatio => Some(favourable_rate(c, favourable)),
        _ => None,
    }
}

impl FactualMeasurement<'_> {
    /// The interval of the largest distance of a rate of a group to that of all, where a rate is 0
    /// or 1, so that no replicate of it differs; none where none is. A group is as far from all as
    /// it is from the others, times their share of all: its interval is that of this difference.
    fn distance_to_all(
        &self,
        metric: &Metric,
        groups: &[FactualSubject],
        rests: &[FactualSubject],
    ) -> Option<Option<ValueInterval>> {
        let Reads::RateToTotal(rate) = metric.reads else { return None };
        let at_end = |of: &FactualSubject| rate(of.cells()).is_boundary();
        if !groups.iter().any(at_end) {
            return None;
        }
        let level = self.context.settings.level.map_or(0.0, |level| level.get());
        let n = |of: &FactualSubject| rate(of.cells()).denominator as f64;
        let with_value =
            groups.iter().zip(rests).filter(|(group, rest)| n(group) > 0.0 && n(rest) > 0.0);
        let distances = with_value.map(|(group, rest)| {
            let apart = self.rate_gap(rate, group, rest, level)?;
            let share = n(rest) / (n(group) + n(rest));
            Some(ValueInterval { lo: share * apart.lo, hi: share * apart.hi, ..apart })
        });
        let distances: Option<Vec<ValueInterval>> = distances.collect();
        Some(distances.and_then(|all| largest_distance(all.into_iter())))
    }

    /// One metric over all groups; `rests` are all others of each.
    pub(crate) fn worst(
        &self,
        metric: &'static Metric,
        groups: &[FactualSubject],
        rests: &[FactualSubject],
    ) -> MeasuredValue {
        let favourable = self.context.settings.favourable;
        let people: Vec<Confusion> = groups.iter().map(|subject| subject.people).collect();
        let cells: Vec<Confusion> = groups.iter().map(|subject| *subject.cells()).collect();
        let found = find(metric, favourable, &cells);
        let weighed = groups.iter().any(|subject| subject.weight.is_some());
        let value = match weighed {
            false => found.value,
            true => by_weight(found.value, || find(metric, favourable, &people).value),
        };
        let interval = self.context.interval(value, || {
            if let Some(hybrid) = self.distance_to_all(metric, groups, rests) {
                return IntervalBasis::Hybrid(hybrid);
            }
            let drawn: Vec<&[ConfusionCells]> =
                groups.iter().map(|subject| subject.bootstrap.replicates(&self.context)).collect();
            let mut redrawn = cells.clone();
            let replicates = (0..drawn.first().map_or(0, |drawn| drawn.len())).map(|r| {
                redrawn
                    .iter_mut()
                    .zip(&drawn)
                    .for_each(|(cells, drawn)| *cells = Confusion::from_cells(drawn[r]));
                find(metric, favourable, &redrawn).value
            });
            let sources = groups.iter().map(|subject| subject.bootstrap.source(metric.needs_label));
            sources.reduce(ReplicateSource::with).map_or(IntervalBasis::NotDrawn, |source| {
                self.context.percentile(replicates, source)
            })
        });
        let furthest = FurthestGroups {
            n_undefined: found.furthest.n_undefined,
            ..if value.is_ok() { found.furthest } else { WorstValue::none(&[]).furthest }
        };
        let n = |c: &Confusion| c.people(metric.needs_label);
        let holders = || furthest.highest.into_iter().chain(furthest.lowest);
        let least = |n: &dyn Fn(usize) -> Option<u64>| holders().filter_map(n).min();
        let impaired = match (metric.impaired, furthest.highest, furthest.lowest) {
            (ImpairedGroupRule::LowerRate(rate), Some(high), Some(low)) => {
                // Of several groups the furthest is far by chance too: the pair is one of all.
                let with_value = (groups.len() as u64).saturating_sub(found.furthest.n_undefined);
                let pairs = with_value * with_value.saturating_sub(1) / 2;
                let clear = self.differ(rate, &groups[high], &groups[low], pairs);
                first_is_lower(rate(&cells[high]), rate(&cells[low]), favourable)
                    .filter(|_| clear)
                    .map(|first| if first { high } else { low })
            }
            _ => None,
        };
        let smallest = least(&|group| Some(n(&people[group])))
            .unwrap_or_else(|| people.iter().map(n).min().unwrap_or(0));
        // Where nobody holds a value no rate is behind it.
        let held = holders().next().is_some();
        let basis = |group: usize| {
            let subject = &groups[group];
            let behind = rate(metric, favourable, &subject.people).filter(|_| held);
            let of_persons = behind.and_then(|of_rows| {
                subject.person_rate(|c| rate(metric, favourable, c).unwrap_or(of_rows))
            });
            let below =
                |c: &Confusion| rate(metric, favourable, c).map_or(0, |rate| rate.denominator);
            let is_rate = behind.is_some();
            subject.person_basis(metric.needs_label, of_persons.as_ref(), is_rate.then_some(&below))
        };
        let behind: Vec<Option<PersonBasis>> = match held {
            true => holders().map(basis).collect(),
            false => (0..groups.len()).map(basis).collect(),
        };
        let people = ValuePeople {
            n: people.iter().map(n).sum(),
            persons: None,
            smallest_group: smallest,
            smallest_denominator: least(&|group| {
                rate(metric, favourable, &people[group]).map(|rate| rate.denominator)
            }),
        }
        .with_persons(all_persons(groups.iter(), metric.needs_label), &behind);
        let of = (metric, MetricScope::WorstCase);
        MeasuredValue::new(&self.context, of, value, interval, people)
            .with_impaired(impaired)
            .with_furthest(furthest)
            .with_score_parts(cells)
    }
}

#[cfg(test)]
mod tests {
    use super::{WorstValue, find};
    use crate::metric::catalog::find as metric;
    use crate::metric::evidence::person::Confusion;
    use crate::metric::rate::Undefined;
    use crate::metric::value::settings::FavourableClass;
    use crate::metric::value::settings::FurthestGroups;

    fn of(id: &str, groups: &[Confusion]) -> WorstValue {
        find(metric(id).unwrap(), FavourableClass::Positive, groups)
    }

    fn held(highest: Option<usize>, lowest: Option<usize>, n_undefined: u64) -> FurthestGroups {
        FurthestGroups { highest, lowest, n_undefined }
    }

    #[test]
    fn by_hand() {
        let c = |tp, fp, fn_, tn| Confusion::labelled(tp, fp, fn_, tn);
        // TPR 0.5, 0.75, none, 0.25; FPR 0.5, 0, 1, 0; predicted positive 0.5, 0.375, 1, 0.125.
        let groups = [c(2, 2, 2, 2), c(3, 0, 1, 4), c(0, 4, 0, 0), c(1, 0, 3, 4)];
        let check = |id: &str, value: f64, furthest: FurthestGroups| {
            let found = of(id, &groups);
            assert!(
                (found.value.unwrap() - value).abs() < 1e-15 && found.furthest == furthest,
                "{id}: {:?}",
                found.furthest
            );
        };
        check("tpr_difference", 0.5, held(Some(1), Some(3), 1));
        check("tpr_ratio", 1.0 / 3.0, held(Some(1), Some(3), 1));
        check("fpr_ratio", 0.0, held(Some(2), Some(1), 0));
        check("demp_min_ratio", 0.125, held(Some(2), Some(3), 0));
        check("di", 0.125, held(Some(2), Some(3), 0));
        // Without the third group, which has no TPR, the FPR spreads as much as the TPR: the first
        // of both counts.
        check("eodds", 0.5, held(Some(1), Some(3), 1));
        // All: TPR 6 of 12.
        check("tpr_to_total", 0.25, held(Some(1), None, 1));
        let negative = find(metric("di").unwrap(), FavourableClass::Negative, &groups);
        assert_eq!((negative.value, negative.furthest), (Ok(0.0), held(Some(3), Some(2), 0)));
    }

    #[test]
    fn one_group_is_no_parity() {
        let none = Confusion::default();
        let one = [Confusion::labelled(1, 1, 1, 1), none];
        assert_eq!(of("tpr_difference", &one).value, Err(Undefined::OperandMissing));
        assert_eq!(of("tpr_difference", &one).furthest, held(None, None, 1));
        assert_eq!(of("tpr_to_total", &one).value, Err(Undefined::OperandMissing));
        assert_eq!(of("tpr_to_total", &one).furthest, held(None, None, 1));
        assert_eq!(of("tpr_to_total", &[none, none]).value, Err(Undefined::EmptyGroup));
        assert_eq!(of("eodds", &[none, none]).value, Err(Undefined::EmptyGroup));
        let rejected = [Confusion { tn: 5, ..none }, Confusion { tn: 7, ..none }];
        assert_eq!(of("demp_ratio", &rejected).value, Err(Undefined::ZeroReferenceRate));
    }
}
