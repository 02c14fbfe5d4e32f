//! Metrics of scores as such: whether they rank people by their label, and whether they are
//! calibrated.
//!
//! The values are computed by [`scores`](crate::metric::value::scores) from the scores of all
//! people with a label; the records here say what they mean.

use super::place::PagePlace::TablesOnly;
use crate::metric::{GapTransform, Metric, MetricFamily, MetricUnit, Reads, ScoreReading};

const DELONG: &str = "DeLong et al. 1988, Comparing the areas under two or more correlated ROC \
    curves";
const XAUC: &str = "Kallus and Zhou 2019, The fairness of risk scores beyond classification: \
    bipartite ranking and the xAUC metric";
const BRIER: &str = "Brier 1950, Verification of forecasts expressed in terms of probability";
const COX: &str = "Cox 1958, Two further applications of a model for binary regression";
const ECCE: &str = "Arrieta-Ibarra et al. 2022, Metrics of calibration for probabilistic \
    predictions";
const INFINITY: f64 = f64::INFINITY;
const CHANCE: &str = "0.5 is chance, below it the order is reversed";
const ONE_CLASS: &str = "the group is empty, or nobody in it has one of the two labels";

/// What values of one group have in common.
const SCORES: Metric = Metric {
    family: MetricFamily::Scores,
    sign: "a distance: never negative",
    undefined_when: "the group is empty",
    needs_label: true,
    shown: &[TablesOnly],
    ..Metric::UNSTATED
};

/// What differences of two groups have in common.
const GAP: Metric = Metric {
    range: (-1.0, 1.0),
    ideal: Some(0.0),
    sign: "A minus B: above 0 the value of A is larger",
    undefined_when: "the metric is undefined in one of the groups",
    unit: MetricUnit::Signed,
    ..SCORES
};

const fn one(reading: ScoreReading) -> Reads {
    Reads::Scored(reading, None)
}

const fn gap(reading: ScoreReading) -> Reads {
    Reads::Scored(reading, Some(GapTransform::Difference))
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "auc", "AUC", "area under the ROC curve", "share of pairs of a positive and a negative person \
            in which the positive one has the higher score, ties half",
        reads: one(ScoreReading::Auc), ideal: Some(1.0),
        sign: CHANCE, undefined_when: ONE_CLASS,
        source: DELONG, ..SCORES;
    "auc_difference", "AUC_difference", "difference in AUC", "AUC_A - AUC_B",
        reads: gap(ScoreReading::Auc), source: DELONG, ..GAP;
    "xauc", "xAUC", "AUC across groups",
        "AUC of the positive people of A over the negative people of B",
        reads: one(ScoreReading::CrossAuc), ideal: Some(1.0),
        sign: CHANCE, undefined_when: ONE_CLASS,
        source: XAUC, ..SCORES;
    "xauc_difference", "xAUC_difference", "difference in AUC across groups",
        "xAUC(A, B) - xAUC(B, A)", reads: gap(ScoreReading::CrossAuc), source: XAUC,
        ..GAP;
    "brier", "Brier", "Brier score",
        "sum w (s - y)^2 / sum w, y 1 for the positive label and else 0",
        reads: one(ScoreReading::Brier), ideal: Some(0.0), source: BRIER, ..SCORES;
    "brier_difference", "Brier_difference", "difference in Brier score", "Brier_A - Brier_B",
        reads: gap(ScoreReading::Brier), source: BRIER, ..GAP;
    "observed_expected", "O/E", "observed over expected positives", "sum w y / sum w s",
        reads: one(ScoreReading::ObservedExpected), ideal: Some(1.0),
        range: (0.0, INFINITY), unit: MetricUnit::Times,
        sign: "above 1 more people are positive than the scores say",
        undefined_when: "the group is empty, or all scores are 0",
        source: "an addition of cfaudit; a ratio common in the validation of risk models", ..SCORES;
    "calibration_intercept", "CalA", "calibration intercept",
        "a of the logistic regression of y on a + ln(s / (1 - s))",
        reads: one(ScoreReading::Intercept), ideal: Some(0.0),
        range: (-INFINITY, INFINITY), sign: "above 0 more people are positive than the scores say",
        undefined_when: ONE_CLASS, source: COX, ..SCORES;
    "calibration_slope", "CalB", "calibration slope",
        "b of the logistic regression of y on a + b ln(s / (1 - s))",
        reads: one(ScoreReading::Slope), ideal: Some(1.0), range: (-INFINITY, INFINITY),
        sign: "below 1 the scores are too extreme, above 1 not extreme enough", undefined_when:
            "nobody has one of the two labels, all scores are equal, or a score separates the \
            labels", source: COX, ..SCORES;
    "ecce", "ECCE", "cumulative calibration error, range",
        "max C - min C, C(u) = sum over scores up to u of w (y - s) / W, 0 included",
        reads: one(ScoreReading::Ecce), ideal: Some(0.0), source: ECCE, ..SCORES;
    "ecce_mad", "ECCE_MAD", "cumulative calibration error, distance", "max |C|, C as for ecce",
        reads: one(ScoreReading::EcceDistance), ideal: Some(0.0), source: ECCE, ..SCORES;
    "ecce_p", "ECCE_p", "p-value of the cumulative calibration error",
        "P(range of Brownian motion on [0, 1] > ecce / sigma), sigma = sqrt(sum w^2 s (1 - s)) / W",
        reads: one(ScoreReading::EcceP),
        sign: "a probability: small where the scores are not calibrated", undefined_when: "the \
            group is empty, all scores are 0 or 1, or a person may have several rows", source: ECCE,
        ..SCORES;
};
