//! How many people would decide a gate on the difference or the ratio of two rates: the exact sum
//! over the counts of both groups, each pair judged by its Newcombe or Katz interval.
//!
//! N people in both denominators are shared out as today. N runs over a grid of 139 points a
//! doubling or finer: 2, then g + max(1, g div 200). Counts beyond 1e-10 in a tail are left out.
//!
//! Where the variance of the counts of a group is above 10^4 its count is normal, with skewness
//! (Edgeworth's first term), and the other group is integrated over in steps of a tenth of its
//! standard deviation, or summed up where its variance is at most 400. A probability then costs as
//! much whatever N is, and differs from the sum by less than 2e-4; the number is looked for at a
//! probability that is higher by as much, so that numbers do not fall as the limit comes nearer.
//!
//! Newcombe's ends rise with the first count and fall with the second, so for each first count one
//! cut in the second is enough. Katz's do the same where k (n - k) / n is at least z^2 / 4; the few
//! counts nearer to 0 and n are looked at one by one. A pair without an interval decides nothing.

use super::{CAP, DecidedSide, NORMAL_FROM, NeededNumber, skewed_normal};
use crate::gate::question::GateLimit;
use crate::metric::interval::{IntervalProcedure, wilson, wilson_of_share};
use crate::metric::rate::{Rate, Undefined};
use crate::num::binomial_mass::BinomialMass;

/// Probability that is left out on either side of a group.
const TAIL: f64 = 1e-10;
/// Up to this variance the counts of a group are summed up next to a normal one.
const SUMMED_TO: f64 = 400.0;
/// More than the normal form differs from the sum.
const NORMAL_ERROR: f64 = 2e-4;
/// Standard deviations of a normal count that are looked at on either side.
const REACH: f64 = 7.0;

/// What a count of a group brings to an interval: the rate (of a ratio its logarithm), and what its
/// interval leaves below and above; of a ratio its variance twice.
type CountPart = (f64, f64, f64);

/// Two rates compared, and the rule that judges them.
#[derive(Debug, Clone, Copy)]
pub(super) struct PairRule {
    /// Whether the first is divided by the second; else the second is subtracted.
    pub(super) is_ratio: bool,
    pub(super) limit: GateLimit,
    /// Standard deviations on either side of the interval.
    pub(super) z: f64,
}

/// What the counts of one group bring to an interval.
struct GroupEnds {
    first: u64,
    mass: Vec<f64>,
    n: u64,
    /// By count.
    parts: Vec<CountPart>,
}

impl GroupEnds {
    fn new(n: u64, p: f64, rule: &PairRule) -> Self {
        let whole = BinomialMass::new(n, p);
        let (first, mass) = whole.without_tails(TAIL);
        let part = |k: u64| {
            let rate = Rate { numerator: k, denominator: n, empty: Undefined::EmptyGroup };
            let share = k as f64 / n as f64;
            if rule.is_ratio {
                let variance = (n - k) as f64 / (k as f64 * n as f64);
                (libm::log(share), variance, variance)
            } else {
                let (lo, hi) = wilson(rate, rule.z).map_or((0.0, 1.0), |i| (i.lo, i.hi));
                (share, share - lo, hi - share)
            }
        };
        let parts = (0..mass.len()).map(|i| part(first + i as u64)).collect();
        GroupEnds { first, mass: mass.to_vec(), n, parts }
    }

    /// Whether Katz's ends may turn at a count, by its place.
    fn is_edge(&self, place: usize, rule: &PairRule) -> bool {
        let k = (self.first + place as u64) as f64;
        rule.is_ratio && k * (1.0 - k / self.n as f64) < rule.z * rule.z / 4.0 + 0.5
    }

    /// Whether a ratio has no interval there.
    fn is_empty(&self, place: usize) -> bool {
        self.first + place as u64 == 0
    }
}

impl PairRule {
    /// Whether the interval of two counts, by their places, gives the verdict.
    fn decides(
        &self,
        verdict: DecidedSide,
        a: &GroupEnds,
        i: usize,
        b: &GroupEnds,
        j: usize,
    ) -> bool {
        if self.is_ratio && (a.is_empty(i) || b.is_empty(j)) {
            return false;
        }
        self.decides_parts(verdict, a.parts[i], b.parts[j])
    }

    fn decides_parts(&self, verdict: DecidedSide, a: CountPart, b: CountPart) -> bool {
        let ((x, x_below, x_above), (y, y_below, y_above)) = (a, b);
        let limit = self.limit.number();
        let limit = match (self.is_ratio, limit > 0.0) {
            (true, true) => libm::log(limit),
            (true, false) => f64::NEG_INFINITY,
            (false, _) => limit,
        };
        let root = |s: f64, t: f64| {
            if self.is_ratio { self.z * (s + t).sqrt() } else { (s * s + t * t).sqrt() }
        };
        let lo = || x - y - root(x_below, y_above);
        let hi = || x - y + root(x_above, y_below);
        match (self.limit, verdict) {
            (GateLimit::AtMost(_), DecidedSide::Kept) => hi() <= limit,
            (GateLimit::AtMost(_), DecidedSide::Broken) => lo() > limit,
            (GateLimit::AtLeast(_), DecidedSide::Kept) => lo() >= limit,
            (GateLimit::AtLeast(_), DecidedSide::Broken) => hi() < limit,
        }
    }

    /// The probability of a verdict on so many people at these true rates: the sum, or the normal
    /// form of it where that is long.
    pub(super) fn probability(
        &self,
        verdict: DecidedSide,
        sizes: [u64; 2],
        rates: [f64; 2],
    ) -> f64 {
        match information(rates, sizes) > NORMAL_FROM {
            true => self.normal_probability(verdict, sizes, rates),
            false => self.summed_probability(verdict, sizes, rates),
        }
    }

    /// What a share of so many people brings to an interval; none of a ratio of 0.
    fn part(&self, share: f64, n: f64) -> Option<CountPart> {
        if self.is_ratio {
            let variance = (1.0 - share) / (share * n);
            return (share > 0.0).then(|| (libm::log(share), variance, variance));
        }
        let ends = wilson_of_share(share, n, self.z, IntervalProcedure::Wilson);
        Some((share, share - ends.lo, ends.hi - share))
    }

    /// The same probability where at least one group is so large that its count is normal.
    pub(super) fn normal_probability(
        &self,
        verdict: DecidedSide,
        sizes: [u64; 2],
        rates: [f64; 2],
    ) -> f64 {
        let n = sizes.map(|n| n as f64);
        let variance = [0, 1].map(|i| n[i] * rates[i] * (1.0 - rates[i]));
        let sd = variance.map(f64::sqrt);
        // The larger one is normal, and each size of the other one is taken in turn.
        let inner = usize::from(variance[1] > variance[0]);
        let outer = 1 - inner;
        let skewness = [0, 1].map(|i| (1.0 - 2.0 * rates[i]) / sd[i]);
        let at = |i: usize, t: f64| {
            let share = rates[i] + t * sd[i] / n[i];
            (0.0..=1.0).contains(&share).then(|| self.part(share, n[i])).flatten()
        };
        let nodes: Vec<(f64, Option<CountPart>)> = if variance[outer] <= SUMMED_TO {
            let whole = BinomialMass::new(sizes[outer], rates[outer]);
            let (first, mass) = whole.without_tails(TAIL);
            let part = |k: u64| self.part(k as f64 / n[outer], n[outer]);
            mass.iter().zip(first..).map(|(mass, k)| (*mass, part(k))).collect()
        } else {
            let steps = (10.0 * REACH) as i32;
            let cumulated = |t: f64| skewed_normal(t, skewness[outer]);
            let node = |step: i32| {
                let t = f64::from(step) / 10.0;
                (cumulated(t + 0.05) - cumulated(t - 0.05), at(outer, t))
            };
            (-steps..=steps).map(node).collect()
        };
        let decides = |own: CountPart, t: f64| {
            let Some(other) = at(inner, t) else { return false };
            let (a, b) = if inner == 1 { (own, other) } else { (other, own) };
            self.decides_parts(verdict, a, b)
        };
        let below = |t: f64| skewed_normal(t, skewness[inner]);
        let sum = nodes.into_iter().filter_map(|(mass, own)| {
            let own = own?;
            let (low, high) = (decides(own, -REACH), decides(own, REACH));
            if low == high {
                return Some(if low { mass } else { 0.0 });
            }
            let (mut first, mut last) = (-REACH, REACH);
            while last - first > 1e-6 {
                let middle = f64::midpoint(first, last);
                if decides(own, middle) == low { first = middle } else { last = middle }
            }
            Some(mass * if low { below(first) } else { 1.0 - below(first) })
        });
        sum.sum::<f64>().clamp(0.0, 1.0)
    }

    /// The sum over the counts of both groups.
    pub(super) fn summed_probability(
        &self,
        verdict: DecidedSide,
        sizes: [u64; 2],
        rates: [f64; 2],
    ) -> f64 {
        let a = GroupEnds::new(sizes[0], rates[0], self);
        let b = GroupEnds::new(sizes[1], rates[1], self);
        let edges: Vec<usize> = (0..b.mass.len()).filter(|j| b.is_edge(*j, self)).collect();
        // Inner counts of the second group, which are neighbours.
        let inner: Vec<usize> = (0..b.mass.len()).filter(|j| !b.is_edge(*j, self)).collect();
        let mut below = vec![0.0];
        for j in &inner {
            below.push(below.last().copied().unwrap_or(0.0) + b.mass[*j]);
        }
        let all = below.last().copied().unwrap_or(0.0);
        // A large second count is good for the upper end, and bad for the lower one.
        let by_upper = matches!(
            (self.limit, verdict),
            (GateLimit::AtMost(_), DecidedSide::Kept)
                | (GateLimit::AtLeast(_), DecidedSide::Broken)
        );
        let (mut sum, mut cut) = (0.0, 0_usize);
        for i in 0..a.mass.len() {
            let decides = |j: usize| self.decides(verdict, &a, i, &b, j);
            // By the upper end those from the cut on decide, by the lower one those before it.
            let before = |place: usize| decides(inner[place]) != by_upper;
            while cut < inner.len() && before(cut) {
                cut += 1;
            }
            while cut > 0 && !before(cut - 1) {
                cut -= 1;
            }
            let mut part = if by_upper { all - below[cut] } else { below[cut] };
            part += edges.iter().filter(|j| decides(**j)).map(|j| b.mass[*j]).sum::<f64>();
            sum += a.mass[i] * part;
        }
        sum.clamp(0.0, 1.0)
    }

    /// How many people of both groups decide, with the probability `target`, what is right of these
    /// rates, shared out as today.
    pub(super) fn needed(&self, rates: [f64; 2], today: [u64; 2], target: f64) -> NeededNumber {
        let [p, q] = rates;
        let value = if self.is_ratio { p / q } else { p - q };
        let verdict =
            if self.limit.kept_by(value) { DecidedSide::Kept } else { DecidedSide::Broken };
        let size_of = |n: u64| sizes(n, today);
        let variance = |n: u64| information(rates, size_of(n));
        let by_normal =
            |n: u64| self.normal_probability(verdict, size_of(n), rates) >= target + NORMAL_ERROR;
        let about = NeededNumber::bisected(1, by_normal);
        let about = match about.number() {
            Some(n) if variance(n) <= NORMAL_FROM => n,
            // All counts are alike whatever their number is.
            None if p * (1.0 - p) + q * (1.0 - q) == 0.0 => 0,
            _ => return about,
        };
        let enough = |n: u64| self.summed_probability(verdict, size_of(n), rates) >= target;
        let mut start = about.saturating_add(about / 5);
        if variance(about) < 100.0 || !enough(start) {
            // Five doublings in a row that are enough, of which the first two are searched.
            let (mut size, mut in_a_row) = (2_u64, 0);
            while in_a_row < 5 {
                if size > 2 * CAP {
                    return NeededNumber::MoreThanCap;
                }
                if in_a_row == 0 && variance(size) > 16.0 * NORMAL_FROM {
                    return NeededNumber::bisected(size, by_normal);
                }
                in_a_row = if enough(size) { in_a_row + 1 } else { 0 };
                if in_a_row == 2 {
                    start = size;
                }
                if in_a_row > 1 && variance(size) > 16.0 * NORMAL_FROM {
                    break;
                }
                size *= 2;
            }
        }
        let mut grid = vec![2_u64];
        while let Some(last) = grid.last().copied().filter(|last| *last < start) {
            grid.push(last + (last / 200).max(1));
        }
        let last = grid.iter().rposition(|n| !enough(*n));
        match grid.get(last.map_or(0, |last| last + 1)) {
            Some(n) if *n <= CAP => NeededNumber::Exact(*n),
            _ => NeededNumber::MoreThanCap,
        }
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
            self.probability(DecidedSide::Broken, today, [first, rate]) >= target
        };
        let reaches = |step: u32| reached(f64::from(step) / 200.0);
        // It rises with the distance, and of a ratio may fall again next to a rate of 0.
        let doubled = [1, 2, 4, 8, 16, 32, 64, 128, 200].into_iter().find(|step| reaches(*step));
        let (mut short, mut step) = match doubled {
            Some(step) => (if step == 200 { 128 } else { step / 2 }, step),
            None => (1..200).find(|step| reaches(*step)).map(|step| (step - 1, step))?,
        };
        while step - short > 1 {
            let middle = u32::midpoint(short, step);
            if reaches(middle) { step = middle } else { short = middle }
        }
        let (mut lo, mut hi) = (f64::from(step - 1) / 200.0, f64::from(step) / 200.0);
        while (hi - lo) * (to - from).abs() > 1e-7 {
            let mid = f64::midpoint(lo, hi);
            if reached(mid) { hi = mid } else { lo = mid }
        }
        let value = if self.is_ratio { at(hi) / rate } else { at(hi) - rate };
        Some((value - limit).abs())
    }
}

/// The variance of the counts of that group of which it is larger.
fn information(rates: [f64; 2], sizes: [u64; 2]) -> f64 {
    let of = |i: usize| sizes[i] as f64 * rates[i] * (1.0 - rates[i]);
    of(0).max(of(1))
}

/// The sizes of both groups, together `n`, in the shares of today; neither is empty.
fn sizes(n: u64, [a, b]: [u64; 2]) -> [u64; 2] {
    let (a, b, all) = (u128::from(a), u128::from(b), u128::from(n));
    let first = (2 * all * a + a + b) / (2 * (a + b)).max(1);
    let first = u64::try_from(first).unwrap_or(u64::MAX).clamp(1, n - 1);
    [first, n - first]
}
