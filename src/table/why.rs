//! The tables of `why`: patterns of who switches, on both halves of the people, and what each
//! feature adds.

use serde::{Deserialize, Serialize};

use crate::table::row_macro::{SharedText, tables};

/// How a level is written after the name of its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LevelReading {
    /// A word or a number: `sex = Male`.
    Is,
    /// A range with two ends: `age in (25, 35]`.
    Within,
    /// A range with one: `age above 60`.
    Beyond,
}

/// A trait of a pattern: a column with a level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PatternTrait {
    /// The column.
    pub column: String,
    /// How the level reads behind it.
    pub reading: LevelReading,
    /// The level.
    pub level: String,
}

impl SwitchPatternRow {
    /// The traits; none where the column holds something else.
    pub(crate) fn listed_traits(&self) -> Option<Vec<PatternTrait>> {
        let list = if self.traits.is_empty() { "[]" } else { &self.traits };
        serde_json::from_str(list).ok()
    }
}

/// What the column `metric` of the table `gates` says about gates on patterns.
pub(crate) const CONFIRMED_PATTERNS: &str = "confirmed_patterns";

tables! {
    /// `switch_patterns`: who switches more often than the others.
    pub struct SwitchPatternRow in "switch_patterns", version 3, key 3,
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
        /// the experiment and the arm whose models decide; empty = the audited model
        arm: SharedText,
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
        /// the traits as a JSON list of objects: `column`, `level`, and how the level is read
        /// behind the column as `reading`: is, within (a range with two ends) or beyond (a range
        /// with one); empty = everybody
        traits: SharedText,
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
        /// small_denominator, nobody_counted (n is 0 in the row of everybody: nobody of the half is
        /// in the denominator of the metric), unweighted (rows have weights, which are not used
        /// here); joined by `,`; empty = none
        flags: SharedText,
    }

    /// `switch_features`: through what people switch.
    pub struct SwitchFeatureRow in "switch_features", version 2, key 5,
    one row per "block of `why`, direction, kind of people and feature", written by "why",
    read by "report" {
        /// name of the block in the job
        why: SharedText,
        /// the factual group
        from_group: SharedText,
        /// the counterfactual group
        to_group: SharedText,
        /// switched = people who switch by the counterfactual that was drawn for them; stayed =
        /// people who do not; all = both, as many as there are
        people: SharedText,
        /// the attribute with all columns that are set along with it, a column that the set may
        /// move, or a one-hot feature
        feature: SharedText,
        /// the model
        model: SharedText,
        /// the experiment and the arm whose models decide; empty = the audited model
        arm: SharedText,
        /// the counterfactual set
        counterfactual: SharedText,
        /// the sensitive attribute
        sensitive: SharedText,
        /// who is looked at and what is a switch: sr, nsr, psr, denied_by_group, favoured_by_group
        metric: SharedText,
        /// people who are explained, drawn by the seed
        n: i64,
        /// people whom they represent
        of: i64,
        /// of the n those for whom the feature differs between the row and the counterfactual
        moved: i64,
        /// of the n those for whom more than 10 features differ, so that orders of the features
        /// were drawn
        sampled: i64,
        /// mean of what the feature adds to the counterfactual score minus the factual score
        /// (Shapley value); null = the model gives decisions only, or nobody is explained
        score: Option<f64>,
        /// lower end of its Poisson bootstrap interval; null as score, or see flags
        score_lo: Option<f64>,
        /// upper end of it; null as score_lo
        score_hi: Option<f64>,
        /// standard error of score from the drawn orders, which the interval does not include; 0 =
        /// none were drawn; null as score
        score_se: Option<f64>,
        /// mean of what the feature adds to the change of the decision, in all 1 for a person who
        /// switches and 0 for one who does not (Shapley value); null = nobody is explained
        decision: Option<f64>,
        /// lower end of its Poisson bootstrap interval; null as decision, or see flags
        decision_lo: Option<f64>,
        /// upper end of it; null as decision_lo
        decision_hi: Option<f64>,
        /// standard error of decision from the drawn orders, as score_se; null as decision
        decision_se: Option<f64>,
        /// of the n those whose decision is the factual one if this feature alone keeps the factual
        /// value; null = not people who switch
        undone: Option<i64>,
        /// undone / n; null as undone
        undone_rate: Option<f64>,
        /// lower end of the Wilson interval of undone_rate; null as undone
        undone_lo: Option<f64>,
        /// upper end of it; null as undone
        undone_hi: Option<f64>,
        /// asks_at_most (fewer people are explained than `people` allows, because the model would
        /// be asked too many rows), missing_scores (people with a mixture that has no score are
        /// left out), nobody_counted, nobody_switches (n is 0: nobody is looked at who has a
        /// counterfactual of the direction, or none of them switches), unweighted (rows have
        /// weights, which are not used here), small_denominator (n is below
        /// `metrics.min_denominator`), few_people (no interval: replicates without anybody),
        /// score_boundary, decision_boundary (no interval: all people of a kind have the same
        /// value); joined by `,`; empty = none
        flags: SharedText,
    }
}
