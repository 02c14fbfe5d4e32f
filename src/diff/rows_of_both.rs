//! The decisions of both runs about the same rows: those of the old run, which is read first, are
//! kept row by row, and looked up while the new one is read.
//!
//! A row of the new run is one of the old run if the key of the row, its weight and its person are
//! the same; otherwise each is a row only of its own run. Group, label and decisions may differ.
//! Counterfactuals are the same by direction and number.
//!
//! Memory: 32 bytes a row and model and 16 a row and set of the old run, by the load of the table;
//! decisions are numbers of a list of all that occur.

use std::collections::BTreeMap;

use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::paired_counts::{PairedCell, PairedCounts};
use crate::metric::evidence::person::{
    ScoredCounterfactual, ScoredPerson, cell_index, confusion_cell,
};
use crate::num::hash::FastMap;

/// Model, attribute and set.
pub(super) type OutcomeSetKey = [String; 3];

/// A person with all their counterfactuals of one set under one model.
pub(super) struct PersonOutcomes {
    pub(super) place: OutcomeSetKey,
    pub(super) key: u64,
    /// Whose row it is; the row itself where each row is a person.
    pub(super) unit: u64,
    pub(super) has_person: bool,
    /// Groups of the attribute.
    pub(super) n: usize,
    pub(super) person: ScoredPerson,
    /// The score in the numbers of its scale.
    pub(super) score: Option<f64>,
    pub(super) counterfactuals: Vec<ScoredCounterfactual>,
    /// Their numbers.
    pub(super) indices: Vec<i64>,
}

/// What is decided of a row: place, number of the counterfactual, and the cell of the matrix, in
/// order.
type Decisions = Vec<(u32, i64, u8)>;

/// A row of the old run.
struct OldRow {
    /// Whose it is.
    unit: u64,
    weight: u64,
    /// Number of its decisions.
    decisions: u32,
    is_in_both: bool,
}

/// The rows of the old run under one model and attribute.
#[derive(Default)]
struct OldRows {
    numbers: FastMap<Decisions, u32>,
    decisions: Vec<Decisions>,
    rows: FastMap<u64, OldRow>,
    /// By set the numbers of the decisions; rows that are in both leave.
    sets: BTreeMap<String, FastMap<u64, u32>>,
}

impl OldRows {
    fn number(&mut self, decisions: Decisions) -> u32 {
        let next = self.decisions.len() as u32;
        *self.numbers.entry(decisions).or_insert_with_key(|decisions| {
            self.decisions.push(decisions.clone());
            next
        })
    }

    fn of(&self, number: u32) -> &[(u32, i64, u8)] {
        self.decisions.get(number as usize).map_or(&[], Vec::as_slice)
    }
}

/// The rows of both runs under one model and attribute; the new run is the first side.
pub(super) struct RowsOfBoth {
    unit: CountingUnit,
    groups: usize,
    old: OldRows,
    pub(super) rows: PairedCounts,
    pub(super) sets: BTreeMap<String, PairedCounts>,
}

/// The decision about a row as it is.
fn row_decision(found: &PersonOutcomes) -> Decisions {
    let cell = |predicted| confusion_cell(found.person.label, predicted) as u8;
    let predicted = found.person.predicted;
    predicted.map(|predicted| (found.person.group as u32, 0, cell(predicted))).into_iter().collect()
}

/// The decisions about its counterfactuals of a set.
fn set_decisions(found: &PersonOutcomes) -> Decisions {
    let Some(predicted) = found.person.predicted else { return Decisions::new() };
    let counterfactuals = found.counterfactuals.iter().zip(&found.indices);
    let mut decisions: Decisions = counterfactuals
        .filter_map(|(moved, index)| {
            let place = found.person.group * found.n + moved.to;
            let cell = cell_index(found.person.label, predicted, moved.predicted?);
            Some((place as u32, *index, cell as u8))
        })
        .collect();
    decisions.sort_unstable();
    decisions
}

/// The cells that a row fills under both.
fn joined(new: &[(u32, i64, u8)], old: &[(u32, i64, u8)]) -> Vec<PairedCell> {
    let mut cells: BTreeMap<(u32, i64), Vec<[Option<usize>; 2]>> = BTreeMap::new();
    for &(place, index, cell) in new {
        cells.entry((place, index)).or_default().push([Some(usize::from(cell)), None]);
    }
    for &(place, index, cell) in old {
        let here = cells.entry((place, index)).or_default();
        match here.iter_mut().find(|cells| cells[1].is_none()) {
            Some(cells) => cells[1] = Some(usize::from(cell)),
            None => here.push([None, Some(usize::from(cell))]),
        }
    }
    let each = cells.into_iter().flat_map(|((place, _), cells)| {
        cells.into_iter().map(move |cells| PairedCell { place: place as usize, cells })
    });
    each.collect()
}

impl RowsOfBoth {
    /// No rows of so many groups.
    pub(super) fn new(groups: usize, unit: CountingUnit) -> Self {
        let (rows, sets) = (PairedCounts::new(groups, unit), BTreeMap::new());
        RowsOfBoth { unit, groups, old: OldRows::default(), rows, sets }
    }

    /// Keeps a row of the old run with its counterfactuals of one set; `is_new` where it was not
    /// met before.
    pub(super) fn keep_old(&mut self, found: &PersonOutcomes, is_new: bool) {
        let old = &mut self.old;
        if is_new {
            let decisions = old.number(row_decision(found));
            let (unit, weight) = (found.unit, found.person.weight);
            let row = OldRow { unit, weight, decisions, is_in_both: false };
            old.rows.insert(found.key, row);
        }
        let decisions = old.number(set_decisions(found));
        old.sets.entry(found.place[2].clone()).or_default().insert(found.key, decisions);
    }

    /// Adds a row of the new run with its counterfactuals of one set; `is_new` as for
    /// [`RowsOfBoth::keep_old`].
    pub(super) fn add_new(&mut self, found: &PersonOutcomes, is_new: bool) {
        let RowsOfBoth { unit, groups, old, rows, sets } = self;
        let row = (found.unit, found.person.weight);
        let is_same = |of: &&mut OldRow| (of.unit, of.weight) == row;
        let same = old.rows.get_mut(&found.key).filter(is_same);
        let same = same.map(|of| {
            of.is_in_both = true;
            of.decisions
        });
        if is_new {
            let before = same.map_or(&[][..], |number| old.of(number));
            rows.add(row, joined(&row_decision(found), before));
        }
        let set = found.place[2].as_str();
        let number = same.and_then(|_| old.sets.get_mut(set)?.remove(&found.key));
        let before = number.map_or(&[][..], |number| old.of(number));
        let cells = joined(&set_decisions(found), before);
        let counts = sets.entry(set.to_owned());
        counts.or_insert_with(|| PairedCounts::new(*groups, *unit)).add(row, cells);
    }

    /// Adds the rows that are only in the old run; the new one has been read.
    pub(super) fn finish(&mut self) {
        let old = std::mem::take(&mut self.old);
        for of in old.rows.values().filter(|of| !of.is_in_both) {
            self.rows.add((of.unit, of.weight), joined(&[], old.of(of.decisions)));
        }
        for (set, rows) in &old.sets {
            let counts = self.sets.entry(set.clone());
            let counts = counts.or_insert_with(|| PairedCounts::new(self.groups, self.unit));
            for (key, number) in rows {
                let Some(of) = old.rows.get(key) else { continue };
                counts.add((of.unit, of.weight), joined(&[], old.of(*number)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::evidence::paired_counts::{results_of, units_of_side};

    /// A row of two groups with one counterfactual.
    fn row(key: u64, group: usize, said: [bool; 2], weight: u64) -> PersonOutcomes {
        let person = ScoredPerson {
            weight,
            ..ScoredPerson::of(group, Some(key.is_multiple_of(2)), Some(said[0]), None)
        };
        let moved = ScoredCounterfactual::to(1 - group, Some(said[1]), None);
        PersonOutcomes {
            place: ["m", "sex", "flip"].map(str::to_owned),
            key,
            unit: key,
            has_person: false,
            n: 2,
            person,
            score: None,
            counterfactuals: vec![moved],
            indices: vec![0],
        }
    }

    /// Row 2 moves to the other group, row 3 has another weight, row 4 is gone and row 5 is new.
    #[test]
    fn rows_meet_by_key_weight_and_person() {
        let old = [
            row(1, 0, [true, true], 2),
            row(2, 0, [true, false], 2),
            row(3, 1, [false, false], 2),
            row(4, 1, [true, true], 2),
        ];
        let new = [
            row(1, 0, [false, true], 2),
            row(2, 1, [true, true], 2),
            row(3, 1, [false, true], 3),
            row(5, 1, [false, true], 2),
        ];
        let mut part = RowsOfBoth::new(2, CountingUnit { weighted: true, persons: false });
        old.iter().for_each(|found| part.keep_old(found, true));
        new.iter().for_each(|found| part.add_new(found, true));
        part.finish();
        let of = |counts: &crate::metric::evidence::paired_counts::PairedCounts, group: usize| {
            let units = counts.units(|place| place == group);
            let both =
                units.mapped(1, |cell| results_of(cell).iter().all(Option::is_some).then_some(0));
            [0, 1]
                .map(|side| units_of_side(&units, side, 12).weight::<12>().iter().sum::<u64>())
                .into_iter()
                .chain(both.weight::<1>())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&part.rows, 0), [2, 4, 2]);
        assert_eq!(of(&part.rows, 1), [7, 4, 0]);
        let flip = &part.sets["flip"];
        assert_eq!((of(flip, 1), of(flip, 2)), (vec![2, 4, 2], vec![7, 4, 0]));
        // Who moves to the other group is one unit of both.
        let kinds = |group: usize, side: usize| -> Vec<u64> {
            let units = part.rows.units(|place| place == group);
            units_of_side(&units, side, 6).kinds().iter().map(|kind| kind.key).collect()
        };
        assert!(kinds(0, 1).iter().any(|key| kinds(1, 0).contains(key)));
    }
}
