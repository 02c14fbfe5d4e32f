//! The stages of graph-uncertain sets: `discover` finds the graphs of all scenarios of a set,
//! `score` asks a model in all of their worlds.

pub mod search;
pub mod tables;

use crate::causal::encoding::MissingRows;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::data::rows::aligned::{CounterfactualReader, ScoreReader};
use crate::error::{Error, Fault, Result};
use crate::exec::{PlannedStage, StageContext, files};
use crate::job::ModelBlock;
use crate::param::ColumnName;
use crate::stage::applied_set::{AppliedSet, canonical_text};
use crate::stage::discover::search::{
    DiscoveredScenario, DiscoveryInputs, discover, training_hash,
};
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::generate::refits;
use crate::stage::measure::counted_audit::GraphScoreStage;
use crate::stage::plan::StagePlan;
use crate::stage::score::graph_scoring::{GraphScoreResult, GraphScoring, WORLD_COUNTS_FILE};

/// File of the stage `discover` for a scenario.
fn file_of(scenario: &str) -> String {
    format!("{scenario}.json")
}

impl<'a> AppliedSet<'a> {
    /// The knobs of its graphs, if it has any.
    pub(crate) fn graphs(&self) -> Option<&'a GraphUncertainBlock> {
        self.block.graph_uncertain.as_ref()
    }
}

impl<'a> StagePlan<'a> {
    /// The stages that find the graphs of all sets that rest on graphs.
    pub(crate) fn discover_stages(&'a self, worlds: &[AppliedSet<'a>]) -> Vec<PlannedStage<'a>> {
        let mut stages: Vec<PlannedStage<'a>> = Vec::new();
        for world in worlds {
            if let Some(graphs) = world
                .graphs()
                .filter(|_| !stages.iter().any(|stage| stage.id == world.discover_id()))
            {
                stages.push(self.discover_stage(world, graphs));
            }
        }
        stages
    }

    fn discover_stage(
        &'a self,
        world: &AppliedSet<'a>,
        graphs: &'a GraphUncertainBlock,
    ) -> PlannedStage<'a> {
        // What is done to rows of the audit changes no graph.
        let found = GraphUncertainBlock { clip: Default::default(), ..graphs.clone() };
        let made_of = vec![
            ("counterfactuals".to_owned(), canonical_text(&found)),
            ("attribute".to_owned(), world.attribute.to_owned()),
            self.seed_input(),
        ];
        let (id, set, position) = (world.discover_id(), world.scenario().0, world.position);
        let attribute = world.attribute;
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, 0, |ground| {
                let column = ColumnName::new(attribute);
                let variables = column
                    .map(|column| self.job.data.graph_variables(graphs, &column))
                    .unwrap_or_default();
                let asked = DiscoveryInputs {
                    graphs,
                    variables: &variables,
                    position,
                    seed: self.job.run.seed,
                };
                let asked_by = |error| {
                    self.with_model_place(
                        error,
                        &["counterfactuals", set, GraphUncertainBlock::WORD],
                    )
                };
                let found = discover(ground, &asked).map_err(asked_by)?;
                refits::write(ctx.out(), &[training_hash(ground, &asked)?])?;
                found.iter().try_for_each(|scenario| {
                    files::write_compact(&ctx.out().join(file_of(&scenario.scenario)), scenario)
                })
            })
        };
        self.stage(id, "discover", Self::context_needs(), made_of, run)
    }

    /// What was found for a set that rests on graphs.
    pub(crate) fn discovered(
        &self,
        ctx: &StageContext<'_>,
        world: &AppliedSet<'_>,
    ) -> Result<DiscoveredScenario> {
        let stage = world.discover_id();
        files::read_json(&ctx.need(&stage).join(file_of(world.scenario().1)), &stage)
    }

    /// The stage that asks a model in every world.
    pub(crate) fn graph_score_stage(
        &'a self,
        name: &'a str,
        model: &'a ModelBlock,
        world: &AppliedSet<'a>,
        graphs: &'a GraphUncertainBlock,
    ) -> PlannedStage<'a> {
        let (train, score, generate) =
            (Self::train_id(name), Self::score_id(name), world.id("generate"));
        let mut needs = Self::context_needs();
        needs.extend([world.discover_id(), generate.clone(), score.clone(), train.clone()]);
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = Self::rule_inputs(model);
        made_of.extend([
            ("scenario".to_owned(), world.scenario().1.to_owned()),
            ("clip".to_owned(), canonical_text(&graphs.clip)),
            ("score metrics".to_owned(), self.wants_shift().to_string()),
            self.seed_input(),
        ]);
        let id = world.score_id(name);
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.with_context(ctx, if self.wants_shift() { 2 } else { 1 }, |ground| {
                let found = self.discovered(ctx, &world)?;
                let trained = Self::trained_in(ctx.need(&train), model, self.n_folds())?;
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
                    rule: &Self::decision_rule(ctx, name, model, ground)?,
                    position: world.position,
                    counterfactuals: &CounterfactualReader::open(ctx.need(&generate))?,
                    scores: &ScoreReader::open(ctx.need(&score))?,
                    wants_shift: self.wants_shift(),
                    seed: self.job.run.seed,
                };
                let set = world.scenario().0;
                branching.write(ground, ctx.out()).map_err(|e| {
                    self.with_model_place(e, &["counterfactuals", set, GraphUncertainBlock::WORD])
                })
            })
        };
        self.stage(id, "score", needs, made_of, run)
    }

    /// What a model said in every world.
    pub(crate) fn graph_scores(ctx: &StageContext<'_>, stage: &str) -> Result<GraphScoreResult> {
        files::read_json(&ctx.need(stage).join(WORLD_COUNTS_FILE), stage)
    }

    /// All sets that rest on graphs, with what was found.
    pub(crate) fn graph_sets(
        &self,
        ctx: &StageContext<'_>,
        worlds: &[AppliedSet<'_>],
    ) -> Result<Vec<GraphSetScenario>> {
        let of_graphs = worlds.iter().filter(|world| world.graphs().is_some());
        of_graphs
            .map(|world| {
                Ok(GraphSetScenario {
                    name: world.set.to_owned(),
                    position: world.position,
                    discovered: self.discovered(ctx, world)?,
                })
            })
            .collect()
    }

    /// What scores are counted from in a set that rests on graphs; none for other sets.
    pub(crate) fn graph_scores_of(world: &AppliedSet<'_>, model: &str) -> Option<GraphScoreStage> {
        world.graphs().map(|_| GraphScoreStage { stage: world.score_id(model) })
    }
}
