//! The engine: compared with the exact results of other programs, and checked for any data.

mod case;
mod oracle;
mod persons;
mod predicates;
mod promises;
mod sentence;

use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::num::seed::RandomStream;
use crate::param::Count;
use crate::recourse;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::{LevelChange, RowSets};
use crate::recourse::chance::p_values;
use crate::recourse::definition::{
    ExactScore, RecourseCriterion, RecourseDefinition, RecourseView,
};
use crate::recourse::effect::ActionEffects;
use crate::recourse::feature::{
    AllowedChanges, ChangeCost, ChangeDirection, LevelDistance, LevelScale, RecourseFeature,
};
use crate::recourse::groups::GroupPair;
use crate::recourse::knobs::PermutationSettings;
use crate::recourse::rank::{DefinitionRanking, RankBy};
use crate::recourse::{ActionMatch, AuditedRows, DecimalShare, SearchSettings};
use crate::tests::{json, json_frame, number};

/// A column and the level that it gets or has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnLevel<'a> {
    /// The column.
    pub feature: &'a str,
    /// The level.
    pub level: &'a str,
}

impl RecoursePlan<'_> {
    /// The items of a subgroup, columns by the bytes of their names.
    pub fn subgroup(&self, subgroup: usize) -> impl Iterator<Item = ColumnLevel<'_>> {
        self.subgroups.items_of(subgroup).iter().map(|&item| self.item(item))
    }

    /// The changes of an action: columns with their new levels.
    pub fn changes(&self, action: usize) -> impl Iterator<Item = ColumnLevel<'_>> {
        self.found.changes[self.found.change_of[action] as usize]
            .iter()
            .map(|&item| self.item(item))
    }

    fn item(&self, item: u32) -> ColumnLevel<'_> {
        let (feature, level) = self.items.column_and_level(item);
        ColumnLevel { feature, level }
    }
}

/// A subgroup as text after an action has changed it: `f = v, f = v`.
fn changed_text(plan: &RecoursePlan<'_>, subgroup: usize, action: usize) -> String {
    let level = |own: ColumnLevel<'_>| {
        let new = plan.changes(action).find(|change| change.feature == own.feature);
        format!("{} = {}", own.feature, new.map_or(own.level, |new| new.level))
    };
    plan.subgroup(subgroup).map(level).collect::<Vec<_>>().join(", ")
}

/// The rows that each set of changes helps, by a model that says of a changed row whether its
/// decision is favourable.
pub(super) fn helped(
    plan: &RecoursePlan<'_>,
    model: &(impl Fn(u32, &[LevelChange]) -> bool + Sync),
) -> RowSets {
    let helps = |change: usize, rows: &[u32]| {
        let changes = plan.change_set(change);
        Ok(rows.iter().map(|&row| model(row, &changes)).collect())
    };
    plan.helped(&plan.needed(), helps).unwrap()
}

/// The changed rows that differ in a level or in their group.
struct DifferentRows {
    /// Audited row and set of changes that make each for the first time.
    rows: Vec<(u32, u32)>,
    /// For each set of changes, the number of each row that it makes.
    numbers: Vec<Vec<usize>>,
}

impl DifferentRows {
    fn new(audited: &AuditedRows, plan: &RecoursePlan<'_>, needed: &RowSets) -> Self {
        let AuditedRows { features, groups, .. } = audited;
        let mut known: HashMap<(Vec<u32>, Option<u16>), usize> = HashMap::new();
        let (mut rows, mut numbers) = (Vec::new(), Vec::new());
        for change in 0..plan.n_changes() {
            let changes = plan.change_set(change);
            let number = |row: u32| {
                let own = features.iter().map(|feature| feature.codes[row as usize]);
                let mut levels: Vec<u32> = own.collect();
                changes.iter().for_each(|change| levels[change.feature] = change.level);
                let next = rows.len();
                *known.entry((levels, groups[row as usize])).or_insert_with(|| {
                    rows.push((row, change as u32));
                    next
                })
            };
            numbers.push(plan.rows_needed(needed, change).into_iter().map(number).collect());
        }
        DifferentRows { rows, numbers }
    }
}

/// The groups 0 and 1, the second the reference.
pub(super) static PAIR: LazyLock<GroupPair> = LazyLock::new(|| GroupPair {
    names: ["left", "right"].map(str::to_owned),
    members: [vec![0], vec![1]],
});

/// The plan of this pair, and the effect of its actions on the decisions of a model.
pub(super) fn plan<'a>(audited: &'a AuditedRows, support: &str) -> RecoursePlan<'a> {
    RecoursePlan::new(audited, &PAIR, &search(support)).unwrap()
}

pub(super) fn effects(
    plan: &RecoursePlan<'_>,
    model: &(impl Fn(u32, &[LevelChange]) -> bool + Sync),
) -> ActionEffects {
    ActionEffects::new(plan, &helped(plan, model))
}

/// A definition in a view.
pub(super) fn question(definition: RecourseDefinition, view: RecourseView) -> RecourseCriterion {
    RecourseCriterion::new(definition, view).unwrap()
}

pub(super) fn share(text: &str) -> DecimalShare {
    DecimalShare::new(text.parse().unwrap()).unwrap()
}

pub(super) fn search(support: &str) -> SearchSettings {
    SearchSettings {
        subgroups: share(support),
        actions: share(support),
        max_items: None,
        matching: ActionMatch::SameFeatures,
        max_results: 5_000_000,
    }
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
