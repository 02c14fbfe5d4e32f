//! The units of a scope by the cells that they fill: the one evidence behind every interval of
//! counts.
//!
//! A unit is what is independent of the rest: a person, or a row where each row is a person. A row
//! with several counterfactuals is one unit, which fills several cells. Units that fill the same
//! cells are one kind, of which their number, the sum of their weights and the sum of the squares
//! are known: every variance and covariance is a sum of squares over units, and this is enough for
//! it. Rows of weight 0 do not exist. See "Inference" in the guide to metrics.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::metric::evidence::additive::Additive;

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

    /// So many rows without weights.
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

    /// What is left without some of these rows.
    pub(crate) fn less(self, some: Self) -> Self {
        WeightSums {
            sum: self.sum.saturating_sub(some.sum),
            people: self.people.saturating_sub(some.people),
            squares: self.squares.saturating_sub(some.squares),
        }
    }

    /// How many rows without weights would be as sure as these (Kish 1965, Survey Sampling, 11.7):
    /// the square of the sum over the sum of squares.
    pub(crate) fn effective(self) -> f64 {
        let sum = self.sum as f64;
        sum * (sum / self.squares as f64)
    }

    /// The same rows, each so many times.
    fn times(self, n: u64) -> Self {
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
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitKind<const N: usize> {
    /// The person, or a number of the kind that no other kind of the same audit has.
    pub(crate) key: u64,
    /// What one of them fills for each unit of weight; of a person all that the rows weigh, by
    /// cell.
    pub(crate) cells: [u64; N],
    /// How many they are, and what they weigh; of a person one.
    pub(crate) sums: WeightSums,
}

/// Units that fill the same cells of a matrix of classes: their key, each cell and how often one of
/// them fills it for each unit of weight, and what they weigh.
pub(crate) type MatrixUnits = (u64, Vec<(usize, u64)>, WeightSums);

/// Persons as units, from what their rows weigh by person and cell, ascending.
pub(crate) fn units_of_persons(cells: impl Iterator<Item = (u64, usize, u64)>) -> Vec<MatrixUnits> {
    let mut found: Vec<MatrixUnits> = Vec::new();
    for (key, cell, weight) in cells {
        match found.last_mut().filter(|own| own.0 == key) {
            Some(own) => own.1.push((cell, weight)),
            None => found.push((key, vec![(cell, weight)], WeightSums::ones(1))),
        }
    }
    found
}

/// The units of one scope.
#[derive(Debug, Clone)]
pub(crate) struct UnitSums<const N: usize> {
    /// The rows of each cell, each counterfactual being one.
    rows: [WeightSums; N],
    kinds: Vec<UnitKind<N>>,
    by_person: bool,
}

impl<const N: usize> UnitSums<N> {
    /// From kinds of rows, each with the cells that one row fills, and where a person may have
    /// several rows from what the rows of each person weigh by cell, ascending by key.
    pub(crate) fn new(kinds: Vec<UnitKind<N>>, persons: Option<Vec<(u64, [u64; N])>>) -> Self {
        let mut rows = [WeightSums::default(); N];
        for kind in &kinds {
            for (sum, n) in rows.iter_mut().zip(kind.cells) {
                *sum += kind.sums.times(n);
            }
        }
        let person = |(key, cells)| UnitKind { key, cells, sums: WeightSums::ones(1) };
        let by_person = persons.is_some();
        let kinds = match persons {
            Some(persons) => persons.into_iter().map(person).collect(),
            None => kinds,
        };
        UnitSums { rows, kinds, by_person }
    }

    /// Whether each unit is one row.
    pub(crate) fn are_rows(&self) -> bool {
        let is_row = |kind: &UnitKind<N>| kind.cells.iter().sum::<u64>() <= 1;
        !self.by_person && self.kinds.iter().all(is_row)
    }

    /// Whether a unit is a person with all rows.
    pub(crate) fn are_persons(&self) -> bool {
        self.by_person
    }

    /// Each kind of units, ascending by key.
    pub(crate) fn kinds(&self) -> &[UnitKind<N>] {
        &self.kinds
    }

    /// The rows of each cell.
    pub(crate) fn rows(&self) -> [WeightSums; N] {
        self.rows
    }

    /// What the rows of each cell weigh in whole units.
    pub(crate) fn weight(&self) -> [u64; N] {
        self.rows.map(WeightSums::sum)
    }

    /// The rows of some cells; `times` says how often a row of a cell counts, 0 or 1.
    pub(crate) fn rows_of(&self, times: impl Fn(&[u64; N]) -> u64) -> WeightSums {
        let mut sum = WeightSums::default();
        for (cell, rows) in self.rows.iter().enumerate() {
            let mut one = [0; N];
            one[cell] = 1;
            if times(&one) > 0 {
                sum += *rows;
            }
        }
        sum
    }

    /// Units of which a condition on the cells holds.
    pub(crate) fn n_units(&self, holds: impl Fn(&[u64; N]) -> bool) -> u64 {
        let held = self.kinds.iter().filter(|kind| holds(&kind.cells));
        held.map(|kind| kind.sums.people()).sum()
    }

    /// The keys of the persons for which a condition holds, ascending; none where each row is a
    /// person.
    pub(crate) fn persons(&self, holds: impl Fn(&[u64; N]) -> bool) -> Option<Vec<u64>> {
        let held = self.kinds.iter().filter(|kind| holds(&kind.cells));
        self.by_person.then(|| held.map(|kind| kind.key).collect())
    }
}
