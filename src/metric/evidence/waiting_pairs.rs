//! A buffer of pairs of scores by group, which are added together direction by direction: so the
//! pairs of a direction fill chunks, and those of a group fit into the processor's cache.

use crate::metric::evidence::chunk::{CHUNK, PairChunk};
use crate::metric::evidence::person::{ScoredCounterfactual, ScoredPerson, scored_pair};
use crate::num::additive::Additive;

/// The buffered people with the counterfactuals that have a score, by group.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingPairs(Vec<WaitingGroup>);

/// People of one group, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct WaitingGroup {
    pub(super) people: Vec<WaitingPerson>,
    pairs: Vec<WaitingPair>,
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
    to: u16,
    cell: u8,
}

impl Additive for WaitingPairs {
    fn absorb(&mut self, other: &Self) {
        self.0.resize_with(self.0.len().max(other.0.len()), WaitingGroup::default);
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            let known = mine.people.len() as u32;
            mine.people.extend(&theirs.people);
            let renumbered =
                |pair: &WaitingPair| WaitingPair { person: known + pair.person, ..*pair };
            mine.pairs.extend(theirs.pairs.iter().map(renumbered));
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
        let WaitingGroup { people, pairs } = &mut self.0[person.group];
        let (known, position) = (pairs.len(), people.len() as u32);
        for counterfactual in counterfactuals {
            if let Some((cell, _, score_cf)) = scored_pair(person, counterfactual) {
                let (to, cell) = (counterfactual.to as u16, cell as u8);
                pairs.push(WaitingPair { score_cf, person: position, to, cell });
            }
        }
        let n = pairs.len();
        let score = person.score.filter(|_| n > known)?;
        people.push(WaitingPerson { key, weight: person.weight, score });
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
    /// Calls `each` with the pairs chunk by chunk, ascending by target group and in the order of
    /// the people: the target group, the chunk, and whether it is the last of the direction.
    pub(super) fn each_chunk(
        &self,
        chunk: &mut PairChunk,
        mut each: impl FnMut(usize, &PairChunk, bool),
    ) {
        let to = |pair: &WaitingPair| usize::from(pair.to);
        // At first the start of each direction's pairs; after the loop below, its end.
        let mut next = vec![0_usize; self.pairs.iter().map(to).max().map_or(0, |last| last + 2)];
        self.pairs.iter().for_each(|pair| next[to(pair) + 1] += 1);
        (1..next.len()).for_each(|i| next[i] += next[i - 1]);
        let mut order = vec![0_u32; self.pairs.len()];
        for (i, pair) in (0..).zip(&self.pairs) {
            let place = &mut next[to(pair)];
            order[*place] = i;
            *place += 1;
        }
        let mut first = 0;
        for (to, &end) in next.iter().enumerate() {
            let mut parts = order[first..end].chunks(CHUNK).peekable();
            while let Some(part) = parts.next() {
                chunk.clear();
                for &i in part {
                    let WaitingPair { score_cf, person, cell, .. } = self.pairs[i as usize];
                    let WaitingPerson { score, weight, .. } = self.people[person as usize];
                    chunk.push((score, score_cf), (person, cell), weight);
                }
                each(to, chunk, parts.peek().is_none());
            }
            first = end;
        }
    }

    /// Empties the buffer.
    pub(super) fn clear(&mut self) {
        self.people.clear();
        self.pairs.clear();
    }
}
