//! The tables `changes`, every value of a run next to the same value of an earlier one, and
//! `history`, the verdicts of earlier runs.

use std::fmt::{self, Display, Formatter};

use serde::de::IntoDeserializer;
use serde::de::value::Error;
use serde::{Deserialize, Serialize};

use super::key_columns::{AuditKey, key_about_all_rows};
use crate::table::row_macro::{SharedText, tables};

/// The template of what a [`RefitReason`] says, for all who print it: its name, and its text.
pub(crate) const REFITTED: (&str, &str) = ("refitted.txt", include_str!("refitted.txt"));

/// Why a change of a fitted set is not judged: the words of the column `refitted`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefitReason {
    /// The set was fitted in one of the runs only.
    OneRun,
    /// It learns from a reference whose rows, or their classes, differ.
    Reference,
    /// It learns from the training rows: causal graphs, or what the folds of an experiment need.
    Trained,
    /// It learns from the rows of each run, and no run could say how much this value depends on
    /// them.
    Rows,
    /// The same, and both runs could say it.
    RowsWithoutDoubt,
    /// The old run does not say how much its fit depends on its rows, the new one does.
    OldUndoubted,
    /// The new run does not say it.
    NewUndoubted,
    /// Both do, and too few of the repeats of one of them give the value.
    FewRepeats,
}

/// The word in the table.
impl Display for RefitReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Method of an interval that includes the fits of both runs: Student's t with the degrees of
/// freedom of Satterthwaite 1946, "An approximate distribution of estimates of variance
/// components".
pub const WITH_FITS: &str = "satterthwaite";

tables! {
    /// `changes`: one row per key and metric that either run has; only where a run was given a
    /// baseline.
    pub struct ChangeRow in "changes", version 7, key 10,
    one row per "key and metric of the run or of its baseline",
    written by "gate", read by "gate, report" {
        ..key: AuditKey,
        class: SharedText,
        /// id of the metric; `cfaudit explain ID` tells its formula
        metric: SharedText,
        /// family of the metric
        family: SharedText,
        /// compared; refitted (the set was fitted on other rows than in the baseline, or nobody
        /// knows on which, and not both runs ask for `doubt` in the set: no interval);
        /// not_comparable (a definition differs); only_old or only_new (the other run has no such
        /// row): then only values stand here
        status: SharedText,
        /// of status refitted why no change is judged: one_run (the set was fitted in one run
        /// only), reference, trained, rows, rows_without_doubt, old_undoubted, new_undoubted or
        /// few_repeats; null = another status
        refitted: Option<SharedText>,
        /// value of the baseline; null = undefined, or no such row
        old_value: Option<f64>,
        /// of a value that a gate of the job judges what the baseline could have been at least if
        /// everybody had been measured there; null = no such gate, or not known
        old_least: Option<f64>,
        /// the same at most; null as old_least
        old_most: Option<f64>,
        /// how many people, or rows, were not measured there who could have changed it; null as
        /// old_least
        old_unmeasured: Option<i64>,
        /// value of the run; null = undefined, or no such row
        new_value: Option<f64>,
        /// new_value - old_value; null = one of them is null, or not compared
        difference: Option<f64>,
        /// why the difference is null; empty if it is not
        undefined: SharedText,
        /// lower end of the interval of the difference; null = none
        lo: Option<f64>,
        /// upper end of the interval of the difference; null = none
        hi: Option<f64>,
        /// level of the interval; null = none
        level: Option<f64>,
        /// method of the interval, a word of `cfaudit explain`, as `paired` (of two values with the
        /// correlation that people in both runs give, where `paired` is 1), or identical (no
        /// outcome behind the value differs), satterthwaite (with the doubt about the fits of both
        /// runs); empty = none
        interval: SharedText,
        /// the method in full, or why there is no interval
        ci_method: SharedText,
        /// 1 where the interval depends on the same people in both runs, else 0
        paired: i64,
        /// 1 where the interval leaves out 0, else 0
        clear: i64,
        /// of a clear change: worse or better (further from or nearer to the ideal on the same side
        /// of it), else higher or lower; empty if it is not clear
        reading: SharedText,
        /// cases on top of the rate in the baseline; null = no rate of counts, or no such row
        old_numerator: Option<i64>,
        /// cases below the rate in the baseline; null as old_numerator
        old_denominator: Option<i64>,
        /// cases on top of the rate in the run; null as old_numerator
        new_numerator: Option<i64>,
        /// cases below the rate in the run; null as old_numerator
        new_denominator: Option<i64>,
        /// people behind the value of the baseline; 0 = no such row
        old_rows: i64,
        /// people behind the value of the run; 0 = no such row
        new_rows: i64,
        /// denominator_persons of `metrics` in the baseline; null = null there
        old_denominator_persons: Option<i64>,
        /// the same in the run; null as old_denominator_persons
        new_denominator_persons: Option<i64>,
        /// n_persons of `metrics` in the baseline; null = neither `data.person` nor `data.weight`
        /// there
        old_persons: Option<i64>,
        /// the same in the run; null as old_persons
        new_persons: Option<i64>,
        /// flags that either value has: small_group, small_denominator, sampled; joined by `,`;
        /// empty = none
        flags: SharedText,
    }

    /// `history`: the verdicts of earlier runs of the job; only where `--history` names folders.
    pub struct HistoryRow in "history", version 2, key 6,
    one row per "earlier run and row of its gates", written by "report", read by "report" {
        /// the run's place in `--history`, from 1
        position: i64,
        /// name of the gate
        gate: SharedText,
        sensitive: SharedText,
        from_group: SharedText,
        to_group: SharedText,
        scope: SharedText,
        /// id of the earlier run
        run: SharedText,
        /// version of the model in the words of its job; empty = none given
        model_version: SharedText,
        /// the metric judged
        metric: SharedText,
        arm: SharedText,
        model: SharedText,
        counterfactual: SharedText,
        class: SharedText,
        /// pass, fail, inconclusive, skipped
        verdict: SharedText,
        /// the value judged; null = undefined
        value: Option<f64>,
        /// lower end of the interval that judged it; null = none
        lo: Option<f64>,
        /// upper end of the interval that judged it; null = none
        hi: Option<f64>,
        /// the limit
        limit: f64,
        /// at_most or at_least, rise_at_most or fall_at_most, with what decides
        rule: SharedText,
    }
}

impl ChangeRow {
    /// Why it is not judged, where its set was fitted on other rows; a word that nobody knows says
    /// no more than that.
    pub(crate) fn refit_reason(&self) -> Option<RefitReason> {
        let word = self.refitted.as_deref().unwrap_or_default();
        let known = RefitReason::deserialize(IntoDeserializer::<Error>::into_deserializer(word));
        (self.status == "refitted").then(|| known.unwrap_or(RefitReason::Rows))
    }
}

impl HistoryRow {
    /// Whose value was judged.
    pub(crate) fn audit_key(&self) -> AuditKey {
        key_about_all_rows!(self)
    }
}
