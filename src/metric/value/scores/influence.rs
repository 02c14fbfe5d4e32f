//! What each row or person adds to a value, and the variance that follows with its degrees of
//! freedom.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::evidence::units::distinct;
use crate::metric::student_interval::{Spread, UnitTerm, sums_by_key};

/// What a row adds to a value, `each` by unit of weight; of people in a cell what all of them add.
pub(super) fn added(row: &RankedScore, each: f64) -> UnitTerm {
    UnitTerm {
        key: row.person,
        n: row.n as f64,
        sum: row.weight as f64 * each,
        squares: row.squares * each * each,
    }
}

/// What P persons or rows add, times the root of P / (P - 1), so that the squares of what each adds
/// sum to the variance; none of fewer than two.
pub(super) fn scaled(rows: Vec<UnitTerm>, by_person: bool) -> Option<Vec<UnitTerm>> {
    let units = if by_person {
        distinct(rows.iter().map(|row| row.key)) as f64
    } else {
        rows.iter().map(|row| row.n).sum()
    };
    let factor = (units / (units - 1.0)).sqrt();
    (units >= 2.0).then(|| rows.into_iter().map(|row| row.times(factor)).collect())
}

/// The spread of one value minus another, from what the rows of both add, [`scaled`]: what a person
/// adds to one is correlated with what the same person adds to the other. Where each row is a
/// person, rows are the same by their key.
pub(super) fn spread_of_change(first: Vec<UnitTerm>, second: Vec<UnitTerm>) -> Spread {
    let persons = sums_by_key(less(first, second));
    Spread::of_scaled(persons.iter().map(|&(key, adds)| UnitTerm::one(key, adds)))
}

/// What rows add to a value minus another.
pub(super) fn less(mut mine: Vec<UnitTerm>, theirs: Vec<UnitTerm>) -> Vec<UnitTerm> {
    mine.extend(theirs.into_iter().map(|row| row.times(-1.0)));
    mine
}

/// How many persons, or rows where each row is a person.
pub(super) fn n_units<'a>(rows: impl Iterator<Item = &'a RankedScore>, by_person: bool) -> u64 {
    if !by_person {
        return rows.map(|row| row.n).sum();
    }
    distinct(rows.map(|row| row.person))
}
