//! The tables of how good counterfactuals are.

use crate::table::row_macro::{SharedText, columns, tables};

columns! {
    /// A counterfactual set, its attribute and an ordered pair of groups.
    pub struct SetPair {
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the factual group; empty = all pairs of groups together
        from_group: SharedText,
        /// the counterfactual group; empty = all pairs of groups together
        to_group: SharedText,
    }
}

tables! {
    /// `cf_quality`: one row per counterfactual set, attribute, ordered pair of groups and metric.
    pub struct CfQualityRow in "cf_quality", version 1, key 5,
    one row per "set, attribute, ordered pair of groups and metric",
    written by "measure", read by "gate, report, explain" {
        ..pair: SetPair,
        /// id of the measure: n_cf, share_discarded, cos_median, ...; `cfaudit explain ID` tells
        /// its formula
        metric: SharedText,
        /// the metric; null = undefined, see `undefined`
        value: Option<f64>,
        /// why the value is null: nothing_to_average, no_filter; empty if it is not
        undefined: SharedText,
    }

    /// `cf_features`: one row per counterfactual set, attribute, ordered pair of groups, feature
    /// and metric.
    pub struct CfFeatureRow in "cf_features", version 1, key 6,
    one row per "set, attribute, ordered pair of groups, feature and metric",
    written by "measure", read by "report, explain" {
        ..pair: SetPair,
        /// name of the feature
        feature: SharedText,
        /// id of the measure: share_changed, dist_after, out_of_range, ...; `cfaudit explain ID`
        /// tells its formula
        metric: SharedText,
        /// the metric; null = undefined, see `undefined`
        value: Option<f64>,
        /// why the value is null: nothing_to_average, not_a_number (levels have none, and a number
        /// that never varies); empty if it is not
        undefined: SharedText,
    }

    /// `cf_distributions`: one row per counterfactual set, attribute, ordered pair of groups,
    /// feature, side and bin.
    pub struct CfDistributionRow in "cf_distributions", version 3, key 7,
    one row per "set, attribute, ordered pair of groups (the 30 that are left farthest from their \
                 target), feature, side and bin",
    written by "measure", read by "report" {
        ..pair: SetPair,
        /// name of the feature
        feature: SharedText,
        /// original: rows with a valid counterfactual; counterfactual; target: reference rows of
        /// the target group
        side: SharedText,
        /// number of the bin, from 0; levels the 30 most frequent in the reference first, then the
        /// others together
        bin: i64,
        /// the level, which may be empty; empty for a number, and `(rare)` for the others together:
        /// those beyond the 30 most frequent, and those that fewer than 5 people of the reference
        /// have.
        level: SharedText,
        /// left edge of the bin, part of it; values below the first count in it; null = levels
        bin_lo: Option<f64>,
        /// right edge of the bin, part of it only in the last bin; values above count in that; null
        /// = levels
        bin_hi: Option<f64>,
        /// how many
        n: i64,
        /// share of the side; of target the mean of the shares in its classes, weighted by the
        /// counterfactuals of the class as in `dist_after` of cf_features, so that n is not behind
        /// it; null = the side is empty
        share: Option<f64>,
    }

    /// `cf_examples`: one row per model, counterfactual set, attribute, person who switches and
    /// feature that models read. Absent unless the job asks for people by `report.cases`.
    pub struct CfExampleRow in "cf_examples", version 3, key 7,
    one row per "model, set, attribute, person who switches and feature",
    written by "count", read by "report" {
        model: SharedText,
        /// name of the counterfactual set
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the factual group
        from_group: SharedText,
        /// the counterfactual group
        to_group: SharedText,
        /// number of the person, from 0, in the order of a seeded hash of the row; the row itself
        /// is not named
        example: i64,
        /// name of the feature
        feature: SharedText,
        /// its value in the row as it is; null = missing
        value: Option<SharedText>,
        /// its value in the counterfactual; null = missing
        value_cf: Option<SharedText>,
        /// 1 where the two differ, else 0
        changed: bool,
        /// the score of the row as it is, in the numbers of the model; null = missing, or several
        /// classes
        score: Option<f64>,
        /// the score of the counterfactual; null as score
        score_cf: Option<f64>,
        /// the decision about the row as it is: 1 = positive, 0 = negative; null = several classes
        decision: Option<bool>,
        /// the decision about the counterfactual, which is the other one; null as decision
        decision_cf: Option<bool>,
        /// of several classes the one predicted for the row as it is; empty = two sides
        class: SharedText,
        /// of several classes the one predicted for the counterfactual, which is another one;
        /// empty = two sides
        class_cf: SharedText,
    }

    /// `cf_map`: one row per counterfactual set, attribute, ordered pair of groups and row that is
    /// drawn. Absent unless the job asks for maps by `report.map`.
    pub struct CfMapRow in "cf_map", version 1, key 5,
    one row per "set, attribute, ordered pair of groups (the 30 that are left farthest from their \
                 target) and row that is drawn; without components one without groups",
    written by "measure", read by "report" {
        ..pair: SetPair,
        /// number of the row, from 0, in the order of a seeded hash; the row itself is not named
        number: i64,
        /// where the row lies on the first principal component of the reference, in its standard
        /// deviations, the mean at 0; null = undefined, see `undefined`
        x: Option<f64>,
        /// where it lies on the second; null as x
        y: Option<f64>,
        /// where its counterfactual lies on the first; null as x
        x_cf: Option<f64>,
        /// where its counterfactual lies on the second; null as x
        y_cf: Option<f64>,
        /// share of the variance of the reference on the first component; null as x
        share_x: Option<f64>,
        /// share of it on the second; null as x
        share_y: Option<f64>,
        /// 1 where one of the two has the same variance as the next component, so that which is
        /// which is arbitrary, else 0
        tied: bool,
        /// why there is no map: few_components (the reference varies in fewer than two directions),
        /// many_columns (more than 1500); empty if there is
        undefined: SharedText,
    }
}

/// What is in `cf_distributions` for the levels that are not named.
pub const RARE: &str = "(rare)";
