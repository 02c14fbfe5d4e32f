//! Ranks of subgroups under one definition.
//!
//! Dense and descending: all subgroups with the largest score have rank 1, the next distinct score
//! rank 2. A score of 0 is fair and has no rank; a subgroup without actions is not judged. Scores
//! are compared as fractions; as floats, equal scores differ by noise (410 unfair subgroups of
//! COMPAS under the conditional mean, 433 and 430 in two runs of the published code).

use std::cmp::Reverse;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::recourse::actions::RecoursePlan;
use crate::recourse::definition::{
    ExactScore, RecourseCriterion, RecourseDefinition, SubgroupScore,
};
use crate::recourse::effect::ActionEffects;
use crate::recourse::exact::ExactRatio;

/// How the trade-off is ranked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RankBy {
    /// The largest distance `D`, as in the paper's tables.
    #[default]
    Distance,
    /// `D sqrt(n0 n1 / (n0 + n1))`, as AIF360 does: prefers large subgroups.
    Scaled,
}

/// The values, score and rank of one subgroup.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubgroupVerdict {
    /// The subgroup.
    pub subgroup: u32,
    /// From 1; `None` if the score is 0.
    pub rank: Option<u32>,
    /// The value of each group: a share, a number of actions, or a cost; infinity without recourse.
    pub values: [f64; 2],
    /// The absolute difference of the two.
    pub score: f64,
    /// The group that is worse off: 0 or 1; `None` where the score is 0.
    pub worse_group: Option<u8>,
    /// Trade-off only: the cost at which the two are furthest apart, in units of 1e-9.
    ///
    /// `None` where they never differ.
    pub cost: Option<i64>,
}

/// The verdicts on all subgroups with actions under one definition.
#[derive(Debug, Clone, PartialEq)]
pub struct DefinitionRanking {
    /// The definition with its view.
    pub criterion: RecourseCriterion,
    /// In order of subgroups.
    pub verdicts: Vec<SubgroupVerdict>,
    /// Positions of the unfair subgroups in `verdicts`, by rank, then by subgroup.
    pub order: Vec<u32>,
}

impl DefinitionRanking {
    /// Scores and ranks all subgroups that have actions.
    pub fn new(
        plan: &RecoursePlan<'_>,
        effects: &ActionEffects,
        question: RecourseCriterion,
        rank_by: RankBy,
    ) -> DefinitionRanking {
        let scored: Vec<u32> = (0..plan.n_subgroups() as u32)
            .filter(|&s| !plan.actions(s as usize).is_empty())
            .collect();
        let answers: Vec<(SubgroupScore, ExactScore)> = scored
            .par_iter()
            .map(|&subgroup| {
                let effect = effects.of_subgroup(plan, subgroup as usize);
                let answer = question.score(&effect);
                (answer, ranking_key(question, answer.score, effect.n, rank_by))
            })
            .collect();
        let mut order: Vec<u32> =
            (0..scored.len() as u32).filter(|&i| !answers[i as usize].1.is_zero()).collect();
        order.par_sort_by_key(|&i| (Reverse(answers[i as usize].1), i));
        let mut verdicts: Vec<SubgroupVerdict> = scored
            .iter()
            .zip(&answers)
            .map(|(&subgroup, (answer, _))| SubgroupVerdict {
                subgroup,
                rank: None,
                values: answer.values.map(ExactScore::get),
                score: answer.score.get(),
                worse_group: answer.worse_group.map(|g| g as u8),
                cost: answer.cost,
            })
            .collect();
        for (tier, rank) in
            order.chunk_by(|&a, &b| answers[a as usize].1 == answers[b as usize].1).zip(1..)
        {
            tier.iter().for_each(|&i| verdicts[i as usize].rank = Some(rank));
        }
        DefinitionRanking { criterion: question, verdicts, order }
    }

    /// The unfair subgroups by rank, then by subgroup.
    pub fn ranked(&self) -> impl ExactSizeIterator<Item = &SubgroupVerdict> {
        self.order.iter().map(|&i| &self.verdicts[i as usize])
    }

    /// The verdict on a subgroup; `None` if it has no actions.
    pub fn verdict_on(&self, subgroup: u32) -> Option<&SubgroupVerdict> {
        self.verdicts
            .binary_search_by_key(&subgroup, |verdict| verdict.subgroup)
            .ok()
            .map(|i| &self.verdicts[i])
    }

    /// The largest rank; 0 where all are fair.
    pub fn last_rank(&self) -> u32 {
        self.ranked().last().and_then(|verdict| verdict.rank).unwrap_or(0)
    }
}

/// The key of the ranking: the score, or for the scaled trade-off its square.
///
/// The square is `d^2 / (n0 n1 (n0 + n1))` with `d = |k0 n1 - k1 n0|`.
fn ranking_key(
    question: RecourseCriterion,
    score: ExactScore,
    n: [u32; 2],
    rank_by: RankBy,
) -> ExactScore {
    match (question.definition, rank_by, score) {
        (RecourseDefinition::FairTradeOff, RankBy::Scaled, ExactScore::Finite(ratio)) => {
            let n = n.map(u128::from);
            // The denominator of the score is n0 n1, and d is below 2^64.
            let (d, product) = ratio.over(n[0] * n[1]);
            ExactScore::Finite(ExactRatio::new(d * d, product * (n[0] + n[1])))
        }
        (_, _, score) => score,
    }
}
