//! The tables of single people: each audited person with scores and predictions, and what graphs
//! say about the person.

use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `outcomes` (in `rows/`): one row per counterfactual, model and set. In order of model, set
    /// and attribute, then of the source rows.
    pub struct OutcomeRow in "outcomes", version 4, key 8,
    one row per "row, direction, model and set", written by "count", read by "diff, exports" {
        arm: SharedText,
        model: SharedText,
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the row number, or the integer row id, or the xxh3-64 of its text
        row_key: u64,
        to_group: SharedText,
        /// number of the counterfactual among those of the row and group
        cf_index: i64,
        /// fold in which the row was audited; 0 without folds
        fold: i64,
        /// the factual group
        from_group: SharedText,
        /// 1 = positive, 0 = negative; null = none
        label: Option<bool>,
        /// factual prediction; null = no score or decision
        predicted: Option<bool>,
        /// counterfactual prediction; null as predicted
        predicted_cf: Option<bool>,
        /// factual score, in the numbers of the model's scale; null = missing, or decisions without
        /// scores
        score: Option<f64>,
        /// counterfactual score, of a graph-uncertain set its mean over all graphs; null as score
        score_cf: Option<f64>,
        /// what the row weighs, in whole units that are the same for all rows of the run; null =
        /// nobody has a weight
        weight: Option<i64>,
        /// the row id of the source as text, or the row number; null where the job does not name
        /// `run.keep_rows`
        row_id: Option<SharedText>,
        /// hash of whose row it is, the same in every run; null = each row is a person
        person_key: Option<u64>,
    }

    /// `world_scores` (in `rows/`): one row per person and target group of graph-uncertain sets;
    /// only with `run.keep_rows: outcomes` or `all`. In order of model, set and attribute, then of
    /// the source rows. A graph counts as often as it was found.
    pub struct WorldScoreRow in "world_scores", version 1, key 5,
    one row per "row, direction, model and graph-uncertain set", written by "score",
    read by "users" {
        model: SharedText,
        counterfactual: SharedText,
        sensitive: SharedText,
        /// the row number, or the integer row id, or the xxh3-64 of its text
        row_key: u64,
        to_group: SharedText,
        /// graphs in which the counterfactual has a score
        n_graphs: i64,
        /// mean of the scores over these graphs, in the numbers of the model's scale; null =
        /// n_graphs is 0, or the model gives decisions without scores
        score_mean: Option<f64>,
        /// variance of these scores, divisor n_graphs - 1; null as score_mean, or n_graphs is 1
        score_var: Option<f64>,
        /// 2.5 % quantile of these scores; null as score_var
        score_lo: Option<f64>,
        /// 97.5 % quantile of these scores; null as score_var
        score_hi: Option<f64>,
        /// share of these graphs in which the decision differs from that for the row; null = there
        /// is no decision to compare
        switch_share: Option<f64>,
    }
}
