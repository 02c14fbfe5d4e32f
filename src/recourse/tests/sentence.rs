//! A subgroup in words: "if ... then ..." for both groups, as published listings have it.
//!
//! Shares and costs are rounded to two decimals, scores to three, ties to even, from whole numbers.

use std::fmt::Write as _;

use super::*;
use crate::recourse::exact::{decimal_text, half_even};
use crate::recourse::sentence::GroupSentence;
use crate::recourse::steps::COST_UNIT;

/// The text in the layout of the paper, with a line break at its end.
pub(super) fn text(
    plan: &RecoursePlan<'_>,
    effects: &ActionEffects,
    RecourseCriterion { definition, view }: RecourseCriterion,
    subgroup: usize,
) -> String {
    let question = RecourseCriterion { definition, view };
    let answer = question.score(&effects.of_subgroup(plan, subgroup));
    let mut text = format!("If {}:\n", plan.text(subgroup));
    let population = plan.population();
    let halves = GroupSentence::both(plan, effects, question, subgroup);
    for ((half, name), people) in halves.iter().zip(&population.names).zip(population.n) {
        let covered = per_cent(half.n, people);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\tProtected Subgroup '{name}', {covered} covered out of {people}");
        if half.lines.is_empty() {
            text += "\t\tNo recourses for this subgroup!\n";
        }
        for line in &half.lines {
            let share = per_cent(
                if view == RecourseView::Micro { line.n_helped_cumulative } else { line.n_helped },
                half.n,
            );
            let cost = rounded(u128::from(line.cost.unsigned_abs()), u128::from(COST_UNIT), 2);
            let changes = plan.changes_text(line.action);
            let _ = writeln!(
                text,
                "\t\tMake {changes} with effectiveness {share} and counterfactual cost = \
                 {cost}."
            );
        }
    }
    let Some(against) = answer.worse_group else { return text + "\tNo bias!\n" };
    let view = match (definition.views().len(), view) {
        (1, _) => "",
        (_, RecourseView::Macro) => " (Macro)",
        (_, RecourseView::Micro) => " (Micro)",
    };
    let parameter = match definition {
        RecourseDefinition::EqualChoice(_) | RecourseDefinition::EqualCost(_) => {
            format!(" (threshold = {})", definition.parameter())
        }
        RecourseDefinition::WithinBudget(_) => {
            format!(" (budget = {})", definition.parameter())
        }
        RecourseDefinition::Mean(_) => {
            format!(" (without recourse = {})", definition.parameter())
        }
        _ => String::new(),
    };
    let score = match answer.score {
        ExactScore::Finite(ratio) => decimal_text(ratio.rounded(1000), 3),
        ExactScore::Infinite => "inf".to_owned(),
    };
    let group = &plan.population.names[against];
    let title = title(definition);
    let _ = writeln!(
        text,
        "\tBias against {group} due to {title}{view}{parameter}. Unfairness score = {score}."
    );
    text
}

/// The name of a definition in the texts of the paper.
fn title(definition: RecourseDefinition) -> &'static str {
    match definition {
        RecourseDefinition::EqualEffectiveness => "Equal Effectiveness",
        RecourseDefinition::EqualChoice(_) => "Equal Choice for Recourse",
        RecourseDefinition::WithinBudget(_) => "Equal Effectiveness within Budget",
        RecourseDefinition::EqualCost(_) => "Equal Cost of Effectiveness",
        RecourseDefinition::FairTradeOff => "Fair Effectiveness-Cost Trade-Off",
        RecourseDefinition::ConditionalMean => "Equal Conditional Mean Recourse",
        RecourseDefinition::Mean(_) => "Equal Mean Recourse",
    }
}

/// A share in per cent with two decimals.
fn per_cent(part: u32, whole: u32) -> String {
    let hundredths = half_even(u128::from(part) * 10_000, u128::from(whole).max(1));
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// `num / den` with at most `places` decimals.
fn rounded(num: u128, den: u128, places: u32) -> String {
    decimal_text(half_even(num * 10_u128.pow(places), den), places)
}
