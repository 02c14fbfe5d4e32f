//! Amounts: means, quantiles and gaps of groups, and how amounts would change in another group.
//!
//! Rows without an amount and rows of weight 0 do not count. W is the sum of the weights w (1
//! without weights), P the number of persons (of rows, where a person has one).
//!
//! - Mean m = sum w x / W, with Student's interval: m -+ t sqrt(v), v = P / (P - 1) sum over
//!   persons of (sum of their w (x - m))^2 / W^2, with the degrees of freedom that these sums carry
//!   ([`student_interval`](crate::metric::student_interval)).
//! - Difference of two means: the sum of both variances less twice the covariance of persons in
//!   both groups, with Satterthwaite's degrees of freedom of the two. Ratio of two means above 0:
//!   the same on the logarithm, influences divided by m.
//! - Quantile q: linear interpolation at (n - 1) q; interval of Woodruff 1952. Let lo and hi be the
//!   ends of Wilson's interval of the share q of n people (with weights or persons the effective
//!   number, see [`share`](crate::metric::estimate::share), for the share at or below the
//!   quantile). The interval is from the last amount whose cumulative share of weight is at most
//!   lo to the one after the first whose share is at least hi; none if one of them does not exist.
//!   Rows with the same amount share their weight equally, so the order of rows has no effect.
//! - Difference of two quantiles: d - sqrt((q_a - l_a)^2 + (u_b - q_b)^2) to d + sqrt((u_a - q_a)^2
//!   + (q_b - l_b)^2), in the way of Newcombe's.
//! - Change c - x of a counterfactual: mean and median as above. *More* if c > x and c - x >= need
//!   (1 - 1e-9), *less* likewise; need is the smallest change that matters to the job, an amount or
//!   a share of |x|; if it is 0, any change matters. The factor keeps changes that are exact in
//!   decimals, such as 20.40 to 21.42 of 5 %. Shares have Wilson's interval.
//!
//! Choice: the denominator of `denied_by_group` (the amount would be better in the other group) and
//! `favoured_by_group` (worse) is all people with both amounts, because there is no decision to
//! condition on. Several counterfactuals of a row count as rows of one person.
//!
//! Coverage of 95 % intervals, simulated with 8,000 to 20,000 samples (medians 4,000), two groups
//! of 10, of 30, of 30 and 300, and of 300 people, log-normal amounts: sigma 0.4: difference of
//! means 95.8, 95.6, 94.7, 95.0 %, ratio 94.7, 95.1, 94.8, 94.9 %, difference of medians 99.3,
//! 99.3, 98.7, 96.6 %. Sigma 1: difference of means 97.3, 97.2, 91.4, 95.9 %, ratio 92.3, 94.5,
//! 92.7, 95.3 %; one mean of 10, 30, 100, 300 people 85.1, 89.6, 93.0, 94.3 %, one median of 10,
//! 30, 300 97.8, 98.5, 95.6 %.

use crate::metric::catalog::amounts::QUANTILES;
use crate::metric::catalog::ccm::HARM;
use crate::metric::catalog::find;
use crate::metric::estimate::share::Share;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::units::{WeightSums, distinct};
use crate::metric::interval::{IntervalProcedure, ValueInterval, newcombe_of, wilson_of_share};
use crate::metric::missing_interval::{IntervalOrReason, MissingInterval};
use crate::metric::rate::{MetricValue, Rate, Undefined};
use crate::metric::scope::MetricScope;
use crate::metric::student_interval::{GroupTerms, UnitTerm, log_student};
use crate::metric::value::interval_choice::{MeasureContext, is_clear, mean_gap, of_mean};
use crate::metric::value::measured_value::{
    MeasuredValue, PersonBasis, SubjectPeople, SubjectValue, ValuePeople, finite_or_overflow,
};
use crate::metric::value::settings::MeasureSettings;
use crate::metric::value::switches::impaired;
use crate::num::summary::{quantile, weighted_quantile};

/// A tolerance for the rounding of decimals, if a change is exactly the smallest that matters.
const ROUNDING: f64 = 1.0 - 1e-9;

/// Which amounts people want, and which change matters to them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AmountRule {
    /// Whether people want low amounts.
    pub(crate) better_lower: bool,
    /// The smallest change that matters.
    pub(crate) matters_from: AmountStep,
}

/// The smallest change of an amount that matters, 0 or above.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AmountStep {
    /// This share of the factual amount without its sign.
    Share(f64),
    /// An absolute change.
    Absolute(f64),
}

impl AmountRule {
    /// Whether the amount changes by enough to matter: `Some(true)` if it would be higher.
    pub(crate) fn change(&self, amount: f64, change: f64) -> Option<bool> {
        let need = match self.matters_from {
            AmountStep::Share(share) => share * amount.abs(),
            AmountStep::Absolute(step) => step,
        };
        (change != 0.0 && change.abs() >= need * ROUNDING).then_some(change > 0.0)
    }
}

/// An amount, or the change of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct AmountEntry {
    /// The number, finite.
    pub(crate) value: f64,
    /// Its weight, above 0; 1 without weights.
    pub(crate) weight: u64,
    /// The key of the person; has no meaning if each row is a person.
    pub(crate) person: u64,
}

/// Amounts of some people.
pub(crate) struct AmountSample {
    basis: CountingUnit,
    /// In the order of the rows; if persons have several rows, by person and then by row.
    entries: Vec<AmountEntry>,
    /// The positions of the amounts, by value.
    ascending: Vec<u32>,
    /// Sum of the weights.
    weight: f64,
    /// Sum of the squared weights.
    squares: f64,
    mean: f64,
}

impl AmountSample {
    /// The amounts, from entries in the order of the rows.
    pub(crate) fn new(basis: CountingUnit, mut entries: Vec<AmountEntry>) -> Self {
        if basis.persons {
            // The sort is stable: the rows of a person stay in order.
            entries.sort_by_key(|entry| entry.person);
        }
        let mut ascending: Vec<u32> = (0..entries.len() as u32).collect();
        ascending.sort_by(|&a, &b| {
            entries[a as usize].value.total_cmp(&entries[b as usize].value).then(a.cmp(&b))
        });
        let sum = |term: &dyn Fn(&AmountEntry) -> f64| entries.iter().map(term).sum::<f64>();
        let weight = sum(&|entry| entry.weight as f64);
        let squares = sum(&|entry| entry.weight as f64 * entry.weight as f64);
        let mean = sum(&|entry| entry.weight as f64 * entry.value) / weight;
        AmountSample { basis, entries, ascending, weight, squares, mean }
    }

    /// Rows.
    pub(crate) fn n(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The rows of each person.
    fn persons(&self) -> impl Iterator<Item = &[AmountEntry]> {
        self.entries.chunk_by(|a, b| self.basis.persons && a.person == b.person)
    }

    /// The persons behind the rows; none if each row is a person.
    fn person_basis(&self, share: Option<&Share>) -> Option<PersonBasis> {
        let denominator = share.map(|share| share.n_units);
        self.basis.persons.then(|| PersonBasis { n: self.persons().count() as u64, denominator })
    }

    /// The people behind a value of all rows.
    fn people(&self) -> SubjectPeople {
        SubjectPeople { n: self.n(), cases: None, persons: self.person_basis(None) }
    }

    fn mean(&self) -> MetricValue {
        match self.entries.is_empty() {
            true => Err(Undefined::EmptyGroup),
            false => finite_or_overflow(Ok(self.mean)),
        }
    }

    /// The influence of each person on the mean, divided by `scale`.
    fn terms(&self, scale: f64) -> GroupTerms {
        let below = self.weight * scale;
        let term = |entry: &AmountEntry| entry.weight as f64 * (entry.value - self.mean) / below;
        let rows = self.entries.iter().map(|entry| UnitTerm::one(entry.person, term(entry)));
        GroupTerms::new(rows.collect(), self.basis.persons)
    }

    /// Student's interval of the mean.
    fn student(&self, level: f64) -> IntervalOrReason {
        of_mean(
            self.mean,
            self.terms(1.0).spread,
            level,
            [MissingInterval::OnePerson, MissingInterval::EqualAmounts],
        )
    }

    fn quantile(&self, q: f64) -> MetricValue {
        if self.basis.weighted && !self.entries.is_empty() {
            return Ok(weighted_quantile(self.by_value(), (self.weight, self.squares), q));
        }
        let sorted: Vec<f64> = self.by_value().map(|(value, _)| value).collect();
        quantile(&sorted, q).ok_or(Undefined::EmptyGroup)
    }

    /// The amounts ascending, each with its weight. Rows with the same amount share their weight
    /// equally, so that their order has no effect.
    fn by_value(&self) -> impl Iterator<Item = (f64, f64)> {
        let entry = |i: &u32| self.entries[*i as usize];
        let ties = self.ascending.chunk_by(move |i, j| entry(i).value == entry(j).value);
        ties.flat_map(move |tie| {
            let weight: u128 = tie.iter().map(|i| u128::from(entry(i).weight)).sum();
            let each = (entry(&tie[0]).value, weight as f64 / tie.len() as f64);
            std::iter::repeat_n(each, tie.len())
        })
    }

    /// The share of the rows that are cases, by weight.
    fn rate(&self, is_case: impl Fn(&AmountEntry) -> bool) -> SubjectValue {
        let sum = |entries: &[AmountEntry], number: fn(&AmountEntry) -> u64| {
            let cases = entries.iter().filter(|entry| is_case(entry)).map(number).sum();
            Rate::of(cases, entries.iter().map(number).sum())
        };
        let (people, weights) =
            (sum(&self.entries, |_| 1), sum(&self.entries, |entry| entry.weight));
        let mut rows = WeightSums::default();
        self.entries.iter().for_each(|entry| rows += WeightSums::one(entry.weight));
        let each = (0..).zip(self.persons()).map(|(row, entries)| {
            let key = if self.basis.persons { entries[0].person } else { row };
            (key, sum(entries, |entry| entry.weight), WeightSums::ones(1))
        });
        let share = Share::of_units(weights, rows.into(), each);
        SubjectValue {
            value: weights.value(),
            rate: Some(people),
            weights: self.basis.weighted.then_some(weights),
            people: SubjectPeople {
                cases: Some(people.denominator),
                persons: self.person_basis(share.as_ref()),
                ..self.people()
            },
            share,
        }
    }

    /// Woodruff's interval of a quantile.
    fn woodruff(&self, q: f64, value: f64, z: f64) -> IntervalOrReason {
        let at_or_below = self.rate(|entry| entry.value <= value);
        let Some(n) = at_or_below.share.map(|share| share.size) else {
            return Err(MissingInterval::FewForQuantile);
        };
        let ends = wilson_of_share(q, n, z, IntervalProcedure::Wilson);
        let (mut upto, mut lo, mut hi) = (0.0, None, None);
        let mut each = self.by_value().peekable();
        while let Some((amount, weight)) = each.next() {
            upto += weight;
            let share = upto / self.weight;
            if share <= ends.lo {
                lo = Some(amount);
            }
            if share >= ends.hi {
                hi = each.peek().map(|(next, _)| *next);
                break;
            }
        }
        match lo.zip(hi) {
            Some((lo, hi)) => Ok(ValueInterval { lo, hi, method: IntervalProcedure::Woodruff }),
            None => Err(MissingInterval::FewForQuantile),
        }
    }
}

// The mean of a group compared with that of another.
impl AmountSample {
    fn difference(&self, other: &Self, level: f64) -> IntervalOrReason {
        let spread = self.terms(1.0).gap(&other.terms(1.0));
        mean_gap(self.mean - other.mean, spread, level)
    }

    fn ratio(&self, other: &Self, level: f64) -> IntervalOrReason {
        let spread = self
            .terms(self.mean)
            .gap(&other.terms(other.mean))
            .ok_or(MissingInterval::OnePersonInGroup)?;
        spread.half_width(level).ok_or(MissingInterval::EqualAmounts)?;
        let ratio = self.mean / other.mean;
        Ok(log_student(ratio, spread.variance * ratio * ratio, spread.df, level))
    }

    /// The people of both samples.
    fn people_with(&self, other: &Self) -> ValuePeople {
        let keys = || self.entries.iter().chain(&other.entries).map(|entry| entry.person);
        let n_persons = self.basis.persons.then(|| distinct(keys()));
        ValuePeople::of(&[self.people(), other.people()], n_persons)
    }
}

impl MeasureContext<'_> {
    /// A metric of amounts.
    fn amount(
        &self,
        (id, scope): (&str, MetricScope),
        value: MetricValue,
        people: ValuePeople,
        basis: impl FnOnce() -> IntervalOrReason,
    ) -> Option<MeasuredValue> {
        let interval = self.interval(value, basis);
        let metric = find(id)?;
        Some(MeasuredValue::new(self, (metric, scope), value, interval, people))
    }

    fn mean_amount(
        &self,
        id_and_scope: (&str, MetricScope),
        sample: &AmountSample,
    ) -> Option<MeasuredValue> {
        let people = ValuePeople::of(&[sample.people()], None);
        self.amount(id_and_scope, sample.mean(), people, || sample.student(self.level()))
    }

    fn quantile_of_amounts(
        &self,
        id_and_scope: (&str, MetricScope),
        (sample, q): (&AmountSample, f64),
    ) -> Option<MeasuredValue> {
        let (value, people) = (sample.quantile(q), ValuePeople::of(&[sample.people()], None));
        self.amount(id_and_scope, value, people, || {
            sample.woodruff(q, value.unwrap_or(f64::NAN), self.z)
        })
    }

    /// The share of a direction, and which group it shows as worse off.
    fn share_of_amounts(
        &self,
        (id, scope): (&str, MetricScope),
        found: &SubjectValue,
        settings: &MeasureSettings,
    ) -> Option<MeasuredValue> {
        let metric = find(id)?;
        let interval = self.interval(found.value, || {
            found
                .share
                .as_ref()
                .map(|share| share.wilson(self.z))
                .ok_or(MissingInterval::OperandMissing)
        });
        let measured = found.measured(self, (metric, scope), interval);
        let ends = measured.interval.map(|ends| (ends.lo, ends.hi));
        let clear = is_clear(measured.ideal, ends, None);
        let worse = impaired(metric, scope, (found.value, clear), measured.numerator, settings);
        let changed = measured.numerator;
        Some(MeasuredValue { impaired: worse, switched: changed, ..measured })
    }
}

/// Means and quantiles of each group in reference order, and the gaps of each pair A before B.
pub(crate) fn measure_amounts(
    groups: &[AmountSample],
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let context = MeasureContext::new(settings);
    let mut found = Vec::new();
    let mut quantiles = Vec::new();
    for (rank, sample) in groups.iter().enumerate() {
        let scope = MetricScope::Group(rank);
        found.extend(context.mean_amount(("amount_mean", scope), sample));
        let group_quantiles =
            QUANTILES.map(|(q, id, _)| context.quantile_of_amounts((id, scope), (sample, q)));
        found.extend(group_quantiles.iter().flatten().cloned());
        quantiles.push(group_quantiles);
    }
    for (rank, a) in groups.iter().enumerate() {
        for (other, b) in groups.iter().enumerate().skip(rank + 1) {
            let (scope, level) = (MetricScope::Pair(rank, other), context.level());
            let people = a.people_with(b);
            let means = a.mean().and_then(|a| Ok((a, b.mean()?)));
            let means = means.map_err(|_| Undefined::OperandMissing);
            let id_and_scope = ("amount_mean_difference", scope);
            let difference = means.map(|(a, b)| a - b);
            found.extend(
                context.amount(id_and_scope, difference, people, || a.difference(b, level)),
            );
            // In both orders, because a change of the reciprocal cannot be computed from a change
            // of the ratio.
            let turned = (MetricScope::Pair(other, rank), b, a, means.map(|(a, b)| (b, a)));
            for (scope, a, b, means) in [(scope, a, b, means), turned] {
                let ratio = means.and_then(|(a, b)| match a > 0.0 && b > 0.0 {
                    true => Ok(a / b),
                    false => Err(Undefined::NotPositive),
                });
                let id_and_scope = ("amount_mean_ratio", scope);
                found.extend(context.amount(id_and_scope, ratio, people, || a.ratio(b, level)));
            }
            for (place, (_, _, id)) in QUANTILES.into_iter().enumerate() {
                let (Some(a), Some(b)) = (&quantiles[rank][place], &quantiles[other][place]) else {
                    continue;
                };
                let values = a.value.and_then(|a| Ok((a, b.value?)));
                let values = values.map_err(|_| Undefined::OperandMissing);
                found.extend(context.amount(
                    (id, scope),
                    values.map(|(a, b)| a - b),
                    people,
                    || {
                        let ends = a
                            .interval
                            .zip(b.interval)
                            .ok_or(MissingInterval::FewInGroupForQuantile)?;
                        let values = values.unwrap_or((f64::NAN, f64::NAN));
                        Ok(newcombe_of(values, ends, IntervalProcedure::WoodruffGap))
                    },
                ));
            }
        }
    }
    found
}

/// The change c - x of an amount in another group, with the amount x.
pub(crate) type AmountChange = (AmountEntry, f64);

/// The results of a direction: how amounts would change, and for how many people by enough to
/// matter.
pub(crate) fn measure_amount_changes(
    (from, to): (usize, usize),
    found: &[AmountChange],
    (basis, rule): (CountingUnit, AmountRule),
    settings: &MeasureSettings,
) -> Vec<MeasuredValue> {
    let context = MeasureContext::new(settings);
    let scope = MetricScope::Direction(from, to);
    let sample = AmountSample::new(basis, found.iter().map(|(change, _)| *change).collect());
    let mut measured = Vec::new();
    measured.extend(context.mean_amount(("amount_change_mean", scope), &sample));
    measured.extend(context.quantile_of_amounts(("amount_change_median", scope), (&sample, 0.5)));
    // The smallest change that matters depends on the amount, so a flag replaces the change:
    // 1 more, -1 less, 0 neither.
    let flag = |(entry, amount): &AmountChange| AmountEntry {
        value: match rule.change(*amount, entry.value) {
            Some(true) => 1.0,
            Some(false) => -1.0,
            None => 0.0,
        },
        ..*entry
    };
    let flags = AmountSample::new(basis, found.iter().map(flag).collect());
    let [more, less] = [1.0, -1.0].map(|side| flags.rate(|entry| entry.value == side));
    let changed = flags.rate(|entry| entry.value != 0.0);
    let (better, worse) = if rule.better_lower { (&less, &more) } else { (&more, &less) };
    let shares = [
        ("share_more", &more),
        ("share_less", &less),
        ("share_more_or_less", &changed),
        (HARM[0], better),
        (HARM[1], worse),
    ];
    let share = |(id, rate)| context.share_of_amounts((id, scope), rate, settings);
    measured.extend(shares.into_iter().filter_map(share));
    measured
}
