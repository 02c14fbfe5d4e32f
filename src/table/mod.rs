//! Every Parquet table this product writes: name, version, columns, units, writers and
//! readers.
//!
//! The tables are the product's public interface: users join them in DuckDB, Polars and pandas. So
//! key columns are never null (the empty text means "all"), a value column is null only with a
//! reason in `undefined`, rows are sorted by key, and the version of a table is in its file's
//! metadata. What is not known here: how a number was computed.

mod changes;
pub(crate) mod digits;
mod experiments;
pub(crate) mod file;
mod footer;
mod graphs;
pub mod list;
pub(crate) mod needed;
pub(crate) mod picked;
mod quality;
pub(crate) mod recourse;
pub(crate) mod row_macro;
mod rows;
pub(crate) mod why;

pub use changes::{ChangeRow, HistoryRow, REFITTED};
pub use experiments::{ArmFoldRow, ArmRow, SelectedRow};
pub use graphs::{EdgeRow, GraphRow, NodeRow, SubgraphRow, WorldPeopleRow, WorldRow};
pub use quality::{CfDistributionRow, CfExampleRow, CfFeatureRow, CfQualityRow, RARE};
pub use row_macro::{SharedText, TableRow, finite, whole};
pub use rows::{FilterRow, ISSUE_CODES, IssueRow, OutcomeRow};

use row_macro::table;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// UTF-8 text.
    Text,
    /// 64-bit integer.
    Int,
    /// 64-bit float.
    Real,
    /// Whole number of 38 digits, decimal(38, 0).
    Wide,
    /// Unsigned 64-bit integer.
    Key,
}

/// One column of a table.
#[derive(Debug, Clone, Copy)]
pub struct ColumnDef {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ColumnType,
    /// What it says, with its unit, and what null means where null is allowed.
    pub meaning: &'static str,
    /// Whether it may be null.
    pub nullable: bool,
    /// First version of the table that has it.
    pub since: u32,
}

/// One table.
#[derive(Debug, Clone, Copy)]
pub struct TableDef {
    /// Its name; the file is `tables/<name>.parquet`.
    pub name: &'static str,
    /// Raised whenever a column is added or changes its meaning. Files of older versions are read:
    /// columns that came later are null where they may be, and empty where they are texts of the
    /// key; files that lack anything else are refused.
    pub version: u32,
    /// What one row represents.
    pub one_row_per: &'static str,
    /// The first `n_key` columns are the key.
    pub n_key: usize,
    /// The columns, key first.
    pub columns: &'static [ColumnDef],
    /// The stage that writes it.
    pub writer: &'static str,
    /// Its readers.
    pub readers: &'static str,
}

impl TableDef {
    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}.parquet", self.name)
    }
}

const ARM: &str = "experiment and arm, such as `augment/all`; empty for the plain audit";
const MODEL: &str = "name of the model";
const COUNTERFACTUAL: &str = "name of the counterfactual set; empty where none is involved";
const SENSITIVE: &str = "name of the sensitive attribute";
const SCOPE: &str = "group, total, pair, one_vs_rest, worst_case, direction, difference, \
    one_to_rest, rest_to_one: what the groups mean";
const FROM_GROUP: &str = "the group itself; of a pair or of one_vs_rest the first (A); of a \
    direction or of one_to_rest the factual group; empty = all (others)";
const TO_GROUP: &str = "of a pair or of one_vs_rest the second (B); of a direction or of \
    rest_to_one the counterfactual group; empty = all (others)";
const SLICE: &str = "slice: `region=north`, or `region=north & channel=web`, of the columns of \
    `metrics.by`; empty = all rows";
const CLASS: &str = "of a label of several classes the one that counts as positive against all \
    others; empty = all, and a label of two sides";

table! {
    /// `metrics`: one row per key and metric.
    ///
    /// Version 7 added `world_level` and `between_lo` to `mixed_var`. In a file of version 6
    /// nothing tells other graphs from refits of their coefficients.
    ///
    /// Files of version 6 that program 0.1 wrote name an impaired group for any value away from the
    /// ideal, and lack `denied_by_group` and `favoured_by_group`; no column changed, so that they
    /// stay readable.
    ///
    /// Version 6 filled the columns of causal graphs and added `world_var`, `world_even`,
    /// `n_worlds`, `n_worlds_undefined` and the family graph. In a file of version 5 no set has
    /// graphs.
    ///
    /// Version 5 added `class`. In a file of version 4 every label has two sides.
    ///
    /// Version 4 added the family clarify, the scopes `one_vs_rest` and `worst_case`, and who holds
    /// the values of the latter. In a file of version 3 groups are compared in pairs only.
    ///
    /// Version 3 added the weights of rates, and intervals from blocks of people for every metric
    /// of a job with weights. In a file of version 2 weights were not used in any value.
    ///
    /// Version 2 added the placebo columns, the scopes `one_to_rest` and `rest_to_one`, and
    /// intervals of the family shift. In a file of version 1 no set had a placebo, and a null
    /// interval of that family means that none was made.
    pub struct MetricRow in "metrics", version 8, key 10,
    one row per "key and metric", written by "measure", read by "gate, report, diff" {
        [meaning ARM]
        arm: SharedText,
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning SCOPE]
        scope: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        [meaning SLICE]
        slice: SharedText,
        [meaning CLASS]
        [since 5]
        class: SharedText,
        /// id of the metric; `cfaudit explain ID` tells its formula
        metric: SharedText,
        /// family of the metric: performance, group, ccm, eccm, shift, clarify, amounts,
        /// graph
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
        [since 3]
        weight_numerator: Option<f64>,
        /// what the cases below a rate weigh; null as weight_numerator
        [since 3]
        weight_denominator: Option<f64>,
        /// people whom the metric counts: those with the scores that it needs, and with a label
        /// where it needs one; of jobs with `data.person` their rows
        n_rows: i64,
        /// persons whose rows n_rows are; null = no `data.person` in the job
        [since 8]
        n_persons: Option<i64>,
        /// persons with a row below a rate; null as n_persons, and where the metric is not a rate
        [since 8]
        denominator_persons: Option<i64>,
        /// effective number of cases of Wilson's interval: denominator over the design effect of
        /// persons; null as denominator_persons, and where the interval is drawn
        [since 8]
        n_eff: Option<f64>,
        /// lower end of the interval; null = none
        lo: Option<f64>,
        /// upper end of the interval; null = none
        hi: Option<f64>,
        /// level of the interval; null = none
        level: Option<f64>,
        /// method of the interval: wilson, wilson-people, wilson-moved, newcombe, katz, bootstrap,
        /// poisson-bootstrap, block-bootstrap; with `data.person` wilson-deff, newcombe-deff and
        /// katz-deff, whose unit is the person; empty = none
        interval: SharedText,
        /// the method in full, or why there is no interval
        ci_method: SharedText,
        /// lower percentile of the values of all causal graphs, each with the coefficients of its
        /// own bootstrap, at the level of `metrics.worlds`; null = no graphs, or fewer than two
        /// with a value
        world_lo: Option<f64>,
        /// upper percentile of the values of all causal graphs; null as world_lo
        world_hi: Option<f64>,
        /// variance of the values of all causal graphs, divisor M - 1; the sum of between_var,
        /// within_var and mixed_var where these are known; null as world_lo
        [since 6]
        world_var: Option<f64>,
        /// level of the percentiles over graphs; null as world_lo
        [since 7]
        world_level: Option<f64>,
        /// lower percentile of the values of the same graphs with equations fitted on all training
        /// rows: what other graphs give, their coefficients apart; null as world_lo, or a graph has
        /// no value then
        [since 7]
        between_lo: Option<f64>,
        /// upper percentile of these values; null as between_lo
        [since 7]
        between_hi: Option<f64>,
        /// variance of these values; null as between_lo
        [since 7]
        between_var: Option<f64>,
        /// lower percentile of what a bootstrap's own coefficients change in the value of its
        /// graph, around the mean of the values behind between_lo: what refits of the coefficients
        /// give; of a rate it may lie below 0; null as between_lo, and of a single bootstrap, which
        /// refits nothing
        [since 7]
        within_lo: Option<f64>,
        /// upper percentile of that; of a rate it may lie above 1; null as within_lo
        [since 7]
        within_hi: Option<f64>,
        /// variance of that; null as within_lo
        [since 7]
        within_var: Option<f64>,
        /// twice the covariance of both, which may be negative; null as within_lo
        [since 7]
        mixed_var: Option<f64>,
        /// mean over graphs in which every bootstrap weighs the same, regardless of the size of its
        /// class; null = no graphs, or undefined in all
        [since 6]
        world_even: Option<f64>,
        /// causal graphs in which the metric has a value; null = no graphs
        [since 6]
        n_worlds: Option<i64>,
        /// causal graphs in which it has none, and which are left out; null = no graphs
        [since 6]
        n_worlds_undefined: Option<i64>,
        /// lower end of what sampling noise gives: 2.5 % quantile of the repeats, below 40
        /// repeats the smallest; null = no placebo, or undefined in every repeat
        [since 2]
        placebo_lo: Option<f64>,
        /// upper end of what sampling noise gives: 97.5 % quantile or largest; null as
        /// placebo_lo
        [since 2]
        placebo_hi: Option<f64>,
        /// repeats of the placebo; null = none asked for
        [since 2]
        placebo_repeats: Option<i64>,
        /// the value without any disparity; null = none is stated
        ideal: Option<f64>,
        /// small_group, small_denominator, sampled, selective_labels, attribute_follows (in graphs
        /// of the set, from another variable: no group is named at a disadvantage); joined by `,`;
        /// empty = none
        flags: SharedText,
        /// the group put at a disadvantage: only where the interval (of graphs also theirs) leaves
        /// out the ideal and, of switches, where `min_denominator` people switch and the interval
        /// lies beyond the placebo; empty = not clear, not stated, or all others
        impaired_group: SharedText,
        /// of worst_case the group with the highest value, or the one furthest from all; empty =
        /// another scope, or no value
        [since 4]
        highest_group: SharedText,
        /// of worst_case the group with the lowest value; empty as highest_group, and for a
        /// distance to all
        [since 4]
        lowest_group: SharedText,
        /// of worst_case the groups without a value, which are left out; null = another scope
        [since 4]
        groups_undefined: Option<i64>,
    }
}

table! {
    /// `counts`: one row per key and cell.
    ///
    /// Version 3 names the classes of a label of several; of these only cells that hold somebody
    /// have a row. In a file of version 2 every label has two sides.
    ///
    /// Version 2 added `weight`. In a file of version 1 nothing tells what cells weigh.
    pub struct CountRow in "counts", version 3, key 11,
    one row per "key and cell", written by "measure", read by "report, diff" {
        [meaning ARM]
        arm: SharedText,
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        /// of rows as they are group or total, of counterfactuals direction or total: what the
        /// groups mean
        scope: SharedText,
        /// the group itself; of a direction the factual group; empty = all
        from_group: SharedText,
        /// of a direction the counterfactual group; empty = all, and of rows as they are
        to_group: SharedText,
        [meaning SLICE]
        slice: SharedText,
        /// 1 = positive, 0 = negative, empty = no label, where anybody has none; of several classes
        /// the name of the class
        label: SharedText,
        /// factual prediction: 1 or 0, or the name of the class
        predicted: SharedText,
        /// counterfactual prediction: 1, 0 or the name of the class; empty where no counterfactual
        /// is involved
        predicted_cf: SharedText,
        /// factual rows or counterfactuals in the cell, counted without weights; of a
        /// graph-uncertain set by the mean score of each person over all graphs
        n: i64,
        /// what the people of the cell weigh, once per counterfactual; null = no weights in the job
        [since 2]
        weight: Option<f64>,
        /// sum of squared score changes in units of 2^-52, each pair once regardless of its weight;
        /// null where no counterfactual is involved, and of several classes
        shift_sq: Option<i128>,
    }
}

table! {
    /// `score_shift`: one row per key, side and bin.
    ///
    /// Version 3 added `class`. In a file of version 2 every label has two sides.
    ///
    /// Version 2 added `weight`. In a file of version 1 nothing tells what bins weigh.
    pub struct ScoreShiftRow in "score_shift", version 3, key 11,
    one row per "key, side and bin", written by "measure", read by "report" {
        [meaning ARM]
        arm: SharedText,
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning SCOPE]
        scope: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        [meaning SLICE]
        slice: SharedText,
        [meaning CLASS]
        [since 3]
        class: SharedText,
        /// original, counterfactual, or change (counterfactual minus original)
        side: SharedText,
        /// left edge of the bin, part of it; scores in [0, 1], changes in [-1, 1]
        bin_lo: f64,
        /// right edge of the bin, part of it only in the last bin
        bin_hi: f64,
        /// counterfactuals in the bin, counted without weights; of a graph-uncertain set mean
        /// scores over all graphs
        n: i64,
        /// what their people weigh, once per counterfactual; null = no weights in the job
        [since 2]
        weight: Option<f64>,
    }
}

table! {
    /// `groups`: one row per attribute, group and slice.
    ///
    /// Version 3 added `n_missing_stratum`. Version 2 added `weight`. In a file of version 1
    /// nothing tells what groups weigh.
    pub struct GroupRow in "groups", version 4, key 4,
    one row per "model, attribute, group and slice", written by "measure", read by "report" {
        [meaning MODEL]
        model: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        /// the group; empty = all declared groups
        group: SharedText,
        [meaning SLICE]
        slice: SharedText,
        /// audited rows of the group, counted without weights
        n: i64,
        /// persons whose rows these are; null = no `data.person` in the job
        [since 4]
        persons: Option<i64>,
        /// what they weigh together; null = no weights in the job
        [since 2]
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
        [since 3]
        n_missing_stratum: Option<i64>,
    }
}

table! {
    /// `amounts`: how many people have an amount. Only of jobs whose outcomes are amounts.
    pub struct AmountRow in "amounts", version 1, key 5,
    one row per "model and group; with counterfactuals also model, set and direction",
    written by "measure", read by "report, users" {
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        /// people with an amount and a weight above 0; of a direction counterfactuals with both
        /// amounts
        n: i64,
        /// people without an amount; of a direction counterfactuals without one of the two
        n_missing: i64,
        /// amounts of 0 among them; of a direction counterfactual amounts
        n_zero: i64,
        /// amounts below 0 among them; of a direction counterfactual amounts
        n_negative: i64,
    }
}

table! {
    /// `thresholds`: one row per model and fold with a fitted threshold. Only of jobs that fit one.
    pub struct ThresholdRow in "thresholds", version 1, key 3,
    one row per "model and fold with a fitted threshold",
    written by "measure", read by "report, users" {
        [meaning ARM]
        arm: SharedText,
        [meaning MODEL]
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

table! {
    /// `comparisons`: one row per value of two models on the same people.
    ///
    /// Version 3 added `flags`. In a file of version 2 nothing tells whether labels are missing for
    /// some people more often than for others.
    pub struct ComparisonRow in "comparisons", version 3, key 10,
    one row per "two models or arms, key and metric", written by "measure", read by "report, diff" {
        [meaning ARM]
        arm: SharedText,
        /// the first model
        model: SharedText,
        /// experiment and arm that the first is compared with; empty for the plain audit
        against_arm: SharedText,
        /// the second model; that of both where arms are compared
        against: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning SCOPE]
        scope: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        /// id of the metric, of the families performance, group, ccm and eccm
        metric: SharedText,
        /// family of the metric
        family: SharedText,
        /// value of the first model or arm minus value of the second; null = undefined, see
        /// `undefined`
        difference: Option<f64>,
        /// why the difference is null; empty if it is not
        undefined: SharedText,
        /// value of the first model; null = undefined
        model_value: Option<f64>,
        /// value of the second model; null = undefined
        against_value: Option<f64>,
        /// lower end of the interval of the difference; null = none
        lo: Option<f64>,
        /// upper end of the interval of the difference; null = none
        hi: Option<f64>,
        /// level of the interval; null = none
        level: Option<f64>,
        /// method of the interval: block-bootstrap, drawn once for both models; newcombe where one
        /// of two rates is 0 or 1, as if of other people; empty = none
        interval: SharedText,
        /// the method in full, or why there is no interval
        ci_method: SharedText,
        /// people behind the value, the fewer of both models
        n_rows: i64,
        /// selective_labels, as in metrics, where it holds of either; empty = none; null = version
        /// 2 or older
        [since 3]
        flags: Option<SharedText>,
    }
}

table! {
    /// `transitions`: one row per key and two classes: how often predictions of one turn into the
    /// other. Only where the label has several classes.
    pub struct TransitionRow in "transitions", version 1, key 10,
    one row per "key, class before and class after (another one)",
    written by "measure", read by "report" {
        [meaning ARM]
        arm: SharedText,
        [meaning MODEL]
        model: SharedText,
        [meaning COUNTERFACTUAL]
        counterfactual: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning SCOPE]
        scope: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        [meaning SLICE]
        slice: SharedText,
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
        /// lower end of the interval; null = none
        lo: Option<f64>,
        /// upper end of the interval; null = none
        hi: Option<f64>,
        /// level of the interval; null = none
        level: Option<f64>,
        /// method of the interval: wilson, bootstrap, block-bootstrap; empty = none
        interval: SharedText,
        /// the method in full, or why there is no interval
        ci_method: SharedText,
        /// small_group, small_denominator, selective_labels; joined by `,`; empty = none
        flags: SharedText,
    }
}

table! {
    /// `gates`: one row per gate and direction judged.
    ///
    /// Version 2 added `class` and gates against a baseline, whose value is a change. In a file of
    /// version 1 every label has two sides, and every value is one of `metrics`.
    ///
    /// Version 4 added how many people would decide. In a file of version 3 nothing tells it.
    pub struct GateRow in "gates", version 4, key 4,
    one row per "gate and direction judged", written by "gate", read by "report, diff, exports" {
        /// name of the gate in the job
        gate: SharedText,
        [meaning SENSITIVE]
        sensitive: SharedText,
        [meaning FROM_GROUP]
        from_group: SharedText,
        [meaning TO_GROUP]
        to_group: SharedText,
        /// what the groups mean, as in `metrics`: total, group, pair, one_vs_rest, worst_case,
        /// direction, difference
        scope: SharedText,
        /// pass, fail, inconclusive, skipped
        verdict: SharedText,
        /// fail = counts for the exit status, warn = shown only
        level: SharedText,
        /// the metric judged; a gate on harm has a row for each of its two, against each other
        /// group
        metric: SharedText,
        /// experiment and arm judged; empty for the plain audit
        arm: SharedText,
        /// the model judged
        model: SharedText,
        /// the set judged; empty where none is involved
        counterfactual: SharedText,
        /// of several classes the one judged against all others; empty = all, and a label of two
        /// sides
        [since 2]
        class: SharedText,
        /// the value as the gate asks it, of `between` from_group minus to_group or over it
        /// (`metrics` has one order); of a gate against the baseline the change from it; null =
        /// undefined
        value: Option<f64>,
        /// lower end of its interval, with holm at the level that judged it; null = none
        lo: Option<f64>,
        /// upper end of its interval; null = none
        hi: Option<f64>,
        /// the limit
        limit: f64,
        /// at_most or at_least, against the baseline rise_at_most or fall_at_most, with what
        /// decides: interval, `interval, holm` (a family of comparisons), estimate or worlds
        rule: SharedText,
        /// cases on top of the rate; null where the metric is not a rate of counts, where graphs
        /// differ, and of a change
        [since 3]
        numerator: Option<i64>,
        /// cases below the rate; null where the metric is not a rate
        denominator: Option<i64>,
        /// cases asked for before the gate decides
        enough: i64,
        /// value of the baseline, to which `value` is to be added; null = none involved, or
        /// undefined there
        [since 2]
        baseline_value: Option<f64>,
        /// why, in words
        reason: SharedText,
        /// line of the gate in the job file; 0 = not known
        job_line: i64,
        /// 1 for the row that decides the gate, 0 for others
        decides: i64,
        /// people below the value (of a gap in both groups, shared out as today) from which on the
        /// row is decided with probability 0.8, if the true value is this one; never below
        /// `enough`; null = see needed_how
        [since 4]
        n_needed_80: Option<i64>,
        /// the same with probability 0.95; null as n_needed_80, or above 10^9
        [since 4]
        n_needed_95: Option<i64>,
        /// audited people who bring n_needed_80, where the same part of them counts as today; null
        /// as n_needed_80
        [since 4]
        people_needed_80: Option<i64>,
        /// audited people who bring n_needed_95; null as n_needed_95
        [since 4]
        people_needed_95: Option<i64>,
        /// the smallest true excess over the limit that today's people show with probability 0.8;
        /// null = none, or not known
        [since 4]
        detectable: Option<f64>,
        /// how the numbers were found (exact, normal or interval, which is approximate) or why
        /// there are none: decided, on_the_limit, more_than_cap (10^9), boundary (a ratio of 0),
        /// undefined, no_interval, by_estimate, by_worlds, skipped, other_reason (more people would
        /// not help); null = version 3 or older
        [since 4]
        needed_how: Option<SharedText>,
    }
}

#[cfg(test)]
mod tests {
    use crate::table::list::TABLES;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_of_tables_is_sound() {
        let mut names = BTreeSet::new();
        for table in TABLES {
            assert!(names.insert(table.name), "{} occurs twice", table.name);
            assert!(table.n_key > 0 && table.n_key <= table.columns.len(), "{}", table.name);
            let mut columns = BTreeSet::new();
            for (i, column) in table.columns.iter().enumerate() {
                assert!(columns.insert(column.name), "{}.{} occurs twice", table.name, column.name);
                assert!(!column.meaning.is_empty(), "{}.{}", table.name, column.name);
                assert!(
                    i >= table.n_key || !column.nullable,
                    "{}.{} is a key",
                    table.name,
                    column.name
                );
                assert!(
                    (1..=table.version).contains(&column.since),
                    "{}.{} cannot be of version {}",
                    table.name,
                    column.name,
                    column.since
                );
                assert!(
                    !column.nullable || column.meaning.contains("null"),
                    "{}.{} must say what null means",
                    table.name,
                    column.name
                );
            }
        }
    }
}
