//! Checks whether the scores and decisions of a model agree with the labels at all.
//!
//! Scores are *inverted* if the AUC for the positive label, of all people with a group, a label and
//! a score, has a 95 % interval with an upper end below 0.5; with several classes, for each class
//! against the rest. Decisions are inverted if positive ones are rarer among people with a positive
//! label than among the others: Newcombe's 95 % interval of the difference is below 0. Then the
//! score probably belongs to another class, or the job names the wrong positive label.
//!
//! If a model decides the same for all people, gaps and switches of decisions have no meaning. If
//! it decides the same for all counterfactuals of a set only, their scores are probably on another
//! scale.
//!
//! If far more or far fewer people have a positive decision than a positive label, the threshold is
//! probably not that of the model, or the scores are on another scale.
//!
//! A threshold that rows carry *follows the group* if two groups have hardly any in common. A
//! counterfactual is compared with the threshold of its row, so it does not show what another group
//! would change there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::evidence::counts::FactualCounts;
use crate::metric::interval::{newcombe, z_of_level};
use crate::metric::rate::Rate;
use crate::metric::scope::GroupSelection;
use crate::metric::value::scores::auc_of_all;
use crate::param::Level;

/// From this share of people with a label on, decisions are compared with labels: where labels are
/// known for some decisions only, shares say nothing.
const LABELLED: f64 = 0.95;

/// Odds of a positive decision this many times those of a positive label, or a part as small, are
/// far from them.
const FAR_ODDS: f64 = 20.0;

/// People with a label and a decision from which on their shares are compared.
const COMPARED_PEOPLE: u64 = 100;

/// Two groups that share less of their thresholds have different ones.
const SHARED_CUTOFFS: f64 = 0.05;

/// Rows of a group at a threshold, on average, from which on thresholds are compared. Where rows
/// have too many, neighbours count as one.
const ROWS_AT_A_CUTOFF: u64 = 10;

/// How many neighbours count as one at most, as a power of two.
const NEIGHBOURS: usize = 10;

/// The findings about one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelSanity {
    /// The orders that contradict the labels: at most one for a label of two sides, at most one per
    /// class for several classes.
    pub(crate) inverted: Vec<InvertedOrder>,
    /// The number of people by decision: negative and positive, or each class.
    decided: Vec<u64>,
    /// People with a positive decision, with a positive label, and all, of those with both, where
    /// the first two are far apart and nearly everybody has a label.
    #[serde(default)]
    pub(crate) off_labels: Option<[u64; 3]>,
    /// Each two groups that have hardly any threshold in common, by rank.
    #[serde(default)]
    pub(crate) apart: Vec<[usize; 2]>,
}

/// The finding that positive labels are associated with low scores, or with negative decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InvertedOrder<C = usize> {
    /// Scores.
    Scores {
        /// The class against the rest, by position or name; none for a label of two sides.
        class: Option<C>,
        /// The AUC.
        auc: f64,
        /// The upper end of its interval.
        hi: f64,
    },
    /// Decisions: positive ones and all, first for people with a positive label, then for the
    /// others.
    Decisions([(u64, u64); 2]),
}

impl InvertedOrder {
    /// The finding with the name of the class; none if the class has no name.
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
    /// For a label of two sides. Decisions are compared if the model gives no scores or these are
    /// not kept.
    pub(crate) fn of_sides(counts: &FactualCounts, gives_scores: bool) -> Self {
        let confusion = counts.confusion(GroupSelection::All);
        let decided = [false, true].map(|side| confusion.predicted_as(side)).to_vec();
        let inverted = if gives_scores && counts.scores.is_some() {
            inverted_scores(counts, None)
        } else {
            let [of_positive, of_negative] = [
                (confusion.tp, confusion.actual_positive()),
                (confusion.fp, confusion.actual_negative()),
            ];
            let rate = |(numerator, denominator)| Rate::of(numerator, denominator);
            let z = z_of_level(Level::DEFAULT.get());
            let difference = newcombe(rate(of_positive), rate(of_negative), z);
            let is_below = difference.is_some_and(|ends| ends.hi < 0.0);
            is_below.then_some(InvertedOrder::Decisions([of_positive, of_negative]))
        };
        let apart = cutoffs_apart(&counts.cutoffs);
        let n = confusion.n();
        let of_labels = [confusion.predicted_positive(), confusion.actual_positive(), n];
        let are_known = n as f64 >= LABELLED * confusion.predicted() as f64;
        let off_labels = Some(of_labels).filter(|of| gives_scores && are_known && are_far(*of));
        ModelSanity { inverted: inverted.into_iter().collect(), decided, off_labels, apart }
    }

    /// For several classes, each against the rest, in their order.
    pub(crate) fn of_classes(one_vs_rest: &[FactualCounts]) -> Self {
        let each = one_vs_rest.iter().enumerate();
        let inverted = each.filter_map(|(class, counts)| inverted_scores(counts, Some(class)));
        let decided =
            |counts: &FactualCounts| counts.confusion(GroupSelection::All).predicted_as(true);
        ModelSanity {
            inverted: inverted.collect(),
            decided: one_vs_rest.iter().map(decided).collect(),
            ..ModelSanity::default()
        }
    }

    /// The decision that all people have, and their number; none if there are several decisions, or
    /// only one person.
    pub(crate) fn one_decision(&self) -> Option<(usize, u64)> {
        let mut taken = self.decided.iter().copied().enumerate().filter(|(_, n)| *n > 0);
        match (taken.next(), taken.next()) {
            (Some(only), None) if only.1 > 1 => Some(only),
            _ => None,
        }
    }
}

/// Whether the odds of a positive decision are far from those of a positive label; not where all
/// decisions or all labels are the same, and where the shares hardly differ.
fn are_far([decided, labelled, n]: [u64; 3]) -> bool {
    let odds = |of: u64| of as f64 / (n - of) as f64;
    let ratio = odds(decided) / odds(labelled);
    let is_far = ratio.is_finite() && ratio > 0.0 && !(1.0 / FAR_ODDS..=FAR_ODDS).contains(&ratio);
    is_far && n >= COMPARED_PEOPLE && 20 * decided.abs_diff(labelled) >= n
}

/// The decision that all counterfactuals have, and their number, where their rows have others: the
/// interval of the difference between the two shares of that decision is above 0, so that a few
/// switches of a rare decision are none. By decision the number of counterfactuals, and of their
/// rows, each counted once a counterfactual.
pub(crate) fn one_decision_after(decided: Vec<u64>, before: &[u64]) -> Option<(usize, u64)> {
    let after = ModelSanity { decided, ..ModelSanity::default() };
    let (decision, n) = after.one_decision()?;
    let of_rows = Rate::of(before[decision], before.iter().sum());
    let z = z_of_level(Level::DEFAULT.get());
    newcombe(Rate::of(n, n), of_rows, z).filter(|ends| ends.lo > 0.0).map(|_| (decision, n))
}

/// Rows by threshold and group.
type RowsByCutoff = BTreeMap<u64, Vec<u64>>;

/// Each two groups that have hardly any threshold in common.
fn cutoffs_apart(cutoffs: &RowsByCutoff) -> Vec<[usize; 2]> {
    let groups = cutoffs.values().next().map_or(0, Vec::len);
    let mut by_neighbours = vec![cutoffs.clone()];
    for power in 0..NEIGHBOURS {
        by_neighbours.push(halved(&by_neighbours[power]));
    }
    let pairs = (0..groups).flat_map(|a| (a + 1..groups).map(move |b| [a, b]));
    // With as few neighbours together as have enough rows.
    let is_apart = |of: &[usize; 2]| by_neighbours.iter().find_map(|rows| apart(rows, *of));
    pairs.filter(|of| is_apart(of) == Some(true)).collect()
}

/// The same rows with each two neighbours as one threshold.
fn halved(cutoffs: &RowsByCutoff) -> RowsByCutoff {
    let mut halved = RowsByCutoff::new();
    for (bin, rows) in cutoffs {
        let sums = halved.entry(bin / 2).or_insert_with(|| vec![0; rows.len()]);
        sums.iter_mut().zip(rows).for_each(|(sum, n)| *sum += n);
    }
    halved
}

/// Whether two groups have hardly any threshold in common: of either less than [`SHARED_CUTOFFS`]
/// of the rows have a threshold that is usual in the other group, which is one with at least a
/// fifth of its average. None where a threshold has fewer than [`ROWS_AT_A_CUTOFF`] rows of a group
/// on average.
fn apart(cutoffs: &RowsByCutoff, [a, b]: [usize; 2]) -> Option<bool> {
    let all = |group: usize| cutoffs.values().map(|rows| rows[group]).sum::<u64>();
    let used = |group: usize| cutoffs.values().filter(|rows| rows[group] > 0).count() as u64;
    let [of_a, of_b] = [a, b].map(|group| (group, all(group), used(group)));
    let shares = |(group, all, _): (usize, u64, u64), (other, all_others, used)| {
        let usual = cutoffs.values().filter(|rows| 5 * rows[other] * used >= all_others);
        usual.map(|rows| rows[group]).sum::<u64>() as f64 >= SHARED_CUTOFFS * all as f64
    };
    let is_known = |(_, all, used)| used > 0 && all >= ROWS_AT_A_CUTOFF * used;
    (is_known(of_a) && is_known(of_b)).then(|| !shares(of_a, of_b) && !shares(of_b, of_a))
}

fn inverted_scores(counts: &FactualCounts, class: Option<usize>) -> Option<InvertedOrder> {
    let (auc, hi) = auc_of_all(counts, Level::DEFAULT)?;
    (hi < 0.5).then_some(InvertedOrder::Scores { class, auc, hi })
}

#[cfg(test)]
mod tests {
    use super::{InvertedOrder, ModelSanity, one_decision_after};
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::metric::evidence::counts::FactualCounts;
    use crate::metric::evidence::labelled_scores::LabelledScores;
    use crate::num::score_scale::ScoreScale;

    /// People without a label, then tp, fn, fp and tn.
    fn decided(unlabelled: u64, cells: [u64; 4]) -> ModelSanity {
        sanity(unlabelled, cells, false)
    }

    fn sanity(unlabelled: u64, [tp, fn_, fp, tn]: [u64; 4], gives_scores: bool) -> ModelSanity {
        let mut counts = FactualCounts::new(1);
        let positive = [(Some(true), true, tp), (Some(true), false, fn_), (Some(false), true, fp)];
        let others = [(Some(false), false, tn), (None, true, unlabelled)];
        for (label, predicted, n) in positive.into_iter().chain(others) {
            (0..n).for_each(|_| counts.add((0, 0, 1), label, Some(predicted), false));
        }
        ModelSanity::of_sides(&counts, gives_scores)
    }

    #[test]
    fn decisions_against_the_labels_are_found_and_chance_is_not() {
        // 30 of 100 against 60 of 100.
        let found = decided(0, [30, 70, 60, 40]).inverted;
        assert_eq!(found, [InvertedOrder::Decisions([(30, 100), (60, 100)])]);
        assert!(decided(0, [45, 55, 50, 50]).inverted.is_empty(), "by chance");
        assert!(decided(0, [60, 40, 30, 70]).inverted.is_empty());
        assert!(decided(5, [0, 0, 6, 4]).inverted.is_empty(), "no person has a positive label");
    }

    #[test]
    fn decisions_far_from_the_share_of_labels_are_found() {
        let off = |unlabelled, cells| sanity(unlabelled, cells, true).off_labels;
        let far = [3, 57, 0, 940];
        assert_eq!(off(0, far), Some([3, 60, 1000]));
        assert_eq!(off(0, [60, 0, 700, 240]), Some([760, 60, 1000]));
        assert_eq!(off(60, far), None, "labels are known for some people only");
        assert_eq!(off(0, [1, 19, 0, 60]), None, "few people");
        assert_eq!(off(0, [960, 0, 39, 1]), None, "4 points apart");
        assert_eq!(off(0, [10, 0, 90, 900]), None, "a model that screens");
        assert_eq!(off(0, [0, 60, 0, 940]), None, "one decision for all");
        assert_eq!(decided(0, far).off_labels, None, "decisions have no threshold");
    }

    #[test]
    fn one_decision_for_all_people_is_found() {
        assert_eq!(decided(3, [50, 0, 50, 0]).one_decision(), Some((1, 103)));
        assert_eq!(decided(0, [0, 5, 0, 5]).one_decision(), Some((0, 10)));
        assert_eq!(decided(1, [0, 5, 0, 5]).one_decision(), None);
        assert_eq!(decided(1, [0; 4]).one_decision(), None, "one person");
    }

    #[test]
    fn one_decision_for_all_counterfactuals_is_found_where_their_rows_have_others() {
        assert_eq!(one_decision_after(vec![600, 0], &[403, 197]), Some((0, 600)));
        assert_eq!(one_decision_after(vec![0, 30], &[20, 10]), Some((1, 30)));
        assert_eq!(one_decision_after(vec![599, 1], &[403, 197]), None);
        assert_eq!(one_decision_after(vec![600, 0], &[600, 0]), None, "as their rows");
        // A few switches of a rare decision, and few people.
        assert_eq!(one_decision_after(vec![200, 0], &[198, 2]), None);
        assert_eq!(one_decision_after(vec![3, 0], &[2, 1]), None);
        assert_eq!(one_decision_after(vec![1, 0], &[0, 1]), None);
        assert_eq!(one_decision_after(vec![0, 0], &[0, 0]), None);
    }

    #[test]
    fn thresholds_without_any_in_common_are_found() {
        let apart = |of: fn(usize, u64) -> f64| {
            let mut counts = FactualCounts::new(3);
            for (group, row) in (0..3).flat_map(|group| (0..40).map(move |row| (group, row))) {
                counts.add_cutoff(group, of(group, row));
            }
            ModelSanity::of_sides(&counts, false).apart
        };
        assert_eq!(apart(|group, _| if group == 2 { 0.6 } else { 0.5 }), [[0, 2], [1, 2]]);
        let of_fraud = |group, _| if group == 2 { 0.0008 } else { 0.0002 };
        assert_eq!(apart(of_fraud), [[0, 2], [1, 2]]);
        let of_products = |group, row| (row % 2) as f64 / 4.0 + group as f64 / 10.0;
        assert_eq!(apart(of_products), [[0, 1], [0, 2], [1, 2]]);
        // A row of each group has the threshold of the other.
        let nearly = |group, row| if (row == 0) == (group == 2) { 0.5 } else { 0.6 };
        assert_eq!(apart(nearly), [[0, 2], [1, 2]]);
        assert!(apart(|_, row| (row % 3) as f64 / 3.0).is_empty(), "of products");
        let of_branches = |group, row| if group == 2 { 0.25 } else { (row % 4) as f64 / 4.0 };
        assert!(apart(of_branches).is_empty(), "all in one branch");
        // Each row has its own.
        let in_order = |group, row| 0.3 + 0.2 * group as f64 + row as f64 / 400.0;
        assert_eq!(apart(in_order), [[0, 1], [0, 2], [1, 2]]);
        assert!(apart(|group, row| (row as f64 + 0.3 * group as f64) / 50.0).is_empty(), "alike");
    }

    fn scored(turned: bool, scores: [&[f64]; 2]) -> Option<InvertedOrder> {
        let scale = ScoreScale { turned, ..ScoreScale::default() };
        let empty = LabelledScores::new(scale, CountingUnit::default());
        let mut counts = FactualCounts::new(1).with_scores(empty);
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
        // All pairs are in the wrong order, so the AUC has no interval from its variance.
        let apart = [[0.1; 9].as_slice(), &[0.9; 9]];
        let found = scored(false, apart);
        assert!(matches!(found, Some(InvertedOrder::Scores { auc: 0.0, .. })), "{found:?}");
        assert_eq!(scored(false, [&[0.1; 3], &[0.9; 3]]), None, "three people say little");
    }
}
