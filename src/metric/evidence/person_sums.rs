//! Persons with several rows: the sums of each person's rows, so that the person is the unit of
//! intervals.
//!
//! Rows of a person may be anywhere, in several groups and in several parts of a pass: sums by key
//! and place merge in any order. Memory: one entry for each person and place that the person has a
//! row in, so it grows with the number of persons; see [`memory`].

use std::ops::Range;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::metric::evidence::additive::additive;
use crate::metric::evidence::ccm_cells::any_cell;
use crate::metric::evidence::person::{
    ECCM_CELLS, ScoredCounterfactual, ScoredPerson, UNLABELLED, cell_index,
};
use crate::metric::evidence::units::{UnitKind, WeightSums, distinct};
use crate::num::additive::Additive;
use crate::num::hash::FastMap;

/// Counts or sums of N kinds by person and place; mergeable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PersonCells<const N: usize, T = u64>(FastMap<(u64, u32), [T; N]>);

impl<const N: usize, T: Copy + Default + Ord + Additive> PersonCells<N, T> {
    /// Empty.
    pub(crate) fn new() -> Self {
        PersonCells(FastMap::default())
    }

    /// The counts of a person at a place.
    pub(crate) fn at(&mut self, key: u64, place: usize) -> &mut [T; N] {
        self.0.entry((key, place as u32)).or_insert([T::default(); N])
    }

    /// For each of `n` places the persons there, ascending by key.
    pub(crate) fn by_place(&self, places: usize) -> Vec<Vec<(u64, [T; N])>> {
        let mut all = vec![Vec::new(); places];
        for (&(key, place), cells) in &self.0 {
            if let Some(of) = all.get_mut(place as usize) {
                of.push((key, *cells));
            }
        }
        all.iter_mut().for_each(|of| of.sort_unstable_by_key(|(key, _)| *key));
        all
    }

    /// The entries in order.
    fn entries(&self) -> Vec<((u64, u32), [T; N])> {
        let mut all: Vec<_> = self.0.iter().map(|(&at, &cells)| (at, cells)).collect();
        all.sort_unstable();
        all
    }
}

impl<const N: usize> PersonCells<N> {
    /// Persons with a row at some places and positions in their lists.
    pub(crate) fn n_persons(&self, held: impl Fn(usize, usize) -> bool) -> u64 {
        let is_there = |((_, place), sums): &(&(u64, u32), &[u64; N])| {
            (0..N).any(|i| sums[i] > 0 && held(*place as usize, i))
        };
        distinct(self.0.iter().filter(is_there).map(|((key, _), _)| *key))
    }

    /// Persons as units by other cells, ascending by key: `cell` maps a place and a position in its
    /// list to a cell, or to none if the rows do not count.
    pub(crate) fn units(&self, cell: impl Fn(usize, usize) -> Option<usize>) -> Vec<UnitKind> {
        let mut all: Vec<(u64, usize, u64)> = Vec::new();
        for (&(key, place), sums) in &self.0 {
            let filled = sums.iter().enumerate().filter(|(_, sum)| **sum > 0);
            all.extend(filled.filter_map(|(i, sum)| Some((key, cell(place as usize, i)?, *sum))));
        }
        all.sort_unstable();
        let persons = all.chunk_by(|a, b| a.0 == b.0);
        let person = |own: &[(u64, usize, u64)]| {
            let cells = own.chunk_by(|a, b| a.1 == b.1);
            let cells = cells.map(|same| (same[0].1, same.iter().map(|(.., sum)| sum).sum()));
            UnitKind { key: own[0].0, cells: cells.collect(), sums: WeightSums::ones(1) }
        };
        persons.map(person).collect()
    }
}

impl<const N: usize, T: Copy + Default + Ord + Additive> Additive for PersonCells<N, T> {
    fn absorb(&mut self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

/// The cells in the form that is written: entry by entry, in order.
#[derive(Serialize, Deserialize)]
struct PersonCellsRepr<T> {
    keys: Vec<u64>,
    places: Vec<u32>,
    cells: Vec<T>,
}

impl<const N: usize, T> Serialize for PersonCells<N, T>
where
    T: Copy + Default + Ord + Additive + Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let all = self.entries();
        PersonCellsRepr {
            keys: all.iter().map(|((key, _), _)| *key).collect(),
            places: all.iter().map(|((_, place), _)| *place).collect(),
            cells: all.iter().flat_map(|(_, cells)| cells).copied().collect(),
        }
        .serialize(serializer)
    }
}

impl<'de, const N: usize, T: Copy + Deserialize<'de>> Deserialize<'de> for PersonCells<N, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let PersonCellsRepr { keys, places, cells } = PersonCellsRepr::deserialize(deserializer)?;
        let (cells, rest) = cells.as_chunks::<N>();
        if !rest.is_empty() || cells.len() != keys.len() || places.len() != keys.len() {
            return Err(D::Error::custom("sums by person are not complete"));
        }
        let at = keys.into_iter().zip(places);
        Ok(PersonCells(at.zip(cells.iter().copied()).collect()))
    }
}

/// Counterfactuals by person: rows, or what these weigh.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PersonSwitchCounts {
    /// The extended matrix by direction.
    pub(crate) cells: PersonCells<ECCM_CELLS>,
    /// Rows by whether anything switches, by group, in the cells without a label; with two groups
    /// the matrix has the same.
    pub(crate) any: PersonCells<4>,
}

impl PersonSwitchCounts {
    /// Empty.
    pub(crate) fn new() -> Self {
        PersonSwitchCounts { cells: PersonCells::new(), any: PersonCells::new() }
    }

    /// Adds the counterfactuals of a row that weighs `weight`; rows without a prediction are passed
    /// over.
    pub(crate) fn add(
        &mut self,
        (key, weight, groups): (u64, u64, usize),
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let Some(predicted) = person.predicted else { return };
        let (mut there, mut switches) = (false, false);
        for counterfactual in counterfactuals {
            if let Some(predicted_cf) = counterfactual.predicted {
                self.cells.at(key, person.group * groups + counterfactual.to)
                    [cell_index(person.label, predicted, predicted_cf)] += weight;
                there = true;
                switches |= predicted_cf != predicted;
            }
        }
        if there && groups > 2 {
            let cell = any_cell(predicted, switches) - UNLABELLED;
            self.any.at(key, person.group)[cell] += weight;
        }
    }

    /// Persons by the cells of the extended matrix that they fill in some directions.
    pub(crate) fn units(&self, directions: &[usize]) -> Vec<UnitKind> {
        self.cells.units(|direction, cell| directions.contains(&direction).then_some(cell))
    }

    /// The units of some groups by whether anything switches.
    pub(crate) fn any_units(&self, groups: &Range<usize>) -> Vec<UnitKind> {
        self.any.units(|group, cell| groups.contains(&group).then_some(UNLABELLED + cell))
    }
}

additive!(PersonSwitchCounts { cells, any });

/// Bytes of an entry while it is gathered, merged, written and read: 24 to 30 numbers, each at most
/// twice because tables grow by doubling, and its text.
const BYTES_PER_ENTRY: u64 = 700;

/// The memory that the sums take at most, for a number of persons, of rows in all, of
/// counterfactuals per row, and of threads.
pub(crate) fn memory(persons: u64, rows: u64, per_row: u64, threads: usize) -> u64 {
    let spread = persons.saturating_mul(threads as u64 + 1);
    rows.min(spread).saturating_mul(per_row.max(1)).saturating_mul(BYTES_PER_ENTRY)
}

#[cfg(test)]
mod tests {
    use super::{PersonCells, memory};
    use crate::num::additive::Additive;

    #[test]
    fn rows_of_a_person_add_up_in_any_order() {
        let rows = [(7, 0, 1), (9, 1, 0), (7, 1, 1), (7, 0, 0), (9, 1, 0), (3, 2, 1)];
        let gather = |rows: &[(u64, usize, usize)]| {
            let mut all = PersonCells::<2>::new();
            rows.iter().for_each(|&(key, place, cell)| all.at(key, place)[cell] += 1);
            all
        };
        let whole = gather(&rows);
        let (mut first, second) = (gather(&rows[3..]), gather(&rows[..3]));
        first.absorb(&second);
        assert_eq!(first, whole);
        let of = |place: Option<usize>| {
            let units = whole.units(|at, cell| place.is_none_or(|of| of == at).then_some(cell));
            units.iter().map(|unit| (unit.key, unit.all())).collect::<Vec<(u64, [u64; 2])>>()
        };
        assert_eq!(of(None), [(3, [0, 1]), (7, [1, 2]), (9, [2, 0])]);
        assert_eq!(of(Some(1)), [(7, [0, 1]), (9, [2, 0])]);
        let text = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<PersonCells<2>>(&text).unwrap(), whole);
        assert!(serde_json::from_str::<PersonCells<3>>(&text).is_err());
    }

    #[test]
    fn memory_is_bounded_by_rows_and_by_persons() {
        assert_eq!(memory(10, 1_000_000, 1, 3), 10 * 4 * 700);
        assert_eq!(memory(1_000_000, 1_000_000, 2, 3), 1_000_000 * 2 * 700);
    }
}
