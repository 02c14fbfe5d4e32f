//! What an arm adds to the training rows of a fold, in the form that stages request and open.

use crate::augment::ExperimentArm;
use crate::augment::adasyn::AdasynSettings;
use crate::augment::choose::{CounterfactualSelection, SelectionRule};
use crate::data::Layout;
use crate::error::Result;
use crate::job::blocks::experiments::{self, LabelSide};
use crate::param::Word;
use crate::stage::applied_set::AppliedSet;
use crate::stage::decided_scores::DecidedScores;
use crate::stage::experiment::added_rows::{self, ArmSelection, CandidatePool, CandidateScores};
use crate::stage::experiment::plan::{ExperimentPlan, with_set};
use crate::stage::kinds::{GenerateStage, ScoreStage};
use crate::stage::stage_builder::{OpensOfRows, StageBuilder};
use crate::unit::AuditUnit;

/// What an arm adds to the training rows for a fold, opened for the rows of the fold; for a further
/// training, chosen by the base model of that training. The key names it with this prefix.
pub(crate) fn arm_selection<'a>(
    b: &mut StageBuilder<'_, 'a>,
    experiment_plan: &ExperimentPlan<'a>,
    (fold, arm, repeat): (usize, ExperimentArm, Option<usize>),
    prefix: &str,
) -> Result<OpensOfRows<'a, ArmSelection>> {
    let plan = b.plan;
    let named = |key: &str| format!("{prefix}{key}");
    b.texts([(named("arm"), arm.to_string())]);
    let adasyn = experiment_plan.adasyn(arm);
    let chosen = experiment_plan.chosen_as(arm);
    let arms = &experiment_plan.block.arms;
    let diverse = arms.diverse.filter(|_| chosen == Some(ExperimentArm::Diverse));
    if let Some(adasyn) = &adasyn {
        b.value(&named("adasyn"), adasyn);
    }
    if let Some(diverse) = &diverse {
        b.value(&named("diverse"), diverse);
    }
    if adasyn.is_some() || diverse.is_some() {
        b.input(&named("data.features.onehot"), |job| &job.data.features.onehot);
        b.input(&named("data.missing.nominal"), |job| job.data.missing.nominal);
    }
    b.texts(chosen.map(|chosen| (named("counterfactuals"), chosen.to_string())));
    let directed = arms.directed.as_ref().filter(|_| chosen == Some(ExperimentArm::Directed));
    if let Some(directed) = directed {
        b.value(&named("directed"), directed);
    }
    if directed.is_some() || adasyn.is_some() {
        b.value(&named("run.seed"), plan.job.run.seed.0);
    }
    let by = experiment_plan.prediction_source(arm);
    let predicted = by.map(|by| experiment_plan.predicted_unit(by, fold));
    let predicted = predicted.map(|unit| AuditUnit { repeat, ..unit });
    let mut pools = Vec::new();
    for applied in experiment_plan.sets.iter().filter(|_| chosen.is_some()) {
        let made = b.need::<GenerateStage>(&experiment_plan.training_set_unit(applied, fold))?;
        let of_set = predicted.clone().map(|unit| with_set(unit, Some(applied)));
        pools.push((
            applied.position,
            made,
            of_set.map(|unit| b.need::<ScoreStage>(&unit)).transpose()?,
        ));
    }
    // How the base decides, where predictions are asked for.
    let base = predicted.map(|unit| {
        let thresholds = [experiment_plan.fold_unit(ExperimentArm::Base, fold)];
        DecidedScores::of_units(b, (prefix, experiment_plan.model), &[unit], &thresholds)
    });
    let base = base.transpose()?;
    let (seed, sets) = (plan.job.run.seed.0, experiment_plan.sets.clone());
    Ok(Box::new(move |row_context| {
        let mut opened = Vec::new();
        for (attribute, made, scores_cf) in &pools {
            let base = match (&base, scores_cf) {
                (Some(base), Some(scores_cf)) => {
                    let (rule, scores) = base.open(row_context)?;
                    let scores_cf = scores_cf.open(row_context)?;
                    Some(CandidateScores { scores, scores_cf, rule })
                }
                _ => None,
            };
            let counterfactuals = made.open(row_context)?;
            opened.push(CandidatePool { attribute: *attribute, counterfactuals, base });
        }
        let layout = row_context.rows.layout();
        let choice = match (chosen, directed, diverse) {
            (Some(ExperimentArm::Switched), ..) => CounterfactualSelection::Switched,
            (_, _, Some(diverse)) => {
                let (extras, fraction) = (plan.extras(layout), diverse.fraction.get());
                let farthest = added_rows::farthest(row_context, &opened, &extras, fraction)?;
                CounterfactualSelection::Chosen(farthest)
            }
            (_, Some(directed), _) => {
                let rules = directed.rules.values();
                let rules: Vec<SelectionRule> =
                    rules.map(|rule| engine_rule(rule, layout, &sets)).collect();
                let matches = added_rows::rule_matches(row_context, &opened, &rules, seed)?;
                CounterfactualSelection::Chosen(matches.draw(directed.fraction.get()))
            }
            _ => CounterfactualSelection::All,
        };
        let adasyn = adasyn.map(|arm| AdasynSettings { arm, seed });
        Ok(ArmSelection { pools: opened, choice, adasyn })
    }))
}

/// A rule of the job by positions. Where it names no attribute and the set changes one, it is that
/// one.
fn engine_rule(
    rule: &experiments::DirectedRule,
    layout: &Layout,
    applied_sets: &[AppliedSet<'_>],
) -> SelectionRule {
    let named = rule.sensitive.as_ref().and_then(|name| layout.attribute(name.as_str()));
    let only = if let [applied] = applied_sets { Some(applied.position) } else { None };
    let attribute = named.or(only);
    let group = |name: &Option<Word>| {
        let groups = &layout.attributes[attribute?].groups;
        let place = groups
            .iter()
            .position(|group| name.as_ref().is_some_and(|name| group == name.as_str()))?;
        u16::try_from(place).ok()
    };
    let is = |class: Option<LabelSide>| class.map(|class| class == LabelSide::Positive);
    SelectionRule {
        attribute,
        from: group(&rule.source_group),
        to: group(&rule.target_group),
        label: is(rule.label),
        predicted: is(rule.original_prediction),
        predicted_cf: is(rule.cf_prediction),
    }
}
