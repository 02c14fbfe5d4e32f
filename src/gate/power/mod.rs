//! How many people would decide a gate.
//!
//! A gate decides where the whole interval, at the level that judges it, keeps the limit or breaks
//! it. Here is from how many people on it gives the verdict that is right if the true value is
//! today's estimate, with the probability 0.8 or 0.95; and the smallest true excess over the limit
//! that today's people show, with the probability 0.8.
//!
//! - A share: the binomial tail, see [`share`].
//! - A difference or ratio of two rates: the sum over both groups, see [`pair`].
//! - Where so many people are needed that n p (1 - p) is above 10^6: the normal form.
//! - A share, difference or ratio of rows that are less sure than as many people, because a person
//!   has several or people have weights: the same with effective numbers, see [`effective`].
//! - Any other value with an interval, rates of several counterfactuals of a row, and changes: the
//!   interval narrows with the root of n, and its end must clear the limit by z_t of its own
//!   standard deviations, so n ((1 + z_t / z) h / |value - limit|)^2 with h the side of the
//!   interval that faces the limit, and z_t the normal quantile of the probability. Approximate.
//!   Without the term in brackets the gate would decide in half of the cases.
//!
//! A row that is decided has no such number: power for the value that was found says nothing new.

mod effective;
mod pair;
mod share;

use crate::gate::decide_by::GateDecideBy;
use crate::gate::decision::{inconclusive_reason, small_flags};
use crate::gate::people::PeopleTables;
use crate::gate::question::{GateLimit, GateObservation, GateQuestion, GateRuling, GateTables};
use crate::gate::reason::GateStatus;
use crate::metric::catalog::find;
use crate::metric::evidence::labels::SELECTIVE_LABELS;
use crate::metric::interval::{IntervalProcedure, z_of_level};
use crate::metric::rate::{Rate, Undefined};
use crate::metric::value::gaps::rates_of_gap;
use crate::metric::value::settings::RATE_OF_ONE;
use crate::num::summary::normal_quantile;
use crate::table::{GroupRow, WITH_FITS, has_flag};
use effective::EffectiveEvidence;
use pair::PairRule;

/// The probabilities that numbers of people are reported for.
const TARGETS: [f64; 2] = [0.8, 0.95];
/// No larger number of people is reported.
const CAP: u64 = 1_000_000_000;
/// From this n p (1 - p) on the normal form is used.
const NORMAL_FROM: f64 = 1e6;
/// A value this near to its limit lies on it.
const ON_THE_LIMIT: f64 = 1e-9;

/// A verdict by an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DecidedSide {
    /// All of it keeps the limit.
    Kept,
    /// All of it breaks the limit.
    Broken,
}

/// A number of people, or why there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
enum NeededNumber {
    Exact(u64),
    Normal(u64),
    MoreThanCap,
}

impl NeededNumber {
    fn normal(n: f64) -> Self {
        if n <= CAP as f64 { NeededNumber::Normal(n as u64) } else { NeededNumber::MoreThanCap }
    }

    fn number(self) -> Option<u64> {
        match self {
            NeededNumber::Exact(n) | NeededNumber::Normal(n) => Some(n),
            NeededNumber::MoreThanCap => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            NeededNumber::Exact(_) => "exact",
            NeededNumber::Normal(_) => "normal",
            NeededNumber::MoreThanCap => "more_than_cap",
        }
    }
}

/// What is behind a value that a gate judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GateEvidence {
    /// A share of so many people.
    Share {
        /// The share.
        rate: f64,
        /// People below it.
        n: u64,
    },
    /// Two rates.
    Pair {
        /// Whether the first is divided by the second; else the second is subtracted.
        is_ratio: bool,
        /// The rates.
        rates: [f64; 2],
        /// People below them.
        sizes: [u64; 2],
    },
    /// A value with an interval.
    Interval {
        /// The value.
        value: f64,
        /// Its interval.
        ends: (f64, f64),
        /// People behind it.
        n: u64,
    },
}

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

impl GateEvidence {
    /// People below the value.
    pub(crate) fn n(&self) -> u64 {
        match self {
            GateEvidence::Share { n, .. } | GateEvidence::Interval { n, .. } => *n,
            GateEvidence::Pair { sizes, .. } => sizes[0].saturating_add(sizes[1]),
        }
    }

    /// The value; none of a ratio to 0.
    pub(crate) fn value(&self) -> Option<f64> {
        match self {
            GateEvidence::Share { rate, .. } => Some(*rate),
            GateEvidence::Interval { value, .. } => Some(*value),
            GateEvidence::Pair { is_ratio: false, rates: [p, q], .. } => Some(p - q),
            GateEvidence::Pair { rates: [p, q], .. } => (*q > 0.0).then(|| p / q),
        }
    }

    /// How many people decide about a limit at a level.
    pub(crate) fn needed(&self, limit: GateLimit, level: f64) -> NeededPeople {
        let none = |how| NeededPeople { how, ..NeededPeople::default() };
        let Some(value) = self.value() else { return none("undefined") };
        if self.n() == 0 || matches!(self, GateEvidence::Pair { sizes, .. } if sizes.contains(&0)) {
            return none("undefined");
        }
        let z = z_of_level(level);
        if (value - limit.number()).abs() <= ON_THE_LIMIT {
            return none("on_the_limit");
        }
        let z_of = TARGETS.map(normal_quantile);
        let numbers = match *self {
            GateEvidence::Share { rate, .. } => {
                let (rule, share) = share::from_above(limit, rate, z);
                [0, 1].map(|i| rule.needed(share, TARGETS[i], z_of[i]))
            }
            GateEvidence::Pair { is_ratio: true, rates: [0.0, _], .. } => {
                return none("boundary");
            }
            GateEvidence::Pair { is_ratio, rates, sizes } => {
                let rule = PairRule { is_ratio, limit, z };
                [0, 1].map(|i| rule.needed(rates, sizes, (TARGETS[i], z_of[i])))
            }
            GateEvidence::Interval { value, ends: (lo, hi), n } => {
                let facing = if value < limit.number() { hi - value } else { value - lo };
                let distance = (value - limit.number()).abs();
                [0, 1].map(|i| {
                    let ratio = (1.0 + z_of[i] / z) * facing / distance;
                    NeededNumber::normal((n as f64 * ratio * ratio).ceil())
                })
            }
        };
        let how = match (self, numbers[0]) {
            (GateEvidence::Interval { .. }, NeededNumber::Normal(_)) => "interval",
            (_, number) => number.word(),
        };
        NeededPeople { n: numbers.map(NeededNumber::number), how, ..NeededPeople::default() }
    }

    /// The smallest excess of the true value over the limit that these people show.
    pub(crate) fn detectable(&self, limit: GateLimit, level: f64) -> Option<f64> {
        let (z, z_80) = (z_of_level(level), normal_quantile(TARGETS[0]));
        match *self {
            _ if self.n() == 0 => None,
            GateEvidence::Share { rate, n } => {
                share::from_above(limit, rate, z).0.detectable(n, TARGETS[0])
            }
            GateEvidence::Pair { sizes, .. } if sizes.contains(&0) => None,
            GateEvidence::Pair { is_ratio: true, rates: [_, 0.0], .. } => None,
            GateEvidence::Pair { is_ratio, rates, sizes } => {
                PairRule { is_ratio, limit, z }.detectable(rates[1], sizes, TARGETS[0])
            }
            GateEvidence::Interval { value, ends: (lo, hi), .. } => {
                let side = match limit {
                    GateLimit::AtMost(_) => value - lo,
                    GateLimit::AtLeast(_) => hi - value,
                };
                // The interval of a rate of 0 or 1 ends at the value.
                (side > 0.0).then(|| side * (1.0 + z_80 / z))
            }
        }
    }
}

/// So many of those who are audited as bring so many below the value; rounded up.
pub(crate) fn audited_people(needed: u64, audited: u64, below: u64) -> Option<u64> {
    let below = u128::from(below);
    let people = (u128::from(needed) * u128::from(audited)).div_ceil(below.max(1));
    u64::try_from(people).ok().filter(|_| below > 0)
}

/// The two rates behind a gap, the first one first; none where they do not give its value.
fn pair_behind(
    question: &GateQuestion,
    seen: &GateObservation,
    tables: GateTables<'_>,
) -> Option<GateEvidence> {
    let value = seen.value?;
    let is_ratio = seen.interval == IntervalProcedure::Katz.as_str();
    if !is_ratio && seen.interval != IntervalProcedure::Newcombe.as_str() || seen.is_change {
        return None;
    }
    let mut candidates: Vec<[Rate; 2]> = Vec::new();
    if seen.scope == "difference" {
        let base = find(&seen.metric)?.gap_of.map_or(seen.metric.as_str(), |(base, _)| base);
        let rate = |from: &str, to: &str| {
            let place = ["direction", from, to];
            let row = question.row(tables.metrics, &seen.sensitive, base, place)?;
            rate_of(row.numerator?, row.denominator?)
        };
        candidates.extend(
            rate(&seen.from, &seen.to)
                .zip(rate(&seen.to, &seen.from))
                .map(|(forth, back)| [forth, back]),
        );
    } else {
        let metric = find(&seen.metric)?;
        let of = PeopleTables::new(question, seen, tables);
        let a = of.side(&seen.from, &seen.to)?.confusion();
        let b = of.side(&seen.to, &seen.from)?.confusion();
        // The gate may ask for the groups in another order than the metric has them.
        candidates.extend(rates_of_gap(metric, &a, &b));
        candidates.extend(rates_of_gap(metric, &b, &a).into_iter().map(|[x, y]| [y, x]));
        candidates.extend(rates_of_gap(metric, &b, &a));
    }
    candidates.into_iter().find_map(|rates| {
        let sizes = rates.map(|rate| rate.denominator);
        let [p, q] = [rates[0].value().ok()?, rates[1].value().ok()?];
        let evidence = GateEvidence::Pair { is_ratio, rates: [p, q], sizes };
        let same = (evidence.value()? - value).abs() <= 1e-9 * value.abs().max(1.0);
        same.then_some(evidence)
    })
}

fn rate_of(numerator: i64, denominator: i64) -> Option<Rate> {
    Some(Rate {
        numerator: u64::try_from(numerator).ok()?,
        denominator: u64::try_from(denominator).ok()?,
        empty: Undefined::EmptyGroup,
    })
}

/// What is behind a value of the tables.
#[derive(Debug, Clone, Copy)]
enum RowEvidence {
    /// People, or a value with its interval.
    Plain(GateEvidence),
    /// Rows that are less sure than as many people.
    Effective(EffectiveEvidence),
}

impl RowEvidence {
    fn n(&self) -> u64 {
        match self {
            RowEvidence::Plain(of) => of.n(),
            RowEvidence::Effective(of) => of.n(),
        }
    }

    fn needed(&self, limit: GateLimit, level: f64) -> NeededPeople {
        match self {
            RowEvidence::Plain(of) => of.needed(limit, level),
            RowEvidence::Effective(of) => of.needed(limit, level),
        }
    }

    fn detectable(&self, limit: GateLimit, level: f64) -> Option<f64> {
        match self {
            RowEvidence::Plain(of) => of.detectable(limit, level),
            RowEvidence::Effective(of) => of.detectable(limit, level),
        }
    }
}

/// What is behind a value that has an interval.
fn evidence(
    question: &GateQuestion,
    seen: &GateObservation,
    tables: GateTables<'_>,
) -> Option<RowEvidence> {
    let (value, lo, hi) = (seen.value?, seen.lo?, seen.hi?);
    if seen.interval == IntervalProcedure::Wilson.as_str() && !seen.is_change {
        let rate = rate_of(seen.numerator?, seen.denominator?)?;
        return Some(RowEvidence::Plain(GateEvidence::Share { rate: value, n: rate.denominator }));
    }
    if let Some(pair) = pair_behind(question, seen, tables) {
        return Some(RowEvidence::Plain(pair));
    }
    if let Some(of) = EffectiveEvidence::behind(question, seen, tables) {
        return Some(RowEvidence::Effective(of));
    }
    // Where a person may have several rows the interval narrows with more persons.
    let below = seen.denominator_persons.or(seen.denominator).or(seen.persons);
    let n = u64::try_from(below.unwrap_or(seen.n_rows)).ok()?;
    // The largest gap is cut at 0 and the smallest ratio at 1: there the other side tells the
    // width.
    let ends = match (seen.interval == IntervalProcedure::Largest.as_str(), lo, hi) {
        (true, 0.0, _) => (2.0 * value - hi, hi),
        (true, _, 1.0) => (lo, 2.0 * value - lo),
        _ => (lo, hi),
    };
    Some(RowEvidence::Plain(GateEvidence::Interval { value, ends, n }))
}

/// Both rates of a ratio of two groups, the first one on top, each with the independent people who
/// would be as sure; none where the tables do not tell.
pub(super) fn rates_of_ratio(
    question: &GateQuestion,
    seen: &GateObservation,
    tables: GateTables<'_>,
) -> Option<[(f64, f64); 2]> {
    match pair_behind(question, seen, tables) {
        Some(GateEvidence::Pair { is_ratio: true, rates: [p, q], sizes: [n, m] }) => {
            Some([(p, n as f64), (q, m as f64)])
        }
        _ => EffectiveEvidence::behind(question, seen, tables)?.ratio(),
    }
}

/// Why no number of people would decide, whatever the counts are.
fn beyond_people(question: &GateQuestion, ruling: &GateRuling) -> Option<&'static str> {
    let seen = &ruling.observation;
    if let Some(other) = question.decide_by.beyond_people() {
        return Some(other);
    }
    if ruling.verdict() == GateStatus::Skipped {
        return Some("skipped");
    }
    if seen.value.is_none() && seen.objections.is_empty() {
        return Some("undefined");
    }
    // How far more people narrow the fits is not known.
    if seen.interval == WITH_FITS {
        return Some("by_fit");
    }
    let selective = has_flag(&seen.flags, SELECTIVE_LABELS);
    if !seen.objections.is_empty() || selective || !small_flags(seen).is_empty() {
        return Some("other_reason");
    }
    let Some((lo, hi)) = seen.lo.zip(seen.hi) else { return Some("no_interval") };
    let one_side = question.limit.kept_by(lo) == question.limit.kept_by(hi);
    let few = inconclusive_reason(question, seen).is_some();
    // The search would take the rate of 1 as certain, too.
    if ruling.verdict() == GateStatus::Inconclusive && !few && has_flag(&seen.flags, RATE_OF_ONE) {
        return Some("boundary");
    }
    (ruling.verdict() == GateStatus::Inconclusive && one_side && !few).then_some("other_reason")
}

/// How many people would decide one row of a gate.
pub(super) fn of_row(
    question: &GateQuestion,
    ruling: &GateRuling,
    tables: GateTables<'_>,
) -> NeededPeople {
    let seen = &ruling.observation;
    let none = |how| NeededPeople { how, ..NeededPeople::default() };
    let beyond = beyond_people(question, ruling);
    let is_by_interval = question.decide_by == GateDecideBy::Interval && seen.objections.is_empty();
    let found = evidence(question, seen, tables).zip(seen.level).filter(|_| is_by_interval);
    let Some((evidence, level)) = found else { return none(beyond.unwrap_or("no_interval")) };
    let detectable = evidence.detectable(question.limit, level);
    if let Some(how) = beyond.or(ruling.is_decided().then_some("decided")) {
        return NeededPeople { detectable, ..none(how) };
    }
    let needed = evidence.needed(question.limit, level);
    let n = needed.n.map(|n| n.map(|n| n.max(question.min_cases)));
    let of_all = |row: &&GroupRow| {
        row.model == question.model
            && row.sensitive == seen.sensitive
            && row.slice.is_empty()
            && row.group.is_empty()
    };
    let all = tables
        .groups
        .iter()
        .find(of_all)
        .and_then(|row| u64::try_from(row.persons.unwrap_or(row.n)).ok());
    let people = n.map(|n| audited_people(n?, all?, evidence.n()));
    NeededPeople { n, people, detectable, ..needed }
}

#[cfg(test)]
mod tests;
