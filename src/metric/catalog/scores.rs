//! Metrics of scores as such: whether they rank people by their label, and mean what they say.
//!
//! The values are made by [`scores`](crate::metric::value::scores) from the scores of all people
//! with a label; the records here say what they mean.

use super::place::PagePlace::TablesOnly;
use crate::metric::{Metric, MetricFamily, MetricUnit, Reads, ScoreReading};

const DELONG: &str = "DeLong et al. 1988, Comparing the areas under two or more correlated ROC \
    curves";
const XAUC: &str = "Kallus and Zhou 2019, The fairness of risk scores beyond classification: \
    bipartite ranking and the xAUC metric";
const BRIER: &str = "Brier 1950, Verification of forecasts expressed in terms of probability";
const COX: &str = "Cox 1958, Two further applications of a model for binary regression";
const ECCE: &str = "Arrieta-Ibarra et al. 2022, Metrics of calibration for probabilistic \
    predictions";
const INFINITY: f64 = f64::INFINITY;
const ONE_CLASS: &str = "the group is empty, or nobody in it has one of the two labels";
const EMPTY: &str = "the group is empty";
const OPERAND: &str = "the metric is undefined in one of the groups";

const fn metric(
    (id, symbol): (&'static str, &'static str),
    name: &'static str,
    (range, ideal): ((f64, f64), Option<f64>),
    source: &'static str,
    reading: ScoreReading,
) -> Metric {
    let (sign, undefined_when, unit) = match reading {
        ScoreReading::AucGap | ScoreReading::CrossAucGap | ScoreReading::BrierGap => {
            ("A minus B: above 0 the value of A is larger", OPERAND, MetricUnit::Signed)
        }
        ScoreReading::ObservedExpected => (
            "above 1 more people are positive than the scores say",
            "the group is empty, or all scores are 0",
            MetricUnit::Times,
        ),
        ScoreReading::Intercept => {
            ("above 0 more people are positive than the scores say", ONE_CLASS, MetricUnit::Number)
        }
        ScoreReading::Slope => (
            "below 1 the scores are too extreme, above 1 not extreme enough",
            "nobody has one of the two labels, all scores are equal, or a score separates the \
             labels",
            MetricUnit::Number,
        ),
        ScoreReading::EcceP => (
            "a probability: small where the scores are not calibrated",
            "the group is empty, all scores are 0 or 1, or a person may have several rows",
            MetricUnit::Number,
        ),
        ScoreReading::Auc | ScoreReading::CrossAuc => {
            ("0.5 is chance, below it the order is reversed", ONE_CLASS, MetricUnit::Number)
        }
        ScoreReading::Brier | ScoreReading::Ecce | ScoreReading::EcceDistance => {
            ("a distance: never negative", EMPTY, MetricUnit::Number)
        }
    };
    Metric {
        id,
        symbol,
        name,
        family: MetricFamily::Scores,
        range,
        ideal,
        sign,
        undefined_when,
        source,
        needs_label: true,
        reads: Reads::Scored(reading),
        unit,
        shown: &[TablesOnly],
        ..Metric::UNSTATED
    }
}

const SHARE: (f64, f64) = (0.0, 1.0);
const DISTANCE: (f64, f64) = (-1.0, 1.0);

/// The list of this family.
pub(crate) const METRICS: &[Metric] = &[
    Metric {
        formula: "share of pairs of a positive and a negative person in which the positive one has \
                  the higher score, ties half",
        ..metric(
            ("auc", "AUC"),
            "area under the ROC curve",
            (SHARE, Some(1.0)),
            DELONG,
            ScoreReading::Auc,
        )
    },
    Metric {
        formula: "AUC_A - AUC_B",
        ..metric(
            ("auc_difference", "AUC_difference"),
            "difference in AUC",
            (DISTANCE, Some(0.0)),
            DELONG,
            ScoreReading::AucGap,
        )
    },
    Metric {
        formula: "AUC of the positive people of A over the negative people of B",
        ..metric(
            ("xauc", "xAUC"),
            "AUC across groups",
            (SHARE, Some(1.0)),
            XAUC,
            ScoreReading::CrossAuc,
        )
    },
    Metric {
        formula: "xAUC(A, B) - xAUC(B, A)",
        ..metric(
            ("xauc_difference", "xAUC_difference"),
            "difference in AUC across groups",
            (DISTANCE, Some(0.0)),
            XAUC,
            ScoreReading::CrossAucGap,
        )
    },
    Metric {
        formula: "sum w (s - y)^2 / sum w, y 1 for the positive label and else 0",
        ..metric(("brier", "Brier"), "Brier score", (SHARE, Some(0.0)), BRIER, ScoreReading::Brier)
    },
    Metric {
        formula: "Brier_A - Brier_B",
        ..metric(
            ("brier_difference", "Brier_difference"),
            "difference in Brier score",
            (DISTANCE, Some(0.0)),
            BRIER,
            ScoreReading::BrierGap,
        )
    },
    Metric {
        formula: "sum w y / sum w s",
        ..metric(
            ("observed_expected", "O/E"),
            "observed over expected positives",
            ((0.0, INFINITY), Some(1.0)),
            "an addition of cfaudit; a ratio common in the validation of risk models",
            ScoreReading::ObservedExpected,
        )
    },
    Metric {
        formula: "a of the logistic regression of y on a + ln(s / (1 - s))",
        ..metric(
            ("calibration_intercept", "CalA"),
            "calibration intercept",
            ((-INFINITY, INFINITY), Some(0.0)),
            COX,
            ScoreReading::Intercept,
        )
    },
    Metric {
        formula: "b of the logistic regression of y on a + b ln(s / (1 - s))",
        ..metric(
            ("calibration_slope", "CalB"),
            "calibration slope",
            ((-INFINITY, INFINITY), Some(1.0)),
            COX,
            ScoreReading::Slope,
        )
    },
    Metric {
        formula: "max C - min C, C(u) = sum over scores up to u of w (y - s) / W, 0 included",
        ..metric(
            ("ecce", "ECCE"),
            "cumulative calibration error, range",
            (SHARE, Some(0.0)),
            ECCE,
            ScoreReading::Ecce,
        )
    },
    Metric {
        formula: "max |C|, C as for ecce",
        ..metric(
            ("ecce_mad", "ECCE_MAD"),
            "cumulative calibration error, distance",
            (SHARE, Some(0.0)),
            ECCE,
            ScoreReading::EcceDistance,
        )
    },
    Metric {
        formula: "P(range of Brownian motion on [0, 1] > ecce / sigma), sigma = sqrt(sum w^2 s (1 \
                  - s)) / W",
        ..metric(
            ("ecce_p", "ECCE_p"),
            "p-value of the cumulative calibration error",
            (SHARE, None),
            ECCE,
            ScoreReading::EcceP,
        )
    },
];
