//! The number of people that each action helps, and effectiveness by cost.
//!
//! Source: the paper's effectiveness-cost distributions. With `V(c)` the actions of a subgroup that
//! cost at most `c`:
//! macro `ecd(c, g) = max over a in V(c) of k(p,a,g) / n(p,g)`, micro
//! `ecd(c, g) = |union over a in V(c) of the people it helps| / n(p,g)`. Both are 0 below the
//! smallest cost and rise only at distinct costs, where all actions of one cost enter together.
//!
//! If a model is additive over the columns, an action moves all scores of a subgroup by the same
//! amount, the sets of helped people are nested, and macro equals micro.

use rayon::prelude::*;

use crate::num::bits;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::RowSets;

/// Number of subgroups that one thread counts at a time.
const BLOCK: usize = 64;

/// The people who can be helped at a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostReach {
    /// The cost, in units of 1e-9.
    pub cost: i64,
    /// Most people of each group that one action of at most this cost helps: macro times `n`.
    pub best: [u32; 2],
    /// People of each group that some action of at most this cost helps: micro times `n`.
    pub union: [u32; 2],
}

/// The effects of all actions.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ActionEffects {
    /// The number of people of each group that each action helps: `k` in the paper.
    pub helped: Vec<[u32; 2]>,
    /// The position after the last reach of each subgroup.
    ends: Vec<usize>,
    reaches: Vec<CostReach>,
}

/// The effects within one subgroup.
#[derive(Debug, Clone, Copy)]
pub struct SubgroupEffects<'a> {
    /// Number of affected people of each group.
    pub n: [u32; 2],
    /// The number of people of each group that each action helps.
    pub helped: &'a [[u32; 2]],
    /// Effectiveness at each distinct cost, ascending; empty without actions.
    pub reaches: &'a [CostReach],
}

impl SubgroupEffects<'_> {
    /// Effectiveness at a cost; none below the smallest.
    pub fn at(&self, cost: i64) -> Option<&CostReach> {
        let within = self.reaches.partition_point(|reach| reach.cost <= cost);
        self.reaches[..within].last()
    }
}

impl ActionEffects {
    /// Counts the effects; `helped` holds, for each set of changes, the rows that it helps.
    pub fn new(plan: &RecoursePlan<'_>, helped: &RowSets) -> ActionEffects {
        let blocks = plan.n_subgroups().div_ceil(BLOCK);
        let counted: Vec<ActionEffects> = (0..blocks)
            .into_par_iter()
            .map(|block| {
                let mut effects = ActionEffects::default();
                let (mut own, mut union) = (Vec::new(), Vec::new());
                for subgroup in block * BLOCK..plan.n_subgroups().min((block + 1) * BLOCK) {
                    effects.count(plan, helped, subgroup, &mut own, &mut union);
                }
                effects
            })
            .collect();
        let mut effects = ActionEffects::default();
        for block in counted {
            let before = effects.reaches.len();
            effects.helped.extend(block.helped);
            effects.ends.extend(block.ends.iter().map(|end| before + end));
            effects.reaches.extend(block.reaches);
        }
        effects
    }

    /// Adds one subgroup; the two lists are reused buffers.
    fn count(
        &mut self,
        plan: &RecoursePlan<'_>,
        helped: &RowSets,
        subgroup: usize,
        own: &mut Vec<u64>,
        union: &mut Vec<u64>,
    ) {
        let actions = plan.actions(subgroup);
        if !actions.is_empty() {
            let border = plan.population.border;
            plan.item_rows.rows_with_all(plan.subgroups.items_of(subgroup), own);
            union.clear();
            union.resize(own.len(), 0);
            let count = |of: &[u64]| {
                let (first, second) = (&own[..border], &own[border..]);
                [bits::count_both(first, &of[..border]), bits::count_both(second, &of[border..])]
            };
            let mut best = [0; 2];
            for same_cost in
                actions.collect::<Vec<_>>().chunk_by(|&a, &b| plan.cost(a) == plan.cost(b))
            {
                for &action in same_cost {
                    let helped = helped.rows_of(plan.found.change_of[action] as usize);
                    let k = count(helped);
                    self.helped.push(k);
                    best = [best[0].max(k[0]), best[1].max(k[1])];
                    bits::or(union, helped);
                }
                let union = count(union);
                self.reaches.push(CostReach { cost: plan.cost(same_cost[0]), best, union });
            }
        }
        self.ends.push(self.reaches.len());
    }

    /// The effects within a subgroup.
    pub fn of_subgroup<'a>(
        &'a self,
        plan: &RecoursePlan<'_>,
        subgroup: usize,
    ) -> SubgroupEffects<'a> {
        let start = subgroup.checked_sub(1).map_or(0, |before| self.ends[before]);
        SubgroupEffects {
            n: plan.n(subgroup),
            helped: &self.helped[plan.actions(subgroup)],
            reaches: &self.reaches[start..self.ends[subgroup]],
        }
    }
}
