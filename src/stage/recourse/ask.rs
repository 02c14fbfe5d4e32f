//! Asks a model about people as they could be.
//!
//! A linear model is asked about every needed pair of a person and a set of changes: looking for
//! equal changed rows would cost more than scoring them. Every other model is asked about the
//! distinct changed rows, each once: the ones that are trained here in batches on all threads, a
//! command in one run of its program per fold that it knows.

use crate::error::Result;
use crate::exec::StageContext;
use crate::model::Scorer;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::{DecisionModel, DistinctRows, LevelChange, RowSets};
use crate::stage::recourse::changed_rows::ChangedRows;
use crate::stage::recourse::people::RecoursePeople;
use crate::stage::row_context::RowContext;
use crate::stage::score::command::{CommandCall, CommandRows, ProgramFiles};
use crate::stage::score::rows::score_by_fold;

/// The model that is asked.
pub(crate) enum RecourseModel<'a> {
    /// One that was trained here, per fold or one for all.
    Trained {
        /// Its scorers.
        scorers: Vec<Box<dyn Scorer>>,
        /// Whether scoring a row costs less than remembering it.
        linear: bool,
    },
    /// A program.
    Command {
        /// The call.
        call: CommandCall<'a>,
        /// The files that go with it.
        files: ProgramFiles<'a>,
    },
}

/// What asking needs.
pub(crate) struct RecourseQuery<'a> {
    /// The stage.
    pub ctx: &'a StageContext<'a>,
    /// The prepared rows.
    pub context: RowContext<'a>,
    /// The people.
    pub people: &'a RecoursePeople,
    /// The model.
    pub model: &'a RecourseModel<'a>,
}

impl RecourseQuery<'_> {
    /// The people whom each set of changes helps. `later` is what remains to be counted once the
    /// model has answered.
    ///
    /// # Errors
    /// The program fails, or the run is to stop.
    pub(crate) fn helped(
        &self,
        plan: &RecoursePlan<'_>,
        needed: &RowSets,
        later: u64,
    ) -> Result<RowSets> {
        let set_total = |questions: usize| self.ctx.set_total(questions as u64 + later);
        match self.model {
            RecourseModel::Trained { scorers, linear } => {
                let decider =
                    TrainedDecisionModel { context: self.context, people: self.people, scorers };
                self.context.workers.within(|| {
                    if *linear {
                        set_total(needed.len());
                        return plan.query_model(needed, &decider);
                    }
                    let distinct = DistinctRows::new(plan, needed);
                    set_total(distinct.rows.len());
                    distinct.query_model(plan, needed, &decider)
                })
            }
            RecourseModel::Command { call, files } => {
                let distinct = self.context.workers.within(|| DistinctRows::new(plan, needed));
                set_total(distinct.rows.len());
                let changed = ChangedRows { people: self.people, plan, rows: &distinct.rows };
                let mut favourable = Vec::with_capacity(distinct.rows.len());
                let mut take = |scores: Vec<f64>| {
                    let start = favourable.len();
                    let decide = |(i, score): (usize, f64)| {
                        self.people.is_favourable(distinct.rows[start + i].0, score)
                    };
                    favourable.extend(scores.into_iter().enumerate().map(decide));
                    Ok(())
                };
                call.score_into(
                    self.ctx,
                    self.context,
                    CommandRows::Changed(&changed),
                    *files,
                    &mut take,
                )?;
                Ok(distinct.answers(plan, needed, &favourable))
            }
        }
    }
}

/// Decisions of a model that runs here.
struct TrainedDecisionModel<'a> {
    context: RowContext<'a>,
    people: &'a RecoursePeople,
    scorers: &'a [Box<dyn Scorer>],
}

impl DecisionModel for TrainedDecisionModel<'_> {
    fn decide(
        &self,
        rows: &[u32],
        changes: &[LevelChange],
        favourable: &mut Vec<bool>,
    ) -> Result<()> {
        (self.context.watch.check)()?;
        let made = self.people.changed(rows, &[(rows.len(), changes.to_vec())]);
        let scores = score_by_fold(self.scorers, &made, |i| Some(self.people.fold(rows[i])))?;
        favourable.extend(
            rows.iter().zip(scores).map(|(&row, score)| self.people.is_favourable(row, score)),
        );
        (self.context.watch.progress)(rows.len() as u64);
        Ok(())
    }
}
