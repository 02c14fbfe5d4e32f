//! What a person and a counterfactual add to the confusion matrix and to the extended one.

use crate::metric::rate::{Rate, Undefined};

/// The index of a truth value: unknown 0, no 1, yes 2.
#[inline]
pub(crate) fn answer_state(answer: Option<bool>) -> usize {
    answer.map_or(0, |yes| 1 + usize::from(yes))
}

/// Numbers by label and prediction, each unknown, no or yes, at the index 3 label + prediction.
pub(crate) type StateCells = [u64; 9];

/// The confusion matrix of one group, and the predictions of people without a label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confusion {
    /// Label positive, predicted positive.
    pub tp: u64,
    /// Label negative, predicted positive.
    pub fp: u64,
    /// Label positive, predicted negative.
    pub fn_: u64,
    /// Label negative, predicted negative.
    pub tn: u64,
    /// No label: predicted negative, predicted positive.
    pub unlabelled: [u64; 2],
}

impl Confusion {
    /// A matrix of people who all have a label.
    #[must_use]
    pub const fn labelled(tp: u64, fp: u64, fn_: u64, tn: u64) -> Self {
        Confusion { tp, fp, fn_, tn, unlabelled: [0; 2] }
    }

    /// People with a prediction.
    pub fn predicted(&self) -> u64 {
        self.n() + self.unlabelled[0] + self.unlabelled[1]
    }

    /// People with a prediction, whether it is positive or not.
    pub fn predicted_as(&self, positive: bool) -> u64 {
        let labelled = if positive { self.predicted_positive() } else { self.predicted_negative() };
        labelled + self.unlabelled[usize::from(positive)]
    }

    /// People with a label and a prediction.
    pub fn n(&self) -> u64 {
        self.tp + self.fp + self.fn_ + self.tn
    }

    /// The number of people that a metric uses: those with a label if it needs one.
    pub(crate) fn people(&self, needs_label: bool) -> u64 {
        if needs_label { self.n() } else { self.predicted() }
    }

    /// People with the positive label.
    pub fn actual_positive(&self) -> u64 {
        self.tp + self.fn_
    }

    /// People with the negative label.
    pub fn actual_negative(&self) -> u64 {
        self.tn + self.fp
    }

    /// People with a label predicted positive.
    pub fn predicted_positive(&self) -> u64 {
        self.tp + self.fp
    }

    /// People with a label predicted negative.
    pub fn predicted_negative(&self) -> u64 {
        self.tn + self.fn_
    }

    /// Adds the people of another group.
    pub fn merge(&mut self, other: &Confusion) {
        self.tp += other.tp;
        self.fp += other.fp;
        self.fn_ += other.fn_;
        self.tn += other.tn;
        self.unlabelled.iter_mut().zip(other.unlabelled).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// Why a metric that needs a label has no value: no people, no people with a label, or
    /// `reason`.
    pub(crate) fn or_empty(&self, reason: Undefined) -> Undefined {
        match (self.predicted(), self.n()) {
            (0, _) => Undefined::EmptyGroup,
            (_, 0) => Undefined::NoLabel,
            _ => reason,
        }
    }

    /// A rate over people with a label.
    pub(crate) fn rate(&self, numerator: u64, denominator: u64, empty: Undefined) -> Rate {
        Rate { numerator, denominator, empty: self.or_empty(empty) }
    }

    /// The same people with the other class as the positive one.
    #[must_use]
    pub(crate) fn swap_classes(&self) -> Self {
        let [negative, positive] = self.unlabelled;
        Confusion {
            tp: self.tn,
            fp: self.fn_,
            fn_: self.fp,
            tn: self.tp,
            unlabelled: [positive, negative],
        }
    }

    /// TP, FP, FN, TN, then the people without a label predicted positive and negative.
    pub(crate) fn to_cells(self) -> ConfusionCells {
        let [negative, positive] = self.unlabelled;
        [self.tp, self.fp, self.fn_, self.tn, positive, negative]
    }

    /// The inverse of [`Confusion::to_cells`].
    pub(crate) fn from_cells([tp, fp, fn_, tn, positive, negative]: ConfusionCells) -> Self {
        Confusion { tp, fp, fn_, tn, unlabelled: [negative, positive] }
    }

    /// The matrix, from counts at the index 3 label + prediction, each unknown, no or yes.
    pub(crate) fn from_states([_, no, yes, _, tn, fp, _, fn_, tp]: StateCells) -> Self {
        Confusion { tp, fp, fn_, tn, unlabelled: [no, yes] }
    }
}

/// The place of a person in [`Confusion::to_cells`].
pub(crate) fn confusion_cell(label: Option<bool>, predicted: bool) -> usize {
    let negative = usize::from(!predicted);
    match label {
        Some(label) => 2 * negative + usize::from(!label),
        None => 4 + negative,
    }
}

/// Number of cells of a [`Confusion`].
pub(crate) const CONFUSION_CELLS: usize = 6;

/// The cells of a [`Confusion`].
pub(crate) type ConfusionCells = [u64; CONFUSION_CELLS];

/// One cell of the extended matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EccmCell {
    /// The name in the papers; without a label the name in the counterfactual matrix.
    pub name: &'static str,
    /// The label; none if it is not known.
    pub label: Option<bool>,
    /// The factual prediction.
    pub predicted: bool,
    /// The counterfactual prediction.
    pub predicted_cf: bool,
}

/// The eight cells of the extended matrix, each at the index 4 label + 2 factual + counterfactual,
/// and the four of the counterfactual matrix that hold people without a label.
pub const CELLS: [EccmCell; ECCM_CELLS] = [
    EccmCell { name: "TCN", label: Some(false), predicted: false, predicted_cf: false },
    EccmCell { name: "TSP", label: Some(false), predicted: false, predicted_cf: true },
    EccmCell { name: "FSN", label: Some(false), predicted: true, predicted_cf: false },
    EccmCell { name: "FCP", label: Some(false), predicted: true, predicted_cf: true },
    EccmCell { name: "FCN", label: Some(true), predicted: false, predicted_cf: false },
    EccmCell { name: "FSP", label: Some(true), predicted: false, predicted_cf: true },
    EccmCell { name: "TSN", label: Some(true), predicted: true, predicted_cf: false },
    EccmCell { name: "TCP", label: Some(true), predicted: true, predicted_cf: true },
    EccmCell { name: "CN", label: None, predicted: false, predicted_cf: false },
    EccmCell { name: "SP", label: None, predicted: false, predicted_cf: true },
    EccmCell { name: "SN", label: None, predicted: true, predicted_cf: false },
    EccmCell { name: "CP", label: None, predicted: true, predicted_cf: true },
];

/// The first of the cells of people without a label.
pub(crate) const UNLABELLED: usize = 8;

/// Number of cells of an [`Eccm`].
pub const ECCM_CELLS: usize = 12;

/// The cells of an [`Eccm`].
pub(crate) type SwitchCells = [u64; ECCM_CELLS];

/// The extended matrix of one direction or of the total: counterfactuals in each of [`CELLS`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Eccm(pub [u64; ECCM_CELLS]);

macro_rules! cells {
    ($($name:ident = $at:literal;)*) => {
        impl Eccm {
            $(#[doc = concat!("The cell ", stringify!($name), ".")]
            pub fn $name(&self) -> u64 {
                self.0[$at]
            })*
        }
    };
}

cells! { tcn = 0; tsp = 1; fsn = 2; fcp = 3; fcn = 4; fsp = 5; tsn = 6; tcp = 7; }

impl Eccm {
    /// A matrix of people who all have a label, at the index 4 label + 2 factual + counterfactual.
    #[cfg(test)]
    pub(crate) const fn labelled([a, b, c, d, e, f, g, h]: [u64; 8]) -> Self {
        Eccm([a, b, c, d, e, f, g, h, 0, 0, 0, 0])
    }

    /// The number of all counterfactuals.
    pub fn n(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Counterfactuals of people with a label.
    pub fn n_labelled(&self) -> u64 {
        self.0[..UNLABELLED].iter().sum()
    }

    /// Positive before and after, regardless of the label.
    pub fn cp(&self) -> u64 {
        self.tcp() + self.fcp() + self.0[11]
    }

    /// Positive before, negative after.
    pub fn sn(&self) -> u64 {
        self.tsn() + self.fsn() + self.0[10]
    }

    /// Negative before, positive after.
    pub fn sp(&self) -> u64 {
        self.fsp() + self.tsp() + self.0[9]
    }

    /// Negative before and after.
    pub fn cn(&self) -> u64 {
        self.fcn() + self.tcn() + self.0[8]
    }

    /// `reason`, or that there are no people at all.
    pub(crate) fn or_empty(&self, reason: Undefined) -> Undefined {
        if self.n() == 0 { Undefined::EmptyGroup } else { reason }
    }

    /// A rate over counterfactuals; `empty` is the reason if its denominator is 0.
    pub(crate) fn rate(&self, numerator: u64, denominator: u64, empty: Undefined) -> Rate {
        Rate { numerator, denominator, empty: self.or_empty(empty) }
    }

    /// A rate over counterfactuals of people with a label.
    pub(crate) fn labelled_rate(&self, numerator: u64, denominator: u64, empty: Undefined) -> Rate {
        let empty = if self.n_labelled() == 0 { Undefined::NoLabel } else { empty };
        self.rate(numerator, denominator, empty)
    }
}

/// One person as scored, by a label of two sides or by classes `C`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredPerson<C = bool, S = Option<f64>> {
    /// The group, in reference order.
    pub group: usize,
    /// The label, where known.
    pub label: Option<C>,
    /// The prediction, where there is a score.
    pub predicted: Option<C>,
    /// The score of [0, 1]; none where missing.
    pub score: S,
    /// The weight in whole units; 1 without weights.
    pub weight: u64,
}

/// One counterfactual of a person as scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredCounterfactual<C = bool, S = Option<f64>> {
    /// The group they are moved to, in reference order.
    pub to: usize,
    /// The prediction, where there is a score.
    pub predicted: Option<C>,
    /// The score of [0, 1]; none where missing.
    pub score: S,
    /// Whether its decision differs from the person's although both scores agree to single
    /// precision, see [`is_rounded_switch`].
    pub rounded: bool,
    /// A bit for each value that is rare in the reference rows of the group; 0 = supported.
    pub unsupported: u64,
}

/// Short constructors for tests.
#[cfg(test)]
impl ScoredPerson {
    /// A person of weight 1.
    pub(crate) fn of(
        group: usize,
        label: Option<bool>,
        predicted: Option<bool>,
        score: Option<f64>,
    ) -> Self {
        ScoredPerson { group, label, predicted, score, weight: 1 }
    }
}

#[cfg(test)]
impl ScoredCounterfactual {
    /// A supported counterfactual whose decision does not depend on rounding.
    pub(crate) fn to(to: usize, predicted: Option<bool>, score: Option<f64>) -> Self {
        ScoredCounterfactual { to, predicted, score, rounded: false, unsupported: 0 }
    }
}

/// If the distance of two numbers is at most this share of the larger one, they may be the same
/// number, written in single precision (a relative error of 2^-24 or less) or with seven digits.
const SAME_TO_SINGLE_PRECISION: f64 = 1.0 / (1 << 20) as f64;

/// Whether two scores of a model have different decisions only because of rounding: then a change
/// of file format or program switches the decision, not the change of group.
#[inline]
pub(crate) fn is_rounded_switch(
    (score, predicted): (f64, Option<bool>),
    (score_cf, predicted_cf): (f64, Option<bool>),
) -> bool {
    let switches =
        predicted.zip(predicted_cf).is_some_and(|(decision, decision_cf)| decision != decision_cf);
    let largest = score.abs().max(score_cf.abs());
    switches && (score - score_cf).abs() <= SAME_TO_SINGLE_PRECISION * largest
}

/// The cell and the two scores of a counterfactual, if both scores exist.
#[inline]
pub(crate) fn scored_pair(
    person: &ScoredPerson,
    counterfactual: &ScoredCounterfactual,
) -> Option<(usize, f64, f64)> {
    let known = (person.predicted, counterfactual.predicted, person.score, counterfactual.score);
    let (Some(predicted), Some(predicted_cf), Some(score), Some(score_cf)) = known else {
        return None;
    };
    Some((cell_index(person.label, predicted, predicted_cf), score, score_cf))
}

/// The index of a cell in [`CELLS`].
#[inline]
pub(crate) fn cell_index(label: Option<bool>, predicted: bool, predicted_cf: bool) -> usize {
    4 * label.map_or(2, usize::from) + 2 * usize::from(predicted) + usize::from(predicted_cf)
}
