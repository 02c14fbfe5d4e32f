//! The issues about models that gates depend on: a model that answers differently when it is asked
//! twice, scores or decisions that contradict the labels, one decision for everybody or for all
//! counterfactuals of a set, scores that no moved feature changes, and thresholds that follow the
//! group. The stage `gate` finds them, and the folder of the run holds them, so that judging the
//! folder again uses the same ones.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::gate::objection::MANY_PEOPLE;
use crate::gate::question::GateTables;
use crate::gate::reason::{CommonDecision, GateReason, OneSidedSet, ThresholdsApart, UnmovedSet};
use crate::job::Job;
use crate::metric::catalog::shift;
use crate::metric::value::sanity::{ModelSanity, one_decision_after};
use crate::model::kind::{ModelBlock, ModelKind, ThresholdRule};
use crate::param::{ColumnName, Name};
use crate::stage::artifact::SANITY;
use crate::stage::kinds::CountStage;
use crate::stage::score::recheck::{not_repeatable, rechecks};
use crate::stage::stage_builder::{Opens, StageBuilder};
use crate::table::{
    AuditKey, CfQualityRow, CountRow, GroupRow, IssueRow, SetPair, unsigned, whole,
};
use crate::unit::AuditUnit;

/// Code of the issue about far more or far fewer positive decisions than labels.
const OFF_LABELS: &str = "off-labels";

/// Code of the issue about people whose score is the threshold.
const AT_THRESHOLD: &str = "at-threshold";

/// Code of the issue about a model that decides alike about everybody.
const ONE_DECISION: &str = "one-decision";

/// What was found of each model of the job, as issues; what waits for scores is left out. People
/// are counted by the first attribute, thresholds that rows carry by each.
pub(crate) fn model_issues<'a>(b: &mut StageBuilder<'_, 'a>) -> Result<Opens<'a, Vec<IssueRow>>> {
    let job = b.plan.job;
    let rechecked = b.want_part(rechecks)?;
    let decides = job.models.iter().filter(|(_, model)| model.amount().is_none());
    let units = decides.flat_map(|(name, model)| {
        // Thresholds of rows as they are are right whatever they depend on.
        let by_column = model.threshold.column().is_some() && !job.counterfactuals.is_empty();
        let asked = job.data.sensitive.keys().take(if by_column { usize::MAX } else { 1 });
        asked.map(|attribute| {
            let of_model = AuditUnit::of_model(name.as_str());
            ((name.as_str(), attribute), AuditUnit { attribute: attribute.to_string(), ..of_model })
        })
    });
    let counted = b.want_each::<CountStage, _>(units)?;
    b.input("data.label.classes", |job| job.data.label.classes());
    Ok(Box::new(move |ctx| {
        let rechecked = rechecked.as_ref().map(|of| of(ctx)).transpose()?.unwrap_or_default();
        let differ = rechecked.iter().filter_map(|(model, found)| not_repeatable(model, found));
        let mut issues: Vec<IssueRow> = differ.collect();
        let mut apart: BTreeMap<&str, Vec<ThresholdsApart>> = BTreeMap::new();
        for ((model, attribute), stage) in &counted {
            let found = stage.read::<ModelSanity>(ctx, SANITY)?;
            if job.data.sensitive.keys().next() == Some(attribute) {
                issues.extend(of_sanity(job, model, &found));
            }
            apart.entry(model).or_default().extend(apart_in(job, attribute, &found));
        }
        apart.retain(|_, attributes| !attributes.is_empty());
        issues.extend(apart.into_iter().map(|(model, attributes)| {
            let (n, model_name) = (attributes.len() as u64, model.to_owned());
            GateReason::ThresholdByGroup { model: model_name, attributes }.issue_about(model, n)
        }));
        Ok(issues)
    }))
}

/// The groups of an attribute whose thresholds are apart, by name.
fn apart_in(job: &Job, attribute: &ColumnName, found: &ModelSanity) -> Option<ThresholdsApart> {
    // The reference is first, and the others follow as declared.
    let reference = job.data.reference_of(attribute);
    let mut by_rank = Vec::from_iter(job.data.groups_of(attribute));
    by_rank.sort_by_key(|group| Some(group.clone()) != reference);
    let name = |rank: usize| by_rank.get(rank).map(ToString::to_string).unwrap_or_default();
    let pairs: Vec<[String; 2]> = found.apart.iter().map(|pair| pair.map(name)).collect();
    (!pairs.is_empty()).then(|| ThresholdsApart { sensitive: attribute.to_string(), pairs })
}

/// What looking at the scores and decisions of a model gave, as issues.
pub(crate) fn of_sanity(job: &Job, model: &str, found: &ModelSanity) -> Vec<IssueRow> {
    let (people, each) = match job.data.person {
        Some(_) => ("rows", "row"),
        None => ("people", "person"),
    };
    let classes: Vec<String> =
        job.data.label.classes().into_iter().flatten().map(ToString::to_string).collect();
    let mut issues = Vec::new();
    if !found.inverted.is_empty() {
        let inverted: Vec<_> = found.inverted.iter().map(|of| of.named(&classes)).collect();
        let (n, of_rows) = (inverted.len() as u64, job.data.person.is_some());
        let objection = GateReason::InvertedScores { model: model.to_owned(), of_rows, inverted };
        issues.push(objection.issue_about(model, n));
    }
    // A fitted threshold is where the job wants it.
    let model_block = job.models.iter().find(|(name, _)| name.as_str() == model);
    let is_fitted = model_block.is_some_and(|(_, block)| block.threshold.is_fitted());
    if let Some([decided, labelled, n]) = found.off_labels.filter(|_| !is_fitted) {
        let text = format!(
            "{decided} of {n} {people} with a label are predicted positive by `{model}`, and \
             {labelled} have a positive one: check the threshold, and the scale of the scores"
        );
        issues.push(IssueRow::warning(OFF_LABELS, model, whole(decided), text));
    }
    if let Some((decision, n)) = found.one_decision() {
        let which = match (classes.get(decision), decision) {
            (Some(class), _) => format!("`{class}`"),
            (None, 0) => "negative".to_owned(),
            (None, _) => "positive".to_owned(),
        };
        let text = format!(
            "the prediction of `{model}` is {which} for every {each}, all {n} {people}: gaps and \
             switches of its decisions are 0 whatever it is"
        );
        issues.push(IssueRow::warning(ONE_DECISION, model, whole(n), text));
    }
    issues
}

/// The issues about models that decide alike about all counterfactuals of a set, by the table of
/// counts, whose decisions are those of `classes` or of two sides.
pub(crate) fn one_sided(counts: &[CountRow], of_classes: bool) -> Vec<IssueRow> {
    // By model, set and attribute, then by prediction: counterfactuals, and those of their rows.
    let mut decided: BTreeMap<_, BTreeMap<&str, [u64; 2]>> = BTreeMap::new();
    for row in counts {
        let AuditKey { arm, model, counterfactual, sensitive, scope, slice, .. } = &row.key;
        let all = arm.is_empty() && slice.is_empty() && *scope == "direction";
        if all && !row.predicted.is_empty() && !row.predicted_cf.is_empty() {
            let audit = (model.as_str(), counterfactual.as_str(), sensitive.as_str());
            let of_audit = decided.entry(audit).or_default();
            let n = unsigned(row.n);
            of_audit.entry(&row.predicted_cf).or_default()[0] += n;
            of_audit.entry(&row.predicted).or_default()[1] += n;
        }
    }
    let mut found: BTreeMap<&str, Vec<OneSidedSet>> = BTreeMap::new();
    for ((model, counterfactual, sensitive), by_word) in &decided {
        let [after, before] =
            [0, 1].map(|side| by_word.values().map(|n| n[side]).collect::<Vec<_>>());
        let Some((at, n)) = one_decision_after(after, &before) else { continue };
        let decision = match by_word.keys().nth(at).copied().unwrap_or_default() {
            class if of_classes => CommonDecision::Class(class.to_owned()),
            "0" => CommonDecision::Negative,
            _ => CommonDecision::Positive,
        };
        let [counterfactual, sensitive] = [counterfactual, sensitive].map(|name| name.to_string());
        let set = OneSidedSet { counterfactual, sensitive, decision, n, before: before[at] };
        found.entry(model).or_default().push(set);
    }
    let issue = |(model, sets): (&str, Vec<OneSidedSet>)| {
        let n = sets.len() as u64;
        let model_name = model.to_owned();
        GateReason::OneCounterfactualDecision { model: model_name, sets }.issue_about(model, n)
    };
    found.into_iter().map(issue).collect()
}

/// The issues about models that say which scores are better, and of which many people have exactly
/// the threshold: their rule gives these the decision that nobody wants.
pub(crate) fn at_threshold(job: &Job, groups: &[GroupRow]) -> Vec<IssueRow> {
    let denies = |model: &&ModelBlock| {
        let is_positive = model.threshold_rule == ThresholdRule::Ge;
        model.better.is_some()
            && !model.threshold.is_fitted()
            && is_positive != job.data.favours_positive()
    };
    let issue = |(name, model): (&Name, &ModelBlock)| {
        let is_of_all = |row: &&GroupRow| row.group.is_empty() && row.slice.is_empty();
        let row = groups.iter().filter(is_of_all).find(|row| row.model == *name.as_str())?;
        let (n, scores) = (row.n_scores_equal_threshold, row.n - row.n_missing_score);
        let other = if model.threshold_rule == ThresholdRule::Ge { "gt" } else { "ge" };
        let text = format!(
            "{n} of {scores} scores of `{name}` are exactly the threshold, which gives these \
             people the unfavourable decision: if such a score is good enough, write \
             `threshold_rule: {other}`"
        );
        let are_many = n as f64 >= MANY_PEOPLE * scores as f64 && n > 0;
        are_many.then(|| IssueRow::warning(AT_THRESHOLD, name.as_str(), n, text))
    };
    job.models.iter().filter(|(_, model)| denies(model)).filter_map(issue).collect()
}

/// The models whose scores come from a file: one that the run asks saw the features.
pub(crate) fn of_files(job: &Job) -> impl Iterator<Item = &Name> {
    let is_file =
        |model: &ModelBlock| model.kinds().iter().any(|kind| matches!(kind, ModelKind::Scores(_)));
    job.models.iter().filter(move |(_, model)| is_file(model)).map(|(name, _)| name)
}

/// The issues about files of scores that are the same for all counterfactuals of a set, many of
/// which have other features than their rows, by the tables of quality and of metrics.
pub(crate) fn unmoved(job: &Job, tables: &GateTables) -> Vec<IssueRow> {
    let moved = |row: &CfQualityRow| {
        let SetPair { counterfactual, sensitive, from_group, .. } = &row.pair;
        let is_of_all = row.metric == "unchanged_share" && from_group.is_empty();
        let changed = 1.0 - row.value.filter(|_| is_of_all)?;
        let [counterfactual, sensitive] = [counterfactual, sensitive].map(ToString::to_string);
        let set = UnmovedSet { counterfactual, sensitive, changed };
        (changed >= MANY_PEOPLE).then_some(set)
    };
    let is_still = |name: &Name, set: &UnmovedSet| {
        let audit = [name.as_str(), &set.counterfactual, &set.sensitive];
        let mut moves = tables.metrics.iter().filter(|row| {
            let AuditKey { arm, slice, scope, model, counterfactual, sensitive, .. } = &row.key;
            [arm.as_str(), slice, scope] == ["", "", "total"]
                && [model.as_str(), counterfactual, sensitive] == audit
                && shift::of_every_move().any(|metric| row.metric == metric.id)
        });
        moves.clone().next().is_some() && moves.all(|row| row.value == Some(0.0))
    };
    let issue = |name: &Name| {
        let sets = tables.quality.iter().filter_map(moved).filter(|set| is_still(name, set));
        let (sets, model) = (sets.collect::<Vec<_>>(), name.to_string());
        let n = sets.len() as u64;
        (n > 0).then(|| GateReason::UnmovedScores { model, sets }.issue_about(name.as_str(), n))
    };
    of_files(job).filter_map(issue).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tests::{Says, TextRow};

    /// Whoever has exactly the threshold may be on the side that nobody wants.
    #[test]
    fn people_at_the_threshold_are_told() {
        let rows = GroupRow::of("model=card, sensitive=sex")
            .each("group | n | n_scores_equal_threshold\n | 200 | 12\n f | 100 | 6\n m | 100 | 6");
        let told = |rule: &str, favourable: &str, rows: &[GroupRow]| {
            let model = json!({"scores": {"factual": {"column": "s"}}, "better": "higher",
                               "threshold": 6, "threshold_rule": rule});
            let label = json!({"column": "y", "positive": ["1"], "favourable": favourable});
            let data = json!({"rows": {"parquet": "a.parquet"}, "label": label,
                              "sensitive": {"sex": {"groups": ["m", "f"], "reference": "m"}}});
            let job = json!({"cfaudit": 1, "name": "t", "data": data, "models": {"card": model}});
            at_threshold(&serde_json::from_value(job).unwrap(), rows)
        };
        let found = told("ge", "negative", &rows);
        assert!(found[0].holds("code=at-threshold, where=card, n=12"), "{found:?}");
        found[0].text.says(&["12 of 200 scores of `card`", "`threshold_rule: gt`"]);
        assert_eq!(told("gt", "negative", &rows), []);
        assert_eq!(told("ge", "positive", &rows), []);
        let found = told("gt", "positive", &rows);
        found[0].text.says(&["`threshold_rule: ge`"]);
        let few = GroupRow::of("model=card").each("n | n_scores_equal_threshold\n 200 | 9");
        assert_eq!(told("ge", "negative", &few), []);
    }

    /// A class may be called `0` or `1`; only of two sides these are the negative and the positive
    /// one.
    #[test]
    fn the_decision_of_all_counterfactuals_is_named_as_the_job_names_it() {
        let counts = CountRow::of(
            "model=m, counterfactual=flip, sensitive=sex, scope=direction, from_group=Female, \
             to_group=Male, predicted_cf=0",
        );
        let counts = counts.each("predicted | n\n 0 | 40\n 1 | 20");
        for (of_classes, said) in
            [(false, "decides negative for all 60"), (true, "decides `0` for all 60")]
        {
            let issues = one_sided(&counts, of_classes);
            assert!(
                issues[0].holds("code=one-counterfactual-decision, where=m, n=1"),
                "{issues:?}"
            );
            issues[0].text.says(&[said, "for 40 of their rows"]);
        }
    }
}
