//! What this audit does not show, and the sign-off.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use minijinja::context;
use minijinja::value::Value;

use crate::folder::manifest::ModelWords;
use crate::model::kind::TRAINED_EXAMPLES;
use crate::report::brief::harm::HarmResult;
use crate::report::brief::inputs::BriefInputs;
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
pub(crate) fn not_shown(inputs: &BriefInputs<'_>) -> Value {
    let &BriefInputs { audit, results, voice, .. } = inputs;
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
        untested => untested.map(|a| untested_attribute(inputs, &a.name)).collect::<Value>(),
        unscored => m.models.iter().filter_map(|of| unscored(audit, of, voice)).collect::<Value>(),
        trained_again => values.any(|of| of.over_trainings().is_some()),
        narrow => is_narrow(m.rows.audited), excluded => excluded(audit, voice),
        overturning => hidden_cause::weakest(audit).map(fact),
        graphs => has(&["graph-uncertain"]),
        features => has(&["greedy", "plausible", "transport", "external"]),
        trained => trained.map(|of| fact(&voice.called_model(&of.name))).collect::<Value>(), scores => of_kind("scores"),
        decisions => of_kind("decision"), label => m.label.is_some(),
        not_compared => population::not_compared(audit, voice),
        without_label => issues.iter().any(|i| i.state.as_deref() == Some("without_label")),
        recourse => !audit.recourse.comparisons.is_empty(), arms => !m.experiments.is_empty(),
        contradictions,
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

/// An attribute that no test changes, with the clear gap of its groups as they are that harms most.
fn untested_attribute(inputs: &BriefInputs<'_>, name: &str) -> Value {
    let gap = inputs.worst_gap(Some(name), inputs.n_gaps()).map(|(of, gap)| {
        context!(model => fact(&of.model), low => fact(gap.low), high => fact(gap.high))
    });
    context!(attribute => attribute(inputs.voice, name), gap)
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

/// Whom tests exclude for lack of a valid counterfactual, with their number by set, and whether a
/// person counts once for each of several other groups; none where there is nobody.
fn excluded(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Option<Value> {
    // For each set its attributes; the people without a valid counterfactual as a member of another
    // group, and all who should have one, once for each such group.
    let mut sets: BTreeMap<&str, (BTreeSet<&str>, [i64; 2])> = BTreeMap::new();
    let pairs = audit.quality.pairs.iter();
    for (pair, values) in pairs.filter(|(pair, _)| !pair.from.is_empty()) {
        let (all, valid) = (whole(values, "n_pairs"), whole(values, "n_pairs_valid"));
        if audit.quality.discards(pair) && all > 0 {
            let (attributes, counts) = sets.entry(&pair.set).or_default();
            attributes.insert(&pair.attribute);
            *counts = [counts[0] + (all - valid).max(0), counts[1] + all];
        }
    }
    if sets.is_empty() {
        return None;
    }
    let several = sets.values().any(|(attributes, _)| {
        attributes.len() > 1 || attributes.iter().any(|name| voice.has_several_others(name))
    });
    let parts = sets.into_iter().filter(|(_, (_, [without, _]))| *without > 0);
    let parts = parts.map(|(set, (_, [without, all]))| context!(set, without, all));
    Some(context!(several, sets => parts.collect::<Value>()))
}

/// The sets that test nobody, by attribute: how many counterfactuals were made, all of which were
/// discarded; none where only the values of the set show that it has none with a score.
pub(crate) fn without_anybody(audit: &AuditFolder, voice: &AuditVoice<'_>) -> Value {
    let of_attributes = audit.manifest.counterfactuals.iter().flat_map(|set| {
        set.attributes.iter().map(move |attribute| (set.name.as_str(), attribute.as_str()))
    });
    let found = of_attributes.filter_map(|(set, name)| {
        let made = audit.quality.none_valid(&ResultKey::of_set(set, name));
        let own = audit.measures().filter(|(key, _)| key.set == set && key.attribute == name);
        let mut counted =
            own.flat_map(|(_, values)| values.values()).map(|of| of.n_rows).peekable();
        let is_empty = made.is_some() || counted.peek().is_some() && counted.all(|n| n == 0);
        is_empty.then(|| context!(set, made, attribute => attribute(voice, name)))
    });
    found.collect()
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
