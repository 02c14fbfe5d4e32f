//! What is behind a value that a gate judges: rates of people; rates of rows that are less precise
//! than as many people (several rows per person, weights, several counterfactuals of a row); or an
//! interval.

use crate::gate::people::{PeopleTables, confusion_of, numbers};
use crate::gate::question::GateCase;
use crate::metric::GapTransform;
use crate::metric::catalog::find;
use crate::metric::interval::{
    IntervalProcedure, ValueInterval, mover_ratio, newcombe_of, wilson_of_share, z_of_level,
};
use crate::metric::rate::Rate;
use crate::metric::value::group_reading::rates_of_gap;
use crate::table::MetricRow;

/// A rate, and the number of independent people who would be as precise as the rows below it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SureRate {
    pub(super) rate: f64,
    pub(super) people: f64,
}

impl SureRate {
    /// Wilson's interval, with this many standard deviations on either side.
    fn wilson(self, z: f64) -> ValueInterval {
        wilson_of_share(self.rate, self.people, z, IntervalProcedure::Wilson)
    }

    /// The ends of Wilson's interval.
    pub(super) fn ends(self, z: f64) -> (f64, f64) {
        let ValueInterval { lo, hi, .. } = self.wilson(z);
        (lo, hi)
    }

    /// The ends of Newcombe's interval of the difference from another rate.
    pub(super) fn minus(self, other: SureRate, z: f64) -> (f64, f64) {
        let both = (self.wilson(z), other.wilson(z));
        let of = newcombe_of((self.rate, other.rate), both, IntervalProcedure::Newcombe);
        (of.lo, of.hi)
    }

    /// The ends of the interval of the ratio to another rate that takes neither as certain
    /// (MOVER-R, Donner and Zou 2012).
    pub(super) fn over(self, other: SureRate, z: f64) -> (f64, f64) {
        let of = mover_ratio((self.rate, other.rate), (self.wilson(z), other.wilson(z)));
        (of.lo, of.hi)
    }
}

/// A rate with the rows in its denominator, and how precise they are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RateEvidence {
    pub(super) rate: f64,
    /// Rows below it.
    pub(super) rows: u64,
    /// Independent people who would be as precise; none where each row is a person who counts as
    /// one.
    pub(super) effective: Option<f64>,
    /// The number that is compared with what is enough: persons, or people with weights.
    pub(super) units: u64,
}

impl RateEvidence {
    fn of_people(rate: f64, n: u64) -> Self {
        RateEvidence { rate, rows: n, effective: None, units: n }
    }

    /// The evidence of a row of the table of metrics whose cases are people.
    pub(super) fn of_cases(row: &MetricRow) -> Option<Self> {
        let [k, n] = [row.numerator, row.denominator].map(|n| u64::try_from(n?).ok());
        let (k, n) = (k?, n.filter(|n| *n > 0)?);
        Some(RateEvidence::of_people(k as f64 / n as f64, n))
    }

    /// The evidence of a row whose cases are as precise as this number of people; none where that
    /// is not known.
    fn of_rows(row: &MetricRow, effective: f64) -> Option<Self> {
        let count = |n: i64| u64::try_from(n).ok();
        let units = row.denominator_persons.or(row.denominator)?;
        let (rate, rows, units) = (row.value?, count(row.denominator?)?, count(units)?);
        let is_known = rows > 0 && effective.is_finite() && effective > 0.0;
        is_known.then_some(RateEvidence { rate, rows, effective: Some(effective), units })
    }

    /// The other side of the rate.
    fn other(self) -> Self {
        RateEvidence { rate: 1.0 - self.rate, ..self }
    }

    /// Independent people who would be as precise; for rows that are less precise a whole number,
    /// at least one.
    pub(super) fn people(&self, round: impl Fn(f64) -> f64) -> u64 {
        self.effective.map_or(self.rows, |n| round(n).max(1.0) as u64)
    }

    /// The rate with the number of [`Self::people`].
    pub(super) fn sure(&self) -> SureRate {
        SureRate { rate: self.rate, people: self.effective.unwrap_or(self.rows as f64) }
    }
}

/// What is behind a value that a gate judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum GateEvidence {
    /// A share.
    Share(RateEvidence),
    /// Two rates.
    Pair {
        /// Whether the first is divided by the second; else the second is subtracted.
        is_ratio: bool,
        /// The rates.
        rates: [RateEvidence; 2],
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

impl GateEvidence {
    /// A share of this many people.
    pub(crate) fn share(rate: f64, n: u64) -> Self {
        GateEvidence::Share(RateEvidence::of_people(rate, n))
    }

    /// Two rates of this number of people, as a ratio or a difference.
    pub(crate) fn pair(is_ratio: bool, rates: [f64; 2], sizes: [u64; 2]) -> Self {
        let rates = [0, 1].map(|i| RateEvidence::of_people(rates[i], sizes[i]));
        GateEvidence::Pair { is_ratio, rates }
    }

    /// Its rates; none of an interval.
    pub(super) fn rates(&self) -> &[RateEvidence] {
        match self {
            GateEvidence::Share(rate) => std::slice::from_ref(rate),
            GateEvidence::Pair { rates, .. } => rates,
            GateEvidence::Interval { .. } => &[],
        }
    }

    /// People behind the value, the number that is compared with what is enough.
    pub(crate) fn n(&self) -> u64 {
        match self {
            GateEvidence::Interval { n, .. } => *n,
            _ => self.rates().iter().fold(0, |n: u64, rate| n.saturating_add(rate.units)),
        }
    }

    /// Whether the value, or one of its rates, has no people behind it.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            GateEvidence::Interval { n, .. } => *n == 0,
            _ => self.rates().iter().any(|rate| rate.rows == 0),
        }
    }

    /// The value; none of a ratio to 0.
    pub(crate) fn value(&self) -> Option<f64> {
        match self {
            GateEvidence::Share(share) => Some(share.rate),
            GateEvidence::Interval { value, .. } => Some(*value),
            GateEvidence::Pair { is_ratio: false, rates: [p, q] } => Some(p.rate - q.rate),
            GateEvidence::Pair { rates: [p, q], .. } => (q.rate > 0.0).then(|| p.rate / q.rate),
        }
    }

    /// What is behind a value of the tables that has an interval.
    pub(super) fn of(case: GateCase<'_>) -> Option<Self> {
        let (observed, row) = (case.observed, &case.observed.row);
        let (value, lo, hi) = (row.value?, row.lo?, row.hi?);
        if row.interval == IntervalProcedure::Wilson.as_str() && !observed.is_change {
            return RateEvidence::of_cases(row).map(GateEvidence::Share);
        }
        if let Some(evidence) = GateEvidence::of_rates(case) {
            return Some(evidence);
        }
        // Where a person may have several rows the interval narrows with more persons.
        let below = row.denominator_persons.or(row.denominator).or(row.n_persons);
        let n = u64::try_from(below.unwrap_or(row.n_rows)).ok()?;
        // The largest gap is cut at 0 and the smallest ratio at 1: there the other side gives the
        // width.
        let ends = match (row.interval == IntervalProcedure::Largest.as_str(), lo, hi) {
            (true, 0.0, _) => (2.0 * value - hi, hi),
            (true, _, 1.0) => (lo, 2.0 * value - lo),
            _ => (lo, hi),
        };
        Some(GateEvidence::Interval { value, ends, n })
    }

    /// The rates behind a value that is none of a change: two of people behind Katz's or Newcombe's
    /// interval, else those that the table gives as less precise than as many people; none where it
    /// gives no precision, or the rates do not give the value.
    pub(super) fn of_rates(case: GateCase<'_>) -> Option<Self> {
        let row = &case.observed.row;
        let value = row.value.filter(|_| !case.observed.is_change)?;
        let pair_of = |all: Option<Vec<[RateEvidence; 2]>>, is_ratio: bool| {
            let mut pairs = all?.into_iter().map(|rates| GateEvidence::Pair { is_ratio, rates });
            let near = 1e-9 * value.abs().max(1.0);
            pairs.find(|pair| pair.value().is_some_and(|found| (found - value).abs() <= near))
        };
        let by_katz = row.interval == IntervalProcedure::Katz.as_str();
        let of_two = pair_of(pairs_of_people(case), by_katz);
        if of_two.is_some() {
            return of_two;
        }
        if row.denominator.is_none() {
            let is_ratio = find(&row.metric).is_some_and(|metric| metric.has_order());
            return pair_of(pairs_of_rows(case), is_ratio);
        }
        let of_people = || {
            let width = row.hi? - row.lo?;
            let is_on_people = row.interval == IntervalProcedure::WilsonPeople.as_str();
            people_of_width(width, z_of_level(row.level?)).filter(|_| is_on_people)
        };
        let effective = row.n_eff.or_else(of_people)?;
        RateEvidence::of_rows(row, effective).map(GateEvidence::Share)
    }
}

/// The pairs of rates of people of which one may be behind a gap; none where its interval is not
/// that of two such rates, or the tables do not tell them.
fn pairs_of_people(case: GateCase<'_>) -> Option<Vec<[RateEvidence; 2]>> {
    let row = &case.observed.row;
    let is_by = |procedure: IntervalProcedure| row.interval == procedure.as_str();
    let is_of_people = is_by(IntervalProcedure::Katz) || is_by(IntervalProcedure::Newcombe);
    let metric = find(&row.metric).filter(|_| is_of_people)?;
    let [scope, from, to] = case.observed.place();
    if scope == "difference" {
        let base = metric.gap_of.map_or(metric.id, |(base, _)| base);
        return Some(vec![rates_of_sides(case, base, RateEvidence::of_cases)?]);
    }
    let people = PeopleTables::new(case);
    let sides = [people.side(from, to)?, people.side(to, from)?];
    let [a, b] = sides.map(|side| confusion_of(&numbers(&side)));
    let of_people =
        |rate: Rate| Some(RateEvidence::of_people(rate.value().ok()?, rate.denominator));
    // The gate may ask for the groups in another order than the metric has them.
    let all = [rates_of_gap(metric, &a, &b), rates_of_gap(metric, &b, &a)].concat();
    let all = all.into_iter();
    Some(all.filter_map(|[x, y]| Some([of_people(x)?, of_people(y)?])).collect())
}

/// As [`pairs_of_people`], for rows that are less precise than as many people.
fn pairs_of_rows(case: GateCase<'_>) -> Option<Vec<[RateEvidence; 2]>> {
    let metric = find(&case.observed.row.metric)?;
    let base = match (metric.gap_of, metric.of_favourable()) {
        (None, _) if case.observed.row.key.scope == "difference" => metric.id,
        (Some((base, GapTransform::Difference | GapTransform::Ratio)), _) => base,
        (None, Some(GapTransform::Inverse)) => "pprev",
        _ => return None,
    };
    let rate = |row: &MetricRow| RateEvidence::of_rows(row, row.n_eff?);
    let [x, y] = rates_of_sides(case, base, rate)?;
    // The gate may ask for the groups in another order than the metric has them, and of ratios of
    // favourable predictions these may be the negative ones.
    let mut all = vec![[x, y], [y, x]];
    if metric.of_favourable() == Some(GapTransform::Inverse) {
        all.extend([[x.other(), y.other()], [y.other(), x.other()]]);
    }
    Some(all)
}

/// The rates of a metric on both sides of a gap, as the table of metrics has them.
fn rates_of_sides(
    case: GateCase<'_>,
    metric: &str,
    rate: impl Fn(&MetricRow) -> Option<RateEvidence>,
) -> Option<[RateEvidence; 2]> {
    let [first, second] = case.observed.sides().try_into().ok()?;
    let at = |place| rate(case.row(metric, place)?);
    Some([at(first)?, at(second)?])
}

/// How many people an interval on people of a rate of 0 or 1 is of: its width is z^2 / (n + z^2).
pub(super) fn people_of_width(width: f64, z: f64) -> Option<f64> {
    (width > 0.0 && width < 1.0).then(|| z * z * (1.0 - width) / width)
}
