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

use super::gaps::{favourable_rate, first_is_lower, rate_gap, score_of};
use crate::metric::catalog::performance::score_shape;
use crate::metric::estimate::Estimate;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::person::Confusion;
use crate::metric::rate::{MetricValue, Rate, Undefined, by_weight};
use crate::metric::scope::MetricScope;
use crate::metric::value::group_subjects::GroupSubjects;
use crate::metric::value::largest::{
    ExtremeInterval, largest_gap, smallest_ratio_of_scores, smallest_ratio_of_shares,
};
use crate::metric::value::measured::{
    FactualMeasurement, FactualSubject, MeasuredValue, PersonBasis, ValuePeople, all_persons,
};
use crate::metric::value::settings::{FavourableClass, FurthestGroups};
use crate::metric::{ImpairedGroupRule, Metric, Reads};

/// The gap of two subjects.
type GapOf<'a> = dyn Fn(&FactualSubject, &FactualSubject) -> Option<Estimate> + 'a;

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

fn gap_of_spread(spread: &GroupSpread) -> MetricValue {
    Ok(spread.gap())
}

fn ratio_of_spread(spread: &GroupSpread) -> MetricValue {
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
        of.map(|rate| furthest_value(groups, |c| both(c).and(rate(c).value()), gap_of_spread));
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
    let distances = defined(&values).map(|(group, value)| ((value - all).abs(), group));
    let most = distances.reduce(|most, next| if next.0 > most.0 { next } else { most });
    let several = defined(&values).count() > 1;
    let Some((distance, group)) = most.filter(|_| several) else { return none };
    let furthest = FurthestGroups {
        highest: Some(group),
        lowest: None,
        n_undefined: none.furthest.n_undefined,
    };
    WorstValue { value: Ok(distance), furthest }
}

fn find(metric: &Metric, favourable: FavourableClass, groups: &[Confusion]) -> WorstValue {
    match metric.reads {
        Reads::RateDifference(rate) => furthest_value(groups, |c| rate(c).value(), gap_of_spread),
        Reads::ScoreDifference(score) | Reads::ScoreRise(score) => {
            furthest_value(groups, score, gap_of_spread)
        }
        Reads::RateRatio(rate) => furthest_value(groups, |c| rate(c).value(), ratio_of_spread),
        Reads::FavourableRatio | Reads::FavourableMinRatio => {
            furthest_value(groups, |c| favourable_rate(c, favourable).value(), ratio_of_spread)
        }
        Reads::ScoreRatio(score) => furthest_value(groups, score, ratio_of_spread),
        Reads::WidestGap(of) => widest(groups, of),
        Reads::RateToTotal(rate) => furthest_from_total(groups, |c| rate(c).value()),
        Reads::ScoreToTotal(score) => furthest_from_total(groups, score),
        _ => unreachable!("`{}` is not a metric of groups", metric.id),
    }
}

/// The rate behind a metric that is derived from one.
fn rate(metric: &Metric, favourable: FavourableClass, c: &Confusion) -> Option<Rate> {
    match metric.reads {
        Reads::RateDifference(rate) | Reads::RateRatio(rate) | Reads::RateToTotal(rate) => {
            Some(rate(c))
        }
        Reads::FavourableRatio | Reads::FavourableMinRatio => Some(favourable_rate(c, favourable)),
        _ => None,
    }
}

impl FactualMeasurement<'_> {
    /// The interval of a metric over all groups that have a value; `rests` are all others of each,
    /// `all` is everybody.
    fn extreme(
        &self,
        metric: &Metric,
        GroupSubjects { groups, rests, all }: &GroupSubjects<FactualSubject>,
    ) -> ExtremeInterval {
        let level = self.context.level();
        let with = |has_value: &dyn Fn(&Confusion) -> bool| -> Vec<&FactualSubject> {
            groups.iter().filter(|of| has_value(of.cells())).collect()
        };
        let gaps = |of: Vec<&FactualSubject>, gap: &GapOf<'_>| {
            let each = of.iter().enumerate();
            let pairs = each.flat_map(|(i, a)| of[i + 1..].iter().map(move |b| gap(a, b)));
            pairs.collect::<Vec<Option<Estimate>>>()
        };
        let score = |of: &FactualSubject| {
            of.score(score_shape(metric)?, score_of(metric, of, |c| *c), |c| *c)
        };
        match metric.reads {
            Reads::RateDifference(rate) => {
                let of = with(&|c| rate(c).denominator > 0);
                largest_gap(level, &gaps(of, &|a, b| rate_gap(rate, a, b)))
            }
            Reads::WidestGap(rates) => {
                let of = || with(&|c| rates.iter().all(|rate| rate(c).denominator > 0));
                let each = rates.map(|rate| gaps(of(), &|a, b| rate_gap(rate, a, b)));
                largest_gap(level, &each.concat())
            }
            Reads::ScoreDifference(value) => {
                let of = with(&|c| value(c).is_ok());
                largest_gap(level, &gaps(of, &|a, b| Some(score(a)?.minus(&score(b)?))))
            }
            Reads::RateRatio(_) | Reads::FavourableRatio | Reads::FavourableMinRatio => {
                let favourable = self.context.settings.favourable;
                let share = |c: &Confusion| match metric.reads {
                    Reads::RateRatio(rate) => rate(c),
                    _ => favourable_rate(c, favourable),
                };
                let shares: Vec<Share> = groups.iter().filter_map(|of| of.share(share)).collect();
                smallest_ratio_of_shares(level, &shares)
            }
            Reads::ScoreRatio(value) => {
                let of = with(&|c| value(c).is_ok());
                let ratios = gaps(of, &|a, b| Some(score(a)?.over(&score(b)?)));
                smallest_ratio_of_scores(level, &ratios)
            }
            Reads::RateToTotal(rate) => {
                let far = |(group, rest): (&FactualSubject, &FactualSubject)| {
                    let [n, others] = [group, rest].map(|of| rate(of.cells()).denominator as f64);
                    let both = n > 0.0 && others > 0.0;
                    let gap = both.then(|| rate_gap(rate, group, rest))??;
                    Some(Some(gap.times(others / (n + others))))
                };
                let distances: Vec<_> = groups.iter().zip(rests).filter_map(far).collect();
                largest_gap(level, &distances)
            }
            Reads::ScoreToTotal(value) => {
                let everybody = score(all);
                let far = |of: &FactualSubject| Some(score(of)?.minus(everybody.as_ref()?));
                let of = groups.iter().filter(|of| value(of.cells()).is_ok());
                largest_gap(level, &of.map(far).collect::<Vec<_>>())
            }
            _ => unreachable!("`{}` is not a metric of groups", metric.id),
        }
    }

    /// One metric over all groups; `rests` are all others of each, `all` is everybody.
    pub(crate) fn worst(
        &self,
        metric: &'static Metric,
        subjects: &GroupSubjects<FactualSubject>,
    ) -> MeasuredValue {
        let groups = &subjects.groups;
        let favourable = self.context.settings.favourable;
        let people: Vec<Confusion> = groups.iter().map(|subject| subject.people).collect();
        let cells: Vec<Confusion> = groups.iter().map(|subject| *subject.cells()).collect();
        let found = find(metric, favourable, &cells);
        let weighed = groups.iter().any(|subject| subject.weight.is_some());
        let value = match weighed {
            false => found.value,
            true => by_weight(found.value, || find(metric, favourable, &people).value),
        };
        let interval = self.context.extreme(value, || self.extreme(metric, subjects));
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
                let with_value = groups.len().saturating_sub(found.furthest.n_undefined as usize);
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
            let share = behind.and_then(|of_rows| {
                subject.share(|c| rate(metric, favourable, c).unwrap_or(of_rows))
            });
            subject.person_basis(metric.needs_label, behind.map(|_| share.as_ref()))
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
