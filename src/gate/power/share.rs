//! How many people would decide a gate on a share: the binomial tail up to the last count whose
//! Wilson end keeps the limit, or from the first whose Wilson end breaks it.
//!
//! `at_least` is computed as `at_most` of the complement: cases and others change places, and so do
//! the limit and 1 minus the limit. The probability is a sawtooth in n: while the cut stays the
//! same it is monotone, so only both ends of each run of sizes with one cut need be computed. The
//! search walks down from a size above which no probability can lie below the target: by Berry and
//! Esseen's bound (Shevtsova's constant for the binomial distribution, 0.4097) or by Chernoff's,
//! whichever is the better one.

use super::{CAP, NORMAL_FROM, NeededNumber};
use crate::gate::evidence::SureRate;
use crate::gate::question::GateLimit;
use crate::num::binomial_mass::BinomialMass;
use crate::num::first_above;
use crate::num::summary::upper_tail;

/// From this number of standard deviations on Uspensky's bound rises with the size.
const USPENSKY_FROM: f64 = 100.0;

/// A share that must be at most `limit`, as it is judged by the interval of this many standard
/// deviations.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShareRule {
    limit: f64,
    z: f64,
}

/// The share and its rule as seen from the side on which the limit lies above.
pub(super) fn from_above(limit: GateLimit, share: f64, z: f64) -> (ShareRule, f64) {
    match limit {
        GateLimit::AtMost(limit) => (ShareRule { limit, z }, share),
        GateLimit::AtLeast(limit) => (ShareRule { limit: 1.0 - limit, z }, 1.0 - share),
    }
}

impl ShareRule {
    /// How many of `n` may be cases so that the whole interval keeps the limit, plus one, 0 where
    /// none may; or how many must be so that all of it breaks the limit, n + 1 where none are
    /// enough.
    fn cut(self, kept: bool, n: u64) -> u64 {
        if !(0.0..1.0).contains(&self.limit) {
            return if self.limit < 0.0 { 0 } else { n + 1 };
        }
        let is_below = |k: u64| {
            let people = n as f64;
            let (lo, hi) = SureRate { rate: k as f64 / people, people }.ends(self.z);
            (if kept { hi } else { lo }) <= self.limit
        };
        let middle = self.middle(n, if kept { -1.0 } else { 1.0 });
        let mut cut = (middle.floor() + 1.0).clamp(0.0, n as f64 + 1.0) as u64;
        while cut <= n && is_below(cut) {
            cut += 1;
        }
        while cut > 0 && !is_below(cut - 1) {
            cut -= 1;
        }
        cut
    }

    /// Where the score test turns, as a real number.
    fn middle(self, n: u64, side: f64) -> f64 {
        let n = n as f64;
        n * self.limit + side * self.z * (n * self.limit * (1.0 - self.limit)).sqrt()
    }

    /// The probability that the whole interval of `n` people at the true share `p` keeps the limit,
    /// or breaks it.
    pub(super) fn probability(self, kept: bool, n: u64, p: f64) -> f64 {
        let (cut, mass) = (self.cut(kept, n), BinomialMass::new(n, p));
        match cut.checked_sub(1) {
            _ if !kept => mass.at_least(cut),
            None => 0.0,
            Some(last) => mass.at_most(last),
        }
    }

    /// A bound from below of that probability, which rises with `n`.
    fn bound(self, kept: bool, n: u64, p: f64) -> f64 {
        let (q, side) = (1.0 - p, if kept { -1.0 } else { 1.0 });
        let size = n as f64;
        let sd = (size * p * q).sqrt();
        if sd == 0.0 {
            return self.probability(kept, n, p);
        }
        let at = self.middle(n, side) + side;
        let distance = side * (size * p - at);
        let berry_esseen = upper_tail(-distance / sd) - 0.4097 * (p * p + q * q) / sd;
        let share = (at / size).clamp(0.0, 1.0);
        let part = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * libm::log(a / b) };
        let divergence = part(share, p) + part(1.0 - share, q);
        let chernoff = if distance > 0.0 { 1.0 - libm::exp(-size * divergence) } else { 0.0 };
        if sd < USPENSKY_FROM {
            return berry_esseen.max(chernoff);
        }
        // The last count of the tail ends half a case later.
        let x = (distance + 0.5) / sd;
        let turned = side * (p - q);
        let density = libm::exp(-x * x / 2.0) / (2.0 * std::f64::consts::PI).sqrt();
        let skew = turned / (6.0 * sd) * (1.0 - x * x) * density;
        let error = (0.13 + 0.18 * (p - q).abs()) / (sd * sd) + libm::exp(-1.5 * sd);
        berry_esseen.max(chernoff).max(upper_tail(-x) + skew - error)
    }

    /// The smallest size from which on that probability is at least `target`.
    fn smallest(self, kept: bool, p: f64, target: f64) -> Option<NeededNumber> {
        let mut hi = 1_u64;
        while self.bound(kept, hi, p) < target {
            if hi > 4 * CAP {
                return None;
            }
            hi *= 2;
        }
        let falls_short = |n: u64| self.probability(kept, n, p) < target;
        let mut top = first_above(hi / 2, hi, |n| self.bound(kept, n, p) >= target);
        while top > 0 {
            if falls_short(top) {
                break;
            }
            let cut = self.cut(kept, top);
            let bottom = first_from(top, |n| self.cut(kept, n) == cut);
            if falls_short(bottom) {
                // It rises in this run, of which the last size is enough and the first is not.
                top = first_above(bottom, top, |n| !falls_short(n)) - 1;
                break;
            }
            top = bottom - 1;
        }
        Some(((top + 1) as f64, "exact"))
    }

    /// How many people decide, with the probability `target`, what is right of the share `p`.
    pub(super) fn needed(self, p: f64, (target, z_of_target): (f64, f64)) -> Option<NeededNumber> {
        let limit = self.limit;
        let spread =
            self.z * (limit * (1.0 - limit)).max(0.0).sqrt() + z_of_target * (p * (1.0 - p)).sqrt();
        let normal = (spread / (limit - p).abs()).powi(2).ceil();
        if normal * p * (1.0 - p) > NORMAL_FROM {
            return Some((normal, "normal"));
        }
        self.smallest(p <= limit, p, target)
    }

    /// The smallest excess of the true share over the limit that `n` people show with the
    /// probability `target`.
    pub(super) fn detectable(self, n: u64, target: f64) -> Option<f64> {
        let cut = self.cut(false, n);
        if cut > n || !(0.0..1.0).contains(&self.limit) {
            return None;
        }
        let (mut lo, mut hi) = (self.limit, 1.0);
        while hi - lo > 1e-10 {
            let mid = f64::midpoint(lo, hi);
            if BinomialMass::new(n, mid).at_least(cut) < target { lo = mid } else { hi = mid }
        }
        Some(hi - self.limit)
    }
}

/// The first size of those that end at `last` and all fulfil a condition, which `last` does.
fn first_from(last: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut good, mut step) = (last, 1);
    let bad = loop {
        let Some(tried) = good.checked_sub(step).filter(|n| *n > 0) else { break 0 };
        if !holds(tried) {
            break tried;
        }
        good = tried;
        step *= 2;
    };
    first_above(bad, good, holds)
}
