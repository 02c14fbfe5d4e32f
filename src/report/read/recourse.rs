//! What the page reads from the tables of recourse: the small ones as a whole, and from the long
//! ones the subgroups that are shown. For the other subgroups it keeps how large they are, and
//! whether both views have the same result.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::path::Path;

use crate::error::Result;
use crate::table::file::{read_matching, read_rows};
use crate::table::recourse::{
    ActionRow, AggregatedRankingRow, ComparativeRow, ComparedPair, CriterionWords, EcdRow,
    RankingRow, RecourseColumnRow, RecourseRow, SubgroupRow,
};

/// The tables of recourse as the page needs them.
pub(crate) struct RecourseTables {
    /// `recourse`.
    pub(crate) comparisons: Vec<RecourseRow>,
    /// `recourse_columns`.
    pub(crate) columns: Vec<RecourseColumnRow>,
    /// `ranking_analysis`.
    pub(crate) analysis: Vec<RankingRow>,
    /// `aggregated_rankings`.
    pub(crate) rankings: Vec<AggregatedRankingRow>,
    /// The rows of `subgroups` that have a place.
    pub(crate) subgroups: Vec<SubgroupRow>,
    /// What all rows of `subgroups` add up to.
    sums: BTreeMap<(ComparedPair, CriterionWords), ComparisonSummary>,
    /// `comparatives`.
    pub(crate) comparatives: Vec<ComparativeRow>,
    /// The rows of `actions` that these list.
    pub(crate) actions: Vec<ActionRow>,
    /// Comparisons of which some action helps somebody.
    helped: BTreeSet<ComparedPair>,
    /// The rows of `ecd` of the subgroups that have a place.
    pub(crate) ecd: Vec<EcdRow>,
}

/// All subgroups of a comparison under one definition in a view.
#[derive(Debug, Clone, Default)]
struct ComparisonSummary {
    /// How many people the smaller group of the unfair subgroups has, and how many subgroups have
    /// this many.
    smaller: SizeCounts,
    /// Subgroups whose definition says something of either group.
    answered: i64,
    /// Of the unfair subgroups.
    chance: ChanceTests,
    /// The hash of all results about them. Two views with the same hash have the same results:
    /// different ones have equal hashes with odds of 1 in 2^64.
    hash: DefaultHasher,
}

/// How many unfair subgroups were tested against chance, and how many of them are beyond it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChanceTests {
    pub(crate) tested: i64,
    /// With at most [`FALSE_DISCOVERIES`] of them false.
    pub(crate) beyond: i64,
    /// The smallest p-value.
    pub(crate) least: f64,
    /// How many have it.
    pub(crate) with_least: i64,
}

impl Default for ChanceTests {
    fn default() -> Self {
        ChanceTests { tested: 0, beyond: 0, least: f64::INFINITY, with_least: 0 }
    }
}

/// The share of false discoveries that the page accepts where it says how many subgroups are beyond
/// chance.
pub(crate) const FALSE_DISCOVERIES: f64 = 0.05;

/// Sizes, and how often each occurs.
#[derive(Debug, Clone, Default)]
pub(crate) struct SizeCounts(BTreeMap<i64, i64>);

impl SizeCounts {
    fn add(&mut self, size: i64) {
        *self.0.entry(size).or_default() += 1;
    }

    /// How many sizes.
    pub(crate) fn n(&self) -> i64 {
        self.0.values().sum()
    }

    /// How many are below one.
    pub(crate) fn below(&self, size: i64) -> i64 {
        self.0.range(..size).map(|(_, n)| n).sum()
    }

    /// The one in the middle, of an even number the mean of both; none of none.
    pub(crate) fn median(&self) -> Option<f64> {
        let at = |place: i64| {
            let mut before = 0;
            let there = self.0.iter().find(|(_, n)| {
                before += **n;
                place < before
            });
            there.map(|(size, _)| *size as f64)
        };
        let n = self.n();
        Some((at((n - 1) / 2)? + at(n / 2)?) / 2.0)
    }
}

impl ComparisonSummary {
    fn add(&mut self, row: &SubgroupRow) {
        for number in
            [row.value_0, row.value_1, row.score, row.cost, row.p_value, row.false_discovery]
        {
            // No table holds this number.
            self.hash.write_u64(number.map_or(u64::MAX, f64::to_bits));
        }
        for number in [Some(row.subgroup), row.rank, row.place, row.merged_into] {
            self.hash.write_i64(number.unwrap_or(-1));
        }
        self.answered +=
            i64::from(row.score.is_some() && row.criterion.is_answered([row.value_0, row.value_1]));
        if row.rank.is_some() {
            self.smaller.add(row.n_0.min(row.n_1));
            if let Some(share) = row.false_discovery {
                self.chance.tested += 1;
                self.chance.beyond += i64::from(share <= FALSE_DISCOVERIES);
                let p = row.p_value.unwrap_or(1.0);
                if p < self.chance.least {
                    (self.chance.least, self.chance.with_least) = (p, 0);
                }
                self.chance.with_least += i64::from(p == self.chance.least);
            }
        }
    }
}

impl RecourseTables {
    fn summary(
        &self,
        comparison: &RecourseRow,
        criterion: &CriterionWords,
    ) -> Option<&ComparisonSummary> {
        self.sums.get(&(comparison.pair.clone(), criterion.clone()))
    }

    /// How large the smaller group of the unfair subgroups is.
    pub(crate) fn smaller(
        &self,
        comparison: &RecourseRow,
        criterion: &CriterionWords,
    ) -> SizeCounts {
        self.summary(comparison, criterion)
            .map_or_else(SizeCounts::default, |sum| sum.smaller.clone())
    }

    /// What chance explains of its unfair subgroups; none where no test was asked for, or none is
    /// unfair.
    pub(crate) fn chance(
        &self,
        comparison: &RecourseRow,
        criterion: &CriterionWords,
    ) -> Option<ChanceTests> {
        self.summary(comparison, criterion).map(|sum| sum.chance).filter(|chance| chance.tested > 0)
    }

    /// The subgroups of a comparison for which a definition says something of either group.
    pub(crate) fn answered(&self, comparison: &RecourseRow, criterion: &CriterionWords) -> i64 {
        self.summary(comparison, criterion).map_or(0, |sum| sum.answered)
    }

    /// Whether actions were tried in a comparison, and none of them helps anybody.
    pub(crate) fn helps_nobody(&self, comparison: &RecourseRow) -> bool {
        comparison.actions > 0 && !self.helped.contains(&comparison.pair)
    }

    /// Whether two views of a definition have the same result for every subgroup.
    pub(crate) fn agree(
        &self,
        comparison: &RecourseRow,
        [one, other]: [&CriterionWords; 2],
    ) -> bool {
        let hash = |criterion| self.summary(comparison, criterion).map(|sum| sum.hash.finish());
        hash(one).is_some() && hash(one) == hash(other)
    }

    /// Reads them.
    ///
    /// # Errors
    /// A table is damaged or of another version.
    pub(in crate::report) fn read(folder: &Path) -> Result<RecourseTables> {
        let mut sums = BTreeMap::new();
        // Rows of one view are next to each other: the last key serves most of them.
        let mut key = (ComparedPair::default(), CriterionWords::default());
        let mut sum = ComparisonSummary::default();
        let subgroups = read_matching(folder, |row: &SubgroupRow| {
            if (&key.0, &key.1) != (&row.pair, &row.criterion) {
                let own = (row.pair.clone(), row.criterion.clone());
                sums.insert(std::mem::replace(&mut key, own), std::mem::take(&mut sum));
                sum = sums.remove(&key).unwrap_or_default();
            }
            sum.add(row);
            row.place.is_some()
        })?;
        sums.insert(key, sum);
        let comparatives = read_rows::<ComparativeRow>(folder)?;
        let shown: BTreeSet<i64> = subgroups.iter().map(|row| row.subgroup).collect();
        let listed: BTreeSet<(i64, i64)> =
            comparatives.iter().filter_map(|row| Some((row.subgroup, row.action?))).collect();
        // With several comparisons a few rows too many may be picked: a lookup names the
        // comparison.
        let mut helped = BTreeSet::new();
        let is_listed = |row: &ActionRow| {
            if row.worked_0 + row.worked_1 > 0 && !helped.contains(&row.pair) {
                helped.insert(row.pair.clone());
            }
            shown.contains(&row.subgroup) && listed.contains(&(row.subgroup, row.action))
        };
        Ok(RecourseTables {
            comparisons: read_rows::<RecourseRow>(folder)?,
            columns: read_rows::<RecourseColumnRow>(folder)?,
            analysis: read_rows::<RankingRow>(folder)?,
            rankings: read_rows::<AggregatedRankingRow>(folder)?,
            actions: read_matching(folder, is_listed)?,
            helped,
            ecd: read_matching(folder, |row: &EcdRow| shown.contains(&row.subgroup))?,
            subgroups,
            sums,
            comparatives,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::SizeCounts;

    #[test]
    fn sizes_in_the_middle() {
        let sizes = |all: &[i64]| {
            let mut sizes = SizeCounts::default();
            all.iter().for_each(|size| sizes.add(*size));
            sizes
        };
        assert_eq!(sizes(&[]).median(), None);
        assert_eq!(sizes(&[7]).median(), Some(7.0));
        assert_eq!(sizes(&[9, 2, 2, 3]).median(), Some(2.5));
        assert_eq!(sizes(&[12, 2, 10]).median(), Some(10.0));
        assert_eq!((sizes(&[12, 2, 10]).below(10), sizes(&[12, 2, 10]).n()), (1, 3));
    }
}
