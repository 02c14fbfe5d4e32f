//! Every Parquet table this product writes: name, version, columns, units, who writes and who reads
//! it.
//!
//! The tables are the product's public interface: users join them in DuckDB, Polars and pandas. So
//! key columns are never null (the empty text means "all"), a value column is null only with a
//! reason in `undefined`, rows are sorted by key, and the version of a table stands in its file's
//! metadata. What is not known here: how a number was computed.

mod changes;
pub mod digits;
mod experiments;
pub mod file;
mod footer;
mod frame;
mod graphs;
pub mod list;
pub mod outcomes;
pub mod picked;
mod quality;
pub mod recourse;
mod rows;

pub use changes::{CHANGES, REFITTED};
pub use experiments::{ARM_FOLDS, ARMS, SELECTED};
pub use frame::{TableCell, TableFrame, TableRecord};
pub use graphs::{EDGES, GRAPHS, NODES, SUBGRAPHS, WORLD_PEOPLE, WORLDS};
pub use quality::{CF_DISTRIBUTIONS, CF_EXAMPLES, CF_FEATURES, CF_QUALITY};
pub use rows::{FILTERS, ISSUE_CODES, ISSUES, OUTCOMES};

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
}

/// One table.
#[derive(Debug, Clone, Copy)]
pub struct TableDef {
    /// Its name; the file is `tables/<name>.parquet`.
    pub name: &'static str,
    /// Raised whenever a column is added or changes its meaning. Files of older versions are read:
    /// what they lack is null where it may be, and empty where it is a text of the key; those that
    /// lack anything else are refused.
    pub version: u32,
    /// What one row stands for.
    pub one_row_per: &'static str,
    /// The first `n_key` columns are the key.
    pub n_key: usize,
    /// The columns, key first.
    pub columns: &'static [ColumnDef],
    /// The stage that writes it.
    pub writer: &'static str,
    /// Who reads it.
    pub readers: &'static str,
}

impl TableDef {
    /// The name of its file.
    pub fn file(&self) -> String {
        format!("{}.parquet", self.name)
    }

    /// Position of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
}

const fn text(name: &'static str, meaning: &'static str) -> ColumnDef {
    ColumnDef { name, kind: ColumnType::Text, meaning, nullable: false }
}

const fn int(name: &'static str, meaning: &'static str) -> ColumnDef {
    ColumnDef { name, kind: ColumnType::Int, meaning, nullable: false }
}

const fn real(name: &'static str, meaning: &'static str) -> ColumnDef {
    ColumnDef { name, kind: ColumnType::Real, meaning, nullable: false }
}

const fn or_null(column: ColumnDef) -> ColumnDef {
    ColumnDef { nullable: true, ..column }
}

const ARM: ColumnDef =
    text("arm", "experiment and arm, such as `augment/all`; empty for the plain audit");
const MODEL: ColumnDef = text("model", "name of the model");
const COUNTERFACTUAL: ColumnDef =
    text("counterfactual", "name of the counterfactual set; empty where none is involved");
const SENSITIVE: ColumnDef = text("sensitive", "name of the sensitive attribute");
const SCOPE: ColumnDef = text(
    "scope",
    "group, total, pair, one_vs_rest, worst_case, direction, difference, one_to_rest, rest_to_one: \
     what the groups mean",
);
const FROM_GROUP: ColumnDef = text(
    "from_group",
    "the group itself; of a pair or of one_vs_rest the first (A); of a direction or of one_to_rest \
     the factual group; empty = all (others)",
);
const TO_GROUP: ColumnDef = text(
    "to_group",
    "of a pair or of one_vs_rest the second (B); of a direction or of rest_to_one the \
     counterfactual group; empty = all (others)",
);
const SLICE: ColumnDef = text(
    "slice",
    "slice: `region=north`, or `region=north & channel=web`, of the columns of `metrics.by`; empty \
     = all rows",
);
const CLASS: ColumnDef = text(
    "class",
    "of a label of several classes the one that counts as positive against all others; empty = \
     all, and a label of two sides",
);

/// `metrics`: one row per key and metric.
///
/// Version 7 added `world_level` and `between_lo` to `mixed_var`. In a file of version 6 nothing
/// tells other graphs from refits of their coefficients.
///
/// Files of version 6 that program 0.1 wrote name an impaired group for any value away from the
/// ideal, and lack `denied_by_group` and `favoured_by_group`; no column changed, so that they stay
/// readable.
///
/// Version 6 filled the columns of causal graphs and added `world_var`, `world_even`, `n_worlds`,
/// `n_worlds_undefined` and the family graph. In a file of version 5 no set has graphs.
///
/// Version 5 added `class`. In a file of version 4 every label has two sides.
///
/// Version 4 added the family clarify, the scopes `one_vs_rest` and `worst_case`, and who holds the
/// values of the latter. In a file of version 3 groups are compared in pairs only.
///
/// Version 3 added the weights of rates, and intervals from blocks of people for every metric of a
/// job with weights. In a file of version 2 weights had no part in any value.
///
/// Version 2 added the placebo columns, the scopes `one_to_rest` and `rest_to_one`, and intervals
/// of the family shift. In a file of version 1 no set had a placebo, and a null interval of that
/// family means that none was made.
pub const METRICS: TableDef = TableDef {
    name: "metrics",
    version: 7,
    one_row_per: "key and metric",
    n_key: 10,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        SLICE,
        CLASS,
        text("metric", "id of the metric; `cfaudit explain ID` tells its formula"),
        text(
            "family",
            "family of the metric: performance, group, ccm, eccm, shift, clarify, graph",
        ),
        or_null(real(
            "value",
            "the metric, of a graph-uncertain set its mean over the graphs in which it is defined; \
             null = undefined, see `undefined`",
        )),
        text("undefined", "why the value is null; empty where it is not"),
        or_null(int(
            "numerator",
            "cases on top of a rate, counted without weights; null where the metric is no rate of \
             counts, and where graphs differ",
        )),
        or_null(int(
            "denominator",
            "cases below a rate, counted without weights; null where the metric is no rate of \
             counts",
        )),
        or_null(real(
            "weight_numerator",
            "what the cases on top of a rate weigh: over weight_denominator it is the value; null \
             = no weights in the job, or no rate of counts",
        )),
        or_null(real(
            "weight_denominator",
            "what the cases below a rate weigh; null as weight_numerator",
        )),
        int(
            "n_rows",
            "people whom the metric counts: those with the scores that it needs, and with a label \
             where it needs one",
        ),
        or_null(real("lo", "lower end of the interval; null = none")),
        or_null(real("hi", "upper end of the interval; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text(
            "interval",
            "method of the interval: wilson, wilson-people, wilson-moved, newcombe, katz, \
             bootstrap, poisson-bootstrap, block-bootstrap; empty = none",
        ),
        text("ci_method", "the method in full, or why there is no interval"),
        or_null(real(
            "world_lo",
            "lower percentile of the values of all causal graphs, each with the coefficients of \
             its own bootstrap, at the level of `metrics.worlds`; null = no graphs, or fewer than \
             two with a value",
        )),
        or_null(real(
            "world_hi",
            "upper percentile of the values of all causal graphs; null as world_lo",
        )),
        or_null(real(
            "world_var",
            "variance of the values of all causal graphs, divisor M - 1; the sum of between_var, \
             within_var and mixed_var where these are known; null as world_lo",
        )),
        or_null(real("world_level", "level of the percentiles over graphs; null as world_lo")),
        or_null(real(
            "between_lo",
            "lower percentile of the values of the same graphs with equations fitted on all \
             training rows: what other graphs give, their coefficients apart; null as world_lo, or \
             a graph has no value then",
        )),
        or_null(real("between_hi", "upper percentile of these values; null as between_lo")),
        or_null(real("between_var", "variance of these values; null as between_lo")),
        or_null(real(
            "within_lo",
            "lower percentile of what a bootstrap's own coefficients change in the value of its \
             graph, around the mean of the values behind between_lo: what refits of the \
             coefficients give; of a rate it may lie below 0; null as between_lo, and of a single \
             bootstrap, which refits nothing",
        )),
        or_null(real(
            "within_hi",
            "upper percentile of that; of a rate it may lie above 1; null as within_lo",
        )),
        or_null(real("within_var", "variance of that; null as within_lo")),
        or_null(real(
            "mixed_var",
            "twice the covariance of both, which may be negative; null as within_lo",
        )),
        or_null(real(
            "world_even",
            "mean over graphs in which every bootstrap weighs the same, whatever the size of its \
             class; null = no graphs, or undefined in all",
        )),
        or_null(int("n_worlds", "causal graphs in which the metric has a value; null = no graphs")),
        or_null(int(
            "n_worlds_undefined",
            "causal graphs in which it has none, and which are left out; null = no graphs",
        )),
        or_null(real(
            "placebo_lo",
            "lower end of what sampling noise alone gives: 2.5 % quantile of the repeats, below 40 \
             repeats the smallest; null = no placebo, or undefined in every repeat",
        )),
        or_null(real(
            "placebo_hi",
            "upper end of what sampling noise alone gives: 97.5 % quantile or largest; null as \
             placebo_lo",
        )),
        or_null(int("placebo_repeats", "repeats of the placebo; null = none asked for")),
        or_null(real("ideal", "the value without any disparity; null = none is stated")),
        text(
            "flags",
            "small_group, small_denominator, sampled, selective_labels, attribute_follows (in \
             graphs of the set, from another variable: nobody is named at a disadvantage); joined \
             by `,`; empty = none",
        ),
        text(
            "impaired_group",
            "the group put at a disadvantage: only where the interval (of graphs also theirs) \
             leaves out the ideal and, of switches, where `min_denominator` people switch and the \
             interval lies beyond the placebo; empty = not clear, not stated, or all others",
        ),
        text(
            "highest_group",
            "of worst_case the group with the highest value, or the one furthest from all; empty = \
             another scope, or no value",
        ),
        text(
            "lowest_group",
            "of worst_case the group with the lowest value; empty as highest_group, and for a \
             distance to all",
        ),
        or_null(int(
            "groups_undefined",
            "of worst_case the groups without a value, which are left out; null = another scope",
        )),
    ],
    writer: "measure",
    readers: "gate, report, diff",
};

/// `counts`: one row per key and cell.
///
/// Version 3 names the classes of a label of several; of these only cells that hold somebody have a
/// row. In a file of version 2 every label has two sides.
///
/// Version 2 added `weight`. In a file of version 1 nothing tells what cells weigh.
pub const COUNTS: TableDef = TableDef {
    name: "counts",
    version: 3,
    one_row_per: "key and cell",
    n_key: 11,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        SENSITIVE,
        text(
            "scope",
            "of rows as they are group or total, of counterfactuals direction or total: what the \
             groups mean",
        ),
        text("from_group", "the group itself; of a direction the factual group; empty = all"),
        text(
            "to_group",
            "of a direction the counterfactual group; empty = all, and of rows as they are",
        ),
        SLICE,
        text(
            "label",
            "1 = positive, 0 = negative, empty = no label, where anybody has none; of several \
             classes the name of the class",
        ),
        text("predicted", "factual prediction: 1 or 0, or the name of the class"),
        text(
            "predicted_cf",
            "counterfactual prediction: 1, 0 or the name of the class; empty where no \
             counterfactual is involved",
        ),
        int(
            "n",
            "factual rows or counterfactuals in the cell, counted without weights; of a \
             graph-uncertain set by the mean score of each person over all graphs",
        ),
        or_null(real(
            "weight",
            "what the people of the cell weigh, once per counterfactual; null = no weights in the \
             job",
        )),
        ColumnDef {
            name: "shift_sq",
            kind: ColumnType::Wide,
            meaning: "sum of squared score changes in units of 2^-52, each pair once whatever it \
                      weighs; null where no counterfactual is involved, and of several classes",
            nullable: true,
        },
    ],
    writer: "measure",
    readers: "report, diff",
};

/// `score_shift`: one row per key, side and bin.
///
/// Version 3 added `class`. In a file of version 2 every label has two sides.
///
/// Version 2 added `weight`. In a file of version 1 nothing tells what bins weigh.
pub const SCORE_SHIFT: TableDef = TableDef {
    name: "score_shift",
    version: 3,
    one_row_per: "key, side and bin",
    n_key: 11,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        SLICE,
        CLASS,
        text("side", "original, counterfactual, or change (counterfactual minus original)"),
        real("bin_lo", "left edge of the bin, part of it; scores in [0, 1], changes in [-1, 1]"),
        real("bin_hi", "right edge of the bin, part of it only in the last bin"),
        int(
            "n",
            "counterfactuals in the bin, counted without weights; of a graph-uncertain set mean \
             scores over all graphs",
        ),
        or_null(real(
            "weight",
            "what their people weigh, once per counterfactual; null = no weights in the job",
        )),
    ],
    writer: "measure",
    readers: "report",
};

/// `groups`: one row per attribute, group and slice.
///
/// Version 3 added `n_missing_stratum`. Version 2 added `weight`. In a file of version 1 nothing
/// tells what groups weigh.
pub const GROUPS: TableDef = TableDef {
    name: "groups",
    version: 3,
    one_row_per: "model, attribute, group and slice",
    n_key: 4,
    columns: &[
        MODEL,
        SENSITIVE,
        text("group", "the group; empty = all declared groups"),
        SLICE,
        int("n", "audited rows of the group, counted without weights"),
        or_null(real("weight", "what they weigh together; null = no weights in the job")),
        or_null(int(
            "n_positive",
            "of them with the positive label, or one of the positive classes; null = no label in \
             the job",
        )),
        int(
            "n_predicted_positive",
            "of them with a positive prediction, or one of the positive classes, with or without a \
             label",
        ),
        int("n_missing_label", "of them without a label"),
        int("n_missing_score", "of them without a score"),
        int(
            "n_missing_counterfactual_score",
            "of their counterfactuals without a score, over all sets",
        ),
        int(
            "n_scores_equal_threshold",
            "of them with a score exactly at the threshold: the rule `threshold_rule` decides \
             them; of several classes those with the highest score in more than one, where the \
             class named first is taken",
        ),
        or_null(int(
            "n_missing_stratum",
            "of those who count, without a value of the column of strata; null = the job names \
             none",
        )),
    ],
    writer: "measure",
    readers: "report",
};

/// `thresholds`: one row per model and fold with a fitted threshold. Only of jobs that fit one.
pub const THRESHOLDS: TableDef = TableDef {
    name: "thresholds",
    version: 1,
    one_row_per: "model and fold with a fitted threshold",
    n_key: 3,
    columns: &[
        ARM,
        MODEL,
        int("fold", "fold whose training rows it was fitted to, from 0; 0 without folds"),
        text("objective", "what it was to reach, as the job writes it"),
        real(
            "threshold",
            "the fitted threshold: positive where score >= threshold; above the largest score \
             where nobody is",
        ),
        int("n_rows", "training rows with a score"),
        int("n_positive", "positive ones among them"),
        real("tpr", "share of the positive training rows at or above it, by weight"),
        real("tnr", "share of the negative training rows below it, by weight"),
    ],
    writer: "measure",
    readers: "report, users",
};

/// `comparisons`: one row per value of two models on the same people.
///
/// Version 3 added `flags`. In a file of version 2 nothing tells whether labels are missing for
/// some people more often than for others.
pub const COMPARISONS: TableDef = TableDef {
    name: "comparisons",
    version: 3,
    one_row_per: "two models or arms, key and metric",
    n_key: 10,
    columns: &[
        ARM,
        text("model", "the first model"),
        text(
            "against_arm",
            "experiment and arm that the first is compared with; empty for the plain audit",
        ),
        text("against", "the second model; that of both where arms are compared"),
        COUNTERFACTUAL,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        text("metric", "id of the metric, of the families performance, group, ccm and eccm"),
        text("family", "family of the metric"),
        or_null(real(
            "difference",
            "value of the first model or arm minus value of the second; null = undefined, see \
             `undefined`",
        )),
        text("undefined", "why the difference is null; empty where it is not"),
        or_null(real("model_value", "value of the first model; null = undefined")),
        or_null(real("against_value", "value of the second model; null = undefined")),
        or_null(real("lo", "lower end of the interval of the difference; null = none")),
        or_null(real("hi", "upper end of the interval of the difference; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text(
            "interval",
            "method of the interval: block-bootstrap, drawn once for both models; newcombe where \
             one of two rates is 0 or 1, as if of other people; empty = none",
        ),
        text("ci_method", "the method in full, or why there is no interval"),
        int("n_rows", "people behind the value, the fewer of both models"),
        or_null(text(
            "flags",
            "selective_labels, as in metrics, where it holds of either; empty = none; null = \
             version 2 or older",
        )),
    ],
    writer: "measure",
    readers: "report, diff",
};

/// `transitions`: one row per key and two classes: how often predictions of one turn into the
/// other. Only where the label has several classes.
pub const TRANSITIONS: TableDef = TableDef {
    name: "transitions",
    version: 1,
    one_row_per: "key, class before and class after (another one)",
    n_key: 10,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        SLICE,
        text("from_class", "the factual prediction"),
        text("to_class", "the counterfactual prediction"),
        or_null(real(
            "value",
            "share of the counterfactuals of people predicted from_class; null = undefined, see \
             `undefined`",
        )),
        text("undefined", "why the value is null; empty where it is not"),
        int("numerator", "counterfactuals predicted to_class, counted without weights"),
        int(
            "denominator",
            "counterfactuals of people predicted from_class, counted without weights",
        ),
        or_null(real(
            "weight_numerator",
            "what those on top weigh: over weight_denominator it is the value; null = no weights \
             in the job",
        )),
        or_null(real("weight_denominator", "what those below weigh; null as weight_numerator")),
        or_null(real("lo", "lower end of the interval; null = none")),
        or_null(real("hi", "upper end of the interval; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text(
            "interval",
            "method of the interval: wilson, bootstrap, block-bootstrap; empty = none",
        ),
        text("ci_method", "the method in full, or why there is no interval"),
        text(
            "flags",
            "small_group, small_denominator, selective_labels; joined by `,`; empty = none",
        ),
    ],
    writer: "measure",
    readers: "report",
};

/// `gates`: one row per gate and direction judged.
///
/// Version 2 added `class` and gates against a baseline, whose value is a change. In a file of
/// version 1 every label has two sides, and every value is one of `metrics`.
pub const GATES: TableDef = TableDef {
    name: "gates",
    version: 3,
    one_row_per: "gate and direction judged",
    n_key: 4,
    columns: &[
        text("gate", "name of the gate in the job"),
        SENSITIVE,
        FROM_GROUP,
        TO_GROUP,
        text(
            "scope",
            "what the groups mean, as in `metrics`: total, group, pair, one_vs_rest, worst_case, \
             direction, difference",
        ),
        text("verdict", "pass, fail, inconclusive, skipped"),
        text("level", "fail = counts for the exit status, warn = shown only"),
        text(
            "metric",
            "the metric judged; a gate on harm has a row for each of its two, against each other \
             group",
        ),
        text("arm", "experiment and arm judged; empty for the plain audit"),
        text("model", "the model judged"),
        text("counterfactual", "the set judged; empty where none is involved"),
        text(
            "class",
            "of several classes the one judged against all others; empty = all, and a label of two \
             sides",
        ),
        or_null(real(
            "value",
            "the value as the gate asks it, of `between` from_group minus to_group or over it \
             (`metrics` has one order); of a gate against the baseline the change from it; null = \
             undefined",
        )),
        or_null(real(
            "lo",
            "lower end of its interval, with holm at the level that judged it; null = none",
        )),
        or_null(real("hi", "upper end of its interval; null = none")),
        real("limit", "the limit"),
        text(
            "rule",
            "at_most or at_least, against the baseline rise_at_most or fall_at_most, with what \
             decides: interval, `interval, holm` (a family of comparisons), estimate or worlds",
        ),
        or_null(int(
            "numerator",
            "cases on top of the rate; null where the metric is no rate of counts, where graphs \
             differ, and of a change",
        )),
        or_null(int("denominator", "cases below the rate; null where the metric is no rate")),
        int("enough", "cases asked for before the gate decides"),
        or_null(real(
            "baseline_value",
            "value of the baseline, to which `value` is to be added; null = none involved, or \
             undefined there",
        )),
        text("reason", "why, in words"),
        int("job_line", "line of the gate in the job file; 0 = not known"),
        int("decides", "1 for the row that decides the gate, 0 for others"),
    ],
    writer: "gate",
    readers: "report, diff, exports",
};

#[cfg(test)]
mod tests {
    use crate::table::list::TABLES;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_of_tables_is_sound() {
        let mut names = BTreeSet::new();
        for table in TABLES {
            assert!(names.insert(table.name), "{} stands twice", table.name);
            assert!(table.n_key > 0 && table.n_key <= table.columns.len(), "{}", table.name);
            let mut columns = BTreeSet::new();
            for (i, column) in table.columns.iter().enumerate() {
                assert!(columns.insert(column.name), "{}.{} stands twice", table.name, column.name);
                assert!(!column.meaning.is_empty(), "{}.{}", table.name, column.name);
                assert!(
                    i >= table.n_key || !column.nullable,
                    "{}.{} is a key",
                    table.name,
                    column.name
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
