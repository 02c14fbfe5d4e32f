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
//! The interval is that of the largest of all gaps, see [`largest`](super::largest). A group is as
//! far from all in a rate as it is from the others, times their share of all.

use super::gaps::{first_is_lower, rate_gap};
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::person::Confusion;
use crate::metric::evidence::units::UnitSums;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::group_reading::GroupReading;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::largest::{
    ExtremeInterval, largest_gap, smallest_ratio_of_scores, smallest_ratio_of_shares,
};
use crate::metric::value::measured::{FactualMeasurement, FactualSubject, MeasuredValue};
use crate::metric::value::measured_value::{PersonBasis, Subject, SubjectValue, ValuePeople};
use crate::metric::value::settings::FurthestGroups;
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
    let each = || defined(values).map(|(group, value)| (value, group));
    let highest = each().reduce(|most, next| if next.0 > most.0 { next } else { most })?;
    let lowest = each().reduce(|least, next| if next.0 < least.0 { next } else { least })?;
    (each().count() > 1).then_some(GroupSpread { highest, lowest })
}

/// The groups with a value.
fn defined(values: &[MetricValue]) -> impl Iterator<Item = (usize, f64)> {
    values.iter().enumerate().filter_map(|(group, value)| Some((group, (*value).ok()?)))
}

/// A value of the spread of these of groups, with the groups that hold it.
fn furthest_value(values: &[MetricValue], is_ratio: bool) -> WorstValue {
    let none = WorstValue::none(values);
    let Some(spread) = spread(values) else { return none };
    let value = match is_ratio {
        true if spread.highest.0 == 0.0 => Err(Undefined::ZeroReferenceRate),
        true => Ok(spread.lowest.0 / spread.highest.0),
        false => Ok(spread.gap()),
    };
    let holder = |group: usize| Some(group).filter(|_| spread.gap() > 0.0);
    let furthest = FurthestGroups {
        highest: holder(spread.highest.1),
        lowest: holder(spread.lowest.1),
        n_undefined: none.furthest.n_undefined,
    };
    WorstValue { value, furthest }
}

fn widest(groups: &[Confusion], of: [fn(&Confusion) -> Rate; 2]) -> WorstValue {
    // A group that lacks one of the two rates is excluded from both.
    let both = |c: &Confusion| of[0](c).value().and(of[1](c).value());
    let [x, y] = of.map(|rate| {
        let values = groups.iter().map(|c| both(c).and(rate(c).value()));
        furthest_value(&values.collect::<Vec<_>>(), false)
    });
    match (x.value, y.value) {
        (Ok(a), Ok(b)) if b > a => y,
        _ => x,
    }
}

fn furthest_from_total(values: &[MetricValue], all: MetricValue) -> WorstValue {
    let none = WorstValue::none(values);
    let Ok(all) = all else { return none };
    let distances = defined(values).map(|(group, value)| ((value - all).abs(), group));
    let most = distances.reduce(|most, next| if next.0 > most.0 { next } else { most });
    let several = defined(values).count() > 1;
    let Some((distance, group)) = most.filter(|_| several) else { return none };
    let furthest = FurthestGroups { highest: Some(group), ..none.furthest };
    WorstValue { value: Ok(distance), furthest }
}

/// Of a metric of groups with these confusions and, of one group each, these values.
fn find(of: GroupReading, groups: &[Confusion], values: &[MetricValue]) -> WorstValue {
    match of.metric.reads {
        Reads::RateDifference(_) | Reads::ScoreDifference(_) | Reads::ScoreRise(_) => {
            furthest_value(values, false)
        }
        Reads::RateRatio(_)
        | Reads::ScoreRatio(_)
        | Reads::FavourableRatio
        | Reads::FavourableMinRatio => furthest_value(values, true),
        Reads::WidestGap(rates) => widest(groups, rates),
        Reads::RateToTotal(_) | Reads::ScoreToTotal(_) => {
            let mut all = Confusion::default();
            groups.iter().for_each(|c| all.merge(c));
            furthest_from_total(values, of.one(&all))
        }
        _ => unreachable!("`{}` is not a metric of groups", of.metric.id),
    }
}

impl FactualMeasurement<'_> {
    /// The interval of a metric over all groups that have a value, which `found` holds; `rests` are
    /// all others of each, `all` is everybody.
    fn extreme(
        &self,
        of: GroupReading,
        GroupSubjects { groups, rests, all }: &GroupSubjects<FactualSubject>,
        found: &[SubjectValue],
    ) -> ExtremeInterval {
        let level = self.context.level();
        let known = || groups.iter().zip(found).filter(|(_, found)| found.value.is_ok());
        let pairs = |of_two: fn(&Estimate, &Estimate) -> Estimate| {
            let each: Vec<Option<Estimate>> =
                known().map(|(group, found)| group.estimate(of, found)).collect();
            let pairs = each.iter().enumerate();
            let pairs = pairs.flat_map(|(i, a)| each[i + 1..].iter().map(move |b| (a, b)));
            let pair = |(a, b): (&Option<Estimate>, &Option<Estimate>)| {
                Some(of_two(a.as_ref()?, b.as_ref()?))
            };
            pairs.map(pair).collect::<Vec<Option<Estimate>>>()
        };
        match of.metric.reads {
            Reads::RateDifference(_) | Reads::ScoreDifference(_) => {
                largest_gap(level, &pairs(Estimate::minus))
            }
            Reads::WidestGap(rates) => {
                let has = |c: &Confusion| rates.iter().all(|rate| rate(c).denominator > 0);
                let held: Vec<&FactualSubject> =
                    groups.iter().filter(|of| has(&of.cells)).collect();
                let each = rates.iter().flat_map(|rate| {
                    let pairs = held.iter().enumerate();
                    let pairs =
                        pairs.flat_map(|(i, a)| held[i + 1..].iter().map(move |b| [*a, *b]));
                    pairs.map(move |pair| rate_gap(rate, pair))
                });
                largest_gap(level, &each.collect::<Vec<_>>())
            }
            Reads::RateRatio(_) | Reads::FavourableRatio | Reads::FavourableMinRatio => {
                let shares: Vec<Share> = found.iter().filter_map(|of| of.share.clone()).collect();
                smallest_ratio_of_shares(level, &shares)
            }
            Reads::ScoreRatio(_) => smallest_ratio_of_scores(level, &pairs(Estimate::over)),
            Reads::RateToTotal(rate) => {
                let far = |(group, rest): (&FactualSubject, &FactualSubject)| {
                    let [n, others] = [group, rest].map(|of| rate(&of.cells).denominator as f64);
                    let both = n > 0.0 && others > 0.0;
                    let gap = both.then(|| rate_gap(rate, [group, rest]))??;
                    Some(Some(gap.times(others / (n + others))))
                };
                let distances: Vec<_> = groups.iter().zip(rests).filter_map(far).collect();
                largest_gap(level, &distances)
            }
            Reads::ScoreToTotal(_) => {
                let everybody = all.estimate(of, &all.read(of));
                let far = |(group, found): (&FactualSubject, &SubjectValue)| {
                    Some(group.estimate(of, found)?.minus(everybody.as_ref()?))
                };
                largest_gap(level, &known().map(far).collect::<Vec<_>>())
            }
            _ => unreachable!("`{}` is not a metric of groups", of.metric.id),
        }
    }

    /// One metric over all groups; `rests` are all others of each, `all` is everybody.
    pub(crate) fn worst(
        &self,
        metric: &'static Metric,
        subjects: &GroupSubjects<FactualSubject>,
    ) -> MeasuredValue {
        let (groups, of) = (&subjects.groups, self.reading(metric));
        let cells: Vec<Confusion> = groups.iter().map(|subject| subject.cells).collect();
        let each: Vec<SubjectValue> = groups.iter().map(|subject| subject.read(of)).collect();
        let values: Vec<MetricValue> = each.iter().map(|found| found.value).collect();
        let found = find(of, &cells, &values);
        let value = found.value;
        let interval = self.context.extreme(value, || self.extreme(of, subjects, &each));
        let furthest = FurthestGroups {
            n_undefined: found.furthest.n_undefined,
            ..if value.is_ok() { found.furthest } else { WorstValue::none(&[]).furthest }
        };
        let holders = || furthest.highest.into_iter().chain(furthest.lowest);
        let impaired = match (metric.impaired, furthest.highest, furthest.lowest) {
            (ImpairedGroupRule::LowerRate(rate), Some(high), Some(low)) => {
                // Of several groups the furthest is far by chance too: the pair is one of all.
                let with_value = groups.len().saturating_sub(found.furthest.n_undefined as usize);
                let pairs = with_value * with_value.saturating_sub(1) / 2;
                let clear = self.differ(rate, [&groups[high], &groups[low]], pairs);
                first_is_lower(rate(&cells[high]), rate(&cells[low]), of.favourable)
                    .filter(|_| clear)
                    .map(|first| if first { high } else { low })
            }
            _ => None,
        };
        // Where nobody holds a value no rate is behind it.
        let (held, of_groups): (Vec<usize>, _) = (holders().collect(), 0..groups.len());
        let behind = if held.is_empty() { of_groups.collect() } else { held.clone() };
        let basis = |group: &usize| {
            let basis = each[*group].basis?;
            let denominator = basis.denominator.filter(|_| !held.is_empty());
            Some(PersonBasis { denominator, ..basis })
        };
        let bases: Vec<Option<PersonBasis>> = behind.iter().map(basis).collect();
        let denominators = held.iter().filter_map(|&group| each[group].rate);
        let all = UnitSums::n_together(groups.iter().map(|subject| &subject.units), |cell| {
            groups.first().is_some_and(|first| first.counts(of, cell))
        });
        let people = ValuePeople {
            n: each.iter().map(|found| found.n).sum(),
            persons: None,
            smallest_group: behind.iter().map(|&group| each[group].n).min().unwrap_or(0),
            smallest_denominator: denominators.map(|rate| rate.denominator).min(),
        }
        .with_persons(all, &bases);
        let of = (metric, MetricScope::WorstCase);
        MeasuredValue::new(&self.context, of, value, interval, people)
            .with_impaired(impaired)
            .with_furthest(furthest)
            .with_score_parts(cells)
    }
}
