//! The units of a scope by the cells in which they count: the evidence behind every interval of
//! counts.
//!
//! A unit is independent of all others: a person, or a row if each row is a person. A row with
//! several counterfactuals is one unit that counts in several cells. Units that count in the same
//! cells are one kind, with their number, the sum of their weights and the sum of the squared
//! weights. This is enough for variances and covariances, which are sums of squares over units.
//! Rows of weight 0 do not exist. See "Inference" in the guide to metrics.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::num::additive::Additive;

/// The number of rows with a positive weight, the sum of their weights in whole units, and the sum
/// of the squared weights.
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

    /// The number of rows with a positive weight.
    pub(crate) fn people(self) -> u64 {
        self.people
    }

    /// The sum of the weights in units.
    pub(crate) fn sum(self) -> u64 {
        self.sum
    }

    /// The sum of the squares.
    pub(crate) fn squares(self) -> f64 {
        self.squares as f64
    }

    /// Whether all rows have the same weight: then the square of the sum is their number times the
    /// sum of the squares.
    pub(crate) fn is_even(self) -> bool {
        match u128::from(self.people).checked_mul(self.squares) {
            Some(squares) => u128::from(self.sum) * u128::from(self.sum) == squares,
            None => false,
        }
    }

    /// These sums minus those of some of the rows.
    pub(crate) fn less(self, some: Self) -> Self {
        WeightSums {
            sum: self.sum.saturating_sub(some.sum),
            people: self.people.saturating_sub(some.people),
            squares: self.squares.saturating_sub(some.squares),
        }
    }

    /// The effective sample size (Kish 1965, Survey Sampling, 11.7): the square of the sum divided
    /// by the sum of squares.
    pub(crate) fn effective(self) -> f64 {
        let sum = self.sum as f64;
        sum * (sum / self.squares as f64)
    }

    /// The sums if each row counts `n` times.
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

/// Units that count in the same cells.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnitKind {
    /// The key of the person, or a number of the kind that is unique in the audit.
    pub(crate) key: u64,
    /// The cells of a unit, ascending, and how often it counts there for each unit of weight; for a
    /// person the weight of the rows by cell.
    pub(crate) cells: Vec<(usize, u64)>,
    /// The number and weight of the units; 1 for a person.
    pub(crate) sums: WeightSums,
}

impl UnitKind {
    /// Rows of one cell.
    pub(crate) fn one(key: u64, cell: usize, sums: WeightSums) -> Self {
        UnitKind { key, cells: vec![(cell, 1)], sums }
    }

    /// The numbers of all cells.
    pub(crate) fn all<const N: usize>(&self) -> [u64; N] {
        let mut cells = [0; N];
        self.cells.iter().for_each(|&(cell, n)| cells[cell] = n);
        cells
    }

    fn fills(&self, holds: impl Fn(usize) -> bool) -> bool {
        self.cells.iter().any(|(cell, _)| holds(*cell))
    }

    /// The same units with their cells mapped to others; none if no cell is mapped.
    fn mapped(&self, to: impl Fn(usize) -> Option<usize>) -> Option<Self> {
        let mapped_cells = self.cells.iter().filter_map(|&(cell, n)| Some((to(cell)?, n)));
        let mut cells: Vec<(usize, u64)> = mapped_cells.collect();
        cells.sort_unstable_by_key(|(cell, _)| *cell);
        cells.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        (!cells.is_empty()).then_some(UnitKind { cells, ..*self })
    }
}

/// The cells of a single row, which counts in one cell.
pub(crate) fn alone<const N: usize>(cell: usize) -> [u64; N] {
    std::array::from_fn(|at| u64::from(at == cell))
}

/// The units of one scope.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct UnitSums {
    /// The rows of each cell; every counterfactual is one row.
    rows: Vec<WeightSums>,
    of_rows: Vec<UnitKind>,
    of_persons: Option<Vec<UnitKind>>,
    /// Whether rows have weights.
    pub(crate) weighted: bool,
}

impl UnitSums {
    /// From kinds of rows over `cells` cells and, if a person may have several rows, from the
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

    /// These rows with their persons, ascending by key; `of_persons` is none if each row is a
    /// person.
    pub(crate) fn with_persons(&self, of_persons: Option<Vec<UnitKind>>) -> Self {
        UnitSums { of_persons, ..self.clone() }
    }

    /// The same units with some of their cells mapped to others; the rest is left out.
    pub(crate) fn mapped(&self, cells: usize, to: impl Fn(usize) -> Option<usize>) -> Self {
        let map =
            |kinds: &Vec<UnitKind>| kinds.iter().filter_map(|kind| kind.mapped(&to)).collect();
        UnitSums::new(cells, self.weighted, map(&self.of_rows), self.of_persons.as_ref().map(map))
    }

    /// Whether each unit is one row.
    pub(crate) fn are_rows(&self) -> bool {
        let is_row = |kind: &UnitKind| kind.cells.iter().map(|(_, n)| n).sum::<u64>() <= 1;
        !self.are_persons() && self.of_rows.iter().all(is_row)
    }

    /// Whether a unit is a person with all their rows.
    pub(crate) fn are_persons(&self) -> bool {
        self.of_persons.is_some()
    }

    /// Whether each row is a person and has no weight.
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

    /// The number of rows of each cell.
    pub(crate) fn people<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|cell| self.rows[cell].people())
    }

    /// The weight of the rows of each cell in whole units, 1 each without weights.
    pub(crate) fn weight<const N: usize>(&self) -> [u64; N] {
        std::array::from_fn(|cell| self.rows[cell].sum())
    }

    /// The number of rows, not persons, that count in a cell that satisfies a condition.
    pub(crate) fn n_rows(&self, holds: impl Fn(usize) -> bool) -> u64 {
        let held = self.of_rows.iter().filter(|kind| kind.fills(&holds));
        held.map(|kind| kind.sums.people()).sum()
    }

    /// The number of units that count in such a cell.
    pub(crate) fn n_units(&self, holds: impl Fn(usize) -> bool) -> u64 {
        let held = self.kinds().iter().filter(|kind| kind.fills(&holds));
        held.map(|kind| kind.sums.people()).sum()
    }

    /// The keys of the persons that count in such a cell, ascending; none if each row is a person.
    pub(crate) fn persons(&self, holds: impl Fn(usize) -> bool) -> Option<Vec<u64>> {
        let held = self.of_persons.as_ref()?.iter().filter(|kind| kind.fills(&holds));
        Some(held.map(|kind| kind.key).collect())
    }

    /// The number of different people of some scopes that count in such a cell. Scopes have no rows
    /// in common. None if each row is a person and has no weight.
    pub(crate) fn n_together<'a>(
        scopes: impl Iterator<Item = &'a UnitSums>,
        holds: impl Fn(usize) -> bool,
    ) -> Option<u64> {
        let (mut keys, mut n_weighted) = (Vec::new(), 0);
        for units in scopes {
            match units.persons(&holds) {
                Some(persons) => keys.extend(persons),
                None if units.weighted => n_weighted += units.n_units(&holds),
                None => return None,
            }
        }
        Some(distinct(keys.into_iter()) + n_weighted)
    }
}

/// The number of different keys.
pub(crate) fn distinct(keys: impl Iterator<Item = u64>) -> u64 {
    let mut keys: Vec<u64> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len() as u64
}
