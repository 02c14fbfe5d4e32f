//! The tables of the rows themselves: what was filtered, what was met, what came out.

use super::{
    ARM, COUNTERFACTUAL, ColumnDef, ColumnType, MODEL, SENSITIVE, TO_GROUP, TableDef, int, or_null,
    real, text,
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
    writer: "prepare, report",
    readers: "report",
};

/// The codes of `issues`: what was met in the data and did not stop the run.
pub const ISSUE_CODES: &[(&str, &str)] = &[
    ("absent-class", "a class of the label that no row has"),
    ("absent-group", "a declared group that no row belongs to"),
    (
        "absent-label",
        "a positive value of the label that no row has, in a list that `negative` closes",
    ),
    ("absent-split-value", "a value of the split that no row has"),
    (
        "blind-gate",
        "a gate whose direction cannot see harm to the group with the lower share of favourable \
         labels or decisions",
    ),
    (
        "broken-onehot",
        "rows with no 1 in a one-hot group, or with several: they count as missing there for \
         strategies, and models read them as they stand",
    ),
    (
        "coarse-weight",
        "weights so far apart that small ones are rounded by more than a millionth, or to nothing",
    ),
    (
        "fewer-trees",
        "a model has fewer trees than the job asks for, because the next ones could not be cut",
    ),
    (
        "incomplete-graph-row",
        "training rows without a value for every variable of a causal graph: they are left out of \
         it",
    ),
    (
        "many-levels",
        "a nominal column with more than 1,000 levels: few people share one, and each costs a \
         model memory",
    ),
    (
        "missing-group",
        "rows without a value of a sensitive attribute: they take no part in what compares its \
         groups",
    ),
    (
        "missing-label",
        "rows without a label: they count in metrics that need none, but in no counterfactual set \
         that conditions on the label",
    ),
    (
        "missing-slice",
        "rows without a value of a column that `metrics.by` names: they belong to no slice of it",
    ),
    (
        "missing-stratum",
        "rows without a value of the column of strata: they are left out of the disparity by \
         strata, CDDPL",
    ),
    ("missing-values", "rows without a value of a feature, and what becomes of them"),
    (
        "no-recheck",
        "scores of counterfactuals come from a file without `recheck`: nothing tells whether the \
         audited version of the model made them",
    ),
    (
        "no-training-rows",
        "a declared group has no row that a strategy learns from: values of counterfactuals from \
         it or to it, and sums with them, are undefined",
    ),
    (
        "not-repeatable",
        "rows that a program or an ONNX file scored otherwise when asked a second time: gates on \
         the model are inconclusive",
    ),
    ("null-value", "values that the job says mean missing"),
    (
        "one-label-value",
        "all labels are the same, so nothing can be learnt and half of the metrics are undefined",
    ),
    ("outside-bins", "numbers outside the bins of a derived column: it is missing there"),
    (
        "outside-group",
        "counterfactuals that keep a number which belongs to another group of a binned attribute: \
         they are not valid",
    ),
    ("outside-split", "rows that neither train nor are audited, by the column that splits"),
    (
        "partly-unseen-group",
        "rows to score that differ from their originals in `to_group` alone where only one part of \
         a group changes",
    ),
    (
        "refitted-gate",
        "told by `check`: a gate on the change of a set that is fitted on the rows of each run, \
         which is inconclusive where these differ",
    ),
    (
        "selective-labels",
        "labels are missing for some groups or decisions more often than for others, as where \
         repayment is known of granted loans only: values that need a label carry the flag \
         `selective_labels`, and gates on them are inconclusive",
    ),
    (
        "similar-groups",
        "two groups of an attribute whose names differ only by case or blanks: they count as two",
    ),
    (
        "small-slice",
        "slices of too few people: they are in the tables of counts and groups, and have no \
         metrics",
    ),
    (
        "thousands-sign",
        "a continuous column in whose numbers a point may stand between thousands, so that they \
         count for a thousandth",
    ),
    ("uncompared-set", "a graph-uncertain set is not among the comparisons of two models"),
    (
        "undeclared-group",
        "rows whose sensitive value is no declared group: they take no part in what compares its \
         groups",
    ),
    (
        "unlabelled-people",
        "people without a label have no counterfactual in a set that conditions on the label: no \
         gate that asks about them passes",
    ),
    (
        "unlisted-label",
        "several values of the label count as negative only because they are not listed as \
         positive",
    ),
    ("unmapped-value", "values without a name in the map of a derived column: it is missing there"),
    (
        "unreached-group",
        "people without a counterfactual in a group, because no reference row shows what to write",
    ),
    ("unseen-group", "rows to score that differ from their originals in `to_group` alone"),
    (
        "unsliced-set",
        "a graph-uncertain set has no slices: the columns of `metrics.by` cut what is measured of \
         the other sets",
    ),
    (
        "unweighted-fit",
        "weights that have no part in how counterfactuals are made: strategies learn from rows \
         that count once each",
    ),
    (
        "whole-numbers",
        "columns whose counterfactuals hold whole numbers only, because the values do",
    ),
];

/// `outcomes` (in `rows/`): one row per counterfactual, model and set. In order of model, set and
/// attribute, then of the source rows.
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
        or_null(real(
            "score_cf",
            "counterfactual score, of a graph-uncertain set its mean over all graphs; null = \
             missing",
        )),
        or_null(int(
            "weight",
            "what the row weighs, in whole units that are the same for all rows of the run; null = \
             nobody has a weight. Version 1 had no such column",
        )),
    ],
    writer: "count",
    readers: "diff",
};
