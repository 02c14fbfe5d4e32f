//! How many people would decide a gate on a rate whose rows are less sure than as many people: rows
//! of which a person has several, weights, several counterfactuals of a row.
//!
//! The search is that of independent people, with today's rates and as many people as are as sure
//! as these rows (`n_eff`); what it finds is taken times rows over `n_eff`. So it supposes that
//! more people weigh, and their rows resemble each other, as those of today do. Approximate:
//! simulated with persons, the promised 0.80 and 0.95 were 0.77 to 0.82 and 0.93 to 0.96.

use super::{CAP, GateEvidence, NeededPeople};
use crate::gate::question::{GateLimit, GateObservation, GateQuestion, GateTables};
use crate::metric::catalog::find;
use crate::metric::interval::{IntervalProcedure, z_of_level};
use crate::metric::{GapTransform, Reads};
use crate::table::MetricRow;

/// Rows below a rate, and how sure they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct EffectiveRate {
    pub(super) rate: f64,
    /// Rows below it.
    pub(super) rows: u64,
    /// Independent people who would be as sure.
    pub(super) effective: f64,
    /// Those of the rows who count for what is enough: persons, or people with weights.
    pub(super) units: u64,
}

/// One rate, or two compared, of rows that are less sure than as many people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum EffectiveEvidence {
    Share(EffectiveRate),
    Pair { is_ratio: bool, rates: [EffectiveRate; 2] },
}

impl EffectiveRate {
    /// A rate of the table of metrics; none where the table does not tell how sure it is.
    fn of_row(row: &MetricRow) -> Option<Self> {
        let rows = row.denominator?;
        EffectiveRate::new(row.value?, (rows, row.denominator_persons), row.n_eff?)
    }

    fn new(rate: f64, (rows, units): (i64, Option<i64>), effective: f64) -> Option<Self> {
        let count = |n: i64| u64::try_from(n).ok();
        let (rows, units) = (count(rows)?, count(units.unwrap_or(rows))?);
        let is_known = rows > 0 && effective.is_finite() && effective > 0.0;
        is_known.then_some(EffectiveRate { rate, rows, effective, units })
    }

    /// Whole people who are as sure, at least one.
    fn people(&self, round: impl Fn(f64) -> f64) -> u64 {
        round(self.effective).max(1.0) as u64
    }
}

impl EffectiveEvidence {
    fn rates(&self) -> &[EffectiveRate] {
        match self {
            EffectiveEvidence::Share(rate) => std::slice::from_ref(rate),
            EffectiveEvidence::Pair { rates, .. } => rates,
        }
    }

    fn sum(&self, of: impl Fn(&EffectiveRate) -> u64) -> u64 {
        self.rates().iter().map(of).fold(0, u64::saturating_add)
    }

    /// Those behind the value who count for what is enough.
    pub(super) fn n(&self) -> u64 {
        self.sum(|rate| rate.units)
    }

    /// As many independent people.
    fn independent(&self, round: impl Fn(f64) -> f64 + Copy) -> GateEvidence {
        match *self {
            EffectiveEvidence::Share(of) => {
                GateEvidence::Share { rate: of.rate, n: of.people(round) }
            }
            EffectiveEvidence::Pair { is_ratio, rates } => GateEvidence::Pair {
                is_ratio,
                rates: rates.map(|of| of.rate),
                sizes: rates.map(|of| of.people(round)),
            },
        }
    }

    /// Both rates of a ratio, each with the independent people who would be as sure.
    pub(super) fn ratio(&self) -> Option<[(f64, f64); 2]> {
        match self {
            EffectiveEvidence::Pair { is_ratio: true, rates } => {
                Some(rates.map(|of| (of.rate, of.effective)))
            }
            _ => None,
        }
    }

    /// How many people decide about a limit at a level.
    pub(super) fn needed(&self, limit: GateLimit, level: f64) -> NeededPeople {
        let found = self.independent(|n| (n + 0.5).floor()).needed(limit, level);
        let (rows, units) = (self.sum(|rate| rate.rows), self.n());
        let effective: f64 = self.rates().iter().map(|rate| rate.effective).sum();
        let scaled = |n: u64| {
            let rows_needed = (n as f64 * rows as f64 / effective).ceil();
            let units_needed = (rows_needed * units as f64 / rows as f64).ceil();
            (units_needed <= CAP as f64).then_some(units_needed as u64)
        };
        let n = found.n.map(|n| n.and_then(scaled));
        let how = match (found.n[0], n[0]) {
            (Some(_), Some(_)) => "effective",
            (Some(_), None) => "more_than_cap",
            (None, _) => found.how,
        };
        NeededPeople { n, how, ..NeededPeople::default() }
    }

    /// The smallest excess of the true value over the limit that these rows show.
    pub(super) fn detectable(&self, limit: GateLimit, level: f64) -> Option<f64> {
        self.independent(f64::floor).detectable(limit, level)
    }

    /// What is behind a value that the table says is less sure than as many people; none of any
    /// other, and where the table does not tell how sure.
    pub(super) fn behind(
        question: &GateQuestion,
        seen: &GateObservation,
        tables: GateTables<'_>,
    ) -> Option<Self> {
        if seen.is_change {
            return None;
        }
        let counts = seen.denominator.map(|rows| (rows, seen.denominator_persons));
        if let (Some(counts), Some(rate)) = (counts, seen.value) {
            let effective = seen.effective.or_else(|| people_of_boundary(seen))?;
            return EffectiveRate::new(rate, counts, effective).map(EffectiveEvidence::Share);
        }
        pair_behind(question, seen, tables.metrics)
    }
}

/// How many people an interval on people of a rate of 0 or 1 is of.
fn people_of_boundary(seen: &GateObservation) -> Option<f64> {
    let method = IntervalProcedure::WilsonPeople;
    if seen.interval != method.as_str() {
        return None;
    }
    // Its width is z^2 / (n + z^2).
    let (width, z) = (seen.hi? - seen.lo?, z_of_level(seen.level?));
    (width > 0.0 && width < 1.0).then(|| z * z * (1.0 - width) / width)
}

/// The two rates of a gap; none where the table does not have them, or they do not give its value.
fn pair_behind(
    question: &GateQuestion,
    seen: &GateObservation,
    metrics: &[MetricRow],
) -> Option<EffectiveEvidence> {
    let (metric, value) = (find(&seen.metric)?, seen.value?);
    let of_directions = seen.scope == "difference";
    let is_ratio = matches!(
        metric.reads,
        Reads::RateRatio(_) | Reads::FavourableRatio | Reads::SwitchRatio(_)
    );
    let base = match (metric.gap_of, metric.reads) {
        (None, _) if of_directions => seen.metric.as_str(),
        (Some((base, GapTransform::Difference | GapTransform::Ratio)), _) => base,
        (None, Reads::FavourableRatio) => "pprev",
        _ => return None,
    };
    let rate = |from: &str, to: &str| {
        let place = match of_directions {
            true => ["direction", from, to],
            false => ["group", from, ""],
        };
        EffectiveRate::of_row(question.row(metrics, &seen.sensitive, base, place)?)
    };
    let (x, y) = (rate(&seen.from, &seen.to)?, rate(&seen.to, &seen.from)?);
    let other = |of: EffectiveRate| EffectiveRate { rate: 1.0 - of.rate, ..of };
    // The gate may ask for the groups in another order than the metric has them, and of ratios of
    // favourable predictions these may be the negative ones.
    let candidates = [[x, y], [y, x], [other(x), other(y)], [other(y), other(x)]];
    let n = if matches!(metric.reads, Reads::FavourableRatio) { 4 } else { 2 };
    candidates.into_iter().take(n).find_map(|rates| {
        let [p, q] = rates.map(|of| of.rate);
        let found = match is_ratio {
            true => (q > 0.0).then(|| p / q)?,
            false => p - q,
        };
        let same = (found - value).abs() <= 1e-9 * value.abs().max(1.0);
        same.then_some(EffectiveEvidence::Pair { is_ratio, rates })
    })
}
