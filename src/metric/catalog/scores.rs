//! Metrics of scores as such: whether they rank people by their label, and whether they are
//! calibrated.
//!
//! The values are computed by [`scores`](crate::metric::value::scores) from the scores of all
//! people with a label; the records here say what they mean.

use super::place::PagePlace::TablesOnly;
use crate::metric::{GapTransform, Metric, MetricFamily, MetricUnit, Reads, ScoreReading};

const INFINITY: f64 = f64::INFINITY;

/// What values of one group have in common.
const SCORES: Metric = Metric {
    family: MetricFamily::Scores,
    needs_label: true,
    shown: &[TablesOnly],
    ..Metric::UNSTATED
};

/// What differences of two groups have in common.
const GAP: Metric =
    Metric { range: (-1.0, 1.0), ideal: Some(0.0), unit: MetricUnit::Signed, ..SCORES };

const fn one(reading: ScoreReading) -> Reads {
    Reads::Scored(reading, None)
}

const fn gap(reading: ScoreReading) -> Reads {
    Reads::Scored(reading, Some(GapTransform::Difference))
}

/// The list of this family.
pub(crate) const METRICS: &[Metric] = records! {
    "auc", "AUC", reads: one(ScoreReading::Auc), ideal: Some(1.0), ..SCORES;
    "auc_difference", "AUC_difference", reads: gap(ScoreReading::Auc), ..GAP;
    "xauc", "xAUC", reads: one(ScoreReading::CrossAuc), ideal: Some(1.0), ..SCORES;
    "xauc_difference", "xAUC_difference", reads: gap(ScoreReading::CrossAuc), ..GAP;
    "brier", "Brier", reads: one(ScoreReading::Brier), ideal: Some(0.0), ..SCORES;
    "brier_difference", "Brier_difference", reads: gap(ScoreReading::Brier), ..GAP;
    "observed_expected", "O/E", reads: one(ScoreReading::ObservedExpected), ideal: Some(1.0),
        range: (0.0, INFINITY), unit: MetricUnit::Times, ..SCORES;
    "calibration_intercept", "CalA", reads: one(ScoreReading::Intercept), ideal: Some(0.0),
        range: (-INFINITY, INFINITY), ..SCORES;
    "calibration_slope", "CalB", reads: one(ScoreReading::Slope), ideal: Some(1.0),
        range: (-INFINITY, INFINITY), ..SCORES;
    "ecce", "ECCE", reads: one(ScoreReading::Ecce), ideal: Some(0.0), ..SCORES;
    "ecce_mad", "ECCE_MAD", reads: one(ScoreReading::EcceDistance), ideal: Some(0.0), ..SCORES;
    "ecce_p", "ECCE_p", reads: one(ScoreReading::EcceP), ..SCORES;
};
