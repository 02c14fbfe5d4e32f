//! The rows that preparing leaves out, by state and by the group that they have before any filter.
//!
//! Each group that the job declares is counted. Of other words each of the first hundred in byte
//! order is counted, and the rest together: whatever the partition of the rows, a word that is
//! among the first hundred of all is among the first hundred of each part, so its count is
//! complete.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::data::prepare::plan::{AttributePlan, PreparePlan};
use crate::data::prepare::tally::LeftOut;
use crate::data::source::SourceSlice;
use crate::num::additive::{Additive, additive};
use crate::num::fixed::FixedSum;

/// Undeclared groups that are counted one by one.
const MOST_NAMED: usize = 100;

/// Undeclared groups by their words, given all of them: those that are counted each, in byte order,
/// and the others.
pub(crate) fn first_named<'a, T>(
    groups: impl IntoIterator<Item = (&'a str, T)>,
) -> (Vec<(&'a str, T)>, Vec<T>) {
    let mut named: Vec<(&'a str, T)> = groups.into_iter().collect();
    named.sort_by_key(|(word, _)| *word);
    let others = named.split_off(named.len().min(MOST_NAMED));
    (named, others.into_iter().map(|(_, of)| of).collect())
}

/// The positions in a slice of the rows that are left out, by [`LeftOut`].
pub(crate) type LostRows = [Vec<usize>; LeftOut::ALL.len()];

/// Rows of one group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowTally {
    /// How many they are.
    pub(crate) rows: u64,
    /// Their weight; none without weights in the job, or where a row has no weight of 0 or more.
    pub(crate) weight: FixedSum,
    /// How many of them have no label.
    pub(crate) without_label: u64,
}

impl RowTally {
    /// Adds a row.
    pub(crate) fn add(&mut self, weight: f64, lacks_label: bool) {
        self.rows += 1;
        if weight.is_finite() && weight > 0.0 {
            self.weight.add_wide(weight);
        }
        self.without_label += u64::from(lacks_label);
    }
}

additive!(RowTally { rows, weight, without_label });

/// Rows by the groups of one attribute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupTallies {
    /// Rows without a group.
    none: RowTally,
    /// By declared group, in the order of the job.
    declared: Vec<RowTally>,
    /// By other words, at most [`MOST_NAMED`].
    undeclared: BTreeMap<String, RowTally>,
    /// Rows of the words after these.
    others: RowTally,
}

/// A group as the table `population` names it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CountedGroup {
    /// Its name; none for rows without a group, empty for all undeclared groups that have no name
    /// here.
    pub(crate) group: Option<String>,
    /// Whether the job declares it.
    pub(crate) declared: bool,
    /// Its rows.
    pub(crate) tally: RowTally,
}

impl GroupTallies {
    /// Adds rows of an undeclared group.
    pub(crate) fn add_undeclared(&mut self, word: &str, rows: &RowTally) {
        self.undeclared.entry(word.to_owned()).or_default().absorb(rows);
        while self.undeclared.len() > MOST_NAMED {
            if let Some((_, last)) = self.undeclared.pop_last() {
                self.others.absorb(&last);
            }
        }
    }

    /// Adds rows of a declared group.
    pub(crate) fn add_declared(&mut self, group: usize, rows: &RowTally) {
        if self.declared.len() <= group {
            self.declared.resize(group + 1, RowTally::default());
        }
        self.declared[group].absorb(rows);
    }

    /// The groups that have rows; `names` are those that the job declares.
    pub(crate) fn groups(&self, names: &[String]) -> Vec<CountedGroup> {
        let of = |group: Option<&str>, declared, tally: &RowTally| CountedGroup {
            group: group.map(str::to_owned),
            declared,
            tally: *tally,
        };
        let declared = names.iter().zip(&self.declared);
        let declared = declared.map(|(name, rows)| of(Some(name), true, rows));
        let others = self.undeclared.iter().map(|(word, rows)| of(Some(word), false, rows));
        let rest = [of(Some(""), false, &self.others), of(None, false, &self.none)];
        declared.chain(others).chain(rest).filter(|of| of.tally.rows > 0).collect()
    }
}

impl Additive for GroupTallies {
    fn absorb(&mut self, other: &Self) {
        self.none.absorb(&other.none);
        self.declared.absorb(&other.declared);
        other.undeclared.iter().for_each(|(word, rows)| self.add_undeclared(word, rows));
        self.others.absorb(&other.others);
    }
}

/// The rows that are left out, by [`LeftOut`] and attribute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LeftOutRows([Vec<GroupTallies>; LeftOut::ALL.len()]);

impl Additive for LeftOutRows {
    fn absorb(&mut self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

impl LeftOutRows {
    /// Counts the rows of a slice that are left out.
    pub(crate) fn of_slice(plan: &PreparePlan<'_>, slice: &SourceSlice, lost: &LostRows) -> Self {
        if lost.iter().all(Vec::is_empty) {
            return LeftOutRows::default();
        }
        let label = plan.label.as_ref().map(|label| &slice.columns[label.column]);
        let weights = plan.weight.map(|column| &slice.columns[column]);
        let mut found = LeftOutRows::default();
        for attribute in &plan.attributes {
            let AttributePlan { groups, feature, .. } = attribute;
            let values = &slice.columns[plan.features[*feature].column];
            let column = &plan.view.columns[plan.features[*feature].column];
            let distinct = values.distinct();
            let number: HashMap<&str, usize> =
                groups.iter().map(|(_, word)| word).zip(0..).collect();
            for (rows, tallies) in lost.iter().zip(&mut found.0) {
                let mut by_value = vec![RowTally::default(); distinct.counts.len()];
                for &i in rows {
                    let weight = weights.map_or(0.0, |weights| weights.number(i));
                    let lacks_label = label.is_some_and(|label| label.is_null(i));
                    by_value[distinct.ids[i] as usize].add(weight, lacks_label);
                }
                let mut all = GroupTallies::default();
                all.none.absorb(&by_value[0]);
                for &(id, i) in &distinct.first {
                    let (rows, word) = (&by_value[id as usize], values.word(i));
                    if rows.rows == 0 {
                        continue;
                    }
                    let Some(word) = word.as_deref().map(|word| column.canonical(word)) else {
                        all.none.absorb(rows);
                        continue;
                    };
                    match number.get(&*word) {
                        Some(&group) => all.add_declared(group, rows),
                        None => all.add_undeclared(&word, rows),
                    }
                }
                tallies.push(all);
            }
        }
        found
    }

    /// Each state with each attribute, by its position, and the groups that have rows there.
    pub(crate) fn groups(
        &self,
        plan: &PreparePlan<'_>,
    ) -> Vec<(LeftOut, String, Vec<CountedGroup>)> {
        let of = |(state, tallies): (LeftOut, &Vec<GroupTallies>)| {
            let attributes = plan.attributes.iter().zip(tallies);
            let named = attributes.map(|(attribute, tallies)| {
                (state, attribute.name.clone(), tallies.groups(&attribute.groups.written()))
            });
            named.collect::<Vec<_>>()
        };
        LeftOut::ALL.into_iter().zip(&self.0).flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{GroupTallies, MOST_NAMED, RowTally};
    use crate::num::additive::Additive;

    fn tally(rows: u64) -> RowTally {
        let mut tally = RowTally::default();
        (0..rows).for_each(|i| tally.add(0.5, i == 0));
        tally
    }

    /// However the rows are cut, the same hundred words are named, with all of their rows.
    #[test]
    fn the_first_hundred_words_are_named_whatever_the_partition() {
        let words: Vec<String> = (0..300).map(|i| format!("w{:03}", i * 7 % 300)).collect();
        let mut whole = GroupTallies::default();
        words.iter().for_each(|word| whole.add_undeclared(word, &tally(2)));
        words.iter().rev().for_each(|word| whole.add_undeclared(word, &tally(1)));
        whole.add_declared(1, &tally(4));
        let mut parts = vec![GroupTallies::default(); 7];
        for (i, word) in words.iter().enumerate() {
            parts[i % 7].add_undeclared(word, &tally(1));
            parts[(i * i) % 7].add_undeclared(word, &tally(2));
        }
        parts[3].add_declared(1, &tally(4));
        let mut merged = GroupTallies::default();
        parts.iter().rev().for_each(|part| merged.absorb(part));
        let names = ["a".to_owned(), "b".to_owned()];
        let found = merged.groups(&names);
        let rows = |of: &[super::CountedGroup]| -> Vec<(Option<String>, bool, u64)> {
            of.iter().map(|of| (of.group.clone(), of.declared, of.tally.rows)).collect()
        };
        assert_eq!(rows(&found), rows(&whole.groups(&names)));
        assert_eq!(found.len(), 1 + MOST_NAMED + 1);
        assert_eq!(
            found[0],
            super::CountedGroup { group: Some("b".to_owned()), declared: true, tally: tally(4) }
        );
        assert_eq!(found.iter().map(|of| of.tally.rows).sum::<u64>(), 4 + 900);
        assert!(found[1..=MOST_NAMED].iter().all(|of| of.tally.rows == 3));
    }
}
