//! A set of variables of a graph, by their positions: one machine word of 128 bits.

use std::fmt;

/// The largest number of variables of a graph.
pub(crate) const MAX_NODES: usize = 128;

/// A set of variables by position, at most [`MAX_NODES`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeSet(u128);

impl NodeSet {
    /// No variable.
    pub const EMPTY: NodeSet = NodeSet(0);

    /// Only the variable `v`.
    pub fn single(v: usize) -> Self {
        debug_assert!(v < MAX_NODES, "{v} is no position of a variable");
        NodeSet(1 << v)
    }

    /// The variables 0 to `n - 1`.
    pub fn first_n(n: usize) -> Self {
        NodeSet(if n >= MAX_NODES { u128::MAX } else { (1 << n) - 1 })
    }

    /// Whether `v` is in the set.
    pub fn contains(self, v: usize) -> bool {
        self.0 >> v & 1 == 1
    }

    /// The set with `v`.
    #[must_use]
    pub fn with(self, v: usize) -> Self {
        NodeSet(self.0 | 1 << v)
    }

    /// The set without `v`.
    #[must_use]
    pub fn without(self, v: usize) -> Self {
        NodeSet(self.0 & !(1 << v))
    }

    /// Adds `v`.
    pub fn insert(&mut self, v: usize) {
        *self = self.with(v);
    }

    /// Removes `v`.
    pub fn remove(&mut self, v: usize) {
        *self = self.without(v);
    }

    /// Number of variables in the set.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of its variables are in `other`.
    pub fn is_subset(self, other: NodeSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The lowest position in the set; `None` if it is empty.
    pub fn lowest(self) -> Option<usize> {
        (!self.is_empty()).then(|| self.0.trailing_zeros() as usize)
    }
}

impl std::ops::BitAnd for NodeSet {
    type Output = NodeSet;

    fn bitand(self, other: NodeSet) -> NodeSet {
        NodeSet(self.0 & other.0)
    }
}

impl std::ops::BitOr for NodeSet {
    type Output = NodeSet;

    fn bitor(self, other: NodeSet) -> NodeSet {
        NodeSet(self.0 | other.0)
    }
}

impl std::ops::Sub for NodeSet {
    type Output = NodeSet;

    /// The variables that are not in `other`.
    fn sub(self, other: NodeSet) -> NodeSet {
        NodeSet(self.0 & !other.0)
    }
}

impl IntoIterator for NodeSet {
    type Item = usize;
    type IntoIter = NodeSetIter;

    fn into_iter(self) -> NodeSetIter {
        NodeSetIter(self.0)
    }
}

impl FromIterator<usize> for NodeSet {
    fn from_iter<I: IntoIterator<Item = usize>>(positions: I) -> Self {
        positions.into_iter().fold(NodeSet::EMPTY, NodeSet::with)
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(*self).finish()
    }
}

/// The positions of a set, ascending.
#[derive(Debug, Clone)]
pub struct NodeSetIter(u128);

impl Iterator for NodeSetIter {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let v = NodeSet(self.0).lowest()?;
        self.0 &= self.0 - 1;
        Some(v)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_NODES, NodeSet};

    #[test]
    fn sets_behave_as_sets() {
        let set: NodeSet = [5, 0, 127, 5].into_iter().collect();
        assert_eq!(set.into_iter().collect::<Vec<_>>(), [0, 5, 127]);
        assert_eq!(
            (set.len(), set.lowest(), set.contains(127), set.contains(126)),
            (3, Some(0), true, false)
        );
        assert_eq!(
            (set - NodeSet::single(5)) | NodeSet::single(9),
            [0, 9, 127].into_iter().collect()
        );
        assert!(
            (set & NodeSet::first_n(6)).is_subset(set) && !set.is_subset(NodeSet::first_n(127))
        );
        assert_eq!(
            (NodeSet::EMPTY.lowest(), NodeSet::first_n(MAX_NODES).len(), NodeSet::first_n(0)),
            (None, 128, NodeSet::EMPTY)
        );
    }
}
