//! The stages of graph-uncertain sets: `discover` finds the graphs of all scenarios of a set, `score` asks a model in all of their worlds.

use crate::causal::encoding::Missing;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertain;
use crate::data::aligned::{CounterfactualReader, ScoreReader};
use crate::error::{Error, Fault, Result};
use crate::exec::files;
use crate::exec::{Stage, StageContext};
use crate::param::ColumnName;
use crate::pipeline::branching::{Branched, Branching, WORLDS};
use crate::pipeline::discovering::{Asked, Discovered, discover, read_by};
use crate::pipeline::graph_tables::GraphSet;
use crate::pipeline::plan::{Plan, World, text};
use crate::pipeline::{measuring, refits};
use crate::spec::Model;

/// File of the stage `discover` for a scenario.
fn file_of(scenario: &str) -> String {
    format!("{scenario}.json")
}

impl<'a> World<'a> {
    /// The knobs of its graphs, if it has any.
    pub(in crate::pipeline) fn graphs(&self) -> Option<&'a GraphUncertain> {
        self.block.graph_uncertain.as_ref()
    }
}

impl<'a> Plan<'a> {
    /// The stages that find the graphs of all sets that rest on graphs.
    pub(in crate::pipeline) fn discover_stages(&'a self, worlds: &[World<'a>]) -> Vec<Stage<'a>> {
        let mut stages: Vec<Stage<'a>> = Vec::new();
        for world in worlds {
            if let Some(graphs) = world.graphs().filter(|_| !stages.iter().any(|stage| stage.id == world.discover_id())) {
                stages.push(self.discover_stage(world, graphs));
            }
        }
        stages
    }

    fn discover_stage(&'a self, world: &World<'a>, graphs: &'a GraphUncertain) -> Stage<'a> {
        // What is done to rows of the audit changes no graph.
        let found = GraphUncertain { clip: Default::default(), ..graphs.clone() };
        let made_of =
            vec![("counterfactuals".to_owned(), text(&found)), ("attribute".to_owned(), world.attribute.to_owned()), self.seed_input()];
        let (id, set, position) = (world.discover_id(), world.scenario().0, world.position);
        let attribute = world.attribute;
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, 0, |ground| {
                let column = ColumnName::new(attribute);
                let variables = column.map(|column| self.job.data.graph_variables(graphs, &column)).unwrap_or_default();
                let asked = Asked { graphs, variables: &variables, position, seed: self.job.run.seed };
                let asked_by = |error| self.asked_by(error, &["counterfactuals", set, GraphUncertain::WORD]);
                let found = discover(ground, &asked).map_err(asked_by)?;
                refits::write(ctx.out(), &[read_by(ground, &asked)?])?;
                found.iter().try_for_each(|scenario| files::write_compact(&ctx.out().join(file_of(&scenario.scenario)), scenario))
            })
        };
        self.stage(id, "discover", Self::ground(), made_of, run)
    }

    /// What was found for a set that rests on graphs.
    pub(in crate::pipeline) fn discovered(&self, ctx: &StageContext<'_>, world: &World<'_>) -> Result<Discovered> {
        let stage = world.discover_id();
        files::read_json(&ctx.need(&stage).join(file_of(world.scenario().1)), &stage)
    }

    /// The stage that asks a model in every world.
    pub(in crate::pipeline) fn branch_stage(
        &'a self,
        name: &'a str,
        model: &'a Model,
        world: &World<'a>,
        graphs: &'a GraphUncertain,
    ) -> Stage<'a> {
        let (train, score, generate) = (Self::train_id(name), Self::score_id(name), world.id("generate"));
        let mut needs = Self::ground();
        needs.extend([world.discover_id(), generate.clone(), score.clone(), train.clone()]);
        needs.extend(Self::threshold_id(name, model));
        let mut made_of = Self::cut_inputs(model);
        made_of.extend([
            ("scenario".to_owned(), world.scenario().1.to_owned()),
            ("clip".to_owned(), text(&graphs.clip)),
            ("score metrics".to_owned(), self.wants_shift().to_string()),
            self.seed_input(),
        ]);
        let id = world.score_id(name);
        let world = world.clone();
        let run = move |ctx: &StageContext<'_>| {
            self.on_ground(ctx, if self.wants_shift() { 2 } else { 1 }, |ground| {
                let found = self.discovered(ctx, &world)?;
                let trained = Self::trained_in(ctx.need(&train), model, self.n_folds())?;
                let [trained] = trained.as_slice() else {
                    return Err(Error::from(Fault::new("too-many-folds", "graphs are asked of one model, and folds make several")));
                };
                let branching = Branching {
                    worlds: &found.worlds,
                    clip: graphs.clip,
                    drops: graphs.missing == Missing::Drop,
                    model: trained.as_ref(),
                    cut: &Self::cut(ctx, name, model, ground)?,
                    position: world.position,
                    counterfactuals: &CounterfactualReader::open(ctx.need(&generate))?,
                    scores: &ScoreReader::open(ctx.need(&score))?,
                    wants_shift: self.wants_shift(),
                    seed: self.job.run.seed,
                };
                let set = world.scenario().0;
                branching.write(ground, ctx.out()).map_err(|e| self.asked_by(e, &["counterfactuals", set, GraphUncertain::WORD]))
            })
        };
        self.stage(id, "score", needs, made_of, run)
    }

    /// What a model said in every world.
    pub(in crate::pipeline) fn branched(ctx: &StageContext<'_>, stage: &str) -> Result<Branched> {
        files::read_json(&ctx.need(stage).join(WORLDS), stage)
    }

    /// All sets that rest on graphs, with what was found.
    pub(in crate::pipeline) fn graph_sets(&self, ctx: &StageContext<'_>, worlds: &[World<'_>]) -> Result<Vec<GraphSet>> {
        let of_graphs = worlds.iter().filter(|world| world.graphs().is_some());
        of_graphs
            .map(|world| Ok(GraphSet { name: world.set.to_owned(), position: world.position, found: self.discovered(ctx, world)? }))
            .collect()
    }

    /// What scores are counted from in a set that rests on graphs; none for other sets.
    pub(in crate::pipeline) fn branch_of(world: &World<'_>, model: &str) -> Option<measuring::Branch> {
        world.graphs().map(|_| measuring::Branch { stage: world.score_id(model) })
    }
}
