//! Do the scores and decisions of a model agree with the labels at all?
//!
//! Scores are *inverted* where the AUC for the positive label, of all people with a group, a label
//! and a score, has a 95 % interval whose upper end is below 0.5; with several classes, each
//! against all others. Decisions are inverted where positive ones are rarer among people with a
//! positive label than among the others: Newcombe's 95 % interval of the difference is below 0.
//! Then the score is that of another class, or the positive label is another one.
//!
//! If a model decides alike about everybody, gaps and switches of decisions say nothing.

use serde::{Deserialize, Serialize};

use crate::metric::evidence::counts::FactualCounts;
use crate::metric::interval::{newcombe, z_of_level};
use crate::metric::rate::Rate;
use crate::metric::scope::GroupSelection;
use crate::metric::value::scores::auc_of_all;
use crate::param::Level;

/// What was found of one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelSanity {
    /// What contradicts the labels: at most one for a label of two sides, at most one per class for
    /// several classes.
    pub(crate) inverted: Vec<InvertedOrder>,
    /// People by decision: negative and positive ones, or those with each class.
    decided: Vec<u64>,
}

/// The finding that positive labels go with low scores, or with negative decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InvertedOrder<C = usize> {
    /// Scores.
    Scores {
        /// The class that stands against all others, by position or name; none of a label of two
        /// sides.
        class: Option<C>,
        /// The AUC.
        auc: f64,
        /// The upper end of its interval.
        hi: f64,
    },
    /// Decisions: positive ones of all, of people with a positive label and of the others.
    Decisions([(u64, u64); 2]),
}

impl InvertedOrder {
    /// The finding with the class by name; none where the class has none.
    pub(crate) fn named(&self, classes: &[String]) -> InvertedOrder<String> {
        match *self {
            InvertedOrder::Scores { class, auc, hi } => {
                let class = class.and_then(|at| classes.get(at).cloned());
                InvertedOrder::Scores { class, auc, hi }
            }
            InvertedOrder::Decisions(of) => InvertedOrder::Decisions(of),
        }
    }
}

impl ModelSanity {
    /// For a label of two sides. Decisions are compared where the model gives no scores, and where
    /// these are not kept.
    pub(crate) fn of_sides(counts: &FactualCounts, gives_scores: bool) -> Self {
        let all = counts.confusion(GroupSelection::All);
        let decided = [false, true].map(|side| all.predicted_as(side)).to_vec();
        let inverted = if gives_scores && counts.scores.is_some() {
            inverted_scores(counts, None)
        } else {
            let [of_positive, of_negative] =
                [(all.tp, all.actual_positive()), (all.fp, all.actual_negative())];
            let rate = |(numerator, denominator)| Rate::of(numerator, denominator);
            let z = z_of_level(Level::DEFAULT.get());
            let difference = newcombe(rate(of_positive), rate(of_negative), z);
            let is_below = difference.is_some_and(|ends| ends.hi < 0.0);
            is_below.then_some(InvertedOrder::Decisions([of_positive, of_negative]))
        };
        ModelSanity { inverted: inverted.into_iter().collect(), decided }
    }

    /// For several classes, each against all others in their order.
    pub(crate) fn of_classes(one_vs_rest: &[FactualCounts]) -> Self {
        let each = one_vs_rest.iter().enumerate();
        let inverted = each.filter_map(|(class, counts)| inverted_scores(counts, Some(class)));
        let decided =
            |counts: &FactualCounts| counts.confusion(GroupSelection::All).predicted_as(true);
        ModelSanity {
            inverted: inverted.collect(),
            decided: one_vs_rest.iter().map(decided).collect(),
        }
    }

    /// The one decision that everybody has, and how many people that are; none where there are
    /// several, and of a single person.
    pub(crate) fn one_decision(&self) -> Option<(usize, u64)> {
        let mut taken = self.decided.iter().copied().enumerate().filter(|(_, n)| *n > 0);
        match (taken.next(), taken.next()) {
            (Some(only), None) if only.1 > 1 => Some(only),
            _ => None,
        }
    }
}

fn inverted_scores(counts: &FactualCounts, class: Option<usize>) -> Option<InvertedOrder> {
    let (auc, hi) = auc_of_all(counts, Level::DEFAULT)?;
    (hi < 0.5).then_some(InvertedOrder::Scores { class, auc, hi })
}

#[cfg(test)]
mod tests {
    use super::{InvertedOrder, ModelSanity};
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::evidence::counts::FactualCounts;
    use crate::metric::evidence::labelled_scores::LabelledScores;
    use crate::num::score_scale::ScoreScale;

    /// People without a label, then tp, fn, fp and tn.
    fn decided(unlabelled: u64, [tp, fn_, fp, tn]: [u64; 4]) -> ModelSanity {
        let mut counts = FactualCounts::new(1);
        let of = [(Some(true), true, tp), (Some(true), false, fn_), (Some(false), true, fp)];
        let others = [(Some(false), false, tn), (None, true, unlabelled)];
        for (label, predicted, n) in of.into_iter().chain(others) {
            (0..n).for_each(|_| counts.add((0, 0, 1), label, Some(predicted), false));
        }
        ModelSanity::of_sides(&counts, false)
    }

    #[test]
    fn decisions_against_the_labels_are_found_and_chance_is_not() {
        // 30 of 100 against 60 of 100.
        let found = decided(0, [30, 70, 60, 40]).inverted;
        assert_eq!(found, [InvertedOrder::Decisions([(30, 100), (60, 100)])]);
        assert!(decided(0, [45, 55, 50, 50]).inverted.is_empty(), "by chance");
        assert!(decided(0, [60, 40, 30, 70]).inverted.is_empty());
        assert!(decided(5, [0, 0, 6, 4]).inverted.is_empty(), "nobody has a positive label");
    }

    #[test]
    fn one_decision_for_everybody_is_found() {
        assert_eq!(decided(3, [50, 0, 50, 0]).one_decision(), Some((1, 103)));
        assert_eq!(decided(0, [0, 5, 0, 5]).one_decision(), Some((0, 10)));
        assert_eq!(decided(1, [0, 5, 0, 5]).one_decision(), None);
        assert_eq!(decided(1, [0; 4]).one_decision(), None, "one person");
    }

    fn scored(turned: bool, scores: [&[f64]; 2]) -> Option<InvertedOrder> {
        let scale = ScoreScale { turned, ..ScoreScale::default() };
        let none = LabelledScores::new(scale, CountingUnit::default());
        let mut counts = FactualCounts::new(1).with_scores(none);
        for (positive, scores) in [true, false].into_iter().zip(scores) {
            for (row, &score) in (0..).zip(scores) {
                counts.add((0, 0, 1), Some(positive), Some(score >= 0.5), false);
                counts.add_score(0, (Some(positive), score), 1, (row, row));
            }
        }
        ModelSanity::of_sides(&counts, true).inverted.pop()
    }

    #[test]
    fn scores_against_the_labels_are_found_on_the_scale_as_it_is_turned() {
        let low: Vec<f64> = (0..40).map(|i| f64::from(i) / 128.0).collect();
        let high: Vec<f64> = low.iter().map(|x| x + 20.0 / 128.0).collect();
        let Some(InvertedOrder::Scores { class: None, auc, hi }) = scored(false, [&low, &high])
        else {
            panic!("positive labels have low scores")
        };
        // 20 of 40 are below all others; of the other 20 x 20 pairs half are ordered right.
        assert!((auc - 0.125).abs() < 1e-12 && hi > auc && hi < 0.5, "{auc} {hi}");
        assert_eq!(scored(true, [&low, &high]), None, "low scores are the positive ones");
        assert_eq!(scored(false, [&high, &low]), None);
        // All pairs are ordered wrong, so that the AUC has no interval of its own.
        let apart = [[0.1; 9].as_slice(), &[0.9; 9]];
        let found = scored(false, apart);
        assert!(matches!(found, Some(InvertedOrder::Scores { auc: 0.0, .. })), "{found:?}");
        assert_eq!(scored(false, [&[0.1; 3], &[0.9; 3]]), None, "three people say little");
    }
}
