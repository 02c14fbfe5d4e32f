//! The tables of experiments: what arms were trained on, how their values vary, which
//! counterfactuals they took.

use super::{
    ARM, COUNTERFACTUAL, ColumnDef, ColumnType, FROM_GROUP, MODEL, SCOPE, SENSITIVE, SLICE,
    TO_GROUP, TableDef, int, or_null, real, text,
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
        int(
            "n_rows",
            "training rows with a label, before any is added; rows of weight 0 are not counted",
        ),
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
        or_null(real(
            "mean",
            "mean over the folds in which it has a value, each counted once; null = none",
        )),
        or_null(real(
            "sd",
            "standard deviation over these folds, n - 1 below; null = fewer than two",
        )),
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
        or_null(int(
            "predicted",
            "what the base model predicts of the row; null = nobody asked, or no score",
        )),
        or_null(int(
            "predicted_cf",
            "what the base model predicts of the counterfactual; null as predicted",
        )),
    ],
    writer: "augment",
    readers: "diff",
};
