//! What this audit does not show, and the sign-off.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::brief::harm::HarmResult;
use crate::report::brief::population;
use crate::report::brief::voice::{AuditVoice, capital};
use crate::report::page::PageBlock;
use crate::report::page::number::{count, count_of};
use crate::report::page::plots::{BriefBlock, SignOffRow, SignOffTerm};
use crate::report::page::words::RichText;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::QualityKey;
use crate::report::read::words::people;
use crate::report::section::graphs;

/// Sentences chosen by what the job did, then those of the job.
pub(crate) fn not_shown(
    audit: &AuditFolder,
    results: &[HarmResult],
    voice: &AuditVoice<'_>,
) -> Vec<RichText> {
    let m = &audit.manifest;
    let mut said: Vec<RichText> = Vec::new();
    let mut say = |text: String| said.push(text.into());
    let has = |strategy: &str| m.counterfactuals.iter().any(|set| set.strategy == strategy);
    if has("naive") {
        // Only attributes that such a test changes.
        let mut changed: Vec<String> = Vec::new();
        for result in results.iter().filter(|result| voice.is_of_the_entry(&result.key.set)) {
            let name = voice.attribute(&result.key.attribute);
            if !changed.contains(&name) {
                changed.push(name);
            }
        }
        let attribute = match (changed.as_slice(), m.attributes.as_slice()) {
            ([only], _) => only.clone(),
            ([first, last], _) => format!("{first} or {last}"),
            (_, [only]) => voice.attribute(&only.name),
            _ => "the attribute".to_owned(),
        };
        say(format!(
            "The test that changes one entry shows direct use of {attribute}, not effects through \
             other columns."
        ));
    } else if results.is_empty() {
        say("No test changes only the entry for the attribute: the audit does not show whether \
             the model uses it directly."
            .to_owned());
    }
    if !results.is_empty() {
        let is_tested = |name: &str| {
            let of = |key: &ResultKey| key.attribute == name && !key.set.is_empty();
            audit.measures.keys().any(of)
        };
        for attribute in m.attributes.iter().filter(|attribute| !is_tested(&attribute.name)) {
            let called = voice.attribute(&attribute.name);
            say(format!(
                "No test changes {called}: of its groups the audit compares only the decisions as \
                 they are."
            ));
        }
    }
    for model in &m.models {
        let of = audit.groups.iter().find(|row| {
            row.model.as_str() == model.name && row.group.is_empty() && row.slice.is_empty()
        });
        if let Some(row) = of.filter(|row| row.n_missing_score > 0 && row.n_missing_score < row.n) {
            let what = if model.kind == "decision" { "decision" } else { "score" };
            say(format!(
                "{} has no {what} for {} of {}: its results are about the others.",
                capital(&voice.model(&model.name)),
                count(row.n_missing_score),
                people(audit, row.n)
            ));
        }
        if let Some(row) = of.filter(|row| row.n_missing_counterfactual_score > 0) {
            let n = row.n_missing_counterfactual_score;
            say(format!(
                "{} has no {} for {}: the tests do not count them.",
                capital(&voice.model(&model.name)),
                if model.kind == "decision" { "decision" } else { "score" },
                count_of(n, "counterfactual", "counterfactuals")
            ));
        }
    }
    if m.level.is_some() {
        let is_trained_again = audit
            .measures
            .values()
            .any(|values| values.values().any(|measure| measure.training.is_some()));
        let but = if is_trained_again {
            "; other trainings of the model are shown apart from them"
        } else {
            ", not with a model trained again"
        };
        say(format!(
            "Intervals show how results would vary with other people from the same \
             population{but}.{}",
            beyond_intervals(m.rows.audited)
        ));
    } else {
        say("The job requests no intervals: the audit does not show how results would vary with \
             other people."
            .to_owned());
    }
    if let Some(excluded) = excluded(audit, results) {
        say(excluded);
    }
    if has("graph-uncertain") {
        say(
            "The causal graphs are estimated from the same data. They cannot contain a cause that \
             is not in the data."
                .to_owned(),
        );
    }
    if has("greedy") || has("plausible") || has("transport") {
        say(
            "Tests that move features compare people with similar people of the other group; they \
             do not show what causes the difference."
                .to_owned(),
        );
    }
    let is_trained = |kind: &str| matches!(kind, "logistic" | "boosting" | "forest");
    let trained: Vec<String> = m
        .models
        .iter()
        .filter(|model| is_trained(&model.kind))
        .map(|model| voice.model(&model.name))
        .collect();
    let trained = match trained.as_slice() {
        [] => None,
        [only] => Some((only.clone(), "its")),
        [first, second] => Some((format!("{first} and {second}"), "their")),
        several => Some((count_of(several.len() as i64, "model", "models"), "their")),
    };
    if let Some((models, whose)) = trained {
        say(format!(
            "This audit trained {models}: {whose} results do not describe a model that was trained \
             elsewhere."
        ));
    }
    if m.models.iter().any(|model| model.kind == "scores") {
        say("Scores were computed elsewhere: this audit did not run that model.".to_owned());
    }
    if m.models.iter().any(|model| model.kind == "decision") {
        say(
            "The decisions come without scores: this audit does not show how close anybody was to \
             the other decision."
                .to_owned(),
        );
    }
    if m.label.is_none() {
        say("The data contain no outcome, so this audit does not show who was judged correctly."
            .to_owned());
    }
    population::not_compared(audit, voice).into_iter().for_each(&mut say);
    if audit.issues.iter().any(|issue| issue.state.as_deref() == Some("without_label")) {
        say("Results that need an outcome cover only people who have one.".to_owned());
    }
    if !audit.recourse.comparisons.is_empty() {
        say("Recourse shows what the model would decide about changed entries. It is neither \
             advice nor a forecast."
            .to_owned());
    }
    if !m.experiments.is_empty() {
        say("Retrained models were measured only for this audit and are not in use.".to_owned());
    }
    said.extend(graphs::knowledge::contradictions(audit));
    for limitation in &m.words.limitations {
        said.push(RichText::from("From the job: ").quote(limitation.trim()));
    }
    said
}

/// The people whom tests exclude for lack of a valid counterfactual, with their number by set; none
/// where nobody is.
fn excluded(audit: &AuditFolder, results: &[HarmResult]) -> Option<String> {
    let of = |result: &HarmResult| QualityKey {
        set: result.key.set.clone(),
        attribute: result.key.attribute.clone(),
        from: result.key.from.clone(),
        to: result.key.to.clone(),
    };
    let directions: BTreeSet<QualityKey> =
        results.iter().map(of).filter(|direction| audit.quality.discards(direction)).collect();
    if directions.is_empty() {
        return None;
    }
    // Of each set: without a valid counterfactual, and all with one.
    let mut sets: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    for direction in &directions {
        // Counts of rows are far below the end of exact whole numbers.
        let whole = |measure: &str| {
            let value = audit.quality.values(direction).and_then(|values| values.get(measure));
            value.copied().flatten().map_or(0, |value| value.round() as i64)
        };
        let all = whole("n_pairs");
        let of_set = sets.entry(direction.set.as_str()).or_default();
        of_set[0] += (all - whole("n_pairs_valid")).max(0);
        of_set[1] += all;
    }
    let parts: Vec<String> = sets
        .into_iter()
        .filter(|(_, [without, _])| *without > 0)
        .map(|(set, [without, all])| {
            format!("{} of {} in the set {set}", count(without), count(all))
        })
        .collect();
    let number = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    Some(format!(
        "People without a valid counterfactual{number} are excluded from the tests that move \
         features; the tables count them."
    ))
}

/// Terms and lines to sign; what the job gives is filled in.
pub(crate) fn sign_off(audit: &AuditFolder, voice: &AuditVoice<'_>) -> PageBlock {
    let words = &audit.manifest.words;
    let said = |text: &Option<String>| text.as_ref().map(|text| RichText::new().quote(text.trim()));
    let joined = |list: &[String]| {
        (!list.is_empty()).then(|| {
            let list: Vec<&str> = list.iter().map(|text| text.trim()).collect();
            RichText::new().quote(list.join(" "))
        })
    };
    let term = |name, words, full| SignOffTerm { name, words, full };
    // Without words of the job the people are counted, by the groups of the first attribute.
    let counted = || {
        let audited = i64::try_from(audit.manifest.rows.audited).unwrap_or(i64::MAX);
        let all = people(audit, audited);
        Some(RichText::new().quote(population::line(audit, voice).unwrap_or(all)))
    };
    let terms = vec![
        term("Purpose", said(&words.purpose), false),
        term("Population", said(&words.population).or_else(counted), false),
        term("Period", said(&words.period), false),
        term("Source", said(&words.source), false),
        term("Limitations", joined(&words.limitations), true),
        term("Conditions", joined(&words.conditions), true),
    ];
    let steps = ["Prepared by", "Reviewed by", "Approved by"];
    let signers = steps.into_iter().zip(&words.signers).map(|(step, signer)| SignOffRow {
        step,
        given: [&signer.role, &signer.name, &signer.date]
            .map(|text| text.clone().unwrap_or_default()),
    });
    BriefBlock::SignOff(terms, signers.collect()).into()
}

/// What intervals of very many people leave out; nothing for fewer than a million.
fn beyond_intervals(audited: u64) -> &'static str {
    if audited < 1_000_000 {
        return "";
    }
    " Intervals of so many are narrow: errors in the data can move a result further than its \
     interval reaches."
}

#[cfg(test)]
mod tests {
    use super::beyond_intervals;

    #[test]
    fn intervals_of_very_many_people_come_with_a_caveat() {
        assert_eq!(beyond_intervals(999_999), "");
        let said = beyond_intervals(20_000_000);
        assert!(said.starts_with(" Intervals of so many are narrow"), "{said}");
    }
}
