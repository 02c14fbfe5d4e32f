//! A value with what each unit adds to it, and its interval at any level.
//!
//! One variance, the sum of squares over [`units`](crate::metric::evidence::units), and a few
//! rules:
//!
//! - a share: Wilson's score interval (`wilson_of_share` in [`crate::metric::interval`]) on its
//!   effective size ([`share`]);
//! - a sum of shares, such as a difference: the hybrid of their intervals (MOVER, Zou and Donner
//!   2008; of two independent shares Newcombe's method 10), with the correlation of each two that
//!   have units in common;
//! - a ratio of two shares: Katz's on the logarithm with effective sizes and correlation; of other
//!   values above 0 the hybrid of Donner and Zou (2012);
//! - a correlation of two yes-no variables: the score interval on the effective size that its
//!   influences give, half a unit of mean weight being added to each cell;
//! - another value above 0: Student's on the logarithm ([`curve`]);
//! - the difference of the decisions of two models: [`paired`].
//!
//! There is no bootstrap. The guide to metrics gives coverage by simulation.

pub(crate) mod curve;
mod dual;
pub(crate) mod influence;
pub(crate) mod paired;
pub(crate) mod share;

use std::rc::Rc;

pub(crate) use self::dual::Dual;
use self::influence::Influence;
use self::share::Share;
use crate::metric::interval::{
    IntervalProcedure, ValueInterval, katz_of, mover, mover_ratio, z_of_level,
};
use crate::metric::missing_interval::{IntervalOrReason, MissingInterval};

/// The interval of a value at a level in (0, 1), or why there is none.
pub(crate) type IntervalAt = Rc<dyn Fn(f64) -> IntervalOrReason>;

/// A value that is defined.
#[derive(Clone)]
pub(crate) struct Estimate {
    pub(crate) value: f64,
    of: EstimateParts,
}

#[derive(Clone)]
enum EstimateParts {
    /// A sum of shares, each with a factor.
    Shares(Vec<(f64, Rc<Share>)>),
    /// Another value.
    Other { influence: Rc<Influence>, at: IntervalAt },
}

impl From<Share> for Estimate {
    fn from(share: Share) -> Self {
        Estimate { value: share.value, of: EstimateParts::Shares(vec![(1.0, Rc::new(share))]) }
    }
}

impl Estimate {
    /// A value with an interval of its own.
    pub(crate) fn other(value: f64, influence: Influence, at: IntervalAt) -> Self {
        Estimate { value, of: EstimateParts::Other { influence: Rc::new(influence), at } }
    }

    /// A function of this one that rises, such as F1 of a share.
    #[must_use]
    pub(crate) fn mapped(self, value: f64, function: impl Fn(f64) -> f64 + 'static) -> Self {
        let influence = Rc::new(self.influence());
        let at = move |level| {
            let of: ValueInterval = self.interval(level)?;
            Ok(ValueInterval { lo: function(of.lo), hi: function(of.hi), ..of })
        };
        Estimate { value, of: EstimateParts::Other { influence, at: Rc::new(at) } }
    }

    /// This value times a factor above 0.
    #[must_use]
    pub(crate) fn times(self, factor: f64) -> Self {
        let value = factor * self.value;
        let EstimateParts::Shares(parts) = self.of else {
            return self.mapped(value, move |end| factor * end);
        };
        let parts = parts.into_iter().map(|(times, share)| (factor * times, share));
        Estimate { value, of: EstimateParts::Shares(parts.collect()) }
    }

    /// The mean of both, which are sums of shares.
    #[must_use]
    pub(crate) fn mean_with(self, other: Self) -> Self {
        let value = f64::midpoint(self.value, other.value);
        match (self.times(0.5).of, other.times(0.5).of) {
            (EstimateParts::Shares(mut parts), EstimateParts::Shares(others)) => {
                parts.extend(others);
                Estimate { value, of: EstimateParts::Shares(parts) }
            }
            (of, _) => Estimate { value, of },
        }
    }

    /// This one minus another.
    #[must_use]
    pub(crate) fn minus(&self, other: &Self) -> Self {
        let value = self.value - other.value;
        if let (EstimateParts::Shares(parts), EstimateParts::Shares(others)) = (&self.of, &other.of)
        {
            let taken = others.iter().map(|(times, share)| (-times, Rc::clone(share)));
            let parts = parts.iter().cloned().chain(taken).collect();
            return Estimate { value, of: EstimateParts::Shares(parts) };
        }
        let (of_a, of_b) = (self.influence(), other.influence());
        let both = of_a.correlation(&of_b);
        let (a, b) = (self.clone(), other.clone());
        let at = move |level| {
            let parts = [(1.0, a.value, a.interval(level)?), (-1.0, b.value, b.interval(level)?)];
            Ok(mover(&parts, |_, _| both, IntervalProcedure::Mover))
        };
        Estimate::other(value, of_a.plus(-1.0, &of_b), Rc::new(at))
    }

    /// This one over another.
    #[must_use]
    pub(crate) fn over(&self, other: &Self) -> Self {
        let value = self.value / other.value;
        let (of_a, of_b) = (self.influence(), other.influence());
        let influence = of_a.plus(-value, &of_b);
        if let (Some(p), Some(q)) = (self.share(), other.share()) {
            if p.value == 0.0 || q.value == 0.0 {
                return Estimate::other(
                    value,
                    influence,
                    Rc::new(|_| Err(MissingInterval::ZeroCount)),
                );
            }
            let both = of_a.correlation(&of_b);
            let method = match p.is_plain && q.is_plain {
                true => IntervalProcedure::Katz,
                false => IntervalProcedure::KatzEffective,
            };
            let at = move |level| {
                let sizes = (p.size, q.size);
                Ok(katz_of((p.value, q.value), sizes, both, z_of_level(level), method))
            };
            return Estimate::other(value, influence, Rc::new(at));
        }
        let (a, b) = (self.clone(), other.clone());
        let at = move |level| {
            let ends = (a.interval(level)?, b.interval(level)?);
            if a.value <= 0.0 || ends.1.lo <= 0.0 {
                return Err(MissingInterval::PartNotAboveZero);
            }
            Ok(mover_ratio((a.value, b.value), ends))
        };
        Estimate::other(value, influence, Rc::new(at))
    }

    /// The share that it is, where it is one.
    pub(crate) fn share(&self) -> Option<Rc<Share>> {
        match &self.of {
            EstimateParts::Shares(parts) if parts.len() == 1 && parts[0].0 == 1.0 => {
                Some(Rc::clone(&parts[0].1))
            }
            _ => None,
        }
    }

    /// What each unit adds.
    pub(crate) fn influence(&self) -> Influence {
        match &self.of {
            EstimateParts::Shares(parts) => {
                let none = Influence { units: Vec::new(), scale: 0.0 };
                parts.iter().fold(none, |sum, (times, share)| sum.plus(*times, &share.influence))
            }
            EstimateParts::Other { influence, .. } => Influence::clone(influence),
        }
    }

    /// The interval at a level.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn interval(&self, level: f64) -> IntervalOrReason {
        let parts = match &self.of {
            EstimateParts::Other { at, .. } => return at(level),
            EstimateParts::Shares(parts) => parts,
        };
        let z = z_of_level(level);
        let both = |i: usize, j: usize| parts[i].1.influence.correlation(&parts[j].1.influence);
        let method = match parts.as_slice() {
            [(times, share)] => {
                let of = share.wilson(z);
                return Ok(ValueInterval { lo: times * of.lo, hi: times * of.hi, ..of });
            }
            // Newcombe's method is that of independent shares.
            [(x, p), (y, q)] if *x == -*y => match p.is_plain && q.is_plain {
                true if both(0, 1) != 0.0 => IntervalProcedure::Mover,
                true => IntervalProcedure::Newcombe,
                false => IntervalProcedure::NewcombeEffective,
            },
            _ => IntervalProcedure::Mover,
        };
        let ends: Vec<(f64, f64, ValueInterval)> =
            parts.iter().map(|(times, share)| (*times, share.value, share.wilson(z))).collect();
        Ok(mover(&ends, both, method))
    }
}
