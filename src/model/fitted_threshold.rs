//! Fitted thresholds: the score from which on a model predicts positive, chosen on its training
//! rows.
//!
//! Candidates are the observed scores; class 1 where score >= t. With TPR(t) the share of positive
//! rows classified right and TNR(t) that of negative rows (both by weight, where rows have
//! weights):
//! - `maximise_recall`: the smallest t with TNR(t) >= `tnr_floor`; none: just above the largest
//!   score. The papers give no floor, and without one the smallest score always wins.
//! - `youden`: the t with the largest TPR(t) + TNR(t) - 1 (Youden 1950).
//! - `f_beta`: the t with the largest (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP) (van Rijsbergen
//!   1979).
//!
//! Choice: ties go to the smallest t, which misses the fewest positive rows. Rows without a score
//! are not counted.
//! Cost: a sort of the training scores, 24 bytes each.

use crate::error::{Fault, Result};
use crate::model::kind::threshold_key::ThresholdOf;
use crate::num::float_precision::FloatPrecision;

/// A training row with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ScoredTrainingRow {
    /// The score, not NaN.
    pub score: f64,
    /// The label.
    pub positive: bool,
    /// The weight; 1 if rows have no weight.
    pub weight: u64,
}

/// A fitted threshold and the rates that it reaches on its training rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FittedThreshold {
    /// Positive where score >= threshold.
    pub threshold: f64,
    /// Training rows with a score.
    pub n_rows: u64,
    /// The number of these that are positive.
    pub n_positive: u64,
    /// Weighted share of the positive rows at or above the threshold.
    pub tpr: f64,
    /// Weighted share of the negative rows below it.
    pub tnr: f64,
}

/// Total weight of the rows of each class.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ClassWeights {
    positive: u128,
    negative: u128,
}

impl ThresholdOf {
    /// Fits the threshold, in the precision of the scores; the order of the cases does not matter.
    ///
    /// # Errors
    /// No case, or cases of one class only.
    pub(crate) fn fit(
        &self,
        mut cases: Vec<ScoredTrainingRow>,
        precision: FloatPrecision,
    ) -> Result<FittedThreshold> {
        cases.sort_unstable_by(|a, b| a.score.total_cmp(&b.score));
        let add = |sum: ClassWeights, case: &ScoredTrainingRow| {
            let weight = u128::from(case.weight);
            if case.positive {
                ClassWeights { positive: sum.positive + weight, ..sum }
            } else {
                ClassWeights { negative: sum.negative + weight, ..sum }
            }
        };
        let all = cases.iter().fold(ClassWeights::default(), add);
        let Some(largest) =
            cases.last().filter(|_| all.positive > 0 && all.negative > 0).map(|case| case.score)
        else {
            let what = "the training rows with a score have only one class, so no threshold \
                        can be fitted";
            return Fault::new("one-class", what)
                .fail("give `threshold` a number, or check `data.split` and the label");
        };
        let mut below = ClassWeights::default();
        let mut best: Option<(f64, ClassWeights)> = None;
        for same in cases.chunk_by(|a, b| a.score == b.score) {
            if best.is_none_or(|(_, best)| self.is_better(below, best, all))
                && self.is_admissible(below, all)
            {
                best = Some((same[0].score, below));
            }
            below = same.iter().fold(below, add);
        }
        let (threshold, below) = best.unwrap_or((precision.next_up(largest), all));
        let share = |part: u128, whole: u128| part as f64 / whole as f64;
        Ok(FittedThreshold {
            threshold,
            n_rows: cases.len() as u64,
            n_positive: cases.iter().filter(|case| case.positive).count() as u64,
            tpr: share(all.positive - below.positive, all.positive),
            tnr: share(below.negative, all.negative),
        })
    }

    /// Whether a threshold with these rows below it may be chosen.
    fn is_admissible(&self, below: ClassWeights, all: ClassWeights) -> bool {
        match self {
            ThresholdOf::MaximiseRecall(knob) => {
                below.negative as f64 / all.negative as f64 >= knob.tnr_floor.get()
            }
            ThresholdOf::Column(_) | ThresholdOf::Youden(_) | ThresholdOf::FBeta(_) => true,
        }
    }

    /// Whether a higher threshold, with these rows below it, is better than the best one before.
    fn is_better(&self, below: ClassWeights, best: ClassWeights, all: ClassWeights) -> bool {
        match self {
            // A higher threshold never finds more positive rows. That of a column is not fitted.
            ThresholdOf::MaximiseRecall(_) | ThresholdOf::Column(_) => false,
            // In whole numbers: the difference of TNR against that of TPR.
            ThresholdOf::Youden(_) => {
                (below.negative - best.negative) * all.positive
                    > (below.positive - best.positive) * all.negative
            }
            ThresholdOf::FBeta(beta) => {
                f_beta(beta.get(), below, all) > f_beta(beta.get(), best, all)
            }
        }
    }
}

fn f_beta(beta: f64, below: ClassWeights, all: ClassWeights) -> f64 {
    let found = (all.positive - below.positive) as f64;
    let (missed, wrong) = (below.positive as f64, (all.negative - below.negative) as f64);
    let square = beta * beta;
    let whole = (1.0 + square) * found + square * missed + wrong;
    if whole > 0.0 { (1.0 + square) * found / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {

    use super::{FittedThreshold, ScoredTrainingRow, ThresholdOf};
    use crate::model::kind::threshold_key::{MaximiseRecall, Youden};
    use crate::num::float_precision::FloatPrecision::{Double, Single};
    use crate::param::{Finite, Fraction};
    use crate::tests::Says;

    const YOUDEN: ThresholdOf = ThresholdOf::Youden(Youden {});

    fn maximise_recall(tnr_floor: f64) -> ThresholdOf {
        let tnr_floor = Fraction::new(tnr_floor).unwrap();
        ThresholdOf::MaximiseRecall(MaximiseRecall { tnr_floor })
    }

    fn f_beta(beta: f64) -> ThresholdOf {
        ThresholdOf::FBeta(Finite::new(beta).unwrap())
    }

    fn cases(scores: &[f64], labels: &[u64]) -> Vec<ScoredTrainingRow> {
        scores
            .iter()
            .zip(labels)
            .map(|(&score, &label)| ScoredTrainingRow { score, positive: label == 1, weight: 1 })
            .collect()
    }

    const SCORES: [f64; 6] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
    const LABELS: [u64; 6] = [0, 1, 0, 0, 1, 1];

    fn fit(objective: ThresholdOf) -> FittedThreshold {
        objective.fit(cases(&SCORES, &LABELS), Double).unwrap()
    }

    #[test]
    fn a_threshold_above_all_scores_is_above_them_in_their_precision() {
        // No threshold keeps a negative row out of two at the largest score.
        let objective = maximise_recall(1.0);
        let single = f64::from(0.7_f32);
        for precision in [Single, Double] {
            let fitted = objective.fit(cases(&[0.5, single], &[1, 0]), precision).unwrap();
            assert!(precision.round(fitted.threshold) > single, "{precision:?}");
        }
    }

    #[test]
    fn worked_by_hand() {
        let recall = |tnr_floor| fit(maximise_recall(tnr_floor)).threshold;
        // TNR is 0, 1/3, 1/3, 2/3, 1, 1 from score to score.
        assert_eq!(
            [0.0, 1.0 / 3.0, 0.5, 2.0 / 3.0, 0.9, 1.0].map(recall),
            [0.1, 0.2, 0.4, 0.4, 0.5, 0.5]
        );
        let half = fit(maximise_recall(0.5));
        assert_eq!(
            (half.n_rows, half.n_positive, half.tpr, half.tnr),
            (6, 3, 2.0 / 3.0, 2.0 / 3.0)
        );
        // TPR + TNR: 1, 4/3, 1, 4/3, 5/3, 4/3.
        assert_eq!(fit(YOUDEN).threshold, 0.5);
        // F1: 6/9, 6/8, 4/7, 4/6, 4/5, 2/4; F2 counts a missed positive row four times: 15/18 at
        // 0.1, 15/17 at 0.2, ...
        assert_eq!(fit(f_beta(1.0)).threshold, 0.5);
        assert_eq!(fit(f_beta(2.0)).threshold, 0.2);
    }

    #[test]
    fn of_equally_good_ones_the_smallest_is_taken() {
        // TPR + TNR is 3/2 at 0.2 and at 0.4.
        let two = YOUDEN.fit(cases(&[0.1, 0.2, 0.3, 0.4], &[0, 1, 0, 1]), Double).unwrap();
        assert_eq!(two.threshold, 0.2);
        let shuffled = YOUDEN.fit(cases(&[0.4, 0.3, 0.2, 0.1], &[1, 0, 1, 0]), Double).unwrap();
        assert_eq!(shuffled, two);
    }

    #[test]
    fn weights_count_rows() {
        let mut weighted = cases(&SCORES, &LABELS);
        weighted[0].weight = 5;
        let mut repeated = cases(&SCORES, &LABELS);
        repeated.extend([repeated[0]; 4]);
        for objective in [maximise_recall(0.5), YOUDEN, f_beta(0.5)] {
            let (a, b) = (
                objective.fit(weighted.clone(), Double).unwrap(),
                objective.fit(repeated.clone(), Double).unwrap(),
            );
            assert_eq!((a.threshold, a.tpr, a.tnr), (b.threshold, b.tpr, b.tnr));
        }
    }

    #[test]
    fn one_class_has_no_threshold() {
        for labels in [[0; 6], [1; 6]] {
            let fault = YOUDEN.fit(cases(&SCORES, &labels), Double).unwrap_err().to_string();
            fault.says(&["one-class"]);
        }
        assert!(YOUDEN.fit(Vec::new(), Double).is_err());
    }

    #[test]
    fn small_cases_computed_by_another_program() {
        let micro =
            crate::tests::json(crate::tests::expected("generation/augmentation/micro.json"));
        for case in micro["threshold"].as_array().unwrap() {
            let list = |key: &str| {
                case[key]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|v| v.as_f64().unwrap())
                    .collect::<Vec<f64>>()
            };
            let labels: Vec<u64> = list("y").into_iter().map(|y| y as u64).collect();
            let objective = maximise_recall(case["tnr_floor"].as_f64().unwrap());
            let threshold =
                objective.fit(cases(&list("score"), &labels), Double).unwrap().threshold;
            match case["expected"].as_f64() {
                Some(expected) => assert_eq!(threshold, expected),
                None => {
                    let largest = list("score").into_iter().fold(0.0, f64::max);
                    assert!(threshold > largest && threshold < largest + 1e-12, "{threshold}");
                }
            }
        }
    }
}
