//! A buffer of pairs of scores by group, which are added together direction by direction: so the
//! pairs of a direction fill chunks, and those of a group fit into the processor's cache.

use crate::metric::evidence::chunk::{CHUNK, PairChunk};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::num::additive::Additive;

/// The buffered people with the counterfactuals that have a score, by group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingPairs(Vec<WaitingGroup>);

/// People of one group, in the order in which they were added, and their pairs by target group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingGroup {
    pub(super) people: Vec<WaitingPerson>,
    directions: Vec<Vec<WaitingPair>>,
    n_pairs: usize,
}

/// A person with a pair of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WaitingPerson {
    /// The key of the person.
    pub(super) key: u64,
    /// The weight in whole units.
    pub(super) weight: u64,
    score: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct WaitingPair {
    score_cf: f64,
    /// Position of the person.
    person: u32,
    cell: u8,
}

impl Additive for WaitingPairs {
    fn absorb(&mut self, other: &Self) {
        self.0.resize_with(self.0.len().max(other.0.len()), WaitingGroup::default);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            let known = mine.people.len() as u32;
            mine.people.extend(&theirs.people);
            mine.n_pairs += theirs.n_pairs;
            let renumbered =
                |pair: &WaitingPair| WaitingPair { person: known + pair.person, ..*pair };
            for (to, pairs) in theirs.directions.iter().enumerate() {
                mine.direction(to).extend(pairs.iter().map(renumbered));
            }
        }
    }
}

impl WaitingPairs {
    /// Adds a person with the counterfactuals that have a pair of scores; none if there is no such
    /// counterfactual. Returns whether the buffer of the person's group is full: it has enough
    /// pairs for a chunk of each direction, or the group's share of `max_waiting` pairs.
    pub(super) fn push(
        &mut self,
        key: u64,
        person: &ScoredPerson,
        counterfactuals: &[ScoredCounterfactual],
        (groups, max_waiting): (usize, usize),
    ) -> Option<bool> {
        if self.0.len() <= person.group {
            // A group without scores stays without a buffer.
            counterfactuals.iter().find_map(|cf| scored_pair(person, cf))?;
            self.0.resize_with(person.group + 1, WaitingGroup::default);
        }
        let group = &mut self.0[person.group];
        let position = group.people.len() as u32;
        let mut score = None;
        for counterfactual in counterfactuals {
            if let Some((cell, own, score_cf)) = scored_pair(person, counterfactual) {
                score = Some(own);
                let pair = WaitingPair { score_cf, person: position, cell: cell as u8 };
                group.direction(counterfactual.to).push(pair);
                group.n_pairs += 1;
            }
        }
        group.people.push(WaitingPerson { key, weight: person.weight, score: score? });
        let n = group.n_pairs;
        Some(n >= CHUNK * (groups - 1) || n * groups >= max_waiting)
    }

    /// Whether the buffer is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|group| group.people.is_empty())
    }

    /// The buffered people of a group; none if there are none.
    pub(super) fn group(&mut self, from: usize) -> Option<&mut WaitingGroup> {
        self.0.get_mut(from).filter(|group| !group.people.is_empty())
    }
}

impl WaitingGroup {
    /// The pairs of a target group.
    fn direction(&mut self, to: usize) -> &mut Vec<WaitingPair> {
        if self.directions.len() <= to {
            self.directions.resize_with(to + 1, Vec::new);
        }
        &mut self.directions[to]
    }

    /// Calls `each` with the pairs chunk by chunk, ascending by target group and in the order of
    /// the people: the target group, the chunk, and whether it is the last of the direction.
    pub(super) fn each_chunk(
        &self,
        chunk: &mut PairChunk,
        mut each: impl FnMut(usize, &PairChunk, bool),
    ) {
        for (to, pairs) in self.directions.iter().enumerate() {
            let mut parts = pairs.chunks(CHUNK).peekable();
            while let Some(part) = parts.next() {
                chunk.clear();
                for &WaitingPair { score_cf, person, cell } in part {
                    let WaitingPerson { score, weight, .. } = self.people[person as usize];
                    chunk.push((score, score_cf), (person, cell), weight);
                }
                each(to, chunk, parts.peek().is_none());
            }
        }
    }

    /// Empties the buffer.
    pub(super) fn clear(&mut self) {
        self.people.clear();
        self.directions.iter_mut().for_each(Vec::clear);
        self.n_pairs = 0;
    }
}
