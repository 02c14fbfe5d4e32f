//! Joint counts of categorical variables: how often each combination of levels occurs.
//!
//! [`JointCounts`] is an accumulator with memory bounded by the number of combinations, not of
//! rows. It is exact up to 262,144 combinations in a stratum. With more, it keeps the combinations
//! whose hash begins with `shift` zero bits, where `shift` is the smallest number that leaves at
//! most 262,144, and each kept combination represents 2^shift: a sample of combinations that
//! depends only on the rows, so any partition and any order of merging give the same state. Only
//! conditional levels and `likely` use joint counts; single variables are always counted exactly
//! ([`crate::counterfactual::conditional`]).
//!
//! [`CombinationPools`] answers queries from a [`JointTable`]: the rows that satisfy a chain of
//! conditions are a pool, and answers about it are cached. Cost: a first query of a pool is linear
//! in its combinations, a repeated one a look-up.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::data::MISSING;
use crate::exec::accumulator::map_as_list;
use crate::num::additive::Additive;
use crate::num::hash::FastMap;
use crate::num::seed::sm;

/// Combinations in a stratum up to which joint counts are exact.
pub(crate) const EXACT_COMBINATIONS: usize = 262_144;

/// Counts of combinations of levels, mergeable in any order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JointCounts {
    shift: u32,
    #[serde(with = "map_as_list")]
    combinations: BTreeMap<Box<[u32]>, u64>,
}

impl JointCounts {
    /// Counts a number of rows with these levels.
    pub fn add(&mut self, levels: &[u32], n: u64) {
        self.add_within(levels, n, EXACT_COMBINATIONS);
    }

    fn merge_within(&mut self, other: &JointCounts, limit: usize) {
        self.coarsen_to(self.shift.max(other.shift));
        for (levels, &n) in &other.combinations {
            self.add_within(levels, n, limit);
        }
    }

    fn add_within(&mut self, levels: &[u32], n: u64, limit: usize) {
        if !is_kept(levels, self.shift) {
            return;
        }
        if let Some(count) = self.combinations.get_mut(levels) {
            *count += n;
            return;
        }
        self.combinations.insert(levels.into(), n);
        while self.combinations.len() > limit.max(1) && self.shift < u64::BITS {
            self.coarsen_to(self.shift + 1);
        }
    }

    fn coarsen_to(&mut self, shift: u32) {
        if shift > self.shift {
            self.shift = shift;
            self.combinations.retain(|levels, _| is_kept(levels, shift));
        }
    }

    /// Whether every combination is counted, so that no sample is used.
    pub fn is_exact(&self) -> bool {
        self.shift == 0
    }

    /// The counts prepared for queries; counts of a sample are scaled up to all rows.
    pub fn finish(&self) -> JointTable {
        let width = self.combinations.first_key_value().map_or(0, |(levels, _)| levels.len());
        let scale = 1_u64.checked_shl(self.shift).unwrap_or(u64::MAX);
        JointTable {
            width,
            sorted: vec![OnceLock::new(); width],
            counts: self.combinations.values().map(|n| n.saturating_mul(scale)).collect(),
            levels: self.combinations.keys().flatten().copied().collect(),
        }
    }
}

impl Additive for JointCounts {
    fn absorb(&mut self, other: &Self) {
        self.merge_within(other, EXACT_COMBINATIONS);
    }
}

fn is_kept(levels: &[u32], shift: u32) -> bool {
    shift == 0
        || levels.iter().fold(0, |hash, &level| sm(hash ^ u64::from(level))).leading_zeros()
            >= shift
}

/// Combinations of levels with their counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JointTable {
    width: usize,
    /// `width` levels per combination.
    levels: Vec<u32>,
    counts: Vec<u64>,
    /// The combinations in order of the level of each variable, filled by the first query.
    sorted: Vec<OnceLock<Box<[u32]>>>,
}

impl JointTable {
    fn level(&self, row: u32, variable: usize) -> u32 {
        self.levels[row as usize * self.width + variable]
    }

    fn sort_rows(&self, mut rows: Vec<u32>, variable: usize) -> Box<[u32]> {
        rows.sort_by_key(|&row| self.level(row, variable));
        rows.into()
    }

    /// All combinations, in order of the level of `variable`.
    fn rows_by_level(&self, variable: usize) -> &[u32] {
        let all = || (0..u32::try_from(self.counts.len()).unwrap_or(u32::MAX)).collect();
        self.sorted
            .get(variable)
            .map_or(&[], |order| order.get_or_init(|| self.sort_rows(all(), variable)))
    }
}

/// Counts of the levels of one variable, missing ones left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// Level and count, levels ascending, counts above 0.
    pub levels: Vec<(u32, u64)>,
    /// Sum of the counts.
    pub n: u64,
}

impl LevelCounts {
    /// The counts of levels by position.
    pub fn from_counts(counts: &[u64]) -> Self {
        let levels: Vec<(u32, u64)> =
            (0..).zip(counts).filter(|(_, n)| **n > 0).map(|(level, &n)| (level, n)).collect();
        LevelCounts { n: counts.iter().sum(), levels }
    }

    /// The count of a level.
    pub fn count(&self, level: u32) -> u64 {
        self.levels.binary_search_by_key(&level, |entry| entry.0).map_or(0, |at| self.levels[at].1)
    }
}

/// The difference of the shares of each level that occurs on either side, first minus second.
///
/// `None` where either side has no values.
pub(crate) fn share_gaps<'a>(
    a: &'a LevelCounts,
    b: &'a LevelCounts,
) -> Option<impl Iterator<Item = f64> + 'a> {
    let share = |counts: &LevelCounts, level: u32| counts.count(level) as f64 / counts.n as f64;
    let only_b = b.levels.iter().filter(|entry| a.count(entry.0) == 0);
    let levels = a.levels.iter().chain(only_b);
    (a.n > 0 && b.n > 0)
        .then(|| levels.map(move |&(level, _)| (share(a, level) - share(b, level)).abs()))
}

/// The condition on another variable of the rows that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GivenLevel {
    /// It has this level.
    Level(u32),
    /// It is not missing.
    Known,
}

/// A pool: joint counts, and its number in [`CombinationPools`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct JointPool<'a> {
    joint: &'a JointTable,
    id: usize,
}

/// The combinations of a pool, with cached answers.
#[derive(Debug, Default)]
struct CombinationPool {
    /// `None` means all combinations, whose orders the joint table keeps for all threads.
    rows: Option<Vec<u32>>,
    /// The rows in order of the level of each variable, filled by the first query.
    sorted: FastMap<usize, Box<[u32]>>,
    level_counts: FastMap<(usize, usize, GivenLevel), Arc<LevelCounts>>,
    agreements: FastMap<(usize, usize, u32), Arc<[f64]>>,
    restricted: FastMap<(usize, u32), usize>,
}

/// The pools of all joint counts of a fitted strategy, each of a group and stratum.
#[derive(Debug, Default)]
pub(crate) struct CombinationPools {
    pools: Vec<CombinationPool>,
    roots: FastMap<(usize, usize), usize>,
    /// Approximate number of values held.
    n_held: usize,
}

impl CombinationPools {
    /// The pool of all rows of the joint counts of a group and stratum.
    pub(crate) fn root<'a>(
        &mut self,
        joint: &'a JointTable,
        stratum: (usize, usize),
    ) -> JointPool<'a> {
        let known = self.roots.get(&stratum).copied();
        let id = known.unwrap_or_else(|| self.push(None));
        self.roots.insert(stratum, id);
        JointPool { joint, id }
    }

    /// Clears all caches once they hold more than `limit` values.
    ///
    /// Earlier pools are then invalid.
    pub(crate) fn clear_beyond(&mut self, limit: usize) {
        if self.n_held > limit {
            *self = CombinationPools::default();
        }
    }

    fn push(&mut self, rows: Option<Vec<u32>>) -> usize {
        self.n_held += rows.as_ref().map_or(0, Vec::len);
        self.pools.push(CombinationPool { rows, ..CombinationPool::default() });
        self.pools.len() - 1
    }

    /// The rows of a pool in which a variable has a level.
    pub(crate) fn restrict<'a>(
        &mut self,
        pool: JointPool<'a>,
        variable: usize,
        level: u32,
    ) -> JointPool<'a> {
        if let Some(&id) = self.pools[pool.id].restricted.get(&(variable, level)) {
            return JointPool { id, ..pool };
        }
        let rows = self.rows_with(pool, variable, GivenLevel::Level(level)).to_vec();
        let id = self.push(Some(rows));
        self.pools[pool.id].restricted.insert((variable, level), id);
        JointPool { id, ..pool }
    }

    /// The counts of `variable` in a pool under a condition on `other` (which may be `variable`).
    pub(crate) fn level_counts(
        &mut self,
        pool: JointPool<'_>,
        variable: usize,
        other: usize,
        given: GivenLevel,
    ) -> Arc<LevelCounts> {
        let key = (variable, other, given);
        if let Some(known) = self.pools[pool.id].level_counts.get(&key) {
            return Arc::clone(known);
        }
        let mut counts: FastMap<u32, u64> = FastMap::default();
        for &row in self.rows_with(pool, other, given) {
            let level = pool.joint.level(row, variable);
            *counts.entry(level).or_default() += pool.joint.counts[row as usize];
        }
        counts.remove(&MISSING);
        let mut levels: Vec<(u32, u64)> = counts.into_iter().collect();
        levels.sort_unstable();
        self.n_held += levels.len();
        let spread = Arc::new(LevelCounts { n: levels.iter().map(|entry| entry.1).sum(), levels });
        self.pools[pool.id].level_counts.insert(key, Arc::clone(&spread));
        spread
    }

    /// The log probability of a level of `other` given each of `options`, which are levels of
    /// `variable`.
    ///
    /// `other` has `n_levels` levels: ln((n_cg + 0.5) / (m_cg + 0.5 n_levels)), where n_cg rows of
    /// the pool have both levels and m_cg the option and any level of `other`. Every query of a
    /// pool must have the same options.
    pub(crate) fn agreement(
        &mut self,
        pool: JointPool<'_>,
        (variable, options): (usize, &[(u32, u64)]),
        (other, level, n_levels): (usize, u32, u32),
    ) -> Arc<[f64]> {
        let key = (variable, other, level);
        if let Some(known) = self.pools[pool.id].agreements.get(&key) {
            return Arc::clone(known);
        }
        let together = self.level_counts(pool, variable, other, GivenLevel::Level(level));
        let any = self.level_counts(pool, variable, other, GivenLevel::Known);
        let term = |&(option, _): &(u32, u64)| {
            libm::log(
                (together.count(option) as f64 + 0.5)
                    / (any.count(option) as f64 + 0.5 * f64::from(n_levels)),
            )
        };
        let terms: Arc<[f64]> = options.iter().map(term).collect();
        self.n_held += terms.len();
        self.pools[pool.id].agreements.insert(key, Arc::clone(&terms));
        terms
    }

    fn rows_with<'a>(
        &'a mut self,
        JointPool { joint, id }: JointPool<'a>,
        variable: usize,
        given: GivenLevel,
    ) -> &'a [u32] {
        let pool = &mut self.pools[id];
        let sorted = match &pool.rows {
            None => joint.rows_by_level(variable),
            Some(rows) => pool.sorted.entry(variable).or_insert_with(|| {
                self.n_held += rows.len();
                joint.sort_rows(rows.clone(), variable)
            }),
        };
        // A missing level has the highest code, so the rows with a known level come first.
        let from = |level: u32| sorted.partition_point(|&row| joint.level(row, variable) < level);
        match given {
            GivenLevel::Known => &sorted[..from(MISSING)],
            GivenLevel::Level(MISSING) => &sorted[from(MISSING)..],
            GivenLevel::Level(level) => &sorted[from(level)..from(level + 1)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CombinationPools, GivenLevel, JointCounts, LevelCounts};
    use crate::data::MISSING;
    use crate::num::seed::RandomStream;

    fn counts(rows: &[([u32; 2], u64)]) -> JointCounts {
        let mut counts = JointCounts::default();
        rows.iter().for_each(|(levels, n)| counts.add(levels, *n));
        counts
    }

    #[test]
    fn spreads_and_narrower_pools() {
        let joint =
            counts(&[([0, 0], 2), ([0, 1], 5), ([1, 1], 3), ([1, MISSING], 4), ([MISSING, 1], 1)])
                .finish();
        let mut pools = CombinationPools::default();
        let root = pools.root(&joint, (0, 0));
        let mut spread = |pool, variable, other, given| {
            let LevelCounts { levels, n } =
                (*pools.level_counts(pool, variable, other, given)).clone();
            (levels, n)
        };
        assert_eq!(spread(root, 1, 0, GivenLevel::Level(0)), (vec![(0, 2), (1, 5)], 7));
        assert_eq!(spread(root, 0, 0, GivenLevel::Known), (vec![(0, 7), (1, 7)], 14));
        assert_eq!(spread(root, 0, 1, GivenLevel::Known), (vec![(0, 7), (1, 3)], 10));
        assert_eq!(spread(root, 1, 0, GivenLevel::Level(7)), (vec![], 0));
        let ones = pools.restrict(root, 1, 1);
        assert_eq!(pools.level_counts(ones, 0, 0, GivenLevel::Known).levels, [(0, 5), (1, 3)]);
        assert_eq!((ones, root), (pools.restrict(root, 1, 1), pools.root(&joint, (0, 0))));
    }

    /// Beyond the limit a sample is kept: it does not depend on the partition, and represents about
    /// as many rows.
    #[test]
    fn any_partition_gives_the_same_sample() {
        let mut stream = RandomStream::new(8, "joint");
        let rows: Vec<[u32; 2]> = (0..30_000)
            .map(|_| [(stream.u64() % 300) as u32, (stream.u64() % 40) as u32])
            .collect();
        let counted = |parts: usize, limit: usize| {
            let mut whole = JointCounts::default();
            for k in (0..parts).rev() {
                let mut part = JointCounts::default();
                rows.iter()
                    .skip(k)
                    .step_by(parts)
                    .for_each(|levels| part.add_within(levels, 1, limit));
                whole.merge_within(&part, limit);
            }
            whole
        };
        assert!(counted(1, 20_000).is_exact());
        let sample = counted(1, 2000);
        assert!(!sample.is_exact() && sample.combinations.len() <= 2000);
        for parts in [2, 7, 500] {
            assert_eq!(counted(parts, 2000), sample, "{parts} parts");
        }
        let n: u64 = sample.finish().counts.iter().sum();
        assert!((27_000..33_000).contains(&n), "{n}");
    }

    #[test]
    fn counts_survive_being_written() {
        let joint = counts(&[([3, 0], 2), ([0, MISSING], 5)]);
        let text = serde_json::to_string(&joint).unwrap();
        assert_eq!(serde_json::from_str::<JointCounts>(&text).unwrap(), joint);
        assert_eq!(text, r#"{"shift":0,"combinations":[[[0,4294967295],5],[[3,0],2]]}"#);
    }
}
