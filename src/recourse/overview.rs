//! Tables over all definitions: unfair subgroups by direction, and agreement between definitions.
//!
//! Source: appendix D of the paper, its ranking analysis and its aggregated rankings. Choice: the
//! top of a ranking is a tenth of the *unfair* subgroups, as in the authors' code, and ties at its
//! end are broken by the number of the subgroup. The paper's result can be arbitrary there: in its
//! table 10, row 1, all 262 counted subgroups come out of 1,673 with equal scores.

use crate::recourse::exact::ExactRatio;
use crate::recourse::rank::DefinitionRanking;

/// One row of the ranking analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankingAnalysis {
    /// Number of subgroups with rank 1.
    pub rank_1: u32,
    /// Number of subgroups with a rank.
    pub unfair: u32,
    /// A tenth of these, rounded down: the top of the ranked list.
    pub top: u32,
    /// Number of subgroups of the top against each group.
    pub top_against: [u32; 2],
    /// Number of unfair subgroups against each group.
    pub all_against: [u32; 2],
    /// Number of subgroups with the rank at which the top ends, and number of these in the top.
    pub last_tier: [u32; 2],
    /// The largest rank.
    pub last_rank: u32,
}

/// The ranking analysis of one definition.
pub fn analysis(judged: &DefinitionRanking) -> RankingAnalysis {
    let ranks: Vec<Option<u32>> = judged.ranked().map(|verdict| verdict.rank).collect();
    let top = ranks.len() / 10;
    let against = |n: usize| {
        let mut counts = [0; 2];
        judged
            .ranked()
            .take(n)
            .filter_map(|verdict| verdict.worse_group)
            .for_each(|g| counts[usize::from(g)] += 1);
        counts
    };
    let last = top.checked_sub(1).map(|last| ranks[last]);
    let of_tier = |ranks: &[Option<u32>]| {
        last.map_or(0, |rank| ranks.iter().filter(|other| **other == rank).count() as u32)
    };
    RankingAnalysis {
        rank_1: ranks.iter().filter(|rank| **rank == Some(1)).count() as u32,
        unfair: ranks.len() as u32,
        top: top as u32,
        top_against: against(top),
        all_against: against(ranks.len()),
        last_tier: [of_tier(&ranks), of_tier(&ranks[..top])],
        last_rank: judged.last_rank(),
    }
}

/// How unfair `other` ranks the subgroups that `judged` ranks first.
///
/// The mean rank in `other` of the subgroups with rank 1, divided by its largest rank plus 1, which
/// replaces a missing rank. In (0, 1], small if they agree; `None` if no subgroup has rank 1.
pub fn agreement(judged: &DefinitionRanking, other: &DefinitionRanking) -> Option<ExactRatio> {
    let none = u128::from(other.last_rank()) + 1;
    let mut sum = 0;
    let mut n = 0;
    for verdict in judged.ranked().take_while(|verdict| verdict.rank == Some(1)) {
        sum += other
            .verdict_on(verdict.subgroup)
            .and_then(|verdict| verdict.rank)
            .map_or(none, u128::from);
        n += 1;
    }
    (n > 0).then(|| ExactRatio::new(sum, n * none))
}
