//! The stages of graph-uncertain sets: `discover` finds the graphs of all scenarios of a set,
//! `score` asks a model in all of their worlds.

pub(crate) mod scenarios;
pub(crate) mod tables;

use crate::causal::encoding::MissingRows;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::error::{Error, Fault, Result};
use crate::exec::{StageContext, files, misfit};
use crate::param::ColumnName;
use crate::stage::applied_set::AppliedSet;
use crate::stage::discover::scenarios::{
    DiscoveredScenario, DiscoveryInputs, discover, training_hash,
};
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::generate::refits;
use crate::stage::kinds::{DiscoverStage, GenerateStage, ScoreStage, TrainStage};
use crate::stage::row_inputs::RowInputs;
use crate::stage::rule::RuleInputs;
use crate::stage::score::graph_scoring::{GraphScoreResult, GraphScoring, WORLD_COUNTS_FILE};
use crate::stage::stage_builder::{PlannedWork, Stage, StageBuilder, StageInput, work};
use crate::unit::{AuditUnit, UnitField, UnitKind};

/// File of the stage `discover` for a scenario.
fn file_of(scenario: &str) -> String {
    format!("{scenario}.json")
}

impl<'a> AppliedSet<'a> {
    /// The knobs of its graphs, if it has any.
    pub(crate) fn graphs(&self) -> Option<&'a GraphUncertainBlock> {
        self.block.graphs()
    }
}

impl StageInput<DiscoverStage> {
    /// What was found for a scenario.
    fn open(&self, ctx: &StageContext<'_>, scenario: &str) -> Result<DiscoveredScenario> {
        self.read(ctx, &file_of(scenario))
    }
}

impl Stage for DiscoverStage {
    type Output = Self;
    const KIND: UnitKind = UnitKind::Discover;
    const FIELDS: &'static [UnitField] = &[UnitField::Set];

    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Result<PlannedWork<'a>> {
        let plan = b.plan;
        let applied_sets = plan.applied_sets();
        let found = applied_sets.iter().filter(|applied| applied.scenario().0 == unit.set);
        let mut found = found.filter_map(|applied| Some((applied, applied.graphs()?)));
        let Some((applied, graphs)) = found.next() else {
            return Err(misfit(format!("the set `{}` has no graphs", unit.set)));
        };
        // What is done to rows of the audit changes no graph.
        let strategy = GraphUncertainBlock { clip: Default::default(), ..graphs.clone() };
        b.value("counterfactuals", &strategy);
        b.texts([("attribute".to_owned(), applied.attribute.to_owned())]);
        let (seed, rows) = (b.seed(), RowInputs::of_job(b)?);
        let (set, position, attribute) =
            (applied.scenario().0, applied.position, applied.attribute);
        work(move |ctx| {
            rows.with(ctx, 0, |row_context| {
                let column = ColumnName::new(attribute);
                let variables = column
                    .map(|column| plan.job.data.graph_variables(graphs, &column))
                    .unwrap_or_default();
                let asked = DiscoveryInputs { graphs, variables: &variables, position, seed };
                let asked_by = |error| {
                    plan.with_model_place(
                        error,
                        &["counterfactuals", set, GraphUncertainBlock::WORD],
                    )
                };
                let found = discover(row_context, &asked).map_err(asked_by)?;
                refits::write(ctx.out(), &[training_hash(row_context, &asked)?], None)?;
                found.iter().try_for_each(|scenario| {
                    files::write_compact(&ctx.out().join(file_of(&scenario.scenario)), scenario)
                })
            })
        })
    }
}

impl StageInput<ScoreStage> {
    /// What a model said in every world.
    pub(crate) fn graph_scores(&self, ctx: &StageContext<'_>) -> Result<GraphScoreResult> {
        self.read(ctx, WORLD_COUNTS_FILE)
    }
}

/// Asks a model in every world.
pub(crate) fn plan_graph_score<'a>(
    unit: &AuditUnit,
    applied: &AppliedSet<'a>,
    graphs: &'a GraphUncertainBlock,
    b: &mut StageBuilder<'_, 'a>,
) -> Result<PlannedWork<'a>> {
    let plan = b.plan;
    let (name, model) = plan.model_of(unit)?;
    let rows = RowInputs::of_job(b)?;
    let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
    let (generated, scores) =
        (b.need::<GenerateStage>(unit)?, b.need::<ScoreStage>(&AuditUnit::of_model(name))?);
    let trained = b.need::<TrainStage>(unit)?;
    let rule = RuleInputs::need(b, name, model)?;
    let (position, (set, scenario)) = (applied.position, applied.scenario());
    b.texts([("scenario".to_owned(), scenario.to_owned())]);
    b.value("clip", graphs.clip);
    let wants_shift = b.value("score metrics", plan.wants_shift());
    let seed = b.seed();
    work(move |ctx| {
        rows.with(ctx, if wants_shift { 2 } else { 1 }, |row_context| {
            let found = found.open(ctx, scenario)?;
            let trained = trained.models(ctx, model, plan.n_folds())?;
            let [trained] = trained.as_slice() else {
                return Err(Error::from(Fault::new(
                    "too-many-folds",
                    "graphs are asked of one model, and folds make several",
                )));
            };
            let branching = GraphScoring {
                worlds: &found.worlds,
                clip: graphs.clip,
                drops_incomplete: graphs.missing == MissingRows::Drop,
                model: trained.as_ref(),
                rule: &rule.open(ctx, row_context)?,
                position,
                counterfactuals: &generated.open(ctx, row_context)?,
                scores: &scores.open(ctx, row_context)?,
                wants_shift,
                seed,
            };
            branching.write(row_context, ctx.out()).map_err(|e| {
                plan.with_model_place(e, &["counterfactuals", set, GraphUncertainBlock::WORD])
            })
        })
    })
}

/// All sets that depend on graphs, to be opened.
pub(crate) struct GraphSetInputs<'a>(Vec<(AppliedSet<'a>, StageInput<DiscoverStage>)>);

impl<'a> GraphSetInputs<'a> {
    /// Those of the job.
    pub(crate) fn need(b: &mut StageBuilder<'_, 'a>) -> Result<Self> {
        let applied_sets =
            b.plan.applied_sets().into_iter().filter(|applied| applied.graphs().is_some());
        let found = applied_sets.map(|applied| {
            let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
            Ok((applied, found))
        });
        Ok(GraphSetInputs(found.collect::<Result<_>>()?))
    }

    /// What was found.
    pub(crate) fn open(&self, ctx: &StageContext<'_>) -> Result<Vec<GraphSetScenario>> {
        let of_set = |(applied, found): &(AppliedSet<'_>, StageInput<DiscoverStage>)| {
            Ok(GraphSetScenario {
                name: applied.set.to_owned(),
                position: applied.position,
                discovered: found.open(ctx, applied.scenario().1)?,
            })
        };
        self.0.iter().map(of_set).collect()
    }
}
