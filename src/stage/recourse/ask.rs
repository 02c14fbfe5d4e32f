//! Asks a model about people with changed features.
//!
//! A linear model is asked about every needed pair of a person and a set of changes: looking for
//! equal changed rows would cost more than scoring them. Every other model is asked about each
//! distinct changed row once: a model that runs here in blocks on all threads, a command in one run
//! of its program per fold that it knows.

use crate::error::{Fault, Result};
use crate::model::Scorer;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::{DecisionModel, DistinctRows, LevelChange, RowSets};
use crate::stage::models::OpenModels;
use crate::stage::recourse::inputs::RecourseInputs;
use crate::stage::recourse::people::RecoursePeople;
use crate::stage::row_context::RowContext;
use crate::stage::score::asked_rows::PairedRows;
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
            let model = LinearDecisionModel { context, people, scorers };
            return context.workers.within(|| plan.query_model(needed, &model));
        }
        let distinct = context.workers.within(|| DistinctRows::new(plan, needed));
        set_total(distinct.rows.len());
        let changed = PairedRows {
            pairs: &distinct.rows,
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
        let mut favourable = Vec::with_capacity(distinct.rows.len());
        let mut take = |scores: Vec<f64>| {
            for score in scores {
                let Some(&asked) = distinct.rows.get(favourable.len()) else { break };
                let Some(decision) = people.is_favourable(asked.0, score) else {
                    let what = "the model gave no score for changed features, so whether the \
                                change helps is not known";
                    let hint = "recourse needs a score for every changed row: score it, or name \
                                the levels that the model refuses in `not_to`";
                    let fault = Fault::new("bad-scores", what).at_row((changed.name)(asked));
                    return fault.fail(hint);
                };
                favourable.push(decision);
            }
            Ok(())
        };
        self.models.score_blocks(context, &changed, &|_, scores| Ok(scores), &mut take)?;
        Ok(distinct.answers(plan, needed, &favourable))
    }
}

/// Decisions of a linear model that runs here.
struct LinearDecisionModel<'a> {
    context: RowContext<'a>,
    people: &'a RecoursePeople,
    scorers: &'a [Box<dyn Scorer>],
}

impl DecisionModel for LinearDecisionModel<'_> {
    fn decide(
        &self,
        rows: &[u32],
        changes: &[LevelChange],
        favourable: &mut Vec<bool>,
    ) -> Result<()> {
        (self.context.watch.check)()?;
        let made = self.people.changed(rows, &[(rows.len(), changes.to_vec())]);
        let scores = score_by_fold(self.scorers, &made, |i| Some(self.people.fold(rows[i])))?;
        let decisions = rows.iter().zip(scores);
        let is_favourable = |row, score| self.people.is_favourable(row, score) == Some(true);
        favourable.extend(decisions.map(|(&row, score)| is_favourable(row, score)));
        (self.context.watch.progress)(rows.len() as u64);
        Ok(())
    }
}
