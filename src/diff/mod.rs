//! What has changed between two runs, by how much, and is it more than chance? Reads only two
//! output folders.
//!
//! Words: the *old* run is the baseline, the *new* one is compared with it; a *change* is new minus
//! old. A change is *clear* where its interval leaves out 0. Two runs are *comparable* where every
//! definition is the same ([`definitions`]): groups, label, strategies, thresholds, settings of
//! metrics. Where one differs, only those values are compared that still mean the same.
//!
//! The interval of a change, in this order:
//!
//! 1. *None* where the set behind a value was fitted on other rows in the two runs: its interval is
//!    about people and does not include the fit; in ten nights without any drift a quarter of such
//!    changes were clear. They are reported and not judged, with `force` too. Where both runs also
//!    fitted the set on resampled rows (`doubt`), the interval is one of those below, widened by
//!    the fits: with v_A and v_B the variances over the repeats of each run, s^2 =
//!    (half-width / z)^2 + v_A + v_B, change +- t s, t with Satterthwaite's degrees of freedom
//!    (infinite for the part of people, repeats - 1 for v_A and v_B).
//! 2. *Paired* ([`paired`]): both runs hold outcomes of the same people, and the interval uses that
//!    what a person adds to the two values is correlated. Families performance, group, ccm and
//!    eccm: see [`compare`](crate::metric::value::compare). Family scores: an AUC has DeLong's
//!    covariance, see [`scores`](crate::metric::value::scores). Family shift: the sum of squares
//!    over people with Student's interval, see
//!    [`paired_scores`](crate::metric::value::paired_scores).
//!    Where the outcomes of all people behind the value are the same, change and interval are 0.
//! 3. *Newcombe* (1998, method 10): both values are shares of independent cases.
//! 4. *MOVER*: any two values with intervals of one level. Zou and Donner 2008, "Construction of
//!    confidence limits about effect measures: a general approach", equation 3, which is Newcombe's
//!    method with other intervals than Wilson's. It ignores that people are in both runs, and is
//!    then too wide: the family clarify, worst cases, one direction of switches minus the way back,
//!    slices, classes, arms.
//!
//! Choice: whether a clear change is for the worse is decided by the distance from the ideal, and
//! only where both values are on the same side of it, so that the scale does not matter; otherwise
//! it is called higher or lower.
//!
//! Not done here: reading folders and jobs ([`stage::gate`](crate::stage)), judging
//! limits ([`gate`](crate::gate)).

mod change;
pub(crate) mod compared_run;
pub(crate) mod definitions;
mod paired;
mod people;
mod rows_of_both;
#[cfg(test)]
mod tests;
mod words;

use std::collections::BTreeMap;

use crate::diff::change::{Comparability, FitVariance, change_row};
use crate::diff::compared_run::ComparedRun;
use crate::diff::definitions::DefinitionChanges;
use crate::diff::paired::ValueKey;
use crate::error::Result;
use crate::folder::manifest::RunComparison;
use crate::table::{ChangeRow, MetricRow, RefitReason, TableRow};

/// Two runs compared.
#[derive(Debug, Clone)]
pub(crate) struct DiffResult {
    /// What was compared with what, and how.
    pub compared: RunComparison,
    /// The table `changes`.
    pub changes: Vec<ChangeRow>,
}

/// Compares two runs. With `force` also values that mean something else are compared.
///
/// # Errors
/// Outcomes cannot be read.
pub(crate) fn compare(old: &ComparedRun, new: &ComparedRun, force: bool) -> Result<DiffResult> {
    let rules = [old, new].map(ComparedRun::rules);
    let definitions = DefinitionChanges::between(&old.values, &new.values, rules);
    let pairs = paired::pair_values(old, new)?;
    let mut rows: BTreeMap<ValueKey, [Option<&MetricRow>; 2]> = BTreeMap::new();
    for (at, side) in [old, new].into_iter().enumerate() {
        for row in side.metrics.iter() {
            rows.entry(key(row)).or_default()[at] = Some(row);
        }
    }
    let mut changes: Vec<ChangeRow> = Vec::new();
    for (key, [old_row, new_row]) in rows {
        let row = old_row.or(new_row);
        let refit = || row.and_then(|row| refit([old, new], row, &definitions));
        let bond = match row {
            Some(row) if !force && definitions.breaks_value(row) => Comparability::Redefined,
            _ => match (refit().map(|why| fits(why, [old_row, new_row])), old_row, new_row) {
                (Some(Err(why)), ..) => Comparability::Refitted(why),
                (_, Some(old), Some(new)) if !force && definitions.breaks_interval([old, new]) => {
                    Comparability::OtherIntervalRule
                }
                (Some(Ok(Some(fits))), ..) => Comparability::OtherFits(fits),
                (Some(Ok(None)) | None, ..) => Comparability::Same,
            },
        };
        let pair = row.and_then(|row| pairs.of(&key, row));
        changes.push(change_row([old_row, new_row], bond, new.manifest.level, pair));
    }
    let compared = RunComparison {
        job: old.manifest.job.clone(),
        run: old.manifest.run.clone(),
        version: old.manifest.words.version.clone(),
        fingerprint: old.fingerprint.clone(),
        rows: old.manifest.rows.audited,
        comparable: definitions.agree(),
        forced: force && !definitions.agree(),
        pairing: pairs.words.clone(),
        people_in_both: pairs.people_in_both,
        differs: definitions.changes(),
        rounded: old.rounded.clone(),
    };
    Ok(DiffResult { compared, changes: ChangeRow::sorted(changes) })
}

/// Why the change of a value is not judged whose set was fitted on other rows in one of the runs;
/// none where the fit is the same.
fn refit(
    sides: [&ComparedRun; 2],
    row: &MetricRow,
    definitions: &DefinitionChanges,
) -> Option<RefitReason> {
    if !definitions.is_fitted(row) {
        return None;
    }
    let experiment = row.key.arm.split('/').next().unwrap_or_default();
    let fitted_on = |side: usize, experiment: &str| {
        sides[side].fitted_on([experiment, &row.key.counterfactual, &row.key.sensitive])
    };
    // An experiment without folds of its own takes the set of the plain audit.
    let [old, new] = [0, 1].map(|side| fitted_on(side, experiment).or_else(|| fitted_on(side, "")));
    let in_folds = !experiment.is_empty() && fitted_on(1, experiment).is_some();
    let reference = ["data", "reference"].map(str::to_owned);
    let has_reference = || sides[1].values.keys().any(|path| path.starts_with(&reference));
    match (old, new) {
        (Some(old), Some(new)) if old == new => None,
        (None, Some(_)) | (Some(_), None) => Some(RefitReason::OneRun),
        _ if definitions.rests_on_graphs(row) || in_folds => Some(RefitReason::Trained),
        _ if has_reference() => Some(RefitReason::Reference),
        _ if row.key.slice.is_empty() && row.class.is_empty() => {
            Some(RefitReason::RowsWithoutDoubt)
        }
        _ => Some(RefitReason::Rows),
    }
}

/// How much a value depends on the rows of both fits, where both runs say it, none of an undefined
/// one; else why its change is not judged.
fn fits(
    why: RefitReason,
    [old, new]: [Option<&MetricRow>; 2],
) -> std::result::Result<Option<[FitVariance; 2]>, RefitReason> {
    use RefitReason::{Reference, Rows, RowsWithoutDoubt};
    let (Some(old), Some(new), Rows | RowsWithoutDoubt | Reference) = (old, new, why) else {
        return Err(why);
    };
    match (old.fit_repeats, new.fit_repeats) {
        (None, None) => Err(why),
        (None, Some(_)) => Err(RefitReason::OldUndoubted),
        (Some(_), None) => Err(RefitReason::NewUndoubted),
        _ if old.value.is_none() || new.value.is_none() => Ok(None),
        _ => match FitVariance::of(old).zip(FitVariance::of(new)) {
            Some((old, new)) => Ok(Some([old, new])),
            None => Err(RefitReason::FewRepeats),
        },
    }
}

fn key(row: &MetricRow) -> ValueKey {
    (row.key.clone(), row.class.clone(), row.metric.clone())
}
