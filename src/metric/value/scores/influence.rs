//! The influences of rows or persons on a value, and the variance that follows with its degrees of
//! freedom.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::evidence::units::distinct;
use crate::metric::student_interval::{Spread, UnitTerm, sums_by_key};

/// The influence of a row on a value, `each` per unit of weight; for a cell that of all its people.
pub(super) fn added(row: &RankedScore, each: f64) -> UnitTerm {
    UnitTerm {
        key: row.person,
        n: row.n as f64,
        sum: row.weight as f64 * each,
        squares: row.squares * each * each,
    }
}

/// The influences of P persons or rows, times the root of P / (P - 1), so that their squares sum to
/// the variance; none if there are fewer than two.
pub(super) fn scaled(rows: Vec<UnitTerm>, by_person: bool) -> Option<Vec<UnitTerm>> {
    let units = if by_person {
        distinct(rows.iter().map(|row| row.key)) as f64
    } else {
        rows.iter().map(|row| row.n).sum()
    };
    let factor = (units / (units - 1.0)).sqrt();
    (units >= 2.0).then(|| rows.into_iter().map(|row| row.times(factor)).collect())
}

/// The spread of one value minus another, from the [`scaled`] influences of the rows of both. The
/// influences of a person on both values are correlated. If each row is a person, rows with the
/// same key are the same.
pub(super) fn spread_of_change(first: Vec<UnitTerm>, second: Vec<UnitTerm>) -> Spread {
    let persons = sums_by_key(less(first, second));
    Spread::of_scaled(persons.iter().map(|&(key, adds)| UnitTerm::one(key, adds)))
}

/// The influences of rows on a value minus another.
pub(super) fn less(mut mine: Vec<UnitTerm>, theirs: Vec<UnitTerm>) -> Vec<UnitTerm> {
    mine.extend(theirs.into_iter().map(|row| row.times(-1.0)));
    mine
}

/// The number of persons, or of rows if each row is a person.
pub(super) fn n_units<'a>(rows: impl Iterator<Item = &'a RankedScore>, by_person: bool) -> u64 {
    if !by_person {
        return rows.map(|row| row.n).sum();
    }
    distinct(rows.map(|row| row.person))
}
