//! A value of a metric: a number, or the reason why there is none; rates with their counts.

use std::fmt;

/// The metric, or why it has no value.
pub(crate) type MetricValue = Result<f64, Undefined>;

macro_rules! reasons {
    ($($variant:ident = $code:literal, $clause:literal, $meaning:literal;)*) => {
        /// Why a metric has no value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Undefined {
            $(#[doc = $meaning] $variant,)*
        }

        impl Undefined {
            /// All reasons.
            pub const ALL: &[Undefined] = &[$(Undefined::$variant,)*];

            /// The word that tables show.
            pub fn code(self) -> &'static str {
                match self { $(Undefined::$variant => $code,)* }
            }

            /// What it means, in one sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Undefined::$variant => $meaning,)* }
            }

            /// The meaning in a few words that end a sentence begun with "because".
            pub fn clause(self) -> &'static str {
                match self { $(Undefined::$variant => $clause,)* }
            }

            /// The reason of a word of tables.
            pub fn of_code(code: &str) -> Option<Undefined> {
                Undefined::ALL.iter().copied().find(|reason| reason.code() == code)
            }
        }
    };
}

reasons! {
    EmptyGroup = "empty_group", "the group is empty", "No row of the group has the \
        values that the metric needs.";
    NoLabel = "no_label", "the job has no label", "The metric needs a label, but none of the \
        people has one.";
    NoFavourableSide = "no_favourable_side", "the job does not say which prediction people want", "\
        The job has no label, and `data.favourable` does not say which prediction people want; or \
        a class is compared with all others, of which some are as favourable as the class and some \
        are not.";
    NoActualPositive = "no_actual_positive", "nobody has the positive label", "Nobody has the \
        positive label.";
    NoActualNegative = "no_actual_negative", "nobody has the negative label", "Nobody has the \
        negative label.";
    NoPredictedPositive = "no_predicted_positive", "nobody is predicted positive", "Nobody is \
        predicted positive.";
    NoPredictedNegative = "no_predicted_negative", "nobody is predicted negative", "Nobody is \
        predicted negative.";
    NoCounterfactualPredictedPositive = "no_counterfactual_predicted_positive", "no counterfactual \
        is predicted positive", "No \
            counterfactual is predicted positive.";
    NoSwitchedPositive = "no_switched_positive", "no prediction switches to positive", "No \
        prediction turns positive.";
    NoSwitchedNegative = "no_switched_negative", "no prediction switches to negative", "\
        No prediction turns negative.";
    NoTruePositive = "no_true_positive", "there is no true positive", "There is no true \
        positive.";
    NoFalsePositive = "no_false_positive", "there is no false positive", "There is no \
        false positive.";
    NoTrueNegative = "no_true_negative", "there is no true negative", "There is no true \
        negative.";
    NoFalseNegative = "no_false_negative", "there is no false negative", "There is no \
        false negative.";
    DegenerateMarginal = "degenerate_marginal", "all predictions on one side are the same", "A row \
        or column of the two-by-two matrix is empty, so no correlation exists.";
    ZeroNegativeSwitchRate = "zero_negative_switch_rate", "no prediction switches to negative", "\
        No prediction turns negative, so the rate in the denominator is 0.";
    ZeroReferenceRate = "zero_reference_rate", "the denominator is 0", "The rate in the \
        denominator of the ratio is zero.";
    ZeroDenominator = "zero_denominator", "the denominator is 0", "There is neither a positive \
        label nor a positive prediction.";
    ZeroScoreSum = "zero_score_sum", "all scores are 0", "All scores of one side are zero, so they \
        have no distribution over people.";
    Infinite = "infinite", "it is infinite", "A value with positive probability before has \
        probability zero after, so the divergence is infinite.";
    AllFalseNegative = "all_false_negative", "everybody is denied a favourable outcome that they \
        deserve", "Everybody is denied a favourable outcome that they deserve, so there is no \
                   benefit to distribute.";
    NoDefinedStratum = "no_defined_stratum", "in every stratum all predictions are equal", "In \
        every stratum all predictions are equal.";
    StratumIsGroup = "stratum_is_group", "the strata are the groups themselves", "No stratum \
        contains people of both facets: the strata are the groups, or derived from them.";
    ZeroWeight = "zero_weight", "the total weight of the denominator is 0", "The total weight \
        of the people in the denominator is 0.";
    NoTrainingRows = "no_training_rows", "a group has no rows from which to learn \
        counterfactuals", "The counterfactuals are learnt from rows, and there is no such row for \
            one of the groups.";
    NoScore = "no_score", "the model gives decisions and no scores", "The metric needs scores, and \
        the model gives decisions only.";
    NoProbability = "no_probability", "the scores are points, not probabilities", "The metric \
        compares scores with shares of labels, and the scores are points of a scale of which the \
        job does not say `probability: true`.";
    ZeroExpected = "zero_expected", "all scores are 0", "All scores are 0, so that they expect no \
        positive label to compare with.";
    ConstantScore = "constant_score", "all scores are equal", "All scores are equal, so no slope \
        can be fitted to them.";
    Separated = "separated", "a score separates the two labels", "All people with one label have \
        scores at or below those with the other, so the slope that fits best is infinite.";
    NoConvergence = "no_convergence", "the fit does not converge", "The steps of the fit do not \
        come to an end, because the scores are too extreme.";
    ZeroSigma = "zero_sigma", "all scores are 0 or 1", "All scores are 0 or 1, so that the \
        labels are not random if the scores are right.";
    Persons = "persons", "a person may have several rows", "A person may have several rows, which \
        go together, and the distribution behind the p-value is that of independent rows.";
    NotPositive = "not_positive", "a mean is not above 0", "A mean of amounts is 0 or below, so \
        that a ratio of it would not say how many times as much it is.";
    Overflow = "overflow", "a sum is larger than any number", "A sum or quotient behind the value \
        is larger than the largest number that can be stored.";
    OperandMissing = "operand_undefined", "a value on which it depends is undefined", "A value \
        on which the metric depends is undefined.";
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
