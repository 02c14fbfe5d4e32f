//! Queries the model about changed rows: each row once per set of changes that a subgroup of it
//! needs.
//!
//! Thousands of pairs of subgroup and action share few sets of changes (on Adult 104,232 pairs have
//! 1,327), and whether a change helps depends on the row and the changes only. So 48 million pairs
//! of row and action come down to 2.5 million queries, and to a million where equal changed rows
//! are queried once ([`DistinctRows`]): worthwhile for trees and external models, not for linear
//! models.

use rayon::prelude::*;

use crate::error::Result;
use crate::num::bits;
use crate::num::hash::FastMap;
use crate::num::seed::{h, sm};
use crate::recourse::actions::RecoursePlan;
use crate::recourse::feature::RecourseFeature;

/// Rows per query of a model.
const BATCH: usize = 65_536;

/// A new level of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelChange {
    /// Position in [`AuditedRows::features`](crate::recourse::AuditedRows::features).
    pub feature: usize,
    /// The new level. A model that reads numbers gets its entry in
    /// [`ModelNumbers::targets`](crate::recourse::feature::ModelNumbers::targets).
    pub level: u32,
}

/// A model with its threshold.
pub trait DecisionModel: Sync {
    /// Appends for each of these audited rows whether its decision is favourable when changed.
    ///
    /// # Errors
    /// The rows cannot be scored, or the run is stopped.
    fn decide(
        &self,
        rows: &[u32],
        changes: &[LevelChange],
        favourable: &mut Vec<bool>,
    ) -> Result<()>;
}

/// Sets of affected rows, one per set of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSets {
    words: usize,
    bits: Vec<u64>,
}

impl RowSets {
    fn empty(plan: &RecoursePlan<'_>) -> RowSets {
        let words = plan.population.words();
        RowSets { words, bits: vec![0; words * plan.n_changes()] }
    }

    /// The rows of a set of changes.
    pub(super) fn rows_of(&self, change: usize) -> &[u64] {
        &self.bits[change * self.words..(change + 1) * self.words]
    }

    /// Number of pairs of row and set of changes.
    pub fn n_pairs(&self) -> usize {
        bits::count(&self.bits) as usize
    }
}

impl RecoursePlan<'_> {
    /// The set of changes with this number.
    pub fn change_set(&self, change: usize) -> Vec<LevelChange> {
        let change_of = |&item: &u32| LevelChange {
            feature: self.items.original_positions[self.items.feature(item) as usize],
            level: self.items.level(item),
        };
        self.changes[change].iter().map(change_of).collect()
    }

    /// The affected rows for which each set of changes has to be tried.
    ///
    /// They are the rows of all subgroups that have an action with that set.
    pub fn needed(&self) -> RowSets {
        let mut needed = RowSets::empty(self);
        let words = needed.words;
        let mut own = Vec::new();
        for subgroup in 0..self.n_subgroups() {
            let actions = self.actions(subgroup);
            if !actions.is_empty() {
                self.item_rows.rows_with_all(self.subgroups.items_of(subgroup), &mut own);
                for &change in &self.change_of[actions] {
                    let start = change as usize * words;
                    bits::or(&mut needed.bits[start..start + words], &own);
                }
            }
        }
        needed
    }

    /// The audited rows for which a set of changes has to be tried.
    pub fn rows_needed(&self, needed: &RowSets, change: usize) -> Vec<u32> {
        bits::ones(needed.rows_of(change)).filter_map(|bit| self.population.affected[bit]).collect()
    }

    /// Queries the model about every needed pair of row and set of changes.
    ///
    /// # Errors
    /// The errors of the model.
    pub fn query_model(&self, needed: &RowSets, model: &impl DecisionModel) -> Result<RowSets> {
        let answers = |change: usize| -> Result<Vec<u64>> {
            let mut favourable = Vec::new();
            let rows = self.rows_needed(needed, change);
            let changes = self.change_set(change);
            for batch in rows.chunks(BATCH) {
                model.decide(batch, &changes, &mut favourable)?;
            }
            debug_assert_eq!(favourable.len(), rows.len(), "one answer per row");
            let mut helped = vec![0; needed.words];
            for (bit, helps) in bits::ones(needed.rows_of(change)).zip(favourable) {
                if helps {
                    bits::set(&mut helped, bit);
                }
            }
            Ok(helped)
        };
        let answers: Vec<Vec<u64>> =
            (0..self.n_changes()).into_par_iter().map(answers).collect::<Result<_>>()?;
        Ok(RowSets { words: needed.words, bits: answers.concat() })
    }
}

/// The distinct changed rows, by what the model reads; each is given by one pair that makes it.
#[derive(Debug)]
pub struct DistinctRows {
    /// Audited row and set of changes.
    ///
    /// Sorted by set of changes, then by row in order of first need.
    pub rows: Vec<(u32, u32)>,
    /// For each needed pair, in order of sets of changes, the position in `rows`.
    of_pair: Vec<u32>,
}

impl DistinctRows {
    /// Finds the distinct changed rows among the needed ones.
    pub fn new(plan: &RecoursePlan<'_>, needed: &RowSets) -> DistinctRows {
        let known = EncodedRows::new(plan);
        let mut made: FastMap<u64, u32> = FastMap::default();
        let mut distinct =
            DistinctRows { rows: Vec::new(), of_pair: Vec::with_capacity(needed.n_pairs()) };
        for change in 0..plan.n_changes() as u32 {
            for row in plan.rows_needed(needed, change as usize) {
                let mut key = known.hash(row, change);
                let id = loop {
                    match made.get(&key) {
                        None => {
                            let id = distinct.rows.len() as u32;
                            distinct.rows.push((row, change));
                            made.insert(key, id);
                            break id;
                        }
                        Some(&id) if known.same(distinct.rows[id as usize], (row, change)) => {
                            break id;
                        }
                        // Another row has the same hash: try the next place.
                        Some(_) => key = sm(key),
                    }
                };
                distinct.of_pair.push(id);
            }
        }
        distinct
    }

    /// Expands the decisions about the distinct rows, in their order, to all needed pairs.
    pub fn answers(
        &self,
        plan: &RecoursePlan<'_>,
        needed: &RowSets,
        favourable: &[bool],
    ) -> RowSets {
        let mut helped = RowSets::empty(plan);
        let mut pairs = self.of_pair.iter();
        for change in 0..plan.n_changes() {
            let own = &mut helped.bits[change * needed.words..(change + 1) * needed.words];
            for (bit, &id) in bits::ones(needed.rows_of(change)).zip(&mut pairs) {
                if favourable[id as usize] {
                    bits::set(own, bit);
                }
            }
        }
        helped
    }
}

/// What the model reads of rows and of changed rows, as numbers that are equal for equal values.
struct EncodedRows {
    width: usize,
    /// Row by row: one number per column, then one for everything else.
    values: Vec<u32>,
    /// The term that each of these numbers adds to the hash of its row.
    marks: Vec<u64>,
    hashes: Vec<u64>,
    /// For each set of changes the new value of each column, or [`UNCHANGED`].
    new: Vec<u32>,
    /// For each set of changes its columns, and the sum of the hash terms of their new values.
    changes: Vec<(Vec<usize>, u64)>,
}

/// Marks an unchanged column; values are numbered from 0 and never reach this number.
const UNCHANGED: u32 = u32::MAX;

impl EncodedRows {
    fn new(plan: &RecoursePlan<'_>) -> Self {
        let n = plan.audited.favourable.len();
        let width = plan.items.features.len() + 1;
        let mut values = vec![0; n * width];
        let mut targets = Vec::new();
        for (f, feature) in plan.items.features.iter().enumerate() {
            let (own, target) = numbered(feature);
            own.iter().enumerate().for_each(|(row, &value)| values[row * width + f] = value);
            targets.push(target);
        }
        plan.audited
            .others
            .iter()
            .enumerate()
            .for_each(|(row, &other)| values[row * width + width - 1] = other);
        let marks: Vec<u64> =
            values.iter().enumerate().map(|(i, &value)| mark(i % width, value)).collect();
        let hashes = marks
            .chunks(width)
            .map(|marks| marks.iter().fold(0, |hash, mark| hash ^ mark))
            .collect();
        let mut new = vec![UNCHANGED; plan.n_changes() * width];
        let mut changes = Vec::new();
        for (items, new) in plan.changes.iter().zip(new.chunks_mut(width)) {
            let (mut columns, mut come) = (Vec::new(), 0);
            for &item in items {
                let (f, level) = (plan.items.feature(item) as usize, plan.items.level(item));
                new[f] = targets[f].as_ref().map_or(level, |targets| targets[level as usize]);
                columns.push(f);
                come ^= mark(f, new[f]);
            }
            changes.push((columns, come));
        }
        EncodedRows { width, values, marks, hashes, new, changes }
    }

    /// The hash of the changed row from the hash of the row: terms of old values are replaced by
    /// terms of new values.
    fn hash(&self, row: u32, change: u32) -> u64 {
        let (columns, come) = &self.changes[change as usize];
        let start = row as usize * self.width;
        columns
            .iter()
            .fold(self.hashes[row as usize] ^ come, |hash, f| hash ^ self.marks[start + f])
    }

    /// Whether two changed rows agree in all values.
    fn same(&self, a: (u32, u32), b: (u32, u32)) -> bool {
        let own = |(row, change): (u32, u32)| {
            let old = &self.values[row as usize * self.width..][..self.width];
            let new = &self.new[change as usize * self.width..][..self.width];
            old.iter().zip(new).map(|(&old, &new)| if new == UNCHANGED { old } else { new })
        };
        own(a).eq(own(b))
    }
}

/// The term that a value of a column adds to the hash of its row.
fn mark(feature: usize, value: u32) -> u64 {
    h(0, feature as u64, u64::from(value))
}

/// Numbers for the values of a column that the model reads.
///
/// The second list holds those for the targets of its levels, where these are not the levels
/// themselves.
fn numbered(feature: &RecourseFeature) -> (Vec<u32>, Option<Vec<u32>>) {
    let Some(behind) = &feature.model_numbers else { return (feature.codes.clone(), None) };
    let mut known: FastMap<u64, u32> = FastMap::default();
    let mut number = |x: f64| {
        let next = known.len() as u32;
        *known.entry(if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }).or_insert(next)
    };
    let own = behind.numbers.iter().map(|&x| number(x)).collect();
    (own, Some(behind.targets.iter().map(|&x| number(x)).collect()))
}
