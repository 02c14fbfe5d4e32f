//! How many people would decide a gate on a share: the binomial tail up to the last count whose
//! Wilson end keeps the limit, or from the first whose Wilson end breaks it.
//!
//! `at_least` is looked at from the other side: cases and others change places, and so do the
//! limit and what it leaves. The probability saws in n: while the cut stays, or what is left of n
//! next to it, it moves one way, so only both ends of each run of such sizes need be looked at. The search walks down from a
//! size above which no probability lies below the target: by Berry and Esseen's bound
//! (Shevtsova's constant for the binomial distribution, 0.4097), by Chernoff's, or from n p (1 - p)
//! = 400 on by the normal form less 1 / (n p (1 - p)), which is far above its error.
//!
//! The normal form is that of the teeth's lower ends, with the correction for whole numbers and
//! for skewness (Edgeworth's first term). It moves one way in n, so where more than 10^4 cases of
//! variance are needed a bisection finds the number. At that seam it is 0 to 0.2 % above the exact
//! one, so that numbers never fall as the limit comes nearer.

use super::{CAP, DecidedSide, NORMAL_FROM, NeededNumber, skewed_normal};
use crate::gate::question::GateLimit;
use crate::metric::interval::wilson;
use crate::metric::rate::{Rate, Undefined};
use crate::num::binomial_mass::BinomialMass;

/// A share that must be at most `limit`, as it is judged by the interval of so many standard
/// deviations.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShareRule {
    limit: f64,
    z: f64,
}

/// Which interval a rate has.
fn ends(k: u64, n: u64, z: f64) -> (f64, f64) {
    let rate = Rate { numerator: k, denominator: n, empty: Undefined::EmptyGroup };
    wilson(rate, z).map_or((0.0, 1.0), |interval| (interval.lo, interval.hi))
}

/// The share and its rule as seen from the side on which the limit lies above.
pub(super) fn from_above(limit: GateLimit, share: f64, z: f64) -> (ShareRule, f64) {
    match limit {
        GateLimit::AtMost(limit) => (ShareRule { limit, z }, share),
        GateLimit::AtLeast(limit) => (ShareRule { limit: 1.0 - limit, z }, 1.0 - share),
    }
}

impl ShareRule {
    /// How many of `n` may be cases so that the whole interval keeps the limit, plus one: none
    /// where it is 0.
    fn keeping(self, n: u64) -> u64 {
        if self.limit >= 1.0 || self.limit < 0.0 {
            return if self.limit < 0.0 { 0 } else { n + 1 };
        }
        let mut cut = (self.middle(n, -1.0).floor() + 1.0).clamp(0.0, n as f64 + 1.0) as u64;
        let keeps = |k: u64| ends(k, n, self.z).1 <= self.limit;
        while cut <= n && keeps(cut) {
            cut += 1;
        }
        while cut > 0 && !keeps(cut - 1) {
            cut -= 1;
        }
        cut
    }

    /// How many of `n` must be cases so that the whole interval breaks the limit; n + 1 where none
    /// are enough.
    fn breaking(self, n: u64) -> u64 {
        if self.limit >= 1.0 || self.limit < 0.0 {
            return if self.limit < 0.0 { 0 } else { n + 1 };
        }
        let mut cut = (self.middle(n, 1.0).floor() + 1.0).clamp(0.0, n as f64 + 1.0) as u64;
        let breaks = |k: u64| ends(k, n, self.z).0 > self.limit;
        while cut <= n && !breaks(cut) {
            cut += 1;
        }
        while cut > 0 && breaks(cut - 1) {
            cut -= 1;
        }
        cut
    }

    /// Where the score test turns, as a real number.
    fn middle(self, n: u64, side: f64) -> f64 {
        let n = n as f64;
        n * self.limit + side * self.z * (n * self.limit * (1.0 - self.limit)).sqrt()
    }

    fn cut(self, verdict: DecidedSide, n: u64) -> u64 {
        match verdict {
            DecidedSide::Kept => self.keeping(n),
            DecidedSide::Broken => self.breaking(n),
        }
    }

    /// The probability of a verdict on `n` people at the true share `p`.
    pub(super) fn probability(self, verdict: DecidedSide, n: u64, p: f64) -> f64 {
        let cut = self.cut(verdict, n);
        match verdict {
            DecidedSide::Kept => {
                cut.checked_sub(1).map_or(0.0, |last| BinomialMass::new(n, p).at_most(last))
            }
            DecidedSide::Broken => BinomialMass::new(n, p).at_least(cut),
        }
    }

    /// A bound from below of the probability of a verdict, which rises with `n`.
    fn bound(self, verdict: DecidedSide, n: u64, p: f64) -> f64 {
        let q = 1.0 - p;
        let size = n as f64;
        let sd = (size * p * q).sqrt();
        if sd == 0.0 {
            return self.probability(verdict, n, p);
        }
        let (at, distance) = match verdict {
            DecidedSide::Kept => {
                let at = self.middle(n, -1.0) - 1.0;
                (at, at - size * p)
            }
            DecidedSide::Broken => {
                let at = self.middle(n, 1.0) + 1.0;
                (at, size * p - at)
            }
        };
        let normal = libm::erfc(-distance / sd / std::f64::consts::SQRT_2) / 2.0;
        let berry_esseen = normal - 0.4097 * (p * p + q * q) / sd;
        let variance = sd * sd;
        let by_normal =
            if variance >= 400.0 { self.normal(verdict, n, p) - 1.0 / variance } else { 0.0 };
        let share = (at / size).clamp(0.0, 1.0);
        let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * libm::log(a / b) };
        let divergence = part(share, p) + part(1.0 - share, q);
        let chernoff = if distance > 0.0 { 1.0 - libm::exp(-size * divergence) } else { 0.0 };
        berry_esseen.max(chernoff).max(by_normal)
    }

    /// The probability of a verdict at the lower end of a tooth, by the normal form; it rises with
    /// `n`.
    pub(super) fn normal(self, verdict: DecidedSide, n: u64, p: f64) -> f64 {
        let size = n as f64;
        let sd = (size * p * (1.0 - p)).sqrt();
        let (distance, sign) = match verdict {
            DecidedSide::Kept => (self.middle(n, -1.0) - size * p, 1.0),
            DecidedSide::Broken => (size * p - self.middle(n, 1.0), -1.0),
        };
        skewed_normal((distance - 0.5) / sd, sign * (1.0 - 2.0 * p) / sd)
    }

    /// The smallest size from which on the verdict has at least the probability `target`.
    pub(super) fn smallest(self, verdict: DecidedSide, p: f64, target: f64) -> NeededNumber {
        let mut hi = 1_u64;
        while self.bound(verdict, hi, p) < target {
            if hi > 4 * CAP {
                return NeededNumber::MoreThanCap;
            }
            hi *= 2;
        }
        let mut lo = hi / 2;
        while hi - lo > 1 {
            let mid = u64::midpoint(lo, hi);
            if self.bound(verdict, mid, p) < target { lo = mid } else { hi = mid }
        }
        let falls_short = |n: u64| self.probability(verdict, n, p) < target;
        // Where most people are cases the number of others makes the longer runs.
        let run_of = |n: u64| match self.cut(verdict, n) {
            cut if p > 0.5 => n + 1 - cut,
            cut => cut,
        };
        let mut top = hi;
        while top > 0 {
            if falls_short(top) {
                break;
            }
            let run = run_of(top);
            let bottom = first_from(top, |n| run_of(n) == run);
            if falls_short(bottom) {
                // It rises in this run, of which the last size is enough and the first is not.
                let (mut short, mut enough) = (bottom, top);
                while enough - short > 1 {
                    let mid = u64::midpoint(short, enough);
                    if falls_short(mid) { short = mid } else { enough = mid }
                }
                top = short;
                break;
            }
            top = bottom - 1;
        }
        if top >= CAP { NeededNumber::MoreThanCap } else { NeededNumber::Exact(top + 1) }
    }

    /// How many people decide, with the probability `target`, what is right of the share `p`.
    pub(super) fn needed(self, p: f64, target: f64) -> NeededNumber {
        let verdict = if p <= self.limit { DecidedSide::Kept } else { DecidedSide::Broken };
        let from = (NORMAL_FROM / (p * (1.0 - p))).ceil();
        if from > CAP as f64 || self.normal(verdict, from as u64, p) >= target {
            return self.smallest(verdict, p, target);
        }
        NeededNumber::bisected(1, |n| self.normal(verdict, n, p) >= target)
    }

    /// The smallest excess of the true share over the limit that `n` people show with the
    /// probability `target`.
    pub(super) fn detectable(self, n: u64, target: f64) -> Option<f64> {
        let cut = self.breaking(n);
        if cut > n || !(0.0..1.0).contains(&self.limit) {
            return None;
        }
        let (mut lo, mut hi) = (self.limit, 1.0);
        let at_least = |p: f64| {
            let (mean, sd) = (n as f64 * p, (n as f64 * p * (1.0 - p)).sqrt());
            if sd * sd <= NORMAL_FROM {
                return BinomialMass::new(n, p).at_least(cut);
            }
            skewed_normal((mean - cut as f64 + 0.5) / sd, -(1.0 - 2.0 * p) / sd)
        };
        while hi - lo > 1e-10 {
            let mid = f64::midpoint(lo, hi);
            if at_least(mid) < target { lo = mid } else { hi = mid }
        }
        Some(hi - self.limit)
    }
}

/// The first size of those that end at `last` and all fulfil a condition, which `last` does.
fn first_from(last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut good, mut step) = (last, 1);
    let mut bad = loop {
        let Some(tried) = good.checked_sub(step).filter(|n| *n > 0) else { break 0 };
        if !holds(tried) {
            break tried;
        }
        good = tried;
        step *= 2;
    };
    while good - bad > 1 {
        let mid = u64::midpoint(bad, good);
        if holds(mid) { good = mid } else { bad = mid }
    }
    good
}
