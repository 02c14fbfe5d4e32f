//! What jobs state about causes, and graphs in which the attribute follows from other variables.

use std::collections::BTreeSet;

use minijinja::context;
use minijinja::value::Value;

use crate::report::page::number::{self, NumberFormat};
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

/// Names in a list of one tier.
const NAMES_AT_MOST: usize = 6;

/// `race, age and sex`; of many the number.
fn named(names: &[&str]) -> RichText {
    match names {
        many if many.len() > NAMES_AT_MOST => {
            RichText::from(number::count_of(many.len() as i64, "column", "columns"))
        }
        [others @ .., last] if !others.is_empty() => {
            let words = others.iter().enumerate().fold(RichText::new(), |words, (i, name)| {
                words.text(if i > 0 { ", " } else { "" }).name(*name)
            });
            words.text(" and ").name(*last)
        }
        names => names.iter().fold(RichText::new(), |words, name| words.name(*name)),
    }
}

/// Direct effects that the job lists: `the direct effects of sex on job and of sex on grade`; of
/// many the number. None of an empty list.
fn direct_effects(effects: &[[String; 2]]) -> Option<RichText> {
    if effects.len() > NAMES_AT_MOST {
        let n = number::count_of(effects.len() as i64, "direct effect", "direct effects");
        return Some(n.into());
    }
    let start = if effects.len() == 1 { "the direct effect of " } else { "the direct effects of " };
    let words = effects.iter().enumerate().fold(start.into(), |words: RichText, (i, pair)| {
        let between = match i {
            0 => "",
            i if i + 1 == effects.len() => " and of ",
            _ => ", of ",
        };
        let [cause, effect] = pair;
        words.text(between).name(cause.as_str()).text(" on ").name(effect.as_str())
    });
    (!effects.is_empty()).then_some(words)
}

/// What a scenario of knowledge states about the causes: `Scenario high: the job states the order
/// of causes, race and sex before priors_count, and rules out the direct effect of race on sex.`
/// None of a set that is no scenario.
pub(crate) fn stated_knowledge(audit: &AuditFolder, set: &str) -> Option<RichText> {
    let (_, name) = set.split_once('/')?;
    let words = audit.manifest.counterfactuals.iter().find(|words| words.name == set)?;
    let knob = words.knobs.iter().find_map(|knob| knob.strip_prefix("knowledge: "))?;
    let start = RichText::from("Scenario ").name(name).text(": the job ");
    let mut stated: Vec<RichText> = Vec::new();
    if let Some(scenario) = audit.graphs.scenarios.iter().find(|s| s.set == set && s.has_tiers()) {
        let variables = scenario.variables();
        let tiers: BTreeSet<i64> = variables.iter().filter_map(|(_, tier)| *tier).collect();
        let order = RichText::from("states the order of causes, ");
        stated.push(tiers.iter().enumerate().fold(order, |words, (i, tier)| {
            let of = variables.iter().filter(|(_, own)| *own == Some(*tier));
            let names: Vec<&str> = of.map(|(name, _)| *name).collect();
            words.text(if i > 0 { " before " } else { "" }).and(named(&names))
        }));
    }
    let lists = [(&words.effects_ruled_out, "rules out "), (&words.effects_required, "requires ")];
    for (effects, verb) in lists {
        stated.extend(direct_effects(effects).map(|told| RichText::from(verb).and(told)));
    }
    if stated.is_empty() {
        let given = ["discovery: {given", "discovery: {bag"];
        let mut knobs = words.knobs.iter();
        let is_given = knobs.any(|knob| given.iter().any(|of| knob.starts_with(of)));
        return Some(start.text(if is_given {
            "gives the edges."
        } else if knob == "{}" {
            "states nothing about what causes what."
        } else {
            "states which edges are required or forbidden."
        }));
    }
    let words = stated.into_iter().enumerate().fold(start, |words, (i, statement)| {
        words.text(if i > 0 { ", and " } else { "" }).and(statement)
    });
    Some(words.text("."))
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

#[cfg(test)]
mod tests {
    use super::direct_effects;

    #[test]
    fn effects_that_are_ruled_out_are_named() {
        let said = |effects: &[[&str; 2]]| {
            let effects: Vec<_> = effects.iter().map(|pair| pair.map(str::to_owned)).collect();
            direct_effects(&effects).map(|words| words.plain())
        };
        assert_eq!(
            said(&[["sex", "job"], ["sex", "grade"]]).as_deref(),
            Some("the direct effects of sex on job and of sex on grade")
        );
        // Names are those of the job, also with signs that divide lists.
        assert_eq!(
            said(&[["age", "a, b]]"]]).as_deref(),
            Some("the direct effect of age on a, b]]")
        );
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[["sex", "job"]; 7]).as_deref(), Some("7 direct effects"));
    }
}
