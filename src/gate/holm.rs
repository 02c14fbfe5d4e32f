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

use super::evidence::{RateEvidence, people_of_width, wilson_of};
use super::verdict::{decide, inconclusive_reason};
use crate::gate::question::{GateLimit, GateObservation, GateQuestion, GateRuling};
use crate::gate::reason::{ComparedPlace, GateReason, Judged};
use crate::metric::catalog::find;
use crate::metric::interval::{IntervalProcedure, ValueInterval, stretched, z_of_level};
use crate::table::MetricRow;

/// A comparison that can be judged.
struct HolmTest<'a> {
    observation: &'a GateObservation,
    value: f64,
    lo: f64,
    hi: f64,
    /// Standard deviations on either side of its interval.
    z: f64,
}

impl<'a> HolmTest<'a> {
    fn new(seen: &'a GateObservation) -> Option<Self> {
        Some(HolmTest {
            observation: seen,
            value: seen.row.value?,
            lo: seen.row.lo?,
            hi: seen.row.hi?,
            z: z_of_level(seen.row.level?),
        })
    }

    /// Whether the interval is by a procedure.
    fn is_by(&self, procedure: IntervalProcedure) -> bool {
        self.observation.row.interval == procedure.as_str()
    }

    /// The share behind an interval of Wilson's, and how many people would be as precise: for
    /// distances of scores if no score moves, the share of people whose score moves.
    fn share(&self) -> Option<(f64, f64)> {
        let row = &self.observation.row;
        let of_width = |width: f64| people_of_width(width, self.z);
        if self.is_by(IntervalProcedure::Wilson) {
            RateEvidence::of_cases(row).map(|of| (of.rate, of.sure()))
        } else if self.is_by(IntervalProcedure::WilsonEffective) {
            Some((self.value, row.n_eff?))
        } else if self.is_by(IntervalProcedure::WilsonPeople) {
            Some((self.value, of_width(self.hi - self.lo)?))
        } else if self.is_by(IntervalProcedure::WilsonMoved) && self.value == 0.0 {
            Some((0.0, of_width(self.as_share(self.hi))?))
        } else {
            None
        }
    }

    /// A root mean square is at most the root of the share of people who move; other values are
    /// reported as they are.
    fn as_share(&self, x: f64) -> f64 {
        let is_root = self.is_by(IntervalProcedure::WilsonMoved);
        if is_root && self.observation.row.metric == "rmscd" { x * x.abs() } else { x }
    }

    /// The ends that follow from those of the share.
    fn ends_of_share(&self, share: ValueInterval) -> (f64, f64) {
        let is_moved = self.is_by(IntervalProcedure::WilsonMoved);
        match self.observation.row.metric.as_str() {
            "rmscd" if is_moved => (share.lo, share.hi.sqrt()),
            // A mean change has a sign.
            "mcd" if is_moved => (-share.hi, share.hi),
            _ => (share.lo, share.hi),
        }
    }

    fn is_logarithmic(&self) -> bool {
        let all = [
            IntervalProcedure::Katz,
            IntervalProcedure::KatzEffective,
            IntervalProcedure::LogStudent,
        ];
        self.lo > 0.0 && all.into_iter().any(|of| self.is_by(of))
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
            Some((_, people)) => {
                // A mean change has a sign, a share has none.
                let share = number(bound).abs();
                (share * (1.0 - share) / people).max(0.0).sqrt()
            }
            None => {
                let facing = if bound < self.value { self.lo } else { self.hi };
                (number(self.value) - number(facing)).abs() / self.z
            }
        };
        if distance == 0.0 { 0.0 } else { distance / spread }
    }

    /// The interval at another level.
    fn at(&self, level: f64) -> (f64, f64) {
        let z = z_of_level(level);
        if let Some(share) = self.share() {
            return self.ends_of_share(wilson_of(share, z));
        }
        let wider = z / self.z;
        if self.is_logarithmic() {
            return (
                self.value * libm::pow(self.lo / self.value, wider),
                self.value * libm::pow(self.hi / self.value, wider),
            );
        }
        let range = find(&self.observation.row.metric)
            .filter(|metric| !metric.is_gap_in(&self.observation.row.key.scope))
            .filter(|_| !self.observation.is_change)
            .map_or((f64::NEG_INFINITY, f64::INFINITY), |metric| metric.range);
        stretched((self.lo, self.hi), self.value, wider, range)
    }
}

/// How clearly a comparison breaks the limit: the larger, the smaller its p. None where it cannot
/// be judged.
pub(super) fn clarity(question: &GateQuestion, seen: &GateObservation) -> Option<f64> {
    if inconclusive_reason(question, seen).is_some() {
        return None;
    }
    Some(HolmTest::new(seen)?.excess(question.limit))
}

/// Judges the comparisons of a gate: jointly where it asks for that, else each separately.
pub(super) fn decide_all(question: &GateQuestion, seen: Vec<GateObservation>) -> Vec<GateRuling> {
    if question.holm {
        return decide_jointly(question, seen);
    }
    seen.into_iter().map(|seen| decide(question, seen)).collect()
}

/// Judges the comparisons of a gate together; rulings keep the order of the comparisons.
pub(super) fn decide_jointly(
    question: &GateQuestion,
    seen: Vec<GateObservation>,
) -> Vec<GateRuling> {
    let mut tests: Vec<(usize, f64)> = Vec::new();
    for (i, seen) in seen.iter().enumerate() {
        tests.extend(clarity(question, seen).map(|clarity| (i, clarity)));
    }
    // Stable: what breaks the limit alike keeps its order.
    tests.sort_by(|x, y| y.1.total_cmp(&x.1));
    let m = tests.len();
    let mut found: Vec<Option<(GateReason, [f64; 3])>> = vec![None; seen.len()];
    let mut all_broken = true;
    for (k, (i, _)) in tests.iter().enumerate() {
        let Some(test) = HolmTest::new(&seen[*i]) else { continue };
        let alpha = 1.0 - test.observation.row.level.unwrap_or(0.0);
        let level = 1.0 - alpha / (m - k) as f64;
        let (lo, hi) = test.at(level);
        let of = ComparedPlace::of(Judged::Holm { level, place: k + 1, of: m });
        let reason = match (question.limit.kept_by(lo), question.limit.kept_by(hi)) {
            (true, true) => GateReason::LimitKept(of),
            (false, false) if all_broken => GateReason::LimitBroken(of),
            (false, false) => GateReason::UnclearInFamily(of),
            _ => GateReason::LimitInside(of),
        };
        all_broken &= matches!(reason, GateReason::LimitBroken(_));
        found[*i] = Some((reason, [lo, hi, level]));
    }
    let rulings = seen.into_iter().zip(found).map(|(seen, found)| match found {
        None => decide(question, seen),
        Some((reason, ends)) => {
            let [lo, hi, level] = ends.map(Some);
            let row = MetricRow { lo, hi, level, ..seen.row };
            GateRuling::new(GateObservation { row, ..seen }, reason)
        }
    });
    rulings.collect()
}
