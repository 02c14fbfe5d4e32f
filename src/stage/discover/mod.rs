//! The stage `discover` of graph-uncertain sets finds the graphs of all scenarios of a set.

pub(crate) mod knowledge_fit;
pub(crate) mod scenarios;
pub(crate) mod tables;

use std::borrow::Cow;
use std::path::Path;

use crate::counterfactual::graph_uncertain::bag_file;
use crate::counterfactual::graph_uncertain::knobs::GraphUncertainBlock;
use crate::error::Result;
use crate::exec::{StageContext, files, internal_error};
use crate::job::Job;
use crate::param::ColumnName;
use crate::stage::applied_set::AppliedSet;
use crate::stage::discover::scenarios::{
    DiscoveredScenario, DiscoveryInputs, discover, training_hash,
};
use crate::stage::discover::tables::GraphSetScenario;
use crate::stage::generate::refits;
use crate::stage::input::graphs_what;
use crate::stage::kinds::{DiscoverStage, GenerateStage};
use crate::stage::memory;
use crate::stage::row_inputs::RowInputs;
use crate::stage::stage_builder::{Opens, Planned, Stage, StageBuilder, StageInput, work};
use crate::unit::AuditUnit;

/// File of the stage `discover` for a scenario.
fn file_of(scenario: &str) -> String {
    format!("{scenario}.json")
}

impl<'a> AppliedSet<'a> {
    /// The knobs of its graphs, if it has any.
    pub(crate) fn graphs(&self) -> Option<&'a GraphUncertainBlock> {
        self.block.graphs()
    }

    /// As [`Self::graphs`], for a set that must have some.
    ///
    /// # Errors
    /// It depends on none.
    pub(crate) fn its_graphs(&self) -> Result<&'a GraphUncertainBlock> {
        self.graphs().ok_or_else(|| internal_error(format!("the set `{}` has no graphs", self.set)))
    }

    /// The variables of its graphs.
    pub(crate) fn graph_variables(
        &self,
        job: &Job,
        graphs: &GraphUncertainBlock,
    ) -> Vec<ColumnName> {
        let column = ColumnName::new(self.attribute);
        column.map(|column| job.data.graph_variables(graphs, &column)).unwrap_or_default()
    }
}

impl StageInput<DiscoverStage> {
    /// What was found for a scenario.
    pub(crate) fn open(
        &self,
        ctx: &StageContext<'_>,
        scenario: &str,
    ) -> Result<DiscoveredScenario> {
        self.read(ctx, &file_of(scenario))
    }
}

impl Stage for DiscoverStage {
    fn plan<'a>(unit: &AuditUnit, b: &mut StageBuilder<'_, 'a>) -> Planned<'a> {
        let plan = b.plan;
        let applied_sets = plan.applied_sets();
        let found = applied_sets.iter().filter(|applied| applied.scenario().0 == unit.set);
        let mut found = found.filter_map(|applied| Some((applied, applied.graphs()?)));
        let Some((applied, graphs)) = found.next() else {
            return Err(internal_error(format!("the set `{}` has no graphs", unit.set)));
        };
        // A block is a scenario; each of its statements is left out in turn.
        let graphs = match unit.block.as_str() {
            "" => Cow::Borrowed(graphs),
            scenario => Cow::Owned(graphs.without_each(scenario)),
        };
        b.value("counterfactuals", graphs.search_part());
        b.texts([("attribute".to_owned(), applied.attribute.to_owned())]);
        let (seed, rows) = (b.seed(), RowInputs::of_job(b)?);
        let (applied, set, position) = (applied.clone(), applied.scenario().0, applied.position);
        let bag = plan.input.of(&graphs_what(set)).next().map(|file| b.file(file));
        work(move |ctx| {
            let graphs = graphs.as_ref();
            let graphs_of = |path: &Path| {
                let bytes = files::read_start(path, bag_file::MAX_BYTES + 1)?;
                bag_file::read_bag(path, &bytes)
            };
            let asked_by = |error| {
                let keys = ["counterfactuals", set, GraphUncertainBlock::WORD];
                plan.with_model_place(error, &keys)
            };
            let read = bag.map(graphs_of).transpose().map_err(asked_by)?;
            rows.with(ctx, 0, |row_context| {
                let variables = &applied.graph_variables(plan.job, graphs);
                let memory = memory::allowed(plan.settings);
                let bag = bag.zip(read.as_deref());
                let asked = DiscoveryInputs { graphs, variables, position, bag, seed, memory };
                let found = discover(row_context, &asked).map_err(asked_by)?;
                refits::write(ctx.out(), &[training_hash(row_context, &asked)?], None)?;
                found.iter().try_for_each(|scenario| {
                    files::write_compact(&ctx.out().join(file_of(&scenario.scenario)), scenario)
                })
            })
        })
    }
}

/// What was found for all sets that depend on graphs, and how the rows moved for those that make
/// rows.
pub(crate) fn graph_sets<'a>(
    b: &mut StageBuilder<'_, 'a>,
) -> Result<Opens<'a, Vec<GraphSetScenario>>> {
    let mut sets = Vec::new();
    for applied in b.plan.applied_sets() {
        let Some(graphs) = applied.graphs() else { continue };
        let found = b.need::<DiscoverStage>(&applied.graphs_unit())?;
        let rows = graphs.makes_rows().then(|| b.need::<GenerateStage>(&applied.unit()));
        sets.push((applied, found, rows.transpose()?));
    }
    Ok(Box::new(move |ctx| {
        let scenario = |(applied, found, rows): &GraphSetInput<'_>| {
            Ok(GraphSetScenario {
                name: applied.set.to_owned(),
                position: applied.position,
                discovered: found.open(ctx, applied.scenario().1)?,
                rows: rows.as_ref().map(|rows| rows.world_rows(ctx)).transpose()?,
            })
        };
        sets.iter().map(scenario).collect()
    }))
}

/// A set with its graphs, and the rows where it makes any.
type GraphSetInput<'a> =
    (AppliedSet<'a>, StageInput<DiscoverStage>, Option<StageInput<GenerateStage>>);
