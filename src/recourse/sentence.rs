//! The actions that are listed for a subgroup, for both groups.
//!
//! The paper calls them Comparative Subgroup Counterfactuals. Which actions are listed depends on
//! the definition, as in the published listings; shares in the micro view are cumulative, which the
//! paper does not mention. The tests make their text in the layout of the paper and compare it with
//! published listings.

use crate::recourse::actions::RecoursePlan;
use crate::recourse::definition::{RecourseCriterion, RecourseDefinition, RecourseView};
use crate::recourse::effect::ActionEffects;

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
    /// The actions that the definition uses, by cost.
    pub lines: Vec<ActionLine>,
}

impl GroupSentence {
    /// The sentences for both groups of a subgroup with actions.
    pub fn both(
        plan: &RecoursePlan<'_>,
        effects: &ActionEffects,
        question: RecourseCriterion,
        subgroup: usize,
    ) -> [GroupSentence; 2] {
        let effect = effects.of_subgroup(plan, subgroup);
        [0, 1].map(|g| {
            let line = |(action, k): (usize, &[u32; 2])| ActionLine {
                action,
                cost: plan.cost(action),
                n_helped: k[g],
                n_helped_cumulative: effect.at(plan.cost(action)).map_or(0, |reach| reach.union[g]),
            };
            let lines = plan.actions(subgroup).zip(effect.helped).map(line).collect();
            GroupSentence { n: effect.n[g], lines: used(question, lines, effect.n[g]) }
        })
    }
}

/// The actions that a definition uses for a group of this many people.
fn used(question: RecourseCriterion, all: Vec<ActionLine>, n: u32) -> Vec<ActionLine> {
    let n = u64::from(n);
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
