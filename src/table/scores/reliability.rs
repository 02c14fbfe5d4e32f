//! The table of reliability: scores in bins against the labels of their people.

use crate::table::row_macro::{SharedText, table};

table! {
    /// `reliability`: people in up to ten bins of as many people each, by their scores, with the
    /// share of them who have the positive label. Equal scores stay in one bin; bins without
    /// people have no row. Only of jobs that ask for the family `scores`.
    pub struct ReliabilityRow in "reliability", version 1, key 7,
    one row per "model, attribute, group, slice, class and bin", written by "measure",
    read by "report, users" {
        arm: SharedText,
        model: SharedText,
        sensitive: SharedText,
        /// group; empty = all
        group: SharedText,
        slice: SharedText,
        class: SharedText,
        /// number of the bin, 0 to 9, from the lowest scores to the highest
        bin: i64,
        /// rows with a label, a score and a weight above 0
        n: i64,
        /// lowest score as a share of its scale; from 200,000 rows on that of a cell
        score_lo: f64,
        /// highest score as a share of its scale; from 200,000 rows on that of a cell
        score_hi: f64,
        /// mean score as a share of its scale, by weight
        mean_score: f64,
        /// rows with the positive label
        positives: i64,
        /// share with the positive label, by weight
        observed: f64,
        /// lower end of Wilson's interval of that share, on the effective number of people where
        /// these have weights or several rows; null = not requested
        lo: Option<f64>,
        /// upper end; null as lo
        hi: Option<f64>,
    }
}
