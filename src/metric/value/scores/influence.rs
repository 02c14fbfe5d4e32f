//! What each row or person adds to a value, and the variance that follows with its degrees of
//! freedom.

use crate::metric::evidence::labelled_scores::RankedScore;
use crate::metric::evidence::person_sums::distinct;
use crate::metric::student_interval::{GroupTerms, Spread, UnitTerm};

/// What a row adds to a value; of people in a cell what each of them adds, and their number.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowInfluence {
    /// Person of the row.
    person: u64,
    n: u64,
    sum: f64,
    squares: f64,
}

impl RowInfluence {
    /// Of a row that adds `each` by unit of weight.
    pub(super) fn new(row: &RankedScore, each: f64) -> Self {
        RowInfluence {
            person: row.person,
            n: row.n,
            sum: row.weight as f64 * each,
            squares: row.squares * each * each,
        }
    }

    /// The same of what is subtracted.
    pub(super) fn negated(self) -> Self {
        RowInfluence { sum: -self.sum, ..self }
    }

    /// So many times as much.
    pub(super) fn times(self, factor: f64) -> Self {
        RowInfluence { sum: self.sum * factor, squares: self.squares * factor * factor, ..self }
    }
}

/// What persons add, ascending by key, or rows.
pub(super) fn terms(rows: Vec<RowInfluence>, by_person: bool) -> GroupTerms {
    if by_person {
        return GroupTerms::of_persons(sums_by_person(rows));
    }
    let term =
        |row: &RowInfluence| UnitTerm { n: row.n as f64, sum: row.sum, squares: row.squares };
    GroupTerms::of_rows(rows.iter().map(term))
}

fn sums_by_person(mut rows: Vec<RowInfluence>) -> Vec<(u64, f64)> {
    // Stable: the rows of a person stay in order.
    rows.sort_by_key(|row| row.person);
    let own = rows.chunk_by(|a, b| a.person == b.person);
    own.map(|own| (own[0].person, own.iter().map(|row| row.sum).sum())).collect()
}

/// What P persons or rows add, times the root of P / (P - 1), so that the squares of what each adds
/// sum to the variance; none of fewer than two.
pub(super) fn scaled(rows: Vec<RowInfluence>, by_person: bool) -> Option<Vec<RowInfluence>> {
    let units = if by_person {
        distinct(rows.iter().map(|row| row.person)) as f64
    } else {
        rows.iter().map(|row| row.n as f64).sum()
    };
    let factor = (units / (units - 1.0)).sqrt();
    (units >= 2.0).then(|| rows.into_iter().map(|row| row.times(factor)).collect())
}

/// The spread of one value less another, from what the rows of both add, [`scaled`]: what a
/// person adds to one goes together with what the same person adds to the other. Where each row is
/// a person, rows are the same by their key.
pub(super) fn spread_of_change(first: Vec<RowInfluence>, second: Vec<RowInfluence>) -> Spread {
    let mut rows = first;
    rows.extend(second.into_iter().map(RowInfluence::negated));
    let persons = sums_by_person(rows);
    Spread::of_scaled(persons.iter().map(|(_, adds)| UnitTerm::one(*adds)))
}

/// How many persons, or rows where each row is a person.
pub(super) fn n_units<'a>(rows: impl Iterator<Item = &'a RankedScore>, by_person: bool) -> u64 {
    if !by_person {
        return rows.map(|row| row.n).sum();
    }
    distinct(rows.map(|row| row.person))
}
