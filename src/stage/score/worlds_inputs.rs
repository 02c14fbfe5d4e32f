//! The stage `worlds`: what a model says in every world of a graph-uncertain set.

use crate::causal::encoding::MissingRows;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader, WorldRowReader};
use crate::error::{Error, Fault, Result};
use crate::exec::{StageContext, misfit};
use crate::stage::kinds::{DiscoverStage, GenerateStage, ScoreStage, TrainStage, WorldsStage};
use crate::stage::row_context::RowContext;
use crate::stage::row_inputs::RowInputs;
use crate::stage::rule_inputs::RuleInputs;
use crate::stage::score::worlds::{
    GraphScoreResult, GraphScoring, WORLD_COUNTS_FILE, WorldAnswers,
};
use crate::stage::stage_builder::{OpensOfRows, PlannedWork, Stage, StageBuilder, StageInput};
use crate::unit::AuditUnit;

impl StageInput<WorldsStage> {
    /// What a model said in every world.
    pub(crate) fn graph_scores(&self, ctx: &StageContext<'_>) -> Result<GraphScoreResult> {
        self.read(ctx, WORLD_COUNTS_FILE)
    }

    /// For each key the mean of the scores over all graphs.
    pub(crate) fn scores(
        &self,
        ctx: &StageContext<'_>,
        row_context: RowContext<'_>,
    ) -> Result<ScoreReader> {
        ScoreReader::open(self.folder(ctx), row_context.rows, row_context.roles)
    }
}

impl Stage for WorldsStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let ((name, model), applied) = (plan.model_of(unit)?, plan.set_of(unit)?);
        let Some(graphs) = applied.graphs() else {
            return Err(misfit(format!("the set `{}` has no graphs", unit.set)));
        };
        let rows = RowInputs::of_job(b)?;
        let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
        let scores = b.need::<ScoreStage>(&unit.factual())?;
        let made = b.need::<GenerateStage>(&applied.unit())?;
        let answers: OpensOfRows<'a, WorldAnswers> = if graphs.makes_rows() {
            let (made, scored) = (made.clone(), b.need::<ScoreStage>(unit)?);
            Box::new(move |ctx, row_context| {
                Ok(WorldAnswers::Rows {
                    made: made.open(ctx, row_context)?,
                    reached: WorldRowReader::open(made.folder(ctx))?,
                    scores: scored.open(ctx, row_context)?,
                })
            })
        } else {
            b.value("clip", graphs.clip_rule());
            let trained = b.need::<TrainStage>(unit)?;
            Box::new(move |ctx, _| {
                let mut trained = trained.models(ctx, model, plan.n_folds())?.into_iter();
                let (Some(model), None) = (trained.next(), trained.next()) else {
                    let what = "graphs are asked of one model, and folds make several";
                    return Err(Error::from(Fault::new("too-many-folds", what)));
                };
                let drops_incomplete = graphs.missing == MissingRows::Drop;
                Ok(WorldAnswers::Encoded { model, clip: graphs.clip_rule(), drops_incomplete })
            })
        };
        let rule = RuleInputs::need(b, name, model)?;
        let (position, (set, scenario)) = (applied.position, applied.scenario());
        b.texts([("scenario".to_owned(), scenario.to_owned())]);
        let wants_shift = b.value("score metrics", plan.wants_shift());
        let kept = plan.keeps_world_scores() && unit.repeat.is_none();
        let kept = kept.then_some((name, applied.set));
        b.texts(kept.map(|(name, set)| ("rows of people".to_owned(), format!("{name}/{set}"))));
        rows.work(if wants_shift { 2 } else { 1 }, move |ctx, row_context| {
            let groups = row_context.rows.layout().attributes[position].groups.len() as u64;
            // Of more than two groups sums over all may need sums of their own.
            let places = if groups > 2 { 2 * (groups - 1) + 1 } else { 1 };
            plan.check_person_memory(row_context, places)?;
            let found = found.open(ctx, scenario)?;
            let scores = scores.open(ctx, row_context)?;
            let rule = rule.open(ctx, row_context, &scores)?;
            let keys =
                CounterfactualReader::of_keys(row_context.rows, row_context.roles, position)?;
            let scoring = GraphScoring {
                worlds: &found.worlds,
                answers: &answers(ctx, row_context)?,
                rule: &rule,
                position,
                keys: &keys,
                support: &made.support(ctx)?,
                scores: &scores,
                wants_shift,
                kept,
            };
            scoring.write(row_context, ctx.out()).map_err(|e| {
                plan.with_model_place(e, &["counterfactuals", set, GraphUncertainBlock::WORD])
            })
        })
    }
}
