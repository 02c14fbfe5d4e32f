//! Every Parquet table this product writes: name, version, columns, units, who writes and who reads it.
//!
//! The tables are the product's public interface: users join them in DuckDB, Polars and pandas. So key columns are never null
//! (the empty text means "all"), a value column is null only with a reason in `undefined`, rows are sorted by key, and the version
//! of a table stands in its file's metadata. What is not known here: how a number was computed.

mod changes;
pub mod io;
pub mod manifest;
pub mod ordered;
pub mod outcomes;
pub mod picked;
pub mod recourse;
mod sound;

pub use changes::CHANGES;

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
    /// Raised whenever a column changes its meaning.
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

const ARM: ColumnDef = text("arm", "experiment and arm, such as `augment/all`; empty for the plain audit");
const MODEL: ColumnDef = text("model", "name of the model");
const COUNTERFACTUAL: ColumnDef = text("counterfactual", "name of the counterfactual set; empty where none is involved");
const SENSITIVE: ColumnDef = text("sensitive", "name of the sensitive attribute");
const SCOPE: ColumnDef =
    text("scope", "group, total, pair, one_vs_rest, worst_case, direction, difference, one_to_rest, rest_to_one: what the groups mean");
const FROM_GROUP: ColumnDef = text(
    "from_group",
    "the group itself; of a pair or of one_vs_rest the first (A); of a direction or of one_to_rest the factual group; empty = all (others)",
);
const TO_GROUP: ColumnDef = text(
    "to_group",
    "of a pair or of one_vs_rest the second (B); of a direction or of rest_to_one the counterfactual group; empty = all (others)",
);
const SLICE: ColumnDef =
    text("slice", "slice: `region=north`, or `region=north & channel=web`, of the columns of `metrics.by`; empty = all rows");
const CLASS: ColumnDef = text(
    "class",
    "of a label of several classes the one that counts as positive against all others; empty = all, and a label of two sides",
);

/// `metrics`: one row per key and metric.
///
/// Version 6 filled the columns of causal graphs and added `world_var`, `world_even`, `n_worlds`, `n_worlds_undefined` and the family graph. In
/// a file of version 5 no set has graphs.
///
/// Version 5 added `class`. In a file of version 4 every label has two sides.
///
/// Version 4 added the family clarify, the scopes `one_vs_rest` and `worst_case`, and who holds the values of the latter. In a file of
/// version 3 groups are compared in pairs only.
///
/// Version 3 added the weights of rates, and intervals from blocks of people for every metric of a job with weights. In a file of version 2
/// weights had no part in any value.
///
/// Version 2 added the placebo columns, the scopes `one_to_rest` and `rest_to_one`, and intervals of the family shift. In a file of version
/// 1 no set had a placebo, and a null interval of that family means that none was made.
pub const METRICS: TableDef = TableDef {
    name: "metrics",
    version: 6,
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
        text("family", "family of the metric: performance, group, ccm, eccm, shift, clarify, graph"),
        or_null(real(
            "value",
            "the metric, of a graph-uncertain set its mean over the graphs in which it is defined; null = undefined, see `undefined`",
        )),
        text("undefined", "why the value is null; empty where it is not"),
        or_null(int(
            "numerator",
            "cases on top of a rate, whatever they weigh; null where the metric is no rate of counts, and where graphs differ",
        )),
        or_null(int("denominator", "cases below a rate, whatever they weigh; null where the metric is no rate of counts")),
        or_null(real(
            "weight_numerator",
            "what the cases on top of a rate weigh: over weight_denominator it is the value; null = no weights in the job, or no rate of counts",
        )),
        or_null(real("weight_denominator", "what the cases below a rate weigh; null as weight_numerator")),
        int("n_rows", "people behind the value"),
        or_null(real("lo", "lower end of the interval; null = none")),
        or_null(real("hi", "upper end of the interval; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text("interval", "method of the interval: wilson, newcombe, katz, bootstrap, poisson-bootstrap, block-bootstrap; empty = none"),
        text("ci_method", "the method in full, or why there is no interval"),
        or_null(real(
            "world_lo",
            "lower percentile of the values of all causal graphs, at the level of `metrics.worlds`; null = no graphs, or fewer than two with a value",
        )),
        or_null(real("world_hi", "upper percentile of the values of all causal graphs; null as world_lo")),
        or_null(real("world_var", "variance of the values of all causal graphs, divisor M - 1; null as world_lo")),
        or_null(real(
            "world_even",
            "mean over graphs in which every bootstrap weighs the same, whatever the size of its class; null = no graphs, or undefined in all",
        )),
        or_null(int("n_worlds", "causal graphs in which the metric has a value; null = no graphs")),
        or_null(int("n_worlds_undefined", "causal graphs in which it has none, and which are left out; null = no graphs")),
        or_null(real(
            "placebo_lo",
            "lower end of what sampling noise alone gives: 2.5 % quantile of the repeats, below 40 repeats the smallest; null = no placebo, or undefined in every repeat",
        )),
        or_null(real("placebo_hi", "upper end of what sampling noise alone gives: 97.5 % quantile or largest; null as placebo_lo")),
        or_null(int("placebo_repeats", "repeats of the placebo; null = none asked for")),
        or_null(real("ideal", "the value without any disparity; null = none is stated")),
        text("flags", "small_group, small_denominator, sampled; joined by `,`; empty = none"),
        text(
            "impaired_group",
            "the group put at a disadvantage by a value away from the ideal; empty = not stated, or in scope `one_vs_rest` all others",
        ),
        text(
            "highest_group",
            "of worst_case the group with the highest value, or the one furthest from all; empty = another scope, or no value",
        ),
        text("lowest_group", "of worst_case the group with the lowest value; empty as highest_group, and for a distance to all"),
        or_null(int("groups_undefined", "of worst_case the groups without a value, which are left out; null = another scope")),
    ],
    writer: "measure",
    readers: "gate, report, diff",
};

/// `counts`: one row per key and cell.
///
/// Version 3 names the classes of a label of several; of these only cells that hold somebody have a row. In a file of version 2 every
/// label has two sides.
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
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        SLICE,
        text("label", "1 = positive, 0 = negative, empty = no label; of several classes the name of the class"),
        text("predicted", "factual prediction: 1 or 0, or the name of the class"),
        text("predicted_cf", "counterfactual prediction: 1, 0 or the name of the class; empty where no counterfactual is involved"),
        int(
            "n",
            "factual rows or counterfactuals in the cell, whatever they weigh; of a graph-uncertain set by the mean score of each person over all graphs",
        ),
        or_null(real("weight", "what the people of the cell weigh, once per counterfactual; null = no weights in the job")),
        ColumnDef {
            name: "shift_sq",
            kind: ColumnType::Wide,
            meaning: "sum of squared score changes in units of 2^-52, each pair once whatever it weighs; null where no counterfactual is involved, and of several classes",
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
        int("n", "counterfactuals in the bin, whatever they weigh; of a graph-uncertain set mean scores over all graphs"),
        or_null(real("weight", "what their people weigh, once per counterfactual; null = no weights in the job")),
    ],
    writer: "measure",
    readers: "report",
};

const SET: ColumnDef = text("counterfactual", "name of the counterfactual set");
const OWN: ColumnDef = text("from_group", "the factual group; empty = all pairs of groups together");
const TARGET: ColumnDef = text("to_group", "the counterfactual group; empty = all pairs of groups together");

/// `cf_quality`: one row per counterfactual set, attribute, ordered pair of groups and metric.
pub const CF_QUALITY: TableDef = TableDef {
    name: "cf_quality",
    version: 1,
    one_row_per: "set, attribute, ordered pair of groups and metric",
    n_key: 5,
    columns: &[
        SET,
        SENSITIVE,
        OWN,
        TARGET,
        text("metric", "id of the measure: n_cf, share_discarded, cos_median, ...; `cfaudit explain ID` tells its formula"),
        or_null(real("value", "the metric; null = undefined, see `undefined`")),
        text("undefined", "why the value is null: nothing_to_average, no_filter; empty where it is not"),
    ],
    writer: "measure",
    readers: "report",
};

/// `cf_features`: one row per counterfactual set, attribute, ordered pair of groups, feature and metric.
pub const CF_FEATURES: TableDef = TableDef {
    name: "cf_features",
    version: 1,
    one_row_per: "set, attribute, ordered pair of groups, feature and metric",
    n_key: 6,
    columns: &[
        SET,
        SENSITIVE,
        OWN,
        TARGET,
        text("feature", "name of the feature"),
        text("metric", "id of the measure: share_changed, dist_after, out_of_range, ...; `cfaudit explain ID` tells its formula"),
        or_null(real("value", "the metric; null = undefined, see `undefined`")),
        text(
            "undefined",
            "why the value is null: nothing_to_average, not_a_number (levels have none, and a number that never varies); empty where it is not",
        ),
    ],
    writer: "measure",
    readers: "report",
};

/// `cf_distributions`: one row per counterfactual set, attribute, ordered pair of groups, feature, side and bin.
///
/// Version 2 added `share`. In a file of version 1 only the counts stand, which compare groups with different shares of labels.
pub const CF_DISTRIBUTIONS: TableDef = TableDef {
    name: "cf_distributions",
    version: 2,
    one_row_per: "set, attribute, ordered pair of groups (the 30 that are left farthest from their target), feature, side and bin",
    n_key: 7,
    columns: &[
        SET,
        SENSITIVE,
        OWN,
        TARGET,
        text("feature", "name of the feature"),
        text("side", "original: rows with a valid counterfactual; counterfactual; target: reference rows of the target group"),
        int("bin", "number of the bin, from 0; levels the 30 most frequent in the reference first, bin 30 holds all others together"),
        text(
            "level",
            "the level, which may be empty; empty for a number, and in bin 30, which holds all levels beyond the 30 most frequent",
        ),
        or_null(real("bin_lo", "left edge of the bin, part of it; values below the first count in it; null = levels")),
        or_null(real("bin_hi", "right edge of the bin, part of it only in the last bin; values above count in that; null = levels")),
        int("n", "how many"),
        or_null(real(
            "share",
            "share of the side; of target the mean of the shares in its classes, weighted by the counterfactuals of the class as in \
             `dist_after` of cf_features, so that n is not behind it; null = the side is empty",
        )),
    ],
    writer: "measure",
    readers: "report",
};

/// `cf_examples`: one row per counterfactual set, attribute, ordered pair of groups, example and feature that models read. Without rows
/// unless the job asks for pairs of rows by `report.example_pairs`.
pub const CF_EXAMPLES: TableDef = TableDef {
    name: "cf_examples",
    version: 1,
    one_row_per: "set, attribute, ordered pair of groups (those of `cf_distributions`), example and feature",
    n_key: 6,
    columns: &[
        SET,
        SENSITIVE,
        text("from_group", "the factual group"),
        text("to_group", "the counterfactual group"),
        int("example", "number of the pair of rows, from 0, in the order of a seeded hash of the row; the row itself is not named"),
        text("feature", "name of the feature"),
        or_null(text("value", "its value in the row as it is; null = missing")),
        or_null(text("value_cf", "its value in the counterfactual; null = missing")),
        int("changed", "1 where the two differ, else 0"),
    ],
    writer: "measure",
    readers: "report",
};

/// `groups`: one row per attribute, group and slice.
///
/// Version 3 added `n_missing_stratum`. Version 2 added `weight`. In a file of version 1 nothing tells what groups weigh.
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
        int("n", "audited rows of the group, whatever they weigh"),
        or_null(real("weight", "what they weigh together; null = no weights in the job")),
        or_null(int("n_positive", "of them with the positive label, or one of the positive classes; null = no label in the job")),
        int("n_predicted_positive", "of them with a positive prediction, or one of the positive classes, with or without a label"),
        int("n_missing_label", "of them without a label"),
        int("n_missing_score", "of them without a score"),
        int("n_missing_counterfactual_score", "of their counterfactuals without a score, over all sets"),
        int(
            "n_scores_equal_threshold",
            "of them with a score exactly at the threshold: the rule `threshold_rule` decides them; of several \
            classes those with the highest score in more than one, where the class named first is taken",
        ),
        or_null(int("n_missing_stratum", "of those who count, without a value of the column of strata; null = the job names none")),
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
        real("threshold", "the fitted threshold: positive where score >= threshold; above the largest score where nobody is"),
        int("n_rows", "training rows with a score"),
        int("n_positive", "positive ones among them"),
        real("tpr", "share of the positive training rows at or above it, by weight"),
        real("tnr", "share of the negative training rows below it, by weight"),
    ],
    writer: "measure",
    readers: "report, users",
};

/// `comparisons`: one row per value of two models on the same people.
pub const COMPARISONS: TableDef = TableDef {
    name: "comparisons",
    version: 2,
    one_row_per: "two models or arms, key and metric",
    n_key: 10,
    columns: &[
        ARM,
        text("model", "the first model"),
        text("against_arm", "experiment and arm that the first is compared with; empty for the plain audit"),
        text("against", "the second model; that of both where arms are compared"),
        COUNTERFACTUAL,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        text("metric", "id of the metric, of the families performance, group, ccm and eccm"),
        text("family", "family of the metric"),
        or_null(real("difference", "value of the first model or arm minus value of the second; null = undefined, see `undefined`")),
        text("undefined", "why the difference is null; empty where it is not"),
        or_null(real("model_value", "value of the first model; null = undefined")),
        or_null(real("against_value", "value of the second model; null = undefined")),
        or_null(real("lo", "lower end of the interval of the difference; null = none")),
        or_null(real("hi", "upper end of the interval of the difference; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text("interval", "method of the interval: block-bootstrap, drawn once for both models; empty = none"),
        text("ci_method", "the method in full, or why there is no interval"),
        int("n_rows", "people behind the value, the fewer of both models"),
    ],
    writer: "measure",
    readers: "report, diff",
};

/// `worlds`: one row per key, world and metric of the graph-uncertain sets. A world stands for the graphs of one bootstrap that give the same
/// counterfactuals.
pub const WORLDS: TableDef = TableDef {
    name: "worlds",
    version: 1,
    one_row_per: "model, set, attribute, scope, world and metric",
    n_key: 8,
    columns: &[
        MODEL,
        SET,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        int("world", "number of the world in its set, from 0, by bootstrap"),
        text("metric", "id of the metric"),
        int("bootstrap", "the bootstrap, from 0"),
        int("copies", "its graphs: as often does it count in means and percentiles"),
        or_null(real("value", "the metric in this world; null = undefined, see `undefined`")),
        text("undefined", "why the value is null; empty where it is not"),
        or_null(int("numerator", "cases on top of a rate; null where the metric is no rate of counts")),
        or_null(int("denominator", "cases below a rate; null where the metric is no rate of counts")),
    ],
    writer: "measure",
    readers: "report",
};

/// `world_people`: one row per model, graph-uncertain set and direction.
pub const WORLD_PEOPLE: TableDef = TableDef {
    name: "world_people",
    version: 1,
    one_row_per: "model, set, attribute and direction",
    n_key: 5,
    columns: &[
        MODEL,
        SET,
        SENSITIVE,
        FROM_GROUP,
        TO_GROUP,
        int("n", "people whose score has a variance over graphs; 0 where there is one graph, or more than a million people"),
        or_null(real("variance_mean", "mean over people of the variance of the person's score over graphs; null = n is 0")),
        or_null(real("variance_lo", "2.5 % quantile of these variances; null = n is below 2")),
        or_null(real("variance_hi", "97.5 % quantile of these variances; null = n is below 2")),
    ],
    writer: "measure",
    readers: "report",
};

/// `edges`: one row per graph-uncertain set and directed edge that occurs.
pub const EDGES: TableDef = TableDef {
    name: "edges",
    version: 1,
    one_row_per: "set, attribute and edge that occurs in a graph",
    n_key: 4,
    columns: &[
        SET,
        SENSITIVE,
        text("cause", "variable that the edge comes from"),
        text("effect", "variable that it points to"),
        int("count", "graphs with the edge, of all bootstraps"),
        real("frequency", "their share of all graphs, above 0 and at most 1"),
        real("frequency_even", "the same share where every bootstrap weighs the same, whatever the size of its class"),
        real(
            "entropy",
            "-p log2 p - (1 - p) log2 (1 - p) of the frequency p, in bits: 0 = all graphs agree, 1 = half of them have the edge",
        ),
        real("below_sensitive", "share of all graphs in which the edge lies among the attribute and what follows from it"),
    ],
    writer: "measure",
    readers: "report",
};

/// `nodes`: one row per graph-uncertain set and encoded column.
pub const NODES: TableDef = TableDef {
    name: "nodes",
    version: 1,
    one_row_per: "set, attribute, variable and level",
    n_key: 4,
    columns: &[
        SET,
        SENSITIVE,
        text("node", "name of the variable"),
        text("level", "the level whose indicator moves; empty for a number"),
        int("position", "position of the variable in the order of the search, from 0"),
        or_null(int("tier", "its tier, from 0; null = in none")),
        real("below_sensitive", "share of graphs in which the variable follows from the attribute; 1 for the attribute itself"),
        text("from_group", "the first declared group"),
        text("to_group", "the second declared group: what moves from the first to it moves back from it to the first"),
        real("move", "mean over graphs of the movement, in the unit of the column; of a level in shares of 1"),
        or_null(real("move_var", "variance of the movement over graphs; null = one graph")),
        or_null(real("move_lo", "lower percentile over graphs; null = one graph")),
        or_null(real("move_hi", "upper percentile over graphs; null = one graph")),
    ],
    writer: "measure",
    readers: "report",
};

/// `graphs`: one row per graph-uncertain set and bootstrap.
pub const GRAPHS: TableDef = TableDef {
    name: "graphs",
    version: 1,
    one_row_per: "set, attribute and bootstrap",
    n_key: 3,
    columns: &[
        SET,
        SENSITIVE,
        int("bootstrap", "the bootstrap, from 0"),
        or_null(real("score", "score of its graphs, on the scale 2 log-likelihood minus penalty; null = the graph is given")),
        int("class", "number of its class of graphs among the different ones, from 0"),
        int("graphs", "graphs of the class that are taken"),
        or_null(int("class_size", "graphs that the class has; null = too many to count")),
        text("drawn", "all; evenly = a sample in which all graphs are equally likely; by_directions = a sample in which they are not"),
        text(
            "determined",
            "variables that their parents determine in this bootstrap, joined by `,`: their scores are a convention; empty = none",
        ),
    ],
    writer: "measure",
    readers: "report",
};

/// `subgraphs`: one row per graph-uncertain set and different graph below the attribute.
pub const SUBGRAPHS: TableDef = TableDef {
    name: "subgraphs",
    version: 1,
    one_row_per: "set, attribute and graph below the attribute",
    n_key: 3,
    columns: &[
        SET,
        SENSITIVE,
        text("edges", "the edges among the attribute and what follows from it, `a -> b` joined by `; `; empty = nothing follows"),
        int("count", "graphs that have exactly these"),
        real("share", "their share of all graphs"),
    ],
    writer: "measure",
    readers: "report",
};

/// `transitions`: one row per key and two classes: how often predictions of one turn into the other. Only where the label has several
/// classes.
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
        or_null(real("value", "share of the counterfactuals of people predicted from_class; null = undefined, see `undefined`")),
        text("undefined", "why the value is null; empty where it is not"),
        int("numerator", "counterfactuals predicted to_class, whatever they weigh"),
        int("denominator", "counterfactuals of people predicted from_class, whatever they weigh"),
        or_null(real("weight_numerator", "what those on top weigh: over weight_denominator it is the value; null = no weights in the job")),
        or_null(real("weight_denominator", "what those below weigh; null as weight_numerator")),
        or_null(real("lo", "lower end of the interval; null = none")),
        or_null(real("hi", "upper end of the interval; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text("interval", "method of the interval: wilson, bootstrap, block-bootstrap; empty = none"),
        text("ci_method", "the method in full, or why there is no interval"),
        text("flags", "small_group, small_denominator; joined by `,`; empty = none"),
    ],
    writer: "measure",
    readers: "report",
};

/// `gates`: one row per gate and direction judged.
///
/// Version 2 added `class` and gates against a baseline, whose value is a change. In a file of version 1 every label has two sides, and every
/// value is one of `metrics`.
pub const GATES: TableDef = TableDef {
    name: "gates",
    version: 2,
    one_row_per: "gate and direction judged",
    n_key: 4,
    columns: &[
        text("gate", "name of the gate in the job"),
        SENSITIVE,
        FROM_GROUP,
        TO_GROUP,
        text("scope", "what the groups mean, as in `metrics`: total, group, pair, direction, difference"),
        text("verdict", "pass, fail, inconclusive, skipped"),
        text("level", "fail = counts for the exit status, warn = shown only"),
        text("metric", "the metric judged"),
        text("arm", "experiment and arm judged; empty for the plain audit"),
        text("model", "the model judged"),
        text("counterfactual", "the set judged; empty where none is involved"),
        text("class", "of several classes the one judged against all others; empty = all, and a label of two sides"),
        or_null(real("value", "the value, of a gate against the baseline the change from it; null = undefined")),
        or_null(real("lo", "lower end of its interval, with holm at the level that judged it; null = none")),
        or_null(real("hi", "upper end of its interval; null = none")),
        real("limit", "the limit"),
        text(
            "rule",
            "at_most or at_least, against the baseline rise_at_most or fall_at_most, with what decides: interval, `interval, holm` (a family \
             of comparisons) or estimate",
        ),
        or_null(int("denominator", "cases below the rate; null where the metric is no rate")),
        int("enough", "cases asked for before the gate decides"),
        or_null(real("baseline_value", "value of the baseline, to which `value` is to be added; null = none involved, or undefined there")),
        text("reason", "why, in words"),
        int("job_line", "line of the gate in the job file; 0 = not known"),
        int("decides", "1 for the row that decides the gate, 0 for others"),
    ],
    writer: "gate",
    readers: "report, diff, exports",
};

/// `filters`: one row per step that can lose rows.
pub const FILTERS: TableDef = TableDef {
    name: "filters",
    version: 1,
    one_row_per: "step that can lose rows",
    n_key: 1,
    columns: &[
        int("step", "position, from 1; 0 = the source itself"),
        text("what", "the step, as the job writes it"),
        int("rows_in", "rows before it"),
        int("rows_out", "rows after it"),
    ],
    writer: "prepare",
    readers: "report",
};

/// `issues`: one row per kind of problem met in the data that did not stop the run.
pub const ISSUES: TableDef = TableDef {
    name: "issues",
    version: 1,
    one_row_per: "kind of problem",
    n_key: 3,
    columns: &[
        text("code", "word of a closed list; `cfaudit explain CODE` tells more"),
        text("severity", "info or warning"),
        text("where", "column, attribute, model or set"),
        int("n", "how often"),
        text("text", "what, in words"),
    ],
    writer: "prepare, score, measure",
    readers: "report",
};

/// The codes of `issues`: what was met in the data and did not stop the run.
pub const ISSUE_CODES: &[(&str, &str)] = &[
    ("absent-class", "a class of the label that no row has"),
    ("absent-group", "a declared group that no row belongs to"),
    ("absent-split-value", "a value of the split that no row has"),
    (
        "broken-onehot",
        "rows with no 1 in a one-hot group, or with several: they count as missing there for strategies, and models read them as they stand",
    ),
    ("coarse-weight", "weights so far apart that small ones are rounded by more than a millionth, or to nothing"),
    ("incomplete-graph-row", "training rows without a value for every variable of a causal graph: they are left out of it"),
    ("missing-group", "rows without a value of a sensitive attribute: they take no part in what compares its groups"),
    ("missing-label", "rows without a label: they are left out of every metric"),
    ("missing-slice", "rows without a value of a column that `metrics.by` names: they belong to no slice of it"),
    ("missing-stratum", "rows without a value of the column of strata: they are left out of the disparity by strata, CDDPL"),
    ("missing-values", "rows without a value of a feature, and what becomes of them"),
    ("null-value", "values that the job says mean missing"),
    ("one-label-value", "all labels are the same, so nothing can be learnt and half of the metrics are undefined"),
    ("outside-bins", "numbers outside the bins of a derived column: it is missing there"),
    ("outside-group", "counterfactuals that keep a number which belongs to another group of a binned attribute: they are not valid"),
    ("outside-split", "rows that neither train nor are audited, by the column that splits"),
    ("small-slice", "slices of too few people: they are in the tables of counts and groups, and have no metrics"),
    ("uncompared-set", "a graph-uncertain set is not among the comparisons of two models"),
    ("undeclared-group", "rows whose sensitive value is no declared group: they take no part in what compares its groups"),
    ("unmapped-value", "values without a name in the map of a derived column: it is missing there"),
    ("unreached-group", "people without a counterfactual in a group, because no reference row shows what to write"),
    ("unseen-group", "rows to score that differ from their originals in `to_group` alone"),
    ("unsliced-set", "a graph-uncertain set has no slices: the columns of `metrics.by` cut what is measured of the other sets"),
];

/// `outcomes` (in `rows/`): one row per counterfactual, model and set. In order of model, set and attribute, then of the source rows.
pub const OUTCOMES: TableDef = TableDef {
    name: "outcomes",
    version: 2,
    one_row_per: "row, direction, model and set",
    n_key: 8,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        SENSITIVE,
        ColumnDef {
            name: "row_key",
            kind: ColumnType::Key,
            meaning: "the row number, or the integer row id, or the xxh3-64 of its text",
            nullable: false,
        },
        TO_GROUP,
        int("cf_index", "number of the counterfactual among those of the row and group"),
        int("fold", "fold in which the row was audited; 0 without folds"),
        text("from_group", "the factual group"),
        or_null(int("label", "1 = positive, 0 = negative; null = none")),
        or_null(int("predicted", "factual prediction; null = no score")),
        or_null(int("predicted_cf", "counterfactual prediction; null = no score")),
        or_null(real("score", "factual score; null = missing")),
        or_null(real("score_cf", "counterfactual score, of a graph-uncertain set its mean over all graphs; null = missing")),
        or_null(int(
            "weight",
            "what the row weighs, in whole units that are the same for all rows of the run; null = nobody has a weight. Version 1 had no such \
             column",
        )),
    ],
    writer: "count",
    readers: "diff",
};

/// What the arms of experiments were trained on.
pub const ARMS: TableDef = TableDef {
    name: "arms",
    version: 1,
    one_row_per: "arm of an experiment and fold",
    n_key: 4,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        int("fold", "fold whose rows are audited by this model; 0 without folds"),
        int("n_rows", "training rows with a label, before any is added; rows of weight 0 are not counted"),
        int("n_positive", "those that are positive"),
        int("n_candidates", "their valid counterfactuals; 0 where the arm adds none"),
        int("n_counterfactuals", "counterfactuals that were added"),
        int("n_synthetic", "synthetic rows that were added"),
        int("n_added_positive", "added rows that are positive"),
    ],
    writer: "augment",
    readers: "report, diff",
};

/// How the values of arms vary over folds.
pub const ARM_FOLDS: TableDef = TableDef {
    name: "arm_folds",
    version: 1,
    one_row_per: "arm, key and metric",
    n_key: 9,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        SENSITIVE,
        SCOPE,
        FROM_GROUP,
        TO_GROUP,
        SLICE,
        text("metric", "id of the metric"),
        int("folds", "folds in which it has a value"),
        int("folds_undefined", "folds in which it has none"),
        or_null(real("mean", "mean over the folds in which it has a value, each counted once; null = none")),
        or_null(real("sd", "standard deviation over these folds, n - 1 below; null = fewer than two")),
        or_null(real("lowest", "lowest value of a fold; null = none")),
        or_null(real("highest", "highest value of a fold; null = none")),
    ],
    writer: "augment",
    readers: "report",
};

/// The counterfactuals that arms added to their training rows.
pub const SELECTED: TableDef = TableDef {
    name: "selected",
    version: 1,
    one_row_per: "counterfactual of a training row that an arm added in a fold",
    n_key: 8,
    columns: &[
        ARM,
        MODEL,
        COUNTERFACTUAL,
        int("fold", "fold for whose model it was added; 0 without folds"),
        SENSITIVE,
        ColumnDef {
            name: "row_key",
            kind: ColumnType::Key,
            meaning: "the row number, or the integer row id, or the xxh3-64 of its text",
            nullable: false,
        },
        TO_GROUP,
        int("cf_index", "number of the counterfactual among those of the row and group"),
        text("from_group", "the factual group"),
        int("label", "label of the row and of the counterfactual: 1 = positive, 0 = negative"),
        or_null(int("predicted", "what the base model predicts of the row; null = nobody asked, or no score")),
        or_null(int("predicted_cf", "what the base model predicts of the counterfactual; null as predicted")),
    ],
    writer: "augment",
    readers: "diff",
};

/// All tables, in the order of the documentation.
pub const TABLES: &[&TableDef] = &[
    &METRICS,
    &COUNTS,
    &SCORE_SHIFT,
    &GROUPS,
    &CF_QUALITY,
    &CF_FEATURES,
    &CF_DISTRIBUTIONS,
    &CF_EXAMPLES,
    &COMPARISONS,
    &THRESHOLDS,
    &WORLDS,
    &WORLD_PEOPLE,
    &EDGES,
    &NODES,
    &GRAPHS,
    &SUBGRAPHS,
    &TRANSITIONS,
    &ARMS,
    &ARM_FOLDS,
    &CHANGES,
    &recourse::RECOURSE,
    &recourse::RECOURSE_COLUMNS,
    &recourse::SUBGROUPS,
    &recourse::ACTIONS,
    &recourse::ECD,
    &recourse::COMPARATIVES,
    &recourse::RANKING_ANALYSIS,
    &recourse::AGGREGATED_RANKINGS,
    &GATES,
    &FILTERS,
    &ISSUES,
    &OUTCOMES,
    &SELECTED,
];

/// One value of a small table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Null.
    Null,
    /// Text.
    Text(String),
    /// Integer.
    Int(i64),
    /// Float.
    Real(f64),
    /// Wide integer.
    Wide(i128),
    /// Unsigned integer.
    Key(u64),
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Cell::Text(value.to_owned())
    }
}

impl From<String> for Cell {
    fn from(value: String) -> Self {
        Cell::Text(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Cell::Int(value)
    }
}

impl From<u64> for Cell {
    /// Counts of rows fit an `i64`; anything larger is pinned to its end.
    fn from(value: u64) -> Self {
        Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Cell {
    /// A number that is not finite has no place in a table: it becomes null.
    fn from(value: f64) -> Self {
        if value.is_finite() { Cell::Real(value) } else { Cell::Null }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

impl Cell {
    fn rank(&self) -> u8 {
        match self {
            Cell::Null => 0,
            Cell::Text(_) => 1,
            Cell::Int(_) => 2,
            Cell::Real(_) => 3,
            Cell::Wide(_) => 4,
            Cell::Key(_) => 5,
        }
    }

    /// Order of cells of one column: text by bytes, numbers by size, null first.
    pub fn order(&self, other: &Cell) -> std::cmp::Ordering {
        match (self, other) {
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (Cell::Int(a), Cell::Int(b)) => a.cmp(b),
            (Cell::Real(a), Cell::Real(b)) => a.total_cmp(b),
            (Cell::Wide(a), Cell::Wide(b)) => a.cmp(b),
            (Cell::Key(a), Cell::Key(b)) => a.cmp(b),
            (a, b) => a.rank().cmp(&b.rank()),
        }
    }
}

/// A small table in memory: what the stages after counting write and the report reads.
#[derive(Debug, Clone)]
pub struct Frame {
    /// What it is.
    pub def: &'static TableDef,
    /// Its rows; every row has one cell per column of `def`.
    pub rows: Vec<Vec<Cell>>,
}

impl Frame {
    /// An empty table.
    pub fn new(def: &'static TableDef) -> Self {
        Frame { def, rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// Where the row does not have one cell per column: a bug of the writer, never of the input.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.def.columns.len(), "a row of `{}` needs one cell per column", self.def.name);
        self.rows.push(row);
    }

    /// Sorts the rows by key.
    pub fn sort(&mut self) {
        let n_key = self.def.n_key;
        self.rows.sort_by(|a, b| {
            a[..n_key].iter().zip(&b[..n_key]).map(|(x, y)| x.order(y)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }

    /// The rows with access by column name.
    pub fn records(&self) -> impl Iterator<Item = Record<'_>> {
        self.rows.iter().map(|cells| Record { def: self.def, cells })
    }
}

/// One row of a [`Frame`], read by column name. A name that the table does not have reads as null.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    def: &'static TableDef,
    cells: &'a [Cell],
}

impl<'a> Record<'a> {
    /// The cell of a column.
    pub fn cell(&self, column: &str) -> &'a Cell {
        self.def.column(column).map_or(&Cell::Null, |i| &self.cells[i])
    }

    /// The text of a column; empty where it is null.
    pub fn text(&self, column: &str) -> &'a str {
        match self.cell(column) {
            Cell::Text(value) => value,
            _ => "",
        }
    }

    /// Whether a column holds anything but null.
    pub fn is_some(&self, column: &str) -> bool {
        *self.cell(column) != Cell::Null
    }

    /// The number of a column; none where it is null.
    pub fn real(&self, column: &str) -> Option<f64> {
        match self.cell(column) {
            Cell::Real(value) => Some(*value),
            _ => None,
        }
    }

    /// The whole number of a column; none where it is null.
    pub fn int(&self, column: &str) -> Option<i64> {
        match self.cell(column) {
            Cell::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The wide whole number of a column; none where it is null.
    pub fn wide(&self, column: &str) -> Option<i128> {
        match self.cell(column) {
            Cell::Wide(value) => Some(*value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Frame, GROUPS, TABLES};
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
                assert!(i >= table.n_key || !column.nullable, "{}.{} is a key", table.name, column.name);
                assert!(!column.nullable || column.meaning.contains("null"), "{}.{} must say what null means", table.name, column.name);
            }
        }
    }

    #[test]
    fn rows_sort_by_key() {
        let row = |group: &str| {
            let mut cells = vec![Cell::from("m"), Cell::from("sex"), Cell::from(group), Cell::from("")];
            cells.extend((0..9).map(|_| Cell::Int(0)));
            cells
        };
        let mut frame = Frame::new(&GROUPS);
        for group in ["b", "", "a"] {
            frame.push(row(group));
        }
        frame.sort();
        let groups: Vec<&str> = frame.records().map(|r| r.text("group")).collect();
        assert_eq!(groups, ["", "a", "b"]);
    }
}
