//! The measures of counterfactuals themselves, family `cf_quality`: what the tables `cf_quality`
//! and `cf_features` hold.
//!
//! They do not depend on a model, so they are not computed from counts of predictions like the
//! metrics of the catalog: the values come from `counterfactual::quality`, and the records here
//! describe them. o is a row, c its counterfactual, z a row in standard deviations of the reference
//! (categories as indicators), R the reference. All but the numbers are over valid counterfactuals:
//! those that a filter or a check discarded are in no metric.
//!
//! Source: "Towards Counterfactual Group Fairness" reports the cosine and filters by distance to a
//! centroid; proximity, sparsity and plausibility are what tools for counterfactual explanations
//! (DiCE, CARLA, alibi) report.

/// What a measure is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Name in words.
    pub name: &'static str,
    /// What it is of.
    pub scope: QualityScope,
    /// Formula in plain text.
    pub formula: &'static str,
    /// What it says.
    pub reading: &'static str,
    /// Smallest and largest value; an end may be infinite.
    pub range: (f64, f64),
    /// When it has no value; empty = never.
    pub undefined_when: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

const GRAPH_UNCERTAIN_PAPER: &str =
    "Towards Counterfactual Group Fairness, validation of the counterfactuals";
const TOOLS: &str = "called proximity and sparsity in tools for counterfactual explanations";
const ADDED_BY_CFAUDIT: &str = "cfaudit";
const FLIPTEST: &str = "Black, Yeom and Fredrikson 2020, FlipTest";
const NO_VALID: &str = "no counterfactual is valid";
const NO_TARGET: &str = "no counterfactual has a value and a class that the target group has";
const NOT_A_NUMBER: &str =
    "no counterfactual has a value, or the feature has levels or does not vary";

const COUNT: (f64, f64) = (0.0, f64::INFINITY);
const SHARE: (f64, f64) = (0.0, 1.0);

/// Numbers of a pair of groups.
const NUMBER: QualityMetric = QualityMetric {
    id: "",
    name: "",
    scope: QualityScope::Pair,
    formula: "",
    reading: "",
    range: COUNT,
    undefined_when: "",
    source: ADDED_BY_CFAUDIT,
};

/// Means over valid counterfactuals.
const OVER_VALID: QualityMetric =
    QualityMetric { undefined_when: NO_VALID, source: TOOLS, ..NUMBER };

/// Distances to the centroid of a filter.
const TO_CENTROID: QualityMetric = QualityMetric {
    undefined_when: "the set has no filter, or the filter gives no result",
    source: GRAPH_UNCERTAIN_PAPER,
    ..NUMBER
};

/// Shares and distances of one feature.
const OF_FEATURE: QualityMetric = QualityMetric {
    scope: QualityScope::Feature,
    range: SHARE,
    undefined_when: NO_TARGET,
    ..NUMBER
};

/// Numbers of transport.
const TRANSPORT: QualityMetric =
    QualityMetric { scope: QualityScope::Transport, source: FLIPTEST, ..NUMBER };

/// The measures: of each its id, name, formula and reading, the fields in which it differs from
/// what several have in common, and the name of that.
macro_rules! measures {
    ($($id:literal, $name:literal, $formula:expr, $reading:expr $(, $field:ident: $value:expr)*,
        ..$common:expr;)*) => {
        &[$(QualityMetric {
            id: $id, name: $name, formula: $formula, reading: $reading, $($field: $value,)*
            ..$common
        }),*]
    };
}

/// All measures, in the order of the tables' writer.
pub(crate) const MEASURES: &[QualityMetric] = measures! {
    "n_cf", "counterfactuals made", "number of counterfactuals, valid or not",
        "number of generated counterfactuals", ..NUMBER;
    "n_pairs", "rows with a counterfactual", "number of distinct (row, target group)",
        "rows for which a counterfactual was generated", ..NUMBER;
    "n_pairs_valid", "rows with a valid counterfactual",
        "number of distinct (row, target group) of which at least one counterfactual is valid",
        "rows used by switch metrics", ..NUMBER;
    "n_without_class", "rows without a class",
        "number of (row, target group) whose row lacks the class that the set conditions on",
            "rows without a counterfactual because their label, or the prediction used instead, is \
            missing", ..NUMBER;
    "share_discarded", "share discarded", "1 - valid / n_cf", "share that the filter \
            (`keep_within`) or a check (`range`, `direction`) found implausible; no metric \
            includes them", range: SHARE, undefined_when: "no counterfactual was made", ..NUMBER;
    "cos_median", "median cosine", "median of cos(z(o), z(c))", "1: each counterfactual has the \
            same direction from the mean of the reference as its row; pairs with a length of 0 are \
            excluded", range: (-1.0, 1.0), source: GRAPH_UNCERTAIN_PAPER, ..OVER_VALID;
    "cos_mean", "mean cosine", "mean of cos(z(o), z(c))",
        "like the median cosine, but distant pairs lower it", range: (-1.0, 1.0),
        source: GRAPH_UNCERTAIN_PAPER, ..OVER_VALID;
    "l1_mean", "mean L1 distance", "mean of sum |z(c) - z(o)|",
        "distance of counterfactuals from their rows, over all features", ..OVER_VALID;
    "l2_mean", "mean L2 distance", "mean of sqrt(sum (z(c) - z(o))^2)", "distance of \
            counterfactuals from their rows; one large change counts more than several small \
            ones", ..OVER_VALID;
    "changed_mean", "features changed", "mean number of features of c that differ from o",
        "how much had to change", ..OVER_VALID;
    "unchanged_share", "share unchanged",
        "share of c that differ from o in the sensitive attribute only",
        "for these the set gives the same result as a naive set", range: SHARE, ..OVER_VALID;
    "clamped_mean", "values clamped", "mean number of features whose value in o lies beyond the \
            reference rows of its own group and class",
        "these are clamped to the range of the reference", source: ADDED_BY_CFAUDIT, ..OVER_VALID;
    "fallback_mean", "class given up", "mean number of features mapped without the class", "too \
            few reference rows of the class: differences of base rates between the groups are part \
            of the change", source: ADDED_BY_CFAUDIT, ..OVER_VALID;
    "kept_mean", "features kept", "mean number of features that could not be moved",
        "too few reference rows even without the class: these values stay",
        source: ADDED_BY_CFAUDIT, ..OVER_VALID;
    "plausibility_05", "plausibility, 5 %",
        "5 % quantile of the distance of c to the centroid of its target group and class",
        PLAUSIBILITY_READING, ..TO_CENTROID;
    "plausibility_50", "plausibility, median",
        "median of the distance of c to the centroid of its target group and class",
        PLAUSIBILITY_READING, ..TO_CENTROID;
    "plausibility_95", "plausibility, 95 %",
        "95 % quantile of the distance of c to the centroid of its target group and class",
        PLAUSIBILITY_READING, ..TO_CENTROID;
    "plausibility_real_05", "plausibility of real rows, 5 %", "5 % quantile of the distance of the \
            reference rows of the target group to their own centroid", PLAUSIBILITY_OF_REAL_READING,
        ..TO_CENTROID;
    "plausibility_real_50", "plausibility of real rows, median",
        "median of the distance of the reference rows of the target group to their own centroid",
        PLAUSIBILITY_OF_REAL_READING, ..TO_CENTROID;
    "plausibility_real_95", "plausibility of real rows, 95 %", "95 % quantile of the distance of \
            the reference rows of the target group to their own centroid",
        PLAUSIBILITY_OF_REAL_READING, ..TO_CENTROID;
    "exact", "exact distributions",
        "1 where every distribution of the reference is known exactly, else 0", "0: a number has \
            more than 65 536 distinct values, or categories more than 262 144 combinations, in a \
            stratum; a grid or a sample is used instead", range: SHARE, ..NUMBER;
    "n_without_target", "rows without a target", "number of (row, target group)",
        "no row of the target group could be matched", ..TRANSPORT;
    "approximate_share", "share matched approximately",
        "share of rows in strata with more distinct rows than `max_rows`",
        "these are matched within blocks, so the total distance may not be the smallest possible",
        range: SHARE, undefined_when: NO_MATCH, ..TRANSPORT;
    "transport_cost", "cost of transport", "mean cost of a row and the real row matched with it",
        "in squared standard deviations of the reference; a category that differs counts 1",
        undefined_when: NO_MATCH, ..TRANSPORT;
    "n_values", "values", "number of valid counterfactuals with a value of the feature",
        "the cases behind the shares and means", range: COUNT, undefined_when: "", ..OF_FEATURE;
    "n_compared", "values compared", "number of them whose class the target group has", "the cases \
            behind the distances and `out_of_range`; the other cases have a class that no row of \
            the target group has", range: COUNT, undefined_when: "", ..OF_FEATURE;
    "share_changed", "share changed", "share of c that differ from o in the feature",
        "among rows that have a value",
        undefined_when: "no valid counterfactual and its row have a value", ..OF_FEATURE;
    "mean_change", "mean change", "mean of c - o",
        "in the unit of the feature; positions of ordered levels count as numbers",
        range: (f64::NEG_INFINITY, f64::INFINITY), undefined_when: NOT_A_NUMBER, ..OF_FEATURE;
    "mean_abs_change_sd", "mean size of the change", "mean of |c - o| / sd(R)",
        "in standard deviations of the reference", range: COUNT, undefined_when: NOT_A_NUMBER,
        ..OF_FEATURE;
    "dist_before", "distance to the target, before", "distance of o to R of the target group: \
            Kolmogorov-Smirnov for numbers, total variation for levels; per class, weighted by \
            counterfactuals", "0: the rows look like the target group in this feature",
        ..OF_FEATURE;
    "dist_after", "distance to the target, after", "distance of c to R of the target group: \
            Kolmogorov-Smirnov for numbers, total variation for levels; per class, weighted by \
            counterfactuals", "0: the counterfactuals look like the target group in this feature; \
            larger than before is a warning", ..OF_FEATURE;
    "w1_before", "Wasserstein distance, before", "Wasserstein-1 distance of o to R of the target \
            group / sd(R), per class, weighted by counterfactuals",
        "how far values would have to move, on average", range: COUNT, undefined_when: NOT_A_NUMBER,
        ..OF_FEATURE;
    "w1_after", "Wasserstein distance, after", "Wasserstein-1 distance of c to R of the target \
            group / sd(R), per class, weighted by counterfactuals",
        "how far values would still have to move, on average", range: COUNT,
        undefined_when: NOT_A_NUMBER, ..OF_FEATURE;
    "out_of_range", "out of range", "share of c outside the ends of the target group and class, or \
            with a level that it does not have",
        "0 for mapped features; above 0 for features that may not move, which can stay implausible",
        ..OF_FEATURE;
};

const PLAUSIBILITY_READING: &str = "on the first principal components, in units of the distance of \
    the section's own rows; 1 is the typical distance of a real row";
const PLAUSIBILITY_OF_REAL_READING: &str = "the reference for the plausibility of counterfactuals";
const NO_MATCH: &str = "no row was matched";

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

/// Why a value is not there: the codes of the tables, and what they mean.
pub(crate) const REASONS: &[(&str, &str)] = &[
    (
        NOTHING_TO_AVERAGE,
        "There is no valid counterfactual, or no real row to compare with, so nothing can be \
         averaged.",
    ),
    (NO_FILTER, "The set has no filter (`keep_within`), or the filter gives no result."),
    (NOT_NUMERIC, "The feature has levels, or is a number that never varies in the reference."),
];

#[cfg(test)]
mod tests {
    use super::{MEASURES, REASONS, find};

    use std::collections::BTreeSet;

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
            for text in [measure.name, measure.formula, measure.reading, measure.source] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{id}: `{text}`");
            }
            assert!(measure.range.0 < measure.range.1, "{id}");
        }
        assert_eq!(find("dist_after").map(|m| m.name), Some("distance to the target, after"));
        assert!(find("nsr").is_none());
        assert!(
            REASONS.iter().all(|(code, meaning)| !ids.contains(code) && meaning.ends_with('.'))
        );
    }
}
