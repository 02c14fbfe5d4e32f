//! What jobs state about causes, and graphs in which the attribute follows from other variables.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;

use crate::report::read::audit::AuditFolder;
use crate::text::fact;

/// Why the page names no group as worse off by a set: in its graphs the attribute follows from
/// other variables. None where it does not, or where the set has no graphs.
pub(crate) fn caution(audit: &AuditFolder, set: &str, attribute: &str) -> Option<Value> {
    let mut scenarios = audit.graphs.scenarios.iter();
    scenarios.find(|of| of.set == set && of.attribute == attribute)?.causes_of_the_attribute()
}

/// What a scenario of knowledge states about the causes, one or more statements: the `order` of
/// columns by tiers, direct effects that it `rules_out` or `requires`, that columns of some tiers
/// have no effects on one another, the edges themselves, or nothing; the sentences are in
/// `knowledge.html`. None of a set that is no scenario.
pub(crate) fn stated_knowledge(audit: &AuditFolder, set: &str) -> Option<Value> {
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
        let tiers: Value = tiers.into_values().collect();
        statements.push(context!(kind => "order", tiers));
    }
    for (key, kind) in [("forbidden", "rules_out"), ("required", "requires")] {
        statements.extend(effects(key).map(|effects| context!(kind, effects => fact(&effects))));
    }
    let mut tiers =
        knowledge.get("tiers").and_then(serde_json::Value::as_array).into_iter().flatten();
    if tiers.any(|tier| tier["edges_within"] == "forbidden") {
        statements.push(context!(kind => "none_within_tiers"));
    }
    let given = ["given", "bag"];
    let discovery = words.knob("discovery");
    if discovery.is_some_and(|of| given.iter().any(|key| of.get(key).is_some())) {
        statements.push(context!(kind => "gives_edges"));
    }
    if statements.is_empty() {
        let is_empty = knowledge.as_object().is_some_and(serde_json::Map::is_empty);
        statements.push(context!(kind => if is_empty { "nothing" } else { "edges" }));
    }
    Some(context!(scenario => name, statements))
}
