//! The table of who switches: patterns that were carried over, on both halves of the people.

use crate::table::row_macro::{SharedText, table};

/// What the column `metric` of the table `gates` says about gates on patterns.
pub(crate) const CONFIRMED_PATTERNS: &str = "confirmed_patterns";

table! {
    /// `switch_patterns`: who switches more often than the others.
    pub(crate) struct SwitchPatternRow in "switch_patterns", version 1, key 3,
    one row per "block of `why`, pattern and half of the people", written by "why",
    read by "gate, report" {
        /// name of the block in the job
        why: SharedText,
        /// the traits, `column = level, column = level`; empty = everybody
        pattern: SharedText,
        /// first = where patterns were looked for; second = where they were tested: the numbers to
        /// quote
        half: SharedText,
        /// the model
        model: SharedText,
        /// the counterfactual set; empty = none is involved
        counterfactual: SharedText,
        /// the sensitive attribute
        sensitive: SharedText,
        /// the factual group; empty = all directions together
        from_group: SharedText,
        /// the counterfactual group; empty as from_group
        to_group: SharedText,
        /// who is looked at and what is a switch: sr, nsr, psr, denied_by_group, favoured_by_group,
        /// fpr, fnr
        metric: SharedText,
        /// place by the lower end of the excess on the first half, from 1; 0 = everybody
        rank: i64,
        /// traits of the pattern
        items: i64,
        /// people of the half with these traits, each counted once
        n: i64,
        /// of them those who switch (fpr and fnr: who are predicted wrongly)
        k: i64,
        /// k / n; null = nobody
        rate: Option<f64>,
        /// lower end of the Wilson interval of the rate; null = nobody
        lo: Option<f64>,
        /// upper end of it; null = nobody
        hi: Option<f64>,
        /// all other people of the half; null = the row is everybody
        n_others: Option<i64>,
        /// of them those who switch; null as n_others
        k_others: Option<i64>,
        /// the rate minus that of the others; null = either has nobody, or the row is everybody
        difference: Option<f64>,
        /// lower end of its Newcombe interval; null as difference
        difference_lo: Option<f64>,
        /// upper end of it; null as difference
        difference_hi: Option<f64>,
        /// two-sided p of Fisher's exact test against the others; null = the row is everybody
        p: Option<f64>,
        /// the same by Holm's method over all patterns that were carried over; null on the first
        /// half, and of everybody
        p_holm: Option<f64>,
        /// 1 = p_holm is at most 0.05, the rate is higher, and min_denominator people have the
        /// traits; null as p_holm
        confirmed: Option<i64>,
        /// 1 = on this half too the rate is higher than that of the rest of each shorter pattern;
        /// null as p_holm
        adds: Option<i64>,
        /// place among the at most three that the page tells; null = not told
        told: Option<i64>,
        /// people of both halves that a pattern needs; null = no row of everybody on the first half
        least: Option<i64>,
        /// patterns with so many people, all of which were looked at; null as least
        searched: Option<i64>,
        /// of them those whose excess on the first half has an interval above 0; null as least
        candidates: Option<i64>,
        /// small_denominator, unweighted (rows have weights, which play no part here); joined by
        /// `,`; empty = none
        flags: SharedText,
    }
}
