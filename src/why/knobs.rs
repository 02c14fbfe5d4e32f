//! The block `why` of a job: of which metric to tell who switches, and through what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::num::decimal::Decimal;
use crate::param::{ColumnName, Count, Fraction, Name, SetName, Word, key_word};

/// Traits whose people switch more often than the others, found on one half of the people and
/// confirmed on the other; for a set that moves features also what each feature adds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyBlock {
    /// The model.
    pub model: Name,
    /// The arm of an experiment on this model, `EXPERIMENT/ARM`, such as `augment/all` or
    /// `augment/base`: everybody by the model that was trained in it without them. Default: the
    /// audited model.
    pub arm: Option<String>,
    /// The counterfactual set; `fpr` and `fnr` need none. A scenario of a graph-uncertain set is
    /// `SET/SCENARIO`.
    pub counterfactual: Option<SetName>,
    /// From which group to which: `{sex: [Female, Male]}`.
    pub direction: Option<BTreeMap<ColumnName, [Word; 2]>>,
    /// Instead of a direction: the attribute, all directions together.
    pub sensitive: Option<ColumnName>,
    /// Who is looked at, and what counts as a switch.
    pub metric: WhyMetric,
    /// Smallest share of these people in a pattern, above 0; the number is rounded up, and never
    /// below twice `metrics.min_denominator`.
    #[serde(default = "Fraction::of::<1, 100>")]
    pub support: Fraction,
    /// Largest number of traits of a pattern.
    #[serde(default = "Count::of::<3>")]
    #[schemars(extend("maximum" = 6, "x-range" = "a number of traits up to 6; 3 is usual"))]
    pub longest: Count,
    /// The features and attributes that traits are taken from, or `all`.
    #[serde(default)]
    pub columns: WhyColumns,
    /// People who are explained feature by feature, at most, in each direction: half of them
    /// switch.
    #[serde(default = "Count::of::<5000>")]
    #[schemars(extend("minimum" = 2,
        "x-range" = "2 or more; half of the people who are explained switch"))]
    pub people: Count,
    /// Orders of the features of a person for whom more than 10 differ; half of them are the
    /// reverses of the others.
    #[serde(default = "Count::of::<200>")]
    #[schemars(extend("minimum" = 4, "maximum" = 2000, "multipleOf" = 2,
        "x-range" = "an even number from 4 to 2000; 200 is usual"))]
    pub permutations: Count,
    /// Different rows that a command, a Python model or an endpoint is asked, at most, in each
    /// direction; where it takes more, fewer people are explained.
    #[serde(default = "Count::of::<200_000>")]
    pub asks_at_most: Count,
}

impl WhyBlock {
    /// The support as the decimal that was written; none where it is not a share of people.
    pub(crate) fn share(&self) -> Option<Decimal> {
        Decimal::from_f64(self.support.get()).filter(|share| share.ceil_of(1) == 1)
    }

    /// The experiment and the arm; empty for the audited model.
    pub(crate) fn experiment_and_arm(&self) -> (&str, &str) {
        self.arm.as_deref().and_then(|arm| arm.split_once('/')).unwrap_or_default()
    }

    /// The attribute, and the two groups of a direction.
    pub(crate) fn subject(&self) -> Option<(&ColumnName, Option<&[Word; 2]>)> {
        match (&self.direction, &self.sensitive) {
            (Some(direction), None) => {
                direction.iter().next().map(|(name, groups)| (name, Some(groups)))
            }
            (None, Some(name)) => Some((name, None)),
            _ => None,
        }
    }
}

/// Who is looked at, and what counts as a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhyMetric {
    /// Everybody; a prediction that changes.
    Sr,
    /// People predicted positive who turn negative.
    Nsr,
    /// People predicted negative who turn positive.
    Psr,
    /// People with the unfavourable decision who would get the favourable one.
    DeniedByGroup,
    /// People with the favourable decision who would get the unfavourable one.
    FavouredByGroup,
    /// People with the negative label; predicted positive.
    Fpr,
    /// People with the positive label; predicted negative.
    Fnr,
}

impl WhyMetric {
    /// Its id, as that of the metric.
    pub(crate) fn id(self) -> String {
        key_word(&self)
    }

    /// Whether it is about wrong predictions, and needs labels instead of a set.
    pub(crate) fn is_of_errors(self) -> bool {
        matches!(self, WhyMetric::Fpr | WhyMetric::Fnr)
    }

    /// Whether it goes by the decision that people want.
    pub(crate) fn is_by_favour(self) -> bool {
        matches!(self, WhyMetric::DeniedByGroup | WhyMetric::FavouredByGroup)
    }

    /// The outcome of a person: whether the prediction is wrong, or a counterfactual switches it;
    /// none where the person does not count. `switches` is none without a counted counterfactual.
    pub(crate) fn outcome(
        self,
        (label, predicted): (Option<bool>, Option<bool>),
        favourable_is_positive: bool,
        switches: Option<bool>,
    ) -> Option<bool> {
        let predicted = predicted?;
        let counted = match self {
            WhyMetric::Fpr => return (label == Some(false)).then_some(predicted),
            WhyMetric::Fnr => return (label == Some(true)).then_some(!predicted),
            WhyMetric::Sr => true,
            WhyMetric::Nsr => predicted,
            WhyMetric::Psr => !predicted,
            WhyMetric::DeniedByGroup => predicted != favourable_is_positive,
            WhyMetric::FavouredByGroup => predicted == favourable_is_positive,
        };
        switches.filter(|_| counted)
    }
}

/// The columns of patterns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-is" = "`all`, or a list of columns"))]
pub enum WhyColumns {
    /// All features and attributes.
    #[default]
    All,
    /// These.
    #[serde(untagged)]
    Named(#[schemars(extend("minItems" = 1, "x-noun" = "column"))] Vec<ColumnName>),
}

impl WhyColumns {
    /// Whether a column is one of them.
    pub(crate) fn takes(&self, column: &str) -> bool {
        self.named().is_none_or(|names| names.iter().any(|name| name.as_str() == column))
    }

    /// The names, where there is a list.
    fn named(&self) -> Option<&[ColumnName]> {
        match self {
            WhyColumns::All => None,
            WhyColumns::Named(names) => Some(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WhyMetric::{self, DeniedByGroup, FavouredByGroup, Fnr, Fpr, Nsr, Psr, Sr};

    #[test]
    fn who_counts_and_what_is_a_switch() {
        let outcome = |metric: WhyMetric, label, predicted, switches| {
            metric.outcome((label, predicted), false, switches)
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(outcome(Sr, None, yes, yes), yes);
        assert_eq!(outcome(Sr, None, yes, None), None, "no counterfactual counts");
        assert_eq!(outcome(Sr, None, None, yes), None, "no prediction");
        assert_eq!([outcome(Nsr, None, yes, no), outcome(Nsr, None, no, no)], [no, None]);
        assert_eq!([outcome(Psr, None, yes, yes), outcome(Psr, None, no, yes)], [None, yes]);
        // The negative prediction is the favourable one.
        assert_eq!(
            [outcome(DeniedByGroup, None, yes, yes), outcome(DeniedByGroup, None, no, yes)],
            [yes, None]
        );
        assert_eq!(
            [outcome(FavouredByGroup, None, yes, no), outcome(FavouredByGroup, None, no, no)],
            [None, no]
        );
        assert_eq!([outcome(Fpr, no, yes, None), outcome(Fpr, yes, yes, None)], [yes, None]);
        assert_eq!([outcome(Fnr, yes, no, None), outcome(Fnr, None, no, None)], [yes, None]);
    }
}
