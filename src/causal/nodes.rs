//! A set of variables of a graph, by their positions: one machine word of 128 bits.

use std::fmt;

/// The largest number of variables of a graph.
pub const MOST_NODES: usize = 128;

/// A set of variables by position, at most [`MOST_NODES`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nodes(u128);

impl Nodes {
    /// No variable.
    pub const NONE: Nodes = Nodes(0);

    /// The variable `v` alone.
    pub fn one(v: usize) -> Self {
        debug_assert!(v < MOST_NODES, "{v} is no position of a variable");
        Nodes(1 << v)
    }

    /// The variables 0 to `n - 1`.
    pub fn first(n: usize) -> Self {
        Nodes(if n >= MOST_NODES { u128::MAX } else { (1 << n) - 1 })
    }

    /// Whether `v` is in the set.
    pub fn has(self, v: usize) -> bool {
        self.0 >> v & 1 == 1
    }

    /// The set with `v`.
    #[must_use]
    pub fn with(self, v: usize) -> Self {
        Nodes(self.0 | 1 << v)
    }

    /// The set without `v`.
    #[must_use]
    pub fn without(self, v: usize) -> Self {
        Nodes(self.0 & !(1 << v))
    }

    /// Adds `v`.
    pub fn insert(&mut self, v: usize) {
        *self = self.with(v);
    }

    /// Takes `v` out.
    pub fn remove(&mut self, v: usize) {
        *self = self.without(v);
    }

    /// How many variables there are.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of these are in `other`.
    pub fn within(self, other: Nodes) -> bool {
        self.0 & !other.0 == 0
    }

    /// The lowest position.
    pub fn lowest(self) -> Option<usize> {
        (!self.is_empty()).then(|| self.0.trailing_zeros() as usize)
    }
}

impl std::ops::BitAnd for Nodes {
    type Output = Nodes;

    fn bitand(self, other: Nodes) -> Nodes {
        Nodes(self.0 & other.0)
    }
}

impl std::ops::BitOr for Nodes {
    type Output = Nodes;

    fn bitor(self, other: Nodes) -> Nodes {
        Nodes(self.0 | other.0)
    }
}

impl std::ops::Sub for Nodes {
    type Output = Nodes;

    /// The variables that are not in `other`.
    fn sub(self, other: Nodes) -> Nodes {
        Nodes(self.0 & !other.0)
    }
}

impl IntoIterator for Nodes {
    type Item = usize;
    type IntoIter = Positions;

    fn into_iter(self) -> Positions {
        Positions(self.0)
    }
}

impl FromIterator<usize> for Nodes {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        positions.into_iter().fold(Nodes::NONE, Nodes::with)
    }
}

impl fmt::Debug for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

/// The positions of a set, ascending.
#[derive(Debug, Clone)]
pub struct Positions(u128);

impl Iterator for Positions {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let v = Nodes(self.0).lowest()?;
        self.0 &= self.0 - 1;
        Some(v)
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_NODES, Nodes};

    #[test]
    fn sets_behave_as_sets() {
        let set: Nodes = [5, 0, 127, 5].into_iter().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), [0, 5, 127]);
        assert_eq!((set.len(), set.lowest(), set.has(127), set.has(126)), (3, Some(0), true, false));
        assert_eq!((set - Nodes::one(5)) | Nodes::one(9), [0, 9, 127].into_iter().collect());
        assert!((set & Nodes::first(6)).within(set) && !set.within(Nodes::first(127)));
        assert_eq!((Nodes::NONE.lowest(), Nodes::first(MOST_NODES).len(), Nodes::first(0)), (None, 128, Nodes::NONE));
    }
}
