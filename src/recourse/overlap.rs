//! Which of two overlapping subgroups with the same actions is shown.
//!
//! Not in the paper, but used in every published listing. A subgroup `p` is contained in `q` if the
//! items of `q` are a proper subset of the items of `p` and no action of `p` changes a column that
//! only `p` has: then every action for `p` is also an action for `q`. Of such a pair the subgroup
//! with the larger score is kept, the shorter one if the scores are equal.
//!
//! Choice: the ranked list is read from the top until the requested number is shown, and each
//! subgroup is compared with those shown before it. The published code truncates the list first and
//! then drops subgroups, so that fewer remain, and its flags are not transitive.

use crate::recourse::actions::RecoursePlan;
use crate::recourse::rank::DefinitionRanking;

/// A subgroup of the ranked list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedSubgroup {
    /// The subgroup.
    pub subgroup: u32,
    /// The subgroup shown instead; `None` where it is shown itself.
    pub merged_into: Option<u32>,
}

/// Walks the ranked list until `keep` subgroups are shown.
pub fn merge_overlapping(
    plan: &RecoursePlan<'_>,
    judged: &DefinitionRanking,
    keep: usize,
) -> Vec<ListedSubgroup> {
    let mut places = Vec::new();
    let mut shown: Vec<SubgroupContent<'_>> = Vec::new();
    for verdict in judged.ranked() {
        if shown.len() == keep {
            break;
        }
        let own = SubgroupContent::new(plan, verdict.subgroup);
        // The subgroups that are already shown have an equal or larger score and, if it is equal,
        // are not longer: subgroups are numbered by length.
        let twin =
            shown.iter().find(|other| own.is_contained_in(other) || other.is_contained_in(&own));
        places.push(ListedSubgroup {
            subgroup: verdict.subgroup,
            merged_into: twin.map(|twin| twin.subgroup),
        });
        if twin.is_none() {
            shown.push(own);
        }
    }
    places
}

/// The columns and items that containment compares.
struct SubgroupContent<'a> {
    subgroup: u32,
    items: &'a [u32],
    /// The columns that its actions change, ascending.
    changed: Vec<u32>,
    plan: &'a RecoursePlan<'a>,
}

impl<'a> SubgroupContent<'a> {
    fn new(plan: &'a RecoursePlan<'_>, subgroup: u32) -> Self {
        let changes = plan.found.change_of[plan.actions(subgroup as usize)]
            .iter()
            .flat_map(|&change| &plan.found.changes[change as usize]);
        let mut changed: Vec<u32> = changes.map(|&item| plan.items.feature(item)).collect();
        changed.sort_unstable();
        changed.dedup();
        SubgroupContent {
            subgroup,
            items: plan.subgroups.items_of(subgroup as usize),
            changed,
            plan,
        }
    }

    fn is_contained_in(&self, other: &SubgroupContent<'_>) -> bool {
        let has = |item: &u32| other.items.binary_search(item).is_ok();
        let contained = self.items.len() > other.items.len()
            && other.items.iter().all(|item| self.items.binary_search(item).is_ok());
        let only_here = |item: &&u32| !has(item);
        contained
            && !self
                .items
                .iter()
                .filter(only_here)
                .any(|&item| self.changed.binary_search(&self.plan.items.feature(item)).is_ok())
    }
}
