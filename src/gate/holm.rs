//! Holm's method over the comparisons of one gate: one error probability for all of them.
//!
//! Source: Holm 1979, "A simple sequentially rejective multiple test procedure". The comparisons
//! that can be judged at all are sorted by how clearly they break the limit, by one-sided p against
//! it. The k-th of m is judged by its interval at the level 1 - alpha / (m - k + 1), alpha being
//! what the level of the job's intervals leaves. Once one of them does not break the limit, no
//! later one does: it is inconclusive at worst. So if all comparisons keep the limit, the
//! probability that any of them is called broken is at most alpha / 2.
//!
//! Choice: intervals of another level follow from the table of metrics. Wilson's is made again from
//! its counts, or from the effective number of cases where a person may have several rows, and its
//! p is that of the score test, its dual; Wilson's on people is treated alike, with the number of
//! people that follows from its ends. Katz's is stretched on the logarithm, which is exact, and
//! Student's of a logarithm too. On any other each side is stretched as that of a normal
//! distribution, which is near enough.

use super::evidence::{RateEvidence, SureRate, people_of_width};
use super::verdict::{decide, inconclusive_reason};
use crate::gate::question::{GateLimit, GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{ComparedPlace, GateReason, Judged};
use crate::metric::catalog::find;
use crate::metric::interval::{IntervalProcedure, stretched, z_of_level};
use crate::table::MetricRow;

/// A comparison that can be judged.
struct HolmTest<'a> {
    observed: &'a GateObservation,
    value: f64,
    ends: (f64, f64),
    /// The level of its interval.
    level: f64,
}

impl<'a> HolmTest<'a> {
    fn new(observed: &'a GateObservation) -> Option<Self> {
        let row = &observed.row;
        Some(HolmTest { observed, value: row.value?, ends: observed.ends()?, level: row.level? })
    }

    /// Standard deviations on either side of its interval.
    fn z(&self) -> f64 {
        z_of_level(self.level)
    }

    /// Whether the interval is by a procedure.
    fn is_by(&self, procedure: IntervalProcedure) -> bool {
        self.observed.row.interval == procedure.as_str()
    }

    /// The share behind an interval of Wilson's: for distances of scores if no score moves, the
    /// share of people whose score moves.
    fn share(&self) -> Option<SureRate> {
        let (row, (lo, hi)) = (&self.observed.row, self.ends);
        if self.is_by(IntervalProcedure::Wilson) {
            return RateEvidence::of_cases(row).map(|rate| rate.sure());
        }
        let of_width = |width: f64| people_of_width(width, self.z());
        let moved = Some(self.as_share(hi)).filter(|_| self.value == 0.0);
        let by_procedure = [
            (IntervalProcedure::WilsonEffective, row.n_eff),
            (IntervalProcedure::WilsonPeople, of_width(hi - lo)),
            (IntervalProcedure::WilsonMoved, moved.and_then(of_width)),
        ];
        let (_, people) = by_procedure.into_iter().find(|(by, _)| self.is_by(*by))?;
        Some(SureRate { rate: self.value, people: people? })
    }

    /// A root mean square is at most the root of the share of people who move; other values are
    /// reported as they are.
    fn as_share(&self, x: f64) -> f64 {
        let is_root = self.is_by(IntervalProcedure::WilsonMoved);
        if is_root && self.observed.row.metric == "rmscd" { x * x.abs() } else { x }
    }

    fn is_logarithmic(&self) -> bool {
        use IntervalProcedure::{Katz, KatzEffective, LogStudent};
        self.ends.0 > 0.0 && [Katz, KatzEffective, LogStudent].iter().any(|by| self.is_by(*by))
    }

    /// Standard deviations by which the value lies beyond the limit; negative where it keeps it.
    /// The larger, the smaller p.
    fn excess(&self, limit: GateLimit) -> f64 {
        let bound = limit.number();
        let number = |x: f64| if self.is_logarithmic() { libm::log(x) } else { self.as_share(x) };
        let distance = match limit {
            _ if self.is_logarithmic() && bound <= 0.0 => {
                return limit.excess(self.value).signum() * f64::INFINITY;
            }
            GateLimit::AtMost(_) => number(self.value) - number(bound),
            GateLimit::AtLeast(_) => number(bound) - number(self.value),
        };
        let spread = match self.share() {
            Some(SureRate { people, .. }) => {
                // A mean change has a sign, a share has none.
                let share = number(bound).abs();
                (share * (1.0 - share) / people).max(0.0).sqrt()
            }
            None => {
                let facing = if bound < self.value { self.ends.0 } else { self.ends.1 };
                (number(self.value) - number(facing)).abs() / self.z()
            }
        };
        if distance == 0.0 { 0.0 } else { distance / spread }
    }

    /// The interval at another level.
    fn at(&self, level: f64) -> (f64, f64) {
        let row = &self.observed.row;
        let z = z_of_level(level);
        if let Some(share) = self.share() {
            let (lo, hi) = share.ends(z);
            return match (row.metric.as_str(), self.is_by(IntervalProcedure::WilsonMoved)) {
                ("rmscd", true) => (lo, hi.sqrt()),
                // A mean change has a sign.
                ("mcd", true) => (-hi, hi),
                _ => (lo, hi),
            };
        }
        let ((lo, hi), wider) = (self.ends, z / self.z());
        if self.is_logarithmic() {
            return (
                self.value * libm::pow(lo / self.value, wider),
                self.value * libm::pow(hi / self.value, wider),
            );
        }
        let metric = find(&row.metric).filter(|metric| !metric.is_gap_in(&row.key.scope));
        let metric = metric.filter(|_| !self.observed.is_change);
        let range = metric.map_or((f64::NEG_INFINITY, f64::INFINITY), |metric| metric.range);
        stretched(self.ends, self.value, wider, range)
    }
}

/// How clearly a comparison breaks the limit: the larger, the smaller its p. None where it cannot
/// be judged.
pub(super) fn clarity(question: &GateQuestion, observed: &GateObservation) -> Option<f64> {
    let is_open = inconclusive_reason(question, observed).is_some();
    Some(HolmTest::new(observed).filter(|_| !is_open)?.excess(question.limit))
}

/// Judges the comparisons of a gate: jointly where it asks for that, else each separately.
pub(super) fn decide_all(question: &GateQuestion, all: Vec<GateObservation>) -> Vec<GateRuling> {
    if question.holm {
        return decide_jointly(question, &all);
    }
    all.into_iter().map(|observed| decide(question, observed)).collect()
}

/// Judges the comparisons of a gate together; rulings keep the order of the comparisons.
pub(super) fn decide_jointly(question: &GateQuestion, all: &[GateObservation]) -> Vec<GateRuling> {
    let clarities = all.iter().map(|observed| clarity(question, observed)).enumerate();
    let mut order: Vec<(usize, f64)> =
        clarities.filter_map(|(i, clarity)| Some((i, clarity?))).collect();
    // Stable: what breaks the limit alike keeps its order.
    order.sort_by(|x, y| y.1.total_cmp(&x.1));
    let m = order.len();
    let mut rulings: Vec<GateRuling> =
        all.iter().map(|observed| decide(question, observed.clone())).collect();
    let mut all_broken = true;
    for (k, (i, _)) in order.into_iter().enumerate() {
        let Some(test) = HolmTest::new(&all[i]) else { continue };
        let level = 1.0 - (1.0 - test.level) / (m - k) as f64;
        let (lo, hi) = test.at(level);
        let place = ComparedPlace::of(Judged::Holm { level, place: k + 1, of: m });
        let reason = match (question.limit.kept_by(lo), question.limit.kept_by(hi)) {
            (true, true) => GateReason::LimitKept(place),
            (false, false) if all_broken => GateReason::LimitBroken(place),
            (false, false) => GateReason::UnclearInFamily(place),
            _ => GateReason::LimitInside(place),
        };
        all_broken &= matches!(reason, GateReason::LimitBroken(_));
        let [lo, hi, level] = [lo, hi, level].map(Some);
        let row = MetricRow { lo, hi, level, ..all[i].row.clone() };
        let observed = GateObservation { row, ..all[i].clone() };
        rulings[i] = GateRuling::new(observed, reason);
    }
    rulings
}
