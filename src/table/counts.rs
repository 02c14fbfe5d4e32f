//! The tables that values are computed from: counts, histograms of scores and transitions.

use super::key_columns::AuditKey;
use crate::table::row_macro::{SharedText, tables};

/// The sides of `score_shift` whose bins are drawn: before, after, change.
pub(crate) const DRAWN_SIDES: [&str; 3] =
    ["drawn_original", "drawn_counterfactual", "drawn_change"];

/// The scope of the rows without a group, which are in no value.
pub(crate) const NO_GROUP: &str = "no_group";

tables! {
    /// `counts`: one row per key and cell. The scope of rows as they are is group, total or
    /// no_group, that of counterfactuals direction or total.
    pub struct CountRow in "counts", version 5, key 11,
    one row per "key and cell", written by "measure", read by "gate, report, diff" {
        ..key: AuditKey,
        /// 1 = positive, 0 = negative, empty = no label, where anybody has none; of several classes
        /// the name of the class
        label: SharedText,
        /// factual prediction: 1 or 0, or the name of the class; empty = no score, where anybody
        /// has none
        predicted: SharedText,
        /// counterfactual prediction: 1, 0 or the name of the class; empty where no counterfactual
        /// is involved
        predicted_cf: SharedText,
        /// factual rows or counterfactuals in the cell, counted without weights; of a
        /// graph-uncertain set by the mean score of each person over all graphs
        n: i64,
        /// what the people of the cell weigh, once per counterfactual; null = no weights in the job
        weight: Option<f64>,
        /// sum of squared score changes in units of 2^-52, each pair once regardless of its weight;
        /// null where no counterfactual is involved, and of several classes
        shift_sq: Option<i128>,
        /// of n those whose two scores agree to single precision (their distance is at most 2^-20
        /// of the larger) and stand on two sides of the threshold, so that rounding may be the
        /// whole switch; null where no counterfactual is involved, and of several classes
        n_rounded: Option<i64>,
        /// what the people of n_rounded weigh, once per counterfactual; null = no weights in the
        /// job, or n_rounded is null
        weight_rounded: Option<f64>,
    }

    /// `score_shift`: one row per key, side and bin.
    pub struct ScoreShiftRow in "score_shift", version 4, key 11,
    one row per "key, side and bin", written by "measure", read by "report" {
        ..key: AuditKey,
        class: SharedText,
        /// original, counterfactual, or change (counterfactual minus original); drawn_original,
        /// drawn_counterfactual and drawn_change hold the same cases of everybody, of at most 6
        /// groups, in at least 20 bins over the range in which 99 % lie, unless a bin would be
        /// narrower than 1/1,600 (1/1,280 of changes), the first and last bin with all beyond
        side: SharedText,
        /// left edge of the bin, part of it; scores in [0, 1], changes in [-1, 1]
        bin_lo: f64,
        /// right edge of the bin, part of it only in the last bin of all scores or changes
        bin_hi: f64,
        /// counterfactuals in the bin, counted without weights; of a graph-uncertain set mean
        /// scores over all graphs
        n: i64,
        /// what their people weigh, once per counterfactual; null = no weights in the job
        weight: Option<f64>,
    }

    /// `transitions`: one row per key and two classes: how often predictions of one turn into the
    /// other. Only where the label has several classes.
    pub struct TransitionRow in "transitions", version 2, key 10,
    one row per "key, class before and class after (another one)",
    written by "measure", read by "report" {
        ..key: AuditKey,
        /// the factual prediction
        from_class: SharedText,
        /// the counterfactual prediction
        to_class: SharedText,
        /// share of the counterfactuals of people predicted from_class; null = undefined, see
        /// `undefined`
        value: Option<f64>,
        /// why the value is null; empty if it is not
        undefined: SharedText,
        /// counterfactuals predicted to_class, counted without weights
        numerator: i64,
        /// counterfactuals of people predicted from_class, counted without weights
        denominator: i64,
        /// what those on top weigh: over weight_denominator it is the value; null = no weights in
        /// the job
        weight_numerator: Option<f64>,
        /// what those below weigh; null as weight_numerator
        weight_denominator: Option<f64>,
        /// with `data.person` or `data.weight` the persons with a counterfactual below the share
        /// (that weighs more than 0); null = neither in the job
        denominator_persons: Option<i64>,
        /// lower end of the interval; null = none
        lo: Option<f64>,
        /// upper end of the interval; null = none
        hi: Option<f64>,
        /// level of the interval; null = none
        level: Option<f64>,
        /// method of the interval, a word of `cfaudit explain`, as `wilson`; empty = none
        interval: SharedText,
        /// the method in full, or why there is no interval
        ci_method: SharedText,
        /// small_group, small_denominator, selective_labels; joined by `,`; empty = none
        flags: SharedText,
    }
}
