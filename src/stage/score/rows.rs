//! Scores of rows and counterfactuals by models that are asked here, and scores in a column of the
//! rows.

use std::path::Path;

use crate::data::rows::aligned::CarriedScores;
use crate::data::rows::split::RowRoles;
use crate::data::rows::{PreparedBatch, Projection};
use crate::data::{FeatureRows, MISSING_GROUP};
use crate::error::{Fault, Result};
use crate::model::Scorer;
use crate::num::score_scale::ScoreScale;
use crate::stage::plan::StagePlan;
use crate::stage::row_context::RowContext;

/// The rows of a group that train for a fold and have a label.
pub(crate) fn training_rows(batch: &PreparedBatch, roles: &RowRoles, fold: u8) -> Vec<usize> {
    (0..batch.row.len())
        .filter(|&i| roles.trains(i, fold) && batch.label.get(i).is_some_and(Option::is_some))
        .collect()
}

/// For each fold whether a model trained in it can know each group: somebody of it is among the
/// training rows. What a derived attribute is derived from is known by its own.
///
/// # Errors
/// The rows cannot be read, or the run is to stop.
pub(crate) fn trained_groups(
    row_context: RowContext<'_>,
    attribute: usize,
    n_folds: usize,
) -> Result<Vec<Vec<bool>>> {
    let layout = row_context.rows.layout();
    let of = &layout.attributes[attribute];
    let derived = layout.derivation(of.feature).is_some();
    let none = vec![vec![derived; of.groups.len()]; n_folds];
    if derived {
        return Ok(none);
    }
    let look = |known: &mut Vec<Vec<bool>>, g: usize| {
        let (batch, roles) = row_context.read(g, Projection::NO_FEATURES)?;
        for (i, &group) in
            batch.groups[attribute].iter().enumerate().filter(|(_, group)| **group != MISSING_GROUP)
        {
            for (fold, known) in (0..).zip(&mut *known) {
                known[usize::from(group)] |= roles.trains(i, fold);
            }
        }
        Ok(0)
    };
    let either = |known: &mut Vec<Vec<bool>>, other: Vec<Vec<bool>>| {
        let other = other.into_iter().flatten();
        known.iter_mut().flatten().zip(other).for_each(|(known, here)| *known |= here);
    };
    row_context.row_groups().fold(|| none.clone(), look, either)
}

/// The fold whose model is asked about a counterfactual in a group; none where that model does not
/// know the group: no score is better than one that looks as if nothing changed. `known` are the
/// groups that it does, for each fold or for all ([`trained_groups`]); none: all.
pub(crate) fn knowing_fold(known: &[Vec<bool>], fold: u8, to_group: u16) -> Option<u8> {
    let of_fold = known.get(usize::from(fold)).or(known.first());
    of_fold.is_none_or(|known| known[usize::from(to_group)]).then_some(fold)
}

/// The scores of rows by the models of their folds, one after another where a row has several; NaN
/// for rows that are not asked for.
pub(crate) fn score_by_fold(
    scorers: &[Box<dyn Scorer>],
    rows: &FeatureRows,
    fold: impl Fn(usize) -> Option<u8>,
) -> Result<Vec<f64>> {
    let width = scorers.first().map_or(1, |scorer| scorer.width());
    let mut scores = vec![f64::NAN; rows.n * width];
    for (k, scorer) in scorers.iter().enumerate() {
        let mine: Vec<usize> = (0..rows.n)
            .filter(|&i| fold(i).is_some_and(|f| scorers.len() == 1 || usize::from(f) == k))
            .collect();
        let mut part = Vec::with_capacity(mine.len() * width);
        if mine.len() == rows.n {
            scorer.score(rows, &mut part)?;
            return Ok(part);
        }
        scorer.score(&rows.take(&mine), &mut part)?;
        for (&i, part) in mine.iter().zip(part.chunks(width)) {
            scores[i * width..(i + 1) * width].copy_from_slice(part);
        }
    }
    Ok(scores)
}

/// Checks the scores of a carried column of the audited rows, and notes that these are the scores.
///
/// # Errors
/// A score outside of its scale: names row and value; the rows cannot be read; the disk refuses;
/// the run is to stop.
pub(crate) fn check_carried(
    plan: &StagePlan<'_>,
    row_context: RowContext<'_>,
    column: &str,
    scale: ScoreScale,
    out: &Path,
) -> Result<()> {
    let scores = CarriedScores { carried: carried_column(row_context, column)? };
    row_context.row_groups().in_order(
        |g| {
            let found = scores.read(row_context.rows, row_context.roles, g)?;
            let wrong = |score: &f64| !score.is_nan() && !scale.contains(*score);
            let Some(i) = found.iter().position(wrong) else {
                return Ok((found.len() as u64, ()));
            };
            let row = row_context.rows.read(g, Projection::NO_FEATURES)?.row[i];
            Err(plan.with_source_row(off_scale(found[i], scale, column), row).into())
        },
        |_, ()| Ok(()),
    )?;
    scores.write(out)
}

/// The fault of a score of a carried column that is none of its scale.
pub(crate) fn off_scale(score: f64, scale: ScoreScale, column: &str) -> Fault {
    let what = format!("the score `{score}` is not {}", scale.in_words());
    Fault::new("bad-scores", what).in_column(column).hint(scale.hint())
}

/// The position of a carried column.
///
/// # Errors
/// The rows have no such column.
pub(crate) fn carried_column(row_context: RowContext<'_>, column: &str) -> Result<usize> {
    let position = row_context.rows.layout().carried.iter().position(|c| c == column);
    position.ok_or_else(|| {
        Fault::new("missing-column", format!("the rows have no column `{column}`")).into()
    })
}
