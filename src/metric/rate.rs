//! A value of a metric: a number, or the reason why there is none; rates with their counts.

use std::fmt;
use std::sync::LazyLock;

use crate::text::TextBlocks;

/// The metric, or why it has no value.
pub(crate) type MetricValue = Result<f64, Undefined>;

macro_rules! reasons {
    ($($variant:ident = $code:literal;)*) => {
        /// Why a metric has no value; `undefined.txt` says what each reason means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Undefined {
            $(#[doc = $code] $variant,)*
        }

        impl Undefined {
            /// All reasons.
            pub const ALL: &[Undefined] = &[$(Undefined::$variant,)*];

            /// The word that tables show.
            pub fn code(self) -> &'static str {
                match self { $(Undefined::$variant => $code,)* }
            }
        }
    };
}

pub(super) static WORDS: LazyLock<TextBlocks> =
    LazyLock::new(|| TextBlocks::read(include_str!("undefined.txt")));

/// What a code of a table that says why a value is not there means, in one sentence.
pub(crate) fn meaning_of_code(code: &str) -> &'static str {
    WORDS.get(code, "means")
}

/// What a code means in a few words that end a sentence begun with "because".
pub(crate) fn clause_of_code(code: &str) -> &'static str {
    WORDS.get(code, "because")
}

impl Undefined {
    /// What it means, in one sentence.
    pub fn meaning(self) -> &'static str {
        meaning_of_code(self.code())
    }

    /// The meaning in a few words that end a sentence begun with "because".
    pub fn clause(self) -> &'static str {
        clause_of_code(self.code())
    }

    /// The reason of a word of tables.
    pub fn of_code(code: &str) -> Option<Undefined> {
        Undefined::ALL.iter().copied().find(|reason| reason.code() == code)
    }
}

reasons! {
    EmptyGroup = "empty_group";
    NoLabel = "no_label";
    NoFavourableSide = "no_favourable_side";
    NoActualPositive = "no_actual_positive";
    NoActualNegative = "no_actual_negative";
    NoPredictedPositive = "no_predicted_positive";
    NoPredictedNegative = "no_predicted_negative";
    NoCounterfactualPredictedPositive = "no_counterfactual_predicted_positive";
    NoSwitchedPositive = "no_switched_positive";
    NoSwitchedNegative = "no_switched_negative";
    NoTruePositive = "no_true_positive";
    NoFalsePositive = "no_false_positive";
    NoTrueNegative = "no_true_negative";
    NoFalseNegative = "no_false_negative";
    DegenerateMarginal = "degenerate_marginal";
    ZeroNegativeSwitchRate = "zero_negative_switch_rate";
    ZeroReferenceRate = "zero_reference_rate";
    ZeroDenominator = "zero_denominator";
    ZeroScoreSum = "zero_score_sum";
    Infinite = "infinite";
    AllFalseNegative = "all_false_negative";
    NoDefinedStratum = "no_defined_stratum";
    StratumIsGroup = "stratum_is_group";
    ZeroWeight = "zero_weight";
    NoTrainingRows = "no_training_rows";
    NoScore = "no_score";
    NoProbability = "no_probability";
    ZeroExpected = "zero_expected";
    ConstantScore = "constant_score";
    Separated = "separated";
    NoConvergence = "no_convergence";
    ZeroSigma = "zero_sigma";
    Persons = "persons";
    NotPositive = "not_positive";
    Overflow = "overflow";
    OperandMissing = "operand_undefined";
    NoAffectedRows = "no_affected_rows";
    NoUnaffectedRows = "no_unaffected_rows";
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A share of counts, of people or of units of weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Cases that count.
    pub numerator: u64,
    /// Cases in all.
    pub denominator: u64,
    /// Why there is no value where the denominator is 0.
    pub empty: Undefined,
}

impl Rate {
    /// The rate of these counts; if its denominator is 0, the reason is an empty group.
    pub fn of(numerator: u64, denominator: u64) -> Self {
        Rate { numerator, denominator, empty: Undefined::EmptyGroup }
    }

    /// The share, by one division.
    pub fn value(self) -> MetricValue {
        if self.denominator == 0 {
            Err(self.empty)
        } else {
            Ok(self.numerator as f64 / self.denominator as f64)
        }
    }

    /// Whether all cases count, or none: resampled cases would all be alike.
    pub fn is_boundary(self) -> bool {
        self.denominator > 0 && (self.numerator == 0 || self.numerator == self.denominator)
    }
}
