//! The engine: compared with the exact results of other programs, and checked for any data.

mod case;
mod oracle;
mod persons;
mod predicates;
mod promises;

use crate::error::Result;
use crate::recourse;
use crate::recourse::actions::{ColumnLevel, RecoursePlan};
use crate::recourse::definition::{RecourseCriterion, RecourseDefinition, RecourseView};
use crate::recourse::effect::ActionEffects;
use crate::recourse::groups::GroupPair;
use crate::recourse::rank::{DefinitionRanking, RankBy};
use crate::recourse::{DecimalShare, SearchSettings};

/// A subgroup as text after an action has changed it: `f = v, f = v`.
fn changed_text(plan: &RecoursePlan<'_>, subgroup: usize, action: usize) -> String {
    let level = |own: ColumnLevel<'_>| {
        let new = plan.changes(action).find(|change| change.feature == own.feature);
        format!("{} = {}", own.feature, new.map_or(own.level, |new| new.level))
    };
    plan.subgroup(subgroup).map(level).collect::<Vec<_>>().join(", ")
}

/// The groups 0 and 1, the second the reference.
pub(super) fn pair() -> GroupPair {
    GroupPair { names: ["left", "right"].map(str::to_owned), members: [vec![0], vec![1]] }
}

pub(super) fn share(text: &str) -> DecimalShare {
    DecimalShare::new(text.parse().unwrap()).unwrap()
}

pub(super) fn search(support: &str) -> SearchSettings {
    SearchSettings::new(share(support), share(support))
}

/// All definitions with two thresholds and these budgets, in all their views.
pub(super) fn questions(budgets: &[i64]) -> Vec<RecourseCriterion> {
    let phis = [share("0.3"), share("0.7")];
    let mut definitions = vec![
        RecourseDefinition::EqualEffectiveness,
        RecourseDefinition::FairTradeOff,
        RecourseDefinition::ConditionalMean,
    ];
    definitions.push(RecourseDefinition::Mean(100_000_000_000));
    definitions.extend(phis.iter().flat_map(|&phi| {
        [RecourseDefinition::EqualChoice(phi), RecourseDefinition::EqualCost(phi)]
    }));
    definitions.extend(budgets.iter().map(|&budget| RecourseDefinition::WithinBudget(budget)));
    let both = |definition: RecourseDefinition| {
        [RecourseView::Macro, RecourseView::Micro]
            .into_iter()
            .filter_map(move |view| RecourseCriterion::new(definition, view))
    };
    definitions.into_iter().flat_map(both).collect()
}

pub(super) fn judge(
    plan: &RecoursePlan<'_>,
    effects: &ActionEffects,
    question: RecourseCriterion,
) -> DefinitionRanking {
    DefinitionRanking::new(plan, effects, question, RankBy::Distance)
}
