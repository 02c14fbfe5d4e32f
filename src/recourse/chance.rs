//! Permutation p-values of subgroup scores, with control of the false discovery rate.
//!
//! Not in the paper, whose listings rank scores of groups of two people like those of two thousand.
//! The null hypothesis: given the people of a subgroup, their group is independent of which actions
//! help them. Then any permutation of the groups over these people is as likely as the real
//! assignment. The p-value is the share of permutations whose score is at least the real one,
//! including the real one: `(1 + larger) / (1 + permutations)`. Source: Fisher's permutation test;
//! Phipson and Smyth 2010 on the 1.
//!
//! Choice: a test stops once enough permutations had a score of at least the real one, with `p =
//! stop_after / permutations made` (Besag and Clifford 1991, "Sequential Monte Carlo p-values"):
//! most subgroups are far from unusual, and few permutations show that. Infinite scores are equal.
//! The smallest p-value is `1 / (1 + permutations)`: among thousands of subgroups a single unfair
//! one can only be found with enough permutations.
//!
//! False discoveries over all subgroups of one definition: the adjusted values of Benjamini and
//! Hochberg 1995. Their bound is proven for independent and for positively dependent p-values
//! (Benjamini and Yekutieli 2001). Subgroups that share people mostly are of the second kind; that
//! all of them are is an assumption.
//!
//! People helped by the same actions are exchangeable, so a permutation draws from a few kinds of
//! people. Each subgroup has one random stream, named by its text: its p-value does not depend on
//! which other subgroups are tested.

use std::ops::Range;

use rayon::prelude::*;

use crate::num::bits;
use crate::num::hash::FastMap;
use crate::num::seed::RandomStream;
use crate::recourse::actions::RecoursePlan;
use crate::recourse::ask::RowSets;
use crate::recourse::definition::{ExactScore, RecourseCriterion};
use crate::recourse::effect::{ActionEffects, CostReach, SubgroupEffects};
use crate::recourse::knobs::PermutationSettings;

/// The p-values of the subgroups of a range that have actions, in their order: one per criterion.
///
/// A caller that shows progress or can be interrupted calls it range by range; the values are the
/// same.
pub fn p_values(
    plan: &RecoursePlan<'_>,
    effects: &ActionEffects,
    helped: &RowSets,
    questions: &[RecourseCriterion],
    deals: PermutationSettings,
    seed: u64,
    subgroups: Range<usize>,
) -> Vec<Vec<f64>> {
    let scored: Vec<usize> =
        subgroups.filter(|&subgroup| !plan.actions(subgroup).is_empty()).collect();
    let of_subgroup = |&subgroup: &usize| {
        let effect = effects.of_subgroup(plan, subgroup);
        let mut kinds = PermutationTest::new(plan, &effect, helped, subgroup);
        let [a, b] = &plan.population.names;
        let mut stream =
            RandomStream::new(seed, &format!("recourse/{a}/{b}/{}", plan.text(subgroup)));
        kinds.p_values(&effect, questions, deals, &mut stream)
    };
    scored.par_iter().map(of_subgroup).collect()
}

/// The permutation test of one subgroup; people helped by the same actions are one kind.
struct PermutationTest {
    /// The kind of each person, shuffled by every permutation; ascending at first.
    people: Vec<u32>,
    /// The kinds that each action helps.
    helped: Vec<Vec<u32>>,
    /// The reach at which each kind is first helped; the number of reaches where no action helps.
    first_reach: Vec<usize>,
    /// The position of the reach of each action.
    reach_of: Vec<usize>,
}

impl PermutationTest {
    fn new(
        plan: &RecoursePlan<'_>,
        effect: &SubgroupEffects<'_>,
        helped: &RowSets,
        subgroup: usize,
    ) -> PermutationTest {
        let mut own = Vec::new();
        plan.item_rows.rows_with_all(plan.subgroups.items_of(subgroup), &mut own);
        let rows: Vec<usize> = bits::ones(&own).collect();
        let actions = plan.actions(subgroup);
        let sets: Vec<&[u64]> = plan.found.change_of[actions.clone()]
            .iter()
            .map(|&change| helped.rows_of(change as usize))
            .collect();

        // One bit per action and person; kinds are sorted by these bits, so their order does not
        // depend on the order of rows.
        let width = sets.len().div_ceil(64);
        let mut signatures = vec![0_u64; rows.len() * width];
        for (a, set) in sets.iter().enumerate() {
            for (i, &row) in rows.iter().enumerate() {
                if set[row / 64] >> (row % 64) & 1 == 1 {
                    bits::set(&mut signatures[i * width..(i + 1) * width], a);
                }
            }
        }
        let mut counts: FastMap<&[u64], u32> = FastMap::default();
        signatures.chunks(width).for_each(|signature| *counts.entry(signature).or_insert(0) += 1);
        let mut kinds: Vec<(&[u64], u32)> = counts.into_iter().collect();
        kinds.sort_unstable();

        let people = kinds
            .iter()
            .zip(0..)
            .flat_map(|((_, n), kind)| std::iter::repeat_n(kind, *n as usize))
            .collect();
        let helps = |a: usize, kind: usize| kinds[kind].0[a / 64] >> (a % 64) & 1 == 1;
        let helped = (0..sets.len())
            .map(|a| {
                (0..kinds.len()).filter(|&kind| helps(a, kind)).map(|kind| kind as u32).collect()
            })
            .collect();
        let reach_of: Vec<usize> = actions
            .map(|action| effect.reaches.partition_point(|reach| reach.cost < plan.cost(action)))
            .collect();
        let first = |kind| {
            (0..sets.len()).find(|&a| helps(a, kind)).map_or(effect.reaches.len(), |a| reach_of[a])
        };
        let first = (0..kinds.len()).map(first).collect();
        PermutationTest { people, helped, first_reach: first, reach_of }
    }

    fn p_values(
        &mut self,
        effect: &SubgroupEffects<'_>,
        questions: &[RecourseCriterion],
        deals: PermutationSettings,
        stream: &mut RandomStream,
    ) -> Vec<f64> {
        let real: Vec<ExactScore> =
            questions.iter().map(|question| question.score(effect).score).collect();
        // A score of 0 is the smallest: every permutation reaches it.
        let mut p: Vec<Option<f64>> =
            real.iter().map(|score| score.is_zero().then_some(1.0)).collect();
        let mut larger = vec![0; questions.len()];
        let smaller = usize::from(effect.n[1] < effect.n[0]);
        let mut dealt = PermutedEffects::new(effect, self.first_reach.len());
        for deal in 1..=deals.deals.get() {
            if p.iter().all(Option::is_some) {
                break;
            }
            self.shuffle(effect.n[smaller] as usize, stream);
            self.permute_effects(effect, smaller, &mut dealt);
            let effect =
                SubgroupEffects { n: effect.n, helped: &dealt.helped, reaches: &dealt.reaches };
            for (q, question) in questions.iter().enumerate() {
                if p[q].is_none() && question.score(&effect).score >= real[q] {
                    larger[q] += 1;
                    if larger[q] == deals.enough.get() {
                        p[q] = Some(larger[q] as f64 / deal as f64);
                    }
                }
            }
        }
        let of_all = |larger: u64| (larger + 1) as f64 / (deals.deals.get() as f64 + 1.0);
        p.into_iter().zip(larger).map(|(p, larger)| p.unwrap_or_else(|| of_all(larger))).collect()
    }

    /// Draws the first `n` people at random (Fisher-Yates shuffle).
    fn shuffle(&mut self, n: usize, stream: &mut RandomStream) {
        for i in 0..n {
            let j = i + stream.below(self.people.len() - i);
            self.people.swap(i, j);
        }
    }

    /// The effects if the first people were the smaller group.
    fn permute_effects(
        &self,
        effect: &SubgroupEffects<'_>,
        smaller: usize,
        dealt: &mut PermutedEffects,
    ) {
        dealt.kinds.fill(0);
        self.people[..effect.n[smaller] as usize]
            .iter()
            .for_each(|&kind| dealt.kinds[kind as usize] += 1);
        let other = 1 - smaller;
        dealt.reached.fill(0);
        self.first_reach.iter().zip(&dealt.kinds).for_each(|(&first, n)| dealt.reached[first] += n);
        let mut union = 0;
        for ((reach, real), reached) in
            dealt.reaches.iter_mut().zip(effect.reaches).zip(&dealt.reached)
        {
            union += reached;
            reach.union[smaller] = union;
            reach.union[other] = real.union[0] + real.union[1] - union;
            reach.best = [0; 2];
        }
        for (a, kinds) in self.helped.iter().enumerate() {
            let k: u32 = kinds.iter().map(|&kind| dealt.kinds[kind as usize]).sum();
            dealt.helped[a][smaller] = k;
            dealt.helped[a][other] = effect.helped[a][0] + effect.helped[a][1] - k;
            let best = &mut dealt.reaches[self.reach_of[a]].best;
            *best = [best[0].max(dealt.helped[a][0]), best[1].max(dealt.helped[a][1])];
        }
        let mut best = [0; 2];
        for reach in &mut dealt.reaches {
            best = [best[0].max(reach.best[0]), best[1].max(reach.best[1])];
            reach.best = best;
        }
    }
}

/// The effects under a permutation.
struct PermutedEffects {
    /// Number of people of each kind in the smaller group.
    kinds: Vec<u32>,
    /// Number of people of the smaller group first helped at each reach; the last entry is never.
    reached: Vec<u32>,
    helped: Vec<[u32; 2]>,
    reaches: Vec<CostReach>,
}

impl PermutedEffects {
    fn new(effect: &SubgroupEffects<'_>, kinds: usize) -> PermutedEffects {
        let reached = vec![0; effect.reaches.len() + 1];
        PermutedEffects {
            kinds: vec![0; kinds],
            reached,
            helped: effect.helped.to_vec(),
            reaches: effect.reaches.to_vec(),
        }
    }
}

/// The Benjamini-Hochberg adjusted p-values.
///
/// Each is the smallest false discovery rate at which its test is rejected.
pub fn false_discoveries(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[b].total_cmp(&p[a]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (i, &at) in order.iter().enumerate() {
        least = least.min(p[at] * p.len() as f64 / (p.len() - i) as f64);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::param::Count;
    use crate::recourse::definition::{RecourseDefinition, RecourseView};

    #[test]
    fn adjusted_values_are_those_of_benjamini_and_hochberg() {
        let adjusted = false_discoveries(&[0.01, 0.04, 0.03, 0.005, 1.0]);
        let expected = [0.025, 0.05, 0.05, 0.025, 1.0];
        assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{adjusted:?}");
        assert!(false_discoveries(&[]).is_empty());
    }

    /// One action that helps 5 of 6 people against 1 of 7. With k of the first group, permutations
    /// are at least as far apart where `|k / 6 - (6 - k) / 7| >= 29 / 42`, so k = 0, 5 or 6: C(7,6)
    /// + C(6,5) C(7,1) + 1 = 50 of C(13,6) = 1716.
    #[test]
    fn p_values_approach_the_exact_test() {
        let reaches = [CostReach { cost: 1, best: [5, 1], union: [5, 1] }];
        let effect = SubgroupEffects { n: [6, 7], helped: &[[5, 1]], reaches: &reaches };
        let mut kinds = PermutationTest {
            people: [vec![0; 7], vec![1; 6]].concat(),
            helped: vec![vec![1]],
            first_reach: vec![1, 0],
            reach_of: vec![0],
        };
        let question =
            RecourseCriterion::new(RecourseDefinition::EqualEffectiveness, RecourseView::Micro)
                .unwrap();
        let fair = RecourseCriterion::new(RecourseDefinition::ConditionalMean, RecourseView::Micro)
            .unwrap();
        let deals = PermutationSettings {
            deals: Count::of::<99_999>(),
            enough: Count::of::<{ u64::MAX }>(),
        };
        let p =
            kinds.p_values(&effect, &[question, fair], deals, &mut RandomStream::new(1, "test"));
        let exact = 50.0 / 1716.0;
        assert!((p[0] - exact).abs() < 0.002, "{} and {exact}", p[0]);
        assert_eq!(p[1], 1.0, "nothing is more common than a fair score");
    }
}
