//! The table `changes`: every value of a run beside the same value of an earlier one.

use super::{
    ARM, CLASS, COUNTERFACTUAL, FROM_GROUP, MODEL, SCOPE, SENSITIVE, SLICE, TO_GROUP, TableDef,
    int, or_null, real, text,
};

/// How the column `ci_method` begins in rows that are not judged because their set was fitted
/// again; then comes why.
pub const REFITTED: &str = "none: refitted: ";

/// `changes`: one row per key and metric that either run has; only where a run was given a
/// baseline.
pub const CHANGES: TableDef = TableDef {
    name: "changes",
    version: 2,
    one_row_per: "key and metric of the run or of its baseline",
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
        text("family", "family of the metric"),
        text(
            "status",
            "compared; refitted (the set was fitted on other rows than in the baseline, or nobody \
             knows on which: no interval); not_comparable (a definition differs); only_old or \
             only_new (the other run has no such row): then only values stand here",
        ),
        or_null(real("old_value", "value of the baseline; null = undefined, or no such row")),
        or_null(real("new_value", "value of the run; null = undefined, or no such row")),
        or_null(real(
            "difference",
            "new_value - old_value; null = one of them is null, or not compared",
        )),
        text("undefined", "why the difference is null; empty where it is not"),
        or_null(real("lo", "lower end of the interval of the difference; null = none")),
        or_null(real("hi", "upper end of the interval of the difference; null = none")),
        or_null(real("level", "level of the interval; null = none")),
        text(
            "interval",
            "method of the interval: block-bootstrap, of score metrics also poisson-bootstrap (the \
             same people, drawn once for both), identical (no outcome behind the value differs), \
             newcombe, mover (from two independent intervals); empty = none",
        ),
        text("ci_method", "the method in full, or why there is no interval"),
        int("paired", "1 where the interval rests on the same people in both runs, else 0"),
        int("clear", "1 where the interval leaves out 0, else 0"),
        text(
            "reading",
            "of a clear change: worse or better (further from or nearer to the ideal on the same \
             side of it), else higher or lower; empty where it is not clear",
        ),
        or_null(int(
            "old_numerator",
            "cases on top of the rate in the baseline; null = no rate of counts, or no such row",
        )),
        or_null(int(
            "old_denominator",
            "cases below the rate in the baseline; null as old_numerator",
        )),
        or_null(int("new_numerator", "cases on top of the rate in the run; null as old_numerator")),
        or_null(int("new_denominator", "cases below the rate in the run; null as old_numerator")),
        int("old_rows", "people behind the value of the baseline; 0 = no such row"),
        int("new_rows", "people behind the value of the run; 0 = no such row"),
        text(
            "flags",
            "flags that either value has: small_group, small_denominator, sampled; joined by `,`; \
             empty = none",
        ),
    ],
    writer: "gate",
    readers: "gate, report, diff",
};
