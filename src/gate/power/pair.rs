//! How many people would decide a gate on the difference or the ratio of two rates: the exact sum
//! over the counts of both groups, each pair judged by its Newcombe or Katz interval.
//!
//! N people are divided between both denominators as today. N runs over a grid of 200 points a
//! doubling or finer: 2, then g + max(1, g div 200). Counts beyond 1e-10 in a tail are left out.
//!
//! Newcombe's ends rise with the first count and fall with the second, so for each first count one
//! cut in the second is enough. Katz's do the same where k (n - k) / n is at least z^2 / 4; the few
//! counts nearer to 0 and n are looked at one by one. A pair without an interval decides nothing.

use super::{CAP, NORMAL_FROM, NeededNumber};
use crate::gate::evidence::SureRate;
use crate::gate::question::GateLimit;
use crate::num::binomial_mass::BinomialMass;

/// From this n p (1 - p) in both groups on the search starts next to the normal form.
const NEARLY_NORMAL: f64 = 1e4;
/// Probability that is left out on either side of a group.
const TAIL: f64 = 1e-10;

/// Two rates compared, and the rule that judges them.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairRule {
    /// Whether the first is divided by the second; else the second is subtracted.
    pub(super) is_ratio: bool,
    pub(super) limit: GateLimit,
    /// Standard deviations on either side of the interval.
    pub(super) z: f64,
}

/// What a count of one group contributes to an interval.
struct CountEnds {
    /// Its probability.
    mass: f64,
    /// The rate, of a ratio its logarithm.
    rate: f64,
    /// What its interval leaves below and above; of a ratio its variance twice.
    sides: [f64; 2],
    /// Whether a ratio has no interval there.
    is_empty: bool,
    /// Whether Katz's ends may turn there.
    is_edge: bool,
}

impl PairRule {
    /// The number on which intervals are symmetric: of a ratio the logarithm, which of a limit that
    /// is not above 0 lies below any end.
    fn scaled(&self, x: f64) -> f64 {
        if self.is_ratio { libm::log(x.max(0.0)) } else { x }
    }

    /// The counts of a group of `n` people at a true rate, without those in its tails.
    fn counts(&self, n: u64, p: f64) -> Vec<CountEnds> {
        let whole = BinomialMass::new(n, p);
        let (first, mass) = whole.without_tails(TAIL);
        let ends = |(k, &mass): (u64, &f64)| {
            let (cases, people) = (k as f64, n as f64);
            let share = cases / people;
            let (rate, sides) = if self.is_ratio {
                (libm::log(share), [(n - k) as f64 / (cases * people); 2])
            } else {
                let (lo, hi) = SureRate { rate: share, people }.ends(self.z);
                (share, [share - lo, hi - share])
            };
            let is_edge = self.is_ratio && cases * (1.0 - share) < self.z * self.z / 4.0 + 0.5;
            CountEnds { mass, rate, sides, is_empty: self.is_ratio && k == 0, is_edge }
        };
        (first..).zip(mass).map(ends).collect()
    }

    /// Whether the upper end of an interval shows that the limit is kept, or broken.
    fn is_by_upper(&self, kept: bool) -> bool {
        matches!(self.limit, GateLimit::AtMost(_)) == kept
    }

    /// Whether the interval of two counts shows that.
    fn decides(&self, kept: bool, a: &CountEnds, b: &CountEnds) -> bool {
        if a.is_empty || b.is_empty {
            return false;
        }
        let root = |s: f64, t: f64| {
            if self.is_ratio { self.z * (s + t).sqrt() } else { (s * s + t * t).sqrt() }
        };
        let end = match self.is_by_upper(kept) {
            true => a.rate - b.rate + root(a.sides[1], b.sides[0]),
            false => a.rate - b.rate - root(a.sides[0], b.sides[1]),
        };
        let keeps = match self.limit {
            GateLimit::AtMost(limit) => end <= self.scaled(limit),
            GateLimit::AtLeast(limit) => end >= self.scaled(limit),
        };
        keeps == kept
    }

    /// The probability that the whole interval of this many people at these true rates keeps the
    /// limit, or breaks it.
    pub(super) fn probability(&self, kept: bool, sizes: [u64; 2], rates: [f64; 2]) -> f64 {
        let [a, b] = [0, 1].map(|i| self.counts(sizes[i], rates[i]));
        // Inner counts of the second group are neighbours.
        let (edges, inner): (Vec<_>, Vec<_>) = b.into_iter().partition(|count| count.is_edge);
        let mut below = vec![0.0];
        let mut all = 0.0;
        for count in &inner {
            all += count.mass;
            below.push(all);
        }
        // A large second count is good for the upper end, and bad for the lower one.
        let by_upper = self.is_by_upper(kept);
        let (mut sum, mut cut) = (0.0, 0_usize);
        for first in &a {
            // By the upper end those from the cut on decide, by the lower one those before it.
            let before = |place: usize| self.decides(kept, first, &inner[place]) != by_upper;
            while cut < inner.len() && before(cut) {
                cut += 1;
            }
            while cut > 0 && !before(cut - 1) {
                cut -= 1;
            }
            let mut part = if by_upper { all - below[cut] } else { below[cut] };
            let deciding = edges.iter().filter(|second| self.decides(kept, first, second));
            part += deciding.map(|second| second.mass).sum::<f64>();
            sum += first.mass * part;
        }
        sum.clamp(0.0, 1.0)
    }

    /// How many people of both groups decide, with the probability `target`, what is right of these
    /// rates, shared out as today.
    pub(super) fn needed(
        &self,
        rates: [f64; 2],
        today: [u64; 2],
        (target, z_of_target): (f64, f64),
    ) -> Option<NeededNumber> {
        let [p, q] = rates;
        let whole = (today[0] + today[1]) as f64;
        let shares = today.map(|n| n as f64 / whole);
        let variance = |i: usize| {
            let (rate, share) = (rates[i], shares[i]);
            if self.is_ratio { (1.0 - rate) / (rate * share) } else { rate * (1.0 - rate) / share }
        };
        let value = if self.is_ratio { p / q } else { p - q };
        let (variance, distance) =
            (variance(0) + variance(1), self.scaled(value) - self.scaled(self.limit.number()));
        let normal = ((self.z + z_of_target).powi(2) * variance / (distance * distance)).ceil();
        let information = |people: [f64; 2]| {
            let [a, b] = [0, 1].map(|i| people[i] * rates[i] * (1.0 - rates[i]));
            [a.min(b), a.max(b)]
        };
        let [least, most] = information(shares.map(|share| normal * share));
        if most > NORMAL_FROM {
            return Some((normal, "normal"));
        }
        let kept = self.limit.kept_by(value);
        let enough = |n: u64| self.probability(kept, sizes(n, today), rates) >= target;
        // Five doublings in a row that are enough, of which the first two are searched; of two
        // large groups the normal form is nearer than a tenth.
        let near = (1.1 * normal).ceil() as u64;
        let is_near = least > NEARLY_NORMAL && enough(near);
        let (mut size, mut start, mut in_a_row) = (2_u64, near, if is_near { 5 } else { 0 });
        while in_a_row < 5 {
            // Of groups so large the exact sum is not worth its time.
            let [_, most] = information(sizes(size, today).map(|n| n as f64));
            let is_large = size > 2 * CAP || most > 16.0 * NORMAL_FROM;
            match in_a_row {
                0 if is_large => return None,
                2.. if is_large => break,
                _ => {}
            }
            in_a_row = if enough(size) { in_a_row + 1 } else { 0 };
            if in_a_row == 2 {
                start = size;
            }
            size *= 2;
        }
        let mut grid = vec![2_u64];
        while let Some(last) = grid.last().copied().filter(|last| *last < start) {
            grid.push(last + (last / 200).max(1));
        }
        let last = grid.iter().rposition(|n| !enough(*n));
        let first = grid.get(last.map_or(0, |last| last + 1))?;
        Some((*first as f64, "exact"))
    }

    /// The smallest distance of the true value from the limit, on its forbidden side, that today's
    /// people show with the probability `target`, the rate of the second group being what it is.
    pub(super) fn detectable(&self, rate: f64, today: [u64; 2], target: f64) -> Option<f64> {
        let limit = self.limit.number();
        let from = if self.is_ratio { rate * limit } else { rate + limit };
        if from <= 0.0 || from >= 1.0 {
            return None;
        }
        let to = if matches!(self.limit, GateLimit::AtMost(_)) { 1.0 } else { 0.0 };
        let at = |step: f64| from + (to - from) * step;
        let reached = |step: f64| {
            let first = at(step).clamp(0.0, 1.0);
            self.probability(false, today, [first, rate]) >= target
        };
        let step = (1..=200).find(|step| reached(f64::from(*step) / 200.0))?;
        let (mut lo, mut hi) = (f64::from(step - 1) / 200.0, f64::from(step) / 200.0);
        while (hi - lo) * (to - from).abs() > 1e-7 {
            let mid = f64::midpoint(lo, hi);
            if reached(mid) { hi = mid } else { lo = mid }
        }
        let value = if self.is_ratio { at(hi) / rate } else { at(hi) - rate };
        Some((value - limit).abs())
    }
}

/// The sizes of both groups, together `n`, in the shares of today; neither is empty.
fn sizes(n: u64, [a, b]: [u64; 2]) -> [u64; 2] {
    let (a, b, all) = (u128::from(a), u128::from(b), u128::from(n));
    let first = (2 * all * a + a + b) / (2 * (a + b)).max(1);
    let first = u64::try_from(first).unwrap_or(u64::MAX).clamp(1, n - 1);
    [first, n - first]
}
