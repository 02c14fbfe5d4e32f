//! Who is explained: one counterfactual of each person, and the people who are drawn.
//!
//! Of the W people who switch by their counterfactual and the V who do not, the first w = min(W,
//! people / 2) and the first min(V, w) by a hash are explained, so both kinds get the same number
//! and a smaller sample is part of a larger one.

use std::ops::Range;

use crate::num::seed::h;

/// The counterfactual that represents a person: the place of the least hash, of numbers that
/// distinguish the counterfactuals; none where there are none. `seed` is that of `why/one`.
pub(crate) fn one_counterfactual(
    seed: u64,
    row_key: u64,
    numbers: impl Iterator<Item = u64>,
) -> Option<usize> {
    let hashed = numbers.enumerate().map(|(at, number)| (h(seed, row_key, number), number, at));
    hashed.min().map(|(.., at)| at)
}

/// The people of a direction in the order in which they are drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DrawnPeople {
    /// Places of those who switch.
    switched: Vec<usize>,
    /// Places of those who do not.
    stayed: Vec<usize>,
}

impl DrawnPeople {
    /// Orders people, given by their row keys and whether they switch. `seed` is that of
    /// `why/people`.
    pub(crate) fn new(seed: u64, people: impl Iterator<Item = (u64, bool)>) -> Self {
        let mut hashed: Vec<(u64, u64, usize, bool)> = people
            .enumerate()
            .map(|(at, (row_key, switches))| (h(seed, row_key, 0), row_key, at, switches))
            .collect();
        hashed.sort_unstable();
        let places = |switches: bool| {
            hashed.iter().filter(|person| person.3 == switches).map(|person| person.2).collect()
        };
        DrawnPeople { switched: places(true), stayed: places(false) }
    }

    /// How many switch, and how many do not.
    pub(crate) fn of(&self) -> [u64; 2] {
        [self.switched.len() as u64, self.stayed.len() as u64]
    }

    /// How many of those who switch are explained where this many people are asked for.
    pub(crate) fn width(&self, people: usize) -> usize {
        self.switched.len().min(people / 2)
    }

    /// The places of the first `width` who switch, and of as many who do not.
    pub(crate) fn first(&self, width: usize) -> Vec<usize> {
        let chosen = |places: &[usize]| places[..width.min(places.len())].to_vec();
        [chosen(&self.switched), chosen(&self.stayed)].concat()
    }

    /// The people of [`Self::first`] as separate people, by their places in that list.
    pub(crate) fn chosen(&self, width: usize) -> Self {
        let [switched, stayed] = [&self.switched, &self.stayed].map(|all| width.min(all.len()));
        let places = |range: Range<usize>| range.collect();
        DrawnPeople { switched: places(0..switched), stayed: places(switched..switched + stayed) }
    }
}

#[cfg(test)]
mod tests {
    use super::{DrawnPeople, one_counterfactual};
    use crate::num::seed::h;

    #[test]
    fn people_are_drawn_by_hash_and_fewer_are_part_of_more() {
        let people = || (0..40_u64).map(|key| (key, key % 3 == 0));
        let drawn = DrawnPeople::new(5, people());
        assert_eq!((drawn.of(), drawn.width(20), drawn.width(5000)), ([14, 26], 10, 14));
        let first = drawn.first(10);
        assert_eq!(first.len(), 20);
        let order = |key: &usize| h(5, *key as u64, 0);
        for part in first.chunks(10) {
            assert!(part.is_sorted_by_key(order), "{part:?}");
        }
        let chosen = drawn.chosen(10);
        assert_eq!((chosen.of(), chosen.first(10)), ([10, 10], (0..20).collect()));
        let places = chosen.first(5).into_iter().map(|at| first[at]).collect::<Vec<_>>();
        assert_eq!(places, drawn.first(5));
        let fewer = drawn.first(5);
        assert_eq!([&fewer[..5], &fewer[5..]], [&first[..5], &first[10..15]]);
        // All people switch.
        let all = DrawnPeople::new(5, (0..4).map(|key| (key, true)));
        assert_eq!((all.of(), all.first(4).len()), ([4, 0], 4));
    }

    #[test]
    fn one_counterfactual_has_the_least_hash() {
        let numbers = [3_u64, 0, 7];
        let least = (0..3).min_by_key(|&at: &usize| h(9, 11, numbers[at]));
        assert_eq!(one_counterfactual(9, 11, numbers.into_iter()), least);
        assert_eq!(one_counterfactual(9, 11, std::iter::empty()), None);
    }
}
