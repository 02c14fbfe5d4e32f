//! Asks a model about people with changed features.
//!
//! A linear model is asked about every needed pair of a person and a set of changes: looking for
//! equal changed rows would cost more than scoring them. Every other model is asked about each
//! distinct changed row once: a model that runs here in blocks on all threads, a command in one run
//! of its program per fold that it knows.

use crate::error::{Fault, Result};
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::{LevelChange, RowSets};
use crate::stage::models::OpenModels;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::row_context::RowContext;
use crate::stage::score::asked_rows::{BATCH, PairedRows};
use crate::stage::score::equal_rows::EqualRows;
use crate::stage::score::rows::score_by_fold;

impl RecourseInputs<'_> {
    /// The people whom each set of changes helps. `later` counts the rest once the model has
    /// answered.
    ///
    /// # Errors
    /// The model fails, or the run is to stop.
    pub(super) fn helped(
        &self,
        context: RowContext<'_>,
        plan: &RecoursePlan<'_>,
        needed: &RowSets,
        later: u64,
    ) -> Result<RowSets> {
        let (people, set_total) = (self.people, |n: usize| context.ctx.set_total(n as u64 + later));
        if let (true, OpenModels::Here(scorers)) = (self.linear, self.models) {
            set_total(needed.n_pairs());
            let decide = |changes: &[LevelChange], rows: &[u32]| -> Result<Vec<bool>> {
                (context.watch.check)()?;
                let made = people.changed(rows, &[(rows.len(), changes.to_vec())]);
                let scores = score_by_fold(scorers, &made, |i| Some(people.fold(rows[i])))?;
                (context.watch.progress)(rows.len() as u64);
                let favours = |(&row, score)| people.is_favourable(row, score) == Some(true);
                Ok(rows.iter().zip(scores).map(favours).collect())
            };
            let helps = |change: usize, rows: &[u32]| {
                let changes = plan.change_set(change);
                let parts = rows.chunks(BATCH).map(|rows| decide(&changes, rows));
                Ok(parts.collect::<Result<Vec<_>>>()?.concat())
            };
            return context.workers.within(|| plan.helped(needed, helps));
        }
        let hashes = |change: usize| {
            let (rows, changes) = (plan.rows_needed(needed, change), plan.change_set(change));
            let made = |rows: &[u32]| people.changed(rows, &[(rows.len(), changes.clone())]);
            let of_part = |rows: &[u32]| people.hashes(rows, &made(rows));
            Ok(rows.chunks(BATCH).flat_map(of_part).collect())
        };
        let equal = EqualRows::find(context.pieces(plan.n_changes()), hashes)?;
        let mut asked: Vec<(u32, u32)> = Vec::with_capacity(equal.n);
        for ((change, first), number) in equal.first.iter().enumerate().zip(0..) {
            let rows = plan.rows_needed(needed, change);
            asked.extend(first.iter().map(|&i| (rows[i], number)));
        }
        set_total(asked.len());
        let changed = PairedRows {
            pairs: &asked,
            fold: &|row| people.fold(row),
            make: &|pairs| {
                let rows: Vec<u32> = pairs.iter().map(|(row, _)| *row).collect();
                let runs = pairs.chunk_by(|a, b| a.1 == b.1);
                let sets: Vec<(usize, Vec<LevelChange>)> =
                    runs.map(|run| (run.len(), plan.change_set(run[0].1 as usize))).collect();
                people.changed(&rows, &sets)
            },
            name: &|(row, change)| {
                let word = |change: &LevelChange| {
                    let feature = &people.audited.features[change.feature];
                    format!("`{}` = `{}`", feature.name, feature.levels[change.level as usize])
                };
                let changes = plan.change_set(change as usize);
                let words: Vec<String> = changes.iter().map(word).collect();
                format!("{}, changed to {}", people.name(row), words.join(", "))
            },
        };
        let mut favourable = Vec::with_capacity(asked.len());
        let mut take = |scores: Vec<f64>| {
            for score in scores {
                let Some(&pair) = asked.get(favourable.len()) else { break };
                let Some(decision) = people.is_favourable(pair.0, score) else {
                    let what = "the model gave no score for changed features, so whether the \
                                change helps is not known";
                    let hint = "recourse needs a score for every changed row: score it, or name \
                                the levels that the model refuses in `not_to`";
                    let fault = Fault::new("bad-scores", what).at_row((changed.name)(pair));
                    return fault.fail(hint);
                };
                favourable.push(decision);
            }
            Ok(())
        };
        self.models.score_blocks(context, &changed, &|_, scores| Ok(scores), &mut take)?;
        let helps = |change: usize, _: &[u32]| {
            let numbers = equal.numbers[change].iter();
            Ok(numbers.map(|&number| favourable[number as usize]).collect())
        };
        context.workers.within(|| plan.helped(needed, helps))
    }
}
