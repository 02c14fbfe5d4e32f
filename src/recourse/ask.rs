//! The changed rows that a model is queried about: each row once per set of changes that a subgroup
//! of it needs.
//!
//! Thousands of pairs of subgroup and action share few sets of changes (on Adult 104,232 pairs have
//! 1,327), and whether a change helps depends on the row and the changes only. So 48 million pairs
//! of row and action come down to 2.5 million queries, and to a million where equal changed rows
//! are queried once: worthwhile for trees and external models, not for linear models.

use rayon::prelude::*;

use crate::error::Result;
use crate::num::bits;
use crate::recourse::actions::RecoursePlan;

/// A new level of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelChange {
    /// Position in [`AuditedRows::features`](crate::recourse::AuditedRows::features).
    pub feature: usize,
    /// The new level.
    pub level: u32,
}

/// Sets of affected rows, one per set of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowSets {
    words: usize,
    bits: Vec<u64>,
}

impl RowSets {
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
        self.found.changes[change].iter().map(change_of).collect()
    }

    /// The affected rows for which each set of changes has to be tried.
    ///
    /// They are the rows of all subgroups that have an action with that set.
    pub fn needed(&self) -> RowSets {
        let words = self.population.words();
        let mut needed = RowSets { words, bits: vec![0; words * self.n_changes()] };
        let mut own = Vec::new();
        for subgroup in 0..self.n_subgroups() {
            let actions = self.actions(subgroup);
            if !actions.is_empty() {
                self.item_rows.rows_with_all(self.subgroups.items_of(subgroup), &mut own);
                for &change in &self.found.change_of[actions] {
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

    /// The affected rows that each set of changes helps: `helps` says about the rows for which a set
    /// of this number has to be tried whether it helps them.
    ///
    /// # Errors
    /// Those of `helps`.
    pub fn helped(
        &self,
        needed: &RowSets,
        helps: impl Fn(usize, &[u32]) -> Result<Vec<bool>> + Sync,
    ) -> Result<RowSets> {
        let answers = |change: usize| -> Result<Vec<u64>> {
            let rows = self.rows_needed(needed, change);
            let answers = helps(change, &rows)?;
            debug_assert_eq!(answers.len(), rows.len(), "one answer per row");
            let mut helped = vec![0; needed.words];
            for (bit, helps) in bits::ones(needed.rows_of(change)).zip(answers) {
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
