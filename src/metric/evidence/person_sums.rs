//! Persons with several rows: the sums over each person's rows, so that the person is the unit of
//! intervals.
//!
//! The rows of a person may be in several groups and in several parts of a pass: sums by key and
//! place merge in any order. Memory: one entry for each person and place with a row of the person,
//! so it grows with the number of persons; see [`memory`].

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

    /// The persons at each of `n` places, ascending by key.
    pub(crate) fn by_place(&self, places: usize) -> Vec<Vec<(u64, [T; N])>> {
        let mut persons = vec![Vec::new(); places];
        for (&(key, place), cells) in &self.0 {
            if let Some(list) = persons.get_mut(place as usize) {
                list.push((key, *cells));
            }
        }
        persons.iter_mut().for_each(|list| list.sort_unstable_by_key(|(key, _)| *key));
        persons
    }

    /// The entries in order.
    fn entries(&self) -> Vec<((u64, u32), [T; N])> {
        let mut entries: Vec<_> = self.0.iter().map(|(&at, &cells)| (at, cells)).collect();
        entries.sort_unstable();
        entries
    }
}

impl<const N: usize> PersonCells<N> {
    /// The number of persons with a row at places and positions that satisfy a condition.
    pub(crate) fn n_persons(&self, holds: impl Fn(usize, usize) -> bool) -> u64 {
        let is_there = |((_, place), sums): &(&(u64, u32), &[u64; N])| {
            (0..N).any(|i| sums[i] > 0 && holds(*place as usize, i))
        };
        distinct(self.0.iter().filter(is_there).map(|((key, _), _)| *key))
    }

    /// Persons as units by other cells, ascending by key: `cell` maps a place and a position to a
    /// cell, or to none if the rows do not count.
    pub(crate) fn units(&self, cell: impl Fn(usize, usize) -> Option<usize>) -> Vec<UnitKind> {
        let mut sums_by_key: Vec<(u64, usize, u64)> = Vec::new();
        for (&(key, place), sums) in &self.0 {
            let filled = sums.iter().enumerate().filter(|(_, sum)| **sum > 0);
            sums_by_key
                .extend(filled.filter_map(|(i, sum)| Some((key, cell(place as usize, i)?, *sum))));
        }
        sums_by_key.sort_unstable();
        let persons = sums_by_key.chunk_by(|a, b| a.0 == b.0);
        let person = |entries: &[(u64, usize, u64)]| {
            let cells = entries.chunk_by(|a, b| a.1 == b.1);
            let cells = cells.map(|same| (same[0].1, same.iter().map(|(.., sum)| sum).sum()));
            UnitKind { key: entries[0].0, cells: cells.collect(), sums: WeightSums::ones(1) }
        };
        persons.map(person).collect()
    }
}

impl<const N: usize, T: Copy + Default + Ord + Additive> Additive for PersonCells<N, T> {
    fn absorb(&mut self, other: &Self) {
        self.0.absorb(&other.0);
    }
}

/// The serialized form: the entries in order.
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
        let entries = self.entries();
        PersonCellsRepr {
            keys: entries.iter().map(|((key, _), _)| *key).collect(),
            places: entries.iter().map(|((_, place), _)| *place).collect(),
            cells: entries.iter().flat_map(|(_, cells)| cells).copied().collect(),
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

/// Counterfactuals by person: the number of rows, or their weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PersonSwitchCounts {
    /// The extended matrix by direction.
    pub(crate) cells: PersonCells<ECCM_CELLS>,
    /// Rows by whether anything switches, by group, in the cells without a label. Empty with two
    /// groups, because the matrix holds the same.
    pub(crate) any: PersonCells<4>,
}

impl PersonSwitchCounts {
    /// Empty.
    pub(crate) fn new() -> Self {
        PersonSwitchCounts { cells: PersonCells::new(), any: PersonCells::new() }
    }

    /// Adds the counterfactuals of a row with its weight; rows without a prediction are ignored.
    pub(crate) fn add(
        &mut self,
        (key, weight, groups): (u64, u64, usize),
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
    ) {
        let Some(predicted) = person.predicted else { return };
        let (mut counted, mut switches) = (false, false);
        for counterfactual in counterfactuals {
            if let Some(predicted_cf) = counterfactual.predicted {
                self.cells.at(key, person.group * groups + counterfactual.to)
                    [cell_index(person.label, predicted, predicted_cf)] += weight;
                counted = true;
                switches |= predicted_cf != predicted;
            }
        }
        if counted && groups > 2 {
            let cell = any_cell(predicted, switches) - UNLABELLED;
            self.any.at(key, person.group)[cell] += weight;
        }
    }

    /// The persons in some directions by the cells of the extended matrix.
    pub(crate) fn units(&self, directions: &[usize]) -> Vec<UnitKind> {
        self.cells.units(|direction, cell| directions.contains(&direction).then_some(cell))
    }

    /// The units of some groups by whether anything switches.
    pub(crate) fn any_units(&self, groups: &Range<usize>) -> Vec<UnitKind> {
        self.any.units(|group, cell| groups.contains(&group).then_some(UNLABELLED + cell))
    }
}

additive!(PersonSwitchCounts { cells, any });

/// Bytes of an entry while it is gathered, merged, written and read: 24 to 30 numbers, at most
/// doubled because tables grow by doubling, and its text.
const BYTES_PER_ENTRY: u64 = 700;

/// An upper bound of the memory of the sums, from the numbers of persons, of all rows, of
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
            let mut sums = PersonCells::<2>::new();
            rows.iter().for_each(|&(key, place, cell)| sums.at(key, place)[cell] += 1);
            sums
        };
        let whole = gather(&rows);
        let (mut first, second) = (gather(&rows[3..]), gather(&rows[..3]));
        first.absorb(&second);
        assert_eq!(first, whole);
        let units_at = |place: Option<usize>| {
            let units = whole.units(|at, cell| place.is_none_or(|p| p == at).then_some(cell));
            units.iter().map(|unit| (unit.key, unit.all())).collect::<Vec<(u64, [u64; 2])>>()
        };
        assert_eq!(units_at(None), [(3, [0, 1]), (7, [1, 2]), (9, [2, 0])]);
        assert_eq!(units_at(Some(1)), [(7, [0, 1]), (9, [2, 0])]);
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
