//! The table `metrics`: one value with its interval.

use std::path::Path;

use super::key_columns::AuditKey;
use crate::error::Result;
use crate::table::file::each_row;
use crate::table::row_macro::{SharedText, tables};
use crate::table::support::SUPPORTED;

tables! {
    /// `metrics`: one row per key and metric.
    pub struct MetricRow in "metrics", version 14, key 11,
    one row per "key and metric", written by "measure",
    read by "gate, report, diff, exports, explain" {
        ..key: AuditKey,
        class: SharedText,
        /// all; or supported, of the families ccm and eccm: only the counterfactuals whose values
        /// the reference rows of the group hold (table `support`)
        support: SharedText,
        /// id of the metric; `cfaudit explain ID` tells its formula
        metric: SharedText,
        /// family of the metric: performance, group, ccm, eccm, shift, clarify, scores,
        /// amounts, graph
        family: SharedText,
        /// the metric, of a graph-uncertain set its mean over the graphs in which it is defined;
        /// null = undefined, see `undefined`
        value: Option<f64>,
        /// why the value is null; empty if it is not
        undefined: SharedText,
        /// cases on top of a rate, counted without weights; null where the metric is not a rate of
        /// counts, and where graphs differ
        numerator: Option<i64>,
        /// cases below a rate, counted without weights; null where the metric is not a rate of
        /// counts
        denominator: Option<i64>,
        /// what the cases on top of a rate weigh: over weight_denominator it is the value; null =
        /// no weights in the job, or no rate of counts
        weight_numerator: Option<f64>,
        /// what the cases below a rate weigh; null as weight_numerator
        weight_denominator: Option<f64>,
        /// people whom the metric counts: those with the scores that it needs, and with a label
        /// where it needs one; of jobs with `data.person` their rows
        n_rows: i64,
        /// those whose rows n_rows are: persons with `data.person`, else people; with `data.weight`
        /// only such that weigh more than 0; null = neither in the job
        n_persons: Option<i64>,
        /// people or persons with a row of positive weight below a rate; of a
        /// graph-uncertain set at least so many persons, where the denominator depends on what
        /// switches; null where the metric is not a rate, and without `data.person` and
        /// `data.weight` also where nobody counts more than once below it
        denominator_persons: Option<i64>,
        /// effective number of cases: denominator, with weights Kish's number of rows, over the
        /// design effect of persons; of a mean over several graphs whose denominator is the same
        /// in all of them that of its people; else null as denominator_persons
        n_eff: Option<f64>,
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
        /// how the value of `ft` was found, as a JSON object: people who are `eligible`, those of
        /// them `looked_at`, those `missing` a feature, and how many `neighbours` vote; empty =
        /// another metric
        args: SharedText,
        /// lower percentile of the values of all causal graphs, each with the coefficients of its
        /// own bootstrap, at the level of `metrics.worlds`; null = no graphs, or fewer than two
        /// with a value
        world_lo: Option<f64>,
        /// upper percentile of the values of all causal graphs; null as world_lo
        world_hi: Option<f64>,
        /// variance of the values of all causal graphs, divisor M - 1; the sum of between_var,
        /// within_var and mixed_var where these are known; null as world_lo
        world_var: Option<f64>,
        /// level of the percentiles over graphs; null as world_lo
        world_level: Option<f64>,
        /// lower percentile of the values of the same graphs with equations fitted on all training
        /// rows: what other graphs give, their coefficients apart; null as world_lo, or a graph has
        /// no value then
        between_lo: Option<f64>,
        /// upper percentile of these values; null as between_lo
        between_hi: Option<f64>,
        /// variance of these values; null as between_lo
        between_var: Option<f64>,
        /// lower percentile of what a bootstrap's own coefficients change in the value of its
        /// graph, around the mean of the values behind between_lo: what refits of the coefficients
        /// give; of a rate it may lie below 0; null as between_lo, and of a single bootstrap, which
        /// refits nothing
        within_lo: Option<f64>,
        /// upper percentile of that; of a rate it may lie above 1; null as within_lo
        within_hi: Option<f64>,
        /// variance of that; null as within_lo
        within_var: Option<f64>,
        /// twice the covariance of both, which may be negative; null as within_lo
        mixed_var: Option<f64>,
        /// mean over graphs in which every bootstrap weighs the same, regardless of the size of its
        /// class; null = no graphs, or undefined in all
        world_even: Option<f64>,
        /// causal graphs in which the metric has a value; null = no graphs
        n_worlds: Option<i64>,
        /// causal graphs in which it has none, and which are left out; null = no graphs
        n_worlds_undefined: Option<i64>,
        /// lower end of what sampling noise gives: 2.5 % quantile of the repeats, below 40
        /// repeats the smallest; null = no placebo, or undefined in every repeat
        placebo_lo: Option<f64>,
        /// upper end of what sampling noise gives: 97.5 % quantile or largest; null as
        /// placebo_lo
        placebo_hi: Option<f64>,
        /// repeats of the placebo; null = none asked for
        placebo_repeats: Option<i64>,
        /// lower end of the values that other rows to learn from give (`doubt` of the set):
        /// quantile at the level of `metrics.interval`, below 40 repeats the smallest; null = not
        /// asked for, no value, or fewer than 95 % of the repeats give one
        fit_lo: Option<f64>,
        /// upper end of these values: quantile or largest; null as fit_lo
        fit_hi: Option<f64>,
        /// variance of these values, divisor fit_repeats - 1; null as fit_lo
        fit_var: Option<f64>,
        /// repeats in which the metric has a value; null = no `doubt` in the set
        fit_repeats: Option<i64>,
        /// lower end of the values that other trainings of the model give (`doubt` of the model):
        /// quantile at the level of `metrics.interval`, below 40 repeats the smallest; null = not
        /// asked for, no value, or fewer than 95 % of the repeats give one
        training_lo: Option<f64>,
        /// upper end of these values: quantile or largest; null as training_lo
        training_hi: Option<f64>,
        /// variance of these values, divisor training_repeats - 1; null as training_lo
        training_var: Option<f64>,
        /// repeats in which the metric has a value; null = no `doubt` in the model, or not measured
        /// (slices, the flip test, scores as such)
        training_repeats: Option<i64>,
        /// the value without any disparity; null = none is stated
        ideal: Option<f64>,
        /// small_group, small_denominator, sampled, selective_labels, rate_of_one (of a ratio,
        /// which Katz's interval takes as certain), negative_part (of a ratio, which then says
        /// nothing), binned (scores are counted in 65,536 cells),
        /// unsupported (1 % of the cases below the value or 10 people have no supported
        /// counterfactual), attribute_follows (in graphs of
        /// the set, from another variable: no group is named at a disadvantage); joined by `,`;
        /// empty = none
        flags: SharedText,
        /// the group put at a disadvantage: only where the interval (of graphs also theirs) leaves
        /// out the ideal and, of switches, where `min_denominator` people switch and the interval
        /// lies beyond the placebo; empty = not clear, not stated, or all others
        impaired_group: SharedText,
        /// of worst_case the group with the highest value, or the one furthest from all; empty =
        /// another scope, or no value
        highest_group: SharedText,
        /// of worst_case the group with the lowest value; empty as highest_group, and for a
        /// distance to all
        lowest_group: SharedText,
        /// of worst_case the groups without a value, which are left out; null = another scope
        groups_undefined: Option<i64>,
    }
}

impl MetricRow {
    /// The code of why it is undefined: a value about counterfactuals has no people if none of
    /// these is valid, though the group may be large.
    pub(crate) fn why_undefined(&self) -> &str {
        match (self.undefined.as_str(), self.family.as_str()) {
            ("empty_group", "ccm" | "eccm" | "shift") => "no_valid_counterfactual",
            (code, _) => code,
        }
    }
}

/// The table `metrics` by whom its values are about.
#[derive(Debug, Clone, Default)]
pub(crate) struct MetricTable {
    /// All people.
    pub all: Vec<MetricRow>,
    /// Only the supported people.
    pub supported: Vec<MetricRow>,
}

impl MetricTable {
    /// Reads the table in its folder.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut table = MetricTable::default();
        each_row(folder, |row: &MetricRow| {
            let of_all = row.support != SUPPORTED;
            if of_all { &mut table.all } else { &mut table.supported }.push(row.clone());
        })?;
        Ok(table)
    }
}
