//! Additive evidence: whole numbers and exact sums over people, which can be added in any order and
//! in any number of parts.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use crate::num::ecdf::ValueTally;
use crate::num::fixed::FixedSum;

/// A sum over people. Adding an empty sum changes nothing.
pub(crate) trait Additive {
    /// Adds the sum over other people.
    fn absorb(&mut self, other: &Self);
}

/// Types that are added with `+=`.
macro_rules! additive_numbers {
    ($($number:ty),+) => {
        $(impl Additive for $number {
            #[inline]
            fn absorb(&mut self, other: &Self) {
                *self += *other;
            }
        })+
    };
}

/// Makes a struct additive: the named fields are summed, the others describe what is summed.
macro_rules! additive {
    ($type:ty { $($field:ident),+ }) => {
        impl crate::num::additive::Additive for $type {
            fn absorb(&mut self, other: &Self) {
                $(self.$field.absorb(&other.$field);)+
            }
        }
    };
}

pub(crate) use additive;

additive_numbers!(u64, u128, FixedSum);

/// Whether it is so anywhere.
impl Additive for bool {
    fn absorb(&mut self, other: &Self) {
        *self |= *other;
    }
}

impl<T: Additive, const N: usize> Additive for [T; N] {
    fn absorb(&mut self, other: &Self) {
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.absorb(theirs));
    }
}

impl<T: Additive> Additive for Box<T> {
    fn absorb(&mut self, other: &Self) {
        T::absorb(self, other);
    }
}

impl Additive for ValueTally {
    fn absorb(&mut self, other: &Self) {
        self.merge(other);
    }
}

/// A shorter list is treated as if it ended with empty sums.
impl<T: Additive + Clone> Additive for Vec<T> {
    fn absorb(&mut self, other: &Self) {
        let known = self.len();
        self.iter_mut().zip(other).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.extend(other.iter().skip(known).cloned());
    }
}

impl<T: Additive + Clone> Additive for Option<T> {
    fn absorb(&mut self, other: &Self) {
        match (self, other) {
            (Some(mine), Some(theirs)) => mine.absorb(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }
}

impl<K: Ord + Clone, T: Additive + Clone> Additive for BTreeMap<K, T> {
    fn absorb(&mut self, other: &Self) {
        for (key, theirs) in other {
            match self.get_mut(key) {
                Some(mine) => mine.absorb(theirs),
                None => _ = self.insert(key.clone(), theirs.clone()),
            }
        }
    }
}

impl<K: Eq + Hash + Clone, T: Additive + Clone, S: BuildHasher> Additive for HashMap<K, T, S> {
    fn absorb(&mut self, other: &Self) {
        for (key, theirs) in other {
            match self.get_mut(key) {
                Some(mine) => mine.absorb(theirs),
                None => _ = self.insert(key.clone(), theirs.clone()),
            }
        }
    }
}

/// Adds a map to another one, without copying the entries that are missing there.
pub(crate) fn absorb_map<K: Ord, T: Additive>(
    mine: &mut BTreeMap<K, T>,
    theirs: impl IntoIterator<Item = (K, T)>,
) {
    for (key, theirs) in theirs {
        match mine.entry(key) {
            Entry::Occupied(mut mine) => mine.get_mut().absorb(&theirs),
            Entry::Vacant(place) => _ = place.insert(theirs),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Additive;

    /// An empty sum changes nothing on either side, even if the other is longer.
    #[test]
    fn empty_sums_change_nothing() {
        type Sum = (Vec<[u64; 2]>, Option<u64>, BTreeMap<u8, u64>);
        let absorb = |mut mine: Sum, theirs: &Sum| {
            mine.0.absorb(&theirs.0);
            mine.1.absorb(&theirs.1);
            mine.2.absorb(&theirs.2);
            mine
        };
        let empty: Sum = Default::default();
        let some: Sum = (vec![[1, 2], [3, 4]], Some(5), [(6, 7)].into());
        assert_eq!(absorb(empty.clone(), &some), some);
        assert_eq!(absorb(some.clone(), &empty), some);
        let other: Sum = (vec![[10, 20]], None, [(8, 9)].into());
        let both: Sum = (vec![[11, 22], [3, 4]], Some(5), [(6, 7), (8, 9)].into());
        assert_eq!(absorb(some.clone(), &other), both);
        assert_eq!(absorb(other, &some), both);
    }
}
