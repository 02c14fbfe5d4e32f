//! The groups that are furthest apart, metric by metric.
//!
//! A difference is the highest minus the lowest value of all groups; a ratio the lowest divided by
//! the highest; equalized odds the wider of its two spreads; a distance to all people the largest
//! |value of a group - value of all|. With two groups these are the gap of the pair without its
//! sign.
//!
//! Choice: groups in which the metric is undefined are left out and counted; if fewer than two
//! groups are left, there is no difference, no ratio and no distance (a single group does not prove
//! parity). If several groups have the same value, the first holds it; if all have the same, none
//! does. Flags are those of the two groups that hold the value: a small group may hold it by
//! chance. The interval is that of the largest of all gaps, see [`largest`](super::largest). The
//! distance of a group to all people in a rate is its distance to the others times their share of
//! all people.

use super::gaps::{extreme, first_is_lower, rate_gap};
use crate::metric::evidence::person::Confusion;
use crate::metric::evidence::units::UnitSums;
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::value::group_reading::GroupReading;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::interval_choice::MeasureContext;
use crate::metric::value::largest::Extreme;
use crate::metric::value::measured::{FactualSubject, MeasuredValue};
use crate::metric::value::measured_value::{Subject, SubjectPeople, SubjectValue, ValuePeople};
use crate::metric::value::settings::FurthestGroups;
use crate::metric::{GapTransform, GroupValue, ImpairedGroupRule, Metric, Reads};

/// An extreme value over groups.
struct WorstValue {
    value: MetricValue,
    furthest: FurthestGroups,
}

impl WorstValue {
    /// No value, with the reason from the values of groups: all groups are empty, or no person has
    /// a label.
    fn none(values: &[MetricValue]) -> Self {
        let all_are = |reasons: &[Undefined]| {
            values.iter().all(|value| value.is_err_and(|reason| reasons.contains(&reason)))
        };
        let reason = if all_are(&[Undefined::EmptyGroup]) {
            Undefined::EmptyGroup
        } else if all_are(&[Undefined::EmptyGroup, Undefined::NoLabel]) {
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

/// The group whose value has the largest number by `rate`, the first of several; none if fewer than
/// two groups have a value.
fn first_largest(values: &[MetricValue], rate: impl Fn(f64) -> f64) -> Option<(usize, f64)> {
    let each =
        || (0..).zip(values).filter_map(|(group, value)| Some((group, rate((*value).ok()?))));
    let largest = each().reduce(|a, b| if b.1 > a.1 { b } else { a });
    largest.filter(|_| each().count() > 1)
}

/// The difference of the highest and the lowest of these values of groups, or the ratio of the
/// lowest to the highest, with the groups that hold it.
fn furthest_value(values: &[MetricValue], is_ratio: bool) -> WorstValue {
    let no_value = WorstValue::none(values);
    let ends = first_largest(values, |value| value).zip(first_largest(values, |value| -value));
    let Some(((highest, high), (lowest, negated))) = ends else { return no_value };
    let gap = high + negated;
    let value = match is_ratio {
        true if high == 0.0 => Err(Undefined::ZeroReferenceRate),
        true => Ok(-negated / high),
        false => Ok(gap),
    };
    let holder = |group: usize| Some(group).filter(|_| gap > 0.0);
    let furthest = FurthestGroups {
        highest: holder(highest),
        lowest: holder(lowest),
        n_undefined: no_value.furthest.n_undefined,
    };
    WorstValue { value, furthest }
}

fn widest(groups: &[Confusion], rates: [fn(&Confusion) -> Rate; 2]) -> WorstValue {
    // A group that lacks one of the two rates is excluded from both.
    let has_both = |c: &Confusion| rates[0](c).value().and(rates[1](c).value());
    let [x, y] = rates.map(|rate| {
        let values = groups.iter().map(|c| has_both(c).and(rate(c).value()));
        furthest_value(&values.collect::<Vec<_>>(), false)
    });
    match (x.value, y.value) {
        (Ok(a), Ok(b)) if b > a => y,
        _ => x,
    }
}

fn furthest_from_total(values: &[MetricValue], total: MetricValue) -> WorstValue {
    let no_value = WorstValue::none(values);
    let Ok(total) = total else { return no_value };
    let largest = first_largest(values, |value| (value - total).abs());
    let Some((group, distance)) = largest else { return no_value };
    let furthest = FurthestGroups { highest: Some(group), ..no_value.furthest };
    WorstValue { value: Ok(distance), furthest }
}

/// The extreme value of a metric, from the confusion matrices and values of single groups.
fn find(reading: GroupReading, groups: &[Confusion], values: &[MetricValue]) -> WorstValue {
    match reading.metric.reads {
        Reads::Group(GroupValue::TwoRates(rates), _) => widest(groups, rates),
        Reads::Group(_, Some(GapTransform::ToTotal)) => {
            let mut total = Confusion::default();
            groups.iter().for_each(|c| total.merge(c));
            furthest_from_total(values, reading.one(&total))
        }
        _ => furthest_value(values, reading.metric.transform().is_some_and(GapTransform::is_ratio)),
    }
}

/// The gaps or ratios over all groups behind a metric; `found` are the values of the groups.
fn of_groups(
    reading: GroupReading,
    GroupSubjects { groups, rests, all }: &GroupSubjects<FactualSubject>,
    found: &[SubjectValue],
) -> Extreme {
    let read: Vec<(&FactualSubject, &SubjectValue)> = groups.iter().zip(found).collect();
    match reading.metric.reads {
        Reads::Group(GroupValue::Rate(rate), Some(GapTransform::ToTotal)) => {
            let far = |(group, rest): (&FactualSubject, &FactualSubject)| {
                let [n, others] =
                    [group, rest].map(|subject| rate(&subject.cells).denominator as f64);
                let gap = (n > 0.0 && others > 0.0).then(|| rate_gap(rate, [group, rest]))??;
                Some(Some(gap.times(others / (n + others))))
            };
            Extreme::Gaps(groups.iter().zip(rests).filter_map(far).collect())
        }
        Reads::Group(_, Some(GapTransform::ToTotal)) => {
            let all_people = all.estimate(reading, &all.read(reading));
            let far = |(group, found): &(&FactualSubject, &SubjectValue)| {
                Some(group.estimate(reading, found)?.minus(all_people.as_ref()?))
            };
            let known = read.iter().filter(|(_, found)| found.value.is_ok());
            Extreme::Gaps(known.map(far).collect())
        }
        _ => extreme(reading, &read),
    }
}

impl MeasureContext<'_> {
    /// One metric over all groups.
    pub(crate) fn worst(
        &self,
        metric: &'static Metric,
        subjects: &GroupSubjects<FactualSubject>,
    ) -> MeasuredValue {
        let (groups, reading) = (&subjects.groups, self.reading(metric));
        let cells: Vec<Confusion> = groups.iter().map(|subject| subject.cells).collect();
        let each: Vec<SubjectValue> = groups.iter().map(|subject| subject.read(reading)).collect();
        let values: Vec<MetricValue> = each.iter().map(|found| found.value).collect();
        let found = find(reading, &cells, &values);
        let value = found.value;
        let interval = self.extreme(value, || of_groups(reading, subjects, &each));
        let furthest = FurthestGroups {
            n_undefined: found.furthest.n_undefined,
            ..if value.is_ok() { found.furthest } else { WorstValue::none(&[]).furthest }
        };
        let impaired = match (metric.impaired, furthest.highest, furthest.lowest) {
            (ImpairedGroupRule::LowerRate(rate), Some(high), Some(low)) => {
                // With several groups the largest gap is large also by chance: the pair is one of
                // many.
                let with_value = groups.len().saturating_sub(found.furthest.n_undefined as usize);
                let pairs = with_value * with_value.saturating_sub(1) / 2;
                let clear = self.differ(rate, [&groups[high], &groups[low]], pairs);
                first_is_lower(rate(&cells[high]), rate(&cells[low]), reading.favourable)
                    .filter(|_| clear)
                    .map(|first| if first { high } else { low })
            }
            _ => None,
        };
        // If no group holds the value, it has no rate.
        let held = furthest.highest.into_iter().chain(furthest.lowest);
        let mut behind: Vec<SubjectPeople> = held.map(|group| each[group].people).collect();
        if behind.is_empty() {
            behind = each.iter().map(|found| found.people.without_rate()).collect();
        }
        let n_together =
            UnitSums::n_together(groups.iter().map(|subject| &subject.units), |cell| {
                groups.first().is_some_and(|first| first.counts(reading, cell))
            });
        let n = each.iter().map(|found| found.people.n).sum();
        let people = ValuePeople { n, ..ValuePeople::of(&behind, n_together) };
        let place = (metric, MetricScope::WorstCase);
        let measured = MeasuredValue::new(self, place, value, interval, people);
        MeasuredValue { impaired, furthest: Some(furthest), ..measured }.with_score_parts(cells)
    }
}
