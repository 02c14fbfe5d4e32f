//! The rows of two models, or of two runs, counted by both predictions: the evidence for
//! differences between their values.
//!
//! A row counts in cells: a place (its group, or the direction of a counterfactual) with its cell
//! of the matrix under the first model and under the second; a cell is none if that model does not
//! score the row. Rows that count in the same cells are one kind; the units of each model
//! keep the number of the kind as their key, so that the keys of both sides agree and correlations
//! follow ([`influence`](crate::metric::estimate::influence)). Where a person may have several
//! rows, the key is the person's. Any partition of the rows gives the same.
//!
//! Memory: one entry for each kind of rows; with persons one for each person and cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::metric::evidence::additive::additive;
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::person::ECCM_CELLS;
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::units::{UnitKind, UnitSums, WeightSums};
use crate::num::additive::Additive;

/// The number of results of a side: none, or one of the cells of its matrix.
const STATES: usize = 1 + ECCM_CELLS;

/// A place and the results of both sides there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairedCell {
    /// The group, or from * groups + to.
    pub(crate) place: usize,
    /// The cell of the matrix under each of the two; none if the model does not score the row.
    pub(crate) cells: [Option<usize>; 2],
}

impl PairedCell {
    fn code(self) -> u32 {
        let [first, second] = self.cells.map(|cell| cell.map_or(0, |cell| 1 + cell));
        ((self.place * STATES + first) * STATES + second) as u32
    }

    fn of_code(code: u32) -> Self {
        let code = code as usize;
        let cells = [code / STATES % STATES, code % STATES].map(|state| state.checked_sub(1));
        PairedCell { place: code / (STATES * STATES), cells }
    }
}

/// The rows of two models by the results of both; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PairedCounts {
    /// Number of groups.
    pub(crate) groups: usize,
    weighted: bool,
    /// Rows by the cells in which they count, each with its number, ascending.
    #[serde(with = "map_as_list")]
    kinds: BTreeMap<Vec<(u32, u32)>, WeightSums>,
    /// The weight of each person's rows, by person and cell. None if each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<1>>,
}

impl PairedCounts {
    /// Empty counts for a number of groups.
    pub(crate) fn new(groups: usize, unit: CountingUnit) -> Self {
        PairedCounts {
            groups,
            weighted: unit.weighted,
            kinds: BTreeMap::new(),
            persons: unit.persons.then(PersonCells::new),
        }
    }

    /// Adds a row with its weight in units (1 without weights). `key` is the key of the person.
    /// Cells that neither side scores are ignored.
    pub(crate) fn add(
        &mut self,
        (key, weight): (u64, u64),
        cells: impl IntoIterator<Item = PairedCell>,
    ) {
        if weight == 0 {
            return;
        }
        let scored = cells.into_iter().filter(|cell| cell.cells != [None; 2]);
        let mut filled: Vec<(u32, u32)> = scored.map(|cell| (cell.code(), 1)).collect();
        if filled.is_empty() {
            return;
        }
        filled.sort_unstable();
        filled.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += u32::from(same);
            same
        });
        if let Some(persons) = &mut self.persons {
            for &(code, n) in &filled {
                persons.at(key, code as usize)[0] += u64::from(n) * weight;
            }
        }
        match self.kinds.get_mut(filled.as_slice()) {
            Some(sums) => *sums += WeightSums::one(weight),
            None => _ = self.kinds.insert(filled, WeightSums::one(weight)),
        }
    }

    /// The units with a row at places that satisfy a condition, by the results of both sides there;
    /// see [`results_of`].
    pub(crate) fn units(&self, holds: impl Fn(usize) -> bool) -> UnitSums {
        let cell_at = |code: usize| holds(code / PAIRED_CELLS).then_some(code % PAIRED_CELLS);
        let kinds = (0..).zip(&self.kinds).map(|(key, (cells, sums))| {
            let cells =
                cells.iter().filter_map(|&(code, n)| Some((cell_at(code as usize)?, n.into())));
            UnitKind { key, cells: cells.collect(), sums: *sums }
        });
        let kinds = kinds.filter(|kind| !kind.cells.is_empty()).collect();
        let persons = self.persons.as_ref().map(|persons| persons.units(|code, _| cell_at(code)));
        UnitSums::new(PAIRED_CELLS, self.weighted, kinds, persons)
    }
}

additive!(accumulated PairedCounts { kinds, persons });

/// The number of pairs of results.
pub(crate) const PAIRED_CELLS: usize = STATES * STATES;

/// The results of the two sides in one of these cells: none, or a cell of their matrix.
pub(crate) fn results_of(cell: usize) -> [Option<usize>; 2] {
    PairedCell::of_code(cell as u32).cells
}

/// The units of one side, 0 or 1, by the cells of its matrix.
pub(crate) fn units_of_side(units: &UnitSums, side: usize, cells: usize) -> UnitSums {
    units.mapped(cells, |cell| results_of(cell)[side].filter(|cell| *cell < cells))
}

#[cfg(test)]
mod tests {
    use super::{PairedCell, PairedCounts, results_of, units_of_side};
    use crate::exec::accumulator::Accumulator;
    use crate::metric::evidence::counting_unit::CountingUnit;
    use crate::num::seed::h;

    /// Rows in two places under two models; one in seven is not scored by one of them.
    fn row(i: u64) -> Vec<PairedCell> {
        let cell = |n: u64| {
            let drawn = |m: u64| h(n, i, m);
            let known = |m: u64| (drawn(m) % 7 > 0).then_some((drawn(m + 2) % 12) as usize);
            PairedCell { place: (i % 2) as usize, cells: [known(0), known(1)] }
        };
        (0..1 + i % 3).map(cell).collect()
    }

    fn gather(unit: CountingUnit, rows: impl Iterator<Item = u64>) -> PairedCounts {
        let mut counts = PairedCounts::new(2, unit);
        rows.for_each(|i| counts.add((i % 40, 1 + i % 3), row(i)));
        counts
    }

    #[test]
    fn any_partition_gives_the_same() {
        for unit in [CountingUnit::ROW, CountingUnit::WEIGHTED_PERSON] {
            let whole = gather(unit, 0..500);
            let mut merged = PairedCounts::new(2, unit);
            for part in (0..7).rev() {
                let rows = (0..500).filter(|i| h(3, *i, 0) % 7 == part);
                let part = serde_json::to_string(&gather(unit, rows)).unwrap();
                merged.merge(serde_json::from_str(&part).unwrap());
            }
            assert_eq!(merged, whole);
            assert_eq!(
                serde_json::to_string(&merged).unwrap(),
                serde_json::to_string(&whole).unwrap()
            );
        }
    }

    /// The units of a side are those of its rows, and have the same keys as those of the other
    /// side.
    #[test]
    fn sides_are_the_rows_of_each() {
        let counts = gather(CountingUnit::WEIGHTED_PERSON, 0..500);
        let units = counts.units(|place| place == 1);
        for side in [0, 1] {
            let (mut weight, mut rows) = ([0; 12], 0);
            for i in (0..500).filter(|i| i % 2 == 1) {
                let filled: Vec<usize> = row(i).iter().filter_map(|c| c.cells[side]).collect();
                filled.iter().for_each(|&cell| weight[cell] += 1 + i % 3);
                rows += u64::from(!filled.is_empty());
            }
            let found = units_of_side(&units, side, 12);
            assert_eq!((found.weight(), found.n_rows(|_| true)), (weight, rows));
            assert!(found.kinds().iter().all(|kind| kind.key % 2 == 1 && kind.key < 40));
        }
        let both =
            units.mapped(1, |cell| results_of(cell).iter().all(Option::is_some).then_some(0));
        let expected: u64 = (0..500)
            .filter(|i| i % 2 == 1)
            .map(|i| {
                let both = |c: &&PairedCell| c.cells[0].is_some() && c.cells[1].is_some();
                row(i).iter().filter(both).count() as u64 * (1 + i % 3)
            })
            .sum();
        assert_eq!(both.weight(), [expected]);
    }

    #[test]
    fn what_weighs_nothing_or_is_not_scored_is_not_there() {
        let mut counts = PairedCounts::new(2, CountingUnit::WEIGHTED_PERSON);
        counts.add((1, 0), [PairedCell { place: 0, cells: [Some(1), Some(2)] }]);
        counts.add((1, 5), [PairedCell { place: 0, cells: [None, None] }]);
        assert_eq!(counts, PairedCounts::new(2, CountingUnit::WEIGHTED_PERSON));
    }
}
