//! The tables of recourse: what was compared, every subgroup under every definition, every action,
//! effectiveness by cost, overviews.
//!
//! Group 0 is the group that is compared, group 1 the reference. Costs are in units of the job's
//! weights. A subgroup is a number from 0 in the order of length, then text; an action is a number
//! within its subgroup, by cost, then text.

use super::{ColumnDef, TableDef, int, or_null, real, text};

/// What the column `metric` of the table `gates` says of gates on recourse.
pub const UNFAIR_SUBGROUPS: &str = "unfair_subgroups";

const RECOURSE_KEY: ColumnDef =
    text("recourse", "the sensitive attribute, as named under `recourse` in the job");
const GROUP_0: ColumnDef = text("group_0", "the group that is compared");
const GROUP_1: ColumnDef = text("group_1", "the reference, or all other groups together");
const DEFINITION: ColumnDef =
    text("definition", "the definition of fairness: equal-effectiveness, equal-choice, ...");
const PARAMETER: ColumnDef = text(
    "parameter",
    "its share phi, its budget, or the cost of people without recourse; empty = it has none",
);
const VIEW: ColumnDef = text(
    "view",
    "macro: one action for all people of a subgroup; micro: each person the action that helps",
);
const SUBGROUP: ColumnDef = int("subgroup", "number of the subgroup, from 0");
const N_0: ColumnDef = int("n_0", "affected people of group 0 in the subgroup");
const N_1: ColumnDef = int("n_1", "affected people of group 1 in the subgroup");

/// `recourse`: one row per comparison of two groups.
///
/// Version 2 added `deals`. In a file of version 1 only the values of p in `subgroups` tell whether
/// the job asked for `chance`.
pub const RECOURSE: TableDef = TableDef {
    name: "recourse",
    version: 2,
    one_row_per: "block of the job and pair of groups",
    n_key: 3,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        text("model", "the model whose decisions people want to change"),
        text(
            "undefined",
            "why nothing was compared: no_affected_rows (nobody of one of the groups has the \
             unfavourable decision), no_unaffected_rows (nobody has the favourable one, so there \
             is no action to try); empty where it was",
        ),
        int("affected_0", "audited people of group 0 with the unfavourable decision"),
        int("affected_1", "of group 1"),
        int("unaffected", "audited people of any declared group with the favourable decision"),
        int("least_0", "affected people of group 0 that a subgroup has at least"),
        int("least_1", "of group 1"),
        int(
            "least_unaffected",
            "people with the favourable decision that have the levels of an action at least",
        ),
        int("subgroups", "subgroups with so many affected people of both groups"),
        int(
            "subgroups_with_actions",
            "of them with at least one valid action: those that are judged",
        ),
        int("actions", "valid actions of all subgroups"),
        int("changes", "distinct sets of changes behind them"),
        int("asked", "pairs of a person and a set of changes that the model decided about"),
        or_null(int(
            "deals",
            "the most deals of a subgroup's people to two groups by chance; null = the job asks \
             for no `chance`, or version 1",
        )),
    ],
    writer: "recourse",
    readers: "report",
};

/// `recourse_columns`: one row per block and column that may stand in subgroups.
pub const RECOURSE_COLUMNS: TableDef = TableDef {
    name: "recourse_columns",
    version: 1,
    one_row_per: "block of the job and column",
    n_key: 2,
    columns: &[
        RECOURSE_KEY,
        text("column", "the column, or the one-hot group"),
        text("scale", "what its levels are: nominal, ordered, numbers"),
        int("levels", "how many levels it has among the audited rows; of bins all, in use or not"),
        int("changes", "1 where an action may change it, else 0"),
        text("may_change", "the rule in words: never, freely, upwards, ..."),
        text(
            "distance",
            "what a change costs before its weight: unit, positions, range-share, absolute; empty \
             where it may not change",
        ),
        real("weight", "what the distance is multiplied by"),
        int("missing", "audited rows without a value: the level `missing`"),
        int(
            "outside",
            "audited rows whose number lies outside of all bins: the level `missing` too",
        ),
    ],
    writer: "recourse",
    readers: "report",
};

/// `subgroups`: one row per pair of groups, definition, view and subgroup.
pub const SUBGROUPS: TableDef = TableDef {
    name: "subgroups",
    version: 1,
    one_row_per: "block of the job, pair of groups, definition, view and subgroup",
    n_key: 7,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        DEFINITION,
        PARAMETER,
        VIEW,
        SUBGROUP,
        text("traits", "what its people share: `column = level, column = level`"),
        N_0,
        N_1,
        real("coverage_0", "n_0 over the affected people of group 0"),
        real("coverage_1", "n_1 over the affected people of group 1"),
        int("n_actions", "valid actions of the subgroup"),
        or_null(real(
            "value_0",
            "value of group 0: a share (of the trade-off that at `cost`, and 0 where the groups \
             are never apart, whatever they reach), a number of actions or a cost; infinity = no \
             cost is enough; null = without actions, see `undefined`",
        )),
        or_null(real("value_1", "value of group 1; null as value_0")),
        or_null(real(
            "score",
            "how far the two are apart; infinity = one reaches what the other does not at any \
             cost; null as value_0",
        )),
        text("undefined", "why the score is null: no_actions; empty where it is not"),
        or_null(int(
            "rank",
            "from 1, equal scores share a rank; null = fair (score 0), or without actions",
        )),
        text("against", "the group that is worse off; empty = fair, or without actions"),
        or_null(real(
            "cost",
            "of the fair trade-off: the smallest cost where the two are furthest apart; null = no \
             trade-off, or they never are",
        )),
        or_null(real(
            "bound",
            "of the fair trade-off: the score from which its test calls the groups different; null \
             = no trade-off",
        )),
        or_null(int(
            "place",
            "place among the subgroups that the page shows, from 1; null = not shown",
        )),
        or_null(int("merged_into", "the shown subgroup that says the same; null = none")),
        or_null(real(
            "p_value",
            "how often chance alone gives such a score; null = `chance` was not asked for, or \
             without actions",
        )),
        or_null(real(
            "false_discovery",
            "smallest share of false discoveries at which it is one (Benjamini and Hochberg); null \
             as p_value",
        )),
    ],
    writer: "recourse",
    readers: "gate, report",
};

/// `actions`: one row per pair of groups, subgroup and action.
pub const ACTIONS: TableDef = TableDef {
    name: "actions",
    version: 1,
    one_row_per: "block of the job, pair of groups, subgroup and action",
    n_key: 5,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        SUBGROUP,
        int("action", "number of the action within its subgroup, from 0"),
        text("changes", "what it changes: `column = new level, column = new level`"),
        real("cost", "what it costs"),
        N_0,
        N_1,
        int("worked_0", "people of group 0 who get the favourable decision by it"),
        int("worked_1", "people of group 1 who do"),
        int(
            "cumulative_0",
            "people of group 0 who get it by this action or any other of at most its cost",
        ),
        int("cumulative_1", "people of group 1 who do"),
    ],
    writer: "recourse",
    readers: "users",
};

/// `ecd`: one row per pair of groups, subgroup and distinct cost.
pub const ECD: TableDef = TableDef {
    name: "ecd",
    version: 1,
    one_row_per: "block of the job, pair of groups, subgroup and distinct cost of its actions",
    n_key: 5,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        SUBGROUP,
        int("step", "number of the cost, from 0, ascending"),
        real("cost", "the cost"),
        N_0,
        N_1,
        int("macro_0", "most people of group 0 whom one action of at most this cost helps"),
        int("macro_1", "of group 1"),
        int("micro_0", "people of group 0 whom some action of at most this cost helps"),
        int("micro_1", "of group 1"),
    ],
    writer: "recourse",
    readers: "report",
};

/// `comparatives`: one row per subgroup that the page shows, group and listed action.
///
/// Version 2 added `no_action`. In a file of version 1 a null `action` has two meanings.
pub const COMPARATIVES: TableDef = TableDef {
    name: "comparatives",
    version: 2,
    one_row_per: "block of the job, pair of groups, definition, view, shown subgroup, group and \
                  listed action",
    n_key: 9,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        DEFINITION,
        PARAMETER,
        VIEW,
        int("place", "place of the subgroup, from 1"),
        int("side", "0 or 1: group_0 or group_1"),
        int("line", "number of the line, from 0"),
        SUBGROUP,
        int("n", "affected people of the group in the subgroup"),
        or_null(int(
            "action",
            "the action, as in `actions`; null = none is listed, see `no_action`",
        )),
        text("changes", "what it changes; empty = no action"),
        or_null(real("cost", "what it costs; null = no action")),
        or_null(int("own", "people of the group whom it helps; null = no action")),
        or_null(int(
            "cumulative",
            "people of the group whom it or any other of at most its cost helps; null = no action",
        )),
        int(
            "n_lines",
            "actions that the definition speaks of for this group; of more than 8 those are listed \
             that help more than any cheaper one",
        ),
        or_null(text(
            "no_action",
            "why no action is listed: none_meets = no action of this group meets what the \
             definition asks (its phi, its budget), none_helps = those that it speaks of, n_lines, \
             help nobody of the group; empty = an action is listed; null = version 1",
        )),
    ],
    writer: "recourse",
    readers: "report",
};

/// `ranking_analysis`: one row per pair of groups, definition and view.
pub const RANKING_ANALYSIS: TableDef = TableDef {
    name: "ranking_analysis",
    version: 1,
    one_row_per: "block of the job, pair of groups, definition and view",
    n_key: 6,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        DEFINITION,
        PARAMETER,
        VIEW,
        int("judged", "subgroups with actions"),
        int("unfair", "of them with a score above 0"),
        int("unfair_0", "unfair subgroups against group 0"),
        int("unfair_1", "unfair subgroups against group 1"),
        int("rank_1", "subgroups with rank 1"),
        int("last_rank", "the largest rank; 0 = all are fair"),
        int("top", "the first tenth of the unfair subgroups, whole ones"),
        int("top_0", "of these against group 0"),
        int("top_1", "of these against group 1"),
        int("tied", "subgroups with the rank at which the first tenth ends"),
        int(
            "tied_in_top",
            "how many of these are in it, by their number: where the two differ, the counts of the \
             first tenth hang on it",
        ),
        or_null(int(
            "test_rejects",
            "of the fair trade-off: subgroups whose test calls the groups different; null = no \
             trade-off",
        )),
    ],
    writer: "recourse",
    readers: "report",
};

/// `aggregated_rankings`: one row per pair of groups and pair of definitions.
pub const AGGREGATED_RANKINGS: TableDef = TableDef {
    name: "aggregated_rankings",
    version: 1,
    one_row_per: "block of the job, pair of groups, definition with its view, and another with its \
                  own",
    n_key: 9,
    columns: &[
        RECOURSE_KEY,
        GROUP_0,
        GROUP_1,
        DEFINITION,
        PARAMETER,
        VIEW,
        text("by_definition", "the other definition"),
        text("by_parameter", "its parameter; empty = it has none"),
        text("by_view", "its view"),
        or_null(real(
            "value",
            "mean rank that the other gives to the subgroups of rank 1 of the first, over its \
             largest rank plus 1: small where the two agree; null = see `undefined`",
        )),
        text("undefined", "why the value is null: no_unfair_subgroup; empty where it is not"),
    ],
    writer: "recourse",
    readers: "report",
};

/// All of them.
pub const ALL: [&TableDef; 8] = [
    &RECOURSE,
    &RECOURSE_COLUMNS,
    &SUBGROUPS,
    &ACTIONS,
    &ECD,
    &COMPARATIVES,
    &RANKING_ANALYSIS,
    &AGGREGATED_RANKINGS,
];
