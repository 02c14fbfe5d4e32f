//! The tables of issues and of filters, and the codes of issues.

use crate::table::row_macro::{SharedText, table};

table! {
    /// `filters`: one row per step that can lose rows.
    pub struct FilterRow in "filters", version 1, key 1,
    one row per "step that can lose rows", written by "prepare", read by "report" {
        /// position, from 1; 0 = the source itself
        step: i64,
        /// the step, as the job writes it
        what: SharedText,
        /// rows before it
        rows_in: i64,
        /// rows after it
        rows_out: i64,
    }
}

table! {
    /// `issues`: one row per kind of problem met in the data that did not stop the run.
    pub struct IssueRow in "issues", version 2, key 3,
    one row per "kind of problem", written by "prepare, report", read by "gate, report" {
        /// word of a closed list; `cfaudit explain CODE` tells more
        code: SharedText,
        /// info or warning
        severity: SharedText,
        /// column, attribute, model or set
        r#where: SharedText,
        /// how often
        n: i64,
        /// what, in words
        text: SharedText,
        /// of `selective` the state of the people: unmatched, filtered, duplicate, dropped,
        /// other_side, no_group, without_score or without_label; null = another code
        state: Option<SharedText>,
    }
}

impl IssueRow {
    /// Something that may change the meaning of results; `n` is how often, or 0.
    pub(crate) fn warning(code: &str, place: &str, n: i64, text: impl Into<SharedText>) -> Self {
        let (severity, text) = ("warning".into(), text.into());
        IssueRow { code: code.into(), severity, r#where: place.into(), n, text, state: None }
    }

    /// Something worth knowing; `n` is how often, or 0.
    pub(crate) fn info(code: &str, place: &str, n: i64, text: impl Into<SharedText>) -> Self {
        IssueRow { severity: "info".into(), ..IssueRow::warning(code, place, n, text) }
    }
}

/// The codes of `issues`: what was met in the data and did not stop the run.
pub const ISSUE_CODES: &[(&str, &str)] = &[
    ("absent-class", "a class of the label that no row has"),
    ("absent-decision", "a positive decision that no row has, in lists that `negative` closes"),
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
        "rows with no 1 in a one-hot group, or with several: strategies treat them \
         as missing, models read them unchanged",
    ),
    (
        "coarse-weight",
        "weights of such different size that small ones are rounded by more than a millionth, or \
         to 0",
    ),
    (
        "fewer-trees",
        "a model has fewer trees than the job asks for, because the next trees could not be split",
    ),
    (
        "incomplete-graph-row",
        "training rows without a value for every variable of a causal graph: they are excluded \
         from it",
    ),
    (
        "integer-code",
        "reported by `check`: a continuous feature with a few whole numbers that may be codes of \
         levels",
    ),
    (
        "inverted-scores",
        "scores or decisions of a model that are lower for people with a positive label than for \
         others: gates on the model are inconclusive, unless its `accept` lists this code",
    ),
    (
        "leaky-feature",
        "reported by `check`: a feature that reveals the label, the score or the decision, \
         identifies rows or persons, or looks like a weight, a date or free text",
    ),
    (
        "many-levels",
        "a nominal column with more than 1,000 levels: few people share a level, and each needs \
         memory in a model",
    ),
    (
        "missing-code",
        "reported by `check`: numbers that may mean missing, such as 98 and 99, or -1, because \
         they lie apart from all others",
    ),
    (
        "missing-group",
        "rows without a value of a sensitive attribute: they are excluded from comparisons of its \
         groups, and no gate passes that they could break",
    ),
    (
        "missing-label",
        "rows without a label: they count in metrics that need none, but in no counterfactual set \
         that conditions on the label",
    ),
    (
        "missing-score",
        "people or counterfactuals without a score of a model: its metrics are about the others, \
         and no gate passes that they could break",
    ),
    (
        "missing-slice",
        "rows without a value of a column that `metrics.by` names: they belong to no slice of it",
    ),
    (
        "missing-stratum",
        "rows without a value of the column of strata: they are excluded from the disparity by \
         strata, CDDPL",
    ),
    ("missing-values", "rows without a value of a feature, and how they are treated"),
    (
        "missing-word",
        "a word among the levels of a feature that usually means missing, such as `nan` or `?`",
    ),
    (
        "no-recheck",
        "scores of counterfactuals come from a file without `recheck`: it is not checked that \
         the audited version of the model computed them",
    ),
    (
        "no-training-rows",
        "a declared group has no row that a strategy learns from: values of counterfactuals from \
         it or to it, and sums with them, are undefined",
    ),
    ("not-finite", "numbers computed by an expression that are not finite: they are missing"),
    (
        "not-repeatable",
        "rows that a program or an ONNX file scored differently the second time: gates on \
         the model are inconclusive, unless its `accept` lists this code",
    ),
    ("null-value", "values that the job defines as missing"),
    (
        "one-decision",
        "a model that decides alike about everybody: gaps and switches of its decisions say \
         nothing",
    ),
    (
        "one-label-value",
        "all labels are the same, so no model can be trained and half of the metrics are undefined",
    ),
    (
        "one-sided-gate",
        "reported by `check`: a gate that limits a signed gap between two groups on one side only, \
         and does not see the gap the other way round",
    ),
    (
        "one-sided-label",
        "reported by `check`: the training or the audited rows lack a value of the label, so \
         nothing can be trained on them, or half of the metrics are undefined",
    ),
    (
        "onehot-apart",
        "reported by `check`: features of which in almost every row exactly one is 1, and that the \
         job does not group under `onehot`",
    ),
    ("outside-bins", "numbers outside the bins of a derived column: it is missing there"),
    (
        "outside-group",
        "counterfactuals that keep a number which belongs to another group of a binned attribute: \
         they are not valid",
    ),
    ("outside-split", "rows that the split column assigns neither to training nor to the audit"),
    (
        "partly-unseen-group",
        "rows to score that differ from their originals only in `to_group` where only one part of \
         a group changes",
    ),
    (
        "patterns-only",
        "a block of `why` tells who switches, but not through which features, because its model or \
         set cannot be asked about other rows",
    ),
    (
        "refitted-gate",
        "reported by `check`: a gate on the change of a set that is fitted on the rows of each \
         run, which is inconclusive if these differ",
    ),
    ("respelt-value", "values that the job brings to one spelling by `trim` or `case`"),
    (
        "rounding-at-threshold",
        "switches between two scores that agree to single precision and are on the two sides of \
         the threshold: rounding may be the whole switch, and gates that they alone decide are \
         inconclusive",
    ),
    (
        "selective",
        "some people are left out, or lack something, more often than others: rows by \
         `duplicates`, `keep`, `missing` or the split in some groups, scores in some groups, \
         groups of people with other decisions, labels of some groups or decisions (if repayment \
         is known only for granted loans: then values that need a label have the flag \
         `selective_labels`, and gates on them are inconclusive); the table `population` counts \
         them",
    ),
    (
        "similar-groups",
        "two groups of an attribute whose names differ only by case or blanks: they count as two",
    ),
    (
        "similar-values",
        "values of a column that differ only by case or blanks: they count as values of their own, \
         or are not found in a map",
    ),
    (
        "small-slice",
        "slices of too few people: they are in the tables of counts and groups, and have no \
         metrics",
    ),
    (
        "thousands-sign",
        "a continuous column in which a point may be a thousands separator, so that its numbers \
         are a thousand times too small",
    ),
    ("uncompared-set", "a graph-uncertain set is not among the comparisons of two models"),
    (
        "undeclared-group",
        "rows whose sensitive value is no declared group: they are excluded from comparisons of \
         its groups",
    ),
    (
        "unexpected-scores",
        "scores that differ from those that the job expects of a model, in no more rows than it \
         allows",
    ),
    (
        "unknown-to-model",
        "values of audited people that the encoders of a model do not know: where one in twenty \
         people of a group has one, gates on the model are inconclusive",
    ),
    (
        "unlabelled-people",
        "people without a label have no counterfactual in a set that conditions on the label: no \
         gate passes that they could break",
    ),
    (
        "unlisted-decision",
        "several words of a column of decisions that count as negative because they are not listed \
         as positive",
    ),
    (
        "unlisted-label",
        "several values of the label count as negative only because they are not listed as \
         positive",
    ),
    ("unmapped-value", "values without a name in the map of a derived column: it is missing there"),
    ("unmatched-rows", "rows whose key a side table lacks, and what becomes of them"),
    (
        "unreached-group",
        "people without a counterfactual in a group, because no reference row gives the value to \
         write",
    ),
    ("unseen-group", "rows to score that differ from their originals only in `to_group`"),
    (
        "unsliced-set",
        "a graph-uncertain set has no slices: the columns of `metrics.by` divide only the results \
         of the other sets",
    ),
    (
        "unsupported-people",
        "counterfactuals that would be people whom the reference rows hardly hold, such as women \
         who are husbands: values that count them have the flag `unsupported`, and gates whose \
         verdict among the supported people alone is another one are inconclusive",
    ),
    (
        "unweighted-fit",
        "weights that are not used to generate counterfactuals: for strategies every \
         row counts once",
    ),
    (
        "whole-numbers",
        "columns whose counterfactuals hold only whole numbers, because their values are whole",
    ),
];

/// What the author of the job can change about an issue, for `check` and the log: the page tells
/// its readers only what the issue means.
pub(crate) fn hint_of_issue(issue: &IssueRow) -> Option<&'static str> {
    match issue.state.as_deref() {
        Some("unmatched") => {
            return Some(
                "add these rows to the side table, or keep them with its `missing: keep` under \
                 `data.join`",
            );
        }
        Some("dropped") => {
            return Some(
                "the job can keep such rows with `missing: keep`, or with `level` for nominal \
                 columns",
            );
        }
        _ => {}
    }
    Some(match issue.code.as_str() {
        "unknown-to-model" => {
            "audit people whom the model was trained for, or train it on such values; `accept: \
             [unknown-levels]` of the model lets gates be decided anyway"
        }
        "not-repeatable" => {
            "make the scores repeatable, for instance by a fixed seed, or let gates be decided \
             anyway by `accept: [not-repeatable]` of the model"
        }
        "inverted-scores" => {
            "check which class the scores are of, the positive values of the label and of \
             decisions, and `better`; where all are right, `accept: [inverted-scores]` of the \
             model lets gates be decided"
        }
        "one-decision" => {
            "check the threshold, the scale of the scores, and the positive decisions"
        }
        _ => return None,
    })
}
