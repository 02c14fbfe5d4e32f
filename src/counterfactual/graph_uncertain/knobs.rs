//! The settings of a graph-uncertain set as a job writes them, and the faults in its knowledge.
//!
//! Each scenario of `knowledge` is a separate counterfactual set: the scenario `low` of the set
//! `graph` is `graph/low`. This file turns blocks of a job into the input of `causal`. Errors about
//! unknown variables and contradictory knowledge name their place inside the set's block.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ClipRule;
use super::mechanism::{EquationKind, GraphLevels};
use crate::causal::boss::BossBlock;
use crate::causal::encoding::MissingRows;
use crate::causal::given::{GivenGraphError, given_class};
use crate::causal::graph::Pdag;
use crate::causal::knowledge::{Contradiction, Knowledge, KnowledgeScenario};
use crate::counterfactual::engine::{StrategyEffect, StrategyKnobs, StrategyRecord};
use crate::param::{ColumnName, Count, Finite, Name};

/// The properties of graph-uncertain sets.
pub(in crate::counterfactual) const RECORD: StrategyRecord = StrategyRecord {
    effect: StrategyEffect::FollowsGraphs,
    example: "`graph-uncertain: {discovery: {boss: {}}, knowledge: {none: {}}}`",
    sentence: "Moves the descendants of the attribute in causal graphs: those of the best class \
               that a search found for each bootstrap of the training rows, under the stated \
               knowledge, or the graphs given by the job.",
    sentence_if_derived: None,
};

/// Counterfactuals by uncertain causal graphs: the descendants of the attribute move as equations
/// predict, in the best class of graphs of every bootstrap of the training rows, under
/// the stated knowledge. Every metric then has a value per graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphUncertainBlock {
    /// Where graphs come from: `boss` searches them, `given` takes one that you draw, `bag` those
    /// of a file.
    pub discovery: GraphSource,
    /// Bootstraps of the training rows, each with graphs and equations of its own. Default: 100;
    /// with given graphs 0, which fits their equations once, on the training rows as they are.
    #[schemars(extend("maximum" = 10_000,
        "x-range" = "a number of bootstraps up to 10000; 100 is usual"))]
    pub bootstraps: Option<u64>,
    /// What counterfactuals hold: shares of levels (`expected`, the paper), or possible rows, which
    /// any model can be asked (`drawn`).
    #[serde(default)]
    pub levels: GraphLevels,
    /// What gives the values of variables that follow from the attribute: `linear`, `binned`, or
    /// `{binned: {bins: 4, min_cell: 50}}`. Left out: `linear` with expected levels, else `binned`.
    pub mechanism: Option<EquationKind>,
    /// Graphs of one class that are listed, at most: a class with more is sampled by the seed, as
    /// many graphs as this, and the report says so.
    #[serde(default = "Count::of::<10_000>")]
    pub worlds_at_most: Count,
    /// Graphs of all bootstraps together, at most; more end the run.
    #[serde(default = "Count::of::<200_000>")]
    pub worlds_total_at_most: Count,
    /// The columns in the graph, in the order in which the search starts and breaks ties, at
    /// most 128. Default: the attribute, then the features in the order continuous, ordinal,
    /// nominal. The attribute must be among them; the label cannot be.
    #[schemars(extend("minItems" = 1, "x-noun" = "column"))]
    pub variables: Option<Vec<ColumnName>>,
    /// Rows without a value for every variable: `error` ends the run, `drop` leaves them out,
    /// training rows and audited ones.
    #[serde(default)]
    pub missing: MissingRows,
    /// Whether every bootstrap keeps the number of rows of each group.
    #[serde(default)]
    pub stratify: BootstrapStrata,
    /// What is done to counterfactual values that no row could have: `none` (the paper),
    /// `indicators` are brought into [0, 1], with `range` also numbers into the range of the
    /// training rows. Left out: `none` with expected levels, else `range`; levels that are drawn
    /// are possible in any case.
    pub clip: Option<ClipRule>,
    /// Whether the fit of each scenario is compared with that of another, bootstrap by bootstrap:
    /// table `knowledge_fit`, metric `fit_worse`. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fit: bool,
    /// With `fit`: the scenario that the others are compared with. Default: the one that states
    /// least.
    pub against: Option<Name>,
    /// Whether each statement of a scenario is left out in turn, to tell which ones the verdicts of
    /// gates on rates of switches need: table `needed_knowledge`, for models that are linear in the
    /// encoded columns. Needs `discovery: {boss: {}}`, `levels: expected`, `mechanism: linear` and
    /// `clip: none`, and takes a search per statement and bootstrap. Default: `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub necessary: bool,
    /// How strong something that no column holds would have to be to overturn what is found.
    /// Default: nobody asks.
    pub sensitivity: Option<SensitivityBlock>,
    /// Knowledge about the graph, a scenario per name, such as `none: {}`; each is a counterfactual
    /// set of its own, called `SET/SCENARIO`.
    #[schemars(extend("x-least" = "name at least one scenario, such as `none: {}`"))]
    pub knowledge: IndexMap<Name, KnowledgeScenario>,
}

/// What could overturn a finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SensitivityBlock {
    /// A cause of the attribute's rest and of the score that no column holds: table
    /// `hidden_cause`, for models that are linear in the encoded columns. Needs `levels: expected`,
    /// `mechanism: linear` and `clip: none`.
    pub hidden_cause: HiddenCauseBlock,
}

/// A cause that nobody recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HiddenCauseBlock {
    /// Its strengths, ascending, above 0 and below 1: the share that it explains of what is left of
    /// the attribute, and also of what is left of the score.
    #[serde(default = "five_strengths")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1,
        "x-range" = "the strength of a hidden cause; write a share above 0 and below 1",
        "x-least" = "list some, or remove `strengths`"))]
    pub strengths: Vec<Finite>,
    /// Whether it is compared with the recorded variables that cannot follow from the attribute.
    #[serde(default = "yes")]
    pub benchmark: bool,
}

/// Where graphs come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GraphSource {
    /// Best order score search in every bootstrap.
    Boss(BossBlock),
    /// One graph that you draw, the same for all bootstraps.
    Given(DrawnGraph),
    /// A file of graphs that any other program found, the same for all bootstraps: GML, or JSON
    /// `{"graphs": [{"edges": [["cause", "effect"]]}]}`, by its ending.
    Bag(#[schemars(extend("x-filled" = "name a file of graphs", "x-address" = "local"))] String),
}

/// A graph that you draw.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrawnGraph {
    /// Edges, each `[cause, effect]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<[ColumnName; 2]>,
    /// Edges of which the direction is open: all graphs that direct them without a cycle and
    /// without a new collider are taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undirected: Vec<[ColumnName; 2]>,
}

/// How bootstraps are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BootstrapStrata {
    /// From all rows together.
    #[default]
    None,
    /// From the rows of each group separately.
    Group,
}

fn five_strengths() -> Vec<Finite> {
    let all = [0.01, 0.02, 0.05, 0.1, 0.2].map(Finite::new);
    all.into_iter().map(|s| s.expect("a strength is finite")).collect()
}

fn yes() -> bool {
    true
}

/// Number of bootstraps of a search where the job gives none.
const DEFAULT_BOOTSTRAPS: u64 = 100;

impl StrategyKnobs for GraphUncertainBlock {
    fn resolve(&mut self, graph_columns: Option<Vec<ColumnName>>) {
        self.mechanism = Some(self.equations());
        self.clip = Some(self.clip_rule());
        if let Some(columns) = graph_columns {
            self.variables.get_or_insert(columns);
            self.bootstraps = Some(self.n_bootstraps());
        }
    }
}

impl GraphUncertainBlock {
    /// The key of the block in a job.
    pub const WORD: &'static str = "graph-uncertain";

    /// What gives the values.
    pub fn equations(&self) -> EquationKind {
        self.mechanism.clone().unwrap_or(match self.levels {
            GraphLevels::Expected => EquationKind::Linear,
            GraphLevels::Drawn => EquationKind::Binned(Default::default()),
        })
    }

    /// What is done to values that no row could have.
    pub fn clip_rule(&self) -> ClipRule {
        self.clip.unwrap_or(match self.levels {
            GraphLevels::Expected => ClipRule::None,
            GraphLevels::Drawn => ClipRule::Range,
        })
    }

    /// Whether its counterfactuals are rows, which any model can be asked.
    pub fn makes_rows(&self) -> bool {
        self.levels != GraphLevels::Expected
    }

    /// The part that decides which graphs are found: what is made of them changes none.
    pub fn search_part(&self) -> Self {
        let (levels, mechanism, clip) = (GraphLevels::Expected, None, None);
        let (fit, against, necessary, sensitivity) = (false, None, false, None);
        let own = self.clone();
        GraphUncertainBlock { levels, mechanism, clip, fit, against, necessary, sensitivity, ..own }
    }

    /// The statements of a scenario in words, and the scenario without each.
    pub fn statements(&self, scenario: &str) -> IndexMap<String, KnowledgeScenario> {
        self.knowledge.get(scenario).map(KnowledgeScenario::without_each).unwrap_or_default()
    }

    /// This set with as many scenarios as one has statements, each without one of them, called by
    /// its position.
    pub fn without_each(&self, scenario: &str) -> Self {
        let without = self.statements(scenario).into_values().enumerate();
        let knowledge = without.filter_map(|(i, left)| Some((Name::new(i.to_string())?, left)));
        GraphUncertainBlock { knowledge: knowledge.collect(), ..self.clone() }
    }

    /// The question about a hidden cause, if the job asks for it.
    pub fn hidden_cause(&self) -> Option<&HiddenCauseBlock> {
        self.sensitivity.as_ref().map(|sensitivity| &sensitivity.hidden_cause)
    }

    /// The scenario that the fit of all others is compared with, if the job asks for it.
    pub fn fit_reference(&self) -> Option<&Name> {
        let least = || self.knowledge.iter().min_by_key(|(_, scenario)| scenario.n_statements());
        let named = self.against.as_ref();
        named.or_else(|| least().map(|(name, _)| name)).filter(|_| self.fit)
    }

    /// Number of bootstraps; 0 means one fit on the original training rows.
    pub fn n_bootstraps(&self) -> u64 {
        self.bootstraps.unwrap_or(match self.discovery {
            GraphSource::Boss(_) => DEFAULT_BOOTSTRAPS,
            GraphSource::Given(_) | GraphSource::Bag(_) => 0,
        })
    }

    /// The file of its graphs, where they are in a file.
    pub fn bag(&self) -> Option<&str> {
        match &self.discovery {
            GraphSource::Bag(file) => Some(file),
            GraphSource::Boss(_) | GraphSource::Given(_) => None,
        }
    }

    /// Settings of the search; none where graphs are given.
    pub fn search(&self) -> Option<&BossBlock> {
        match &self.discovery {
            GraphSource::Boss(search) => Some(search),
            GraphSource::Given(_) | GraphSource::Bag(_) => None,
        }
    }

    /// The equivalence class of a given graph under a scenario's knowledge.
    ///
    /// `None` where graphs are searched for, or in a file.
    ///
    /// # Errors
    /// The graph is impossible, or it contradicts the knowledge.
    pub fn given_class(
        &self,
        variables: &[String],
        knowledge: &Knowledge,
    ) -> Result<Option<Pdag>, GivenGraphError> {
        let GraphSource::Given(drawn) = &self.discovery else { return Ok(None) };
        given_class(variables, &pairs(&drawn.edges), &pairs(&drawn.undirected), knowledge).map(Some)
    }

    /// The faults of a scenario over these variables.
    pub fn problems<'n>(&self, name: &'n Name, variables: &[String]) -> Vec<KnowledgeProblem<'n>> {
        let Some(scenario) = self.knowledge.get(name) else { return Vec::new() };
        let wrong = |(wrong, below): (Contradiction, String)| KnowledgeProblem {
            keys: ["knowledge", name.as_str()],
            below,
            what: wrong.to_string(),
            names_no_variable: matches!(wrong, Contradiction::UnknownVariable(_)),
        };
        match Knowledge::new(variables, scenario) {
            Err(contradictions) => contradictions.into_iter().map(wrong).collect(),
            Ok(knowledge) => {
                let GraphSource::Given(drawn) = &self.discovery else { return Vec::new() };
                let found = self.given_class(variables, &knowledge).err();
                let wrong = |bad: GivenGraphError| KnowledgeProblem {
                    keys: ["discovery", "given"],
                    below: drawn.place_of(&bad),
                    what: bad.to_string(),
                    names_no_variable: matches!(bad, GivenGraphError::UnknownVariable(_)),
                };
                found.map(wrong).into_iter().collect()
            }
        }
    }
}

/// A fault in the stated knowledge or graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeProblem<'a> {
    /// The keys inside the set's block.
    pub keys: [&'a str; 2],
    /// The place below these keys, such as `.tiers[0]`; empty for the whole value.
    pub below: String,
    /// The fault in words.
    pub what: String,
    /// Whether it is a name that no variable of the graph has.
    pub names_no_variable: bool,
}

impl DrawnGraph {
    /// The place of a fault; of two equal entries the second.
    fn place_of(&self, bad: &GivenGraphError) -> String {
        let is = |column: &ColumnName, names: &[&String]| names.contains(&&column.to_string());
        let within = |pair: &[ColumnName; 2], names: &[&String]| pair.iter().all(|c| is(c, names));
        let concerns = |pair: &[ColumnName; 2]| match bad {
            GivenGraphError::UnknownVariable(name) => pair.iter().any(|c| is(c, &[name])),
            GivenGraphError::DuplicateEdge(a, b) | GivenGraphError::ContradictsKnowledge(a, b) => {
                within(pair, &[a, b])
            }
            GivenGraphError::Cycle(names) => within(pair, &names.iter().collect::<Vec<_>>()),
            GivenGraphError::NoConsistentDag => false,
        };
        let lists = [("edges", &self.edges), ("undirected", &self.undirected)].into_iter();
        let places = lists.flat_map(|(key, list)| (0..).zip(list).map(move |of| (key, of)));
        let last = places.filter(|(_, (_, pair))| concerns(pair)).last();
        last.map_or_else(String::new, |(key, (i, _))| format!(".{key}[{i}]"))
    }
}

fn pairs(list: &[[ColumnName; 2]]) -> Vec<(String, String)> {
    list.iter().map(|[a, b]| (a.to_string(), b.to_string())).collect()
}
