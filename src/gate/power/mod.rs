//! How many people would decide a gate.
//!
//! A gate decides where the whole interval, at the level that judges it, keeps the limit or breaks
//! it. Computed here: the number of people from which on it gives the right verdict with
//! probability 0.8 or 0.95, if the true value is today's estimate; and the smallest true excess
//! over the limit that today's number of people shows with probability 0.8.
//!
//! - A share: the binomial tail, see [`share`].
//! - A difference or ratio of two rates: the sum over both groups, see [`pair`].
//! - Where so many people are needed that n p (1 - p) is above 10^6: the normal form.
//! - A share, difference or ratio of rows that are less precise than as many people, because a
//!   person has several or people have weights: the same with today's rates and the number of
//!   people who would be as precise as these rows (`n_eff`); the result is multiplied by rows over
//!   `n_eff`. This assumes that the weights of more people, and the resemblance of their rows, are
//!   as today. Approximate: simulated with persons, the promised 0.80 and 0.95 were 0.77 to 0.82
//!   and 0.93 to 0.96.
//! - Any other value with an interval, rates of several counterfactuals of a row, and changes: the
//!   interval narrows with the root of n, and its end must clear the limit by z_t of its own
//!   standard deviations, so n ((1 + z_t / z) h / |value - limit|)^2 with h the side of the
//!   interval that faces the limit, and z_t the normal quantile of the probability. Approximate.
//!   Without the term in brackets the gate would decide in half of the cases.
//!
//! A row that is decided has no such number: power for the value that was found says nothing new.

mod pair;
mod share;

use crate::gate::decide_by::GateDecideBy;
use crate::gate::evidence::GateEvidence;
use crate::gate::question::{GateCase, GateLimit, GateQuestion, GateRuling, GateTables};
use crate::gate::reason::GateStatus;
use crate::gate::verdict::{inconclusive_reason, small_flags};
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::interval::z_of_level;
use crate::metric::value::settings::RATE_OF_ONE;
use crate::num::summary::normal_quantile;
use crate::table::{WITH_FITS, has_flag};
use pair::PairRule;

/// The probabilities that numbers of people are reported for.
const TARGETS: [f64; 2] = [0.8, 0.95];
/// No larger number of people is reported.
const CAP: u64 = 1_000_000_000;
/// From this n p (1 - p) on the normal form is used.
const NORMAL_FROM: f64 = 1e6;
/// A value this near to its limit counts as equal to it.
const ON_THE_LIMIT: f64 = 1e-9;

/// A number of people, and how it was found.
type NeededNumber = (f64, &'static str);

/// How many people would decide, and how that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct NeededPeople {
    /// In the denominator, with the probability 0.8 and 0.95.
    pub(crate) n: [Option<u64>; 2],
    /// The same in audited people.
    pub(crate) people: [Option<u64>; 2],
    /// The smallest excess of the true value over the limit that today's people show.
    pub(crate) detectable: Option<f64>,
    /// How the numbers were found, or why there are none.
    pub(crate) how: &'static str,
}

impl NeededPeople {
    /// Why there are no numbers.
    pub(crate) fn none(how: &'static str) -> Self {
        NeededPeople { how, ..NeededPeople::default() }
    }
}

impl GateEvidence {
    /// How many people decide about a limit at a level.
    pub(crate) fn needed(&self, limit: GateLimit, level: f64) -> NeededPeople {
        let Some(value) = self.value().filter(|_| !self.is_empty()) else {
            return NeededPeople::none("undefined");
        };
        let z = z_of_level(level);
        let distance = (value - limit.number()).abs();
        if distance <= ON_THE_LIMIT {
            return NeededPeople::none("on_the_limit");
        }
        if matches!(self, GateEvidence::Pair { is_ratio: true, .. }) && value == 0.0 {
            return NeededPeople::none("boundary");
        }
        let numbers = TARGETS.map(|target| {
            let of_target = (target, normal_quantile(target));
            match *self {
                GateEvidence::Share(share) => {
                    let (rule, share) = share::from_above(limit, share.rate, z);
                    rule.needed(share, of_target)
                }
                GateEvidence::Pair { is_ratio, rates } => {
                    let sizes = rates.map(|rate| rate.people(|n| (n + 0.5).floor()));
                    let rates = rates.map(|rate| rate.rate);
                    PairRule { is_ratio, limit, z }.needed(rates, sizes, of_target)
                }
                GateEvidence::Interval { ends: (lo, hi), n, .. } => {
                    let facing = if value < limit.number() { hi - value } else { value - lo };
                    let ratio = (1.0 + of_target.1 / z) * facing / distance;
                    Some(((n as f64 * ratio * ratio).ceil(), "interval"))
                }
            }
        });
        let is_effective = self.rates().iter().any(|rate| rate.effective.is_some());
        let numbers = numbers.map(|found| found.filter(|(n, _)| *n <= CAP as f64));
        let n = numbers.map(|found| match found?.0 as u64 {
            n if is_effective => self.in_units(n),
            n => Some(n),
        });
        let how = match numbers[0].filter(|_| n[0].is_some()) {
            None => "more_than_cap",
            Some(_) if is_effective => "effective",
            Some((_, how)) => how,
        };
        NeededPeople { n, ..NeededPeople::none(how) }
    }

    /// The number of independent people for the number that is compared with what is enough.
    fn in_units(&self, n: u64) -> Option<u64> {
        let rows = self.rates().iter().fold(0, |n: u64, rate| n.saturating_add(rate.rows)) as f64;
        let effective: f64 = self.rates().iter().map(|rate| rate.sure().people).sum();
        let rows_needed = (n as f64 * rows / effective).ceil();
        let units_needed = (rows_needed * self.n() as f64 / rows).ceil();
        (units_needed <= CAP as f64).then_some(units_needed as u64)
    }

    /// The smallest excess of the true value over the limit that these people show.
    pub(crate) fn detectable(&self, limit: GateLimit, level: f64) -> Option<f64> {
        let z = z_of_level(level);
        match *self {
            _ if self.is_empty() => None,
            GateEvidence::Share(share) => {
                let rule = share::from_above(limit, share.rate, z).0;
                rule.detectable(share.people(f64::floor), TARGETS[0])
            }
            GateEvidence::Pair { is_ratio: true, rates: [_, below] } if below.rate == 0.0 => None,
            GateEvidence::Pair { is_ratio, rates } => {
                let sizes = rates.map(|rate| rate.people(f64::floor));
                PairRule { is_ratio, limit, z }.detectable(rates[1].rate, sizes, TARGETS[0])
            }
            GateEvidence::Interval { value, ends: (lo, hi), .. } => {
                let side = match limit {
                    GateLimit::AtMost(_) => value - lo,
                    GateLimit::AtLeast(_) => hi - value,
                };
                // The interval of a rate of 0 or 1 ends at the value.
                (side > 0.0).then(|| side * (1.0 + normal_quantile(TARGETS[0]) / z))
            }
        }
    }
}

/// The number of audited people that gives this number in the denominator; rounded up.
pub(crate) fn audited_people(needed: u64, audited: u64, below: u64) -> Option<u64> {
    let below = u128::from(below);
    let people = (u128::from(needed) * u128::from(audited)).div_ceil(below.max(1));
    u64::try_from(people).ok().filter(|_| below > 0)
}

/// Why no number of people would decide, whatever the counts are.
fn beyond_people(question: &GateQuestion, ruling: &GateRuling) -> Option<&'static str> {
    let GateRuling { observation: observed, .. } = ruling;
    let (verdict, row, objections) = (ruling.verdict(), &observed.row, &observed.objections);
    let reasons = [
        (verdict == GateStatus::Skipped, "skipped"),
        (row.value.is_none() && objections.is_empty(), "undefined"),
        // How far more people narrow the fits is not known.
        (row.interval == WITH_FITS, "by_fit"),
        (!objections.is_empty() || has_flag(&row.flags, SELECTIVE_LABELS), "other_reason"),
        (!small_flags(observed).is_empty(), "other_reason"),
        (observed.ends().is_none(), "no_interval"),
    ];
    let by_rule = reasons.into_iter().find(|(holds, _)| *holds).map(|(_, reason)| reason);
    if let Some(reason) = question.decide_by.beyond_people().or(by_rule) {
        return Some(reason);
    }
    let (lo, hi) = observed.ends()?;
    let is_open = verdict == GateStatus::Inconclusive;
    if !is_open || inconclusive_reason(question, observed).is_some() {
        return None;
    }
    // The search would take the rate of 1 as certain, too.
    if has_flag(&row.flags, RATE_OF_ONE) {
        return Some("boundary");
    }
    (question.limit.kept_by(lo) == question.limit.kept_by(hi)).then_some("other_reason")
}

/// How many people would decide one row of a gate.
pub(super) fn of_row(
    question: &GateQuestion,
    ruling: &GateRuling,
    tables: &GateTables,
) -> NeededPeople {
    let observed = &ruling.observation;
    let beyond = beyond_people(question, ruling);
    let by_interval =
        question.decide_by == GateDecideBy::Interval && observed.objections.is_empty();
    let case = GateCase { question, observed, tables };
    let evidence = GateEvidence::of(case);
    let evidence = evidence.zip(observed.row.level).filter(|_| by_interval);
    let Some((evidence, level)) = evidence else {
        return NeededPeople::none(beyond.unwrap_or("no_interval"));
    };
    let detectable = evidence.detectable(question.limit, level);
    if let Some(how) = beyond.or(ruling.is_decided().then_some("decided")) {
        return NeededPeople { detectable, ..NeededPeople::none(how) };
    }
    let needed = evidence.needed(question.limit, level);
    let n = needed.n.map(|n| n.map(|n| n.max(question.min_cases)));
    let all = case.groups().find(|row| row.group.is_empty());
    let all = all.and_then(|row| u64::try_from(row.persons.unwrap_or(row.n)).ok());
    let people = n.map(|n| audited_people(n?, all?, evidence.n()));
    NeededPeople { n, people, detectable, ..needed }
}

#[cfg(test)]
mod tests;
