//! The stage `discover`: bootstraps of training rows become their best graphs under the knowledge,
//! and how each of them moves a row.
//!
//! One pass over the training rows gives the moments of all bootstraps; after that no row is
//! needed. Bootstraps are processed in any order; all scenarios of a set use the same scores and
//! equations, so that what two scenarios share is computed once.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::causal::bag::{BagOfDags, GivenGraphs};
use crate::causal::bootstrap_draws::BootstrapDraws;
use crate::causal::class::list_or_sample;
use crate::causal::encoding::{CONSTANT_COLUMN, GraphEncoding, GraphVariable, TrainingBlocks};
use crate::causal::graph::Dag;
use crate::causal::knowledge::Knowledge;
use crate::causal::moments::EncodedMoments;
use crate::causal::person_units::PersonUnits;
use crate::causal::scm::EquationCache;
use crate::causal::score::GraphScore;
use crate::causal::search::{DagLimits, GraphSearch, SearchedReplicate};
use crate::counterfactual::graph_uncertain::bag_file::{self, BagGraph};
use crate::counterfactual::graph_uncertain::knobs::{BootstrapStrata, GraphUncertainBlock};
use crate::counterfactual::graph_uncertain::{CausalWorld, CausalWorlds, worlds_of_replicate};
use crate::data::rows::content::ContentHash;
use crate::data::rows::training::TrainingRows;
use crate::data::{Attribute, FeatureKind, Layout};
use crate::error::{Error, Fault, Result};
use crate::exec::accumulator::Accumulator;
use crate::num::seed::RandomStream;
use crate::param::{ColumnName, Name, Seed};
use crate::stage::memory::refuse_memory;
use crate::stage::row_context::RowContext;

/// What is known of one scenario once its graphs are there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DiscoveredScenario {
    /// The scenario.
    pub scenario: String,
    /// Graphs and the movement of each.
    pub worlds: CausalWorlds,
    /// For each variable its tier, where it has one.
    pub tiers: Vec<Option<usize>>,
    /// Training rows that the graphs depend on.
    pub n_rows: u64,
    /// Training rows left out because a variable is missing.
    pub n_dropped: u64,
    /// Declared groups without a training row.
    #[serde(default)]
    pub without_rows: Vec<String>,
}

/// What a set asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiscoveryInputs<'a> {
    /// Its knobs.
    pub graphs: &'a GraphUncertainBlock,
    /// The variables, with the column of the attribute among them.
    pub variables: &'a [ColumnName],
    /// Position of the attribute.
    pub position: usize,
    /// The file of its graphs with what it holds, where they are in a file.
    pub bag: Option<(&'a Path, &'a [BagGraph])>,
    /// The seed of the job.
    pub seed: Seed,
    /// Bytes that the run may take.
    pub memory: u64,
}

/// The result of one bootstrap in one scenario: the graphs found, unless the graph is given, and
/// the worlds.
type BootstrapGraphs = (Option<SearchedReplicate>, Vec<CausalWorld>);

/// The training rows of a set as numbers, and their moments in every bootstrap: all that graphs,
/// equations and bounds need of the rows.
pub(crate) struct EncodedReplicates {
    pub(crate) encoding: GraphEncoding,
    pub(crate) blocks: TrainingBlocks,
    pub(crate) draws: BootstrapDraws,
    /// Those of all rows come last.
    pub(crate) moments: Vec<EncodedMoments>,
    n_drawn: usize,
}

impl EncodedReplicates {
    /// One pass over the rows after those of the encoding; none where all training rows are of one
    /// group, so that nothing shows how the groups differ. The replicates are the bootstraps, and
    /// all rows once at the end; without bootstraps only all rows once. Where a person may have
    /// several rows, persons are drawn.
    ///
    /// # Errors
    /// The rows cannot be read or do not vary, a value is missing where none may be, the persons
    /// take more than `memory`, or the run is to stop.
    pub(crate) fn read(
        row_context: RowContext<'_>,
        (graphs, seed, memory): (&GraphUncertainBlock, Seed, u64),
        (variables, sensitive): (&[GraphVariable], usize),
    ) -> Result<Option<Self>> {
        let rows = row_context.training(0);
        let strata = (graphs.stratify == BootstrapStrata::Group).then_some(sensitive);
        let (encoding, blocks) = match GraphEncoding::fit(variables, &rows, graphs.missing, strata)
        {
            Err(Error::Data(fault))
                if fault.code == CONSTANT_COLUMN
                    && fault.column.as_ref() == Some(&variables[sensitive].name) =>
            {
                return Ok(None);
            }
            fitted => fitted?,
        };
        let bootstraps = usize::try_from(graphs.n_bootstraps()).unwrap_or(usize::MAX);
        let draws = match PersonUnits::read(&encoding, &blocks, &rows)? {
            Some(persons) => {
                let what = |needed, allowed| {
                    format!("the bootstraps of persons take {needed}; the run may take {allowed}")
                };
                let hint =
                    "take fewer `bootstraps` or training rows, or allow more with `--memory`";
                let of = (persons.memory(bootstraps), memory);
                refuse_memory(of, "too-many-persons", what, hint)?;
                BootstrapDraws::by_person(seed.0, bootstraps, persons)
            }
            None => BootstrapDraws::seeded(seed.0, bootstraps, &blocks.sizes),
        };
        let draws = draws.with_all_rows();
        let moments = EncodedMoments::for_replicates(&encoding, &blocks, &rows, &draws)?;
        // Without bootstraps all rows are the only replicate.
        let n_drawn = bootstraps.max(1);
        Ok(Some(EncodedReplicates { encoding, blocks, draws, moments, n_drawn }))
    }

    /// The moments of each bootstrap.
    pub(crate) fn drawn(&self) -> &[EncodedMoments] {
        &self.moments[..self.n_drawn]
    }
}

/// The variables of a set as columns of the rows, and the position of the attribute. Levels with an
/// order count by their position, as they do for models.
///
/// # Errors
/// The rows lack a column.
pub(crate) fn graph_columns<N: AsRef<str>>(
    layout: &Layout,
    position: usize,
    names: &[N],
) -> Result<(Vec<GraphVariable>, usize)> {
    let attribute = &layout.attributes[position];
    let variable = |name: &N| {
        let name = name.as_ref();
        let feature = layout.feature(name).ok_or_else(|| missing_column(name))?;
        let of = &layout.features[feature];
        let levels = match of.kind {
            _ if feature == attribute.feature => Some(attribute.level_of_group.clone()),
            FeatureKind::Nominal | FeatureKind::Sensitive => {
                Some((0..u32::try_from(of.levels.len()).unwrap_or(u32::MAX)).collect())
            }
            FeatureKind::Continuous { .. }
            | FeatureKind::OrdinalNumber
            | FeatureKind::OrdinalLevel => None,
        };
        Ok(GraphVariable { name: name.to_owned(), feature, levels })
    };
    let variables: Vec<GraphVariable> = names.iter().map(variable).collect::<Result<_>>()?;
    let sensitive = variables.iter().position(|of| of.feature == attribute.feature);
    Ok((variables, sensitive.ok_or_else(|| missing_column(&attribute.name))?))
}

/// The graphs of every scenario of a set, in its order.
///
/// # Errors
/// The rows cannot be read or do not vary, a value is missing where none may be, there are more
/// graphs than allowed, or the run is to stop.
pub(crate) fn discover(
    row_context: RowContext<'_>,
    asked: &DiscoveryInputs<'_>,
) -> Result<Vec<DiscoveredScenario>> {
    let layout = row_context.rows.layout();
    let attribute = &layout.attributes[asked.position];
    let (variables, sensitive) = graph_columns(layout, asked.position, asked.variables)?;
    let names: Vec<String> = variables.iter().map(|of| of.name.clone()).collect();
    let drawn_by = (asked.graphs, asked.seed, asked.memory);
    let replicates = EncodedReplicates::read(row_context, drawn_by, (&variables, sensitive))?;
    let Some(replicates) = replicates else {
        let rows = row_context.training(0);
        let feature = variables[sensitive].feature;
        return without_graphs(asked, (attribute, feature), &rows, (names, sensitive));
    };
    let drawn = replicates.drawn();
    let EncodedReplicates { encoding, blocks, draws, moments, .. } = &replicates;
    let all_rows = &moments[moments.len() - 1];
    let scenarios = ScenarioSearch::new(asked, &names, encoding, sensitive)?;
    let mut found: Vec<Vec<BootstrapGraphs>> = vec![Vec::new(); scenarios.scenarios.len()];
    row_context.pieces(drawn.len()).in_turn(
        |b| {
            let n = draws.effective_rows(b).unwrap_or_else(|| drawn[b].n_draws());
            Ok((0, scenarios.of_replicate(b, &drawn[b], n)?))
        },
        |part| found.iter_mut().zip(part).for_each(|(all, part)| all.push(part)),
    )?;
    let n_rows = blocks.sizes.iter().flatten().sum();
    let groups = attribute.groups.iter().zip(&attribute.level_of_group);
    let is_unseen = |code: u32| encoding.variables[sensitive].position_of(code).is_none();
    let without_rows: Vec<String> =
        groups.filter(|(_, code)| is_unseen(**code)).map(|(group, _)| group.clone()).collect();
    let mut all = Vec::new();
    for (SearchedScenario { name, knowledge, given }, found) in
        scenarios.scenarios.iter().zip(found)
    {
        let (replicates, worlds): (Vec<Option<SearchedReplicate>>, Vec<Vec<CausalWorld>>) =
            found.into_iter().unzip();
        let (variables, limits) = (names.clone(), &scenarios.limits);
        let bag = match given {
            None => {
                let found: Vec<SearchedReplicate> = replicates.into_iter().flatten().collect();
                BagOfDags::from_replicates(variables, sensitive, &found, limits)?
            }
            Some(given) => {
                BagOfDags::from_given(variables, sensitive, given, worlds.len(), limits)?
            }
        };
        all.push(DiscoveredScenario {
            scenario: name.clone(),
            worlds: CausalWorlds::new(encoding.clone(), bag, worlds, drawn, all_rows),
            tiers: knowledge.tier.clone(),
            n_rows,
            n_dropped: blocks.dropped,
            without_rows: without_rows.clone(),
        });
    }
    Ok(all)
}

/// The scenarios of a set whose training rows lack a group: without graphs.
fn without_graphs(
    asked: &DiscoveryInputs<'_>,
    (attribute, feature): (&Attribute, usize),
    rows: &TrainingRows<'_>,
    (names, sensitive): (Vec<String>, usize),
) -> Result<Vec<DiscoveredScenario>> {
    let (mut seen, mut n_rows) = (vec![false; attribute.groups.len()], 0);
    rows.fold(
        |group| {
            let codes = group.rows.codes(feature);
            let there = attribute.level_of_group.iter().map(|level| codes.contains(level));
            (there.collect::<Vec<bool>>(), group.rows.n as u64)
        },
        |(part, n)| {
            seen.iter_mut().zip(part).for_each(|(seen, part)| *seen |= part);
            n_rows += n;
        },
    )?;
    // Nothing can be learnt from a group whose rows all lack a variable either.
    let all = seen.iter().all(|&seen| seen);
    let lacking = attribute.groups.iter().zip(&seen).filter(|(_, seen)| all || !**seen);
    let lacking: Vec<String> = lacking.map(|(group, _)| group.clone()).collect();
    let without = |scenario: &Name| DiscoveredScenario {
        scenario: scenario.to_string(),
        worlds: CausalWorlds::empty(names.clone(), sensitive),
        tiers: vec![None; names.len()],
        n_rows,
        n_dropped: 0,
        without_rows: lacking.clone(),
    };
    Ok(asked.graphs.knowledge.keys().map(without).collect())
}

/// The hash of the training rows that graphs of these variables are learnt from.
///
/// # Errors
/// The rows cannot be read or lack a variable, or the run is to stop.
pub(crate) fn training_hash(
    row_context: RowContext<'_>,
    asked: &DiscoveryInputs<'_>,
) -> Result<ContentHash> {
    let layout = row_context.rows.layout();
    let (variables, _) = graph_columns(layout, asked.position, asked.variables)?;
    let columns: Vec<usize> = variables.iter().map(|variable| variable.feature).collect();
    let rows = row_context.training(0);
    let mut content = ContentHash::default();
    rows.fold(
        |group| ContentHash::of(&layout.features, &columns, &group.rows, |_| 0),
        |part| content.merge(part),
    )?;
    Ok(content)
}

/// Everything that bootstraps are searched with.
struct ScenarioSearch<'a> {
    inputs: &'a DiscoveryInputs<'a>,
    variables: &'a [String],
    encoding: &'a GraphEncoding,
    sensitive: usize,
    scenarios: Vec<SearchedScenario>,
    limits: DagLimits,
}

struct SearchedScenario {
    name: String,
    knowledge: Knowledge,
    /// The graphs where they are given, not searched.
    given: Option<GivenGraphs>,
}

impl<'a> ScenarioSearch<'a> {
    fn new(
        asked: &'a DiscoveryInputs<'a>,
        variables: &'a [String],
        encoding: &'a GraphEncoding,
        sensitive: usize,
    ) -> Result<Self> {
        let limits = DagLimits {
            per_class: asked.graphs.worlds_at_most.size(),
            total: asked.graphs.worlds_total_at_most.size(),
        };
        let mut scenarios = Vec::new();
        for (name, scenario) in &asked.graphs.knowledge {
            let knowledge = Knowledge::new(variables, scenario).map_err(|wrong| {
                let wrong: Vec<String> = wrong.iter().map(|(wrong, _)| wrong.to_string()).collect();
                let wrong = wrong.join("; ");
                let what = format!("the knowledge `{name}` is contradictory: {wrong}");
                Fault::new("impossible-graph", what)
            })?;
            let class = asked.graphs.given_class(variables, &knowledge).map_err(|bad| {
                Fault::new("impossible-graph", format!("the given graph is not valid: {bad}"))
            })?;
            let mut stream = RandomStream::new(asked.seed.0, &format!("class/{name}"));
            let given = match (class, asked.bag) {
                (None, None) => None,
                (Some(class), _) => {
                    let listed = list_or_sample(&class, limits.per_class, &mut stream);
                    Some(GivenGraphs { n_classes: 1, listed })
                }
                (None, Some((path, graphs))) => {
                    let known = (variables, &knowledge);
                    Some(bag_file::given_graphs(path, graphs, known, &limits, &mut stream)?)
                }
            };
            scenarios.push(SearchedScenario { name: name.to_string(), knowledge, given });
        }
        Ok(ScenarioSearch { inputs: asked, variables, encoding, sensitive, scenarios, limits })
    }

    /// The worlds of one bootstrap in every scenario; its rows are as precise as `n` independent
    /// ones.
    fn of_replicate(
        &self,
        b: usize,
        moments: &EncodedMoments,
        n: f64,
    ) -> Result<Vec<BootstrapGraphs>> {
        let mut fits = EquationCache::new(self.encoding, moments);
        let mut score = None;
        let of_scenario = |SearchedScenario { knowledge, given, .. }: &SearchedScenario| {
            let replicate = match self.inputs.graphs.search() {
                None => None,
                Some(knobs) => {
                    let score = score.get_or_insert_with(|| {
                        let penalty = knobs.penalty.get();
                        GraphScore::of_effective_rows(self.encoding, moments, penalty, n)
                    });
                    let (variables, limits, seed) =
                        (self.variables, &self.limits, self.inputs.seed.0);
                    Some(
                        GraphSearch { variables, knowledge, knobs, limits, seed }
                            .search_replicate(b, score)?,
                    )
                }
            };
            let listed =
                replicate.as_ref().map(|r| &r.listed).or(given.as_ref().map(|given| &given.listed));
            let dags: Vec<&Dag> = listed.iter().flat_map(|listed| &listed.dags).collect();
            let worlds = worlds_of_replicate(&mut fits, b, &dags, self.sensitive);
            Ok((replicate, worlds))
        };
        self.scenarios.iter().map(of_scenario).collect()
    }
}

fn missing_column(name: &str) -> Error {
    Fault::new("missing-column", format!("the rows have no column `{name}`")).in_column(name).into()
}
