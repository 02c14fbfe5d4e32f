//! One row of each person, where a person may have several: the unit of results about people, not
//! rows.

use crate::num::hash::FastMap;
use crate::num::seed::h;

/// A row of a person.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrawablePersonRow {
    /// The key of the person.
    pub person: u64,
    /// The unique key of the row.
    pub row_key: u64,
    /// Whether another row of the person is preferred, because this one would not count.
    pub spare: bool,
}

/// The positions of the drawn rows, ascending: for each person the row whose key has the smallest
/// hash under the seed, among the rows that are not spare if there are any.
///
/// The result does not depend on the order of the rows or on other persons.
pub(crate) fn one_row_each(seed: u64, rows: impl Iterator<Item = DrawablePersonRow>) -> Vec<usize> {
    let mut least: FastMap<u64, (bool, u64, u64, usize)> = FastMap::default();
    for (i, row) in rows.enumerate() {
        let place = (row.spare, h(seed, row.row_key, 0), row.row_key, i);
        let of_person = least.entry(row.person).or_insert(place);
        *of_person = place.min(*of_person);
    }
    let mut kept: Vec<usize> = least.into_values().map(|(.., i)| i).collect();
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::{DrawablePersonRow, one_row_each};
    use crate::num::seed::{h, named_seed};

    const KEYS: [u64; 4] = [10, 11, 12, 13];

    fn drawn(seed: u64, persons: [u64; 4], spare: [bool; 4]) -> Vec<usize> {
        let row =
            |i: usize| DrawablePersonRow { person: persons[i], row_key: KEYS[i], spare: spare[i] };
        one_row_each(seed, (0..4).map(row))
    }

    #[test]
    fn a_person_has_one_row() {
        let (seed, persons) = (named_seed(5, "why/row"), [7, 8, 7, 7]);
        let first = [0, 2, 3].into_iter().min_by_key(|&i: &usize| h(seed, KEYS[i], 0)).unwrap();
        let mut wanted = vec![first, 1];
        wanted.sort_unstable();
        assert_eq!(drawn(seed, persons, [false; 4]), wanted);
        assert_eq!(drawn(seed, KEYS, [false, true, false, true]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_spare_row_is_drawn_only_where_there_is_no_other() {
        for seed in 0..20 {
            assert_eq!(drawn(seed, [7, 8, 7, 7], [true, true, true, false]), [1, 3]);
        }
    }

    /// Every row of a person is drawn by some seed, about equally often.
    #[test]
    fn the_seed_draws() {
        let mut times = [0; 4];
        (0..4000).for_each(|seed| times[drawn(seed, [1; 4], [false; 4])[0]] += 1);
        assert!(times.iter().all(|times| (850..1150).contains(times)), "{times:?}");
    }
}
