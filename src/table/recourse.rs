//! The tables of recourse: what was compared, every subgroup under every definition, every action,
//! effectiveness by cost, overviews.
//!
//! Group 0 is the group that is compared, group 1 the reference. Costs are in units of the job's
//! weights. A subgroup is a number from 0 in the order of length, then text; an action is a number
//! within its subgroup, by cost, then text.

use super::TableDef;
use crate::table::row_macro::{SharedText, TableRow, columns, tables};

/// What the column `metric` of the table `gates` says about gates on recourse.
pub(crate) const UNFAIR_SUBGROUPS: &str = "unfair_subgroups";

columns! {
    /// The attribute and the two groups that are compared.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct ComparedPair {
        recourse: SharedText,
        /// the group that is compared
        group_0: SharedText,
        /// the reference, or all other groups together
        group_1: SharedText,
    }

    /// A definition of fairness in words.
    #[derive(Eq, PartialOrd, Ord)]
    pub struct CriterionWords {
        /// the definition of fairness: equal-effectiveness, equal-choice, ...
        definition: SharedText,
        /// its share phi, its budget, or the cost of people without recourse; empty = it has none
        parameter: SharedText,
        /// macro: one action for all people of a subgroup; micro: each person the action that
        /// helps
        view: SharedText,
    }
}

columns! {
    /// What gates read of a row of `subgroups`.
    pub(crate) struct JudgedSubgroupRow {
        ..pair: ComparedPair,
        ..criterion: CriterionWords,
        n_0: i64,
        n_1: i64,
        /// value of group 0
        value_0: Option<f64>,
        /// value of group 1
        value_1: Option<f64>,
        /// how far the two are apart
        score: Option<f64>,
        /// from 1; null = fair, or without actions
        rank: Option<i64>,
        /// the group that is worse off; empty = fair, or without actions
        against: SharedText,
    }
}

impl TableRow for JudgedSubgroupRow {
    const TABLE: &'static TableDef = SubgroupRow::TABLE;
}

tables! {
    /// `recourse`: one row per comparison of two groups.
    pub struct RecourseRow in "recourse", version 3, key 3,
    one row per "block of the job and pair of groups", written by "recourse",
    read by "gate, report" {
        ..pair: ComparedPair,
        /// the model whose decisions people want to change
        model: SharedText,
        /// why nothing was compared: no_affected_rows (nobody of one of the groups has the
        /// unfavourable decision), no_unaffected_rows (nobody has the favourable one, so there is
        /// no action to try); empty where it was
        undefined: SharedText,
        /// audited people of group 0 with the unfavourable decision
        affected_0: i64,
        /// of group 1
        affected_1: i64,
        /// audited people of any declared group with the favourable decision
        unaffected: i64,
        /// affected people of group 0 that a subgroup has at least
        least_0: i64,
        /// of group 1
        least_1: i64,
        /// people with the favourable decision that have the levels of an action at least
        least_unaffected: i64,
        /// subgroups with so many affected people of both groups
        subgroups: i64,
        /// of them with at least one valid action: those that are judged
        subgroups_with_actions: i64,
        /// valid actions of all subgroups
        actions: i64,
        /// distinct sets of changes behind them
        changes: i64,
        /// pairs of a person and a set of changes that the model decided about
        asked: i64,
        /// the most deals of a subgroup's people to two groups by chance; null = the job asks for
        /// no `chance`
        deals: Option<i64>,
        /// audited rows with a decision, of which one of each person is judged; null = the job
        /// names no `data.person`, so each row is a person
        person_rows: Option<i64>,
        /// the persons of these rows, also those without a declared group: every number of people
        /// in the tables of recourse is one of persons; null = as person_rows
        persons: Option<i64>,
    }

    /// `recourse_columns`: one row per block and column that may be in subgroups.
    pub struct RecourseColumnRow in "recourse_columns", version 1, key 2,
    one row per "block of the job and column", written by "recourse", read by "report" {
        recourse: SharedText,
        /// the column, or the one-hot group
        column: SharedText,
        /// what its levels are: nominal, ordered, numbers
        scale: SharedText,
        /// how many levels it has among the audited rows; of bins all, in use or not
        levels: i64,
        /// 1 where an action may change it, else 0
        changes: i64,
        /// the rule in words: never, freely, upwards, ...
        may_change: SharedText,
        /// what a change costs before its weight: unit, positions, range-share, absolute; empty
        /// where it may not change
        distance: SharedText,
        /// what the distance is multiplied by
        weight: f64,
        /// audited rows without a value: the level `missing`; with `data.person` of the rows drawn,
        /// here and in `outside`
        missing: i64,
        /// audited rows whose number lies outside of all bins: the level `missing` too
        outside: i64,
    }

    /// `subgroups`: one row per pair of groups, definition, view and subgroup.
    pub struct SubgroupRow in "subgroups", version 1, key 7,
    one row per "block of the job, pair of groups, definition, view and subgroup",
    written by "recourse", read by "gate, report" {
        ..pair: ComparedPair,
        ..criterion: CriterionWords,
        subgroup: i64,
        /// what its people share: `column = level, column >= level`
        traits: SharedText,
        n_0: i64,
        n_1: i64,
        /// n_0 over the affected people of group 0
        coverage_0: f64,
        /// n_1 over the affected people of group 1
        coverage_1: f64,
        /// valid actions of the subgroup
        n_actions: i64,
        /// value of group 0: a share (of the trade-off that at `cost`, and 0 where the groups are
        /// never apart, regardless of what they reach), a number of actions or a cost; infinity =
        /// no cost is enough; null = without actions, see `undefined`
        value_0: Option<f64>,
        /// value of group 1; null as value_0
        value_1: Option<f64>,
        /// how far the two are apart; infinity = one reaches what the other does not at any cost;
        /// null as value_0
        score: Option<f64>,
        /// why the score is null: no_actions; empty if it is not
        undefined: SharedText,
        /// from 1, equal scores share a rank; null = fair (score 0), or without actions
        rank: Option<i64>,
        /// the group that is worse off; empty = fair, or without actions
        against: SharedText,
        /// of the fair trade-off: the smallest cost where the two are furthest apart; null = no
        /// trade-off, or they never are
        cost: Option<f64>,
        /// of the fair trade-off: the score from which its test calls the groups different; null =
        /// no trade-off
        bound: Option<f64>,
        /// place among the subgroups that the page shows, from 1; null = not shown
        place: Option<i64>,
        /// the shown subgroup that says the same; null = none
        merged_into: Option<i64>,
        /// how often chance gives such a score; null = `chance` was not asked for, or without
        /// actions
        p_value: Option<f64>,
        /// smallest share of false discoveries at which it is one (Benjamini and Hochberg); null as
        /// p_value
        false_discovery: Option<f64>,
    }

    /// `actions`: one row per pair of groups, subgroup and action.
    pub struct ActionRow in "actions", version 1, key 5,
    one row per "block of the job, pair of groups, subgroup and action",
    written by "recourse", read by "report, users" {
        ..pair: ComparedPair,
        subgroup: i64,
        /// number of the action within its subgroup, from 0
        action: i64,
        /// what it changes: `column = new level, column = new level`
        changes: SharedText,
        /// what it costs
        cost: f64,
        n_0: i64,
        n_1: i64,
        /// people of group 0 who get the favourable decision by it
        worked_0: i64,
        /// people of group 1 who do
        worked_1: i64,
        /// people of group 0 who get it by this action or any other of at most its cost
        cumulative_0: i64,
        /// people of group 1 who do
        cumulative_1: i64,
    }

    /// `ecd`: one row per pair of groups, subgroup and distinct cost.
    pub struct EcdRow in "ecd", version 1, key 5,
    one row per "block of the job, pair of groups, subgroup and distinct cost of its actions",
    written by "recourse", read by "report" {
        ..pair: ComparedPair,
        subgroup: i64,
        /// number of the cost, from 0, ascending
        step: i64,
        /// the cost
        cost: f64,
        n_0: i64,
        n_1: i64,
        /// most people of group 0 whom one action of at most this cost helps
        macro_0: i64,
        /// of group 1
        macro_1: i64,
        /// people of group 0 whom some action of at most this cost helps
        micro_0: i64,
        /// of group 1
        micro_1: i64,
    }

    /// `comparatives`: one row per subgroup that the page shows, group and listed action.
    pub struct ComparativeRow in "comparatives", version 2, key 9,
    one row per "block of the job, pair of groups, definition, view, shown subgroup, group and \
                 listed action",
    written by "recourse", read by "report" {
        ..pair: ComparedPair,
        ..criterion: CriterionWords,
        /// place of the subgroup, from 1
        place: i64,
        /// 0 or 1: group_0 or group_1
        side: i64,
        /// number of the line, from 0
        line: i64,
        subgroup: i64,
        /// affected people of the group in the subgroup
        n: i64,
        /// the action, as in `actions`; null = none is listed, see `no_action`
        action: Option<i64>,
        /// what it changes; empty = no action
        changes: SharedText,
        /// what it costs; null = no action
        cost: Option<f64>,
        /// people of the group whom it helps; null = no action
        own: Option<i64>,
        /// people of the group whom it or any other of at most its cost helps; null = no action
        cumulative: Option<i64>,
        /// actions that the definition refers to for this group; of more than 8 those are listed
        /// that help more than any cheaper one
        n_lines: i64,
        /// why no action is listed: none_meets = no action of this group meets what the definition
        /// asks (its phi, its budget), none_helps = those that it refers to, n_lines, help nobody
        /// of the group; empty = an action is listed
        no_action: SharedText,
    }

    /// `ranking_analysis`: one row per pair of groups, definition and view.
    pub struct RankingRow in "ranking_analysis", version 1, key 6,
    one row per "block of the job, pair of groups, definition and view",
    written by "recourse", read by "report" {
        ..pair: ComparedPair,
        ..criterion: CriterionWords,
        /// subgroups with actions
        judged: i64,
        /// of them with a score above 0
        unfair: i64,
        /// unfair subgroups against group 0
        unfair_0: i64,
        /// unfair subgroups against group 1
        unfair_1: i64,
        /// subgroups with rank 1
        rank_1: i64,
        /// the largest rank; 0 = all are fair
        last_rank: i64,
        /// the first tenth of the unfair subgroups, whole ones
        top: i64,
        /// of these against group 0
        top_0: i64,
        /// of these against group 1
        top_1: i64,
        /// subgroups with the rank at which the first tenth ends
        tied: i64,
        /// how many of these are in it, by their number: where the two differ, the counts of the
        /// first tenth hang on it
        tied_in_top: i64,
        /// of the fair trade-off: subgroups whose test calls the groups different; null = no
        /// trade-off
        test_rejects: Option<i64>,
    }

    /// `aggregated_rankings`: one row per pair of groups and pair of definitions.
    pub struct AggregatedRankingRow in "aggregated_rankings", version 1, key 9,
    one row per "block of the job, pair of groups, definition with its view, and another with its \
                 own",
    written by "recourse", read by "report" {
        ..pair: ComparedPair,
        ..criterion: CriterionWords,
        /// the other definition
        by_definition: SharedText,
        /// its parameter; empty = it has none
        by_parameter: SharedText,
        /// its view
        by_view: SharedText,
        /// mean rank that the other gives to the subgroups of rank 1 of the first, over its largest
        /// rank plus 1: small where the two agree; null = see `undefined`
        value: Option<f64>,
        /// why the value is null: no_unfair_subgroup; empty if it is not
        undefined: SharedText,
    }
}

/// All of them.
pub(crate) const ALL: [&TableDef; 8] = [
    RecourseRow::TABLE,
    RecourseColumnRow::TABLE,
    SubgroupRow::TABLE,
    ActionRow::TABLE,
    EcdRow::TABLE,
    ComparativeRow::TABLE,
    RankingRow::TABLE,
    AggregatedRankingRow::TABLE,
];

impl CriterionWords {
    /// Whether it says something of either group, by the values of both: a cost that is enough, or
    /// an action that helps. Of means, and where trade-offs differ most, it always does.
    pub(crate) fn is_answered(&self, values: [Option<f64>; 2]) -> bool {
        let of_actions =
            ["equal-choice", "equal-effectiveness", "equal-effectiveness-within-budget"];
        let none = if of_actions.contains(&self.definition.as_str()) { 0.0 } else { f64::INFINITY };
        values != [Some(none); 2]
    }
}
