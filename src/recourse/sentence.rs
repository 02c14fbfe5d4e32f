//! A subgroup in words: "if ... then ..." for both groups.
//!
//! These are the paper's Comparative Subgroup Counterfactuals. Which actions are listed depends on
//! the definition, as in the published listings. Shares in the micro view are cumulative, which the
//! paper does not say. Shares and costs are rounded to two decimals, scores to three, ties to even,
//! from whole numbers.

use std::fmt::Write as _;

use crate::recourse::actions::RecoursePlan;
use crate::recourse::definition::{
    ExactScore, RecourseCriterion, RecourseDefinition, RecourseView, SubgroupScore,
};
use crate::recourse::effect::{ActionEffects, SubgroupEffects};
use crate::recourse::exact::{decimal_text, half_even};
use crate::recourse::steps::COST_UNIT;

/// One listed action for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActionLine {
    /// The action, as a position among all actions of the plan.
    pub action: usize,
    /// Its cost, in units of 1e-9.
    pub cost: i64,
    /// Number of people of the group that it helps.
    pub n_helped: u32,
    /// Number of people of the group that it or any other action of at most its cost helps.
    pub n_helped_cumulative: u32,
}

/// The text parts for one group of a subgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupSentence {
    /// Number of affected people of the group in the subgroup.
    pub n: u32,
    /// Number of affected people of the group.
    pub n_in_group: u32,
    /// The actions that the definition uses, by cost.
    pub lines: Vec<ActionLine>,
}

/// A subgroup under a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubgroupSentence {
    /// The subgroup.
    pub subgroup: usize,
    /// The definition and the view.
    pub criterion: RecourseCriterion,
    /// Both groups.
    pub groups: [GroupSentence; 2],
    /// Values, score and direction.
    pub score: SubgroupScore,
}

impl SubgroupSentence {
    /// The text parts for a subgroup with actions.
    pub fn new(
        plan: &RecoursePlan<'_>,
        effects: &ActionEffects,
        question: RecourseCriterion,
        subgroup: usize,
    ) -> SubgroupSentence {
        let effect = effects.of_subgroup(plan, subgroup);
        let halves = [0, 1].map(|g| GroupSentence {
            n: effect.n[g],
            n_in_group: plan.population.n[g],
            lines: lines(plan, &effect, question, subgroup, g),
        });
        SubgroupSentence {
            subgroup,
            criterion: question,
            groups: halves,
            score: question.score(&effect),
        }
    }

    /// The text in the layout of the paper, with a line break at its end.
    pub fn text(&self, plan: &RecoursePlan<'_>) -> String {
        let mut text = format!("If {}:\n", plan.text(self.subgroup));
        for (half, name) in self.groups.iter().zip(&plan.population.names) {
            let covered = per_cent(half.n, half.n_in_group);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "\tProtected Subgroup '{name}', {covered} covered out of {}",
                half.n_in_group
            );
            if half.lines.is_empty() {
                text += "\t\tNo recourses for this subgroup!\n";
            }
            for line in &half.lines {
                let share = per_cent(
                    if self.criterion.view == RecourseView::Micro {
                        line.n_helped_cumulative
                    } else {
                        line.n_helped
                    },
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
        let Some(against) = self.score.worse_group else { return text + "\tNo bias!\n" };
        let definition = self.criterion.definition;
        let view = match (definition.views().len(), self.criterion.view) {
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
        let score = match self.score.score {
            ExactScore::Finite(ratio) => decimal_text(ratio.rounded(1000), 3),
            ExactScore::Infinite => "inf".to_owned(),
        };
        let group = &plan.population.names[against];
        let title = definition.title();
        let _ = writeln!(
            text,
            "\tBias against {group} due to {title}{view}{parameter}. Unfairness score = {score}."
        );
        text
    }
}

/// The actions that a definition uses, for one group.
fn lines(
    plan: &RecoursePlan<'_>,
    effect: &SubgroupEffects<'_>,
    question: RecourseCriterion,
    subgroup: usize,
    g: usize,
) -> Vec<ActionLine> {
    let actions = plan.actions(subgroup);
    let mut reaches = effect.reaches.iter().peekable();
    let all = actions.zip(effect.helped).map(|(action, k)| {
        let cost = plan.cost(action);
        while reaches.peek().is_some_and(|reach| reach.cost < cost) {
            reaches.next();
        }
        ActionLine {
            action,
            cost,
            n_helped: k[g],
            n_helped_cumulative: reaches.peek().map_or(0, |reach| reach.union[g]),
        }
    });
    let all: Vec<ActionLine> = all.collect();
    let n = u64::from(effect.n[g]);
    match (question.definition, question.view) {
        (RecourseDefinition::EqualChoice(phi), _) => all
            .into_iter()
            .filter(|line| phi.get().reached_by(u64::from(line.n_helped), n))
            .collect(),
        (RecourseDefinition::EqualCost(phi), RecourseView::Macro) => all
            .into_iter()
            .find(|line| phi.get().reached_by(u64::from(line.n_helped), n))
            .into_iter()
            .collect(),
        (RecourseDefinition::EqualCost(phi), RecourseView::Micro) => {
            let enough = all
                .iter()
                .find(|line| phi.get().reached_by(u64::from(line.n_helped_cumulative), n))
                .map(|line| line.cost);
            all.into_iter()
                .take_while(|line| enough.is_none_or(|enough| line.cost <= enough))
                .collect()
        }
        (RecourseDefinition::WithinBudget(budget), _) => {
            all.into_iter().take_while(|line| line.cost <= budget).collect()
        }
        _ => all,
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
