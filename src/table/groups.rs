//! The tables of groups and of fitted thresholds.

use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `groups`: one row per attribute, group and slice.
    pub struct GroupRow in "groups", version 4, key 4,
    one row per "model, attribute, group and slice", written by "measure",
    read by "gate, report, diff" {
        model: SharedText,
        sensitive: SharedText,
        /// the group; empty = all declared groups
        group: SharedText,
        slice: SharedText,
        /// audited rows of the group, counted without weights
        n: i64,
        /// persons whose rows these are; null = no `data.person` in the job
        persons: Option<i64>,
        /// what they weigh together; null = no weights in the job
        weight: Option<f64>,
        /// of them with the positive label, or one of the positive classes; null = no label in the
        /// job
        n_positive: Option<i64>,
        /// of them with a positive prediction, or one of the positive classes, with or without a
        /// label
        n_predicted_positive: i64,
        /// of them without a label
        n_missing_label: i64,
        /// of them without a score
        n_missing_score: i64,
        /// of their counterfactuals without a score, over all sets
        n_missing_counterfactual_score: i64,
        /// of them with a score exactly at the threshold: the rule `threshold_rule` decides them;
        /// of several classes those with the highest score in more than one, where the class named
        /// first is taken
        n_scores_equal_threshold: i64,
        /// of those who count, without a value of the column of strata; null = the job names none
        n_missing_stratum: Option<i64>,
    }

    /// `thresholds`: one row per model and fold with a fitted threshold. Only of jobs that fit one.
    pub struct ThresholdRow in "thresholds", version 1, key 3,
    one row per "model and fold with a fitted threshold",
    written by "measure", read by "report, users" {
        arm: SharedText,
        model: SharedText,
        /// fold whose training rows it was fitted to, from 0; 0 without folds
        fold: i64,
        /// what it was to reach, as the job writes it
        objective: SharedText,
        /// the fitted threshold: positive where score >= threshold; above the largest score where
        /// nobody is
        threshold: f64,
        /// training rows with a score
        n_rows: i64,
        /// positive ones among them
        n_positive: i64,
        /// share of the positive training rows at or above it, by weight
        tpr: f64,
        /// share of the negative training rows below it, by weight
        tnr: f64,
    }
}
