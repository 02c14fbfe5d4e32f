//! How often a model contradicts itself: the rates of switches between two answers about the same
//! row, as noise floor of the rates of switches between a row and its counterfactual.
//!
//! A row was asked m times and had k positive answers. Of its m (m - 1) ordered pairs of different
//! answers k (m - k) turn from positive to negative, and as many the other way. Over all rows:
//!
//! | Floor of | Formula |
//! | --- | --- |
//! | `sr` | sum 2 k (m - k) / sum m (m - 1) |
//! | `psr` | sum k (m - k) / sum k (m - 1) |
//! | `nsr` | sum k (m - k) / sum (m - k) (m - 1) |
//!
//! If a row is positive with probability p, 2 p (1 - p) of two answers differ, which the first is
//! an unbiased estimate of: the switch rate that a set would have in which nobody changes.
//! Interval: Wilson's on n' people, n' = R (1 - R) / Var R with the variance of a ratio of sums
//! over people (Cochran 1977, section 6.3), at most the number of people.
//! Choice: never more than the people, for pairs of one person's answers are not further people;
//! where all rows agree, so that the variance says nothing, it is all of them.

use serde::{Deserialize, Serialize};

use crate::metric::interval::{IntervalProcedure, ValueInterval, wilson_of_share};

/// The sums of one floor over the people with a denominator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct AnswerPairSums {
    people: u64,
    a: i128,
    b: i128,
    aa: i128,
    ab: i128,
    bb: i128,
}

/// A noise floor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SelfSwitchRate {
    /// Pairs of answers that switch.
    pub(crate) numerator: u64,
    /// Pairs of answers.
    pub(crate) denominator: u64,
    /// The rate.
    pub(crate) value: f64,
    /// Its interval.
    pub(crate) interval: ValueInterval,
}

impl AnswerPairSums {
    fn add(&mut self, a: u64, b: u64) {
        if b == 0 {
            return;
        }
        let (a, b) = (i128::from(a), i128::from(b));
        self.people += 1;
        self.a += a;
        self.b += b;
        self.aa += a * a;
        self.ab += a * b;
        self.bb += b * b;
    }

    fn merge(&mut self, other: &AnswerPairSums) {
        self.people += other.people;
        self.a += other.a;
        self.b += other.b;
        self.aa += other.aa;
        self.ab += other.ab;
        self.bb += other.bb;
    }

    fn rate(&self, z: f64) -> Option<SelfSwitchRate> {
        if self.people == 0 {
            return None;
        }
        let (a, b, people) = (self.a as f64, self.b as f64, self.people as f64);
        let rate = a / b;
        let squares = self.aa as f64 - 2.0 * rate * self.ab as f64 + rate * rate * self.bb as f64;
        let variance = people / (people - 1.0) * squares / (b * b);
        let told = rate * (1.0 - rate) / variance;
        let effective = if told.is_finite() { told.min(people) } else { people };
        Some(SelfSwitchRate {
            numerator: u64::try_from(self.a).ok()?,
            denominator: u64::try_from(self.b).ok()?,
            value: rate,
            interval: wilson_of_share(rate, effective, z, IntervalProcedure::Wilson),
        })
    }
}

/// The sums of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SelfSwitchSums {
    people: u64,
    all: AnswerPairSums,
    positive: AnswerPairSums,
    negative: AnswerPairSums,
}

impl SelfSwitchSums {
    /// Adds a row that was asked `asked` times and had so many positive answers.
    pub(crate) fn add(&mut self, positive: u64, asked: u64) {
        let negative = asked - positive;
        self.people += 1;
        self.all.add(2 * positive * negative, asked * (asked - 1));
        self.positive.add(positive * negative, positive * (asked - 1));
        self.negative.add(positive * negative, negative * (asked - 1));
    }

    /// Adds other rows.
    pub(crate) fn merge(&mut self, other: &SelfSwitchSums) {
        self.people += other.people;
        self.all.merge(&other.all);
        self.positive.merge(&other.positive);
        self.negative.merge(&other.negative);
    }

    /// Number of rows.
    pub(crate) fn people(&self) -> u64 {
        self.people
    }

    /// The floors of `sr`, `psr` and `nsr`; none of a rate that no answer has a part in.
    pub(crate) fn rates(&self, z: f64) -> [Option<SelfSwitchRate>; 3] {
        [self.all, self.positive, self.negative].map(|sums| sums.rate(z))
    }
}

#[cfg(test)]
mod tests {
    use super::{SelfSwitchRate, SelfSwitchSums};
    use crate::metric::interval::z_of_level;
    use crate::num::seed::{h, u01};

    fn sums(answers: &[(u64, u64)]) -> SelfSwitchSums {
        let mut sums = SelfSwitchSums::default();
        answers.iter().for_each(|&(positive, asked)| sums.add(positive, asked));
        sums
    }

    /// By hand: of three rows asked three times one has two positive answers, one has three, one
    /// none. Pairs: 2 * 2 * 1 of 18 differ; of the (2 + 3) * 2 that begin positive 2 switch; of the
    /// (1 + 3) * 2 that begin negative 2 do.
    #[test]
    fn pairs_of_answers_are_counted() {
        let [all, positive, negative] = sums(&[(2, 3), (3, 3), (0, 3)]).rates(1.96);
        let counts = |rate: Option<SelfSwitchRate>| {
            rate.map(|rate| (rate.numerator, rate.denominator)).unwrap()
        };
        assert_eq!([counts(all), counts(positive), counts(negative)], [(4, 18), (2, 10), (2, 8)]);
        assert!((all.unwrap().value - 4.0 / 18.0).abs() < 1e-15);
        // Nobody has a negative answer.
        let [all, positive, negative] = sums(&[(3, 3); 10]).rates(1.96);
        assert_eq!((counts(all), counts(positive), negative), ((0, 60), (0, 60), None));
        // Wilson on ten people: z^2 / (n + z^2).
        let upper = 1.96 * 1.96 / (10.0 + 1.96 * 1.96);
        assert!((all.unwrap().interval.hi - upper).abs() < 1e-12);
        assert_eq!(all.unwrap().interval.lo, 0.0);
        assert_eq!(sums(&[]).rates(1.96), [None; 3]);
    }

    /// People whose answers are thrown with chances of their own: the interval holds the true rate
    /// in at least 93 of 100 samples of 200 people.
    #[test]
    fn intervals_hold_the_rate_of_the_population() {
        // One in five people is undecided (0.2), the others always answer alike.
        let truth = 0.2 * 2.0 * 0.2 * 0.8;
        let z = z_of_level(0.95);
        let held = (0..1000_u64).filter(|&sample| {
            let mut sums = SelfSwitchSums::default();
            for person in 0..200_u64 {
                let draw = |k: u64| u01(h(sample, person, k));
                let chance = match draw(0) {
                    x if x < 0.2 => 0.2,
                    x if x < 0.6 => 1.0,
                    _ => 0.0,
                };
                sums.add((1..=6).filter(|&k| draw(k) < chance).count() as u64, 6);
            }
            let interval = sums.rates(z)[0].unwrap().interval;
            (interval.lo..=interval.hi).contains(&truth)
        });
        let held = held.count();
        assert!((930..=1000).contains(&held), "{held} of 1000");
    }
}
