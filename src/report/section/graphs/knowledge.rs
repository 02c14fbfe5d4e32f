//! What jobs state about causes, and graphs in which the attribute follows from other variables.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use crate::report::page::number::NumberFormat;
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::graphs::{Causes, ScenarioGraphs};

/// Scenarios in which the attribute itself follows from other columns, which people know to be
/// false of most attributes.
pub(super) fn against_knowledge(scenarios: &[&ScenarioGraphs]) -> Value {
    let found = |scenario: &&ScenarioGraphs| {
        let causes = scenario.causes_of_the_attribute()?;
        let follows = follows(scenario, &causes, "", usize::MAX);
        Some(context!(set => &scenario.set, follows))
    };
    scenarios.iter().filter_map(found).collect()
}

/// "98.9 % of the graphs race follows from age", or "from other variables (age 94.4 %, priors_count
/// 94.2 %)" with so many of them.
fn follows(
    scenario: &ScenarioGraphs,
    causes: &Causes<'_>,
    of_set: &str,
    at_most: usize,
) -> RichText {
    let share = NumberFormat::Share.value(causes.share);
    let words = RichText::from(format!("{share} of the graphs{of_set} "))
        .name(&scenario.sensitive)
        .text(" follows from ");
    match causes.each.as_slice() {
        [] => words.text("other variables, each in few graphs"),
        [(cause, of_one)] if NumberFormat::Share.value(*of_one) == share => words.name(*cause),
        each => {
            let one = |words: RichText, (i, (cause, share)): (usize, &(&str, f64))| {
                words
                    .text(if i == 0 { "" } else { ", " })
                    .name(*cause)
                    .text(format!(" in {}", NumberFormat::Share.value(*share)))
            };
            let words =
                each.iter().take(at_most).enumerate().fold(words.text("other variables ("), one);
            match each.len().saturating_sub(at_most) {
                0 => words.text(")"),
                more => words.text(format!(", and {more} more)")),
            }
        }
    }
}

/// Causes of the attribute in one sentence.
const CAUSES_AT_MOST: usize = 3;

/// Why the page names no group at a disadvantage by a set: in its graphs the attribute follows from
/// other variables. None where it does not, or where the set has no graphs.
pub(crate) fn caution(audit: &AuditFolder, set: &str, attribute: &str) -> Option<RichText> {
    let groups = audit.graphs_by_attribute();
    let (_, scenarios) = groups.iter().find(|(name, _)| name == attribute)?;
    let scenario = scenarios.iter().find(|s| s.set == set)?;
    let causes = scenario.causes_of_the_attribute()?;
    let words = RichText::from("No group is named at a disadvantage, because in ");
    let words =
        words.and(follows(scenario, &causes, " of this set", CAUSES_AT_MOST)).text(", which may ");
    let known = "contradict domain knowledge";
    Some(words.link(known, "graphs", "How certain are the causal graphs").text("."))
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

/// That scenarios may contradict what is known of the attribute, for the list of what an audit
/// does not show; none where in no scenario the attribute follows from other variables.
pub(crate) fn contradictions(audit: &AuditFolder) -> Option<RichText> {
    let found = audit.graphs.scenarios.iter();
    let found = found.filter_map(|s| s.causes_of_the_attribute().map(|causes| (s, causes)));
    let found: Vec<(&ScenarioGraphs, Causes<'_>)> = found.collect();
    let named = |words: RichText, scenario: &ScenarioGraphs| {
        let name = scenario.set.split_once('/').map_or(scenario.set.as_str(), |(_, name)| name);
        words.name(name.to_owned())
    };
    let words = match found.as_slice() {
        [] => return None,
        [(scenario, causes)] => named(RichText::from("Results of scenario "), scenario)
            .text(" may answer no question: in ")
            .and(follows(scenario, causes, "", CAUSES_AT_MOST)),
        several => several.iter().enumerate().fold(
            RichText::from("Results of these scenarios may answer no question: "),
            |words, (i, (scenario, causes))| {
                named(words.text(if i > 0 { "; " } else { "" }), scenario)
                    .text(", where in ")
                    .and(follows(scenario, causes, "", 1))
            },
        ),
    };
    Some(words.text(
        ". If no recorded variable can cause the attribute, as with race, sex or age, that \
         contradicts domain knowledge, and these results only show what stating the knowledge \
         changes.",
    ))
}
