//! What jobs state about causes, and graphs in which the attribute follows from other variables.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::Causes;

/// Why the page names no group as worse off by a set: in its graphs the attribute follows from
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

/// What a scenario of knowledge states; the sentences are in `knowledge.html`.
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
    let words = audit.manifest.set(set)?;
    let knowledge = words.knob("knowledge")?;
    let effects = |key: &str| -> Option<Vec<[String; 2]>> {
        let effects = serde_json::from_value::<Vec<_>>(knowledge.get(key)?.clone()).ok()?;
        (!effects.is_empty()).then_some(effects)
    };
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
    statements.extend(effects("forbidden").map(|effects| CausalStatement::RulesOut { effects }));
    statements.extend(effects("required").map(|effects| CausalStatement::Requires { effects }));
    let mut tiers =
        knowledge.get("tiers").and_then(serde_json::Value::as_array).into_iter().flatten();
    if tiers.any(|tier| tier["edges_within"] == "forbidden") {
        statements.push(CausalStatement::NoneWithinTiers);
    }
    let given = ["given", "bag"];
    let discovery = words.knob("discovery");
    if discovery.is_some_and(|of| given.iter().any(|key| of.get(key).is_some())) {
        statements.push(CausalStatement::GivesEdges);
    }
    if statements.is_empty() {
        statements.push(match knowledge.as_object().is_some_and(serde_json::Map::is_empty) {
            true => CausalStatement::Nothing,
            false => CausalStatement::Edges,
        });
    }
    Some(ScenarioKnowledge { scenario: name.to_owned(), statements })
}
