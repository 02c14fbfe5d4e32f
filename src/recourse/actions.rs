//! The plan of a recourse audit: subgroups of a pair of groups, their valid actions, and change
//! sets.
//!
//! An action is valid for a subgroup if it is frequent among the unaffected with exactly the
//! columns of the subgroup, changes something, and each change may be made
//! ([`AllowedChanges`](crate::recourse::feature::AllowedChanges)); an action that names all columns
//! and changes all of them is not valid. All published code does this;
//! [`ActionMatch::SubFeatures`] follows the text of the paper. A subgroup walks down the tree of
//! candidates along its columns, so that only valid actions are visited.
//!
//! Choice: "subgroups" in the paper's tables are those with at least one valid action, "affected
//! individuals" of its appendix D are the rows with label 0; here both numbers of subgroups are
//! kept, and affected are the rows with the unfavourable decision.

use std::cmp::Ordering;
use std::ops::Range;

use rayon::prelude::*;

use crate::error::Result;
use crate::num::hash::FastMap;
use crate::num::itemsets::{ItemIndex, ItemRows, ItemSets, too_many};
use crate::recourse::candidates::{CandidateTree, candidates};
use crate::recourse::groups::{GroupPair, PairPopulation};
use crate::recourse::steps::FeatureChanges;
use crate::recourse::subgroups::{RecourseItems, subgroups};
use crate::recourse::{ActionMatch, AuditedRows, SearchSettings};

/// Number of subgroups whose actions are searched for at a time.
const BLOCK: usize = 4096;

/// Marks a change that may not be made in tables of costs.
const NOT_ALLOWED: i64 = -1;

/// Everything that is computed before the model is queried.
#[derive(Debug)]
pub struct RecoursePlan<'a> {
    pub(super) items: RecourseItems<'a>,
    pub(super) population: PairPopulation,
    /// Smallest number of affected people of each group in a subgroup.
    pub min_affected: [u32; 2],
    /// Smallest number of unaffected people who have the levels of an action.
    pub min_unaffected: u32,
    /// The subgroups by number of items, then by the bytes of their texts.
    pub(super) subgroups: ItemSets,
    pub(super) item_rows: ItemRows,
    /// Texts of the items that occur.
    texts: Vec<String>,
    pub(super) found: SubgroupActions,
}

impl<'a> RecoursePlan<'a> {
    /// Searches subgroups and actions.
    ///
    /// # Errors
    /// There is more than the search allows; a cost does not fit.
    pub fn new(
        audited: &'a AuditedRows,
        pair: &GroupPair,
        search: &SearchSettings,
    ) -> Result<RecoursePlan<'a>> {
        let population = PairPopulation::new(audited, pair);
        let items = ItemIndex::new(&audited.features);
        let least = population.n.map(|n| search.subgroups.min_count(u64::from(n)) as u32);
        let least_unaffected = search.actions.min_count(population.unaffected.len() as u64) as u32;
        let (found, rows) =
            subgroups(&items, &population, least, search.max_items, search.max_results)?;
        let (tree, targets) =
            candidates(&items, &population, &found, least_unaffected, search.max_results)?;

        let mut texts = vec![String::new(); items.len()];
        let sources: Vec<u32> =
            (0..items.len() as u32).filter(|&item| rows.rows_with(item).is_some()).collect();
        for &item in sources.iter().chain(&targets) {
            texts[item as usize] = items.text(item);
        }
        let sets = sorted(&found, &texts);
        drop(found);
        let table = CostTable::new(&items, &sources, &targets)?;
        let walk = ActionSearch {
            items: &items,
            tree: &tree,
            table: &table,
            texts: &texts,
            matching: search.matching,
        };
        let found = SubgroupActions::new(&walk, &sets, search.max_results)?;
        Ok(RecoursePlan {
            population,
            min_affected: least,
            min_unaffected: least_unaffected,
            item_rows: rows,
            subgroups: sets,
            texts,
            found,
            items,
        })
    }

    /// The two groups.
    pub fn population(&self) -> &PairPopulation {
        &self.population
    }

    /// The number of subgroups, including those without actions.
    pub fn n_subgroups(&self) -> usize {
        self.subgroups.len()
    }

    /// Number of affected people of each group in a subgroup.
    pub fn n(&self, subgroup: usize) -> [u32; 2] {
        self.subgroups.n[subgroup]
    }

    /// The subgroup as text: `f = v, f = v`.
    pub fn text(&self, subgroup: usize) -> String {
        self.joined(self.subgroups.items_of(subgroup))
    }

    /// The valid actions of a subgroup, by cost, then by the text of all their levels.
    ///
    /// They are positions in the list of all actions.
    pub fn actions(&self, subgroup: usize) -> Range<usize> {
        let ends = &self.found.ends;
        subgroup.checked_sub(1).map_or(0, |before| ends[before])..ends[subgroup]
    }

    /// Number of actions of all subgroups.
    pub fn n_actions(&self) -> usize {
        self.found.costs.len()
    }

    /// The cost of an action, in units of 1e-9.
    pub fn cost(&self, action: usize) -> i64 {
        self.found.costs[action]
    }

    /// The changes of an action as text: `f = v, f = v`.
    pub fn changes_text(&self, action: usize) -> String {
        self.joined(&self.found.changes[self.found.change_of[action] as usize])
    }

    /// Number of distinct sets of changes.
    pub fn n_changes(&self) -> usize {
        self.found.changes.len()
    }

    fn joined(&self, items: &[u32]) -> String {
        items.iter().map(|&item| self.texts[item as usize].as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Compares the joined texts of two sets of items without joining them.
fn by_text(a: &[u32], b: &[u32], texts: &[String]) -> Ordering {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let bytes = |set: &[u32]| -> Vec<u8> {
        let pieces = set
            .iter()
            .enumerate()
            .skip(same)
            .map(|(i, &item)| (i > 0, texts[item as usize].as_bytes()));
        pieces
            .flat_map(|(more, text)| [if more { b", ".as_slice() } else { b"" }, text].concat())
            .collect()
    };
    // The first item that differs decides, unless one text is a prefix of the other.
    if let (Some(&x), Some(&y)) = (a.get(same), b.get(same)) {
        let (x, y) = (texts[x as usize].as_bytes(), texts[y as usize].as_bytes());
        if !x.starts_with(y) && !y.starts_with(x) {
            return x.cmp(y);
        }
    }
    bytes(a).cmp(&bytes(b))
}

/// Subgroups by number of items, then by text.
fn sorted(found: &ItemSets, texts: &[String]) -> ItemSets {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.par_sort_by(|&a, &b| {
        let (a, b) = (found.items_of(a), found.items_of(b));
        a.len().cmp(&b.len()).then_with(|| by_text(a, b, texts))
    });
    let mut sets = ItemSets::default();
    order.into_iter().for_each(|set| sets.push(found.items_of(set), found.n[set]));
    sets
}

/// Costs of the changes from frequent items of the affected to frequent items of the unaffected.
struct CostTable {
    /// Position of an item among the items of its column, as old and as new level.
    slots: Vec<[u32; 2]>,
    /// Number of new levels of each column.
    widths: Vec<usize>,
    /// The costs of each column, by old and new level; [`NOT_ALLOWED`] if the change is not
    /// allowed.
    costs: Vec<Vec<i64>>,
}

impl CostTable {
    fn new(items: &RecourseItems<'_>, sources: &[u32], targets: &[u32]) -> Result<CostTable> {
        let mut slots = vec![[0; 2]; items.len()];
        let mut lists = vec![[const { Vec::new() }; 2]; items.features.len()];
        for (side, list) in [sources, targets].into_iter().enumerate() {
            for &item in list {
                let of_feature: &mut Vec<u32> = &mut lists[items.feature(item) as usize][side];
                slots[item as usize][side] = of_feature.len() as u32;
                of_feature.push(item);
            }
        }
        let costs = items.features.iter().zip(&lists).map(|(feature, [old, new])| {
            let steps = FeatureChanges::new(feature);
            let pairs = old.iter().flat_map(|&u| new.iter().map(move |&v| (u, v)));
            pairs
                .map(|(u, v)| {
                    Ok(steps.cost(items.level(u), items.level(v))?.unwrap_or(NOT_ALLOWED))
                })
                .collect::<Result<Vec<i64>>>()
        });
        let costs = costs.collect::<Result<_>>()?;
        Ok(CostTable { slots, widths: lists.iter().map(|[_, new]| new.len()).collect(), costs })
    }

    fn cost(&self, feature: u32, from: u32, to: u32) -> i64 {
        let (old, new) =
            (self.slots[from as usize][0] as usize, self.slots[to as usize][1] as usize);
        self.costs[feature as usize][old * self.widths[feature as usize] + new]
    }
}

/// The inputs of the search for the actions of a subgroup.
struct ActionSearch<'a> {
    items: &'a RecourseItems<'a>,
    tree: &'a CandidateTree,
    table: &'a CostTable,
    texts: &'a [String],
    matching: ActionMatch,
}

/// An action during the search.
#[derive(Clone, Default)]
struct FoundAction {
    cost: i64,
    changes: Vec<u32>,
    /// The levels of all columns that the action names.
    levels: Vec<u32>,
}

impl ActionSearch<'_> {
    /// The valid actions of a subgroup, in their order.
    fn actions(&self, subgroup: &[u32]) -> Vec<FoundAction> {
        let mut found = Vec::new();
        self.descend(subgroup, 0, CandidateTree::ROOT, &mut FoundAction::default(), &mut found);
        found.sort_by(|a, b| {
            a.cost.cmp(&b.cost).then_with(|| by_text(&a.levels, &b.levels, self.texts))
        });
        found
    }

    fn descend(
        &self,
        subgroup: &[u32],
        depth: usize,
        node: u32,
        now: &mut FoundAction,
        found: &mut Vec<FoundAction>,
    ) {
        let Some(&old) = subgroup.get(depth) else {
            let all_of_all = now.changes.len() == self.items.features.len();
            if !now.changes.is_empty() && !all_of_all {
                found.push(now.clone());
            }
            return;
        };
        let feature = self.items.feature(old);
        if self.matching == ActionMatch::SubFeatures {
            self.descend(subgroup, depth + 1, node, now, found);
        }
        for below in self.tree.with(node, self.items.items_of_feature(feature)) {
            let new = self.tree.item(below);
            let stays = new == old;
            let cost = if stays { 0 } else { self.table.cost(feature, old, new) };
            if cost == NOT_ALLOWED || stays && self.matching == ActionMatch::SubFeatures {
                continue;
            }
            now.levels.push(new);
            if !stays {
                now.changes.push(new);
            }
            now.cost += cost;
            self.descend(subgroup, depth + 1, below, now, found);
            now.cost -= cost;
            if !stays {
                now.changes.pop();
            }
            now.levels.pop();
        }
    }
}

/// The actions of all subgroups.
#[derive(Debug, Default)]
pub(super) struct SubgroupActions {
    /// The position after the last action of each subgroup.
    ends: Vec<usize>,
    costs: Vec<i64>,
    /// The set of changes of each action.
    pub(super) change_of: Vec<u32>,
    /// Distinct sets of changes, each as ascending items.
    pub(super) changes: Vec<Box<[u32]>>,
}

impl SubgroupActions {
    fn new(walk: &ActionSearch<'_>, sets: &ItemSets, at_most: usize) -> Result<SubgroupActions> {
        let mut all = SubgroupActions::default();
        let mut known: FastMap<Box<[u32]>, u32> = FastMap::default();
        for block in (0..sets.len()).step_by(BLOCK) {
            let subgroups = block..sets.len().min(block + BLOCK);
            let found: Vec<Vec<FoundAction>> =
                subgroups.into_par_iter().map(|set| walk.actions(sets.items_of(set))).collect();
            for actions in found {
                for FoundAction { cost, changes, .. } in actions {
                    let change = match known.get(changes.as_slice()) {
                        Some(&change) => change,
                        None => {
                            let changes = changes.into_boxed_slice();
                            all.changes.push(changes.clone());
                            *known.entry(changes).or_insert(all.changes.len() as u32 - 1)
                        }
                    };
                    all.costs.push(cost);
                    all.change_of.push(change);
                }
                all.ends.push(all.costs.len());
            }
            if all.costs.len() > at_most {
                return Err(too_many("actions", at_most));
            }
        }
        Ok(all)
    }
}
