//! What this audit does not show, and the sign-off.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::ModelWords;
use crate::model::kind::TRAINED_EXAMPLES;
use crate::report::brief::harm::HarmResult;
use crate::report::brief::population;
use crate::report::brief::voice::AuditVoice;
use crate::report::read::audit::AuditFolder;
use crate::report::read::panel::ResultKey;
use crate::report::read::quality::whole;
use crate::report::read::words::people;
use crate::report::section::hidden_cause;
use crate::table::GroupRow;
use crate::text::fact;

/// What the job did and did not do, which decides about the sentences, and the job's own sentences.
pub(crate) fn not_shown(
    audit: &AuditFolder,
    results: &[HarmResult],
    voice: &AuditVoice<'_>,
) -> Value {
    let m = &audit.manifest;
    let has = |strategies: &[&str]| {
        m.counterfactuals.iter().any(|set| strategies.contains(&set.strategy.as_str()))
    };
    let of_kind = |kind: &str| m.models.iter().any(|model| model.kind == kind);
    let is_tested =
        |name: &str| audit.measures().any(|(key, _)| key.attribute == name && !key.set.is_empty());
    let untested = m.attributes.iter().filter(|a| !results.is_empty() && !is_tested(&a.name));
    let is_trained = |kind: &str| TRAINED_EXAMPLES.iter().any(|(key, _)| *key == kind);
    let trained = m.models.iter().filter(|model| is_trained(&model.kind));
    let mut values = audit.measures().flat_map(|(_, values)| values.values());
    let issues = &audit.issues;
    let scenarios = audit.graphs.scenarios.iter();
    let contradictions: Vec<_> = scenarios.filter_map(|of| of.causes_of_the_attribute()).collect();
    context! {
        part => "not_shown", entry => has(&["naive"]).then(|| entry(audit, results, voice)),
        no_test => results.is_empty(),
        untested => untested.map(|a| attribute(voice, &a.name)).collect::<Value>(),
        unscored => m.models.iter().filter_map(|of| unscored(audit, of, voice)).collect::<Value>(),
        trained_again => values.any(|of| of.over_trainings().is_some()),
        narrow => is_narrow(m.rows.audited), excluded => excluded(audit, results),
        overturning => hidden_cause::weakest(audit).map(fact),
        graphs => has(&["graph-uncertain"]), features => has(&["greedy", "plausible", "transport"]),
        trained => trained.map(|of| fact(&voice.called_model(&of.name))).collect::<Value>(), scores => of_kind("scores"),
        decisions => of_kind("decision"), label => m.label.is_some(),
        not_compared => population::not_compared(audit, voice),
        without_label => issues.iter().any(|i| i.state.as_deref() == Some("without_label")),
        recourse => !audit.recourse.comparisons.is_empty(), arms => !m.experiments.is_empty(),
        contradictions => fact(&contradictions),
        limitations => m.words.limitations.iter().map(|words| words.trim()).collect::<Value>(),
    }
}

/// What the test of one entry changes: only attributes that such a test is about; none where these
/// are many.
fn entry(audit: &AuditFolder, results: &[HarmResult], voice: &AuditVoice<'_>) -> Vec<Value> {
    let of_entry = results.iter().filter(|result| result.set.only_entry);
    let changed: IndexSet<&str> = of_entry.map(|of| of.key.attribute.as_str()).collect();
    match (changed.len(), audit.manifest.attributes.as_slice()) {
        (1 | 2, _) => changed.into_iter().map(|name| attribute(voice, name)).collect(),
        (_, [only]) => vec![attribute(voice, &only.name)],
        _ => Vec::new(),
    }
}

fn attribute(voice: &AuditVoice<'_>, name: &str) -> Value {
    fact(&voice.called_attribute(name))
}

/// The rows and counterfactuals for which a model has no score; none where it has all.
fn unscored(audit: &AuditFolder, model: &ModelWords, voice: &AuditVoice<'_>) -> Option<Value> {
    let is_all = |row: &&GroupRow| row.group.is_empty() && row.slice.is_empty();
    let row = audit.groups.iter().filter(is_all).find(|row| row.model == model.name)?;
    let rows = (row.n_missing_score < row.n).then_some(row.n_missing_score);
    Some(context! {
        model => fact(&voice.called_model(&model.name)), decision => model.kind == "decision",
        rows => rows.unwrap_or(0), all => people(audit, row.n),
        counterfactuals => row.n_missing_counterfactual_score,
    })
}

/// The people whom tests exclude for lack of a valid counterfactual, with their number by set; none
/// where there is nobody.
fn excluded(audit: &AuditFolder, results: &[HarmResult]) -> Option<Value> {
    let directions: BTreeSet<ResultKey> = results
        .iter()
        .map(|result| result.key.of_any_model())
        .filter(|direction| audit.quality.discards(direction))
        .collect();
    if directions.is_empty() {
        return None;
    }
    // For each set: the people without a valid counterfactual, and all who should have one.
    let mut sets: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    for direction in &directions {
        let Some(values) = audit.quality.values(direction) else { continue };
        let all = whole(values, "n_pairs");
        let of_set = sets.entry(direction.set.as_str()).or_default();
        of_set[0] += (all - whole(values, "n_pairs_valid")).max(0);
        of_set[1] += all;
    }
    let parts = sets.into_iter().filter(|(_, [without, _])| *without > 0);
    Some(parts.map(|(set, [without, all])| context!(set, without, all)).collect())
}

/// Terms and lines to sign; what the job gives is filled in. Without words of the job the people
/// are counted, by the groups of the first attribute.
pub(crate) fn sign_off(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Value {
    let all = people(audit, i64::try_from(audit.manifest.rows.audited).unwrap_or(i64::MAX));
    let words = fact(&audit.manifest.words);
    context!(part => "sign", of => words, all, groups => population::by_group(audit, voice))
}

/// Whether intervals are about so many people that they are narrow, and other doubts matter more.
fn is_narrow(audited: u64) -> bool {
    audited >= 1_000_000
}

#[cfg(test)]
mod tests {
    use super::is_narrow;

    #[test]
    fn intervals_of_very_many_people_come_with_a_caveat() {
        assert!(!is_narrow(999_999));
        assert!(is_narrow(20_000_000));
    }
}
