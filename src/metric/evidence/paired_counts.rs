//! The rows of two models, or of two runs, by what both say: the one evidence of how far their
//! values are apart.
//!
//! A row fills cells: a place (its group; of counterfactuals the direction) with the cell of the
//! matrix that it fills under the first model and the one under the second, each none where that
//! model does not score it. Rows that fill the same cells are one kind; what is the first model's
//! alone keeps the number of the kind, so that the units of both sides have the same keys and
//! correlations follow ([`influence`](crate::metric::estimate::influence)). Where a person may have
//! several rows, the key is the person's. Any partition of the rows gives the same.
//!
//! Memory: one entry for each kind of rows; with persons one for each person and cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::exec::accumulator::map_as_list;
use crate::metric::evidence::additive::{Additive, additive};
use crate::metric::evidence::counting_unit::CountingUnit;
use crate::metric::evidence::person::ECCM_CELLS;
use crate::metric::evidence::person_sums::PersonCells;
use crate::metric::evidence::units::{
    MatrixUnits, UnitKind, UnitSums, WeightSums, units_of_persons,
};

/// What a side says: none, or one of the cells of its matrix.
const STATES: usize = 1 + ECCM_CELLS;

/// A place and what both sides say there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairedCell {
    /// The group, or from * groups + to.
    pub(crate) place: usize,
    /// The cell of the matrix under each of the two; none where it does not score the row.
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

/// The rows of two models by what both say; mergeable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PairedCounts {
    groups: usize,
    weighted: bool,
    /// Rows by the cells that one of them fills, each with how often, ascending.
    #[serde(with = "map_as_list")]
    kinds: BTreeMap<Vec<(u32, u32)>, WeightSums>,
    /// What the rows of each person weigh, by person and cell. None where each row is a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    persons: Option<PersonCells<1>>,
}

impl PairedCounts {
    /// Nobody yet, for this number of groups.
    pub(crate) fn new(groups: usize, unit: CountingUnit) -> Self {
        PairedCounts {
            groups,
            weighted: unit.weighted,
            kinds: BTreeMap::new(),
            persons: unit.persons.then(PersonCells::new),
        }
    }

    /// Number of groups.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Adds a row that weighs so many units (1 where nobody has a weight). `key` is the person's
    /// own. Cells that neither side scores are passed over.
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

    /// The rows of any scope. Sorts those of persons: ask once.
    pub(crate) fn scopes(&self) -> PairedScopes<'_> {
        let persons = self.persons.as_ref().map(|persons| {
            let mut all = Vec::new();
            persons.each(|(key, code), [weight]| all.push((key, code as u32, *weight)));
            all
        });
        PairedScopes { counts: self, persons }
    }
}

additive!(accumulated PairedCounts { kinds, persons });

/// The same rows, ready to be cut to scopes.
pub(crate) struct PairedScopes<'a> {
    counts: &'a PairedCounts,
    /// Person, cell and weight, in order.
    persons: Option<Vec<(u64, u32, u64)>>,
}

impl PairedScopes<'_> {
    /// The units with a row at the places that a condition holds of.
    pub(crate) fn units(&self, holds: impl Fn(usize) -> bool) -> PairedUnits {
        let here = |code: u32, n: u64| {
            let cell = PairedCell::of_code(code);
            holds(cell.place).then_some((code as usize % (STATES * STATES), n))
        };
        let mut kinds: Vec<MatrixUnits> = Vec::new();
        for (key, (cells, sums)) in (0..).zip(&self.counts.kinds) {
            let cells: Vec<_> =
                cells.iter().filter_map(|&(code, n)| here(code, u64::from(n))).collect();
            if !cells.is_empty() {
                kinds.push((key, cells, *sums));
            }
        }
        let persons = self.persons.as_ref().map(|persons| {
            let here = |&(key, code, weight): &(u64, u32, u64)| {
                here(code, weight).map(|(cell, weight)| (key, cell, weight))
            };
            units_of_persons(persons.iter().filter_map(here))
        });
        PairedUnits { kinds, persons, is_weighted: self.counts.weighted }
    }
}

/// The units of one scope by what both sides say.
pub(crate) struct PairedUnits {
    kinds: Vec<MatrixUnits>,
    /// What each person's rows weigh by cell, ascending by key.
    persons: Option<Vec<MatrixUnits>>,
    /// Whether people have weights.
    pub(crate) is_weighted: bool,
}

/// The cells of a matrix of N that each of the two sides fills, none or one.
fn cells_of(code: usize) -> [Option<usize>; 2] {
    PairedCell::of_code(code as u32).cells
}

impl PairedUnits {
    /// The cells that units fill, each as the sides name it.
    pub(crate) fn cells(&self) -> impl Iterator<Item = [Option<usize>; 2]> + '_ {
        self.kinds.iter().flat_map(|(_, cells, _)| cells).map(|&(code, _)| cells_of(code))
    }

    /// The units by cells that follow from those of both sides: `of` says what a row in the cells
    /// of the first and the second side counts in each. Units that count nowhere are left out.
    pub(crate) fn seen<const N: usize>(
        &self,
        of: impl Fn([Option<usize>; 2]) -> [u64; N],
    ) -> UnitSums<N> {
        let seen = |cells: &[(usize, u64)]| {
            let mut sum = [0; N];
            for &(code, n) in cells {
                sum.iter_mut().zip(of(cells_of(code))).for_each(|(sum, one)| *sum += n * one);
            }
            (sum != [0; N]).then_some(sum)
        };
        let kinds = self.kinds.iter().filter_map(|(key, cells, sums)| {
            Some(UnitKind { key: *key, cells: seen(cells)?, sums: *sums })
        });
        let persons = self.persons.as_ref().map(|persons| {
            persons.iter().filter_map(|(key, cells, _)| Some((*key, seen(cells)?))).collect()
        });
        UnitSums::new(kinds.collect(), persons)
    }

    /// The units of one side, 0 or 1, by the cells of its matrix.
    pub(crate) fn side<const N: usize>(&self, side: usize) -> UnitSums<N> {
        self.seen(|cells| {
            let mut one = [0; N];
            if let Some(cell) = cells[side].and_then(|cell| one.get_mut(cell)) {
                *cell = 1;
            }
            one
        })
    }

    /// Rows, not persons, that fill a cell of one side of which a condition holds.
    pub(crate) fn rows(&self, side: usize, holds: impl Fn(usize) -> bool) -> u64 {
        let is_in = |cells: &[(usize, u64)]| {
            cells.iter().any(|&(code, _)| cells_of(code)[side].is_some_and(&holds))
        };
        let held = self.kinds.iter().filter(|(_, cells, _)| is_in(cells));
        held.map(|(_, _, sums)| sums.people()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::{PairedCell, PairedCounts};
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

    /// The units of a side are those of its rows alone, and share their keys with the other side.
    #[test]
    fn sides_are_the_rows_of_each() {
        let counts = gather(CountingUnit::WEIGHTED_PERSON, 0..500);
        let units = counts.scopes().units(|place| place == 1);
        for side in [0, 1] {
            let (mut weight, mut rows) = ([0; 12], 0);
            for i in (0..500).filter(|i| i % 2 == 1) {
                let filled: Vec<usize> = row(i).iter().filter_map(|c| c.cells[side]).collect();
                filled.iter().for_each(|&cell| weight[cell] += 1 + i % 3);
                rows += u64::from(!filled.is_empty());
            }
            let found = units.side::<12>(side);
            assert_eq!((found.weight(), units.rows(side, |_| true)), (weight, rows));
            assert!(found.kinds().iter().all(|kind| kind.key % 2 == 1 && kind.key < 40));
        }
        let both = units.seen(|[one, other]| [u64::from(one.is_some() && other.is_some())]);
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
