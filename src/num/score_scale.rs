//! Scales of scores: what the user's numbers mean, and which share of the scale a number is.
//!
//! Scores are kept as the user's numbers, and decisions compare these with a threshold in the same
//! numbers, so that ties stay ties. What needs scores of [0, 1] takes [`ScoreScale::share`] of
//! them: (x - from) / (to - from), or 1 / (1 + e^-x) of log-odds. On a turned scale low numbers
//! mean the positive prediction, and the share is that from the other end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the numbers of a scale are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleNumbers {
    /// Numbers between two ends, both included.
    Range {
        /// The lower end.
        from: f64,
        /// The upper end, above the lower one.
        to: f64,
    },
    /// Any finite number: the logarithm of the odds.
    LogOdds,
    /// Any finite number: an amount, such as a premium, which is no score and has no share.
    Amounts,
}

/// The scale of the scores of a model.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreScale {
    /// What its numbers are.
    pub numbers: ScaleNumbers,
    /// Whether low numbers mean the positive prediction.
    pub turned: bool,
}

impl Default for ScoreScale {
    /// Probabilities of the positive class.
    fn default() -> Self {
        ScoreScale { numbers: ScaleNumbers::Range { from: 0.0, to: 1.0 }, turned: false }
    }
}

impl ScoreScale {
    /// Whether a score may have this value; NaN is none.
    #[inline]
    pub fn contains(self, score: f64) -> bool {
        match self.numbers {
            ScaleNumbers::Range { from, to } => (from..=to).contains(&score),
            ScaleNumbers::LogOdds | ScaleNumbers::Amounts => score.is_finite(),
        }
    }

    /// The share of the scale that a score of it is, in [0, 1]; NaN stays NaN.
    ///
    /// Scores of [0, 1] that are not turned are their own share, to the last bit.
    #[inline]
    pub fn share(self, score: f64) -> f64 {
        match (self.numbers, self.turned) {
            (ScaleNumbers::Range { from, to }, false) => (score - from) / (to - from),
            (ScaleNumbers::Range { from, to }, true) => (to - score) / (to - from),
            (ScaleNumbers::LogOdds, turned) => {
                let x = if turned { -score } else { score };
                1.0 / (1.0 + libm::exp(-x))
            }
            (ScaleNumbers::Amounts, _) => f64::NAN,
        }
    }

    /// The score whose share of the scale this is; none where it would not be finite, as at the
    /// ends of log-odds, and for amounts.
    pub fn number(self, share: f64) -> Option<f64> {
        let number = match (self.numbers, self.turned) {
            (ScaleNumbers::Range { from, to }, false) => from + share * (to - from),
            (ScaleNumbers::Range { from, to }, true) => to - share * (to - from),
            (ScaleNumbers::LogOdds, turned) => {
                let x = libm::log(share / (1.0 - share));
                if turned { -x } else { x }
            }
            (ScaleNumbers::Amounts, _) => return None,
        };
        number.is_finite().then_some(number)
    }

    /// How far apart two scores must be for a whole step of shares; 1 for log-odds, whose steps
    /// differ; 1 also for amounts.
    pub fn width(self) -> f64 {
        match self.numbers {
            ScaleNumbers::Range { from, to } => to - from,
            ScaleNumbers::LogOdds | ScaleNumbers::Amounts => 1.0,
        }
    }

    /// The change of the user's numbers behind a mean change of shares; none for log-odds, where
    /// equal changes of shares are unequal changes of numbers.
    pub fn user_change(self, shares: f64) -> Option<f64> {
        match self.numbers {
            ScaleNumbers::Range { from, to } if self.turned => Some(-shares * (to - from)),
            ScaleNumbers::Range { from, to } => Some(shares * (to - from)),
            ScaleNumbers::LogOdds | ScaleNumbers::Amounts => None,
        }
    }

    /// What a score of it is, as the words after `is not`.
    pub fn in_words(self) -> String {
        match self.numbers {
            ScaleNumbers::Range { from, to } => format!("in [{from}, {to}]"),
            ScaleNumbers::LogOdds => "a finite number, as log-odds are".to_owned(),
            ScaleNumbers::Amounts => "a finite number, as amounts are".to_owned(),
        }
    }

    /// What to do about a score outside of it.
    pub fn hint(self) -> String {
        match self.numbers {
            ScaleNumbers::Range { .. } if self.width() == 1.0 => {
                "scores are probabilities of the positive class; write the scale next to the \
                 model's `threshold`, such as `scale: {from: 300, to: 850}` or `scale: log-odds`, \
                 or rescale them where they are made"
                    .to_owned()
            }
            ScaleNumbers::Amounts => "correct the amount where it is made".to_owned(),
            _ => "correct the score where it is made, or the model's `scale` in the job".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ScaleNumbers, ScoreScale};

    #[test]
    fn probabilities_are_their_own_share() {
        let plain = ScoreScale::default();
        for x in [0.0, -0.0, f64::MIN_POSITIVE, 0.1, 0.3, 1.0 - f64::EPSILON, 1.0] {
            assert_eq!(plain.share(x).to_bits(), x.to_bits());
        }
        assert!(plain.share(f64::NAN).is_nan());
        assert_eq!([-0.1, 1.1, f64::NAN].map(|x| plain.contains(x)), [false; 3]);
    }

    #[test]
    fn ends_are_part_of_a_scale_and_turn_with_it() {
        let scale =
            ScoreScale { numbers: ScaleNumbers::Range { from: 300.0, to: 850.0 }, turned: true };
        assert_eq!([300.0, 850.0].map(|x| scale.share(x)), [1.0, 0.0]);
        assert_eq!(
            [300.0, 850.0, 299.9, 851.0].map(|x| scale.contains(x)),
            [true, true, false, false]
        );
        assert_eq!(scale.user_change(0.01), Some(-5.5));
        let odds = ScoreScale { numbers: ScaleNumbers::LogOdds, turned: false };
        assert_eq!([-800.0, 0.0, 800.0].map(|x| odds.share(x)), [0.0, 0.5, 1.0]);
        assert_eq!((odds.user_change(0.1), odds.contains(f64::INFINITY)), (None, false));
    }
}
