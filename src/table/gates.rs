//! The table of gates.

use super::key_columns::{AuditKey, key_about_all_rows};
use crate::table::row_macro::{SharedText, tables};

tables! {
    /// `gates`: one row per gate and direction judged.
    pub struct GateRow in "gates", version 8, key 4,
    one row per "gate and direction judged", written by "gate",
    read by "gate, report, diff, exports, explain" {
        /// name of the gate in the job
        gate: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
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
        class: SharedText,
        /// the value as the gate asks it, of `between` a difference from_group minus to_group
        /// (`metrics` has one order), a ratio as `metrics` has it for these groups; of a gate
        /// against the baseline the change from it; null = undefined
        value: Option<f64>,
        /// lower end of its interval, with holm at the level that judged it; null = none
        lo: Option<f64>,
        /// upper end of its interval; null = none
        hi: Option<f64>,
        /// the limit
        limit: f64,
        /// at_most or at_least, against the baseline rise_at_most or fall_at_most, with what
        /// decides, a word of `decide_by`; `interval, holm` for a family of comparisons
        rule: SharedText,
        /// cases on top of the rate; null where the metric is not a rate of counts, where graphs
        /// differ, and of a change
        numerator: Option<i64>,
        /// cases below the rate; null where the metric is not a rate
        denominator: Option<i64>,
        /// of a gate on recourse, the subgroups on top that are unfair to from_group; null =
        /// another gate, or nothing was counted
        unfair_to_from: Option<i64>,
        /// the same of to_group; null as unfair_to_from
        unfair_to_to: Option<i64>,
        /// cases asked for before the gate decides
        enough: i64,
        /// value of the baseline, to which `value` is to be added; null = none involved, or
        /// undefined there
        baseline_value: Option<f64>,
        /// why, as a word of a closed list; of several reasons the first. `cfaudit explain CODE`
        /// tells more
        reason_code: SharedText,
        /// the arguments of that reason, as a JSON object with sorted keys; next to them `rule`,
        /// what the rule found where something is objected, `further` reasons, further
        /// `objections`, `remarks`, and what is `counted`
        reason_args: SharedText,
        /// why, in words, for people: codes and arguments say the same to programs
        reason: SharedText,
        /// line of the gate in the job file; 0 = not known
        job_line: i64,
        /// 1 for the row that decides the gate, 0 for others
        decides: i64,
        /// people below the value (of a gap in both groups, shared out as today) from which on the
        /// row is decided with probability 0.8, if the true value is this one; never below
        /// `enough`; null = see needed_how
        n_needed_80: Option<i64>,
        /// the same with probability 0.95; null as n_needed_80, or above 10^9
        n_needed_95: Option<i64>,
        /// audited people who bring n_needed_80, where the same part of them counts as today; null
        /// as n_needed_80
        people_needed_80: Option<i64>,
        /// audited people who bring n_needed_95; null as n_needed_95
        people_needed_95: Option<i64>,
        /// the smallest true excess over the limit that today's people show with probability 0.8;
        /// null = none, or not known
        detectable: Option<f64>,
        /// how the numbers were found (exact, normal, effective, from effective numbers of weights
        /// or persons, or interval, which are approximate) or why there are none: decided,
        /// on_the_limit, more_than_cap (10^9), boundary (a ratio with a rate of 0 or 1),
        /// undefined, no_interval, by_estimate, by_worlds, by_fit (fits take part, too),
        /// by_training, by_all, skipped, other_reason (more people would not help)
        needed_how: SharedText,
    }
}

impl GateRow {
    /// Whose value it judges.
    pub(crate) fn audit_key(&self) -> AuditKey {
        key_about_all_rows!(self)
    }

    /// The limit's direction and what decides, as `rule` gives them: `at_most` and `interval,
    /// holm`.
    pub(crate) fn rule_words(&self) -> (&str, &str) {
        let rule = self.rule.as_str();
        rule.split_once([',', ' ']).map_or((rule, ""), |(bound, decides)| (bound, decides.trim()))
    }

    /// How far the value lies beyond the limit, below 0 where it keeps it; the least of all where
    /// there is no value.
    pub(crate) fn excess(&self) -> f64 {
        self.value.map_or(f64::NEG_INFINITY, |value| match self.rule_words().0 {
            "at_least" => self.limit - value,
            "fall_at_most" => -value - self.limit,
            _ => value - self.limit,
        })
    }

    /// What it counts as: skipped, pass, warn (of a gate of level `warn` that does not pass), fail
    /// or inconclusive.
    pub(crate) fn counts_as(&self) -> &'static str {
        match (self.verdict.as_str(), self.level.as_str()) {
            ("skipped", _) => "skipped",
            ("pass", _) => "pass",
            (_, "warn") => "warn",
            ("fail", _) => "fail",
            _ => "inconclusive",
        }
    }

    /// Whether it limits the change from a baseline.
    pub(crate) fn is_of_change(&self) -> bool {
        ["rise_at_most", "fall_at_most"].contains(&self.rule_words().0)
    }
}
