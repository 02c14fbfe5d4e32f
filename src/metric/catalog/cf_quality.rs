//! The measures of counterfactuals themselves, family `cf_quality`: what the tables `cf_quality`
//! and `cf_features` hold.
//!
//! They do not depend on a model, so they are not computed from counts of predictions like the
//! metrics of the catalog: the values come from `counterfactual::quality`; the records here say
//! which there are, and `texts.txt` what they mean. In its formulas o is a row, c its
//! counterfactual, z a row in standard deviations of the reference (categories as indicators), R
//! the reference. All but the numbers are over valid counterfactuals: those that a filter or a
//! check discarded are in no metric.
//!
//! Source: "Towards Counterfactual Group Fairness" reports the cosine and filters by distance to a
//! centroid; proximity, sparsity and plausibility are what tools for counterfactual explanations
//! (DiCE, CARLA, alibi) report.

use serde::Serialize;

/// What a measure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QualityScope {
    /// Of all counterfactuals of a set and attribute, or of an ordered pair of groups: table
    /// `cf_quality`.
    Pair,
    /// The same, written for transport only.
    Transport,
    /// Of one feature: table `cf_features`.
    Feature,
}

/// One measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QualityMetric {
    /// The id in tables.
    pub id: &'static str,
    /// What it is of.
    pub scope: QualityScope,
    /// Smallest and largest value; an end may be infinite.
    pub range: (f64, f64),
}

const COUNT: (f64, f64) = (0.0, f64::INFINITY);
const SHARE: (f64, f64) = (0.0, 1.0);

/// Numbers of a pair of groups.
const NUMBER: QualityMetric = QualityMetric { id: "", scope: QualityScope::Pair, range: COUNT };

/// Shares and distances of one feature.
const OF_FEATURE: QualityMetric =
    QualityMetric { scope: QualityScope::Feature, range: SHARE, ..NUMBER };

/// Numbers of transport.
const TRANSPORT: QualityMetric = QualityMetric { scope: QualityScope::Transport, ..NUMBER };

/// The measures: of each its id, the fields in which it differs from what several have in common,
/// and the name of that.
macro_rules! measures {
    ($($id:literal $(, $field:ident: $value:expr)*, ..$common:expr;)*) => {
        &[$(QualityMetric { id: $id, $($field: $value,)* ..$common }),*]
    };
}

/// All measures, in the order of the tables' writer.
pub(crate) const MEASURES: &[QualityMetric] = measures! {
    "n_cf", ..NUMBER;
    "n_pairs", ..NUMBER;
    "n_pairs_valid", ..NUMBER;
    "n_without_class", ..NUMBER;
    "share_discarded", range: SHARE, ..NUMBER;
    "cos_median", range: (-1.0, 1.0), ..NUMBER;
    "cos_mean", range: (-1.0, 1.0), ..NUMBER;
    "l1_mean", ..NUMBER;
    "l2_mean", ..NUMBER;
    "changed_mean", ..NUMBER;
    "unchanged_share", range: SHARE, ..NUMBER;
    "clamped_mean", ..NUMBER;
    "fallback_mean", ..NUMBER;
    "kept_mean", ..NUMBER;
    "unknown_share", range: SHARE, ..NUMBER;
    "plausibility_05", ..NUMBER;
    "plausibility_50", ..NUMBER;
    "plausibility_95", ..NUMBER;
    "plausibility_real_05", ..NUMBER;
    "plausibility_real_50", ..NUMBER;
    "plausibility_real_95", ..NUMBER;
    "exact", range: SHARE, ..NUMBER;
    "n_without_target", ..TRANSPORT;
    "approximate_share", range: SHARE, ..TRANSPORT;
    "transport_cost", ..TRANSPORT;
    "n_values", range: COUNT, ..OF_FEATURE;
    "n_compared", range: COUNT, ..OF_FEATURE;
    "share_changed", ..OF_FEATURE;
    "mean_change", range: (f64::NEG_INFINITY, f64::INFINITY), ..OF_FEATURE;
    "mean_abs_change_sd", range: COUNT, ..OF_FEATURE;
    "dist_before", ..OF_FEATURE;
    "dist_after", ..OF_FEATURE;
    "w1_before", range: COUNT, ..OF_FEATURE;
    "w1_after", range: COUNT, ..OF_FEATURE;
    "out_of_range", ..OF_FEATURE;
};

/// The measure of an id.
pub(crate) fn find(id: &str) -> Option<&'static QualityMetric> {
    MEASURES.iter().find(|measure| measure.id == id)
}

/// There is nothing to average.
pub(crate) const NOTHING_TO_AVERAGE: &str = "nothing_to_average";
/// The set runs no filter.
pub(crate) const NO_FILTER: &str = "no_filter";
/// The feature is not a number that varies.
pub(crate) const NOT_NUMERIC: &str = "not_a_number";

/// Why a value is not there: the codes of the tables.
pub(crate) const REASONS: [&str; 3] = [NOTHING_TO_AVERAGE, NO_FILTER, NOT_NUMERIC];

#[cfg(test)]
mod tests {
    use super::{MEASURES, REASONS, find};

    use std::collections::BTreeSet;

    use crate::metric::rate::meaning_of_code;

    #[test]
    fn the_list_is_sound() {
        let mut ids = BTreeSet::new();
        for measure in MEASURES {
            let id = measure.id;
            assert!(
                ids.insert(id) && crate::metric::catalog::find(id).is_none(),
                "{id} occurs twice"
            );
            assert!(
                id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'),
                "{id}"
            );
            assert!(measure.range.0 < measure.range.1, "{id}");
        }
        assert!(find("nsr").is_none());
        let means = |code| meaning_of_code(code).ends_with('.');
        assert!(REASONS.into_iter().all(|code| !ids.contains(code) && means(code)));
    }
}
