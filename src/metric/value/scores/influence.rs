//! What each row or person adds to a value, and the variance that follows.

use std::collections::BTreeSet;

use crate::metric::evidence::labelled_scores::RankedScore;

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

/// The variance P / (P - 1) sum u^2 over what P persons or rows add; none of fewer than two.
pub(super) fn variance(mut rows: Vec<RowInfluence>, by_person: bool) -> Option<f64> {
    let (mut units, mut squares) = (0.0, 0.0);
    if by_person {
        // Stable: the rows of a person stay in order.
        rows.sort_by_key(|row| row.person);
        for own in rows.chunk_by(|a, b| a.person == b.person) {
            let sum: f64 = own.iter().map(|row| row.sum).sum();
            units += 1.0;
            squares += sum * sum;
        }
    } else {
        for row in rows {
            units += row.n as f64;
            squares += row.squares;
        }
    }
    (units >= 2.0).then(|| units / (units - 1.0) * squares)
}

/// What P persons or rows add, times the root of P / (P - 1), so that the squares of what each adds
/// sum to [`variance`]; none of fewer than two.
pub(super) fn scaled(rows: Vec<RowInfluence>, by_person: bool) -> Option<Vec<RowInfluence>> {
    let units = if by_person {
        rows.iter().map(|row| row.person).collect::<BTreeSet<u64>>().len() as f64
    } else {
        rows.iter().map(|row| row.n as f64).sum()
    };
    let factor = (units / (units - 1.0)).sqrt();
    (units >= 2.0).then(|| rows.into_iter().map(|row| row.times(factor)).collect())
}

/// The variance of one value less another, from what the rows of both add, [`scaled`]: what a
/// person adds to one goes together with what the same person adds to the other. Where each row is
/// a person, rows are the same by their key.
pub(super) fn variance_of_change(first: Vec<RowInfluence>, second: Vec<RowInfluence>) -> f64 {
    let mut rows = first;
    rows.extend(second.into_iter().map(RowInfluence::negated));
    // Stable: the rows of a person stay in order.
    rows.sort_by_key(|row| row.person);
    let own = rows.chunk_by(|a, b| a.person == b.person);
    own.map(|own| own.iter().map(|row| row.sum).sum::<f64>()).map(|sum| sum * sum).sum()
}

/// How many persons, or rows where each row is a person.
pub(super) fn n_units<'a>(rows: impl Iterator<Item = &'a RankedScore>, by_person: bool) -> u64 {
    if !by_person {
        return rows.map(|row| row.n).sum();
    }
    let mut keys: Vec<u64> = rows.map(|row| row.person).collect();
    keys.sort_unstable();
    keys.dedup();
    keys.len() as u64
}
