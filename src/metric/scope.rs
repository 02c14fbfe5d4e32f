//! The people that a value is about: one group, two compared, people of one moved to another, to or
//! from all the rest, or everybody.
//!
//! Groups are numbered in reference order. With more than two groups the people of one group as
//! members of every other ([`MetricScope::OneToRest`]) and the people of all others as members of
//! one ([`MetricScope::RestToOne`]) are next to the directions; with two they would be the
//! directions. In [`MetricScope::OneToRest`] and [`MetricScope::Total`] a person counts once per
//! counterfactual.
//!
//! Groups as they are, more than two of them, are also compared with all others together
//! ([`MetricScope::OneVsRest`]), and the two that are furthest apart with each other
//! ([`MetricScope::WorstCase`]).

use serde::{Deserialize, Serialize};

/// Where a value holds; groups by number, reference first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MetricScope {
    /// One group.
    Group(usize),
    /// All groups, or all directions.
    Total,
    /// Two groups A, B compared.
    Pair(usize, usize),
    /// People of the first group, predicted as the second.
    Direction(usize, usize),
    /// Direction A -> B minus direction B -> A.
    Difference(usize, usize),
    /// People of the group, predicted as each of the others.
    OneToRest(usize),
    /// People of all other groups, predicted as the group.
    RestToOne(usize),
    /// A group A compared with B, all others together.
    OneVsRest(usize),
    /// All others together as A, compared with a group B.
    RestVsOne(usize),
    /// The groups that are furthest apart.
    WorstCase,
}

impl MetricScope {
    /// The word that tables show, and the two groups, where they have a name.
    fn parts(self) -> (&'static str, Option<usize>, Option<usize>) {
        match self {
            MetricScope::Group(of) => ("group", Some(of), None),
            MetricScope::Total => ("total", None, None),
            MetricScope::Pair(a, b) => ("pair", Some(a), Some(b)),
            MetricScope::Direction(from, to) => ("direction", Some(from), Some(to)),
            MetricScope::Difference(a, b) => ("difference", Some(a), Some(b)),
            MetricScope::OneToRest(from) => ("one_to_rest", Some(from), None),
            MetricScope::RestToOne(to) => ("rest_to_one", None, Some(to)),
            MetricScope::OneVsRest(a) => ("one_vs_rest", Some(a), None),
            MetricScope::RestVsOne(b) => ("one_vs_rest", None, Some(b)),
            MetricScope::WorstCase => ("worst_case", None, None),
        }
    }

    /// The word that tables show.
    pub fn as_str(self) -> &'static str {
        self.parts().0
    }

    /// Whether a value of counterfactuals in this scope depends on people of a group, as they are
    /// or as they are moved there.
    pub fn involves(self, group: usize) -> bool {
        match (self.first_group(), self.second_group()) {
            (Some(from), Some(to)) => group == from || group == to,
            // All together, one to the rest and the rest to one: each has all groups.
            _ => true,
        }
    }

    /// The first group: the group itself, A, or where people come from; none for all.
    pub fn first_group(self) -> Option<usize> {
        self.parts().1
    }

    /// The people of its two sides: all others of a group where a side has no name, everybody where
    /// neither has one.
    pub(crate) fn sides(self) -> [GroupSelection; 2] {
        let side = |own: Option<usize>, other: Option<usize>| match (own, other) {
            (Some(group), _) => GroupSelection::One(group),
            (None, Some(group)) => GroupSelection::Rest(group),
            (None, None) => GroupSelection::All,
        };
        let (first, second) = (self.first_group(), self.second_group());
        [side(first, second), side(second, first)]
    }

    /// The scope of a comparison with both sides exchanged.
    pub(crate) fn turned(self) -> Self {
        match self {
            MetricScope::Pair(a, b) => MetricScope::Pair(b, a),
            MetricScope::OneVsRest(group) => MetricScope::RestVsOne(group),
            MetricScope::RestVsOne(group) => MetricScope::OneVsRest(group),
            scope => scope,
        }
    }

    /// The first group or the second one.
    pub(crate) fn side(self, first: bool) -> Option<usize> {
        if first { self.first_group() } else { self.second_group() }
    }

    /// The second group: B, or where people are moved to; none for all.
    pub fn second_group(self) -> Option<usize> {
        self.parts().2
    }
}

/// Whose people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupSelection {
    /// One group's.
    One(usize),
    /// All others'.
    Rest(usize),
    /// Everybody.
    All,
}

impl GroupSelection {
    /// The groups of the scope among this many, ascending.
    pub(crate) fn groups(self, groups: usize) -> impl Iterator<Item = usize> + Clone {
        (0..groups).filter(move |&group| self.holds(group))
    }

    /// Whether a group is one of them.
    pub(crate) fn holds(self, group: usize) -> bool {
        match self {
            GroupSelection::One(one) => group == one,
            GroupSelection::Rest(one) => group != one,
            GroupSelection::All => true,
        }
    }

    /// The group, where it is one.
    pub(crate) fn group(self) -> Option<usize> {
        match self {
            GroupSelection::One(group) => Some(group),
            GroupSelection::Rest(_) | GroupSelection::All => None,
        }
    }
}

/// The scopes in which counterfactuals are counted, numbered: evidence by scope is in lists of
/// this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ScopeIndex {
    pub(crate) groups: usize,
}

impl ScopeIndex {
    /// Whether one group against the rest is something else than a direction.
    pub(super) fn has_rest(self) -> bool {
        self.groups > 2
    }

    /// How many numbers are used; those of a direction from a group to itself stand empty.
    pub(super) fn len(self) -> usize {
        self.groups * self.groups + if self.has_rest() { 2 * self.groups } else { 0 } + 1
    }

    /// The number of a direction.
    pub(crate) fn direction(self, from: usize, to: usize) -> usize {
        from * self.groups + to
    }

    /// The number of a group moved to the rest.
    pub(super) fn one_to_rest(self, from: usize) -> usize {
        self.groups * self.groups + from
    }

    /// The number of the rest moved to a group.
    pub(super) fn rest_to_one(self, to: usize) -> usize {
        self.groups * self.groups + self.groups + to
    }

    /// The number of all directions together.
    pub(crate) fn total(self) -> usize {
        self.len() - 1
    }

    /// Every direction: where people come from and where they are moved to.
    pub(crate) fn directions(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.groups).flat_map(move |from| {
            (0..self.groups).filter(move |&to| to != from).map(move |to| (from, to))
        })
    }

    /// The scopes with their numbers, directions first.
    pub(super) fn scopes(self) -> impl Iterator<Item = (usize, MetricScope)> {
        let rests = if self.has_rest() { self.groups } else { 0 };
        self.directions()
            .map(move |(from, to)| (self.direction(from, to), MetricScope::Direction(from, to)))
            .chain(
                (0..rests).map(move |from| (self.one_to_rest(from), MetricScope::OneToRest(from))),
            )
            .chain((0..rests).map(move |to| (self.rest_to_one(to), MetricScope::RestToOne(to))))
            .chain([(self.total(), MetricScope::Total)])
    }

    /// The numbers of the scopes that hold a direction: its own first, then all together, then one
    /// and the rest where they are.
    pub(super) fn scopes_of(self, from: usize, to: usize) -> impl Iterator<Item = usize> + Clone {
        let all =
            [self.direction(from, to), self.total(), self.one_to_rest(from), self.rest_to_one(to)];
        all.into_iter().take(if self.has_rest() { MAX_SCOPES_PER_DIRECTION } else { 2 })
    }

    /// The directions that a scope holds, by its number.
    pub(super) fn directions_of(self, place: usize) -> impl Iterator<Item = (usize, usize)> {
        self.directions()
            .filter(move |&(from, to)| self.scopes_of(from, to).any(|held| held == place))
    }

    /// The numbers of these directions.
    pub(super) fn numbers_of(self, place: usize) -> Vec<usize> {
        self.directions_of(place).map(|(from, to)| self.direction(from, to)).collect()
    }
}

/// The most scopes that hold one direction.
pub(super) const MAX_SCOPES_PER_DIRECTION: usize = 4;

#[cfg(test)]
mod tests {
    use super::{GroupSelection, ScopeIndex};
    use std::collections::BTreeSet;

    #[test]
    fn one_and_the_rest_are_all() {
        let of = |who: GroupSelection| who.groups(4).collect::<Vec<_>>();
        assert_eq!(
            [of(GroupSelection::One(2)), of(GroupSelection::Rest(2)), of(GroupSelection::All)],
            [vec![2], vec![0, 1, 3], vec![0, 1, 2, 3]]
        );
    }

    #[test]
    fn every_scope_has_a_number_of_its_own() {
        for groups in 0..6 {
            let places = ScopeIndex { groups };
            let numbers: BTreeSet<usize> = places.scopes().map(|(number, _)| number).collect();
            assert_eq!(numbers.len(), places.scopes().count());
            assert_eq!(numbers.last(), Some(&places.total()));
            let of = |from, to| places.scopes_of(from, to).collect::<BTreeSet<usize>>();
            assert!(places.directions().all(|(from, to)| of(from, to).is_subset(&numbers)
                && of(from, to).len() == 2 + 2 * usize::from(groups > 2)));
        }
    }
}
