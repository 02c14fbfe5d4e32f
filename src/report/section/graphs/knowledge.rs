//! What jobs state about causes, and graphs in which the attribute follows from other variables.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::Causes;

/// Why the page names no group at a disadvantage by a set: in its graphs the attribute follows from
/// other variables. None where it does not, or where the set has no graphs.
pub(crate) fn caution<'a>(
    audit: &'a AuditFolder,
    set: &str,
    attribute: &str,
) -> Option<Causes<'a>> {
    let mut scenarios = audit.graphs.scenarios.iter();
    scenarios.find(|of| of.set == set && of.attribute == attribute)?.causes_of_the_attribute()
}

/// What a job states about causes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum CausalStatement {
    /// Columns of a tier cause only columns of the same and later tiers.
    Order { tiers: Vec<Vec<String>> },
    /// Direct effects that there are not.
    RulesOut { effects: Vec<[String; 2]> },
    /// Direct effects that there are.
    Requires { effects: Vec<[String; 2]> },
    /// Columns of some tiers have no effects on one another.
    NoneWithinTiers,
    /// The edges themselves.
    GivesEdges,
    /// Nothing.
    Nothing,
    /// Edges that are required or forbidden.
    Edges,
}

/// What a scenario of knowledge states; `knowledge.html` says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ScenarioKnowledge {
    /// The scenario.
    scenario: String,
    /// One or more statements.
    statements: Vec<CausalStatement>,
}

/// What a scenario of knowledge states about the causes; none of a set that is no scenario.
pub(crate) fn stated_knowledge(audit: &AuditFolder, set: &str) -> Option<ScenarioKnowledge> {
    let (_, name) = set.split_once('/')?;
    let words = audit.manifest.counterfactuals.iter().find(|words| words.name == set)?;
    let knob = words.knobs.iter().find_map(|knob| knob.strip_prefix("knowledge: "))?;
    let mut statements = Vec::new();
    if let Some(scenario) = audit.graphs.scenarios.iter().find(|s| s.set == set && s.has_tiers()) {
        let mut tiers: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (name, tier) in scenario.variables() {
            if let Some(tier) = tier {
                tiers.entry(tier).or_default().push(name.to_owned());
            }
        }
        statements.push(CausalStatement::Order { tiers: tiers.into_values().collect() });
    }
    if !words.effects_ruled_out.is_empty() {
        statements.push(CausalStatement::RulesOut { effects: words.effects_ruled_out.clone() });
    }
    if !words.effects_required.is_empty() {
        statements.push(CausalStatement::Requires { effects: words.effects_required.clone() });
    }
    if knob.contains("edges_within: forbidden") {
        statements.push(CausalStatement::NoneWithinTiers);
    }
    let given = ["discovery: {given", "discovery: {bag"];
    if words.knobs.iter().any(|knob| given.iter().any(|of| knob.starts_with(of))) {
        statements.push(CausalStatement::GivesEdges);
    }
    if statements.is_empty() {
        statements.push(match knob {
            "{}" => CausalStatement::Nothing,
            _ => CausalStatement::Edges,
        });
    }
    Some(ScenarioKnowledge { scenario: name.to_owned(), statements })
}
