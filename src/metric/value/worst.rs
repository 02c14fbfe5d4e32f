//! The groups that are furthest apart, metric by metric.
//!
//! A difference is that of the highest and the lowest value of all groups; a ratio the lowest over
//! the highest; equalized odds the wider of its two spreads; a distance to all the largest |value
//! of a group - value of all|. With two groups these are the gap of the pair without its sign.
//!
//! Choice: groups in which the metric is undefined are left out and counted; where fewer than two
//! are left there is no difference, no ratio and no distance (a single group does not prove
//! parity). If several groups have the same value, the first holds it; if all have the same, none
//! does. Flags are those of the two groups that hold the value: a small one may hold it by chance.
//! The interval is that of the largest of all gaps, see [`largest`](super::largest). A group is as
//! far from all in a rate as it is from the others, times their share of all.

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

/// The group with the largest of these numbers of the groups with a value, the first of several;
/// none where fewer than two have one.
fn first_largest(values: &[MetricValue], of: impl Fn(f64) -> f64) -> Option<(usize, f64)> {
    let each = || (0..).zip(values).filter_map(|(group, value)| Some((group, of((*value).ok()?))));
    let most = each().reduce(|most, next| if next.1 > most.1 { next } else { most });
    most.filter(|_| each().count() > 1)
}

/// The difference of the highest and the lowest of these values of groups, or the ratio of the
/// lowest to the highest, with the groups that hold it.
fn furthest_value(values: &[MetricValue], is_ratio: bool) -> WorstValue {
    let none = WorstValue::none(values);
    let ends = first_largest(values, |value| value).zip(first_largest(values, |value| -value));
    let Some(((highest, most), (lowest, negated))) = ends else { return none };
    let gap = most + negated;
    let value = match is_ratio {
        true if most == 0.0 => Err(Undefined::ZeroReferenceRate),
        true => Ok(-negated / most),
        false => Ok(gap),
    };
    let holder = |group: usize| Some(group).filter(|_| gap > 0.0);
    let furthest = FurthestGroups {
        highest: holder(highest),
        lowest: holder(lowest),
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
    let most = first_largest(values, |value| (value - all).abs());
    let Some((group, distance)) = most else { return none };
    let furthest = FurthestGroups { highest: Some(group), ..none.furthest };
    WorstValue { value: Ok(distance), furthest }
}

/// For a metric of groups with these confusions and these values of single groups.
fn find(of: GroupReading, groups: &[Confusion], values: &[MetricValue]) -> WorstValue {
    match of.metric.reads {
        Reads::Group(GroupValue::TwoRates(rates), _) => widest(groups, rates),
        Reads::Group(_, Some(GapTransform::ToTotal)) => {
            let mut all = Confusion::default();
            groups.iter().for_each(|c| all.merge(c));
            furthest_from_total(values, of.one(&all))
        }
        _ => furthest_value(values, of.metric.transform().is_some_and(GapTransform::is_ratio)),
    }
}

/// The gaps or ratios over all groups behind a metric, of which `found` is what is read of each.
fn of_groups(
    of: GroupReading,
    GroupSubjects { groups, rests, all }: &GroupSubjects<FactualSubject>,
    found: &[SubjectValue],
) -> Extreme {
    let read: Vec<(&FactualSubject, &SubjectValue)> = groups.iter().zip(found).collect();
    match of.metric.reads {
        Reads::Group(GroupValue::Rate(rate), Some(GapTransform::ToTotal)) => {
            let far = |(group, rest): (&FactualSubject, &FactualSubject)| {
                let [n, others] = [group, rest].map(|of| rate(&of.cells).denominator as f64);
                let gap = (n > 0.0 && others > 0.0).then(|| rate_gap(rate, [group, rest]))??;
                Some(Some(gap.times(others / (n + others))))
            };
            Extreme::Gaps(groups.iter().zip(rests).filter_map(far).collect())
        }
        Reads::Group(_, Some(GapTransform::ToTotal)) => {
            let everybody = all.estimate(of, &all.read(of));
            let far = |(group, found): &(&FactualSubject, &SubjectValue)| {
                Some(group.estimate(of, found)?.minus(everybody.as_ref()?))
            };
            let known = read.iter().filter(|(_, found)| found.value.is_ok());
            Extreme::Gaps(known.map(far).collect())
        }
        _ => extreme(of, &read),
    }
}

impl MeasureContext<'_> {
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
        let interval = self.extreme(value, || of_groups(of, subjects, &each));
        let furthest = FurthestGroups {
            n_undefined: found.furthest.n_undefined,
            ..if value.is_ok() { found.furthest } else { WorstValue::none(&[]).furthest }
        };
        let impaired = match (metric.impaired, furthest.highest, furthest.lowest) {
            (ImpairedGroupRule::LowerRate(rate), Some(high), Some(low)) => {
                // With several groups the furthest is also far by chance: the pair is one of all.
                let with_value = groups.len().saturating_sub(found.furthest.n_undefined as usize);
                let pairs = with_value * with_value.saturating_sub(1) / 2;
                let clear = self.differ(rate, [&groups[high], &groups[low]], pairs);
                first_is_lower(rate(&cells[high]), rate(&cells[low]), of.favourable)
                    .filter(|_| clear)
                    .map(|first| if first { high } else { low })
            }
            _ => None,
        };
        // If no group holds the value, no rate is behind it.
        let held = furthest.highest.into_iter().chain(furthest.lowest);
        let mut behind: Vec<SubjectPeople> = held.map(|group| each[group].people).collect();
        if behind.is_empty() {
            behind = each.iter().map(|found| found.people.without_rate()).collect();
        }
        let all = UnitSums::n_together(groups.iter().map(|subject| &subject.units), |cell| {
            groups.first().is_some_and(|first| first.counts(of, cell))
        });
        let n = each.iter().map(|found| found.people.n).sum();
        let people = ValuePeople { n, ..ValuePeople::of(&behind, all) };
        let of = (metric, MetricScope::WorstCase);
        let measured = MeasuredValue::new(self, of, value, interval, people);
        MeasuredValue { impaired, furthest: Some(furthest), ..measured }.with_score_parts(cells)
    }
}
