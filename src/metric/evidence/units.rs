//! The units of a scope by the cells that they fill: the one evidence behind every interval of
//! counts.
//!
//! A unit is independent of all others: a person, or a row where each row is a person. A row with
//! several counterfactuals is one unit, which fills several cells. Units that fill the same cells
//! are one kind, of which their number, the sum of their weights and the sum of the squares are
//! known: every variance and covariance is a sum of squares over units, and this is enough for it.
//! Rows of weight 0 do not exist. See "Inference" in the guide to metrics.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::num::additive::Additive;

/// What some rows weigh together in whole units, the sum of the squares of their weights, and how
/// many of them weigh more than 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WeightSums {
    sum: u64,
    people: u64,
    squares: u128,
}

impl WeightSums {
    /// One row.
    pub(crate) fn one(weight: u64) -> Self {
        WeightSums {
            sum: weight,
            people: u64::from(weight > 0),
            squares: u128::from(weight) * u128::from(weight),
        }
    }

    /// `n` rows without weights.
    pub(crate) fn ones(n: u64) -> Self {
        WeightSums { sum: n, people: n, squares: u128::from(n) }
    }

    /// Rows that weigh more than 0.
    pub(crate) fn people(self) -> u64 {
        self.people
    }

    /// Units that they weigh.
    pub(crate) fn sum(self) -> u64 {
        self.sum
    }

    /// The sum of the squares.
    pub(crate) fn squares(self) -> f64 {
        self.squares as f64
    }

    /// Whether all of them weigh the same: the square of the sum is their number times the sum of
    /// the squares.
    pub(crate) fn is_even(self) -> bool {
        match u128::from(self.people).checked_mul(self.squares) {
            Some(squares) => u128::from(self.sum) * u128::from(self.sum) == squares,
            None => false,
        }
    }

    /// These rows without some of them.
    pub(crate) fn less(self, some: Self) -> Self {
        WeightSums {
            sum: self.sum.saturating_sub(some.sum),
            people: self.people.saturating_sub(some.people),
            squares: self.squares.saturating_sub(some.squares),
        }
    }

    /// How many rows without weights would be as precise as these (Kish 1965, Survey Sampling,
    /// 11.7): the square of the sum over the sum of squares.
    pub(crate) fn effective(self) -> f64 {
        let sum = self.sum as f64;
        sum * (sum / self.squares as f64)
    }

    /// These rows, each a number of times.
    pub(crate) fn times(self, n: u64) -> Self {
        WeightSums {
            sum: self.sum * n,
            people: self.people * n,
            squares: self.squares * u128::from(n),
        }
    }
}

impl Additive for WeightSums {
    fn absorb(&mut self, other: &Self) {
        *self += *other;
    }
}

impl AddAssign for WeightSums {
    fn add_assign(&mut self, other: Self) {
        self.sum += other.sum;
        self.people += other.people;
        self.squares += other.squares;
    }
}

/// Units that fill the same cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnitKind {
    /// The person, or a number of the kind that no other kind of the same audit has.
    pub(crate) key: u64,
    /// The cells that one of them fills, ascending, and how often for each unit of weight; of a
    /// person what the rows weigh, by cell.
    pub(crate) cells: Vec<(usize, u64)>,
    /// How many they are, and what they weigh; of a person one.
    pub(crate) sums: WeightSums,
}

impl UnitKind {
    /// Rows of one cell.
    pub(crate) fn one(key: u64, cell: usize, sums: WeightSums) -> Self {
        UnitKind { key, cells: vec![(cell, 1)], sums }
    }

    /// All cells, filled or not.
    pub(crate) fn all<const N: usize>(&self) -> [u64; N] {
        let mut all = [0; N];
        self.cells.iter().for_each(|&(cell, n)| all[cell] = n);
        all
    }

    fn fills(&self, holds: impl Fn(usize) -> bool) -> bool {
        self.cells.iter().any(|(cell, _)| holds(*cell))
    }

    /// The same by cells that these are mapped to; none if they are mapped to none.
    fn mapped(&self, to: impl Fn(usize) -> Option<usize>) -> Option<Self> {
        let seen = self.cells.iter().filter_map(|&(cell, n)| Some((to(cell)?, n)));
        let mut cells: Vec<(usize, u64)> = seen.collect();
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        cells.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        (!cells.is_empty()).then_some(UnitKind { cells, ..*self })
    }
}

/// A single row of a cell.
pub(crate) fn alone<const N: usize>(cell: usize) -> [u64; N] {
    std::array::from_fn(|at| u64::from(at == cell))
}

/// The units of one scope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnitSums {
    /// The rows of each cell, each counterfactual being one.
    rows: Vec<WeightSums>,
    of_rows: Vec<UnitKind>,
    of_persons: Option<Vec<UnitKind>>,
    /// Whether rows have weights.
    pub(crate) weighted: bool,
}

impl UnitSums {
    /// From kinds of rows by this many cells, and where a person may have several rows from the
    /// persons, ascending by key; `weighted` says whether rows have weights.
    pub(crate) fn new(
        cells: usize,
        weighted: bool,
        of_rows: Vec<UnitKind>,
        of_persons: Option<Vec<UnitKind>>,
    ) -> Self {
        let mut rows = vec![WeightSums::default(); cells];
        for kind in &of_rows {
            kind.cells.iter().for_each(|&(cell, n)| rows[cell] += kind.sums.times(n));
        }
        UnitSums { rows, of_rows, of_persons, weighted }
    }

    /// These rows with their persons, ascending by key; none where each row is a person.
    pub(crate) fn with_persons(&self, of_persons: Option<Vec<UnitKind>>) -> Self {
        UnitSums { of_persons, ..self.clone() }
    }

    /// The same units by other cells, to which some of these are mapped.
    pub(crate) fn mapped(&self, cells: usize, to: impl Fn(usize) -> Option<usize>) -> Self {
        let map = |kinds: &Vec<UnitKind>| kinds.iter().filter_map(|of| of.mapped(&to)).collect();
        UnitSums::new(cells, self.weighted, map(&self.of_rows), self.of_persons.as_ref().map(map))
    }

    /// Whether each unit is one row.
    pub(crate) fn are_rows(&self) -> bool {
        let is_row = |kind: &UnitKind| kind.cells.iter().map(|(_, n)| n).sum::<u64>() <= 1;
        !self.are_persons() && self.of_rows.iter().all(is_row)
    }

    /// Whether a unit is a person with all rows.
    pub(crate) fn are_persons(&self) -> bool {
        self.of_persons.is_some()
    }

    /// Whether each row is a person who counts as one.
    pub(crate) fn is_plain(&self) -> bool {
        !self.weighted && !self.are_persons()
    }

    /// Each kind of units, ascending by key.
    pub(crate) fn kinds(&self) -> &[UnitKind] {
        self.of_persons.as_ref().unwrap_or(&self.of_rows)
    }

    /// The rows of each cell.
    pub(crate) fn rows(&self) -> &[WeightSums] {
        &self.rows
    }

    /// How many the rows of each cell are.
    pub(crate) fn people<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|cell| self.rows[cell].people())
    }

    /// What the rows of each cell weigh in whole units, 1 each where they have no weights.
    pub(crate) fn weight<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|cell| self.rows[cell].sum())
    }

    /// Rows, not persons, that fill a cell of which a condition holds.
    pub(crate) fn n_rows(&self, holds: impl Fn(usize) -> bool) -> u64 {
        let held = self.of_rows.iter().filter(|kind| kind.fills(&holds));
        held.map(|kind| kind.sums.people()).sum()
    }

    /// Units that fill such a cell.
    pub(crate) fn n_units(&self, holds: impl Fn(usize) -> bool) -> u64 {
        let held = self.kinds().iter().filter(|kind| kind.fills(&holds));
        held.map(|kind| kind.sums.people()).sum()
    }

    /// The keys of the persons that fill such a cell, ascending; none where each row is a person.
    pub(crate) fn persons(&self, holds: impl Fn(usize) -> bool) -> Option<Vec<u64>> {
        let held = self.of_persons.as_ref()?.iter().filter(|kind| kind.fills(&holds));
        Some(held.map(|kind| kind.key).collect())
    }

    /// Different people of some scopes who fill such a cell; of rows these have none in common.
    /// None where each row is a person who counts as one.
    pub(crate) fn n_together<'a>(
        scopes: impl Iterator<Item = &'a UnitSums>,
        holds: impl Fn(usize) -> bool,
    ) -> Option<u64> {
        let (mut all, mut weighed) = (Vec::new(), 0);
        for units in scopes {
            match units.persons(&holds) {
                Some(persons) => all.extend(persons),
                None if units.weighted => weighed += units.n_units(&holds),
                None => return None,
            }
        }
        Some(distinct(all.into_iter()) + weighed)
    }
}

/// How many different persons these are.
pub(crate) fn distinct(keys: impl Iterator<Item = u64>) -> u64 {
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len() as u64
}
